//! The list of transports: dispatch, command-line help, the scenario schema and the documentation
//! follow from it.

use units::{Key, Values};

use crate::connection;
use crate::families;
pub use crate::families::Control;
use crate::laws::{Priorities, Window};

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

impl Config {
    /// How messages are divided into switch priorities, if they are.
    pub fn priorities(&self) -> Option<&Priorities> {
        match &self.control {
            Control::Window(law) => law.priorities(),
            _ => None,
        }
    }
}

/// Every transport, family by family.
pub const TRANSPORTS: &[Descriptor] = &every();

const COUNT: usize = {
    let (mut count, mut family) = (0, 0);
    while family < families::DESCRIPTORS.len() {
        count += families::DESCRIPTORS[family].len();
        family += 1;
    }
    count
};

const fn every() -> [Descriptor; COUNT] {
    let mut all = [families::DESCRIPTORS[0][0]; COUNT];
    let (mut at, mut family) = (0, 0);
    while family < families::DESCRIPTORS.len() {
        let mut i = 0;
        while i < families::DESCRIPTORS[family].len() {
            all[at] = families::DESCRIPTORS[family][i];
            at += 1;
            i += 1;
        }
        family += 1;
    }
    all
}

/// The transport of that name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    TRANSPORTS.iter().find(|transport| transport.name == name)
}
