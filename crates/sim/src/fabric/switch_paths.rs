//! The paths of packets whose next link each switch chooses, as a [balancer](super::balance) says.

use std::collections::BTreeMap;

use transport::{Extension, Flags, Overlay};
use units::{Bytes, HostId, LinkId, Span, Stream, Values};

use super::Net;
use super::balance::{self, Chooser, Draws, Hop, Onward, SwitchBalancer};
use super::port::PortMode;
use crate::topology::Graph;

/// The balancers of all switches.
pub(super) struct SwitchPaths {
    /// By switch, with its draws.
    switches: Vec<(Box<dyn SwitchBalancer>, Draws)>,
    /// The routes behind each chosen link to each host.
    routes: BTreeMap<(LinkId, HostId), u32>,
    /// Memory of the choices and their queues, kept between packets.
    choices: Vec<LinkId>,
    links: Vec<Onward>,
    queues: Vec<Span>,
}

/// Returns whether the checked values of `[network]` let switches choose.
pub(crate) fn at_switches(settings: &Values) -> bool {
    matches!(balance::of(settings).chooser, Chooser::Switches(_))
}

impl SwitchPaths {
    /// Returns none unless switches choose the paths of packets.
    pub(super) fn from_values(settings: &Values, graph: &Graph, seed: u64) -> Option<Box<SwitchPaths>> {
        let Chooser::Switches(make) = balance::of(settings).chooser else { return None };
        let mut seeds = Stream::new(seed, "paths at switches", 0);
        let switches = graph.switches.iter().map(|_| (make(settings), Draws::of(seeds.bits()))).collect();
        Some(Box::new(SwitchPaths {
            switches,
            routes: BTreeMap::new(),
            choices: Vec::new(),
            links: Vec::new(),
            queues: Vec::new(),
        }))
    }
}

impl Net {
    /// Returns whether switches choose the next links of packets.
    #[inline(always)]
    pub(super) fn switches_choose(&self) -> bool {
        self.switch_paths.is_some()
    }

    /// Returns the time in which a port will have sent its queue; a transmission that has just ended may count.
    fn drained_in(&self, link: LinkId) -> Span {
        let port = &self.ports[link];
        let sending = port.idle_at().saturating_sub(self.now);
        // Other ports know when all that they have queued will have been sent.
        let queued = if port.mode == PortMode::Qdisc { port.waiting_bytes() } else { 0 };
        sending + self.graph.links[link.index()].rate.transmission().of(Bytes(queued))
    }

    /// Lets a switch choose the next link of the packet in slot `number`, which has reached it; returns that link.
    #[inline(never)]
    pub(super) fn choose_link(&mut self, number: u32, link: LinkId) -> LinkId {
        let node = self.graph.links[link.index()].from;
        // Only switches choose.
        let Some(switch) = node.checked_sub(self.graph.hosts) else { return link };
        let Some(mut paths) = self.switch_paths.take() else { return link };
        let SwitchPaths { switches, routes, choices, links, queues } = &mut *paths;
        let packet = self.packet_pool.at(number).packet;
        let last = self.graph.links[self.last_link(packet.route).index()];
        let (last_switch, to) = (last.from, HostId(last.to));
        let (balancer, draws) = &mut switches[switch as usize];
        choices.clear();
        self.router.choices(node, to, choices);
        let onward = |link: LinkId| Onward { link, rate: self.graph.links[link.index()].rate };
        let chosen = match choices.len() {
            0 | 1 => link,
            _ => {
                links.clear();
                queues.clear();
                links.extend(choices.iter().map(|choice| onward(*choice)));
                queues.extend(choices.iter().map(|choice| self.drained_in(*choice)));
                let hop = Hop { now: self.now, packet: &packet, to, last_switch, links, queues };
                choices[balancer.next(&hop, draws)]
            }
        };
        if balancer.reports() {
            let onward = onward(chosen);
            self.report(balancer.as_mut(), number, node, last_switch, onward);
        }
        if chosen != link {
            let route = *routes.entry((chosen, to)).or_insert_with(|| {
                let behind = self.graph.links[chosen.index()].to;
                self.router.route_over(chosen, behind, to)
            });
            self.packet_pool.packet_mut(number).route = route;
        }
        self.switch_paths = Some(paths);
        chosen
    }

