//! A port and the wire behind it: first in, first out, drop-tail, ECN marking on arrival.
//!
//! A FIFO port of constant rate knows on a packet's arrival when it will leave, so a packet-hop
//! costs one event: the arrival at the other end. What is still waiting follows from the times at
//! which the packets ahead begin their transmission.

use transport::{Flags, Packet};
use units::{Rate, Time, Transmission};

use super::ring::{Ring, Slot};

/// A limit or threshold on a queue's length, in packets or in wire bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// How many.
    pub value: u64,
    /// Bytes, not packets.
    pub in_bytes: bool,
}

impl Level {
    /// Never exceeded.
    pub const INFINITE: Level = Level { value: u64::MAX, in_bytes: false };

    /// Whether this many packets and bytes are more.
    #[inline]
    pub fn exceeded(self, packets: u64, bytes: u64) -> bool {
        (if self.in_bytes { bytes } else { packets }) > self.value
    }
}

/// A port with its queue, and the wire to the next node. Two cache lines, and a third while
/// something waits.
#[repr(align(64))]
pub struct Port {
    /// On the wire, in transmission, and waiting.
    ring: Ring,
    /// Position in the ring of the first packet that still waits.
    waiting: u64,
    /// When that packet begins its transmission.
    next_start: Time,
    /// When the last packet will have left.
    busy_until: Time,
    /// Wire bytes that wait.
    waiting_bytes: u64,
    transmission: Transmission,
    delay: Time,
    limit: u64,
    mark_above: u64,
    limit_in_bytes: bool,
    marks_by_bytes: bool,
    drop_unmarkable: bool,
    /// The wire ends at a host.
    pub to_host: bool,
    /// The shared buffer that the port draws on, or [`Port::NO_POOL`], or [`Port::SCHEDULED`].
    pub pool: u32,
    /// Packets that were accepted.
    pub packets: u64,
    /// Their wire bytes.
    pub bytes: u64,
    /// What is watched at switch ports; host NICs have unlimited queues that nobody asks about.
    watch: Option<Box<Watch>>,
}

/// What a switch's port has seen.
#[derive(Clone, Default)]
pub struct Watch {
    /// Packets that were dropped.
    pub drops: u64,
    /// Packets that were marked.
    pub marks: u64,
    /// Most packets that waited at once since the warm-up.
    pub most_waiting: u64,
    /// Time spent with 1, 2, ... waiting packets since the warm-up, in ps.
    pub levels: Vec<u64>,
    /// Until when `levels` is complete, while something waits.
    since: Time,
}

/// What a port did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is first in line; its arrival at the other end must be scheduled for this time.
    First(Time),
    /// It follows others.
    Queued,
    /// There was no room.
    Dropped,
}

impl Port {
    /// The port has a buffer of its own.
    pub const NO_POOL: u32 = u32::MAX;
    /// What waits for the port stands in a queue of its discipline ([`Scheduled`](super::Scheduled)).
    pub const SCHEDULED: u32 = u32::MAX - 1;

    /// An idle port with an unlimited queue and no marking.
    pub fn new(rate: Rate, delay: Time, to_host: bool) -> Port {
        Port {
            ring: Ring::default(),
            waiting: 0,
            next_start: Time::MAX,
            busy_until: Time::ZERO,
            waiting_bytes: 0,
            transmission: rate.transmission(),
            delay,
            limit: u64::MAX,
            mark_above: u64::MAX,
            limit_in_bytes: false,
            marks_by_bytes: false,
            drop_unmarkable: false,
            to_host,
            pool: Port::NO_POOL,
            packets: 0,
            bytes: 0,
            watch: None,
        }
    }

    /// A switch's port, with a limit on what may wait and a marking threshold.
    pub fn limited(self, limit: Level, mark_above: Level, drop_unmarkable: bool) -> Port {
        Port {
            limit: limit.value,
            limit_in_bytes: limit.in_bytes,
            mark_above: mark_above.value,
            marks_by_bytes: mark_above.in_bytes,
            drop_unmarkable,
            watch: Some(Box::default()),
            ..self
        }
    }

    /// Takes a packet from the host itself: a NIC's queue has no limit and no marking. Gives the time of its
    /// arrival at the other end if it is first in line, to be scheduled. It arrives `late`, which is told how
    /// long its transmission takes, but keeps its place among the host's packets.
    #[inline(always)]
    pub fn launch(&mut self, now: Time, late: impl FnOnce(Time) -> Time, packet: Packet) -> Option<Time> {
        let start = self.busy_until.max(now);
        let size = u64::from(packet.size);
        self.packets += 1;
        self.bytes += size;
        let transmission = self.transmission.of(size);
        // A NIC's queue may take longer than `Time` holds: then it does not end.
        self.busy_until = start.saturating_add(transmission);
        let mut at = self.busy_until.saturating_add(self.delay + late(transmission));
        let first = self.ring.is_empty();
        if first {
            self.ring.rewind();
        } else {
            at = at.max(self.ring.at(self.ring.tail() - 1).at);
        }
        *self.ring.push() = Slot { at, packet };
        first.then_some(at)
    }

