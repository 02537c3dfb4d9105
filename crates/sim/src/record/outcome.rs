//! The results of a run.

use std::sync::Arc;

use transport::Expired;
pub use transport::agent::Allocation;
use units::{Bytes, ClassId, HostId, Instant, LinkId, MessageId, Span};

pub use crate::class::Framing;
pub use crate::requests::plan::Plan;
pub use crate::requests::{GoalRow, Leg, PieceRow, RequestRow, StageRow, Window};
use crate::topology::Graph;
use crate::traffic::{Place, Request};

/// Everything that one run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Title of the scenario.
    pub title: String,
    /// Seed of the run.
    pub seed: u64,
    /// The name of `[transport]`.
    pub transport: String,
    /// End of the measurement: the duration, unless the run was stopped before.
    pub simulated: Instant,
    /// End of the run: later than `simulated` if counted messages were not decided by then.
    pub ended: Instant,
    /// Every counted message whose deadline is not later than this has been decided.
    pub decided_until: Instant,
    /// Messages that started before this are not counted.
    pub warm_up: Instant,
    /// Totals up to the end of the measurement.
    pub counters: Counters,
    /// The part of these totals from before the end of the warm-up.
    pub before_warm_up: Counters,
    /// Requests for rates, when a transport makes them.
    pub requests: Option<Requests>,
    /// Counts of the faults after the warm-up, when the scenario has any.
    pub faults: Option<FaultCounts>,
    /// Links that paused each other for ever at the end of the run, in a lossless network.
    pub deadlock: Option<Deadlock>,
    /// One entry per traffic class.
    pub classes: Vec<ClassOutcome>,
    /// One row per message, in order of their start.
    pub messages: Vec<Message>,
    /// The routes of these messages.
    pub paths: Paths,
    /// One row per query of `fan-in` classes, in order of their start.
    pub queries: Vec<Query>,
    /// One row per request of `stages` classes, by class and in order of their arrival.
    pub stage_requests: Vec<RequestRow>,
    /// The stages and goals of each class's requests, by class.
    pub plans: Vec<Option<Arc<Plan>>>,
    /// One row per link direction.
    pub links: Vec<Link>,
    /// Nodes and links; its links are in the order of `links`.
    pub graph: Graph,
    /// Samples over time, when asked for.
    pub trace: Vec<Sample>,
}

impl Outcome {
    /// Returns whether messages that start at this time are counted in the summaries.
    pub fn counts(&self, start: Instant) -> bool {
        (self.warm_up..self.simulated).contains(&start)
    }
    /// Returns the links that the data of the message in this row took, as indices into `links`.
    pub fn path(&self, row: usize) -> &[LinkId] {
        let links = &self.paths.links[self.paths.of_messages[row] as usize..];
        let last = links.iter().position(|&link| self.graph.links[link.index()].to == self.messages[row].to.0);
        &links[..=last.expect("a path ends at its receiver")]
    }
}

/// The routes of a run, each different one once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// For each message, the position of its first link in `links`.
    pub of_messages: Vec<u32>,
    /// All routes, one after the other.
    pub links: Vec<LinkId>,
}

/// Totals up to the end of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that hosts put into their NIC queues, ACKs included.
    pub packets_sent: u64,
    /// Packets that reached their host, ACKs included.
    pub packets_received: u64,
    /// Data packets that reached receivers.
    pub packets_delivered: u64,
    /// Packets still queued or on a wire at the end.
    pub packets_in_flight: u64,
    /// Link crossings of all packets.
    pub packet_hops: u64,
    /// Events that the engine processed.
    pub events: u64,
    /// Packets dropped at switches.
    pub drops: u64,
    /// Packets whose payload alone was dropped.
    pub trims: u64,
    /// Packets marked at switches.
    pub marks: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// The timers that caused these timeouts.
    pub timers: Timers,
    /// Data packets sent again.
    pub retransmits: u64,
}

/// Expirations of each timer. All but the probes together are the timeouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timers {
    /// The RTO before the first sample of the round-trip time (`rto_initial`).
    pub initial: u64,
    /// The RTO at its lower limit (`rto_min`).
    pub minimum: u64,
    /// The RTO that followed from the samples.
    pub estimated: u64,
    /// An RTO that was doubled.
    pub backed_off: u64,
    /// A time of the transport's own, such as `resend_after`.
    pub own: u64,
    /// Tail-loss probes, which are no timeouts.
    pub probes: u64,
}

impl Timers {
    /// Counts one timeout of `timer`.
    pub(crate) fn count(&mut self, timer: Expired) {
        *match timer {
            Expired::Initial => &mut self.initial,
            Expired::Minimum => &mut self.minimum,
            Expired::Estimated => &mut self.estimated,
            Expired::BackedOff => &mut self.backed_off,
            Expired::Own => &mut self.own,
        } += 1;
    }

