//! Deferred drop accounting.
//!
//! A packet dropped at a receiver's port counts for the message that is arriving then. But the clock of a port may be
//! behind that of its host ([`Partition`](crate::topology::Partition)). The port then drops a packet when the host's
//! time is already later: the message may have arrived since, and its connection may be closed. So recorded messages
//! are remembered until all drops before them are known.

use std::collections::VecDeque;

use transport::Packet;
use units::{Bytes, HostId, Instant, LinkId, MessageId};

use super::Net;
use crate::flow::Incarnation;
use crate::schedule::events;
use crate::topology::Clock;

/// Deferred drop accounting at receivers' ports whose clocks are behind.
#[derive(Default)]
pub(super) struct DeferredDrops {
    /// The recorded messages, the earliest first.
    booked: VecDeque<Booking>,
    /// Wire bytes that were dropped before a message was recorded and became known later.
    dropped: Vec<(MessageId, Bytes)>,
}

/// A recorded message. Drops of its connection until then count for it, unless they count for one recorded before.
struct Booking {
    /// The time, and the rank at it.
    until: (Instant, u64),
    host: HostId,
    connection: Incarnation,
    message: MessageId,
}

/// Returns the time and the rank of an arrival by a link.
fn arrival(at: Instant, by: LinkId) -> (Instant, u64) {
    let (at, rank, _) = events::arrival(at, by);
    (Instant(at), rank)
}

impl Net {
    /// Prepares to record a message that arrives at a host by a connection. Drops at the
    /// host's port before the current packet or control message are known now, or will be counted for it later.
    pub(crate) fn account_deferred_drops(&mut self, host: HostId, connection: Incarnation, message: MessageId) {
        let (now, in_control_message) = (self.now, self.in_control_message);
        // The only link to a host has its number.
        let port = LinkId(host.0);
        if self.now_at(port) == now {
            return self.enqueue_pending_at(host);
        }
        while let Some(&Booking { until, host, .. }) = self.late().and_then(|late| late.booked.front())
            && self.clock(LinkId(host.0)).shows(until.0) < now
        {
            self.enqueue_pending_at(host);
            self.late().and_then(|late| late.booked.pop_front());
        }
        // Control messages precede all else.
        let until = if in_control_message { (now, 0) } else { arrival(now, port) };
        if let Some(late) = self.late() {
            late.booked.push_back(Booking { until, host, connection, message });
        }
    }

    /// Returns whether a packet that was dropped at a port, at a time that the port showed, counts for a message
    /// recorded since.
    pub(super) fn is_known_late(&mut self, port: LinkId, at: Instant, packet: &Packet) -> bool {
        let clock = self.clock(port);
        if clock == Clock::HOSTS || packet.payload == 0 || !self.ports[port].place.to_host() {
            return false;
        }
        // Its route already starts at the end of the port's link.
        let at = arrival(clock.time(at), self.router.link(packet.route - 2));
        let Some(DeferredDrops { booked, dropped }) = self.late() else { return false };
        let connection = Incarnation::of(packet);
        let found = booked.iter().find(|booking| booking.connection == connection && at < booking.until);
        found.inspect(|found| dropped.push((found.message, packet.size.into()))).is_some()
    }

    /// Takes the wire bytes that were dropped before a message was recorded, and clears the recorded messages. All
    /// arrivals up to now must be enqueued.
    pub(crate) fn take_known_late(&mut self) -> Vec<(MessageId, Bytes)> {
        self.late().map(std::mem::take).unwrap_or_default().dropped
    }

