//! `dctcp`: cut in proportion to the extent of marking.

use units::{Default, Key, Kind, Range, Values};

use super::{Acked, Cwnd, Ecn, Lost, Window, float};
use crate::{Advice, Descriptor, Needs, Observation, Regime, Signal};

/// The growth of DCTCP and D2TCP.
pub(crate) const AS_RFC: Growth = Growth {
    on_echo: "never",
    on_echo_source: "RFC 3168 6.1.2 and Linux (never); the authors' ns-2 code (bursts)",
    steps: "per-ack",
    steps_source: "RFC 5681 3.1 (per-ack); Linux and ns-2 (per-window)",
};

/// The default growth of a member of the family: they have different sources.
pub(crate) struct Growth {
    pub on_echo: &'static str,
    pub on_echo_source: &'static str,
    pub steps: &'static str,
    pub steps_source: &'static str,
}

impl Growth {
    /// Returns the parameters of growth, with these defaults.
    pub(crate) const fn keys(self) -> [Key; 2] {
        [
            Key {
                name: "grow_on_echo",
                kind: Kind::Choice(&["never", "bursts"]),
                default: Default::Is(self.on_echo),
                range: Range::ANY,
                help: "whether the window grows on ACKs that carry an echo: never, or on all of a burst but its first",
                source: self.on_echo_source,
            },
            Key {
                name: "growth_steps",
                kind: Kind::Choice(&["per-ack", "per-window"]),
                default: Default::Is(self.steps),
                range: Range::ANY,
                help: "how congestion avoidance adds its segment: a fraction with each ACK, or all of it once a \
                       window has been acknowledged",
                source: self.steps_source,
            },
        ]
    }
}

/// The descriptor of DCTCP.
pub(crate) const DESCRIPTOR: Descriptor<Dctcp> = Descriptor {
    name: "dctcp",
    help: "DCTCP: cuts the window by alpha/2, alpha the moving share of marked bytes",
    source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
    aliases: &[("alpha", "initial_alpha"), ("gain", "g")],
    groups: &[KEYS, &AS_RFC.keys()],
    needs: ON_MARKS,
    signals: &[ALPHA, P],
    build: |values, _| Ok(Dctcp::from_values(values)),
};

/// The needs of a controller that uses the share of marks.
pub(super) const ON_MARKS: Needs =
    Needs::of("ECN marks above a threshold", "a window law, and an exact echo of marks").made_for(MARKS);

/// The marking for which DCTCP's law was designed, and which other transports take over.
pub(super) const MARKS: &[Regime] = &[Regime {
    key: "mark",
    source: "DCTCP 3.4: K above a seventh of the bandwidth-delay product",
    outside: |conditions| {
        let least = conditions.bandwidth_delay() / 7.0;
        conditions.mark.filter(|mark| *mark < least).map(|mark| Advice {
            reason: format!(
                "K = {mark:.0} B is below a seventh of the bandwidth-delay product, which its paper shows to be the least: \
                 the queue runs empty after a cut, and the link idles"
            ),
            write: format!("mark = \"{:.0} B\" or more", least.ceil()),
        })
    },
}];

/// The estimate of the extent of marking.
pub(crate) const ALPHA: Signal =
    Signal { name: "alpha", help: "the extent of marking, 0 to 1 (DCTCP's family)", unit: "" };
/// The penalty of a cut.
pub(crate) const P: Signal =
    Signal { name: "p", help: "the penalty, half of which a cut takes off: alpha (dctcp), alpha^d (d2tcp)", unit: "" };

/// Parameters of the mark estimator, shared by all of DCTCP's family.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "g",
        kind: Kind::Number,
        default: Default::Is("0.0625"),
        range: Range::above(0.0, 1.0),
        help: "weight of the last window's share of marks in alpha",
        source: "DCTCP 3.1, D2TCP 4.1.1: 1/16",
    },
    Key {
        name: "initial_alpha",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::UNIT,
        help: "alpha of a new connection",
        source: "RFC 8257 4.2 and Linux: 1; the authors' ns-2 code: 0",
    },
    Key {
        name: "cut_at",
        kind: Kind::Choice(&["first-echo", "window-end"]),
        default: Default::Is("first-echo"),
        range: Range::ANY,
        help: "cut at the first marked ACK of a window, or when the window has been acknowledged and alpha includes it",
        source: "RFC 8257 3.3 (first-echo); D2TCP 3.2.5 leaves it open",
    },
];

/// Cuts by half of alpha.
#[derive(Clone, Debug, PartialEq)]
pub struct Dctcp {
    marking: Marking,
}

impl Dctcp {
    /// Reads the checked values of its keys.
    pub(super) fn from_values(values: &Values) -> Dctcp {
        Dctcp { marking: Marking::from_values(values) }
    }
}