    /// Returns the counts of both, each joined to its counterpart by `join`.
    fn join(self, other: Timers, join: fn(u64, u64) -> u64) -> Timers {
        Timers {
            initial: join(self.initial, other.initial),
            minimum: join(self.minimum, other.minimum),
            estimated: join(self.estimated, other.estimated),
            backed_off: join(self.backed_off, other.backed_off),
            own: join(self.own, other.own),
            probes: join(self.probes, other.probes),
        }
    }

    /// Returns the counts since `before`.
    pub fn since(self, before: Timers) -> Timers {
        self.join(before, |now, before| now - before)
    }

    /// Returns the sum of both.
    pub(crate) fn plus(self, other: Timers) -> Timers {
        self.join(other, |one, other| one + other)
    }
}

/// Counts of the effects of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Packets that were lost on links, or at the ports of links that were down.
    pub drops: u64,
    /// Packets that arrived a second time.
    pub duplicates: u64,
    /// Packets that were delayed.
    pub held_back: u64,
    /// Times that an end of a connection was rerouted.
    pub rerouted: u64,
}

impl FaultCounts {
    /// Returns the counts since `before`.
    pub fn since(self, before: FaultCounts) -> FaultCounts {
        FaultCounts {
            drops: self.drops - before.drops,
            duplicates: self.duplicates - before.duplicates,
            held_back: self.held_back - before.held_back,
            rerouted: self.rerouted - before.rerouted,
        }
    }
}

/// Final results that can be taken from a run in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// Messages, in blocks of consecutive rows. A block is complete when all of its messages are, which may be later
    /// than blocks behind it.
    pub blocks: Vec<Block>,
    /// Queries, in order of their start. Each precedes any message that answers it.
    pub queries: Vec<Query>,
    /// Requests of `stages` classes that are over, by class and in order of their arrival.
    pub requests: Vec<RequestRow>,
    /// Samples, in order of time.
    pub samples: Vec<Sample>,
}

/// Messages that started one after the other, or that belong to one request after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The row of the first.
    pub first: MessageId,
    /// In order of their start.
    pub messages: Vec<Message>,
    /// For each of them, the position of its first link in [`Paths::links`].
    pub(crate) paths: Vec<u32>,
}

impl Block {
    /// Returns a block of those messages that were sent.
    pub(crate) fn new(first: MessageId, messages: Vec<Message>, paths: Vec<u32>) -> Block {
        let rows = messages.into_iter().zip(paths).filter(|(message, _)| message.is_sent());
        let (messages, paths) = rows.unzip();
        Block { first, messages, paths }
    }
}

/// Results of one traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassOutcome {
    /// Name of the class.
    pub name: String,
    /// The group of classes that it is summed up with too.
    pub set: Option<String>,
    /// The name of its pattern.
    pub pattern: &'static str,
    /// The name of its transport.
    pub transport: &'static str,
    /// Payload bytes that reached receivers within the measured time, in order or not, each counted once. Includes the
    /// bytes of endless flows.
    pub delivered_bytes: Bytes,
    /// Mean over its flows (pairs of hosts) of the mean wait of their packets in the queue of the
    /// receiver's port, in us. None without packets.
    pub bottleneck_delay_us: Option<f64>,
    /// Wire bytes of its data packets that arrived at the receivers' ports.
    pub bottleneck_bytes: Bytes,
    /// The division of its messages into packets.
    pub framing: Framing,
    /// Messages of its list (`trace`, `flows`) that start after the end of the measurement.
    pub too_late: u64,
}

/// One message of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Its number in the run: its row, where every message was sent.
    pub number: MessageId,
    /// Index into [`Outcome::classes`], by class.
    pub class: ClassId,
    /// The host that sends it.
    pub from: HostId,
    /// The host that receives it.
    pub to: HostId,
    /// The query of its class that it answers (`fan-in`), or the request that it is part of (`stages`).
    pub query: Option<u64>,
    /// Its position in a tree of several levels.
    pub place: Option<Place>,
    /// Its number among the messages and works of its request, where `query` is one of several stages.
    pub piece: Option<u32>,
    /// Its size; none for a flow without end.
    pub bytes: Option<Bytes>,
    /// Time at which it was handed to the transport.
    pub start: Instant,
    /// Time at which its last byte reached the receiver.
    pub end: Option<Instant>,
    /// Its duration on an empty network, without handshake or window limits.
    pub ideal: Option<Span>,
    /// Its allowed duration, from its start.
    pub deadline: Option<Span>,
    /// The transport aborted it (`expired = "abort"`).
    pub aborted: bool,
    /// Number of retransmission timeouts.
    pub timeouts: u32,
    /// Data packets sent again.
    pub retransmits: u32,
    /// Data packets that arrived with a mark.
    pub marks: u32,
    /// Payload bytes of it that reached the receiver within the measured time, in order or not.
    pub delivered: Bytes,
}

impl Message {
    /// A message of a request that has not been sent, and may never be.
    pub(crate) const UNSENT: Message = Message {
        number: MessageId(0),
        class: ClassId(0),
        from: HostId(0),
        to: HostId(0),
        query: None,
        place: None,
        piece: None,
        bytes: None,
        start: Instant::MAX,
        end: None,
        ideal: None,
        deadline: None,
        aborted: false,
        timeouts: 0,
        retransmits: 0,
        marks: 0,
        delivered: Bytes::ZERO,
    };

