//! How receiving ends return what the ports have written.

use std::marker::PhantomData;

use units::{Bytes, Instant};

use crate::connection::{self, Config};
use crate::laws::Ecn;
use crate::{Expired, Extension, Flags, Header, Output, Packet, Site};

/// What a family's receiving end does with the headers of its packets.
pub trait Returns {
    /// How marks are echoed.
    const ECN: Ecn;

    /// How a header returns.
    fn how(header: &Header) -> How;
}

/// How a header returns.
pub enum How {
    /// At once, whatever else is held back; that of a packet without data by itself, as the answer to a SYN.
    AtOnce,
    /// With the acknowledgement of its packet; of those that are answered together the last one returns.
    Acknowledged,
    /// Not at all.
    Never,
}

/// The receiving end of a connection of such a family, whose parameters are `Own`.
#[derive(Clone, Debug)]
pub struct Receiver<Own> {
    data: connection::Receiver,
    of: PhantomData<Own>,
}

impl<Own: Returns> Receiver<Own> {
    /// Nothing received yet.
    pub fn new(_: &Own) -> Receiver<Own> {
        Receiver { data: connection::Receiver::new(Own::ECN), of: PhantomData }
    }

    /// Everything before this position has arrived.
    pub fn next(&self) -> u64 {
        self.data.next()
    }

    /// Returns how many bytes before a position have arrived, in order or not, each counted once.
    pub fn arrived_below(&self, position: u64) -> u64 {
        self.data.arrived_below(position)
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
        match header.as_ref().map_or(How::Acknowledged, Own::how) {
            How::Never => {}
            How::AtOnce if packet.payload == 0 => {
                let ack = Packet::ack(self.data.next(), config.header, Instant::MAX, Flags::SYN);
                Returning { out, header }.send(ack);
            }
            how => {
                let mut out = Returning { out, header };
                self.data.on_packet(config, now, packet, &mut out);
                if let How::AtOnce = how {
                    self.data.flush(config, &mut out);
                }
            }
        }
    }

    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_timer(config, now, out);
    }

    /// The connection is closed here.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}
}

/// Adds a header to the next acknowledgement.
struct Returning<'a, O> {
    /// Where it goes.
    out: &'a mut O,
    /// What returns.
    header: Option<Header>,
}

impl<O: Output> Output for Returning<'_, O> {
    fn send(&mut self, packet: Packet) {
        match self.header.take() {
            Some(header) => self.out.send_extended(packet, Extension::of_header(header)),
            None => self.out.send(packet),
        }
    }
    fn send_extended(&mut self, packet: Packet, mut extension: Extension) {
        extension.header = self.header.take();
        self.out.send_extended(packet, extension);
    }
    fn arm(&mut self, at: Instant) {
        self.out.arm(at);
    }
    fn timed_out(&mut self, timer: Expired) {
        self.out.timed_out(timer);
    }
    fn probed(&mut self) {
        self.out.probed();
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        self.out.abandon(end, unsent);
    }
    fn site(&self) -> Site {
        self.out.site()
    }
}
