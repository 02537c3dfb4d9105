//! The bytes that switches hold of each link, and the pause frames by which they stop and resume the ports before it.

use transport::Packet;
use units::{Amount, Bytes, HostId, Instant, LinkId, Span, Table};

use super::{Division, FRAME, Lossless, Part, Shared};
use crate::fabric::Net;
use crate::fabric::buffer::Sharing;
use crate::fabric::port::PortMode;
use crate::record::outcome::LinkPauses;
use crate::schedule::events::Event;

/// The state of a lossless network.
pub(crate) struct Pauses {
    parameters: Lossless,
    /// The buffer of a switch for which the graph has no other, and its policy.
    buffers: (Amount, Sharing),
    jitter: Option<Span>,
    /// Wire bytes of the largest packet.
    pub(super) packet: u64,
    pub(super) links: Table<LinkId, OfLink>,
    /// The buffer of each switch.
    pub(super) pools: Vec<Pool>,
}

/// The state of a link: the switch at its end, and the port before it.
pub(super) struct OfLink {
    /// The link in the other direction.
    back: LinkId,
    /// The index of the switch at its end, if that has a limited buffer.
    pub(super) switch: Option<usize>,
    pub(super) part: Part,
    /// Bytes held of it below the threshold, and beyond in the headroom.
    held: u64,
    over: u64,
    /// The latest frame sent was a pause.
    pub(super) asked: bool,
    /// The time since which its port is paused, if it is.
    pub(super) since: Option<Instant>,
    counted: LinkPauses,
    before_warm_up: LinkPauses,
}

/// The buffer of a switch.
#[derive(Default)]
pub(super) struct Pool {
    /// The links that end at the switch.
    members: Vec<LinkId>,
    pub(super) shared: Option<Shared>,
    /// Bytes in the part that the links share.
    used: u64,
}

impl OfLink {
    /// Returns the state of a link of which nothing is held.
    fn new(back: LinkId, switch: Option<usize>, part: Part) -> OfLink {
        let (counted, before_warm_up) = (LinkPauses::default(), LinkPauses::default());
        OfLink { back, switch, part, held: 0, over: 0, asked: false, since: None, counted, before_warm_up }
    }

    /// Returns the bytes of `held` that are in the part of the buffer that links share.
    pub(super) fn beyond_own(&self, held: u64) -> u64 {
        held.saturating_sub(self.part.threshold)
    }
}

impl Pool {
    /// Returns the bytes that may be held of one link, while `used` bytes of the shared part are in use.
    pub(super) fn threshold(&self, part: Part, used: u64) -> u64 {
        let free = |shared: Shared| shared.bytes.saturating_sub(used);
        let share = |shared: Shared| (free(shared) as f64 * shared.alpha.min(1.0)) as u64;
        part.threshold + self.shared.map_or(0, share)
    }
}

impl Pauses {
    /// Returns the state of a network before its buffers are divided.
    pub(crate) fn new(parameters: Lossless, buffers: (Amount, Sharing), jitter: Option<Span>) -> Pauses {
        Pauses { parameters, buffers, jitter, packet: 0, links: Table::default(), pools: Vec::new() }
    }

    /// Returns the threshold of a link, as of now.
    fn threshold(&self, of: &OfLink) -> u64 {
        of.switch.map_or(u64::MAX, |switch| self.pools[switch].threshold(of.part, self.pools[switch].used))
    }

    /// Returns the most bytes held of a link at which it is resumed.
    pub(super) fn resumed_at(&self, part: Part, threshold: u64) -> u64 {
        threshold.saturating_sub(self.packet + part.hysteresis)
    }

    /// Counts a packet of `size` bytes that has arrived by a link and is queued. Returns false if it has no room, unless
    /// it is `protected`.
    fn hold(&mut self, link: LinkId, size: u64, protected: bool) -> bool {
        let of = &self.links[link];
        let Some(switch) = of.switch else { return true };
        let fits = of.held + size <= self.threshold(of);
        let of = &mut self.links[link];
        if fits {
            let before = of.beyond_own(of.held);
            of.held += size;
            self.pools[switch].used += of.beyond_own(of.held) - before;
        } else if protected || of.over + size <= of.part.headroom {
            of.over += size;
        } else {
            return false;
        }
        true
    }

    /// Counts a packet of `size` bytes of a link that leaves the switch. The headroom is emptied first.
    fn release(&mut self, link: LinkId, size: u64) {
        let of = &mut self.links[link];
        let Some(switch) = of.switch else { return };
        let from_headroom = of.over.min(size);
        let before = of.beyond_own(of.held);
        of.over -= from_headroom;
        of.held -= size - from_headroom;
        self.pools[switch].used -= before - of.beyond_own(of.held);
    }

