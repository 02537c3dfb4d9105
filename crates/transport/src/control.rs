//! The congestion control of a connection, and the types that each family adds to packets and ports. They are matched,
//! not called through a pointer, so that they are inlined per packet.

use std::sync::Arc;

use units::{Bytes, Rate};

use crate::agent::Agent;
use crate::connection;
use crate::controllers::plugin::Law;
use crate::controllers::{Boxed, Controller, Priorities, Window};
use crate::families::families;

/// The configuration from which a connection is built; shared by all connections of one traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Parameters of segments, timers and loss recovery.
    pub connection: connection::Config,
    /// The control of its sending rate.
    pub control: Control,
}

impl Control {
    /// Returns the congestion controller of a window transport.
    pub fn law(&self) -> Option<&Controller> {
        match self {
            Control::Window(law) => Some(law),
            Control::Receive(own) => Some(&own.law),
            _ => None,
        }
    }
}

impl Config {
    /// Returns the law that was loaded at run time, if it is one.
    pub fn loaded(&self) -> Option<&Arc<dyn Law>> {
        let Controller::Boxed(law) = self.control.law()? else { return None };
        match &**law {
            Boxed::Plugin(plugin) => Some(plugin.law()),
            _ => None,
        }
    }

    /// Returns the division of messages into switch priorities, if there is one.
    pub fn priorities(&self) -> Option<&Priorities> {
        self.control.law().and_then(Controller::priorities)
    }

    /// Returns the number of priorities into which the controller divides its packets, if it does.
    pub fn levels(&self) -> Option<u8> {
        match &self.control {
            Control::Grants(own) => own.priorities(),
            other => other.law().and_then(Controller::levels),
        }
    }

    /// Returns true if one network can serve connections of both: a run has one set of agents of each family.
    pub fn shares_network_with(&self, other: &Config) -> bool {
        match (self.control.agents(), other.control.agents()) {
            (Some(own), Some(others)) => own == others || !own.same_family(&others),
            _ => true,
        }
    }
}

macro_rules! control {
    ($($(#[$doc:meta])* $Family:ident($module:ident)),* $(,)?) => {
        /// The control of a connection's sending rate.
        #[expect(clippy::large_enum_variant, reason = "a run has one for each transport")]
        #[derive(Clone, Debug, PartialEq)]
        pub enum Control {
            /// A window law in its first state, with its parameters.
            Window(Controller),
            $($(#[$doc])* $Family(crate::$module::Config)),*
        }

        /// The header that a family adds to a packet for the agents at its ports; opaque to all other code.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Header { $($(#[$doc])* $Family(Box<crate::$module::Header>)),* }

        /// The parameters of a family's agents; one set for all connections of a run.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Agents { $($(#[$doc])* $Family(crate::$module::Agents)),* }

        impl Control {
            /// Returns the agents that this family keeps at ports, if any.
            pub fn agents(&self) -> Option<Agents> {
                match self {
                    Control::Window(_) => None,
                    $(Control::$Family(own) => own.agents().map(Agents::$Family)),*
                }
            }
        }

        impl Header {
            /// Returns the records of a data packet into which ports write, if it has some.
            #[inline]
            pub fn records(&mut self) -> Option<&mut crate::telemetry::Records> {
                match self {
                    Header::Telemetry(records) => Some(records),
                    _ => None,
                }
            }
        }

        impl Agents {
            /// Returns true if these are of the same family, which has one set of parameters in a run.
            pub fn same_family(&self, other: &Agents) -> bool {
                std::mem::discriminant(self) == std::mem::discriminant(other)
            }
            /// Returns true if their answers count as requests for rates.
            pub fn count_requests(&self) -> bool {
                match self { $(Agents::$Family(_) => crate::$module::Agents::COUNTS_REQUESTS),* }
            }
            /// Returns the agent at a port with a link of this rate, each of whose frames costs `frame_overhead` beside
            /// its packet.
            pub fn at(&self, rate: Rate, frame_overhead: Bytes) -> Box<dyn Agent> {
                match self { $(Agents::$Family(own) => own.at(rate, frame_overhead)),* }
            }
        }
    };
}

families!(control);
