//! `d2tcp_plus`: deadlines without help from the network. A sender insists on the rate that a message needs where that
//! is above its minimum rate, and defers the message according to its laxity.

mod keys;
mod standing;

use units::{Bytes, Instant, Span, mix64};

use super::dctcp::{self, Marking};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Message, Needs, Observation, Pacing, Signal, Site};

use keys::{Constants, KEYS};
use standing::Standing;

/// D2TCP with deferral and needed rates.
pub(super) const DESCRIPTOR: Descriptor<D2tcpPlus> = Descriptor {
    name: "d2tcp_plus",
    help: "D2TCP's promise from the sender alone: insists on the rate that a deadline needs, or stands back while it can",
    source: "duetime's own; docs/promise.md",
    aliases: &[("alpha", "initial_alpha"), ("gain", "g"), ("lax", "d2tcp_plus"), ("plus", "d2tcp_plus")],
    groups: &[dctcp::KEYS, &dctcp::AS_RFC.keys(), KEYS],
    signals: &[dctcp::ALPHA, NEED, LAXITY],
    needs: Needs::of(
        dctcp::ON_MARKS.switches,
        "a window law that paces and holds back; sizes and deadlines from the application",
    )
    .made_for(dctcp::MARKS),
    build: |values, connection| Ok(D2tcpPlus::new(Marking::from_values(values), Constants::of(values, connection), 0)),
};

/// The rate that the deadline needs.
const NEED: Signal =
    Signal { name: "need", help: "the window that the deadline needs, in segments (d2tcp_plus)", unit: "segments" };
/// The laxity: the time to spare.
const LAXITY: Signal =
    Signal { name: "laxity", help: "time left beyond what the rest needs at this window (d2tcp_plus)", unit: "us" };

/// Needed rates, deferral by laxity, and an early end of infeasible messages; DCTCP for messages without a deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct D2tcpPlus {
    marking: Marking,
    /// Boxed, so that a connection with another controller does not take memory for them.
    constants: Box<Constants>,
    /// Seed of its random numbers, together with the time and the number of draws.
    identity: u64,
    draws: u64,
    /// Seconds that a segment's payload takes on the host's link.
    segment_time: f64,
    /// Factor on times that are meant for 1 Gbps; 1 before the rate of the host's link is known, and without probing
    /// (`blindly`).
    times: f64,
    /// The end of the message that the fields below are about.
    message: u64,
    /// The time left when it was first seen, in seconds.
    allowed: f64,
    /// It began with a window above an admitted one.
    wide: bool,
    /// Its window was raised to its need.
    boosted: bool,
    /// It has had neither mark nor loss.
    calm: bool,
    /// It needs more than a segment per round trip.
    pressed: bool,
    /// A packet of it has arrived without a mark since it was last deferred.
    admitted: bool,
    /// Number of signs of congestion while it was not admitted.
    refusals: u32,
    /// It was deferred, and probes before it continues.
    asking: bool,
    blocked_until: Instant,
    /// The deadline of an infeasible message.
    hopeless: Option<Instant>,
}

impl D2tcpPlus {
    /// Returns the state before the first message.
    fn new(marking: Marking, constants: Constants, identity: u64) -> D2tcpPlus {
        D2tcpPlus {
            marking,
            constants: Box::new(constants),
            identity,
            draws: 0,
            segment_time: 0.0,
            times: 1.0,
            message: u64::MAX,
            allowed: 0.0,
            wide: false,
            boosted: false,
            calm: true,
            pressed: false,
            admitted: false,
            refusals: 0,
            asking: false,
            blocked_until: Instant::ZERO,
            hopeless: None,
        }
    }

    /// Returns the state of the queued message that needs most, each with all data to be sent before it. Late messages
    /// rank after the others, so that they do not defer the ones behind them; without probing a late one needs most.
    fn next_due(&self, ack: &Acked) -> Option<Standing> {
        let presses =
            |standing: &Standing| if self.constants.asks && standing.left == 0.0 { -1.0 } else { standing.need };
        let own = Standing::of(&ack.message, ack);
        ack.later
            .iter()
            .filter_map(|later| Standing::of(later, ack))
            .chain(own)
            .reduce(|a, b| if presses(&b) >= presses(&a) { b } else { a })
    }

