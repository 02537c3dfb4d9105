//! Deferred enqueue at a port: pending arrivals are enqueued when the port is next examined, in the order and as of the
//! times of their arrival.

use std::hint::select_unpredictable;

use transport::Flags;
use units::{Bytes, Instant, LinkId};

use super::pending::Turn;
use super::{Fate, Port, PortMode};
use crate::fabric::packet_pool::{NONE, PacketPool};
use crate::schedule::events;
use crate::topology::Clock;

/// The event to schedule for a new pending arrival.
pub(crate) enum Foresight {
    /// Nothing new to schedule.
    Nothing,
    /// The port's next arrival is to be scheduled.
    Arrives(Instant),
    /// The port's next arrival is earlier than scheduled.
    ArrivesEarlier {
        /// The time for which it is scheduled.
        than: Instant,
        /// The earliest time at which it may arrive.
        at: Instant,
    },
}

impl Port {
    /// Defers the enqueueing of all arrivals from now on.
    pub(crate) fn defer(&mut self) {
        self.mode = PortMode::Deferred;
    }

    /// Sends all packets from now on to ports that defer enqueueing.
    pub(crate) fn send_to_deferred(&mut self) {
        (self.mode, self.pending.due) = (PortMode::ToDeferred, Instant::ZERO);
    }

    /// Sends packets from now on, at a host, to the next port in epochs.
    pub(crate) fn use_epochs(&mut self) {
        (self.mode, self.pending.due) = (PortMode::Epochs, Instant::ZERO);
    }

    /// Returns to the mode `base`, if the port defers enqueueing or sends to ports that do.
    pub(crate) fn undefer(&mut self, base: PortMode) {
        if matches!(self.mode, PortMode::Deferred | PortMode::ToDeferred) {
            self.mode = base;
        }
    }

    /// Replaces the copies of queued packets by all packets that are queued or on the wire, with the times of their
    /// arrival, in order.
    pub(crate) fn take_back(
        &mut self,
        packet_pool: &mut PacketPool,
        packets: impl ExactSizeIterator<Item = (Instant, u32)>,
    ) {
        self.drop_until(packet_pool, NONE);
        let first_queued = packets.len() - self.waiting_packets as usize;
        for (index, (at, number)) in packets.enumerate() {
            self.line.push(packet_pool, number, |_| at);
            if index == first_queued {
                self.waiting = number;
            }
        }
    }

    /// Sets the port's clock, before any packet arrives.
    pub(crate) fn goes_by(&mut self, clock: Clock) {
        self.cold.get_or_insert_default().early.clock = clock;
    }

    /// Adds a pending arrival: the packet in slot `number`, of `size` bytes, which arrives by a link at a given time.
    #[inline(always)]
    pub(crate) fn expect(
        &mut self,
        packet_pool: &mut PacketPool,
        number: u32,
        by: LinkId,
        at: Instant,
        size: u16,
    ) -> Foresight {
        let turn = match self.pending.expect(packet_pool, number, by, at, self.any_early) {
            Some(turn) => turn,
            None => self.expect_early(number, by, at),
        };
        if turn == Turn::Later || !self.line.is_empty() {
            return Foresight::Nothing;
        }
        let arrives = self.passes(at, size);
        if turn == Turn::Only {
            self.pending.due = arrives;
            return Foresight::Arrives(arrives);
        }
        if arrives >= self.pending.due {
            return Foresight::Nothing;
        }
        Foresight::ArrivesEarlier { than: std::mem::replace(&mut self.pending.due, arrives), at: arrives }
    }

    #[inline(never)]
    fn expect_early(&mut self, number: u32, by: LinkId, at: Instant) -> Turn {
        self.any_early = true;
        self.pending.expect_early(&mut self.cold.get_or_insert_default().early, number, by, at)
    }

    /// Returns the time at which a packet of `size` bytes that arrives at `at` reaches the far end, if no other arrives
    /// before.
    #[inline(always)]
    fn passes(&self, at: Instant, size: u16) -> Instant {
        let start = self.busy_until.max(at);
        start.saturating_add(self.transmission.of(Bytes(size.into()))).saturating_add(self.delay)
    }

