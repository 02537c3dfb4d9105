//! Deadlocks: links that pause each other for ever.
//!
//! A paused link is resumed when its switch holds little enough of it. Packets at ports that are not paused will leave.
//! So a set of paused links is stuck for ever if of each the switch holds too much at ports of links of that set alone.
//! The largest such set is left when all other links have been removed, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use units::LinkId;

use super::pauses::Pauses;
use crate::fabric::Net;
use crate::record::outcome::Deadlock;

/// The bytes that switches hold of each link at ports of stuck links, with these links.
type Held = BTreeMap<LinkId, (u64, BTreeSet<LinkId>)>;

impl Net {
    /// Returns the links that pause each other for ever, if there are any.
    pub(crate) fn deadlock(&self) -> Option<Deadlock> {
        let pauses = self.pauses.as_deref()?;
        let is_paused = |link: &LinkId| pauses.links[*link].since.is_some() && pauses.links[*link].asked;
        let mut stuck: BTreeSet<LinkId> = pauses.links.entries().map(|(link, _)| link).filter(is_paused).collect();
        let waits = loop {
            let held = self.held_at(&stuck);
            let before = stuck.len();
            stuck.retain(|link| pauses.stays_paused(*link, &held));
            if stuck.len() == before {
                break held;
            }
        };
        // Each waits for another one of them: the walk ends where it has been before.
        let mut walk = vec![*stuck.first()?];
        let cycle = loop {
            let next = *waits[walk.last()?].1.first()?;
            match walk.iter().position(|link| *link == next) {
                Some(start) => break walk.split_off(start),
                None => walk.push(next),
            }
        };
        let since = cycle.iter().filter_map(|link| pauses.links[*link].since).max()?;
        Some(Deadlock { since, cycle, stuck: stuck.len() as u64 })
    }

    /// Returns the bytes that switches hold of each link at the ports of stuck links.
    fn held_at(&self, stuck: &BTreeSet<LinkId>) -> Held {
        let mut held = Held::new();
        for link in stuck.iter().filter(|link| self.ports[**link].place.at_switch()) {
            for packet in self.ports[*link].choice().into_iter().flat_map(|choice| choice.packets()) {
                let (bytes, behind) = held.entry(self.arrived_by(packet)).or_default();
                *bytes += u64::from(packet.size);
                behind.insert(*link);
            }
        }
        held
    }
}

impl Pauses {
    /// Returns whether a link stays paused though all leaves its switch that is not `held`.
    fn stays_paused(&self, link: LinkId, held: &Held) -> bool {
        let bytes = |link: LinkId| held.get(&link).map_or(0, |(bytes, _)| *bytes);
        let of = &self.links[link];
        let Some(switch) = of.switch else { return false };
        let pool = &self.pools[switch];
        let used = held.iter().filter(|(other, _)| self.links[**other].switch == Some(switch));
        let used = used.map(|(other, (bytes, _))| self.links[*other].beyond_own(*bytes)).sum();
        bytes(link) > self.resumed_at(of.part, pool.threshold(of.part, used))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Shared};
    use super::*;
    use crate::fabric::tests::{full, lossless};
    use crate::topology::Graph;
    use transport::Packet;
    use units::{Instant, Rate, Span};

    /// Five switches in a ring, each with a host that sends to the host two switches on. Each link of the ring is paused
    /// since as many microseconds as its number says. Of each the next switch holds a packet of 1500 B at the port behind
    /// it. A link is resumed when less than 1500 B above nothing are held, but for `spare` bytes. Returns the links.
    fn ring(spare: u64) -> (Net, Vec<LinkId>) {
        let mut graph = Graph::new(5);
        let switches: Vec<u32> = (0..5).map(|_| graph.switch("switch", false)).collect();
        for host in 0..5 {
            for other in [host, switches[(host as usize + 1) % 5]] {
                graph.join(other, switches[host as usize], Rate::from_gbps(1), Span::from_micros(1));
            }
        }
        let mut net = lossless(graph, 0);
        let links = (0..5).map(|from| {
            let packet = full(&mut net, (from, (from + 2) % 5), 0);
            let [by, at] = [1, 2].map(|hops| net.router.link(packet.route + hops));
            // The route starts at the end of the link behind the queue.
            net.ports[at].push(Instant::ZERO, Packet { route: packet.route + 3, ..packet });
            let of = &mut net.pauses.as_mut().expect("it is lossless").links[by];
            (of.since, of.asked) = (Some(Instant::from_micros(from.into())), true);
            of.part = Part { threshold: 1500 + spare, hysteresis: 0, headroom: 0 };
            by
        });
        let links = links.collect();
        (net, links)
    }

    /// 1500 B are more than 1499 and no more than 1500, at which a link is resumed.
    #[test]
    fn ring_of_paused_links_is_stuck_while_more_is_held_than_resumes_them() {
        let (net, links) = ring(1499);
        let Deadlock { since, cycle, stuck } = net.deadlock().expect("each waits for the next");
        assert_eq!((since, stuck), (Instant::from_micros(4), 5));
        let first = links.iter().position(|link| *link == cycle[0]).expect("it is of the ring");
        assert_eq!(cycle, [&links[first..], &links[..first]].concat());
        assert_eq!(ring(1500).0.deadlock(), None);
    }

    /// A pause that is not heeded yet stops no packet. A link that is to be resumed waits for none.
    #[test]
    fn link_that_is_not_paused_or_to_be_resumed_is_not_stuck() {
        for (since, asked) in [(None, true), (Some(Instant::ZERO), false), (None, false)] {
            let (mut net, links) = ring(1499);
            let of = &mut net.pauses.as_mut().expect("it is lossless").links[links[2]];
            (of.since, of.asked) = (since, asked);
            assert_eq!(net.deadlock(), None, "{since:?} {asked}");
        }
    }

    /// The link of a host is paused too, and its frames in the switch wait at ports that send.
    #[test]
    fn paused_link_of_which_nothing_is_held_there_is_not_stuck() {
        let (mut net, links) = ring(1499);
        let packet = full(&mut net, (0, 1), 0);
        let of = &mut net.pauses.as_mut().expect("it is lossless").links[net.router.link(packet.route)];
        (of.since, of.asked) = (Some(Instant::ZERO), true);
        of.part = Part { threshold: 1000, hysteresis: 0, headroom: 0 };
        assert_eq!(net.deadlock().map(|deadlock| (deadlock.stuck, deadlock.cycle.len())), Some((5, links.len())));
    }

    /// 1000 of 1500 B are in the part that links share, at each switch. With 3500 B of that 3000 B may be held of a link,
    /// which is resumed at 1500 B; with a byte less they are stuck.
    #[test]
    fn links_of_other_switches_do_not_use_the_shared_part() {
        for (bytes, is_stuck) in [(3499, true), (3500, false)] {
            let (mut net, links) = ring(0);
            let pauses = net.pauses.as_mut().expect("it is lossless");
            pauses.pools.iter_mut().for_each(|pool| pool.shared = Some(Shared { bytes, alpha: 1.0 }));
            links.iter().for_each(|link| pauses.links[*link].part.threshold = 500);
            assert_eq!(net.deadlock().is_some(), is_stuck, "{bytes}");
        }
    }
}
