//! The description of a transport: one constant in its own file.

use units::{Alias, Bytes, Key, Problem, Rate, Span, Values};

use crate::{Signal, connection};

/// A transport's name, description and parameters, and the function that builds the running form, a `T`.
#[derive(Clone, Copy)]
pub struct Descriptor<T> {
    /// The name in scenario files and on the command line.
    pub name: &'static str,
    /// One sentence about the transport.
    pub help: &'static str,
    /// The paper, RFC or code that defines it.
    pub source: &'static str,
    /// Other words for its name or for one of its parameters.
    pub aliases: &'static [Alias],
    /// Its parameters, in groups, beside the common ones of every connection; one of the same name replaces a common
    /// one.
    pub groups: &'static [&'static [Key]],
    /// The needs of the transport from switches and hosts.
    pub needs: Needs,
    /// Its signals, beside the common ones of its kind. Signals of one name are one signal.
    pub signals: &'static [Signal],
    /// Builds the transport from checked values and the parameters of every connection. It may set values that follow
    /// from others. Panics when a declared key is missing: our bug.
    pub build: Build<T>,
}

/// The function by which a [`Descriptor`] builds; fails where the values contradict each other.
pub type Build<T> = fn(&mut Values, &connection::Config) -> Result<T, Problem>;

/// The needs of a transport from the network and from the hosts that run it.
#[derive(Clone, Copy)]
pub struct Needs {
    /// The needs from switches, in words.
    pub switches: &'static str,
    /// The needs from hosts, in words.
    pub hosts: &'static str,
    /// The discipline of ports where a scenario does not set one, by name.
    pub discipline: Option<&'static str>,
    /// The marker of ports where a scenario does not set one, by name.
    pub marking: Option<&'static str>,
    /// Ports must write [records](crate::telemetry::Records) into packets that have room for them.
    pub records: bool,
    /// It needs flows that end: of endless ones on a link it serves one or few for ever, and the others starve.
    pub flows_end: bool,
    /// The networks for which it was designed, where others change the meaning of a comparison.
    pub regimes: &'static [Regime],
    /// Sets the parameters that follow from the network, where the scenario does not set them.
    pub settle: fn(&mut Values, &Surroundings),
}

impl Needs {
    /// Returns the needs from switches and from hosts, in words.
    pub const fn of(switches: &'static str, hosts: &'static str) -> Needs {
        Needs {
            switches,
            hosts,
            discipline: None,
            marking: None,
            records: false,
            flows_end: false,
            regimes: &[],
            settle: |_, _| {},
        }
    }
    /// Adds the queueing discipline of ports.
    pub const fn discipline(self, name: &'static str) -> Needs {
        Needs { discipline: Some(name), ..self }
    }
    /// Adds the marker of ports.
    pub const fn marking(self, name: &'static str) -> Needs {
        Needs { marking: Some(name), ..self }
    }
    /// Adds the records of ports.
    pub const fn records(self) -> Needs {
        Needs { records: true, ..self }
    }
    /// Adds that flows must end.
    pub const fn flows_that_end(self) -> Needs {
        Needs { flows_end: true, ..self }
    }
    /// Adds the networks for which it was designed.
    pub const fn made_for(self, regimes: &'static [Regime]) -> Needs {
        Needs { regimes, ..self }
    }
    /// Adds the parameters that follow from the network.
    pub const fn settling(self, settle: fn(&mut Values, &Surroundings)) -> Needs {
        Needs { settle, ..self }
    }
}

/// A property of the networks of a transport's paper, without which its results are not the paper's.
#[derive(Clone, Copy)]
pub struct Regime {
    /// The key of `[network]` that sets it.
    pub key: &'static str,
    /// The place in the paper.
    pub source: &'static str,
    /// Returns advice for a network outside the regime: its property and the effect, and the settings to write instead.
    pub outside: fn(&Conditions) -> Option<Advice>,
}

/// Advice on a network; see [`Regime::outside`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The properties of the network and of the paper's, and the consequence.
    pub reason: String,
    /// The paper's settings of `[network]`.
    pub write: String,
}

/// The properties by which a [`Regime`] judges a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Rate of a host's link and round-trip time.
    pub surroundings: Surroundings,
    /// Maximum bytes in a switch port towards a host; none: no limit.
    pub port_limit: Option<f64>,
    /// K at such a port, in bytes, where ports mark by it.
    pub mark: Option<f64>,
}

impl Conditions {
    /// Returns the product of the rate of a host's link and the longest round trip, in bytes.
    pub fn bandwidth_delay(&self) -> f64 {
        self.surroundings.carried_in(self.surroundings.base_rtt, Bytes(1))
    }
}

/// The properties of a network from which a transport's parameters may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The rate of a host's link.
    pub line_rate: Rate,
    /// The longest round trip without queues: a full packet of Ethernet one way, an acknowledgement back.
    pub base_rtt: Span,
    /// The time for which 1000 bytes more of a packet are sent, summed over the links of the longest route, one way.
    pub per_kilobyte: Span,
    /// The longest time for which a switch may queue a packet: that of its whole buffer on its slowest link.
    pub longest_queue: Span,
    /// Packets of a connection overtake each other though none is lost.
    pub reorders: bool,
    /// Switches drop payloads in place of packets, and receivers say which.
    pub trims: bool,
    /// The number of links on the longest route, one way.
    pub hops: u32,
}

