//! A queue of packets that grows when necessary and never shrinks.

use transport::Packet;
use units::Instant;

use crate::fabric::packet_pool::Slot;

/// A ring buffer. Positions count up from zero, and restart there only when it is empty.
#[derive(Default)]
pub(super) struct Ring {
    slots: Box<[Slot]>,
    head: u64,
    tail: u64,
}

impl Ring {
    /// Returns whether there is no packet.
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// Restarts at position zero, so that a ring that was long before and is short now stays in the cache. It must be
    /// empty.
    pub(super) fn rewind(&mut self) {
        self.head = 0;
        self.tail = 0;
    }
    /// Appends a packet at the end.
    pub(super) fn push(&mut self, slot: Slot) {
        if self.tail - self.head == self.slots.len() as u64 {
            self.grow();
        }
        let place = self.place(self.tail);
        self.slots[place] = slot;
        self.tail += 1;
    }
    /// Removes the first packet. There must be one.
    pub(super) fn pop(&mut self) -> Slot {
        self.head += 1;
        self.slots[self.place(self.head - 1)]
    }
    /// Removes the last packet. There must be one.
    pub(super) fn pop_last(&mut self) -> Slot {
        self.tail -= 1;
        self.slots[self.place(self.tail)]
    }
    /// Returns all packets, first to last.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        (self.head..self.tail).map(|position| &self.slots[self.place(position)])
    }

    /// Returns the index of a position in the memory.
    fn place(&self, position: u64) -> usize {
        (position & (self.slots.len() as u64 - 1)) as usize
    }

    #[cold]
    fn grow(&mut self) {
        const BLANK: Slot = Slot { at: Instant::MAX, packet: Packet::BLANK };
        let mut slots = vec![BLANK; (self.slots.len() * 2).max(8)];
        let mask = slots.len() as u64 - 1;
        for (position, slot) in (self.head..).zip(self.iter()) {
            slots[(position & mask) as usize] = *slot;
        }
        self.slots = slots.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;

    fn slot(n: u64) -> Slot {
        Slot { at: Instant(10 + n), packet: Packet::data(n, 0, 40, Instant(n), Flags::NONE) }
    }

    fn all(ring: &Ring) -> impl Iterator<Item = u64> {
        ring.iter().map(|slot| slot.packet.seq)
    }

    #[test]
    fn packets_come_out_in_order_while_it_grows() {
        let mut ring = Ring::default();
        let mut expected = 0;
        for n in 0..1000 {
            ring.push(slot(n));
            if n % 3 == 0 {
                assert_eq!(ring.pop().packet.seq, expected);
                expected += 1;
            }
        }
        assert!(all(&ring).eq(expected..1000));
    }

    #[test]
    fn both_ends_give_what_stands_there() {
        let mut ring = Ring::default();
        // Starts in the middle of its memory, and grows after head and tail have wrapped.
        for n in 0..6 {
            ring.push(slot(n));
            ring.pop();
        }
        (0..9).for_each(|n| ring.push(slot(n)));
        assert_eq!((ring.head, ring.tail, ring.is_empty()), (6, 15, false));
        let first = ring.pop();
        assert_eq!((first.at, first.packet.seq, ring.pop_last().packet.seq), (Instant(10), 0, 8));
        assert!(all(&ring).eq(1..8));
        (0..7).for_each(|_| _ = ring.pop());
        assert!(ring.is_empty());
        ring.rewind();
        assert_eq!((ring.head, ring.tail), (0, 0));
        ring.push(slot(77));
        assert_eq!(ring.pop().packet.seq, 77);
    }

    #[test]
    fn it_grows_when_it_is_full_wherever_its_first_packet_stands() {
        let mut ring = Ring::default();
        // One packet always stays in it, so that head and tail are never equal.
        ring.push(slot(0));
        for n in 1..20 {
            ring.push(slot(n));
            ring.pop();
        }
        (20..40).for_each(|n| ring.push(slot(n)));
        assert!(all(&ring).eq(19..40));
    }
}
