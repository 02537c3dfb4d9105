//! The least time of a packet through the network before or after one of its links, and of a message.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use units::{Bytes, HostId, Rate, Span, Table};

use super::{Graph, LinkSpec};
use crate::framing::Framing;

/// The larger of the two sizes at which times are computed; the other is zero. The least time over paths is concave in
/// the size, as each path's time is linear in it. So the time of a size between is above the line through the two.
pub const LARGE: Bytes = Bytes(1 << 16);

/// Least times over all paths, whatever route a flow is given. Hosts forward where [hosts route](Graph::hosts_route).
pub struct Latency {
    /// The first node that forwards.
    first: u32,
    /// The outgoing links of each node.
    out: Vec<Vec<u32>>,
    /// The incoming links of each host.
    into: Vec<Vec<u32>>,
    /// The sum of the rates of each host's links: out of it, and into it. Several links can do no more than a single
    /// link with the sum of their rates.
    rates: Table<HostId, (Rate, Rate)>,
    /// The least times from a node that forwards to all of them, for the two sizes; of the nodes requested so far.
    from: BTreeMap<u32, [Vec<u64>; 2]>,
}

/// The least times of a packet between two hosts, in ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    /// The time from its start at the sender's port until it can start at the receiver's port.
    pub head: u64,
    /// The time from its end at the sender's port until it is at the receiver.
    pub tail: u64,
    /// The time from its end at the receiver's port until it is at the receiver.
    pub last: u64,
}

impl Latency {
    /// Returns the latencies of a network; each is computed when it is first requested. The other methods must get the
    /// same `graph`.
    pub fn new(graph: &Graph) -> Latency {
        let mut rates = Table::from(vec![(Rate(0), Rate(0)); graph.hosts as usize]);
        let mut out = vec![Vec::new(); graph.nodes() as usize];
        let mut into = vec![Vec::new(); graph.hosts as usize];
        for (number, link) in graph.links.iter().enumerate() {
            out[link.from as usize].push(number as u32);
            if let Some(links) = into.get_mut(link.to as usize) {
                links.push(number as u32);
            }
            if let Some((out, _)) = rates.find_mut(HostId(link.from)) {
                out.0 += link.rate.0;
            }
            if let Some((_, into)) = rates.find_mut(HostId(link.to)) {
                into.0 += link.rate.0;
            }
        }
        let first = if graph.hosts_route() { 0 } else { graph.hosts };
        Latency { first, out, into, rates, from: BTreeMap::new() }
    }

    /// Returns the rates at which a host can send and receive.
    pub fn rates(&self, host: HostId) -> (Rate, Rate) {
        self.rates[host]
    }

    /// Returns the least time of a message from its start to its arrival, whatever its transport and its paths; none
    /// without a path.
    pub fn of_message(
        &mut self,
        graph: &Graph,
        (from, to): (HostId, HostId),
        bytes: Bytes,
        framing: &Framing,
    ) -> Option<Span> {
        let Least { head, tail, last } = self.least(graph, from, to, framing.smallest_packet(bytes))?;
        let (out, into) = (self.rates[from].0, self.rates[to].1);
        let received = head.saturating_add(framing.work(bytes, into)).saturating_add(last);
        let sent = framing.work(bytes, out).saturating_add(tail);
        Some(Span(received.max(sent)))
    }

    /// Returns the least times of a packet of `size` on the wire; none without a path.
    pub fn least(&mut self, graph: &Graph, from: HostId, to: HostId, size: Bytes) -> Option<Least> {
        let mut least: Option<Least> = None;
        let mut note = |found: Least| {
            least = Some(least.map_or(found, |known| Least {
                head: known.head.min(found.head),
                tail: known.tail.min(found.tail),
                last: known.last.min(found.last),
            }));
        };
        for first in 0..self.out[from.index()].len() {
            let first = graph.links[self.out[from.index()][first] as usize];
            if first.to == to.0 {
                note(Least { head: 0, tail: first.delay.0, last: first.delay.0 });
            }
            if first.to < self.first || first.to == to.0 {
                continue;
            }
            for last in 0..self.into[to.index()].len() {
                let last = graph.links[self.into[to.index()][last] as usize];
                if last.from >= self.first
                    && let Some(between) = self.between(graph, first.to, last.from, size)
                {
                    let of = |link: LinkSpec| link.rate.transmission().of(size).0.saturating_add(link.delay.0);
                    note(Least {
                        head: of(first).saturating_add(between),
                        tail: first.delay.0.saturating_add(between).saturating_add(of(last)),
                        last: last.delay.0,
                    });
                }
            }
        }
        least
    }

