//! The sending end: a window transport that keeps to the receiver's window.

use std::collections::VecDeque;

use units::{Bytes, Instant};

use super::{Config, Header, Known};
use crate::around::Around;
use crate::connection::{self, ENDLESS};
use crate::host::AtHost;
use crate::{Extension, Flags, Message, Observation, Output, Packet};

/// The most doublings of the interval between two probes of a closed window (RFC 9293 3.8.6.1).
const MAX_BACKOFF: u32 = 6;

/// The sending end of a connection whose receiver schedules.
#[derive(Clone, Debug)]
pub struct Sender {
    data: connection::Sender,
    /// The scale of the receiver's window field.
    scale: u32,
    /// The messages that are not acknowledged completely.
    messages: VecDeque<Known>,
    /// The time of the next probe of a closed window.
    probe_at: Instant,
    /// The probes sent since the window closed.
    probes: u32,
}

impl Sender {
    /// Returns a sender without data. It may send a segment: so the receiver learns that it is ready.
    pub fn new(config: &connection::Config, own: &Config) -> Sender {
        let mut data = connection::Sender::new(config, &own.law);
        data.keep_to(config.mss.into());
        let scale = own.schedule.scale(config.mss);
        Sender { data, scale, messages: VecDeque::new(), probe_at: Instant::MAX, probes: 0 }
    }

    /// Sets a number that no other connection has, for the random numbers of the controller.
    pub(crate) fn identify(&mut self, identity: u64) {
        self.data.identify(identity);
    }

    /// Enqueues a message after the earlier ones.
    pub fn enqueue_message(
        &mut self,
        config: &connection::Config,
        now: Instant,
        message: Message,
        out: &mut impl AtHost,
    ) {
        let end = self.data.end().saturating_add(message.bytes.map_or(ENDLESS, |bytes| bytes.0)).min(ENDLESS);
        self.messages.push_back(Known { end, deadline: message.deadline });
        self.data.enqueue_message(config, now, message, &mut Telling { out, messages: &mut self.messages });
        self.watch(config, now, out);
    }

    /// Returns true if all enqueued data is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.data.is_idle()
    }

    /// Returns the position before which all data is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.data.acknowledged()
    }

    /// Processes an acknowledgement from the receiver.
    pub fn on_packet(
        &mut self,
        config: &connection::Config,
        now: Instant,
        packet: &Packet,
        mut extension: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        let mut opened = false;
        if let Some(Header::Window(field)) = Header::take(extension.as_deref_mut()) {
            opened = self.data.open_to(packet.seq + (u64::from(field) << self.scale));
        }
        let blocks = extension.as_ref().is_some_and(|extension| !extension.sack.as_slice().is_empty());
        let mut telling = Telling { out, messages: &mut self.messages };
        // RFC 5681 2: an acknowledgement that changes the window is no duplicate.
        if opened && packet.seq == self.data.acknowledged() && !blocks && !packet.flags.has(Flags::SYN) {
            self.data.on_room(config, now, &mut telling);
        } else {
            self.data.on_packet(config, now, packet, extension.as_deref(), &mut telling);
        }
        let acknowledged = self.data.acknowledged();
        while self.messages.front().is_some_and(|first| first.end <= acknowledged) {
            self.messages.pop_front();
        }
        self.watch(config, now, out);
    }

    /// Handles the news that a switch has removed the payload of a packet.
    pub fn on_trimmed(&mut self, config: &connection::Config, now: Instant, packet: &Packet, out: &mut impl AtHost) {
        let mut telling = Telling { out, messages: &mut self.messages };
        self.data.on_trimmed(config, now, packet, &mut telling);
        self.watch(config, now, out);
    }

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &connection::Config, now: Instant, out: &mut impl AtHost) {
        self.data.on_timer(config, now, &mut Telling { out, messages: &mut self.messages });
        if self.probe_at <= now && self.data.is_shut(config) {
            let at = self.data.acknowledged();
            out.probed();
            out.send(Packet::data(at, 0, config.header, Instant::MAX, Flags::NONE));
            self.probes = (self.probes + 1).min(MAX_BACKOFF);
            self.probe_at = Instant::MAX;
        }
        self.watch(config, now, out);
        if self.probe_at != Instant::MAX {
            out.arm(self.probe_at);
        }
    }

    /// Continues sending when the host's queue has room again.
    pub fn on_room(&mut self, config: &connection::Config, now: Instant, out: &mut impl AtHost) {
        self.data.on_room(config, now, &mut Telling { out, messages: &mut self.messages });
        self.watch(config, now, out);
    }

    /// Does nothing: the receiving host is told of the close.
    pub fn on_close(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}

    /// Reports the present values of the signals.
    pub fn observe(&self, config: &connection::Config, now: Instant, seen: &mut Observation) {
        self.data.observe(config, now, seen);
    }

    /// Schedules a probe if the receiver's window is shut, and nothing else will wake this end.
    fn watch(&mut self, config: &connection::Config, now: Instant, out: &mut impl Output) {
        if !self.data.is_shut(config) {
            (self.probe_at, self.probes) = (Instant::MAX, 0);
        } else if self.probe_at == Instant::MAX {
            self.probe_at = now + self.data.timeout(config) * (1 << self.probes);
            out.arm(self.probe_at);
        }
    }
}

/// An output that adds the message to each data packet.
struct Telling<'a, O> {
    out: &'a mut O,
    messages: &'a mut VecDeque<Known>,
}

impl<O: Output> Around for Telling<'_, O> {
    type Inner = O;

    fn inner(&self) -> &O {
        self.out
    }
    fn inner_mut(&mut self) -> &mut O {
        self.out
    }
    fn pass(&mut self, packet: Packet, extension: Option<Extension>) {
        if packet.payload == 0 && extension.is_none() {
            return self.out.send(packet);
        }
        let mut extension = extension.unwrap_or_default();
        if let Some(message) = self.messages.iter().find(|message| message.end >= packet.end()) {
            Header::Message(*message).put(&mut extension);
        }
        self.out.send_extended(packet, extension);
    }
    fn on_abandon(&mut self, end: u64, unsent: Bytes) {
        self.messages.iter_mut().filter(|message| message.end >= end).for_each(|message| message.end -= unsent.0);
    }
}
