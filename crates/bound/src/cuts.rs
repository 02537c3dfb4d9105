//! Cuts inside the network: groups of hosts whose links to all others carry less than the hosts could send.
//!
//! Every path from a host inside a set of nodes to a host outside takes one of the links that leave the set. So all
//! messages between the two share the capacity of these links. Take a set of messages that are in time, and an
//! interval. The messages whose windows at the cut are within the interval need no more time than it has, even at the
//! sum of the rates. By Horn's condition the earliest deadline first then meets them on one link of that rate. So one
//! link with the sum of the rates is a relaxation of several parallel links, whatever routes are taken. A cut of a
//! single link is that link.
//!
//! The bound holds for any choice of sets; the choice decides only how tight it is:
//!
//! - a switch with its hosts (a rack);
//! - the switches up to a tier, counted from the hosts, that are connected with each other (a pod);
//! - either side of a bridge, a pair of switches without whose link the network is disconnected (a shared uplink, a
//!   dumbbell).
//!
//! Cuts that carry all that their hosts can send or receive are left out: they rarely add anything to the hosts' own
//! links.

use std::collections::{BTreeMap, BTreeSet};

use sim::topology::Graph;
use units::{HostId, Rate};

/// The number of layers of cuts: a host is inside of at most one cut of each. Cuts are assigned in order of the share
/// that they carry of their hosts' rates, the smallest first. A cut for which no layer has room is left out.
pub const MAX_LAYERS: usize = 8;

/// The most switches in all sides of bridges together: a long chain of switches has a side for each.
const MAX_BEHIND: usize = 1 << 20;

/// A set of nodes and the links that cross its edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The links that leave it, and the sum of their rates.
    pub out: (Vec<u32>, Rate),
    /// The links that lead into it, and the sum of their rates.
    pub into: (Vec<u32>, Rate),
}

/// The cuts of a network that carry less than their hosts can send or receive.
#[derive(Debug, Default)]
pub struct Cuts {
    /// The cuts, the smallest share of the hosts' rates first.
    pub cuts: Vec<Cut>,
    /// For each layer and host, the index of the cut around the host, or [`NONE`].
    layers: Vec<Vec<u32>>,
}

const NONE: u32 = u32::MAX;

impl Cuts {
    /// Returns the cuts of a network.
    pub fn of(graph: &Graph) -> Cuts {
        let switches = Switches::of(graph);
        let mut kept: Vec<(Vec<u32>, Cut, f64)> = Vec::new();
        for (hosts, inside) in switches.candidates() {
            let cut = switches.around(graph, &hosts, &inside);
            let share = switches.share(&cut, &hosts);
            if share < 1.0 {
                kept.push((hosts, cut, share));
            }
        }
        kept.sort_by(|(a_hosts, _, a), (b_hosts, _, b)| a.total_cmp(b).then_with(|| a_hosts.cmp(b_hosts)));
        let mut cuts = Cuts::default();
        for (hosts, cut, _) in kept {
            let has_room = |layer: &Vec<u32>| hosts.iter().all(|host| layer[*host as usize] == NONE);
            let number = cuts.cuts.len() as u32;
            let layer = cuts.layers.iter().position(has_room).unwrap_or(cuts.layers.len());
            if layer == MAX_LAYERS {
                continue;
            }
            if layer == cuts.layers.len() {
                cuts.layers.push(vec![NONE; graph.hosts as usize]);
            }
            hosts.iter().for_each(|host| cuts.layers[layer][*host as usize] = number);
            cuts.cuts.push(cut);
        }
        cuts
    }

    /// Returns the cuts that every path between two hosts crosses, layer by layer: the one that it leaves and the one
    /// that it enters.
    pub fn between(&self, from: HostId, to: HostId) -> impl Iterator<Item = [Option<u32>; 2]> + '_ {
        self.layers.iter().map(move |layer| {
            let (a, b) = (layer[from.index()], layer[to.index()]);
            [a, b].map(|cut| Some(cut).filter(|cut| *cut != NONE && a != b))
        })
    }
}

/// The adjacency of switches and hosts.
struct Switches {
    /// For each switch, its neighbouring switches, each once.
    neighbours: Vec<Vec<usize>>,
    /// For each host, its switches; none if it has a link to a host.
    of_host: Vec<Option<Vec<usize>>>,
    /// For each switch, its hosts.
    hosts: Vec<Vec<u32>>,
    /// For each node, its outgoing and its incoming links.
    links: Vec<[Vec<u32>; 2]>,
    /// For each host, the rates at which it can send and receive, in bit/s.
    rates: Vec<[f64; 2]>,
    /// The sums of the rates over all hosts.
    all: [f64; 2],
}

