//! One run by several threads, with the same results.
//!
//! Each thread has a part: a [`World`] of its own, in which it moves the hosts and ports that the [`Partition`] gives it.
//! What happens in one part reaches another only over a cut link or by a notice, which takes as long; so each can go on for
//! as long (a window) after the slowest before it must know what has crossed. Where events are few, or it has turned out to
//! be faster, one thread moves all parts, window by window. After the end of what is measured, when each decided message
//! may end the run, one thread moves all parts from instant to instant.
//!
//! Switches may go by clocks that are ahead of the hosts' or behind, which makes windows longer. Where all must be at one time,
//! at the end of the warm-up and of what is measured, those that are behind catch up, and what is later waits.

mod cores;
mod pace;
mod post;
mod trial;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant as Clock};

use units::{Instant, Span};

use crate::class::Class;
use crate::cool_down::CoolDown;
use crate::net::part::Mail;
use crate::net::ring::Words;
use crate::network::Sharing;
use crate::outcome::{Outcome, Rest, Taken};
use crate::priorities::Priorities;
use crate::scenario::Scenario;
use crate::topology::Partition;
use crate::world::World;
use crate::world::stock::{self, Measured};
use pace::Pace;
use post::{Post, Presence, Receiver};
pub use trial::Terms;
use trial::{Choice, Trial};

/// A run in progress, by one thread or by several.
pub enum Simulation {
    /// By one.
    Alone(Box<World>),
    /// By several.
    Together(Box<Team>),
    /// By one, until it has turned out what is faster; none only while that is decided.
    Open(Option<Box<Trial>>),
}

const OPEN: &str = "it is decided at once";

impl Simulation {
    /// Everything in place, nothing sent yet, for up to so many threads; and a note where there will be fewer.
    pub fn new(scenario: Scenario, threads: u32) -> (Simulation, Option<String>) {
        let parted = if threads > 1 { part(&scenario, threads) } else { Err("") };
        match parted {
            Ok(partition) => {
                let parts = partition.parts;
                let note = format!("this runs on {parts} threads, one for each switch with hosts, not on {threads}");
                (Simulation::Together(Box::new(Team::of(scenario, partition))), (parts < threads).then_some(note))
            }
            Err(why) => {
                let note = (threads > 1).then(|| format!("this runs on one thread: {why}"));
                (Simulation::Alone(Box::new(World::new(scenario))), note)
            }
        }
    }

    /// Everything in place, nothing sent yet, for one thread or for up to so many as there may be when the run has begun,
    /// whatever is faster on its beginning. What they take longer where one is faster is hardly seen.
    pub fn choosing(scenario: Scenario, most: fn() -> u32, terms: Terms) -> Simulation {
        match part(&scenario, 2) {
            Ok(_) => Simulation::Open(Some(Box::new(Trial::new(scenario, most, terms)))),
            Err(_) => Simulation::Alone(Box::new(World::new(scenario))),
        }
    }

