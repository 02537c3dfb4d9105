//! Hand-made outcomes for the tests of this crate.

use sim::Outcome;
use sim::outcome::{ClassOutcome, Counters, Framing, Link, Message, Queue};
use sim::topology::Graph;
use units::{Rate, Time};

pub fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// A run of 100 ms with a warm-up of 10 ms and one class for each of `patterns`.
pub fn outcome(patterns: &[&'static str], messages: Vec<Message>) -> Outcome {
    Outcome {
        title: "by hand".into(),
        seed: 7,
        transport: "dctcp".into(),
        simulated: ms(100),
        warm_up: ms(10),
        counters: Counters::default(),
        classes: patterns.iter().enumerate().map(|(i, pattern)| class(i, pattern)).collect(),
        messages,
        requests: None,
        links: Vec::new(),
        graph: two_hosts(),
        trace: Vec::new(),
    }
}

fn class(number: usize, pattern: &'static str) -> ClassOutcome {
    ClassOutcome {
        name: format!("class {number}"),
        pattern,
        transport: "dctcp",
        delivered_bytes: 0,
        bottleneck_delay_us: None,
        bottleneck_bytes: 0,
        framing: Framing { mss: 1460, overhead: 40, shared: false },
    }
}

fn two_hosts() -> Graph {
    let mut graph = Graph::new("star", 2);
    let switch = graph.switch("switch", false);
    graph.rack(switch, 0, 0..2, Rate::from_gbps(100), Time(1));
    graph
}

pub fn link(from: &str, to: &str, mean_queue: f64) -> Link {
    Link {
        from: from.into(),
        to: to.into(),
        rate_bps: 1_000_000_000,
        packets: 10,
        bytes: 15_000,
        drops: 1,
        marks: 2,
        utilisation: 0.5,
        queue: Queue { mean: mean_queue, p5: 1, p50: 2, p99: 3, max: 4 },
        rates: None,
    }
}

/// A message of 1000 B from host 1 to host 0 at the end of the warm-up, in class 0.
pub fn message() -> Builder {
    Builder(Message {
        class: 0,
        from: 1,
        to: 0,
        query: None,
        bytes: Some(1000),
        start: ms(10),
        end: None,
        ideal: Some(ms(1)),
        deadline: None,
        aborted: false,
        timeouts: 0,
        retransmits: 0,
        marks: 0,
    })
}

#[derive(Clone, Copy)]
pub struct Builder(Message);

impl Builder {
    pub fn class(mut self, class: u32) -> Self {
        self.0.class = class;
        self
    }
    pub fn query(mut self, query: u64) -> Self {
        self.0.query = Some(query);
        self
    }
    pub fn bytes(mut self, bytes: Option<u64>) -> Self {
        self.0.bytes = bytes;
        self
    }
    pub fn start(mut self, start: Time) -> Self {
        self.0.start = start;
        self
    }
    pub fn end(mut self, end: Time) -> Self {
        self.0.end = Some(end);
        self
    }
    pub fn deadline(mut self, deadline: Time) -> Self {
        self.0.deadline = Some(deadline);
        self
    }
    pub fn aborted(mut self) -> Self {
        self.0.aborted = true;
        self
    }
    pub fn build(self) -> Message {
        self.0
    }
}
