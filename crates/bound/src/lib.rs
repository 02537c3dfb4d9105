//! An omniscient lower bound on the deadlines that any schedule misses, for the messages of a run.
//!
//! A schedule here knows all messages in advance, and sends any part of a message at any time after its hand-over. It
//! loses nothing, acknowledges nothing and needs no handshake. Three kinds of links limit it: the one into each
//! receiver, the one out of each sender, and the links between switches that every path of a message crosses
//! ([`cuts`]). On each of them the question is preemptive scheduling with release times. [`machine`] answers it with a
//! lower bound on the late messages of each busy period. Bounds of periods without a common message add up
//! ([`combine`]) to [`Bound::missed`].
//!
//! Why no run of the simulator misses fewer, whatever its transport:
//!
//! - **Which messages.** A message is included if it counts (it starts in the measured time) and is decided in any
//!   case: its deadline is not after the latest end of the run. The others occupy no link here, which only makes room.
//!   A message that a run aborts (`expired = "abort"`, a request that cannot be granted) counts as missed there; here
//!   none is aborted.
//! - **Arrivals.** All traffic patterns are open loop: the start of a message does not depend on earlier ones. So the
//!   bound is one of the traffic, not of the transport.
//! - **Release.** At its sender's link a message can begin at its hand-over. At later links it can begin when its
//!   smallest packet has been stored and forwarded at each earlier hop of the fastest path ([`sim::topology::latency`]).
//! - **Deadline.** The last byte must have left the receiver's link one propagation delay before, and earlier links
//!   before that by all the later hops.
//! - **Work.** The payload, and the headers of as few full packets as possible, at the rate of the link, or of all
//!   links of a cut together ([`arrivals`]). On a persistent connection a packet may carry parts of two messages. Here
//!   packets can be interrupted at any time, and the cost of a shared packet is divided. A run also sends ACKs, SYNs
//!   and retransmissions. A host's pauses (`host_jitter`) only delay.
//! - **Elsewhere** in the network only the time of flight counts: buffers and routes can only make a run miss more.
//! - **Infeasible alone.** A message that one of its machines could not carry in time even alone is missed, and is no
//!   job of any machine.
//! - **Rounding** always favours the schedule, in integers.
//!
//! The result is a bound, not a schedule: perhaps no transport can reach it. It is exact where a schedule was found
//! that misses no more ([`schedule`]); otherwise [`Bound::gap`] gives the reason.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod combine;
pub mod cuts;
pub mod machine;
pub mod requests;
pub mod schedule;

use std::collections::BTreeMap;
use std::io;

use aside::{Aside, Merged, Run};
use sim::outcome::{Framing, Message, Outcome};
use sim::topology::Graph;
use sim::traffic::Request;
use sim::{EmptyNetwork, Scenario};
use units::{ClassId, Instant};

use arrivals::{Arrival, Demands, Machine};
use combine::{Period, Set, disjoint_sets};
use machine::{Budget, Job, Overloaded};
use schedule::{Found, Wanted};

/// Steps for overloads (about 10 ms),
const STEPS: u64 = 1_000_000;
/// and further steps for each packet, at a small part of the packet's cost in a run.
const STEPS_PER_PACKET: u64 = 2;

/// Packets for which a schedule may have one train cross one link; in a run each packet costs several crossings.
const PACKETS_PER_CROSSING: u64 = 16;
/// The least and the most crossings, whatever the packets (about 10 ms, and about 30 MB).
const CROSSINGS: std::ops::RangeInclusive<u64> = 100_000..=300_000;

/// The most jobs of overloaded busy periods in memory at a time, to combine several families of machines. Of more jobs,
/// the largest sum of one family counts.
const MAX_TOGETHER: usize = 1 << 18;

/// A lower bound on the deadlines that any schedule misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The number of messages with a deadline that count.
    pub with_deadline: u64,
    /// The number of them that every schedule misses.
    pub missed: u64,
    /// The links that the bound is derived from.
    pub side: Side,
    /// The reason why every schedule may miss more; none where a schedule was found that does not.
    pub gap: Option<Gap>,
}

