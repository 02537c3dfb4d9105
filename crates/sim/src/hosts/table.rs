//! Numbers of connections, and what is kept by them.

use std::ops::{Index, IndexMut};

/// A connection: its group, and its slot there. Those that serve one message are grouped by their class, those that
/// stay open by their transport, so that what one group opens does not number what others open.
///
/// It says where to find a connection, not who it is: slots are used again. Who it is, its
/// [`Flow`](crate::flow::Flow) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u32);

/// One thing for each connection.
pub struct Table<T> {
    /// So many low bits of a connection's number are its group.
    bits: u32,
    groups: Vec<Vec<T>>,
}

impl<T> Table<T> {
    /// Empty, for so many groups.
    pub fn new(groups: usize) -> Table<T> {
        let bits = groups.next_power_of_two().trailing_zeros();
        Table { bits, groups: (0..groups).map(|_| Vec::new()).collect() }
    }

    /// The number of a connection.
    pub fn id(&self, group: usize, slot: u32) -> ConnectionId {
        assert!(u64::from(slot) < 1 << (32 - self.bits), "more connections of one class are open than numbers hold");
        ConnectionId(slot << self.bits | group as u32)
    }

    /// Makes room for a connection.
    pub fn reach(&mut self, id: ConnectionId, vacant: impl FnMut() -> T) {
        let (group, slot) = self.place(id);
        let slots = &mut self.groups[group];
        if slots.len() <= slot {
            slots.resize_with(slot + 1, vacant);
        }
    }

    /// Puts something into the next slot of a group.
    pub fn push(&mut self, group: usize, held: T) {
        self.groups[group].push(held);
    }

    /// So many slots has a group.
    pub fn slots(&self, group: usize) -> u32 {
        self.groups[group].len() as u32
    }

    /// What is kept for a connection, if there is room for it.
    pub fn get(&self, id: ConnectionId) -> Option<&T> {
        let (group, slot) = self.place(id);
        self.groups[group].get(slot)
    }

    /// The same to be changed.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<&mut T> {
        let (group, slot) = self.place(id);
        self.groups[group].get_mut(slot)
    }

    /// Everything with its connection, group by group.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ConnectionId, &mut T)> {
        let bits = self.bits;
        self.groups.iter_mut().zip(0..).flat_map(move |(slots, group): (_, u32)| {
            slots.iter_mut().zip(0..).map(move |(held, slot): (_, u32)| (ConnectionId(slot << bits | group), held))
        })
    }

    /// A connection's group and slot.
    #[inline]
    pub fn place(&self, id: ConnectionId) -> (usize, usize) {
        ((id.0 & ((1 << self.bits) - 1)) as usize, (id.0 >> self.bits) as usize)
    }
}

impl<T> Index<ConnectionId> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: ConnectionId) -> &T {
        let (group, slot) = self.place(id);
        &self.groups[group][slot]
    }
}

impl<T> IndexMut<ConnectionId> for Table<T> {
    #[inline]
    fn index_mut(&mut self, id: ConnectionId) -> &mut T {
        let (group, slot) = self.place(id);
        &mut self.groups[group][slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_counts_for_itself() {
        for groups in [1, 2, 3, 8, 9] {
            let mut table = Table::new(groups);
            for slot in 0..5 {
                for group in (0..groups).filter(|group| (*group as u32) < 5 - slot) {
                    assert_eq!(table.slots(group), slot);
                    let id = table.id(group, slot);
                    table.push(group, (group, slot));
                    assert_eq!((table[id], table.place(id)), ((group, slot), (group, slot as usize)));
                }
            }
            let all: Vec<_> = table.iter_mut().map(|(id, held)| (id, *held)).collect();
            assert!(all.iter().all(|&(id, (group, slot))| id == table.id(group, slot)));
            assert_eq!(all.len() as u32, (0..groups as u32).map(|group| 5u32.saturating_sub(group)).sum::<u32>());
        }
    }
}
