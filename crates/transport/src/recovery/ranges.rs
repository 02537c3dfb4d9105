//! Sets of bytes as sorted, disjoint ranges.

use std::collections::VecDeque;

/// Sorted, disjoint, non-touching ranges `[start, end)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ranges {
    ranges: VecDeque<(u64, u64)>,
    /// The total length of all ranges.
    bytes: u64,
}

impl Ranges {
    /// Adds a range, merging it with ranges that it touches; returns the merged range.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> (u64, u64) {
        // Usually it continues the last one, or is behind it.
        match self.ranges.back_mut() {
            Some(last) if last.1 == start => {
                last.1 = end;
                self.bytes += end - start;
                return *last;
            }
            Some(last) if last.1 > start => {}
            _ => {
                self.ranges.push_back((start, end));
                self.bytes += end - start;
                return (start, end);
            }
        }
        let first = self.ranges.partition_point(|range| range.1 < start);
        let after = self.ranges.partition_point(|range| range.0 <= end);
        if first == after {
            self.ranges.insert(first, (start, end));
            self.bytes += end - start;
            return (start, end);
        }
        let merged = (start.min(self.ranges[first].0), end.max(self.ranges[after - 1].1));
        let before: u64 = self.ranges.range(first..after).map(|range| range.1 - range.0).sum();
        self.bytes += merged.1 - merged.0 - before;
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..after);
        merged
    }
    /// Removes everything below `floor`.
    pub(crate) fn remove_below(&mut self, floor: u64) {
        while let Some(first) = self.ranges.front_mut()
            && first.0 < floor
        {
            self.bytes -= first.1.min(floor) - first.0;
            if first.1 > floor {
                first.0 = floor;
                return;
            }
            self.ranges.pop_front();
        }
    }
    /// Returns the range that contains `position`.
    pub(crate) fn find(&self, position: u64) -> Option<(u64, u64)> {
        // Usually it is in the first one, or behind all.
        let range = match (self.ranges.front(), self.ranges.back()) {
            (Some(first), _) if first.1 > position => Some(first),
            (_, Some(last)) if last.1 > position => {
                self.ranges.get(self.ranges.partition_point(|range| range.1 <= position))
            }
            _ => None,
        };
        range.copied().filter(|range| range.0 <= position)
    }
    /// Returns the start of the first range that starts after `position`.
    pub(crate) fn next_start(&self, position: u64) -> Option<u64> {
        let i = self.ranges.partition_point(|range| range.0 <= position);
        self.ranges.get(i).map(|range| range.0)
    }
    /// Returns the number of bytes in all ranges.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Returns the number of bytes in ranges below `limit`.
    pub(crate) fn bytes_below(&self, limit: u64) -> u64 {
        let above: u64 =
            self.latest().take_while(|range| range.1 > limit).map(|range| range.1 - range.0.max(limit)).sum();
        self.bytes - above
    }
    /// Returns the ranges, the highest first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().rev().copied()
    }
    /// Returns true if there is no range.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_ranges_merge() {
        let mut ranges = Ranges::default();
        ranges.insert(10, 20);
        ranges.insert(30, 40);
        assert_eq!(ranges.insert(20, 30), (10, 40));
        assert_eq!(ranges.latest().collect::<Vec<_>>(), [(10, 40)]);
        ranges.insert(50, 60);
        ranges.remove_below(35);
        assert_eq!(ranges.latest().collect::<Vec<_>>(), [(50, 60), (35, 40)]);
        assert_eq!(ranges.find(39), Some((35, 40)));
        assert_eq!(ranges.find(40), None);
        assert_eq!(ranges.next_start(35), Some(50));
        assert_eq!((ranges.bytes(), ranges.bytes_below(55)), (15, 10));
    }

    #[test]
    fn the_count_of_bytes_stays_right() {
        let mut ranges = Ranges::default();
        let mut bits = 7u64;
        for step in 0..2000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let start = step + (bits >> 33) % 200;
            ranges.insert(start, start + 1 + (bits >> 50) % 9);
            if step % 5 == 0 {
                ranges.remove_below(step);
            }
            assert_eq!(ranges.bytes(), ranges.latest().map(|range| range.1 - range.0).sum::<u64>());
        }
    }
}
