//! The network of one thread, when several threads simulate a run.
//!
//! Each thread has a copy of all of it, and uses the hosts and ports of its partition. A cut link has two halves: its
//! port, which decides when a packet will arrive, and the wire's end, where it arrives. The halves of one link may be
//! in several partitions. A packet sent by a port is passed at once to the wire's end that belongs to its next port:
//! here, or in another thread ([`Outgoing`]).

use std::sync::Arc;

use transport::{Extension, Flags};
use units::{ConnectionId, HostId, Instant, LinkId, MessageId, Span, Table};

use super::Net;
use super::channel::{Crossing, Outgoing};
use super::deferred_drops::DeferredDrops;
use super::epochs::Epochs;
use crate::control_message::ControlMessage;
use crate::fabric::level::Level;
use crate::fabric::packet_pool::Slot;
use crate::fabric::port::{Fate, Port, PortMode};
use crate::record::outcome::Counters;
use crate::topology::{Clock, Partition};

/// The partition of one thread, and its channels to the others.
pub(crate) struct Part {
    pub(super) number: u32,
    pub(super) partition: Arc<Partition>,
    /// The index of each link's port. The ports of cut links are behind all others, because the ends of their wires
    /// have the links' indices.
    places: Table<LinkId, LinkId>,
    /// Index of the first such port, and the cut links of these ports.
    first: usize,
    own: Vec<LinkId>,
    /// The channel to each partition.
    outgoing: Vec<Outgoing>,
    /// Time of the first arrival among outgoing packets.
    earliest: Instant,
    /// Packets sent to other partitions, less packets received from them.
    left: u64,
    /// Events counted by every partition, because each executes the same.
    pub everywhere: u64,
    /// Clock of each port; empty where all have that of the hosts.
    pub(super) clocks: Table<LinkId, Clock>,
    pub(super) epochs: Epochs,
    pub(super) late: DeferredDrops,
    /// Messages that have arrived or were aborted since this was last taken; only when they decide the end of the run.
    pub decided: Option<Vec<MessageId>>,
}

impl Part {
    /// Returns the assignment of hosts and ports to partitions.
    pub(crate) fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }
    /// Returns whether a host is in this partition.
    pub(crate) fn has(&self, host: HostId) -> bool {
        self.partition.of_host[host] == self.number
    }
    /// Returns the time of the first arrival among outgoing items.
    pub(crate) fn earliest(&self) -> Instant {
        self.earliest
    }
    /// Returns the channels to all partitions, whose items are to be taken.
    pub(crate) fn take_outgoing(&mut self) -> &mut [Outgoing] {
        self.earliest = Instant::MAX;
        &mut self.outgoing
    }
    /// Sends a control message to a host, if that is in another partition. Returns whether it is.
    pub(crate) fn notify(&mut self, to: HostId, at: Instant, id: ConnectionId, notice: ControlMessage) -> bool {
        let elsewhere = !self.has(to);
        if elsewhere {
            self.earliest = self.earliest.min(at);
            self.outgoing[self.partition.of_host[to] as usize].put(&notice.to_words(at, id));
        }
        elsewhere
    }
    /// Publishes the links of a new route to all other partitions.
    pub(crate) fn publish_route(&mut self, position: u32, path: &[LinkId]) {
        let others = self.outgoing.iter_mut().zip(0..).filter(|(_, part)| *part != self.number);
        others.for_each(|(to, _)| to.publish_route(position, path));
    }
}

impl Net {
    /// Sets up this network as one partition of several.
    pub(crate) fn set_up_partition(&mut self, partition: Arc<Partition>, number: u32) {
        let is_level = partition.is_level();
        assert!(is_level || self.defers_at_hosts(), "only what is fed may be behind");
        self.defer_nothing();
        self.see_departures();
        let first = self.ports.len();
        let mut own = Vec::new();
        let mut places: Table<LinkId, LinkId> = (0..first).map(LinkId::from_index).collect();
        // Epochs make no difference between cut links and others.
        for &link in partition.cut.iter().filter(|_| is_level) {
            let spec = &self.graph.links[link.index()];
            let end = Port::new(spec.rate, spec.delay, self.ports[link].place);
            let port = std::mem::replace(&mut self.ports[link], end);
            if partition.of_port[link] == number {
                self.ports[link].mode = PortMode::Cut;
                own.push(link);
                places[link] = self.ports.push(port);
                self.sent_before.push(Span::ZERO);
                let port = &self.ports[places[link]];
                if let Some(buffer) = port.choice().map_or(port.mode.buffer(), |choice| choice.buffer) {
                    self.shared_buffers[buffer.index()].moves(link, places[link]);
                }
            }
        }
        let outgoing = (0..partition.parts).map(|_| Outgoing::default()).collect();
        self.router.keep_to(number, partition.parts);
        self.part = Some(Box::new(Part {
            number,
            partition,
            places,
            first,
            own,
            outgoing,
            earliest: Instant::MAX,
            left: 0,
            everywhere: 0,
            clocks: Table::default(),
            epochs: Epochs::default(),
            late: DeferredDrops::default(),
            decided: None,
        }));
        if !is_level {
            self.use_epochs();
        }
    }

