//! Many values of one kind, of which mean and percentiles are computed: in memory, or partly in a file.

use std::io;

use aside::{Aside, Merged, Run};

/// Values that are not negative, in no order.
#[derive(Default)]
pub(crate) struct Values {
    /// As bits, whose order is the order of the values: floats that are not negative.
    recent: Vec<[u64; 1]>,
    /// The ranges of the others in the file, in ascending order within each.
    runs: Vec<Run>,
}

/// The figures of many values; none without any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Digest<const N: usize> {
    /// The arithmetic mean: their sum in ascending order, so that it does not depend on theirs, over their number.
    pub mean: Figure,
    /// The percentiles, as requested.
    pub at: [Figure; N],
}

/// A figure of values of which some may be larger than is known (right-censored).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// It does not depend on censored values.
    Exact(f64),
    /// It is at least this large.
    AtLeast(f64),
}

impl Figure {
    /// Returns the figure where it is known.
    pub(crate) fn exact(self) -> Option<f64> {
        match self {
            Figure::Exact(value) => Some(value),
            Figure::AtLeast(_) => None,
        }
    }

    /// Returns its lower bound where it is not known.
    pub(crate) fn at_least(self) -> Option<f64> {
        match self {
            Figure::Exact(_) => None,
            Figure::AtLeast(bound) => Some(bound),
        }
    }
}

impl Values {
    /// Adds a value, in memory.
    pub(crate) fn add(&mut self, value: f64) {
        debug_assert!(value >= 0.0, "{value}");
        self.recent.push([value.to_bits()]);
    }

    /// Returns the number of values in memory.
    pub(crate) fn held(&self) -> usize {
        self.recent.len()
    }

    /// Sorts the values in memory, once for all figures.
    pub(crate) fn sort(&mut self) {
        self.recent.sort_unstable();
    }

    /// Moves the values in memory into a file.
    pub(crate) fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        self.sort();
        self.runs.push(aside.append(&self.recent)?);
        self.recent.clear();
        Ok(())
    }
}

/// Returns the mean and some percentiles (0 to 100) of all these values together; `aside` has the values that are not
/// in memory. Of the `censored` ones only a lower bound is known.
///
/// Percentiles interpolate linearly between ranks. With n values one is at rank p/100 x (n - 1), counted from 0, as in
/// `numpy.percentile` by default. With each censored value at its bound a percentile is a lower bound. It is exact
/// where the ranks on both sides of it are below every such bound.
pub(crate) fn digest<const N: usize>(
    values: &[&Values],
    censored: &[&Values],
    aside: Option<&Aside>,
    percentiles: [f64; N],
) -> io::Result<Option<Digest<N>>> {
    let everything = || values.iter().chain(censored);
    let mut recent: Vec<[u64; 1]> = everything().flat_map(|values| &values.recent).copied().collect();
    // Of one kind they may be in order.
    recent.sort_unstable();
    let runs = everything().flat_map(|values| &values.runs).cloned();
    let in_file: u64 = runs.clone().map(|run| run.end - run.start).sum();
    let Some(last) = (recent.len() as u64 + in_file).checked_sub(1) else { return Ok(None) };
    let ranks = percentiles.map(|p| p / 100.0 * last as f64);
    let below = ranks.map(|rank| (rank.floor() as u64).min(last));
    // A rank that is whole does not depend on the next value.
    let ends: [[u64; 2]; N] = std::array::from_fn(|i| [below[i], (ranks[i].ceil() as u64).min(last)]);
    let (sum, ends) = if in_file == 0 {
        (
            recent.iter().fold(0.0, |sum, bits| sum + value(*bits)),
            ends.map(|ends| ends.map(|rank| value(recent[rank as usize]))),
        )
    } else {
        let mut found = ends.map(|ends| ends.map(|rank| (rank, 0.0)));
        let mut sum = 0.0;
        for (rank, bits) in (0..).zip(Merged::new([&recent[..]], aside, runs)?) {
            let value = value(bits?);
            sum += value;
            found.iter_mut().flatten().filter(|end| end.0 == rank).for_each(|end| end.1 = value);
        }
        (sum, found.map(|ends| ends.map(|(_, value)| value)))
    };
    let known_below = least(censored, aside)?;
    let figure = |value: f64, upper: f64| match known_below {
        Some(bound) if upper >= bound => Figure::AtLeast(value),
        _ => Figure::Exact(value),
    };
    let at = std::array::from_fn(|i| {
        let [low, high] = ends[i];
        figure(low + (ranks[i] - below[i] as f64) * (high - low), high)
    });
    Ok(Some(Digest { mean: figure(sum / (last + 1) as f64, f64::INFINITY), at }))
}

/// Returns the smallest of these values.
fn least(values: &[&Values], aside: Option<&Aside>) -> io::Result<Option<f64>> {
    let mut least = values.iter().flat_map(|values| &values.recent).map(|bits| value(*bits)).reduce(f64::min);
    if let Some(aside) = aside {
        for run in values.iter().flat_map(|values| &values.runs) {
            // A run is in ascending order.
            let first = aside.read::<1>(run.start..run.start + 1)?;
            least = first.into_iter().map(value).chain(least).reduce(f64::min);
        }
    }
    Ok(least)
}

