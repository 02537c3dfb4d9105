//! `fifo`: first in, first out. The ports do it by themselves.

use super::Descriptor;

/// First in, first out.
pub const DESCRIPTOR: Descriptor = Descriptor { name: "fifo", help: "first in, first out", keys: &[], queue: None };
