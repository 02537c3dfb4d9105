//! The small sets of means and percentiles of the JSON contract.

use std::io;

use aside::Aside;
use serde::Serialize;

use crate::values::{Digest, Figure, Values, digest};

/// Flow completion times in us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FctUs {
    /// Arithmetic mean; none, like the others, where it depends on messages that had not arrived when the run ended.
    pub mean: Option<f64>,
    /// Median of all messages.
    pub p50: Option<f64>,
    /// 90th percentile of all messages.
    pub p90: Option<f64>,
    /// 99th percentile of all messages.
    pub p99: Option<f64>,
    /// 99.9th percentile of all messages.
    pub p999: Option<f64>,
    /// Largest of all messages.
    pub max: Option<f64>,
    /// Lower bounds of the figures that are none; left out where all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<AtLeast>,
}

/// Lower bounds of figures that depend on messages in progress when the run ended, each with the time that it had
/// taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AtLeast {
    /// Lower bound of the arithmetic mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Lower bound of the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// Lower bound of the 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    /// Lower bound of the 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// Lower bound of the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// Lower bound of the 99.9th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999: Option<f64>,
    /// Lower bound of the largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl AtLeast {
    fn any(self) -> Option<AtLeast> {
        (self != AtLeast::default()).then_some(self)
    }
}

/// Values of messages that have arrived, and lower bounds for messages that had not when the run ended.
#[derive(Clone, Copy)]
pub(crate) struct Both<'a> {
    pub arrived: &'a [&'a Values],
    pub censored: &'a [&'a Values],
}

impl Both<'_> {
    fn digest<const N: usize>(self, aside: Option<&Aside>, at: [f64; N]) -> io::Result<Option<Digest<N>>> {
        digest(self.arrived, self.censored, aside, at)
    }
}

impl FctUs {
    pub(crate) fn of(values: Both, aside: Option<&Aside>) -> io::Result<FctUs> {
        let Some(Digest { mean, at: [p50, p90, p99, p999, max] }) =
            values.digest(aside, [50.0, 90.0, 99.0, 99.9, 100.0])?
        else {
            return Ok(FctUs::default());
        };
        let [mean, p50, p90, p99, p999, max] = [mean, p50, p90, p99, p999, max].map(Parts::from);
        let at_least = AtLeast {
            mean: mean.1,
            p50: p50.1,
            p90: p90.1,
            p99: p99.1,
            p999: p999.1,
            max: max.1,
            ..AtLeast::default()
        };
        Ok(FctUs {
            mean: mean.0,
            p50: p50.0,
            p90: p90.0,
            p99: p99.0,
            p999: p999.0,
            max: max.0,
            at_least: at_least.any(),
        })
    }
}

/// Times of requests in us, from their arrival to the end of their last stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RequestUs {
    /// Arithmetic mean; none, like the others, where it depends on requests that had not ended when the run did.
    pub mean: Option<f64>,
    /// Median of all requests.
    pub p50: Option<f64>,
    /// 95th percentile of all requests.
    pub p95: Option<f64>,
    /// 99th percentile of all requests.
    pub p99: Option<f64>,
    /// Lower bounds of the figures that are none; left out where all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<AtLeast>,
}

impl RequestUs {
    pub(crate) fn of(values: Both, aside: Option<&Aside>) -> io::Result<RequestUs> {
        let Some(Digest { mean, at: [p50, p95, p99] }) = values.digest(aside, [50.0, 95.0, 99.0])? else {
            return Ok(RequestUs::default());
        };
        let [mean, p50, p95, p99] = [mean, p50, p95, p99].map(Parts::from);
        let at_least = AtLeast { mean: mean.1, p50: p50.1, p95: p95.1, p99: p99.1, ..AtLeast::default() }.any();
        Ok(RequestUs { mean: mean.0, p50: p50.0, p95: p95.0, p99: p99.0, at_least })
    }
}

/// Completion time over the time that the message takes on an empty network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Slowdown {
    /// Arithmetic mean; none, like the others, where it depends on messages that had not arrived when the run ended.
    pub mean: Option<f64>,
    /// Median of all messages.
    pub p50: Option<f64>,
    /// 99th percentile of all messages.
    pub p99: Option<f64>,
    /// 99.9th percentile of all messages.
    pub p999: Option<f64>,
    /// Lower bounds of the figures that are none; left out where all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<AtLeast>,
}

