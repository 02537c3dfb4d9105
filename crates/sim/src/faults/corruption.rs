//! `corruption`: bits flip, and the checksum of the frame is wrong.

use transport::Packet;
use units::{Default, Key, Kind, Problem, Range, Stream, Values};

use super::{Descriptor, Effect, Met, OnPacket};

/// Bits flip, and the other end discards the packet.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "corruption",
    help: "each bit is wrong with a probability, and a packet with a wrong bit is discarded at the end of the link: longer \
           packets more often than ACKs",
    aliases: &[("ber", "bit_error_rate"), ("bit-errors", "corruption"), ("corrupt", "corruption")],
    keys: KEYS,
    example: "bit_error_rate = 1e-6",
    outward: false,
    build,
};

const KEYS: &[Key] = &[Key {
    name: "bit_error_rate",
    kind: Kind::Number,
    default: Default::Required,
    range: Range::above(0.0, 1.0),
    help: "probability that a bit is wrong, independent of all others; frames' overhead counts",
    source: "IEEE 802.3 asks for 1e-12 at most; a bad transceiver or cable has 1e-8 and more",
}];

#[derive(Debug)]
struct Corruption {
    /// Logarithm of the probability that a byte is right.
    byte_is_right: f64,
}

impl OnPacket for Corruption {
    fn meets(&self, packet: &Packet, stream: &mut Stream) -> Met {
        let wrong = -libm::expm1(f64::from(packet.size) * self.byte_is_right);
        if stream.unit() < wrong { Met::Lost } else { Met::Nothing }
    }
}

fn build(values: &Values) -> Result<Effect, Problem> {
    let byte_is_right = 8.0 * libm::log1p(-values.number("bit_error_rate"));
    Ok(Effect::OnPackets(Box::new(Corruption { byte_is_right })))
}
