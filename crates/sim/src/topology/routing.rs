//! Shortest routes through a network, from switch to switch; and from host to host, where hosts have several links.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use units::{HostId, LinkId, Rate, Table};

use super::Graph;

/// A link, and the node at its end.
pub type Step = (LinkId, u32);

/// For every node, the links on shortest routes to a host.
///
/// Where each host has one link, to a switch, a route to it is a route to its switch. If switches form tiers, the links
/// follow from the hosts below each switch, and nothing is stored for pairs of nodes. Otherwise a table of all switches'
/// distances is computed for each switch whose hosts are requested.
///
/// Where [hosts route](Graph::hosts_route), they are nodes as switches are, and such a table is computed for each host
/// requested. Packets pass through as few other hosts as possible, and then over as few links as possible.
pub struct Routing {
    /// The number of hosts where each has one link, to a switch; else zero. It is the first node that has distances.
    hosts: u32,
    access: Table<HostId, Access>,
    /// Nodes below this one are hosts through which packets may pass.
    passed: u32,
    /// Links between nodes that have distances, by the node at their start.
    out: Adjacent,
    /// The same links by the node at their end, each with the node at its start.
    into: Adjacent,
    tiers: Option<Tiers>,
    tables: Distances,
}

/// A host's two links, to and from its switch. Where hosts route, only the node at the end of `up` counts: the host
/// itself, to which routes lead.
#[derive(Clone, Copy)]
struct Access {
    up: Step,
    down: Step,
}

impl Routing {
    /// Returns the routes of a graph whose links are numbered in their order.
    pub fn new(graph: &Graph) -> Routing {
        let mut ways = Routing::without_tiers(graph);
        if ways.passed == 0 {
            ways.tiers = Tiers::find(&ways);
        }
        ways
    }

    fn without_tiers(graph: &Graph) -> Routing {
        let (hosts, passed) = if graph.hosts_route() { (0, graph.hosts) } else { (graph.hosts, 0) };
        let no_link = LinkId(u32::MAX);
        let mut access: Table<HostId, Access> =
            graph.all_hosts().map(|host| Access { up: (no_link, host.0), down: (no_link, host.0) }).collect();
        let numbered = || graph.links.iter().enumerate().map(|(link, spec)| (LinkId::from_index(link), spec));
        for (link, spec) in numbered() {
            if spec.from < hosts {
                access[HostId(spec.from)].up = (link, spec.to);
            } else if spec.to < hosts {
                access[HostId(spec.to)].down = (link, spec.to);
            }
        }
        let nodes = (graph.nodes() - hosts) as usize;
        let between = || numbered().filter(|(_, spec)| spec.from.min(spec.to) >= hosts);
        Routing {
            hosts,
            access,
            passed,
            out: Adjacent::new(nodes, || between().map(|(link, spec)| (spec.from - hosts, (link, spec.to)))),
            into: Adjacent::new(nodes, || between().map(|(link, spec)| (spec.to - hosts, (link, spec.from)))),
            tiers: None,
            tables: Distances::default(),
        }
    }

    /// Returns whether switches form tiers: routes are straight up, then straight down.
    pub fn has_tiers(&self) -> bool {
        self.tiers.is_some()
    }

    /// Prepares calls of [`choices`](Routing::choices) for this host.
    pub fn prepare(&mut self, to: HostId) {
        if self.tiers.is_none() {
            let place = self.place_of(to);
            self.tables.find(place, (self.hosts, self.passed), &self.into, |_| true);
        }
    }

