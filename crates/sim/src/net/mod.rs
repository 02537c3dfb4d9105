//! The network: ports, buffers, paths, and the packets in them.

mod agents;
mod pool;
mod port;
mod ring;
mod route;
mod scheduled;

pub use port::{Fate, Level, Port, Watch};
pub use ring::{Ring, Slot};

use std::collections::BTreeMap;

use transport::agent::PortState;
use transport::{Agents, Extension, Flags, Packet};
use units::{Amount, Stream, Time};

use crate::discipline::Descriptor;
use crate::event::EventQueue;
use crate::flow::Flow;
use crate::network::{Network, Sharing};
use crate::outcome::Counters;
use crate::topology::{Graph, LinkSpec};
use agents::AtPorts;
use pool::Pool;
use route::Router;
use scheduled::Scheduled;

/// The network with everything that is in it.
pub struct Net {
    /// The present.
    pub now: Time,
    /// What is to come.
    pub events: EventQueue,
    /// Totals.
    pub counters: Counters,
    /// Nodes and links; links sorted by the node they lead to, and ports numbered like them.
    pub graph: Graph,
    ports: Vec<Port>,
    /// What waits at the ports whose discipline is not first in, first out; empty where none is.
    scheduled: Vec<Option<Box<Scheduled>>>,
    /// For how long each port had sent when the warm-up ended.
    sent_before: Vec<Time>,
    pools: Vec<Pool>,
    router: Router,
    extensions: Extensions,
    /// What families of transports keep at the ports.
    pub agents: AtPorts,
    /// Wire bytes that were dropped at their receivers' ports, by connection and generation.
    dropped_at_receiver: BTreeMap<(u32, u16), u64>,
    frame_overhead: u16,
    jitter: Jitter,
}

impl Net {
    /// An empty network.
    /// In `priorities` a run's packets are divided, if its discipline has any use for them.
    pub fn new(network: Network, seed: u64, discipline: &Descriptor, priorities: u8) -> Net {
        let Network { mut graph, switch, frame_overhead, host_jitter, settings } = network;
        // Events at the same time go by link number: by the node that they happen at.
        graph.links.sort_by_key(|link| (link.to, link.from));
        let hosts = graph.hosts;
        let longest_hop = graph.links.iter().map(|link| link.rate.transmission().of(1600) + link.delay).max();
        let mut pools = Vec::new();
        let mut pool_of = vec![Port::NO_POOL; graph.switches.len()];
        if let Sharing::Dynamic(alpha) = switch.sharing {
            for (pool, _) in pool_of.iter_mut().zip(&graph.switches).filter(|(_, node)| !node.unlimited) {
                *pool = pools.len() as u32;
                pools.push(Pool::new(switch.buffer, alpha));
            }
        }
        // The ports of each switch that share its buffer.
        let mut sharers = vec![0; graph.switches.len()];
        for link in graph.links.iter().filter(|link| link.from >= hosts && link.buffer.is_none()) {
            sharers[(link.from - hosts) as usize] += 1;
        }
        let port = |spec: &LinkSpec| {
            let to_host = spec.to < hosts;
            let port = Port::new(spec.rate, spec.delay, to_host);
            let Some(node) = spec.from.checked_sub(hosts).map(|node| node as usize) else { return port };
            if graph.switches[node].unlimited {
                return port.limited(Level::INFINITE, Level::INFINITE, false);
            }
            let buffer = match (spec.buffer, switch.sharing) {
                (Some(own), _) => level(Some(own), 1),
                (None, Sharing::Dynamic(_)) => Level::INFINITE,
                (None, Sharing::PerPort) => level(Some(switch.buffer), 1),
                (None, Sharing::Static) => level(Some(switch.buffer), sharers[node]),
            };
            let mark = spec.mark.or(if to_host { switch.marks.host } else { switch.marks.uplink });
            let mut port = port.limited(buffer, level(mark, 1), switch.drop_non_ect);
            if spec.buffer.is_none() {
                port.pool = pool_of[node];
            }
            port
        };
        let mut ports: Vec<Port> = graph.links.iter().map(port).collect();
        for (index, port) in ports.iter().enumerate().filter(|(_, port)| port.pool != Port::NO_POOL) {
            pools[port.pool as usize].add(index as u32);
        }
        let scheduled = match discipline.queue {
            None => Vec::new(),
            Some(queue) => {
                let scheduled = |port: &mut Port| {
                    port.watch()?;
                    let pool = std::mem::replace(&mut port.pool, Port::SCHEDULED);
                    Some(Box::new(Scheduled::new(queue(&settings, priorities), pool)))
                };
                ports.iter_mut().map(scheduled).collect()
            }
        };
        Net {
            now: Time::ZERO,
            events: EventQueue::new(ports.len(), longest_hop.unwrap_or_default()),
            counters: Counters::default(),
            router: Router::new(&graph, Stream::new(seed, "paths of flows", 0).bits()),
            graph,
            sent_before: vec![Time::ZERO; ports.len()],
            ports,
            scheduled,
            pools,
            extensions: Extensions::default(),
            agents: AtPorts::default(),
            dropped_at_receiver: BTreeMap::new(),
            frame_overhead: frame_overhead as u16,
            jitter: Jitter::new(host_jitter, seed),
        }
    }

