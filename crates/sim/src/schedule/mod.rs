//! The order of a run: the event queue, and the rings between threads.

pub mod events;
pub mod ring;
