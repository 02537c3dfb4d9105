//! The governor: chooses whether threads run together or one thread advances all partitions, by their measured speed.

use std::time::Duration;

/// The measured speed of both ways. No result depends on it.
#[derive(Default)]
pub(super) struct Governor {
    /// Nanoseconds per event of the most recent slices, the latest first, by way: alone, together.
    costs: [[Option<f64>; Governor::KEPT]; 2],
    /// Events until the slower way is tried again, and the last such interval.
    left: u64,
    patience: u64,
}

impl Governor {
    /// Initial number of events before the slower way is tried again. It is doubled each time that this way is still
    /// slower, because a try takes time: at first one part in sixteen of the processed events.
    const PATIENCE: u64 = 1 << 19;
    /// Factor for `PATIENCE` if the slower way took at least `CLEARLY` times as long. It will hardly be the faster one
    /// soon, and a try moves data from one thread's caches into another's. The governor notices without a try when the
    /// faster way has become slower.
    const SURE: u64 = 8;
    const CLEARLY: f64 = 1.2;
    const LONGEST: u64 = 1 << 28;
    /// Number of recent measurements, the minimum of which counts: other work on the machine only makes an event take
    /// longer, so one disturbed measurement changes nothing.
    const KEPT: usize = 3;
    /// Number of events of a try.
    pub(super) const TRY: u64 = 1 << 15;

    /// Returns whether threads run together in the next slice.
    pub(super) fn together(&self) -> bool {
        match self.faster() {
            None => self.cost(false).is_some(),
            Some(together) => together != (self.left == 0),
        }
    }

    /// Returns the maximum number of events of the next slice.
    pub(super) fn next(&self) -> u64 {
        if self.tries() { Governor::TRY } else { self.left }
    }

    /// Returns whether the next slice is a try.
    fn tries(&self) -> bool {
        self.faster().is_none() || self.left == 0
    }

    /// Records the duration of a slice of `events` events.
    pub(super) fn saw(&mut self, together: bool, events: u64, took: Duration) {
        let (was_faster, tried) = (self.faster(), self.tries());
        let costs = &mut self.costs[usize::from(together)];
        costs.rotate_right(1);
        costs[0] = Some(took.as_nanos() as f64 / events.max(1) as f64);
        self.left = self.left.saturating_sub(events);
        if tried {
            let same = was_faster.is_some() && was_faster == self.faster();
            let first = Governor::PATIENCE * if self.is_clear() { Governor::SURE } else { 1 };
            self.patience = if same { (self.patience * 2).min(Governor::LONGEST) } else { first };
            self.left = self.patience;
        }
    }

    /// Returns the time per event, once there are two measurements: a thread that begins has nothing in its caches, and
    /// may have to share a core for a while.
    fn cost(&self, together: bool) -> Option<f64> {
        let costs = &self.costs[usize::from(together)];
        costs[1].and(costs.iter().copied().flatten().min_by(f64::total_cmp))
    }

    /// Returns whether one way is clearly faster.
    fn is_clear(&self) -> bool {
        let (Some(alone), Some(together)) = (self.cost(false), self.cost(true)) else { return false };
        alone.max(together) >= Governor::CLEARLY * alone.min(together)
    }

    /// Returns whether running together is faster, once both ways are measured.
    fn faster(&self) -> Option<bool> {
        Some(self.cost(true)? < self.cost(false)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of events that are processed together, given nanoseconds per event alone and together.
    fn share(alone: u64, together: impl Fn(u64) -> u64) -> f64 {
        let (mut governor, mut events, mut so) = (Governor::default(), 0, 0);
        while events < 1 << 24 {
            let (way, slice) = (governor.together(), governor.next().min(1 << 17));
            let cost = if way { together(events) } else { alone };
            governor.saw(way, slice, Duration::from_nanos(cost * slice));
            events += slice;
            so += if way { slice } else { 0 };
        }
        so as f64 / events as f64
    }

    #[test]
    fn the_faster_way_is_taken_but_for_a_few_tries() {
        assert!(share(50, |_| 30) > 0.98);
        assert!(share(50, |_| 60) < 0.02);
    }

    /// The slow start of threads does not count as their speed.
    #[test]
    fn the_first_time_does_not_decide() {
        assert!(share(50, |events| if events < 3 * Governor::TRY { 150 } else { 30 }) > 0.98);
    }

    /// Tries follow, whatever the work, after half a million events, twice as many, and so on; after four million where
    /// one way is clearly faster.
    #[test]
    fn the_slower_way_is_tried_again_when_it_is_time() {
        for (alone, times) in [(35, &[1, 3, 7, 15, 31][..]), (36, &[8, 24])] {
            let (mut governor, mut events, mut tries) = (Governor::default(), 0, Vec::new());
            while events < 1 << 24 {
                let (way, slice) = (governor.together(), governor.next());
                if !way && events > 4 * Governor::TRY {
                    tries.push(events >> 19);
                }
                governor.saw(way, slice, Duration::from_nanos(if way { 30 } else { alone } * slice));
                events += slice;
            }
            assert_eq!(tries, times);
        }
    }

    #[test]
    fn a_time_that_was_disturbed_changes_nothing() {
        let mut governor = Governor::default();
        let mut together = 0;
        for slice in 0..1000 {
            let way = governor.together();
            // One of ten takes ten times as long.
            let cost = if way { 30 } else { 50 } * if slice % 10 == 7 { 10 } else { 1 };
            governor.saw(way, Governor::TRY, Duration::from_nanos(cost * Governor::TRY));
            together += u32::from(way);
        }
        assert!(together > 970, "{together}");
    }

    #[test]
    fn what_becomes_slower_is_left_and_what_becomes_faster_is_found() {
        assert!((0.4..0.6).contains(&share(50, |events| if events < 1 << 23 { 30 } else { 80 })));
        assert!(share(50, |events| if events < 1 << 21 { 80 } else { 30 }) > 0.7);
    }
}
