//! The transports, pure: told what happens and when, they say what to send.
//!
//! They own no clock, queue, socket or thread. [`registry::TRANSPORTS`] is the list of them all; a
//! window transport is one file under `laws/` and one line in [`laws`]. A family that talks to switches is a
//! folder, such as [`d3`], and one line in `families.rs`: its header, its [`agent`] at each port, its ends.
//!
//! Whoever runs them hands each end of a connection its packets and timers together with the
//! time, and an [`Output`] that takes what the end wants done.

#![forbid(unsafe_code)]

pub mod agent;
pub mod connection;
mod control;
pub mod d3;
mod descriptor;
mod ends;
mod families;
pub mod grants;
pub mod host;
pub mod laws;
pub mod mcp;
mod pacing;
mod packet;
pub mod pdq;
mod recovery;
pub mod registry;
mod returning;
mod signal;
mod stream;
#[cfg(feature = "trial")]
pub mod trial;

pub use control::{Agents, Header};
pub use descriptor::{Advice, Build, Conditions, Descriptor, Needs, Regime, Surroundings};
pub use ends::{Receiver, Sender, Shared};
pub use pacing::Pacing;
pub use packet::{Blocks, Extension, Flags, Packet};
pub use signal::{Catalog, Observation, Signal};

use units::{Bytes, HostId, Instant, Rate};

/// What an end of a connection may ask of whoever runs it.
pub trait Output {
    /// Puts a packet into the host's NIC queue.
    fn send(&mut self, packet: Packet);
    /// Puts a packet with more than its header into the host's NIC queue.
    fn send_extended(&mut self, packet: Packet, extension: Extension);
    /// Asks to be woken at `at` or earlier; an earlier request stays in force.
    fn arm(&mut self, at: Instant);
    /// When all that was sent from here will have left the host's port; in the past if that is not known.
    fn leaves(&self) -> Instant {
        Instant::ZERO
    }
    /// Returns whether the host's queue takes a data packet of this end now. If not, the end is told when it does
    /// ([`Sender::on_room`]).
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        true
    }
    /// Says that what is at position `start` of the stream will be sent again, not from here but by the host as a whole.
    fn sends_again(&mut self, _start: u64) {}
    /// Says that a retransmission timer expired, and which, for the statistics.
    fn timed_out(&mut self, timer: Expired);
    /// Says that a tail-loss probe was sent (RFC 8985 7), for the statistics.
    fn probed(&mut self) {}
    /// Says that the message that ends at position `end` of the stream is given up and that its last
    /// `unsent` bytes will never be sent, so that it and those after it end that much earlier.
    fn abandon(&mut self, end: u64, unsent: Bytes);
    /// What an end may know of where it is; window senders ask when a message is handed over, not per packet.
    fn site(&self) -> Site;
}

/// The timer behind a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The RTO before the first sample of the round-trip time, `rto_initial`.
    Initial,
    /// The RTO at its lower limit, `rto_min`.
    Minimum,
    /// The RTO that follows from the samples, above its lower limit.
    Estimated,
    /// An RTO that was doubled since it last expired.
    BackedOff,
    /// A time of the transport's own, such as `resend_after`.
    Own,
}

/// What an end may know of where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The rate of its host's link.
    pub rate: Rate,
    /// What each packet takes on that link beside its own bytes.
    pub frame_overhead: Bytes,
    /// The host.
    pub host: HostId,
    /// Bits of its own, for what is to differ from one flow to another.
    pub own: u64,
}

/// A message as it is handed to a connection's sending end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Its size; none for a flow without end.
    pub bytes: Option<Bytes>,
    /// When its last byte should have arrived, if that matters.
    pub deadline: Option<Instant>,
    /// What the application says of it: short, long, or nothing.
    pub short: Option<bool>,
    /// The rank of its packets where the queues of ports go by rank, or [`Packet::UNTAGGED`].
    pub rank: u32,
    /// Its place, from 1, among the answers that the receiving host has asked for at once; 0 if nobody has asked for it.
    pub asked: u32,
}

impl Message {
    /// A message of so many bytes, with nothing else said of it.
    pub fn of(bytes: Bytes) -> Message {
        Message { bytes: Some(bytes), deadline: None, short: None, rank: Packet::UNTAGGED, asked: 0 }
    }
}

#[cfg(test)]
#[cfg(feature = "quick-tests")]
extern crate self as transport;
#[cfg(test)]
#[cfg(feature = "quick-tests")]
#[path = "../tests/quick/mod.rs"]
#[allow(clippy::duplicate_mod, reason = "each file brings what they share")]
mod quick;
