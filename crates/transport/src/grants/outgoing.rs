//! What a sending host may send: one queue for all its connections, from which the link takes one packet at a time.

use std::collections::BTreeMap;

use units::{ConnectionId, Instant};

use super::{Ask, Header, Policy};
use crate::host::{End, HostOutput};
use crate::{Flags, Packet};

/// The queue. What comes first is sent first, whenever the link is free.
#[derive(Debug, Default)]
pub struct Outgoing {
    queue: BTreeMap<(u64, u64), Segment>,
    /// Payload in it.
    bytes: u64,
    /// How many were ever put into it, and taken out.
    put: u64,
    taken: u64,
}

/// A packet of data that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Whose.
    pub end: End,
    /// Where it starts in the stream.
    pub start: u64,
    /// Where its message ends.
    pub until: u64,
    /// Bytes of data.
    pub payload: u32,
    /// Its priority.
    pub rank: u32,
    /// It was sent before.
    pub again: bool,
    /// What goes with it.
    pub ask: Option<Ask>,
}

/// What comes first of all that waits.
pub const LAST: u64 = u64::MAX;

impl Outgoing {
    /// Puts a packet into the queue, those with a low key first; gives whether it was not there yet.
    pub fn put(&mut self, policy: &Policy, key: u64, segment: Segment) -> bool {
        let same = |other: &Segment| other.end.connection == segment.end.connection && other.start == segment.start;
        if self.queue.values().any(same) {
            return false;
        }
        self.bytes += u64::from(segment.payload);
        self.queue.insert((key, self.put), segment);
        self.put += 1;
        if policy.by_rest {
            self.order_by_rest(&segment);
        }
        true
    }

    /// Goes by what is left of the message of a segment, for all that waits of it.
    fn order_by_rest(&mut self, &Segment { end, until, .. }: &Segment) {
        let same = |other: &Segment| other.end.connection == end.connection && other.until == until;
        let Some(first) = self.queue.values().filter(|other| same(other)).map(|other| other.start).min() else {
            return;
        };
        let keys: Vec<(u64, u64)> = self.queue.iter().filter(|(_, other)| same(other)).map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(segment) = self.queue.remove(&key) {
                self.queue.insert(((until - first).min(LAST - 1), key.1), segment);
            }
        }
    }

    /// A connection is closed: nothing of it is sent any more.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.queue.retain(|_, segment| segment.end.connection != connection);
        self.bytes = self.queue.values().map(|segment| u64::from(segment.payload)).sum();
    }

    /// Sends one packet if the link is free, and asks to be woken when it is.
    pub fn send(&mut self, now: Instant, policy: &Policy, out: &mut impl HostOutput) {
        while let Some((&first, Segment { end, .. })) = self.queue.first_key_value() {
            let free = out.leaves_from(*end);
            if free > now {
                return out.arm_host(free);
            }
            self.taken += 1;
            let turn = policy.background_every > 0 && self.taken.is_multiple_of(policy.background_every);
            let last = || self.queue.range((LAST, 0)..).next().map(|(key, _)| *key);
            let key = if turn { last().unwrap_or(first) } else { first };
            let Some(segment) = self.queue.remove(&key) else { return };
            self.bytes -= u64::from(segment.payload);
            if policy.by_rest {
                self.order_by_rest(&segment);
            }
            let capable = Flags::NONE.with_if(policy.limits.is_some(), Flags::ECT);
            let flags = capable.with_if(self.bytes > policy.backlog, Flags::ECE).with_if(segment.again, Flags::AGAIN);
            let mut packet = Packet::data(segment.start, segment.payload, policy.header, now, flags);
            packet.rank = segment.rank;
            out.send_from(segment.end, packet, segment.ask.map(|ask| Header::Ask(ask).extension()));
        }
    }
}
