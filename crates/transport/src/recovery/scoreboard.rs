//! The data that the receiver has SACKed beyond the cumulative acknowledgement (RFC 6675), and the retransmitted data.

use std::collections::{BTreeMap, VecDeque};

use super::ranges::Ranges;

/// The SACK scoreboard. An acknowledgement costs a few look-ups, for any number of holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: Ranges,
    /// The position below which all data without a SACK has been retransmitted in this recovery (HighRxt).
    swept: u64,
    /// Retransmitted segments that have neither arrived nor been lost again, by their start.
    resent: BTreeMap<u64, Resent>,
    /// The starts of these in the order of sending, each with the highest position sent then.
    order: VecDeque<(u64, u64)>,
    /// The number of bytes of these.
    resent_bytes: u64,
    /// Ranges whose retransmission was lost.
    lost_again: VecDeque<(u64, u64)>,
    /// RescueRxt: no rescue retransmission until more than this is acknowledged. None until this recovery's first
    /// retransmission.
    rescue: Option<u64>,
}

/// A segment that was retransmitted when `highest` was the highest position sent.
#[derive(Clone, Copy, Debug)]
struct Resent {
    end: u64,
    highest: u64,
}

/// The parameters of the scoreboard's rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Number of duplicate ACKs that counts as a loss.
    pub threshold: u64,
}

