//! The expected data of a receiving host, and the order in which it is granted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use units::{Bytes, ConnectionId, HostId, Instant, Rate, Span};

use super::flow::{Flow, Flows, Granted, Place, Wanted};
use super::late::LateTimes;
use super::limits::Limits;
use super::policy::{Order, Wire, laxity};
use super::shedding::{Job, shed, shed_some};
use super::{Answer, Ask, Grant, Header, Policy, Probe};
use crate::host::End;
use crate::{Extension, Flags, Packet};

/// All data in flight, or announced, to one host.
#[derive(Debug)]
pub(super) struct Incoming {
    policy: Policy,
    /// The link to the host; and the same without the overhead of its frames, as senders compute laxity.
    wire: Wire,
    own_wire: Wire,
    /// The time of a full segment there, and of the data that is granted at once.
    segment: Span,
    at_once: Span,
    /// The flows by their connections.
    flows: Flows,
    /// The flows in the order of grants, the first first; and the flows without a deadline that share the rest, since there
    /// is no time for them.
    order: Vec<Place>,
    background: Vec<Place>,
    /// Memory of [`Incoming::by_deadline`] and [`Incoming::choose`], kept between calls.
    waiting: Vec<Waiting>,
    active: Vec<HostId>,
    /// The connections whose late data is to be asked for, with its start, end and priority.
    probes: Vec<(ConnectionId, Granted)>,
    /// The time at which this order was computed, if it is still valid.
    arranged: Option<Instant>,
    /// The limits of data in flight from one host, and their indices by host.
    limits: Vec<Limits>,
    senders: BTreeMap<HostId, usize>,
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
    /// The times at which segments in flight are late. Some have arrived.
    late_at: LateTimes,
    /// The number of a segment that had not arrived when it was the first of these.
    not_arrived: Option<u64>,
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

impl Incoming {
    /// Returns the state of a host that expects nothing. Its link has this rate, and this overhead of each frame.
    pub(super) fn new(policy: Policy, rate: Rate, frame_overhead: Bytes) -> Incoming {
        let wire = Wire::new(rate, policy.mss, u64::from(policy.header) + frame_overhead.0);
        Incoming {
            policy: policy.at(rate),
            wire,
            own_wire: Wire::new(rate, policy.mss, policy.header.into()),
            segment: wire.takes(policy.mss.into()),
            at_once: wire.takes(policy.at_once),
            flows: Flows::default(),
            order: Vec::new(),
            background: Vec::new(),
            waiting: Vec::new(),
            active: Vec::new(),
            probes: Vec::new(),
            arranged: None,
            limits: Vec::new(),
            senders: BTreeMap::new(),
            in_flight: 0,
            link: Link::default(),
            last_arrival: Instant::ZERO,
            idle_at: Instant::ZERO,
            grants: 0,
            carried_at: Instant::ZERO,
            resume: Instant::MAX,
            segments: 0,
            late_at: LateTimes::default(),
            not_arrived: None,
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
        let place = self.flows.find(end.connection).unwrap_or_else(|| {
            let limits = self.policy.limits.as_ref().map(|rule| {
                *self.senders.entry(ask.from).or_insert_with(|| {
                    self.limits.push(Limits::new(rule));
                    self.limits.len() - 1
                })
            });
            self.flows.add(Flow::new(end, ask.from, limits))
        });
        let flow = self.flows.at_mut(place);
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
                self.expect(now, place, start, to, rank);
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
        let Some(place) = self.flows.find(id) else { return false };
        let flow = self.flows.at_mut(place);
        flow.hear(now, arrival.start);
        flow.lates = 0;
        (flow.end, flow.next) = (end, arrival.next);
        if let Some((rule, limits)) = self.policy.limits.as_ref().zip(flow.limits) {
            self.limits[limits].hear(rule, arrival.bytes, arrival.informed, marked);
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
        let without_grant = match self.policy.cumulative {
            true => flow.numbers(|granted| granted.end <= arrival.next && granted.start != arrival.start),
            false => Vec::new(),
        };
        if let Some(index) = flow.on_the_way.iter().position(|granted| granted.start == arrival.start) {
            let granted = flow.on_the_way[index];
            let mut lost = Vec::new();
            for earlier in flow.on_the_way.iter_mut().take(index).filter(|earlier| earlier.rank <= granted.rank) {
                earlier.overtaken += 1;
                if self.policy.overtaken.is_some_and(|most| earlier.overtaken >= most) {
                    lost.push(earlier.number);
                }
            }
            self.release(place, index);
            for number in lost {
                self.give_up(place, number, false);
            }
        }
        for number in without_grant {
            self.release_number(place, number);
        }
        self.complete(place)
    }

    /// Records an arrival that occupied the link for `takes`. The link was idle before that if more than a packet would
    /// have fitted in: times of arrival vary by that much at a host.
    pub(super) fn comes(&mut self, now: Instant, takes: Span) {
        let began = Instant(now.0.saturating_sub(takes.0));
        if began > self.last_arrival + self.segment {
            self.idle_at = began;
        }
        self.last_arrival = now;
    }

    /// Returns the time that the link takes for a packet without data.
    pub(super) fn takes_for_control(&self, bytes: u16) -> Span {
        self.wire.transmission().of(Bytes(bytes.into()))
    }

    /// Records that late data of a connection at `start` is not sent yet, and not lost. Its sender is probed again after
    /// twice the time.
    pub(super) fn busy(&mut self, now: Instant, id: ConnectionId, start: u64) {
        let Some(flow) = self.flows.of(id) else { return };
        flow.hear(now, start);
        if !self.policy.probes {
            flow.lates = 0;
        }
    }

    /// Forgets the complete messages of a connection; returns true if there was one.
    fn complete(&mut self, place: Place) -> bool {
        let flow = self.flows.at_mut(place);
        let mut complete = false;
        while flow.messages.front().is_some_and(|message| message.missing == 0) {
            flow.messages.pop_front();
            complete = true;
        }
        if flow.messages.is_empty() {
            let id = flow.end.connection;
            self.forget(id);
        }
        if complete {
            self.arranged = None;
        }
        complete
    }

    /// Forgets a connection of which nothing more is expected.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        if let Some(flow) = self.flows.remove(id) {
            self.in_flight -= flow.in_flight;
            self.not_arrived = None;
            if let Some(limits) = flow.limits {
                self.limits[limits].in_flight -= flow.in_flight;
            }
            self.arranged = None;
        }
    }

