//! Timers of ends and of hosts among the events.

use units::Instant;

use crate::event::Event;
use crate::net::Net;

/// The timer of one end, or of a host.
pub struct Timer {
    /// The earliest pending event.
    at: Instant,
    /// What that is.
    event: Event,
    /// Its place among the timers of the same instant.
    pub order: u64,
}

impl Timer {
    /// Not armed.
    pub fn new(event: Event, order: u64) -> Timer {
        Timer { at: Instant::MAX, event, order }
    }
    /// Rings at `at` or earlier.
    #[inline]
    pub fn arm(&mut self, net: &mut Net, at: Instant) {
        if at < self.at {
            self.at = at;
            net.events.push_timer(at, self.event, self.order);
        }
    }
    /// Forgets what it was armed for.
    pub fn disarm(&mut self) {
        self.at = Instant::MAX;
    }
    /// Whether the event that has just come is the one it was armed for: not one that an earlier one has overtaken, nor that of
    /// a flow that had this one's number before and is due at the same instant, where each has a place of its own.
    pub fn rings(&mut self, net: &Net) -> bool {
        let rings = self.at == net.now && net.events.was_timer(net.now, self.event, self.order);
        if rings {
            self.at = Instant::MAX;
        }
        rings
    }
}
