//! `d2tcp`: DCTCP's cut, gamma-corrected by how imminent the deadline is.

use units::{Default, Instant, Key, Kind, Range, Span, Values};

use super::dctcp::{self, Marking};
use super::{Acked, Current, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Message, Needs, Observation, Signal};

/// The descriptor of D2TCP.
pub(super) const DESCRIPTOR: Descriptor<D2tcp> = Descriptor {
    name: "d2tcp",
    help: "D2TCP: cuts the window by alpha^d/2, d how imminent the deadline is",
    source: "Vamanan, Hasan, Vijaykumar, SIGCOMM 2012",
    aliases: &[("alpha", "initial_alpha"), ("cap", "d_cap"), ("gain", "g")],
    groups: &[dctcp::KEYS, &dctcp::AS_RFC.keys(), KEYS],
    needs: Needs::of(dctcp::ON_MARKS.switches, "a window law; sizes and deadlines from the application")
        .made_for(dctcp::MARKS),
    signals: &[dctcp::ALPHA, D, dctcp::P],
    build: |values, _| Ok(build(values)),
};

/// The imminence of the deadline.
const D: Signal = Signal { name: "d", help: "how imminent the deadline is (d2tcp)", unit: "" };

/// Parameters of its own, beside DCTCP's.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "d_cap",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(1.0, 1000.0),
        help: "n: d is clamped to [1/n, n]",
        source: "D2TCP 4.1.1, 4.2.4: 2",
    },
    Key {
        name: "t_c",
        kind: Kind::Choice(&["approximate", "precise"]),
        default: Default::Is("approximate"),
        range: Range::ANY,
        help: "how the time that the rest needs is computed: B/(3W/4), or from the sawtooth's sum",
        source: "D2TCP 3.2.3",
    },
    Key {
        name: "rtt",
        kind: Kind::Choice(&["smoothed", "minimum"]),
        default: Default::Is("smoothed"),
        range: Range::ANY,
        help: "which RTT turns T_c into a time",
        source: "open in the paper",
    },
    Key {
        name: "expired",
        kind: Kind::Choice(&["neutral", "cap", "yield", "abort"]),
        default: Default::Is("neutral"),
        range: Range::ANY,
        help: "once the deadline has passed: d = 1, n, 1/n, or give the message up",
        source: "open in the paper; a late message has nothing left to gain",
    },
    Key {
        name: "margin",
        kind: Kind::Time,
        default: Default::Is("0 s"),
        range: Range::at_least(0.0),
        help: "taken off the time left, so that flows finish a little early",
        source: "open; 0 as in the paper",
    },
];

fn build(values: &Values) -> D2tcp {
    D2tcp {
        marking: Marking::from_values(values),
        urgency: Urgency {
            d_cap: values.number("d_cap"),
            precise: values.choice("t_c") == "precise",
            minimum_rtt: values.choice("rtt") == "minimum",
            expired: match values.choice("expired") {
                "cap" => Expired::Cap,
                "yield" => Expired::Yield,
                "abort" => Expired::Abort,
                _ => Expired::Neutral,
            },
            margin: values.time("margin"),
        },
    }
}

/// Cuts by half of alpha^d.
#[derive(Clone, Debug, PartialEq)]
pub struct D2tcp {
    marking: Marking,
    urgency: Urgency,
}

/// The computation of d from a deadline.
#[derive(Clone, Debug, PartialEq)]
struct Urgency {
    d_cap: f64,
    precise: bool,
    minimum_rtt: bool,
    expired: Expired,
    margin: Span,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expired {
    Neutral,
    Cap,
    Yield,
    Abort,
}

impl Urgency {
    /// Returns the imminence of the deadlines. TCP sends in order, so that the nearest deadline may be of a message
    /// behind the present one. It is the largest d of all messages, each with all data to be sent before it; 1 if none
    /// has a deadline.
    #[inline]
    fn imminence(&self, cwnd: f64, ack: &Acked) -> f64 {
        let own = self.imminence_of(&ack.message, cwnd, ack);
        if ack.later.is_empty() {
            return own.unwrap_or(1.0);
        }
        let later = ack.later.iter().filter_map(|later| self.imminence_of(later, cwnd, ack));
        later.chain(own).reduce(f64::max).unwrap_or(1.0)
    }

