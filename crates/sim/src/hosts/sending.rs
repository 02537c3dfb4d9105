//! The sending ends of connections.

use transport::registry::Config;
use transport::{Extension, Message, Packet, Sender};
use units::{Bytes, ConnectionId, HostId, Instant, MessageId, Span, Table};

use super::numbers::Numbers;
use super::outbox::{Address, Journal, Outbox};
use super::round::Turn;
use super::state::HostState;
use super::timer::Timer;
use super::{Progress, Stage};
use crate::fabric::Net;
use crate::flow::Flow;
use crate::schedule::events::Event;

/// The sending ends of all connections. An id is reused when the receiving host has learnt that its connection was
/// closed; a generation distinguishes the packets of connections with the same id.
pub(crate) struct Senders {
    ends: Table<ConnectionId, Option<SendingEnd>>,
    numbers: Numbers,
    stage: Stage,
}

/// The sending end of a connection, with its address. The fields that an acknowledgement uses are adjacent, so that it
/// takes few cache lines: from the end of the journal to somewhere in the sender.
#[repr(C, align(64))]
pub(crate) struct SendingEnd {
    flow: Flow,
    /// The receiving host of the connection.
    to: HostId,
    /// Propagation delay of its route.
    delay: Span,
    journal: Journal,
    address: Address,
    /// Index of its configuration.
    config: u32,
    open: bool,
    /// It is closed when everything is acknowledged.
    closes: bool,
    sender: Sender,
}

/// The route of a connection's packets to its receiving host.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    /// Position of the route.
    pub path: u32,
    /// Host at its end.
    pub to: HostId,
    /// Propagation delay of the route.
    pub delay: Span,
}

/// A connection to open.
#[derive(Clone, Copy)]
pub(crate) struct NewConnection {
    /// Connections of a group reuse each other's ids.
    pub group: usize,
    /// Index of its transport's configuration.
    pub transport: u32,
    pub flow: Flow,
    /// The host that opens it.
    pub from: HostId,
    pub way: Way,
    /// It is closed when everything is acknowledged, and does not stay open.
    pub closes: bool,
}

impl Senders {
    /// Returns an empty set of ends, in `groups` groups, checked by `stage`.
    pub(crate) fn new(groups: usize, stage: Stage) -> Senders {
        Senders { ends: Table::default(), numbers: Numbers::new(groups), stage }
    }

    /// Uses only the ids of one partition of several.
    pub(crate) fn keep_to(&mut self, part: u32, of: u32) {
        self.numbers.keep_to(part, of);
    }

