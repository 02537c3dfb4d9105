//! The router's side: one port's counters and its grants.

use std::collections::{BTreeMap, VecDeque};

use units::{Bytes, Default, Instant, Key, Kind, Range, Rate, Span, Values};

use super::header::rate_of;
use super::{Ask, Header, Rounding};
use crate::agent::{Agent, Allocation, Decision, Flow, PortState, Verdict};
use crate::{Flags, Packet, connection};

/// Parameters of the routers; one set for all transports of a run.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "base_rtt",
        kind: Kind::Time,
        default: Default::Is("200 us"),
        range: Range::POSITIVE,
        help: "the network's round-trip time without queues: what a sender assumes before its first sample, and the \
               interval of adaptation",
        source: "D2TCP 4.2.1: 200 us on average",
    },
    Key {
        name: "base_every",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the base rate, which every flow gets whatever else is granted, is one full segment in this time; \
               base_rtt when absent",
        source: "D2TCP 4.2.1: one segment per RTT; D3 sends a header only",
    },
    Key {
        name: "base_counts",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "a grant of the base rate counts as allocated; with it 17 such flows fill 1 Gbps at 200 us",
        source: "D3, section 4, adds every grant to A; open in D2TCP",
    },
    Key {
        name: "rate_rounding",
        kind: Kind::Choice(&["exact", "up", "nearest"]),
        default: Default::Is("exact"),
        range: Range::ANY,
        help: "how requests and grants fit into their fields: exactly, or as whole bytes per microsecond in 8 bits, \
               rounded up or to the nearest",
        source: "D2TCP 4.2.1 has the 8-bit field and does not say how it rounds the 0.1 to 0.4 B/us it asks for",
    },
    Key {
        name: "router_state",
        kind: Kind::Choice(&["soft", "counters"]),
        default: Default::Is("soft"),
        range: Range::ANY,
        help: "what a router subtracts of a flow: what it remembers of it, so that lost packets leave nothing behind, \
               or what the header says, as in the paper, so that lost grants and FINs stay counted for ever",
        source: "D3, section 4 (counters); what becomes of lost packets is open",
    },
    Key {
        name: "expiry",
        kind: Kind::Time,
        default: Default::Is("20 ms"),
        range: Range::POSITIVE,
        help: "with soft state, a flow of which a router has heard nothing for this long counts no more",
        source: "our choice: rto_min's default, so that only flows in a timeout or gone are silent for so long",
    },
    Key {
        name: "control",
        kind: Kind::Choice(&["protected", "plain"]),
        default: Default::Is("protected"),
        range: Range::ANY,
        help: "whether full buffers drop requests, grants and FINs that have no payload: protected, they do not",
        source: "open; a lost first request costs rto_initial",
    },
    Key {
        name: "adaptation",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "correct the capacity that a router gives away by the measured use of the link and its queue, as RCP does",
        source: "D3, section 4, as RCP; off: what is granted is used, and senders count their headers",
    },
    Key {
        name: "adaptation_alpha",
        kind: Kind::Number,
        default: Default::Is("0.1"),
        range: Range::between(0.0, 10.0),
        help: "with adaptation, the share of the unused rate that is added per interval",
        source: "RCP's form; the value is open",
    },
    Key {
        name: "adaptation_beta",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::between(0.0, 10.0),
        help: "with adaptation, the share of the rate that would empty the queue in an interval that is subtracted",
        source: "RCP's form; the value is open",
    },
    Key {
        name: "adaptation_floor",
        kind: Kind::Share,
        default: Default::Is("10%"),
        range: Range::UNIT,
        help: "with adaptation, the capacity does not fall below this share of the link's rate",
        source: "our choice: the formula by itself falls below zero on full buffers",
    },
    Key {
        name: "adaptation_ceiling",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::between(1.0, 100.0),
        help: "with adaptation, the capacity does not rise above so many times the link's rate; above 1 it makes up for \
               grants that flows cannot use because another link on their path grants less, and shares come near max-min",
        source: "our choice: 1, since the formula by itself runs away on idle links",
    },
];

