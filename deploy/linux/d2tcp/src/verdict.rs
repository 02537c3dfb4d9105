//! The verdict on a canary: the arms' measurements, their difference, and the reasons to roll the canary back.
//!
//! Statistics in short, with reasons in `deploy/linux/policy.md`. A sample is a slice, which is a second of a connection. Within
//! a user both arms are compared by ratio estimators, and users are combined with the weights of Mantel and Haenszel.
//! The guard looks every second, so that its intervals hold at all looks together.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::kernel::{self, Arm, ONE, OTHERS};

/// The two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_964;
/// The error that all looks together may make.
const ALPHA: f64 = 0.05;
/// The tuning of [`at_all_looks`], by which its intervals are narrowest, for their kind, at 1000 slices.
const RHO_SQUARED: f64 = 0.008_78;
/// The fewest slices of an arm that give an interval.
const MIN_SLICES: f64 = 10.0;

/// A share with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The share as estimated from the sums.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// A measured share, of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Retransmitted segments, of all segments sent.
    Loss,
    /// Retransmission timeouts, per segment sent.
    Timeouts,
    /// Messages that missed their deadlines, of all that ended.
    Missed,
}

impl Measure {
    /// All measures, in the order of their display.
    pub const ALL: [Measure; 3] = [Measure::Loss, Measure::Timeouts, Measure::Missed];

    fn name(self) -> &'static str {
        match self {
            Measure::Loss => "loss",
            Measure::Timeouts => "timeouts",
            Measure::Missed => "missed",
        }
    }
    /// Returns the rule's limit, as a share; 0 for none.
    fn limit(self, rule: &kernel::Rule) -> f64 {
        let limit = match self {
            Measure::Loss => rule.max_loss,
            Measure::Timeouts => rule.max_timeouts,
            Measure::Missed => rule.max_missed,
        };
        f64::from(limit) / f64::from(ONE)
    }
}

/// The sums over slices of a share: x counts segments or messages, and y the bad ones among them.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    slices: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    fn of(arm: &Arm, measure: Measure) -> Sums {
        let [slices, x, y, xx, yy, xy] = match measure {
            Measure::Loss => [
                arm.slices,
                arm.segments,
                arm.retransmitted,
                arm.segments_squared,
                arm.retransmitted_squared,
                arm.segments_retransmitted,
            ],
            Measure::Timeouts => [
                arm.slices,
                arm.segments,
                arm.timeouts,
                arm.segments_squared,
                arm.timeouts_squared,
                arm.segments_timeouts,
            ],
            Measure::Missed => [
                arm.message_slices,
                arm.met + arm.missed,
                arm.missed,
                arm.messages_squared,
                arm.missed_squared,
                arm.messages_missed,
            ],
        }
        .map(|sum| sum as f64);
        Sums { slices, x, y, xx, yy, xy }
    }
    fn plus(self, other: Sums) -> Sums {
        Sums {
            slices: self.slices + other.slices,
            x: self.x + other.x,
            y: self.y + other.y,
            xx: self.xx + other.xx,
            yy: self.yy + other.yy,
            xy: self.xy + other.xy,
        }
    }
    fn is_enough(&self) -> bool {
        self.slices >= MIN_SLICES && self.x > 0.0
    }
    fn value(&self) -> f64 {
        self.y / self.x
    }
    /// Returns the variance of the share, from its variation between slices: a ratio estimator (Cochran, Sampling
    /// Techniques, 1977, 6.4). Slices that are all alike do not make a share certain. The minimum is therefore the
    /// variance of independent events, with one more of each kind (Agresti and Caffo 2000).
    fn variance(&self) -> f64 {
        let share = self.value();
        let residuals = self.yy - 2.0 * share * self.xy + share * share * self.xx;
        let between = residuals.max(0.0) * self.slices / (self.slices - 1.0) / (self.x * self.x);
        let smoothed = (self.y + 1.0) / (self.x + 2.0);
        between.max(smoothed * (1.0 - smoothed) / (self.x + 2.0))
    }
    fn estimate(&self) -> Option<Estimate> {
        self.is_enough().then(|| {
            let (value, half) = (self.value(), Z * self.variance().sqrt());
            Estimate { value, low: (value - half).max(0.0), high: value + half }
        })
    }
}

