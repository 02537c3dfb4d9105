//! The expected data of a receiving host, and the order in which it is granted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use units::{Bytes, ConnectionId, HostId, Instant, Rate, Span};

use super::limits::Limits;
use super::policy::{Order, time_of};
use super::shedding::{Job, shed, shed_some};
use super::{Answer, Ask, Grant, Header, Policy, Probe};
use crate::host::End;
use crate::{Extension, Flags, Packet};

/// All data in flight, or announced, to one host.
#[derive(Debug)]
pub(super) struct Incoming {
    policy: Policy,
    /// The rate of the link to the host, and the wire bytes of each data packet there beside its data.
    rate: Rate,
    overhead: u64,
    /// The flows by their connections.
    flows: BTreeMap<ConnectionId, Flow>,
    /// The flows in the order of grants, the first first; and the flows without a deadline that share the rest, since there
    /// is no time for them.
    order: Vec<ConnectionId>,
    background: Vec<ConnectionId>,
    /// The connections whose late data is to be asked for, with its start, end and priority.
    probes: Vec<(ConnectionId, Granted)>,
    /// The time at which this order was computed, if it is still valid.
    arranged: Option<Instant>,
    senders: BTreeMap<HostId, Limits>,
    /// Payload in flight to this host.
    in_flight: u64,
    /// Utilization of the host's link.
    link: Link,
    /// The time of the last arrival, and the last time at which no packet can have been queued for the link.
    last_arrival: Instant,
    idle_at: Instant,
    /// Number of grants so far.
    grants: u64,
    /// The time at which the link has carried all granted data, if it begins with each grant at once.
    carried_at: Instant,
    /// The time from which the next one may be granted, if the last attempt was too early.
    resume: Instant,
    /// Number of segments expected so far, with or without a grant.
    segments: u64,
    /// The times at which segments in flight are late: time, connection, number of the segment. Some have arrived.
    late_at: BinaryHeap<Reverse<(Instant, ConnectionId, u64)>>,
}

/// The receiver's state of one connection.
#[derive(Debug)]
struct Flow {
    end: End,
    from: HostId,
    /// The next expected byte.
    next: u64,
    /// The end of the announced data.
    known: u64,
    /// The end of the announced data of which the sender was notified.
    told: u64,
    messages: VecDeque<Wanted>,
    /// Ranges to grant again: start, end, and true if they were late.
    again: VecDeque<(u64, u64, bool)>,
    on_the_way: VecDeque<Granted>,
    /// Payload of these segments.
    in_flight: u64,
    /// Number of successive lates, and the first segment that was granted after the last one.
    lates: u32,
    late_until: u64,
    /// The time from which late data may be asked for again.
    ask_at: Instant,
}

/// A message that has not arrived completely.
#[derive(Debug)]
struct Wanted {
    start: u64,
    end: u64,
    /// The time at which it should be complete, and whether that is a deadline.
    due: Instant,
    dated: bool,
    /// The position before which all was granted, or sent without a grant.
    granted: u64,
    /// Bytes that have not arrived.
    missing: u64,
    /// The time at which data of it last arrived, or its host last announced it.
    heard: Instant,
}

/// A segment that was granted, or sent without a grant, and has not arrived.
#[derive(Clone, Copy, Debug)]
struct Granted {
    start: u64,
    end: u64,
    number: u64,
    /// The priority of its packet.
    rank: u32,
    /// The time from which it is expected, and the time for which it is.
    at: Instant,
    patience: Span,
    /// Number of arrived segments that were granted later and have no higher priority.
    overtaken: u32,
    /// Number of times that it was late, and might have been queued in front of the link.
    waits: u32,
}

/// Data that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Start of the data in the stream.
    pub start: u64,
    /// Number of bytes of data.
    pub bytes: u64,
    /// The data had not arrived before.
    pub new: bool,
    /// Its host signals a large backlog.
    pub informed: bool,
    /// A switch marked it.
    pub marked: bool,
    /// The next expected byte after it.
    pub next: u64,
}

/// Utilization of a link, interval by interval.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Start of this interval, and the time for which arrivals since have occupied the link.
    since: Instant,
    busy: Span,
    /// The interval before it was full.
    full: bool,
}

impl Link {
    /// The utilization that counts as full, in tenths.
    const FULL: u64 = 9;

