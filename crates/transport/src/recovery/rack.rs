//! RACK-TLP (RFC 8985). A segment is lost when one that was sent later has arrived and its own time is up. A probe
//! elicits an acknowledgement of the tail of a flight that nothing follows.
//!
//! Receivers here send no DSACK, so the window for reordering stays a quarter of the smallest round trip (6.2, step 4,
//! with RACK.reo_wnd_mult = 1), unless `reordering` fixes it. Retransmissions have no time stamp (Karn). So only the smallest round trip
//! distinguishes an ACK of the first transmission from one of the second (step 2).

use std::collections::VecDeque;

use units::{Instant, Span};

/// The unacknowledged segments, with their sending times.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// From the first position that is not acknowledged to the highest that was sent, without gaps. Before them there may
    /// be some that have arrived in order since the last [`catch_up`](Rack::catch_up).
    segments: VecDeque<Segment>,
    /// Everything before this has arrived.
    in_order: u64,
    /// The time of the last arrival that [was in order](Rack::arrives_in_order).
    in_order_at: Instant,
    /// No segment from this position on was sent again, is lost, or has arrived beyond a gap.
    unusual_below: u64,
    /// Of the arrived segments the one that was sent last: its time, and its end (RACK.xmit_ts, RACK.end_seq).
    latest: Option<(Instant, u64)>,
    /// Last round-trip time of a segment and its ACK (RACK.rtt).
    rtt: Span,
    /// The highest position that has arrived (RACK.fack).
    highest_arrived: u64,
    /// A segment has arrived after one that was sent later.
    reordering_seen: bool,
    /// Bytes that are lost and were not retransmitted.
    lost_bytes: u64,
    /// Nothing below this is lost.
    lost_from: u64,
    /// The time at which the window was last cut for a loss.
    pub cut_at: Instant,
    /// The time at which overtaken segments will be lost.
    pub reorder_at: Instant,
    /// The time at which a probe is to be sent.
    pub probe_at: Instant,
    /// The probe in flight: the highest position sent then (TLP.end_seq), and true if it was a retransmission
    /// (TLP.is_retrans).
    probe: Option<(u64, bool)>,
    /// New data was sent since a probe was last scheduled.
    pub sent_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    start: u64,
    end: u64,
    /// The time at which it was last sent.
    sent_at: Instant,
    /// It was sent more than once.
    again: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Flying,
    Arrived,
    Lost,
}

/// The values that the rules depend on, beside the sent segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// The present simulated time.
    pub now: Instant,
    /// The smallest RTT sample.
    pub smallest_rtt: Span,
    /// The smoothed round-trip time.
    pub srtt: Span,
    /// A loss is being repaired.
    pub repairing: bool,
    /// Number of SACKed segments that counts as a loss while no reordering was seen (DupThresh).
    pub threshold: usize,
    /// The window for reordering, if it is fixed.
    pub reordering: Option<Span>,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            segments: VecDeque::new(),
            in_order: 0,
            in_order_at: Instant::ZERO,
            unusual_below: 0,
            latest: None,
            rtt: Span::ZERO,
            highest_arrived: 0,
            reordering_seen: false,
            lost_bytes: 0,
            lost_from: 0,
            cut_at: Instant::ZERO,
            reorder_at: Instant::MAX,
            probe_at: Instant::MAX,
            probe: None,
            sent_new: false,
        }
    }
}

impl Rack {
    /// Records that everything before `una` has arrived, and nothing beyond it. Returns false if that does not suffice,
    /// because of an earlier loss or gap.
    #[inline(always)]
    pub(super) fn arrives_in_order(&mut self, now: Instant, una: u64) -> bool {
        let suffices = self.in_order >= self.unusual_below;
        if suffices {
            debug_assert!(self.lost_bytes == 0);
            (self.in_order, self.in_order_at) = (una, now);
            self.reorder_at = Instant::MAX;
        }
        suffices
    }

