//! The cost of a run, from its scenario alone: messages, packets, packet-hops, rows and memory.
//!
//! There is no estimate of the time: it depends on the machine and on its load more than on the scenario.
//!
//! Nothing is simulated and few messages are drawn. The expected traffic of each class is multiplied by the length of
//! sampled routes, so that the answer takes no longer for more messages or a longer run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use sim::topology::routing::Routing;
use sim::traffic::Batch;
use sim::traffic::offered::Demand;
use sim::{Class, Scenario, Transport};
use units::{HostId, Instant, LinkId, Table};

/// The number of requests that are drawn of each class, to find flows without end and the size of queries.
const DRAWN: usize = 4000;
/// The number of routes of a demand that are sampled, and of all demands.
const ROUTES: usize = 64;
const ALL_ROUTES: usize = 20_000;

/// Bytes that a process has without a network: Python, and with `--out` the libraries that write tables.
const IDLE_BYTES: f64 = 27e6;
const TABLES_BYTES: f64 = 30e6;
/// Bytes for each host, each direction of a link, and each open connection, both of its ends.
const HOST_BYTES: f64 = 700.0;
const LINK_BYTES: f64 = 800.0;
const CONNECTION_BYTES: f64 = 2300.0;
/// Bytes of a packet on its way.
const PACKET_BYTES: f64 = 100.0;
/// Bytes of the distance from each node to each host that receives, where hosts route.
const DISTANCE_BYTES: f64 = 4.0;
/// Bytes of the sums for a pair of hosts that exchange messages, and of its route.
const PAIR_BYTES: f64 = 200.0;
/// Bytes of a message's values for the summaries, which every run keeps, and of its whole row.
const VALUE_BYTES: f64 = 24.0;
const ROW_BYTES: f64 = 190.0;
/// Bytes for the bound of a message with a deadline: itself, and its demands on its two links.
const BOUND_BYTES: f64 = 112.0;
/// With `--out`: the blocks of rows that are held at a time, and the number of values that are sorted at a time.
const BLOCKS: f64 = 2.0;
const SORTED: f64 = 1e6;

/// The expected traffic of a run, before it is turned into memory.
#[derive(Default)]
struct Cost {
    messages: f64,
    queries: f64,
    without_end: f64,
    packets: f64,
    /// Packet-hops in the duration, which the results count.
    packet_hops: f64,
    in_flight: f64,
    connections: f64,
    /// Pairs of hosts that exchange messages.
    pairs: f64,
    with_deadline: f64,
}

/// Returns the expected cost of a run, as `duetime check --explain --json` has it under `cost`.
pub(crate) fn of(scenario: &Scenario) -> Json {
    let graph = &scenario.network.graph;
    let mut routes = Sampled { ways: Routing::new(graph), left: ALL_ROUTES, mean: None };
    let mut cost = Cost::default();
    let mut endless = Endless::default();
    let finite = Received::of(scenario);
    for (index, class) in scenario.classes.iter().enumerate() {
        let drawn = Drawn::of(scenario, class);
        cost.add_finite(scenario, class, &drawn, &mut routes, &finite);
        endless.add(index, &drawn, &mut routes);
    }
    cost.add_endless(scenario, &endless, &finite);
    cost.to_json(scenario)
}

