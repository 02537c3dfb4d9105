//! `d2tcp_plus`: deadlines without help from the network. A sender insists on the rate that a message needs where that
//! is above its minimum rate, and defers the message according to its laxity.

mod keys;

use units::{Bytes, Instant, Span, Value, Values};

use super::dctcp::{self, Marking};
use super::deferral::{Draws, LAXITY, NEED, Standing};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs, Observation, Pacing, Site, Surroundings};

use keys::{Constants, KEYS};

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
    .made_for(dctcp::MARKS)
    .settling(settle),
    build: |values, connection| Ok(D2tcpPlus::new(Marking::from_values(values), Constants::of(values, connection), 0)),
};

fn settle(values: &mut Values, surroundings: &Surroundings) {
    if values.find("base_rtt").is_none() {
        values.set_default("base_rtt", Value::Time(surroundings.base_rtt));
    }
}

/// Needed rates and deferral by laxity; DCTCP for messages without a deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct D2tcpPlus {
    marking: Marking,
    /// Boxed, so that a connection with another controller does not take memory for them.
    constants: Box<Constants>,
    draws: Draws,
    /// Seconds that a segment's payload takes on the host's link.
    segment_time: f64,
    /// The end of the message that the fields below are about.
    message: u64,
    /// The time left when it was first seen, in seconds.
    allowed: f64,
    boosted: bool,
    /// It has had neither mark nor loss.
    calm: bool,
    /// It needs more than a segment per round trip.
    pressed: bool,
    /// A packet of it has arrived without a mark since it was last deferred.
    admitted: bool,
    /// It was deferred, and probes before it continues.
    asking: bool,
    blocked_until: Instant,
}

impl D2tcpPlus {
    /// Returns the state before the first message.
    fn new(marking: Marking, constants: Constants, identity: u64) -> D2tcpPlus {
        D2tcpPlus {
            marking,
            constants: Box::new(constants),
            draws: Draws::new(identity),
            segment_time: 0.0,
            message: u64::MAX,
            allowed: 0.0,
            boosted: false,
            calm: true,
            pressed: false,
            admitted: false,
            asking: false,
            blocked_until: Instant::ZERO,
        }
    }

    /// Returns the state of the queued message that needs most, each with all data to be sent before it. Late messages
    /// rank after the others, so that they do not defer the ones behind them.
    fn next_due(ack: &Acked) -> Option<Standing> {
        let presses = |standing: &Standing| if standing.left == 0.0 { -1.0 } else { standing.need };
        let own = Standing::of(&ack.message, ack);
        ack.later
            .iter()
            .filter_map(|later| Standing::of(later, ack))
            .chain(own)
            .reduce(|a, b| if presses(&b) >= presses(&a) { b } else { a })
    }

    fn see(&mut self, standing: &Standing) {
        if self.message != standing.end {
            self.message = standing.end;
            self.allowed = standing.left;
            self.admitted = false;
            self.boosted = false;
            self.lets_go();
        }
        self.pressed = standing.need >= 1.0 && standing.left > 0.0;
    }

    /// Ends deferral and pacing, which were for the sake of another message.
    fn lets_go(&mut self) {
        (self.asking, self.blocked_until, self.pressed) = (false, Instant::ZERO, false);
    }

    /// Returns the factor by which the nearness of the deadline lifts growth and floor.
    fn urgency(&self, standing: &Standing) -> f64 {
        (self.constants.floor_share * self.allowed / standing.left).min(self.constants.growth_most)
    }

    /// Returns the window after a sign of congestion: half of the part above the floor is cut.
    fn cut(&self, standing: &Standing, cwnd: f64) -> f64 {
        let floor = if self.pressed { standing.need * self.urgency(standing) } else { 0.0 };
        (floor + (cwnd - floor) / 2.0).min(cwnd).max(1.0)
    }

    /// Returns the increase of the window per segment that is acknowledged without a mark.
    fn growth(&self, standing: &Standing) -> f64 {
        if self.calm {
            return 1.0;
        }
        let most = self.constants.growth_most;
        let urgency = if self.pressed { self.urgency(standing).max(1.0 / most) } else { 1.0 };
        urgency / most
    }

    /// Returns the laxity in seconds with the host's link to itself; negative if the message will be late.
    fn laxity(&self, standing: &Standing) -> f64 {
        standing.left - self.alone(standing) - standing.rtt
    }

    /// Returns the seconds that the payload of the rest takes on an otherwise idle host link; 0 before its rate is
    /// known.
    fn alone(&self, standing: &Standing) -> f64 {
        standing.rest * self.segment_time
    }

