//! A lower bound on the requests of several stages that miss a goal under any schedule.
//!
//! A request has a window for each message that some goal needs ([`sim::outcome::Window`]). No schedule can start it
//! earlier, and it must have arrived by the window's end. So a message is a job of links and cuts as in the
//! [bound of messages](crate). All jobs of one request at one machine are a group: the request is late if any of them
//! is ([`groups`]). Sets of groups add up, of whatever machines and times, where no request is in two of them
//! ([`disjoint_groups`]).
//!
//! Why no run misses fewer, beside the reasons for messages:
//!
//! - **Which requests.** Requests that count (they arrive in the measured time) and whose last goal is due before the
//!   end of the run. So each is in time for all goals, or known to have missed one.
//! - **Arrivals** are taken from the run, and so are the hosts, sizes and times of work that were drawn. An open loop
//!   has the same under every schedule. A closed loop, and a role of the least loaded hosts, depend on the run: then
//!   the bound is one of the requests as they were.
//! - **Windows.** The pieces before and after a message take at least their work, and the least time of their messages
//!   on any path. Waiting for a server is left out.
//! - **Quorums.** A message without which its quorum can be reached has no window.
//! - **Surely late.** A request is late if a goal cannot be reached in the least time, or if its own messages do not
//!   fit through some machine. Such requests are jobs of no machine.
//!
//! A bound is exact if the run misses no more, or if a schedule is found that does not. In such a schedule each message
//! has the part of its window that it takes in the request alone, stretched until the first goal is due.

use std::io;

use aside::{Aside, Merged, Run};
use sim::outcome::{Framing, Outcome, RequestRow};
use sim::plan::Plan;
use sim::topology::Graph;
use sim::traffic::Planned;
use sim::{Scenario, World};
use units::{Bytes, ClassId, HostId, Instant, halves, pair};

use crate::arrivals::{Arrival, Demands, Machine};
use crate::combine::{Period, Set, disjoint_groups, sum};
use crate::machine::groups::{self, Member, is_overloaded};
use crate::machine::{Budget, Job, leave_out};
use crate::schedule::{self, Found, Wanted};
use crate::{Bound, Bounds, Budgets, Gap, MAX_TOGETHER, Side, at_least_their_sum, framings_of};

/// The requests of a run that count and have goals, with the fields that the bound needs.
#[derive(Default)]
pub struct Requests {
    /// The requests in memory: of each a [`Head`] and the windows of its messages.
    recent: Vec<Words>,
    /// The runs of the other requests in a file.
    runs: Vec<Run>,
}

type Words = [u64; 4];

/// The first words of a request.
#[derive(Clone, Copy)]
struct Head {
    class: ClassId,
    /// The number of the request in its class.
    number: u64,
    /// The time at which the last goal is due, in ps.
    due: u64,
    /// The number of windows.
    windows: usize,
    /// A goal cannot be reached in the least time.
    hopeless: bool,
    /// The run has missed a goal.
    missed: bool,
}

impl Head {
    fn words(self) -> Words {
        let Head { class, number, due, windows, hopeless, missed } = self;
        [pair(class.0, windows as u32), number, due, u64::from(hopeless) | u64::from(missed) << 1]
    }

    fn of_words([class, number, due, flags]: Words) -> Head {
        let (class, windows) = halves(class);
        let (hopeless, missed) = (flags & 1 == 1, flags & 2 == 2);
        Head { class: ClassId(class), number, due, windows: windows as usize, hopeless, missed }
    }
}

/// Returns a message as an arrival at its earliest start, due at the end of its window.
fn arrival(class: ClassId, [hosts, bytes, start, due]: Words) -> Arrival {
    let (from, to) = halves(hosts);
    Arrival { class, from: HostId(from), to: HostId(to), bytes: Bytes(bytes), start, due, level: None }
}

impl Requests {
    /// Returns an empty set of requests.
    pub fn new() -> Requests {
        Requests::default()
    }

    /// Adds a request that counts. Requests without goals do not matter.
    pub fn add(&mut self, row: &RequestRow) {
        let due = |within| row.arrival.saturating_add(within);
        let Some(last) = row.goals.iter().map(|goal| due(goal.within)).max() else { return };
        let head = Head {
            class: row.class,
            number: row.number,
            due: last.0,
            windows: row.windows.len(),
            hopeless: row.goals.iter().any(|goal| goal.least > goal.within),
            missed: row.goals.iter().any(|goal| goal.reached.is_none_or(|at| at > due(goal.within))),
        };
        self.recent.push(head.words());
        let windows = row.windows.iter();
        self.recent.extend(windows.map(|w| [pair(w.from.0, w.to.0), w.bytes.0, w.start.0, w.due.0]));
    }

