//! Queueing disciplines: the order in which a port sends queued packets.

mod dwrr;
mod fifo;
mod pfabric;
mod priority;
mod ring;
pub(crate) mod trimming;

use transport::Packet;
use units::{Default, Key, Kind, Range, Values};

use crate::fabric::level::Length;
use crate::fabric::packet_pool::Slot;
use crate::listed::listed;

/// A discipline's description: its name, its keys in `[network]`, and its queue.
pub struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// Its keys in `[network]`.
    pub keys: &'static [Key],
    /// Creates its queue at a port.
    pub queue: MakeQueue,
    /// Markers and shared buffers count the queue of a packet's class, not the port's.
    pub by_class: bool,
    /// Hosts' ports use it too wherever switches' ports do.
    pub at_hosts: bool,
    /// Ports implement it themselves, unless their marker is not built in.
    pub built_in: bool,
}

/// Creates the empty queue of one port, from the checked values of `[network]` and the weight of each priority.
pub(crate) type MakeQueue = fn(&Values, &[f64]) -> Box<dyn Queue>;

/// All disciplines, the default first.
pub(crate) const DISCIPLINES: &[Descriptor] =
    &[fifo::DESCRIPTOR, priority::DESCRIPTOR, pfabric::DESCRIPTOR, dwrr::DESCRIPTOR];

/// Returns the discipline of that name.
pub(crate) fn find(name: &str) -> Option<&'static Descriptor> {
    DISCIPLINES.iter().find(|discipline| discipline.name == name)
}

/// The key `discipline` of `[network]`.
pub(crate) const KEY: Key = Key {
    name: "discipline",
    kind: Kind::Choice(&NAMES),
    default: Default::Absent,
    range: Range::ANY,
    help: HELP,
    source: "",
};

listed!(
    DISCIPLINES,
    "order in which a switch's ports send what waits: ",
    "; when left out, the one that the run's transports and classes ask for, else the first"
);

/// The queue of one port, in the order of a discipline. [`Slot::at`] is the arrival time of a packet.
pub trait Queue: Send {
    /// Enqueues a packet in its order.
    fn push(&mut self, slot: Slot);
    /// Dequeues the packet to be sent next.
    fn pop(&mut self) -> Option<Slot>;
    /// Removes and returns a packet to make room for `arriving`, if there is one.
    fn push_out(&mut self, arriving: &Packet) -> Option<Packet>;
    /// Returns all queued packets.
    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_>;
    /// Returns the length of the queue of a packet's class, in disciplines that count [by class](Descriptor::by_class).
    fn length_of_class(&self, _packet: &Packet) -> Length {
        Length::default()
    }
    /// Returns a packet's class, and the share of the link's rate at which its queue is sent; class 0 and 1 where the
    /// port's queue counts as one.
    fn drain_of(&self, _packet: &Packet) -> (usize, f64) {
        (0, 1.0)
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