    /// Returns the clock of a port.
    pub(super) fn clock(&self, port: LinkId) -> Clock {
        self.part.as_ref().and_then(|part| part.clocks.find(port)).copied().unwrap_or(Clock::HOSTS)
    }

    /// Returns the present, by the clock of a port.
    pub(super) fn now_at(&self, port: LinkId) -> Instant {
        self.clock(port).shows(self.now)
    }

    /// Returns the index of a link's port.
    #[inline]
    pub(crate) fn port_of(&self, link: LinkId) -> LinkId {
        self.part.as_ref().map_or(link, |part| part.places[link])
    }

    /// Offers a packet to the port of a cut link, or to one whose link is down.
    #[inline(never)]
    pub(super) fn offer_apart(&mut self, link: LinkId, number: u32, protected: bool) -> Fate {
        match self.ports[link].mode {
            PortMode::Down => return Fate::Dropped,
            PortMode::Relay => return self.relay(link, number),
            _ => {}
        }
        let port = self.port_of(link);
        let extended = self.packet_pool.at(number).packet.flags.has(Flags::EXTENDED);
        let place = &mut self.ports[port];
        let fate = match place.mode {
            PortMode::Own if !(protected || extended) => {
                let Some(at) = place.offer_away(&mut self.packet_pool, self.now, number) else { return Fate::Dropped };
                self.hand_on(link, number, at);
                return Fate::Queued;
            }
            _ if protected => self.offer_protected(port, number),
            _ => self.offer(port, number),
        };
        // A port with a queueing discipline forwards packets when their transmission begins.
        if fate == Fate::Dropped || self.ports[port].mode == PortMode::Qdisc {
            fate
        } else if extended {
            // Agents may still write into its header.
            Fate::Away
        } else {
            self.send_on(link, port);
            Fate::Queued
        }
    }

    /// Forwards the last packet accepted by the port of a cut link to the end of the link. Not inlined, because a
    /// network of one partition never calls it.
    #[cold]
    #[inline(never)]
    pub(super) fn send_away(&mut self, link: LinkId) {
        self.send_on(link, self.port_of(link));
    }

    /// Forwards the last packet accepted by a port to the end of its link.
    #[inline(never)]
    pub(super) fn send_on(&mut self, link: LinkId, port: LinkId) {
        let &Slot { at, packet } = self.ports[port].pass_on(&mut self.packet_pool);
        let number = self.packet_pool.put(packet);
        self.hand_on(link, number, at);
    }

    /// Forwards the packet in slot `number` to the end of a link, where it arrives at `at`.
    #[inline(always)]
    fn hand_on(&mut self, link: LinkId, number: u32, at: Instant) {
        let part = self.part.as_deref_mut().expect("only a partitioned network has cut links");
        let packet = self.packet_pool.at(number).packet;
        let to = part.partition.of_port[self.router.link(packet.route)];
        if to == part.number {
            if let Some(at) = self.ports[link].receive(&mut self.packet_pool, number, at) {
                self.events.push_arrival(self.now, at, link);
            }
            return;
        }
        self.leave_for(to, number, &Crossing { at, link, packet });
    }

    /// Sends the packet in slot `number` to another partition, in the form in which it arrives there.
    #[inline(always)]
    pub(super) fn leave_for(&mut self, to: u32, number: u32, coming: &Crossing) {
        let part = self.part.as_deref_mut().expect("only a partition of several has others");
        part.left = part.left.wrapping_add(1);
        part.earliest = part.earliest.min(coming.at);
        let outgoing = &mut part.outgoing[to as usize];
        if coming.packet.flags.has(Flags::EXTENDED) {
            outgoing.put_extended(coming, self.extensions.take(coming.packet.wait_or_extension));
        } else {
            outgoing.put(&coming.to_words());
        }
        self.packet_pool.free(number);
    }

