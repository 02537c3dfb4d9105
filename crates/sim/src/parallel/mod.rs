//! One run by several threads, with the same results.
//!
//! Each thread has a part: a [`World`] of its own, in which it moves the hosts and ports that the [`Partition`] gives it.
//! What happens in one part reaches another only over a cut link or by a notice, which takes as long; so all can go on for
//! as long as the shortest cut link is (a window) before they tell each other what has crossed. Where events are few, one
//! thread moves all parts, window by window. After the end of what is measured, when each decided message may end the run,
//! one thread moves all parts from instant to instant.

mod barrier;
mod post;

use std::sync::Arc;
use std::thread;

use units::{Instant, Span};

use crate::class::Class;
use crate::cool_down::CoolDown;
use crate::network::Sharing;
use crate::outcome::{Outcome, Taken};
use crate::priorities::Priorities;
use crate::scenario::Scenario;
use crate::topology::Partition;
use crate::world::World;
use crate::world::stock::{self, Measured};
use barrier::{Barrier, Presence, Waited};
use post::{Post, Report};

/// A run in progress, by one thread or by several.
pub enum Simulation {
    /// By one.
    Alone(Box<World>),
    /// By several.
    Together(Box<Team>),
}

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

    /// Processes up to `events` events, or some more; false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        match self {
            Simulation::Alone(world) => world.advance(events),
            Simulation::Together(team) => team.advance(events),
        }
    }

    /// The simulated time reached.
    pub fn now(&self) -> Instant {
        match self {
            Simulation::Alone(world) => world.now(),
            Simulation::Together(team) => team.now,
        }
    }

    /// When what is measured ends; the run may go on until that is decided.
    pub fn duration(&self) -> Span {
        match self {
            Simulation::Alone(world) => world.duration(),
            Simulation::Together(team) => team.worlds[0].duration(),
        }
    }

    /// Data packets that have reached receivers so far, of those that count.
    pub fn packets_delivered(&self) -> u64 {
        match self {
            Simulation::Alone(world) => world.packets_delivered(),
            Simulation::Together(team) => team.packets_delivered(),
        }
    }

    /// A world that has the whole scenario.
    pub fn world(&self) -> &World {
        match self {
            Simulation::Alone(world) => world,
            Simulation::Together(team) => &team.worlds[0],
        }
    }

    /// As [`World::blocks_of`].
    pub fn blocks_of(&mut self, rows: usize) {
        match self {
            Simulation::Alone(world) => world.blocks_of(rows),
            Simulation::Together(team) => team.worlds.iter_mut().for_each(|world| world.blocks_of(rows)),
        }
    }

    /// As [`World::take`]. The rows of several threads are joined when the run is over, and leave then.
    pub fn take(&mut self) -> Taken {
        match self {
            Simulation::Alone(world) => world.take(),
            Simulation::Together(_) => Taken::default(),
        }
    }

    /// Ends the run here.
    pub fn finish(self) -> Outcome {
        let (outcome, rest) = self.finish_taken();
        outcome.with(rest)
    }

    /// As [`World::finish_taken`].
    pub fn finish_taken(self) -> (Outcome, Taken) {
        match self {
            Simulation::Alone(world) => world.finish_taken(),
            Simulation::Together(team) => team.finish_taken(),
        }
    }
}

/// How a scenario is dealt out to threads; the error says why it cannot be.
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
    now: Instant,
    /// When the run ends, as things are.
    until: Instant,
    /// What was measured, once the window of what counts has closed, and what the run goes on for.
    measured: Option<(Measured, Awaited)>,
    /// How many events the last windows had.
    per_window: u64,
    fewest: u64,
    /// One thread goes on alone until there have been so many events, for some have no core, and how long then.
    rests_until: u64,
    rests_for: u64,
}

/// What a run goes on for.
struct Awaited {
    cool_down: CoolDown,
    /// By message.
    decided: Vec<bool>,
}

impl Team {
    /// Threads work together on windows that have so many events on average. Less is not worth their meeting, which takes
    /// as long as some events do.
    const FEWEST: u64 = 30;
    /// So many events at least, before it is decided anew who works.
    const STINT: u64 = 100_000;
    /// So long one thread goes on alone at first when it has turned out that some have no core: about a tenth of a second.
    /// Each time in a row it is twice as long, up to so often.
    const REST: u64 = 1_000_000;
    const LONGEST_REST: u64 = Team::REST << 8;

    fn of(scenario: Scenario, partition: Partition) -> Team {
        let partition = Arc::new(partition);
        let lookahead = partition.lookahead;
        let scenarios = copies(&scenario, partition.parts - 1).into_iter();
        let mut worlds: Vec<World> = scenarios.chain([scenario]).map(World::new).collect();
        worlds.iter_mut().zip(0..).for_each(|(world, number)| world.becomes(&partition, number));
        let until = worlds[0].duration().after_start();
        Team {
            worlds,
            lookahead,
            now: Instant::ZERO,
            until,
            measured: None,
            per_window: 0,
            fewest: Team::FEWEST,
            rests_until: 0,
            rests_for: Team::REST,
        }
    }

    /// Works together where windows have at least so many events on average. What comes of the run is the same.
    #[must_use]
    pub fn together_from(self, events: u64) -> Team {
        Team { fewest: events, per_window: 0, ..self }
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.worlds.len()
    }

