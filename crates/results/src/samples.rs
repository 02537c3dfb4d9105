//! Hand-made outcomes for the tests of this crate.

use sim::Outcome;
use std::collections::BTreeMap;

use sim::outcome::{ClassOutcome, Counters, Framing, Link, Message, Paths, Query, Queue};
use sim::topology::Graph;
use sim::traffic::Place;
use units::{Bytes, ClassId, HostId, Instant, Rate, Span};

pub(crate) fn at_ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

pub(crate) fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// A run of 100 ms with a warm-up of 10 ms and one class for each of `patterns`.
pub(crate) fn outcome(patterns: &[&'static str], messages: Vec<Message>) -> Outcome {
    Outcome {
        title: "by hand".into(),
        seed: 7,
        transport: "dctcp".into(),
        simulated: at_ms(100),
        ended: at_ms(100),
        decided_until: at_ms(100),
        warm_up: at_ms(10),
        counters: Counters::default(),
        before_warm_up: Counters::default(),
        classes: patterns.iter().enumerate().map(|(i, pattern)| class(i, pattern)).collect(),
        queries: queries(&messages),
        messages,
        paths: Paths::default(),
        requests: None,
        faults: None,
        links: Vec::new(),
        graph: two_hosts(),
        trace: Vec::new(),
    }
}

/// As many queries as the messages name, each with as many answers as the largest of them.
fn queries(messages: &[Message]) -> Vec<Query> {
    let mut all: BTreeMap<(ClassId, u64), (u32, u32, Instant)> = BTreeMap::new();
    for message in messages {
        let Some(number) = message.query else { continue };
        let (answers, children, start) = all.entry((message.class, number)).or_insert((0, 0, message.start));
        *answers += u32::from(message.place.is_none_or(|place| place.level > 0));
        *children += u32::from(message.place.is_none_or(|place| place.level == 0));
        *start = message.start.min(*start);
    }
    let answers = all.values().map(|(answers, ..)| *answers).max().unwrap_or(0);
    let children = all.values().map(|(_, children, _)| *children).max().unwrap_or(0);
    let parent = HostId(0);
    let query =
        |((class, number), (_, _, start))| Query { class, number, parent, start, deadline: None, answers, children };
    all.into_iter().map(query).collect()
}

fn class(number: usize, pattern: &'static str) -> ClassOutcome {
    ClassOutcome {
        name: format!("class {number}"),
        set: None,
        pattern,
        transport: "dctcp",
        delivered_bytes: Bytes::ZERO,
        bottleneck_delay_us: None,
        bottleneck_bytes: Bytes::ZERO,
        framing: Framing { mss: 1460, overhead: 40, shared: false },
        too_late: 0,
    }
}

fn two_hosts() -> Graph {
    let mut graph = Graph::new(2);
    let switch = graph.switch("switch", false);
    graph.rack(switch, 0, 0..2, Rate::from_gbps(100), Span(1));
    graph
}

pub(crate) fn link(from: &str, to: &str, mean_queue: f64) -> Link {
    Link {
        from: from.into(),
        to: to.into(),
        rate_bps: 1_000_000_000,
        packets: 10,
        bytes: Bytes(15_000),
        drops: 1,
        fault_drops: None,
        marks: 2,
        utilisation: 0.5,
        queue: Queue { mean: mean_queue, p5: 1, p50: 2, p99: 3, max: 4 },
        rates: None,
    }
}

/// A message of 1000 B from host 1 to host 0 at the end of the warm-up, in class 0.
pub(crate) fn message() -> Builder {
    Builder(Message {
        class: ClassId(0),
        from: HostId(1),
        to: HostId(0),
        query: None,
        place: None,
        bytes: Some(Bytes(1000)),
        start: at_ms(10),
        end: None,
        ideal: Some(ms(1)),
        deadline: None,
        aborted: false,
        timeouts: 0,
        retransmits: 0,
        marks: 0,
        delivered: Bytes::ZERO,
    })
}

#[derive(Clone, Copy)]
pub(crate) struct Builder(Message);

impl Builder {
    pub(crate) fn class(mut self, class: u32) -> Self {
        self.0.class = ClassId(class);
        self
    }
    pub(crate) fn query(mut self, query: u64) -> Self {
        self.0.query = Some(query);
        self
    }
    pub(crate) fn place(mut self, node: u32, level: u8, answers: u32) -> Self {
        self.0.place = Some(Place { node, level, answers });
        self
    }
    pub(crate) fn bytes(mut self, bytes: Option<u64>) -> Self {
        self.0.bytes = bytes.map(Bytes);
        self
    }
    pub(crate) fn delivered(mut self, bytes: u64) -> Self {
        self.0.delivered = Bytes(bytes);
        self
    }
    pub(crate) fn start(mut self, start: Instant) -> Self {
        self.0.start = start;
        self
    }
    pub(crate) fn end(mut self, end: Instant) -> Self {
        self.0.end = Some(end);
        self
    }
    pub(crate) fn deadline(mut self, deadline: Span) -> Self {
        self.0.deadline = Some(deadline);
        self
    }
    pub(crate) fn aborted(mut self) -> Self {
        self.0.aborted = true;
        self
    }
    pub(crate) fn build(self) -> Message {
        self.0
    }
}
