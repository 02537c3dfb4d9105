//! Deferred enqueue at ports: two hops of a packet for one event.
//!
//! A switch's port with a buffer of its own decides on a packet by the arrivals before it. Its decision has an effect
//! at the far end of its wire only, at least a propagation delay later. So the port need not be examined when a packet
//! arrives. The sending port, a host's or another switch's, knows the arrival time and leaves the packet pending at the
//! port (`fabric/port/pending.rs`). The event is the earliest arrival of a packet at the far end of the port's wire. By then all
//! previous arrivals are known, and are enqueued: each at its own time, against the queue of that time.
//!
//! So arrivals at the far ends of such ports' wires are events, and arrivals at the ports are not. Of two adjacent
//! switches at most one defers enqueueing: the leaves of a leaf-spine; in a fat-tree, the switches with hosts and the
//! core. No port does so if more than its own packets affect its decisions (a shared buffer, a discipline, agents,
//! active faults). In one partition of several only ports to hosts do, and the others work in [epochs](super::epochs). No
//! result depends on it: before any port is examined from outside, all its pending arrivals are enqueued.

use std::cmp::Reverse;

use transport::{Flags, Packet};
use units::{Bytes, HostId, Instant, LinkId, Span};

use super::headroom::Headroom;
use super::plan::Reason;
use super::{Extensions, Net, Upcoming};
use crate::fabric::packet_pool::PacketPool;
use crate::fabric::port::deferred::Foresight;
use crate::fabric::port::{Fate, Port, PortMode, units_of_wait};
use crate::schedule::events::Event;

impl Net {
    /// Enables deferred enqueue where it changes no result, before anything is sent. No packet may have more than
    /// `most` bytes beside its frame's.
    pub(crate) fn defer_enqueues(&mut self, most: Bytes) {
        let mut plan = std::mem::take(&mut self.plan);
        let each = Reason::of_each(self.agents.are_there(), self.switches_choose());
        let largest = most + Bytes::from(self.frame_overhead);
        plan.defer(&self.graph, largest, each);
        if plan.max_in_flight.is_some() {
            self.watch_headroom(&plan, largest);
            self.base_modes = self.ports.iter().map(|port| port.mode).collect();
        }
        for (port, plan) in self.ports.iter_mut().zip(&plan.ports) {
            match plan.mode {
                PortMode::Deferred => port.defer(),
                PortMode::ToDeferred => port.send_to_deferred(),
                _ => {}
            }
        }
        self.defers = plan.ports.iter().any(|port| port.mode == PortMode::Deferred);
        if self.defers {
            self.events.reach_twice_as_far();
        }
    }

    /// Returns whether some ports defer enqueueing: then [`arrives`](Net::arrives) handles arrivals.
    #[inline]
    pub(crate) fn defers_enqueues(&self) -> bool {
        self.defers
    }

    /// Returns whether all ports to hosts defer enqueueing in a network of tiers, where downlink packets at their
    /// switches are all for hosts there.
    pub(crate) fn defers_at_hosts(&self) -> bool {
        let mut to_hosts = self.ports.iter().filter(|port| port.place.to_host());
        // Elsewhere they may end to do so at any time, and need a common clock.
        self.base_modes.is_empty() && self.router.has_tiers() && to_hosts.all(|port| port.mode == PortMode::Deferred)
    }

    /// Makes every hop of a packet an event, before anything is sent.
    pub(crate) fn defer_nothing(&mut self) {
        assert_eq!(self.counters.packets_sent, 0, "packets are on their way to ports");
        self.defers = false;
        for (index, port) in self.ports.iter_mut().enumerate() {
            port.undefer(base_mode(&self.base_modes, index));
        }
        self.forget_base_modes();
    }

    fn forget_base_modes(&mut self) {
        (self.base_modes, self.headroom) = (Vec::new(), Headroom::UNLIMITED);
    }

    /// Schedules the search for new headroom: a packet is sent that may fill a shared buffer when it arrives there, at
    /// least a propagation delay later.
    #[cold]
    #[inline(never)]
    pub(super) fn press(&mut self) {
        self.headroom.suspend();
        self.events.push(self.now + Span(1), Event::Pressure);
    }

    /// Ends deferred enqueue if the shared buffers have too little headroom, unless a fault has ended it.
    pub(crate) fn heed_pressure(&mut self) {
        self.nothing_happened();
        if self.defers && !self.renew_headroom() {
            self.stop_deferring();
        }
    }

