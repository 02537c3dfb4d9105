//! The main loop.

use units::Time;

use crate::outcome::Outcome;
use crate::scenario::Scenario;

/// A run in progress.
pub struct World {
    _scenario: Scenario,
}

impl World {
    /// Everything in place, nothing sent yet.
    pub fn new(scenario: Scenario) -> World {
        World { _scenario: scenario }
    }
    /// Processes up to `events` events; false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        let _ = events;
        false
    }
    /// The simulated time reached.
    pub fn now(&self) -> Time {
        Time::ZERO
    }
    /// Data packets that have reached receivers so far.
    pub fn packets_delivered(&self) -> u64 {
        0
    }
    /// Ends the run here and takes stock.
    pub fn finish(self) -> Outcome {
        unimplemented!()
    }
}
