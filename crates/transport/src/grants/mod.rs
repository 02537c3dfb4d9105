//! Receiver-driven transports: the receiving host decides which bytes may be sent, packet by packet.
//!
//! A sending end requests grants for its messages ([`Header::Ask`]), and sends unscheduled data with the request. The
//! receiving host orders the expected data of all its connections ([`incoming`]). It grants ranges of their streams
//! ([`Header::Answer`]), so that no more is in flight than fills its link.
//!
//! Data that does not arrive is granted again: the receiver detects losses, and a grant tells a sender everything. At
//! the sending host, granted data is enqueued in one queue for the link ([`outgoing`]). Data packets signal a long
//! queue, for which the receiver reduces the limit of data in flight from that host ([`limits`]).
//!
//! A transport of this family is one file here, which makes a [`Policy`], and one line in [`DESCRIPTORS`].

mod edf;
mod flow;
mod header;
mod homa;
mod host;
mod incoming;
mod keys;
mod late;
mod limits;
mod outgoing;
mod policy;
mod receiver;
mod sender;
mod shedding;
mod sird;

pub use header::{Answer, Ask, Grant, Header, Probe};
pub use host::Host;
pub use policy::{Cutoffs, Expected, Policy};
pub use receiver::Receiver;
pub use sender::Sender;

pub use crate::agent::NoAgents as Agents;

use crate::{Descriptor, Signal};

/// See [`Entry::reads`](crate::registry::Entry::reads): the receiver handles losses and timeouts, after times of its
/// own.
pub(crate) const READS: Option<&[&str]> = Some(&["mss", "header", "dup_ack_threshold"]);

/// The family's transports, in the order of `duetime transports`.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[edf::DESCRIPTOR, homa::DESCRIPTOR, sird::DESCRIPTOR];

/// The rules by which a receiving host grants.
pub type Config = Policy;

impl Config {
    /// Returns none: nothing is kept at ports.
    pub fn agents(&self) -> Option<Agents> {
        None
    }
}

/// The signals of the family.
const SIGNALS: &[Signal] = &[WAITING];
/// The unsent data of the sending end.
const WAITING: Signal = Signal {
    name: "waiting",
    help: "bytes that were never sent, for want of a grant (edf-grants, homa, sird)",
    unit: "B",
};
