//! What families of transports keep at the ports.

use transport::agent::{Agent, Allocation, Decision, PortState};
use transport::{Agents, Header, Packet};
use units::{Instant, Rate};

/// The agents at every port, numbered like the links, and what they have decided.
#[derive(Default)]
pub struct AtPorts {
    ports: Vec<Vec<Box<dyn Agent>>>,
    /// What was decided since this was last taken, each with the link's number.
    pub decided: Vec<(u32, Decision)>,
}

impl AtPorts {
    /// For links of these rates.
    pub fn new(families: &[Agents], frame_overhead: u64, links: impl Iterator<Item = Rate>) -> AtPorts {
        let at = |rate| families.iter().map(|family| family.at(rate, frame_overhead)).collect();
        AtPorts { ports: links.map(at).collect(), decided: Vec::new() }
    }

    /// Shows the agents of a port a packet that the port has accepted.
    pub fn show(&mut self, link: u32, port: &PortState, packet: &Packet, header: &mut Header) {
        for agent in self.ports.get_mut(link as usize).into_iter().flatten() {
            self.decided.extend(agent.on_packet(port, packet, header).map(|decision| (link, decision)));
        }
    }

    /// Whether a packet passes the full buffer of a port.
    pub fn pass_full_buffers(&self, link: u32, packet: &Packet, header: &Header) -> bool {
        let mut agents = self.ports.get(link as usize).into_iter().flatten();
        agents.any(|agent| agent.passes_full_buffers(packet, header))
    }

    /// Lets all agents forget what has expired.
    pub fn settle(&mut self, now: Instant) {
        self.ports.iter_mut().flatten().for_each(|agent| agent.settle(now));
    }

    /// What is given away at a port, if that is done there.
    pub fn allocation(&self, link: usize) -> Option<Allocation> {
        self.ports.get(link)?.iter().find_map(|agent| agent.allocation())
    }
}
