//! `dcqcn`: a rate that congestion notifications cut and that rises again by a timer and by a byte counter.

use units::{Default, Instant, Key, Kind, Problem, Range, Rate, Span, Value, Values};

use super::dctcp::ALPHA;
use super::in_flight::Bound;
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::connection::{self, RATE};
use crate::{Descriptor, Needs, Observation, Signal, Site, Surroundings};

/// The descriptor of DCQCN.
pub(super) const DESCRIPTOR: Descriptor<Dcqcn> = Descriptor {
    name: "dcqcn",
    help: "DCQCN: starts at line rate; each notification of marks cuts the rate by half of alpha, and a timer and a byte \
           counter bring it back",
    source: "Zhu et al., SIGCOMM 2015; HPCC's ns-3 simulator and NVIDIA's NICs (reaction = \"periodic\")",
    aliases: &[
        ("alpha", "first_alpha"),
        ("alpha_resume_interval", "alpha_interval"),
        ("clamp_target_rate", "clamp_target"),
        ("ewma_gain", "g"),
        ("fast_recovery_times", "fast_recovery"),
        ("initial_alpha", "first_alpha"),
        ("min_rate", "least_rate"),
        ("rate_ai", "add_step"),
        ("rate_decrease_interval", "cnp_interval"),
        ("rate_hai", "hyper_step"),
        ("rp_timer", "increase_timer"),
    ],
    groups: &[KEYS],
    needs: Needs::of(
        "ECN marks, by RED in the paper (marking = \"red\"), and no losses (lossless = true)",
        "pacing, and receivers that notify the sender of marks",
    )
    .settling(settle),
    signals: &[RATE, TARGET, ALPHA],
    build: |values, connection| build(values, connection),
};

/// The target rate of fast recovery.
const TARGET: Signal =
    Signal { name: "target_rate", help: "R_T, to which the rate rises in fast recovery (dcqcn)", unit: "Mbit/s" };

/// R_AI of the paper, 40 Mbps at 40 Gbps, as a part of the link; and R_HAI as a multiple of R_AI.
const STEPS_PER_LINK: u64 = 1000;
const HYPER_STEPS: u64 = 5;

