//! The port's side: the most urgent flows, and which of them may send.

use std::collections::BTreeMap;

use units::{Bytes, Default, Instant, Key, Kind, Range, Rate, Span, Values};

use super::Header;
use crate::agent::{Agent, Decision, Flow, PortState};
use crate::{Flags, Packet, connection};

/// The default dampening of a port at this rate; proportional to 1/rate at others.
const DAMPENING: (Span, Rate) = (Span::from_micros(10), Rate::from_gbps(1));

/// Base round trips after which a silent flow is not counted any more, unless `expiry` is set.
pub(super) const EXPIRY: u64 = 10;

/// Parameters of the ports; one set for all transports of a run.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "base_rtt",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "what a flow's round trip counts for before its first sample, and a port's own for its rate controller; when \
               left out, the network's longest round trip without queues",
        source: "PDQ 3.3.3 takes the mean RTT of the flows",
    },
    Key {
        name: "early_start",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(0.0, 1e6),
        help: "K: flows that need less than this many round trips more, in sum, do not keep those behind them from sending",
        source: "PDQ 3.3.2, 5.1: 2; 0: none start early",
    },
    Key {
        name: "probe_spread",
        kind: Kind::Number,
        default: Default::Is("0.2"),
        range: Range::between(0.0, 1e6),
        help: "X: a flow probes no more often than every so many round trips for each flow before it (suppressed probing)",
        source: "PDQ 3.3.2: 0.2",
    },
    Key {
        name: "dampening",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "a port that has just let a flow send that did not lets none of the flows that `dampened` names send until this has \
               passed; when left out, 10 us at 1 Gbit/s, and at other rates of the port's link in proportion",
        source: "PDQ 3.3.2 (dampening), without a value; 10 us in a simulator that follows the paper, about a full packet's \
                 transmission at PDQ 5's 1 Gbit/s",
    },
    Key {
        name: "dampened",
        kind: Kind::Choice(&["paused", "all"]),
        default: Default::Is("paused"),
        range: Range::ANY,
        help: "the flows that dampening keeps from sending: the ones that this port has paused, or new ones too",
        source: "PDQ 3.3.2: after a switch has accepted a flow that was not sending, it accepts other paused flows only after a \
                 small time",
    },
    Key {
        name: "list_factor",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(1.0, 1e6),
        help: "a port remembers so many times the number of flows that send, and one flow at least for each of these",
        source: "PDQ 3.3.1: 2 kappa",
    },
    Key {
        name: "least_share",
        kind: Kind::Share,
        default: Default::Is("1%"),
        range: Range::UNIT,
        help: "a port pauses a flow that would get less than this share of its link, or of the rate that the links before it leave",
        source: "our choice: the paper accepts any rate above 0, and a flow at 1 bit/s asks again when its packet has left",
    },
    Key {
        name: "rate_interval",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(0.01, 1e6),
        help: "round trips after which a port sets anew what it gives away: its rate, less what empties its queue in as long",
        source: "PDQ 3.3.3: every 2 RTTs, C = max(0, r - q / (2 RTT))",
    },
    Key {
        name: "expiry",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "a flow of which a port has heard nothing for this long counts no more; when left out, 10 times base_rtt",
        source: "our choice: what the paper does about lost TERMs is open",
    },
    Key {
        name: "control",
        kind: Kind::Choice(&["protected", "plain"]),
        default: Default::Is("protected"),
        range: Range::ANY,
        help: "whether full buffers drop probes and TERMs, which have no payload: protected, they do not",
        source: "open; as for d3",
    },
];