    /// Returns the links from a node on shortest routes to a host, in order of their numbers; none if there is no
    /// route. [`prepare`](Routing::prepare) must have been called.
    pub fn choices(&self, node: u32, to: HostId) -> Cow<'_, [Step]> {
        match (self.beside_switches(node, to), &self.tiers) {
            (Ok(step), _) => std::slice::from_ref(step).into(),
            (Err(switch), Some(tiers)) => tiers.choices(switch, to).into(),
            (Err(switch), None) => self.tables.choices(switch, self.place_of(to), self, |_| true).into(),
        }
    }

    /// Returns the only link if a node is a host with one link or the switch of `to`; else the place of the node among
    /// the nodes with distances.
    #[inline]
    fn beside_switches(&self, node: u32, to: HostId) -> Result<&Step, u32> {
        match node.checked_sub(self.hosts) {
            None => Ok(&self.access[HostId(node)].up),
            Some(switch) if switch == self.place_of(to) => Ok(&self.access[to].down),
            Some(switch) => Err(switch),
        }
    }

    /// Returns the place of the node to which routes to a host lead: of its switch, or of itself where hosts route.
    fn place_of(&self, host: HostId) -> u32 {
        self.access[host].up.1 - self.hosts
    }

    /// Returns the highest rate of one of the shortest routes between two hosts; with `sprayed`, that of all together at
    /// their hosts' links. Zero without a route.
    pub fn rate(&mut self, graph: &Graph, (from, to): (HostId, HostId), sprayed: bool) -> Rate {
        self.prepare(to);
        // By node: the highest rate of a route from there.
        let mut rates = BTreeMap::from([(to.0, Rate(u64::MAX))]);
        let (mut sends, mut receives) = (BTreeSet::new(), BTreeSet::new());
        let mut open = vec![from.0];
        while let Some(&node) = open.last() {
            let choices = self.choices(node, to);
            if rates.contains_key(&node) {
                open.pop();
                continue;
            }
            let unknown = choices.iter().map(|step| step.1).find(|next| !rates.contains_key(next));
            if let Some(next) = unknown {
                open.push(next);
                continue;
            }
            let over = |&(link, next): &Step| rates[&next].min(graph.links[link.index()].rate);
            let best = choices.iter().map(over).max().unwrap_or(Rate(0));
            sends.extend(choices.iter().filter(|_| node == from.0).map(|step| step.0));
            receives.extend(choices.iter().filter(|step| step.1 == to.0).map(|step| step.0));
            rates.insert(node, best);
        }
        let all = |links: BTreeSet<LinkId>| Rate(links.iter().map(|link| graph.links[link.index()].rate.0).sum());
        if sprayed { all(sends).min(all(receives)) } else { rates[&from.0] }
    }

    /// Returns the only link to a host; none where hosts route.
    pub fn last(&self, to: HostId) -> Option<LinkId> {
        (self.passed == 0).then(|| self.access[to].down.0)
    }
}

/// Routes that avoid some links.
#[derive(Default)]
pub struct Detours {
    tables: Distances,
}

impl Detours {
    /// Returns whether there is a route from one host to another over permitted links.
    pub fn prepare(&mut self, ways: &Routing, from: HostId, to: HostId, may_be_taken: impl Fn(LinkId) -> bool) -> bool {
        let (first, last) = (ways.place_of(from), ways.place_of(to));
        may_be_taken(ways.access[from].up.0)
            && may_be_taken(ways.access[to].down.0)
            && self.tables.find(last, (ways.hosts, ways.passed), &ways.into, may_be_taken)[first as usize] != u32::MAX
    }

    /// As [`Routing::choices`], with the distances of [`prepare`](Detours::prepare).
    pub fn choices(&self, ways: &Routing, node: u32, to: HostId, may_be_taken: impl Fn(LinkId) -> bool) -> Vec<Step> {
        match ways.beside_switches(node, to) {
            Ok(step) => vec![*step],
            Err(switch) => self.tables.choices(switch, ways.place_of(to), ways, may_be_taken),
        }
    }
}

/// For each requested place, the distance of every place to it; [`u32::MAX`] if it cannot be reached.
#[derive(Default)]
struct Distances {
    to: BTreeMap<u32, Vec<u32>>,
}

impl Distances {
    /// The number of links that a host on the way counts for.
    const HOST: u32 = 1 << 10;

    /// Nodes below `hosts` have no distances, nodes below `passed` are hosts.
    fn find(
        &mut self,
        to: u32,
        (hosts, passed): (u32, u32),
        into: &Adjacent,
        may_be_taken: impl Fn(LinkId) -> bool,
    ) -> &[u32] {
        self.to.entry(to).or_insert_with(|| {
            let mut distances = vec![u32::MAX; into.len()];
            distances[to as usize] = 0;
            let mut edges = BTreeMap::from([(0, vec![to])]);
            while let Some((distance, edge)) = edges.pop_first() {
                let mut next = Vec::new();
                for place in edge {
                    if distances[place as usize] < distance {
                        continue;
                    }
                    let is_passed = place < passed && place != to;
                    let before = distance.saturating_add(1 + if is_passed { Distances::HOST } else { 0 });
                    for &(link, node) in into.at(place) {
                        let at = node - hosts;
                        if before < distances[at as usize] && may_be_taken(link) {
                            distances[at as usize] = before;
                            if is_passed {
                                edges.entry(before).or_insert_with(Vec::new).push(at);
                            } else {
                                next.push(at);
                            }
                        }
                    }
                }
                if !next.is_empty() {
                    edges.entry(distance + 1).or_insert_with(Vec::new).append(&mut next);
                }
            }
            distances
        })
    }