    fn see(&mut self, standing: &Standing, cwnd: f64) {
        if self.message != standing.end {
            self.message = standing.end;
            self.allowed = standing.left;
            // A connection that has met congestion still knows of it at the next message, as DCTCP's does.
            (self.boosted, self.calm) = (false, self.calm || !self.constants.asks);
            self.refusals = 0;
            (self.admitted, self.wide) = (false, cwnd > self.constants.admitted_window);
            self.lets_go();
        }
        self.pressed = standing.need >= 1.0 && standing.left > 0.0;
    }

    /// Ends deferral and pacing, which were for the sake of another message.
    fn lets_go(&mut self) {
        (self.asking, self.blocked_until, self.pressed) = (false, Instant::ZERO, false);
    }

    /// The horizon of the floor, in seconds.
    fn floor_horizon(&self) -> f64 {
        self.constants.floor_horizon * self.times
    }

    /// Returns the window after a sign of congestion: half of the part above the floor is cut.
    fn cut(&self, standing: &Standing, cwnd: f64) -> f64 {
        let constants = &self.constants;
        let floor = if self.pressed {
            standing.need * (self.floor_horizon() / standing.left).min(constants.floor_most)
        } else {
            0.0
        };
        (floor + (cwnd - floor) / 2.0).min(cwnd).max(1.0)
    }

    /// Returns the increase of the window per segment that is acknowledged without a mark.
    fn growth(&self, standing: &Standing) -> f64 {
        let constants = &self.constants;
        if self.calm {
            return constants.growth;
        }
        let urgency = if constants.asks && self.pressed { self.floor_horizon() / standing.left } else { 1.0 };
        constants.growth_later * urgency.clamp(1.0 / constants.growth_most, constants.growth_most)
    }

    /// Returns the laxity in seconds; negative if the message will be late. With probing it is computed for an
    /// otherwise idle host link, else at this window.
    fn laxity(&self, standing: &Standing, cwnd: f64) -> f64 {
        let constants = &self.constants;
        if constants.asks {
            return self.to_spare(standing);
        }
        let guard = constants.guard * standing.rest * standing.rtt / cwnd;
        let guard = guard.min(constants.guard_most).min(constants.guard_share * self.allowed);
        standing.left - guard - standing.rtt
    }

    /// Returns the laxity in seconds with the host's link to itself; negative if the message will be late.
    fn to_spare(&self, standing: &Standing) -> f64 {
        standing.left - self.alone(standing) - standing.rtt
    }

    /// Returns the seconds that the payload of the rest takes on an otherwise idle host link; 0 before its rate is
    /// known.
    fn alone(&self, standing: &Standing) -> f64 {
        standing.rest * self.segment_time
    }

    /// Returns true if the message probes before it sends data, so that others like it may be first. It must have time
    /// for an answer, also a delayed one, and for a start with a narrow window.
    fn asks_first(&self, standing: &Standing) -> bool {
        let Constants { asks, asks_first, hold_share, peers, ask_time, wide_rounds, answer_delay, .. } =
            *self.constants;
        let time = (peers * self.alone(standing)).max(ask_time * self.times).max(wide_rounds * answer_delay);
        asks && asks_first && hold_share > 0.0 && self.to_spare(standing) > time
    }

    /// Returns true if deferring and probing take as long as the message would by itself, had none of it been sent.
    fn is_short(&self, standing: &Standing) -> bool {
        let alone = standing.whole * self.segment_time;
        !self.wide && alone > 0.0 && alone <= self.constants.peer_rounds * standing.rtt
    }

    /// Returns the seconds that the rest of a short message takes among the messages that share the link in congestion.
    fn in_company(&self, standing: &Standing) -> f64 {
        self.constants.company_rounds * self.times * standing.rest * standing.rtt
    }

