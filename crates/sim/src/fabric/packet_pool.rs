//! A packet pool for all ports of a world.
//!
//! A run may have thousands of ports, most of which hold a packet for a moment now and then. If each had its own
//! memory, that would have left the cache before each use. A packet keeps its slot in the pool from when it is sent
//! until it is delivered or lost, across the in-flight FIFOs of all ports on its route. A new packet reuses the slot
//! freed last. So the memory in use corresponds to the number of packets at one time.

use transport::Packet;
use units::{Instant, LinkId};

/// A packet with the time of its arrival at the link's end.
#[derive(Clone, Copy)]
pub struct Slot {
    /// Arrival time of the packet.
    pub at: Instant,
    /// The packet that arrives.
    pub packet: Packet,
}

/// The slots of all ports of a world. It grows when necessary and never shrinks.
pub(crate) struct PacketPool {
    cells: Vec<Cell>,
    /// The slot freed last, which is used next; it links to the one freed before.
    free: u32,
}

/// A slot, with the number of the next one and the time there, so that taking a packet reads no other slot: a cache
/// line.
#[derive(Clone)]
#[repr(align(64))]
struct Cell {
    slot: Slot,
    behind_at: Instant,
    behind: u32,
    /// The link by which a pending arrival arrives.
    by: LinkId,
}

/// The number of no slot.
pub(crate) const NONE: u32 = u32::MAX;

impl Default for PacketPool {
    fn default() -> PacketPool {
        PacketPool { cells: Vec::new(), free: NONE }
    }
}

impl PacketPool {
    /// Returns the slot of this number.
    #[inline]
    pub(crate) fn at(&self, number: u32) -> &Slot {
        &self.cells[number as usize].slot
    }

    /// Returns the slot of this number, and the number of the next one, which need not exist.
    #[inline]
    pub(crate) fn at_and_behind(&self, number: u32) -> (&Slot, u32) {
        let cell = &self.cells[number as usize];
        (&cell.slot, cell.behind)
    }

    /// Returns the packet in the slot of this number, to be changed.
    #[inline]
    pub(crate) fn packet_mut(&mut self, number: u32) -> &mut Packet {
        &mut self.cells[number as usize].slot.packet
    }

    /// Puts a packet into a free slot and returns its number. Inlined where packets are created, so that they are
    /// written in place: a copy through the stack would stall its wide loads on the narrow stores before them.
    #[inline(always)]
    pub(crate) fn put(&mut self, packet: Packet) -> u32 {
        if self.free as usize >= self.cells.len() {
            self.grow();
        }
        let number = self.free;
        let cell = &mut self.cells[number as usize];
        self.free = cell.behind;
        cell.slot.packet = packet;
        number
    }

