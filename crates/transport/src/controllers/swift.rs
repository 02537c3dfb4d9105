//! `swift`: a window that keeps the round-trip time at a target, by additive increase and a proportional decrease.
//!
//! The paper has a second window, for the delay of the receiving host (3.4). Hosts add none here, so that it would never
//! be the smaller one: it is left out.

use units::{Amount, Default, Instant, Key, Kind, Problem, Range, Span, Value, Values};

use super::delay::{self, DELAY};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs, Observation, Signal, Site, Surroundings, connection};

/// The descriptor of Swift.
pub(super) const DESCRIPTOR: Descriptor<Swift> = Descriptor {
    name: "swift",
    help: "Swift: grows while the round-trip time is below a target, and cuts in proportion to what it is above, down to \
           windows below one packet",
    source: "Kumar et al., SIGCOMM 2020; constants that it does not publish: csg-htsim, swift.cpp",
    aliases: &[("ai", "additive_increase"), ("max_mdf", "max_decrease"), ("hop_scaling", "hop_target")],
    groups: &[KEYS, delay::KEYS],
    needs: Needs::of("nothing", "a timestamp on each packet, and pacing for windows below one packet").settling(settle),
    signals: &[DELAY, TARGET],
    build: |values, connection| build(values, f64::from(connection.mss)),
};

/// The target of the round-trip time, with both of its scalings.
const TARGET: Signal =
    Signal { name: "target", help: "the round-trip time that it aims at for its window and path (swift)", unit: "us" };

/// The packets whose transmission time is the least base target.
const MIN_PACKETS: f64 = 8.0;

/// The range of flow scaling where it is left out, as a multiple of the base target.
const RANGE: f64 = 5.0;

