//! Prefetches arrivals some time before they are due.
//!
//! The data of an arrival form a chain: the wheel has the link, its port the packet's slot, the slot the route, the
//! route the next port. Followed only when the arrival is due, each step waits for the one before, and so does every
//! branch that depends on it. But no earlier event can change the end of the chain, only the order of events. So the
//! next two arrivals are prefetched, the first of them in full, while the one before them is processed. A processor
//! that executes out of order does both at once. With deferred enqueue, an arrival takes more work and fewer are
//! pending: then only one is prefetched.

use units::{Instant, LinkId};

use super::Net;
use super::routing::Router;
use crate::schedule::events::Event;

/// A prefetched arrival: earlier events change neither its packet nor its next link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upcoming {
    /// Time of the arrival.
    pub at: Instant,
    /// The link at whose end it arrives.
    pub link: LinkId,
    /// The packet's slot in the packet pool.
    pub number: u32,
    /// The next link of the packet, or [`END`](Router::END) at its host.
    to: LinkId,
}

/// The next two arrivals, removed from the wheel. Arrivals scheduled later may precede them, and so may other events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefetch {
    next: Upcoming,
    /// The second one, whose route is not prefetched yet; none with deferred enqueue.
    second: Upcoming,
}

/// The next event of the network.
pub(crate) enum Next {
    /// A packet arrives, in a network without faults.
    Arrival(Upcoming),
    /// Any event except such an arrival.
    Other(Instant, Event),
    /// No event until the given time.
    Nothing,
}

/// With fewer pending arrivals than this, nothing is prefetched: the next arrival mostly is none of them, but follows
/// from the one before.
const FEW: usize = 6;

/// The same with deferred enqueue, where fewer arrivals follow at once from the one before.
const FEW_WHERE_FED: usize = 2;

impl Upcoming {
    /// Stands for no arrival at all.
    const NOTHING: Upcoming = Upcoming { at: Instant::MAX, link: LinkId(0), number: 0, to: Router::END };

    /// Returns the next link of the packet, unless it has reached its host.
    #[inline(always)]
    pub(crate) fn to(self) -> Option<LinkId> {
        (self.to != Router::END).then_some(self.to)
    }

    #[inline(always)]
    fn is_there(&self) -> bool {
        self.at < Instant::MAX
    }

    /// Returns whether this is the pending arrival of `link`, which has one at most.
    fn is_at(&self, link: LinkId) -> bool {
        self.is_there() && self.link == link
    }
}

impl Prefetch {
    /// No arrival is prefetched.
    pub(crate) const EMPTY: Prefetch = Prefetch { next: Upcoming::NOTHING, second: Upcoming::NOTHING };
}

impl Net {
    /// Makes [`next_arrival`](Net::next_arrival) return arrivals up to `until`. While a fault is active it returns none,
    /// because packets in flight may be lost.
    pub(crate) fn look_until(&mut self, until: Instant) {
        self.events.look_until(if self.takes_care() { Instant::ZERO } else { until });
    }

    /// Makes [`next_arrival`](Net::next_arrival) return no arrival after `until`. [`another`](Net::another) decides on
    /// arrivals up to then.
    pub(crate) fn look_no_further(&mut self, until: Instant) {
        self.events.look_no_further(until);
    }

    /// Returns the prefetched arrival if it is the next event; else [`another`](Net::another) returns that. `DEFERS`:
    /// ports [defer enqueueing](Net::defers_enqueues).
    #[inline(always)]
    pub(crate) fn next_arrival<const DEFERS: bool>(&mut self, ahead: &mut Prefetch) -> Option<Upcoming> {
        if !self.events.comes(ahead.next.at) {
            return None;
        }
        Some(self.step::<DEFERS>(ahead))
    }

