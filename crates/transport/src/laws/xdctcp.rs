//! `xdctcp`: DCTCP with cuts of different size for short and long flows.

use units::{Default, Key, Kind, Range, Values};

use crate::connection;
use crate::list::{Config, Descriptor};

/// xDCTCP.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "xdctcp",
    help: "xDCTCP: cuts the window by ns alpha in short flows and by nl alpha in long ones",
    source: "xDCTCP: Extended DCTCP, checkpoint 2 report",
    groups: &[connection::KEYS, super::dctcp::KEYS, KEYS],
    build,
};

/// Parameters of its own, beside DCTCP's.
pub const KEYS: &[Key] = &[
    Key {
        name: "ns",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::UNIT,
        help: "share of alpha that a short flow is cut by",
        source: "xDCTCP eq. 3; 0.5 is DCTCP, 0.4 the study's optimum",
    },
    Key {
        name: "nl",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::UNIT,
        help: "share of alpha that a long flow is cut by",
        source: "xDCTCP eq. 4; 0.5 is DCTCP, 1 the study's optimum",
    },
    Key {
        name: "short_limit",
        kind: Kind::Size,
        default: Default::Is("1 MB"),
        range: Range::at_least(0.0),
        help: "a message without flow_class is short up to this size",
        source: "open; between the study's short (512 KB) and long (endless) flows",
    },
];

fn build(values: &Values) -> Config {
    Config { connection: connection::Config::from_values(values) }
}
