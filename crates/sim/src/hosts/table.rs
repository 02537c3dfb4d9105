//! Numbers of connections, and what is kept by them.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};

use units::Instant;

/// A connection: a number of its group. Those that serve one message are grouped by their class, those that stay open
/// by their transport, so that each group uses its own numbers again.
///
/// It says where to find a connection, not who it is: that, its [`Flow`](crate::flow::Flow) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u32);

/// The numbers of connections. A group takes them a page at a time, so that they need no group in them and stand
/// close together.
pub struct Numbers {
    groups: Vec<Group>,
    /// To which group each page belongs.
    pages: Vec<u32>,
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
        Numbers { groups: vec![Group::default(); groups], pages: Vec::new() }
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
            let page = self.pages.len() as u32;
            self.pages.push(group as u32);
            *fresh = page * Numbers::PAGE..(page + 1) * Numbers::PAGE;
        }
        ConnectionId(fresh.next().expect("a page has numbers"))
    }

    /// A connection was closed; its number may be used again after this.
    pub fn give_back(&mut self, id: ConnectionId, after: Instant) {
        let group = self.pages[(id.0 / Numbers::PAGE) as usize];
        self.groups[group as usize].free.push_back((after, id));
    }
}

/// One thing for each connection.
pub struct Table<T>(Vec<T>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(Vec::new())
    }
}

impl<T: Default> Table<T> {
    /// What is kept for a connection; makes room for it where there is none.
    pub fn reach(&mut self, id: ConnectionId) -> &mut T {
        if self.0.len() <= id.0 as usize {
            self.0.resize_with(id.0 as usize + 1, T::default);
        }
        &mut self.0[id.0 as usize]
    }
}

impl<T> Table<T> {
    /// What is kept for a connection, if there is room for it.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<&mut T> {
        self.0.get_mut(id.0 as usize)
    }

    /// Everything.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// Everything with its connection.
    pub fn iter(&self) -> impl Iterator<Item = (ConnectionId, &T)> {
        (0..).map(ConnectionId).zip(&self.0)
    }
}

impl<T> Index<ConnectionId> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: ConnectionId) -> &T {
        &self.0[id.0 as usize]
    }
}

impl<T> IndexMut<ConnectionId> for Table<T> {
    #[inline]
    fn index_mut(&mut self, id: ConnectionId) -> &mut T {
        &mut self.0[id.0 as usize]
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
}
