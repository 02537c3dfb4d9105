//! `fifo`: first in, first out.

use transport::Packet;

use super::ring::Ring;
use super::{Descriptor, Queue};
use crate::fabric::packet_pool::Slot;

/// First in, first out.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "fifo",
    help: "first in, first out",
    keys: &[],
    queue: |_, _| Box::<Fifo>::default(),
    by_class: false,
    at_hosts: true,
    built_in: true,
};

/// The queue of ports whose marker must see departures, so that they cannot be first in, first out by themselves.
#[derive(Default)]
struct Fifo {
    ring: Ring,
}

impl Queue for Fifo {
    fn push(&mut self, slot: Slot) {
        self.ring.push(slot);
    }
    fn pop(&mut self) -> Option<Slot> {
        let slot = (!self.ring.is_empty()).then(|| self.ring.pop());
        if self.ring.is_empty() {
            self.ring.rewind();
        }
        slot
    }
    fn push_out(&mut self, _arriving: &Packet) -> Option<Packet> {
        None
    }
    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.ring.iter().map(|slot| &slot.packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;
    use units::{Instant, Values};

    #[test]
    fn packets_come_out_as_they_went_in_whatever_their_rank() {
        let mut queue = (DESCRIPTOR.queue)(&Values::default(), &[1.0; 3]);
        for (number, rank) in [5, 0, Packet::UNTAGGED].into_iter().enumerate() {
            let packet = Packet { rank, ..Packet::data(number as u64, 1460, 40, Instant::ZERO, Flags::NONE) };
            queue.push(Slot { at: Instant::ZERO, packet });
        }
        assert!(queue.push_out(&Packet::BLANK).is_none());
        assert_eq!(queue.packets().count(), 3);
        let out: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|slot| slot.packet.seq).collect();
        assert_eq!(out, [0, 1, 2]);
    }
}
