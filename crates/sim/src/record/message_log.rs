//! The message log: records messages and classes during a run.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use units::{Bytes, ClassId, HostId, Instant, MessageId, Table};

use crate::class::Class;
use crate::record::arrivals::{Arrivals, Pairs};
use crate::record::outcome::{Block, ClassOutcome, Framing, Message, Query};
use crate::record::rows::{BLOCK, Rows};
use crate::topology::Partition;

/// Retransmission timeouts, and packets sent again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repairs {
    pub timeouts: u64,
    pub retransmits: u64,
}

/// The log of all messages, and sums by class.
///
/// A message has two halves, each recorded by the host that knows it. They are joined when the message is taken from
/// the log: with its block when that is complete, or at the end of the run.
pub(crate) struct MessageLog {
    /// The senders' halves: one row per message, in order of their starts, without end and marks.
    sent: Rows<Message>,
    /// The position of each message's route.
    paths: Rows<u32>,
    /// In one partition of several, which has rows only of messages of its own hosts: the row of each message, or
    /// [`ELSEWHERE`].
    places: Option<Rows<u32>>,
    /// The receivers' halves, as far as these hosts know of messages.
    received: Rows<Received>,
    /// Number of full blocks when complete blocks were last looked for.
    looked_at: usize,
    /// One row per query, in order of their starts.
    queries: Vec<Query>,
    /// The counted queries of each class.
    counted_queries: Table<ClassId, Option<RangeInclusive<u64>>>,
    /// The repairs of all messages.
    repairs: Repairs,
    /// Payload is counted now: the warm-up is over, and the measurement has not ended.
    counts: bool,
    /// Payload that has arrived while it was counted, by class.
    delivered: Table<ClassId, Bytes>,
    /// Arrivals at the receiving hosts, by class.
    flows: Table<ClassId, Pairs>,
}

/// The receiving host's half of a message.
#[derive(Clone, Copy, Default)]
struct Received {
    /// Arrival time of its last byte, which is after the start of the run.
    end: Option<NonZeroU64>,
    /// Payload that arrived while it was counted.
    delivered: Bytes,
    /// Data packets that arrived with a mark.
    marks: u32,
    of: Of,
}

/// The class and the hosts of a message, for its counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Of {
    /// Class of the message.
    pub class: ClassId,
    /// Sending host of the message.
    pub from: HostId,
    /// Receiving host of the message.
    pub to: HostId,
}

/// No row: a host of another partition sends the message.
const ELSEWHERE: u32 = u32::MAX;

impl MessageLog {
    /// Returns an empty log for the classes. Payload `counts` from the start if there is no warm-up.
    pub(crate) fn new(classes: usize, counts: bool) -> MessageLog {
        MessageLog {
            counts,
            sent: Rows::new(BLOCK),
            paths: Rows::new(BLOCK),
            places: None,
            received: Rows::new(BLOCK),
            looked_at: 0,
            queries: Vec::new(),
            counted_queries: vec![None; classes].into(),
            repairs: Repairs::default(),
            delivered: vec![Bytes::ZERO; classes].into(),
            flows: (0..classes).map(|_| Pairs::default()).collect(),
        }
    }

    /// Sets the number of rows of a block, a power of two, before any message has started.
    pub(crate) fn blocks_of(&mut self, rows: usize) {
        (self.sent, self.received, self.paths) = (Rows::new(rows), Rows::new(rows), Rows::new(rows));
    }

    /// Makes this the log of one partition of several, before any message has started.
    pub(crate) fn is_one_of_several(&mut self) {
        self.places = Some(Rows::new(BLOCK));
    }

    /// Records a query; it may count.
    pub(crate) fn ask(&mut self, query: Query, counts: bool) {
        if counts {
            let range = &mut self.counted_queries[query.class];
            let first = range.as_ref().map_or(query.number, |range| *range.start());
            *range = Some(first..=query.number);
        }
        self.queries.push(query);
    }

    /// Returns the counted queries until now, by class.
    pub(crate) fn counted_queries(&self) -> &Table<ClassId, Option<RangeInclusive<u64>>> {
        &self.counted_queries
    }

    /// Records a message that starts on a route.
    pub(crate) fn start(&mut self, path: u32, message: Message) -> MessageId {
        self.paths.push(path);
        let number = MessageId::from_index(self.places.as_ref().map_or(self.sent.written(), Rows::written));
        let row = self.sent.push(Message { number, ..message });
        match &mut self.places {
            None => row,
            Some(places) => places.push(row.0),
        }
    }

    /// Reserves the id and row of a message that may be sent later, by a host that is here or in another partition.
    pub(crate) fn reserve(&mut self, is_here: bool) -> MessageId {
        match is_here {
            true => self.start(0, Message::UNSENT),
            false => self.places.as_mut().expect(OTHERS).push(ELSEWHERE),
        }
    }

