//! Faults in the network: each kind is a file that declares its keys and its effect.
//!
//! A fault is active on some links from one time until another. It has one of three effects: the links carry nothing,
//! their ports stop marking, or it affects each packet at their ends. A fault draws from streams of its own, one for
//! each direction of a link. So a run without faults is not changed by this module, and packets on one link change no
//! draw on another.

mod corruption;
mod down;
mod duplication;
mod loss;
mod no_marks;
mod reordering;
mod select;

use std::fmt::Debug;

use transport::Packet;
use units::{Alias, Default, Instant, Key, Kind, Problem, Range, Span, Stream, Values};

use crate::topology::Graph;

/// A fault's description: its name, and its keys beside the general ones of faults.
pub struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// Other words for its name or for one of its keys.
    pub aliases: &'static [Alias],
    /// Its keys beside [`KEYS`].
    pub keys: &'static [Key],
    /// An example of its keys, in a run of 60 ms over one switch, as in a scenario file.
    pub example: &'static str,
    /// If `link` names a node, selects only the links from it, not also the links to it.
    outward: bool,
    /// Builds the effect from the checked values of `[[fault]]`.
    build: fn(&Values) -> Result<Effect, Problem>,
}

/// All kinds of faults, in the order of the reference.
pub const KINDS: &[Descriptor] = &[
    down::DESCRIPTOR,
    loss::DESCRIPTOR,
    corruption::DESCRIPTOR,
    reordering::DESCRIPTOR,
    duplication::DESCRIPTOR,
    no_marks::DESCRIPTOR,
];

/// Other words for keys of every fault.
pub const ALIASES: &[Alias] =
    &[("from", "at"), ("links", "link"), ("node", "link"), ("start", "at"), ("switch", "link"), ("to", "until")];

/// Keys of every `[[fault]]` beside its `kind`.
pub const KEYS: &[Key] = &[
    Key {
        name: "link",
        kind: Kind::Text,
        default: Default::Absent,
        range: Range::ANY,
        help: "where: \"leaf 0 - spine 1\", a link by its ends; \"leaf 0 -> spine 1\", one direction of it; \"spine 1\" or \
               \"host 3\", all links of a node (with no-marks, all its ports); left out: everywhere",
        source: "",
    },
    Key {
        name: "share",
        kind: Kind::Share,
        default: Default::Is("100%"),
        range: Range::above(0.0, 1.0),
        help: "so many of these links, drawn from the seed, and at least one",
        source: "",
    },
    Key {
        name: "at",
        kind: Kind::Time,
        default: Default::Is("0 s"),
        range: Range::at_least(0.0),
        help: "when it begins; what happens at this very instant is struck",
        source: "",
    },
    Key {
        name: "until",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "when it ends; what happens at this very instant is spared; left out: never",
        source: "",
    },
];

/// A fault of a run.
#[derive(Debug)]
pub struct Fault {
    /// The name of its kind.
    pub kind: &'static str,
    /// The affected directions of links, as the nodes at their starts and ends.
    pub links: Vec<(u32, u32)>,
    /// The links were drawn at random.
    pub drawn: bool,
    /// Time at which it begins.
    pub at: Instant,
    /// Time at which it ends, if ever.
    pub until: Option<Instant>,
    /// Effect on its links.
    pub effect: Effect,
}

/// The effect of a fault on its links.
#[derive(Debug)]
pub enum Effect {
    /// The links carry nothing, and after a delay flows take other routes.
    Down {
        /// Age of the state of links that routing uses.
        reroute: Span,
    },
    /// The ports of the links mark nothing.
    Unmarked,
    /// Affects each packet at the end of the links.
    OnPackets(Box<dyn OnPacket>),
}

/// An effect on packets of a link.
pub trait OnPacket: Debug + Send + Sync {
    /// Returns the effect on this packet.
    fn meets(&self, packet: &Packet, stream: &mut Stream) -> Met;
}

/// The effect of a fault on a packet at the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// No effect: the packet arrives.
    Nothing,
    /// The packet is lost.
    Lost,
    /// It arrives later by this time, and others overtake it.
    Late(Span),
    /// It arrives a second time, after all other arrivals of the same instant.
    Twice,
}

impl Fault {
    /// Returns the fault of that number in a run, from its checked values.
    ///
    /// # Errors
    /// A link that does not exist, an end before the beginning, or values that the kind rejects.
    pub fn new(
        descriptor: &'static Descriptor,
        values: &Values,
        graph: &Graph,
        seed: u64,
        number: u64,
    ) -> Result<Fault, Problem> {
        let at = values.time("at").after_start();
        let until = values.time_if_set("until").map(Span::after_start);
        if let Some(until) = until.filter(|until| *until <= at) {
            return Err(Problem::new("until", format!("the fault would end at {until}, and begin only at {at}")));
        }
        let all = select::links(graph, values.text_if_set("link").as_deref(), descriptor.outward)?;
        let share = values.number("share");
        let count = ((all.len() as f64 * share).round() as usize).clamp(1, all.len());
        let drawn = count < all.len();
        let links = if drawn {
            let mut chosen = Stream::new(seed, "links of a fault", number).distinct(count as u32, all.len() as u32);
            chosen.sort_unstable();
            chosen.into_iter().flat_map(|index| all[index as usize].iter().copied()).collect()
        } else {
            all.into_iter().flatten().collect()
        };
        Ok(Fault { kind: descriptor.name, links, drawn, at, until, effect: (descriptor.build)(values)? })
    }

