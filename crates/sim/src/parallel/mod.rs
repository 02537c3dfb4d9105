//! One run by several threads, with the same results.
//!
//! Each thread has a partition: a [`World`] of its own, in which it advances the hosts and ports that the [`Partition`]
//! assigns to it. Partitions affect each other only over a cut link or by a control message, which takes as long. So
//! each can advance by that time (an epoch) past the slowest before it must receive items. If events are few, or it has
//! proved faster, one thread advances all partitions, epoch by epoch. After the end of the measurement, each decided
//! message may end the run; then one thread advances all partitions from instant to instant.
//!
//! Switches may have clocks that are ahead of the hosts' or behind, which makes epochs longer. At the end of the
//! warm-up and of the measurement all must be at one time. For that, partitions that are behind catch up, and later
//! events wait.

mod calibration;
mod cores;
mod governor;
mod mailboxes;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant as Clock};

use units::{Instant, Span};

use crate::class::Class;
use crate::cool_down::CoolDown;
use crate::fabric::channel::Mailbox;
use crate::fabric::network::Sharing;
use crate::priorities::Priorities;
use crate::record::outcome::{Outcome, Taken};
use crate::record::rest::Rest;
use crate::scenario::Scenario;
use crate::schedule::ring::Words;
use crate::topology::Partition;
use crate::world::World;
use crate::world::stock::{self, Measured};
pub use calibration::Terms;
use calibration::{Calibration, Choice};
use governor::Governor;
use mailboxes::{Mailboxes, Presence, Receiver};

/// A run in progress, by one thread or by several.
pub enum Simulation {
    /// A run by one thread.
    Alone(Box<World>),
    /// A run by several threads.
    Together(Box<ParallelRun>),
    /// A run by one thread during calibration; `None` only while that is evaluated.
    Open(Option<Box<Calibration>>),
}

const OPEN: &str = "it is decided at once";

impl Simulation {
    /// Returns a run ready to start, for up to `threads` threads, and a note if there will be fewer.
    pub fn new(scenario: Scenario, threads: u32) -> (Simulation, Option<String>) {
        let parted = if threads > 1 { part(&scenario, threads) } else { Err("") };
        match parted {
            Ok(partition) => {
                let parts = partition.parts;
                let note = format!("this runs on {parts} threads, one for each switch with hosts, not on {threads}");
                (
                    Simulation::Together(Box::new(ParallelRun::of(scenario, partition))),
                    (parts < threads).then_some(note),
                )
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
        match part(&scenario, 2) {
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
                let (choice, more) = calibration.take().expect(OPEN).advance(events);
                *self = match choice {
                    Choice::Alone(world) => Simulation::Alone(world),
                    Choice::Together(run) => Simulation::Together(run),
                    Choice::Open(calibration) => Simulation::Open(Some(calibration)),
                };
                more
            }
        }
    }

    /// Returns the simulated time reached.
    pub fn now(&self) -> Instant {
        match self {
            Simulation::Together(run) => run.now,
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
            Simulation::Together(run) => run.packets_delivered(),
            _ => self.world().packets_delivered(),
        }
    }

    /// Returns a world that has the whole scenario.
    pub fn world(&self) -> &World {
        match self {
            Simulation::Alone(world) => world,
            Simulation::Together(run) => &run.worlds[0],
            Simulation::Open(calibration) => &calibration.as_ref().expect(OPEN).world,
        }
    }

    /// Delegates to [`World::blocks_of`] of each world.
    pub fn blocks_of(&mut self, rows: usize) {
        match self {
            Simulation::Alone(world) => world.blocks_of(rows),
            Simulation::Together(run) => run.worlds.iter_mut().for_each(|world| world.blocks_of(rows)),
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
        let (outcome, rest) = self.finish_taken();
        outcome.with(rest)
    }

    /// As [`World::finish_taken`], for all worlds.
    pub fn finish_taken(self) -> (Outcome, Rest) {
        match self {
            Simulation::Alone(world) => world.finish_taken(),
            Simulation::Together(run) => run.finish_taken(),
            Simulation::Open(calibration) => calibration.expect(OPEN).world.finish_taken(),
        }
    }
}

/// Returns a partition of the scenario among threads, if ports to hosts can defer enqueueing ([`World::suitable_partition`]). The
/// error gives the reason why there is none.
fn part(scenario: &Scenario, threads: u32) -> Result<Partition, &'static str> {
    let Scenario { run, network, faults, transports, classes, .. } = scenario;
    if run.trace.is_some() {
        return Err("it samples signals over time (run.trace)");
    }
    if !faults.is_empty() {
        return Err("it has faults");
    }
    if transports.iter().any(|transport| transport.config.control.goes_by_numbers()) {
        return Err("a transport breaks ties by the order in which connections were opened anywhere");
    }
    if classes.iter().any(|class| class.generator.waits()) {
        return Err("a class sends answers that wait for others (levels)");
    }
    let service = network.service(transports, &Priorities::of(transports, classes));
    let chooses = !(service.switches.built_in && service.marking.built_in);
    if chooses && transports.iter().any(|transport| transport.agents().is_some()) {
        return Err("switches write into headers of packets whose turn they choose");
    }
    let mut graph = network.graph.clone();
    // In the simulator's order.
    graph.links.sort_by_key(|link| (link.to, link.from));
    let shared = matches!(network.switch.sharing, Sharing::Dynamic(_));
    Partition::new(&graph, threads, |switch| shared && !graph.switches[switch].unlimited)
}

/// A run by several threads, each with a partition.
pub struct ParallelRun {
    worlds: Vec<World>,
    lookahead: Span,
    /// The maximum by which a clock is ahead of the hosts', and the maximum by which one is behind.
    ahead: Span,
    behind: Span,
    now: Instant,
    /// End of the warm-up, if that is not over.
    warm_up: Option<Instant>,
    /// End of the run, as currently known.
    until: Instant,
    /// The measurement, once it has ended, and the messages for which the run continues.
    measured: Option<(Measured, Awaited)>,
    /// Events per recent epoch, and the minimum that is worth more than one thread.
    per_window: u64,
    fewest: u64,
    governor: Governor,
    /// Duration of all epochs, without the start of threads.
    took: Duration,
}

/// The messages for which a run continues after the measurement.
struct Awaited {
    cool_down: CoolDown,
    /// By message id: it is decided.
    decided: Vec<bool>,
}

impl ParallelRun {
    /// Minimum average events per epoch for threads to run together, if that is faster. Fewer are not worth a try:
    /// communication between threads takes as long as some events.
    const FEWEST: u64 = 30;
    /// Maximum events before the governor decides anew: some 50 ms, compared with which the tenth of a millisecond to
    /// start threads is negligible.
    const STINT: u64 = 1 << 21;