    /// Returns all packets, in the order of their slots.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let mut is_free = vec![false; self.cells.len()];
        let mut next = self.free;
        while let Some(cell) = self.cells.get(next as usize) {
            is_free[next as usize] = true;
            next = cell.behind;
        }
        let of_use = self.cells.iter().zip(is_free).filter(|(_, is_free)| !is_free);
        of_use.map(|(cell, _)| &cell.slot.packet)
    }

    /// Moves a packet out into `packet`, which saves another copy.
    #[inline]
    pub(crate) fn take(&mut self, number: u32, packet: &mut Packet) {
        *packet = self.cells[number as usize].slot.packet;
        self.free(number);
    }

    /// Frees the slot of this number.
    #[inline]
    pub(crate) fn free(&mut self, number: u32) {
        self.cells[number as usize].behind = self.free;
        self.free = number;
    }

    /// Links a packet that arrives by a link at `at` behind the last pending arrival of a port. Returns false if it
    /// arrives before that one, or at the same time by another link.
    #[inline(always)]
    pub(crate) fn follows(&mut self, last: u32, number: u32, by: LinkId, at: Instant) -> bool {
        let last = &mut self.cells[last as usize];
        let follows = at > last.slot.at || at == last.slot.at && by == last.by;
        if follows {
            (last.behind, last.behind_at) = (number, at);
        }
        follows
    }

    /// Records that the packet in this slot is a pending arrival by a link at `at`, with none behind it.
    #[inline(always)]
    pub(crate) fn comes(&mut self, number: u32, by: LinkId, at: Instant) {
        let cell = &mut self.cells[number as usize];
        (cell.slot.at, cell.by, cell.behind, cell.behind_at) = (at, by, NONE, Instant::MAX);
    }

    /// As [`comes`](PacketPool::comes), with another packet behind it, or none.
    #[inline(always)]
    pub(crate) fn comes_before(&mut self, number: u32, by: LinkId, at: Instant, behind: u32) {
        let cell = &mut self.cells[number as usize];
        (cell.slot.at, cell.by, cell.behind) = (at, by, behind);
    }

    /// Links another packet, or none, behind the one in this slot.
    #[inline(always)]
    pub(crate) fn put_before(&mut self, number: u32, behind: u32) {
        self.cells[number as usize].behind = behind;
    }

    /// Returns the link by which a pending arrival arrives.
    pub(crate) fn by(&self, number: u32) -> LinkId {
        self.cells[number as usize].by
    }

    /// Returns the arrival time and the slot of the packet behind a pending arrival; [`Instant::MAX`] and [`NONE`] if
    /// there is none.
    #[inline(always)]
    pub(crate) fn behind(&self, number: u32) -> (Instant, u32) {
        let cell = &self.cells[number as usize];
        (cell.behind_at, cell.behind)
    }

    /// Doubles the pool, in which no slot is free.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let (filled, room) = (self.cells.len() as u32, (self.cells.len() * 2).max(64) as u32);
        assert!(room > filled, "a world holds less than 2^32 packets");
        let blank = Slot { at: Instant::MAX, packet: Packet::BLANK };
        self.cells.extend((filled + 1..=room).map(|behind| Cell {
            slot: blank,
            behind_at: Instant::MAX,
            behind,
            by: LinkId(0),
        }));
        self.cells[room as usize - 1].behind = NONE;
        self.free = filled;
    }
}

/// The in-flight FIFO of one port: packets in a [`PacketPool`], linked in their order.
pub(crate) struct InFlight {
    /// The number of the first slot, or [`NONE`].
    first: u32,
    /// The number of the last slot, if there is a first.
    last: u32,
}

impl Default for InFlight {
    fn default() -> InFlight {
        InFlight { first: NONE, last: NONE }
    }
}

