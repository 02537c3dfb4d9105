//! `spray`: each packet takes another path, whatever the network's state (oblivious packet spraying).
//!
//! A connection uses each path once before it uses one again, in an order that is drawn anew each time. So no path has
//! more than its share, and two connections do not keep meeting each other.

use units::{Instant, Values};

use super::{Balancer, Chooser, Descriptor, Draws, Sprays};

/// The balancer of sprayed packets.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "spray",
    help: "each packet takes another one, each path once in turn, in an order that is drawn anew each time",
    keys: &[],
    chooser: Chooser::Hosts(balancer),
    listens: false,
    sprays: Sprays::AtHosts,
};

fn balancer(_: &Values) -> Box<dyn Balancer> {
    Box::new(Turns::default())
}

/// Turns through all paths.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turns {
    /// Path of the last packet, and the distance to the next in this turn.
    last: u32,
    step: u32,
    /// Packets left in this turn.
    left: u32,
}

impl Balancer for Turns {
    fn next(&mut self, _: Instant, paths: u32, draws: &mut Draws) -> u32 {
        if self.left == 0 || self.last >= paths {
            self.left = paths;
            self.last = draws.below(paths);
            // A distance without a common divisor meets each path once.
            self.step = loop {
                let step = 1 + draws.below(paths.max(2) - 1);
                if gcd(step, paths) == 1 {
                    break step;
                }
            };
        }
        self.left -= 1;
        self.last = (self.last + self.step) % paths;
        self.last
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_taken_once_in_each_turn_and_orders_differ() {
        for paths in [1, 2, 3, 4, 12, 16, 127, 128] {
            let (mut turns, mut draws) = (Turns::default(), Draws::of(1));
            let mut orders = Vec::new();
            for _ in 0..20 {
                let order: Vec<u32> = (0..paths).map(|_| turns.next(Instant::ZERO, paths, &mut draws)).collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..paths).collect::<Vec<_>>());
                orders.push(order);
            }
            orders.sort();
            orders.dedup();
            assert!(orders.len() as u32 >= paths.min(10), "{paths}: {}", orders.len());
        }
    }

    #[test]
    fn turns_have_all_distances_without_a_common_divisor() {
        for (paths, distances) in [(2, vec![1]), (3, vec![1, 2]), (8, vec![1, 3, 5, 7])] {
            let (mut turns, mut draws) = (Turns::default(), Draws::of(1));
            let mut found = std::collections::BTreeSet::new();
            for _ in 0..100 {
                let order: Vec<u32> = (0..paths).map(|_| turns.next(Instant::ZERO, paths, &mut draws)).collect();
                found.insert((paths + order[1] - order[0]) % paths);
            }
            // One is missed with 4 x (3/4)^100.
            assert_eq!(found.into_iter().collect::<Vec<_>>(), distances);
        }
    }

    #[test]
    fn fewer_paths_than_before_are_met() {
        let (mut turns, mut draws) = (Turns::default(), Draws::of(1));
        (0..5).for_each(|_| _ = turns.next(Instant::ZERO, 16, &mut draws));
        assert!((0..50).all(|_| turns.next(Instant::ZERO, 3, &mut draws) < 3));
    }
}
