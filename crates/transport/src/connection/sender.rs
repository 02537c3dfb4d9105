//! The sending end: a congestion controller decides how much is in flight.

use std::collections::VecDeque;

use units::{Bytes, Instant, Span};

use super::usage::Usage;
use super::{CWND, Config, NicLimit, SRTT, SSTHRESH};
use crate::controllers::{Acked, Controller, Current, Cwnd, Ecn, Lost, Window, float, whole};
use crate::pacing::Pacer;
use crate::recovery::{Advance, Answer, Duplicate, Findings, Phase, Recovery};
use crate::{Extension, Flags, Message, Observation, Output, Packet};

/// Flows without end stop here; far enough for every run, and sums with it do not overflow.
pub(crate) const ENDLESS: u64 = 1 << 62;

/// The sending end of a connection. The first fields are the ones that an acknowledgement touches, so that it needs few
/// cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    recovery: Recovery,
    /// The end of the data that the application has enqueued.
    end: u64,
    window: Cwnd,
    /// Segments that NewReno's duplicate ACKs have added to the window.
    inflation: f64,
    last_sent: Instant,
    /// The controller's use of ECN.
    ecn: Ecn,
    /// Packets may have to be delayed though the window is open.
    paces: bool,
    /// Sent packets must be counted: for pacing, for cuts that are spread, or to know their times.
    counts_sent: bool,
    /// The controller decides the ranks of packets.
    ranks: bool,
    /// The answer to a SYN is outstanding.
    opening: bool,
    /// The receiver must be notified of the reaction to its echo (classic ECN, CWR).
    tell_reduced: bool,
    /// The use of the window, where that decides whether it grows.
    usage: Usage,
    /// The cut that is being spread over a round trip.
    spread: Option<Box<Spread>>,
    current: Current,
    law: Controller,
    /// Messages after the current one.
    queue: VecDeque<Current>,
    /// The times at which packets may be sent, if they may have to be delayed.
    pacer: Pacer,
    /// The segments at the host's port: the time at which each leaves it, and its payload. Kept where these are
    /// limited.
    at_port: VecDeque<(Instant, u64)>,
    /// The right edge of the receiver's window, where it advertises one (RFC 9293 3.4).
    edge: u64,
}

/// A cut that is made step by step, as RFC 6937 3.1 does in a recovery. In segments.
#[derive(Clone, Debug)]
struct Spread {
    /// The window before the cut (Linux: prior_cwnd, for RecoverFS).
    before: f64,
    /// The window after the cut.
    target: f64,
    /// Segments delivered since the cut (prr_delivered).
    delivered: f64,
    /// Segments sent since the cut (prr_out).
    sent: f64,
    /// The spreading ends when more than this position is acknowledged.
    end: u64,
}

impl Spread {
    /// Returns the present window, given the newly delivered segments and the segments in flight.
    fn window(&mut self, arrived: f64, pipe: f64) -> f64 {
        self.delivered += arrived;
        let more = if pipe > self.target {
            (self.target * self.delivered / self.before).ceil() - self.sent
        } else {
            (self.target - pipe).min((self.delivered - self.sent).max(arrived) + 1.0)
        };
        // Linux: a packet is sent at once, so that the receiver is notified of the cut.
        pipe + more.max(if self.sent == 0.0 { 1.0 } else { 0.0 })
    }
}

impl Sender {
    /// Returns a sender without data.
    pub fn new(config: &Config, law: &Controller) -> Sender {
        let paces = config.pacing.on || config.cwnd_floor < 1.0 || law.paces() || config.nic_limit != NicLimit::None;
        Sender {
            recovery: if law.repairs_by_timer_alone() { Recovery::new(config) } else { Recovery::timed(config) },
            end: 0,
            window: Cwnd {
                cwnd: config.initial_window,
                ssthresh: f64::INFINITY,
                floor: config.cwnd_floor,
                limit: (config.window_limit.as_f64() / f64::from(config.mss)).max(1.0),
            },
            inflation: 0.0,
            law: law.clone(),
            ecn: law.ecn(),
            paces,
            ranks: law.ranks(),
            counts_sent: paces || config.spread_cuts || config.rack,
            opening: config.handshake,
            tell_reduced: false,
            last_sent: Instant::ZERO,
            current: Current { end: 0, message: Message::of(Bytes::ZERO) },
            queue: VecDeque::new(),
            pacer: Pacer::default(),
            at_port: VecDeque::new(),
            spread: None,
            usage: Usage::default(),
            edge: u64::MAX,
        }
    }

    /// Sets a number that no other connection has, for the random numbers of the controller.
    pub fn identify(&mut self, identity: u64) {
        self.law.identify(identity);
    }

