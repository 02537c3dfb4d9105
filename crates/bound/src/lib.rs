//! How few deadlines any schedule can miss: an omniscient lower bound for the messages of a run.
//!
//! A schedule here knows all messages in advance, sends any part of any of them at any time once it has been
//! handed over, loses nothing, acknowledges nothing and needs no handshake. Two kinds of links limit it. Each
//! message ends at one receiver, so what its link cannot carry in time is missed, and these misses add up over
//! the receivers; each message begins at one sender, and the same holds there. [`Bound::missed`] is the larger
//! of the two sums. On one link the question is a known one, preemptive scheduling with release times, and
//! [`machine`] answers it.
//!
//! Why no run of the simulator misses fewer, whatever its transport:
//!
//! - **Which messages.** Those that count (they start in the measured time) and have a deadline not beyond the
//!   last moment that the run may go on to: they are decided, whatever happens. The others occupy no link here,
//!   which only makes room. A message that is given up (`expired = "abort"`, a request that cannot be granted) counts as
//!   missed in a run, and here nobody gives up.
//! - **Arrivals.** All traffic patterns are open loop: a message starts when it starts, whatever became of those
//!   before it. So the bound is one of the traffic, not of the transport.
//! - **Release.** At its sender's link a message can begin when it is handed over. At its receiver's, after its
//!   smallest packet was stored and forwarded at each hop before on the fastest path ([`latency`]).
//! - **Deadline.** The last byte must have left the receiver's link one propagation delay before, and the
//!   sender's link before by all the hops behind it.
//! - **Work.** Payload and the headers of as many full packets as it takes, at the rate of the host's link in
//!   that direction ([`arrivals`]); on a persistent connection a packet may carry parts of two messages. Packets
//!   of a run can be interrupted here at any time, and what they share is divided. ACKs, SYNs and
//!   retransmissions of a run come on top. A host's pauses (`host_jitter`) only delay.
//! - **Elsewhere** in the network nothing is counted but the time of flight: uplinks, buffers and routes can
//!   only make a run miss more.
//! - **Alone too slow.** A message that one of its links could not carry in time even alone is missed on both.
//! - **Rounding** is always in favour of the schedule, in integers.
//!
//! What follows is a bound, not a schedule: no transport may be able to reach it. If finding the fewest takes
//! too long (long overloads), a lower bound of it stands in, and [`Bound::exact`] is false.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod latency;
pub mod machine;

use std::io;

use aside::{Aside, Merged, Run};
use sim::Scenario;
use sim::outcome::{Framing, Message, Outcome};
use sim::topology::Graph;
use sim::traffic::Request;
use units::{ClassId, HostId, Instant};

use arrivals::{Arrival, Demands};
use machine::{Budget, Fewest, Job};

/// What may be spent on overloads: about 10 ms,
const STEPS: u64 = 1_000_000;
/// and for each packet a small part of what it costs a run.
const STEPS_PER_PACKET: u64 = 2;

/// How few deadlines any schedule can miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Messages with a deadline that count.
    pub with_deadline: u64,
    /// No schedule misses fewer of them.
    pub missed: u64,
    /// Which links say so.
    pub side: Side,
    /// On each side it is the fewest that the links of that side can miss; false where a lower bound of it had
    /// to do.
    pub exact: bool,
}

/// Which links a bound comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those into the receiving hosts.
    Receivers,
    /// Those out of the sending hosts.
    Senders,
    /// Some classes are held up at the receivers and some at the senders: the sum of their own bounds.
    Both,
}

impl Side {
    /// Its word in results.
    pub fn name(self) -> &'static str {
        match self {
            Side::Receivers => "receivers",
            Side::Senders => "senders",
            Side::Both => "both",
        }
    }
}

/// The bounds of one run's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Of all classes together; none without deadlines.
    pub all: Option<Bound>,
    /// Of each class as if there were no other; they need not add up. None where a class has no deadlines.
    pub classes: Vec<Option<Bound>>,
}

/// The messages of a run that have deadlines and count, as far as the bound has to know them.
///
/// In trees of several levels only the leaves' answers are held against the links: when the others start
/// depends on how the run went, and another schedule could have them start earlier.
pub struct Messages {
    /// By class, the level of leaves in trees.
    leaves: Vec<u8>,
    /// Those in memory.
    recent: Vec<Arrival>,
    /// Where the others lie in a file.
    runs: Vec<Run>,
}

impl Messages {
    /// None, of so many classes.
    pub fn new(classes: usize) -> Messages {
        Messages { leaves: vec![0; classes], recent: Vec::new(), runs: Vec::new() }
    }

    /// One that counts.
    pub fn add(&mut self, message: &Message) {
        let &Message { class, from, to, query, place, bytes, start, deadline, .. } = message;
        let leaves = &mut self.leaves[class.index()];
        *leaves = place.map_or(0, |place| place.level).max(*leaves);
        self.recent.extend(arrival(class, &Request { start, from, to, bytes, deadline, query, place }));
    }