    /// Takes a packet from another link, or drops it.
    #[inline]
    pub fn offer(&mut self, now: Time, packet: &Packet) -> Fate {
        self.offer_within(now, packet, self.limit())
    }

    /// As [`offer`](Port::offer), with what a shared buffer leaves to this port.
    #[inline]
    pub fn offer_within(&mut self, now: Time, packet: &Packet, limit: Level) -> Fate {
        self.settle(now);
        let size = u64::from(packet.size);
        // The queue's length counts those that wait and the one that arrives, not the one in transmission.
        let (packets, bytes) = (self.ring.tail() - self.waiting + 1, self.waiting_bytes + size);
        let start = self.busy_until.max(now);
        let waits = start > now;
        if !self.fits(now, packet, limit) {
            return self.drop();
        }
        let flags = match self.marking(packet.flags, packets, bytes) {
            Some(false) => packet.flags,
            Some(true) => self.mark(packet.flags),
            None => return self.drop(),
        };
        if waits {
            self.queue(packets, bytes, start, now);
        } else {
            self.waiting += 1;
        }
        let at = self.depart(start, size);
        let first = self.ring.is_empty();
        if first {
            // Nothing waits or travels: this packet is the one in transmission.
            self.ring.rewind();
            self.waiting = 1;
        }
        let slot = self.ring.push();
        slot.at = at;
        slot.packet = *packet;
        slot.packet.flags = flags;
        slot.packet.wait = units_of_wait(start - now);
        slot.packet.route += 1;
        if first { Fate::First(at) } else { Fate::Queued }
    }

    /// Whether a packet is marked that finds a queue of so many packets and bytes, with itself; none: it is
    /// dropped, because it cannot be marked.
    #[inline(always)]
    pub fn marking(&self, flags: Flags, packets: u64, bytes: u64) -> Option<bool> {
        let mark_above = Level { value: self.mark_above, in_bytes: self.marks_by_bytes };
        if !mark_above.exceeded(packets, bytes) {
            return Some(false);
        }
        if flags.has(Flags::ECT) {
            return Some(true);
        }
        (!self.drop_unmarkable).then_some(false)
    }

    /// Marks a packet.
    #[inline(always)]
    pub fn mark(&mut self, flags: Flags) -> Flags {
        self.watch_mut().marks += 1;
        flags.with(Flags::CE)
    }

    /// Whether a packet would not be dropped for lack of room within `limit`.
    #[inline]
    pub fn fits(&self, now: Time, packet: &Packet, limit: Level) -> bool {
        let (packets, bytes) = (self.waiting() + 1, self.waiting_bytes + u64::from(packet.size));
        self.busy_until <= now || !limit.exceeded(packets, bytes)
    }

    /// A packet's transmission begins at `start`; gives its arrival at the other end.
    #[inline]
    fn depart(&mut self, start: Time, size: u64) -> Time {
        self.packets += 1;
        self.bytes += size;
        self.busy_until = start.saturating_add(self.transmission.of(size));
        self.busy_until.saturating_add(self.delay)
    }

    /// One more waits: `packets` and `bytes` with it, and its transmission begins at `start`.
    #[inline]
    fn queue(&mut self, packets: u64, bytes: u64, start: Time, now: Time) {
        if packets == 1 {
            self.next_start = start;
        }
        self.waiting_bytes = bytes;
        if let Some(watch) = &mut self.watch {
            watch.stay(packets - 1, now);
            watch.most_waiting = watch.most_waiting.max(packets);
        }
    }

    #[cold]
    fn drop(&mut self) -> Fate {
        self.count_drop();
        Fate::Dropped
    }

    /// A packet that has waited elsewhere since `slot.at` begins its transmission. Gives the time of its
    /// arrival at the other end if it is first in line, to be scheduled.
    pub fn begin(&mut self, now: Time, slot: Slot) -> Option<Time> {
        let Slot { at: since, mut packet } = slot;
        let at = self.depart(now, u64::from(packet.size));
        packet.wait = units_of_wait(now - since);
        let first = self.ring.is_empty();
        if first {
            self.ring.rewind();
        }
        *self.ring.push() = Slot { at, packet };
        // What waits, waits elsewhere.
        self.waiting = self.ring.tail();
        first.then_some(at)
    }

