//! Spaces packets, so that they leave at a rate.

use units::Time;

/// When a sending end's next packet may leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacer {
    /// When the last packet was sent.
    at: Time,
    /// Its size on the wire, in bytes.
    size: u64,
}

impl Pacer {
    /// A packet of `size` wire bytes is sent now.
    #[inline]
    pub fn sent(&mut self, now: Time, size: u64) {
        *self = Pacer { at: now, size };
    }

    /// When the next packet may leave, if packets leave at `rate` bit/s with headers: never at rate 0.
    pub fn due(&self, rate: u64) -> Time {
        if rate == 0 {
            return Time::MAX;
        }
        let gap = (u128::from(self.size) * 8_000_000_000_000).div_ceil(u128::from(rate));
        self.at.saturating_add(Time(u64::try_from(gap).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_the_size_over_the_rate_rounded_up() {
        let mut pacer = Pacer::default();
        pacer.sent(Time::from_micros(5), 1500);
        // 12 000 bit at 1 Gbit/s, and at 7 bit/s: 1714.28... s.
        assert_eq!(pacer.due(1_000_000_000), Time::from_micros(17));
        assert_eq!(pacer.due(7), Time::from_micros(5) + Time(1_714_285_714_285_715));
        assert_eq!(pacer.due(0), Time::MAX);
    }
}
