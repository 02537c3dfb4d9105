//! The order of a run: the event queue, and the rings between threads.

pub(crate) mod events;
pub(crate) mod ring;
