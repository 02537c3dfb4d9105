//! `dwrr`: deficit weighted round robin over classes, first in, first out within each (Shreedhar and Varghese 1995).

use std::collections::VecDeque;

use transport::Packet;
use units::{Bytes, Default, Key, Kind, Range, Values};

use super::ring::Ring;
use super::{Descriptor, Queue};
use crate::fabric::level::Length;
use crate::fabric::packet_pool::Slot;

/// The discipline of deficit weighted round robin.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "dwrr",
    help: "deficit weighted round robin: queued classes share the link by the `weight` of each, in bytes, and none waits \
           while another has nothing to send; first in, first out within each",
    keys: KEYS,
    queue,
    by_class: true,
    at_hosts: false,
    built_in: false,
};

const KEYS: &[Key] = &[Key {
    name: "quantum",
    kind: Kind::Size,
    default: Default::Is("1500 B"),
    range: Range::between(256.0, 1e9),
    help: "with discipline dwrr: wire bytes that the class of the least weight may send in its turn; others in proportion \
           to their weights",
    source: "Shreedhar and Varghese 1995, 3.3: at least the largest packet, so that each turn sends one",
}];

fn queue(values: &Values, weights: &[f64]) -> Box<dyn Queue> {
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let share = |weight: &f64| Share::new(values.size("quantum"), weight / least);
    Box::new(Dwrr { shares: weights.iter().map(share).collect(), turns: VecDeque::new(), is_granted: false })
}

/// The queue of a class.
struct Share {
    ring: Ring,
    length: Length,
    /// Bytes that it may send in its turn.
    quantum: u64,
    /// Bytes that it may still send, in this turn and from turns before.
    deficit: u64,
}

impl Share {
    fn new(quantum: Bytes, times: f64) -> Share {
        let quantum = (quantum.as_f64() * times).round() as u64;
        Share { ring: Ring::default(), length: Length::default(), quantum, deficit: 0 }
    }
}

struct Dwrr {
    /// By rank; the last is for packets without one.
    shares: Box<[Share]>,
    /// The classes with queued packets; it is the turn of the first.
    turns: VecDeque<usize>,
    /// The first has received its quantum for this turn.
    is_granted: bool,
}

impl Dwrr {
    fn class(&self, packet: &Packet) -> usize {
        (packet.rank as usize).min(self.shares.len() - 1)
    }
}

impl Queue for Dwrr {
    fn push(&mut self, slot: Slot) {
        let class = self.class(&slot.packet);
        let Share { ring, length, .. } = &mut self.shares[class];
        if ring.is_empty() {
            self.turns.push_back(class);
        }
        length.packets += 1;
        length.bytes += u64::from(slot.packet.size);
        ring.push(slot);
    }

    fn pop(&mut self) -> Option<Slot> {
        loop {
            let class = *self.turns.front()?;
            let Share { ring, length, quantum, deficit } = &mut self.shares[class];
            if !std::mem::replace(&mut self.is_granted, true) {
                *deficit += *quantum;
            }
            let size = ring.iter().next().map(|slot| u64::from(slot.packet.size))?;
            if size > *deficit {
                self.is_granted = false;
                self.turns.rotate_left(1);
                continue;
            }
            *deficit -= size;
            length.packets -= 1;
            length.bytes -= size;
            let slot = ring.pop();
            if ring.is_empty() {
                ring.rewind();
                *deficit = 0;
                self.is_granted = false;
                self.turns.pop_front();
            }
            return Some(slot);
        }
    }

