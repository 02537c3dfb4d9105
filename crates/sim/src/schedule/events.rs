//! Events, and their order.
//!
//! Every event has a [`Source`], and events are ordered by (time, rank, source). The rank is a function of the time and
//! the source, never of the time of insertion. Links are identified by the node at their end, traffic classes by their
//! position in the scenario, timers by the identity of their flow ([`Flow`](crate::flow::Flow)). The id of a
//! connection, which is reused, only serves to find it. A source has at most one valid event per point in time. So
//! neither the order of insertion, nor another class, nor the schedule of threads can change a result.
//!
//! Packets that arrive at the same instant are in an order that changes from instant to instant. On links of equal rate
//! such ties are common; if the lower id always won, its packets would always find the shorter queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{ClassId, ConnectionId, HostId, Instant, LinkId, Span, Table, mix64};

/// The source of an event: a kind and a number within it. The order of kinds at one instant:
///
/// - control messages and faults;
/// - arrivals at links;
/// - timers of connections, then of hosts;
/// - new messages;
/// - the end of the warm-up, samples and departures; then delayed packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source(u64);

/// An event: the kind and the number of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The packet at the head of this link reaches the link's end.
    Arrival(LinkId),
    /// The timer of this connection's sending end.
    SenderTimer(ConnectionId),
    /// The timer of this connection's receiving end.
    ReceiverTimer(ConnectionId),
    /// The generator of this class creates its next batch of messages.
    Generate(ClassId),
    /// The pending messages of this class with this start time are started.
    Start(ClassId),
    /// The end of the warm-up.
    WarmedUp,
    /// The time to sample signals.
    Sample,
    /// A transmission ends on this link, whose port's discipline then chooses the next packet. Any other event of that
    /// time at the port lets it do so first, so the order of this event does not matter.
    Departure(LinkId),
    /// A timer of this host's state fires.
    HostTimer(HostId),
    /// This host's port has room for the next sender that waits for its turn.
    HostTurn(HostId),
    /// A control message from the sending host of a connection arrives at the receiving one. A packet without payload
    /// that was sent after it may take as little time; it arrives after it.
    ControlMessage(ConnectionId),
    /// A fault begins or ends, or routing learns of it: the change of this number. It precedes everything but control
    /// messages of the same instant.
    Fault(u32),
    /// Enough was sent to fill a shared buffer: unless most of it is elsewhere, ports no longer defer enqueueing. It
    /// precedes everything but control messages of the same instant.
    Pressure,
    /// A packet that a fault has delayed at the end of this link, or its copy, is forwarded.
    Held(LinkId),
    /// The port before this link heeds a frame that pauses or resumes it.
    PauseFrame(LinkId),
}

impl Event {
    /// Returns the source of this event.
    pub(crate) fn source(self) -> Source {
        let (kind, number) = match self {
            Event::Arrival(link) => (0, link.0),
            Event::SenderTimer(connection) => (1, connection.0),
            Event::ReceiverTimer(connection) => (2, connection.0),
            Event::Generate(class) => (3, class.0),
            Event::Start(class) => (4, class.0),
            Event::WarmedUp => (5, 0),
            Event::Sample => (6, 0),
            Event::Departure(link) => (DEPARTURE, link.0),
            Event::HostTimer(host) => (HOST_TIMER, host.0),
            Event::HostTurn(host) => (HOST_TURN, host.0),
            Event::ControlMessage(connection) => (NOTICE, connection.0),
            Event::Fault(change) => (FAULT, change),
            Event::Pressure => (PRESSURE, 0),
            Event::Held(link) => (HELD, link.0),
            Event::PauseFrame(link) => (PAUSE_FRAME, link.0),
        };
        Source(kind << 32 | u64::from(number))
    }
}

impl Source {
    /// Returns the rank among events at the same time.
    #[inline]
    fn rank(self, at: u64) -> u64 {
        match self.0 >> 32 {
            // Of any two links each is first at half of the instants; neighbours mostly stay together.
            0 => 1 + (self.0 ^ (mix64(at) >> 32)),
            NOTICE | FAULT | PRESSURE => 0,
            // After the timers of connections.
            HOST_TIMER | HOST_TURN => (3 << KIND) - 1,
            kind => kind << KIND,
        }
    }