/// Parameters of its own, and shared ones with other defaults.
const KEYS: &[Key] = &[
    Key {
        name: "reaction",
        kind: Kind::Choice(&["notified", "periodic"]),
        default: Default::Is("notified"),
        range: Range::ANY,
        help: "when marks change the rate and alpha: with each notification, of which the receiver sends at most one per \
               cnp_interval, the first of them at once; or where a mark was heard since the last look, at the end of \
               each cnp_interval (the rate) and of each alpha_interval (alpha)",
        source: "DCQCN 3.1, algorithm 1 (notified); HPCC's simulator and NVIDIA's NICs (periodic)",
    },
    Key {
        name: "cnp_interval",
        kind: Kind::Time,
        default: Default::Is("50 us"),
        range: Range::POSITIVE,
        help: "N, the least time between two notifications of a connection; with reaction = \"periodic\", the time from one \
               look for marks to the next cut",
        source: "DCQCN 3.1: 50 us; HPCC 2.3 and NVIDIA's rate_reduce_monitor_period: 4 us",
    },
    Key {
        name: "g",
        kind: Kind::Number,
        default: Default::Is("0.00390625"),
        range: Range::above(0.0, 1.0),
        help: "weight of the last notification, or of its absence, in alpha",
        source: "DCQCN 5.2: 1/256; NVIDIA's dce_tcp_g: 5/1024",
    },
    Key {
        name: "first_alpha",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::between(0.0, 1.0),
        help: "alpha before the first notification",
        source: "DCQCN 3.1: 1",
    },
    Key {
        name: "alpha_interval",
        kind: Kind::Time,
        default: Default::Is("55 us"),
        range: Range::POSITIVE,
        help: "K, the time without a notification after which alpha falls, and again after each such time; with reaction = \
               \"periodic\", the time from one change of alpha to the next",
        source: "DCQCN 3.1: 55 us; HPCC's simulator and NVIDIA's dce_tcp_rtt: 1 us",
    },
    Key {
        name: "increase_timer",
        kind: Kind::Time,
        default: Default::Is("55 us"),
        range: Range::POSITIVE,
        help: "T, the time from a cut to the first increase, and from each to the next",
        source: "DCQCN 5.2: 55 us (QCN: 1.5 ms); HPCC 2.3 and NVIDIA's rpg_time_reset: 300 us",
    },
    Key {
        name: "byte_counter",
        kind: Kind::Size,
        default: Default::Is("10 MB"),
        range: Range::POSITIVE,
        help: "B, the payload sent for the first time after which the rate increases too",
        source: "DCQCN 5.2: 10 MB (QCN: 150 KB)",
    },
    Key {
        name: "stages",
        kind: Kind::Choice(&["timer-and-bytes", "timer"]),
        default: Default::Is("timer-and-bytes"),
        range: Range::ANY,
        help: "what increases the rate: the timer and the byte counter, or the timer alone",
        source: "DCQCN 3.1 (timer-and-bytes); HPCC's simulator (timer)",
    },
    Key {
        name: "fast_recovery",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(0.0, 1e6),
        help: "F, the increases by the timer, or by the byte counter, that only halve the way to the target rate; the rest \
               raise that by add_step, and by hyper_step where both have had more than F",
        source: "DCQCN 3.1, QCN: 5; HPCC's simulator: 1",
    },
    Key {
        name: "add_step",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "R_AI, by which an additive increase raises the target rate; when left out, a thousandth of a host's link",
        source: "DCQCN 5.1: 40 Mbps at 40 Gbps; HPCC's simulator: 5 Mbps per 25 Gbps",
    },
    Key {
        name: "hyper_step",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "R_HAI, by which a hyper increase raises the target rate; when left out, five times add_step",
        source: "the DCQCN authors' ns-3 simulator: 200 Mbps with R_AI 40 Mbps; HPCC's: ten times R_AI",
    },
    Key {
        name: "clamp_target",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "whether every cut lowers the target rate to the rate before it, or only the first cut since an increase",
        source: "DCQCN 3.1, algorithm 1 (true); HPCC's simulator and NVIDIA's clamp_tgt_rate (false)",
    },
    Key {
        name: "least_rate",
        kind: Kind::Share,
        default: Default::Is("1%"),
        range: Range::above(0.0, 1.0),
        help: "the least rate, as a share of the sender's link",
        source: "open in the paper; HPCC's simulator: 1 Gbps at 100 Gbps",
    },
    Key {
        name: "window",
        kind: Kind::Choice(&["none", "fixed", "scaled"]),
        default: Default::Absent,
        range: Range::ANY,
        help: "what bounds the data in flight beside the rate: nothing, the bandwidth-delay product, or the same as the \
               rate's share of the link; when left out, none with recovery = \"go-back-n\", else fixed",
        source: "DCQCN: none; IRN (SIGCOMM 2018) 3.2, BDP-FC: fixed; HPCC 5.1, DCQCN+win: scaled",
    },
    Key {
        name: "base_rtt",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the round trip of the window's product; when left out, the network's longest without queues",
        source: "IRN 3.2: the longest path; HPCC's simulator: GLOBAL_T",
    },
    Key {
        name: "recovery",
        kind: Kind::Choice(connection::RECOVERIES),
        default: Default::Is("go-back-n"),
        range: Range::ANY,
        help: "how losses are repaired: see the shared key; sack is IRN's, with dup_ack_threshold = 1 where that is left out",
        source: "DCQCN 2: RoCE NICs go back; IRN 3.1: selective, from the first packet beyond a gap on",
    },
    Key {
        name: "ack_every",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, 64.0),
        help: "data packets per ACK; ACKs carry the notifications, which an ACK that is held back would delay",
        source: "DCQCN 3.1: a notification is sent at once; HPCC's simulator: L2_ACK_INTERVAL 1",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    if values.choice("receiver") != "stock" && !values.is_given("recovery") {
        // Receivers that schedule acknowledge data beyond a gap.
        values.set_default("recovery", Value::Choice("sack"));
    }
    let goes_back = values.choice("recovery") == "go-back-n";
    let base = surroundings.round_trip_of(connection::packet(values));
    values.follow("base_rtt", |_| Value::Time(base));
    values.follow("add_step", |_| Value::Rate(Rate((surroundings.line_rate.0 / STEPS_PER_LINK).max(1))));
    values.follow("hyper_step", |values| Value::Rate(Rate(values.rate("add_step").0.saturating_mul(HYPER_STEPS))));
    values.follow("window", |_| Value::Choice(if goes_back { "none" } else { "fixed" }));
    if values.choice("recovery") == "sack" && !values.is_given("dup_ack_threshold") {
        values.set_default("dup_ack_threshold", Value::Count(1));
    }
}

