//! Sequence space and loss recovery, once for all senders: what was sent, acknowledged and lost, and when the
//! retransmission timer expires. Whether a window or a rate decides how much is sent makes no difference here.

mod rack;
mod ranges;
mod rto;
mod scoreboard;

pub use ranges::Ranges;
pub use rto::RtoEstimator;
pub use scoreboard::{Rules, Scoreboard};

use rack::{Rack, Surroundings};
use units::{Instant, Span};

use crate::connection::Config;

/// The sequence space of a sending end, and what becomes of its losses (RFC 5681, 6298, 6582, 6675, 8985).
#[derive(Clone, Debug)]
pub struct Recovery {
    /// Everything before this is acknowledged (SND.UNA).
    pub una: u64,
    /// The next position to send (SND.NXT); falls back to `una` after a timeout.
    pub next: u64,
    /// The highest position that was sent.
    pub highest: u64,
    /// What is being repaired.
    pub phase: Phase,
    /// Duplicate ACKs in a row.
    pub dup_acks: u32,
    /// The recovery ends when this is acknowledged.
    pub recover: u64,
    /// The round-trip time, and the timeout that follows.
    pub rto: RtoEstimator,
    /// When the retransmission timer expires.
    pub rto_at: Instant,
    /// The retransmission timer was restarted in this recovery (RFC 6582 3.2, step 3).
    partial_seen: bool,
    /// Something may have arrived beyond a gap: if not, the board is empty and `beyond` nothing, and neither is looked at.
    gap: bool,
    rare: Box<Rare>,
}

/// What few acknowledgements touch, kept apart so that the rest takes fewer cache lines.
#[derive(Clone, Debug, Default)]
struct Rare {
    board: Scoreboard,
    /// Without SACK: bytes that duplicate ACKs say have arrived beyond the gap.
    beyond: u64,
    /// When segments were sent, if that decides which are lost (RFC 8985).
    rack: Option<Rack>,
}

/// What is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    Open,
    /// A loss that duplicate ACKs have shown: fast recovery.
    Recovery,
    /// Everything sent before a timeout, until it is acknowledged.
    Loss,
}

/// What an acknowledgement of new data has brought about.
#[derive(Clone, Copy, Debug)]
pub struct Advance {
    /// How far `una` has moved.
    pub bytes: u64,
    /// Of these, bytes that had been counted when they arrived beyond a gap.
    pub counted: u64,
    /// What was being repaired when it came.
    pub was: Phase,
    /// NewReno: the next hole shows, to be repaired at once (a partial ACK, RFC 6582 3.2, step 3).
    pub partial: bool,
    /// Of these it is the first in this recovery.
    pub first_partial: bool,
}

/// What a duplicate ACK means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// A loss: [`Recovery::enter`] begins its repair.
    Loss,
    /// Another segment has left the network during a repair.
    Departure,
    /// Nothing yet.
    Nothing,
}

/// What blocks of SACKs have brought.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// Bytes that are SACKed for the first time.
    pub bytes: u64,
    /// Something that was sent again is lost again, and was sent again after the last cut.
    pub lost_again: bool,
}

/// An acknowledgement, as far as time decides which segments are lost.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// What has arrived beyond a gap.
    pub blocks: &'a [(u64, u64)],
    /// It acknowledges nothing new.
    pub duplicate: bool,
}

/// What time has shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Findings {
    /// Something is lost, and nothing is being repaired yet.
    pub lost: bool,
    /// More is lost than before.
    pub more: bool,
    /// Something is lost that was sent again after the last cut.
    pub lost_again: bool,
}

