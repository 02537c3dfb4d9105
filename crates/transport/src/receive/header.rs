//! The header fields of both directions.

use units::Instant;

use crate::Extension;

/// A header field of this family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// From the sender: the message of the packet's last byte.
    Message(Known),
    /// From the receiver: the window field of an acknowledgement, in units of its scale (RFC 7323 2.2).
    Window(u16),
}

/// The end and the deadline of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The position of its end in the stream.
    pub end: u64,
    /// The time at which its last byte should have arrived; none for traffic without a deadline.
    pub deadline: Option<Instant>,
}

impl Header {
    /// Takes it out of the extension of a packet.
    pub(super) fn take(extension: Option<&mut Extension>) -> Option<Header> {
        match extension?.header.take_if(|header| matches!(header, crate::Header::Receive(_)))? {
            crate::Header::Receive(header) => Some(*header),
            _ => None,
        }
    }

    /// Adds it to an extension.
    pub(super) fn put(self, extension: &mut Extension) {
        extension.header = Some(crate::Header::Receive(Box::new(self)));
    }
}
