//! Lossless networks: priority flow control (PFC, IEEE 802.1Qbb) with one class for all packets.
//!
//! A switch counts the bytes that it holds of each link that ends there. Where one more packet might exceed the link's
//! threshold (XOFF), it sends a pause frame against the link's direction. The port before the link then sends nothing
//! until the next frame allows it again (XON). Packets that arrive meanwhile have the headroom.

mod deadlock;
pub(crate) mod pauses;

use std::collections::BTreeMap;

use units::{Amount, Bytes, Default, Key, Kind, Problem, Range, Rate, Span, Values};

use super::buffer::Sharing;
use super::switch_paths::at_switches;
use crate::topology::{Graph, LinkSpec};

/// The keys of lossless networks in `[network]`.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "lossless",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "priority flow control with one class for all packets: a switch that holds too much of what a link has brought \
               pauses the port before that link, and drops nothing; buffers are then for the links that end at a switch; a \
               pause stops all flows of a host's port, whatever host_queue says",
        source: "IEEE 802.1Qbb",
    },
    Key {
        name: "pause_threshold",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE.more_is_easier(),
        help: "with lossless: the most that a switch holds of one link before it pauses that (XOFF), in wire bytes or packets \
               of the largest size; when left out, what buffer and sharing leave beside the headroom: with dynamic, one \
               packet and dynamic_alpha times the free part of the pool",
        source: "IEEE 802.1Qbb leaves it open; dynamic as in SONiC's buffer profiles (dynamic_th)",
    },
    Key {
        name: "pause_hysteresis",
        kind: Kind::Amount,
        default: Default::Is("2 packets"),
        range: Range::at_least(0.0),
        help: "with lossless: a paused link is resumed once so much less is held of it than what pauses it (XON)",
        source: "SONiC's buffer profiles: xon_offset; DCQCN (SIGCOMM 2015) 4: two packets",
    },
    Key {
        name: "pause_headroom",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::at_least(0.0).more_is_easier(),
        help: "with lossless: room for what a link brings before its pause is heeded; when left out, enough for all of it: its \
               rate times (both propagation delays, a packet and a 64 B pause frame the other way, pause_response and a \
               host's jitter), and one packet",
        source: "IEEE 802.1Qbb, annex O",
    },
    Key {
        name: "pause_response",
        kind: Kind::Time,
        default: Default::Is("2 us"),
        range: Range::between(0.0, 1.0).less_is_easier(),
        help: "with lossless: the time that a port takes to heed a pause frame, after it has arrived",
        source: "IEEE 802.3, 31B.3.7, at most: 3.1 us at 10 Gbps, 1.5 us at 40 Gbps, 2.0 us at 100 Gbps",
    },
];

/// Wire bytes of a pause frame.
const FRAME: Bytes = Bytes(64);

/// The parameters of a lossless network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lossless {
    threshold: Option<Amount>,
    hysteresis: Amount,
    headroom: Option<Amount>,
    response: Span,
}

/// The part of a switch's buffer for one link that ends there, in wire bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// The bytes that it may hold in any case before the link is paused.
    threshold: u64,
    /// The amount below its threshold at which a paused link is resumed.
    hysteresis: u64,
    headroom: u64,
}

/// The part of a switch's buffer that its links share dynamically.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shared {
    bytes: u64,
    alpha: f64,
}

/// The division of all buffers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Division {
    /// By link, in the order of the graph; none where no switch with a limited buffer is at its end.
    parts: Vec<Option<Part>>,
    /// The shared part of each switch's buffer, if it has one.
    shared: Vec<Option<Shared>>,
}

/// Returns whether the checked values of `[network]` ask for a lossless network.
pub(crate) fn is_lossless(values: &Values) -> bool {
    values.find(KEYS[0].name).is_some_and(|_| values.bool(KEYS[0].name))
}

impl Lossless {
    /// Returns the parameters if the checked values of `[network]` ask for a lossless network.
    pub(crate) fn from_values(values: &Values) -> Option<Lossless> {
        is_lossless(values).then(|| Lossless {
            threshold: values.amount_if_set("pause_threshold"),
            hysteresis: values.amount("pause_hysteresis"),
            headroom: values.amount_if_set("pause_headroom"),
            response: values.time("pause_response"),
        })
    }

