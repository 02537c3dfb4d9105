//! What is written down of messages and classes while a run goes on.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use units::{Bytes, ClassId, HostId, Instant, MessageId, Table};

use crate::class::Class;
use crate::hosts::{Arrivals, Sent};
use crate::outcome::{Block, ClassOutcome, Framing, Message, Query};
use crate::pairs::Pairs;
use crate::rows::{BLOCK, Rows};

/// Rows of messages, and sums by class.
///
/// A message has two halves, each written by the host that knows it; they are joined when it leaves the ledger: with
/// its block when that is over, or when the run is.
pub struct Ledger {
    /// What sending hosts know: one row per message, in order of their starts, without end and marks.
    sent: Rows<Message>,
    /// What receiving hosts know, as far as they have been told of messages.
    received: Rows<Received>,
    /// For each message, where its path begins.
    paths: Rows<u32>,
    /// How many blocks had been full when it was last looked for those that are over.
    looked_at: usize,
    /// One row per query, in order of their starts.
    queries: Vec<Query>,
    /// By class, the queries that count.
    counted_queries: Table<ClassId, Option<RangeInclusive<u64>>>,
    /// Retransmission timeouts and packets sent again, of all messages.
    repairs: (u64, u64),
    /// Payload delivered in order after the warm-up, by class.
    delivered: Table<ClassId, Bytes>,
    /// What arrived, by class: of the receiving hosts.
    flows: Table<ClassId, Pairs>,
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
            sent: Rows::new(BLOCK),
            received: Rows::new(BLOCK),
            paths: Rows::new(BLOCK),
            looked_at: 0,
            queries: Vec::new(),
            counted_queries: vec![None; classes].into(),
            repairs: (0, 0),
            delivered: vec![Bytes::ZERO; classes].into(),
            flows: (0..classes).map(|_| Pairs::default()).collect(),
        }
    }

    /// From now on, before anything has started, a block has so many rows: a power of two.
    pub fn blocks_of(&mut self, rows: usize) {
        (self.sent, self.received, self.paths) = (Rows::new(rows), Rows::new(rows), Rows::new(rows));
    }

    /// A query is asked; it may count.
    pub fn ask(&mut self, query: Query, counts: bool) {
        if counts {
            let range = &mut self.counted_queries[query.class];
            let first = range.as_ref().map_or(query.number, |range| *range.start());
            *range = Some(first..=query.number);
        }
        self.queries.push(query);
    }

    /// By class, the queries that count of those that were asked until now.
    pub fn counted_queries(&self) -> &Table<ClassId, Option<RangeInclusive<u64>>> {
        &self.counted_queries
    }

    /// A message starts on a path.
    pub fn start(&mut self, path: u32, message: Message) -> MessageId {
        self.paths.push(path);
        self.sent.push(message)
    }

    /// What is known of a message where it is sent.
    pub fn sent(&self, message: MessageId) -> &Message {
        self.sent.find(message).expect("what is under way has its row here")
    }

    /// A message has arrived completely.
    pub fn complete(&mut self, message: MessageId, now: Instant) {
        self.received(message).end = Some(now);
    }

    /// A message was given up.
    pub fn give_up(&mut self, message: MessageId) {
        self.sent.at(message).aborted = true;
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
        for (own, theirs) in self.flows.iter_mut().zip(other.flows.iter_mut()) {
            own.append(theirs);
        }
    }

    /// Retransmission timeouts and packets sent again, of all messages.
    pub fn repairs(&self) -> (u64, u64) {
        self.repairs
    }

    /// Payload of a message was delivered in order.
    pub fn deliver(&mut self, message: MessageId, bytes: Bytes) {
        let class = self.sent(message).class;
        self.delivered[class] += bytes;
    }

    /// Books what a sending end has done on a message.
    pub fn book_sent(&mut self, sent: Sent) {
        if (sent.timeouts, sent.retransmits) == (0, 0) {
            return;
        }
        self.repairs.0 += u64::from(sent.timeouts);
        self.repairs.1 += u64::from(sent.retransmits);
        let message = self.sent.at(sent.message);
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

    /// Books wire bytes that wait at the receiver's port when the run ends, or that were dropped there.
    pub fn book_at_port(&mut self, message: MessageId, bytes: Bytes) {
        self.flow(message).bytes += bytes;
    }

    fn flow(&mut self, message: MessageId) -> &mut Arrivals {
        let &Message { class, from, to, .. } = self.sent(message);
        self.flows[class].of((from, to))
    }

    fn received(&mut self, message: MessageId) -> &mut Received {
        self.received.reach(message)
    }

    /// The warm-up ends: what was delivered before does not count.
    pub fn warmed_up(&mut self) {
        self.delivered.fill(Bytes::ZERO);
        self.flows.iter_mut().for_each(Pairs::clear);
    }

    /// The sums of one class.
    pub fn class(&self, number: ClassId, class: &Class, transport: &'static str, framing: Framing) -> ClassOutcome {
        let flows = self.flows[number].in_order();
        let with_packets = flows.iter().filter(|flow| flow.packets > 0);
        let means: Vec<f64> = with_packets.map(|flow| flow.wait as f64 / flow.packets as f64).collect();
        const MICROS: f64 = 1024.0 / 1e6;
        ClassOutcome {
            name: class.name.clone(),
            set: class.set.clone(),
            pattern: class.pattern,
            transport,
            delivered_bytes: self.delivered[number],
            bottleneck_delay_us: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64 * MICROS),
            bottleneck_bytes: flows.iter().map(|flow| flow.bytes).sum(),
            framing,
            too_late: 0,
        }
    }

    /// How many rows of messages are held here.
    pub fn rows_held(&self) -> usize {
        self.sent.held()
    }

    /// Whether another block has become full since [`take_over`](Ledger::take_over) was called.
    pub fn has_filled(&self) -> bool {
        self.sent.full() > self.looked_at
    }

    /// Takes the queries that were asked since this was last called.
    pub fn take_queries(&mut self) -> Vec<Query> {
        std::mem::take(&mut self.queries)
    }

    /// Takes the blocks in which every message is decided and none is `in_use`: nothing will change them any more.
    pub fn take_over(&mut self, in_use: impl Iterator<Item = MessageId>) -> Vec<Block> {
        self.looked_at = self.sent.full();
        let mut stay: BTreeSet<usize> = in_use.map(|message| self.sent.block_of(message)).collect();
        let undecided = self.sent.entries().filter(|&(message, _)| !self.is_decided(message));
        stay.extend(undecided.map(|(message, _)| self.sent.block_of(message)));
        let full = self.sent.blocks().map(|(block, _)| block).filter(|&block| block < self.looked_at);
        let over: Vec<usize> = full.filter(|block| !stay.contains(block)).collect();
        let own = std::slice::from_mut(self);
        over.into_iter().map(|block| Ledger::take(own, block, &|_| 0)).collect()
    }

    /// Takes all that is left of the messages. The first ledger has a row for each, and what is known of it stands in
    /// those of its hosts.
    pub fn take_all(ledgers: &mut [Ledger], of_host: impl Fn(HostId) -> usize) -> Vec<Block> {
        let all: Vec<usize> = ledgers[0].sent.blocks().map(|(block, _)| block).collect();
        all.into_iter().map(|block| Ledger::take(ledgers, block, &of_host)).collect()
    }

    /// Takes a block, both halves of each row joined.
    fn take(ledgers: &mut [Ledger], block: usize, of_host: &impl Fn(HostId) -> usize) -> Block {
        let sent = &mut ledgers[0].sent;
        let (first, mut messages) = (sent.first(block), sent.take(block));
        let mut paths = ledgers[0].paths.take(block);
        for ((row, path), number) in messages.iter_mut().zip(&mut paths).zip(first.0..) {
            let id = MessageId(number);
            let (sender, receiver) = (of_host(row.from), of_host(row.to));
            if sender != 0 {
                *row = *ledgers[sender].sent(id);
                *path = *ledgers[sender].paths.find(id).expect("a row has its path");
            }
            let Received { end, marks } = ledgers[receiver].received.find(id).copied().unwrap_or_default();
            // It may have arrived before its receiver learnt that it was given up.
            let aborted = row.aborted && end.is_none();
            *row = Message { end, marks, aborted, ..*row };
        }
        ledgers.iter_mut().for_each(|ledger| ledger.forget(block));
        Block { first, messages, paths }
    }

    /// Nothing of a block is asked for again.
    fn forget(&mut self, block: usize) {
        self.sent.take(block);
        self.received.take(block);
        self.paths.take(block);
    }
}
