//! Calibration: chooses the number of threads of a run that leaves it open, by their speed on the beginning of that
//! run.

use std::time::{Duration, Instant as Clock};

use sim::{ParallelRun, Scenario, Way, World, partition};
use units::Instant;

use crate::governed::GovernedRun;
use crate::wall_clock;

/// The beginning of a run, by one thread; then, if promising, once more by several.
pub struct Calibration {
    /// The run, by one thread.
    world: World,
    /// The scenario for several threads.
    scenario: Scenario,
    /// Returns the maximum number of threads, when several are to be tried.
    most: fn() -> u32,
    terms: Terms,
    /// The argument of [`World::blocks_of`], if called.
    rows: Option<usize>,
    /// Duration of the setup.
    set_up: Duration,
    /// The quarters of the beginning.
    quarters: Vec<Piece>,
}

/// A part of a run: its number of events, and the time that they took.
#[derive(Clone, Copy, Default)]
struct Piece {
    took: Duration,
    events: u64,
}

/// The result of the calibration.
pub(crate) enum Choice {
    /// One thread continues the run.
    Alone(Box<World>),
    /// Several threads continue the run.
    Together(Box<GovernedRun>),
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
fn at_best(pieces: &[Piece]) -> f64 {
    let per_event = |piece: &Piece| piece.took.as_secs_f64() / piece.events.max(1) as f64;
    pieces.iter().skip(1).map(per_event).fold(f64::INFINITY, f64::min)
}

impl Calibration {
    /// Returns the calibration of a run that can be partitioned, among up to `most` threads.
    pub(crate) fn new(scenario: Scenario, most: fn() -> u32, terms: Terms) -> Calibration {
        let begin = Clock::now();
        let copy = scenario.without_faults();
        let world = World::new(scenario);
        Calibration { world, scenario: copy, most, terms, rows: None, set_up: begin.elapsed(), quarters: Vec::new() }
    }

    /// Returns the run by one thread.
    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// Ends the calibration with the run by one thread.
    pub(crate) fn into_world(self) -> World {
        self.world
    }

    /// As [`World::blocks_of`], also for later worlds.
    pub(crate) fn blocks_of(&mut self, rows: usize) {
        self.rows = Some(rows);
        self.world.blocks_of(rows);
    }

    /// Processes `events` events, but not beyond the beginning. Returns the result of the calibration, and whether the
    /// run continues.
    pub(crate) fn advance(mut self: Box<Self>, events: u64) -> (Choice, bool) {
        let (begin, before, quarter) = (Clock::now(), self.world.events(), self.terms.quarter());
        // With deferred enqueue there are up to twice as many as requested, or some more.
        let goes_on = self.world.advance(events.min((quarter - before % quarter).div_ceil(2)));
        if self.quarters.len() as u64 <= before / quarter {
            self.quarters.push(Piece::default());
        }
        if let Some(piece) = self.quarters.last_mut() {
            piece.took += begin.elapsed();
            piece.events += self.world.events() - before;
        }
        match goes_on && self.world.events() < self.terms.events {
            true => (Choice::Open(self), true),
            false if goes_on => (self.decide(), true),
            false => (Choice::Alone(Box::new(self.world)), false),
        }
    }

    fn decide(self) -> Choice {
        debug_assert!(self.quarters.len() > 1, "only what follows the first is compared");
        let (one, terms) = (at_best(&self.quarters), self.terms);
        let (mut run, world) = match self.run() {
            Ok(both) => both,
            Err(world) => return Choice::Alone(world),
        };
        // All but the first at once: a thread that begins moves its partition into the caches of another core.
        let pieces = [terms.quarter(), terms.events - terms.quarter()].map(|events| together(&mut run, events));
        let [Some(first), Some(rest)] = pieces else { return Choice::Alone(world) };
        // Several threads have more events for the same simulated time.
        let density = |events: u64, now: Instant| events as f64 / now.since_start().0.max(1) as f64;
        let (theirs, ones) = (density(run.events(), run.now()), density(world.events(), world.now()));
        match at_best(&[first, rest]) * theirs < terms.gain * one * ones {
            true => Choice::Together(Box::new(GovernedRun::new(*run))),
            false => Choice::Alone(world),
        }
    }

    /// Returns several threads, if they are promising, beside the one.
    fn run(self) -> Result<(Box<ParallelRun>, Box<World>), Box<World>> {
        let Calibration { world, scenario, most, terms, rows, set_up, quarters } = self;
        let took: Duration = quarters.iter().map(|piece| piece.took).sum();
        let most = most();
        let Some(partition) = (most > 1).then(|| partition(&scenario, most).ok()).flatten() else {
            return Err(Box::new(world));
        };
        let partition = world.suitable_partition(partition);
        let passed = world.now().since_start().0.max(1);
        let share = passed as f64 / world.duration().0.max(1) as f64;
        let per_epoch = world.events() / (passed / partition.lookahead.0.max(1)).max(1);
        let tries = took + set_up * partition.parts;
        let promises = per_epoch >= GovernedRun::FEWEST
            && took.as_secs_f64() / share > terms.share * tries.as_secs_f64()
            && world.messages().count() as f64 / share < terms.messages;
        if !promises {
            return Err(Box::new(world));
        }
        let mut run = ParallelRun::new(scenario, partition, wall_clock).expecting(per_epoch);
        if let Some(rows) = rows {
            run.blocks_of(rows);
        }
        Ok((Box::new(run), Box::new(world)))
    }
}

/// Advances a run by about `events` events with threads that run together. Returns none if the run is over.
fn together(run: &mut ParallelRun, events: u64) -> Option<Piece> {
    let mut piece = Piece::default();
    while piece.events < events {
        let slice = run.advance(events - piece.events, Way::Together);
        piece.took += Duration::from_nanos(slice.took.unwrap_or(0));
        piece.events += slice.events;
        if !slice.goes_on {
            return None;
        }
    }
    Some(piece)
}