    /// Checks that the values of `[network]` ask for nothing that makes no sense in a lossless network, or without one.
    ///
    /// # Errors
    /// A key has no effect, or another one says that packets are dropped.
    pub(crate) fn check(values: &Values, graph: &Graph) -> Result<(), Problem> {
        if !is_lossless(values) {
            // A resolved scenario has the defaults of the others.
            let without_default = |key: &&Key| matches!(key.default, Default::Absent);
            let unused = KEYS.iter().filter(without_default).find(|key| values.is_given(key.name));
            return match unused {
                Some(key) => Err(Problem::new(key.name, "pauses nothing where the network may drop packets")
                    .hint("write lossless = true, or leave it out")),
                None => Ok(()),
            };
        }
        if values.bool("trim") {
            let problem = "a lossless network has room for all packets, and trims none";
            return Err(Problem::new("trim", problem).hint("leave out `trim`, or `lossless`"));
        }
        if values.choice("non_ect") == "drop" {
            let problem = "drops packets, which a lossless network does not";
            return Err(Problem::new("non_ect", problem).hint("write non_ect = \"pass\", or leave out `lossless`"));
        }
        if matches!(Sharing::from_values(values), Sharing::Limited(..)) {
            let problem = "limits queues by those of other ports, and a lossless network limits what each link brings";
            return Err(
                Problem::new("sharing", problem).hint("write sharing = \"dynamic\", \"static\" or \"per-port\"")
            );
        }
        if at_switches(values) {
            let problem = "in a lossless network hosts choose paths, not switches";
            return Err(
                Problem::new("balance", problem).hint("write balance = \"spray\", \"reps\", \"flowlet\" or \"ecmp\"")
            );
        }
        if values.choice("host_queue") == "fifo" {
            let problem = "hosts' ports, which may be paused, are served by turns or hold whatever windows allow";
            return Err(Problem::new("host_queue", problem).hint("write host_queue = \"fair\" or \"unlimited\""));
        }
        if graph.links.iter().any(|link| link.buffer.is_some()) {
            let problem = "divides the buffers of switches itself; a link's `buffer` limits the queue of one port";
            return Err(
                Problem::new("lossless", problem).hint("leave out `buffer` in `links`, and set it for switches")
            );
        }
        Ok(())
    }

    /// Returns the room for what a link brings before a pause is heeded, in bytes.
    ///
    /// A packet may have just begun on the link `back`, which the frame waits for. The port may have just begun another
    /// one when it heeds the frame.
    fn headroom(&self, link: &LinkSpec, back: &LinkSpec, packet: Bytes, jitter: Option<Span>, from_host: bool) -> u64 {
        let frame = back.rate.transmission().of(packet + FRAME);
        let jitter = if from_host { jitter.unwrap_or(link.rate.transmission().of(packet)) } else { Span::ZERO };
        let time = [frame, back.delay, link.delay, self.response, jitter];
        time.into_iter().map(|part| bytes_in(link.rate, part)).sum::<u64>() + packet.0
    }

    /// Divides the buffers among the links that end at each switch. Packets have up to `packet` wire bytes. A switch has a
    /// buffer of `usual` bytes or packets unless the graph says otherwise.
    ///
    /// # Errors
    /// A buffer is too small.
    pub(in crate::fabric) fn divide(
        self,
        graph: &Graph,
        (usual, sharing): (Amount, Sharing),
        jitter: Option<Span>,
        packet: Bytes,
    ) -> Result<Division, Problem> {
        let bytes = |amount: Amount| match amount {
            Amount::Packets(packets) => packets.saturating_mul(packet.0),
            Amount::Bytes(bytes) => bytes,
        };
        let mut division = Division { parts: vec![None; graph.links.len()], shared: vec![None; graph.switches.len()] };
        let mut ends_at = vec![Vec::new(); graph.nodes() as usize];
        graph.links.iter().enumerate().for_each(|(index, link)| ends_at[link.to as usize].push(index));
        let by_ends: BTreeMap<(u32, u32), &LinkSpec> =
            graph.links.iter().map(|link| ((link.from, link.to), link)).collect();
        for (index, node) in graph.switches.iter().enumerate().filter(|(_, node)| !node.unlimited) {
            let buffer = bytes(node.buffer.unwrap_or(usual));
            let links = std::mem::take(&mut ends_at[graph.hosts as usize + index]);
            let headroom = |&link: &usize| match self.headroom {
                Some(amount) => bytes(amount),
                None => {
                    let link = &graph.links[link];
                    let back = by_ends.get(&(link.to, link.from)).copied().unwrap_or(link);
                    self.headroom(link, back, packet, jitter, link.from < graph.hosts)
                }
            };
            let headrooms: Vec<u64> = links.iter().map(headroom).collect();
            let least = self.threshold.map_or(packet.0, bytes);
            let of_one = || headrooms.iter().max().map_or(0, |most| most + least);
            let (all, of) = match sharing {
                Sharing::PerPort => (of_one(), buffer),
                Sharing::Static => (of_one(), buffer / links.len().max(1) as u64),
                Sharing::Dynamic(_) | Sharing::Limited(..) => {
                    (headrooms.iter().map(|headroom| headroom + least).sum(), buffer)
                }
            };
            if least < packet.0 {
                let problem = format!("holds no packet of {packet}: everything would be paused for ever");
                return Err(Problem::new("pause_threshold", problem).hint("allow one packet at least"));
            }
            if all > of {
                return Err(too_small(&node.name, sharing, all, links.len()));
            }
            for (link, headroom) in links.into_iter().zip(headrooms) {
                let threshold = match (self.threshold, sharing) {
                    (None, Sharing::PerPort | Sharing::Static) => of - headroom,
                    _ => least,
                };
                division.parts[link] = Some(Part { threshold, hysteresis: bytes(self.hysteresis), headroom });
            }
            if let (None, Sharing::Dynamic(alpha)) = (self.threshold, sharing) {
                division.shared[index] = Some(Shared { bytes: of - all, alpha });
            }
        }
        Ok(division)
    }
}