    /// Returns whether it was sent.
    pub(crate) fn is_sent(&self) -> bool {
        self.start < Instant::MAX
    }

    /// Returns a message that has just been requested, before its route is known.
    pub(crate) fn new(class: ClassId, request: &Request) -> Message {
        let &Request { start, from, to, bytes, deadline, query, place, piece } = request;
        Message { class, from, to, query, place, piece, bytes, start, deadline, ..Message::UNSENT }
    }
}

/// One query: a parent asks, its leaves answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query {
    /// Index into [`Outcome::classes`], by class.
    pub class: ClassId,
    /// Its number in its class.
    pub number: u64,
    /// The host that asks.
    pub parent: HostId,
    /// Time of the query.
    pub start: Instant,
    /// The time from the start in which the last answer is due at the parent, if any has a deadline.
    pub deadline: Option<Span>,
    /// Number of leaves that answer.
    pub answers: u32,
    /// Number of answers that the asking parent waits for; fewer than `answers` in trees of several levels.
    pub children: u32,
}

/// One direction of a link, with its port.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name of the node at its start: "host 3", "switch 0", "leaf 2".
    pub from: String,
    /// Name of the node at its end.
    pub to: String,
    /// Rate of the link in bit/s.
    pub rate_bps: u64,
    /// Packets put on the wire.
    pub packets: u64,
    /// Wire bytes put on the wire.
    pub bytes: Bytes,
    /// Packets dropped at the port.
    pub drops: u64,
    /// Packets that faults lost at the port or behind it, when the scenario has any.
    pub fault_drops: Option<u64>,
    /// Packets marked at the port.
    pub marks: u64,
    /// Pauses of the port, in a lossless network.
    pub pauses: Option<LinkPauses>,
    /// Share of the time (after the warm-up) in which it sent, 0 to 1.
    pub utilisation: f64,
    /// Queued packets (without the one in transmission), over time after the warm-up.
    pub queue: Queue,
    /// Requests for rates at this port, when a transport makes them.
    pub rates: Option<LinkRates>,
}

/// Pauses of the port before a link, since the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkPauses {
    /// Pause frames that it heeded.
    pub frames: u64,
    /// Time in which it was paused.
    pub paused: Span,
}

/// Links that pause each other for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The time of the last pause among them.
    pub since: Instant,
    /// Links each of which waits for the next, and the last for the first: indices into [`Outcome::links`].
    pub cycle: Vec<LinkId>,
    /// The number of links that are paused for ever, with the links of the cycle.
    pub stuck: u64,
}

/// Requests for rates, and how many of them lost out to one with a later deadline. Only requests for a rate above zero
/// by flows with a deadline count, over the whole run. The run's totals count each request once, with its result at the
/// ports of switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Number of requests for rates.
    pub requests: u64,
    /// Of these, granted less than they asked for.
    pub denied: u64,
    /// Of these, while a flow with a later deadline held at the same port all that it had asked for.
    pub inverted: u64,
    /// Of these, where such a flow had reached the port before: requests are served in order of arrival.
    pub overtaken: u64,
    /// Denied ones that lacked no more than flows with later deadlines or none held together at the port.
    pub displaceable: u64,
    /// Requests that the remaining capacity of the port did not cover. The base rate, which every flow gets all the
    /// same, may cover them: then they are not denied.
    pub refused: u64,
    /// Of these, while a flow with a later deadline held at the same port a grant that had been covered.
    pub passed_over: u64,
    /// Flows that made such requests (the run's total only).
    pub flows: u64,
    /// Of these, flows with an inverted request (the run's total only).
    pub inverted_flows: u64,
}

/// Requests and allocations at a port that grants rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRates {
    /// Requests of flows with deadlines.
    pub requests: Requests,
    /// The router's counts at the end of the run.
    pub counters: Allocation,
}

/// The distribution over time of a queue's length in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queue {
    /// Mean over time, in packets.
    pub mean: f64,
    /// 5th percentile over time.
    pub p5: u64,
    /// Median over time, in packets.
    pub p50: u64,
    /// 99th percentile over time.
    pub p99: u64,
    /// Maximum over time, in packets.
    pub max: u64,
}

/// One sample of one signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Time of the sample.
    pub at: Instant,
    /// Signal: the name of one of [`SIGNALS`](crate::run::SIGNALS).
    pub what: &'static str,
    /// The sampled connection or link.
    pub subject: Subject,
    /// Value in the signal's unit.
    pub value: f64,
}

/// The object of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A connection, by its current message.
    Message {
        /// The message's row: an index into [`Outcome::messages`].
        row: MessageId,
        /// Class of the message.
        class: ClassId,
        /// Sending host of the message.
        from: HostId,
        /// Receiving host of the message.
        to: HostId,
    },
    /// A link, an index into [`Outcome::links`].
    Link(LinkId),
}
