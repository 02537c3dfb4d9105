//! Room, shared buffers and events of ports with a queueing discipline ([`QdiscState`](crate::fabric::port::QdiscState)).
//!
//! While packets are queued, the end of each transmission is an event of its own, one more per packet-hop, unless
//! [departures are omitted](Net::omit_departures). A transmission that is due begins before anything else that happens to
//! the port at the same instant. So the order of events of that time does not matter.

use transport::telemetry::Record;
use transport::{Flags, Header, Packet};
use units::{LinkId, Span};

use super::{Net, onwards};
use crate::fabric::port::{Fate, PortMode, QdiscState, Verdict, units_of_wait};
use crate::fabric::qdisc::trimming::is_control;
use crate::schedule::events::Event;

impl Net {
    /// Begins the next transmission at a port after one has ended.
    pub(crate) fn depart(&mut self, link: LinkId) {
        self.ports[link].qdisc_mut().armed = false;
        self.begin_due(link);
        self.arm(link);
    }

    /// Begins the transmission of the packet in slot `number`, which [skips the discipline](Port::skips_discipline).
    pub(super) fn skip_discipline(&mut self, link: LinkId, number: u32) -> Fate {
        let packet = self.packet_pool.packet_mut(number);
        packet.route += 1;
        let (flags, size) = (packet.flags, packet.size);
        if !flags.has(Flags::EXTENDED) {
            packet.wait_or_extension = 0;
        } else if !flags.has(Flags::ACK) {
            let packet = *packet;
            self.write_record(link, &packet, 0);
        }
        let port = &mut self.ports[link];
        let at = port.launch(self.now, |_| Span::ZERO, size);
        let first = port.transmit(&mut self.packet_pool, number, at);
        if let Some(cut) = self.cut_behind(link) {
            self.send_on(cut, link);
            return Fate::Queued;
        }
        first.map_or(Fate::Queued, Fate::First)
    }

    /// As [`offer_to_qdisc`](Net::offer_to_qdisc), for a packet in the packet pool, where it stays if it is dropped.
    pub(super) fn offer_stored_to_qdisc(&mut self, link: LinkId, number: u32, protected: bool) -> Fate {
        let mut packet = onwards(&self.packet_pool.at(number).packet);
        if !self.admit(link, &mut packet, protected) {
            return Fate::Dropped;
        }
        if self.ports[link].may_begin(self.now) {
            *self.packet_pool.packet_mut(number) = packet;
            self.begin(link, number, Span::ZERO);
        } else {
            self.enqueue(link, packet);
            self.packet_pool.free(number);
        }
        Fate::Queued
    }

    /// Enqueues a packet, or drops it; a protected one is enqueued also when there is no room. Its route already starts
    /// at the end of this link.
    pub(super) fn offer_to_qdisc(&mut self, link: LinkId, mut packet: Packet, protected: bool) -> Fate {
        if !self.admit(link, &mut packet, protected) {
            return Fate::Dropped;
        }
        if self.ports[link].may_begin(self.now) {
            let number = self.packet_pool.put(packet);
            self.begin(link, number, Span::ZERO);
        } else {
            self.enqueue(link, packet);
        }
        Fate::Queued
    }

    /// Returns whether an arriving packet is accepted, and marks it; a drop is counted.
    fn admit(&mut self, link: LinkId, packet: &mut Packet, protected: bool) -> bool {
        self.begin_due(link);
        let now = self.now;
        let port = &mut self.ports[link];
        let (idle, with_it) = (port.may_begin(now), port.counted_with(packet));
        let verdict = port.verdict_on(packet, with_it, now);
        if verdict == Verdict::Drop
            || !(idle || protected || self.make_room(link, packet) || self.keep_headers(link, packet))
            || !(idle || self.holds(link, packet, protected))
        {
            self.ports[link].count_drop();
            return false;
        }
        if verdict == Verdict::Mark {
            packet.flags = self.ports[link].mark(packet.flags);
        }
        true
    }

    /// Returns whether a packet may be queued without its payload, where ports trim.
    #[cold]
    fn keep_headers(&mut self, link: LinkId, packet: &mut Packet) -> bool {
        let &mut QdiscState { trim, control, .. } = self.ports[link].qdisc_mut();
        let Some(trim) = trim else { return false };
        if !(is_control(packet) || trim.trims(packet)) || !trim.has_room(control, packet) {
            return false;
        }
        self.counters.trims += u64::from(packet.is_trimmed());
        true
    }

