//! The round of the senders that wait for room in the queue of their host's port.
//!
//! Linux keeps little of a connection's data below the transport (TCP small queues), and fq serves the connections of a
//! host in turns. Here a port accepts data while its backlog is short ([`Net::has_room`]). A sender that finds no room
//! joins the round. From then on all wait for their turn, so that none overtakes senders that have waited longer. Each
//! sends one packet in its turn (`fair`), or as many as the queue accepts (`fifo`). Acknowledgements and control
//! packets do not wait.

use std::collections::VecDeque;

use transport::host::End;
use units::{ConnectionId, HostId, Instant};

use super::timer::Timer;
use crate::fabric::Net;
use crate::schedule::events::Event;

/// The round of one host's port.
pub(crate) struct Round {
    /// The senders that wait, the next first.
    waiting: VecDeque<Waiter>,
    /// Fires when the next sender has its turn.
    timer: Timer,
    /// The route of a sender that has waited, which determines the host's port.
    path: u32,
    /// The turn of the state that connections share.
    shared: Turn,
}

/// A sender that waits for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A connection's sending end.
    End(ConnectionId),
    /// The state that connections of the host share. It sends on an idle link only, as it orders its packets itself.
    Shared,
}

/// The place of a sender in the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// It does not wait.
    #[default]
    None,
    /// It waits for its turn.
    Waits,
    /// It is its turn.
    Now,
}

impl Round {
    /// Returns a round without senders, for a port by its [number](Net::queue_of).
    pub(crate) fn new(queue: HostId) -> Round {
        let timer = Timer::new(Event::HostTurn(queue), queue.0.into());
        Round { waiting: VecDeque::new(), timer, path: 0, shared: Turn::None }
    }

    /// Adds a sender at the end of the round of its route's first port.
    pub(crate) fn join(&mut self, net: &mut Net, waiter: Waiter, path: u32) {
        self.path = path;
        self.waiting.push_back(waiter);
        net.close_host_port(path);
        if self.waiting.len() == 1 {
            self.announce(net);
        }
    }

    /// Removes a closed end from the round.
    pub(crate) fn leave(&mut self, id: ConnectionId) {
        self.waiting.retain(|waiter| *waiter != Waiter::End(id));
    }

    /// Returns whether no sender waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether the announced turn is due now.
    pub(crate) fn fires(&mut self, net: &Net) -> bool {
        self.timer.fires(net)
    }

    /// Takes the next sender, if the port has room for it. If not, its turn is announced; if no sender waits, the port
    /// is open to all again.
    pub(crate) fn next(&mut self, net: &mut Net) -> Option<Waiter> {
        let Some(&next) = self.waiting.front() else {
            net.open_host_port(self.path);
            return None;
        };
        if self.room_for(net, next) > net.now {
            self.announce(net);
            return None;
        }
        self.waiting.pop_front()
    }

    /// Returns when the port has room for this sender, if nothing else is sent.
    fn room_for(&self, net: &Net, waiter: Waiter) -> Instant {
        match waiter {
            Waiter::End(_) => net.room_at(self.path),
            Waiter::Shared => net.idle_at(self.path),
        }
    }

    fn announce(&mut self, net: &mut Net) {
        if let Some(&next) = self.waiting.front() {
            let at = self.room_for(net, next);
            self.timer.arm(net, at.max(net.now));
        }
    }

    /// Begins the turn of the state that connections share.
    pub(crate) fn begin_turn_of_shared(&mut self) {
        self.shared = Turn::Now;
    }

    /// Ends the turn of the state that connections share, whether it has sent or not.
    pub(crate) fn end_turn_of_shared(&mut self) {
        if self.shared == Turn::Now {
            self.shared = Turn::None;
        }
    }

    /// Returns whether the state that connections share may send a packet by an end's route now. If not, it joins the
    /// round.
    pub(crate) fn takes_shared(&mut self, net: &mut Net, end: End) -> bool {
        let is_idle = net.idle_at(end.route) <= net.now;
        if is_idle && (self.shared == Turn::Now || self.waiting.is_empty()) {
            return true;
        }
        if self.shared != Turn::Waits {
            self.shared = Turn::Waits;
            self.join(net, Waiter::Shared, end.route);
        }
        false
    }
}
