//! Rows of messages, in blocks that are removed as a whole.

use units::MessageId;

/// Default number of rows of a block: 10 MB of them, and few blocks for a table of 10^8 rows.
pub const BLOCK: usize = 1 << 16;

/// One row for each message, by its id; a block has the rows of consecutive ids.
pub(crate) struct Rows<T> {
    /// A block has two to this power rows.
    shift: u32,
    /// Blocks that were taken are empty.
    blocks: Vec<Vec<T>>,
}

impl<T> Rows<T> {
    /// Returns an empty table with `each` rows in a block, a power of two.
    pub(crate) fn new(each: usize) -> Rows<T> {
        assert!(each.is_power_of_two(), "a row is found by a shift");
        Rows { shift: each.trailing_zeros(), blocks: Vec::new() }
    }

    /// Returns the block of a row.
    pub(crate) fn block_of(&self, row: MessageId) -> usize {
        row.index() >> self.shift
    }

    /// Returns the position of a row in its block.
    fn place_of(&self, row: MessageId) -> usize {
        row.index() & (self.each() - 1)
    }

    /// Adds a row; returns its id.
    pub(crate) fn push(&mut self, row: T) -> MessageId {
        if self.blocks.last().is_none_or(|last| last.len() == self.each()) {
            self.blocks.push(Vec::new());
        }
        let number = self.blocks.len() - 1;
        let last = &mut self.blocks[number];
        last.push(row);
        MessageId::from_index((number << self.shift) + last.len() - 1)
    }

    /// Returns a row, if it was written and is still here.
    pub(crate) fn find(&self, row: MessageId) -> Option<&T> {
        self.blocks.get(self.block_of(row))?.get(self.place_of(row))
    }

    /// Returns a row that must be here.
    pub(crate) fn at(&mut self, row: MessageId) -> &mut T {
        let (block, place) = (self.block_of(row), self.place_of(row));
        &mut self.blocks[block][place]
    }

    /// Returns all blocks that are here, with their indices.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, &[T])> {
        self.blocks.iter().enumerate().filter(|(_, rows)| !rows.is_empty()).map(|(block, rows)| (block, &rows[..]))
    }

    /// Returns all rows that are here, with their ids.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (MessageId, &T)> {
        self.blocks().flat_map(move |(block, rows)| {
            rows.iter().zip(block << self.shift..).map(|(row, number)| (MessageId::from_index(number), row))
        })
    }

    /// Returns the number of rows written.
    pub(crate) fn written(&self) -> usize {
        self.blocks.last().map_or(0, |last| ((self.blocks.len() - 1) << self.shift) + last.len())
    }

    /// Returns the number of rows of a block.
    pub(crate) fn each(&self) -> usize {
        1 << self.shift
    }

    /// Returns the number of rows in memory.
    pub(crate) fn held(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Returns the number of blocks that are or were full.
    pub(crate) fn full(&self) -> usize {
        self.blocks.len().saturating_sub(1)
    }

    /// Returns the id of a block's first row.
    pub(crate) fn first(&self, block: usize) -> MessageId {
        MessageId::from_index(block << self.shift)
    }

    /// Removes and returns a block's rows.
    pub(crate) fn take(&mut self, block: usize) -> Vec<T> {
        self.blocks.get_mut(block).map(std::mem::take).unwrap_or_default()
    }
}

impl<T: Clone + Default> Rows<T> {
    /// Returns a row, and writes the default up to it if there is none.
    pub(crate) fn reach(&mut self, row: MessageId) -> &mut T {
        let (block, place) = (self.block_of(row), self.place_of(row));
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, Vec::new);
        }
        let rows = &mut self.blocks[block];
        if rows.len() <= place {
            rows.resize(place + 1, T::default());
        }
        &mut rows[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_its_number_when_others_leave() {
        let mut rows = Rows::new(4);
        let numbers: Vec<u32> = (0..10).map(|value| rows.push(100 + value).0).collect();
        assert_eq!(numbers, Vec::from_iter(0..10));
        assert_eq!((rows.held(), rows.full()), (10, 2));
        assert_eq!((rows.first(1), rows.take(1)), (MessageId(4), vec![104, 105, 106, 107]));
        assert_eq!(
            (rows.find(MessageId(3)), rows.find(MessageId(5)), rows.find(MessageId(8))),
            (Some(&103), None, Some(&108))
        );
        assert_eq!(rows.push(110), MessageId(10));
        *rows.at(MessageId(9)) += 1;
        let here: Vec<(u32, u32)> = rows.entries().map(|(number, row)| (number.0, *row)).collect();
        assert_eq!(here, [(0, 100), (1, 101), (2, 102), (3, 103), (8, 108), (9, 110), (10, 110)]);
        assert_eq!((rows.held(), rows.full(), rows.block_of(MessageId(8))), (7, 2, 2));
    }

    #[test]
    fn rows_may_be_written_in_any_order() {
        let mut rows: Rows<u32> = Rows::new(2);
        *rows.reach(MessageId(5)) += 7;
        *rows.reach(MessageId(2)) += 3;
        assert_eq!(rows.take(2), [0, 7]);
        assert_eq!(rows.take(1), [3]);
        assert_eq!(rows.take(9), Vec::<u32>::new());
        assert_eq!(rows.find(MessageId(0)), None);
    }
}
