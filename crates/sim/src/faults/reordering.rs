//! `reordering`: packets are delayed and overtaken.

use transport::Packet;
use units::{Default, Key, Kind, Problem, Range, Span, Stream, Values};

use super::{Descriptor, Effect, Met, OnPacket, PROBABILITY};

/// The fault that delays packets so that others overtake them.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "reordering",
    help: "each packet is held back with a probability, and those behind it overtake it",
    aliases: &[("delay", "by"), ("reorder", "reordering")],
    keys: KEYS,
    example: "probability = \"2%\"\nby = \"200 us\"",
    outward: false,
    build,
};

const KEYS: &[Key] = &[
    PROBABILITY,
    Key {
        name: "by",
        kind: Kind::Time,
        default: Default::Required,
        range: Range::POSITIVE,
        help: "a packet that is held back arrives up to so much later, drawn evenly",
        source: "",
    },
];

#[derive(Debug)]
struct Reordering {
    probability: f64,
    by: Span,
}

impl OnPacket for Reordering {
    fn meets(&self, _: &Packet, stream: &mut Stream) -> Met {
        if stream.unit() >= self.probability {
            return Met::Nothing;
        }
        Met::Late(Span(1 + stream.below(self.by.0)))
    }
}

fn build(values: &Values) -> Result<Effect, Problem> {
    Ok(Effect::OnPackets(Box::new(Reordering { probability: values.number("probability"), by: values.time("by") })))
}
