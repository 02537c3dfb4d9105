//! The transports, pure: told what happens and when, they say what to send.
//!
//! They own no clock, queue, socket or thread. [`list::TRANSPORTS`] is the list of them all; a
//! window transport is one file under `laws/` and one line in that list.

pub mod connection;
pub mod laws;
pub mod list;
