//! `cubic`: the default of Linux.

use units::{Default, Instant, Key, Kind, Range, Span, Values};

use super::echo::Echoes;
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs};

/// The descriptor of CUBIC.
pub(super) const DESCRIPTOR: Descriptor<Cubic> = Descriptor {
    name: "cubic",
    help: "CUBIC: cubic growth around the window of the last loss; what Linux runs by default",
    source: "RFC 9438",
    aliases: &[],
    groups: &[KEYS],
    needs: Needs::of("nothing", "what they have"),
    signals: &[],
    build: |values, _| Ok(build(values)),
};

/// Parameters of its own.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "ecn",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "negotiate ECN and treat an echoed mark as a loss, once per window",
        source: "RFC 9438 4.6, RFC 3168; Linux asks for ECN only when told to",
    },
    Key {
        name: "c",
        kind: Kind::Number,
        default: Default::Is("0.4"),
        range: Range::above(0.0, 100.0),
        help: "how steeply the window grows, in segments/s^3",
        source: "RFC 9438 5",
    },
    Key {
        name: "beta",
        kind: Kind::Number,
        default: Default::Is("0.7"),
        range: Range::between(0.1, 0.99),
        help: "factor on the window at a loss",
        source: "RFC 9438 4.6",
    },
    Key {
        name: "fast_convergence",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "give up more of the last maximum when it is falling",
        source: "RFC 9438 4.7",
    },
    Key {
        name: "reno_friendly",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "never grow slower than Reno would",
        source: "RFC 9438 4.3",
    },
    Key {
        name: "reno_alpha",
        kind: Kind::Choice(&["rises", "constant"]),
        default: Default::Is("rises"),
        range: Range::ANY,
        help: "how fast Reno's window is taken to grow where it is followed: 3 (1 - beta)/(1 + beta) segments per window, and \
               one from the window on at which the last loss happened, or never more than the former",
        source: "RFC 9438 4.3 (rises); RFC 8312 4.2, Linux's tcp_cubic.c and ns-3 (constant)",
    },
    Key {
        name: "arithmetic",
        kind: Kind::Choice(&["exact", "whole-segments"]),
        default: Default::Is("exact"),
        range: Range::ANY,
        help: "windows with fractions of a segment; or whole ones, rounded down at a loss, to which a segment is added once \
               enough was acknowledged, at most one per 20 before the first loss, with the least RTT in the target",
        source: "RFC 9438 counts bytes (exact); Linux's bictcp_update() and tcp_cong_avoid_ai(), ns-3's TcpCubic \
                 (whole-segments)",
    },
];

fn build(values: &Values) -> Cubic {
    Cubic {
        echoes: Echoes::new(values.bool("ecn")),
        c: values.number("c"),
        beta: values.number("beta"),
        fast_convergence: values.bool("fast_convergence"),
        reno_friendly: values.bool("reno_friendly"),
        alpha_rises: values.choice("reno_alpha") == "rises",
        w_max: 0.0,
        prior: 0.0,
        epoch: None,
        whole: (values.choice("arithmetic") == "whole-segments").then(Box::default),
    }
}

/// Growth along a cubic around the window of the last loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Cubic {
    echoes: Echoes,
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    /// Reno's window grows by a segment per window once it is back where the last loss happened.
    alpha_rises: bool,
    /// The plateau of the next cubic: the window at which the last loss happened, or less, in segments.
    w_max: f64,
    /// The window when ssthresh was last set (cwnd_prior), which fast convergence does not lower.
    prior: f64,
    /// The start of the present cubic; none until congestion avoidance starts.
    epoch: Option<Epoch>,
    /// Windows are whole segments, as in Linux.
    whole: Option<Box<Counts>>,
}

/// The segments that Linux counts until one is added to a window.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    /// Segments acknowledged since the window was last increased (snd_cwnd_cnt).
    to_window: f64,
    /// Segments acknowledged since Reno's window was last increased (ack_cnt).
    to_reno: f64,
}

#[derive(Clone, Debug, PartialEq)]
struct Epoch {
    start: Instant,
    /// Seconds from the start to the plateau.
    k: f64,
    /// The window at the plateau.
    origin: f64,
    /// The estimate of Reno's window (RFC 9438 4.3).
    w_est: f64,
}

