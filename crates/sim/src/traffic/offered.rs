//! The load that traffic is expected to offer to each link, before any of it is drawn.

use std::collections::BTreeMap;

use units::{HostId, LinkId, Table};

use crate::topology::Graph;
use crate::topology::ways::Ways;

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
    /// The switch of each host, as a node.
    switch_of: Table<HostId, u32>,
    sent: Table<HostId, f64>,
    received: Table<HostId, f64>,
    between: BTreeMap<(u32, u32), f64>,
}

/// Expected bytes by link, as returned by [`Offered::per_link`].
pub struct PerLink {
    /// The expected bytes of each link.
    pub bytes: Table<LinkId, f64>,
    /// The bytes of links between switches are known; else they are zero.
    pub is_complete: bool,
}

/// Maximum number of a flow's steps between switches: a network of 8192 hosts in a fat-tree takes ten million. Beyond
/// it, the loads of links between switches are unknown.
const MAX_STEPS: usize = 50_000_000;

impl<'a> Offered<'a> {
    /// Returns an empty account for a network.
    pub fn new(graph: &'a Graph) -> Offered<'a> {
        let zeros = || Table::from(vec![0.0; graph.hosts as usize]);
        let mut switch_of = Table::from(vec![0; graph.hosts as usize]);
        for link in graph.links.iter().filter(|link| link.from < graph.hosts) {
            switch_of[HostId(link.from)] = link.to;
        }
        Offered { graph, switch_of, sent: zeros(), received: zeros(), between: BTreeMap::new() }
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
        for (&source, &(receiving, others)) in &senders {
            for (&target, &count) in &receivers {
                let beside_itself = count - f64::from(u8::from(source == target));
                let bytes = receiving * part(true) * beside_itself + others * part(false) * count;
                *self.between.entry((source, target)).or_default() += bytes;
            }
        }
    }

    /// Returns the expected bytes of each link, with flows spread evenly over shortest routes.
    pub fn per_link(&self, ways: &mut Ways) -> PerLink {
        let graph = self.graph;
        let mut loads = Table::from(vec![0.0; graph.links.len()]);
        for (index, link) in graph.links.iter().enumerate() {
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
        let mut by_target: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
        for (&(source, target), &bytes) in self.between.iter().filter(|((source, target), _)| source != target) {
            by_target.entry(target).or_default().insert(source, bytes);
        }
        let mut steps = 0;
        for (target, mut here) in by_target {
            let to = receivers[&target];
            ways.prepare(to);
            while !here.is_empty() {
                let mut next: BTreeMap<u32, f64> = BTreeMap::new();
                for (node, bytes) in here.into_iter().filter(|(node, _)| *node != target) {
                    let choices = ways.choices(node, to);
                    steps += choices.len();
                    let part = bytes / choices.len() as f64;
                    for &(link, end) in choices.iter() {
                        loads[link] += part;
                        *next.entry(end).or_default() += part;
                    }
                }
                here = next;
            }
            if steps > MAX_STEPS {
                let between = |index: &usize| graph.links[*index].from.min(graph.links[*index].to) >= graph.hosts;
                (0..graph.links.len()).filter(between).for_each(|link| loads[LinkId::from_index(link)] = 0.0);
                return PerLink { bytes: loads, is_complete: false };
            }
        }
        PerLink { bytes: loads, is_complete: true }
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
        let loads = offered.per_link(&mut Ways::new(graph)).bytes;
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