    fn late(&mut self) -> Option<&mut DeferredDrops> {
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
    use units::{ConnectionId, Span};

    /// Returns the first of two leaves with six hosts each, a partition. The clocks of its hosts' ports are 20 us behind.
    fn partition() -> Net {
        let mut net = leaves(2, 12, 1, Some(Span::ZERO), ["fifo", "fifo"]);
        net.defer_enqueues(Bytes(1500));
        let partition = Partition::new(&net.graph, 2, |_| false).expect("there are two leaves");
        net.set_up_partition(Arc::new(partition), 0);
        net
    }

    /// Five hosts send full packets to a sixth at their leaf. The packets arrive at its port together, first after 32
    /// us, then every 12 us. One departs each time and ten may be queued: of the third five two are dropped, of all
    /// others four. The port's clock is 20 us behind.
    #[test]
    fn what_is_dropped_counts_for_the_message_that_was_arriving_then() {
        let mut net = partition();
        for seq in 0..12 {
            for from in 0..5 {
                let packet = full(&mut net, (from, 5), seq);
                net.send(packet);
            }
        }
        let connection = Incarnation { id: ConnectionId(0), generation: 0 };
        let mut booked = BTreeMap::new();
        for (micros, in_control_message, message) in [
            (56, true, 0),
            (57, false, 1),
            // Control messages precede packets of the same instant.
            (80, true, 2),
            (81, false, 3),
            (99, false, 4),
        ] {
            (net.now, net.in_control_message) = (Instant::from_micros(micros), in_control_message);
            net.account_deferred_drops(HostId(5), connection, MessageId(message));
            *booked.entry(message).or_default() += net.take_dropped_at_receiver(connection).0 / 1500;
        }
        assert!(booked.values().all(|dropped| *dropped == 0), "{booked:?}: nothing is known at once");
        // All drops of messages recorded by 57 us are known 20 us later.
        assert_eq!(net.late().map(|late| late.booked.len()), Some(3));
        net.now = Instant::from_micros(150);
        net.enqueue_all_pending();
        for (message, dropped) in net.take_known_late() {
            *booked.entry(message.0).or_default() += dropped.0 / 1500;
        }
        assert_eq!(booked, BTreeMap::from([(0, 0), (1, 2), (2, 4), (3, 4), (4, 4)]));
        // Drops at 104, 116, 128 and 140 us are for the message recorded next.
        assert_eq!(net.take_dropped_at_receiver(connection), Bytes(16 * 1500));
        assert!(net.take_known_late().is_empty());
    }
    /// A packet of host 0 and a message arrive at the same instant: the packet counts if it is the first of the two. A
    /// control message precedes all packets. Acknowledgements never count, and data of one byte does.
    #[test]
    fn drop_at_the_instant_of_a_message_counts_if_it_precedes_it() {
        let mut net = partition();
        let connection = Incarnation { id: ConnectionId(0), generation: 0 };
        let port = LinkId(5);
        let sent = full(&mut net, (0, 5), 0);
        let by = net.router.link(sent.route);
        // Behind the port its route starts two links later.
        let packet = Packet { route: sent.route + 2, ..sent };
        let record = |net: &mut Net, at: Instant, in_control_message: bool, message: u32| {
            (net.now, net.in_control_message) = (at, in_control_message);
            net.account_deferred_drops(HostId(5), connection, MessageId(message));
        };
        let behind = Span::from_micros(20);
        let instants = || (100..116).map(Instant::from_micros);
        let precedes = |at: &Instant| arrival(*at, by) < arrival(*at, port);
        for at in instants() {
            record(&mut net, at, false, 0);
            assert_eq!(net.is_known_late(port, at + behind, &packet), precedes(&at), "{at}");
            net.take_known_late();
            record(&mut net, at, true, 0);
            assert!(!net.is_known_late(port, at + behind, &packet), "{at}");
            for (payload, counts) in [(0, false), (1, true), (1460, true)] {
                let packet = Packet { payload, ..packet };
                assert_eq!(net.is_known_late(port, at + behind - Span(1), &packet), counts, "{at} {payload}");
            }
            net.take_known_late();
        }
        let first = instants().find(precedes).expect("it is the first of the two at half of the instants");
        assert!(!instants().all(|at| precedes(&at)));
        // The port's clock shows that instant 20 us later. A control message of then precedes what the port drops.
        record(&mut net, first, false, 1);
        record(&mut net, first + behind, true, 2);
        assert!(net.is_known_late(port, first + behind, &packet));
        assert_eq!(net.take_known_late(), [(MessageId(1), Bytes(1500))]);
    }
}