impl Scoreboard {
    /// Adds a block; returns true when it contains something new.
    pub(crate) fn add(&mut self, block: (u64, u64), una: u64) -> bool {
        let (start, end) = (block.0.max(una), block.1);
        if start >= end || self.sacked.find(start).is_some_and(|range| range.1 >= end) {
            return false;
        }
        let (start, end) = self.sacked.insert(start, end);
        self.forget_arrived(start, end);
        true
    }
    /// Handles a cumulative acknowledgement up to `una`.
    pub(crate) fn advance(&mut self, una: u64) {
        self.sacked.remove_below(una);
        self.forget_arrived(0, una);
    }
    /// Begins a recovery, in which nothing has been retransmitted.
    pub(crate) fn begin(&mut self, una: u64) {
        self.swept = una;
        self.resent.clear();
        self.order.clear();
        self.resent_bytes = 0;
        self.lost_again.clear();
        self.rescue = None;
    }
    /// Returns true if nothing is SACKed.
    pub(crate) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }
    /// Returns the number of bytes SACKed.
    pub(crate) fn bytes(&self) -> u64 {
        self.sacked.bytes()
    }
    /// Returns the number of bytes SACKed below `limit`.
    pub(crate) fn bytes_below(&self, limit: u64) -> u64 {
        self.sacked.bytes_below(limit)
    }
    /// Returns the first position from `position` on that is not SACKed.
    pub(crate) fn skip(&self, position: u64) -> u64 {
        self.sacked.find(position).map_or(position, |range| range.1)
    }
    /// Returns the start of the next SACKed range after `position`.
    pub(crate) fn next_sacked(&self, position: u64) -> u64 {
        self.sacked.next_start(position).unwrap_or(u64::MAX)
    }
    /// Returns the position below which everything that is not SACKed counts as lost: `threshold` separate ranges, or
    /// more than `threshold - 1` segments, are SACKed above it (RFC 6675 4, IsLost).
    pub(crate) fn lost_below(&self, rules: Rules) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        for (start, end) in self.sacked.latest() {
            ranges += 1;
            bytes += end - start;
            if ranges >= rules.threshold || bytes > (rules.threshold - 1) * rules.mss {
                return start;
            }
        }
        0
    }
    /// Returns the estimate of the bytes in the network (RFC 6675 4, SetPipe).
    pub(crate) fn pipe(&self, una: u64, highest: u64, rules: Rules) -> u64 {
        let lost_below = self.lost_below(rules).max(una);
        let lost = lost_below - una - self.sacked.bytes_below(lost_below);
        highest - una - self.sacked.bytes() - lost + self.resent_bytes
    }
    /// Returns the first lost data that is not in flight again (RFC 6675 4, NextSeg, rule 1): its start and a position
    /// that it must not pass.
    pub(crate) fn next_lost(&mut self, una: u64, rules: Rules) -> Option<(u64, u64)> {
        while let Some((start, end)) = self.lost_again.pop_front() {
            let start = self.skip(start.max(una));
            if start < end {
                return Some((start, end.min(self.next_sacked(start))));
            }
        }
        let start = self.skip(self.swept.max(una));
        (start < self.lost_below(rules)).then(|| (start, self.next_sacked(start)))
    }
    /// Returns the bytes between `from` and `to` that are lost and not in flight again.
    pub(crate) fn to_repair(&self, from: u64, to: u64, rules: Rules) -> u64 {
        let to = to.min(self.lost_below(rules)).max(from);
        let sacked = self.sacked.bytes_below(to) - self.sacked.bytes_below(from);
        let resent: u64 = self.resent.range(from..to).map(|(start, segment)| segment.end - start).sum();
        (to - from - sacked).saturating_sub(resent)
    }
    /// As [`next_lost`](Scoreboard::next_lost), for data below the highest SACKed byte that may be lost (NextSeg, rule
    /// 3).
    pub(crate) fn next_doubtful(&self, una: u64) -> Option<(u64, u64)> {
        let start = self.skip(self.swept.max(una));
        let limit = self.next_sacked(start);
        (limit != u64::MAX).then_some((start, limit))
    }
    /// Returns the segment with the highest position that is not SACKed (NextSeg, rule 4). More than the first
    /// retransmission must have been acknowledged (RFC 6675 5, step 4.3), and no rescue been sent since everything
    /// before `una` was.
    pub(crate) fn next_rescue(&self, una: u64, highest: u64, rules: Rules) -> Option<(u64, u64)> {
        if self.rescue.is_none_or(|rescue| una <= rescue) {
            return None;
        }
        let (mut floor, mut end) = (una, highest);
        for range in self.sacked.latest() {
            if range.1 < end {
                floor = range.1;
                break;
            }
            end = range.0;
        }
        Some((floor.max(end.saturating_sub(rules.mss)), end))
    }
    /// Records a rescue retransmission. Another may follow once everything before `recovery_point` is acknowledged.
    /// HighRxt and the pipe stay as they are.
    pub(crate) fn rescued(&mut self, recovery_point: u64) {
        self.rescue = Some(recovery_point);
    }
    /// Records that a segment was retransmitted.
    pub(crate) fn sent_again(&mut self, start: u64, end: u64, highest: u64) {
        self.rescue.get_or_insert(end);
        self.swept = self.swept.max(end);
        self.resent_bytes += end - start;
        if let Some(before) = self.resent.insert(start, Resent { end, highest }) {
            self.resent_bytes -= before.end - start;
        }
        self.order.push_back((start, highest));
    }
    /// Detects lost retransmissions: enough data sent after them has been SACKed. Returns the highest position that had
    /// been sent at the last of them.
    pub(crate) fn find_lost_again(&mut self, rules: Rules) -> Option<u64> {
        let (_, highest_sacked) = self.sacked.latest().next()?;
        let mut last = None;
        while let Some(&(start, highest)) = self.order.front()
            && highest_sacked > highest + (rules.threshold - 1) * rules.mss
        {
            self.order.pop_front();
            if let Some(segment) = self.resent.get(&start).copied()
                && segment.highest == highest
            {
                self.forget(start, segment);
                self.lost_again.push_back((start, segment.end));
                last = Some(highest);
            }
        }
        last
    }

    /// Forgets the retransmissions between the two positions, which have arrived.
    fn forget_arrived(&mut self, from: u64, to: u64) {
        while let Some((&start, &segment)) = self.resent.range(from..to).next()
            && segment.end <= to
        {
            self.forget(start, segment);
        }
    }

    fn forget(&mut self, start: u64, segment: Resent) {
        self.resent.remove(&start);
        self.resent_bytes -= segment.end - start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { mss: 1000, threshold: 3 };

    #[test]
    fn a_hole_is_lost_once_enough_lies_above_it() {
        let mut board = Scoreboard::default();
        board.begin(0);
        assert!(board.add((1000, 2000), 0));
        assert!(board.add((2000, 3000), 0));
        assert_eq!(board.next_lost(0, RULES), None);
        assert_eq!(board.pipe(0, 5000, RULES), 1000 + 2000);
        assert!(board.add((3000, 4000), 0));
        assert_eq!(board.lost_below(RULES), 1000);
        assert_eq!(board.pipe(0, 5000, RULES), 1000);
        assert_eq!(board.next_lost(0, RULES), Some((0, 1000)));
        board.sent_again(0, 1000, 5000);
        assert_eq!(board.pipe(0, 5000, RULES), 2000);
        assert_eq!(board.next_lost(0, RULES), None);
    }

    #[test]
    fn three_separate_ranges_are_enough() {
        let mut board = Scoreboard::default();
        for start in [1000, 3000, 5000] {
            board.add((start, start + 10), 0);
        }
        assert_eq!(board.lost_below(RULES), 1000);
        assert_eq!(board.next_doubtful(1010), Some((1010, 3000)));
    }

    #[test]
    fn what_was_sent_again_and_lost_again_is_found() {
        let mut board = Scoreboard::default();
        board.begin(0);
        board.add((1000, 5000), 0);
        board.sent_again(0, 1000, 5000);
        board.add((5000, 7000), 0);
        assert_eq!(board.find_lost_again(RULES), None);
        board.add((7000, 8000), 0);
        assert_eq!(board.find_lost_again(RULES), Some(5000));
        assert_eq!(board.next_lost(0, RULES), Some((0, 1000)));
        board.sent_again(0, 1000, 8000);
        assert_eq!(board.pipe(0, 8000, RULES), 1000);
        board.advance(8000);
        assert_eq!(board.pipe(8000, 8000, RULES), 0);
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

    /// Returns the scoreboard when data from `first` to 8000 has arrived, and the retransmission of 0 to 1000 is lost too.
    fn lost_again(first: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        board.begin(0);
        board.add((first, 5000), 0);
        board.sent_again(0, 1000, 5000);
        board.add((5000, 8000), 0);
        assert_eq!(board.find_lost_again(RULES), Some(5000));
        board
    }

    #[test]
    fn what_was_lost_again_and_has_arrived_after_all_is_not_sent_again() {
        let mut board = lost_again(2000);
        board.advance(1000);
        assert_eq!(board.next_lost(1000, RULES), Some((1000, 2000)));
    }

    #[test]
    fn to_be_repaired_is_what_is_lost_and_neither_sacked_nor_on_its_way_again() {
        let mut board = Scoreboard::default();
        board.begin(0);
        for block in [(1000, 2000), (3000, 4000), (6000, 9000)] {
            board.add(block, 0);
        }
        assert_eq!(board.to_repair(2000, 20_000, RULES), 3000);
        board.sent_again(2000, 3000, 9000);
        assert_eq!(board.to_repair(2000, 20_000, RULES), 2000);
    }

    /// Of five segments that have arrived beyond two holes, the second hole's retransmission is one.
    #[test]
    fn retransmission_that_was_sacked_is_not_in_flight_nor_lost_again() {
        let mut board = Scoreboard::default();
        board.begin(0);
        board.add((1000, 2000), 0);
        board.add((3000, 6000), 0);
        board.sent_again(0, 1000, 6000);
        board.sent_again(2000, 3000, 6000);
        assert_eq!(board.pipe(0, 6000, RULES), 2000);
        board.add((2000, 3000), 0);
        assert_eq!(board.pipe(0, 6000, RULES), 1000);
        board.add((6000, 9000), 0);
        assert_eq!(board.find_lost_again(RULES), Some(6000));
        assert_eq!((board.next_lost(0, RULES), board.next_lost(0, RULES)), (Some((0, 1000)), None));
    }

    #[test]
    fn lost_retransmission_of_which_half_has_arrived_is_sent_again_to_that() {
        let mut board = lost_again(1000);
        board.add((500, 1000), 0);
        assert_eq!(board.next_lost(0, RULES), Some((0, 500)));
    }

    /// RFC 6675 4, NextSeg, rule 4: "HighACK is greater than RescueRxt". The last hole is half a segment.
    #[test]
    fn rescue_is_of_the_last_hole_once_more_than_the_first_retransmission_is_acknowledged() {
        let mut board = Scoreboard::default();
        board.begin(0);
        board.add((2000, 4500), 0);
        assert_eq!(board.next_rescue(1000, 5000, RULES), None);
        board.sent_again(0, 1000, 5000);
        assert_eq!(board.next_rescue(1000, 5000, RULES), None);
        assert_eq!(board.next_rescue(1001, 5000, RULES), Some((4500, 5000)));
        board.rescued(5000);
        assert_eq!(board.next_rescue(1001, 5000, RULES), None);
    }
}