    /// Records that a message starts on a route, whose row was reserved.
    pub(crate) fn send_reserved(&mut self, id: MessageId, path: u32, message: Message) {
        let row = self.row(id).expect(SENT);
        *self.paths.at(row) = path;
        *self.sent.at(row) = Message { number: id, ..message };
    }

    /// Records that a message will not be sent, whose row was reserved.
    pub(crate) fn drop_unsent(&mut self, id: MessageId) {
        self.sent_mut(id).aborted = true;
    }

    /// Records a message that starts in another partition.
    pub(crate) fn starts_elsewhere(&mut self) {
        self.places.as_mut().expect(OTHERS).push(ELSEWHERE);
    }

    /// Returns the row of a message, if it is sent here.
    #[inline]
    fn row(&self, message: MessageId) -> Option<MessageId> {
        match &self.places {
            None => Some(message),
            Some(places) => places.find(message).filter(|row| **row != ELSEWHERE).map(|row| MessageId(*row)),
        }
    }

    /// Returns the sender's half of a message, if that is here.
    #[inline]
    pub(crate) fn find(&self, message: MessageId) -> Option<&Message> {
        self.sent.find(self.row(message)?)
    }

    /// Returns the sender's half of a message that is sent here.
    pub(crate) fn sent(&self, message: MessageId) -> &Message {
        self.find(message).expect(SENT)
    }

    fn sent_mut(&mut self, message: MessageId) -> &mut Message {
        let row = self.row(message).expect(SENT);
        self.sent.at(row)
    }

    /// Records that a receiving host knows of a message.
    pub(crate) fn expect(&mut self, message: MessageId, of: Of) {
        self.received(message).of = of;
    }

    /// Returns the class and hosts of a message that its receiving host knows of.
    pub(crate) fn of(&self, message: MessageId) -> Of {
        self.received.find(message).expect("`expect` is called before packets of a message arrive").of
    }

    /// Records that a message has arrived completely.
    pub(crate) fn complete(&mut self, message: MessageId, now: Instant) {
        self.received(message).end = NonZeroU64::new(now.0);
    }

    /// Records that a message was aborted.
    pub(crate) fn give_up(&mut self, message: MessageId) {
        self.sent_mut(message).aborted = true;
    }

    /// Returns whether a message has arrived or was aborted, as far as this partition knows.
    pub(crate) fn is_decided(&self, message: MessageId) -> bool {
        let arrived = self.received.find(message).is_some_and(|received| received.end.is_some());
        arrived || self.find(message).is_some_and(|sent| sent.aborted)
    }

    /// Returns all messages that have started, here or in other partitions.
    pub(crate) fn started(&self) -> impl ExactSizeIterator<Item = MessageId> + use<> {
        let number = self.places.as_ref().map_or(self.sent.written(), Rows::written);
        (0..number).map(MessageId::from_index)
    }