    /// Returns the least time of a packet of `size` on the wire from its start at a host's port until it can start at
    /// the first of `links`, in ps.
    pub fn to_links(&mut self, graph: &Graph, from: HostId, links: &[u32], size: Bytes) -> Option<u64> {
        let mut least: Option<u64> = None;
        for &link in links {
            let start = graph.links[link as usize].from;
            if start == from.0 {
                return Some(0);
            }
            for first in 0..self.out[from.index()].len() {
                let first = graph.links[self.out[from.index()][first] as usize];
                if let Some(between) = self.between(graph, first.to, start, size) {
                    let found = hop(&first, size).saturating_add(between);
                    least = Some(least.map_or(found, |least| least.min(found)));
                }
            }
        }
        least
    }

    /// Returns the least time of a packet of `size` on the wire from its end at the last of `links` until it is at a
    /// host, in ps.
    pub fn from_links(&mut self, graph: &Graph, links: &[u32], to: HostId, size: Bytes) -> Option<u64> {
        let mut least: Option<u64> = None;
        for &link in links {
            let crossed = graph.links[link as usize];
            let mut note = |after: u64| {
                let found = crossed.delay.0.saturating_add(after);
                least = Some(least.map_or(found, |least| least.min(found)));
            };
            if crossed.to == to.0 {
                note(0);
            }
            for last in 0..self.into[to.index()].len() {
                let last = graph.links[self.into[to.index()][last] as usize];
                if let Some(between) = self.between(graph, crossed.to, last.from, size) {
                    note(between.saturating_add(hop(&last, size)));
                }
            }
        }
        least
    }

    /// Returns the least time from one node to another; none without a path, or if one of them does not forward.
    fn between(&mut self, graph: &Graph, a: u32, b: u32, size: Bytes) -> Option<u64> {
        if a.min(b) < self.first {
            return None;
        }
        if a == b {
            return Some(0);
        }
        if !self.from.contains_key(&a) {
            let times = [Bytes::ZERO, LARGE].map(|size| self.times_from(graph, a, size));
            self.from.insert(a, times);
        }
        let times = self.from[&a].each_ref().map(|times| times[(b - self.first) as usize]);
        (times[0] < u64::MAX).then(|| of_size(times, size))
    }

    /// Returns Dijkstra's least times from a node to all nodes that forward. Each hop counts a picosecond less than its time, as a port rounds.
    fn times_from(&self, graph: &Graph, start: u32, size: Bytes) -> Vec<u64> {
        let mut times = vec![u64::MAX; (graph.nodes() - self.first) as usize];
        let place = |node: u32| (node - self.first) as usize;
        let mut edge = BinaryHeap::from([Reverse((0, start))]);
        times[place(start)] = 0;
        while let Some(Reverse((time, node))) = edge.pop() {
            if time > times[place(node)] {
                continue;
            }
            for &link in &self.out[node as usize] {
                let link = &graph.links[link as usize];
                let at = time.saturating_add(hop(link, size));
                if link.to >= self.first && at < times[place(link.to)] {
                    times[place(link.to)] = at;
                    edge.push(Reverse((at, link.to)));
                }
            }
        }
        times
    }
}

/// Returns the least time of a packet of `size`, interpolated between packets without a size and [`LARGE`] ones.
pub fn of_size([none, large]: [u64; 2], size: Bytes) -> u64 {
    let more = u128::from(large - none) * u128::from(size.min(LARGE).0) / u128::from(LARGE.0);
    none.saturating_add(more as u64)
}