impl Cost {
    fn add_finite(
        &mut self,
        scenario: &Scenario,
        class: &Class,
        drawn: &Drawn,
        routes: &mut Sampled,
        received: &Received,
    ) {
        let transport = &scenario.transports[class.transport];
        let connection = &transport.config.connection;
        let (mss, duration) = (f64::from(connection.mss), scenario.run.duration.as_secs_f64());
        let constant = class.generator.sizes().is_some_and(|sizes| sizes.is_constant());
        let mut messages = 0.0;
        class.generator.demand(scenario.run.duration.after_start(), &mut |demand: Demand| {
            if demand.messages <= 0.0 {
                return;
            }
            let mean = demand.bytes / demand.messages;
            let each = if constant || mean < mss { (mean / mss).ceil().max(1.0) } else { mean / mss + 0.5 };
            let (links, delay_s) = routes.of(scenario, &demand, transport, mss);
            let packets = demand.messages * each;
            let hops = links * demand.messages * packets_and_answers(transport, class, each);
            let measured = received.share_that_arrives(&demand);
            messages += demand.messages;
            self.packets += packets * measured;
            self.packet_hops += hops * measured;
            // Packets of messages that arrive, and the first windows of the others.
            let first = each.min(connection.initial_window.max(1.0));
            self.in_flight += packets * measured * delay_s / duration + demand.messages * (1.0 - measured) * first;
            // A message takes its round trips and its bytes at the rate of its path. One that does not arrive is open.
            let rate = routes.rate(scenario, &demand).unwrap_or_else(|| received.rate(demand.to));
            let takes = 4.0 * delay_s + 2.0 * demand.bytes / demand.messages * 8.0 / rate;
            let share_open = takes / duration + 1.0 - measured;
            let pairs = demand.from.len() as f64 * demand.to.len() as f64;
            let open = if class.persistent { pairs } else { (demand.messages * share_open).max(1.0) };
            self.connections += open.min(demand.messages);
            self.pairs += pairs * (1.0 - (-demand.messages / pairs).exp());
        });
        self.messages += messages;
        self.with_deadline += messages * drawn.with_deadline;
        self.queries += messages * drawn.queries;
        let window = connection.initial_window.max(1.0);
        self.in_flight = self.in_flight.max(drawn.at_once * window.min(self.packets / self.messages.max(1.0)));
        self.connections = self.connections.max(drawn.at_once);
    }

    fn add_endless(&mut self, scenario: &Scenario, endless: &Endless, finite: &Received) {
        let graph = &scenario.network.graph;
        for flow in &endless.flows {
            let class = &scenario.classes[flow.class];
            let transport = &scenario.transports[class.transport];
            let frame = frame_of(scenario, transport);
            let fair = |link: &LinkId| {
                let spec = &graph.links[link.index()];
                let left = if spec.to < graph.hosts { 1.0 - finite.load(HostId(spec.to)) } else { 1.0 };
                spec.rate.as_bps_f64() * left.max(0.1) / endless.on_link[link]
            };
            let rate = flow.path.iter().map(fair).fold(f64::INFINITY, f64::min);
            let lasts = scenario.run.duration.after_start().saturating_sub(flow.start).as_secs_f64();
            let packets = flow.stands_for * rate / 8.0 / frame * lasts;
            let trip: f64 = flow.path.iter().map(|link| 2.0 * graph.links[link.index()].delay.as_secs_f64()).sum();
            self.packets += packets;
            self.packet_hops += flow.path.len() as f64 * packets * (1.0 + answers_per_packet(transport));
            self.in_flight += flow.stands_for * (rate / 8.0 / frame * trip + 2.0);
            self.without_end += flow.stands_for;
            self.connections += flow.stands_for;
        }
    }

    fn to_json(&self, scenario: &Scenario) -> Json {
        let graph = &scenario.network.graph;
        let links = graph.links.len() as f64;
        let network = HOST_BYTES * f64::from(graph.hosts)
            + LINK_BYTES * links
            + CONNECTION_BYTES * self.connections
            + PACKET_BYTES * self.in_flight
            + PAIR_BYTES * self.pairs
            + if graph.hosts_route() {
                DISTANCE_BYTES * f64::from(graph.hosts) * f64::from(graph.nodes())
            } else {
                0.0
            };
        let flows = self.messages + self.without_end;
        let values = VALUE_BYTES * flows + BOUND_BYTES * self.with_deadline;
        let block = sim::BLOCK as f64;
        let rows = |held: f64| ROW_BYTES * flows.min(held);
        let sorted = VALUE_BYTES * (flows.min(SORTED) + self.with_deadline.min(SORTED));
        json!({
            "messages": self.messages.round(),
            "flows_without_end": self.without_end.round(),
            "packets": self.packets.round(),
            "packet_hops": self.packet_hops.round(),
            "packets_in_flight": self.in_flight.ceil(),
            "rows": { "flows": flows.round(), "queries": self.queries.round(), "links": links },
            "memory_bytes": (IDLE_BYTES + network + values + rows(block)).round(),
            "memory_with_out_bytes": (IDLE_BYTES + TABLES_BYTES + network + sorted + rows(BLOCKS * block)).round(),
            "rows_bytes": rows(flows).round(),
            "memory_with_rows_bytes": (IDLE_BYTES + network + values + rows(flows)).round(),
        })
    }
}

