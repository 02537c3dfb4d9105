//! What decides how fast a connection sends, and what each family brings to packets and ports: matched, not called
//! through a pointer, so that they are inlined per packet.

use units::{Bytes, Rate};

use crate::agent::Agent;
use crate::connection;
use crate::families::families;
use crate::laws::{Law, Priorities, Window};

/// What a connection is built from; shared by all connections of one traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Segments, timers, loss recovery.
    pub connection: connection::Config,
    /// What decides how fast it sends.
    pub control: Control,
}

impl Config {
    /// How messages are divided into switch priorities, if they are.
    pub fn priorities(&self) -> Option<&Priorities> {
        match &self.control {
            Control::Window(law) => law.priorities(),
            _ => None,
        }
    }

    /// Into how many priorities its packets are divided by its law, if they are.
    pub fn levels(&self) -> Option<u8> {
        match &self.control {
            Control::Window(law) => law.levels(),
            Control::Grants(own) => own.levels.map(|levels| levels.count as u8),
            _ => None,
        }
    }

    /// Whether one network can serve connections of both: a run has one set of agents of each family.
    pub fn shares_network_with(&self, other: &Config) -> bool {
        match (self.control.agents(), other.control.agents()) {
            (Some(own), Some(others)) => own == others || !own.same_family(&others),
            _ => true,
        }
    }
}

macro_rules! control {
    ($($(#[$doc:meta])* $Family:ident($module:ident)),* $(,)?) => {
        /// What decides how fast a connection sends.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Control {
            /// A window law in its first state, with its parameters.
            Window(Law),
            $($(#[$doc])* $Family(crate::$module::Config)),*
        }

        /// What a family adds to a packet for the agents at its ports; opaque to everybody else.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Header { $($(#[$doc])* $Family(Box<crate::$module::Header>)),* }

        /// What a family's agents are built from; one set for all connections of a run.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Agents { $($(#[$doc])* $Family(crate::$module::Agents)),* }

        impl Control {
            /// What this family keeps at ports, if anything.
            pub fn agents(&self) -> Option<Agents> {
                match self {
                    Control::Window(_) => None,
                    $(Control::$Family(own) => own.agents().map(Agents::$Family)),*
                }
            }
            /// Whether the numbers of connections decide who of equals comes first, somewhere in this family.
            pub fn goes_by_numbers(&self) -> bool {
                match self {
                    Control::Window(_) => false,
                    $(Control::$Family(_) => crate::$module::GOES_BY_NUMBERS),*
                }
            }
        }

        impl Agents {
            /// Whether these are of the same family, which has one set of parameters in a run.
            pub fn same_family(&self, other: &Agents) -> bool {
                std::mem::discriminant(self) == std::mem::discriminant(other)
            }
            /// Whether what they answer is to be counted as requests for rates.
            pub fn count_requests(&self) -> bool {
                match self { $(Agents::$Family(_) => crate::$module::Agents::COUNTS_REQUESTS),* }
            }
            /// The agent at a port with a link of this rate, each of whose frames costs `frame_overhead`
            /// beside its packet.
            pub fn at(&self, rate: Rate, frame_overhead: Bytes) -> Box<dyn Agent> {
                match self { $(Agents::$Family(own) => own.at(rate, frame_overhead)),* }
            }
        }
    };
}

families!(control);
