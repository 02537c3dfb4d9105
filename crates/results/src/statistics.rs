//! The small sets of means and percentiles that the JSON contract names.

use std::io;

use aside::Aside;
use serde::Serialize;

use crate::values::{Digest, Values, digest};

/// Flow completion times in us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FctUs {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl FctUs {
    pub(crate) fn of(values: &[&Values], aside: Option<&Aside>) -> io::Result<FctUs> {
        let Some(Digest { mean, at: [p50, p90, p99, max] }) = digest(values, aside, [50.0, 90.0, 99.0, 100.0])? else {
            return Ok(FctUs::default());
        };
        Ok(FctUs { mean: Some(mean), p50: Some(p50), p90: Some(p90), p99: Some(p99), max: Some(max) })
    }
}

/// Completion time over the time that the message takes on an empty network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Slowdown {
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl Slowdown {
    pub(crate) fn of(values: &[&Values], aside: Option<&Aside>) -> io::Result<Slowdown> {
        let Some(Digest { at: [p50, p99], .. }) = digest(values, aside, [50.0, 99.0])? else {
            return Ok(Slowdown::default());
        };
        Ok(Slowdown { p50: Some(p50), p99: Some(p99) })
    }
}

/// Completion time over allowed time; above 1 is too late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DeadlineRatio {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl DeadlineRatio {
    pub(crate) fn of(values: &[&Values], aside: Option<&Aside>) -> io::Result<DeadlineRatio> {
        let Some(Digest { at: [p50, p90, p99], .. }) = digest(values, aside, [50.0, 90.0, 99.0])? else {
            return Ok(DeadlineRatio::default());
        };
        Ok(DeadlineRatio { p50: Some(p50), p90: Some(p90), p99: Some(p99) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_do_not_depend_on_the_order_of_their_values() {
        let values = |all: &[f64]| {
            let mut values = Values::default();
            all.iter().for_each(|value| values.add(*value));
            values
        };
        let fct = FctUs::of(&[&values(&[3.0, 1.0]), &values(&[2.0])], None).unwrap();
        assert_eq!((fct.mean, fct.p50, fct.max), (Some(2.0), Some(2.0), Some(3.0)));
        assert_eq!(Slowdown::of(&[&values(&[3.0, 1.0])], None).unwrap().p50, Some(2.0));
        assert_eq!(DeadlineRatio::of(&[&values(&[0.5, 1.5])], None).unwrap().p50, Some(1.0));
        assert_eq!(FctUs::of(&[], None).unwrap(), FctUs::default());
    }
}
