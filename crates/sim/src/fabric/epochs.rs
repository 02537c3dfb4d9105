//! Networks that are simulated in epochs, in one partition of several.
//!
//! This applies where ports to hosts defer enqueueing ([`deferred`](super::deferred)), and routes are straight up and
//! straight down. The clocks of switches are ahead of the hosts' or behind ([`Partition`](crate::topology::Partition)),
//! so far that events at switches within an epoch depend on earlier events at hosts only. So each epoch has three
//! steps, and only arrivals at hosts are events:
//!
//! 1. **Downlink pass.** All arrivals at switches above the racks are known. Tier by tier, the highest first, their
//!    packets are offered to their ports in the order of arrival. Packets sent up again arrive in a later epoch, or in
//!    another partition. Packets for a rack are pending arrivals at ports to hosts.
//! 2. **Hosts.** Events, as everywhere. Packets between hosts of a rack are pending arrivals at the port to the
//!    receiver.
//! 3. **Uplink pass.** Packets that hosts have sent out of their racks are offered to the uplink ports of their
//!    switches.
//!
//! This takes fewer instructions than an event for each packet at each switch, because the arrivals of an epoch are
//! sorted at once.

use std::mem;

use units::{Instant, LinkId, Span};

use super::Net;
use super::calendar::{Calendar, Epoch};
use super::channel::Crossing;
use super::deferred::note_wait;
use super::plan::Plan;
use crate::fabric::packet_pool::{PacketPool, Slot};
use crate::fabric::port::{Fate, PortMode};

/// The pending arrivals at switches.
#[derive(Default)]
pub(super) struct Epochs {
    /// By tier of the switch.
    coming: Vec<Calendar>,
    /// The tier of the switch at the end of each link, if there is one.
    tier: Vec<u8>,
    /// The arrivals of an epoch, and their next ports. Empty between passes, and kept for their memory.
    due: Vec<u32>,
    bound: Vec<Bound>,
}

/// An arrival at a switch, with its next ports: so a processor need not wait for them before it handles the next
/// arrival.
#[derive(Clone, Copy)]
struct Bound {
    /// Time of the arrival.
    at: Instant,
    /// The packet's slot in the packet pool.
    number: u32,
    /// The packet's next link, and the one after that.
    link: LinkId,
    next: LinkId,
    /// The partition that has the port after that.
    to: u32,
}

impl Epochs {
    /// Returns whether the network is simulated in epochs.
    pub(super) fn are_there(&self) -> bool {
        !self.coming.is_empty()
    }

    /// Adds the packet in slot `number`, which arrives at the end of a link when the clock there shows `at`.
    #[inline(always)]
    pub(super) fn expect(&mut self, packet_pool: &mut PacketPool, number: u32, by: LinkId, at: Instant) {
        self.coming[usize::from(self.tier[by.index()])].expect(packet_pool, number, by, at);
    }

    /// Returns the number of pending arrivals.
    pub(super) fn packets(&self) -> u64 {
        self.coming.iter().map(Calendar::packets).sum()
    }
}

impl Net {
    /// Switches the network to epochs and to the clocks of its partition, before anything is sent.
    pub(super) fn use_epochs(&mut self) {
        let Net { part, ports, graph, .. } = self;
        let Some(part) = part.as_deref_mut() else { return };
        let (hosts, partition) = (graph.hosts, &part.partition);
        let tier = |node: u32| node.checked_sub(hosts).map_or(0, |switch| partition.tier[switch as usize]);
        for ((number, link), port) in (0..).map(LinkId).zip(&graph.links).zip(ports.iter_mut()) {
            port.takes(partition.delay(number, link).expect("nothing arrives before it was sent"));
            match Plan::in_epochs(port.place) {
                PortMode::Epochs => port.use_epochs(),
                PortMode::Deferred => {
                    port.defer();
                    port.goes_by(partition.at_port[number]);
                }
                _ => port.send_to_deferred(),
            }
        }
        let highest = graph.links.iter().map(|link| tier(link.to)).max().unwrap_or_default();
        // Uplink packets arrive that much later, or later still if they were queued.
        let ahead = Span(partition.lookahead.0.saturating_mul(2));
        part.epochs = Epochs {
            coming: (0..=highest).map(|_| Calendar::new(ahead)).collect(),
            tier: graph.links.iter().map(|link| tier(link.to) as u8).collect(),
            due: Vec::new(),
            bound: Vec::new(),
        };
        part.clocks = partition.at_port.clone();
        self.defers = true;
    }

