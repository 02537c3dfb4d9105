//! The network: ports joined by links, shared buffers, routes, and the packets in flight.

mod agents;
mod alone;
pub(crate) mod balance;
mod buffer;
mod calendar;
pub(crate) mod channel;
mod deferred;
mod deferred_drops;
mod epochs;
mod faulty;
mod headroom;
mod host_ports;
pub(crate) mod level;
pub(crate) mod lossless;
pub(crate) mod marker;
pub mod network;
pub(crate) mod packet_pool;
pub(crate) mod partition;
mod paths;
pub(crate) mod plan;
pub(crate) mod port;
mod prefetch;
pub(crate) mod qdisc;
mod qdisc_ports;
mod relays;
mod routing;
mod shared_buffer;
pub(crate) mod switch_paths;

use std::collections::BTreeMap;

use transport::agent::PortState;
use transport::{Agents, Extension, Flags, Packet};
use units::{Bytes, HostId, Instant, LinkId, Rate, Span, Stream, Table};

use crate::fabric::lossless::Lossless;
use crate::fabric::lossless::pauses::Pauses;
use crate::fabric::marker::Site;
use crate::fabric::network::{Network, Service};
use crate::fabric::packet_pool::PacketPool;
use crate::fabric::port::{Fate, Port, PortMode, units_of_wait};
use crate::fabric::qdisc::trimming::Trimming;
use crate::flow::{Flow, Incarnation};
use crate::record::outcome::Counters;
use crate::record::packet_log::PacketLog;
use crate::schedule::events::EventQueue;
use crate::topology::Graph;
use agents::AtPorts;
pub(crate) use alone::{Segments, Spraying, ideal_of};
use faulty::Faults;
use headroom::Headroom;
use host_ports::HostPorts;
use partition::Part;
pub(crate) use paths::EndOf;
use paths::Paths;
use plan::Plan;
pub(crate) use prefetch::{Next, Prefetch, Upcoming};
pub(crate) use routing::Router;
use shared_buffer::SharedBuffer;
use switch_paths::{SwitchPaths, at_switches};

/// The network and everything in it.
pub(crate) struct Net {
    /// Current time of the simulation.
    pub now: Instant,
    /// All events that are pending.
    pub events: EventQueue,
    /// Totals of the run.
    pub counters: Counters,
    /// Nodes and links; links are sorted by the node at their end, and ports have the same index.
    pub graph: Graph,
    ports: Table<LinkId, Port>,
    /// The plan of the ports, until it has been carried out.
    plan: Plan,
    /// The modes that ports have without deferred enqueue, if some of the ports that defer share buffers.
    base_modes: Vec<PortMode>,
    /// The headroom of shared buffers whose ports defer enqueueing.
    headroom: Headroom,
    /// Some ports [defer enqueueing](Net::defers_enqueues).
    defers: bool,
    /// Packets enqueued from pending arrivals: hops without an event.
    deferred_hops: u64,
    /// Events without effect, because other events had overtaken them.
    void_events: u64,
    /// The current event is a control message, not the arrival of a packet.
    pub in_control_message: bool,
    /// The packets that all ports hold.
    packet_pool: PacketPool,
    /// Time that each port had spent sending by the end of the warm-up.
    sent_before: Table<LinkId, Span>,
    shared_buffers: Vec<SharedBuffer>,
    router: Router,
    /// Packets may pass through hosts ([`Graph::hosts_route`]).
    hosts_route: bool,
    extensions: Extensions,
    /// The agents of transport families at the ports.
    pub agents: AtPorts,
    /// Wire bytes dropped at their receivers' ports, by connection id and generation.
    dropped_at_receiver: BTreeMap<Incarnation, Bytes>,
    frame_overhead: u16,
    host_ports: HostPorts,
    jitter: Jitter,
    /// The division of a flow's packets among the links of its host, where they take several.
    spraying: Option<Spraying>,
    /// The paths of packets, where a connection's take several.
    paths: Option<Box<Paths>>,
    /// The same where switches choose.
    switch_paths: Option<Box<SwitchPaths>>,
    /// A fault is active, or switches choose: arrivals are [handled with care](Net::arrive_with_care).
    takes_care: bool,
    /// Packets that reach hosts are [inspected](Net::inspect).
    inspects: bool,
    /// The state of a lossless network.
    pauses: Option<Box<Pauses>>,
    /// The faults; none in nearly all runs.
    faults: Option<Box<Faults>>,
    /// The packet log; none in nearly all runs.
    pub log: Option<Box<PacketLog>>,
    /// State shared with the other partitions, when several threads simulate a run.
    pub part: Option<Box<Part>>,
}

impl Net {
    /// Returns an empty network.
    pub(crate) fn new(network: Network, seed: u64, service: Service) -> Net {
        let Network { mut graph, switch, frame_overhead, host_jitter, settings, .. } = network;
        in_order(&mut graph);
        let longest_hop = graph.links.iter().map(|link| link.rate.transmission().of(Bytes(1600)) + link.delay).max();
        let mut shared_buffers = Vec::new();
        if let Some(alpha) = switch.sharing.alpha() {
            let limited = graph.switches.iter().filter(|node| !node.unlimited);
            let capacities = limited.map(|node| node.buffer.unwrap_or(switch.buffer));
            shared_buffers.extend(
                capacities.map(|capacity| SharedBuffer::new(capacity, alpha).limited_by(switch.sharing.limits())),
            );
        }
        let plan = Plan::of(&graph, &switch, &service);
        let mut ports = Vec::with_capacity(graph.links.len());
        for (index, (spec, plan)) in graph.links.iter().zip(&plan.ports).enumerate() {
            let mut port = Port::new(spec.rate, spec.delay, plan.role);
            if plan.role.at_switch() {
                port = port.limited(plan.limit, plan.mark, plan.drop_unmarkable);
            }
            port.mode = plan.mode;
            if let Some(buffer) = plan.mode.buffer() {
                shared_buffers[buffer.index()].add(LinkId::from_index(index));
            }
            if plan.chooses() {
                let (to_host, link) = (plan.role.to_host(), LinkId::from_index(index));
                let site = Site { rate: spec.rate, mark: plan.mark, to_host, link, seed };
                let trim = service.trim.filter(|_| plan.role.at_switch());
                let queue = (plan.queue.queue)(&settings, &service.weights);
                let queue = if trim.is_some() { Trimming::before(queue) } else { queue };
                let by_threshold = plan.marking.built_in && !plan.at_departure;
                let marker = (!by_threshold).then(|| (plan.marking.marker)(&settings, &site));
                port = port.with_qdisc(queue, marker);
                port.qdisc_mut().trim = trim;
                port.qdisc_mut().marks_at_departure = plan.at_departure;
                port.qdisc_mut().by_class = plan.queue.by_class;
            }
            ports.push(port);
        }
        Net {
            now: Instant::ZERO,
            events: EventQueue::new(ports.len(), longest_hop.unwrap_or_default()),
            counters: Counters::default(),
            router: Router::new(&graph, routes_salt(seed)),
            hosts_route: graph.hosts_route(),
            spraying: Spraying::of(&settings, &graph),
            paths: Paths::from_values(&settings, graph.hosts, seed),
            switch_paths: SwitchPaths::from_values(&settings, &graph, seed),
            graph,
            sent_before: vec![Span::ZERO; ports.len()].into(),
            ports: ports.into(),
            plan,
            base_modes: Vec::new(),
            headroom: Headroom::UNLIMITED,
            defers: false,
            deferred_hops: 0,
            void_events: 0,
            in_control_message: false,
            packet_pool: PacketPool::default(),
            shared_buffers,
            extensions: Extensions::default(),
            agents: AtPorts::default(),
            dropped_at_receiver: BTreeMap::new(),
            frame_overhead: frame_overhead.0 as u16,
            host_ports: HostPorts::UNLIMITED,
            jitter: Jitter::new(host_jitter, seed),
            takes_care: at_switches(&settings),
            inspects: service.trim.is_some() || balance::of(&settings).listens,
            pauses: Lossless::from_values(&settings)
                .map(|lossless| Box::new(Pauses::new(lossless, (switch.buffer, switch.sharing), host_jitter))),
            faults: None,
            log: None,
            part: None,
        }
    }

