//! What a world does that is one part of several.

use std::sync::Arc;

use transport::Flags;
use units::{Instant, MessageId};

use super::World;
use crate::event::Event;
use crate::net::part::{Comes, Mail, Opened, Outgoing};
use crate::net::ring::Words;
use crate::outcome::Message;
use crate::topology::Partition;
use crate::traffic::Request;

impl World {
    /// Of how the network can be parted, that which holds for this one: all go by one clock, unless ports to hosts are
    /// [fed](crate::net::Net::feeds).
    pub fn can_be(&self, partition: Partition) -> Partition {
        if self.net.feeds_hosts() { partition } else { partition.level(&self.net.graph) }
    }

    /// Before anything happens, becomes one part of several. All of them draw the same messages and give them the same numbers;
    /// each starts those of its own hosts. When the warm-up ends, others say: [`warms_up`](World::warms_up).
    pub fn becomes(&mut self, partition: &Arc<Partition>, number: u32) {
        self.net.events.cancel(Event::WarmedUp);
        self.net.becomes(partition.clone(), number);
        self.ledger.is_one_of_several();
        self.hosts.senders.keep_to(number, partition.parts);
    }

    /// Goes on until then.
    pub fn goes_to(&mut self, until: Instant) {
        self.goes_to_within(until, Instant::MAX);
    }

    /// Goes on until its clocks show this, with what happens by `at`.
    pub fn goes_to_within(&mut self, until: Instant, at: Instant) {
        self.net.go_down(until, at);
        self.until = until.min(at);
        self.advance(u64::MAX);
        self.net.go_up(until, at);
    }

    /// All that happens by now has happened, and nothing else.
    pub fn is_at(&mut self, now: Instant) {
        self.net.now = now;
    }

    /// Goes on from where its clocks show this.
    pub fn goes_on_from(&mut self, from: Instant) {
        self.net.now = from;
    }

    /// The time that it has reached.
    pub fn reached(&self) -> Instant {
        self.net.now
    }

    /// When the warm-up ends, if there is one.
    pub fn warm_up(&self) -> Option<Instant> {
        Some(self.run.warm_up.after_start()).filter(|end| *end > Instant::ZERO)
    }

    /// The warm-up ends now.
    pub fn warms_up(&mut self) {
        self.net.counters.events += 1;
        self.warmed_up();
    }

    /// When the next event here comes, a packet at a switch, or the first of what is outgoing.
    pub fn next_at(&self) -> Instant {
        let outgoing = self.net.part.as_ref().map_or(Instant::MAX, |part| part.earliest());
        self.net.events.next_at().unwrap_or(Instant::MAX).min(outgoing).min(self.net.comes_at())
    }

    /// What goes to each part. It is to be taken.
    pub fn outgoing(&mut self) -> &mut [Outgoing] {
        self.net.part.as_mut().map_or(&mut [], |part| part.take_outgoing())
    }

    /// From now on, messages that are decided are noted.
    pub fn tells_what_is_decided(&mut self) {
        if let Some(part) = &mut self.net.part {
            part.decided = Some(Vec::new());
        }
    }

    /// Messages that were decided here since this was last called.
    pub fn take_decided(&mut self) -> Vec<MessageId> {
        let part = self.net.part.as_mut();
        part.and_then(|part| part.decided.as_mut()).map(std::mem::take).unwrap_or_default()
    }

    /// Whether a message is decided, as far as that is known here.
    pub fn has_decided(&self, message: MessageId) -> bool {
        self.ledger.is_decided(message)
    }

    /// All messages that have started anywhere.
    pub fn messages(&self) -> impl Iterator<Item = MessageId> + use<> {
        self.ledger.started()
    }

    /// What was asked for with a message, if it is sent here.
    pub fn message(&self, message: MessageId) -> Option<&Message> {
        self.ledger.find(message)
    }

    /// So many events were processed here.
    pub fn events(&self) -> u64 {
        self.net.counted().events
    }

    /// Takes what comes from another part by a ring.
    pub fn receive_words(&mut self, words: Words) {
        self.comes(Comes::from_words(words));
    }

    #[inline(always)]
    fn comes(&mut self, what: Comes) {
        match what {
            Comes::Packet(coming) => self.net.receive(coming),
            Comes::Notice(at, id, notice) => self.hosts.notices.send(&mut self.net.events, at, id, notice),
        }
    }

    /// Takes what comes from another part by mail.
    pub fn receive(&mut self, mail: &mut Mail) {
        let Opened { paths, words, mut extensions } = mail.open();
        self.net.learn(paths);
        for words in words {
            match Comes::from_words(words) {
                Comes::Packet(coming) if coming.packet.flags.has(Flags::EXTENDED) => {
                    let extension = extensions.next().expect("each extended packet comes with its extension");
                    self.net.receive_extended(coming, extension);
                }
                plain => self.comes(plain),
            }
        }
    }

    /// An event that every part has.
    pub(super) fn happens_everywhere(&mut self) {
        if let Some(part) = &mut self.net.part {
            part.everywhere += 1;
        }
    }

    /// Whether the sending host of a message is here. If not, it is counted without being sent: all parts have the
    /// same numbers of messages.
    #[cold]
    pub(super) fn starts_here(&mut self, request: &Request) -> bool {
        self.happens_everywhere();
        let here = self.net.part.as_ref().is_none_or(|part| part.has(request.from));
        if !here {
            self.ledger.starts_elsewhere();
        }
        here
    }
}
