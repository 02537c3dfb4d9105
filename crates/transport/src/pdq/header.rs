//! What every packet of the family says to the ports on its way.

use units::{Bytes, Instant, Span};

/// What a flow tells, and what becomes of it on the way. Rates are in bit/s, with headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Which of the connection's messages it is about, from 0: each is a flow of its own.
    pub message: u32,
    /// The sender's count of its headers, so that it knows which answer is the latest.
    pub number: u64,
    /// When it was sent.
    pub sent: Instant,
    /// The flow sends no more (TERM).
    pub over: bool,
    /// Its deadline (D).
    pub deadline: Option<Instant>,
    /// Wire bytes that it has left to send, for the time that it needs (T).
    pub left: Bytes,
    /// Its round-trip time.
    pub rtt: Span,
    /// The rate that it is to send at: the most that it can, until a port sets it (R).
    pub rate: u64,
    /// The hop that has paused it, if one has (P).
    pub paused_by: Option<u8>,
    /// Round trips that it is to wait between two probes (I).
    pub probe_every: f64,
    /// The rate of its first link.
    pub uplink: u64,
    /// Hops that it has passed.
    pub hop: u8,
}

impl Header {
    /// How long the rest takes at the rate of the first link.
    pub fn needs(&self) -> Span {
        time_of(self.left, self.uplink)
    }
}

/// How long so many bytes take at a rate; for ever at none.
pub(super) fn time_of(bytes: Bytes, rate: u64) -> Span {
    let ps = u128::from(bytes.0) * 8_000_000_000_000 / u128::from(rate.max(1));
    Span(u64::try_from(ps).unwrap_or(u64::MAX))
}
