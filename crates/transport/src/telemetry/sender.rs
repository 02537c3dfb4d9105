//! The sending end: a window transport's, whose data packets collect records.

use units::Instant;

use super::{Config as Own, Records};
use crate::around::Around;
use crate::connection::{self, Config};
use crate::controllers::Controller;
use crate::{Extension, Header, Message, Observation, Output, Packet};

/// The sending end of a connection whose packets collect records.
#[derive(Clone, Debug)]
pub struct Sender {
    data: connection::Sender,
}

impl Sender {
    /// Returns a sender without data.
    pub fn new(config: &Config, own: &Own) -> Sender {
        Sender { data: connection::Sender::new(config, &Controller::Telemetry(own.clone())) }
    }

    /// Enqueues a message after the earlier ones.
    pub fn enqueue_message(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl Output) {
        self.data.enqueue_message(config, now, message, &mut Recording(out));
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
        let header = extension.as_deref_mut().and_then(|extension| extension.header.take());
        if let (Some(Header::Telemetry(records)), Controller::Telemetry(law)) = (header, self.data.law()) {
            law.hear(&records);
        }
        self.data.on_packet(config, now, packet, extension.as_deref(), &mut Recording(out));
    }

    /// Does nothing: its receivers send no news of trimmed packets.
    pub fn on_trimmed(&mut self, _: &Config, _: Instant, _: &Packet, _: &mut impl Output) {}

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_timer(config, now, &mut Recording(out));
    }

    /// Continues sending when the host's queue has room again.
    pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_room(config, now, &mut Recording(out));
    }

    /// Handles the close of the connection at this host.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}

    /// Reports the present values of the signals.
    pub fn observe(&self, config: &Config, now: Instant, seen: &mut Observation) {
        self.data.observe(config, now, seen);
    }
}

/// An output that adds empty records to each data packet.
struct Recording<'a, O>(&'a mut O);

impl<O: Output> Around for Recording<'_, O> {
    type Inner = O;

    fn inner(&self) -> &O {
        self.0
    }
    fn inner_mut(&mut self) -> &mut O {
        self.0
    }
    fn pass(&mut self, packet: Packet, extension: Option<Extension>) {
        if packet.payload == 0 {
            return match extension {
                None => self.0.send(packet),
                Some(extension) => self.0.send_extended(packet, extension),
            };
        }
        let header = Header::Telemetry(Box::new(Records::of_packet(packet.end())));
        self.0.send_extended(packet, Extension { header: Some(header), ..extension.unwrap_or_default() });
    }
}