/// The parameters of a run's routers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agents {
    /// The network's round-trip time without queues.
    pub base_rtt: Span,
    /// A full segment with its header, in bytes.
    pub segment: u64,
    /// The minimum rate of every flow, in bit/s.
    pub base: u64,
    /// A grant of the base rate counts as allocated.
    pub base_counts: bool,
    /// How rates are written into headers.
    pub rounding: Rounding,
    /// Subtracts the remembered values of a flow, not the values in its header.
    pub soft: bool,
    /// The time after which a silent flow is forgotten.
    pub expiry: Span,
    /// Control packets pass full buffers.
    pub protected: bool,
    /// Adaptation of the capacity to the link, if there is any.
    pub adaptation: Option<Adaptation>,
}

/// Adaptation of a router's capacity to the measured use of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    alpha: f64,
    beta: f64,
    floor: f64,
    ceiling: f64,
}

impl Agents {
    /// True, as it answers requests, which may be denied.
    pub const COUNTS_REQUESTS: bool = true;

    /// Returns the router of one port. Rates count headers but not the overhead of frames, so that this part of the
    /// link is not allocated.
    pub fn at(&self, rate: Rate, frame_overhead: Bytes) -> Box<dyn Agent> {
        let net = u128::from(rate.0) * u128::from(self.segment) / u128::from(self.segment + frame_overhead.0);
        Box::new(Router::new(*self, net as u64))
    }

    /// Reads the parameters from checked values.
    pub fn from_values(values: &Values, connection: &connection::Config) -> Agents {
        let base_rtt = values.time("base_rtt");
        let segment = u64::from(connection.mss + connection.header);
        Agents {
            base_rtt,
            segment,
            base: rate_of(segment, values.time_if_set("base_every").unwrap_or(base_rtt)),
            base_counts: values.bool("base_counts"),
            rounding: match values.choice("rate_rounding") {
                "up" => Rounding::Up,
                "nearest" => Rounding::Nearest,
                _ => Rounding::Exact,
            },
            soft: values.choice("router_state") == "soft",
            expiry: values.time("expiry"),
            protected: values.choice("control") == "protected",
            adaptation: values.bool("adaptation").then(|| Adaptation {
                alpha: values.number("adaptation_alpha"),
                beta: values.number("adaptation_beta"),
                floor: values.number("adaptation_floor"),
                ceiling: values.number("adaptation_ceiling"),
            }),
        }
    }
}

/// One egress port. Rates are in bit/s.
#[derive(Clone, Debug)]
pub struct Router {
    config: Agents,
    /// The rate of the link.
    rate: u64,
    /// C: the rate that may be allocated.
    capacity: u64,
    /// A: sum of the allocated rates.
    allocated: u64,
    /// R: sum of the requested rates.
    requested: u64,
    /// N: number of requesting flows.
    flows: u64,
    /// The remembered request and grant of each flow.
    known: BTreeMap<Flow, Known>,
    /// The flows in the order of their last requests, with entries of flows that have requested again since.
    heard: VecDeque<(Instant, Flow)>,
    measured: Measured,
}

/// A router's memory of a flow.
#[derive(Clone, Copy, Debug)]
struct Known {
    request: u64,
    grant: u64,
    heard: Instant,
}

/// The time at which the capacity was last adapted, and the link's total sending time then.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    at: Instant,
    sent_for: Span,
}

impl Router {
    /// Returns a port with a link of `rate` bit/s, and no flows.
    pub fn new(config: Agents, rate: u64) -> Router {
        Router {
            config,
            rate,
            capacity: rate,
            allocated: 0,
            requested: 0,
            flows: 0,
            known: BTreeMap::new(),
            heard: VecDeque::new(),
            measured: Measured::default(),
        }
    }

