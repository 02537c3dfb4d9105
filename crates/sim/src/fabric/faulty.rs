//! Effects of faults on the network at run time.
//!
//! A port whose link is down records so in the field of its shared buffer, so that packets find it without a further
//! check. Effects on packets apply at the end of the link. A run without faults pays nothing for this.

use std::collections::BTreeMap;

use transport::{Flags, Packet};
use units::{HostId, Instant, LinkId, Span, Stream, Table};

use super::{Net, Router};
use crate::fabric::level::Level;
use crate::fabric::port::PortMode;
use crate::faults::{Effect, Fault, Met};
use crate::record::outcome::FaultCounts;
use crate::schedule::events::Event;

/// The faults of a run.
pub(super) struct Faults {
    faults: Vec<Fault>,
    /// In order of time; the event of a change has its index here.
    changes: Vec<Change>,
    links: Table<LinkId, OfLink>,
    /// The number of faults that have begun and have not ended.
    pub(super) active: usize,
    /// A delayed packet that is forwarded now.
    released: Option<Packet>,
    counts: FaultCounts,
    /// The counts at the end of the warm-up.
    before_warm_up: FaultCounts,
}

/// The change at the start or end of a fault.
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
    /// The number of faults that keep it down now, and the port's mode before.
    down: u32,
    mode: PortMode,
    /// The number of faults that keep it down, as far as routing knows.
    avoided: u32,
    /// The number of faults that now keep its port from marking, and the threshold before.
    unmarked: u32,
    threshold: Option<Level>,
    /// The faults that now affect packets, by number, each with its stream.
    met: Vec<(usize, Stream)>,
    /// The streams of inactive faults.
    at_rest: BTreeMap<usize, Stream>,
    /// Delayed packets, and copies, with the times at which they are forwarded.
    held: Vec<(Instant, Packet)>,
    /// Number of lost packets.
    drops: u64,
}

impl Net {
    /// Injects faults, whose changes become events.
    pub(crate) fn inject_faults(&mut self, faults: Vec<Fault>, seed: u64) {
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
        // Changes at the same time are ordered by the position of their fault.
        changes.sort_by_key(|change| (change.at, change.fault));
        for (number, change) in changes.iter().enumerate() {
            self.events.push(change.at, Event::Fault(number as u32));
        }
        let counts = FaultCounts::default();
        self.faults = Some(Box::new(Faults {
            faults,
            changes,
            links,
            active: 0,
            released: None,
            counts,
            before_warm_up: counts,
        }));
    }

    /// Applies a change that is due; no arrival may be prefetched. Returns true if routes have changed.
    pub(crate) fn change(&mut self, number: u32) -> bool {
        let faults = self.faults_mut();
        let Change { fault, what, .. } = faults.changes[number as usize];
        match what {
            What::Begins => faults.active += 1,
            What::Ends => faults.active -= 1,
            What::Noticed | What::Forgotten => {}
        }
        let fault_number = fault;
        let fault = &faults.faults[fault];
        let (is_down, is_unmarked) =
            (matches!(fault.effect, Effect::Down { .. }), matches!(fault.effect, Effect::Unmarked));
        self.heed_arrivals();
        let links = self.directions_of(fault_number);
        if self.defers_enqueues() {
            self.stop_deferring();
        }
        match what {
            What::Begins if is_down => links.iter().for_each(|&link| self.take_down(link)),
            What::Ends if is_down => links.iter().for_each(|&link| self.bring_up(link)),
            What::Begins if is_unmarked => links.iter().for_each(|&link| self.unmark(link)),
            What::Ends if is_unmarked => links.iter().for_each(|&link| self.mark_again(link)),
            What::Begins => {
                for &link in &links {
                    let of_link = &mut self.faults_mut().links[link];
                    let stream = of_link.at_rest.remove(&fault_number).expect("a fault rests until it begins");
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
                self.forget_paths();
                return true;
            }
        }
        false
    }

    /// Returns the route for further packets of a flow that used `path`.
    pub(crate) fn detour(&mut self, path: u32, flow: crate::flow::Flow) -> u32 {
        let from = self.graph.links[self.router.link(path).index()].from;
        let to = self.end_of(path);
        let other = self.path(HostId(from), to, flow);
        self.faults_mut().counts.rerouted += u64::from(other != path);
        other
    }

    /// Returns the effects of faults since the warm-up, if the run has any faults.
    pub(crate) fn fault_counts(&self) -> Option<FaultCounts> {
        self.faults.as_deref().map(|faults| faults.counts.since(faults.before_warm_up))
    }

    /// Ends the warm-up of the counts.
    pub(super) fn faults_warmed_up(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.before_warm_up = faults.counts;
        }
    }

    /// Returns the number of packets lost to faults on a link, if the run has any faults.
    pub(crate) fn fault_drops(&self, link: LinkId) -> Option<u64> {
        self.faults.as_deref().map(|faults| faults.links[link].drops)
    }

