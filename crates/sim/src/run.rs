//! The section `[run]` of scenarios.

use transport::{Catalog, Signal, registry};
use units::{Alias, Default, Instant, Key, Kind, Range, Span, Values};

/// Other words for keys of `[run]`.
pub const ALIASES: &[Alias] =
    &[("length", "duration"), ("stop", "duration"), ("time", "duration"), ("warmup", "warm_up")];

/// Keys of `[run]`. `trace` is a table of its own with [`TRACE_KEYS`].
pub const KEYS: &[Key] = &[
    Key {
        name: "duration",
        kind: Kind::Time,
        default: Default::Required,
        range: Range::POSITIVE,
        help: "simulated time that is measured; see `cool_down` for what happens after it",
        source: "",
    },
    Key {
        name: "warm_up",
        kind: Kind::Time,
        default: Default::Is("0 s"),
        range: Range::at_least(0.0),
        help: "messages that start before this are not counted",
        source: "",
    },
    Key {
        name: "cool_down",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "how long the run may go on after `duration`, its traffic too, until every counted message has arrived or \
               was given up (see `wait_for`); left out: ten times the duration or 1 s, whichever is less, but at least \
               the duration, and for deadlines at least 1 s; 0 s: the run ends with the duration",
        source: "",
    },
    Key {
        name: "wait_for",
        kind: Kind::Choice(&["messages", "deadlines"]),
        default: Default::Is("messages"),
        range: Range::ANY,
        help: "which counted messages the run waits for after `duration`; messages: all of them, until they have arrived \
               or were given up; deadlines: those with a deadline, and only until it has passed, and those without one \
               only where `cool_down` is given. Flows without end are never waited for",
        source: "",
    },
    Key {
        name: "seed",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::ANY,
        help: "everything random is drawn from this",
        source: "",
    },
    Key {
        name: "deadline_factor",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::POSITIVE.more_is_easier(),
        help: "multiplies every deadline: at 0.8 they are 20 % tighter, on the same traffic",
        source: "D2TCP table 3",
    },
    Key {
        name: "engine",
        kind: Kind::Choice(&["packets", "fluid"]),
        default: Default::Is("packets"),
        range: Range::ANY,
        help: "packets: every packet is simulated; fluid: rates and queues, a round trip at a time (see the fluid model)",
        source: "fluid: as MCP's numerical study (section 5)",
    },
    Key {
        name: "threads",
        kind: Kind::CountOr("auto"),
        default: Default::Absent,
        range: Range::between(1.0, MAX_THREADS),
        help: "threads that simulate this run together, each a part of the racks; one when left out; the results are the \
               same. A large network gains from them; a small one loses, and so do several runs at once, which have the \
               cores already. auto: as many as there are cores that no other run has, if that turns out to be faster",
        source: "",
    },
];

/// Maximum number of threads, more than any run can keep busy.
const MAX_THREADS: f64 = 256.0;

/// Keys of the table `run.trace`.
pub const TRACE_KEYS: &[Key] = &[
    Key {
        name: "every",
        kind: Kind::Time,
        default: Default::Required,
        range: Range::POSITIVE,
        help: "time between two samples",
        source: "",
    },
    Key {
        name: "what",
        kind: Kind::Choices(SIGNALS.names()),
        default: Default::Required,
        range: Range::ANY,
        help: "what is sampled",
        source: "",
    },
];

/// Duration, seed and signals of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The measured time, warm-up included: messages that start later are not counted.
    pub duration: Span,
    /// Messages that start before this are not counted.
    pub warm_up: Span,
    /// Maximum time that the run continues until every counted message is decided; `None`: see [`Run::latest`].
    pub cool_down: Option<Span>,
    /// The counted messages that the run waits for.
    pub wait_for: WaitFor,
    /// The seed of everything random.
    pub seed: u64,
    /// Factor of every deadline; the deadlines of classes include it already.
    pub deadline_factor: f64,
    /// Maximum number of threads that simulate it together; `None`: the engine chooses.
    pub threads: Option<u32>,
    /// The signals to sample over time.
    pub trace: Option<Trace>,
}

/// The counted messages that a run waits for after its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// All, until they have arrived or were aborted.
    Messages,
    /// Messages with a deadline, until it has passed; others only with a cool-down.
    Deadlines,
}

/// The signals to sample over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Time between two samples.
    pub every: Span,
    /// The signals to sample.
    pub what: Vec<&'static Signal>,
}

impl Run {
    /// Returns the run of the checked values of `[run]` and `run.trace`.
    pub fn from_values(run: &Values, trace: Option<&Values>) -> Run {
        Run {
            duration: run.time("duration"),
            warm_up: run.time("warm_up"),
            cool_down: run.time_if_set("cool_down"),
            wait_for: match run.choice("wait_for") {
                "deadlines" => WaitFor::Deadlines,
                _ => WaitFor::Messages,
            },
            seed: run.count("seed"),
            deadline_factor: run.number("deadline_factor"),
            threads: run.count_or_word("threads").map_or(Some(1), |threads| threads.map(|threads| threads as u32)),
            trace: trace.map(|values| Trace {
                every: values.time("every"),
                what: values.choices("what").into_iter().filter_map(|name| SIGNALS.find(name)).collect(),
            }),
        }
    }

    /// Returns whether messages that start at this time are counted.
    pub fn counts(&self, start: Instant) -> bool {
        (self.warm_up..self.duration).contains(&start.since_start())
    }

    /// Returns the latest end of the run, decided or not.
    pub fn latest(&self) -> Instant {
        let default = self.duration.max(AT_LEAST_FOR_DEADLINES);
        self.duration.saturating_add(self.cool_down.unwrap_or(default)).after_start()
    }

    /// Returns the latest time until which the run waits for a message without a deadline, or for one whose deadline
    /// has passed.
    ///
    /// A multiple of the duration bounds the cost of an overload: its messages never all arrive.
    pub fn latest_arrival(&self) -> Instant {
        let times = Span(self.duration.0.saturating_mul(TIMES_DURATION));
        let default = times.min(AT_LEAST_FOR_DEADLINES).max(self.duration);
        self.duration.saturating_add(self.cool_down.unwrap_or(default)).after_start()
    }
}

/// Default cool-down: minimum wait for deadlines, and maximum wait for arrivals unless the duration is longer.
const AT_LEAST_FOR_DEADLINES: Span = Span::from_millis(1000);
/// Default cool-down: maximum wait for arrivals, as a multiple of the duration.
const TIMES_DURATION: u64 = 10;

/// All signals that can be sampled over time: of the transports' sending ends, and of the network.
pub const SIGNALS: &Catalog = &Catalog::of(&[THROUGHPUT]).with_all(registry::SIGNALS).with(&[QUEUE]);

/// Payload received since the last sample.
pub const THROUGHPUT: Signal = Signal {
    name: "throughput",
    help: "payload that reached the receiver since the last sample, in order or not, each byte once",
    unit: "Mbit/s",
};
/// Queue length at a switch's port.
pub const QUEUE: Signal = Signal { name: "queue", help: "what waits at a switch port", unit: "packets" };
