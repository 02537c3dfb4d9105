//! What the connections of one host share.
//!
//! A family whose receivers decide who may send keeps the order of its grants at the receiving host: its folder has a
//! type `Host`, of which each host has one ([`Shared`]). The family's ends reach it by their output, which is then an
//! [`AtHost`]. What stands there may send packets of any connection that has an end at this host, and be woken at a time
//! of its own. A family that shares nothing has `()`, and pays nothing.

use units::{ConnectionId, Instant, Rate};

use crate::{Extension, Output, Packet, Shared};

/// An end of a connection, as others at its host know it: what makes the packets that it sends those of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The connection.
    pub connection: ConnectionId,
    /// Which of those that used its number.
    pub generation: u16,
    /// The path of its packets.
    pub route: u32,
}

/// What a host as a whole may ask of whoever runs it.
pub trait HostOutput {
    /// Puts a packet of one of this host's open ends into its NIC queue, with what it carries beside its fields.
    fn send_from(&mut self, _end: End, _packet: Packet, _extension: Option<Extension>) {
        unimplemented!("{NOTHING}")
    }
    /// When all that was sent the way of one of this host's ends will have left the host's port; in the past if that is
    /// not known.
    fn leaves_from(&self, _end: End) -> Instant {
        Instant::ZERO
    }
    /// Returns whether the host's link is free for a packet of one of its ends, and it is this state's turn. If not, the
    /// state is woken when it is.
    fn link_is_free(&mut self, now: Instant, end: End) -> bool {
        self.wakes_when_free(now, end)
    }
    /// Returns whether all that was sent has left the port; if not, the state is woken when it has.
    fn wakes_when_free(&mut self, now: Instant, end: End) -> bool {
        let free = self.leaves_from(end);
        if free > now {
            self.arm_host(free);
        }
        free <= now
    }
    /// Asks that the host's state be woken at `at` or earlier; an earlier request stays in force.
    fn arm_host(&mut self, _at: Instant) {
        unimplemented!("{NOTHING}")
    }
}

/// What an end that shares something with others at its host may ask for, and what they share. Whoever runs only
/// families that share nothing need not implement anything of it.
pub trait AtHost: Output + HostOutput {
    /// The end that asks, as the others may know it.
    fn end(&self) -> End {
        unimplemented!("{NOTHING}")
    }
    /// The rate of the link to this host, in bit/s; that of the host's own where nothing else is said.
    fn incoming_rate(&self) -> Rate {
        self.site().rate
    }
    /// What is shared here.
    fn shared(&mut self) -> &mut Shared {
        unimplemented!("{NOTHING}")
    }
}

const NOTHING: &str = "nothing is kept at hosts here";

/// What a family keeps at each host.
pub trait HostState: Default {
    /// A time has come for which the host was to be woken, or an earlier one: of another family, or overtaken.
    fn on_timer(&mut self, now: Instant, out: &mut impl HostOutput);
}

impl HostState for () {
    fn on_timer(&mut self, _: Instant, _: &mut impl HostOutput) {}
}