    /// Queues a packet at a port that is not idle.
    fn enqueue(&mut self, link: LinkId, packet: Packet) {
        let port = &mut self.ports[link];
        port.push(self.now, packet);
        if let Some(buffer) = port.qdisc_mut().buffer {
            let buffer = &mut self.shared_buffers[buffer.index()];
            buffer.enter(&packet);
            buffer.changed(link, port, &packet);
        }
        self.arm(link);
    }

    /// Begins all transmissions that are due.
    pub(super) fn advance_qdiscs(&mut self) {
        let now = self.now;
        for link in (0..self.ports.len()).map(LinkId::from_index) {
            if self.ports[link].mode == PortMode::Qdisc {
                self.now = self.now_at(link);
                self.begin_due(link);
                self.arm(link);
                self.now = now;
            }
        }
    }

    /// Begins transmissions while the wire is free and packets are queued; more than one where packets have no size.
    pub(super) fn begin_due(&mut self, link: LinkId) {
        let now = self.now;
        while let Some((slot, start)) = self.ports[link].pop_due(now) {
            self.now = start;
            // It counts as the event that it would be.
            self.counters.events += u64::from(self.ports[link].qdisc_mut().departs_unseen);
            self.leaves(link, &slot.packet);
            let number = self.packet_pool.put(slot.packet);
            self.begin(link, number, start - slot.at);
            self.release_held(link, &slot.packet);
        }
        self.now = now;
    }

    /// Makes transmissions at switches begin when their port is next looked at, as of the time at which they were due,
    /// wherever that makes no difference. The port is looked at when a packet arrives at it or has crossed its wire. No
    /// faults, pauses, agents, choices of paths or limits of shared buffers may depend on it meanwhile.
    pub(crate) fn omit_departures(&mut self) {
        if self.faults.is_some() || self.pauses.is_some() || self.switches_choose() || self.agents.are_there() {
            return;
        }
        for port in self.ports.iter_mut().filter(|port| port.mode == PortMode::Qdisc && port.place.at_switch()) {
            let buffer = port.qdisc_mut().buffer;
            let is_seen = buffer.is_some_and(|buffer| self.shared_buffers[buffer.index()].has_limits());
            port.qdisc_mut().departs_unseen = !is_seen;
        }
    }

    /// Schedules all ends of transmissions again, before anything is sent.
    pub(super) fn see_departures(&mut self) {
        let ports = self.ports.iter_mut().filter(|port| port.mode == PortMode::Qdisc);
        ports.for_each(|port| port.qdisc_mut().departs_unseen = false);
    }

    /// As [`take`](Net::take), from a port where packets are queued.
    #[inline(never)]
    pub(super) fn take_before_queue(&mut self, link: LinkId, number: u32) {
        self.begin_due(link);
        if let Some(at) = self.ports[link].take_before_queue(&self.packet_pool, number) {
            self.events.push_arrival(self.now, at, link);
        }
        self.counters.packet_hops += 1;
    }

    /// Begins the transmission of a packet in the packet pool that was queued for `waited`.
    fn begin(&mut self, link: LinkId, number: u32, waited: Span) {
        let wait = units_of_wait(waited);
        let packet = self.packet_pool.packet_mut(number);
        let is_data = packet.payload > 0;
        if packet.flags.has(Flags::EXTENDED) {
            let packet = *packet;
            self.write_record(link, &packet, wait);
        } else {
            packet.wait_or_extension = wait;
        }
        let (now, jitter) = (self.now, self.jitter);
        let port = &mut self.ports[link];
        let is_late = port.place.at_host() && is_data;
        let late = |transmission| if is_late { jitter.draw(now, link, transmission) } else { Span::ZERO };
        let first = port.begin(&mut self.packet_pool, now, number, late);
        if let Some(cut) = self.cut_behind(link) {
            self.send_on(cut, link);
        } else if let Some(at) = first {
            self.events.push_arrival(now, at, link);
        }
    }

    /// Writes into the extension of a packet whose transmission begins: how long it was queued, and at a switch the port's
    /// record, if the packet collects records.
    #[inline(never)]
    fn write_record(&mut self, link: LinkId, packet: &Packet, wait: u32) {
        let of = self.cut_behind(link).unwrap_or(link);
        let extension = self.extensions.at(packet.wait_or_extension);
        extension.wait = wait;
        if packet.flags.has(Flags::ACK) {
            // It returns the records of its data.
            return;
        }
        if let Some(records) = extension.header.as_mut().and_then(Header::records) {
            let port = &self.ports[link];
            if port.place.at_switch() {
                records.push(Record {
                    port: of.0,
                    queued: port.waiting_bytes().min(u32::MAX.into()) as u32,
                    sent: port.bytes,
                    at: self.now,
                    rate: self.graph.links[of.index()].rate,
                });
            }
        }
    }

