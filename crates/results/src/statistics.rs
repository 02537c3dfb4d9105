//! Percentiles and the small sets of them that the JSON contract names.

use serde::Serialize;

/// The `p`-th percentile (0 to 100) of ascending values, none without values.
///
/// Linear interpolation between ranks: with n values the percentile lies at rank p/100 x (n - 1),
/// counted from 0, as `numpy.percentile` has it by default.
pub fn percentile(ascending: &[f64], p: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let rank = p / 100.0 * last as f64;
    let below = (rank.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let share = rank - below as f64;
    Some(ascending[below] + share * (ascending[above] - ascending[below]))
}

/// The arithmetic mean, none without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

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
    pub(crate) fn of(mut values: Vec<f64>) -> FctUs {
        values.sort_by(f64::total_cmp);
        let at = |p| percentile(&values, p);
        FctUs { mean: mean(&values), p50: at(50.0), p90: at(90.0), p99: at(99.0), max: at(100.0) }
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
    pub(crate) fn of(mut values: Vec<f64>) -> Slowdown {
        values.sort_by(f64::total_cmp);
        Slowdown { p50: percentile(&values, 50.0), p99: percentile(&values, 99.0) }
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
    pub(crate) fn of(mut values: Vec<f64>) -> DeadlineRatio {
        values.sort_by(f64::total_cmp);
        let at = |p| percentile(&values, p);
        DeadlineRatio { p50: at(50.0), p90: at(90.0), p99: at(99.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate_between_ranks() {
        let values = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(percentile(&values, 0.0), Some(10.0));
        assert_eq!(percentile(&values, 50.0), Some(25.0));
        assert_eq!(percentile(&values, 100.0), Some(40.0));
        // Rank 0.99 x 3 = 2.97.
        assert!((percentile(&values, 99.0).unwrap() - 39.7).abs() < 1e-9);
    }

    #[test]
    fn one_value_is_every_percentile_and_none_has_none() {
        for p in [0.0, 1.0, 50.0, 99.0, 100.0] {
            assert_eq!(percentile(&[7.0], p), Some(7.0));
            assert_eq!(percentile(&[], p), None);
        }
        assert_eq!(mean(&[]), None);
        assert_eq!(FctUs::of(vec![]), FctUs::default());
    }

    #[test]
    fn sets_do_not_depend_on_the_order_of_their_values() {
        let fct = FctUs::of(vec![3.0, 1.0, 2.0]);
        assert_eq!((fct.mean, fct.p50, fct.max), (Some(2.0), Some(2.0), Some(3.0)));
        assert_eq!(Slowdown::of(vec![3.0, 1.0]).p50, Some(2.0));
        assert_eq!(DeadlineRatio::of(vec![0.5, 1.5]).p50, Some(1.0));
    }
}
