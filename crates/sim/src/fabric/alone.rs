//! The times of messages alone in a network: by the route of their flow, or by all paths over which they are sprayed.

use std::collections::BTreeMap;

use transport::registry::Config;
use units::{Bytes, HostId, LinkId, Span, Values};

use super::balance::{self, Sprays};
use super::{Net, Router};
use crate::flow::Flow;
use crate::requests::Occupied;
use crate::topology::{Graph, LinkSpec};

/// A message as it is sent: its payload in segments of at most `mss`, each with a header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments {
    /// The bytes of the message.
    pub payload: Bytes,
    /// Maximum payload of a packet.
    pub mss: u32,
    /// Header of each packet, without the frame's overhead.
    pub header: u32,
    /// All packets take one path whatever the balancer: switches along it have state for them.
    pub keeps_path: bool,
}

/// The paths over which the packets of a message are sprayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spraying {
    most: u32,
    hashed: bool,
}

/// The paths of one message, over which its packets are sent in turn.
struct Sprayed {
    routes: Vec<Vec<Hop>>,
    packets: u64,
}

/// A link of a path.
struct Hop {
    link: LinkId,
    /// All paths of the message that have this link: a bit for each.
    paths: u128,
}

impl Spraying {
    /// Returns none where all packets of a flow take one route, or the link of a host sets the pace on every route.
    pub(crate) fn of(settings: &Values, graph: &Graph) -> Option<Spraying> {
        match balance::of(settings).sprays {
            Sprays::AtHosts if graph.hosts_route() || graph.has_slower_core() => Some(Spraying {
                most: settings.count(balance::PATHS.name) as u32,
                hashed: settings.choice(balance::PATH_CHOICE.name) == "hashed",
            }),
            Sprays::AtSwitches if !graph.hosts_route() && graph.has_slower_core() => {
                Some(Spraying { most: balance::MAX_PATHS as u32, hashed: false })
            }
            _ => None,
        }
    }

    /// Returns the paths of a message of `packets` packets, which are sent over them in turn. `first` is the route of its
    /// flow.
    fn paths(self, router: &mut Router, (from, to): (HostId, HostId), first: Vec<LinkId>, packets: u64) -> Sprayed {
        let several = router.num_ways(from, to, self.most, self.hashed);
        let mut routes: Vec<Vec<LinkId>> =
            (1..several).map(|number| router.find_way(from, to, &first, number, self.hashed).to_vec()).collect();
        routes.insert(0, first);
        let mut paths = BTreeMap::new();
        for (number, route) in routes.iter().enumerate() {
            route.iter().for_each(|link| *paths.entry(*link).or_default() |= 1_u128 << number);
        }
        let hop = |link| Hop { link, paths: paths[&link] };
        let routes = routes.into_iter().map(|route| route.into_iter().map(hop).collect()).collect();
        Sprayed { routes, packets }
    }
}

impl Sprayed {
    /// Returns the time until the last packet of all paths has arrived.
    fn ideal(&self, links: &[LinkSpec], frame_overhead: u16, message: Segments) -> Span {
        let sizes = message.sizes(frame_overhead);
        let last_of_paths = self.packets.saturating_sub(self.routes.len() as u64)..self.packets;
        last_of_paths.map(|packet| self.arrival(packet, links, sizes)).max().unwrap_or_default()
    }

