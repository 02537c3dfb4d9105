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
//! active faults). In one partition of several only ports to hosts do, and the others work in [epochs](super::windows). No
//! result depends on it: before any port is examined from outside, all its pending arrivals are enqueued.

use transport::{Flags, Packet};
use units::{Bytes, HostId, Instant, LinkId, Span};

use super::{Extensions, Net, Upcoming};
use crate::fabric::packet_pool::Store;
use crate::fabric::port::deferred::Foresight;
use crate::fabric::port::{Fate, Port, PortMode, units_of_wait};

impl Net {
    /// Enables deferred enqueue where it changes no result, before anything is sent. No packet may have more than
    /// `most` bytes beside its frame's.
    pub fn feed_ports(&mut self, most: Bytes) {
        if self.agents.are_there() {
            return;
        }
        let fed = self.fed_switches(most + Bytes::from(self.frame_overhead));
        let is_fed = |node: u32| node.checked_sub(self.graph.hosts).is_some_and(|switch| fed[switch as usize]);
        for (link, port) in self.graph.links.iter().zip(self.ports.iter_mut()) {
            if is_fed(link.from) {
                port.is_fed();
            } else if is_fed(link.to) {
                port.feeds();
            }
        }
        self.is_fed = fed.contains(&true);
        if self.is_fed {
            self.events.reach_twice_as_far();
        }
    }

    /// Returns the switches whose ports can defer the enqueueing of all arrivals; no two of them are adjacent. Switches
    /// with the most hosts are preferred: a host's packets are mostly alone at their first hop.
    fn fed_switches(&self, largest: Bytes) -> Vec<bool> {
        let hosts = self.graph.hosts;
        let switch_of = |node: u32| node.checked_sub(hosts).map(|switch| switch as usize);
        let mut plain = vec![true; self.graph.switches.len()];
        let mut with_hosts = vec![0; plain.len()];
        let mut neighbours = vec![Vec::new(); plain.len()];
        for (link, port) in self.graph.links.iter().zip(self.ports.iter()) {
            let (from, to) = (switch_of(link.from), switch_of(link.to));
            match (from, to) {
                (Some(from), Some(to)) => neighbours[to].push(from),
                (None, Some(to)) => with_hosts[to] += 1,
                _ => {}
            }
            // A packet that is alone must pass, without a mark.
            if port.mode != PortMode::Own || !port.place.at_host() && port.minds_one(largest) {
                [from, to].into_iter().flatten().for_each(|switch| plain[switch] = false);
            }
        }
        let mut order: Vec<usize> = (0..plain.len()).collect();
        order.sort_by_key(|&switch| std::cmp::Reverse(with_hosts[switch]));
        let mut fed = vec![false; plain.len()];
        for switch in order {
            fed[switch] = plain[switch] && !neighbours[switch].iter().any(|&neighbour| fed[neighbour]);
        }
        fed
    }

    /// Returns whether some ports defer enqueueing: then [`arrives`](Net::arrives) handles arrivals.
    #[inline]
    pub fn feeds(&self) -> bool {
        self.is_fed
    }

    /// Returns whether all ports to hosts defer enqueueing in a network of tiers, where downlink packets at their
    /// switches are all for hosts there.
    pub fn feeds_hosts(&self) -> bool {
        let mut to_hosts = self.ports.iter().filter(|port| port.place.to_host());
        self.router.has_tiers() && to_hosts.all(|port| port.mode == PortMode::Deferred)
    }

    /// Makes every hop of a packet an event, before anything is sent.
    pub fn feed_nothing(&mut self) {
        assert_eq!(self.counters.packets_sent, 0, "packets are on their way to ports");
        self.is_fed = false;
        self.ports.iter_mut().for_each(Port::is_plain);
    }