/// The largest window where it is left out, as a multiple of the data that fills the longest path up to the target.
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
    let packet = connection::packet(values);
    let base = surroundings.round_trip_of(packet);
    let sent =
        |packets: f64| Span::from_ps_f64(packets * packet.as_f64() * 8e12 / surroundings.line_rate.0.max(1) as f64);
    values.follow("base_target", |_| Value::Time((base / 2).max(sent(MIN_PACKETS))));
    values.follow("hop_target", |_| Value::Time((base / u64::from(surroundings.hops.max(1))).max(Span(1))));
    values.follow("fs_range", |values| Value::Time(delay::times(values.time("base_target"), RANGE)));
    values.follow("initial_window", |_| Value::Number(surroundings.bandwidth_delay(packet).round()));
    values.follow("window_limit", |values| {
        let filled = base + values.time("base_target");
        let packets = (LIMIT * surroundings.carried_in(filled, packet)).max(values.number("initial_window"));
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
    /// The addition of flow scaling per 1/sqrt(cwnd): the paper's alpha.
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
    #[inline(never)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd, reported};
    use units::{Bytes, HostId, Rate};

    /// A route of four links; targets of 20 + 4 x 5 us and, from 4 packets down to a quarter, up to 30 us more.
    const KEYS: &[(&str, &str)] = &[
        ("base_target", "20 us"),
        ("hop_target", "5 us"),
        ("fs_range", "30 us"),
        ("fs_min_cwnd", "0.25"),
        ("fs_max_cwnd", "4"),
    ];

    fn values(keys: &[(&str, &str)], surroundings: &Surroundings) -> Values {
        let mut values = Values::read(crate::registry::find("swift").unwrap().keys(), keys).unwrap();
        settle(&mut values, surroundings);
        values
    }

    fn law() -> Swift {
        let mut law = build(&values(KEYS, &Surroundings::default()), 1000.0).unwrap();
        let site = Site { rate: Rate::from_gbps(10), frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 };
        let mut first = window(10.0);
        law.on_message(&mut first, &acked(0, false), true, site);
        assert_eq!(first.ssthresh, 10.0, "it has no slow start");
        law
    }

    fn window(start: f64) -> Cwnd {
        Cwnd { floor: 0.001, limit: 50.0, ..cwnd(start) }
    }

    /// An acknowledgement of one segment after this round trip, `at` microseconds.
    fn heard(at: u64, delay_us: u64) -> Acked<'static> {
        Acked { now: Instant::from_micros(at), sample: Some(Span::from_micros(delay_us)), ..acked(1, false) }
    }

    fn lost(at: u64, timeout: bool) -> Lost<'static> {
        Lost { now: Instant::from_micros(at), state: heard(at, 50), flight: 10.0, timeout }
    }

    #[test]
    fn target_scales_with_links_and_with_the_root_of_the_window() {
        let law = law();
        let us = |cwnd| law.0.target(cwnd) / 1e6;
        // alpha = 30 us / (1/sqrt(0.25) - 1/sqrt(4)) = 20 us, beta = -10 us.
        let between = 40.0 + 20.0 * (1.0 / 1.5 - 0.5);
        for (cwnd, target) in [(0.01, 70.0), (0.25, 70.0), (1.0, 50.0), (2.25, between), (4.0, 40.0), (100.0, 40.0)] {
            assert!((us(cwnd) - target).abs() < 1e-9, "{cwnd}: {}", us(cwnd));
        }
    }

    #[test]
    fn below_the_target_an_ack_adds_its_share_of_a_packet() {
        let (mut law, mut large, mut small) = (law(), window(10.0), window(0.25));
        law.on_ack(&mut large, &heard(1000, 39));
        assert_eq!((large.cwnd, large.ssthresh), (10.1, 10.1));
        law.on_gap(&mut large, &heard(1000, 39));
        assert!((large.cwnd - (10.1 + 1.0 / 10.1)).abs() < 1e-12, "beyond a gap too");
        law.on_ack(&mut small, &heard(1000, 69));
        assert_eq!(small.cwnd, 1.25, "below a packet a whole one");
        let mut most = window(50.0);
        law.on_ack(&mut most, &heard(1000, 10));
        assert_eq!(most.cwnd, 50.0);
        law.on_ack(&mut large, &Acked { may_grow: false, ..heard(1000, 10) });
        law.on_ack(&mut large, &Acked { sample: None, ..heard(1000, 10) });
        assert!(large.cwnd < 10.2, "not during a repair, and not without a sample");
    }

    #[test]
    fn above_the_target_it_cuts_in_proportion_once_per_round_trip() {
        let (mut law, mut window) = (law(), window(10.0));
        // At the target there is nothing to add and nothing to cut.
        law.on_ack(&mut window, &heard(900, 40));
        assert_eq!(window.cwnd, 10.0);
        // 0.8 x (80 - 40) / 80.
        assert!(!law.on_ack(&mut window, &heard(1000, 80)), "no mark did it");
        assert!((window.cwnd - 6.0).abs() < 1e-9, "{}", window.cwnd);
        law.on_ack(&mut window, &heard(1099, 80));
        assert!((window.cwnd - 6.0).abs() < 1e-9, "srtt is 100 us");
        law.on_gap(&mut window, &heard(1100, 80));
        assert!((window.cwnd - 3.6).abs() < 1e-9, "{}", window.cwnd);
        // The window is below 4 now: 20 us x (1/sqrt(3.6) - 0.5) = 0.541 us more. 0.8 x 0.9 is more than half.
        law.on_ack(&mut window, &heard(1200, 400));
        assert!((window.cwnd - 1.8).abs() < 1e-9 && window.ssthresh == window.cwnd);
    }

    #[test]
    fn loss_takes_the_largest_cut_and_the_fifth_timeout_all() {
        let (mut law, mut window) = (law(), window(16.0));
        law.on_loss(&mut window, &lost(1000, false));
        assert_eq!((window.cwnd, window.ssthresh), (8.0, 8.0));
        law.on_loss(&mut window, &lost(1050, false));
        assert_eq!(window.cwnd, 8.0, "within the same round trip");
        let mut expire = |window: &mut Cwnd, at| {
            law.on_loss(window, &lost(at, true));
            law.on_timeout(window, 1.0, &lost(at, true));
            assert_eq!(window.ssthresh, window.cwnd);
            window.cwnd
        };
        let found = [2000, 3000, 4000, 5000, 6000].map(|at| expire(&mut window, at));
        assert_eq!(found, [4.0, 2.0, 1.0, 0.5, 0.001]);
        law.on_ack(&mut window, &heard(7000, 30));
        assert_eq!(window.cwnd, 1.001);
        law.on_timeout(&mut window, 1.0, &lost(8000, true));
        assert_eq!(window.cwnd, 0.5005, "an acknowledgement begins a new count");
        let found = [8099, 8100, 9000].map(|at| {
            law.on_timeout(&mut window, 1.0, &lost(at, true));
            window.cwnd
        });
        assert_eq!(found, [0.5005, 0.25025, 0.125125], "the second of four is within the round trip of the first");
    }

    #[test]
    fn last_delay_and_the_target_are_reported() {
        let (mut law, mut window) = (law(), window(10.0));
        assert!(law.paces(), "windows below a packet are rates");
        assert_eq!(reported(&law, &window, ["delay", "target"]), [None, Some(40.0)]);
        law.on_gap(&mut window, &heard(1000, 33));
        assert_eq!(reported(&law, &window, ["delay", "target"]), [Some(33.0), Some(40.0)]);
    }

    #[test]
    fn defaults_follow_from_the_path() {
        // 10 Gbps, 14.6 us, 4 links: 7.3 us are less than the 9.6 us of eight packets; 24.2 us are 20.2 packets.
        let slow = values(&[], &Surroundings::default());
        let times = |values: &Values| ["base_target", "hop_target", "fs_range"].map(|key| values.time(key));
        assert_eq!(times(&slow), [9_600, 3_650, 48_000].map(Span::from_nanos));
        assert_eq!(
            (slow.number("initial_window"), slow.amount_if_set("window_limit")),
            (12.0, Some(Amount::Packets(31)))
        );
        // 400 Gbps, 10 us, 5 links, packets of 9000 B: 0.15 us more on each link.
        let fast = Surroundings::uniform(Rate::from_gbps(400), Span::from_micros(10), 5);
        let fast = values(&[("mss", "8960 B")], &fast);
        assert_eq!(times(&fast), [5_375, 2_150, 26_875].map(Span::from_nanos));
        assert_eq!(
            (fast.number("initial_window"), fast.amount_if_set("window_limit")),
            (60.0, Some(Amount::Packets(135)))
        );
    }

    #[test]
    fn scaling_needs_a_range_of_windows() {
        let problem = |keys| build(&values(keys, &Surroundings::default()), 1000.0).unwrap_err().key;
        assert_eq!(problem(&[("fs_max_cwnd", "0.1")]), "fs_max_cwnd");
        assert_eq!(problem(&[("fs_min_cwnd", "100")]), "fs_min_cwnd");
    }
}
