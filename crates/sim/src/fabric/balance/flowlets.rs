//! The flowlets that pass a switch, and the choice for each.

use std::collections::BTreeMap;

use transport::{Flags, Packet};
use units::{Instant, Span};

use crate::flow::Incarnation;

/// Number of flows from which a switch first forgets paused ones.
const MIN_FLOWS: usize = 1024;

/// A switch's choice for each flow, until the flow pauses.
pub(super) struct Flowlets<T> {
    gap: Span,
    /// By connection and direction: when the flow has paused, and its choice.
    flows: BTreeMap<(Incarnation, bool), (Instant, T)>,
    /// The number of flows at which paused ones are forgotten.
    forget_at: usize,
}

/// The last choice for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last<T> {
    /// Its flowlet has not ended.
    Flowlet(T),
    /// It has paused since.
    Paused(T),
    /// It is a new one, or was forgotten.
    None,
}

impl<T: Copy> Flowlets<T> {
    /// Returns a table without flows; a flow that sends nothing for `gap` has paused.
    pub(super) fn new(gap: Span) -> Flowlets<T> {
        Flowlets { gap, flows: BTreeMap::new(), forget_at: MIN_FLOWS }
    }

    /// Returns the last choice for the flow of this packet.
    pub(super) fn last(&self, now: Instant, packet: &Packet) -> Last<T> {
        match self.flows.get(&flow(packet)) {
            Some((until, choice)) if now < *until => Last::Flowlet(*choice),
            Some((_, choice)) => Last::Paused(*choice),
            None => Last::None,
        }
    }

    /// Records the choice for this packet, and for packets that follow it without a pause.
    pub(super) fn choose(&mut self, now: Instant, packet: &Packet, choice: T) {
        if self.flows.len() >= self.forget_at {
            self.flows.retain(|_, (until, _)| *until > now);
            self.forget_at = (2 * self.flows.len()).max(MIN_FLOWS);
        }
        self.flows.insert(flow(packet), (now.saturating_add(self.gap), choice));
    }
}

/// The flow of a packet: its connection and its direction.
fn flow(packet: &Packet) -> (Incarnation, bool) {
    (Incarnation::of(packet), packet.flags.has(Flags::ACK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::ConnectionId;

    #[test]
    fn a_flowlet_ends_with_a_pause_and_what_has_paused_is_forgotten() {
        let packet = |connection| Packet { connection: ConnectionId(connection), ..Packet::BLANK };
        let at = Instant::from_micros;
        let mut flowlets = Flowlets::new(Span::from_micros(50));
        assert_eq!(flowlets.last(at(0), &packet(0)), Last::None);
        flowlets.choose(at(0), &packet(0), 7);
        assert_eq!(flowlets.last(at(49), &packet(0)), Last::Flowlet(7));
        assert_eq!(flowlets.last(at(50), &packet(0)), Last::Paused(7));
        let back = Packet { flags: Flags::ACK, ..packet(0) };
        assert_eq!(flowlets.last(at(0), &back), Last::None, "the other direction is a flow of its own");
        (0..5000).for_each(|connection| flowlets.choose(at(10_000 + u64::from(connection)), &packet(connection), 1));
        assert!(flowlets.flows.len() <= 2 * MIN_FLOWS, "{}", flowlets.flows.len());
    }
}