    /// Returns the time at which a packet arrives. At each hop it waits for the packet before it there, which has itself
    /// waited for all packets before it at the slowest hop so far.
    fn arrival(&self, packet: u64, links: &[LinkSpec], (full, last): (Bytes, Bytes)) -> Span {
        let route = &self.routes[(packet % self.routes.len() as u64) as usize];
        let own = if packet + 1 == self.packets { last } else { full };
        // Times at which the first packet of all has left each hop, and this one has arrived behind it.
        let (mut first, mut at) = (Span::ZERO, Span::ZERO);
        for (number, &Hop { link, paths }) in route.iter().enumerate() {
            let spec = &links[link.index()];
            first += spec.rate.transmission().of(full);
            let waits = self.before(packet, paths).map(|before| {
                let others = route[..=number].iter().map(|&Hop { link, paths }| {
                    let behind_first = self.number(before + 1, paths).saturating_sub(1);
                    let of_full = links[link.index()].rate.transmission().of(full);
                    Span(of_full.0.saturating_mul(behind_first))
                });
                first.saturating_add(others.max().unwrap_or_default())
            });
            at = at.max(waits.unwrap_or_default()).saturating_add(spec.rate.transmission().of(own) + spec.delay);
            first += spec.delay;
        }
        at
    }

    /// Returns how many of the first `packets` take one of these paths.
    fn number(&self, packets: u64, paths: u128) -> u64 {
        let several = self.routes.len() as u64;
        let (turns, more) = (packets / several, packets % several);
        let of_last_turn = paths & ((1 << more) - 1);
        turns * u64::from(paths.count_ones()) + u64::from(of_last_turn.count_ones())
    }

    /// Returns the last packet before this one that takes one of these paths.
    fn before(&self, packet: u64, paths: u128) -> Option<u64> {
        let several = self.routes.len() as u64;
        let turn = packet - packet % several;
        let highest = |paths: u128| u64::from(u128::BITS - 1 - paths.leading_zeros());
        match paths & ((1 << (packet - turn)) - 1) {
            0 => Some(turn.checked_sub(several)? + highest(paths)),
            earlier => Some(turn + highest(earlier)),
        }
    }

    /// Returns the links that the message occupies at its hosts, `wire` bytes in all.
    fn occupied(&self, links: &[LinkSpec], wire: Bytes) -> Occupied {
        let times = |end: fn(&[Hop]) -> Option<&Hop>| {
            let of_hosts: BTreeMap<LinkId, Span> = self
                .routes
                .iter()
                .filter_map(|route| end(route))
                .map(|&Hop { link, paths }| {
                    let on_link = self.number(self.packets, paths);
                    let share = u128::from(wire.0) * u128::from(on_link) / u128::from(self.packets);
                    (link, links[link.index()].rate.transmission().of(Bytes(share as u64)))
                })
                .collect();
            of_hosts.into_iter().collect()
        };
        Occupied { sending: times(<[Hop]>::first), receiving: times(<[Hop]>::last) }
    }
}

impl Segments {
    /// Returns a message as a transport sends it.
    pub(crate) fn of(transport: &Config, payload: Bytes) -> Segments {
        let Config { connection, control, .. } = transport;
        let keeps_path = control.agents().is_some();
        Segments { payload, mss: connection.mss, header: connection.header, keeps_path }
    }

    /// Returns the wire bytes of each packet but the last, and of the last.
    fn sizes(self, frame_overhead: u16) -> (Bytes, Bytes) {
        let overhead = Bytes::from(self.header) + Bytes::from(frame_overhead);
        let mss = Bytes::from(self.mss);
        (mss + overhead, self.payload - mss * (self.packets() - 1) + overhead)
    }

    fn packets(self) -> u64 {
        self.payload.pieces(Bytes::from(self.mss))
    }
}

/// Returns the time that a message of a flow takes in an empty network.
pub(crate) fn ideal_of(
    router: &mut Router,
    graph: &Graph,
    spraying: Option<Spraying>,
    frame_overhead: u16,
    (from, to, flow): (HostId, HostId, Flow),
    message: Segments,
) -> Span {
    let route = router.find(from, to, flow);
    match spraying.filter(|_| !message.keeps_path) {
        None => ideal_along(route.iter().map(|link| &graph.links[link.index()]), frame_overhead, message),
        Some(spraying) => {
            let first = route.to_vec();
            let paths = spraying.paths(router, (from, to), first, message.packets());
            paths.ideal(&graph.links, frame_overhead, message)
        }
    }
}

