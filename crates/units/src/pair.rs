//! Two numbers in one word.

/// Returns both in one word, the first in its upper half.
#[inline]
pub fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Returns the two numbers of a word from [`pair`].
#[inline]
pub fn halves(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_come_back_from_a_word() {
        assert_eq!(pair(1, 2), (1 << 32) + 2);
        assert_eq!(halves(pair(u32::MAX - 1, 7)), (u32::MAX - 1, 7));
    }
}
