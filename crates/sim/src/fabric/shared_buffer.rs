//! A switch's shared buffer, with dynamic thresholds or limits of another [policy](crate::fabric::buffer).

use transport::Packet;
use units::{Amount, Instant, LinkId, Table};

use crate::fabric::buffer::{Limits, QueueState};
use crate::fabric::level::Level;
use crate::fabric::packet_pool::PacketPool;
use crate::fabric::port::{Fate, Port};

/// A buffer that the ports of one switch share: a port's queue may hold up to `alpha` times the free memory (Choudhury
/// and Hahne 1998).
pub(super) struct SharedBuffer {
    capacity: Amount,
    alpha: f64,
    /// The ports of the switch.
    members: Vec<LinkId>,
    /// Packets and bytes that were queued at all ports when each was last examined: never less than are queued now.
    packets: u64,
    bytes: u64,
    /// The limits of queues where they depend on more than the free memory: then its ports have queueing disciplines.
    limits: Option<Box<dyn Limits>>,
}

impl SharedBuffer {
    /// Returns an empty buffer.
    pub(super) fn new(capacity: Amount, alpha: f64) -> SharedBuffer {
        SharedBuffer { capacity, alpha, members: Vec::new(), packets: 0, bytes: 0, limits: None }
    }

    /// Returns the buffer with these limits of its queues, if there are any.
    pub(super) fn limited_by(self, limits: Option<Box<dyn Limits>>) -> SharedBuffer {
        SharedBuffer { limits, ..self }
    }

    /// Returns whether its queues have limits that depend on more than the free memory.
    pub(super) fn has_limits(&self) -> bool {
        self.limits.is_some()
    }

    /// Adds a port to this buffer.
    pub(super) fn add(&mut self, link: LinkId) {
        self.members.push(link);
    }

    /// Updates the index of a port of this buffer.
    pub(super) fn moves(&mut self, from: LinkId, to: LinkId) {
        self.members.iter_mut().filter(|member| **member == from).for_each(|member| *member = to);
        if let Some(limits) = &mut self.limits {
            limits.moves(from, to);
        }
    }

    /// Returns the ports of the switch.
    pub(super) fn members(&self) -> &[LinkId] {
        &self.members
    }
    /// Counts a packet that is enqueued.
    pub(super) fn enter(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }
    /// Counts a packet that is dequeued.
    pub(super) fn leave(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
    }

    /// Counts the queue of a port that has deferred enqueueing until now.
    pub(super) fn takes_over(&mut self, port: &Port) {
        self.packets += port.waiting_in_line();
        self.bytes += port.waiting_bytes();
    }

    /// Offers a packet to one of the ports, within the room that the others leave.
    pub(super) fn offer(
        &mut self,
        packet_pool: &mut PacketPool,
        now: Instant,
        number: u32,
        index: LinkId,
        ports: &mut Table<LinkId, Port>,
    ) -> Fate {
        let port = &mut ports[index];
        self.look_at(packet_pool, now, port);
        // Departures from other ports since they were examined only add to the room: if it suffices without them, these
        // ports need not be examined.
        let (packets, bytes) = (port.waiting_in_line(), port.waiting_bytes());
        let mut room = self.room(packets, bytes);
        if !port.fits(now, &packet_pool.at(number).packet, room) {
            self.advance_to(packet_pool, now, ports);
            room = self.room(packets, bytes);
        }
        self.offer_within(packet_pool, now, number, &mut ports[index], room)
    }

    /// As [`offer`](SharedBuffer::offer), for a packet that is accepted also when there is no room.
    pub(super) fn admit(
        &mut self,
        packet_pool: &mut PacketPool,
        now: Instant,
        number: u32,
        index: LinkId,
        ports: &mut Table<LinkId, Port>,
    ) -> Fate {
        self.look_at(packet_pool, now, &mut ports[index]);
        self.offer_within(packet_pool, now, number, &mut ports[index], Level::INFINITE)
    }

