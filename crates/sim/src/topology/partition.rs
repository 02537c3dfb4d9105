//! Assignment of a network's hosts and ports to threads, and their clocks.

use units::{HostId, Instant, LinkId, Span, Table};

use super::{Graph, LinkSpec};

/// The assignment of a network's hosts and ports to partitions.
///
/// - A rack is whole: its hosts, their switch, and all ports of the switch.
/// - Racks that are connected below the highest tier (a pod) stay together if there are at least as many such groups as
///   partitions. Groups are assigned in turns, because racks with neighbouring numbers are often busy together.
/// - A switch above racks of one partition belongs to that partition.
/// - Each port of any other switch belongs to the partition to which it leads down, or to any partition if there is
///   none. But a switch whose ports share a buffer is whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// The number of partitions.
    pub parts: u32,
    /// The partition of each host.
    pub of_host: Table<HostId, u32>,
    /// The partition of each link's port.
    pub of_port: Table<LinkId, u32>,
    /// Links at whose end packets may be for a port of another partition than that of the link's own port.
    pub cut: Vec<LinkId>,
    /// The clock of each link's port.
    pub at_port: Table<LinkId, Clock>,
    /// The clock by which packets arrive at the end of each link.
    pub at_end: Table<LinkId, Clock>,
    /// Tier of each switch: its number of links above a switch with hosts.
    pub tier: Vec<u32>,
    /// Time by which partitions can advance without exchange: the shortest delay of a cut link, by the clocks at its
    /// ends. Unless the partition is [level](Partition::is_level), also the shortest delay of a link up from a switch.
    pub lookahead: Span,
}

/// A clock, by its advance over the hosts' clocks in picoseconds; negative if it is behind them. An event at a clock
/// that is ahead is simulated when the hosts' time is that much earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock(i64);

impl Clock {
    /// The clock of the hosts, which is the time.
    pub const HOSTS: Clock = Clock(0);

    /// Returns a clock that is ahead of this one.
    pub fn and(self, by: Span) -> Clock {
        Clock(self.0.saturating_add_unsigned(by.0))
    }
    /// Returns a clock that is behind this one.
    pub fn less(self, by: Span) -> Clock {
        Clock(self.0.saturating_sub_unsigned(by.0))
    }
    /// Returns the time that it shows at `time`; at the earliest the start of the run.
    pub fn shows(self, time: Instant) -> Instant {
        Instant(time.0.saturating_add_signed(-self.0))
    }
    /// Returns the time at which it shows `shown`.
    #[inline]
    pub fn time(self, shown: Instant) -> Instant {
        Instant(shown.0.wrapping_add_signed(self.0))
    }
    /// Returns the time that this clock shows when `other` shows `shown`.
    #[inline]
    pub fn when(self, other: Clock, shown: Instant) -> Instant {
        Instant(shown.0.wrapping_add_signed(other.0 - self.0))
    }
}

