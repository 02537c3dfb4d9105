//! Columns: messages, requests, links and samples over time, one table each.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use sim::outcome::{Allocation, GoalRow, Link, Message, Plan, RequestRow, Requests, Sample, StageRow, Subject};
use sim::{Outcome, World};
use units::{ClassId, Instant, Span};

use crate::book::RunStatistics;
use crate::queries::Query;
use crate::requests::times_alone;
use crate::verdict::{Verdict, completion_time, goal_verdict, verdict};

/// Columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// In the order in which they are shown.
    pub columns: Vec<Column>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, with its unit, where it has one.
    pub name: Cow<'static, str>,
    /// One value per row, of any kind where the row has none.
    pub data: Data,
    /// 1 where the row has a value, 0 where it has none; absent where every row has one.
    pub valid: Option<Vec<u8>>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Floating-point numbers, one per row.
    Float(Vec<f64>),
    /// Counts, one per row.
    Count(Vec<u64>),
    /// Small counts, hosts and row numbers.
    Small(Vec<u32>),
    /// 1 for true, 0 for false.
    Bool(Vec<u8>),
    /// Text by number: row i reads `words[codes[i]]`.
    Text {
        /// The number of each row's text.
        codes: Vec<u32>,
        /// The texts by their numbers.
        words: Arc<[String]>,
    },
}

/// The names to which rows refer: the same for all parts of a table.
#[derive(Clone, Debug)]
pub struct Names {
    classes: Arc<[String]>,
    links: Arc<[String]>,
    /// The stages and goals of the requests of each class, if any has some.
    plans: Option<Arc<Plans>>,
    /// The time in which messages must start to count.
    counted: Range<Instant>,
}

impl Names {
    /// Returns the names of a run that is over.
    pub fn of(outcome: &Outcome) -> Names {
        let names = |link: &Link| format!("{} -> {}", link.from, link.to);
        Names {
            classes: outcome.classes.iter().map(|class| class.name.clone()).collect(),
            links: outcome.links.iter().map(names).collect(),
            plans: Plans::of(&outcome.plans),
            counted: outcome.warm_up..outcome.simulated,
        }
    }

    /// Returns the names of a run in progress.
    pub fn of_world(world: &World) -> Names {
        Names {
            classes: world.class_names().collect(),
            links: world.link_names().collect(),
            plans: Plans::of(&world.plans()),
            counted: world.counted(),
        }
    }

    /// Returns the time in which messages must start to count.
    pub fn counted(&self) -> Range<Instant> {
        self.counted.clone()
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes.len()
    }
}

/// The stages and goals of the requests of all classes, by their names.
#[derive(Debug)]
struct Plans {
    of_classes: Vec<Option<Arc<Plan>>>,
    /// The names of all stages, each once.
    stages: Arc<[String]>,
    /// The names of all goals, each once.
    goals: Vec<String>,
    /// For each class and stage after expansion, the number of its first message or work, and its name's in `stages`.
    pieces: Vec<Vec<(u32, u32)>>,
}

impl Plans {
    /// Returns the plans of all classes; none where no class has requests.
    fn of(plans: &[Option<Arc<Plan>>]) -> Option<Arc<Plans>> {
        if plans.iter().all(Option::is_none) {
            return None;
        }
        let known = || plans.iter().flatten();
        let stages = distinct(known().flat_map(|plan| &plan.names));
        let pieces = |plan: &Option<Arc<Plan>>| plan.as_ref().map(|plan| first_pieces(plan, &stages));
        Some(Arc::new(Plans {
            of_classes: plans.to_vec(),
            goals: distinct(known().flat_map(|plan| plan.goals.iter().map(|goal| &goal.name))),
            pieces: plans.iter().map(|plan| pieces(plan).unwrap_or_default()).collect(),
            stages: stages.into(),
        }))
    }

    fn of_class(&self, class: ClassId) -> Option<&Plan> {
        self.of_classes[class.index()].as_deref()
    }

    /// Returns the stage of a message of a request, by its name's number.
    fn stage_of(&self, message: &Message) -> Option<u32> {
        let piece = message.piece?;
        let stages = &self.pieces[message.class.index()];
        let next = stages.partition_point(|(first, _)| *first <= piece);
        Some(stages[next.checked_sub(1)?].1)
    }
}

