//! Traffic patterns: each file declares its keys and builds a generator of messages.

mod deadline;
mod fan_in;
mod flows;
mod long;
pub mod offered;
mod periodic;
mod poisson;
mod program;
mod sessions;
mod stages;
mod trace;
mod tree;

use deadline::Allowed;
pub use flows::ENTRY_KEYS;
pub use offered::Demand;

use std::collections::BTreeMap;
use std::sync::Arc;

use units::{
    Alias, Bytes, Default, Distribution, Formula, HostId, Instant, Key, Kind, Problem, Range, RequestTrace, Span,
    Stream, Values,
};

use crate::requests::plan::{MAX_BYTES, MAX_TIME, Plan};
use crate::topology::Graph;

/// A traffic pattern's description: its name, and its keys beside the general ones of classes.
pub struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// Other words for its name or for one of its own keys.
    pub aliases: &'static [Alias],
    /// Its keys beside [`KEYS`].
    pub keys: &'static [Key],
    /// The start and the end of its messages, for summaries and estimates.
    pub nature: Nature,
    /// Builds a generator from the checked values of one `[[traffic]]` table.
    pub build: fn(&Values, &Context) -> Built,
}

/// The properties of a pattern's messages that summaries and estimates depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// They are answers to queries, which are complete when all have arrived.
    pub queries: bool,
    /// Without `from` and `to`, hosts are drawn from all hosts.
    pub draws_hosts: bool,
    /// The start of some depends on the arrival of others.
    pub waits: bool,
    /// They send until the run ends.
    pub endless: bool,
}

impl Nature {
    /// Messages of given hosts and sizes, which start at given times.
    pub const GIVEN: Nature = Nature { queries: false, draws_hosts: false, waits: false, endless: false };
}

/// A generator, or the conflict with the rest of the scenario.
pub type Built = Result<Box<dyn Generator>, Problem>;

/// All traffic patterns, in the order of the reference.
pub const PATTERNS: &[Descriptor] = &[
    flows::DESCRIPTOR,
    fan_in::DESCRIPTOR,
    poisson::DESCRIPTOR,
    periodic::DESCRIPTOR,
    long::DESCRIPTOR,
    sessions::DESCRIPTOR,
    stages::DESCRIPTOR,
    program::DESCRIPTOR,
    trace::DESCRIPTOR,
];

/// Returns the pattern of that name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    PATTERNS.iter().find(|pattern| pattern.name == name)
}

/// Keys of every `[[traffic]]` table, beside `pattern` and `transport`.
pub const KEYS: &[Key] = &[
    Key {
        name: "name",
        kind: Kind::Text,
        default: Default::Required,
        range: Range::ANY,
        help: "name of the class, different from the other classes'",
        source: "",
    },
    Key {
        name: "connections",
        kind: Kind::Choice(&["fresh", "persistent"]),
        default: Default::Is("fresh"),
        range: Range::ANY,
        help: "a new connection for each message, or one for each pair of hosts that stays open \
               (and is shared with the other persistent classes of that pair and transport)",
        source: "fresh: the regime of the D2TCP paper's results",
    },
    Key {
        name: "flow_class",
        kind: Kind::Choice(&["short", "long"]),
        default: Default::Absent,
        range: Range::ANY,
        help: "what the application tells xdctcp of these flows; otherwise their size decides",
        source: "xDCTCP",
    },
    Key {
        name: "set",
        kind: Kind::Text,
        default: Default::Absent,
        range: Range::ANY,
        help: "name of a group of classes that is summed up together too",
        source: "D2TCP figure 16: sets of applications on different transports",
    },
    Key {
        name: "priority",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(0.0, LAST_PRIORITY),
        help: "switch priority of its packets, 0 first, whatever its transport; asks for the discipline `priority`",
        source: "",
    },
    Key {
        name: "weight",
        kind: Kind::Number,
        default: Default::Absent,
        range: Range::between(0.01, 1000.0),
        help: "weight of the queue of its `priority` at switches that share links by weight, or of the queue of packets \
               without one; 1 for queues of which no class says it; asks for the discipline `dwrr`",
        source: "",
    },
];

