//! The queue of a host's port that is first in, first out.

use std::collections::VecDeque;

use units::Instant;

use super::Watch;

/// The packets queued at a host's port. The start of a packet's transmission is known when it is sent, so packets are
/// counted only when one is added or the port is examined.
#[derive(Default)]
pub(super) struct Backlog {
    /// The start of transmission and the wire bytes of each queued packet, and perhaps of some whose transmission has
    /// begun since the last examination.
    packets: VecDeque<(Instant, u64)>,
    /// Wire bytes of all of them.
    bytes: u64,
}

impl Backlog {
    /// Adds a packet that begins its transmission at `start` and has `size` wire bytes.
    #[inline(always)]
    pub(super) fn add(&mut self, watch: &mut Watch, now: Instant, start: Instant, size: u64) {
        self.advance_to(watch, now);
        watch.stay(self.packets(), now);
        self.packets.push_back((start, size));
        self.bytes += size;
        watch.max_waiting = watch.max_waiting.max(self.packets());
    }

    /// Returns the queued wire bytes.
    pub(super) fn bytes(&mut self, watch: &mut Watch, now: Instant) -> u64 {
        self.advance_to(watch, now);
        self.bytes
    }

    /// Returns the number of queued packets, as of the last examination.
    pub(super) fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Removes all packets: they were lost.
    pub(super) fn clear(&mut self) {
        *self = Backlog::default();
    }

    /// Removes the packets that have begun their transmission by `now`.
    pub(super) fn advance_to(&mut self, watch: &mut Watch, now: Instant) {
        while let Some(&(start, size)) = self.packets.front()
            && start <= now
        {
            watch.stay(self.packets(), start);
            self.packets.pop_front();
            self.bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_wait_until_their_transmission_begins() {
        let (mut backlog, mut watch) = (Backlog::default(), Watch::default());
        assert_eq!(backlog.bytes(&mut watch, Instant(5)), 0);
        for (start, size) in [(5, 1500), (17, 500), (21, 1500), (21, 0), (33, 40)] {
            backlog.add(&mut watch, Instant(5), Instant(start), size);
        }
        for (now, bytes) in [(5, 2040), (16, 2040), (17, 1540), (20, 1540), (21, 40), (32, 40)] {
            assert_eq!(backlog.bytes(&mut watch, Instant(now)), bytes, "{now} ps");
        }
        backlog.add(&mut watch, Instant(33), Instant(34), 100);
        assert_eq!((backlog.bytes(&mut watch, Instant(33)), backlog.packets.len()), (100, 1));
        // Four waited from 5 to 17 ps, three until 21, one until 33. The one from 5 to 5 waited for no time.
        assert_eq!(watch.levels[..5], [12, 0, 4, 12, 0]);
        assert_eq!(watch.max_waiting, 4);
        backlog.clear();
        assert_eq!(backlog.bytes(&mut watch, Instant(33)), 0);
    }
}