impl Recovery {
    /// Nothing sent yet.
    pub fn new(config: &Config) -> Recovery {
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

    /// As [`new`](Recovery::new), for a sending end that says when it sends what ([`note_sent`](Recovery::note_sent)),
    /// wakes up [when asked](Recovery::wake_at) and repairs [by the pipe](Recovery::repairs_by_pipe).
    pub fn timed(config: &Config) -> Recovery {
        let mut recovery = Recovery::new(config);
        recovery.rare.rack = config.rack.then(Rack::default);
        recovery
    }

    /// Takes the blocks of an acknowledgement.
    #[inline]
    pub fn note_blocks(&mut self, config: &Config, blocks: &[(u64, u64)]) -> News {
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
            // RFC 5681 4.3: the loss of a retransmission is a second sign of congestion. What was sent
            // again before the last cut is no new one.
            lost_again = board.find_lost_again(rules(config)).is_some_and(|sent_at| sent_at >= self.recover);
        }
        News { bytes, lost_again }
    }

    /// Everything before `seq` is acknowledged, which is news. `stamp` is the time when the data was sent that is
    /// answered, or [`Instant::MAX`] if that gives no sample (Karn's rule).
    #[inline(always)]
    pub fn advance(&mut self, config: &Config, now: Instant, seq: u64, stamp: Instant) -> Advance {
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

    /// Of the `bytes` up to the new `una`, how many had been counted when they arrived beyond a gap.
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

    /// How many bytes a duplicate ACK says have arrived beyond a gap: those SACKed newly, or a segment without SACK.
    pub fn count_beyond(&mut self, config: &Config, news: u64) -> u64 {
        if config.sack {
            return news;
        }
        let mss = u64::from(config.mss);
        let bytes = mss.min((self.highest - self.una).saturating_sub(self.rare.beyond + mss));
        self.rare.beyond += bytes;
        self.gap = true;
        bytes
    }

    /// Takes a duplicate ACK.
    pub fn on_duplicate(&mut self, config: &Config) -> Duplicate {
        self.dup_acks += 1;
        match self.phase {
            Phase::Loss => Duplicate::Nothing,
            Phase::Recovery => Duplicate::Departure,
            Phase::Open => {
                let lost = config.sack && self.rare.board.lost_below(rules(config)) > self.una;
                // RFC 6582 3.2, step 2: NewReno cannot tell a loss from the duplicates that a timeout caused
                // until more than `recover` is acknowledged. SACK can.
                let ours = self.una > self.recover || self.una == self.recover && (config.sack || self.recover == 0);
                let found = (lost || self.dup_acks >= config.dup_ack_threshold) && ours;
                if found { Duplicate::Loss } else { Duplicate::Nothing }
            }
        }
    }

    /// The repair of a loss begins. Gives what is to be sent again at once: where it starts, and a position that it
    /// must not pass.
    pub fn enter(&mut self) -> (u64, u64) {
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

    /// The window has been cut for a loss: what is sent from here on belongs to a new one.
    pub fn begin_window(&mut self, now: Instant) {
        self.recover = self.highest;
        if let Some(rack) = &mut self.rare.rack {
            rack.cut_at = now;
        }
    }

    /// The retransmission timer has expired (RFC 6298 5.5).
    pub fn on_timeout(&mut self) {
        self.rto.back_off();
        self.rto_at = Instant::MAX;
    }

    /// After a timeout: everything that is not acknowledged counts as lost (RFC 5681 3.1), or all that may be in time
    /// where that counts (RFC 8985 6.3).
    pub fn go_back(&mut self, config: &Config, now: Instant) {
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
        }
    }

    /// RFC 8985 7.4: whether an ACK of everything before `seq`, which is still to be taken, shows that a probe has repaired
    /// a loss.
    #[cold]
    pub fn answer_to_probe(&mut self, seq: u64, has_blocks: bool) -> bool {
        let duplicate = seq == self.una;
        self.rare.rack.as_mut().is_some_and(|rack| rack.answer_to_probe(seq, duplicate, has_blocks))
    }

    /// RFC 8985 6.2: what an acknowledgement, which has been taken, says of the segments that were sent before those that
    /// have arrived.
    #[cold]
    pub fn look_for_losses(&mut self, config: &Config, now: Instant, ack: &Answer) -> Findings {
        let around = self.surroundings(config, now);
        let (una, nothing_sacked) = (self.una, self.rare.board.is_empty());
        let Some(rack) = &mut self.rare.rack else { return Findings::default() };
        rack.arrived(&around, una, ack.blocks);
        if ack.duplicate && !nothing_sacked {
            // RFC 8985 7.2: time will tell.
            rack.probe_at = Instant::MAX;
        }
        // Segments that arrive in order tell nothing of those behind them.
        if nothing_sacked && self.phase == Phase::Open {
            rack.reorder_at = Instant::MAX;
            return Findings { lost: rack.lost_bytes() > 0, ..Findings::default() };
        }
        self.find_lost(&around)
    }

    /// The same, where the time may be up of what was overtaken.
    #[cold]
    pub fn look_again(&mut self, config: &Config, now: Instant) -> Findings {
        let around = self.surroundings(config, now);
        match &self.rare.rack {
            Some(rack) if rack.reorder_at <= now => self.find_lost(&around),
            _ => Findings::default(),
        }
    }

    fn find_lost(&mut self, around: &Surroundings) -> Findings {
        let phase = self.phase;
        let Some(rack) = &mut self.rare.rack else { return Findings::default() };
        let before = rack.lost_bytes();
        // RFC 5681 4.3: the loss of what was sent again after the last cut is a second sign of congestion.
        let again = rack.find_lost(around).is_some_and(|sent_at| sent_at >= rack.cut_at);
        Findings {
            lost: phase == Phase::Open && rack.lost_bytes() > 0,
            more: rack.lost_bytes() > before,
            lost_again: phase == Phase::Recovery && again,
        }
    }

    /// RFC 8985 7.2: a probe is to be sent if nothing is heard for two round trips, unless something is being repaired or
    /// looked at already; at the end of the RTO at the latest. Gives when. Not before the first RTT sample: without one no
    /// probe may be sent (7.3), and all that would come of it is a later RTO.
    #[cold]
    pub fn schedule_probe(&mut self, config: &Config, now: Instant, acknowledged: bool) -> Option<Instant> {
        let flight = self.highest - self.una;
        let open = self.phase == Phase::Open && flight > 0 && self.rare.board.is_empty();
        let rack = self.rare.rack.as_mut()?;
        if std::mem::take(&mut rack.sent_new) || acknowledged {
            rack.probe_at = Instant::MAX;
            if let Some(srtt) = self.rto.srtt().filter(|_| open) {
                let held_back = flight <= u64::from(config.mss) && config.ack_every > 1;
                let delay = if held_back { config.ack_delay } else { Span::ZERO };
                rack.probe_at = (now + srtt * 2 + delay).min(self.rto_at);
                return Some(rack.probe_at);
            }
        }
        None
    }

    /// Whether the time for a probe has come, which then is over, and whether one may be sent (RFC 8985 7.3): none is on its
    /// way, and an RTT was measured since the last.
    pub fn probe_is_due(&mut self, now: Instant) -> Option<bool> {
        let rack = self.rare.rack.as_mut().filter(|rack| rack.probe_at <= now)?;
        rack.probe_at = Instant::MAX;
        Some(!rack.is_probing() && self.rto.fresh)
    }

    /// A probe was sent: something new, or `again` what was sent last.
    pub fn probed(&mut self, again: bool) {
        let highest = self.highest;
        self.rto.fresh = false;
        if let Some(rack) = &mut self.rare.rack {
            rack.probed(highest, again);
        }
    }

    /// The segment that was sent with the highest position.
    pub fn last_segment(&self) -> Option<(u64, u64)> {
        self.rare.rack.as_ref()?.last()
    }

    /// When it is to be looked at next.
    pub fn wake_at(&self) -> Instant {
        let rack = self.rare.rack.as_ref().map_or(Instant::MAX, |rack| rack.reorder_at.min(rack.probe_at));
        self.rto_at.min(rack)
    }

    /// Whether what is sent follows from what is estimated to be in the network (RFC 6675 5).
    #[inline]
    pub fn repairs_by_pipe(&self, config: &Config) -> bool {
        match self.phase {
            Phase::Open => false,
            Phase::Recovery => config.sack,
            Phase::Loss => self.rare.rack.is_some(),
        }
    }

    /// The bytes from `start` to `end` are sent now, whether for the first time or not.
    pub fn note_sent(&mut self, now: Instant, start: u64, end: u64) {
        if let Some(rack) = &mut self.rare.rack {
            rack.sent(now, start, end);
        }
    }

    /// The next part of what is lost and not on its way again: where it starts, and a position that it must not pass.
    pub fn next_lost(&mut self, config: &Config) -> Option<(u64, u64)> {
        match &mut self.rare.rack {
            Some(rack) => rack.next_lost(),
            None => self.rare.board.next_lost(self.una, rules(config)),
        }
    }

    /// The same, for what may be lost (RFC 6675 4, NextSeg, rule 3). Where time decides, that is waited for.
    pub fn next_doubtful(&self) -> Option<(u64, u64)> {
        if self.rare.rack.is_some() { None } else { self.rare.board.next_doubtful(self.una) }
    }

    /// The segment that RFC 6675 4 (NextSeg, rule 4) sends again when nothing else may be sent, so that something is heard
    /// of the end of the window. None where time decides: RFC 8985 has its own probe.
    pub fn next_rescue(&mut self, config: &Config) -> Option<(u64, u64)> {
        if self.rare.rack.is_some() || !config.rescue {
            return None;
        }
        let rescue = self.rare.board.next_rescue(self.una, self.highest, rules(config))?;
        self.rare.board.rescued(self.recover);
        Some(rescue)
    }

    /// The first position from `position` on that is not SACKed.
    pub fn skip(&self, position: u64) -> u64 {
        self.rare.board.skip(position)
    }

    /// Where the next SACKed range after `position` begins.
    pub fn next_sacked(&self, position: u64) -> u64 {
        self.rare.board.next_sacked(position)
    }

    /// Whether nothing is SACKed.
    #[inline]
    pub fn none_sacked(&self) -> bool {
        !self.gap || self.rare.board.is_empty()
    }

    /// Bytes SACKed below `limit`.
    pub fn sacked_below(&self, limit: u64) -> u64 {
        self.rare.board.bytes_below(limit)
    }

    /// RFC 6675 4, SetPipe: bytes that are estimated to be in the network.
    pub fn pipe(&self, config: &Config) -> u64 {
        match &self.rare.rack {
            Some(rack) => self.highest - self.una - self.rare.board.bytes() - rack.lost_bytes(),
            None => self.rare.board.pipe(self.una, self.highest, rules(config)),
        }
    }

    /// Of the bytes from `from` up to `to`, those that are lost and not on their way again.
    pub fn to_repair(&self, config: &Config, from: u64, to: u64) -> u64 {
        self.rare.board.to_repair(from, to, rules(config))
    }

    /// What follows of a stream that ends at `end`: where it starts, and a position that it must not pass. After a
    /// timeout that is all that was sent, but for what was SACKed.
    #[inline]
    pub fn upcoming(&mut self, end: u64) -> Option<(u64, u64)> {
        let mut limit = end;
        if self.next < self.highest {
            self.next = self.skip(self.next);
            limit = limit.min(self.next_sacked(self.next));
        }
        (self.next < end).then_some((self.next, limit))
    }

    /// The bytes from `next` to `end` were sent.
    #[inline]
    pub fn sent(&mut self, end: u64) {
        self.next = end;
        self.highest = self.highest.max(end);
    }

    /// The bytes from `start` to `end`, which are lost, were sent again.
    pub fn sent_again(&mut self, config: &Config, start: u64, end: u64) {
        if config.sack && self.rare.rack.is_none() {
            self.rare.board.sent_again(start, end, self.highest);
        }
    }
}

fn rules(config: &Config) -> Rules {
    Rules { mss: u64::from(config.mss), threshold: u64::from(config.dup_ack_threshold) }
}
