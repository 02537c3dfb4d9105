//! The header of a request for a rate.

use units::Instant;

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
