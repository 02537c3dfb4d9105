//! The effects of faults on a port.

use transport::Packet;
use units::{Bytes, Instant};

use super::Port;
use crate::fabric::level::Level;
use crate::fabric::packet_pool::{NONE, PacketPool};

impl Port {
    /// Returns the arrival time of the first packet on the wire at the other end.
    pub(crate) fn first_arrival(&self, packet_pool: &PacketPool) -> Option<Instant> {
        self.line.iter(packet_pool).next().map(|slot| slot.at)
    }

    /// Removes all packets on the wire, then all queued packets. The port must have caught up with the present. It is
    /// idle at once; packets not transmitted to their end are not counted as sent.
    pub(crate) fn flush(&mut self, packet_pool: &mut PacketPool, now: Instant) -> Vec<Packet> {
        self.catch_up(now);
        let mut lost: Vec<Packet> = self.line.iter(packet_pool).map(|slot| slot.packet).collect();
        for packet in lost.iter().rev() {
            if self.busy_until <= now {
                break;
            }
            let size = u64::from(packet.size);
            self.busy_until = self.busy_until.earlier_by(self.transmission.of(Bytes(size)));
            self.packets -= 1;
            self.bytes -= size;
        }
        // Where nothing is on the wire, nothing is in transmission.
        self.busy_until = self.busy_until.min(now);
        self.drop_until(packet_pool, NONE);
        (self.waiting, self.next_start) = (NONE, Instant::MAX);
        if self.choice().is_none() {
            (self.waiting_packets, self.waiting_bytes) = (0, 0);
        }
        if let Some(cold) = &mut self.cold {
            cold.backlog.clear();
        }
        while let Some(packet) = self.drop_waiting(now) {
            lost.push(packet);
        }
        lost
    }

    /// Stops all marking; returns the threshold that [`resume_marks`](Port::resume_marks) needs.
    pub(crate) fn stop_marks(&mut self) -> Level {
        if self.choice().is_some() {
            self.qdisc_mut().unheard = true;
        }
        let threshold = self.mark_above();
        self.marks_above(Level::INFINITE);
        threshold
    }

    /// Resumes marking above `threshold`.
    pub(crate) fn resume_marks(&mut self, threshold: Level) {
        if self.choice().is_some() {
            self.qdisc_mut().unheard = false;
        }
        self.marks_above(threshold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::port::tests::Alone;
    use crate::fabric::port::{Fate, LinkRole};
    use transport::Flags;
    use units::{Rate, Span};

    /// 1 Gbps: a full packet takes 12 us, and 20 us to the other end.
    fn limited(mark: Level) -> Alone {
        let port = Port::new(Rate::from_gbps(1), Span::from_micros(20), LinkRole::SwitchToHost);
        Alone::new(port.limited(Level::INFINITE, mark, false))
    }

    #[test]
    fn a_flushed_port_is_free_at_once() {
        let at = Instant::from_micros;
        let packet = |seq| Packet::data(seq, 1460, 40, Instant::ZERO, Flags::ECT);
        let mut port = limited(Level::INFINITE);
        (0..5).for_each(|seq| _ = port.offer(at(0), &packet(seq)));
        assert_eq!(port.first_arrival(), Some(at(32)));
        // At 30 us two have left, the third is in transmission until 36 us, two wait.
        port.advance_to(at(30));
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
        port.advance_to(at(46));
        assert_eq!((port.waiting(), port.waiting_bytes()), (0, 0));
    }

    /// Of three packets one is in transmission and one has arrived after 32 us.
    #[test]
    fn nothing_waits_at_a_flushed_port_that_counts() {
        let packet = Packet::data(0, 1460, 40, Instant::ZERO, Flags::NONE);
        let mut nic = Alone::new(Port::new(Rate::from_gbps(1), Span::from_micros(20), LinkRole::HostToSwitch));
        for _ in 0..4 {
            nic.transmit(Instant::ZERO, |_| Span::ZERO, packet);
        }
        nic.take();
        assert_eq!(nic.backlog(Instant::from_micros(32)), 1500);
        assert_eq!(nic.flush(Instant::from_micros(32)).len(), 3);
        assert_eq!((nic.backlog(Instant::from_micros(32)), nic.packets), (0, 2));
    }

    #[test]
    fn a_port_that_stopped_marking_marks_again_as_before() {
        let mut port = limited(Level { value: 0, in_bytes: false });
        let marks = |stopped: bool, port: &mut Alone| {
            let threshold = stopped.then(|| port.stop_marks());
            (0..3).for_each(|_| _ = port.offer(Instant::ZERO, &Packet::data(0, 1460, 40, Instant::ZERO, Flags::ECT)));
            threshold.into_iter().for_each(|threshold| port.resume_marks(threshold));
            port.watch().marks
        };
        let (first, second, third) = (marks(false, &mut port), marks(true, &mut port), marks(false, &mut port));
        assert_eq!((first, second, third), (3, 3, 6));
    }
}