    /// Returns true if it was refused so often that many messages must share the link, and if it would be late among
    /// them. On an open connection others may be queued behind it, so that it tries.
    fn comes_too_late(&self, standing: &Standing) -> bool {
        let kept_out = !self.admitted && self.refusals >= self.constants.company_refusals;
        let may_be = self.constants.asks && standing.opens && kept_out && self.is_short(standing);
        may_be && standing.left < self.in_company(standing)
    }

    /// Returns the probability that a sign of congestion defers an admitted message. It is high when little has been
    /// sent, deferring pays, and there is time. A short message yields if it would be in time among others even after
    /// losing half of its time.
    fn yields(&self, standing: &Standing, laxity: f64) -> f64 {
        let alone = self.alone(standing);
        if alone == 0.0 {
            return 0.0;
        }
        let begun = libm::pow(standing.share, self.constants.hold_power);
        if self.is_short(standing) {
            return if standing.left > 2.0 * self.in_company(standing) { begun } else { 0.0 };
        }
        let pays = (1.0 - self.constants.peer_rounds * standing.rtt / alone).max(0.0);
        begun * pays * (1.0 - self.constants.peers * alone / laxity)
    }

    /// Handles a sign of congestion: returns the new window, and may defer the message.
    fn stand_back(&mut self, now: Instant, standing: &Standing, cwnd: f64, timeout: bool) -> f64 {
        self.calm = false;
        self.refusals += u32::from(!self.admitted);
        let cut = if timeout { 1.0 } else { self.cut(standing, cwnd) };
        let laxity = self.laxity(standing, cut);
        if laxity < 0.0 || self.comes_too_late(standing) {
            self.hopeless = Some(standing.deadline);
            if !self.constants.aborts {
                (self.admitted, self.asking) = (false, self.constants.asks);
                let wait = self.constants.hopeless_hold * self.times * (0.5 + self.draw(now));
                self.hold(now, wait);
            }
            return 1.0;
        }
        let alone = self.alone(standing);
        let Constants { ask_rounds, wide_rounds, peers, asks, .. } = *self.constants;
        let rounds = if self.wide { wide_rounds.max(ask_rounds) } else { ask_rounds };
        let time = (peers * alone).max(rounds * standing.rtt);
        let goes_on = if asks { laxity <= time } else { self.pressed };
        if goes_on || self.constants.hold_share == 0.0 {
            self.asking = false;
            return cut;
        }
        let power = libm::pow(standing.share, self.constants.hold_power);
        if self.constants.asks {
            if self.admitted && (timeout || self.draw(now) >= self.yields(standing, laxity)) {
                return cut;
            }
            (self.admitted, self.asking) = (false, true);
            // The rate of probing is proportional to the inverse square of the laxity x, which shrinks: 1/x grows by
            // time over scale for each probe. Probes are as far apart as a Poisson process' events.
            let scale = self.constants.ask_scale * self.times + self.constants.ask_lengths * alone;
            let growth = -libm::log(1.0 - self.draw(now)) * power * laxity / scale;
            self.hold(now, laxity * growth / (1.0 + growth));
            return 1.0;
        }
        if !timeout && self.draw(now) >= power {
            return cut;
        }
        let wait = self.draw(now) * laxity * self.constants.hold_share * power;
        self.hold(now, wait.min(self.constants.hold_most));
        1.0
    }

    fn hold(&mut self, now: Instant, seconds: f64) {
        self.blocked_until = now + Span::from_secs_f64(seconds);
    }

