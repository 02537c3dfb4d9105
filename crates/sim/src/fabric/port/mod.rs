//! A port and the wire behind it, with its queue and its marker.
//!
//! Hosts and switches have the same ports. Nearly all are first in, first out and mark above a threshold, if at all.
//! Such a port knows on a packet's arrival when the packet will depart, so a packet-hop costs one event: the arrival at
//! the other end. The length of the queue follows from the times at which queued packets begin their transmission.
//! Every other [discipline](crate::fabric::qdisc) or [marker](crate::fabric::marker) is part of the port's cold state ([`QdiscState`]); the port then
//! decides at each departure.

mod backlog;
pub(crate) mod deferred;
mod faulty;
mod mode;
mod pending;
mod qdisc_state;
mod watch;

pub(crate) use mode::{BufferIndex, PortMode};
pub(crate) use qdisc_state::QdiscState;
pub(crate) use watch::Watch;

use transport::{Flags, Packet};
use units::{Bytes, Instant, Rate, Span, Transmission};

use crate::fabric::level::{Length, Level};
use crate::fabric::marker::{Marker, Threshold};
use crate::fabric::packet_pool::{InFlight, NONE, PacketPool, Slot};
use backlog::Backlog;
use pending::{PendingArrivals, Reordered};

/// A port with its queue, and the wire to the next node. It has two cache lines, and uses a third while packets are
/// queued. The first contains everything needed at the end of the wire.
#[repr(C, align(64))]
pub(crate) struct Port {
    /// The in-flight FIFO: packets on the wire, in transmission, and queued unless the port has a queueing discipline.
    line: InFlight,
    /// Slot of the first packet that is still queued, or [`NONE`].
    waiting: u32,
    /// Number of queued packets.
    waiting_packets: u32,
    /// Wire bytes of the queued packets.
    waiting_bytes: u64,
    /// Start of the transmission of the first queued packet.
    next_start: Instant,
    /// End of the last packet's transmission.
    busy_until: Instant,
    delay: Span,
    /// Cold state, unused by most packets at a host's port; `None` where none is ever needed.
    cold: Option<Box<ColdState>>,
    /// The way in which it takes packets and sends them on.
    pub mode: PortMode,
    /// The link's role in the network.
    pub place: LinkRole,
    limits: Limits,
    drop_unmarkable: bool,
    /// Some arrivals are reordered: they precede others that were sent earlier.
    any_early: bool,
    transmission: Transmission,
    /// Packets that were accepted.
    pub packets: u64,
    /// At a switch's port, the longest queue; at a host's, see [`open`](Port::open).
    limit: u64,
    /// Their wire bytes. (Not next to `packets`: the compiler would update both at once, with three times the
    /// instructions.)
    pub bytes: u64,
    mark_above: u64,
    /// Pending arrivals, with deferred enqueue. If the port sends to such ports, `due` is the arrival time of the last
    /// packet sent.
    pending: PendingArrivals,
}

/// Flags in one byte, so that a port takes two cache lines. They tell which limits count bytes, not packets. They also
/// tell whether a packet of a [usual](Limits::USUAL) size passes unmarked when it is alone, and skips the port's discipline.
#[derive(Clone, Copy)]
struct Limits(u8);

impl Limits {
    /// A size in bytes that exceeds a jumbo frame.
    const USUAL: u16 = 1 << 14;

    fn of(limit: Level, mark_above: Level) -> Limits {
        let largest = Length { packets: 1, bytes: Limits::USUAL.into() };
        let one_passes = !(limit.exceeded(largest) || mark_above.exceeded(largest));
        Limits(u8::from(limit.in_bytes) | u8::from(mark_above.in_bytes) << 1 | u8::from(one_passes) << 2)
    }
    #[inline(always)]
    fn limit_in_bytes(self) -> bool {
        self.0 & 1 != 0
    }
    #[inline(always)]
    fn mark_in_bytes(self) -> bool {
        self.0 & 2 != 0
    }
    #[inline(always)]
    fn one_passes(self) -> bool {
        self.0 & 4 != 0
    }
    #[inline(always)]
    fn one_skips(self) -> bool {
        self.0 & 8 != 0
    }
    fn skipping(self, one_skips: bool) -> Limits {
        Limits(self.0 & !8 | u8::from(one_skips) << 3)
    }
}

/// The cold state of a port.
#[derive(Default)]
struct ColdState {
    watch: Watch,
    choice: Option<QdiscState>,
    /// The packets queued at a host's port that is first in, first out.
    backlog: Backlog,
    /// The reordered pending arrivals.
    early: Reordered,
}

/// The role of a link: the kinds of nodes at its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkRole {
    /// A host's NIC, connected to a switch.
    HostToSwitch,
    /// A host's NIC, connected to another host.
    HostToHost,
    /// A link within the network.
    SwitchToSwitch,
    /// The last hop, to a host.
    SwitchToHost,
}

