//! The paths of connections whose packets take several, as a [balancer](super::balance) chooses.

use std::collections::BTreeMap;

use transport::{Flags, Packet};
use units::{ConnectionId, HostId, LinkId, Span, Stream, Table, Values};

use super::Net;
use super::balance::{self, Balancer, Chooser, Descriptor, Draws, MakeBalancer};
use crate::flow::Incarnation;

/// The balancers of all ends of connections, and the paths among which they choose.
pub(super) struct Paths {
    descriptor: &'static Descriptor,
    make: MakeBalancer,
    settings: Values,
    /// The most paths of a connection.
    most: u32,
    /// Switches hash the number of a path.
    hashed: bool,
    /// For each route that a connection was given, all routes that its packets take.
    sets: BTreeMap<u32, Box<[u32]>>,
    /// Incremented when routing has changed, and the sets are out of date.
    epoch: u32,
    /// The sending and the receiving end of each connection.
    ends: Table<ConnectionId, [Option<Box<End>>; 2]>,
    /// Number of ends that each host has had, for their draws.
    drawn: Table<HostId, u32>,
    seed: u64,
}

/// The bit of [`Flags::path`] in an acknowledgement of a packet that was marked or trimmed, or of none.
const MARKED: u8 = 0x80;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndOf {
    /// The end that sends data.
    Sending,
    /// The end that receives it.
    Receiving,
}

/// A balancer at one end of a connection.
struct End {
    generation: u16,
    /// All its packets take the route that the connection was given.
    keeps: bool,
    /// The path of the latest packet that has arrived here since one was sent, with [`MARKED`] if it was.
    heard: u8,
    /// The route that the connection was given, and the epoch of its set.
    route: u32,
    epoch: u32,
    set: Box<[u32]>,
    /// The path of the next packet, if it is chosen already.
    ahead: Option<u32>,
    draws: Option<Draws>,
    balancer: Box<dyn Balancer>,
}

impl Paths {
    /// Returns none unless hosts choose the paths of packets.
    pub(super) fn from_values(settings: &Values, hosts: u32, seed: u64) -> Option<Box<Paths>> {
        let descriptor = balance::of(settings);
        let Chooser::Hosts(make) = descriptor.chooser else { return None };
        Some(Box::new(Paths {
            descriptor,
            make,
            settings: settings.clone(),
            most: settings.count(balance::PATHS.name) as u32,
            hashed: settings.choice(balance::PATH_CHOICE.name) == "hashed",
            sets: BTreeMap::new(),
            epoch: 0,
            ends: Table::default(),
            drawn: vec![0; hosts as usize].into(),
            seed: Stream::new(seed, "paths of packets", 0).bits(),
        }))
    }

    /// Returns the end that sends packets with these flags.
    fn sends(flags: Flags) -> EndOf {
        if flags.has(Flags::ACK) { EndOf::Receiving } else { EndOf::Sending }
    }

    /// Returns an end's balancer, new if the connection is; none for one that another has followed under its id.
    fn end_of(&mut self, connection: Incarnation, which: EndOf) -> Option<&mut End> {
        let known = self.ends.reach(connection.id)[which as usize].as_ref();
        let is_past = known.is_some_and(|end| (end.generation.wrapping_sub(connection.generation) as i16) > 0);
        (!is_past).then(|| self.end(connection, which))
    }

    fn end(&mut self, Incarnation { id, generation }: Incarnation, which: EndOf) -> &mut End {
        let end = &mut self.ends.reach(id)[which as usize];
        if end.as_ref().is_none_or(|end| end.generation != generation) {
            *end = Some(Box::new(End {
                generation,
                keeps: false,
                heard: MARKED,
                route: u32::MAX,
                epoch: self.epoch,
                set: Box::default(),
                ahead: None,
                draws: None,
                balancer: (self.make)(&self.settings),
            }));
        }
        end.as_mut().expect("it was made above if it was missing")
    }
}

impl Net {
    /// Returns whether packets of a connection may take several paths.
    #[inline(always)]
    pub(super) fn has_paths(&self) -> bool {
        self.paths.is_some()
    }

    /// Lets all packets of an end take one route: switches along it have state for them.
    #[inline(never)]
    pub(crate) fn keep_path(&mut self, connection: Incarnation, which: EndOf) {
        if let Some(paths) = &mut self.paths {
            paths.end(connection, which).keeps = true;
        }
    }

