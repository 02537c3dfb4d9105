//! `swift`: a window that keeps the round-trip time at a target, by additive increase and a proportional decrease.

use units::{Amount, Default, Instant, Key, Kind, Problem, Range, Span, Value, Values};

use super::{Acked, Cwnd, Ecn, Lost, Window};
use super::delay::{self, DELAY};
use crate::{Descriptor, Needs, Observation, Signal, Site, Surroundings};

/// The descriptor of Swift.
pub(super) const DESCRIPTOR: Descriptor<Swift> = Descriptor {
    name: "swift",
    help: "Swift: grows while the round-trip time is below a target, and cuts in proportion to what it is above, down to \
           windows below one packet",
    source: "Kumar et al., SIGCOMM 2020; constants that it does not publish: csg-htsim, swift.cpp",
    aliases: &[("ai", "additive_increase"), ("max_mdf", "max_decrease"), ("hop_scaling", "hop_target")],
    groups: &[KEYS],
    needs: Needs::of(
        "nothing",
        "a timestamp on each packet, and pacing for windows below one packet; hosts add no delay of their own here, so \
         that the endpoint window of the paper (3.4) would never bind, and is left out",
    )
    .settling(settle),
    signals: &[DELAY, TARGET],
    build: |values, connection| build(values, f64::from(connection.mss)),
};

/// The target of the round-trip time, with both of its scalings.
const TARGET: Signal =
    Signal { name: "target", help: "the round-trip time that it aims at for its window and path (swift)", unit: "us" };

/// The packets whose transmission time is the least base target.
const LEAST_PACKETS: f64 = 8.0;

/// The range of flow scaling where it is left out, as a multiple of the base target.
const RANGE: f64 = 5.0;

/// The largest window where it is left out, as a multiple of what fills the longest path up to the target.
const LIMIT: f64 = 1.5;

