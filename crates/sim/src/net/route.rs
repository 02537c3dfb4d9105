//! Shortest paths, with ECMP by flow.

use std::collections::{BTreeMap, BTreeSet};

use units::{HostId, LinkId};

use crate::flow::Flow;
use crate::topology::Graph;

/// Finds paths and keeps each different one once.
pub struct Router {
    /// For each node, its outgoing links with the nodes they lead to.
    out: Vec<Vec<(LinkId, u32)>>,
    /// For each node, the links that lead to it with the nodes that they come from.
    into: Vec<Vec<(LinkId, u32)>>,
    hosts: u32,
    /// Drawn from the seed: which way flows go differs from seed to seed.
    salt: u64,
    /// Links that no flow is to take, where there is another way.
    avoided: BTreeSet<LinkId>,
    /// For each destination host that was asked for, the distance of every node to it.
    distances: BTreeMap<HostId, Vec<u32>>,
    /// The same without the links to avoid, while there are any.
    detours: BTreeMap<HostId, Vec<u32>>,
    /// Where each different path is kept.
    known: BTreeMap<Vec<LinkId>, u32>,
    /// The paths between hosts that have only one.
    only: BTreeMap<(HostId, HostId), u32>,
    /// All paths, one after the other: the links to take.
    links: Vec<LinkId>,
}

impl Router {
    /// For a graph whose links are numbered as they stand.
    pub fn new(graph: &Graph, salt: u64) -> Router {
        let nodes = graph.nodes() as usize;
        let (mut out, mut into) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for (link, spec) in graph.links.iter().enumerate() {
            out[spec.from as usize].push((LinkId::from_index(link), spec.to));
            into[spec.to as usize].push((LinkId::from_index(link), spec.from));
        }
        Router {
            out,
            into,
            hosts: graph.hosts,
            salt,
            avoided: BTreeSet::new(),
            distances: BTreeMap::new(),
            detours: BTreeMap::new(),
            known: BTreeMap::new(),
            only: BTreeMap::new(),
            links: Vec::new(),
        }
    }

    /// The position in [`links`](Router::link) of the path that a flow takes. At each node the
    /// flow's hash chooses among the links on shortest paths.
    pub fn path(&mut self, from: HostId, to: HostId, flow: Flow) -> u32 {
        if let Some(&position) = self.only.get(&(from, to)) {
            return position;
        }
        self.find_distances(to);
        // Where no other way is left, a flow stays on the one that it has.
        let detours = self.detours.get(&to).filter(|detours| detours[from.index()] != u32::MAX);
        let distances = detours.unwrap_or(&self.distances[&to]);
        let closed = |link: LinkId| detours.is_some() && self.avoided.contains(&link);
        let (mut path, mut only) = (Vec::new(), true);
        let mut node = from.0;
        while node != to.0 {
            let here = distances[node as usize];
            assert!(here != u32::MAX, "no path from node {node} to host {to}");
            let nearer = |link: &&(LinkId, u32)| distances[link.1 as usize] == here - 1 && !closed(link.0);
            let choices = self.out[node as usize].iter().filter(nearer).count() as u64;
            let choice = if choices == 1 { 0 } else { flow.choice(self.salt, node, choices) };
            only &= choices == 1;
            let &(link, next) = self.out[node as usize].iter().filter(nearer).nth(choice as usize).expect("counted");
            path.push(link);
            node = next;
        }
        let position = *self.known.entry(path).or_insert_with_key(|path| {
            self.links.extend(path);
            (self.links.len() - path.len()) as u32
        });
        if only {
            self.only.insert((from, to), position);
        }
        position
    }

    /// The link at a position of a path.
    #[inline]
    pub fn link(&self, position: u32) -> LinkId {
        self.links[position as usize]
    }

    /// No flow is to take this link any more where there is another way, or each may again.
    pub fn avoid(&mut self, link: LinkId, avoid: bool) {
        let changed = if avoid { self.avoided.insert(link) } else { self.avoided.remove(&link) };
        if changed {
            self.detours.clear();
            self.only.clear();
        }
    }

    /// So many links has the shortest way between two hosts.
    pub fn hops(&mut self, from: HostId, to: HostId) -> u32 {
        self.find_distances(to);
        self.distances[&to][from.index()]
    }

    fn find_distances(&mut self, to: HostId) {
        if !self.distances.contains_key(&to) {
            let distances = self.distances_to(to, |_| true);
            self.distances.insert(to, distances);
        }
        if !self.avoided.is_empty() && !self.detours.contains_key(&to) {
            let detours = self.distances_to(to, |link| !self.avoided.contains(&link));
            self.detours.insert(to, detours);
        }
    }

    /// Gives the links of all paths away; no path can be found afterwards.
    pub fn take_links(&mut self) -> Vec<LinkId> {
        std::mem::take(&mut self.links)
    }

