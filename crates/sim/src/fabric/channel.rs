//! Channels between partitions: packets and control messages as words, by a ring or a mailbox.

use std::sync::Arc;
use std::vec::Drain;

use transport::{Extension, Packet};
use units::{ConnectionId, Instant, LinkId};

use crate::control_message::ControlMessage;
use crate::schedule::ring::{Ring, Sender, Words};

/// A packet that will arrive at the end of a link.
pub struct Crossing {
    /// Time of the arrival.
    pub at: Instant,
    /// Link at whose end it arrives.
    pub link: LinkId,
    /// The packet that arrives.
    pub packet: Packet,
}

impl Crossing {
    #[inline(always)]
    pub fn to_words(&self) -> Words {
        let [a, b, c, d, e] = self.packet.to_words();
        [self.at.0, self.link.0.into(), a, b, c, d, e]
    }
    #[inline(always)]
    fn from_words([at, link, a, b, c, d, e]: Words) -> Crossing {
        Crossing { at: Instant(at), link: LinkId(link as u32), packet: Packet::from_words([a, b, c, d, e]) }
    }
}

/// An item received from another partition.
pub(crate) enum Item {
    /// A packet, which may be extended.
    Packet(Crossing),
    /// A control message for the receiving host of a connection, and its time.
    ControlMessage(Instant, ConnectionId, ControlMessage),
}

impl Item {
    /// Decodes an item from words.
    #[inline(always)]
    pub(crate) fn from_words(words: Words) -> Item {
        if ControlMessage::is_in(&words) {
            let (at, id, notice) = ControlMessage::from_words(words);
            return Item::ControlMessage(at, id, notice);
        }
        Item::Packet(Crossing::from_words(words))
    }
}

/// The channel to another partition.
///
/// Nearly all items are sent by a [`Ring`], if both partitions are simulated at once. Items for which it has no room,
/// and all if there is no ring, are sent by [`Mailbox`].
#[derive(Default)]
pub struct Outgoing {
    ring: Option<Sender>,
    /// Suspends the ring, because its items might overtake the mail.
    apart: bool,
    mail: Mailbox,
}

impl Outgoing {
    /// Sets or removes the ring, which must be empty.
    pub fn goes_by(&mut self, ring: Option<Arc<Ring>>) {
        debug_assert!(self.mail.is_empty(), "it has been taken");
        self.ring = ring.map(Sender::of);
        self.apart = false;
    }

    /// Sends an item, behind all items sent before.
    #[inline(always)]
    pub fn put(&mut self, words: &Words) {
        if self.apart || !self.ring.as_mut().is_some_and(|ring| ring.put(words)) {
            self.put_apart(words);
        }
    }

    /// Publishes the links of a new route.
    pub fn publish_route(&mut self, position: u32, path: &[LinkId]) {
        self.mail.paths.extend((position..).zip(path.iter().copied()));
    }

    /// Sends an extended packet, by mail.
    pub fn put_extended(&mut self, crossing: &Crossing, extension: Extension) {
        self.put_apart(&crossing.to_words());
        self.mail.extensions.push(extension);
    }

    #[cold]
    fn put_apart(&mut self, words: &Words) {
        self.apart = true;
        self.mail.words.push(*words);
    }

    /// Makes the items in the ring visible to the receiver.
    #[inline(always)]
    pub fn send(&self) {
        if let Some(ring) = &self.ring {
            ring.send();
        }
    }

    /// Returns whether items are in the mail, or were so until recently.
    #[inline(always)]
    pub fn is_apart(&self) -> bool {
        self.apart || !self.mail.is_empty()
    }

    /// Returns the mail; `taken`: its previous items were taken.
    pub fn mail(&mut self, taken: bool) -> &mut Mailbox {
        self.apart &= !(taken && self.mail.words.is_empty());
        &mut self.mail
    }
}

/// The mailbox from one partition to another, for everything not sent by a ring.
#[derive(Default)]
pub struct Mailbox {
    /// New routes: links, with their positions.
    paths: Vec<(u32, LinkId)>,
    /// Packets that will arrive at the ends of links, in order for each link; and control messages, in order for each
    /// connection.
    words: Vec<Words>,
    /// The extensions of extended packets, in the same order.
    extensions: Vec<Extension>,
}

impl Mailbox {
    /// Returns whether the mailbox is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.paths.is_empty()
    }

    /// Appends later mail to this.
    pub fn append(&mut self, later: &mut Mailbox) {
        self.paths.append(&mut later.paths);
        self.words.append(&mut later.words);
        self.extensions.append(&mut later.extensions);
    }

    /// Drains all contents of the mailbox.
    pub fn open(&mut self) -> Opened<'_> {
        let Mailbox { paths, words, extensions } = self;
        Opened { paths: paths.drain(..), words: words.drain(..), extensions: extensions.drain(..) }
    }
}

/// The contents of a drained [`Mailbox`].
pub struct Opened<'mail> {
    /// Links of new routes, with their positions.
    pub paths: Drain<'mail, (u32, LinkId)>,
    /// Packets and control messages.
    pub words: Drain<'mail, Words>,
    /// The extensions of extended packets.
    pub extensions: Drain<'mail, Extension>,
}
