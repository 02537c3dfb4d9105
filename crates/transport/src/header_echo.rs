//! Header echo: receiving ends return the headers that ports have written.

use std::marker::PhantomData;

use units::Instant;

use crate::around::Around;
use crate::connection::{self, Config};
use crate::controllers::Ecn;
use crate::{Extension, Flags, Header, Output, Packet};

/// The rules of a family's receiving end for the headers of its packets.
pub trait Returns {
    /// The echo of marks.
    const ECN: Ecn;

    /// Returns the way in which a header returns.
    fn how(header: &Header) -> How;
}

/// The way in which a header returns.
pub enum How {
    /// At once, whatever ACK is delayed; the header of a packet without data in a packet of its own, as the answer to a
    /// SYN.
    AtOnce,
    /// With the acknowledgement of its packet; of several packets that are answered together, the last header returns.
    Acknowledged,
    /// The header is not returned.
    Never,
}

/// The receiving end of a connection of such a family, whose parameters are `Own`.
#[derive(Clone, Debug)]
pub struct Receiver<Own> {
    data: connection::Receiver,
    of: PhantomData<Own>,
}

impl<Own: Returns> Receiver<Own> {
    /// Returns the state in which nothing has been received.
    pub fn new(_: &Own) -> Receiver<Own> {
        Receiver { data: connection::Receiver::new(Own::ECN), of: PhantomData }
    }

    /// Returns the position before which all data has arrived.
    pub fn next(&self) -> u64 {
        self.data.next()
    }

    /// Returns the number of bytes before a position that have arrived, in order or not, each counted once.
    pub fn arrived_below(&self, position: u64) -> u64 {
        self.data.arrived_below(position)
    }

    /// Processes a packet from the sender.
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

    /// Ignores a packet without its payload: the senders of these families find losses by themselves.
    pub fn on_trimmed(&mut self, _: &Config, _: Instant, _: &Packet, _: Option<&mut Extension>, _: &mut impl Output) {}

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_timer(config, now, out);
    }

    /// Handles the close of the connection at this host.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}
}

/// An output that adds a header to the next acknowledgement.
struct Returning<'a, O> {
    /// The output of the receiving end.
    out: &'a mut O,
    /// The header to return.
    header: Option<Header>,
}

impl<O: Output> Around for Returning<'_, O> {
    type Inner = O;

    fn inner(&self) -> &O {
        self.out
    }
    fn inner_mut(&mut self) -> &mut O {
        self.out
    }
    fn pass(&mut self, packet: Packet, extension: Option<Extension>) {
        let header = self.header.take();
        match extension {
            None if header.is_none() => self.out.send(packet),
            extension => self.out.send_extended(packet, Extension { header, ..extension.unwrap_or_default() }),
        }
    }
}
