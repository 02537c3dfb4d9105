//! Control messages between the hosts of a connection, beside its packets.

use std::collections::VecDeque;

use units::{Bytes, ClassId, ConnectionId, HostId, Instant, MessageId, Table, halves, pair};

use crate::flow::Flow;
use crate::record::message_log::Of;
use crate::schedule::events::{Event, EventQueue};
use crate::schedule::ring::Words;

/// A control message from the sending host of a connection to the receiving one. It represents a handshake and the
/// application's own framing. It takes no bytes on the wire, but the propagation delay of the route, so that it arrives
/// before any packet sent after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlMessage {
    /// A message follows the previous ones in the stream.
    Starts {
        /// Id of the message.
        message: MessageId,
        /// Its class and its hosts.
        of: Of,
        /// The position of its end.
        end: u64,
        /// The connection, if this is its first message.
        opening: Option<Opening>,
    },
    /// A message was aborted; some of its bytes will never be sent.
    GivenUp {
        /// Id of the message.
        message: MessageId,
        /// Number of these bytes; later messages end that much earlier.
        unsent: Bytes,
    },
    /// The sending end is closed: everything was acknowledged or aborted.
    Closes,
}

/// The parameters of a connection for its receiving host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// Index of its transport's configuration.
    pub config: u32,
    /// Identity of its flow.
    pub flow: Flow,
    /// Generation of the connection among those with its id.
    pub generation: u16,
}

impl ControlMessage {
    /// Encodes it as words, which threads exchange. The format is that of packets, with a value next to the id of the
    /// connection that packets do not have next to their link.
    pub(crate) fn to_words(self, at: Instant, id: ConnectionId) -> Words {
        let (kind, third, end, of, opening) = match self {
            ControlMessage::Starts { message, of, end, opening: None } => (STARTS, message.0.into(), end, of, None),
            ControlMessage::Starts { message, of, end, opening: Some(opening) } => {
                (OPENS, pair(opening.config, message.0), end, of, Some(opening))
            }
            ControlMessage::GivenUp { message, unsent } => (GIVEN_UP, message.0.into(), unsent.0, Of::default(), None),
            ControlMessage::Closes => (CLOSES, 0, 0, Of::default(), None),
        };
        let (flow, generation) = opening.map_or((0, 0), |opening| (opening.flow.number(), opening.generation));
        let second = pair(u32::from(generation) << 16 | kind, id.0);
        [at.0, second, third, end, flow, pair(of.from.0, of.to.0), of.class.0.into()]
    }

    /// Returns whether words encode a control message.
    #[inline(always)]
    pub(crate) fn is_in(words: &Words) -> bool {
        words[1] >> 32 != 0
    }

    /// Decodes the words of [`to_words`](ControlMessage::to_words).
    pub(crate) fn from_words(
        [at, second, third, end, flow, hosts, class]: Words,
    ) -> (Instant, ConnectionId, ControlMessage) {
        let ((kind, id), (config, message), (from, to)) = (halves(second), halves(third), halves(hosts));
        let message = MessageId(message);
        let starts = |opening| {
            let of = Of { class: ClassId(class as u32), from: HostId(from), to: HostId(to) };
            ControlMessage::Starts { message, of, end, opening }
        };
        let notice = match kind & 0xffff {
            STARTS => starts(None),
            OPENS => starts(Some(Opening { config, flow: Flow::of_number(flow), generation: (kind >> 16) as u16 })),
            GIVEN_UP => ControlMessage::GivenUp { message, unsent: Bytes(end) },
            _ => ControlMessage::Closes,
        };
        (Instant(at), ConnectionId(id), notice)
    }
}

/// Kinds of control messages, as words.
const STARTS: u32 = 1;
const OPENS: u32 = 2;
const GIVEN_UP: u32 = 3;
const CLOSES: u32 = 4;

/// The control messages in flight, which arrive in the order of sending for each connection.
#[derive(Default)]
pub(crate) struct ControlMessages {
    travelling: Table<ConnectionId, VecDeque<(Instant, ControlMessage)>>,
    arrived: u64,
}

impl ControlMessages {
    /// Sends a control message that will arrive at `at`.
    pub(crate) fn send(&mut self, events: &mut EventQueue, at: Instant, id: ConnectionId, notice: ControlMessage) {
        self.travelling.reach(id).push_back((at, notice));
        events.push(at, Event::ControlMessage(id));
    }

    /// Takes the control message that arrives at a receiving host now.
    pub(crate) fn take(&mut self, now: Instant, id: ConnectionId) -> ControlMessage {
        let (at, notice) = self.travelling[id].pop_front().expect("each event of a control message has its message");
        debug_assert_eq!(at, now, "a notice arrives when it was to");
        self.arrived += 1;
        notice
    }

    /// Returns the messages to which they refer.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.travelling.iter().flatten().filter_map(|(_, notice)| match *notice {
            ControlMessage::Starts { message, .. } | ControlMessage::GivenUp { message, .. } => Some(message),
            ControlMessage::Closes => None,
        })
    }

    /// Returns the number of arrivals so far.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_come_back_from_words() {
        let (message, flow) = (MessageId(u32::MAX - 1), Flow::of_pair(HostId(1), HostId(2)));
        let of = Of { class: ClassId(70_000), from: HostId(80_000), to: HostId(90_000) };
        let opening = Opening { config: 75_000, flow, generation: 60_000 };
        for notice in [
            ControlMessage::Starts { message, of, end: u64::MAX - 2, opening: None },
            ControlMessage::Starts { message, of, end: 1 << 40, opening: Some(opening) },
            ControlMessage::GivenUp { message, unsent: Bytes(1 << 50) },
            ControlMessage::Closes,
        ] {
            let (at, id) = (Instant(u64::MAX - 3), ConnectionId(u32::MAX - 4));
            let words = notice.to_words(at, id);
            assert!(ControlMessage::is_in(&words));
            assert_eq!(ControlMessage::from_words(words), (at, id, notice));
        }
    }
}