    #[inline]
    fn offer_within(
        &mut self,
        packet_pool: &mut PacketPool,
        now: Instant,
        number: u32,
        port: &mut Port,
        room: Level,
    ) -> Fate {
        let (packets, bytes) = (port.waiting_in_line(), port.waiting_bytes());
        let fate = port.offer_within(packet_pool, now, number, room);
        self.packets += port.waiting_in_line() - packets;
        self.bytes += port.waiting_bytes() - bytes;
        fate
    }

    /// Removes all packets whose transmission has begun by `now`.
    pub(super) fn advance_to(&mut self, packet_pool: &PacketPool, now: Instant, ports: &mut Table<LinkId, Port>) {
        for i in 0..self.members.len() {
            self.look_at(packet_pool, now, &mut ports[self.members[i]]);
        }
    }

    /// Removes all packets at a port and on its wire.
    pub(super) fn flush(&mut self, packet_pool: &mut PacketPool, now: Instant, port: &mut Port) -> Vec<Packet> {
        self.look_at(packet_pool, now, port);
        self.packets -= port.waiting_in_line();
        self.bytes -= port.waiting_bytes();
        port.flush(packet_pool, now)
    }

    /// Begins the transmission of the first queued packet of a port.
    pub(super) fn first_leaves(&mut self, packet_pool: &PacketPool, port: &mut Port) {
        self.watch(port, |port| port.leave(packet_pool));
    }

    #[inline]
    fn look_at(&mut self, packet_pool: &PacketPool, now: Instant, port: &mut Port) {
        self.watch(port, |port| port.advance_to(packet_pool, now));
    }

    /// Updates the counts after packets may have left the queue of a port.
    #[inline]
    fn watch(&mut self, port: &mut Port, leave: impl FnOnce(&mut Port)) {
        let (packets, bytes) = (port.waiting_in_line(), port.waiting_bytes());
        leave(port);
        self.packets -= packets - port.waiting_in_line();
        self.bytes -= bytes - port.waiting_bytes();
    }

    /// Returns whether a packet may be queued at a port with a queueing discipline.
    pub(super) fn has_room(&self, link: LinkId, port: &Port, packet: &Packet) -> bool {
        let with_it = port.counted_with(packet);
        let (packets, bytes) = (with_it.packets - 1, with_it.bytes - u64::from(packet.size));
        let mut room = self.room(packets, bytes);
        if let Some(limits) = &self.limits {
            let (queue, free) = (self.queue(link, port, packet), self.free());
            room.value = limits.limit(&queue, free).min(queue.length + free);
        }
        !room.exceeded(with_it)
    }

    /// Records that a packet has joined or left a queue at a port with a queueing discipline.
    pub(super) fn changed(&mut self, link: LinkId, port: &Port, packet: &Packet) {
        if self.limits.is_some() {
            let (queue, free) = (self.queue(link, port, packet), self.free());
            self.limits.iter_mut().for_each(|limits| limits.changed(&queue, free));
        }
    }

    /// Returns the queue of a packet's class at a port.
    fn queue(&self, port_of: LinkId, port: &Port, packet: &Packet) -> QueueState {
        let with_it = port.counted_with(packet);
        let (class, drain) = port.drain_of(packet);
        let length = match self.capacity {
            Amount::Packets(_) => with_it.packets - 1,
            Amount::Bytes(_) => with_it.bytes - u64::from(packet.size),
        };
        QueueState { port: port_of, class, drain, length }
    }

    /// Returns how much no packet finds to be too much, wherever it is.
    pub(super) fn unfilled(&self) -> Amount {
        unfilled(self.capacity, self.alpha)
    }

    /// Returns the free memory, in the unit of the buffer.
    fn free(&self) -> u64 {
        match self.capacity {
            Amount::Packets(all) => all.saturating_sub(self.packets),
            Amount::Bytes(all) => all.saturating_sub(self.bytes),
        }
    }