    /// Counts an arrival that occupied the link for `takes`; intervals are `interval` long.
    fn carries(&mut self, now: Instant, takes: Span, interval: Span) {
        let elapsed = now.saturating_sub(self.since);
        if elapsed >= interval {
            self.full = self.busy.0 / Link::FULL >= elapsed.0 / 10;
            (self.since, self.busy) = (now, Span::ZERO);
        }
        self.busy += takes;
    }
}

/// Maximum number of doublings of the time after which data is granted again.
const MAX_DOUBLINGS: u32 = 6;
/// Data that may be queued in front of a link that is never idle is granted again after this multiple of
/// `resend_after`. It is long enough for megabytes of earlier messages, and matters only where they have no end.
const MAX_WAITS: u32 = 64;
/// Data that has not arrived after this multiple of its patience counts as late though its message progresses. That is
/// 16 ms or more, or 20 MB at 10 Gbps, so that it concerns longer messages and messages without an end.
const MAX_SILENCES: u64 = 16;
/// Minimum of `resend_after` in round trips, if it is left out.
const ROUND_TRIPS: u64 = 3;

impl Flow {
    /// Returns the next range to grant: start and end.
    fn upcoming(&self, mss: u64) -> Option<(u64, u64)> {
        if let Some(&(start, end, _)) = self.again.front() {
            return Some((start, end));
        }
        let message = self.messages.iter().find(|message| message.granted < message.end)?;
        Some((message.granted, (message.granted + mss).min(message.end)))
    }

    /// Takes the next range as a grant.
    fn take(&mut self, mss: u64, rank: u32) -> Option<Grant> {
        if let Some((start, end, late)) = self.again.pop_front() {
            return Some(Grant { start, end, rank, again: true, late });
        }
        let message = self.messages.iter_mut().find(|message| message.granted < message.end)?;
        let start = message.granted;
        message.granted = (start + mss).min(message.end);
        Some(Grant { start, end: message.granted, rank, again: false, late: false })
    }

    /// Returns the earliest time at which one of its messages is due that are not all granted, and whether one of them
    /// has a deadline. They arrive one after the other, so the first is as urgent as any.
    fn due(&self) -> (Instant, bool) {
        let waits = |message: &&Wanted| message.granted < message.end || !self.again.is_empty();
        self.messages
            .iter()
            .filter(waits)
            .fold((Instant::MAX, false), |(due, dated), message| (due.min(message.due), dated || message.dated))
    }

    /// Returns the earliest time at which one of its messages is due that have not arrived.
    fn first_due(&self) -> Instant {
        self.messages.iter().map(|message| message.due).min().unwrap_or(Instant::MAX)
    }

    /// Records that the message of the data at `start` is not lost.
    fn hear(&mut self, now: Instant, start: u64) {
        if let Some(message) = self.messages.iter_mut().find(|message| start < message.end) {
            message.heard = now;
        }
    }

    /// Returns the missing bytes of the first message.
    fn missing(&self) -> u64 {
        self.messages.front().map_or(0, |message| message.missing)
    }

    /// Returns the bytes still to grant of the first message that has any.
    fn rest(&self) -> u64 {
        let lost: u64 = self.again.iter().map(|(start, end, _)| end - start).sum();
        let message = self.messages.iter().find(|message| message.granted < message.end);
        lost + message.map_or(0, |message| message.end - message.granted)
    }

    /// Returns the granted bytes of the first message.
    fn served(&self) -> u64 {
        self.messages.front().map_or(0, |message| message.granted - message.start)
    }
}

impl Incoming {
    /// Returns the state of a host that expects nothing. Its link has this rate, and this overhead of each frame.
    pub(super) fn new(policy: Policy, rate: Rate, frame_overhead: Bytes) -> Incoming {
        Incoming {
            policy: policy.at(rate),
            rate,
            overhead: u64::from(policy.header) + frame_overhead.0,
            flows: BTreeMap::new(),
            order: Vec::new(),
            background: Vec::new(),
            probes: Vec::new(),
            arranged: None,
            senders: BTreeMap::new(),
            in_flight: 0,
            link: Link::default(),
            last_arrival: Instant::ZERO,
            idle_at: Instant::ZERO,
            grants: 0,
            carried_at: Instant::ZERO,
            resume: Instant::MAX,
            segments: 0,
            late_at: BinaryHeap::new(),
        }
    }

