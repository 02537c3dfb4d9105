//! A switch's shared buffer with dynamic thresholds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Amount, Time};

use super::port::{Level, Port};

/// A buffer that the ports of one switch share: a port may hold up to `alpha` times what is free
/// (Choudhury and Hahne 1998).
pub struct Pool {
    capacity: Amount,
    alpha: f64,
    /// Packets and bytes that wait at all ports.
    packets: u64,
    bytes: u64,
    /// For each port at which something waits, when the first of it leaves.
    leaving: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Pool {
    /// An empty buffer.
    pub fn new(capacity: Amount, alpha: f64) -> Pool {
        Pool { capacity, alpha, packets: 0, bytes: 0, leaving: BinaryHeap::new() }
    }

    /// Lets every packet that has begun its transmission by `now` leave the buffer.
    pub fn settle(&mut self, now: Time, ports: &mut [Port]) {
        while let Some(&Reverse((at, index))) = self.leaving.peek()
            && at <= now
        {
            self.leaving.pop();
            let port = &mut ports[index as usize];
            let (packets, bytes) = (port.waiting(), port.waiting_bytes());
            port.settle(now);
            self.packets -= packets - port.waiting();
            self.bytes -= bytes - port.waiting_bytes();
            if port.waiting() > 0 {
                self.leaving.push(Reverse((port.next_start(), index)));
            }
        }
    }

    /// What the queue of `port` may grow to, as of the last [`settle`](Pool::settle).
    pub fn room(&self, port: &Port) -> Level {
        // Above alpha = 1 the free part itself is the limit.
        let threshold = |free: u64, waiting: u64| ((free as f64 * self.alpha) as u64).min(waiting + free);
        let (value, in_bytes) = match self.capacity {
            Amount::Packets(all) => (threshold(all.saturating_sub(self.packets), port.waiting()), false),
            Amount::Bytes(all) => (threshold(all.saturating_sub(self.bytes), port.waiting_bytes()), true),
        };
        Level { value, in_bytes }
    }

    /// A packet of `size` bytes was accepted by `port` (number `index`), which it made wait.
    pub fn took(&mut self, port: &Port, index: u32, size: u64) {
        self.packets += 1;
        self.bytes += size;
        if port.waiting() == 1 {
            self.leaving.push(Reverse((port.next_start(), index)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::port::Fate;
    use transport::{Flags, Packet};
    use units::Rate;

    /// Offers full packets to one port until it drops, and says how many it took.
    fn fill(pool: &mut Pool, ports: &mut [Port], index: u32, now: Time) -> u64 {
        for taken in 0.. {
            pool.settle(now, ports);
            let room = pool.room(&ports[index as usize]);
            let before = ports[index as usize].waiting();
            let packet = Packet::data(0, 1460, 40, Time::ZERO, Flags::NONE);
            let port = &mut ports[index as usize];
            if port.offer_within(now, &packet, room) == Fate::Dropped {
                return taken;
            }
            if port.waiting() > before {
                pool.took(port, index, 1500);
            }
        }
        unreachable!()
    }

    #[test]
    fn with_alpha_one_the_first_port_takes_half_and_the_second_half_of_the_rest() {
        let mut ports: Vec<Port> = (0..2)
            .map(|_| Port::new(Rate::from_gbps(1), Time(1), true).limited(Level::INFINITE, Level::INFINITE, false))
            .collect();
        let mut pool = Pool::new(Amount::Packets(100), 1.0);
        // One goes straight to the wire; 50 wait when 50 are free.
        assert_eq!(fill(&mut pool, &mut ports, 0, Time::ZERO), 51);
        assert_eq!(fill(&mut pool, &mut ports, 1, Time::ZERO), 26);
        // Much later the buffer is empty again.
        assert_eq!(fill(&mut pool, &mut ports, 1, Time::from_millis(10)), 51);
    }

    #[test]
    fn no_alpha_makes_the_buffer_larger_than_it_is() {
        let mut ports =
            vec![Port::new(Rate::from_gbps(1), Time(1), true).limited(Level::INFINITE, Level::INFINITE, false)];
        let mut pool = Pool::new(Amount::Bytes(15_000), 100.0);
        assert_eq!(fill(&mut pool, &mut ports, 0, Time::ZERO), 11);
    }
}