fn build(values: &Values, connection: &connection::Config) -> Result<Dcqcn, Problem> {
    let rules = Rules {
        periodic: values.choice("reaction") == "periodic",
        cnp_interval: values.time("cnp_interval"),
        g: values.number("g"),
        alpha_interval: values.time("alpha_interval"),
        increase_timer: values.time("increase_timer"),
        byte_counter: (values.choice("stages") == "timer-and-bytes").then(|| values.size("byte_counter").0),
        fast_recovery: values.count("fast_recovery"),
        add_step: values.rate("add_step").as_bps_f64(),
        hyper_step: values.rate("hyper_step").as_bps_f64(),
        clamp_target: values.bool("clamp_target"),
        least: values.number("least_rate"),
        bound: Bound::from_values(values, connection, values.time("base_rtt")),
    };
    Ok(Dcqcn(Box::new(State {
        rules,
        line: 0.0,
        rate: 0.0,
        target: 0.0,
        alpha: values.number("first_alpha"),
        notified: false,
        to_cut: false,
        to_raise_alpha: false,
        next_cnp: Instant::ZERO,
        next_alpha: Instant::MAX,
        next_timer: Instant::MAX,
        next_bytes: u64::MAX,
        by_timer: 0,
        by_bytes: 0,
        highest: 0,
    })))
}

/// Paces at a rate that notifications cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Dcqcn(Box<State>);

/// The sender's end (reaction point) and the rate of the receiver's notifications (notification point). Nothing has a
/// timer: [`State::advance`] makes up for all events that were due since it was called last, each at its time.
///
/// The receiver echoes every mark, and the sender takes as many echoes for notifications as the receiver would have
/// sent. With one ACK per packet these arrive when notifications would; only the packets that carry them are not sent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    rules: Rules,
    /// The rate of the sender's link, in bit/s.
    line: f64,
    /// R_C, the rate in force, in bit/s with headers; 0 before the first message.
    rate: f64,
    /// R_T, to which the rate rises in fast recovery.
    target: f64,
    alpha: f64,
    /// A notification was heard, so that its times run.
    notified: bool,
    /// A mark was heard that cuts the rate at `next_cnp`.
    to_cut: bool,
    /// A mark was heard that raises alpha at `next_alpha`.
    to_raise_alpha: bool,
    /// The time before which there is no further notification, or of the next look for marks.
    next_cnp: Instant,
    /// The time at which alpha changes next.
    next_alpha: Instant,
    /// The time of the next increase, and the sent bytes that bring the next one.
    next_timer: Instant,
    next_bytes: u64,
    /// Increases since the last cut.
    by_timer: u64,
    by_bytes: u64,
    /// The position before which everything was sent.
    highest: u64,
}

/// Rates are in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rules {
    periodic: bool,
    cnp_interval: Span,
    g: f64,
    alpha_interval: Span,
    increase_timer: Span,
    /// None: the timer alone.
    byte_counter: Option<u64>,
    fast_recovery: u64,
    add_step: f64,
    hyper_step: f64,
    clamp_target: bool,
    least: f64,
    bound: Bound,
}

impl State {
    /// Makes up for everything that was due until now. Bytes are counted first: they were sent when this was called
    /// last.
    fn advance(&mut self, now: Instant, highest: u64) {
        self.highest = self.highest.max(highest);
        while let Some(bytes) = self.rules.byte_counter.filter(|_| self.highest >= self.next_bytes) {
            self.increase();
            self.by_bytes += 1;
            self.next_bytes += bytes;
        }
        loop {
            let cut = if self.to_cut { self.next_cnp } else { Instant::MAX };
            let next = cut.min(self.next_timer);
            self.age(next.min(now));
            if next > now {
                return;
            }
            if cut == next {
                self.to_cut = false;
                self.next_cnp = cut + self.rules.cnp_interval;
                self.cut(cut);
            } else {
                self.tick(now.min(Instant(cut.0 - 1)));
            }
        }
    }

    /// Changes alpha at every time for it up to `until`: raises it at the first where a mark was heard, and lowers it at
    /// the others.
    fn age(&mut self, until: Instant) {
        if self.next_alpha > until {
            return;
        }
        let kept = 1.0 - self.rules.g;
        let others = (until - self.next_alpha).0 / self.rules.alpha_interval.0;
        let raise = if std::mem::take(&mut self.to_raise_alpha) { self.rules.g } else { 0.0 };
        self.alpha = (kept * self.alpha + raise) * libm::pow(kept, others as f64);
        self.next_alpha += self.rules.alpha_interval * (others + 1);
    }

