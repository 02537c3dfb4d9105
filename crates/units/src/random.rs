//! Distributions as data. Sampling needs a stream of random numbers: [`Stream`](crate::Stream).

use std::sync::Arc;

/// A distribution over base units (picoseconds for times, bytes for sizes, 1 for plain numbers).
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same value.
    Constant(f64),
    /// Uniform over `[a, b)`.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Log-normal: `median * exp(sigma * N(0, 1))`.
    Lognormal {
        /// The median, in base units.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Pareto: `min * U^(-1/shape)`.
    Pareto {
        /// The smallest value, in base units.
        min: f64,
        /// The tail index; the mean is finite above 1.
        shape: f64,
    },
    /// Drawn from an empirical distribution, linear between its points.
    Empirical(Arc<Cdf>),
}

impl Distribution {
    /// Returns the mean in base units; infinite for a Pareto distribution of shape 1 or less.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Constant(x) => *x,
            Distribution::Uniform(a, b) => (a + b) / 2.0,
            Distribution::Exponential(mean) => *mean,
            Distribution::Lognormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Distribution::Pareto { min, shape } if *shape > 1.0 => shape * min / (shape - 1.0),
            Distribution::Pareto { .. } => f64::INFINITY,
            Distribution::Empirical(cdf) => cdf.mean(),
        }
    }

    /// Returns true if every draw is the same.
    pub fn is_constant(&self) -> bool {
        self.span().0 == self.span().1
    }

    /// Returns the value that a share `u` of all draws do not exceed, `0 < u < 1`.
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Distribution::Constant(x) => *x,
            Distribution::Uniform(a, b) => a + (b - a) * u,
            Distribution::Exponential(mean) => -mean * libm::log(1.0 - u),
            Distribution::Lognormal { median, sigma } => median * libm::exp(sigma * normal_quantile(u)),
            Distribution::Pareto { min, shape } => min * libm::pow(1.0 - u, -1.0 / shape),
            Distribution::Empirical(cdf) => cdf.quantile(u),
        }
    }

    /// Returns the part of the mean beyond the quantile of `u`, `0 <= u < 1`: the expected excess of a draw over it.
    /// Infinite where the mean is.
    pub fn mean_beyond(&self, u: f64) -> f64 {
        let rest = 1.0 - u;
        match self {
            Distribution::Constant(_) => 0.0,
            Distribution::Uniform(a, b) => (b - a) * rest * rest / 2.0,
            Distribution::Exponential(mean) => mean * rest,
            Distribution::Lognormal { median, sigma } => {
                let at = normal_quantile(u);
                self.mean() * normal_cdf(sigma - at) - median * libm::exp(sigma * at) * rest
            }
            // E[X; X > q] = mean * rest^(1 - 1/shape), and q = min * rest^(-1/shape).
            Distribution::Pareto { min, shape } if *shape > 1.0 => {
                min * libm::pow(rest, 1.0 - 1.0 / shape) / (shape - 1.0)
            }
            Distribution::Pareto { .. } => f64::INFINITY,
            Distribution::Empirical(cdf) => cdf.mean_beyond(u),
        }
    }

    /// Returns the distribution with every draw multiplied by `factor`, which is above 0.
    pub fn scaled(self, factor: f64) -> Distribution {
        match self {
            Distribution::Constant(x) => Distribution::Constant(x * factor),
            Distribution::Uniform(a, b) => Distribution::Uniform(a * factor, b * factor),
            Distribution::Exponential(mean) => Distribution::Exponential(mean * factor),
            Distribution::Lognormal { median, sigma } => Distribution::Lognormal { median: median * factor, sigma },
            Distribution::Pareto { min, shape } => Distribution::Pareto { min: min * factor, shape },
            Distribution::Empirical(cdf) => {
                let points = cdf.points.iter().map(|&(value, probability)| (value * factor, probability)).collect();
                Distribution::Empirical(Arc::new(Cdf { points }))
            }
        }
    }

    /// Returns the smallest and the largest value that it can draw; where there is no largest, the 90th percentile.
    pub fn span(&self) -> (f64, f64) {
        match self {
            Distribution::Constant(x) => (*x, *x),
            Distribution::Uniform(a, b) => (*a, *b),
            Distribution::Exponential(mean) => (0.0, mean * core::f64::consts::LN_10),
            // The standard normal distribution's 90th percentile.
            Distribution::Lognormal { median, sigma } => (0.0, median * libm::exp(1.281_551_565_544_600_4 * sigma)),
            Distribution::Pareto { min, shape } => (*min, min * libm::pow(10.0, 1.0 / shape)),
            Distribution::Empirical(cdf) => {
                let points = cdf.points();
                (points[0].0, points[points.len() - 1].0)
            }
        }
    }
}

/// An empirical cumulative distribution: values with the probability of staying at or below each.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    points: Vec<(f64, f64)>,
}