    /// Lets a switch read and write the overlay header of the packet in slot `number`: the first switch adds it, the last
    /// one takes it.
    fn report(&mut self, balancer: &mut dyn SwitchBalancer, number: u32, node: u32, last_switch: u32, onward: Onward) {
        let packet = self.packet_pool.packet_mut(number);
        let is_extended = packet.flags.has(Flags::EXTENDED);
        if node == last_switch {
            if !is_extended {
                return;
            }
            let Some(overlay) = self.extensions.at(packet.wait_or_extension).overlay.take() else { return };
            if overlay.alone {
                packet.wait_or_extension = self.extensions.take(packet.wait_or_extension).wait;
                packet.flags = packet.flags.without(Flags::EXTENDED);
            }
            return balancer.receive(self.now, &overlay);
        }
        if !is_extended {
            packet.wait_or_extension = self.extensions.keep(Extension::default());
            packet.flags = packet.flags.with(Flags::EXTENDED);
        }
        let extension = self.extensions.at(packet.wait_or_extension);
        let overlay = extension.overlay.get_or_insert_with(|| {
            Box::new(Overlay {
                first_switch: node,
                last_switch,
                uplink: None,
                congestion: 0,
                told: None,
                alone: !is_extended,
            })
        });
        balancer.send(self.now, onward, packet, overlay);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{drain, full, spread, star};
    use super::*;
    use crate::schedule::events::Event;
    use transport::Blocks;
    use units::Instant;

    /// Of three packets of 12 us one is in transmission and two are queued.
    #[test]
    fn queue_is_as_long_as_its_packets_take() {
        for discipline in ["fifo", "priority"] {
            let mut net = star(2, 1, Some(Span::ZERO), [discipline; 2]);
            let mut link = LinkId(0);
            for seq in 0..3 {
                let packet = full(&mut net, (0, 1), seq);
                link = net.router.link(packet.route);
                net.send(packet);
            }
            assert_eq!(net.drained_in(link), Span::from_micros(36), "{discipline}");
            net.now += Span::from_micros(5);
            assert_eq!(net.drained_in(link), Span::from_micros(31), "{discipline}");
        }
    }

    /// Packets of two hosts reach a third host's port at 32 us: the port of a switch has two of them to send.
    #[test]
    fn packets_queued_at_a_port_of_a_switch_count_once() {
        for discipline in ["fifo", "priority"] {
            let mut net = star(3, 1, Some(Span::ZERO), [discipline; 2]);
            for from in [0, 1] {
                let packet = full(&mut net, (from, 2), 0);
                net.send(packet);
            }
            while let Some((at, Event::Arrival(link))) = net.events.pop(Instant::from_micros(33)) {
                net.now = at;
                assert_eq!(net.arrive_with_care(link), None);
            }
            assert_eq!((net.now, net.drained_in(LinkId(2))), (Instant::from_micros(32), Span::from_micros(24)));
        }
    }

    /// A packet between hosts of one leaf has no overlay header, which its only switch would take.
    #[test]
    fn packet_within_a_rack_has_no_overlay_header() {
        let mut net = spread("conga");
        let packet = full(&mut net, (0, 1), 0);
        net.send(packet);
        let [(_, arrived)] = drain(&mut net)[..] else { panic!("one packet arrives") };
        assert!(!arrived.flags.has(Flags::EXTENDED));
        assert!(net.extensions.slots.is_empty());
    }

    /// The leaf sends a packet at 32 us, over a link that nothing has used.
    #[test]
    fn path_of_unused_links_is_not_congested() {
        let mut net = spread("conga");
        let packet = full(&mut net, (0, 4), 0);
        net.send(packet);
        while let Some((at, Event::Arrival(link))) = net.events.pop(Instant::from_micros(33)) {
            net.now = at;
            assert_eq!(net.arrive_with_care(link), None);
        }
        assert_eq!(net.extensions.at(0).overlay.as_ref().map(|overlay| overlay.congestion), Some(0));
    }

    /// An overlay header is between switches only: packets reach their hosts as they were sent.
    #[test]
    fn overlay_headers_are_taken_off_and_the_extension_of_a_packet_is_kept() {
        let mut net = spread("conga");
        let mut blocks = Blocks::default();
        blocks.push((2000, 3000));
        let sent = Extension::of_blocks(blocks);
        for from in [0, 1] {
            let packet = full(&mut net, (from, 4), 0);
            net.send(packet);
            let packet = full(&mut net, (from, 4), 1460);
            net.send_extended(packet, sent.clone());
        }
        let arrived = drain(&mut net);
        assert_eq!(arrived.len(), 4);
        for (_, packet) in &arrived {
            let extension = net.take_extension(packet);
            assert_eq!(extension.is_some(), packet.seq > 0);
            if let Some(extension) = extension {
                assert_eq!((extension.sack.as_slice(), extension.overlay.is_none()), (sent.sack.as_slice(), true));
            }
        }
        assert_eq!(net.extensions.slots.len(), net.extensions.free.len());
    }
}
