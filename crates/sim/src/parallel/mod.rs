//! One run by several threads, with the same results.
//!
//! Each thread has a partition: a [`World`] of its own, in which it advances the hosts and ports that the [`Partition`]
//! assigns to it. Partitions affect each other only over a cut link or by a control message, which takes as long. So
//! each can advance by that time (an epoch) past the slowest before it must receive items. Where the caller finds it faster,
//! one thread advances all partitions, epoch by epoch. After the end of the measurement, each decided
//! message may end the run; then one thread advances all partitions from instant to instant.
//!
//! The caller also lends a clock, by which slices are timed and threads that wait in vain give up. No result depends on
//! it.
//!
//! Switches may have clocks that are ahead of the hosts' or behind, which makes epochs longer. At the end of the
//! warm-up and of the measurement all must be at one time. For that, partitions that are behind catch up, and later
//! events wait.

mod cores;
mod mailboxes;

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use units::{ClassId, Instant, Span};

use crate::cool_down::CoolDown;
use crate::fabric::channel::Mailbox;
use crate::fabric::network::Sharing;
use crate::fabric::switch_paths::at_switches;
use crate::priorities::Priorities;
use crate::record::outcome::Outcome;
use crate::record::rest::Rest;
use crate::requests::OpenRequest;
use crate::scenario::Scenario;
use crate::schedule::ring::Words;
use crate::topology::Partition;
use crate::world::World;
use crate::world::stock::{self, Measured};
use mailboxes::{Mailboxes, Presence, Receiver};

/// A clock of the machine: returns the nanoseconds since any fixed time.
pub type WallClock = fn() -> u64;

/// The threads that advance the partitions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One thread advances all partitions in turns.
    Alone,
    /// Each partition has a thread of its own.
    Together,
}

/// The work of one call of [`ParallelRun::advance`].
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// The run is not over.
    pub goes_on: bool,
    /// Number of events, of all partitions together.
    pub events: u64,
    /// Nanoseconds that they took, without the start of threads; none after the measurement, when one thread advances
    /// all partitions, whatever the way.
    pub took: Option<u64>,
}

/// Returns a partition of the scenario among up to this many threads. [`World::suitable_partition`] adapts it to the
/// network.
///
/// # Errors
/// The reason why one thread must run it.
pub fn partition(scenario: &Scenario, threads: u32) -> Result<Partition, &'static str> {
    let Scenario { run, network, faults, transports, classes, .. } = scenario;
    if run.trace.is_some() {
        return Err("it samples signals over time (run.trace)");
    }
    if !faults.is_empty() {
        return Err("it has faults");
    }
    if let Some(why) = classes.iter().find_map(|class| class.generator.indivisible()) {
        return Err(why);
    }
    if at_switches(&network.settings) {
        return Err("switches choose the next links of packets (network.balance)");
    }
    let service = network.service(transports, &Priorities::of(transports, classes));
    if service.lossless {
        return Err("switches pause the ports before them (network.lossless)");
    }
    let is_limited = matches!(network.switch.sharing, Sharing::Limited(..));
    let chooses = is_limited || service.at_departure || !(service.switches.built_in && service.marking.built_in);
    if chooses && transports.iter().any(|transport| transport.agents().is_some()) {
        return Err("switches write into headers of packets whose turn they choose");
    }
    let mut graph = network.graph.clone();
    // In the simulator's order.
    graph.links.sort_by_key(|link| (link.to, link.from));
    let shared = network.switch.sharing.alpha().is_some();
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
    /// Events per recent epoch.
    per_epoch: u64,
    clock: WallClock,
}

/// The messages for which a run continues after the measurement.
struct Awaited {
    cool_down: CoolDown,
    /// By message id: it is decided.
    decided: Vec<bool>,
    /// The requests that were not over at the end of the measurement.
    requests: BTreeMap<(ClassId, u64), OpenRequest>,
}

impl Awaited {
    /// Counts the pieces of requests that have begun and ended; a request is over when none is under way.
    fn count(&mut self, changes: impl Iterator<Item = ((ClassId, u64), i64)>) {
        for (id, change) in changes {
            if let Some(request) = self.requests.get_mut(&id) {
                request.outstanding += change;
            }
        }
        self.requests.retain(|_, request| {
            if request.outstanding == 0 {
                self.cool_down.request_over(request.arrival, request.due);
            }
            request.outstanding > 0
        });
    }
}