    /// Changes the route of packets to a connection's end.
    pub(super) fn moves(&mut self, end: End) {
        if let Some(flow) = self.flows.of(end.connection) {
            flow.end = end;
        }
    }

    /// Returns true if the sender needs grants and was not notified that its announcement is known; it then counts as
    /// notified.
    pub(super) fn is_to_be_told(&mut self, id: ConnectionId) -> bool {
        let waits = |flow: &&mut Flow| flow.told < flow.known && flow.waits();
        let Some(flow) = self.flows.of(id).filter(waits) else { return false };
        flow.told = flow.known;
        true
    }

    /// Marks late segments, so that they are granted again.
    pub(super) fn look_for_late(&mut self, now: Instant) {
        while let Some((at, number, id)) = self.late_at.first() {
            if at > now && self.not_arrived == Some(number) {
                break;
            }
            let place = self.flows.find(id).filter(|place| self.flows.at(*place).index_of(number).is_some());
            if at > now && place.is_some() {
                self.not_arrived = Some(number);
                break;
            }
            self.late_at.pop();
            let Some(place) = place else { continue };
            let flow = self.flows.at(place);
            let lost_at = flow.index_of(number).map_or(Instant::MAX, |index| flow.on_the_way[index].lost_at);
            if lost_at <= now {
                self.give_up(place, number, true);
                continue;
            }
            match self.may_come_until(now, place, number) {
                Some(later) => self.late_at.push((later, number, id)),
                None if self.policy.probes => self.ask_after(now, place, number),
                None => self.give_up(place, number, true),
            }
        }
    }

    /// Returns the time at which a segment is late, or may be granted.
    pub(super) fn wake_at(&self) -> Instant {
        self.late_at.first().map_or(Instant::MAX, |(at, ..)| at).min(self.resume)
    }

