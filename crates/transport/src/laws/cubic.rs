//! `cubic`: what Linux users have today.

use units::{Default, Instant, Key, Kind, Range, Span, Values};

use super::echo::Echoes;
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs};

/// CUBIC.
pub const DESCRIPTOR: Descriptor<Cubic> = Descriptor {
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
pub const KEYS: &[Key] = &[
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
    /// Where the present cubic began; none until congestion avoidance starts.
    epoch: Option<Epoch>,
}

#[derive(Clone, Debug, PartialEq)]
struct Epoch {
    start: Instant,
    /// Seconds from the start to the plateau.
    k: f64,
    /// The window at the plateau.
    origin: f64,
    /// What Reno's window would be (RFC 9438 4.3).
    w_est: f64,
}

impl Cubic {
    fn reduce(&mut self, cwnd: f64) {
        // RFC 9438 4.7: when the maximum falls, leave room for others.
        let shrinking = self.fast_convergence && cwnd < self.w_max;
        self.prior = cwnd;
        self.w_max = if shrinking { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.epoch = None;
    }

    fn grow(&mut self, window: &mut Cwnd, ack: &Acked) {
        let (c, w_max, cwnd) = (self.c, self.w_max, window.cwnd);
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: ack.now,
            // RFC 9438 4.2: K = cbrt((W_max - cwnd) / C).
            k: if cwnd < w_max { libm::cbrt((w_max - cwnd) / c) } else { 0.0 },
            origin: cwnd.max(w_max),
            w_est: cwnd,
        });
        let rtt = ack.srtt.unwrap_or_default();
        let from_plateau = (ack.now.saturating_sub(epoch.start) + rtt).as_secs_f64() - epoch.k;
        let target = epoch.origin + c * from_plateau * from_plateau * from_plateau;
        let target = target.clamp(cwnd, 1.5 * cwnd);
        window.cwnd += (target - cwnd) / cwnd.max(1.0) * ack.segments;
        if self.reno_friendly {
            // RFC 9438 4.3: alpha is 1 once the window is back where the loss happened.
            let is_back = self.alpha_rises && epoch.w_est >= self.prior;
            let alpha = if is_back { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) };
            epoch.w_est += alpha * ack.segments / cwnd.max(1.0);
            window.cwnd = window.cwnd.max(epoch.w_est);
        }
        window.cwnd = window.cwnd.min(window.limit);
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
            }
            return due;
        }
        if !ack.may_grow {
            return false;
        }
        if window.cwnd < window.ssthresh {
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
        window.ssthresh = (window.cwnd * self.beta).max(window.floor);
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
    use crate::laws::tests::{acked, cwnd};

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
}