    /// The timer expires: once, or at line rate, where it only counts, as often as it does until `until`.
    fn tick(&mut self, until: Instant) {
        let mut times = 1;
        if self.rate == self.line {
            times += (until - self.next_timer).0 / self.rules.increase_timer.0;
        } else {
            self.increase();
        }
        self.by_timer += times;
        self.next_timer += self.rules.increase_timer * times;
    }

    /// Increases the rate: fast recovery, additive or hyper increase, by the increases since the cut.
    fn increase(&mut self) {
        let (most, fewest) = match self.rules.byte_counter {
            Some(_) => (self.by_timer.max(self.by_bytes), self.by_timer.min(self.by_bytes)),
            None => (self.by_timer, self.by_timer),
        };
        if fewest > self.rules.fast_recovery {
            self.target += self.rules.hyper_step;
        } else if most >= self.rules.fast_recovery {
            self.target += self.rules.add_step;
        }
        self.target = self.target.min(self.line);
        self.rate = (self.rate + self.target) / 2.0;
        // Halving the way does not arrive.
        if self.line - self.rate < 1.0 {
            self.rate = self.line;
        }
    }

    /// Cuts the rate for a notification.
    fn cut(&mut self, at: Instant) {
        let rules = self.rules;
        if rules.clamp_target || self.by_timer > 0 || self.by_bytes > 0 {
            self.target = self.rate;
        }
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(rules.least * self.line);
        if !rules.periodic {
            self.alpha = (1.0 - rules.g) * self.alpha + rules.g;
            self.next_alpha = at + rules.alpha_interval;
        }
        (self.by_timer, self.by_bytes) = (0, 0);
        self.next_timer = at + rules.increase_timer;
        self.next_bytes = rules.byte_counter.map_or(u64::MAX, |bytes| self.highest.saturating_add(bytes));
    }

    /// Handles the echo of a mark.
    fn hear_mark(&mut self, now: Instant) {
        let interval = self.rules.cnp_interval;
        if !self.rules.periodic {
            if self.next_cnp > now {
                self.to_cut = true;
            } else {
                self.next_cnp = now + interval;
                self.cut(now);
            }
            return;
        }
        if !std::mem::replace(&mut self.notified, true) {
            self.next_cnp = now + interval;
            self.next_alpha = now + self.rules.alpha_interval;
            self.target = self.rate;
        } else {
            self.to_raise_alpha = true;
            if self.next_cnp <= now {
                let looks = (now - self.next_cnp).0 / interval.0 + 1;
                self.next_cnp += interval * looks;
            }
        }
        self.to_cut = true;
    }

    /// Handles the rate's times up to an acknowledgement, and its echo.
    #[inline(never)]
    fn hear(&mut self, window: &mut Cwnd, ack: &Acked) {
        self.advance(ack.now, ack.next);
        if ack.marked {
            self.hear_mark(ack.now);
        }
        self.rules.bound.set(window, self.rate, self.line);
    }
}