    #[inline]
    fn event(self) -> Event {
        let number = self.0 as u32;
        match self.0 >> 32 {
            0 => Event::Arrival(LinkId(number)),
            1 => Event::SenderTimer(ConnectionId(number)),
            2 => Event::ReceiverTimer(ConnectionId(number)),
            3 => Event::Generate(ClassId(number)),
            4 => Event::Start(ClassId(number)),
            5 => Event::WarmedUp,
            6 => Event::Sample,
            DEPARTURE => Event::Departure(LinkId(number)),
            NOTICE => Event::ControlMessage(ConnectionId(number)),
            FAULT => Event::Fault(number),
            PRESSURE => Event::Pressure,
            HELD => Event::Held(LinkId(number)),
            PAUSE_FRAME => Event::PauseFrame(LinkId(number)),
            HOST_TURN => Event::HostTurn(HostId(number)),
            _ => Event::HostTimer(HostId(number)),
        }
    }
}

/// The bit of a rank from which on it has the kind of its event; the bits below order timers.
const KIND: u32 = 60;
/// The kind of ends of transmissions.
const DEPARTURE: u64 = 7;
/// The kind of control messages, which precede everything else of the same instant.
const NOTICE: u64 = 8;
/// The kind of changes by faults, which follow them.
const FAULT: u64 = 9;
/// The kind of delayed packets, which follow everything else.
const HELD: u64 = 10;
/// The kind of hosts' timers.
const HOST_TIMER: u64 = 11;
/// The kind of turns at hosts' ports, which follow hosts' timers.
const HOST_TURN: u64 = 12;
/// The kind of the search for new headroom, which follows control messages.
const PRESSURE: u64 = 13;
/// The kind of frames that pause ports, which follow everything else.
const PAUSE_FRAME: u64 = 14;

/// Pending events. Arrivals within the horizon, nearly all of them, are in a timing wheel; all other events are in
/// heaps.
pub(crate) struct EventQueue {
    wheel: Wheel,
    far: Heaps,
    /// Cancelled arrivals that are still in the heaps. None is its first event: [`look_far`](EventQueue::look_far)
    /// removes it.
    cancelled: BinaryHeap<Reverse<EventKey>>,
    /// The time of the heaps' first event; `u64::MAX` if there is none.
    far_at: u64,
    /// An arrival that was [prefetched](EventQueue::take_prefetched) is the next event if its time is before this. No event
    /// scheduled since, no event of the heaps, and no limit on the time is earlier.
    clear_until: u64,
    /// The rank of the event that was last taken from the heaps.
    rank: u64,
    /// Arrivals to be rescheduled earlier: the old time, the new time, and the link.
    hastened: Vec<(Instant, Instant, LinkId)>,
}

/// The key of an event: its time, its rank among events of that time, its source.
pub(crate) type EventKey = (u64, u64, Source);

/// The last key of all.
pub(crate) const LAST: EventKey = (u64::MAX, u64::MAX, Source(u64::MAX));

/// Returns the key of an arrival at a link's end.
pub(crate) fn arrival(at: Instant, link: LinkId) -> EventKey {
    moment(at.0, Event::Arrival(link).source())
}

fn moment(at: u64, source: Source) -> EventKey {
    (at, source.rank(at), source)
}

impl EventQueue {
    /// Returns an empty queue for `links` links. On each, a packet takes at most about `longest_hop` from being first
    /// in the in-flight FIFO to its arrival.
    pub(crate) fn new(links: usize, longest_hop: Span) -> EventQueue {
        EventQueue {
            wheel: Wheel::new(links, longest_hop),
            far: Heaps::default(),
            cancelled: BinaryHeap::new(),
            far_at: u64::MAX,
            clear_until: 0,
            rank: 0,
            hastened: Vec::new(),
        }
    }

    /// Doubles the horizon of arrivals, before anything is scheduled.
    pub(crate) fn reach_twice_as_far(&mut self) {
        self.wheel.shift += 1;
    }

    /// Schedules the arrival of the packet at the head of `link`, which has none scheduled.
    #[inline]
    pub(crate) fn push_arrival(&mut self, now: Instant, at: Instant, link: LinkId) {
        if !self.wheel.push(at.0, link) {
            self.push_outside(now, at, link);
        }
    }

    /// As [`push_arrival`](EventQueue::push_arrival), for a time outside the turn of the wheel that began with the
    /// current bucket.
    #[cold]
    #[inline(never)]
    fn push_outside(&mut self, now: Instant, at: Instant, link: LinkId) {
        if self.wheel.push_outside(now.0, at.0, link) {
            self.clear_until = self.clear_until.min(at.0);
        } else {
            self.push_far(Arrival { at: at.0, link }.moment());
        }
    }

