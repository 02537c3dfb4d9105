//! `static`: each port has an equal part of the buffer.

use super::{Descriptor, Sharing};

/// Equal parts.
pub(super) const DESCRIPTOR: Descriptor =
    Descriptor { name: "static", help: "an equal part for each port", sharing: |_| Sharing::Static };
