//! The traffic classes of a scenario, and the transports that they use.

use units::Bytes;

use crate::flow::Flow;
pub use crate::framing::Framing;
use crate::traffic::{Generator, Request};

/// One traffic class of a scenario.
pub struct Class {
    /// Name of the class.
    pub name: String,
    /// The group of classes that it is summed up with too.
    pub set: Option<String>,
    /// The name of its pattern.
    pub pattern: &'static str,
    /// Index of its transport in [`Scenario::transports`](crate::Scenario::transports).
    pub transport: usize,
    /// All messages of a pair of hosts share one connection; else each has its own.
    pub persistent: bool,
    /// The application's declaration of its flows (`xdctcp`): short, long, or none.
    pub short: Option<bool>,
    /// The priority of its packets, with any transport, if switches have priorities.
    pub priority: Option<u8>,
    /// The weight of the queue of its priority, or of packets without one, if switches share links by weight.
    pub weight: Option<f64>,
    /// The generator of its messages.
    pub generator: Box<dyn Generator>,
}

impl Class {
    /// Returns a copy that will send the same.
    pub(crate) fn again(&self) -> Class {
        let &Class { ref name, ref set, pattern, transport, persistent, short, priority, weight, ref generator } = self;
        let (name, set, generator) = (name.clone(), set.clone(), generator.again());
        Class { name, set, pattern, transport, persistent, short, priority, weight, generator }
    }

    /// Returns the flow of a message, which determines its route.
    pub(crate) fn flow_of(&self, request: &Request, ordinal: u64) -> Flow {
        match self.persistent {
            true => Flow::of_pair(request.from, request.to),
            false => Flow::of_message(&self.name, ordinal),
        }
    }

    /// Returns the division of its messages into packets.
    pub fn framing(&self, transport: &Transport, frame_overhead: Bytes) -> Framing {
        let connection = &transport.config.connection;
        Framing { mss: connection.mss, overhead: connection.header + frame_overhead.0 as u32, shared: self.persistent }
    }
}

/// A transport with its parameters.
#[derive(Clone)]
pub struct Transport {
    /// Its name in tables; in the list of transports, if it is no plug-in.
    pub name: &'static str,
    /// Its keys, needs and signals.
    pub entry: &'static transport::registry::Entry,
    /// Parameters of the transport.
    pub config: transport::registry::Config,
}

impl Transport {
    /// Returns its requirements on switches and hosts.
    pub fn needs(&self) -> &'static transport::Needs {
        &self.entry.needs
    }

    /// Returns its agents at the ports of the network, if it has any.
    pub fn agents(&self) -> Option<transport::Agents> {
        self.config.control.agents()
    }
}
