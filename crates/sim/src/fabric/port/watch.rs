//! The observations of a port.

use units::Instant;

/// The observations of a port. A host's port that is first in, first out has no limit, marks nothing, and keeps none.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    /// Number of dropped packets.
    pub drops: u64,
    /// Number of marked packets.
    pub marks: u64,
    /// Largest number of packets queued at once since the warm-up.
    pub max_waiting: u64,
    /// Time spent with 1, 2, ... queued packets since the warm-up, in ps.
    pub levels: Vec<u64>,
    /// Time until which `levels` is complete, while packets are queued.
    since: Instant,
}

impl Watch {
    /// Observations of a port at which nothing has happened.
    pub(crate) const NOTHING: &Watch =
        &Watch { drops: 0, marks: 0, max_waiting: 0, levels: Vec::new(), since: Instant::ZERO };

    /// Counts `waiting` queued packets until `now`.
    #[inline]
    pub(crate) fn stay(&mut self, waiting: u64, now: Instant) {
        if waiting > 0 {
            let (level, time) = (waiting as usize - 1, (now - self.since).0);
            match self.levels.get_mut(level) {
                Some(spent) => *spent += time,
                None => self.first_stay(level, time),
            }
        }
        self.since = now;
    }

    #[cold]
    fn first_stay(&mut self, level: usize, time: u64) {
        self.levels.resize((level + 1).next_power_of_two().max(8), 0);
        self.levels[level] = time;
    }

    /// Begins the distribution of queued packets anew, at the end of the warm-up with `waiting` of them.
    pub(crate) fn warmed_up(&mut self, waiting: u64) {
        self.max_waiting = waiting;
        self.levels.fill(0);
    }
}
