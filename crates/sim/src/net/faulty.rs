//! What faults do to the network while it runs.
//!
//! A port whose link is down says so where others say which buffer they draw on, so that packets find it on the way that
//! they take anyhow. What packets meet on a link they meet at its end. Where a run has no fault there is none of this.

use std::collections::BTreeMap;

use transport::{Flags, Packet};
use units::{HostId, Instant, LinkId, Span, Stream, Table};

use super::Net;
use crate::event::Event;
use crate::faults::{Effect, Fault, Met};
use crate::outcome::FaultCounts;
use crate::port::Port;
use crate::port::level::Level;

/// The faults of a run.
pub(super) struct Faults {
    faults: Vec<Fault>,
    /// In the order of their times; the event of a change has its number.
    changes: Vec<Change>,
    links: Table<LinkId, OfLink>,
    /// A packet that was held back and goes on now.
    released: Option<Packet>,
    counts: FaultCounts,
    /// What had been counted when the warm-up ended.
    before_warm_up: FaultCounts,
}

/// What becomes different at some time.
#[derive(Clone, Copy)]
struct Change {
    at: Instant,
    fault: usize,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Begins,
    Ends,
    /// Routing learns that it began.
    Noticed,
    /// Routing learns that it ended.
    Forgotten,
}

/// A direction of a link.
#[derive(Default)]
struct OfLink {
    /// How many faults that keep it down hold now, and what its port said of its buffer before.
    down: u32,
    pool: u32,
    /// As far as routing knows, so many keep it down.
    avoided: u32,
    /// How many that keep its port from marking hold now, and where it marked before.
    unmarked: u32,
    threshold: Option<Level>,
    /// What packets meet: the faults by number that hold now, each with its stream.
    met: Vec<(usize, Stream)>,
    /// The streams of faults that do not hold now.
    at_rest: BTreeMap<usize, Stream>,
    /// Packets that have been held back, and copies, with the times at which they go on.
    held: Vec<(Instant, Packet)>,
    /// Packets that were lost.
    drops: u64,
}

impl Net {
    /// With these faults, whose changes become events.
    pub fn strike(&mut self, faults: Vec<Fault>, seed: u64) {
        if faults.is_empty() {
            return;
        }
        let mut links: Table<LinkId, OfLink> = self.graph.links.iter().map(|_| OfLink::default()).collect();
        let mut changes = Vec::new();
        for (number, fault) in faults.iter().enumerate() {
            let delay = match fault.effect {
                Effect::Down { reroute } => Some(reroute),
                _ => None,
            };
            let mut change = |at, what| changes.push(Change { at, fault: number, what });
            change(fault.at, What::Begins);
            delay.into_iter().for_each(|delay| change(fault.at.saturating_add(delay), What::Noticed));
            if let Some(until) = fault.until {
                change(until, What::Ends);
                delay.into_iter().for_each(|delay| change(until.saturating_add(delay), What::Forgotten));
            }
            if let Effect::OnPackets(_) = fault.effect {
                for link in self.directions(fault) {
                    let stream = Stream::new(seed, "what packets meet", (number as u64) << 32 | u64::from(link.0));
                    links[link].at_rest.insert(number, stream);
                }
            }
        }
        // Of changes at the same time those of the fault that stands first come first.
        changes.sort_by_key(|change| (change.at, change.fault));
        for (number, change) in changes.iter().enumerate() {
            self.events.push(change.at, Event::Fault(number as u32));
        }
        let counts = FaultCounts::default();
        self.faults = Some(Box::new(Faults { faults, changes, links, released: None, counts, before_warm_up: counts }));
    }