impl Partition {
    /// Partitions a graph into at most `most` partitions. `shares` returns whether the ports of a switch, counted from 0,
    /// share a buffer. The error gives the reason why there is no partition.
    pub fn new(graph: &Graph, most: u32, shares: impl Fn(usize) -> bool) -> Result<Partition, &'static str> {
        if graph.hosts_route() {
            return Err("a host has several links, or one to another host");
        }
        let racks = Racks::of(graph, most);
        if racks.parts < 2 {
            return Err("all hosts are at one switch");
        }
        let of_port: Table<LinkId, u32> =
            graph.links.iter().map(|link| racks.part_of_port(graph.hosts, (link.from, link.to), &shares)).collect();
        let mut leaving: Vec<Vec<u32>> = vec![Vec::new(); graph.switches.len()];
        for (link, part) in graph.links.iter().zip(of_port.iter()) {
            if let Some(switch) = link.from.checked_sub(graph.hosts) {
                leaving[switch as usize].push(*part);
            }
        }
        let is_cut = |link: &LinkId| {
            let to = graph.links[link.index()].to.checked_sub(graph.hosts);
            to.is_some_and(|switch| leaving[switch as usize].iter().any(|part| *part != of_port[*link]))
        };
        let cut: Vec<LinkId> = (0..graph.links.len()).map(LinkId::from_index).filter(is_cut).collect();
        if cut.iter().any(|link| graph.links[link.index()].delay == Span::ZERO) {
            return Err("a link between its parts has no delay");
        }
        let (at_port, at_end) = racks.clocks(graph);
        let Racks { parts, of_host, tier, .. } = racks;
        let apart = Partition { parts, of_host, of_port, cut, at_port, at_end, tier, lookahead: Span::ZERO };
        let lookahead = apart.looks_ahead(graph);
        let level = apart.clone().level(graph);
        Ok(match lookahead.filter(|lookahead| *lookahead > level.lookahead) {
            Some(lookahead) => Partition { lookahead, ..apart },
            None => level,
        })
    }

    /// Returns the same partition, with all clocks at the hosts' time.
    pub fn level(mut self, graph: &Graph) -> Partition {
        self.at_port.iter_mut().chain(self.at_end.iter_mut()).for_each(|clock| *clock = Clock::HOSTS);
        Partition { lookahead: self.looks_ahead(graph).unwrap_or_default(), ..self }
    }

    /// Returns whether all clocks are at the hosts' time.
    pub fn is_level(&self) -> bool {
        self.at_port.iter().chain(self.at_end.iter()).all(|clock| *clock == Clock::HOSTS)
    }

    /// Returns the delay of a link by the clocks at its ends; `None` if a packet would arrive before it was sent.
    pub fn delay(&self, link: LinkId, spec: &LinkSpec) -> Option<Span> {
        let longer = self.at_port[link].0 - self.at_end[link].0;
        spec.delay.0.checked_add_signed(longer).map(Span)
    }

    /// Returns the maximum by which a clock is ahead of the hosts, and the maximum by which one is behind.
    pub fn furthest(&self) -> (Span, Span) {
        let clocks = || self.at_port.iter().chain(self.at_end.iter()).map(|clock| clock.0);
        let (first, last) = (clocks().max().unwrap_or(0), clocks().min().unwrap_or(0));
        (Span(first.max(0) as u64), Span(last.min(0).unsigned_abs()))
    }

    /// Returns the lookahead; `None` if a packet would arrive before it was sent.
    fn looks_ahead(&self, graph: &Graph) -> Option<Span> {
        let delays = graph.links.iter().zip(0..).map(|(spec, link)| self.delay(LinkId(link), spec));
        let delays: Vec<Span> = delays.collect::<Option<_>>()?;
        let tier = |node: u32| node.checked_sub(graph.hosts).map(|switch| self.tier[switch as usize]);
        let leads_up = |link: &LinkSpec| tier(link.from).is_some_and(|from| tier(link.to) >= Some(from));
        let is_level = self.is_level();
        let upwards = graph.links.iter().zip(&delays).filter(|(link, _)| !is_level && leads_up(link));
        let cut = self.cut.iter().map(|link| delays[link.index()]);
        Some(upwards.map(|(_, delay)| *delay).chain(cut).min().unwrap_or(Span::MAX))
    }
}

/// The partition of each switch, as far as it follows from the racks.
struct Racks {
    parts: u32,
    of_host: Table<HostId, u32>,
    /// The partition of each switch, if all racks below it are of one.
    home: Vec<Option<u32>>,
    /// Tier of each switch: its number of links above a rack's switch.
    tier: Vec<u32>,
}

impl Racks {
    fn of(graph: &Graph, most: u32) -> Racks {
        let hosts = graph.hosts;
        let mut switch_of = vec![0; hosts as usize];
        let mut above = vec![Vec::new(); graph.switches.len()];
        for link in &graph.links {
            match (link.from.checked_sub(hosts), link.to.checked_sub(hosts)) {
                (None, Some(switch)) => switch_of[link.from as usize] = switch,
                (Some(from), Some(to)) => above[from as usize].push(to),
                _ => {}
            }
        }
        // Racks in the order of their first hosts, each with its number of hosts.
        let mut racks: Vec<(u32, u32)> = Vec::new();
        let mut place = vec![None; graph.switches.len()];
        for &switch in &switch_of {
            let place = place[switch as usize].get_or_insert(racks.len());
            if *place == racks.len() {
                racks.push((switch, 0));
            }
            racks[*place].1 += 1;
        }
        let tier = tiers(&racks, &above);
        let groups = Some(groups(&racks, &above, &tier)).filter(|groups| groups.iter().max() >= Some(&(most - 1)));
        let groups = groups.unwrap_or_else(|| (0..racks.len() as u32).collect());
        // Each group is assigned to the partition with the fewest hosts so far.
        let parts = most.min(groups.iter().max().map_or(0, |last| last + 1));
        let mut has = vec![0; parts as usize];
        let mut part_of: Vec<Option<u32>> = vec![None; racks.len()];
        let mut home = vec![None; graph.switches.len()];
        for (&(switch, _), &group) in racks.iter().zip(&groups) {
            let fewest = |has: &[u32]| {
                (0..parts).min_by_key(|part| has[*part as usize]).expect("a partition has at least one part")
            };
            let part = *part_of[group as usize].get_or_insert_with(|| {
                let part = fewest(&has);
                let hosts = racks.iter().zip(&groups).filter(|(_, other)| **other == group).map(|(rack, _)| rack.1);
                has[part as usize] += hosts.sum::<u32>();
                part
            });
            home[switch as usize] = Some(part);
        }
        let of_host = switch_of.iter().map(|&switch| home[switch as usize].expect("a rack has a part")).collect();

        let mut upwards: Vec<u32> =
            (0..tier.len() as u32).filter(|&at| (1..u32::MAX).contains(&tier[at as usize])).collect();
        upwards.sort_by_key(|&switch| tier[switch as usize]);
        for switch in upwards {
            let lower = |below: &u32| tier[*below as usize] < tier[switch as usize];
            let mut below =
                above[switch as usize].iter().filter(|below| lower(below)).map(|below| home[*below as usize]);
            let first = below.next().flatten();
            home[switch as usize] = first.filter(|_| below.all(|other| other == first));
        }
        Racks { parts, of_host, home, tier }
    }

