//! `pdq`: ports let the most urgent flows send at full rate and pause the others.
//!
//! Every packet of the sending end has a [`Header`]: its deadline, the bytes that are left, and the port that has
//! paused it. The [`Port`] of every link on the path accepts or pauses the flow, and the receiving end returns the
//! result. The sending end paces at that rate, or probes from time to time with a packet without data.

mod agent;
mod header;
mod sender;

pub use agent::{Agents, Port};
pub use header::Header;
pub use sender::Sender;

use units::{Default, Key, Kind, Range, Value, Values};

use crate::connection::{self, RATE, SRTT};
use crate::controllers::Ecn;
use crate::header_echo::{self, How, Returns};
use crate::{Advice, Descriptor, Needs, Regime, Surroundings};

/// Connections of one host share nothing beyond its port.
pub type Host = ();

/// The receiving end of a connection.
pub type Receiver = header_echo::Receiver<Config>;

impl Returns for Config {
    const ECN: Ecn = Ecn::Off;

    fn how(header: &crate::Header) -> How {
        // The sender expects no answer to a TERM.
        let over = matches!(header, crate::Header::Pdq(header) if header.over);
        if over { How::Never } else { How::AtOnce }
    }
}

/// See [`Entry::reads`](crate::registry::Entry::reads): the keys of segments, ACKs, timers and loss recovery.
pub(crate) const READS: Option<&[&str]> = Some(crate::stream::READS);

/// The only transport of the family.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[DESCRIPTOR];

const DESCRIPTOR: Descriptor<Config> = Descriptor {
    name: "pdq",
    help: "PDQ: ports order flows by deadline, then by the time that they need, let the first send at full rate and pause \
           the others. Of the shared parameters, the ones of windows and handshake mean nothing to it",
    source: "Hong, Caesar, Godfrey, SIGCOMM 2012; its sections are cited from memory",
    aliases: &[("k", "early_start"), ("terminate", "early_termination")],
    groups: &[agent::KEYS, KEYS],
    needs: Needs::of(
        "a list of the most urgent flows at every port, and a header that it reads and writes in every packet",
        "sizes and deadlines from the application, pacing at the accepted rate, probes while paused",
    )
    .flows_that_end()
    .made_for(&[ROOM_FOR_EARLY_STARTS])
    .settling(settle),
    signals: &[SRTT, RATE],
    build: |values, connection| Ok(Config::from_values(values, connection)),
};

/// The default of `early_start`, in round trips.
const EARLY: f64 = 2.0;

/// Flows that begin together send their first round trip before the ports can pause one of them.
const ROOM_FOR_EARLY_STARTS: Regime = Regime {
    key: "buffer",
    source: "PDQ 3.3.2, 5.1: flows of K = 2 round trips start beside the one that sends; ports of 4 MB (cited from memory)",
    outside: |conditions| {
        let product = conditions.bandwidth_delay();
        let limit = conditions.port_limit.filter(|limit| *limit < (EARLY + 1.0) * product)?;
        Some(Advice {
            reason: format!(
                "a port holds {:.2} bandwidth-delay products, less than the {} of flows that may start together: what it drops \
                 waits for a timeout",
                limit / product,
                EARLY + 1.0
            ),
            write: format!(
                "a buffer of at least {:.0} B for each port, or early_start = 0",
                ((EARLY + 1.0) * product).ceil()
            ),
        })
    },
};

/// Parameters of the ends, beside the ports' parameters.
const KEYS: &[Key] = &[
    Key {
        name: "early_termination",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "give a message up when its deadline has passed, when the rest takes longer at full rate than is left, or when \
               it is paused and less than a round trip is left",
        source: "PDQ 3.1: three rules",
    },
    Key {
        name: "probe_every",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::between(0.01, 1e6),
        help: "round trips between two probes of a paused flow, where ports do not ask for more",
        source: "PDQ 3.3.2: once per RTT, without suppression",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    values.follow("base_rtt", |values| Value::Time(surroundings.round_trip_of(connection::packet(values))));
    values.follow("expiry", |values| Value::Time(values.time("base_rtt") * agent::EXPIRY));
}

/// Parameters of a connection's ends and of the ports on its path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Aborts messages that cannot be in time.
    pub early_termination: bool,
    /// Minimum of the round trips between two probes.
    pub probe_every: f64,
    /// The parameters of the ports, the same for all connections of a run.
    pub ports: Agents,
}

impl Config {
    fn from_values(values: &Values, connection: &connection::Config) -> Config {
        Config {
            early_termination: values.bool("early_termination"),
            probe_every: values.number("probe_every"),
            ports: Agents::from_values(values, connection),
        }
    }

    /// Returns the agents of every port.
    pub fn agents(&self) -> Option<Agents> {
        Some(self.ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regime_has_room_for_flows_that_start_together() {
        // Three products of 14 000 B.
        let values = [0.0, 41_999.0, 42_000.0, f64::INFINITY];
        let within = crate::descriptor::tests::is_within(&ROOM_FOR_EARLY_STARTS, values);
        assert_eq!(within, [false, false, true, true]);
    }
}
