//! The common part of controllers that defer messages with deadlines: the rest of a message and the time left for it,
//! and random numbers.

use units::{Instant, Span, mix64};

use super::dctcp::Marking;
use super::{Acked, Current, Cwnd, Lost};
use crate::{Message, Pacing, Signal};

/// The rate that the deadline needs.
pub(super) const NEED: Signal = Signal {
    name: "need",
    help: "the window that the deadline needs, in segments (d2tcp_plus, d2tcp_wait)",
    unit: "segments",
};
/// The laxity: the time to spare.
pub(super) const LAXITY: Signal =
    Signal { name: "laxity", help: "time left beyond what the rest needs (d2tcp_plus, d2tcp_wait)", unit: "us" };

/// A controller's random numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Draws {
    /// Its seed, together with the time and the number of draws.
    pub(super) identity: u64,
    count: u64,
}

impl Draws {
    /// Draws a number, uniformly from 0 to 1.
    pub(super) fn draw(&mut self, now: Instant) -> f64 {
        self.count += 1;
        let bits = mix64(self.identity ^ mix64(now.0 ^ mix64(self.count)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The progress of a message with a deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) end: u64,
    /// Segments that are left before it is complete.
    pub(super) rest: f64,
    /// It is the first of its connection.
    pub(super) opens: bool,
    /// Segments of the whole message, or more if others before it are still to be sent.
    pub(super) whole: f64,
    /// The share of it that is left, 0 to 1.
    pub(super) share: f64,
    /// Seconds to the deadline; 0 from then on.
    pub(super) left: f64,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub(super) rtt: f64,
    /// Segments per round trip with which it would be in time; infinite when there is no time.
    pub(super) need: f64,
}

impl Standing {
    /// Returns none without a size or a deadline.
    pub(super) fn of(current: &Current, ack: &Acked) -> Option<Standing> {
        let Message { bytes: Some(bytes), deadline: Some(deadline), .. } = current.message else { return None };
        let rest = current.end.saturating_sub(ack.una) as f64 / ack.mss;
        let left = deadline.saturating_sub(ack.now).as_secs_f64();
        let rtt = ack.srtt.map_or(0.0, Span::as_secs_f64);
        let own = bytes.0.max(1) as f64 / ack.mss;
        let share = (rest / own).min(1.0);
        let need = if left > 0.0 { rest * rtt / left } else { f64::INFINITY };
        let opens = current.end <= bytes.0;
        Some(Standing { end: current.end, opens, rest, whole: own.max(rest), share, left, rtt, need })
    }

    /// Returns the state of the queued message that presses most, each with all data to be sent before it; of equal ones
    /// that of the last.
    pub(super) fn first_by(ack: &Acked, presses: impl Fn(&Standing) -> f64) -> Option<Standing> {
        let own = Standing::of(&ack.message, ack);
        ack.later
            .iter()
            .filter_map(|later| Standing::of(later, ack))
            .chain(own)
            .reduce(|a, b| if presses(&b) >= presses(&a) { b } else { a })
    }
}

/// A law that defers messages. Its answers to losses and timeouts are the same, whichever messages it defers.
pub(super) trait Defers {
    /// Returns the state of the queued message that decides.
    fn next_due(ack: &Acked) -> Option<Standing>;

    /// Returns the marks that it counts.
    fn marking(&mut self) -> &mut Marking;

    /// Notes the message that decides.
    fn see(&mut self, standing: &Standing);

    /// Returns the window after a sign of congestion, if the message is not deferred.
    fn cut(&self, standing: &Standing, cwnd: f64) -> f64;

    /// Handles a sign of congestion: returns the new window, and may defer the message.
    fn stand_back(&mut self, now: Instant, standing: &Standing, cwnd: f64, timeout: bool) -> f64;

    /// Sets the threshold after a loss.
    fn answer_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.marking().on_loss();
        match Self::next_due(&loss.state) {
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

    /// Sets the window after a timeout.
    fn answer_timeout(&mut self, window: &mut Cwnd, loss_window: f64, loss: &Lost) {
        window.cwnd = window.cwnd.min(loss_window);
        if let Some(standing) = Self::next_due(&loss.state) {
            self.see(&standing);
            window.cwnd = window.cwnd.min(self.stand_back(loss.now, &standing, window.cwnd, true));
        }
    }
}

/// Returns the rate of packets, in windows per round trip, of a message that needs more than a segment per round trip
/// (`pressed`), or of any other.
pub(super) fn pacing_rate(pressed: bool, pacing: &Pacing, window: &Cwnd) -> Option<f64> {
    if pressed { Some(pacing.gain * window.cwnd) } else { pacing.gain(window).map(|gain| gain * window.cwnd) }
}

#[cfg(test)]
pub(super) mod tests {
    use units::Bytes;

    use super::*;
    use crate::controllers::Window;
    use crate::controllers::tests::{acked, cwnd};

    pub(in crate::controllers) const OFF: Pacing = Pacing { on: false, gain: 1.2, gain_slow_start: 2.0 };

    /// An ACK with round trips of 100 us, as in `acked`, of a message of 100 segments of which the ones after `una` are
    /// left.
    pub(in crate::controllers) fn ack(una: u64, marked: bool, left: Span) -> Acked<'static> {
        let ack = acked(una, marked);
        let message = Message { deadline: Some(ack.now + left), ..Message::of(Bytes(100_000)) };
        Acked { message: Current { end: 100_000, message }, ..ack }
    }

    /// 80 segments left of the message that ends at 100 000.
    pub(in crate::controllers) fn standing(left: Span) -> Standing {
        Standing::of(&ack(20, false, left).message, &ack(20, false, left)).unwrap()
    }

    /// Asserts that a timeout halves the threshold, and leaves no more than the loss window. `law` defers nothing.
    pub(in crate::controllers) fn a_timeout_halves_the_threshold<L: Window>(law: impl Fn() -> L) {
        let lost = |timeout: bool, left: Option<Span>| {
            let (mut law, mut window) = (law(), Cwnd { ssthresh: f64::INFINITY, ..cwnd(20.0) });
            let state = left.map_or(acked(20, false), |left| ack(20, false, left));
            let lost = Lost { now: state.now, state, flight: 12.0, timeout };
            law.on_loss(&mut window, &lost);
            if timeout {
                law.on_timeout(&mut window, 1.0, &lost);
            }
            (window.cwnd, window.ssthresh, law.blocked_until())
        };
        // As cut by half: 0.16 segments per round trip are needed, and nothing is deferred here.
        assert_eq!(lost(true, Some(Span::from_millis(50))), (1.0, 10.0, Instant::ZERO));
        assert_eq!(lost(false, Some(Span::from_millis(50))), (20.0, 10.0, Instant::ZERO));
        // Without a deadline: half of the segments in flight (RFC 5681 eq. 4).
        assert_eq!(lost(true, None), (1.0, 6.0, Instant::ZERO));
    }

    #[test]
    fn a_pressed_message_is_spaced_and_the_rest_where_pacing_is_on() {
        let window = Cwnd { ssthresh: 100.0, ..cwnd(10.0) };
        assert_eq!(pacing_rate(false, &OFF, &window), None);
        assert_eq!(pacing_rate(false, &Pacing { on: true, ..OFF }, &window), Some(20.0), "slow start");
        assert_eq!(pacing_rate(true, &OFF, &window), Some(12.0));
    }
}
