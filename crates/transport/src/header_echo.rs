//! Header echo: ports write into headers of data packets, and receiving ends return these.

use std::marker::PhantomData;

use units::Instant;

use crate::around::Around;
use crate::connection::{self, Config};
use crate::controllers::{Controller, Ecn};
use crate::{Extension, Flags, Header, Message, Observation, Output, Packet};

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

/// The rules of a family whose sending end is a window transport's, with a header in each data packet.
pub trait Asks {
    /// Returns the controller of a new connection.
    fn law(&self) -> Controller;

    /// Returns the header of a data packet that is sent.
    fn header(packet: &Packet) -> Header;

    /// Passes a returned header to the controller.
    fn hear(law: &mut Controller, header: &Header);
}

/// The sending end of a connection of such a family, whose parameters are `Own`.
#[derive(Clone, Debug)]
pub struct Sender<Own> {
    data: connection::Sender,
    of: PhantomData<Own>,
}

impl<Own: Asks> Sender<Own> {
    /// Returns a sender without data.
    pub fn new(config: &Config, own: &Own) -> Sender<Own> {
        Sender { data: connection::Sender::new(config, &own.law()), of: PhantomData }
    }

    /// Enqueues a message after the earlier ones.
    pub fn enqueue_message(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl Output) {
        self.data.enqueue_message(config, now, message, &mut Asking::<Own, _>::around(out));
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
        if let Some(header) = extension.as_deref_mut().and_then(|extension| extension.header.take()) {
            Own::hear(self.data.law(), &header);
        }
        self.data.on_packet(config, now, packet, extension.as_deref(), &mut Asking::<Own, _>::around(out));
    }

    /// Does nothing: its receivers send no news of trimmed packets.
    pub fn on_trimmed(&mut self, _: &Config, _: Instant, _: &Packet, _: &mut impl Output) {}

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_timer(config, now, &mut Asking::<Own, _>::around(out));
    }

    /// Continues sending when the host's queue has room again.
    pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.data.on_room(config, now, &mut Asking::<Own, _>::around(out));
    }

    /// Handles the close of the connection at this host.
    pub fn on_close(&mut self, _: &Config, _: Instant, _: &mut impl Output) {}

    /// Reports the present values of the signals.
    pub fn observe(&self, config: &Config, now: Instant, seen: &mut Observation) {
        self.data.observe(config, now, seen);
    }
}

/// An output that adds a header to each data packet.
struct Asking<'a, Own, O> {
    /// The output of the sending end.
    out: &'a mut O,
    of: PhantomData<Own>,
}

impl<'a, Own, O> Asking<'a, Own, O> {
    fn around(out: &'a mut O) -> Asking<'a, Own, O> {
        Asking { out, of: PhantomData }
    }
}

impl<Own: Asks, O: Output> Around for Asking<'_, Own, O> {
    type Inner = O;

    fn inner(&self) -> &O {
        self.out
    }
    fn inner_mut(&mut self) -> &mut O {
        self.out
    }
    fn pass(&mut self, packet: Packet, extension: Option<Extension>) {
        match extension {
            None if packet.payload == 0 => self.out.send(packet),
            Some(extension) if packet.payload == 0 => self.out.send_extended(packet, extension),
            extension => {
                let header = Some(Own::header(&packet));
                self.out.send_extended(packet, Extension { header, ..extension.unwrap_or_default() });
            }
        }
    }
}
