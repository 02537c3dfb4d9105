//! Transports that ask the network for a rate, and the routers that grant it.
//!
//! The sending end asks once per round trip; every port on the path answers by adding a grant to the
//! request's header ([`Rates`]); the receiving end returns it; the sending end paces at the smallest
//! grant. A transport of this kind is one file here and one line in [`DESCRIPTORS`].

mod d3;
mod rates;
mod rcpdc;
mod receiver;
pub mod router;
mod sender;

pub use d3::{Config, Rounding};
pub use rates::{Ask, Noted, Rates};
pub use receiver::Receiver;
pub use router::Router;
pub use sender::Sender;

use crate::Descriptor;

/// The transports whose rates the network grants, in the order of `duetime transports`.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[d3::DESCRIPTOR, rcpdc::DESCRIPTOR];