    /// Removes the segments that have arrived in order. Of these the last alone matters: it was sent last.
    fn catch_up(&mut self) {
        let mut sent_at = None;
        while let Some(first) = self.segments.front_mut()
            && first.start < self.in_order
        {
            sent_at = Some(first.sent_at);
            if first.end > self.in_order {
                first.start = self.in_order;
                break;
            }
            self.segments.pop_front();
        }
        if let Some(sent_at) = sent_at {
            self.highest_arrived = self.in_order;
            self.rtt = self.in_order_at - sent_at;
            self.latest = self.latest.max(Some((sent_at, self.in_order)));
        }
    }

    /// Makes room for another segment: for as many as there are, if most of them are in flight.
    #[inline(never)]
    fn make_room(&mut self) {
        self.catch_up();
        if self.segments.len() > self.segments.capacity() / 2 {
            self.segments.reserve(self.segments.len());
        }
    }

    /// Records that the bytes from `start` to `end` are sent now.
    #[inline]
    pub(super) fn sent(&mut self, now: Instant, start: u64, end: u64) {
        if self.segments.back().is_none_or(|last| last.end <= start) {
            if self.segments.len() == self.segments.capacity() {
                self.make_room();
            }
            self.segments.push_back(Segment { start, end, sent_at: now, again: false, state: State::Flying });
            self.sent_new = true;
            return;
        }
        self.send_again(now, start, end);
    }

    #[inline(never)]
    fn send_again(&mut self, now: Instant, start: u64, end: u64) {
        self.catch_up();
        self.unusual_below = self.unusual_below.max(end);
        self.split(start);
        self.split(end);
        let first = self.segments.partition_point(|segment| segment.end <= start);
        for segment in self.segments.range_mut(first..).take_while(|segment| segment.end <= end) {
            if segment.state == State::Lost {
                self.lost_bytes -= segment.end - segment.start;
            }
            if segment.state != State::Arrived {
                *segment = Segment { sent_at: now, again: true, state: State::Flying, ..*segment };
            }
        }
    }

    fn split(&mut self, position: u64) {
        let at = self.segments.partition_point(|segment| segment.end <= position);
        if let Some(segment) = self.segments.get_mut(at).filter(|segment| segment.start < position) {
            let behind = Segment { start: position, ..*segment };
            segment.end = position;
            self.segments.insert(at + 1, behind);
        }
    }

    /// Records that everything before `una` and the blocks have arrived (RFC 8985 6.2, steps 1 to 3).
    pub(super) fn arrived(&mut self, around: &Surroundings, una: u64, blocks: &[(u64, u64)]) {
        self.catch_up();
        self.in_order = una;
        while let Some(first) = self.segments.front_mut()
            && first.start < una
        {
            let part = Segment { end: first.end.min(una), ..*first };
            if first.end > una {
                first.start = una;
            } else {
                self.segments.pop_front();
            }
            self.take(around, part);
        }
        // In the order of positions, or two ranges of one ACK would look like reordering.
        let mut sorted = [(0, 0); 3];
        let sorted = &mut sorted[..blocks.len().min(3)];
        sorted.copy_from_slice(&blocks[..sorted.len()]);
        sorted.sort_unstable();
        for &mut (start, end) in sorted {
            self.unusual_below = self.unusual_below.max(end);
            let mut at = self.segments.partition_point(|segment| segment.start < start);
            while let Some(segment) = self.segments.get_mut(at).filter(|segment| segment.end <= end) {
                let before = *segment;
                segment.state = State::Arrived;
                self.take(around, before);
                at += 1;
            }
        }
    }

    fn take(&mut self, around: &Surroundings, segment: Segment) {
        match segment.state {
            State::Arrived => return,
            State::Lost => self.lost_bytes -= segment.end - segment.start,
            State::Flying => {}
        }
        if segment.end > self.highest_arrived {
            self.highest_arrived = segment.end;
        } else if segment.end < self.highest_arrived && !segment.again {
            self.reordering_seen = true;
        }
        let rtt = around.now - segment.sent_at;
        if segment.again && rtt < around.smallest_rtt {
            return;
        }
        self.rtt = rtt;
        self.latest = self.latest.max(Some((segment.sent_at, segment.end)));
    }

