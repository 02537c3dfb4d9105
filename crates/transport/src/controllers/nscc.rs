//! `nscc`: a window that follows marks and delay together, as Ultra Ethernet's senders have it.

use units::{Bytes, Default, Instant, Key, Kind, Range, Span, Value, Values};

use super::delay::{self, DELAY};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Advice, Descriptor, Needs, Observation, Regime, Signal, Surroundings, connection};

/// The descriptor of NSCC.
pub(super) const DESCRIPTOR: Descriptor<Nscc> = Descriptor {
    name: "nscc",
    help: "NSCC of Ultra Ethernet: starts with 1.5 bandwidth-delay products; unmarked packets grow the window, the more \
           the less they were delayed, and marked and delayed ones cut it; at losses it falls to what has arrived",
    source: "Ultra Ethernet Specification 1.0, 3.6.13; ultraethernet/uet-htsim, uec.cpp",
    aliases: &[("gamma", "decrease_gain"), ("max_md_jump", "max_decrease"), ("target_qdelay", "target_delay")],
    groups: &[KEYS],
    needs: Needs::of(
        "ECN marks below the target delay",
        "a timestamp on each packet, and an exact echo of marks; packets are neither trimmed nor sprayed by it",
    )
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
               cut; when left out, base_rtt",
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
    let packet = delay::packet(values);
    delay::follow(values, "base_rtt", |_| Value::Time(surroundings.round_trip_of(packet)));
    delay::follow(values, "target_delay", |values| Value::Time(values.time("base_rtt")));
    delay::follow(values, "reference_rtt", |values| Value::Time(values.time("base_rtt")));
    delay::follow(values, "adjust_period", |values| Value::Time(values.time("base_rtt")));
    delay::follow(values, "quick_delay", |values| Value::Time(delay::times(values.time("target_delay"), 4.0)));
    delay::follow(values, "line_rate", |_| Value::Rate(surroundings.line_rate));
    let product = product(values);
    delay::follow(values, "delay_weight", |_| Value::Number((packet.as_f64() / (MEMORY * product)).min(1.0)));
    delay::follow(values, "initial_window", |values| {
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
    /// After quick adapt: bytes that have arrived or were lost since, and those whose marks do not count.
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

    /// Grows in proportion to what is left of the target delay, or exponentially once a whole window was not delayed.
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

    /// Sets the window to what has arrived in the last period, at a loss or a large delay. Returns true if it did, or if
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

    /// Handles the loss of `bytes` on the wire: to be called for each packet that a NACK reports as trimmed too, once
    /// ports trim.
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