fn value([bits]: [u64; 1]) -> f64 {
    f64::from_bits(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(all: &[f64]) -> Values {
        let mut values = Values::default();
        all.iter().for_each(|value| values.add(*value));
        values
    }

    fn percentile(all: &[f64], p: f64) -> Option<f64> {
        digest(&[&of(all)], &[], None, [p]).unwrap().and_then(|digest| digest.at[0].exact())
    }

    #[test]
    fn a_figure_is_known_or_has_a_lower_bound() {
        let (known, bound) = (Figure::Exact(2.5), Figure::AtLeast(2.5));
        assert_eq!([known, bound].map(Figure::exact), [Some(2.5), None]);
        assert_eq!([known, bound].map(Figure::at_least), [None, Some(2.5)]);
    }

    #[test]
    fn values_in_a_file_are_not_held() {
        let mut aside = Aside::new(tempfile::tempfile().unwrap());
        let mut values = of(&[3.0, 1.0, 2.0]);
        assert_eq!(values.held(), 3);
        values.put(&mut aside).unwrap();
        assert_eq!(values.held(), 0);
        values.add(4.0);
        assert_eq!(values.held(), 1);
    }

    #[test]
    fn a_percentile_among_censored_values_is_a_lower_bound() {
        // Four have arrived, two had taken 25 and 100 when the run ended: 10 20 [25] 30 40 [100].
        let (arrived, censored) = (of(&[30.0, 10.0, 40.0, 20.0]), of(&[100.0, 25.0]));
        let found = digest(&[&arrived], &[&censored], None, [0.0, 20.0, 30.0, 50.0, 100.0]).unwrap().unwrap();
        assert_eq!(found.mean, Figure::AtLeast(37.5));
        // Rank 1 is whole: the value at rank 2 does not matter. Rank 1.5 is between a value and a bound.
        let bounds = [Figure::AtLeast(22.5), Figure::AtLeast(27.5), Figure::AtLeast(100.0)];
        assert_eq!(found.at, [&[Figure::Exact(10.0), Figure::Exact(20.0)][..], &bounds].concat()[..]);
        let of_none = digest(&[], &[&censored], None, [50.0]).unwrap().unwrap();
        assert_eq!(of_none, Digest { mean: Figure::AtLeast(62.5), at: [Figure::AtLeast(62.5)] });
    }

    #[test]
    fn a_censored_value_that_equals_an_arrived_one_leaves_it_unknown() {
        let found = digest(&[&of(&[10.0, 10.0])], &[&of(&[10.0])], None, [0.0, 100.0]).unwrap().unwrap();
        assert_eq!(found.at, [Figure::AtLeast(10.0); 2]);
    }

    #[test]
    fn percentiles_interpolate_between_ranks() {
        let values = [30.0, 10.0, 40.0, 20.0];
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
    }

    proptest! {
        /// To the bit: with any part in the file, in any pieces.
        #[test]
        fn in_a_file_or_in_memory_they_are_the_same(
            first in prop::collection::vec(0.0..1e9, 0..3000),
            second in prop::collection::vec(0.0..1e3, 0..300),
            each in 1usize..1500,
        ) {
            let at = [0.0, 1.0, 50.0, 90.0, 99.0, 100.0];
            let (whole, other) = (of(&first), of(&second));
            let mut aside = Aside::new(tempfile::tempfile().unwrap());
            let mut parts = Values::default();
            for value in &first {
                parts.add(*value);
                if parts.held() == each {
                    parts.put(&mut aside).unwrap();
                }
            }
            prop_assert!(parts.held() < each);
            let in_file = |values: &[&Values], censored: &[&Values]| digest(values, censored, Some(&aside), at).unwrap();
            let in_memory = |values: &[&Values], censored: &[&Values]| digest(values, censored, None, at).unwrap();
            prop_assert_eq!(in_file(&[&parts, &other], &[]), in_memory(&[&other, &whole], &[]));
            prop_assert_eq!(in_file(&[&parts], &[&other]), in_memory(&[&whole], &[&other]));
            prop_assert_eq!(in_file(&[&other], &[&parts]), in_memory(&[&other], &[&whole]));
        }

        /// Against the definition: a figure is exact if it is the same with every censored value as far beyond as can be.
        #[test]
        fn a_figure_is_exact_where_no_censored_value_can_move_it(
            arrived in prop::collection::vec(0u32..50, 0..12),
            censored in prop::collection::vec(0u32..50, 0..4),
            p in 0u32..=100,
        ) {
            let whole = |all: &[u32], by: u32| all.iter().map(|value| f64::from(value + by)).collect::<Vec<_>>();
            let (a, c) = (of(&whole(&arrived, 0)), of(&whole(&censored, 0)));
            let p = f64::from(p);
            let found = digest(&[&a], &[&c], None, [p]).unwrap().map(|digest| digest.at[0]);
            let low = percentile(&[whole(&arrived, 0), whole(&censored, 0)].concat(), p);
            // By a little and by much: exact figures stay, bounds rise.
            let moved = [1, 1_000_000].map(|by| percentile(&[whole(&arrived, 0), whole(&censored, by)].concat(), p));
            match found {
                Some(Figure::Exact(value)) => prop_assert_eq!([Some(value); 3], [low, moved[0], moved[1]]),
                Some(Figure::AtLeast(bound)) => {
                    prop_assert_eq!(Some(bound), low);
                    // Where two values are equal, one may take the rank of the other.
                    let mut sorted = [&arrived[..], &censored[..]].concat();
                    sorted.sort_unstable();
                    let tied = sorted.windows(2).any(|pair| pair[0] == pair[1]);
                    prop_assert!(moved[1] >= low && (tied || moved[1] > low));
                }
                None => prop_assert_eq!(low, None),
            }
        }
    }
}