    /// Updates whether arrivals are handled with care.
    fn heed_arrivals(&mut self) {
        self.takes_care = self.switches_choose() || self.faults.as_ref().is_some_and(|faults| faults.active > 0);
    }

    /// Returns whether a fault is active, or switches choose: then [`arrive_with_care`](Net::arrive_with_care) handles
    /// arrivals.
    #[inline]
    pub(crate) fn takes_care(&self) -> bool {
        self.takes_care
    }

    /// Installs the agents of these families at every port.
    pub(crate) fn install_agents(&mut self, families: &[Agents]) {
        if !families.is_empty() {
            // Switches have state for flows along one path.
            self.switch_paths = None;
            self.heed_arrivals();
        }
        let rates = self.graph.links.iter().map(|link| link.rate);
        self.agents = AtPorts::new(families, self.frame_overhead.into(), rates);
    }

    /// Returns for each link whether it starts at a switch, not a host.
    pub(crate) fn leave_switches(&self) -> impl Iterator<Item = bool> {
        self.graph.links.iter().map(|link| link.from >= self.graph.hosts)
    }

    /// Returns whether a route begins at a host.
    pub(crate) fn begins_at(&self, path: u32, host: HostId) -> bool {
        self.graph.links[self.router.link(path).index()].from == host.0
    }

    /// Returns when all packets sent by a route will have left their host: a NIC is first in, first out.
    pub(crate) fn nic_idle_at(&self, path: u32) -> Instant {
        self.ports[self.router.link(path)].idle_at()
    }

    /// Returns the counts, the same with and without deferred enqueue: each hop counts as an event.
    pub(crate) fn counted(&self) -> Counters {
        let counters = self.counters;
        Counters {
            packet_hops: counters.packet_hops + self.deferred_hops,
            events: (counters.events + self.deferred_hops).saturating_sub(self.void_events),
            ..counters
        }
    }

    /// Returns the route of a flow, for [`send`](Net::send) and [`ideal`](Net::ideal).
    pub(crate) fn path(&mut self, from: HostId, to: HostId, flow: Flow) -> u32 {
        let (position, is_new) = self.router.path(from, to, flow);
        if is_new && let Some(part) = &mut self.part {
            part.publish_route(position, self.router.latest());
        }
        position
    }

    /// Takes the links of all routes, one after the other: positions are as returned by [`path`](Net::path).
    pub(crate) fn take_paths(&mut self) -> Vec<LinkId> {
        self.router.take_links()
    }

    /// Puts a packet into its host's NIC queue; `packet.route` is its route. Inlined where packets are created, so that
    /// they are written in place.
    #[inline(always)]
    pub(crate) fn send(&mut self, mut packet: Packet) {
        self.counters.packets_sent += 1;
        let link = self.router.link(packet.route);
        let mode = self.ports[link].mode;
        let next = packet.route + 1;
        // The route of a pending arrival starts at its port.
        packet.route = next + u32::from(mode == PortMode::ToDeferred);
        packet.size += self.frame_overhead;
        let (size, is_data) = (packet.size, packet.payload > 0);
        // Use the slot from here on: with a reference, the compiler would write every packet elsewhere first.
        let number = self.packet_pool.put(packet);
        if self.headroom.spend(size) {
            self.press();
        }
        // One branch for both.
        if matches!(mode, PortMode::Qdisc | PortMode::Down) | self.has_paths() {
            return self.send_apart(link, number);
        }
        self.send_fifo(link, mode, number, next, size, is_data);
    }

    /// Sends the packet in slot `number` by a host's port that is first in, first out. The rest of its route begins at `next`.
    #[inline(always)]
    fn send_fifo(&mut self, link: LinkId, mode: PortMode, number: u32, next: u32, size: u16, is_data: bool) {
        let at = self.launch(link, size, is_data);
        if mode == PortMode::ToDeferred {
            let at = self.ports[link].keeps_order(at);
            self.add_pending(self.router.link(next), link, number, at, size);
        } else if mode == PortMode::Epochs {
            self.send_in_epoch(link, next, number, at, size);
        } else if let Some(at) = self.ports[link].transmit(&mut self.packet_pool, number, at) {
            self.events.push_arrival(self.now, at, link);
        }
    }

    /// Returns when a packet sent now by a host's port that is first in, first out could be at the far end.
    #[inline(always)]
    fn launch(&mut self, link: LinkId, size: u16, is_data: bool) -> Instant {
        let (now, jitter) = (self.now, self.jitter);
        let late = |transmission| if is_data { jitter.draw(now, link, transmission) } else { Span::ZERO };
        self.ports[link].launch(now, late, size)
    }

    /// Sends the packet in slot `number` where its host's port has a discipline or is down, or where a balancer chooses
    /// its path.
    #[cold]
    fn send_apart(&mut self, link: LinkId, number: u32) {
        let mut packet = self.packet_pool.at(number).packet;
        let (mut link, mut mode) = (link, self.ports[link].mode);
        let advanced = |mode| 1 + u32::from(mode == PortMode::ToDeferred);
        if self.has_paths() {
            let route = packet.route - advanced(mode);
            let chosen = self.choose_path((packet.connection, packet.generation), route, packet.flags);
            // A host with several links may send it by another one.
            link = self.router.link(chosen.0);
            mode = self.ports[link].mode;
            (packet.route, packet.flags) = (chosen.0 + advanced(mode), chosen.1);
            if !matches!(mode, PortMode::Qdisc | PortMode::Down) {
                *self.packet_pool.packet_mut(number) = packet;
                return self.send_fifo(link, mode, number, chosen.0 + 1, packet.size, packet.payload > 0);
            }
        }
        self.packet_pool.free(number);
        if mode == PortMode::Down || self.offer_to_qdisc(link, packet, true) == Fate::Dropped {
            self.dropped(link, &packet);
        }
    }

