//! `d2tcp_plus`: what a sender alone can do for deadlines: insist on the rate that a message needs where that is more
//! than the least that it can send, and stand back where it is less, by how much time it can spare.

use units::{Default, Instant, Key, Kind, Range, Span, Values, mix64};

use super::dctcp::{self, Marking};
use super::{Acked, Current, Cwnd, Ecn, Lost, Window};

use crate::{Descriptor, Message, Needs, Observation, Pacing, Signal};

/// D2TCP with deferral and needed rates.
pub const DESCRIPTOR: Descriptor<D2tcpPlus> = Descriptor {
    name: "d2tcp_plus",
    help: "D2TCP's promise from the sender alone: insists on the rate that a deadline needs, or stands back while it can",
    source: "duetime's own; docs/promise.md",
    aliases: &[("alpha", "initial_alpha"), ("gain", "g"), ("lax", "d2tcp_plus"), ("plus", "d2tcp_plus")],
    groups: &[dctcp::KEYS, &dctcp::AS_RFC.keys(), KEYS],
    signals: &[dctcp::ALPHA, NEED, LAXITY],
    needs: Needs::of(
        dctcp::ON_MARKS.switches,
        "a window law that paces and holds back; sizes and deadlines from the application",
    ),
    build: |values, _| Ok(build(values)),
};

/// The rate that the deadline needs.
const NEED: Signal =
    Signal { name: "need", help: "the window that the deadline needs, in segments (d2tcp_plus)", unit: "segments" };
/// The time that can be spared.
const LAXITY: Signal =
    Signal { name: "laxity", help: "time left beyond what the rest needs at this window (d2tcp_plus)", unit: "us" };

/// Parameters of its own, beside DCTCP's.
pub const KEYS: &[Key] = &[
    Key {
        name: "start",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::at_least(0.0),
        help: "the first RTT sample lifts the window to this many times what the deadline needs",
        source: "twice the need leaves half of the time for others; measured, docs/promise.md",
    },
    Key {
        name: "growth",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::above(0.0, 1.0),
        help: "segments by which each segment that is acknowledged without a mark lifts the window, until a message's first \
               mark or loss",
        source: "RFC 5681 3.1: slow start",
    },
    Key {
        name: "growth_later",
        kind: Kind::Number,
        default: Default::Is("0.25"),
        range: Range::above(0.0, 1.0),
        help: "the same from then on; multiplicative, so that windows keep the proportions of their needs",
        source: "measured, docs/promise.md",
    },
    Key {
        name: "floor_horizon",
        kind: Kind::Time,
        default: Default::Is("10 ms"),
        range: Range::POSITIVE,
        help: "a cut takes half of what is above the need times this over the time left: the nearer the deadline, the less",
        source: "some tens of round trips, in which windows come apart; measured, docs/promise.md",
    },
    Key {
        name: "floor_most",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(0.0),
        help: "that factor at most; 0: no floor",
        source: "a bound on what flows whose needs exceed the link insist on; measured, docs/promise.md",
    },
    Key {
        name: "hold_share",
        kind: Kind::Number,
        default: Default::Is("0.7"),
        range: Range::between(0.0, 1.0),
        help: "the share of its laxity for which a message may be held back at one sign of congestion; 0: never held back",
        source: "below 1, so that time remains for another sign; measured, docs/promise.md",
    },
    Key {
        name: "hold_most",
        kind: Kind::Time,
        default: Default::Is("20 ms"),
        range: Range::POSITIVE,
        help: "the longest that a message with hope is held back at once",
        source: "about the time in which a burst of some hundred answers passes; measured, docs/promise.md",
    },
    Key {
        name: "hold_power",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(0.0),
        help: "the chance to be held back, and how long, goes with the share of the message that is left to this power: \
               what has begun goes on",
        source: "finishing what has begun frees the link for good; measured, docs/promise.md",
    },
    Key {
        name: "guard",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::at_least(0.0),
        help: "laxity is the time left less a round trip and this many times what the rest needs at the window as cut",
        source: "half: a window that is not cut again doubles what it sends in that time; measured, docs/promise.md",
    },
    Key {
        name: "guard_most",
        kind: Kind::Time,
        default: Default::Is("10 ms"),
        range: Range::POSITIVE,
        help: "that at most: a window grows again",
        source: "measured, docs/promise.md",
    },
    Key {
        name: "guard_share",
        kind: Kind::Number,
        default: Default::Is("0.25"),
        range: Range::between(0.0, 1.0),
        help: "and no more than this share of the time that the message had at first",
        source: "without it short deadlines are given up at once; measured, docs/promise.md",
    },
    Key {
        name: "hopeless",
        kind: Kind::Choice(&["hold", "abort"]),
        default: Default::Is("hold"),
        range: Range::ANY,
        help: "at a sign of congestion with no laxity left: let others pass for some time, or give the message up",
        source: "what cannot be met only delays what can; abort where the application has no use for late answers",
    },
    Key {
        name: "hopeless_hold",
        kind: Kind::Time,
        default: Default::Is("100 ms"),
        range: Range::POSITIVE,
        help: "how long, drawn from half of it to one and a half times",
        source: "a few deadlines of the others; measured, docs/promise.md",
    },
];

