//! Measurements of a real network, in the form of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use results::Report;
use serde::Deserialize;
use sim::outcome::{Counters, Link, Message, Query, Queue, Sample, Subject, Timers};
use sim::run::SIGNALS;
use sim::{Outcome, World};
use units::{Bytes, ClassId, HostId, Instant, LinkId, MessageId, Span};

use crate::errors::guarded;
use crate::run::Run;

/// Measurements of one scenario. Times are in ps from the start of the run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    simulated: u64,
    /// The end of the run, when everything that counts was decided; the end of the measured time if it is left out.
    ended: Option<u64>,
    counters: MeasuredCounters,
    classes: Vec<MeasuredClass>,
    messages: Vec<MeasuredMessage>,
    links: Vec<MeasuredLink>,
    samples: Vec<MeasuredSample>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredCounters {
    packets_sent: u64,
    packets_received: u64,
    packets_delivered: u64,
    packet_hops: u64,
    drops: u64,
    marks: u64,
}

/// In the order of the scenario.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredClass {
    delivered_bytes: u64,
    bottleneck_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredMessage {
    class: u32,
    from: u32,
    to: u32,
    query: Option<u64>,
    bytes: Option<u64>,
    start: u64,
    end: Option<u64>,
    ideal: Option<u64>,
    deadline: Option<u64>,
    timeouts: u32,
    retransmits: u32,
    marks: u32,
    delivered: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredLink {
    from: String,
    to: String,
    packets: u64,
    bytes: u64,
    drops: u64,
    marks: u64,
    utilisation: f64,
    queue_mean: f64,
    queue_p5: u64,
    queue_p50: u64,
    queue_p99: u64,
    queue_max: u64,
}

/// A sample of a message (by its row) or of a link (by its row).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredSample {
    at: u64,
    what: String,
    message: Option<u32>,
    link: Option<u32>,
    value: f64,
}

/// Makes a run of `measured` (JSON); everything else is the scenario's, and so are the summaries' rules.
#[pyfunction]
#[pyo3(signature = (text, name, measured, folder=None, set=Vec::new(), seed=None, transport=None, files=BTreeMap::new(), wall_s=0.0))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn measured(
    py: Python<'_>,
    text: &str,
    name: &str,
    measured: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
    wall_s: f64,
) -> PyResult<Run> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let read = crate::read(py, &source, &scenario::Options { set, seed, transport, files })?;
    let (resolved, notes) = (read.resolved.to_string(), read.notes);
    let measured: Measured =
        serde_json::from_str(measured).map_err(|error| PyValueError::new_err(format!("measurements: {error}")))?;
    // A run that has not begun knows the scenario's classes and links; the rest is replaced.
    let nothing = guarded(py, || World::new(read.scenario).finish())?;
    let outcome = filled(nothing, measured).map_err(PyValueError::new_err)?;
    let json = guarded(py, || Report::measured(&outcome, wall_s).to_json())?;
    Ok(Run { outcome: Some(outcome), json, resolved, notes })
}

fn filled(mut outcome: Outcome, measured: Measured) -> Result<Outcome, String> {
    let (classes, links) = (outcome.classes.len(), outcome.links.len());
    if (measured.classes.len(), measured.links.len()) != (classes, links) {
        return Err(format!("the scenario has {classes} classes and {links} links, the measurements have others"));
    }
    for (class, measured) in outcome.classes.iter_mut().zip(&measured.classes) {
        class.delivered_bytes = Bytes(measured.delivered_bytes);
        class.bottleneck_bytes = Bytes(measured.bottleneck_bytes);
        // The waiting time of packets in a real switch is not known, only how many waited.
        class.bottleneck_delay_us = None;
    }
    for (link, measured) in outcome.links.iter_mut().zip(measured.links) {
        measured.fill(link)?;
    }
    let numbered = |(number, message)| Message { number: MessageId(number), ..Message::from(message) };
    outcome.messages = (0..).zip(measured.messages).map(numbered).collect();
    outcome.queries = queries(&outcome.messages);
    if outcome.messages.iter().any(|message| message.class.index() >= classes) {
        return Err("a message is of a class that the scenario does not have".into());
    }
    let of = |sample: MeasuredSample| sample.of(&outcome.messages, links);
    outcome.trace = measured.samples.into_iter().map(of).collect::<Result<_, _>>()?;
    outcome.simulated = Instant(measured.simulated);
    outcome.ended = measured.ended.map_or(outcome.simulated, Instant);
    outcome.decided_until = outcome.ended;
    let MeasuredCounters { packets_sent, packets_received, packets_delivered, packet_hops, drops, marks } =
        measured.counters;
    outcome.counters = Counters {
        packets_sent,
        packets_received,
        packets_delivered,
        packets_in_flight: packets_sent.saturating_sub(packets_received + drops),
        packet_hops,
        events: 0,
        drops,
        trims: 0,
        marks,
        timers: Timers::default(),
        timeouts: outcome.messages.iter().map(|message| u64::from(message.timeouts)).sum(),
        retransmits: outcome.messages.iter().map(|message| u64::from(message.retransmits)).sum(),
    };
    Ok(outcome)
}

