//! What belongs to one host as a whole.

use std::collections::BTreeMap;

use transport::host::{End, HostOutput};
use transport::{Extension, Packet, Shared};
use units::{ConnectionId, HostId, Instant};

use super::timer::Timer;
use crate::event::Event;
use crate::net::Net;

/// A host, but for the ends that stand there, which reach it by its number, and its port.
pub struct HostState {
    /// What connections of the host share, by family.
    pub shared: Shared,
    timer: Timer,
    /// Connections from here that stay open, by transport and receiving host.
    persistent: BTreeMap<(u32, HostId), ConnectionId>,
}

impl HostState {
    /// Nothing has happened there.
    pub fn new(host: HostId) -> HostState {
        let timer = Timer::new(Event::HostTimer(host), host.0.into());
        HostState { shared: Shared::default(), timer, persistent: BTreeMap::new() }
    }

    /// The connection of a transport that stays open to another host, if there is one.
    pub fn persistent(&self, transport: u32, to: HostId) -> Option<ConnectionId> {
        self.persistent.get(&(transport, to)).copied()
    }

    /// A connection of a transport stays open to another host.
    pub fn keep(&mut self, transport: u32, to: HostId, id: ConnectionId) {
        self.persistent.insert((transport, to), id);
    }

    /// Its timer has come, unless it was overtaken by an earlier one.
    pub fn on_timer(&mut self, net: &mut Net, host: HostId) {
        if self.timer.rings(net) {
            let now = net.now;
            self.shared.on_timer(now, &mut Desk { net, host, timer: &mut self.timer });
        }
    }

    /// Asks to be woken.
    pub fn arm(&mut self, net: &mut Net, at: Instant) {
        self.timer.arm(net, at);
    }
}

/// What a host asks for as a whole, carried out.
struct Desk<'a> {
    net: &'a mut Net,
    host: HostId,
    timer: &'a mut Timer,
}

impl HostOutput for Desk<'_> {
    fn send_from(&mut self, end: End, packet: Packet, extension: Option<Extension>) {
        send_from(self.net, self.host, end, packet, extension);
    }
    fn leaves_from(&self, end: End) -> Instant {
        self.net.nic_idle_at(end.route)
    }
    fn arm_host(&mut self, at: Instant) {
        self.timer.arm(self.net, at);
    }
}

/// Sends a packet of an end at a host.
pub fn send_from(net: &mut Net, host: HostId, end: End, packet: Packet, extension: Option<Extension>) {
    let End { connection, generation, route } = end;
    debug_assert!(net.begins_at(route, host), "the end of connection {connection} is not at host {host}");
    let packet = Packet { connection, generation, route, ..packet };
    match extension {
        Some(extension) => net.send_extended(packet, extension),
        None => net.send(packet),
    }
}
