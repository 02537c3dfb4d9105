//! What waits at a port that otherwise keeps no count of it.

use std::collections::VecDeque;

use units::Instant;

/// Packets at a host's port, where agents ask how much waits.
#[derive(Default)]
pub struct Backlog {
    /// When each begins its transmission, and its wire bytes: those that wait, and perhaps some that have begun since the
    /// last look.
    packets: VecDeque<(Instant, u64)>,
    /// Those of all.
    bytes: u64,
}

impl Backlog {
    /// A packet of so many wire bytes has come, which begins its transmission then.
    pub fn add(&mut self, now: Instant, start: Instant, size: u64) {
        self.settle(now);
        self.packets.push_back((start, size));
        self.bytes += size;
    }

    /// Wire bytes that wait.
    pub fn bytes(&mut self, now: Instant) -> u64 {
        self.settle(now);
        self.bytes
    }

    /// Nothing waits any more.
    pub fn clear(&mut self) {
        *self = Backlog::default();
    }

    fn settle(&mut self, now: Instant) {
        while let Some(&(start, size)) = self.packets.front()
            && start <= now
        {
            self.packets.pop_front();
            self.bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_begun_by_now_waits_no_more() {
        let mut backlog = Backlog::default();
        assert_eq!(backlog.bytes(Instant(5)), 0);
        for (start, size) in [(5, 1500), (17, 500), (21, 1500), (21, 0), (33, 40)] {
            backlog.add(Instant(5), Instant(start), size);
        }
        for (now, bytes) in [(5, 2040), (16, 2040), (17, 1540), (20, 1540), (21, 40), (32, 40)] {
            assert_eq!(backlog.bytes(Instant(now)), bytes, "{now} ps");
        }
        backlog.add(Instant(33), Instant(34), 100);
        assert_eq!((backlog.bytes(Instant(33)), backlog.packets.len()), (100, 1));
        backlog.clear();
        assert_eq!(backlog.bytes(Instant(33)), 0);
    }
}