    fn choices(&self, from: u32, to: u32, ways: &Routing, may_be_taken: impl Fn(LinkId) -> bool) -> Vec<Step> {
        let distances = &self.to[&to];
        let here = distances[from as usize];
        let nearer = |&&(link, next): &&Step| {
            let next = next - ways.hosts;
            let there = distances[next as usize];
            let passing = if next < ways.passed && next != to { Distances::HOST } else { 0 };
            here != u32::MAX && there < here && here - there == 1 + passing && may_be_taken(link)
        };
        ways.out.at(from).iter().filter(nearer).copied().collect()
    }
}

/// Switches in tiers. Each link leads one tier up or down, and each switch has the hosts of one range below it. All
/// switches above one switch have the same hosts below them, and so on upwards.
///
/// Then the shortest routes to a host are straight up until the host is below, and straight down from there. (A route
/// from a switch of tier t to a host below takes at least t + 1 steps. To any other host, it must reach the first tier
/// above that has the host below, which is the same for all links up. Every step down before costs one more up.)
struct Tiers {
    hosts: u32,
    /// The hosts below each switch.
    below: Vec<Range<u32>>,
    up: Adjacent,
    /// In order of the hosts below, then of the links.
    down: Adjacent,
}

impl Tiers {
    /// Returns the tiers of a network, if it has any.
    fn find(ways: &Routing) -> Option<Tiers> {
        let tier = Tiers::numbers(ways);
        let switches = || 0..ways.out.len() as u32;
        let number = |node: u32| tier[(node - ways.hosts) as usize];
        for switch in switches() {
            // Requires both directions of each link, and one tier up or down.
            let ends = |adjacent: &Adjacent| {
                let mut nodes: Vec<u32> = adjacent.at(switch).iter().map(|step| step.1).collect();
                nodes.sort_unstable();
                nodes
            };
            let neighbours = ends(&ways.out);
            let here = tier[switch as usize];
            if neighbours != ends(&ways.into) || neighbours.iter().any(|&node| number(node).abs_diff(here) != 1) {
                return None;
            }
        }
        let mut by_tier: Vec<u32> = switches().filter(|&switch| tier[switch as usize] != u32::MAX).collect();
        by_tier.sort_by_key(|&switch| tier[switch as usize]);

        let mut below = vec![0..0; ways.out.len()];
        let mut of_switch: Vec<Vec<u32>> = vec![Vec::new(); ways.out.len()];
        (0..ways.hosts).for_each(|host| of_switch[ways.place_of(HostId(host)) as usize].push(host));
        for &switch in &by_tier {
            let children = ways.out.at(switch).iter().filter(|step| number(step.1) < tier[switch as usize]);
            let mut ranges: Vec<(u32, u32)> = of_switch[switch as usize].iter().map(|&host| (host, host + 1)).collect();
            ranges.extend(
                children.map(|step| &below[(step.1 - ways.hosts) as usize]).map(|hosts| (hosts.start, hosts.end)),
            );
            ranges.sort_unstable();
            ranges.dedup();
            if ranges.windows(2).any(|pair| pair[0].1 != pair[1].0) {
                return None;
            }
            below[switch as usize] = ranges.first()?.0..ranges.last()?.1;
        }

        // Numbers the different sets of hosts above each switch, tier by tier.
        let mut known: BTreeMap<(u32, u32, Option<u32>), u32> = BTreeMap::new();
        let mut line = vec![0; ways.out.len()];
        for &switch in by_tier.iter().rev() {
            let mut above = ways.out.at(switch).iter().filter(|step| number(step.1) > tier[switch as usize]);
            let above_of = |step: &Step| line[(step.1 - ways.hosts) as usize];
            let first = above.next().map(above_of);
            if above.any(|step| Some(above_of(step)) != first) {
                return None;
            }
            let Range { start, end } = below[switch as usize];
            let number = known.len() as u32;
            line[switch as usize] = *known.entry((start, end, first)).or_insert(number);
        }

        let links = |up: bool| {
            let of = |switch: u32| ways.out.at(switch).iter().map(move |&step| (switch, step));
            let chosen = |(switch, step): &(u32, Step)| (number(step.1) > tier[*switch as usize]) == up;
            switches().flat_map(of).filter(chosen).collect::<Vec<_>>()
        };
        let (up, mut down) = (links(true), links(false));
        down.sort_by_key(|&(switch, (_, node))| (switch, below[(node - ways.hosts) as usize].start));
        let adjacent = |links: &[(u32, Step)]| Adjacent::new(ways.out.len(), || links.iter().copied());
        Some(Tiers { hosts: ways.hosts, up: adjacent(&up), down: adjacent(&down), below })
    }

