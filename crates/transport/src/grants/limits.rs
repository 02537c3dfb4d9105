//! Limits of the data in flight from one sending host: they fall when it signals a backlog, or when switches mark.
//!
//! The receiver does not know the others that share both links, so it reacts to these signs, as a window does.

/// The reaction of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Maximum of the limit, in bytes.
    pub most: u64,
    /// The growth of a limit in a window without a sign: a segment.
    pub step: u64,
    /// Minimum of the limit for the sending host's link, and of the limit for links in the network.
    pub least: [u64; 2],
    /// The reduction for a mark.
    pub cut: Cut,
}

/// The reduction of a limit for a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Each mark reduces it by this share, in 65536ths.
    Each(u64),
    /// As DCTCP: once per window, by half of the smoothed share of marked data; this is the weight of a new share, in
    /// 65536ths.
    Window(u64),
}

const ONE: u64 = 1 << 16;

/// A host's limits of the data in flight from another host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// The limit for the sending host's own link.
    informed: Limit,
    /// The limit for links in the network.
    marked: Limit,
    /// Bytes in flight from the host.
    pub in_flight: u64,
}

impl Limits {
    /// Returns the limits of a host with nothing in flight.
    pub(super) fn new(rule: &Rule) -> Limits {
        Limits { informed: Limit::new(rule), marked: Limit::new(rule), in_flight: 0 }
    }

    /// Returns true if another segment may be granted; one may always be in flight.
    pub(super) fn allow(&self, segment: u64) -> bool {
        self.in_flight == 0 || self.in_flight + segment <= self.informed.bytes.min(self.marked.bytes)
    }

    /// Records the arrival of data, with the signs of a backlog at its host and of a mark by a switch.
    pub(super) fn hear(&mut self, rule: &Rule, bytes: u64, informed: bool, marked: bool) {
        self.informed.hear(rule, rule.least[0], bytes, informed);
        self.marked.hear(rule, rule.least[1], bytes, marked);
    }

    /// Halves the limits for data that has not arrived in time: it is lost, or is queued at its host.
    pub(super) fn late(&mut self, rule: &Rule) {
        for (limit, least) in [&mut self.informed, &mut self.marked].into_iter().zip(rule.least) {
            limit.bytes = (limit.bytes / 2).max(least.min(rule.most));
        }
    }
}

/// One of a host's limits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    bytes: u64,
    /// With [`Cut::Window`]: the smoothed share of marked data, and the bytes that have arrived in this window.
    alpha: u64,
    seen: u64,
    signs: u64,
}

impl Limit {
    fn new(rule: &Rule) -> Limit {
        Limit { bytes: rule.most, alpha: 0, seen: 0, signs: 0 }
    }

    fn hear(&mut self, rule: &Rule, least: u64, bytes: u64, sign: bool) {
        let grown = match rule.cut {
            // A segment for a whole window of them.
            Cut::Each(_) if !sign => self.bytes + (rule.step * bytes / self.bytes).max(1),
            Cut::Each(share) => self.bytes - self.bytes * share / ONE,
            Cut::Window(weight) => {
                self.seen += bytes;
                self.signs += if sign { bytes } else { 0 };
                if self.seen < self.bytes {
                    return;
                }
                let share = self.signs * ONE / self.seen;
                self.alpha = (self.alpha * (ONE - weight) + share * weight) / ONE;
                let signs = std::mem::take(&mut self.signs);
                self.seen = 0;
                if signs == 0 { self.bytes + rule.step } else { self.bytes - self.bytes * self.alpha / (2 * ONE) }
            }
        };
        self.bytes = grown.clamp(least.min(rule.most), rule.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Rule = Rule { most: 24_000, step: 1000, least: [1000; 2], cut: Cut::Each(6554) };
    const HALF: Rule = Rule { most: 16_000, step: 1000, least: [1000; 2], cut: Cut::Window(ONE / 2) };

    #[test]
    fn each_sign_takes_a_tenth_and_a_window_without_one_gives_a_segment() {
        let mut limits = Limits::new(&TENTH);
        limits.hear(&TENTH, 1000, true, false);
        // 6554 of 65536 of 24 000, rounded down: 2400.
        assert_eq!((limits.informed.bytes, limits.marked.bytes), (21_600, 24_000));
        (0..22).for_each(|_| limits.hear(&TENTH, 1000, false, false));
        // 22 segments of at most 1000 / 21.6 each: nearly one.
        assert!((22_550..=22_620).contains(&limits.informed.bytes), "{limits:?}");
        (0..100).for_each(|_| limits.hear(&TENTH, 1000, false, true));
        assert_eq!((limits.marked.bytes, limits.informed.bytes), (1000, 24_000));
    }

    #[test]
    fn the_smaller_of_both_holds_and_one_segment_is_always_allowed() {
        let mut limits = Limits::new(&TENTH);
        limits.in_flight = 23_000;
        assert!(limits.allow(1000) && !limits.allow(1001));
        limits.hear(&TENTH, 1000, false, true);
        assert!(!limits.allow(1000));
        limits.late(&TENTH);
        assert_eq!((limits.informed.bytes, limits.marked.bytes), (12_000, 10_800));
        (0..100).for_each(|_| limits.late(&TENTH));
        assert_eq!(limits.informed.bytes, 1000);
        limits.in_flight = 0;
        assert!(limits.allow(9000));
    }

    #[test]
    fn each_limit_has_a_minimum_of_its_own() {
        let rule = Rule { least: [8000, 3000], ..TENTH };
        let mut limits = Limits::new(&rule);
        (0..100).for_each(|_| limits.hear(&rule, 1000, true, true));
        assert_eq!((limits.informed.bytes, limits.marked.bytes), (8000, 3000));
        (0..3).for_each(|_| limits.late(&rule));
        assert_eq!((limits.informed.bytes, limits.marked.bytes), (8000, 3000));
        // No more than the maximum, for a host whose link is slow.
        let slow = Rule { most: 2000, ..rule };
        limits.hear(&slow, 1000, true, true);
        limits.late(&slow);
        assert_eq!((limits.informed.bytes, limits.marked.bytes), (2000, 2000));
    }

    #[test]
    fn as_dctcp_it_cuts_once_per_window_by_half_of_the_smoothed_share() {
        let mut limit = Limit::new(&HALF);
        // A quarter of a window of 16 is marked: alpha is an eighth, and a sixteenth of 16 000 is cut.
        (0..16).for_each(|number| limit.hear(&HALF, 1000, 1000, number % 4 == 0));
        assert_eq!((limit.bytes, limit.alpha), (15_000, ONE / 8));
        (0..15).for_each(|_| limit.hear(&HALF, 1000, 1000, false));
        assert_eq!((limit.bytes, limit.alpha), (16_000, ONE / 16));
        // All of a window: alpha is 17/32, of which half is cut, 4250 B; without a mark a segment is added per window.
        (0..16).for_each(|_| limit.hear(&HALF, 1000, 1000, true));
        assert_eq!((limit.bytes, limit.alpha), (11_750, ONE * 17 / 32));
        (0..12).for_each(|_| limit.hear(&HALF, 1000, 1000, false));
        assert_eq!(limit.bytes, 12_750);
    }
}
