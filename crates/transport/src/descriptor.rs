//! How a transport describes itself: one constant in its own file.

use units::{Alias, Bytes, Key, Problem, Rate, Span, Values};

use crate::{Signal, connection};

/// A transport's name, what it is, its parameters, and how they become what runs it, a `T`.
#[derive(Clone, Copy)]
pub struct Descriptor<T> {
    /// As written in scenario files and on the command line.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Words that people write for its name or for one of its parameters.
    pub aliases: &'static [Alias],
    /// Its parameters, in groups, beside those of every connection; one of the same name takes the place of theirs.
    pub groups: &'static [&'static [Key]],
    /// What it needs of switches and hosts.
    pub needs: Needs,
    /// What can be observed of it, beside what every transport of its kind shows. Signals of one name are one signal.
    pub signals: &'static [Signal],
    /// From checked values, and what they say of every connection. A value may be settled that follows from
    /// others. Panics when a declared key is missing: our bug.
    pub build: Build<T>,
}

/// What a [`Descriptor`] builds with; fails where the values do not fit one another.
pub type Build<T> = fn(&mut Values, &connection::Config) -> Result<T, Problem>;

/// What a transport needs of the network and of the hosts that run it.
#[derive(Clone, Copy)]
pub struct Needs {
    /// Of switches, in words.
    pub switches: &'static str,
    /// Of hosts, in words.
    pub hosts: &'static str,
    /// The order in which ports are to send where a scenario leaves that open: the name of a discipline.
    pub discipline: Option<&'static str>,
    /// How ports are to mark where a scenario leaves that open: the name of a marker.
    pub marking: Option<&'static str>,
    /// The networks that it was made for, where others change what is compared.
    pub regimes: &'static [Regime],
    /// Settles the parameters that follow from the network, where nobody wrote them.
    pub settle: fn(&mut Values, &Surroundings),
}

impl Needs {
    /// Of switches and of hosts, in words.
    pub const fn of(switches: &'static str, hosts: &'static str) -> Needs {
        Needs { switches, hosts, discipline: None, marking: None, regimes: &[], settle: |_, _| {} }
    }
    /// Ports that send in the order of this discipline.
    pub const fn discipline(self, name: &'static str) -> Needs {
        Needs { discipline: Some(name), ..self }
    }
    /// Ports that mark as this marker does.
    pub const fn marking(self, name: &'static str) -> Needs {
        Needs { marking: Some(name), ..self }
    }
    /// With the networks that it was made for.
    pub const fn made_for(self, regimes: &'static [Regime]) -> Needs {
        Needs { regimes, ..self }
    }
    /// Parameters that follow from the network.
    pub const fn settling(self, settle: fn(&mut Values, &Surroundings)) -> Needs {
        Needs { settle, ..self }
    }
}

/// A property of the networks that a transport's paper has, without which its results are not the paper's.
#[derive(Clone, Copy)]
pub struct Regime {
    /// The key of `[network]` that sets it.
    pub key: &'static str,
    /// Where the paper says so.
    pub source: &'static str,
    /// For a network outside the regime: what it has and what that does, and what to write instead.
    pub outside: fn(&Conditions) -> Option<Advice>,
}

/// See [`Regime::outside`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What the network has, what the paper has, and what follows.
    pub reason: String,
    /// Settings of `[network]` that the paper has.
    pub write: String,
}

/// What a [`Regime`] is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Rate and round trip.
    pub surroundings: Surroundings,
    /// The bytes that a switch port towards a host holds at most; none: no limit.
    pub port_limit: Option<f64>,
    /// K at such a port, in bytes, where ports mark by it.
    pub mark: Option<f64>,
}

impl Conditions {
    /// The bandwidth-delay product of a host's link and the longest round trip, in bytes.
    pub fn bandwidth_delay(&self) -> f64 {
        self.surroundings.bandwidth_delay(Bytes(1))
    }
}

/// What of a network a transport's parameters may follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The rate of a host's link.
    pub line_rate: Rate,
    /// The longest round trip without queues: a full packet one way, an acknowledgement back.
    pub base_rtt: Span,
}

impl Surroundings {
    /// A full packet of Ethernet and an acknowledgement: those of [`base_rtt`](Surroundings::base_rtt).
    pub const ROUND_TRIP: (Bytes, Bytes) = (Bytes(1500), Bytes(40));

    /// Returns a time that holds for links up to a rate: on faster ones in proportion less.
    pub fn at_rate(&self, time: Span, up_to: Rate) -> Span {
        Span::from_ps_f64(time.0 as f64 * (up_to.0 as f64 / self.line_rate.0.max(1) as f64).min(1.0))
    }

    /// What the rate brings in a round trip, in packets of so many wire bytes; never less than one.
    pub fn bandwidth_delay(&self, packet: Bytes) -> f64 {
        let bytes = self.line_rate.0 as f64 * self.base_rtt.as_secs_f64() / 8.0;
        (bytes / packet.as_f64()).max(1.0)
    }
}

/// Those of pFabric's simulations (5.1): links of 10 Gbit/s, 14.6 us between hosts of different racks.
impl Default for Surroundings {
    fn default() -> Surroundings {
        Surroundings { line_rate: Rate::from_gbps(10), base_rtt: Span::from_nanos(14_600) }
    }
}
