//! The operations of a world that is one partition of several.

use std::sync::Arc;

use transport::Flags;
use units::{ClassId, Instant, MessageId};

use super::{TrafficSource, World};
use crate::fabric::channel::{Item, Mailbox, Opened, Outgoing};
use crate::record::outcome::Message;
use crate::schedule::events::Event;
use crate::schedule::ring::Words;
use crate::topology::Partition;
use crate::traffic::Request;

impl World {
    /// Returns the variant of a partition that this network supports: with all clocks at the hosts' time, unless ports
    /// to hosts [defer enqueueing](crate::fabric::Net::defers_enqueues).
    pub fn suitable_partition(&self, partition: Partition) -> Partition {
        if self.net.defers_at_hosts() { partition } else { partition.level(&self.net.graph) }
    }

    /// Sets up this world as one partition of several, before any event. All of them draw the same messages and give
    /// them the same ids; each starts the messages of its own hosts. The end of the warm-up is set from outside by
    /// [`warms_up`](World::warms_up).
    pub fn set_up_partition(&mut self, partition: &Arc<Partition>, number: u32) {
        self.net.events.cancel(Event::WarmedUp);
        self.net.set_up_partition(partition.clone(), number);
        self.message_log.is_one_of_several();
        self.hosts.senders.keep_to(number, partition.parts);
        for requests in self.sources.iter_mut().filter_map(|source| source.requests.as_mut()) {
            requests.set_up_partition(partition.clone(), number);
        }
    }

    /// Advances the partition to `until`.
    pub fn goes_to(&mut self, until: Instant) {
        self.goes_to_within(until, Instant::MAX);
    }

    /// Advances until its clocks show `until`, without events after `at`.
    pub fn goes_to_within(&mut self, until: Instant, at: Instant) {
        self.net.downlink_pass(until, at);
        self.until = until.min(at);
        self.advance(u64::MAX);
        self.net.uplink_pass(until, at);
    }

    /// Sets the present, after all events up to it and no later ones.
    pub fn is_at(&mut self, now: Instant) {
        self.net.now = now;
    }

    /// Sets the time from which it resumes by its clocks.
    pub fn goes_on_from(&mut self, from: Instant) {
        self.net.now = from;
    }

    /// Returns the time that it has reached.
    pub fn reached(&self) -> Instant {
        self.net.now
    }

    /// Returns the end of the warm-up, if there is one.
    pub fn warm_up(&self) -> Option<Instant> {
        Some(self.run.warm_up.after_start()).filter(|end| *end > Instant::ZERO)
    }

    /// Ends the warm-up at the present time.
    pub fn warms_up(&mut self) {
        self.net.counters.events += 1;
        self.warmed_up();
    }

    /// Returns the time of the next event here, of the next packet at a switch, or of the first outgoing item.
    pub fn next_at(&self) -> Instant {
        let outgoing = self.net.part.as_ref().map_or(Instant::MAX, |part| part.earliest());
        self.net.events.next_at().unwrap_or(Instant::MAX).min(outgoing).min(self.net.comes_at())
    }

    /// Returns the channels to all partitions, whose items are to be taken.
    pub fn outgoing(&mut self) -> &mut [Outgoing] {
        self.net.part.as_mut().map_or(&mut [], |part| part.take_outgoing())
    }

    /// Records decided messages from now on.
    pub fn report_decided(&mut self) {
        if let Some(part) = &mut self.net.part {
            part.decided = Some(Vec::new());
        }
        self.sources
            .iter_mut()
            .filter_map(|source| source.requests.as_mut())
            .for_each(|requests| requests.report_changes());
    }

    /// Takes by how much the pieces under way here have changed since the last call, of each request.
    pub fn take_request_changes(&mut self) -> Vec<((ClassId, u64), i64)> {
        let of_class = |(class, source): (ClassId, &mut TrafficSource)| {
            let changes = source.requests.as_mut()?.take_changes();
            Some(changes.into_iter().map(move |(number, change)| ((class, number), change)))
        };
        (0..).map(ClassId).zip(self.sources.iter_mut()).filter_map(of_class).flatten().collect()
    }

    /// Takes the messages that were decided here since the last call.
    pub fn take_decided(&mut self) -> Vec<MessageId> {
        let part = self.net.part.as_mut();
        part.and_then(|part| part.decided.as_mut()).map(std::mem::take).unwrap_or_default()
    }

    /// Returns whether a message is decided, as far as this partition knows.
    pub fn has_decided(&self, message: MessageId) -> bool {
        self.message_log.is_decided(message)
    }

    /// Returns all messages that have started in any partition.
    pub fn messages(&self) -> impl Iterator<Item = MessageId> + use<> {
        self.message_log.started()
    }

    /// Returns the request of a message, if it is sent here.
    pub fn message(&self, message: MessageId) -> Option<&Message> {
        self.message_log.find(message)
    }

    /// Returns the number of events processed here.
    pub fn events(&self) -> u64 {
        self.net.counted().events
    }

    /// Receives an item from another partition by a ring.
    pub fn receive_words(&mut self, words: Words) {
        self.comes(Item::from_words(words));
    }

    #[inline(always)]
    fn comes(&mut self, what: Item) {
        match what {
            Item::Packet(coming) => self.net.receive(coming),
            Item::ControlMessage(at, id, notice) => {
                self.hosts.control_messages.send(&mut self.net.events, at, id, notice)
            }
        }
    }

    /// Receives the mail of another partition.
    pub fn receive(&mut self, mail: &mut Mailbox) {
        let Opened { paths, words, mut extensions } = mail.open();
        self.net.learn(paths);
        for words in words {
            match Item::from_words(words) {
                Item::Packet(coming) if coming.packet.flags.has(Flags::EXTENDED) => {
                    let extension = extensions.next().expect("each extended packet comes with its extension");
                    self.net.receive_extended(coming, extension);
                }
                plain => self.comes(plain),
            }
        }
    }

    /// Counts an event that every partition has.
    pub(super) fn happens_everywhere(&mut self) {
        if let Some(part) = &mut self.net.part {
            part.everywhere += 1;
        }
    }

    /// Returns whether the sending host of a message is here. If not, it is counted without being sent: all partitions
    /// have the same ids of messages.
    #[cold]
    pub(super) fn starts_here(&mut self, request: &Request) -> bool {
        self.happens_everywhere();
        let here = self.net.part.as_ref().is_none_or(|part| part.has(request.from));
        if !here {
            self.message_log.starts_elsewhere();
        }
        here
    }
}
