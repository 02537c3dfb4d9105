//! What a world does that is one part of several.

use std::sync::Arc;

use units::{ClassId, ConnectionId, Instant, MessageId};

use super::World;
use crate::net::part::Mail;
use crate::outcome::Message;
use crate::topology::Partition;
use crate::traffic::Request;

impl World {
    /// Becomes one part of several. All of them draw the same messages and give them the same numbers; each starts those
    /// of its own hosts.
    pub fn becomes(&mut self, partition: &Arc<Partition>, number: u32) {
        self.net.becomes(partition.clone(), number);
        self.hosts.senders.keep_to(number, partition.parts);
    }

    /// Goes on until then.
    pub fn goes_to(&mut self, until: Instant) {
        self.until = until;
        self.advance(u64::MAX);
    }

    /// When the next event here comes, or the first of what is outgoing arrives.
    pub fn next_at(&self) -> Instant {
        let outgoing = self.net.part.as_ref().map_or(Instant::MAX, |part| part.earliest());
        self.net.events.next_at().map_or(outgoing, |next| next.min(outgoing))
    }

    /// What goes to each part. It is to be taken.
    pub fn outgoing(&mut self) -> &mut [Vec<Mail>] {
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
    pub fn messages(&self) -> impl Iterator<Item = MessageId> {
        self.ledger.messages().map(|(message, _)| message)
    }

    /// What was asked for with a message.
    pub fn message(&self, message: MessageId) -> &Message {
        self.ledger.sent(message)
    }

    /// So many events were processed here.
    pub fn events(&self) -> u64 {
        self.net.counters.events
    }

    /// Something comes from another part.
    pub fn receive(&mut self, mail: Mail) {
        match mail {
            Mail::Packet { at, link, packet, extension } => self.net.receive_mail(at, link, packet, extension),
            Mail::Notice { at, id, notice } => self.hosts.notices.send(&mut self.net.events, at, id, notice),
        }
    }

    /// An event that every part has.
    pub(super) fn happens_everywhere(&mut self) {
        if let Some(part) = &mut self.net.part {
            part.everywhere += 1;
        }
    }

    /// Whether the sending host of a message is here. If not, it is written down without being sent: all parts have the
    /// same rows, and the same paths in the same order, there and back.
    #[cold]
    pub(super) fn starts_here(&mut self, class: ClassId, request: &Request, ordinal: u64) -> bool {
        self.happens_everywhere();
        let &Request { from, to, .. } = request;
        let here = self.net.part.as_ref().is_none_or(|part| part.has(from));
        let flow = self.flow_of(class, request, ordinal);
        let source = &self.sources[class].class;
        let (transport, persistent) = (source.transport as u32, source.persistent);
        let is_open = persistent && self.hosts.state(from).persistent(transport, to).is_some();
        if !is_open {
            self.net.path(from, to, flow);
            self.net.path(to, from, flow);
            if persistent && !here {
                self.hosts.state(from).keep(transport, to, ConnectionId::default());
            }
        }
        if !here {
            // Where it starts from is known where it is sent; here it is never looked at.
            self.ledger.start(0, Message::new(class, request));
        }
        here
    }
}
