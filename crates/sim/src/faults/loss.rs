//! `loss`: packets are lost.

use transport::Packet;
use units::{Default, Key, Kind, Problem, Range, Stream, Values};

use super::{Descriptor, Effect, Met, OnPacket, PROBABILITY};

/// Packets vanish, whatever their size.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "loss",
    help: "each packet vanishes with a probability, whatever its size, after it has taken its time on the link",
    aliases: &[("drop", "loss"), ("loss_rate", "probability"), ("p", "probability"), ("rate", "probability")],
    keys: &[PROBABILITY, OF],
    example: "probability = \"1%\"",
    outward: false,
    build,
};

const OF: Key = Key {
    name: "of",
    kind: Kind::Choice(&["all", "control", "data"]),
    default: Default::Is("all"),
    range: Range::ANY,
    help: "which packets: control are those without data, as acknowledgements, requests and grants",
    source: "",
};

#[derive(Debug)]
struct Loss {
    probability: f64,
    of: &'static str,
}

impl OnPacket for Loss {
    fn meets(&self, packet: &Packet, stream: &mut Stream) -> Met {
        let spared = match self.of {
            "control" => packet.payload > 0,
            "data" => packet.payload == 0,
            _ => false,
        };
        if !spared && stream.unit() < self.probability { Met::Lost } else { Met::Nothing }
    }
}

fn build(values: &Values) -> Result<Effect, Problem> {
    Ok(Effect::OnPackets(Box::new(Loss { probability: values.number("probability"), of: values.choice("of") })))
}