    /// Sends a packet of `size` bytes from a host by a link, at whose end it arrives at `at`. Its route continues at
    /// `next`.
    #[inline(never)]
    pub(super) fn send_in_epoch(&mut self, link: LinkId, next: u32, number: u32, at: Instant, size: u16) {
        let at = self.ports[link].keeps_order(at);
        let to = self.router.link(next);
        let part = self.part.as_deref_mut().expect("epochs are only in a partition");
        // The only link to a host has its number.
        if to.0 >= self.graph.hosts {
            part.epochs.coming[0].expect(&mut self.packet_pool, number, link, at);
            return;
        }
        let at = part.partition.at_port[to].when(part.partition.at_end[link], at);
        self.packet_pool.packet_mut(number).route = next + 1;
        self.add_pending(to, link, number, at, size);
    }

    /// Downlink pass: forwards all arrivals at switches above racks up to `by`, and until their clocks show more than
    /// `until`.
    pub(crate) fn downlink_pass(&mut self, until: Instant, by: Instant) {
        for tier in (1..self.part.as_ref().map_or(0, |part| part.epochs.coming.len())).rev() {
            self.come(tier, until, by);
        }
    }

    /// Uplink pass: forwards all arrivals from hosts at the switches of their racks up to `by`, and until these show
    /// more than `until`.
    pub(crate) fn uplink_pass(&mut self, until: Instant, by: Instant) {
        self.come(0, until, by);
    }

    /// Returns the time of the first arrival at a switch.
    pub(crate) fn comes_at(&self) -> Instant {
        let coming = self.part.iter().flat_map(|part| &part.epochs.coming);
        coming.map(|coming| coming.next_at(&self.packet_pool)).min().unwrap_or(Instant::MAX)
    }

    /// Forwards all arrivals at switches of a tier, if the network is simulated in epochs.
    fn come(&mut self, tier: usize, until: Instant, by: Instant) {
        let Some(part) = self.part.as_deref_mut() else { return };
        let Some(coming) = part.epochs.coming.get_mut(tier) else { return };
        let (now, mut due, mut bound) = (self.now, mem::take(&mut part.epochs.due), mem::take(&mut part.epochs.bound));
        coming.take(&mut self.packet_pool, &Epoch { until, by, clocks: &part.partition.at_end }, &mut due);
        self.deferred_hops += due.len() as u64;
        let Net { packet_pool, router, .. } = self;
        bound.extend(due.drain(..).map(|number| {
            let &Slot { at, ref packet } = packet_pool.at(number);
            let (link, next) = router.links(packet.route);
            Bound { at, number, link, next, to: part.partition.of_port[next] }
        }));
        for bound in bound.drain(..) {
            self.goes_on(bound);
        }
        self.now = now;
        if let Some(part) = self.part.as_deref_mut() {
            (part.epochs.due, part.epochs.bound) = (due, bound);
        }
    }

    /// Forwards a packet that has arrived at a switch.
    #[inline(always)]
    fn goes_on(&mut self, Bound { at, number, link, next, to }: Bound) {
        self.now = at;
        let part = self.part.as_deref_mut().expect("epochs are only in a partition");
        let port = &mut self.ports[link];
        debug_assert_eq!(port.mode, PortMode::ToDeferred);
        if to != part.number {
            // The port writes into a copy: to copy after a write would wait for the write.
            let mut packet = self.packet_pool.at(number).packet;
            return match port.pass(at, &mut packet) {
                Some(at) => self.leave_for(to, number, &Crossing { at, link, packet }),
                None => self.goes_elsewhere(to, link, number, at),
            };
        }
        let packet = self.packet_pool.packet_mut(number);
        let size = packet.size;
        let at = match port.pass(at, packet) {
            Some(at) => at,
            None => match self.waits(link, number, at) {
                Some(at) => at,
                None => return self.not_kept(link, number, Fate::Dropped),
            },
        };
        if next.0 < self.graph.hosts {
            self.packet_pool.packet_mut(number).route += 1;
            return self.add_pending(next, link, number, at, size);
        }
        let part = self.part.as_deref_mut().expect("epochs are only in a partition");
        part.epochs.expect(&mut self.packet_pool, number, link, at);
    }

    /// Offers a packet to a switch's port that may not be idle. Returns its arrival time at the other end, unless it is
    /// dropped.
    #[inline(never)]
    fn waits(&mut self, link: LinkId, number: u32, at: Instant) -> Option<Instant> {
        let port = &mut self.ports[link];
        note_wait(&mut self.extensions, &self.packet_pool, port, at, number);
        port.offer_away(&mut self.packet_pool, at, number)
    }

    /// As [`waits`](Net::waits), for a packet that is sent to another partition if the port accepts it.
    #[inline(never)]
    fn goes_elsewhere(&mut self, to: u32, link: LinkId, number: u32, at: Instant) {
        note_wait(&mut self.extensions, &self.packet_pool, &self.ports[link], at, number);
        let mut packet = self.packet_pool.at(number).packet;
        match self.ports[link].offer_outside(&mut self.packet_pool, at, &mut packet) {
            Some(arrives) => self.leave_for(to, number, &Crossing { at: arrives, link, packet }),
            None => self.not_kept(link, number, Fate::Dropped),
        }
    }
}
