//! A scenario in the simulator's form: read, checked, and always valid.

use units::{Bytes, Problem};

use crate::class::{Class, Transport};
use crate::fabric::network::Network;
use crate::fabric::plan::{Plan, PortGroup};
use crate::faults::Fault;
use crate::priorities::Priorities;
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

impl Scenario {
    /// Checks the network with the largest packets of the transports.
    ///
    /// # Errors
    /// A buffer of a lossless network is too small: the error is for a key of `[network]`.
    pub fn check(&self) -> Result<(), Problem> {
        self.network.check_lossless(largest_packet(&self.transports))
    }

    /// Returns a copy without faults: the same messages on the same network.
    #[must_use]
    pub fn without_faults(&self) -> Scenario {
        Scenario {
            title: self.title.clone(),
            run: self.run.clone(),
            network: self.network.clone(),
            faults: Vec::new(),
            transport: self.transport.clone(),
            transports: self.transports.clone(),
            classes: self.classes.iter().map(Class::again).collect(),
        }
    }

    /// Returns the network's ports by mode, each with the reason for it, as one thread begins the run.
    pub fn port_groups(&self) -> Vec<PortGroup> {
        let service = self.network.service(&self.transports, &Priorities::of(&self.transports, &self.classes));
        let largest = largest_packet(&self.transports) + self.network.frame_overhead;
        let has_agents = self.transports.iter().any(|transport| transport.agents().is_some());
        Plan::whole(&self.network, &service, largest, has_agents).groups()
    }
}

/// Returns the bytes of the largest packet of any transport, without its frame.
pub(crate) fn largest_packet(transports: &[Transport]) -> Bytes {
    let bytes = |transport: &Transport| {
        let connection = &transport.config.connection;
        Bytes::from(connection.mss) + Bytes::from(connection.header)
    };
    transports.iter().map(bytes).max().unwrap_or_default()
}