/// The queries that messages answer, each from the start of its first answer.
fn queries(messages: &[Message]) -> Vec<Query> {
    let mut queries: BTreeMap<(ClassId, u64), Query> = BTreeMap::new();
    for message in messages {
        let Some(number) = message.query else { continue };
        let Message { class, to: parent, start, .. } = *message;
        let query = queries.entry((class, number)).or_insert(Query {
            class,
            number,
            parent,
            start,
            deadline: None,
            answers: 0,
            children: 0,
        });
        // Messages are in the order of their starts.
        let due = message.deadline.map(|deadline| (message.start + deadline).saturating_sub(query.start));
        query.deadline = query.deadline.max(due);
        query.answers += 1;
        query.children += 1;
    }
    let mut queries: Vec<Query> = queries.into_values().collect();
    queries.sort_by_key(|query| (query.start, query.class, query.number));
    queries
}

impl From<MeasuredMessage> for Message {
    fn from(measured: MeasuredMessage) -> Message {
        Message {
            number: MessageId(0),
            class: ClassId(measured.class),
            from: HostId(measured.from),
            to: HostId(measured.to),
            query: measured.query,
            place: None,
            piece: None,
            bytes: measured.bytes.map(Bytes),
            start: Instant(measured.start),
            end: measured.end.map(Instant),
            ideal: measured.ideal.map(Span),
            deadline: measured.deadline.map(Span),
            aborted: false,
            timeouts: measured.timeouts,
            retransmits: measured.retransmits,
            marks: measured.marks,
            delivered: Bytes(measured.delivered),
        }
    }
}

impl MeasuredLink {
    fn fill(self, link: &mut Link) -> Result<(), String> {
        if (&self.from, &self.to) != (&link.from, &link.to) {
            return Err(format!(
                "{} -> {} was measured in the place of {} -> {}",
                self.from, self.to, link.from, link.to
            ));
        }
        link.packets = self.packets;
        link.bytes = Bytes(self.bytes);
        link.drops = self.drops;
        link.marks = self.marks;
        link.utilisation = self.utilisation;
        link.queue = Queue {
            mean: self.queue_mean,
            p5: self.queue_p5,
            p50: self.queue_p50,
            p99: self.queue_p99,
            max: self.queue_max,
        };
        Ok(())
    }
}

impl MeasuredSample {
    fn of(self, messages: &[Message], links: usize) -> Result<Sample, String> {
        let what = SIGNALS.find(&self.what).ok_or_else(|| format!("there is no signal {}", self.what))?.name;
        let subject = match (self.message, self.link) {
            (Some(row), None) if (row as usize) < messages.len() => {
                let Message { class, from, to, .. } = messages[row as usize];
                Subject::Message { row: MessageId(row), class, from, to }
            }
            (None, Some(row)) if (row as usize) < links => Subject::Link(LinkId(row)),
            _ => return Err(format!("a sample of {what} is of no message and no link")),
        };
        Ok(Sample { at: Instant(self.at), what, subject, value: self.value })
    }
}
