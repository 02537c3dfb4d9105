//! Sequence space and loss recovery, once for all senders: which data was sent, acknowledged and lost, and when the
//! retransmission timer expires. It is the same for windows and for rates.

mod rack;
mod ranges;
mod rto;
mod scoreboard;

pub(crate) use ranges::Ranges;
pub(crate) use rto::RtoEstimator;
pub(crate) use scoreboard::{Rules, Scoreboard};

use rack::{Rack, Surroundings};
use units::{Instant, Span};

use crate::connection::Config;

/// The sequence space of a sending end, and the recovery of its losses (RFC 5681, 6298, 6582, 6675, 8985).
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    /// The position before which all data is acknowledged (SND.UNA).
    pub una: u64,
    /// The next position to send (SND.NXT); falls back to `una` after a timeout.
    pub next: u64,
    /// The highest position that was sent.
    pub highest: u64,
    /// The present phase of recovery.
    pub phase: Phase,
    /// Number of successive duplicate ACKs.
    pub dup_acks: u32,
    /// The position whose acknowledgement ends the recovery.
    pub recover: u64,
    /// The round-trip time, and the timeout that follows.
    pub rto: RtoEstimator,
    /// The time at which the retransmission timer expires.
    pub rto_at: Instant,
    /// The retransmission timer was restarted in this recovery (RFC 6582 3.2, step 3).
    partial_seen: bool,
    /// True if data may have arrived beyond a gap. If false, the board is empty, `beyond` is 0, and neither is read.
    gap: bool,
    rare: Box<Rare>,
}

/// Fields for few acknowledgements, kept apart so that the others take fewer cache lines.
#[derive(Clone, Debug, Default)]
struct Rare {
    board: Scoreboard,
    /// Without SACK: bytes beyond the gap according to duplicate ACKs.
    beyond: u64,
    /// The sending times of segments, if they decide which are lost (RFC 8985).
    rack: Option<Rack>,
}

/// A phase of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is being repaired.
    Open,
    /// A loss that duplicate ACKs have shown: fast recovery.
    Recovery,
    /// A timeout: everything sent before it is repaired, until it is acknowledged.
    Loss,
}

/// The result of an acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    /// Bytes by which `una` has moved.
    pub bytes: u64,
    /// Bytes among these that had been counted when they arrived beyond a gap.
    pub counted: u64,
    /// The phase before the acknowledgement.
    pub was: Phase,
    /// NewReno: the next hole is to be repaired at once (a partial ACK, RFC 6582 3.2, step 3).
    pub partial: bool,
    /// It is the first partial ACK of this recovery.
    pub first_partial: bool,
}

/// The meaning of a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicate {
    /// A loss: [`Recovery::enter`] begins its repair.
    Loss,
    /// Another segment has left the network during a repair.
    Departure,
    /// No sign of a loss yet.
    Nothing,
}

/// The result of SACK blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// Bytes that are SACKed for the first time.
    pub bytes: u64,
    /// A retransmission was lost that was sent after the last cut.
    pub lost_again: bool,
}

/// The parts of an acknowledgement that matter where time decides which segments are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    /// The data that has arrived beyond a gap.
    pub blocks: &'a [(u64, u64)],
    /// It acknowledges nothing new.
    pub duplicate: bool,
}

/// The losses that time has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Findings {
    /// Something is lost, and nothing is being repaired yet.
    pub lost: bool,
    /// More is lost than before.
    pub more: bool,
    /// Something is lost that was sent again after the last cut.
    pub lost_again: bool,
}

impl Recovery {
    /// Returns the state in which nothing has been sent.
    pub(crate) fn new(config: &Config) -> Recovery {
        Recovery {
            una: 0,
            next: 0,
            highest: 0,
            phase: Phase::Open,
            dup_acks: 0,
            recover: 0,
            rto: RtoEstimator::new(config),
            rto_at: Instant::MAX,
            partial_seen: false,
            gap: false,
            rare: Box::default(),
        }
    }

    /// As [`new`](Recovery::new), for a sending end that reports each sending ([`note_sent`](Recovery::note_sent)). It
    /// wakes up [when requested](Recovery::wake_at) and repairs [by the pipe](Recovery::repairs_by_pipe).
    pub(crate) fn timed(config: &Config) -> Recovery {
        let mut recovery = Recovery::new(config);
        recovery.rare.rack = config.rack.then(Rack::default);
        recovery
    }

