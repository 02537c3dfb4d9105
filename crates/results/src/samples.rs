//! Hand-made outcomes for the tests of this crate.

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::Outcome;
use sim::outcome::{
    ClassOutcome, Counters, Framing, GoalRow, Leg, Link, Message, Paths, Query, Queue, RequestRow, StageRow, Window,
};
use sim::plan::{Action, Goal, Pairs, Pick, Plan, Role, Stage, Told};
use sim::topology::Graph;
use sim::traffic::Place;
use units::{Allowed, Bytes, ClassId, Distribution, HostId, Instant, MessageId, OfRequest, Rate, Span};

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
        stage_requests: Vec::new(),
        plans: patterns.iter().map(|_| None).collect(),
        messages,
        paths: Paths::default(),
        requests: None,
        faults: None,
        deadlock: None,
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

/// A run as [`outcome`] with the plan of each class, and these requests.
pub(crate) fn served(plans: &[Option<Plan>], requests: Vec<RequestRow>) -> Outcome {
    let patterns: Vec<&str> = plans.iter().map(|_| "stages").collect();
    let plans = plans.iter().map(|plan| plan.clone().map(Arc::new)).collect();
    Outcome { plans, stage_requests: requests, ..outcome(&patterns, Vec::new()) }
}

/// Host 0 asks hosts 1 and 2 (stage `ask`), they work, and each sends two messages (`answer`, which is repeated).
/// Each goal is of a stage, or of the whole request (0 ms here: rows have their own times).
pub(crate) fn plan(goals: &[(&str, Option<usize>)]) -> Plan {
    let drawn = || OfRequest::Drawn(Distribution::Constant(1.0));
    let role = |name: &str, hosts: &[u32]| Role {
        name: name.into(),
        hosts: hosts.iter().map(|host| HostId(*host)).collect(),
        count: hosts.len() as u32,
        pick: Pick::Random,
    };
    let send = |from, to| Action::Send { from, to, pairs: Pairs::All, size: drawn(), share: 1.0 };
    let work = Action::Work { at: 1, time: drawn(), servers: None };
    let stage = |(written, action), after| Stage { written, action, after, barrier: false, quorum: 1.0 };
    let actions = [(0, send(0, 1)), (1, work), (2, send(1, 0)), (2, send(1, 0))];
    let after = [vec![], vec![0], vec![1], vec![2]];
    let goal =
        |&(name, stage): &(&str, Option<usize>)| Goal { name: name.into(), stage, within: Allowed::Time(drawn()) };
    Plan {
        roles: vec![role("front", &[0]), role("back", &[1, 2])],
        stages: actions.into_iter().zip(after).map(|(action, after)| stage(action, after)).collect(),
        names: ["ask", "work", "answer"].map(String::from).into(),
        goals: goals.iter().map(goal).collect(),
        told: Told::Nothing,
        abandons: false,
        keeps_pieces: false,
    }
}

/// A request of class 0 that arrives then, is in progress, and takes 4 ms alone. Its plan has the stages of [`plan`].
pub(crate) fn request(number: u64, arrival: Instant) -> RequestBuilder {
    RequestBuilder(RequestRow {
        class: ClassId(0),
        number,
        arrival,
        alone: ms(4),
        end: None,
        over: false,
        abandoned: false,
        stages: vec![StageRow::default(); 3],
        goals: Vec::new(),
        longest: None,
        windows: Vec::new(),
        pieces: Vec::new(),
    })
}

#[derive(Clone)]
pub(crate) struct RequestBuilder(RequestRow);

impl RequestBuilder {
    pub(crate) fn class(mut self, class: u32) -> Self {
        self.0.class = ClassId(class);
        self
    }
    pub(crate) fn end(mut self, end: Instant) -> Self {
        self.0.end = Some(end);
        self.over()
    }
    pub(crate) fn over(mut self) -> Self {
        self.0.over = true;
        self
    }
    pub(crate) fn abandoned(mut self) -> Self {
        self.0.abandoned = true;
        self.over()
    }
    /// One more goal, with the allowed time and when it was reached.
    pub(crate) fn goal(mut self, within: Span, reached: Option<Instant>) -> Self {
        self.0.goals.push(GoalRow { within, alone: ms(1), least: ms(1), reached });
        self
    }
    /// The parts of a stage on the way to the end, in ms, and when it had ended.
    pub(crate) fn stage(mut self, index: usize, [network, work, waiting]: [u64; 3], end: Instant) -> Self {
        self.0.stages[index] = StageRow { end: Some(end), network: ms(network), work: ms(work), waiting: ms(waiting) };
        self
    }
    /// A message of 1000 B from host 0 to host 1 that is sent at the arrival and needed for a goal at `due`.
    pub(crate) fn window(mut self, due: Instant) -> Self {
        let (from, to, start) = (HostId(0), HostId(1), self.0.arrival);
        self.0.windows.push(Window { from, to, bytes: Bytes(1000), start, due });
        self
    }
    pub(crate) fn longest(mut self, stage: usize, host: u32, took: Span) -> Self {
        self.0.longest = Some(Leg { stage, host: HostId(host), took });
        self
    }
    pub(crate) fn build(self) -> RequestRow {
        self.0
    }
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
        pauses: None,
        utilisation: 0.5,
        queue: Queue { mean: mean_queue, p5: 1, p50: 2, p99: 3, max: 4 },
        rates: None,
    }
}

/// A message of 1000 B from host 1 to host 0 at the end of the warm-up, in class 0.
pub(crate) fn message() -> Builder {
    Builder(Message {
        number: MessageId(0),
        class: ClassId(0),
        from: HostId(1),
        to: HostId(0),
        query: None,
        place: None,
        piece: None,
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
    pub(crate) fn piece(mut self, number: u32, request: u64, piece: u32) -> Self {
        self.0.number = MessageId(number);
        self.0.query = Some(request);
        self.0.piece = Some(piece);
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
