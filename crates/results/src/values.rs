//! Many values of one kind, of which mean and percentiles are asked: in memory, or beside it in a file.

use std::io;

use aside::{Aside, Merged, Run};

/// Values that are not negative, in no order.
#[derive(Default)]
pub struct Values {
    /// As bits: those of floats that are not negative are ordered as they are.
    recent: Vec<[u64; 1]>,
    /// Where the others lie in the file, in ascending order within each.
    runs: Vec<Run>,
}

/// What is asked of many values; none without any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Digest<const N: usize> {
    /// The arithmetic mean: their sum in ascending order, so that it does not depend on theirs, over their number.
    pub mean: f64,
    /// The percentiles that were asked for.
    pub at: [f64; N],
}

impl Values {
    /// One more.
    pub fn add(&mut self, value: f64) {
        debug_assert!(value >= 0.0, "{value}");
        self.recent.push([value.to_bits()]);
    }

    /// How many are in memory.
    pub fn held(&self) -> usize {
        self.recent.len()
    }

    /// Puts those that are in memory in order, for all who ask.
    pub fn sort(&mut self) {
        self.recent.sort_unstable();
    }

    /// Puts those that are in memory into a file.
    pub fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        self.sort();
        self.runs.push(aside.append(&self.recent)?);
        self.recent.clear();
        Ok(())
    }
}

/// The mean and some percentiles (0 to 100) of all these values together; those that are not in memory are in `aside`.
///
/// Percentiles interpolate linearly between ranks: with n values one lies at rank p/100 x (n - 1), counted from 0, as
/// `numpy.percentile` has it by default.
pub fn digest<const N: usize>(
    values: &[&Values],
    aside: Option<&Aside>,
    percentiles: [f64; N],
) -> io::Result<Option<Digest<N>>> {
    let mut recent: Vec<[u64; 1]> = values.iter().flat_map(|values| &values.recent).copied().collect();
    // Of one kind they may be in order.
    recent.sort_unstable();
    let runs = values.iter().flat_map(|values| &values.runs).cloned();
    let in_file: u64 = runs.clone().map(|run| run.end - run.start).sum();
    let Some(last) = (recent.len() as u64 + in_file).checked_sub(1) else { return Ok(None) };
    let ranks = percentiles.map(|p| p / 100.0 * last as f64);
    let below = ranks.map(|rank| (rank.floor() as u64).min(last));
    let ends = below.map(|below| [below, (below + 1).min(last)]);
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
    let at = std::array::from_fn(|i| {
        let [low, high] = ends[i];
        low + (ranks[i] - below[i] as f64) * (high - low)
    });
    Ok(Some(Digest { mean: sum / (last + 1) as f64, at }))
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
        digest(&[&of(all)], None, [p]).unwrap().map(|digest| digest.at[0])
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
        /// To the bit: whatever lies in the file, and however it is cut.
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
            prop_assert_eq!(digest(&[&parts, &other], Some(&aside), at).unwrap(), digest(&[&other, &whole], None, at).unwrap());
            prop_assert_eq!(digest(&[&parts], Some(&aside), at).unwrap(), digest(&[&whole], None, at).unwrap());
        }
    }
}
