//! The data that a sending host may send: one queue for all its connections, from which the link takes one packet at a
//! time.

use std::collections::VecDeque;

use units::{ConnectionId, Instant};

use super::{Ask, Header, Policy};
use crate::host::{End, HostOutput};
use crate::{Flags, Packet};

/// The queue of a sending host. Its first segment is sent whenever the link is free.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// The lists of segments that are queued, the next to be sent first.
    order: VecDeque<Place>,
    /// The lists, in no order. Those at [`Outgoing::free`] are empty.
    lists: Vec<List>,
    free: Vec<u32>,
    /// Payload in the queue, in bytes.
    bytes: u64,
    /// Total numbers of segments that were enqueued, and dequeued.
    put: u64,
    taken: u64,
}

/// The place of a list of segments of one connection with the same key; lists with low keys are first. Of those with
/// the same key the one is first whose first segment was enqueued first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    key: u64,
    /// The number of its first segment.
    first: u64,
    connection: ConnectionId,
    list: u32,
}

/// Segments in the order in which they were enqueued.
#[derive(Debug, Default)]
struct List {
    segments: VecDeque<Queued>,
    /// They are not in the order of the stream.
    is_mixed: bool,
}

/// A queued segment, with its number.
#[derive(Clone, Copy, Debug)]
struct Queued {
    number: u64,
    segment: Segment,
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
    /// It was sent before, or is queued.
    pub again: bool,
    /// The request that is sent with it.
    pub ask: Option<Ask>,
}

/// The key of messages without a deadline, which are sent after all others.
pub(super) const LAST: u64 = u64::MAX;

impl Outgoing {
    /// Enqueues a segment, low keys first; returns false if it was queued already. With [`Policy::by_rest`] the key is the
    /// rest of its message, which the other queued segments of the message have too.
    pub(super) fn put(&mut self, policy: &Policy, key: u64, segment: Segment) -> bool {
        let connection = segment.end.connection;
        if segment.again && self.index_of(connection, segment.start).is_some() {
            return false;
        }
        let number = self.put;
        let is_same = |place: &&Place| match policy.by_rest {
            true => self.lists[place.list as usize].until() == Some(segment.until),
            false => place.key == key,
        };
        let mut of_it = self.order.iter().filter(|place| place.connection == connection);
        if let Some(&place) = of_it.find(is_same) {
            self.list(place).push(Queued { number, segment });
            if policy.by_rest {
                self.place_by_rest(place);
            }
        } else {
            let list = self.free.pop().unwrap_or_else(|| {
                self.lists.push(List::default());
                self.lists.len() as u32 - 1
            });
            self.lists[list as usize].push(Queued { number, segment });
            let key = if policy.by_rest { self.lists[list as usize].rest() } else { key };
            self.insert(Place { key, first: number, connection, list });
        }
        self.bytes += u64::from(segment.payload);
        self.put += 1;
        true
    }

    /// Inserts a place in order.
    fn insert(&mut self, place: Place) {
        // Usually it is the last one.
        if self.order.back().is_none_or(|last| *last < place) {
            return self.order.push_back(place);
        }
        let index = self.order.partition_point(|other| *other < place);
        self.order.insert(index, place);
    }

    /// Returns the list at a place.
    fn list(&mut self, place: Place) -> &mut List {
        &mut self.lists[place.list as usize]
    }

    /// Moves a list from its place to where the rest of its message belongs.
    fn place_by_rest(&mut self, place: Place) {
        let key = self.list(place).rest();
        if key != place.key
            && let Ok(index) = self.order.binary_search(&place)
        {
            self.order.remove(index);
            self.insert(Place { key, ..place });
        }
    }

    /// Returns the index of the list that has the segment of a connection with this start, and its index there.
    fn index_of(&self, connection: ConnectionId, start: u64) -> Option<(usize, usize)> {
        let mut of_it = self.order.iter().enumerate().filter(|(_, place)| place.connection == connection);
        of_it.find_map(|(index, place)| {
            let list = &self.lists[place.list as usize];
            list.segments.iter().position(|queued| queued.segment.start == start).map(|at| (index, at))
        })
    }

