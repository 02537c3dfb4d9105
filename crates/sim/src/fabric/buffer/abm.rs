//! `abm`: dynamic thresholds over the congested queues of a class, by drain rate (Addanki et al., SIGCOMM 2022).

use std::collections::BTreeSet;

use units::LinkId;

use super::{ALPHA, Descriptor, Limits, MakeLimits, QueueState, Sharing};

/// The policy of active buffer management.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "abm",
    help: "a shared pool of which each queue may hold `dynamic_alpha` times the free part, divided by the congested queues \
           of its class at the switch, times its share of its link's rate",
    sharing: |values| {
        let make = MakeLimits(|alpha| Box::new(Abm { alpha, congested: BTreeSet::new() }));
        Sharing::Limited(values.number(ALPHA.name), make)
    },
};

/// The share of its limit from which a queue counts as congested ("close to its threshold" in the paper, 3.1).
const CLOSE: f64 = 0.9;

/// The limits of one switch's queues.
struct Abm {
    alpha: f64,
    /// The congested queues, by class and port, each as of its last change.
    congested: BTreeSet<(usize, LinkId)>,
}

impl Limits for Abm {
    fn limit(&self, queue: &QueueState, free: u64) -> u64 {
        let of_class = (queue.class, LinkId(0))..=(queue.class, LinkId(u32::MAX));
        let congested = self.congested.range(of_class).count().max(1);
        (self.alpha * free as f64 / congested as f64 * queue.drain) as u64
    }

    fn changed(&mut self, queue: &QueueState, free: u64) {
        let key = (queue.class, queue.port);
        if queue.length > 0 && queue.length as f64 >= CLOSE * self.limit(queue, free) as f64 {
            self.congested.insert(key);
        } else {
            self.congested.remove(&key);
        }
    }

    fn moves(&mut self, from: LinkId, to: LinkId) {
        let rename = |(class, port)| (class, if port == from { to } else { port });
        self.congested = std::mem::take(&mut self.congested).into_iter().map(rename).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(port: u32, class: usize, drain: f64, length: u64) -> QueueState {
        QueueState { port: LinkId(port), class, drain, length }
    }

    /// alpha (B - Q) / n times the share of the rate: 2 x 300 / 1, and so on.
    #[test]
    fn limits_are_those_of_the_formula() {
        let mut abm = Abm { alpha: 2.0, congested: BTreeSet::new() };
        assert_eq!(abm.limit(&queue(0, 0, 1.0, 0), 300), 600);
        assert_eq!(abm.limit(&queue(0, 0, 0.25, 0), 300), 150);
        // 539 of 600 are below nine tenths, 540 are not.
        abm.changed(&queue(0, 0, 1.0, 539), 300);
        assert!(abm.congested.is_empty());
        abm.changed(&queue(0, 0, 1.0, 540), 300);
        assert_eq!(abm.limit(&queue(0, 0, 1.0, 540), 300), 600, "the only congested queue");
        // A second one at another port halves the limits of that class, and of no other.
        abm.changed(&queue(1, 0, 1.0, 550), 300);
        assert_eq!(abm.limit(&queue(0, 0, 1.0, 540), 300), 300);
        assert_eq!(abm.limit(&queue(7, 0, 0.5, 0), 300), 150);
        assert_eq!(abm.limit(&queue(1, 1, 1.0, 0), 300), 600);
        // Of a third, 100 are 0.9 of its own limit of 2 x 300 / 2 x 0.37.
        abm.changed(&queue(2, 0, 0.37, 100), 300);
        assert_eq!(abm.limit(&queue(7, 0, 1.0, 0), 300), 200);
        abm.changed(&queue(2, 0, 0.37, 0), 300);
        abm.changed(&queue(1, 0, 1.0, 200), 300);
        assert_eq!(abm.limit(&queue(7, 0, 1.0, 0), 300), 600, "one is left");
    }

    #[test]
    fn a_full_buffer_leaves_no_room_and_an_empty_queue_is_never_congested() {
        let mut abm = Abm { alpha: 1.0, congested: BTreeSet::new() };
        assert_eq!(abm.limit(&queue(0, 0, 1.0, 0), 0), 0);
        abm.changed(&queue(0, 0, 1.0, 0), 0);
        assert!(abm.congested.is_empty());
        abm.changed(&queue(0, 0, 1.0, 1), 1);
        assert_eq!(abm.congested.len(), 1, "one packet of one");
    }

    #[test]
    fn a_congested_queue_keeps_its_port_when_that_moves() {
        let mut abm = Abm { alpha: 1.0, congested: BTreeSet::new() };
        abm.changed(&queue(3, 0, 1.0, 300), 300);
        abm.changed(&queue(4, 0, 1.0, 300), 300);
        abm.moves(LinkId(3), LinkId(5));
        assert_eq!(abm.limit(&queue(7, 0, 1.0, 0), 300), 150, "two, as before");
        abm.changed(&queue(4, 0, 1.0, 0), 300);
        abm.changed(&queue(5, 0, 1.0, 0), 300);
        assert!(abm.congested.is_empty());
    }
}
