//! The plan of the ports: the mode, limits, discipline and marker of each, decided here and nowhere else.
//!
//! The first condition that holds gives the mode:
//!
//! - [`PortMode::Qdisc`]: the port has a discipline, marker or buffer policy that is not built in, marks at departure,
//!   or may be paused.
//! - [`PortMode::Deferred`]: all ports of its switch have built-in disciplines and markers, and no adjacent switch
//!   defers.
//! - [`PortMode::ToDeferred`]: it sends to such a switch.
//! - [`PortMode::Relay`]: it is at a host, in a network whose [hosts route](Graph::hosts_route).
//! - [`PortMode::Shared`]: it draws on a buffer that its switch shares dynamically.
//! - [`PortMode::Own`]: all others.
//!
//! Ports of a shared buffer decide on a packet by each other's queues only if the buffer can be filled. It cannot while
//! few packets are in it or have it ahead of them ([`Plan::max_in_flight`]). So they defer until there may be more (`headroom.rs`),
//! and are in the mode [`PortMode::Shared`] from then on.
//!
//! A run that logs packets, has agents at its ports, or whose hosts route, defers nothing ([`Plan::defer`]). In one partition of several,
//! [`Plan::in_epochs`] replaces the plan where clocks differ. Later only faults change a mode: a link that is down, and
//! deferral, which ends with the first fault (`faulty.rs`).

use std::collections::BTreeMap;

use units::{Amount, Bytes, Span};

use super::level::Level;
use super::marker::{self, MARKERS};
use super::network::{Network, Service, Sharing, Switch};
use super::port::{BufferIndex, LinkRole, PortMode};
use super::qdisc;
use super::shared_buffer::unfilled;
use super::switch_paths::at_switches;
use crate::topology::{Graph, LinkSpec};

/// The plan of all ports.
#[derive(Default)]
pub(crate) struct Plan {
    /// One entry per port, in the order of the graph's links.
    pub ports: Vec<PortPlan>,
    /// The capacities of shared buffers, and the factor of their dynamic thresholds; once where they are equal.
    shared: Vec<(Amount, f64)>,
    /// The number of packets in or before each shared buffer up to which its ports may defer; none if they do not.
    pub max_in_flight: Option<u32>,
}

/// The plan of one port.
#[derive(Clone, Copy)]
pub(crate) struct PortPlan {
    /// The ends of its link.
    pub role: LinkRole,
    /// How it takes packets and sends them on.
    pub mode: PortMode,
    /// The reason for the mode.
    pub reason: Reason,
    /// The limit on its queue; infinite in a shared buffer and at a host.
    pub limit: Level,
    /// The threshold above which packets are marked.
    pub mark: Level,
    /// Drops packets above the threshold that cannot be marked.
    pub drop_unmarkable: bool,
    /// The discipline that orders its queue.
    pub queue: &'static qdisc::Descriptor,
    /// The marker that sets Congestion Experienced there.
    pub marking: &'static marker::Descriptor,
    /// The marker decides when a packet's transmission begins, not on its arrival.
    pub at_departure: bool,
}

/// The reason for a port's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its switch has buffers for each port, and no adjacent switch defers enqueueing.
    OwnBuffer,
    /// All of its packets are sent to ports that defer enqueueing.
    ToDeferred,
    /// Its switch shares a buffer, which few packets in flight cannot fill.
    UnfilledBuffer,
    /// Its switch shares a buffer.
    SharedBuffer,
    /// Its discipline, marker or buffer decides at each departure.
    Discipline,
    /// Agents of a transport observe each arrival.
    Agents,
    /// Its switch chooses the next link of each arrival.
    Balancer,
    /// Packets may pass through hosts.
    HostsRoute,
    /// A packet that finds it idle may be dropped or marked.
    MayRefuse,
    /// Another port at one of its ends needs an event for each hop.
    Neighbour,
    /// The node at the end of its link may pause it.
    Pauses,
}

impl Reason {
    /// Returns the reason why each arrival in a network must be an event, if there is one.
    pub(crate) fn of_each(has_agents: bool, switches_choose: bool) -> Option<Reason> {
        has_agents.then_some(Reason::Agents).or_else(|| switches_choose.then_some(Reason::Balancer))
    }

