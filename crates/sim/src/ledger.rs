//! What is written down of messages and classes while a run goes on.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use units::{Bytes, ClassId, Instant, MessageId, Table};

use crate::class::Class;
use crate::hosts::{Arrivals, Sent};
use crate::notice::Of;
use crate::outcome::{Block, ClassOutcome, Framing, Message, Query};
use crate::pairs::Pairs;
use crate::rows::{BLOCK, Rows};
use crate::topology::Partition;

/// Rows of messages, and sums by class.
///
/// A message has two halves, each written by the host that knows it; they are joined when it leaves the ledger: with
/// its block when that is over, or when the run is.
pub struct Ledger {
    /// What sending hosts know: one row per message, in order of their starts, without end and marks.
    sent: Rows<Message>,
    /// For each of them, where its path begins.
    paths: Rows<u32>,
    /// In one part of several, which has rows only of what its own hosts send: by message, which row is its own, or
    /// [`ELSEWHERE`].
    places: Option<Rows<u32>>,
    /// What receiving hosts know, as far as they have been told of messages.
    received: Rows<Received>,
    /// How many blocks had been full when it was last looked for those that are over.
    looked_at: usize,
    /// One row per query, in order of their starts.
    queries: Vec<Query>,
    /// By class, the queries that count.
    counted_queries: Table<ClassId, Option<RangeInclusive<u64>>>,
    /// Retransmission timeouts and packets sent again, of all messages.
    repairs: (u64, u64),
    /// Whether payload counts now: the warm-up is over, and the window has not closed.
    counts: bool,
    /// Payload that has arrived while it counted, by class.
    delivered: Table<ClassId, Bytes>,
    /// What arrived, by class: of the receiving hosts.
    flows: Table<ClassId, Pairs>,
}

/// What a receiving host knows of a message.
#[derive(Clone, Copy, Default)]
struct Received {
    /// When its last byte arrived, which is after the start of the run.
    end: Option<NonZeroU64>,
    /// Payload that arrived while it counted.
    delivered: Bytes,
    /// Data packets that arrived with a mark.
    marks: u32,
    of: Of,
}

/// No row: a host of another part sends the message.
const ELSEWHERE: u32 = u32::MAX;

