//! The transports, as pure state machines: from events and their times they decide which packets to send.
//!
//! They own no clock, queue, socket or thread. [`registry::TRANSPORTS`] is the list of them all; a window transport is
//! one file under `controllers/` and one line in [`controllers`]. A family that uses switches is a folder, such as [`d3`], and one
//! line in `families.rs`: its header, its [`agent`] at each port, its ends.
//!
//! The simulator passes each end of a connection its packets and timers together with the time, and an [`Output`] for
//! the end's requests.

#![forbid(unsafe_code)]

pub mod agent;
mod around;
pub mod connection;
mod control;
pub mod controllers;
pub mod d3;
mod descriptor;
mod ends;
mod families;
pub mod grants;
mod header_echo;
pub mod host;
pub mod mcp;
mod pacing;
mod packet;
pub mod pdq;
pub mod receive;
mod records;
mod recovery;
pub mod registry;
mod signal;
mod stream;
pub mod telemetry;
#[cfg(feature = "trial")]
pub mod testing;

pub use control::{Agents, Header};
pub use controllers::plugin;
pub use descriptor::{Advice, Build, Conditions, Descriptor, Needs, Regime, Surroundings};
pub use ends::{Receiver, Sender, Shared};
pub use pacing::Pacing;
pub use packet::{Blocks, Extension, Flags, Overlay, Packet};
pub use signal::{Catalog, Observation, Signal};

use units::{Bytes, HostId, Instant, Rate};

/// The services that an end of a connection needs from its simulator.
pub trait Output {
    /// Enqueues a packet in the host's NIC queue.
    fn send(&mut self, packet: Packet);
    /// Enqueues a packet with an extension in the host's NIC queue.
    fn send_extended(&mut self, packet: Packet, extension: Extension);
    /// Requests a wake-up at `at` or earlier; an earlier request stays in force.
    fn arm(&mut self, at: Instant);
    /// Returns the time at which all packets sent by this end will have left the host's port; in the past if not known.
    fn leaves(&self) -> Instant {
        Instant::ZERO
    }
    /// Returns true if the host's queue takes a data packet of this end now. If not, the end is notified when it does
    /// ([`Sender::on_room`]).
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        true
    }
    /// Reports that the data at position `start` of the stream will be sent again, not from here but by the host as a
    /// whole.
    fn sends_again(&mut self, _start: u64) {}
    /// Reports that a retransmission timer expired, and which, for the statistics.
    fn timed_out(&mut self, timer: Expired);
    /// Reports that a tail-loss probe was sent (RFC 8985 7), for the statistics.
    fn probed(&mut self) {}
    /// Reports the abort of the message that ends at position `end` of the stream. Its last `unsent` bytes will never
    /// be sent, so that it and the messages after it end that much earlier.
    fn abandon(&mut self, end: u64, unsent: Bytes);
    /// Returns the site of this end; window senders call it when a message is enqueued, not per packet.
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

/// The properties of the host and the link of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The rate of its host's link.
    pub rate: Rate,
    /// The bytes that each packet takes on that link beside its own.
    pub frame_overhead: Bytes,
    /// The number of links on the route of its packets.
    pub hops: u32,
    /// The id of the host.
    pub host: HostId,
    /// Bits of its own, for values that must differ from one flow to another.
    pub own: u64,
}

/// A message as it is handed to a connection's sending end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Its size; none for a flow without end.
    pub bytes: Option<Bytes>,
    /// The time at which its last byte should have arrived, if there is one.
    pub deadline: Option<Instant>,
    /// The flow class set by the application: short, long, or none.
    pub short: Option<bool>,
    /// The rank of its packets where ports order their queues by rank, or [`Packet::UNTAGGED`].
    pub rank: u32,
    /// Its place, from 1, among the answers that the receiving host has requested at once; 0 if it was not requested.
    pub asked: u32,
}

impl Message {
    /// Returns a message of this size, without any other property.
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
mod quick;