/// Returns for each stage of a plan the number of its first message or work, and the number of its name.
fn first_pieces(plan: &Plan, names: &[String]) -> Vec<(u32, u32)> {
    let mut first = 0;
    let of_stage = |stage| {
        let this = first;
        first += plan.pieces_of(stage) as u32;
        let name = &plan.names[stage.written];
        (this, names.iter().position(|known| known == name).expect("the names of all stages") as u32)
    };
    plan.stages.iter().map(of_stage).collect()
}

/// Returns these names, each once, in the order of their first.
fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        if !distinct.contains(name) {
            distinct.push(name.clone());
        }
    }
    distinct
}

/// One row per message, in order of their start; flows without end have no bytes.
///
/// `deadline_us` is the allowed time from the start. `missed` is null without a deadline and where the run ended before
/// it. `counted` is false for messages outside the summaries (the warm-up). Where a class has requests of stages,
/// `stage` is the name of a message's. `message` is its number, by which samples refer to it. Messages that were never
/// sent have a number and no row.
pub fn flows(outcome: &Outcome) -> Table {
    some_flows(&outcome.messages, &Names::of(outcome), outcome.ended)
}

/// Some rows of [`flows`]. Messages that are neither over nor aborted are judged as of `ended`, when the run was over.
pub fn some_flows(all: &[Message], names: &Names, ended: Instant) -> Table {
    let us = |span: Option<Span>| span.map(Span::as_micros_f64);
    let at = |instant: Option<Instant>| instant.map(Instant::as_micros_f64);
    let of_requests = names.plans.as_deref().map(|plans| {
        [
            coded("stage", plans.stages.clone(), all.iter().map(|m| plans.stage_of(m))),
            small("message", all.iter().map(|m| Some(m.number.0))),
        ]
    });
    let table = Table {
        columns: vec![
            class_names("class", names, all.iter().map(|m| Some(m.class))),
            small("src", all.iter().map(|m| Some(m.from.0))),
            small("dst", all.iter().map(|m| Some(m.to.0))),
            count("query", all.iter().map(|m| m.query)),
            count("bytes", all.iter().map(|m| Some(m.bytes?.0))),
            float("start_us", all.iter().map(|m| at(Some(m.start)))),
            float("end_us", all.iter().map(|m| at(m.end))),
            float("fct_us", all.iter().map(|m| us(completion_time(m)))),
            float("ideal_fct_us", all.iter().map(|m| us(m.ideal))),
            float("slowdown", all.iter().map(slowdown)),
            float("deadline_us", all.iter().map(|m| us(m.deadline))),
            bool("missed", all.iter().map(|m| missed(m, ended))),
            bool("aborted", all.iter().map(|m| Some(m.aborted))),
            bool("counted", all.iter().map(|m| Some(names.counted.contains(&m.start)))),
            small("timeouts", all.iter().map(|m| Some(m.timeouts))),
            small("retransmits", all.iter().map(|m| Some(m.retransmits))),
            small("marks", all.iter().map(|m| Some(m.marks))),
        ],
    };
    Table { columns: table.columns.into_iter().chain(of_requests.into_iter().flatten()).collect() }
}

/// One row per request of `stages` classes, by class and in order of their arrival; no columns without such classes.
///
/// `deadline_us` is the allowed time for the whole request, from its arrival. `missed` and the goals are null without
/// it and where the run ended before it. `network_us`, `work_us` and `waiting_us` are the parts of `time_us` of
/// messages, of works, and of works that waited for a server. The longest piece was of `longest_stage` at
/// `longest_host`.
pub fn requests(outcome: &Outcome) -> Table {
    some_requests(&outcome.stage_requests, &Names::of(outcome), outcome.ended)
}

