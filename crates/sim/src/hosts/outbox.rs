//! Executes the output of an end of a connection.

use std::collections::VecDeque;

use transport::host::{AtHost, End, HostOutput};
use transport::{Expired, Extension, Flags, Output, Packet, Shared, Site};
use units::{Bytes, ConnectionId, HostId, Instant, MessageId, Rate, Table};

use super::round::{Turn, Waiter};
use super::state::{self, HostState};
use super::timer::Timer;
use crate::fabric::Net;
use crate::flow::Incarnation;

/// Sends an end's packets and schedules its timer.
pub(super) struct Outbox<'a> {
    /// The network of the run.
    pub net: &'a mut Net,
    /// The address of the end.
    pub address: &'a mut Address,
    /// The states of all hosts.
    pub hosts: &'a mut Table<HostId, HostState>,
    /// The record of sent messages, at a sending end.
    pub journal: Option<&'a mut Journal>,
}

/// The address of an end: the fields of its packets, its host, and its timer.
pub(super) struct Address {
    /// Id of the connection.
    pub id: ConnectionId,
    /// Generation of the connection among those with its id.
    pub generation: u16,
    /// The route of its packets.
    pub path: u32,
    /// The host of the end.
    pub host: HostId,
    /// The timer of the end.
    pub timer: Timer,
    /// Its state in the queue of its host's port.
    pub turn: Turn,
}

/// The record of messages sent by a sending end. The fields that each acknowledgement reads are last, next to others of
/// the sending end that it reads.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Journal {
    /// Messages not fully acknowledged at the last examination, and the last message.
    sent: VecDeque<Sent>,
    /// The stream was acknowledged up to this position when the retransmission timer was last examined.
    acknowledged: u64,
    /// An aborted message: its end in the stream, and the number of its bytes that will never be sent.
    pub given_up: Option<(u64, Bytes)>,
}

/// A message at its sending end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Id of the message.
    pub message: MessageId,
    /// The position of its end in the stream.
    end: u64,
    given_up: bool,
    /// Number of data packets sent again.
    pub retransmits: u32,
    /// Number of retransmission timeouts.
    pub timeouts: u32,
}

impl Journal {
    /// Appends a message; returns the position of its end.
    pub(crate) fn starts(&mut self, message: MessageId, bytes: Option<Bytes>) -> u64 {
        let end = self.end().saturating_add(bytes.map_or(u64::MAX, |bytes| bytes.0));
        self.sent.push_back(Sent { message, end, given_up: false, retransmits: 0, timeouts: 0 });
        end
    }

    /// Returns the end of the stream.
    fn end(&self) -> u64 {
        self.sent.back().map_or(0, |last| last.end)
    }

    /// Records the position up to which the stream is acknowledged.
    pub(crate) fn acknowledged(&mut self, position: u64) {
        self.acknowledged = position;
    }

    /// Takes the aborted message, if there is one, and the number of its bytes that will never be sent. The messages
    /// after it end that much earlier.
    pub(crate) fn take_given_up(&mut self) -> Option<(MessageId, Bytes)> {
        let (end, unsent) = self.given_up.take()?;
        let index = self.sent.iter().position(|sent| sent.end == end && !sent.given_up)?;
        self.sent[index].given_up = true;
        self.sent.iter_mut().skip(index).for_each(|sent| sent.end -= unsent.0);
        Some((self.sent[index].message, unsent))
    }

    /// Passes the counts since the last call to `book`, and removes acknowledged messages except the last.
    pub(crate) fn book(&mut self, mut book: impl FnMut(Sent)) {
        for sent in &mut self.sent {
            book(*sent);
            (sent.retransmits, sent.timeouts) = (0, 0);
        }
        while self.sent.len() > 1 && self.sent[0].end <= self.acknowledged {
            self.sent.pop_front();
        }
    }

    /// Returns the messages that are still recorded.
    pub(crate) fn messages(&self) -> impl Iterator<Item = MessageId> {
        self.sent.iter().map(|sent| sent.message)
    }

    /// Returns the message at a position of the stream.
    pub(crate) fn message_at(&self, position: u64) -> Option<MessageId> {
        self.sent.get(self.index(position)).map(|sent| sent.message)
    }

    fn index(&self, position: u64) -> usize {
        self.sent.partition_point(|sent| sent.end <= position).min(self.sent.len().saturating_sub(1))
    }

    #[cold]
    fn sent_again(&mut self, position: u64) {
        let index = self.index(position);
        self.sent[index].retransmits += 1;
    }
}

impl Outbox<'_> {
    #[inline(always)]
    fn address(&mut self, mut packet: Packet) -> Packet {
        packet.connection = self.address.id;
        packet.generation = self.address.generation;
        packet.route = self.address.path;
        if packet.flags.has(Flags::AGAIN)
            && let Some(journal) = &mut self.journal
        {
            journal.sent_again(packet.seq);
        }
        packet
    }
}

