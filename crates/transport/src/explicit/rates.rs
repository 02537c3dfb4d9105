//! The header of a request for a rate.

use units::Time;

use crate::Blocks;

/// What a request carries to the routers on its path, and what returns in its acknowledgement. Rates
/// are in bit/s, with headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// What is asked.
    pub ask: Ask,
    /// Which of the connection's messages it is about: each is a flow of its own.
    pub message: u32,
    /// The sender's count of its requests, so that it knows which one is answered.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
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
    /// When the message is due. Routers count inversions with it; it has no part in what they grant.
    pub deadline: Option<Time>,
    /// What routers have noted of it so far, to count each request once.
    pub noted: Noted,
    /// On the way back: what has arrived beyond a gap.
    pub blocks: Blocks,
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

/// What a router notes of a request: a pure observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// It is a request for a rate above zero by a flow with a deadline.
    pub asked: bool,
    /// It got less than it asked for.
    pub denied: bool,
    /// Denied, while a flow with a later deadline held all that it had asked for.
    pub inverted: bool,
    /// The same, and that flow had come first.
    pub overtaken: bool,
    /// Denied, while flows with later deadlines or none held as much as it lacked.
    pub displaceable: bool,
    /// What was left did not cover it; it may still have got enough, as the base rate.
    pub refused: bool,
    /// Refused, while a flow with a later deadline held a grant that had been covered.
    pub passed_over: bool,
}

impl Noted {
    /// What either has noted.
    pub fn or(self, other: Noted) -> Noted {
        Noted {
            asked: self.asked || other.asked,
            denied: self.denied || other.denied,
            inverted: self.inverted || other.inverted,
            overtaken: self.overtaken || other.overtaken,
            displaceable: self.displaceable || other.displaceable,
            refused: self.refused || other.refused,
            passed_over: self.passed_over || other.passed_over,
        }
    }
}
