//! Shortest paths, with ECMP by flow.

use std::collections::BTreeMap;

use units::{HostId, LinkId};

use crate::flow::Flow;
use crate::topology::Graph;

/// Finds paths and keeps each different one once.
pub struct Router {
    /// For each node, its outgoing links with the nodes they lead to.
    out: Vec<Vec<(LinkId, u32)>>,
    /// For each node, the nodes with a link to it.
    into: Vec<Vec<u32>>,
    hosts: u32,
    /// Drawn from the seed: which way flows go differs from seed to seed.
    salt: u64,
    /// For each destination host that was asked for, the distance of every node to it.
    distances: BTreeMap<HostId, Vec<u32>>,
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
            into[spec.to as usize].push(spec.from);
        }
        Router {
            out,
            into,
            hosts: graph.hosts,
            salt,
            distances: BTreeMap::new(),
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
        if !self.distances.contains_key(&to) {
            let distances = self.distances_to(to);
            self.distances.insert(to, distances);
        }
        let distances = &self.distances[&to];
        let (mut path, mut only) = (Vec::new(), true);
        let mut node = from.0;
        while node != to.0 {
            let here = distances[node as usize];
            assert!(here != u32::MAX, "no path from node {node} to host {to}");
            let nearer = |link: &&(LinkId, u32)| distances[link.1 as usize] == here - 1;
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

    /// Gives the links of all paths away; no path can be found afterwards.
    pub fn take_links(&mut self) -> Vec<LinkId> {
        std::mem::take(&mut self.links)
    }

    /// Hops from every node to a host; hosts do not forward.
    fn distances_to(&self, to: HostId) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.out.len()];
        distances[to.index()] = 0;
        let mut edge = vec![to.0];
        while !edge.is_empty() {
            let mut next = Vec::new();
            for node in edge {
                for &before in &self.into[node as usize] {
                    if distances[before as usize] == u32::MAX {
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

    #[test]
    fn neighbours_stay_below_their_leaf() {
        let graph = leaf_spine();
        let mut router = Router::new(&graph, 1);
        let path = router.path(HostId(2), HostId(3), Flow::of_pair(HostId(2), HostId(3)));
        assert_eq!(graph.links[router.link(path).index()].to, graph.links[router.link(path + 1).index()].from);
        assert_eq!(graph.links[router.link(path + 1).index()].to, 3);
    }
}