    /// Returns for each link the clock of its port and the clock of its end.
    ///
    /// A packet at a rack's switch left its host one propagation delay before, so uplink traffic from there can be
    /// simulated that much earlier. A packet to a host arrives one delay later. So the switch's ports to hosts can be
    /// simulated that much later, and the switches above again one delay later, tier by tier. So the uplinks of
    /// switches are long, and by that much partitions can be ahead of each other.
    fn clocks(&self, graph: &Graph) -> (Table<LinkId, Clock>, Table<LinkId, Clock>) {
        let hosts = graph.hosts as usize;
        let switch = |node: u32| (node as usize).checked_sub(hosts);
        let tier = |node: u32| switch(node).map(|switch| self.tier[switch]);
        let mut below: Vec<Vec<&LinkSpec>> = vec![Vec::new(); graph.switches.len()];
        for link in graph.links.iter().filter(|link| tier(link.to) < tier(link.from)) {
            below[link.from as usize - hosts].push(link);
        }
        let mut up = vec![Clock::HOSTS; hosts + graph.switches.len()];
        let mut down = up.clone();
        let mut upwards: Vec<usize> = (0..graph.switches.len()).collect();
        upwards.sort_by_key(|&switch| self.tier[switch]);
        for switch in upwards {
            let node = hosts + switch;
            let below = below[switch].iter();
            let latest =
                below.clone().map(|link| down[link.to as usize].less(link.delay)).max().unwrap_or(Clock::HOSTS);
            let earliest = below.map(|link| Clock::HOSTS.and(link.delay)).min().unwrap_or(Clock::HOSTS);
            (up[node], down[node]) = (if self.tier[switch] == 0 { earliest } else { latest }, latest);
        }
        // For a host this is `None`, which is below all tiers.
        let goes_down = |link: &LinkSpec| tier(link.to) < tier(link.from);
        let clock = |link: &LinkSpec, node: u32| if goes_down(link) { &down } else { &up }[node as usize];
        let of = |node: fn(&LinkSpec) -> u32| graph.links.iter().map(|link| clock(link, node(link))).collect();
        (of(|link| link.from), of(|link| link.to))
    }

    fn part_of_port(&self, hosts: u32, (from, to): (u32, u32), shares: impl Fn(usize) -> bool) -> u32 {
        let Some(from) = from.checked_sub(hosts) else { return self.of_host[HostId(from)] };
        let from = from as usize;
        let own = self.home[from];
        let any = from as u32 % self.parts;
        let Some(to) = to.checked_sub(hosts).filter(|_| self.tier[from] > 0 && !shares(from)) else {
            return own.unwrap_or(any);
        };
        let below = if self.tier[to as usize] < self.tier[from] { self.home[to as usize] } else { None };
        below.or(own).unwrap_or(any)
    }
}

/// Returns the tier of each switch: its number of links above one with hosts.
fn tiers(racks: &[(u32, u32)], beside: &[Vec<u32>]) -> Vec<u32> {
    let mut tier = vec![u32::MAX; beside.len()];
    let mut edge: Vec<u32> = racks.iter().map(|rack| rack.0).collect();
    for number in 0.. {
        edge.retain(|&switch| tier[switch as usize] == u32::MAX);
        if edge.is_empty() {
            break;
        }
        edge.iter().for_each(|&switch| tier[switch as usize] = number);
        edge = edge.iter().flat_map(|&switch| &beside[switch as usize]).copied().collect();
    }
    tier
}