    /// Returns the size of the requests in memory, in words.
    pub fn held(&self) -> usize {
        self.recent.len() * size_of::<Words>() / size_of::<u64>()
    }

    /// Moves the requests in memory into a file.
    ///
    /// # Errors
    /// Returns the error of the disk.
    pub fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        self.runs.push(aside.append(&self.recent)?);
        self.recent.clear();
        Ok(())
    }

    /// Returns the bounds: of requests that miss a goal, in place of messages that miss a deadline. Intermediate
    /// results are written into the same file.
    ///
    /// # Errors
    /// Returns the error of the disk.
    pub fn bounds(&self, outcome: &Outcome, aside: Option<&mut Aside>) -> io::Result<Bounds> {
        let framings: Vec<Framing> = outcome.classes.iter().map(|class| class.framing).collect();
        let plans: Vec<Option<&Plan>> = outcome.plans.iter().map(Option::as_deref).collect();
        self.bounds_on(&outcome.graph, &framings, &plans, outcome.decided_until, aside)
    }

    fn bounds_on(
        &self,
        graph: &Graph,
        framings: &[Framing],
        plans: &[Option<&Plan>],
        until: Instant,
        mut aside: Option<&mut Aside>,
    ) -> io::Result<Bounds> {
        let mut traffic = Traffic::new(self, graph, framings, until);
        for (class, plan) in plans.iter().enumerate().filter_map(|(class, plan)| Some((class, (*plan)?))) {
            traffic.classes[class].is_plain = plan.is_plain();
        }
        if let Some(aside) = aside.as_deref_mut() {
            for run in &self.runs {
                let records = aside.read(run.clone())?;
                each(&records, |head, windows| traffic.add(head, windows));
                traffic.put(aside)?;
            }
        }
        each(&self.recent, |head, windows| traffic.add(head, windows));
        traffic.bounds(aside.as_deref())
    }

    /// Calls `f` with every request.
    fn each(&self, aside: Option<&Aside>, mut f: impl FnMut(Head, &[Words])) -> io::Result<()> {
        for run in aside.iter().flat_map(|_| &self.runs) {
            let records = aside.map_or_else(|| Ok(Vec::new()), |aside| aside.read(run.clone()))?;
            each(&records, &mut f);
        }
        each(&self.recent, f);
        Ok(())
    }
}

/// Returns the bounds of the requests of a run.
pub fn of_outcome(outcome: &Outcome) -> Bounds {
    let mut requests = Requests::new();
    let counted = outcome.stage_requests.iter().filter(|row| outcome.counts(row.arrival));
    counted.for_each(|row| requests.add(row));
    requests.bounds(outcome, None).expect("everything is in memory")
}

/// The bounds of the requests of a scenario, before it is run.
pub struct Foreseen {
    /// The bounds of the classes whose requests are known.
    pub bounds: Bounds,
    /// The classes with goals whose requests depend on the run, each with the reason.
    pub unknown: Vec<(ClassId, &'static str)>,
}

/// Returns the bounds of the requests of a scenario without running it. A run has the same bounds, and may show that
/// one is exact by missing no more.
pub fn of_scenario(scenario: Scenario) -> Foreseen {
    let planned: Vec<Option<Planned>> = scenario.classes.iter().map(|class| class.generator.plan()).collect();
    let plans: Vec<Option<&Plan>> = planned.iter().map(|planned| Some(&*planned.as_ref()?.plan)).collect();
    let unknown = (0..).map(ClassId).zip(&scenario.classes).zip(&plans).filter_map(|((id, class), plan)| {
        plan.filter(|plan| !plan.goals.is_empty())?;
        Some((id, class.generator.depends_on_run()?))
    });
    let unknown = unknown.collect();
    let (framings, until) = (framings_of(&scenario), scenario.run.latest());
    let graph = scenario.network.graph.clone();
    let mut requests = Requests::new();
    if plans.iter().flatten().any(|plan| !plan.goals.is_empty()) {
        let world = World::new(scenario);
        let counted = world.counted();
        world.foresee_requests(|row| {
            if counted.contains(&row.arrival) {
                requests.add(&row);
            }
        });
    }
    let bounds = requests.bounds_on(&graph, &framings, &plans, until, None).expect("everything is in memory");
    Foreseen { bounds, unknown }
}

/// Calls `f` with each request of some records, and the windows of its messages.
fn each(mut records: &[Words], mut f: impl FnMut(Head, &[Words])) {
    while let Some((head, rest)) = records.split_first() {
        let head = Head::of_words(*head);
        let (windows, others) = rest.split_at(head.windows);
        f(head, windows);
        records = others;
    }
}

/// The jobs of requests, by class.
struct Traffic<'a> {
    requests: &'a Requests,
    graph: &'a Graph,
    demands: Demands<'a>,
    framings: &'a [Framing],
    /// Goals that are due after this are not decided.
    until: Instant,
    packets: u64,
    classes: Vec<OfClass>,
    /// The jobs of the last request.
    asked: Vec<(Machine, Job)>,
}

