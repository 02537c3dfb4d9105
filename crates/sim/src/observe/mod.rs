//! What watches a run from outside: it decides nothing and travels in no header.

mod rates;
mod sampler;

pub use rates::RateWatch;
pub use sampler::Sampler;
