//! The packet, its flags and its extension.

use units::{ConnectionId, Instant, LinkId, halves, pair};

use crate::Header;

/// A packet's header, as small as it can be: it is copied at every hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Data: its first byte's position in the stream. ACK: the next expected byte.
    pub seq: u64,
    /// Data: the time of sending, or [`Instant::MAX`] for a retransmission (Karn's rule). ACK: the stamp of the data
    /// that it answers.
    pub stamp: Instant,
    /// Id of its connection; set by the simulator.
    pub connection: ConnectionId,
    /// Its route; set and advanced by the simulator.
    pub route: u32,
    /// Its rank in front of a port that orders its queue by rank, lower numbers first, or [`Packet::UNTAGGED`].
    pub rank: u32,
    /// Queueing time at the last port, in units of 1024 ps; set by the port. With [`Flags::EXTENDED`] it is the place
    /// of its [`Extension`], which has the queueing time instead; set by the simulator.
    pub wait_or_extension: u32,
    /// Generation of its connection among the ones that used this id.
    pub generation: u16,
    /// Bytes of the packet on the wire.
    pub size: u16,
    /// Bytes of its data.
    pub payload: u16,
    /// Its kind, marks by switches, and its path where its connection has several.
    pub flags: Flags,
}

impl Packet {
    /// The rank of packets whose sender sets none.
    pub const UNTAGGED: u32 = u32::MAX;

    /// The content of unused memory.
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

    /// Returns a data packet.
    #[inline]
    pub fn data(seq: u64, payload: u32, header: u32, stamp: Instant, flags: Flags) -> Packet {
        Packet { seq, stamp, size: (payload + header) as u16, payload: payload as u16, flags, ..Packet::BLANK }
    }
    /// Returns an acknowledgement of everything before `next`.
    #[inline]
    pub fn ack(next: u64, header: u32, stamp: Instant, flags: Flags) -> Packet {
        Packet::data(next, 0, header, stamp, flags.with(Flags::ACK))
    }
    /// Returns the packet as five words, the form in which threads exchange it.
    #[inline]
    pub fn to_words(&self) -> [u64; 5] {
        let sizes = u64::from(self.generation) << 48 | u64::from(self.size) << 32 | u64::from(self.payload) << 16;
        let sizes = sizes | u64::from(self.flags.0);
        let waits = pair(self.rank, self.wait_or_extension);
        [self.seq, self.stamp.0, pair(self.connection.0, self.route), waits, sizes]
    }
    /// Returns the packet of the words of [`to_words`](Packet::to_words).
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
            flags: Flags(sizes as u16),
        }
    }
    /// Returns whether a switch has removed its payload.
    #[inline]
    pub fn is_trimmed(&self) -> bool {
        self.payload > self.size
    }
    /// Returns the position after its last byte.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.payload)
    }
}

/// A set of bits of a packet, the lower eight; and the number of a path, the upper eight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No flag: data that is not ECN-capable.
    pub const NONE: Flags = Flags(0);
    /// The packet is sent from receiver to sender.
    pub const ACK: Flags = Flags(1);
    /// ECN-capable transport: switches may mark it (RFC 3168).
    pub const ECT: Flags = Flags(2);
    /// Congestion experienced: a switch marked it.
    pub const CE: Flags = Flags(4);
    /// ECN echo: the receiver saw a mark.
    pub const ECE: Flags = Flags(8);
    /// Congestion window reduced: the sender has reacted to the echo.
    pub const CWR: Flags = Flags(16);
    /// Opens the connection, as TCP's SYN.
    pub const SYN: Flags = Flags(32);
    /// Completes the opening, and requests no answer. (No SYN has CWR otherwise.)
    pub const OPENED: Flags = Flags::SYN.with(Flags::CWR);
    /// The data was sent before: a retransmission.
    pub const AGAIN: Flags = Flags(64);
    /// Tells the sender that a switch removed the payload of the data in its [`Extension`]. (No other ACK has
    /// [`AGAIN`](Flags::AGAIN).)
    pub const NACK: Flags = Flags::ACK.with(Flags::AGAIN);
    /// It has an [`Extension`].
    pub const EXTENDED: Flags = Flags(128);

    /// Returns true if all bits of `other` are set.
    #[inline]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Returns the union of these bits and `other`.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// Returns the union of these bits and `other` if `condition`, else these bits.
    #[inline]
    pub fn with_if(self, condition: bool, other: Flags) -> Flags {
        Flags(self.0 | if condition { other.0 } else { 0 })
    }
    /// Returns these bits without the bits of `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// Returns these bits and the number of a path. Data: its path among the paths of its connection. ACK: the path of the
    /// latest data that has arrived, or at least 128 if that was marked. Set by the simulator.
    #[inline]
    pub const fn on_path(self, path: u8) -> Flags {
        Flags(self.0 & 0xff | (path as u16) << 8)
    }
    /// Returns the number of the path.
    #[inline]
    pub fn path(self) -> u8 {
        (self.0 >> 8) as u8
    }
}

/// Rare fields of a packet; kept apart so that other packets stay small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extension {
    /// Selective acknowledgement (RFC 2018).
    pub sack: Blocks,
    /// The header of a family, from an end to the agents at ports, or from them to the other end.
    pub header: Option<Header>,
    /// Queueing time at the last port, in units of 1024 ps; set by the port.
    pub wait: u32,
    /// The header that switches have added.
    pub overlay: Option<Box<Overlay>>,
}

/// A header between the first and the last switch of a path, by which switches tell each other of congestion (CONGA,
/// SIGCOMM 2014, 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlay {
    /// The node of the first switch.
    pub first_switch: u32,
    /// The node of the last switch.
    pub last_switch: u32,
    /// The link by which it has left the first switch (LBTag).
    pub uplink: Option<LinkId>,
    /// The largest congestion of the links so far (CE).
    pub congestion: u8,
    /// An uplink of the last switch, and the congestion of packets that have left by it for the first one (FB_LBTag and
    /// FB_Metric).
    pub told: Option<(LinkId, u8)>,
    /// The packet has an [`Extension`] for this alone.
    pub alone: bool,
}

impl Extension {
    /// Returns an extension with these blocks alone.
    pub fn of_blocks(sack: Blocks) -> Extension {
        Extension { sack, ..Extension::default() }
    }
    /// Returns an extension with this header alone.
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
    /// Returns the ranges, the latest first.
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
    fn a_packet_without_headers_is_not_trimmed() {
        let packet = Packet::data(0, 1460, 0, Instant::ZERO, Flags::NONE);
        assert!(!packet.is_trimmed() && Packet { size: 64, ..packet }.is_trimmed());
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
            flags: Flags::EXTENDED.with(Flags::CE).on_path(0xa5),
        };
        assert_eq!(Packet::from_words(packet.to_words()), packet);
        assert_eq!(Packet::from_words(Packet::BLANK.to_words()), Packet::BLANK);
    }
}