impl Window for Dctcp {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    #[inline(always)]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.marking.on_ack(window, ack, |_, alpha| alpha / 2.0)
    }
    fn on_beyond(&mut self, bytes: u64, marked: bool) {
        self.marking.count(bytes, marked);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.marking.on_loss();
        window.halve(loss);
    }
    fn observe(&self, _: &Cwnd, _: &Acked, seen: &mut Observation) {
        seen.add(&ALPHA, self.marking.alpha);
        seen.add(&P, self.marking.alpha);
    }
}

/// The common part of DCTCP's family: the estimate of the extent of marking, and the time of cuts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marking {
    /// The moving share of marked bytes.
    pub alpha: f64,
    g: f64,
    cut_at_window_end: bool,
    grow_in_bursts: bool,
    /// True after an ACK with an echo.
    in_burst: bool,
    grow_per_window: bool,
    /// Segments acknowledged since the window was last changed, when it grows once per window.
    credit: f64,
    /// Bytes that have arrived in this observation window.
    acked: u64,
    /// Of these, bytes whose ACK carried an echo.
    marked: u64,
    /// The observation window ends when this position is passed.
    window_end: u64,
    /// Marks below this position have been answered by a cut.
    cut_end: u64,
    /// A mark of this observation window asks for a cut at its end.
    asked: bool,
}

impl Marking {
    /// Reads the checked values of [`KEYS`] and of [`Growth::keys`].
    pub(crate) fn from_values(values: &Values) -> Marking {
        Marking {
            alpha: values.number("initial_alpha"),
            g: values.number("g"),
            cut_at_window_end: values.choice("cut_at") == "window-end",
            grow_in_bursts: values.choice("grow_on_echo") == "bursts",
            in_burst: false,
            grow_per_window: values.choice("growth_steps") == "per-window",
            credit: 0.0,
            acked: 0,
            marked: 0,
            window_end: 0,
            cut_end: 0,
            asked: false,
        }
    }

