//! The receiving ends of connections.

use std::collections::VecDeque;

use transport::registry::Config;
use transport::{Extension, Flags, Packet, Receiver};
use units::{Bytes, ConnectionId, HostId, MessageId, Table};

use super::outbox::{Address, Outbox};
use super::round::Turn;
use super::state::HostState;
use super::timer::Timer;
use super::{Progress, Stage};
use crate::control_message::Opening;
use crate::fabric::Net;
use crate::flow::{Flow, Incarnation};
use crate::record::arrivals::Arrivals;
use crate::schedule::events::Event;

/// The receiving ends of all connections that their hosts know of.
pub(crate) struct Receivers {
    ends: Table<ConnectionId, Option<ReceivingEnd>>,
    stage: Stage,
}

/// The receiving end of a connection, with its address and the messages that it expects. The fields that a packet uses
/// are first, so that it takes few cache lines.
#[repr(C, align(64))]
pub(crate) struct ReceivingEnd {
    receiver: Receiver,
    address: Address,
    /// Index of its configuration.
    config: u32,
    /// The end of the first message that has not arrived; `u64::MAX` if there is none.
    boundary: u64,
    /// Arrivals since this was last taken.
    pub arrivals: Arrivals,
    flow: Flow,
    /// The end of the last complete message.
    done: u64,
    /// Messages that have not arrived.
    expected: VecDeque<Expected>,
    /// The last message, when none is expected.
    last: MessageId,
}

/// A message that has not arrived.
#[derive(Clone, Copy, Debug)]
struct Expected {
    message: MessageId,
    /// The position of its end in the stream.
    end: u64,
    /// The sender has aborted it.
    given_up: bool,
    /// Bytes of it that had arrived, in order or not, when each figure was last taken.
    taken: [u64; 2],
}

/// Figures to which each byte of payload contributes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// The goodput of the measured time.
    Goodput,
    /// The samples of the throughput.
    Throughput,
}

/// A message that is complete or aborted at its receiving host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    /// Id of the message.
    pub message: MessageId,
    /// Its payload, without the bytes taken for [`Figure::Goodput`] before.
    pub uncounted: Bytes,
    /// Its payload, without the bytes taken for [`Figure::Throughput`] before.
    pub unsampled: Bytes,
    /// It is not complete: the sender has aborted it.
    pub given_up: bool,
}

impl Receivers {
    /// Returns an empty set of ends, checked by `stage`.
    pub(crate) fn new(stage: Stage) -> Receivers {
        Receivers { ends: Table::default(), stage }
    }

    /// Opens the receiving end of a connection at a host; its replies use the route `path`.
    pub(crate) fn open(&mut self, configs: &[Config], id: ConnectionId, to: HostId, opening: &Opening, path: u32) {
        let &Opening { config, flow, generation } = opening;
        self.stage.acts(to);
        let place = self.ends.reach(id);
        debug_assert!(place.is_none(), "a number is used again when its receiving end is closed");
        let timer = Timer::new(Event::ReceiverTimer(id), flow.order(config));
        *place = Some(ReceivingEnd {
            receiver: Receiver::new(&configs[config as usize]),
            address: Address { id, generation, path, host: to, timer, turn: Turn::None },
            flow,
            config,
            boundary: u64::MAX,
            arrivals: Arrivals::default(),
            done: 0,
            expected: VecDeque::new(),
            last: MessageId(0),
        });
    }

    /// Updates the routes of all open ends.
    pub(crate) fn reroute(&mut self, net: &mut Net) {
        for end in self.ends.iter_mut().flatten() {
            end.address.path = net.detour(end.address.path, end.flow);
        }
    }

    /// Closes a connection here; its packets in flight will be ignored.
    pub(crate) fn close(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        id: ConnectionId,
    ) {
        let (receiver, config, mut out) = self.at(id).parts(net, configs, hosts);
        receiver.on_close(config, out.net.now, &mut out);
        self.ends[id] = None;
    }

    /// Returns the receiving end of an open connection.
    pub(crate) fn at(&mut self, id: ConnectionId) -> &mut ReceivingEnd {
        let end = self.ends[id].as_mut().expect("packets and timers are only for open connections");
        self.stage.acts(end.address.host);
        end
    }

    /// Returns all connections that are open here.
    pub(crate) fn open_ones(&self) -> Vec<ConnectionId> {
        self.ends.entries().filter(|(_, end)| end.is_some()).map(|(id, _)| id).collect()
    }

