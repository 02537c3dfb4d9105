//! A port and the wire behind it: what waits there in a queue, and what a marker says of it.
//!
//! Hosts' and switches' ports are one thing. Nearly all are first in, first out and mark above a threshold, if at all.
//! Such a port knows on a packet's arrival when it will leave, so a packet-hop costs one event: the arrival at the other
//! end. What is still waiting follows from the times at which the packets ahead begin their transmission. Every other
//! [discipline](queue) or [marker](mark) stands beside the port ([`Choice`]), which then decides at each departure.

mod choice;
mod faulty;
pub mod level;
pub mod mark;
pub mod queue;
pub mod ring;
mod watch;

pub use choice::Choice;
pub use watch::Watch;

use transport::{Flags, Packet};
use units::{Bytes, Instant, Rate, Span, Transmission};

use level::{Length, Level};
use mark::{Marker, Threshold};
use ring::{Ring, Slot};

/// A port with its queue, and the wire to the next node. Two cache lines, and a third while
/// something waits.
#[repr(align(64))]
pub struct Port {
    /// On the wire, in transmission, and waiting unless the port chooses.
    ring: Ring,
    /// Position in the ring of the first packet that still waits.
    waiting: u64,
    /// When that packet begins its transmission.
    next_start: Instant,
    /// When the last packet will have left.
    busy_until: Instant,
    /// Wire bytes that wait.
    waiting_bytes: u64,
    transmission: Transmission,
    delay: Span,
    limit: u64,
    mark_above: u64,
    limit_in_bytes: bool,
    marks_by_bytes: bool,
    drop_unmarkable: bool,
    /// Where it stands.
    pub place: Place,
    /// The shared buffer that the port draws on, or [`Port::NO_POOL`], [`Port::CUT`], [`Port::CHOOSES`] or
    /// [`Port::DOWN`].
    pub pool: u32,
    /// Packets that were accepted.
    pub packets: u64,
    /// Their wire bytes.
    pub bytes: u64,
    /// What most packets at a host's port do not touch: none where nothing is ever kept there.
    beside: Option<Box<Beside>>,
}

/// What stands beside a port.
#[derive(Default)]
struct Beside {
    watch: Watch,
    choice: Option<Choice>,
}

/// Between what a port and its wire stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host's NIC.
    HostToSwitch,
    /// A NIC without a switch behind it.
    HostToHost,
    /// Within the network.
    SwitchToSwitch,
    /// The last hop.
    SwitchToHost,
}

impl Place {
    /// The wire ends at a host.
    #[inline]
    pub fn to_host(self) -> bool {
        matches!(self, Place::HostToHost | Place::SwitchToHost)
    }
    /// The port is a switch's.
    pub fn at_switch(self) -> bool {
        !self.at_host()
    }
    /// The port is a host's.
    pub fn at_host(self) -> bool {
        matches!(self, Place::HostToSwitch | Place::HostToHost)
    }
}

/// What a port did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is first in line; its arrival at the other end must be scheduled for this time.
    First(Instant),
    /// It follows others, or its arrival is scheduled already.
    Queued,
    /// There was no room, or it could not be marked.
    Dropped,
    /// It goes to the end of the link at once: where that is, others decide.
    Away,
}

/// What the marker's decision means for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// It gets CE.
    Mark,
    /// It would be marked, cannot be, and is dropped.
    Drop,
}

impl Port {
    /// The port has a buffer of its own.
    pub const NO_POOL: u32 = u32::MAX - 3;
    /// This is only the end of the link's wire: the port that feeds it stands elsewhere.
    pub const CUT: u32 = u32::MAX - 2;
    /// What waits for the port stands beside it, in a queue of its discipline ([`Choice`]).
    pub const CHOOSES: u32 = u32::MAX - 1;
    /// A fault has taken the link down: the port takes nothing.
    pub const DOWN: u32 = u32::MAX;