/// The reason why a bound may be less than the best schedule misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// An overload was too large to find the fewest jobs that its link can miss.
    Overload,
    /// Each link can meet the bound, but no schedule of the whole network was found.
    Schedule,
    /// The messages are too many to look for a schedule.
    Size,
    /// The start of an answer within a tree depends on the schedule, so that it is a job of no link.
    Tree,
    /// As [`Gap::Tree`], for messages of requests of several stages, which have [a bound of their own](requests).
    Requests,
}

impl Gap {
    /// Returns the reason as results print it.
    pub fn words(self) -> &'static str {
        match self {
            Gap::Overload => "an overload was too large to find the fewest",
            Gap::Schedule => "no schedule was found that misses no more",
            Gap::Size => "too many packets to look for a schedule",
            Gap::Tree => "answers within a tree are left out",
            Gap::Requests => "messages of requests are left out, whose bound is `requests.bound`",
        }
    }
}

/// The links that a bound is derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The links into the receiving hosts.
    Receivers,
    /// The links out of the sending hosts.
    Senders,
    /// The links between switches.
    Network,
    /// Receivers limit some messages and senders others.
    Both,
    /// Links between switches limit some messages, other links others.
    Several,
}

impl Side {
    /// Returns the word of the side in results.
    pub fn name(self) -> &'static str {
        match self {
            Side::Receivers => "receivers",
            Side::Senders => "senders",
            Side::Network => "network",
            Side::Both => "both",
            Side::Several => "several",
        }
    }

    /// Returns the side of the machines of some families.
    fn of(families: impl Iterator<Item = u32>) -> Side {
        let side = |family| match family {
            Machine::RECEIVERS => Side::Receivers,
            Machine::SENDERS => Side::Senders,
            _ => Side::Network,
        };
        families.map(side).reduce(Side::and).unwrap_or(Side::Receivers)
    }

    fn and(self, other: Side) -> Side {
        let at_hosts = |side: Side| matches!(side, Side::Receivers | Side::Senders | Side::Both);
        match (self, other) {
            (one, other) if one == other => one,
            (one, other) if at_hosts(one) && at_hosts(other) => Side::Both,
            _ => Side::Several,
        }
    }
}

/// The bounds of one run's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The bound of all classes together; none without deadlines.
    pub all: Option<Bound>,
    /// The bound of each class as if there were no other; they need not add up. None where a class has no deadlines.
    pub classes: Vec<Option<Bound>>,
}

/// The messages of a run that have deadlines and count, with the fields that the bound needs.
///
/// In trees of several levels only the leaves' answers become jobs of links. The start of other answers depends on the
/// run, and another schedule could let them start earlier.
pub struct Messages {
    /// By class, the level of the leaves in trees.
    leaves: Vec<u8>,
    /// The messages in memory.
    recent: Vec<Arrival>,
    /// The runs of the other messages in a file.
    runs: Vec<Run>,
}

impl Messages {
    /// The level of messages of requests of several stages: their start depends on the run.
    const UNKNOWN: u8 = u8::MAX;

    /// Returns an empty set of messages of `classes` classes.
    pub fn new(classes: usize) -> Messages {
        Messages { leaves: vec![0; classes], recent: Vec::new(), runs: Vec::new() }
    }

    /// Adds a message that counts.
    pub fn add(&mut self, message: &Message) {
        let &Message { class, from, to, query, place, piece, bytes, start, deadline, .. } = message;
        self.ask(class, &Request { start, from, to, bytes, deadline, query, place, piece });
    }

    /// Adds a message that counts, before it is sent.
    fn ask(&mut self, class: ClassId, request: &Request) {
        let &Request { start, from, to, bytes, deadline, place, piece, .. } = request;
        let leaves = &mut self.leaves[class.index()];
        *leaves = place.map_or(0, |place| place.level).max(*leaves);
        // A message with a deadline always has a size.
        if let Some((deadline, bytes)) = deadline.zip(bytes) {
            let of_request = piece.map(|_| Messages::UNKNOWN);
            let (due, level) = (start.saturating_add(deadline).0, place.map(|place| place.level).or(of_request));
            self.recent.push(Arrival { class, from, to, bytes, start: start.0, due, level });
        }
    }

    /// Returns the size of the messages in memory, in words.
    pub fn held(&self) -> usize {
        self.recent.len() * Arrival::WORDS
    }

