//! The receiving end: acknowledgements that return what the ports have decided.

use units::Instant;

use super::Config as Own;
use crate::connection::{self, Config};
use crate::laws::Ecn;
use crate::returning::Returning;
use crate::{Extension, Flags, Header, Output, Packet};

/// The receiving end of a connection whose flows ports accept or pause.
#[derive(Clone, Debug)]
pub struct Receiver {
    data: connection::Receiver,
}

impl Receiver {
    /// Nothing received yet.
    pub fn new(_: &Own) -> Receiver {
        Receiver { data: connection::Receiver::new(Ecn::Off) }
    }

    /// Everything before this position has arrived.
    pub fn next(&self) -> u64 {
        self.data.next()
    }

    /// Takes a packet from the sender.
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl Output,
    ) {
        let header = extension.and_then(|extension| extension.header.take());
        if packet.payload > 0 {
            let mut out = Returning { out, header };
            self.data.on_packet(config, now, packet, &mut out);
            self.data.flush(config, &mut out);
        } else if let Some(Header::Pdq(header)) = header
            && !header.over
        {
            let ack = Packet::ack(self.data.next(), config.header, Instant::MAX, Flags::SYN);
            out.send_extended(ack, Extension::of_header(Header::Pdq(header)));
        }
    }

    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_timer(config, now, out);
    }

    /// The connection is closed here.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}
}
