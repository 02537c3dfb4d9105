//! The paths of packets whose next link each switch chooses, as a [balancer](super::balance) says.

use std::collections::BTreeMap;

use units::{Bytes, HostId, LinkId, Span, Stream, Values};

use super::balance::{self, Chooser, Draws, SwitchBalancer};
use super::port::PortMode;
use super::{Net, Router};
use crate::topology::Graph;

/// The balancers of all switches.
pub(super) struct SwitchPaths {
    /// By switch, with its draws.
    switches: Vec<(Box<dyn SwitchBalancer>, Draws)>,
    /// The routes behind each chosen link to each host.
    routes: BTreeMap<(LinkId, HostId), u32>,
    /// Memory of the choices and their queues, kept between packets.
    choices: Vec<LinkId>,
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
        let (routes, choices, queues) = (BTreeMap::new(), Vec::new(), Vec::new());
        Some(Box::new(SwitchPaths { switches, routes, choices, queues }))
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
        let Some(mut paths) = self.switch_paths.take() else { return link };
        let SwitchPaths { switches, routes, choices, queues } = &mut *paths;
        let packet = self.packet_pool.at(number).packet;
        let node = self.graph.links[link.index()].from;
        let route = (packet.route..).map(|position| self.router.link(position));
        let last = route.take_while(|link| *link != Router::END).last().expect("a packet at a switch has a next link");
        let to = HostId(self.graph.links[last.index()].to);
        choices.clear();
        self.router.choices(node, to, choices);
        let chosen = match choices.len() {
            0 | 1 => link,
            _ => {
                queues.clear();
                queues.extend(choices.iter().map(|choice| self.drained_in(*choice)));
                let (balancer, draws) = &mut switches[(node - self.graph.hosts) as usize];
                choices[balancer.next(self.now, &packet, to, queues, draws)]
            }
        };
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
}
