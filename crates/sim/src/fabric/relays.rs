//! Hosts with several links, or with links to hosts: packets that pass through a host on their way to another.
//!
//! Such a host forwards them as its own packets: behind all packets at its port, without a limit and without marks. They
//! are late by up to its jitter. A network in which each host has one link, to a switch, has none of this.

use transport::{Flags, Packet};
use units::{HostId, Instant, LinkId, Span};

use super::Net;
use crate::fabric::port::{Fate, units_of_wait};

impl Net {
    /// Sends the packet in slot `number`, which has reached a host on its way to another, by a port of that host.
    pub(super) fn relay(&mut self, link: LinkId, number: u32) -> Fate {
        let wait = units_of_wait(self.ports[link].idle_at().saturating_sub(self.now));
        let packet = self.packet_pool.packet_mut(number);
        packet.route += 1;
        if !packet.flags.has(Flags::EXTENDED) {
            packet.wait_or_extension = wait;
        }
        let (size, is_data) = (packet.size, packet.payload > 0);
        let at = self.launch(link, size, is_data);
        self.ports[link].transmit(&mut self.packet_pool, number, at).map_or(Fate::Queued, Fate::First)
    }

    /// Returns whether the host at the end of a link is the one to which a packet at its port, or on its wire, is sent.
    pub(super) fn leads_home(&self, link: LinkId, packet: &Packet) -> bool {
        if !self.hosts_route {
            return true;
        }
        // Its route begins with this link before the port has accepted it, and behind it afterwards.
        self.router
            .rest(packet.route)
            .last()
            .is_none_or(|last| self.graph.links[last.index()].to == self.graph.links[link.index()].to)
    }

    /// Returns the last link of a route.
    pub(super) fn last_link(&self, route: u32) -> LinkId {
        self.router.rest(route).last().expect("a route has links")
    }

    /// Returns the host at the end of a route.
    pub(super) fn end_of(&self, route: u32) -> HostId {
        HostId(self.graph.links[self.last_link(route).index()].to)
    }

    /// Returns the number of a host's port among all ports by which hosts queue: the number of the host where it has one,
    /// else one behind all hosts.
    pub(crate) fn queue_of(&self, host: HostId, path: u32) -> HostId {
        match self.hosts_route {
            false => host,
            true => self.queue_of_port(self.router.link(path)),
        }
    }

    /// As [`queue_of`](Net::queue_of), for the port before a link.
    pub(super) fn queue_of_port(&self, link: LinkId) -> HostId {
        HostId(if self.hosts_route { self.graph.hosts + link.0 } else { self.graph.links[link.index()].from })
    }

    /// Returns the number of the port at which a route begins among its host's; zero where it has one.
    pub(crate) fn port_number(&self, path: u32) -> u32 {
        if self.hosts_route { self.router.link(path).0 } else { 0 }
    }

    /// Returns the host that has a queue.
    pub(crate) fn host_of_queue(&self, queue: HostId) -> HostId {
        match queue.0.checked_sub(self.graph.hosts) {
            None => queue,
            Some(link) => HostId(self.graph.links[link as usize].from),
        }
    }

    /// Returns whether the packets of a connection may leave its host by several ports.
    #[inline]
    pub(crate) fn leaves_by_several(&self) -> bool {
        self.hosts_route && self.has_paths()
    }

    /// Returns when all of a host's ports will have sent their queues.
    pub(crate) fn all_idle_at(&self, host: HostId) -> Instant {
        let at_host = self.ports.entries().filter(|(link, _)| self.graph.links[link.index()].from == host.0);
        at_host.map(|(_, port)| port.idle_at()).max().unwrap_or_default()
    }

