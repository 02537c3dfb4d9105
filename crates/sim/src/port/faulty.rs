//! What faults do to a port.

use transport::Packet;
use units::{Bytes, Instant};

use super::Port;
use super::level::Level;

impl Port {
    /// When the first packet on the wire arrives at the other end.
    pub fn first_arrival(&self) -> Option<Instant> {
        (!self.ring.is_empty()).then(|| self.ring.at(self.ring.head()).at)
    }

    /// Gives up everything that is on the wire, then everything that waits. The port, which must have been let catch up
    /// with the present, is free at once, and counts what has not been transmitted to its end as never sent.
    pub fn flush(&mut self, now: Instant) -> Vec<Packet> {
        self.catch_up(now);
        for position in (self.ring.head()..self.ring.tail()).rev() {
            if self.busy_until <= now {
                break;
            }
            let size = u64::from(self.ring.at(position).packet.size);
            self.busy_until = self.busy_until.earlier_by(self.transmission.of(Bytes(size)));
            self.packets -= 1;
            self.bytes -= size;
        }
        // Where nothing is on the wire, nothing is in transmission.
        self.busy_until = self.busy_until.min(now);
        let mut lost: Vec<Packet> = self.ring.iter().map(|slot| slot.packet).collect();
        while !self.ring.is_empty() {
            self.ring.pop();
        }
        self.ring.rewind();
        (self.waiting, self.next_start) = (0, Instant::MAX);
        if self.choice().is_none() {
            self.waiting_bytes = 0;
        }
        while let Some(packet) = self.drop_waiting(now) {
            lost.push(packet);
        }
        lost
    }

    /// The port marks nothing any more; gives what [`resume_marks`](Port::resume_marks) needs.
    pub fn stop_marks(&mut self) -> Level {
        if self.choice().is_some() {
            self.choice_mut().unheard = true;
        }
        let threshold = Level { value: self.mark_above, in_bytes: self.marks_by_bytes };
        (self.mark_above, self.marks_by_bytes) = (Level::INFINITE.value, Level::INFINITE.in_bytes);
        threshold
    }

    /// The port marks again.
    pub fn resume_marks(&mut self, threshold: Level) {
        if self.choice().is_some() {
            self.choice_mut().unheard = false;
        }
        (self.mark_above, self.marks_by_bytes) = (threshold.value, threshold.in_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{Fate, Place};
    use transport::Flags;
    use units::{Rate, Span};

    /// 1 Gbps: a full packet takes 12 us, and 20 us to the other end.
    #[test]
    fn a_flushed_port_is_free_at_once() {
        let at = Instant::from_micros;
        let packet = |seq| Packet::data(seq, 1460, 40, Instant::ZERO, Flags::ECT);
        let mut port = Port::new(Rate::from_gbps(1), Span::from_micros(20), Place::SwitchToHost).limited(
            Level::INFINITE,
            Level::INFINITE,
            false,
        );
        (0..5).for_each(|seq| _ = port.offer(at(0), &packet(seq)));
        assert_eq!(port.first_arrival(), Some(at(32)));
        // At 30 us two have left, the third is in transmission until 36 us, two wait.
        port.settle(at(30));
        assert_eq!((port.waiting(), port.packets), (2, 5));
        assert_eq!(port.flush(at(30)).len(), 5);
        assert_eq!((port.waiting(), port.waiting_bytes(), port.packets, port.bytes), (0, 0, 2, 3000));
        assert!(port.is_idle(at(30)));
        assert_eq!((port.sent_for(at(30)), port.first_arrival()), (Span::from_micros(24), None));
        // The queue of one from 12 to 24 us and so on: 4, 3, 2 waited for 12, 12 and 6 us, and nothing since.
        port.catch_up(at(100));
        assert_eq!(port.watch().levels[..4], [0, 6, 12, 12].map(|micros: u64| micros * 1_000_000));
        assert_eq!(port.offer(at(34), &packet(5)), Fate::First(at(34 + 12 + 20)));
        assert_eq!(port.offer(at(35), &packet(6)), Fate::Queued);
        assert_eq!((port.waiting(), port.waiting_bytes()), (1, 1500));
        port.settle(at(46));
        assert_eq!((port.waiting(), port.waiting_bytes()), (0, 0));
    }

    #[test]
    fn a_port_that_stopped_marking_marks_again_as_before() {
        let mut port = Port::new(Rate::from_gbps(1), Span::from_micros(20), Place::SwitchToHost).limited(
            Level::INFINITE,
            Level { value: 0, in_bytes: false },
            false,
        );
        let marks = |stopped: bool, port: &mut Port| {
            let threshold = stopped.then(|| port.stop_marks());
            (0..3).for_each(|_| _ = port.offer(Instant::ZERO, &Packet::data(0, 1460, 40, Instant::ZERO, Flags::ECT)));
            threshold.into_iter().for_each(|threshold| port.resume_marks(threshold));
            port.watch().marks
        };
        let (first, second, third) = (marks(false, &mut port), marks(true, &mut port), marks(false, &mut port));
        assert_eq!((first, second, third), (3, 3, 6));
    }
}
