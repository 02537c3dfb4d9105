//! The rest of a message with a deadline, and the time left for it.

use units::{Instant, Span};

use crate::Message;
use crate::controllers::{Acked, Current};

/// The progress of a message with a deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) end: u64,
    pub(super) deadline: Instant,
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
        Some(Standing { end: current.end, deadline, opens, rest, whole: own.max(rest), share, left, rtt, need })
    }
}
