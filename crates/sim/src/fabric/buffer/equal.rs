//! `static`: each port has an equal part of the buffer.

use super::{Descriptor, Sharing};

/// The policy of equal parts for all ports of a switch.
pub(super) const DESCRIPTOR: Descriptor =
    Descriptor { name: "static", help: "an equal part for each port", sharing: |_| Sharing::Static };
