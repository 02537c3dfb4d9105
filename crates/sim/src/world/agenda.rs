//! A queue of items in order of their start.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A priority queue with the least item first. Nearly every item is the greatest so far when it is added, and is kept
/// in a FIFO; the others are kept in a heap.
pub(super) struct Agenda<T> {
    line: VecDeque<T>,
    early: BinaryHeap<Reverse<T>>,
}

impl<T: Ord> Agenda<T> {
    /// Returns an empty queue.
    pub(super) fn new() -> Agenda<T> {
        Agenda { line: VecDeque::new(), early: BinaryHeap::new() }
    }

    /// Adds an item to the queue.
    pub(super) fn push(&mut self, item: T) {
        if self.line.back().is_none_or(|last| *last <= item) {
            self.line.push_back(item);
        } else {
            self.early.push(Reverse(item));
        }
    }

    /// Returns the least item.
    pub(super) fn first(&self) -> Option<&T> {
        if self.comes_early() { self.early.peek().map(|Reverse(first)| first) } else { self.line.front() }
    }

    /// Removes and returns the least item.
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.comes_early() { self.early.pop().map(|Reverse(first)| first) } else { self.line.pop_front() }
    }

    /// Returns all items, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.line.iter().chain(self.early.iter().map(|Reverse(item)| item))
    }

    fn comes_early(&self) -> bool {
        let Some(Reverse(early)) = self.early.peek() else { return false };
        self.line.front().is_none_or(|first| early < first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    #[test]
    fn the_least_comes_first() {
        let mut stream = Stream::new(1, "agenda", 0);
        let (mut agenda, mut sorted) = (Agenda::new(), Vec::new());
        for now in 0..2000_u64 {
            // In order, and now and then before others; some at once.
            for _ in 0..stream.below(4) {
                let item = now / 4 + if stream.below(4) == 0 { stream.below(20) } else { 20 };
                agenda.push(item);
                sorted.push(item);
            }
            sorted.sort_unstable();
            let mut all: Vec<u64> = agenda.iter().copied().collect();
            all.sort_unstable();
            assert_eq!(all, sorted);
            assert_eq!(agenda.first(), sorted.first());
            for _ in 0..stream.below(4) {
                assert_eq!(agenda.pop(), (!sorted.is_empty()).then(|| sorted.remove(0)));
            }
        }
        assert!(!agenda.line.is_empty());
    }
}
