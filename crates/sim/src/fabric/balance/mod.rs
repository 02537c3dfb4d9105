//! Balancers: the path that each packet of a connection takes, among the shortest ones.

mod conga;
mod drill;
mod ecmp;
mod flowlet;
mod flowlets;
mod letflow;
mod reps;
mod spray;

use transport::{Overlay, Packet};
use units::{Default, HostId, Instant, Key, Kind, LinkId, Range, Rate, Span, Values, mix64};

use crate::listed::listed;

/// A balancer's description: its name, its keys in `[network]`, and its state at an end of a connection.
pub(crate) struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// Its keys in `[network]`.
    pub keys: &'static [Key],
    /// The chooser of paths, with the function that creates its state.
    pub chooser: Chooser,
    /// It uses news of the packets that have arrived.
    pub listens: bool,
    /// The place where the packets of each burst are sent on all paths, and not each burst on one path.
    pub sprays: Sprays,
}

/// The place where packets of a burst are sent on several paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sprays {
    /// None: a burst keeps to one path.
    Nowhere,
    /// The host that sends them, over all paths of their connection.
    AtHosts,
    /// Each switch, over all shortest paths from there.
    AtSwitches,
}

impl Descriptor {
    /// Returns whether packets of a connection may overtake each other though none is lost.
    pub(crate) fn reorders(&self) -> bool {
        !matches!(self.chooser, Chooser::Hash)
    }
}

/// The place at which the paths of packets are chosen.
#[derive(Clone, Copy)]
pub(crate) enum Chooser {
    /// None: all packets of a flow take one path, which a hash decides.
    Hash,
    /// The host that sends a packet.
    Hosts(MakeBalancer),
    /// Each switch on its way, among the links on shortest paths from there.
    Switches(MakeSwitchBalancer),
}

/// Creates the balancer of one end of a connection, from the checked values of `[network]`.
pub(crate) type MakeBalancer = fn(&Values) -> Box<dyn Balancer>;

/// Creates the balancer of one switch, from the checked values of `[network]`.
pub(crate) type MakeSwitchBalancer = fn(&Values) -> Box<dyn SwitchBalancer>;

/// All balancers, the default first.
pub(crate) const BALANCERS: &[Descriptor] = &[
    ecmp::DESCRIPTOR,
    spray::DESCRIPTOR,
    reps::DESCRIPTOR,
    flowlet::DESCRIPTOR,
    letflow::DESCRIPTOR,
    conga::DESCRIPTOR,
    drill::DESCRIPTOR,
];

/// Returns the balancer that the checked values of `[network]` name, the default without the key.
pub(crate) fn of(values: &Values) -> &'static Descriptor {
    let named = values.choice_if_set(KEY.name).and_then(|name| BALANCERS.iter().find(|other| other.name == name));
    named.unwrap_or(&BALANCERS[0])
}

/// The key `balance` of `[network]`.
pub(crate) const KEY: Key = Key {
    name: "balance",
    kind: Kind::Choice(&NAMES),
    default: Default::Is("ecmp"),
    range: Range::ANY,
    help: HELP,
    source: "RFC 2992 (ecmp); Dixit et al., INFOCOM 2013 (spray); Bonato et al. 2024 (reps); Kandula et al., CCR 2007 (flowlet); Vanini et al., NSDI 2017 (letflow); Alizadeh et al., SIGCOMM 2014 (conga); Ghorbani et al., SIGCOMM 2017 (drill)",
};

/// The key `paths` of `[network]`.
pub(crate) const PATHS: Key = Key {
    name: "paths",
    kind: Kind::Count,
    default: Default::Is("16"),
    range: Range::between(1.0, MAX_PATHS as f64),
    help: "where balance uses several paths, the largest number of shortest ones that it uses between two hosts",
    source: "UE's NSCC uses 1 to 256 entropies, which switches hash; here each is another path unless path_choice is hashed",
};