fn build(values: &Values) -> D2tcpPlus {
    let constants = Constants {
        start: values.number("start"),
        growth: values.number("growth"),
        growth_later: values.number("growth_later"),
        floor_horizon: values.time("floor_horizon").as_secs_f64(),
        floor_most: values.number("floor_most"),
        hold_share: values.number("hold_share"),
        hold_most: values.time("hold_most").as_secs_f64(),
        hold_power: values.number("hold_power"),
        guard: values.number("guard"),
        guard_most: values.time("guard_most").as_secs_f64(),
        guard_share: values.number("guard_share"),
        aborts: values.choice("hopeless") == "abort",
        hopeless_hold: values.time("hopeless_hold").as_secs_f64(),
    };
    D2tcpPlus {
        marking: Marking::from_values(values),
        constants,
        identity: 0,
        draws: 0,
        message: u64::MAX,
        allowed: 0.0,
        boosted: false,
        calm: true,
        pressed: false,
        held_until: Instant::ZERO,
        hopeless: None,
    }
}

/// Needed rates, deferral by laxity, and an early end of what is lost; DCTCP for messages without a deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct D2tcpPlus {
    marking: Marking,
    constants: Constants,
    /// What it draws follows from this, the time, and how often it has drawn.
    identity: u64,
    draws: u64,
    /// The end of the message that what follows is about.
    message: u64,
    /// The time that it had when it was first seen, in seconds.
    allowed: f64,
    /// Its window was lifted to its need.
    boosted: bool,
    /// It has seen neither mark nor loss.
    calm: bool,
    /// It needs more than a segment per round trip.
    pressed: bool,
    held_until: Instant,
    /// The deadline that there is no hope for.
    hopeless: Option<Instant>,
}

/// The values of [`KEYS`]; times in seconds.
#[derive(Clone, Debug, PartialEq)]
struct Constants {
    start: f64,
    growth: f64,
    growth_later: f64,
    floor_horizon: f64,
    floor_most: f64,
    hold_share: f64,
    hold_most: f64,
    hold_power: f64,
    guard: f64,
    guard_most: f64,
    guard_share: f64,
    aborts: bool,
    hopeless_hold: f64,
}

/// Where a message with a deadline stands.
#[derive(Clone, Copy, Debug)]
struct Standing {
    end: u64,
    deadline: Instant,
    /// Segments that are left before it is complete.
    rest: f64,
    /// Its share of these, 0 to 1.
    share: f64,
    /// Seconds to the deadline; 0 from then on.
    left: f64,
    /// Seconds; 0 before the first sample.
    rtt: f64,
    /// Segments per round trip with which it would be in time; infinite when there is no time.
    need: f64,
}

impl Standing {
    /// Of the message among those that wait which needs most, each with what is to be sent before it.
    fn of_most_pressing(ack: &Acked) -> Option<Standing> {
        let own = Standing::of(&ack.message, ack);
        ack.later
            .iter()
            .filter_map(|later| Standing::of(later, ack))
            .chain(own)
            .reduce(|a, b| if b.need >= a.need { b } else { a })
    }