impl Switches {
    fn of(graph: &Graph) -> Switches {
        let mut neighbours = vec![Vec::new(); graph.switches.len()];
        let mut of_host = vec![Some(Vec::new()); graph.hosts as usize];
        let mut hosts = vec![Vec::new(); graph.switches.len()];
        let mut links = vec![[Vec::new(), Vec::new()]; graph.nodes() as usize];
        let mut rates = vec![[0.0; 2]; graph.hosts as usize];
        let switch = |node: u32| node.checked_sub(graph.hosts).map(|switch| switch as usize);
        for (number, link) in graph.links.iter().enumerate() {
            for (way, (a, b)) in [(link.from, link.to), (link.to, link.from)].into_iter().enumerate() {
                links[a as usize][way].push(number as u32);
                match (switch(a), switch(b)) {
                    (Some(a), Some(b)) if a != b => neighbours[a].push(b),
                    (None, Some(b)) => {
                        of_host[a as usize].iter_mut().for_each(|joined: &mut Vec<usize>| joined.push(b));
                        hosts[b].push(a);
                    }
                    (None, None) => of_host[a as usize] = None,
                    _ => {}
                }
                if a < graph.hosts {
                    rates[a as usize][way] += link.rate.0 as f64;
                }
            }
        }
        for joined in &mut neighbours {
            joined.sort_unstable();
            joined.dedup();
        }
        let all = sum(rates.iter().copied());
        Switches { neighbours, of_host, hosts, links, rates, all }
    }

    /// Returns sets of switches by the hosts behind them, which are the hosts that have no other switch. Each set of
    /// hosts is returned once, and has some but not all hosts.
    fn candidates(&self) -> BTreeMap<Vec<u32>, Vec<usize>> {
        let tiers = self.tiers();
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for tier in 0..=tiers.iter().copied().filter(|tier| *tier < usize::MAX).max().unwrap_or(0) {
            sets.extend(self.parts(|switch| tiers[switch] <= tier));
        }
        sets.extend((0..tiers.len()).filter(|switch| tiers[*switch] == 0).map(|switch| vec![switch]));
        sets.extend(self.bridges());
        let mut inside = vec![usize::MAX; tiers.len()];
        let mut found = BTreeMap::new();
        for (number, set) in sets.into_iter().enumerate() {
            set.iter().for_each(|switch| inside[*switch] = number);
            let within = |host: &u32| {
                let joined = self.of_host[*host as usize].as_ref();
                joined.is_some_and(|joined| joined.iter().all(|switch| inside[*switch] == number))
            };
            let mut hosts: Vec<u32> =
                set.iter().flat_map(|switch| &self.hosts[*switch]).copied().filter(|host| within(host)).collect();
            hosts.sort_unstable();
            hosts.dedup();
            if !hosts.is_empty() && hosts.len() < self.of_host.len() {
                found.entry(hosts).or_insert(set);
            }
        }
        found
    }

    /// Returns the links across the edge of a set of nodes.
    fn around(&self, graph: &Graph, hosts: &[u32], switches: &[usize]) -> Cut {
        let nodes: BTreeSet<u32> =
            hosts.iter().copied().chain(switches.iter().map(|switch| graph.hosts + *switch as u32)).collect();
        let [out, into] = [0, 1].map(|way| {
            let other = |link: &u32| {
                let link = &graph.links[*link as usize];
                if way == 0 { link.to } else { link.from }
            };
            let all = nodes.iter().flat_map(|node| &self.links[*node as usize][way]).copied();
            let mut links: Vec<u32> = all.filter(|link| !nodes.contains(&other(link))).collect();
            links.sort_unstable();
            let rate = links.iter().map(|link| graph.links[*link as usize].rate.0).fold(0, u64::saturating_add);
            (links, Rate(rate))
        });
        Cut { out, into }
    }

    /// Returns the smaller share that a cut carries, out or in, of the rates of the hosts on either side.
    fn share(&self, cut: &Cut, inside: &[u32]) -> f64 {
        let within = sum(inside.iter().map(|host| self.rates[*host as usize]));
        let out = cut.out.1.0 as f64 / within[0].min(self.all[1] - within[1]);
        let into = cut.into.1.0 as f64 / within[1].min(self.all[0] - within[0]);
        out.min(into)
    }