    /// Answers a request in place (D3, section 4), and returns its decision.
    pub fn answer(&mut self, now: Instant, flow: Flow, request: &mut Header) -> Verdict {
        self.settle(now);
        let hop = request.grants.len();
        if hop == 0 {
            request.uplink = self.rate;
        }
        let known = self.known.remove(&flow);
        // The flow's previous request and grant; none if it is new.
        let before = if self.config.soft {
            known.map(|known| (known.request, known.grant))
        } else {
            let granted = request.previous.get(hop).copied().unwrap_or(0);
            (request.ask != Ask::Open).then_some((request.previous_request, granted))
        };
        if let Some((request, grant)) = before {
            self.forget(request, grant);
        }
        if request.ask == Ask::Close {
            request.grants.push(0);
            return Verdict::Ended;
        }
        let asked = request.request;
        self.flows += 1;
        self.requested = self.requested.saturating_add(asked);
        let left = self.capacity.saturating_sub(self.allocated);
        let granted = self.grant(asked, left);
        self.allocated = self.allocated.saturating_add(self.counted(granted));
        request.grants.push(granted);
        if self.config.soft {
            self.known.insert(flow, Known { request: asked, grant: granted, heard: now });
            self.heard.push_back((now, flow));
        }
        let until = now.saturating_add(self.config.expiry);
        Verdict::Granted { number: request.number, hop, deadline: request.deadline, asked, granted, left, until }
    }

    /// Forgets the flows that have been silent for too long.
    pub fn settle(&mut self, now: Instant) {
        while let Some(&(at, flow)) = self.heard.front()
            && at.saturating_add(self.config.expiry) <= now
        {
            self.heard.pop_front();
            if let Some(known) = self.known.get(&flow).copied().filter(|known| known.heard == at) {
                self.known.remove(&flow);
                self.forget(known.request, known.grant);
            }
        }
    }

    /// Adapts the capacity (D3, section 4) to a link whose total sending time is `sent_for` and whose queue holds
    /// `waiting` bytes.
    pub fn adapt(&mut self, now: Instant, sent_for: Span, waiting: u64) {
        let Some(Adaptation { alpha, beta, floor, ceiling }) = self.config.adaptation else { return };
        let elapsed = now.saturating_sub(self.measured.at);
        if elapsed < self.config.base_rtt {
            return;
        }
        let rate = self.rate as f64;
        let intervals = elapsed.0 as f64 / self.config.base_rtt.0 as f64;
        let used = rate * (sent_for.saturating_sub(self.measured.sent_for).0 as f64 / elapsed.0 as f64);
        let drain = waiting as f64 * 8.0 / self.config.base_rtt.as_secs_f64();
        let capacity = self.capacity as f64 + alpha * (rate - used) * intervals - beta * drain;
        self.capacity = capacity.clamp(floor * rate, ceiling * rate) as u64;
        self.measured = Measured { at: now, sent_for };
    }

    fn grant(&self, request: u64, left: u64) -> u64 {
        let share = self.capacity.saturating_sub(self.requested) / self.flows;
        let grant = if left > request { request.saturating_add(share) } else { left };
        self.config.rounding.of(grant.max(self.config.base))
    }

    /// Returns the part of a grant that is added to A.
    fn counted(&self, grant: u64) -> u64 {
        if self.config.base_counts || grant > self.config.rounding.of(self.config.base) { grant } else { 0 }
    }

    /// Subtracts a flow from the counters. Headers may contain more than was added; nothing falls below zero.
    fn forget(&mut self, request: u64, grant: u64) {
        self.flows = self.flows.saturating_sub(1);
        self.requested = self.requested.saturating_sub(request);
        self.allocated = self.allocated.saturating_sub(self.counted(grant));
    }
}

