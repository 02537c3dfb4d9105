//! `threshold`: the queue is longer than K (DCTCP 3.1).

use transport::Packet;
use units::Instant;

use super::{Descriptor, Marker, Site, unchecked};
use crate::fabric::level::{Length, Level};

/// Marking above a threshold.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "threshold",
    help: "a packet is marked when the queue exceeds `mark`, see `mark_at`",
    keys: &[],
    check: unchecked,
    marker: |_, site: &Site| Box::new(Threshold { above: site.mark }),
    built_in: true,
};

/// Marks packets where the queue is longer than a threshold.
#[derive(Clone, Copy)]
pub(crate) struct Threshold {
    /// The marking threshold K.
    pub above: Level,
}

impl Marker for Threshold {
    #[inline(always)]
    fn decides(&mut self, _packet: &Packet, queue: Length, _now: Instant) -> bool {
        self.above.exceeded(queue)
    }
}
