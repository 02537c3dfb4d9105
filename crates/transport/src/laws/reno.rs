//! `tcp`: NewReno's growth and halving, with classic ECN as an option.

use units::{Default, Key, Kind, Range, Values};

use crate::connection;
use crate::list::{Config, Descriptor};

/// TCP as the papers' baseline.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "tcp",
    help: "TCP: additive increase, halving on loss; classic ECN as an option",
    source: "RFC 5681, RFC 6582, RFC 3168",
    groups: &[connection::KEYS, KEYS],
    build,
};

/// Parameters of its own.
pub const KEYS: &[Key] = &[Key {
    name: "ecn",
    kind: Kind::Bool,
    default: Default::Is("false"),
    range: Range::ANY,
    help: "negotiate ECN and halve the window once per window on an echoed mark",
    source: "RFC 3168; off in the papers",
}];

fn build(values: &Values) -> Config {
    Config { connection: connection::Config::from_values(values) }
}
