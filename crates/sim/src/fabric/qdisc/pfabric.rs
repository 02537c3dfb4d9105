//! `pfabric`: sends the most urgent flow's earliest packet first and drops the least urgent packet (pFabric 4.1).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use transport::{Flags, Packet};

use super::{Descriptor, Queue};
use crate::fabric::packet_pool::Slot;
use crate::flow::Incarnation;

/// The queueing discipline of pFabric.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "pfabric",
    help: "the earliest packet of the flow that has the most urgent packet, and a full port drops the least urgent one",
    keys: &[],
    queue: |_, _| Box::<Pfabric>::default(),
    by_class: false,
    at_hosts: true,
    built_in: false,
};

/// Queued packets, in the order of each flow and by urgency.
#[derive(Default)]
struct Pfabric {
    /// The packets of each flow in the order of arrival, each with its number among all arrivals.
    flows: BTreeMap<Incarnation, VecDeque<(u64, Slot)>>,
    /// Rank and number of every packet: the most urgent first, and the earliest of equal ones.
    ranks: BTreeSet<(u32, u64, Incarnation)>,
    came: u64,
}

impl Pfabric {
    /// Acknowledgements are sent first. Otherwise the acknowledgements of a long flow would wait behind all data that
    /// their host sends.
    fn rank(packet: &Packet) -> u32 {
        if packet.flags.has(Flags::ACK) { 0 } else { packet.rank }
    }

    /// Removes a packet of a flow, given its position in the flow's queue.
    fn take(&mut self, flow: Incarnation, place: usize) -> Option<Slot> {
        let queue = self.flows.get_mut(&flow)?;
        let (number, slot) = queue.remove(place)?;
        if queue.is_empty() {
            self.flows.remove(&flow);
        }
        self.ranks.remove(&(Pfabric::rank(&slot.packet), number, flow));
        Some(slot)
    }
}

impl Queue for Pfabric {
    fn push(&mut self, slot: Slot) {
        let flow = Incarnation::of(&slot.packet);
        self.ranks.insert((Pfabric::rank(&slot.packet), self.came, flow));
        self.flows.entry(flow).or_default().push_back((self.came, slot));
        self.came += 1;
    }

    fn pop(&mut self) -> Option<Slot> {
        let &(.., flow) = self.ranks.first()?;
        self.take(flow, 0)
    }

    fn push_out(&mut self, arriving: &Packet) -> Option<Packet> {
        let &(rank, number, flow) = self.ranks.last()?;
        if rank <= Pfabric::rank(arriving) {
            return None;
        }
        let place = self.flows[&flow].binary_search_by_key(&number, |&(number, _)| number).ok()?;
        self.take(flow, place).map(|slot| slot.packet)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.flows.values().flatten().map(|(_, slot)| &slot.packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::ConnectionId;
    use units::Instant;

    fn packet(flow: u32, number: u64, rank: u32) -> Packet {
        let data = Packet::data(number, 1460, 40, Instant::ZERO, Flags::NONE);
        Packet { rank, connection: ConnectionId(flow), ..data }
    }

    fn with(packets: &[(u32, u64, u32)]) -> Pfabric {
        let mut queue = Pfabric::default();
        for &(flow, number, rank) in packets {
            queue.push(Slot { at: Instant::ZERO, packet: packet(flow, number, rank) });
        }
        queue
    }

    fn drain(queue: &mut Pfabric) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| queue.pop()).map(|slot| (slot.packet.connection.0, slot.packet.seq)).collect()
    }

    #[test]
    fn the_earliest_packet_of_the_most_urgent_flow_goes_first() {
        // Flow 1 is closest to its end, but its first packets, sent when more was left, are still queued. They are sent
        // before its most urgent one, or it would starve behind flow 2 (4.1, "starvation prevention").
        let mut queue = with(&[(1, 0, 90), (2, 0, 50), (1, 1, 80), (2, 1, 40), (1, 2, 10)]);
        assert_eq!(queue.packets().count(), 5);
        assert_eq!(drain(&mut queue), [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]);
        assert!(queue.pop().is_none() && queue.flows.is_empty() && queue.ranks.is_empty());
    }

    #[test]
    fn of_equal_ones_the_first_that_came_is_sent() {
        let mut queue = with(&[(3, 0, 7), (1, 0, 7), (2, 0, Packet::UNTAGGED), (1, 1, 7)]);
        assert_eq!(drain(&mut queue), [(3, 0), (1, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn acknowledgements_come_first_and_are_not_pushed_out() {
        let mut queue = with(&[(1, 0, 1), (2, 0, 9)]);
        let ack = Packet { rank: 5000, ..Packet::ack(7, 40, Instant::ZERO, Flags::NONE) };
        queue.push(Slot { at: Instant::ZERO, packet: Packet { connection: ConnectionId(3), ..ack } });
        assert!(queue.push_out(&packet(9, 0, 9)).is_none());
        assert_eq!(queue.push_out(&ack).map(|packet| packet.connection.0), Some(2));
        assert_eq!(drain(&mut queue), [(3, 7), (1, 0)]);
    }

    #[test]
    fn the_least_urgent_packet_makes_room_and_the_arriving_one_if_it_is_no_better() {
        let mut queue = with(&[(1, 0, 30), (2, 0, 60), (1, 1, 20), (2, 1, 60), (3, 0, 10)]);
        let mut out = |rank| queue.push_out(&packet(9, 0, rank)).map(|packet| (packet.connection.0, packet.seq));
        // Of two equal ones, the last to arrive.
        assert_eq!(
            [out(60), out(59), out(59), out(30), out(29)],
            [None, Some((2, 1)), Some((2, 0)), None, Some((1, 0))]
        );
        assert_eq!(drain(&mut queue), [(3, 0), (1, 1)]);
    }
}
