//! The sending end: sequence space, windows, loss recovery.

use std::collections::VecDeque;

use units::Time;

use super::Config;
use super::rto::RtoEstimator;
use super::scoreboard::{Rules, Scoreboard};
use crate::laws::{Acked, Current, Cwnd, Ecn, Law, Lost, NO_MORE, Window};
use crate::{Extension, Flags, Message, Observation, Output, Packet};

/// Flows without end stop here; far enough for every run, and sums with it do not overflow.
pub(crate) const ENDLESS: u64 = 1 << 62;

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Everything before this is acknowledged (SND.UNA).
    una: u64,
    /// The next position to send (SND.NXT); falls back to `una` after a timeout.
    next: u64,
    /// The highest position that was sent.
    highest: u64,
    /// The end of what the application has handed over.
    end: u64,
    window: Cwnd,
    /// Segments that NewReno's duplicate ACKs have added to the window.
    inflation: f64,
    law: Law,
    rto: RtoEstimator,
    /// When the retransmission timer expires.
    rto_at: Time,
    phase: Phase,
    dup_acks: u32,
    /// What was sent before the last loss was found: the recovery ends when this is acknowledged, and marks of
    /// what lies below it ask for nothing more.
    recover: u64,
    /// The retransmission timer was restarted in this recovery (RFC 6582 3.2, step 3).
    partial_seen: bool,
    /// Tell the receiver that its echo has been heeded (classic ECN).
    tell_reduced: bool,
    last_sent: Time,
    current: Current,
    rare: Box<Rare>,
}

/// What few acknowledgements touch, kept apart so that the rest of a sender takes fewer cache lines.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// Messages after the current one.
    queue: VecDeque<Current>,
    board: Scoreboard,
    /// Without SACK: bytes above `una` that duplicate ACKs have told of.
    beyond: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Waiting for the answer to a SYN.
    Opening,
    /// No loss is being repaired.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until everything sent before it is acknowledged.
    Loss,
}

impl Sender {
    /// Nothing to send yet.
    pub fn new(config: &Config, law: &Law) -> Sender {
        Sender {
            una: 0,
            next: 0,
            highest: 0,
            end: 0,
            window: Cwnd {
                cwnd: config.initial_window,
                ssthresh: f64::INFINITY,
                floor: config.cwnd_floor,
                limit: (config.window_limit as f64 / f64::from(config.mss)).max(1.0),
            },
            inflation: 0.0,
            law: law.clone(),
            rto: RtoEstimator::new(config),
            rto_at: Time::MAX,
            phase: if config.handshake { Phase::Opening } else { Phase::Open },
            dup_acks: 0,
            recover: 0,
            partial_seen: false,
            tell_reduced: false,
            last_sent: Time::ZERO,
            current: Current { end: 0, message: Message::of(0) },
            rare: Box::default(),
        }
    }

    /// Takes a message; it follows those handed over before.
    pub fn hand_over(&mut self, config: &Config, now: Time, message: Message, out: &mut impl Output) {
        let idle = self.una == self.end;
        if idle && config.idle_restart && now.saturating_sub(self.last_sent) > self.rto.timeout(config) {
            // RFC 5681 4.1
            self.window.cwnd = self.window.cwnd.min(config.initial_window);
        }
        if idle {
            self.law.on_idle(now.saturating_sub(self.last_sent));
        }
        self.end = self.end.saturating_add(message.bytes.unwrap_or(ENDLESS)).min(ENDLESS);
        let handed_over = Current { end: self.end, message };
        if idle {
            self.current = handed_over;
        } else {
            self.rare.queue.push_back(handed_over);
        }
        if self.phase != Phase::Opening {
            self.transmit(config, now, out);
        } else if self.rto_at == Time::MAX {
            self.open(config, now, out);
        }
    }

