//! The network: ports, buffers, paths, and the packets in them.

mod pool;
mod port;
mod rates;
mod ring;
mod route;
mod scheduled;

pub use port::{Fate, Level, Port, Watch};
pub use rates::Routers;
pub use ring::{Ring, Slot};

use std::collections::BTreeMap;

use transport::explicit::router;
use transport::{Extension, Flags, Packet};
use units::{Amount, Stream, Time};

use crate::discipline::Descriptor;
use crate::event::EventQueue;
use crate::network::{Network, Sharing};
use crate::outcome::Counters;
use crate::topology::{Graph, LinkSpec};
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
    /// What grants rates at each port, when a transport asks for them.
    routers: Option<Routers>,
    dropped_at_receiver: BTreeMap<u32, u64>,
    frame_overhead: u16,
    /// The longest that a NIC holds a packet back, and each NIC's draws; none: it does not.
    jitter: Option<(Time, Vec<Stream>)>,
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
        let streams = (0..ports.len() as u64).map(|link| Stream::new(seed, "host jitter", link)).collect();
        Net {
            now: Time::ZERO,
            events: EventQueue::new(ports.len(), longest_hop.unwrap_or_default()),
            counters: Counters::default(),
            router: Router::new(&graph),
            graph,
            sent_before: vec![Time::ZERO; ports.len()],
            ports,
            scheduled,
            pools,
            extensions: Extensions::default(),
            routers: None,
            dropped_at_receiver: BTreeMap::new(),
            frame_overhead: frame_overhead as u16,
            jitter: (host_jitter > Time::ZERO).then_some((host_jitter, streams)),
        }
    }

    /// Lets every port grant rates.
    pub fn grant_rates(&mut self, config: &router::Config) {
        let rates = self.graph.links.iter().map(|link| (link.rate, link.from >= self.graph.hosts));
        self.routers = Some(Routers::new(config, u64::from(self.frame_overhead), rates));
    }

    /// What the ports have granted, when a transport asks for rates.
    pub fn routers(&self) -> Option<&Routers> {
        self.routers.as_ref()
    }

    /// The path of a flow, for [`send`](Net::send) and [`ideal`](Net::ideal).
    pub fn path(&mut self, from: u32, to: u32, flow: u64) -> u32 {
        self.router.path(from, to, flow)
    }

    /// Puts a packet into its host's NIC queue; `packet.route` is the path that it takes.
    #[inline]
    pub fn send(&mut self, mut packet: Packet) {
        self.counters.packets_sent += 1;
        let link = self.router.link(packet.route);
        packet.route += 1;
        packet.size += self.frame_overhead;
        let pause = match &mut self.jitter {
            None => Time::ZERO,
            Some((longest, streams)) => Time(streams[link as usize].below(longest.0)),
        };
        if let Some(at) = self.ports[link as usize].launch(self.now, pause, packet) {
            self.events.push_arrival(self.now, at, link);
        }
    }

    /// As [`send`](Net::send), with more than its header.
    pub fn send_extended(&mut self, mut packet: Packet, mut extension: Extension) {
        if let Extension::Rates(rates) = &mut extension
            && !packet.flags.has(Flags::ACK)
            && let Some(routers) = &mut self.routers
        {
            let link = self.router.link(packet.route);
            routers.answer(self.now, link, &self.ports[link as usize], &packet, rates);
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

    /// Wire bytes of a connection that were dropped at its receiver's port since the last call.
    pub fn take_dropped_at_receiver(&mut self, connection: u32) -> u64 {
        if self.dropped_at_receiver.is_empty() { 0 } else { self.dropped_at_receiver.remove(&connection).unwrap_or(0) }
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

    /// As [`offer`](Net::offer). The port's router answers a request that the port has accepted.
    #[inline(never)]
    fn offer_extended(&mut self, link: u32, packet: &Packet) -> Fate {
        let Some(routers) = &mut self.routers else { return self.offer(link, packet) };
        if !matches!(self.extensions.at(packet.extension), Extension::Rates(_)) {
            return self.offer(link, packet);
        }
        let fate = if packet.payload > 0 || !routers.protect_control() {
            self.offer(link, packet)
        } else {
            match self.ports[link as usize].pool {
                Port::NO_POOL => self.ports[link as usize].offer_within(self.now, packet, Level::INFINITE),
                Port::SCHEDULED => self.offer_scheduled(link, packet, true),
                pool => self.pools[pool as usize].admit(self.now, packet, link, &mut self.ports),
            }
        };
        if fate != Fate::Dropped
            && !packet.flags.has(Flags::ACK)
            && let (Some(routers), Extension::Rates(rates)) = (&mut self.routers, self.extensions.at(packet.extension))
        {
            routers.answer(self.now, link, &self.ports[link as usize], packet, rates);
        }
        fate
    }

    #[cold]
    fn dropped(&mut self, link: u32, packet: &Packet) {
        self.counters.drops += 1;
        if self.ports[link as usize].to_host && packet.payload > 0 {
            *self.dropped_at_receiver.entry(packet.connection).or_default() += u64::from(packet.size);
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
        if let Some(routers) = &mut self.routers {
            routers.settle(self.now);
        }
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

fn level(amount: Option<Amount>, parts: u64) -> Level {
    match amount {
        None => Level::INFINITE,
        Some(Amount::Packets(packets)) => Level { value: packets / parts, in_bytes: false },
        Some(Amount::Bytes(bytes)) => Level { value: bytes / parts, in_bytes: true },
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