/// The jobs and counts of one class.
#[derive(Default)]
struct OfClass {
    with_goals: u64,
    /// The number of requests that are late in any case.
    hopeless: u64,
    /// The number of requests that the run has decided, and the number of these that it missed.
    decided: u64,
    missed: u64,
    /// The number of messages that are jobs.
    messages: u64,
    /// The largest number of a request, and one.
    numbers: u64,
    /// The plan [is plain](sim::outcome::Plan::is_plain).
    is_plain: bool,
    jobs: Jobs,
}

/// Jobs as words: machine, release, due, work, class, number of the request.
#[derive(Default)]
struct Jobs {
    recent: Vec<[u64; 6]>,
    /// The runs in the file, each sorted.
    runs: Vec<Run>,
}

impl<'a> Traffic<'a> {
    fn new(requests: &'a Requests, graph: &'a Graph, framings: &'a [Framing], until: Instant) -> Traffic<'a> {
        let classes = framings.iter().map(|_| OfClass::default()).collect();
        let demands = Demands::new(graph, framings);
        Traffic { requests, graph, demands, framings, until, packets: 0, classes, asked: Vec::new() }
    }

    /// Adds a request to its class.
    fn add(&mut self, head: Head, windows: &[Words]) {
        let is_held = self.is_held(head, windows);
        let mss = self.framings[head.class.index()].mss;
        let packets = windows.iter().map(|[_, bytes, ..]| Bytes(*bytes).pieces(mss.into()));
        self.packets = packets.fold(self.packets, u64::saturating_add);
        let class = &mut self.classes[head.class.index()];
        class.with_goals += 1;
        class.numbers = class.numbers.max(head.number + 1);
        if head.due > self.until.0 {
            return;
        }
        class.decided += 1;
        class.missed += u64::from(head.missed);
        if is_held {
            class.messages += windows.len() as u64;
            let words = |&(machine, Job { release, due, work }): &(Machine, Job)| {
                [machine.0, release, due, work, head.class.0.into(), head.number]
            };
            class.jobs.recent.extend(self.asked.iter().map(words));
        } else {
            class.hopeless += 1;
        }
    }

    /// Finds the jobs of a request, machine by machine and in order of release; jobs with equal times are one. Returns
    /// whether it can be in time by itself. It is not asked after the end of the run.
    fn is_held(&mut self, head: Head, windows: &[Words]) -> bool {
        self.asked.clear();
        if head.hopeless || head.due > self.until.0 {
            return false;
        }
        let mut jobs = Vec::new();
        for window in windows {
            self.demands.of(&arrival(head.class, *window), &mut jobs);
            if !jobs.iter().all(|(_, job)| job.possible()) {
                return false;
            }
            self.asked.append(&mut jobs);
        }
        self.asked.sort_unstable_by_key(|(machine, job)| (*machine, job.release, job.due, job.work));
        self.asked.dedup_by(|(machine, job), (of, kept)| {
            let is_same = machine == of && (job.release, job.due) == (kept.release, kept.due);
            kept.work = kept.work.saturating_add(if is_same { job.work } else { 0 });
            is_same
        });
        self.asked.chunk_by(|(one, _), (other, _)| one == other).all(|jobs| {
            let jobs: Vec<Member> = jobs.iter().map(|(_, job)| (*job, 0)).collect();
            !is_overloaded(&jobs)
        })
    }

    /// Moves the jobs in memory into a file.
    fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        for Jobs { recent, runs } in self.classes.iter_mut().map(|class| &mut class.jobs) {
            if !recent.is_empty() {
                recent.sort_unstable();
                runs.push(aside.append(recent)?);
                recent.clear();
            }
        }
        Ok(())
    }