    /// Returns the route and the flags of a packet that its host sends, as the balancer chooses, given the route of its
    /// connection.
    #[inline(never)]
    pub(super) fn choose_path(
        &mut self,
        (id, generation): (ConnectionId, u16),
        route: u32,
        flags: Flags,
    ) -> (u32, Flags) {
        let (connection, which) = (Incarnation { id, generation }, Paths::sends(flags));
        let Some(chosen) = self.chosen(connection, which, route) else { return (route, flags) };
        let Some(paths) = &mut self.paths else { return (route, flags) };
        let end = paths.end(connection, which);
        end.ahead = None;
        // Each arrival is reported once.
        let told = if which == EndOf::Sending { chosen as u8 } else { std::mem::replace(&mut end.heard, MARKED) };
        (end.set[chosen as usize], flags.on_path(told))
    }

    /// Returns the route that the next data packet of a connection takes, given the route of the connection.
    #[cold]
    pub(crate) fn next_route(&mut self, connection: Incarnation, route: u32) -> u32 {
        let Some(chosen) = self.chosen(connection, EndOf::Sending, route) else { return route };
        let Some(paths) = &mut self.paths else { return route };
        let end = paths.end(connection, EndOf::Sending);
        end.ahead = Some(chosen);
        end.set[chosen as usize]
    }

    /// Returns the path in its set that an end's next packet takes; none if all take the route of its connection.
    fn chosen(&mut self, connection: Incarnation, which: EndOf, route: u32) -> Option<u32> {
        let mut paths = self.paths.take()?;
        let (now, epoch) = (self.now, paths.epoch);
        let host = HostId(self.graph.links[self.router.link(route).index()].from);
        let end = paths.end(connection, which);
        if end.keeps {
            self.paths = Some(paths);
            return None;
        }
        if end.route != route || end.epoch != epoch {
            (end.route, end.epoch, end.ahead) = (route, epoch, None);
            let set = match paths.sets.get(&route) {
                Some(set) => set.clone(),
                None => {
                    let set = self.routes_beside(route, paths.most, paths.hashed);
                    paths.sets.insert(route, set.clone());
                    set
                }
            };
            paths.end(connection, which).set = set;
        }
        let (seed, drawn) = (paths.seed, &mut paths.drawn[host]);
        let end = paths.ends[connection.id][which as usize].as_mut().expect("it was looked up above");
        let draws = end.draws.get_or_insert_with(|| {
            *drawn += 1;
            Draws::of(seed ^ u64::from(host.0) << 32 ^ u64::from(*drawn))
        });
        let chosen = match (end.ahead, end.set.len() as u32) {
            (Some(ahead), _) => ahead,
            (None, 1) => 0,
            (None, several) => end.balancer.next(now, several, draws),
        };
        self.paths = Some(paths);
        Some(chosen)
    }

    /// Returns whether packets that reach hosts are [inspected](Net::inspect).
    #[inline(always)]
    pub(crate) fn inspects(&self) -> bool {
        self.inspects
    }

    /// Records the path of a packet that has reached its host, for balancers that listen.
    #[inline(never)]
    pub(crate) fn inspect(&mut self, packet: &Packet) {
        let Some(paths) = self.paths.as_mut().filter(|paths| paths.descriptor.listens) else { return };
        let connection = Incarnation::of(packet);
        match Paths::sends(packet.flags) {
            EndOf::Sending => {
                let bad = packet.flags.has(Flags::CE) || packet.is_trimmed();
                if let Some(end) = paths.end_of(connection, EndOf::Receiving) {
                    end.heard = packet.flags.path() | if bad { MARKED } else { 0 };
                }
            }
            EndOf::Receiving if packet.flags.path() & MARKED == 0 => {
                if let Some(end) = paths.end_of(connection, EndOf::Sending) {
                    end.balancer.unmarked(packet.flags.path().into());
                }
            }
            EndOf::Receiving => {}
        }
    }

    /// Returns a route's set: at most `most` shortest routes between its ends, of which it is the first. If they are
    /// `hashed`, there are `most`, and several may be one.
    fn routes_beside(&mut self, route: u32, most: u32, hashed: bool) -> Box<[u32]> {
        let links: Vec<LinkId> = self.router.rest(route).collect();
        let end = |link: Option<&LinkId>| link.map(|link| self.graph.links[link.index()]);
        let (Some(first), Some(last)) = (end(links.first()), end(links.last())) else {
            unreachable!("a route has links")
        };
        let (from, to) = (HostId(first.from), HostId(last.to));
        let several = self.router.num_ways(from, to, most, hashed);
        let mut set: Vec<u32> = Vec::with_capacity(several as usize);
        for number in 0..several {
            let (position, is_new) = self.router.way(from, to, &links, number, hashed);
            if is_new && let Some(part) = &mut self.part {
                part.publish_route(position, self.router.latest());
            }
            set.push(position);
        }
        set.into()
    }

    /// Forgets all sets, after routing has changed.
    pub(super) fn forget_paths(&mut self) {
        if let Some(paths) = &mut self.paths {
            paths.sets.clear();
            paths.epoch += 1;
        }
    }