/// Returns the time of a packet over a link, less a picosecond, as a port rounds.
fn hop(link: &LinkSpec, size: Bytes) -> u64 {
    (link.delay.0 + link.rate.transmission().of(size).0).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    const MICRO: u64 = 1_000_000;

    /// Returns two racks of two hosts, joined by a slow link with a short delay and a fast one with a long delay.
    fn graph() -> Graph {
        let mut graph = Graph::new(4);
        let (a, b) = (graph.switch("a", false), graph.switch("b", false));
        let (slow, fast) = (graph.switch("slow", false), graph.switch("fast", false));
        graph.rack(a, 0, 0..2, Rate::from_gbps(1), Span::from_micros(20));
        graph.rack(b, 1, 2..4, Rate::from_gbps(2), Span::from_micros(30));
        for (middle, gbps, delay) in [(slow, 1, 1), (fast, 100, 10)] {
            graph.join(a, middle, Rate::from_gbps(gbps), Span::from_micros(delay));
            graph.join(middle, b, Rate::from_gbps(gbps), Span::from_micros(delay));
        }
        graph
    }

    #[test]
    fn a_packet_is_stored_and_forwarded_at_each_hop() {
        let graph = graph();
        let mut latency = Latency::new(&graph);
        // In the rack: 1500 B take 12 us at 1 Gbps.
        let near = Least { head: 32 * MICRO, tail: 52 * MICRO, last: 20 * MICRO };
        assert_eq!(latency.least(&graph, HostId(0), HostId(1), Bytes(1500)), Some(near));
        // A small packet is faster by the slow link: 2 (0.8 + 1) us; 60 B = 0.48 us at 1 Gbps, 0.24 at 2.
        let far = latency.least(&graph, HostId(0), HostId(2), Bytes(60)).unwrap();
        assert!(far.head <= (480_000 + 20 * MICRO) + 2 * (480_000 + MICRO), "{far:?}");
        assert!(far.tail <= 20 * MICRO + 2 * (480_000 + MICRO) + 240_000 + 30 * MICRO);
        assert!(far.head >= 22 * MICRO);
    }

    #[test]
    fn it_is_never_more_than_the_best_path_takes() {
        let graph = graph();
        let mut latency = Latency::new(&graph);
        for size in [1, 40, 64, 700, 1500, 9040, 60_000].map(Bytes) {
            let of = |gbps: u64| Rate::from_gbps(gbps).transmission().of(size).0;
            let best = (2 * (of(1) + MICRO)).min(2 * (of(100) + 10 * MICRO));
            let found = latency.least(&graph, HostId(3), HostId(1), size).unwrap();
            let exact = of(2) + 30 * MICRO + best;
            assert!(found.head <= exact && found.head + 20 * MICRO >= exact.min(found.head + 20 * MICRO), "{size}");
            assert!(found.tail <= 30 * MICRO + best + of(1) + 20 * MICRO);
        }
    }

    #[test]
    fn on_equal_paths_it_is_exact_but_for_rounding() {
        let mut graph = Graph::new(2);
        let (a, b, c) = (graph.switch("a", false), graph.switch("b", false), graph.switch("c", false));
        graph.join(0, a, Rate::from_gbps(1), Span::from_micros(20));
        graph.join(a, c, Rate::from_gbps(40), Span::from_micros(20));
        graph.join(c, b, Rate::from_gbps(40), Span::from_micros(20));
        graph.join(b, 1, Rate::from_gbps(1), Span::from_micros(20));
        let found = Latency::new(&graph).least(&graph, HostId(0), HostId(1), Bytes(1500)).unwrap();
        let exact = 12 * MICRO + 2 * 300_000 + 60 * MICRO;
        assert!(found.head <= exact && found.head + 4 >= exact, "{found:?}");
    }

    /// Hosts in a line, and a switch that joins the first with the last by long links.
    #[test]
    fn hosts_forward_where_they_route() {
        let mut graph = Graph::new(3);
        let switch = graph.switch("far", false);
        graph.join(0, 1, Rate::from_gbps(1), Span::from_micros(5));
        graph.join(1, 2, Rate::from_gbps(1), Span::from_micros(7));
        let mut latency = Latency::new(&graph);
        let expected = Least { head: 17 * MICRO, tail: 24 * MICRO, last: 7 * MICRO };
        assert_eq!(latency.least(&graph, HostId(0), HostId(2), Bytes(1500)), Some(expected));
        // Whatever is routed, the least of all ways counts.
        [0, 2].into_iter().for_each(|host| graph.join(host, switch, Rate::from_gbps(1), Span::from_micros(50)));
        let mut latency = Latency::new(&graph);
        assert_eq!(latency.least(&graph, HostId(0), HostId(2), Bytes(1500)), Some(expected));
        assert_eq!(latency.rates(HostId(0)), (Rate::from_gbps(2), Rate::from_gbps(2)));
    }

    #[test]
    fn neighbours_need_no_switch_and_islands_have_no_path() {
        let mut graph = Graph::new(3);
        graph.join(0, 1, Rate::from_gbps(1), Span::from_micros(5));
        let mut latency = Latency::new(&graph);
        assert_eq!(
            latency.least(&graph, HostId(0), HostId(1), Bytes(1500)),
            Some(Least { head: 0, tail: 5 * MICRO, last: 5 * MICRO })
        );
        assert_eq!(latency.least(&graph, HostId(0), HostId(2), Bytes(1500)), None);
    }
}
