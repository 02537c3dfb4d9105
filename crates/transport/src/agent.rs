//! What a family of transports keeps at the ports of a network.
//!
//! A port shows its agents each packet with a family's [`Header`] that it has accepted. An agent may write into
//! the header of its own family and leaves those of others alone. What it decides it says as a [`Decision`], for
//! whoever watches: that is for statistics only and travels nowhere.

use units::{Bytes, ConnectionId, Instant, Rate, Span};

use crate::{Header, Packet};

/// One port's side of a family.
pub trait Agent: Send {
    /// Sees a packet with a header that the port has accepted.
    fn on_packet(&mut self, port: &PortState, packet: &Packet, header: &mut Header) -> Option<Decision>;
    /// Whether such a packet is accepted by a full buffer.
    fn passes_full_buffers(&self, _packet: &Packet, _header: &Header) -> bool {
        false
    }
    /// Lets time pass: what has expired by now is forgotten.
    fn settle(&mut self, _now: Instant) {}
    /// What is given away now, when it gives rates away.
    fn allocation(&self) -> Option<Allocation> {
        None
    }
}

/// What an agent may know of its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortState {
    /// The present.
    pub now: Instant,
    /// For how long the port has been sending in all.
    pub sent_for: Span,
    /// Wire bytes that wait.
    pub waiting_bytes: Bytes,
}

/// Which flow a decision is about: a connection's number and generation, and which of its messages, from 0.
pub type Flow = (ConnectionId, u16, u64);

/// What an agent has decided about a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The flow.
    pub flow: Flow,
    /// What was decided.
    pub verdict: Verdict,
}

/// What was decided about a flow; rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A request for a rate was answered.
    Granted {
        /// The sender's count of its requests.
        number: u64,
        /// What was asked for.
        asked: u64,
        /// What was granted.
        granted: u64,
        /// What was left of the capacity for it.
        left: u64,
        /// The flow is forgotten then, unless it asks again.
        until: Instant,
    },
    /// The flow has ended.
    Ended,
}

/// What an agent that gives rates away counts now; rates in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// What is given away (D3's A).
    pub allocated: u64,
    /// What is asked for (D3's R).
    pub requested: u64,
    /// How many ask (D3's N).
    pub flows: u64,
}

/// The agents of a family that keeps nothing at ports.
#[derive(Clone, Debug, PartialEq)]
pub enum NoAgents {}

impl NoAgents {
    /// There are none.
    pub const COUNTS_REQUESTS: bool = false;

    /// Never called.
    pub fn at(&self, _: Rate, _: Bytes) -> Box<dyn Agent> {
        match *self {}
    }
}