    /// Returns whether a frame must be sent against a link now: a pause if it is not paused, or else a resume.
    fn turns(&self, link: LinkId) -> bool {
        let of = &self.links[link];
        let threshold = self.threshold(of);
        match of.asked {
            false => of.held + of.over > 0 && of.held + self.packet > threshold,
            true => of.over == 0 && of.held <= self.resumed_at(of.part, threshold),
        }
    }
}

impl Net {
    /// Divides the buffers of a lossless network, before anything is sent. No packet may have more bytes than `largest`
    /// without its frame.
    ///
    /// # Panics
    /// When a buffer is too small: the check of the scenario finds that.
    pub(crate) fn divide_buffers(&mut self, largest: Bytes) {
        let Some(pauses) = &mut self.pauses else { return };
        let packet = largest + Bytes::from(self.frame_overhead);
        let division = pauses.parameters.divide(&self.graph, pauses.buffers, pauses.jitter, packet);
        let Division { parts, shared } = division.unwrap_or_else(|problem| panic!("{}", problem.message));
        let links = &self.graph.links;
        pauses.packet = packet.0;
        pauses.pools = shared.into_iter().map(|shared| Pool { shared, ..Pool::default() }).collect();
        for (index, (spec, part)) in links.iter().zip(parts).enumerate() {
            let back = links.binary_search_by_key(&(spec.from, spec.to), |link| (link.to, link.from));
            let switch = part.map(|_| (spec.to - self.graph.hosts) as usize);
            if let Some(switch) = switch {
                pauses.pools[switch].members.push(LinkId::from_index(index));
            }
            let back = LinkId::from_index(back.expect("each link has one in the other direction"));
            pauses.links.push(OfLink::new(back, switch, part.unwrap_or_default()));
        }
    }

    /// Returns the link by which a packet has reached the switch at which it is queued.
    pub(super) fn arrived_by(&self, packet: &Packet) -> LinkId {
        // Its route starts at the end of the link behind the queue.
        self.router.link(packet.route - 2)
    }

    /// Counts a packet that is to be queued at a port. Returns false if a lossless network has no room for it.
    #[inline]
    pub(in crate::fabric) fn holds(&mut self, link: LinkId, packet: &Packet, protected: bool) -> bool {
        self.pauses.is_none() || self.hold(link, packet, protected)
    }

    #[inline(never)]
    fn hold(&mut self, link: LinkId, packet: &Packet, protected: bool) -> bool {
        if self.ports[link].place.at_host() {
            return true;
        }
        let by = self.arrived_by(packet);
        let Some(pauses) = &mut self.pauses else { return true };
        let has_room = pauses.hold(by, packet.size.into(), protected);
        self.send_frames(by);
        has_room
    }

    /// Counts a packet that has left the queue of a port.
    #[inline]
    pub(in crate::fabric) fn release_held(&mut self, link: LinkId, packet: &Packet) {
        if self.pauses.is_some() {
            self.give_back(link, packet);
        }
    }

    #[inline(never)]
    fn give_back(&mut self, link: LinkId, packet: &Packet) {
        if self.ports[link].place.at_host() {
            return;
        }
        let by = self.arrived_by(packet);
        if let Some(pauses) = &mut self.pauses {
            pauses.release(by, packet.size.into());
        }
        self.send_frames(by);
    }

    /// Sends the frames that are due after the switch at the end of `link` holds more of it, or less. Where links share a
    /// buffer, that changes the thresholds of all.
    fn send_frames(&mut self, link: LinkId) {
        let Some(pauses) = &self.pauses else { return };
        let Some(switch) = pauses.links[link].switch else { return };
        let pool = &pauses.pools[switch];
        let concerned = if pool.shared.is_some() { pool.members.as_slice() } else { std::slice::from_ref(&link) };
        let due: Vec<LinkId> = concerned.iter().copied().filter(|link| pauses.turns(*link)).collect();
        due.into_iter().for_each(|link| self.send_frame(link));
    }

    /// Sends a frame against a link: behind the packet in transmission there, and before all queued ones.
    fn send_frame(&mut self, link: LinkId) {
        let Some(pauses) = &mut self.pauses else { return };
        let of = &mut pauses.links[link];
        of.asked = !of.asked;
        let at = self.ports[of.back].interject(self.now, FRAME);
        self.events.push(at.saturating_add(pauses.parameters.response), Event::PauseFrame(link));
    }