    /// Returns the imminence for one message: d = T_c / D within [1/n, n] (D2TCP 3.2.3), of everything up to its end.
    /// It is 1 with nothing left, or before the first RTT sample. None without a deadline or without a known size.
    #[inline]
    fn imminence_of(&self, current: &Current, cwnd: f64, ack: &Acked) -> Option<f64> {
        let Message { bytes: Some(_), deadline: Some(deadline), .. } = current.message else { return None };
        let left = deadline.saturating_sub(ack.now).saturating_sub(self.margin);
        if left == Span::ZERO {
            return Some(match self.expired {
                Expired::Neutral | Expired::Abort => 1.0,
                Expired::Cap => self.d_cap,
                Expired::Yield => 1.0 / self.d_cap,
            });
        }
        let rtt = if self.minimum_rtt { ack.min_rtt } else { ack.srtt };
        let (Some(rtt), bytes_left @ 1..) = (rtt, current.end.saturating_sub(ack.una)) else { return Some(1.0) };
        let segments_left = bytes_left as f64 / ack.mss;
        let rounds = if self.precise { precise_rounds(segments_left, cwnd) } else { segments_left / (0.75 * cwnd) };
        let d = rounds * rtt.as_secs_f64() / left.as_secs_f64();
        Some(d.clamp(1.0 / self.d_cap, self.d_cap))
    }
}

/// Returns the RTTs that `b` segments need with a sawtooth up to `w` segments, from its exact sum (D2TCP 3.2.3). They
/// are over more than one period, L = W/2 RTTs, or within the first.
fn precise_rounds(b: f64, w: f64) -> f64 {
    if w < 1.0 {
        // Below a segment there is no sawtooth: one segment in 1/W RTTs.
        return b / w;
    }
    let over_periods = b / (0.75 * w - 0.5);
    if over_periods > w / 2.0 {
        over_periods
    } else {
        let half = (w - 1.0) / 2.0;
        libm::sqrt(half * half + 2.0 * b) - half
    }
}

/// Returns p = alpha^d; exactly alpha when d is 1, so that a flow without a deadline is exactly DCTCP.
fn penalty(alpha: f64, d: f64) -> f64 {
    if d == 1.0 { alpha } else { libm::pow(alpha, d) }
}

impl Window for D2tcp {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let D2tcp { marking, urgency } = self;
        marking.on_ack(window, ack, |window, alpha| penalty(alpha, urgency.imminence(window.cwnd, ack)) / 2.0)
    }
    fn on_beyond(&mut self, bytes: u64, marked: bool) {
        self.marking.count(bytes, marked);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.marking.on_loss();
        window.halve(loss);
    }
    fn observe(&self, window: &Cwnd, ack: &Acked, seen: &mut Observation) {
        let d = self.urgency.imminence(window.cwnd, ack);
        seen.add(&dctcp::ALPHA, self.marking.alpha);
        seen.add(&D, d);
        seen.add(&dctcp::P, penalty(self.marking.alpha, d));
    }
    #[inline]
    fn aborts(&self, message: &Message, now: Instant) -> bool {
        self.urgency.expired == Expired::Abort && message.deadline.is_some_and(|deadline| deadline < now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::dctcp::tests::marking;
    use crate::controllers::tests::{acked, cwnd};

    fn urgency() -> Urgency {
        Urgency { d_cap: 2.0, precise: false, minimum_rtt: false, expired: Expired::Neutral, margin: Span::ZERO }
    }

    /// An ACK at 10 us with an RTT of 100 us, `segments` of 1000 B left and `left` until the deadline.
    fn with_deadline(segments: u64, left: Span) -> Acked<'static> {
        let mut ack = acked(1, true);
        ack.message.end = ack.una + segments * 1000;
        ack.message.message.deadline = Some(ack.now + left);
        ack
    }

    #[test]
    fn d_is_the_time_needed_over_the_time_left() {
        // T_c = 30 / (3/4 x 20) = 2 RTTs = 200 us
        let d = |left| urgency().imminence(20.0, &with_deadline(30, Span::from_micros(left)));
        assert!((d(200) - 1.0).abs() < 1e-12);
        assert!((d(160) - 1.25).abs() < 1e-12);
        assert_eq!(d(10), 2.0);
        assert_eq!(d(100_000), 0.5);
    }

    #[test]
    fn d_is_one_without_deadline_size_or_sample() {
        let ack = with_deadline(30, Span::from_micros(10));
        let mut changed = ack.clone();
        changed.message.message.deadline = None;
        assert_eq!(urgency().imminence(20.0, &changed), 1.0);
        let mut changed = ack.clone();
        changed.message.message.bytes = None;
        assert_eq!(urgency().imminence(20.0, &changed), 1.0);
        assert_eq!(urgency().imminence(20.0, &with_deadline(0, Span::from_micros(10))), 1.0);
        assert_eq!(urgency().imminence(20.0, &Acked { srtt: None, ..ack }), 1.0);
    }

    #[test]
    fn the_nearest_deadline_of_all_that_wait_decides() {
        // The first: T_c = 2 RTTs = 200 us of 800 us. With the 15 segments behind it: 300 us of 200 us.
        let first = with_deadline(30, Span::from_micros(800));
        let behind = |segments: u64, left: Option<u64>| Current {
            end: first.message.end + segments * 1000,
            message: Message {
                deadline: left.map(|us| first.now + Span::from_micros(us)),
                ..Message::of(units::Bytes(segments * 1000))
            },
        };
        let d = |own: Option<u64>, later: &[Current]| {
            let later = later.iter().copied().collect();
            let mut ack = Acked { later: &later, ..first.clone() };
            ack.message.message.deadline = own.map(|us| first.now + Span::from_micros(us));
            Urgency { d_cap: 16.0, ..urgency() }.imminence(20.0, &ack)
        };
        assert!((d(Some(800), &[]) - 0.25).abs() < 1e-12);
        assert!((d(Some(800), &[behind(15, Some(200))]) - 1.5).abs() < 1e-12);
        assert!((d(Some(800), &[behind(1, None), behind(15, Some(200)), behind(30, Some(9000))]) - 1.5).abs() < 1e-12);
        // A message without a deadline has no d, and does not hide the others.
        assert!((d(Some(800), &[behind(15, None)]) - 0.25).abs() < 1e-12);
        assert!((d(None, &[behind(15, Some(1200))]) - 0.25).abs() < 1e-12);
        assert_eq!(d(None, &[behind(15, None)]), 1.0);
    }

    #[test]
    fn a_passed_deadline_follows_the_rule() {
        let ack = with_deadline(30, Span::ZERO);
        for (expired, d) in [(Expired::Neutral, 1.0), (Expired::Cap, 2.0), (Expired::Yield, 0.5), (Expired::Abort, 1.0)]
        {
            assert_eq!(Urgency { expired, ..urgency() }.imminence(20.0, &ack), d);
        }
        let early = Urgency { margin: Span::from_micros(50), expired: Expired::Cap, ..urgency() };
        assert_eq!(early.imminence(20.0, &with_deadline(1, Span::from_micros(50))), 2.0);
    }

    #[test]
    fn the_precise_branches_meet_and_agree_with_the_sum() {
        let w: f64 = 16.0;
        let at_l = (w / 2.0) * (0.75 * w - 0.5);
        assert!((precise_rounds(at_l, w) - w / 2.0).abs() < 1e-9);
        assert!((precise_rounds(at_l * 1.001, w) - precise_rounds(at_l * 0.999, w)).abs() < 0.1);
        // W/2 + (W/2 + 1) + (W/2 + 2) = 27 segments take three RTTs.
        assert!((precise_rounds(27.0, w) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn below_a_segment_a_window_takes_its_time_for_each() {
        assert_eq!((precise_rounds(3.0, 0.5), precise_rounds(3.0, 2.0 / 3.0)), (6.0, 4.5));
    }

    #[test]
    fn the_cut_is_gamma_corrected() {
        let window_after = |left| {
            let mut law = D2tcp { marking: marking(0.5), urgency: urgency() };
            let mut window = cwnd(20.0);
            // The first ACK closes the first observation window; alpha barely moves.
            law.on_ack(&mut window, &with_deadline(30, left));
            (window.cwnd, law.marking.alpha)
        };
        let (near, alpha) = window_after(Span::from_micros(50));
        assert!((near - 20.0 * (1.0 - alpha.powf(2.0) / 2.0)).abs() < 1e-9);
        let (far, alpha) = window_after(Span::from_millis(50));
        assert!((far - 20.0 * (1.0 - alpha.powf(0.5) / 2.0)).abs() < 1e-9);
        assert!(near > far);
    }
}
