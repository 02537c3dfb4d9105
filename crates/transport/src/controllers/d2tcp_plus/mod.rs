//! `d2tcp_plus`: deadlines without help from the network. A sender insists on the rate that a message needs where that
//! is above its minimum rate, and defers the message according to its laxity.

mod keys;

use units::{Bytes, Instant, Span};

use super::dctcp::{self, Marking};
use super::deferral::{Defers, Draws, LAXITY, NEED, Standing, pacing_rate};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs, Observation, Pacing, Site};

use keys::{Constants, KEYS, settle};

/// D2TCP with deferral and needed rates.
pub(super) const DESCRIPTOR: Descriptor<D2tcpPlus> = Descriptor {
    name: "d2tcp_plus",
    help: "D2TCP's promise from the sender alone: insists on the rate that a deadline needs, or waits while it can",
    source: "duetime's own; docs/promise.md",
    aliases: &[
        ("alpha", "initial_alpha"),
        ("gain", "g"),
        ("lax", "d2tcp_plus"),
        ("plus", "d2tcp_plus"),
        ("ask_scale", "ask_rate"),
        ("ask_time", "first_rounds"),
        ("wide_rounds", "first_rounds"),
        ("company_rounds", "company"),
    ],
    groups: &[dctcp::KEYS, &dctcp::AS_RFC.keys(), KEYS],
    signals: &[dctcp::ALPHA, NEED, LAXITY],
    needs: Needs::of(
        dctcp::ON_MARKS.switches,
        "a window law that paces and holds back; sizes and deadlines from the application",
    )
    .made_for(dctcp::MARKS)
    .settling(settle),
    build: |values, connection| Ok(D2tcpPlus::new(Marking::from_values(values), Constants::of(values, connection))),
};

/// The round trips that a deferral takes: one to defer, and one to ask.
const DEFERRAL: f64 = 2.0;

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
}

impl D2tcpPlus {
    /// Returns the state before the first message.
    fn new(marking: Marking, constants: Constants) -> D2tcpPlus {
        D2tcpPlus {
            marking,
            constants: Box::new(constants),
            draws: Draws::default(),
            segment_time: 0.0,
            message: u64::MAX,
            allowed: 0.0,
            boosted: false,
            calm: true,
            pressed: false,
            admitted: false,
            refusals: 0,
            asking: false,
            blocked_until: Instant::ZERO,
        }
    }

    /// Ends deferral and pacing, which were for the sake of another message.
    fn lets_go(&mut self) {
        (self.asking, self.blocked_until, self.pressed) = (false, Instant::ZERO, false);
    }

    /// Returns the factor by which the nearness of the deadline lifts growth and floor: from 1 on, as the time left is a
    /// part of the allowed time.
    fn urgency(&self, standing: &Standing) -> f64 {
        (self.allowed / standing.left).min(self.constants.growth_most)
    }

