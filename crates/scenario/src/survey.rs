//! A survey of a scenario's traffic without simulation: drawn ahead, for the lints and for `duetime check --explain`.

use std::cell::{Ref, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sim::network::{Network, Sharing};
use sim::priorities::Priorities;
use sim::topology::Graph;
use sim::topology::routing::Routing;
use sim::traffic::offered::{Demand, Offered, PerLink};
use sim::traffic::{self, Above, Arrival, Batch, Departure, Generator, Request};
use sim::{Class, EmptyNetwork, Scenario, Transport};
use transport::controllers::Window;
use units::{Amount, Bytes, HostId, Instant, LinkId, Table, pair};

/// A scenario with the beginning of its traffic.
pub(crate) struct Survey<'a> {
    pub(crate) scenario: &'a Scenario,
    /// In the order of the scenario's classes.
    pub(crate) drawn: Vec<Drawn>,
    pub(crate) routes: Routes<'a>,
    ports: Ports<'a>,
}

/// The messages of one class, from its first.
pub(crate) struct Drawn {
    pub(crate) messages: Vec<Request>,
    /// The deadlines that are multiples of the messages' times in an empty network.
    pub(crate) times_alone: Vec<f64>,
    /// The time up to which these are all messages that start.
    pub(crate) until: Instant,
    /// True if they are all messages of the run.
    pub(crate) all: bool,
    /// The aspects that another seed would draw differently.
    pub(crate) random: Vec<&'static str>,
}

impl<'a> Survey<'a> {
    /// Draws about `most` messages, evenly over the classes.
    pub(crate) fn new(scenario: &'a Scenario, classes: &[Above], most: usize) -> Survey<'a> {
        let each = (most / classes.len().max(1)).max(20);
        let network = &scenario.network;
        let drawn = (0..classes.len()).map(|index| Drawn::new(scenario, classes, index, each)).collect();
        Survey { scenario, drawn, routes: Routes::new(&network.graph), ports: Ports::new(network) }
    }

    /// Returns each class with its transport and its messages.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&'a Class, &'a Transport, &Drawn)> {
        let scenario = self.scenario;
        let with_transport = |class: &'a Class| (class, &scenario.transports[class.transport]);
        scenario.classes.iter().map(with_transport).zip(&self.drawn).map(|((class, own), drawn)| (class, own, drawn))
    }

    /// Returns the load that each link is expected to be offered until the end of the run's duration, as a share of its
    /// capacity by then. It is the load of one class, or of all together. A message has as many packets as its bytes
    /// fill, and at least one, so this is a lower bound.
    pub(crate) fn offered(&self, class: Option<usize>) -> Loads {
        let Scenario { run, classes, transports, network, .. } = self.scenario;
        let mut offered = Offered::new(&network.graph);
        for (_, class) in classes.iter().enumerate().filter(|(index, _)| class.is_none_or(|only| only == *index)) {
            let transport = &transports[class.transport];
            let mss = f64::from(transport.config.connection.mss);
            let overhead = self.frame(transport) - mss;
            class.generator.offer(run.duration.after_start(), &mut |demand: Demand| {
                let packets = (demand.bytes / mss).max(demand.messages);
                offered.add(&Demand { bytes: demand.bytes + packets * overhead, ..demand });
            });
        }
        let PerLink { bytes: mut loads, is_complete } = offered.per_link(&mut self.routes.ways.borrow_mut());
        let seconds = run.duration.as_secs_f64();
        for (link, spec) in network.graph.links.iter().enumerate() {
            loads[LinkId::from_index(link)] /= spec.rate.as_bps_f64() / 8.0 * seconds;
        }
        Loads { of_link: loads, is_complete }
    }

    /// Returns the limit and the marking threshold of the switch port that feeds a link; none for a host's own port.
    pub(crate) fn port(&self, link: usize) -> Option<Port> {
        self.ports.at(link)
    }

    /// Returns true if ports mark by the threshold K.
    pub(crate) fn marks_by_threshold(&self) -> bool {
        let Scenario { network, transports, classes, .. } = self.scenario;
        network.service(transports, &Priorities::of(transports, classes)).marking.built_in
    }

    /// Returns the wire bytes of a full packet.
    pub(crate) fn frame(&self, transport: &Transport) -> f64 {
        let connection = &transport.config.connection;
        f64::from(connection.mss + connection.header) + self.scenario.network.frame_overhead.as_f64()
    }