    /// Returns the packets that faults delay.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Packet> {
        let links = self.faults.iter().flat_map(|faults| faults.links.iter());
        links.flat_map(|link| &link.held).map(|(_, packet)| packet)
    }

    /// Returns the minimum propagation delay of any route between two hosts, if links may be down during the run or
    /// switches choose.
    pub(super) fn min_propagation(&mut self, from: HostId, to: HostId) -> Option<Span> {
        let reroutes = |fault: &Fault| matches!(fault.effect, Effect::Down { .. });
        if !self.switches_choose() {
            self.faults.as_ref().filter(|faults| faults.faults.iter().any(reroutes))?;
        }
        self.min_delay(from, to)
    }

    /// Takes the packet that has reached the end of `link` and applies faults to it. Returns it if the end is a host
    /// and it was not lost; a switch has forwarded it.
    pub(crate) fn arrive_with_care(&mut self, link: LinkId) -> Option<Packet> {
        if let Some(packet) = self.faults.as_mut().and_then(|faults| faults.released.take()) {
            return self.pass_on(link, packet);
        }
        let mut packet = Packet::BLANK;
        let number = self.ports[link].first();
        self.take(link, number);
        self.collect(number, &mut packet);
        let Some(with_faults) = &mut self.faults else { return self.pass_on(link, packet) };
        let Faults { faults, links, counts, .. } = &mut **with_faults;
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

    /// Selects the delayed packet to arrive at the end of a link next. Returns false if it has been lost since.
    #[cold]
    pub(crate) fn release(&mut self, link: LinkId) -> bool {
        let now = self.now;
        let Faults { links, released, .. } = self.faults_mut();
        let held = &mut links[link].held;
        let due = held.iter().position(|(at, _)| *at == now).map(|place| held.remove(place).1);
        *released = due;
        due.is_some()
    }

    /// Forwards a packet that has reached the end of a link, or returns it if the end is a host.
    #[inline(never)]
    fn pass_on(&mut self, link: LinkId, packet: Packet) -> Option<Packet> {
        if self.ports[link].place.to_host() && self.router.link(packet.route) == Router::END {
            self.counters.packets_received += 1;
            return Some(packet);
        }
        let number = self.packet_pool.put(packet);
        let mut next = self.next_link(number);
        if self.switches_choose() {
            next = self.choose_link(number, next);
        }
        self.forward(number, next);
        None
    }

    /// Counts a packet lost to a fault on a link or at the port before it.
    pub(super) fn lost(&mut self, link: LinkId, packet: &Packet) {
        let faults = self.faults_mut();
        faults.counts.drops += 1;
        faults.links[link].drops += 1;
        self.forget(link, packet);
    }

    /// Returns the links of a fault.
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
        self.faults.as_mut().expect("called only in runs with faults")
    }

    /// Takes a link down: all packets queued for it or on it are lost.
    fn take_down(&mut self, link: LinkId) {
        let of_link = &mut self.faults_mut().links[link];
        of_link.down += 1;
        if of_link.down > 1 {
            return;
        }
        let held = std::mem::take(&mut of_link.held);
        if self.ports[link].mode == PortMode::Qdisc {
            self.begin_due(link);
        }
        let now = self.now;
        let port = &mut self.ports[link];
        if let Some(at) = port.first_arrival(&self.packet_pool) {
            self.events.cancel_arrival(at, link);
        }
        let mode = std::mem::replace(&mut port.mode, PortMode::Down);
        let travelling = match mode {
            PortMode::Shared(buffer) => self.shared_buffers[buffer.index()].flush(&mut self.packet_pool, now, port),
            PortMode::Qdisc => {
                let waiting: Vec<Packet> =
                    port.choice().into_iter().flat_map(|choice| choice.packets()).copied().collect();
                let lost = port.flush(&mut self.packet_pool, now);
                waiting.iter().for_each(|packet| {
                    self.leaves(link, packet);
                    self.release_held(link, packet);
                });
                lost
            }
            _ => {
                port.advance_to(&self.packet_pool, now);
                port.flush(&mut self.packet_pool, now)
            }
        };
        self.faults_mut().links[link].mode = mode;
        held.iter().map(|(_, packet)| packet).chain(&travelling).for_each(|packet| self.lost(link, packet));
    }

    fn bring_up(&mut self, link: LinkId) {
        let of_link = &mut self.faults_mut().links[link];
        of_link.down -= 1;
        if of_link.down == 0 {
            let mode = of_link.mode;
            self.ports[link].mode = mode;
        }
    }

    fn unmark(&mut self, link: LinkId) {
        let of_link = &mut self.faults.as_mut().expect("called only in runs with faults").links[link];
        of_link.unmarked += 1;
        if of_link.unmarked == 1 {
            of_link.threshold = Some(self.ports[link].stop_marks());
        }
    }

    fn mark_again(&mut self, link: LinkId) {
        let of_link = &mut self.faults.as_mut().expect("called only in runs with faults").links[link];
        of_link.unmarked -= 1;
        if of_link.unmarked == 0 {
            let threshold = of_link.threshold.take().expect("`unmark` stored the threshold");
            self.ports[link].resume_marks(threshold);
        }
    }
}