    fn of(scenario: Scenario, partition: Partition) -> ParallelRun {
        let scenarios = copies(&scenario, partition.parts - 1).into_iter().chain([scenario]);
        let mut worlds: Vec<World> = thread::scope(|scope| {
            let threads: Vec<_> = scenarios.map(|scenario| scope.spawn(|| World::new(scenario))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let partition = &Arc::new(worlds[0].suitable_partition(partition));
        thread::scope(|scope| {
            for (world, number) in worlds.iter_mut().zip(0..) {
                scope.spawn(move || world.set_up_partition(partition, number));
            }
        });
        let (ahead, behind) = partition.furthest();
        let until = worlds[0].duration().after_start();
        ParallelRun {
            lookahead: partition.lookahead,
            ahead,
            behind,
            now: Instant::ZERO,
            warm_up: worlds[0].warm_up().filter(|end| *end <= until),
            worlds,
            until,
            measured: None,
            per_window: 0,
            fewest: ParallelRun::FEWEST,
            governor: Governor::default(),
            took: Duration::ZERO,
        }
    }

    /// Returns the run with a minimum of average events per epoch for threads to run together; zero means always. The
    /// results are the same.
    #[must_use]
    pub fn together_from(self, events: u64) -> ParallelRun {
        ParallelRun { fewest: events, ..self }
    }

    /// Runs threads together for about `events` events, to measure their duration.
    fn tries(&mut self, events: u64) -> bool {
        let fewest = std::mem::replace(&mut self.fewest, 0);
        let more = self.goes_on(events);
        self.fewest = fewest;
        more
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.worlds.len()
    }

    /// As [`Simulation::advance`], for at least a trial's events.
    pub fn advance(&mut self, events: u64) -> bool {
        // Fewer would not suffice to measure their duration.
        self.goes_on(events.max(Governor::TRY))
    }

    /// Processes `events` events or some more; returns false when the run is over.
    fn goes_on(&mut self, events: u64) -> bool {
        let goal = self.events().saturating_add(events);
        while self.events() < goal {
            let goal = goal.min(self.events() + ParallelRun::STINT);
            let over = match &self.measured {
                Some(_) => self.await_decisions(goal),
                None => self.measure(goal),
            };
            if over {
                return self.measured.is_none() && self.close();
            }
        }
        true
    }

    /// Returns the number of events so far, of all threads.
    fn events(&self) -> u64 {
        self.worlds.iter().map(World::events).sum()
    }

    /// Runs until there have been `goal` events; returns true when the measurement is over.
    fn measure(&mut self, goal: u64) -> bool {
        let before = self.events();
        let target = self.warm_up.unwrap_or(self.until);
        let always = self.fewest == 0;
        let together = always || self.per_window >= self.fewest && self.governor.together();
        let most = if always { goal - before } else { self.governor.next().min(goal - before) };
        // If no partition is beyond that, all can be synchronized to one time.
        let slice =
            Slice { lookahead: self.lookahead, until: target.earlier_by(self.ahead), goal: goal.min(before + most) };
        let from = self.next_at().max(self.now);
        let (over, took) = if target.since_start() < self.ahead {
            (true, Duration::ZERO)
        } else if together {
            slice.together(&mut self.worlds, self.per_window)
        } else {
            slice.alone(&mut self.worlds)
        };
        self.now = self.worlds.iter().map(World::reached).max().unwrap_or_default();
        let (events, windows) = (self.events() - before, self.now.saturating_sub(from).0 / self.lookahead.0.max(1));
        if self.per_window >= self.fewest {
            self.governor.saw(together, events, took);
        }
        self.took += took;
        self.per_window = events / windows.max(1);
        if !over {
            return false;
        }
        self.synchronize(target);
        if self.warm_up.take().is_none() {
            return true;
        }
        self.worlds.iter_mut().for_each(World::warms_up);
        self.part();
        false
    }

    /// Returns the time of the next event, by its own clock.
    fn next_at(&self) -> Instant {
        self.worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX)
    }

    /// Synchronizes all partitions at one time: all events up to it are executed, and no later ones.
    fn synchronize(&mut self, at: Instant) {
        let worlds = &mut self.worlds;
        let mut reached = worlds.iter().map(World::reached).min().unwrap_or(at);
        // Then all clocks show at least that time.
        let until = at.saturating_add(self.behind);
        while reached < until {
            reached = reached.saturating_add(self.lookahead).min(until);
            let behind = worlds.iter_mut().filter(|world| world.reached() <= reached);
            behind.for_each(|world| world.goes_to_within(reached, at));
            exchange(worlds);
        }
        worlds.iter_mut().for_each(|world| world.is_at(at));
        self.now = at;
    }

    /// Resumes all partitions from one time, each by its own clock.
    fn part(&mut self) {
        let from = self.now.earlier_by(self.ahead);
        self.worlds.iter_mut().for_each(|world| world.goes_on_from(from));
    }

    /// Ends the measurement. Returns false if the run ends with it.
    fn close(&mut self) -> bool {
        let measured = stock::take(&mut self.worlds);
        let first = &self.worlds[0];
        let is_decided = |message| self.worlds.iter().any(|world| world.has_decided(message));
        let decided: Vec<bool> = first.messages().map(is_decided).collect();
        let cool_down = stock::awaits(&self.worlds, |message| decided[message.index()]);
        self.until = cool_down.until(self.now);
        self.worlds.iter_mut().for_each(World::report_decided);
        self.measured = Some((measured, Awaited { cool_down, decided }));
        let goes_on = self.until > self.now;
        if goes_on {
            self.part();
        }
        goes_on
    }

    /// Advances from instant to instant until there have been `goal` events; returns true when the run is over.
    fn await_decisions(&mut self, goal: u64) -> bool {
        let Some((_, awaited)) = &mut self.measured else { return true };
        let worlds = &mut self.worlds;
        while worlds.iter().map(World::events).sum::<u64>() < goal {
            let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
            if next > self.until {
                worlds.iter_mut().for_each(|world| world.is_at(self.until));
                self.now = self.until;
                return true;
            }
            for world in worlds.iter_mut().filter(|world| world.next_at() <= next) {
                world.goes_to(next);
            }
            exchange(worlds);
            self.now = next;
            for message in worlds.iter_mut().flat_map(World::take_decided).collect::<Vec<_>>() {
                let place = message.index();
                if awaited.decided.len() <= place {
                    awaited.decided.resize(place + 1, false);
                }
                if !std::mem::replace(&mut awaited.decided[place], true) {
                    let message = worlds.iter().find_map(|world| world.message(message));
                    awaited
                        .cool_down
                        .decided(message.expect("a decided message has a row in the partition of its sender"));
                }
            }
            self.until = awaited.cool_down.until(next);
        }
        false
    }

    fn packets_delivered(&self) -> u64 {
        match &self.measured {
            Some((measured, _)) => measured.counters.packets_delivered,
            None => self.worlds.iter().map(World::packets_delivered).sum(),
        }
    }

    /// As [`Simulation::finish`], for several threads.
    pub fn finish(self) -> Outcome {
        let (outcome, rest) = self.finish_taken();
        outcome.with(rest)
    }

    fn finish_taken(mut self) -> (Outcome, Rest) {
        if self.measured.is_none() {
            self.synchronize(self.now.saturating_add(self.ahead));
        }
        stock::finish(self.worlds, self.measured.map(|both| both.0), self.now, self.until)
    }
}

/// A slice: epochs until there have been `goal` events.
struct Slice {
    lookahead: Span,
    until: Instant,
    /// Events since the beginning of the run.
    goal: u64,
}

impl Slice {
    /// Advances all partitions with one thread. Returns whether the slice is over, and its duration.
    fn alone(&self, worlds: &mut [World]) -> (bool, Duration) {
        let clock = Clock::now();
        while worlds.iter().map(World::events).sum::<u64>() < self.goal {
            let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
            if next > self.until {
                return (true, clock.elapsed());
            }
            let end = next.saturating_add(self.lookahead).earlier_by(Span(1)).min(self.until);
            // Some may be further, from when threads ran together.
            worlds.iter_mut().filter(|world| world.reached() <= end).for_each(|world| world.goes_to(end));
            exchange(worlds);
        }
        (false, clock.elapsed())
    }

    /// Advances each partition with its own thread for the slice's probable length, given the events per epoch. Returns
    /// whether the slice is over, and its duration since all had begun.
    fn together(&self, worlds: &mut [World], per_window: u64) -> (bool, Duration) {
        let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
        if next > self.until {
            return (true, Duration::ZERO);
        }
        let events = self.goal.saturating_sub(worlds.iter().map(World::events).sum());
        let windows = events / per_window.max(1) + 1;
        let end = next.saturating_add(Span(self.lookahead.0.saturating_mul(windows))).min(self.until);
        // At the very beginning, not even events at time zero have been processed.
        let reached = |world: &World| next.max(world.reached().saturating_add(Span(1)).min(world.next_at()));
        let mailboxes = Mailboxes::new(worlds.iter().map(reached));
        worlds.iter_mut().zip(0..).for_each(|(world, part)| mailboxes.opens(part, world.outgoing()));
        let (first, others) = worlds.split_first_mut().expect("a run by several threads has two partitions or more");
        let took = thread::scope(|scope| {
            let _presence = Presence(&mailboxes);
            for (world, part) in others.iter_mut().zip(1..) {
                let mailboxes = &mailboxes;
                scope.spawn(move || self.take_part(world, part, end, mailboxes));
            }
            self.take_part(first, 0, end, &mailboxes)
        });
        worlds.iter_mut().zip(0..).for_each(|(world, part)| mailboxes.take(part, world));
        worlds.iter_mut().flat_map(World::outgoing).for_each(|outgoing| outgoing.goes_by(None));
        (worlds.iter().all(|world| world.next_at() > self.until), took)
    }

    /// Runs one thread of a slice; returns its duration since all had begun.
    fn take_part(&self, world: &mut World, part: usize, end: Instant, mailboxes: &Mailboxes) -> Duration {
        let _presence = Presence(mailboxes);
        mailboxes.wait_for_all(part);
        let clock = Clock::now();
        let end = end.saturating_add(Span(1));
        let step = Span(self.lookahead.0.div_ceil(2));
        let mut reached = mailboxes.reached(part);
        let mut horizon = reached;
        while reached < end {
            // The slowest can always advance by the whole lookahead, so some partition never waits. But each advances
            // by at most a step at a time, even if a further advance were possible. Otherwise the others would wait for
            // all of that, and then it for them, in turns.
            let next = reached.saturating_add(step).min(end);
            // Items sent since the last exchange are for later than the previous horizon.
            if horizon < next {
                let Some(can) = mailboxes.wait(part, self.lookahead, next) else { break };
                horizon = can;
                mailboxes.take(part, world);
            }
            reached = next;
            world.goes_to(reached.earlier_by(Span(1)));
            mailboxes.leave(part, reached, world.outgoing());
        }
        clock.elapsed()
    }
}

impl Receiver for World {
    #[inline(always)]
    fn words(&mut self, words: Words) {
        self.receive_words(words);
    }
    fn mail(&mut self, mail: &mut Mailbox) {
        self.receive(mail);
    }
}

/// Exchanges the items of all partitions.
fn exchange(worlds: &mut [World]) {
    for from in 0..worlds.len() {
        for to in 0..worlds.len() {
            let mut mail = std::mem::take(worlds[from].outgoing()[to].mail(true));
            worlds[to].receive(&mut mail);
            *worlds[from].outgoing()[to].mail(true) = mail;
        }
    }
}

/// Returns copies of a scenario without its faults.
fn copies(scenario: &Scenario, number: u32) -> Vec<Scenario> {
    let copy = |_| Scenario {
        title: scenario.title.clone(),
        run: scenario.run.clone(),
        network: scenario.network.clone(),
        faults: Vec::new(),
        transport: scenario.transport.clone(),
        transports: scenario.transports.clone(),
        classes: scenario.classes.iter().map(Class::again).collect(),
    };
    (0..number).map(copy).collect()
}
