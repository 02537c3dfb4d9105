//! Markers: which packets a switch's port marks.

mod phantom;
mod threshold;

use transport::Packet;
use units::{Default, Instant, Key, Kind, Range, Rate, Values};

use super::level::{Length, Level};
pub use threshold::Threshold;

/// One way to mark: its name, what it is, its keys in `[network]`, and what it keeps at each port.
pub struct Descriptor {
    /// As written in scenario files.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Its keys in `[network]`.
    pub keys: &'static [Key],
    /// What it keeps at one port.
    pub marker: MakeMarker,
    /// A port that is first in, first out does it by itself.
    pub built_in: bool,
}

/// The marker of one port, from the checked values of `[network]`.
pub type MakeMarker = fn(&Values, &Site) -> Box<dyn Marker>;

/// The port that a marker is for.
pub struct Site {
    /// Its rate.
    pub rate: Rate,
    /// K there, which is infinite where none is given.
    pub mark: Level,
}

/// Every marker; the first is meant where neither a scenario nor a transport names one.
pub const MARKERS: &[Descriptor] = &[threshold::DESCRIPTOR, phantom::DESCRIPTOR];

/// The marker of that name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    MARKERS.iter().find(|marker| marker.name == name)
}

/// `marking` of `[network]`.
pub(crate) const KEY: Key = Key {
    name: "marking",
    kind: Kind::Choice(&NAMES),
    default: Default::Absent,
    range: Range::ANY,
    help: "how a switch's port decides which packets to mark: threshold (the queue with an arriving packet exceeds \
           `mark`), or phantom (a counter of what has left exceeds `phantom_mark`); when left out, what the run's \
           transports ask for (hull: phantom), else threshold",
    source: "DCTCP 3.1 (threshold), HULL (phantom)",
};

/// The names of all markers.
static NAMES: [&str; MARKERS.len()] = {
    let mut names = [""; MARKERS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = MARKERS[i].name;
        i += 1;
    }
    names
};

/// What decides at one port which packets are to be marked. A packet that is ECN-capable then gets CE; what becomes of
/// others that come is up to the port (`non_ect`).
pub trait Marker: Send {
    /// A packet comes to a queue that with it is so long, whether or not there is room for it.
    fn arrives(&mut self, _packet: &Packet, _with_it: Length, _now: Instant) -> bool {
        false
    }
    /// The transmission of a packet begins, behind which so much waits.
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