    /// Returns the next prefetched arrival, and prefetches one more.
    #[inline(always)]
    fn step<const DEFERS: bool>(&mut self, ahead: &mut Prefetch) -> Upcoming {
        let next = ahead.next;
        if DEFERS {
            let one = self.take_prefetched::<true>(0);
            ahead.next = self.with_path(one);
        } else {
            ahead.next = self.with_path(ahead.second);
            ahead.second = self.take_prefetched::<false>(usize::from(ahead.next.is_there()));
        }
        next
    }

    /// Returns the next event by `until`, of any kind.
    #[inline(never)]
    pub(crate) fn another<const DEFERS: bool>(&mut self, ahead: &mut Prefetch, until: Instant) -> Next {
        if DEFERS && self.events.has_rescheduled() {
            self.leave(ahead);
        }
        let few = if DEFERS { FEW_WHERE_FED } else { FEW };
        let popped = if self.takes_care() || self.events.arrivals() < few {
            self.leave(ahead);
            self.events.pop(until)
        } else {
            self.put_in_order::<DEFERS>(ahead);
            self.events.pop_beside(ahead.next.at, ahead.next.link, until)
        };
        self.look_until(until);
        match popped {
            None => Next::Nothing,
            Some((_, Event::Arrival(link))) if ahead.next.is_at(link) => Next::Arrival(self.step::<DEFERS>(ahead)),
            Some((at, Event::Arrival(link))) if !self.takes_care() => Next::Arrival(self.arrival(at, link)),
            Some((at, event)) => Next::Other(at, event),
        }
    }

    /// Completes the prefetched arrivals, and replaces them where arrivals scheduled since are earlier. At least one
    /// must be pending.
    fn put_in_order<const DEFERS: bool>(&mut self, Prefetch { next, second }: &mut Prefetch) {
        if DEFERS {
            if !next.is_there() || self.events.first_due().is_some_and(|first| self.is_after(next, first)) {
                self.put_back(next);
                *next = self.take_prefetched::<true>(0);
                *next = self.with_path(*next);
            }
            return;
        }
        loop {
            if !second.is_there() || self.events.first_due().is_some_and(|first| self.is_after(second, first)) {
                self.put_back(second);
                *second = self.take_prefetched::<false>(usize::from(next.is_there()));
            }
            if !second.is_there() || next.is_there() && !self.is_after(next, (second.at, second.link)) {
                return;
            }
            std::mem::swap(next, second);
            *next = self.with_path(*next);
        }
    }

    fn is_after(&self, one: &Upcoming, other: (Instant, LinkId)) -> bool {
        self.events.is_after((one.at, one.link), other)
    }

    fn put_back(&mut self, one: &Upcoming) {
        if one.is_there() {
            self.events.put_back(one.at, one.link);
        }
    }

    /// Returns the prefetched arrivals to the wheel.
    pub(crate) fn leave(&mut self, ahead: &mut Prefetch) {
        self.put_back(&ahead.second);
        self.put_back(&ahead.next);
        *ahead = Prefetch::EMPTY;
        if self.events.has_rescheduled() {
            self.events.reschedule_all_earlier(self.now);
        }
    }

    /// Removes the next arrival from the wheel, in addition to `prefetched` prefetched ones.
    #[inline(always)]
    fn take_prefetched<const DEFERS: bool>(&mut self, prefetched: usize) -> Upcoming {
        match self.events.take_prefetched(prefetched) {
            Some((at, link)) => self.upcoming::<DEFERS>(at, link),
            None => Upcoming::NOTHING,
        }
    }

    /// Returns an arrival with its packet and next link.
    pub(crate) fn arrival(&self, at: Instant, link: LinkId) -> Upcoming {
        self.with_path(self.upcoming::<true>(at, link))
    }

    /// Returns the first packet in the in-flight FIFO of a link.
    #[inline(always)]
    fn upcoming<const DEFERS: bool>(&self, at: Instant, link: LinkId) -> Upcoming {
        let port = &self.ports[link];
        let number = if DEFERS { port.first_foreseen(&self.packet_pool) } else { port.first() };
        Upcoming { at, link, number, to: Router::END }
    }

