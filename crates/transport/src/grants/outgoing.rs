//! The data that a sending host may send: one queue for all its connections, from which the link takes one packet at a
//! time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use units::{ConnectionId, Instant};

use super::{Ask, Header, Policy};
use crate::host::{End, HostOutput};
use crate::{Flags, Packet};

/// The queue of a sending host. Its first segment is sent whenever the link is free.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    queue: BTreeMap<(u64, u64), Segment>,
    /// The keys of each connection's segments in the queue, by their start in the stream.
    places: BTreeMap<(ConnectionId, u64), (u64, u64)>,
    /// Payload in the queue, in bytes.
    bytes: u64,
    /// Total numbers of segments that were enqueued, and dequeued.
    put: u64,
    taken: u64,
}

/// A packet of data that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The sending end that it belongs to.
    pub end: End,
    /// Start of the data in the stream.
    pub start: u64,
    /// End of its message in the stream.
    pub until: u64,
    /// Number of bytes of data.
    pub payload: u32,
    /// The priority of its packet.
    pub rank: u32,
    /// It was sent before.
    pub again: bool,
    /// The request that is sent with it.
    pub ask: Option<Ask>,
}

/// The key of messages without a deadline, which are sent after all others.
pub(super) const LAST: u64 = u64::MAX;

impl Outgoing {
    /// Enqueues a segment, low keys first; returns false if it was queued already.
    pub(super) fn put(&mut self, policy: &Policy, key: u64, segment: Segment) -> bool {
        let Entry::Vacant(place) = self.places.entry((segment.end.connection, segment.start)) else { return false };
        place.insert((key, self.put));
        self.bytes += u64::from(segment.payload);
        self.queue.insert((key, self.put), segment);
        self.put += 1;
        if policy.by_rest {
            self.order_by_rest(&segment);
        }
        true
    }

    /// Orders the queued segments of a segment's message by the rest of that message.
    fn order_by_rest(&mut self, &Segment { end, until, .. }: &Segment) {
        let Outgoing { queue, places, .. } = self;
        let of_message = |place: &(u64, u64)| queue.get(place).is_some_and(|other| other.until == until);
        // The queued segments of its connection before the end of the message; messages follow one another there.
        let before = places.range((end.connection, 0)..(end.connection, until)).rev();
        let waiting: Vec<(u64, (u64, u64))> =
            before.take_while(|(_, place)| of_message(place)).map(|(&(_, start), &place)| (start, place)).collect();
        let Some(&(first, _)) = waiting.last() else { return };
        let key = (until - first).min(LAST - 1);
        for (start, place) in waiting.into_iter().filter(|(_, place)| place.0 != key) {
            if let Some(segment) = queue.remove(&place) {
                queue.insert((key, place.1), segment);
                places.insert((end.connection, start), (key, place.1));
            }
        }
    }

    /// Returns true if it has data of a connection.
    pub(super) fn holds(&self, connection: ConnectionId) -> bool {
        self.places.range((connection, 0)..=(connection, u64::MAX)).next().is_some()
    }

    /// Returns the key of the segment whose turn it is among the last ones: the first one of that connection, so that its
    /// data stays in order.
    fn last(&self) -> Option<(u64, u64)> {
        let (_, Segment { end: End { connection, .. }, .. }) = self.queue.range((LAST, 0)..).next()?;
        self.places.range((*connection, 0)..).next().map(|(_, key)| *key)
    }

    /// Removes the segments of a closed connection.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        let of_it: Vec<(ConnectionId, u64)> =
            self.places.range((connection, 0)..=(connection, u64::MAX)).map(|(place, _)| *place).collect();
        for segment in
            of_it.iter().filter_map(|place| self.places.remove(place)).filter_map(|key| self.queue.remove(&key))
        {
            self.bytes -= u64::from(segment.payload);
        }
    }

    /// Sends packets while the link is free, and requests a wake-up for the time when it is.
    pub(super) fn send(&mut self, now: Instant, policy: &Policy, out: &mut impl HostOutput) {
        while let Some((&first, Segment { end, .. })) = self.queue.first_key_value() {
            if !out.link_is_free(now, *end) {
                return;
            }
            self.taken += 1;
            let turn = policy.background_every > 0 && self.taken.is_multiple_of(policy.background_every);
            let key = if turn { self.last().unwrap_or(first) } else { first };
            let Some(segment) = self.queue.remove(&key) else { return };
            self.places.remove(&(segment.end.connection, segment.start));
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
