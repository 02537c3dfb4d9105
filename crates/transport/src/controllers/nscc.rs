//! `nscc`: a window that follows marks and delay together, as Ultra Ethernet's senders have it.

use units::{Bytes, Default, Instant, Key, Kind, Range, Span, Value, Values};

use super::delay::{self, DELAY};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Advice, Descriptor, Needs, Observation, Regime, Signal, Surroundings, connection};

/// The descriptor of NSCC.
pub(super) const DESCRIPTOR: Descriptor<Nscc> = Descriptor {
    name: "nscc",
    help: "NSCC of Ultra Ethernet: unmarked packets grow the window, the more the less they were delayed; marked and \
           delayed ones cut it; at losses it becomes the throughput",
    source: "Ultra Ethernet Specification 1.0, 3.6.13; ultraethernet/uet-htsim, uec.cpp",
    aliases: &[("gamma", "decrease_gain"), ("max_md_jump", "max_decrease"), ("target_qdelay", "target_delay")],
    groups: &[KEYS, delay::KEYS],
    needs: Needs::of("ECN marks below the target delay", "a timestamp on each packet, and an exact echo of marks")
        .made_for(&[EARLY_MARKS])
        .settling(settle),
    signals: &[DELAY, QUEUEING],
    build: |values, connection| Ok(build(values, connection)),
};

/// The average of the queueing delay, which decides how much a cut takes.
const QUEUEING: Signal =
    Signal { name: "queueing_delay", help: "the moving average of the queueing delay (nscc)", unit: "us" };

/// Only a packet that is marked and delayed cuts the window.
const EARLY_MARKS: Regime = Regime {
    key: "mark",
    source: "UE 1.0, 3.6.13 and 3.6.17: marks are the earlier signal, delay the later one",
    outside: |conditions| {
        let product = conditions.bandwidth_delay();
        let late = conditions.mark.is_none_or(|mark| mark > product);
        late.then(|| Advice {
            reason: format!(
                "no port marks below its target delay, a queue of {product:.0} B: then packets are not marked when they \
                 are delayed, and only losses and its quick adapt cut the window"
            ),
            write: format!("mark = \"{:.0} B\"", (product / 4.0).max(3000.0).ceil()),
        })
    },
};

/// The bandwidth-delay product, in bytes, for which the constants are given: 12 us at 100 Gbps.
const REFERENCE: &str = "150000 B";

/// The share of base_rtt up to which a delay counts as none: 1 us of 12 us in uec.cpp.
const NO_DELAY: f64 = 1.0 / 12.0;

/// The round trips after which a delay has left the average by 1 - 1/e, where its weight is left out.
const MEMORY: f64 = 2.0;

