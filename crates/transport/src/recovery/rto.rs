//! The retransmission timeout (RFC 6298).

use units::Span;

use crate::Expired;
use crate::connection::Config;

/// Smoothed round-trip time, its variation, and the timeout that follows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RtoEstimator {
    /// Smoothed RTT; zero before the first sample.
    srtt: Span,
    variation: Span,
    smallest: Span,
    timeout: Span,
    doublings: u32,
    /// A sample was taken since this was last reset.
    pub fresh: bool,
}

impl RtoEstimator {
    /// Returns the state before the first sample.
    pub(crate) fn new(config: &Config) -> RtoEstimator {
        RtoEstimator {
            srtt: Span::ZERO,
            variation: Span::ZERO,
            smallest: Span::MAX,
            timeout: config.rto_initial,
            doublings: 0,
            fresh: false,
        }
    }
    /// Takes a sample and ends the back-off.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Span, config: &Config) {
        self.smallest = self.smallest.min(rtt);
        self.doublings = 0;
        self.fresh = true;
        if self.srtt == Span::ZERO {
            self.srtt = rtt.max(Span(1));
            self.variation = rtt / 2;
        } else {
            // RFC 6298 2.3: beta = 1/4, alpha = 1/8, variation first.
            let error = self.srtt.0.abs_diff(rtt.0);
            self.variation = Span(self.variation.0 - (self.variation.0 >> 2) + (error >> 2));
            self.srtt = Span(self.srtt.0 - (self.srtt.0 >> 3) + (rtt.0 >> 3)).max(Span(1));
        }
        // RFC 6298 2.3 and 2.4: SRTT + max(G, 4 RTTVAR), and not below the minimum.
        let timeout = self.srtt + Span(4 * self.variation.0).max(config.rto_granularity);
        self.timeout = timeout.max(config.rto_min).min(config.rto_max);
    }
    /// Doubles the timeout after the timer has expired (RFC 6298 5.5).
    pub(crate) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(32);
    }
    /// Ends the back-off without a sample.
    pub(crate) fn end_back_off(&mut self) {
        self.doublings = 0;
    }
    /// Returns the timeout in force.
    #[inline]
    pub(crate) fn timeout(&self, config: &Config) -> Span {
        if self.doublings == 0 {
            return self.timeout;
        }
        Span(self.timeout.0.saturating_mul(1 << self.doublings)).min(config.rto_max.max(self.timeout))
    }
    /// Returns the kind of the timer in force.
    pub(crate) fn timer(&self, config: &Config) -> Expired {
        match self.srtt() {
            // Where the maximum is the minimum, as in pFabric, nothing is doubled.
            _ if self.timeout(config) > self.timeout => Expired::BackedOff,
            None => Expired::Initial,
            Some(_) if self.timeout <= config.rto_min => Expired::Minimum,
            Some(_) => Expired::Estimated,
        }
    }
    /// Returns the smoothed round-trip time, once there is a sample.
    pub(crate) fn srtt(&self) -> Option<Span> {
        (self.srtt > Span::ZERO).then_some(self.srtt)
    }
    /// Returns the smallest sample so far.
    pub(crate) fn smallest(&self) -> Option<Span> {
        (self.smallest < Span::MAX).then_some(self.smallest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::config::tests::config;

    #[test]
    fn the_first_sample_sets_and_later_ones_move() {
        let config = Config { rto_min: Span(1), rto_granularity: Span(1), ..config() };
        let mut rto = RtoEstimator::new(&config);
        assert_eq!((rto.timeout(&config), rto.srtt(), rto.smallest()), (config.rto_initial, None, None));
        rto.sample(Span::from_micros(100), &config);
        assert_eq!(rto.timeout(&config), Span::from_micros(300)); // srtt + 4 * srtt/2
        rto.sample(Span::from_micros(180), &config);
        assert_eq!(rto.srtt(), Some(Span::from_micros(110)));
        assert_eq!(rto.smallest(), Some(Span::from_micros(100)));
        assert_eq!(rto.timeout(&config), Span::from_micros(110) + Span(4 * 57_500_000));
    }

    #[test]
    fn the_variation_counts_for_a_granule_at_least() {
        let config = Config { rto_min: Span::from_millis(20), rto_granularity: Span::from_millis(4), ..config() };
        let mut rto = RtoEstimator::new(&config);
        (0..200).for_each(|_| rto.sample(Span::from_millis(100), &config));
        assert_eq!(rto.timeout(&config), Span::from_millis(104));
        // The minimum holds for the sum.
        let mut rto = RtoEstimator::new(&config);
        (0..200).for_each(|_| rto.sample(Span::from_millis(1), &config));
        assert_eq!(rto.timeout(&config), Span::from_millis(20));
    }

    #[test]
    fn the_timer_in_force_has_a_name() {
        let config = Config { rto_min: Span::from_millis(5), rto_granularity: Span(1), ..config() };
        let mut rto = RtoEstimator::new(&config);
        assert_eq!(rto.timer(&config), Expired::Initial);
        rto.back_off();
        assert_eq!(rto.timer(&config), Expired::BackedOff);
        rto.sample(Span::from_micros(100), &config);
        assert_eq!(rto.timer(&config), Expired::Minimum);
        rto.sample(Span::from_millis(30), &config);
        assert_eq!(rto.timer(&config), Expired::Estimated);
        let fixed = Config { rto_max: Span::from_millis(5), ..config };
        let mut rto = RtoEstimator::new(&fixed);
        rto.sample(Span::from_micros(100), &fixed);
        rto.back_off();
        assert_eq!(rto.timer(&fixed), Expired::Minimum);
    }

    #[test]
    fn back_off_doubles_up_to_the_limit_and_a_sample_ends_it() {
        let config = Config { rto_max: Span::from_millis(100), ..config() };
        let mut rto = RtoEstimator::new(&config);
        for expected in [40, 80, 100, 100] {
            rto.back_off();
            assert_eq!(rto.timeout(&config), Span::from_millis(expected));
        }
        rto.sample(Span::from_micros(100), &config);
        assert_eq!(rto.timeout(&config), config.rto_min);
    }
}