    /// How many words those in memory take.
    pub fn held(&self) -> usize {
        self.recent.len() * Arrival::WORDS
    }

    /// Puts those that are in memory into a file.
    ///
    /// # Errors
    /// What the disk says.
    pub fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        let records: Vec<_> = self.recent.iter().map(Arrival::record).collect();
        self.runs.push(aside.append(&records)?);
        self.recent.clear();
        Ok(())
    }

    /// The bounds, up to the time that the run reached. What is worked out on the way goes into the same file.
    ///
    /// # Errors
    /// What the disk says.
    pub fn bounds(&self, outcome: &Outcome, mut aside: Option<&mut Aside>) -> io::Result<Bounds> {
        let framings: Vec<Framing> = outcome.classes.iter().map(|class| class.framing).collect();
        let mut traffic = Traffic::new(&outcome.graph, &framings, outcome.decided_until);
        let known = |arrival: &Arrival| arrival.level.is_none_or(|level| level == self.leaves[arrival.class.index()]);
        if let Some(aside) = aside.as_deref_mut() {
            for run in &self.runs {
                let records = aside.read(run.clone())?.into_iter().map(Arrival::of_record);
                records.for_each(|arrival| traffic.add(&arrival, known(&arrival)));
                traffic.put(aside)?;
            }
        }
        self.recent.iter().for_each(|arrival| traffic.add(arrival, known(arrival)));
        traffic.bounds(aside.as_deref())
    }
}

/// Of the messages of a run, up to the time that it reached.
pub fn of_outcome(outcome: &Outcome) -> Bounds {
    let mut messages = Messages::new(outcome.classes.len());
    outcome.messages.iter().filter(|message| outcome.counts(message.start)).for_each(|message| messages.add(message));
    messages.bounds(outcome, None).expect(IN_MEMORY)
}

/// Of the traffic of a scenario, without running it: what [`of_outcome`] gives for its run.
pub fn of_scenario(scenario: Scenario) -> Bounds {
    let Scenario { run, network, transports, mut classes, .. } = scenario;
    let framing = |class: &sim::Class| class.framing(&transports[class.transport], network.frame_overhead);
    let framings: Vec<Framing> = classes.iter().map(framing).collect();
    let mut traffic = Traffic::new(&network.graph, &framings, run.latest());
    for (class, source) in classes.iter_mut().enumerate() {
        let batches =
            std::iter::from_fn(|| source.generator.next()).take_while(|batch| batch.at < run.duration.after_start());
        let requests = batches.flat_map(|batch| batch.messages);
        for request in requests.filter(|request| run.counts(request.start)) {
            // Answers of parents are announced with no answers that they stand for yet.
            let known = request.place.is_none_or(|place| place.answers > 0);
            arrival(ClassId::from_index(class), &request).iter().for_each(|arrival| traffic.add(arrival, known));
        }
    }
    traffic.bounds(None).expect(IN_MEMORY)
}

const IN_MEMORY: &str = "everything is in memory";

/// A message, if it has a deadline.
fn arrival(class: ClassId, request: &Request) -> Option<Arrival> {
    let &Request { start, from, to, bytes, deadline, place, .. } = request;
    // A size comes with every deadline.
    let due = start.saturating_add(deadline?).0;
    Some(Arrival { class, from, to, bytes: bytes?, start: start.0, due, level: place.map(|place| place.level) })
}

/// What messages ask of the links.
struct Traffic<'a> {
    demands: Demands<'a>,
    framings: &'a [Framing],
    /// Deadlines beyond this are not decided.
    until: Instant,
    packets: u64,
    classes: Vec<OfClass>,
}

/// What the messages of one class ask.
#[derive(Default)]
struct OfClass {
    with_deadline: u64,
    /// Messages that one of their links could not carry in time even alone.
    hopeless: u64,
    senders: Jobs,
    receivers: Jobs,
}

/// Jobs of the links of one side, as words: host, release, due, work.
#[derive(Default)]
struct Jobs {
    recent: Vec<[u64; 4]>,
    /// Those in the file, each run in order.
    runs: Vec<Run>,
}

impl Jobs {
    fn add(&mut self, host: HostId, job: Job) {
        self.recent.push([host.0.into(), job.release, job.due, job.work]);
    }

    fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        if !self.recent.is_empty() {
            self.recent.sort_unstable();
            self.runs.push(aside.append(&self.recent)?);
            self.recent.clear();
        }
        Ok(())
    }
}