impl Ledger {
    /// Empty, for so many classes. Payload `counts` from the start if there is no warm-up.
    pub fn new(classes: usize, counts: bool) -> Ledger {
        Ledger {
            counts,
            sent: Rows::new(BLOCK),
            paths: Rows::new(BLOCK),
            places: None,
            received: Rows::new(BLOCK),
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

    /// Before anything has started: this is that of one part of several.
    pub fn is_one_of_several(&mut self) {
        self.places = Some(Rows::new(BLOCK));
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
        let row = self.sent.push(message);
        match &mut self.places {
            None => row,
            Some(places) => places.push(row.0),
        }
    }

    /// A message starts in another part.
    pub fn starts_elsewhere(&mut self) {
        self.places.as_mut().expect("there are other parts").push(ELSEWHERE);
    }

    /// The row of a message, if it is sent here.
    #[inline]
    fn row(&self, message: MessageId) -> Option<MessageId> {
        match &self.places {
            None => Some(message),
            Some(places) => places.find(message).filter(|row| **row != ELSEWHERE).map(|row| MessageId(*row)),
        }
    }

    /// What is known of a message where it is sent, if that is here.
    #[inline]
    pub fn find(&self, message: MessageId) -> Option<&Message> {
        self.sent.find(self.row(message)?)
    }

    /// What is known of a message that is sent here.
    pub fn sent(&self, message: MessageId) -> &Message {
        self.find(message).expect(SENT)
    }

    fn sent_mut(&mut self, message: MessageId) -> &mut Message {
        let row = self.row(message).expect(SENT);
        self.sent.at(row)
    }

    /// A receiving host is told of a message.
    pub fn expect(&mut self, message: MessageId, of: Of) {
        self.received(message).of = of;
    }

    /// What a message is counted with, of which its receiving host has been told.
    pub fn of(&self, message: MessageId) -> Of {
        self.received.find(message).expect("its host has been told of what arrives").of
    }

    /// A message has arrived completely.
    pub fn complete(&mut self, message: MessageId, now: Instant) {
        self.received(message).end = NonZeroU64::new(now.0);
    }

    /// A message was given up.
    pub fn give_up(&mut self, message: MessageId) {
        self.sent_mut(message).aborted = true;
    }

    /// Whether a message has arrived or was given up, as far as that is known here.
    pub fn is_decided(&self, message: MessageId) -> bool {
        let arrived = self.received.find(message).is_some_and(|received| received.end.is_some());
        arrived || self.find(message).is_some_and(|sent| sent.aborted)
    }

    /// All messages that have started, here or elsewhere.
    pub fn started(&self) -> impl ExactSizeIterator<Item = MessageId> + use<> {
        let number = self.places.as_ref().map_or(self.sent.written(), Rows::written);
        (0..number).map(MessageId::from_index)
    }

    /// All messages that are sent here.
    pub fn messages(&self) -> impl Iterator<Item = (MessageId, &Message)> {
        self.started().filter_map(|message| Some((message, self.find(message)?)))
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

    /// Notes that payload of a message has arrived, in order or not.
    pub fn deliver(&mut self, message: MessageId, bytes: Bytes) {
        if self.counts {
            let class = self.of(message).class;
            self.delivered[class] += bytes;
            self.received(message).delivered += bytes;
        }
    }

    /// Books what a sending end has done on a message.
    pub fn book_sent(&mut self, sent: Sent) {
        if (sent.timeouts, sent.retransmits) == (0, 0) {
            return;
        }
        self.repairs.0 += u64::from(sent.timeouts);
        self.repairs.1 += u64::from(sent.retransmits);
        let message = self.sent_mut(sent.message);
        message.retransmits += sent.retransmits;
        message.timeouts += sent.timeouts;
    }

    /// Books what has arrived at a receiving end on a message and its flow.
    pub fn book_arrivals(&mut self, message: MessageId, arrivals: &mut Arrivals, dropped_bytes: Bytes) {
        let arrivals = std::mem::take(arrivals);
        let received = self.received(message);
        received.marks += arrivals.marks;
        if arrivals.packets > 0 || dropped_bytes > Bytes::ZERO {
            let of = received.of;
            let flow = self.flow(of);
            flow.packets += arrivals.packets;
            flow.bytes += arrivals.bytes + dropped_bytes;
            flow.wait += arrivals.wait;
        }
    }

    /// Books wire bytes that wait at the receiver's port when the run ends, or that were dropped there.
    pub fn book_at_port(&mut self, of: Of, bytes: Bytes) {
        self.flow(of).bytes += bytes;
    }

    fn flow(&mut self, Of { class, from, to }: Of) -> &mut Arrivals {
        self.flows[class].of((from, to))
    }

    fn received(&mut self, message: MessageId) -> &mut Received {
        self.received.reach(message)
    }

    /// Starts the window: from the end of the warm-up on, payload counts.
    pub fn warmed_up(&mut self) {
        self.counts = true;
        self.flows.iter_mut().for_each(Pairs::clear);
    }

    /// Closes the window: payload that arrives later does not count.
    pub fn close(&mut self) {
        self.counts = false;
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
        over.into_iter().map(|block| self.take(block)).collect()
    }

    /// Takes a block, both halves of each row joined.
    fn take(&mut self, block: usize) -> Block {
        let (first, mut messages) = (self.sent.first(block), self.sent.take(block));
        messages.iter_mut().zip(first.0..).for_each(|(row, number)| self.join(MessageId(number), row));
        self.received.take(block);
        Block { first, messages, paths: self.paths.take(block) }
    }

    /// Joins what its receiving host knows of a message with what the sending host does.
    fn join(&self, message: MessageId, row: &mut Message) {
        let Received { end, marks, delivered, .. } = self.received.find(message).copied().unwrap_or_default();
        row.end = end.map(|end| Instant(end.get()));
        row.marks = marks;
        row.delivered = delivered;
        // It may have arrived before its receiver learnt that it was given up.
        row.aborted &= end.is_none();
    }
}

/// What is left of the messages of a run that is over, block by block: so there is one of them at a time whose rows are here
/// and there.
pub struct Left {
    ledgers: Vec<Ledger>,
    /// Of which part each of them is, if there are several.
    partition: Option<Arc<Partition>>,
    blocks: Range<usize>,
}

impl Left {
    /// In the ledgers of all parts of a run, or in the only one.
    pub fn of(ledgers: Vec<Ledger>, partition: Option<Arc<Partition>>) -> Left {
        let blocks = match &partition {
            None => ledgers[0].sent.blocks().map(|(block, _)| block + 1).max().unwrap_or_default(),
            Some(_) => ledgers[0].started().len().div_ceil(ledgers[0].sent.each()),
        };
        Left { ledgers, partition, blocks: 0..blocks }
    }

    /// How many rows there are, before the first block is taken from here.
    pub fn rows(&self) -> usize {
        self.ledgers.iter().map(Ledger::rows_held).sum()
    }

    /// What is known of a message stands in the ledgers of its hosts.
    fn joined(&self, partition: &Partition, block: usize) -> Block {
        let (started, each) = (self.ledgers[0].started().len(), self.ledgers[0].sent.each());
        let numbers = block * each..started.min((block + 1) * each);
        let (mut messages, mut paths) = (Vec::with_capacity(numbers.len()), Vec::with_capacity(numbers.len()));
        for number in numbers.map(MessageId::from_index) {
            let here = |ledger: &Ledger| {
                let row = ledger.row(number)?;
                Some((*ledger.sent.find(row)?, *ledger.paths.find(row)?))
            };
            let (mut message, path) = self.ledgers.iter().find_map(here).expect("it is sent somewhere");
            self.ledgers[partition.of_host[message.to] as usize].join(number, &mut message);
            messages.push(message);
            paths.push(path);
        }
        Block { first: self.ledgers[0].sent.first(block), messages, paths }
    }
}

impl Iterator for Left {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            let number = self.blocks.next()?;
            let block = match &self.partition {
                Some(partition) => self.joined(partition, number),
                None => self.ledgers[0].take(number),
            };
            // Some were taken while the run went on.
            if !block.messages.is_empty() {
                return Some(block);
            }
        }
    }
}

const SENT: &str = "what is under way has its row where it is sent";
