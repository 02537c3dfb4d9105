//! The least family with state at hosts: what proves that one fits (feature `trial`, for tests alone).
//!
//! A sending end says what it has to send and until when. The receiving host lets one of its connections send at a
//! time, in the order of deadlines, and waits a while after a first request for those of others. Nothing may be lost.

use std::collections::BTreeMap;

use units::{Instant, Span};

pub use crate::agent::NoAgents as Agents;
use crate::connection;
use crate::host::{AtHost, End, HostOutput, HostState};
use crate::{Descriptor, Extension, Flags, Message, Observation, Packet};

/// See [`Control::goes_by_numbers`](crate::control::Control::goes_by_numbers): who waits for a grant stands in the order of deadlines, then of numbers.
pub(crate) const GOES_BY_NUMBERS: bool = true;

/// See [`Entry::reads`](crate::registry::Entry::reads).
pub(crate) const READS: Option<&[&str]> = Some(&["mss", "header"]);

/// In no list: only tests make one.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[];

/// Its parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// A host that has nothing to grant waits so long after a request.
    pub gather: Span,
}

impl Config {
    /// Nothing is kept at ports.
    pub fn agents(&self) -> Option<Agents> {
        None
    }
}

/// What an end says to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Header {
    /// From the sender: everything up to a position is to be there by a deadline.
    Asks {
        /// The position.
        end: u64,
        /// The deadline.
        deadline: Instant,
    },
    /// From the receiver: what was asked for may be sent.
    Granted,
}

/// What a host's connections share: who is waiting for a grant.
#[derive(Debug, Default)]
pub struct Host {
    /// By deadline, then by connection; each with the header bytes of its packets.
    waiting: BTreeMap<(Instant, u32), (End, u32)>,
    /// The one that may send.
    granted: Option<End>,
    /// Nothing is granted before this.
    opens: Instant,
}

impl Host {
    /// The end of the connection that may send now, if nobody else may and one waits.
    fn next(&mut self, now: Instant) -> Option<(End, u32)> {
        if self.granted.is_some() || now < self.opens {
            return None;
        }
        let (_, (end, header)) = self.waiting.pop_first()?;
        self.granted = Some(end);
        Some((end, header))
    }

    /// One end has all that it was granted, or is gone.
    fn released(&mut self, end: End) {
        self.waiting.retain(|_, (waiting, _)| *waiting != end);
        self.granted.take_if(|granted| *granted == end);
    }
}

impl HostState for Host {
    fn on_timer(&mut self, now: Instant, out: &mut impl HostOutput) {
        if let Some(next) = self.next(now) {
            grant(next, out);
        }
    }
}

fn grant((end, header): (End, u32), out: &mut impl HostOutput) {
    let extension = Extension::of_header(crate::Header::Trial(Box::new(Header::Granted)));
    out.send_from(end, Packet::ack(0, header, Instant::MAX, Flags::NONE), Some(extension));
}

/// The sending end, for one message.
#[derive(Clone, Debug)]
pub struct Sender {
    end: u64,
    acknowledged: u64,
}

impl Sender {
    /// Nothing to send yet.
    pub fn new(_: &connection::Config, _: &Config) -> Sender {
        Sender { end: 0, acknowledged: 0 }
    }
    /// Takes its message and asks for it.
    pub fn hand_over(&mut self, config: &connection::Config, _: Instant, message: Message, out: &mut impl AtHost) {
        self.end = message.bytes.expect("it has an end").0;
        let asks = Header::Asks { end: self.end, deadline: message.deadline.unwrap_or(Instant::MAX) };
        let extension = Extension::of_header(crate::Header::Trial(Box::new(asks)));
        out.send_extended(Packet::data(0, 0, config.header, Instant::MAX, Flags::SYN), extension);
    }
    /// Whether everything is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.acknowledged == self.end
    }
    /// Up to where.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
    /// Sends everything when it is granted.
    pub fn on_packet(
        &mut self,
        config: &connection::Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        self.acknowledged = self.acknowledged.max(packet.seq);
        if extension.is_some_and(|extension| extension.header.is_some()) {
            for start in (0..self.end).step_by(config.mss as usize) {
                let payload = (self.end - start).min(config.mss.into()) as u32;
                out.send(Packet::data(start, payload, config.header, now, Flags::NONE));
            }
        }
    }
    /// It has none.
    pub fn on_timer(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}
    /// Nothing is kept where it stands.
    pub fn on_close(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}

    /// The host's queue has room.
    pub fn on_room(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}
    /// It has no signals.
    pub fn observe(&self, _: &connection::Config, _: Instant, _: &mut Observation) {}
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    gather: Span,
    next: u64,
    end: u64,
}

impl Receiver {
    /// Nothing received yet.
    pub fn new(own: &Config) -> Receiver {
        Receiver { gather: own.gather, next: 0, end: u64::MAX }
    }
    /// Everything before this has arrived.
    pub fn next(&self) -> u64 {
        self.next
    }
    /// Returns how many bytes before a position have arrived.
    pub fn arrived_below(&self, position: u64) -> u64 {
        self.next.min(position)
    }
    /// Notes at its host what is asked for; lets the next connection send when it has all.
    pub fn on_packet(
        &mut self,
        config: &connection::Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        let own = out.end();
        let asked = extension.and_then(|extension| extension.header.take());
        if let Some(crate::Header::Trial(header)) = asked
            && let Header::Asks { end, deadline } = *header
        {
            self.end = end;
            let host = &mut out.shared().trial;
            if host.granted.is_none() && host.waiting.is_empty() {
                host.opens = now + self.gather;
                let opens = host.opens;
                out.arm_host(opens);
            }
            out.shared().trial.waiting.insert((deadline, own.connection.0), (own, config.header));
            return;
        }
        self.next = packet.end();
        out.send(Packet::ack(self.next, config.header, packet.stamp, Flags::NONE));
        if self.next == self.end {
            Receiver::release(own, now, out);
        }
    }
    /// It has none.
    pub fn on_timer(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}
    /// Whatever it was granted, others may have now.
    pub fn on_close(&mut self, _: &connection::Config, now: Instant, out: &mut impl AtHost) {
        Receiver::release(out.end(), now, out);
    }

    fn release(own: End, now: Instant, out: &mut impl AtHost) {
        let host = &mut out.shared().trial;
        host.released(own);
        if let Some(next) = host.next(now) {
            grant(next, out);
        }
    }
}
