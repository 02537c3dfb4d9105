//! The headers that the two ends exchange.

use units::{HostId, Instant};

use crate::Extension;

/// The header of this family's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A request from the sender, alone or with the first data of a message.
    Ask(Ask),
    /// An answer from the receiver.
    Answer(Answer),
    /// From the sender: the data that starts here, and was granted again, has not been sent yet, and is not lost.
    Busy(u64),
    /// From the sender, behind all the data that it was granted before a probe: see [`Answer::probe`].
    Echo(Probe),
}

impl Header {
    /// Takes it out of the extension of a packet.
    pub fn take(extension: Option<&mut Extension>) -> Option<Header> {
        match extension?.header.take()? {
            crate::Header::Grants(header) => Some(*header),
            _ => None,
        }
    }

    /// Returns the extension that carries it in a packet.
    pub fn extension(self) -> Extension {
        Extension::of_header(crate::Header::Grants(Box::new(self)))
    }
}

/// The announcement of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Start of the message in the stream.
    pub start: u64,
    /// End of the message in the stream.
    pub end: u64,
    /// End of the part that is sent without a grant.
    pub unscheduled: u64,
    /// The time at which its last byte should have arrived; [`Instant::MAX`] without a deadline.
    pub deadline: Instant,
    /// The host that sends the message.
    pub from: HostId,
}

/// The receiving host's knowledge and its grant. The packet's number is the next expected byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// End of the messages that it knows.
    pub known: u64,
    /// The data to send.
    pub grant: Option<Grant>,
    /// The grant was made before, and its data is late: its sender returns this behind the data, if it has sent that.
    pub probe: Option<Probe>,
}

/// A question for late data of a connection. Packets of one priority keep their order: data that was granted before the
/// probe, and has not arrived before its echo, is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Number of segments that the receiver had expected when it sent the probe.
    pub before: u64,
    /// The priority of the echo, and the highest one of the data that it is about.
    pub rank: u32,
}

/// A range of a stream that may be sent: at most a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Start of the range.
    pub start: u64,
    /// End of the range (exclusive).
    pub end: u64,
    /// The priority of the packet, or [`Packet::UNTAGGED`](crate::Packet::UNTAGGED).
    pub rank: u32,
    /// The range was granted before.
    pub again: bool,
    /// It was granted before, and did not arrive in time.
    pub late: bool,
}
