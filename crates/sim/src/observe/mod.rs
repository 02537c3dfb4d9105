//! Observers of a run: they decide nothing, and their data are in no header.

mod packets;
mod rates;
mod sampler;

pub use packets::{Logged, PacketLog};
pub use rates::RateWatch;
pub use sampler::Sampler;
