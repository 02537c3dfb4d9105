//! Timers of ends and of hosts among the events.

use units::Instant;

use crate::fabric::Net;
use crate::schedule::events::Event;

/// The timer of one end, or of a host.
pub(super) struct Timer {
    /// The earliest pending event.
    at: Instant,
    /// The event that is pending.
    event: Event,
    /// Its order among the timers of the same instant.
    pub order: u64,
}

impl Timer {
    /// Returns a timer that is not armed.
    pub(super) fn new(event: Event, order: u64) -> Timer {
        Timer { at: Instant::MAX, event, order }
    }
    /// Arms the timer to fire at `at` or earlier.
    #[inline]
    pub(super) fn arm(&mut self, net: &mut Net, at: Instant) {
        if at < self.at {
            self.at = at;
            net.events.push_timer(at, self.event, self.order);
        }
    }
    /// Cancels the timer, if it is armed.
    pub(super) fn disarm(&mut self) {
        self.at = Instant::MAX;
    }
    /// Returns whether the current event is the one for which it was armed. It may also be superseded by an earlier
    /// one. Or it may belong to a flow that had this one's id before, for the same instant, where each has an order of
    /// its own.
    pub(super) fn fires(&mut self, net: &Net) -> bool {
        let fires = self.at == net.now && net.events.was_timer(net.now, self.event, self.order);
        if fires {
            self.at = Instant::MAX;
        }
        fires
    }
}
