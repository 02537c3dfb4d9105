//! What watches a run from outside: it decides nothing and travels in no header.

mod packets;
mod rates;
mod sampler;

pub use packets::{Logged, PacketLog};
pub use rates::RateWatch;
pub use sampler::Sampler;