    fn bounds(mut self, aside: Option<&Aside>) -> io::Result<Bounds> {
        self.classes.iter_mut().for_each(|class| class.jobs.recent.sort_unstable());
        let with_goals: Vec<usize> =
            (0..self.classes.len()).filter(|class| self.classes[*class].with_goals > 0).collect();
        if with_goals.is_empty() {
            return Ok(Bounds { all: None, classes: vec![None; self.classes.len()] });
        }
        let mut budgets = Budgets::of(self.packets);
        let mut share = budgets.share(with_goals.len().clamp(1, 2));
        let all = self.bound(&with_goals, aside, &mut share)?;
        budgets.put_back(share);
        let mut classes = vec![None; self.classes.len()];
        for (done, &class) in with_goals.iter().enumerate() {
            let mut share = budgets.share(with_goals.len() - done);
            let alone = with_goals.len() == 1;
            classes[class] = Some(if alone { all } else { self.bound(&[class], aside, &mut share)? });
            budgets.put_back(share);
        }
        Ok(Bounds { all: Some(at_least_their_sum(all, &classes)), classes })
    }

    /// Returns the bound of some classes together.
    fn bound(&mut self, classes: &[usize], aside: Option<&Aside>, budgets: &mut Budgets) -> io::Result<Bound> {
        let sum_of =
            |figure: fn(&OfClass) -> u64| -> u64 { classes.iter().map(|class| figure(&self.classes[*class])).sum() };
        let (with_deadline, hopeless) = (sum_of(|class| class.with_goals), sum_of(|class| class.hopeless));
        let (run_missed, messages) = (sum_of(|class| class.missed), sum_of(|class| class.messages));
        let sets = self.sets(classes, aside, &mut budgets.overloads)?;
        let (missed, side) = (hopeless + sum(&sets), Side::of(sets.iter().map(|set| set.family)));
        let gap = if run_missed <= missed {
            None
        } else if !classes.iter().all(|class| self.classes[*class].is_plain) {
            Some(Gap::Schedule)
        } else if messages > budgets.crossings.0 {
            Some(Gap::Size)
        } else {
            self.gap(classes, &sets, aside, budgets)?
        };
        Ok(Bound { with_deadline, missed, side, gap })
    }

    /// Returns disjoint sets of the requests of some classes. At most [`MAX_TOGETHER`] jobs, and a busy period, are in
    /// memory at a time.
    fn sets(&self, classes: &[usize], aside: Option<&Aside>, budget: &mut Budget) -> io::Result<Vec<Set>> {
        let (firsts, requests) = self.firsts(classes);
        let jobs = || classes.iter().map(|class| &self.classes[*class].jobs);
        let runs = jobs().flat_map(|jobs| jobs.runs.iter().cloned());
        let merged = Merged::new(jobs().map(|jobs| &jobs.recent[..]), aside, runs)?;
        let member = |[machine, release, due, work, class, number]: [u64; 6]| {
            (Machine(machine), (Job { release, due, work }, firsts[class as usize] + number as u32))
        };
        let jobs = merged.map(|record| record.map(member));
        let mut taken = vec![false; requests as usize];
        let (mut periods, mut held, mut found) = (Vec::new(), 0, Vec::new());
        groups::overloads(jobs, |machine, jobs| {
            held += jobs.len();
            periods.push(Period { family: machine.family(), late: groups::quickly(&jobs), jobs });
            if held > MAX_TOGETHER {
                found.append(&mut settle(std::mem::take(&mut periods), &mut taken, &mut budget.share(2, 1)));
                held = 0;
            }
            Ok(())
        })?;
        found.append(&mut settle(periods, &mut taken, budget));
        Ok(found)
    }

    /// Returns the number of each class's first request in the list of some classes, and the number of all.
    fn firsts(&self, classes: &[usize]) -> (Vec<u32>, u32) {
        let (mut firsts, mut next) = (vec![0; self.classes.len()], 0);
        for &class in classes {
            firsts[class] = next;
            next += self.classes[class].numbers as u32;
        }
        (firsts, next)
    }

