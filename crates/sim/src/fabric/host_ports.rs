//! Limits on the queues of hosts' ports, and the times at which a waiting sender has room there.

use units::{Amount, Bytes, HostId, Instant, LinkId, Span};

use super::Net;
use crate::fabric::network::HostQueue;
use crate::fabric::plan::{PortPlan, Reason};

/// The queue of every host's port.
#[derive(Clone, Copy)]
pub(super) struct HostPorts {
    queue: HostQueue,
    /// The largest wire bytes queued before the largest packet is added.
    before_one_more: Bytes,
    /// Ports may be paused, so that they choose each packet when they are idle.
    pausable: bool,
    /// Ports are closed: senders ask for room before each packet.
    senders_ask: bool,
}

impl HostPorts {
    /// Ports that accept all packets.
    pub(super) const UNLIMITED: HostPorts = HostPorts {
        queue: HostQueue::Unlimited,
        before_one_more: Bytes(u64::MAX),
        pausable: false,
        senders_ask: false,
    };
}

impl Net {
    /// Bounds the hosts' queues as the scenario requires, before anything is sent. No packet may have more bytes than
    /// `largest` without its frame.
    pub(crate) fn bound_hosts(&mut self, queue: HostQueue, largest: Bytes) {
        let limit = match queue {
            HostQueue::Unlimited => return,
            HostQueue::Fair(limit) | HostQueue::Fifo(limit) => limit,
        };
        let packet = largest + Bytes::from(self.frame_overhead);
        let limit = match limit {
            Amount::Packets(packets) => Bytes(packets.saturating_mul(packet.0)),
            Amount::Bytes(bytes) => Bytes(bytes),
        };
        // A discipline that orders hosts' ports too takes the place of their limit.
        let pausable = |port: &PortPlan| port.role.at_host() && port.reason == Reason::Pauses && port.queue.built_in;
        let pausable = self.plan.ports.iter().any(pausable);
        // Ports that may be paused know no time of room, and each packet of a sprayed connection may take another port.
        let senders_ask = pausable || self.leaves_by_several();
        self.host_ports = HostPorts { queue, before_one_more: limit.saturating_sub(packet), pausable, senders_ask };
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            if self.ports[link].place.at_host() {
                if pausable {
                    self.ports[link].refuse_unasked();
                }
                let room = self.room(link);
                self.ports[link].open(room);
                if self.leaves_by_several() {
                    self.ports[link].close();
                }
            }
        }
    }

    /// Returns whether hosts' queues are bounded.
    #[inline]
    pub(crate) fn bounds_hosts(&self) -> bool {
        self.host_ports.queue != HostQueue::Unlimited
    }

    /// Returns whether senders ask for room before each packet.
    pub(crate) fn senders_ask(&self) -> bool {
        self.host_ports.senders_ask
    }

    /// Returns whether the first port of a route accepts a packet now from a sender outside its turn.
    #[inline(always)]
    pub(crate) fn has_room(&self, path: u32) -> bool {
        self.ports[self.router.link(path)].has_room(self.now)
    }

    /// Returns whether the first port of a route accepts a packet now from an end whose turn it is.
    pub(crate) fn has_room_in_turn(&self, path: u32) -> bool {
        self.room_at(path) <= self.now
    }

    /// Returns whether a sender may fill the queue in its turn, rather than send one packet.
    pub(crate) fn fills_in_a_turn(&self) -> bool {
        matches!(self.host_ports.queue, HostQueue::Fifo(_))
    }

    /// Returns when the first port of a route accepts a packet of a waiting end, if nothing else is sent;
    /// [`Instant::MAX`] if it is paused and has no room now.
    pub(crate) fn room_at(&self, path: u32) -> Instant {
        let link = self.router.link(path);
        let room = self.room(link);
        if !self.host_ports.pausable {
            return self.ports[link].idle_at().earlier_by(room);
        }
        let at = self.drained_at(link).earlier_by(room);
        if at > self.now && self.is_paused(link) { Instant::MAX } else { at }
    }

    /// Returns when the first port of a route will be idle, if nothing else is sent; [`Instant::MAX`] if it is paused.
    pub(crate) fn idle_at(&self, path: u32) -> Instant {
        let link = self.router.link(path);
        match self.host_ports.pausable {
            false => self.ports[link].idle_at(),
            true if self.is_paused(link) => Instant::MAX,
            true => self.drained_at(link),
        }
    }

    /// Returns when a host's port that may be paused will have sent its queue, if it is not.
    fn drained_at(&self, link: LinkId) -> Instant {
        let port = &self.ports[link];
        let queued = self.graph.links[link.index()].rate.transmission().of(Bytes(port.waiting_bytes()));
        port.idle_at().max(self.now).saturating_add(queued)
    }

    fn is_paused(&self, link: LinkId) -> bool {
        self.ports[link].choice().is_some_and(|choice| choice.paused)
    }

    /// Returns the number of a host's port among all ports by which hosts queue, if senders wait there while it is paused.
    pub(crate) fn turns_at(&self, link: LinkId) -> Option<HostId> {
        let waits = self.host_ports.pausable && self.ports[link].place.at_host();
        waits.then(|| self.queue_of_port(link))
    }

    /// Makes all senders at the first port of a route wait for their turn.
    pub(crate) fn close_host_port(&mut self, path: u32) {
        let link = self.router.link(path);
        self.ports[link].close();
    }

    /// Lets all senders at the first port of a route send while it has room. Where each packet may take another port,
    /// ports stay closed: senders ask for the port of their next packet.
    pub(crate) fn open_host_port(&mut self, path: u32) {
        if self.leaves_by_several() {
            return;
        }
        let link = self.router.link(path);
        let room = self.room(link);
        self.ports[link].open(room);
    }

    /// Returns the limit on the port's backlog, in time, before one more packet is added.
    fn room(&self, link: LinkId) -> Span {
        self.graph.links[link.index()].rate.transmission().of(self.host_ports.before_one_more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::tests::{full, over, spreading, star, tiers};
    use crate::topology::Graph;
    use units::Rate;

    const US: fn(u64) -> Instant = Instant::from_micros;

    /// Sends full packets from one host to another, of 12 us each. Returns their route.
    fn send(net: &mut Net, ends: (u32, u32), packets: u64) -> u32 {
        let packets: Vec<_> = (0..packets).map(|seq| full(net, ends, seq)).collect();
        packets.iter().for_each(|packet| net.send(*packet));
        full(net, ends, 0).route
    }

    /// Three hosts with a link to each other, 20 us long.
    fn mesh() -> Graph {
        let mut graph = Graph::new(3);
        let (rate, delay) = (Rate::from_gbps(1), Span::from_micros(20));
        [(0, 1), (1, 2), (0, 2)].into_iter().for_each(|(from, to)| graph.join(from, to, rate, delay));
        graph
    }

    /// Room for three packets of 1480 B and a frame of 20 B: for one more while two, or 24 us, are queued.
    #[test]
    fn queue_of_a_host_has_room_for_as_many_packets_as_its_limit_says() {
        for (graph, ends) in [(tiers(1, 2, 0), (0, 1)), (mesh(), (1, 0))] {
            let mut net = over(graph, "fifo");
            net.frame_overhead = 20;
            assert!(!net.bounds_hosts());
            net.bound_hosts(HostQueue::Fair(Amount::Packets(3)), Bytes(1480));
            assert!(net.bounds_hosts() && !net.senders_ask() && !net.fills_in_a_turn());
            let path = send(&mut net, ends, 0);
            // Each packet has its frame on the wire.
            for (packets, has_room) in [(0, true), (2, true), (1, false)] {
                (0..packets).for_each(|seq| {
                    let packet = full(&mut net, ends, seq);
                    net.send(transport::Packet { payload: 1440, size: 1480, ..packet });
                });
                assert_eq!(
                    (net.has_room(path), net.has_room_in_turn(path)),
                    (has_room, has_room),
                    "{ends:?} {packets}"
                );
            }
            assert_eq!((net.room_at(path), net.idle_at(path)), (US(12), US(36)));
            net.now = US(12);
            assert!(net.has_room(path) && net.has_room_in_turn(path));
            net.close_host_port(path);
            assert!(!net.has_room(path) && net.has_room_in_turn(path));
            net.open_host_port(path);
            assert!(net.has_room(path));
            net.now = US(100);
            assert_eq!(net.room_at(path), US(12));
        }
    }

    #[test]
    fn turn_fills_a_queue_that_is_first_in_first_out() {
        let mut net = over(tiers(1, 2, 0), "fifo");
        net.bound_hosts(HostQueue::Fifo(Amount::Bytes(4500)), Bytes(1500));
        assert!(net.fills_in_a_turn() && net.bounds_hosts());
    }

    #[test]
    fn discipline_of_hosts_takes_the_place_of_their_limit() {
        let mut net = star(2, 1, Some(Span::ZERO), ["fifo", "priority"]);
        net.bound_hosts(HostQueue::Fair(Amount::Packets(3)), Bytes(1500));
        let path = send(&mut net, (0, 1), 9);
        assert!(net.has_room(path) && !net.senders_ask());
    }

    /// Each packet may take another port: its sender asks for that port.
    #[test]
    fn ports_of_hosts_with_several_stay_closed() {
        let mut net = spreading(mesh(), "spray");
        net.bound_hosts(HostQueue::Fair(Amount::Packets(3)), Bytes(1500));
        assert!(net.senders_ask());
        for ends in [(0, 1), (1, 0), (2, 0)] {
            let path = send(&mut net, ends, 0);
            assert!(!net.has_room(path) && net.has_room_in_turn(path));
            net.open_host_port(path);
            assert!(!net.has_room(path));
        }
    }

    /// One of three packets is in transmission until 12 us, and the others take 24 us. Two may be queued before one more.
    #[test]
    fn paused_port_has_room_for_what_it_may_queue_and_knows_no_later_time() {
        let mut net = star(2, 1, Some(Span::ZERO), ["fifo", "priority"]);
        net.bound_hosts(HostQueue::Fair(Amount::Packets(3)), Bytes(1500));
        let path = send(&mut net, (0, 1), 1);
        let link = net.router.link(path);
        assert_eq!(net.turns_at(link), None);
        net.host_ports.pausable = true;
        assert_eq!((net.turns_at(link), net.turns_at(LinkId(1))), (Some(HostId(0)), None));
        let times = |net: &mut Net| {
            [false, true].map(|paused| {
                net.ports[link].set_paused(paused);
                (net.room_at(path), net.idle_at(path))
            })
        };
        assert_eq!(times(&mut net), [(US(0), US(12)), (US(0), Instant::MAX)]);
        net.ports[link].set_paused(false);
        send(&mut net, (0, 1), 2);
        assert_eq!(times(&mut net), [(US(12), US(36)), (Instant::MAX, Instant::MAX)]);
        // Two packets are queued all the time.
        net.now = US(100);
        assert_eq!(times(&mut net), [(US(100), US(124)), (US(100), Instant::MAX)]);
    }
}
