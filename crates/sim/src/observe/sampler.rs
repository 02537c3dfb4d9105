//! Samples of signals over time.

use std::collections::BTreeMap;

use transport::registry::Config;
use transport::{Observation, Signal};
use units::{Bytes, Instant, MessageId, Span};

use crate::fabric::Net;
use crate::hosts::{Figure, Hosts};
use crate::record::message_log::MessageLog;
use crate::record::outcome::{Message, Sample, Subject};
use crate::run::{QUEUE, THROUGHPUT, Trace};

/// Samples the requested signals.
pub(crate) struct Sampler {
    trace: Trace,
    samples: Vec<Sample>,
    /// Payload since the last sample of messages that are complete or aborted.
    over: BTreeMap<MessageId, Bytes>,
}

impl Sampler {
    /// Returns a sampler without samples.
    pub(crate) fn new(trace: Trace) -> Sampler {
        Sampler { trace, samples: Vec::new(), over: BTreeMap::new() }
    }

    /// Returns the time between two samples.
    pub(crate) fn every(&self) -> Span {
        self.trace.every
    }

    /// Records that a message is complete or aborted, and its `bytes` since the last sample.
    pub(crate) fn keep(&mut self, message: MessageId, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            *self.over.entry(message).or_default() += bytes;
        }
    }

    /// Samples everything now: messages in the order of their starts, then links.
    pub(crate) fn take(&mut self, net: &Net, hosts: &mut Hosts, configs: &[Config], message_log: &MessageLog) {
        let now = net.now;
        let per_sample = 8.0 / self.trace.every.as_secs_f64() / 1e6;
        let mut arrived = std::mem::take(&mut self.over);
        let mut seen = Vec::new();
        for id in hosts.receivers.open_ones() {
            let receiving = hosts.receivers.at(id);
            receiving.take_arrived(Figure::Throughput, |message, bytes| *arrived.entry(message).or_default() += bytes);
            if hosts.senders.is_open(id, receiving.generation()) {
                arrived.entry(receiving.message()).or_default();
            }
        }
        for id in hosts.senders.open_ones() {
            let sending = hosts.senders.at(id);
            let generation = sending.generation();
            let Some((message, of_sender)) = sending.observe(configs, now) else { continue };
            seen.push((message, of_sender));
            if hosts.receivers.get(id).is_none_or(|receiving| receiving.generation() != generation) {
                // Its receiving host does not know of it yet.
                arrived.entry(message).or_default();
            }
        }
        let throughput = arrived.into_iter().map(|(message, bytes)| {
            let mut own = Observation::default();
            own.add(&THROUGHPUT, bytes.as_f64() * per_sample);
            (message, own)
        });
        let mut found: Vec<(MessageId, Observation)> = throughput.chain(seen).collect();
        found.sort_by_key(|(message, _)| *message);
        for (row, signals) in found {
            let &Message { class, from, to, .. } = message_log.sent(row);
            for (signal, value) in signals.iter() {
                self.add(now, signal, Subject::Message { row, class, from, to }, value);
            }
        }
        for (link, port) in net.ports().entries() {
            if port.place.at_switch() && port.watch().max_waiting > 0 {
                self.add(now, &QUEUE, Subject::Link(link), port.waiting() as f64);
            }
        }
    }

    fn add(&mut self, at: Instant, signal: &Signal, subject: Subject, value: f64) {
        if self.trace.what.iter().any(|wanted| wanted.name == signal.name) {
            self.samples.push(Sample { at, what: signal.name, subject, value });
        }
    }

    /// Returns the messages whose bytes are kept for the next sample.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.over.keys().copied()
    }

    /// Takes the samples since the last call, in order of time.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }
}
