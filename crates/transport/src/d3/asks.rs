//! `d3`: requests the rate that its deadline needs.

use units::{Default, Key, Kind, Range, Values};

use super::GRANTS;
use super::agent::{self, Agents};
use crate::{Descriptor, Needs, connection};

/// The descriptor of D3.
pub(super) const DESCRIPTOR: Descriptor<Config> = Descriptor {
    name: "d3",
    help: "D3: each RTT asks the routers for bytes left over time left, and paces at the smallest grant. Of the \
           shared parameters, the ones of windows and handshake mean nothing to it",
    source: "Wilson et al., SIGCOMM 2011; D2TCP 2.4.1, 4.2.1",
    aliases: &[],
    groups: &[agent::KEYS, KEYS],
    needs: Needs::of(GRANTS, "sizes and deadlines from the application, pacing at the granted rate"),
    signals: super::SIGNALS,
    build: |values, connection| Ok(build(values, connection)),
};

/// Parameters of its own.
const KEYS: &[Key] = &[
    Key {
        name: "lag",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(0.0, 100.0),
        help: "round trips that a request leaves out of the time left: one until the grant is in force, one for the \
               end of the flow",
        source: "D3, section 4; a message that counts on all of its time is late by a hair",
    },
    Key {
        name: "quench",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "give a message up when its request exceeds the sender's link rate or its deadline has passed",
        source: "D3 6.1.3; off: a missed message is still delivered",
    },
];

fn build(values: &Values, connection: &connection::Config) -> Config {
    let router = Agents::from_values(values, connection);
    Config { request: Some(values.number("lag")), quench: values.bool("quench"), router }
}

/// Parameters of a connection's ends and of the routers that it requests rates from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Round trips that requests subtract from the time left; none: every request is 0.
    pub request: Option<f64>,
    /// Aborts messages that cannot be in time.
    pub quench: bool,
    /// The parameters of the routers, the same for all connections of a run.
    pub router: Agents,
}

impl Config {
    /// Returns the agents of every port.
    pub fn agents(&self) -> Option<Agents> {
        Some(self.router)
    }
}

/// The rates that a header's fields can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Any rate, without rounding.
    Exact,
    /// Whole bytes per microsecond in 8 bits, rounded up.
    Up,
    /// Whole bytes per microsecond in 8 bits, to the nearest.
    Nearest,
}

impl Rounding {
    /// One byte per microsecond in bit/s.
    const UNIT: u64 = 8_000_000;

    /// Returns the rate that is received when this one is written into a header, in bit/s.
    pub fn of(self, rate: u64) -> u64 {
        let units = match self {
            Rounding::Exact => return rate,
            Rounding::Up => rate.div_ceil(Rounding::UNIT),
            Rounding::Nearest => (rate + Rounding::UNIT / 2) / Rounding::UNIT,
        };
        units.min(255) * Rounding::UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bits_of_bytes_per_microsecond() {
        // D2TCP's benchmark asks for 0.1 to 0.4 B/us.
        assert_eq!(Rounding::Exact.of(2_400_000), 2_400_000);
        assert_eq!((Rounding::Up.of(2_400_000), Rounding::Nearest.of(2_400_000)), (8_000_000, 0));
        assert_eq!((Rounding::Up.of(12_000_000), Rounding::Nearest.of(12_000_000)), (16_000_000, 16_000_000));
        assert_eq!(Rounding::Up.of(0), 0);
        assert_eq!(Rounding::Nearest.of(10_000_000_000), 2_040_000_000, "the field is full at 255 B/us");
    }
}