    /// A change is due. True when ways through the network are other ones now.
    pub fn change(&mut self, number: u32) -> bool {
        let faults = self.faults_mut();
        let Change { fault, what, .. } = faults.changes[number as usize];
        let fault_number = fault;
        let fault = &faults.faults[fault];
        let (is_down, is_unmarked) =
            (matches!(fault.effect, Effect::Down { .. }), matches!(fault.effect, Effect::Unmarked));
        let links = self.directions_of(fault_number);
        match what {
            What::Begins if is_down => links.iter().for_each(|&link| self.take_down(link)),
            What::Ends if is_down => links.iter().for_each(|&link| self.bring_up(link)),
            What::Begins if is_unmarked => links.iter().for_each(|&link| self.unmark(link)),
            What::Ends if is_unmarked => links.iter().for_each(|&link| self.mark_again(link)),
            What::Begins => {
                for &link in &links {
                    let of_link = &mut self.faults_mut().links[link];
                    let stream = of_link.at_rest.remove(&fault_number).expect("it rests until it begins");
                    of_link.met.push((fault_number, stream));
                }
            }
            What::Ends => {
                links.iter().for_each(|&link| {
                    self.faults_mut().links[link].met.retain(|(number, _)| *number != fault_number);
                });
            }
            What::Noticed | What::Forgotten => {
                for &link in &links {
                    let avoided = &mut self.faults_mut().links[link].avoided;
                    *avoided = if matches!(what, What::Noticed) { *avoided + 1 } else { *avoided - 1 };
                    let avoid = *avoided > 0;
                    self.router.avoid(link, avoid);
                }
                return true;
            }
        }
        false
    }

    /// The path on which packets of a flow that took `path` go on from now.
    pub fn detour(&mut self, path: u32, flow: crate::flow::Flow) -> u32 {
        let from = self.graph.links[self.router.link(path).index()].from;
        let hosts = self.graph.hosts;
        let ends = (path..).map(|position| self.graph.links[self.router.link(position).index()].to);
        let to = ends.into_iter().find(|node| *node < hosts).expect("a path ends at a host");
        let other = self.path(HostId(from), HostId(to), flow);
        self.faults_mut().counts.rerouted += u64::from(other != path);
        other
    }

    /// What faults have done since the warm-up, if the run has any.
    pub fn fault_counts(&self) -> Option<FaultCounts> {
        self.faults.as_deref().map(|faults| faults.counts.since(faults.before_warm_up))
    }

