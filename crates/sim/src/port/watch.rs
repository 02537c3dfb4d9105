//! What a port has seen.

use units::Instant;

/// What a port has seen. A host's port that is first in, first out has no limit and marks nothing, and keeps none.
#[derive(Clone, Default)]
pub struct Watch {
    /// Packets that were dropped.
    pub drops: u64,
    /// Packets that were marked.
    pub marks: u64,
    /// Most packets that waited at once since the warm-up.
    pub most_waiting: u64,
    /// Time spent with 1, 2, ... waiting packets since the warm-up, in ps.
    pub levels: Vec<u64>,
    /// Until when `levels` is complete, while something waits.
    since: Instant,
}

impl Watch {
    /// Nothing seen.
    pub const NOTHING: &Watch =
        &Watch { drops: 0, marks: 0, most_waiting: 0, levels: Vec::new(), since: Instant::ZERO };

    /// `waiting` packets have waited until `now`.
    #[inline]
    pub fn stay(&mut self, waiting: u64, now: Instant) {
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

    /// The warm-up ends when so many wait: begins the distribution of waiting packets anew.
    pub fn warmed_up(&mut self, waiting: u64) {
        self.most_waiting = waiting;
        self.levels.fill(0);
    }
}