    /// Returns all messages that are sent here.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (MessageId, &Message)> {
        self.started().filter_map(|message| Some((message, self.find(message)?)))
    }

    /// Adds the sums of classes and flows of another partition of the run.
    pub(crate) fn take_sums(&mut self, other: &mut MessageLog) {
        for (own, theirs) in self.delivered.iter_mut().zip(other.delivered.iter_mut()) {
            *own += std::mem::take(theirs);
        }
        for (own, theirs) in self.flows.iter_mut().zip(other.flows.iter_mut()) {
            own.append(theirs);
        }
    }

    /// Returns the repairs of all messages.
    pub(crate) fn repairs(&self) -> Repairs {
        self.repairs
    }

    /// Counts payload of a message that has arrived, in order or not.
    pub(crate) fn deliver(&mut self, message: MessageId, bytes: Bytes) {
        if self.counts {
            let received = self.received.at(message);
            received.delivered += bytes;
            self.delivered[received.of.class] += bytes;
        }
    }

    /// Records the counts of a sending end for a message.
    pub(crate) fn record_sent(&mut self, message: MessageId, timeouts: u32, retransmits: u32) {
        if (timeouts, retransmits) == (0, 0) {
            return;
        }
        self.repairs.timeouts += u64::from(timeouts);
        self.repairs.retransmits += u64::from(retransmits);
        let message = self.sent_mut(message);
        message.retransmits += retransmits;
        message.timeouts += timeouts;
    }

    /// Records the arrivals at a receiving end for a message and its flow.
    pub(crate) fn record_arrivals(&mut self, message: MessageId, arrivals: &mut Arrivals, dropped_bytes: Bytes) {
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

    /// Records wire bytes that are queued at the receiver's port at the end of the run, or that were dropped there.
    pub(crate) fn record_at_port(&mut self, of: Of, bytes: Bytes) {
        self.flow(of).bytes += bytes;
    }

    fn flow(&mut self, Of { class, from, to }: Of) -> &mut Arrivals {
        self.flows[class].of((from, to))
    }

    fn received(&mut self, message: MessageId) -> &mut Received {
        self.received.reach(message)
    }

    /// Starts the measurement: payload counts from the end of the warm-up on.
    pub(crate) fn warmed_up(&mut self) {
        self.counts = true;
        self.flows.iter_mut().for_each(Pairs::clear);
    }

    /// Ends the measurement: payload that arrives later does not count.
    pub(crate) fn close(&mut self) {
        self.counts = false;
    }

    /// Returns the sums of one class.
    pub(crate) fn class(
        &self,
        number: ClassId,
        class: &Class,
        transport: &'static str,
        framing: Framing,
    ) -> ClassOutcome {
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

    /// Returns the number of rows of messages in memory.
    pub(crate) fn rows_held(&self) -> usize {
        self.sent.held()
    }

    /// Returns whether another block has become full since the last call of [`take_over`](MessageLog::take_over).
    pub(crate) fn has_filled(&self) -> bool {
        self.sent.full() > self.looked_at
    }

    /// Takes the queries recorded since the last call.
    pub(crate) fn take_queries(&mut self) -> Vec<Query> {
        std::mem::take(&mut self.queries)
    }

    /// Takes the blocks in which every message is decided and none is `in_use`: they are final.
    pub(crate) fn take_over(&mut self, in_use: impl Iterator<Item = MessageId>) -> Vec<Block> {
        self.looked_at = self.sent.full();
        let mut stay: BTreeSet<usize> = in_use.map(|message| self.sent.block_of(message)).collect();
        let undecided = self.sent.entries().filter(|&(message, _)| !self.is_decided(message));
        stay.extend(undecided.map(|(message, _)| self.sent.block_of(message)));
        let full = self.sent.blocks().map(|(block, _)| block).filter(|&block| block < self.looked_at);
        let over: Vec<usize> = full.filter(|block| !stay.contains(block)).collect();
        over.into_iter().map(|block| self.take(block)).collect()
    }

    /// Takes a block, with both halves of each row joined.
    fn take(&mut self, block: usize) -> Block {
        let (first, mut messages) = (self.sent.first(block), self.sent.take(block));
        messages.iter_mut().zip(first.0..).for_each(|(row, number)| self.join(MessageId(number), row));
        self.received.take(block);
        Block::new(first, messages, self.paths.take(block))
    }

    /// Adds the receiver's half of a message to the sender's.
    fn join(&self, message: MessageId, row: &mut Message) {
        let Received { end, marks, delivered, .. } = self.received.find(message).copied().unwrap_or_default();
        row.end = end.map(|end| Instant(end.get()));
        row.marks = marks;
        row.delivered = delivered;
        // It may have arrived before its receiver learnt of the abort.
        row.aborted &= end.is_none();
    }
}

/// The remaining messages of a finished run, block by block: so the rows of only one block are in memory twice.
pub(crate) struct Left {
    message_logs: Vec<MessageLog>,
    /// The assignment of hosts to the logs, if there are several.
    partition: Option<Arc<Partition>>,
    blocks: Range<usize>,
}

impl Left {
    /// Returns the messages in the logs of all partitions of a run, or in the only one.
    pub(crate) fn of(message_logs: Vec<MessageLog>, partition: Option<Arc<Partition>>) -> Left {
        let blocks = match &partition {
            None => message_logs[0].sent.blocks().map(|(block, _)| block + 1).max().unwrap_or_default(),
            Some(_) => message_logs[0].started().len().div_ceil(message_logs[0].sent.each()),
        };
        Left { message_logs, partition, blocks: 0..blocks }
    }

    /// Returns the number of rows, before the first block is taken.
    pub(crate) fn rows(&self) -> usize {
        self.message_logs.iter().map(MessageLog::rows_held).sum()
    }

    /// Joins the halves of each message from the logs of its hosts.
    fn joined(&self, partition: &Partition, block: usize) -> Block {
        let (started, each) = (self.message_logs[0].started().len(), self.message_logs[0].sent.each());
        let numbers = block * each..started.min((block + 1) * each);
        let (mut messages, mut paths) = (Vec::with_capacity(numbers.len()), Vec::with_capacity(numbers.len()));
        for number in numbers.map(MessageId::from_index) {
            let here = |message_log: &MessageLog| {
                let row = message_log.row(number)?;
                Some((*message_log.sent.find(row)?, *message_log.paths.find(row)?))
            };
            let (mut message, path) =
                self.message_logs.iter().find_map(here).expect("a message has a row in the partition of its sender");
            self.message_logs[partition.of_host[message.to] as usize].join(number, &mut message);
            messages.push(message);
            paths.push(path);
        }
        Block::new(self.message_logs[0].sent.first(block), messages, paths)
    }
}

impl Iterator for Left {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            let number = self.blocks.next()?;
            let block = match &self.partition {
                Some(partition) => self.joined(partition, number),
                None => self.message_logs[0].take(number),
            };
            // Some were taken during the run, or none of their messages was sent.
            if !block.messages.is_empty() {
                return Some(block);
            }
        }
    }
}

const OTHERS: &str = "messages are elsewhere only in one partition of several";
const SENT: &str = "a message in progress has a row in the partition of its sender";