    /// Lets the port before a link heed a frame: pause, or send again. Returns the number of the port among those by which
    /// hosts queue, if it sends again and senders may wait there.
    pub(crate) fn heed_frame(&mut self, link: LinkId) -> Option<HostId> {
        let now = self.now;
        // A transmission that is due begins before.
        self.begin_due(link);
        let is_paused = !self.ports[link].qdisc_mut().paused;
        self.ports[link].set_paused(is_paused);
        let of = &mut self.pauses.as_mut()?.links[link];
        if is_paused {
            of.since = Some(now);
            of.counted.frames += 1;
        } else if let Some(since) = of.since.take() {
            of.counted.paused += now - since;
        }
        if self.ports[link].mode == PortMode::Qdisc {
            self.begin_due(link);
            self.arm(link);
        }
        self.turns_at(link).filter(|_| !is_paused)
    }

    /// Ends the warm-up of the counts.
    pub(in crate::fabric) fn pauses_warmed_up(&mut self) {
        let now = self.now;
        for of in self.pauses.iter_mut().flat_map(|pauses| pauses.links.iter_mut()) {
            of.before_warm_up = of.until(now);
        }
    }

    /// Returns the pauses of a link since the warm-up, in a lossless network.
    pub(crate) fn pauses_of(&self, link: LinkId) -> Option<LinkPauses> {
        let of = &self.pauses.as_deref()?.links[link];
        let (until_now, before) = (of.until(self.now), of.before_warm_up);
        Some(LinkPauses { frames: until_now.frames - before.frames, paused: until_now.paused - before.paused })
    }
}