    /// Prefetches the next arrival of the wheel, in addition to `held` arrivals prefetched before. They stay pending
    /// until they [are executed](EventQueue::comes) or [put back](EventQueue::put_back).
    #[inline(always)]
    pub(crate) fn take_prefetched(&mut self, held: usize) -> Option<(Instant, LinkId)> {
        self.wheel.pop(held).map(|next| (Instant(next.at), next.link))
    }

    /// Returns whether the first prefetched arrival, for `at`, is certainly the next event. If so it is no longer
    /// pending.
    #[inline(always)]
    pub(crate) fn comes(&mut self, at: Instant) -> bool {
        let comes = at.0 < self.clear_until;
        self.wheel.pending -= usize::from(comes);
        comes
    }

    /// Returns a prefetched arrival to the wheel.
    pub(crate) fn put_back(&mut self, at: Instant, link: LinkId) {
        self.wheel.insert(Arrival { at: at.0, link });
    }

    /// Sets the limit before which prefetched arrivals [are executed](EventQueue::comes) to `until` or the heaps' first
    /// event. No arrival in the wheel may precede them.
    pub(crate) fn look_until(&mut self, until: Instant) {
        self.clear_until = self.far_at.min(until.0.saturating_add(1));
    }

    /// Lowers the limit before which prefetched arrivals [are executed](EventQueue::comes) to `until`.
    pub(crate) fn look_no_further(&mut self, until: Instant) {
        self.clear_until = self.clear_until.min(until.0.saturating_add(1));
    }

    /// Returns the next event by `until`, given the first prefetched arrival. No arrival in the wheel may precede that.
    pub(crate) fn pop_beside(&mut self, at: Instant, link: LinkId, until: Instant) -> Option<(Instant, Event)> {
        let near = Arrival { at: at.0, link }.moment();
        if self.far.first().is_some_and(|far| far < near) {
            return self.pop_far(until);
        }
        if at > until {
            return None;
        }
        self.wheel.pending -= 1;
        Some((at, Event::Arrival(link)))
    }

    /// Returns the number of arrivals pending in the wheel.
    pub(crate) fn arrivals(&self) -> usize {
        self.wheel.pending
    }

    /// Returns whether one arrival is after another.
    pub(crate) fn is_after(&self, one: (Instant, LinkId), other: (Instant, LinkId)) -> bool {
        let arrival = |(at, link): (Instant, LinkId)| Arrival { at: at.0, link };
        arrival(one).is_after(arrival(other))
    }

    /// Returns the first arrival in the wheel's current bucket or scheduled before it.
    pub(crate) fn first_due(&self) -> Option<(Instant, LinkId)> {
        self.wheel.current.last().map(|first| (Instant(first.at), first.link))
    }

    /// Cancels the arrival at `link` scheduled for `at`: its packet is lost. In a heap it is only marked, so that the
    /// cost does not grow with the number of timers there.
    pub(crate) fn cancel_arrival(&mut self, at: Instant, link: LinkId) {
        if !self.wheel.cancel(Arrival { at: at.0, link }) {
            self.cancelled.push(Reverse(arrival(at, link)));
            self.look_far();
        }
    }

    /// Removes all arrivals; none may be prefetched.
    pub(crate) fn clear_arrivals(&mut self, now: Instant) {
        self.wheel.clear(now.0);
        self.far.retain(|moment| !matches!(moment.2.event(), Event::Arrival(_)));
        self.cancelled.clear();
        self.hastened.clear();
        self.look_far();
    }

    /// Reschedules the arrival at `link` from `from` to the earlier time `to`.
    #[inline(never)]
    pub(crate) fn reschedule_earlier(&mut self, now: Instant, from: Instant, to: Instant, link: LinkId) {
        if self.wheel.unlink(Arrival { at: from.0, link }) {
            self.push_arrival(now, to, link);
        } else {
            // It may have been taken ahead.
            self.clear_until = self.clear_until.min(to.0);
            self.hastened.push((from, to, link));
        }
    }

    /// Returns whether an arrival that may have been prefetched is to be [rescheduled](EventQueue::reschedule_earlier). Then no
    /// arrival may stay prefetched.
    pub(crate) fn has_rescheduled(&self) -> bool {
        !self.hastened.is_empty()
    }