/// Parameters of its own, and shared ones with other defaults.
const KEYS: &[Key] = &[
    Key {
        name: "base_rtt",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the round trip without queues until a sample is smaller; when left out, the network's longest, of full \
               packets",
        source: "UE 1.0, 3.6.13.3 (config_base_rtt)",
    },
    Key {
        name: "target_delay",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the queueing delay below which the window grows in proportion to what is left of it, and above which marks \
               cut; when left out, base_rtt, or 0.75 times it where the network trims packets",
        source: "UE 1.0, 3.6.13.3 (target_qdelay): base_rtt, or 0.75 of it with trimming",
    },
    Key {
        name: "max_window",
        kind: Kind::Number,
        default: Default::Is("1.5"),
        range: Range::between(0.1, 1000.0),
        help: "the largest window, in products of the link's rate and the least round trip",
        source: "UE 1.0, 3.6.13.3 (MaxWnd)",
    },
    Key {
        name: "reference_product",
        kind: Kind::Size,
        default: Default::Is(REFERENCE),
        range: Range::POSITIVE,
        help: "the bandwidth-delay product to which the four increases apply as they are; they scale with the network's",
        source: "UE 1.0, 3.6.13.3 (scaling_a): 100 Gbps for 12 us",
    },
    Key {
        name: "reference_rtt",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the target delay to which proportional_increase applies as it is; when left out, base_rtt, so that increases \
               are the same shares of the bandwidth-delay product in slower networks",
        source: "UE 1.0, 3.6.13.3 (scaling_b): 12 us",
    },
    Key {
        name: "proportional_increase",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(0.0),
        help: "packets that a window of unmarked packets without any delay adds; less in proportion to the delay",
        source: "UE 1.0, 3.6.13.3 (alpha): 4 x scaling_a x scaling_b x MTU / target_qdelay",
    },
    Key {
        name: "fair_increase",
        kind: Kind::Number,
        default: Default::Is("5"),
        range: Range::at_least(0.0),
        help: "packets that a window of unmarked packets beyond the target delay adds",
        source: "UE 1.0, 3.6.13.3 (fi): 5 x scaling_a x MTU",
    },
    Key {
        name: "fast_increase",
        kind: Kind::Number,
        default: Default::Is("0.25"),
        range: Range::at_least(0.0),
        help: "what one acknowledged byte adds once a whole window was not delayed, in bytes",
        source: "UE 1.0, 3.6.13.3 (fi_scale): 0.25 x scaling_a",
    },
    Key {
        name: "steady_increase",
        kind: Kind::Number,
        default: Default::Is("0.15"),
        range: Range::at_least(0.0),
        help: "packets that each adjust_period adds in any case, for fairness",
        source: "UE 1.0, 3.6.13.3 (eta): 0.15 x scaling_a x MTU",
    },
    Key {
        name: "decrease_gain",
        kind: Kind::Number,
        default: Default::Is("0.8"),
        range: Range::above(0.0, 1.0),
        help: "what a cut takes off, as a multiple of (average delay - target) / average delay, once per base round trip",
        source: "UE 1.0, 3.6.13.3 (gamma)",
    },
    Key {
        name: "max_decrease",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::above(0.0, 1.0),
        help: "the largest share of the window that one cut takes",
        source: "UE 1.0, 3.6.13.3 (1 - max_md_jump)",
    },
    Key {
        name: "delay_weight",
        kind: Kind::Number,
        default: Default::Absent,
        range: Range::above(0.0, 1.0),
        help: "weight of a full packet's delay in the average delay; when left out, its share of two bandwidth-delay \
               products",
        source: "UE 1.0, 3.6.13.6 leaves the average open; uec.cpp: 0.0125, at 100 Gbps for 12 us the same",
    },
    Key {
        name: "adjust_period",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the time after which increases are applied to the window, at the latest; when left out, base_rtt",
        source: "UE 1.0, 3.6.13.3 (adjust_period_threshold)",
    },
    Key {
        name: "adjust_packets",
        kind: Kind::Number,
        default: Default::Is("8"),
        range: Range::at_least(0.0),
        help: "full packets after whose acknowledgement increases are applied",
        source: "UE 1.0, 3.6.13.3 (adjust_bytes_threshold): 8 MTU",
    },
    Key {
        name: "quick_adapt",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "whether a loss, or a delay above quick_delay, sets the window to what has arrived in the last round trip",
        source: "UE 1.0, 3.6.13.6 (quick_adapt)",
    },
    Key {
        name: "quick_delay",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the queueing delay that counts as a loss is about to come; when left out, four times target_delay",
        source: "UE 1.0, 3.6.13.3 (qa_threshold), for ports that drop at five bandwidth-delay products",
    },
    Key {
        name: "quick_gate",
        kind: Kind::Count,
        default: Default::Is("3"),
        range: Range::between(0.0, 30.0),
        help: "quick adapt needs less than the 2^-n part of the largest window to have arrived",
        source: "UE 1.0, 3.6.13.3 (qa_gate): 3",
    },
    Key {
        name: "line_rate",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the rate of the bandwidth-delay product; when left out, that of a host's link",
        source: "UE 1.0, 3.6.13.3 (BDP): the slower of both ends' links",
    },
    Key {
        name: "initial_window",
        kind: Kind::Number,
        default: Default::Absent,
        range: Range::between(1.0, 1e6),
        help: "cwnd of a new connection, in segments; when left out, the largest window",
        source: "UE 1.0, 3.6.13.4 (cwnd): MaxWnd",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    let packet = connection::packet(values);
    values.follow("base_rtt", |_| Value::Time(surroundings.round_trip_of(packet)));
    let share = if surroundings.trims { 0.75 } else { 1.0 };
    values.follow("target_delay", |values| Value::Time(delay::times(values.time("base_rtt"), share)));
    values.follow("reference_rtt", |values| Value::Time(values.time("base_rtt")));
    values.follow("adjust_period", |values| Value::Time(values.time("base_rtt")));
    values.follow("quick_delay", |values| Value::Time(delay::times(values.time("target_delay"), 4.0)));
    values.follow("line_rate", |_| Value::Rate(surroundings.line_rate));
    let product = product(values);
    values.follow("delay_weight", |_| Value::Number((packet.as_f64() / (MEMORY * product)).min(1.0)));
    values.follow("initial_window", |values| {
        let packets = values.number("max_window") * product / packet.as_f64();
        Value::Number(packets.floor().clamp(1.0, 1e6))
    });
}

/// Returns the network's bandwidth-delay product, in bytes.
fn product(values: &Values) -> f64 {
    values.rate("line_rate").as_bps_f64() / 8.0 * values.time("base_rtt").as_secs_f64()
}

fn build(values: &Values, connection: &connection::Config) -> Nscc {
    let packet = Bytes(u64::from(connection.mss + connection.header)).as_f64();
    let scale = product(values) / values.size("reference_product").as_f64();
    let increase = |key| values.number(key) * scale * packet;
    let ps = |key| values.time(key).0 as f64;
    let rules = Rules {
        target: ps("target_delay"),
        proportional: increase("proportional_increase") / ps("reference_rtt"),
        fair: increase("fair_increase"),
        fast: values.number("fast_increase") * scale,
        steady: increase("steady_increase"),
        no_delay: ps("base_rtt") * NO_DELAY,
        gain: values.number("decrease_gain"),
        max_decrease: values.number("max_decrease"),
        weight: values.number("delay_weight"),
        period: values.time("adjust_period"),
        batch: values.number("adjust_packets") * packet,
        quick: values.bool("quick_adapt"),
        quick_delay: ps("quick_delay"),
        gate: f64::from(1u32 << values.count("quick_gate")),
        bytes_per_ps: values.rate("line_rate").as_bps_f64() / 8e12 * values.number("max_window"),
        packet,
        payload_to_wire: packet / f64::from(connection.mss),
    };
    Nscc(Box::new(State {
        rules,
        base_rtt: values.time("base_rtt"),
        average: 0.0,
        sample: None,
        pending: 0.0,
        received: 0.0,
        adjusted: Instant::ZERO,
        decreased: None,
        undelayed: 0.0,
        fast: false,
        achieved: 0.0,
        period_ends: None,
        asked: false,
        ignored: 0.0,
        to_ignore: 0.0,
    }))
}

/// Follows marks and delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Nscc(Box<State>);

/// Bytes are those on the wire, times picoseconds.
#[derive(Clone, Debug, PartialEq)]
struct State {
    rules: Rules,
    base_rtt: Span,
    /// The moving average of the queueing delay.
    average: f64,
    /// The last sample of the round-trip time.
    sample: Option<Span>,
    /// Increases that are not applied yet, times the window.
    pending: f64,
    /// Bytes that have arrived since increases were applied.
    received: f64,
    /// The last time at which a period's increase was applied.
    adjusted: Instant,
    /// The time of the last cut.
    decreased: Option<Instant>,
    /// Bytes that have arrived without delay since one had some.
    undelayed: f64,
    /// A whole window was not delayed.
    fast: bool,
    /// Bytes that have arrived in this period of quick adapt, and its end.
    achieved: f64,
    period_ends: Option<Instant>,
    /// A loss asks for quick adapt.
    asked: bool,
    /// After quick adapt: bytes that have arrived or were lost since, and how many of them must have done so before marks count again.
    ignored: f64,
    to_ignore: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rules {
    target: f64,
    /// Increase per byte and picosecond below the target, times the window.
    proportional: f64,
    /// Increase per byte, times the window.
    fair: f64,
    fast: f64,
    steady: f64,
    no_delay: f64,
    gain: f64,
    max_decrease: f64,
    weight: f64,
    period: Span,
    batch: f64,
    quick: bool,
    quick_delay: f64,
    gate: f64,
    /// The largest window per picosecond of the least round trip.
    bytes_per_ps: f64,
    packet: f64,
    payload_to_wire: f64,
}

impl State {
    /// Returns the largest window, in bytes.
    fn most(&self) -> f64 {
        self.rules.bytes_per_ps * self.base_rtt.0 as f64
    }

    /// Handles an acknowledgement (3.6.13.5).
    #[inline(never)]
    fn hear(&mut self, window: &mut Cwnd, ack: &Acked) {
        let arrived = ack.bytes as f64 * self.rules.payload_to_wire;
        self.ignored += arrived;
        self.received += arrived;
        self.achieved += arrived;
        let Some(sample) = ack.sample else { return };
        self.sample = Some(sample);
        self.base_rtt = self.base_rtt.min(sample);
        let delay = sample.saturating_sub(self.base_rtt).0 as f64;
        self.average += self.rules.weight * (delay - self.average);
        let mut cwnd = window.cwnd * self.rules.packet;
        if !self.quick_adapt(&mut cwnd, ack, false, ack.marked, delay) {
            match (ack.marked, delay < self.rules.target) {
                (false, true) => self.proportional_increase(&mut cwnd, arrived, delay),
                (false, false) => self.pending += self.rules.fair * arrived,
                (true, false) => self.decrease(&mut cwnd, ack.now),
                (true, true) => {}
            }
            cwnd = self.within(cwnd);
            let period_is_over = ack.now.saturating_sub(self.adjusted) >= self.rules.period;
            if period_is_over || self.received > self.rules.batch {
                self.adjust(&mut cwnd, ack.now, period_is_over);
            }
        }
        self.set(window, cwnd);
    }

    /// Grows in proportion to the rest of the target delay, or exponentially once a whole window was not delayed.
    fn proportional_increase(&mut self, cwnd: &mut f64, arrived: f64, delay: f64) {
        if delay <= self.rules.no_delay {
            self.undelayed += arrived;
            if self.fast || self.undelayed > *cwnd {
                self.fast = true;
                *cwnd += arrived * self.rules.fast;
                return;
            }
        } else {
            self.undelayed = 0.0;
        }
        self.fast = false;
        self.pending += self.rules.proportional * arrived * (self.rules.target - delay);
    }

    /// Cuts in proportion to what the average delay is above the target, once per base round trip.
    fn decrease(&mut self, cwnd: &mut f64, now: Instant) {
        self.fast = false;
        self.undelayed = 0.0;
        let excess = self.average - self.rules.target;
        let due = self.decreased.is_none_or(|at| now.saturating_sub(at) > self.base_rtt);
        if excess > 0.0 && due {
            *cwnd *= 1.0 - (self.rules.gain * excess / self.average).min(self.rules.max_decrease);
            self.decreased = Some(now);
        }
    }

    /// Applies the collected increases.
    fn adjust(&mut self, cwnd: &mut f64, now: Instant, period_is_over: bool) {
        *cwnd += self.pending / *cwnd;
        if period_is_over {
            *cwnd += self.rules.steady;
            self.adjusted = now;
        }
        (self.pending, self.received) = (0.0, 0.0);
    }

    /// Sets the window to the bytes of the last period, at a loss or a large delay. Returns true if it did, or if
    /// the marks of packets that were sent before it did are not to count.
    fn quick_adapt(&mut self, cwnd: &mut f64, state: &Acked, lost: bool, marked: bool, delay: f64) -> bool {
        if !self.rules.quick {
            return false;
        }
        let mut done = false;
        if self.ignored < self.to_ignore && marked {
            done = true;
        } else if self.period_ends.is_none_or(|end| state.now >= end) {
            let asked = self.asked || lost || delay > self.rules.quick_delay;
            if self.period_ends.is_some() && asked && self.achieved < self.most() / self.rules.gate {
                let flight = (state.next - state.una) as f64 * self.rules.payload_to_wire;
                (self.to_ignore, self.ignored) = (flight.min(*cwnd), 0.0);
                *cwnd = self.achieved.max(self.rules.packet);
                self.asked = false;
                done = true;
            }
            self.achieved = 0.0;
            self.period_ends = Some(state.now + self.base_rtt + Span::from_ps_f64(self.rules.target));
        }
        if done {
            (self.pending, self.received) = (0.0, 0.0);
        }
        done
    }

    /// Handles the loss of `bytes` on the wire.
    fn lose(&mut self, window: &mut Cwnd, bytes: f64, state: &Acked) {
        self.ignored += bytes;
        self.asked = true;
        let mut cwnd = window.cwnd * self.rules.packet;
        if !self.quick_adapt(&mut cwnd, state, true, true, 0.0) {
            cwnd -= bytes;
        }
        self.set(window, cwnd);
    }

    fn within(&self, cwnd: f64) -> f64 {
        cwnd.min(self.most()).max(self.rules.packet)
    }

    /// Sets the window. It has no slow start, and a repair that ends leaves the window as it is.
    fn set(&self, window: &mut Cwnd, cwnd: f64) {
        window.cwnd = (self.within(cwnd) / self.rules.packet).min(window.limit);
        window.ssthresh = window.cwnd;
    }
}

impl Window for Nscc {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let before = window.cwnd;
        self.0.hear(window, ack);
        ack.marked && window.cwnd < before
    }
    fn on_gap(&mut self, window: &mut Cwnd, ack: &Acked) {
        self.0.hear(window, ack);
    }
    fn on_trimmed(&mut self, window: &mut Cwnd, state: &Acked) -> bool {
        self.0.lose(window, self.0.rules.packet, state);
        true
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        if !loss.timeout {
            self.0.lose(window, self.0.rules.packet, &loss.state);
        }
        window.ssthresh = window.cwnd;
    }
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, loss: &Lost) {
        // Everything in flight is lost, and nothing has arrived in the last round trip.
        self.0.lose(window, loss.flight * self.0.rules.packet, &loss.state);
        window.cwnd = window.cwnd.min(loss_window);
        window.ssthresh = window.cwnd;
    }
    fn observe(&self, _: &Cwnd, _: &Acked, seen: &mut Observation) {
        seen.add_if(&DELAY, self.0.sample.map(Span::as_micros_f64));
        seen.add(&QUEUEING, self.0.average / 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd, reported};
    use units::Rate;

    /// Packets of 1000 B; a product of 100 of them, twice the reference; a target of half a round trip.
    const KEYS: &[(&str, &str)] = &[
        ("mss", "1000 B"),
        ("header", "0 B"),
        ("base_rtt", "80 us"),
        ("target_delay", "40 us"),
        ("reference_product", "50000 B"),
        ("reference_rtt", "40 us"),
        ("adjust_packets", "0"),
        ("adjust_period", "1 s"),
        ("delay_weight", "1"),
    ];

    fn values(keys: &[(&str, &str)], surroundings: &Surroundings) -> Values {
        let mut values = Values::read(crate::registry::find("nscc").unwrap().keys(), keys).unwrap();
        settle(&mut values, surroundings);
        values
    }

    /// A law with some keys in place of those above.
    fn law(keys: &[(&'static str, &'static str)]) -> Nscc {
        let others = KEYS.iter().filter(|(name, _)| keys.iter().all(|(key, _)| key != name));
        let all: Vec<_> = others.chain(keys).copied().collect();
        let values = values(&all, &Surroundings::default());
        build(&values, &connection::Config::from_values(&values).unwrap())
    }

    /// An acknowledgement of one packet `at` microseconds, queued for so long.
    fn heard(at: u64, queued_us: u64, marked: bool) -> Acked<'static> {
        Acked { now: Instant::from_micros(at), sample: Some(Span::from_micros(80 + queued_us)), ..acked(1, marked) }
    }

    fn lost(at: u64, timeout: bool) -> Lost<'static> {
        Lost { now: Instant::from_micros(at), state: heard(at, 0, false), flight: 10.0, timeout }
    }

    /// Returns the window after these acknowledgements.
    fn after(law: &mut Nscc, start: f64, acks: &[Acked]) -> f64 {
        let mut window = cwnd(start);
        acks.iter().for_each(|ack| _ = law.on_ack(&mut window, ack));
        assert_eq!(window.cwnd, window.ssthresh);
        window.cwnd
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn mark_and_delay_decide_together() {
        let alone = |queued, marked| after(&mut law(&[]), 50.0, &[heard(1000, queued, marked)]);
        // 4 x 2 packets per window at no delay, half of it at half the target: 4 / 50 for one packet.
        near(alone(20, false), 50.08);
        near(alone(30, false), 50.04);
        // 5 x 2 packets per window, from the target on.
        near(alone(40, false), 50.2);
        near(alone(400, false), 50.2);
        near(alone(39, true), 50.0);
        // 0.8 x (60 - 40) / 60; and no more than half for 0.8 x (400 - 40) / 400.
        near(alone(60, true), 50.0 * (1.0 - 0.8 / 3.0));
        near(alone(100, true), 50.0 * (1.0 - 0.48));
        near(alone(150, true), 25.0);
        // Headers of half a packet are increased as payload is, and without quick adapt nothing else changes.
        for keys in [("header", "500 B"), ("quick_adapt", "false")] {
            near(after(&mut law(&[keys]), 50.0, &[heard(1000, 40, false)]), 50.2);
        }
    }

    #[test]
    fn only_a_mark_that_cuts_counts_as_a_cut_by_marks() {
        let cut = |queued, marked| law(&[]).on_ack(&mut cwnd(50.0), &heard(1000, queued, marked));
        assert_eq!([cut(60, true), cut(39, true), cut(20, false)], [true, false, false]);
        let (mut law, mut window) = (law(&[]), cwnd(50.0));
        law.on_ack(&mut window, &heard(1000, 20, false));
        assert!(!law.on_ack(&mut window, &heard(1120, 161, false)) && window.cwnd == 1.0, "quick adapt is no mark");
    }

    #[test]
    fn last_delay_and_the_average_queue_are_reported() {
        let (mut law, names) = (law(&[("delay_weight", "0.5")]), ["delay", "queueing_delay"]);
        assert_eq!(reported(&law, &cwnd(50.0), names), [None, Some(0.0)]);
        after(&mut law, 50.0, &[heard(1000, 20, false), heard(1001, 60, false)]);
        assert_eq!(reported(&law, &cwnd(50.0), names), [Some(140.0), Some(35.0)]);
    }

    #[test]
    fn cut_follows_the_average_once_per_base_round_trip() {
        let cut = 1.0 - 0.8 / 3.0;
        let cuts = |at| after(&mut law(&[]), 50.0, &[heard(1000, 60, true), heard(at, 60, true)]) / 50.0;
        near(cuts(1080), cut);
        near(cuts(1081), cut * cut);
        // An average at the target makes no cut, so the next one may.
        near(after(&mut law(&[]), 50.0, &[heard(1000, 40, true), heard(1001, 60, true)]) / 50.0, cut);
        // Half of 60 us is below the target; half of that and half of 70 us is 50: 0.8 x 10 / 50.
        let mut slow = law(&[("delay_weight", "0.5")]);
        near(after(&mut slow, 50.0, &[heard(1000, 60, true), heard(1001, 70, true)]), 50.0 * 0.84);
    }

    #[test]
    fn increases_are_applied_after_eight_packets_or_a_period() {
        let mut batched = law(&[("adjust_packets", "8")]);
        let acks = [0; 9].map(|_| heard(1000, 40, false));
        near(after(&mut batched, 50.0, &acks[..8]), 50.0);
        near(after(&mut law(&[("adjust_packets", "8")]), 50.0, &acks), 51.8);
        near(after(&mut law(&[("adjust_packets", "8")]), 50.0, &[&acks[..], &acks[..8]].concat()), 51.8);
        // The period adds 0.15 x 2 packets too.
        let keys = [("adjust_packets", "8"), ("adjust_period", "80 us")];
        near(after(&mut law(&keys), 50.0, &[heard(79, 40, false)]), 50.0);
        near(after(&mut law(&keys), 50.0, &[heard(80, 40, false)]), 50.5);
        near(after(&mut law(&keys), 50.0, &[heard(80, 40, false), heard(159, 20, true)]), 50.5);
        near(after(&mut law(&keys), 50.0, &[heard(80, 40, false), heard(160, 20, true)]), 50.8);
    }

    #[test]
    fn window_without_delay_makes_the_increase_exponential() {
        let keys = [("proportional_increase", "0")];
        let empty = |count| vec![heard(1000, 6, false); count];
        near(after(&mut law(&keys), 5.0, &empty(5)), 5.0);
        near(after(&mut law(&keys), 5.0, &empty(6)), 5.5);
        near(after(&mut law(&keys), 5.0, &empty(8)), 6.5);
        let with = |other: Acked<'static>| [empty(5), vec![other], empty(2)].concat();
        near(after(&mut law(&keys), 5.0, &with(heard(1000, 7, false))), 5.0);
        // A cut ends it too; its delay of 40 us is not above the target.
        near(after(&mut law(&keys), 5.0, &with(heard(1000, 40, true))), 5.0);
        for end in [heard(1000, 7, false), heard(1000, 40, true)] {
            // Either begins a new count, of a window and not a byte less, and ends the exponential increase.
            near(after(&mut law(&keys), 5.0, &[vec![end.clone()], empty(5)].concat()), 5.0);
            near(after(&mut law(&keys), 5.0, &[empty(6), vec![end], empty(1)].concat()), 5.5);
        }
        // A twelfth of 80 us is no delay yet, and more is one.
        let row = |ns: u64| vec![Acked { sample: Some(Span::from_nanos(80_000 + ns)), ..heard(1000, 0, false) }; 6];
        near(after(&mut law(&keys), 5.0, &row(6666)), 5.5);
        near(after(&mut law(&keys), 5.0, &row(6667)), 5.0);
        // Of 84 us a twelfth is 7 us exactly.
        let longer = [keys[0], ("base_rtt", "84 us")];
        let row = |ps: u64| vec![Acked { sample: Some(Span(84_000_000 + ps)), ..heard(1000, 0, false) }; 6];
        let grown = after(&mut law(&longer), 5.0, &row(6_000_000));
        assert!(grown > 5.0);
        near(after(&mut law(&longer), 5.0, &row(7_000_000)), grown);
        near(after(&mut law(&longer), 5.0, &row(7_000_001)), 5.0);
        // Once begun it does not end, though a window that grows by two packets each is not filled again.
        let fast = [keys[0], ("fast_increase", "1")];
        near(after(&mut law(&fast), 5.0, &empty(8)), 11.0);
    }

    #[test]
    fn window_stays_within_a_packet_and_the_largest() {
        near(after(&mut law(&[]), 1.2, &[heard(1000, 150, true)]), 1.0);
        // Increases are applied to the window within its limits: 5 x 2 packets per window, of one packet.
        let collected = [heard(1000, 40, false), heard(1000, 150, true)];
        near(after(&mut law(&[("adjust_packets", "1")]), 1.2, &collected), 11.0);
        near(after(&mut law(&[]), 149.9, &[heard(1000, 40, false)]), 149.9 + 10.0 / 149.9);
        near(after(&mut law(&[]), 151.0, &[heard(1000, 40, false)]), 150.0);
        // A round trip of 40 us halves the product; later ones are delayed by 40 us.
        let short = Acked { sample: Some(Span::from_micros(40)), ..heard(1000, 0, true) };
        near(after(&mut law(&[]), 100.0, &[short]), 75.0);
        let mut window = Cwnd { limit: 30.0, ..cwnd(50.0) };
        law(&[]).on_gap(&mut window, &heard(1000, 20, false));
        assert_eq!(window.cwnd, 30.0);
    }

    #[test]
    fn loss_after_a_period_sets_the_window_to_what_has_arrived() {
        for header in ["0 B", "500 B"] {
            let (mut law, mut window) = (law(&[("header", header)]), cwnd(50.0));
            // The first acknowledgement begins a period of 80 + 40 us, in which three packets arrive.
            [1000, 1010, 1020, 1030].iter().for_each(|at| _ = law.on_ack(&mut window, &heard(*at, 20, true)));
            law.on_loss(&mut window, &lost(1120, false));
            assert_eq!((window.cwnd, window.ssthresh), (3.0, 3.0));
            // Ten packets were in flight: the marks of nine do not count.
            let (mut unmarked, mut again, mut lost_too) = (law.clone(), law.clone(), window.clone());
            near(after(&mut unmarked, 3.0, &[heard(1121, 20, false)]), 3.0 + 4.0 / 3.0);
            (1..10).for_each(|i| _ = law.on_ack(&mut window, &heard(1120 + i, 100, true)));
            assert_eq!(window.cwnd, 3.0);
            law.on_ack(&mut window, &heard(1130, 100, true));
            near(window.cwnd, 3.0 * 0.52);
            // A second loss is one of the ten, and takes nothing.
            again.on_loss(&mut lost_too, &lost(1121, false));
            (2..10).for_each(|i| _ = again.on_ack(&mut lost_too, &heard(1120 + i, 100, true)));
            assert_eq!(lost_too.cwnd, 3.0);
            again.on_ack(&mut lost_too, &heard(1130, 100, true));
            near(lost_too.cwnd, 3.0 * 0.52);
        }
    }

    #[test]
    fn quick_adapt_drops_the_increases_that_are_collected() {
        let (mut law, mut window) = (law(&[("adjust_packets", "4")]), cwnd(50.0));
        [1000, 1010, 1020, 1030].iter().for_each(|at| _ = law.on_ack(&mut window, &heard(*at, 40, false)));
        law.on_loss(&mut window, &lost(1120, false));
        law.on_ack(&mut window, &heard(1121, 40, false));
        assert_eq!(window.cwnd, 3.0, "one packet, not the fifth");
    }

    #[test]
    fn loss_within_a_period_takes_a_packet_and_asks_for_quick_adapt_at_its_end() {
        let (mut law, mut window) = (law(&[]), cwnd(50.0));
        [1000, 1010, 1020].iter().for_each(|at| _ = law.on_ack(&mut window, &heard(*at, 20, true)));
        law.on_loss(&mut window, &lost(1119, false));
        assert_eq!(window.cwnd, 49.0);
        // Unmarked and delayed, it would increase; two packets arrived before it.
        law.on_ack(&mut window, &heard(1120, 60, false));
        assert_eq!(window.cwnd, 3.0);
        // It asks once: two packets arrive in the next period too.
        [1130, 1240].iter().for_each(|at| _ = law.on_ack(&mut window, &heard(*at, 20, false)));
        assert!(window.cwnd > 3.0, "{}", window.cwnd);
    }

    /// As losses within a period and at its end, and each counts.
    #[test]
    fn each_trimmed_packet_takes_a_packet() {
        let (mut law, mut window) = (law(&[]), cwnd(50.0));
        [1000, 1010, 1020].iter().for_each(|at| _ = law.on_ack(&mut window, &heard(*at, 20, true)));
        assert!((0..4).all(|i| law.on_trimmed(&mut window, &heard(1100 + i, 0, false))));
        assert_eq!((window.cwnd, window.ssthresh), (46.0, 46.0));
        assert!(law.on_trimmed(&mut window, &heard(1120, 0, false)));
        assert_eq!(window.cwnd, 2.0, "what has arrived in the period");
        let with = Surroundings { trims: true, base_rtt: Span::from_micros(80), ..Surroundings::default() };
        let values = values(&[("base_rtt", "80 us")], &with);
        assert_eq!(values.time("target_delay"), Span::from_micros(60));
    }

    #[test]
    fn quick_adapt_needs_a_loss_or_a_large_delay_and_few_arrivals() {
        let adapted = |keys: &[(&'static str, &'static str)], queued, arrivals: u64| {
            let mut acks: Vec<_> = (0..arrivals).map(|i| heard(1000 + i, 20, true)).collect();
            acks.push(heard(1120, queued, false));
            after(&mut law(keys), 100.0, &acks) < 90.0
        };
        // Four targets; the gate is an eighth of 150 packets, and the first one began the period.
        assert!(!adapted(&[], 160, 5) && adapted(&[], 161, 5));
        assert!(adapted(&[], 161, 18) && !adapted(&[], 161, 19));
        assert!(!adapted(&[("quick_adapt", "false")], 161, 5));
        let half = &[("quick_gate", "1")];
        assert!(adapted(half, 161, 74) && !adapted(half, 161, 75), "half of 150 packets is not less than half");
    }

    #[test]
    fn timeout_leaves_one_packet() {
        let (mut law, mut window) = (law(&[("quick_adapt", "false")]), cwnd(50.0));
        law.on_loss(&mut window, &lost(1000, true));
        assert_eq!((window.cwnd, window.ssthresh), (50.0, 50.0));
        let (mut other, mut less) = (law.clone(), window.clone());
        other.on_timeout(&mut less, 45.0, &lost(1000, true));
        assert_eq!(less.cwnd, 40.0, "ten packets were in flight");
        law.on_timeout(&mut window, 1.0, &lost(1000, true));
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 1.0));
    }

    #[test]
    fn defaults_are_the_specifications_at_its_reference() {
        let surroundings = Surroundings::uniform(Rate::from_gbps(100), Span::from_micros(12), 6);
        let found = values(&[("mss", "1460 B")], &surroundings);
        let times = ["target_delay", "quick_delay", "adjust_period", "reference_rtt"].map(|key| found.time(key));
        assert_eq!(times, [12, 48, 12, 12].map(Span::from_micros));
        assert_eq!((found.number("initial_window"), found.number("delay_weight")), (150.0, 0.005));
        let rules = build(&found, &connection::Config::from_values(&found).unwrap()).0.rules;
        near(rules.proportional * rules.target, 4.0 * 1500.0);
        near(rules.fair, 7500.0);
        near(rules.fast, 0.25);
        near(rules.steady, 225.0);
        // At 1 Gbps and 240 us they are the same shares of the product, a fifth of the reference's.
        let slow = Surroundings::uniform(Rate::from_gbps(1), Span::from_micros(240), 4);
        let found = values(&[("mss", "1460 B")], &slow);
        let rules = build(&found, &connection::Config::from_values(&found).unwrap()).0.rules;
        near(rules.proportional * rules.target, 4.0 * 1500.0 / 5.0);
        assert_eq!(found.number("initial_window"), 30.0);
        // 125 bytes are less than a packet, and 1.25 GB are a million and more.
        let limits = |time| {
            let found = values(&[("base_rtt", time)], &slow);
            (found.number("initial_window"), found.number("delay_weight") == 1.0)
        };
        assert_eq!([limits("1 us"), limits("10 s")], [(1.0, true), (1e6, false)]);
    }

    #[test]
    fn regime_has_marks_below_the_target() {
        let values = [0.0, 3500.0, 14_000.0, 14_001.0, f64::INFINITY];
        assert_eq!(crate::descriptor::tests::is_within(&EARLY_MARKS, values), [true, true, true, false, false]);
    }
}
