//! How much may be on its way from one sending host: less when it says that much waits there, or when switches mark.
//!
//! Both links are shared with others that this host knows nothing of, so it reacts to them, as a window does.

/// How a limit reacts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Never more than this.
    pub most: u64,
    /// Never less: a segment.
    pub least: u64,
    /// What a mark takes away.
    pub cut: Cut,
}

/// What a mark takes away from a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Each one a share, in 65536ths.
    Each(u64),
    /// As DCTCP: once per window, half of the smoothed share of what was marked; this is the weight of a new share, in
    /// 65536ths.
    Window(u64),
}

const ONE: u64 = 1 << 16;

/// What a host lets be on its way from another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// For the sending host's own link.
    informed: Limit,
    /// For the network.
    marked: Limit,
    /// On its way.
    pub in_flight: u64,
}

impl Limits {
    /// Nothing is on its way.
    pub fn new(rule: &Rule) -> Limits {
        Limits { informed: Limit::new(rule), marked: Limit::new(rule), in_flight: 0 }
    }

    /// Whether a segment more may be granted; one may always be on its way.
    pub fn allow(&self, segment: u64) -> bool {
        self.in_flight == 0 || self.in_flight + segment <= self.informed.bytes.min(self.marked.bytes)
    }

    /// Data has arrived, and says whether its host's queue is long, and whether a switch marked it.
    pub fn hear(&mut self, rule: &Rule, bytes: u64, informed: bool, marked: bool) {
        self.informed.hear(rule, bytes, informed);
        self.marked.hear(rule, bytes, marked);
    }

    /// Something has not arrived in time: it is lost, or waits at its host.
    pub fn late(&mut self, rule: &Rule) {
        for limit in [&mut self.informed, &mut self.marked] {
            limit.bytes = (limit.bytes / 2).max(rule.least);
        }
    }
}

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    bytes: u64,
    /// With [`Cut::Window`]: the smoothed share of what is marked, and what has arrived in this window.
    alpha: u64,
    seen: u64,
    signs: u64,
}

impl Limit {
    fn new(rule: &Rule) -> Limit {
        Limit { bytes: rule.most, alpha: 0, seen: 0, signs: 0 }
    }

    fn hear(&mut self, rule: &Rule, bytes: u64, sign: bool) {
        let grown = match rule.cut {
            // A segment for a whole window of them.
            Cut::Each(_) if !sign => self.bytes + (rule.least * bytes / self.bytes).max(1),
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
                if signs == 0 { self.bytes + rule.least } else { self.bytes - self.bytes * self.alpha / (2 * ONE) }
            }
        };
        self.bytes = grown.clamp(rule.least, rule.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Rule = Rule { most: 24_000, least: 1000, cut: Cut::Each(6554) };
    const HALF: Rule = Rule { most: 16_000, least: 1000, cut: Cut::Window(ONE / 2) };

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
    fn as_dctcp_it_cuts_once_per_window_by_half_of_the_smoothed_share() {
        let mut limit = Limit::new(&HALF);
        // A quarter of a window of 16 is marked: alpha is an eighth, and a sixteenth of 16 000 goes.
        (0..16).for_each(|number| limit.hear(&HALF, 1000, number % 4 == 0));
        assert_eq!((limit.bytes, limit.alpha), (15_000, ONE / 8));
        (0..15).for_each(|_| limit.hear(&HALF, 1000, false));
        assert_eq!((limit.bytes, limit.alpha), (16_000, ONE / 16));
        // All of a window: alpha is 17/32, of which half goes, 4250 B; without a mark a segment comes back per window.
        (0..16).for_each(|_| limit.hear(&HALF, 1000, true));
        assert_eq!((limit.bytes, limit.alpha), (11_750, ONE * 17 / 32));
        (0..12).for_each(|_| limit.hear(&HALF, 1000, false));
        assert_eq!(limit.bytes, 12_750);
    }
}
