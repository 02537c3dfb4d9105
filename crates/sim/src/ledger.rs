//! What is written down of messages and classes while a run goes on.

use std::collections::BTreeMap;

use units::Instant;

use crate::hosts::{Arrivals, Sent};
use crate::outcome::{ClassOutcome, Framing, Message, Query};
use crate::scenario::Class;

/// A message: its row in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// Rows of messages, and sums by class.
///
/// A message has two halves, each written by the host that knows it; they are joined when the run is over.
pub struct Ledger {
    /// What sending hosts know: one row per message, in order of their starts, without end and marks.
    sent: Vec<Message>,
    /// What receiving hosts know, as far as they have been told of messages.
    received: Vec<Received>,
    /// For each message, where its path begins.
    paths: Vec<u32>,
    /// One row per query, in order of their starts.
    pub queries: Vec<Query>,
    /// Payload delivered in order after the warm-up, by class.
    delivered: Vec<u64>,
    /// What arrived, by class and pair of hosts.
    flows: BTreeMap<(u32, u32, u32), Arrivals>,
}

/// What a receiving host knows of a message.
#[derive(Clone, Copy, Default)]
struct Received {
    /// When its last byte arrived.
    end: Option<Instant>,
    /// Data packets that arrived with a mark.
    marks: u32,
}

impl Ledger {
    /// Empty, for so many classes.
    pub fn new(classes: usize) -> Ledger {
        Ledger {
            sent: Vec::new(),
            received: Vec::new(),
            paths: Vec::new(),
            queries: Vec::new(),
            delivered: vec![0; classes],
            flows: BTreeMap::new(),
        }
    }

    /// A message starts on a path.
    pub fn start(&mut self, path: u32, message: Message) -> MessageId {
        self.paths.push(path);
        self.sent.push(message);
        MessageId(self.sent.len() as u32 - 1)
    }

    /// What is known of a message where it is sent.
    pub fn sent(&self, message: MessageId) -> &Message {
        &self.sent[message.0 as usize]
    }

    /// A message has arrived completely.
    pub fn complete(&mut self, message: MessageId, now: Instant) {
        self.received(message).end = Some(now);
    }

    /// A message was given up.
    pub fn give_up(&mut self, message: MessageId) {
        self.sent[message.0 as usize].aborted = true;
    }

    /// Whether a message has arrived or was given up.
    pub fn is_decided(&self, message: MessageId) -> bool {
        let arrived = self.received.get(message.0 as usize).is_some_and(|received| received.end.is_some());
        arrived || self.sent(message).aborted
    }

    /// The messages that have neither arrived nor been given up.
    pub fn undecided(&self) -> impl Iterator<Item = &Message> {
        let ids = (0..self.sent.len() as u32).map(MessageId);
        ids.filter(|&message| !self.is_decided(message)).map(|message| self.sent(message))
    }

    /// Retransmission timeouts and packets sent again, of all messages.
    pub fn repairs(&self) -> (u64, u64) {
        let add = |(timeouts, retransmits), message: &Message| {
            (timeouts + u64::from(message.timeouts), retransmits + u64::from(message.retransmits))
        };
        self.sent.iter().fold((0, 0), add)
    }

    /// Payload of a message was delivered in order.
    pub fn deliver(&mut self, message: MessageId, bytes: u64) {
        let class = self.sent(message).class as usize;
        self.delivered[class] += bytes;
    }

    /// Books what a sending end has done on a message.
    pub fn book_sent(&mut self, sent: Sent) {
        let message = &mut self.sent[sent.message.0 as usize];
        message.retransmits += sent.retransmits;
        message.timeouts += sent.timeouts;
    }

    /// Books what has arrived at a receiving end on a message and its flow.
    pub fn book_arrivals(&mut self, message: MessageId, arrivals: &mut Arrivals, dropped_bytes: u64) {
        let arrivals = std::mem::take(arrivals);
        self.received(message).marks += arrivals.marks;
        if arrivals.packets > 0 || dropped_bytes > 0 {
            let flow = self.flow(message);
            flow.packets += arrivals.packets;
            flow.bytes += arrivals.bytes + dropped_bytes;
            flow.wait += arrivals.wait;
        }
    }

    /// Books wire bytes that wait at the receiver's port when the run ends.
    pub fn book_waiting(&mut self, message: MessageId, bytes: u64) {
        self.flow(message).bytes += bytes;
    }

    fn flow(&mut self, message: MessageId) -> &mut Arrivals {
        let &Message { class, from, to, .. } = self.sent(message);
        self.flows.entry((class, from, to)).or_default()
    }

    fn received(&mut self, message: MessageId) -> &mut Received {
        let row = message.0 as usize;
        if self.received.len() <= row {
            self.received.resize(row + 1, Received::default());
        }
        &mut self.received[row]
    }

    /// The warm-up ends: what was delivered before does not count.
    pub fn warmed_up(&mut self) {
        self.delivered.fill(0);
        self.flows.clear();
    }

    /// The sums of one class.
    pub fn class(&self, number: u32, class: &Class, transport: &'static str, framing: Framing) -> ClassOutcome {
        let flows = || self.flows.range((number, 0, 0)..(number + 1, 0, 0)).map(|(_, arrivals)| arrivals);
        let means: Vec<f64> =
            flows().filter(|flow| flow.packets > 0).map(|flow| flow.wait as f64 / flow.packets as f64).collect();
        const MICROS: f64 = 1024.0 / 1e6;
        ClassOutcome {
            name: class.name.clone(),
            set: class.set.clone(),
            pattern: class.pattern,
            transport,
            delivered_bytes: self.delivered[number as usize],
            bottleneck_delay_us: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64 * MICROS),
            bottleneck_bytes: flows().map(|flow| flow.bytes).sum(),
            framing,
            too_late: 0,
        }
    }

    /// The messages, both halves joined, where the path of each begins, and the queries.
    pub fn join(self) -> (Vec<Message>, Vec<u32>, Vec<Query>) {
        let mut messages = self.sent;
        for (message, Received { end, marks }) in messages.iter_mut().zip(self.received) {
            // It may have arrived before its receiver learnt that it was given up.
            let aborted = message.aborted && end.is_none();
            *message = Message { end, marks, aborted, ..*message };
        }
        (messages, self.paths, self.queries)
    }
}
