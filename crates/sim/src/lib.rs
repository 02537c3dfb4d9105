//! The simulator: a deterministic, packet-level discrete-event engine.
//!
//! [`Scenario`] says what to simulate and can only be valid; [`Outcome`] is what comes of it.
//! Nothing here prints, reads a file, a clock or the environment.

mod connections;
mod cool_down;
pub mod discipline;
mod event;
mod ledger;
mod net;
pub mod network;
pub mod outcome;
pub mod priorities;
pub mod rng;
pub mod run;
mod sampler;
mod scenario;
pub mod topology;
pub mod traffic;
mod world;

pub use outcome::Outcome;
pub use scenario::{Class, Problem, Scenario, Transport};
pub use world::World;