    /// Returns the time at which the first pending arrival can be at the far end, if there is one. The in-flight FIFO
    /// must be empty.
    #[inline(always)]
    pub(crate) fn arrives_next(&mut self, packet_pool: &PacketPool) -> Option<Instant> {
        let at = self.pending.first_at();
        if at == Instant::MAX {
            return None;
        }
        let size = packet_pool.at(self.first_on_its_way(packet_pool)).packet.size;
        self.pending.due = self.passes(at, size);
        Some(self.pending.due)
    }

    /// Returns the slot of the first pending arrival. There must be one.
    #[inline(always)]
    fn first_on_its_way(&self, packet_pool: &PacketPool) -> u32 {
        if self.any_early { self.first_of_both(packet_pool) } else { self.pending.first_in_order() }
    }

    #[inline(never)]
    fn first_of_both(&self, packet_pool: &PacketPool) -> u32 {
        self.cold.as_ref().map_or(NONE, |cold| self.pending.first(&cold.early, packet_pool))
    }

    /// Returns the slot of the packet that is probably next at the far end. There must be one in flight or pending.
    #[inline(always)]
    pub(crate) fn first_foreseen(&self, packet_pool: &PacketPool) -> u32 {
        let (first, expected) = (self.line.first(), self.pending.first_in_order());
        let number = select_unpredictable(first == NONE, expected, first);
        if number == NONE { self.first_of_both(packet_pool) } else { number }
    }

    /// Returns whether the next packet at the far end depends on arrivals since the port was last examined. It does if
    /// nothing is in flight, or if the first packet in flight counts as queued.
    #[inline(always)]
    pub(crate) fn must_catch_up(&self) -> bool {
        // Both may be none.
        self.line.first() == self.waiting
    }

    /// Returns the time of the first pending arrival; [`Instant::MAX`] if there is none.
    #[inline(always)]
    pub(crate) fn next_pending_at(&self) -> Instant {
        self.pending.first_at()
    }

    /// Takes the first pending arrival if it precedes an arrival at the end of a link at `at`. Returns its time and its
    /// slot.
    #[inline(always)]
    pub(crate) fn take_pending_before(
        &mut self,
        packet_pool: &PacketPool,
        at: Instant,
        link: LinkId,
    ) -> Option<(Instant, u32)> {
        let first_at = self.pending.first_at();
        let comes = first_at < at || first_at == at && self.ties_before(packet_pool, at, link);
        comes.then(|| self.take_pending(packet_pool))
    }

    /// Takes the first pending arrival; returns its time and its slot. There must be one.
    #[inline(always)]
    pub(crate) fn take_pending(&mut self, packet_pool: &PacketPool) -> (Instant, u32) {
        if self.any_early { self.take_of_both(packet_pool) } else { self.pending.take(packet_pool) }
    }

    #[inline(never)]
    fn take_of_both(&mut self, packet_pool: &PacketPool) -> (Instant, u32) {
        let early = &mut self.cold.get_or_insert_default().early;
        let taken = self.pending.take_of_both(early, packet_pool);
        self.any_early = early.len() > 0;
        taken
    }

    /// Returns whether the first pending arrival, at this instant, precedes another arrival of the same instant at the
    /// end of a link.
    #[cold]
    #[inline(never)]
    fn ties_before(&self, packet_pool: &PacketPool, at: Instant, link: LinkId) -> bool {
        let early = self.cold.as_ref().map(|cold| &cold.early);
        let (shown, rank, source) = self.pending.moment(early, packet_pool);
        let clock = early.map_or(Clock::HOSTS, |early| early.clock);
        (clock.time(Instant(shown)).0, rank, source) < events::arrival(at, link)
    }

