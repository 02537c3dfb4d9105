//! Turns messages into jobs of the links at their two ends, and of the cuts that they cross. Every rounding favours the
//! schedule, so that the result stays a lower bound.

use std::collections::BTreeMap;

use sim::outcome::Framing;
use sim::topology::Graph;
use units::{Bytes, ClassId, HostId, Rate, Table, halves, pair};

use crate::cuts::{Cut, Cuts, MAX_LAYERS};
use crate::latency::{LARGE, Latency, Least, of_size};
use crate::machine::Job;

/// A message with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The class of the message.
    pub class: ClassId,
    /// The host that sends it.
    pub from: HostId,
    /// The host that receives it.
    pub to: HostId,
    /// The size of the payload.
    pub bytes: Bytes,
    /// The time of the hand-over to the transport, in ps.
    pub start: u64,
    /// The time by which its last byte must be at the receiver, in ps.
    pub due: u64,
    /// The level of an answer in a tree of several levels.
    pub level: Option<u8>,
}

impl Arrival {
    /// The length of a [`record`](Arrival::record), in words.
    pub const WORDS: usize = 6;

    /// Returns the message as words for a file. The order of records does not depend on when each message became known.
    pub fn record(&self) -> [u64; Arrival::WORDS] {
        let Arrival { class, from, to, bytes, start, due, level } = *self;
        [start, due, pair(from.0, to.0), class.0.into(), bytes.0, level.map_or(0, |level| u64::from(level) + 1)]
    }

    /// Returns the message of a [`record`](Arrival::record).
    pub fn of_record([start, due, hosts, class, bytes, level]: [u64; Arrival::WORDS]) -> Arrival {
        let (from, to) = halves(hosts);
        Arrival {
            class: ClassId(class as u32),
            from: HostId(from),
            to: HostId(to),
            bytes: Bytes(bytes),
            start,
            due,
            level: level.checked_sub(1).map(|level| level as u8),
        }
    }
}

/// A link, or several links that share their work, as a machine: its family and its number in the family. Machines are
/// examined in this order. A message has at most one machine of a family, so the late messages of a family's machines
/// add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine(pub u64);

impl Machine {
    /// The family of the links into receiving hosts.
    pub const RECEIVERS: u32 = 0;
    /// The family of the links out of sending hosts.
    pub const SENDERS: u32 = 1;
    /// The number of families: two of hosts, and two for each layer of cuts.
    pub const FAMILIES: usize = 2 + 2 * MAX_LAYERS;

    fn new(family: u32, number: u32) -> Machine {
        Machine(pair(family, number))
    }

    /// Returns the family of the machine; families from 2 on are cuts.
    pub fn family(self) -> u32 {
        halves(self.0).0
    }
}

/// Turns messages into jobs.
pub struct Demands<'a> {
    latency: Latency<'a>,
    /// The framing of each class.
    framings: &'a [Framing],
    /// The sum of the rates of each host's links: out of it, and into it. Several links can do no more than a single
    /// link with the sum of their rates.
    rates: Table<HostId, (Rate, Rate)>,
    cuts: Cuts,
    /// For each machine of a cut and each host, the least time between the two for packets without a size and for
    /// [`LARGE`] ones.
    to_cuts: BTreeMap<(Machine, HostId), Option<[u64; 2]>>,
    from_cuts: BTreeMap<(Machine, HostId), Option<[u64; 2]>>,
}

impl<'a> Demands<'a> {
    /// Returns the demands on the network `graph`, with a framing for each class.
    pub fn new(graph: &'a Graph, framings: &'a [Framing]) -> Demands<'a> {
        let mut rates = Table::from(vec![(Rate(0), Rate(0)); graph.hosts as usize]);
        for link in &graph.links {
            if let Some((out, _)) = rates.find_mut(HostId(link.from)) {
                out.0 += link.rate.0;
            }
            if let Some((_, into)) = rates.find_mut(HostId(link.to)) {
                into.0 += link.rate.0;
            }
        }
        let (to_cuts, from_cuts) = (BTreeMap::new(), BTreeMap::new());
        Demands { latency: Latency::new(graph), framings, rates, cuts: Cuts::of(graph), to_cuts, from_cuts }
    }

    /// Puts the jobs of a message into `jobs`; none without a path between its hosts.
    pub fn of(&mut self, arrival: &Arrival, jobs: &mut Vec<(Machine, Job)>) {
        let Arrival { class, from, to, bytes, start, due, .. } = *arrival;
        let framing = &self.framings[class.index()];
        let size = smallest_packet(bytes, framing);
        jobs.clear();
        let Some(Least { head, tail, last }) = self.latency.least(from, to, size) else { return };
        let work = |rate| work(bytes, framing, rate);
        let job = |before: u64, after: u64, rate| Job {
            release: start.saturating_add(before),
            due: due.saturating_sub(after),
            work: work(rate),
        };
        jobs.push((Machine::new(Machine::RECEIVERS, to.0), job(head, last, self.rates[to].1)));
        jobs.push((Machine::new(Machine::SENDERS, from.0), job(0, tail, self.rates[from].0)));
        for (layer, crossed) in self.cuts.between(from, to).enumerate() {
            for (way, cut) in crossed.into_iter().enumerate() {
                let Some(cut) = cut else { continue };
                let machine = Machine::new((2 + 2 * layer + way) as u32, cut);
                let Cut { out, into } = &self.cuts.cuts[cut as usize];
                let (links, rate) = if way == 0 { out } else { into };
                let latency = &mut self.latency;
                let before = *self.to_cuts.entry((machine, from)).or_insert_with(|| {
                    let [none, large] = [Bytes::ZERO, LARGE].map(|size| latency.to_links(from, links, size));
                    Some([none?, large?])
                });
                let after = *self.from_cuts.entry((machine, to)).or_insert_with(|| {
                    let [none, large] = [Bytes::ZERO, LARGE].map(|size| latency.from_links(links, to, size));
                    Some([none?, large?])
                });
                if let Some((before, after)) = before.zip(after) {
                    jobs.push((machine, job(of_size(before, size), of_size(after, size), *rate)));
                }
            }
        }
    }
}

