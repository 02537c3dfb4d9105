//! The load that traffic is expected to offer to each link, before any of it is drawn.

use std::collections::BTreeMap;

use units::{HostId, LinkId, Table};

use crate::topology::Graph;
use crate::topology::routing::Routing;

/// Traffic from some hosts to others. Each sender has an equal part, divided evenly among all receivers but itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand<'a> {
    /// The sending hosts of the traffic.
    pub from: &'a [HostId],
    /// The receiving hosts of the traffic.
    pub to: &'a [HostId],
    /// The expected number of messages.
    pub messages: f64,
    /// The expected bytes of all these messages.
    pub bytes: f64,
}

/// Expected bytes by host and between switches; [`per_link`](Offered::per_link) spreads them over the shortest routes.
pub struct Offered<'a> {
    graph: &'a Graph,
    hosts_route: bool,
    /// The switch of each host, as a node; the host itself where hosts route.
    switch_of: Table<HostId, u32>,
    sent: Table<HostId, f64>,
    received: Table<HostId, f64>,
    /// From one switch to another.
    between: BTreeMap<(u32, u32), f64>,
    spread: Vec<Spread>,
}

/// Bytes from several switches to several others, which are not stored for each pair: in the largest fat-tree there
/// are ten million pairs.
struct Spread {
    /// By switch: the bytes for each receiver, of senders that also receive and of all others.
    senders: Vec<(u32, f64, f64)>,
    /// By switch: the number of receivers.
    receivers: BTreeMap<u32, f64>,
}

/// Expected bytes by link, as returned by [`Offered::per_link`].
pub struct PerLink {
    /// The expected bytes of each link.
    pub bytes: Table<LinkId, f64>,
    /// The bytes of links between switches are known, and of all where hosts route; else they are zero.
    pub is_complete: bool,
}

/// Maximum number of a flow's steps between switches: a network of 8192 hosts in a fat-tree takes ten million. Beyond
/// it, the loads of links between switches are unknown.
const MAX_STEPS: usize = 50_000_000;
/// The number of targets after which their mean steps may tell that all of them take more than twice the maximum.
const SAMPLED: usize = 16;