impl Cubic {
    fn reduce(&mut self, cwnd: f64) {
        // RFC 9438 4.7: when the maximum falls, leave room for others.
        let shrinking = self.fast_convergence && cwnd < self.w_max;
        self.prior = cwnd;
        self.w_max = self.rounded(if shrinking { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd });
        self.epoch = None;
        if let Some(counts) = &mut self.whole {
            // tcp_init_cwnd_reduction()
            counts.to_window = 0.0;
        }
    }

    /// Returns a window in the unit in which it is kept.
    fn rounded(&self, window: f64) -> f64 {
        if self.whole.is_some() { window.floor() } else { window }
    }

    /// Returns the segments per window by which Reno's window grows (RFC 9438 4.3): one from the window of the last
    /// loss on.
    fn reno_alpha(&self, w_est: f64) -> f64 {
        if self.alpha_rises && w_est >= self.prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) }
    }

    /// Returns the present cubic, which begins with the window `cwnd` if there is none.
    fn begin(&mut self, now: Instant, cwnd: f64) -> Epoch {
        let (c, w_max) = (self.c, self.w_max);
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            // RFC 9438 4.2: K = cbrt((W_max - cwnd) / C).
            k: if cwnd < w_max { libm::cbrt((w_max - cwnd) / c) } else { 0.0 },
            origin: cwnd.max(w_max),
            w_est: cwnd,
        });
        epoch.clone()
    }

    fn grow(&mut self, window: &mut Cwnd, ack: &Acked) {
        let cwnd = window.cwnd;
        let Epoch { start, k, origin, mut w_est } = self.begin(ack.now, cwnd);
        let rtt = ack.srtt.unwrap_or_default();
        let from_plateau = (ack.now.saturating_sub(start) + rtt).as_secs_f64() - k;
        let target = origin + self.c * from_plateau * from_plateau * from_plateau;
        let target = target.clamp(cwnd, 1.5 * cwnd);
        window.cwnd += (target - cwnd) / cwnd.max(1.0) * ack.segments;
        if self.reno_friendly {
            w_est += self.reno_alpha(w_est) * ack.segments / cwnd.max(1.0);
            window.cwnd = window.cwnd.max(w_est);
        }
        self.epoch = Some(Epoch { start, k, origin, w_est });
        window.cwnd = window.cwnd.min(window.limit);
    }

    /// Grows a window of whole segments as Linux does: bictcp_update() and tcp_cong_avoid_ai().
    #[cold]
    fn grow_whole(&mut self, window: &mut Cwnd, ack: &Acked) {
        let slow_start = (window.ssthresh - window.cwnd).clamp(0.0, ack.segments);
        window.cwnd += slow_start;
        let (cwnd, acked) = (window.cwnd, ack.segments - slow_start);
        if acked <= 0.0 {
            return;
        }
        let begins = self.epoch.is_none();
        let Epoch { start, k, origin, mut w_est } = self.begin(ack.now, cwnd);
        let min_rtt = ack.min_rtt.unwrap_or_default();
        let from_plateau = (ack.now.saturating_sub(start) + min_rtt).as_secs_f64() - k;
        let target = origin + (self.c * from_plateau * from_plateau * from_plateau).trunc();
        // A segment is added for this number of segments.
        let mut per_segment = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
        if self.w_max == 0.0 {
            per_segment = per_segment.min(20.0);
        }
        let Some(mut counts) = self.whole.take() else { return };
        counts.to_reno = if begins { acked } else { counts.to_reno + acked };
        if self.reno_friendly {
            let per_reno = (cwnd * (8.0 / self.reno_alpha(w_est)).floor() / 8.0).floor().max(1.0);
            while counts.to_reno > per_reno {
                counts.to_reno -= per_reno;
                w_est += 1.0;
            }
            if w_est > cwnd {
                per_segment = per_segment.min((cwnd / (w_est - cwnd)).floor());
            }
        }
        // RFC 9438 4.2: at most half a window per window.
        let per_segment = per_segment.max(2.0);
        if counts.to_window >= per_segment {
            // Segments counted for a slower growth count once.
            counts.to_window = 0.0;
            window.cwnd += 1.0;
        }
        counts.to_window += acked;
        let more = (counts.to_window / per_segment).floor();
        counts.to_window -= more * per_segment;
        window.cwnd = (window.cwnd + more).min(window.limit);
        self.whole = Some(counts);
        self.epoch = Some(Epoch { start, k, origin, w_est });
    }
}

