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
