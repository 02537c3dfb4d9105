//! Limits on the queues of hosts' ports, and the times at which a waiting sender has room there.

use units::{Amount, Bytes, Instant, LinkId, Span};

use super::Net;
use crate::fabric::network::HostQueue;

/// The queue of every host's port.
#[derive(Clone, Copy)]
pub(super) struct HostPorts {
    queue: HostQueue,
    /// The largest wire bytes queued before the largest packet is added.
    before_one_more: Bytes,
}

impl HostPorts {
    /// Ports that accept all packets.
    pub(super) const UNLIMITED: HostPorts = HostPorts { queue: HostQueue::Unlimited, before_one_more: Bytes(u64::MAX) };
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
        self.host_ports = HostPorts { queue, before_one_more: limit.saturating_sub(packet) };
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            if self.ports[link].place.at_host() {
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

    /// Returns when the first port of a route accepts a packet of a waiting end, if nothing else is sent.
    pub(crate) fn room_at(&self, path: u32) -> Instant {
        let link = self.router.link(path);
        self.ports[link].idle_at().earlier_by(self.room(link))
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