/// The key `path_choice` of `[network]`.
pub(crate) const PATH_CHOICE: Key = Key {
    name: "path_choice",
    kind: Kind::Choice(&["even", "hashed"]),
    default: Default::Is("even"),
    range: Range::ANY,
    help: "which links the paths of a connection have where hosts choose: even: they differ from each other as early and \
           as evenly as possible; hashed: each switch hashes the number of the path (its entropy), so several paths may \
           be one",
    source: "RFC 6438 and UE 1.0: switches hash a field of the packet; even is the best that they can do",
};

/// The most paths that a connection can use: a packet has a byte for its path and a mark.
pub(crate) const MAX_PATHS: u64 = 128;

listed!(
    BALANCERS,
    "which of the shortest paths each packet takes: ",
    "; with all but ecmp packets may overtake each other, and transports wait longer before they count one as lost (reordering)"
);

/// The rule by which one end of a connection chooses the path of each packet.
pub(crate) trait Balancer: Send {
    /// Returns the path of a packet that is sent now, of several.
    fn next(&mut self, now: Instant, paths: u32, draws: &mut Draws) -> u32;
    /// Records the news that a packet on a path has arrived without a mark.
    fn unmarked(&mut self, _path: u32) {}
}

/// The rule by which one switch chooses the next link of each packet.
pub(crate) trait SwitchBalancer: Send {
    /// Returns the index of the next link of a packet, of several.
    fn next(&mut self, hop: &Hop, draws: &mut Draws) -> usize;
    /// Returns true if packets from one switch to another have an [overlay](Overlay) header.
    fn reports(&self) -> bool {
        false
    }
    /// Handles a packet that this switch sends to another: reads and writes its overlay header.
    fn send(&mut self, _now: Instant, _link: Onward, _packet: &Packet, _overlay: &mut Overlay) {}
    /// Handles the overlay header of a packet for a host of this switch.
    fn receive(&mut self, _now: Instant, _overlay: &Overlay) {}
}

/// A packet at a switch, which chooses its next link.
pub(crate) struct Hop<'a> {
    /// The present simulated time.
    pub now: Instant,
    /// The packet as it has reached the switch.
    pub packet: &'a Packet,
    /// The host for which it is bound.
    pub to: HostId,
    /// The node of that host's switch.
    pub last_switch: u32,
    /// The links that it may take.
    pub links: &'a [Onward],
    /// For each of them, the time in which its port will have sent its queue.
    pub queues: &'a [Span],
}

/// A link that leaves a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onward {
    /// Its number in the network.
    pub link: LinkId,
    /// The rate of its port.
    pub rate: Rate,
}

/// The random numbers of one end of a connection, or of a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// Returns the draws of a seed.
    pub(super) fn of(seed: u64) -> Draws {
        Draws(mix64(seed))
    }

    /// Draws a number below `n`.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mix64(self.0)) * u128::from(n)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a blank packet at a switch with links of 10 Gbps, numbered from 0, and these queues.
    pub(super) fn hop(now: Instant, queues: &[Span]) -> Hop<'_> {
        const LINKS: [Onward; 64] = {
            let mut links = [Onward { link: LinkId(0), rate: Rate::from_gbps(10) }; 64];
            let mut number = 0;
            while number < 64 {
                links[number].link = LinkId(number as u32);
                number += 1;
            }
            links
        };
        Hop { now, packet: &Packet::BLANK, to: HostId(7), last_switch: 20, links: &LINKS[..queues.len()], queues }
    }

    #[test]
    fn names_are_those_of_the_list() {
        assert!(NAMES.into_iter().all(|name| {
            let mut values = Values::default();
            values.set(KEY.name, units::Value::Choice(name));
            of(&values).name == name
        }));
        assert!(matches!(BALANCERS[0].chooser, Chooser::Hash), "the default costs nothing");
    }

    #[test]
    fn draws_are_even() {
        let mut draws = Draws::of(7);
        let mut counts = [0_u32; 5];
        (0..50_000).for_each(|_| counts[draws.below(5) as usize] += 1);
        // 10 000 each, with a standard deviation of sqrt(50 000 x 0.2 x 0.8) = 89.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 360), "{counts:?}");
    }
}