    fn of(current: &Current, ack: &Acked) -> Option<Standing> {
        let Message { bytes: Some(bytes), deadline: Some(deadline), .. } = current.message else { return None };
        let rest = current.end.saturating_sub(ack.una) as f64 / ack.mss;
        let left = deadline.saturating_sub(ack.now).as_secs_f64();
        let rtt = ack.srtt.map_or(0.0, Span::as_secs_f64);
        let share = (rest * ack.mss / bytes.0.max(1) as f64).min(1.0);
        let need = if left > 0.0 { rest * rtt / left } else { f64::INFINITY };
        Some(Standing { end: current.end, deadline, rest, share, left, rtt, need })
    }
}

impl D2tcpPlus {
    fn see(&mut self, standing: &Standing) {
        if self.message != standing.end {
            self.message = standing.end;
            self.allowed = standing.left;
            (self.boosted, self.calm) = (false, true);
        }
        self.pressed = standing.need >= 1.0 && standing.left > 0.0;
    }

    /// The window after a sign of congestion: half of what is above the floor is taken off.
    fn cut(&self, standing: &Standing, cwnd: f64) -> f64 {
        let constants = &self.constants;
        let floor = if self.pressed {
            standing.need * (constants.floor_horizon / standing.left).min(constants.floor_most)
        } else {
            0.0
        };
        (floor + (cwnd - floor) / 2.0).min(cwnd).max(1.0)
    }

    /// Seconds to spare at this window; negative if it will be late.
    fn laxity(&self, standing: &Standing, cwnd: f64) -> f64 {
        let constants = &self.constants;
        let guard = constants.guard * standing.rest * standing.rtt / cwnd;
        let guard = guard.min(constants.guard_most).min(constants.guard_share * self.allowed);
        standing.left - guard - standing.rtt
    }

    /// A sign of congestion: gives the window from now on, and may hold back what is to be sent.
    fn stand_back(&mut self, now: Instant, standing: &Standing, cwnd: f64, timeout: bool) -> f64 {
        self.calm = false;
        let cut = if timeout { 1.0 } else { self.cut(standing, cwnd) };
        let laxity = self.laxity(standing, cut);
        if laxity < 0.0 {
            self.hopeless = Some(standing.deadline);
            if !self.constants.aborts {
                let wait = self.constants.hopeless_hold * (0.5 + self.draw(now));
                self.hold(now, wait);
            }
            return 1.0;
        }
        let power = libm::pow(standing.share, self.constants.hold_power);
        if self.pressed || self.constants.hold_share == 0.0 || !timeout && self.draw(now) >= power {
            return cut;
        }
        let wait = self.draw(now) * laxity * self.constants.hold_share * power;
        self.hold(now, wait.min(self.constants.hold_most));
        1.0
    }

    fn hold(&mut self, now: Instant, seconds: f64) {
        self.held_until = now + Span::from_secs_f64(seconds);
    }