    fn push_out(&mut self, _arriving: &Packet) -> Option<Packet> {
        None
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.shares.iter().flat_map(|share| share.ring.iter().map(|slot| &slot.packet)))
    }

    fn length_of_class(&self, packet: &Packet) -> Length {
        self.shares[self.class(packet)].length
    }

    fn drain_of(&self, packet: &Packet) -> (usize, f64) {
        let class = self.class(packet);
        let sending = self.shares.iter().enumerate().filter(|(other, share)| *other == class || !share.ring.is_empty());
        let all: u64 = sending.map(|(_, share)| share.quantum).sum();
        (class, self.shares[class].quantum as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;
    use units::{Instant, Value};

    fn dwrr(quantum: u64, weights: &[f64]) -> Box<dyn Queue> {
        let mut values = Values::default();
        values.set("quantum", Value::Size(Bytes(quantum)));
        queue(&values, weights)
    }

    fn slot(number: u64, rank: u32, size: u16) -> Slot {
        let packet = Packet::data(number, u32::from(size) - 40, 40, Instant::ZERO, Flags::NONE);
        Slot { at: Instant::ZERO, packet: Packet { rank, ..packet } }
    }

    /// Sends `bytes` from a port whose classes always have packets of these sizes; returns the bytes of each.
    fn backlogged(mut queue: Box<dyn Queue>, sizes: &[u16], bytes: u64) -> Vec<f64> {
        let mut sent = vec![0; sizes.len()];
        for (rank, &size) in sizes.iter().enumerate() {
            (0..2).for_each(|number| queue.push(slot(number, rank as u32, size)));
        }
        while sent.iter().sum::<u64>() < bytes {
            let packet = queue.pop().expect("packets are queued").packet;
            sent[packet.rank as usize] += u64::from(packet.size);
            queue.push(slot(0, packet.rank, packet.size));
        }
        sent.iter().map(|&sent| sent as f64 / bytes as f64).collect()
    }

    /// In bytes, not in packets, and also where a quantum is less than a packet. A turn of each class is at most some
    /// 50 KB, a part in a thousand.
    #[test]
    fn backlogged_classes_share_by_weight_whatever_their_packets() {
        for (weights, sizes, quantum) in [
            (&[1.0, 1.0][..], &[1500, 64][..], 1500),
            (&[3.0, 1.0], &[576, 1500], 1500),
            (&[1.0, 3.0, 0.5], &[9000, 64, 1500], 1500),
            (&[7.0, 2.0, 1.0], &[1500, 9000, 200], 300),
        ] {
            let all: f64 = weights.iter().sum();
            let shares = backlogged(dwrr(quantum, weights), sizes, 50_000_000);
            for (share, weight) in shares.iter().zip(weights) {
                assert!((share / (weight / all) - 1.0).abs() < 0.01, "{weights:?} {sizes:?}: {shares:?}");
            }
        }
    }

    /// With 2:1 and a quantum of a packet, the first class sends two in each turn.
    #[test]
    fn turns_are_as_long_as_weights_and_each_class_keeps_its_order() {
        // Of the weights only their ratios count: the least has the quantum.
        let mut queue = dwrr(1500, &[0.5, 0.25, 0.25]);
        let ranks = [1, 0, 0, 0, 1, Packet::UNTAGGED, 0, 2];
        (0..).zip(ranks).for_each(|(number, rank)| queue.push(slot(number, rank, 1500)));
        assert_eq!(queue.packets().count(), 8);
        let length = |queue: &dyn Queue, rank| queue.length_of_class(&slot(9, rank, 40).packet);
        assert_eq!(length(&*queue, 0), Length { packets: 4, bytes: 6000 });
        assert_eq!(length(&*queue, Packet::UNTAGGED), Length { packets: 2, bytes: 3000 }, "and rank 2");
        assert_eq!(queue.drain_of(&slot(9, 1, 40).packet), (1, 0.25), "1 of 2 + 1 + 1");
        assert!(queue.push_out(&slot(9, 0, 40).packet).is_none());
        let sent: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|slot| slot.packet.seq).collect();
        assert_eq!(sent, [0, 1, 2, 5, 4, 3, 6, 7]);
        assert_eq!(length(&*queue, 0), Length::default());
        assert_eq!(queue.drain_of(&slot(9, 1, 40).packet), (1, 1.0), "no other class has packets");
    }

    /// A turn has its quantum and not a byte more, also after the queue was empty.
    #[test]
    fn a_turn_begins_with_nothing_saved() {
        let mut queue = dwrr(1500, &[1.0, 1.0]);
        let sent =
            |queue: &mut Box<dyn Queue>| std::iter::from_fn(|| queue.pop()).map(|slot| slot.packet.seq).collect();
        for _ in 0..2 {
            queue.push(slot(0, 0, 1501));
            queue.push(slot(1, 1, 1500));
            let order: Vec<u64> = sent(&mut queue);
            assert_eq!(order, [1, 0]);
        }
        // 1400 B of a turn are left when the queue is empty.
        queue.push(slot(0, 0, 100));
        queue.pop();
        [(1, 0), (2, 0), (3, 1)].into_iter().for_each(|(number, rank)| queue.push(slot(number, rank, 1400)));
        let order: Vec<u64> = sent(&mut queue);
        assert_eq!(order, [1, 3, 2]);
    }

    /// A class alone has the whole link, and its unused bytes are lost when its queue is empty.
    #[test]
    fn it_never_waits_for_a_class_without_packets_and_saves_nothing_for_it() {
        let mut queue = dwrr(1500, &[1.0, 1000.0]);
        (0..5).for_each(|number| queue.push(slot(number, 0, 1500)));
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 5);
        // One small packet leaves most of a turn of 1.5 MB unused.
        queue.push(slot(0, 1, 100));
        assert_eq!(queue.pop().map(|slot| slot.packet.rank), Some(1));
        let shares = backlogged(queue, &[1500, 1500], 3_003_000);
        assert!((shares[0] - 0.001).abs() < 0.0006, "{shares:?}");
    }
}
