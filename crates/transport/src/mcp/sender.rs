//! The sending end: that of a window transport, whose packets ask each hop for its price.

use units::{Bytes, Instant};

use super::{Config as Own, Header as Sum};
use crate::connection::{self, Config};
use crate::laws::Law;
use crate::{Expired, Extension, Header, Message, Observation, Output, Packet, Site};

/// The sending end of a connection that hears of its path.
#[derive(Clone, Debug)]
pub struct Sender {
    data: connection::Sender,
}

impl Sender {
    /// Nothing to send yet.
    pub fn new(config: &Config, own: &Own) -> Sender {
        Sender { data: connection::Sender::new(config, &own.law) }
    }

    /// Takes a message; it follows those handed over before.
    pub fn hand_over(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl Output) {
        self.data.hand_over(config, now, message, &mut Asking(out));
    }

    /// Everything before this position is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.data.acknowledged()
    }

    /// Whether everything handed over is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.data.is_idle()
    }

    /// Takes an acknowledgement.
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Instant,
        packet: &Packet,
        mut extension: Option<&mut Extension>,
        out: &mut impl Output,
    ) {
        let answer = extension.as_deref_mut().and_then(|extension| extension.header.take());
        if let (Some(Header::Mcp(answer)), Law::Mcp(law)) = (answer, self.data.law()) {
            law.paced().hear(answer.network, answer.largest);
        }
        self.data.on_packet(config, now, packet, extension.as_deref(), &mut Asking(out));
    }

    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_timer(config, now, &mut Asking(out));
    }

    /// The host's queue has room.
    pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_room(config, now, &mut Asking(out));
    }

    /// The connection is closed here.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}

    /// Shows what can be observed now.
    pub fn observe(&self, config: &Config, now: Instant, seen: &mut Observation) {
        self.data.observe(config, now, seen);
    }
}

/// Gives each data packet a header.
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
