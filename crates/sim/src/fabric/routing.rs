//! Shortest paths, with ECMP by flow.

use std::collections::BTreeSet;
use std::ops::Range;

use hashbrown::HashTable;
use units::{HostId, LinkId, mix64};

use crate::flow::Flow;
use crate::topology::Graph;
use crate::topology::routing::{Detours, Routing, Step};

/// Finds routes, and stores each different one once.
pub(crate) struct Router {
    ways: Routing,
    /// Drawn from the seed: the routes of flows differ from seed to seed.
    salt: u64,
    /// Links that no flow may use, if there is another route.
    avoided: BTreeSet<LinkId>,
    /// Routes without the avoided links.
    detours: Detours,
    /// Positions of all stored routes, by hash.
    known: HashTable<Known>,
    /// All routes, one after the other: the links of each, followed by [`END`](Router::END).
    links: Vec<LinkId>,
    /// Free positions for this partition's routes. It takes `page` positions at a time, every `every`th page.
    room: Range<usize>,
    page: usize,
    every: usize,
    /// The route returned last.
    path: Vec<LinkId>,
}

/// The position of a stored route.
#[derive(Clone, Copy)]
struct Known {
    hash: u32,
    position: u32,
}

impl Router {
    /// Returns a router for a graph, whose links are numbered in their order.
    pub(crate) fn new(graph: &Graph, salt: u64) -> Router {
        Router {
            ways: Routing::new(graph),
            salt,
            avoided: BTreeSet::new(),
            detours: Detours::default(),
            known: HashTable::new(),
            links: Vec::new(),
            room: 0..usize::MAX,
            // No route visits a node twice.
            page: (graph.hosts as usize + graph.switches.len() + 1).max(Router::PAGE),
            every: 1,
            path: Vec::new(),
        }
    }

    /// Positions taken at a time, if sufficient for any route.
    const PAGE: usize = 1 << 12;
    /// No link; follows the last link of a route.
    pub(super) const END: LinkId = LinkId(u32::MAX);

    /// Returns whether each route is straight up, then straight down.
    pub(super) fn has_tiers(&self) -> bool {
        self.ways.has_tiers()
    }

    /// Restricts the router to the pages of one partition, before it has found any route. So the routes of several
    /// partitions have different positions: each stores the routes of its hosts, and [learns](Router::learn) the
    /// others.
    pub(super) fn keep_to(&mut self, part: u32, of: u32) {
        let first = part as usize * self.page;
        (self.room, self.every) = (first..first + self.page, of as usize);
    }

    /// Records a link of a route that another partition has found.
    pub(super) fn learn(&mut self, position: u32, link: LinkId) {
        self.reach(position as usize + 2);
        self.links[position as usize] = link;
    }

    /// Makes room for this many positions.
    fn reach(&mut self, positions: usize) {
        if self.links.len() < positions {
            self.links.resize(positions, Router::END);
        }
    }

    /// Returns the position in [`links`](Router::link) of the route of a flow, and whether it is new. At each node the
    /// flow's hash chooses among the links on shortest routes.
    pub(super) fn path(&mut self, from: HostId, to: HostId, flow: Flow) -> (u32, bool) {
        self.find(from, to, flow);
        self.keep()
    }

    /// Returns the links of the route of a flow, without storing it.
    pub(crate) fn find(&mut self, from: HostId, to: HostId, flow: Flow) -> &[LinkId] {
        let salt = self.salt;
        self.walk(from, to, |node, choices| flow.choice(salt, node, choices.len() as u64) as usize)
    }

    /// Returns the position of one of the shortest routes between two hosts, and whether it is new. Number 0 has the
    /// links of `first`. Successive numbers differ from it as early and as evenly as possible: the choice of each node
    /// moves on by one digit of the number. If they are `hashed`, each node hashes the number instead.
    pub(super) fn way(&mut self, from: HostId, to: HostId, first: &[LinkId], number: u32, hashed: bool) -> (u32, bool) {
        self.find_way(from, to, first, number, hashed);
        self.keep()
    }