    /// Processes up to `events` events, or some more; false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        match self {
            Simulation::Alone(world) => world.advance(events),
            Simulation::Together(team) => team.advance(events),
            Simulation::Open(trial) => {
                let (choice, more) = trial.take().expect(OPEN).advance(events);
                *self = match choice {
                    Choice::Alone(world) => Simulation::Alone(world),
                    Choice::Together(team) => Simulation::Together(team),
                    Choice::Open(trial) => Simulation::Open(Some(trial)),
                };
                more
            }
        }
    }

    /// The simulated time reached.
    pub fn now(&self) -> Instant {
        match self {
            Simulation::Together(team) => team.now,
            _ => self.world().now(),
        }
    }

    /// When what is measured ends; the run may go on until that is decided.
    pub fn duration(&self) -> Span {
        self.world().duration()
    }

    /// Data packets that have reached receivers so far, of those that count.
    pub fn packets_delivered(&self) -> u64 {
        match self {
            Simulation::Together(team) => team.packets_delivered(),
            _ => self.world().packets_delivered(),
        }
    }

    /// A world that has the whole scenario.
    pub fn world(&self) -> &World {
        match self {
            Simulation::Alone(world) => world,
            Simulation::Together(team) => &team.worlds[0],
            Simulation::Open(trial) => &trial.as_ref().expect(OPEN).world,
        }
    }

    /// As [`World::blocks_of`].
    pub fn blocks_of(&mut self, rows: usize) {
        match self {
            Simulation::Alone(world) => world.blocks_of(rows),
            Simulation::Together(team) => team.worlds.iter_mut().for_each(|world| world.blocks_of(rows)),
            Simulation::Open(trial) => trial.as_mut().expect(OPEN).blocks_of(rows),
        }
    }

    /// As [`World::take`]. The rows of several threads are joined when the run is over, and leave then; while it is open
    /// who goes on, nothing leaves.
    pub fn take(&mut self) -> Taken {
        match self {
            Simulation::Alone(world) => world.take(),
            _ => Taken::default(),
        }
    }

    /// Ends the run here.
    pub fn finish(self) -> Outcome {
        let (outcome, rest) = self.finish_taken();
        outcome.with(rest)
    }

    /// As [`World::finish_taken`].
    pub fn finish_taken(self) -> (Outcome, Rest) {
        match self {
            Simulation::Alone(world) => world.finish_taken(),
            Simulation::Together(team) => team.finish_taken(),
            Simulation::Open(trial) => trial.expect(OPEN).world.finish_taken(),
        }
    }
}

/// How a scenario can be dealt out to threads, if ports to hosts are fed ([`World::can_be`]); the error says why it cannot be.
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
    // As the simulator numbers them.
    graph.links.sort_by_key(|link| (link.to, link.from));
    let shared = matches!(network.switch.sharing, Sharing::Dynamic(_));
    Partition::new(&graph, threads, |switch| shared && !graph.switches[switch].unlimited)
}

/// Several threads with a part of a run each.
pub struct Team {
    worlds: Vec<World>,
    lookahead: Span,
    /// How far a clock is ahead of the hosts' at most, and how far behind.
    ahead: Span,
    behind: Span,
    now: Instant,
    /// When the warm-up ends, if that is to come.
    warm_up: Option<Instant>,
    /// When the run ends, as things are.
    until: Instant,
    /// What was measured, once the window of what counts has closed, and what the run goes on for.
    measured: Option<(Measured, Awaited)>,
    /// How many events the last windows had, and how many are worth more than one thread.
    per_window: u64,
    fewest: u64,
    pace: Pace,
    /// How long the windows took, without what it takes threads to begin.
    took: Duration,
}

/// What a run goes on for.
struct Awaited {
    cool_down: CoolDown,
    /// By message.
    decided: Vec<bool>,
}

impl Team {
    /// Threads work together on windows that have so many events on average, if that is faster. Less is not worth a try:
    /// it takes as long as some events do until one knows of the other.
    const FEWEST: u64 = 30;
    /// So many events at most, before it is decided anew who works: some 50 ms, beside which the tenth of a millisecond that
    /// threads take to begin is nothing.
    const STINT: u64 = 1 << 21;