impl Agent for Router {
    fn on_packet(&mut self, port: &PortState, packet: &Packet, header: &mut crate::Header) -> Option<Decision> {
        let crate::Header::D3(request) = header else { return None };
        if packet.flags.has(Flags::ACK) {
            // The returned copy of a header was answered on its way to the receiver.
            return None;
        }
        self.adapt(port.now, port.sent_for, port.waiting_bytes.0);
        let flow = (request.own, request.message);
        let verdict = self.answer(port.now, flow, request);
        Some(Decision { flow, verdict })
    }

    fn passes_full_buffers(&self, packet: &Packet, header: &crate::Header) -> bool {
        self.config.protected && packet.payload == 0 && matches!(header, crate::Header::D3(_))
    }

    fn settle(&mut self, now: Instant) {
        Router::settle(self, now);
    }

    fn allocation(&self) -> Option<Allocation> {
        Some(Allocation { allocated: self.allocated, requested: self.requested, flows: self.flows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: u64 = 1_000_000;
    const US: u64 = 1_000_000;

    /// A base of 60 Mbit/s: 1500 B per 200 us.
    fn config() -> Agents {
        Agents {
            base_rtt: Span::from_micros(200),
            segment: 1500,
            base: rate_of(1500, Span::from_micros(200)),
            base_counts: true,
            rounding: Rounding::Exact,
            soft: true,
            expiry: Span::from_millis(20),
            protected: true,
            adaptation: None,
        }
    }

    fn counters(allocated: u64, requested: u64, flows: u64) -> Allocation {
        Allocation { allocated: allocated * MBPS, requested: requested * MBPS, flows }
    }

    /// One port of 1 Gbit/s, and each flow's memory of its last answer.
    struct Bench {
        router: Router,
        now: Instant,
        answers: BTreeMap<u32, (u64, u64)>,
    }

    impl Bench {
        fn new(config: Agents) -> Bench {
            let router = Router::new(config, 1000 * MBPS);
            Bench { router, now: Instant::ZERO, answers: BTreeMap::new() }
        }
        fn send(&mut self, flow: u32, ask: Ask, request: u64) -> u64 {
            let before = self.answers.get(&flow).copied();
            let mut header = Header {
                ask,
                own: 0,
                message: 0,
                deadline: None,
                number: 0,
                sent: self.now,
                request,
                previous_request: before.map_or(0, |before| before.0),
                previous: before.iter().map(|before| before.1).collect(),
                grants: Vec::new(),
                uplink: 0,
            };
            self.router.answer(self.now, (flow.into(), 0), &mut header);
            assert_eq!(header.grants.len(), 1, "each hop adds its grant");
            header.grants[0]
        }
        /// Requests a rate in Mbit/s and returns the grant in Mbit/s, which reaches the sender.
        fn ask(&mut self, flow: u32, mbps: u64) -> u64 {
            let ask = if self.answers.contains_key(&flow) { Ask::Renew } else { Ask::Open };
            let grant = self.send(flow, ask, mbps * MBPS);
            self.answers.insert(flow, (mbps * MBPS, grant));
            grant / MBPS
        }
        fn close(&mut self, flow: u32) {
            self.send(flow, Ask::Close, 0);
            self.answers.remove(&flow);
        }
        fn counters(&self) -> Allocation {
            self.router.allocation().expect("a router of d3 counts its allocation")
        }
    }

    #[test]
    fn the_algorithm_by_hand() {
        for soft in [true, false] {
            let mut port = Bench::new(Agents { soft, ..config() });
            // Alone: r + (C - R) / N = 300 + 700.
            assert_eq!(port.ask(1, 300), 1000);
            assert_eq!(port.counters(), counters(1000, 300, 1));
            // Nothing is left: the base, which is counted beyond C.
            assert_eq!(port.ask(2, 400), 60);
            assert_eq!(port.counters(), counters(1060, 700, 2));
            // left = 1000 - 60 > 300, so 300 + (1000 - 700) / 2.
            assert_eq!(port.ask(1, 300), 450);
            assert_eq!(port.counters(), counters(510, 700, 2));
            // left = 1000 - 450 > 400: 400 + 150.
            assert_eq!(port.ask(2, 400), 550);
            // A third requests more than is left: the base; its request lowers the share of all.
            assert_eq!(port.ask(3, 500), 60);
            assert_eq!(port.counters(), counters(1060, 1200, 3));
            assert_eq!(port.ask(2, 400), 400, "R exceeds C: no share beyond the request");
            assert_eq!(port.ask(1, 300), 300);
            // left = 1000 - 700: less than asked for is granted in part.
            assert_eq!(port.ask(3, 500), 300);
            assert_eq!(port.counters(), counters(1000, 1200, 3));
            port.close(2);
            assert_eq!(port.counters(), counters(600, 800, 2));
            port.close(1);
            port.close(3);
            assert_eq!(port.counters(), counters(0, 0, 0));
        }
    }

    #[test]
    fn equal_flows_share_within_two_rounds() {
        for flows in [2, 5, 10] {
            let mut port = Bench::new(config());
            for _ in 0..2 {
                (0..flows).for_each(|flow| {
                    port.ask(flow, 0);
                });
            }
            for flow in 0..flows {
                assert_eq!(port.ask(flow, 0), 1000 / u64::from(flows));
            }
        }
    }

    #[test]
    fn the_base_is_there_for_everybody_and_fills_the_port_only_if_it_counts() {
        // D2TCP's base of one segment per 200 us: the 17th such flow finds 1 Gbps full.
        for (base_counts, allocated) in [(true, 1000 + 39 * 60), (false, 1000)] {
            let mut port = Bench::new(Agents { base_counts, ..config() });
            assert_eq!(port.ask(0, 0), 1000);
            for flow in 1..40 {
                assert_eq!(port.ask(flow, 10), 60);
            }
            assert_eq!(port.counters(), counters(allocated, 390, 40));
            // 39 x 60 are more than C if they count. If not, the first one's 1000 are free again: 500 + 110 / 40.
            assert_eq!(port.ask(0, 500), if base_counts { 60 } else { 502 });
            (0..40).for_each(|flow| port.close(flow));
            assert_eq!(port.counters(), counters(0, 0, 0));
        }
    }

    #[test]
    fn rounded_up_more_is_given_away_than_there_is() {
        let grants = |rounding| {
            let mut port = Bench::new(Agents { rounding, base: 0, ..config() });
            (0..80).for_each(|flow| {
                port.ask(flow % 40, 0);
            });
            (0..40).map(|flow| port.send(flow, Ask::Renew, 0)).sum::<u64>() / MBPS
        };
        // 25 Mbit/s each are 3.125 B/us: 3 to the nearest, 4 rounded up until nothing is left.
        assert_eq!((grants(Rounding::Exact), grants(Rounding::Nearest)), (1000, 40 * 24));
        assert!((1000..1032).contains(&grants(Rounding::Up)), "{}", grants(Rounding::Up));
    }

    #[test]
    fn what_is_lost_on_the_way_leaves_nothing_behind_in_soft_state() {
        let mut port = Bench::new(config());
        port.ask(1, 300);
        // The answers to these two are lost: the sender still reports the first.
        port.send(1, Ask::Renew, 200 * MBPS);
        port.send(1, Ask::Renew, 100 * MBPS);
        assert_eq!(port.counters(), counters(1000, 100, 1));
        // So is the SYN's answer of another, which is sent again.
        port.send(2, Ask::Open, 50 * MBPS);
        port.send(2, Ask::Open, 50 * MBPS);
        assert_eq!(port.counters(), counters(1060, 150, 2));
        // The FIN of the first is lost.
        port.now = Instant::from_millis(10);
        port.send(2, Ask::Open, 50 * MBPS);
        port.now = Instant::from_millis(20);
        port.router.settle(port.now);
        assert_eq!(port.counters(), counters(60, 50, 1));
        port.now = Instant::from_millis(30);
        port.router.settle(port.now);
        assert_eq!(port.counters(), counters(0, 0, 0));
        // It was only slow: it counts again when it asks again.
        assert_eq!(port.ask(1, 300), 1000);
        assert_eq!(port.counters(), counters(1000, 300, 1));
        port.close(1);
        port.close(1);
        assert_eq!(port.counters(), counters(0, 0, 0));
    }

    #[test]
    fn counters_alone_keep_what_was_lost() {
        let mut port = Bench::new(Agents { soft: false, ..config() });
        port.ask(1, 300);
        port.send(1, Ask::Renew, 200 * MBPS); // its answer is lost
        port.send(1, Ask::Close, 0); // reports 300 and 1000
        assert_eq!((port.counters().flows, port.counters().requested), (0, 0));
        port.send(2, Ask::Open, 50 * MBPS); // neither answer nor FIN arrive
        port.now = Instant::from_secs_f64(10.0);
        port.router.settle(port.now);
        assert_eq!((port.counters().flows, port.counters().requested), (1, 50 * MBPS));
    }

    #[test]
    fn the_counters_are_the_sum_over_flows_whatever_is_lost() {
        let mut bits = 1u64;
        let mut below = |n: u64| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (bits >> 33) % n
        };
        let mut port = Bench::new(config());
        for step in 0..20_000 {
            port.now = Instant(step * 50 * US);
            let flow = below(60) as u32;
            match below(5) {
                0 => port.close(flow),
                1 => {
                    port.send(flow, Ask::Renew, below(100) * MBPS);
                }
                _ => {
                    port.ask(flow, below(100));
                }
            }
            let known = &port.router.known;
            let sum = |what: fn(&Known) -> u64| known.values().map(what).sum::<u64>();
            let expected = Allocation {
                allocated: sum(|flow| flow.grant),
                requested: sum(|flow| flow.request),
                flows: known.len() as u64,
            };
            assert_eq!(port.counters(), expected);
            assert!(known.values().all(|flow| flow.grant >= port.router.config.base));
        }
        port.router.settle(Instant::MAX);
        assert_eq!(port.counters(), counters(0, 0, 0));
        assert!(port.router.known.is_empty() && port.router.heard.is_empty());
    }

    #[test]
    fn the_capacity_follows_the_link() {
        let adaptation = Some(Adaptation { alpha: 0.1, beta: 1.0, floor: 0.1, ceiling: 1.0 });
        let mut port = Bench::new(Agents { adaptation, ..config() });
        let capacity = |port: &Bench| port.router.capacity / MBPS;
        port.router.adapt(Instant(200 * US), Span(200 * US), 0);
        assert_eq!(capacity(&port), 1000, "fully used, no queue");
        // 5000 B drain at 200 Mbit/s in 200 us.
        port.router.adapt(Instant(400 * US), Span(400 * US), 5000);
        assert_eq!(capacity(&port), 800);
        port.router.adapt(Instant(500 * US), Span(400 * US), 5000);
        assert_eq!(capacity(&port), 800, "the interval is not over");
        // Half used: 0.1 x 500.
        port.router.adapt(Instant(600 * US), Span(500 * US), 0);
        assert_eq!(capacity(&port), 850);
        port.router.adapt(Instant(800 * US), Span(700 * US), 1_000_000);
        assert_eq!(capacity(&port), 100, "not below the floor");
        port.router.adapt(Instant(80_000 * US), Span(700 * US), 0);
        assert_eq!(capacity(&port), 1000, "not above the link");
        // Unless it may make up for grants that are not used: 0.1 x 1000 Mbit/s per interval, up to twice the link.
        let adaptation = adaptation.map(|rules| Adaptation { ceiling: 2.0, ..rules });
        let mut port = Bench::new(Agents { adaptation, ..config() });
        port.router.adapt(Instant(1000 * US), Span::ZERO, 0);
        assert_eq!(capacity(&port), 1500);
        port.router.adapt(Instant(80_000 * US), Span::ZERO, 0);
        assert_eq!(capacity(&port), 2000);
    }
}