    /// Evenly from 0 to 1.
    fn draw(&mut self, now: Instant) -> f64 {
        self.draws += 1;
        let bits = mix64(self.identity ^ mix64(now.0 ^ mix64(self.draws)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Window for D2tcpPlus {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let Some(standing) = Standing::of_most_pressing(ack) else {
            return self.marking.on_ack(window, ack, |_, alpha| alpha / 2.0);
        };
        // Marks are counted, and once per window answered, as by DCTCP; how they are is another matter.
        let due = self.marking.on_ack(&mut window.clone(), ack, |_, alpha| alpha / 2.0);
        self.see(&standing);
        if standing.rest == 0.0 {
            return false;
        }
        if !self.boosted && standing.rtt > 0.0 && standing.left > 0.0 {
            self.boosted = true;
            window.cwnd = window.cwnd.max(self.constants.start * standing.need).min(window.limit);
        }
        if due {
            window.cwnd = self.stand_back(ack.now, &standing, window.cwnd, false);
            window.ssthresh = window.cwnd;
        } else if ack.may_grow && !ack.marked {
            let growth = if self.calm { self.constants.growth } else { self.constants.growth_later };
            window.cwnd = (window.cwnd + growth * ack.segments).min(window.limit);
        }
        due
    }
    fn on_beyond(&mut self, bytes: u64, marked: bool) {
        self.marking.count(bytes, marked);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.marking.on_loss();
        match Standing::of_most_pressing(&loss.state) {
            None => window.halve(loss),
            Some(standing) => {
                self.see(&standing);
                window.ssthresh = if loss.timeout {
                    self.cut(&standing, window.cwnd)
                } else {
                    self.stand_back(loss.now, &standing, window.cwnd, false)
                };
            }
        }
    }
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, loss: &Lost) {
        window.cwnd = window.cwnd.min(loss_window);
        if let Some(standing) = Standing::of_most_pressing(&loss.state) {
            self.see(&standing);
            window.cwnd = window.cwnd.min(self.stand_back(loss.now, &standing, window.cwnd, true));
        }
    }
    fn paces(&self) -> bool {
        true
    }
    fn pacing_rate(&self, pacing: &Pacing, window: &Cwnd) -> Option<f64> {
        if self.pressed { Some(pacing.gain * window.cwnd) } else { pacing.gain(window).map(|gain| gain * window.cwnd) }
    }
    fn held_until(&self) -> Instant {
        self.held_until
    }
    fn identify(&mut self, identity: u64) {
        self.identity = identity;
    }
    #[inline]
    fn gives_up(&self, message: &Message, now: Instant) -> bool {
        let late = |deadline| deadline < now || self.hopeless == Some(deadline);
        self.constants.aborts && message.deadline.is_some_and(late)
    }
    fn observe(&self, window: &Cwnd, ack: &Acked, seen: &mut Observation) {
        seen.add(&dctcp::ALPHA, self.marking.alpha);
        if let Some(standing) = Standing::of_most_pressing(ack).filter(|standing| standing.left > 0.0) {
            seen.add(&NEED, standing.need);
            seen.add(&LAXITY, self.laxity(&standing, window.cwnd) * 1e6);
        }
    }
}
#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::laws::dctcp::tests::marking;
    use crate::laws::tests::{acked, cwnd};

    /// Round trips of 100 us, as `acked` has them, and a message of 100 segments of which those after `una` are left.
    fn law() -> D2tcpPlus {
        let constants = Constants {
            start: 2.0,
            growth: 1.0,
            growth_later: 0.25,
            floor_horizon: 10e-3,
            floor_most: 4.0,
            hold_share: 0.7,
            hold_most: 20e-3,
            hold_power: 4.0,
            guard: 0.5,
            guard_most: 10e-3,
            guard_share: 0.25,
            aborts: false,
            hopeless_hold: 0.1,
        };
        D2tcpPlus {
            marking: marking(0.0),
            constants,
            identity: 7,
            draws: 0,
            message: u64::MAX,
            allowed: 0.0,
            boosted: false,
            calm: true,
            pressed: false,
            held_until: Instant::ZERO,
            hopeless: None,
        }
    }

    fn ack(una: u64, marked: bool, left: Span) -> Acked<'static> {
        let ack = acked(una, marked);
        let message = Message { deadline: Some(ack.now + left), ..Message::of(Bytes(100_000)) };
        Acked { message: Current { end: 100_000, message }, ..ack }
    }

    fn held_for(law: &D2tcpPlus, ack: &Acked) -> f64 {
        law.held_until.saturating_sub(ack.now).as_secs_f64()
    }

    #[test]
    fn the_first_sample_lifts_the_window_to_twice_the_need_and_marks_end_slow_start() {
        let (mut law, mut window) = (law(), cwnd(2.0));
        // 99 segments in 3 ms are 3.3 per round trip. One more is acknowledged.
        law.on_ack(&mut window, &ack(1, false, Span::from_millis(3)));
        assert!((window.cwnd - 7.6).abs() < 1e-9, "{}", window.cwnd);
        law.on_ack(&mut window, &ack(2, false, Span::from_millis(3)));
        assert!((window.cwnd - 8.6).abs() < 1e-9);
        law.calm = false;
        law.on_ack(&mut window, &ack(3, false, Span::from_millis(3)));
        assert!((window.cwnd - 8.85).abs() < 1e-9);
    }

