//! Turns messages into jobs of the links at their two ends, and of the cuts that they cross. Every rounding favours the
//! schedule, so that the result stays a lower bound.

use std::collections::BTreeMap;

use sim::outcome::Framing;
use sim::topology::Graph;
use sim::topology::latency::{LARGE, Latency, Least, of_size};
use units::{Bytes, ClassId, HostId, Span, halves, pair};

use crate::cuts::{Cut, Cuts, MAX_LAYERS};
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
    graph: &'a Graph,
    latency: Latency,
    /// The framing of each class.
    framings: &'a [Framing],
    cuts: Cuts,
    /// For each machine of a cut and each host, the least time between the two for packets without a size and for
    /// [`LARGE`] ones.
    to_cuts: BTreeMap<(Machine, HostId), Option<[u64; 2]>>,
    from_cuts: BTreeMap<(Machine, HostId), Option<[u64; 2]>>,
}

impl<'a> Demands<'a> {
    /// Returns the demands on the network `graph`, with a framing for each class.
    pub fn new(graph: &'a Graph, framings: &'a [Framing]) -> Demands<'a> {
        let (to_cuts, from_cuts) = (BTreeMap::new(), BTreeMap::new());
        Demands { graph, latency: Latency::new(graph), framings, cuts: Cuts::of(graph), to_cuts, from_cuts }
    }

    /// Returns the least time of a message; zero without a path.
    pub fn least(&mut self, arrival: &Arrival) -> Span {
        let &Arrival { class, from, to, bytes, .. } = arrival;
        let framing = &self.framings[class.index()];
        self.latency.of_message(self.graph, (from, to), bytes, framing).unwrap_or_default()
    }

    /// Puts the jobs of a message into `jobs`; none without a path between its hosts.
    pub fn of(&mut self, arrival: &Arrival, jobs: &mut Vec<(Machine, Job)>) {
        let Arrival { class, from, to, bytes, start, due, .. } = *arrival;
        let framing = &self.framings[class.index()];
        let size = framing.smallest_packet(bytes);
        jobs.clear();
        let Some(Least { head, tail, last }) = self.latency.least(self.graph, from, to, size) else { return };
        let work = |rate| framing.work(bytes, rate);
        let job = |before: u64, after: u64, rate| Job {
            release: start.saturating_add(before),
            due: due.saturating_sub(after),
            work: work(rate),
        };
        jobs.push((Machine::new(Machine::RECEIVERS, to.0), job(head, last, self.latency.rates(to).1)));
        jobs.push((Machine::new(Machine::SENDERS, from.0), job(0, tail, self.latency.rates(from).0)));
        for (layer, crossed) in self.cuts.between(from, to).enumerate() {
            for (way, cut) in crossed.into_iter().enumerate() {
                let Some(cut) = cut else { continue };
                let machine = Machine::new((2 + 2 * layer + way) as u32, cut);
                let Cut { out, into } = &self.cuts.cuts[cut as usize];
                let (links, rate) = if way == 0 { out } else { into };
                let latency = &mut self.latency;
                let before = *self.to_cuts.entry((machine, from)).or_insert_with(|| {
                    let [none, large] =
                        [Bytes::ZERO, LARGE].map(|size| latency.to_links(self.graph, from, links, size));
                    Some([none?, large?])
                });
                let after = *self.from_cuts.entry((machine, to)).or_insert_with(|| {
                    let [none, large] =
                        [Bytes::ZERO, LARGE].map(|size| latency.from_links(self.graph, links, to, size));
                    Some([none?, large?])
                });
                if let Some((before, after)) = before.zip(after) {
                    jobs.push((machine, job(of_size(before, size), of_size(after, size), *rate)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