    /// Returns the number of pending arrivals.
    pub(crate) fn num_pending(&self, packet_pool: &PacketPool) -> usize {
        self.pending.len_in_order(packet_pool) + self.cold.as_ref().map_or(0, |cold| cold.early.len())
    }

    /// Returns whether the pending packet in slot `number` arrives at the far end at `at` without having met another
    /// packet at the port. If so, it has been enqueued and transmitted, and nothing remains to be done for it. Other
    /// pending arrivals can be enqueued later.
    // One question with many parts, not one after the other: a processor would guess each of them wrong now and then.
    #[inline(always)]
    pub(crate) fn passes_alone(&mut self, packet_pool: &mut PacketPool, number: u32, at: Instant) -> bool {
        let slot = packet_pool.at(number);
        let size = Bytes(slot.packet.size.into());
        // If it had to wait, it would arrive later.
        let has_left = slot.at.saturating_add(self.transmission.of(size));
        let alone = (self.line.first() == NONE)
            & (self.pending.first_in_order() == number)
            & !self.any_early
            & (has_left.saturating_add(self.delay) == at)
            & !slot.packet.flags.has(Flags::EXTENDED);
        if alone {
            debug_assert!(!self.may_refuse(size));
            self.packets += 1;
            self.bytes += size.0;
            self.busy_until = has_left;
            // The packet is about to be read as a whole; that read would wait for a partial write just before.
            if slot.packet.wait_or_extension != 0 {
                packet_pool.packet_mut(number).wait_or_extension = 0;
            }
            self.pending.take(packet_pool);
        }
        alone
    }

    /// As [`offer`](Port::offer), for a pending arrival: its route already starts at the end of this link.
    #[inline(always)]
    pub(crate) fn enqueue_pending(&mut self, packet_pool: &mut PacketPool, at: Instant, number: u32) -> Fate {
        self.advance_to(packet_pool, at);
        self.accept(packet_pool, at, number, self.limit(), 0)
    }