    /// Returns the wire bytes of a message.
    pub(crate) fn on_wire(&self, bytes: Bytes, transport: &Transport) -> f64 {
        let mss = Bytes::from(transport.config.connection.mss);
        let overhead = self.frame(transport) - mss.as_f64();
        bytes.as_f64() + bytes.pieces(mss) as f64 * overhead
    }

    /// Returns a time that a message cannot undercut, in seconds: its bytes at the rate of the slowest link, and the
    /// propagation. The packets' time on the other links is added to that.
    pub(crate) fn min_time(&self, message: &Request, transport: &Transport) -> Option<f64> {
        let bytes = self.on_wire(message.bytes?, transport);
        let path = self.routes.path(message.from, message.to);
        let links = || path.iter().map(|&link| &self.routes.graph.links[link]);
        let slowest = links().map(|spec| spec.rate.as_bps_f64()).fold(f64::INFINITY, f64::min);
        Some(bytes * 8.0 / slowest + links().map(|spec| spec.delay.as_secs_f64()).sum::<f64>())
    }

    /// Returns the rate of the slowest link times the round-trip time of a full packet on an empty path, in bytes.
    pub(crate) fn bandwidth_delay(&self, from: HostId, to: HostId, transport: &Transport) -> f64 {
        let links = self.routes.path(from, to).into_iter().map(|link| self.routes.graph.links[link]);
        let slowest = links.map(|spec| spec.rate.as_bps_f64()).fold(f64::INFINITY, f64::min);
        slowest / 8.0 * self.round_trip(from, to, transport)
    }

    /// Returns the round-trip time of a full packet and an acknowledgement without length on an empty path, in seconds.
    pub(crate) fn round_trip(&self, from: HostId, to: HostId, transport: &Transport) -> f64 {
        let frame = self.frame(transport);
        let links = self.routes.path(from, to).into_iter().map(|link| &self.routes.graph.links[link]);
        links.map(|spec| 2.0 * spec.delay.as_secs_f64() + frame * 8.0 / spec.rate.as_bps_f64()).sum()
    }

    /// Returns for each receiver the maximum queue at the port towards it if each message of a class sends its first
    /// window at once and nothing more. Nothing for transports without a window.
    pub(crate) fn first_windows(&self, class: &Class, transport: &Transport, drawn: &Drawn) -> Vec<Burst> {
        if transport.config.control.law().is_none() {
            return Vec::new();
        }
        let connection = &transport.config.connection;
        // The window of an open connection depends on its history: a segment is certain.
        let window = if class.persistent { 1.0 } else { connection.initial_window } * f64::from(connection.mss);
        let mut by_receiver: BTreeMap<(HostId, usize), Vec<(Instant, f64)>> = BTreeMap::new();
        for message in &drawn.messages {
            let bytes = message.bytes.map_or(window, |bytes| window.min(bytes.as_f64()));
            by_receiver
                .entry((message.to, self.routes.last(message.from, message.to)))
                .or_default()
                .push((message.start, self.on_wire(Bytes(bytes as u64), transport)));
        }
        let bursts = by_receiver.into_iter().map(|((_, link), mut starts)| {
            starts.sort_by_key(|(at, _)| *at);
            let bytes_per_s = self.routes.graph.links[link].rate.as_bps_f64() / 8.0;
            let (mut waiting, mut messages, mut before) = (0.0_f64, 0, Instant::ZERO);
            let mut worst = Burst { link, bytes: 0.0, messages: 0 };
            for (at, bytes) in starts {
                waiting -= at.saturating_sub(before).as_secs_f64() * bytes_per_s;
                if waiting <= 0.0 {
                    (waiting, messages) = (0.0, 0);
                }
                (waiting, messages, before) = (waiting + bytes, messages + 1, at);
                if waiting > worst.bytes {
                    worst = Burst { bytes: waiting, messages, ..worst };
                }
            }
            worst
        });
        bursts.collect()
    }

