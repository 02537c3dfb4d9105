//! What the hosts of a connection tell each other beside its packets.

use std::collections::VecDeque;

use units::{Bytes, ClassId, ConnectionId, HostId, Instant, MessageId, Table, halves, pair};

use crate::event::{Event, EventQueue};
use crate::flow::Flow;
use crate::net::ring::Words;

/// What a sending host tells the receiving one of a connection. It stands for what a handshake and the application's
/// own framing say: it takes no room on the wire, but it takes the time that light does, so that it is there before any
/// packet that was sent after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A message follows those before; it ends at this position of the stream.
    Starts {
        /// Which.
        message: MessageId,
        /// Of which class it is, and between which hosts.
        of: Of,
        /// The position of its end.
        end: u64,
        /// The connection, if this is its first message.
        opening: Option<Opening>,
    },
    /// A message was given up; so many of its bytes will never be sent.
    GivenUp {
        /// Which.
        message: MessageId,
        /// Those after it end that much earlier.
        unsent: Bytes,
    },
    /// The sending end is closed: everything was acknowledged or given up.
    Closes,
}

/// What a message is counted with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Of {
    /// Its class.
    pub class: ClassId,
    /// The sending host.
    pub from: HostId,
    /// The receiving host.
    pub to: HostId,
}

/// What a receiving host must know of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Index of its transport's configuration.
    pub config: u32,
    /// Who it is.
    pub flow: Flow,
    /// Which of the connections that used its number it is.
    pub generation: u16,
}

impl Notice {
    /// It as words, as threads can leave for each other: as packets are, with something beside the number of the connection
    /// where packets have nothing beside that of the link.
    pub fn to_words(self, at: Instant, id: ConnectionId) -> Words {
        let (kind, third, end, of, opening) = match self {
            Notice::Starts { message, of, end, opening: None } => (STARTS, message.0.into(), end, of, None),
            Notice::Starts { message, of, end, opening: Some(opening) } => {
                (OPENS, pair(opening.config, message.0), end, of, Some(opening))
            }
            Notice::GivenUp { message, unsent } => (GIVEN_UP, message.0.into(), unsent.0, Of::default(), None),
            Notice::Closes => (CLOSES, 0, 0, Of::default(), None),
        };
        let (flow, generation) = opening.map_or((0, 0), |opening| (opening.flow.number(), opening.generation));
        let second = pair(u32::from(generation) << 16 | kind, id.0);
        [at.0, second, third, end, flow, pair(of.from.0, of.to.0), of.class.0.into()]
    }

    /// Whether words are a notice.
    #[inline(always)]
    pub fn is_in(words: &Words) -> bool {
        words[1] >> 32 != 0
    }

    /// What [`to_words`](Notice::to_words) has made words of.
    pub fn from_words([at, second, third, end, flow, hosts, class]: Words) -> (Instant, ConnectionId, Notice) {
        let ((kind, id), (config, message), (from, to)) = (halves(second), halves(third), halves(hosts));
        let message = MessageId(message);
        let starts = |opening| {
            let of = Of { class: ClassId(class as u32), from: HostId(from), to: HostId(to) };
            Notice::Starts { message, of, end, opening }
        };
        let notice = match kind & 0xffff {
            STARTS => starts(None),
            OPENS => starts(Some(Opening { config, flow: Flow::of_number(flow), generation: (kind >> 16) as u16 })),
            GIVEN_UP => Notice::GivenUp { message, unsent: Bytes(end) },
            _ => Notice::Closes,
        };
        (Instant(at), ConnectionId(id), notice)
    }
}

/// Kinds of notices, as words.
const STARTS: u32 = 1;
const OPENS: u32 = 2;
const GIVEN_UP: u32 = 3;
const CLOSES: u32 = 4;

/// The notices on their way: those of a connection arrive in the order in which they were sent.
#[derive(Default)]
pub struct Notices {
    travelling: Table<ConnectionId, VecDeque<(Instant, Notice)>>,
    arrived: u64,
}

impl Notices {
    /// A notice leaves the sending host and will arrive at `at`.
    pub fn send(&mut self, events: &mut EventQueue, at: Instant, id: ConnectionId, notice: Notice) {
        self.travelling.reach(id).push_back((at, notice));
        events.push(at, Event::Notice(id));
    }

    /// The notice that arrives at a receiving host now.
    pub fn take(&mut self, now: Instant, id: ConnectionId) -> Notice {
        let (at, notice) = self.travelling[id].pop_front().expect("each event has its notice");
        debug_assert_eq!(at, now, "a notice arrives when it was to");
        self.arrived += 1;
        notice
    }

    /// The messages that they speak of.
    pub fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.travelling.iter().flatten().filter_map(|(_, notice)| match *notice {
            Notice::Starts { message, .. } | Notice::GivenUp { message, .. } => Some(message),
            Notice::Closes => None,
        })
    }

    /// How many have arrived so far.
    pub fn arrived(&self) -> u64 {
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
            Notice::Starts { message, of, end: u64::MAX - 2, opening: None },
            Notice::Starts { message, of, end: 1 << 40, opening: Some(opening) },
            Notice::GivenUp { message, unsent: Bytes(1 << 50) },
            Notice::Closes,
        ] {
            let (at, id) = (Instant(u64::MAX - 3), ConnectionId(u32::MAX - 4));
            let words = notice.to_words(at, id);
            assert!(Notice::is_in(&words));
            assert_eq!(Notice::from_words(words), (at, id, notice));
        }
    }
}
