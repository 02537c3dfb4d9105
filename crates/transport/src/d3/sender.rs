//! The sending end: asks once per round trip, paces at what was granted, repairs losses.
//!
//! Each message is a flow of its own to the routers, with a lease of its own: it asks for a rate before its first byte
//! (a SYN-like packet) and gives it back after its last (FIN). What must be sent again after that asks anew, for its
//! own message, while the next one is sent under its own lease.

use std::collections::VecDeque;

use units::{Bytes, Instant, Span};

use super::asks::rate_of;
use super::header::Header as Request;
use super::{Ask, Config as Own, REQUEST};
use crate::connection::{Config, ENDLESS, RATE, SRTT};
use crate::laws::Current;
use crate::pacing::Pacer;
use crate::recovery::{Duplicate, Phase, Recovery};
use crate::{Extension, Flags, Header, Message, Observation, Output, Packet};

/// The sending end of a connection whose rate the network grants.
#[derive(Clone, Debug)]
pub struct Sender {
    own: Own,
    recovery: Recovery,
    /// The end of what the application has handed over.
    end: u64,
    /// Messages that are not acknowledged completely.
    messages: VecDeque<Current>,
    /// The number of the first of these.
    first: u32,
    /// Of the messages that the routers know, in the order of their numbers.
    leases: Vec<Lease>,
    /// How many requests were sent.
    asked: u64,
    /// Lost, and next to be sent again.
    hole: Option<(u64, u64)>,
}

/// What the routers know of a message.
#[derive(Clone, Debug)]
struct Lease {
    /// The number of the message.
    message: u32,
    /// The rate asked for by the last request that was answered.
    request: u64,
    /// What each hop granted to it.
    grants: Vec<u64>,
    /// The smallest of these, in bit/s; 0 while none is known.
    rate: u64,
    /// The request that is not answered.
    pending: Option<Pending>,
    /// The rate of the sender's own link, once known.
    uplink: u64,
    /// When its data packets may leave.
    pacer: Pacer,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    number: u64,
    sent: Instant,
    request: u64,
}

/// What there is to send, each at its own pace.
#[derive(Clone, Copy)]
enum Work {
    /// What is lost.
    Lost,
    /// What follows what was sent; after a timeout, all of it again.
    Next,
}

impl Sender {
    /// Nothing to send yet.
    pub fn new(config: &Config, own: &Own) -> Sender {
        Sender {
            own: *own,
            recovery: Recovery::new(config),
            end: 0,
            messages: VecDeque::new(),
            first: 0,
            leases: Vec::new(),
            asked: 0,
            hole: None,
        }
    }

    /// Takes a message; it follows those handed over before.
    pub fn hand_over(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl Output) {
        self.end = self.end.saturating_add(message.bytes.map_or(ENDLESS, |bytes| bytes.0)).min(ENDLESS);
        self.messages.push_back(Current { end: self.end, message });
        self.transmit(config, now, out);
    }