impl Window for Cubic {
    fn ecn(&self) -> Ecn {
        self.echoes.ecn()
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        if ack.marked {
            let due = self.echoes.ask_for_cut(ack);
            if due {
                self.reduce(window.cwnd);
                window.cut(self.beta);
                window.cwnd = self.rounded(window.cwnd).max(window.floor);
                window.ssthresh = window.cwnd;
            }
            return due;
        }
        if !ack.may_grow {
            return false;
        }
        if self.whole.is_some() {
            self.grow_whole(window, ack);
        } else if window.cwnd < window.ssthresh {
            window.grow(ack.segments);
        } else {
            self.grow(window, ack);
        }
        false
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.reduce(window.cwnd);
        if loss.timeout {
            // RFC 9438 4.8: the next cubic starts at its own plateau.
            self.w_max = 0.0;
        }
        window.ssthresh = self.rounded(window.cwnd * self.beta).max(window.floor);
    }
    fn on_idle(&mut self, time: Span) {
        // RFC 9438 4.2: the time for which there was nothing to send does not count.
        if let Some(epoch) = &mut self.epoch {
            epoch.start += time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd};

    fn law() -> Cubic {
        Cubic {
            echoes: Echoes::new(false),
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: false,
            alpha_rises: true,
            w_max: 0.0,
            prior: 0.0,
            epoch: None,
            whole: None,
        }
    }

    #[test]
    fn the_window_is_back_at_its_maximum_after_k() {
        let (mut law, mut window) = (law(), cwnd(100.0));
        law.on_loss(&mut window, &Lost { now: Instant::ZERO, state: acked(0, false), flight: 100.0, timeout: false });
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 70.0);
        // K = cbrt(30 / 0.4) = 4.217 s; one ACK per window of data, a window per 10 ms.
        let mut now = 0.0;
        while now < 4.217 {
            let segments = window.cwnd;
            let rtt = Some(Span::from_millis(10));
            let ack = Acked { now: Instant::from_secs_f64(now), segments, srtt: rtt, ..acked(1, false) };
            law.on_ack(&mut window, &ack);
            now += 0.01;
        }
        assert!((window.cwnd - 100.0).abs() < 0.5, "{}", window.cwnd);
    }

    #[test]
    fn a_falling_maximum_is_lowered_further() {
        let mut law = law();
        law.reduce(100.0);
        law.reduce(80.0);
        assert!((law.w_max - 80.0 * 0.85).abs() < 1e-9);
    }

    /// Whole segments, without Reno's window.
    fn whole(w_max: f64) -> Cubic {
        Cubic { whole: Some(Box::default()), alpha_rises: false, w_max, ..law() }
    }

    /// Acknowledges these numbers of segments at the start of an epoch; returns the window after each.
    fn after(law: &mut Cubic, window: &mut Cwnd, segments: &[f64]) -> Vec<f64> {
        let ack = |&segments: &f64| {
            law.on_ack(window, &Acked { now: Instant::ZERO, segments, min_rtt: None, ..acked(0, false) });
            window.cwnd
        };
        segments.iter().map(ack).collect()
    }

    #[test]
    fn whole_segments_grow_by_one_per_twenty_before_the_first_loss() {
        // Two of the first five end slow start, so that three count, then 19, then 20.
        let mut window = Cwnd { ssthresh: 10.0, ..cwnd(8.0) };
        assert_eq!(after(&mut whole(0.0), &mut window, &[5.0, 16.0, 1.0]), [10.0, 10.0, 11.0]);
        // Segments above 20 count for the next one.
        let mut window = Cwnd { ssthresh: 10.0, ..cwnd(10.0) };
        assert_eq!(after(&mut whole(0.0), &mut window, &[25.0, 14.0, 1.0]), [11.0, 11.0, 12.0]);
    }

    #[test]
    fn whole_segments_grow_by_one_per_hundred_windows_at_the_plateau() {
        let mut window = Cwnd { ssthresh: 10.0, ..cwnd(10.0) };
        assert_eq!(after(&mut whole(10.0), &mut window, &[999.0, 1.0]), [10.0, 11.0]);
    }

    #[test]
    fn whole_segments_follow_renos_window_in_one_window() {
        // Reno's window is two above ten: a segment per 10/2 segments.
        let mut law = Cubic { reno_friendly: true, ..whole(10.0) };
        law.epoch = Some(Epoch { start: Instant::ZERO, k: 0.0, origin: 10.0, w_est: 12.0 });
        let mut window = Cwnd { ssthresh: 10.0, ..cwnd(10.0) };
        assert_eq!(after(&mut law, &mut window, &[4.0, 1.0]), [10.0, 11.0]);
    }
}
