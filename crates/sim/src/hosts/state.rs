//! The state of one host as a whole.

use std::collections::BTreeMap;

use transport::host::{End, HostOutput};
use transport::{Extension, Packet, Shared};
use units::{ConnectionId, HostId, Instant};

use super::round::Round;
use super::timer::Timer;
use crate::fabric::Net;
use crate::flow::Incarnation;
use crate::schedule::events::Event;

/// The requests of a host as a whole: its timer, and turns at its port.
pub(super) struct Desk {
    timer: Timer,
    /// The senders that wait for room at the host's port.
    pub round: Round,
    /// The senders that wait at each of its ports where it has several, by the port's [number](Net::queue_of).
    pub rounds: BTreeMap<HostId, Round>,
}

impl Desk {
    fn round(&mut self, queue: HostId) -> &mut Round {
        let Desk { timer, round, rounds } = self;
        if timer.order == u64::from(queue.0) {
            return round;
        }
        rounds.entry(queue).or_insert_with(|| Round::new(queue))
    }
}

/// A host's state, without its port and its ends, which refer to it by the host's id.
pub(crate) struct HostState {
    /// State that connections of the host share, by family.
    pub shared: Shared,
    desk: Desk,
    /// Connections from here that stay open, by transport and receiving host.
    persistent: BTreeMap<(u32, HostId), ConnectionId>,
}

impl HostState {
    /// Returns the initial state of a host.
    pub(crate) fn new(host: HostId) -> HostState {
        let timer = Timer::new(Event::HostTimer(host), host.0.into());
        let desk = Desk { timer, round: Round::new(host), rounds: BTreeMap::new() };
        HostState { shared: Shared::default(), desk, persistent: BTreeMap::new() }
    }

    /// Returns the connection of a transport that stays open to another host, if there is one.
    pub(crate) fn persistent(&self, transport: u32, to: HostId) -> Option<ConnectionId> {
        self.persistent.get(&(transport, to)).copied()
    }

    /// Records a connection of a transport that stays open to another host.
    pub(crate) fn keep(&mut self, transport: u32, to: HostId, id: ConnectionId) {
        self.persistent.insert((transport, to), id);
    }

    /// Handles the host's timer, unless it has been set anew.
    pub(crate) fn on_timer(&mut self, net: &mut Net, host: HostId) {
        if self.desk.timer.fires(net) {
            self.wake(net, host);
        }
    }

    /// Lets the state that connections of the host share send a packet in its turn at a port.
    pub(crate) fn on_turn(&mut self, net: &mut Net, host: HostId, queue: HostId) {
        self.round(queue).begin_turn_of_shared();
        self.wake(net, host);
        self.round(queue).end_turn_of_shared();
    }

    fn wake(&mut self, net: &mut Net, host: HostId) {
        let now = net.now;
        self.shared.on_timer(now, &mut AtDesk { net, host, desk: &mut self.desk });
    }

    /// Returns the senders that wait for room at a port of the host, by the port's [number](Net::queue_of).
    pub(crate) fn round(&mut self, queue: HostId) -> &mut Round {
        self.desk.round(queue)
    }

    /// Removes a closed end from the senders that wait.
    pub(crate) fn leave_rounds(&mut self, id: ConnectionId) {
        self.desk.round.leave(id);
        self.desk.rounds.values_mut().for_each(|round| round.leave(id));
    }

    /// Returns whether the state that connections share may send by an end's route now. If not, it is called when it
    /// may.
    pub(crate) fn link_is_free(&mut self, net: &mut Net, host: HostId, end: End) -> bool {
        let now = net.now;
        AtDesk { net, host, desk: &mut self.desk }.link_is_free(now, end)
    }

    /// Sets the host's timer.
    pub(crate) fn arm(&mut self, net: &mut Net, at: Instant) {
        self.desk.timer.arm(net, at);
    }
}

/// Executes the requests of a host as a whole.
struct AtDesk<'a> {
    net: &'a mut Net,
    host: HostId,
    desk: &'a mut Desk,
}

impl HostOutput for AtDesk<'_> {
    fn send_from(&mut self, end: End, packet: Packet, extension: Option<Extension>) {
        send_from(self.net, self.host, end, packet, extension);
    }
    fn leaves_from(&self, end: End) -> Instant {
        self.net.nic_idle_at(end.route)
    }
    fn link_is_free(&mut self, now: Instant, end: End) -> bool {
        let mut end = end;
        if self.net.leaves_by_several() {
            // The port of the next packet must be free.
            end.route = self.net.next_route(Incarnation { id: end.connection, generation: end.generation }, end.route);
        }
        if self.net.bounds_hosts() {
            let queue = self.net.queue_of(self.host, end.route);
            return self.desk.round(queue).takes_shared(self.net, end);
        }
        self.wakes_when_free(now, end)
    }
    fn arm_host(&mut self, at: Instant) {
        self.desk.timer.arm(self.net, at);
    }
}

/// Sends a packet of an end at a host.
pub(super) fn send_from(net: &mut Net, host: HostId, end: End, packet: Packet, extension: Option<Extension>) {
    let End { connection, generation, route, .. } = end;
    debug_assert!(net.begins_at(route, host), "the end of connection {connection} is not at host {host}");
    let packet = Packet { connection, generation, route, ..packet };
    match extension {
        Some(extension) => net.send_extended(packet, extension),
        None => net.send(packet),
    }
}