/// Returns the wire bytes of a full packet.
fn frame_of(scenario: &Scenario, transport: &Transport) -> f64 {
    let connection = &transport.config.connection;
    f64::from(connection.mss + connection.header) + scenario.network.frame_overhead.as_f64()
}

/// Returns the number of ACKs for each packet of a long flow.
fn answers_per_packet(transport: &Transport) -> f64 {
    1.0 / f64::from(transport.config.connection.ack_every.max(1))
}

/// Returns the packets of a message in both directions: data, ACKs and the opening of its connection.
fn packets_and_answers(transport: &Transport, class: &Class, packets: f64) -> f64 {
    let opening = if transport.config.connection.handshake && !class.persistent { 2.0 } else { 0.0 };
    packets + (packets * answers_per_packet(transport)).max(1.0) + opening
}

/// Routes of some pairs of hosts, for the mean length of all.
struct Sampled {
    ways: Routing,
    /// The number of routes that may still be sampled.
    left: usize,
    /// The mean of the routes so far, for demands after those.
    mean: Option<(f64, f64)>,
}

impl Sampled {
    /// Returns the mean number of links between the hosts of a demand, and the seconds that a packet is on them.
    fn of(&mut self, scenario: &Scenario, demand: &Demand, transport: &Transport, mss: f64) -> (f64, f64) {
        let Demand { from, to, .. } = *demand;
        if let (0, Some(mean)) = (self.left, self.mean) {
            return mean;
        }
        let frame = frame_of(scenario, transport).max(mss);
        let many = ROUTES.min(from.len() * to.len()).min(self.left.max(1));
        let (mut links, mut seconds, mut found) = (0, 0.0, 0);
        for number in 0..many {
            // Strides that have no common factor with most numbers of hosts.
            let (source, target) = (from[number * 7919 % from.len()], to[(number * 104_729 + number / 7) % to.len()]);
            if source == target {
                continue;
            }
            let path = self.path(source, target, number as u64);
            links += path.len();
            let specs = path.iter().map(|link| &scenario.network.graph.links[link.index()]);
            seconds += specs.map(|spec| spec.delay.as_secs_f64() + frame * 8.0 / spec.rate.as_bps_f64()).sum::<f64>();
            found += 1;
        }
        self.left = self.left.saturating_sub(many);
        let found_or_one = f64::from(found.max(1));
        let mean = if found == 0 {
            self.mean.unwrap_or((2.0, 0.0))
        } else {
            (links as f64 / found_or_one, seconds / found_or_one)
        };
        self.mean = Some(mean);
        mean
    }

    /// Returns the rate of a message between the first hosts of a demand, where hosts have several links.
    fn rate(&mut self, scenario: &Scenario, demand: &Demand) -> Option<f64> {
        let Scenario { network, .. } = scenario;
        let &from = demand.from.first().filter(|_| network.graph.hosts_route())?;
        let to = *demand.to.iter().find(|to| **to != from)?;
        Some(self.ways.rate(&network.graph, (from, to), network.sprays()).as_bps_f64().max(1.0))
    }