    fn of(scenario: Scenario, partition: Partition) -> Team {
        let scenarios = copies(&scenario, partition.parts - 1).into_iter().chain([scenario]);
        let mut worlds: Vec<World> = thread::scope(|scope| {
            let threads: Vec<_> = scenarios.map(|scenario| scope.spawn(|| World::new(scenario))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let partition = &Arc::new(worlds[0].can_be(partition));
        thread::scope(|scope| {
            for (world, number) in worlds.iter_mut().zip(0..) {
                scope.spawn(move || world.becomes(partition, number));
            }
        });
        let (ahead, behind) = partition.furthest();
        let until = worlds[0].duration().after_start();
        Team {
            lookahead: partition.lookahead,
            ahead,
            behind,
            now: Instant::ZERO,
            warm_up: worlds[0].warm_up().filter(|end| *end <= until),
            worlds,
            until,
            measured: None,
            per_window: 0,
            fewest: Team::FEWEST,
            pace: Pace::default(),
            took: Duration::ZERO,
        }
    }

    /// Works together where windows have at least so many events on average; from none on, always. What comes of the run
    /// is the same.
    #[must_use]
    pub fn together_from(self, events: u64) -> Team {
        Team { fewest: events, ..self }
    }

    /// Goes on together for about so many events, to see how long that takes.
    fn tries(&mut self, events: u64) -> bool {
        let fewest = std::mem::replace(&mut self.fewest, 0);
        let more = self.goes_on(events);
        self.fewest = fewest;
        more
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.worlds.len()
    }

    /// As [`Simulation::advance`].
    pub fn advance(&mut self, events: u64) -> bool {
        // Less would tell nothing of how long it takes.
        self.goes_on(events.max(Pace::TRY))
    }

    /// Processes so many events or some more; false when the run is over.
    fn goes_on(&mut self, events: u64) -> bool {
        let goal = self.events().saturating_add(events);
        while self.events() < goal {
            let goal = goal.min(self.events() + Team::STINT);
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

    /// Up to now, by all.
    fn events(&self) -> u64 {
        self.worlds.iter().map(World::events).sum()
    }

    /// Goes on until there have been so many events; true when the window of what counts is over.
    fn measure(&mut self, goal: u64) -> bool {
        let before = self.events();
        let target = self.warm_up.unwrap_or(self.until);
        let always = self.fewest == 0;
        let together = always || self.per_window >= self.fewest && self.pace.together();
        let most = if always { goal - before } else { self.pace.next().min(goal - before) };
        // Where none is ahead of that, all can be brought to one time.
        let stint =
            Stint { lookahead: self.lookahead, until: target.earlier_by(self.ahead), goal: goal.min(before + most) };
        let from = self.next_at().max(self.now);
        let (over, took) = if target.since_start() < self.ahead {
            (true, Duration::ZERO)
        } else if together {
            stint.together(&mut self.worlds, self.per_window)
        } else {
            stint.alone(&mut self.worlds)
        };
        self.now = self.worlds.iter().map(World::reached).max().unwrap_or_default();
        let (events, windows) = (self.events() - before, self.now.saturating_sub(from).0 / self.lookahead.0.max(1));
        if self.per_window >= self.fewest {
            self.pace.saw(together, events, took);
        }
        self.took += took;
        self.per_window = events / windows.max(1);
        if !over {
            return false;
        }
        self.meet(target);
        if self.warm_up.take().is_none() {
            return true;
        }
        self.worlds.iter_mut().for_each(World::warms_up);
        self.part();
        false
    }

    /// When the next event comes, by the clock of where it does.
    fn next_at(&self) -> Instant {
        self.worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX)
    }

    /// Brings all to one time: what happens by then has happened, and nothing else.
    fn meet(&mut self, at: Instant) {
        let worlds = &mut self.worlds;
        let mut reached = worlds.iter().map(World::reached).min().unwrap_or(at);
        // Then it is that time by all clocks.
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

    /// All go on from one time, each by its own clock.
    fn part(&mut self) {
        let from = self.now.earlier_by(self.ahead);
        self.worlds.iter_mut().for_each(|world| world.goes_on_from(from));
    }

    /// The window of what counts is over. False when the run is.
    fn close(&mut self) -> bool {
        let measured = stock::take(&mut self.worlds);
        let first = &self.worlds[0];
        let is_decided = |message| self.worlds.iter().any(|world| world.has_decided(message));
        let decided: Vec<bool> = first.messages().map(is_decided).collect();
        let cool_down = stock::awaits(&self.worlds, |message| decided[message.index()]);
        self.until = cool_down.until(self.now);
        self.worlds.iter_mut().for_each(World::tells_what_is_decided);
        self.measured = Some((measured, Awaited { cool_down, decided }));
        let goes_on = self.until > self.now;
        if goes_on {
            self.part();
        }
        goes_on
    }

    /// Goes on from instant to instant until there have been so many events; true when the run is over.
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
                    awaited.cool_down.decided(message.expect("it is sent somewhere"));
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

    /// As [`Simulation::finish`].
    pub fn finish(self) -> Outcome {
        let (outcome, rest) = self.finish_taken();
        outcome.with(rest)
    }

    fn finish_taken(mut self) -> (Outcome, Rest) {
        if self.measured.is_none() {
            self.meet(self.now.saturating_add(self.ahead));
        }
        stock::finish(self.worlds, self.measured.map(|both| both.0), (self.now, self.until))
    }
}

/// Windows until there have been so many events.
struct Stint {
    lookahead: Span,
    until: Instant,
    /// Counted from the beginning of the run.
    goal: u64,
}

impl Stint {
    /// One thread moves all. True when nothing is left; and how long it took.
    fn alone(&self, worlds: &mut [World]) -> (bool, Duration) {
        let clock = Clock::now();
        while worlds.iter().map(World::events).sum::<u64>() < self.goal {
            let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
            if next > self.until {
                return (true, clock.elapsed());
            }
            let end = next.saturating_add(self.lookahead).earlier_by(Span(1)).min(self.until);
            // Some may be further, from when they worked together.
            worlds.iter_mut().filter(|world| world.reached() <= end).for_each(|world| world.goes_to(end));
            exchange(worlds);
        }
        (false, clock.elapsed())
    }

    /// Each thread moves its own for as long as that may take, if there are so many events in a window. True when nothing
    /// is left; and how long it took once all had begun.
    fn together(&self, worlds: &mut [World], per_window: u64) -> (bool, Duration) {
        let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
        if next > self.until {
            return (true, Duration::ZERO);
        }
        let events = self.goal.saturating_sub(worlds.iter().map(World::events).sum());
        let windows = events / per_window.max(1) + 1;
        let end = next.saturating_add(Span(self.lookahead.0.saturating_mul(windows))).min(self.until);
        // At the very beginning, not even what comes at once is processed.
        let reached = |world: &World| next.max(world.reached().saturating_add(Span(1)).min(world.next_at()));
        let post = Post::new(worlds.iter().map(reached));
        worlds.iter_mut().zip(0..).for_each(|(world, part)| post.opens(part, world.outgoing()));
        let (first, others) = worlds.split_first_mut().expect("there are two or more");
        let took = thread::scope(|scope| {
            let _presence = Presence(&post);
            for (world, part) in others.iter_mut().zip(1..) {
                let post = &post;
                scope.spawn(move || self.take_part(world, part, end, post));
            }
            self.take_part(first, 0, end, &post)
        });
        worlds.iter_mut().zip(0..).for_each(|(world, part)| post.take(part, world));
        worlds.iter_mut().flat_map(World::outgoing).for_each(|outgoing| outgoing.goes_by(None));
        (worlds.iter().all(|world| world.next_at() > self.until), took)
    }

    /// What each thread does, and how long it took once all had begun.
    fn take_part(&self, world: &mut World, part: usize, end: Instant, post: &Post) -> Duration {
        let _presence = Presence(post);
        post.gather(part);
        let clock = Clock::now();
        let end = end.saturating_add(Span(1));
        let step = Span(self.lookahead.0.div_ceil(2));
        let mut reached = post.reached(part);
        let mut horizon = reached;
        while reached < end {
            // The slowest can always go on by the whole lookahead, so that some part never waits. It goes no further than a
            // step at a time, even where it could: those who wait for it would wait for all of that, and then it for them,
            // by turns.
            let next = reached.saturating_add(step).min(end);
            // What was sent since it last looked is for later than it could go then.
            if horizon < next {
                let Some(can) = post.wait(part, self.lookahead, next) else { break };
                horizon = can;
                post.take(part, world);
            }
            reached = next;
            world.goes_to(reached.earlier_by(Span(1)));
            post.leave(part, reached, world.outgoing());
        }
        clock.elapsed()
    }
}

impl Receiver for World {
    #[inline(always)]
    fn words(&mut self, words: Words) {
        self.receive_words(words);
    }
    fn mail(&mut self, mail: &mut Mail) {
        self.receive(mail);
    }
}

/// Brings what each part has for the others there.
fn exchange(worlds: &mut [World]) {
    for from in 0..worlds.len() {
        for to in 0..worlds.len() {
            let mut mail = std::mem::take(worlds[from].outgoing()[to].mail(true));
            worlds[to].receive(&mut mail);
            *worlds[from].outgoing()[to].mail(true) = mail;
        }
    }
}

/// So many copies of a scenario without faults.
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
