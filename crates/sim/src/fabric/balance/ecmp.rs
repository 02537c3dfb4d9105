//! `ecmp`: the hash of a flow decides, once.

use super::{Chooser, Descriptor, Sprays};

/// The balancer of one path for each flow.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "ecmp",
    help: "a hash of the flow chooses, so that all its packets take one path",
    keys: &[],
    chooser: Chooser::Hash,
    listens: false,
    sprays: Sprays::Nowhere,
};