    /// Returns whether an arriving packet may be queued; removes others if the discipline chooses some.
    fn make_room(&mut self, link: LinkId, packet: &Packet) -> bool {
        let mut settled = false;
        loop {
            let port = &mut self.ports[link];
            let buffer = port.qdisc_mut().buffer;
            let fits = match buffer {
                Some(buffer) => self.shared_buffers[buffer.index()].has_room(link, port, packet),
                // The limit of a host's port is for its senders.
                None => port.place.at_host() || !port.limit().exceeded(port.length_with(packet)),
            };
            if fits {
                return true;
            }
            if let Some(buffer) = buffer
                && !settled
            {
                // Departures from other ports that are due by now make room.
                settled = true;
                self.shared_buffers[buffer.index()]
                    .members()
                    .to_vec()
                    .into_iter()
                    .for_each(|member| self.begin_due(member));
                continue;
            }
            let Some(out) = port.push_out(self.now, packet) else { return false };
            self.leaves(link, &out);
            self.dropped(link, &out);
        }
    }

    /// Removes a packet from the shared buffer, if there is one.
    pub(super) fn leaves(&mut self, link: LinkId, packet: &Packet) {
        let buffer = self.ports[link].qdisc_mut().buffer;
        if let Some(buffer) = buffer {
            let buffer = &mut self.shared_buffers[buffer.index()];
            buffer.leave(packet);
            buffer.changed(link, &self.ports[link], packet);
        }
    }

