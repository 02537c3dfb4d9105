//! The common part of controllers that defer messages with deadlines: the rest of a message and the time left for it,
//! and random numbers.

use units::{Instant, Span, mix64};

use super::{Acked, Current};
use crate::{Message, Signal};

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
    /// Returns the draws of a connection, whose seed is `identity`.
    pub(super) fn new(identity: u64) -> Draws {
        Draws { identity, count: 0 }
    }

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
}
