//! Random numbers: one stream per component, the same on every machine and in every version.
//!
//! The generator (xoshiro256++, seeded through SplitMix64; Blackman and Vigna 2018) and the samplers are written here
//! because their streams are part of the meaning of a seed.

use std::collections::BTreeMap;

use crate::Distribution;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// Returns the stream of one component. `name` and `number` distinguish the components of a run, so that adding one
    /// does not change the draws of the others.
    pub fn new(seed: u64, name: &str, number: u64) -> Stream {
        let mut mix = mix64(seed) ^ mix64(hash_of(name).wrapping_add(mix64(number)));
        let state = std::array::from_fn(|_| {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix64(mix)
        });
        Stream { state }
    }

    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Draws a number, uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a number, uniform in `0..n`; `n` must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire's multiplication; the bias is below n / 2^64.
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Draws a value of a distribution.
    pub fn sample(&mut self, distribution: &Distribution) -> f64 {
        match distribution {
            Distribution::Constant(x) => *x,
            Distribution::Uniform(a, b) => a + (b - a) * self.unit(),
            Distribution::Exponential(mean) => -mean * libm::log(1.0 - self.unit()),
            Distribution::Lognormal { median, sigma } => median * libm::exp(sigma * self.normal()),
            Distribution::Pareto { min, shape } => min * libm::pow(1.0 - self.unit(), -1.0 / shape),
            Distribution::Empirical(cdf) => cdf.quantile(self.unit()),
        }
    }

    /// Draws `count` different numbers of `0..n`, in random order. `count` must not exceed `n`.
    pub fn distinct(&mut self, count: u32, n: u32) -> Vec<u32> {
        // A shuffle of the numbers in order: each swaps places with a random one from its own place on. Only the
        // numbers that were moved are stored.
        let mut moved = BTreeMap::new();
        let draw = |i: u32| {
            let other = i + self.below(u64::from(n - i)) as u32;
            let at_i = moved.get(&i).copied().unwrap_or(i);
            moved.insert(other, at_i).unwrap_or(other)
        };
        (0..count).map(draw).collect()
    }

    /// Draws a standard normal number (Box-Muller, one of the pair).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

/// Returns the FNV-1a hash of a name.
pub fn hash_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, byte| (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// SplitMix64's finaliser: every input bit changes about half of the output's.
pub fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cdf;

    fn mean(distribution: &Distribution) -> f64 {
        let mut stream = Stream::new(1, "test", 0);
        (0..200_000).map(|_| stream.sample(distribution)).sum::<f64>() / 200_000.0
    }

    #[test]
    fn the_stream_is_pinned() {
        let mut stream = Stream::new(1, "queries", 0);
        let first: Vec<u64> = (0..3).map(|_| stream.bits()).collect();
        let mut again = Stream::new(1, "queries", 0);
        assert_eq!(first, (0..3).map(|_| again.bits()).collect::<Vec<_>>());
        assert_eq!(first, PINNED, "the meaning of every seed would change");
    }
    const PINNED: [u64; 3] = [12000660220859866517, 12719218540192484378, 8343315055477866502];

    #[test]
    fn components_have_streams_of_their_own() {
        let bits = |seed, name, number| Stream::new(seed, name, number).bits();
        let all = [bits(1, "a", 0), bits(1, "a", 1), bits(1, "b", 0), bits(2, "a", 0)];
        for (i, x) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|y| x != y));
        }
    }

    #[test]
    fn samples_have_the_mean_that_the_distribution_says() {
        for distribution in [
            Distribution::Constant(3.0),
            Distribution::Uniform(1.0, 4.0),
            Distribution::Exponential(2.0),
            Distribution::Lognormal { median: 2.0, sigma: 0.5 },
            Distribution::Pareto { min: 1.0, shape: 3.0 },
            Distribution::Empirical(Cdf::new(vec![(1.0, 0.2), (5.0, 0.7), (9.0, 1.0)]).unwrap().into()),
        ] {
            let (measured, stated) = (mean(&distribution), distribution.mean());
            assert!((measured / stated - 1.0).abs() < 0.02, "{distribution:?}: {measured} for {stated}");
        }
    }

    #[test]
    fn distinct_numbers_are_distinct() {
        let mut drawn = Stream::new(3, "hosts", 0).distinct(40, 41);
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 40);
    }

    #[test]
    fn distinct_numbers_are_those_of_a_shuffle() {
        for n in 1..30 {
            let mut stream = Stream::new(u64::from(n), "hosts", 0);
            let mut all: Vec<u32> = (0..n).collect();
            for i in 0..n {
                all.swap(i as usize, (i + stream.below(u64::from(n - i)) as u32) as usize);
            }
            assert_eq!(Stream::new(u64::from(n), "hosts", 0).distinct(n, n), all);
        }
    }
}
