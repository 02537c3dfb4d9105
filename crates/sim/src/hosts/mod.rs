//! The hosts: the ends of their connections, and the control messages from one host to another.
//!
//! Sending ends and receiving ends are separate, and nothing here reads the one and changes the other. A receiving host
//! learns of a message by a [`ControlMessage`], which takes the time of its route. So any effect of one host on another takes
//! at least one propagation delay. A [`Stage`] checks that each event changes one host only.

mod numbers;
mod outbox;
mod receiving;
mod round;
mod sending;
mod stage;
mod state;
mod timer;

pub(crate) use receiving::{Figure, Receivers};
pub(crate) use sending::{NewConnection, Senders, Way};
pub(crate) use stage::Stage;
pub(crate) use state::HostState;

pub(crate) use round::Waiter;

use transport::registry::Config;
use transport::{Extension, Flags, Message, Packet};
use units::{ConnectionId, HostId, MessageId, Table};

use crate::control_message::{ControlMessage, ControlMessages};
use crate::fabric::Net;

/// The ends of all connections, and the control messages in flight between them.
pub(crate) struct Hosts {
    /// The sending ends of connections.
    pub senders: Senders,
    /// The receiving ends of connections.
    pub receivers: Receivers,
    /// Control messages in flight.
    pub control_messages: ControlMessages,
    /// The state of each host as a whole; its ends refer to it by the host's id.
    pub states: Table<HostId, HostState>,
    /// The host that acts in the current event.
    pub stage: Stage,
}

/// The result of a timer or packet, for the message log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing that the log must record.
    None,
    /// A message has arrived completely.
    Arrived,
    /// Everything is acknowledged and the connection is to be closed.
    Finished,
    /// The current message was aborted.
    GivenUp,
}

impl Hosts {
    /// Returns hosts without connections, whose connections will be in `groups` groups.
    pub(crate) fn new(hosts: u32, groups: usize) -> Hosts {
        let stage = Stage::default();
        Hosts {
            senders: Senders::new(groups, stage.clone()),
            receivers: Receivers::new(stage.clone()),
            control_messages: ControlMessages::default(),
            states: (0..hosts).map(HostId).map(HostState::new).collect(),
            stage,
        }
    }

    /// Returns the state of a host.
    pub(crate) fn state(&mut self, host: HostId) -> &mut HostState {
        self.stage.acts(host);
        &mut self.states[host]
    }

    /// Passes a message to its connection's sending end.
    pub(crate) fn enqueue_message(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId, message: Message) {
        self.senders.at(id).enqueue_message(net, configs, &mut self.states, message);
    }

    /// Handles the timer of a sending end.
    pub(crate) fn on_sender_timer(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) -> Progress {
        self.senders.on_timer(net, configs, &mut self.states, id)
    }

    /// Handles the timer of a receiving end.
    pub(crate) fn on_receiver_timer(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) {
        self.receivers.on_timer(net, configs, &mut self.states, id);
    }

    /// Handles the timer of a host itself.
    pub(crate) fn on_host_timer(&mut self, net: &mut Net, host: HostId) {
        self.state(host).on_timer(net, host);
    }

    /// Lets the senders that wait at a host's port, by its [number](Net::queue_of), send in turns until its queue is
    /// full.
    pub(crate) fn on_host_turn(&mut self, net: &mut Net, configs: &[Config], queue: HostId) {
        let host = net.host_of_queue(queue);
        if self.state(host).round(queue).fires(net) {
            self.serve(net, configs, host, queue);
        }
    }

    /// Serves the senders that wait at a host's port, which may send again after a pause.
    pub(crate) fn on_resume(&mut self, net: &mut Net, configs: &[Config], queue: HostId) {
        let host = net.host_of_queue(queue);
        if !self.state(host).round(queue).is_empty() {
            self.serve(net, configs, host, queue);
        }
    }

    /// Lets senders that wait at a host's port send in turn, while it has room.
    fn serve(&mut self, net: &mut Net, configs: &[Config], host: HostId, queue: HostId) {
        while let Some(waiter) = self.states[host].round(queue).next(net) {
            match waiter {
                Waiter::End(id) => self.senders.on_turn(net, configs, &mut self.states, id),
                Waiter::Shared => self.states[host].on_turn(net, host, queue),
            }
        }
    }

    /// Closes a sending end.
    pub(crate) fn close_sender(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) {
        self.senders.close(net, configs, &mut self.states, id);
    }

    /// Closes a receiving end.
    pub(crate) fn close_receiver(&mut self, net: &mut Net, configs: &[Config], id: ConnectionId) {
        self.receivers.close(net, configs, &mut self.states, id);
    }

    /// Passes a packet that has reached its host to the connection's end there.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, net: &mut Net, configs: &[Config], packet: &Packet) -> Progress {
        // One branch for both.
        if net.inspects() | packet.flags.has(Flags::EXTENDED) {
            return self.deliver_apart(net, configs, packet);
        }
        self.hand_on(net, configs, packet, None)
    }

    /// As [`deliver`](Hosts::deliver), for a packet with an extension, or to be inspected. Not inlined, so that others
    /// bear no cost.
    #[inline(never)]
    fn deliver_apart(&mut self, net: &mut Net, configs: &[Config], packet: &Packet) -> Progress {
        if net.inspects() && self.inspected(net, configs, packet) {
            return Progress::None;
        }
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

    /// Looks at a packet in a network that trims, or whose balancer listens. Returns true if that was all: its payload
    /// was dropped, or it is the news of that.
    #[cold]
    #[inline(never)]
    fn inspected(&mut self, net: &mut Net, configs: &[Config], packet: &Packet) -> bool {
        net.inspect(packet);
        let (is_trimmed, is_news) = (packet.is_trimmed(), packet.flags.has(Flags::NACK));
        if is_news {
            self.senders.on_trimmed(net, configs, &mut self.states, packet);
        } else if is_trimmed {
            let mut extension = net.take_extension(packet);
            self.receivers.on_trimmed(net, configs, &mut self.states, packet, extension.as_mut());
        }
        is_news || is_trimmed
    }

    /// Updates the routes of both ends of every connection after routing has changed.
    pub(crate) fn reroute(&mut self, net: &mut Net) {
        self.senders.reroute(net);
        self.receivers.reroute(net);
    }

    /// Returns every message that an end or a control message still refers to, some of them several times.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.senders.in_use().chain(self.receivers.in_use()).chain(self.control_messages.in_use())
    }

    /// Sends a control message from the sending end of a connection to the receiving host.
    pub(crate) fn notify(&mut self, net: &mut Net, id: ConnectionId, notice: ControlMessage) {
        let Way { to, delay, .. } = self.senders.at(id).way();
        let at = net.now + delay;
        if !net.part.as_mut().is_some_and(|part| part.notify(to, at, id, notice)) {
            self.control_messages.send(&mut net.events, at, id, notice);
        }
    }
}