    /// Returns the least propagation delay of a route's set, if packets may take several routes.
    pub(super) fn min_propagation_of_set(&mut self, route: u32) -> Option<Span> {
        let mut paths = self.paths.take()?;
        let set =
            paths.sets.entry(route).or_insert_with(|| self.routes_beside(route, paths.most, paths.hashed)).clone();
        self.paths = Some(paths);
        set.iter().map(|&route| self.delay_along(route)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::spread;
    use super::*;
    use crate::flow::Flow;

    /// The paths, as their numbers, of the next packets of a connection from a host to the fourth one after it.
    fn taken(net: &mut Net, (id, generation, from): (u32, u16, u32), count: usize) -> Vec<u8> {
        let route = route(net, from);
        (0..count).map(|_| net.choose_path((ConnectionId(id), generation), route, Flags::NONE).1.path()).collect()
    }

    fn route(net: &mut Net, from: u32) -> u32 {
        net.path(HostId(from), HostId(from + 4), Flow::of_pair(HostId(from), HostId(from + 4)))
    }

    /// Lets an acknowledgement reach its host, with the path of the packet that it answers.
    fn answered(net: &mut Net, (id, generation): (u32, u16), path: u8) {
        let flags = Flags::ACK.on_path(path);
        net.inspect(&Packet { connection: ConnectionId(id), generation, flags, ..Packet::BLANK });
    }

    #[test]
    fn connection_that_keeps_its_path_leaves_the_others_theirs() {
        let mut net = spread("spray");
        let (kept, id) = (route(&mut net, 0), ConnectionId(0));
        net.keep_path(Incarnation { id, generation: 0 }, EndOf::Sending);
        let routes = [0; 4].map(|_| net.choose_path((id, 0), kept, Flags::NONE));
        assert_eq!(routes, [(kept, Flags::NONE); 4]);
        let mut others = taken(&mut net, (1, 0, 1), 4);
        others.sort_unstable();
        assert_eq!(others, [0, 1, 2, 3]);
    }

    /// Four turns over four paths have 8^4 orders.
    #[test]
    fn connections_of_a_host_and_of_two_hosts_draw_other_orders() {
        let mut net = spread("spray");
        let orders = [(0, 0, 0), (1, 0, 0), (2, 0, 1)].map(|connection| taken(&mut net, connection, 16));
        assert!(orders[0] != orders[1] && orders[0] != orders[2] && orders[1] != orders[2], "{orders:?}");
    }

    /// Four links of 20 us.
    #[test]
    fn min_delay_is_that_of_a_path() {
        let mut net = spread("spray");
        let route = route(&mut net, 0);
        assert_eq!(net.min_propagation_of_set(route), Some(Span::from_micros(80)));
    }

    /// A balancer with memory for one path: an answer to a marked packet does not take its place.
    #[test]
    fn answers_to_marked_packets_are_no_news_of_good_paths() {
        for good in 0..4 {
            let mut net = spread("reps");
            taken(&mut net, (0, 0, 0), 1);
            answered(&mut net, (0, 0), good);
            answered(&mut net, (0, 0), ((good + 1) % 4) | MARKED);
            assert_eq!(taken(&mut net, (0, 0, 0), 1), [good]);
        }
    }

    #[test]
    fn answers_to_an_earlier_connection_of_the_same_id_are_no_news() {
        for good in 0..4 {
            let mut net = spread("reps");
            taken(&mut net, (0, 0, 0), 1);
            taken(&mut net, (0, 1, 0), 1);
            answered(&mut net, (0, 1), good);
            answered(&mut net, (0, 0), (good + 1) % 4);
            assert_eq!(taken(&mut net, (0, 1, 0), 1), [good]);
        }
    }

    /// Each packet has one path, also if that was asked for before; but not when routing has changed since.
    #[test]
    fn path_chosen_ahead_is_taken_unless_routing_has_changed() {
        let mut net = spread("spray");
        let mut ahead = Vec::new();
        for id in 0..8 {
            let (connection, way) = (Incarnation { id: ConnectionId(id), generation: 0 }, route(&mut net, 0));
            let next = net.next_route(connection, way);
            assert_eq!(net.choose_path((connection.id, 0), way, Flags::NONE).0, next);
            ahead.push(net.next_route(connection, way));
        }
        ahead.sort_unstable();
        ahead.dedup();
        assert!(ahead.len() > 2, "{ahead:?}");
        net.paths.as_mut().expect("hosts choose").most = 2;
        net.forget_paths();
        for id in 0..8 {
            assert!(taken(&mut net, (id, 0, 0), 1)[0] < 2);
        }
    }
}
