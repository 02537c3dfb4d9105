//! The use of the congestion window, as Linux records it (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`).

use crate::controllers::Cwnd;

/// The use of the window by one window's data.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    /// The most bytes in flight after something was sent.
    max_flight: u64,
    /// The data up to here was in flight then; it is valid until all of that is acknowledged.
    until: u64,
    /// The window left no room for another segment.
    limited: bool,
}

impl Usage {
    /// Records that data from `una` to `next` is in flight; `limited` if the window leaves no room for another segment.
    pub(super) fn note(&mut self, una: u64, next: u64, limited: bool) {
        let flight = next - una;
        if limited || una >= self.until || !self.limited && flight > self.max_flight {
            *self = Usage { max_flight: flight, until: next, limited };
        }
    }

    /// Returns whether the window may grow. In slow start it may also grow to twice the data in flight: the host's own
    /// link may be the limit.
    pub(super) fn allows_growth(&self, window: &Cwnd, mss: u32) -> bool {
        let in_slow_start = window.cwnd < window.ssthresh;
        self.limited || in_slow_start && window.cwnd * f64::from(mss) < 2.0 * self.max_flight as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: f64, ssthresh: f64) -> Cwnd {
        Cwnd { cwnd, ssthresh, floor: 1.0, limit: 1e6 }
    }

    #[test]
    fn a_window_that_was_filled_grows_until_its_data_is_acknowledged() {
        let mut usage = Usage::default();
        usage.note(0, 10_000, true);
        // Less in flight, and no limit, of the same window.
        usage.note(4_000, 11_000, false);
        assert!(usage.allows_growth(&window(10.0, 5.0), 1000));
        usage.note(10_000, 12_000, false);
        assert!(!usage.allows_growth(&window(10.0, 5.0), 1000));
    }

    #[test]
    fn slow_start_reaches_twice_the_most_in_flight() {
        let mut usage = Usage::default();
        for next in [4_000, 6_000, 8_000] {
            usage.note(2_000, next, false);
        }
        let grows = |cwnd| usage.allows_growth(&window(cwnd, 50.0), 1000);
        assert_eq!([11.9, 12.0].map(grows), [true, false], "6000 B were in flight");
        assert!(!usage.allows_growth(&window(11.9, 11.9), 1000), "congestion avoidance");
    }
}