    #[inline]
    fn choices(&self, switch: u32, to: HostId) -> &[Step] {
        if !self.below[switch as usize].contains(&to.0) {
            return self.up.at(switch);
        }
        let down = self.down.at(switch);
        let first_host = |step: &Step| self.below[(step.1 - self.hosts) as usize].start;
        let end = down.partition_point(|step| first_host(step) <= to.0);
        let start = first_host(&down[end - 1]);
        &down[down[..end].partition_point(|step| first_host(step) < start)..end]
    }

    /// Returns for each switch the number of steps above a switch with hosts.
    fn numbers(ways: &Routing) -> Vec<u32> {
        let mut tier = vec![u32::MAX; ways.out.len()];
        (0..ways.hosts).for_each(|host| tier[ways.place_of(HostId(host)) as usize] = 0);
        let mut edge: Vec<u32> = (0..tier.len() as u32).filter(|&switch| tier[switch as usize] == 0).collect();
        for number in 1.. {
            if edge.is_empty() {
                break;
            }
            let mut next = Vec::new();
            for (_, before) in edge.iter().flat_map(|&switch| ways.into.at(switch)) {
                let place = &mut tier[(before - ways.hosts) as usize];
                if *place == u32::MAX {
                    *place = number;
                    next.push(before - ways.hosts);
                }
            }
            edge = next;
        }
        tier
    }
}

/// Links by the place of the node at one of their ends.
struct Adjacent {
    /// Index of the first link of each place, and after the last one, the number of links.
    first: Vec<u32>,
    steps: Vec<Step>,
}

impl Adjacent {
    /// Returns the links by place, in their order at each.
    fn new<L: Iterator<Item = (u32, Step)>>(places: usize, links: impl Fn() -> L) -> Adjacent {
        let mut first = vec![0; places + 1];
        links().for_each(|(place, _)| first[place as usize + 1] += 1);
        for place in 0..places {
            first[place + 1] += first[place];
        }
        let mut next = first.clone();
        let mut steps = vec![(LinkId(0), 0); first[places] as usize];
        for (place, step) in links() {
            let index = &mut next[place as usize];
            steps[*index as usize] = step;
            *index += 1;
        }
        Adjacent { first, steps }
    }

    #[inline]
    fn at(&self, place: u32) -> &[Step] {
        let place = place as usize;
        &self.steps[self.first[place] as usize..self.first[place + 1] as usize]
    }