/// The parameters of a run's ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agents {
    /// The network's round-trip time without queues.
    pub base_rtt: Span,
    /// A full segment with its header.
    pub segment: Bytes,
    /// K, in round trips.
    pub early_start: f64,
    /// X, in round trips.
    pub probe_spread: f64,
    /// The time for which another paused flow stays paused; none: [`DAMPENING`] scaled to the port's rate.
    pub dampening: Option<Span>,
    /// New flows are dampened too, not only paused ones.
    pub dampens_all: bool,
    /// Number of flows that are remembered, for each that sends.
    pub list_factor: f64,
    /// Minimum share of the link; a smaller one counts as 0.
    pub least_share: f64,
    /// Round trips between two settings of the rate.
    pub rate_interval: f64,
    /// The time after which a silent flow is forgotten.
    pub expiry: Span,
    /// Control packets pass full buffers.
    pub protected: bool,
}

impl Agents {
    /// False, as it answers no requests that could be denied.
    pub const COUNTS_REQUESTS: bool = false;

    /// Returns the agent of one port. Rates count headers but not the overhead of frames, so that this part of the link
    /// is not allocated.
    pub fn at(&self, rate: Rate, frame_overhead: Bytes) -> Box<dyn Agent> {
        let net = u128::from(rate.0) * u128::from(self.segment.0) / u128::from((self.segment + frame_overhead).0);
        Box::new(Port::new(*self, net as u64))
    }

    /// Reads the parameters from checked values.
    pub fn from_values(values: &Values, connection: &connection::Config) -> Agents {
        Agents {
            base_rtt: values.time("base_rtt"),
            segment: Bytes::from(connection.mss + connection.header),
            early_start: values.number("early_start"),
            probe_spread: values.number("probe_spread"),
            dampening: values.time_if_set("dampening"),
            dampens_all: values.choice("dampened") == "all",
            list_factor: values.number("list_factor"),
            least_share: values.number("least_share"),
            rate_interval: values.number("rate_interval"),
            expiry: values.time("expiry"),
            protected: values.choice("control") == "protected",
        }
    }
}

/// One egress port. Rates are in bit/s.
#[derive(Clone, Debug)]
pub struct Port {
    config: Agents,
    /// The rate of the link.
    rate: u64,
    /// C: the rate that may be allocated.
    capacity: u64,
    /// The time at which that was set.
    set_at: Option<Instant>,
    /// The most urgent flows, the first ones first.
    list: Vec<Known>,
    /// Flows that are not in it, and the times of their last packets.
    others: BTreeMap<Flow, Instant>,
    /// The time at which a paused flow was last allowed to send.
    let_go: Option<Instant>,
}

/// A port's memory of a flow.
#[derive(Clone, Copy, Debug)]
struct Known {
    flow: Flow,
    /// None: it has no deadline.
    deadline: Option<Instant>,
    /// Duration of the rest at the flow's full rate.
    needs: Span,
    rtt: Span,
    /// The accepted rate; 0: it is paused.
    rate: u64,
    heard: Instant,
}

impl Known {
    /// Returns the sorting key, the most urgent first: the earliest deadline, then the shortest rest (PDQ 3.3.1).
    fn order(&self) -> (Instant, Span, Flow) {
        (self.deadline.unwrap_or(Instant::MAX), self.needs, self.flow)
    }
}

impl Port {
    /// Returns a port with a link of `rate` bit/s, and no flows.
    pub fn new(config: Agents, rate: u64) -> Port {
        Port { config, rate, capacity: rate, set_at: None, list: Vec::new(), others: BTreeMap::new(), let_go: None }
    }

