//! The receiving end: acknowledges as ever, and its host adds the window.

use units::Instant;

use super::host::{Arrival, at_desk};
use super::{Config, Header, Schedule};
use crate::around::Around;
use crate::connection;
use crate::controllers::Window;
use crate::host::AtHost;
use crate::{Extension, Flags, Output, Packet};

/// The receiving end of a connection whose host schedules.
#[derive(Clone, Debug)]
pub struct Receiver {
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    data: connection::Receiver,
    schedule: Schedule,
}

impl Receiver {
    /// Returns the state in which nothing has been received.
    pub fn new(own: &Config) -> Receiver {
        let data = connection::Receiver::new(own.law.ecn());
        Receiver { state: Box::new(State { data, schedule: own.schedule }) }
    }

    /// Returns the position before which all data has arrived.
    pub fn next(&self) -> u64 {
        self.state.data.next()
    }

    /// Returns the number of bytes before a position that have arrived, in order or not, each counted once.
    pub fn arrived_below(&self, position: u64) -> u64 {
        self.state.data.arrived_below(position)
    }

    /// Processes a packet from the sender.
    pub fn on_packet(
        &mut self,
        config: &connection::Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        let State { data, schedule } = &mut *self.state;
        if packet.flags.has(Flags::SYN) {
            return data.on_packet(config, now, packet, out);
        }
        let message = match Header::take(extension) {
            Some(Header::Message(message)) => Some(message),
            _ => None,
        };
        let mut kept = Keeping { out, packets: Vec::new() };
        if packet.payload == 0 {
            // A probe of the window is answered at once.
            data.flush(config, &mut kept);
            kept.send(Packet::ack(data.next(), config.header, Instant::MAX, Flags::NONE));
        } else {
            data.on_packet(config, now, packet, &mut kept);
        }
        let packets = kept.packets;
        let arrival = Arrival { next: data.next(), message, rank: packet.rank };
        at_desk(schedule, config, out, |desk, out| desk.arrived(now, &arrival, packets, out));
    }

    /// Tells the sender which data a switch has removed from a packet.
    pub fn on_trimmed(
        &mut self,
        config: &connection::Config,
        _: Instant,
        packet: &Packet,
        _: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        self.state.data.on_trimmed(config, packet, out);
    }

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &connection::Config, now: Instant, out: &mut impl AtHost) {
        let State { data, schedule } = &mut *self.state;
        let mut kept = Keeping { out, packets: Vec::new() };
        data.on_timer(config, now, &mut kept);
        let packets = kept.packets;
        at_desk(schedule, config, out, |desk, out| desk.acknowledge(packets, out));
    }

    /// Gives the credit of this connection to others.
    pub fn on_close(&mut self, config: &connection::Config, now: Instant, out: &mut impl AtHost) {
        at_desk(&self.state.schedule, config, out, |desk, out| desk.close(now, out));
    }
}

/// An output that keeps acknowledgements until their window is decided.
struct Keeping<'a, O> {
    out: &'a mut O,
    packets: Vec<(Packet, Extension)>,
}

impl<O: Output> Around for Keeping<'_, O> {
    type Inner = O;

    fn inner(&self) -> &O {
        self.out
    }
    fn inner_mut(&mut self) -> &mut O {
        self.out
    }
    fn pass(&mut self, packet: Packet, extension: Option<Extension>) {
        self.packets.push((packet, extension.unwrap_or_default()));
    }
}
