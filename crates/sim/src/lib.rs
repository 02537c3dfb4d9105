//! The simulator: a deterministic, packet-level discrete-event engine.
//!
//! [`Scenario`] describes a simulation and can only be valid; [`Outcome`] has its results. Nothing here prints, reads a
//! file, a clock or the environment.

#![forbid(unsafe_code)]

mod class;
mod cool_down;
pub mod cutoffs;
mod event;
pub mod faults;
mod flow;
mod hosts;
mod ledger;
mod listed;
mod net;
pub mod network;
mod notice;
mod observe;
pub mod outcome;
mod pairs;
mod parallel;
mod port;
pub mod priorities;
pub mod profile;
mod rows;
pub mod run;
mod scenario;
pub mod topology;
pub mod traffic;
mod world;

pub use class::{Class, Transport};
pub use observe::{Logged, PacketLog};
pub use outcome::Outcome;
pub use parallel::{Simulation, Team, Terms};
pub use rows::BLOCK;
pub use scenario::Scenario;
pub use world::World;
