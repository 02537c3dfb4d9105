//! The traffic classes of a scenario, and the transports that they use.

use units::Bytes;

use crate::outcome::Framing;
use crate::traffic::Generator;

/// One traffic class.
pub struct Class {
    /// Its name.
    pub name: String,
    /// The group of classes that it is summed up with too.
    pub set: Option<String>,
    /// The name of its pattern.
    pub pattern: &'static str,
    /// Index into [`Scenario::transports`](crate::Scenario::transports).
    pub transport: usize,
    /// All messages of a pair of hosts share one connection; else each has its own.
    pub persistent: bool,
    /// What the application says of its flows (`xdctcp`): short, long, or nothing.
    pub short: Option<bool>,
    /// The priority of its packets, whatever its transport, where switches have priorities.
    pub priority: Option<u8>,
    /// Where its messages come from.
    pub generator: Box<dyn Generator>,
}

impl Class {
    /// Another one that will send the same.
    pub(crate) fn again(&self) -> Class {
        let &Class { ref name, ref set, pattern, transport, persistent, short, priority, ref generator } = self;
        let (name, set, generator) = (name.clone(), set.clone(), generator.again());
        Class { name, set, pattern, transport, persistent, short, priority, generator }
    }

    /// How its messages become packets.
    pub fn framing(&self, transport: &Transport, frame_overhead: Bytes) -> Framing {
        let connection = &transport.config.connection;
        Framing { mss: connection.mss, overhead: connection.header + frame_overhead.0 as u32, shared: self.persistent }
    }
}

/// A transport with its parameters.
#[derive(Clone)]
pub struct Transport {
    /// Its name in the list of transports.
    pub name: &'static str,
    /// Its parameters.
    pub config: transport::registry::Config,
}

impl Transport {
    /// What it needs of switches and hosts.
    pub fn needs(&self) -> &'static transport::Needs {
        &transport::registry::find(self.name).expect("it is in the list").needs
    }

    /// What it needs at the ports of the network, if it talks to them.
    pub fn agents(&self) -> Option<transport::Agents> {
        self.config.control.agents()
    }
}