    /// Marks segments sent before the latest arrived one as lost when their time is up (steps 4 and 5). The next such
    /// time is in [`reorder_at`](Rack::reorder_at). Returns the last sending time of the lost retransmissions.
    pub(super) fn find_lost(&mut self, around: &Surroundings) -> Option<Instant> {
        self.catch_up();
        self.reorder_at = Instant::MAX;
        let latest = self.latest?;
        let mut lost_again = None;
        let mut next = None;
        let patience = self.rtt + self.reordering_window(around);
        for segment in self.segments.iter_mut().filter(|segment| segment.state == State::Flying) {
            if (segment.sent_at, segment.end) >= latest {
                if !segment.again {
                    // All behind it were sent later still.
                    break;
                }
                continue;
            }
            let due = segment.sent_at + patience;
            if due > around.now {
                next = next.max(Some(due));
                continue;
            }
            segment.state = State::Lost;
            self.lost_bytes += segment.end - segment.start;
            self.lost_from = self.lost_from.min(segment.start);
            self.unusual_below = self.unusual_below.max(segment.end);
            lost_again = lost_again.max(segment.again.then_some(segment.sent_at));
        }
        self.reorder_at = next.unwrap_or(Instant::MAX);
        lost_again
    }

    /// Marks the segment at `seq` as lost: its packet was trimmed, a retransmission if `again`. Returns its sending time
    /// if it was one.
    pub(super) fn trimmed(&mut self, seq: u64, again: bool) -> Option<Instant> {
        self.catch_up();
        let at = self.segments.partition_point(|segment| segment.end <= seq);
        let segment = self.segments.get_mut(at)?;
        // Another copy of it may be in flight.
        if segment.start > seq || segment.state != State::Flying || segment.again != again {
            return None;
        }
        segment.state = State::Lost;
        self.lost_bytes += segment.end - segment.start;
        self.lost_from = self.lost_from.min(segment.start);
        self.unusual_below = self.unusual_below.max(segment.end);
        again.then_some(segment.sent_at)
    }

    /// Returns the time by which a segment may arrive after its successor (step 4).
    fn reordering_window(&self, around: &Surroundings) -> Span {
        if let Some(fixed) = around.reordering {
            return fixed;
        }
        let sacked = || self.segments.iter().filter(|segment| segment.state == State::Arrived).count();
        if !self.reordering_seen && (around.repairing || sacked() >= around.threshold) {
            return Span::ZERO;
        }
        (around.smallest_rtt / 4).min(around.srtt)
    }

    /// Marks losses at a timeout: the first segment, and each whose time is up (RFC 8985 6.3).
    pub(super) fn time_out(&mut self, around: &Surroundings) {
        self.catch_up();
        let patience = self.rtt + self.reordering_window(around);
        for (i, segment) in self.segments.iter_mut().enumerate() {
            if segment.state == State::Flying && (i == 0 || segment.sent_at + patience <= around.now) {
                segment.state = State::Lost;
                self.lost_bytes += segment.end - segment.start;
                self.lost_from = self.lost_from.min(segment.start);
                self.unusual_below = self.unusual_below.max(segment.end);
            }
        }
        (self.reorder_at, self.probe_at, self.probe) = (Instant::MAX, Instant::MAX, None);
    }

    /// Returns the number of bytes that are lost and were not retransmitted.
    pub(super) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Returns the first of them: its start, and a position that it must not pass.
    pub(super) fn next_lost(&mut self) -> Option<(u64, u64)> {
        if self.lost_bytes == 0 {
            self.lost_from = u64::MAX;
            return None;
        }
        let from = self.segments.partition_point(|segment| segment.end <= self.lost_from);
        let mut waiting = self.segments.range(from..).skip_while(|segment| segment.state != State::Lost);
        let first = waiting.next()?;
        self.lost_from = first.start;
        Some((first.start, waiting.take_while(|segment| segment.state == State::Lost).last().unwrap_or(first).end))
    }

