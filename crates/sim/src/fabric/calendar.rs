//! Calendar of the packets that will arrive at switches.
//!
//! A ring of slots of equal time, each a list of packets threaded through the packet pool: nearly always of one packet
//! or none. So the arrivals of an epoch are in order as they are taken, without comparisons.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use units::{Instant, LinkId, Span, Table};

use crate::fabric::packet_pool::{NONE, PacketPool};
use crate::schedule::events;
use crate::topology::Clock;

/// Pending arrivals at the switches of one tier.
pub(super) struct Calendar {
    /// The last packet put into each slot, by its number in the packet pool.
    last: Box<[u32; SLOTS]>,
    /// One bit for each slot that is not empty.
    occupied: [u64; SLOTS / 64],
    /// A slot spans 2^shift ps.
    shift: u32,
    /// The first slot that may be occupied, counted from time zero. The last is less than a turn of the ring later.
    first: u64,
    /// Arrivals outside the ring: time, order of insertion, and number in the packet pool.
    apart: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    put_apart: u64,
    packets: u64,
}

const SLOTS: usize = 2048;

/// An epoch: the span of time whose arrivals are taken together.
pub(super) struct Epoch<'clocks> {
    /// Its end, as shown by the clocks at the ends of links.
    pub until: Instant,
    /// Later arrivals are not part of it.
    pub by: Instant,
    /// The clock at the end of each link.
    pub clocks: &'clocks Table<LinkId, Clock>,
}

impl Calendar {
    /// Returns a calendar for packets nearly all of which arrive within `ahead` after the last packet taken.
    pub(super) fn new(ahead: Span) -> Calendar {
        Calendar {
            last: Box::new([NONE; SLOTS]),
            occupied: [0; SLOTS / 64],
            shift: u64::BITS - (ahead.0 / SLOTS as u64).leading_zeros(),
            first: 0,
            apart: BinaryHeap::new(),
            put_apart: 0,
            packets: 0,
        }
    }

    /// Returns the number of pending arrivals.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Adds the packet `number` of the pool, which arrives by a link when the clock there shows `at`.
    #[inline(always)]
    pub(super) fn expect(&mut self, packet_pool: &mut PacketPool, number: u32, by: LinkId, at: Instant) {
        self.packets += 1;
        let behind = self.put(number, at);
        packet_pool.comes_before(number, by, at, behind);
    }

    /// Puts a packet into its slot; returns the number of the packet put there before, if there is one.
    #[inline(always)]
    fn put(&mut self, number: u32, at: Instant) -> u32 {
        let turn = at.0 >> self.shift;
        // Wraps for slots before the first.
        if turn.wrapping_sub(self.first) >= SLOTS as u64 {
            self.put_apart(number, at);
            return NONE;
        }
        let slot = turn as usize % SLOTS;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        mem::replace(&mut self.last[slot], number)
    }

    #[cold]
    fn put_back(&mut self, packet_pool: &mut PacketPool, number: u32) {
        let behind = self.put(number, packet_pool.at(number).at);
        packet_pool.put_before(number, behind);
    }

    #[cold]
    fn put_apart(&mut self, number: u32, at: Instant) {
        self.put_apart += 1;
        self.apart.push(Reverse((at, self.put_apart, number)));
    }

    /// Takes the arrivals of an epoch: appends their numbers to `due` in order of time. At one instant the order is by
    /// rank; by one link, the order of sending.
    pub(super) fn take(&mut self, packet_pool: &mut PacketPool, epoch: &Epoch, due: &mut Vec<u32>) {
        let end = epoch.until.0 >> self.shift;
        let mut turn = self.first;
        while turn <= end && turn < self.first + SLOTS as u64 {
            let (word, from) = (turn as usize % SLOTS / 64, turn % 64);
            let these = (64 - from).min(end - turn + 1);
            let mut bits = self.occupied[word] & (u64::MAX >> (64 - these)) << from;
            self.occupied[word] &= !bits;
            while bits != 0 {
                self.empty(word * 64 + bits.trailing_zeros() as usize, packet_pool, epoch, due);
                bits &= bits - 1;
            }
            turn += these;
        }
        self.first = self.first.max(end);
        // The last slot extends beyond the epoch. Where the epoch also ends by a time, other packets may have been
        // taken too early.
        let of_last = due.iter().rev().take_while(|number| packet_pool.at(**number).at.0 >> self.shift == end).count();
        let from = if epoch.by == Instant::MAX { due.len() - of_last } else { 0 };
        if due[from..].iter().any(|number| !epoch.has(packet_pool, *number)) {
            let early: Vec<u32> = due.extract_if(from.., |number| !epoch.has(packet_pool, *number)).collect();
            early.into_iter().for_each(|number| self.put_back(packet_pool, number));
        }
        if !self.apart.is_empty() {
            self.take_apart(packet_pool, epoch, due);
        }
        self.packets -= due.len() as u64;
    }

    /// Takes the packets of a slot.
    #[inline(always)]
    fn empty(&mut self, slot: usize, packet_pool: &PacketPool, epoch: &Epoch, due: &mut Vec<u32>) {
        let number = mem::replace(&mut self.last[slot], NONE);
        let behind = packet_pool.behind(number).1;
        due.push(number);
        if behind != NONE {
            self.empty_several(behind, packet_pool, epoch, due);
        }
    }