/// Other words for keys that several patterns have.
pub const ALIASES: &[Alias] = &[
    ("amount", "size"),
    ("arrivals", "every"),
    ("bytes", "size"),
    ("dest", "to"),
    ("destination", "to"),
    ("dst", "to"),
    ("due", "deadline"),
    ("interval", "every"),
    ("length", "size"),
    ("messages", "count"),
    ("period", "every"),
    ("receiver", "to"),
    ("receivers", "to"),
    ("sender", "from"),
    ("senders", "from"),
    ("source", "from"),
    ("src", "from"),
];

/// The highest number of a priority that a class may request.
const LAST_PRIORITY: f64 = 31.0;

/// The parts of the scenario that a generator may use.
pub struct Context<'a> {
    /// The network of the scenario.
    pub graph: &'a Graph,
    /// Its hosts have several links, over which the packets of a message are sprayed.
    pub sprayed: bool,
    /// The seed of the run.
    pub seed: u64,
    /// Duration of the measurement.
    pub duration: Span,
    /// The classes before this one.
    pub above: &'a [Above],
}

/// A class before another one.
pub struct Above {
    /// The name of its pattern.
    pub pattern: &'static str,
    /// Its checked values, by key.
    pub values: Values,
}

/// A source of messages.
pub trait Generator: Send {
    /// Returns the next batch of messages, `None` if there are no more. Batches are in order of `at`.
    fn next(&mut self) -> Option<Batch>;
    /// Returns the approximate number of messages until then, and the key that determines it.
    fn expected(&self, until: Instant) -> (f64, &'static str);
    /// Returns the shortest and the longest deadline of its messages. An unbounded distribution counts up to its 90th
    /// percentile. `None` if no message has a deadline.
    fn deadlines(&self) -> Option<(Span, Span)>;
    /// Calls `offer` with the expected traffic until then, by hosts; flows without end are left out.
    fn offer(&self, until: Instant, offer: &mut dyn FnMut(Demand));
    /// As [`offer`](Generator::offer), with the most that clients which wait for their answers can ask for.
    fn demand(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        self.offer(until, offer);
    }
    /// Returns the number of messages that a query requests together; 0: there are no queries.
    fn answers(&self) -> u64 {
        0
    }
    /// Returns the distribution of its sizes, if there is one.
    fn sizes(&self) -> Option<&Distribution> {
        None
    }
    /// Returns the number of listed messages, and how many of them start at `end` or later. Patterns without a list
    /// have none.
    fn listed(&self, _end: Instant) -> Listing {
        Listing::default()
    }
    /// Handles the arrival of a message with a position in a tree; returns a message that follows from it.
    fn arrived(&mut self, _: Arrival) -> Option<Request> {
        None
    }
    /// Decides on a message with a position in a tree, now that its start is due.
    fn departs(&mut self, _: &mut Request) -> Departure {
        Departure::Now
    }
    /// Returns whether its messages depend on arrivals: then they have positions in a tree.
    fn waits(&self) -> bool {
        false
    }
    /// Returns the reason why its hosts cannot be simulated apart from each other, if there is one.
    fn indivisible(&self) -> Option<&'static str> {
        None
    }
    /// Returns its clients, if they wait for their answers: then it offers what the network carries.
    fn clients(&self) -> Option<Clients<'_>> {
        None
    }
    /// Returns the reason why its requests are not known before the run, if there is one.
    fn depends_on_run(&self) -> Option<&'static str> {
        None
    }
    /// Returns the plan of its requests, if each batch is the arrival of one; then batches have no messages.
    fn plan(&self) -> Option<Planned> {
        None
    }
    /// Returns the messages of the request that is the last batch, as they would start if the network took no
    /// time.
    fn sketch(&self, _at: Instant) -> Vec<Request> {
        Vec::new()
    }
    /// Handles the end of a request; returns the time at which the next one arrives because of that.
    fn asks_again(&mut self, _now: Instant) -> Option<Instant> {
        None
    }
    /// Returns a copy that generates the same messages.
    fn again(&self) -> Box<dyn Generator>;
}

