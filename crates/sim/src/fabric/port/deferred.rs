//! Deferred enqueue at a port: pending arrivals are enqueued when the port is next examined, in the order and as of the
//! times of their arrival.

use std::hint::select_unpredictable;

use transport::Flags;
use units::{Bytes, Instant, LinkId};

use crate::fabric::level::Length;
use super::pending::Turn;
use super::{Fate, Port, PortMode};
use crate::fabric::packet_pool::{NONE, Store};
use crate::schedule::events;
use crate::topology::Clock;

/// The event to schedule for a new pending arrival.
pub enum Foresight {
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
    pub fn is_fed(&mut self) {
        self.mode = PortMode::Deferred;
    }

    /// Sends all packets from now on to ports that defer enqueueing.
    pub fn feeds(&mut self) {
        (self.mode, self.inlet.due) = (PortMode::Feeding, Instant::ZERO);
    }

    /// Sends packets from now on, at a host, to the next port in epochs.
    pub fn goes_by_windows(&mut self) {
        (self.mode, self.inlet.due) = (PortMode::Epochs, Instant::ZERO);
    }

    /// Neither defers enqueueing nor sends to ports that do.
    pub fn is_plain(&mut self) {
        if matches!(self.mode, PortMode::Deferred | PortMode::Feeding) {
            self.mode = PortMode::Own;
        }
    }

    /// Replaces the copies of queued packets by all packets that are queued or on the wire, with the times of their
    /// arrival, in order.
    pub fn take_back(&mut self, store: &mut Store, packets: impl ExactSizeIterator<Item = (Instant, u32)>) {
        self.drop_until(store, NONE);
        let first_queued = packets.len() - self.waiting_packets as usize;
        for (index, (at, number)) in packets.enumerate() {
            self.line.push(store, number, |_| at);
            if index == first_queued {
                self.waiting = number;
            }
        }
    }

    /// Sets the port's clock, before any packet arrives.
    pub fn goes_by(&mut self, clock: Clock) {
        self.beside.get_or_insert_default().early.clock = clock;
    }

    /// Adds a pending arrival: the packet in slot `number`, of `size` bytes, which arrives by a link at a given time.
    #[inline(always)]
    pub fn expect(&mut self, store: &mut Store, number: u32, by: LinkId, (at, size): (Instant, u16)) -> Foresight {
        let turn = match self.inlet.expect(store, number, by, (at, self.any_early)) {
            Some(turn) => turn,
            None => self.expect_early(number, by, at),
        };
        if turn == Turn::Later || !self.line.is_empty() {
            return Foresight::Nothing;
        }
        let arrives = self.passes(at, size);
        if turn == Turn::Only {
            self.inlet.due = arrives;
            return Foresight::Arrives(arrives);
        }
        if arrives >= self.inlet.due {
            return Foresight::Nothing;
        }
        Foresight::ArrivesEarlier { than: std::mem::replace(&mut self.inlet.due, arrives), at: arrives }
    }

