//! Arrivals that are looked up some time before they come.
//!
//! What an arrival needs hangs on a chain: the wheel names the link, its port the packet's slot, the slot the path, the path
//! the next port. Followed when its time has come, each step waits for the one before, and so does every branch that depends
//! on it. But nothing that happens before can change what is at the end of the chain, only what else comes first. So the
//! next two arrivals are in hand, the first of them looked up in full, while the one before them is dealt with: a processor
//! that executes out of order does both at once. Where ports are fed there is more to deal with for each arrival, and fewer
//! are pending: then one is in hand.

use units::{Instant, LinkId};

use super::Net;
use super::route::Router;
use crate::event::Event;

/// An arrival that is looked up: whatever happens before, it is this packet, and it goes there.
#[derive(Clone, Copy, Debug)]
pub struct Upcoming {
    /// When it comes.
    pub at: Instant,
    /// At the end of which link.
    pub link: LinkId,
    /// The packet's number in the store.
    pub number: u32,
    /// The link that it takes next, or [`END`](Router::END) at its host.
    to: LinkId,
}

/// The next two arrivals of the wheel, which have been taken out. What is scheduled later may come before them, and what is
/// no arrival.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    next: Upcoming,
    /// The one behind it, of which the path is not looked up yet; none where ports are fed.
    second: Upcoming,
}

/// What happens next.
pub enum Next {
    /// A packet arrives, in a network without faults.
    Arrival(Upcoming),
    /// Anything else.
    Other(Instant, Event),
    /// Nothing.
    Nothing,
}

/// Where fewer arrivals are pending than this, nothing is taken in hand: mostly the next one is none of them, but follows from
/// the one before.
const FEW: usize = 6;

/// The same where ports are fed, and fewer arrivals follow at once from the one before.
const FEW_WHERE_FED: usize = 2;

impl Upcoming {
    /// There is none.
    const NOTHING: Upcoming = Upcoming { at: Instant::MAX, link: LinkId(0), number: 0, to: Router::END };

    /// The link that it takes next, unless it has reached its host.
    #[inline(always)]
    pub fn to(self) -> Option<LinkId> {
        (self.to != Router::END).then_some(self.to)
    }

    #[inline(always)]
    fn is_there(&self) -> bool {
        self.at < Instant::MAX
    }

    /// A link has one pending arrival at most.
    fn is_at(&self, link: LinkId) -> bool {
        self.is_there() && self.link == link
    }
}

impl Ahead {
    /// Nothing is in hand.
    pub const EMPTY: Ahead = Ahead { next: Upcoming::NOTHING, second: Upcoming::NOTHING };
}

impl Net {
    /// [`next_arrival`](Net::next_arrival) gives what comes by `until`. Where there are faults it gives nothing: what is on
    /// its way may be lost.
    pub fn look_until(&mut self, until: Instant) {
        self.events.look_until(if self.has_faults() { Instant::ZERO } else { until });
    }

    /// [`next_arrival`](Net::next_arrival) gives nothing that comes later than `until`. Whether it gives what comes by then,
    /// [`another`](Net::another) decides.
    pub fn look_no_further(&mut self, until: Instant) {
        self.events.look_no_further(until);
    }

    /// The next event, if that is the next arrival in hand; else [`another`](Net::another) says what it is. `FED`: whether
    /// ports are [fed](Net::feeds).
    #[inline(always)]
    pub fn next_arrival<const FED: bool>(&mut self, ahead: &mut Ahead) -> Option<Upcoming> {
        if !self.events.comes(ahead.next.at) {
            return None;
        }
        Some(self.step::<FED>(ahead))
    }

    /// Gives the next arrival in hand, and takes one more.
    #[inline(always)]
    fn step<const FED: bool>(&mut self, ahead: &mut Ahead) -> Upcoming {
        let next = ahead.next;
        if FED {
            let one = self.take_ahead::<true>(0);
            ahead.next = self.with_path(one);
        } else {
            ahead.next = self.with_path(ahead.second);
            ahead.second = self.take_ahead::<false>(usize::from(ahead.next.is_there()));
        }
        next
    }