impl LinkRole {
    /// Returns the role of a link by whether its ends are hosts.
    pub fn of(from_host: bool, to_host: bool) -> LinkRole {
        match (from_host, to_host) {
            (true, false) => LinkRole::HostToSwitch,
            (true, true) => LinkRole::HostToHost,
            (false, false) => LinkRole::SwitchToSwitch,
            (false, true) => LinkRole::SwitchToHost,
        }
    }

    /// Returns the role in words, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            LinkRole::HostToSwitch => "hosts to switches",
            LinkRole::HostToHost => "hosts to hosts",
            LinkRole::SwitchToSwitch => "switches to switches",
            LinkRole::SwitchToHost => "switches to hosts",
        }
    }

    /// Returns whether the wire ends at a host.
    #[inline]
    pub fn to_host(self) -> bool {
        matches!(self, LinkRole::HostToHost | LinkRole::SwitchToHost)
    }
    /// Returns whether the port is a switch's.
    pub fn at_switch(self) -> bool {
        !self.at_host()
    }
    /// Returns whether the port is a host's.
    pub fn at_host(self) -> bool {
        matches!(self, LinkRole::HostToSwitch | LinkRole::HostToHost)
    }
}

/// The result of offering a packet to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is first in line; its arrival at the other end must be scheduled for this time.
    First(Instant),
    /// It follows others, or its arrival is scheduled already.
    Queued,
    /// There was no room, or it could not be marked.
    Dropped,
    /// It is sent to the end of the link at once; the caller determines where that is.
    Away,
}

/// The consequence of the marker's decision for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No consequence: the packet passes unmarked.
    Pass,
    /// The packet gets CE.
    Mark,
    /// It would be marked, cannot be, and is dropped.
    Drop,
}

/// The queue and the times of a packet that is not dropped.
struct Admitted {
    /// Length of the queue with the packet, if it is queued.
    with_it: Length,
    /// Start of its transmission.
    start: Instant,
    /// Time of its arrival at the other end.
    at: Instant,
}

impl Port {
    /// Returns an idle port with an unlimited queue and no marking.
    pub(crate) fn new(rate: Rate, delay: Span, place: LinkRole) -> Port {
        Port {
            line: InFlight::default(),
            waiting: NONE,
            waiting_packets: 0,
            next_start: Instant::MAX,
            busy_until: Instant::ZERO,
            waiting_bytes: 0,
            transmission: rate.transmission(),
            delay,
            limit: u64::MAX,
            mark_above: u64::MAX,
            limits: Limits::of(Level::INFINITE, Level::INFINITE),
            drop_unmarkable: false,
            any_early: false,
            place,
            mode: PortMode::Own,
            packets: 0,
            bytes: 0,
            pending: PendingArrivals::EMPTY,
            cold: None,
        }
    }

    /// Returns the port with a limit on its queue and a marking threshold. With `drop_unmarkable`, packets that cannot
    /// be marked are dropped where others are marked.
    pub(crate) fn limited(self, limit: Level, mark_above: Level, drop_unmarkable: bool) -> Port {
        Port {
            limit: limit.value,
            mark_above: mark_above.value,
            limits: Limits::of(limit, mark_above),
            drop_unmarkable,
            cold: Some(Box::default()),
            ..self
        }
    }

    /// Sends a packet of `size` bytes at a host's port with an unlimited queue and no marking, behind all packets
    /// before it. Returns its arrival time at the other end, delayed by `late`, a function of the transmission time.
    #[inline(always)]
    pub(crate) fn launch(&mut self, now: Instant, late: impl FnOnce(Span) -> Span, size: u16) -> Instant {
        let start = self.busy_until.max(now);
        let size = u64::from(size);
        self.packets += 1;
        self.bytes += size;
        if start > now {
            self.joins_backlog(now, start, size);
        }
        let transmission = self.transmission.of(Bytes(size));
        // An unlimited queue may take longer than `Instant` holds: then it does not end.
        self.busy_until = start.saturating_add(transmission);
        self.busy_until.saturating_add(self.delay + late(transmission))
    }