impl<'a> Traffic<'a> {
    fn new(graph: &'a Graph, framings: &'a [Framing], until: Instant) -> Traffic<'a> {
        let classes = framings.iter().map(|_| OfClass::default()).collect();
        Traffic { demands: Demands::new(graph, framings), framings, until, packets: 0, classes }
    }

    /// One message more; `known` where its start is the same under every schedule.
    fn add(&mut self, arrival: &Arrival, known: bool) {
        let mss = self.framings[arrival.class.index()].mss;
        let class = &mut self.classes[arrival.class.index()];
        class.with_deadline += 1;
        self.packets = self.packets.saturating_add(arrival.bytes.pieces(mss.into()));
        if !known || arrival.due > self.until.0 {
            return;
        }
        let Some(demand) = self.demands.of(arrival) else { return };
        if demand.possible() {
            class.senders.add(demand.from, demand.sending);
            class.receivers.add(demand.to, demand.receiving);
        } else {
            class.hopeless += 1;
        }
    }

    /// Puts what is in memory into a file.
    fn put(&mut self, aside: &mut Aside) -> io::Result<()> {
        let sides = self.classes.iter_mut().flat_map(|class| [&mut class.senders, &mut class.receivers]);
        sides.into_iter().try_for_each(|jobs| jobs.put(aside))
    }

    fn bounds(mut self, aside: Option<&Aside>) -> io::Result<Bounds> {
        let sides = self.classes.iter_mut().flat_map(|class| [&mut class.senders, &mut class.receivers]);
        sides.for_each(|jobs| jobs.recent.sort_unstable());
        let mut budget = Budget(STEPS.saturating_add(self.packets.saturating_mul(STEPS_PER_PACKET)));
        let with_deadlines = self.classes.iter().filter(|class| class.with_deadline > 0).count();
        let mut share = budget.share(with_deadlines.clamp(1, 2), 1);
        let all = bound(&self.classes, aside, &mut share)?;
        budget.0 += share.0;
        let mut classes_left = with_deadlines;
        let mut of_class = |class: &OfClass| {
            let with_deadline = class.with_deadline;
            let Some(all) = all.filter(|_| with_deadline > 0) else { return Ok(None) };
            if with_deadlines == 1 || all.missed == 0 {
                // It is alone, or has nothing to miss even with the others beside it.
                return Ok(Some(Bound { with_deadline, ..all }));
            }
            let mut share = budget.share(classes_left, 1);
            classes_left -= 1;
            let found = bound(std::slice::from_ref(class), aside, &mut share);
            budget.0 += share.0;
            found
        };
        let classes = self.classes.iter().map(&mut of_class).collect::<io::Result<Vec<_>>>()?;
        Ok(Bounds { all: all.map(|all| at_least_their_sum(all, &classes)), classes })
    }
}

/// Each class misses at least its own bound, so all together miss at least their sum.
fn at_least_their_sum(all: Bound, classes: &[Option<Bound>]) -> Bound {
    let sum: u64 = classes.iter().flatten().map(|class| class.missed).sum();
    if sum <= all.missed {
        return all;
    }
    let mut sides = classes.iter().flatten().filter(|class| class.missed > 0).map(|class| class.side);
    let first = sides.next().unwrap_or(all.side);
    let side = if sides.all(|side| side == first) { first } else { Side::Both };
    Bound { missed: sum, side, ..all }
}

/// Of some classes together.
fn bound(classes: &[OfClass], aside: Option<&Aside>, budget: &mut Budget) -> io::Result<Option<Bound>> {
    let with_deadline = classes.iter().map(|class| class.with_deadline).sum();
    if with_deadline == 0 {
        return Ok(None);
    }
    let hopeless: u64 = classes.iter().map(|class| class.hopeless).sum();
    // Senders first: theirs is mostly the easier part, and what it leaves is for the receivers.
    let mut share = budget.share(2, 1);
    let senders = fewest(classes.iter().map(|class| &class.senders), aside, &mut share)?;
    budget.0 += share.0;
    let receivers = fewest(classes.iter().map(|class| &class.receivers), aside, budget)?;
    let (larger, side) =
        if senders.late > receivers.late { (senders, Side::Senders) } else { (receivers, Side::Receivers) };
    let exact = receivers.exact && senders.exact;
    Ok(Some(Bound { with_deadline, missed: hopeless + larger.late, side, exact }))
}

/// Over all hosts of one side.
fn fewest<'a>(
    jobs: impl Iterator<Item = &'a Jobs> + Clone,
    aside: Option<&'a Aside>,
    budget: &mut Budget,
) -> io::Result<Fewest> {
    let runs = jobs.clone().flat_map(|jobs| jobs.runs.iter().cloned());
    let merged = Merged::new(jobs.map(|jobs| &jobs.recent[..]), aside, runs)?;
    let jobs = merged.map(|record| record.map(|[host, release, due, work]| (host, Job { release, due, work })));
    machine::fewest_late(jobs, budget)
}
