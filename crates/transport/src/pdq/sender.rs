//! The sending end: sends at the rate that ports have accepted, probes while it is paused, repairs losses.
//!
//! Each message is a flow of its own to the ports. They know one at a time: the one that is being sent, from a packet
//! without data before its first byte to one after its last (TERM). Retransmissions of an earlier message are sent at
//! the rate of the present one, or announce their own again where there is none.

use units::{Bytes, Instant, Span};

use super::Config as Own;
use super::header::{Header as Told, time_of};
use crate::connection::{Config, RATE, SRTT};
use crate::pacing::Pacer;
use crate::stream::MessageStream;
use crate::{Extension, Flags, Header, Message, Observation, Output, Packet};

/// The sending end of a connection whose flows ports accept or pause.
#[derive(Clone, Debug)]
pub struct Sender {
    own: Own,
    stream: MessageStream,
    /// The flow that the ports know.
    flow: Option<Flow>,
    /// The rate of the host's link, once known.
    uplink: u64,
    /// Number of headers sent.
    told: u64,
}

/// The flow that the ports know.
#[derive(Clone, Debug)]
struct Flow {
    /// The bits of its connection's own.
    own: u64,
    /// Index of its message.
    message: u32,
    /// The accepted rate, in bit/s; 0: it is paused, or has not been answered.
    rate: u64,
    /// The hop that has paused it.
    paused_by: Option<u8>,
    /// Round trips between two probes.
    probe_every: f64,
    /// The number of the header that was answered last.
    answered: u64,
    /// The time at which the last header was sent.
    told_at: Instant,
    pacer: Pacer,
}

impl Sender {
    /// Returns a sender without data.
    pub fn new(config: &Config, own: &Own) -> Sender {
        Sender { own: *own, stream: MessageStream::new(config), flow: None, uplink: u64::MAX, told: 0 }
    }

    /// Enqueues a message after the earlier ones.
    pub fn enqueue_message(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl Output) {
        self.stream.enqueue_message(message);
        self.transmit(config, now, out);
    }