    /// Counts marks. Cuts by `penalty(window, alpha)` at most once per window and only when that window had a mark, and
    /// otherwise grows as TCP does. Returns true when it has cut.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked, penalty: impl FnOnce(&Cwnd, f64) -> f64) -> bool {
        self.count(ack.bytes, ack.marked);
        let asks = ack.marked && ack.may_cut;
        let mut due = asks && !self.cut_at_window_end && ack.una > self.cut_end;
        self.asked |= asks;
        if ack.una > self.window_end {
            due |= self.close_window(ack.next);
        }
        let in_burst = std::mem::replace(&mut self.in_burst, ack.marked);
        if due {
            self.cut_end = ack.next;
            window.cut(1.0 - penalty(window, self.alpha));
            self.credit = 0.0;
        }
        let grows = ack.may_grow && if ack.marked { self.grow_in_bursts && in_burst } else { !due };
        if grows {
            self.grow(window, ack.segments);
        }
        due
    }

    /// Counts bytes that have arrived, with an echo or without. Data beyond a gap counts for alpha; it does not cut,
    /// since the loss that it shows will.
    #[inline]
    pub(crate) fn count(&mut self, bytes: u64, marked: bool) {
        self.acked += bytes;
        self.marked += if marked { bytes } else { 0 };
    }

    /// Handles a loss that has cut the window: the marks of this observation window count for alpha and cause no cut.
    pub(crate) fn on_loss(&mut self) {
        self.asked = false;
    }

    #[inline]
    fn grow(&mut self, window: &mut Cwnd, segments: f64) {
        if !self.grow_per_window || window.cwnd < window.ssthresh {
            window.grow(segments);
            return;
        }
        self.credit += segments;
        if self.credit >= window.cwnd {
            self.credit = 0.0;
            window.cwnd = (window.cwnd + 1.0).min(window.limit);
        }
    }

    /// Closes the observation window (RFC 8257 3.3, steps 4 to 8). Returns true when a cut is due.
    fn close_window(&mut self, next: u64) -> bool {
        let share = float(self.marked) / float(self.acked);
        self.alpha = (1.0 - self.g) * self.alpha + self.g * share;
        let due = self.cut_at_window_end && self.asked;
        self.acked = 0;
        self.marked = 0;
        self.asked = false;
        self.window_end = next;
        due
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd};

    pub(crate) fn marking(alpha: f64) -> Marking {
        Marking {
            alpha,
            g: 0.0625,
            cut_at_window_end: false,
            grow_in_bursts: false,
            in_burst: false,
            grow_per_window: false,
            credit: 0.0,
            acked: 0,
            marked: 0,
            window_end: 0,
            cut_end: 0,
            asked: false,
        }
    }

    #[test]
    fn alpha_moves_once_per_window_by_the_share_of_marks() {
        let mut law = Dctcp { marking: Marking { window_end: 10_000, ..marking(0.5) } };
        let mut window = cwnd(10.0);
        for una in 1..=10 {
            law.on_ack(&mut window, &acked(una, una % 2 == 0));
            assert_eq!(law.marking.alpha, 0.5);
        }
        law.on_ack(&mut window, &acked(11, false));
        let share = 5.0 / 11.0;
        assert_eq!(law.marking.alpha, (1.0 - 0.0625) * 0.5 + 0.0625 * share);
    }

    #[test]
    fn the_first_echo_cuts_and_the_rest_of_the_window_does_not() {
        let mut law = Dctcp { marking: Marking { window_end: u64::MAX, ..marking(0.5) } };
        let mut window = cwnd(20.0);
        assert!(law.on_ack(&mut window, &acked(1, true)));
        assert_eq!((window.cwnd, window.ssthresh), (15.0, 15.0));
        for una in 2..=11 {
            assert!(!law.on_ack(&mut window, &acked(una, true)));
        }
        assert_eq!(window.cwnd, 15.0);
        assert!(law.on_ack(&mut window, &acked(12, true)));
        assert_eq!(window.cwnd, 11.25);
    }

    #[test]
    fn with_cut_at_window_end_the_new_alpha_counts() {
        let mut law = Dctcp { marking: Marking { cut_at_window_end: true, window_end: 2000, ..marking(0.0) } };
        let mut window = cwnd(20.0);
        assert!(!law.on_ack(&mut window, &acked(1, true)));
        assert!(!law.on_ack(&mut window, &acked(2, true)));
        assert!(law.on_ack(&mut window, &acked(3, true)));
        assert_eq!(window.cwnd, 20.0 * (1.0 - 0.0625 / 2.0));
    }

    #[test]
    fn growth_goes_on_after_the_marks_stop_though_alpha_never_reaches_zero() {
        let mut law = Dctcp { marking: marking(1.0) };
        let mut window = cwnd(10.0);
        law.on_ack(&mut window, &acked(1, true));
        let after_cut = window.cwnd;
        (12..100).for_each(|una| {
            law.on_ack(&mut window, &acked(una, false));
        });
        assert!(law.marking.alpha > 0.0 && window.cwnd > after_cut + 5.0);
    }

    #[test]
    fn in_a_burst_of_echoes_all_but_the_first_let_the_window_grow_if_asked() {
        let grown = |grow_in_bursts| {
            let marking = Marking { window_end: u64::MAX, cut_end: u64::MAX, grow_in_bursts, ..marking(0.5) };
            let (mut law, mut window) = (Dctcp { marking }, cwnd(10.0));
            (1..=5)
                .map(|una| {
                    let before = window.cwnd;
                    law.on_ack(&mut window, &acked(una, una != 4));
                    window.cwnd > before
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(grown(false), [false, false, false, true, false]);
        assert_eq!(grown(true), [false, true, true, true, false]);
    }

    #[test]
    fn per_window_a_segment_is_added_once_a_window_has_been_acknowledged() {
        let mut law = Dctcp { marking: Marking { grow_per_window: true, ..marking(0.5) } };
        let mut window = cwnd(4.5);
        let sizes: Vec<f64> = (1..=11)
            .map(|una| {
                law.on_ack(&mut window, &acked(una, false));
                window.cwnd
            })
            .collect();
        assert_eq!(sizes, [4.5, 4.5, 4.5, 4.5, 5.5, 5.5, 5.5, 5.5, 5.5, 5.5, 6.5]);
    }

    /// Linux: tcp_init_cwnd_reduction() sets snd_cwnd_cnt to 0.
    #[test]
    fn per_window_a_cut_begins_a_new_count() {
        let marking = Marking { grow_per_window: true, window_end: u64::MAX, ..marking(0.5) };
        let (mut law, mut window) = (Dctcp { marking }, cwnd(8.0));
        let sizes: Vec<f64> = (1..=13)
            .map(|una| {
                law.on_ack(&mut window, &acked(una, una == 7));
                window.cwnd
            })
            .collect();
        // Six of eight before the cut to 6, and six after it until the next segment.
        assert_eq!(sizes, [8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 7.0]);
    }

    #[test]
    fn a_cut_stops_at_the_floor() {
        let mut law = Dctcp { marking: marking(1.0) };
        let mut window = cwnd(2.0);
        law.on_ack(&mut window, &acked(1, true));
        assert_eq!(window.cwnd, 2.0);
    }

    #[test]
    fn regime_marks_above_a_seventh_of_the_bandwidth_delay_product() {
        let values = [0.0, 1999.0, 2000.0, 2001.0, f64::INFINITY];
        assert_eq!(crate::descriptor::tests::is_within(&MARKS[0], values), [false, false, true, true, true]);
    }
}
