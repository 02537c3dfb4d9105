//! Markers: the rules by which a switch's port marks packets.

mod phantom;
mod threshold;

use transport::Packet;
use units::{Default, Instant, Key, Kind, Range, Rate, Values};

use crate::fabric::level::{Length, Level};
use crate::listed::listed;
pub(crate) use threshold::Threshold;

/// A marker's description: its name, its keys in `[network]`, and its state at each port.
pub struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// Its keys in `[network]`.
    pub keys: &'static [Key],
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
}

/// All markers; the first is the default if neither a scenario nor a transport names one.
pub(crate) const MARKERS: &[Descriptor] = &[threshold::DESCRIPTOR, phantom::DESCRIPTOR];

/// Returns the marker of that name.
pub(crate) fn find(name: &str) -> Option<&'static Descriptor> {
    MARKERS.iter().find(|marker| marker.name == name)
}

/// The key `marking` of `[network]`.
pub(crate) const KEY: Key = Key {
    name: "marking",
    kind: Kind::Choice(&NAMES),
    default: Default::Absent,
    range: Range::ANY,
    help: HELP,
    source: "DCTCP 3.1 (threshold), HULL (phantom)",
};

listed!(
    MARKERS,
    "how a switch's port decides which packets to mark: ",
    "; when left out, the one that the run's transports ask for, else the first"
);

/// The rule by which one port decides which packets to mark. An ECN-capable packet then gets CE; the port decides on
/// others (`non_ect`).
pub trait Marker: Send {
    /// Decides on an arriving packet, given the length of the queue with it, whether or not there is room for it.
    fn arrives(&mut self, _packet: &Packet, _with_it: Length, _now: Instant) -> bool {
        false
    }
    /// Decides on a packet whose transmission begins, given the length of the queue behind it.
    fn departs(&mut self, _packet: &Packet, _behind: Length, _now: Instant) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_list() {
        assert!(NAMES.iter().all(|name| find(name).is_some_and(|found| found.name == *name)));
    }
}