impl Surroundings {
    /// The packet there of [`base_rtt`](Surroundings::base_rtt): a full one of Ethernet.
    pub const PACKET: Bytes = Bytes(1500);
    /// The packet back of [`base_rtt`](Surroundings::base_rtt): an acknowledgement.
    pub const ACK: Bytes = Bytes(40);

    /// Returns the longest round trip without queues of packets of a wire size.
    pub fn round_trip_of(&self, packet: Bytes) -> Span {
        let more = packet.as_f64() - Surroundings::PACKET.as_f64();
        Span::from_ps_f64((self.base_rtt.0 as f64 + more / 1000.0 * self.per_kilobyte.0 as f64).max(1.0))
    }

    /// Returns a time that applies to links up to a rate, and is proportionally less on faster ones.
    pub fn at_rate(&self, time: Span, up_to: Rate) -> Span {
        Span::from_ps_f64(time.0 as f64 * (up_to.0 as f64 / self.line_rate.0.max(1) as f64).min(1.0))
    }

    /// Returns the bandwidth-delay product in packets of a wire size, at least one: what a host's link carries in the
    /// longest round trip of such packets.
    pub fn bandwidth_delay(&self, packet: Bytes) -> f64 {
        self.carried_in(self.round_trip_of(packet), packet)
    }

    /// Returns what a host's link carries in a time, in packets of a wire size, at least one.
    pub fn carried_in(&self, time: Span, packet: Bytes) -> f64 {
        let bytes = self.line_rate.0 as f64 * time.as_secs_f64() / 8.0;
        (bytes / packet.as_f64()).max(1.0)
    }

    /// Returns a network whose links all have one rate and whose switches queue nothing. In it packets stay in order, and
    /// none is trimmed.
    pub const fn uniform(rate: Rate, base_rtt: Span, hops: u32) -> Surroundings {
        let bit_ps = 1e12 / rate.0 as f64;
        let per_kilobyte = Span((8000.0 * bit_ps * hops as f64) as u64);
        Surroundings {
            line_rate: rate,
            base_rtt,
            per_kilobyte,
            longest_queue: Span::ZERO,
            hops,
            reorders: false,
            trims: false,
        }
    }
}

/// The network of pFabric's simulations (5.1): links of 10 Gbit/s, 14.6 us between hosts of different racks.
impl Default for Surroundings {
    fn default() -> Surroundings {
        Surroundings::uniform(Rate::from_gbps(10), Span::from_nanos(14_600), 4)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns whether a regime has no advice, for port limits or values of K in bytes. The bandwidth-delay product is
    /// 14 000 bytes: 10 Gbps for 11.2 us.
    pub(crate) fn is_within<const N: usize>(regime: &Regime, values: [f64; N]) -> [bool; N] {
        let surroundings = Surroundings::uniform(Rate(10_000_000_000), Span::from_nanos(11_200), 4);
        values.map(|value| {
            let value = value.is_finite().then_some(value);
            (regime.outside)(&Conditions { surroundings, port_limit: value, mark: value }).is_none()
        })
    }

    /// 10 Gbps for 12 us: 15 000 bytes.
    const SURROUNDINGS: Surroundings = Surroundings::uniform(Rate(10_000_000_000), Span::from_micros(12), 4);

    #[test]
    fn bandwidth_delay_product_is_in_packets_and_at_least_one() {
        assert_eq!(SURROUNDINGS.bandwidth_delay(Bytes(1500)), 10.0);
        // 4 x 3 us more, in which 30 000 bytes are sent.
        assert_eq!(SURROUNDINGS.bandwidth_delay(Bytes(5250)), 30_000.0 / 5250.0);
        // A packet a time is a packet for each of four links, and half of one for their delays.
        assert_eq!(SURROUNDINGS.bandwidth_delay(Bytes(15_000)), 4.6);
        assert_eq!(SURROUNDINGS.carried_in(Span::from_micros(12), Bytes(15_001)), 1.0);
        let conditions = Conditions { surroundings: SURROUNDINGS, port_limit: None, mark: None };
        assert_eq!(conditions.bandwidth_delay(), 15_000.0);
    }

    #[test]
    fn larger_packets_take_longer_on_each_link() {
        // 9000 B are 6 us more on each of four links of 10 Gbps; 40 B are 1.168 us less.
        let of = |bytes| SURROUNDINGS.round_trip_of(Bytes(bytes));
        assert_eq!([1500, 9000, 40].map(of), [12_000, 36_000, 7_328].map(Span::from_nanos));
    }

    #[test]
    fn time_at_a_rate_shrinks_on_faster_links_only() {
        let at = |gbps: u64| Surroundings { line_rate: Rate(gbps * 1_000_000_000), ..SURROUNDINGS };
        let time = |gbps| at(gbps).at_rate(Span::from_micros(800), Rate(10_000_000_000));
        assert_eq!([1, 10, 40].map(time), [800, 800, 200].map(Span::from_micros));
    }
}