    /// Returns true if a probe is in flight.
    #[inline]
    pub(super) fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// Records that a probe was sent when `highest` was the highest position sent; `again` if it is a retransmission.
    pub(super) fn probed(&mut self, highest: u64, again: bool) {
        self.probe = Some((highest, again));
        self.sent_new = false;
    }

    /// Processes an ACK of everything before `seq` (RFC 8985 7.4), with SACK blocks if `has_blocks`. Returns true when
    /// it shows that the probe has repaired a loss, for which the window is to be cut.
    pub(super) fn answer_to_probe(&mut self, seq: u64, duplicate: bool, has_blocks: bool) -> bool {
        let Some((end, again)) = self.probe else { return false };
        if seq < end {
            return false;
        }
        let repaired = again && seq > end;
        if !again || repaired || duplicate && !has_blocks {
            self.probe = None;
        }
        repaired
    }

    /// Returns the segment with the highest position.
    pub(super) fn last(&self) -> Option<(u64, u64)> {
        let last = self.segments.back().filter(|segment| segment.end > self.in_order)?;
        Some((last.start.max(self.in_order), last.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    fn around(now: u64) -> Surroundings {
        let smallest_rtt = Span::from_micros(100);
        Surroundings {
            now: Instant::from_micros(now),
            smallest_rtt,
            srtt: smallest_rtt,
            repairing: false,
            threshold: 3,
            reordering: None,
        }
    }

    #[test]
    fn what_is_sent_again_in_other_pieces_is_counted_once() {
        let mut rack = Rack::default();
        (0..4).for_each(|i| rack.sent(Instant::ZERO, i * 1000, i * 1000 + 1000));
        rack.arrived(&around(100), 0, &[(3000, 4000)]);
        rack.find_lost(&around(200));
        assert_eq!((rack.lost_bytes(), rack.next_lost()), (3000, Some((0, 3000))));
        rack.sent(Instant::from_micros(200), 500, 1500);
        assert_eq!((rack.lost_bytes(), rack.next_lost()), (2000, Some((0, 500))));
        rack.sent(Instant::from_micros(200), 0, 500);
        assert_eq!((rack.lost_bytes(), rack.next_lost()), (1500, Some((1500, 3000))));
        // A part of the lost data arrives after all.
        rack.arrived(&around(210), 2500, &[]);
        assert_eq!((rack.lost_bytes(), rack.next_lost()), (500, Some((2500, 3000))));
        rack.arrived(&around(220), 4000, &[]);
        assert_eq!((rack.lost_bytes(), rack.next_lost(), rack.last()), (0, None, None));
    }

    #[test]
    fn what_is_sent_again_as_it_was_leaves_nothing_between() {
        let mut rack = Rack::default();
        (0..4).for_each(|i| rack.sent(Instant::ZERO, i * 1000, i * 1000 + 1000));
        rack.arrived(&around(100), 0, &[(3000, 4000)]);
        rack.find_lost(&around(200));
        rack.next_lost();
        rack.sent(Instant::from_micros(200), 1000, 2000);
        rack.sent(Instant::from_micros(200), 0, 1000);
        assert_eq!((rack.segments.len(), rack.lost_bytes(), rack.next_lost()), (4, 1000, Some((2000, 3000))));
    }

    #[test]
    fn a_trimmed_segment_is_lost_at_once_and_its_copy_is_not() {
        let mut rack = Rack::default();
        (0..4).for_each(|i| rack.sent(Instant::ZERO, i * 1000, i * 1000 + 1000));
        assert_eq!((rack.trimmed(2000, false), rack.lost_bytes(), rack.next_lost()), (None, 1000, Some((2000, 3000))));
        // Told twice, or about a copy that was never sent: nothing new.
        assert_eq!((rack.trimmed(2000, false), rack.trimmed(1000, true), rack.lost_bytes()), (None, None, 1000));
        let later = Instant::from_micros(50);
        rack.sent(later, 2000, 3000);
        assert_eq!((rack.trimmed(2000, false), rack.lost_bytes()), (None, 0), "the first copy's news, late");
        assert_eq!((rack.trimmed(2000, true), rack.lost_bytes()), (Some(later), 1000));
        // Data that has arrived all the same is not sent again.
        rack.arrived(&around(100), 3000, &[]);
        assert_eq!((rack.trimmed(2000, true), rack.lost_bytes(), rack.next_lost()), (None, 0, None));
    }

    /// RFC 8985 6.2, step 3: only segments that were sent once show reordering.
    #[test]
    fn the_arrival_of_what_was_sent_again_is_no_reordering() {
        let mut rack = Rack::default();
        (0..4).for_each(|i| rack.sent(Instant::ZERO, i * 1000, i * 1000 + 1000));
        rack.arrived(&around(100), 0, &[(3000, 4000)]);
        rack.find_lost(&around(200));
        rack.sent(Instant::from_micros(200), 0, 1000);
        rack.arrived(&around(300), 1000, &[]);
        assert!(!rack.reordering_seen);
        rack.arrived(&around(310), 2000, &[]);
        assert!(rack.reordering_seen);
    }

    /// RFC 8985 6.3: the first segment, and each that was sent a round trip of 100 us and a quarter of it ago.
    #[test]
    fn at_a_timeout_the_first_segment_is_lost_and_what_is_late() {
        let mut rack = Rack::default();
        [0, 10, 100, 101, 120].map(Instant::from_micros).into_iter().zip(0..).for_each(|(at, i)| {
            rack.sent(at, i * 1000, i * 1000 + 1000);
        });
        rack.arrived(&around(100), 1000, &[]);
        rack.sent(Instant::from_micros(220), 1000, 2000);
        rack.time_out(&around(225));
        assert_eq!((rack.lost_bytes(), rack.next_lost()), (2000, Some((1000, 3000))));
    }

    #[test]
    fn a_block_that_comes_twice_says_nothing_new() {
        let mut rack = Rack::default();
        (0..4).for_each(|i| rack.sent(Instant::from_micros(i), i * 1000, i * 1000 + 1000));
        rack.arrived(&around(103), 0, &[(3000, 4000)]);
        let latest = rack.latest;
        rack.arrived(&around(150), 0, &[(3000, 4000)]);
        assert_eq!((rack.latest, rack.rtt, rack.reordering_seen), (latest, Span::from_micros(100), false));
        // Two ranges of one ACK, the higher first, are no reordering; a lower one later is.
        rack.arrived(&around(151), 0, &[(3000, 4000), (2000, 3000)]);
        assert!(rack.reordering_seen);
    }

    /// Sends segments of 1000 bytes at these times in microseconds.
    fn sent_at<const N: usize>(times: [u64; N]) -> Rack {
        let mut rack = Rack::default();
        times.into_iter().zip(0..).for_each(|(at, i)| rack.sent(Instant::from_micros(at), i * 1000, i * 1000 + 1000));
        rack
    }

    #[test]
    fn data_that_has_arrived_is_not_in_flight_again() {
        let mut rack = sent_at([0; 3]);
        rack.arrived(&around(100), 0, &[(1000, 2000)]);
        rack.sent(Instant::from_micros(200), 0, 3000);
        let states: Vec<_> = rack.segments.iter().map(|segment| (segment.state, segment.again)).collect();
        assert_eq!(states, [(State::Flying, true), (State::Arrived, false), (State::Flying, true)]);
    }

    #[test]
    fn all_three_blocks_of_an_ack_count() {
        let mut rack = sent_at([0; 6]);
        rack.arrived(&around(100), 0, &[(5000, 6000), (3000, 4000), (1000, 2000)]);
        rack.find_lost(&around(200));
        // 0, 2 and 4 are lost, one by one.
        assert_eq!((rack.lost_bytes(), rack.next_lost()), (3000, Some((0, 1000))));
        assert!(!rack.reordering_seen);
    }

    /// The first three were overtaken by the fourth. The first of them, sent again, is later than the last arrival, but the
    /// fifth is not: it was sent 1 us before that.
    #[test]
    fn retransmission_in_flight_does_not_hide_losses_behind_it() {
        let mut rack = sent_at([0, 0, 0, 0, 100, 101]);
        rack.arrived(&around(100), 0, &[(3000, 4000)]);
        rack.find_lost(&around(200));
        assert_eq!(rack.lost_bytes(), 3000);
        rack.sent(Instant::from_micros(200), 0, 1000);
        rack.arrived(&around(201), 0, &[(3000, 4000), (5000, 6000)]);
        rack.find_lost(&around(201));
        assert_eq!(rack.lost_bytes(), 2000, "its round trip is 100 us, and a quarter of it is left");
        rack.find_lost(&around(300));
        assert_eq!(rack.lost_bytes(), 3000);
    }

    /// RFC 8985 6.3: and no other time is pending.
    #[test]
    fn timeout_finds_losses_where_none_were_and_ends_the_probe() {
        let mut rack = sent_at([0, 0]);
        assert_eq!(rack.next_lost(), None);
        rack.probed(2000, false);
        (rack.reorder_at, rack.probe_at) = (Instant::from_micros(300), Instant::from_micros(400));
        rack.time_out(&around(200));
        assert_eq!((rack.lost_bytes(), rack.next_lost()), (2000, Some((0, 2000))));
        assert_eq!((rack.reorder_at, rack.probe_at, rack.is_probing()), (Instant::MAX, Instant::MAX, false));
    }

    /// All decisions are the same whether segments that arrived in order are taken at once or later.
    #[test]
    fn arrivals_in_order_can_wait() {
        let mut alone = 0;
        for seed in 0..200 {
            let mut stream = Stream::new(seed, "arrivals", 0);
            let (mut late, mut prompt) = (Rack::default(), Rack::default());
            let (mut una, mut highest, mut sacked) = (0, 0, 0);
            for now in 1..500 {
                let around = around(10 * now);
                let flight = (highest - una) / 1000;
                match stream.below(12) {
                    0..5 => {
                        for rack in [&mut late, &mut prompt] {
                            rack.sent(around.now, highest, highest + 1000);
                        }
                        highest += 1000;
                    }
                    5..9 if flight > 0 => {
                        una += 1 + stream.below(highest - una);
                        if stream.below(8) > 0 {
                            una = una.next_multiple_of(1000);
                        }
                        prompt.arrived(&around, una, &[]);
                        if sacked <= una && late.arrives_in_order(around.now, una) {
                            alone += 1;
                            prompt.reorder_at = Instant::MAX;
                        } else {
                            late.arrived(&around, una, &[]);
                        }
                    }
                    9 if flight > 1 => {
                        let start = (una / 1000 + 1 + stream.below(flight - 1)) * 1000;
                        sacked = sacked.max(start + 1000);
                        for rack in [&mut late, &mut prompt] {
                            rack.arrived(&around, una, &[(start, start + 1000)]);
                            rack.find_lost(&around);
                        }
                    }
                    10 => {
                        let lost = late.next_lost();
                        assert_eq!(lost, prompt.next_lost());
                        if let Some((start, end)) = lost.or_else(|| late.last().filter(|_| stream.below(9) == 0)) {
                            let end = end.min(start + 1000);
                            for rack in [&mut late, &mut prompt] {
                                rack.sent(around.now, start, end);
                            }
                        }
                    }
                    11 if stream.below(20) == 0 => {
                        [&mut late, &mut prompt].iter_mut().for_each(|rack| rack.time_out(&around))
                    }
                    _ => assert_eq!(late.find_lost(&around), prompt.find_lost(&around)),
                }
                assert_eq!(late.last(), prompt.last());
                let mut caught_up = late.clone();
                caught_up.catch_up();
                let state = |rack: Rack| {
                    let arrived = (rack.segments, rack.latest, rack.rtt, rack.highest_arrived);
                    (arrived, rack.reordering_seen, rack.lost_bytes, rack.reorder_at)
                };
                assert_eq!(state(caught_up), state(prompt.clone()), "seed {seed}, {now}");
            }
        }
        assert!(alone > 10_000, "{alone} arrivals were in order");
    }
}