    /// Moves the messages in memory into a file.
    ///
    /// # Errors
    /// Returns the error of the disk.
    pub fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        let records: Vec<_> = self.recent.iter().map(Arrival::record).collect();
        self.runs.push(aside.append(&records)?);
        self.recent.clear();
        Ok(())
    }

    /// Returns the bounds, up to the time that the run reached. Intermediate results are written into the same file.
    ///
    /// # Errors
    /// Returns the error of the disk.
    pub fn bounds(&self, outcome: &Outcome, aside: Option<&mut Aside>) -> io::Result<Bounds> {
        let framings: Vec<Framing> = outcome.classes.iter().map(|class| class.framing).collect();
        self.bounds_on(&outcome.graph, &framings, outcome.decided_until, aside)
    }

    fn bounds_on(
        &self,
        graph: &Graph,
        framings: &[Framing],
        until: Instant,
        mut aside: Option<&mut Aside>,
    ) -> io::Result<Bounds> {
        let mut traffic = Traffic::new(self, graph, framings, until);
        if let Some(aside) = aside.as_deref_mut() {
            for run in &self.runs {
                let records = aside.read(run.clone())?.into_iter().map(Arrival::of_record);
                records.for_each(|arrival| traffic.add(&arrival));
                traffic.put(aside)?;
            }
        }
        self.recent.iter().for_each(|arrival| traffic.add(arrival));
        traffic.bounds(aside.as_deref())
    }

    /// Returns whether a message starts at the same time under every schedule.
    fn is_known(&self, arrival: &Arrival) -> bool {
        arrival.level.is_none_or(|level| level == self.leaves[arrival.class.index()])
    }

    /// Calls `each` with every message.
    fn each(&self, aside: Option<&Aside>, mut each: impl FnMut(&Arrival)) -> io::Result<()> {
        for run in aside.iter().flat_map(|_| &self.runs) {
            let records = aside.map_or_else(|| Ok(Vec::new()), |aside| aside.read(run.clone()))?;
            records.into_iter().map(Arrival::of_record).for_each(|arrival| each(&arrival));
        }
        self.recent.iter().for_each(each);
        Ok(())
    }
}

/// Returns the bounds of the messages of a run, up to the time that it reached.
pub fn of_outcome(outcome: &Outcome) -> Bounds {
    let mut messages = Messages::new(outcome.classes.len());
    outcome.messages.iter().filter(|message| outcome.counts(message.start)).for_each(|message| messages.add(message));
    messages.bounds(outcome, None).expect(IN_MEMORY)
}

/// Returns the bounds of the messages of a scenario without running it: the same as [`of_outcome`] of its run. Messages
/// of requests of several stages are none of these ([`requests::of_scenario`]).
pub fn of_scenario(scenario: &Scenario) -> Bounds {
    let Scenario { run, network, classes, .. } = scenario;
    let mut messages = Messages::new(classes.len());
    let mut empty = None;
    for (class, source) in classes.iter().enumerate() {
        let mut generator = source.generator.again();
        let batches = std::iter::from_fn(|| generator.next()).take_while(|batch| batch.at < run.duration.after_start());
        let mut numbered = 0;
        for mut batch in batches {
            if !batch.times_alone.is_empty() {
                empty.get_or_insert_with(|| EmptyNetwork::of(scenario)).set_deadlines(class, numbered, &mut batch);
            }
            numbered += batch.messages.len() as u64;
            let counted = batch.messages.iter().filter(|request| run.counts(request.start));
            counted.for_each(|request| messages.ask(ClassId::from_index(class), request));
        }
    }
    messages.bounds_on(&network.graph, &framings_of(scenario), run.latest(), None).expect(IN_MEMORY)
}

/// Returns the framing of each class of a scenario.
fn framings_of(Scenario { network, transports, classes, .. }: &Scenario) -> Vec<Framing> {
    let framing = |class: &sim::Class| class.framing(&transports[class.transport], network.frame_overhead);
    classes.iter().map(framing).collect()
}

const IN_MEMORY: &str = "everything is in memory";

/// The jobs of messages, by class.
struct Traffic<'a> {
    messages: &'a Messages,
    graph: &'a Graph,
    demands: Demands<'a>,
    framings: &'a [Framing],
    /// Deadlines after this are not decided.
    until: Instant,
    packets: u64,
    classes: Vec<OfClass>,
    /// The jobs of the last message.
    asked: Vec<(Machine, Job)>,
}