/// Clients with one request at a time each.
pub struct Clients<'a> {
    /// The number of them.
    pub count: u64,
    /// The pause of a client after each of its requests.
    pub think: &'a Distribution,
}

/// The plan of a class's requests.
pub struct Planned {
    /// Roles, stages and goals.
    pub plan: Arc<Plan>,
    /// The columns of each request, if they are of a trace.
    pub trace: Option<Arc<RequestTrace>>,
}

/// The number of messages that a pattern lists one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Number of all listed messages.
    pub messages: u64,
    /// Number of messages that start after the end of the measurement.
    pub too_late: u64,
}

/// Messages that become known at the same time (the answers to one query).
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// No message starts before this.
    pub at: Instant,
    /// The messages, in any order of their starts.
    pub messages: Vec<Request>,
    /// For each message, its deadline as a multiple of the time that it takes in an empty network; empty where deadlines
    /// are times. [`set_deadlines`](Batch::set_deadlines) turns them into times.
    pub times_alone: Vec<f64>,
    /// The query that they answer.
    pub query: Option<Asked>,
}

impl Batch {
    /// Returns the batch of one message with its deadline, if it has one.
    fn of_one(message: Request, allowed: Option<Allowed>) -> Batch {
        let times_alone = allowed.and_then(Allowed::times_alone).into_iter().collect();
        let message = Request { deadline: allowed.and_then(Allowed::time), ..message };
        Batch { at: message.start, messages: vec![message], times_alone, query: None }
    }

    /// Sets the deadlines that are multiples of the messages' times alone. `alone` returns the time that a message takes
    /// in an empty network, from its position in the batch.
    pub fn set_deadlines(&mut self, mut alone: impl FnMut(usize, &Request) -> Span) {
        let times_alone = std::mem::take(&mut self.times_alone);
        for (position, (message, times)) in self.messages.iter_mut().zip(&times_alone).enumerate() {
            message.deadline = Some(deadline::multiple(*times, alone(position, message)));
        }
        if let Some(query) = self.query.as_mut().filter(|_| !times_alone.is_empty()) {
            query.deadline = last_due(self.at, &self.messages);
        }
    }
}

/// Returns the time from a query in which the last of its answers is due, if any has a deadline.
fn last_due(asked: Instant, answers: &[Request]) -> Option<Span> {
    let due = |message: &Request| Some((message.start - asked).saturating_add(message.deadline?));
    answers.iter().filter_map(due).max()
}

/// A query of a parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Its number in its class.
    pub number: u64,
    /// The host that asks.
    pub parent: HostId,
    /// Number of leaves that answer.
    pub answers: u32,
    /// Number of answers that the asking host waits for.
    pub children: u32,
    /// The time from its start in which the last answer is due at the asking parent, if any has a deadline.
    pub deadline: Option<Span>,
}

/// The position of an answer in a tree of several levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The sending node; 0 is the root, the leaves are last.
    pub node: u32,
    /// Level of the answer: 0 for answers to the root, the highest for leaves.
    pub level: u8,
    /// Number of leaves' answers that it summarizes.
    pub answers: u32,
}

/// An answer in a tree of several levels has arrived completely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Number of the query.
    pub query: u64,
    /// Position of the answer in the tree.
    pub place: Place,
    /// Time of the arrival.
    pub at: Instant,
    /// Size of the answer.
    pub bytes: Bytes,
}

/// The decision on an answer in a tree of several levels whose start is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The transport gets it at once.
    Now,
    /// Its parent has nothing to send, and is asked again at the new start of the request.
    Later,
    /// It is not sent: its parent has answered, or will only when an answer arrives.
    Never,
}

