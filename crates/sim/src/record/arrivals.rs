//! The arrivals at receiving hosts, also by pair of hosts.

use hashbrown::HashTable;
use units::{Bytes, HostId, mix64, pair};

/// Arrivals at a receiving end. (Packets and bytes are not adjacent: the compiler would update both at once, in more
/// instructions.)
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Arrivals {
    /// Number of data packets.
    pub packets: u64,
    /// Their waits at the last switch, in units of 1024 ps.
    pub wait: u64,
    /// Wire bytes of these packets.
    pub bytes: Bytes,
    /// Number of marked packets among them.
    pub marks: u32,
}

/// The arrivals of one class, in the order of each pair's first one.
#[derive(Default)]
pub(crate) struct Pairs {
    all: Vec<(Pair, Arrivals)>,
    /// Indices into `all`, by pair. It is only looked up, never iterated.
    index: HashTable<u32>,
}

/// A sender and a receiver.
type Pair = (HostId, HostId);

impl Pairs {
    /// Returns the arrivals at a host from another.
    pub(crate) fn of(&mut self, pair: Pair) -> &mut Arrivals {
        let Pairs { all, index } = self;
        let known = |index: &u32| all[*index as usize].0;
        let next = all.len() as u32;
        let found = index.entry(hash(pair), |index| known(index) == pair, |index| hash(known(index)));
        let found = *found.or_insert(next).get();
        if found == next {
            all.push((pair, Arrivals::default()));
        }
        &mut all[found as usize].1
    }

    /// Takes over the arrivals at other hosts.
    pub(crate) fn append(&mut self, others: &mut Pairs) {
        others.index.clear();
        for (pair, arrivals) in others.all.drain(..) {
            *self.of(pair) = arrivals;
        }
    }

    /// Returns the arrivals, ordered by sender and receiver.
    pub(crate) fn in_order(&self) -> Vec<&Arrivals> {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort_unstable_by_key(|(pair, _)| *pair);
        all.into_iter().map(|(_, arrivals)| arrivals).collect()
    }

    /// Removes all recorded arrivals.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.index.clear();
    }
}

fn hash((from, to): Pair) -> u64 {
    mix64(pair(from.0, to.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks many pairs in any order: means are sums of fractions, which depend on the order.
    #[test]
    fn all_pairs_are_told_apart_and_come_in_order() {
        let (mut own, mut others) = (Pairs::default(), Pairs::default());
        for round in 1..=2 {
            for (from, to) in (0..1600).rev().map(|place| (place / 40, place % 40)) {
                let of_part = if to % 2 == 0 { &mut own } else { &mut others };
                of_part.of((HostId(from), HostId(to))).packets += u64::from(from * 40 + to) * round;
            }
        }
        own.append(&mut others);
        let packets: Vec<u64> = own.in_order().iter().map(|arrivals| arrivals.packets).collect();
        assert_eq!(packets, (0..1600).map(|place| 3 * place).collect::<Vec<_>>());
        assert!(others.in_order().is_empty());
        own.clear();
        assert!(own.in_order().is_empty());
    }
}