    /// Returns the position before which all data is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.stream.recovery.una
    }

    /// Returns true if all enqueued data is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.stream.is_idle()
    }

    /// Processes an acknowledgement from the receiver.
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
            news = self.stream.recovery.note_blocks(config, sack.as_slice()).bytes;
            if let Some(Header::Pdq(answer)) = header.take() {
                self.answered(config, now, &answer);
            }
        }
        if self.stream.on_ack(config, now, packet, news) {
            self.restart_timer(config, now);
        }
        self.terminate_early(config, now, out);
        self.transmit(config, now, out);
    }

    /// Does nothing: its receivers send no news of trimmed packets.
    pub fn on_trimmed(&mut self, _: &Config, _: Instant, _: &Packet, _: &mut impl Output) {}

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if self.stream.recovery.rto_at <= now {
            out.timed_out(self.stream.recovery.rto.timer(config));
            self.stream.recovery.on_timeout();
            self.stream.go_back(config, now);
        }
        self.terminate_early(config, now, out);
        self.transmit(config, now, out);
    }

    /// Continues sending when the host's queue has room again.
    pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.transmit(config, now, out);
    }

    /// Handles the close of the connection at this host.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}

    /// Reports the present values of the signals.
    pub fn observe(&self, _: &Config, _: Instant, seen: &mut Observation) {
        seen.add_if(&SRTT, self.stream.recovery.rto.srtt().map(Span::as_micros_f64));
        seen.add_if(&RATE, self.flow.as_ref().map(|flow| flow.rate as f64 / 1e6));
    }

    /// Handles a header echo with the ports' verdict.
    fn answered(&mut self, config: &Config, now: Instant, answer: &Told) {
        // Each header has a number of its own, so that Karn's rule does not exclude retransmissions.
        self.stream.recovery.rto.sample(now - answer.sent, config);
        self.uplink = answer.uplink;
        let Some(flow) = &mut self.flow else { return };
        if flow.message == answer.message && flow.answered < answer.number {
            flow.answered = answer.number;
            flow.paused_by = answer.paused_by;
            flow.probe_every = answer.probe_every;
            flow.rate = if answer.paused_by.is_some() { 0 } else { answer.rate };
        }
    }

    /// Sends as much as is allowed, or a probe, and arms the timer for the rest.
    fn transmit(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let next = self.send(config, now, out);
        let wake = next.min(self.stream.recovery.rto_at);
        if wake != Instant::MAX {
            out.arm(wake);
        }
    }

    /// Sends as much as is allowed now; returns the time of the next packet, or of the next probe.
    fn send(&mut self, config: &Config, now: Instant, out: &mut impl Output) -> Instant {
        loop {
            self.close_when_sent(config, now, out);
            let lost = self.stream.lost_segment(config);
            let Some(segment) = lost.or_else(|| self.stream.next_segment(config)) else { return Instant::MAX };
            let message = self.stream.number_at(segment.0);
            let rtt = self.rtt();
            let Some(flow) = &mut self.flow else {
                let (pacer, told_at) = (Pacer::default(), now);
                let every = self.own.probe_every;
                let (answered, own) = (self.told, out.site().own);
                self.flow =
                    Some(Flow { own, message, rate: 0, paused_by: None, probe_every: every, answered, told_at, pacer });
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
            if !out.has_room() {
                return Instant::MAX;
            }
            self.emit(config, now, segment, out);
        }
    }

    /// Sends a data packet.
    fn emit(&mut self, config: &Config, now: Instant, segment: (u64, u64), out: &mut impl Output) {
        let (packet, restart) = self.stream.send(config, now, segment);
        if restart {
            self.restart_timer(config, now);
        }
        self.stream.start_timer(config, now);
        let header = self.tell(config, now, false);
        if let Some(flow) = &mut self.flow {
            flow.pacer.sent(now, u64::from(packet.size));
        }
        out.send_extended(packet, Extension::of_header(header));
    }

    /// Probes the ports, without data.
    fn probe(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let header = self.tell(config, now, false);
        let packet = Packet::data(self.stream.recovery.next, 0, config.header, Instant::MAX, Flags::SYN);
        out.send_extended(packet, Extension::of_header(header));
    }

    /// Returns the header for the ports about the present flow.
    fn tell(&mut self, config: &Config, now: Instant, over: bool) -> Header {
        let rtt = self.rtt();
        let flow = self.flow.as_mut().expect("a header is only written for an open flow");
        flow.told_at = now;
        self.told += 1;
        let &mut Flow { own, message, paused_by, .. } = flow;
        let deadline = self.stream.message(message).and_then(|(_, current)| current.message.deadline);
        Header::Pdq(Box::new(Told {
            own,
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

    /// Returns the wire bytes that a message has left to send (PDQ 3: the base of its expected transmission time).
    fn left(&self, config: &Config, number: u32) -> Bytes {
        let Some((start, current)) = self.stream.message(number) else { return Bytes::ZERO };
        let bytes = self.stream.left(config, start, current.end);
        Bytes(MessageStream::with_headers(config, bytes))
    }

    /// Notifies the ports of a message that is sent, and of which nothing is to be repaired.
    fn close_when_sent(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if self.flow.as_ref().is_some_and(|flow| self.stream.is_sent(flow.message)) {
            self.close(config, now, out);
        }
    }

    fn close(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let header = self.tell(config, now, true);
        self.flow = None;
        let packet = Packet::data(self.stream.recovery.next, 0, config.header, Instant::MAX, Flags::NONE);
        out.send_extended(packet, Extension::of_header(header));
    }

    /// Aborts the oldest message, once, if it cannot be in time (PDQ 3.1).
    fn terminate_early(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let Some((number, oldest)) = self.stream.oldest().filter(|_| self.own.early_termination) else { return };
        let Some(deadline) = oldest.message.deadline else { return };
        let known = self.flow.as_ref().filter(|flow| flow.message == number);
        let is_paused = known.is_some_and(|flow| flow.paused_by.is_some());
        let needs = time_of(self.left(config, number), self.uplink);
        let too_late = now > deadline
            || now.saturating_add(needs) > deadline
            || is_paused && now.saturating_add(self.rtt()) > deadline;
        if !too_late {
            return;
        }
        if known.is_some() {
            self.close(config, now, out);
        }
        self.stream.give_up(out);
    }

    fn rtt(&self) -> Span {
        self.stream.rtt(self.own.ports.base_rtt)
    }

    fn restart_timer(&mut self, config: &Config, now: Instant) {
        self.stream.restart_timer(config, now, self.stream.is_waiting());
    }
}