    /// Whether a packet could begin its transmission.
    pub fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }
    /// When the transmission ends.
    pub fn idle_at(&self) -> Time {
        self.busy_until
    }
    /// The limit on what may wait.
    pub fn limit(&self) -> Level {
        Level { value: self.limit, in_bytes: self.limit_in_bytes }
    }
    /// A packet was dropped.
    pub fn count_drop(&mut self) {
        self.watch_mut().drops += 1;
    }
    /// So many packets have waited elsewhere for this port until `now`; at most so many from now on.
    pub fn count_stay(&mut self, packets: u64, most: u64, now: Time) {
        let watch = self.watch_mut();
        watch.stay(packets, now);
        watch.most_waiting = watch.most_waiting.max(most);
    }

    /// Takes the packet that has arrived at the other end, and says when the next one will.
    #[inline]
    pub fn take(&mut self) -> (Packet, Option<Time>) {
        let packet = self.ring.pop();
        let next = if self.ring.is_empty() { None } else { Some(self.ring.at(self.ring.head()).at) };
        (packet, next)
    }

    /// Lets those that have begun their transmission by `now` leave the queue.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        while self.next_start <= now {
            self.leave();
        }
    }

    /// The first waiting packet begins its transmission.
    #[inline]
    fn leave(&mut self) {
        let size = u64::from(self.ring.at(self.waiting).packet.size);
        if let Some(watch) = &mut self.watch {
            watch.stay(self.ring.tail() - self.waiting, self.next_start);
        }
        self.waiting += 1;
        self.waiting_bytes -= size;
        self.next_start =
            if self.waiting == self.ring.tail() { Time::MAX } else { self.next_start + self.transmission.of(size) };
    }

    /// Packets that wait (as of the last [`settle`](Port::settle)).
    pub fn waiting(&self) -> u64 {
        self.ring.tail() - self.waiting
    }
    /// Wire bytes that wait (as of the last [`settle`](Port::settle)).
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }
    /// Wire bytes that wait, also at a host's own port, which keeps no count of them: packets that wait there stand
    /// one behind the other up to the end of the last transmission.
    pub fn backlog(&self, now: Time) -> u64 {
        if self.watch.is_some() {
            return self.waiting_bytes;
        }
        let (mut start, mut bytes) = (self.busy_until, 0);
        for position in (self.ring.head()..self.ring.tail()).rev() {
            let size = u64::from(self.ring.at(position).packet.size);
            start = start.saturating_sub(self.transmission.of(size));
            if start <= now {
                break;
            }
            bytes += size;
        }
        bytes
    }
    /// So many wire bytes wait elsewhere.
    pub fn set_waiting_bytes(&mut self, bytes: u64) {
        self.waiting_bytes = bytes;
    }
    /// Everything queued or on the wire.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.ring.iter().map(|slot| &slot.packet)
    }
    /// For how long it has sent by `now`.
    pub fn sent_for(&self, now: Time) -> Time {
        self.transmission.of(self.bytes).saturating_sub(self.busy_until.saturating_sub(now))
    }
    /// What has been seen here, at switch ports.
    pub fn watch(&self) -> Option<&Watch> {
        self.watch.as_deref()
    }
    /// Brings what is watched up to `now`, when so many wait.
    pub fn catch_up(&mut self, waiting: u64, now: Time) {
        if let Some(watch) = &mut self.watch {
            watch.stay(waiting, now);
        }
    }
    /// The warm-up ends when so many wait: begins the distribution of waiting packets anew.
    pub fn warmed_up(&mut self, waiting: u64) {
        if let Some(watch) = &mut self.watch {
            watch.most_waiting = waiting;
            watch.levels.fill(0);
        }
    }

    fn watch_mut(&mut self) -> &mut Watch {
        self.watch.as_mut().expect("only switch ports mark and drop")
    }
}

/// How a packet notes its wait: in units of 1024 ps.
#[inline(always)]
fn units_of_wait(wait: Time) -> u32 {
    (wait.0 >> 10).min(u64::from(u32::MAX)) as u32
}

