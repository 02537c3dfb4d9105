//! The header of a request for a rate.

use units::{Instant, Span};

/// What a request carries to the routers on its path, and what returns in its acknowledgement. Rates
/// are in bit/s, with headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// What is asked.
    pub ask: Ask,
    /// Which of the connection's messages it is about, from 0: each is a flow of its own.
    pub message: u32,
    /// The sender's count of its requests, so that it knows which one is answered.
    pub number: u64,
    /// When it was sent.
    pub sent: Instant,
    /// The rate that is asked for.
    pub request: u64,
    /// The rate that was asked for by the last request that was answered.
    pub previous_request: u64,
    /// What each hop granted then.
    pub previous: Vec<u64>,
    /// What each hop grants now; as many as it has passed.
    pub grants: Vec<u64>,
    /// The rate of the first link: the sender's own.
    pub uplink: u64,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A rate for a flow that has none (on a SYN-like packet).
    Open,
    /// A rate for the next round trip.
    Renew,
    /// Nothing: the flow has sent all it had (FIN).
    Close,
}

/// Bit/s at which `bytes` take `time`, rounded up; no time counts as one picosecond.
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
        // What is beyond every link still leaves room for sums of 256 of them.
        assert_eq!(rate_of(u64::MAX, Span::ZERO), (1 << 56) - 1);
    }
}
