//! The `[run]` section.

use units::{Alias, Default, Key, Kind, Range, Time, Values};

/// Words that people write for keys of `[run]`.
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
        help: "how long the run may go on after `duration`, its traffic too, until every counted message has \
               arrived or missed its deadline; left out: only for messages with deadlines, and no longer than \
               the duration or 1 s, whichever is more; 0 s: the run ends with the duration",
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
        range: Range::POSITIVE,
        help: "multiplies every deadline: at 0.8 they are 20 % tighter, on the same traffic",
        source: "D2TCP table 3",
    },
];

/// Keys of `run.trace`.
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
        kind: Kind::Choices(Signal::NAMES),
        default: Default::Required,
        range: Range::ANY,
        help: "what is sampled",
        source: "",
    },
];

/// How long, from which seed, and what to watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The measured time, warm-up included: what starts later is not counted.
    pub duration: Time,
    /// Messages that start before this are not counted.
    pub warm_up: Time,
    /// How long the run may go on until every counted message is decided; none: see [`Run::latest`].
    pub cool_down: Option<Time>,
    /// Everything random is drawn from this.
    pub seed: u64,
    /// What every deadline was multiplied by; those of the classes have it in them.
    pub deadline_factor: f64,
    /// What to sample over time.
    pub trace: Option<Trace>,
}

/// What to sample over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Time between two samples.
    pub every: Time,
    /// What is sampled.
    pub what: Vec<Signal>,
}

impl Run {
    /// From the checked values of `[run]` and `run.trace`.
    pub fn from_values(run: &Values, trace: Option<&Values>) -> Run {
        Run {
            duration: run.time("duration"),
            warm_up: run.time("warm_up"),
            cool_down: run.time_if_set("cool_down"),
            seed: run.count("seed"),
            deadline_factor: run.number("deadline_factor"),
            trace: trace.map(|values| Trace {
                every: values.time("every"),
                what: values.choices("what").into_iter().filter_map(Signal::named).collect(),
            }),
        }
    }

    /// Whether what starts at this time is counted.
    pub fn counts(&self, start: Time) -> bool {
        (self.warm_up..self.duration).contains(&start)
    }

    /// When the run ends at the latest, decided or not.
    pub fn latest(&self) -> Time {
        const AT_LEAST: Time = Time::from_millis(1000);
        self.duration.saturating_add(self.cool_down.unwrap_or(self.duration.max(AT_LEAST)))
    }
}

/// Something that can be sampled over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Payload that reached the receiver since the last sample, in order or not, in Mbit/s.
    Throughput,
    /// Congestion window, in segments.
    Cwnd,
    /// Extent of marking, 0 to 1.
    Alpha,
    /// Imminence of the deadline.
    D,
    /// The penalty alpha^d.
    P,
    /// Smoothed round-trip time, in us.
    Srtt,
    /// The rate that the network has granted, in Mbit/s with headers.
    Rate,
    /// The rate that was last asked for, in Mbit/s with headers.
    Request,
    /// Waiting packets at a switch port.
    Queue,
}

impl Signal {
    /// The words of scenario files, in the order of the variants.
    pub const NAMES: &[&str] = &["throughput", "cwnd", "alpha", "d", "p", "srtt", "rate", "request", "queue"];
    const ALL: [Signal; 9] = [
        Signal::Throughput,
        Signal::Cwnd,
        Signal::Alpha,
        Signal::D,
        Signal::P,
        Signal::Srtt,
        Signal::Rate,
        Signal::Request,
        Signal::Queue,
    ];

    /// The signal of that name.
    pub fn named(name: &str) -> Option<Signal> {
        Signal::ALL.into_iter().find(|signal| signal.name() == name)
    }
    /// Its word in scenario files and traces.
    pub fn name(self) -> &'static str {
        Signal::NAMES[self as usize]
    }
}