    /// As [`send`](Net::send), for a packet that carries more than its header.
    pub(crate) fn send_extended(&mut self, mut packet: Packet, mut extension: Extension) {
        let link = self.router.link(packet.route);
        if let Some(header) = &mut extension.header
            && self.agents.are_there()
            && self.ports[link].mode != PortMode::Down
        {
            let state = state(self.now, &mut self.ports[link]);
            self.agents.show(link, &state, &packet, header);
        }
        packet.wait_or_extension = self.extensions.keep(extension);
        packet.flags = packet.flags.with(Flags::EXTENDED);
        self.send(packet);
    }

    /// Returns the next link of a packet in the packet pool.
    #[inline]
    pub(crate) fn next_link(&self, number: u32) -> LinkId {
        self.router.link(self.packet_pool.at(number).packet.route)
    }

    /// Removes the packet in slot `number`, the first in flight, which has reached the end of `link`.
    #[inline(always)]
    pub(crate) fn take(&mut self, link: LinkId, number: u32) {
        let port = &mut self.ports[link];
        if port.first_waits() {
            if port.mode == PortMode::Qdisc {
                return self.take_before_queue(link, number);
            }
            leaves_unseen(port, &mut self.shared_buffers, &self.packet_pool);
        }
        if let Some(at) = port.take(&self.packet_pool, number) {
            self.events.push_arrival(self.now, at, link);
        }
        self.counters.packet_hops += 1;
    }

    /// Moves a packet from the network into `packet`.
    #[inline(always)]
    pub(crate) fn collect(&mut self, number: u32, packet: &mut Packet) {
        self.packet_pool.take(number, packet);
    }

    /// Logs the packet that is about to be taken from the end of `link`.
    #[cold]
    pub(crate) fn log_arrival(&mut self, link: LinkId) {
        let (Some(log), Some(packet)) = (&mut self.log, self.ports[link].packets(&self.packet_pool).next()) else {
            return;
        };
        let next = Some(self.router.link(packet.route)).filter(|next| *next != Router::END);
        log.arrives(self.now, link, next, packet);
    }

    /// Takes the extension of an extended packet, once.
    pub(crate) fn take_extension(&mut self, packet: &Packet) -> Option<Extension> {
        packet.flags.has(Flags::EXTENDED).then(|| self.extensions.take(packet.wait_or_extension))
    }

    /// Returns the wire bytes of a connection dropped at its receiver's port since the last call. Bytes of earlier connections of that id are discarded: those connections are closed.
    pub(crate) fn take_dropped_at_receiver(&mut self, connection: Incarnation) -> Bytes {
        if self.dropped_at_receiver.is_empty() {
            return Bytes::ZERO;
        }
        let of_id = Incarnation { generation: 0, ..connection }..=Incarnation { generation: u16::MAX, ..connection };
        let mut dropped = Bytes::ZERO;
        while let Some((&key, &bytes)) = self.dropped_at_receiver.range(of_id.clone()).next() {
            self.dropped_at_receiver.remove(&key);
            dropped += if key == connection { bytes } else { Bytes::ZERO };
        }
        dropped
    }

    /// Offers a packet that has reached a switch to its next port.
    #[inline(always)]
    pub(crate) fn forward(&mut self, number: u32, link: LinkId) {
        let packet = &self.packet_pool.at(number).packet;
        let fate = if packet.flags.has(Flags::EXTENDED) {
            self.offer_extended(link, number)
        } else {
            self.offer(link, number)
        };
        match fate {
            Fate::First(at) => self.events.push_arrival(self.now, at, link),
            Fate::Queued => {}
            Fate::Dropped | Fate::Away => self.not_kept(link, number, fate),
        }
    }

    /// Not inlined, so that one comparison distinguishes the two common fates.
    #[cold]
    #[inline(never)]
    fn not_kept(&mut self, link: LinkId, number: u32, fate: Fate) {
        if fate == Fate::Away {
            return self.send_away(link);
        }
        let mut packet = Packet::BLANK;
        self.collect(number, &mut packet);
        self.dropped(link, &packet);
    }

    #[inline(always)]
    fn offer(&mut self, link: LinkId, number: u32) -> Fate {
        let port = &mut self.ports[link];
        match port.mode {
            PortMode::Own => port.offer(&mut self.packet_pool, self.now, number),
            PortMode::ToDeferred => match port.offer_away(&mut self.packet_pool, self.now, number) {
                Some(at) => self.add_pending_onwards(link, number, at),
                None => Fate::Dropped,
            },
            PortMode::Qdisc if port.skips_discipline(self.now, self.packet_pool.at(number).packet.size) => {
                self.skip_discipline(link, number)
            }
            PortMode::Qdisc => self.offer_stored_to_qdisc(link, number, false),
            PortMode::Shared(buffer) => match port.offer_idle(&mut self.packet_pool, self.now, number) {
                Some(fate) => fate,
                None => self.shared_buffers[buffer.index()].offer(
                    &mut self.packet_pool,
                    self.now,
                    number,
                    link,
                    &mut self.ports,
                ),
            },
            PortMode::Cut | PortMode::Down | PortMode::Relay => self.offer_apart(link, number, false),
            mode @ (PortMode::Epochs | PortMode::Deferred) => {
                unreachable!("packets are not offered to a port that is {mode:?}")
            }
        }
    }

    /// As [`offer`](Net::offer). The port's agents see an accepted packet that has a header.
    #[inline(never)]
    fn offer_extended(&mut self, link: LinkId, number: u32) -> Fate {
        let place = self.packet_pool.at(number).packet.wait_or_extension;
        let port = self.port_of(link);
        let wait = self.ports[port].idle_at().saturating_sub(self.now);
        let extension = self.extensions.at(place);
        extension.wait = units_of_wait(wait);
        if !self.agents.are_there() {
            return self.offer(link, number);
        }
        let Some(header) = &extension.header else { return self.offer(link, number) };
        let packet = self.packet_pool.at(number).packet;
        let fate = if self.agents.pass_full_buffers(link, &packet, header) {
            self.offer_protected(link, number)
        } else {
            self.offer(link, number)
        };
        if fate != Fate::Dropped
            && let Some(header) = &mut self.extensions.at(place).header
        {
            self.agents.show(link, &state(self.now, &mut self.ports[port]), &packet, header);
        }
        fate
    }

    #[cold]
    fn dropped(&mut self, link: LinkId, packet: &Packet) {
        if self.ports[link].mode == PortMode::Down {
            return self.lost(link, packet);
        }
        self.counters.drops += 1;
        self.forget(link, packet);
    }

