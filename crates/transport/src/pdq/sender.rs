//! The sending end: sends at the rate that ports have accepted, probes while it is paused, repairs losses.
//!
//! Each message is a flow of its own to the ports. One is known to them at a time: the one that is being sent, from a
//! packet without data before its first byte to one after its last (TERM). What must be sent again of an earlier message
//! goes at the rate of the present one, or makes its own known again where there is none.

use std::collections::VecDeque;

use units::{Bytes, Instant, Span};

use super::Config as Own;
use super::header::{Header as Told, time_of};
use crate::connection::{Config, ENDLESS, RATE, SRTT};
use crate::laws::Current;
use crate::pacing::Pacer;
use crate::recovery::{Duplicate, Phase, Recovery};
use crate::{Extension, Flags, Header, Message, Observation, Output, Packet};

/// The sending end of a connection whose flows ports accept or pause.
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
    /// The flow that the ports know.
    flow: Option<Flow>,
    /// The rate of the host's link, once known.
    uplink: u64,
    /// How many headers were sent.
    told: u64,
    /// Lost, and next to be sent again.
    hole: Option<(u64, u64)>,
}

/// The flow that the ports know.
#[derive(Clone, Debug)]
struct Flow {
    /// The number of its message.
    message: u32,
    /// What it may send, in bit/s; 0: it is paused, or has not been answered.
    rate: u64,
    /// The hop that has paused it.
    paused_by: Option<u8>,
    /// Round trips between two probes.
    probe_every: f64,
    /// The number of the header that was answered last.
    answered: u64,
    /// When ports were last told of it.
    told_at: Instant,
    pacer: Pacer,
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
            flow: None,
            uplink: u64::MAX,
            told: 0,
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
        let mut news = 0;
        if let Some(Extension { sack, header, .. }) = extension {
            news = self.recovery.note_blocks(config, sack.as_slice()).bytes;
            if let Some(Header::Pdq(answer)) = header.take() {
                self.answered(config, now, &answer);
            }
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
        self.terminate_early(config, now, out);
        self.transmit(config, now, out);
    }

    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if self.recovery.rto_at <= now {
            out.timed_out();
            self.recovery.on_timeout();
            self.recovery.go_back(config, now);
            self.hole = None;
        }
        self.terminate_early(config, now, out);
        self.transmit(config, now, out);
    }

    /// The connection is closed here.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}

    /// Shows what can be observed now.
    pub fn observe(&self, _: &Config, _: Instant, seen: &mut Observation) {
        seen.add_if(&SRTT, self.recovery.rto.srtt().map(Span::as_micros_f64));
        seen.add_if(&RATE, self.flow.as_ref().map(|flow| flow.rate as f64 / 1e6));
    }

    /// What was told comes back with what the ports made of it.
    fn answered(&mut self, config: &Config, now: Instant, answer: &Told) {
        // Each header has a number of its own, so that Karn's rule does not exclude what is sent again.
        self.recovery.rto.sample(now - answer.sent, config);
        self.uplink = answer.uplink;
        let Some(flow) = &mut self.flow else { return };
        if flow.message == answer.message && flow.answered < answer.number {
            flow.answered = answer.number;
            flow.paused_by = answer.paused_by;
            flow.probe_every = answer.probe_every;
            flow.rate = if answer.paused_by.is_some() { 0 } else { answer.rate };
        }
    }

    fn on_new_ack(&mut self, config: &Config, now: Instant, seq: u64) {
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

    /// Sends what may be sent, or asks whether it may, and arms the timer for the rest.
    fn transmit(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let next = self.send(config, now, out);
        let wake = next.min(self.recovery.rto_at);
        if wake != Instant::MAX {
            out.arm(wake);
        }
    }

    /// Sends what may leave now; gives when more may, or when the ports are to be asked again.
    fn send(&mut self, config: &Config, now: Instant, out: &mut impl Output) -> Instant {
        loop {
            self.close_when_sent(config, now, out);
            let lost = self.lost_segment(config);
            let Some((start, end)) = lost.or_else(|| self.next_segment(config)) else { return Instant::MAX };
            let message = self.first + self.message_at(start) as u32;
            let rtt = self.rtt();
            let Some(flow) = &mut self.flow else {
                let (pacer, told_at) = (Pacer::default(), now);
                let every = self.own.probe_every;
                let answered = self.told;
                self.flow =
                    Some(Flow { message, rate: 0, paused_by: None, probe_every: every, answered, told_at, pacer });
                self.probe(config, now, out);
                continue;
            };
            if flow.rate == 0 {
                let wait = flow.probe_every.max(self.own.probe_every) * rtt.0 as f64;
                let due = flow.told_at.saturating_add(Span::from_ps_f64(wait));
                if due > now {
                    return due;
                }
                self.probe(config, now, out);
                continue;
            }
            let due = flow.pacer.due(flow.rate);
            if due > now {
                return due;
            }
            self.emit(config, now, (start, end), lost.is_some(), out);
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

    /// A segment does not pass the end of its message: the next one is another flow.
    fn segment_end(&self, config: &Config, start: u64, limit: u64) -> u64 {
        (start + u64::from(config.mss)).min(limit).min(self.messages[self.message_at(start)].end)
    }

    /// Sends a data packet.
    fn emit(&mut self, config: &Config, now: Instant, (start, end): (u64, u64), lost: bool, out: &mut impl Output) {
        let again = start < self.recovery.highest;
        let stamp = if again { Instant::MAX } else { now };
        let flags = Flags::NONE.with_if(again, Flags::AGAIN);
        let packet = Packet::data(start, (end - start) as u32, config.header, stamp, flags);
        if lost {
            // With SACK the next one is looked for anew; NewReno repairs one for each partial acknowledgement.
            self.hole = None;
            self.recovery.sent_again(config, start, end);
            if config.restart_on_retransmission {
                self.restart_timer(config, now);
            }
        } else {
            self.recovery.sent(end);
        }
        if self.recovery.rto_at == Instant::MAX {
            self.recovery.rto_at = now + self.recovery.rto.timeout(config);
        }
        let header = self.tell(config, now, false);
        if let Some(flow) = &mut self.flow {
            flow.pacer.sent(now, u64::from(packet.size));
        }
        out.send_extended(packet, Extension::of_header(header));
    }

    /// Asks the ports, without data.
    fn probe(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let header = self.tell(config, now, false);
        let packet = Packet::data(self.recovery.next, 0, config.header, Instant::MAX, Flags::SYN);
        out.send_extended(packet, Extension::of_header(header));
    }

    /// What the ports are told of the present flow.
    fn tell(&mut self, config: &Config, now: Instant, over: bool) -> Header {
        let rtt = self.rtt();
        let flow = self.flow.as_mut().expect("there is a flow to tell of");
        flow.told_at = now;
        self.told += 1;
        let (message, paused_by) = (flow.message, flow.paused_by);
        let deadline = self.message(message).and_then(|current| current.message.deadline);
        Header::Pdq(Box::new(Told {
            message,
            number: self.told,
            sent: now,
            over,
            deadline,
            left: self.left(config, message),
            rtt,
            rate: self.uplink,
            paused_by,
            probe_every: 0.0,
            uplink: self.uplink,
            hop: 0,
        }))
    }

    /// Wire bytes that a message has left to send.
    fn left(&self, config: &Config, number: u32) -> Bytes {
        let Some(index) = number.checked_sub(self.first).map(|index| index as usize) else { return Bytes::ZERO };
        let Some(&Current { end, .. }) = self.messages.get(index) else { return Bytes::ZERO };
        let before = index.checked_sub(1).map_or(0, |before| self.messages[before].end);
        let start = before.max(self.recovery.una);
        let mut bytes = end.saturating_sub(self.recovery.next.max(start));
        if self.recovery.phase == Phase::Recovery && config.sack {
            bytes += self.recovery.to_repair(config, start, end);
        }
        Bytes(bytes.saturating_add(bytes.div_ceil(u64::from(config.mss)).saturating_mul(u64::from(config.header))))
    }

    fn message(&self, number: u32) -> Option<&Current> {
        self.messages.get(number.checked_sub(self.first)? as usize)
    }

    /// Tells the ports of a message that is sent, and of which nothing is to be repaired.
    fn close_when_sent(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let Some(flow) = &self.flow else { return };
        let whole = |end| self.recovery.next >= end && self.hole.is_none_or(|hole| hole.0 >= end);
        if self.message(flow.message).is_none_or(|message| whole(message.end)) {
            self.close(config, now, out);
        }
    }

    fn close(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let header = self.tell(config, now, true);
        self.flow = None;
        let packet = Packet::data(self.recovery.next, 0, config.header, Instant::MAX, Flags::NONE);
        out.send_extended(packet, Extension::of_header(header));
    }

    /// PDQ 3.1: gives the oldest message up, once, if it cannot be in time.
    fn terminate_early(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let Some(&oldest) = self.messages.front().filter(|_| self.own.early_termination) else { return };
        let Some(deadline) = oldest.message.deadline else { return };
        let known = self.flow.as_ref().filter(|flow| flow.message == self.first);
        let is_paused = known.is_some_and(|flow| flow.paused_by.is_some());
        let needs = time_of(self.left(config, self.first), self.uplink);
        let too_late = now > deadline
            || now.saturating_add(needs) > deadline
            || is_paused && now.saturating_add(self.rtt()) > deadline;
        if !too_late {
            return;
        }
        let unsent = oldest.end.saturating_sub(self.recovery.highest.max(self.recovery.una));
        if known.is_some() {
            self.close(config, now, out);
        }
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
        self.recovery.rto.srtt().unwrap_or(self.own.ports.base_rtt)
    }

    /// RFC 6298 5.3.
    fn restart_timer(&mut self, config: &Config, now: Instant) {
        let waiting = self.recovery.highest > self.recovery.una;
        self.recovery.rto_at = if waiting { now + self.recovery.rto.timeout(config) } else { Instant::MAX };
    }
}