impl Slowdown {
    pub(crate) fn of(values: Both, aside: Option<&Aside>) -> io::Result<Slowdown> {
        let Some(Digest { mean, at: [p50, p99, p999] }) = values.digest(aside, [50.0, 99.0, 99.9])? else {
            return Ok(Slowdown::default());
        };
        let [mean, p50, p99, p999] = [mean, p50, p99, p999].map(Parts::from);
        let at_least = AtLeast { mean: mean.1, p50: p50.1, p99: p99.1, p999: p999.1, ..AtLeast::default() }.any();
        Ok(Slowdown { mean: mean.0, p50: p50.0, p99: p99.0, p999: p999.0, at_least })
    }
}

/// Completion time over allowed time; above 1 is too late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DeadlineRatio {
    /// Median of all messages.
    pub p50: Option<f64>,
    /// 90th percentile of all messages.
    pub p90: Option<f64>,
    /// 99th percentile of all messages.
    pub p99: Option<f64>,
    /// Lower bounds of the figures that are none; left out where all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<AtLeast>,
}

impl DeadlineRatio {
    pub(crate) fn of(values: Both, aside: Option<&Aside>) -> io::Result<DeadlineRatio> {
        let Some(Digest { at, .. }) = values.digest(aside, [50.0, 90.0, 99.0])? else {
            return Ok(DeadlineRatio::default());
        };
        let [p50, p90, p99] = at.map(Parts::from);
        let at_least = AtLeast { p50: p50.1, p90: p90.1, p99: p99.1, ..AtLeast::default() }.any();
        Ok(DeadlineRatio { p50: p50.0, p90: p90.0, p99: p99.0, at_least })
    }
}

/// A figure where it is known, and else its lower bound.
struct Parts(Option<f64>, Option<f64>);

impl From<Figure> for Parts {
    fn from(figure: Figure) -> Parts {
        Parts(figure.exact(), figure.at_least())
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
        let all = |all: &[f64], censored: &[f64]| (values(all), values(censored));
        let of = |(arrived, censored): &(Values, Values)| {
            let both = Both { arrived: &[arrived], censored: &[censored] };
            (FctUs::of(both, None).unwrap(), Slowdown::of(both, None).unwrap(), DeadlineRatio::of(both, None).unwrap())
        };
        let fct = FctUs::of(Both { arrived: &[&values(&[3.0, 1.0]), &values(&[2.0])], censored: &[] }, None).unwrap();
        assert_eq!((fct.mean, fct.p50, fct.max, fct.at_least), (Some(2.0), Some(2.0), Some(3.0), None));
        let (_, slowdown, ratio) = of(&all(&[3.0, 1.0], &[]));
        assert_eq!((slowdown.mean, slowdown.p50, ratio.p50), (Some(2.0), Some(2.0), Some(2.0)));
        assert!((slowdown.p999.unwrap() - 2.998).abs() < 1e-12);
        assert_eq!(FctUs::of(Both { arrived: &[], censored: &[] }, None).unwrap(), FctUs::default());
        // 1 2 3 4 [5]: the median is known, percentiles above rank 3 are not.
        let (fct, slowdown, ratio) = of(&all(&[4.0, 3.0, 2.0, 1.0], &[5.0]));
        assert_eq!((fct.mean, fct.p50, fct.p90, fct.p99, fct.max), (None, Some(3.0), None, None, None));
        let bounds = AtLeast {
            mean: Some(3.0),
            p90: Some(4.6),
            p99: Some(4.96),
            p999: fct.at_least.unwrap().p999,
            max: Some(5.0),
            ..AtLeast::default()
        };
        assert!((bounds.p999.unwrap() - 4.996).abs() < 1e-12);
        assert_eq!(fct.at_least, Some(bounds));
        assert_eq!((slowdown.p50, slowdown.at_least.unwrap().p99), (Some(3.0), Some(4.96)));
        assert_eq!((slowdown.mean, slowdown.at_least.unwrap().mean), (None, Some(3.0)));
        assert_eq!((ratio.p50, ratio.at_least.unwrap().p90), (Some(3.0), Some(4.6)));
    }
}