    /// Enqueues a message after the earlier ones.
    pub fn enqueue_message(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl Output) {
        let idle = self.recovery.una == self.end;
        if idle && config.idle_restart && now.saturating_sub(self.last_sent) > self.recovery.rto.timeout(config) {
            // RFC 5681 4.1
            self.window.cwnd = self.window.cwnd.min(config.initial_window);
        }
        if idle {
            self.law.on_idle(now.saturating_sub(self.last_sent));
        }
        self.end = self.end.saturating_add(message.bytes.map_or(ENDLESS, |bytes| bytes.0)).min(ENDLESS);
        let handed_over = Current { end: self.end, message };
        if idle {
            self.current = handed_over;
        } else {
            self.queue.push_back(handed_over);
        }
        if self.paces {
            let state = state(config, now, &self.recovery, &self.current, &self.queue);
            self.law.on_message(&mut self.window, &state, idle, out.site());
        }
        if !self.opening {
            self.transmit(config, now, out);
            self.schedule_probe(config, now, false, out);
        } else if self.recovery.rto_at == Instant::MAX {
            self.open(config, now, out);
        }
    }

    /// Sets the right edge of the receiver's window.
    pub(crate) fn keep_to(&mut self, edge: u64) {
        self.edge = edge;
    }

    /// Moves the right edge of the receiver's window, but never back; returns true if it moved.
    pub(crate) fn open_to(&mut self, edge: u64) -> bool {
        let moves = edge > self.edge;
        self.edge = self.edge.max(edge);
        moves
    }

    /// Returns true if the receiver's window alone keeps this end from sending, and nothing is in flight.
    pub(crate) fn is_shut(&self, config: &Config) -> bool {
        let Recovery { una, highest, .. } = self.recovery;
        let next = u64::from(config.mss).min(self.end - una);
        !self.opening && una == highest && next > 0 && una + next > self.edge
    }

    /// Returns the present timeout.
    pub(crate) fn timeout(&self, config: &Config) -> Span {
        self.recovery.rto.timeout(config)
    }