    /// As [`empty`](Calendar::empty), for the packets behind the first, which was taken.
    fn empty_several(&mut self, behind: u32, packet_pool: &PacketPool, epoch: &Epoch, due: &mut Vec<u32>) {
        let (begin, mut number) = (due.len() - 1, behind);
        while number != NONE {
            due.push(number);
            number = packet_pool.behind(number).1;
        }
        due[begin..].reverse();
        epoch.put_in_order(&mut due[begin..], packet_pool);
    }

    /// As [`take`](Calendar::take), for arrivals outside the ring. Packets for which the ring has a slot now are moved
    /// there.
    #[cold]
    fn take_apart(&mut self, packet_pool: &mut PacketPool, epoch: &Epoch, due: &mut Vec<u32>) {
        let before = due.len();
        let mut stays = Vec::new();
        while let Some(&Reverse((at, _, number))) = self.apart.peek()
            && at.0 >> self.shift < self.first + SLOTS as u64
        {
            self.apart.pop();
            if epoch.has(packet_pool, number) { due.push(number) } else { stays.push(number) }
        }
        if due.len() > before {
            epoch.put_in_order(due, packet_pool);
        }
        stays.into_iter().for_each(|number| self.put_back(packet_pool, number));
    }

    /// Returns the first occupied slot up to `end`.
    #[inline(always)]
    fn occupied_by(&self, end: u64) -> Option<u64> {
        let mut turn = self.first;
        while turn <= end && turn < self.first + SLOTS as u64 {
            let slot = turn as usize % SLOTS;
            let bits = self.occupied[slot / 64] >> (slot % 64);
            if bits != 0 {
                return Some(turn + u64::from(bits.trailing_zeros())).filter(|turn| *turn <= end);
            }
            turn += 64 - (slot % 64) as u64;
        }
        None
    }

    /// Returns the time of the first arrival, as the clock there shows it.
    pub(super) fn next_at(&self, packet_pool: &PacketPool) -> Instant {
        let mut first = self.apart.peek().map_or(Instant::MAX, |Reverse((at, ..))| *at);
        if let Some(turn) = self.occupied_by(u64::MAX) {
            let mut number = self.last[turn as usize % SLOTS];
            while number != NONE {
                first = first.min(packet_pool.at(number).at);
                number = packet_pool.behind(number).1;
            }
        }
        first
    }
}

impl Epoch<'_> {
    /// Returns whether a pending packet arrives in the epoch.
    fn has(&self, packet_pool: &PacketPool, number: u32) -> bool {
        let at = packet_pool.at(number).at;
        at <= self.until && (self.by == Instant::MAX || self.clocks[packet_pool.by(number)].time(at) <= self.by)
    }

    /// Sorts packets into the order of arrival. Packets by one link must be in the order of sending.
    #[inline(never)]
    fn put_in_order(&self, numbers: &mut [u32], packet_pool: &PacketPool) {
        let at = |number: &u32| packet_pool.at(*number).at;
        numbers.sort_by_key(at);
        let together = numbers.chunk_by_mut(|one, other| at(one) == at(other)).filter(|together| together.len() > 1);
        let moment = |number: &u32| {
            let by = packet_pool.by(*number);
            events::arrival(self.clocks[by].time(at(number)), by)
        };
        together.for_each(|together| together.sort_by_key(moment));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Packet;
    use units::Stream;

    /// Random packets are taken in the order of (time, rank), by one link in the order of sending. Packets at a clock
    /// that is behind are taken only when they are due.
    #[test]
    fn packets_come_in_order() {
        for ahead in [Span(600), Span(5_000), Span(100_000)] {
            let mut stream = Stream::new(1, "calendar", ahead.0);
            let (mut packet_pool, mut calendar) = (PacketPool::default(), Calendar::new(ahead));
            let clocks: Table<LinkId, Clock> = (0..6).map(|link| Clock::HOSTS.and(Span(link % 2 * 70))).collect();
            let mut pending: Vec<(u64, (u64, u64), u64, u32)> = Vec::new();
            let (mut now, mut sent, mut due) = (0, 0, Vec::new());
            for _ in 0..3_000 {
                for _ in 0..stream.below(12) {
                    let spread = [3, 300, 3_000, 40_000][stream.below(4) as usize];
                    let (by, at) = (LinkId(stream.below(6) as u32), now + 1 + stream.below(spread));
                    let number = packet_pool.put(Packet::BLANK);
                    calendar.expect(&mut packet_pool, number, by, Instant(at));
                    let (time, rank, _) = events::arrival(clocks[by].time(Instant(at)), by);
                    sent += 1;
                    pending.push((at, (time, rank), sent, number));
                }
                pending.sort_unstable();
                assert_eq!(calendar.next_at(&packet_pool).0, pending.first().map_or(u64::MAX, |first| first.0));
                assert_eq!(calendar.packets(), pending.len() as u64);
                let until = now + stream.below(2_000);
                let by = if stream.below(4) == 0 { until } else { u64::MAX };
                let epoch = Epoch { until: Instant(until), by: Instant(by), clocks: &clocks };
                calendar.take(&mut packet_pool, &epoch, &mut due);
                let is_due = |(at, (time, _), ..): &mut (u64, (u64, u64), u64, u32)| *at <= until && *time <= by;
                let expected: Vec<u32> = pending.extract_if(.., is_due).map(|(.., number)| number).collect();
                assert_eq!(due, expected);
                due.drain(..).for_each(|number| packet_pool.free(number));
                // Packets at a clock that is behind are taken later, but no new one before them.
                now = until;
            }
        }
    }
}