    /// Returns the number of links from each switch to the nearest switch with hosts.
    fn tiers(&self) -> Vec<usize> {
        let mut tiers = vec![usize::MAX; self.neighbours.len()];
        let mut edge: Vec<usize> = self.of_host.iter().flatten().flatten().copied().collect();
        let mut tier = 0;
        while !edge.is_empty() {
            edge.retain(|switch| {
                let before = tiers[*switch];
                tiers[*switch] = before.min(tier);
                before == usize::MAX
            });
            edge = edge.iter().flat_map(|switch| self.neighbours[*switch].iter().copied()).collect();
            edge.retain(|switch| tiers[*switch] == usize::MAX);
            tier += 1;
        }
        tiers
    }

    /// Returns the connected components among the switches that `looked_at` selects.
    fn parts(&self, looked_at: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.neighbours.len()];
        let mut parts = Vec::new();
        for first in 0..seen.len() {
            if !looked_at(first) || std::mem::replace(&mut seen[first], true) {
                continue;
            }
            let (mut part, mut done) = (vec![first], 0);
            while let Some(&switch) = part.get(done) {
                done += 1;
                for &next in self.neighbours[switch].iter().filter(|next| looked_at(**next)) {
                    if !std::mem::replace(&mut seen[next], true) {
                        part.push(next);
                    }
                }
            }
            parts.push(part);
        }
        parts
    }

    /// Returns, for each bridge between two switches, the switches on one side of it: Tarjan's lowest reachable number
    /// in a depth-first search. Stops when the sides have [`MAX_BEHIND`] switches together.
    fn bridges(&self) -> Vec<Vec<usize>> {
        let n = self.neighbours.len();
        let mut number = vec![usize::MAX; n];
        let mut lowest = vec![usize::MAX; n];
        // Switches in the order of their numbers.
        let mut order: Vec<usize> = Vec::new();
        let mut sides = Vec::new();
        for root in 0..n {
            if number[root] < usize::MAX {
                continue;
            }
            (number[root], lowest[root]) = (order.len(), order.len());
            order.push(root);
            // The path to the current switch, each with the index of its next neighbour to visit.
            let mut path = vec![(root, 0)];
            while let Some(&mut (switch, ref mut next)) = path.last_mut() {
                let Some(&other) = self.neighbours[switch].get(*next) else {
                    path.pop();
                    if let Some(&(above, _)) = path.last() {
                        lowest[above] = lowest[above].min(lowest[switch]);
                        if lowest[switch] > number[above] {
                            sides.push(number[switch]..order.len());
                        }
                    }
                    continue;
                };
                *next += 1;
                let above = path.len().checked_sub(2).map(|above| path[above].0);
                if number[other] == usize::MAX {
                    (number[other], lowest[other]) = (order.len(), order.len());
                    order.push(other);
                    path.push((other, 0));
                } else if above != Some(other) {
                    lowest[switch] = lowest[switch].min(number[other]);
                }
            }
        }
        let mut behind = 0;
        let few = |side: &std::ops::Range<usize>| {
            behind += side.len();
            behind <= MAX_BEHIND
        };
        sides.into_iter().take_while(few).map(|side| order[side].to_vec()).collect()
    }
}

