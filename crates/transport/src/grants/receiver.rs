//! The receiving end: reassembles a stream, and tells its host which data to expect.

use units::Instant;

use super::Config;
use super::header::{Answer, Ask, Header};
use super::host::ToDesk;
use super::incoming::{Arrival, answer_packet};
use crate::connection;
use crate::host::AtHost;
use crate::recovery::Ranges;
use crate::{Extension, Flags, Packet};

/// The receiving end of a connection whose data its host grants.
#[derive(Clone, Debug)]
pub struct Receiver {
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    host: ToDesk,
    /// The position before which all data has arrived.
    next: u64,
    /// The data that has arrived beyond a gap.
    beyond: Ranges,
    /// The end of the announced data.
    known: u64,
}

impl Receiver {
    /// Returns the state in which nothing has been received.
    pub fn new(own: &Config) -> Receiver {
        Receiver { state: Box::new(State { host: ToDesk::new(own), next: 0, beyond: Ranges::default(), known: 0 }) }
    }

    /// Returns the position before which all data has arrived.
    pub fn next(&self) -> u64 {
        self.state.next
    }

    /// Returns the number of bytes before a position that have arrived, in order or not, each counted once.
    pub fn arrived_below(&self, position: u64) -> u64 {
        self.state.next.min(position) + self.state.beyond.bytes_below(position)
    }

    /// Processes a packet from the sender.
    pub fn on_packet(
        &mut self,
        _: &connection::Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        let ask = match Header::take(extension) {
            Some(Header::Ask(ask)) => Some(ask),
            Some(Header::Busy(start)) => {
                let id = out.end().connection;
                return self.state.host.at_desk(out, |desk, _| desk.incoming.busy(now, id, start));
            }
            Some(Header::Echo(probe)) => {
                let id = out.end().connection;
                return self.state.host.at_desk(out, |desk, out| {
                    desk.incoming.comes(now, desk.incoming.takes_for_control(packet.size));
                    desk.incoming.echoed(now, id, probe);
                    desk.work(now, out);
                });
            }
            _ => None,
        };
        self.state.on_packet(now, packet, ask, out);
    }

    /// Processes a packet whose payload a switch has removed. Its data is granted again, and its header counts.
    pub fn on_trimmed(
        &mut self,
        config: &connection::Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl AtHost,
    ) {
        if extension.as_ref().is_some_and(|extension| extension.header.is_some()) {
            // A request with the first data of a message is a request still.
            self.on_packet(config, now, &Packet { payload: 0, ..*packet }, extension, out);
        }
        let id = out.end().connection;
        self.state.host.at_desk(out, |desk, out| {
            desk.incoming.trimmed(id, packet.seq);
            desk.work(now, out);
        });
    }

    /// Does nothing: its host has the timers.
    pub fn on_timer(&mut self, _: &connection::Config, _: Instant, _: &mut impl AtHost) {}

    /// Ends the expectation of data, so that others may have its grants.
    pub fn on_close(&mut self, _: &connection::Config, now: Instant, out: &mut impl AtHost) {
        let id = out.end().connection;
        self.state.host.at_desk(out, |desk, out| {
            desk.incoming.forget(id);
            desk.work(now, out);
        });
    }
}

impl State {
    fn on_packet(&mut self, now: Instant, packet: &Packet, ask: Option<Ask>, out: &mut impl AtHost) {
        let own = out.end();
        // A request is new if it follows the announced data, or the data that arrived before its announcement; others
        // are repetitions.
        let follows = |ask: &Ask| ask.start == self.known || (self.known..=self.next).contains(&ask.start);
        let next_one = ask.filter(|ask| follows(ask) && ask.end > self.known);
        let there = next_one.map_or(0, |ask| self.there(ask.start, ask.end));
        let fresh = next_one.filter(|ask| there < ask.end - ask.start);
        let asks_again = ask.is_some() && fresh.is_none() && packet.payload == 0;
        let arrival = (packet.payload > 0).then(|| self.take(packet));
        if let Some(ask) = next_one {
            self.known = ask.end;
        }
        let (next, known, beyond) = (self.next, self.known, &self.beyond);
        // The data of this packet is reported to the host once it knows of the message.
        let brought = arrival.filter(|arrival| arrival.new).map(|arrival| arrival.start);
        let was_there = |start| brought != Some(start) && (start < next || beyond.find(start).is_some());
        self.host.at_desk(out, |desk, out| {
            desk.incoming.moves(own);
            if packet.payload == 0 {
                desk.incoming.comes(now, desk.incoming.takes_for_control(packet.size));
            }
            if let Some(ask) = fresh {
                // Unscheduled data has the priority of the packet that announces it.
                let by_size = desk.policy.levels.map(|levels| levels.of_unscheduled(ask.end - ask.start));
                let rank = if packet.payload > 0 { packet.rank } else { by_size.unwrap_or(Packet::UNTAGGED) };
                desk.incoming.ask(now, own, &ask, rank, there, was_there);
            }
            let confirms = arrival.is_some_and(|arrival| desk.incoming.arrived(now, own, &arrival) || !arrival.new);
            desk.work(now, out);
            // A grant contains all this too.
            let told = desk.incoming.is_to_be_told(own.connection);
            if confirms || asks_again || told {
                let answer = Header::Answer(Answer { known, grant: None, probe: None });
                out.send_extended(answer_packet(&desk.policy, next), answer.extension());
            }
        });
    }

    /// Returns the number of bytes that have arrived between two positions.
    fn there(&self, start: u64, end: u64) -> u64 {
        let beyond = self.beyond.bytes_below(end) - self.beyond.bytes_below(start);
        self.next.clamp(start, end) - start + beyond
    }

    /// Takes the data of a packet into the stream.
    fn take(&mut self, packet: &Packet) -> Arrival {
        let (start, end) = (packet.seq, packet.end());
        let new = start >= self.next && self.beyond.find(start).is_none();
        if new && start == self.next && self.beyond.is_empty() {
            self.next = end;
        } else if new {
            let range = self.beyond.insert(start, end);
            if range.0 == self.next {
                self.next = range.1;
                self.beyond.remove_below(self.next);
            }
        }
        Arrival {
            start,
            bytes: packet.payload.into(),
            new,
            informed: packet.flags.has(Flags::ECE),
            marked: packet.flags.has(Flags::CE),
            next: self.next,
        }
    }
}