    /// Returns whether a packet of `size` bytes may be dropped or marked although the queue is empty.
    fn may_refuse(&self, size: Bytes) -> bool {
        self.drop_unmarkable || [self.limit(), self.mark_above()].iter().any(|level| level.is_below(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::port::LinkRole;
    use transport::Packet;
    use units::{Rate, Span, Stream};

    fn fed() -> (Port, PacketPool) {
        let mut port = Port::new(Rate::from_gbps(1), Span::from_micros(20), LinkRole::SwitchToHost);
        port.defer();
        (port, PacketPool::default())
    }

    fn expect(port: &mut Port, packet_pool: &mut PacketPool, by: u32, micros: u64) -> (u32, Foresight) {
        let number = packet_pool.put(Packet { size: 1500, ..Packet::BLANK });
        (number, port.expect(packet_pool, number, LinkId(by), Instant::from_micros(micros), 1500))
    }

    /// The order is by link in the order of sending, and at one instant by ranks, which depend on the time by any
    /// clock. Packets that overtake others and simultaneous arrivals are included.
    #[test]
    fn packets_come_in_the_order_of_their_moments() {
        for seed in 0..20 {
            let mut stream = Stream::new(seed, "on their way", 0);
            let (mut port, mut packet_pool) = fed();
            let clock = if seed % 2 == 0 { Clock::HOSTS } else { Clock::HOSTS.less(Span::from_micros(1000)) };
            port.goes_by(clock);
            let moment = |at: Instant, by: LinkId| {
                let (_, rank, source) = events::arrival(clock.time(at), by);
                (at.0, rank, source)
            };
            let mut last_by = [0; 12];
            let (mut now, mut pending) = (2000, Vec::new());
            for sent in 0..2000 {
                let by = stream.below(12) as usize;
                let at = (now + 1 + stream.below(30)).max(last_by[by]);
                last_by[by] = at;
                let (number, _) = expect(&mut port, &mut packet_pool, by as u32, at);
                pending.push((moment(Instant::from_micros(at), LinkId(by as u32)), sent, number));
                if stream.below(4) > 0 {
                    continue;
                }
                now += stream.below(8);
                let (until, link) = (Instant::from_micros(now), LinkId(12 + stream.below(12) as u32));
                pending.sort_unstable();
                while let Some((at, number)) = port.take_pending_before(&packet_pool, until, link) {
                    let (moment, _, expected) = pending.remove(0);
                    assert_eq!((at.0, number), (moment.0, expected));
                    packet_pool.free(number);
                }
                assert_eq!(port.num_pending(&packet_pool), pending.len());
                let stays = |(at, rank, source)| at > until.0 || (at, rank, source) > events::arrival(until, link);
                assert!(pending.first().is_none_or(|(moment, ..)| stays(*moment)));
            }
        }
    }

    /// The second packet sent may be the first of two simultaneous arrivals. The port's next arrival is then predicted
    /// for the earlier end, and again for the other packet once the first is enqueued. A third packet, by the link of
    /// the second, follows it.
    #[test]
    fn of_two_that_come_together_either_may_be_first() {
        for (one, other) in [(1, 2), (2, 1)] {
            let (mut port, mut packet_pool) = fed();
            let (a, foresight) = expect(&mut port, &mut packet_pool, one, 50);
            // 12 us to send and 20 us to the far end.
            assert!(matches!(foresight, Foresight::Arrives(at) if at == Instant::from_micros(82)));
            let b = packet_pool.put(Packet { size: 125, ..Packet::BLANK });
            let foresight = port.expect(&mut packet_pool, b, LinkId(other), Instant::from_micros(50), 125);
            let Foresight::ArrivesEarlier { than, at } = foresight else { panic!("it may be there after 21 us") };
            assert_eq!([than, at], [82, 71].map(Instant::from_micros));
            let moment = |by| events::arrival(Instant::from_micros(50), LinkId(by));
            let one_is_first = moment(one) < moment(other);
            assert_eq!(port.take_pending(&packet_pool).1, if one_is_first { a } else { b });
            assert_eq!(port.first_foreseen(&packet_pool), if one_is_first { b } else { a });
            let (c, _) = expect(&mut port, &mut packet_pool, other, 50);
            let rest = if one_is_first { [b, c] } else { [c, a] };
            for number in rest {
                assert_eq!(port.first_on_its_way(&packet_pool), number);
                assert_eq!(port.take_pending(&packet_pool), (Instant::from_micros(50), number));
            }
            assert_eq!((port.next_pending_at(), port.num_pending(&packet_pool)), (Instant::MAX, 0));
        }
    }

    /// 12 us to send and 20 us to the far end. The second packet arrives 5 us after the first and is queued for 7 us.
    #[test]
    fn a_packet_passes_alone_if_it_meets_no_other() {
        let (mut port, mut packet_pool) = fed();
        let (first, _) = expect(&mut port, &mut packet_pool, 1, 50);
        let (second, _) = expect(&mut port, &mut packet_pool, 2, 55);
        packet_pool.packet_mut(first).wait_or_extension = 7;
        assert!(!port.passes_alone(&mut packet_pool, first, Instant::from_micros(81)), "it is not there yet");
        assert!(port.passes_alone(&mut packet_pool, first, Instant::from_micros(82)));
        assert_eq!(packet_pool.at(first).packet.wait_or_extension, 0, "it did not wait here");
        assert_eq!((port.packets, port.bytes, port.idle_at()), (1, 1500, Instant::from_micros(62)));
        // Nothing is in line.
        assert_eq!(port.arrives_next(&packet_pool), Some(Instant::from_micros(94)));
        assert!(!port.passes_alone(&mut packet_pool, second, Instant::from_micros(94)));
        let (at, number) = port.take_pending(&packet_pool);
        assert_eq!(port.enqueue_pending(&mut packet_pool, at, number), Fate::Queued);
        assert_eq!(packet_pool.at(second).packet.wait_or_extension, 7_000_000 / 1024);
        assert_eq!(packet_pool.at(second).at, Instant::from_micros(94));
    }
}