    /// Returns true if it has data of a connection.
    pub(super) fn holds(&self, connection: ConnectionId) -> bool {
        self.order.iter().any(|place| place.connection == connection)
    }

    /// Returns the indices of the segment whose turn it is among the last ones: the first one of that connection, so that
    /// its data stays in order.
    fn last(&self) -> Option<(usize, usize)> {
        let index = self.order.partition_point(|place| place.key < LAST);
        let connection = self.order.get(index)?.connection;
        let lists = self.order.iter().filter(|place| place.connection == connection);
        let segments = lists.flat_map(|place| &self.lists[place.list as usize].segments);
        self.index_of(connection, segments.map(|queued| queued.segment.start).min()?)
    }

    /// Removes the segments of a closed connection.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        let Outgoing { order, lists, free, bytes, .. } = self;
        order.retain(|place| {
            let stays = place.connection != connection;
            if !stays {
                let segments = std::mem::take(&mut lists[place.list as usize]).segments.into_iter();
                *bytes -= segments.map(|queued| u64::from(queued.segment.payload)).sum::<u64>();
                free.push(place.list);
            }
            stays
        });
    }

    /// Removes and returns the segment at an index of a list, by the index of that list's place.
    fn take(&mut self, policy: &Policy, index: usize, at: usize) -> Option<Segment> {
        let place = self.order[index];
        let list = &mut self.lists[place.list as usize];
        let Queued { segment, .. } = if at == 0 { list.segments.pop_front() } else { list.segments.remove(at) }?;
        self.bytes -= u64::from(segment.payload);
        let Some(&Queued { number, .. }) = list.segments.front() else {
            list.is_mixed = false;
            if index == 0 {
                self.order.pop_front()
            } else {
                self.order.remove(index)
            };
            self.free.push(place.list);
            return Some(segment);
        };
        let key = if policy.by_rest { list.rest() } else { place.key };
        let moved = Place { key, first: number, ..place };
        // Usually it stays where it is.
        if index == 0 && self.order.get(1).is_none_or(|second| moved < *second) {
            self.order[0] = moved;
        } else {
            self.order.remove(index);
            self.insert(moved);
        }
        Some(segment)
    }

    /// Sends packets while the link is free, and requests a wake-up for the time when it is.
    pub(super) fn send(&mut self, now: Instant, policy: &Policy, out: &mut impl HostOutput) {
        while let Some(first) = self.order.front().and_then(|place| self.lists[place.list as usize].segments.front()) {
            if !out.link_is_free(now, first.segment.end) {
                return;
            }
            self.taken += 1;
            let turn = policy.background_every > 0 && self.taken.is_multiple_of(policy.background_every);
            let (index, at) = if turn { self.last().unwrap_or((0, 0)) } else { (0, 0) };
            let Some(segment) = self.take(policy, index, at) else { return };
            let capable = Flags::NONE.with_if(policy.limits.is_some(), Flags::ECT);
            let flags = capable.with_if(self.bytes > policy.backlog, Flags::ECE).with_if(segment.again, Flags::AGAIN);
            let mut packet = Packet::data(segment.start, segment.payload, policy.header, now, flags);
            packet.rank = segment.rank;
            out.send_from(segment.end, packet, segment.ask.map(|ask| Header::Ask(ask).extension()));
        }
    }
}

impl List {
    fn push(&mut self, queued: Queued) {
        self.is_mixed |= self.segments.back().is_some_and(|last| queued.segment.start < last.segment.start);
        self.segments.push_back(queued);
    }

    /// Returns the end of the first segment's message.
    fn until(&self) -> Option<u64> {
        self.segments.front().map(|queued| queued.segment.until)
    }

    /// Returns the bytes of the first segment's message from its first queued byte; less than [`LAST`].
    fn rest(&self) -> u64 {
        let mut starts = self.segments.iter().map(|queued| queued.segment.start);
        let first = if self.is_mixed { starts.min() } else { starts.next() };
        self.until().zip(first).map_or(0, |(until, first)| until - first).min(LAST - 1)
    }
}
