//! `threshold`: the queue with the arriving packet is longer than K (DCTCP 3.1).

use transport::Packet;
use units::Instant;

use super::{Descriptor, Marker, Site, unchecked};
use crate::fabric::level::{Length, Level};

/// Marking on arrival above a threshold.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "threshold",
    help: "an arriving packet is marked when the queue with it exceeds `mark`",
    keys: &[],
    check: unchecked,
    marker: |_, site: &Site| Box::new(Threshold { above: site.mark }),
    built_in: true,
};

/// Marks packets whose arrival makes the queue longer than a threshold.
#[derive(Clone, Copy)]
pub(crate) struct Threshold {
    /// The marking threshold K.
    pub above: Level,
}

impl Marker for Threshold {
    #[inline(always)]
    fn arrives(&mut self, _packet: &Packet, with_it: Length, _now: Instant) -> bool {
        self.above.exceeded(with_it)
    }
}