    /// Discards a packet lost at the port before `link`, or on its wire.
    fn forget(&mut self, link: LinkId, packet: &Packet) {
        if let Some(log) = &mut self.log {
            log.lost(self.now, link, packet);
        }
        if self.ports[link].place.to_host() && packet.payload > 0 && self.leads_home(link, packet) {
            *self.dropped_at_receiver.entry(Incarnation::of(packet)).or_default() += Bytes::from(packet.size);
        }
        self.take_extension(packet);
    }

    /// Brings all queues up to the present.
    pub(crate) fn advance_ports(&mut self) {
        self.enqueue_all_pending();
        // While ports defer, shared buffers count nothing.
        let counting = if self.defers { 0 } else { self.shared_buffers.len() };
        for buffer in 0..counting {
            // All ports of the buffer are of one switch.
            let now = self.shared_buffers[buffer].members().first().map_or(self.now, |port| self.now_at(*port));
            self.shared_buffers[buffer].advance_to(&self.packet_pool, now, &mut self.ports);
        }
        self.advance_qdiscs();
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            let now = self.now_at(link);
            self.ports[link].advance_to(&self.packet_pool, now);
            self.ports[link].catch_up(now);
        }
        self.agents.advance_to(self.now);
    }

    /// Ends the warm-up of all ports.
    pub(crate) fn warmed_up(&mut self) {
        self.advance_ports();
        self.sent_before = self.ports.entries().map(|(link, port)| port.sent_for(self.now_at(link))).collect();
        self.ports.iter_mut().for_each(Port::warmed_up);
        self.faults_warmed_up();
        self.pauses_warmed_up();
    }

    /// Returns all ports, indexed by link; the ports of cut links have other indices ([`port_of`](Net::port_of)).
    pub(crate) fn ports(&self) -> &Table<LinkId, Port> {
        &self.ports
    }

    /// Returns all packets queued at ports to hosts or on their wires.
    pub(crate) fn packets_to_hosts(&self) -> impl Iterator<Item = &Packet> {
        let at_ports = self.ports.entries().filter(|(_, port)| port.place.to_host());
        let queued =
            at_ports.flat_map(|(link, port)| port.packets(&self.packet_pool).map(move |packet| (link, packet)));
        queued.filter(|(link, packet)| self.leads_home(*link, packet)).map(|(_, packet)| packet)
    }

    /// Returns the share of the time since the warm-up in which a link has sent.
    pub(crate) fn utilisation(&self, link: LinkId, warm_up: Instant) -> f64 {
        let watched_for = self.now.saturating_sub(warm_up);
        let port = self.port_of(link);
        let sent_for = self.ports[port].sent_for(self.now_at(port)).saturating_sub(self.sent_before[port]);
        if watched_for == Span::ZERO { 0.0 } else { (sent_for.as_secs_f64() / watched_for.as_secs_f64()).min(1.0) }
    }

    /// Returns the rate of the first link of a route.
    pub(crate) fn first_rate(&self, path: u32) -> Rate {
        self.graph.links[self.router.link(path).index()].rate
    }

    /// Returns the number of links of a route.
    pub(crate) fn hops(&self, path: u32) -> u32 {
        self.router.length(path)
    }

    /// Returns the rate of the link to a host, from the node to which a route begins there.
    pub(crate) fn incoming_rate(&self, host: HostId, path: u32) -> Rate {
        let from = self.graph.links[self.router.link(path).index()].to;
        // Sorted by their end.
        let first = self.graph.links.partition_point(|link| link.to < host.0);
        let mut links = self.graph.links[first..].iter().take_while(|link| link.to == host.0);
        links.find(|link| link.from == from).map_or(self.graph.links[first].rate, |link| link.rate)
    }

    /// Returns the bytes that each packet takes on every link beside its own.
    pub(crate) fn frame_overhead(&self) -> Bytes {
        self.frame_overhead.into()
    }

    /// Returns the propagation delay of a route. If faults may reroute flows, it is the minimum over all routes.
    pub(crate) fn propagation(&mut self, path: u32, to: HostId) -> Span {
        let from = self.graph.links[self.router.link(path).index()].from;
        if let Some(least) = self.min_propagation(HostId(from), to) {
            return least;
        }
        self.min_propagation_of_set(path).unwrap_or_else(|| self.delay_along(path))
    }

    /// Returns the propagation delay of a route.
    fn delay_along(&self, path: u32) -> Span {
        let mut delay = Span::ZERO;
        for link in self.router.rest(path) {
            delay = delay.saturating_add(self.graph.links[link.index()].delay);
        }
        delay
    }
}

/// Returns the salt by which the flows of a seed choose their routes.
pub(crate) fn routes_salt(seed: u64) -> u64 {
    Stream::new(seed, "paths of flows", 0).bits()
}

/// Sorts the links of a graph as ports are numbered.
pub(crate) fn in_order(graph: &mut Graph) {
    // Events at the same time are ordered by link index: by the node at which they happen.
    graph.links.sort_by_key(|link| (link.to, link.from));
}

/// Removes the first packet of a port from its queue: it has reached the other end, and the port was not examined since
/// its transmission began.
#[inline(never)]
fn leaves_unseen(port: &mut Port, shared_buffers: &mut [SharedBuffer], packet_pool: &PacketPool) {
    match port.mode {
        PortMode::Shared(buffer) => shared_buffers[buffer.index()].first_leaves(packet_pool, port),
        _ => port.leave(packet_pool),
    }
}

/// Returns the state of a port that agents see.
fn state(now: Instant, port: &mut Port) -> PortState {
    PortState { now, sent_for: port.sent_for(now), waiting_bytes: Bytes(port.backlog(now)) }
}

/// Returns a packet that has taken one more hop.
fn onwards(packet: &Packet) -> Packet {
    Packet { route: packet.route + 1, ..*packet }
}

/// Random delay of data packets on their way to the first switch, which replaces the imperfect clocks of real hosts.
/// (ACKs are short, and no two senders' ACKs compete for the room that one of them has just freed.)
#[derive(Clone, Copy)]
struct Jitter {
    /// All bits set if a packet's delay is up to its own transmission time, else none.
    own: u64,
    /// Else the maximum delay.
    longest: Span,
    salt: u64,
}

impl Jitter {
    /// Returns delays of up to `longest`; with `None`, of up to the packet's own transmission time.
    fn new(longest: Option<Span>, seed: u64) -> Jitter {
        Jitter {
            own: if longest.is_none() { u64::MAX } else { 0 },
            longest: longest.unwrap_or_default(),
            salt: Stream::new(seed, "host jitter", 0).bits(),
        }
    }

