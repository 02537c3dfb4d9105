//! The functions of expressions: each makes a distribution.

/// Every function that makes a distribution.
pub(crate) const NAMES: &[&str] = &["uniform", "exponential", "lognormal", "pareto", "cdf"];

/// Returns how a function is written.
pub(crate) fn usage(name: &str) -> &'static str {
    match name {
        "uniform" => "write it as uniform(least, most)",
        "exponential" => "write it as exponential(mean)",
        "lognormal" => "write it as lognormal(median, sigma)",
        "pareto" => "write it as pareto(least, shape)",
        _ => "write it as cdf(websearch), cdf(datamining) or cdf(path of a file)",
    }
}
