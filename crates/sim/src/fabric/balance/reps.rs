//! `reps`: paths whose packets were acknowledged without a mark are used again (recycled entropies).

use std::collections::VecDeque;

use units::{Default, Instant, Key, Kind, Range, Values};

use super::spray::Turns;
use super::{Balancer, Chooser, Descriptor, Draws, Sprays};

/// The balancer of recycled entropies.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "reps",
    help: "each packet takes one whose last packet was acknowledged without a mark, each acknowledgement once, else another \
           as with spray",
    keys: KEYS,
    chooser: Chooser::Hosts(balancer),
    listens: true,
    sprays: Sprays::AtHosts,
};

const KEYS: &[Key] = &[Key {
    name: "reps_buffer",
    kind: Kind::Count,
    default: Default::Is("8"),
    range: Range::between(1.0, 1024.0),
    help: "with balance = \"reps\": how many paths a connection remembers as good, the oldest of which it forgets",
    source: "REPS 3.2: a circular buffer of 8",
}];

fn balancer(values: &Values) -> Box<dyn Balancer> {
    Box::new(Reps { good: VecDeque::new(), most: values.count("reps_buffer") as usize, others: Turns::default() })
}

struct Reps {
    /// Paths without marks, the oldest first.
    good: VecDeque<u32>,
    most: usize,
    others: Turns,
}

impl Balancer for Reps {
    fn next(&mut self, now: Instant, paths: u32, draws: &mut Draws) -> u32 {
        while let Some(path) = self.good.pop_front() {
            if path < paths {
                return path;
            }
        }
        self.others.next(now, paths, draws)
    }

    fn unmarked(&mut self, path: u32) {
        if self.good.len() == self.most {
            self.good.pop_front();
        }
        self.good.push_back(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmarked_paths_are_used_once_each_the_oldest_first() {
        let mut reps = Reps { good: VecDeque::new(), most: 2, others: Turns::default() };
        let mut draws = Draws::of(1);
        [5, 7, 8].into_iter().for_each(|path| reps.unmarked(path));
        // Two are remembered: 5 is the oldest.
        let taken: Vec<u32> = (0..2).map(|_| reps.next(Instant::ZERO, 16, &mut draws)).collect();
        assert_eq!(taken, [7, 8]);
        // Then each path in turn.
        let mut others: Vec<u32> = (0..16).map(|_| reps.next(Instant::ZERO, 16, &mut draws)).collect();
        others.sort_unstable();
        assert_eq!(others, (0..16).collect::<Vec<_>>());
        reps.unmarked(9);
        assert!(reps.next(Instant::ZERO, 4, &mut draws) < 4, "a path that is gone");
        reps.unmarked(4);
        assert!(reps.next(Instant::ZERO, 4, &mut draws) < 4, "paths count from 0");
    }
}
