//! The header of every packet of the family, read and written by the ports on its path.

use units::{Bytes, Instant, Span};

/// A flow's description for the ports, and their verdict. Rates are in bit/s, with headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The bits of its connection's own ([`Site::own`](crate::Site::own)).
    pub own: u64,
    /// Index of the connection's message, from 0: each message is a flow of its own.
    pub message: u32,
    /// The sender's count of its headers, to identify the latest answer.
    pub number: u64,
    /// The time of sending.
    pub sent: Instant,
    /// The flow sends no more (TERM).
    pub over: bool,
    /// Its deadline (D), if it has one.
    pub deadline: Option<Instant>,
    /// Wire bytes that it has left to send, for the time that it needs (T).
    pub left: Bytes,
    /// The round-trip time of the flow.
    pub rtt: Span,
    /// The rate at which it is to send: its maximum, until a port sets it (R).
    pub rate: u64,
    /// The hop that has paused it, if one has (P).
    pub paused_by: Option<u8>,
    /// Round trips between two of its probes (I).
    pub probe_every: f64,
    /// The rate of its first link.
    pub uplink: u64,
    /// Number of hops that it has passed.
    pub hop: u8,
}

impl Header {
    /// Returns the duration of the rest at the rate of the first link.
    pub fn needs(&self) -> Span {
        time_of(self.left, self.uplink)
    }
}

/// Returns the duration of `bytes` at a rate; practically infinite at 0.
pub(super) fn time_of(bytes: Bytes, rate: u64) -> Span {
    let ps = u128::from(bytes.0) * 8_000_000_000_000 / u128::from(rate.max(1));
    Span(u64::try_from(ps).unwrap_or(u64::MAX))
}