    /// Puts the packet in slot `number`, [launched](Port::launch) before, into the in-flight FIFO. It arrives at `at`
    /// or later, as it keeps its order. Returns the time if it is first in the FIFO, to be scheduled.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, packet_pool: &mut PacketPool, number: u32, at: Instant) -> Option<Instant> {
        let first = self.line.is_empty();
        self.line.push(packet_pool, number, |last| last.map_or(at, |last| at.max(last)));
        first.then_some(at)
    }

    /// As [`transmit`](Port::transmit), for a packet that is not kept in the FIFO. Returns its arrival time.
    #[inline(always)]
    pub(crate) fn keeps_order(&mut self, at: Instant) -> Instant {
        self.pending.due = at.max(self.pending.due);
        self.pending.due
    }

    /// Queues a packet of `size` bytes at a host's port until `start`.
    #[inline(never)]
    fn joins_backlog(&mut self, now: Instant, start: Instant, size: u64) {
        let ColdState { backlog, watch, .. } = &mut **self.cold.get_or_insert_default();
        backlog.add(watch, now, start, size);
    }

    /// Returns whether a host's port accepts a packet now from a sender outside its turn.
    #[inline(always)]
    pub(crate) fn has_room(&self, now: Instant) -> bool {
        self.busy_until.saturating_sub(now).0 < self.limit
    }

    /// Makes a host's port that is first in, first out accept packets while its backlog takes at most `room` to send.
    pub(crate) fn open(&mut self, room: Span) {
        if self.choice().is_none() {
            self.limit = room.0.saturating_add(1);
        }
    }

    /// Makes a host's port that is first in, first out accept packets only from senders whose turn it is.
    pub(crate) fn close(&mut self) {
        if self.choice().is_none() {
            self.limit = 0;
        }
    }

    /// Makes a host's port that chooses each packet [have no room](Port::has_room) for senders that have not asked.
    pub(crate) fn refuse_unasked(&mut self) {
        self.limit = 0;
    }

    /// Accepts the packet in slot `number`, which has arrived by another link, or drops it: then the caller frees the
    /// slot.
    #[inline(always)]
    pub(crate) fn offer(&mut self, packet_pool: &mut PacketPool, now: Instant, number: u32) -> Fate {
        self.advance_to(packet_pool, now);
        self.accept(packet_pool, now, number, self.limit(), 1)
    }

    /// As [`offer`](Port::offer), within the port's limit in a shared buffer, after [`advance_to`](Port::advance_to).
    #[inline(always)]
    pub(crate) fn offer_within(
        &mut self,
        packet_pool: &mut PacketPool,
        now: Instant,
        number: u32,
        limit: Level,
    ) -> Fate {
        debug_assert!(self.next_start > now);
        self.accept(packet_pool, now, number, limit, 1)
    }

    /// As [`offer`](Port::offer), for a packet that [passes](Port::pass) an idle port; `None` if nothing has changed.
    #[inline(always)]
    pub(crate) fn offer_idle(&mut self, packet_pool: &mut PacketPool, now: Instant, number: u32) -> Option<Fate> {
        let at = self.pass(now, packet_pool.packet_mut(number))?;
        Some(self.receive(packet_pool, number, at).map_or(Fate::Queued, Fate::First))
    }

    /// Accepts a packet that has arrived by another link while the port is idle and the queue empty, if it passes
    /// unmarked alone. Returns its arrival time at the other end; `None` if nothing has changed.
    // One question, for which a processor guesses one branch.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Instant, packet: &mut Packet) -> Option<Instant> {
        let passes = (self.busy_until <= now)
            & (self.waiting == NONE)
            & self.limits.one_passes()
            & (packet.size <= Limits::USUAL)
            & !packet.flags.has(Flags::EXTENDED);
        if !passes {
            return None;
        }
        let size = u64::from(packet.size);
        self.packets += 1;
        self.bytes += size;
        self.busy_until = now.saturating_add(self.transmission.of(Bytes(size)));
        packet.wait_or_extension = 0;
        packet.route += 1;
        Some(self.busy_until.saturating_add(self.delay))
    }

    /// As [`offer`](Port::offer), at a port whose wire ends elsewhere. Returns the time of the packet's arrival there
    /// and leaves the slot to the caller; `None` if the packet is dropped.
    #[inline(always)]
    pub(crate) fn offer_away(&mut self, packet_pool: &mut PacketPool, now: Instant, number: u32) -> Option<Instant> {
        self.advance_to(packet_pool, now);
        let admitted = self.admit(packet_pool.packet_mut(number), now, self.limit(), 1)?;
        if admitted.start > now {
            let copy = packet_pool.at(number).packet;
            self.keep_copy(packet_pool, copy, now, &admitted);
        }
        Some(admitted.at)
    }

    /// As [`offer_away`](Port::offer_away), for a packet outside the packet pool.
    #[inline(never)]
    pub(crate) fn offer_outside(
        &mut self,
        packet_pool: &mut PacketPool,
        now: Instant,
        packet: &mut Packet,
    ) -> Option<Instant> {
        self.advance_to(packet_pool, now);
        let admitted = self.admit(packet, now, self.limit(), 1)?;
        if admitted.start > now {
            self.keep_copy(packet_pool, *packet, now, &admitted);
        }
        Some(admitted.at)
    }

    /// Keeps a copy of a queued packet here too, so that the length of the queue is known.
    #[cold]
    fn keep_copy(&mut self, packet_pool: &mut PacketPool, copy: Packet, now: Instant, admitted: &Admitted) {
        let &Admitted { with_it, start, at } = admitted;
        self.drop_until(packet_pool, self.waiting);
        let number = packet_pool.put(copy);
        self.line.push(packet_pool, number, |_| at);
        self.queue(with_it, start, now);
    }

    /// As [`offer_within`](Port::offer_within), after packets in transmission have left the queue.
    #[inline(always)]
    fn accept(&mut self, packet_pool: &mut PacketPool, now: Instant, number: u32, limit: Level, hops: u32) -> Fate {
        let Some(Admitted { with_it, start, at }) = self.admit(packet_pool.packet_mut(number), now, limit, hops) else {
            return Fate::Dropped;
        };
        let first = self.line.is_empty();
        self.line.push(packet_pool, number, |_| at);
        if start > now {
            // Behind the one in transmission, at least.
            self.queue(with_it, start, now);
            return Fate::Queued;
        }
        if first { Fate::First(at) } else { Fate::Queued }
    }

    /// Decides on a packet and, unless it is dropped, writes its marks and its wait into it. It is not yet in the
    /// in-flight FIFO. Its route advances by `hops`.
    #[inline(always)]
    fn admit(&mut self, packet: &mut Packet, now: Instant, limit: Level, hops: u32) -> Option<Admitted> {
        let size = u64::from(packet.size);
        // The queue's length counts the queued packets and the arriving one, not the one in transmission.
        let with_it = Length { packets: self.waiting_in_line() + 1, bytes: self.waiting_bytes + size };
        let start = self.busy_until.max(now);
        if start > now && limit.exceeded(with_it) {
            return self.drop();
        }
        let mut threshold = Threshold { above: self.mark_above() };
        let congested = threshold.decides(packet, with_it, now);
        let flags = match self.verdict(congested, packet.flags) {
            Verdict::Pass => packet.flags,
            Verdict::Mark => self.mark(packet.flags),
            Verdict::Drop => return self.drop(),
        };
        self.packets += 1;
        self.bytes += size;
        self.busy_until = start.saturating_add(self.transmission.of(Bytes(size)));
        // A pending arrival may be taken at once, and its read as a whole would wait for a write here. So unchanged
        // fields are not written.
        let may_be_taken = hops == 0;
        if !(may_be_taken && packet.flags == flags) {
            packet.flags = flags;
        }
        let wait = units_of_wait(start - now);
        if !(flags.has(Flags::EXTENDED) || may_be_taken && packet.wait_or_extension == wait) {
            packet.wait_or_extension = wait;
        }
        packet.route += hops;
        Some(Admitted { with_it, start, at: self.busy_until.saturating_add(self.delay) })
    }

    /// Returns the consequence of a marker's decision for a packet with these flags.
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

    /// Returns the flags with CE, and counts the mark.
    #[inline(always)]
    pub(crate) fn mark(&mut self, flags: Flags) -> Flags {
        self.watch_mut().marks += 1;
        flags.with(Flags::CE)
    }

    /// Returns whether a packet would not be dropped for lack of room within `limit`.
    #[inline]
    pub(crate) fn fits(&self, now: Instant, packet: &Packet, limit: Level) -> bool {
        let bytes = self.waiting_bytes + u64::from(packet.size);
        self.busy_until <= now || !limit.exceeded(Length { packets: self.waiting_in_line() + 1, bytes })
    }

    /// Queues the last packet in the FIFO, given the length of the queue with it and the `start` of its transmission.
    #[inline]
    fn queue(&mut self, with_it: Length, start: Instant, now: Instant) {
        if with_it.packets == 1 {
            (self.waiting, self.next_start) = (self.line.last(), start);
        }
        self.waiting_packets += 1;
        self.waiting_bytes = with_it.bytes;
        if let Some(ColdState { watch, .. }) = self.cold.as_deref_mut() {
            watch.stay(with_it.packets - 1, now);
            watch.max_waiting = watch.max_waiting.max(with_it.packets);
        }
    }

    #[cold]
    fn drop(&mut self) -> Option<Admitted> {
        self.count_drop();
        None
    }

    /// Returns whether a packet could begin its transmission.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.busy_until <= now
    }
    /// Returns the end of the current transmission.
    pub(crate) fn idle_at(&self) -> Instant {
        self.busy_until
    }
    /// Returns the limit on the queue.
    pub(crate) fn limit(&self) -> Level {
        Level { value: self.limit, in_bytes: self.limits.limit_in_bytes() }
    }
    fn marks_above(&mut self, level: Level) {
        let limits = Limits::of(self.limit(), level).skipping(self.limits.one_skips());
        (self.mark_above, self.limits) = (level.value, limits);
    }
    /// Returns the marking threshold.
    #[inline(always)]
    fn mark_above(&self) -> Level {
        Level { value: self.mark_above, in_bytes: self.limits.mark_in_bytes() }
    }
    /// Counts a dropped packet.
    pub(crate) fn count_drop(&mut self) {
        self.watch_mut().drops += 1;
    }

    /// Returns the slot of the packet that arrives next. There must be one.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.line.first()
    }

    /// Removes the packet in slot `number`, the first, from the in-flight FIFO: it has arrived at the other end.
    /// Returns the arrival time of the next. The packet must not count as [queued](Port::first_waits).
    #[inline(always)]
    pub(crate) fn take(&mut self, packet_pool: &PacketPool, number: u32) -> Option<Instant> {
        debug_assert!(!self.first_waits());
        self.line.pop(packet_pool, number)
    }

    /// Returns whether the first packet in flight counts as queued, although its transmission may have begun since the
    /// last [`advance_to`](Port::advance_to). There must be one.
    #[inline(always)]
    pub(crate) fn first_waits(&self) -> bool {
        self.waiting == self.line.first()
    }

    /// Returns the last accepted packet, with its arrival time at the end of the link, wherever that is. The port keeps
    /// the queued packets, whose transmissions have not begun, and this last one, behind which others keep their order.
    #[inline]
    pub(crate) fn pass_on<'packet_pool>(&mut self, packet_pool: &'packet_pool mut PacketPool) -> &'packet_pool Slot {
        let last = self.line.last();
        self.drop_until(packet_pool, if self.waiting == NONE { last } else { self.waiting });
        packet_pool.at(last)
    }

    /// Frees the packets in flight before slot `number`, or all.
    fn drop_until(&mut self, packet_pool: &mut PacketPool, number: u32) {
        while self.line.first() != number {
            let gone = self.line.first();
            self.line.pop(packet_pool, gone);
            packet_pool.free(gone);
        }
    }

    /// Adds the packet in slot `number`, which arrives at the end of the link at `at`. Returns the time if it is first
    /// in the FIFO.
    #[inline]
    pub(crate) fn receive(&mut self, packet_pool: &mut PacketPool, number: u32, at: Instant) -> Option<Instant> {
        let first = self.line.is_empty();
        self.line.push(packet_pool, number, |_| at);
        first.then_some(at)
    }

    /// Sets the delay of the wire, by the clocks at both ends, before anything is sent.
    pub(crate) fn takes(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// Removes from the queue the packets whose transmission has begun by `now`.
    #[inline]
    pub(crate) fn advance_to(&mut self, packet_pool: &PacketPool, now: Instant) {
        while self.next_start <= now {
            self.leave(packet_pool);
        }
    }

    /// Begins the transmission of the first queued packet.
    #[inline]
    pub(crate) fn leave(&mut self, packet_pool: &PacketPool) {
        let (first, behind) = packet_pool.at_and_behind(self.waiting);
        let size = u64::from(first.packet.size);
        // It will have left one propagation delay before it arrives.
        let next_start = first.at - self.delay;
        if let Some(ColdState { watch, .. }) = self.cold.as_deref_mut() {
            watch.stay(u64::from(self.waiting_packets), self.next_start);
        }
        self.waiting = behind;
        self.waiting_packets -= 1;
        self.waiting_bytes -= size;
        self.next_start = if behind == NONE { Instant::MAX } else { next_start };
    }

    /// Returns the number of queued packets, as of the last [`advance_to`](Port::advance_to); at a host's port, of the last
    /// [`catch_up`](Port::catch_up).
    pub(crate) fn waiting(&self) -> u64 {
        match self.cold.as_deref() {
            Some(ColdState { choice: None, backlog, .. }) if self.place.at_host() => backlog.packets(),
            _ => self.waiting_in_line(),
        }
    }
    /// As [`waiting`](Port::waiting), at a port without a queueing discipline.
    #[inline]
    pub(crate) fn waiting_in_line(&self) -> u64 {
        u64::from(self.waiting_packets)
    }
    /// Returns the queued wire bytes, as of the last [`advance_to`](Port::advance_to).
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }
    /// Returns the queued wire bytes, also at a host's port.
    pub(crate) fn backlog(&mut self, now: Instant) -> u64 {
        match self.cold.as_deref_mut() {
            Some(ColdState { choice: None, backlog, watch, .. }) if self.place.at_host() => backlog.bytes(watch, now),
            _ => self.waiting_bytes,
        }
    }
    /// Returns all packets queued or on the wire.
    pub(crate) fn packets<'a>(&'a self, packet_pool: &'a PacketPool) -> impl Iterator<Item = &'a Packet> {
        let on_the_wire = self.line.iter(packet_pool).map(|slot| &slot.packet);
        on_the_wire.chain(self.choice().into_iter().flat_map(QdiscState::packets))
    }
    /// Returns the time spent sending by `now`.
    pub(crate) fn sent_for(&self, now: Instant) -> Span {
        self.transmission.of(Bytes(self.bytes)).saturating_sub(self.busy_until.saturating_sub(now))
    }
    /// Returns the observations of this port.
    pub(crate) fn watch(&self) -> &Watch {
        self.cold.as_ref().map_or(Watch::NOTHING, |cold| &cold.watch)
    }
    /// Brings the observations up to `now` (as of the last [`advance_to`](Port::advance_to)).
    pub(crate) fn catch_up(&mut self, now: Instant) {
        if let Some(ColdState { backlog, watch, .. }) = self.cold.as_deref_mut() {
            backlog.advance_to(watch, now);
        }
        let waiting = self.waiting();
        if let Some(cold) = &mut self.cold {
            cold.watch.stay(waiting, now);
        }
    }
    /// Ends the warm-up: begins the distribution of queued packets anew.
    pub(crate) fn warmed_up(&mut self) {
        let waiting = self.waiting();
        if let Some(cold) = &mut self.cold {
            cold.watch.warmed_up(waiting);
        }
    }

    fn watch_mut(&mut self) -> &mut Watch {
        &mut self.cold.as_mut().expect("a port without a limit, marks and a choice drops and marks nothing").watch
    }
}