/// Parameters of its own, and shared ones with other defaults.
const KEYS: &[Key] = &[
    Key {
        name: "base_target",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the queueing delay that every flow may cause; when left out, half of the network's longest round trip \
               without queues, or the transmission of 8 packets at a host's rate, whichever is more",
        source: "Swift 3.5: a fixed base delay, tuned for each fleet, and no number for others",
    },
    Key {
        name: "hop_target",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "what each link of a flow's route adds to the target (topology scaling); when left out, the longest round \
               trip without queues over the number of its links, so that the target less base_target is the path's \
               round trip without queues",
        source: "Swift 3.5: hops times a constant; no number",
    },
    Key {
        name: "fs_range",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "the most that flow scaling adds to the target, at fs_min_cwnd; 0 turns it off; when left out, five times \
               base_target",
        source: "Swift 3.5; csg-htsim: 5 times the base target",
    },
    Key {
        name: "fs_min_cwnd",
        kind: Kind::Number,
        default: Default::Is("0.1"),
        range: Range::above(0.0, 1e6),
        help: "the window, in packets, from which on down flow scaling adds fs_range",
        source: "Swift 3.5; csg-htsim: 0.1",
    },
    Key {
        name: "fs_max_cwnd",
        kind: Kind::Number,
        default: Default::Is("100"),
        range: Range::above(0.0, 1e9),
        help: "the window, in packets, from which on up flow scaling adds nothing; between the two it adds in proportion \
               to 1/sqrt(cwnd)",
        source: "Swift 3.5; csg-htsim: 100",
    },
    Key {
        name: "additive_increase",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::above(0.0, 1000.0),
        help: "the packets that the window grows by in a round trip below the target",
        source: "Swift 3.1, algorithm 1 (ai); csg-htsim: 1",
    },
    Key {
        name: "beta",
        kind: Kind::Number,
        default: Default::Is("0.8"),
        range: Range::above(0.0, 1.0),
        help: "what a cut takes off, as a multiple of (delay - target) / delay",
        source: "Swift 3.1, algorithm 1; csg-htsim: 0.8",
    },
    Key {
        name: "max_decrease",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::above(0.0, 1.0),
        help: "the largest share of the window that one cut takes, of which there is one per round trip; a loss takes it too",
        source: "Swift 3.1, algorithm 1 (max_mdf); csg-htsim: 0.5",
    },
    Key {
        name: "reset_after",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(1.0, 1e6),
        help: "timeouts in a row after which the window falls to cwnd_floor",
        source: "Swift 3.3 (RETX_RESET_THRESHOLD); csg-htsim: 5",
    },
    Key {
        name: "cwnd_floor",
        kind: Kind::Number,
        default: Default::Is("0.001"),
        range: Range::between(0.0001, 1e6),
        help: "the least window, in packets; one below 1 is a packet in every 1/cwnd round trips",
        source: "Swift 3.2: 0.001, for incasts of thousands of flows",
    },
    Key {
        name: "initial_window",
        kind: Kind::Number,
        default: Default::Absent,
        range: Range::between(1.0, 1e6),
        help: "cwnd of a new connection, in segments; when left out, what a host's link carries in the network's longest \
               round trip",
        source: "open in the paper, which has no slow start; as NSCC and pFabric start",
    },
    Key {
        name: "window_limit",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "upper limit of the window, in packets or payload bytes; when left out, 1.5 times what fills the longest \
               path up to its target, or initial_window if that is more",
        source: "Swift 3.1, algorithm 1 (max_cwnd); no number",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    let packet = delay::packet(values);
    let base = surroundings.round_trip_of(packet);
    let sent = |packets: f64| Span::from_ps_f64(packets * packet.as_f64() * 8e12 / surroundings.line_rate.0.max(1) as f64);
    delay::follow(values, "base_target", |_| Value::Time((base / 2).max(sent(LEAST_PACKETS))));
    delay::follow(values, "hop_target", |_| Value::Time((base / u64::from(surroundings.hops.max(1))).max(Span(1))));
    delay::follow(values, "fs_range", |values| {
        Value::Time(delay::times(values.time("base_target"), RANGE))
    });
    delay::follow(values, "initial_window", |_| Value::Number(delay::product(base, surroundings, packet).round()));
    delay::follow(values, "window_limit", |values| {
        let filled = base + values.time("base_target");
        let packets = (LIMIT * delay::product(filled, surroundings, packet)).max(values.number("initial_window"));
        Value::Amount(Amount::Packets(packets.ceil() as u64))
    });
}

fn build(values: &Values, mss: f64) -> Result<Swift, Problem> {
    let time = |key| values.time(key).0 as f64;
    let root = |key| 1.0 / values.number(key).sqrt();
    let (range, few, many) = (time("fs_range"), root("fs_min_cwnd"), root("fs_max_cwnd"));
    if few <= many {
        let key = if values.is_given("fs_max_cwnd") { "fs_max_cwnd" } else { "fs_min_cwnd" };
        return Err(Problem::new(key, "`fs_max_cwnd` must be above `fs_min_cwnd`"));
    }
    Ok(Swift(Box::new(State {
        base_target: time("base_target"),
        hop_target: time("hop_target"),
        range,
        slope: range / (few - many),
        many,
        increase: values.number("additive_increase"),
        beta: values.number("beta"),
        max_decrease: values.number("max_decrease"),
        reset_after: values.count("reset_after"),
        mss,
        hops: 0.0,
        timeouts: 0,
        decreased: Instant::ZERO,
        delay: None,
    })))
}

/// Keeps the round-trip time at a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Swift(Box<State>);

/// Times are in picoseconds.
#[derive(Clone, Debug, PartialEq)]
struct State {
    base_target: f64,
    hop_target: f64,
    /// The most that flow scaling adds.
    range: f64,
    /// What flow scaling adds for 1/sqrt(cwnd): the paper's alpha.
    slope: f64,
    /// 1/sqrt(fs_max_cwnd): the paper's beta is this times `slope`, negative.
    many: f64,
    increase: f64,
    beta: f64,
    max_decrease: f64,
    reset_after: u64,
    mss: f64,
    /// Links of the route.
    hops: f64,
    /// Timeouts since the last acknowledgement of new data.
    timeouts: u64,
    /// The time of the last cut.
    decreased: Instant,
    /// The last sample of the round-trip time.
    delay: Option<Span>,
}

impl State {
    /// Returns the target of the round-trip time (3.5).
    fn target(&self, cwnd: f64) -> f64 {
        let scaled = self.slope * (1.0 / cwnd.sqrt() - self.many);
        self.base_target + self.hops * self.hop_target + scaled.clamp(0.0, self.range)
    }

    /// Returns true if no cut was made in the last round trip.
    fn may_decrease(&self, ack: &Acked) -> bool {
        ack.now.saturating_sub(self.decreased) >= ack.srtt.unwrap_or(Span::ZERO)
    }

    fn decrease(&mut self, window: &mut Cwnd, share: f64, now: Instant) {
        window.cwnd = (window.cwnd * (1.0 - share)).max(window.floor);
        self.decreased = now;
    }

    /// Handles an acknowledgement (3.1, algorithm 1).
    fn hear(&mut self, window: &mut Cwnd, ack: &Acked) {
        let Some(sample) = ack.sample else { return };
        self.delay = Some(sample);
        let (delay, target) = (sample.0 as f64, self.target(window.cwnd));
        if delay < target {
            if ack.may_grow {
                let packets = ack.bytes as f64 / self.mss;
                window.cwnd = (window.cwnd + self.increase * packets / window.cwnd.max(1.0)).min(window.limit);
            }
        } else if self.may_decrease(ack) {
            let share = self.beta * (delay - target) / delay;
            self.decrease(window, share.min(self.max_decrease), ack.now);
        }
        // It has no slow start, and a repair that ends leaves the window as it is.
        window.ssthresh = window.cwnd;
    }
}

impl Window for Swift {
    fn ecn(&self) -> Ecn {
        Ecn::Off
    }
    fn paces(&self) -> bool {
        true
    }
    fn on_message(&mut self, window: &mut Cwnd, _: &Acked, _: bool, site: Site) {
        self.0.hops = f64::from(site.hops);
        window.ssthresh = window.cwnd;
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.0.timeouts = 0;
        self.0.hear(window, ack);
        false
    }
    fn on_gap(&mut self, window: &mut Cwnd, ack: &Acked) {
        self.0.hear(window, ack);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        if !loss.timeout && self.0.may_decrease(&loss.state) {
            self.0.decrease(window, self.0.max_decrease, loss.now);
        }
        window.ssthresh = window.cwnd;
    }
    fn on_timeout(&mut self, window: &mut Cwnd, _: f64, loss: &Lost) {
        self.0.timeouts += 1;
        if self.0.timeouts >= self.0.reset_after {
            self.0.decrease(window, 1.0, loss.now);
        } else if self.0.may_decrease(&loss.state) {
            self.0.decrease(window, self.0.max_decrease, loss.now);
        }
        window.ssthresh = window.cwnd;
    }
    fn observe(&self, window: &Cwnd, _: &Acked, seen: &mut Observation) {
        seen.add_if(&DELAY, self.0.delay.map(Span::as_micros_f64));
        seen.add(&TARGET, self.0.target(window.cwnd) / 1e6);
    }
}
