//! Ids of hosts, links and others, distinct by type, and tables that are indexed by ids of one type only.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Maximum number of hosts of a network: a fat-tree of 80-port switches has 128 000.
pub const MAX_HOSTS: u32 = 131_072;

/// The id of something that is counted from 0.
pub trait Id: Copy {
    /// Returns the id of this place in a list of all.
    fn from_index(index: usize) -> Self;
    /// Returns its place in a list of all.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $Id:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Id(pub u32);

        impl $Id {
            /// Returns the id of this place in a list of all.
            pub fn from_index(index: usize) -> $Id {
                $Id(u32::try_from(index).expect("an index of fewer than 2^32 items"))
            }
            /// Returns its place in a list of all.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $Id {
            fn from_index(index: usize) -> $Id {
                $Id::from_index(index)
            }
            #[inline]
            fn index(self) -> usize {
                self.index()
            }
        }

        /// Prints the bare number of the id.
        impl fmt::Display for $Id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// A host of the network.
    HostId,
    /// One direction of a link, and the port that feeds it.
    LinkId,
    /// A class of the traffic, by its place in the scenario.
    ClassId,
    /// A connection. The id identifies the storage of a connection, not the connection itself: ids are used again.
    ConnectionId,
    /// A message, by the order of starts.
    MessageId,
}

/// A list with one entry for each id of a type: `ports[link]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<I, T> {
    all: Vec<T>,
    by: PhantomData<fn(I)>,
}

impl<I: Id, T> Table<I, T> {
    /// Returns each entry with its id.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.all.iter().enumerate().map(|(index, entry)| (I::from_index(index), entry))
    }

    /// Returns the entry of an id, if there is one.
    pub fn find(&self, id: I) -> Option<&T> {
        self.all.get(id.index())
    }

    /// Returns the entry of an id, if there is one, to change it.
    pub fn find_mut(&mut self, id: I) -> Option<&mut T> {
        self.all.get_mut(id.index())
    }

    /// Returns all entries, without the ids.
    pub fn into_vec(self) -> Vec<T> {
        self.all
    }

    /// Adds an entry; returns its id.
    pub fn push(&mut self, entry: T) -> I {
        self.all.push(entry);
        I::from_index(self.all.len() - 1)
    }
}

impl<I: Id, T: Default> Table<I, T> {
    /// Returns the entry of an id; makes a default one where there is none.
    pub fn reach(&mut self, id: I) -> &mut T {
        if self.all.len() <= id.index() {
            self.all.resize_with(id.index() + 1, T::default);
        }
        &mut self.all[id.index()]
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Table<I, T> {
        Table { all: Vec::new(), by: PhantomData }
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(all: Vec<T>) -> Table<I, T> {
        Table { all, by: PhantomData }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(all: A) -> Table<I, T> {
        Table::from(Vec::from_iter(all))
    }
}

/// The entries without the ids.
impl<I, T> Deref for Table<I, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.all
    }
}

impl<I, T> DerefMut for Table<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.all[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.all[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_its_way_in_by_numbers_of_its_kind() {
        let mut rates: Table<LinkId, u64> = Table::from(vec![10, 40]);
        rates[LinkId(1)] += 60;
        assert_eq!((rates[LinkId(0)], rates[LinkId(1)]), (10, 100));
        assert_eq!(rates.find_mut(LinkId(2)), None);
        assert_eq!(rates.push(25), LinkId(2));
        *rates.reach(LinkId(4)) = 1;
        let entries: Vec<(u32, u64)> = rates.entries().map(|(link, rate)| (link.0, *rate)).collect();
        assert_eq!(entries, [(0, 10), (1, 100), (2, 25), (3, 0), (4, 1)]);
    }

    #[test]
    fn a_number_prints_bare() {
        assert_eq!(format!("host {}, {:>3}", HostId(7), LinkId(12)), "host 7,  12");
        assert_eq!(ClassId(3).index(), 3);
    }
}
