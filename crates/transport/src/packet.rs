//! What travels.

use units::{ConnectionId, Instant, halves, pair};

use crate::Header;

/// A packet's header, as small as it can be: it is copied at every hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Data: its first byte's position in the stream. ACK: the next byte that is expected.
    pub seq: u64,
    /// Data: when it was sent, or [`Instant::MAX`] for a retransmission (Karn's rule).
    /// ACK: the stamp of the data that it answers.
    pub stamp: Instant,
    /// Which connection it belongs to; set by whoever runs the transports.
    pub connection: ConnectionId,
    /// Where it goes; set and advanced by whoever runs the transports.
    pub route: u32,
    /// Where it stands among those that wait in front of a port whose queue goes by rank, lower numbers first, or
    /// [`Packet::UNTAGGED`].
    pub rank: u32,
    /// How long it waited at the last port, in units of 1024 ps; set by the port. When [`Flags::EXTENDED`], where
    /// its [`Extension`] is kept, which has the wait instead; set by whoever runs the transports.
    pub wait_or_extension: u32,
    /// Which of the connections that used this number it belongs to.
    pub generation: u16,
    /// Bytes on the wire.
    pub size: u16,
    /// Bytes of data.
    pub payload: u16,
    /// What it is and what happened to it.
    pub flags: Flags,
}

impl Packet {
    /// The rank of packets whose sender says nothing of it.
    pub const UNTAGGED: u32 = u32::MAX;

    /// What unused memory holds.
    pub const BLANK: Packet = Packet {
        seq: 0,
        stamp: Instant::MAX,
        connection: ConnectionId(0),
        route: 0,
        rank: Packet::UNTAGGED,
        wait_or_extension: 0,
        generation: 0,
        size: 0,
        payload: 0,
        flags: Flags::NONE,
    };

    /// Data.
    #[inline]
    pub fn data(seq: u64, payload: u32, header: u32, stamp: Instant, flags: Flags) -> Packet {
        Packet { seq, stamp, size: (payload + header) as u16, payload: payload as u16, flags, ..Packet::BLANK }
    }
    /// An acknowledgement of everything before `next`.
    #[inline]
    pub fn ack(next: u64, header: u32, stamp: Instant, flags: Flags) -> Packet {
        Packet::data(next, 0, header, stamp, flags.with(Flags::ACK))
    }
    /// It as five words, as threads can leave for each other.
    #[inline]
    pub fn to_words(&self) -> [u64; 5] {
        let sizes = u64::from(self.generation) << 48 | u64::from(self.size) << 32 | u64::from(self.payload) << 16;
        let sizes = sizes | u64::from(self.flags.0);
        let waits = pair(self.rank, self.wait_or_extension);
        [self.seq, self.stamp.0, pair(self.connection.0, self.route), waits, sizes]
    }
    /// What [`to_words`](Packet::to_words) has made words of.
    #[inline]
    pub fn from_words([seq, stamp, path, waits, sizes]: [u64; 5]) -> Packet {
        let ((connection, route), (rank, wait_or_extension)) = (halves(path), halves(waits));
        Packet {
            seq,
            stamp: Instant(stamp),
            connection: ConnectionId(connection),
            route,
            rank,
            wait_or_extension,
            generation: (sizes >> 48) as u16,
            size: (sizes >> 32) as u16,
            payload: (sizes >> 16) as u16,
            flags: Flags(sizes as u8),
        }
    }
    /// The position after its last byte.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.payload)
    }
}

/// A set of bits that a packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Nothing special: data that is not ECN-capable.
    pub const NONE: Flags = Flags(0);
    /// It travels from receiver to sender.
    pub const ACK: Flags = Flags(1);
    /// ECN-capable transport: switches may mark it (RFC 3168).
    pub const ECT: Flags = Flags(2);
    /// Congestion experienced: a switch marked it.
    pub const CE: Flags = Flags(4);
    /// ECN echo: the receiver saw a mark.
    pub const ECE: Flags = Flags(8);
    /// Congestion window reduced: the sender has reacted to the echo.
    pub const CWR: Flags = Flags(16);
    /// Opens the connection.
    pub const SYN: Flags = Flags(32);
    /// Completes the opening, and asks for no answer. (No SYN says CWR otherwise.)
    pub const OPENED: Flags = Flags::SYN.with(Flags::CWR);
    /// Sent before.
    pub const AGAIN: Flags = Flags(64);
    /// It has an [`Extension`].
    pub const EXTENDED: Flags = Flags(128);

    /// Whether all bits of `other` are set.
    #[inline]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// These bits and those of `other`.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// These bits and those of `other` if `condition`.
    #[inline]
    pub fn with_if(self, condition: bool, other: Flags) -> Flags {
        Flags(self.0 | if condition { other.0 } else { 0 })
    }
}

/// What few packets carry beside their fields; kept aside so that the others stay small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extension {
    /// Selective acknowledgement (RFC 2018).
    pub sack: Blocks,
    /// What a family says to the agents at ports, or they to it.
    pub header: Option<Header>,
    /// How long the packet waited at the last port, in units of 1024 ps; set by the port.
    pub wait: u32,
}

impl Extension {
    /// With these blocks alone.
    pub fn of_blocks(sack: Blocks) -> Extension {
        Extension { sack, ..Extension::default() }
    }
    /// With this header alone.
    pub fn of_header(header: Header) -> Extension {
        Extension { header: Some(header), ..Extension::default() }
    }
}

/// Up to three received ranges above the cumulative acknowledgement, the latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Blocks {
    blocks: [(u64, u64); 3],
    len: u8,
}

impl Blocks {
    /// Adds a range `[start, end)`; a fourth is ignored.
    pub fn push(&mut self, block: (u64, u64)) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }
    /// The ranges.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_small() {
        assert_eq!(size_of::<Packet>(), 40);
    }

    #[test]
    fn words_say_all_of_a_packet() {
        let packet = Packet {
            seq: u64::MAX - 1,
            stamp: Instant::MAX,
            connection: ConnectionId(u32::MAX - 2),
            route: 3 << 30,
            rank: 5,
            wait_or_extension: u32::MAX,
            generation: 0x8001,
            size: 0xfff0,
            payload: 0x7ffe,
            flags: Flags::EXTENDED.with(Flags::CE),
        };
        assert_eq!(Packet::from_words(packet.to_words()), packet);
        assert_eq!(Packet::from_words(Packet::BLANK.to_words()), Packet::BLANK);
    }
}