    /// Returns the reason in words, with its cost.
    pub fn text(self) -> &'static str {
        match self {
            Reason::OwnBuffer => "only its own packets decide, in a buffer of its own: one event for two hops",
            Reason::ToDeferred => "all of its packets are sent to ports that defer enqueueing: no event",
            Reason::UnfilledBuffer => {
                "packets in flight are too few to fill the shared buffer: one event for two hops, while that is so"
            }
            Reason::SharedBuffer => "the ports of its switch share a buffer: an event for each hop",
            Reason::Discipline => {
                "its discipline, marker or buffer decides at each departure, or it trims or writes records: an event for each hop, up to two at hosts and where more depends on departures"
            }
            Reason::Agents => "agents of a transport observe each arrival: an event for each hop",
            Reason::Balancer => "switches choose the next link of each arrival: an event for each hop",
            Reason::HostsRoute => {
                "a host has several links, or one to another host, and packets may pass through it: an event for each hop"
            }
            Reason::MayRefuse => "a packet that finds it idle may be dropped or marked: an event for each hop",
            Reason::Pauses => "its network is lossless, so that it may be paused: up to two events for each hop",
            Reason::Neighbour => "another port at one of its ends needs an event for each hop, and so does this one",
        }
    }
}

/// Ports that have one role, mode and reason.
pub struct PortGroup {
    /// The role of their links.
    pub role: LinkRole,
    /// The name of their mode.
    pub mode: &'static str,
    /// The reason for it.
    pub reason: Reason,
    /// The number of these ports.
    pub ports: usize,
}

impl Plan {
    /// Returns the plan of a network without deferred enqueue.
    pub(crate) fn of(graph: &Graph, switch: &Switch, service: &Service) -> Plan {
        // The ports of each switch that share its buffer.
        let mut sharers = vec![0; graph.switches.len()];
        for link in graph.links.iter().filter(|link| link.from >= graph.hosts && link.buffer.is_none()) {
            sharers[(link.from - graph.hosts) as usize] += 1;
        }
        // Only switches with a limit have a shared buffer.
        let mut buffers = 0;
        let mut buffer_of = Vec::new();
        for node in &graph.switches {
            buffer_of.push(BufferIndex::from_index(buffers));
            buffers += usize::from(!node.unlimited);
        }
        let hosts_route = graph.hosts_route();
        let port = |spec: &LinkSpec| {
            let role = LinkRole::of(spec.from < graph.hosts, spec.to < graph.hosts);
            let mut plan = PortPlan {
                role,
                mode: if hosts_route && role.at_host() { PortMode::Relay } else { PortMode::Own },
                reason: Reason::Neighbour,
                limit: Level::INFINITE,
                mark: Level::INFINITE,
                drop_unmarkable: false,
                queue: if role.at_host() { service.hosts } else { service.switches },
                // Nothing is ever marked at a host, nor at an unlimited port.
                marking: &MARKERS[0],
                at_departure: false,
            };
            if let Some(node) = spec.from.checked_sub(graph.hosts).map(|node| node as usize)
                && !graph.switches[node].unlimited
            {
                let buffer = graph.switches[node].buffer.unwrap_or(switch.buffer);
                plan.limit = match (spec.buffer, switch.sharing) {
                    // An arriving packet has room already.
                    _ if service.lossless => Level::INFINITE,
                    (Some(own), _) => Level::share(own, 1),
                    (None, Sharing::Dynamic(_) | Sharing::Limited(..)) => Level::INFINITE,
                    (None, Sharing::PerPort) => Level::share(buffer, 1),
                    (None, Sharing::Static) => Level::share(buffer, sharers[node]),
                };
                let of_switch = if role.to_host() { switch.marks.host } else { switch.marks.uplink };
                plan.mark = Level::from(spec.mark.or(of_switch));
                plan.marking = service.marking;
                // Where nothing is marked, no departure matters.
                plan.at_departure = service.at_departure && !(plan.marking.built_in && plan.mark == Level::INFINITE);
                plan.drop_unmarkable = switch.drop_non_ect;
                if !service.lossless && spec.buffer.is_none() && switch.sharing.alpha().is_some() {
                    (plan.mode, plan.reason) = (PortMode::Shared(buffer_of[node]), Reason::SharedBuffer);
                }
            }
            let decides = (service.trim.is_some() || service.records) && role.at_switch();
            let is_limited = plan.mode.buffer().is_some() && matches!(switch.sharing, Sharing::Limited(..));
            if decides || is_limited || plan.at_departure || !(plan.queue.built_in && plan.marking.built_in) {
                plan.reason = Reason::Discipline;
            }
            if service.lossless {
                plan.reason = Reason::Pauses;
            }
            plan
        };
        let buffers = graph.switches.iter().filter(|node| !node.unlimited);
        let shared = match switch.sharing.alpha() {
            Some(alpha) => {
                let mut shared: Vec<(Amount, f64)> =
                    buffers.map(|node| (node.buffer.unwrap_or(switch.buffer), alpha)).collect();
                shared.dedup();
                shared
            }
            None => Vec::new(),
        };
        Plan { ports: graph.links.iter().map(port).collect(), shared, max_in_flight: None }
    }

