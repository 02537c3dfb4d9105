//! The registry of transports: dispatch, command-line help, the scenario schema and the documentation
//! follow from it.

use units::{Alias, Key, Problem, Values};

pub use crate::control::{Config, Control};
use crate::controllers::plugin::{self, Described, Plugin};
use crate::controllers::{self, Controller};
use crate::descriptor::{Build, Descriptor, Needs, Surroundings};
use crate::families::families;
use crate::{Catalog, Signal, connection, receive};

/// All transports, family by family.
pub const TRANSPORTS: &[Entry] = &entries();

/// Returns the transport of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TRANSPORTS.iter().find(|transport| transport.name == name)
}

/// The signals of the sending ends of all transports.
pub const SIGNALS: &Catalog = &{
    let mut all = Catalog::of(connection::SIGNALS);
    let mut i = 0;
    while i < TRANSPORTS.len() {
        all = all.with(TRANSPORTS[i].shared_signals).with(TRANSPORTS[i].signals);
        i += 1;
    }
    all
};

/// One transport: its name, description and parameters, and the function that makes them a configuration.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name in scenario files and on the command line.
    pub name: &'static str,
    /// One sentence about the transport.
    pub help: &'static str,
    /// The paper, RFC or code that defines it.
    pub source: &'static str,
    /// Other words for its name or for one of its own parameters.
    pub aliases: &'static [Alias],
    /// The needs of the transport from switches and hosts.
    pub needs: Needs,
    groups: &'static [&'static [Key]],
    shared_signals: &'static [Signal],
    signals: &'static [Signal],
    /// The shared parameters that it reads; none: all.
    reads: Option<&'static [&'static str]>,
    builder: Builder,
}

impl Entry {
    /// Returns every parameter, shared ones first, but for the ones that it declares anew.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let groups = self.groups;
        let own = move || groups.iter().flat_map(|group| group.iter());
        let shared = connection::KEYS.iter().chain(receive::KEYS);
        shared.filter(move |shared| own().all(|own| own.name != shared.name)).chain(own())
    }

    /// Returns true if it uses a parameter of [`Entry::keys`]. A family whose ends have no window takes the shared
    /// parameters of windows, so that one file can be run under all transports, and ignores them.
    pub fn reads(&self, key: &str) -> bool {
        if receive::KEYS.iter().any(|shared| shared.name == key) {
            return self.by_senders();
        }
        let own = || self.groups.iter().flat_map(|group| group.iter()).any(|own| own.name == key);
        self.reads.is_none_or(|read| read.contains(&key) || own())
    }

    /// Returns true if it declares a shared parameter anew, with another default or another rule.
    pub fn redeclares(&self, key: &str) -> bool {
        let own = || self.groups.iter().flat_map(|group| group.iter()).any(|own| own.name == key);
        connection::KEYS.iter().any(|shared| shared.name == key) && own()
    }

    /// Returns the signals of its sending ends.
    pub fn signals(&self) -> impl Iterator<Item = &'static Signal> + use<> {
        self.shared_signals.iter().chain(self.signals)
    }

    /// Builds a configuration for a network from checked values of [`Entry::keys`]. Sets the values that follow from
    /// the network or from other values.
    ///
    /// # Errors
    /// If values contradict each other. Panics when a declared key is missing: our bug.
    pub fn build(&self, values: &mut Values, surroundings: &Surroundings) -> Result<Config, Problem> {
        (self.needs.settle)(values, surroundings);
        connection::settle(values, surroundings);
        receive::settle(values, surroundings);
        let connection = connection::Config::from_values(values)?;
        let control = self.builder.build(values, &connection)?;
        if connection.goes_back && !matches!(control, Control::Window(_)) {
            let problem = "\"go-back-n\" needs senders that decide by ACKs alone";
            return Err(Problem::new("recovery", problem).hint("write recovery = \"sack\""));
        }
        Ok(Config { connection, control })
    }

    /// Returns a configuration for the network of [`Surroundings::default`]. The settings are written as in a scenario
    /// file without quotes; other parameters have their defaults.
    ///
    /// # Errors
    /// If this transport does not have a parameter or does not take a value, and the errors of [`Entry::build`].
    pub fn with(&self, settings: &[(&str, &str)]) -> Result<Config, Problem> {
        self.build(&mut Values::read(self.keys(), settings)?, &Surroundings::default())
    }

    /// Returns true if its senders decide by themselves, from ACKs: neither switches nor receivers allot rates.
    pub const fn by_senders(&self) -> bool {
        matches!(self.builder, Builder::Window(_) | Builder::Plugin(_))
    }

    /// Returns a transport that is loaded at run time, which is in no list.
    pub fn of_plugin(own: &'static Described) -> Entry {
        let &Described { name, help, source, keys, ecn, .. } = own;
        Entry {
            name,
            help,
            source,
            aliases: plugin::ALIASES,
            needs: plugin::needs(ecn),
            groups: keys,
            shared_signals: connection::SIGNALS,
            signals: &[],
            reads: None,
            builder: Builder::Plugin(own),
        }
    }

    const fn of<T>(
        own: &Descriptor<T>,
        shared_signals: &'static [Signal],
        reads: Option<&'static [&'static str]>,
        builder: Builder,
    ) -> Entry {
        let &Descriptor { name, help, source, aliases, needs, groups, signals, .. } = own;
        Entry { name, help, source, aliases, needs, groups, shared_signals, signals, reads, builder }
    }
}

