//! Packets that will come to switches, by when.
//!
//! A ring of slots of equal time, each a list of packets that is threaded through the store: nearly always of one or none. So
//! what comes in a window is in order as it is taken, and nothing of it was compared with anything.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use units::{Instant, LinkId, Span, Table};

use crate::event;
use crate::port::store::{NONE, Store};
use crate::topology::Clock;

/// Packets on their way to switches of one tier.
pub struct Calendar {
    /// The number of the last packet that was put into each slot.
    last: Box<[u32; SLOTS]>,
    /// One bit for each slot that is not empty.
    occupied: [u64; SLOTS / 64],
    /// A slot spans 2^shift ps.
    shift: u32,
    /// The first slot that may be occupied, counted from time zero; the last is less than a turn of the ring behind it.
    first: u64,
    /// What the ring has no place for: when it comes, in which order it was put here, and its number.
    apart: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    put_apart: u64,
    packets: u64,
}

const SLOTS: usize = 2048;

/// A window of time.
pub struct Window<'clocks> {
    /// It ends when the clocks at the ends of links show this.
    pub until: Instant,
    /// What comes later than at this time is not in it.
    pub by: Instant,
    /// By link: the clock at its end.
    pub clocks: &'clocks Table<LinkId, Clock>,
}

impl Calendar {
    /// For packets that nearly all come within this time from the last that was taken.
    pub fn new(ahead: Span) -> Calendar {
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

    /// How many are on their way.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The packet in the slot of the store of this number comes by a link when the clock there shows this.
    #[inline(always)]
    pub fn expect(&mut self, store: &mut Store, number: u32, by: LinkId, at: Instant) {
        self.packets += 1;
        let behind = self.put(number, at);
        store.comes_before(number, by, at, behind);
    }

    /// Gives the number of the packet that was put into its slot before, if there is one.
    #[inline(always)]
    fn put(&mut self, number: u32, at: Instant) -> u32 {
        let turn = at.0 >> self.shift;
        // Wraps for those before the first.
        if turn.wrapping_sub(self.first) >= SLOTS as u64 {
            self.put_apart(number, at);
            return NONE;
        }
        let slot = turn as usize % SLOTS;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        mem::replace(&mut self.last[slot], number)
    }

    #[cold]
    fn put_back(&mut self, store: &mut Store, number: u32) {
        let behind = self.put(number, store.at(number).at);
        store.put_before(number, behind);
    }

    #[cold]
    fn put_apart(&mut self, number: u32, at: Instant) {
        self.put_apart += 1;
        self.apart.push(Reverse((at, self.put_apart, number)));
    }

    /// Takes what comes in a window: gives the numbers in the order in which they come; at one instant in that of their ranks,
    /// by one link in that in which they were sent.
    pub fn take(&mut self, store: &mut Store, window: &Window, due: &mut Vec<u32>) {
        let end = window.until.0 >> self.shift;
        let mut turn = self.first;
        while turn <= end && turn < self.first + SLOTS as u64 {
            let (word, from) = (turn as usize % SLOTS / 64, turn % 64);
            let these = (64 - from).min(end - turn + 1);
            let mut bits = self.occupied[word] & (u64::MAX >> (64 - these)) << from;
            self.occupied[word] &= !bits;
            while bits != 0 {
                self.empty(word * 64 + bits.trailing_zeros() as usize, store, window, due);
                bits &= bits - 1;
            }
            turn += these;
        }
        self.first = self.first.max(end);
        // The last slot goes on behind the window. Where that ends by a time, others may have been taken too early.
        let of_last = due.iter().rev().take_while(|number| store.at(**number).at.0 >> self.shift == end).count();
        let from = if window.by == Instant::MAX { due.len() - of_last } else { 0 };
        if due[from..].iter().any(|number| !window.has(store, *number)) {
            let early: Vec<u32> = due.extract_if(from.., |number| !window.has(store, *number)).collect();
            early.into_iter().for_each(|number| self.put_back(store, number));
        }
        if !self.apart.is_empty() {
            self.take_apart(store, window, due);
        }
        self.packets -= due.len() as u64;
    }

    /// Takes what is in a slot.
    #[inline(always)]
    fn empty(&mut self, slot: usize, store: &Store, window: &Window, due: &mut Vec<u32>) {
        let number = mem::replace(&mut self.last[slot], NONE);
        let behind = store.behind(number).1;
        due.push(number);
        if behind != NONE {
            self.empty_several(behind, store, window, due);
        }
    }

    /// As [`empty`](Calendar::empty), of those behind the first, which was taken.
    fn empty_several(&mut self, behind: u32, store: &Store, window: &Window, due: &mut Vec<u32>) {
        let (begin, mut number) = (due.len() - 1, behind);
        while number != NONE {
            due.push(number);
            number = store.behind(number).1;
        }
        due[begin..].reverse();
        window.put_in_order(&mut due[begin..], store);
    }

    /// As [`take`](Calendar::take), of what the ring had no place for. What it has a place for now goes there.
    #[cold]
    fn take_apart(&mut self, store: &mut Store, window: &Window, due: &mut Vec<u32>) {
        let before = due.len();
        let mut stays = Vec::new();
        while let Some(&Reverse((at, _, number))) = self.apart.peek()
            && at.0 >> self.shift < self.first + SLOTS as u64
        {
            self.apart.pop();
            if window.has(store, number) { due.push(number) } else { stays.push(number) }
        }
        if due.len() > before {
            window.put_in_order(due, store);
        }
        stays.into_iter().for_each(|number| self.put_back(store, number));
    }

    /// The first slot up to this one that is occupied.
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

    /// What the clocks show when the first comes.
    pub fn next_at(&self, store: &Store) -> Instant {
        let mut first = self.apart.peek().map_or(Instant::MAX, |Reverse((at, ..))| *at);
        if let Some(turn) = self.occupied_by(u64::MAX) {
            let mut number = self.last[turn as usize % SLOTS];
            while number != NONE {
                first = first.min(store.at(number).at);
                number = store.behind(number).1;
            }
        }
        first
    }
}

impl Window<'_> {
    /// Whether a packet on its way comes in the window.
    fn has(&self, store: &Store, number: u32) -> bool {
        let at = store.at(number).at;
        at <= self.until && (self.by == Instant::MAX || self.clocks[store.by(number)].time(at) <= self.by)
    }