    /// Draws a number, uniformly from 0 to 1.
    fn draw(&mut self, now: Instant) -> f64 {
        self.draws += 1;
        let bits = mix64(self.identity ^ mix64(now.0 ^ mix64(self.draws)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Window for D2tcpPlus {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let Some(standing) = self.next_due(ack) else {
            return self.marking.on_ack(window, ack, |_, alpha| alpha / 2.0);
        };
        // Marks are counted, and answered once per window, as by DCTCP; the answer itself differs.
        let due = self.marking.on_ack(&mut window.clone(), ack, |_, alpha| alpha / 2.0);
        self.see(&standing, window.cwnd);
        if standing.rest == 0.0 {
            return false;
        }
        // The answer to a packet sent before the deferral does not describe the network after it.
        let waits = self.asking && ack.now < self.blocked_until;
        if !ack.marked && !waits {
            if self.asking {
                let Constants { admitted_window, admitted_short, .. } = *self.constants;
                let admitted = if self.is_short(&standing) { admitted_short } else { admitted_window };
                window.cwnd = window.cwnd.max(admitted).min(window.limit);
            }
            (self.admitted, self.asking) = (true, false);
        }
        if !self.boosted && standing.rtt > 0.0 && standing.left > 0.0 {
            self.boosted = true;
            window.cwnd = window.cwnd.max(self.constants.start * standing.need).min(window.limit);
        }
        if !waits && (due || self.asking && ack.marked) {
            window.cwnd = self.stand_back(ack.now, &standing, window.cwnd, false);
            window.ssthresh = window.cwnd;
        } else if ack.may_grow && !ack.marked && !waits {
            window.cwnd = (window.cwnd + self.growth(&standing) * ack.segments).min(window.limit);
        }
        due
    }
    fn on_beyond(&mut self, bytes: u64, marked: bool) {
        self.marking.count(bytes, marked);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.marking.on_loss();
        match self.next_due(&loss.state) {
            None => window.halve(loss),
            Some(standing) => {
                self.see(&standing, window.cwnd);
                window.ssthresh = if loss.timeout {
                    self.cut(&standing, window.cwnd)
                } else {
                    self.stand_back(loss.now, &standing, window.cwnd, false)
                };
            }
        }
    }
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, loss: &Lost) {
        window.cwnd = window.cwnd.min(loss_window);
        if let Some(standing) = self.next_due(&loss.state) {
            self.see(&standing, window.cwnd);
            window.cwnd = window.cwnd.min(self.stand_back(loss.now, &standing, window.cwnd, true));
        }
    }
    fn on_message(&mut self, window: &mut Cwnd, state: &Acked, idle: bool, site: Site) {
        self.segment_time = state.mss * 8.0 / site.rate.0 as f64;
        if self.constants.asks {
            self.times = libm::pow(1e9 / site.rate.0 as f64, self.constants.rate_power);
        }
        // A message that needs more than the deferred one is not deferred with it.
        let standing = self.next_due(state);
        if standing.is_some_and(|standing| standing.end != self.message) {
            self.lets_go();
        }
        if let Some(standing) = standing.filter(|standing| idle && self.asks_first(standing)) {
            window.cwnd = window.cwnd.min(self.constants.admitted_window);
            self.see(&standing, window.cwnd);
            self.asking = true;
        }
    }
    fn on_idle(&mut self, _: Span) {
        self.lets_go();
    }
    fn on_next(&mut self) {
        self.lets_go();
    }
    fn paces(&self) -> bool {
        true
    }
    fn pacing_rate(&self, pacing: &Pacing, window: &Cwnd) -> Option<f64> {
        if self.pressed { Some(pacing.gain * window.cwnd) } else { pacing.gain(window).map(|gain| gain * window.cwnd) }
    }
    fn blocked_until(&self) -> Instant {
        self.blocked_until
    }
    fn asks(&self) -> Option<Bytes> {
        self.asking.then_some(self.constants.question)
    }
    fn identify(&mut self, identity: u64) {
        self.identity = identity;
    }
    #[inline]
    fn aborts(&self, message: &Message, now: Instant) -> bool {
        let late = |deadline| deadline < now || self.hopeless == Some(deadline);
        self.constants.aborts && message.deadline.is_some_and(late)
    }
    fn observe(&self, window: &Cwnd, ack: &Acked, seen: &mut Observation) {
        seen.add(&dctcp::ALPHA, self.marking.alpha);
        if let Some(standing) = self.next_due(ack).filter(|standing| standing.left > 0.0) {
            seen.add(&NEED, standing.need);
            seen.add(&LAXITY, self.laxity(&standing, window.cwnd) * 1e6);
        }
    }
}

#[cfg(test)]
mod tests;