    /// Returns a delay as a function of time and link alone, independent of all other packets. One multiplication mixes
    /// (as in wyhash), another scales.
    #[inline(always)]
    fn draw(self, now: Instant, link: LinkId, transmission: Span) -> Span {
        let longest = (transmission.0 & self.own) + self.longest.0;
        let product = u128::from(now.0 ^ self.salt) * u128::from(0xa076_1d64_78bd_642f ^ u64::from(link.0) << 32);
        let random = (product >> 64) as u64 ^ product as u64;
        Span(((u128::from(random) * u128::from(longest)) >> 64) as u64)
    }
}

/// The extensions of packets in flight.
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
    use crate::fabric::level::Length;
    use crate::fabric::level::Level;
    use crate::fabric::marker::{MARKERS, Marker};
    use crate::fabric::network::{HostQueue, Sharing, Switch};
    use crate::fabric::port::{BufferIndex, LinkRole};
    use crate::fabric::qdisc::{self, Queue};
    use crate::faults::{Effect, Fault};
    use crate::schedule::events::Event;
    use transport::Header;
    use transport::telemetry::Records;
    use units::{Amount, ConnectionId, Marks, Rate, Value, Values};

    /// Returns hosts and a switch at 1 Gbps, 20 us away, whose ports hold ten packets and mark above three.
    pub(super) fn star(hosts: u32, seed: u64, host_jitter: Option<Span>, ordering: [&str; 2]) -> Net {
        leaves(1, hosts, seed, host_jitter, ordering)
    }

    /// Returns leaves with as many hosts each, in order, and spines, all links at 1 Gbps and 20 us long.
    pub(super) fn tiers(leaves: u32, hosts: u32, spines: u32) -> Graph {
        let (rate, delay) = (Rate::from_gbps(1), Span::from_micros(20));
        let mut graph = Graph::new(hosts);
        let switches: Vec<u32> = (0..leaves).map(|_| graph.switch("switch", false)).collect();
        (0..hosts).for_each(|host| graph.join(host, switches[(host * leaves / hosts) as usize], rate, delay));
        for _ in 0..spines {
            let spine = graph.switch("spine", false);
            switches.iter().for_each(|&leaf| graph.join(leaf, spine, rate, delay));
        }
        graph
    }

    /// Returns the queue of a discipline, for two classes of equal weight.
    pub(super) fn queue(discipline: &str) -> Box<dyn Queue> {
        let mut settings = Values::default();
        settings.set("quantum", Value::Size(Bytes(1500)));
        (qdisc::find(discipline).expect("a discipline of that name").queue)(&settings, &[1.0, 1.0])
    }

    /// Returns a switch's port at 1 Gbps to a host, with a discipline and without marks.
    pub(super) fn port(discipline: &str) -> Port {
        let rate = Rate::from_gbps(1);
        Port::new(rate, Span::ZERO, LinkRole::SwitchToHost).with_qdisc(queue(discipline), None)
    }

    /// As [`star`]; several leaves have as many hosts each, in order, and are connected to one more switch.
    pub(super) fn leaves(leaves: u32, hosts: u32, seed: u64, host_jitter: Option<Span>, ordering: [&str; 2]) -> Net {
        let graph = tiers(leaves, hosts, u32::from(leaves > 1));
        build(graph, Sharing::PerPort, seed, host_jitter, ordering, false)
    }

    /// Returns a [`star`] without jitter, whose ports share the ten packets with alpha = 1 and defer enqueueing while
    /// they can.
    pub(super) fn shared(hosts: u32) -> Net {
        let graph = tiers(1, hosts, 0);
        let mut net = build(graph, Sharing::Dynamic(1.0), 1, Some(Span::ZERO), ["fifo", "fifo"], false);
        net.defer_enqueues(Bytes(1500));
        net
    }

    /// Returns leaves as [`leaves`] without jitter, whose switches each share a buffer with alpha = 1, and which defer
    /// enqueueing while they can.
    pub(super) fn shared_leaves(leaves: u32, hosts: u32, buffer: Amount) -> Net {
        let mut graph = tiers(leaves, hosts, u32::from(leaves > 1));
        graph.switches.iter_mut().for_each(|switch| switch.buffer = Some(buffer));
        let mut net = build(graph, Sharing::Dynamic(1.0), 1, Some(Span::ZERO), ["fifo", "fifo"], false);
        net.defer_enqueues(Bytes(1500));
        net
    }

    /// As [`shared`], with a discipline at the switch's ports: by priority, where packets push others out.
    pub(super) fn pushing_out(hosts: u32) -> Net {
        let more = [("when_full", Value::Choice("push-out"))];
        let service = service(["priority", "fifo"]);
        serving(tiers(1, hosts, 0), Sharing::Dynamic(1.0), 1, Some(Span::ZERO), service, &more)
    }

    /// Returns a network over a graph, with a discipline at the switches' ports.
    pub(super) fn over(mut graph: Graph, discipline: &'static str) -> Net {
        in_order(&mut graph);
        serving(graph, Sharing::PerPort, 1, Some(Span::ZERO), service([discipline, "fifo"]), &[])
    }

    /// Returns a lossless network, whose ports hold ten packets of each link that ends at a switch. No packet has more than
    /// 1500 B without its frame, which has `frame_overhead`.
    pub(super) fn lossless(graph: Graph, frame_overhead: u16) -> Net {
        let mut net = over(graph, "priority");
        let mut settings = Values::default();
        settings.set("lossless", Value::Bool(true));
        settings.set("pause_threshold", Value::Amount(Amount::Packets(10)));
        settings.set("pause_hysteresis", Value::Amount(Amount::Packets(2)));
        settings.set("pause_response", Value::Time(Span::ZERO));
        let parameters = Lossless::from_values(&settings).expect("it is lossless");
        let buffers = (Amount::Bytes(1_000_000), Sharing::PerPort);
        net.pauses = Some(Box::new(Pauses::new(parameters, buffers, Some(Span::ZERO))));
        net.frame_overhead = frame_overhead;
        net.divide_buffers(Bytes(1500));
        net
    }

    /// Returns two leaves of four hosts and four spines, all links 20 us long, with hosts that choose the paths of packets.
    pub(super) fn spread(balance: &'static str) -> Net {
        spreading(tiers(2, 8, 4), balance)
    }

    /// Returns a network over a graph in which packets may take several paths.
    pub(super) fn spreading(mut graph: Graph, balance: &'static str) -> Net {
        in_order(&mut graph);
        let settings = [
            ("balance", Value::Choice(balance)),
            ("paths", Value::Count(16)),
            ("path_choice", Value::Choice("even")),
            ("reps_buffer", Value::Count(1)),
            ("flowlet_gap", Value::Time(Span::from_micros(500))),
        ];
        serving(graph, Sharing::PerPort, 1, Some(Span::ZERO), service(["fifo", "fifo"]), &settings)
    }

    fn build(
        graph: Graph,
        sharing: Sharing,
        seed: u64,
        host_jitter: Option<Span>,
        ordering: [&str; 2],
        records: bool,
    ) -> Net {
        serving(graph, sharing, seed, host_jitter, Service { records, ..service(ordering) }, &[])
    }

    /// Returns the service with these disciplines, at switches and at hosts, and marks above a threshold.
    pub(super) fn service(ordering: [&str; 2]) -> Service {
        let [switches, hosts] = ordering.map(|name| qdisc::find(name).expect("a discipline of that name"));
        Service {
            switches,
            hosts,
            marking: &MARKERS[0],
            at_departure: false,
            weights: vec![1.0; 3],
            trim: None,
            records: false,
            lossless: false,
        }
    }

    pub(super) fn serving(
        graph: Graph,
        sharing: Sharing,
        seed: u64,
        host_jitter: Option<Span>,
        service: Service,
        more: &[(&'static str, Value)],
    ) -> Net {
        let mark = Some(Amount::Packets(3));
        let switch = Switch {
            buffer: Amount::Packets(10),
            sharing,
            marks: Marks { host: mark, uplink: mark },
            drop_non_ect: false,
        };
        let mut settings = Values::default();
        settings.set("untagged", Value::Choice("lowest"));
        settings.set("when_full", Value::Choice("drop-arriving"));
        more.iter().for_each(|(key, value)| settings.set(key, value.clone()));
        let network = Network {
            graph,
            switch,
            frame_overhead: Bytes::ZERO,
            host_jitter,
            host_queue: HostQueue::Unlimited,
            settings,
        };
        Net::new(network, seed, service)
    }

    fn net(seed: u64, host_jitter: Option<Span>) -> Net {
        star(2, seed, host_jitter, ["fifo", "fifo"])
    }

    /// Returns the arrivals at hosts, in order, with the times.
    pub(super) fn drain(net: &mut Net) -> Vec<(Instant, Packet)> {
        let mut arrived = Vec::new();
        while let Some((at, event)) = net.events.pop(Instant::MAX) {
            net.now = at;
            match event {
                Event::Arrival(link) if net.switches_choose() => {
                    arrived.extend(net.arrive_with_care(link).map(|packet| (at, packet)));
                }
                Event::Arrival(link) => {
                    let mut packet = Packet::BLANK;
                    let arrival = net.arrival(at, link);
                    net.take(link, arrival.number);
                    match arrival.to() {
                        Some(link) => net.forward(arrival.number, link),
                        None => {
                            net.collect(arrival.number, &mut packet);
                            arrived.push((at, packet));
                        }
                    }
                }
                Event::Departure(link) => net.depart(link),
                other => panic!("{other:?} in an empty world"),
            }
        }
        arrived
    }

    /// Returns 1500 B from one host to another.
    pub(super) fn full(net: &mut Net, (from, to): (u32, u32), seq: u64) -> Packet {
        let route = net.path(HostId(from), HostId(to), Flow::of_pair(HostId(from), HostId(to)));
        Packet { route, ..Packet::data(seq, 1460, 40, Instant::ZERO, Flags::ECT) }
    }

    #[test]
    fn a_hosts_port_may_have_a_queue_of_its_own() {
        for (hosts, order) in [("fifo", [0, 1, 2, 3]), ("priority", [0, 2, 3, 1])] {
            let mut net = star(2, 1, Some(Span::ZERO), ["fifo", hosts]);
            for (seq, rank) in [(0, 9), (1, 9), (2, 0), (3, 1)] {
                let packet = Packet { rank, ..full(&mut net, (0, 1), seq) };
                net.send(packet);
            }
            let arrived = drain(&mut net);
            assert_eq!(arrived.iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(), order);
            // 12 us to send and 20 us to propagate, twice; then one every 12 us.
            let times: Vec<Instant> = arrived.iter().map(|&(at, _)| at).collect();
            assert_eq!(times, [64, 76, 88, 100].map(Instant::from_micros), "{hosts}");
            let nic = net.ports.iter().find(|port| port.place == LinkRole::HostToSwitch && port.packets > 0);
            assert_eq!(nic.map(|port| (port.packets, port.watch().drops, port.watch().marks)), Some((4, 0, 0)));
        }
    }

    /// As with ns-2's `overhead_`: packets released by one ACK keep their distances.
    #[test]
    fn what_a_host_is_given_at_one_instant_is_late_alike() {
        let mut net = net(1, None);
        for seq in 0..10 {
            let packet = full(&mut net, (0, 1), seq);
            net.send(packet);
        }
        let times: Vec<Instant> = drain(&mut net).iter().map(|&(at, _)| at).collect();
        // 12 us to send and 20 us to propagate, twice, plus the delay; then one every 12 us.
        let first = Instant::from_micros(64);
        assert!(times[0] > first && times[0] < first + Span::from_micros(12), "{}", times[0]);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == Span::from_micros(12)), "{times:?}");
    }

    #[test]
    fn packets_are_late_and_in_order_also_behind_a_queue_of_the_hosts_own() {
        let mut net = star(2, 1, None, ["fifo", "priority"]);
        for seq in 0..100 {
            let packet = full(&mut net, (0, 1), seq);
            net.send(packet);
        }
        let nic =
            net.graph.links.iter().position(|link| link.from == 0).map(LinkId::from_index).expect("the link of host 0");
        let (mut last, mut late, mut packet) = (Instant::ZERO, 0, Packet::BLANK);
        for number in 1..=100 {
            let (at, link) = loop {
                match net.events.pop(Instant::MAX).expect("all arrive") {
                    (at, Event::Arrival(link)) => break (at, link),
                    (at, Event::Departure(link)) => {
                        net.now = at;
                        net.depart(link);
                    }
                    (_, other) => panic!("{other:?}"),
                }
            };
            net.now = at;
            if link == nic {
                // Without jitter it would arrive 12 us after the one before.
                let exact = Instant::from_micros(12 * number + 20);
                assert!(at >= exact.max(last) && at < exact + Span::from_micros(12), "{at} for {exact}");
                late += u32::from(at > exact);
                last = at;
                let number = net.ports[nic].first();
                let next = net.ports[nic].take(&net.packet_pool, number);
                net.collect(number, &mut packet);
                next.inspect(|&next| net.events.push_arrival(at, next, nic));
            }
        }
        assert!(late > 90, "{late} of 100 were late");
    }

    /// Two packets meet at the port to a third host; one of them waits for the 12 us of the other.
    #[test]
    fn a_packet_knows_how_long_it_waited_whatever_it_carries() {
        for discipline in ["fifo", "priority"] {
            let mut net = star(3, 1, Some(Span::ZERO), [discipline, "fifo"]);
            for from in 0..2 {
                let packet = full(&mut net, (from, 2), 0);
                net.send(packet);
                let packet = full(&mut net, (from, 2), 1460);
                net.send_extended(packet, Extension::default());
            }
            let waits: Vec<u32> = drain(&mut net)
                .iter()
                .map(|(_, packet)| {
                    net.take_extension(packet).map_or(packet.wait_or_extension, |extension| extension.wait)
                })
                .collect();
            // The second pair, 12 us later, finds one in transmission and an empty queue, then one queued.
            assert_eq!(waits, [0, 12, 12, 24].map(|micros: u32| micros * 1_000_000 / 1024), "{discipline}");
        }
    }

    /// Two hosts send two packets each at once to a third; each is in transmission for 12 us, twice. The switch's port
    /// sends the first on arrival, at 32 us; the second pair arrives just after the second packet's departure.
    #[test]
    fn switch_records_its_queue_and_bytes_sent_at_each_departure() {
        for discipline in ["fifo", "priority"] {
            let mut graph = Graph::new(3);
            let switch = graph.switch("switch", false);
            (0..3).for_each(|host| graph.join(host, switch, Rate::from_gbps(1), Span::from_micros(20)));
            let mut net = build(graph, Sharing::PerPort, 1, Some(Span::ZERO), [discipline, "priority"], true);
            for seq in [0, 1460] {
                for (from, flags) in [(0, Flags::NONE), (1, Flags::NONE), (2, Flags::ACK)] {
                    let mut packet = full(&mut net, (from, if from == 2 { 0 } else { 2 }), seq);
                    packet.flags = flags;
                    let header = Header::Telemetry(Box::new(Records::of_packet(packet.end())));
                    net.send_extended(packet, Extension::of_header(header));
                }
            }
            let (mut found, mut returned) = (Vec::new(), 0);
            for (_, packet) in drain(&mut net) {
                let header = net.take_extension(&packet).and_then(|extension| extension.header);
                let Some(Header::Telemetry(records)) = header else { panic!("it had records") };
                if packet.flags.has(Flags::ACK) {
                    assert!(records.as_slice().is_empty(), "an ACK returns the records of its data");
                    returned += 1;
                    continue;
                }
                let [record] = records.as_slice() else { panic!("the host's port writes none") };
                assert_eq!(net.graph.links[record.port as usize].from, 3, "{record:?}");
                assert_eq!(record.rate, Rate::from_gbps(1));
                found.push((record.at, record.queued, record.sent));
            }
            let expected = [(32, 0, 0), (44, 0, 1500), (56, 1500, 3000), (68, 0, 4500)];
            let expected = expected.map(|(us, queued, sent)| (Instant::from_micros(us), queued, sent));
            assert_eq!((found.as_slice(), returned), (&expected[..], 2), "{discipline}");
        }
    }

    /// Of three full packets one is in transmission for 12 us, then the next. Jitter changes none of that.
    #[test]
    fn agents_are_told_what_waits_at_a_host() {
        let d3 =
            transport::registry::find("d3").and_then(|d3| d3.with(&[]).ok()).expect("d3 has defaults for all keys");
        let mut net = net(1, None);
        net.install_agents(&[d3.control.agents().expect("d3 has agents at ports")]);
        for seq in 0..3 {
            let packet = full(&mut net, (0, 1), seq);
            net.send(packet);
        }
        let nic =
            net.graph.links.iter().position(|link| link.from == 0).map(LinkId::from_index).expect("the link of host 0");
        for (at, bytes) in [(0, 3000), (11, 3000), (12, 1500), (24, 0)] {
            let told = state(Instant::from_micros(at), &mut net.ports[nic]);
            assert_eq!(told.waiting_bytes, Bytes(bytes), "{at} us");
        }
        assert_eq!(drain(&mut net).len(), 3);
    }

    /// With its queue and marker in the cold state, a port behaves as with the built-in ones.
    #[test]
    fn first_in_first_out_beside_the_port_is_the_same_as_within() {
        for (seed, sharing) in [(1, false), (2, false), (3, true)] {
            let run = |cold: bool, own_marker: bool| {
                let mut net = star(4, seed, None, ["fifo", "fifo"]);
                let link = net.ports.iter().position(|port| port.place.to_host()).expect("a port to a host");
                let link = LinkId::from_index(link);
                let site = Site::new(Rate::from_gbps(1), Level::share(Amount::Packets(3), 1));
                if sharing {
                    net.ports[link].mode = PortMode::Shared(BufferIndex::from_index(0));
                    net.shared_buffers.push(SharedBuffer::new(Amount::Packets(12), 1.0));
                    net.shared_buffers[0].add(link);
                }
                if cold {
                    let port = std::mem::replace(
                        &mut net.ports[link],
                        Port::new(Rate::from_gbps(1), Span::ZERO, LinkRole::SwitchToHost),
                    );
                    let settings = Values::default();
                    let marker = own_marker.then(|| (MARKERS[0].marker)(&settings, &site));
                    net.ports[link] = port.with_qdisc(queue("fifo"), marker);
                }
                let to = net.graph.links[link.index()].to;
                let (mut stream, mut arrived) = (Stream::new(seed, "bursts", 0), Vec::new());
                for seq in 0..60 {
                    for from in (0..4).filter(|&from| from != to) {
                        let mut packet = full(&mut net, (from, to), seq);
                        packet.payload = 1 + stream.below(1460) as u16;
                        packet.size = packet.payload + 40;
                        net.send(packet);
                    }
                    // The port becomes idle now and then.
                    if seq % 20 == 19 {
                        arrived.extend(drain(&mut net));
                    }
                }
                net.advance_ports();
                let port = &net.ports[link];
                let watch = port.watch();
                assert!(watch.drops > 0 && watch.marks > 0);
                let empty = Level { value: 12, in_bytes: false };
                assert!(
                    net.shared_buffers.iter().all(|buffer| buffer.room(0, 0) == empty),
                    "what has left takes no room"
                );
                (arrived, port.packets, port.bytes, watch.drops, watch.marks, watch.max_waiting, watch.levels.clone())
            };
            let built_in = run(false, false);
            assert!([true, false].into_iter().all(|own_marker| run(true, own_marker) == built_in), "seed {seed}");
        }
    }

    /// A phantom queue drains at half of the port's rate and marks above 3000 B (HULL 3.1). One packet every 12 us
    /// fills it by 750 B each, while the queue stays empty.
    #[test]
    fn a_marker_that_sees_departures_marks_where_nothing_waits() {
        struct Phantom {
            bytes: u64,
            since: Instant,
        }
        impl Marker for Phantom {
            fn departs(&mut self, packet: &Packet, behind: Length, now: Instant) -> bool {
                assert_eq!(behind.packets, 0);
                let drained = (now - self.since).0 / 16_000;
                (self.bytes, self.since) = (self.bytes.saturating_sub(drained) + u64::from(packet.size), now);
                self.bytes > 3000
            }
        }
        let mut net = star(2, 1, Some(Span::ZERO), ["fifo", "fifo"]);
        let path = net.path(HostId(0), HostId(1), Flow::of_pair(HostId(0), HostId(1)));
        let link = net.router.link(path + 1);
        let port =
            std::mem::replace(&mut net.ports[link], Port::new(Rate::from_gbps(1), Span::ZERO, LinkRole::HostToHost));
        net.ports[link] = port.with_qdisc(queue("fifo"), Some(Box::new(Phantom { bytes: 0, since: Instant::ZERO })));
        for seq in 0..5 {
            let packet = full(&mut net, (0, 1), seq);
            net.send(packet);
        }
        let marked: Vec<bool> = drain(&mut net).iter().map(|(_, packet)| packet.flags.has(Flags::CE)).collect();
        // 1500, 2250, 3000, 3750, 4500 B.
        assert_eq!(marked, [false, false, false, true, true]);
        assert_eq!(net.ports[link].watch().marks, 2);
    }

    /// Sends a packet of each of hosts 0 to 9 to host 10, with these ranks, one nanosecond apart. Ports mark above three
    /// packets. Returns the packets in the order of their departure from the switch, each with whether it is marked, and
    /// the time of the last arrival.
    fn burst(service: Service, sharing: Sharing, ranks: [u32; 10]) -> (Vec<(u32, bool)>, Instant) {
        let quantum = ("quantum", Value::Size(Bytes(1500)));
        let mut net = serving(tiers(1, 11, 0), sharing, 1, Some(Span::ZERO), service, &[quantum]);
        for host in 0..10 {
            net.now = Instant::ZERO + Span::from_nanos(host.into());
            let packet = Packet { rank: ranks[host as usize], ..full(&mut net, (host, 10), u64::from(host)) };
            net.send(packet);
        }
        let arrived = drain(&mut net);
        let marks = arrived.iter().map(|(_, packet)| (packet.seq as u32, packet.flags.has(Flags::CE)));
        let counted: u64 = net.ports().iter().map(|port| port.watch().marks).sum();
        let (marks, last) = (marks.collect::<Vec<_>>(), arrived.last().expect("ten arrive").0);
        assert_eq!(counted, marks.iter().filter(|(_, marked)| *marked).count() as u64);
        (marks, last)
    }

    /// Ten packets reach an idle port almost at once, and the threshold K is 3. The first begins its transmission, and behind it
    /// packet i is the i-th in the queue: on arrival 4 to 9 are marked. When packet i departs, 9 - i are behind it: 1 to 5
    /// are marked. The first has departed before the others arrive.
    #[test]
    fn burst_is_marked_at_its_end_on_arrival_and_at_its_beginning_at_departure() {
        for order in ["fifo", "priority", "pfabric"] {
            for sharing in [Sharing::PerPort, Sharing::Dynamic(9.0)] {
                for (at_departure, marked) in [(false, 4..10), (true, 1..6)] {
                    let service = Service { at_departure, ..service([order, "fifo"]) };
                    let (found, last) = burst(service, sharing, [0; 10]);
                    let expected: Vec<_> = (0..10).map(|number| (number, marked.contains(&number))).collect();
                    assert_eq!(found, expected, "{order}, at departure: {at_departure}");
                    // 32 us to the switch, ten times 12 us, and 20 us.
                    assert_eq!(last, Instant::from_micros(172));
                }
            }
        }
    }

    /// Packets 0, 2, .. are of one class, 1, 3, .. of another; packet 0 is in transmission, so that four and five are queued.
    /// On arrival the fourth and fifth of a class are above K = 3: 7, 8 and 9. At departure only 1 leaves four of its class
    /// behind. The whole queue would be above K for more.
    #[test]
    fn where_a_discipline_counts_by_class_the_queue_of_the_class_decides_at_departure() {
        for (at_departure, expected) in [(false, &[7, 8, 9][..]), (true, &[1])] {
            let service = Service { at_departure, ..service(["dwrr", "fifo"]) };
            let (found, _) = burst(service, Sharing::PerPort, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
            let mut marked: Vec<u32> = found.iter().filter(|(_, marked)| *marked).map(|&(number, _)| number).collect();
            marked.sort_unstable();
            assert_eq!(marked, expected, "at departure: {at_departure}");
        }
    }

    #[test]
    fn what_a_closed_connection_lost_is_not_booked_on_the_next_one_of_its_number() {
        let mut net = net(1, None);
        let to_host = net.ports().iter().position(|port| port.place.to_host()).expect("a port to a host");
        let to_host = LinkId::from_index(to_host);
        let packet = |connection, generation| Packet {
            connection: ConnectionId(connection),
            generation,
            ..Packet::data(0, 1460, 40, Instant::ZERO, Flags::NONE)
        };
        // One packet of a closed connection, two of the connection that has its id now, one of another.
        for (number, generation) in [(7, 0), (7, 2), (7, 2), (8, 2)] {
            net.dropped(to_host, &packet(number, generation));
        }
        let mut taken = |id, generation| net.take_dropped_at_receiver(Incarnation { id: ConnectionId(id), generation });
        assert_eq!(taken(7, 2), Bytes(3000));
        assert_eq!(taken(7, 2), Bytes::ZERO);
        assert_eq!(taken(7, 0), Bytes::ZERO, "nobody is left to whom it matters");
        assert_eq!(taken(8, 2), Bytes(1500));
    }

    /// The hosts are two links of 20 us apart. The delay of a fixed route is the sum of its links. A route that may
    /// change counts at the shortest delay of any link, here 5 us; no host learns of another sooner.
    #[test]
    fn light_takes_the_shortest_way_there_can_be_where_links_go_down() {
        let effects = [(None, 40), (Some(Effect::Unmarked), 40), (Some(Effect::Down { reroute: Span::ZERO }), 10)];
        for (effect, micros) in effects {
            let mut net = star(3, 1, None, ["fifo", "fifo"]);
            net.graph.links.last_mut().expect("a star has links").delay = Span::from_micros(5);
            let links = net.graph.links.last().map(|link| (link.from, link.to)).into_iter().collect();
            let fault = |effect| Fault { kind: "any", links, drawn: false, at: Instant::ZERO, until: None, effect };
            net.inject_faults(effect.map(fault).into_iter().collect(), 1);
            let path = net.path(HostId(0), HostId(1), Flow::of_pair(HostId(0), HostId(1)));
            assert_eq!(net.propagation(path, HostId(1)), Span::from_micros(micros));
        }
    }

    /// Uniform between zero and the packet's own transmission time, or the scenario's value, by seed, link and time.
    #[test]
    fn packets_are_late_by_up_to_their_own_transmission() {
        let own = net(1, None).jitter;
        let full = Span::from_micros(12);
        let drawn = |jitter: Jitter, link| -> Vec<u64> {
            (0..10_000).map(|i| jitter.draw(Instant(12_000_000 * i), LinkId(link), full).0).collect()
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
        assert!(drawn(net(1, Some(Span::ZERO)).jitter, 0).iter().all(|&late| late == 0));
        let longest = drawn(net(1, Some(Span::from_micros(1))).jitter, 0).into_iter().max().expect("100 draws");
        assert!((990_000..1_000_000).contains(&longest), "{longest} ps");
    }
}