/// Returns the size on the wire of the smallest packet that carries payload of a message. It may be the first to start
/// at the receiver's port (earlier ones were dropped) and the last to leave the sender's. On a shared connection a
/// packet may begin or end anywhere in the message.
fn smallest_packet(bytes: Bytes, framing: &Framing) -> Bytes {
    let mss = Bytes::from(framing.mss);
    let payload = if framing.shared { Bytes(1) } else { bytes - mss * (bytes.pieces(mss) - 1) };
    payload + framing.overhead.into()
}

/// Returns the least time for which a message occupies a link: with its payload, and the headers of as few packets as
/// possible. A port rounds the time of a packet, to at most a picosecond less than exact; so each packet counts a
/// picosecond less. On a shared connection a message may share its first and last packet with others, so the header
/// counts in proportion to the payload.
fn work(bytes: Bytes, framing: &Framing, rate: Rate) -> u64 {
    const BYTE: u128 = 8_000_000_000_000;
    let (bytes, mss, overhead, rate) =
        (u128::from(bytes.0), u128::from(framing.mss), u128::from(framing.overhead), u128::from(rate.0.max(1)));
    let ps = if overhead * BYTE < rate {
        // A header costs less than the picosecond, so many small packets are the cheapest.
        (bytes * BYTE / rate).saturating_sub(bytes)
    } else if framing.shared {
        bytes * ((mss + overhead) * BYTE - rate) / (mss * rate)
    } else {
        let packets = bytes.div_ceil(mss);
        ((bytes + packets * overhead) * BYTE / rate).saturating_sub(packets)
    };
    u64::try_from(ps).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMING: Framing = Framing { mss: 1460, overhead: 40, shared: false };
    const SHARED: Framing = Framing { shared: true, ..FRAMING };

    #[test]
    fn a_link_carries_payload_and_headers() {
        let gbps = Rate::from_gbps(1);
        // Full packets take 12 us, less a picosecond for each.
        assert_eq!(work(Bytes(14_600), &FRAMING, gbps), 10 * 12_000_000 - 10);
        // A byte more costs a packet more, unless it can share the packet of the next message.
        assert_eq!(work(Bytes(14_601), &FRAMING, gbps), 120_000_000 + 41 * 8_000 - 11);
        assert_eq!(work(Bytes(14_600), &SHARED, gbps), 10 * 12_000_000 - 10);
        assert_eq!(work(Bytes(1), &SHARED, gbps), 8219);
        let bare = Framing { overhead: 0, ..FRAMING };
        assert_eq!(work(Bytes(1000), &bare, gbps), 8_000_000 - 1000);
    }

    #[test]
    fn it_is_never_more_than_the_ports_take() {
        for rate in [Rate(10_000), Rate(333_333_333), Rate::from_gbps(11), Rate::from_gbps(7_000)] {
            for (mss, overhead) in [(1, 40), (1, 0), (1460, 0), (1460, 1), (1460, 78), (9000, 40)] {
                for bytes in [1, 2, 1459, 1460, 1461, 29_201, 1_000_003] {
                    let of = |size: u64| rate.transmission().of(Bytes(size + overhead)).0;
                    let (full, rest) = (bytes / mss, bytes % mss);
                    let taken = full * of(mss) + if rest > 0 { of(rest) } else { 0 };
                    for shared in [false, true] {
                        let framing = Framing { mss: mss as u32, overhead: overhead as u32, shared };
                        assert!(work(Bytes(bytes), &framing, rate) <= taken, "{bytes} B at {rate} in {framing:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn amounts_without_end_do_not_overflow() {
        assert_eq!(work(Bytes(1 << 50), &FRAMING, Rate(10_000)), u64::MAX);
        assert_eq!(work(Bytes(1 << 50), &Framing { mss: 60_000, overhead: 4000, shared: true }, Rate(1)), u64::MAX);
    }

    #[test]
    fn a_record_says_all_of_a_message() {
        for level in [None, Some(0), Some(u8::MAX)] {
            let arrival = Arrival {
                class: ClassId(u32::MAX),
                from: HostId(7),
                to: HostId(u32::MAX),
                bytes: Bytes(u64::MAX),
                start: 1 << 63,
                due: u64::MAX,
                level,
            };
            assert_eq!(Arrival::of_record(arrival.record()), arrival);
        }
    }

    #[test]
    fn the_smallest_packet_is_the_last() {
        assert_eq!(smallest_packet(Bytes(1461), &FRAMING), Bytes(41));
        assert_eq!(smallest_packet(Bytes(2920), &FRAMING), Bytes(1500));
        assert_eq!(smallest_packet(Bytes(2920), &SHARED), Bytes(41));
    }
}