impl OfLink {
    /// Returns the pauses until `now`.
    fn until(&self, now: Instant) -> LinkPauses {
        let since = self.since.map_or(Span::ZERO, |since| now.saturating_sub(since));
        LinkPauses { paused: self.counted.paused + since, ..self.counted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::port::Fate;
    use crate::fabric::tests::{full, lossless, tiers};

    const PACKET: u64 = 1000;
    const A: LinkId = LinkId(0);
    const B: LinkId = LinkId(1);

    /// Two links into a switch. Each has a threshold of 3000 B of its own, and 2000 B of headroom.
    fn pauses(shared: Option<Shared>) -> Pauses {
        let buffers = (Amount::Bytes(0), Sharing::PerPort);
        let parameters =
            Lossless { threshold: None, hysteresis: Amount::Packets(1), headroom: None, response: Span::ZERO };
        let part = Part { threshold: 3000, hysteresis: 1000, headroom: 2000 };
        let link = |_| OfLink::new(LinkId(9), Some(0), part);
        Pauses {
            packet: PACKET,
            links: (0..2).map(link).collect(),
            pools: vec![Pool { members: vec![A, B], shared, used: 0 }],
            ..Pauses::new(parameters, buffers, None)
        }
    }

    fn turn(pauses: &mut Pauses, link: LinkId) -> bool {
        let turns = pauses.turns(link);
        pauses.links[link].asked ^= turns;
        turns
    }

    /// A pause follows when one more packet might not have room: at 2500 B. Then 500 B have room below the threshold,
    /// and two packets in the headroom. At 1000 B it is resumed: a packet and the hysteresis below the threshold.
    #[test]
    fn links_are_paused_at_the_threshold_and_resumed_below() {
        let mut pauses = pauses(None);
        assert!(pauses.hold(A, 1000, false) && pauses.hold(A, 1000, false) && !turn(&mut pauses, A));
        assert!(pauses.hold(A, 500, false) && turn(&mut pauses, A) && !turn(&mut pauses, A), "one frame");
        assert!(pauses.hold(A, 500, false) && pauses.hold(A, 1000, false) && pauses.hold(A, 1000, false));
        assert!(!pauses.hold(A, 1, false), "no room is left");
        assert!(pauses.hold(A, 10, true), "but for a protected packet");
        assert_eq!((pauses.links[A].held, pauses.links[A].over), (3000, 2010));
        pauses.release(A, 10);
        pauses.release(A, 3000);
        assert_eq!((pauses.links[A].held, pauses.links[A].over), (2000, 0), "the headroom is emptied first");
        pauses.release(A, 999);
        assert!(!turn(&mut pauses, A));
        pauses.release(A, 1);
        assert!(turn(&mut pauses, A) && !pauses.links[A].asked);
        assert!(!turn(&mut pauses, B) && pauses.links[B].held == 0);
    }

    /// With a threshold below a packet each packet is held in the headroom, and pauses its link. Without one it is not paused.
    #[test]
    fn a_link_is_paused_for_its_headroom_alone_but_not_for_nothing() {
        let mut pauses = pauses(None);
        pauses.links[A].part.threshold = 500;
        assert!(!turn(&mut pauses, A));
        assert!(pauses.hold(A, 1000, false) && turn(&mut pauses, A) && pauses.links[A].held == 0);
        pauses.release(A, 1000);
        assert!(turn(&mut pauses, A) && !pauses.links[A].asked);
    }

    /// 8000 B are shared, of which each link may hold half of the free ones beyond its own 3000 B.
    #[test]
    fn a_shared_part_counts_for_all_links() {
        let mut pauses = pauses(Some(Shared { bytes: 8000, alpha: 0.5 }));
        let threshold = |pauses: &Pauses, link: LinkId| pauses.threshold(&pauses.links[link]);
        assert_eq!(threshold(&pauses, A), 7000);
        let twice = Shared { bytes: 8000, alpha: 2.0 };
        assert_eq!(threshold(&self::pauses(Some(twice)), A), 11_000, "no more than all");
        (0..5).for_each(|_| assert!(pauses.hold(A, 1000, false)));
        // Two of the five are beyond its own: 6000 B are free.
        assert_eq!((pauses.pools[0].used, threshold(&pauses, A), threshold(&pauses, B)), (2000, 6000, 6000));
        assert!(!turn(&mut pauses, A), "a packet more has room");
        (0..4).for_each(|_| assert!(pauses.hold(B, 1000, false)));
        assert_eq!((pauses.pools[0].used, threshold(&pauses, A)), (3000, 5500));
        assert!(turn(&mut pauses, A), "because of what the other holds");
        pauses.release(B, 1000);
        (0..5).for_each(|_| pauses.release(A, 1000));
        assert_eq!((pauses.pools[0].used, threshold(&pauses, A)), (0, 7000));
        assert!(turn(&mut pauses, A));
    }

    /// Packets of one link take room from another: one more packet of that would have none below its threshold.
    #[test]
    fn link_is_paused_for_what_the_switch_holds_of_another() {
        let mut net = lossless(tiers(1, 5, 0), 0);
        let mut pauses = pauses(Some(Shared { bytes: 8000, alpha: 0.5 }));
        (0..5).for_each(|_| assert!(pauses.hold(A, 1000, false)));
        (0..4).for_each(|_| assert!(pauses.hold(B, 1000, false)));
        net.pauses = Some(Box::new(pauses));
        net.send_frames(B);
        assert_eq!(net.events.pop(Instant::MAX).map(|(_, event)| event), Some(Event::PauseFrame(A)));
        assert_eq!(net.events.pop(Instant::MAX), None);
    }

    #[test]
    fn largest_packet_has_its_frame() {
        let net = lossless(tiers(1, 2, 0), 20);
        assert_eq!(net.pauses.map(|pauses| pauses.packet), Some(1520));
    }

    /// A packet takes 12 us. The second one begins when the first one ends, before a pause of the same instant.
    #[test]
    fn transmission_that_is_due_begins_before_a_pause() {
        let mut net = lossless(tiers(1, 2, 0), 0);
        let packet = full(&mut net, (0, 1), 0);
        // Its route starts at the end of the switch's link.
        let packet = Packet { route: packet.route + 2, ..packet };
        (0..3).for_each(|_| assert_eq!(net.offer_to_qdisc(B, packet, false), Fate::Queued));
        net.now = Instant::from_micros(12);
        net.heed_frame(B);
        assert_eq!(net.ports[B].waiting_in_line(), 1);
        net.now = Instant::from_micros(24);
        net.begin_due(B);
        assert_eq!(net.ports[B].waiting_in_line(), 1, "it is paused");
    }

    /// Paused from 10 us to 20 us, from 30 us to 40 us and from 50 us on. The warm-up ends at 35 us.
    #[test]
    fn pauses_are_counted_from_the_warm_up_on() {
        let mut net = lossless(tiers(1, 2, 0), 0);
        let mut counts = Vec::new();
        for micros in [10, 20, 30, 35, 40, 50, 60] {
            net.now = Instant::from_micros(micros);
            match micros {
                35 => net.pauses_warmed_up(),
                60 => {}
                _ => _ = net.heed_frame(B),
            }
            counts.extend(net.pauses_of(B).map(|LinkPauses { frames, paused }| (micros, frames, paused)));
        }
        let expected = [(10, 1, 0), (20, 1, 10), (30, 2, 10), (35, 0, 0), (40, 0, 5), (50, 1, 5), (60, 1, 15)];
        assert_eq!(counts, expected.map(|(at, frames, paused)| (at, frames, Span::from_micros(paused))));
    }
}