    /// Puts the agents of these families at every port.
    pub fn station(&mut self, families: &[Agents]) {
        let rates = self.graph.links.iter().map(|link| link.rate);
        self.agents = AtPorts::new(families, u64::from(self.frame_overhead), rates);
    }

    /// Whether each link leaves a switch, not a host.
    pub fn leave_switches(&self) -> impl Iterator<Item = bool> {
        self.graph.links.iter().map(|link| link.from >= self.graph.hosts)
    }

    /// The path of a flow, for [`send`](Net::send) and [`ideal`](Net::ideal).
    pub fn path(&mut self, from: u32, to: u32, flow: Flow) -> u32 {
        self.router.path(from, to, flow)
    }

    /// Gives all paths away, one after the other, as link numbers: positions are what [`path`](Net::path) gave.
    pub fn take_paths(&mut self) -> Vec<u32> {
        self.router.take_links()
    }

    /// Puts a packet into its host's NIC queue; `packet.route` is the path that it takes.
    #[inline]
    pub fn send(&mut self, mut packet: Packet) {
        self.counters.packets_sent += 1;
        let link = self.router.link(packet.route);
        packet.route += 1;
        packet.size += self.frame_overhead;
        let (now, jitter) = (self.now, self.jitter);
        let is_data = packet.payload > 0;
        let late = |transmission| if is_data { jitter.draw(now, link, transmission) } else { Time::ZERO };
        if let Some(at) = self.ports[link as usize].launch(now, late, packet) {
            self.events.push_arrival(self.now, at, link);
        }
    }

    /// As [`send`](Net::send), with more than its header.
    pub fn send_extended(&mut self, mut packet: Packet, mut extension: Extension) {
        if let Some(header) = &mut extension.header {
            let link = self.router.link(packet.route);
            let state = state(self.now, &self.ports[link as usize]);
            self.agents.show(link, &state, &packet, header);
        }
        packet.extension = self.extensions.keep(extension);
        packet.flags = packet.flags.with(Flags::EXTENDED);
        self.send(packet);
    }

    /// Takes the packet that has reached the end of `link`; gives it back if that is a host.
    #[inline]
    pub fn arrive(&mut self, link: u32) -> Option<Packet> {
        let port = &mut self.ports[link as usize];
        let (packet, next) = port.take();
        let to_host = port.to_host;
        if let Some(at) = next {
            self.events.push_arrival(self.now, at, link);
        }
        self.counters.packet_hops += 1;
        if to_host {
            self.counters.packets_received += 1;
            return Some(packet);
        }
        self.forward(&packet);
        None
    }

    /// Takes what an extended packet carries beside its header, once.
    pub fn take_extension(&mut self, packet: &Packet) -> Option<Extension> {
        packet.flags.has(Flags::EXTENDED).then(|| self.extensions.take(packet.extension))
    }