impl Window for Dcqcn {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    fn paces(&self) -> bool {
        true
    }
    fn rate(&mut self, now: Instant, highest: u64) -> Option<f64> {
        self.0.advance(now, highest);
        Some(self.0.rate)
    }
    fn on_message(&mut self, window: &mut Cwnd, _: &Acked, _: bool, site: Site) {
        let state = &mut *self.0;
        if state.rate == 0.0 {
            state.line = site.rate.as_bps_f64();
            (state.rate, state.target) = (state.line, state.line);
            state.rules.bound.set(window, state.rate, state.line);
        }
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.0.hear(window, ack);
        false
    }
    fn on_gap(&mut self, window: &mut Cwnd, ack: &Acked) {
        self.0.hear(window, ack);
    }
    fn on_loss(&mut self, window: &mut Cwnd, _: &Lost) {
        // A loss is no notification: the rate stays.
        window.ssthresh = window.cwnd;
    }
    fn on_timeout(&mut self, _: &mut Cwnd, _: f64, _: &Lost) {}
    fn observe(&self, _: &Cwnd, ack: &Acked, seen: &mut Observation) {
        let mut state = *self.0;
        state.advance(ack.now, ack.next);
        seen.add(&RATE, state.rate / 1e6);
        seen.add(&TARGET, state.target / 1e6);
        seen.add(&ALPHA, state.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd};
    use units::{Bytes, HostId};

    const GBPS: f64 = 1e9;
    /// The values of HPCC's simulator, beside the paper's.
    const VENDOR: [(&str, &str); 8] = [
        ("reaction", "periodic"),
        ("cnp_interval", "4 us"),
        ("alpha_interval", "1 us"),
        ("increase_timer", "300 us"),
        ("stages", "timer"),
        ("fast_recovery", "1"),
        ("clamp_target", "false"),
        ("add_step", "20 Mbps"),
    ];

    fn values(keys: &[(&str, &str)]) -> Values {
        let mut values = Values::read(crate::registry::find("dcqcn").unwrap().keys(), keys).unwrap();
        settle(&mut values, &Surroundings { line_rate: Rate::from_gbps(40), ..Surroundings::default() });
        values
    }

    /// A sender at 40 Gbps, the rate of the paper's links.
    fn law(keys: &[(&str, &str)]) -> (Dcqcn, Cwnd) {
        let values = values(&[&[("mss", "1460 B"), ("base_rtt", "6 us")], keys].concat());
        let config = connection::Config::from_values(&values).unwrap();
        let (mut law, mut window) = (build(&values, &config).unwrap(), cwnd(10.0));
        let site = Site { rate: Rate::from_gbps(40), frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 };
        law.on_message(&mut window, &acked(0, false), true, site);
        (law, window)
    }

    fn ack(us: u64, marked: bool) -> Acked<'static> {
        Acked { now: Instant::from_micros(us), next: 0, ..acked(1, marked) }
    }

    /// Marks at these times; returns the rate after each, in Gbit/s.
    fn marks<const N: usize>(law: &mut Dcqcn, times: [u64; N]) -> [f64; N] {
        let mut window = cwnd(10.0);
        times.map(|us| {
            law.on_ack(&mut window, &ack(us, true));
            law.0.rate / GBPS
        })
    }

    /// Returns the rate at a time in Gbit/s, with nothing heard until then.
    fn at(law: &mut Dcqcn, us: u64) -> f64 {
        law.rate(Instant::from_micros(us), 0).unwrap() / GBPS
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{found}, not {expected}");
    }

    #[test]
    fn first_notification_halves_and_later_ones_cut_by_half_of_alpha() {
        let (mut law, _) = law(&[("g", "0.25"), ("increase_timer", "1 s")]);
        near(at(&mut law, 99), 40.0);
        // Alpha stays 1 while every interval has a notification.
        for (rate, expected) in marks(&mut law, [100, 150, 200]).into_iter().zip([20.0, 10.0, 5.0]) {
            near(rate, expected);
        }
        // 55 and 110 us after the third alpha has fallen to 9/16; the cut is by 9/32, and alpha rises to 43/64.
        near(marks(&mut law, [311])[0], 5.0 * 23.0 / 32.0);
        near(law.0.alpha, 43.0 / 64.0);
        near(law.0.target / GBPS, 5.0);
    }

    #[test]
    fn marks_within_an_interval_are_one_notification_at_its_end() {
        let (mut law, mut window) = law(&[("increase_timer", "1 s")]);
        near(marks(&mut law, [100, 101, 149])[2], 20.0);
        near(at(&mut law, 149), 20.0);
        near(at(&mut law, 150), 10.0);
        // No mark followed the second one, so the next mark is told at once, and the one after it is not.
        near(at(&mut law, 219), 10.0);
        law.on_gap(&mut window, &ack(220, true));
        let alpha = (1.0 - 1.0 / 256.0) + 1.0 / 256.0;
        let decayed = alpha * (1.0 - 1.0 / 256.0);
        near(law.0.rate / GBPS, 10.0 * (1.0 - decayed / 2.0));
        let before = law.0.rate;
        law.on_ack(&mut window, &ack(269, false));
        assert_eq!(law.0.rate, before);
    }