/// Returns the time that a message takes along links of an empty network. The last packet waits at each hop for the
/// others.
fn ideal_along<'a>(route: impl Iterator<Item = &'a LinkSpec>, frame_overhead: u16, message: Segments) -> Span {
    let packets = message.packets();
    let (full, last) = message.sizes(frame_overhead);
    // Times at which the first packet has arrived at the end of each hop, and the last.
    let (mut first, mut last_at) = (Span::ZERO, Span::ZERO);
    // The longest time that a hop takes for the packets between these two.
    let mut others = Span::ZERO;
    for spec in route {
        let transmission = spec.rate.transmission();
        let of_full = transmission.of(full);
        // Petabytes at a low rate take longer than `Span` holds.
        others = others.max(Span(of_full.0.saturating_mul(packets.saturating_sub(2))));
        // The first full packet leaves this hop; the one before the last follows at the pace of the slowest.
        first += of_full;
        let before_last = if packets > 1 { first.saturating_add(others) } else { Span::ZERO };
        last_at = last_at.max(before_last).saturating_add(transmission.of(last) + spec.delay);
        first += spec.delay;
    }
    last_at
}

impl Net {
    /// Returns the time that a message takes in an empty network, given the route of its connection.
    pub(crate) fn ideal(&mut self, path: u32, to: HostId, message: Segments) -> Span {
        if let Some(spraying) = self.spraying.filter(|_| !message.keeps_path) {
            let from = self.graph.links[self.router.link(path).index()].from;
            let ends = (HostId(from), to);
            let first = self.router.rest(path).collect();
            let paths = spraying.paths(&mut self.router, ends, first, message.packets());
            return paths.ideal(&self.graph.links, self.frame_overhead, message);
        }
        let route = self.router.rest(path).map(|link| &self.graph.links[link.index()]);
        ideal_along(route, self.frame_overhead, message)
    }

    /// As [`ideal`](Net::ideal), for the route of a flow, which is not stored.
    pub(crate) fn ideal_of(&mut self, from: HostId, to: HostId, flow: Flow, message: Segments) -> Span {
        ideal_of(&mut self.router, &self.graph, self.spraying, self.frame_overhead, (from, to, flow), message)
    }