    /// Returns the links of a route as [`way`](Router::way) finds it, without storing it.
    pub(super) fn find_way(
        &mut self,
        from: HostId,
        to: HostId,
        first: &[LinkId],
        number: u32,
        hashed: bool,
    ) -> &[LinkId] {
        let (salt, mut rest) = (self.salt, number as usize);
        // Behind the first other node, where `first` does not pass, its hash decides where to begin.
        let hash = first.iter().fold(salt, |hash, link| mix64(hash ^ u64::from(link.0)));
        self.walk(from, to, |node, choices| {
            let own = choices.iter().position(|step| first.contains(&step.0));
            let own = own.unwrap_or_else(|| (mix64(hash ^ u64::from(node)) % choices.len() as u64) as usize);
            if hashed && number > 0 {
                return (mix64(mix64(hash ^ u64::from(number)) ^ u64::from(node)) % choices.len() as u64) as usize;
            }
            let digit = rest % choices.len();
            rest /= choices.len();
            (own + digit) % choices.len()
        })
    }

    /// Returns the number of routes in a connection's set, of at most `most`. If they are `hashed`, several may be one.
    pub(super) fn num_ways(&mut self, from: HostId, to: HostId, most: u32, hashed: bool) -> u32 {
        match self.ways(from, to) {
            1 => 1,
            _ if hashed => most,
            ways => ways.min(u64::from(most)) as u32,
        }
    }

    /// Returns the number of shortest routes between two hosts, if all have as many choices at each node as the first.
    pub(super) fn ways(&mut self, from: HostId, to: HostId) -> u64 {
        let mut ways = 1_u64;
        self.walk(from, to, |_, choices| {
            ways = ways.saturating_mul(choices.len() as u64);
            0
        });
        ways
    }

    /// Appends the open links on shortest routes from a node to a host; all such links if none is open.
    pub(super) fn choices(&mut self, node: u32, to: HostId, into: &mut Vec<LinkId>) {
        self.ways.prepare(to);
        let (all, avoided) = (self.ways.choices(node, to), &self.avoided);
        into.extend(all.iter().map(|step| step.0).filter(|link| !avoided.contains(link)));
        if into.is_empty() {
            into.extend(all.iter().map(|step| step.0));
        }
    }

    /// Returns the position of a route that begins with a link to the node `behind` and ends at a host.
    pub(super) fn route_over(&mut self, link: LinkId, behind: u32, to: HostId) -> u32 {
        let mut node = behind;
        self.ways.prepare(to);
        self.path.clear();
        self.path.push(link);
        while node != to.0 {
            let (next, at) =
                *self.ways.choices(node, to).first().expect("there is a way on from a link on a shortest route");
            self.path.push(next);
            node = at;
        }
        self.keep().0
    }

    /// Returns the links of a shortest route. `choose` returns the index of a choice where there are several.
    fn walk(&mut self, from: HostId, to: HostId, mut choose: impl FnMut(u32, &[Step]) -> usize) -> &[LinkId] {
        let Router { ways, avoided, detours, path, .. } = self;
        ways.prepare(to);
        let is_open = |link| !avoided.contains(&link);
        // If no other route is left, a flow keeps its own.
        let goes_round = !avoided.is_empty() && detours.prepare(ways, from, to, is_open);
        path.clear();
        let mut node = from.0;
        while node != to.0 {
            let choices =
                if goes_round { detours.choices(ways, node, to, is_open).into() } else { ways.choices(node, to) };
            let choice = match choices.len() {
                0 => panic!("no path from node {node} to host {to}"),
                1 => 0,
                _ => choose(node, &choices),
            };
            let (link, next) = choices[choice];
            path.push(link);
            node = next;
        }
        &self.path
    }

    /// Returns the route returned last.
    pub(super) fn latest(&self) -> &[LinkId] {
        &self.path
    }

    /// Returns the position of the current route, and whether it is new.
    fn keep(&mut self) -> (u32, bool) {
        if self.room.len() <= self.path.len() {
            let next = self.room.end + (self.every - 1) * self.page;
            self.room = next..next + self.page;
        }
        let Router { known, links, path, room, .. } = self;
        let hash = path.iter().fold(0, |hash, link| mix64(hash ^ u64::from(link.0))) as u32;
        let spread = |known: &Known| mix64(known.hash.into());
        // A route to a host may be the beginning of one through it.
        let is_it = |known: &Known| {
            let rest = &links[known.position as usize..];
            known.hash == hash && rest.starts_with(path) && rest[path.len()] == Router::END
        };
        let new = Known { hash, position: room.start as u32 };
        let position = known.entry(spread(&new), is_it, spread).or_insert(new).get().position;
        let is_new = position == new.position;
        if is_new {
            let end = room.start + path.len();
            self.reach(end + 1);
            self.links[self.room.start..end].copy_from_slice(&self.path);
            self.room.start = end + 1;
        }
        (position, is_new)
    }

