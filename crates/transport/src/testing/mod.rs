//! The smallest family with state at hosts: a proof that one fits (feature `trial`, for tests alone).
//!
//! A sending end reports the data that it has to send and its deadline. The receiving host lets one of its connections
//! send at a time, in the order of deadlines. After a first request it collects the requests of others for a while.
//! Nothing may be lost.

use std::collections::BTreeMap;

use units::{Instant, Span};

pub use crate::agent::NoAgents as Agents;
use crate::connection;
use crate::host::{AtHost, End, HostOutput, HostState};
use crate::{Descriptor, Extension, Flags, Message, Observation, Packet};

/// See [`Entry::reads`](crate::registry::Entry::reads): the keys of packets.
pub(crate) const READS: Option<&[&str]> = Some(&["mss", "header"]);

/// In no list: only tests make one.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[];

/// The parameter of the family.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The time for which a host that has nothing to grant collects requests after the first.
    pub gather: Span,
}

impl Config {
    /// Returns none: nothing is kept at ports.
    pub fn agents(&self) -> Option<Agents> {
        None
    }
}

/// The headers that the two ends exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Header {
    /// From the sender: a request to deliver everything up to a position by a deadline.
    Asks {
        /// The end of the data.
        end: u64,
        /// The deadline of the data.
        deadline: Instant,
    },
    /// From the receiver: the requested data may be sent.
    Granted,
}

/// The shared state of a host's connections: the requests for a grant.
#[derive(Debug, Default)]
pub struct Host {
    /// The requests by deadline, then by flow; each with the header bytes of its packets.
    waiting: BTreeMap<(Instant, u64), (End, u32)>,
    /// The end that may send.
    granted: Option<End>,
    /// The time before which nothing is granted.
    opens: Instant,
}

impl Host {
    /// Returns the end of the connection that may send now, if no other may and there is a request.
    fn next(&mut self, now: Instant) -> Option<(End, u32)> {
        if self.granted.is_some() || now < self.opens {
            return None;
        }
        let (_, (end, header)) = self.waiting.pop_first()?;
        self.granted = Some(end);
        Some((end, header))
    }

    /// Removes an end that has received all of its granted data, or was closed.
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
    /// Returns a sender without data.
    pub fn new(_: &connection::Config, _: &Config) -> Sender {
        Sender { end: 0, acknowledged: 0 }
    }
    /// Takes its message and requests a grant for it.
    pub fn enqueue_message(
        &mut self,
        config: &connection::Config,
        _: Instant,
        message: Message,
        out: &mut impl AtHost,
    ) {
        self.end = message.bytes.expect("messages of the trial transport have a size").0;
        let asks = Header::Asks { end: self.end, deadline: message.deadline.unwrap_or(Instant::MAX) };
        let extension = Extension::of_header(crate::Header::Trial(Box::new(asks)));
        out.send_extended(Packet::data(0, 0, config.header, Instant::MAX, Flags::SYN), extension);
    }
    /// Returns true if everything is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.acknowledged == self.end
    }
    /// Returns the position before which all data is acknowledged.
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
    /// Does nothing: its receivers send no news of trimmed packets.
    pub fn on_trimmed(&mut self, _: &connection::Config, _: Instant, _: &Packet, _: &mut impl AtHost) {}

    /// Does nothing: it has no timer.
    pub fn on_timer(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}
    /// Does nothing: the sending host keeps no state of it.
    pub fn on_close(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}

    /// Does nothing: it sends without asking for room.
    pub fn on_room(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}
    /// Does nothing: it has no signals.
    pub fn observe(&self, _: &connection::Config, _: Instant, _: &mut Observation) {}
}

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    gather: Span,
    next: u64,
    end: u64,
}

impl Receiver {
    /// Returns the state in which nothing has been received.
    pub fn new(own: &Config) -> Receiver {
        Receiver { gather: own.gather, next: 0, end: u64::MAX }
    }
    /// Returns the position before which all data has arrived.
    pub fn next(&self) -> u64 {
        self.next
    }
    /// Returns the number of bytes before a position that have arrived.
    pub fn arrived_below(&self, position: u64) -> u64 {
        self.next.min(position)
    }
    /// Records a request at its host; lets the next connection send when it has all.
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
            let host = &mut out.shared().testing;
            if host.granted.is_none() && host.waiting.is_empty() {
                host.opens = now + self.gather;
                let opens = host.opens;
                out.arm_host(opens);
            }
            out.shared().testing.waiting.insert((deadline, own.own), (own, config.header));
            return;
        }
        self.next = packet.end();
        out.send(Packet::ack(self.next, config.header, packet.stamp, Flags::NONE));
        if self.next == self.end {
            Receiver::release(own, now, out);
        }
    }
    /// Ignores a packet without its payload.
    pub fn on_trimmed(
        &mut self,
        _: &connection::Config,
        _: Instant,
        _: &Packet,
        _: Option<&mut Extension>,
        _: &mut impl AtHost,
    ) {
    }
    /// Does nothing: it has no timer.
    pub fn on_timer(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}
    /// Releases the grant, so that other connections may send.
    pub fn on_close(&mut self, _: &connection::Config, now: Instant, out: &mut impl AtHost) {
        Receiver::release(out.end(), now, out);
    }

    fn release(own: End, now: Instant, out: &mut impl AtHost) {
        let host = &mut out.shared().testing;
        host.released(own);
        if let Some(next) = host.next(now) {
            grant(next, out);
        }
    }
}
