//! The type for numbers of bytes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// A number of bytes: of a message, in a queue, on a wire. A position in a stream is none, nor is a number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes at all.
    pub const ZERO: Bytes = Bytes(0);
    /// More than anything: "no limit".
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// Returns the number as a float.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Returns the number of pieces of at most `each` that they make.
    pub fn pieces(self, each: Bytes) -> u64 {
        self.0.div_ceil(each.0)
    }
    /// Returns the sum; `MAX` when it does not fit.
    pub fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
    /// Returns the difference, zero when `other` is more.
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl From<u16> for Bytes {
    #[inline]
    fn from(bytes: u16) -> Bytes {
        Bytes(bytes.into())
    }
}
impl From<u32> for Bytes {
    #[inline]
    fn from(bytes: u32) -> Bytes {
        Bytes(bytes.into())
    }
}
impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}
impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}
impl Mul<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0 * factor)
    }
}
impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(all: I) -> Bytes {
        all.fold(Bytes::ZERO, Add::add)
    }
}

/// Prints the number with its unit: "94900 B".
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_full_but_for_the_last() {
        let mss = Bytes(1460);
        assert_eq!([1, 1460, 1461, 2920].map(|bytes| Bytes(bytes).pieces(mss)), [1, 1, 2, 2]);
    }

    #[test]
    fn sums_and_differences() {
        assert_eq!([Bytes(3), Bytes::from(4u32)].into_iter().sum::<Bytes>(), Bytes(7));
        assert_eq!((Bytes(3).saturating_sub(Bytes(4)), Bytes::MAX.saturating_add(Bytes(1))), (Bytes::ZERO, Bytes::MAX));
        assert_eq!((Bytes(1500) * 3).to_string(), "4500 B");
    }
}