/// The jobs and counts of one class.
#[derive(Default)]
struct OfClass {
    with_deadline: u64,
    /// The number of messages that a machine could not carry in time even alone.
    hopeless: u64,
    /// The number of messages that are jobs of no link, and the number of these that are parts of requests.
    unknown: u64,
    of_requests: u64,
    /// The number of all others whose deadline is decided.
    held: u64,
    jobs: Jobs,
}

/// Jobs as words: machine, release, due, work.
#[derive(Default)]
struct Jobs {
    recent: Vec<[u64; 4]>,
    /// The runs in the file, each sorted.
    runs: Vec<Run>,
}

impl Jobs {
    fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        if !self.recent.is_empty() {
            self.recent.sort_unstable();
            self.runs.push(aside.append(&self.recent)?);
            self.recent.clear();
        }
        Ok(())
    }
}

/// The budgets for overloads and for the search for a schedule.
#[derive(Clone, Copy)]
struct Budgets {
    overloads: Budget,
    crossings: Budget,
}

impl Budgets {
    /// Returns the budgets for messages of so many packets.
    fn of(packets: u64) -> Budgets {
        Budgets {
            overloads: Budget(STEPS.saturating_add(packets.saturating_mul(STEPS_PER_PACKET))),
            crossings: Budget((packets / PACKETS_PER_CROSSING).clamp(*CROSSINGS.start(), *CROSSINGS.end())),
        }
    }

    /// Takes out the share of each of `left` users.
    fn share(&mut self, left: usize) -> Budgets {
        Budgets { overloads: self.overloads.share(left, 1), crossings: self.crossings.share(left, 1) }
    }

    /// Puts back the rest of a share.
    fn put_back(&mut self, share: Budgets) {
        self.overloads.0 += share.overloads.0;
        self.crossings.0 += share.crossings.0;
    }
}

/// A message in overloaded busy periods, with the index of each period and its job there.
type Contested = (Arrival, Vec<(usize, Job)>);

impl<'a> Traffic<'a> {
    fn new(messages: &'a Messages, graph: &'a Graph, framings: &'a [Framing], until: Instant) -> Traffic<'a> {
        let classes = framings.iter().map(|_| OfClass::default()).collect();
        let demands = Demands::new(graph, framings);
        Traffic { messages, graph, demands, framings, until, packets: 0, classes, asked: Vec::new() }
    }

    /// Adds a message to its class.
    fn add(&mut self, arrival: &Arrival) {
        let mss = self.framings[arrival.class.index()].mss;
        let class = &mut self.classes[arrival.class.index()];
        class.with_deadline += 1;
        self.packets = self.packets.saturating_add(arrival.bytes.pieces(mss.into()));
        if arrival.due > self.until.0 {
            return;
        }
        if !self.messages.is_known(arrival) {
            class.unknown += 1;
            class.of_requests += u64::from(arrival.level == Some(Messages::UNKNOWN));
            return;
        }
        self.demands.of(arrival, &mut self.asked);
        if self.asked.is_empty() {
            class.unknown += 1;
        } else if self.asked.iter().all(|(_, job)| job.possible()) {
            class.held += 1;
            let records = self.asked.iter().map(|(machine, job)| [machine.0, job.release, job.due, job.work]);
            class.jobs.recent.extend(records);
        } else {
            class.hopeless += 1;
        }
    }

    /// Moves the jobs in memory into a file.
    fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        self.classes.iter_mut().try_for_each(|class| class.jobs.put(aside))
    }

    fn bounds(mut self, aside: Option<&Aside>) -> io::Result<Bounds> {
        self.classes.iter_mut().for_each(|class| class.jobs.recent.sort_unstable());
        let with_deadlines: Vec<usize> =
            (0..self.classes.len()).filter(|class| self.classes[*class].with_deadline > 0).collect();
        if with_deadlines.is_empty() {
            return Ok(Bounds { all: None, classes: vec![None; self.classes.len()] });
        }
        let mut budgets = Budgets::of(self.packets);
        let mut share = budgets.share(with_deadlines.len().clamp(1, 2));
        let all = self.bound(&with_deadlines, aside, &mut share)?;
        budgets.put_back(share);
        let mut classes = vec![None; self.classes.len()];
        for (done, &class) in with_deadlines.iter().enumerate() {
            let with_deadline = self.classes[class].with_deadline;
            if with_deadlines.len() == 1 || all.missed == 0 {
                // The class is alone, or misses nothing even together with the others.
                classes[class] = Some(Bound { with_deadline, ..all });
                continue;
            }
            let mut share = budgets.share(with_deadlines.len() - done);
            classes[class] = Some(self.bound(&[class], aside, &mut share)?);
            budgets.put_back(share);
        }
        Ok(Bounds { all: Some(at_least_their_sum(all, &classes)), classes })
    }