fn sum(rates: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
    rates.fold([0.0; 2], |sum, rates| [sum[0] + rates[0], sum[1] + rates[1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    const GBPS: u64 = 1_000_000_000;

    /// Returns racks of two hosts at 1 Gbps, below `tops` switches with links of `gbps / 4`.
    fn racks(racks: u32, tops: u32, gbps: u64) -> Graph {
        let mut graph = Graph::new(racks * 2);
        let tops: Vec<u32> = (0..tops).map(|top| graph.switch(format!("top {top}"), false)).collect();
        for rack in 0..racks {
            let tor = graph.switch(format!("tor {rack}"), false);
            graph.rack(tor, rack, rack * 2..rack * 2 + 2, Rate::from_gbps(1), Span(1));
            tops.iter().for_each(|top| graph.join(tor, *top, Rate(gbps * GBPS / 4), Span(1)));
        }
        graph
    }

    fn sets(cuts: &Cuts) -> Vec<Vec<usize>> {
        let hosts = |cut: u32| {
            let layer = cuts.layers.iter().find(|layer| layer.contains(&cut)).unwrap();
            (0..layer.len()).filter(|host| layer[*host] == cut).collect()
        };
        let mut sets: Vec<Vec<usize>> = (0..cuts.cuts.len() as u32).map(hosts).collect();
        sets.sort();
        sets
    }

    #[test]
    fn an_oversubscribed_rack_is_cut_off_by_all_its_uplinks() {
        let cuts = Cuts::of(&racks(3, 2, 3));
        assert_eq!(sets(&cuts), [[0, 1], [2, 3], [4, 5]]);
        for cut in &cuts.cuts {
            assert_eq!((cut.out.0.len(), cut.out.1, cut.into.1), (2, Rate(3 * GBPS / 2), Rate(3 * GBPS / 2)));
        }
        let crossed = |from, to| cuts.between(HostId(from), HostId(to)).flatten().flatten().count();
        assert_eq!((crossed(0, 1), crossed(1, 2)), (0, 2));
    }

    #[test]
    fn what_carries_everything_is_no_cut() {
        assert!(Cuts::of(&racks(3, 2, 4)).cuts.is_empty());
        // A host cannot send more than the rest of the star receives, nor the rest more than it receives.
        let mut star = Graph::new(3);
        let switch = star.switch("switch", false);
        star.rack(switch, 0, 0..3, Rate::from_gbps(1), Span(1));
        assert!(Cuts::of(&star).cuts.is_empty());
    }

    #[test]
    fn a_bridge_cuts_and_a_ring_does_not() {
        // Switches 0, 1, 2 in a ring, 3 behind 2; two hosts each.
        let mut graph = Graph::new(8);
        let switches: Vec<u32> = (0..4).map(|i| graph.switch(format!("{i}"), false)).collect();
        for (number, &switch) in switches.iter().enumerate() {
            let first = 2 * number as u32;
            graph.rack(switch, number as u32, first..first + 2, Rate::from_gbps(1), Span(1));
        }
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            graph.join(switches[a], switches[b], Rate::from_gbps(1), Span(1));
        }
        graph.join(switches[2], switches[3], Rate::from_gbps(1), Span(1));
        let joined = Switches::of(&graph);
        assert_eq!(joined.bridges(), [[3]]);
        // Two parallel links count as one.
        graph.join(switches[2], switches[3], Rate(GBPS / 2), Span(1));
        assert_eq!(Switches::of(&graph).bridges().len(), 1);
        let cuts = Cuts::of(&graph);
        // Two links cut off each switch of the ring and carry all; the switch behind them has 1.5 of 2 Gbps.
        assert_eq!(sets(&cuts), [[6, 7]]);
        assert_eq!(cuts.cuts[0].out.1, Rate(3 * GBPS / 2));
        assert_eq!(cuts.between(HostId(7), HostId(0)).collect::<Vec<_>>(), [[Some(0), None]]);
    }

    #[test]
    fn pods_are_found_by_their_tier() {
        // Two pods of two racks below two switches each; one core switch joins the pods with less than they can send.
        let mut graph = Graph::new(8);
        let core = graph.switch("core", false);
        for pod in 0..2 {
            let above = [0, 1].map(|i| graph.switch(format!("pod {pod} {i}"), false));
            for rack in [2 * pod, 2 * pod + 1] {
                let tor = graph.switch(format!("tor {rack}"), false);
                graph.rack(tor, rack, 2 * rack..2 * rack + 2, Rate::from_gbps(1), Span(1));
                above.iter().for_each(|switch| graph.join(tor, *switch, Rate::from_gbps(1), Span(1)));
            }
            above.iter().for_each(|switch| graph.join(*switch, core, Rate::from_gbps(1), Span(1)));
        }
        let cuts = Cuts::of(&graph);
        assert_eq!(sets(&cuts), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(cuts.cuts[0].out.1, Rate::from_gbps(2));
    }

    #[test]
    fn a_long_chain_keeps_a_few_layers() {
        let mut graph = Graph::new(400);
        let switches: Vec<u32> = (0..200).map(|i| graph.switch(format!("{i}"), false)).collect();
        for (number, &switch) in switches.iter().enumerate() {
            let first = 2 * number as u32;
            graph.rack(switch, 0, first..first + 2, Rate::from_gbps(1), Span(1));
            if number > 0 {
                graph.join(switches[number - 1], switch, Rate::from_gbps(1), Span(1));
            }
        }
        let cuts = Cuts::of(&graph);
        assert!(cuts.layers.len() == MAX_LAYERS && cuts.cuts.len() >= MAX_LAYERS);
        // The middle link carries the least of what both sides could send.
        assert_eq!(cuts.cuts[cuts.layers[0][0].min(cuts.layers[0][399]) as usize].out.0.len(), 1);
    }
}