    /// Processes a packet of a flow: accepts the flow, at a rate, or pauses it (PDQ, algorithms 1 to 3).
    ///
    /// An acceptance is in force from here on, not from the acknowledgement on, which may return on another route. If a
    /// later port pauses the flow, the flow's next packet shows it.
    pub fn pass(&mut self, now: Instant, flow: Flow, header: &mut Header) {
        let hop = header.hop;
        header.hop = hop.saturating_add(1);
        if hop == 0 {
            header.uplink = self.rate;
        }
        self.forget_silent(now);
        let known = self.list.iter().position(|known| known.flow == flow).map(|place| self.list.remove(place));
        self.others.remove(&flow);
        if header.over || header.paused_by.is_some_and(|by| by != hop) {
            return;
        }
        let rate = known.map_or(0, |known| known.rate);
        let own = Known { flow, deadline: header.deadline, needs: header.needs(), rtt: header.rtt, rate, heard: now };
        let place = self.list.partition_point(|other| other.order() < own.order());
        self.list.insert(place, own);
        self.shorten(now);
        let granted = if place < self.list.len() { self.available(place) } else { self.fair_share() };
        // Slower links before this one are no reason to pause a flow.
        let possible = header.rate.min(self.rate);
        let granted = granted.min(possible);
        let accepted = granted > 0 && granted as f64 >= self.config.least_share * possible as f64;
        let may_be_dampened = rate == 0 && (self.config.dampens_all || header.paused_by.is_some());
        if accepted && !(may_be_dampened && self.is_dampened(now)) {
            if rate == 0 {
                self.let_go = Some(now);
            }
            (header.paused_by, header.rate) = (None, granted);
        } else {
            (header.paused_by, header.rate) = (Some(hop), 0);
        }
        if let Some(own) = self.list.get_mut(place) {
            own.rate = header.rate;
        }
        header.probe_every = header.probe_every.max(self.config.probe_spread * place as f64);
    }

    /// Returns the rate that the flows before a place leave, without flows that are about to end (PDQ, algorithm 2).
    fn available(&self, place: usize) -> u64 {
        let (mut ending, mut held) = (0.0, 0_u64);
        for known in &self.list[..place] {
            let round_trips = known.needs.0 as f64 / known.rtt.0.max(1) as f64;
            if round_trips < self.config.early_start && ending < self.config.early_start {
                ending += round_trips;
            } else {
                held = held.saturating_add(known.rate);
            }
        }
        self.capacity.saturating_sub(held)
    }

    /// Returns the rate that the flows of the list leave to each of the others.
    fn fair_share(&self) -> u64 {
        let held = self.list.iter().fold(0_u64, |sum, known| sum.saturating_add(known.rate));
        self.capacity.saturating_sub(held) / (self.others.len() as u64).max(1)
    }

    /// Removes the least urgent flows from the list while it is too long.
    fn shorten(&mut self, now: Instant) {
        let sending = self.list.iter().filter(|known| known.rate > 0).count().max(1);
        let most = (sending as f64 * self.config.list_factor) as usize;
        for known in self.list.drain(most.min(self.list.len())..) {
            self.others.insert(known.flow, now);
        }
    }

    fn forget_silent(&mut self, now: Instant) {
        let expiry = self.config.expiry;
        self.list.retain(|known| known.heard.saturating_add(expiry) > now);
        self.others.retain(|_, heard| heard.saturating_add(expiry) > now);
    }

    /// Returns true if a paused flow was allowed to send just now.
    fn is_dampened(&self, now: Instant) -> bool {
        let dampening = self.config.dampening.unwrap_or_else(|| {
            let (time, rate) = DAMPENING;
            Span::from_ps_f64(time.0 as f64 * rate.0 as f64 / self.rate.max(1) as f64)
        });
        self.let_go.is_some_and(|at| at.saturating_add(dampening) > now)
    }

    /// Sets the rate that may be allocated: the link's rate, less the rate that drains the queue in one interval.
    fn set_capacity(&mut self, now: Instant, waiting: Bytes) {
        let interval = Span::from_ps_f64(self.config.rate_interval * self.config.base_rtt.0 as f64);
        if self.set_at.is_some_and(|at| at.saturating_add(interval) > now) {
            return;
        }
        self.set_at = Some(now);
        let drain = u128::from(waiting.0) * 8_000_000_000_000 / u128::from(interval.0.max(1));
        self.capacity = self.rate.saturating_sub(u64::try_from(drain).unwrap_or(u64::MAX));
    }
}