    /// Wire bytes of a connection, by number and generation, that were dropped at its receiver's port since the
    /// last call. Those of earlier ones of that number are forgotten: nobody is left to whom they matter.
    pub fn take_dropped_at_receiver(&mut self, connection: (u32, u16)) -> u64 {
        if self.dropped_at_receiver.is_empty() {
            return 0;
        }
        let of_number = (connection.0, 0)..=(connection.0, u16::MAX);
        let mut dropped = 0;
        while let Some((&key, &bytes)) = self.dropped_at_receiver.range(of_number.clone()).next() {
            self.dropped_at_receiver.remove(&key);
            dropped += if key == connection { bytes } else { 0 };
        }
        dropped
    }

    #[inline]
    fn forward(&mut self, packet: &Packet) {
        let link = self.router.link(packet.route);
        let fate = if packet.flags.has(Flags::EXTENDED) {
            self.offer_extended(link, packet)
        } else {
            self.offer(link, packet)
        };
        match fate {
            Fate::First(at) => self.events.push_arrival(self.now, at, link),
            Fate::Queued => {}
            Fate::Dropped => self.dropped(link, packet),
        }
    }

    #[inline(always)]
    fn offer(&mut self, link: u32, packet: &Packet) -> Fate {
        let port = &mut self.ports[link as usize];
        match port.pool {
            Port::NO_POOL => port.offer(self.now, packet),
            Port::SCHEDULED => self.offer_scheduled(link, packet, false),
            pool => self.pools[pool as usize].offer(self.now, packet, link, &mut self.ports),
        }
    }

    /// As [`offer`](Net::offer). The port's agents see a packet with a header that the port has accepted.
    #[inline(never)]
    fn offer_extended(&mut self, link: u32, packet: &Packet) -> Fate {
        let Some(header) = &self.extensions.at(packet.extension).header else { return self.offer(link, packet) };
        let fate = if self.agents.pass_full_buffers(link, packet, header) {
            match self.ports[link as usize].pool {
                Port::NO_POOL => self.ports[link as usize].offer_within(self.now, packet, Level::INFINITE),
                Port::SCHEDULED => self.offer_scheduled(link, packet, true),
                pool => self.pools[pool as usize].admit(self.now, packet, link, &mut self.ports),
            }
        } else {
            self.offer(link, packet)
        };
        if fate != Fate::Dropped
            && let Some(header) = &mut self.extensions.at(packet.extension).header
        {
            self.agents.show(link, &state(self.now, &self.ports[link as usize]), packet, header);
        }
        fate
    }

    #[cold]
    fn dropped(&mut self, link: u32, packet: &Packet) {
        self.counters.drops += 1;
        if self.ports[link as usize].to_host && packet.payload > 0 {
            *self.dropped_at_receiver.entry((packet.connection, packet.generation)).or_default() +=
                u64::from(packet.size);
        }
        self.take_extension(packet);
    }

    /// Lets all queues catch up with the present.
    pub fn settle(&mut self) {
        for pool in &mut self.pools {
            pool.settle(self.now, &mut self.ports);
        }
        self.settle_scheduled();
        for link in 0..self.ports.len() {
            self.ports[link].settle(self.now);
            let waiting = self.waiting(link);
            self.ports[link].catch_up(waiting, self.now);
        }
        self.agents.settle(self.now);
    }

    /// The warm-up ends.
    pub fn warmed_up(&mut self) {
        self.settle();
        self.sent_before = self.ports.iter().map(|port| port.sent_for(self.now)).collect();
        for link in 0..self.ports.len() {
            let waiting = self.waiting(link);
            self.ports[link].warmed_up(waiting);
        }
    }

    /// All ports, numbered like the links.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Packets that wait at a port (as of the last [`settle`](Net::settle)).
    pub fn waiting(&self, link: usize) -> u64 {
        match self.scheduled.get(link) {
            Some(Some(scheduled)) => scheduled.packets,
            _ => self.ports[link].waiting(),
        }
    }

