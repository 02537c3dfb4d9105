//! The common part of sending ends with rates: the stream of messages, its acknowledged part, and the data to
//! retransmit.

use std::collections::VecDeque;

use units::{Bytes, Instant, Span};

use crate::connection::{Config, ENDLESS};
use crate::controllers::Current;
use crate::recovery::{Duplicate, Phase, Recovery};
use crate::{Flags, Message, Output, Packet};

/// The shared parameters that are read here, by [`Recovery`] without a clock, and by the receiving end.
pub(crate) const READS: &[&str] = &[
    "mss",
    "header",
    "window_limit",
    "recovery",
    "dup_ack_threshold",
    "lost_retransmissions",
    "rto_min",
    "rto_granularity",
    "rto_restart",
    "rto_initial",
    "rto_max",
    "backoff_reset",
    "ack_every",
    "ack_delay",
];

/// Messages one behind the other, each with a number, and their progress. The family decides when a segment may be
/// sent.
#[derive(Clone, Debug)]
pub(crate) struct MessageStream {
    pub recovery: Recovery,
    /// The end of the data that the application has enqueued.
    end: u64,
    /// Messages that are not acknowledged completely.
    messages: VecDeque<Current>,
    /// The number of the first of these.
    first: u32,
    /// A lost range, which is retransmitted next.
    hole: Option<(u64, u64)>,
}

impl MessageStream {
    /// Returns a stream without messages.
    pub(crate) fn new(config: &Config) -> MessageStream {
        MessageStream { recovery: Recovery::new(config), end: 0, messages: VecDeque::new(), first: 0, hole: None }
    }

    /// Enqueues a message after the earlier ones.
    pub(crate) fn enqueue_message(&mut self, message: Message) {
        self.end = self.end.saturating_add(message.bytes.map_or(ENDLESS, |bytes| bytes.0)).min(ENDLESS);
        self.messages.push_back(Current { end: self.end, message });
    }

