//! What is on its way to a port.
//!
//! Packets that come to a port that is [fed](super::fed) stand here from when they were sent until the port is looked at, in
//! the order in which they come. Nearly all come in the order in which they were sent, and are linked in the store; the
//! others stand in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Instant, LinkId};

use super::store::{NONE, Store};
use crate::event::{LAST, Moment, arrival};
use crate::topology::Clock;

/// Packets on their way to a port. Small, for it stands in the port's cache lines.
pub struct Inlet {
    /// When the first of all comes; never where there is none.
    first_at: Instant,
    /// Those that come in the order in which they were sent, linked in the store: the number of the first, or [`NONE`], and of
    /// the last.
    first: u32,
    last: u32,
    /// While nothing is in the port's line and something here: when the port's next arrival is scheduled.
    pub due: Instant,
}

/// Those that come before others that were sent first; of those that come at one moment, so by one link, in the order in which
/// they were sent. Each with its number.
pub struct Early {
    heap: BinaryHeap<Reverse<(Moment, u64, u32)>>,
    sent: u64,
    /// The clock of the port.
    pub clock: Clock,
}

impl Default for Early {
    fn default() -> Early {
        Early { heap: BinaryHeap::new(), sent: 0, clock: Clock::HOSTS }
    }
}

/// Which place a packet has taken among those on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is no other.
    Only,
    /// It is before all others, or comes together with the first of them.
    First,
    /// Others are before it.
    Later,
}

impl Inlet {
    /// Nothing is on its way.
    pub const EMPTY: Inlet = Inlet { first_at: Instant::MAX, first: NONE, last: NONE, due: Instant::MAX };

    /// When the first comes; never where there is none.
    #[inline(always)]
    pub fn first_at(&self) -> Instant {
        self.first_at
    }

    /// The number of the first of those that come in order, or [`NONE`].
    #[inline(always)]
    pub fn first_in_order(&self) -> u32 {
        self.first
    }

    /// The packet in the slot of this number is on its way by a link, and comes at that time, behind all others. None if it
    /// may come before one of them, some of which may have come early: it has not been taken.
    #[inline(always)]
    pub fn expect(
        &mut self,
        store: &mut Store,
        number: u32,
        by: LinkId,
        (at, any_early): (Instant, bool),
    ) -> Option<Turn> {
        if self.first == NONE {
            if any_early {
                return None;
            }
            self.first = number;
        } else if !store.follows(self.last, number, by, at) {
            return None;
        }
        store.comes(number, by, at);
        self.last = number;
        Some(self.turn(at))
    }

    /// A packet that comes at that time was written down.
    #[inline(always)]
    fn turn(&mut self, at: Instant) -> Turn {
        if at > self.first_at {
            return Turn::Later;
        }
        let turn = if self.first_at == Instant::MAX { Turn::Only } else { Turn::First };
        self.first_at = at;
        turn
    }

    /// As [`expect`](Inlet::expect), for one that comes before others that were sent first.
    pub fn expect_early(&mut self, early: &mut Early, number: u32, by: LinkId, at: Instant) -> Turn {
        early.sent += 1;
        early.heap.push(Reverse((moment(early.clock, at, by), early.sent, number)));
        self.turn(at)
    }

    /// Takes the first out where all have come in order: gives when it comes, and its number. There must be one.
    #[inline(always)]
    pub fn take(&mut self, store: &Store) -> (Instant, u32) {
        let taken = (self.first_at, self.first);
        (self.first_at, self.first) = store.behind(self.first);
        taken
    }

    /// As [`take`](Inlet::take), where some come early.
    pub fn take_of_both(&mut self, early: &mut Early, store: &Store) -> (Instant, u32) {
        let (taken, in_order_at) = match self.first_early(early, store) {
            Some(&(moment, _, number)) => {
                early.heap.pop();
                ((Instant(moment.0), number), self.in_order_at(store))
            }
            None => {
                let taken = (self.in_order_at(store), self.first);
                let (next_at, next) = store.behind(self.first);
                self.first = next;
                (taken, next_at)
            }
        };
        self.first_at = early.heap.peek().map_or(in_order_at, |early| in_order_at.min(Instant(early.0.0.0)));
        taken
    }

    /// The moment of the first of all, by the port's clock; after everything where there is none.
    pub fn moment(&self, early: Option<&Early>, store: &Store) -> Moment {
        let first = early.and_then(|early| self.first_early(early, store));
        let clock = early.map_or(Clock::HOSTS, |early| early.clock);
        first.map_or_else(|| self.moment_in_order(clock, store), |first| first.0)
    }

    /// The number of the first of all, if there is one.
    pub fn first(&self, early: &Early, store: &Store) -> u32 {
        self.first_early(early, store).map_or(self.first, |first| first.2)
    }

    /// The first of all, if it is one that comes early. Ranks count at one instant only.
    fn first_early<'early>(&self, early: &'early Early, store: &Store) -> Option<&'early (Moment, u64, u32)> {
        let Reverse(first) = early.heap.peek()?;
        let (at, in_order_at) = (first.0.0, self.in_order_at(store).0);
        let is_first =
            if at == in_order_at { first.0 < self.moment_in_order(early.clock, store) } else { at < in_order_at };
        is_first.then_some(first)
    }

    /// When the first of those comes that come in order; never where there is none.
    fn in_order_at(&self, store: &Store) -> Instant {
        if self.first == NONE { Instant::MAX } else { store.at(self.first).at }
    }

    fn moment_in_order(&self, clock: Clock, store: &Store) -> Moment {
        if self.first == NONE { LAST } else { moment(clock, store.at(self.first).at, store.by(self.first)) }
    }

    /// How many come in order.
    pub fn len_in_order(&self, store: &Store) -> usize {
        let (mut len, mut next) = (0, self.first);
        while next != NONE {
            (len, next) = (len + 1, store.behind(next).1);
        }
        len
    }
}

/// The moment at which something comes by a link when a clock shows this: what the clock shows, and the rank of the time.
fn moment(clock: Clock, at: Instant, by: LinkId) -> Moment {
    let (_, rank, source) = arrival(clock.time(at), by);
    (at.0, rank, source)
}

impl Early {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
}
