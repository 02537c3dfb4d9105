//! Ids of connections.
//!
//! Connections for one message are grouped by their class, connections that stay open by their transport, so that each
//! group reuses its own ids. An id serves to find a connection, but does not identify it: its
//! [`Flow`](crate::flow::Flow) does.

use std::collections::VecDeque;
use std::ops::Range;

use units::{ConnectionId, Instant};

/// The ids of connections. A group takes them a page at a time, so that ids need no group in them and remain close
/// together.
pub(super) struct Numbers {
    groups: Vec<Group>,
    /// The group of each page.
    pages: Vec<u32>,
    /// Interval between the pages that this one takes, and the first of them.
    every: u32,
    first: u32,
}

/// The ids of one group.
#[derive(Clone, Default)]
struct Group {
    /// Unused ids of its latest page.
    fresh: Range<u32>,
    /// Ids of closed connections, and the times after which they may be reused; the first closed first.
    free: VecDeque<(Instant, ConnectionId)>,
}

impl Numbers {
    /// Number of ids in a page.
    const PAGE: u32 = 64;

    /// Returns unused ids, for `groups` groups.
    pub(super) fn new(groups: usize) -> Numbers {
        Numbers { groups: vec![Group::default(); groups], pages: Vec::new(), every: 1, first: 0 }
    }

    /// Restricts the ids to the pages of one partition, so that the partitions have different ids.
    pub(super) fn keep_to(&mut self, part: u32, of: u32) {
        (self.every, self.first) = (of, part);
    }

    /// Returns an id for a connection of a group.
    pub(super) fn take(&mut self, group: usize, now: Instant) -> ConnectionId {
        let Group { fresh, free } = &mut self.groups[group];
        if let Some(&(after, id)) = free.front()
            && after < now
        {
            free.pop_front();
            return id;
        }
        if fresh.start == fresh.end {
            let page = self.pages.len() as u32 * self.every + self.first;
            self.pages.push(group as u32);
            *fresh = page * Numbers::PAGE..(page + 1) * Numbers::PAGE;
        }
        ConnectionId(fresh.next().expect("a page has numbers"))
    }

    /// Frees the id of a closed connection for reuse after a time.
    pub(super) fn give_back(&mut self, id: ConnectionId, after: Instant) {
        let group = self.pages[(id.0 / Numbers::PAGE / self.every) as usize];
        self.groups[group as usize].free.push_back((after, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_uses_its_own_numbers_again_and_not_too_early() {
        let mut numbers = Numbers::new(2);
        let first: Vec<u32> = (0..100).map(|_| numbers.take(0, Instant(5)).0).collect();
        let second: Vec<u32> = (0..100).map(|_| numbers.take(1, Instant(5)).0).collect();
        assert!(first.iter().all(|number| !second.contains(number)));
        assert_eq!((first[63], first[64], second[0]), (63, 64, 128));
        numbers.give_back(ConnectionId(first[70]), Instant(8));
        numbers.give_back(ConnectionId(second[7]), Instant(6));
        assert!(![first[70], second[7]].contains(&numbers.take(0, Instant(8)).0), "what was closed is not known yet");
        assert_eq!((numbers.take(0, Instant(9)).0, numbers.take(1, Instant(9)).0), (first[70], second[7]));
    }

    #[test]
    fn parts_have_different_numbers() {
        let mut parts = [0, 1, 2].map(|part| {
            let mut numbers = Numbers::new(1);
            numbers.keep_to(part, 3);
            numbers
        });
        let mut all: Vec<u32> = parts
            .iter_mut()
            .flat_map(|part| (0..100).map(|_| part.take(0, Instant(5)).0).collect::<Vec<_>>())
            .collect();
        assert_eq!((all[0], all[64], all[100], all[200]), (0, 192, 64, 128));
        parts[1].give_back(ConnectionId(all[170]), Instant(6));
        assert_eq!(parts[1].take(0, Instant(7)).0, all[170]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300);
    }
}
