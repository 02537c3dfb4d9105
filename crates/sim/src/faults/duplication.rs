//! `duplication`: packets arrive twice.

use transport::Packet;
use units::{Problem, Stream, Values};

use super::{Descriptor, Effect, Met, OnPacket, PROBABILITY};

/// The fault that makes packets arrive twice.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "duplication",
    help: "each packet arrives a second time with a probability, at the same instant; the copy takes no time on this link, and \
           travels on as any packet",
    aliases: &[("duplicate", "duplication"), ("duplicates", "duplication")],
    keys: &[PROBABILITY],
    example: "probability = \"2%\"\nshare = \"50%\"",
    outward: false,
    build,
};

#[derive(Debug)]
struct Duplication {
    probability: f64,
}

impl OnPacket for Duplication {
    fn meets(&self, _: &Packet, stream: &mut Stream) -> Met {
        if stream.unit() < self.probability { Met::Twice } else { Met::Nothing }
    }
}

fn build(values: &Values) -> Result<Effect, Problem> {
    Ok(Effect::OnPackets(Box::new(Duplication { probability: values.number("probability") })))
}
