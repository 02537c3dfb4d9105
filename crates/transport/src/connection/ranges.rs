//! Sets of bytes as sorted, disjoint ranges.

/// Sorted, disjoint, non-touching ranges `[start, end)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds a range, merging what it touches; gives the merged range.
    pub fn insert(&mut self, start: u64, end: u64) -> (u64, u64) {
        let first = self.0.partition_point(|range| range.1 < start);
        let after = self.0.partition_point(|range| range.0 <= end);
        if first == after {
            self.0.insert(first, (start, end));
            return (start, end);
        }
        let merged = (start.min(self.0[first].0), end.max(self.0[after - 1].1));
        self.0[first] = merged;
        self.0.drain(first + 1..after);
        merged
    }
    /// Forgets everything below `floor`.
    pub fn remove_below(&mut self, floor: u64) {
        let gone = self.0.partition_point(|range| range.1 <= floor);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(floor);
        }
    }
    /// The range that holds `position`.
    pub fn find(&self, position: u64) -> Option<(u64, u64)> {
        let i = self.0.partition_point(|range| range.1 <= position);
        self.0.get(i).copied().filter(|range| range.0 <= position)
    }
    /// Bytes in ranges below `limit`.
    pub fn bytes_below(&self, limit: u64) -> u64 {
        self.0.iter().map(|range| range.1.min(limit).saturating_sub(range.0)).sum()
    }
    /// The ranges in order.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
        assert_eq!(ranges.as_slice(), [(10, 40)]);
        ranges.insert(50, 60);
        ranges.remove_below(35);
        assert_eq!(ranges.as_slice(), [(35, 40), (50, 60)]);
        assert_eq!(ranges.find(39), Some((35, 40)));
        assert_eq!(ranges.find(40), None);
        assert_eq!(ranges.bytes_below(55), 10);
    }
}