    /// Applies the pending calls of [`reschedule_earlier`](EventQueue::reschedule_earlier). Nothing may be prefetched.
    pub(crate) fn reschedule_all_earlier(&mut self, now: Instant) {
        for (from, to, link) in std::mem::take(&mut self.hastened) {
            self.cancel_arrival(from, link);
            self.push_arrival(now, to, link);
        }
    }

    /// Schedules any event but an arrival and a timer.
    pub(crate) fn push(&mut self, at: Instant, event: Event) {
        self.push_far(moment(at.0, event.source()));
    }

    /// Cancels an event that is no arrival.
    pub(crate) fn cancel(&mut self, event: Event) {
        self.far.retain(|moment| moment.2 != event.source());
        self.look_far();
    }

    /// Schedules a timer with an order (60 bits) among the timers of its kind at the same time.
    pub(crate) fn push_timer(&mut self, at: Instant, timer: Event, order: u64) {
        let source = timer.source();
        self.push_far((at.0, source.rank(at.0) | order, source));
    }

    /// Returns whether the timer that has just fired was scheduled with this order, and not by a flow that had the id
    /// before.
    pub(crate) fn was_timer(&self, at: Instant, timer: Event, order: u64) -> bool {
        self.rank == timer.source().rank(at.0) | order
    }

    fn push_far(&mut self, moment: EventKey) {
        self.far_at = self.far_at.min(moment.0);
        self.clear_until = self.clear_until.min(moment.0);
        self.far.push(moment);
    }

    fn look_far(&mut self) {
        if !self.cancelled.is_empty() {
            self.remove_cancelled();
        }
        self.far_at = self.far.first().map_or(u64::MAX, |far| far.0);
    }

    /// Removes cancelled arrivals from the front of the heaps.
    #[cold]
    fn remove_cancelled(&mut self) {
        while let Some(Reverse(cancelled)) = self.cancelled.peek() {
            match self.far.first() {
                Some(first) if first < *cancelled => return,
                Some(first) if first == *cancelled => self.far.pop(first),
                // It was not scheduled.
                _ => {}
            }
            self.cancelled.pop();
        }
    }

    /// Returns whether there is an event by `at` other than arrivals.
    #[inline]
    pub(crate) fn has_more_by(&self, at: Instant) -> bool {
        self.far_at <= at.0
    }

    /// Returns the time of the next event.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let near = self.wheel.first_at();
        let far = self.far.first().map(|far| far.0);
        near.into_iter().chain(far).min().map(Instant)
    }

    /// Removes and returns the next event, if its time is at most `until`.
    pub(crate) fn pop(&mut self, until: Instant) -> Option<(Instant, Event)> {
        let Some(near) = self.wheel.pop(0) else { return self.pop_far(until) };
        if self.far_at <= near.at && self.far.first().is_some_and(|far| far < near.moment()) {
            self.wheel.put_back(near);
            return self.pop_far(until);
        }
        if near.at > until.0 {
            self.wheel.put_back(near);
            return None;
        }
        self.wheel.pending -= 1;
        Some((Instant(near.at), Event::Arrival(near.link)))
    }

    /// Removes and returns the first event of the heaps, if its time is at most `until`. Not inlined: few events are
    /// there.
    #[inline(never)]
    fn pop_far(&mut self, until: Instant) -> Option<(Instant, Event)> {
        let first @ (at, rank, source) = self.far.first()?;
        if at > until.0 {
            return None;
        }
        self.far.pop(first);
        self.rank = rank;
        self.look_far();
        Some((Instant(at), source.event()))
    }
}

/// Events in order. Ends of transmissions and turns at ports are many, and soon over: they have a heap of their own,
/// which is small however many timers there are.
#[derive(Default)]
struct Heaps {
    soon: BinaryHeap<Reverse<EventKey>>,
    others: BinaryHeap<Reverse<EventKey>>,
}

impl Heaps {
    fn of(&mut self, source: Source) -> &mut BinaryHeap<Reverse<EventKey>> {
        match source.0 >> 32 {
            DEPARTURE | HOST_TURN | NOTICE => &mut self.soon,
            _ => &mut self.others,
        }
    }

    fn push(&mut self, moment: EventKey) {
        self.of(moment.2).push(Reverse(moment));
    }

