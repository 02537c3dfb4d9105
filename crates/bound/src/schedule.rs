//! Searches for a schedule in which given messages are in time, to show that a bound is exact.
//!
//! The schedule is for a network without acknowledgements and losses. Each message is sent from its start on and takes
//! one of its shortest paths. Each link sends the packet that is due first among the packets in its queue. A packet is
//! stored before it is forwarded. Packets move in trains that are stored and forwarded as one, which can only make them
//! later. So a schedule of trains is one of packets, and takes less time to find. Success proves that all messages can
//! be in time; after a failure another schedule may still succeed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use sim::outcome::Framing;
use sim::topology::Graph;
use units::{Bytes, HostId};

use crate::machine::Budget;

/// A message that must be in time.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The host that sends it.
    pub from: HostId,
    /// The host that receives it.
    pub to: HostId,
    /// The size of the payload.
    pub bytes: Bytes,
    /// The time of the hand-over, in ps.
    pub start: u64,
    /// The time by which its last byte must be at the receiver, in ps.
    pub due: u64,
    /// The division of the payload into packets.
    pub framing: Framing,
}

/// The most packets of a train.
const MAX_TRAIN: u64 = 64;

/// The result of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All messages are in time.
    Schedule,
    /// Some message is late in this schedule.
    Nothing,
    /// The search would exceed its budget of crossings.
    TooLong,
}

/// Tries a schedule with trains as short as the budget of `crossings` (of a link by a train) allows.
pub fn find(graph: &Graph, messages: &[Wanted], crossings: &mut Budget) -> Found {
    let Some(paths) = Paths::of(graph, messages) else { return Found::Nothing };
    let pieces = |message: &Wanted| message.bytes.pieces(message.framing.mss.into()).max(1);
    let count = |train: u64| -> u64 {
        let each = messages.iter().zip(&paths.of_message);
        let crossings = each.map(|(message, path)| pieces(message).div_ceil(train).saturating_mul(path.len() as u64));
        crossings.fold(0, u64::saturating_add)
    };
    let mut train = 1;
    while !crossings.take(count(train)) {
        train *= 2;
        if train > MAX_TRAIN {
            return Found::TooLong;
        }
    }
    if Schedule::new(graph, messages, paths, train).all_in_time() { Found::Schedule } else { Found::Nothing }
}

/// The links of each message: a shortest path, over links with as little work as possible.
struct Paths {
    of_message: Vec<Vec<u32>>,
}

impl Paths {
    /// Returns the paths; none where a message has no path.
    fn of(graph: &Graph, messages: &[Wanted]) -> Option<Paths> {
        let (mut out, mut into) = (vec![Vec::new(); graph.nodes() as usize], vec![Vec::new(); graph.nodes() as usize]);
        for (number, link) in graph.links.iter().enumerate() {
            out[link.from as usize].push(number as u32);
            into[link.to as usize].push(link.from);
        }
        // By the nodes before a receiver, the distance of every node to the nearest of them.
        let mut distances: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        let mut work = vec![0u64; graph.links.len()];
        let mut of_message = Vec::with_capacity(messages.len());
        for message in messages {
            let before = &into[message.to.index()];
            if !distances.contains_key(before) {
                distances.insert(before.clone(), distances_to(graph, &into, before));
            }
            let distances = &distances[before];
            let (mut node, mut path) = (message.from.0, Vec::new());
            while node != message.to.0 {
                let last = |link: &&u32| graph.links[**link as usize].to == message.to.0;
                let nearer = |link: &&u32| {
                    let next = graph.links[**link as usize].to;
                    next >= graph.hosts && distances[next as usize] < distances[node as usize]
                };
                let links = || out[node as usize].iter();
                let link =
                    links().find(last).or_else(|| links().filter(nearer).min_by_key(|link| work[**link as usize]));
                let link = *link?;
                let spec = &graph.links[link as usize];
                let takes = spec.rate.transmission().of(message.bytes).0;
                work[link as usize] = work[link as usize].saturating_add(takes);
                path.push(link);
                node = spec.to;
            }
            of_message.push(path);
        }
        Some(Paths { of_message })
    }
}