    /// Looks for a schedule that misses no more requests than are late in the sets, and returns the reason if none was
    /// found.
    fn gap(
        &mut self,
        classes: &[usize],
        sets: &[Set],
        aside: Option<&Aside>,
        budgets: &mut Budgets,
    ) -> io::Result<Option<Gap>> {
        let (firsts, requests) = self.firsts(classes);
        let mut left_out = vec![false; requests as usize];
        sets.iter().for_each(|set| give_way(set, &mut left_out, &mut budgets.overloads));
        let mut wanted = Vec::new();
        let requests = self.requests;
        requests.each(aside, |head, windows| {
            let class = head.class.index();
            let gives_way = || left_out[firsts[class] as usize + head.number as usize];
            if classes.contains(&class) && !gives_way() && self.is_held(head, windows) {
                self.want(head.class, windows, &mut wanted);
            }
        })?;
        wanted.sort_by_cached_key(|Wanted { from, to, bytes, start, due, .. }| (*start, *due, *from, *to, *bytes));
        Ok(match schedule::find(self.graph, &wanted, &mut budgets.crossings) {
            Found::Schedule => None,
            Found::Nothing => Some(Gap::Schedule),
            Found::TooLong => Some(Gap::Size),
        })
    }

    /// Adds the messages of a request, each with a part of its window. If all keep to these, the request is in time.
    ///
    /// The times of the request alone are stretched as much as all windows allow. So the pieces after a message start
    /// after its part. The first messages may start as early as ever, and the last ones may end as late.
    fn want(&mut self, class: ClassId, windows: &[Words], wanted: &mut Vec<Wanted>) {
        let mut of_windows = Vec::with_capacity(windows.len());
        for window in windows {
            let message = arrival(class, *window);
            of_windows.push((message, message.start.saturating_add(self.demands.least(&message).0)));
        }
        let starts = || of_windows.iter().map(|(message, _)| message.start);
        let ends = || of_windows.iter().map(|(_, end)| *end);
        let Some((first, last)) = starts().min().zip(starts().max()) else { return };
        let first_end = ends().min().unwrap_or(first);
        let stretch = of_windows.iter().map(|(message, end)| Ratio { of: message.due - first, to: end - first });
        let Some(stretch) = stretch.reduce(Ratio::min) else { return };
        for (message, end) in of_windows {
            let Arrival { from, to, bytes, start, due, .. } = message;
            let start = if start < first_end { start } else { first.saturating_add(stretch.above(start - first)) };
            let due = if end > last { due } else { first.saturating_add(stretch.below(end - first)) };
            wanted.push(Wanted { from, to, bytes, start, due, framing: self.framings[class.index()] });
        }
    }
}

/// A ratio of times.
#[derive(Clone, Copy)]
struct Ratio {
    of: u64,
    to: u64,
}

impl Ratio {
    fn min(self, other: Ratio) -> Ratio {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        if product(self.of, other.to) <= product(other.of, self.to) { self } else { other }
    }

    /// Returns a time multiplied by it, rounded down.
    fn below(self, time: u64) -> u64 {
        let time = u128::from(time) * u128::from(self.of) / u128::from(self.to.max(1));
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// Returns a time multiplied by it, rounded up.
    fn above(self, time: u64) -> u64 {
        let time = (u128::from(time) * u128::from(self.of)).div_ceil(u128::from(self.to.max(1)));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// Returns disjoint sets of the groups that are not taken yet, which are taken then.
fn settle(mut periods: Vec<Period>, taken: &mut [bool], budget: &mut Budget) -> Vec<Set> {
    for period in &mut periods {
        let all = period.jobs.len();
        period.jobs.retain(|(_, group)| !taken[*group as usize]);
        if period.jobs.len() < all {
            period.late = if is_overloaded(&period.jobs) { groups::quickly(&period.jobs) } else { 0 };
        }
    }
    periods.retain(|period| period.late > 0);
    let sets = disjoint_groups(&periods, taken.len() as u32, budget);
    sets.iter().flat_map(|set| &set.jobs).for_each(|(_, group)| taken[*group as usize] = true);
    sets
}

/// Chooses as many groups of a set to leave out as are late: such that the others fit, or those with the most work.
fn give_way(set: &Set, left_out: &mut [bool], budget: &mut Budget) {
    let merged = groups::as_one(&set.jobs);
    let jobs: Vec<Job> = merged.iter().map(|(job, _)| *job).collect();
    let mut out: Vec<usize> = match leave_out(&jobs, set.late, budget) {
        Some(out) => (0..jobs.len()).filter(|place| out[*place]).collect(),
        None => Vec::new(),
    };
    if out.is_empty() {
        out = (0..jobs.len()).collect();
        out.sort_by_key(|place| std::cmp::Reverse(jobs[*place].work));
        out.truncate(set.late as usize);
    }
    out.iter().for_each(|place| left_out[merged[*place].1 as usize] = true);
}
