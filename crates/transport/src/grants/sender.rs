//! The sending end: requests grants, and sends the granted data.

use std::collections::VecDeque;

use units::{Instant, Span};

use super::header::{Answer, Ask, Grant, Header, Probe};
use super::host::ToDesk;
use super::outgoing::{LAST, Segment};
use super::policy::{Order, laxity};
use super::{Config, Policy, WAITING};
use crate::connection::{self, ENDLESS};
use crate::host::AtHost;
use crate::recovery::Ranges;
use crate::{Expired, Extension, Flags, Message, Observation, Packet};

/// The sending end of a connection whose data the receiving host grants.
#[derive(Clone, Debug)]
pub struct Sender {
    host: ToDesk,
    /// Messages that are not acknowledged.
    messages: VecDeque<Own>,
    /// The end of the data that the application has enqueued.
    end: u64,
    /// The position before which all data is acknowledged.
    acknowledged: u64,
    /// The end of the messages that the receiving host knows.
    known: u64,
    /// The data that was sent, or is queued for its host's link.
    sent: Ranges,
    /// Number of requests since the last answer.
    asked: u32,
    /// The time of the next request.
    ask_at: Instant,
}

/// A message of this sender.
#[derive(Clone, Copy, Debug)]
struct Own {
    start: u64,
    end: u64,
    /// The end of the data that is sent without a grant.
    unscheduled: u64,
    deadline: Instant,
    /// The time at which it should be complete, also without a deadline.
    due: Instant,
}

/// The number of bits of a deadline in the key of a segment, below the bits of its priority: 13 days in picoseconds.
const RANK: u32 = 60;

impl Own {
    /// Returns the request for this message.
    fn ask(&self, out: &impl AtHost) -> Ask {
        let &Own { start, end, unscheduled, deadline, .. } = self;
        Ask { start, end, unscheduled, deadline, from: out.site().host }
    }

    /// Returns the key in the sending host's queue, low keys first: by priority and deadline, or by size.
    fn key(&self, policy: &Policy, rank: u32) -> u64 {
        match (policy.order, policy.classes) {
            (Order::Remaining, _) => (self.end - self.start).min(LAST - 1),
            (_, Some(classes)) if rank >= classes.lowest() => LAST,
            (_, Some(_)) => u64::from(rank) << RANK | (self.due.0 & ((1 << RANK) - 1)),
            (_, None) => self.due.0,
        }
    }
}

/// Returns the unscheduled bytes of a message of this size and laxity, which was requested with `asked` in all. A message
/// that cannot be in time has no laxity, and need not hurry.
fn unscheduled(policy: &Policy, size: u64, laxity: Option<Span>, asked: u32) -> u64 {
    let together = size.min(policy.unscheduled).saturating_mul(asked.max(1).into());
    let has_to = laxity.is_some_and(|laxity| laxity <= policy.within) || policy.within == Span::MAX;
    if size > policy.unscheduled_up_to || together > policy.together || !has_to {
        return 0;
    }
    let limited = policy.incast.filter(|incast| asked > incast.after);
    size.min(policy.unscheduled).min(limited.map_or(u64::MAX, |incast| incast.unscheduled))
}

/// While a request is known and not granted, it is repeated less often by this factor. A lost grant is repeated by the
/// receiver itself, and each repetition takes time of the link that the message needs.
const KNOWN: u64 = 8;
/// Maximum number of doublings of the time between two requests.
const MAX_DOUBLINGS: u32 = 16;

impl Sender {
    /// Returns a sender without data.
    pub fn new(_: &connection::Config, own: &Config) -> Sender {
        Sender {
            host: ToDesk::new(own),
            messages: VecDeque::new(),
            end: 0,
            acknowledged: 0,
            known: 0,
            sent: Ranges::default(),
            asked: 0,
            ask_at: Instant::MAX,
        }
    }