    /// As [`Simulation::advance`].
    pub fn advance(&mut self, events: u64) -> bool {
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
        let Team { worlds, lookahead, until, fewest, .. } = self;
        let before: u64 = worlds.iter().map(World::events).sum();
        let stint = Stint { lookahead: *lookahead, until: *until, goal };
        let together = self.per_window >= *fewest && before >= self.rests_until;
        let done = if together { stint.together(worlds) } else { stint.alone(worlds) };
        let events = self.events();
        self.per_window = (events - before) / done.windows.max(1);
        self.now = self.now.max(done.now);
        if done.waits_too_long {
            self.rests_until = events + self.rests_for;
            self.rests_for = (self.rests_for * 2).min(Team::LONGEST_REST);
        } else if together {
            self.rests_for = Team::REST;
        }
        done.over
    }

    /// The window of what counts is over. False when the run is.
    fn close(&mut self) -> bool {
        self.now = self.until;
        self.worlds.iter_mut().for_each(|world| world.goes_to(self.until));
        let measured = stock::take(&mut self.worlds);
        let first = &self.worlds[0];
        let is_decided = |message| self.worlds.iter().any(|world| world.has_decided(message));
        let cool_down = stock::awaits(first, is_decided);
        let decided = first.messages().map(is_decided).collect();
        self.until = cool_down.until(self.now);
        self.worlds.iter_mut().for_each(World::tells_what_is_decided);
        self.measured = Some((measured, Awaited { cool_down, decided }));
        self.until > self.now
    }

    /// Goes on from instant to instant until there have been so many events; true when the run is over.
    fn await_decisions(&mut self, goal: u64) -> bool {
        let Some((_, awaited)) = &mut self.measured else { return true };
        let worlds = &mut self.worlds;
        while worlds.iter().map(World::events).sum::<u64>() < goal {
            let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
            if next > self.until {
                worlds.iter_mut().for_each(|world| world.goes_to(self.until));
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
                    awaited.cool_down.decided(worlds[0].message(message));
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

    fn finish_taken(mut self) -> (Outcome, Taken) {
        self.worlds.iter_mut().for_each(|world| world.goes_to(self.now));
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

/// What has come of a stint.
#[derive(Default)]
struct Done {
    /// Nothing is left.
    over: bool,
    windows: u64,
    /// The time that all have reached.
    now: Instant,
    /// Threads have waited for others that had no core.
    waits_too_long: bool,
}

impl Stint {
    /// The end of the window in which the next event comes.
    fn window(&self, next: Instant) -> Instant {
        next.saturating_add(self.lookahead).earlier_by(Span(1)).min(self.until)
    }

    /// One thread moves all.
    fn alone(&self, worlds: &mut [World]) -> Done {
        let mut done = Done::default();
        while worlds.iter().map(World::events).sum::<u64>() < self.goal {
            let next = worlds.iter().map(World::next_at).min().unwrap_or(Instant::MAX);
            if next > self.until {
                return Done { over: true, ..done };
            }
            done.now = self.window(next);
            worlds.iter_mut().for_each(|world| world.goes_to(done.now));
            exchange(worlds);
            done.windows += 1;
        }
        done
    }

    /// Each thread moves its own, as [`alone`](Stint::alone) does.
    fn together(&self, worlds: &mut [World]) -> Done {
        let (barrier, post) = (Barrier::new(worlds.len()), Post::new(worlds.len()));
        let (first, others) = worlds.split_first_mut().expect("there are two or more");
        thread::scope(|scope| {
            for (world, part) in others.iter_mut().zip(1..) {
                let (barrier, post) = (&barrier, &post);
                scope.spawn(move || self.take_part(world, part, barrier, post));
            }
            self.take_part(first, 0, &barrier, &post)
        })
    }

    /// What each thread does. All come to the same conclusions, for all read the same.
    fn take_part(&self, world: &mut World, part: usize, barrier: &Barrier, post: &Post) -> Done {
        /// So many waits may be long, and one in so many.
        const LONG_WAITS: (u64, u64) = (4, 8);
        let _presence = Presence(barrier);
        let mut done = Done::default();
        let mut long_waits = 0;
        loop {
            let (round, next) = (done.windows, world.next_at());
            let report = Report { next, events: world.events(), long_waits };
            post.leave(round, part, report, world.outgoing());
            match barrier.wait() {
                Waited::Shortly => {}
                Waited::Long => long_waits += 1,
                // The run ends with the other thread's panic.
                Waited::InVain => return done,
            }
            post.take(round, part, |mail| world.receive(mail));
            let all = post.said(round);
            done.over = all.next > self.until;
            done.waits_too_long = all.long_waits > LONG_WAITS.0 + round / LONG_WAITS.1;
            if done.over || done.waits_too_long || all.events >= self.goal {
                return done;
            }
            done.now = self.window(all.next);
            world.goes_to(done.now);
            done.windows += 1;
        }
    }
}

/// Brings what each part has for the others there.
fn exchange(worlds: &mut [World]) {
    for from in 0..worlds.len() {
        for to in 0..worlds.len() {
            let mut mail = std::mem::take(&mut worlds[from].outgoing()[to]);
            mail.drain(..).for_each(|mail| worlds[to].receive(mail));
            worlds[from].outgoing()[to] = mail;
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
