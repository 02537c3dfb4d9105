//! The sending end: a window transport's, whose packets request the price of each hop.

use units::{Bytes, Instant};

use super::{Config as Own, Header as Sum};
use crate::connection::{self, Config};
use crate::controllers::Controller;
use crate::{Expired, Extension, Header, Message, Observation, Output, Packet, Site};

/// The sending end of a connection that has feedback from its path.
#[derive(Clone, Debug)]
pub struct Sender {
    data: connection::Sender,
}

impl Sender {
    /// Returns a sender without data.
    pub fn new(config: &Config, own: &Own) -> Sender {
        Sender { data: connection::Sender::new(config, &own.law) }
    }

    /// Enqueues a message after the earlier ones.
    pub fn enqueue_message(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl Output) {
        self.data.enqueue_message(config, now, message, &mut Asking(out));
    }

    /// Returns the position before which all data is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.data.acknowledged()
    }

    /// Returns true if all enqueued data is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.data.is_idle()
    }

    /// Processes an acknowledgement from the receiver.
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Instant,
        packet: &Packet,
        mut extension: Option<&mut Extension>,
        out: &mut impl Output,
    ) {
        let answer = extension.as_deref_mut().and_then(|extension| extension.header.take());
        if let (Some(Header::Mcp(answer)), Controller::Mcp(law)) = (answer, self.data.law()) {
            law.paced().hear(answer.network, answer.largest);
        }
        self.data.on_packet(config, now, packet, extension.as_deref(), &mut Asking(out));
    }

    /// Does nothing: its receivers send no news of trimmed packets.
    pub fn on_trimmed(&mut self, _: &Config, _: Instant, _: &Packet, _: &mut impl Output) {}

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_timer(config, now, &mut Asking(out));
    }

    /// Continues sending when the host's queue has room again.
    pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_room(config, now, &mut Asking(out));
    }

    /// Handles the close of the connection at this host.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}

    /// Reports the present values of the signals.
    pub fn observe(&self, config: &Config, now: Instant, seen: &mut Observation) {
        self.data.observe(config, now, seen);
    }
}

/// An output that adds a header to each data packet.
struct Asking<'a, O>(&'a mut O);

impl<O: Output> Output for Asking<'_, O> {
    fn send(&mut self, packet: Packet) {
        if packet.payload == 0 {
            self.0.send(packet);
        } else {
            self.0.send_extended(packet, Extension::of_header(Header::Mcp(Box::<Sum>::default())));
        }
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.0.send_extended(packet, extension);
    }
    fn arm(&mut self, at: Instant) {
        self.0.arm(at);
    }
    fn leaves(&self) -> Instant {
        self.0.leaves()
    }
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        self.0.has_room()
    }
    fn timed_out(&mut self, timer: Expired) {
        self.0.timed_out(timer);
    }
    fn probed(&mut self) {
        self.0.probed();
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        self.0.abandon(end, unsent);
    }
    fn site(&self) -> Site {
        self.0.site()
    }
}