macro_rules! entries {
    ($($(#[$doc:meta])* $Family:ident($module:ident)),* $(,)?) => {
        /// The number of transports.
        const COUNT: usize = controllers::DESCRIPTORS.len() $(+ crate::$module::DESCRIPTORS.len())*;

        /// Returns the transports of all families.
        const fn entries() -> [Entry; COUNT] {
            const fn window(i: usize) -> Entry {
                let own = &controllers::DESCRIPTORS[i];
                Entry::of(own, connection::SIGNALS, None, Builder::Window(own.build))
            }
            let mut all = [window(0); COUNT];
            let mut at = controllers::DESCRIPTORS.len();
            let mut i = 0;
            while i < at {
                all[i] = window(i);
                i += 1;
            }
            $(
                let own: &[Descriptor<crate::$module::Config>] = crate::$module::DESCRIPTORS;
                let mut i = 0;
                while i < own.len() {
                    all[at + i] = Entry::of(&own[i], &[], crate::$module::READS, Builder::$Family(own[i].build));
                    i += 1;
                }
                at += own.len();
            )*
            assert!(at == COUNT);
            all
        }

        /// The function that builds a transport, by its family.
        #[derive(Clone, Copy)]
        enum Builder {
            Window(Build<Controller>),
            Plugin(&'static Described),
            $($Family(Build<crate::$module::Config>)),*
        }

        impl Builder {
            fn build(self, values: &mut Values, shared: &connection::Config) -> Result<Control, Problem> {
                let window = |values: &Values, law| match receive::Schedule::from_values(values, shared) {
                    None => Control::Window(law),
                    Some(schedule) => Control::Receive(receive::Config { law, schedule }),
                };
                match self {
                    Builder::Window(build) => build(values, shared).map(|law| window(values, law)),
                    Builder::Plugin(own) => {
                        let law = own.module.law(values).map_err(|message| Problem::new("plugin", message))?;
                        Ok(window(values, Controller::from(Plugin::new(law))))
                    }
                    $(Builder::$Family(build) => build(values, shared).map(Control::$Family)),*
                }
            }
        }
    };
}

families!(entries);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_builds_from_its_defaults() {
        for transport in TRANSPORTS {
            transport.with(&[]).unwrap_or_else(|problem| panic!("{}: {problem}", transport.name));
        }
    }

    #[test]
    fn what_does_not_fit_is_a_problem_at_its_key() {
        let problem = |name, settings: &[(&str, &str)]| find(name).unwrap().with(settings).unwrap_err().key;
        assert_eq!(problem("tcp", &[("rto_max", "1 ms")]), "rto_max");
        assert_eq!(problem("d3", &[("rto_min", "100 s")]), "rto_min");
        assert_eq!(problem("d3", &[("recovery", "go-back-n")]), "recovery");
        assert_eq!(problem("tcp", &[("d_cap", "2")]), "d_cap");
        assert_eq!(problem("tcppr", &[("limits", "1 ms, 2 ms"), ("classes", "2")]), "classes");
    }

    #[test]
    fn what_is_read_is_there_to_be_written() {
        for transport in TRANSPORTS {
            for name in transport.reads.into_iter().flatten() {
                assert!(connection::KEYS.iter().any(|key| key.name == *name), "{}: {name}", transport.name);
            }
        }
        let reads = |name, key| find(name).unwrap().reads(key);
        assert!(reads("tcp", "initial_window") && reads("mcp-opt", "initial_window"));
        assert!(reads("d3", "rto_min") && !reads("d3", "initial_window") && reads("d3", "expiry"));
        assert!(reads("homa", "mss") && !reads("homa", "rto_min"));
    }

    #[test]
    fn key_is_redeclared_if_it_is_shared_and_own() {
        let redeclares = |name, key| find(name).unwrap().redeclares(key);
        assert!(redeclares("pfabric", "rto_min"));
        assert!(!redeclares("tcp", "rto_min"), "shared only");
        assert!(!redeclares("pfabric", "mss"), "shared only");
        assert!(!redeclares("pfabric", "probe_after"), "its own only");
        assert!(!redeclares("pfabric", "d_cap"), "neither");
    }

    #[test]
    fn limits_settle_the_number_of_classes() {
        let tcppr = find("tcppr").unwrap();
        let mut values = Values::read(tcppr.keys(), &[("limits", "1 ms, 2 ms")]).unwrap();
        let config = tcppr.build(&mut values, &Surroundings::default()).unwrap();
        assert_eq!((values.count("classes"), config.priorities().unwrap().classes), (3, 3));
    }

    #[test]
    fn signals_of_one_name_are_one_signal() {
        for transport in TRANSPORTS {
            for signal in transport.signals() {
                assert_eq!(SIGNALS.find(signal.name), Some(signal), "{}: {}", transport.name, signal.name);
            }
        }
    }

    #[test]
    fn every_alias_stands_for_a_name_or_a_key() {
        for transport in TRANSPORTS {
            for (word, meant) in transport.aliases {
                let known = *meant == transport.name || transport.keys().any(|key| key.name == *meant);
                assert!(known, "{}: {word} -> {meant}", transport.name);
            }
        }
    }
}
