//! `cubic`: what Linux users have today.

use units::{Default, Key, Kind, Range, Values};

use crate::connection;
use crate::list::{Config, Descriptor};

/// CUBIC.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "cubic",
    help: "CUBIC: cubic growth around the window of the last loss; what Linux runs by default",
    source: "RFC 9438",
    groups: &[connection::KEYS, KEYS],
    build,
};

/// Parameters of its own.
pub const KEYS: &[Key] = &[
    Key {
        name: "ecn",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "negotiate ECN and treat an echoed mark as a loss, once per window",
        source: "RFC 9438 4.6, RFC 3168; Linux asks for ECN only when told to",
    },
    Key {
        name: "c",
        kind: Kind::Number,
        default: Default::Is("0.4"),
        range: Range::above(0.0, 100.0),
        help: "how steeply the window grows, in segments/s^3",
        source: "RFC 9438 5",
    },
    Key {
        name: "beta",
        kind: Kind::Number,
        default: Default::Is("0.7"),
        range: Range::between(0.1, 0.99),
        help: "factor on the window at a loss",
        source: "RFC 9438 4.6",
    },
    Key {
        name: "fast_convergence",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "give up more of the last maximum when it is falling",
        source: "RFC 9438 4.7",
    },
    Key {
        name: "reno_friendly",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "never grow slower than Reno would",
        source: "RFC 9438 4.3",
    },
];

fn build(values: &Values) -> Config {
    Config { connection: connection::Config::from_values(values) }
}