impl Agent for Port {
    fn on_packet(&mut self, port: &PortState, packet: &Packet, header: &mut crate::Header) -> Option<Decision> {
        let crate::Header::Pdq(header) = header else { return None };
        if !packet.flags.has(Flags::ACK) {
            self.set_capacity(port.now, port.waiting_bytes);
            self.pass(port.now, (header.own, header.message), header);
        }
        None
    }

    fn passes_full_buffers(&self, packet: &Packet, header: &crate::Header) -> bool {
        self.config.protected && packet.payload == 0 && matches!(header, crate::Header::Pdq(_))
    }

    fn settle(&mut self, now: Instant) {
        self.forget_silent(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBPS: u64 = 1_000_000_000;
    const RTT: Span = Span::from_micros(100);

    fn config() -> Agents {
        let transport = crate::registry::find("pdq").unwrap();
        let settings = [("base_rtt", "100 us"), ("dampening", "0 s")];
        let config = transport.with(&settings).unwrap();
        let crate::registry::Control::Pdq(own) = config.control else { panic!("another family") };
        own.ports
    }

    /// A port of 1 Gbit/s at a flow's second hop; flows are (number, deadline in ms, kilobytes left).
    struct Bench {
        port: Port,
        now: Instant,
    }

    impl Bench {
        fn new(config: Agents) -> Bench {
            Bench { port: Port::new(config, GBPS), now: Instant::ZERO }
        }
        fn header(&self, deadline_ms: Option<u64>, kb: u64) -> Header {
            Header {
                own: 0,
                message: 0,
                number: 0,
                sent: self.now,
                over: false,
                deadline: deadline_ms.map(Instant::from_millis),
                left: Bytes(kb * 1000),
                rtt: RTT,
                rate: GBPS,
                paused_by: None,
                probe_every: 0.0,
                uplink: GBPS,
                hop: 1,
            }
        }
        /// Returns the rate in Mbit/s at which a flow may send.
        fn pass(&mut self, flow: u64, deadline_ms: Option<u64>, kb: u64) -> u64 {
            let mut header = self.header(deadline_ms, kb);
            self.port.pass(self.now, (flow, 0), &mut header);
            assert_eq!(header.paused_by, (header.rate == 0).then_some(1));
            header.rate / 1_000_000
        }
        fn order(&self) -> Vec<u64> {
            self.port.list.iter().map(|known| known.flow.0).collect()
        }
    }

    #[test]
    fn the_earliest_deadline_comes_first_then_the_shortest_rest() {
        let mut port = Bench::new(Agents { list_factor: 9.0, ..config() });
        assert_eq!(port.pass(1, None, 1000), 1000);
        assert_eq!(port.pass(2, None, 900), 1000, "it is shorter");
        assert_eq!(port.pass(1, None, 1000), 0, "and the longer one has to wait");
        assert_eq!(port.pass(3, Some(50), 5000), 1000);
        assert_eq!(port.pass(4, Some(40), 6000), 1000);
        assert_eq!([port.pass(2, None, 900), port.pass(3, Some(50), 5000)], [0, 0]);
        assert_eq!(port.order(), [4, 3, 2, 1]);
        // Its rest is shorter than that of flow 2 now.
        assert_eq!(port.pass(1, None, 800), 0);
        assert_eq!(port.order(), [4, 3, 1, 2]);
    }

    #[test]
    fn equally_urgent_flows_are_ordered_by_their_own_bits_then_by_message() {
        let mut port = Bench::new(Agents { list_factor: 9.0, ..config() });
        assert_eq!([5, 8, 2].map(|flow| port.pass(flow, Some(50), 500)), [1000, 0, 1000]);
        let mut second = Header { own: 5, message: 1, ..port.header(Some(50), 500) };
        port.port.pass(port.now, (5, 1), &mut second);
        let order: Vec<Flow> = port.port.list.iter().map(|known| known.flow).collect();
        assert_eq!(order, [(2, 0), (5, 0), (5, 1), (8, 0)]);
    }

    #[test]
    fn the_next_flow_starts_two_round_trips_before_the_end_of_the_first() {
        // 100 us at 1 Gbit/s are 12.5 KB.
        let mut port = Bench::new(config());
        assert_eq!([port.pass(1, None, 26), port.pass(2, None, 500)], [1000, 0]);
        assert_eq!([port.pass(1, None, 24), port.pass(2, None, 500)], [1000, 1000]);
        let mut port = Bench::new(Agents { early_start: 0.0, ..config() });
        assert_eq!([port.pass(1, None, 24), port.pass(2, None, 500)], [1000, 0]);
        // Early starters count up to two round trips in sum, then they occupy their rates: 1.6 + 1.6, and the third.
        let mut port = Bench::new(Agents { list_factor: 9.0, ..config() });
        let rates: Vec<u64> = (1..=4).map(|flow| port.pass(flow, None, 20)).collect();
        assert_eq!(rates, [1000, 1000, 1000, 0]);
    }

    #[test]
    fn a_flow_that_another_port_has_paused_holds_nothing() {
        let mut port = Bench::new(config());
        assert_eq!([port.pass(1, Some(5), 500), port.pass(2, Some(9), 500)], [1000, 0]);
        let mut elsewhere = port.header(Some(5), 500);
        elsewhere.paused_by = Some(2);
        port.port.pass(port.now, (1, 0), &mut elsewhere);
        assert_eq!((elsewhere.paused_by, elsewhere.hop), (Some(2), 2));
        assert_eq!(port.pass(2, Some(9), 500), 1000);
        // The port that paused it decides anew.
        let mut own = port.header(Some(5), 500);
        own.paused_by = Some(1);
        port.port.pass(port.now, (1, 0), &mut own);
        assert_eq!((own.paused_by, own.rate), (None, GBPS));
    }

    #[test]
    fn what_another_link_holds_back_is_left_to_those_behind() {
        let mut port = Bench::new(config());
        let mut slow = Header { rate: 400_000_000, ..port.header(Some(5), 500) };
        port.port.pass(port.now, (1, 0), &mut slow);
        assert_eq!((slow.rate, port.pass(2, Some(9), 500)), (400_000_000, 600));
        // Less than a hundredth of what it could have is nothing.
        let mut fast = Header { rate: 995_000_000, ..port.header(Some(5), 500) };
        port.port.pass(port.now, (1, 0), &mut fast);
        assert_eq!(port.pass(2, Some(9), 500), 0);
    }

    #[test]
    fn the_list_holds_twice_as_many_as_send_and_the_place_says_how_often_to_probe() {
        let mut port = Bench::new(config());
        assert_eq!(port.pass(1, Some(1), 500), 1000);
        (2..=5).for_each(|flow| assert_eq!(port.pass(flow, Some(flow), 500), 0));
        assert_eq!((port.order(), port.port.others.len()), (vec![1, 2], 3));
        let mut port = Bench::new(Agents { list_factor: 9.0, ..config() });
        (1..=8).for_each(|flow| _ = port.pass(flow, Some(flow), 500));
        let mut header = port.header(Some(8), 500);
        port.port.pass(port.now, (8, 0), &mut header);
        assert_eq!(header.probe_every, 0.2 * 7.0);
    }

    #[test]
    fn a_port_that_has_let_one_go_keeps_the_others_for_a_moment() {
        let mut port = Bench::new(Agents { dampening: Some(Span::from_micros(10)), dampens_all: true, ..config() });
        assert_eq!(port.pass(1, Some(5), 10), 1000);
        port.now = Instant::from_micros(9);
        assert_eq!(port.pass(2, Some(6), 500), 0, "though the first is about to end");
        assert_eq!(port.pass(1, Some(5), 9), 1000, "a flow that sends goes on");
        port.now = Instant::from_micros(10);
        assert_eq!(port.pass(2, Some(6), 500), 1000);
    }

    /// PDQ 3.3.2: a switch that has just accepted a flow accepts other *paused* flows only after a while.
    #[test]
    fn dampening_keeps_paused_flows_and_lets_new_ones_pass() {
        let passed = |all: bool, was_paused: bool| {
            let own = Agents { dampening: Some(Span::from_micros(10)), dampens_all: all, ..config() };
            let mut bench = Bench::new(own);
            if was_paused {
                assert_eq!([bench.pass(3, Some(3), 500), bench.pass(2, Some(6), 500)], [1000, 0]);
                bench.port.pass(bench.now, (3, 0), &mut Header { over: true, ..bench.header(None, 0) });
            }
            bench.now = Instant::from_micros(20);
            assert_eq!(bench.pass(1, Some(7), 10), 1000);
            bench.now = Instant::from_micros(29);
            let mut header = Header { paused_by: was_paused.then_some(1), ..bench.header(Some(6), 500) };
            bench.port.pass(bench.now, (2, 0), &mut header);
            header.rate / 1_000_000
        };
        assert_eq!([passed(false, false), passed(false, true)], [1000, 0]);
        assert_eq!([passed(true, false), passed(true, true)], [0, 0]);
    }

    #[test]
    fn a_flow_that_its_own_link_holds_back_is_no_less_welcome_at_a_fast_port() {
        let mut bench = Bench { port: Port::new(config(), 200 * GBPS), now: Instant::ZERO };
        assert_eq!([bench.pass(1, None, 500), bench.pass(2, Some(9), 500)], [1000, 1000]);
    }

    #[test]
    fn dampening_follows_the_rate_of_the_port() {
        for (gbps, micros) in [(1, 10), (10, 1)] {
            let port =
                Port { let_go: Some(Instant::ZERO), ..Port::new(Agents { dampening: None, ..config() }, gbps * GBPS) };
            let last = Instant(micros * 1_000_000 - 1);
            assert_eq!((port.is_dampened(last), port.is_dampened(Instant(last.0 + 1))), (true, false), "{gbps} Gbit/s");
        }
    }

    #[test]
    fn who_is_silent_or_has_ended_is_forgotten() {
        let mut port = Bench::new(config());
        assert_eq!([port.pass(1, Some(5), 500), port.pass(2, Some(9), 500)], [1000, 0]);
        let mut over = Header { over: true, ..port.header(Some(5), 0) };
        port.port.pass(port.now, (1, 0), &mut over);
        assert_eq!(port.pass(2, Some(9), 500), 1000);
        port.now = Instant::from_micros(999);
        assert_eq!(port.pass(3, None, 500), 0);
        port.now = Instant::from_micros(1000);
        assert_eq!(port.pass(3, None, 500), 1000, "after ten round trips");
    }

    #[test]
    fn a_queue_takes_off_what_empties_it_in_two_round_trips() {
        let mut port = Port::new(config(), GBPS);
        // 5 KB in 200 us are 200 Mbit/s.
        port.set_capacity(Instant::ZERO, Bytes(5000));
        assert_eq!(port.capacity, 800_000_000);
        port.set_capacity(Instant::from_micros(199), Bytes(0));
        assert_eq!(port.capacity, 800_000_000);
        port.set_capacity(Instant::from_micros(200), Bytes(0));
        assert_eq!(port.capacity, GBPS);
        port.set_capacity(Instant::from_micros(400), Bytes(1_000_000));
        assert_eq!(port.capacity, 0);
    }

    #[test]
    fn those_beyond_the_list_share_what_it_leaves_while_they_are_heard_of() {
        let mut port = Bench::new(Agents { list_factor: 1.0, ..config() });
        let first = |port: &mut Bench| {
            let mut slow = Header { rate: 300_000_000, ..port.header(Some(1), 500) };
            port.port.pass(port.now, (1, 0), &mut slow);
            slow.rate / 1_000_000
        };
        assert_eq!(first(&mut port), 300);
        assert_eq!([2, 3, 4].map(|flow| port.pass(flow, Some(9), 500)), [700, 350, 233]);
        assert_eq!((port.order(), port.port.others.len()), (vec![1], 3));
        port.now = Instant::from_micros(500);
        first(&mut port);
        // Ten round trips after they were heard of they count no more.
        port.now = Instant::from_micros(1000);
        assert_eq!(port.pass(5, Some(9), 500), 700);
    }

    #[test]
    fn the_list_is_twice_as_long_where_two_send() {
        let mut port = Bench::new(config());
        for (flow, place) in [(1, 5), (2, 6)] {
            let mut half = Header { rate: 500_000_000, ..port.header(Some(place), 500) };
            port.port.pass(port.now, (flow, 0), &mut half);
            assert_eq!(half.rate, 500_000_000);
        }
        (3..=6).for_each(|flow| _ = port.pass(flow, Some(6 + flow), 500));
        assert_eq!(port.order(), [1, 2, 3, 4]);
    }

    #[test]
    fn early_start_has_exact_limits_and_nothing_is_no_rate() {
        // 25 KB are two round trips, and not fewer.
        let mut port = Bench::new(config());
        assert_eq!([port.pass(1, None, 25), port.pass(2, None, 500)], [1000, 0]);
        // 0.8 and 0.8 are 1.6: the third occupies its rate.
        let mut port = Bench::new(Agents { list_factor: 9.0, early_start: 1.6, ..config() });
        let rates: Vec<u64> = (1..=4).map(|flow| port.pass(flow, None, 10)).collect();
        assert_eq!(rates, [1000, 1000, 1000, 0]);
        // `pass` must pause a flow that gets nothing.
        let mut port = Bench::new(Agents { least_share: 0.0, ..config() });
        assert_eq!([port.pass(1, Some(5), 500), port.pass(2, Some(9), 500)], [1000, 0]);
    }

    #[test]
    fn a_port_reads_what_goes_and_leaves_alone_what_returns() {
        let own = config();
        // Of 1538 B on the wire 1500 are a segment's.
        let mut agent = own.at(Rate(GBPS), Bytes(38));
        let state = PortState { now: Instant::ZERO, sent_for: Span::ZERO, waiting_bytes: Bytes::ZERO };
        let bench = Bench::new(own);
        let mut show = |hop: u8, flags: Flags| {
            let mut header = crate::Header::Pdq(Box::new(Header { hop, uplink: 7, ..bench.header(None, 500) }));
            let packet = Packet::data(0, 1000, 40, Instant::ZERO, flags);
            assert!(agent.on_packet(&state, &packet, &mut header).is_none());
            let crate::Header::Pdq(header) = header else { unreachable!() };
            (header.hop, header.uplink)
        };
        assert_eq!(show(0, Flags::NONE), (1, 975_292_587));
        assert_eq!((show(1, Flags::NONE), show(0, Flags::ACK)), ((2, 7), (0, 7)));
        for (control, passes) in [("protected", true), ("plain", false)] {
            let transport = crate::registry::find("pdq").unwrap();
            let crate::registry::Control::Pdq(own) = transport.with(&[("control", control)]).unwrap().control else {
                panic!("another family")
            };
            let agent = own.ports.at(Rate(GBPS), Bytes::ZERO);
            let header = crate::Header::Pdq(Box::new(bench.header(None, 500)));
            let passed =
                |bytes| agent.passes_full_buffers(&Packet::data(0, bytes, 40, Instant::ZERO, Flags::NONE), &header);
            assert_eq!((passed(0), passed(1000)), (passes, false), "{control}");
        }
    }
}
