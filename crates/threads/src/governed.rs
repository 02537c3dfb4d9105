//! A run by several threads under a governor.

use std::time::Duration;

use sim::{Outcome, ParallelRun, Rest, Way};

use crate::governor::Governor;

/// A run by several threads, which run together where that is faster.
pub struct GovernedRun {
    run: ParallelRun,
    governor: Governor,
}

impl GovernedRun {
    /// Minimum average events per epoch for threads to run together, if that is faster. Fewer are not worth a try:
    /// communication between threads takes as long as some events.
    pub(crate) const FEWEST: u64 = 30;
    /// Maximum events before the governor decides anew: some 50 ms, compared with which the tenth of a millisecond to
    /// start threads is negligible.
    const MAX_SLICE: u64 = 1 << 21;

    pub(crate) fn new(run: ParallelRun) -> GovernedRun {
        GovernedRun { run, governor: Governor::default() }
    }

    /// Returns the run itself.
    pub fn run(&self) -> &ParallelRun {
        &self.run
    }

    pub(crate) fn blocks_of(&mut self, rows: usize) {
        self.run.blocks_of(rows);
    }

    pub(crate) fn finish(self) -> Outcome {
        self.run.finish()
    }

    pub(crate) fn finish_taken(self) -> (Outcome, Rest) {
        self.run.finish_taken()
    }

    /// Processes up to `events` events or some more, at least as many as a try has: fewer would not suffice to measure their
    /// duration. Returns false when the run is over.
    pub(crate) fn advance(&mut self, events: u64) -> bool {
        let goal = self.run.events().saturating_add(events.max(Governor::TRY));
        while self.run.events() < goal {
            if !self.slice(goal - self.run.events()) {
                return false;
            }
        }
        true
    }

    fn slice(&mut self, events: u64) -> bool {
        let is_worth = self.run.events_per_epoch() >= GovernedRun::FEWEST;
        let together = is_worth && self.governor.together();
        let most = events.min(self.governor.next()).min(GovernedRun::MAX_SLICE);
        let slice = self.run.advance(most, if together { Way::Together } else { Way::Alone });
        if let (true, Some(took)) = (is_worth, slice.took) {
            self.governor.saw(together, slice.events, Duration::from_nanos(took));
        }
        slice.goes_on
    }
}
