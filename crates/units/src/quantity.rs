//! Integer newtypes for time, rate and amounts.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use crate::Bytes;

/// A point in simulated time, in picoseconds after the start of the run.
///
/// Picoseconds, because a byte at 11 Gbps takes 727.27 ps; 64 bits hold 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A length of time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// The common methods of [`Instant`] and [`Span`]: construction and conversion.
macro_rules! picoseconds {
    ($type:ident) => {
        impl $type {
            /// Converts picoseconds in a float, rounded to the nearest; negative values become zero.
            pub fn from_ps_f64(ps: f64) -> $type {
                $type(ps.round() as u64) // `as` saturates: negative and NaN give 0
            }
            /// Converts seconds in a float.
            pub fn from_secs_f64(seconds: f64) -> $type {
                $type::from_ps_f64(seconds * 1e12)
            }
            /// Converts a whole number of nanoseconds.
            pub const fn from_nanos(ns: u64) -> $type {
                $type(ns * 1_000)
            }
            /// Converts a whole number of microseconds.
            pub const fn from_micros(us: u64) -> $type {
                $type(us * 1_000_000)
            }
            /// Converts a whole number of milliseconds.
            pub const fn from_millis(ms: u64) -> $type {
                $type(ms * 1_000_000_000)
            }
            /// Returns the value in seconds.
            pub fn as_secs_f64(self) -> f64 {
                self.0 as f64 / 1e12
            }
            /// Returns the value in microseconds.
            pub fn as_micros_f64(self) -> f64 {
                self.0 as f64 / 1e6
            }
            /// Returns the value increased by `span`; `MAX` when it does not fit.
            pub fn saturating_add(self, span: Span) -> $type {
                $type(self.0.saturating_add(span.0))
            }
        }

        impl Add<Span> for $type {
            type Output = $type;
            fn add(self, span: Span) -> $type {
                $type(self.0 + span.0)
            }
        }
        impl AddAssign<Span> for $type {
            fn add_assign(&mut self, span: Span) {
                self.0 += span.0;
            }
        }
        impl Sub for $type {
            type Output = Span;
            fn sub(self, other: $type) -> Span {
                Span(self.0 - other.0)
            }
        }

        /// Prints with the largest unit that leaves a number of at least one: "20 us".
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print_scaled(f, self.0 as f64, &[("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3), ("ps", 1.0)])
            }
        }
    };
}

picoseconds!(Instant);
picoseconds!(Span);

impl Instant {
    /// The start of every run.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything: "never".
    pub const MAX: Instant = Instant(u64::MAX);

    /// Returns the time since the start of the run.
    pub const fn since_start(self) -> Span {
        Span(self.0)
    }
    /// Returns the time since `other`, zero when `other` is later.
    pub fn saturating_sub(self, other: Instant) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
    /// Returns the point in time `span` before, at the earliest the start of the run.
    pub fn earlier_by(self, span: Span) -> Instant {
        Instant(self.0.saturating_sub(span.0))
    }
}

impl Sub<Span> for Instant {
    type Output = Instant;
    fn sub(self, span: Span) -> Instant {
        Instant(self.0 - span.0)
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than anything: "for ever".
    pub const MAX: Span = Span(u64::MAX);

    /// Returns the point in time this long after the start of the run.
    pub const fn after_start(self) -> Instant {
        Instant(self.0)
    }
    /// Returns the difference, zero when `other` is longer.
    pub fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0 * factor)
    }
}
impl Div<u64> for Span {
    type Output = Span;
    fn div(self, by: u64) -> Span {
        Span(self.0 / by)
    }
}

/// The speed of a link, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl Rate {
    /// Converts a whole number of Gbit/s.
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }
    /// Returns the time per byte on a wire of this rate.
    pub fn transmission(self) -> Transmission {
        Transmission { ps_per_byte_q32: ((8_000_000_000_000u128 << 32) / u128::from(self.0.max(1))) as u64 }
    }
    /// Returns the rate in bit/s, as a float.
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }
}

/// Prints the rate with its unit: "10 Gbps".
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0 as f64, &[("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3), ("bps", 1.0)])
    }
}

/// Time per byte as a fixed-point number (32 fraction bits), so that no division is needed per packet.
///
/// Holds rates of 2 Kbps and more exactly enough: the error is below 1 ps for any packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    ps_per_byte_q32: u64,
}

impl Transmission {
    /// Returns the time that `bytes` occupy the wire, rounded to the nearest picosecond.
    #[inline]
    pub fn of(self, bytes: Bytes) -> Span {
        let q = u128::from(bytes.0) * u128::from(self.ps_per_byte_q32);
        Span(((q + (1 << 31)) >> 32) as u64)
    }
}

/// A queue length or buffer size, in the unit it was given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Packets of any size.
    Packets(u64),
    /// Bytes on the wire.
    Bytes(u64),
}

/// Prints the amount with its unit: "65 packets" or "94900 B".
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Amount::Packets(n) => write!(f, "{n} packets"),
            Amount::Bytes(n) => write!(f, "{n} B"),
        }
    }
}

fn print_scaled(f: &mut fmt::Formatter<'_>, value: f64, scale: &[(&str, f64)]) -> fmt::Result {
    let (unit, factor) = scale.iter().find(|(_, factor)| value >= *factor).unwrap_or(&scale[scale.len() - 1]);
    write!(f, "{} {unit}", value / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_on_the_wire_take_their_time() {
        assert_eq!(Rate::from_gbps(1).transmission().of(Bytes(1500)), Span::from_micros(12));
        assert_eq!(Rate::from_gbps(10).transmission().of(Bytes(1500)), Span(1_200_000));
        assert_eq!(Rate::from_gbps(11).transmission().of(Bytes(1500)), Span(1_090_909));
        assert_eq!(Rate(8_000).transmission().of(Bytes(9000)), Span::from_secs_f64(9.0));
    }

    #[test]
    fn a_long_run_at_an_odd_rate_does_not_drift() {
        let per_packet = Rate::from_gbps(11).transmission().of(Bytes(1500)).0 as f64;
        assert!((per_packet - 1500.0 * 8.0 / 11.0 * 1e3).abs() < 0.5);
    }

    #[test]
    fn quantities_print_as_people_write_them() {
        assert_eq!(Span::from_micros(20).to_string(), "20 us");
        assert_eq!(Span::from_millis(1500).to_string(), "1.5 s");
        assert_eq!(Rate::from_gbps(10).to_string(), "10 Gbps");
        assert_eq!(Amount::Packets(65).to_string(), "65 packets");
    }
}