    /// Enqueues a message after the earlier ones. Sends its unscheduled data, if it has any, or a request.
    pub fn enqueue_message(&mut self, _: &connection::Config, now: Instant, message: Message, out: &mut impl AtHost) {
        let start = self.end;
        self.end = self.end.saturating_add(message.bytes.map_or(ENDLESS, |bytes| bytes.0)).min(ENDLESS);
        let deadline = message.deadline.unwrap_or(Instant::MAX);
        let size = self.end - start;
        let due = self.host.policy().due(now, size, deadline);
        let laxity = laxity(now, self.host.policy().takes(size), due);
        let unscheduled = start + unscheduled(self.host.policy(), size, laxity, message.asked);
        let own = Own { start, end: self.end, unscheduled, deadline, due };
        if own.start == own.end {
            return;
        }
        self.messages.push_back(own);
        let ask = own.ask(out);
        if ask.unscheduled == start {
            self.send_ask(ask, out);
        } else {
            self.send_unscheduled(now, &own, ask, out);
        }
        self.rest(now, out);
    }

    /// Returns the position before which all data is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Returns true if all enqueued data is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.acknowledged == self.end
    }

    /// Processes an answer of the receiving host.
    pub fn on_packet(
        &mut self,
        _: &connection::Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        let Some(Header::Answer(Answer { known, grant, probe })) = Header::take(extension) else { return };
        self.acknowledged = self.acknowledged.max(packet.seq.min(self.end));
        self.known = self.known.max(known);
        while self.messages.front().is_some_and(|message| message.end <= self.acknowledged) {
            self.messages.pop_front();
        }
        if let Some(grant) = grant {
            for (start, end) in self.unheard(&grant) {
                self.granted(now, &Grant { start, end, again: false, late: false, ..grant }, out);
            }
            self.granted(now, &grant, out);
            if let Some(probe) = probe {
                self.echo(grant.start, probe, out);
            }
        }
        self.asked = 0;
        self.rest(now, out);
    }

    /// Does nothing: its receivers send no news of trimmed packets.
    pub fn on_trimmed(&mut self, _: &connection::Config, _: Instant, _: &Packet, _: &mut impl AtHost) {}

    /// Repeats the request after a time without an answer.
    pub fn on_timer(&mut self, _: &connection::Config, now: Instant, out: &mut impl AtHost) {
        if self.is_idle() {
            return;
        }
        if self.ask_at > now {
            return out.arm(self.ask_at);
        }
        // The first message that the host does not know; if it knows all, the last one, whose arrival it will confirm.
        let unknown = self.messages.iter().find(|message| message.end > self.known);
        if unknown.is_some() || self.sent.bytes() == self.end {
            out.timed_out(Expired::Own);
        }
        if let Some(message) = unknown.or(self.messages.back()).copied() {
            let ask = message.ask(out);
            self.send_ask(ask, out);
        }
        self.asked = (self.asked + 1).min(MAX_DOUBLINGS);
        self.rest(now, out);
    }

    /// Does nothing: data is not sent by an end, but by the host ([`link_is_free`](HostOutput::link_is_free)).
    pub fn on_room(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}

    /// Handles the close of the connection: its queued data is not needed.
    pub fn on_close(&mut self, _: &connection::Config, _: Instant, out: &mut impl AtHost) {
        let connection = out.end().connection;
        self.host.at_desk(out, |desk, _| desk.outgoing.forget(connection));
    }

    /// Reports the present values of the signals.
    pub fn observe(&self, _: &connection::Config, _: Instant, seen: &mut Observation) {
        let waiting = self.end - self.sent.bytes();
        seen.add_if(&WAITING, (waiting < ENDLESS / 2).then_some(waiting as f64));
    }

    /// Sends a request in a packet of its own.
    fn send_ask(&self, ask: Ask, out: &mut impl AtHost) {
        out.send_extended(control_packet(self.host.policy(), ask.start), Header::Ask(ask).extension());
    }

    /// Sends a request in each packet of unscheduled data: one that arrives is enough.
    fn send_unscheduled(&mut self, now: Instant, own: &Own, ask: Ask, out: &mut impl AtHost) {
        let (end, size, policy) = (out.end(), own.end - own.start, self.host.policy());
        let by_laxity = || policy.classes.map(|classes| classes.of(laxity(now, policy.takes(size), own.due)));
        let by_size = || policy.levels.map(|levels| levels.of_unscheduled(size));
        let rank = by_laxity().or_else(by_size).unwrap_or(Packet::UNTAGGED);
        self.sent.insert(ask.start, ask.unscheduled);
        self.host.at_desk(out, |desk, out| {
            let (policy, mss) = (&desk.policy, u64::from(desk.policy.mss));
            let mut start = ask.start;
            while start < ask.unscheduled {
                let payload = mss.min(ask.unscheduled - start);
                let (payload, until) = (payload as u32, own.end);
                let segment = Segment { end, start, until, payload, rank, again: false, ask: Some(ask) };
                desk.outgoing.put(policy, own.key(policy, rank), segment);
                start += u64::from(payload);
            }
            desk.work(now, out);
        });
    }

    /// Returns the segments before a grant whose own grants have not arrived: all were granted before, so those grants
    /// are lost or overtaken.
    fn unheard(&self, grant: &Grant) -> Vec<(u64, u64)> {
        let (mut unheard, mut start) = (Vec::new(), self.acknowledged);
        while self.host.policy().cumulative && start < grant.start {
            if let Some((_, end)) = self.sent.find(start) {
                start = end;
                continue;
            }
            let Some(own) = self.messages.iter().find(|message| message.end > start) else { break };
            let next = self.sent.next_start(start).unwrap_or(u64::MAX);
            let end = (start + u64::from(self.host.policy().mss)).min(own.end).min(grant.start).min(next);
            unheard.push((start, end));
            start = end;
        }
        unheard
    }

    /// Enqueues granted data at its host.
    fn granted(&mut self, now: Instant, grant: &Grant, out: &mut impl AtHost) {
        let (start, end) = (grant.start.max(self.acknowledged), grant.end.min(self.end));
        let Some(own) = self.messages.iter().find(|message| message.end > start).copied() else { return };
        if start != grant.start || start >= end {
            return;
        }
        let again = self.sent.find(start).is_some();
        if self.host.policy().cumulative && again && !grant.again {
            return;
        }
        let (payload, until) = ((end - start) as u32, own.end);
        let segment = Segment { end: out.end(), start, until, payload, rank: grant.rank, again, ask: None };
        self.host.at_desk(out, |desk, out| {
            let policy = &desk.policy;
            if !desk.outgoing.put(policy, own.key(policy, grant.rank), segment) {
                if policy.by_silence {
                    out.send_extended(control_packet(policy, start), Header::Busy(start).extension());
                }
                return;
            }
            if again {
                out.sends_again(start);
            } else {
                self.sent.insert(start, end);
            }
            if grant.late {
                out.timed_out(Expired::Own);
            }
            desk.work(now, out);
        });
    }

    /// Returns a probe behind the data of this connection, or says that some of that is not sent yet.
    fn echo(&mut self, start: u64, probe: Probe, out: &mut impl AtHost) {
        let id = out.end().connection;
        self.host.at_desk(out, |desk, out| {
            let policy = &desk.policy;
            if desk.outgoing.holds(id) {
                return out.send_extended(control_packet(policy, start), Header::Busy(start).extension());
            }
            let packet = Packet { rank: probe.rank, ..control_packet(policy, start) };
            out.send_extended(packet, Header::Echo(probe).extension());
        });
    }

    /// Arms the timer for the next request.
    fn rest(&mut self, now: Instant, out: &mut impl AtHost) {
        if self.is_idle() {
            self.ask_at = Instant::MAX;
            return;
        }
        let Policy { ask_again, ask_limit, .. } = *self.host.policy();
        let (first, most) = match () {
            // Perhaps the host does not know.
            () if self.known < self.end => (ask_again, ask_limit),
            // Perhaps the last acknowledgement was lost.
            () if self.sent.bytes() == self.end => (ask_again * 2, ask_limit),
            // It will grant, or has no route back.
            () => (ask_limit * KNOWN, ask_limit * KNOWN),
        };
        let wait = Span(first.0.saturating_mul(1 << self.asked)).min(most.max(first));
        self.ask_at = now + wait;
        out.arm(self.ask_at);
    }
}

/// A packet without data.
fn control_packet(policy: &Policy, start: u64) -> Packet {
    let mut packet = Packet::data(start, 0, policy.control, Instant::MAX, Flags::SYN);
    packet.rank = policy.control_rank();
    packet
}