    /// Returns the plan of a network whose packets have up to `largest` wire bytes. Agents observe arrivals at its ports
    /// if `has_agents`.
    pub(crate) fn whole(network: &Network, service: &Service, largest: Bytes, has_agents: bool) -> Plan {
        let mut plan = Plan::of(&network.graph, &network.switch, service);
        plan.defer(&network.graph, largest, Reason::of_each(has_agents, at_switches(&network.settings)));
        plan
    }

    /// Defers enqueueing where that changes no result. Packets have up to `largest` wire bytes.
    ///
    /// No two adjacent switches defer. Switches with the most hosts are preferred: a host's packets are mostly alone at
    /// their first hop.
    /// Each arrival must be an event, and nothing is deferred, if there is a reason for that (`each`), or hosts route.
    pub(crate) fn defer(&mut self, graph: &Graph, largest: Bytes, each: Option<Reason>) {
        if let Some(reason) = each.or_else(|| graph.hosts_route().then_some(Reason::HostsRoute)) {
            let own = self.ports.iter_mut().filter(|port| port.is_own());
            return own.for_each(|port| port.reason = reason);
        }
        // A decision must not be due before the end of deferral, the instant after.
        let has_delays = graph.links.iter().all(|link| link.delay > Span::ZERO);
        let max_in_flight = self.unfilled_by(largest).filter(|max| *max > 0 && has_delays);
        let switch_of = |node: u32| node.checked_sub(graph.hosts).map(|switch| switch as usize);
        let mut is_plain = vec![true; graph.switches.len()];
        let mut hosts = vec![0; is_plain.len()];
        let mut neighbours = vec![Vec::new(); is_plain.len()];
        for (link, port) in graph.links.iter().zip(&mut self.ports) {
            let (from, to) = (switch_of(link.from), switch_of(link.to));
            match (from, to) {
                (Some(from), Some(to)) => neighbours[to].push(from),
                (None, Some(to)) => hosts[to] += 1,
                _ => {}
            }
            let may_defer = port.is_own() || port.is_shared() && max_in_flight.is_some();
            if may_defer && port.may_refuse(largest) {
                port.reason = Reason::MayRefuse;
            }
            if !may_defer || port.reason == Reason::MayRefuse {
                [from, to].into_iter().flatten().for_each(|switch| is_plain[switch] = false);
            }
        }
        let mut order: Vec<usize> = (0..is_plain.len()).collect();
        order.sort_by_key(|&switch| std::cmp::Reverse(hosts[switch]));
        let mut defers = vec![false; is_plain.len()];
        for switch in order {
            defers[switch] = is_plain[switch] && !neighbours[switch].iter().any(|&neighbour| defers[neighbour]);
        }
        let defers = |node: u32| switch_of(node).is_some_and(|switch| defers[switch]);
        for (link, port) in graph.links.iter().zip(&mut self.ports) {
            let is_shared = port.is_shared();
            if defers(link.from) {
                let reason = if is_shared { Reason::UnfilledBuffer } else { Reason::OwnBuffer };
                (port.mode, port.reason) = (PortMode::Deferred, reason);
            } else if defers(link.to) {
                (port.mode, port.reason) = (PortMode::ToDeferred, Reason::ToDeferred);
            } else {
                continue;
            }
            if is_shared {
                self.max_in_flight = max_in_flight;
            }
        }
    }