/// Some rows of [`requests`]. Requests that are not over are judged as of `ended`, when the run was over.
pub fn some_requests(all: &[RequestRow], names: &Names, ended: Instant) -> Table {
    let Some(plans) = names.plans.as_deref() else { return Table { columns: Vec::new() } };
    let us = |span: Option<Span>| span.map(Span::as_micros_f64);
    let at = |instant: Option<Instant>| instant.map(Instant::as_micros_f64);
    let took = |request: &RequestRow| request.end.map(|end| end - request.arrival);
    let part = |part: fn(&StageRow) -> Span| {
        move |request: &RequestRow| {
            let sum = request.stages.iter().map(|stage| part(stage).0).sum();
            request.end.map(|_| Span(sum).as_micros_f64())
        }
    };
    let deadline = |request: &RequestRow| {
        let plan = plans.of_class(request.class)?;
        let whole = plan.goals.iter().position(|goal| goal.stage.is_none())?;
        Some(request.goals[whole])
    };
    let verdict = |request: &RequestRow, goal: GoalRow| known(goal_verdict(request, &goal, ended));
    let stage = |request: &RequestRow| {
        let name = &plans.of_class(request.class)?.names[request.longest?.stage];
        plans.stages.iter().position(|known| known == name).map(|index| index as u32)
    };
    let mut columns = vec![
        class_names("class", names, all.iter().map(|r| Some(r.class))),
        count("request", all.iter().map(|r| Some(r.number))),
        float("arrival_us", all.iter().map(|r| at(Some(r.arrival)))),
        float("end_us", all.iter().map(|r| at(r.end))),
        float("time_us", all.iter().map(|r| us(took(r)))),
        float("alone_us", all.iter().map(|r| us(Some(r.alone)))),
        float("slowdown", all.iter().map(|r| times_alone(took(r)?, r.alone))),
        float("deadline_us", all.iter().map(|r| us(Some(deadline(r)?.within)))),
        bool("missed", all.iter().map(|r| verdict(r, deadline(r)?))),
        bool("abandoned", all.iter().map(|r| Some(r.abandoned))),
        bool("counted", all.iter().map(|r| Some(names.counted.contains(&r.arrival)))),
        float("network_us", all.iter().map(part(|stage| stage.network))),
        float("work_us", all.iter().map(part(|stage| stage.work))),
        float("waiting_us", all.iter().map(part(|stage| stage.waiting))),
        coded("longest_stage", plans.stages.clone(), all.iter().map(stage)),
        small("longest_host", all.iter().map(|r| Some(r.longest?.host.0))),
        float("longest_us", all.iter().map(|r| us(Some(r.longest?.took)))),
    ];
    for goal in &plans.goals {
        let index =
            |request: &RequestRow| plans.of_class(request.class)?.goals.iter().position(|known| known.name == *goal);
        let of = |request: &RequestRow| Some(!verdict(request, request.goals[index(request)?])?);
        let within = |request: &RequestRow| us(Some(request.goals[index(request)?].within));
        columns.push(bool(format!("goal:{goal}"), all.iter().map(of)));
        columns.push(float(format!("within_us:{goal}"), all.iter().map(within)));
    }
    for stage in &*plans.stages {
        let of = |request: &RequestRow| {
            let index = plans.of_class(request.class)?.names.iter().position(|known| known == stage)?;
            at(request.stages[index].end)
        };
        columns.push(float(format!("end_us:{stage}"), all.iter().map(of)));
    }
    Table { columns }
}

/// One row per query of `fan-in` classes, in order of their start.
///
/// `answers` are the leaves' answers, `in_time` the number of them that reached the parent that asks in time.
/// `deadline_us` is the time at which the last answer is due, and `completion_us` when it arrived (null where one did
/// not), from the query's start. `met` and `completion_us` are null where the query is not `counted`.
pub fn queries(outcome: &Outcome) -> Table {
    let all: Vec<Query> = RunStatistics::of(outcome).queries.iter().copied().collect();
    some_queries(&all, &Names::of(outcome))
}

/// Some rows of [`queries`].
pub fn some_queries(all: &[Query], names: &Names) -> Table {
    let enters = |query: &Query| query.enters(&names.counted);
    let us = |span: Option<Span>| span.map(Span::as_micros_f64);
    Table {
        columns: vec![
            class_names("class", names, all.iter().map(|query| Some(query.row.class))),
            count("query", all.iter().map(|query| Some(query.row.number))),
            small("parent", all.iter().map(|query| Some(query.row.parent.0))),
            float("start_us", all.iter().map(|query| Some(query.row.start.as_micros_f64()))),
            float("deadline_us", all.iter().map(|query| us(query.row.deadline))),
            small("answers", all.iter().map(|query| Some(query.row.answers))),
            small("in_time", all.iter().map(|query| Some(query.in_time))),
            float("completion_us", all.iter().map(|query| us(query.took().filter(|_| enters(query))))),
            bool("met", all.iter().map(|query| enters(query).then(|| query.is_met()))),
            bool("counted", all.iter().map(|query| Some(enters(query)))),
        ],
    }
}

/// One row per message and work of the requests of classes that keep them (`pieces = true`), in the order of
/// [`requests`]; no columns without requests of stages.
///
/// `ready_us` is the time at which all that it waits for had ended, `began_us` that of its start: a work may have waited
/// for a server. Every goal can be reached if it ends by `due_us`.
pub fn pieces(outcome: &Outcome) -> Table {
    some_pieces(&outcome.stage_requests, &Names::of(outcome))
}