    fn round(&self, standing: &Standing) -> f64 {
        standing.rtt.max(self.constants.base_rtt) + self.constants.answer_delay
    }

    fn can_wait(&self, standing: &Standing, rounds: f64) -> bool {
        let time = (self.constants.peers * self.alone(standing)).max(rounds * self.round(standing));
        self.constants.kappa > 0.0 && self.laxity(standing) > time
    }

    /// Returns the probability that a sign of congestion defers an admitted message.
    fn yields(&self, standing: &Standing, laxity: f64) -> f64 {
        let alone = self.alone(standing);
        if alone == 0.0 {
            return 0.0;
        }
        let begun = libm::pow(standing.share, self.constants.hold_power);
        let room = 1.0 - self.constants.peers * alone / laxity;
        let pays = if self.constants.x1 > 0.0 { (1.0 - self.constants.x1 * standing.rtt / alone).max(0.0) } else { 1.0 };
        begun * pays * room
    }

    /// Handles a sign of congestion: returns the new window, and may defer the message.
    fn stand_back(&mut self, now: Instant, standing: &Standing, cwnd: f64, timeout: bool) -> f64 {
        self.calm = false;
        let cut = if timeout { 1.0 } else { self.cut(standing, cwnd) };
        let laxity = self.laxity(standing);
        if laxity < 0.0 {
            (self.admitted, self.asking) = (false, true);
            let wait = self.constants.hopeless_hold * self.allowed * (0.5 + self.draws.draw(now));
            self.hold(now, wait);
            return 1.0;
        }
        if !self.can_wait(standing, self.constants.ask_rounds) {
            self.asking = false;
            return cut;
        }
        if self.admitted && (timeout || self.draws.draw(now) >= self.yields(standing, laxity)) {
            return cut;
        }
        (self.admitted, self.asking) = (false, true);
        let power = libm::pow(standing.share, self.constants.hold_power);
        let scale = self.constants.kappa * self.allowed + self.constants.ask_lengths * self.alone(standing);
        let growth = -libm::log(1.0 - self.draws.draw(now)) * power * laxity / scale;
        self.hold(now, laxity * growth / (1.0 + growth));
        1.0
    }

    fn hold(&mut self, now: Instant, seconds: f64) {
        self.blocked_until = now + Span::from_secs_f64(seconds);
    }
}

impl Window for D2tcpPlus {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let Some(standing) = D2tcpPlus::next_due(ack) else {
            return self.marking.on_ack(window, ack, |_, alpha| alpha / 2.0);
        };
        // Marks are counted, and answered once per window, as by DCTCP; the answer itself differs.
        let due = self.marking.on_ack(&mut window.clone(), ack, |_, alpha| alpha / 2.0);
        self.see(&standing);
        if standing.rest == 0.0 {
            return false;
        }
        // The answer to a packet sent before the deferral does not describe the network after it.
        let waits = self.asking && ack.now < self.blocked_until;
        if !ack.marked && !waits {
            if self.asking {
                window.cwnd = window.cwnd.max(self.constants.admitted_window).min(window.limit);
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
        match D2tcpPlus::next_due(&loss.state) {
            None => window.halve(loss),
            Some(standing) => {
                self.see(&standing);
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
        if let Some(standing) = D2tcpPlus::next_due(&loss.state) {
            self.see(&standing);
            window.cwnd = window.cwnd.min(self.stand_back(loss.now, &standing, window.cwnd, true));
        }
    }
    fn on_message(&mut self, window: &mut Cwnd, state: &Acked, idle: bool, site: Site) {
        self.segment_time = state.mss * 8.0 / site.rate.0 as f64;
        let Some(standing) = D2tcpPlus::next_due(state) else { return };
        // A message that needs more than the deferred one is not deferred with it.
        if standing.end != self.message {
            self.lets_go();
        }
        if idle && self.constants.asks_first && (standing.opens || self.constants.open_first) && self.can_wait(&standing, self.constants.first_rounds) {
            window.cwnd = window.cwnd.min(self.constants.admitted_window);
            self.see(&standing);
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
        self.draws.identity = identity;
    }
    fn observe(&self, _: &Cwnd, ack: &Acked, seen: &mut Observation) {
        seen.add(&dctcp::ALPHA, self.marking.alpha);
        if let Some(standing) = D2tcpPlus::next_due(ack).filter(|standing| standing.left > 0.0) {
            seen.add(&NEED, standing.need);
            seen.add(&LAXITY, self.laxity(&standing) * 1e6);
        }
    }
}
