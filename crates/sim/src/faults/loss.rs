//! `loss`: packets vanish.

use transport::Packet;
use units::{Problem, Stream, Values};

use super::{Descriptor, Effect, Met, OnPacket, PROBABILITY};

/// Packets vanish, whatever their size.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "loss",
    help: "each packet vanishes with a probability, whatever its size, after it has taken its time on the link",
    aliases: &[("drop", "loss"), ("loss_rate", "probability"), ("p", "probability"), ("rate", "probability")],
    keys: &[PROBABILITY],
    outward: false,
    build,
};

#[derive(Debug)]
struct Loss {
    probability: f64,
}

impl OnPacket for Loss {
    fn meets(&self, _: &Packet, stream: &mut Stream) -> Met {
        if stream.unit() < self.probability { Met::Lost } else { Met::Nothing }
    }
}

fn build(values: &Values) -> Result<Effect, Problem> {
    Ok(Effect::OnPackets(Box::new(Loss { probability: values.number("probability") })))
}
