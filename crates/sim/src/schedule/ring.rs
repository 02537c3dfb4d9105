//! A lock-free ring for the items that one partition sends to another.

use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use units::Instant;

/// An item sent from one partition to another, as words that threads exchange.
pub(crate) type Words = [u64; 7];

/// A ring for one sender and one receiver.
///
/// The sender writes an item long before it publishes it, and never waits for a cache line of the receiver. It reads
/// such a line only when it knows of no room.
pub struct Ring {
    front: Front,
    back: Back,
    lines: [InFlight; Ring::ROOM],
}

/// The sender's state, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Front {
    /// The sender has processed all events before this time.
    reached: AtomicU64,
    /// Items put into the ring by then.
    sent: AtomicU64,
}

/// The receiver's state, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Back {
    /// Items taken from the ring.
    taken: AtomicU64,
}

/// One slot of a ring: a cache line.
#[repr(align(64))]
#[derive(Default)]
struct InFlight([AtomicU64; size_of::<Words>() / size_of::<u64>()]);

impl InFlight {
    #[inline(always)]
    fn put(&self, words: &Words) {
        self.0.iter().zip(words).for_each(|(place, word)| place.store(*word, Ordering::Relaxed));
    }
    #[inline(always)]
    fn get(&self) -> Words {
        array::from_fn(|word| self.0[word].load(Ordering::Relaxed))
    }
}

impl Ring {
    /// Capacity, which the items of an epoch seldom exceed.
    const ROOM: usize = 256;

    /// Returns an empty ring, whose sender has processed all events before `reached`.
    pub fn at(reached: Instant) -> Ring {
        let front = Front { reached: AtomicU64::new(reached.0), ..Front::default() };
        Ring { front, back: Back::default(), lines: array::from_fn(|_| InFlight::default()) }
    }

    /// Returns the time before which the sender has processed all events.
    #[inline(always)]
    pub fn reached(&self) -> Instant {
        Instant(self.front.reached.load(Ordering::Acquire))
    }

    /// Publishes the time before which the sender has processed all events. All items from before must be in the ring.
    #[inline(always)]
    pub fn reaches(&self, reached: Instant) {
        self.front.reached.store(reached.0, Ordering::Release);
    }

    /// Takes the published items, in order.
    #[inline(always)]
    pub fn take(&self, mut each: impl FnMut(Words)) {
        let sent = self.front.sent.load(Ordering::Acquire);
        let taken = self.back.taken.load(Ordering::Relaxed);
        for place in taken..sent {
            each(self.lines[place as usize % Ring::ROOM].get());
        }
        if sent > taken {
            self.back.taken.store(sent, Ordering::Release);
        }
    }
}

/// The sending end of a ring; there is one.
pub(crate) struct Sender {
    ring: Arc<Ring>,
    /// Number of items put in.
    put: u64,
    /// Number of items up to which there is room.
    room: u64,
}

impl Sender {
    /// Returns the sending end of an empty ring.
    pub(crate) fn of(ring: Arc<Ring>) -> Sender {
        Sender { ring, put: 0, room: Ring::ROOM as u64 }
    }

    /// Puts an item in, to be published by the next [`send`](Sender::send). Returns false if there is no room.
    #[inline(always)]
    pub(crate) fn put(&mut self, words: &Words) -> bool {
        if self.put == self.room && !self.finds_room() {
            return false;
        }
        self.ring.lines[self.put as usize % Ring::ROOM].put(words);
        self.put += 1;
        true
    }

    #[cold]
    fn finds_room(&mut self) -> bool {
        // The receiver has read an item before it counts it as taken.
        self.room = self.ring.back.taken.load(Ordering::Acquire) + Ring::ROOM as u64;
        self.put < self.room
    }

    /// Publishes all items put in so far.
    #[inline(always)]
    pub(crate) fn send(&self) {
        self.ring.front.sent.store(self.put, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items are received in order once they are published, and there is room again for the items taken.
    #[test]
    fn what_is_sent_comes_in_order_and_makes_room_when_it_is_taken() {
        let ring = Arc::new(Ring::at(Instant(7)));
        let mut sender = Sender::of(ring.clone());
        let taken = || {
            let mut taken = Vec::new();
            ring.take(|[first, .., last]| taken.extend([first, last]));
            taken
        };
        let put = |sender: &mut Sender, range: std::ops::Range<u64>| {
            range.filter(|n| sender.put(&[*n, 0, 0, 0, 0, 0, n + 1])).count()
        };
        assert_eq!((put(&mut sender, 0..3), taken()), (3, vec![]));
        sender.send();
        assert_eq!(taken(), [0, 1, 1, 2, 2, 3]);
        assert_eq!(put(&mut sender, 3..1000), Ring::ROOM);
        sender.send();
        assert!(taken().chunks(2).map(|pair| pair[0]).eq(3..3 + Ring::ROOM as u64));
        assert_eq!((put(&mut sender, 0..300), ring.reached()), (Ring::ROOM, Instant(7)));
        ring.reaches(Instant(8));
        assert_eq!(ring.reached(), Instant(8));
    }
}