    /// Returns how many packets of `largest` wire bytes no shared buffer can be filled by, wherever they are; none
    /// without shared buffers.
    fn unfilled_by(&self, largest: Bytes) -> Option<u32> {
        let max = |&(capacity, alpha): &(Amount, f64)| {
            let packets = match unfilled(capacity, alpha) {
                Amount::Packets(packets) => packets,
                Amount::Bytes(bytes) => bytes / largest.0.max(1),
            };
            u32::try_from(packets).unwrap_or(u32::MAX)
        };
        self.shared.iter().map(max).min()
    }

    /// Returns the mode of a port in a partition of several whose clocks differ.
    pub(crate) fn in_epochs(role: LinkRole) -> PortMode {
        match (role.at_host(), role.to_host()) {
            (true, _) => PortMode::Epochs,
            (false, true) => PortMode::Deferred,
            (false, false) => PortMode::ToDeferred,
        }
    }

    /// Returns the ports by role, mode and reason.
    pub(crate) fn groups(&self) -> Vec<PortGroup> {
        let mut groups = BTreeMap::new();
        for port in &self.ports {
            let mode = if port.chooses() { PortMode::Qdisc } else { port.mode };
            *groups.entry((port.role, mode.name(), port.reason)).or_default() += 1;
        }
        groups.into_iter().map(|((role, mode, reason), ports)| PortGroup { role, mode, reason, ports }).collect()
    }
}

impl PortPlan {
    /// Returns whether it chooses each packet when it is idle.
    pub(crate) fn chooses(&self) -> bool {
        matches!(self.reason, Reason::Discipline | Reason::Pauses)
    }

    /// Returns whether it has a buffer of its own, in the built-in discipline.
    fn is_own(&self) -> bool {
        matches!(self.mode, PortMode::Own | PortMode::Relay) && !self.chooses()
    }

    /// Returns whether it shares a buffer, in the built-in discipline.
    fn is_shared(&self) -> bool {
        matches!(self.mode, PortMode::Shared(_)) && !self.chooses()
    }

