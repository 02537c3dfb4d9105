//! The threads of a run: how many, and when they run together.
//!
//! The simulator owns no clock. This crate lends it the machine's, and decides by it which threads advance a run. No
//! result depends on that.

#![forbid(unsafe_code)]

mod calibration;
mod governed;
mod governor;

use std::sync::OnceLock;
use std::time::Instant as Clock;

use sim::outcome::Taken;
use sim::{Outcome, ParallelRun, Rest, Scenario, World, partition};
use units::{Instant, Span};

use calibration::Choice;
pub use calibration::{Calibration, Terms};
pub use governed::GovernedRun;

/// Returns the nanoseconds since the first call, for [`ParallelRun::new`].
pub fn wall_clock() -> u64 {
    static FIRST: OnceLock<Clock> = OnceLock::new();
    FIRST.get_or_init(Clock::now).elapsed().as_nanos() as u64
}

/// A run in progress, by one thread or by several.
pub enum Simulation {
    /// A run by one thread.
    Alone(Box<World>),
    /// A run by several threads.
    Together(Box<GovernedRun>),
    /// A run by one thread during calibration; `None` only while that is evaluated.
    Open(Option<Box<Calibration>>),
}

const OPEN: &str = "a calibration that is over is replaced at once";

impl Simulation {
    /// Returns a run ready to start, for up to `threads` threads, and a note if there will be fewer.
    pub fn new(scenario: Scenario, threads: u32) -> (Simulation, Option<String>) {
        let parted = if threads > 1 { partition(&scenario, threads) } else { Err("") };
        match parted {
            Ok(partition) => {
                let parts = partition.parts;
                let note = format!("this runs on {parts} threads, one for each switch with hosts, not on {threads}");
                let run = GovernedRun::new(ParallelRun::new(scenario, partition, wall_clock));
                (Simulation::Together(Box::new(run)), (parts < threads).then_some(note))
            }
            Err(why) => {
                let note = (threads > 1).then(|| format!("this runs on one thread: {why}"));
                (Simulation::Alone(Box::new(World::new(scenario))), note)
            }
        }
    }

    /// Returns a run ready to start, for one thread or for up to `most` threads, whichever is faster on its beginning.
    /// `most` is called once the run has begun. The calibration's cost is hardly noticeable where one thread is faster.
    pub fn calibrated(scenario: Scenario, most: fn() -> u32, terms: Terms) -> Simulation {
        match partition(&scenario, 2) {
            Ok(_) => Simulation::Open(Some(Box::new(Calibration::new(scenario, most, terms)))),
            Err(_) => Simulation::Alone(Box::new(World::new(scenario))),
        }
    }

    /// Processes up to `events` events, or some more; returns false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        match self {
            Simulation::Alone(world) => world.advance(events),
            Simulation::Together(run) => run.advance(events),
            Simulation::Open(calibration) => {
                let (choice, goes_on) = calibration.take().expect(OPEN).advance(events);
                *self = match choice {
                    Choice::Alone(world) => Simulation::Alone(world),
                    Choice::Together(run) => Simulation::Together(run),
                    Choice::Open(calibration) => Simulation::Open(Some(calibration)),
                };
                goes_on
            }
        }
    }

    /// Returns the simulated time reached.
    pub fn now(&self) -> Instant {
        match self {
            Simulation::Together(run) => run.run().now(),
            _ => self.world().now(),
        }
    }

    /// Returns the end of the measurement; the run may continue until its messages are decided.
    pub fn duration(&self) -> Span {
        self.world().duration()
    }

    /// Returns the number of counted data packets that have reached receivers so far.
    pub fn packets_delivered(&self) -> u64 {
        match self {
            Simulation::Together(run) => run.run().packets_delivered(),
            _ => self.world().packets_delivered(),
        }
    }

    /// Returns a world that has the whole scenario.
    pub fn world(&self) -> &World {
        match self {
            Simulation::Alone(world) => world,
            Simulation::Together(run) => run.run().world(),
            Simulation::Open(calibration) => calibration.as_ref().expect(OPEN).world(),
        }
    }

    /// Delegates to [`World::blocks_of`] of each world.
    pub fn blocks_of(&mut self, rows: usize) {
        match self {
            Simulation::Alone(world) => world.blocks_of(rows),
            Simulation::Together(run) => run.blocks_of(rows),
            Simulation::Open(calibration) => calibration.as_mut().expect(OPEN).blocks_of(rows),
        }
    }

    /// As [`World::take`]. The rows of several threads are joined at the end of the run. Nothing is returned before,
    /// nor during calibration.
    pub fn take(&mut self) -> Taken {
        match self {
            Simulation::Alone(world) => world.take(),
            _ => Taken::default(),
        }
    }

    /// Ends the run at the present time.
    pub fn finish(self) -> Outcome {
        match self {
            Simulation::Alone(world) => world.finish(),
            Simulation::Together(run) => run.finish(),
            Simulation::Open(calibration) => calibration.expect(OPEN).into_world().finish(),
        }
    }

    /// As [`World::finish_taken`], for all worlds.
    pub fn finish_taken(self) -> (Outcome, Rest) {
        match self {
            Simulation::Alone(world) => world.finish_taken(),
            Simulation::Together(run) => run.finish_taken(),
            Simulation::Open(calibration) => calibration.expect(OPEN).into_world().finish_taken(),
        }
    }
}
