//! Calibration: chooses the number of threads of a run that leaves it open, by their speed on the beginning of that
//! run.

use std::time::{Duration, Instant as Clock};

use units::Instant;

use super::{ParallelRun, copies, part};
use crate::scenario::Scenario;
use crate::world::World;

/// The beginning of a run, by one thread; then, if promising, once more by several.
pub struct Calibration {
    /// The run, by one thread.
    pub world: World,
    /// The scenario for several threads.
    scenario: Scenario,
    /// Returns the maximum number of threads, when several are to be tried.
    most: fn() -> u32,
    terms: Terms,
    /// The argument of [`World::blocks_of`], if called.
    rows: Option<usize>,
    /// Duration of the setup.
    set_up: Duration,
    /// Duration and number of events of each quarter of the beginning.
    quarters: Vec<(Duration, u64)>,
}

/// The result of the calibration.
pub enum Choice {
    /// One thread continues the run.
    Alone(Box<World>),
    /// Several threads continue the run.
    Together(Box<ParallelRun>),
    /// The calibration is not over yet.
    Open(Box<Calibration>),
}

/// Limits of the calibration, and the conditions for several threads.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Number of events of the beginning: enough for a comparison, some 20 ms.
    pub events: u64,
    /// Inverse of the maximum share that the calibration may take of the run's probable duration. That time is lost if
    /// one thread is faster.
    pub share: f64,
    /// Maximum time of several threads, relative to the time of one.
    pub gain: f64,
    /// Maximum number of messages, because several threads keep all until the end of the run, each in a row of its own:
    /// 300 MB for a million with two.
    pub messages: f64,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { events: 1 << 18, share: 64.0, gain: 0.9, messages: 1e6 }
    }
}

impl Terms {
    /// Returns the number of events of a quarter of the beginning.
    fn quarter(&self) -> u64 {
        (self.events / QUARTERS as u64).max(1)
    }
}

/// Number of timed parts of the beginning.
const QUARTERS: usize = 4;

/// Returns the time per event in the fastest of these pieces but the first, in which memory is touched for the first
/// time. Other work on the machine only makes an event take longer.
fn at_best(pieces: &[(Duration, u64)]) -> f64 {
    let of = |(took, events): &(Duration, u64)| took.as_secs_f64() / (*events).max(1) as f64;
    pieces.iter().skip(1).map(of).fold(f64::INFINITY, f64::min)
}

impl Calibration {
    /// Returns the calibration of a run that can be partitioned, among up to `most` threads.
    pub fn new(scenario: Scenario, most: fn() -> u32, terms: Terms) -> Calibration {
        let begin = Clock::now();
        let copy = copies(&scenario, 1).swap_remove(0);
        let world = World::new(scenario);
        Calibration { world, scenario: copy, most, terms, rows: None, set_up: begin.elapsed(), quarters: Vec::new() }
    }

    /// As [`World::blocks_of`], also for later worlds.
    pub fn blocks_of(&mut self, rows: usize) {
        self.rows = Some(rows);
        self.world.blocks_of(rows);
    }

    /// Processes `events` events, but not beyond the beginning. Returns the result of the calibration, and whether the
    /// run continues.
    pub fn advance(mut self: Box<Self>, events: u64) -> (Choice, bool) {
        let (begin, before, quarter) = (Clock::now(), self.world.events(), self.terms.quarter());
        // With deferred enqueue there are up to twice as many as requested, or some more.
        let more = self.world.advance(events.min((quarter - before % quarter).div_ceil(2)));
        if self.quarters.len() as u64 <= before / quarter {
            self.quarters.push(Default::default());
        }
        if let Some((took, had)) = self.quarters.last_mut() {
            *took += begin.elapsed();
            *had += self.world.events() - before;
        }
        match more && self.world.events() < self.terms.events {
            true => (Choice::Open(self), true),
            false if more => (self.decide(), true),
            false => (Choice::Alone(Box::new(self.world)), false),
        }
    }

    fn decide(self) -> Choice {
        debug_assert!(self.quarters.len() > 1, "only what follows the first is compared");
        let (one, terms) = (at_best(&self.quarters), self.terms);
        match self.run() {
            Err(world) => Choice::Alone(world),
            Ok((mut run, world)) => {
                let (mut pieces, mut more) = (Vec::new(), true);
                // All but the first at once: a thread that begins moves its partition into the caches of another core.
                for events in [terms.quarter(), terms.events - terms.quarter()] {
                    let (before, took) = (run.events(), run.took);
                    more = more && run.tries(events);
                    pieces.push((run.took - took, run.events() - before));
                }
                // Several threads have more events for the same simulated time.
                let density = |events: u64, now: Instant| events as f64 / now.since_start().0.max(1) as f64;
                let (theirs, ones) = (density(run.events(), run.now), density(world.events(), world.now()));
                match more && at_best(&pieces) * theirs < terms.gain * one * ones {
                    true => Choice::Together(run),
                    false => Choice::Alone(world),
                }
            }
        }
    }

    /// Returns several threads, if they are promising, beside the one.
    fn run(self) -> Result<(Box<ParallelRun>, Box<World>), Box<World>> {
        let Calibration { world, scenario, most, terms, rows, set_up, quarters } = self;
        let took: Duration = quarters.iter().map(|(took, _)| *took).sum();
        let most = most();
        let Some(partition) = (most > 1).then(|| part(&scenario, most).ok()).flatten() else {
            return Err(Box::new(world));
        };
        let partition = world.suitable_partition(partition);
        let passed = world.now().since_start().0.max(1);
        let share = passed as f64 / world.duration().0.max(1) as f64;
        let per_window = world.events() / (passed / partition.lookahead.0.max(1)).max(1);
        let tries = took + set_up * partition.parts;
        let promises = per_window >= ParallelRun::FEWEST
            && took.as_secs_f64() / share > terms.share * tries.as_secs_f64()
            && world.messages().count() as f64 / share < terms.messages;
        if !promises {
            return Err(Box::new(world));
        }
        let mut run = ParallelRun { per_window, ..ParallelRun::of(scenario, partition) };
        if let Some(rows) = rows {
            run.worlds.iter_mut().for_each(|world| world.blocks_of(rows));
        }
        Ok((Box::new(run), Box::new(world)))
    }
}