    /// Records the SACK blocks of an acknowledgement.
    #[inline]
    pub(crate) fn note_blocks(&mut self, config: &Config, blocks: &[(u64, u64)]) -> News {
        let looks = config.finds_lost_again && self.rare.rack.is_none();
        let board = &mut self.rare.board;
        let before = board.bytes();
        for &block in blocks {
            board.add(block, self.una);
            self.gap = true;
        }
        let bytes = board.bytes() - before;
        let mut lost_again = false;
        if bytes > 0 && self.phase == Phase::Recovery && looks {
            // RFC 5681 4.3: the loss of a retransmission is a second sign of congestion. A retransmission before the
            // last cut is no new one.
            lost_again = board.find_lost_again(rules(config)).is_some_and(|sent_at| sent_at >= self.recover);
        }
        News { bytes, lost_again }
    }

    /// Handles the acknowledgement of new data before `seq`. `stamp` is the time when the answered data was sent, or
    /// [`Instant::MAX`] if that is no sample (Karn's rule).
    #[inline(always)]
    pub(crate) fn advance(&mut self, config: &Config, now: Instant, seq: u64, stamp: Instant) -> Advance {
        let bytes = seq - self.una;
        self.una = seq;
        self.next = self.next.max(seq);
        self.dup_acks = 0;
        if stamp != Instant::MAX {
            self.rto.sample(now - stamp, config);
        } else if config.backoff_reset_on_ack {
            self.rto.end_back_off();
        }
        let counted = self.counted_before(config, bytes);
        let was = self.phase;
        let (mut partial, mut first_partial) = (false, false);
        if was != Phase::Open {
            if seq >= self.recover {
                self.phase = Phase::Open;
            } else if was == Phase::Recovery && !config.sack {
                partial = true;
                first_partial = !std::mem::replace(&mut self.partial_seen, true);
            }
        }
        Advance { bytes, counted, was, partial, first_partial }
    }

    /// Returns how many of the `bytes` up to the new `una` had been counted when they arrived beyond a gap.
    #[inline]
    fn counted_before(&mut self, config: &Config, bytes: u64) -> u64 {
        if !self.gap {
            return 0;
        }
        let rare = &mut *self.rare;
        let mut counted = 0;
        if !rare.board.is_empty() {
            counted = rare.board.bytes();
            rare.board.advance(self.una);
            counted -= rare.board.bytes();
        } else if rare.beyond > 0 {
            // One segment filled the gap, the rest had sent duplicates.
            counted = rare.beyond.min(bytes.saturating_sub(u64::from(config.mss)));
            rare.beyond -= counted;
        }
        self.gap = !rare.board.is_empty() || rare.beyond > 0;
        counted
    }

    /// Returns the bytes that a duplicate ACK reports beyond a gap: the newly SACKed ones, or a segment without SACK.
    pub(crate) fn count_beyond(&mut self, config: &Config, news: u64) -> u64 {
        if config.sack {
            return news;
        }
        let mss = u64::from(config.mss);
        let bytes = mss.min((self.highest - self.una).saturating_sub(self.rare.beyond + mss));
        self.rare.beyond += bytes;
        self.gap = true;
        bytes
    }

    /// Processes a duplicate ACK.
    pub(crate) fn on_duplicate(&mut self, config: &Config) -> Duplicate {
        self.dup_acks += 1;
        match self.phase {
            Phase::Loss => Duplicate::Nothing,
            Phase::Recovery => Duplicate::Departure,
            Phase::Open => {
                let lost = config.sack && self.rare.board.lost_below(rules(config)) > self.una;
                // RFC 6582 3.2, step 2: NewReno cannot distinguish a loss from the duplicates that a timeout caused
                // until more than `recover` is acknowledged. SACK can.
                let ours = self.una > self.recover || self.una == self.recover && (config.sack || self.recover == 0);
                let found = (lost || self.dup_acks >= config.dup_ack_threshold) && ours;
                if found { Duplicate::Loss } else { Duplicate::Nothing }
            }
        }
    }