    /// Everything before this position is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.recovery.una
    }

    /// Whether everything handed over is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.recovery.una == self.end
    }

    /// Takes an acknowledgement.
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl Output,
    ) {
        let (mut news, mut answer) = (0, None);
        if let Some(Extension { sack, header, .. }) = extension {
            news = self.recovery.note_blocks(config, sack.as_slice()).bytes;
            answer = header.take();
        }
        match answer {
            Some(Header::D3(answer)) => self.answered(config, now, *answer),
            _ => self.sample(config, now, packet.stamp),
        }
        if packet.seq > self.recovery.una {
            self.on_new_ack(config, now, packet.seq);
        } else if packet.seq == self.recovery.una
            && self.recovery.highest > self.recovery.una
            && (news > 0 || !config.sack)
            && !packet.flags.has(Flags::SYN)
            && self.recovery.on_duplicate(config) == Duplicate::Loss
        {
            self.hole = Some(self.recovery.enter());
        }
        self.quench(config, now, out);
        self.transmit(config, now, out);
    }

    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.quench(config, now, out);
        if self.recovery.rto_at <= now {
            self.timeout(config, now, out);
        }
        self.transmit(config, now, out);
    }

    /// The connection is closed here.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}

    /// Shows what can be observed now.
    pub fn observe(&self, _: &Config, _: Instant, seen: &mut Observation) {
        let mbps = |rate: u64| rate as f64 / 1e6;
        seen.add_if(&SRTT, self.recovery.rto.srtt().map(Span::as_micros_f64));
        if let Some(lease) = self.leases.last() {
            seen.add(&RATE, mbps(lease.rate));
            seen.add(&REQUEST, mbps(lease.pending.map_or(lease.request, |last| last.request)));
        }
    }

    /// A request comes back with what each hop has granted.
    fn answered(&mut self, config: &Config, now: Instant, answer: Request) {
        let answered = |lease: &&mut Lease| lease.pending.is_some_and(|pending| pending.number == answer.number);
        let Some(lease) = self.leases.iter_mut().find(answered) else { return };
        let Some(pending) = lease.pending.take() else { return };
        lease.request = pending.request;
        lease.rate = answer.grants.iter().copied().min().unwrap_or(0);
        lease.grants = answer.grants;
        lease.uplink = answer.uplink;
        // Each request has a number of its own, so that Karn's rule does not exclude it.
        self.recovery.rto.sample(now - pending.sent, config);
        if self.recovery.una == self.recovery.highest {
            self.restart_timer(config, now);
        }
    }

    fn sample(&mut self, config: &Config, now: Instant, stamp: Instant) {
        if stamp == Instant::MAX {
            return;
        }
        self.recovery.rto.sample(now - stamp, config);
        for lease in &mut self.leases {
            // What was sent after the request has arrived and been answered: request or answer were lost.
            lease.pending.take_if(|pending| pending.sent < stamp);
        }
    }

    fn on_new_ack(&mut self, config: &Config, now: Instant, seq: u64) {
        // The sample was taken from the stamp, or from the request that is answered.
        let advance = self.recovery.advance(config, now, seq, Instant::MAX);
        if advance.was != Phase::Open && self.recovery.phase == Phase::Open {
            self.hole = None;
        } else if advance.partial {
            self.hole = Some((seq, self.recovery.highest));
        }
        self.forget_acknowledged();
        self.restart_timer(config, now);
    }

    fn forget_acknowledged(&mut self) {
        while self.messages.front().is_some_and(|message| message.end <= self.recovery.una) {
            self.messages.pop_front();
            self.first += 1;
        }
    }

    /// The retransmission timer has expired: what was sent is lost, and so is what was granted.
    fn timeout(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        out.timed_out();
        self.recovery.on_timeout();
        for lease in &mut self.leases {
            lease.pending = None;
            lease.rate = 0;
        }
        if self.recovery.una == self.recovery.highest {
            // Only a request was under way.
            if let Some(lease) = self.lease_at(self.recovery.next) {
                self.ask_alone(config, now, lease, out);
            }
            return;
        }
        self.recovery.go_back(config, now);
        self.hole = None;
        // One segment goes out as with TCP, with the request for those after it.
        if let Some(segment) = self.segment(config, Work::Next) {
            let lease = self.lease_at(segment.0).unwrap_or_else(|| self.open_lease(segment.0));
            self.emit(config, now, lease, segment, out);
        }
    }

    /// Sends what may be sent, asks when there is something to ask for, and arms the timer for the rest.
    fn transmit(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let lost = self.send(config, now, Work::Lost, out);
        let next = self.send(config, now, Work::Next, out);
        self.close_leases(config, now, out);
        let wake = lost.min(next).min(self.recovery.rto_at);
        if wake != Instant::MAX {
            out.arm(wake);
        }
    }

    /// The same for one kind of work; gives when more of it may leave.
    fn send(&mut self, config: &Config, now: Instant, work: Work, out: &mut impl Output) -> Instant {
        while let Some(segment) = self.segment(config, work) {
            let Some(lease) = self.lease_at(segment.0) else {
                // What the message before it held is free for this one.
                self.close_leases(config, now, out);
                let lease = self.open_lease(segment.0);
                self.ask_alone(config, now, lease, out);
                break;
            };
            let due = self.leases[lease].pacer.due(self.leases[lease].rate);
            if due > now {
                let slow = due.saturating_sub(now) > self.rtt();
                if slow && self.leases[lease].pending.is_none() {
                    // No data packet will leave in this round trip to carry the request.
                    self.ask_alone(config, now, lease, out);
                }
                return due;
            }
            self.emit(config, now, lease, segment, out);
        }
        Instant::MAX
    }

    /// The next segment of this kind, unless there is none or the receiver's buffer does not take it.
    fn segment(&mut self, config: &Config, work: Work) -> Option<(u64, u64)> {
        match work {
            Work::Lost => self.lost_segment(config),
            Work::Next => self.next_segment(config),
        }
    }

    fn lost_segment(&mut self, config: &Config) -> Option<(u64, u64)> {
        loop {
            if self.hole.is_none() && self.recovery.phase == Phase::Recovery && config.sack {
                self.hole = self.recovery.next_lost(config);
            }
            let (start, limit) = self.hole?;
            let start = self.recovery.skip(start.max(self.recovery.una));
            let limit = limit.min(self.recovery.highest).min(self.recovery.next_sacked(start));
            if start < limit {
                self.hole = Some((start, limit));
                return Some((start, self.segment_end(config, start, limit)));
            }
            self.hole = None;
        }
    }

    fn next_segment(&mut self, config: &Config) -> Option<(u64, u64)> {
        let (start, limit) = self.recovery.upcoming(self.end)?;
        let end = self.segment_end(config, start, limit);
        let buffer_end = self.recovery.una.saturating_add(config.window_limit.0);
        (end <= buffer_end || start == self.recovery.una).then_some((start, end))
    }

    /// A segment does not pass the end of its message: the next one has a rate of its own.
    fn segment_end(&self, config: &Config, start: u64, limit: u64) -> u64 {
        (start + u64::from(config.mss)).min(limit).min(self.messages[self.message_at(start)].end)
    }

    /// Sends a data packet, with a request when none is under way.
    fn emit(&mut self, config: &Config, now: Instant, lease: usize, (start, end): (u64, u64), out: &mut impl Output) {
        let again = start < self.recovery.highest;
        let request = self.request(config, now, lease);
        let stamp = if again { Instant::MAX } else { now };
        let packet =
            Packet::data(start, (end - start) as u32, config.header, stamp, Flags::NONE.with_if(again, Flags::AGAIN));
        self.leases[lease].pacer.sent(now, u64::from(packet.size));
        if self.hole.take_if(|hole| hole.0 == start).is_some() {
            self.recovery.sent_again(config, start, end);
            if config.restart_on_retransmission {
                self.restart_timer(config, now);
            }
        } else {
            self.recovery.sent(end);
        }
        self.start_timer(config, now);
        match request {
            Some(request) => out.send_extended(packet, Extension::of_header(request)),
            None => out.send(packet),
        }
    }

    /// Sends a request by itself.
    fn ask_alone(&mut self, config: &Config, now: Instant, lease: usize, out: &mut impl Output) {
        let Some(request) = self.request(config, now, lease) else { return };
        self.start_timer(config, now);
        // It carries no data that could be sent again.
        let packet = Packet::data(self.recovery.next, 0, config.header, Instant::MAX, Flags::SYN);
        out.send_extended(packet, Extension::of_header(request));
    }

    /// The header of a request for the message of a lease, unless one is under way.
    fn request(&mut self, config: &Config, now: Instant, lease: usize) -> Option<Header> {
        let Lease { message: number, pending: None, .. } = self.leases[lease] else { return None };
        let message = number.checked_sub(self.first)? as usize;
        let request = self.own.router.rounding.of(self.needed(config, now, message));
        let lease = &mut self.leases[lease];
        self.asked += 1;
        lease.pending = Some(Pending { number: self.asked, sent: now, request });
        Some(Header::D3(Box::new(Request {
            ask: if lease.grants.is_empty() { Ask::Open } else { Ask::Renew },
            message: number,
            number: self.asked,
            sent: now,
            request,
            previous_request: lease.request,
            previous: lease.grants.clone(),
            grants: Vec::with_capacity(lease.grants.len()),
            uplink: 0,
        })))
    }

    /// The rate that a message needs from the next round trip on (D3, section 4): bytes that will be left then,
    /// with headers, over the time that will be left.
    fn needed(&self, config: &Config, now: Instant, message: usize) -> u64 {
        let Some(lag) = self.own.request else { return 0 };
        let Current { end, message: Message { bytes, deadline, .. } } = self.messages[message];
        let (Some(deadline), Some(_)) = (deadline, bytes) else { return 0 };
        if deadline <= now {
            return 0;
        }
        let start =
            message.checked_sub(1).map_or(self.recovery.una, |before| self.messages[before].end.max(self.recovery.una));
        let next = self.recovery.next.max(start);
        let mut left = end.saturating_sub(next);
        match self.recovery.phase {
            Phase::Open => {}
            Phase::Loss => {
                left = left.saturating_sub(self.recovery.sacked_below(end) - self.recovery.sacked_below(next.min(end)))
            }
            Phase::Recovery if config.sack => left += self.recovery.to_repair(config, start, end),
            Phase::Recovery => {
                left += self.hole.filter(|hole| (start..end).contains(&hole.0)).map_or(0, |_| u64::from(config.mss))
            }
        }
        let bytes = left.saturating_add(left.div_ceil(u64::from(config.mss)).saturating_mul(u64::from(config.header)));
        let rtt = self.rtt();
        let number = self.first + message as u32;
        let rate = self.leases.iter().find(|lease| lease.message == number).map_or(0, |lease| lease.rate);
        let meanwhile = u128::from(rate) * u128::from(rtt.0) / 8_000_000_000_000;
        let bytes = u128::from(bytes).saturating_sub(meanwhile) as u64;
        let time = (deadline - now).saturating_sub(Span::from_ps_f64(lag * rtt.0 as f64));
        rate_of(bytes, time.max(rtt))
    }

    /// Which lease what is sent at a position goes by.
    fn lease_at(&self, position: u64) -> Option<usize> {
        let message = self.first + self.message_at(position) as u32;
        self.leases.iter().position(|lease| lease.message == message)
    }

    fn open_lease(&mut self, position: u64) -> usize {
        let message = self.first + self.message_at(position) as u32;
        let place = self.leases.partition_point(|lease| lease.message < message);
        let pacer = Pacer::default();
        let lease = Lease { message, request: 0, grants: Vec::new(), rate: 0, pending: None, uplink: u64::MAX, pacer };
        self.leases.insert(place, lease);
        place
    }

    /// Tells the routers of the messages that are sent, and of which nothing is to be repaired. Where they go by what the
    /// header says, it must say what they answered last, and waits for it.
    fn close_leases(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let mut lease = 0;
        while lease < self.leases.len() {
            let Lease { message, pending, .. } = self.leases[lease];
            let done = match message.checked_sub(self.first).map(|index| self.messages[index as usize].end) {
                None => true,
                Some(end) => {
                    let whole = self.recovery.next >= end && self.hole.is_none_or(|hole| hole.0 >= end);
                    whole && (self.own.router.soft || pending.is_none())
                }
            };
            if done {
                self.close_lease(config, now, lease, out);
            } else {
                lease += 1;
            }
        }
    }

    fn close_lease(&mut self, config: &Config, now: Instant, lease: usize, out: &mut impl Output) {
        let lease = self.leases.remove(lease);
        self.asked += 1;
        let request = Request {
            ask: Ask::Close,
            message: lease.message,
            number: self.asked,
            sent: now,
            request: 0,
            previous_request: lease.request,
            previous: lease.grants,
            grants: Vec::new(),
            uplink: 0,
        };
        let packet = Packet::data(self.recovery.next, 0, config.header, Instant::MAX, Flags::NONE);
        out.send_extended(packet, Extension::of_header(Header::D3(Box::new(request))));
        if !self.is_waiting() {
            self.recovery.rto_at = Instant::MAX;
        }
    }

    /// D3 6.1.3: gives the oldest message up, once, if it cannot be in time.
    fn quench(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let Some(&oldest) = self.messages.front().filter(|_| self.own.quench) else { return };
        let Some(deadline) = oldest.message.deadline else { return };
        let lease = self.leases.iter().position(|lease| lease.message == self.first);
        let uplink = lease.map_or(u64::MAX, |lease| self.leases[lease].uplink);
        if deadline > now && self.needed(config, now, 0) <= uplink {
            return;
        }
        if let Some(lease) = lease {
            self.close_lease(config, now, lease, out);
        }
        let unsent = oldest.end.saturating_sub(self.recovery.highest.max(self.recovery.una));
        self.end -= unsent;
        self.messages.iter_mut().for_each(|message| message.end -= unsent);
        self.messages[0].message.deadline = None;
        self.forget_acknowledged();
        out.abandon(oldest.end, Bytes(unsent));
    }

    /// Which of the messages a position of the stream belongs to; the last one at its end.
    fn message_at(&self, position: u64) -> usize {
        self.messages.partition_point(|message| message.end <= position).min(self.messages.len().saturating_sub(1))
    }

    fn rtt(&self) -> Span {
        self.recovery.rto.srtt().unwrap_or(self.own.router.base_rtt)
    }

    fn start_timer(&mut self, config: &Config, now: Instant) {
        if self.recovery.rto_at == Instant::MAX {
            self.recovery.rto_at = now + self.recovery.rto.timeout(config);
        }
    }

    /// RFC 6298 5.2 and 5.3; a request that is under way counts as data.
    fn restart_timer(&mut self, config: &Config, now: Instant) {
        self.recovery.rto_at = if self.is_waiting() { now + self.recovery.rto.timeout(config) } else { Instant::MAX };
    }

    /// Whether data or a request is not answered.
    fn is_waiting(&self) -> bool {
        self.recovery.highest > self.recovery.una || self.leases.iter().any(|lease| lease.pending.is_some())
    }
}
