//! The times at which segments in flight are late, in order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{ConnectionId, Instant};

/// The time at which a segment is late, its number among the host's expected segments, and its connection.
pub(super) type Late = (Instant, u64, ConnectionId);

/// A queue of times, the earliest first. Most are recorded in their order, as patience rarely changes.
#[derive(Debug, Default)]
pub(super) struct LateTimes {
    in_order: VecDeque<Late>,
    others: BinaryHeap<Reverse<Late>>,
}

impl LateTimes {
    /// Records the time at which a segment is late.
    pub(super) fn push(&mut self, late: Late) {
        if self.in_order.back().is_none_or(|last| *last < late) {
            self.in_order.push_back(late);
        } else {
            self.others.push(Reverse(late));
        }
    }

    /// Returns the earliest time.
    pub(super) fn first(&self) -> Option<Late> {
        let other = self.others.peek().map(|Reverse(late)| *late);
        match (self.in_order.front(), other) {
            (Some(first), Some(other)) => Some(other.min(*first)),
            (first, other) => first.copied().or(other),
        }
    }

    /// Removes the earliest time.
    pub(super) fn pop(&mut self) {
        let first = self.first();
        if self.in_order.front().copied() == first {
            self.in_order.pop_front();
        } else {
            self.others.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_first_however_they_were_recorded() {
        let mut times = LateTimes::default();
        let late = |time, number| (Instant(time), number, ConnectionId(0));
        let recorded = [(5, 0), (7, 1), (3, 0), (7, 0), (9, 0), (8, 2), (4, 4)];
        recorded.iter().for_each(|&(time, id)| times.push(late(time, id)));
        let taken: Vec<Late> = std::iter::from_fn(|| times.first().inspect(|_| times.pop())).collect();
        let mut expected = recorded.map(|(time, id)| late(time, id));
        expected.sort_unstable();
        assert_eq!(taken, expected);
        assert_eq!(times.first(), None);
    }
}