    /// Records the announcement of a message, which follows the earlier ones. Its unscheduled packets have priority
    /// `rank`. `there` of its bytes have arrived, and `is_there` tests one.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        end: End,
        ask: &Ask,
        rank: u32,
        there: u64,
        is_there: impl Fn(u64) -> bool,
    ) {
        let flow = self.flows.entry(end.connection).or_insert_with(|| Flow {
            end,
            from: ask.from,
            next: 0,
            known: 0,
            told: 0,
            messages: VecDeque::new(),
            again: VecDeque::new(),
            on_the_way: VecDeque::new(),
            in_flight: 0,
            lates: 0,
            late_until: 0,
            ask_at: Instant::ZERO,
        });
        let missing = ask.end - ask.start - there;
        flow.known = ask.end;
        let &Ask { start, end: to, deadline, unscheduled, .. } = ask;
        let (due, dated) = (self.policy.due(now, to - start, deadline), deadline != Instant::MAX);
        flow.messages.push_back(Wanted { start, end: to, due, dated, granted: unscheduled, missing, heard: now });
        self.arranged = None;
        let mut start = ask.start;
        while start < ask.unscheduled {
            let to = (start + u64::from(self.policy.mss)).min(ask.unscheduled);
            if !is_there(start) {
                self.expect(now, end.connection, start, to, rank);
            }
            start = to;
        }
    }

    /// Records the arrival of data of a connection. Returns true if that completes its first message.
    pub(super) fn arrived(&mut self, now: Instant, end: End, arrival: &Arrival) -> bool {
        let id = end.connection;
        let takes = self.takes(arrival.bytes);
        self.link.carries(now, takes, self.policy.review);
        self.comes(now, takes);
        let marked = arrival.marked && !(self.policy.own_link_apart && self.link.full);
        let Some(flow) = self.flows.get_mut(&id) else { return false };
        flow.hear(now, arrival.start);
        flow.lates = 0;
        (flow.end, flow.next) = (end, arrival.next);
        if let Some(rule) = &self.policy.limits {
            let limits = self.senders.entry(flow.from).or_insert_with(|| Limits::new(rule));
            limits.hear(rule, arrival.bytes, arrival.informed, marked);
        }
        if arrival.new
            && let Some(message) = flow.messages.iter_mut().find(|message| arrival.start < message.end)
        {
            message.missing -= arrival.bytes;
        }
        // Data that counted as lost, and was not.
        flow.again.retain(|(start, ..)| *start != arrival.start && *start >= arrival.next);
        // Data that was sent without its own grant: the grant of later data covered it.
        if let Some(message) = flow.messages.front_mut() {
            message.granted = message.granted.max(arrival.next.min(message.end));
        }
        let has_arrived = |granted: &&Granted| granted.end <= arrival.next && granted.start != arrival.start;
        let without_grant: Vec<u64> = flow.on_the_way.iter().filter(has_arrived).map(|each| each.number).collect();
        if let Some(place) = flow.on_the_way.iter().position(|granted| granted.start == arrival.start) {
            let granted = flow.on_the_way[place];
            let mut lost = Vec::new();
            for earlier in flow.on_the_way.iter_mut().take(place).filter(|earlier| earlier.rank <= granted.rank) {
                earlier.overtaken += 1;
                if self.policy.overtaken.is_some_and(|most| earlier.overtaken >= most) {
                    lost.push(earlier.number);
                }
            }
            self.release(id, granted.number);
            for number in lost {
                self.give_up(id, number, false);
            }
        }
        for number in without_grant {
            self.release(id, number);
        }
        self.complete(id)
    }

    /// Records an arrival that occupied the link for `takes`. The link was idle before that if more than a packet would
    /// have fitted in: times of arrival vary by that much at a host.
    pub(super) fn comes(&mut self, now: Instant, takes: Span) {
        let began = Instant(now.0.saturating_sub(takes.0));
        if began > self.last_arrival + self.takes(self.policy.mss.into()) {
            self.idle_at = began;
        }
        self.last_arrival = now;
    }

    /// Returns the time that the link takes for a packet without data.
    pub(super) fn takes_for_control(&self, bytes: u16) -> Span {
        self.rate.transmission().of(Bytes(bytes.into()))
    }

    /// Records that late data of a connection at `start` is not sent yet, and not lost. Its sender is probed again after
    /// twice the time.
    pub(super) fn busy(&mut self, now: Instant, id: ConnectionId, start: u64) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        flow.hear(now, start);
        if !self.policy.probes {
            flow.lates = 0;
        }
    }

    /// Forgets the complete messages of a connection; returns true if there was one.
    fn complete(&mut self, id: ConnectionId) -> bool {
        let Some(flow) = self.flows.get_mut(&id) else { return false };
        let mut complete = false;
        while flow.messages.front().is_some_and(|message| message.missing == 0) {
            flow.messages.pop_front();
            complete = true;
        }
        if flow.messages.is_empty() {
            self.forget(id);
        }
        if complete {
            self.arranged = None;
        }
        complete
    }

    /// Forgets a connection of which nothing more is expected.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        if let Some(flow) = self.flows.remove(&id) {
            self.in_flight -= flow.in_flight;
            if let Some(limits) = self.senders.get_mut(&flow.from) {
                limits.in_flight -= flow.in_flight;
            }
            self.arranged = None;
        }
    }

    /// Changes the route of packets to a connection's end.
    pub(super) fn moves(&mut self, end: End) {
        if let Some(flow) = self.flows.get_mut(&end.connection) {
            flow.end = end;
        }
    }

    /// Returns true if the sender needs grants and was not notified that its announcement is known; it then counts as
    /// notified.
    pub(super) fn is_to_be_told(&mut self, id: ConnectionId) -> bool {
        let mss = u64::from(self.policy.mss);
        let waits = |flow: &&mut Flow| flow.told < flow.known && flow.upcoming(mss).is_some();
        let Some(flow) = self.flows.get_mut(&id).filter(waits) else { return false };
        flow.told = flow.known;
        true
    }

    /// Marks late segments, so that they are granted again.
    pub(super) fn look_for_late(&mut self, now: Instant) {
        while let Some(&Reverse((at, id, number))) = self.late_at.peek() {
            if at > now && self.is_expected(id, number) {
                break;
            }
            self.late_at.pop();
            if at > now || !self.is_expected(id, number) {
                continue;
            }
            match self.may_come_until(now, id, number) {
                Some(later) => self.late_at.push(Reverse((later, id, number))),
                None if self.policy.probes => self.ask_after(now, id, number),
                None => self.give_up(id, number, true),
            }
        }
    }

    /// Returns the time at which a segment is late, or may be granted.
    pub(super) fn wake_at(&self) -> Instant {
        self.late_at.peek().map_or(Instant::MAX, |Reverse((at, ..))| *at).min(self.resume)
    }

    fn is_expected(&self, id: ConnectionId, number: u64) -> bool {
        self.flows.get(&id).is_some_and(|flow| flow.on_the_way.iter().any(|granted| granted.number == number))
    }

    /// Returns the time until which a late segment may still arrive, where silence decides. At first that is until no
    /// data of its message has arrived for the allowed time.
    ///
    /// After that it may be queued in front of the host's own link. The link must not have been idle since the segment
    /// must have reached it, and no later data of its connection may have arrived. It is limited, as the data before it
    /// may have no end.
    fn may_come_until(&mut self, now: Instant, id: ConnectionId, number: u64) -> Option<Instant> {
        let Policy { by_silence, resend_after, .. } = self.policy;
        if now > self.last_arrival + self.takes(self.policy.mss.into()) {
            self.idle_at = now;
        }
        let flow = self.flows.get_mut(&id).filter(|_| by_silence)?;
        let granted = flow.on_the_way.iter_mut().find(|granted| granted.number == number)?;
        let message = flow.messages.iter().find(|message| granted.start < message.end)?;
        // A message without end is never silent.
        let longest = Span(granted.patience.0.saturating_mul(MAX_SILENCES));
        let silent_at = message.heard.saturating_add(granted.patience).min(granted.at.saturating_add(longest));
        if silent_at > now {
            return Some(silent_at);
        }
        let there = granted.at.max(message.heard) + Span(resend_after.0 / ROUND_TRIPS);
        let may_wait = self.idle_at < there && granted.overtaken == 0 && granted.waits < MAX_WAITS;
        granted.waits += 1;
        may_wait.then(|| now.saturating_add(resend_after))
    }

    /// Has the late data of a connection asked for, unless that was done a short time ago, and waits for the echo.
    fn ask_after(&mut self, now: Instant, id: ConnectionId, number: u64) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        if flow.ask_at <= now {
            flow.lates += 1;
            let patience = self.policy.resend_after.0.saturating_mul(1 << flow.lates.min(MAX_DOUBLINGS));
            flow.ask_at = now.saturating_add(Span(patience));
            // An echo of the lowest priority among them is about all of them.
            if let Some(lowest) = flow.on_the_way.iter().max_by_key(|granted| (granted.rank, Reverse(granted.number))) {
                self.probes.push((id, *lowest));
            }
        }
        self.late_at.push(Reverse((flow.ask_at, id, number)));
    }

    /// Returns the next probe to send: the end that it is for, and the packet.
    pub(super) fn probe(&mut self) -> Option<(End, Packet, Extension)> {
        // A connection may have been closed since.
        let open = |(id, late)| Some((self.flows.get(&id)?, late));
        let (flow, Granted { start, end, rank, .. }) = std::iter::from_fn(|| self.probes.pop()).find_map(open)?;
        let grant = Some(Grant { start, end, rank, again: false, late: true });
        let probe = Some(Probe { before: self.segments, rank });
        let header = Header::Answer(Answer { known: flow.known, grant, probe });
        Some((flow.end, answer_packet(&self.policy, flow.next), header.extension()))
    }

    /// Processes the echo of a probe: the data that was in flight before it is lost.
    pub(super) fn echoed(&mut self, id: ConnectionId, probe: Probe) {
        let Some(flow) = self.flows.get(&id) else { return };
        let is_lost = |granted: &&Granted| granted.number < probe.before && granted.rank <= probe.rank;
        let lost: Vec<u64> = flow.on_the_way.iter().filter(is_lost).map(|granted| granted.number).collect();
        for number in lost {
            self.give_up(id, number, true);
        }
    }

    /// Records a segment in flight.
    fn expect(&mut self, now: Instant, id: ConnectionId, start: u64, end: u64, rank: u32) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let number = self.segments;
        self.segments += 1;
        let patience = Span(self.policy.resend_after.0.saturating_mul(1 << flow.lates.min(MAX_DOUBLINGS)));
        flow.on_the_way.push_back(Granted { start, end, number, rank, at: now, patience, overtaken: 0, waits: 0 });
        flow.in_flight += end - start;
        self.in_flight += end - start;
        if let Some(rule) = &self.policy.limits {
            self.senders.entry(flow.from).or_insert_with(|| Limits::new(rule)).in_flight += end - start;
        }
        self.late_at.push(Reverse((now.saturating_add(patience), id, number)));
    }

    /// Removes a segment from the ones in flight.
    fn release(&mut self, id: ConnectionId, number: u64) -> Option<Granted> {
        let flow = self.flows.get_mut(&id)?;
        let place = flow.on_the_way.iter().position(|granted| granted.number == number)?;
        let granted = flow.on_the_way.remove(place)?;
        let bytes = granted.end - granted.start;
        flow.in_flight -= bytes;
        self.in_flight -= bytes;
        if let Some(limits) = self.senders.get_mut(&flow.from) {
            limits.in_flight -= bytes;
        }
        Some(granted)
    }

    /// Counts a segment as lost.
    fn give_up(&mut self, id: ConnectionId, number: u64, late: bool) {
        let Some(granted) = self.release(id, number) else { return };
        let Some(flow) = self.flows.get_mut(&id) else { return };
        flow.again.push_back((granted.start, granted.end, late));
        self.arranged = None;
        // Segments that are late together count once.
        if late && number >= flow.late_until {
            (flow.lates, flow.late_until) = (flow.lates + 1, self.segments);
            if let (Some(rule), Some(limits)) = (&self.policy.limits, self.senders.get_mut(&flow.from)) {
                limits.late(rule);
            }
        }
    }

    /// Returns the next grant, if one may be sent now: the end that it is for, and the packet.
    pub(super) fn grant(&mut self, now: Instant) -> Option<(End, Packet, Extension)> {
        self.resume = Instant::MAX;
        if self.flows.is_empty() || self.in_flight > 0 && self.in_flight + u64::from(self.policy.mss) > self.budget(now)
        {
            return None;
        }
        let from = self.may_grant_from();
        if from > now {
            self.resume = from;
            return None;
        }
        if self.arranged.is_none_or(|at| now >= at + self.policy.review) {
            self.arrange(now);
        }
        let (id, rank) = self.choose(now)?;
        let flow = self.flows.get_mut(&id)?;
        let grant = flow.take(u64::from(self.policy.mss), rank)?;
        let Grant { start, end, .. } = grant;
        flow.told = flow.known;
        let header = Header::Answer(Answer { known: flow.known, grant: Some(grant), probe: None });
        let (to, packet) = (flow.end, answer_packet(&self.policy, flow.next));
        self.grants += 1;
        self.carried_at = self.carried_at.max(now) + self.takes(end - start);
        self.expect(now, id, start, end, rank);
        Some((to, packet, header.extension()))
    }

    /// Returns the maximum of data in flight: less if the link had no pause for a while, for then its senders do send.
    fn budget(&self, now: Instant) -> u64 {
        let Policy { budget, busy, .. } = self.policy;
        busy.filter(|(_, pause)| self.idle_at.saturating_add(*pause) < now).map_or(budget, |(bytes, _)| bytes)
    }

    /// Returns the time from which a segment may be granted: at most `at_once` is granted beyond the data that the link
    /// has carried.
    fn may_grant_from(&self) -> Instant {
        let ahead = self.takes(self.policy.at_once).0.saturating_sub(self.takes(self.policy.mss.into()).0);
        Instant(self.carried_at.0.saturating_sub(ahead))
    }

    /// Returns the connection to grant now, and the rank of its packet.
    fn choose(&self, now: Instant) -> Option<(ConnectionId, u32)> {
        let waits = |id: ConnectionId| self.flows[&id].upcoming(u64::from(self.policy.mss)).is_some();
        if let Some(levels) = &self.policy.levels {
            let mut senders = BTreeSet::new();
            // Granted data that has not arrived counts like data that is still to be granted.
            let granted =
                |id: &ConnectionId| self.flows[id].on_the_way.iter().any(|granted| granted.rank >= levels.unscheduled);
            let mut is_next = |id: &ConnectionId| {
                (waits(*id) || granted(id)) && (!self.policy.one_per_sender || senders.insert(self.flows[id].from))
            };
            let active: Vec<ConnectionId> =
                self.order.iter().copied().filter(|id| is_next(id)).take(self.policy.active).collect();
            let place = active.iter().position(|id| self.may_be_granted(*id))?;
            return Some((active[place], levels.of_scheduled(place, active.len())));
        }
        let urgent = || {
            let waiting = self.order.iter().copied().filter(|id| waits(*id));
            waiting.take(self.policy.active).find(|id| self.may_be_granted(*id))
        };
        // Of the flows without a deadline the least served one, so that all share alike.
        let patient = || {
            let may = self.background.iter().copied().filter(|id| self.may_be_granted(*id));
            may.min_by_key(|id| (self.flows[id].served(), *id))
        };
        let every = self.policy.background_every;
        let turn = every > 0 && (self.grants + 1).is_multiple_of(every);
        let id = if turn { patient().or_else(urgent) } else { urgent().or_else(patient) };
        id.map(|id| (id, self.rank(now, id)))
    }

    /// Returns the priority of the next data of a connection.
    fn rank(&self, now: Instant, id: ConnectionId) -> u32 {
        let Some(classes) = &self.policy.classes else { return Packet::UNTAGGED };
        let flow = &self.flows[&id];
        let (due, _) = flow.due();
        classes.of(self.policy.laxity(now, flow.missing(), due).filter(|_| due != Instant::MAX))
    }

    fn may_be_granted(&self, id: ConnectionId) -> bool {
        let flow = &self.flows[&id];
        let Some((start, end)) = flow.upcoming(u64::from(self.policy.mss)) else { return false };
        let in_window = flow.in_flight == 0 || flow.in_flight + end - start <= self.policy.window;
        in_window && self.senders.get(&flow.from).is_none_or(|limits| limits.allow(end - start))
    }

    /// Computes the order of the flows.
    fn arrange(&mut self, now: Instant) {
        self.arranged = Some(now);
        self.order.clear();
        match self.policy.order {
            Order::Remaining => {
                let mut all: Vec<(u64, ConnectionId)> =
                    self.flows.iter().map(|(id, flow)| (flow.missing(), *id)).collect();
                all.sort_unstable();
                self.order.extend(all.into_iter().map(|(_, id)| id));
            }
            Order::Due => {
                let mut all: Vec<(Instant, u64, ConnectionId)> =
                    self.flows.iter().map(|(id, flow)| (flow.first_due(), flow.missing(), *id)).collect();
                all.sort_unstable();
                self.order.extend(all.into_iter().map(|(.., id)| id));
            }
            Order::Deadline { sheds, .. } => self.by_deadline(now, sheds),
        }
    }

    fn by_deadline(&mut self, now: Instant, sheds: bool) {
        let shared = !std::mem::take(&mut self.background).is_empty();
        let mut waiting: Vec<Waiting> = Vec::new();
        for (&id, flow) in &self.flows {
            match (flow.due(), flow.rest()) {
                // Granted data arrives, also where other data is shed.
                (_, 0) => {}
                ((Instant::MAX, _), _) => self.background.push(id),
                ((due, dated), rest) => {
                    waiting.push(Waiting { due, id, dated, takes: self.beside_others(self.takes(rest), shared) })
                }
            }
        }
        waiting.sort_unstable();
        // Data in flight is first, and cannot be taken back: to shed its message frees nothing.
        let from = now.saturating_add(self.takes(self.in_flight));
        // Those with a deadline first: no other may make one of them late.
        let dated: Vec<Waiting> = waiting.iter().filter(|one| one.dated).copied().collect();
        let mut late = if sheds { shed(from, &jobs(&dated)) } else { vec![false; dated.len()] }.into_iter();
        let (mut kept, mut over): (Vec<Waiting>, Vec<Waiting>) = (Vec::new(), Vec::new());
        for one in waiting {
            if one.dated && late.next().unwrap_or(false) { over.push(one) } else { kept.push(one) }
        }
        let undated = |number: usize| !kept[number].dated;
        let late = if sheds { shed_some(from, &jobs(&kept), undated) } else { vec![false; kept.len()] };
        over.sort_by_key(|one| one.takes);
        for (one, late) in kept.iter().zip(late) {
            if late { self.background.push(one.id) } else { self.order.push(one.id) }
        }
        self.order.extend(over.iter().map(|one| one.id));
    }

    /// Adds the time of the grants to messages without time, which are one in `background_every`, if there are any.
    fn beside_others(&self, takes: Span, shared: bool) -> Span {
        match self.policy.background_every {
            every @ 2.. if shared => Span(takes.0.saturating_add(takes.0 / (every - 1))),
            _ => takes,
        }
    }

    /// Returns the time that the link takes for this number of bytes of data.
    fn takes(&self, bytes: u64) -> Span {
        time_of(self.rate, self.policy.mss, self.overhead, bytes)
    }
}

