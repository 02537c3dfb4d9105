//! Numbers of things, told apart by type, and tables that only numbers of their own kind find their way in.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// The most hosts of a network: a fat-tree of 80-port switches has 128 000.
pub const MOST_HOSTS: u32 = 131_072;

/// The number of something that is counted from 0.
pub trait Id: Copy {
    /// That of this place in a list of all.
    fn from_index(index: usize) -> Self;
    /// Its place in a list of all.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $Id:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Id(pub u32);

        impl $Id {
            /// That of this place in a list of all.
            pub fn from_index(index: usize) -> $Id {
                $Id(u32::try_from(index).expect("there are fewer than 2^32"))
            }
            /// Its place in a list of all.
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

        /// The bare number.
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
    /// A connection. It says where to find a connection, not who it is: numbers are used again.
    ConnectionId,
    /// A message, by the order of starts.
    MessageId,
}

/// A list of one thing for each number of a kind: `ports[link]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<I, T> {
    all: Vec<T>,
    by: PhantomData<fn(I)>,
}

impl<I: Id, T> Table<I, T> {
    /// Everything with its number.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.all.iter().enumerate().map(|(index, entry)| (I::from_index(index), entry))
    }

    /// What is kept for a number, if there is room for it.
    pub fn find(&self, id: I) -> Option<&T> {
        self.all.get(id.index())
    }

    /// As [`find`](Table::find).
    pub fn find_mut(&mut self, id: I) -> Option<&mut T> {
        self.all.get_mut(id.index())
    }

    /// All, without the numbers.
    pub fn into_vec(self) -> Vec<T> {
        self.all
    }

    /// Adds a thing; gives its number.
    pub fn push(&mut self, entry: T) -> I {
        self.all.push(entry);
        I::from_index(self.all.len() - 1)
    }
}

impl<I: Id, T: Default> Table<I, T> {
    /// What is kept for a number; makes room for it where there is none.
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

/// Without the numbers.
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