/// One message to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Time at which it is handed to the transport.
    pub start: Instant,
    /// The host that sends it.
    pub from: HostId,
    /// The receiving host, never the sending one.
    pub to: HostId,
    /// Its size, at least one byte; none for a flow without end.
    pub bytes: Option<Bytes>,
    /// Its allowed duration, if any.
    pub deadline: Option<Span>,
    /// The query of its class that it answers, or the request that it is part of.
    pub query: Option<u64>,
    /// Its position in a tree of several levels.
    pub place: Option<Place>,
    /// Its number among the messages and works of its request, where `query` is one of several stages.
    pub piece: Option<u32>,
}

/// The key `start`, for patterns that have one.
const START: Key = Key {
    name: "start",
    kind: Kind::TimeFormula,
    default: Default::Is("0 s"),
    range: Range::at_least(0.0),
    help: "when it begins; may use `index` and `parent`",
    source: "",
};
/// The key `size`, for patterns that have one.
const SIZE: Key = Key {
    name: "size",
    kind: Kind::SizeDistribution,
    default: Default::Required,
    range: Range::POSITIVE.less_is_easier(),
    help: "bytes of each message",
    source: "",
};
/// The key `deadline`, for patterns that have one.
const DEADLINE: Key = Key {
    name: "deadline",
    kind: Kind::Deadline,
    default: Default::Absent,
    range: Range::POSITIVE.more_is_easier(),
    help: "allowed time from the start of a message to its last byte's arrival: a time, or a multiple of the time that \
           the same message takes in an empty network, such as \"uniform(1.5, 10) * alone\"",
    source: "D2TCP 2.1",
};
/// The key `count`, for patterns that have one.
const COUNT: Key = Key {
    name: "count",
    kind: Kind::Count,
    default: Default::Absent,
    range: Range::at_least(1.0),
    help: "stop after so many (queries of each parent, messages of each pair, or messages in all)",
    source: "",
};

fn draw_bytes(size: &Distribution, stream: &mut Stream) -> Bytes {
    Bytes(stream.sample(size).round() as u64).clamp(Bytes(1), MAX_BYTES)
}

/// Returns the expected number of draws of `every` between two instants.
fn expected_draws(every: &Distribution, start: Instant, until: Instant) -> f64 {
    until.saturating_sub(start).0 as f64 / every.mean().max(1.0)
}

fn draw_time(time: &Distribution, stream: &mut Stream) -> Span {
    Span::from_ps_f64(stream.sample(time)).min(MAX_TIME)
}

/// Returns the value of `start` for one element of a list.
fn start_at(start: &Formula, index: u64, parent: u64) -> Result<Instant, Problem> {
    let ps = start.at(index, parent);
    match ps >= 0.0 && ps <= MAX_TIME.0 as f64 {
        true => Ok(Instant::from_ps_f64(ps)),
        false => Err(Problem::new("start", format!("is {} s for index {index}; 0 to 30 days are possible", ps / 1e12))),
    }
}

/// Pairs senders with receivers: lists of equal length in order, a single host with all.
fn pairs(values: &Values, graph: &Graph) -> Result<Vec<(HostId, HostId)>, Problem> {
    let (from, to) = (values.hosts("from"), values.hosts("to"));
    for (key, hosts) in [("from", &from), ("to", &to)] {
        check_hosts(key, hosts, graph)?;
    }
    let pairs: Vec<(HostId, HostId)> = match (from.len(), to.len()) {
        (a, b) if a == b => from.into_iter().zip(to).collect(),
        (1, _) => to.into_iter().map(|to| (from[0], to)).collect(),
        (_, 1) => from.into_iter().map(|from| (from, to[0])).collect(),
        (a, b) => {
            let message = format!("`from` has {a} hosts and `to` has {b}: give equally many, or one");
            return Err(Problem::new("to", message));
        }
    };
    match pairs.iter().find(|(from, to)| from == to) {
        Some((host, _)) => Err(Problem::new("to", format!("host {host} would send to itself"))),
        None => Ok(pairs),
    }
}

