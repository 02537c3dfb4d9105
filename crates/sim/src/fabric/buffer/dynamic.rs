//! `dynamic`: a queue may hold a multiple of the free part (Choudhury and Hahne 1998).

use super::{ALPHA, Descriptor, Sharing};

/// The policy of dynamic thresholds.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "dynamic",
    help: "a shared pool of which a port may hold `dynamic_alpha` times the free part",
    sharing: |values| Sharing::Dynamic(values.number(ALPHA.name)),
};