    /// Returns the increase of the window per segment that is acknowledged without a mark.
    fn growth(&self, standing: &Standing) -> f64 {
        if self.calm {
            return 1.0;
        }
        let urgency = if self.pressed { self.urgency(standing) } else { 1.0 };
        urgency / self.constants.growth_most
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

    /// Returns true if it may be deferred: it has time for this number of round trips until it is answered, and for its peers.
    fn can_wait(&self, standing: &Standing, rounds: f64) -> bool {
        let round = standing.rtt.max(self.constants.base_rtt) + self.constants.answer_delay;
        let time = (self.constants.peers * self.alone(standing)).max(rounds * round);
        self.constants.ask_rate > 0.0 && self.laxity(standing) > time
    }

    /// Returns true if deferring and probing take as long as the message would by itself, had none of it been sent.
    fn is_short(&self, standing: &Standing) -> bool {
        let alone = standing.whole * self.segment_time;
        alone > 0.0 && alone <= DEFERRAL * standing.rtt
    }

    /// Returns the seconds that the rest of a short message takes among the messages that share the link in congestion.
    fn in_company(&self, standing: &Standing) -> f64 {
        self.constants.company * self.alone(standing)
    }

    /// Returns true if it was refused so often that many messages must share the link, and if it would be late among
    /// them. On an open connection others may be queued behind it, so that it tries.
    fn comes_too_late(&self, standing: &Standing) -> bool {
        let kept_out = !self.admitted && f64::from(self.refusals) >= self.constants.peers;
        standing.opens && kept_out && self.is_short(standing) && standing.left < self.in_company(standing)
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
        let pays = (1.0 - DEFERRAL * standing.rtt / alone).max(0.0);
        begun * pays * (1.0 - self.constants.peers * alone / laxity)
    }

    fn hold(&mut self, now: Instant, seconds: f64) {
        self.blocked_until = now + Span::from_secs_f64(seconds);
    }
}

impl Defers for D2tcpPlus {
    /// Late messages rank after the others, so that they do not defer the ones behind them.
    fn next_due(ack: &Acked) -> Option<Standing> {
        Standing::first_by(ack, |standing| if standing.left == 0.0 { -1.0 } else { standing.need })
    }
    fn marking(&mut self) -> &mut Marking {
        &mut self.marking
    }
    fn see(&mut self, standing: &Standing) {
        if self.message != standing.end {
            self.message = standing.end;
            self.allowed = standing.left;
            self.admitted = false;
            self.refusals = 0;
            self.boosted = false;
            self.lets_go();
        }
        self.pressed = standing.need >= 1.0 && standing.left > 0.0;
    }
    /// Returns the window after a sign of congestion: half of the part above the floor is cut.
    fn cut(&self, standing: &Standing, cwnd: f64) -> f64 {
        let floor = if self.pressed { standing.need * self.urgency(standing) } else { 0.0 };
        (floor + (cwnd - floor) / 2.0).min(cwnd).max(1.0)
    }
    /// Handles a sign of congestion: returns the new window, and may defer the message.
    fn stand_back(&mut self, now: Instant, standing: &Standing, cwnd: f64, timeout: bool) -> f64 {
        self.calm = false;
        self.refusals += u32::from(!self.admitted);
        let cut = if timeout { 1.0 } else { self.cut(standing, cwnd) };
        let laxity = self.laxity(standing);
        if laxity < 0.0 || self.comes_too_late(standing) {
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
        // The rate of probing is proportional to the inverse square of the laxity x, which shrinks: 1/x grows by time over
        // scale for each probe. Probes are as far apart as a Poisson process' events.
        let scale = self.constants.ask_rate * self.allowed + self.constants.ask_lengths * self.alone(standing);
        let growth = -libm::log(1.0 - self.draws.draw(now)) * power * laxity / scale;
        self.hold(now, laxity * growth / (1.0 + growth));
        1.0
    }
}

impl Window for D2tcpPlus {
    fn ecn(&self) -> Ecn {
        Ecn::Exact
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let Some(standing) = Self::next_due(ack) else {
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
        self.answer_loss(window, loss);
    }
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, loss: &Lost) {
        self.answer_timeout(window, loss_window, loss);
    }
    fn on_message(&mut self, window: &mut Cwnd, state: &Acked, idle: bool, site: Site) {
        self.segment_time = state.mss * 8.0 / site.rate.0 as f64;
        let Some(standing) = Self::next_due(state) else { return };
        // A message that needs more than the deferred one is not deferred with it.
        self.see(&standing);
        if idle && self.can_wait(&standing, self.constants.first_rounds) {
            window.cwnd = window.cwnd.min(1.0);
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
        pacing_rate(self.pressed, pacing, window)
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
        if let Some(standing) = Self::next_due(ack).filter(|standing| standing.left > 0.0) {
            seen.add(&NEED, standing.need);
            seen.add(&LAXITY, self.laxity(&standing) * 1e6);
        }
    }
}
