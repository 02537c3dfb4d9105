//! The sending end: requests a rate once per round trip, paces at the granted rate, repairs losses.
//!
//! Each message is a flow of its own to the routers, with a lease of its own. It requests a rate before its first byte
//! (a SYN-like packet) and returns it after its last (FIN). A later retransmission requests anew, for its own message,
//! while the next message is sent under its own lease.

use units::{Instant, Span};

use super::header::Header as Request;
use super::header::rate_of;
use super::{Ask, Config as Own, REQUEST};
use crate::connection::{Config, RATE, SRTT};
use crate::controllers::Current;
use crate::pacing::Pacer;
use crate::stream::MessageStream;
use crate::{Extension, Flags, Header, Message, Observation, Output, Packet};

/// The sending end of a connection whose rate the network grants.
#[derive(Clone, Debug)]
pub struct Sender {
    own: Own,
    stream: MessageStream,
    /// The leases of the messages that the routers know, in the order of the messages' indexes.
    leases: Vec<Lease>,
    /// Number of requests sent.
    asked: u64,
}

/// The routers' knowledge of a message.
#[derive(Clone, Debug)]
struct Lease {
    /// The bits of the connection's own.
    own: u64,
    /// Index of the message.
    message: u32,
    /// The deadline of the message, if it has one.
    deadline: Option<Instant>,
    /// The rate requested by the last answered request.
    request: u64,
    /// The grant of each hop to it.
    grants: Vec<u64>,
    /// The smallest of these, in bit/s; 0 while none is known.
    rate: u64,
    /// The request that is not answered yet.
    pending: Option<Pending>,
    /// The rate of the sender's own link, once known.
    uplink: u64,
    /// The times at which its data packets may be sent.
    pacer: Pacer,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    number: u64,
    sent: Instant,
    request: u64,
}

/// The kinds of data to send, each at its own pace.
#[derive(Clone, Copy)]
enum Work {
    /// Data that is lost.
    Lost,
    /// New data; after a timeout, all of it again.
    Next,
}

impl Sender {
    /// Returns a sender without data.
    pub fn new(config: &Config, own: &Own) -> Sender {
        Sender { own: *own, stream: MessageStream::new(config), leases: Vec::new(), asked: 0 }
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
        let (mut news, mut answer) = (0, None);
        if let Some(Extension { sack, header, .. }) = extension {
            news = self.stream.recovery.note_blocks(config, sack.as_slice()).bytes;
            answer = header.take();
        }
        match answer {
            Some(Header::D3(answer)) => self.answered(config, now, *answer),
            _ => self.sample(config, now, packet.stamp),
        }
        if self.stream.on_ack(config, now, packet, news) {
            self.restart_timer(config, now);
        }
        self.quench(config, now, out);
        self.transmit(config, now, out);
    }