    #[inline(never)]
    fn expect_early(&mut self, number: u32, by: LinkId, at: Instant) -> Turn {
        self.any_early = true;
        self.inlet.expect_early(&mut self.beside.get_or_insert_default().early, number, by, at)
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
    pub fn arrives_next(&mut self, store: &Store) -> Option<Instant> {
        let at = self.inlet.first_at();
        if at == Instant::MAX {
            return None;
        }
        let size = store.at(self.first_on_its_way(store)).packet.size;
        self.inlet.due = self.passes(at, size);
        Some(self.inlet.due)
    }

    /// Returns the slot of the first pending arrival. There must be one.
    #[inline(always)]
    fn first_on_its_way(&self, store: &Store) -> u32 {
        if self.any_early { self.first_of_both(store) } else { self.inlet.first_in_order() }
    }

    #[inline(never)]
    fn first_of_both(&self, store: &Store) -> u32 {
        self.beside.as_ref().map_or(NONE, |beside| self.inlet.first(&beside.early, store))
    }

    /// Returns the slot of the packet that is probably next at the far end. There must be one in flight or pending.
    #[inline(always)]
    pub fn first_foreseen(&self, store: &Store) -> u32 {
        let (first, expected) = (self.line.first(), self.inlet.first_in_order());
        let number = select_unpredictable(first == NONE, expected, first);
        if number == NONE { self.first_of_both(store) } else { number }
    }

    /// Returns whether the next packet at the far end depends on arrivals since the port was last examined. It does if
    /// nothing is in flight, or if the first packet in flight counts as queued.
    #[inline(always)]
    pub fn must_catch_up(&self) -> bool {
        // Both may be none.
        self.line.first() == self.waiting
    }

    /// Returns the time of the first pending arrival; [`Instant::MAX`] if there is none.
    #[inline(always)]
    pub fn expects_at(&self) -> Instant {
        self.inlet.first_at()
    }

    /// Takes the first pending arrival if it precedes an arrival at the end of a link at `at`. Returns its time and its
    /// slot.
    #[inline(always)]
    pub fn take_expected_before(&mut self, store: &Store, at: Instant, link: LinkId) -> Option<(Instant, u32)> {
        let first_at = self.inlet.first_at();
        let comes = first_at < at || first_at == at && self.ties_before(store, at, link);
        comes.then(|| self.take_expected(store))
    }

    /// Takes the first pending arrival; returns its time and its slot. There must be one.
    #[inline(always)]
    pub fn take_expected(&mut self, store: &Store) -> (Instant, u32) {
        if self.any_early { self.take_of_both(store) } else { self.inlet.take(store) }
    }

    #[inline(never)]
    fn take_of_both(&mut self, store: &Store) -> (Instant, u32) {
        let early = &mut self.beside.get_or_insert_default().early;
        let taken = self.inlet.take_of_both(early, store);
        self.any_early = early.len() > 0;
        taken
    }

    /// Returns whether the first pending arrival, at this instant, precedes another arrival of the same instant at the
    /// end of a link.
    #[cold]
    #[inline(never)]
    fn ties_before(&self, store: &Store, at: Instant, link: LinkId) -> bool {
        let early = self.beside.as_ref().map(|beside| &beside.early);
        let (shown, rank, source) = self.inlet.moment(early, store);
        let clock = early.map_or(Clock::HOSTS, |early| early.clock);
        (clock.time(Instant(shown)).0, rank, source) < events::arrival(at, link)
    }

    /// Returns the number of pending arrivals.
    pub fn on_their_way(&self, store: &Store) -> usize {
        self.inlet.len_in_order(store) + self.beside.as_ref().map_or(0, |beside| beside.early.len())
    }

    /// Returns whether the pending packet in slot `number` arrives at the far end at `at` without having met another
    /// packet at the port. If so, it has been enqueued and transmitted, and nothing remains to be done for it. Other
    /// pending arrivals can be enqueued later.
    // One question with many parts, not one after the other: a processor would guess each of them wrong now and then.
    #[inline(always)]
    pub fn passes_alone(&mut self, store: &mut Store, number: u32, at: Instant) -> bool {
        let slot = store.at(number);
        let size = Bytes(slot.packet.size.into());
        // If it had to wait, it would arrive later.
        let has_left = slot.at.saturating_add(self.transmission.of(size));
        let alone = (self.line.first() == NONE)
            & (self.inlet.first_in_order() == number)
            & !self.any_early
            & (has_left.saturating_add(self.delay) == at)
            & !slot.packet.flags.has(Flags::EXTENDED);
        if alone {
            debug_assert!(!self.minds_one(size));
            self.packets += 1;
            self.bytes += size.0;
            self.busy_until = has_left;
            // The packet is about to be read as a whole; that read would wait for a partial write just before.
            if slot.packet.wait_or_extension != 0 {
                store.packet_mut(number).wait_or_extension = 0;
            }
            self.inlet.take(store);
        }
        alone
    }

    /// As [`offer`](Port::offer), for a pending arrival: its route already starts at the end of this link.
    #[inline(always)]
    pub fn let_in(&mut self, store: &mut Store, at: Instant, number: u32) -> Fate {
        self.settle(store, at);
        self.accept(store, at, number, self.limit(), 0)
    }

    /// Returns whether a packet of `size` bytes may be dropped or marked although the queue is empty.
    pub fn minds_one(&self, size: Bytes) -> bool {
        let alone = Length { packets: 1, bytes: size.0 };
        self.drop_unmarkable || self.limit().exceeded(alone) || self.mark_above().exceeded(alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::port::Place;
    use transport::Packet;
    use units::{Rate, Span, Stream};

    fn fed() -> (Port, Store) {
        let mut port = Port::new(Rate::from_gbps(1), Span::from_micros(20), Place::SwitchToHost);
        port.is_fed();
        (port, Store::default())
    }

    fn expect(port: &mut Port, store: &mut Store, by: u32, micros: u64) -> (u32, Foresight) {
        let number = store.put(Packet { size: 1500, ..Packet::BLANK });
        (number, port.expect(store, number, LinkId(by), (Instant::from_micros(micros), 1500)))
    }

    /// The order is by link in the order of sending, and at one instant by ranks, which depend on the time by any
    /// clock. Packets that overtake others and simultaneous arrivals are included.
    #[test]
    fn packets_come_in_the_order_of_their_moments() {
        for seed in 0..20 {
            let mut stream = Stream::new(seed, "on their way", 0);
            let (mut port, mut store) = fed();
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
                let (number, _) = expect(&mut port, &mut store, by as u32, at);
                pending.push((moment(Instant::from_micros(at), LinkId(by as u32)), sent, number));
                if stream.below(4) > 0 {
                    continue;
                }
                now += stream.below(8);
                let (until, link) = (Instant::from_micros(now), LinkId(12 + stream.below(12) as u32));
                pending.sort_unstable();
                while let Some((at, number)) = port.take_expected_before(&store, until, link) {
                    let (moment, _, expected) = pending.remove(0);
                    assert_eq!((at.0, number), (moment.0, expected));
                    store.leave(number);
                }
                assert_eq!(port.on_their_way(&store), pending.len());
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
            let (mut port, mut store) = fed();
            let (a, foresight) = expect(&mut port, &mut store, one, 50);
            // 12 us to send and 20 us to the far end.
            assert!(matches!(foresight, Foresight::Arrives(at) if at == Instant::from_micros(82)));
            let b = store.put(Packet { size: 125, ..Packet::BLANK });
            let foresight = port.expect(&mut store, b, LinkId(other), (Instant::from_micros(50), 125));
            let Foresight::ArrivesEarlier { than, at } = foresight else { panic!("it may be there after 21 us") };
            assert_eq!([than, at], [82, 71].map(Instant::from_micros));
            let moment = |by| events::arrival(Instant::from_micros(50), LinkId(by));
            let one_is_first = moment(one) < moment(other);
            assert_eq!(port.take_expected(&store).1, if one_is_first { a } else { b });
            assert_eq!(port.first_foreseen(&store), if one_is_first { b } else { a });
            let (c, _) = expect(&mut port, &mut store, other, 50);
            let rest = if one_is_first { [b, c] } else { [c, a] };
            for number in rest {
                assert_eq!(port.first_on_its_way(&store), number);
                assert_eq!(port.take_expected(&store), (Instant::from_micros(50), number));
            }
            assert_eq!((port.expects_at(), port.on_their_way(&store)), (Instant::MAX, 0));
        }
    }

    /// 12 us to send and 20 us to the far end. The second packet arrives 5 us after the first and is queued for 7 us.
    #[test]
    fn a_packet_passes_alone_if_it_meets_no_other() {
        let (mut port, mut store) = fed();
        let (first, _) = expect(&mut port, &mut store, 1, 50);
        let (second, _) = expect(&mut port, &mut store, 2, 55);
        store.packet_mut(first).wait_or_extension = 7;
        assert!(!port.passes_alone(&mut store, first, Instant::from_micros(81)), "it is not there yet");
        assert!(port.passes_alone(&mut store, first, Instant::from_micros(82)));
        assert_eq!(store.at(first).packet.wait_or_extension, 0, "it did not wait here");
        assert_eq!((port.packets, port.bytes, port.idle_at()), (1, 1500, Instant::from_micros(62)));
        // Nothing is in line.
        assert_eq!(port.arrives_next(&store), Some(Instant::from_micros(94)));
        assert!(!port.passes_alone(&mut store, second, Instant::from_micros(94)));
        let (at, number) = port.take_expected(&store);
        assert_eq!(port.let_in(&mut store, at, number), Fate::Queued);
        assert_eq!(store.at(second).packet.wait_or_extension, 7_000_000 / 1024);
        assert_eq!(store.at(second).at, Instant::from_micros(94));
    }
}