    /// Makes every further hop of a packet an event, from before the arrivals of this instant. All arrivals are
    /// scheduled anew; none may be prefetched.
    #[cold]
    pub(super) fn stop_deferring(&mut self) {
        let before = self.now.earlier_by(Span(1));
        let mut on_wires: Vec<(LinkId, Instant, u32)> = Vec::new();
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            self.enqueue_pending_until(link, before);
            while self.ports[link].next_pending_at() < Instant::MAX {
                let (at, number) = self.ports[link].take_pending(&self.packet_pool);
                let packet = self.packet_pool.packet_mut(number);
                // Its route started at the end of the port's link.
                packet.route -= 1;
                on_wires.push((self.router.link(packet.route - 1), at, number));
            }
        }
        // Of packets that arrive at one instant, all but the first take no time to send: they have no bytes.
        on_wires.sort_by_key(|&(by, at, number)| (by, at, Reverse(self.packet_pool.at(number).packet.size)));
        let mut on_wires = on_wires.chunk_by(|one, other| one.0 == other.0).peekable();
        self.defers = false;
        self.events.clear_arrivals(self.now);
        for (link, port) in (0..).map(LinkId).zip(self.ports.iter_mut()) {
            let on_wire = on_wires.next_if(|packets| packets[0].0 == link).unwrap_or_default();
            if port.mode == PortMode::ToDeferred {
                port.advance_to(&self.packet_pool, self.now);
                port.take_back(&mut self.packet_pool, on_wire.iter().map(|&(_, at, number)| (at, number)));
            }
            port.undefer(base_mode(&self.base_modes, link.index()));
            if let PortMode::Shared(buffer) = port.mode {
                self.shared_buffers[buffer.index()].takes_over(port);
            }
            if let Some(at) = port.first_arrival(&self.packet_pool) {
                self.events.push_arrival(self.now, at, link);
            }
        }
        self.forget_base_modes();
    }

    /// Adds a packet of `size` bytes to the pending arrivals of a port, by a link.
    #[inline(always)]
    pub(super) fn add_pending(&mut self, link: LinkId, by: LinkId, number: u32, at: Instant, size: u16) {
        match self.ports[link].expect(&mut self.packet_pool, number, by, at, size) {
            Foresight::Nothing => {}
            Foresight::Arrives(at) => self.events.push_arrival(self.now, at, link),
            Foresight::ArrivesEarlier { than, at } => self.events.reschedule_earlier(self.now, than, at, link),
        }
    }

    /// Adds a packet that a switch's port has accepted to the pending arrivals of the next port.
    #[inline(always)]
    pub(super) fn add_pending_onwards(&mut self, by: LinkId, number: u32, at: Instant) -> Fate {
        let packet = self.packet_pool.packet_mut(number);
        let link = self.router.link(packet.route);
        packet.route += 1;
        let size = packet.size;
        self.add_pending(link, by, number, at, size);
        Fate::Queued
    }

    /// Handles a due arrival at the end of a link: the packet leaves the link, and the next arrival is scheduled.
    /// Returns false if nothing arrives yet.
    #[inline(always)]
    pub(crate) fn arrives(&mut self, arrival: &mut Upcoming) -> bool {
        let Upcoming { link, at, number, .. } = *arrival;
        let port = &mut self.ports[link];
        if port.mode != PortMode::Deferred {
            self.take(link, number);
            return true;
        }
        self.counters.packet_hops += 1;
        let next = if port.passes_alone(&mut self.packet_pool, number, at) {
            self.deferred_hops += 1;
            None
        } else if self.enqueue_due(arrival) {
            self.ports[link].take(&self.packet_pool, arrival.number)
        } else {
            return self.in_vain();
        };
        if let Some(at) = next.or_else(|| self.ports[link].arrives_next(&self.packet_pool)) {
            self.events.push_arrival(self.now, at, link);
        }
        true
    }

    #[cold]
    fn in_vain(&mut self) -> bool {
        self.counters.packet_hops -= 1;
        self.nothing_happened();
        false
    }

    /// Counts an event without effect: its action happened before, or happens later.
    pub(crate) fn nothing_happened(&mut self) {
        self.void_events += 1;
    }

    /// Handles a due arrival at the end of a link: enqueues the port's pending arrivals as far as they matter. Returns
    /// false if nothing arrives yet.
    #[inline(always)]
    fn enqueue_due(&mut self, arrival: &mut Upcoming) -> bool {
        let Upcoming { link, at, number, .. } = *arrival;
        let port = &mut self.ports[link];
        if port.must_catch_up() {
            while let Some((comes_at, number)) = port.take_pending_before(&self.packet_pool, at, link) {
                self.deferred_hops += 1;
                note_wait(&mut self.extensions, &self.packet_pool, port, comes_at, number);
                if port.enqueue_pending(&mut self.packet_pool, comes_at, number) == Fate::Dropped {
                    return self.enqueue_due_after_drop(comes_at, number, arrival);
                }
            }
            port.advance_to(&self.packet_pool, at);
        }
        port.first() == number && self.packet_pool.at(number).at == at || self.is_another(arrival)
    }

    /// As [`enqueue_due`](Net::enqueue_due), after the port has dropped a packet.
    #[cold]
    #[inline(never)]
    fn enqueue_due_after_drop(&mut self, at: Instant, number: u32, arrival: &mut Upcoming) -> bool {
        self.drop_pending(arrival.link, number, at);
        while let Some((at, number)) =
            self.ports[arrival.link].take_pending_before(&self.packet_pool, arrival.at, arrival.link)
        {
            self.enqueue_pending(arrival.link, number, at);
        }
        self.ports[arrival.link].advance_to(&self.packet_pool, arrival.at);
        self.is_another(arrival)
    }

    /// Handles an arrival that differs from the predicted one: other packets have overtaken it, or it is later.
    #[cold]
    #[inline(never)]
    fn is_another(&mut self, arrival: &mut Upcoming) -> bool {
        let at = self.packet_pool.at(self.ports[arrival.link].first()).at;
        if at > arrival.at {
            self.events.push_arrival(self.now, at, arrival.link);
            return false;
        }
        *arrival = self.arrival(at, arrival.link);
        true
    }

    /// Enqueues the arrivals of all ports up to and including this instant.
    pub(crate) fn enqueue_all_pending(&mut self) {
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            self.enqueue_pending_until(link, self.now_at(link));
        }
    }

    /// Enqueues the arrivals of a port up to and including `until`.
    fn enqueue_pending_until(&mut self, link: LinkId, until: Instant) {
        while self.ports[link].next_pending_at() <= until {
            let (at, number) = self.ports[link].take_pending(&self.packet_pool);
            self.enqueue_pending(link, number, at);
        }
    }

    /// Enqueues the arrivals of the port to a host that precede the current event there.
    pub(super) fn enqueue_pending_at(&mut self, host: HostId) {
        // The only link to a host has its number.
        let (link, now) = (LinkId(host.0), self.now);
        // Control messages precede all else of their instant.
        let at = if self.in_control_message { now.earlier_by(Span(1)) } else { now };
        while self.ports[link].next_pending_at() <= at {
            let Some((at, number)) = self.ports[link].take_pending_before(&self.packet_pool, now, link) else { return };
            self.enqueue_pending(link, number, at);
        }
    }

    /// Enqueues a packet that arrived at a port at `at`.
    fn enqueue_pending(&mut self, link: LinkId, number: u32, at: Instant) {
        self.deferred_hops += 1;
        let port = &mut self.ports[link];
        note_wait(&mut self.extensions, &self.packet_pool, port, at, number);
        if port.enqueue_pending(&mut self.packet_pool, at, number) == Fate::Dropped {
            self.drop_pending(link, number, at);
        }
    }

    /// Accounts for a packet that arrived at a port at `at` and was dropped.
    #[cold]
    fn drop_pending(&mut self, link: LinkId, number: u32, at: Instant) {
        let mut packet = Packet::BLANK;
        self.collect(number, &mut packet);
        if self.part.is_some() && self.is_known_late(link, at, &packet) {
            self.counters.drops += 1;
            self.take_extension(&packet);
        } else {
            self.dropped(link, &packet);
        }
    }

    /// Returns the number of pending arrivals of all ports.
    pub(super) fn num_pending(&self) -> usize {
        self.ports.iter().map(|port| port.num_pending(&self.packet_pool)).sum()
    }
}

