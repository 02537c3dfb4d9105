//! The common part of controllers that use the round-trip time of each acknowledgement: defaults that follow from the
//! path, and their common signal.

use units::{Default, Key, Kind, Range, Span};

use crate::Signal;

/// The last sample of the round-trip time.
pub(super) const DELAY: Signal = Signal {
    name: "delay",
    help: "the round-trip time of the last packet that was acknowledged (swift, timely, nscc)",
    unit: "us",
};

/// Shared parameters with other defaults.
pub(super) const KEYS: &[Key] = &[Key {
    name: "ack_every",
    kind: Kind::Count,
    default: Default::Is("1"),
    range: Range::between(1.0, 64.0),
    help: "data packets per ACK; an ACK that is held back would count as delay of the network",
    source: "Swift 3.3, TIMELY 3.1 and UE 1.0, 3.6.13.1: the time that the receiver takes is no part of the sample",
}];

/// Returns a multiple of a time, at least a picosecond.
pub(super) fn times(time: Span, factor: f64) -> Span {
    Span::from_ps_f64(time.0 as f64 * factor).max(Span(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_picosecond_is_one() {
        assert_eq!(times(Span(1), 0.1), Span(1));
        assert_eq!(times(Span(1), 0.0), Span(1));
    }
}