    /// Does nothing: its receivers send no news of trimmed packets.
    pub fn on_trimmed(&mut self, _: &Config, _: Instant, _: &Packet, _: &mut impl Output) {}

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.quench(config, now, out);
        if self.stream.recovery.rto_at <= now {
            self.timeout(config, now, out);
        }
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
        let mbps = |rate: u64| rate as f64 / 1e6;
        seen.add_if(&SRTT, self.stream.recovery.rto.srtt().map(Span::as_micros_f64));
        if let Some(lease) = self.leases.last() {
            seen.add(&RATE, mbps(lease.rate));
            seen.add(&REQUEST, mbps(lease.pending.map_or(lease.request, |last| last.request)));
        }
    }

    /// Processes a returned request with the grants of all hops.
    fn answered(&mut self, config: &Config, now: Instant, answer: Request) {
        let answered = |lease: &&mut Lease| lease.pending.is_some_and(|pending| pending.number == answer.number);
        let Some(lease) = self.leases.iter_mut().find(answered) else { return };
        let Some(pending) = lease.pending.take() else { return };
        lease.request = pending.request;
        lease.rate = answer.grants.iter().copied().min().unwrap_or(0);
        lease.grants = answer.grants;
        lease.uplink = answer.uplink;
        // Each request has a number of its own, so that Karn's rule does not exclude it.
        self.stream.recovery.rto.sample(now - pending.sent, config);
        if self.stream.recovery.una == self.stream.recovery.highest {
            self.restart_timer(config, now);
        }
    }

    fn sample(&mut self, config: &Config, now: Instant, stamp: Instant) {
        if stamp == Instant::MAX {
            return;
        }
        self.stream.recovery.rto.sample(now - stamp, config);
        for lease in &mut self.leases {
            // A packet sent after the request has been answered: the request or its answer was lost.
            lease.pending.take_if(|pending| pending.sent < stamp);
        }
    }

    /// Handles the retransmission timeout: the sent data counts as lost, and so do the grants.
    fn timeout(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        out.timed_out(self.stream.recovery.rto.timer(config));
        self.stream.recovery.on_timeout();
        for lease in &mut self.leases {
            lease.pending = None;
            lease.rate = 0;
        }
        if self.stream.recovery.una == self.stream.recovery.highest {
            // Only a request was in flight.
            if let Some(lease) = self.lease_at(self.stream.recovery.next) {
                self.ask_alone(config, now, lease, out);
            }
            return;
        }
        self.stream.go_back(config, now);
        // One segment is sent as with TCP, with the request for the ones after it.
        if let Some(segment) = self.stream.next_segment(config) {
            let lease = self.lease_at(segment.0).unwrap_or_else(|| self.open_lease(segment.0, out));
            self.emit(config, now, lease, segment, out);
        }
    }

    /// Sends as much as is allowed, requests rates for the rest, and arms the timer.
    fn transmit(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let lost = self.send(config, now, Work::Lost, out);
        let next = self.send(config, now, Work::Next, out);
        self.close_leases(config, now, out);
        let wake = lost.min(next).min(self.stream.recovery.rto_at);
        if wake != Instant::MAX {
            out.arm(wake);
        }
    }

    /// The same for one kind of work; returns the time at which more of it may be sent.
    fn send(&mut self, config: &Config, now: Instant, work: Work, out: &mut impl Output) -> Instant {
        while let Some(segment) = self.segment(config, work) {
            let Some(lease) = self.lease_at(segment.0) else {
                // The lease of the message before it is free for this one.
                self.close_leases(config, now, out);
                let lease = self.open_lease(segment.0, out);
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
            if !out.has_room() {
                return Instant::MAX;
            }
            self.emit(config, now, lease, segment, out);
        }
        Instant::MAX
    }

    fn segment(&mut self, config: &Config, work: Work) -> Option<(u64, u64)> {
        match work {
            Work::Lost => self.stream.lost_segment(config),
            Work::Next => self.stream.next_segment(config),
        }
    }

    /// Sends a data packet, with a request when none is in flight.
    fn emit(&mut self, config: &Config, now: Instant, lease: usize, segment: (u64, u64), out: &mut impl Output) {
        let request = self.request(config, now, lease);
        let (packet, restart) = self.stream.send(config, now, segment);
        self.leases[lease].pacer.sent(now, u64::from(packet.size));
        if restart {
            self.restart_timer(config, now);
        }
        self.stream.start_timer(config, now);
        match request {
            Some(request) => out.send_extended(packet, Extension::of_header(request)),
            None => out.send(packet),
        }
    }

    /// Sends a request without data.
    fn ask_alone(&mut self, config: &Config, now: Instant, lease: usize, out: &mut impl Output) {
        let Some(request) = self.request(config, now, lease) else { return };
        self.stream.start_timer(config, now);
        // It carries no data to retransmit.
        let packet = Packet::data(self.stream.recovery.next, 0, config.header, Instant::MAX, Flags::SYN);
        out.send_extended(packet, Extension::of_header(request));
    }

    /// Returns the header of a request for the message of a lease, unless one is in flight.
    fn request(&mut self, config: &Config, now: Instant, lease: usize) -> Option<Header> {
        let Lease { message: number, pending: None, .. } = self.leases[lease] else { return None };
        self.stream.message(number)?;
        let request = self.own.router.rounding.of(self.needed(config, now, number));
        let lease = &mut self.leases[lease];
        self.asked += 1;
        lease.pending = Some(Pending { number: self.asked, sent: now, request });
        Some(Header::D3(Box::new(Request {
            ask: if lease.grants.is_empty() { Ask::Open } else { Ask::Renew },
            own: lease.own,
            message: number,
            deadline: lease.deadline,
            number: self.asked,
            sent: now,
            request,
            previous_request: lease.request,
            previous: lease.grants.clone(),
            grants: Vec::with_capacity(lease.grants.len()),
            uplink: 0,
        })))
    }

    /// Returns the rate that a message needs from the next round trip on (D3, section 4): the bytes left then, with
    /// headers, over the time left then.
    fn needed(&self, config: &Config, now: Instant, number: u32) -> u64 {
        let (Some(lag), Some((start, current))) = (self.own.request, self.stream.message(number)) else { return 0 };
        let Current { end, message: Message { bytes, deadline, .. } } = *current;
        let (Some(deadline), Some(_)) = (deadline, bytes) else { return 0 };
        if deadline <= now {
            return 0;
        }
        let left = self.stream.left(config, start, end);
        let bytes = MessageStream::with_headers(config, left);
        let rtt = self.rtt();
        let rate = self.leases.iter().find(|lease| lease.message == number).map_or(0, |lease| lease.rate);
        let meanwhile = u128::from(rate) * u128::from(rtt.0) / 8_000_000_000_000;
        let bytes = u128::from(bytes).saturating_sub(meanwhile) as u64;
        let time = (deadline - now).saturating_sub(Span::from_ps_f64(lag * rtt.0 as f64));
        rate_of(bytes, time.max(rtt))
    }

    /// Returns the lease that covers a position, if there is one.
    fn lease_at(&self, position: u64) -> Option<usize> {
        let message = self.stream.number_at(position);
        self.leases.iter().position(|lease| lease.message == message)
    }

    fn open_lease(&mut self, position: u64, out: &impl Output) -> usize {
        let message = self.stream.number_at(position);
        let deadline = self.stream.message(message).and_then(|(_, current)| current.message.deadline);
        let place = self.leases.partition_point(|lease| lease.message < message);
        let pacer = Pacer::default();
        let lease = Lease {
            own: out.site().own,
            message,
            deadline,
            request: 0,
            grants: Vec::new(),
            rate: 0,
            pending: None,
            uplink: u64::MAX,
            pacer,
        };
        self.leases.insert(place, lease);
        place
    }

    /// Closes the leases of messages that are sent and need no repair. Where routers read the previous grants from the
    /// header, the last answer must be in it: then the FIN is sent after that answer.
    fn close_leases(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let mut lease = 0;
        while lease < self.leases.len() {
            let Lease { message, pending, .. } = self.leases[lease];
            let waits = !self.own.router.soft && pending.is_some() && self.stream.message(message).is_some();
            let done = self.stream.is_sent(message) && !waits;
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
            own: lease.own,
            message: lease.message,
            deadline: lease.deadline,
            number: self.asked,
            sent: now,
            request: 0,
            previous_request: lease.request,
            previous: lease.grants,
            grants: Vec::new(),
            uplink: 0,
        };
        let packet = Packet::data(self.stream.recovery.next, 0, config.header, Instant::MAX, Flags::NONE);
        out.send_extended(packet, Extension::of_header(Header::D3(Box::new(request))));
        if !self.is_waiting() {
            self.stream.recovery.rto_at = Instant::MAX;
        }
    }

    /// Aborts the oldest message, once, if it cannot be in time (D3 6.1.3).
    fn quench(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let Some((number, oldest)) = self.stream.oldest().filter(|_| self.own.quench) else { return };
        let Some(deadline) = oldest.message.deadline else { return };
        let lease = self.leases.iter().position(|lease| lease.message == number);
        let uplink = lease.map_or(u64::MAX, |lease| self.leases[lease].uplink);
        if deadline > now && self.needed(config, now, number) <= uplink {
            return;
        }
        if let Some(lease) = lease {
            self.close_lease(config, now, lease, out);
        }
        self.stream.give_up(out);
    }

    fn rtt(&self) -> Span {
        self.stream.rtt(self.own.router.base_rtt)
    }

    fn restart_timer(&mut self, config: &Config, now: Instant) {
        self.stream.restart_timer(config, now, self.is_waiting());
    }

    /// Returns true if data or a request is unanswered: a request in flight counts as data.
    fn is_waiting(&self) -> bool {
        self.stream.is_waiting() || self.leases.iter().any(|lease| lease.pending.is_some())
    }
}
