//! `d2tcp_wait`: the law that Linux has for messages with deadlines (`deploy/linux/bpf/plus.h`). As `d2tcp_plus`, a
//! sender insists on the rate that a message needs, and defers a message that needs less than a segment per round trip. It does
//! not probe: a deferred message sends a segment after a random time.

mod keys;

use units::{Instant, Span};

use super::dctcp::{self, Marking};
use super::deferral::{Defers, Draws, LAXITY, NEED, Standing, pacing_rate};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs, Observation, Pacing, Site};

use keys::{Constants, KEYS};

/// D2TCP with needed rates, and with deferral without probing.
pub(super) const DESCRIPTOR: Descriptor<D2tcpWait> = Descriptor {
    name: "d2tcp_wait",
    help: "what Linux can have of d2tcp_plus: insists on needed rates, or waits for a random time, and does not ask",
    source: "duetime's own; deploy/linux/README.md",
    aliases: &[("alpha", "initial_alpha"), ("gain", "g"), ("waits", "d2tcp_wait"), ("blindly", "d2tcp_wait")],
    groups: &[dctcp::KEYS, &dctcp::AS_RFC.keys(), KEYS],
    signals: &[dctcp::ALPHA, NEED, LAXITY],
    needs: Needs::of(
        dctcp::ON_MARKS.switches,
        "a window law that paces and holds back; sizes and deadlines from the application",
    )
    .made_for(dctcp::MARKS),
    build: |values, _| Ok(D2tcpWait::new(Marking::from_values(values), Constants::of(values))),
};

/// Needed rates, and deferral by laxity; DCTCP for messages without a deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct D2tcpWait {
    marking: Marking,
    /// Boxed, so that a connection with another controller does not take memory for them.
    constants: Box<Constants>,
    draws: Draws,
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
    blocked_until: Instant,
}

impl D2tcpWait {
    /// Returns the state before the first message.
    fn new(marking: Marking, constants: Constants) -> D2tcpWait {
        D2tcpWait {
            marking,
            constants: Box::new(constants),
            draws: Draws::default(),
            message: u64::MAX,
            allowed: 0.0,
            boosted: false,
            calm: true,
            pressed: false,
            blocked_until: Instant::ZERO,
        }
    }

    /// Ends deferral and pacing, which were for the sake of another message.
    fn lets_go(&mut self) {
        (self.blocked_until, self.pressed) = (Instant::ZERO, false);
    }

    /// Returns the laxity in seconds at this window; negative if the message will be late.
    fn laxity(&self, standing: &Standing, cwnd: f64) -> f64 {
        let constants = &self.constants;
        let guard = constants.guard * standing.rest * standing.rtt / cwnd;
        let guard = guard.min(constants.guard_most).min(constants.guard_share * self.allowed);
        standing.left - guard - standing.rtt
    }

    fn hold(&mut self, now: Instant, seconds: f64) {
        self.blocked_until = now + Span::from_secs_f64(seconds);
    }
}

impl Defers for D2tcpWait {
    /// A late message presses most.
    fn next_due(ack: &Acked) -> Option<Standing> {
        Standing::first_by(ack, |standing| standing.need)
    }
    fn marking(&mut self) -> &mut Marking {
        &mut self.marking
    }
    fn see(&mut self, standing: &Standing) {
        if self.message != standing.end {
            self.message = standing.end;
            self.allowed = standing.left;
            (self.boosted, self.calm) = (false, true);
            self.lets_go();
        }
        self.pressed = standing.need >= 1.0 && standing.left > 0.0;
    }
    /// Returns the window after a sign of congestion: half of the part above the floor is cut.
    fn cut(&self, standing: &Standing, cwnd: f64) -> f64 {
        let constants = &self.constants;
        let floor = if self.pressed {
            standing.need * (constants.floor_horizon / standing.left).min(constants.floor_most)
        } else {
            0.0
        };
        (floor + (cwnd - floor) / 2.0).min(cwnd).max(1.0)
    }
    /// Handles a sign of congestion: returns the new window, and may defer the message.
    fn stand_back(&mut self, now: Instant, standing: &Standing, cwnd: f64, timeout: bool) -> f64 {
        self.calm = false;
        let cut = if timeout { 1.0 } else { self.cut(standing, cwnd) };
        let laxity = self.laxity(standing, cut);
        if laxity < 0.0 {
            let wait = self.constants.hopeless_hold * (0.5 + self.draws.draw(now));
            self.hold(now, wait);
            return 1.0;
        }
        if self.pressed || self.constants.hold_share == 0.0 {
            return cut;
        }
        let power = libm::pow(standing.share, self.constants.hold_power);
        if !timeout && self.draws.draw(now) >= power {
            return cut;
        }
        let wait = self.draws.draw(now) * laxity * self.constants.hold_share * power;
        self.hold(now, wait.min(self.constants.hold_most));
        1.0
    }
}

impl Window for D2tcpWait {
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
        if !self.boosted && standing.rtt > 0.0 && standing.left > 0.0 {
            self.boosted = true;
            window.cwnd = window.cwnd.max(self.constants.start * standing.need).min(window.limit);
        }
        if due {
            window.cwnd = self.stand_back(ack.now, &standing, window.cwnd, false);
            window.ssthresh = window.cwnd;
        } else if ack.may_grow && !ack.marked {
            let growth = if self.calm { self.constants.growth } else { self.constants.growth_later };
            window.cwnd = (window.cwnd + growth * ack.segments).min(window.limit);
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
    fn on_message(&mut self, _: &mut Cwnd, state: &Acked, _: bool, _: Site) {
        // A message that needs more than the deferred one is not deferred with it.
        if Self::next_due(state).is_some_and(|standing| standing.end != self.message) {
            self.lets_go();
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
    fn identify(&mut self, identity: u64) {
        self.draws.identity = identity;
    }
    fn observe(&self, window: &Cwnd, ack: &Acked, seen: &mut Observation) {
        seen.add(&dctcp::ALPHA, self.marking.alpha);
        if let Some(standing) = Self::next_due(ack).filter(|standing| standing.left > 0.0) {
            seen.add(&NEED, standing.need);
            seen.add(&LAXITY, self.laxity(&standing, window.cwnd) * 1e6);
        }
    }
}

#[cfg(test)]
mod tests;