impl ParallelRun {
    /// Returns a run ready to start, by as many threads as the [`partition`] of this scenario has parts.
    pub fn new(scenario: Scenario, partition: Partition, clock: WallClock) -> ParallelRun {
        let copies: Vec<Scenario> = (1..partition.parts).map(|_| scenario.without_faults()).collect();
        let scenarios = copies.into_iter().chain([scenario]);
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
            per_epoch: 0,
            clock,
        }
    }

    /// Returns the run, with an estimate of its events per epoch.
    #[must_use]
    pub fn expecting(self, per_epoch: u64) -> ParallelRun {
        ParallelRun { per_epoch, ..self }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.worlds.len()
    }

    /// Returns the simulated time reached.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns a world that has the whole scenario.
    pub fn world(&self) -> &World {
        &self.worlds[0]
    }

    /// As [`World::blocks_of`], for each world.
    pub fn blocks_of(&mut self, rows: usize) {
        self.worlds.iter_mut().for_each(|world| world.blocks_of(rows));
    }

    /// Returns the number of events so far, of all threads.
    pub fn events(&self) -> u64 {
        self.worlds.iter().map(World::events).sum()
    }

    /// Returns the average number of events of an epoch in the slice before.
    pub fn events_per_epoch(&self) -> u64 {
        self.per_epoch
    }

    /// Processes up to `events` events, or some more.
    pub fn advance(&mut self, events: u64, way: Way) -> Slice {
        let before = self.events();
        let goal = before.saturating_add(events);
        let (goes_on, took) = match &self.measured {
            Some(_) => (!self.await_decisions(goal), None),
            None => {
                let (over, took) = self.measure(goal, way);
                (!over || self.close(), took)
            }
        };
        Slice { goes_on, events: self.events() - before, took }
    }

    /// Runs until there have been `goal` events. Returns whether the measurement is over, and the nanoseconds of the
    /// epochs, if there were any.
    fn measure(&mut self, goal: u64, way: Way) -> (bool, Option<u64>) {
        let before = self.events();
        let target = self.warm_up.unwrap_or(self.until);
        // If no partition is beyond that, all can be synchronized to one time.
        let until = target.earlier_by(self.ahead);
        let epochs = Epochs { lookahead: self.lookahead, until, goal, clock: self.clock };
        let from = self.next_at().max(self.now);
        let (over, took) = match way {
            _ if target.since_start() < self.ahead => (true, None),
            Way::Alone => epochs.alone(&mut self.worlds),
            Way::Together => epochs.together(&mut self.worlds, self.per_epoch),
        };
        self.now = self.worlds.iter().map(World::reached).max().unwrap_or_default();
        let passed = self.now.saturating_sub(from).0 / self.lookahead.0.max(1);
        self.per_epoch = (self.events() - before) / passed.max(1);
        if !over {
            return (false, took);
        }
        self.synchronize(target);
        if self.warm_up.take().is_none() {
            return (true, took);
        }
        self.worlds.iter_mut().for_each(World::warms_up);
        self.part();
        (false, took)
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
        let requests = stock::open_requests(&self.worlds);
        self.measured = Some((measured, Awaited { cool_down, decided, requests }));
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
            let changes: Vec<_> = worlds.iter_mut().flat_map(World::take_request_changes).collect();
            awaited.count(changes.into_iter());
            self.until = awaited.cool_down.until(next);
        }
        false
    }

    /// Returns the number of counted data packets that have reached receivers so far.
    pub fn packets_delivered(&self) -> u64 {
        match &self.measured {
            Some((measured, _)) => measured.counters.packets_delivered,
            None => self.worlds.iter().map(World::packets_delivered).sum(),
        }
    }

    /// Ends the run at the present time.
    pub fn finish(self) -> Outcome {
        let (outcome, rest) = self.finish_taken();
        outcome.with(rest)
    }

    /// As [`World::finish_taken`], for all worlds.
    pub fn finish_taken(mut self) -> (Outcome, Rest) {
        if self.measured.is_none() {
            self.synchronize(self.now.saturating_add(self.ahead));
        }
        stock::finish(self.worlds, self.measured.map(|both| both.0), self.now, self.until)
    }
}

/// Epochs until there have been `goal` events, at most up to `until`.
struct Epochs {
    lookahead: Span,
    until: Instant,
    /// Events since the beginning of the run.
    goal: u64,
    clock: WallClock,
}

impl Epochs {
    /// Advances all partitions with one thread. Returns whether there are no more events up to `until`, and the
    /// nanoseconds that it took.
    fn alone(&self, worlds: &mut [World]) -> (bool, Option<u64>) {
        let begin = (self.clock)();
        let took = || Some((self.clock)() - begin);
        while worlds.iter().map(World::events).sum::<u64>() < self.goal {
            let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
            if next > self.until {
                return (true, took());
            }
            let end = next.saturating_add(self.lookahead).earlier_by(Span(1)).min(self.until);
            // Some may be further, from when threads ran together.
            worlds.iter_mut().filter(|world| world.reached() <= end).for_each(|world| world.goes_to(end));
            exchange(worlds);
        }
        (false, took())
    }

    /// Advances each partition with its own thread for the probable number of epochs, given the events per epoch.
    /// Returns whether there are no more events up to `until`, and the nanoseconds since all threads had begun.
    fn together(&self, worlds: &mut [World], per_epoch: u64) -> (bool, Option<u64>) {
        let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
        if next > self.until {
            return (true, None);
        }
        let events = self.goal.saturating_sub(worlds.iter().map(World::events).sum());
        let epochs = events / per_epoch.max(1) + 1;
        let end = next.saturating_add(Span(self.lookahead.0.saturating_mul(epochs))).min(self.until);
        // At the very beginning, not even events at time zero have been processed.
        let reached = |world: &World| next.max(world.reached().saturating_add(Span(1)).min(world.next_at()));
        let mailboxes = Mailboxes::new(worlds.iter().map(reached), self.clock);
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
        (worlds.iter().all(|world| world.next_at() > self.until), Some(took))
    }

    /// Runs one thread of a slice; returns its nanoseconds since all had begun.
    fn take_part(&self, world: &mut World, part: usize, end: Instant, mailboxes: &Mailboxes) -> u64 {
        let _presence = Presence(mailboxes);
        mailboxes.wait_for_all(part);
        let begin = (self.clock)();
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
        (self.clock)() - begin
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