    /// Returns the bound of some classes together.
    fn bound(&mut self, classes: &[usize], aside: Option<&Aside>, budgets: &mut Budgets) -> io::Result<Bound> {
        let sum =
            |figure: fn(&OfClass) -> u64| -> u64 { classes.iter().map(|class| figure(&self.classes[*class])).sum() };
        let (with_deadline, hopeless) = (sum(|class| class.with_deadline), sum(|class| class.hopeless));
        let (unknown, held) = (sum(|class| class.unknown), sum(|class| class.held));
        let of_requests = sum(|class| class.of_requests);
        let jobs = || classes.iter().map(|class| &self.classes[*class].jobs);
        let runs = jobs().flat_map(|jobs| jobs.runs.iter().cloned());
        let merged = Merged::new(jobs().map(|jobs| &jobs.recent[..]), aside, runs)?;
        let jobs = merged
            .map(|record| record.map(|[machine, release, due, work]| (Machine(machine), Job { release, due, work })));
        let mut share = budgets.overloads.share(2, 1);
        let alike = |a: Machine, b: Machine| a.family() == b.family();
        let overloads = machine::overloads(jobs, (MAX_TOGETHER, alike), &mut share)?;
        budgets.overloads.0 += share.0;

        let mut families: BTreeMap<u32, u64> = BTreeMap::new();
        for overload in &overloads {
            *families.entry(overload.machine.family()).or_default() += overload.fewest.late;
        }
        // The first of the families with the largest sum.
        let largest =
            families.iter().rev().max_by_key(|(_, late)| **late).map_or((Machine::RECEIVERS, 0), |(f, l)| (*f, *l));
        let bound = |late, side, gap| Bound { with_deadline, missed: hopeless + late, side, gap };
        let in_periods: usize = overloads.iter().map(|overload| overload.jobs).sum();
        let searched = held <= budgets.crossings.0;
        if in_periods > MAX_TOGETHER || (families.len() <= 1 && !searched) {
            return Ok(bound(largest.1, Side::of([largest.0].into_iter()), Some(gap_of(&overloads, Gap::Size))));
        }
        let (periods, contested) = self.contested(classes, &overloads, aside)?;
        let sets = disjoint_sets(&periods, contested.len() as u32, &mut budgets.overloads);
        let late = combine::sum(&sets);
        let side = Side::of(sets.iter().map(|set| set.family));
        let gap = if unknown > 0 {
            Some(if unknown == of_requests { Gap::Requests } else { Gap::Tree })
        } else if !searched {
            Some(Gap::Size)
        } else {
            self.gap(classes, &sets, &contested, aside, budgets)?
        };
        Ok(bound(late, side, gap.map(|gap| gap_of(&overloads, gap))))
    }

