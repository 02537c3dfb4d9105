//! Observers of a run: they decide nothing, and their data are in no header.

mod rates;
mod sampler;

pub(crate) use rates::RateWatch;
pub(crate) use sampler::Sampler;