/// Returns the half width of an interval, in standard errors, with which all looks together miss the truth in 5 % of
/// cases, however many there are. It is an asymptotic confidence sequence (Waudby-Smith et al. 2021, theorem 2.2).
fn at_all_looks(slices: f64) -> f64 {
    let scaled = slices * RHO_SQUARED;
    (2.0 * (scaled + 1.0) / scaled * ((scaled + 1.0).sqrt() / ALPHA).ln()).sqrt()
}

/// The measurements of one user in both arms.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The arm that keeps its control.
    pub control: Arm,
    /// The arm under D2TCP.
    pub d2tcp: Arm,
}

/// A user's slices in both arms; users with few slices are one stratum together.
#[derive(Clone, Copy, Debug, Default)]
struct Stratum {
    uid: u32,
    control: Sums,
    d2tcp: Sums,
}

impl Stratum {
    fn is_enough(&self) -> bool {
        self.control.is_enough() && self.d2tcp.is_enough()
    }
}

/// Returns the users with enough slices in both arms, and all others as one.
fn strata(users: &BTreeMap<u32, User>, measure: Measure) -> Vec<Stratum> {
    let all = users.iter().map(|(uid, user)| Stratum {
        uid: *uid,
        control: Sums::of(&user.control, measure),
        d2tcp: Sums::of(&user.d2tcp, measure),
    });
    let (mut strata, few): (Vec<Stratum>, Vec<Stratum>) =
        all.partition(|stratum| stratum.is_enough() && stratum.uid != OTHERS);
    let rest = few.iter().fold(Stratum { uid: OTHERS, ..Stratum::default() }, |sum, one| Stratum {
        uid: OTHERS,
        control: sum.control.plus(one.control),
        d2tcp: sum.d2tcp.plus(one.d2tcp),
    });
    strata.extend(rest.is_enough().then_some(rest));
    strata
}

/// The excess of the D2TCP arm over the other one, with its standard error and the slices behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Excess {
    value: f64,
    error: f64,
    slices: f64,
}

impl Excess {
    fn low(&self) -> f64 {
        self.value - at_all_looks(self.slices) * self.error
    }
}

/// Returns the mean difference between D2TCP's arm and `factor` times the other one, each user's by itself; none without
/// users. The weights follow Mantel and Haenszel: a user's counts in either arm matter as far as the other arm has some.
fn excess<'a>(strata: impl Iterator<Item = &'a Stratum>, factor: f64) -> Option<Excess> {
    let (mut weights, mut sum, mut variance, mut slices) = (0.0, 0.0, 0.0, 0.0);
    for Stratum { control, d2tcp, .. } in strata {
        let weight = control.x * d2tcp.x / (control.x + d2tcp.x);
        weights += weight;
        sum += weight * (d2tcp.value() - factor * control.value());
        variance += weight * weight * (d2tcp.variance() + factor * factor * control.variance());
        slices += d2tcp.slices + control.slices;
    }
    (weights > 0.0).then(|| Excess { value: sum / weights, error: variance.sqrt() / weights, slices })
}

/// Returns the difference of the arms with its 95 % interval, if there are slices enough.
pub fn difference(users: &BTreeMap<u32, User>, measure: Measure) -> Option<Estimate> {
    excess(strata(users, measure).iter(), 1.0).map(|Excess { value, error, .. }| Estimate {
        value,
        low: value - Z * error,
        high: value + Z * error,
    })
}

/// Returns an arm's share with its 95 % interval, if there are slices enough.
pub fn share(arm: &Arm, measure: Measure) -> Option<Estimate> {
    Sums::of(arm, measure).estimate()
}

/// A verdict of the guard on one measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// No limit, or D2TCP's arm is not surely above the limit and, beyond the tolerance, above the other arm.
    Fine,
    /// More measurements are needed, for this reason.
    Waits(String),
    /// The canary is to be rolled back, for this reason.
    Passed(String),
}

/// Returns true if D2TCP's arm is surely above the limit, and surely above the other arm by more than its tolerance.
fn is_passed(strata: &[Stratum], without: Option<usize>, limit: f64, tolerance: f64) -> bool {
    let left = || strata.iter().enumerate().filter(|(at, _)| Some(*at) != without).map(|(_, stratum)| stratum);
    let all = left().fold(Sums::default(), |sum, stratum| sum.plus(stratum.d2tcp));
    let Some(excess) = excess(left(), 1.0 + tolerance) else { return false };
    all.value() - at_all_looks(all.slices) * all.variance().sqrt() > limit && excess.low() > 0.0
}

