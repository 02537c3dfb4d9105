//! The hosts: the ends of their connections, and what crosses from one host to another.
//!
//! Sending ends and receiving ends are apart, and nothing here reads the one and changes the other: what a receiving
//! host must know of a message is told by a [`Notice`], which takes the time that the path takes. So everything that
//! one host does to another comes at least one propagation delay later.

mod notice;
mod numbers;
mod outbox;
mod receiving;
mod sending;

pub use notice::{Notice, Notices, Opening};
pub use outbox::Sent;
pub use receiving::{Arrivals, Receivers};
pub use sending::{Senders, Way};

use transport::registry::Config;
use transport::{Flags, Packet};
use units::ConnectionId;

use crate::net::Net;

/// The ends of all connections, and the notices on their way between them.
pub struct Hosts {
    /// Sending ends.
    pub senders: Senders,
    /// Receiving ends.
    pub receivers: Receivers,
    /// Notices on their way.
    pub notices: Notices,
}

/// What a timer or packet left behind, for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing that the ledger must know.
    None,
    /// A message has arrived completely.
    Arrived,
    /// Everything is acknowledged and the connection is to be closed.
    Finished,
    /// The current message was given up.
    GivenUp,
}

impl Hosts {
    /// Without connections, which will be in so many groups.
    pub fn new(groups: usize) -> Hosts {
        Hosts { senders: Senders::new(groups), receivers: Receivers::default(), notices: Notices::default() }
    }

    /// Hands a packet that has reached its host to the connection's end there.
    #[inline]
    pub fn deliver(&mut self, net: &mut Net, configs: &[Config], packet: &Packet) -> Progress {
        let mut extension = net.take_extension(packet);
        if packet.flags.has(Flags::ACK) {
            return self.senders.deliver(net, configs, packet, extension.as_mut());
        }
        net.counters.packets_delivered += u64::from(packet.payload > 0);
        self.receivers.deliver(net, configs, packet, extension.as_mut())
    }

    /// Ways through the network are other ones now: both ends of every connection look for theirs.
    pub fn reroute(&mut self, net: &mut Net) {
        self.senders.reroute(net);
        self.receivers.reroute(net);
    }

    /// The sending end of a connection tells the receiving host something.
    pub fn notify(&mut self, net: &mut Net, id: ConnectionId, notice: Notice) {
        let at = net.now + self.senders.at(id).delay();
        self.notices.send(&mut net.events, at, id, notice);
    }
}
