//! The pending arrivals of a port.
//!
//! Packets for a port with [deferred enqueue](super::deferred) are kept here from when they are sent until the port is
//! examined, in the order of arrival. Nearly all arrive in the order in which they are sent, and are linked in the
//! packet pool. Reordered arrivals are kept in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Instant, LinkId};

use crate::fabric::packet_pool::{NONE, PacketPool};
use crate::schedule::events::{EventKey, LAST, arrival};
use crate::topology::Clock;

/// Pending arrivals of a port. Small, because it is part of the port's cache lines.
pub(super) struct PendingArrivals {
    /// The time of the first arrival; [`Instant::MAX`] if there is none.
    first_at: Instant,
    /// Arrivals in the order of sending, linked in the packet pool: the slots of the first, or [`NONE`], and of the
    /// last.
    first: u32,
    last: u32,
    /// The scheduled time of the port's next arrival, while nothing is in flight and an arrival is pending.
    pub due: Instant,
}

/// Reordered arrivals: they arrive before packets that were sent earlier. Arrivals of one event key, thus by one link,
/// keep the order of sending. Each has its slot.
pub(super) struct Reordered {
    heap: BinaryHeap<Reverse<(EventKey, u64, u32)>>,
    sent: u64,
    /// The clock of the port.
    pub clock: Clock,
}

impl Default for Reordered {
    fn default() -> Reordered {
        Reordered { heap: BinaryHeap::new(), sent: 0, clock: Clock::HOSTS }
    }
}

/// The position of a packet among the pending arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// There is no other.
    Only,
    /// It is before all others, or simultaneous with the first of them.
    First,
    /// Others are before it.
    Later,
}

impl PendingArrivals {
    /// An inlet without pending arrivals.
    pub(super) const EMPTY: PendingArrivals =
        PendingArrivals { first_at: Instant::MAX, first: NONE, last: NONE, due: Instant::MAX };

    /// Returns the time of the first arrival; [`Instant::MAX`] if there is none.
    #[inline(always)]
    pub(super) fn first_at(&self) -> Instant {
        self.first_at
    }

    /// Returns the slot of the first arrival in the order of sending, or [`NONE`].
    #[inline(always)]
    pub(super) fn first_in_order(&self) -> u32 {
        self.first
    }

    /// Adds the packet in slot `number`, which arrives by a link at a given time, behind all others. Returns `None`,
    /// and adds nothing, if it may arrive before one of them; some of these may be reordered arrivals.
    #[inline(always)]
    pub(super) fn expect(
        &mut self,
        packet_pool: &mut PacketPool,
        number: u32,
        by: LinkId,
        at: Instant,
        any_early: bool,
    ) -> Option<Turn> {
        if self.first == NONE {
            if any_early {
                return None;
            }
            self.first = number;
        } else if !packet_pool.follows(self.last, number, by, at) {
            return None;
        }
        packet_pool.comes(number, by, at);
        self.last = number;
        Some(self.turn(at))
    }

    /// Records an arrival at `at`.
    #[inline(always)]
    fn turn(&mut self, at: Instant) -> Turn {
        if at > self.first_at {
            return Turn::Later;
        }
        let turn = if self.first_at == Instant::MAX { Turn::Only } else { Turn::First };
        self.first_at = at;
        turn
    }

    /// As [`expect`](PendingArrivals::expect), for a packet that arrives before others that were sent earlier.
    pub(super) fn expect_early(&mut self, early: &mut Reordered, number: u32, by: LinkId, at: Instant) -> Turn {
        early.sent += 1;
        early.heap.push(Reverse((moment(early.clock, at, by), early.sent, number)));
        self.turn(at)
    }

    /// Takes the first arrival where none is reordered; returns its time and its slot. There must be one.
    #[inline(always)]
    pub(super) fn take(&mut self, packet_pool: &PacketPool) -> (Instant, u32) {
        let taken = (self.first_at, self.first);
        (self.first_at, self.first) = packet_pool.behind(self.first);
        taken
    }

    /// As [`take`](PendingArrivals::take), where some arrivals are reordered.
    #[inline(always)]
    pub(super) fn take_of_both(&mut self, early: &mut Reordered, packet_pool: &PacketPool) -> (Instant, u32) {
        let (taken, in_order_at) = match self.first_early(early, packet_pool) {
            Some(&(moment, _, number)) => {
                early.heap.pop();
                ((Instant(moment.0), number), self.in_order_at(packet_pool))
            }
            None => {
                let taken = (self.in_order_at(packet_pool), self.first);
                let (next_at, next) = packet_pool.behind(self.first);
                self.first = next;
                (taken, next_at)
            }
        };
        self.first_at = early.heap.peek().map_or(in_order_at, |early| in_order_at.min(Instant(early.0.0.0)));
        taken
    }

    /// Returns the event key of the first arrival, by the port's clock; the last key of all if there is none.
    pub(super) fn moment(&self, early: Option<&Reordered>, packet_pool: &PacketPool) -> EventKey {
        let first = early.and_then(|early| self.first_early(early, packet_pool));
        let clock = early.map_or(Clock::HOSTS, |early| early.clock);
        first.map_or_else(|| self.moment_in_order(clock, packet_pool), |first| first.0)
    }

    /// Returns the slot of the first arrival, if there is one.
    pub(super) fn first(&self, early: &Reordered, packet_pool: &PacketPool) -> u32 {
        self.first_early(early, packet_pool).map_or(self.first, |first| first.2)
    }

    /// Returns the first arrival if it is a reordered one. Ranks count at one instant only.
    fn first_early<'early>(
        &self,
        early: &'early Reordered,
        packet_pool: &PacketPool,
    ) -> Option<&'early (EventKey, u64, u32)> {
        let Reverse(first) = early.heap.peek()?;
        let (at, in_order_at) = (first.0.0, self.in_order_at(packet_pool).0);
        let is_first =
            if at == in_order_at { first.0 < self.moment_in_order(early.clock, packet_pool) } else { at < in_order_at };
        is_first.then_some(first)
    }

    /// Returns the time of the first arrival in the order of sending; [`Instant::MAX`] if there is none.
    fn in_order_at(&self, packet_pool: &PacketPool) -> Instant {
        if self.first == NONE { Instant::MAX } else { packet_pool.at(self.first).at }
    }

    fn moment_in_order(&self, clock: Clock, packet_pool: &PacketPool) -> EventKey {
        if self.first == NONE { LAST } else { moment(clock, packet_pool.at(self.first).at, packet_pool.by(self.first)) }
    }

    /// Returns the number of arrivals in the order of sending.
    pub(super) fn len_in_order(&self, packet_pool: &PacketPool) -> usize {
        let (mut len, mut next) = (0, self.first);
        while next != NONE {
            (len, next) = (len + 1, packet_pool.behind(next).1);
        }
        len
    }
}

/// Returns the event key of an arrival by a link: the time that the clock shows, and the rank of the time.
fn moment(clock: Clock, at: Instant, by: LinkId) -> EventKey {
    let (_, rank, source) = arrival(clock.time(at), by);
    (at.0, rank, source)
}

impl Reordered {
    /// Returns the number of reordered arrivals.
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}
