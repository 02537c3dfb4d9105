//! The list of transports: dispatch, command-line help, the scenario schema and the documentation
//! follow from it.

use units::{Key, Problem, Values};

use crate::connection;
use crate::explicit;
use crate::laws::{self, Law, Priorities, Window};

/// One transport: its name, what it is, its parameters and how they become a configuration.
#[derive(Clone, Copy)]
pub struct Descriptor {
    /// As written in scenario files and on the command line.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Its parameters, in groups: what all connections share, then its own.
    pub groups: &'static [&'static [Key]],
    /// From checked values to a configuration. Panics when a declared key is missing: our bug.
    pub build: fn(&Values) -> Config,
}

impl Descriptor {
    /// A configuration with these settings, each written as in a scenario file without quotes, and the defaults
    /// of the other parameters.
    ///
    /// # Errors
    /// A parameter that this transport does not have, or a value that it does not take.
    pub fn with(&self, settings: &[(&str, &str)]) -> Result<Config, Problem> {
        Ok((self.build)(&Values::read(self.keys(), settings)?))
    }
    /// Every parameter, shared ones first.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}

/// What a connection is built from; shared by all connections of one traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Segments, timers, loss recovery.
    pub connection: connection::Config,
    /// What decides how fast it sends.
    pub control: Control,
}

/// What decides how fast a connection sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A window law in its first state, with its parameters.
    Window(Law),
    /// Rates that the network grants.
    Explicit(explicit::Config),
}

impl Config {
    /// How messages are divided into switch priorities, if they are.
    pub fn priorities(&self) -> Option<&Priorities> {
        match &self.control {
            Control::Window(law) => law.priorities(),
            Control::Explicit(_) => None,
        }
    }
}

/// Every transport.
pub const TRANSPORTS: &[Descriptor] = &every();

const fn every() -> [Descriptor; laws::DESCRIPTORS.len() + explicit::DESCRIPTORS.len()] {
    let mut all = [laws::DESCRIPTORS[0]; laws::DESCRIPTORS.len() + explicit::DESCRIPTORS.len()];
    let mut i = 1;
    while i < all.len() {
        let windows = laws::DESCRIPTORS.len();
        all[i] = if i < windows { laws::DESCRIPTORS[i] } else { explicit::DESCRIPTORS[i - windows] };
        i += 1;
    }
    all
}

/// The transport of that name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    TRANSPORTS.iter().find(|transport| transport.name == name)
}