    /// Returns whether another seed affects other packets or links.
    pub fn is_random(&self) -> bool {
        self.drawn || matches!(self.effect, Effect::OnPackets(_))
    }
}

/// Returns the kind of that name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The key `probability`, for kinds that affect single packets.
const PROBABILITY: Key = Key {
    name: "probability",
    kind: Kind::Share,
    default: Default::Required,
    range: Range::above(0.0, 1.0),
    help: "of each packet on each of the links, independent of all others",
    source: "",
};

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;
    use units::{Rate, Value};

    fn values(pairs: &[(&'static str, f64)]) -> Values {
        let mut values = Values::default();
        pairs.iter().for_each(|&(name, value)| values.set(name, Value::Number(value)));
        values
    }

    /// Returns how many of 100 000 packets of 1500 B have a certain effect.
    fn met(kind: &str, values: &Values, is: impl Fn(Met) -> bool) -> u32 {
        meet(kind, values, Packet::data(0, 1460, 40, Instant::ZERO, Flags::NONE), is)
    }

    /// Returns the same for packets like this one.
    fn meet(kind: &str, values: &Values, packet: Packet, is: impl Fn(Met) -> bool) -> u32 {
        let Ok(Effect::OnPackets(effect)) = (find(kind).expect("a fault of that name").build)(values) else {
            panic!("{kind}")
        };
        let mut stream = Stream::new(1, "test", 0);
        (0..100_000).filter(|_| is(effect.meets(&packet, &mut stream))).count() as u32
    }

    #[test]
    fn so_many_packets_are_struck_as_was_said() {
        // 1000 of 100 000, with a standard deviation of sqrt(1000 x 0.99) = 31; four of them.
        let near = |found: u32| found.abs_diff(1000) <= 126;
        let one_percent = values(&[("probability", 0.01)]);
        let of = |what, payload| {
            let mut values = one_percent.clone();
            values.set("of", Value::Choice(what));
            let packet = Packet::data(0, payload, 40, Instant::ZERO, Flags::NONE);
            meet("loss", &values, packet, |met| met == Met::Lost)
        };
        assert!(near(of("all", 1460)) && near(of("data", 1460)) && near(of("data", 1)));
        assert!(near(of("all", 0)) && near(of("control", 0)));
        assert_eq!((of("control", 1), of("data", 0)), (0, 0));
        assert!(near(met("duplication", &one_percent, |met| met == Met::Twice)));
        // 12 000 bits: 1 - (1 - p)^12000 = 1 % for p = 8.375e-7.
        assert!(near(met("corruption", &values(&[("bit_error_rate", 8.375e-7)]), |met| met == Met::Lost)));
        let mut late = one_percent.clone();
        late.set("by", Value::Time(Span::from_micros(100)));
        assert!(near(met("reordering", &late, |met| matches!(met, Met::Late(_)))));
        // Uniform up to 100 us: half of them by more than 50.
        let half = met("reordering", &late, |met| matches!(met, Met::Late(by) if by > Span::from_micros(50)));
        assert!(half.abs_diff(500) <= 90, "{half}");
        assert_eq!(met("reordering", &late, |met| matches!(met, Met::Late(by) if by > Span::from_micros(100))), 0);
        let mut least = values(&[("probability", 1.0)]);
        least.set("by", Value::Time(Span(1)));
        assert_eq!(met("reordering", &least, |met| met == Met::Late(Span(1))), 100_000, "late is later");
    }

    #[test]
    fn a_share_of_the_links_is_drawn_and_at_least_one() {
        let mut graph = Graph::new(10);
        let switch = graph.switch("switch", false);
        (0..10).for_each(|host| graph.join(host, switch, Rate::from_gbps(1), Span(1)));
        let fault = |share, seed| {
            let mut values = values(&[("share", share)]);
            values.set("at", Value::Time(Span::ZERO));
            Fault::new(find("no-marks").expect("a fault of that name"), &values, &graph, seed, 0).expect("valid values")
        };
        // Two directions of each link.
        for (share, links) in [(1.0, 10), (0.94, 9), (0.5, 5), (0.26, 3), (0.01, 1)] {
            let fault = fault(share, 1);
            let distinct: std::collections::BTreeSet<_> = fault.links.iter().copied().collect();
            assert_eq!((fault.links.len(), distinct.len()), (2 * links, 2 * links), "{share}");
            assert_eq!((fault.drawn, fault.is_random()), (links < 10, links < 10), "{share}");
        }
        // Ten seeds of 252 choices: two equal ones are likely, ten are not.
        let links: std::collections::BTreeSet<_> = (0..10).map(|seed| fault(0.5, seed).links).collect();
        assert!(links.len() > 5, "{links:?}");
    }

    #[test]
    fn what_strikes_single_packets_is_random_wherever_it_is() {
        let mut graph = Graph::new(2);
        let switch = graph.switch("switch", false);
        (0..2).for_each(|host| graph.join(host, switch, Rate::from_gbps(1), Span(1)));
        let mut values = values(&[("share", 1.0), ("probability", 0.5)]);
        values.set("at", Value::Time(Span::ZERO));
        let fault = Fault::new(find("duplication").expect("a fault of that name"), &values, &graph, 1, 0)
            .expect("valid values");
        assert_eq!((fault.drawn, fault.is_random()), (false, true));
    }
}