    /// The next event by `until`, whatever it is.
    #[inline(never)]
    pub fn another<const FED: bool>(&mut self, ahead: &mut Ahead, until: Instant) -> Next {
        if FED && self.events.has_hastened() {
            self.leave(ahead);
        }
        let few = if FED { FEW_WHERE_FED } else { FEW };
        let popped = if self.has_faults() || self.events.arrivals() < few {
            self.leave(ahead);
            self.events.pop(until)
        } else {
            self.put_in_order::<FED>(ahead);
            self.events.pop_beside(ahead.next.at, ahead.next.link, until)
        };
        self.look_until(until);
        match popped {
            None => Next::Nothing,
            Some((_, Event::Arrival(link))) if ahead.next.is_at(link) => Next::Arrival(self.step::<FED>(ahead)),
            Some((at, Event::Arrival(link))) if !self.has_faults() => Next::Arrival(self.arrival(at, link)),
            Some((at, event)) => Next::Other(at, event),
        }
    }

    /// Fills the hand, and takes into it what was scheduled since and comes before what is there. An arrival is pending.
    fn put_in_order<const FED: bool>(&mut self, Ahead { next, second }: &mut Ahead) {
        if FED {
            if !next.is_there() || self.events.first_due().is_some_and(|first| self.is_after(next, first)) {
                self.put_back(next);
                *next = self.take_ahead::<true>(0);
                *next = self.with_path(*next);
            }
            return;
        }
        loop {
            if !second.is_there() || self.events.first_due().is_some_and(|first| self.is_after(second, first)) {
                self.put_back(second);
                *second = self.take_ahead::<false>(usize::from(next.is_there()));
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

    /// What is in hand does not come yet.
    pub fn leave(&mut self, ahead: &mut Ahead) {
        self.put_back(&ahead.second);
        self.put_back(&ahead.next);
        *ahead = Ahead::EMPTY;
        if self.events.has_hastened() {
            self.events.hasten_all(self.now);
        }
    }

    /// Takes the next arrival out, beside so many that are in hand.
    #[inline(always)]
    fn take_ahead<const FED: bool>(&mut self, in_hand: usize) -> Upcoming {
        match self.events.take_ahead(in_hand) {
            Some((at, link)) => self.upcoming::<FED>(at, link),
            None => Upcoming::NOTHING,
        }
    }

    /// An arrival, looked up.
    pub fn arrival(&self, at: Instant, link: LinkId) -> Upcoming {
        self.with_path(self.upcoming::<true>(at, link))
    }

    /// The first packet in line for the end of a link.
    #[inline(always)]
    fn upcoming<const FED: bool>(&self, at: Instant, link: LinkId) -> Upcoming {
        let port = &self.ports[link];
        let number = if FED { port.first_foreseen(&self.store) } else { port.first() };
        Upcoming { at, link, number, to: Router::END }
    }

    /// With the link that it takes next.
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
    use super::super::tests::{full, leaves, star};
    use super::*;
    use crate::outcome::Counters;
    use crate::port::{Port, Watch};
    use transport::{Extension, Flags, Packet};
    use units::{Bytes, ConnectionId, Span, Stream};

    /// A network in which packets and other events bring about more of both, in slices of time, until it calms down.
    struct Trial {
        net: Net,
        stream: Stream,
        hosts: u32,
        waits: u32,
        /// What has happened, in order.
        seen: Vec<(Instant, Event)>,
        until: Instant,
    }

    impl Trial {
        /// All times are whole microseconds, so that much happens at once.
        fn new(hosts: u32, seed: u64) -> Trial {
            Trial::of(star(hosts, seed, Some(Span::ZERO), ["fifo", "fifo"]), hosts, seed)
        }

        fn of(net: Net, hosts: u32, seed: u64) -> Trial {
            let stream = Stream::new(seed, "trial", 0);
            let mut trial = Trial { net, stream, hosts, waits: 0, seen: Vec::new(), until: Instant::ZERO };
            (0..2 * hosts).for_each(|_| trial.send());
            trial
        }

        /// Up to three packets, long or short, from one host to another; some carry more than a header.
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

        /// Something comes soon or late.
        fn wait(&mut self) {
            self.waits += 1;
            let at = self.net.now + Span::from_micros(1 + self.stream.below(40));
            let id = ConnectionId(self.waits);
            match self.stream.below(2) {
                // After all arrivals of its instant, or before.
                0 => self.net.events.push_timer(at, Event::SenderTimer(id), self.stream.bits() >> 4),
                _ => self.net.events.push(at, Event::Notice(id)),
            }
        }

        fn arrives(&mut self, mut arrival: Upcoming) {
            self.net.now = arrival.at;
            if !self.net.feeds() {
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
                    // What arrived, with what became of it on its way.
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
            self.seen.push((at, event));
            if let Event::SenderTimer(_) = event
                && self.stream.below(4) == 0
            {
                // Somebody looks from outside.
                self.net.settle();
            }
            self.send();
        }

        /// The next slice begins. False when that was the last.
        fn slice(&mut self) -> bool {
            self.until += Span(self.stream.below(50_000_000));
            self.net.events.next_at().is_some()
        }

        /// One event after the other.
        fn plainly(mut self) -> Trial {
            let mut nothing = Ahead::EMPTY;
            while self.slice() {
                while let Some((at, event)) = self.net.events.pop(self.until) {
                    match event {
                        Event::Arrival(link) => self.arrives(self.net.arrival(at, link)),
                        _ => self.happens(at, event),
                    }
                    // Where ports are fed, something may have been hastened.
                    self.net.leave(&mut nothing);
                }
            }
            self
        }

        /// Looking ahead.
        fn ahead<const FED: bool>(mut self) -> Trial {
            while self.slice() {
                let mut ahead = Ahead::EMPTY;
                self.net.look_until(self.until);
                loop {
                    match self.net.next_arrival::<FED>(&mut ahead) {
                        Some(arrival) => self.arrives(arrival),
                        None => match self.net.another::<FED>(&mut ahead, self.until) {
                            Next::Arrival(arrival) => self.arrives(arrival),
                            Next::Other(at, event) => self.happens(at, event),
                            Next::Nothing => break,
                        },
                    }
                }
                self.net.leave(&mut ahead);
            }
            self
        }

        /// What has happened at hosts.
        fn at_hosts(&self) -> Vec<(Instant, Event)> {
            let is_at_host = |event| match event {
                Event::Arrival(link) => self.net.ports[link].place.to_host(),
                _ => true,
            };
            self.seen.iter().copied().filter(|&(_, event)| is_at_host(event)).collect()
        }

        /// What has been seen at each port, and what was counted.
        fn at_ports(mut self) -> (Vec<impl PartialEq + std::fmt::Debug>, [u64; 3]) {
            self.net.settle();
            let Counters { packet_hops, events, drops, .. } = self.net.counted();
            let of = |port: &Port| {
                let Watch { drops, marks, most_waiting, levels, .. } = port.watch().clone();
                ((port.packets, port.bytes, port.idle_at()), (drops, marks, most_waiting, levels))
            };
            (self.net.ports.iter().map(of).collect(), [packet_hops, events, drops])
        }
    }

    /// What is looked up before its time, and what overtakes it, comes in the order in which it comes otherwise.
    #[test]
    fn what_is_in_hand_comes_in_its_turn() {
        for hosts in [2, 5, 40] {
            for seed in 0..5 {
                let plainly = Trial::new(hosts, seed).plainly().seen;
                let ahead = Trial::new(hosts, seed).ahead::<false>().seen;
                let others = ahead.iter().filter(|(_, event)| !matches!(event, Event::Arrival(_))).count();
                assert!(ahead.len() > 18_000 && others > 200, "{hosts} hosts: {} events, {others} others", ahead.len());
                assert_eq!(plainly, ahead);
            }
        }
    }

    /// Ports that are fed mark, drop and delay as others do, each packet as of its own time, whoever looks ahead or from
    /// outside; what overtakes others on the way to a port, and what comes there at one instant, included. Nothing that is
    /// counted tells the two apart.
    #[test]
    fn what_is_fed_arrives_as_if_it_were_not() {
        let sizes = [(1, 2), (1, 5), (1, 40), (2, 4), (5, 40)];
        for (number, hosts) in sizes {
            for (seed, late) in [Some(0), Some(0), Some(0), Some(7), Some(7), None, None].into_iter().enumerate() {
                let seed = seed as u64;
                let trial = |fed: bool| {
                    let mut net = leaves(number, hosts, seed, late.map(Span::from_micros), ["fifo", "fifo"]);
                    if fed {
                        net.feed_ports(Bytes(1500));
                        assert!(net.feeds());
                    }
                    Trial::of(net, hosts, seed)
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
}