    /// Returns the overloaded busy periods, and the messages in them. Their order, and so the number of each message,
    /// does not depend on when each became known.
    fn contested(
        &mut self,
        classes: &[usize],
        overloads: &[Overloaded<Machine>],
        aside: Option<&Aside>,
    ) -> io::Result<(Vec<Period>, Vec<Arrival>)> {
        let mut periods: Vec<Period> = overloads
            .iter()
            .map(|overload| Period {
                family: overload.machine.family(),
                late: overload.fewest.late,
                jobs: Vec::with_capacity(overload.jobs),
            })
            .collect();
        let mut contested: Vec<Contested> = Vec::new();
        if !overloads.is_empty() {
            self.each_held(classes, aside, |arrival, jobs| {
                let place = |&(machine, job): &(Machine, Job)| {
                    let begun = |overload: &Overloaded<Machine>| {
                        (overload.machine, overload.released.0) <= (machine, job.release)
                    };
                    let place = overloads.partition_point(begun).checked_sub(1)?;
                    let Overloaded { machine: of, released, .. } = overloads[place];
                    (of == machine && job.release <= released.1).then_some((place, job))
                };
                let places: Vec<(usize, Job)> = jobs.iter().filter_map(place).collect();
                if !places.is_empty() {
                    contested.push((*arrival, places));
                }
            })?;
        }
        contested.sort_by_cached_key(|(arrival, _)| arrival.record());
        for (number, (_, places)) in contested.iter().enumerate() {
            places.iter().for_each(|&(place, job)| periods[place].jobs.push((job, number as u32)));
        }
        periods.iter_mut().for_each(|period| {
            period.jobs.sort_by_key(|(job, number)| (job.release, job.due, job.work, *number));
        });
        Ok((periods, contested.into_iter().map(|(arrival, _)| arrival).collect()))
    }

    /// Calls `each` with the jobs of every message of some classes that is known, decided and feasible.
    fn each_held(
        &mut self,
        classes: &[usize],
        aside: Option<&Aside>,
        mut each: impl FnMut(&Arrival, &[(Machine, Job)]),
    ) -> io::Result<()> {
        let Traffic { messages, demands, asked, until, .. } = self;
        messages.each(aside, |arrival| {
            if arrival.due > until.0 || !classes.contains(&arrival.class.index()) || !messages.is_known(arrival) {
                return;
            }
            demands.of(arrival, asked);
            if !asked.is_empty() && asked.iter().all(|(_, job)| job.possible()) {
                each(arrival, asked);
            }
        })
    }

    /// Looks for a schedule that misses no more than the sets do, and returns the reason if none was found.
    fn gap(
        &mut self,
        classes: &[usize],
        sets: &[Set],
        contested: &[Arrival],
        aside: Option<&Aside>,
        budgets: &mut Budgets,
    ) -> io::Result<Option<Gap>> {
        // Equal messages are interchangeable: the map has the number of each to leave out.
        let mut left_out: BTreeMap<[u64; Arrival::WORDS], u64> = BTreeMap::new();
        for set in sets {
            let jobs: Vec<Job> = set.jobs.iter().map(|(job, _)| *job).collect();
            let Some(out) = machine::leave_out(&jobs, set.late, &mut budgets.overloads) else {
                return Ok(Some(Gap::Schedule));
            };
            for ((_, message), _) in set.jobs.iter().zip(out).filter(|(_, out)| *out) {
                *left_out.entry(contested[*message as usize].record()).or_default() += 1;
            }
        }
        let mut kept: Vec<Arrival> = Vec::new();
        self.each_held(classes, aside, |arrival, _| match left_out.get_mut(&arrival.record()) {
            Some(more) if *more > 0 => *more -= 1,
            _ => kept.push(*arrival),
        })?;
        kept.sort_by_cached_key(Arrival::record);
        let wanted = |&Arrival { class, from, to, bytes, start, due, .. }: &Arrival| Wanted {
            from,
            to,
            bytes,
            start,
            due,
            framing: self.framings[class.index()],
        };
        let wanted: Vec<Wanted> = kept.iter().map(wanted).collect();
        Ok(match schedule::find(self.graph, &wanted, &mut budgets.crossings) {
            Found::Schedule => None,
            Found::Nothing => Some(Gap::Schedule),
            Found::TooLong => Some(Gap::Size),
        })
    }
}

/// Returns [`Gap::Overload`] where an overload is not solved, otherwise the given gap.
fn gap_of(overloads: &[Overloaded<Machine>], otherwise: Gap) -> Gap {
    if overloads.iter().all(|overload| overload.fewest.exact) { otherwise } else { Gap::Overload }
}

/// Raises the bound of all classes to the sum of the classes' bounds: each class misses at least its own.
fn at_least_their_sum(all: Bound, classes: &[Option<Bound>]) -> Bound {
    let sum: u64 = classes.iter().flatten().map(|class| class.missed).sum();
    if sum <= all.missed {
        return all;
    }
    let late = classes.iter().flatten().filter(|class| class.missed > 0);
    let side = late.map(|class| class.side).reduce(Side::and).unwrap_or(all.side);
    Bound { missed: sum, side, ..all }
}
