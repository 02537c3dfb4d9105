//! `program`: messages that a program hands over during the run.

use units::Values;

use super::{Built, Context, Descriptor, Listed, Nature};

/// Messages that a program hands over during the run.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "program",
    help: "messages that a program hands over during the run (`duetime.Network` in Python); none in other runs",
    aliases: &[],
    keys: &[],
    nature: Nature::GIVEN,
    build,
};

fn build(_: &Values, _: &Context) -> Built {
    Ok(Listed::boxed(Vec::new()))
}