    /// Makes every further hop of a packet an event, from before the arrivals of this instant. All arrivals are
    /// scheduled anew; none may be prefetched.
    #[cold]
    pub(super) fn feed_no_longer(&mut self) {
        let before = self.now.earlier_by(Span(1));
        let mut on_wires: Vec<(LinkId, Instant, u32)> = Vec::new();
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            self.let_in_until(link, before);
            while self.ports[link].expects_at() < Instant::MAX {
                let (at, number) = self.ports[link].take_expected(&self.store);
                let packet = self.store.packet_mut(number);
                // Its route started at the end of the port's link.
                packet.route -= 1;
                on_wires.push((self.router.link(packet.route - 1), at, number));
            }
        }
        on_wires.sort_by_key(|&(by, at, _)| (by, at));
        let mut on_wires = on_wires.chunk_by(|one, other| one.0 == other.0).peekable();
        self.is_fed = false;
        self.events.clear_arrivals(self.now);
        for (link, port) in (0..).map(LinkId).zip(self.ports.iter_mut()) {
            let on_wire = on_wires.next_if(|packets| packets[0].0 == link).unwrap_or_default();
            if port.mode == PortMode::Feeding {
                port.settle(&self.store, self.now);
                port.take_back(&mut self.store, on_wire.iter().map(|&(_, at, number)| (at, number)));
            }
            port.is_plain();
            if let Some(at) = port.first_arrival(&self.store) {
                self.events.push_arrival(self.now, at, link);
            }
        }
    }

    /// Adds a packet of `size` bytes to the pending arrivals of a port, by a link.
    #[inline(always)]
    pub(super) fn feed(&mut self, link: LinkId, by: LinkId, number: u32, (at, size): (Instant, u16)) {
        match self.ports[link].expect(&mut self.store, number, by, (at, size)) {
            Foresight::Nothing => {}
            Foresight::Arrives(at) => self.events.push_arrival(self.now, at, link),
            Foresight::ArrivesEarlier { than, at } => self.events.hasten(self.now, than, at, link),
        }
    }

    /// Adds a packet that a switch's port has accepted to the pending arrivals of the next port.
    #[inline(always)]
    pub(super) fn feed_on(&mut self, by: LinkId, number: u32, at: Instant) -> Fate {
        let packet = self.store.packet_mut(number);
        let link = self.router.link(packet.route);
        packet.route += 1;
        let size = packet.size;
        self.feed(link, by, number, (at, size));
        Fate::Queued
    }

    /// Handles a due arrival at the end of a link: the packet leaves the link, and the next arrival is scheduled.
    /// Returns false if nothing arrives yet.
    #[inline(always)]
    pub fn arrives(&mut self, arrival: &mut Upcoming) -> bool {
        let Upcoming { link, at, number, .. } = *arrival;
        let port = &mut self.ports[link];
        if port.mode != PortMode::Deferred {
            self.take(link, number);
            return true;
        }
        self.counters.packet_hops += 1;
        let next = if port.passes_alone(&mut self.store, number, at) {
            self.hops_let_in += 1;
            None
        } else if self.ripens(arrival) {
            self.ports[link].take(&self.store, arrival.number)
        } else {
            return self.in_vain();
        };
        if let Some(at) = next.or_else(|| self.ports[link].arrives_next(&self.store)) {
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
    pub fn nothing_happened(&mut self) {
        self.events_in_vain += 1;
    }

    /// Handles a due arrival at the end of a link: enqueues the port's pending arrivals as far as they matter. Returns
    /// false if nothing arrives yet.
    #[inline(always)]
    fn ripens(&mut self, arrival: &mut Upcoming) -> bool {
        let Upcoming { link, at, number, .. } = *arrival;
        let port = &mut self.ports[link];
        if port.must_catch_up() {
            while let Some((comes_at, number)) = port.take_expected_before(&self.store, at, link) {
                self.hops_let_in += 1;
                note_wait(&mut self.extensions, &self.store, port, comes_at, number);
                if port.let_in(&mut self.store, comes_at, number) == Fate::Dropped {
                    return self.ripens_without((comes_at, number), arrival);
                }
            }
            port.settle(&self.store, at);
        }
        port.first() == number && self.store.at(number).at == at || self.is_another(arrival)
    }

    /// As [`ripens`](Net::ripens), after the port has dropped a packet.
    #[cold]
    #[inline(never)]
    fn ripens_without(&mut self, (at, number): (Instant, u32), arrival: &mut Upcoming) -> bool {
        self.not_let_in(arrival.link, number, at);
        while let Some((at, number)) =
            self.ports[arrival.link].take_expected_before(&self.store, arrival.at, arrival.link)
        {
            self.let_in(arrival.link, number, at);
        }
        self.ports[arrival.link].settle(&self.store, arrival.at);
        self.is_another(arrival)
    }

    /// Handles an arrival that differs from the predicted one: other packets have overtaken it, or it is later.
    #[cold]
    #[inline(never)]
    fn is_another(&mut self, arrival: &mut Upcoming) -> bool {
        let at = self.store.at(self.ports[arrival.link].first()).at;
        if at > arrival.at {
            self.events.push_arrival(self.now, at, arrival.link);
            return false;
        }
        *arrival = self.arrival(at, arrival.link);
        true
    }

    /// Enqueues the arrivals of all ports up to and including this instant.
    pub fn let_all_in(&mut self) {
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            self.let_in_until(link, self.now_at(link));
        }
    }

    /// Enqueues the arrivals of a port up to and including `until`.
    fn let_in_until(&mut self, link: LinkId, until: Instant) {
        while self.ports[link].expects_at() <= until {
            let (at, number) = self.ports[link].take_expected(&self.store);
            self.let_in(link, number, at);
        }
    }

    /// Enqueues the arrivals of the port to a host that precede the current event there.
    pub(super) fn let_in_at(&mut self, host: HostId) {
        // The only link to a host has its number.
        let (link, now) = (LinkId(host.0), self.now);
        // Control messages precede all else of their instant.
        let at = if self.noticing { now.earlier_by(Span(1)) } else { now };
        while self.ports[link].expects_at() <= at {
            let Some((at, number)) = self.ports[link].take_expected_before(&self.store, now, link) else { return };
            self.let_in(link, number, at);
        }
    }

    /// Enqueues a packet that arrived at a port at `at`.
    fn let_in(&mut self, link: LinkId, number: u32, at: Instant) {
        self.hops_let_in += 1;
        let port = &mut self.ports[link];
        note_wait(&mut self.extensions, &self.store, port, at, number);
        if port.let_in(&mut self.store, at, number) == Fate::Dropped {
            self.not_let_in(link, number, at);
        }
    }

    /// Accounts for a packet that arrived at a port at `at` and was dropped.
    #[cold]
    fn not_let_in(&mut self, link: LinkId, number: u32, at: Instant) {
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
    pub(super) fn on_their_way(&self) -> usize {
        self.ports.iter().map(|port| port.on_their_way(&self.store)).sum()
    }
}

/// Records a packet's wait at a port in its extension, if it has one.
#[inline(always)]
pub(super) fn note_wait(extensions: &mut Extensions, store: &Store, port: &Port, at: Instant, number: u32) {
    let packet = &store.at(number).packet;
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
    use super::super::tests::{full, leaves, star};
    use super::*;
    use crate::fabric::level::Level;
    use crate::fabric::port::{Place, PoolIndex};
    use crate::fabric::shared_buffer::Pool;
    use units::{Amount, ConnectionId, MessageId, Rate};

    /// Returns for each port whether it defers enqueueing, and whether it sends to a port that does.
    fn fed(net: &mut Net) -> Vec<(bool, bool)> {
        net.feed_ports(Bytes(1500));
        net.ports.iter().map(|port| (port.mode == PortMode::Deferred, port.mode == PortMode::Feeding)).collect()
    }

    #[test]
    fn hosts_and_inner_switches_feed_the_switches_with_hosts() {
        for number in [1, 4] {
            let mut net = leaves(number, 8, 1, None, ["fifo", "fifo"]);
            let ports = fed(&mut net);
            for (link, port) in net.graph.links.iter().zip(ports) {
                let leaf = 8..8 + number;
                let at_leaf = (leaf.contains(&link.from), leaf.contains(&link.to));
                assert_eq!(port, at_leaf, "from {} to {}", link.from, link.to);
            }
        }
    }

    fn limit(net: &mut Net, link: LinkId, limit: Level, mark_above: Level) {
        let port = Port::new(Rate::from_gbps(1), Span::from_micros(20), Place::SwitchToHost);
        net.ports[link] = port.limited(limit, mark_above, false);
    }

    #[test]
    fn nothing_is_fed_where_more_than_a_ports_own_packets_have_a_say() {
        let changes: [fn(&mut Net, LinkId); 3] = [
            |net, link| {
                net.ports[link].mode = PortMode::Shared(PoolIndex::from_index(0));
                net.pools.push(Pool::new(Amount::Packets(12), 1.0));
            },
            // Here a packet that is alone might be marked or dropped.
            |net, link| limit(net, link, Level::INFINITE, Level { value: 0, in_bytes: false }),
            |net, link| limit(net, link, Level { value: 1000, in_bytes: true }, Level::INFINITE),
        ];
        for change in changes {
            let mut net = star(4, 1, None, ["fifo", "fifo"]);
            let link = net.ports.iter().position(|port| port.place.to_host()).expect("a port to a host");
            change(&mut net, LinkId::from_index(link));
            assert!(!fed(&mut net).iter().any(|&(fed, feeds)| fed || feeds) && !net.feeds());
        }
        for ordering in [["priority", "fifo"], ["fifo", "priority"]] {
            assert!(!fed(&mut star(4, 1, None, ordering)).contains(&(true, false)), "{ordering:?}");
        }
    }

    /// Five hosts send full packets to a sixth. The packets arrive at its port together, first after 32 us, then every
    /// 12 us. One departs each time and ten may be queued: of the third five two are dropped, of all others four.
    #[test]
    fn a_receiver_knows_what_was_dropped_at_its_port_by_now() {
        let mut net = star(6, 1, Some(Span::ZERO), ["fifo", "fifo"]);
        net.feed_ports(Bytes(1500));
        for seq in 0..12 {
            for from in 0..5 {
                let packet = full(&mut net, (from, 5), seq);
                net.send(packet);
            }
        }
        let mut dropped = |micros: u64, noticing: bool| {
            (net.now, net.noticing) = (Instant::from_micros(micros), noticing);
            net.know_drops(HostId(5), (ConnectionId(0), 0), MessageId(0));
            net.take_dropped_at_receiver((ConnectionId(0), 0)).0 / 1500
        };
        assert_eq!(dropped(55, false), 0);
        for (at, packets) in [(56, 2), (68, 4), (80, 4), (92, 4), (104, 4), (116, 4), (128, 4)] {
            assert_eq!(dropped(at, true), 0, "{at} us: notices come before packets");
            assert_eq!(dropped(at + 1, false), packets, "{at} us");
        }
    }
}
