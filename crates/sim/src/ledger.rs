//! What is written down of messages and classes while a run goes on.

use std::collections::BTreeMap;

use units::{Bytes, ClassId, HostId, Instant, MessageId, Table};

use crate::hosts::{Arrivals, Sent};
use crate::outcome::{ClassOutcome, Framing, Message, Query};
use crate::scenario::Class;

/// Rows of messages, and sums by class.
///
/// A message has two halves, each written by the host that knows it; they are joined when the run is over.
pub struct Ledger {
    /// What sending hosts know: one row per message, in order of their starts, without end and marks.
    sent: Table<MessageId, Message>,
    /// What receiving hosts know, as far as they have been told of messages.
    received: Table<MessageId, Received>,
    /// For each message, where its path begins.
    paths: Vec<u32>,
    /// One row per query, in order of their starts.
    pub queries: Vec<Query>,
    /// Payload delivered in order after the warm-up, by class.
    delivered: Table<ClassId, Bytes>,
    /// What arrived, by class and pair of hosts: of the receiving hosts.
    flows: BTreeMap<(ClassId, HostId, HostId), Arrivals>,
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
            sent: Table::default(),
            received: Table::default(),
            paths: Vec::new(),
            queries: Vec::new(),
            delivered: vec![Bytes::ZERO; classes].into(),
            flows: BTreeMap::new(),
        }
    }

    /// A message starts on a path.
    pub fn start(&mut self, path: u32, message: Message) -> MessageId {
        self.paths.push(path);
        self.sent.push(message)
    }

    /// What is known of a message where it is sent.
    pub fn sent(&self, message: MessageId) -> &Message {
        &self.sent[message]
    }

    /// A message has arrived completely.
    pub fn complete(&mut self, message: MessageId, now: Instant) {
        self.received(message).end = Some(now);
    }

    /// A message was given up.
    pub fn give_up(&mut self, message: MessageId) {
        self.sent[message].aborted = true;
    }

    /// Whether a message has arrived or was given up.
    pub fn is_decided(&self, message: MessageId) -> bool {
        let arrived = self.received.find(message).is_some_and(|received| received.end.is_some());
        arrived || self.sent(message).aborted
    }

    /// All messages, as far as they are known where they are sent.
    pub fn messages(&self) -> impl Iterator<Item = (MessageId, &Message)> {
        self.sent.entries()
    }

    /// Takes over the sums of classes and flows of another part of the run.
    pub fn take_sums(&mut self, other: &mut Ledger) {
        for (own, theirs) in self.delivered.iter_mut().zip(other.delivered.iter_mut()) {
            *own += std::mem::take(theirs);
        }
        self.flows.append(&mut other.flows);
    }

    /// Retransmission timeouts and packets sent again, of all messages.
    pub fn repairs(&self) -> (u64, u64) {
        let add = |(timeouts, retransmits), message: &Message| {
            (timeouts + u64::from(message.timeouts), retransmits + u64::from(message.retransmits))
        };
        self.sent.iter().fold((0, 0), add)
    }

    /// Payload of a message was delivered in order.
    pub fn deliver(&mut self, message: MessageId, bytes: Bytes) {
        let class = self.sent(message).class;
        self.delivered[class] += bytes;
    }

    /// Books what a sending end has done on a message.
    pub fn book_sent(&mut self, sent: Sent) {
        let message = &mut self.sent[sent.message];
        message.retransmits += sent.retransmits;
        message.timeouts += sent.timeouts;
    }

    /// Books what has arrived at a receiving end on a message and its flow.
    pub fn book_arrivals(&mut self, message: MessageId, arrivals: &mut Arrivals, dropped_bytes: Bytes) {
        let arrivals = std::mem::take(arrivals);
        self.received(message).marks += arrivals.marks;
        if arrivals.packets > 0 || dropped_bytes > Bytes::ZERO {
            let flow = self.flow(message);
            flow.packets += arrivals.packets;
            flow.bytes += arrivals.bytes + dropped_bytes;
            flow.wait += arrivals.wait;
        }
    }

    /// Books wire bytes that wait at the receiver's port when the run ends.
    pub fn book_waiting(&mut self, message: MessageId, bytes: Bytes) {
        self.flow(message).bytes += bytes;
    }

    fn flow(&mut self, message: MessageId) -> &mut Arrivals {
        let &Message { class, from, to, .. } = self.sent(message);
        self.flows.entry((class, from, to)).or_default()
    }

    fn received(&mut self, message: MessageId) -> &mut Received {
        self.received.reach(message)
    }

    /// The warm-up ends: what was delivered before does not count.
    pub fn warmed_up(&mut self) {
        self.delivered.fill(Bytes::ZERO);
        self.flows.clear();
    }

    /// The sums of one class.
    pub fn class(&self, number: ClassId, class: &Class, transport: &'static str, framing: Framing) -> ClassOutcome {
        let first_of = |class: u32| (ClassId(class), HostId(0), HostId(0));
        let flows = || self.flows.range(first_of(number.0)..first_of(number.0 + 1)).map(|(_, arrivals)| arrivals);
        let means: Vec<f64> =
            flows().filter(|flow| flow.packets > 0).map(|flow| flow.wait as f64 / flow.packets as f64).collect();
        const MICROS: f64 = 1024.0 / 1e6;
        ClassOutcome {
            name: class.name.clone(),
            set: class.set.clone(),
            pattern: class.pattern,
            transport,
            delivered_bytes: self.delivered[number],
            bottleneck_delay_us: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64 * MICROS),
            bottleneck_bytes: flows().map(|flow| flow.bytes).sum(),
            framing,
            too_late: 0,
        }
    }

    /// The messages, both halves joined, where the path of each begins, and the queries. The first ledger has a row for
    /// each message, and what is known of it stands in those of its hosts.
    pub fn join(mut ledgers: Vec<Ledger>, of_host: impl Fn(HostId) -> usize) -> (Vec<Message>, Vec<u32>, Vec<Query>) {
        let Ledger { sent, paths, queries, .. } = &mut ledgers[0];
        let (mut messages, mut paths, queries) = (std::mem::take(sent), std::mem::take(paths), std::mem::take(queries));
        for number in 0..messages.len() {
            let id = MessageId::from_index(number);
            let row = &mut messages[id];
            let (sender, receiver) = (of_host(row.from), of_host(row.to));
            if sender != 0 {
                *row = ledgers[sender].sent[id];
                paths[number] = ledgers[sender].paths[number];
            }
            let Received { end, marks } = ledgers[receiver].received.find(id).copied().unwrap_or_default();
            // It may have arrived before its receiver learnt that it was given up.
            let aborted = row.aborted && end.is_none();
            *row = Message { end, marks, aborted, ..*row };
        }
        (messages.into_vec(), paths, queries)
    }
}
