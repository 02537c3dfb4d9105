//! Ports that choose at each departure which packet is next, or whose marker must see departures.
//!
//! Such a port cannot say on a packet's arrival when it will leave. What waits stands in a queue of its discipline,
//! what has begun is on the wire as at any other port.

use transport::{Flags, Packet};
use units::{Instant, Span};

use super::level::Length;
use super::mark::Marker;
use super::queue::Queue;
use super::store::{Slot, Store};
use super::{Port, Verdict};

/// What waits at a port that chooses.
pub struct Choice {
    queue: Box<dyn Queue>,
    marker: Box<dyn Marker>,
    packets: u64,
    /// The shared buffer that the port draws on, or [`Port::NO_POOL`].
    pub pool: u32,
    /// The end of the transmission is a pending event.
    pub armed: bool,
    /// What the marker says does not count: a fault.
    pub unheard: bool,
}

impl Choice {
    /// How many packets wait.
    pub fn waiting(&self) -> u64 {
        self.packets
    }
    /// Everything that waits.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.queue.packets()
    }
}

impl Port {
    /// With a queue and a marker of its own.
    pub fn choosing(mut self, queue: Box<dyn Queue>, marker: Box<dyn Marker>) -> Port {
        let pool = std::mem::replace(&mut self.pool, Port::CHOOSES);
        let beside = self.beside.get_or_insert_default();
        beside.choice = Some(Choice { queue, marker, packets: 0, pool, armed: false, unheard: false });
        self
    }

    /// What waits at this port, if it chooses.
    pub fn choice(&self) -> Option<&Choice> {
        self.beside.as_ref()?.choice.as_ref()
    }

    /// As [`choice`](Port::choice); the port must be one that chooses.
    pub fn choice_mut(&mut self) -> &mut Choice {
        self.beside.as_mut().and_then(|beside| beside.choice.as_mut()).expect("a port that chooses")
    }

    /// What would wait with one more.
    pub fn length_with(&self, packet: &Packet) -> Length {
        Length { packets: self.waiting() + 1, bytes: self.waiting_bytes + u64::from(packet.size) }
    }

    /// What its marker says to a packet that comes to a queue which with it is so long.
    pub fn verdict_on(&mut self, packet: &Packet, with_it: Length, now: Instant) -> Verdict {
        let choice = self.choice_mut();
        let congested = choice.marker.arrives(packet, with_it, now) && !choice.unheard;
        self.verdict(congested, packet.flags)
    }

    /// Lets a packet wait.
    pub fn push(&mut self, now: Instant, packet: Packet) {
        let Length { packets, bytes } = self.length_with(&packet);
        self.count_stay(packets - 1, packets, now);
        let choice = self.choice_mut();
        choice.queue.push(Slot { at: now, packet });
        choice.packets = packets;
        self.waiting_bytes = bytes;
    }

    /// Takes out the packet whose transmission is to begin now, if the wire is free. It came at [`Slot::at`].
    pub fn pop_due(&mut self, now: Instant) -> Option<Slot> {
        if !self.is_idle(now) {
            return None;
        }
        let slot = self.choice_mut().queue.pop()?;
        self.leaves(&slot.packet, now);
        Some(slot)
    }

    /// Takes out a packet that is to make room for `arriving`, if the discipline has one: it is dropped.
    pub fn push_out(&mut self, now: Instant, arriving: &Packet) -> Option<Packet> {
        let packet = self.choice_mut().queue.push_out(arriving)?;
        self.leaves(&packet, now);
        self.count_drop();
        Some(packet)
    }

    /// Takes out a packet that waits beside the port, as long as one does.
    pub fn drop_waiting(&mut self, now: Instant) -> Option<Packet> {
        self.choice()?;
        let packet = self.choice_mut().queue.pop()?.packet;
        self.leaves(&packet, now);
        Some(packet)
    }

    /// A packet leaves the queue.
    fn leaves(&mut self, packet: &Packet, now: Instant) {
        let packets = self.waiting();
        self.count_stay(packets, packets, now);
        self.choice_mut().packets -= 1;
        self.waiting_bytes -= u64::from(packet.size);
    }

    /// The transmission of a packet begins. Gives the time of its arrival at the other end if it is first in line,
    /// to be scheduled. It arrives `late`, which is told how long the transmission takes, but keeps its place.
    pub fn begin(
        &mut self,
        store: &mut Store,
        now: Instant,
        mut packet: Packet,
        late: impl FnOnce(Span) -> Span,
    ) -> Option<Instant> {
        let behind = Length { packets: self.waiting(), bytes: self.waiting_bytes };
        let choice = self.choice_mut();
        if choice.marker.departs(&packet, behind, now) && !choice.unheard && packet.flags.has(Flags::ECT) {
            packet.flags = self.mark(packet.flags);
        }
        let at = self.launch(now, late, packet.size);
        let number = store.put(packet);
        self.transmit(store, number, at)
    }

    /// So many packets have waited until `now`; at most so many from now on.
    fn count_stay(&mut self, packets: u64, most: u64, now: Instant) {
        let watch = self.watch_mut();
        watch.stay(packets, now);
        watch.most_waiting = watch.most_waiting.max(most);
    }
}