    /// Returns the link at a position of a route; [`END`](Router::END) follows the last.
    #[inline]
    pub(super) fn link(&self, position: u32) -> LinkId {
        self.links[position as usize]
    }

    /// Returns the link at a position of a route, and the next one.
    #[inline]
    pub(super) fn links(&self, position: u32) -> (LinkId, LinkId) {
        (self.links[position as usize], self.links[position as usize + 1])
    }

    /// Returns the number of links of the route that begins at a position.
    pub(super) fn length(&self, position: u32) -> u32 {
        self.rest(position).count() as u32
    }

    /// Returns the links of a route from a position on.
    pub(super) fn rest(&self, position: u32) -> impl Iterator<Item = LinkId> {
        self.links[position as usize..].iter().copied().take_while(|link| *link != Router::END)
    }

    /// Makes flows avoid this link if there is another route, or use it again.
    pub(super) fn avoid(&mut self, link: LinkId, avoid: bool) {
        let changed = if avoid { self.avoided.insert(link) } else { self.avoided.remove(&link) };
        if changed {
            self.detours = Detours::default();
        }
    }

    /// Returns the number of links of the shortest route between two hosts.
    pub(super) fn hops(&mut self, from: HostId, to: HostId) -> u32 {
        self.ways.prepare(to);
        let (mut node, mut hops) = (from.0, 0);
        while node != to.0 {
            node = self.ways.choices(node, to).first().expect("the nodes of a graph are connected").1;
            hops += 1;
        }
        hops
    }