    #[test]
    fn five_halvings_lead_back_and_then_the_target_rises() {
        let (mut law, _) = law(&[("cnp_interval", "1 us"), ("increase_timer", "55 us")]);
        near(marks(&mut law, [100, 102])[1], 10.0);
        // Back to 20 Gbps: 15, 17.5, 18.75, 19.375, 19.6875. Then R_AI = 40 Mbps is added each time.
        for (count, expected) in [(0, 10.0), (1, 15.0), (2, 17.5), (4, 19.375), (5, 19.6875)] {
            near(at(&mut law, 102 + 55 * count), expected);
        }
        near(at(&mut law, 102 + 55 * 6), (19.6875 + 20.04) / 2.0);
        near(at(&mut law, 102 + 55 * 7), (f64::midpoint(19.6875, 20.04) + 20.08) / 2.0);
        // The byte counter does not count, so there is no hyper increase: R_T rises by 40 Mbps in all 1000 further times.
        near(at(&mut law, 102 + 55 * 107), 20.0 + 0.04 * 102.0 - 0.04);
    }

    #[test]
    fn hyper_increase_needs_more_than_f_of_both() {
        let step = [("byte_counter", "1000 B"), ("increase_timer", "10 us"), ("fast_recovery", "2")];
        let (mut law, _) = law(&step);
        marks(&mut law, [100]);
        let after = |law: &mut Dcqcn, us, bytes| {
            law.rate(Instant::from_micros(us), bytes);
            (law.0.by_timer, law.0.by_bytes, law.0.target / GBPS)
        };
        // Two halvings by bytes, then R_AI; by the timer too, which is above F only after three.
        assert_eq!(after(&mut law, 101, 2000), (0, 2, 40.0));
        law.0.target = 30.0 * GBPS;
        assert_eq!(after(&mut law, 102, 3999), (0, 3, 30.04));
        assert_eq!(after(&mut law, 102, 4000), (0, 4, 30.08));
        assert_eq!(after(&mut law, 139, 4000), (3, 4, 30.2));
        // Both above 2: R_HAI = 200 Mbps.
        let (by_timer, by_bytes, target) = after(&mut law, 140, 4000);
        assert_eq!((by_timer, by_bytes), (4, 4));
        near(target, 30.4);
        near(after(&mut law, 140, 5000).2, 30.6);
    }

    #[test]
    fn timer_alone_goes_through_all_three_phases() {
        let (mut law, _) = law(&[&VENDOR[..], &[("hyper_step", "200 Mbps")]].concat());
        marks(&mut law, [100, 102]);
        // The first look is 4 us after the first mark, with alpha raised once and lowered three times.
        let g: f64 = 1.0 / 256.0;
        let alpha = (1.0 - g).powi(4) + g * (1.0 - g).powi(1);
        near(at(&mut law, 103), 40.0);
        let cut = 40.0 * (1.0 - alpha / 2.0);
        near(at(&mut law, 104), cut);
        let fast = (cut + 40.0) / 2.0;
        near(at(&mut law, 404), fast);
        law.0.target = 30.0 * GBPS;
        near(at(&mut law, 704), (fast + 30.02) / 2.0);
        near(law.0.target / GBPS, 30.02);
        at(&mut law, 1004);
        near(law.0.target / GBPS, 30.22);
        at(&mut law, 1304);
        near(law.0.target / GBPS, 30.42);
    }

    #[test]
    fn looks_are_a_whole_number_of_intervals_after_the_first_mark() {
        let (mut law, _) = law(&VENDOR);
        marks(&mut law, [100]);
        let first = at(&mut law, 104);
        assert!(first < 40.0);
        // A mark at a look counts for the next one.
        marks(&mut law, [112]);
        near(at(&mut law, 115), first);
        assert!(at(&mut law, 116) < first);
        near(at(&mut law, 399), at(&mut law, 116));
    }

    #[test]
    fn target_is_kept_by_cuts_without_an_increase_between_them_unless_clamped() {
        let targets = |clamp| {
            let (mut law, _) = law(&[("clamp_target", clamp), ("g", "0.5")]);
            marks(&mut law, [100, 150, 200]);
            let kept = law.0.target / GBPS;
            at(&mut law, 255);
            let risen = law.0.rate / GBPS;
            marks(&mut law, [260]);
            (kept, risen, law.0.target / GBPS)
        };
        assert_eq!(targets("true"), (10.0, 7.5, 7.5));
        assert_eq!(targets("false"), (40.0, 22.5, 22.5));
    }

    #[test]
    fn rate_has_a_floor_and_ends_at_the_link() {
        let (mut law, _) = law(&[("least_rate", "10%")]);
        assert_eq!(marks(&mut law, [0, 50, 100, 150])[3], 4.0);
        assert_eq!(at(&mut law, 1_000_000), 40.0);
        assert_eq!(law.0.rate, law.0.target);
    }