    /// Returns the shortest propagation delay that there can be between two hosts, where routes may change.
    pub(super) fn min_delay(&mut self, from: HostId, to: HostId) -> Option<Span> {
        let shortest = self.graph.links.iter().map(|link| link.delay).min()?;
        // Another route may pass through more hosts, over fewer links.
        let links = if self.hosts_route { 1 } else { self.router.hops(from, to) };
        Some(Span(shortest.0.saturating_mul(u64::from(links))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::tests::{full, over, spreading, star, tiers};
    use crate::topology::Graph;
    use units::Rate;

    /// Two hosts with a link to each of two switches, 20 us long, and to each other, 7 us long.
    fn dual() -> Graph {
        let (mut graph, rate) = (Graph::new(2), Rate::from_gbps(1));
        for name in ["first", "second"] {
            let switch = graph.switch(name, false);
            (0..2).for_each(|host| graph.join(host, switch, rate, Span::from_micros(20)));
        }
        graph.join(0, 1, rate, Span::from_micros(7));
        graph
    }

    /// 41 B take 328 ns, and then 20 us. Data is late by less than its own time, even if it has one byte.
    #[test]
    fn relayed_data_is_late_and_acknowledgements_are_not() {
        for (payload, is_data) in [(0, false), (1, true)] {
            let mut net = star(2, 1, None, ["fifo", "fifo"]);
            let packet = Packet { payload, size: 41, ..full(&mut net, (0, 1), 0) };
            let link = net.router.link(packet.route);
            let number = net.packet_pool.put(packet);
            let Fate::First(at) = net.relay(link, number) else { panic!("nothing is before it") };
            let late = at - Instant::from_nanos(20_328);
            assert!(late < Span::from_nanos(328) && (late > Span::ZERO) == is_data, "{payload}: {late}");
        }
    }

    /// A packet of 12 us is before it.
    #[test]
    fn relayed_packet_tells_how_long_it_waits() {
        let mut net = star(2, 1, Some(Span::ZERO), ["fifo", "fifo"]);
        let packet = full(&mut net, (0, 1), 0);
        net.send(packet);
        let link = net.router.link(packet.route);
        let number = net.packet_pool.put(packet);
        assert_eq!(net.relay(link, number), Fate::Queued);
        let relayed = net.packet_pool.at(number).packet;
        let wait = units_of_wait(Span::from_micros(12));
        assert_eq!((relayed.wait_or_extension, relayed.route), (wait, packet.route + 1));
        assert_ne!(wait, 0);
    }

    #[test]
    fn packets_leave_by_several_ports_where_hosts_have_these_and_packets_paths() {
        assert!(!over(dual(), "fifo").leaves_by_several());
        assert!(!spreading(tiers(2, 4, 2), "spray").leaves_by_several());
        assert!(spreading(dual(), "spray").leaves_by_several());
    }

    /// Without links to choose from a host has one port, which has no number.
    #[test]
    fn ports_of_hosts_are_numbered_by_their_links() {
        for (graph, is_one) in [(tiers(1, 2, 0), true), (dual(), false)] {
            let mut net = over(graph, "fifo");
            let path = full(&mut net, (1, 0), 0).route;
            let link = net.router.link(path);
            assert_eq!(net.port_number(path), if is_one { 0 } else { link.0 });
        }
    }

    /// Host 0 sends a packet of 12 us to host 1, by one of its ports.
    #[test]
    fn host_is_idle_when_all_its_ports_are() {
        let mut net = over(dual(), "fifo");
        let packet = full(&mut net, (0, 1), 0);
        net.send(packet);
        let at = [0, 1].map(|host| net.all_idle_at(HostId(host)));
        assert_eq!(at, [Instant::from_micros(12), Instant::ZERO]);
    }

    /// Two hops by a switch, or one link where routes may pass through hosts: each is as long as the shortest at least.
    #[test]
    fn no_route_is_shorter_than_its_hops_of_the_shortest_link() {
        let least = |graph: Graph| over(graph, "fifo").min_delay(HostId(0), HostId(1));
        assert_eq!(least(tiers(1, 2, 0)), Some(Span::from_micros(40)));
        assert_eq!(least(dual()), Some(Span::from_micros(7)));
        let mut apart = dual();
        apart.links.retain(|link| link.from > 1 || link.to > 1);
        assert_eq!(least(apart), Some(Span::from_micros(20)), "there may be a link between hosts");
    }
}