impl InFlight {
    /// Returns whether there is no packet.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }
    /// Returns the number of the first slot. There must be one.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }
    /// Returns the number of the last slot. There must be one.
    #[inline]
    pub(crate) fn last(&self) -> u32 {
        self.last
    }
    /// Appends the packet in slot `number`. It arrives at the time that `at` returns, given the arrival time of the
    /// packet before it.
    #[inline]
    pub(crate) fn push(
        &mut self,
        packet_pool: &mut PacketPool,
        number: u32,
        at: impl FnOnce(Option<Instant>) -> Instant,
    ) {
        let time;
        if self.is_empty() {
            self.first = number;
            time = at(None);
        } else {
            let last = &mut packet_pool.cells[self.last as usize];
            time = at(Some(last.slot.at));
            (last.behind, last.behind_at) = (number, time);
        }
        self.last = number;
        let cell = &mut packet_pool.cells[number as usize];
        cell.slot.at = time;
        cell.behind = NONE;
    }
    /// Removes the first packet, of this number, without freeing its slot. Returns the arrival time of the next packet.
    #[inline]
    pub(crate) fn pop(&mut self, packet_pool: &PacketPool, number: u32) -> Option<Instant> {
        debug_assert_eq!(number, self.first);
        let cell = &packet_pool.cells[number as usize];
        self.first = cell.behind;
        (self.first != NONE).then_some(cell.behind_at)
    }
    /// Returns all packets, first to last.
    pub(crate) fn iter<'packet_pool>(
        &self,
        packet_pool: &'packet_pool PacketPool,
    ) -> impl Iterator<Item = &'packet_pool Slot> + use<'packet_pool> {
        let mut next = self.first;
        std::iter::from_fn(move || {
            let (slot, behind) = (next != NONE).then(|| packet_pool.at_and_behind(next))?;
            next = behind;
            Some(slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;

    fn push(line: &mut InFlight, packet_pool: &mut PacketPool, n: u64) {
        let number = packet_pool.put(Packet::data(n, 0, 40, Instant(n), Flags::NONE));
        line.push(packet_pool, number, |_| Instant(10 + n));
    }

    fn take(line: &mut InFlight, packet_pool: &mut PacketPool) -> (u64, Option<Instant>) {
        let mut packet = Packet::BLANK;
        let number = line.first();
        let behind = line.pop(packet_pool, number);
        packet_pool.take(number, &mut packet);
        (packet.seq, behind)
    }

    fn all(line: &InFlight, packet_pool: &PacketPool) -> Vec<u64> {
        line.iter(packet_pool).map(|slot| slot.packet.seq).collect()
    }

    #[test]
    fn a_slot_takes_a_cache_line() {
        assert_eq!((size_of::<Cell>(), size_of::<InFlight>()), (64, 8));
    }

    #[test]
    fn packets_come_out_in_order_with_the_time_of_the_next_one() {
        let (mut packet_pool, mut line) = (PacketPool::default(), InFlight::default());
        assert!(line.is_empty());
        (0..3).for_each(|n| push(&mut line, &mut packet_pool, n));
        assert_eq!(all(&line, &packet_pool), [0, 1, 2]);
        assert_eq!((packet_pool.at(line.first()).at, packet_pool.at(line.last()).at), (Instant(10), Instant(12)));
        assert_eq!(take(&mut line, &mut packet_pool), (0, Some(Instant(11))));
        assert_eq!(take(&mut line, &mut packet_pool), (1, Some(Instant(12))));
        assert_eq!(take(&mut line, &mut packet_pool), (2, None));
        assert!(line.is_empty() && all(&line, &packet_pool).is_empty());
        push(&mut line, &mut packet_pool, 7);
        assert_eq!(take(&mut line, &mut packet_pool), (7, None));
    }

    /// 64 slots, then 128: the 65th packet is added while both ports have some.
    #[test]
    fn packets_of_two_ports_keep_apart_and_in_order_while_the_store_grows() {
        let (mut packet_pool, mut lines) = (PacketPool::default(), [InFlight::default(), InFlight::default()]);
        let (mut expected, mut most) = ([0, 1], 0);
        for n in 0..1000 {
            push(&mut lines[n as usize % 2], &mut packet_pool, n);
            if n % 3 == 0 {
                let port = n as usize / 3 % 2;
                assert_eq!(take(&mut lines[port], &mut packet_pool).0, expected[port]);
                expected[port] += 2;
            }
            let held: usize = lines.iter().map(|line| line.iter(&packet_pool).count()).sum();
            most = held.max(most);
            assert!(
                packet_pool.cells.len() <= (2 * most).max(64),
                "{} slots for {most} packets",
                packet_pool.cells.len()
            );
        }
        for (line, first) in lines.iter().zip(expected) {
            assert!(all(line, &packet_pool).into_iter().eq((first..1000).step_by(2)));
        }
    }

    /// Slots 0, 1, 2 and 3 hold packets 0 to 3 of two ports.
    #[test]
    fn the_slot_that_was_left_last_is_taken_first() {
        let (mut packet_pool, mut one, mut other) = (PacketPool::default(), InFlight::default(), InFlight::default());
        for n in [0, 1] {
            push(&mut one, &mut packet_pool, n);
        }
        for n in [2, 3] {
            push(&mut other, &mut packet_pool, n);
        }
        assert_eq!([one.first(), one.last(), other.first(), other.last()], [0, 1, 2, 3]);
        take(&mut one, &mut packet_pool);
        take(&mut other, &mut packet_pool);
        let number = one.first();
        one.pop(&packet_pool, number);
        packet_pool.free(number);
        assert!(one.is_empty());
        // Left were 0, 2 and 1.
        let taken = [4, 5, 6, 7].map(|n| {
            push(&mut one, &mut packet_pool, n);
            one.last()
        });
        assert_eq!(taken, [1, 2, 0, 4]);
        assert_eq!((all(&one, &packet_pool), all(&other, &packet_pool)), (vec![4, 5, 6, 7], vec![3]));
    }
}