    /// Returns for each receiver the maximum that a class keeps in flight towards it when every window is at its floor.
    pub(crate) fn at_floor(&self, transport: &Transport, drawn: &Drawn) -> Vec<AtFloor> {
        // A controller that paces by itself may send less than its window.
        let Some(law) = transport.config.control.law() else { return Vec::new() };
        if law.paces() {
            return Vec::new();
        }
        let connection = &transport.config.connection;
        let frame = self.frame(transport);
        // Messages that are certainly in progress at the same time: answers to one query, and flows without end.
        let mut together: BTreeMap<(HostId, Option<u64>), (HostId, f64, u64)> = BTreeMap::new();
        for message in drawn.messages.iter().filter(|message| message.query.is_some() || message.bytes.is_none()) {
            let segments = message.bytes.map_or(f64::INFINITY, |bytes| bytes.pieces(connection.mss.into()) as f64);
            let entry = together.entry((message.to, message.query)).or_insert((message.from, 0.0, 0));
            entry.1 += connection.cwnd_floor.min(segments) * frame;
            entry.2 += 1;
        }
        let mut by_receiver: BTreeMap<HostId, (HostId, f64, u64)> = BTreeMap::new();
        for ((to, _), found) in together {
            let entry = by_receiver.entry(to).or_insert(found);
            if found.1 > entry.1 {
                *entry = found;
            }
        }
        let at_floor = by_receiver.into_iter().map(|(to, (from, bytes, flows))| {
            let bandwidth_delay = self.bandwidth_delay(from, to, transport);
            AtFloor { link: self.routes.last(from, to), bytes, flows, bandwidth_delay }
        });
        at_floor.collect()
    }

    /// Returns the links that a class's messages take, each with the links before it (itself, at the sender). Returns
    /// none where the messages have more than `max_shares` shares of links, so that an answer would take seconds.
    pub(crate) fn links(&self, drawn: &Drawn, max_shares: usize) -> Option<BTreeMap<usize, BTreeSet<usize>>> {
        let mut links: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let pairs: BTreeSet<(HostId, HostId)> =
            drawn.messages.iter().map(|message| (message.from, message.to)).collect();
        let mut count = 0;
        for (from, to) in pairs {
            let shares = self.routes.shares(from, to);
            count += shares.len();
            if count > max_shares {
                return None;
            }
            for &(link, before, _) in &shares {
                links.entry(link).or_default().insert(before);
            }
        }
        Some(links)
    }

    /// Returns how many of these directions of links carry data of the drawn messages.
    pub(crate) fn carry_traffic(&self, links: &[(u32, u32)]) -> usize {
        let used: BTreeSet<(u32, u32)> = self
            .drawn
            .iter()
            .filter_map(|drawn| self.links(drawn, usize::MAX))
            .flat_map(BTreeMap::into_keys)
            .map(|link| (self.routes.graph.links[link].from, self.routes.graph.links[link].to))
            .collect();
        links.iter().filter(|ends| used.contains(ends)).count()
    }

    /// Returns the name of a link for people: "tor 3 to host 7".
    pub(crate) fn link_name(&self, link: usize) -> String {
        let spec = &self.routes.graph.links[link];
        format!("{} to {}", self.routes.graph.name(spec.from), self.routes.graph.name(spec.to))
    }
}

/// The expected load of each link; see [`Survey::offered`].
pub(crate) struct Loads {
    pub(crate) of_link: Table<LinkId, f64>,
    /// The loads of links between switches are known; else they are zero.
    pub(crate) is_complete: bool,
}

/// A burst of first windows at a port; see [`Survey::first_windows`].
#[derive(Clone, Copy)]
pub(crate) struct Burst {
    pub(crate) link: usize,
    pub(crate) bytes: f64,
    pub(crate) messages: u64,
}

/// Flows to a receiver with windows at their floor; see [`Survey::at_floor`].
pub(crate) struct AtFloor {
    pub(crate) link: usize,
    pub(crate) bytes: f64,
    pub(crate) flows: u64,
    pub(crate) bandwidth_delay: f64,
}

/// A port of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Port {
    /// Its maximum queue, when the other ports of its switch are empty; none: no limit.
    pub(crate) limit: Option<Amount>,
    /// K, the marking threshold.
    pub(crate) mark: Option<Amount>,
}

/// Returns for each link the maximum queue of the switch port that feeds it and its K, in bytes where packets are full
/// ones. They are infinite where there is no limit, and at a host's own port.
pub fn ports(network: &Network, frame: f64) -> Vec<(f64, f64)> {
    let bytes = |amount: Option<Amount>| amount.map_or(f64::INFINITY, |amount| in_bytes(amount, frame));
    let ports = Ports::new(network);
    let of = |link| ports.at(link).map(|port| (bytes(port.limit), bytes(port.mark)));
    (0..network.graph.links.len()).map(|link| of(link).unwrap_or((f64::INFINITY, f64::INFINITY))).collect()
}

/// The ports of all switches.
struct Ports<'a> {
    network: &'a Network,
    /// The number of ports of each switch that share its buffer.
    sharers: Vec<u32>,
}