    /// Every packet that waits at a port or is on its wire.
    pub fn packets(&self, link: usize) -> impl Iterator<Item = &Packet> {
        let scheduled = self.scheduled.get(link).and_then(Option::as_deref);
        self.ports[link].packets().chain(scheduled.into_iter().flat_map(Scheduled::waiting))
    }

    /// The share of the time since the warm-up in which a link has sent.
    pub fn utilisation(&self, link: usize, warm_up: Time) -> f64 {
        let watched_for = self.now.saturating_sub(warm_up);
        let sent_for = self.ports[link].sent_for(self.now).saturating_sub(self.sent_before[link]);
        if watched_for == Time::ZERO { 0.0 } else { (sent_for.as_secs_f64() / watched_for.as_secs_f64()).min(1.0) }
    }

    /// How long `bytes` of payload in segments of `mss` with `header` take along a path of an empty
    /// network: the last packet waits at each hop for its turn behind the others.
    pub fn ideal(&self, path: u32, to: u32, bytes: u64, mss: u32, header: u32) -> Time {
        let overhead = u64::from(header) + u64::from(self.frame_overhead);
        let mss = u64::from(mss);
        let packets = bytes.div_ceil(mss);
        let (full, last) = (mss + overhead, bytes - (packets - 1) * mss + overhead);
        // When the packet before the last, and the last, have left each hop and arrived at its end.
        let (mut first, mut slowest, mut last_at) = (Time::ZERO, Time::ZERO, Time::ZERO);
        for position in path.. {
            let spec = &self.graph.links[self.router.link(position) as usize];
            let transmission = spec.rate.transmission();
            let of_full = transmission.of(full);
            slowest = slowest.max(of_full);
            // The first full packet leaves this hop; the one before the last follows at the pace of the slowest.
            first += of_full;
            // Petabytes at a low rate take longer than `Time` holds.
            let others = Time(slowest.0.saturating_mul(packets.saturating_sub(2)));
            let before_last = if packets > 1 { first.saturating_add(others) } else { Time::ZERO };
            last_at = last_at.max(before_last).saturating_add(transmission.of(last) + spec.delay);
            first += spec.delay;
            if spec.to == to {
                return last_at;
            }
        }
        unreachable!("a path ends at its receiver")
    }
}

/// What agents may know of a port.
fn state(now: Time, port: &Port) -> PortState {
    PortState { now, sent_for: port.sent_for(now), waiting_bytes: port.backlog(now) }
}

fn level(amount: Option<Amount>, parts: u64) -> Level {
    match amount {
        None => Level::INFINITE,
        Some(Amount::Packets(packets)) => Level { value: packets / parts, in_bytes: false },
        Some(Amount::Bytes(bytes)) => Level { value: bytes / parts, in_bytes: true },
    }
}

/// How much later than it could a data packet reaches the first switch: what makes up for hosts with perfect clocks.
/// (ACKs are short, and no two senders' ACKs compete for the place that one of them has just left.)
#[derive(Clone, Copy)]
struct Jitter {
    /// All bits set where a packet is late by up to its own transmission, else none.
    own: u64,
    /// Else by up to this.
    longest: Time,
    salt: u64,
}

impl Jitter {
    /// By up to `longest`; none: by up to the packet's own transmission.
    fn new(longest: Option<Time>, seed: u64) -> Jitter {
        Jitter {
            own: if longest.is_none() { u64::MAX } else { 0 },
            longest: longest.unwrap_or_default(),
            salt: Stream::new(seed, "host jitter", 0).bits(),
        }
    }

    /// A function of time and link alone: what else a run sends changes no draw. One multiplication mixes (as in
    /// wyhash), another scales.
    #[inline(always)]
    fn draw(self, now: Time, link: u32, transmission: Time) -> Time {
        let longest = (transmission.0 & self.own) + self.longest.0;
        let product = u128::from(now.0 ^ self.salt) * u128::from(0xa076_1d64_78bd_642f ^ u64::from(link) << 32);
        let random = (product >> 64) as u64 ^ product as u64;
        Time(((u128::from(random) * u128::from(longest)) >> 64) as u64)
    }
}