    /// The timers as they are in a NIC: looked at every microsecond, each on its own.
    struct Eager {
        rules: Rules,
        now: u64,
        rate: f64,
        target: f64,
        alpha: f64,
        started: bool,
        heard: [bool; 2],
        left: [u64; 3],
        stages: [u64; 2],
        bytes: u64,
        cuts: u64,
    }

    const LINE: f64 = 40.0 * GBPS;

    impl Eager {
        fn us(span: Span) -> u64 {
            span.0 / 1_000_000
        }
        fn increase(&mut self, by: usize) {
            let timer_alone = self.rules.byte_counter.is_none();
            let other = if timer_alone { self.stages[0] } else { self.stages[1] };
            let stages = [self.stages[0], other];
            if stages.iter().all(|stage| *stage > self.rules.fast_recovery) {
                self.target += self.rules.hyper_step;
            } else if stages.iter().any(|stage| *stage >= self.rules.fast_recovery) {
                self.target += self.rules.add_step;
            }
            self.target = self.target.min(LINE);
            self.rate = self.rate / 2.0 + self.target / 2.0;
            self.stages[by] += 1;
        }
        fn cut(&mut self) {
            if self.rules.clamp_target || self.stages != [0, 0] {
                self.target = self.rate;
            }
            self.rate = (self.rate - self.rate * self.alpha / 2.0).max(self.rules.least * LINE);
            self.stages = [0, 0];
            self.left[2] = Eager::us(self.rules.increase_timer);
            self.bytes = 0;
            self.cuts += 1;
            if !self.rules.periodic {
                self.alpha += self.rules.g * (1.0 - self.alpha);
                self.left[0] = Eager::us(self.rules.alpha_interval);
            }
        }
        fn elapse(&mut self) {
            self.now += 1;
            let ends = |left: &mut u64| {
                let ends = *left == 1;
                *left = left.saturating_sub(1);
                ends
            };
            let ended = [ends(&mut self.left[0]), ends(&mut self.left[1]), ends(&mut self.left[2])];
            if ended[0] {
                let extent = if std::mem::take(&mut self.heard[0]) { 1.0 } else { 0.0 };
                self.alpha += self.rules.g * (extent - self.alpha);
                self.left[0] = Eager::us(self.rules.alpha_interval);
            }
            let mut cut = false;
            if ended[1] {
                cut = std::mem::take(&mut self.heard[1]);
                if cut {
                    self.cut();
                }
                if cut || self.rules.periodic {
                    self.left[1] = Eager::us(self.rules.cnp_interval);
                }
            }
            if ended[2] && !cut {
                self.left[2] = Eager::us(self.rules.increase_timer);
                self.increase(0);
            }
        }
        fn mark(&mut self) {
            if !self.rules.periodic {
                if self.left[1] > 0 {
                    self.heard[1] = true;
                } else {
                    self.cut();
                    self.left[1] = Eager::us(self.rules.cnp_interval);
                }
            } else {
                if self.started {
                    self.heard[0] = true;
                } else {
                    self.left = [Eager::us(self.rules.alpha_interval), Eager::us(self.rules.cnp_interval), 0];
                    self.started = true;
                    self.target = self.rate;
                }
                self.heard[1] = true;
            }
        }
        fn send(&mut self, bytes: u64) {
            let Some(counter) = self.rules.byte_counter.filter(|_| self.cuts > 0) else { return };
            self.bytes += bytes;
            if self.bytes >= counter {
                self.bytes -= counter;
                self.increase(1);
            }
        }
    }

