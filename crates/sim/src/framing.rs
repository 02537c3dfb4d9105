//! The division of messages into packets, and the time that they take on a link.

use units::{Bytes, Rate};

/// The division of a class's messages into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Maximum payload bytes of a packet.
    pub mss: u32,
    /// Wire bytes of a packet beside its payload: headers and the frame's.
    pub overhead: u32,
    /// A packet may hold the end of one message and the start of the next: they share a connection.
    pub shared: bool,
}

impl Framing {
    /// Returns the size on the wire of the smallest packet that carries payload of a message. It may be the first to start
    /// at the receiver's port (earlier ones were dropped) and the last to leave the sender's. On a shared connection a
    /// packet may begin or end anywhere in the message.
    pub fn smallest_packet(&self, bytes: Bytes) -> Bytes {
        let mss = Bytes::from(self.mss);
        let payload = if self.shared { Bytes(1) } else { bytes - mss * (bytes.pieces(mss) - 1) };
        payload + self.overhead.into()
    }

    /// Returns the least time for which a message occupies a link: with its payload, and the headers of as few packets as
    /// possible. A port rounds the time of a packet, to at most a picosecond less than exact; so each packet counts a
    /// picosecond less. On a shared connection a message may share its first and last packet with others, so the header
    /// counts in proportion to the payload.
    pub fn work(&self, bytes: Bytes, rate: Rate) -> u64 {
        const BYTE: u128 = 8_000_000_000_000;
        let (bytes, mss, overhead, rate) =
            (u128::from(bytes.0), u128::from(self.mss), u128::from(self.overhead), u128::from(rate.0.max(1)));
        let ps = if overhead * BYTE < rate {
            // A header costs less than the picosecond, so many small packets are the cheapest.
            (bytes * BYTE / rate).saturating_sub(bytes)
        } else if self.shared {
            bytes * ((mss + overhead) * BYTE - rate) / (mss * rate)
        } else {
            let packets = bytes.div_ceil(mss);
            ((bytes + packets * overhead) * BYTE / rate).saturating_sub(packets)
        };
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMING: Framing = Framing { mss: 1460, overhead: 40, shared: false };
    const SHARED: Framing = Framing { shared: true, ..FRAMING };

    #[test]
    fn a_link_carries_payload_and_headers() {
        let gbps = Rate::from_gbps(1);
        // Full packets take 12 us, less a picosecond for each.
        assert_eq!(FRAMING.work(Bytes(14_600), gbps), 10 * 12_000_000 - 10);
        // A byte more costs a packet more, unless it can share the packet of the next message.
        assert_eq!(FRAMING.work(Bytes(14_601), gbps), 120_000_000 + 41 * 8_000 - 11);
        assert_eq!(SHARED.work(Bytes(14_600), gbps), 10 * 12_000_000 - 10);
        assert_eq!(SHARED.work(Bytes(1), gbps), 8219);
        let bare = Framing { overhead: 0, ..FRAMING };
        assert_eq!(bare.work(Bytes(1000), gbps), 8_000_000 - 1000);
    }

    #[test]
    fn packets_are_full_until_a_header_costs_less_than_rounding_saves() {
        let framing = Framing { overhead: 1, ..FRAMING };
        let of_a_kilobyte = |gbps| framing.work(Bytes(1000), Rate::from_gbps(gbps));
        // One packet of 1001 B, less a picosecond, up to 8 Tbps, at which a byte takes a picosecond.
        assert_eq!([7_999, 8_000].map(of_a_kilobyte), [1000; 2]);
        // Beyond that, packets of one byte: the picosecond that a port may save on each is all that its payload takes.
        assert_eq!(of_a_kilobyte(8_001), 0);
    }

    #[test]
    fn it_is_never_more_than_the_ports_take() {
        for rate in [Rate(10_000), Rate(333_333_333), Rate::from_gbps(11), Rate::from_gbps(7_000)] {
            for (mss, overhead) in [(1, 40), (1, 0), (1460, 0), (1460, 1), (1460, 78), (9000, 40)] {
                for bytes in [1, 2, 1459, 1460, 1461, 29_201, 1_000_003] {
                    let of = |size: u64| rate.transmission().of(Bytes(size + overhead)).0;
                    let (full, rest) = (bytes / mss, bytes % mss);
                    let taken = full * of(mss) + if rest > 0 { of(rest) } else { 0 };
                    for shared in [false, true] {
                        let framing = Framing { mss: mss as u32, overhead: overhead as u32, shared };
                        assert!(framing.work(Bytes(bytes), rate) <= taken, "{bytes} B at {rate} in {framing:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn amounts_without_end_do_not_overflow() {
        assert_eq!(FRAMING.work(Bytes(1 << 50), Rate(10_000)), u64::MAX);
        assert_eq!(Framing { mss: 60_000, overhead: 4000, shared: true }.work(Bytes(1 << 50), Rate(1)), u64::MAX);
    }

    #[test]
    fn the_smallest_packet_is_the_last() {
        assert_eq!(FRAMING.smallest_packet(Bytes(1461)), Bytes(41));
        assert_eq!(FRAMING.smallest_packet(Bytes(2920)), Bytes(1500));
        assert_eq!(SHARED.smallest_packet(Bytes(2920)), Bytes(41));
    }
}
