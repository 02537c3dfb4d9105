//! What the receiver has said it holds beyond the cumulative acknowledgement (RFC 6675).

use super::ranges::Ranges;

/// The SACK scoreboard.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sacked: Ranges,
    /// Everything below was retransmitted in this recovery, unless it was SACKed (HighRxt).
    pub high_retransmitted: u64,
}

/// What to send next in a recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// A lost segment that starts here and reaches at most to the second position.
    Lost(u64, u64),
    /// Data that was never sent.
    New,
    /// A segment that may be lost: sent only when there is no new data.
    Maybe(u64, u64),
}

impl Scoreboard {
    /// Takes a block; true when it says something new.
    pub fn add(&mut self, block: (u64, u64), una: u64) -> bool {
        let (start, end) = (block.0.max(una), block.1);
        if start >= end || self.sacked.find(start).is_some_and(|range| range.1 >= end) {
            return false;
        }
        self.sacked.insert(start, end);
        true
    }
    /// The cumulative acknowledgement has reached `una`.
    pub fn advance(&mut self, una: u64) {
        self.sacked.remove_below(una);
    }
    /// Whether anything is SACKed.
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }
    /// Bytes SACKed below `limit`.
    pub fn bytes_below(&self, limit: u64) -> u64 {
        self.sacked.bytes_below(limit)
    }
    /// The first position from `position` on that is not SACKed.
    pub fn skip(&self, position: u64) -> u64 {
        self.sacked.find(position).map_or(position, |range| range.1)
    }
    /// Where the next SACKed range after `position` begins.
    pub fn next_sacked(&self, position: u64) -> u64 {
        self.sacked.as_slice().iter().map(|range| range.0).find(|start| *start > position).unwrap_or(u64::MAX)
    }
    /// Whether the first unacknowledged segment counts as lost.
    pub fn first_is_lost(&self, una: u64, mss: u64, threshold: u64) -> bool {
        self.holes(una, mss, threshold).next().is_some_and(|hole| hole.lost)
    }
    /// RFC 6675 4, SetPipe: bytes that are estimated to be in the network.
    pub fn pipe(&self, una: u64, highest: u64, mss: u64, threshold: u64) -> u64 {
        let mut pipe = highest - self.sacked.as_slice().last().map_or(una, |range| range.1).max(una);
        for hole in self.holes(una, mss, threshold) {
            if !hole.lost {
                pipe += hole.end - hole.start;
            }
            pipe += self.high_retransmitted.clamp(hole.start, hole.end) - hole.start;
        }
        // What lies above the highest SACKed byte and was retransmitted is counted once more.
        pipe
    }
    /// RFC 6675 4, NextSeg.
    pub fn next(&self, una: u64, mss: u64, threshold: u64) -> Next {
        let mut maybe = None;
        for hole in self.holes(una, mss, threshold) {
            let start = hole.start.max(self.high_retransmitted);
            if start >= hole.end {
                continue;
            }
            if hole.lost {
                return Next::Lost(start, hole.end);
            }
            maybe = maybe.or(Some(Next::Maybe(start, hole.end)));
        }
        maybe.unwrap_or(Next::New)
    }

    /// The holes below the highest SACKed byte, in order, each with whether it counts as lost:
    /// `threshold` separate ranges, or more than `threshold - 1` segments, are SACKed above it.
    fn holes(&self, una: u64, mss: u64, threshold: u64) -> impl Iterator<Item = Hole> + '_ {
        let ranges = self.sacked.as_slice();
        let mut bytes_above: u64 = ranges.iter().map(|range| range.1 - range.0).sum();
        let mut start = una;
        ranges.iter().enumerate().filter_map(move |(i, range)| {
            let hole = Hole {
                start,
                end: range.0,
                lost: (ranges.len() - i) as u64 >= threshold || bytes_above > (threshold - 1) * mss,
            };
            bytes_above -= range.1 - range.0;
            start = range.1;
            (hole.start < hole.end).then_some(hole)
        })
    }
}

struct Hole {
    start: u64,
    end: u64,
    lost: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_is_lost_once_enough_lies_above_it() {
        let mut board = Scoreboard::default();
        assert!(board.add((1000, 2000), 0));
        assert!(board.add((2000, 3000), 0));
        assert!(!board.first_is_lost(0, 1000, 3));
        assert_eq!(board.pipe(0, 5000, 1000, 3), 1000 + 2000);
        assert!(board.add((3000, 4000), 0));
        assert!(board.first_is_lost(0, 1000, 3));
        assert_eq!(board.pipe(0, 5000, 1000, 3), 1000);
        assert_eq!(board.next(0, 1000, 3), Next::Lost(0, 1000));
        board.high_retransmitted = 1000;
        assert_eq!(board.pipe(0, 5000, 1000, 3), 2000);
        assert_eq!(board.next(0, 1000, 3), Next::New);
    }

    #[test]
    fn a_repeated_block_says_nothing_new() {
        let mut board = Scoreboard::default();
        assert!(board.add((1000, 2000), 0));
        assert!(!board.add((1000, 2000), 0));
        assert!(!board.add((0, 500), 500));
        assert_eq!(board.skip(1500), 2000);
        assert_eq!(board.next_sacked(0), 1000);
    }
}
