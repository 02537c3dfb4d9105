//! Disciplines: the order in which a port sends what waits.

mod fifo;
mod pfabric;
mod priority;
mod ring;

use transport::Packet;
use units::{Default, Key, Kind, Range, Values};

use super::store::Slot;

/// One discipline: its name, what it is, its keys in `[network]`, and how it keeps what waits.
pub struct Descriptor {
    /// As written in scenario files.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Its keys in `[network]`.
    pub keys: &'static [Key],
    /// How it keeps what waits.
    pub queue: MakeQueue,
    /// Where switches' ports send in this order, hosts' do too.
    pub at_hosts: bool,
    /// A port does it by itself, unless its marker is one of those that it does not do by itself.
    pub built_in: bool,
}

/// The empty queue of one port, from the checked values of `[network]` and the number of priorities.
pub type MakeQueue = fn(&Values, u8) -> Box<dyn Queue>;

/// Every discipline.
pub const DISCIPLINES: &[Descriptor] = &[fifo::DESCRIPTOR, priority::DESCRIPTOR, pfabric::DESCRIPTOR];

/// The discipline of that name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    DISCIPLINES.iter().find(|discipline| discipline.name == name)
}

/// `discipline` of `[network]`.
pub(crate) const KEY: Key = Key {
    name: "discipline",
    kind: Kind::Choice(&NAMES),
    default: Default::Absent,
    range: Range::ANY,
    help: "order in which a switch's ports send what waits: fifo; priority (classes with a lower number first); or \
           pfabric (the most urgent flow's earliest packet first, at hosts too); when left out, what the run's transports \
           and classes ask for (tcppr and `priority`: priority; pfabric: pfabric), else fifo",
    source: "",
};

/// The names of all disciplines.
static NAMES: [&str; DISCIPLINES.len()] = {
    let mut names = [""; DISCIPLINES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = DISCIPLINES[i].name;
        i += 1;
    }
    names
};

/// What waits at one port, in the order of a discipline. [`Slot::at`] is when a packet came.
pub trait Queue: Send {
    /// Takes a packet in.
    fn push(&mut self, slot: Slot);
    /// Takes the next packet to be sent out.
    fn pop(&mut self) -> Option<Slot>;
    /// Takes out a packet that is to make room for `arriving`, if there is one.
    fn push_out(&mut self, arriving: &Packet) -> Option<Packet>;
    /// Everything that waits.
    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_list() {
        assert!(NAMES.iter().all(|name| find(name).is_some_and(|found| found.name == *name)));
    }
}