impl<'a> Offered<'a> {
    /// Returns an empty account for a network.
    pub fn new(graph: &'a Graph) -> Offered<'a> {
        let zeros = || Table::from(vec![0.0; graph.hosts as usize]);
        let mut switch_of: Table<HostId, u32> = graph.all_hosts().map(|host| host.0).collect();
        let hosts_route = graph.hosts_route();
        for link in graph.links.iter().filter(|link| link.from < graph.hosts && !hosts_route) {
            switch_of[HostId(link.from)] = link.to;
        }
        Offered {
            graph,
            hosts_route,
            switch_of,
            sent: zeros(),
            received: zeros(),
            between: BTreeMap::new(),
            spread: Vec::new(),
        }
    }

    /// Adds a demand whose `bytes` are those on the wire.
    pub fn add(&mut self, demand: &Demand) {
        let Demand { from, to, bytes, .. } = *demand;
        if let (&[sender], &[receiver]) = (from, to) {
            self.sent[sender] += bytes;
            self.received[receiver] += bytes;
            *self.between.entry((self.switch_of[sender], self.switch_of[receiver])).or_default() += bytes;
            return;
        }
        let members = |hosts: &[HostId]| {
            let mut is_member = vec![false; self.graph.hosts as usize];
            hosts.iter().for_each(|host| is_member[host.index()] = true);
            is_member
        };
        let (sends, receives) = (members(from), members(to));
        // A sender that receives too has one receiver fewer.
        let each = bytes / from.len() as f64;
        let part = |own: bool| each / (to.len() as f64 - f64::from(u8::from(own))).max(1.0);
        let both = from.iter().filter(|host| receives[host.index()]).count() as f64;
        from.iter().for_each(|&host| self.sent[host] += each);
        for &host in to {
            let own = f64::from(u8::from(sends[host.index()]));
            self.received[host] += (both - own) * part(true) + (from.len() as f64 - both) * part(false);
        }
        let mut receivers: BTreeMap<u32, f64> = BTreeMap::new();
        to.iter().for_each(|&host| *receivers.entry(self.switch_of[host]).or_default() += 1.0);
        // By switch: the number of senders that also receive, and of all others.
        let mut senders: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for &host in from {
            let of_switch = senders.entry(self.switch_of[host]).or_default();
            *(if receives[host.index()] { &mut of_switch.0 } else { &mut of_switch.1 }) += 1.0;
        }
        let (of_both, of_others) = (part(true), part(false));
        let senders = senders.into_iter().map(|(source, (both, others))| (source, both * of_both, others * of_others));
        let spread = Spread { senders: senders.collect(), receivers };
        if spread.senders.len() > 1 && spread.receivers.len() > 1 {
            self.spread.push(spread);
            return;
        }
        for &target in spread.receivers.keys() {
            for (source, bytes) in spread.towards(target) {
                *self.between.entry((source, target)).or_default() += bytes;
            }
        }
    }

    /// Returns the expected bytes of each link, with flows spread evenly over shortest routes.
    pub fn per_link(&self, ways: &mut Routing) -> PerLink {
        let graph = self.graph;
        let mut loads = Table::from(vec![0.0; graph.links.len()]);
        for (index, link) in graph.links.iter().enumerate().filter(|_| !self.hosts_route) {
            let at_host = match (link.from < graph.hosts, link.to < graph.hosts) {
                (true, _) => self.sent[HostId(link.from)],
                (_, true) => self.received[HostId(link.to)],
                _ => continue,
            };
            loads[LinkId::from_index(index)] = at_host;
        }
        // One receiver of each switch: routes to its others end in the same way.
        let mut receivers: BTreeMap<u32, HostId> = BTreeMap::new();
        graph.all_hosts().for_each(|host| _ = receivers.entry(self.switch_of[host]).or_insert(host));
        let mut by_target: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
        for (&(source, target), &bytes) in self.between.iter().filter(|((source, target), _)| source != target) {
            by_target.entry(target).or_default().push((source, bytes));
        }
        for &target in self.spread.iter().flat_map(|spread| spread.receivers.keys()) {
            by_target.entry(target).or_default();
        }
        let nodes = graph.hosts as usize + graph.switches.len();
        let (mut here, mut next) = (Layer::new(nodes), Layer::new(nodes));
        let (mut steps, targets) = (0, by_target.len());
        for (number, (target, sources)) in by_target.into_iter().enumerate() {
            let to = receivers[&target];
            ways.prepare(to);
            sources.into_iter().for_each(|(source, bytes)| here.add(source, bytes));
            for (source, bytes) in self.spread.iter().flat_map(|spread| spread.towards(target)) {
                here.add(source, bytes);
            }
            while !here.nodes.is_empty() {
                // Sums must not depend on the order in which nodes were reached.
                here.nodes.sort_unstable();
                for &node in here.nodes.iter().filter(|node| **node != target) {
                    let choices = ways.choices(node, to);
                    steps += choices.len();
                    let part = here.bytes[node as usize] / choices.len() as f64;
                    for &(link, end) in choices.iter() {
                        loads[link] += part;
                        next.add(end, part);
                    }
                }
                here.clear();
                std::mem::swap(&mut here, &mut next);
            }
            // The first targets tell the number of all routes, so that no time is spent where there are too many.
            let is_hopeless = number + 1 >= SAMPLED && steps / (number + 1) > 2 * MAX_STEPS / targets;
            if steps > MAX_STEPS || is_hopeless {
                let first = if self.hosts_route { 0 } else { graph.hosts };
                let between = |index: &usize| graph.links[*index].from.min(graph.links[*index].to) >= first;
                (0..graph.links.len()).filter(between).for_each(|link| loads[LinkId::from_index(link)] = 0.0);
                return PerLink { bytes: loads, is_complete: false };
            }
        }
        PerLink { bytes: loads, is_complete: true }
    }
}

impl Spread {
    /// Returns the senders of other switches than `target`, and the bytes of each for it.
    fn towards(&self, target: u32) -> impl Iterator<Item = (u32, f64)> {
        let count = self.receivers.get(&target).copied().unwrap_or(0.0);
        let senders = self.senders.iter().filter(move |(source, ..)| count > 0.0 && *source != target);
        senders.map(move |&(source, both, others)| (source, both * count + others * count))
    }
}

/// The nodes at one distance from a target, and the bytes at each.
struct Layer {
    nodes: Vec<u32>,
    /// By node; zero for all that are not in `nodes`.
    bytes: Vec<f64>,
    is_in: Vec<bool>,
}

impl Layer {
    fn new(nodes: usize) -> Layer {
        Layer { nodes: Vec::new(), bytes: vec![0.0; nodes], is_in: vec![false; nodes] }
    }