/// A flow that waits for grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due: Instant,
    id: ConnectionId,
    dated: bool,
    /// The time that the link takes for its rest.
    takes: Span,
}

/// Returns flows as jobs of the link.
fn jobs(waiting: &[Waiting]) -> Vec<Job> {
    waiting.iter().map(|one| Job { deadline: one.due, takes: one.takes }).collect()
}

/// Returns a packet that acknowledges everything before `next`.
pub(super) fn answer_packet(policy: &Policy, next: u64) -> Packet {
    let mut packet = Packet::ack(next, policy.control, Instant::MAX, Flags::NONE);
    packet.rank = policy.control_rank();
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_full_when_nine_tenths_of_the_interval_before_were_busy() {
        let (us, interval) = (Span::from_micros, Span::from_micros(100));
        let mut link = Link::default();
        // A packet of 10 us every 10 us: nothing is known before an interval is over.
        (0..=10).for_each(|number| link.carries(Instant::from_micros(10 * number), us(10), interval));
        assert!(link.full);
        // Then one in every 12 us: 9 in 108 us are less than nine tenths.
        (1..=9).for_each(|number| link.carries(Instant::from_micros(100 + 12 * number), us(10), interval));
        assert!(!link.full);
        // After a long time without any it is empty.
        (1..=30).for_each(|number| link.carries(Instant::from_micros(208 + 10 * number), us(10), interval));
        assert!(link.full);
        link.carries(Instant::from_millis(5), us(10), interval);
        assert!(!link.full);
    }
}
