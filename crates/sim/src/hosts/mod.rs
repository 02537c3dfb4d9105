//! The hosts: the ends of their connections, and what crosses from one host to another.
//!
//! Sending ends and receiving ends are apart, and nothing here reads the one and changes the other: what a receiving
//! host must know of a message is told by a [`Notice`], which takes the time that the path takes. So everything that
//! one host does to another comes at least one propagation delay later. A [`Stage`] holds each event to one host.

mod numbers;
mod outbox;
mod receiving;
mod round;
mod sending;
mod stage;
mod state;
mod timer;

pub use outbox::Sent;
pub use receiving::{Arrivals, Figure, Receivers};
pub use sending::{Senders, Way};
pub use stage::Stage;
pub use state::HostState;

pub use round::Waiter;

use transport::registry::Config;
use transport::{Extension, Flags, Message, Packet};
use units::{ConnectionId, HostId, MessageId, Table};

use crate::net::Net;
use crate::notice::{Notice, Notices};

/// The ends of all connections, and the notices on their way between them.
pub struct Hosts {
    /// Sending ends.
    pub senders: Senders,
    /// Receiving ends.
    pub receivers: Receivers,
    /// Notices on their way.
    pub notices: Notices,
    /// What belongs to each host as a whole; its ends reach it by its number.
    pub states: Table<HostId, HostState>,
    /// Who acts.
    pub stage: Stage,
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
    /// So many, without connections, which will be in so many groups.
    pub fn new(hosts: u32, groups: usize) -> Hosts {
        let stage = Stage::default();
        Hosts {
            senders: Senders::new(groups, stage.clone()),
            receivers: Receivers::new(stage.clone()),
            notices: Notices::default(),
            states: (0..hosts).map(HostId).map(HostState::new).collect(),
            stage,
        }
    }

    /// The state of a host.
    pub fn state(&mut self, host: HostId) -> &mut HostState {
        self.stage.acts(host);
        &mut self.states[host]
    }

    /// Hands a message to its connection's sending end.
    pub fn hand_over(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId, message: Message) {
        self.senders.at(id).hand_over(net, configs, &mut self.states, message);
    }

    /// A sending end's timer has come.
    pub fn on_sender_timer(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) -> Progress {
        self.senders.on_timer(net, configs, &mut self.states, id)
    }

    /// A receiving end's timer has come.
    pub fn on_receiver_timer(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) {
        self.receivers.on_timer(net, configs, &mut self.states, id);
    }

    /// A host's own timer has come.
    pub fn on_host_timer(&mut self, net: &mut Net, host: HostId) {
        self.state(host).on_timer(net, host);
    }

    /// The queue of a host's port has room: those that wait for it send by turns until it is full.
    pub fn on_host_turn(&mut self, net: &mut Net, configs: &[Config], host: HostId) {
        if !self.state(host).round().rings(net) {
            return;
        }
        while let Some(waiter) = self.states[host].round().next(net) {
            match waiter {
                Waiter::End(id) => self.senders.on_turn(net, configs, &mut self.states, id),
                Waiter::Shared => self.states[host].on_turn(net, host),
            }
        }
    }

    /// Closes a sending end.
    pub fn close_sender(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) {
        self.senders.close(net, configs, &mut self.states, id);
    }

    /// Closes a receiving end.
    pub fn close_receiver(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) {
        self.receivers.close(net, configs, &mut self.states, id);
    }

    /// Hands a packet that has reached its host to the connection's end there.
    #[inline(always)]
    pub fn deliver(&mut self, net: &mut Net, configs: &[Config], packet: &Packet) -> Progress {
        if packet.flags.has(Flags::EXTENDED) {
            return self.deliver_extended(net, configs, packet);
        }
        self.hand_on(net, configs, packet, None)
    }

    /// As [`deliver`](Hosts::deliver), with more than its header. A function of its own, so that what must be done with
    /// an extension costs nothing where there is none.
    #[inline(never)]
    fn deliver_extended(&mut self, net: &mut Net, configs: &[Config], packet: &Packet) -> Progress {
        let mut extension = net.take_extension(packet);
        self.hand_on(net, configs, packet, extension.as_mut())
    }

    #[inline(always)]
    fn hand_on(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        packet: &Packet,
        extension: Option<&mut Extension>,
    ) -> Progress {
        if packet.flags.has(Flags::ACK) {
            return self.senders.deliver(net, configs, &mut self.states, packet, extension);
        }
        net.counters.packets_delivered += u64::from(packet.payload > 0);
        self.receivers.deliver(net, configs, &mut self.states, packet, extension)
    }

    /// Ways through the network are other ones now: both ends of every connection look for theirs.
    pub fn reroute(&mut self, net: &mut Net) {
        self.senders.reroute(net);
        self.receivers.reroute(net);
    }

    /// Every message that an end or a notice still speaks of, some of them several times.
    pub fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.senders.in_use().chain(self.receivers.in_use()).chain(self.notices.in_use())
    }

    /// The sending end of a connection tells the receiving host something.
    pub fn notify(&mut self, net: &mut Net, id: ConnectionId, notice: Notice) {
        let Way { to, delay, .. } = self.senders.at(id).way();
        let at = net.now + delay;
        if !net.part.as_mut().is_some_and(|part| part.notify(to, at, id, notice)) {
            self.notices.send(&mut net.events, at, id, notice);
        }
    }
}