    #[test]
    fn lazy_times_give_the_rates_of_eager_ones() {
        let notified = [("byte_counter", "100 KB"), ("fast_recovery", "3"), ("g", "0.02")];
        let periodic = [("reaction", "periodic"), ("byte_counter", "5 KB"), ("clamp_target", "false"), ("g", "0.02")];
        let mut cuts = Vec::new();
        for (number, keys) in [&notified[..], &periodic, &VENDOR, &[]].into_iter().enumerate() {
            let (mut law, mut window) = law(keys);
            let mut eager = Eager {
                rules: law.0.rules,
                now: 0,
                rate: LINE,
                target: LINE,
                alpha: 1.0,
                started: false,
                heard: [false; 2],
                left: [0; 3],
                stages: [0; 2],
                bytes: 0,
                cuts: 0,
            };
            let mut random = 1 + number as u64;
            let mut sent = 0;
            for _ in 0..20_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = random >> 33;
                // Mostly close together, with idle times between.
                let wait = if draw.is_multiple_of(50) { draw / 50 % 3000 } else { draw / 50 % 20 };
                (0..wait).for_each(|_| eager.elapse());
                let now = Instant::from_micros(eager.now);
                if draw % 8 < 5 {
                    let rate = law.rate(now, sent).unwrap();
                    near(rate / eager.rate, 1.0);
                    near(law.0.target / eager.target, 1.0);
                    sent += 1460;
                    eager.send(1460);
                } else {
                    let marked = (draw / 8).is_multiple_of(16);
                    law.on_ack(&mut window, &Acked { now, next: sent, ..acked(1, marked) });
                    if marked {
                        eager.mark();
                    }
                    near(law.0.rate / eager.rate, 1.0);
                    near(law.0.alpha, eager.alpha);
                }
            }
            cuts.push(eager.cuts);
        }
        assert!(cuts.iter().all(|cuts| *cuts > 100), "{cuts:?}");
    }

    #[test]
    fn signals_are_of_the_present() {
        let (mut law, window) = law(&[]);
        marks(&mut law, [100]);
        let seen = |us| {
            let mut seen = Observation::default();
            law.observe(&window, &ack(us, false), &mut seen);
            ["rate", "target_rate", "alpha"].map(|name| seen.get(name).unwrap())
        };
        assert_eq!(seen(100), [20_000.0, 40_000.0, 1.0]);
        assert_eq!(seen(155), [30_000.0, 40_000.0, 255.0 / 256.0]);
        assert_eq!(law.0.rate, 20.0 * GBPS);
    }

    #[test]
    fn loss_leaves_the_rate_and_the_window() {
        let (mut law, mut window) = law(&[("recovery", "sack")]);
        // 40 Gbps for 6 us are 20 packets of 1500 B; windows are whole packets, and one is being acknowledged.
        near(window.cwnd, 22.0);
        let lost = |timeout| Lost { now: Instant::ZERO, state: acked(1, false), flight: 10.0, timeout };
        law.on_loss(&mut window, &lost(false));
        law.on_timeout(&mut window, 1.0, &lost(true));
        assert_eq!((window.cwnd, window.ssthresh, law.0.rate), (22.0, 22.0, 40.0 * GBPS));
        let (mut law, mut window) = self::law(&[("window", "scaled")]);
        law.on_ack(&mut window, &ack(100, true));
        near(window.cwnd, 11.0);
    }

    #[test]
    fn later_message_begins_at_the_present_rate() {
        let (mut law, mut window) = law(&[("window", "scaled"), ("increase_timer", "1 s")]);
        law.on_ack(&mut window, &ack(100, true));
        let before = (law.0.rate, law.0.target, window.cwnd);
        assert_eq!(before.0, 20.0 * GBPS);
        let site = Site { rate: Rate::from_gbps(40), frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 };
        law.on_message(&mut window, &acked(0, false), true, site);
        assert_eq!((law.0.rate, law.0.target, window.cwnd), before);
    }

    #[test]
    fn defaults_follow_from_the_recovery_and_the_link() {
        let of = |keys| {
            let values = values(keys);
            let window = values.choice("window");
            (window, values.count("dup_ack_threshold"), values.rate("add_step").0, values.rate("hyper_step").0)
        };
        assert_eq!(of(&[]), ("none", 3, 40_000_000, 200_000_000));
        assert_eq!(of(&[("recovery", "sack"), ("add_step", "10 Mbps")]), ("fixed", 1, 10_000_000, 50_000_000));
        assert_eq!(of(&[("recovery", "sack"), ("dup_ack_threshold", "4"), ("window", "none")]).1, 4);
        assert_eq!(of(&[("recovery", "newreno")]).0, "fixed");
        assert_eq!(of(&[("receiver", "edf")]).0, "fixed");
        let built = |keys| crate::registry::find("dcqcn").unwrap().with(keys).map(|config| config.connection.goes_back);
        assert_eq!(built(&[("receiver", "edf")]), Ok(false));
        assert_eq!(built(&[("receiver", "edf"), ("recovery", "go-back-n")]).unwrap_err().key, "recovery");
    }
}
