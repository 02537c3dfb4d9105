//! What the hosts of a connection tell each other beside its packets.

use std::collections::VecDeque;

use units::{Bytes, ConnectionId, HostId, Instant, MessageId, Table};

use crate::event::{Event, EventQueue};
use crate::flow::Flow;

/// What a sending host tells the receiving one of a connection. It stands for what a handshake and the application's
/// own framing say: it takes no room on the wire, but it takes the time that light does, so that it is there before any
/// packet that was sent after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A message follows those before; it ends at this position of the stream.
    Starts {
        /// Which.
        message: MessageId,
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

/// What a receiving host must know of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Index of its transport's configuration.
    pub config: u32,
    /// Who it is.
    pub flow: Flow,
    /// The sending host.
    pub from: HostId,
    /// The receiving host.
    pub to: HostId,
    /// Which of the connections that used its number it is.
    pub generation: u16,
}

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