    /// The warm-up ends.
    pub(super) fn faults_warmed_up(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.before_warm_up = faults.counts;
        }
    }

    /// Packets that faults have lost on a link, if the run has any.
    pub fn fault_drops(&self, link: LinkId) -> Option<u64> {
        self.faults.as_deref().map(|faults| faults.links[link].drops)
    }

    /// Packets that faults hold back.
    pub fn held(&self) -> impl Iterator<Item = &Packet> {
        let links = self.faults.iter().flat_map(|faults| faults.links.iter());
        links.flat_map(|link| &link.held).map(|(_, packet)| packet)
    }

    /// A path of a run whose links may go down takes at least this long, whichever it is.
    pub(super) fn least_propagation(&mut self, from: HostId, to: HostId) -> Option<Span> {
        let reroutes = |fault: &Fault| matches!(fault.effect, Effect::Down { .. });
        self.faults.as_ref().filter(|faults| faults.faults.iter().any(reroutes))?;
        let shortest = self.graph.links.iter().map(|link| link.delay).min()?;
        Some(Span(shortest.0.saturating_mul(u64::from(self.router.hops(from, to)))))
    }

    /// Takes the packet that has reached the end of `link` and may meet faults; gives it back if that is a host and it
    /// got there. A switch has forwarded it.
    pub fn arrive_through_faults(&mut self, link: LinkId) -> Option<Packet> {
        if let Some(packet) = self.faults_mut().released.take() {
            return self.pass_on(link, packet);
        }
        let mut packet = Packet::BLANK;
        let number = self.ports[link].first();
        self.take(link, number);
        self.collect(number, &mut packet);
        let Faults { faults, links, counts, .. } = &mut **self.faults.as_mut().expect("only where there are faults");
        let of_link = &mut links[link];
        for (number, stream) in &mut of_link.met {
            let Effect::OnPackets(effect) = &faults[*number].effect else { continue };
            match effect.meets(&packet, stream) {
                Met::Nothing => {}
                Met::Lost => {
                    self.lost(link, &packet);
                    return None;
                }
                Met::Late(by) => {
                    counts.held_back += 1;
                    of_link.held.push((self.now + by, packet));
                    self.events.push(self.now + by, Event::Held(link));
                    return None;
                }
                Met::Twice => {
                    counts.duplicates += 1;
                    let mut copy = packet;
                    if packet.flags.has(Flags::EXTENDED) {
                        let extension = self.extensions.at(packet.wait_or_extension).clone();
                        copy.wait_or_extension = self.extensions.keep(extension);
                    }
                    of_link.held.push((self.now, copy));
                    self.events.push(self.now, Event::Held(link));
                }
            }
        }
        self.pass_on(link, packet)
    }

    /// The next packet to arrive at the end of a link is one that was held back there. False when it was lost since.
    #[cold]
    pub fn release(&mut self, link: LinkId) -> bool {
        let now = self.now;
        let Faults { links, released, .. } = self.faults_mut();
        let held = &mut links[link].held;
        let due = held.iter().position(|(at, _)| *at == now).map(|place| held.remove(place).1);
        *released = due;
        due.is_some()
    }

    /// A packet that has reached the end of a link goes on; gives it back if that is a host.
    #[inline(never)]
    fn pass_on(&mut self, link: LinkId, packet: Packet) -> Option<Packet> {
        if self.ports[link].place.to_host() {
            self.counters.packets_received += 1;
            return Some(packet);
        }
        let number = self.store.put(packet);
        self.forward(number, self.next_link(number));
        None
    }

    /// A packet is lost to a fault on a link or at the port that feeds it.
    pub(super) fn lost(&mut self, link: LinkId, packet: &Packet) {
        let faults = self.faults_mut();
        faults.counts.drops += 1;
        faults.links[link].drops += 1;
        self.forget(link, packet);
    }

    /// The links that a fault is on, by number.
    fn directions(&self, fault: &Fault) -> Vec<LinkId> {
        let number = |&(from, to): &(u32, u32)| {
            let found = self.graph.links.binary_search_by_key(&(to, from), |link| (link.to, link.from));
            LinkId::from_index(found.expect("faults are on links that exist"))
        };
        fault.links.iter().map(number).collect()
    }

    fn directions_of(&self, fault: usize) -> Vec<LinkId> {
        self.faults.as_deref().map(|faults| self.directions(&faults.faults[fault])).unwrap_or_default()
    }

    fn faults_mut(&mut self) -> &mut Faults {
        self.faults.as_mut().expect("only where there are faults")
    }

    /// The link carries nothing any more: what waits for it or travels on it is lost.
    fn take_down(&mut self, link: LinkId) {
        let of_link = &mut self.faults_mut().links[link];
        of_link.down += 1;
        if of_link.down > 1 {
            return;
        }
        let held = std::mem::take(&mut of_link.held);
        if self.ports[link].pool == Port::CHOOSES {
            self.begin_due(link);
        }
        let now = self.now;
        let port = &mut self.ports[link];
        if let Some(at) = port.first_arrival(&self.store) {
            self.events.cancel_arrival(at, link);
        }
        let pool = std::mem::replace(&mut port.pool, Port::DOWN);
        let travelling = match self.pools.get_mut(pool as usize) {
            Some(pool) => pool.flush(&mut self.store, now, port),
            None if pool == Port::CHOOSES => {
                let waiting: Vec<Packet> =
                    port.choice().into_iter().flat_map(|choice| choice.packets()).copied().collect();
                let lost = port.flush(&mut self.store, now);
                waiting.iter().for_each(|packet| self.leaves(link, packet));
                lost
            }
            None => {
                port.settle(&self.store, now);
                port.flush(&mut self.store, now)
            }
        };
        self.faults_mut().links[link].pool = pool;
        held.iter().map(|(_, packet)| packet).chain(&travelling).for_each(|packet| self.lost(link, packet));
    }

    fn bring_up(&mut self, link: LinkId) {
        let of_link = &mut self.faults_mut().links[link];
        of_link.down -= 1;
        if of_link.down == 0 {
            let pool = of_link.pool;
            self.ports[link].pool = pool;
        }
    }

    fn unmark(&mut self, link: LinkId) {
        let of_link = &mut self.faults.as_mut().expect("only where there are faults").links[link];
        of_link.unmarked += 1;
        if of_link.unmarked == 1 {
            of_link.threshold = Some(self.ports[link].stop_marks());
        }
    }

    fn mark_again(&mut self, link: LinkId) {
        let of_link = &mut self.faults.as_mut().expect("only where there are faults").links[link];
        of_link.unmarked -= 1;
        if of_link.unmarked == 0 {
            let threshold = of_link.threshold.take().expect("it was kept when marking stopped");
            self.ports[link].resume_marks(threshold);
        }
    }
}