    /// Returns the first event.
    #[inline]
    fn first(&self) -> Option<EventKey> {
        match (self.soon.peek(), self.others.peek()) {
            (Some(Reverse(soon)), Some(Reverse(other))) => Some(*soon.min(other)),
            (soon, other) => soon.or(other).map(|Reverse(moment)| *moment),
        }
    }

    /// Removes the first event, which is this one.
    #[inline]
    fn pop(&mut self, first: EventKey) {
        self.of(first.2).pop();
    }

    fn retain(&mut self, keep: impl Fn(&EventKey) -> bool) {
        for heap in [&mut self.soon, &mut self.others] {
            heap.retain(|Reverse(moment)| keep(moment));
        }
    }
}

/// An arrival in the wheel. Its rank is computed only if another one has the same time.
#[derive(Clone, Copy)]
struct Arrival {
    at: u64,
    link: LinkId,
}

impl Arrival {
    fn moment(self) -> EventKey {
        moment(self.at, Event::Arrival(self.link).source())
    }

    #[inline]
    fn is_after(self, other: Arrival) -> bool {
        if self.at == other.at { self.moment() > other.moment() } else { self.at > other.at }
    }
}

const BUCKETS: u64 = 1024;
const NONE: LinkId = LinkId(u32::MAX);

/// A timing wheel over links, each of which has at most one pending arrival. A bucket is a list threaded through the
/// links, sorted only when the wheel reaches it. O(1) per event.
struct Wheel {
    /// The remaining arrivals of the bucket of `cursor`, including later additions, latest first.
    current: Vec<Arrival>,
    /// The bucket that is being emptied, counted from time zero.
    cursor: u64,
    /// A bucket spans 2^shift ps.
    shift: u32,
    /// Number of pending arrivals: in all buckets, in `current`, and prefetched ones.
    pending: usize,
    /// One bit per bucket that is not empty.
    occupied: [u64; (BUCKETS / 64) as usize],
    /// First link of each bucket's list.
    heads: [LinkId; BUCKETS as usize],
    /// Per link: its time and the next link in its bucket.
    entries: Table<LinkId, (u64, LinkId)>,
}

impl Wheel {
    fn new(links: usize, longest_hop: Span) -> Wheel {
        // Half of the wheel spans the longest hop, so that nearly nothing falls off its end.
        let span = (longest_hop.0 * 2 / BUCKETS).max(1);
        Wheel {
            current: Vec::new(),
            cursor: 0,
            shift: 64 - span.leading_zeros(),
            pending: 0,
            occupied: [0; (BUCKETS / 64) as usize],
            heads: [NONE; BUCKETS as usize],
            entries: vec![(0, NONE); links].into(),
        }
    }

    /// Empties all buckets, and the turn that began with the current one.
    fn clear(&mut self, now: u64) {
        self.current.clear();
        self.cursor = now >> self.shift;
        self.pending = 0;
        self.occupied.fill(0);
        self.heads.fill(NONE);
    }

    /// Adds an arrival; returns false if `at` is outside the wheel.
    #[inline(always)]
    fn push(&mut self, at: u64, link: LinkId) -> bool {
        let bucket = at >> self.shift;
        // Wraps for the current bucket and those before.
        if bucket.wrapping_sub(self.cursor + 1) >= BUCKETS - 1 {
            return false;
        }
        let slot = (bucket % BUCKETS) as usize;
        self.entries[link] = (at, self.heads[slot]);
        self.heads[slot] = link;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.pending += 1;
        true
    }

    /// As [`push`](Wheel::push), for a time outside the turn of the wheel that began with the current bucket.
    fn push_outside(&mut self, now: u64, at: u64, link: LinkId) -> bool {
        let bucket = at >> self.shift;
        if self.pending == 0 {
            // The wheel has not turned since its last arrival.
            self.cursor = now >> self.shift;
            if bucket != self.cursor && bucket - self.cursor < BUCKETS {
                return self.push(at, link);
            }
        }
        if bucket > self.cursor {
            return false;
        }
        self.pending += 1;
        self.insert(Arrival { at, link });
        true
    }

    /// Puts an arrival into the current bucket.
    fn insert(&mut self, arrival: Arrival) {
        if self.current.last().is_none_or(|first| first.is_after(arrival)) {
            self.current.push(arrival);
        } else {
            let place = self.current.partition_point(|entry| entry.is_after(arrival));
            self.current.insert(place, arrival);
        }
    }