impl Watch {
    /// `waiting` packets have waited until `now`.
    #[inline]
    fn stay(&mut self, waiting: u64, now: Time) {
        if waiting > 0 {
            let level = waiting as usize - 1;
            if level >= self.levels.len() {
                self.levels.resize((level + 1).next_power_of_two().max(8), 0);
            }
            self.levels[level] += (now - self.since).0;
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: u64 = 1_000_000;

    fn packet(flags: Flags) -> Packet {
        Packet::data(0, 1460, 40, Time::ZERO, flags)
    }

    #[test]
    fn a_port_takes_two_cache_lines() {
        assert_eq!(size_of::<Port>(), 128);
    }

    /// 1 Gbps: a full packet takes 12 us.
    fn port(limit: u64, mark: u64) -> Port {
        let level = |value| Level { value, in_bytes: false };
        Port::new(Rate::from_gbps(1), Time(20 * MICRO), true).limited(level(limit), level(mark), false)
    }

    fn offer(port: &mut Port, now: u64, flags: Flags) -> Fate {
        port.offer(Time(now * MICRO), &packet(flags))
    }

    #[test]
    fn a_packet_arrives_after_wait_transmission_and_propagation() {
        let mut port = port(10, 10);
        assert_eq!(offer(&mut port, 0, Flags::NONE), Fate::First(Time(32 * MICRO)));
        assert_eq!(offer(&mut port, 5, Flags::NONE), Fate::Queued);
        assert_eq!(port.take().1, Some(Time(44 * MICRO)));
        let (second, next) = port.take();
        assert_eq!(next, None);
        // It waited 7 us, in units of 1024 ps.
        assert_eq!(u64::from(second.wait), 7 * MICRO / 1024);
        assert_eq!(offer(&mut port, 100, Flags::NONE), Fate::First(Time(132 * MICRO)));
    }

    #[test]
    fn the_one_in_transmission_does_not_count_for_limits_and_marks() {
        let mut port = port(3, 2);
        let marked = |port: &Port| port.packets().map(|packet| packet.flags.has(Flags::CE)).collect::<Vec<_>>();
        for _ in 0..5 {
            offer(&mut port, 0, Flags::ECT);
        }
        // One in transmission, three waiting; the third of these saw a queue of 3 > K = 2.
        assert_eq!(marked(&port), [false, false, false, true]);
        assert_eq!((port.watch_mut().drops, port.watch_mut().marks), (1, 1));
        // After 12 us one of the waiting has left the queue.
        assert_eq!(offer(&mut port, 12, Flags::NONE), Fate::Queued);
        assert_eq!(port.waiting(), 3);
    }

    /// Packets of 1500 B and thresholds in bytes: as many bytes as the threshold says are not more than it.
    #[test]
    fn limits_and_thresholds_in_bytes_count_wire_bytes() {
        let bytes = |value| Level { value, in_bytes: true };
        for (limit, mark, taken, marked) in [(4500, 3000, 4, 1), (4499, 2999, 3, 1), (4501, 4500, 4, 0)] {
            let mut port =
                Port::new(Rate::from_gbps(1), Time(20 * MICRO), true).limited(bytes(limit), bytes(mark), false);
            let fates = (0..6).filter(|_| offer(&mut port, 0, Flags::ECT) != Fate::Dropped).count();
            // One in transmission, then those that wait.
            assert_eq!((fates, port.watch_mut().marks), (taken, marked), "{limit} B and {mark} B");
            assert_eq!(port.waiting_bytes(), 1500 * (taken as u64 - 1));
            assert_eq!(port.watch_mut().drops, 6 - taken as u64);
        }
    }

    /// Room for one beside the packet in transmission, which takes 12 us.
    #[test]
    fn room_comes_free_at_the_very_instant_at_which_a_transmission_begins() {
        for (at, fate) in [(12 * MICRO - 1, Fate::Dropped), (12 * MICRO, Fate::Queued)] {
            let mut port = port(1, 100);
            offer(&mut port, 0, Flags::NONE);
            offer(&mut port, 0, Flags::NONE);
            assert_eq!(port.offer(Time(at), &packet(Flags::NONE)), fate, "{at} ps");
        }
        // Without any room a port takes what it can begin at once, and that is from 12 us on.
        for (at, taken) in [(12 * MICRO - 1, false), (12 * MICRO, true)] {
            let mut port = port(0, 100);
            offer(&mut port, 0, Flags::NONE);
            assert_eq!(port.is_idle(Time(at)), taken);
            assert_eq!(port.offer(Time(at), &packet(Flags::NONE)) != Fate::Dropped, taken, "{at} ps");
        }
    }

    /// 1500, 500 and 1500 B take 12, 4 and 12 us.
    #[test]
    fn packets_of_different_sizes_leave_one_after_the_other() {
        let mut port = port(100, 100);
        for payload in [1460, 460, 1460, 460] {
            port.offer(Time::ZERO, &Packet::data(0, payload, 40, Time::ZERO, Flags::NONE));
        }
        for (at, waiting, bytes) in
            [(0, 3, 2500), (11, 3, 2500), (12, 2, 2000), (15, 2, 2000), (16, 1, 500), (28, 0, 0)]
        {
            port.settle(Time(at * MICRO));
            assert_eq!((port.waiting(), port.waiting_bytes()), (waiting, bytes), "{at} us");
        }
        let arrivals: Vec<Option<Time>> = (0..4).map(|_| port.take().1).collect();
        assert_eq!(arrivals, [Some(Time(36 * MICRO)), Some(Time(48 * MICRO)), Some(Time(52 * MICRO)), None]);
        // Of the 32 us of work it has done 10 after 10 us.
        assert_eq!(port.sent_for(Time(10 * MICRO)), Time(10 * MICRO));
        assert_eq!(port.sent_for(Time(100 * MICRO)), Time(32 * MICRO));
    }

    /// A host's NIC keeps no count of what waits; it follows from what is in its ring.
    #[test]
    fn the_backlog_of_a_nic_is_what_has_not_begun() {
        let mut nic = Port::new(Rate::from_gbps(1), Time(20 * MICRO), false);
        assert_eq!(nic.backlog(Time::ZERO), 0);
        for payload in [1460, 460, 1460] {
            nic.launch(Time::ZERO, |_| Time::ZERO, Packet::data(0, payload, 40, Time::ZERO, Flags::NONE));
        }
        for (at, bytes) in [(0, 2000), (12 * MICRO - 1, 2000), (12 * MICRO, 1500), (16 * MICRO, 0), (28 * MICRO, 0)] {
            assert_eq!(nic.backlog(Time(at)), bytes, "{at} ps");
        }
        nic.take();
        assert_eq!(nic.backlog(Time(12 * MICRO)), 1500);
        let mut switch = port(100, 100);
        (0..3).for_each(|_| _ = offer(&mut switch, 0, Flags::NONE));
        assert_eq!(switch.backlog(Time::ZERO), 3000);
    }

    /// 12 us each, the first 9 us late, the others not at all: they wait behind it, and the wire is not idle.
    #[test]
    fn a_late_packet_costs_its_nic_nothing_and_is_not_overtaken() {
        let mut nic = Port::new(Rate::from_gbps(1), Time(20 * MICRO), false);
        let launch = |nic: &mut Port, payload, late: u64| {
            nic.launch(Time::ZERO, |_| Time(late * MICRO), Packet::data(0, payload, 40, Time::ZERO, Flags::NONE))
        };
        assert_eq!(launch(&mut nic, 1460, 9), Some(Time(41 * MICRO)));
        // 40 B take 0.32 us: it could be there at 32.32 us.
        assert_eq!(launch(&mut nic, 0, 0), None);
        assert_eq!(launch(&mut nic, 1460, 0), None);
        assert_eq!(nic.idle_at(), Time(24_320_000));
        assert_eq!([nic.take().1, nic.take().1], [Some(Time(41 * MICRO)), Some(Time(44_320_000))]);
        let mut told = Time::ZERO;
        nic.launch(
            Time(100 * MICRO),
            |transmission| {
                told = transmission;
                Time::ZERO
            },
            packet(Flags::NONE),
        );
        assert_eq!(told, Time(12 * MICRO));
    }

    #[test]
    fn unmarkable_packets_are_dropped_above_the_threshold_if_asked() {
        let mut port = port(100, 1);
        port.drop_unmarkable = true;
        for _ in 0..3 {
            offer(&mut port, 0, Flags::NONE);
        }
        assert_eq!(port.watch_mut().drops, 1);
    }

    #[test]
    fn a_port_knows_how_long_how_many_waited() {
        let mut port = port(100, 100);
        for _ in 0..3 {
            offer(&mut port, 0, Flags::NONE);
        }
        port.settle(Time(100 * MICRO));
        port.catch_up(0, Time(100 * MICRO));
        // Two waited for 12 us, then one for 12 us.
        assert_eq!(port.watch_mut().levels[..2], [12 * MICRO, 12 * MICRO]);
        assert_eq!(port.watch_mut().most_waiting, 2);
        // What comes after the warm-up is counted by itself.
        port.warmed_up(0);
        assert_eq!((port.watch_mut().most_waiting, port.watch_mut().levels[0]), (0, 0));
        offer(&mut port, 200, Flags::NONE);
        offer(&mut port, 205, Flags::NONE);
        port.settle(Time(300 * MICRO));
        // From 205 to 212 us.
        assert_eq!((port.watch_mut().most_waiting, port.watch_mut().levels[0]), (1, 7 * MICRO));
    }
}
