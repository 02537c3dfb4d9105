//! The identity of a flow, which determines its route and the order of its timers.

use transport::Packet;
use units::{ConnectionId, HostId, hash_of, mix64, pair};

/// One of the connections that have had an id in turns: ids are reused with another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Incarnation {
    /// The id that it has while it is open.
    pub id: ConnectionId,
    /// The number of connections that had the id before, modulo 2^16.
    pub generation: u16,
}

impl Incarnation {
    /// Returns the connection of a packet.
    pub(crate) fn of(packet: &Packet) -> Incarnation {
        Incarnation { id: packet.connection, generation: packet.generation }
    }
}

/// A flow's identity: 64 well-mixed bits. They depend neither on the time when its connection was opened, nor on other
/// connections, nor on the transport. So two transports of one comparison send every message by the same route, and a
/// class that is added changes nothing for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow(u64);

impl Flow {
    /// Returns the flow of one message with a connection of its own, from the name of its class and its ordinal there.
    pub(crate) fn of_message(class: &str, ordinal: u64) -> Flow {
        Flow(mix64(hash_of(class).wrapping_add(mix64(ordinal))))
    }

    /// Returns the flow of the connections that stay open between two hosts. Classes share these, and whether two
    /// classes have the same transport can change from one run of a comparison to the next. So all use the same route.
    pub(crate) fn of_pair(from: HostId, to: HostId) -> Flow {
        Flow(mix64(hash_of("pair of hosts") ^ mix64(pair(from.0, to.0))))
    }

    /// Returns its choice among `choices` links at a node, where `salt` is drawn from the seed.
    pub(crate) fn choice(self, salt: u64, node: u32, choices: u64) -> u64 {
        mix64(self.0 ^ mix64(salt ^ u64::from(node))) % choices
    }

    /// Returns its value as a number, for draws of its sending end.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Returns the flow with this [number](Flow::number).
    pub(crate) fn of_number(number: u64) -> Flow {
        Flow(number)
    }

    /// Returns its order among the timers of the same instant: 60 bits. The index of the transport distinguishes
    /// connections that stay open between the same hosts.
    pub(crate) fn order(self, transport: u32) -> u64 {
        (self.0 << 8 | u64::from(transport & 0xff)) & ((1 << 60) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_differ_by_class_ordinal_and_hosts() {
        let flows = [
            Flow::of_message("a", 0),
            Flow::of_message("a", 1),
            Flow::of_message("b", 0),
            Flow::of_message("b", 1),
            Flow::of_pair(HostId(0), HostId(1)),
            Flow::of_pair(HostId(1), HostId(0)),
            Flow::of_pair(HostId(0), HostId(2)),
        ];
        for (i, flow) in flows.iter().enumerate() {
            assert!(flows[..i].iter().all(|other| other != flow && other.order(0) != flow.order(0)), "{i}");
        }
        assert!(flows[4].order(0) < flows[4].order(1) && flows[4].order(1) < 1 << 60);
    }
}
