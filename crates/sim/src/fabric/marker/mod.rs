//! Markers: the rules by which a switch's port marks packets.

mod phantom;
mod red;
mod threshold;

use transport::Packet;
use units::{Default, Instant, Key, Kind, LinkId, Problem, Range, Rate, Values};

use crate::fabric::level::{Length, Level};
use crate::listed::listed;
use crate::topology::Graph;
pub(crate) use threshold::Threshold;

/// A marker's description: its name, its keys in `[network]`, and its state at each port.
pub struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// Its keys in `[network]`.
    pub keys: &'static [Key],
    /// Checks its keys in the values of `[network]`, for the links of a graph.
    pub check: fn(&Values, &Graph) -> Result<(), Problem>,
    /// Creates its state at one port.
    pub marker: MakeMarker,
    /// Ports that are first in, first out implement it themselves.
    pub built_in: bool,
}

/// Creates the marker of one port, from the checked values of `[network]`.
pub(crate) type MakeMarker = fn(&Values, &Site) -> Box<dyn Marker>;

/// The port that a marker is for.
pub struct Site {
    /// The rate of its link.
    pub rate: Rate,
    /// K at the port, infinite if none is given.
    pub mark: Level,
    /// The port sends to a host.
    pub to_host: bool,
    /// The link, and the run's seed: together they name the port's random numbers.
    pub link: LinkId,
    /// The seed of all random numbers of the run.
    pub seed: u64,
}

/// All markers; the first is the default if neither a scenario nor a transport names one.
pub(crate) const MARKERS: &[Descriptor] = &[threshold::DESCRIPTOR, phantom::DESCRIPTOR, red::DESCRIPTOR];

/// Returns the marker of that name.
pub(crate) fn find(name: &str) -> Option<&'static Descriptor> {
    MARKERS.iter().find(|marker| marker.name == name)
}

/// Checks the keys of all markers.
///
/// # Errors
/// Keys that do not fit each other or the chosen marker.
pub(crate) fn check(values: &Values, graph: &Graph) -> Result<(), Problem> {
    if at_departure(values) && values.choice("non_ect") == "drop" {
        let message = "`non_ect` is \"drop\", and a packet whose transmission begins cannot be dropped any more";
        return Err(Problem::new(AT.name, message).hint("write mark_at = \"arrival\", or non_ect = \"pass\""));
    }
    MARKERS.iter().try_for_each(|marker| (marker.check)(values, graph))
}

/// Returns whether ports decide on a packet by the queue behind it when its transmission begins.
pub(crate) fn at_departure(values: &Values) -> bool {
    values.choice(AT.name) == DEPARTURE
}

/// The check of a marker with whose keys nothing more can be wrong.
fn unchecked(_: &Values, _: &Graph) -> Result<(), Problem> {
    Ok(())
}

/// The key `marking` of `[network]`.
pub(crate) const KEY: Key = Key {
    name: "marking",
    kind: Kind::Choice(&NAMES),
    default: Default::Absent,
    range: Range::ANY,
    help: HELP,
    source: "DCTCP 3.1 (threshold), HULL (phantom), DCQCN 3.1 (red)",
};

/// The key `mark_at` of `[network]`.
pub(crate) const AT: Key = Key {
    name: "mark_at",
    kind: Kind::Choice(&["arrival", DEPARTURE]),
    default: Default::Is("arrival"),
    range: Range::ANY,
    help: "when a port decides on a mark: arrival: by the queue with the arriving packet; departure (dequeue marking): when \
           the transmission of the packet begins, by the queue behind it, so that senders hear of a queue earlier by the \
           time of the queue; phantom always decides at departure",
    source: "arrival: DCTCP 3.1, DCQCN 3.1, RED in Linux and ns-3; departure: Wu et al. 2012 (Tuning ECN for Data Center \
             Networks), HPCC's ns-3 (SwitchNotifyDequeue), htsim (ecnqueue.h)",
};

const DEPARTURE: &str = "departure";

listed!(
    MARKERS,
    "how a switch's port decides which packets to mark: ",
    "; when left out, the one that the run's transports ask for, else the first"
);

/// The rule by which one port decides which packets to mark. An ECN-capable packet then gets CE; the port decides on
/// others (`non_ect`).
pub trait Marker: Send {
    /// Decides on a packet by the length of the queue that counts, once for each. With `mark_at = "arrival"` that is the
    /// queue with the arriving packet, whether or not there is room for it. With `"departure"` it is the queue behind the
    /// packet whose transmission begins.
    fn decides(&mut self, _packet: &Packet, _queue: Length, _now: Instant) -> bool {
        false
    }
    /// Decides on a packet whose transmission begins, given the length of the port's queue behind it.
    fn departs(&mut self, _packet: &Packet, _behind: Length, _now: Instant) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Value;

    impl Site {
        /// Returns a port to a host, for tests of any one.
        pub(crate) fn new(rate: Rate, mark: Level) -> Site {
            Site { rate, mark, to_host: true, link: LinkId(0), seed: 1 }
        }
    }

    #[test]
    fn names_are_those_of_the_list() {
        assert!(NAMES.iter().all(|name| find(name).is_some_and(|found| found.name == *name)));
    }

    /// A packet whose transmission begins can be marked, but not dropped any more.
    #[test]
    fn packets_are_dropped_for_a_mark_on_arrival_alone() {
        for (mark_at, non_ect, key) in [
            ("arrival", "pass", None),
            ("arrival", "drop", None),
            ("departure", "pass", None),
            ("departure", "drop", Some("mark_at")),
        ] {
            let mut values = Values::default();
            values.set("mark_at", Value::Choice(mark_at));
            values.set("non_ect", Value::Choice(non_ect));
            let found = check(&values, &Graph::new(1)).err().map(|problem| problem.key.into_owned());
            assert_eq!(found.as_deref(), key, "{mark_at} {non_ect}");
        }
    }
}
