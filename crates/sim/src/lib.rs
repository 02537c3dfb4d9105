//! The simulator: a deterministic, packet-level discrete-event engine.
//!
//! [`Scenario`] describes a simulation and can only be valid; [`Outcome`] has its results. Nothing here prints, reads a
//! file, a clock or the environment.

#![forbid(unsafe_code)]

mod class;
mod control_message;
mod cool_down;
pub mod cutoffs;
mod empty_network;
mod fabric;
pub mod faults;
mod flow;
mod framing;
mod hosts;
mod listed;
mod observe;
mod parallel;
pub mod priorities;
pub mod profile;
mod record;
mod requests;
pub mod run;
mod scenario;
mod schedule;
pub mod topology;
pub mod traffic;
mod world;

pub use class::{Class, Transport};
pub use empty_network::EmptyNetwork;
pub use fabric::network;
pub use fabric::plan::{PortGroup, Reason};
pub use fabric::port::LinkRole;
pub use flow::Incarnation;
pub use parallel::{ParallelRun, Slice, WallClock, Way, partition};
pub use record::outcome::{self, Outcome};
pub use record::packet_log::{Logged, PacketLog};
pub use record::rest::Rest;
pub use record::rows::BLOCK;
pub use requests::plan;
pub use scenario::Scenario;
pub use world::World;
pub use world::oracle::{Completed, Oracle, Transfer};
