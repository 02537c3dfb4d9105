//! Ports whose discipline decides at each departure which packet is next.
//!
//! Such a port cannot say on a packet's arrival when it will leave. What waits stands in the discipline's
//! queue, what has begun is on the wire of a [`Port`](super::Port) like any other. While something waits, the
//! end of each transmission is an event of its own: one more per packet-hop.
//!
//! A transmission that is due begins before anything else that happens to the port at the same instant, so it
//! does not matter in which order events of the same time come.

use transport::{Flags, Packet};

use super::port::units_of_wait;
use super::{Fate, Net, Slot};
use crate::discipline::Queue;
use crate::event::Event;

/// What waits at one port.
pub struct Scheduled {
    queue: Box<dyn Queue>,
    /// How many.
    pub packets: u64,
    /// The shared buffer that the port draws on, or [`Port::NO_POOL`](super::Port::NO_POOL).
    pool: u32,
    /// The end of the transmission is a pending event.
    armed: bool,
}

impl Scheduled {
    /// Nothing waits.
    pub fn new(queue: Box<dyn Queue>, pool: u32) -> Scheduled {
        Scheduled { queue, packets: 0, pool, armed: false }
    }
    /// Everything that waits.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.queue.packets()
    }
}

impl Net {
    /// The transmission at a port has ended.
    pub fn depart(&mut self, link: u32) {
        self.scheduled_mut(link).armed = false;
        self.begin_due(link);
        self.arm(link);
    }

    /// Takes a packet from another link, or drops it; a protected one is taken also when there is no room.
    pub(super) fn offer_scheduled(&mut self, link: u32, packet: &Packet, protected: bool) -> Fate {
        self.begin_due(link);
        let (packets, bytes) = self.with(link, packet);
        let port = &self.ports[link as usize];
        let (idle, marking) = (port.is_idle(self.now), port.marking(packet.flags, packets, bytes));
        let Some(marked) = marking.filter(|_| idle || protected || self.make_room(link, packet)) else {
            self.ports[link as usize].count_drop();
            return Fate::Dropped;
        };
        let mut packet = *packet;
        packet.route += 1;
        let port = &mut self.ports[link as usize];
        if marked {
            packet.flags = port.mark(packet.flags);
        }
        let slot = Slot { at: self.now, packet };
        if idle {
            return self.ports[link as usize].begin(self.now, slot).map_or(Fate::Queued, Fate::First);
        }
        // Some may have been pushed out.
        let (packets, bytes) = self.with(link, &packet);
        let scheduled = self.scheduled[link as usize].as_deref_mut().expect("a scheduled port");
        self.ports[link as usize].count_stay(scheduled.packets, packets, self.now);
        scheduled.queue.push(slot);
        scheduled.packets = packets;
        self.ports[link as usize].set_waiting_bytes(bytes);
        if let Some(pool) = self.pools.get_mut(scheduled.pool as usize) {
            pool.enter(&packet);
        }
        self.arm(link);
        Fate::Queued
    }

    /// Lets transmissions that are due begin.
    pub(super) fn settle_scheduled(&mut self) {
        for link in 0..self.scheduled.len() {
            if self.scheduled[link].is_some() {
                self.begin_due(link as u32);
                self.arm(link as u32);
            }
        }
    }

    /// Begins transmissions while the wire is free and something waits; more than one where packets have no size.
    fn begin_due(&mut self, link: u32) {
        while self.ports[link as usize].is_idle(self.now)
            && let Some(slot) = self.scheduled_mut(link).queue.pop()
        {
            self.leaves(link, &slot.packet);
            if slot.packet.flags.has(Flags::EXTENDED) {
                self.extensions.at(slot.packet.wait_or_extension).wait = units_of_wait(self.now - slot.at);
            }
            if let Some(at) = self.ports[link as usize].begin(self.now, slot) {
                self.events.push_arrival(self.now, at, link);
            }
        }
    }

    /// Whether an arriving packet may wait; pushes others out if the discipline says so.
    fn make_room(&mut self, link: u32, packet: &Packet) -> bool {
        let mut settled = false;
        loop {
            let (packets, bytes) = self.with(link, packet);
            let scheduled = self.scheduled[link as usize].as_deref_mut().expect("a scheduled port");
            let room = match self.pools.get(scheduled.pool as usize) {
                Some(pool) => pool.room(scheduled.packets, self.ports[link as usize].waiting_bytes()),
                None => self.ports[link as usize].limit(),
            };
            if !room.exceeded(packets, bytes) {
                return true;
            }
            if let Some(pool) = self.pools.get(scheduled.pool as usize)
                && !settled
            {
                // What is due to leave other ports at this very instant makes room.
                settled = true;
                pool.members().to_vec().into_iter().for_each(|member| self.begin_due(member));
                continue;
            }
            let Some(out) = scheduled.queue.push_out(packet) else { return false };
            self.leaves(link, &out);
            self.ports[link as usize].count_drop();
            self.dropped(link, &out);
        }
    }

    /// A packet leaves the queue.
    fn leaves(&mut self, link: u32, packet: &Packet) {
        let scheduled = self.scheduled[link as usize].as_deref_mut().expect("a scheduled port");
        self.ports[link as usize].count_stay(scheduled.packets, scheduled.packets, self.now);
        scheduled.packets -= 1;
        let bytes = self.ports[link as usize].waiting_bytes() - u64::from(packet.size);
        self.ports[link as usize].set_waiting_bytes(bytes);
        if let Some(pool) = self.pools.get_mut(scheduled.pool as usize) {
            pool.leave(packet);
        }
    }

    /// Asks for an event at the end of the transmission while something waits.
    fn arm(&mut self, link: u32) {
        let scheduled = self.scheduled[link as usize].as_deref_mut().expect("a scheduled port");
        if scheduled.packets > 0 && !scheduled.armed {
            scheduled.armed = true;
            self.events.push(self.ports[link as usize].idle_at(), Event::Departure(link));
        }
    }

    /// Packets and bytes that would wait with one more.
    fn with(&mut self, link: u32, packet: &Packet) -> (u64, u64) {
        let bytes = self.ports[link as usize].waiting_bytes() + u64::from(packet.size);
        (self.scheduled_mut(link).packets + 1, bytes)
    }

    fn scheduled_mut(&mut self, link: u32) -> &mut Scheduled {
        self.scheduled[link as usize].as_deref_mut().expect("a scheduled port")
    }
}