    /// Hops from every node to a host over links that may be taken; hosts do not forward.
    fn distances_to(&self, to: HostId, may_be_taken: impl Fn(LinkId) -> bool) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.out.len()];
        distances[to.index()] = 0;
        let mut edge = vec![to.0];
        while !edge.is_empty() {
            let mut next = Vec::new();
            for node in edge {
                for &(link, before) in &self.into[node as usize] {
                    if distances[before as usize] == u32::MAX && may_be_taken(link) {
                        distances[before as usize] = distances[node as usize] + 1;
                        if before >= self.hosts {
                            next.push(before);
                        }
                    }
                }
            }
            edge = next;
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    /// Two leaves of two hosts, three spines.
    fn leaf_spine() -> Graph {
        let mut graph = Graph::new("test", 4);
        let leaves: Vec<u32> = (0..2).map(|i| graph.switch(format!("leaf {i}"), false)).collect();
        let spines: Vec<u32> = (0..3).map(|i| graph.switch(format!("spine {i}"), false)).collect();
        for host in 0..4 {
            graph.join(host, leaves[host as usize / 2], Rate::from_gbps(10), Span(1));
        }
        for leaf in leaves {
            for &spine in &spines {
                graph.join(leaf, spine, Rate::from_gbps(40), Span(1));
            }
        }
        graph
    }

    #[test]
    fn flows_spread_over_the_spines_and_each_keeps_its_path() {
        let graph = leaf_spine();
        let mut router = Router::new(&graph, 1);
        let mut used = [0; 3];
        for flow in (0..300).map(|ordinal| Flow::of_message("a", ordinal)) {
            let path = router.path(HostId(0), HostId(3), flow);
            assert_eq!(path, router.path(HostId(0), HostId(3), flow));
            let spine = graph.links[router.link(path + 1).index()].to - 6;
            used[spine as usize] += 1;
        }
        // 100 each, with a standard deviation of sqrt(300 x 1/3 x 2/3) = 8.2.
        assert!(used.iter().all(|&flows| i32::abs_diff(flows, 100) <= 33), "{used:?}");
        assert_eq!(router.links.len(), 3 * 4, "each path is kept once");
    }

    #[test]
    fn another_salt_sends_about_as_many_elsewhere_as_there_are_other_ways() {
        let graph = leaf_spine();
        let (mut one, mut other) = (Router::new(&graph, 1), Router::new(&graph, 2));
        let flows: Vec<Flow> = (0..300).map(|ordinal| Flow::of_message("a", ordinal)).collect();
        let ways = |router: &mut Router| -> Vec<LinkId> {
            let path = |&flow| {
                let path = router.path(HostId(0), HostId(3), flow);
                router.link(path + 1)
            };
            flows.iter().map(path).collect()
        };
        let (one, other) = (ways(&mut one), ways(&mut other));
        let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        // A third of them, with a standard deviation of 8.2.
        assert!(same.abs_diff(100) <= 33, "{same}");
    }

    /// Spine 1 of three is lost to leaf 0: its flows spread over the other two, all others stay where they are.
    #[test]
    fn flows_go_round_a_link_and_return() {
        let graph = leaf_spine();
        let mut router = Router::new(&graph, 1);
        let flows: Vec<Flow> = (0..300).map(|ordinal| Flow::of_message("a", ordinal)).collect();
        let spine = |router: &mut Router, flow| {
            let path = router.path(HostId(3), HostId(0), flow);
            graph.links[router.link(path + 1).index()].to - 6
        };
        let before: Vec<u32> = flows.iter().map(|&flow| spine(&mut router, flow)).collect();
        let between = |ends: (u32, u32)| {
            let found = graph.links.iter().position(|link| (link.from, link.to) == ends);
            LinkId::from_index(found.expect("it is there"))
        };
        let lost = between((7, 4));
        router.avoid(lost, true);
        let mut counts = [0_u32; 3];
        flows.iter().for_each(|&flow| counts[spine(&mut router, flow) as usize] += 1);
        // 150 each, with a standard deviation of sqrt(300 / 4) = 8.7.
        assert_eq!(counts[1], 0);
        assert!(counts[0].abs_diff(150) <= 35, "{counts:?}");
        // Without a way round, a flow stays: host 0 has one link.
        let to_host = between((4, 0));
        router.avoid(to_host, true);
        assert_eq!(flows.iter().map(|&flow| spine(&mut router, flow)).collect::<Vec<_>>(), before);
        [lost, to_host].into_iter().for_each(|link| router.avoid(link, false));
        assert_eq!(flows.iter().map(|&flow| spine(&mut router, flow)).collect::<Vec<_>>(), before);
    }

    #[test]
    fn neighbours_stay_below_their_leaf() {
        let graph = leaf_spine();
        let mut router = Router::new(&graph, 1);
        let path = router.path(HostId(2), HostId(3), Flow::of_pair(HostId(2), HostId(3)));
        assert_eq!(graph.links[router.link(path).index()].to, graph.links[router.link(path + 1).index()].from);
        assert_eq!(graph.links[router.link(path + 1).index()].to, 3);
    }
}
