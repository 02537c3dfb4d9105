//! A queue of packets that grows when it must and never gives memory back.

use transport::Packet;
use units::Instant;

/// A packet with the time of its arrival at the link's end.
#[derive(Clone, Copy)]
pub struct Slot {
    /// When it arrives.
    pub at: Instant,
    /// What arrives.
    pub packet: Packet,
}

/// A ring buffer; positions count up from zero, where they start again only when it is empty.
#[derive(Default)]
pub struct Ring {
    slots: Box<[Slot]>,
    head: u64,
    tail: u64,
}

impl Ring {
    /// Position of the first packet.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head
    }
    /// Position after the last packet.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// The packet at a position between head and tail.
    #[inline]
    pub fn at(&self, position: u64) -> &Slot {
        let mask = self.slots.len() as u64 - 1;
        &self.slots[(position & mask) as usize]
    }
    /// Starts again at position zero, so that a ring that was long once and is short now stays in the
    /// cache. It must be empty.
    #[inline]
    pub fn rewind(&mut self) {
        self.head = 0;
        self.tail = 0;
    }
    /// Makes room for one more packet, which the caller must write: whatever stood there before
    /// is in it. (Writing in place spares a copy of the packet through the stack, whose wide loads
    /// would stall on the narrow stores before them.)
    #[inline]
    pub fn push(&mut self) -> &mut Slot {
        if self.tail - self.head == self.slots.len() as u64 {
            self.grow();
        }
        let mask = self.slots.len() as u64 - 1;
        let position = (self.tail & mask) as usize;
        self.tail += 1;
        &mut self.slots[position]
    }
    /// Takes the first packet out, to where it is wanted, which spares a copy. There must be one. Gives the time of the
    /// one behind it.
    #[inline]
    pub fn take(&mut self, packet: &mut Packet) -> Option<Instant> {
        let behind = self.head + 1;
        let next = if behind == self.tail { None } else { Some(self.at(behind).at) };
        *packet = self.at(self.head).packet;
        self.head = behind;
        next
    }
    /// Takes the first packet out. There must be one.
    pub fn pop(&mut self) -> Packet {
        self.pop_slot().packet
    }
    /// As [`pop`](Ring::pop), with its time.
    pub fn pop_slot(&mut self) -> Slot {
        let slot = *self.at(self.head);
        self.head += 1;
        slot
    }
    /// Takes the last packet out. There must be one.
    pub fn pop_last(&mut self) -> Packet {
        self.tail -= 1;
        self.at(self.tail).packet
    }
    /// All packets, first to last.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        (self.head..self.tail).map(|position| self.at(position))
    }

    #[cold]
    fn grow(&mut self) {
        const BLANK: Slot = Slot { at: Instant::MAX, packet: Packet::BLANK };
        let mut slots = vec![BLANK; (self.slots.len() * 2).max(8)];
        let mask = slots.len() as u64 - 1;
        for position in self.head..self.tail {
            slots[(position & mask) as usize] = *self.at(position);
        }
        self.slots = slots.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;

    #[test]
    fn packets_come_out_in_order_while_it_grows() {
        let mut ring = Ring::default();
        let slot = |n| Slot { at: Instant(n), packet: Packet::data(n, 0, 40, Instant(n), Flags::NONE) };
        let mut expected = 0;
        for n in 0..1000 {
            *ring.push() = slot(n);
            if n % 3 == 0 {
                assert_eq!(ring.pop().seq, expected);
                expected += 1;
            }
        }
        assert!(ring.iter().map(|slot| slot.packet.seq).eq(expected..1000));
    }

    #[test]
    fn both_ends_give_what_stands_there() {
        let mut ring = Ring::default();
        let slot = |n| Slot { at: Instant(10 + n), packet: Packet::data(n, 0, 40, Instant(n), Flags::NONE) };
        // Not from the start of its memory on, and growing where head and tail have wrapped.
        for n in 0..6 {
            *ring.push() = slot(n);
            ring.pop();
        }
        for n in 0..9 {
            *ring.push() = slot(n);
        }
        assert_eq!((ring.head(), ring.tail(), ring.is_empty()), (6, 15, false));
        let first = ring.pop_slot();
        assert_eq!((first.at, first.packet.seq, ring.pop_last().seq), (Instant(10), 0, 8));
        assert!(ring.iter().map(|slot| slot.packet.seq).eq(1..8));
        assert_eq!(ring.at(ring.head()).at, Instant(11));
        (0..7).for_each(|_| _ = ring.pop());
        assert!(ring.is_empty());
        ring.rewind();
        assert_eq!((ring.head(), ring.tail()), (0, 0));
        *ring.push() = slot(77);
        assert_eq!(ring.pop().seq, 77);
    }

    #[test]
    fn it_grows_when_it_is_full_wherever_its_first_packet_stands() {
        let mut ring = Ring::default();
        let slot = |n| Slot { at: Instant(n), packet: Packet::data(n, 0, 40, Instant(n), Flags::NONE) };
        // One always stands there, so that head and tail are never equal.
        *ring.push() = slot(0);
        for n in 1..20 {
            *ring.push() = slot(n);
            ring.pop();
        }
        (20..40).for_each(|n| *ring.push() = slot(n));
        assert!(ring.iter().map(|slot| slot.packet.seq).eq(19..40));
    }
}
