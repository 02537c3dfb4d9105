//! The headroom of shared buffers whose ports defer enqueueing.
//!
//! Such a port decides by its own packets alone, which is right while its buffer cannot be filled. So the run counts what
//! may still be sent until one could be. Then it finds the packets that are in each buffer or have it ahead of
//! them. What these leave is the new headroom, however many packets are in flight elsewhere.

use units::{Amount, Bytes};

use super::Net;
use super::plan::Plan;
use super::port::{Port, QdiscState};

/// The most packets in flight that are looked at for each full packet of new headroom. One takes about 30 instructions.
/// Deferral saves 100 for each hop of a packet, and most packets have four.
const LOOKS: i64 = 8;

/// The amount that may be sent until a shared buffer could be filled: in bytes, or in packets of equal weight.
pub(super) struct Headroom {
    left: i64,
    /// All bits set where packets count, so that all packets have the same weight; else zero.
    each: u16,
    /// Wire bytes of the largest packet.
    largest: u64,
    /// Some ports keep packets in their disciplines, outside the packet pool.
    disciplines: bool,
}

impl Headroom {
    /// The headroom where no buffer is shared.
    pub(super) const UNLIMITED: Headroom = Headroom { left: i64::MAX, each: 0, largest: 1, disciplines: false };

    /// Subtracts a packet of `size` wire bytes that is sent. Returns whether a buffer could now be filled.
    #[inline(always)]
    pub(super) fn spend(&mut self, size: u16) -> bool {
        self.left -= i64::from(size | self.each);
        self.left < 0
    }

    /// Stops counting, until new headroom is found.
    pub(super) fn suspend(&mut self) {
        self.left = i64::MAX;
    }

    /// Returns the weight of an amount of packets, or of bytes: as few packets as that may be.
    fn weight(&self, amount: Amount) -> i64 {
        let each = i64::from(self.each);
        let weight = match amount {
            Amount::Packets(packets) => packets as i64 * each,
            Amount::Bytes(bytes) if self.each == 0 => bytes as i64,
            Amount::Bytes(bytes) => (bytes / self.largest) as i64 * each,
        };
        weight.min(i64::MAX / 2)
    }

    /// Returns the weight of a packet of the largest size.
    fn of_largest(&self) -> i64 {
        if self.each == 0 { self.largest as i64 } else { i64::from(self.each) }
    }
}

impl Net {
    /// Begins to count sent packets, before anything is sent, until a shared buffer could be filled. Packets have up
    /// to `largest` wire bytes.
    pub(super) fn watch_headroom(&mut self, plan: &Plan, largest: Bytes) {
        let in_packets = self.shared_buffers.iter().any(|buffer| matches!(buffer.unfilled(), Amount::Packets(_)));
        let mut headroom = Headroom {
            left: 0,
            each: if in_packets { u16::MAX } else { 0 },
            largest: largest.0.max(1),
            disciplines: plan.ports.iter().any(|port| port.chooses()),
        };
        let unfilled = self.shared_buffers.iter().map(|buffer| headroom.weight(buffer.unfilled()));
        headroom.left = unfilled.min().unwrap_or(i64::MAX);
        self.headroom = headroom;
    }

    /// Finds new headroom. Returns whether there is enough to defer enqueueing further.
    pub(super) fn renew_headroom(&mut self) -> bool {
        let choosing = if self.headroom.disciplines { self.ports.len() } else { 0 };
        let in_disciplines = self.ports.iter().take(choosing).filter_map(Port::choice).flat_map(QdiscState::packets);
        let mut used = vec![(0, 0); self.shared_buffers.len()];
        let mut in_flight = 0;
        for packet in self.packet_pool.packets().chain(in_disciplines) {
            in_flight += 1;
            // It may be in the queue of the port before its next one.
            for link in self.router.rest(packet.route - 1) {
                if let Some(buffer) = self.base_modes[link.index()].buffer() {
                    let (packets, bytes) = &mut used[buffer.index()];
                    *packets += 1;
                    *bytes += u64::from(packet.size);
                }
            }
        }
        let left = self.shared_buffers.iter().zip(used).map(|(buffer, (packets, bytes))| {
            let left = match buffer.unfilled() {
                Amount::Packets(most) => most.checked_sub(packets).map(Amount::Packets),
                Amount::Bytes(most) => most.checked_sub(bytes).map(Amount::Bytes),
            };
            left.map_or(-1, |left| self.headroom.weight(left))
        });
        self.headroom.left = left.min().unwrap_or(i64::MAX);
        self.headroom.left >= 0 && self.headroom.left / self.headroom.of_largest() * LOOKS >= in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{full, shared_leaves};
    use super::*;
    use crate::schedule::events::Event;
    use units::Span;

    /// Sends full packets between these hosts. Returns after each whether a buffer could be filled: if so, whether
    /// deferral continues, and the full packets of new headroom.
    fn send<const N: usize>(net: &mut Net, pairs: [(u32, u32); N]) -> [Option<(bool, i64)>; N] {
        pairs.map(|pair| {
            let packet = full(net, pair, 0);
            net.send(packet);
            let pressed = net.events.pop(net.now + Span(1)).map(|(_, event)| event);
            assert!(matches!(pressed, None | Some(Event::Pressure)));
            pressed.map(|_| (net.renew_headroom(), net.headroom.left.div_euclid(net.headroom.of_largest())))
        })
    }

    /// Hosts 0 and 1 are at one leaf, 2 and 3 at another. A buffer of ten packets, or of 15 001 bytes, is not filled by
    /// four.
    #[test]
    fn only_packets_that_a_buffer_has_or_awaits_count() {
        for buffer in [Amount::Packets(10), Amount::Bytes(15_001)] {
            let mut net = shared_leaves(2, 4, buffer);
            let (left, right, across) = ((0, 1), (2, 3), (0, 3));
            assert_eq!(send(&mut net, [left, right, left, right]), [None; 4], "four are too few anywhere");
            // Three at the left leaf, two at the right: one more may be sent.
            assert_eq!(send(&mut net, [left, right]), [Some((true, 1)), None], "{buffer:?}");
            // One that counts at both, each of which has three others.
            assert_eq!(send(&mut net, [across]), [Some((false, 0))], "{buffer:?}");
            assert_eq!(send(&mut net, [right]), [Some((false, -1))], "{buffer:?}");
        }
    }

    /// As few packets as a weight in bytes can be: full ones.
    #[test]
    fn where_some_buffers_count_packets_bytes_count_as_full_packets() {
        let headroom = Headroom { each: u16::MAX, largest: 1500, ..Headroom::UNLIMITED };
        for (bytes, packets) in [(1499, 0), (1500, 1), (4499, 2)] {
            assert_eq!(headroom.weight(Amount::Bytes(bytes)), headroom.weight(Amount::Packets(packets)));
        }
        let mut headroom = Headroom { left: headroom.weight(Amount::Packets(2)), ..headroom };
        assert_eq!([40, 9000, 40].map(|size| headroom.spend(size)), [false, false, true]);
        let mut headroom = Headroom { left: 3000, each: 0, ..headroom };
        assert_eq!([1500, 1460, 40, 1].map(|size| headroom.spend(size)), [false, false, false, true]);
        assert_eq!(headroom.weight(Amount::Bytes(1499)), 1499);
    }
}
