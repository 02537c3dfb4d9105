//! Observers of a run: they decide nothing, and their data are in no header.

mod rates;
mod sampler;

pub use rates::RateWatch;
pub use sampler::Sampler;