    /// Whether everything handed over is acknowledged.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.una == self.end
    }

    /// Takes an acknowledgement.
    #[inline]
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        extension: Option<&Extension>,
        out: &mut impl Output,
    ) {
        if self.phase == Phase::Opening {
            self.opened(config, now, packet);
            self.transmit(config, now, out);
            return;
        }
        let news = match extension {
            Some(Extension::Sack(blocks)) => self.note_blocks(config, now, blocks.as_slice()),
            Some(Extension::Rates(_)) | None => 0,
        };
        if packet.seq > self.una {
            self.on_new_ack(config, now, packet, news, out);
        } else if packet.seq == self.una
            && self.highest > self.una
            && (news > 0 || !config.sack)
            && !packet.flags.has(Flags::SYN)
        {
            self.count_beyond(config, packet, news);
            self.on_dup_ack(config, now, out);
        }
    }

    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        if self.rto_at > now {
            if self.rto_at != Time::MAX {
                out.arm(self.rto_at);
            }
            return;
        }
        out.timed_out();
        if self.phase == Phase::Opening {
            // RFC 5681 3.1: the first window after a lost SYN, or a lost answer to it, is one segment. The RTO stays
            // doubled until there is a sample, for RFC 6298's 3 s (5.7) in a datacenter's measure.
            self.window.cwnd = config.loss_window;
            self.rto.back_off();
            self.open(config, now, out);
            return;
        }
        self.abandon_expired(now, out);
        // RFC 5681 3.1: ssthresh is set at the first timeout of a segment, not at its repetitions.
        if self.phase != Phase::Loss || self.una >= self.recover {
            self.lost(config, now, true);
        }
        self.phase = Phase::Loss;
        self.recover = self.highest;
        self.window.cwnd = config.loss_window;
        self.inflation = 0.0;
        self.dup_acks = 0;
        self.rare.beyond = 0;
        self.next = self.una;
        self.rto.back_off();
        self.rto_at = Time::MAX;
        self.transmit(config, now, out);
    }

    /// What can be observed now.
    pub fn observe(&self, config: &Config, now: Time) -> Observation {
        let mut observation = Observation {
            cwnd: Some(self.window.cwnd),
            ssthresh: Some(self.window.ssthresh),
            srtt: self.rto.srtt(),
            ..Observation::default()
        };
        let ack = Acked { later: &self.rare.queue, ..self.acked(config, now, 0, false) };
        self.law.observe(&self.window, &ack, &mut observation);
        observation
    }

    /// An acknowledgement of new data, with `news` bytes that it says have arrived beyond a gap.
    fn on_new_ack(&mut self, config: &Config, now: Time, packet: &Packet, news: u64, out: &mut impl Output) {
        let bytes = packet.seq - self.una;
        let limited = self.next - self.una + u64::from(config.mss) > self.window.cwnd as u64 * u64::from(config.mss);
        let ahead = self.next - self.una;
        self.una = packet.seq;
        self.next = self.next.max(self.una);
        self.dup_acks = 0;
        if packet.stamp != Time::MAX {
            self.rto.sample(now - packet.stamp, config);
        } else if config.backoff_reset_on_ack {
            self.rto.end_back_off();
        }
        let delivered = bytes + news - self.counted_before(config, bytes);
        let (was_recovering, timed_out) = (self.phase == Phase::Recovery, self.phase == Phase::Loss);
        if self.phase != Phase::Open {
            self.progress(config, bytes, now, out);
        }
        // What the law decides is about the message that is still being sent.
        while self.una >= self.current.end {
            match self.rare.queue.pop_front() {
                Some(next) => self.current = next,
                None => break,
            }
        }
        let may_grow = !was_recovering && (limited || !config.cwnd_validation);
        let mut ack = self.acked(config, now, bytes, packet.flags.has(Flags::ECE));
        ack.bytes = delivered;
        (ack.may_grow, ack.may_cut) = (may_grow, self.phase == Phase::Open && self.una > self.recover);
        if timed_out {
            // RFC 3465 2.3: what it covers beyond the segment that was sent again left the network long ago.
            ack.segments = ack.segments.min(1.0);
            if self.phase == Phase::Open && !config.sack && ahead > u64::from(config.mss) {
                // RFC 6582 3.2, step 2: more than was needed may have been sent again. NewReno cannot tell
                // the duplicates that this brings from a loss until something new is acknowledged.
                self.recover = self.una + 1;
            }
        }
        let reduced = self.law.on_ack(&mut self.window, &Acked { later: &self.rare.queue, ..ack });
        self.tell_reduced |= reduced;
        self.abandon_expired(now, out);
        if self.una == self.highest {
            self.rto_at = Time::MAX;
        } else if config.sack || !(was_recovering && self.phase == Phase::Recovery) {
            self.restart_timer(config, now, out);
        }
        self.transmit(config, now, out);
    }

    /// RFC 6298 5.3. A wake-up no later than the old time is pending; an RTO that has become shorter,
    /// by the first sample or at the end of a back-off, needs an earlier one.
    #[inline]
    fn restart_timer(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        let at = now + self.rto.timeout(config);
        if at < self.rto_at {
            out.arm(at);
        }
        self.rto_at = at;
    }

    /// An acknowledgement of new data while a loss is being repaired.
    #[cold]
    fn progress(&mut self, config: &Config, bytes: u64, now: Time, out: &mut impl Output) {
        if self.una >= self.recover {
            if self.phase == Phase::Recovery {
                self.window.cwnd = self.window.ssthresh;
                self.inflation = 0.0;
            }
            self.phase = Phase::Open;
            return;
        }
        if self.phase == Phase::Recovery && !config.sack {
            // RFC 6582 3.2, step 3: the timer is restarted at the first partial ACK only.
            if !self.partial_seen {
                self.partial_seen = true;
                self.restart_timer(config, now, out);
            }
            let segments = bytes as f64 / f64::from(config.mss);
            self.inflation = (self.inflation - segments).max(0.0) + 1.0;
            self.resend(config, now, self.una, u64::MAX, out);
        }
    }

    /// Of the `bytes` up to the new `una`, how many had been counted when they arrived beyond a gap.
    #[inline]
    fn counted_before(&mut self, config: &Config, bytes: u64) -> u64 {
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
        counted
    }

    /// Data has arrived beyond a gap: what was SACKed newly, or a segment for a duplicate ACK without SACK.
    #[cold]
    fn count_beyond(&mut self, config: &Config, packet: &Packet, news: u64) {
        let mut bytes = news;
        if !config.sack {
            let mss = u64::from(config.mss);
            bytes = mss.min((self.highest - self.una).saturating_sub(self.rare.beyond + mss));
            self.rare.beyond += bytes;
        }
        self.law.on_beyond(bytes, packet.flags.has(Flags::ECE));
    }

    #[cold]
    fn on_dup_ack(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        self.dup_acks += 1;
        let threshold = u64::from(config.dup_ack_threshold);
        match self.phase {
            Phase::Opening | Phase::Loss => {}
            Phase::Recovery => self.inflation += 1.0,
            Phase::Open => {
                let lost = config.sack && self.rare.board.lost_below(rules(config)) > self.una;
                // RFC 6582 3.2, step 2: NewReno cannot tell a loss from the duplicates that a timeout caused
                // until more than `recover` is acknowledged. SACK can.
                let ours = self.una > self.recover || self.una == self.recover && (config.sack || self.recover == 0);
                if (lost || u64::from(self.dup_acks) >= threshold) && ours {
                    self.enter_recovery(config, now, out);
                }
            }
        }
        self.transmit(config, now, out);
    }

    fn enter_recovery(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        self.reduce(config, now);
        self.phase = Phase::Recovery;
        self.partial_seen = false;
        // RFC 6582 3.2, step 2: the segments that have left the network. With SACK the pipe says so.
        self.inflation = if config.sack { 0.0 } else { f64::from(config.dup_ack_threshold) };
        self.rare.board.begin(self.una);
        let limit = self.rare.board.next_sacked(self.una);
        self.resend(config, now, self.una, limit, out);
        self.resent(config, now, out);
    }

    /// RFC 6675 6: the timer may be restarted with each retransmission of a recovery, or one that takes longer than
    /// the RTO, as every recovery does whose round trip takes longer, would end in a timeout.
    fn resent(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        if config.restart_on_retransmission {
            self.restart_timer(config, now, out);
        }
    }

    /// Gives the bytes that are SACKed for the first time.
    fn note_blocks(&mut self, config: &Config, now: Time, blocks: &[(u64, u64)]) -> u64 {
        let before = self.rare.board.bytes();
        for &block in blocks {
            self.rare.board.add(block, self.una);
        }
        let news = self.rare.board.bytes() - before;
        if news > 0
            && self.phase == Phase::Recovery
            && let Some(sent_at) = self.rare.board.find_lost_again(rules(config))
            && sent_at >= self.recover
        {
            // RFC 5681 4.3: the loss of a retransmission is a second sign of congestion. What was sent
            // again before the last cut is no new one.
            self.reduce(config, now);
        }
        news
    }

    /// Loss: the law sets ssthresh, cwnd follows, and what is sent from here on belongs to a new window.
    fn reduce(&mut self, config: &Config, now: Time) {
        self.lost(config, now, false);
        self.window.cwnd = self.window.ssthresh;
        self.recover = self.highest;
    }

    fn lost(&mut self, config: &Config, now: Time, timeout: bool) {
        let flight = self.flight(config);
        self.law.on_loss(&mut self.window, &Lost { now, flight, timeout });
        self.tell_reduced = self.law.ecn() == Ecn::Classic;
    }

    fn transmit(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        if self.phase == Phase::Recovery && config.sack {
            self.transmit_by_pipe(config, now, out);
            return;
        }
        let mss = u64::from(config.mss);
        let extra = match self.phase {
            Phase::Open if self.dup_acks > 0 && config.limited_transmit && !config.sack => {
                f64::from(self.dup_acks.min(config.dup_ack_threshold - 1))
            }
            _ => self.inflation,
        };
        let window = (((self.window.cwnd + extra) as u64) * mss).min(config.window_limit);
        let buffer_end = self.una.saturating_add(config.window_limit);
        let mut flight = self.next - self.una;
        if !self.rare.board.is_empty() && (self.phase == Phase::Loss || config.limited_transmit) {
            flight -= self.rare.board.bytes_below(self.next);
        }
        while self.next < self.end {
            let mut len = mss.min(self.end - self.next);
            if self.next < self.highest {
                // Going back after a timeout: what was SACKed is not sent again.
                let start = self.rare.board.skip(self.next);
                if start > self.next {
                    self.next = start;
                    continue;
                }
                len = len.min(self.rare.board.next_sacked(self.next) - self.next);
            }
            if flight + len > window && flight > 0 || self.next + len > buffer_end && self.next > self.una {
                break;
            }
            self.emit(config, now, self.next, len as u32, out);
            self.next += len;
            self.highest = self.highest.max(self.next);
            flight += len;
        }
    }

    /// RFC 6675 5, step C.
    fn transmit_by_pipe(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        let rules = rules(config);
        let window = ((self.window.cwnd as u64) * rules.mss).min(config.window_limit);
        let buffer_end = self.una.saturating_add(config.window_limit);
        let mut pipe = self.rare.board.pipe(self.una, self.highest, rules);
        while pipe + rules.mss <= window {
            pipe += if let Some((start, limit)) = self.rare.board.next_lost(self.una, rules) {
                self.resent(config, now, out);
                self.resend(config, now, start, limit, out)
            } else if self.next < self.end && self.next + rules.mss.min(self.end - self.next) <= buffer_end {
                let len = rules.mss.min(self.end - self.next);
                self.emit(config, now, self.next, len as u32, out);
                self.next += len;
                self.highest = self.next;
                len
            } else if let Some((start, limit)) = self.rare.board.next_doubtful(self.una) {
                self.resent(config, now, out);
                self.resend(config, now, start, limit, out)
            } else {
                break;
            };
        }
    }

    /// Sends the segment at `start` again, not beyond `limit`; gives its length.
    fn resend(&mut self, config: &Config, now: Time, start: u64, limit: u64, out: &mut impl Output) -> u64 {
        let end = (start + u64::from(config.mss)).min(self.highest).min(limit);
        self.emit(config, now, start, (end - start) as u32, out);
        if config.sack {
            self.rare.board.sent_again(start, end, self.highest);
        }
        end - start
    }

    #[inline]
    fn emit(&mut self, config: &Config, now: Time, seq: u64, len: u32, out: &mut impl Output) {
        let again = seq < self.highest;
        let mut flags = match self.law.ecn() {
            Ecn::Off => Flags::NONE,
            // RFC 3168 6.1.5: retransmissions are not ECN-capable.
            Ecn::Classic => Flags::NONE.with_if(!again, Flags::ECT),
            Ecn::Exact => Flags::ECT,
        };
        let stamp = if again { Time::MAX } else { now };
        // RFC 3168 6.1.2: on the first new data, so that its loss is a new reduction.
        flags = flags.with_if(again, Flags::AGAIN).with_if(self.tell_reduced && !again, Flags::CWR);
        self.tell_reduced &= again;
        self.last_sent = now;
        if self.rto_at == Time::MAX {
            self.rto_at = now + self.rto.timeout(config);
            out.arm(self.rto_at);
        }
        let mut packet = Packet::data(seq, len, config.header, stamp, flags);
        packet.priority = self.priority_at(seq);
        out.send(packet);
    }

    /// The priority of the message that the byte at `seq` belongs to.
    #[inline]
    fn priority_at(&self, seq: u64) -> u8 {
        if seq < self.current.end {
            return self.current.message.priority;
        }
        self.rare.queue.iter().find(|later| seq < later.end).map_or(Packet::UNTAGGED, |later| later.message.priority)
    }

    /// RFC 9293 3.5: the SYN, also when it is sent again.
    fn open(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        let again = self.rto_at != Time::MAX;
        let stamp = if again { Time::MAX } else { now };
        let flags = Flags::SYN.with_if(self.law.ecn() == Ecn::Exact, Flags::ECT).with_if(again, Flags::AGAIN);
        self.rto_at = now + self.rto.timeout(config);
        out.arm(self.rto_at);
        let mut packet = Packet::data(0, 0, config.header, stamp, flags);
        packet.priority = self.current.message.priority;
        out.send(packet);
    }

    #[cold]
    fn opened(&mut self, config: &Config, now: Time, packet: &Packet) {
        self.phase = Phase::Open;
        self.rto_at = Time::MAX;
        if packet.stamp != Time::MAX {
            self.rto.sample(now - packet.stamp, config);
        }
    }

    /// Gives the current message up, once, if its deadline has passed and the law says so.
    #[inline]
    fn abandon_expired(&mut self, now: Time, out: &mut impl Output) {
        if !self.law.abandons_expired() || self.current.message.deadline.is_none_or(|deadline| deadline >= now) {
            return;
        }
        let end = self.current.end;
        let unsent = end.saturating_sub(self.highest.max(self.una));
        self.current.message.deadline = None;
        self.end -= unsent;
        self.current.end -= unsent;
        self.rare.queue.iter_mut().for_each(|message| message.end -= unsent);
        out.abandon(end, unsent);
    }

    /// What counts as in flight at a loss, in segments: what is not acknowledged, but no more than
    /// the window (SACKed data behind a hole is not in flight).
    fn flight(&self, config: &Config) -> f64 {
        ((self.highest - self.una) as f64 / f64::from(config.mss)).min(self.window.cwnd)
    }

    #[inline]
    fn acked(&self, config: &Config, now: Time, bytes: u64, marked: bool) -> Acked<'static> {
        let mss = f64::from(config.mss);
        Acked {
            now,
            bytes,
            segments: bytes as f64 / mss,
            marked,
            may_grow: false,
            may_cut: false,
            una: self.una,
            next: self.next,
            mss,
            srtt: self.rto.srtt(),
            min_rtt: self.rto.smallest(),
            message: self.current,
            later: &NO_MORE,
        }
    }
}

pub(crate) fn rules(config: &Config) -> Rules {
    Rules { mss: u64::from(config.mss), threshold: u64::from(config.dup_ack_threshold) }
}
