//! The per-port agents of transport families.

use transport::agent::{Agent, Allocation, Decision, PortState};
use transport::{Agents, Header, Packet};
use units::{Bytes, Instant, LinkId, Rate, Table};

/// The agents at every port, indexed by link, and their decisions.
#[derive(Default)]
pub(crate) struct AtPorts {
    ports: Table<LinkId, Vec<Box<dyn Agent>>>,
    /// Some family has agents.
    are_there: bool,
    /// Decisions since this list was last taken, each with its link.
    pub decided: Vec<(LinkId, Decision)>,
}

impl AtPorts {
    /// Returns whether any family has agents.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        self.are_there
    }

    /// Returns the agents for links of these rates.
    pub(crate) fn new(families: &[Agents], frame_overhead: Bytes, links: impl Iterator<Item = Rate>) -> AtPorts {
        let at = |rate| families.iter().map(|family| family.at(rate, frame_overhead)).collect();
        AtPorts { ports: links.map(at).collect(), are_there: !families.is_empty(), decided: Vec::new() }
    }

    /// Shows the agents of a port a packet that the port has accepted.
    pub(crate) fn show(&mut self, link: LinkId, port: &PortState, packet: &Packet, header: &mut Header) {
        for agent in self.ports.find_mut(link).into_iter().flatten() {
            self.decided.extend(agent.on_packet(port, packet, header).map(|decision| (link, decision)));
        }
    }

    /// Returns whether a packet is accepted although the buffer of a port is full.
    pub(crate) fn pass_full_buffers(&self, link: LinkId, packet: &Packet, header: &Header) -> bool {
        let mut agents = self.ports.find(link).into_iter().flatten();
        agents.any(|agent| agent.passes_full_buffers(packet, header))
    }

    /// Lets all agents remove expired state.
    pub(crate) fn advance_to(&mut self, now: Instant) {
        self.ports.iter_mut().flatten().for_each(|agent| agent.settle(now));
    }

    /// Returns the allocation of a port's capacity, if an agent allocates there.
    pub(crate) fn allocation(&self, link: LinkId) -> Option<Allocation> {
        self.ports.find(link)?.iter().find_map(|agent| agent.allocation())
    }
}
