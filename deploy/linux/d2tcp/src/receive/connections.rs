//! The scheduled connections: events of the kernel and of programs become messages, and the schedule's grants become
//! windows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

use receive::{Claim, Flow, Grant, Parameters, UNLIMITED, plan};
use serde::Serialize;

use super::http;
use super::layout::{Event, HELD, LEFT_ALONE, Slot, Told, WANT_HEAD, WANT_REQUESTS, kind};
use super::rules::{Rule, Rules};

/// Positions further ahead than this are not written: the kernel compares sequence numbers of 32 bits.
const FARTHEST: u64 = 1 << 30;
/// The time for which a message that has not begun is expected after its deadline.
const FORGOTTEN_NS: u64 = 10_000_000_000;
/// The time for which a closed connection keeps its slot, so that its last packets find it.
const CLOSING_NS: u64 = 2_000_000_000;
/// The time without a byte after which a connection is forgotten: its end was not seen.
const ABANDONED_NS: u64 = 3_600_000_000_000;
/// Maximum number of messages that one connection can expect.
const MAX_MESSAGES: usize = 1024;

/// Counts since the start of the daemon.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// Messages whose last byte arrived by the deadline.
    pub met: u64,
    /// Messages whose last byte arrived later, or not at all.
    pub missed: u64,
    /// Messages that waited because they could not be in time.
    pub set_back: u64,
    /// Messages announced by programs.
    pub announced: u64,
    /// Messages by rule, at a request.
    pub requested: u64,
    /// Decisions of the schedule.
    pub plans: u64,
    /// Window updates that the daemon has sent.
    pub updates: u64,
}

/// A message that a connection is to receive.
#[derive(Clone, Debug)]
struct Message {
    begin: u64,
    /// None until the answer's header tells it.
    end: Option<u64>,
    deadline_ns: u64,
    /// True if a program announced it: a request does not end it.
    announced: bool,
    set_back: bool,
}

/// A scheduled connection, with positions in its stream.
#[derive(Debug)]
struct Connection {
    generation: u32,
    base: u32,
    rule: usize,
    received: u64,
    granted: u64,
    /// The maximum segment size.
    segment: u64,
    /// The window while nothing is known of its content. A segment shows that a sender is ready; two spare small answers
    /// without a deadline the schedule.
    first: u64,
    /// The later one of the last byte's time and that of the last grant.
    moved_ns: u64,
    messages: VecDeque<Message>,
    /// The position at which the last message ended.
    ended: u64,
    /// True if its sender has shown that it has something to send.
    ready: bool,
    /// The bytes received without a deadline.
    served: u64,
    /// The time of its end.
    closed_ns: Option<u64>,
    written: Option<(u32, u32, u32)>,
}

/// A window that has opened: its sender is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened(pub u32);

/// The scheduled connections of an interface.
pub struct Connections<'s> {
    slots: &'s [Slot],
    rules: Rules,
    /// The parameters by which the schedule decides.
    pub parameters: Parameters,
    /// Counts for the operator.
    pub counts: Counts,
    all: BTreeMap<u32, Connection>,
    /// Numbers of the connections whose senders have something to send.
    ready: Vec<u32>,
}

/// A connection as the operator sees it.
#[derive(Debug, Serialize)]
pub struct Shown {
    peer: String,
    rule: String,
    /// `message`, `bulk` or `idle`.
    state: &'static str,
    received: u64,
    window: u64,
    expected: usize,
    time_left_ms: Option<f64>,
}

impl Connection {
    /// Returns the position of a sequence number near the received bytes.
    fn position(&self, sequence: u32) -> u64 {
        let near = self.base.wrapping_add(self.received as u32);
        self.received.saturating_add_signed(i64::from(sequence.wrapping_sub(near) as i32))
    }

    fn sequence(&self, position: u64) -> u32 {
        self.base.wrapping_add(position.min(self.received + FARTHEST) as u32)
    }

    fn claim(&self, rules: &Rules) -> Option<Claim> {
        if !self.ready {
            return None;
        }
        // Bytes are in order, so that a hurried message hurries those before it.
        let deadline_ns = self.messages.iter().map(|message| message.deadline_ns).min();
        match (self.messages.front(), deadline_ns) {
            (Some(Message { end: Some(end), .. }), Some(deadline_ns)) => {
                Some(Claim::Message { end: *end, deadline_ns })
            }
            _ => Some(Claim::Bulk { weight: rules.get(self.rule).weight, served: self.served }),
        }
    }