    /// Returns the cut link of a port whose index is behind all links.
    #[inline]
    pub(super) fn cut_behind(&self, port: LinkId) -> Option<LinkId> {
        let part = self.part.as_ref()?;
        port.index().checked_sub(part.first).map(|place| part.own[place])
    }

    /// Records routes that another partition has published.
    pub(crate) fn learn(&mut self, paths: impl Iterator<Item = (u32, LinkId)>) {
        paths.for_each(|(position, link)| self.router.learn(position, link));
    }

    /// Receives an extended packet from another partition.
    pub(crate) fn receive_extended(&mut self, mut coming: Crossing, extension: Extension) {
        coming.packet.wait_or_extension = self.extensions.keep(extension);
        self.receive(coming);
    }

    /// Receives a packet from another partition.
    #[inline(always)]
    pub(crate) fn receive(&mut self, Crossing { at, link, packet }: Crossing) {
        let part = self.part.as_deref_mut().expect("only a partition of several has others");
        part.left = part.left.wrapping_sub(1);
        let number = self.packet_pool.put(packet);
        if part.epochs.are_there() {
            part.epochs.expect(&mut self.packet_pool, number, link, at);
        } else if let Some(at) = self.ports[link].receive(&mut self.packet_pool, number, at) {
            self.events.push_arrival(self.now, at, link);
        }
    }

    /// Returns the number of packets queued or on a wire. With several partitions only their sum is meaningful: one
    /// alone may fall below zero, and wrap.
    pub(crate) fn packets_in_flight(&self) -> u64 {
        let in_line = |ports: &[Port]| {
            // A port before deferred enqueue, or one that sends in epochs, only keeps copies of queued packets.
            let ports = ports.iter().filter(|port| port.mode != PortMode::ToDeferred);
            ports.map(|port| port.packets(&self.packet_pool).count() as u64).sum::<u64>()
        };
        let elsewhere = (self.held().count() + self.num_pending()) as u64;
        let Some(part) = &self.part else { return in_line(&self.ports) + elsewhere };
        let (ends, ports) = self.ports.split_at(part.first);
        let waiting: u64 = ports.iter().filter(|port| port.choice().is_some()).map(Port::waiting).sum();
        (in_line(ends) + waiting + elsewhere + part.epochs.packets()).wrapping_add(part.left)
    }

    /// As [`offer`](Net::offer), for a packet that is accepted also when there is no room.
    pub(super) fn offer_protected(&mut self, link: LinkId, number: u32) -> Fate {
        match self.ports[link].mode {
            PortMode::Own => {
                let port = &mut self.ports[link];
                port.advance_to(&self.packet_pool, self.now);
                port.offer_within(&mut self.packet_pool, self.now, number, Level::INFINITE)
            }
            PortMode::Qdisc => self.offer_stored_to_qdisc(link, number, true),
            PortMode::Shared(buffer) => self.shared_buffers[buffer.index()].admit(
                &mut self.packet_pool,
                self.now,
                number,
                link,
                &mut self.ports,
            ),
            PortMode::Cut | PortMode::Down | PortMode::Relay => self.offer_apart(link, number, true),
            mode @ (PortMode::Epochs | PortMode::ToDeferred | PortMode::Deferred) => {
                unreachable!("no agent protects packets at a port that is {mode:?}")
            }
        }
    }
}

/// Returns the totals of two partitions together.
pub(crate) fn add(one: &Counters, other: &Counters) -> Counters {
    Counters {
        packets_sent: one.packets_sent + other.packets_sent,
        packets_received: one.packets_received + other.packets_received,
        packets_delivered: one.packets_delivered + other.packets_delivered,
        packets_in_flight: one.packets_in_flight.wrapping_add(other.packets_in_flight),
        packet_hops: one.packet_hops + other.packet_hops,
        events: one.events + other.events,
        drops: one.drops + other.drops,
        trims: one.trims + other.trims,
        marks: one.marks + other.marks,
        timeouts: one.timeouts + other.timeouts,
        timers: one.timers.plus(other.timers),
        retransmits: one.retransmits + other.retransmits,
    }
}