    /// Begins the repair of a loss. Returns the data to retransmit at once: its start, and a position that it must not
    /// pass.
    pub(crate) fn enter(&mut self) -> (u64, u64) {
        self.phase = Phase::Recovery;
        self.recover = self.highest;
        self.partial_seen = false;
        self.rare.board.begin(self.una);
        if let Some(rack) = &mut self.rare.rack {
            rack.probe_at = Instant::MAX;
            if let Some(lost) = rack.next_lost() {
                return lost;
            }
        }
        (self.una, self.rare.board.next_sacked(self.una))
    }

    /// Begins a new window for later packets, as the window has been cut for a loss.
    pub(crate) fn begin_window(&mut self, now: Instant) {
        self.recover = self.highest;
        if let Some(rack) = &mut self.rare.rack {
            rack.cut_at = now;
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 6298 5.5).
    pub(crate) fn on_timeout(&mut self) {
        self.rto.back_off();
        self.rto_at = Instant::MAX;
    }

    /// Marks losses after a timeout: everything that is not acknowledged counts as lost (RFC 5681 3.1). Where time
    /// decides, segments that may still be in time do not (RFC 8985 6.3).
    pub(crate) fn go_back(&mut self, config: &Config, now: Instant) {
        let around = self.surroundings(config, now);
        self.phase = Phase::Loss;
        self.recover = self.highest;
        self.dup_acks = 0;
        self.rare.beyond = 0;
        match &mut self.rare.rack {
            Some(rack) => rack.time_out(&around),
            None => self.next = self.una,
        }
    }

    fn surroundings(&self, config: &Config, now: Instant) -> Surroundings {
        Surroundings {
            now,
            smallest_rtt: self.rto.smallest().unwrap_or(Span::ZERO),
            srtt: self.rto.srtt().unwrap_or(Span::ZERO),
            repairing: self.phase != Phase::Open,
            threshold: config.dup_ack_threshold as usize,
            reordering: config.reordering,
        }
    }

    /// Records the arrival of everything before `una` by an ACK without blocks. Returns false if more than that is to be
    /// done: then [`look_for_losses`](Recovery::look_for_losses) has to.
    #[inline(always)]
    pub(crate) fn arrives_in_order(&mut self, now: Instant) -> bool {
        // Segments that arrive in order show nothing about later ones.
        let in_order = !self.gap && self.phase == Phase::Open;
        in_order && self.rare.rack.as_mut().is_some_and(|rack| rack.arrives_in_order(now, self.una))
    }

    /// Returns true if an ACK of everything before `seq`, which is processed later, shows that a probe has repaired a
    /// loss (RFC 8985 7.4).
    #[cold]
    pub(crate) fn answer_to_probe(&mut self, seq: u64, has_blocks: bool) -> bool {
        let duplicate = seq == self.una;
        self.rare.rack.as_mut().is_some_and(|rack| rack.answer_to_probe(seq, duplicate, has_blocks))
    }

    /// Detects losses after an acknowledgement has been processed, among segments that were sent before the arrived
    /// ones (RFC 8985 6.2).
    #[cold]
    pub(crate) fn look_for_losses(&mut self, config: &Config, now: Instant, ack: &Answer) -> Findings {
        let around = self.surroundings(config, now);
        let (una, nothing_sacked) = (self.una, self.rare.board.is_empty());
        let Some(rack) = &mut self.rare.rack else { return Findings::default() };
        rack.arrived(&around, una, ack.blocks);
        if ack.duplicate && !nothing_sacked {
            // RFC 8985 7.2: time will tell.
            rack.probe_at = Instant::MAX;
        }
        // Segments that arrive in order show nothing about later ones.
        if nothing_sacked && self.phase == Phase::Open {
            rack.reorder_at = Instant::MAX;
            return Findings { lost: rack.lost_bytes() > 0, ..Findings::default() };
        }
        self.find_lost(&around)
    }

    /// Detects losses among overtaken segments whose time is up.
    #[cold]
    pub(crate) fn look_again(&mut self, config: &Config, now: Instant) -> Findings {
        let around = self.surroundings(config, now);
        match &self.rare.rack {
            Some(rack) if rack.reorder_at <= now => self.find_lost(&around),
            _ => Findings::default(),
        }
    }

    /// Records that the segment at `seq` was trimmed, in a retransmission if `again`.
    #[cold]
    pub(crate) fn note_trimmed(&mut self, seq: u64, again: bool) -> Findings {
        self.find(|rack| rack.trimmed(seq, again))
    }

    fn find_lost(&mut self, around: &Surroundings) -> Findings {
        self.find(|rack| rack.find_lost(around))
    }

    /// Returns what `look` finds, which returns the last sending time of the lost retransmissions.
    fn find(&mut self, look: impl FnOnce(&mut Rack) -> Option<Instant>) -> Findings {
        let phase = self.phase;
        let Some(rack) = &mut self.rare.rack else { return Findings::default() };
        let before = rack.lost_bytes();
        // RFC 5681 4.3: the loss of a retransmission after the last cut is a second sign of congestion.
        let again = look(rack).is_some_and(|sent_at| sent_at >= rack.cut_at);
        Findings {
            lost: phase == Phase::Open && rack.lost_bytes() > 0,
            more: rack.lost_bytes() > before,
            lost_again: phase == Phase::Recovery && again,
        }
    }

    /// Schedules a probe after two round trips without an ACK, at the end of the RTO at the latest (RFC 8985 7.2). It
    /// returns the time; none while a loss is being repaired or suspected. There is no probe before the first RTT
    /// sample: none may be sent (7.3), and it would only delay the RTO.
    #[cold]
    pub(crate) fn schedule_probe(&mut self, config: &Config, now: Instant, acknowledged: bool) -> Option<Instant> {
        let flight = self.highest - self.una;
        let open = self.phase == Phase::Open && flight > 0 && self.none_sacked();
        let rack = self.rare.rack.as_mut()?;
        if !(std::mem::take(&mut rack.sent_new) || acknowledged) {
            return None;
        }
        rack.probe_at = Instant::MAX;
        let srtt = self.rto.srtt().filter(|_| open)?;
        let held_back = flight <= u64::from(config.mss) && config.ack_every > 1;
        let delay = if held_back { config.ack_delay } else { Span::ZERO };
        // The last packet may be as late as one that others overtake.
        let late = config.reordering.unwrap_or(Span::ZERO);
        rack.probe_at = (now + srtt * 2 + delay + late).min(self.rto_at);
        Some(rack.probe_at)
    }

    /// Returns none if no probe is due, else whether it may be sent (RFC 8985 7.3), and clears its time. It may if none
    /// is in flight and an RTT was measured since the last.
    pub(crate) fn probe_is_due(&mut self, now: Instant) -> Option<bool> {
        let rack = self.rare.rack.as_mut().filter(|rack| rack.probe_at <= now)?;
        rack.probe_at = Instant::MAX;
        Some(!rack.is_probing() && self.rto.fresh)
    }

    /// Records that a probe was sent: new data, or the last segment if `again`.
    pub(crate) fn probed(&mut self, again: bool) {
        let highest = self.highest;
        self.rto.fresh = false;
        if let Some(rack) = &mut self.rare.rack {
            rack.probed(highest, again);
        }
    }

    /// Returns the segment that was sent with the highest position.
    pub(crate) fn last_segment(&self) -> Option<(u64, u64)> {
        self.rare.rack.as_ref()?.last()
    }

    /// Returns the time at which losses, a probe or the RTO are due next.
    pub(crate) fn wake_at(&self) -> Instant {
        let rack = self.rare.rack.as_ref().map_or(Instant::MAX, |rack| rack.reorder_at.min(rack.probe_at));
        self.rto_at.min(rack)
    }

    /// Returns true if sending follows from the estimate of the data in the network (RFC 6675 5).
    #[inline]
    pub(crate) fn repairs_by_pipe(&self, config: &Config) -> bool {
        match self.phase {
            Phase::Open => false,
            Phase::Recovery => config.sack,
            Phase::Loss => self.rare.rack.is_some(),
        }
    }

    /// Records that the bytes from `start` to `end` are sent now, for the first time or not.
    #[inline]
    pub(crate) fn note_sent(&mut self, now: Instant, start: u64, end: u64) {
        if let Some(rack) = &mut self.rare.rack {
            rack.sent(now, start, end);
        }
    }

    /// Returns the next lost data that is not in flight again: its start, and a position that it must not pass.
    pub(crate) fn next_lost(&mut self, config: &Config) -> Option<(u64, u64)> {
        match &mut self.rare.rack {
            Some(rack) => rack.next_lost(),
            None => self.rare.board.next_lost(self.una, rules(config)),
        }
    }

    /// The same, for data that may be lost (RFC 6675 4, NextSeg, rule 3). None where time decides.
    pub(crate) fn next_doubtful(&self) -> Option<(u64, u64)> {
        if self.rare.rack.is_some() { None } else { self.rare.board.next_doubtful(self.una) }
    }

    /// Returns the segment to retransmit when nothing else may be sent (RFC 6675 4, NextSeg, rule 4), for an
    /// acknowledgement of the end of the window. None where time decides: RFC 8985 has its own probe.
    pub(crate) fn next_rescue(&mut self, config: &Config) -> Option<(u64, u64)> {
        if self.rare.rack.is_some() || !config.rescue {
            return None;
        }
        let rescue = self.rare.board.next_rescue(self.una, self.highest, rules(config))?;
        self.rare.board.rescued(self.recover);
        Some(rescue)
    }

    /// Returns the first position from `position` on that is not SACKed.
    pub(crate) fn skip(&self, position: u64) -> u64 {
        self.rare.board.skip(position)
    }

    /// Returns the start of the next SACKed range after `position`.
    pub(crate) fn next_sacked(&self, position: u64) -> u64 {
        self.rare.board.next_sacked(position)
    }

    /// Returns true if nothing is SACKed.
    #[inline]
    pub(crate) fn none_sacked(&self) -> bool {
        !self.gap || self.rare.board.is_empty()
    }

    /// Returns the number of bytes SACKed below `limit`.
    pub(crate) fn sacked_below(&self, limit: u64) -> u64 {
        self.rare.board.bytes_below(limit)
    }

    /// Returns the estimate of the bytes in the network (RFC 6675 4, SetPipe).
    pub(crate) fn pipe(&self, config: &Config) -> u64 {
        match &self.rare.rack {
            Some(rack) => self.highest - self.una - self.rare.board.bytes() - rack.lost_bytes(),
            None => self.rare.board.pipe(self.una, self.highest, rules(config)),
        }
    }

    /// Returns the bytes between `from` and `to` that are lost and not in flight again.
    pub(crate) fn to_repair(&self, config: &Config, from: u64, to: u64) -> u64 {
        self.rare.board.to_repair(from, to, rules(config))
    }

    /// Returns the next data of a stream that ends at `end`: its start, and a position that it must not pass. After a
    /// timeout that is all data sent before, without the SACKed data.
    #[inline]
    pub(crate) fn upcoming(&mut self, end: u64) -> Option<(u64, u64)> {
        let mut limit = end;
        if self.next < self.highest {
            self.next = self.skip(self.next);
            limit = limit.min(self.next_sacked(self.next));
        }
        (self.next < end).then_some((self.next, limit))
    }

    /// Records that the bytes from `next` to `end` were sent.
    #[inline]
    pub(crate) fn sent(&mut self, end: u64) {
        self.next = end;
        self.highest = self.highest.max(end);
    }

    /// Records that the lost bytes from `start` to `end` were retransmitted.
    pub(crate) fn sent_again(&mut self, config: &Config, start: u64, end: u64) {
        if config.sack && self.rare.rack.is_none() {
            self.rare.board.sent_again(start, end, self.highest);
        }
    }
}

fn rules(config: &Config) -> Rules {
    Rules { mss: u64::from(config.mss), threshold: u64::from(config.dup_ack_threshold) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::config::tests::config;

    const MSS: u64 = 1460;

    /// Ten segments are in flight.
    fn in_flight(config: &Config) -> Recovery {
        let mut recovery = Recovery::new(config);
        (recovery.next, recovery.highest) = (10 * MSS, 10 * MSS);
        recovery
    }

    #[test]
    fn counted_duplicates_are_remembered_over_several_acks() {
        // Five duplicates; each ACK of two segments has one that filled the gap, and one that had sent a duplicate.
        let config = Config { sack: false, ..config() };
        let mut recovery = in_flight(&config);
        (0..5).for_each(|_| assert_eq!(recovery.count_beyond(&config, 0), MSS));
        let counted = [2, 4, 6].map(|seq| recovery.advance(&config, Instant::ZERO, seq * MSS, Instant::MAX).counted);
        assert_eq!(counted, [MSS; 3]);
    }

    #[test]
    fn sacked_data_is_remembered_after_an_ack_below_it() {
        let config = config();
        let mut recovery = in_flight(&config);
        recovery.note_blocks(&config, &[(2 * MSS, 3 * MSS), (5 * MSS, 6 * MSS)]);
        assert_eq!(recovery.advance(&config, Instant::ZERO, MSS, Instant::MAX).counted, 0);
        assert!(!recovery.none_sacked());
        assert_eq!(recovery.advance(&config, Instant::ZERO, 4 * MSS, Instant::MAX).counted, MSS);
        assert!(!recovery.none_sacked());
        assert_eq!(recovery.advance(&config, Instant::ZERO, 6 * MSS, Instant::MAX).counted, MSS);
        assert!(recovery.none_sacked());
    }

    /// Nothing that was counted before a timeout is taken off after it: all of that is sent again.
    #[test]
    fn timeout_forgets_counted_duplicates() {
        let config = Config { sack: false, ..config() };
        let mut recovery = in_flight(&config);
        (0..5).for_each(|_| assert_eq!(recovery.count_beyond(&config, 0), MSS));
        recovery.go_back(&config, Instant::ZERO);
        let counted = [2, 4].map(|seq| recovery.advance(&config, Instant::ZERO, seq * MSS, Instant::MAX).counted);
        assert_eq!(counted, [0; 2]);
    }

    /// Of two segments and a byte in flight, the first is missing: a segment and a byte send duplicates.
    #[test]
    fn single_byte_that_has_sent_a_duplicate_is_counted_once() {
        let config = Config { sack: false, ..config() };
        let mut recovery = Recovery::new(&config);
        (recovery.next, recovery.highest) = (2 * MSS + 1, 2 * MSS + 1);
        let beyond = [0; 3].map(|news| recovery.count_beyond(&config, news));
        assert_eq!(beyond, [MSS, 1, 0]);
        // An ACK of both segments leaves the byte, which a later one acknowledges with a segment that filled a gap.
        let counted =
            |recovery: &mut Recovery, seq| recovery.advance(&config, Instant::ZERO, seq, Instant::MAX).counted;
        assert_eq!(counted(&mut recovery, 2 * MSS), MSS);
        assert_eq!(counted(&mut recovery, 3 * MSS + 1), 1);
    }

    /// RFC 6582 3.2, step 3: "the first partial ACK" is that of each recovery.
    #[test]
    fn each_recovery_has_a_first_partial_ack() {
        let config = Config { sack: false, ..config() };
        let mut recovery = in_flight(&config);
        for end in [10, 20] {
            recovery.sent(end * MSS);
            recovery.enter();
            let start = (end - 10) * MSS;
            let partial = [1, 2].map(|i| {
                let advance = recovery.advance(&config, Instant::ZERO, start + i * MSS, Instant::MAX);
                (advance.partial, advance.first_partial)
            });
            assert_eq!(partial, [(true, true), (true, false)], "{end}");
            recovery.advance(&config, Instant::ZERO, end * MSS, Instant::MAX);
            assert_eq!(recovery.phase, Phase::Open);
        }
    }

    /// RFC 5681 4.3. The two were sent again when segments up to 10 and up to 11 had been sent; three segments beyond
    /// these show that they are lost. The first cuts the window when 15 have been sent, so that the second does not.
    #[test]
    fn retransmission_sent_before_the_last_cut_is_no_new_loss() {
        let config = config();
        let mut recovery = in_flight(&config);
        recovery.note_blocks(&config, &[(2 * MSS, 5 * MSS)]);
        recovery.enter();
        recovery.sent_again(&config, 0, MSS);
        recovery.sent(11 * MSS);
        recovery.sent_again(&config, MSS, 2 * MSS);
        recovery.sent(15 * MSS);
        assert!(recovery.note_blocks(&config, &[(2 * MSS, 13 * MSS)]).lost_again);
        recovery.begin_window(Instant::ZERO);
        assert!(!recovery.note_blocks(&config, &[(2 * MSS, 14 * MSS)]).lost_again);
        // It is lost all the same, and sent again with the first.
        assert_eq!(recovery.next_lost(&config), Some((0, MSS)));
        assert_eq!(recovery.next_lost(&config), Some((MSS, 2 * MSS)));
    }

    /// The same where time decides: a retransmission at the instant of the cut is after it.
    #[test]
    fn trimmed_retransmission_from_before_the_last_cut_is_no_new_loss() {
        let config = Config { rack: true, ..config() };
        let mut recovery = Recovery::timed(&config);
        (0..4).for_each(|i| recovery.note_sent(Instant::ZERO, i * MSS, (i + 1) * MSS));
        recovery.sent(4 * MSS);
        let at = Instant::from_micros;
        assert!(recovery.note_trimmed(0, false).lost);
        recovery.begin_window(at(50));
        recovery.enter();
        recovery.note_sent(at(50), 0, MSS);
        recovery.note_trimmed(MSS, false);
        recovery.note_sent(at(60), MSS, 2 * MSS);
        assert!(recovery.note_trimmed(0, true).lost_again);
        recovery.begin_window(at(70));
        let found = recovery.note_trimmed(MSS, true);
        assert!(found.more && !found.lost_again && !found.lost, "{found:?}");
    }

    #[test]
    fn single_lost_byte_is_a_loss() {
        let config = Config { rack: true, ..config() };
        let mut recovery = Recovery::timed(&config);
        recovery.note_sent(Instant::ZERO, 0, 1);
        recovery.sent(1);
        assert!(recovery.note_trimmed(0, false).lost);
    }

    /// A byte that was sent during a repair is trimmed. The ACK that ends the repair leaves it lost, and nothing SACKed.
    #[test]
    fn single_byte_that_is_lost_during_a_repair_begins_the_next() {
        let config = Config { rack: true, ..config() };
        let at = Instant::from_micros;
        let mut recovery = Recovery::timed(&config);
        recovery.note_sent(at(0), 0, MSS);
        recovery.sent(MSS);
        assert!(recovery.note_trimmed(0, false).lost);
        recovery.enter();
        recovery.note_sent(at(50), 0, MSS);
        recovery.note_sent(at(60), MSS, MSS + 1);
        recovery.sent(MSS + 1);
        assert!(!recovery.note_trimmed(MSS, false).lost, "a repair is under way");
        recovery.advance(&config, at(150), MSS, Instant::MAX);
        assert_eq!(recovery.phase, Phase::Open);
        let ack = Answer { blocks: &[], duplicate: false };
        assert!(recovery.look_for_losses(&config, at(150), &ack).lost);
    }

    /// RFC 8985 7.2: two round trips after the ACK, while as much as a byte is in flight.
    #[test]
    fn probe_is_for_data_in_flight() {
        let config = Config { rack: true, tlp: true, ..config() };
        let at = Instant::from_micros;
        let mut recovery = Recovery::timed(&config);
        recovery.note_sent(at(0), 0, MSS);
        recovery.note_sent(at(0), MSS, MSS + 1);
        recovery.sent(MSS + 1);
        recovery.advance(&config, at(100), MSS, at(0));
        assert_eq!(recovery.schedule_probe(&config, at(100), true), Some(at(300)));
        assert_eq!(recovery.wake_at(), at(300));
        // With everything acknowledged that time is void.
        recovery.advance(&config, at(200), MSS + 1, Instant::MAX);
        assert_eq!(recovery.schedule_probe(&config, at(200), true), None);
        assert_eq!(recovery.wake_at(), Instant::MAX);
    }

    /// After a timeout everything is sent again, but for SACKed data: here from half a segment on.
    #[test]
    fn hole_of_less_than_a_segment_is_sent_again_alone() {
        let config = config();
        let mut recovery = in_flight(&config);
        recovery.note_blocks(&config, &[(500, 2 * MSS)]);
        recovery.go_back(&config, Instant::ZERO);
        assert_eq!(recovery.upcoming(10 * MSS), Some((0, 500)));
        recovery.sent(500);
        assert_eq!(recovery.upcoming(10 * MSS), Some((2 * MSS, 10 * MSS)));
    }
}
