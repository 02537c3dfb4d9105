//! The header of a request for a rate.

use units::{Instant, Span};

/// A request to the routers on its path, returned in its acknowledgement. Rates are in bit/s, with headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The kind of the request.
    pub ask: Ask,
    /// The bits of its connection's own ([`Site::own`](crate::Site::own)).
    pub own: u64,
    /// Index of the connection's message, from 0: each message is a flow of its own.
    pub message: u32,
    /// The deadline of that message, for statistics alone: no router heeds it.
    pub deadline: Option<Instant>,
    /// The sender's count of its requests, to identify the answered one.
    pub number: u64,
    /// The time of sending.
    pub sent: Instant,
    /// The rate that is requested.
    pub request: u64,
    /// The rate requested by the last answered request.
    pub previous_request: u64,
    /// The grant of each hop to that request.
    pub previous: Vec<u64>,
    /// The grant of each hop so far to this one.
    pub grants: Vec<u64>,
    /// The rate of the first link: the sender's own.
    pub uplink: u64,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A rate for a flow that has none (on a SYN-like packet).
    Open,
    /// A rate for the next round trip.
    Renew,
    /// The end of the flow: all of its data is sent (FIN).
    Close,
}

/// Returns the rate in bit/s at which `bytes` take `time`, rounded up; no time counts as one picosecond.
pub(super) fn rate_of(bytes: u64, time: Span) -> u64 {
    let bits_per_second = u128::from(bytes) * 8_000_000_000_000;
    bits_per_second.div_ceil(u128::from(time.0.max(1))).min(u128::from(u64::MAX >> 8)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_bytes_over_time() {
        assert_eq!(rate_of(1500, Span::from_micros(12)), 1_000_000_000);
        assert_eq!(rate_of(1, Span(3)), 2_666_666_666_667);
        // A rate beyond every link still leaves room for sums of 256 of them.
        assert_eq!(rate_of(u64::MAX, Span::ZERO), (1 << 56) - 1);
    }
}
