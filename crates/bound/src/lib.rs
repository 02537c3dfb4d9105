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

use sim::Scenario;
use sim::outcome::{Framing, Message, Outcome};
use sim::topology::Graph;
use sim::traffic::Request;
use units::{ClassId, HostId, Instant};

use arrivals::{Arrival, Demand, Demands};
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
    /// Each with its level, in trees.
    arrivals: Vec<(Arrival, Option<u8>)>,
}

impl Messages {
    /// None, of so many classes.
    pub fn new(classes: usize) -> Messages {
        Messages { leaves: vec![0; classes], arrivals: Vec::new() }
    }

    /// One that counts.
    pub fn add(&mut self, message: &Message) {
        let &Message { class, from, to, query, place, bytes, start, deadline, .. } = message;
        let level = place.map(|place| place.level);
        let leaves = &mut self.leaves[class.index()];
        *leaves = level.unwrap_or(0).max(*leaves);
        let arrival = arrival(class, true, &Request { start, from, to, bytes, deadline, query, place });
        self.arrivals.extend(arrival.map(|(arrival, _)| (arrival, level)));
    }

    /// The bounds, up to the time that the run reached.
    pub fn bounds(&self, outcome: &Outcome) -> Bounds {
        let framings: Vec<Framing> = outcome.classes.iter().map(|class| class.framing).collect();
        let messages = self.arrivals.iter().map(|&(arrival, level)| {
            let known = level.is_none_or(|level| level == self.leaves[arrival.class.index()]);
            (arrival, known)
        });
        Traffic { graph: &outcome.graph, framings: &framings, until: outcome.decided_until }.bounds(messages)
    }
}

/// Of the messages of a run, up to the time that it reached.
pub fn of_outcome(outcome: &Outcome) -> Bounds {
    let mut messages = Messages::new(outcome.classes.len());
    outcome.messages.iter().filter(|message| outcome.counts(message.start)).for_each(|message| messages.add(message));
    messages.bounds(outcome)
}

/// Of the traffic of a scenario, without running it: what [`of_outcome`] gives for its run.
pub fn of_scenario(scenario: Scenario) -> Bounds {
    let Scenario { run, network, transports, mut classes, .. } = scenario;
    let framing = |class: &sim::Class| class.framing(&transports[class.transport], network.frame_overhead);
    let framings: Vec<Framing> = classes.iter().map(framing).collect();
    let messages = classes.iter_mut().enumerate().flat_map(|(class, source)| {
        let batches =
            std::iter::from_fn(|| source.generator.next()).take_while(|batch| batch.at < run.duration.after_start());
        let requests = batches.flat_map(|batch| batch.messages);
        let counted = requests.filter(|request| run.counts(request.start));
        counted.filter_map(move |request| {
            // Answers of parents are announced with no answers that they stand for yet.
            let known = request.place.is_none_or(|place| place.answers > 0);
            arrival(ClassId::from_index(class), known, &request)
        })
    });
    Traffic { graph: &network.graph, framings: &framings, until: run.latest() }.bounds(messages)
}

/// A message with a deadline, and whether its start is the same under every schedule.
fn arrival(class: ClassId, known: bool, request: &Request) -> Option<(Arrival, bool)> {
    let &Request { start, from, to, bytes, deadline, .. } = request;
    // A size comes with every deadline.
    let due = start.saturating_add(deadline?).0;
    Some((Arrival { class, from, to, bytes: bytes?, start: start.0, due }, known))
}

struct Traffic<'a> {
    graph: &'a Graph,
    framings: &'a [Framing],
    /// Deadlines beyond this are not decided.
    until: Instant,
}

impl Traffic<'_> {
    fn bounds(&self, messages: impl Iterator<Item = (Arrival, bool)>) -> Bounds {
        let mut demands = Demands::new(self.graph, self.framings);
        let mut with_deadline = vec![0; self.framings.len()];
        let mut decided = Vec::new();
        let mut packets = 0u64;
        for (message, known) in messages {
            let class = message.class.index();
            with_deadline[class] += 1;
            packets = packets.saturating_add(message.bytes.pieces(self.framings[class].mss.into()));
            if known && message.due <= self.until.0 {
                decided.extend(demands.of(&message));
            }
        }
        // The messages of each class lie side by side.
        decided.sort_by_key(|demand| demand.class);
        let mut budget = Budget(STEPS.saturating_add(packets.saturating_mul(STEPS_PER_PACKET)));
        let with_deadlines = with_deadline.iter().filter(|n| **n > 0).count();
        let mut share = budget.share(with_deadlines.clamp(1, 2), 1);
        let all = bound(with_deadline.iter().sum(), &decided, &mut share);
        budget.0 += share.0;
        let mut classes_left = with_deadlines;
        let mut of_class = |class: usize| {
            let with_deadline = with_deadline[class];
            let all = all.filter(|_| with_deadline > 0)?;
            if with_deadlines == 1 || all.missed == 0 {
                // It is alone, or has nothing to miss even with the others beside it.
                return Some(Bound { with_deadline, ..all });
            }
            let first = decided.partition_point(|demand| demand.class.index() < class);
            let end = decided.partition_point(|demand| demand.class.index() <= class);
            let mut share = budget.share(classes_left, 1);
            classes_left -= 1;
            let found = bound(with_deadline, &decided[first..end], &mut share);
            budget.0 += share.0;
            found
        };
        let classes: Vec<Option<Bound>> = (0..self.framings.len()).map(&mut of_class).collect();
        Bounds { all: all.map(|all| at_least_their_sum(all, &classes)), classes }
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

fn bound(with_deadline: u64, demands: &[Demand], budget: &mut Budget) -> Option<Bound> {
    if with_deadline == 0 {
        return None;
    }
    let (possible, hopeless): (Vec<&Demand>, Vec<&Demand>) = demands.iter().partition(|demand| demand.possible());
    // Senders first: theirs is mostly the easier part, and what it leaves is for the receivers.
    let mut share = budget.share(2, 1);
    let senders = fewest(possible.iter().map(|demand| (demand.from, demand.sending)), &mut share);
    budget.0 += share.0;
    let receivers = fewest(possible.iter().map(|demand| (demand.to, demand.receiving)), budget);
    let (larger, side) =
        if senders.late > receivers.late { (senders, Side::Senders) } else { (receivers, Side::Receivers) };
    let exact = receivers.exact && senders.exact;
    Some(Bound { with_deadline, missed: hopeless.len() as u64 + larger.late, side, exact })
}

/// Over all hosts of one side.
fn fewest(jobs: impl Iterator<Item = (HostId, Job)>, budget: &mut Budget) -> Fewest {
    let mut jobs: Vec<(HostId, Job)> = jobs.collect();
    jobs.sort_by_key(|(host, _)| *host);
    let machines = jobs.chunk_by(|a, b| a.0 == b.0).map(|jobs| jobs.iter().map(|(_, job)| *job).collect());
    machine::fewest_late(machines.collect(), budget)
}