/// Returns a packet's record of its wait, in units of 1024 ps.
#[inline(always)]
pub(crate) fn units_of_wait(wait: Span) -> u32 {
    (wait.0 >> 10).min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::{Deref, DerefMut};

    /// A port with a packet pool of its own.
    pub(super) struct Alone {
        port: Port,
        packet_pool: PacketPool,
    }

    impl Alone {
        pub(super) fn new(port: Port) -> Alone {
            Alone { port, packet_pool: PacketPool::default() }
        }
        pub(super) fn transmit(
            &mut self,
            at: Instant,
            late: impl FnOnce(Span) -> Span,
            packet: Packet,
        ) -> Option<Instant> {
            let at = self.port.launch(at, late, packet.size);
            let number = self.packet_pool.put(packet);
            self.port.transmit(&mut self.packet_pool, number, at)
        }
        pub(super) fn offer(&mut self, at: Instant, packet: &Packet) -> Fate {
            let number = self.packet_pool.put(*packet);
            let fate = self.port.offer(&mut self.packet_pool, at, number);
            if fate == Fate::Dropped {
                self.packet_pool.free(number);
            }
            fate
        }
        pub(super) fn take(&mut self) -> (Packet, Option<Instant>) {
            let mut packet = Packet::BLANK;
            if self.port.first_waits() {
                self.port.leave(&self.packet_pool);
            }
            let number = self.port.first();
            let next = self.port.take(&self.packet_pool, number);
            self.packet_pool.take(number, &mut packet);
            (packet, next)
        }
        pub(super) fn advance_to(&mut self, at: Instant) {
            self.port.advance_to(&self.packet_pool, at);
        }
        pub(super) fn flush(&mut self, at: Instant) -> Vec<Packet> {
            self.port.flush(&mut self.packet_pool, at)
        }
        pub(super) fn first_arrival(&self) -> Option<Instant> {
            self.port.first_arrival(&self.packet_pool)
        }
        pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
            self.port.packets(&self.packet_pool)
        }
    }

    impl Deref for Alone {
        type Target = Port;
        fn deref(&self) -> &Port {
            &self.port
        }
    }

    impl DerefMut for Alone {
        fn deref_mut(&mut self) -> &mut Port {
            &mut self.port
        }
    }

    const MICRO: u64 = 1_000_000;

    fn packet(flags: Flags) -> Packet {
        Packet::data(0, 1460, 40, Instant::ZERO, flags)
    }

    #[test]
    fn a_port_takes_two_cache_lines() {
        assert_eq!(size_of::<Port>(), 128);
    }

    /// 1 Gbps: a full packet takes 12 us.
    fn port(limit: u64, mark: u64) -> Alone {
        let level = |value| Level { value, in_bytes: false };
        limited(level(limit), level(mark), false)
    }

    fn limited(limit: Level, mark: Level, drop_unmarkable: bool) -> Alone {
        let port = Port::new(Rate::from_gbps(1), Span(20 * MICRO), LinkRole::SwitchToHost);
        Alone::new(port.limited(limit, mark, drop_unmarkable))
    }

    fn nic() -> Alone {
        Alone::new(Port::new(Rate::from_gbps(1), Span(20 * MICRO), LinkRole::HostToSwitch))
    }

    fn offer(port: &mut Alone, now: u64, flags: Flags) -> Fate {
        port.offer(Instant(now * MICRO), &packet(flags))
    }

    #[test]
    fn a_packet_arrives_after_wait_transmission_and_propagation() {
        let mut port = port(10, 10);
        assert_eq!(offer(&mut port, 0, Flags::NONE), Fate::First(Instant(32 * MICRO)));
        assert_eq!(offer(&mut port, 5, Flags::NONE), Fate::Queued);
        assert_eq!(port.take().1, Some(Instant(44 * MICRO)));
        let (second, next) = port.take();
        assert_eq!(next, None);
        // It waited 7 us, in units of 1024 ps.
        assert_eq!(u64::from(second.wait_or_extension), 7 * MICRO / 1024);
        assert_eq!(offer(&mut port, 100, Flags::NONE), Fate::First(Instant(132 * MICRO)));
    }

    #[test]
    fn the_one_in_transmission_does_not_count_for_limits_and_marks() {
        let mut port = port(3, 2);
        let marked = |port: &Alone| port.packets().map(|packet| packet.flags.has(Flags::CE)).collect::<Vec<_>>();
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
            let mut port = limited(bytes(limit), bytes(mark), false);
            let fates = (0..6).filter(|_| offer(&mut port, 0, Flags::ECT) != Fate::Dropped).count();
            // One in transmission, then the queued ones.
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
            port.advance_to(Instant(at * MICRO));
            assert_eq!((port.waiting(), port.waiting_bytes()), (waiting, bytes), "{at} us");
        }
        let arrivals: Vec<Option<Instant>> = (0..4).map(|_| port.take().1).collect();
        assert_eq!(arrivals, [Some(Instant(36 * MICRO)), Some(Instant(48 * MICRO)), Some(Instant(52 * MICRO)), None]);
        // Of the 32 us of work it has done 10 after 10 us.
        assert_eq!(port.sent_for(Instant(10 * MICRO)), Span(10 * MICRO));
        assert_eq!(port.sent_for(Instant(100 * MICRO)), Span(32 * MICRO));
    }

    /// 12, 4 and 12 us, and each as late as it takes, which changes nothing here.
    #[test]
    fn the_backlog_of_a_nic_is_what_has_not_begun() {
        let mut nic = nic();
        assert_eq!(nic.backlog(Instant::ZERO), 0);
        for payload in [1460, 460, 1460] {
            let packet = Packet::data(0, payload, 40, Instant::ZERO, Flags::NONE);
            nic.transmit(Instant::ZERO, |transmission| transmission, packet);
        }
        for (at, bytes) in [(0, 2000), (12 * MICRO - 1, 2000), (12 * MICRO, 1500), (16 * MICRO, 0), (28 * MICRO, 0)] {
            assert_eq!(nic.backlog(Instant(at)), bytes, "{at} ps");
        }
        // Two waited until 12 us, one until 16 us.
        nic.catch_up(Instant(28 * MICRO));
        assert_eq!((nic.watch().levels[..3].to_vec(), nic.watch().max_waiting), (vec![4 * MICRO, 12 * MICRO, 0], 2));
        let mut switch = port(100, 100);
        (0..3).for_each(|_| _ = offer(&mut switch, 0, Flags::NONE));
        assert_eq!(switch.backlog(Instant::ZERO), 3000);
    }

    /// Full packets take 12 us, and 20 us to the other end. The first has arrived there when the port is examined
    /// again, and so has the second, which was queued. Other ports' packets reuse the slots of these two.
    #[test]
    fn what_has_arrived_waits_no_more_though_nobody_has_looked() {
        let (mut port, mut other) = (port(100, 100), Port::new(Rate::from_gbps(1), Span::ZERO, LinkRole::HostToSwitch));
        (0..4).for_each(|_| _ = offer(&mut port, 0, Flags::NONE));
        assert!(!port.first_waits());
        assert_eq!(port.take().1, Some(Instant(44 * MICRO)));
        assert!(port.first_waits());
        assert_eq!((port.take().1, port.waiting(), port.waiting_bytes()), (Some(Instant(56 * MICRO)), 2, 3000));
        for _ in 0..2 {
            let number = port.packet_pool.put(Packet::BLANK);
            other.transmit(&mut port.packet_pool, number, Instant::ZERO);
        }
        // They began after 12, 24 and 36 us.
        for (at, waiting) in [(23, 2), (24, 1), (35, 1), (36, 0)] {
            port.advance_to(Instant(at * MICRO));
            assert_eq!((port.waiting(), port.waiting_bytes()), (waiting, 1500 * waiting), "{at} us");
        }
        port.catch_up(Instant(50 * MICRO));
        assert_eq!(port.watch().levels[..4], [12 * MICRO, 12 * MICRO, 12 * MICRO, 0]);
    }

    /// A packet that is handed over leaves the port. Queued packets stay, so that the length of the queue is known, and
    /// so does the last.
    #[test]
    fn a_port_that_hands_over_keeps_what_waits_and_the_last() {
        let mut port = port(100, 100);
        for (at, kept, arrives) in [(0, 1, 32), (0, 1, 44), (0, 2, 56), (12, 2, 68), (100, 1, 132)] {
            offer(&mut port, at, Flags::NONE);
            let Alone { port: cut, packet_pool } = &mut port;
            assert_eq!(cut.pass_on(packet_pool).at, Instant(arrives * MICRO));
            assert_eq!(port.packets().count(), kept, "{at} us");
        }
    }

    /// Sends packets up to `apart` us apart to two equal ports, one of which transmits every accepted packet at once.
    /// They must mark, drop, count and time alike. Every second packet may pass there, if `pass` is set. Returns that
    /// port, and the number that passed.
    fn side_by_side(
        ports: [Alone; 2],
        apart: u64,
        most: usize,
        pass: bool,
        flags: impl Fn(u64) -> Flags,
    ) -> (Alone, u32) {
        let [mut here, mut away] = ports;
        let mut stream = units::Stream::new(1, "arrivals", 0);
        let (mut now, mut passed) = (Instant::ZERO, 0);
        for seq in 0..2000 {
            now += Span(stream.below(apart) * MICRO);
            let packet = Packet::data(seq, 1 + stream.below(1460) as u32, 40, now, flags(seq));
            // It has waited somewhere else.
            let packet = Packet { wait_or_extension: 77, ..packet };
            let fate = here.offer(now, &packet);
            let Alone { port, packet_pool } = &mut away;
            let number = packet_pool.put(packet);
            let passes = if pass && seq % 2 == 0 { port.pass(now, packet_pool.packet_mut(number)) } else { None };
            passed += u32::from(passes.is_some());
            let arrives = passes.or_else(|| port.offer_away(packet_pool, now, number));
            assert_eq!(arrives.is_none(), fate == Fate::Dropped);
            if let Some(at) = arrives {
                let last = here.packet_pool.at(here.port.line.last());
                assert!((at, packet_pool.at(number).packet) == (last.at, last.packet));
            }
            packet_pool.free(number);
            let queue = |port: &Port| (port.waiting(), port.waiting_bytes(), port.idle_at(), port.packets, port.bytes);
            assert_eq!(queue(&here), queue(&away));
            let watch = |port: &Port| {
                let watch = port.watch();
                (watch.drops, watch.marks, watch.max_waiting, watch.levels.clone())
            };
            assert_eq!(watch(&here), watch(&away));
            assert!(away.packets().count() <= most, "{} are kept", away.packets().count());
            while here.first_arrival().is_some_and(|first| first <= now) {
                here.take();
            }
        }
        (away, passed)
    }

    /// A port that sends packets away at once marks, drops, counts and times as one that keeps them. It holds no more
    /// packets than may be queued.
    #[test]
    fn what_goes_away_at_once_waits_like_what_is_kept() {
        let (away, _) = side_by_side([port(5, 2), port(5, 2)], 12, 5, false, |_| Flags::ECT);
        assert!(away.watch().drops > 50 && away.watch().marks > 200, "{} drops", away.watch().drops);
    }

    /// So does a port that lets packets pass when they are alone; it lets none pass that might be marked or dropped.
    #[test]
    fn what_passes_alone_would_have_been_let_through() {
        let [packets, bytes] = [false, true].map(|in_bytes| move |value| Level { value, in_bytes });
        for (limit, mark, drop_unmarkable, some_pass) in [
            (packets(5), packets(2), false, true),
            (packets(5), packets(2), true, true),
            // Some are marked, or dropped, though nothing waits.
            (packets(5), packets(0), false, false),
            (packets(5), packets(0), true, false),
            (bytes(7500), bytes(1000), false, false),
            (bytes(900), bytes(70_000), false, false),
            (bytes(70_000), bytes(16_384), false, true),
            (bytes(70_000), bytes(16_383), false, false),
        ] {
            let ports = [(); 2].map(|()| limited(limit, mark, drop_unmarkable));
            let most = if limit.in_bytes { limit.value / 41 } else { limit.value } as usize;
            let flags = |seq| if seq % 4 == 1 { Flags::NONE } else { Flags::ECT };
            let (away, passed) = side_by_side(ports, 15, most, true, flags);
            assert_eq!(passed > 10, some_pass, "{passed} have passed");
            let Watch { drops, marks, .. } = away.watch();
            assert!(mark.value > 1000 || drops + marks > 150, "{drops} drops, {marks} marks");
        }
    }

    /// 12 us each, the first 9 us late, the others not at all: they wait behind it, and the wire is not idle.
    #[test]
    fn a_late_packet_costs_its_nic_nothing_and_is_not_overtaken() {
        let mut nic = nic();
        let launch = |nic: &mut Alone, payload, late: u64| {
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
        assert_eq!([nic.take().1, nic.take().1], [Some(Instant(41 * MICRO)), Some(Instant(44_320_000))]);
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
        port.advance_to(Instant(100 * MICRO));
        port.catch_up(Instant(100 * MICRO));
        // Two waited for 12 us, then one for 12 us.
        assert_eq!(port.watch().levels[..2], [12 * MICRO, 12 * MICRO]);
        assert_eq!(port.watch().max_waiting, 2);
        // Packets after the warm-up are counted separately.
        port.warmed_up();
        assert_eq!((port.watch().max_waiting, port.watch().levels[0]), (0, 0));
        offer(&mut port, 200, Flags::NONE);
        offer(&mut port, 205, Flags::NONE);
        port.advance_to(Instant(300 * MICRO));
        // From 205 to 212 us.
        assert_eq!((port.watch().max_waiting, port.watch().levels[0]), (1, 7 * MICRO));
    }

    #[test]
    fn a_port_counts_what_it_takes_and_drops_what_it_was_told_to() {
        let mut nic = nic();
        (0..3).for_each(|_| _ = nic.transmit(Instant::ZERO, |_| Span::ZERO, packet(Flags::NONE)));
        assert_eq!((nic.packets, nic.bytes), (3, 4500));
        for (drop_unmarkable, taken) in [(true, 2), (false, 3)] {
            let [limit, mark] = [100, 1].map(|value| Level { value, in_bytes: false });
            let mut port = limited(limit, mark, drop_unmarkable);
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
        let levels = |port: &Alone| port.watch().levels[..3].to_vec();
        // One from 0 to 5 us, two up to 12, one up to 24.
        port.advance_to(Instant(20 * MICRO));
        port.catch_up(Instant(20 * MICRO));
        assert_eq!(levels(&port), [13 * MICRO, 7 * MICRO, 0]);
        port.advance_to(Instant(100 * MICRO));
        assert_eq!(levels(&port), [17 * MICRO, 7 * MICRO, 0]);
    }
}
