//! A ring by which one part of a run leaves for another what goes there, and which nobody locks.

use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use units::Instant;

/// What goes from one part to another, as threads can leave it for each other.
pub type Words = [u64; 7];

/// A ring for one that sends and one that receives.
///
/// Who sends writes there when something is to go, long before it says so, and never waits for a cache line that the other
/// has; nor does it read one, but where it knows of no room.
pub struct Ring {
    front: Front,
    back: Back,
    lines: [Line; Ring::ROOM],
}

/// What the sender says. On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Front {
    /// It has processed all that comes before this.
    reached: AtomicU64,
    /// So many were put into the ring until then.
    sent: AtomicU64,
}

/// What the receiver says. On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Back {
    /// So many were taken from the ring.
    taken: AtomicU64,
}

/// A place in a ring: a cache line.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; size_of::<Words>() / size_of::<u64>()]);

impl Line {
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
    /// A window has seldom more.
    const ROOM: usize = 256;

    /// From a part that has come so far.
    pub fn at(reached: Instant) -> Ring {
        let front = Front { reached: AtomicU64::new(reached.0), ..Front::default() };
        Ring { front, back: Back::default(), lines: array::from_fn(|_| Line::default()) }
    }

    /// The sender has processed all that comes before this.
    #[inline(always)]
    pub fn reached(&self) -> Instant {
        Instant(self.front.reached.load(Ordering::Acquire))
    }

    /// The sender has come so far. All that it leaves of that is there.
    #[inline(always)]
    pub fn reaches(&self, reached: Instant) {
        self.front.reached.store(reached.0, Ordering::Release);
    }

    /// Takes what was sent, in order.
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

/// The end of a ring where things are put in; there is one.
pub struct Sender {
    ring: Arc<Ring>,
    /// So many were put in.
    put: u64,
    /// Up to so many there is room for.
    room: u64,
}

impl Sender {
    /// Of a ring that nothing has been put into.
    pub fn of(ring: Arc<Ring>) -> Sender {
        Sender { ring, put: 0, room: Ring::ROOM as u64 }
    }

    /// Puts something in, which goes with what is [sent](Sender::send) next; false where there is no room.
    #[inline(always)]
    pub fn put(&mut self, words: &Words) -> bool {
        if self.put == self.room && !self.finds_room() {
            return false;
        }
        self.ring.lines[self.put as usize % Ring::ROOM].put(words);
        self.put += 1;
        true
    }

    #[cold]
    fn finds_room(&mut self) -> bool {
        // Who has taken something has read it before that.
        self.room = self.ring.back.taken.load(Ordering::Acquire) + Ring::ROOM as u64;
        self.put < self.room
    }

    /// Sends what was put in.
    #[inline(always)]
    pub fn send(&self) {
        self.ring.front.sent.store(self.put, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was put in is there when it was sent, in order; and there is room again for what was taken.
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