    /// Removes an arrival; returns false if it is not in the wheel.
    fn cancel(&mut self, arrival: Arrival) -> bool {
        let is_it = |entry: &Arrival| (entry.at, entry.link) == (arrival.at, arrival.link);
        let place = self.current.partition_point(|entry| entry.is_after(arrival));
        if self.current.get(place).is_some_and(is_it) {
            self.current.remove(place);
            self.pending -= 1;
            return true;
        }
        self.unlink(arrival)
    }

    /// Removes an arrival from its bucket; returns false if it is not there.
    fn unlink(&mut self, arrival: Arrival) -> bool {
        let slot = (arrival.at >> self.shift) % BUCKETS;
        let (mut before, mut link) = (NONE, self.heads[slot as usize]);
        while link != NONE {
            let (at, next) = self.entries[link];
            if (at, link) == (arrival.at, arrival.link) {
                match before {
                    NONE => self.heads[slot as usize] = next,
                    before => self.entries[before].1 = next,
                }
                if self.heads[slot as usize] == NONE {
                    self.occupied[(slot / 64) as usize] &= !(1 << (slot % 64));
                }
                self.pending -= 1;
                return true;
            }
            (before, link) = (link, next);
        }
        false
    }

    /// Removes and returns the next arrival, which still counts as pending.
    #[inline(always)]
    fn pop(&mut self, held: usize) -> Option<Arrival> {
        match self.current.pop() {
            Some(next) => Some(next),
            None if self.pending == held => None,
            None => Some(self.turn()),
        }
    }

    /// Returns the last removed arrival to the current bucket.
    fn put_back(&mut self, next: Arrival) {
        self.current.push(next);
    }

    /// Advances to the next bucket that is not empty, mostly of one arrival, and removes its first. There must be one.
    #[inline(always)]
    fn turn(&mut self) -> Arrival {
        let start = self.cursor + 1;
        let mut word = ((start % BUCKETS) / 64) as usize;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        while bits == 0 {
            word = (word + 1) % self.occupied.len();
            bits = self.occupied[word];
        }
        let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
        self.cursor = start + slot.wrapping_sub(start) % BUCKETS;
        self.occupied[word] &= !(1 << (slot % 64));
        let link = std::mem::replace(&mut self.heads[slot as usize], NONE);
        let (at, next) = self.entries[link];
        let arrival = Arrival { at, link };
        if next == NONE { arrival } else { self.first_of(arrival, next) }
    }

    /// Sorts the current bucket, which has the given arrival, the one of `link` and its successors. Removes and returns
    /// the first.
    #[inline(never)]
    fn first_of(&mut self, arrival: Arrival, mut link: LinkId) -> Arrival {
        let (at, behind) = self.entries[link];
        // Mostly there are two.
        if behind == NONE {
            let other = Arrival { at, link };
            let is_other = arrival.is_after(other);
            self.current.push(if is_other { arrival } else { other });
            return if is_other { other } else { arrival };
        }
        self.current.push(arrival);
        while link != NONE {
            let (at, next) = self.entries[link];
            self.current.push(Arrival { at, link });
            link = next;
        }
        self.current.sort_unstable_by(|a, b| b.at.cmp(&a.at).then_with(|| b.moment().cmp(&a.moment())));
        self.current.pop().unwrap_or(arrival)
    }
}