    /// Returns the messages for which counts may still be recorded.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.ends.iter().flatten().flat_map(ReceivingEnd::in_use)
    }

    /// Returns the receiving end of a connection, if its host knows of it and it is open.
    pub(crate) fn get(&mut self, id: ConnectionId) -> Option<&mut ReceivingEnd> {
        self.ends.find_mut(id)?.as_mut().inspect(|end| self.stage.acts(end.address.host))
    }

    /// Handles a packet that has reached its host.
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
        debug_assert!(packet.payload == 0 || packet.end() <= end.told(), "a packet was faster than its notice");
        end.arrivals.packets += 1;
        end.arrivals.bytes += Bytes::from(packet.size);
        end.arrivals.wait += u64::from(extension.as_ref().map_or(packet.wait_or_extension, |extension| extension.wait));
        end.arrivals.marks += u32::from(packet.flags.has(Flags::CE));
        let (receiver, config, mut out) = end.parts(net, configs, hosts);
        let next = receiver.on_packet(config, out.net.now, packet, extension, &mut out);
        if next >= end.boundary { Progress::Arrived } else { Progress::None }
    }

    /// Handles a packet that has reached its host without its payload.
    pub(crate) fn on_trimmed(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        packet: &Packet,
        extension: Option<&mut Extension>,
    ) {
        let Some(end) = self.get(packet.connection) else { return };
        if end.address.generation == packet.generation {
            let (receiver, config, mut out) = end.parts(net, configs, hosts);
            receiver.on_trimmed(config, out.net.now, packet, extension, &mut out);
        }
    }

    /// Handles the timer of a receiving end, unless the timer has been set anew.
    pub(crate) fn on_timer(
        &mut self,
        net: &mut Net,
        configs: &[Config],
        hosts: &mut Table<HostId, HostState>,
        id: ConnectionId,
    ) {
        let Some(end) = &mut self.ends[id] else { return };
        self.stage.acts(end.address.host);
        if !end.address.timer.fires(net) {
            return;
        }
        let (receiver, config, mut out) = end.parts(net, configs, hosts);
        receiver.on_timer(config, out.net.now, &mut out);
    }
}

impl ReceivingEnd {
    /// Returns the host of this end.
    pub(crate) fn host(&self) -> HostId {
        self.address.host
    }
    #[inline]
    fn parts<'a>(
        &'a mut self,
        net: &'a mut Net,
        configs: &'a [Config],
        hosts: &'a mut Table<HostId, HostState>,
    ) -> (&'a mut Receiver, &'a Config, Outbox<'a>) {
        let outbox = Outbox { net, address: &mut self.address, hosts, journal: None };
        (&mut self.receiver, &configs[self.config as usize], outbox)
    }

    /// Returns the generation of the connection among those with its id.
    pub(crate) fn generation(&self) -> u16 {
        self.address.generation
    }

    /// Returns its connection among all of its id.
    pub(crate) fn incarnation(&self) -> Incarnation {
        Incarnation { id: self.address.id, generation: self.address.generation }
    }

    /// Returns the message that is arriving, or the last one.
    pub(crate) fn message(&self) -> MessageId {
        self.expected.front().map_or(self.last, |expected| expected.message)
    }

    fn in_use(&self) -> impl Iterator<Item = MessageId> {
        self.expected.iter().skip(1).map(|expected| expected.message).chain([self.message()])
    }

    /// Adds an expected message, up to this position.
    pub(crate) fn expect(&mut self, message: MessageId, end: u64) {
        self.expected.push_back(Expected { message, end, given_up: false, taken: [0; 2] });
        self.boundary = self.expected[0].end;
    }

    /// Returns the position up to which messages are known.
    fn told(&self) -> u64 {
        self.expected.back().map_or(self.done, |last| last.end)
    }

    /// Records that the sender has aborted a message, which may have arrived all the same.
    pub(crate) fn given_up(&mut self, message: MessageId, unsent: Bytes) {
        let Some(index) = self.expected.iter().position(|expected| expected.message == message) else { return };
        self.expected[index].given_up = true;
        self.expected.iter_mut().skip(index).for_each(|expected| expected.end -= unsent.0);
    }

    /// Takes the first message, once it is complete or aborted.
    pub(crate) fn take_over(&mut self) -> Option<Over> {
        let next = self.receiver.next();
        let is_over = self.expected.front().is_some_and(|first| first.end <= next);
        let over = if is_over { self.expected.pop_front() } else { None };
        self.boundary = self.expected.front().map_or(u64::MAX, |first| first.end);
        let Expected { message, end, given_up, taken } = over?;
        self.last = message;
        let size = end - std::mem::replace(&mut self.done, end);
        let [uncounted, unsampled] = taken.map(|taken| Bytes(size - taken));
        Some(Over { message, uncounted, unsampled, given_up })
    }

    /// Takes for a figure the payload that has arrived of incomplete messages, without the bytes taken before. Passes
    /// each of these messages with its bytes to `give`.
    pub(crate) fn take_arrived(&mut self, figure: Figure, mut give: impl FnMut(MessageId, Bytes)) {
        let all = self.receiver.arrived_below(u64::MAX);
        let mut below = self.done;
        for expected in &mut self.expected {
            if below == all {
                break;
            }
            let arrived = self.receiver.arrived_below(expected.end) - below;
            below += arrived;
            let before = std::mem::replace(&mut expected.taken[figure as usize], arrived);
            if arrived > before {
                give(expected.message, Bytes(arrived - before));
            }
        }
    }
}
