//! The state that the connections of one host share.
//!
//! A family whose receivers grant keeps the order of its grants at the receiving host: its folder has a type `Host`, of
//! which each host has one ([`Shared`]). The family's ends reach it by their output, which is then an [`AtHost`]. This
//! state may send packets of any connection that has an end at this host, and be woken at a time of its own. A family
//! that shares nothing has `()`, without any cost.

use units::{ConnectionId, Instant, Rate};

use crate::{Extension, Output, Packet, Shared};

/// An end of a connection, as other ends at its host know it: identifies the packets that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The id of the connection.
    pub connection: ConnectionId,
    /// The generation among the connections that used this id.
    pub generation: u16,
    /// The path of its packets.
    pub route: u32,
    /// Bits of its own flow ([`Site::own`](crate::Site::own)). They order equal ends of a host: ids of connections differ
    /// with the number of threads that simulate a run.
    pub own: u64,
}

/// The services that a host as a whole needs from its simulator.
pub trait HostOutput {
    /// Enqueues a packet of one of this host's open ends, with its extension, in the NIC queue.
    fn send_from(&mut self, _end: End, _packet: Packet, _extension: Option<Extension>) {
        unimplemented!("{NOTHING}")
    }
    /// Returns the time at which all packets sent on the route of one of this host's ends will have left the host's
    /// port. It is in the past if that is not known.
    fn leaves_from(&self, _end: End) -> Instant {
        Instant::ZERO
    }
    /// Returns true if the host's link is free for a packet of one of its ends, and it is this state's turn. If not,
    /// the state is woken when it is.
    fn link_is_free(&mut self, now: Instant, end: End) -> bool {
        self.wakes_when_free(now, end)
    }
    /// Returns true if all sent packets have left the port; if not, the state is woken when they have.
    fn wakes_when_free(&mut self, now: Instant, end: End) -> bool {
        let free = self.leaves_from(end);
        if free > now {
            self.arm_host(free);
        }
        free <= now
    }
    /// Requests that the host's state be woken at `at` or earlier; an earlier request stays in force.
    fn arm_host(&mut self, _at: Instant) {
        unimplemented!("{NOTHING}")
    }
}

/// The services for an end that shares state with others at its host, and that state. A simulator of families that
/// share nothing need not implement any of it.
pub trait AtHost: Output + HostOutput {
    /// Returns the calling end, as the others may know it.
    fn end(&self) -> End {
        unimplemented!("{NOTHING}")
    }
    /// Returns the number of the host's port that this end uses; the state of each port is apart. Zero where a host has
    /// one.
    fn port(&self) -> u32 {
        0
    }
    /// Returns the rate of the link to this port, in bit/s; the rate of the host's own link by default.
    fn incoming_rate(&self) -> Rate {
        self.site().rate
    }
    /// Returns the shared state of this host.
    fn shared(&mut self) -> &mut Shared {
        unimplemented!("{NOTHING}")
    }
}

const NOTHING: &str = "nothing is kept at hosts here";

/// The state that a family keeps at each host.
pub trait HostState: Default {
    /// Wakes the host at the time that it armed, or at an earlier one: of another family, or overtaken.
    fn on_timer(&mut self, now: Instant, out: &mut impl HostOutput);
}

impl HostState for () {
    fn on_timer(&mut self, _: Instant, _: &mut impl HostOutput) {}
}