    /// Returns the time until which a late segment may still arrive, where silence decides. At first that is until no
    /// data of its message has arrived for the allowed time.
    ///
    /// After that it may be queued in front of the host's own link. The link must not have been idle since the segment
    /// must have reached it, and no later data of its connection may have arrived. It is limited, as the data before it
    /// may have no end.
    fn may_come_until(&mut self, now: Instant, place: Place, number: u64) -> Option<Instant> {
        let Policy { by_silence, resend_after, .. } = self.policy;
        if now > self.last_arrival + self.segment {
            self.idle_at = now;
        }
        if !by_silence {
            return None;
        }
        let flow = self.flows.at_mut(place);
        let index = flow.index_of(number)?;
        let granted = &mut flow.on_the_way[index];
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
    fn ask_after(&mut self, now: Instant, place: Place, number: u64) {
        let flow = self.flows.at_mut(place);
        let id = flow.end.connection;
        if flow.ask_at <= now {
            flow.lates += 1;
            let patience = self.policy.resend_after.0.saturating_mul(1 << flow.lates.min(MAX_DOUBLINGS));
            flow.ask_at = now.saturating_add(Span(patience));
            // An echo of the lowest priority among them is about all of them.
            if let Some(lowest) = flow.on_the_way.iter().max_by_key(|granted| (granted.rank, Reverse(granted.number))) {
                self.probes.push((id, *lowest));
            }
        }
        self.late_at.push((flow.ask_at, number, id));
    }

    /// Returns the next probe to send: the end that it is for, and the packet.
    pub(super) fn probe(&mut self) -> Option<(End, Packet, Extension)> {
        // A connection may have been closed since.
        let open = |(id, late)| Some((self.flows.at(self.flows.find(id)?), late));
        let (flow, Granted { start, end, rank, .. }) = std::iter::from_fn(|| self.probes.pop()).find_map(open)?;
        let grant = Some(Grant { start, end, rank, again: false, late: true });
        let probe = Some(Probe { before: self.segments, rank });
        let header = Header::Answer(Answer { known: flow.known, grant, probe });
        Some((flow.end, answer_packet(&self.policy, flow.next), header.extension()))
    }

    /// Processes the echo of a probe: the data that was in flight before it is lost, at once or when it could have been
    /// overtaken no longer.
    pub(super) fn echoed(&mut self, now: Instant, id: ConnectionId, probe: Probe) {
        let Some(place) = self.flows.find(id) else { return };
        let is_lost = |granted: &Granted| granted.number < probe.before && granted.rank <= probe.rank;
        let lost_at = now.saturating_add(self.policy.reordering);
        for number in self.flows.at(place).numbers(is_lost) {
            if lost_at <= now {
                self.give_up(place, number, true);
                continue;
            }
            let flow = self.flows.at_mut(place);
            if let Some(index) = flow.index_of(number) {
                let granted = &mut flow.on_the_way[index];
                granted.lost_at = granted.lost_at.min(lost_at);
                self.late_at.push((granted.lost_at, number, id));
            }
        }
    }

    /// Records that a switch has removed the data at `start`, which is granted again at once.
    pub(super) fn trimmed(&mut self, id: ConnectionId, start: u64) {
        let Some(place) = self.flows.find(id) else { return };
        for number in self.flows.at(place).numbers(|granted| granted.start == start) {
            self.give_up(place, number, false);
        }
    }

    /// Records a segment in flight.
    fn expect(&mut self, now: Instant, place: Place, start: u64, end: u64, rank: u32) {
        let flow = self.flows.at_mut(place);
        let number = self.segments;
        self.segments += 1;
        let patience = Span(self.policy.resend_after.0.saturating_mul(1 << flow.lates.min(MAX_DOUBLINGS)));
        flow.on_the_way.push_back(Granted {
            start,
            end,
            number,
            rank,
            at: now,
            patience,
            overtaken: 0,
            waits: 0,
            lost_at: Instant::MAX,
        });
        flow.in_flight += end - start;
        flow.scheduled += u32::from(self.policy.is_scheduled(rank));
        self.in_flight += end - start;
        if let Some(limits) = flow.limits {
            self.limits[limits].in_flight += end - start;
        }
        self.late_at.push((now.saturating_add(patience), number, flow.end.connection));
    }

    /// Removes a segment, by its index, from the ones in flight.
    fn release(&mut self, place: Place, index: usize) -> Option<Granted> {
        let flow = self.flows.at_mut(place);
        let granted = if index == 0 { flow.on_the_way.pop_front() } else { flow.on_the_way.remove(index) }?;
        self.not_arrived = self.not_arrived.filter(|number| *number != granted.number);
        // Usually it is the first that would be late: then nothing looks for it in vain.
        if self.late_at.first().is_some_and(|(_, number, _)| number == granted.number) {
            self.late_at.pop();
        }
        let bytes = granted.end - granted.start;
        flow.in_flight -= bytes;
        flow.scheduled -= u32::from(self.policy.is_scheduled(granted.rank));
        self.in_flight -= bytes;
        if let Some(limits) = flow.limits {
            self.limits[limits].in_flight -= bytes;
        }
        Some(granted)
    }

    /// Removes the segment with this number from the ones in flight, if it is one of them.
    fn release_number(&mut self, place: Place, number: u64) -> Option<Granted> {
        let index = self.flows.at(place).index_of(number)?;
        self.release(place, index)
    }

    /// Counts a segment as lost.
    fn give_up(&mut self, place: Place, number: u64, late: bool) {
        let Some(granted) = self.release_number(place, number) else { return };
        let flow = self.flows.at_mut(place);
        flow.again.push_back((granted.start, granted.end, late));
        self.arranged = None;
        // Segments that are late together count once.
        if late && number >= flow.late_until {
            (flow.lates, flow.late_until) = (flow.lates + 1, self.segments);
            if let Some((rule, limits)) = self.policy.limits.as_ref().zip(flow.limits) {
                self.limits[limits].late(rule);
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
        let (place, rank) = self.choose(now)?;
        let flow = self.flows.at_mut(place);
        let grant = flow.take(u64::from(self.policy.mss), rank)?;
        let Grant { start, end, .. } = grant;
        flow.told = flow.known;
        let header = Header::Answer(Answer { known: flow.known, grant: Some(grant), probe: None });
        let (to, packet) = (flow.end, answer_packet(&self.policy, flow.next));
        self.grants += 1;
        self.carried_at = self.carried_at.max(now) + self.takes(end - start);
        self.expect(now, place, start, end, rank);
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
        let ahead = self.at_once.0.saturating_sub(self.segment.0);
        Instant(self.carried_at.0.saturating_sub(ahead))
    }

    /// Returns the flow to grant now, and the rank of its packet.
    fn choose(&mut self, now: Instant) -> Option<(Place, u32)> {
        if let Some(levels) = &self.policy.levels {
            let mut chosen = None;
            // The senders of active flows: they are few, and compared one by one.
            self.active.clear();
            for &place in &self.order {
                let flow = self.flows.at(place);
                // Granted data that has not arrived counts like data that is still to be granted.
                let is_active = flow.scheduled > 0 || flow.waits();
                if !is_active || self.policy.one_per_sender && self.active.contains(&flow.from) {
                    continue;
                }
                if chosen.is_none() && self.may_be_granted(place) {
                    chosen = Some((self.active.len(), place));
                }
                self.active.push(flow.from);
                if self.active.len() == self.policy.active {
                    break;
                }
            }
            return chosen.map(|(index, place)| (place, levels.of_scheduled(index, self.active.len())));
        }
        let urgent = || {
            let waiting = self.order.iter().copied().filter(|place| self.flows.at(*place).waits());
            waiting.take(self.policy.active).find(|place| self.may_be_granted(*place))
        };
        // Of the flows without a deadline the least served one, so that all share alike.
        let patient = || {
            let may = self.background.iter().copied().filter(|place| self.may_be_granted(*place));
            may.min_by_key(|place| (self.flows.at(*place).served(), self.flows.tie(*place)))
        };
        let every = self.policy.background_every;
        let turn = every > 0 && (self.grants + 1).is_multiple_of(every);
        let place = if turn { patient().or_else(urgent) } else { urgent().or_else(patient) };
        place.map(|place| (place, self.rank(now, place)))
    }

    /// Returns the priority of the next data of a flow.
    fn rank(&self, now: Instant, place: Place) -> u32 {
        let Some(classes) = &self.policy.classes else { return Packet::UNTAGGED };
        let flow = self.flows.at(place);
        let (due, _) = flow.due();
        classes.of(laxity(now, self.own_wire.takes(flow.missing()), due).filter(|_| due != Instant::MAX))
    }

    fn may_be_granted(&self, place: Place) -> bool {
        let flow = self.flows.at(place);
        let Some((start, end)) = flow.upcoming(u64::from(self.policy.mss)) else { return false };
        let in_window = flow.in_flight == 0 || flow.in_flight + end - start <= self.policy.window;
        in_window && flow.limits.is_none_or(|limits| self.limits[limits].allow(end - start))
    }

    /// Computes the order of the flows.
    fn arrange(&mut self, now: Instant) {
        self.arranged = Some(now);
        self.order.clear();
        let flows = &self.flows;
        match self.policy.order {
            Order::Remaining => {
                self.order.extend(flows.iter().map(|(place, _)| place));
                self.order.sort_unstable_by_key(|place| (flows.at(*place).missing(), flows.tie(*place)));
            }
            Order::Due => {
                let key = |place: &Place| (flows.at(*place).first_due(), flows.at(*place).missing(), flows.tie(*place));
                self.order.extend(flows.iter().map(|(place, _)| place));
                self.order.sort_unstable_by_key(key);
            }
            Order::Deadline { sheds, .. } => self.by_deadline(now, sheds),
        }
    }

    fn by_deadline(&mut self, now: Instant, sheds: bool) {
        let shared = !self.background.is_empty();
        self.background.clear();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.clear();
        for (place, flow) in self.flows.iter() {
            match (flow.due(), flow.rest()) {
                // Granted data arrives, also where other data is shed.
                (_, 0) => {}
                ((Instant::MAX, _), _) => self.background.push(place),
                ((due, dated), rest) => {
                    let takes = self.beside_others(self.takes(rest), shared);
                    waiting.push(Waiting { due, tie: flow.end.own, dated, takes, place });
                }
            }
        }
        waiting.sort_unstable();
        // Data in flight is first, and cannot be taken back: to shed its message frees nothing.
        let from = now.saturating_add(self.takes(self.in_flight));
        if sheds && !all_in_time(from, &waiting) {
            self.shed_from(from, &waiting);
        } else {
            self.order.extend(waiting.iter().map(|one| one.place));
        }
        self.waiting = waiting;
    }

    /// Orders flows that cannot all be in time.
    fn shed_from(&mut self, from: Instant, waiting: &[Waiting]) {
        // Those with a deadline first: no other may make one of them late.
        let dated: Vec<Waiting> = waiting.iter().filter(|one| one.dated).copied().collect();
        let mut late = shed(from, &jobs(&dated)).into_iter();
        let (mut kept, mut over): (Vec<Waiting>, Vec<Waiting>) = (Vec::new(), Vec::new());
        for &one in waiting {
            if one.dated && late.next().unwrap_or(false) { over.push(one) } else { kept.push(one) }
        }
        let undated = |number: usize| !kept[number].dated;
        let late = shed_some(from, &jobs(&kept), undated);
        over.sort_by_key(|one| one.takes);
        for (one, late) in kept.iter().zip(late) {
            if late { self.background.push(one.place) } else { self.order.push(one.place) }
        }
        self.order.extend(over.iter().map(|one| one.place));
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
        self.wire.takes(bytes)
    }
}

/// A flow that waits for grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due: Instant,
    /// Its order among equal ones ([`Flows::tie`]).
    tie: u64,
    dated: bool,
    /// The time that the link takes for its rest.
    takes: Span,
    place: Place,
}

/// Returns true if all flows can be in time, in this order, if the link begins with them at a time.
fn all_in_time(from: Instant, waiting: &[Waiting]) -> bool {
    let mut over = from;
    waiting.iter().all(|one| {
        over = over.saturating_add(one.takes);
        over <= one.due
    })
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