    /// Takes the links of all routes; no route can be found afterwards.
    pub(super) fn take_links(&mut self) -> Vec<LinkId> {
        std::mem::take(&mut self.links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    /// Two leaves of two hosts, three spines.
    fn leaf_spine() -> Graph {
        let mut graph = Graph::new(4);
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
            let path = router.path(HostId(0), HostId(3), flow).0;
            assert_eq!((path, false), router.path(HostId(0), HostId(3), flow));
            let spine = graph.links[router.link(path + 1).index()].to - 6;
            used[spine as usize] += 1;
        }
        // 100 each, with a standard deviation of sqrt(300 x 1/3 x 2/3) = 8.2.
        assert!(used.iter().all(|&flows| i32::abs_diff(flows, 100) <= 33), "{used:?}");
        assert_eq!(router.links.len(), 3 * 5, "each path is kept once");
    }

    #[test]
    fn another_salt_sends_about_as_many_elsewhere_as_there_are_other_ways() {
        let graph = leaf_spine();
        let (mut one, mut other) = (Router::new(&graph, 1), Router::new(&graph, 2));
        let flows: Vec<Flow> = (0..300).map(|ordinal| Flow::of_message("a", ordinal)).collect();
        let ways = |router: &mut Router| -> Vec<LinkId> {
            let path = |&flow| {
                let path = router.path(HostId(0), HostId(3), flow).0;
                router.link(path + 1)
            };
            flows.iter().map(path).collect()
        };
        let (one, other) = (ways(&mut one), ways(&mut other));
        let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        // A third of them, with a standard deviation of 8.2.
        assert!(same.abs_diff(100) <= 33, "{same}");
    }

    /// Leaf 0 loses its link to spine 1 of three. The flows of that link spread over the other two spines, all others
    /// keep their routes.
    #[test]
    fn flows_go_round_a_link_and_return() {
        let graph = leaf_spine();
        let mut router = Router::new(&graph, 1);
        let flows: Vec<Flow> = (0..300).map(|ordinal| Flow::of_message("a", ordinal)).collect();
        let spine = |router: &mut Router, flow| {
            let path = router.path(HostId(3), HostId(0), flow).0;
            graph.links[router.link(path + 1).index()].to - 6
        };
        let before: Vec<u32> = flows.iter().map(|&flow| spine(&mut router, flow)).collect();
        let between = |ends: (u32, u32)| {
            let found = graph.links.iter().position(|link| (link.from, link.to) == ends);
            LinkId::from_index(found.expect("a link between these nodes"))
        };
        let lost = between((7, 4));
        router.avoid(lost, true);
        let mut counts = [0_u32; 3];
        flows.iter().for_each(|&flow| counts[spine(&mut router, flow) as usize] += 1);
        // 150 each, with a standard deviation of sqrt(300 / 4) = 8.7.
        assert_eq!(counts[1], 0);
        assert!(counts[0].abs_diff(150) <= 35, "{counts:?}");
        // Without a detour, a flow stays: host 0 has one link.
        let to_host = between((4, 0));
        router.avoid(to_host, true);
        assert_eq!(flows.iter().map(|&flow| spine(&mut router, flow)).collect::<Vec<_>>(), before);
        [lost, to_host].into_iter().for_each(|link| router.avoid(link, false));
        assert_eq!(flows.iter().map(|&flow| spine(&mut router, flow)).collect::<Vec<_>>(), before);
    }

    /// Up to one of three spines, then down: three routes, of which the first is the flow's own.
    #[test]
    fn ways_are_all_different_and_begin_with_the_given_one() {
        let graph = leaf_spine();
        let mut router = Router::new(&graph, 1);
        for ordinal in 0..10 {
            let (own, _) = router.path(HostId(0), HostId(3), Flow::of_message("a", ordinal));
            let links: Vec<LinkId> = router.rest(own).collect();
            assert_eq!((router.ways(HostId(0), HostId(3)), router.ways(HostId(0), HostId(1))), (3, 1));
            let mut ways: Vec<u32> =
                (0..3).map(|number| router.way(HostId(0), HostId(3), &links, number, false).0).collect();
            assert_eq!(ways[0], own);
            ways.sort_unstable();
            assert_eq!(ways, [0, 5, 10], "each kept once");
            let mut hashed = |number| router.way(HostId(0), HostId(3), &links, number, true).0;
            assert_eq!(hashed(0), own);
            let mut counts = [0_u32; 3];
            (1..=900).for_each(|number| counts[hashed(number) as usize / 5] += 1);
            // 300 each, with a standard deviation of sqrt(900 x 2 / 9) = 14.
            assert!(counts.iter().all(|count| count.abs_diff(300) <= 57), "{counts:?}");
        }
        // Without the link to spine 1 there are two.
        let lost = graph.links.iter().position(|link| (link.from, link.to) == (4, 7)).map(LinkId::from_index);
        router.avoid(lost.expect("leaf 0 has a link to spine 1"), true);
        assert_eq!(router.ways(HostId(0), HostId(3)), 2);
    }

    /// Hosts 0 and 1 are of one partition, hosts 2 and 3 of another. A page has room for two routes of four links and
    /// their ends.
    #[test]
    fn parts_keep_paths_at_different_positions_and_learn_the_others() {
        let graph = leaf_spine();
        let mut parts = [0, 1].map(|part| {
            let mut router = Router { page: 11, ..Router::new(&graph, 1) };
            router.keep_to(part, 2);
            router
        });
        let mut positions = [Vec::new(), Vec::new()];
        for ordinal in 0..100 {
            for (part, from, to) in [(0, 0, 3), (0, 1, 3), (1, 3, 0), (1, 3, 1)] {
                let (position, is_new) = parts[part].path(HostId(from), HostId(to), Flow::of_message("a", ordinal));
                if is_new {
                    let links = parts[part].latest().to_vec();
                    (position..).zip(links).for_each(|(position, link)| parts[1 - part].learn(position, link));
                    positions[part].push(position);
                }
                for router in &parts {
                    assert_eq!(router.link(position + 4), Router::END);
                    let ends = (position, position + 3);
                    let ends = [router.link(ends.0), router.link(ends.1)].map(|link| graph.links[link.index()]);
                    assert_eq!((ends[0].from, ends[1].to), (from, to));
                }
            }
        }
        // Three routes between each two.
        assert_eq!(positions, [vec![0, 5, 22, 27, 44, 49], vec![11, 16, 33, 38, 55, 60]]);
    }

    #[test]
    fn neighbours_stay_below_their_leaf() {
        let graph = leaf_spine();
        let mut router = Router::new(&graph, 1);
        let path = router.path(HostId(2), HostId(3), Flow::of_pair(HostId(2), HostId(3))).0;
        assert_eq!(graph.links[router.link(path).index()].to, graph.links[router.link(path + 1).index()].from);
        assert_eq!(graph.links[router.link(path + 1).index()].to, 3);
    }
}