    /// Returns the time that a message of a flow takes in an empty network, and the links of its hosts that it occupies.
    pub(crate) fn alone(&mut self, from: HostId, to: HostId, flow: Flow, message: Segments) -> (Span, Occupied) {
        let (links, packets) = (&self.graph.links, message.packets());
        let (full, last) = message.sizes(self.frame_overhead);
        let wire = full * (packets - 1) + last;
        let route = self.router.find(from, to, flow);
        if let Some(spraying) = self.spraying.filter(|_| !message.keeps_path) {
            let first = route.to_vec();
            let paths = spraying.paths(&mut self.router, (from, to), first, packets);
            return (paths.ideal(links, self.frame_overhead, message), paths.occupied(links, wire));
        }
        let ends = [route.first(), route.last()].map(|link| {
            link.map(|&link| (link, links[link.index()].rate.transmission().of(wire))).into_iter().collect()
        });
        let [sending, receiving] = ends;
        let ideal = ideal_along(route.iter().map(|link| &links[link.index()]), self.frame_overhead, message);
        (ideal, Occupied { sending, receiving })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::in_order;
    use crate::fabric::tests::over;
    use units::Rate;

    /// 1500 B on the wire.
    const SEGMENTS: Segments = Segments { payload: Bytes(0), mss: 1460, header: 40, keeps_path: false };
    const SPRAYED: Spraying = Spraying { most: 16, hashed: false };

    fn message(packets: u64) -> Segments {
        Segments { payload: Bytes(1460 * packets), ..SEGMENTS }
    }

    /// Two hosts of 10 Gbps at a switch each, and two switches of `gbps` between these; links of 1 us.
    fn leaf_spine(gbps: u64) -> Graph {
        let mut graph = Graph::new(2);
        let leaves: Vec<u32> = (0..2)
            .map(|host| {
                let leaf = graph.switch("leaf", false);
                graph.join(host, leaf, Rate::from_gbps(10), Span::from_micros(1));
                leaf
            })
            .collect();
        for _ in 0..2 {
            let spine = graph.switch("spine", false);
            leaves.iter().for_each(|&leaf| graph.join(leaf, spine, Rate::from_gbps(gbps), Span::from_micros(1)));
        }
        in_order(&mut graph);
        graph
    }

    /// A packet takes 1.2 us at 10 Gbps and 2.4 at 5, and there are four delays of 1 us. Four packets have left their host
    /// at 4.8 us; the last of them takes 2.4, 2.4 and 1.2 more, as the one before it has another path.
    #[test]
    fn sprayed_messages_are_as_fast_as_their_host_over_two_links_of_half_its_rate() {
        let graph = leaf_spine(5);
        assert!(graph.has_slower_core() && !leaf_spine(10).has_slower_core());
        assert_eq!(ideal(&graph, Some(SPRAYED), message(4)), Span::from_nanos(14_800));
        assert_eq!(ideal(&graph, Some(SPRAYED), message(1)), Span::from_nanos(11_200));
        // One path: the second to fourth packets follow at 2.4 us.
        assert_eq!(ideal(&graph, None, message(4)), Span::from_nanos(18_400));
        // A thousand: their host sends for 1200 us, or one path for 2400 after 1.2.
        assert_eq!(ideal(&graph, Some(SPRAYED), message(1000)), Span::from_nanos(1_210_000));
        assert_eq!(ideal(&graph, None, message(1000)), Span::from_nanos(2_408_800));
        // At 4 Gbps the links between the switches set the pace: 3 us for every second packet.
        assert_eq!(ideal(&leaf_spine(4), Some(SPRAYED), message(1000)), Span::from_nanos(1_509_400));
    }

    /// Two hosts with a link to each of two switches, 1 us long, the second ones at `gbps`.
    fn dual(gbps: u64) -> Graph {
        let mut graph = Graph::new(2);
        for rate in [10, gbps].map(Rate::from_gbps) {
            let switch = graph.switch("tor", false);
            (0..2).for_each(|host| graph.join(host, switch, rate, Span::from_micros(1)));
        }
        in_order(&mut graph);
        graph
    }

    fn ideal(graph: &Graph, spraying: Option<Spraying>, message: Segments) -> Span {
        let (from, to) = (HostId(0), HostId(1));
        let ends = (from, to, Flow::of_pair(from, to));
        ideal_of(&mut Router::new(graph, 1), graph, spraying, 0, ends, message)
    }

    /// A packet takes 1.2 us. One path: 1001 of them and two delays. Two paths: 501, as each has every other packet.
    #[test]
    fn sprayed_messages_take_half_the_time_over_two_links() {
        let graph = dual(10);
        assert_eq!(ideal(&graph, None, message(1000)), Span::from_nanos(1_203_200));
        assert_eq!(ideal(&graph, Some(SPRAYED), message(1000)), Span::from_nanos(603_200));
        assert_eq!(
            ideal(&graph, Some(SPRAYED), Segments { keeps_path: true, ..message(1000) }),
            Span::from_nanos(1_203_200)
        );
        // The odd packet is one more of the first path. A packet alone has no other path.
        assert_eq!(ideal(&graph, Some(SPRAYED), message(1001)), Span::from_nanos(604_400));
        assert_eq!(ideal(&graph, Some(SPRAYED), message(1)), Span::from_nanos(4400));
        let one_path = Spraying { most: 1, ..SPRAYED };
        assert_eq!(ideal(&graph, Some(one_path), message(1000)), Span::from_nanos(1_203_200));
        // The last packet has 60 B: 2 x 48 ns in place of 2 x 1.2 us on the second path. The first path has 500 full ones.
        let short = Segments { payload: Bytes(1460 * 999 + 20), ..SEGMENTS };
        assert_eq!(ideal(&graph, Some(SPRAYED), short), Span::from_nanos(603_200));
        let two = Segments { payload: Bytes(20), ..SEGMENTS };
        assert_eq!(ideal(&graph, Some(SPRAYED), two), Span::from_nanos(2096));
    }

    /// Of four packets over three paths the first path has two: a full one of 1.2 us, and the last with 60 B of 48 ns. It
    /// follows the full one, which arrives with the packets of the other paths after two hops of 2.2 us.
    #[test]
    fn last_packet_is_on_the_path_whose_turn_it_is() {
        let mut graph = Graph::new(2);
        for _ in 0..3 {
            let switch = graph.switch("tor", false);
            (0..2).for_each(|host| graph.join(host, switch, Rate::from_gbps(10), Span::from_micros(1)));
        }
        in_order(&mut graph);
        let short = Segments { payload: Bytes(1460 * 3 + 20), ..SEGMENTS };
        assert_eq!(ideal(&graph, Some(SPRAYED), short), Span::from_nanos(4400 + 48));
    }

    /// 1000 packets of 1.2 us by one link, or by two of each host.
    #[test]
    fn message_that_keeps_its_path_occupies_one_link_of_each_host() {
        let mut net = over(dual(10), "fifo");
        net.spraying = Some(SPRAYED);
        let (from, to) = (HostId(0), HostId(1));
        for (keeps_path, links, occupies, takes) in [(true, 1, 1200, 1_203_200), (false, 2, 600, 603_200)] {
            let message = Segments { keeps_path, ..message(1000) };
            let (time, occupied) = net.alone(from, to, Flow::of_pair(from, to), message);
            assert_eq!(time, Span::from_nanos(takes));
            for at_host in [occupied.sending, occupied.receiving] {
                assert_eq!(
                    at_host.iter().map(|link| link.1).collect::<Vec<_>>(),
                    vec![Span::from_micros(occupies); links]
                );
            }
        }
    }

    /// The slower of two paths sets the time: 500 packets of 3 us, and one more hop.
    #[test]
    fn sprayed_messages_wait_for_the_slower_path() {
        assert_eq!(ideal(&dual(4), Some(SPRAYED), message(1000)), Span::from_micros(1505));
    }

    /// Both links of host 0 lead to one switch each, and these to the single link of a third switch to host 1: it carries
    /// all packets.
    #[test]
    fn a_link_that_paths_share_carries_the_packets_of_all() {
        let mut graph = Graph::new(2);
        let [a, b, c] = ["a", "b", "c"].map(|name| graph.switch(name, false));
        let (rate, delay) = (Rate::from_gbps(10), Span::from_micros(1));
        [(0, a), (0, b), (a, c), (b, c), (c, 1)]
            .into_iter()
            .for_each(|(one, other)| graph.join(one, other, rate, delay));
        in_order(&mut graph);
        // The first packet is at the last link after 2 x 1.2 us and 2 us; then that is never idle.
        assert_eq!(ideal(&graph, Some(SPRAYED), message(1000)), Span::from_nanos(1002 * 1200 + 3000));
        let occupied = |packets| {
            let (from, to) = (HostId(0), HostId(1));
            let mut router = Router::new(&graph, 1);
            let first = router.find(from, to, Flow::of_pair(from, to)).to_vec();
            SPRAYED.paths(&mut router, (from, to), first, packets).occupied(&graph.links, Bytes(1500 * packets))
        };
        let Occupied { sending, receiving } = occupied(1000);
        assert_eq!(sending.iter().map(|link| link.1).collect::<Vec<_>>(), [Span::from_micros(600); 2]);
        assert_eq!(receiving.iter().map(|link| link.1).collect::<Vec<_>>(), [Span::from_micros(1200)]);
    }
}
