//! Networks that go by windows, in one part of several.
//!
//! Where ports to hosts are fed ([`feeding`](super::feeding)), and packets go straight up and straight down, what happens at
//! switches within a window of time hangs on what hosts did before it: clocks of switches are that far ahead of the hosts' or
//! behind ([`Partition`](crate::topology::Partition)). So each window is done in three steps, and only arrivals at hosts are
//! events:
//!
//! 1. **Down.** All that comes to switches above the racks is known. Tier by tier, the highest first, its packets are offered
//!    to their ports in the order in which they come. What goes up again comes there in a later window, or to another part.
//!    What comes to a rack goes to ports to hosts, which are fed.
//! 2. **Hosts.** Events, as everywhere. What a host sends to another in its rack is fed to the port there.
//! 3. **Up.** What hosts have sent out of their racks is offered to the ports of their switches that lead up.
//!
//! This takes fewer instructions than an event for each packet at each switch: what comes in a window is put in order at once.

use std::mem;

use units::{Instant, LinkId, Span};

use super::Net;
use super::calendar::{Calendar, Window};
use super::feeding::note_wait;
use super::part::Coming;
use crate::port::store::{Slot, Store};
use crate::port::{Fate, Port};

/// What is on its way to switches.
#[derive(Default)]
pub struct Windows {
    /// By the tier of the switch.
    coming: Vec<Calendar>,
    /// By link: the tier of the switch at its end, if there is one.
    tier: Vec<u8>,
    /// What comes in a window, and where it goes: empty, but for the memory that they have had.
    due: Vec<u32>,
    bound: Vec<Bound>,
}

/// A packet that comes to a switch, looked up: then a processor need not wait for where it goes before it deals with the next.
#[derive(Clone, Copy)]
struct Bound {
    /// When it comes.
    at: Instant,
    /// Its number in the store.
    number: u32,
    /// The link that it takes next, and the one behind that.
    link: LinkId,
    next: LinkId,
    /// The part that has the port there.
    to: u32,
}

impl Windows {
    /// Whether the network goes by windows.
    pub fn are_there(&self) -> bool {
        !self.coming.is_empty()
    }

    /// The packet in the slot of this number will come to the end of a link when the clock there shows this.
    #[inline(always)]
    pub fn expect(&mut self, store: &mut Store, number: u32, by: LinkId, at: Instant) {
        self.coming[usize::from(self.tier[by.index()])].expect(store, number, by, at);
    }

    /// How many are on their way.
    pub fn packets(&self) -> u64 {
        self.coming.iter().map(Calendar::packets).sum()
    }
}

impl Net {
    /// Before anything is sent: from now on the network goes by windows and by the clocks of its partition.
    pub(super) fn go_by_windows(&mut self) {
        let Net { part, ports, graph, .. } = self;
        let Some(part) = part.as_deref_mut() else { return };
        let (hosts, partition) = (graph.hosts, &part.partition);
        let tier = |node: u32| node.checked_sub(hosts).map_or(0, |switch| partition.tier[switch as usize]);
        for ((number, link), port) in (0..).map(LinkId).zip(&graph.links).zip(ports.iter_mut()) {
            port.takes(partition.delay(number, link).expect("nothing arrives before it was sent"));
            if link.from < hosts {
                port.goes_by_windows();
            } else if link.to < hosts {
                port.is_fed();
                port.goes_by(partition.at_port[number]);
            } else {
                port.feeds();
            }
        }
        let highest = graph.links.iter().map(|link| tier(link.to)).max().unwrap_or_default();
        // What has gone up comes that much later, or later still where it has waited.
        let ahead = Span(partition.lookahead.0.saturating_mul(2));
        part.windows = Windows {
            coming: (0..=highest).map(|_| Calendar::new(ahead)).collect(),
            tier: graph.links.iter().map(|link| tier(link.to) as u8).collect(),
            due: Vec::new(),
            bound: Vec::new(),
        };
        part.clocks = partition.at_port.clone();
        self.is_fed = true;
    }

    /// A packet of so many bytes leaves a host by a link, and comes to the end of it at that time. Its route goes on at `next`.
    #[inline(never)]
    pub(super) fn send_by_windows(&mut self, link: LinkId, next: u32, number: u32, (at, size): (Instant, u16)) {
        let at = self.ports[link].keeps_order(at);
        let to = self.router.link(next);
        let part = self.part.as_deref_mut().expect("only there are windows");
        // The only link to a host has its number.
        if to.0 >= self.graph.hosts {
            part.windows.coming[0].expect(&mut self.store, number, link, at);
            return;
        }
        let at = part.partition.at_port[to].when(part.partition.at_end[link], at);
        self.store.packet_mut(number).route = next + 1;
        self.feed(to, link, number, (at, size));
    }

