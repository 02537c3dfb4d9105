//! Log of each packet, hop by hop, for a replay of the first moments of a run.

use transport::{Flags, Packet};
use units::{Bytes, Instant, LinkId};

use crate::flow::Incarnation;

/// Log of the hops and losses of packets, in the order in which they happened.
pub struct PacketLog {
    from: Instant,
    until: Instant,
    most: usize,
    rows: Vec<Logged>,
}

/// A packet has reached the end of a link, or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Time of the hop or loss.
    pub at: Instant,
    /// The link that it has crossed. For a loss, the link whose port had no room for it, or on which it was lost.
    pub link: LinkId,
    /// The link for which it is queued now; `None` at a host, and for a loss.
    pub next: Option<LinkId>,
    /// It was lost, to a full buffer or to a fault.
    pub lost: bool,
    /// The connection to which it belongs.
    pub connection: Incarnation,
    /// Position of its data in the connection's stream, or the next position that an ACK expects.
    pub seq: u64,
    /// Bytes on the wire.
    pub size: Bytes,
    /// Bytes of this that are data.
    pub payload: Bytes,
    /// It acknowledges data, or opens a connection.
    pub ack: bool,
    /// A switch has marked it (CE).
    pub marked: bool,
    /// It reports a mark to the sender (ECE).
    pub echo: bool,
    /// Its data was sent before.
    pub again: bool,
}

impl PacketLog {
    /// Returns an empty log for the time from `from` until `until`, with at most `most` rows.
    pub fn new(from: Instant, until: Instant, most: usize) -> PacketLog {
        PacketLog { from, until, most, rows: Vec::new() }
    }

    /// Returns whether an event now or later may have to be logged.
    pub fn wants_more(&self, now: Instant) -> bool {
        now <= self.until && self.rows.len() < self.most
    }

    /// Logs a packet that has reached the end of a link, and is queued for `next`.
    pub(crate) fn arrives(&mut self, now: Instant, link: LinkId, next: Option<LinkId>, packet: &Packet) {
        self.write(Logged { next, ..Logged::of(now, link, packet) });
    }

    /// Logs a packet that was lost at the port of a link, or on its wire.
    pub(crate) fn lost(&mut self, now: Instant, link: LinkId, packet: &Packet) {
        self.write(Logged { lost: true, ..Logged::of(now, link, packet) });
    }

    fn write(&mut self, row: Logged) {
        if row.at >= self.from && self.wants_more(row.at) {
            self.rows.push(row);
        }
    }

    /// Returns the time until which every hop and loss is logged: the requested end, or the time of the last row for
    /// which there was room.
    pub fn complete_until(&self) -> Instant {
        match self.rows.last() {
            Some(last) if self.rows.len() == self.most => last.at,
            _ => self.until,
        }
    }

    /// Returns all logged rows.
    pub fn rows(&self) -> &[Logged] {
        &self.rows
    }
}

impl Logged {
    fn of(at: Instant, link: LinkId, packet: &Packet) -> Logged {
        Logged {
            at,
            link,
            next: None,
            lost: false,
            connection: Incarnation::of(packet),
            seq: packet.seq,
            size: Bytes::from(packet.size),
            payload: Bytes::from(packet.payload),
            ack: packet.payload == 0,
            marked: packet.flags.has(Flags::CE),
            echo: packet.flags.has(Flags::ECE),
            again: packet.flags.has(Flags::AGAIN),
        }
    }
}
