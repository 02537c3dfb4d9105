//! `no-marks`: a switch stops marking.

use units::{Problem, Values};

use super::{Descriptor, Effect};

/// The fault that stops ports from marking.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "no-marks",
    help: "ports mark nothing, and drop nothing for being above the threshold: a switch that lost its ECN settings",
    aliases: &[("ecn-off", "no-marks"), ("unmarked", "no-marks")],
    keys: &[],
    example: "link = \"switch\"\nat = \"20 ms\"\nuntil = \"40 ms\"",
    outward: true,
    build,
};

fn build(_: &Values) -> Result<Effect, Problem> {
    Ok(Effect::Unmarked)
}