    /// In the order in which they come, where those by one link are in the order in which they were sent.
    #[inline(never)]
    fn put_in_order(&self, numbers: &mut [u32], store: &Store) {
        let at = |number: &u32| store.at(*number).at;
        numbers.sort_by_key(at);
        let together = numbers.chunk_by_mut(|one, other| at(one) == at(other)).filter(|together| together.len() > 1);
        let moment = |number: &u32| {
            let by = store.by(*number);
            event::arrival(self.clocks[by].time(at(number)), by)
        };
        together.for_each(|together| together.sort_by_key(moment));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Packet;
    use units::Stream;

    /// Random packets come in the order of (time, rank), by one link in the order in which they were sent; those of which the
    /// clock is behind only when it is time.
    #[test]
    fn packets_come_in_order() {
        for ahead in [Span(600), Span(5_000), Span(100_000)] {
            let mut stream = Stream::new(1, "calendar", ahead.0);
            let (mut store, mut calendar) = (Store::default(), Calendar::new(ahead));
            let clocks: Table<LinkId, Clock> = (0..6).map(|link| Clock::HOSTS.and(Span(link % 2 * 70))).collect();
            let mut pending: Vec<(u64, (u64, u64), u64, u32)> = Vec::new();
            let (mut now, mut sent, mut due) = (0, 0, Vec::new());
            for _ in 0..3_000 {
                for _ in 0..stream.below(12) {
                    let spread = [3, 300, 3_000, 40_000][stream.below(4) as usize];
                    let (by, at) = (LinkId(stream.below(6) as u32), now + 1 + stream.below(spread));
                    let number = store.put(Packet::BLANK);
                    calendar.expect(&mut store, number, by, Instant(at));
                    let (time, rank, _) = event::arrival(clocks[by].time(Instant(at)), by);
                    sent += 1;
                    pending.push((at, (time, rank), sent, number));
                }
                pending.sort_unstable();
                assert_eq!(calendar.next_at(&store).0, pending.first().map_or(u64::MAX, |first| first.0));
                assert_eq!(calendar.packets(), pending.len() as u64);
                let until = now + stream.below(2_000);
                let by = if stream.below(4) == 0 { until } else { u64::MAX };
                let window = Window { until: Instant(until), by: Instant(by), clocks: &clocks };
                calendar.take(&mut store, &window, &mut due);
                let is_due = |(at, (time, _), ..): &mut (u64, (u64, u64), u64, u32)| *at <= until && *time <= by;
                let expected: Vec<u32> = pending.extract_if(.., is_due).map(|(.., number)| number).collect();
                assert_eq!(due, expected);
                due.drain(..).for_each(|number| store.leave(number));
                // What is late by its clock comes later, but nothing new before it.
                now = until;
            }
        }
    }
}