    /// Returns one of the shortest routes; `number` chooses among several.
    fn path(&mut self, from: HostId, to: HostId, number: u64) -> Vec<LinkId> {
        self.ways.prepare(to);
        let (mut path, mut node, mut draw) = (Vec::new(), from.0, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        while node != to.0 {
            let choices = self.ways.choices(node, to);
            if choices.is_empty() {
                break;
            }
            draw = draw.rotate_left(23).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ u64::from(node);
            let (link, next) = choices[(draw >> 33) as usize % choices.len()];
            path.push(link);
            node = next;
        }
        path
    }
}

/// The first messages of a class.
struct Drawn {
    /// Sender, receiver and start of the flows without end.
    endless: Vec<(HostId, HostId, Instant)>,
    /// The number of flows without end for each flow in this list.
    stands_for: f64,
    /// The mean number of queries for each of its messages.
    queries: f64,
    /// The number of messages that become known at the same time, at most.
    at_once: f64,
    /// The share of its messages that have a deadline.
    with_deadline: f64,
}

impl Drawn {
    fn of(scenario: &Scenario, class: &Class) -> Drawn {
        let end = scenario.run.duration.after_start();
        let mut generator = class.generator.again();
        let (mut endless, mut queries) = (Vec::new(), BTreeSet::new());
        let (mut messages, mut with_deadline, mut is_all) = (0_usize, 0_usize, true);
        // The messages of the present time, and the most of any time.
        let (mut last, mut now, mut at_once) = (None, 0_usize, 0_usize);
        while let Some(batch) = generator.next() {
            if batch.at >= end {
                break;
            }
            if messages >= DRAWN {
                is_all = false;
                break;
            }
            let batch = match batch.messages.is_empty() {
                true => Batch { messages: generator.sketch(batch.at), ..batch },
                false => batch,
            };
            now = if last == Some(batch.at) { now + batch.messages.len() } else { batch.messages.len() };
            (last, at_once) = (Some(batch.at), at_once.max(now));
            messages += batch.messages.len();
            with_deadline += batch.messages.iter().filter(|request| request.deadline.is_some()).count();
            with_deadline += batch.times_alone.len();
            queries.extend(batch.messages.iter().filter_map(|request| request.query));
            let of_batch = batch.messages.iter().filter(|request| request.bytes.is_none() && request.start < end);
            endless.extend(of_batch.map(|request| (request.from, request.to, request.start)));
        }
        let (expected, _) = class.generator.expected(end);
        let stands_for = if is_all { 1.0 } else { (expected / messages as f64).max(1.0) };
        // Levels of a tree follow from arrivals: every message of a query is of one query.
        let share = |count: usize| count as f64 / messages.max(1) as f64;
        // Requests of stages have rows of their own.
        let queries = if class.generator.plan().is_some() { 0 } else { queries.len() };
        let (queries, with_deadline) = (share(queries), share(with_deadline));
        Drawn { endless, stands_for, queries, at_once: at_once as f64, with_deadline }
    }
}

/// A flow without end, with its route.
struct Flow {
    class: usize,
    start: Instant,
    path: Vec<LinkId>,
    stands_for: f64,
}

/// The flows without end of all classes.
#[derive(Default)]
struct Endless {
    flows: Vec<Flow>,
    /// The number of flows on each link that has any.
    on_link: BTreeMap<LinkId, f64>,
}

impl Endless {
    /// Adds the flows of the class at an index.
    fn add(&mut self, class: usize, drawn: &Drawn, routes: &mut Sampled) {
        for &(from, to, start) in &drawn.endless {
            let path = routes.path(from, to, self.flows.len() as u64 + 1);
            path.iter().for_each(|&link| *self.on_link.entry(link).or_default() += drawn.stands_for);
            self.flows.push(Flow { class, start, path, stands_for: drawn.stands_for });
        }
    }
}

/// The expected bytes that messages bring to each host, and the rate of its links.
struct Received {
    bytes: Table<HostId, f64>,
    /// Bits per second of all links to each host.
    rates: Table<HostId, f64>,
    duration_s: f64,
}

impl Received {
    /// The number of additions after which the loads of hosts are no longer followed.
    const MAX_STEPS: usize = 5_000_000;

