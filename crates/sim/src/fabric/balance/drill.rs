//! `drill`: each switch sends a packet to the shorter of two queues drawn at random and the one that was shortest last.

use std::collections::BTreeMap;

use units::{HostId, Values};

use super::{Chooser, Descriptor, Draws, Hop, Sprays, SwitchBalancer};

/// The balancer of the power of two choices, at switches.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "drill",
    help: "each switch sends a packet over the link with the shortest queue among two drawn at random and the best so far",
    keys: &[],
    chooser: Chooser::Switches(balancer),
    listens: false,
    sprays: Sprays::AtSwitches,
};

/// Queues that are drawn for a packet (d), beside the one that is remembered (m = 1): DRILL 3.2.4, DRILL(2, 1).
const DRAWN: usize = 2;

fn balancer(_: &Values) -> Box<dyn SwitchBalancer> {
    Box::new(Drill { best: BTreeMap::new() })
}

struct Drill {
    /// The index of the last choice, by destination.
    best: BTreeMap<HostId, usize>,
}

impl SwitchBalancer for Drill {
    fn next(&mut self, hop: &Hop, draws: &mut Draws) -> usize {
        let queues = hop.queues;
        let best = self.best.get(&hop.to).copied().filter(|best| *best < queues.len());
        let drawn: [usize; DRAWN] = std::array::from_fn(|_| draws.below(queues.len() as u32) as usize);
        // Of equal ones, one that was drawn.
        let shortest = drawn.into_iter().chain(best).min_by_key(|index| queues[*index]).unwrap_or(0);
        self.best.insert(hop.to, shortest);
        shortest
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::hop;
    use super::*;
    use units::{Instant, Span};

    #[test]
    fn the_shortest_of_three_is_taken_and_remembered() {
        let (mut drill, mut draws) = (Drill { best: BTreeMap::new() }, Draws::of(1));
        let mut queues = [9, 9, 9, 0].map(Span);
        let mut next = |queues: &[Span]| drill.next(&hop(Instant::ZERO, queues), &mut draws);
        // Each time the empty queue is found with 1 - (3/4)^2 = 44 %; once found, it is remembered.
        let found: Vec<usize> = (0..30).map(|_| next(&queues)).collect();
        let first = found.iter().position(|index| *index == 3).expect("missed with 3e-8");
        assert!(found[first..].iter().all(|index| *index == 3));
        // It is left for a shorter one, and where it is no more.
        assert!((0..30).all(|_| next(&queues[..3]) < 3));
        queues[3] = Span(10);
        assert!((0..30).map(|_| next(&queues)).last() != Some(3));
    }
}