impl<'a> Ports<'a> {
    fn new(network: &'a Network) -> Ports<'a> {
        let graph = &network.graph;
        let mut sharers = vec![0; graph.switches.len()];
        for link in graph.links.iter().filter(|link| link.from >= graph.hosts && link.buffer.is_none()) {
            sharers[(link.from - graph.hosts) as usize] += 1;
        }
        Ports { network, sharers }
    }

    /// Returns the port that feeds a link; none for a host's own port.
    fn at(&self, link: usize) -> Option<Port> {
        let (graph, switch) = (&self.network.graph, &self.network.switch);
        let spec = &graph.links[link];
        let node = spec.from.checked_sub(graph.hosts)?;
        if graph.switches[node as usize].unlimited {
            return Some(Port { limit: None, mark: None });
        }
        let buffer = graph.switches[node as usize].buffer.unwrap_or(switch.buffer);
        let of_buffer = |share: f64| match buffer {
            Amount::Packets(packets) => Amount::Packets((packets as f64 * share) as u64),
            Amount::Bytes(bytes) => Amount::Bytes((bytes as f64 * share) as u64),
        };
        let limit = match (spec.buffer, switch.sharing) {
            (Some(own), _) => own,
            // It grows until it is alpha times the free part.
            (None, Sharing::Dynamic(alpha) | Sharing::Limited(alpha, _)) => of_buffer(alpha / (1.0 + alpha)),
            (None, Sharing::Static) => of_buffer(1.0 / f64::from(self.sharers[node as usize])),
            (None, Sharing::PerPort) => buffer,
        };
        let to_host = spec.to < graph.hosts;
        let mark = spec.mark.or(if to_host { switch.marks.host } else { switch.marks.uplink });
        Some(Port { limit: Some(limit), mark })
    }
}

/// Returns an amount in bytes, where packets are full ones.
pub(crate) fn in_bytes(amount: Amount, frame: f64) -> f64 {
    match amount {
        Amount::Packets(packets) => packets as f64 * frame,
        Amount::Bytes(bytes) => bytes as f64,
    }
}

impl Drawn {
    fn new(scenario: &Scenario, classes: &[Above], index: usize, most: usize) -> Drawn {
        let (run, graph) = (&scenario.run, &scenario.network.graph);
        let mut empty = None;
        let mut set = |numbered: u64, batch: &mut Batch| {
            empty.get_or_insert_with(|| EmptyNetwork::of(scenario)).set_deadlines(index, numbered, batch);
        };
        let mut with = |seed: u64, most: usize| {
            let context = traffic::Context {
                graph,
                sprayed: scenario.network.sprays(),
                seed,
                duration: run.duration,
                above: &classes[..index],
            };
            let pattern = traffic::find(classes[index].pattern).expect("the class was read");
            (pattern.build)(&classes[index].values, &context)
                .ok()
                .map(|mut own| draw(&mut *own, &mut set, run.duration.after_start(), most))
        };
        let Beginning { messages, times_alone, until } = with(run.seed, most).unwrap_or_default();
        // As many as distinguish two streams of random numbers.
        let few = most.min(200);
        let random = match with(run.seed.wrapping_add(1), few) {
            None => Vec::new(),
            Some(other) => differences(&messages, &other.messages, few),
        };
        Drawn { messages, times_alone, until, all: until == run.duration.after_start(), random }
    }
}

/// The first messages of a generator.
#[derive(Default)]
struct Beginning {
    messages: Vec<Request>,
    /// The deadlines that are multiples of the messages' times in an empty network.
    times_alone: Vec<f64>,
    /// The time until which they are complete.
    until: Instant,
}

/// Returns the first messages of a generator, as they would start if the network took no time. `set` sets the deadlines
/// of a batch that are multiples of the times of its messages alone, from the number of messages before.
fn draw(generator: &mut dyn Generator, set: &mut dyn FnMut(u64, &mut Batch), end: Instant, most: usize) -> Beginning {
    let (mut messages, mut times_alone, mut until) = (Vec::new(), Vec::new(), end);
    let mut numbered = 0;
    while let Some(mut batch) = generator.next() {
        if batch.at >= end {
            break;
        }
        if messages.len() >= most {
            until = batch.at;
            break;
        }
        if !batch.times_alone.is_empty() {
            times_alone.extend_from_slice(&batch.times_alone);
            set(numbered, &mut batch);
        }
        numbered += batch.messages.len() as u64;
        let mut waiting = if batch.messages.is_empty() { generator.sketch(batch.at) } else { batch.messages };
        waiting.sort_by_key(|request| Reverse(request.start));
        while let Some(mut request) = waiting.pop() {
            if request.place.is_some() && generator.departs(&mut request) != Departure::Now {
                continue;
            }
            if let (Some(place), Some(query), Some(bytes)) = (request.place, request.query, request.bytes)
                && let Some(follows) = generator.arrived(Arrival { query, place, at: request.start, bytes })
            {
                waiting.insert(waiting.partition_point(|other| other.start > follows.start), follows);
            }
            if request.start < end {
                messages.push(request);
            }
        }
    }
    messages.sort_by_key(|request| (request.start, request.to, request.from));
    Beginning { messages, times_alone, until }
}

/// An aspect of a message that may be drawn at random.
type Aspect = fn(&Request) -> u64;

fn differences(one: &[Request], other: &[Request], most: usize) -> Vec<&'static str> {
    let (one, other) = (&one[..one.len().min(most)], &other[..other.len().min(most)]);
    let differ = |what: Aspect| {
        let mut values = [one, other].map(|all| all.iter().map(what).collect::<Vec<u64>>());
        let length = values[0].len().min(values[1].len());
        values.iter_mut().for_each(|all| all.truncate(length));
        values[0] != values[1]
    };
    let aspects: [(&'static str, Aspect); 4] = [
        ("starts", |request| request.start.0),
        ("sizes", |request| request.bytes.unwrap_or_default().0),
        ("deadlines", |request| request.deadline.map_or(0, |deadline| deadline.0)),
        ("hosts", |request| pair(request.from.0, request.to.0)),
    ];
    let mut sorted = aspects.into_iter().filter(|(_, what)| differ(*what)).map(|(name, _)| name).collect::<Vec<_>>();
    // Messages are in the order of their starts, so random starts shuffle the hosts of a fixed set too.
    if sorted.contains(&"starts") {
        let pairs = |all: &[Request]| all.iter().map(|each| (each.from, each.to)).collect::<BTreeSet<_>>();
        let (a, b) = (pairs(one), pairs(other));
        if a.is_subset(&b) || b.is_subset(&a) {
            sorted.retain(|name| *name != "hosts");
        }
    }
    sorted
}

/// A link, the one taken before it (or itself, at the sender) and the share of the packets that take it so.
pub(crate) type Share = (usize, usize, f64);

/// Shortest paths, over which flows spread evenly.
pub(crate) struct Routes<'a> {
    pub(crate) graph: &'a Graph,
    ways: RefCell<Routing>,
}