    /// An idle port with an unlimited queue and no marking.
    pub fn new(rate: Rate, delay: Span, place: Place) -> Port {
        Port {
            ring: Ring::default(),
            waiting: 0,
            next_start: Instant::MAX,
            busy_until: Instant::ZERO,
            waiting_bytes: 0,
            transmission: rate.transmission(),
            delay,
            limit: u64::MAX,
            mark_above: u64::MAX,
            limit_in_bytes: false,
            marks_by_bytes: false,
            drop_unmarkable: false,
            place,
            pool: Port::NO_POOL,
            packets: 0,
            bytes: 0,
            beside: None,
        }
    }

    /// With a limit on what may wait and a marking threshold; `drop_unmarkable`: packets that cannot be marked are
    /// dropped where others are marked.
    pub fn limited(self, limit: Level, mark_above: Level, drop_unmarkable: bool) -> Port {
        Port {
            limit: limit.value,
            limit_in_bytes: limit.in_bytes,
            mark_above: mark_above.value,
            marks_by_bytes: mark_above.in_bytes,
            drop_unmarkable,
            beside: Some(Box::default()),
            ..self
        }
    }

    /// Takes a packet where nothing limits what may wait and nothing is marked, at a host's port. It has left when those
    /// before it have; gives the time of its arrival at the other end if it is first in line, to be scheduled. It
    /// arrives `late`, which is told how long its transmission takes, but keeps its place.
    #[inline(always)]
    pub fn transmit(&mut self, now: Instant, late: impl FnOnce(Span) -> Span, packet: Packet) -> Option<Instant> {
        let start = self.busy_until.max(now);
        let size = u64::from(packet.size);
        self.packets += 1;
        self.bytes += size;
        let transmission = self.transmission.of(Bytes(size));
        // An unlimited queue may take longer than `Instant` holds: then it does not end.
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
    #[inline(always)]
    pub fn offer(&mut self, now: Instant, packet: &Packet) -> Fate {
        self.offer_within(now, packet, self.limit())
    }

    /// As [`offer`](Port::offer), with what a shared buffer leaves to this port.
    #[inline(always)]
    pub fn offer_within(&mut self, now: Instant, packet: &Packet, limit: Level) -> Fate {
        self.settle(now);
        let size = u64::from(packet.size);
        // The queue's length counts those that wait and the one that arrives, not the one in transmission.
        let with_it = Length { packets: self.waiting_in_ring() + 1, bytes: self.waiting_bytes + size };
        let start = self.busy_until.max(now);
        let waits = start > now;
        if waits && limit.exceeded(with_it) {
            return self.drop();
        }
        let mut threshold = Threshold { above: Level { value: self.mark_above, in_bytes: self.marks_by_bytes } };
        let congested = threshold.arrives(packet, with_it, now);
        let flags = match self.verdict(congested, packet.flags) {
            Verdict::Pass => packet.flags,
            Verdict::Mark => self.mark(packet.flags),
            Verdict::Drop => return self.drop(),
        };
        if waits {
            self.queue(with_it, start, now);
        } else {
            self.waiting += 1;
        }
        self.packets += 1;
        self.bytes += size;
        self.busy_until = start.saturating_add(self.transmission.of(Bytes(size)));
        let at = self.busy_until.saturating_add(self.delay);
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
        if !packet.flags.has(Flags::EXTENDED) {
            slot.packet.wait_or_extension = units_of_wait(start - now);
        }
        slot.packet.route += 1;
        if first { Fate::First(at) } else { Fate::Queued }
    }

    /// What a marker's decision means for a packet with these flags.
    #[inline(always)]
    fn verdict(&self, congested: bool, flags: Flags) -> Verdict {
        if !congested {
            Verdict::Pass
        } else if flags.has(Flags::ECT) {
            Verdict::Mark
        } else if self.drop_unmarkable {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }

    /// Marks a packet.
    #[inline(always)]
    pub fn mark(&mut self, flags: Flags) -> Flags {
        self.watch_mut().marks += 1;
        flags.with(Flags::CE)
    }

    /// Whether a packet would not be dropped for lack of room within `limit`.
    #[inline]
    pub fn fits(&self, now: Instant, packet: &Packet, limit: Level) -> bool {
        let bytes = self.waiting_bytes + u64::from(packet.size);
        self.busy_until <= now || !limit.exceeded(Length { packets: self.waiting_in_ring() + 1, bytes })
    }

    /// One more waits, with which the queue is so long; its transmission begins at `start`.
    #[inline]
    fn queue(&mut self, with_it: Length, start: Instant, now: Instant) {
        if with_it.packets == 1 {
            self.next_start = start;
        }
        self.waiting_bytes = with_it.bytes;
        if let Some(Beside { watch, .. }) = self.beside.as_deref_mut() {
            watch.stay(with_it.packets - 1, now);
            watch.most_waiting = watch.most_waiting.max(with_it.packets);
        }
    }

    #[cold]
    fn drop(&mut self) -> Fate {
        self.count_drop();
        Fate::Dropped
    }

    /// Whether a packet could begin its transmission.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.busy_until <= now
    }
    /// When the transmission ends.
    pub fn idle_at(&self) -> Instant {
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

    /// Takes the packet that has arrived at the other end, and says when the next one will.
    #[inline(always)]
    pub fn take(&mut self, packet: &mut Packet) -> Option<Instant> {
        self.ring.take(packet)
    }

    /// What it has taken last, with the time of its arrival: it will be at the end of the link, wherever that is. Kept
    /// are those that wait, whose transmissions are still to begin, and this one, behind which others keep their order.
    #[inline]
    pub fn hand_over(&mut self) -> &Slot {
        let last = self.ring.tail() - 1;
        self.ring.drop_before(self.waiting.min(last));
        self.ring.at(last)
    }

    /// A packet will arrive at the end of the link; gives the time if it is first in line.
    #[inline]
    pub fn receive(&mut self, slot: &Slot) -> Option<Instant> {
        let first = self.ring.is_empty();
        if first {
            self.ring.rewind();
        }
        *self.ring.push() = *slot;
        first.then_some(slot.at)
    }

    /// Before it has sent anything: its wire takes so long, by the clocks at both ends.
    pub fn takes(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// Lets those that have begun their transmission by `now` leave the queue.
    #[inline]
    pub fn settle(&mut self, now: Instant) {
        while self.next_start <= now {
            self.leave();
        }
    }

    /// The first waiting packet begins its transmission.
    #[inline]
    fn leave(&mut self) {
        let first = self.ring.at(self.waiting);
        let size = u64::from(first.packet.size);
        // It will have left one propagation delay before it arrives.
        let next_start = first.at - self.delay;
        if let Some(Beside { watch, .. }) = self.beside.as_deref_mut() {
            watch.stay(self.ring.tail() - self.waiting, self.next_start);
        }
        self.waiting += 1;
        self.waiting_bytes -= size;
        self.next_start = if self.waiting == self.ring.tail() { Instant::MAX } else { next_start };
    }

    /// Packets that wait (as of the last [`settle`](Port::settle)).
    pub fn waiting(&self) -> u64 {
        self.choice().map_or_else(|| self.waiting_in_ring(), Choice::waiting)
    }
    /// As [`waiting`](Port::waiting), at a port that does not choose.
    #[inline]
    pub fn waiting_in_ring(&self) -> u64 {
        self.ring.tail() - self.waiting
    }
    /// Wire bytes that wait (as of the last [`settle`](Port::settle)).
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }
    /// Wire bytes that wait, also at a host's own port, which may keep no count of them: packets that wait there stand
    /// one behind the other up to the end of the last transmission.
    pub fn backlog(&self, now: Instant) -> u64 {
        if self.beside.is_some() {
            return self.waiting_bytes;
        }
        let (mut start, mut bytes) = (self.busy_until, 0);
        for position in (self.ring.head()..self.ring.tail()).rev() {
            let size = u64::from(self.ring.at(position).packet.size);
            start = start.earlier_by(self.transmission.of(Bytes(size)));
            if start <= now {
                break;
            }
            bytes += size;
        }
        bytes
    }
    /// Everything queued or on the wire.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let on_the_wire = self.ring.iter().map(|slot| &slot.packet);
        on_the_wire.chain(self.choice().into_iter().flat_map(Choice::packets))
    }
    /// For how long it has sent by `now`.
    pub fn sent_for(&self, now: Instant) -> Span {
        self.transmission.of(Bytes(self.bytes)).saturating_sub(self.busy_until.saturating_sub(now))
    }
    /// What has been seen here.
    pub fn watch(&self) -> &Watch {
        self.beside.as_ref().map_or(Watch::NOTHING, |beside| &beside.watch)
    }
    /// Brings what is watched up to `now` (as of the last [`settle`](Port::settle)).
    pub fn catch_up(&mut self, now: Instant) {
        let waiting = self.waiting();
        if let Some(beside) = &mut self.beside {
            beside.watch.stay(waiting, now);
        }
    }
    /// The warm-up ends: begins the distribution of waiting packets anew.
    pub fn warmed_up(&mut self) {
        let waiting = self.waiting();
        if let Some(beside) = &mut self.beside {
            beside.watch.warmed_up(waiting);
        }
    }

    fn watch_mut(&mut self) -> &mut Watch {
        &mut self.beside.as_mut().expect("a port without a limit, marks and a choice drops and marks nothing").watch
    }
}

/// How a packet notes its wait: in units of 1024 ps.
#[inline(always)]
pub fn units_of_wait(wait: Span) -> u32 {
    (wait.0 >> 10).min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: u64 = 1_000_000;

    fn packet(flags: Flags) -> Packet {
        Packet::data(0, 1460, 40, Instant::ZERO, flags)
    }

    #[test]
    fn a_port_takes_two_cache_lines() {
        assert_eq!(size_of::<Port>(), 128);
    }

    /// 1 Gbps: a full packet takes 12 us.
    fn port(limit: u64, mark: u64) -> Port {
        let level = |value| Level { value, in_bytes: false };
        Port::new(Rate::from_gbps(1), Span(20 * MICRO), Place::SwitchToHost).limited(level(limit), level(mark), false)
    }

    fn take(port: &mut Port) -> (Packet, Option<Instant>) {
        let mut packet = Packet::BLANK;
        let next = port.take(&mut packet);
        (packet, next)
    }

    fn offer(port: &mut Port, now: u64, flags: Flags) -> Fate {
        port.offer(Instant(now * MICRO), &packet(flags))
    }

    #[test]
    fn a_packet_arrives_after_wait_transmission_and_propagation() {
        let mut port = port(10, 10);
        assert_eq!(offer(&mut port, 0, Flags::NONE), Fate::First(Instant(32 * MICRO)));
        assert_eq!(offer(&mut port, 5, Flags::NONE), Fate::Queued);
        assert_eq!(take(&mut port).1, Some(Instant(44 * MICRO)));
        let (second, next) = take(&mut port);
        assert_eq!(next, None);
        // It waited 7 us, in units of 1024 ps.
        assert_eq!(u64::from(second.wait_or_extension), 7 * MICRO / 1024);
        assert_eq!(offer(&mut port, 100, Flags::NONE), Fate::First(Instant(132 * MICRO)));
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
        assert_eq!((port.watch().drops, port.watch().marks), (1, 1));
        // After 12 us one of the waiting has left the queue.
        assert_eq!(offer(&mut port, 12, Flags::NONE), Fate::Queued);
        assert_eq!(port.waiting(), 3);
    }

    /// Packets of 1500 B and thresholds in bytes: as many bytes as the threshold says are not more than it.
    #[test]
    fn limits_and_thresholds_in_bytes_count_wire_bytes() {
        let bytes = |value| Level { value, in_bytes: true };
        for (limit, mark, taken, marked) in [(4500, 3000, 4, 1), (4499, 2999, 3, 1), (4501, 4500, 4, 0)] {
            let mut port = Port::new(Rate::from_gbps(1), Span(20 * MICRO), Place::SwitchToHost).limited(
                bytes(limit),
                bytes(mark),
                false,
            );
            let fates = (0..6).filter(|_| offer(&mut port, 0, Flags::ECT) != Fate::Dropped).count();
            // One in transmission, then those that wait.
            assert_eq!((fates, port.watch().marks), (taken, marked), "{limit} B and {mark} B");
            assert_eq!(port.waiting_bytes(), 1500 * (taken as u64 - 1));
            assert_eq!(port.watch().drops, 6 - taken as u64);
        }
    }

    /// Room for one beside the packet in transmission, which takes 12 us.
    #[test]
    fn room_comes_free_at_the_very_instant_at_which_a_transmission_begins() {
        for (at, fate) in [(12 * MICRO - 1, Fate::Dropped), (12 * MICRO, Fate::Queued)] {
            let mut port = port(1, 100);
            offer(&mut port, 0, Flags::NONE);
            offer(&mut port, 0, Flags::NONE);
            assert_eq!(port.offer(Instant(at), &packet(Flags::NONE)), fate, "{at} ps");
        }
        // Without any room a port takes what it can begin at once, and that is from 12 us on.
        for (at, taken) in [(12 * MICRO - 1, false), (12 * MICRO, true)] {
            let mut port = port(0, 100);
            offer(&mut port, 0, Flags::NONE);
            assert_eq!(port.is_idle(Instant(at)), taken);
            assert_eq!(port.offer(Instant(at), &packet(Flags::NONE)) != Fate::Dropped, taken, "{at} ps");
        }
    }

    /// 1500, 500 and 1500 B take 12, 4 and 12 us.
    #[test]
    fn packets_of_different_sizes_leave_one_after_the_other() {
        let mut port = port(100, 100);
        for payload in [1460, 460, 1460, 460] {
            port.offer(Instant::ZERO, &Packet::data(0, payload, 40, Instant::ZERO, Flags::NONE));
        }
        for (at, waiting, bytes) in
            [(0, 3, 2500), (11, 3, 2500), (12, 2, 2000), (15, 2, 2000), (16, 1, 500), (28, 0, 0)]
        {
            port.settle(Instant(at * MICRO));
            assert_eq!((port.waiting(), port.waiting_bytes()), (waiting, bytes), "{at} us");
        }
        let arrivals: Vec<Option<Instant>> = (0..4).map(|_| take(&mut port).1).collect();
        assert_eq!(arrivals, [Some(Instant(36 * MICRO)), Some(Instant(48 * MICRO)), Some(Instant(52 * MICRO)), None]);
        // Of the 32 us of work it has done 10 after 10 us.
        assert_eq!(port.sent_for(Instant(10 * MICRO)), Span(10 * MICRO));
        assert_eq!(port.sent_for(Instant(100 * MICRO)), Span(32 * MICRO));
    }

    /// A host's NIC keeps no count of what waits; it follows from what is in its ring.
    #[test]
    fn the_backlog_of_a_nic_is_what_has_not_begun() {
        let mut nic = Port::new(Rate::from_gbps(1), Span(20 * MICRO), Place::HostToSwitch);
        assert_eq!(nic.backlog(Instant::ZERO), 0);
        for payload in [1460, 460, 1460] {
            nic.transmit(Instant::ZERO, |_| Span::ZERO, Packet::data(0, payload, 40, Instant::ZERO, Flags::NONE));
        }
        for (at, bytes) in [(0, 2000), (12 * MICRO - 1, 2000), (12 * MICRO, 1500), (16 * MICRO, 0), (28 * MICRO, 0)] {
            assert_eq!(nic.backlog(Instant(at)), bytes, "{at} ps");
        }
        take(&mut nic);
        assert_eq!(nic.backlog(Instant(12 * MICRO)), 1500);
        let mut switch = port(100, 100);
        (0..3).for_each(|_| _ = offer(&mut switch, 0, Flags::NONE));
        assert_eq!(switch.backlog(Instant::ZERO), 3000);
    }

    /// 12 us each, the first 9 us late, the others not at all: they wait behind it, and the wire is not idle.
    #[test]
    fn a_late_packet_costs_its_nic_nothing_and_is_not_overtaken() {
        let mut nic = Port::new(Rate::from_gbps(1), Span(20 * MICRO), Place::HostToSwitch);
        let launch = |nic: &mut Port, payload, late: u64| {
            nic.transmit(
                Instant::ZERO,
                |_| Span(late * MICRO),
                Packet::data(0, payload, 40, Instant::ZERO, Flags::NONE),
            )
        };
        assert_eq!(launch(&mut nic, 1460, 9), Some(Instant(41 * MICRO)));
        // 40 B take 0.32 us: it could be there at 32.32 us.
        assert_eq!(launch(&mut nic, 0, 0), None);
        assert_eq!(launch(&mut nic, 1460, 0), None);
        assert_eq!(nic.idle_at(), Instant(24_320_000));
        assert_eq!([take(&mut nic).1, take(&mut nic).1], [Some(Instant(41 * MICRO)), Some(Instant(44_320_000))]);
        let mut told = Span::ZERO;
        nic.transmit(
            Instant(100 * MICRO),
            |transmission| {
                told = transmission;
                Span::ZERO
            },
            packet(Flags::NONE),
        );
        assert_eq!(told, Span(12 * MICRO));
    }

    #[test]
    fn unmarkable_packets_are_dropped_above_the_threshold_if_asked() {
        let mut port = port(100, 1);
        port.drop_unmarkable = true;
        for _ in 0..3 {
            offer(&mut port, 0, Flags::NONE);
        }
        assert_eq!(port.watch().drops, 1);
    }

    #[test]
    fn a_port_knows_how_long_how_many_waited() {
        let mut port = port(100, 100);
        for _ in 0..3 {
            offer(&mut port, 0, Flags::NONE);
        }
        port.settle(Instant(100 * MICRO));
        port.catch_up(Instant(100 * MICRO));
        // Two waited for 12 us, then one for 12 us.
        assert_eq!(port.watch().levels[..2], [12 * MICRO, 12 * MICRO]);
        assert_eq!(port.watch().most_waiting, 2);
        // What comes after the warm-up is counted by itself.
        port.warmed_up();
        assert_eq!((port.watch().most_waiting, port.watch().levels[0]), (0, 0));
        offer(&mut port, 200, Flags::NONE);
        offer(&mut port, 205, Flags::NONE);
        port.settle(Instant(300 * MICRO));
        // From 205 to 212 us.
        assert_eq!((port.watch().most_waiting, port.watch().levels[0]), (1, 7 * MICRO));
    }

    #[test]
    fn a_port_counts_what_it_takes_and_drops_what_it_was_told_to() {
        let mut nic = Port::new(Rate::from_gbps(1), Span(20 * MICRO), Place::HostToSwitch);
        (0..3).for_each(|_| _ = nic.transmit(Instant::ZERO, |_| Span::ZERO, packet(Flags::NONE)));
        assert_eq!((nic.packets, nic.bytes), (3, 4500));
        for (drop_unmarkable, taken) in [(true, 2), (false, 3)] {
            let [limit, mark] = [100, 1].map(|value| Level { value, in_bytes: false });
            let mut port = Port::new(Rate::from_gbps(1), Span(20 * MICRO), Place::SwitchToHost).limited(
                limit,
                mark,
                drop_unmarkable,
            );
            (0..3).for_each(|_| _ = offer(&mut port, 0, Flags::NONE));
            assert_eq!((port.packets, port.bytes), (taken, 1500 * taken));
            assert!(port.packets().all(|packet| packet.route == 1), "each hop is one more");
        }
    }

    #[test]
    fn how_many_waited_changes_with_each_arrival() {
        let mut port = port(100, 100);
        for at in [0, 0, 5] {
            offer(&mut port, at, Flags::NONE);
        }
        let levels = |port: &Port| port.watch().levels[..3].to_vec();
        // One from 0 to 5 us, two up to 12, one up to 24.
        port.settle(Instant(20 * MICRO));
        port.catch_up(Instant(20 * MICRO));
        assert_eq!(levels(&port), [13 * MICRO, 7 * MICRO, 0]);
        port.settle(Instant(100 * MICRO));
        assert_eq!(levels(&port), [17 * MICRO, 7 * MICRO, 0]);
    }
}
