//! Trimming: a queue in front of a discipline's for packets without payload, among them trimmed ones.

use transport::Packet;
use units::{Default, Key, Kind, Range, Values};

use super::Queue;
use super::ring::Ring;
use crate::fabric::level::{Length, Level};
use crate::fabric::packet_pool::Slot;

/// The keys of trimming in `[network]`.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "trim",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "a switch whose port has no room for a data packet drops its payload only, and sends its headers, like all packets \
               without payload, before other data; the receiver tells the sender at once what to send again (NACK); \
               window transports need loss_detection = \"rack\" for that, which is then their default",
        source: "Cheng et al., NSDI 2014 (CP); NDP (SIGCOMM 2017) 3.1; UEC 1.0, packet trimming",
    },
    Key {
        name: "trim_size",
        kind: Kind::Size,
        default: Default::Is("64 B"),
        range: Range::between(1.0, 1000.0),
        help: "with trim: wire bytes of a trimmed packet, or its headers where these are more; smaller packets are dropped",
        source: "UEC 1.0: at least what headers take; NDP: 64 B",
    },
    Key {
        name: "trim_buffer",
        kind: Kind::Amount,
        default: Default::Is("64 KB"),
        range: Range::POSITIVE,
        help: "with trim: the most packets without payload that a port queues beyond its buffer's limit, in packets or bytes; \
               more are dropped",
        source: "NDP 3.1: as much for headers as for data, 8 packets of 9000 B there",
    },
];

/// The parameters of trimming.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trim {
    /// Wire bytes of a trimmed packet, if its headers take no more.
    size: u16,
    /// Limit of the queue of packets without payload.
    limit: Level,
}

impl Trim {
    /// Returns the parameters if the checked values of `[network]` ask for trimming.
    pub(crate) fn from_values(values: &Values) -> Option<Trim> {
        if !values.find("trim").is_some_and(|_| values.bool("trim")) {
            return None;
        }
        let buffer = values.amount("trim_buffer");
        Some(Trim { size: values.size("trim_size").0 as u16, limit: Level::share(buffer, 1) })
    }

    /// Removes the payload of a data packet on the wire; returns false if that would save nothing.
    pub(crate) fn trims(self, packet: &mut Packet) -> bool {
        let trimmed = packet.size.saturating_sub(packet.payload).max(self.size);
        let smaller = !packet.is_trimmed() && packet.payload > trimmed;
        if smaller {
            packet.size = trimmed;
        }
        smaller
    }

    /// Returns whether a packet without payload may be queued behind packets of this `length`.
    pub(crate) fn has_room(self, length: Length, packet: &Packet) -> bool {
        let with_it = Length { packets: length.packets + 1, bytes: length.bytes + u64::from(packet.size) };
        !self.limit.exceeded(with_it)
    }
}

/// Returns whether a packet carries no payload any more, or never did.
pub(crate) fn is_control(packet: &Packet) -> bool {
    packet.payload == 0 || packet.is_trimmed()
}

/// A discipline's queue behind one for packets without payload, which is first in, first out.
pub(crate) struct Trimming {
    control: Ring,
    data: Box<dyn Queue>,
}

impl Trimming {
    /// Returns an empty queue for control packets in front of a discipline's.
    pub(crate) fn before(data: Box<dyn Queue>) -> Box<dyn Queue> {
        Box::new(Trimming { control: Ring::default(), data })
    }
}

impl Queue for Trimming {
    fn push(&mut self, slot: Slot) {
        if is_control(&slot.packet) { self.control.push(slot) } else { self.data.push(slot) }
    }
    fn pop(&mut self) -> Option<Slot> {
        if self.control.is_empty() {
            self.control.rewind();
            return self.data.pop();
        }
        Some(self.control.pop())
    }
    fn push_out(&mut self, arriving: &Packet) -> Option<Packet> {
        self.data.push_out(arriving)
    }
    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.control.iter().map(|slot| &slot.packet).chain(self.data.packets()))
    }
    fn length_of_class(&self, packet: &Packet) -> Length {
        self.data.length_of_class(packet)
    }
    fn drain_of(&self, packet: &Packet) -> (usize, f64) {
        self.data.drain_of(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;
    use units::{Amount, Bytes, Instant, Value};

    fn data(seq: u64, payload: u32) -> Packet {
        Packet::data(seq, payload, 40, Instant::ZERO, Flags::NONE)
    }

    fn trim(size: u64, buffer: Amount) -> Trim {
        let mut values = Values::default();
        values.set("trim", Value::Bool(true));
        values.set("trim_size", Value::Size(Bytes(size)));
        values.set("trim_buffer", Value::Amount(buffer));
        Trim::from_values(&values).expect("trim is true")
    }

    #[test]
    fn headers_are_left_and_nothing_small_is_trimmed() {
        let trim = trim(64, Amount::Packets(2));
        let mut packet = data(0, 1460);
        assert!(!is_control(&packet) && trim.trims(&mut packet));
        assert_eq!((packet.size, packet.payload, packet.is_trimmed()), (64, 1460, true));
        assert!(is_control(&packet) && !trim.trims(&mut packet), "once only");
        let mut long = Packet { size: 1600, ..data(0, 1460) };
        assert!(trim.trims(&mut long));
        assert_eq!(long.size, 140, "headers of 140 B");
        // 64 B of payload would become 64 B.
        assert!(!trim.trims(&mut data(0, 64)) && trim.trims(&mut data(0, 65)));
        let mut small = data(0, 64);
        assert!(!trim.trims(&mut small) && small.size == 104, "it keeps its size");
        let room = |packets| trim.has_room(Length { packets, bytes: 64 * packets }, &packet);
        assert_eq!([room(1), room(2)], [true, false]);
        assert_eq!(Trim::from_values(&Values::default()), None);
    }

    #[test]
    fn the_discipline_behind_pushes_out() {
        let discipline = super::super::find("pfabric").expect("a discipline");
        let mut queue = Trimming::before((discipline.queue)(&Values::default(), &[1.0]));
        queue.push(Slot { at: Instant::ZERO, packet: Packet { rank: 9, ..data(4, 1460) } });
        let out = queue.push_out(&Packet { rank: 1, ..data(0, 1460) });
        assert_eq!(out.map(|packet| packet.seq), Some(4));
    }

    #[test]
    fn what_has_no_payload_is_sent_first() {
        let mut queue =
            Trimming::before((super::super::find("fifo").expect("a discipline").queue)(&Values::default(), &[1.0]));
        let mut trimmed = data(2, 1460);
        trim(64, Amount::Packets(9)).trims(&mut trimmed);
        for packet in [data(0, 1460), data(1, 1460), trimmed, Packet::ack(3, 40, Instant::ZERO, Flags::NONE)] {
            queue.push(Slot { at: Instant::ZERO, packet });
        }
        assert_eq!(queue.packets().count(), 4);
        let sent: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|slot| slot.packet.seq).collect();
        assert_eq!(sent, [2, 3, 0, 1]);
    }
}
