//! The simulator: a deterministic, packet-level discrete-event engine.
//!
//! [`Scenario`] says what to simulate and can only be valid; [`Outcome`] is what comes of it.
//! Nothing here prints, reads a file, a clock or the environment.

#![forbid(unsafe_code)]

mod connections;
mod cool_down;
pub mod discipline;
mod event;
mod flow;
mod ledger;
mod net;
pub mod network;
mod observe;
pub mod outcome;
pub mod priorities;
pub mod run;
mod scenario;
pub mod topology;
pub mod traffic;
mod world;

pub use outcome::Outcome;
pub use scenario::{Class, Scenario, Transport};
pub use world::World;
