//! `letflow`: each switch lets a flow change its link after a pause, and draws the next at random.

use std::collections::BTreeMap;

use transport::{Flags, Packet};
use units::{HostId, Instant, Span, Values};

use super::{Chooser, Descriptor, Draws, SwitchBalancer};
use crate::flow::Incarnation;

/// The balancer of flowlets, at switches.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "letflow",
    help: "as flowlet, but each switch chooses the next link, so that flowlets are as short as queues let them be there",
    keys: &[],
    chooser: Chooser::Switches(balancer),
    listens: false,
};

fn balancer(values: &Values) -> Box<dyn SwitchBalancer> {
    Box::new(LetFlow { gap: values.time("flowlet_gap"), flows: BTreeMap::new(), forget_at: MIN_FLOWS })
}

/// Number of flows from which a switch first forgets paused ones.
const MIN_FLOWS: usize = 1024;

struct LetFlow {
    gap: Span,
    /// By connection and direction: when another link may be taken, and the index of the present one.
    flows: BTreeMap<(Incarnation, bool), (Instant, usize)>,
    /// The number of flows at which paused ones are forgotten.
    forget_at: usize,
}

impl SwitchBalancer for LetFlow {
    fn next(&mut self, now: Instant, packet: &Packet, _: HostId, queues: &[Span], draws: &mut Draws) -> usize {
        if self.flows.len() >= self.forget_at {
            self.flows.retain(|_, (until, _)| *until > now);
            self.forget_at = (2 * self.flows.len()).max(MIN_FLOWS);
        }
        let flow = (Incarnation::of(packet), packet.flags.has(Flags::ACK));
        let until = now.saturating_add(self.gap);
        let known = self.flows.get(&flow).filter(|(until, index)| now < *until && *index < queues.len());
        let index = known.map_or_else(|| draws.below(queues.len() as u32) as usize, |(_, index)| *index);
        self.flows.insert(flow, (until, index));
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::ConnectionId;

    #[test]
    fn only_a_pause_changes_the_link_and_what_has_paused_is_forgotten() {
        let mut switch = LetFlow { gap: Span::from_micros(50), flows: BTreeMap::new(), forget_at: MIN_FLOWS };
        let mut draws = Draws::of(3);
        let mut at = |now: u64, connection: u32, switch: &mut LetFlow| {
            let packet = Packet { connection: ConnectionId(connection), ..Packet::BLANK };
            switch.next(Instant::from_micros(now), &packet, HostId(0), &[Span::ZERO; 64], &mut draws)
        };
        let first = at(0, 0, &mut switch);
        assert!((1..100).all(|i| at(49 * i, 0, &mut switch) == first));
        // The chance of the same one each time is 1/64.
        let later: Vec<usize> = (1..10).map(|i| at(49 * 99 + 50 * i, 0, &mut switch)).collect();
        assert!(later.iter().filter(|index| **index == first).count() < 3);
        (0..5000).for_each(|connection| _ = at(10_000 + u64::from(connection), connection, &mut switch));
        assert!(switch.flows.len() <= 2 * MIN_FLOWS, "{}", switch.flows.len());
    }
}