    /// Opens a flow's connection under a transport's configuration.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        config: &Config,
        NewConnection { group, transport, flow, from, way, closes }: NewConnection,
    ) -> ConnectionId {
        let id = self.numbers.take(group, now);
        let place = self.ends.reach(id);
        let mut sender = Sender::new(config);
        sender.identify(flow.number());
        let generation = place.as_ref().map_or(0, |old| old.address.generation);
        let timer = Timer::new(Event::SenderTimer(id), flow.order(transport));
        let end = SendingEnd {
            sender,
            address: Address { id, generation, path: way.path, host: from, timer, turn: Turn::None },
            journal: Journal::default(),
            config: transport,
            open: true,
            closes,
            flow,
            to: way.to,
            delay: way.delay,
        };
        *place = Some(end);
        id
    }

    /// Closes a connection here; acknowledgements in flight will be ignored. Its id is free as soon as the receiving
    /// host knows.
    pub(crate) fn close(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        id: ConnectionId,
    ) {
        let end = self.at(id);
        let (sender, config, mut out) = end.parts(net, configs, hosts);
        sender.on_close(config, out.net.now, &mut out);
        end.open = false;
        end.address.generation = end.address.generation.wrapping_add(1);
        end.address.timer.disarm();
        if end.address.turn == Turn::Waits {
            hosts[end.address.host].leave_rounds(id);
        }
        let known = net.now + end.delay;
        self.numbers.give_back(id, known);
    }

    /// Returns a connection's sending end.
    pub(crate) fn at(&mut self, id: ConnectionId) -> &mut SendingEnd {
        let end = self.ends[id].as_mut().expect("ACKs and timers are only for open connections");
        self.stage.acts(end.address.host);
        end
    }

    /// Returns all connections that are open here.
    pub(crate) fn open_ones(&self) -> Vec<ConnectionId> {
        self.ends.entries().filter(|(_, end)| end.as_ref().is_some_and(|end| end.open)).map(|(id, _)| id).collect()
    }

    /// Returns the messages for which counts may still be recorded.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.ends.iter().flatten().filter(|end| end.open).flat_map(|end| end.journal.messages())
    }

    /// Updates the routes of all open ends.
    pub(crate) fn reroute(&mut self, net: &mut Net) {
        for end in self.ends.iter_mut().flatten().filter(|end| end.open) {
            end.address.path = net.detour(end.address.path, end.flow);
        }
    }

    /// Returns whether a connection is open here, and not an earlier one with its id.
    pub(crate) fn is_open(&self, id: ConnectionId, generation: u16) -> bool {
        self.ends[id].as_ref().is_some_and(|end| end.open && end.address.generation == generation)
    }

    /// Returns the message of a packet, if its connection is open here.
    pub(crate) fn message_of(&self, packet: &Packet) -> Option<MessageId> {
        let id = packet.connection;
        let end = self.ends.find(id)?.as_ref()?;
        if self.is_open(id, packet.generation) { end.journal.message_at(packet.seq) } else { None }
    }

    /// Handles an acknowledgement that has reached its host.
    #[inline(always)]
    pub(crate) fn deliver(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        packet: &Packet,
        extension: Option<&mut Extension>,
    ) -> Progress {
        let id = packet.connection;
        let Some(end) = &mut self.ends[id] else { return Progress::None };
        if end.address.generation != packet.generation {
            return Progress::None;
        }
        self.stage.acts(end.address.host);
        let (sender, config, mut out) = end.parts(net, configs, hosts);
        let idle = sender.on_packet(config, out.net.now, packet, extension, &mut out);
        end.progress(idle)
    }

    /// Handles the news that a switch has removed the payload of a packet.
    pub(crate) fn on_trimmed(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        packet: &Packet,
    ) {
        if self.is_open(packet.connection, packet.generation) {
            let (sender, config, mut out) = self.at(packet.connection).parts(net, configs, hosts);
            sender.on_trimmed(config, out.net.now, packet, &mut out);
        }
    }

    /// Handles a sending end's turn at its host's port.
    pub(crate) fn on_turn(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        id: ConnectionId,
    ) {
        let end = self.at(id);
        end.address.turn = Turn::Now;
        let (sender, config, mut out) = end.parts(net, configs, hosts);
        sender.on_room(config, out.net.now, &mut out);
        if end.address.turn == Turn::Now {
            end.address.turn = Turn::None;
        }
    }

    /// Handles the timer of a sending end, unless the timer has been set anew.
    pub(crate) fn on_timer(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        id: ConnectionId,
    ) -> Progress {
        let end = self.at(id);
        if !end.address.timer.fires(net) {
            return Progress::None;
        }
        end.journal.acknowledged(end.sender.acknowledged());
        let (sender, config, mut out) = end.parts(net, configs, hosts);
        sender.on_timer(config, out.net.now, &mut out);
        let idle = sender.is_idle();
        end.progress(idle)
    }
}

impl SendingEnd {
    #[inline]
    fn parts<'a>(
        &'a mut self,
        net: &'a mut Net,
        configs: &'a [Config],
        hosts: &'a mut Table<HostId, HostState>,
    ) -> (&'a mut Sender, &'a Config, Outbox<'a>) {
        let outbox = Outbox { net, address: &mut self.address, hosts, journal: Some(&mut self.journal) };
        (&mut self.sender, &configs[self.config as usize], outbox)
    }

    /// Records a new message; returns the position of its end.
    pub(crate) fn starts(&mut self, message: MessageId, bytes: Option<Bytes>) -> u64 {
        self.journal.starts(message, bytes)
    }

    /// Passes a message to the transport.
    pub(crate) fn enqueue_message(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        message: Message,
    ) {
        let (sender, config, mut out) = self.parts(net, configs, hosts);
        sender.enqueue_message(config, out.net.now, message, &mut out);
    }

    /// Returns the route of its packets.
    pub(crate) fn path(&self) -> u32 {
        self.address.path
    }

    /// Returns the way of its packets to its receiving host.
    pub(crate) fn way(&self) -> Way {
        Way { path: self.address.path, to: self.to, delay: self.delay }
    }

    /// Returns the generation of the connection among those with its id.
    pub(crate) fn generation(&self) -> u16 {
        self.address.generation
    }

    /// Returns whether it is closed when everything is acknowledged.
    pub(crate) fn closes(&self) -> bool {
        self.closes
    }

    /// Returns the record of its messages, up to date.
    pub(crate) fn journal(&mut self) -> &mut Journal {
        self.journal.acknowledged(self.sender.acknowledged());
        &mut self.journal
    }

    /// Returns the observable state, and its message: the first that is not fully acknowledged.
    pub(crate) fn observe(&self, configs: &[Config], now: Instant) -> Option<(MessageId, transport::Observation)> {
        let message = self.journal.message_at(self.sender.acknowledged())?;
        let mut seen = transport::Observation::default();
        self.sender.observe(&configs[self.config as usize], now, &mut seen);
        Some((message, seen))
    }

    /// Returns the result of a packet or timer after which everything is acknowledged (`idle`), or not.
    #[inline]
    fn progress(&self, idle: bool) -> Progress {
        if self.journal.given_up.is_some() {
            Progress::GivenUp
        } else if idle && self.closes {
            Progress::Finished
        } else {
            Progress::None
        }
    }
}
