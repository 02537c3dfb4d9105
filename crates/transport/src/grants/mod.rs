//! Receiver-driven transports: the receiving host says which bytes may be sent, packet by packet.
//!
//! A sending end asks for its messages ([`Header::Ask`]); what it may send without having been asked for goes with it. The
//! receiving host keeps the order of all that its connections wait for ([`incoming`]), and grants ranges of their streams
//! ([`Header::Answer`]), so that no more is on its way to it than fills its link. What does not arrive it grants again: losses are the
//! receiver's business, and a grant says all that a sender needs to know. At the sending host what is granted waits in one
//! queue for the link ([`outgoing`]), and data says when that queue is long, which shrinks what the receiver lets be on
//! its way from there ([`limits`]).
//!
//! A transport of this family is one file here, which makes a [`Policy`], and one line in [`DESCRIPTORS`].

mod edf;
mod header;
mod homa;
mod host;
mod incoming;
mod keys;
mod limits;
mod outgoing;
mod policy;
mod receiver;
mod sender;
mod shedding;
mod sird;

pub use header::{Answer, Ask, Grant, Header};
pub use host::Host;
pub use policy::{Cutoffs, Policy};
pub use receiver::Receiver;
pub use sender::Sender;

pub use crate::agent::NoAgents as Agents;

use crate::{Descriptor, Signal};

/// See [`Control::goes_by_numbers`](crate::control::Control::goes_by_numbers): of messages with as much left, or due at the same time, the lower number comes first.
pub(crate) const GOES_BY_NUMBERS: bool = true;

/// See [`Entry::reads`](crate::registry::Entry::reads): losses and timeouts are the receiver's, after times of its own.
pub(crate) const READS: Option<&[&str]> = Some(&["mss", "header", "dup_ack_threshold"]);

/// The family's transports, in the order of `duetime transports`.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[edf::DESCRIPTOR, homa::DESCRIPTOR, sird::DESCRIPTOR];

/// What a receiving host grants, and when.
pub type Config = Policy;

impl Config {
    /// Nothing is kept at ports.
    pub fn agents(&self) -> Option<Agents> {
        None
    }
}

/// What can be observed of the family.
const SIGNALS: &[Signal] = &[WAITING];
/// What the sending end has not sent.
const WAITING: Signal = Signal {
    name: "waiting",
    help: "bytes that were never sent, for want of a grant (edf-grants, homa, sird)",
    unit: "B",
};