    /// Returns whether a packet of `size` wire bytes may be dropped or marked although the queue is empty.
    fn may_refuse(&self, size: Bytes) -> bool {
        self.role.at_switch()
            && (self.drop_unmarkable || [self.limit, self.mark].iter().any(|level| level.is_below(size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Marks, Rate};

    /// As many leaves with two hosts each, joined by a spine if there is more than one.
    fn leaves(number: u32) -> Graph {
        let (rate, delay) = (Rate::from_gbps(1), Span::from_micros(20));
        let mut graph = Graph::new(2 * number);
        let switches: Vec<u32> = (0..number).map(|_| graph.switch("leaf", false)).collect();
        (0..2 * number).for_each(|host| graph.join(host, switches[host as usize / 2], rate, delay));
        if number > 1 {
            let spine = graph.switch("spine", false);
            switches.iter().for_each(|&leaf| graph.join(leaf, spine, rate, delay));
        }
        graph
    }

    fn switch(sharing: Sharing) -> Switch {
        let mark = Some(Amount::Packets(3));
        Switch { buffer: Amount::Packets(10), sharing, marks: Marks { host: mark, uplink: mark }, drop_non_ect: false }
    }

    fn service([switches, hosts]: [&str; 2], marking: &str) -> Service {
        let [switches, hosts] = [switches, hosts].map(|name| qdisc::find(name).expect("a discipline of that name"));
        Service {
            switches,
            hosts,
            marking: marker::find(marking).expect("a marker of that name"),
            at_departure: false,
            weights: vec![1.0; 3],
            trim: None,
            records: false,
            lossless: false,
        }
    }

    /// Returns the plan for packets of 1500 B.
    fn plan(graph: &Graph, switch: &Switch, service: &Service, has_agents: bool) -> Plan {
        let mut plan = Plan::of(graph, switch, service);
        plan.defer(graph, Bytes(1500), Reason::of_each(has_agents, false));
        plan
    }

    fn plain() -> Service {
        service(["fifo", "fifo"], "threshold")
    }

    /// Returns the reasons, each once.
    fn reasons(plan: &Plan) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = plan.ports.iter().map(|port| port.reason).collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }

    #[test]
    fn ports_of_switches_with_hosts_defer_and_all_others_send_to_them() {
        for number in [1, 4] {
            let graph = leaves(number);
            let leaf = graph.hosts..graph.hosts + number;
            let plan = plan(&graph, &switch(Sharing::PerPort), &plain(), false);
            for (link, port) in graph.links.iter().zip(&plan.ports) {
                let expected = match (leaf.contains(&link.from), leaf.contains(&link.to)) {
                    (true, _) => (PortMode::Deferred, Reason::OwnBuffer),
                    _ => (PortMode::ToDeferred, Reason::ToDeferred),
                };
                assert_eq!((port.mode, port.reason), expected, "from {} to {}", link.from, link.to);
            }
        }
    }

    /// A second link of one host, or a link between two, and no port defers: its hosts pass packets on.
    #[test]
    fn where_hosts_route_each_hop_is_an_event() {
        for (a, b) in [(0, 9), (0, 1)] {
            let mut graph = leaves(4);
            graph.join(a, b, Rate::from_gbps(1), Span::from_micros(20));
            let plan = plan(&graph, &switch(Sharing::PerPort), &plain(), false);
            for (link, port) in graph.links.iter().zip(&plan.ports) {
                let mode = if link.from < graph.hosts { PortMode::Relay } else { PortMode::Own };
                assert_eq!((port.mode, port.reason), (mode, Reason::HostsRoute), "from {} to {}", link.from, link.to);
            }
        }
    }

    #[test]
    fn each_switch_shares_its_own_buffer() {
        let graph = leaves(3);
        let plan = Plan::of(&graph, &switch(Sharing::Dynamic(1.0)), &plain());
        for (link, port) in graph.links.iter().zip(&plan.ports) {
            let expected = match link.from.checked_sub(graph.hosts) {
                Some(switch) => (PortMode::Shared(BufferIndex::from_index(switch as usize)), Reason::SharedBuffer),
                None => (PortMode::Own, Reason::Neighbour),
            };
            assert_eq!((port.mode, port.reason), expected, "from {} to {}", link.from, link.to);
        }
    }

    /// The ports of switch 1 have its own 4 packets; a shared buffer of 4 packets is filled by two (4 / 2, less one).
    #[test]
    fn a_switch_may_have_a_buffer_of_its_own() {
        let mut graph = leaves(3);
        graph.switches[1].buffer = Some(Amount::Packets(4));
        let own = Plan::of(&graph, &switch(Sharing::PerPort), &plain());
        for (link, port) in graph.links.iter().zip(&own.ports).filter(|(link, _)| link.from >= graph.hosts) {
            let amount = if link.from == graph.hosts + 1 { 4 } else { 10 };
            assert_eq!(port.limit, Level::share(Amount::Packets(amount), 1), "from {}", link.from);
        }
        let shared = plan(&graph, &switch(Sharing::Dynamic(1.0)), &plain(), false);
        assert_eq!(shared.max_in_flight, Some(1));
    }

    /// With alpha = 1, a port may have half of the buffer when nothing else is queued. With alpha = 3 it is three
    /// quarters. One packet less fits also after rounding.
    #[test]
    fn a_shared_buffer_is_not_filled_by_less_than_one_port_may_have() {
        let of = |buffer, alpha| {
            let switch = Switch { buffer, ..switch(Sharing::Dynamic(alpha)) };
            plan(&leaves(1), &switch, &plain(), false)
        };
        for (buffer, alpha, max) in [
            (Amount::Packets(10), 1.0, Some(4)),
            (Amount::Packets(100), 3.0, Some(74)),
            (Amount::Packets(100), 0.25, Some(19)),
            (Amount::Bytes(4_000_000), 1.0, Some(1333)),
            (Amount::Bytes(6_001), 1.0, Some(1)),
            (Amount::Bytes(3_001), 1.0, None),
            (Amount::Packets(3), 1.0, None),
        ] {
            let plan = of(buffer, alpha);
            assert_eq!(plan.max_in_flight, max, "{buffer:?} {alpha}");
            let expected = match max {
                Some(_) => [Reason::ToDeferred, Reason::UnfilledBuffer],
                None => [Reason::SharedBuffer, Reason::Neighbour],
            };
            assert_eq!(reasons(&plan), expected, "{buffer:?} {alpha}");
        }
    }

    #[test]
    fn without_delays_a_shared_buffer_decides_at_once() {
        let mut graph = leaves(1);
        graph.links[0].delay = Span::ZERO;
        let plan = plan(&graph, &switch(Sharing::Dynamic(1.0)), &plain(), false);
        assert_eq!(reasons(&plan), [Reason::SharedBuffer, Reason::Neighbour]);
    }

    /// One port of a star differs: then no port there defers, and the others say that it is not their fault.
    #[test]
    fn one_port_that_needs_events_keeps_its_switch_from_deferring() {
        for (buffer, mark, reason) in [
            (Some(Amount::Bytes(1499)), None, Reason::MayRefuse),
            (Some(Amount::Bytes(1500)), None, Reason::OwnBuffer),
            (None, Some(Amount::Packets(0)), Reason::MayRefuse),
            (None, Some(Amount::Packets(1)), Reason::OwnBuffer),
        ] {
            let mut graph = leaves(1);
            let to_host = graph.links.iter().position(|link| link.to == 0).expect("host 0 has a link");
            (graph.links[to_host].buffer, graph.links[to_host].mark) = (buffer, mark);
            let plan = plan(&graph, &switch(Sharing::PerPort), &plain(), false);
            assert_eq!(plan.ports[to_host].reason, reason, "{buffer:?} {mark:?}");
            let others = if reason == Reason::MayRefuse { Reason::Neighbour } else { Reason::ToDeferred };
            assert_eq!(reasons(&plan), [reason.min(others), reason.max(others)]);
        }
    }

    #[test]
    fn agents_and_disciplines_see_each_packet() {
        let own = switch(Sharing::PerPort);
        assert_eq!(reasons(&plan(&leaves(2), &own, &plain(), true)), [Reason::Agents]);
        let both = [Reason::Discipline, Reason::Neighbour];
        for service in [service(["priority", "fifo"], "threshold"), service(["fifo", "priority"], "threshold")] {
            assert_eq!(reasons(&plan(&leaves(1), &own, &service, false)), both);
        }
        let hidden =
            plan(&leaves(1), &switch(Sharing::Dynamic(1.0)), &service(["priority", "fifo"], "threshold"), false);
        let modes: Vec<_> = hidden.groups().iter().map(|group| (group.role, group.mode, group.ports)).collect();
        assert_eq!(modes, [(LinkRole::HostToSwitch, "own", 2), (LinkRole::SwitchToHost, "qdisc", 2)]);
    }

    /// Only ports that mark need departures, here the ones to hosts. Ports of the spine and of hosts are as ever.
    #[test]
    fn only_ports_that_mark_at_departure_have_events_for_it() {
        let graph = leaves(2);
        let at_departure = Service { at_departure: true, ..plain() };
        let own = switch(Sharing::PerPort);
        let to_hosts = Switch { marks: Marks { uplink: None, ..own.marks }, ..own };
        let found = plan(&graph, &to_hosts, &at_departure, false);
        for (link, port) in graph.links.iter().zip(&found.ports) {
            assert_eq!(port.chooses(), link.to < graph.hosts, "from {} to {}", link.from, link.to);
        }
        let none = Switch { marks: Marks { host: None, uplink: None }, ..own };
        let modes =
            |service| plan(&graph, &none, service, false).ports.iter().map(|port| port.mode).collect::<Vec<_>>();
        assert_eq!(modes(&at_departure), modes(&plain()));
    }

    #[test]
    fn groups_count_all_ports() {
        let plan = plan(&leaves(4), &switch(Sharing::PerPort), &plain(), false);
        let groups: Vec<_> = plan.groups().iter().map(|group| (group.role, group.mode, group.ports)).collect();
        let (deferred, to_deferred) = ("deferred", "to-deferred");
        let expected = [
            (LinkRole::HostToSwitch, to_deferred, 8),
            (LinkRole::SwitchToSwitch, deferred, 4),
            (LinkRole::SwitchToSwitch, to_deferred, 4),
            (LinkRole::SwitchToHost, deferred, 8),
        ];
        assert_eq!(groups, expected);
    }
}
