//! What the ends say to each other.

use units::{HostId, Instant};

use crate::Extension;

/// What packets of this family carry beside their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// From the sender, alone or with the first data of a message.
    Ask(Ask),
    /// From the receiver.
    Answer(Answer),
    /// From the sender: what starts here, and was granted again, has not been sent yet, and is not lost.
    Busy(u64),
}

impl Header {
    /// Takes it out of what came with a packet.
    pub fn take(extension: Option<&mut Extension>) -> Option<Header> {
        match extension?.header.take()? {
            crate::Header::Grants(header) => Some(*header),
            _ => None,
        }
    }

    /// What it goes with a packet as.
    pub fn extension(self) -> Extension {
        Extension::of_header(crate::Header::Grants(Box::new(self)))
    }
}

/// There is a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Where it starts in the stream.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Up to here it is sent without a grant.
    pub unscheduled: u64,
    /// When its last byte should have arrived; [`Instant::MAX`] if that does not matter.
    pub deadline: Instant,
    /// The sending host.
    pub from: HostId,
}

/// What the receiving host knows and wants. The packet's number is the next byte that it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// It knows of the messages up to here.
    pub known: u64,
    /// What is to be sent.
    pub grant: Option<Grant>,
}

/// Bytes of a stream that are to be sent: a segment at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Where they start.
    pub start: u64,
    /// Where they end.
    pub end: u64,
    /// The priority of the packet, or [`Packet::UNTAGGED`](crate::Packet::UNTAGGED).
    pub rank: u32,
    /// They were granted before.
    pub again: bool,
    /// That, and did not arrive in time.
    pub late: bool,
}