fn check_hosts(key: &'static str, hosts: &[HostId], graph: &Graph) -> Result<(), Problem> {
    if hosts.is_empty() {
        return Err(Problem::new(key, "no host is named"));
    }
    match hosts.iter().find(|host| host.0 >= graph.hosts) {
        Some(host) => {
            let message = format!("host {host} does not exist; the network has hosts 0 to {}", graph.hosts - 1);
            Err(Problem::new(key, message))
        }
        None => Ok(()),
    }
}

/// The senders and receivers of a class, for patterns with pairs.
const FROM: Key = Key {
    name: "from",
    kind: Kind::Hosts,
    default: Default::Required,
    range: Range::ANY,
    help: "sending hosts: one, a list, or a range \"0..40\" without its end",
    source: "",
};
/// The receivers, as [`FROM`].
const TO: Key = Key {
    name: "to",
    kind: Kind::Hosts,
    default: Default::Required,
    range: Range::ANY,
    help: "receiving hosts; as many as in `from`, or one for all",
    source: "",
};

/// Returns whether a program hands over the messages of a pattern.
pub(crate) fn is_handed_over(pattern: &str) -> bool {
    pattern == program::DESCRIPTOR.name
}

/// A list of messages that are known from the beginning.
#[derive(Clone)]
struct Listed {
    requests: std::vec::IntoIter<Request>,
    /// The deadlines that are multiples of the messages' times alone, by position in the list.
    times_alone: BTreeMap<usize, f64>,
    /// The position of the next message.
    position: usize,
}

impl Listed {
    /// Returns the generator of some messages.
    fn boxed(requests: Vec<Request>) -> Box<dyn Generator> {
        Listed::with_deadlines(requests, BTreeMap::new())
    }

    /// As [`boxed`](Listed::boxed), with the deadlines that are multiples of the messages' times alone, by position in
    /// `requests`.
    fn with_deadlines(mut requests: Vec<Request>, times_alone: BTreeMap<usize, f64>) -> Box<dyn Generator> {
        let mut order: Vec<usize> = (0..requests.len()).filter(|_| !times_alone.is_empty()).collect();
        order.sort_by_key(|&listed| requests[listed].start);
        requests.sort_by_key(|request| request.start);
        let times = |(position, listed)| Some((position, *times_alone.get(&listed)?));
        let times_alone = order.into_iter().enumerate().filter_map(times).collect();
        Box::new(Listed { requests: requests.into_iter(), times_alone, position: 0 })
    }
}

impl Generator for Listed {
    fn next(&mut self) -> Option<Batch> {
        let message = self.requests.next()?;
        let times_alone = self.times_alone.get(&self.position).copied().into_iter().collect();
        self.position += 1;
        Some(Batch { at: message.start, messages: vec![message], times_alone, query: None })
    }
    fn expected(&self, _: Instant) -> (f64, &'static str) {
        (self.requests.len() as f64, "pattern")
    }
    fn deadlines(&self) -> Option<(Span, Span)> {
        let deadlines = || self.requests.as_slice().iter().filter_map(|request| request.deadline);
        Some((deadlines().min()?, deadlines().max()?))
    }
    fn offer(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        for Request { start, from, to, bytes, .. } in self.requests.as_slice() {
            if let Some(bytes) = bytes.filter(|_| *start < until) {
                offer(Demand { from: &[*from], to: &[*to], messages: 1.0, bytes: bytes.as_f64() });
            }
        }
    }
    fn listed(&self, end: Instant) -> Listing {
        let all = self.requests.as_slice();
        let too_late = all.len() - all.partition_point(|request| request.start < end);
        Listing { messages: all.len() as u64, too_late: too_late as u64 }
    }
    fn again(&self) -> Box<dyn Generator> {
        Box::new(self.clone())
    }
}