    /// Returns the arrival with the packet's next link.
    #[inline(always)]
    fn with_path(&self, upcoming: Upcoming) -> Upcoming {
        match upcoming.is_there() {
            true => Upcoming { to: self.next_link(upcoming.number), ..upcoming },
            false => upcoming,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{full, leaves, shared_leaves, star};
    use super::*;
    use crate::fabric::port::{Port, Watch};
    use crate::record::outcome::Counters;
    use transport::{Extension, Flags, Packet};
    use units::{Amount, Bytes, ConnectionId, Span, Stream};

    /// A network in which packets and other events bring about more of both, in slices of time, until it calms down.
    struct Calibration {
        net: Net,
        stream: Stream,
        hosts: u32,
        waits: u32,
        /// The number of times that headroom was sought.
        pressures: usize,
        /// The events that have happened, in order.
        seen: Vec<(Instant, Event)>,
        until: Instant,
    }

    impl Calibration {
        /// All times are whole microseconds, so that much happens at once.
        fn new(hosts: u32, seed: u64) -> Calibration {
            Calibration::of(star(hosts, seed, Some(Span::ZERO), ["fifo", "fifo"]), hosts, seed)
        }

        fn of(net: Net, hosts: u32, seed: u64) -> Calibration {
            let stream = Stream::new(seed, "trial", 0);
            let mut trial =
                Calibration { net, stream, hosts, waits: 0, pressures: 0, seen: Vec::new(), until: Instant::ZERO };
            (0..2 * hosts).for_each(|_| trial.send());
            trial
        }

        /// Sends up to three packets, long or short, from one host to another; some carry more than a header.
        fn send(&mut self) {
            let from = self.stream.below(self.hosts.into()) as u32;
            let to = (from + 1 + self.stream.below((self.hosts - 1).into()) as u32) % self.hosts;
            let size = if self.stream.below(2) == 0 { 125 } else { 1500 };
            for seq in 0..1 + self.stream.below(3) {
                let packet = Packet { size, ..full(&mut self.net, (from, to), seq) };
                match self.stream.below(8) {
                    0 => self.net.send_extended(packet, Extension::default()),
                    _ => self.net.send(packet),
                }
            }
        }

        /// Schedules an event sooner or later.
        fn wait(&mut self) {
            self.waits += 1;
            let at = self.net.now + Span::from_micros(1 + self.stream.below(40));
            let id = ConnectionId(self.waits);
            match self.stream.below(2) {
                // After all arrivals of its instant, or before.
                0 => self.net.events.push_timer(at, Event::SenderTimer(id), self.stream.bits() >> 4),
                _ => self.net.events.push(at, Event::ControlMessage(id)),
            }
        }

        fn arrives(&mut self, mut arrival: Upcoming) {
            self.net.now = arrival.at;
            if !self.net.defers_enqueues() {
                self.net.take(arrival.link, arrival.number);
            } else if !self.net.arrives(&mut arrival) {
                return;
            }
            self.seen.push((arrival.at, Event::Arrival(arrival.link)));
            match arrival.to() {
                Some(link) => self.net.forward(arrival.number, link),
                None => {
                    let mut packet = Packet::BLANK;
                    self.net.collect(arrival.number, &mut packet);
                    let extension = self.net.take_extension(&packet);
                    let wait = extension.map_or(packet.wait_or_extension, |extension| extension.wait);
                    // The arriving packet, with its wait and its mark.
                    let about = u64::from(wait) << 16 | packet.seq << 8 | u64::from(packet.flags.has(Flags::CE));
                    self.seen.push((Instant(about), Event::Arrival(arrival.link)));
                    match self.stream.below(8) {
                        _ if self.net.counters.packets_sent > 8_000 => {}
                        0 => self.wait(),
                        1..6 => self.send(),
                        // It turns out that the slice ends here.
                        6 => {
                            self.until = self.net.now;
                            self.net.look_no_further(self.until);
                        }
                        _ => {}
                    }
                }
            }
        }

        fn happens(&mut self, at: Instant, event: Event) {
            self.net.now = at;
            if event == Event::Pressure {
                self.pressures += 1;
                return self.net.heed_pressure();
            }
            self.seen.push((at, event));
            if let Event::SenderTimer(_) = event
                && self.stream.below(4) == 0
            {
                // All ports are brought up to date from outside.
                self.net.advance_ports();
            }
            self.send();
        }

        /// Begins the next slice. Returns false if that was the last.
        fn slice(&mut self) -> bool {
            self.until += Span(self.stream.below(50_000_000));
            self.net.events.next_at().is_some()
        }

        /// Runs without prefetching, one event after the other.
        fn plainly(mut self) -> Calibration {
            let mut nothing = Prefetch::EMPTY;
            while self.slice() {
                while let Some((at, event)) = self.net.events.pop(self.until) {
                    match event {
                        Event::Arrival(link) => self.arrives(self.net.arrival(at, link)),
                        _ => self.happens(at, event),
                    }
                    // With deferred enqueue, an arrival may have been rescheduled.
                    self.net.leave(&mut nothing);
                }
            }
            self
        }

        /// Runs with prefetching of arrivals.
        fn ahead<const DEFERS: bool>(mut self) -> Calibration {
            while self.slice() {
                let mut ahead = Prefetch::EMPTY;
                self.net.look_until(self.until);
                loop {
                    match self.net.next_arrival::<DEFERS>(&mut ahead) {
                        Some(arrival) => self.arrives(arrival),
                        None => match self.net.another::<DEFERS>(&mut ahead, self.until) {
                            Next::Arrival(arrival) => self.arrives(arrival),
                            Next::Other(at, event) => {
                                if event == Event::Pressure {
                                    self.net.leave(&mut ahead);
                                }
                                self.happens(at, event);
                            }
                            Next::Nothing => break,
                        },
                    }
                }
                self.net.leave(&mut ahead);
            }
            self
        }

        /// Returns the events at hosts.
        fn at_hosts(&self) -> Vec<(Instant, Event)> {
            let is_at_host = |event| match event {
                Event::Arrival(link) => self.net.ports[link].place.to_host(),
                _ => true,
            };
            self.seen.iter().copied().filter(|&(_, event)| is_at_host(event)).collect()
        }

        /// Returns the observations of each port, and the counts of the network.
        fn at_ports(mut self) -> (Vec<impl PartialEq + std::fmt::Debug>, [u64; 3]) {
            self.net.advance_ports();
            let Counters { packet_hops, events, drops, .. } = self.net.counted();
            let of = |port: &Port| {
                let Watch { drops, marks, max_waiting, levels, .. } = port.watch().clone();
                ((port.packets, port.bytes, port.idle_at()), (drops, marks, max_waiting, levels))
            };
            (self.net.ports.iter().map(of).collect(), [packet_hops, events, drops])
        }
    }

    /// Prefetched arrivals and events that overtake them happen in the same order as without prefetching.
    #[test]
    fn what_is_in_hand_comes_in_its_turn() {
        for hosts in [2, 5, 40] {
            for seed in 0..5 {
                let plainly = Calibration::new(hosts, seed).plainly().seen;
                let ahead = Calibration::new(hosts, seed).ahead::<false>().seen;
                let others = ahead.iter().filter(|(_, event)| !matches!(event, Event::Arrival(_))).count();
                assert!(ahead.len() > 18_000 && others > 200, "{hosts} hosts: {} events, {others} others", ahead.len());
                assert_eq!(plainly, ahead);
            }
        }
    }

    /// Ports with deferred enqueue mark, drop and delay as others do, each packet as of its own time, with or without
    /// prefetching. This includes reordered and simultaneous arrivals, and updates from outside. No count differs
    /// between the two.
    #[test]
    fn what_is_fed_arrives_as_if_it_were_not() {
        let sizes = [(1, 2), (1, 5), (1, 40), (2, 4), (5, 40)];
        for (number, hosts) in sizes {
            for (seed, late) in [Some(0), Some(0), Some(0), Some(7), Some(7), None, None].into_iter().enumerate() {
                let seed = seed as u64;
                let trial = |fed: bool| {
                    let mut net = leaves(number, hosts, seed, late.map(Span::from_micros), ["fifo", "fifo"]);
                    if fed {
                        net.defer_enqueues(Bytes(1500));
                        assert!(net.defers_enqueues());
                    }
                    Calibration::of(net, hosts, seed)
                };
                let (other, plainly, ahead) =
                    (trial(false).plainly(), trial(true).plainly(), trial(true).ahead::<true>());
                assert!(
                    other.at_hosts() == plainly.at_hosts(),
                    "{number} leaves, {hosts} hosts, late by {late:?}, seed {seed}"
                );
                assert!(
                    other.at_hosts() == ahead.at_hosts(),
                    "{number} leaves, {hosts} hosts, late by {late:?}, seed {seed}"
                );
                assert!(ahead.seen.len() < other.seen.len(), "some arrivals are no events");
                let at_ports = other.at_ports();
                let drops = at_ports.1[2];
                assert!(hosts < 40 || drops > 100, "{drops} packets were dropped");
                let (plainly, ahead) = (plainly.at_ports(), ahead.at_ports());
                assert!(at_ports.0 == plainly.0 && at_ports.0 == ahead.0);
                let events = |[hops, _, drops]: [u64; 3]| [hops, drops];
                assert_eq!([events(plainly.1), events(ahead.1)], [events(at_ports.1); 2]);
            }
        }
    }

    /// Ports of shared buffers defer enqueueing while these cannot be filled, and decide as if they did not. Some of the
    /// buffers never are, others are in the end.
    #[test]
    fn shared_buffers_are_filled_at_the_same_packet() {
        let (mut renewals, mut ends, mut drops) = (0, 0, 0);
        let buffers = [8, 32, 128, 512, 2048].map(Amount::Packets);
        let in_bytes = [12, 48, 192, 768, 3072].map(|packets| Amount::Bytes(packets * 1500));
        for (number, hosts) in [(1, 5), (2, 8), (5, 40)] {
            for (buffer, seed) in buffers.into_iter().chain(in_bytes).zip(0..) {
                let trial = |defers: bool| {
                    let mut net = shared_leaves(number, hosts, buffer);
                    assert!(net.defers_enqueues());
                    if !defers {
                        net.defer_nothing();
                    }
                    Calibration::of(net, hosts, seed)
                };
                let (other, plainly, ahead) =
                    (trial(false).plainly(), trial(true).plainly(), trial(true).ahead::<true>());
                assert_eq!(plainly.pressures, ahead.pressures);
                let has_ended = usize::from(!plainly.net.defers_enqueues());
                (renewals, ends) = (renewals + plainly.pressures - has_ended, ends + has_ended);
                let about = format!("{number} leaves, {hosts} hosts, {buffer:?}");
                assert!(other.at_hosts() == plainly.at_hosts(), "{about}");
                assert!(other.at_hosts() == ahead.at_hosts(), "{about}");
                let (other, plainly, ahead) = (other.at_ports(), plainly.at_ports(), ahead.at_ports());
                assert!(other.0 == plainly.0 && other.0 == ahead.0, "{about}");
                assert_eq!([plainly.1, ahead.1].map(|[hops, _, drops]| [hops, drops]), [[other.1[0], other.1[2]]; 2]);
                drops += other.1[2];
            }
        }
        assert!(renewals > 10 && ends > 5 && drops > 1000, "{renewals} renewals, {ends} ends, {drops} drops");
    }
}