    #[test]
    fn a_message_that_needs_more_than_a_segment_keeps_its_floor_and_goes_on() {
        let (mut law, mut window) = (law(), cwnd(20.0));
        (law.message, law.allowed, law.boosted) = (100_000, 20e-3, true);
        // 80 segments in 5 ms: 1.6 per round trip, the floor is twice that, half of the rest goes.
        let ack = ack(20, true, Span::from_millis(5));
        assert!(law.on_ack(&mut window, &ack));
        assert!((window.cwnd - (3.2 + 16.8 / 2.0)).abs() < 1e-9, "{}", window.cwnd);
        assert_eq!((law.held_until, law.pacing_rate(&OFF, &window)), (Instant::ZERO, Some(1.2 * window.cwnd)));
    }

    const OFF: Pacing = Pacing { on: false, gain: 1.2, gain_slow_start: 2.0 };

    #[test]
    fn one_that_can_wait_stands_back_by_its_laxity_if_it_has_not_begun() {
        // 100 segments of 100 us in 50 ms: 0.2 per round trip. Laxity is 50 ms less 0.1 ms less the guard: 0.5 x 100 x
        // 0.1 ms / 10 = 0.5 ms. With all of it left it always stands back, for 0.7 of that and for 20 ms at most.
        let waits: Vec<f64> = (1..200)
            .map(|identity| {
                let (mut law, mut window) = (D2tcpPlus { identity, ..law() }, cwnd(20.0));
                let ack = Acked { una: 0, ..ack(1, true, Span::from_millis(50)) };
                assert!(law.marking.alpha == 0.0 && law.on_ack(&mut window, &ack) == (ack.una > 0));
                let wait = Lost { now: ack.now, state: ack.clone(), flight: 20.0, timeout: false };
                law.on_loss(&mut window, &wait);
                assert_eq!(window.ssthresh, 1.0);
                held_for(&law, &ack)
            })
            .collect();
        assert!(waits.iter().all(|&wait| (0.0..=20e-3).contains(&wait)));
        // Evenly up to 34.6 ms, and at the limit from 20 ms on: 14.2 ms on average, of 199 to +- 10 %.
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((mean - 14.2e-3).abs() < 1.4e-3, "{mean}");
        // Half of it has arrived: one in 16.
        let held = (1..=1600)
            .filter(|&identity| {
                let (mut law, mut window) = (D2tcpPlus { identity, ..law() }, cwnd(20.0));
                law.on_ack(&mut window, &ack(50, true, Span::from_millis(50)));
                law.held_until > Instant::ZERO
            })
            .count();
        assert!((70..=130).contains(&held), "{held}");
    }

    #[test]
    fn a_timeout_always_holds_what_can_wait_and_never_what_is_pressed() {
        let lost = |left| {
            let (mut law, mut window) = (law(), cwnd(20.0));
            let state = Acked { una: 0, ..ack(1, false, left) };
            law.on_timeout(
                &mut window,
                1.0,
                &Lost { now: state.now, state: state.clone(), flight: 20.0, timeout: true },
            );
            assert_eq!(window.cwnd, 1.0);
            held_for(&law, &state)
        };
        let wait = lost(Span::from_millis(50));
        assert!(wait > 0.0 && wait <= 20e-3, "{wait}");
        // 100 segments of 100 us: more than one per round trip. The guard is a quarter of the 9 ms.
        assert_eq!(lost(Span::from_millis(9)), 0.0);
    }

    #[test]
    fn without_hope_it_lets_others_pass_or_gives_up() {
        for aborts in [false, true] {
            let (mut law, mut window) = (law(), cwnd(2.0));
            law.constants.aborts = aborts;
            (law.message, law.allowed, law.boosted) = (100_000, 20e-3, true);
            // 90 segments at two per round trip need 4.5 ms, of which half counts: more than 2 ms.
            let late = ack(10, true, Span::from_millis(2));
            assert!(law.on_ack(&mut window, &late) && window.cwnd == 1.0);
            let wait = held_for(&law, &late);
            assert_eq!(law.gives_up(&late.message.message, late.now), aborts);
            assert!(if aborts { wait == 0.0 } else { (0.05..=0.15).contains(&wait) }, "{wait}");
        }
    }
}
