//! `flowlet`: a flow changes its path after a pause that is longer than paths differ, so that nothing is overtaken.

use units::{Default, Instant, Key, Kind, Range, Span, Values};

use super::{Balancer, Chooser, Descriptor, Draws, Sprays};

/// The balancer of flowlets, at hosts.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "flowlet",
    help: "after a pause of flowlet_gap a flow takes one drawn at random, and stays there until the next pause",
    keys: KEYS,
    chooser: Chooser::Hosts(balancer),
    listens: false,
    sprays: Sprays::Nowhere,
};

const KEYS: &[Key] = &[Key {
    name: "flowlet_gap",
    kind: Kind::Time,
    default: Default::Is("50 us"),
    range: Range::POSITIVE,
    help: "with balance = \"flowlet\" or \"letflow\": a pause in a flow after which it may take another path",
    source: "LetFlow (NSDI 2017) 3: above the difference of paths' delays; ConWeave's simulator has 100 us",
}];

fn balancer(values: &Values) -> Box<dyn Balancer> {
    Box::new(Flowlet { gap: values.time("flowlet_gap"), until: None, path: 0 })
}

struct Flowlet {
    gap: Span,
    /// The time from which another path may be taken.
    until: Option<Instant>,
    path: u32,
}

impl Balancer for Flowlet {
    fn next(&mut self, now: Instant, paths: u32, draws: &mut Draws) -> u32 {
        if self.path >= paths || self.until.is_none_or(|until| now >= until) {
            self.path = draws.below(paths);
        }
        self.until = Some(now.saturating_add(self.gap));
        self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pause_changes_the_path() {
        let (mut flowlet, mut draws) = (Flowlet { gap: Span::from_micros(50), until: None, path: 0 }, Draws::of(3));
        let mut at = |now: u64| flowlet.next(Instant::from_micros(now), 64, &mut draws);
        let first = at(0);
        let mut fewer = (Flowlet { gap: Span::from_micros(50), until: None, path: 0 }, Draws::of(3));
        assert_eq!(fewer.0.next(Instant::ZERO, 64, &mut fewer.1), first);
        assert!(fewer.0.next(Instant::ZERO, first, &mut fewer.1) < first, "the path is gone");
        // 49 us after the last each time.
        assert!((1..100).all(|i| at(49 * i) == first));
        // 50 us after the last: the chance of the same one each time is 1/64.
        let later: Vec<u32> = (1..10).map(|i| at(49 * 99 + 50 * i)).collect();
        assert!(
            later.iter().filter(|path| **path == first).count() < 3 && later.windows(2).any(|two| two[0] != two[1])
        );
    }
}
