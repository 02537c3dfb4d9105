//! Arrivals that are looked up some time before they come.
//!
//! What an arrival needs hangs on a chain: the wheel names the link, its port the packet's slot, the slot the path, the path
//! the next port. Followed when its time has come, each step waits for the one before, and so does every branch that depends
//! on it. But nothing that happens before can change what is at the end of the chain, only what else comes first. So the
//! next two arrivals are in hand, the first of them looked up in full, while the one before them is dealt with: a processor
//! that executes out of order does both at once.

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
    /// The one behind it, of which the path is not looked up yet.
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

    /// The next event, if that is the next arrival in hand; else [`another`](Net::another) says what it is.
    #[inline(always)]
    pub fn next_arrival(&mut self, ahead: &mut Ahead) -> Option<Upcoming> {
        if !self.events.comes(ahead.next.at) {
            return None;
        }
        Some(self.step(ahead))
    }

    /// Gives the next arrival in hand, and takes one more.
    #[inline(always)]
    fn step(&mut self, ahead: &mut Ahead) -> Upcoming {
        let next = ahead.next;
        ahead.next = self.with_path(ahead.second);
        ahead.second = self.take_ahead(usize::from(ahead.next.is_there()));
        next
    }

    /// The next event by `until`, whatever it is.
    #[inline(never)]
    pub fn another(&mut self, ahead: &mut Ahead, until: Instant) -> Next {
        let popped = if self.has_faults() || self.events.arrivals() < FEW {
            self.leave(ahead);
            self.events.pop(until)
        } else {
            self.put_in_order(ahead);
            self.events.pop_beside(ahead.next.at, ahead.next.link, until)
        };
        self.look_until(until);
        match popped {
            None => Next::Nothing,
            Some((_, Event::Arrival(link))) if ahead.next.is_at(link) => Next::Arrival(self.step(ahead)),
            Some((at, Event::Arrival(link))) if !self.has_faults() => Next::Arrival(self.arrival(at, link)),
            Some((at, event)) => Next::Other(at, event),
        }
    }

    /// Fills the hand, and takes into it what was scheduled since and comes before what is there. An arrival is pending.
    fn put_in_order(&mut self, Ahead { next, second }: &mut Ahead) {
        loop {
            if !second.is_there() || self.events.first_due().is_some_and(|first| self.is_after(second, first)) {
                self.put_back(second);
                *second = self.take_ahead(usize::from(next.is_there()));
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
    }

    /// Takes the next arrival out, beside so many that are in hand.
    #[inline(always)]
    fn take_ahead(&mut self, in_hand: usize) -> Upcoming {
        match self.events.take_ahead(in_hand) {
            Some((at, link)) => self.upcoming(at, link),
            None => Upcoming::NOTHING,
        }
    }

    /// An arrival, looked up.
    pub fn arrival(&self, at: Instant, link: LinkId) -> Upcoming {
        self.with_path(self.upcoming(at, link))
    }

    /// The first packet in line for the end of a link.
    #[inline(always)]
    fn upcoming(&self, at: Instant, link: LinkId) -> Upcoming {
        Upcoming { at, link, number: self.ports[link].first(), to: Router::END }
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
    use super::super::tests::{full, star};
    use super::*;
    use transport::Packet;
    use units::{ConnectionId, Span, Stream};

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
        fn new(hosts: u32, seed: u64) -> Trial {
            // All times are whole microseconds, so that much happens at once.
            let net = star(hosts, seed, Some(Span::ZERO), ["fifo", "fifo"]);
            let stream = Stream::new(seed, "trial", 0);
            let mut trial = Trial { net, stream, hosts, waits: 0, seen: Vec::new(), until: Instant::ZERO };
            (0..2 * hosts).for_each(|_| trial.send());
            trial
        }

        /// Up to three packets, long or short, from one host to another.
        fn send(&mut self) {
            let from = self.stream.below(self.hosts.into()) as u32;
            let to = (from + 1 + self.stream.below((self.hosts - 1).into()) as u32) % self.hosts;
            let size = if self.stream.below(2) == 0 { 125 } else { 1500 };
            for seq in 0..1 + self.stream.below(3) {
                let packet = Packet { size, ..full(&mut self.net, (from, to), seq) };
                self.net.send(packet);
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

        fn arrives(&mut self, arrival: Upcoming) {
            self.net.now = arrival.at;
            self.seen.push((arrival.at, Event::Arrival(arrival.link)));
            self.net.take(arrival.link, arrival.number);
            match arrival.to() {
                Some(link) => self.net.forward(arrival.number, link),
                None => {
                    let mut packet = Packet::BLANK;
                    self.net.collect(arrival.number, &mut packet);
                    match self.stream.below(8) {
                        _ if self.seen.len() > 10_000 => {}
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
            self.send();
        }

        /// The next slice begins. False when that was the last.
        fn slice(&mut self) -> bool {
            self.until += Span(self.stream.below(50_000_000));
            self.net.events.next_at().is_some()
        }

        /// One event after the other.
        fn plainly(mut self) -> Vec<(Instant, Event)> {
            while self.slice() {
                while let Some((at, event)) = self.net.events.pop(self.until) {
                    match event {
                        Event::Arrival(link) => self.arrives(self.net.arrival(at, link)),
                        _ => self.happens(at, event),
                    }
                }
            }
            self.seen
        }

        /// Looking ahead.
        fn ahead(mut self) -> Vec<(Instant, Event)> {
            while self.slice() {
                let mut ahead = Ahead::EMPTY;
                self.net.look_until(self.until);
                loop {
                    match self.net.next_arrival(&mut ahead) {
                        Some(arrival) => self.arrives(arrival),
                        None => match self.net.another(&mut ahead, self.until) {
                            Next::Arrival(arrival) => self.arrives(arrival),
                            Next::Other(at, event) => self.happens(at, event),
                            Next::Nothing => break,
                        },
                    }
                }
                self.net.leave(&mut ahead);
            }
            self.seen
        }
    }

    /// What is looked up before its time, and what overtakes it, comes in the order in which it comes otherwise.
    #[test]
    fn what_is_in_hand_comes_in_its_turn() {
        for hosts in [2, 5, 40] {
            for seed in 0..5 {
                let (plainly, ahead) = (Trial::new(hosts, seed).plainly(), Trial::new(hosts, seed).ahead());
                let others = ahead.iter().filter(|(_, event)| !matches!(event, Event::Arrival(_))).count();
                assert!(ahead.len() > 10_000 && others > 200, "{hosts} hosts: {} events, {others} others", ahead.len());
                assert_eq!(plainly, ahead);
            }
        }
    }
}