/// Some rows of [`pieces`]: of some requests.
pub fn some_pieces(requests: &[RequestRow], names: &Names) -> Table {
    let Some(plans) = names.plans.as_deref() else { return Table { columns: Vec::new() } };
    let all = || requests.iter().flat_map(|request| (0..).zip(&request.pieces).map(move |row| (request, row)));
    let at = |instant: Option<Instant>| instant.map(Instant::as_micros_f64);
    let stage = |request: &RequestRow, index: usize| {
        let name = &plans.of_class(request.class)?.names[index];
        plans.stages.iter().position(|known| known == name).map(|index| index as u32)
    };
    Table {
        columns: vec![
            class_names("class", names, all().map(|(r, _)| Some(r.class))),
            count("request", all().map(|(r, _)| Some(r.number))),
            small("piece", all().map(|(_, (number, _))| Some(number))),
            coded("stage", plans.stages.clone(), all().map(|(r, (_, piece))| stage(r, piece.stage))),
            small("src", all().map(|(_, (_, piece))| Some(piece.from.0))),
            small("dst", all().map(|(_, (_, piece))| Some(piece.to.0))),
            float("ready_us", all().map(|(_, (_, piece))| at(piece.ready))),
            float("began_us", all().map(|(_, (_, piece))| at(piece.began))),
            float("end_us", all().map(|(_, (_, piece))| at(piece.ended))),
            float("due_us", all().map(|(_, (_, piece))| at(piece.due))),
            bool("critical", all().map(|(_, (_, piece))| Some(piece.is_critical))),
        ],
    }
}

/// One row per link direction, with the port that feeds it; queues in packets, over time after the warm-up.
///
/// The last columns are null unless a transport requests rates. They are its requests at the port, as [`Requests`]
/// defines them, and the counters of the port's router at the end of the run. Where the scenario has faults,
/// `fault_drops` is one more: the packets lost to them at the port or behind it. In a lossless network, `pause_frames` and
/// `paused_s` are two more.
pub fn links(outcome: &Outcome) -> Table {
    let all = &outcome.links;
    let requests = |value: fn(&Requests) -> u64| all.iter().map(move |l| l.rates.map(|rates| value(&rates.requests)));
    let counted = |value: fn(&Allocation) -> u64| all.iter().map(move |l| l.rates.map(|rates| value(&rates.counters)));
    let queue = |value: fn(&Link) -> u64| all.iter().map(move |link| Some(value(link)));
    let by_faults = outcome.faults.map(|_| count("fault_drops", all.iter().map(|link| link.fault_drops)));
    let table = Table {
        columns: vec![
            text("src", all.iter().map(|link| Some(link.from.clone()))),
            text("dst", all.iter().map(|link| Some(link.to.clone()))),
            count("rate_bps", all.iter().map(|link| Some(link.rate_bps))),
            count("packets", all.iter().map(|link| Some(link.packets))),
            count("bytes", all.iter().map(|link| Some(link.bytes.0))),
            count("drops", all.iter().map(|link| Some(link.drops))),
            count("marks", all.iter().map(|link| Some(link.marks))),
            float("utilisation", all.iter().map(|link| Some(link.utilisation))),
            float("queue_mean", all.iter().map(|link| Some(link.queue.mean))),
            count("queue_p5", queue(|link| link.queue.p5)),
            count("queue_p50", queue(|link| link.queue.p50)),
            count("queue_p99", queue(|link| link.queue.p99)),
            count("queue_max", queue(|link| link.queue.max)),
            count("requests", requests(|seen| seen.requests)),
            count("denied", requests(|seen| seen.denied)),
            count("inverted", requests(|seen| seen.inverted)),
            count("overtaken", requests(|seen| seen.overtaken)),
            count("displaceable", requests(|seen| seen.displaceable)),
            count("refused", requests(|seen| seen.refused)),
            count("passed_over", requests(|seen| seen.passed_over)),
            count("counted_flows", counted(|now| now.flows)),
            count("allocated_bps", counted(|now| now.allocated)),
            count("requested_bps", counted(|now| now.requested)),
        ],
    };
    let is_lossless = all.iter().any(|link| link.pauses.is_some());
    let pauses = is_lossless.then(|| {
        [
            count("pause_frames", all.iter().map(|link| Some(link.pauses?.frames))),
            float("paused_s", all.iter().map(|link| Some(link.pauses?.paused.as_secs_f64()))),
        ]
    });
    Table { columns: table.columns.into_iter().chain(by_faults).chain(pauses.into_iter().flatten()).collect() }
}