impl<'a> Routes<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Routes<'a> {
        Routes { graph, ways: RefCell::new(Routing::new(graph)) }
    }

    /// Returns the last link of one of the shortest paths.
    pub(crate) fn last(&self, from: HostId, to: HostId) -> usize {
        let only = self.ways.borrow().last(to).map(LinkId::index);
        only.unwrap_or_else(|| self.path(from, to).last().copied().expect("a path has links"))
    }

    /// Returns one of the shortest paths.
    pub(crate) fn path(&self, from: HostId, to: HostId) -> Vec<usize> {
        let ways = self.ways_to(to);
        let (mut path, mut node) = (Vec::new(), from.0);
        while node != to.0 {
            let Some(&(link, next)) = ways.choices(node, to).first() else { return path };
            path.push(link.index());
            node = next;
        }
        path
    }

    /// Returns true if a flow's hash chooses between paths.
    pub(crate) fn choose(&self, from: HostId, to: HostId) -> bool {
        self.shares(from, to).iter().any(|(_, _, share)| *share < 0.999)
    }

    /// Returns every link that a flow may take.
    pub(crate) fn shares(&self, from: HostId, to: HostId) -> Vec<Share> {
        let ways = self.ways_to(to);
        let mut found: Vec<Share> = Vec::new();
        // The nodes of one distance, with the links and shares by which each was reached.
        let mut here: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::from([(from.0, Vec::new())]);
        while !here.is_empty() && !here.contains_key(&to.0) {
            let mut next: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
            for (node, reached) in here {
                let choices = ways.choices(node, to);
                let part = 1.0 / choices.len().max(1) as f64;
                for &(link, end) in choices.iter() {
                    let link = link.index();
                    let beyond = next.entry(end).or_default();
                    if reached.is_empty() {
                        found.push((link, link, part));
                        beyond.push((link, part));
                    }
                    let total: f64 = reached.iter().map(|(_, share)| share * part).sum();
                    found.extend(reached.iter().map(|&(before, share)| (link, before, share * part)));
                    if !reached.is_empty() {
                        beyond.push((link, total));
                    }
                }
            }
            here = next;
        }
        found
    }

    fn ways_to(&self, to: HostId) -> Ref<'_, Routing> {
        self.ways.borrow_mut().prepare(to);
        self.ways.borrow()
    }
}
