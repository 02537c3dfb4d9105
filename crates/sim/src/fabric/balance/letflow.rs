//! `letflow`: each switch lets a flow change its link after a pause, and draws the next at random.

use units::Values;

use super::flowlets::{Flowlets, Last};
use super::{Chooser, Descriptor, Draws, Hop, Sprays, SwitchBalancer};

/// The balancer of flowlets, at switches.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "letflow",
    help: "as flowlet, but each switch chooses the next link, so that flowlets are as short as queues let them be there",
    keys: &[],
    chooser: Chooser::Switches(balancer),
    listens: false,
    sprays: Sprays::Nowhere,
};

fn balancer(values: &Values) -> Box<dyn SwitchBalancer> {
    Box::new(LetFlow(Flowlets::new(values.time("flowlet_gap"))))
}

struct LetFlow(Flowlets<usize>);

impl SwitchBalancer for LetFlow {
    fn next(&mut self, hop: &Hop, draws: &mut Draws) -> usize {
        let index = match self.0.last(hop.now, hop.packet) {
            Last::Flowlet(index) if index < hop.links.len() => index,
            _ => draws.below(hop.links.len() as u32) as usize,
        };
        self.0.choose(hop.now, hop.packet, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::hop;
    use super::*;
    use units::{Instant, Span};

    #[test]
    fn a_link_that_is_gone_is_taken_no_more() {
        let (mut switch, mut draws) = (LetFlow(Flowlets::new(Span::from_micros(50))), Draws::of(3));
        let mut at = |links: usize| switch.next(&hop(Instant::ZERO, &vec![Span::ZERO; links]), &mut draws);
        let first = at(64);
        assert!(first > 0 && at(first) < first);
    }

    #[test]
    fn only_a_pause_changes_the_link() {
        let (mut switch, mut draws) = (LetFlow(Flowlets::new(Span::from_micros(50))), Draws::of(3));
        let mut at = |now: u64| switch.next(&hop(Instant::from_micros(now), &[Span::ZERO; 64]), &mut draws);
        let first = at(0);
        assert!((1..100).all(|i| at(49 * i) == first));
        // The chance of the same one each time is 1/64.
        let later: Vec<usize> = (1..10).map(|i| at(49 * 99 + 50 * i)).collect();
        assert!(later.iter().filter(|index| **index == first).count() < 3);
    }
}
