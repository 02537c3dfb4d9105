//! The structure of a scenario: its sections, and the tables that declare their keys.
//!
//! The reader, the JSON schema and the catalogue all follow this file.

use sim::profile::{Profile, Setting};
use sim::{faults, network, profile, run, topology, traffic};
use transport::registry::{self as transports, TRANSPORTS};
use transport::{Needs, connection};
use units::{Alias, Default, Key, Kind, Range};

/// The sections of a file.
pub(crate) const SECTIONS: &[&str] = &["parameters", "run", "network", "fault", "transport", "defaults", "traffic"];
/// The sections that are lists of tables, each written with two brackets.
pub(crate) const LISTS: &[&str] = &["fault", "traffic"];

/// Other words for sections and for the keys that name something.
const ALIASES: &[Alias] = &[
    ("cca", "transport"),
    ("cca", "name"),
    ("class", "traffic"),
    ("congestion_control", "transport"),
    ("congestion_control", "name"),
    ("failure", "fault"),
    ("faults", "fault"),
    ("flow", "traffic"),
    ("kind", "pattern"),
    ("kind", "topology"),
    ("net", "network"),
    ("params", "parameters"),
    ("protocol", "transport"),
    ("sim", "run"),
    ("simulation", "run"),
    ("type", "pattern"),
    ("type", "topology"),
    ("variables", "parameters"),
];

/// Returns every alias, from the tables that declare the words that they mean.
pub(crate) fn aliases() -> impl Iterator<Item = &'static Alias> {
    let transports = TRANSPORTS.iter().flat_map(|transport| transport.aliases);
    let topologies = topology::TOPOLOGIES.iter().flat_map(|topology| topology.aliases);
    let patterns = traffic::PATTERNS.iter().flat_map(|pattern| pattern.aliases);
    let kinds = faults::KINDS.iter().flat_map(|kind| kind.aliases);
    let shared = traffic::ALIASES.iter().chain(network::ALIASES).chain(run::ALIASES).chain(connection::ALIASES);
    ALIASES.iter().chain(transports).chain(topologies).chain(patterns).chain(shared).chain(kinds).chain(faults::ALIASES)
}

/// Keys outside of all sections.
pub(crate) const ROOT_KEYS: &[Key] = &[
    Key {
        name: "title",
        kind: Kind::Text,
        default: Default::Is("untitled"),
        range: Range::ANY,
        help: "for reports and pictures",
        source: "",
    },
    Key {
        name: "profile",
        kind: Kind::Choice(profile::NAMES),
        default: Default::Is(profile::DEFAULT.name),
        range: Range::ANY,
        help: "the stack that is meant: what keys of [transport] and [network] are when they are left out; see duetime \
               profiles",
        source: "what a description leaves out must not decide its result: the stacks differ by orders of magnitude",
    },
];

/// Something that is chosen by name and brings its own keys.
#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) source: &'static str,
    /// The needs from switches and hosts, if it is a transport.
    pub(crate) needs: Option<Needs>,
    /// All keys beside the name, the keys common to all variants first.
    pub(crate) keys: Vec<&'static Key>,
    /// Its own keys only.
    pub(crate) own: Vec<&'static Key>,
}

/// A choice among variants.
pub(crate) struct Family {
    /// The key that names the variant: `topology`, `name`, `pattern`.
    pub(crate) selector: &'static str,
    /// The noun for a variant: "topology", "transport", "pattern".
    pub(crate) what: &'static str,
    pub(crate) help: &'static str,
    pub(crate) variants: Vec<Variant>,
}

impl Family {
    /// Returns the section whose keys it has.
    pub(crate) fn section(&self) -> &'static str {
        if self.what == "topology" { "network" } else { self.what }
    }
    /// Returns the variant of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
    /// Returns the names of all variants.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.variants.iter().map(|variant| variant.name)
    }
    /// Returns the variants that know a key.
    pub(crate) fn owners<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Variant> {
        self.variants.iter().filter(move |variant| variant.keys.iter().any(|known| known.name == key))
    }
    /// Returns a key as the first variant that knows it declares it.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.variants.iter().flat_map(|variant| variant.keys.iter()).find(|key| key.name == name).copied()
    }
    /// Returns the names of all keys, each once.
    pub(crate) fn key_names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for key in self.variants.iter().flat_map(|variant| variant.keys.iter()) {
            if !names.contains(&key.name) {
                names.push(key.name);
            }
        }
        names
    }
}

/// The topologies of `[network]`.
pub(crate) fn topologies() -> Family {
    let variants = topology::TOPOLOGIES.iter().map(|topology| Variant {
        name: topology.name,
        help: topology.help,
        source: "",
        needs: None,
        keys: topology.keys.iter().chain(network::keys()).collect(),
        own: topology.keys.iter().collect(),
    });
    Family {
        selector: "topology",
        what: "topology",
        help: "how hosts and switches are connected",
        variants: variants.collect(),
    }
}

/// The transports of `[transport]`.
pub(crate) fn transport_family() -> Family {
    let variants = TRANSPORTS.iter().map(|transport| Variant {
        name: transport.name,
        help: transport.help,
        source: transport.source,
        needs: Some(transport.needs),
        keys: transport.keys().collect(),
        own: transport.keys().collect(),
    });
    Family {
        selector: "name",
        what: "transport",
        help: "the transport that messages use",
        variants: variants.collect(),
    }
}

/// The patterns of `[[traffic]]`.
pub(crate) fn patterns() -> Family {
    let variants = traffic::PATTERNS.iter().map(|pattern| Variant {
        name: pattern.name,
        help: pattern.help,
        source: "",
        needs: None,
        keys: traffic::KEYS.iter().chain(pattern.keys).collect(),
        own: pattern.keys.iter().collect(),
    });
    Family {
        selector: "pattern",
        what: "pattern",
        help: "when messages start, and between which hosts",
        variants: variants.collect(),
    }
}

/// The kinds of `[[fault]]`.
pub(crate) fn faults() -> Family {
    let variants = faults::KINDS.iter().map(|kind| Variant {
        name: kind.name,
        help: kind.help,
        source: "",
        needs: None,
        keys: kind.keys.iter().chain(faults::KEYS).collect(),
        own: kind.keys.iter().collect(),
    });
    Family { selector: "kind", what: "fault", help: "what goes wrong", variants: variants.collect() }
}

/// Returns the path of a key that was named without its section.
pub(crate) fn path_of(key: &str) -> Option<String> {
    if run::KEYS.iter().any(|known| known.name == key) {
        return Some(format!("run.{key}"));
    }
    if key == "topology" || topologies().key(key).is_some() {
        return Some(format!("network.{key}"));
    }
    if key == "transport" {
        return Some("transport.name".into());
    }
    if transport_family().key(key).is_some() {
        return Some(format!("transport.{key}"));
    }
    (key == "pattern" || patterns().key(key).is_some()).then(|| format!("traffic.NAME.{key}"))
}

/// Returns a profile's setting for a key of a variant, if there is one.
pub(crate) fn setting(family: &Family, variant: &Variant, key: &Key, profile: &Profile) -> Option<&'static Setting> {
    match find_transport(variant.name).filter(|_| family.what == "transport") {
        Some(transport) => profile.of_transport(transport, key.name),
        None => profile.find(family.section(), key.name),
    }
}

/// Returns the transport of that name.
pub(crate) fn find_transport(name: &str) -> Option<&'static transports::Entry> {
    transports::find(name)
}