impl Outbox<'_> {
    /// Returns whether it is this end's turn and the port has room; else the end waits for its turn.
    #[cold]
    #[inline(never)]
    fn takes_turn(&mut self) -> bool {
        let &mut Address { id, generation, path, host, turn, .. } = self.address;
        let mut path = path;
        // Where the next packet may leave by another port than the last, it needs room there.
        let asks = self.net.senders_ask();
        if asks && self.net.leaves_by_several() {
            path = self.net.next_route(Incarnation { id, generation }, path);
        }
        let round = self.hosts[host].round(self.net.queue_of(host, path));
        if (turn == Turn::Now || asks && turn == Turn::None && round.is_empty()) && self.net.has_room_in_turn(path) {
            if asks || !self.net.fills_in_a_turn() {
                self.address.turn = Turn::None;
            }
            return true;
        }
        if turn != Turn::Waits {
            self.address.turn = Turn::Waits;
            round.join(self.net, Waiter::End(id), path);
        }
        false
    }
}

impl Output for Outbox<'_> {
    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        let packet = self.address(packet);
        self.net.send(packet);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        let packet = self.address(packet);
        self.net.send_extended(packet, extension);
    }
    fn arm(&mut self, at: Instant) {
        self.address.timer.arm(self.net, at);
    }
    fn leaves(&self) -> Instant {
        if self.net.leaves_by_several() {
            return self.net.all_idle_at(self.address.host);
        }
        self.net.nic_idle_at(self.address.path)
    }
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        self.net.has_room(self.address.path) || self.takes_turn()
    }
    fn sends_again(&mut self, start: u64) {
        if let Some(journal) = &mut self.journal {
            journal.sent_again(start);
        }
    }
    fn timed_out(&mut self, timer: Expired) {
        self.net.counters.timers.count(timer);
        if let Some(journal) = &mut self.journal {
            let index = journal.index(journal.acknowledged);
            journal.sent[index].timeouts += 1;
        }
    }
    fn probed(&mut self) {
        self.net.counters.timers.probes += 1;
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        if let Some(journal) = &mut self.journal {
            journal.given_up = Some((end, unsent));
        }
    }
    fn site(&self) -> Site {
        let Address { path, host, timer, .. } = &*self.address;
        let (rate, frame_overhead) = (self.net.first_rate(*path), self.net.frame_overhead());
        Site { rate, frame_overhead, hops: self.net.hops(*path), host: *host, own: timer.order }
    }
}

impl HostOutput for Outbox<'_> {
    fn send_from(&mut self, end: End, packet: Packet, extension: Option<Extension>) {
        state::send_from(self.net, self.address.host, end, packet, extension);
    }
    fn leaves_from(&self, end: End) -> Instant {
        self.net.nic_idle_at(end.route)
    }
    fn link_is_free(&mut self, _: Instant, end: End) -> bool {
        let host = self.address.host;
        self.hosts[host].link_is_free(self.net, host, end)
    }
    fn arm_host(&mut self, at: Instant) {
        self.hosts[self.address.host].arm(self.net, at);
    }
}

impl AtHost for Outbox<'_> {
    fn end(&self) -> End {
        let &Address { id, generation, path, ref timer, .. } = &*self.address;
        End { connection: id, generation, route: path, own: timer.order }
    }
    fn port(&self) -> u32 {
        self.net.port_number(self.address.path)
    }
    fn incoming_rate(&self) -> Rate {
        self.net.incoming_rate(self.address.host, self.address.path)
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.hosts[self.address.host].shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_again_counts_for_the_message_whose_bytes_it_carries() {
        let mut journal = Journal::default();
        let ends: Vec<u64> = (0..3).map(|number| journal.starts(MessageId(number), Some(Bytes(1000)))).collect();
        assert_eq!(ends, [1000, 2000, 3000]);
        [0, 999, 1000, 2999, 3000].into_iter().for_each(|position| journal.sent_again(position));
        let mut booked = Vec::new();
        journal.acknowledged(2000);
        journal.book(|sent| booked.push((sent.message.0, sent.retransmits)));
        assert_eq!(booked, [(0, 2), (1, 1), (2, 2)]);
        booked.clear();
        journal.book(|sent| booked.push((sent.message.0, sent.retransmits)));
        assert_eq!(booked, [(2, 0)], "acknowledged ones are forgotten, and nothing counts twice");
    }

    #[test]
    fn what_follows_a_message_that_was_given_up_ends_earlier() {
        let mut journal = Journal::default();
        (0..4).for_each(|number| _ = journal.starts(MessageId(number), Some(Bytes(1000))));
        journal.given_up = Some((2000, Bytes(1000)));
        assert_eq!(journal.take_given_up(), Some((MessageId(1), Bytes(1000))));
        assert_eq!(journal.take_given_up(), None);
        assert_eq!(journal.message_at(1000), Some(MessageId(2)));
        // Message 1 is empty now and ends where message 0 does: message 2 is meant.
        journal.given_up = Some((2000, Bytes(400)));
        assert_eq!(journal.take_given_up(), Some((MessageId(2), Bytes(400))));
        assert_eq!(journal.starts(MessageId(4), None), u64::MAX);
        assert_eq!((journal.message_at(1600), journal.message_at(2600)), (Some(MessageId(3)), Some(MessageId(4))));
    }
}