/// Returns the group of each rack, counted from 0. Racks that are connected below the highest tier are of one group.
fn groups(racks: &[(u32, u32)], beside: &[Vec<u32>], tier: &[u32]) -> Vec<u32> {
    let highest = tier.iter().filter(|tier| **tier < u32::MAX).max().copied().unwrap_or(0);
    let mut group = vec![None; beside.len()];
    let mut groups = 0;
    for &(rack, _) in racks {
        if group[rack as usize].is_some() {
            continue;
        }
        let mut reached = vec![rack];
        while let Some(switch) = reached.pop() {
            if group[switch as usize].is_none() {
                group[switch as usize] = Some(groups);
                let joined = beside[switch as usize].iter().filter(|other| tier[**other as usize] < highest);
                reached.extend(joined.filter(|_| tier[switch as usize] < highest));
            }
        }
        groups += 1;
    }
    racks.iter().map(|rack| group[rack.0 as usize].expect("each rack was reached")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TOPOLOGIES;
    use units::{Rate, Value, Values};

    /// Returns a graph with links of 20 us, in the simulator's order.
    fn graph(topology: &str, counts: &[(&'static str, u64)]) -> Graph {
        let mut values = Values::default();
        values.set("rate", Value::Rate(Rate::from_gbps(1)));
        values.set("uplink", Value::Rate(Rate::from_gbps(4)));
        values.set("delay", Value::Time(Span::from_micros(20)));
        counts.iter().for_each(|&(key, count)| values.set(key, Value::Count(count)));
        let descriptor =
            TOPOLOGIES.iter().find(|descriptor| descriptor.name == topology).expect("a topology of that name");
        let mut graph = descriptor.graph(&values).unwrap_or_else(|problem| panic!("{topology}: {problem:?}"));
        graph.links.sort_by_key(|link| (link.to, link.from));
        graph
    }

    /// Returns the link between two nodes of these names.
    fn find(graph: &Graph, from: &str, to: &str) -> LinkId {
        let is_it = |link: &LinkSpec| graph.name(link.from) == from && graph.name(link.to) == to;
        LinkId::from_index(graph.links.iter().position(is_it).expect("a link between these nodes"))
    }

    /// Returns the partition of the port between two nodes of these names, and whether its link is cut.
    fn between(graph: &Graph, parted: &Partition, from: &str, to: &str) -> (u32, bool) {
        let link = find(graph, from, to);
        (parted.of_port[link], parted.cut.contains(&link))
    }

    /// Returns the clocks at a link's ends, in microseconds.
    fn clocks_of(graph: &Graph, parted: &Partition, from: &str, to: &str) -> (i64, i64) {
        let link = find(graph, from, to);
        (parted.at_port[link].0 / 1_000_000, parted.at_end[link].0 / 1_000_000)
    }

    #[test]
    fn a_star_is_not_parted() {
        let graph = graph("star", &[("hosts", 16)]);
        assert_eq!(Partition::new(&graph, 4, |_| false), Err("all hosts are at one switch"));
    }

    /// Five leaves, assigned in turns.
    #[test]
    fn leaves_and_spines_by_hand() {
        let graph = graph("leaf-spine", &[("leaves", 5), ("hosts_per_leaf", 3), ("spines", 2)]);
        let parted = Partition::new(&graph, 2, |_| false).unwrap();
        let hosts: Vec<u32> = parted.of_host.iter().copied().collect();
        assert_eq!(hosts, [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
        assert_eq!(parted.parts, 2);
        // Uplink ports of a leaf are 20 us ahead of the hosts, ports down to hosts 20 us behind, and a spine 20 us
        // more.
        assert_eq!(parted.lookahead, Span::from_micros(80));
        for (from, to, clocks) in [
            ("host 0", "leaf 0", (0, 20)),
            ("leaf 0", "spine 1", (20, -40)),
            ("spine 1", "leaf 3", (-40, -20)),
            ("leaf 3", "host 9", (-20, 0)),
        ] {
            assert_eq!(clocks_of(&graph, &parted, from, to), clocks, "{from} to {to}");
        }
        assert_eq!((parted.furthest(), parted.is_level()), ([20, 40].map(Span::from_micros).into(), false));
        let between = |from: &str, to: &str| between(&graph, &parted, from, to);
        // A spine's port is in the partition of its leaf. Uplinks of leaves are cut, since a spine's ports are in both
        // partitions.
        assert_eq!(between("host 0", "leaf 0"), (0, false));
        assert_eq!(between("leaf 0", "host 2"), (0, false));
        assert_eq!(between("leaf 2", "spine 1"), (0, true));
        assert_eq!(between("leaf 1", "spine 0"), (1, true));
        assert_eq!(between("spine 0", "leaf 2"), (0, false));
        assert_eq!(between("spine 1", "leaf 3"), (1, false));
        assert_eq!(parted.cut.len(), 10);

        // A switch with a shared buffer is whole: spine 0 is switch 5, spine 1 is switch 6.
        let whole = Partition::new(&graph, 2, |_| true).unwrap();
        let between = |from: &str, to: &str| self::between(&graph, &whole, from, to);
        assert_eq!(between("spine 0", "leaf 0"), (1, true));
        assert_eq!(between("spine 0", "leaf 3"), (1, false));
        assert_eq!(between("spine 1", "leaf 3"), (0, true));
        assert_eq!(between("leaf 0", "spine 0"), (0, true));
        assert_eq!(between("leaf 0", "spine 1"), (0, false));
        assert_eq!(whole.cut.len(), 10);
        // Then uplinks and downlinks are cut: any delay that one gained the other would lose.
        assert_eq!((whole.lookahead, whole.is_level()), (Span::from_micros(20), true));
    }

    /// Four pods of two edge and two aggregation switches (numbered by pod), alternating between the partitions: only
    /// links at the core are cut.
    #[test]
    fn a_fat_tree_is_cut_at_its_core() {
        let graph = graph("fat-tree", &[("k", 4)]);
        let parted = Partition::new(&graph, 2, |_| false).unwrap();
        let between = |from: &str, to: &str| between(&graph, &parted, from, to);
        assert_eq!(between("edge 0", "aggregation 1"), (0, false));
        assert_eq!(between("aggregation 3", "edge 2"), (1, false));
        assert_eq!(between("aggregation 3", "core 2"), (1, true));
        assert_eq!(between("core 2", "aggregation 3"), (1, false));
        assert_eq!(between("core 2", "aggregation 5"), (0, false));
        // Uplink ports at the edge are 20 us ahead of the hosts, the aggregation 40 us behind, the core 60 us. The
        // shortest link up is from the aggregation to the core.
        assert_eq!(parted.lookahead, Span::from_micros(40));
        for (from, to, clocks) in [
            ("edge 1", "aggregation 0", (20, -40)),
            ("aggregation 2", "core 0", (-40, -60)),
            ("core 0", "aggregation 2", (-60, -40)),
            ("aggregation 2", "edge 3", (-40, -20)),
            ("edge 3", "host 6", (-20, 0)),
        ] {
            assert_eq!(clocks_of(&graph, &parted, from, to), clocks, "{from} to {to}");
        }
        // Each of the 8 aggregation switches has two links up.
        assert_eq!(parted.cut.len(), 16);
        assert_eq!(*parted.of_host, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]);

        // In five partitions, pods are divided; still every host and port has one partition.
        let parted = Partition::new(&graph, 5, |_| false).unwrap();
        assert_eq!(*parted.of_host, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 1, 1, 2, 2]);
        assert!(parted.of_port.iter().all(|part| *part < 5));
        assert_eq!((parted.of_port.len(), parted.of_host.len()), (graph.links.len(), 16));
        // Now downlinks to the aggregation are cut too: any delay that one link gained the other would lose.
        assert_eq!((parted.lookahead, parted.is_level()), (Span::from_micros(20), true));
    }

    #[test]
    fn there_are_no_more_parts_than_racks() {
        let graph = graph("racks", &[("racks", 3), ("hosts_per_rack", 2)]);
        let parted = Partition::new(&graph, 8, |_| false).unwrap();
        assert_eq!(parted.parts, 3);
        assert_eq!(*parted.of_host, [0, 0, 1, 1, 2, 2]);
        // Only the shortest of the cut links decides. The uplinks of a rack's switch are 1 ps ahead of its hosts, the
        // fabric is 2 ps behind them.
        let mut uneven = graph;
        uneven.links.iter_mut().for_each(|link| {
            let up = link.from >= 6 && link.to == 9;
            link.delay = if up { Span::from_micros(u64::from(link.from)) } else { Span(1) };
        });
        assert_eq!(Partition::new(&uneven, 3, |_| false).unwrap().lookahead, Span::from_micros(6) + Span(3));
    }
}
