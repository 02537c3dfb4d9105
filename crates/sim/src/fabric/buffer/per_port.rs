//! `per-port`: each port has a buffer of its own.

use super::{Descriptor, Sharing};

/// The policy of a whole buffer for each port.
pub(super) const DESCRIPTOR: Descriptor =
    Descriptor { name: "per-port", help: "all of it for each port", sharing: |_| Sharing::PerPort };
