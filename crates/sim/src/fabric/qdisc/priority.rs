//! `priority`: strict priorities, first in, first out within each.

use transport::Packet;
use units::{Default, Key, Kind, Range, Values};

use super::ring::Ring;
use super::{Descriptor, Queue};
use crate::fabric::packet_pool::Slot;

/// The discipline of strict priorities.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "priority",
    help: "strict priorities without preemption; first in, first out within each",
    keys: KEYS,
    queue,
    by_class: false,
    at_hosts: false,
    built_in: false,
};

const KEYS: &[Key] = &[
    Key {
        name: "untagged",
        kind: Kind::Choice(&["lowest", "highest"]),
        default: Default::Is("lowest"),
        range: Range::ANY,
        help: "with discipline priority: the queue of packets that have no priority, as those of other transports \
               beside tcppr",
        source: "lowest: unmarked packets are best effort (RFC 2474 4.1); no paper mixes them",
    },
    Key {
        name: "when_full",
        kind: Kind::Choice(&["drop-arriving", "push-out"]),
        default: Default::Is("drop-arriving"),
        range: Range::ANY,
        help: "with discipline priority: a full port drops the packet that arrives, or the last one of the lowest \
               class below it",
        source: "open in D3 6.1.1, whose TCPpr it is for; drop-arriving: common switches drop at the tail of what a \
                 port may hold",
    },
];

fn queue(values: &Values, weights: &[f64]) -> Box<dyn Queue> {
    let levels = weights.len() as u8;
    Box::new(Priority {
        untagged: if values.choice("untagged") == "highest" { 0 } else { levels - 1 },
        pushes_out: values.choice("when_full") == "push-out",
        levels: (0..levels).map(|_| Ring::default()).collect(),
        occupied: 0,
    })
}

struct Priority {
    /// One queue for each priority, the first served first.
    levels: Box<[Ring]>,
    /// One bit for each priority with queued packets.
    occupied: u64,
    /// The priority of packets without one.
    untagged: u8,
    pushes_out: bool,
}

impl Priority {
    fn level(&self, packet: &Packet) -> usize {
        let lowest = self.levels.len() - 1;
        match packet.rank {
            Packet::UNTAGGED => usize::from(self.untagged),
            rank => lowest.min(rank as usize),
        }
    }

    /// Updates the state of a priority after a packet was removed.
    fn taken(&mut self, level: usize) {
        if self.levels[level].is_empty() {
            self.levels[level].rewind();
            self.occupied &= !(1 << level);
        }
    }
}

impl Queue for Priority {
    fn push(&mut self, slot: Slot) {
        let level = self.level(&slot.packet);
        self.levels[level].push(slot);
        self.occupied |= 1 << level;
    }

    fn pop(&mut self) -> Option<Slot> {
        if self.occupied == 0 {
            return None;
        }
        let level = self.occupied.trailing_zeros() as usize;
        let slot = self.levels[level].pop();
        self.taken(level);
        Some(slot)
    }

    fn push_out(&mut self, arriving: &Packet) -> Option<Packet> {
        if !self.pushes_out || self.occupied == 0 {
            return None;
        }
        let lowest = self.occupied.ilog2() as usize;
        if lowest <= self.level(arriving) {
            return None;
        }
        let packet = self.levels[lowest].pop_last().packet;
        self.taken(lowest);
        Some(packet)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.levels.iter().flat_map(|ring| ring.iter().map(|slot| &slot.packet)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;
    use units::{Instant, Value};

    fn three_levels(untagged: &'static str, when_full: &'static str) -> Box<dyn Queue> {
        let mut values = Values::default();
        values.set("untagged", Value::Choice(untagged));
        values.set("when_full", Value::Choice(when_full));
        queue(&values, &[1.0; 3])
    }

    fn packet(number: u64, rank: u32) -> Packet {
        Packet { rank, ..Packet::data(number, 1460, 40, Instant::ZERO, Flags::NONE) }
    }

    fn fill(queue: &mut dyn Queue, ranks: &[u32]) {
        for (number, &rank) in ranks.iter().enumerate() {
            queue.push(Slot { at: Instant::ZERO, packet: packet(number as u64, rank) });
        }
    }

    fn drain(queue: &mut dyn Queue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop()).map(|slot| slot.packet.seq).collect()
    }

    #[test]
    fn lower_numbers_go_first_and_each_in_order() {
        let mut queue = three_levels("lowest", "drop-arriving");
        fill(&mut *queue, &[2, 0, 1, Packet::UNTAGGED, 0, 9, 2]);
        assert_eq!(queue.packets().count(), 7);
        assert_eq!(drain(&mut *queue), [1, 4, 2, 0, 3, 5, 6]);
        assert!(queue.pop().is_none());
    }

    #[test]
    fn untagged_packets_can_be_the_highest() {
        let mut queue = three_levels("highest", "drop-arriving");
        fill(&mut *queue, &[1, Packet::UNTAGGED, 0]);
        assert_eq!(drain(&mut *queue), [1, 2, 0]);
    }

    #[test]
    fn only_what_is_lower_is_pushed_out_and_the_last_of_it_first() {
        let mut queue = three_levels("lowest", "push-out");
        fill(&mut *queue, &[1, 2, 2, 1]);
        let mut out = |rank| queue.push_out(&packet(9, rank)).map(|packet| packet.seq);
        assert_eq!([out(0), out(1), out(1), out(2)], [Some(2), Some(1), None, None]);
        assert_eq!(out(0), Some(3));
        assert_eq!(drain(&mut *queue), [0]);
        let mut queue = three_levels("lowest", "drop-arriving");
        fill(&mut *queue, &[2]);
        assert!(queue.push_out(&packet(9, 0)).is_none());
    }
}