/// One row per sample: its time, signal, subject (a message's row in [`flows`], or a link), and value.
pub fn trace(outcome: &Outcome) -> Table {
    some_samples(&outcome.trace, &Names::of(outcome))
}

/// Some rows of [`trace`].
pub fn some_samples(all: &[Sample], names: &Names) -> Table {
    let of = |sample: &Sample| match sample.subject {
        Subject::Message { row, class, from, to } => Some((row, class, from, to)),
        Subject::Link(_) => None,
    };
    let link = |sample: &Sample| match sample.subject {
        Subject::Message { .. } => None,
        Subject::Link(row) => Some(row.0),
    };
    Table {
        columns: vec![
            float("time_s", all.iter().map(|sample| Some(sample.at.as_secs_f64()))),
            signals("what", all),
            class_names("class", names, all.iter().map(|sample| of(sample).map(|(_, class, ..)| class))),
            small("src", all.iter().map(|sample| of(sample).map(|(_, _, from, _)| from.0))),
            small("dst", all.iter().map(|sample| of(sample).map(|(.., to)| to.0))),
            small("message", all.iter().map(|sample| of(sample).map(|(row, ..)| row.0))),
            coded("link", names.links.clone(), all.iter().map(link)),
            float("value", all.iter().map(|sample| Some(sample.value))),
        ],
    }
}

fn slowdown(message: &Message) -> Option<f64> {
    times_alone(completion_time(message)?, message.ideal?)
}

fn missed(message: &Message, ended: Instant) -> Option<bool> {
    known(verdict(message, ended))
}

/// Returns whether a deadline was missed, where that is known.
fn known(verdict: Verdict) -> Option<bool> {
    match verdict {
        Verdict::Met => Some(false),
        Verdict::Missed => Some(true),
        Verdict::NoDeadline | Verdict::Undecided => None,
    }
}

fn class_names(
    name: impl Into<Cow<'static, str>>,
    names: &Names,
    rows: impl Iterator<Item = Option<ClassId>>,
) -> Column {
    coded(name, names.classes.clone(), rows.map(|class| class.map(|class| class.0)))
}

fn signals(name: impl Into<Cow<'static, str>>, samples: &[Sample]) -> Column {
    let names = sim::run::SIGNALS.names();
    let words = names.iter().map(ToString::to_string).collect();
    let code = |what| names.iter().position(|name| *name == what).map(|code| code as u32);
    coded(name, words, samples.iter().map(|sample| code(sample.what)))
}

fn float(name: impl Into<Cow<'static, str>>, rows: impl Iterator<Item = Option<f64>>) -> Column {
    let (values, valid) = split(rows);
    Column { name: name.into(), data: Data::Float(values), valid }
}

fn count(name: impl Into<Cow<'static, str>>, rows: impl Iterator<Item = Option<u64>>) -> Column {
    let (values, valid) = split(rows);
    Column { name: name.into(), data: Data::Count(values), valid }
}

fn small(name: impl Into<Cow<'static, str>>, rows: impl Iterator<Item = Option<u32>>) -> Column {
    let (values, valid) = split(rows);
    Column { name: name.into(), data: Data::Small(values), valid }
}

fn bool(name: impl Into<Cow<'static, str>>, rows: impl Iterator<Item = Option<bool>>) -> Column {
    let (values, valid) = split(rows.map(|row| row.map(u8::from)));
    Column { name: name.into(), data: Data::Bool(values), valid }
}

/// Text in which most rows differ.
fn text(name: impl Into<Cow<'static, str>>, rows: impl Iterator<Item = Option<String>>) -> Column {
    let (words, valid) = split(rows);
    Column {
        name: name.into(),
        data: Data::Text { codes: (0..words.len() as u32).collect(), words: words.into() },
        valid,
    }
}

/// Text of few words, by their number.
fn coded(name: impl Into<Cow<'static, str>>, words: Arc<[String]>, rows: impl Iterator<Item = Option<u32>>) -> Column {
    let (codes, valid) = split(rows);
    Column { name: name.into(), data: Data::Text { codes, words }, valid }
}