impl Cdf {
    /// Builds it from points `(value, probability)`; both must rise and the last probability must be 1.
    ///
    /// # Errors
    /// One sentence about the wrong point and the reason.
    pub fn new(mut points: Vec<(f64, f64)>) -> Result<Cdf, String> {
        let Some(&(first_value, first_probability)) = points.first() else {
            return Err("a distribution needs at least one point".into());
        };
        for (i, &(value, probability)) in points.iter().enumerate() {
            if !(value.is_finite() && value >= 0.0) {
                return Err(format!("point {}: the value {value} is not a finite number of 0 or more", i + 1));
            }
            if !(0.0..=1.0).contains(&probability) {
                return Err(format!("point {}: the probability {probability} is not between 0 and 1", i + 1));
            }
        }
        for (i, pair) in points.windows(2).enumerate() {
            if pair[1].0 < pair[0].0 || pair[1].1 < pair[0].1 {
                return Err(format!("point {}: values and probabilities must not fall", i + 2));
            }
        }
        if (points[points.len() - 1].1 - 1.0).abs() > 1e-9 {
            return Err("the last probability must be 1 (or 100 %)".into());
        }
        if first_probability > 0.0 {
            points.insert(0, (first_value, 0.0));
        }
        Ok(Cdf { points })
    }

    /// Returns the value that a share `u` of all draws do not exceed, `0 <= u < 1`.
    pub fn quantile(&self, u: f64) -> f64 {
        let after = self.points.partition_point(|&(_, probability)| probability <= u);
        if after == 0 || after == self.points.len() {
            return self.points[after.min(self.points.len() - 1)].0;
        }
        let (v0, p0) = self.points[after - 1];
        let (v1, p1) = self.points[after];
        v0 + (v1 - v0) * (u - p0) / (p1 - p0)
    }

    /// Returns the mean value.
    pub fn mean(&self) -> f64 {
        self.points.windows(2).map(|p| (p[1].1 - p[0].1) * (p[0].0 + p[1].0) / 2.0).sum()
    }

    /// Returns the part of the mean beyond a quantile: [`Distribution::mean_beyond`].
    fn mean_beyond(&self, u: f64) -> f64 {
        let from = self.quantile(u);
        let pieces = self.points.windows(2).filter(|pair| pair[1].1 > u).map(|pair| {
            let low = if pair[0].1 < u { (from, u) } else { pair[0] };
            (pair[1].1 - low.1) * ((low.0 + pair[1].0) / 2.0 - from)
        });
        pieces.sum()
    }

    /// Returns the points, probabilities rising from 0 to 1.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }
}

/// Returns the probability that a standard normal draw is below `x`.
fn normal_cdf(x: f64) -> f64 {
    libm::erfc(-x / core::f64::consts::SQRT_2) / 2.0
}

/// Returns the standard normal quantile of `u`, between 0 and 1, by bisection of the distribution function.
fn normal_quantile(u: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        *(if normal_cdf(middle) < u { &mut low } else { &mut high }) = middle;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_beyond_a_quantile_is_the_integral_of_the_quantiles_above_it() {
        let cdf = Cdf::new(vec![(0.0, 0.0), (10.0, 0.5), (30.0, 1.0)]).unwrap();
        for of in [
            Distribution::Constant(7.0),
            Distribution::Uniform(2.0, 5.0),
            Distribution::Exponential(4.0),
            Distribution::Lognormal { median: 3.0, sigma: 0.8 },
            Distribution::Pareto { min: 1.0, shape: 3.0 },
            Distribution::Empirical(Arc::new(cdf)),
        ] {
            for u in [0.0, 0.3, 0.5, 0.9] {
                let steps = 40_000;
                let width = (1.0 - u) / f64::from(steps);
                let above = |step: u32| of.quantile(u + (f64::from(step) + 0.5) * width) - of.quantile(u);
                let sum: f64 = (0..steps).map(|step| above(step) * width).sum();
                assert!((of.mean_beyond(u) - sum).abs() < 2e-3 * of.mean(), "{of:?} {u}: {} {sum}", of.mean_beyond(u));
            }
        }
    }

    #[test]
    fn an_empirical_distribution_is_linear_between_its_points() {
        let cdf = Cdf::new(vec![(0.0, 0.0), (10.0, 0.5), (30.0, 1.0)]).unwrap();
        assert_eq!(cdf.quantile(0.25), 5.0);
        assert_eq!(cdf.quantile(0.75), 20.0);
        assert_eq!(cdf.mean(), 12.5);
    }

    #[test]
    fn a_first_point_above_zero_is_an_atom() {
        let cdf = Cdf::new(vec![(5.0, 0.5), (10.0, 1.0)]).unwrap();
        assert_eq!(cdf.quantile(0.3), 5.0);
        assert_eq!(cdf.mean(), 0.5 * 5.0 + 0.5 * 7.5);
    }

    #[test]
    fn spans_end_at_the_largest_value_or_where_nine_of_ten_are_below() {
        assert_eq!(Distribution::Uniform(2.0, 5.0).span(), (2.0, 5.0));
        let (low, high) = Distribution::Exponential(10.0).span();
        assert_eq!(low, 0.0);
        assert!((libm::exp(-high / 10.0) - 0.1).abs() < 1e-12);
        let (low, high) = Distribution::Pareto { min: 3.0, shape: 2.0 }.span();
        assert_eq!(low, 3.0);
        assert!(((3.0 / high) * (3.0 / high) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_refused() {
        for points in [
            vec![],
            vec![(1.0, 0.5)],
            vec![(2.0, 0.5), (1.0, 1.0)],
            vec![(1.0, 0.6), (2.0, 0.5), (3.0, 1.0)],
            vec![(f64::NAN, 1.0)],
            vec![(-1.0, 0.0), (2.0, 1.0)],
        ] {
            assert!(Cdf::new(points.clone()).is_err(), "{points:?}");
        }
    }
}