    /// Schedules an event at the end of the transmission while packets are queued.
    pub(super) fn arm(&mut self, link: LinkId) {
        let port = &mut self.ports[link];
        if port.waiting() == 0 || port.qdisc_mut().paused {
            return;
        }
        if port.qdisc_mut().departs_unseen {
            return port.heed_queue();
        }
        let (idle_at, choice) = (port.idle_at(), port.qdisc_mut());
        if !std::mem::replace(&mut choice.armed, true) {
            self.events.push(idle_at, Event::Departure(link));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{drain, full, pushing_out, service, serving, star, tiers};
    use super::*;
    use crate::fabric::buffer::{Limits, QueueState};
    use crate::fabric::network::Sharing;
    use crate::fabric::shared_buffer::SharedBuffer;
    use std::sync::{Arc, Mutex};
    use units::{Amount, Bytes, HostId, Instant, Stream, Value};

    /// Offers a full packet to the switch's port to a host, at `now`.
    fn offer(net: &mut Net, to: HostId, rank: u32) -> Fate {
        let from = u32::from(to.0 == 0);
        let packet = full(net, (from, to.0), 0);
        // Its route already starts at the end of the link.
        net.offer_to_qdisc(LinkId(to.0), Packet { rank, route: packet.route + 2, ..packet }, false)
    }

    /// Ten packets of memory with alpha = 1: one is in transmission and five are queued. The next has a better rank than
    /// these, and takes the place of one.
    #[test]
    fn packet_that_is_pushed_out_is_a_drop_and_frees_its_memory() {
        let mut net = pushing_out(2);
        (0..6).for_each(|_| assert_eq!(offer(&mut net, HostId(1), 5), Fate::Queued));
        assert_eq!((net.counters.drops, net.shared_buffers[0].room(0, 0).value), (0, 5));
        assert_eq!(offer(&mut net, HostId(1), 0), Fate::Queued);
        assert_eq!((net.counters.drops, net.shared_buffers[0].room(0, 0).value), (1, 5));
    }

    /// A packet takes 12 us. From the start on one is in transmission at each of two ports, and five and three are queued.
    /// From 6 us on that is one at a third port, and one is queued: the only free memory is too little for a second. At 12
    /// us the first two ports send their next packets.
    #[test]
    fn departures_from_other_ports_at_the_same_instant_make_room() {
        let mut net = pushing_out(4);
        for (to, packets) in [(1, 6), (2, 4)] {
            (0..packets).for_each(|_| assert_eq!(offer(&mut net, HostId(to), 0), Fate::Queued));
            assert_eq!(offer(&mut net, HostId(to), 0), Fate::Dropped);
        }
        net.now = Instant::from_micros(6);
        let third = [(); 3].map(|()| offer(&mut net, HostId(3), 0));
        assert_eq!(third, [Fate::Queued, Fate::Queued, Fate::Dropped]);
        net.now = Instant::from_micros(12) - Span(1);
        assert_eq!(offer(&mut net, HostId(3), 0), Fate::Dropped);
        net.now = Instant::from_micros(12);
        assert_eq!(offer(&mut net, HostId(3), 0), Fate::Queued);
    }

    /// The lengths that limits are told of, with the ports.
    struct Told(Arc<Mutex<Vec<(LinkId, u64)>>>);
    impl Limits for Told {
        fn limit(&self, _: &QueueState, _: u64) -> u64 {
            u64::MAX
        }
        fn changed(&mut self, queue: &QueueState, _: u64) {
            self.0.lock().unwrap().push((queue.port, queue.length));
        }
        fn moves(&mut self, _: LinkId, _: LinkId) {}
    }

    /// Random bursts over three leaves, whose ports mark, drop and push out, with pauses in which all of them fall idle.
    #[test]
    fn transmissions_begin_at_the_same_times_without_events() {
        for (discipline, sharing, seed) in [
            ("priority", Sharing::PerPort, 1),
            ("priority", Sharing::Dynamic(1.0), 2),
            ("pfabric", Sharing::PerPort, 3),
            ("pfabric", Sharing::Dynamic(0.5), 4),
            ("dwrr", Sharing::PerPort, 5),
            ("dwrr", Sharing::Dynamic(1.0), 6),
        ] {
            let run = |unseen: bool| {
                let more = [("when_full", Value::Choice("push-out")), ("quantum", Value::Size(Bytes(1500)))];
                let mut net = serving(tiers(3, 9, 1), sharing, seed, None, service([discipline, "fifo"]), &more);
                if unseen {
                    net.omit_departures();
                }
                let mut stream = Stream::new(seed, "bursts", 0);
                let (mut arrived, mut events) = (Vec::new(), 0);
                for seq in 0..400 {
                    let from = stream.below(9) as u32;
                    let to = (from + 1 + stream.below(3) as u32) % 9;
                    let packet = full(&mut net, (from, to), seq);
                    let payload = 1 + stream.below(1460) as u16;
                    let rank = stream.below(3) as u32;
                    net.send(Packet { payload, size: payload + 40, rank, ..packet });
                    if seq % 100 == 99 {
                        arrived.extend(drain(&mut net));
                    }
                    events = net.counters.events;
                }
                net.advance_ports();
                let ports = net.ports.iter().map(|port| {
                    let watch = port.watch();
                    (port.packets, port.bytes, watch.drops, watch.marks, watch.max_waiting, watch.levels.clone())
                });
                let ports: Vec<_> = ports.collect();
                ((arrived, ports, net.counters.drops), events)
            };
            let (seen, unseen) = (run(false), run(true));
            assert!(seen.0.2 > 0, "{discipline}");
            assert!(seen.0 == unseen.0, "{discipline}, {sharing:?}");
            assert_eq!((seen.1, unseen.1 > 0), (0, true), "departures are counted where they are no events");
        }
    }

    /// The first of three packets is not queued; the others are, and leave after 12 us each.
    #[test]
    fn limits_are_told_of_each_packet_that_joins_or_leaves_a_queue() {
        let mut net = pushing_out(2);
        let told = Arc::new(Mutex::new(Vec::new()));
        let limits = Box::new(Told(told.clone()));
        net.shared_buffers[0] = SharedBuffer::new(Amount::Packets(10), 1.0).limited_by(Some(limits));
        (0..3).for_each(|_| assert_eq!(offer(&mut net, HostId(1), 0), Fate::Queued));
        for micros in [12, 24] {
            net.now = Instant::from_micros(micros);
            net.begin_due(LinkId(1));
        }
        assert_eq!(*told.lock().unwrap(), [1, 2, 1, 0].map(|length| (LinkId(1), length)));
    }

    /// 41 B take 328 ns on each link, and 20 us to propagate. Data is late by less than its own time, which an
    /// acknowledgement is not.
    #[test]
    fn single_byte_is_late_as_all_data_is() {
        for (payload, is_data) in [(0, false), (1, true)] {
            let mut net = star(2, 1, None, ["fifo", "priority"]);
            let packet = Packet { payload, size: 41, ..full(&mut net, (0, 1), 0) };
            net.send(packet);
            let [(at, _)] = drain(&mut net)[..] else { panic!("one packet arrives") };
            let late = at - Instant::from_nanos(2 * 328 + 40_000);
            assert!(late < Span::from_nanos(328) && (late > Span::ZERO) == is_data, "{payload}: {late}");
        }
    }
}