/// Returns the number of links from every node to the nearest of `ends`; hosts do not forward.
fn distances_to(graph: &Graph, into: &[Vec<u32>], ends: &[u32]) -> Vec<u32> {
    let mut distances = vec![u32::MAX; graph.nodes() as usize];
    ends.iter().for_each(|end| distances[*end as usize] = 0);
    let mut edge: VecDeque<u32> = ends.iter().copied().filter(|end| *end >= graph.hosts).collect();
    while let Some(node) = edge.pop_front() {
        for &before in &into[node as usize] {
            if distances[before as usize] == u32::MAX {
                distances[before as usize] = distances[node as usize] + 1;
                if before >= graph.hosts {
                    edge.push_back(before);
                }
            }
        }
    }
    distances
}

/// Packets of a message that move together.
#[derive(Clone, Copy)]
struct Train {
    message: u32,
    /// The number of links that it has crossed.
    crossed: u32,
    /// The number of full packets.
    full: u64,
    /// The payload of a packet that is not full; zero if there is none.
    rest: u64,
}

/// A link's port. Each queued train has the deadline of its message, the message and the train's number as its key.
#[derive(Default)]
struct Port {
    waiting: BinaryHeap<Reverse<(u64, u32, u32)>>,
    busy: bool,
}

struct Schedule<'a> {
    graph: &'a Graph,
    messages: &'a [Wanted],
    paths: Paths,
    trains: Vec<Train>,
    ports: Vec<Port>,
    /// Events by time, in ps.
    events: BinaryHeap<Reverse<(u64, Event)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A train is received by its next port, or by its receiver.
    Arrives(u32),
    /// A link has transmitted a train.
    Free(u32),
}

