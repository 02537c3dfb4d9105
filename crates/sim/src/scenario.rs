//! A scenario as the simulator takes it: read, checked, and only valid ones can be made.

use crate::class::{Class, Transport};
use crate::faults::Fault;
use crate::network::Network;
use crate::run::Run;

/// Everything that one run needs.
pub struct Scenario {
    /// For reports.
    pub title: String,
    /// How long, from which seed, and what to watch.
    pub run: Run,
    /// Nodes, links, switches.
    pub network: Network,
    /// What goes wrong in it, one entry per `[[fault]]`.
    pub faults: Vec<Fault>,
    /// The name of `[transport]`, for reports.
    pub transport: String,
    /// The transports of all classes, each with its parameters.
    pub transports: Vec<Transport>,
    /// The traffic, one entry per `[[traffic]]`.
    pub classes: Vec<Class>,
}