    fn len(&self) -> usize {
        self.first.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TOPOLOGIES;
    use std::collections::BTreeSet;
    use units::{Rate, Span, Stream, Value, Values};

    fn graph(topology: &str, counts: &[(&'static str, u64)]) -> Graph {
        let mut values = Values::default();
        values.set("rate", Value::Rate(Rate::from_gbps(1)));
        values.set("uplink", Value::Rate(Rate::from_gbps(4)));
        values.set("delay", Value::Time(Span(1)));
        counts.iter().for_each(|&(key, count)| values.set(key, Value::Count(count)));
        let descriptor =
            TOPOLOGIES.iter().find(|descriptor| descriptor.name == topology).expect("a topology of that name");
        descriptor.graph(&values).unwrap_or_else(|problem| panic!("{topology}: {problem:?}"))
    }

    /// Checks that both methods return the same for every node and host; returns whether there are tiers.
    fn agree(graph: &Graph) -> bool {
        let (ways, mut by_tables) = (Routing::new(graph), Routing::without_tiers(graph));
        for to in graph.all_hosts() {
            by_tables.prepare(to);
            for node in (0..graph.nodes()).filter(|&node| node != to.0) {
                let (one, other) = (ways.tiers.as_ref().map(|_| ways.choices(node, to)), by_tables.choices(node, to));
                assert!(one.is_none_or(|one| one == other), "from {node} to {to}");
            }
        }
        ways.tiers.is_some()
    }

    #[test]
    fn tiers_give_what_tables_of_distances_give() {
        let cases: [(&str, &[(&str, u64)]); 7] = [
            ("star", &[("hosts", 7)]),
            ("racks", &[("racks", 1), ("hosts_per_rack", 3)]),
            ("racks", &[("racks", 5), ("hosts_per_rack", 3)]),
            ("leaf-spine", &[("leaves", 4), ("hosts_per_leaf", 3), ("spines", 3)]),
            ("leaf-spine", &[("leaves", 1), ("hosts_per_leaf", 3), ("spines", 2)]),
            ("fat-tree", &[("k", 2)]),
            ("fat-tree", &[("k", 6)]),
        ];
        for (topology, counts) in cases {
            let mut graph = graph(topology, counts);
            assert!(agree(&graph), "{topology} {counts:?}");
            // In the simulator's order.
            graph.links.sort_by_key(|link| (link.to, link.from));
            assert!(agree(&graph), "{topology} {counts:?}, sorted");
        }
    }

    fn join(graph: &mut Graph, pairs: &[(u32, u32)]) {
        pairs.iter().for_each(|&(a, b)| graph.join(a, b, Rate::from_gbps(1), Span(1)));
    }

    /// Hosts 0 to 3 at two edge switches (4, 5) below two aggregation switches (6, 7).
    fn pod() -> Graph {
        let mut graph = Graph::new(4);
        (0..4).for_each(|i| _ = graph.switch(format!("switch {i}"), false));
        join(&mut graph, &[(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]);
        graph
    }

    #[test]
    fn what_is_not_in_tiers_is_seen() {
        assert!(agree(&pod()));
        // A second link is one more choice, and a switch without hosts on top changes nothing.
        let mut twice = pod();
        twice.switch("top", false);
        join(&mut twice, &[(4, 6), (6, 8), (7, 8)]);
        assert!(agree(&twice));
        // Only one of two aggregation switches leads further.
        let mut dead_end = pod();
        dead_end.switch("top", false);
        join(&mut dead_end, &[(6, 8)]);
        assert!(!agree(&dead_end));
        // A link within a tier.
        let mut within = pod();
        join(&mut within, &[(6, 7)]);
        assert!(!agree(&within));
        // One aggregation switch has only one of the edge switches below it.
        let mut ragged = pod();
        ragged.links.truncate(ragged.links.len() - 2);
        assert!(!agree(&ragged));
        // A link in one direction.
        let mut one_way = pod();
        one_way.links.pop();
        assert!(!agree(&one_way));
        // The hosts below a switch are not a range.
        let mut mixed = pod();
        for link in &mut mixed.links {
            let other = |node: u32| [0, 2, 1, 3].get(node as usize).copied().unwrap_or(node);
            (link.from, link.to) = (other(link.from), other(link.to));
        }
        assert!(!agree(&mixed));
    }

    /// Bellman and Ford's least pairs of hosts on the way and links, over permitted links, from every node.
    fn least(graph: &Graph, to: u32, lost: Option<LinkId>) -> Vec<Option<(u32, u32)>> {
        let mut least = vec![None; graph.nodes() as usize];
        least[to as usize] = Some((0, 0));
        for _ in 0..graph.nodes() {
            for (link, spec) in graph.links.iter().enumerate() {
                let passed = u32::from(spec.to < graph.hosts && spec.to != to);
                if let Some((hosts, links)) = least[spec.to as usize]
                    && lost != Some(LinkId::from_index(link))
                {
                    let found = (hosts + passed, links + 1);
                    let known = &mut least[spec.from as usize];
                    *known = Some(known.map_or(found, |known: (u32, u32)| known.min(found)));
                }
            }
        }
        least
    }

    #[test]
    fn few_hosts_are_passed_and_then_few_links() {
        let (mut routing, mut passing) = (0, 0);
        for seed in 0..300 {
            let mut stream = Stream::new(seed, "graphs", 0);
            let mut graph = Graph::new(5);
            (0..4).for_each(|i| _ = graph.switch(format!("switch {i}"), false));
            // Each node is joined with one before, then some with others.
            let mut pairs: BTreeSet<(u32, u32)> = (1..9).map(|node| (stream.below(node) as u32, node as u32)).collect();
            for _ in 0..stream.below(8) {
                let (a, b) = (stream.below(9) as u32, stream.below(9) as u32);
                pairs.extend((a != b).then_some((a.min(b), a.max(b))));
            }
            pairs.iter().for_each(|&pair| join(&mut graph, &[pair]));
            if !graph.hosts_route() {
                continue;
            }
            routing += 1;
            let mut ways = Routing::new(&graph);
            let lost = LinkId(stream.below(graph.links.len() as u64) as u32);
            for to in graph.all_hosts() {
                ways.prepare(to);
                for lost in [None, Some(lost)] {
                    let least = least(&graph, to.0, lost);
                    let mut detours = Detours::default();
                    for from in graph.all_hosts().filter(|from| *from != to) {
                        let found = detours.prepare(&ways, from, to, |link| lost != Some(link));
                        assert_eq!(
                            found,
                            least[from.index()].is_some(),
                            "seed {seed}: {from} to {to} without {lost:?}"
                        );
                    }
                    for node in (0..graph.nodes()).filter(|node| *node != to.0) {
                        let expected: Vec<Step> = (0..)
                            .map(LinkId)
                            .zip(&graph.links)
                            .filter(|(link, spec)| {
                                let passed = u32::from(spec.to < graph.hosts && spec.to != to.0);
                                let there = least[spec.to as usize].map(|(hosts, links)| (hosts + passed, links + 1));
                                let here = least[node as usize];
                                spec.from == node && lost != Some(*link) && here.is_some() && there == here
                            })
                            .map(|(link, spec)| (link, spec.to))
                            .collect();
                        let choices = match lost {
                            None => ways.choices(node, to).into_owned(),
                            Some(lost) => detours.choices(&ways, node, to, |link| link != lost),
                        };
                        assert_eq!(choices, expected, "seed {seed}: {node} to {to} without {lost:?}");
                        passing += u32::from(least[node as usize].is_some_and(|(hosts, _)| hosts > 0));
                    }
                }
            }
        }
        assert!(routing > 250 && passing > 1000, "{routing} {passing}");
    }

    #[test]
    fn a_detour_leaves_out_what_may_not_be_taken() {
        let graph = pod();
        let ways = Routing::new(&graph);
        let number = |ends: (u32, u32)| {
            LinkId::from_index(
                graph.links.iter().position(|link| (link.from, link.to) == ends).expect("a link between these nodes"),
            )
        };
        let nodes = |steps: &[Step]| steps.iter().map(|step| step.1).collect::<Vec<_>>();
        assert_eq!(nodes(&ways.choices(4, HostId(3))), [6, 7]);
        for (lost, found) in [((6, 5), true), ((5, 3), false), ((0, 4), false), ((5, 6), true)] {
            let lost = number(lost);
            let mut detours = Detours::default();
            assert_eq!(detours.prepare(&ways, HostId(0), HostId(3), |link| link != lost), found);
            if found {
                let expected: &[u32] = if lost == number((6, 5)) { &[7] } else { &[6, 7] };
                assert_eq!(nodes(&detours.choices(&ways, 4, HostId(3), |link| link != lost)), expected);
            }
        }
    }

    /// Two hosts with a link to each of two switches, at 10 and 4 Gbps; a third one at the second switch alone.
    #[test]
    fn rate_is_that_of_the_fastest_path_or_of_all_links() {
        let mut graph = Graph::new(3);
        let (a, b) = (graph.switch("a", false), graph.switch("b", false));
        for (host, switch, gbps) in [(0, a, 10), (0, b, 4), (1, a, 10), (1, b, 4), (2, b, 1)] {
            graph.join(host, switch, Rate::from_gbps(gbps), Span(1));
        }
        let mut routing = Routing::new(&graph);
        let mut rate = |from, to, sprayed| routing.rate(&graph, (HostId(from), HostId(to)), sprayed).0 / 1_000_000_000;
        assert_eq!((rate(0, 1, false), rate(0, 1, true)), (10, 14));
        // Only the second link of host 0 is on a shortest route.
        assert_eq!((rate(0, 2, false), rate(0, 2, true)), (1, 1));
        assert_eq!((rate(2, 0, false), rate(2, 0, true)), (1, 1));
    }
}
