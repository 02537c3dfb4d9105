//! The agents that a family of transports keeps at the ports of a network.
//!
//! A port shows its agents each packet with a family's [`Header`] that it has accepted. An agent may write into the
//! header of its own family and ignores all others. It reports its decision as a [`Decision`], which is for statistics
//! only and is not sent.

use units::{Bytes, Instant, Rate, Span};

use crate::{Header, Packet};

/// One port's side of a family.
pub trait Agent: Send {
    /// Sees a packet with a header that the port has accepted.
    fn on_packet(&mut self, port: &PortState, packet: &Packet, header: &mut Header) -> Option<Decision>;
    /// Returns true if such a packet is accepted by a full buffer.
    fn passes_full_buffers(&self, _packet: &Packet, _header: &Header) -> bool {
        false
    }
    /// Advances to the present: forgets expired state.
    fn settle(&mut self, _now: Instant) {}
    /// Returns the rates allocated now, if the agent allocates rates.
    fn allocation(&self) -> Option<Allocation> {
        None
    }
}

/// The state of a port that its agents may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortState {
    /// The present simulated time.
    pub now: Instant,
    /// Total time for which the port has been sending.
    pub sent_for: Span,
    /// Length of the queue, in wire bytes.
    pub waiting_bytes: Bytes,
}

/// A flow as ports know it, and the order of equal ones: the bits of a connection's own ([`Site::own`](crate::Site::own))
/// and the index of one of its messages, from 0.
pub type Flow = (u64, u32);

/// An agent's decision about a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The flow that it concerns.
    pub flow: Flow,
    /// The verdict on the flow.
    pub verdict: Verdict,
}

/// The verdict of an agent on a flow; rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A request for a rate was answered.
    Granted {
        /// The sender's count of its requests.
        number: u64,
        /// Number of ports that have answered it before.
        hop: usize,
        /// The deadline of the flow, if it has one.
        deadline: Option<Instant>,
        /// The rate that was requested.
        asked: u64,
        /// The rate that was granted.
        granted: u64,
        /// The part of the capacity that was left for it.
        left: u64,
        /// The time at which the flow is forgotten, unless it requests again.
        until: Instant,
    },
    /// The flow has ended.
    Ended,
}

/// The sums of an agent that allocates rates; rates in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Sum of the allocated rates (D3's A).
    pub allocated: u64,
    /// Sum of the requested rates (D3's R).
    pub requested: u64,
    /// Number of requesting flows (D3's N).
    pub flows: u64,
}

/// The agents of a family that keeps nothing at ports.
#[derive(Clone, Debug, PartialEq)]
pub enum NoAgents {}

impl NoAgents {
    /// False, as there are no agents.
    pub const COUNTS_REQUESTS: bool = false;

    /// Never called: the type has no value.
    pub fn at(&self, _: Rate, _: Bytes) -> Box<dyn Agent> {
        match *self {}
    }
}