/// Judges one measure of a canary.
pub fn judge(rule: &kernel::Rule, users: &BTreeMap<u32, User>, measure: Measure) -> Verdict {
    let (name, limit) = (measure.name(), measure.limit(rule));
    if limit == 0.0 {
        return Verdict::Fine;
    }
    let strata = strata(users, measure);
    let Some(Excess { value, .. }) = excess(strata.iter(), 1.0) else {
        return Verdict::Waits(format!("{name}: fewer than {MIN_SLICES} slices in an arm"));
    };
    let tolerance = f64::from(rule.tolerance) / f64::from(ONE);
    if !is_passed(&strata, None, limit, tolerance) {
        return Verdict::Fine;
    }
    let decides = (0..strata.len()).find(|at| !is_passed(&strata, Some(*at), limit, tolerance));
    if let Some(at) = decides.filter(|_| strata.len() > 1) {
        let who = match strata[at].uid {
            OTHERS => "users with few connections".to_owned(),
            uid => format!("user {uid}"),
        };
        return Verdict::Waits(format!("{name}: it is above the limit only with {who}"));
    }
    let all = strata.iter().fold(Sums::default(), |sum, stratum| sum.plus(stratum.d2tcp));
    let [all, limit, value] = [all.value(), limit, value].map(|share| 100.0 * share);
    Verdict::Passed(format!("{name} {all:.3} % over {limit:.3} %, {value:.3} % more than the other arm"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Control;
    use crate::rules::Rule;
    use std::path::Path;

    /// Returns an arm with slices of (segments, retransmissions).
    fn segments(slices: &[(u64, u64)]) -> Arm {
        let sum = |of: fn(&(u64, u64)) -> u64| slices.iter().map(of).sum();
        Arm {
            slices: slices.len() as u64,
            segments: sum(|(x, _)| *x),
            retransmitted: sum(|(_, y)| *y),
            segments_squared: sum(|(x, _)| x * x),
            retransmitted_squared: sum(|(_, y)| y * y),
            segments_retransmitted: sum(|(x, y)| x * y),
            ..Arm::default()
        }
    }

    /// Returns an arm with slices of (messages, missed ones).
    fn messages(slices: &[(u64, u64)]) -> Arm {
        let sum = |of: fn(&(u64, u64)) -> u64| slices.iter().map(of).sum();
        Arm {
            message_slices: slices.len() as u64,
            met: sum(|(x, y)| x - y),
            missed: sum(|(_, y)| *y),
            messages_squared: sum(|(x, _)| x * x),
            missed_squared: sum(|(_, y)| y * y),
            messages_missed: sum(|(x, y)| x * y),
            ..Arm::default()
        }
    }

    /// Returns as many slices of 100 messages with so many missed ones, one more and one less by turns.
    fn missing(slices: u64, missed: u64) -> Arm {
        let wobble = |n: u64| if missed == 0 || missed == 100 { missed } else { missed - 1 + 2 * (n % 2) };
        messages(&(0..slices).map(|n| (100, wobble(n))).collect::<Vec<_>>())
    }

    fn users<const N: usize>(arms: [(u32, Arm, Arm); N]) -> BTreeMap<u32, User> {
        arms.into_iter().map(|(uid, control, d2tcp)| (uid, User { control, d2tcp })).collect()
    }

    fn limited(missed: f64) -> kernel::Rule {
        let mut rule = Rule::of("a", Path::new(""), Control::Use);
        (rule.guard.missed, rule.guard.loss) = (missed, missed);
        rule.compiled(crate::parameters::DEFAULTS).unwrap()
    }

    fn verdict(limit: f64, users: &BTreeMap<u32, User>) -> Verdict {
        judge(&limited(limit), users, Measure::Missed)
    }

    #[test]
    fn intervals_follow_from_the_sums() {
        // Exactly 2 of 100 in each of 50 slices do not vary. The chance of 101 in 5002 events remains.
        let same = share(&segments(&[(100, 2); 50]), Measure::Loss).unwrap();
        let smoothed: f64 = 101.0 / 5002.0;
        let error = (smoothed * (1.0 - smoothed) / 5002.0).sqrt();
        assert!((same.value - 0.02).abs() < 1e-12 && (same.high - 0.02 - Z * error).abs() < 1e-12, "{same:?}");
        // Half of the slices lose 4 of 100, half none: residuals of 2, se = sqrt(50 * 4 * 50/49) / 5000.
        let slices: Vec<(u64, u64)> = (0..50).map(|n| (100, 4 * (n % 2))).collect();
        let spread = share(&segments(&slices), Measure::Loss).unwrap();
        let error = (200.0f64 * 50.0 / 49.0).sqrt() / 5000.0;
        assert!((spread.high - 0.02 - Z * error).abs() < 1e-9, "{spread:?}");
        assert_eq!(share(&segments(&[(100, 2); 9]), Measure::Loss), None, "too few");
        // The difference of two such arms has sqrt(2) times the error.
        let both = users([(1, segments(&slices), segments(&slices))]);
        let between = difference(&both, Measure::Loss).unwrap();
        assert!(between.value.abs() < 1e-12 && (between.high - 2f64.sqrt() * Z * error).abs() < 1e-9, "{between:?}");
    }

    #[test]
    fn users_are_weighted_by_what_both_arms_have() {
        // Weights 1000 * 3000 / 4000 = 750 and 500; differences 0.1 and -0.05: (75 - 25) / 1250.
        let both = users([
            (1, missing(10, 10), missing(30, 20)),
            (2, missing(10, 25), missing(10, 20)),
            (3, missing(9, 0), missing(99, 100)),
        ]);
        assert!((difference(&both, Measure::Missed).unwrap().value - 0.04).abs() < 1e-12, "user 3 has 9 slices");
        assert_eq!(difference(&both, Measure::Loss), None);
    }

    #[test]
    fn half_widths_hold_at_all_looks() {
        // At 1000: 2 * 9.78 / 8.78 = 2.2278, ln(sqrt(9.78) / 0.05) = 4.1359, and the root of their product.
        assert!((at_all_looks(1000.0) - 3.0354).abs() < 1e-3);
        assert!(at_all_looks(20.0) > 6.0 && at_all_looks(1e6) < 4.0, "it waits with little data");
    }

    #[test]
    fn messages_that_nobody_can_deliver_are_no_fault() {
        // One process with messages of one byte and one nanosecond: both arms miss all of them.
        let hopeless = missing(500, 100);
        assert_eq!(verdict(0.01, &users([(1000, hopeless, hopeless)])), Verdict::Fine);
        assert_eq!(
            verdict(0.01, &users([(1000, hopeless, hopeless), (33, missing(50, 0), missing(50, 0))])),
            Verdict::Fine
        );
        // It sends them almost only on its connections of D2TCP's arm, and the others miss none: 0 within each user.
        let unequal = users([(1000, missing(10, 100), missing(900, 100)), (33, missing(900, 0), missing(50, 0))]);
        assert_eq!(difference(&unequal, Measure::Missed).unwrap().value, 0.0);
        assert_eq!(verdict(0.01, &unequal), Verdict::Fine);
    }

    #[test]
    fn one_user_of_several_decides_nothing() {
        let partial = users([(1000, missing(500, 0), missing(500, 100)), (33, missing(50, 1), missing(50, 1))]);
        assert!(difference(&partial, Measure::Missed).unwrap().low > 0.5, "it is most of the canary");
        let Verdict::Waits(why) = verdict(0.01, &partial) else { panic!("{:?}", verdict(0.01, &partial)) };
        assert!(why.contains("only with user 1000"), "{why}");
        // Many users with few slices each are one for this purpose.
        let mut crowd = users([(33, missing(50, 1), missing(50, 1))]);
        crowd.extend((100_000..100_100).map(|uid| (uid, User { control: missing(5, 0), d2tcp: missing(5, 100) })));
        let Verdict::Waits(why) = verdict(0.01, &crowd) else { panic!("{:?}", verdict(0.01, &crowd)) };
        assert!(why.contains("users with few connections"), "{why}");
    }

    #[test]
    fn a_worse_arm_is_rolled_back_once_it_is_certain() {
        let worse = users([(1, missing(500, 2), missing(100, 8)), (2, missing(200, 4), missing(50, 9))]);
        let Verdict::Passed(why) = verdict(0.05, &worse) else { panic!("{:?}", verdict(0.05, &worse)) };
        // 8.333 % = (800 + 450) of 15000; weights 8333.3 and 4000: (8333.3 * 6 + 4000 * 5) / 12333.3 = 5.676 %.
        assert_eq!(why, "missed 8.333 % over 5.000 %, 5.676 % more than the other arm");
        assert_eq!(verdict(0.0, &worse), Verdict::Fine, "no limit");
        assert_eq!(verdict(0.1, &worse), Verdict::Fine, "below the limit");
        assert_eq!(verdict(0.05, &users([(1, missing(500, 8), missing(100, 8))])), Verdict::Fine, "both alike");
        let only = users([(1, missing(500, 2), missing(100, 8))]);
        assert!(matches!(verdict(0.05, &only), Verdict::Passed(_)), "a service often has a single user");
        let few = users([(1, missing(500, 2), missing(9, 8))]);
        assert_eq!(verdict(0.05, &few), Verdict::Waits("missed: fewer than 10 slices in an arm".to_owned()));
        // 2 % of ten slices, but all in one: it may be chance.
        let wide: Vec<(u64, u64)> = (0..10).map(|n| (100, if n == 0 { 20 } else { 0 })).collect();
        assert_eq!(verdict(0.01, &users([(1, missing(500, 0), messages(&wide))])), Verdict::Fine);
    }

    #[test]
    fn a_difference_within_the_tolerance_is_no_fault() {
        // 21 against 20 % is surely more, and by 5 % of the other arm.
        let arms = |missed| users([(1, missing(20_000, 20), missing(20_000, missed))]);
        assert!(difference(&arms(21), Measure::Missed).unwrap().low > 0.009);
        assert_eq!(verdict(0.05, &arms(21)), Verdict::Fine);
        assert!(matches!(verdict(0.05, &arms(23)), Verdict::Passed(_)), "15 % above it");
        let judged = |tolerance, missed| {
            let mut rule = limited(0.05);
            rule.tolerance = (tolerance * f64::from(ONE)) as u32;
            judge(&rule, &arms(missed), Measure::Missed)
        };
        assert!(matches!(judged(0.0, 21), Verdict::Passed(_)));
        assert_eq!((judged(0.05, 21), judged(0.2, 23)), (Verdict::Fine, Verdict::Fine));
        // By hand, for 23 % and a tolerance of 10 %: 0.23 - 1.1 * 0.20 = 0.01. Slices hardly differ, so
        // that the variances of independent events apply.
        let strata = strata(&arms(23), Measure::Missed);
        let excess = excess(strata.iter(), 1.1).unwrap();
        let error = ((0.23 * 0.77 + 1.21 * 0.2 * 0.8) / 2e6f64).sqrt();
        assert!((excess.value - 0.01).abs() < 1e-9 && (excess.error / error - 1.0).abs() < 1e-3, "{excess:?} {error}");
    }

    #[test]
    fn equal_arms_are_seldom_told_apart_by_a_guard_that_looks_every_second() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31)
        };
        let (mut always, mut once) = (0, 0);
        for _ in 0..400 {
            let mut arms = [Sums::default(); 2];
            let (mut passed, mut passed_z) = (false, false);
            for _ in 0..1000 {
                for arm in &mut arms {
                    // A slice's messages share their fate: 10 of them, of which none, half or all miss.
                    let missed = (3.0 * draw()).floor() * 5.0;
                    let one =
                        Sums { slices: 1.0, x: 10.0, y: missed, xx: 100.0, yy: missed * missed, xy: 10.0 * missed };
                    *arm = arm.plus(one);
                }
                let stratum = Stratum { uid: 1, control: arms[0], d2tcp: arms[1] };
                if stratum.is_enough() {
                    let excess = excess([stratum].iter(), 1.0).unwrap();
                    passed |= excess.low() > 0.0;
                    passed_z |= excess.value > Z * excess.error;
                }
            }
            (always, once) = (always + u32::from(passed), once + u32::from(passed_z));
        }
        // One-sided: 2.5 % of 400 are 10; 21 are beyond three standard errors.
        assert!(always <= 20, "{always} of 400");
        assert!(once > 80, "{once} of 400 with intervals for one look");
    }
}