    /// Returns true if all enqueued data is acknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.recovery.una == self.end
    }

    /// Returns the oldest message that is not acknowledged completely, and its number.
    pub(crate) fn oldest(&self) -> Option<(u32, Current)> {
        Some((self.first, *self.messages.front()?))
    }

    /// Returns the message of a number, unless it is acknowledged, and the start of its unacknowledged part.
    pub(crate) fn message(&self, number: u32) -> Option<(u64, &Current)> {
        let index = number.checked_sub(self.first)? as usize;
        let message = self.messages.get(index)?;
        let before = index.checked_sub(1).map_or(0, |before| self.messages[before].end);
        Some((before.max(self.recovery.una), message))
    }

    /// Returns the number of the message that contains a position; of the last one at its end.
    pub(crate) fn number_at(&self, position: u64) -> u32 {
        self.first + self.index_at(position) as u32
    }

    fn index_at(&self, position: u64) -> usize {
        self.messages.partition_point(|message| message.end <= position).min(self.messages.len().saturating_sub(1))
    }

    /// Returns true if nothing is left to send of a message: it was sent, and no part of it is to be retransmitted
    /// next.
    pub(crate) fn is_sent(&self, number: u32) -> bool {
        let whole = |end| self.recovery.next >= end && self.hole.is_none_or(|hole| hole.0 >= end);
        self.message(number).is_none_or(|(_, message)| whole(message.end))
    }

    /// Without SACK: returns the range to retransmit next, if it starts in this range.
    fn hole_in(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.hole.filter(|hole| (from..to).contains(&hole.0))
    }

    /// Returns the payload that is left to send of the stream between these positions: unsent data, and data to
    /// retransmit. Data in flight is not left, nor is SACKed data.
    pub(crate) fn left(&self, config: &Config, from: u64, to: u64) -> u64 {
        let recovery = &self.recovery;
        let next = recovery.next.max(from);
        let left = to.saturating_sub(next);
        match recovery.phase {
            Phase::Open => left,
            Phase::Loss => left.saturating_sub(recovery.sacked_below(to) - recovery.sacked_below(next.min(to))),
            Phase::Recovery if config.sack => left + recovery.to_repair(config, from, to),
            Phase::Recovery => left + self.hole_in(from, to).map_or(0, |_| u64::from(config.mss)),
        }
    }

    /// Processes an acknowledgement that reports `news` newly arrived bytes beyond a gap; returns true if it
    /// acknowledges something new. RTT samples are taken by the family.
    pub(crate) fn on_ack(&mut self, config: &Config, now: Instant, packet: &Packet, news: u64) -> bool {
        let recovery = &mut self.recovery;
        if packet.seq > recovery.una {
            let advance = recovery.advance(config, now, packet.seq, Instant::MAX);
            if advance.was != Phase::Open && recovery.phase == Phase::Open {
                self.hole = None;
            } else if advance.partial {
                self.hole = Some((packet.seq, recovery.highest));
            }
            self.forget_acknowledged();
            return true;
        }
        if packet.seq == recovery.una
            && recovery.highest > recovery.una
            && (news > 0 || !config.sack)
            && !packet.flags.has(Flags::SYN)
            && recovery.on_duplicate(config) == Duplicate::Loss
        {
            self.hole = Some(recovery.enter());
        }
        false
    }

    fn forget_acknowledged(&mut self) {
        while self.messages.front().is_some_and(|message| message.end <= self.recovery.una) {
            self.messages.pop_front();
            self.first += 1;
        }
    }

    /// Sends all unacknowledged data again after a timeout.
    pub(crate) fn go_back(&mut self, config: &Config, now: Instant) {
        self.recovery.go_back(config, now);
        self.hole = None;
    }

    /// Returns the next lost segment.
    pub(crate) fn lost_segment(&mut self, config: &Config) -> Option<(u64, u64)> {
        loop {
            if self.hole.is_none() && self.recovery.phase == Phase::Recovery && config.sack {
                self.hole = self.recovery.next_lost(config);
            }
            let (start, limit) = self.hole?;
            let start = self.recovery.skip(start.max(self.recovery.una));
            let limit = limit.min(self.recovery.highest).min(self.recovery.next_sacked(start));
            if start < limit {
                self.hole = Some((start, limit));
                return Some((start, self.segment_end(config, start, limit)));
            }
            self.hole = None;
        }
    }

    /// Returns the next segment after the sent data, if there is one and the receiver's buffer takes it.
    pub(crate) fn next_segment(&mut self, config: &Config) -> Option<(u64, u64)> {
        let (start, limit) = self.recovery.upcoming(self.end)?;
        let end = self.segment_end(config, start, limit);
        let buffer_end = self.recovery.una.saturating_add(config.window_limit.0);
        (end <= buffer_end || start == self.recovery.una).then_some((start, end))
    }

    /// Returns the end of a segment, which does not pass the end of its message: the next one has a rate of its own.
    fn segment_end(&self, config: &Config, start: u64, limit: u64) -> u64 {
        (start + u64::from(config.mss)).min(limit).min(self.messages[self.index_at(start)].end)
    }

    /// Returns the packet of a segment, which is sent now, and true if the timer is to be restarted for it.
    pub(crate) fn send(&mut self, config: &Config, now: Instant, (start, end): (u64, u64)) -> (Packet, bool) {
        let again = start < self.recovery.highest;
        let stamp = if again { Instant::MAX } else { now };
        let flags = Flags::NONE.with_if(again, Flags::AGAIN);
        let packet = Packet::data(start, (end - start) as u32, config.header, stamp, flags);
        // With SACK the next one is searched anew; NewReno repairs one for each partial acknowledgement.
        let lost = self.hole.take_if(|hole| hole.0 == start).is_some();
        if lost {
            self.recovery.sent_again(config, start, end);
        } else {
            self.recovery.sent(end);
        }
        (packet, lost && config.restart_on_retransmission)
    }

    /// Returns the size of this payload on the wire, in bytes.
    pub(crate) fn with_headers(config: &Config, bytes: u64) -> u64 {
        bytes.saturating_add(bytes.div_ceil(u64::from(config.mss)).saturating_mul(u64::from(config.header)))
    }

    /// Aborts the oldest message: its unsent data is dropped, and its sent data has no deadline any more.
    pub(crate) fn give_up(&mut self, out: &mut impl Output) {
        let Some(oldest) = self.messages.front_mut() else { return };
        let end = oldest.end;
        oldest.message.deadline = None;
        let unsent = end.saturating_sub(self.recovery.highest.max(self.recovery.una));
        self.end -= unsent;
        self.messages.iter_mut().for_each(|message| message.end -= unsent);
        self.forget_acknowledged();
        out.abandon(end, Bytes(unsent));
    }

    /// Returns the smoothed round-trip time, or this one before the first sample.
    pub(crate) fn rtt(&self, before: Span) -> Span {
        self.recovery.rto.srtt().unwrap_or(before)
    }

    /// Starts the retransmission timer unless it runs (RFC 6298 5.1).
    pub(crate) fn start_timer(&mut self, config: &Config, now: Instant) {
        if self.recovery.rto_at == Instant::MAX {
            self.recovery.rto_at = now + self.recovery.rto.timeout(config);
        }
    }

    /// Returns true if sent data is not acknowledged.
    pub(crate) fn is_waiting(&self) -> bool {
        self.recovery.highest > self.recovery.una
    }

    /// Restarts the retransmission timer while something is outstanding, else stops it (RFC 6298 5.2 and 5.3).
    pub(crate) fn restart_timer(&mut self, config: &Config, now: Instant, waiting: bool) {
        self.recovery.rto_at = if waiting { now + self.recovery.rto.timeout(config) } else { Instant::MAX };
    }
}
