//! What becomes of each packet, hop by hop, for a replay of the first moments of a run.

use transport::{Flags, Packet};
use units::{Bytes, ConnectionId, Instant, LinkId};

/// Hops and losses of packets, in the order in which they happened.
pub struct PacketLog {
    from: Instant,
    until: Instant,
    most: usize,
    rows: Vec<Logged>,
}

/// A packet has reached the end of a link, or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// When.
    pub at: Instant,
    /// The link that it has crossed. Of a lost one, the link whose port had no room for it, or on which it was lost.
    pub link: LinkId,
    /// The link for which it queues now; none at a host, and of a lost one.
    pub next: Option<LinkId>,
    /// It was lost, to a full buffer or to a fault.
    pub lost: bool,
    /// Whose it is: numbers are used again, by another generation.
    pub connection: (ConnectionId, u16),
    /// Where its data begins in the connection's stream, or what an ACK expects next.
    pub seq: u64,
    /// On the wire.
    pub size: Bytes,
    /// Of this, data.
    pub payload: Bytes,
    /// It answers data, or opens a connection.
    pub ack: bool,
    /// A switch has marked it (CE).
    pub marked: bool,
    /// It tells the sender of a mark (ECE).
    pub echo: bool,
    /// Its data was sent before.
    pub again: bool,
}

impl PacketLog {
    /// Of what happens from one time until another, no more than so many rows.
    pub fn new(from: Instant, until: Instant, most: usize) -> PacketLog {
        PacketLog { from, until, most, rows: Vec::new() }
    }

    /// Whether something that happens now or later may have to be written down.
    pub fn wants_more(&self, now: Instant) -> bool {
        now <= self.until && self.rows.len() < self.most
    }

    /// A packet has reached the end of a link, and queues for `next`.
    pub(crate) fn arrives(&mut self, now: Instant, link: LinkId, next: Option<LinkId>, packet: &Packet) {
        self.write(Logged { next, ..Logged::of(now, link, packet) });
    }

    /// A packet was lost at the port of a link, or behind it.
    pub(crate) fn lost(&mut self, now: Instant, link: LinkId, packet: &Packet) {
        self.write(Logged { lost: true, ..Logged::of(now, link, packet) });
    }

    fn write(&mut self, row: Logged) {
        if row.at >= self.from && self.wants_more(row.at) {
            self.rows.push(row);
        }
    }

    /// Until when every hop and loss was written down: the time asked for, or of the last row there was room for.
    pub fn complete_until(&self) -> Instant {
        match self.rows.last() {
            Some(last) if self.rows.len() == self.most => last.at,
            _ => self.until,
        }
    }

    /// What was written down.
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
            connection: (packet.connection, packet.generation),
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