/// Returns the error of a buffer that does not hold thresholds and headroom.
fn too_small(name: &str, sharing: Sharing, needed: u64, links: usize) -> Problem {
    let each = match sharing {
        Sharing::PerPort => "for a link",
        Sharing::Static => "for an equal part",
        Sharing::Dynamic(_) | Sharing::Limited(..) => "for all links",
    };
    let bytes = match sharing {
        Sharing::Static => needed.saturating_mul(links as u64),
        _ => needed,
    };
    let problem =
        format!("too small for headroom and thresholds of the links to {name}: {} are needed {each}", Bytes(needed));
    Problem::new("buffer", problem).hint(format!("write buffer = \"{bytes} B\" or more, or set pause_headroom"))
}

/// Returns the bytes that a link sends in a time, rounded up.
fn bytes_in(rate: Rate, time: Span) -> u64 {
    const PS_PER_BYTE: u128 = 8_000_000_000_000;
    (u128::from(rate.0) * u128::from(time.0)).div_ceil(PS_PER_BYTE) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Value;

    const PACKET: Bytes = Bytes(1500);

    fn lossless() -> Lossless {
        Lossless {
            threshold: None,
            hysteresis: Amount::Packets(2),
            headroom: Some(Amount::Bytes(10_000)),
            response: Span::from_micros(2),
        }
    }

    /// Three hosts at one switch, 10 Gbps and 10 us.
    fn star() -> Graph {
        let mut graph = Graph::new(3);
        let switch = graph.switch("switch", false);
        (0..3).for_each(|host| graph.join(host, switch, Rate::from_gbps(10), Span::from_micros(10)));
        graph
    }

    fn divide(lossless: Lossless, buffer: Amount, sharing: Sharing) -> Result<Division, Problem> {
        lossless.divide(&star(), (buffer, sharing), Some(Span::ZERO), PACKET)
    }

    fn first(division: Division) -> Part {
        division.parts.into_iter().flatten().next().expect("three links end at the switch")
    }

    /// 20 us of light and 2 us are 27 500 B, then a packet and a frame the other way, and the packet that has begun.
    /// A way back at a tenth of the rate is busy for ten times as long; a host's packet may be late by its own time.
    #[test]
    fn headroom_is_what_arrives_before_a_pause_is_heeded() {
        let (rate, delay) = (Rate::from_gbps(10), Span::from_micros(10));
        let link = LinkSpec::new(0, 3, rate, delay);
        let of = |back: &LinkSpec, jitter, from_host| lossless().headroom(&link, back, PACKET, jitter, from_host);
        let back = LinkSpec::new(3, 0, rate, delay);
        assert_eq!(of(&back, Some(Span::ZERO), true), 27_500 + 1564 + 1500);
        assert_eq!(of(&back, None, true), 27_500 + 1564 + 1500 + 1500);
        assert_eq!(of(&back, None, false), 27_500 + 1564 + 1500);
        assert_eq!(of(&back, Some(Span::from_micros(1)), true), 27_500 + 1564 + 1500 + 1250);
        let slow = LinkSpec::new(3, 0, Rate::from_gbps(1), delay);
        assert_eq!(of(&slow, Some(Span::ZERO), true), 27_500 + 15_640 + 1500);
    }

    #[test]
    fn buffers_are_divided_among_the_links_that_end_at_a_switch() {
        let part = |threshold, headroom| Part { threshold, hysteresis: 3000, headroom };
        let amount = Amount::Bytes(60_000);
        assert_eq!(divide(lossless(), amount, Sharing::PerPort).map(first), Ok(part(50_000, 10_000)));
        assert_eq!(divide(lossless(), amount, Sharing::Static).map(first), Ok(part(10_000, 10_000)));
        let dynamic = divide(lossless(), amount, Sharing::Dynamic(0.5)).expect("there is room");
        assert_eq!(dynamic.shared, [Some(Shared { bytes: 60_000 - 3 * 11_500, alpha: 0.5 })]);
        assert_eq!(dynamic.parts.iter().flatten().count(), 3, "no host has a part");
        assert_eq!(first(dynamic), part(1500, 10_000));
        let fixed = Lossless { threshold: Some(Amount::Packets(6)), ..lossless() };
        let of_fixed = divide(fixed, amount, Sharing::Dynamic(0.5)).expect("there is room");
        assert_eq!(of_fixed.shared, [None]);
        assert_eq!(first(of_fixed), part(9000, 10_000));
        let packets = Lossless { headroom: None, ..lossless() };
        assert_eq!(divide(packets, Amount::Packets(100), Sharing::PerPort).map(first), Ok(part(119_436, 30_564)));
    }

    /// Only the packets of hosts may be late by their own time of 1.2 us, or 1500 B. A single link has all of a static
    /// buffer, and a switch without links has nothing to divide.
    #[test]
    fn links_between_switches_need_less_headroom_than_those_of_hosts() {
        let mut graph = Graph::new(1);
        let [first, second, _] = ["first", "second", "alone"].map(|name| graph.switch(name, false));
        let (rate, delay) = (Rate::from_gbps(10), Span::from_micros(10));
        [(0, first), (first, second)].into_iter().for_each(|(from, to)| graph.join(from, to, rate, delay));
        let computed = Lossless { headroom: None, ..lossless() };
        let division = computed.divide(&graph, (Amount::Bytes(200_000), Sharing::Static), None, PACKET);
        let division = division.expect("there is room");
        let of = |from, to| {
            let index = graph.links.iter().position(|link| (link.from, link.to) == (from, to));
            division.parts[index.expect("they are joined")].map(|part| (part.threshold, part.headroom))
        };
        assert_eq!(of(0, first), Some((100_000 - 32_064, 32_064)));
        assert_eq!(of(second, first), Some((100_000 - 30_564, 30_564)));
        assert_eq!(of(first, second), Some((200_000 - 30_564, 30_564)));
        assert_eq!(of(first, 0), None);
    }

    #[test]
    fn a_buffer_must_hold_headroom_and_a_packet() {
        let fixed = Lossless { threshold: Some(Amount::Packets(6)), ..lossless() };
        for (lossless, sharing, least) in [
            (lossless(), Sharing::PerPort, 11_500),
            (lossless(), Sharing::Static, 3 * 11_500),
            (lossless(), Sharing::Dynamic(1.0), 3 * 11_500),
            (fixed, Sharing::PerPort, 19_000),
            (fixed, Sharing::Dynamic(1.0), 3 * 19_000),
        ] {
            assert!(divide(lossless, Amount::Bytes(least), sharing).is_ok(), "{least} {sharing:?}");
            let problem = divide(lossless, Amount::Bytes(least - 1), sharing).expect_err("one byte is missing");
            assert_eq!(problem.key, "buffer");
            assert!(problem.hint.is_some_and(|hint| hint.contains(&format!("\"{least} B\""))), "{least} {sharing:?}");
        }
        let short = Lossless { threshold: Some(Amount::Bytes(1499)), ..self::lossless() };
        assert_eq!(divide(short, Amount::Bytes(99_000), Sharing::PerPort).expect_err("short").key, "pause_threshold");
    }

    #[test]
    fn networks_may_drop_unless_they_say_otherwise() {
        let mut values = Values::default();
        assert!(!is_lossless(&values) && Lossless::from_values(&values).is_none());
        values.set("lossless", Value::Bool(true));
        values.set("pause_response", Value::Time(Span::from_micros(2)));
        values.set("pause_hysteresis", Value::Amount(Amount::Packets(2)));
        values.set("pause_headroom", Value::Amount(Amount::Bytes(10_000)));
        assert_eq!(Lossless::from_values(&values), Some(lossless()));
    }
}
