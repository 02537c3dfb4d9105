//! `d2tcp`: DCTCP's cut, gamma-corrected by how imminent the deadline is.

use units::{Default, Key, Kind, Range, Values};

use crate::connection;
use crate::list::{Config, Descriptor};

/// D2TCP.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "d2tcp",
    help: "D2TCP: cuts the window by alpha^d/2, d how imminent the deadline is",
    source: "Vamanan, Hasan, Vijaykumar, SIGCOMM 2012",
    groups: &[connection::KEYS, super::dctcp::KEYS, KEYS],
    build,
};

/// Parameters of its own, beside DCTCP's.
pub const KEYS: &[Key] = &[
    Key {
        name: "d_cap",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(1.0, 1000.0),
        help: "n: d is clamped to [1/n, n]",
        source: "D2TCP 4.1.1, 4.2.4: 2",
    },
    Key {
        name: "t_c",
        kind: Kind::Choice(&["approximate", "precise"]),
        default: Default::Is("approximate"),
        range: Range::ANY,
        help: "how the time that the rest needs is computed: B/(3W/4), or from the sawtooth's sum",
        source: "D2TCP 3.2.3",
    },
    Key {
        name: "rtt",
        kind: Kind::Choice(&["smoothed", "minimum"]),
        default: Default::Is("smoothed"),
        range: Range::ANY,
        help: "which RTT turns T_c into a time",
        source: "open in the paper",
    },
    Key {
        name: "expired",
        kind: Kind::Choice(&["neutral", "cap", "yield", "abort"]),
        default: Default::Is("neutral"),
        range: Range::ANY,
        help: "once the deadline has passed: d = 1, n, 1/n, or give the message up",
        source: "open in the paper; a late message has nothing left to gain",
    },
    Key {
        name: "margin",
        kind: Kind::Time,
        default: Default::Is("0 s"),
        range: Range::at_least(0.0),
        help: "taken off the time left, so that flows finish a little early",
        source: "open; 0 as in the paper",
    },
];

fn build(values: &Values) -> Config {
    Config { connection: connection::Config::from_values(values) }
}
