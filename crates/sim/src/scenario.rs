//! A scenario in the simulator's form: read, checked, and always valid.

use crate::class::{Class, Transport};
use crate::fabric::network::Network;
use crate::faults::Fault;
use crate::run::Run;

/// Everything that one run needs.
pub struct Scenario {
    /// Title of the scenario, for reports.
    pub title: String,
    /// Duration, seed and signals of the run.
    pub run: Run,
    /// Nodes, links and switches.
    pub network: Network,
    /// The faults, one entry per `[[fault]]`.
    pub faults: Vec<Fault>,
    /// The name of `[transport]`, for reports.
    pub transport: String,
    /// The transports of all classes, each with its parameters.
    pub transports: Vec<Transport>,
    /// The traffic, one entry per `[[traffic]]`.
    pub classes: Vec<Class>,
}