    /// All that comes to switches above racks before their clocks show more than `until`, and by that time, goes on.
    pub fn go_down(&mut self, until: Instant, by: Instant) {
        for tier in (1..self.part.as_ref().map_or(0, |part| part.windows.coming.len())).rev() {
            self.come(tier, until, by);
        }
    }

    /// All that hosts have sent, and comes to the switches of their racks before these show more than `until`, and by that time,
    /// goes on.
    pub fn go_up(&mut self, until: Instant, by: Instant) {
        self.come(0, until, by);
    }

    /// When the first packet comes to a switch.
    pub fn comes_at(&self) -> Instant {
        let coming = self.part.iter().flat_map(|part| &part.windows.coming);
        coming.map(|coming| coming.next_at(&self.store)).min().unwrap_or(Instant::MAX)
    }

    /// All that comes to switches of a tier goes on, if the network goes by windows.
    fn come(&mut self, tier: usize, until: Instant, by: Instant) {
        let Some(part) = self.part.as_deref_mut() else { return };
        let Some(coming) = part.windows.coming.get_mut(tier) else { return };
        let (now, mut due, mut bound) =
            (self.now, mem::take(&mut part.windows.due), mem::take(&mut part.windows.bound));
        coming.take(&mut self.store, &Window { until, by, clocks: &part.partition.at_end }, &mut due);
        self.hops_let_in += due.len() as u64;
        let Net { store, router, .. } = self;
        bound.extend(due.drain(..).map(|number| {
            let &Slot { at, ref packet } = store.at(number);
            let (link, next) = router.links(packet.route);
            Bound { at, number, link, next, to: part.partition.of_port[next] }
        }));
        for bound in bound.drain(..) {
            self.goes_on(bound);
        }
        self.now = now;
        if let Some(part) = self.part.as_deref_mut() {
            (part.windows.due, part.windows.bound) = (due, bound);
        }
    }

    /// A packet has come to a switch.
    #[inline(always)]
    fn goes_on(&mut self, Bound { at, number, link, next, to }: Bound) {
        self.now = at;
        let part = self.part.as_deref_mut().expect("only there are windows");
        let port = &mut self.ports[link];
        debug_assert_eq!(port.pool, Port::FEEDS);
        if to != part.number {
            // The port writes into a copy: to copy what was just written would wait for that.
            let mut packet = self.store.at(number).packet;
            return match port.pass(at, &mut packet) {
                Some(at) => self.leave_for(to, number, &Coming { at, link, packet }),
                None => self.goes_elsewhere(to, link, number, at),
            };
        }
        let packet = self.store.packet_mut(number);
        let size = packet.size;
        let at = match port.pass(at, packet) {
            Some(at) => at,
            None => match self.waits(link, number, at) {
                Some(at) => at,
                None => return self.not_kept(link, number, Fate::Dropped),
            },
        };
        if next.0 < self.graph.hosts {
            self.store.packet_mut(number).route += 1;
            return self.feed(next, link, number, (at, size));
        }
        let part = self.part.as_deref_mut().expect("only there are windows");
        part.windows.expect(&mut self.store, number, link, at);
    }

    /// A packet has come to a switch, whose port may not be idle: gives when it is at the other end, unless it is dropped.
    #[inline(never)]
    fn waits(&mut self, link: LinkId, number: u32, at: Instant) -> Option<Instant> {
        let port = &mut self.ports[link];
        note_wait(&mut self.extensions, &self.store, port, at, number);
        port.offer_away(&mut self.store, at, number)
    }

    /// As [`waits`](Net::waits), where it leaves for another part if the port takes it.
    #[inline(never)]
    fn goes_elsewhere(&mut self, to: u32, link: LinkId, number: u32, at: Instant) {
        note_wait(&mut self.extensions, &self.store, &self.ports[link], at, number);
        let mut packet = self.store.at(number).packet;
        match self.ports[link].offer_outside(&mut self.store, at, &mut packet) {
            Some(arrives) => self.leave_for(to, number, &Coming { at: arrives, link, packet }),
            None => self.not_kept(link, number, Fate::Dropped),
        }
    }
}