impl Wheel {
    /// Returns the time of the first arrival, without advancing to it.
    fn first_at(&self) -> Option<u64> {
        if let Some(first) = self.current.last() {
            return Some(first.at);
        }
        if self.pending == 0 {
            return None;
        }
        let start = (self.cursor + 1) % BUCKETS;
        let mut word = (start / 64) as usize;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        while bits == 0 {
            word = (word + 1) % self.occupied.len();
            bits = self.occupied[word];
        }
        let mut first = u64::MAX;
        let mut link = self.heads[word * 64 + bits.trailing_zeros() as usize];
        while link != NONE {
            let (at, next) = self.entries[link];
            first = first.min(at);
            link = next;
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    /// Random arrivals and timers are returned in the order of (time, rank, source), whatever the wheel's width.
    #[test]
    fn events_come_in_order() {
        for longest_hop in [Span(1), Span::from_micros(1), Span::from_micros(100), Span::from_millis(10)] {
            let mut stream = Stream::new(1, "events", longest_hop.0);
            let mut queue = EventQueue::new(100, longest_hop);
            let mut pending: Vec<EventKey> = Vec::new();
            let mut now = Instant::ZERO;
            let schedule = |queue: &mut EventQueue, pending: &mut Vec<_>, now: Instant, link, stream: &mut Stream| {
                let spread = [1, 50, 100_000, 40_000_000, 3_000_000_000][stream.below(5) as usize];
                let at = Instant(now.0 + stream.below(spread));
                queue.push_arrival(now, at, link);
                pending.push(moment(at.0, Event::Arrival(link).source()));
            };
            (0..100).map(LinkId).for_each(|link| schedule(&mut queue, &mut pending, now, link, &mut stream));
            for step in 0..20_000 {
                if step % 7 == 0 {
                    // Often several at the same time.
                    let at = Instant(now.0 + 100_000 * stream.below(10));
                    let (timer, order) = (Event::SenderTimer(ConnectionId(step)), stream.bits() >> 4);
                    queue.push_timer(at, timer, order);
                    pending.push((at.0, 1 << 60 | order, timer.source()));
                }
                let expected = *pending.iter().min().unwrap();
                assert_eq!(queue.next_at(), Some(Instant(expected.0)));
                let (at, event) = queue.pop(Instant::MAX).unwrap();
                assert_eq!((at.0, event.source()), (expected.0, expected.2));
                pending.retain(|entry| *entry != expected);
                assert!(at >= now, "time runs back");
                now = at;
                if let Event::Arrival(link) = event {
                    schedule(&mut queue, &mut pending, now, link, &mut stream);
                }
            }
        }
    }

    /// Cancelled arrivals are not returned, whatever bucket they are in, and all others are.
    #[test]
    fn arrivals_that_are_taken_back_do_not_come() {
        for longest_hop in [Span(1), Span::from_micros(1), Span::from_micros(100), Span::from_millis(10)] {
            let mut stream = Stream::new(1, "events", longest_hop.0);
            let mut queue = EventQueue::new(50, longest_hop);
            let (mut now, mut pending) = (Instant::ZERO, std::collections::BTreeMap::new());
            for step in 0..20_000 {
                let link = LinkId(stream.below(50) as u32);
                match pending.remove(&link) {
                    Some(at) => queue.cancel_arrival(at, link),
                    None => {
                        let spread = [1, 50, 100_000, 40_000_000, 3_000_000_000][stream.below(5) as usize];
                        let at = Instant(now.0 + stream.below(spread));
                        queue.push_arrival(now, at, link);
                        pending.insert(link, at);
                    }
                }
                if step % 3 == 0 && !pending.is_empty() {
                    let (at, event) = queue.pop(Instant::MAX).expect("something is pending");
                    let Event::Arrival(link) = event else { panic!("{event:?}") };
                    assert_eq!(Some(&at), pending.values().min());
                    assert_eq!(pending.remove(&link), Some(at));
                    now = at;
                }
            }
            while let Some((at, event)) = queue.pop(Instant::MAX) {
                let Event::Arrival(link) = event else { panic!("{event:?}") };
                assert_eq!(pending.remove(&link), Some(at));
            }
            assert!(pending.is_empty());
        }
    }

    /// Among 100 000 timers, an arrival in the heap is cancelled and scheduled again 20 000 times, in part for the same
    /// time. A search of the heap for each would take minutes.
    #[test]
    fn cancelled_arrivals_in_the_heap_do_not_come() {
        let mut queue = EventQueue::new(2, Span(1));
        let far = Instant(1 << 40);
        (0..100_000).for_each(|timer| queue.push_timer(Instant(far.0 + timer), Event::Sample, 0));
        for step in 0..20_000 {
            let at = Instant(far.0 - step % 3 - 1);
            queue.push_arrival(Instant::ZERO, at, LinkId(1));
            queue.cancel_arrival(at, LinkId(1));
        }
        assert_eq!(queue.next_at(), Some(far));
        let at = Instant(far.0 + 5);
        queue.push_arrival(Instant::ZERO, at, LinkId(1));
        queue.cancel_arrival(at, LinkId(1));
        queue.push_arrival(Instant::ZERO, at, LinkId(1));
        // One that was never scheduled hides nothing.
        queue.cancel_arrival(Instant(far.0 + 2), LinkId(0));
        let arrivals = std::iter::from_fn(|| queue.pop(Instant::MAX)).filter(|(_, event)| *event != Event::Sample);
        assert_eq!(arrivals.collect::<Vec<_>>(), [(at, Event::Arrival(LinkId(1)))]);
    }

    /// Rescheduled arrivals are returned at their new times, whatever bucket they are in and beyond the wheel; all
    /// others are unchanged.
    #[test]
    fn arrivals_that_are_hastened_come_earlier() {
        for longest_hop in [Span(1), Span::from_micros(1), Span::from_micros(100), Span::from_millis(10)] {
            let mut stream = Stream::new(1, "events", longest_hop.0);
            let mut queue = EventQueue::new(50, longest_hop);
            let mut now = Instant::ZERO;
            let mut pending: std::collections::BTreeMap<LinkId, Instant> = Default::default();
            for _ in 0..20_000 {
                let link = LinkId(stream.below(50) as u32);
                match pending.get_mut(&link) {
                    Some(at) => {
                        let to = Instant(now.0 + stream.below(at.0 - now.0 + 1));
                        queue.reschedule_earlier(now, *at, to, link);
                        *at = to;
                    }
                    None => {
                        let spread = [1, 50, 100_000, 40_000_000, 3_000_000_000][stream.below(5) as usize];
                        let at = Instant(now.0 + stream.below(spread));
                        queue.push_arrival(now, at, link);
                        pending.insert(link, at);
                    }
                }
                if stream.below(3) == 0 {
                    queue.reschedule_all_earlier(now);
                    let (at, event) = queue.pop(Instant::MAX).expect("something is pending");
                    let Event::Arrival(link) = event else { panic!("{event:?}") };
                    assert_eq!(Some(&at), pending.values().min());
                    assert_eq!(pending.remove(&link), Some(at));
                    now = at;
                }
            }
        }
    }

    /// An id is reused while the timer of the flow that had it is still pending. Both fire at one instant, in the order
    /// of their flows, which does not depend on the id.
    #[test]
    fn of_two_flows_that_have_had_a_number_each_has_its_timer() {
        let mut queue = EventQueue::new(1, Span::from_micros(20));
        let (at, timer) = (Instant(100), Event::SenderTimer(ConnectionId(5)));
        queue.push_timer(at, timer, 7);
        queue.push_timer(at, timer, 3);
        for (order, other) in [(3, 7), (7, 3)] {
            assert_eq!(queue.pop(Instant::MAX), Some((at, timer)));
            assert!(queue.was_timer(at, timer, order) && !queue.was_timer(at, timer, other));
        }
        // Hosts' timers have a fixed order.
        queue.push_timer(at, Event::HostTimer(HostId(2)), 2);
        assert_eq!(queue.pop(Instant::MAX), Some((at, Event::HostTimer(HostId(2)))));
        assert!(queue.was_timer(at, Event::HostTimer(HostId(2)), 2));
    }

    #[test]
    fn nothing_comes_after_the_end() {
        let mut queue = EventQueue::new(1, Span::from_micros(20));
        queue.push_arrival(Instant::ZERO, Instant(100), LinkId(0));
        assert_eq!(queue.pop(Instant(99)), None);
        assert_eq!(queue.pop(Instant(100)), Some((Instant(100), Event::Arrival(LinkId(0)))));
        assert_eq!(queue.pop(Instant::MAX), None);
    }

    #[test]
    fn sources_are_taken_apart_as_they_were_put_together() {
        for event in [
            Event::Arrival(LinkId(7)),
            Event::SenderTimer(ConnectionId(1)),
            Event::ReceiverTimer(ConnectionId(2)),
            Event::Generate(ClassId(3)),
            Event::Start(ClassId(4)),
            Event::WarmedUp,
            Event::Sample,
            Event::Departure(LinkId(8)),
            Event::ControlMessage(ConnectionId(9)),
            Event::Fault(10),
            Event::Pressure,
            Event::Held(LinkId(11)),
            Event::PauseFrame(LinkId(12)),
            Event::HostTimer(HostId(12)),
        ] {
            assert_eq!(event.source().event(), event);
        }
    }

    #[test]
    fn of_two_links_each_comes_first_at_half_of_the_instants() {
        for (a, b) in [(0, 1), (3, 4), (7, 1000)] {
            let when = |at, link| moment(at, Event::Arrival(LinkId(link)).source());
            let share = (0..10_000).filter(|&at| when(at, a) < when(at, b)).count();
            assert!((4_800..5_200).contains(&share), "{a} before {b}: {share} of 10000");
        }
    }
}
