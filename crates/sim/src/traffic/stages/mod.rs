//! `stages`: requests of several stages, which wait for each other.

mod keys;

use units::{Problem, Values};

use super::{Built, Context, Descriptor, Nature};

/// Requests of several stages.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "stages",
    help: "requests of stages of messages and work: what starts at a host starts when everything of the stages that it \
           follows has ended there",
    aliases: &[],
    keys: keys::KEYS,
    nature: Nature { waits: true, ..Nature::GIVEN },
    build,
};

fn build(_: &Values, _: &Context) -> Built {
    Err(Problem::new("pattern", "is written elsewhere"))
}
