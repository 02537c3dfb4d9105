//! Pacing: spaces packets, so that they are sent at a rate.

use units::{Instant, Span};

use crate::controllers::Cwnd;

/// The conversion of a window to a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// Windows of a segment and more are paced too.
    pub on: bool,
    /// Windows per round trip in congestion avoidance.
    pub gain: f64,
    /// Windows per round trip in slow start.
    pub gain_slow_start: f64,
}

impl Pacing {
    /// Returns the windows per round trip, for a window of a segment or more; none: packets are sent as the window
    /// opens.
    pub fn gain(&self, window: &Cwnd) -> Option<f64> {
        let slow_start = window.cwnd < window.ssthresh / 2.0;
        self.on.then_some(if slow_start { self.gain_slow_start } else { self.gain })
    }
}

/// The time at which a sending end's next packet may be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pacer {
    /// The time at which the last packet was sent.
    at: Instant,
    /// Size of that packet on the wire, in bytes.
    size: u64,
}

impl Pacer {
    /// Records that a packet of `size` wire bytes is sent now.
    #[inline]
    pub(crate) fn sent(&mut self, now: Instant, size: u64) {
        *self = Pacer { at: now, size };
    }

    /// Returns the time of the next packet, if packets are sent at `rate` bit/s with headers: never at rate 0.
    pub(crate) fn due(&self, rate: u64) -> Instant {
        if rate == 0 {
            return Instant::MAX;
        }
        let gap = (u128::from(self.size) * 8_000_000_000_000).div_ceil(u128::from(rate));
        self.at.saturating_add(Span(u64::try_from(gap).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_the_size_over_the_rate_rounded_up() {
        let mut pacer = Pacer::default();
        pacer.sent(Instant::from_micros(5), 1500);
        // 12 000 bit at 1 Gbit/s, and at 7 bit/s: 1714.28... s.
        assert_eq!(pacer.due(1_000_000_000), Instant::from_micros(17));
        assert_eq!(pacer.due(7), Instant::from_micros(5) + Span(1_714_285_714_285_715));
        assert_eq!(pacer.due(0), Instant::MAX);
    }

    #[test]
    fn slow_start_ends_at_half_of_ssthresh_for_pacing() {
        let pacing = Pacing { on: true, gain: 1.2, gain_slow_start: 2.0 };
        let gain = |cwnd, ssthresh| pacing.gain(&Cwnd { cwnd, ssthresh, floor: 2.0, limit: f64::INFINITY });
        assert_eq!((gain(9.9, 20.0), gain(10.0, 20.0), gain(1e3, f64::INFINITY)), (Some(2.0), Some(1.2), Some(2.0)));
        let off = Pacing { on: false, ..pacing };
        assert_eq!(off.gain(&Cwnd { cwnd: 9.0, ssthresh: 2.0, floor: 2.0, limit: 9.0 }), None);
    }
}