/// Where extensions wait while their packets travel.
#[derive(Default)]
struct Extensions {
    slots: Vec<Option<Extension>>,
    free: Vec<u32>,
}

impl Extensions {
    fn keep(&mut self, extension: Extension) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(extension);
        slot
    }
    fn at(&mut self, slot: u32) -> &mut Extension {
        self.slots[slot as usize].as_mut().expect("an extension is kept until it is taken")
    }
    fn take(&mut self, slot: u32) -> Extension {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("an extension is taken once")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline;
    use crate::network::Switch;
    use units::{Marks, Rate, Values};

    /// Two hosts and a switch at 1 Gbps.
    fn net(seed: u64, host_jitter: Option<Time>) -> Net {
        let mut graph = Graph::new("test", 2);
        let switch = graph.switch("switch", false);
        (0..2).for_each(|host| graph.join(host, switch, Rate::from_gbps(1), Time::from_micros(20)));
        let switch = Switch {
            buffer: Amount::Packets(100),
            sharing: Sharing::PerPort,
            marks: Marks { host: None, uplink: None },
            drop_non_ect: false,
        };
        let network = Network { graph, switch, frame_overhead: 0, host_jitter, settings: Values::default() };
        Net::new(network, seed, discipline::find("fifo").expect("it is there"), 1)
    }

    #[test]
    fn what_a_closed_connection_lost_is_not_booked_on_the_next_one_of_its_number() {
        let mut net = net(1, None);
        let to_host = net.ports().iter().position(|port| port.to_host).expect("there is one") as u32;
        let packet = |connection, generation| Packet {
            connection,
            generation,
            ..Packet::data(0, 1460, 40, Time::ZERO, Flags::NONE)
        };
        // One of a connection that was closed, two of that which has its number now, one of another.
        for (number, generation) in [(7, 0), (7, 2), (7, 2), (8, 2)] {
            net.dropped(to_host, &packet(number, generation));
        }
        assert_eq!(net.take_dropped_at_receiver((7, 2)), 3000);
        assert_eq!(net.take_dropped_at_receiver((7, 2)), 0);
        assert_eq!(net.take_dropped_at_receiver((7, 0)), 0, "nobody is left to whom it matters");
        assert_eq!(net.take_dropped_at_receiver((8, 2)), 1500);
    }

    /// Evenly between nothing and the packet's own time, or what the scenario says, by seed, link and time.
    #[test]
    fn packets_are_late_by_up_to_their_own_transmission() {
        let own = net(1, None).jitter;
        let full = Time::from_micros(12);
        let drawn = |jitter: Jitter, link| -> Vec<u64> {
            (0..10_000).map(|i| jitter.draw(Time(12_000_000 * i), link, full).0).collect()
        };
        let (one, link, seed) = (drawn(own, 0), drawn(own, 1), drawn(net(2, None).jitter, 0));
        for draws in [&one, &link, &seed] {
            assert!(draws.iter().all(|&late| late < full.0));
            // Mean 6 us with a standard deviation of 12 us / sqrt(12 x 10 000) = 0.035 us; four of them.
            let mean = draws.iter().sum::<u64>() / 10_000;
            assert!(mean.abs_diff(6_000_000) < 140_000, "{mean} ps");
            // Each tenth has 1000, with a standard deviation of sqrt(1000 x 0.9) = 30.
            for tenth in 0..10 {
                let here = draws.iter().filter(|&&late| late * 10 / full.0 == tenth).count();
                assert!(here.abs_diff(1000) < 130, "{here} in tenth {tenth}");
            }
        }
        assert!(one != link && one != seed && one == drawn(net(1, None).jitter, 0));
        assert!(drawn(net(1, Some(Time::ZERO)).jitter, 0).iter().all(|&late| late == 0));
        let longest = drawn(net(1, Some(Time::from_micros(1))).jitter, 0).into_iter().max().expect("there are some");
        assert!((990_000..1_000_000).contains(&longest), "{longest} ps");
    }
}
