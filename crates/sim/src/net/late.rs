//! Drops that become known late.
//!
//! What is dropped at a receiver's port counts for the message that is arriving then. A port that goes by a clock behind that
//! of its host ([`Partition`](crate::topology::Partition)) comes to drop a packet when the host is later already: the message
//! may have arrived since, and its connection may be closed. So what was booked is remembered until all drops before it are
//! known.

use std::collections::VecDeque;

use transport::Packet;
use units::{Bytes, ConnectionId, HostId, Instant, LinkId, MessageId};

use super::Net;
use crate::event;
use crate::topology::Clock;

/// What is known late, at receivers' ports whose clocks are behind.
#[derive(Default)]
pub struct LateDrops {
    /// What was booked, the earliest first.
    booked: VecDeque<Booking>,
    /// Wire bytes that were dropped before something was booked on a message.
    dropped: Vec<(MessageId, Bytes)>,
}

/// Until then, what was dropped of a connection counts for this message, if it does not for one that was booked before.
struct Booking {
    /// The time, and the rank at it.
    until: (Instant, u64),
    host: HostId,
    connection: (ConnectionId, u16),
    message: MessageId,
}

/// When something comes by a link: its time, and its rank at it.
fn arrival(at: Instant, by: LinkId) -> (Instant, u64) {
    let (at, rank, _) = event::arrival(at, by);
    (Instant(at), rank)
}

impl Net {
    /// A message is about to be booked that arrives at a host by a connection, by number and generation: what was dropped at the
    /// host's port before the packet or the notice that has just come is known now, or will be booked on it.
    pub fn know_drops(&mut self, host: HostId, connection: (ConnectionId, u16), message: MessageId) {
        let (now, noticing) = (self.now, self.noticing);
        // The only link to a host has its number.
        let port = LinkId(host.0);
        if self.now_at(port) == now {
            return self.let_in_at(host);
        }
        while let Some(&Booking { until, host, .. }) = self.late().and_then(|late| late.booked.front())
            && self.clock(LinkId(host.0)).shows(until.0) < now
        {
            self.let_in_at(host);
            self.late().and_then(|late| late.booked.pop_front());
        }
        // Notices come before all else.
        let until = if noticing { (now, 0) } else { arrival(now, port) };
        if let Some(late) = self.late() {
            late.booked.push_back(Booking { until, host, connection, message });
        }
    }

    /// A packet was dropped at a port when that showed this time. Whether it counts for a message that was booked since.
    pub(super) fn is_known_late(&mut self, port: LinkId, at: Instant, packet: &Packet) -> bool {
        let clock = self.clock(port);
        if clock == Clock::HOSTS || packet.payload == 0 || !self.ports[port].place.to_host() {
            return false;
        }
        // Its route is that from the end of the port's link on.
        let at = arrival(clock.time(at), self.router.link(packet.route - 2));
        let Some(LateDrops { booked, dropped }) = self.late() else { return false };
        let connection = (packet.connection, packet.generation);
        let found = booked.iter().find(|booking| booking.connection == connection && at < booking.until);
        found.inspect(|found| dropped.push((found.message, packet.size.into()))).is_some()
    }

    /// Everything up to now has been let in: takes wire bytes that were dropped before something was booked on a message, and
    /// forgets what was booked.
    pub fn take_known_late(&mut self) -> Vec<(MessageId, Bytes)> {
        self.late().map(std::mem::take).unwrap_or_default().dropped
    }

    fn late(&mut self) -> Option<&mut LateDrops> {
        self.part.as_deref_mut().map(|part| &mut part.late)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{full, leaves};
    use super::*;
    use crate::topology::Partition;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use units::Span;

    /// Five hosts send full packets to a sixth at their leaf, which come to its port together, first after 32 us, then every
    /// 12 us. One leaves each time and ten may wait: of the third five two are dropped, of all others four. The port is
    /// 20 us behind.
    #[test]
    fn what_is_dropped_counts_for_the_message_that_was_arriving_then() {
        let mut net = leaves(2, 12, 1, Some(Span::ZERO), ["fifo", "fifo"]);
        net.feed_ports(Bytes(1500));
        let partition = Partition::new(&net.graph, 2, |_| false).expect("there are two leaves");
        net.becomes(Arc::new(partition), 0);
        for seq in 0..12 {
            for from in 0..5 {
                let packet = full(&mut net, (from, 5), seq);
                net.send(packet);
            }
        }
        let connection = (ConnectionId(0), 0);
        let mut booked = BTreeMap::new();
        for (micros, noticing, message) in [
            (56, true, 0),
            (57, false, 1),
            // Notices come before packets of the same instant.
            (80, true, 2),
            (81, false, 3),
            (99, false, 4),
        ] {
            (net.now, net.noticing) = (Instant::from_micros(micros), noticing);
            net.know_drops(HostId(5), connection, MessageId(message));
            *booked.entry(message).or_default() += net.take_dropped_at_receiver(connection).0 / 1500;
        }
        assert!(booked.values().all(|dropped| *dropped == 0), "{booked:?}: nothing is known at once");
        // Of what was booked by 57 us all is known 20 us later.
        assert_eq!(net.late().map(|late| late.booked.len()), Some(3));
        net.now = Instant::from_micros(150);
        net.let_all_in();
        for (message, dropped) in net.take_known_late() {
            *booked.entry(message.0).or_default() += dropped.0 / 1500;
        }
        assert_eq!(booked, BTreeMap::from([(0, 0), (1, 2), (2, 4), (3, 4), (4, 4)]));
        // Those at 104, 116, 128 and 140 us are for whatever is booked next.
        assert_eq!(net.take_dropped_at_receiver(connection), Bytes(16 * 1500));
        assert!(net.take_known_late().is_empty());
    }
}