    fn add(&mut self, node: u32, bytes: f64) {
        if !std::mem::replace(&mut self.is_in[node as usize], true) {
            self.nodes.push(node);
        }
        self.bytes[node as usize] += bytes;
    }

    fn clear(&mut self) {
        for node in self.nodes.drain(..) {
            (self.is_in[node as usize], self.bytes[node as usize]) = (false, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    /// Two leaves with two hosts each, and two spines.
    fn leaf_spine() -> Graph {
        let mut graph = Graph::new(4);
        let leaves = [graph.switch("leaf 0", false), graph.switch("leaf 1", false)];
        let spines = [graph.switch("spine 0", false), graph.switch("spine 1", false)];
        let (rate, delay) = (Rate(1_000_000_000), Span::from_micros(1));
        graph.rack(leaves[0], 0, 0..2, rate, delay);
        graph.rack(leaves[1], 1, 2..4, rate, delay);
        leaves.iter().for_each(|&leaf| spines.iter().for_each(|&spine| graph.join(leaf, spine, rate, delay)));
        graph
    }

    /// Returns the bytes of each link with a load, by its ends.
    fn loads(graph: &Graph, demands: &[(&[u32], &[u32], f64)]) -> BTreeMap<(String, String), f64> {
        let mut offered = Offered::new(graph);
        let hosts = |ids: &[u32]| ids.iter().copied().map(HostId).collect::<Vec<_>>();
        for (from, to, bytes) in demands {
            offered.add(&Demand { from: &hosts(from), to: &hosts(to), messages: 1.0, bytes: *bytes });
        }
        let loads = offered.per_link(&mut Routing::new(graph)).bytes;
        let named = graph
            .links
            .iter()
            .enumerate()
            .map(|(index, link)| ((graph.name(link.from), graph.name(link.to)), loads[LinkId::from_index(index)]));
        named.filter(|(_, bytes)| *bytes > 0.0).collect()
    }

    fn at(loads: &BTreeMap<(String, String), f64>, from: &str, to: &str) -> f64 {
        *loads.get(&(from.to_owned(), to.to_owned())).unwrap_or(&0.0)
    }

    #[test]
    fn many_to_one_adds_up_at_the_receiver_and_halves_over_two_spines() {
        let loads = loads(&leaf_spine(), &[(&[0, 1, 2], &[3], 900.0)]);
        assert_eq!(at(&loads, "host 0", "leaf 0"), 300.0);
        assert_eq!(at(&loads, "leaf 1", "host 3"), 900.0);
        // 600 from the other leaf over two spines; traffic of host 2 stays at its leaf.
        for spine in ["spine 0", "spine 1"] {
            assert_eq!((at(&loads, "leaf 0", spine), at(&loads, spine, "leaf 1")), (300.0, 300.0));
        }
        assert_eq!(at(&loads, "leaf 1", "spine 0"), 0.0);
    }

    #[test]
    fn nothing_goes_from_a_host_to_itself() {
        // Each of four hosts sends 300 to three others, two of which are at the other leaf.
        let all: &[u32] = &[0, 1, 2, 3];
        let even = loads(&leaf_spine(), &[(all, all, 1200.0)]);
        assert!((at(&even, "leaf 0", "host 1") - 300.0).abs() < 1e-9);
        assert!((at(&even, "leaf 0", "spine 1") - 200.0).abs() < 1e-9, "{even:?}");
        // Host 0 can only send to host 1; host 2, which does not receive, to either.
        let mixed = loads(&leaf_spine(), &[(&[0, 2], &[0, 1], 200.0)]);
        assert_eq!((at(&mixed, "leaf 0", "host 1"), at(&mixed, "leaf 0", "host 0")), (150.0, 50.0));
        assert_eq!(at(&mixed, "leaf 1", "spine 0"), 50.0);
    }

    #[test]
    fn single_pairs_and_sets_of_one_are_the_same() {
        let graph = leaf_spine();
        assert_eq!(loads(&graph, &[(&[0], &[2, 3], 100.0)]), loads(&graph, &[(&[0], &[2], 50.0), (&[0], &[3], 50.0)]));
    }
}
