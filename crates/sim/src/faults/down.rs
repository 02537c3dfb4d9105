//! `down`: links that carry nothing.

use units::{Default, Key, Kind, Problem, Range, Values};

use super::{Descriptor, Effect};

/// Links that carry nothing for a while.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "down",
    help: "links carry nothing: what waits for them or travels on them when it begins is lost, and so is what comes to \
           their ports until it ends",
    aliases: &[("cut", "down"), ("failure", "down"), ("link-down", "down"), ("outage", "down")],
    keys: KEYS,
    example: "link = \"host 5\"\nat = \"10 ms\"\nuntil = \"20 ms\"",
    outward: false,
    build,
};

const KEYS: &[Key] = &[Key {
    name: "reroute",
    kind: Kind::Time,
    default: Default::Is("65 ms"),
    range: Range::at_least(0.0),
    help: "how old is what routing knows: flows take the shortest of the other ways when this has passed, if there is one, \
           and return when it has passed since the end",
    source: "PortLand (Mysore et al., SIGCOMM 2009), section 5: 65 ms after a single failure; switches that act on what they \
             see themselves need 1 ms or less, BGP with default timers many seconds",
}];

fn build(values: &Values) -> Result<Effect, Problem> {
    Ok(Effect::Down { reroute: values.time("reroute") })
}