    /// Returns the end of the enqueued data.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the position before which all data is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.recovery.una
    }

    /// Returns true if all enqueued data is acknowledged.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.recovery.una == self.end
    }

    /// Processes an acknowledgement from the receiver.
    #[inline]
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&Extension>,
        out: &mut impl Output,
    ) {
        if self.opening {
            self.opened(config, now, packet, out);
            self.transmit(config, now, out);
            self.schedule_probe(config, now, false, out);
            return;
        }
        let news = match extension {
            Some(_) if config.goes_back => {
                if !self.go_back(config, now, packet, out) {
                    return;
                }
                0
            }
            Some(extension) => self.note_blocks(config, now, extension.sack.as_slice()),
            None => 0,
        };
        if config.tlp && self.recovery.answer_to_probe(packet.seq, !blocks(extension).is_empty()) {
            self.reduce(config, now);
        }
        if packet.seq > self.recovery.una {
            self.on_new_ack(config, now, packet, extension, news, out);
        } else if packet.seq == self.recovery.una
            && self.recovery.highest > self.recovery.una
            && (news > 0 || !config.sack)
            && !packet.flags.has(Flags::SYN)
        {
            let beyond = self.recovery.count_beyond(config, news);
            if self.spread.is_some() {
                self.spread_cut(config, self.window.cwnd, beyond);
            }
            self.hear_of_gap(config, now, packet, beyond);
            if config.rack {
                self.look_for_losses(config, now, blocks(extension), true, out);
                self.transmit(config, now, out);
            } else {
                self.on_dup_ack(config, now, out);
            }
        } else if config.rack && (packet.seq == self.recovery.una || news > 0) {
            // The blocks of an ACK that later ones have overtaken count too.
            let duplicate = packet.seq == self.recovery.una;
            self.look_for_losses(config, now, blocks(extension), duplicate, out);
        }
    }

    /// Handles the news that a switch has removed the payload of a packet: it is lost, and known to be. Only the sending
    /// times of segments tell which one is meant.
    #[cold]
    pub fn on_trimmed(&mut self, config: &Config, now: Instant, packet: &Packet, out: &mut impl Output) {
        let again = packet.stamp == Instant::MAX;
        let found = self.recovery.note_trimmed(packet.seq, again);
        if !found.more {
            return;
        }
        let Sender { recovery, window, law, current, queue, .. } = self;
        if !law.on_trimmed(window, &state(config, now, recovery, current, queue)) {
            self.react(config, now, found, out);
        } else if found.lost {
            self.begin_repair(config, now, out);
        }
        self.transmit(config, now, out);
    }

    /// Go-back-N: handles the news of a gap where the acknowledged data ends. Everything from there on is sent again. It is
    /// one loss to the controller until that is acknowledged. Returns true if new data is acknowledged too, which is not
    /// handled here.
    #[cold]
    fn go_back(&mut self, config: &Config, now: Instant, packet: &Packet, out: &mut impl Output) -> bool {
        if packet.seq < self.recovery.una || self.recovery.highest == self.recovery.una {
            return false;
        }
        if self.recovery.phase == Phase::Open {
            self.reduce(config, now);
        }
        self.recovery.go_back(config, now);
        if packet.seq > self.recovery.una {
            return true;
        }
        self.hear_of_gap(config, now, packet, 0);
        self.restart_timer(config, now, out);
        self.transmit(config, now, out);
        false
    }

    /// Passes an acknowledgement of `bytes` beyond a gap to the controller.
    #[cold]
    fn hear_of_gap(&mut self, config: &Config, now: Instant, packet: &Packet, bytes: u64) {
        let Sender { recovery, window, law, current, queue, .. } = self;
        law.answer_gap(window, || Acked {
            bytes,
            marked: packet.flags.has(Flags::ECE),
            may_grow: recovery.phase == Phase::Open,
            may_cut: recovery.phase == Phase::Open && recovery.una > recovery.recover,
            sample: (packet.stamp != Instant::MAX).then(|| now - packet.stamp),
            ..state(config, now, recovery, current, queue)
        });
    }

    /// RFC 8985: detects losses among segments that were sent before the acknowledged ones.
    #[cold]
    fn look_for_losses(
        &mut self,
        config: &Config,
        now: Instant,
        blocks: &[(u64, u64)],
        duplicate: bool,
        out: &mut impl Output,
    ) {
        if !duplicate && blocks.is_empty() && self.recovery.arrives_in_order(now) {
            return;
        }
        let found = self.recovery.look_for_losses(config, now, &Answer { blocks, duplicate });
        self.react(config, now, found, out);
        let at = self.recovery.wake_at();
        if at < self.recovery.rto_at {
            out.arm(at);
        }
    }

    fn react(&mut self, config: &Config, now: Instant, found: Findings, out: &mut impl Output) {
        if found.lost {
            self.enter_recovery(config, now, out);
        } else if found.lost_again {
            self.reduce(config, now);
        }
    }

    /// RFC 8985 7.2: schedules a probe after new data was sent or acknowledged.
    #[inline]
    fn schedule_probe(&mut self, config: &Config, now: Instant, acknowledged: bool, out: &mut impl Output) {
        if config.tlp
            && let Some(at) = self.recovery.schedule_probe(config, now, acknowledged)
        {
            out.arm(at);
        }
    }

    /// RFC 8985 7.3: sends a probe, of new data if there is any, and restarts the RTO.
    fn probe_tail(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let Recovery { una, next, .. } = self.recovery;
        let buffer_end = una.saturating_add(config.window_limit.0).min(self.edge);
        let len = u64::from(config.mss).min(self.end - next);
        if len > 0 && next + len <= buffer_end {
            self.emit(config, now, next, len as u32, out);
            self.recovery.sent(next + len);
            self.recovery.probed(false);
        } else if let Some(last) = self.recovery.last_segment() {
            self.resend(config, now, last, out);
            self.recovery.probed(true);
        }
    }

    /// Handles the events of time alone: losses that it reveals, and probes.
    #[cold]
    fn on_time(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let found = self.recovery.look_again(config, now);
        self.react(config, now, found, out);
        if found.lost || found.more {
            self.transmit(config, now, out);
        }
        if let Some(may_probe) = self.recovery.probe_is_due(now) {
            if may_probe && !self.is_held(now, out) {
                out.probed();
                self.probe_tail(config, now, out);
            }
            self.recovery.rto_at = now + self.recovery.rto.timeout(config);
        }
    }

    /// Handles the armed timer.
    pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let at = self.recovery.wake_at();
        if at > now && at != Instant::MAX && !self.paces {
            // Acknowledgements have postponed the timer since it was armed.
            return out.arm(at);
        }
        if config.rack {
            self.on_time(config, now, out);
        }
        if self.recovery.rto_at > now {
            let at = self.recovery.wake_at();
            if at != Instant::MAX {
                out.arm(at);
            }
            if self.paces && !self.opening {
                self.transmit(config, now, out);
                self.schedule_probe(config, now, false, out);
            }
            return;
        }
        out.timed_out(self.recovery.rto.timer(config));
        if self.opening {
            // RFC 5681 3.1: the first window after a lost SYN, or a lost answer to it, is one segment. The RTO stays
            // doubled until there is a sample, for RFC 6298's 3 s (5.7) in a datacenter's measure.
            self.time_out_law(config, now);
            self.recovery.rto.back_off();
            self.open(config, now, out);
            return;
        }
        self.give_up(now, out);
        // RFC 5681 3.1: ssthresh is set at the first timeout of a segment, not at its repetitions.
        if self.recovery.phase != Phase::Loss || self.recovery.una >= self.recovery.recover {
            self.lost(config, now, true);
        }
        self.recovery.on_timeout();
        self.recovery.go_back(config, now);
        self.time_out_law(config, now);
        self.give_up(now, out);
        self.inflation = 0.0;
        if self.law.probes() {
            self.probe(config, now, out);
        } else {
            self.transmit(config, now, out);
        }
    }

    /// Continues sending when the host's queue has room again.
    pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if !self.opening {
            self.transmit(config, now, out);
            self.schedule_probe(config, now, false, out);
        }
    }

    /// Sends the first unacknowledged byte, alone.
    #[cold]
    fn probe(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if let Some((start, _)) = self.recovery.upcoming(self.end) {
            self.emit(config, now, start, 1, out);
            self.recovery.sent(start + 1);
        }
    }

    /// Returns the congestion controller.
    pub(crate) fn law(&mut self) -> &mut Controller {
        &mut self.law
    }

    /// Reports the present values of the signals.
    pub fn observe(&self, config: &Config, now: Instant, seen: &mut Observation) {
        let Cwnd { cwnd, ssthresh, .. } = self.window;
        seen.add(&CWND, cwnd);
        seen.add_if(&SSTHRESH, ssthresh.is_finite().then_some(ssthresh));
        let state = state(config, now, &self.recovery, &self.current, &self.queue);
        self.law.observe(&self.window, &state, seen);
        seen.add_if(&SRTT, self.recovery.rto.srtt().map(Span::as_micros_f64));
    }

    /// Processes an acknowledgement of new data; `news` bytes have newly arrived beyond a gap.
    fn on_new_ack(
        &mut self,
        config: &Config,
        now: Instant,
        packet: &Packet,
        extension: Option<&Extension>,
        news: u64,
        out: &mut impl Output,
    ) {
        let ahead = self.recovery.next - self.recovery.una;
        let advance = self.recovery.advance(config, now, packet.seq, packet.stamp);
        let was_recovering = advance.was == Phase::Recovery;
        if was_recovering {
            self.repair(config, now, &advance, out);
        }
        let spreading = self.spread.is_some() && self.is_spreading();
        // The controller decides about the message that is still being sent.
        while self.recovery.una >= self.current.end {
            match self.queue.pop_front() {
                Some(next) => {
                    self.current = next;
                    self.law.on_next();
                }
                None => break,
            }
        }
        if config.rack {
            self.look_for_losses(config, now, blocks(extension), false, out);
        }
        let recovering = was_recovering || self.recovery.phase == Phase::Recovery;
        let fills = !config.cwnd_validation || self.usage.allows_growth(&self.window, config.mss);
        let may_grow = !recovering && !spreading && fills;
        let may_cut = self.recovery.phase == Phase::Open && self.recovery.una > self.recovery.recover;
        let arrived = advance.bytes + news - advance.counted;
        let mut segments = float(advance.bytes) / f64::from(config.mss);
        if advance.was == Phase::Loss {
            // RFC 3465 2.3: the bytes that it covers beyond the retransmitted segment left the network long ago.
            segments = segments.min(1.0);
            if self.recovery.phase == Phase::Open && !config.sack && ahead > u64::from(config.mss) {
                // RFC 6582 3.2, step 2: more than was needed may have been sent again. NewReno cannot tell
                // the duplicates that this brings from a loss until something new is acknowledged.
                self.recovery.recover = self.recovery.una + 1;
            }
        }
        if self.window.cwnd < self.window.ssthresh {
            segments = segments.min(config.slow_start_step);
        }
        let before = self.window.cwnd;
        let marked = packet.flags.has(Flags::ECE);
        let Sender { recovery, window, law, current, queue, .. } = self;
        let reduced = law.answer(window, || Acked {
            bytes: arrived,
            segments,
            marked,
            may_grow,
            may_cut,
            sample: (packet.stamp != Instant::MAX).then(|| now - packet.stamp),
            ..state(config, now, recovery, current, queue)
        });
        self.tell_reduced |= reduced;
        if spreading || reduced && config.spread_cuts {
            self.spread_cut(config, before, arrived);
        }
        self.give_up(now, out);
        if self.recovery.una == self.recovery.highest {
            self.recovery.rto_at = Instant::MAX;
        } else if config.sack || !(was_recovering && self.recovery.phase == Phase::Recovery) {
            self.restart_timer(config, now, out);
        }
        self.transmit_inlined(config, now, out);
        self.schedule_probe(config, now, true, out);
    }

    /// Returns true while a cut is being spread. It ends when more is acknowledged than was sent before it (Linux,
    /// tcp_fastretrans_alert: "CWR is to be held something *above* high_seq is ACKed").
    #[cold]
    fn is_spreading(&mut self) -> bool {
        if let Some(spread) = self.spread.take_if(|spread| self.recovery.una > spread.end) {
            self.window.cwnd = spread.target;
        }
        self.spread.is_some()
    }

    /// Continues to spread a cut after the arrival of `bytes`, or begins with the echo that asked for it. The
    /// controller has then cut the window from `before`.
    #[cold]
    fn spread_cut(&mut self, config: &Config, before: f64, bytes: u64) {
        let Recovery { una, next, .. } = self.recovery;
        if self.spread.is_none() {
            let target = self.window.cwnd;
            if target >= before {
                return;
            }
            self.spread = Some(Box::new(Spread { before, target, delivered: 0.0, sent: 0.0, end: next }));
        }
        if let Some(spread) = &mut self.spread {
            let segments = |bytes: u64| bytes as f64 / f64::from(config.mss);
            self.window.cwnd = spread.window(segments(bytes), segments(next - una - self.recovery.sacked_below(next)));
        }
    }

    /// Restarts the retransmission timer (RFC 6298 5.3). A wake-up no later than the old time is pending. An earlier
    /// one is needed when the RTO has become shorter, by the first sample or at the end of a back-off.
    #[inline]
    fn restart_timer(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let at = now + self.recovery.rto.timeout(config);
        if at < self.recovery.rto_at {
            out.arm(at);
        }
        self.recovery.rto_at = at;
    }

    /// An acknowledgement of new data during a fast recovery.
    #[cold]
    fn repair(&mut self, config: &Config, now: Instant, advance: &Advance, out: &mut impl Output) {
        if self.recovery.phase == Phase::Open {
            self.window.cwnd = self.window.ssthresh;
            self.inflation = 0.0;
        } else if advance.partial {
            // RFC 6582 3.2, step 3: the timer is restarted at the first partial ACK only.
            if advance.first_partial {
                self.restart_timer(config, now, out);
            }
            let segments = advance.bytes as f64 / f64::from(config.mss);
            self.inflation = (self.inflation - segments).max(0.0) + 1.0;
            self.resend(config, now, (self.recovery.una, u64::MAX), out);
        }
    }

    #[cold]
    fn on_dup_ack(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if self.law.repairs_by_timer_alone() {
            return self.transmit(config, now, out);
        }
        match self.recovery.on_duplicate(config) {
            Duplicate::Loss => self.enter_recovery(config, now, out),
            Duplicate::Departure => self.inflation += 1.0,
            Duplicate::Nothing => {}
        }
        self.transmit(config, now, out);
    }

    fn enter_recovery(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.reduce(config, now);
        self.begin_repair(config, now, out);
    }

    /// Begins the repair of a loss that the controller has heard of.
    fn begin_repair(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        // RFC 6582 3.2, step 2: the segments that have left the network. With SACK the pipe contains this.
        self.inflation = if config.sack { 0.0 } else { f64::from(config.dup_ack_threshold) };
        let first = self.recovery.enter();
        if !self.is_held(now, out) || !config.sack {
            self.resend(config, now, first, out);
            self.resent(config, now, out);
        }
    }

    /// RFC 6675 6: the timer may be restarted with each retransmission of a recovery. Otherwise a recovery that lasts
    /// longer than the RTO would end in a timeout, as would every one with a longer round trip.
    fn resent(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if config.restart_on_retransmission {
            self.restart_timer(config, now, out);
        }
    }

    /// Records the SACK blocks; returns the number of bytes that are SACKed for the first time.
    fn note_blocks(&mut self, config: &Config, now: Instant, blocks: &[(u64, u64)]) -> u64 {
        let news = self.recovery.note_blocks(config, blocks);
        if news.lost_again {
            self.reduce(config, now);
        }
        news.bytes
    }

    /// Handles a loss: the controller sets ssthresh, cwnd follows, and later packets belong to a new window.
    fn reduce(&mut self, config: &Config, now: Instant) {
        self.lost(config, now, false);
        self.window.cwnd = self.window.ssthresh;
        self.recovery.begin_window(now);
    }

    /// Ends the spreading of a cut and reports a loss to the controller. With classic ECN the mark has been answered by
    /// the cut, and the loss is of the same window of data. RFC 3168 6.1.2: one reduction for both, and ssthresh stays.
    /// So does Linux, which enters Recovery or Loss from CWR without a new reduction. A controller that answers the
    /// extent of marking halves for a loss as well (RFC 8257 3.5). So does Linux's DCTCP: from the window as reduced so
    /// far.
    fn lost(&mut self, config: &Config, now: Instant, timeout: bool) {
        let answered = self.spread.take().is_some() && self.ecn == Ecn::Classic;
        if answered && !timeout {
            return;
        }
        let ssthresh = self.window.ssthresh;
        let state = state(config, now, &self.recovery, &self.current, &self.queue);
        let flight = self.flight(config);
        self.law.on_loss(&mut self.window, &Lost { now, state, flight, timeout });
        if answered {
            self.window.ssthresh = ssthresh;
        }
        self.tell_reduced = self.ecn == Ecn::Classic;
    }

    /// Lets the controller set the window after a timeout.
    fn time_out_law(&mut self, config: &Config, now: Instant) {
        let state = state(config, now, &self.recovery, &self.current, &self.queue);
        let loss = Lost { now, state, flight: self.flight(config), timeout: true };
        self.law.on_timeout(&mut self.window, config.loss_window, &loss);
    }

    /// Sends as much as the window allows.
    #[inline(never)]
    fn transmit(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        self.transmit_inlined(config, now, out);
    }

    /// As [`transmit`](Sender::transmit), compiled into the path of nearly all acknowledgements.
    #[inline(always)]
    fn transmit_inlined(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        if self.recovery.repairs_by_pipe(config) {
            self.transmit_by_pipe(config, now, out);
            return;
        }
        let mss = u64::from(config.mss);
        let recovery = &mut self.recovery;
        let extra = match recovery.phase {
            Phase::Open if recovery.dup_acks > 0 && config.limited_transmit && !config.sack => {
                f64::from(recovery.dup_acks.min(config.dup_ack_threshold - 1))
            }
            _ => self.inflation,
        };
        let window = (whole(self.window.cwnd + extra) * mss).min(config.window_limit.0);
        let buffer_end = recovery.una.saturating_add(config.window_limit.0);
        let mut flight = recovery.next - recovery.una;
        if !recovery.none_sacked() && (recovery.phase == Phase::Loss || config.limited_transmit) {
            flight -= recovery.sacked_below(recovery.next);
        }
        let mut sends = false;
        while let Some((start, limit)) = self.recovery.upcoming(self.end) {
            let question = self.question(mss);
            let asks = question.is_some();
            if asks && flight > 0 {
                break;
            }
            let len = question.unwrap_or(mss).min(limit - start);
            if flight + len > window && flight > 0
                || start + len > buffer_end && start > self.recovery.una
                || start + len > self.edge
            {
                break;
            }
            if len < mss && !asks && config.nagle && start == self.recovery.highest && start > self.recovery.una {
                break;
            }
            if self.paces && self.must_wait(config, now, out) || !out.has_room() {
                break;
            }
            self.emit_inlined(config, now, start, len as u32, out);
            self.recovery.sent(start + len);
            flight += len;
            sends = true;
        }
        self.note_usage(config, flight, sends);
    }

    /// Records the bytes in flight after an attempt to send more.
    #[inline]
    fn note_usage(&mut self, config: &Config, flight: u64, sends: bool) {
        if !config.cwnd_validation {
            return;
        }
        let mss = u64::from(config.mss);
        let limited = flight + mss > whole(self.window.cwnd) * mss;
        if sends || limited {
            self.usage.note(self.recovery.una, self.recovery.next, limited);
        }
    }

    /// Sends as much as the pipe allows (RFC 6675 5, step C).
    fn transmit_by_pipe(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let mss = u64::from(config.mss);
        // Below one segment pacing limits the sender, not the amount in flight.
        let window = ((self.window.cwnd.max(1.0) as u64) * mss).min(config.window_limit.0);
        let buffer_end = self.recovery.una.saturating_add(config.window_limit.0).min(self.edge);
        let mut pipe = self.recovery.pipe(config);
        let mut sends = false;
        // After a timeout something is sent whatever the pipe says: nothing else would wake it.
        while pipe + mss <= window || self.recovery.rto_at == Instant::MAX {
            if self.paces && self.must_wait(config, now, out) || !out.has_room() {
                break;
            }
            let next = self.recovery.next;
            let question = self.question(mss);
            let asks = question.is_some();
            if asks && pipe > 0 && self.recovery.rto_at != Instant::MAX {
                break;
            }
            let len = question.unwrap_or(mss).min(self.end - next);
            pipe += if let Some(lost) = self.recovery.next_lost(config) {
                let lost = question.map_or(lost, |question| (lost.0, lost.1.min(lost.0 + question)));
                self.resent(config, now, out);
                self.resend(config, now, lost, out)
            } else if len > 0 && next + len <= buffer_end && (len == mss || asks || !config.nagle) {
                self.emit(config, now, next, len as u32, out);
                self.recovery.sent(next + len);
                len
            } else if let Some(doubtful) = self.recovery.next_doubtful() {
                self.resent(config, now, out);
                self.resend(config, now, doubtful, out)
            } else if let Some((start, end)) = self.recovery.next_rescue(config) {
                self.resent(config, now, out);
                self.emit(config, now, start, (end - start) as u32, out);
                end - start
            } else {
                break;
            };
            sends = true;
        }
        self.note_usage(config, pipe, sends);
    }

    /// Returns the bytes of the next packet if it only probes.
    fn question(&self, mss: u64) -> Option<u64> {
        if self.paces { self.law.asks().map(|bytes| bytes.0.min(mss)) } else { None }
    }

    /// Returns true if the next packet must be delayed though the window is open, and arms a timer for it.
    /// Retransmissions at a loss are not delayed, but the packets after them are.
    #[cold]
    fn must_wait(&mut self, config: &Config, now: Instant, out: &mut impl Output) -> bool {
        if self.is_held(now, out) {
            return true;
        }
        if let Some(room) = self.room_at_port(config, now, out) {
            out.arm(room);
            return true;
        }
        let Some(rate) = self.law.rate(now, self.recovery.highest).or_else(|| self.window_rate(config)) else {
            return false;
        };
        let due = self.pacer.due(rate.round().max(1.0) as u64);
        if due > now {
            out.arm(due);
        }
        due > now
    }

    /// Returns true if the controller blocks sending for now.
    fn is_held(&self, now: Instant, out: &mut impl Output) -> bool {
        let until = if self.paces { self.law.blocked_until() } else { Instant::ZERO };
        if until > now {
            out.arm(until);
        }
        until > now
    }

    /// Returns the time at which a segment may follow the ones at the host's port; none if it may now. One is allowed
    /// whatever the limit.
    fn room_at_port(&mut self, config: &Config, now: Instant, out: &impl Output) -> Option<Instant> {
        while self.at_port.front().is_some_and(|(leaves, _)| *leaves <= now) {
            self.at_port.pop_front();
        }
        if self.at_port.is_empty() {
            return None;
        }
        let limit = config.nic_limit.at(out.site().rate, config.mss);
        let mut there: u64 = self.at_port.iter().map(|(_, payload)| payload).sum();
        let mut room = None;
        for &(leaves, payload) in &self.at_port {
            if there + u64::from(config.mss) <= limit {
                break;
            }
            there -= payload;
            room = Some(leaves);
        }
        room
    }

    /// Returns the rate that paces a window, in bit/s with headers; none before the first RTT sample.
    fn window_rate(&self, config: &Config) -> Option<f64> {
        let srtt = self.recovery.rto.srtt()?;
        let cwnd = self.window.cwnd;
        let segments = if cwnd < 1.0 { cwnd } else { self.law.pacing_rate(&config.pacing, &self.window)? };
        let bits = f64::from(config.mss + config.header) * 8.0;
        Some(segments * bits / srtt.as_secs_f64())
    }

    /// Retransmits the segment at `start`, not beyond `limit`; returns its length.
    fn resend(&mut self, config: &Config, now: Instant, (start, limit): (u64, u64), out: &mut impl Output) -> u64 {
        let end = (start + u64::from(config.mss)).min(self.recovery.highest).min(limit);
        self.emit(config, now, start, (end - start) as u32, out);
        self.recovery.sent_again(config, start, end);
        end - start
    }

    /// Sends the segment at `seq`.
    #[inline(never)]
    fn emit(&mut self, config: &Config, now: Instant, seq: u64, len: u32, out: &mut impl Output) {
        self.emit_inlined(config, now, seq, len, out);
    }

    /// As [`emit`](Sender::emit), compiled into [`transmit`](Sender::transmit).
    #[inline(always)]
    fn emit_inlined(&mut self, config: &Config, now: Instant, seq: u64, len: u32, out: &mut impl Output) {
        let again = seq < self.recovery.highest;
        let mut flags = match self.ecn {
            Ecn::Off => Flags::NONE,
            // RFC 3168 6.1.5: retransmissions are not ECN-capable.
            Ecn::Classic => Flags::NONE.with_if(!again, Flags::ECT),
            Ecn::Exact => Flags::ECT,
        };
        let stamp = if again { Instant::MAX } else { now };
        // RFC 3168 6.1.2: on the first new data, so that its loss is a new reduction.
        flags = flags.with_if(again, Flags::AGAIN).with_if(self.tell_reduced && !again, Flags::CWR);
        self.tell_reduced &= again;
        self.last_sent = now;
        if self.recovery.rto_at == Instant::MAX {
            self.recovery.rto_at = now + self.recovery.rto.timeout(config);
            out.arm(self.recovery.rto_at);
        }
        let mut packet = Packet::data(seq, len, config.header, stamp, flags);
        packet.rank = self.rank_at(seq);
        out.send(packet);
        if self.counts_sent {
            self.count_sent(config, now, seq, len, out);
        }
    }

    /// Counts a sent segment for pacing, the spreading of a cut, and the limit at the port. (The arguments are no
    /// reference to the packet, for which the compiler would store every packet to memory first.)
    #[cold]
    fn count_sent(&mut self, config: &Config, now: Instant, seq: u64, len: u32, out: &mut impl Output) {
        self.recovery.note_sent(now, seq, seq + u64::from(len));
        if !self.paces && self.spread.is_none() {
            return;
        }
        self.pacer.sent(now, u64::from(len + config.header));
        if let Some(spread) = &mut self.spread {
            spread.sent += f64::from(len) / f64::from(config.mss);
        }
        if config.nic_limit != NicLimit::None {
            self.at_port.push_back((out.leaves(), u64::from(len)));
        }
    }

    /// Returns the rank of a packet that begins at `seq`.
    #[inline(always)]
    fn rank_at(&self, seq: u64) -> u32 {
        if self.ranks || seq >= self.current.end {
            return self.rank_of(seq);
        }
        self.current.message.rank
    }

    /// As [`rank_at`](Sender::rank_at), where the controller decides, or in a later message.
    #[cold]
    fn rank_of(&self, seq: u64) -> u32 {
        let messages = std::iter::once(&self.current).chain(&self.queue);
        let mut rest = messages.skip_while(|message| seq >= message.end);
        rest.next().map_or(Packet::UNTAGGED, |message| self.law.rank(message, seq))
    }

    /// Sends or retransmits the SYN (RFC 9293 3.5).
    fn open(&mut self, config: &Config, now: Instant, out: &mut impl Output) {
        let again = self.recovery.rto_at != Instant::MAX;
        let stamp = if again { Instant::MAX } else { now };
        let flags = Flags::SYN.with_if(self.ecn == Ecn::Exact, Flags::ECT).with_if(again, Flags::AGAIN);
        self.recovery.rto_at = now + self.recovery.rto.timeout(config);
        out.arm(self.recovery.rto_at);
        let mut packet = Packet::data(0, 0, config.header, stamp, flags);
        packet.rank = self.current.message.rank;
        out.send(packet);
    }

    /// Completes the handshake (RFC 9293 3.5) with a packet of its own, ahead of the first data, as Linux does: it
    /// occupies space in the queues of its path.
    #[cold]
    fn opened(&mut self, config: &Config, now: Instant, packet: &Packet, out: &mut impl Output) {
        self.opening = false;
        self.recovery.rto_at = Instant::MAX;
        if packet.stamp != Instant::MAX {
            self.recovery.rto.sample(now - packet.stamp, config);
        }
        let flags = Flags::OPENED.with_if(self.ecn == Ecn::Exact, Flags::ECT);
        let mut completing = Packet::data(0, 0, config.header, Instant::MAX, flags);
        completing.rank = self.current.message.rank;
        out.send(completing);
    }

    /// Aborts the current message, once, if the controller decides so. Only messages with a deadline are aborted.
    #[inline(always)]
    fn give_up(&mut self, now: Instant, out: &mut impl Output) {
        if self.current.message.deadline.is_some() {
            self.give_up_late(now, out);
        }
    }

    /// As [`give_up`](Sender::give_up), where there is a deadline.
    fn give_up_late(&mut self, now: Instant, out: &mut impl Output) {
        if !self.law.aborts(&self.current.message, now) {
            return;
        }
        let end = self.current.end;
        let unsent = end.saturating_sub(self.recovery.highest.max(self.recovery.una));
        self.current.message.deadline = None;
        self.end -= unsent;
        self.current.end -= unsent;
        self.queue.iter_mut().for_each(|message| message.end -= unsent);
        out.abandon(end, Bytes(unsent));
    }

    /// Returns the segments that count as in flight at a loss: all unacknowledged ones, but no more than the window
    /// (SACKed data behind a hole is not in flight).
    fn flight(&self, config: &Config) -> f64 {
        ((self.recovery.highest - self.recovery.una) as f64 / f64::from(config.mss)).min(self.window.cwnd)
    }
}

/// Returns the content of an acknowledgement of nothing at this time. The parameters are parts of a sender, so that its
/// controller and its window can be changed meanwhile.
#[inline(always)]
fn state<'a>(
    config: &Config,
    now: Instant,
    recovery: &Recovery,
    current: &Current,
    later: &'a VecDeque<Current>,
) -> Acked<'a> {
    Acked {
        now,
        bytes: 0,
        segments: 0.0,
        marked: false,
        may_grow: false,
        may_cut: false,
        una: recovery.una,
        next: recovery.next,
        mss: f64::from(config.mss),
        srtt: recovery.rto.srtt(),
        min_rtt: recovery.rto.smallest(),
        sample: None,
        message: *current,
        later,
    }
}

/// Returns the ranges beyond a gap that an acknowledgement reports.
fn blocks(extension: Option<&Extension>) -> &[(u64, u64)] {
    extension.map_or(&[], |extension| extension.sack.as_slice())
}
