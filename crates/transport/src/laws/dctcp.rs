//! `dctcp`: cut in proportion to the extent of marking.

use units::{Default, Key, Kind, Range, Values};

use crate::connection;
use crate::list::{Config, Descriptor};

/// DCTCP.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "dctcp",
    help: "DCTCP: cuts the window by alpha/2, alpha the moving share of marked bytes",
    source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
    groups: &[connection::KEYS, KEYS],
    build,
};

/// Parameters of the mark estimator, shared by all of DCTCP's family.
pub const KEYS: &[Key] = &[
    Key {
        name: "g",
        kind: Kind::Number,
        default: Default::Is("0.0625"),
        range: Range::above(0.0, 1.0),
        help: "weight of the last window's share of marks in alpha",
        source: "DCTCP 3.1, D2TCP 4.1.1: 1/16",
    },
    Key {
        name: "initial_alpha",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::UNIT,
        help: "alpha of a new connection",
        source: "RFC 8257 4.2 and Linux: 1; the authors' ns-2 code: 0",
    },
    Key {
        name: "cut_at",
        kind: Kind::Choice(&["first-echo", "window-end"]),
        default: Default::Is("first-echo"),
        range: Range::ANY,
        help: "cut at the first marked ACK of a window, or when the window has been acknowledged and alpha includes it",
        source: "RFC 8257 3.3 (first-echo); D2TCP 3.2.5 leaves it open",
    },
];

fn build(values: &Values) -> Config {
    Config { connection: connection::Config::from_values(values) }
}