    fn of(scenario: &Scenario) -> Received {
        let graph = &scenario.network.graph;
        let zeros = || Table::from(vec![0.0; graph.hosts as usize]);
        let (mut bytes, mut rates, mut steps) = (zeros(), zeros(), 0);
        for link in graph.links.iter().filter(|link| link.to < graph.hosts) {
            rates[HostId(link.to)] += link.rate.as_bps_f64();
        }
        for class in &scenario.classes {
            class.generator.demand(scenario.run.duration.after_start(), &mut |demand: Demand| {
                steps += demand.to.len();
                if steps <= Received::MAX_STEPS {
                    demand.to.iter().for_each(|&host| bytes[host] += demand.bytes / demand.to.len() as f64);
                }
            });
        }
        Received { bytes, rates, duration_s: scenario.run.duration.as_secs_f64() }
    }

    /// Returns the load of the links to a host, as a share of their rate.
    fn load(&self, host: HostId) -> f64 {
        self.bytes[host] * 8.0 / self.duration_s / self.rates[host]
    }

    /// Returns the rate of all links to the first of some hosts.
    fn rate(&self, hosts: &[HostId]) -> f64 {
        hosts.first().map_or(f64::INFINITY, |&host| self.rates[host])
    }

    /// Returns the share of a demand's bytes that its first receiver's link can carry in the duration.
    fn share_that_arrives(&self, demand: &Demand) -> f64 {
        let Some(&host) = demand.to.first() else { return 1.0 };
        (self.rates[host] / 8.0 * self.duration_s / self.bytes[host].max(1.0)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Options, Source};

    fn cost(text: &str) -> Json {
        let source = Source { name: "test", text, folder: None };
        crate::cost(&source, &Options::default()).expect("a valid scenario")
    }

    /// Two hosts at a switch, with 1 Gbps.
    fn star(traffic: &str) -> String {
        format!(
            "profile = \"classic\"\nrun = {{ duration = \"100 ms\" }}\n\
             network = {{ topology = \"star\", hosts = 3, rate = \"1 Gbps\", delay = \"5 us\" }}\n\
             transport = {{ name = \"tcp\", mss = \"1460 B\", ack_every = 1 }}\n[[traffic]]\nname = \"a\"\n{traffic}"
        )
    }

    #[test]
    fn messages_of_constant_size_have_their_packets_hops_and_acks() {
        // 4 queries, from 20 ms on, of 2 answers of 10 packets: 80 packets over two links, with an ACK each.
        let found = cost(&star("pattern = \"fan-in\"\nleaves = 2\nevery = \"20 ms\"\nsize = \"14600 B\""));
        assert_eq!(found["messages"], 8.0);
        assert_eq!(found["packets"], 80.0);
        assert_eq!(found["packet_hops"], 320.0);
        assert_eq!(found["rows"], json!({ "flows": 8.0, "queries": 4.0, "links": 6.0 }));
    }

    #[test]
    fn clients_ask_as_often_as_they_and_the_links_can() {
        let of = |think: &str| {
            let class =
                format!("pattern = \"stages\"\nclients = 2\nthink = \"{think}\"\n[traffic.roles]\na = 0\nb = 1\n");
            let stage = "[[traffic.stage]]\nname = \"s\"\nfrom = \"a\"\nto = \"b\"\nsize = \"125 KB\"";
            let found = cost(&star(&(class + stage)));
            found["messages"].as_f64().expect("a number")
        };
        // A message takes 1 ms. Two clients that pause for 9 ms ask 20 times in 100 ms; the link carries 100.
        assert_eq!((of("9 ms"), of("0 s")), (20.0, 100.0));
    }

    #[test]
    fn flows_without_end_share_the_link_to_their_receiver() {
        // 1 Gbps for 100 ms is 12.5 MB: with 40 B of headers and 38 B on the wire 8127 packets of 1538 B.
        let found = cost(&star("pattern = \"long\"\nfrom = [0, 1]\nto = 2"));
        assert_eq!(found["flows_without_end"], 2.0);
        let packets = found["packets"].as_f64().expect("a number");
        assert!((8000.0..8700.0).contains(&packets), "{packets}");
        let hops = found["packet_hops"].as_f64().expect("a number");
        assert!((hops - 4.0 * packets).abs() <= 2.0, "{hops} hops of {packets}: both are rounded");
    }
}