fn split<T: Default>(rows: impl Iterator<Item = Option<T>>) -> (Vec<T>, Option<Vec<u8>>) {
    let (mut values, mut valid) = (Vec::with_capacity(rows.size_hint().0), Vec::new());
    for row in rows {
        match row {
            Some(value) => {
                values.push(value);
                if !valid.is_empty() {
                    valid.push(1);
                }
            }
            None => {
                valid.resize(values.len(), 1);
                values.push(T::default());
                valid.push(0);
            }
        }
    }
    (values, (!valid.is_empty()).then_some(valid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at_ms, link, message, ms, outcome, plan, request, served};
    use sim::outcome::PieceRow;
    use units::{HostId, LinkId, MessageId};

    fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
        table.columns.iter().find(|column| column.name == name).unwrap()
    }

    fn names(table: &Table) -> Vec<&str> {
        table.columns.iter().map(|column| &*column.name).collect()
    }

    fn rows(column: &Column) -> usize {
        match &column.data {
            Data::Float(x) => x.len(),
            Data::Count(x) => x.len(),
            Data::Small(x) => x.len(),
            Data::Bool(x) => x.len(),
            Data::Text { codes, .. } => codes.len(),
        }
    }

    #[test]
    fn flows_have_a_row_for_each_message() {
        let run = outcome(
            &["fan-in"],
            vec![
                message().start(at_ms(9)).end(at_ms(11)).deadline(ms(1)).query(3).build(),
                message().end(at_ms(11)).deadline(ms(1)).build(),
                message().deadline(ms(500)).build(),
                message().bytes(None).build(),
            ],
        );
        let table = flows(&run);
        assert!(table.columns.iter().all(|column| rows(column) == 4));
        assert_eq!(column(&table, "fct_us").data, Data::Float(vec![2000.0, 1000.0, 0.0, 0.0]));
        assert_eq!(column(&table, "fct_us").valid, Some(vec![1, 1, 0, 0]));
        assert_eq!(column(&table, "slowdown").data, Data::Float(vec![2.0, 1.0, 0.0, 0.0]));
        assert_eq!(column(&table, "missed").data, Data::Bool(vec![1, 0, 0, 0]));
        assert_eq!(column(&table, "missed").valid, Some(vec![1, 1, 0, 0]));
        assert_eq!(column(&table, "counted").data, Data::Bool(vec![0, 1, 1, 1]));
        assert_eq!(column(&table, "counted").valid, None);
        assert_eq!(column(&table, "query").valid, Some(vec![1, 0, 0, 0]));
        assert_eq!(column(&table, "bytes").valid, Some(vec![1, 1, 1, 0]));
        let Data::Text { codes, words } = &column(&table, "class").data else { panic!("text") };
        assert_eq!((&codes[..], &words[0][..]), (&[0, 0, 0, 0][..], "class 0"));
    }

    #[test]
    fn requests_have_their_goals_and_stages_in_columns() {
        let mut other = plan(&[("deadline", None)]);
        other.names[2] = "reply".into();
        let late = request(7, at_ms(12)).goal(ms(3), Some(at_ms(14))).goal(ms(20), Some(at_ms(40)));
        let late = late.stage(0, [2, 0, 0], at_ms(14)).stage(1, [0, 8, 3], at_ms(25)).stage(2, [15, 0, 0], at_ms(40));
        let rows = vec![
            late.end(at_ms(40)).longest(2, 6, ms(15)).build(),
            request(0, at_ms(9)).class(1).goal(ms(500), None).build(),
            request(1, at_ms(20)).class(1).goal(ms(500), None).stage(0, [9, 0, 0], at_ms(29)).abandoned().build(),
        ];
        let run = served(&[Some(plan(&[("first", Some(0)), ("deadline", None)])), Some(other), None], rows);
        let table = requests(&run);
        assert_eq!(names(&table)[..4], ["class", "request", "arrival_us", "end_us"]);
        assert_eq!(
            names(&table)[17..],
            [
                "goal:first",
                "within_us:first",
                "goal:deadline",
                "within_us:deadline",
                "end_us:ask",
                "end_us:work",
                "end_us:answer",
                "end_us:reply"
            ]
        );
        let first = |name: &str| match &column(&table, name).data {
            Data::Float(all) => all[0],
            Data::Bool(all) => f64::from(all[0]),
            _ => panic!("{name}"),
        };
        let valid = |name: &str| column(&table, name).valid.clone().unwrap_or(vec![1, 1, 1]);
        let expected = [
            ("arrival_us", 12_000.0, [1, 1, 1]),
            ("end_us", 40_000.0, [1, 0, 0]),
            ("time_us", 28_000.0, [1, 0, 0]),
            ("alone_us", 4_000.0, [1, 1, 1]),
            ("slowdown", 7.0, [1, 0, 0]),
            ("deadline_us", 20_000.0, [1, 1, 1]),
            ("missed", 1.0, [1, 0, 1]),
            ("abandoned", 0.0, [1, 1, 1]),
            ("counted", 1.0, [1, 1, 1]),
            ("network_us", 17_000.0, [1, 0, 0]),
            ("work_us", 8_000.0, [1, 0, 0]),
            ("waiting_us", 3_000.0, [1, 0, 0]),
            ("longest_us", 15_000.0, [1, 0, 0]),
            ("goal:first", 1.0, [1, 0, 0]),
            ("within_us:first", 3_000.0, [1, 0, 0]),
            ("goal:deadline", 0.0, [1, 0, 1]),
            ("within_us:deadline", 20_000.0, [1, 1, 1]),
            ("end_us:ask", 14_000.0, [1, 0, 1]),
            ("end_us:work", 25_000.0, [1, 0, 0]),
            ("end_us:answer", 40_000.0, [1, 0, 0]),
            ("end_us:reply", 0.0, [0, 0, 0]),
        ];
        for (name, value, there) in expected {
            assert_eq!((first(name), valid(name)), (value, there.to_vec()), "{name}");
        }
        assert_eq!(column(&table, "counted").data, Data::Bool(vec![1, 0, 1]));
        assert_eq!(column(&table, "abandoned").data, Data::Bool(vec![0, 0, 1]));
        let Data::Text { codes, words } = &column(&table, "longest_stage").data else { panic!("text") };
        assert_eq!((words[codes[0] as usize].as_str(), &valid("longest_stage")[..]), ("answer", &[1, 0, 0][..]));
        assert_eq!(column(&table, "longest_host").data, Data::Small(vec![6, 0, 0]));
    }

    #[test]
    fn pieces_are_those_of_requests_that_keep_them() {
        let piece = |stage, ended| PieceRow {
            stage,
            from: HostId(4),
            to: HostId(5),
            ready: Some(at_ms(11)),
            began: Some(at_ms(12)),
            ended,
            due: ended,
            is_critical: ended.is_some(),
        };
        let mut first = request(2, at_ms(10)).build();
        first.pieces = vec![piece(0, Some(at_ms(14))), piece(1, None)];
        let mut last = request(5, at_ms(10)).class(1).build();
        last.pieces = vec![piece(2, Some(at_ms(15)))];
        let run = served(&[Some(plan(&[])), Some(plan(&[]))], vec![first, request(3, at_ms(20)).build(), last]);
        let table = pieces(&run);
        assert_eq!(column(&table, "request").data, Data::Count(vec![2, 2, 5]));
        assert_eq!(column(&table, "piece").data, Data::Small(vec![0, 1, 0]));
        assert_eq!(column(&table, "ready_us").data, Data::Float(vec![11_000.0; 3]));
        assert_eq!(column(&table, "began_us").data, Data::Float(vec![12_000.0; 3]));
        assert_eq!(column(&table, "end_us").data, Data::Float(vec![14_000.0, 0.0, 15_000.0]));
        assert_eq!(column(&table, "due_us").valid, Some(vec![1, 0, 1]));
        assert_eq!(column(&table, "critical").data, Data::Bool(vec![1, 0, 1]));
        let Data::Text { codes, words } = &column(&table, "stage").data else { panic!("text") };
        let stages: Vec<&str> = codes.iter().map(|code| &words[*code as usize][..]).collect();
        assert_eq!(stages, ["ask", "work", "answer"]);
    }

    #[test]
    fn messages_of_requests_have_their_stage_and_number() {
        let mut run = served(&[Some(plan(&[])), None], Vec::new());
        // Pieces 0 and 1 ask, 2 and 3 are works, 4 to 7 answer.
        let pieces = [(0, "ask"), (1, "ask"), (4, "answer"), (7, "answer")];
        run.messages = pieces.iter().map(|(piece, _)| message().piece(10 + piece, 3, *piece).build()).collect();
        run.messages.push(message().class(1).build());
        let table = flows(&run);
        assert_eq!(names(&table)[17..], ["stage", "message"]);
        let Data::Text { codes, words } = &column(&table, "stage").data else { panic!("text") };
        let found: Vec<&str> = codes[..4].iter().map(|code| &words[*code as usize][..]).collect();
        assert_eq!(found, pieces.map(|(_, stage)| stage));
        assert_eq!(column(&table, "stage").valid, Some(vec![1, 1, 1, 1, 0]));
        assert_eq!(column(&table, "message").data, Data::Small(vec![10, 11, 14, 17, 0]));
    }

    #[test]
    fn links_keep_their_ends_and_queues() {
        let mut run = outcome(&[], vec![]);
        run.links = vec![link("host 0", "switch", 0.5), link("switch", "host 0", 1.5)];
        let table = links(&run);
        assert_eq!(names(&table)[..3], ["src", "dst", "rate_bps"]);
        assert_eq!(column(&table, "queue_mean").data, Data::Float(vec![0.5, 1.5]));
        assert_eq!(column(&table, "queue_p99").data, Data::Count(vec![3, 3]));
        let Data::Text { codes, words } = &column(&table, "dst").data else { panic!("text") };
        assert_eq!((codes, words[1].as_str()), (&vec![0, 1], "host 0"));
    }

    #[test]
    fn a_sample_is_of_a_message_or_of_a_link() {
        let mut run = outcome(&["poisson"], vec![message().build()]);
        run.links = vec![link("switch", "host 4", 0.0)];
        let subject = Subject::Message { row: MessageId(0), class: ClassId(0), from: HostId(1), to: HostId(0) };
        run.trace = vec![
            Sample { at: at_ms(20), what: "cwnd", subject, value: 2.5 },
            Sample { at: at_ms(20), what: "queue", subject: Subject::Link(LinkId(0)), value: 7.0 },
        ];
        let table = trace(&run);
        assert_eq!(names(&table), ["time_s", "what", "class", "src", "dst", "message", "link", "value"]);
        assert_eq!(column(&table, "time_s").data, Data::Float(vec![0.02, 0.02]));
        for (name, valid) in [("class", [1, 0]), ("src", [1, 0]), ("message", [1, 0]), ("link", [0, 1])] {
            assert_eq!(column(&table, name).valid, Some(valid.to_vec()), "{name}");
        }
        let Data::Text { codes, words } = &column(&table, "what").data else { panic!("text") };
        assert_eq!((words[codes[0] as usize].as_str(), words[codes[1] as usize].as_str()), ("cwnd", "queue"));
        let Data::Text { words, .. } = &column(&table, "link").data else { panic!("text") };
        assert_eq!(words[0], "switch -> host 4");
    }

    #[test]
    fn ports_that_grant_no_rates_have_none() {
        let mut run = outcome(&[], vec![]);
        run.links = vec![link("switch", "host 0", 1.0); 2];
        let requests = Requests { requests: 7, ..Requests::default() };
        let counters = Allocation { allocated: 5, requested: 4, flows: 3 };
        run.links[1].rates = Some(sim::outcome::LinkRates { requests, counters });
        let table = links(&run);
        for (name, value) in [("requests", 7), ("counted_flows", 3), ("allocated_bps", 5), ("requested_bps", 4)] {
            assert_eq!(column(&table, name).data, Data::Count(vec![0, value]), "{name}");
            assert_eq!(column(&table, name).valid, Some(vec![0, 1]), "{name}");
        }
    }

    #[test]
    fn empty_tables_keep_their_columns() {
        let nothing = outcome(&[], vec![]);
        assert_eq!(flows(&nothing).columns.len(), 17);
        assert!(flows(&nothing).columns.iter().all(|column| rows(column) == 0 && column.valid.is_none()));
        assert_eq!(links(&nothing).columns.len(), 23);
        assert_eq!(queries(&nothing).columns.len(), 10);
        assert_eq!(trace(&nothing).columns.len(), 8);
        assert_eq!(requests(&nothing).columns.len(), 0);
        let no_request = served(&[Some(plan(&[]))], vec![]);
        assert_eq!((requests(&no_request).columns.len(), pieces(&no_request).columns.len()), (20, 11));
        assert!(requests(&no_request).columns.iter().all(|column| rows(column) == 0));
    }

    #[test]
    fn a_gap_after_many_values_is_found() {
        assert_eq!(split([Some(1u32), Some(2), None, Some(4)].into_iter()), (vec![1, 2, 0, 4], Some(vec![1, 1, 0, 1])));
        assert_eq!(split([None, Some(2u32)].into_iter()), (vec![0, 2], Some(vec![0, 1])));
    }
}