impl Schedule<'_> {
    fn new<'a>(graph: &'a Graph, messages: &'a [Wanted], paths: Paths, packets: u64) -> Schedule<'a> {
        let mut trains = Vec::new();
        let mut events = Vec::new();
        for (number, message) in messages.iter().enumerate() {
            let mss = u64::from(message.framing.mss);
            let (mut full, mut rest) = (message.bytes.0 / mss, message.bytes.0 % mss);
            while full + rest > 0 {
                let taken = full.min(packets);
                let with = if taken < packets { std::mem::take(&mut rest) } else { 0 };
                full -= taken;
                events.push(Reverse((message.start, Event::Arrives(trains.len() as u32))));
                trains.push(Train { message: number as u32, crossed: 0, full: taken, rest: with });
            }
        }
        let ports = graph.links.iter().map(|_| Port::default()).collect();
        Schedule { graph, messages, paths, trains, ports, events: events.into() }
    }

    fn all_in_time(mut self) -> bool {
        while let Some(Reverse((now, event))) = self.events.pop() {
            match event {
                Event::Arrives(number) => {
                    let train = self.trains[number as usize];
                    let (message, due) = (train.message, self.messages[train.message as usize].due);
                    if now > due {
                        return false;
                    }
                    if let Some(&link) = self.paths.of_message[message as usize].get(train.crossed as usize) {
                        self.ports[link as usize].waiting.push(Reverse((due, message, number)));
                        self.send(link, now);
                    }
                }
                Event::Free(link) => {
                    self.ports[link as usize].busy = false;
                    self.send(link, now);
                }
            }
        }
        true
    }

    /// Transmits the train that is due first, if the link is free.
    fn send(&mut self, link: u32, now: u64) {
        let port = &mut self.ports[link as usize];
        if port.busy {
            return;
        }
        let Some(Reverse((.., number))) = port.waiting.pop() else { return };
        port.busy = true;
        let train = &mut self.trains[number as usize];
        train.crossed += 1;
        let Framing { mss, overhead, .. } = self.messages[train.message as usize].framing;
        let spec = &self.graph.links[link as usize];
        let takes = |payload: u64| spec.rate.transmission().of(Bytes(payload + u64::from(overhead))).0;
        let rest = if train.rest > 0 { takes(train.rest) } else { 0 };
        let sent = now.saturating_add(train.full.saturating_mul(takes(mss.into()))).saturating_add(rest);
        self.events.push(Reverse((sent, Event::Free(link))));
        self.events.push(Reverse((sent.saturating_add(spec.delay.0), Event::Arrives(number))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    const US: u64 = 1_000_000;

    /// Returns a message of `packets` packets that take 12 us each at 1 Gbps; times are in us.
    fn message(from: u32, to: u32, packets: u64, start: u64, due: u64) -> Wanted {
        let framing = Framing { mss: 1460, overhead: 40, shared: false };
        Wanted {
            from: HostId(from),
            to: HostId(to),
            bytes: Bytes(1460 * packets),
            start: start * US,
            due: due * US,
            framing,
        }
    }

    /// Returns four hosts in two racks, and two paths of 1 Gbps between the racks, without delay.
    fn graph() -> Graph {
        let mut graph = Graph::new(4);
        let switches = ["a", "b", "up", "down"].map(|name| graph.switch(name, false));
        let [a, b, up, down] = switches;
        graph.rack(a, 0, 0..2, Rate::from_gbps(1), Span(0));
        graph.rack(b, 1, 2..4, Rate::from_gbps(1), Span(0));
        for middle in [up, down] {
            graph.join(a, middle, Rate::from_gbps(1), Span(0));
            graph.join(middle, b, Rate::from_gbps(1), Span(0));
        }
        graph
    }

    fn find(graph: &Graph, messages: &[Wanted], crossings: u64) -> Found {
        super::find(graph, messages, &mut Budget(crossings))
    }

    #[test]
    fn a_packet_is_stored_at_every_hop() {
        let graph = graph();
        assert_eq!(find(&graph, &[message(0, 1, 1, 5, 29)], 100), Found::Schedule);
        assert_eq!(find(&graph, &[message(0, 1, 1, 5, 28)], 100), Found::Nothing);
        assert_eq!(find(&graph, &[message(0, 2, 10, 0, 36 + 120)], 100), Found::Schedule);
        assert_eq!(find(&graph, &[message(0, 2, 10, 0, 35 + 120)], 100), Found::Nothing);
        assert_eq!(find(&graph, &[message(0, 1, 0, 5, 5)], 100), Found::Schedule);
    }

    #[test]
    fn what_is_due_first_goes_first_and_paths_are_shared_out() {
        let graph = graph();
        // At one receiver: 24 us of work until 36, then 12 more.
        let pair = |late: u64| [message(0, 1, 1, 0, late), message(2, 1, 1, 0, 48)];
        assert_eq!(find(&graph, &pair(24), 100), Found::Schedule);
        // Two messages between the racks at once take both links.
        let both = [message(0, 2, 5, 0, 36 + 60), message(1, 3, 5, 0, 36 + 60)];
        assert_eq!(find(&graph, &both, 100), Found::Schedule);
        let three = [both[0], both[1], message(0, 3, 5, 0, 36 + 60)];
        assert_eq!(find(&graph, &three, 100), Found::Nothing);
    }

    #[test]
    fn trains_are_later_and_never_earlier() {
        let graph = graph();
        // Single packets cross links twenty times; pairs cross ten times, and take 12 us more at the second hop.
        let due = |due: u64| [message(0, 1, 10, 0, due)];
        assert_eq!(find(&graph, &due(132), 20), Found::Schedule);
        assert_eq!(find(&graph, &due(132), 19), Found::Nothing);
        assert_eq!(find(&graph, &due(144), 10), Found::Schedule);
        assert_eq!(find(&graph, &due(10_000), 1), Found::TooLong);
        // Of 640 packets, trains of up to 64 packets cross links twenty times.
        let long = |crossings| find(&graph, &[message(0, 1, 640, 0, 100_000)], crossings);
        assert_eq!([19, 20].map(long), [Found::TooLong, Found::Schedule]);
    }
}