    /// Returns the limit on the queue of a port, in which `packets` and `bytes` are queued.
    #[inline]
    pub(super) fn room(&self, packets: u64, bytes: u64) -> Level {
        // Above alpha = 1 the free part itself is the limit.
        let threshold = |free: u64, waiting: u64| ((free as f64 * self.alpha) as u64).min(waiting + free);
        let (value, in_bytes) = match self.capacity {
            Amount::Packets(all) => (threshold(all.saturating_sub(self.packets), packets), false),
            Amount::Bytes(all) => (threshold(all.saturating_sub(self.bytes), bytes), true),
        };
        Level { value, in_bytes }
    }
}

/// Returns how much in a shared buffer leaves room for all of it, wherever it is.
///
/// A port's queue, with the arriving packet, may have alpha times the free memory. If all packets at the switch have
/// S bytes, at least B - S are free. So all are admitted while S <= alpha (B - S): S <= alpha B / (1 + alpha).
pub(super) fn unfilled(capacity: Amount, alpha: f64) -> Amount {
    // One less: thresholds are rounded down.
    let most = |all: u64| ((all as f64 * alpha / (1.0 + alpha)) as u64).saturating_sub(1);
    match capacity {
        Amount::Packets(packets) => Amount::Packets(most(packets)),
        Amount::Bytes(bytes) => Amount::Bytes(most(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::port::LinkRole;
    use crate::fabric::tests::port;
    use std::sync::{Arc, Mutex};
    use transport::Flags;
    use units::{Rate, Span};

    /// The ports of a switch, and the packets that they hold.
    type Ports = (Table<LinkId, Port>, PacketPool);

    fn buffer(capacity: Amount, alpha: f64, ports: u32) -> (SharedBuffer, Ports) {
        let mut buffer = SharedBuffer::new(capacity, alpha);
        (0..ports).for_each(|index| buffer.add(LinkId(index)));
        let port = || Port::new(Rate::from_gbps(1), Span(1), LinkRole::SwitchToHost);
        let ports = (0..ports).map(|_| port().limited(Level::INFINITE, Level::INFINITE, false)).collect();
        (buffer, (ports, PacketPool::default()))
    }

    /// Offers full packets to one port until it drops; returns the number accepted.
    fn fill(buffer: &mut SharedBuffer, (ports, packet_pool): &mut Ports, index: u32, now: Instant) -> u64 {
        (0..)
            .find(|_| offer(buffer, (ports, packet_pool), index, now) == Fate::Dropped)
            .expect("a buffer of finite size is full after enough packets")
    }

    /// Offers a full packet to one port.
    fn offer(
        buffer: &mut SharedBuffer,
        (ports, packet_pool): (&mut Table<LinkId, Port>, &mut PacketPool),
        index: u32,
        now: Instant,
    ) -> Fate {
        let number = packet_pool.put(Packet::data(0, 1460, 40, Instant::ZERO, Flags::NONE));
        buffer.offer(packet_pool, now, number, LinkId(index), ports)
    }

    #[test]
    fn with_alpha_one_the_first_port_takes_half_and_the_second_half_of_the_rest() {
        let (mut buffer, mut ports) = buffer(Amount::Packets(100), 1.0, 2);
        // One is transmitted at once; 50 are queued when 50 are free.
        assert_eq!(fill(&mut buffer, &mut ports, 0, Instant::ZERO), 51);
        assert_eq!(fill(&mut buffer, &mut ports, 1, Instant::ZERO), 26);
        // Much later the buffer is empty again.
        assert_eq!(fill(&mut buffer, &mut ports, 1, Instant::from_millis(10)), 51);
    }

    /// A queue of n packets is accepted when n is at most alpha times the memory free before. With one port, n <= alpha
    /// (100 - (n - 1)), whose largest solution is 33 for 1/2 and 67 for 2. With 67 queued, a second port solves n <= 2
    /// (33 - (n - 1)): 22. One more is in transmission each time.
    #[test]
    fn the_threshold_is_alpha_times_what_is_free() {
        for (alpha, first, second) in [(0.5, 33, 22), (2.0, 67, 22)] {
            for capacity in [Amount::Packets(100), Amount::Bytes(100 * 1500)] {
                let (mut buffer, mut ports) = buffer(capacity, alpha, 2);
                let filled = [0, 1].map(|index| fill(&mut buffer, &mut ports, index, Instant::ZERO) - 1);
                assert_eq!(filled, [first, second], "{alpha} of {capacity}");
            }
        }
    }

    /// 50 are queued at port 0 until its first transmission ends after 12 us; then 49.
    #[test]
    fn room_that_another_port_frees_counts_from_that_instant_on() {
        for (at, taken) in [(12_000_000 - 1, 25), (12_000_000, 26)] {
            let (mut buffer, mut ports) = buffer(Amount::Packets(100), 1.0, 2);
            fill(&mut buffer, &mut ports, 0, Instant::ZERO);
            assert_eq!(fill(&mut buffer, &mut ports, 1, Instant(at)), taken + 1, "{at} ps");
            buffer.advance_to(&ports.1, Instant(at), &mut ports.0);
            let waiting = ports.0.iter().map(Port::waiting).sum::<u64>();
            assert_eq!((buffer.packets, buffer.bytes), (waiting, 1500 * waiting));
        }
    }

    /// Of three packets one is in transmission and two are queued.
    #[test]
    fn what_leaves_a_port_before_anybody_looks_leaves_the_buffer() {
        let (mut buffer, (mut ports, mut packet_pool)) = buffer(Amount::Packets(100), 1.0, 1);
        for _ in 0..3 {
            offer(&mut buffer, (&mut ports, &mut packet_pool), 0, Instant::ZERO);
        }
        assert_eq!((buffer.packets, buffer.bytes), (2, 3000));
        buffer.first_leaves(&packet_pool, &mut ports[LinkId(0)]);
        assert_eq!((buffer.packets, buffer.bytes, ports[LinkId(0)].waiting()), (1, 1500, 1));
        // The other one begins after 24 us.
        buffer.advance_to(&packet_pool, Instant(24_000_000), &mut ports);
        assert_eq!((buffer.packets, buffer.bytes), (0, 0));
    }

    #[test]
    fn a_protected_packet_is_taken_and_counted_where_there_is_no_room() {
        let (mut buffer, mut ports) = buffer(Amount::Packets(4), 1.0, 1);
        // Two are queued when four were free: a third would exceed the two that are left.
        assert_eq!(fill(&mut buffer, &mut ports, 0, Instant::ZERO), 3);
        let number = ports.1.put(Packet::data(0, 0, 40, Instant::ZERO, Flags::NONE));
        assert_eq!(buffer.admit(&mut ports.1, Instant::ZERO, number, LinkId(0), &mut ports.0), Fate::Queued);
        assert_eq!((buffer.packets, buffer.bytes), (3, 3040));
        // The first queued packet begins after 12 us, the second after 24, the small one after 36.
        for (at, left) in [(12_000_000, (2, 1540)), (23_999_999, (2, 1540)), (24_000_000, (1, 40))] {
            buffer.advance_to(&ports.1, Instant(at), &mut ports.0);
            assert_eq!((buffer.packets, buffer.bytes), left, "{at} ps");
        }
        buffer.advance_to(&ports.1, Instant(36_000_000), &mut ports.0);
        assert_eq!((buffer.packets, buffer.bytes), (0, 0));
    }

    #[test]
    fn no_alpha_makes_the_buffer_larger_than_it_is() {
        let (mut buffer, mut ports) = buffer(Amount::Bytes(15_000), 100.0, 1);
        assert_eq!(fill(&mut buffer, &mut ports, 0, Instant::ZERO), 11);
    }

    /// Of four, port 0 accepts two and port 1 one; then room is short until port 0 begins its second packet.
    #[test]
    fn before_a_packet_is_dropped_all_ports_are_looked_at() {
        for (at, fate) in [(12_000_000 - 1, Fate::Dropped), (12_000_000, Fate::Queued)] {
            let (mut buffer, mut ports) = buffer(Amount::Packets(4), 1.0, 2);
            assert_eq!(fill(&mut buffer, &mut ports, 0, Instant::ZERO), 3);
            assert_eq!(fill(&mut buffer, &mut ports, 1, Instant(1_000_000)), 2);
            let (ports, packet_pool) = (&mut ports.0, &mut ports.1);
            assert_eq!(offer(&mut buffer, (ports, packet_pool), 1, Instant(at)), fate, "{at} ps");
        }
    }

    #[test]
    fn what_waits_elsewhere_is_counted_too() {
        let (mut buffer, _) = buffer(Amount::Bytes(6000), 1.0, 2);
        assert_eq!(buffer.members(), [LinkId(0), LinkId(1)]);
        let packet = |payload| Packet::data(0, payload, 40, Instant::ZERO, Flags::NONE);
        buffer.enter(&packet(1460));
        buffer.enter(&packet(460));
        buffer.enter(&packet(960));
        buffer.leave(&packet(1460));
        assert_eq!((buffer.packets, buffer.bytes), (2, 1500));
        assert_eq!(buffer.room(0, 0), Level { value: 4500, in_bytes: true });
    }

    #[test]
    fn port_keeps_its_buffer_under_another_index() {
        let (mut buffer, _) = buffer(Amount::Packets(100), 1.0, 2);
        let moved = Arc::new(Mutex::new(None));
        buffer = buffer.limited_by(Some(Box::new(Expected { length: 0, moved: moved.clone() })));
        buffer.moves(LinkId(1), LinkId(5));
        assert_eq!(buffer.members(), [LinkId(0), LinkId(5)]);
        assert_eq!(*moved.lock().unwrap(), Some((LinkId(1), LinkId(5))));
    }

    #[test]
    fn flushed_port_leaves_the_packets_of_the_others() {
        let (mut buffer, mut ports) = buffer(Amount::Packets(100), 1.0, 2);
        fill(&mut buffer, &mut ports, 0, Instant::ZERO);
        let (ports, packet_pool) = (&mut ports.0, &mut ports.1);
        // One of four is in transmission.
        for _ in 0..4 {
            offer(&mut buffer, (ports, packet_pool), 1, Instant::ZERO);
        }
        buffer.flush(packet_pool, Instant(1_000_000), &mut ports[LinkId(0)]);
        assert_eq!((buffer.packets, buffer.bytes), (3, 4500));
    }

    /// Checks that a queue has this length.
    struct Expected {
        length: u64,
        moved: Arc<Mutex<Option<(LinkId, LinkId)>>>,
    }

    impl Limits for Expected {
        fn limit(&self, queue: &QueueState, _: u64) -> u64 {
            assert_eq!(queue.length, self.length);
            u64::MAX
        }
        fn changed(&mut self, queue: &QueueState, _: u64) {
            assert_eq!(queue.length, self.length);
        }
        fn moves(&mut self, from: LinkId, to: LinkId) {
            *self.moved.lock().unwrap() = Some((from, to));
        }
    }

    /// Four packets of 1500 B are queued at a port and four at others. There is room for another if as much memory is free,
    /// and not for a byte more.
    #[test]
    fn queue_of_a_discipline_has_room_while_memory_is_free() {
        let packet = Packet::data(0, 1460, 40, Instant::ZERO, Flags::NONE);
        for (capacity, length, has_room) in [
            (Amount::Packets(8), 4, false),
            (Amount::Packets(9), 4, true),
            (Amount::Bytes(13_499), 6000, false),
            (Amount::Bytes(13_500), 6000, true),
        ] {
            let (mut buffer, _) = buffer(capacity, 100.0, 1);
            let mut port = port("fifo");
            (0..4).for_each(|_| port.push(Instant::ZERO, packet));
            (0..8).for_each(|_| buffer.enter(&packet));
            assert_eq!(buffer.has_room(LinkId(0), &port, &packet), has_room, "{capacity}");
            buffer = buffer.limited_by(Some(Box::new(Expected { length, moved: Arc::default() })));
            assert_eq!(buffer.has_room(LinkId(0), &port, &packet), has_room, "{capacity}");
            buffer.changed(LinkId(0), &port, &packet);
        }
    }
}