    fn has_begun(&self) -> bool {
        self.messages.front().is_some_and(|message| self.received > message.begin)
    }
}

impl<'s> Connections<'s> {
    /// Returns an empty set of connections in these slots.
    pub fn new(slots: &'s [Slot], rules: Rules, parameters: Parameters) -> Connections<'s> {
        let (counts, all, ready) = Default::default();
        Connections { slots, rules, parameters, counts, all, ready }
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if some sender has something to send.
    pub fn is_busy(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Applies an event of the kernel or of a program.
    pub fn apply(&mut self, told: &Told) {
        let event = &told.event;
        if event.slot as usize >= self.slots.len() {
            return;
        }
        if event.kind == kind::OPENED {
            return self.open(event);
        }
        if self.all.get(&event.slot).is_none_or(|connection| connection.generation != event.generation) {
            return;
        }
        self.refresh(event.slot, event.time_ns);
        match event.kind {
            kind::REQUEST => self.request(event),
            kind::EXPECT => self.expect(event),
            kind::BEGINS => self.begin(event, &told.head),
            kind::ARRIVED => self.arrive(event.slot),
            kind::CLOSED => {
                let connection = self.all.get_mut(&event.slot).expect("looked up above");
                connection.closed_ns.get_or_insert(event.time_ns);
            }
            _ => {}
        }
        self.rest(event.slot);
    }

    fn open(&mut self, event: &Event) {
        let slot = &self.slots[event.slot as usize];
        let key = slot.key();
        let rule = self.rules.find(key.local_port, key.remote_port, slot.cgroup.load(Relaxed));
        if let Some(before) = self.all.remove(&event.slot) {
            self.counts.missed += before.messages.len() as u64;
            self.ready.retain(|number| *number != event.slot);
        }
        slot.mode.store(if rule.is_some() { HELD } else { LEFT_ALONE }, Relaxed);
        let Some(rule) = rule else { return };
        let governing = self.rules.get(rule);
        let requests = if governing.follows_requests() { WANT_REQUESTS } else { 0 };
        slot.wanted.store(requests | if governing.http { WANT_HEAD } else { 0 }, Relaxed);
        let segment = u64::from(slot.mss());
        let first = if self.rules.get(rule).follows_requests() { segment } else { 2 * segment };
        self.all.insert(
            event.slot,
            Connection {
                generation: event.generation,
                base: event.position,
                rule,
                received: 0,
                granted: 2 * segment,
                segment,
                first,
                moved_ns: event.time_ns,
                messages: VecDeque::new(),
                ended: 0,
                ready: false,
                served: 0,
                closed_ns: None,
                written: None,
            },
        );
        self.rest(event.slot);
    }

    /// Reads the bytes that have arrived on a connection, and ends its complete messages.
    fn refresh(&mut self, number: u32, now_ns: u64) {
        let Some(connection) = self.all.get_mut(&number) else { return };
        let slot = &self.slots[number as usize];
        let received = connection.position(slot.arrived.load(Relaxed));
        let seen_ns = slot.seen_ns.load(Relaxed);
        connection.granted = connection.position(slot.edge.load(Relaxed)).max(connection.granted).max(received);
        if received <= connection.received {
            return;
        }
        if connection.messages.is_empty() {
            connection.served += received - connection.received;
        }
        connection.received = received;
        connection.moved_ns = seen_ns.min(now_ns);
        while let Some(message) = connection.messages.front() {
            if message.end.is_none_or(|end| end > received) {
                break;
            }
            let in_time = seen_ns <= message.deadline_ns;
            self.counts.met += u64::from(in_time);
            self.counts.missed += u64::from(!in_time);
            connection.ended = message.end.unwrap_or(received);
            connection.messages.pop_front();
            connection.ready = connection.has_begun();
        }
        if connection.has_begun() {
            connection.ready = true;
        }
    }

    /// A request of a rule's connection: the answer follows the bytes that were received.
    fn request(&mut self, event: &Event) {
        let connection = self.all.get_mut(&event.slot).expect("the caller has it");
        let rule: &Rule = self.rules.get(connection.rule);
        let Some(deadline_ns) = rule.deadline_ns else { return };
        if connection.messages.iter().any(|message| message.announced) {
            return;
        }
        // The earlier answer was shorter than expected: its last byte was its end.
        for message in connection.messages.drain(..) {
            let in_time = self.slots[event.slot as usize].seen_ns.load(Relaxed) <= message.deadline_ns;
            let met = in_time && connection.received > message.begin;
            self.counts.met += u64::from(met);
            self.counts.missed += u64::from(!met);
        }
        let begin = connection.position(event.position);
        connection.ready = false;
        connection.messages.push_back(Message {
            begin,
            end: rule.size.map(|size| begin + size),
            deadline_ns: event.time_ns + deadline_ns,
            announced: false,
            set_back: false,
        });
        self.counts.requested += 1;
        connection.ready = connection.has_begun();
    }

    /// An announcement of a program: the message begins where it reads, or after the message before.
    fn expect(&mut self, event: &Event) {
        let connection = self.all.get_mut(&event.slot).expect("the caller has it");
        if connection.messages.front().is_some_and(|message| !message.announced) {
            connection.messages.clear();
        }
        if connection.messages.len() >= MAX_MESSAGES {
            return;
        }
        let read = connection.position(event.position);
        let begin = connection.messages.back().and_then(|message| message.end).map_or(read, |end| end.max(read));
        self.counts.announced += 1;
        if begin + event.bytes <= connection.received {
            let in_time = self.slots[event.slot as usize].seen_ns.load(Relaxed) <= event.deadline_ns;
            self.counts.met += u64::from(in_time);
            self.counts.missed += u64::from(!in_time);
            return;
        }
        connection.first = connection.segment;
        connection.messages.push_back(Message {
            begin,
            end: Some(begin + event.bytes),
            deadline_ns: event.deadline_ns,
            announced: true,
            set_back: false,
        });
        connection.ready = connection.has_begun();
    }

    /// The beginning of an HTTP answer, whose header tells its length.
    fn begin(&mut self, event: &Event, head: &[u8]) {
        let connection = self.all.get_mut(&event.slot).expect("the caller has it");
        let position = connection.position(event.position);
        let Some(message) = connection.messages.front_mut().filter(|message| !message.announced) else { return };
        match http::length(head) {
            Some(length) => message.end = Some(position + length),
            // Without a length it is like any other content.
            None if message.end.is_none() => {
                connection.messages.pop_front();
                connection.ready = true;
            }
            None => {}
        }
    }

    /// Content without a message has begun, if enough of it has arrived.
    fn arrive(&mut self, number: u32) {
        let connection = self.all.get_mut(&number).expect("the caller has it");
        // The end of a message is not the beginning of the next.
        if connection.messages.is_empty() && connection.received >= connection.ended + connection.first / 4 {
            connection.ready = true;
        }
    }

    /// Writes the window of a connection that has nothing to send, and keeps the list of ready connections.
    fn rest(&mut self, number: u32) {
        let Some(connection) = self.all.get_mut(&number) else { return };
        let listed = self.ready.iter().position(|other| *other == number);
        match (connection.ready, listed) {
            (true, None) => self.ready.push(number),
            (false, Some(at)) => {
                self.ready.swap_remove(at);
            }
            _ => {}
        }
        if connection.ready {
            return;
        }
        let wake = match connection.messages.front() {
            Some(message) => message.begin.max(connection.received) + 1,
            None => connection.received + connection.first / 4,
        };
        let limit = connection.granted.max(connection.received + connection.first);
        let id = u64::from(number);
        self.write(&Grant { id, limit, window: 0, wake, late: false });
    }

    /// Decides anew, and returns the windows that have opened. Some connections may not have been told of yet: their
    /// slots are read.
    pub fn decide(&mut self, now_ns: u64) -> Vec<Opened> {
        let mut opened = Vec::new();
        // A byte that arrives while a window is written causes no event.
        for _ in 0..3 {
            for number in self.ready.clone() {
                self.refresh(number, now_ns);
                self.settle(number, now_ns);
                self.rest(number);
            }
            let flows: Vec<Flow> = self.ready.iter().filter_map(|number| self.flow(*number, now_ns)).collect();
            self.counts.plans += 1;
            let mut late = false;
            for grant in plan(&self.parameters, now_ns, &flows) {
                late |= self.put(&grant, now_ns, &mut opened);
            }
            if !late {
                break;
            }
        }
        opened
    }

    fn flow(&self, number: u32, now_ns: u64) -> Option<Flow> {
        let connection = self.all.get(&number)?;
        Some(Flow {
            id: u64::from(number),
            received: connection.received,
            granted: connection.granted,
            idle_ns: now_ns.saturating_sub(connection.moved_ns),
            claim: connection.claim(&self.rules)?,
        })
    }

    /// A connection without a deadline that sends nothing any longer has ended its content.
    fn settle(&mut self, number: u32, now_ns: u64) {
        let Some(connection) = self.all.get_mut(&number) else { return };
        let idle = now_ns.saturating_sub(connection.moved_ns) >= self.parameters.patience_ns;
        let could = connection.granted >= connection.received + connection.first;
        if connection.messages.is_empty() && idle && could {
            connection.ended = connection.received;
            connection.ready = false;
        }
    }

    /// Writes a grant. Returns true if the position at which the schedule is due has been passed already.
    fn put(&mut self, grant: &Grant, now_ns: u64, opened: &mut Vec<Opened>) -> bool {
        let number = grant.id as u32;
        let connection = self.all.get_mut(&number).expect("it was planned");
        if let Some(message) = connection.messages.front_mut().filter(|message| grant.late && !message.set_back) {
            message.set_back = true;
            self.counts.set_back += 1;
        }
        let edge = match grant.window {
            0 => grant.limit,
            window => grant.limit.min(connection.received + window),
        };
        let blocked = connection.granted < connection.received + 2 * connection.segment;
        if edge > connection.granted {
            connection.moved_ns = now_ns;
            // A sender that can send two segments gets the window with their acknowledgement.
            if blocked && !opened.contains(&Opened(number)) {
                opened.push(Opened(number));
            }
        }
        self.write(grant);
        let connection = &self.all[&number];
        let arrived = connection.position(self.slots[number as usize].arrived.load(Relaxed));
        grant.wake != UNLIMITED && arrived >= grant.wake
    }

    fn write(&mut self, grant: &Grant) {
        let number = grant.id as u32;
        let connection = self.all.get_mut(&number).expect("the caller has it");
        let slot = &self.slots[number as usize];
        let limit = connection.sequence(grant.limit);
        let window = grant.window.min(FARTHEST) as u32;
        // Beyond the farthest position the schedule is due again before.
        let wake = connection.sequence(grant.wake.min(connection.received + FARTHEST / 2));
        let state = (limit, window, wake);
        if connection.written != Some(state) {
            slot.limit.store(limit, Relaxed);
            slot.window.store(window, Relaxed);
            slot.wake.store(wake, Relaxed);
            connection.written = Some(state);
        }
        slot.armed.store(1, Relaxed);
    }

    /// Forgets messages that no sender sends, and connections that have ended. Returns the slots that are free again.
    pub fn clear(&mut self, now_ns: u64) -> Vec<u32> {
        let mut gone = Vec::new();
        for (number, connection) in &mut self.all {
            let before = connection.messages.len();
            connection
                .messages
                .retain(|message| message.deadline_ns + FORGOTTEN_NS > now_ns || connection.received > message.begin);
            self.counts.missed += (before - connection.messages.len()) as u64;
            let closed = connection.closed_ns.is_some_and(|at| at + CLOSING_NS <= now_ns);
            if closed || connection.moved_ns + ABANDONED_NS <= now_ns {
                gone.push(*number);
            }
        }
        gone.retain(|number| {
            self.refresh(*number, now_ns);
            self.ready.retain(|other| other != number);
            let Some(connection) = self.all.remove(number) else { return false };
            self.counts.missed += connection.messages.len() as u64;
            // A new connection between the same ends has the same slot.
            self.slots[*number as usize].generation.load(Relaxed) == connection.generation
        });
        gone
    }

    /// Reads every slot anew: an event was lost.
    pub fn recover(&mut self, now_ns: u64) {
        for number in self.all.keys().copied().collect::<Vec<_>>() {
            self.refresh(number, now_ns);
            self.arrive(number);
            self.rest(number);
        }
    }

    /// Returns the connections for the operator.
    pub fn shown(&self, now_ns: u64) -> Vec<Shown> {
        let shown = |(number, connection): (&u32, &Connection)| {
            let slot = &self.slots[*number as usize];
            let state = match (connection.ready, connection.messages.is_empty()) {
                (true, true) => "bulk",
                (_, false) => "message",
                (false, true) => "idle",
            };
            let deadline_ns = connection.messages.front().map(|message| message.deadline_ns);
            Shown {
                peer: slot.key().peer(),
                rule: self.rules.get(connection.rule).name.clone(),
                state,
                received: connection.position(slot.arrived.load(Relaxed)),
                window: u64::from(slot.edge.load(Relaxed).wrapping_sub(slot.arrived.load(Relaxed))),
                expected: connection.messages.len(),
                time_left_ms: deadline_ns.map(|at| (at as f64 - now_ns as f64) / 1e6),
            }
        };
        self.all.iter().map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::rules::rule;
    use super::*;

    const SEGMENT: u32 = 1460;
    const MS: u64 = 1_000_000;

    /// Slots with connections whose first byte is at this sequence number: it wraps within the first answer.
    const BASE: u32 = u32::MAX - 10_000;

    fn slots(count: usize) -> Vec<Slot> {
        let slots: Vec<Slot> = (0..count).map(|_| Slot::empty(SEGMENT)).collect();
        for slot in &slots {
            for at in [&slot.base, &slot.arrived, &slot.ack] {
                at.store(BASE, Relaxed);
            }
            slot.edge.store(BASE.wrapping_add(2 * SEGMENT), Relaxed);
            slot.generation.store(1, Relaxed);
        }
        slots
    }

    fn connections<'s>(slots: &'s [Slot], rules: &[&str]) -> Connections<'s> {
        let rules = rules.iter().map(|text| rule(text).unwrap()).collect();
        let parameters = Parameters {
            rate: 12_500_000,
            credit: 32_000,
            window: 16_000,
            step: 2_920,
            first: 1_460,
            floor_permille: 62,
            patience_ns: 10 * MS,
            nudge_ns: 400 * MS,
        };
        let mut connections = Connections::new(slots, Rules::new(rules, false, Path::new("/nowhere")), parameters);
        for slot in 0..slots.len() as u32 {
            connections.apply(&event(kind::OPENED, slot, BASE, 0));
        }
        connections
    }

    fn event(kind: u32, slot: u32, position: u32, time_ns: u64) -> Told {
        let event = Event { kind, slot, generation: 1, position, time_ns, ..Event::default() };
        Told { event, head: Vec::new() }
    }

    fn expect(slot: u32, read: u64, bytes: u64, deadline_ns: u64) -> Told {
        let mut told = event(kind::EXPECT, slot, BASE.wrapping_add(read as u32), 0);
        (told.event.bytes, told.event.deadline_ns) = (bytes, deadline_ns);
        told
    }

    /// Lets bytes arrive up to a position, as far as the window allows, and tells it if that is due.
    fn arrive(connections: &mut Connections<'_>, number: u32, position: u64, now_ns: u64) {
        let slot = &connections.slots[number as usize];
        let at = BASE.wrapping_add(position as u32);
        for each in [&slot.arrived, &slot.ack] {
            each.store(at, Relaxed);
        }
        slot.seen_ns.store(now_ns, Relaxed);
        if slot.armed.load(Relaxed) == 1 && at.wrapping_sub(slot.wake.load(Relaxed)) as i32 >= 0 {
            slot.armed.store(0, Relaxed);
            connections.apply(&event(kind::ARRIVED, number, at, now_ns));
        }
    }

    /// Returns the right edge that the kernel would advertise, as a position, and advertises it.
    fn edge(slot: &Slot) -> u64 {
        let (limit, window) = (slot.limit.load(Relaxed), slot.window.load(Relaxed));
        let rolling = if window == 0 { limit } else { slot.ack.load(Relaxed).wrapping_add(window) };
        let before = slot.edge.load(Relaxed);
        let wanted = if (limit.wrapping_sub(rolling) as i32) < 0 { limit } else { rolling };
        let edge = if (wanted.wrapping_sub(before) as i32) > 0 { wanted } else { before };
        slot.edge.store(edge, Relaxed);
        u64::from(edge.wrapping_sub(BASE))
    }

    #[test]
    fn announced_messages_are_open_by_deadline_and_end_with_their_edge() {
        let slots = slots(3);
        let mut all = connections(&slots, &[]);
        for (number, deadline_ns) in [(0, 90), (1, 50), (2, 70)] {
            all.apply(&expect(number, 0, 100_000, deadline_ns * MS));
            arrive(&mut all, number, 2_920, MS);
        }
        assert_eq!(all.decide(MS), [Opened(1), Opened(2)]);
        assert_eq!([0, 1, 2].map(|number| edge(&slots[number])), [2_920, 18_920, 18_920]);
        arrive(&mut all, 1, 95_000, 20 * MS);
        all.decide(20 * MS);
        assert_eq!(edge(&slots[1]), 101_460, "the message and a segment of the next");
        arrive(&mut all, 1, 100_000, 21 * MS);
        assert_eq!((all.counts.met, all.counts.missed, all.ready.contains(&1)), (1, 0, false));
        all.decide(21 * MS);
        assert_eq!(edge(&slots[0]), 34_920, "the third has all of the credit, as the second does not send");
    }

    #[test]
    fn the_end_of_a_message_is_no_further_content() {
        let slots = slots(1);
        let mut all = connections(&slots, &[]);
        all.apply(&expect(0, 0, 5_000, 50 * MS));
        arrive(&mut all, 0, 1_460, MS);
        all.decide(MS);
        edge(&slots[0]);
        arrive(&mut all, 0, 5_000, 2 * MS);
        assert!(!all.is_busy());
        assert_eq!(edge(&slots[0]), 6_460);
        arrive(&mut all, 0, 5_700, 3 * MS);
        assert!(all.is_busy(), "that is more than the message");
        all.decide(3 * MS);
        edge(&slots[0]);
        all.decide(14 * MS);
        assert!(!all.is_busy(), "and it has ended");
    }

    #[test]
    fn a_late_message_is_missed() {
        let slots = slots(1);
        let mut all = connections(&slots, &[]);
        all.apply(&expect(0, 0, 5_000, 50 * MS));
        arrive(&mut all, 0, 5_000, 51 * MS);
        all.apply(&expect(0, 5_000, 5_000, 50 * MS));
        all.clear(50 * MS + FORGOTTEN_NS);
        assert_eq!((all.counts.met, all.counts.missed), (0, 2), "one was late, and one never sent");
    }

    #[test]
    fn a_rule_expects_an_answer_after_each_request() {
        let slots = slots(1);
        let mut all = connections(&slots, &["deadline=40ms,size=100kB"]);
        assert_eq!(slots[0].wanted.load(Relaxed), WANT_REQUESTS);
        all.apply(&event(kind::REQUEST, 0, BASE, 0));
        arrive(&mut all, 0, 2_920, MS);
        all.decide(MS);
        edge(&slots[0]);
        arrive(&mut all, 0, 60_000, 30 * MS);
        all.apply(&event(kind::REQUEST, 0, BASE.wrapping_add(60_000), 60 * MS));
        assert_eq!((all.counts.requested, all.counts.met), (2, 1), "the first answer was shorter than expected");
    }

    #[test]
    fn the_header_of_an_answer_tells_its_end() {
        let slots = slots(1);
        let mut all = connections(&slots, &["deadline=40ms,http"]);
        all.apply(&event(kind::REQUEST, 0, BASE, 0));
        assert_eq!(slots[0].wanted.load(Relaxed), WANT_REQUESTS | WANT_HEAD);
        let mut begins = event(kind::BEGINS, 0, BASE, MS);
        begins.head = b"HTTP/1.1 200 OK\r\nContent-Length: 9958\r\n\r\n".to_vec();
        slots[0].arrived.store(BASE.wrapping_add(1_460), Relaxed);
        slots[0].ack.store(BASE.wrapping_add(1_460), Relaxed);
        all.apply(&begins);
        all.decide(MS);
        assert_eq!(edge(&slots[0]), 9_999 + 1_460);
        arrive(&mut all, 0, 9_999, 2 * MS);
        assert_eq!(all.counts.met, 1);
    }

    #[test]
    fn events_of_an_earlier_connection_are_ignored() {
        let slots = slots(1);
        let mut all = connections(&slots, &[]);
        let mut late = expect(0, 0, 5_000, 50 * MS);
        late.event.generation = 7;
        all.apply(&late);
        all.apply(&event(kind::CLOSED, 9, 0, 0));
        assert_eq!(all.counts.announced, 0);
        all.apply(&event(kind::CLOSED, 0, BASE, MS));
        assert!(all.clear(MS).is_empty(), "its last packets still find it");
        slots[0].generation.store(2, Relaxed);
        assert!(all.clear(MS + CLOSING_NS).is_empty(), "a new connection has the slot");
        assert_eq!(all.len(), 0);
    }
}
