//! Numbers of connections.
//!
//! Those that serve one message are grouped by their class, those that stay open by their transport, so that each
//! group uses its own numbers again. A number says where to find a connection, not who it is: that, its
//! [`Flow`](crate::flow::Flow) says.

use std::collections::VecDeque;
use std::ops::Range;

use units::{ConnectionId, Instant};

/// The numbers of connections. A group takes them a page at a time, so that they need no group in them and stand
/// close together.
pub struct Numbers {
    groups: Vec<Group>,
    /// To which group each page belongs.
    pages: Vec<u32>,
    /// Every so manyth page is taken, from this one on.
    every: u32,
    first: u32,
}

/// The numbers of one group.
#[derive(Clone, Default)]
struct Group {
    /// Those of its latest page that have not been used.
    fresh: Range<u32>,
    /// Those of closed connections, and after when they may be used again; the first closed first.
    free: VecDeque<(Instant, ConnectionId)>,
}

impl Numbers {
    /// So many numbers has a page.
    const PAGE: u32 = 64;

    /// All unused, for so many groups.
    pub fn new(groups: usize) -> Numbers {
        Numbers { groups: vec![Group::default(); groups], pages: Vec::new(), every: 1, first: 0 }
    }

    /// Takes only the pages of one part of so many, so that the parts have different numbers.
    pub fn keep_to(&mut self, part: u32, of: u32) {
        (self.every, self.first) = (of, part);
    }

    /// A number for a connection of a group.
    pub fn take(&mut self, group: usize, now: Instant) -> ConnectionId {
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

    /// A connection was closed; its number may be used again after this.
    pub fn give_back(&mut self, id: ConnectionId, after: Instant) {
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