/// Returns the mode of a port without deferred enqueue. Where no port that defers shares a buffer, each has its own.
fn base_mode(base_modes: &[PortMode], index: usize) -> PortMode {
    base_modes.get(index).copied().unwrap_or(PortMode::Own)
}

/// Records a packet's wait at a port in its extension, if it has one.
#[inline(always)]
pub(super) fn note_wait(extensions: &mut Extensions, packet_pool: &PacketPool, port: &Port, at: Instant, number: u32) {
    let packet = &packet_pool.at(number).packet;
    if packet.flags.has(Flags::EXTENDED) {
        note(extensions, packet.wait_or_extension, port.idle_at().saturating_sub(at));
    }
}

#[cold]
#[inline(never)]
fn note(extensions: &mut Extensions, number: u32, wait: Span) {
    extensions.at(number).wait = units_of_wait(wait);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{full, leaves, shared, star};
    use super::*;
    use crate::flow::Incarnation;
    use units::{ConnectionId, MessageId};

    /// Five hosts send full packets to a sixth. The packets arrive at its port together, first after 32 us, then every
    /// 12 us. One departs each time and ten may be queued: of the third five two are dropped, of all others four.
    #[test]
    fn a_receiver_knows_what_was_dropped_at_its_port_by_now() {
        let mut net = star(6, 1, Some(Span::ZERO), ["fifo", "fifo"]);
        net.defer_enqueues(Bytes(1500));
        for seq in 0..12 {
            for from in 0..5 {
                let packet = full(&mut net, (from, 5), seq);
                net.send(packet);
            }
        }
        let mut dropped = |micros: u64, in_control_message: bool| {
            (net.now, net.in_control_message) = (Instant::from_micros(micros), in_control_message);
            let connection = Incarnation { id: ConnectionId(0), generation: 0 };
            net.account_deferred_drops(HostId(5), connection, MessageId(0));
            net.take_dropped_at_receiver(connection).0 / 1500
        };
        assert_eq!(dropped(55, false), 0);
        for (at, packets) in [(56, 2), (68, 4), (80, 4), (92, 4), (104, 4), (116, 4), (128, 4)] {
            assert_eq!(dropped(at, true), 0, "{at} us: notices come before packets");
            assert_eq!(dropped(at + 1, false), packets, "{at} us");
        }
    }

    /// Two hosts send to a third: 12 us for each packet, and 20 us on each link. Up to four packets cannot fill a buffer
    /// of ten. With the fifth the ports stop to defer: the packets that have reached the port by then are in its queue.
    #[test]
    fn ports_share_their_buffer_when_enough_packets_are_in_flight_to_fill_it() {
        let mut net = shared(3);
        assert!(net.defers_enqueues());
        for seq in 0..2 {
            for from in 0..2 {
                let packet = full(&mut net, (from, 2), seq);
                net.send(packet);
            }
        }
        net.now = Instant::from_micros(50);
        assert_eq!(net.events.pop(net.now), None, "four are too few");
        let packet = full(&mut net, (0, 2), 2);
        net.send(packet);
        net.now = Instant::from_micros(50) + Span(1);
        assert_eq!(net.events.pop(net.now), Some((net.now, Event::Pressure)));
        net.heed_pressure();
        assert!(!net.defers_enqueues());
        let to_host = net.ports.iter().find(|port| port.place.to_host() && port.packets > 0).expect("the third host's");
        let PortMode::Shared(buffer) = to_host.mode else { panic!("{:?}", to_host.mode) };
        // All four have arrived, at 32 and 44 us. The second transmission has begun at 44 us.
        assert_eq!((to_host.packets, to_host.waiting_in_line()), (4, 2));
        // Eight are free, and the port may have as much.
        assert_eq!(net.shared_buffers[buffer.index()].room(2, 0).value, 8);
        net.heed_pressure();
        assert_eq!(net.void_events, 2, "a second end changes nothing");
    }

    /// Hosts of two leaves send to a third leaf by the root. The root's port sends the first full packet from 64 us, the
    /// second from 76 us, and then a packet without bytes, which so arrives with the second. Deferral ends at 70 us.
    #[test]
    fn packets_that_arrive_together_keep_their_order_when_deferral_ends() {
        let mut net = leaves(3, 6, 1, Some(Span::ZERO), ["fifo", "fifo"]);
        net.defer_enqueues(Bytes(1500));
        for from in [0, 2] {
            let packet = full(&mut net, (from, 5), 0);
            net.send(packet);
        }
        let packet = Packet { payload: 0, size: 0, ..full(&mut net, (2, 4), 0) };
        net.send(packet);
        while let Some((at, Event::Arrival(link))) = net.events.pop(Instant::from_micros(70)) {
            net.now = at;
            let mut arrival = net.arrival(at, link);
            if net.arrives(&mut arrival) {
                net.forward(arrival.number, arrival.to().expect("no host is reached before 128 us"));
            }
        }
        net.now = Instant::from_micros(70);
        net.stop_deferring();
        let down = net.graph.links.iter().position(|link| (link.from, link.to) == (9, 8)).expect("root to third leaf");
        let port = &mut net.ports[LinkId::from_index(down)];
        for (micros, waiting) in [(70, (2, Bytes(1500))), (77, (1, Bytes(0))), (89, (0, Bytes(0)))] {
            port.advance_to(&net.packet_pool, Instant::from_micros(micros));
            assert_eq!((port.waiting_in_line(), Bytes(port.waiting_bytes())), waiting, "{micros} us");
        }
    }
}
