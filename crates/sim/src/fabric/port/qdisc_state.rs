//! Ports with a queueing discipline that chooses at each departure, or whose marker must see departures.
//!
//! Such a port cannot tell on a packet's arrival when the packet will depart. Queued packets are in the queue of its
//! discipline; packets whose transmission has begun are on the wire, as at any other port.

use transport::{Flags, Packet};
use units::{Bytes, Instant, Span};

use super::{BufferIndex, Limits, Port, PortMode, Verdict};
use crate::fabric::level::Length;
use crate::fabric::marker::Marker;
use crate::fabric::packet_pool::{NONE, PacketPool, Slot};
use crate::fabric::qdisc::Queue;
use crate::fabric::qdisc::trimming::{Trim, is_control};

/// The queueing discipline and marker of a port, with the state of its queue.
pub(crate) struct QdiscState {
    queue: Box<dyn Queue>,
    /// None: packets are marked on arrival above the port's threshold, as at ports without a discipline.
    marker: Option<Box<dyn Marker>>,
    /// The shared buffer that the port draws on, if there is one.
    pub buffer: Option<BufferIndex>,
    /// Markers and shared buffers count the queue of a packet's class, not the port's.
    pub by_class: bool,
    /// How the port trims packets, if it does, and the queued packets without payload.
    pub trim: Option<Trim>,
    pub control: Length,
    /// The end of the transmission is a pending event.
    pub armed: bool,
    /// No event tells of the end of a transmission ([`Net::omit_departures`](crate::fabric::Net::omit_departures)).
    pub departs_unseen: bool,
    /// The node at the end of the link has paused the port.
    pub paused: bool,
    /// The marker decides when a packet's transmission begins, not on its arrival.
    pub marks_at_departure: bool,
    /// Ignores the marker's decisions, because of a fault.
    pub unheard: bool,
}

impl QdiscState {
    /// Returns all queued packets.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.queue.packets()
    }
}

impl Port {
    /// Returns the port with a queueing discipline and, unless its threshold decides on arrival, a marker of its own.
    pub(crate) fn with_qdisc(mut self, queue: Box<dyn Queue>, marker: Option<Box<dyn Marker>>) -> Port {
        let buffer = std::mem::replace(&mut self.mode, PortMode::Qdisc).buffer();
        let cold = self.cold.get_or_insert_default();
        cold.choice = Some(QdiscState {
            queue,
            marker,
            buffer,
            by_class: false,
            trim: None,
            control: Length::default(),
            armed: false,
            departs_unseen: false,
            paused: false,
            marks_at_departure: false,
            unheard: false,
        });
        self.heed_discipline();
        self
    }

    /// Returns the queueing discipline's state, if the port has one.
    pub(crate) fn choice(&self) -> Option<&QdiscState> {
        self.cold.as_ref()?.choice.as_ref()
    }

    /// As [`choice`](Port::choice), for a port that has a queueing discipline.
    pub(crate) fn qdisc_mut(&mut self) -> &mut QdiscState {
        self.cold.as_mut().and_then(|cold| cold.choice.as_mut()).expect("a port that chooses")
    }

    /// Returns whether a packet could begin its transmission, at a port that has a queueing discipline.
    #[inline]
    pub(crate) fn may_begin(&self, now: Instant) -> bool {
        self.is_idle(now) && !self.choice().is_some_and(|choice| choice.paused)
    }

    /// Updates whether a packet that is alone passes the port of a switch as if there were no discipline.
    pub(crate) fn heed_discipline(&mut self) {
        let has_no_say = |choice: &QdiscState| choice.marker.is_none() && !choice.paused;
        self.limits = self.limits.skipping(self.place.at_switch() && self.choice().is_some_and(has_no_say));
    }

    /// Pauses the port, or lets it send again.
    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.qdisc_mut().paused = paused;
        self.heed_discipline();
    }

    /// Returns whether an arriving packet of `size` bytes is alone and passes unmarked.
    #[inline(always)]
    pub(crate) fn skips_discipline(&self, now: Instant, size: u16) -> bool {
        self.limits.one_skips()
            & (self.busy_until <= now)
            & (self.waiting_packets == 0)
            & self.limits.one_passes()
            & (size <= Limits::USUAL)
    }

    /// Sends a frame of the port's own behind the packet in transmission, before all queued ones. Returns the time of its
    /// arrival at the other end. Its bytes count, its packet does not.
    pub(crate) fn interject(&mut self, now: Instant, frame: Bytes) -> Instant {
        self.bytes += frame.0;
        self.busy_until = self.busy_until.max(now).saturating_add(self.transmission.of(frame));
        self.busy_until.saturating_add(self.delay)
    }

    /// Returns the length of the queue.
    fn length(&self) -> Length {
        Length { packets: self.waiting(), bytes: self.waiting_bytes }
    }

    /// Returns the length of the queue with one more packet.
    pub(crate) fn length_with(&self, packet: &Packet) -> Length {
        self.length().with(packet)
    }

    /// Returns the length of the queue that markers and shared buffers count for a packet.
    fn counted(&self, packet: &Packet) -> Length {
        match self.choice().filter(|choice| choice.by_class) {
            Some(choice) => choice.queue.length_of_class(packet),
            None => self.length(),
        }
    }

    /// As [`length_with`](Port::length_with), of the queue that markers and shared buffers count.
    pub(crate) fn counted_with(&self, packet: &Packet) -> Length {
        self.counted(packet).with(packet)
    }

    /// Returns the class of a packet, and the share of the link's rate at which its queue is sent.
    pub(crate) fn drain_of(&self, packet: &Packet) -> (usize, f64) {
        self.choice().map_or((0, 1.0), |choice| choice.queue.drain_of(packet))
    }

    /// Returns the marker's verdict on an arriving packet, given the length of the queue with it.
    pub(crate) fn verdict_on(&mut self, packet: &Packet, with_it: Length, now: Instant) -> Verdict {
        let above = self.mark_above();
        let choice = self.qdisc_mut();
        let congested = match &mut choice.marker {
            None => above.exceeded(with_it),
            Some(marker) => !choice.marks_at_departure && marker.decides(packet, with_it, now),
        };
        let congested = congested && !choice.unheard;
        self.verdict(congested, packet.flags)
    }

    /// Enqueues a packet at the port.
    pub(crate) fn push(&mut self, now: Instant, packet: Packet) {
        let Length { packets, bytes } = self.length_with(&packet);
        self.count_stay(packets - 1, packets, now);
        let choice = self.qdisc_mut();
        if choice.trim.is_some() && is_control(&packet) {
            choice.control.packets += 1;
            choice.control.bytes += u64::from(packet.size);
        }
        choice.queue.push(Slot { at: now, packet });
        (self.waiting_packets, self.waiting_bytes) = (packets as u32, bytes);
    }

    /// Dequeues the packet whose transmission is to begin by now, if the wire is free. It arrived at [`Slot::at`]. Returns
    /// the time at which the transmission begins too.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Slot, Instant)> {
        if self.waiting_packets == 0 || !self.may_begin(now) {
            return None;
        }
        let busy_until = self.busy_until;
        let qdisc = self.qdisc_mut();
        let start = if qdisc.departs_unseen { busy_until } else { now };
        let slot = qdisc.queue.pop()?;
        self.leaves(&slot.packet, start);
        if self.waiting_packets == 0 {
            self.waiting = NONE;
        }
        Some((slot, start))
    }

    /// Makes the packet in transmission count as the one before the queue: when it is taken, transmissions are due.
    pub(crate) fn heed_queue(&mut self) {
        debug_assert!(self.waiting_packets == 0 || !self.line.is_empty());
        self.waiting = if self.waiting_packets == 0 { NONE } else { self.line.first() };
    }

    /// As [`take`](Port::take), at a port that [`departs_unseen`](QdiscState::departs_unseen) and has begun all
    /// transmissions that are due.
    pub(crate) fn take_before_queue(&mut self, packet_pool: &PacketPool, number: u32) -> Option<Instant> {
        self.waiting = NONE;
        let at = self.take(packet_pool, number);
        self.heed_queue();
        at
    }

    /// Removes and returns a packet that is dropped to make room for `arriving`, if the discipline has one.
    pub(crate) fn push_out(&mut self, now: Instant, arriving: &Packet) -> Option<Packet> {
        let packet = self.qdisc_mut().queue.push_out(arriving)?;
        self.leaves(&packet, now);
        self.count_drop();
        Some(packet)
    }

    /// Dequeues a packet that a fault drops, as long as one is queued.
    pub(crate) fn drop_waiting(&mut self, now: Instant) -> Option<Packet> {
        self.choice()?;
        let packet = self.qdisc_mut().queue.pop()?.packet;
        self.leaves(&packet, now);
        Some(packet)
    }

    /// Accounts for a packet's departure from the queue.
    fn leaves(&mut self, packet: &Packet, now: Instant) {
        let packets = self.waiting();
        self.count_stay(packets, packets, now);
        self.waiting_packets -= 1;
        self.waiting_bytes -= u64::from(packet.size);
        let choice = self.qdisc_mut();
        if choice.trim.is_some() && is_control(packet) {
            choice.control.packets -= 1;
            choice.control.bytes -= u64::from(packet.size);
        }
    }

    /// Begins the transmission of the packet in slot `number`. Returns the time of its arrival at the other end if it is first in the
    /// in-flight FIFO, to be scheduled. Its arrival is delayed by `late`, a function of the transmission time, but it
    /// keeps its order.
    pub(crate) fn begin(
        &mut self,
        packet_pool: &mut PacketPool,
        now: Instant,
        number: u32,
        late: impl FnOnce(Span) -> Span,
    ) -> Option<Instant> {
        let packet = packet_pool.packet_mut(number);
        if self.decides_at_departure(packet, now) {
            packet.flags = self.mark(packet.flags);
        }
        let at = self.launch(now, late, packet.size);
        self.transmit(packet_pool, number, at)
    }

    /// Returns whether the port's own marker marks a packet whose transmission begins.
    fn decides_at_departure(&mut self, packet: &Packet, now: Instant) -> bool {
        if self.qdisc_mut().marker.is_none() {
            return false;
        }
        let behind = self.length();
        let counted = self.qdisc_mut().marks_at_departure.then(|| self.counted(packet));
        let &mut QdiscState { marker: Some(ref mut marker), unheard, .. } = self.qdisc_mut() else { return false };
        // The order matters: an average takes the queue before it learns that the port is idle from now on.
        let congested = counted.is_some_and(|queue| marker.decides(packet, queue, now));
        let congested = marker.departs(packet, behind, now) || congested;
        congested && !unheard && packet.flags.has(Flags::ECT)
    }

    /// Counts `packets` queued packets until `now`, and at most `most` from now on.
    fn count_stay(&mut self, packets: u64, most: u64, now: Instant) {
        let watch = self.watch_mut();
        watch.stay(packets, now);
        watch.max_waiting = watch.max_waiting.max(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::level::Level;
    use crate::fabric::marker::Threshold;
    use crate::fabric::port::LinkRole;
    use crate::fabric::qdisc::trimming::Trimming;
    use crate::fabric::tests::{port, queue};
    use units::{Amount, Rate, Value, Values};

    fn data(rank: u32) -> Packet {
        Packet { rank, ..Packet::data(0, 1460, 40, Instant::ZERO, Flags::NONE) }
    }

    #[test]
    fn packet_that_is_pushed_out_is_dropped() {
        let mut port = port("pfabric");
        port.push(Instant::ZERO, data(9));
        assert_eq!((port.waiting(), port.waiting_bytes(), port.watch().drops), (1, 1500, 0));
        assert_eq!(port.push_out(Instant::ZERO, &data(1)).map(|packet| packet.rank), Some(9));
        assert_eq!((port.waiting(), port.waiting_bytes(), port.watch().drops), (0, 0, 1));
        assert!(port.push_out(Instant::ZERO, &data(1)).is_none());
        assert_eq!(port.watch().drops, 1);
    }

    #[test]
    fn packets_without_payload_are_counted_while_they_are_queued() {
        let mut port = port("fifo");
        let mut values = Values::default();
        values.set("trim", Value::Bool(true));
        values.set("trim_size", Value::Size(Bytes(64)));
        values.set("trim_buffer", Value::Amount(Amount::Packets(8)));
        let qdisc = port.qdisc_mut();
        qdisc.trim = Trim::from_values(&values);
        qdisc.queue = Trimming::before(queue("fifo"));
        let counted = |port: &mut Port| port.qdisc_mut().control;
        for size in [40, 60] {
            port.push(Instant::ZERO, Packet::ack(0, size, Instant::ZERO, Flags::NONE));
        }
        port.push(Instant::ZERO, data(0));
        assert_eq!(counted(&mut port), Length { packets: 2, bytes: 100 });
        // They precede data.
        for left in [Length { packets: 1, bytes: 60 }, Length::default(), Length::default()] {
            assert!(port.pop_due(Instant::ZERO).is_some());
            assert_eq!(counted(&mut port), left);
        }
    }

    #[test]
    fn classes_are_counted_apart_where_the_discipline_says_so() {
        let mut port = port("dwrr");
        port.push(Instant::ZERO, data(0));
        assert_eq!(port.counted_with(&data(1)), Length { packets: 2, bytes: 3000 });
        port.qdisc_mut().by_class = true;
        assert_eq!(port.counted_with(&data(1)), Length { packets: 1, bytes: 1500 });
        assert_eq!(port.counted_with(&data(0)), Length { packets: 2, bytes: 3000 });
        assert_eq!((port.drain_of(&data(0)), port.drain_of(&data(1))), ((0, 1.0), (1, 0.5)));
        // A port without a discipline of its own is one class at the link's rate.
        let plain = Port::new(Rate::from_gbps(1), Span::ZERO, LinkRole::SwitchToHost);
        assert_eq!(plain.drain_of(&data(1)), (0, 1.0));
    }

    /// A packet of 1500 B takes 12 us. `limited` gives the port a threshold of a packet.
    #[test]
    fn only_a_packet_that_finds_nothing_skips_the_discipline() {
        let limited = |place, packets| {
            let level = Level::share(Amount::Packets(packets), 1);
            Port::new(Rate::from_gbps(1), Span::ZERO, place).limited(Level::INFINITE, level, false)
        };
        let at_switch = |packets| limited(LinkRole::SwitchToHost, packets).with_qdisc(queue("fifo"), None);
        let now = Instant::from_micros(50);
        let mut port = at_switch(1);
        assert!(port.skips_discipline(now, 1500));
        assert!(!port.skips_discipline(now, u16::MAX), "it may be longer than a threshold in bytes");
        port.set_paused(true);
        assert!(!port.skips_discipline(now, 1500));
        port.set_paused(false);
        port.launch(now, |_| Span::ZERO, 1500);
        let over = now + Span::from_micros(12);
        assert_eq!([over - Span(1), over].map(|now| port.skips_discipline(now, 1500)), [false, true]);
        port.push(over, data(0));
        assert!(!port.skips_discipline(over, 1500), "another is first");
        assert!(!at_switch(0).skips_discipline(now, 1500), "it is marked");
        let marker = Box::new(Threshold { above: Level::INFINITE });
        let own = limited(LinkRole::SwitchToHost, 1).with_qdisc(queue("fifo"), Some(marker));
        assert!(!own.skips_discipline(now, 1500), "the marker sees it");
        let at_host = limited(LinkRole::HostToSwitch, 1).with_qdisc(queue("fifo"), None);
        assert!(!at_host.skips_discipline(now, 1500), "it is late at random");
        assert!(!limited(LinkRole::SwitchToHost, 1).skips_discipline(now, 1500), "there is no discipline");
    }

    /// 64 B take 0.512 us at 1 Gbps, behind 12 us of a packet that began 2 us ago.
    #[test]
    fn frame_of_the_port_is_sent_behind_the_packet_in_transmission() {
        let mut port = port("fifo");
        let mut packet_pool = PacketPool::default();
        let number = packet_pool.put(data(0));
        port.begin(&mut packet_pool, Instant::ZERO, number, |_| Span::ZERO);
        assert_eq!(port.bytes, 1500);
        let at = port.interject(Instant::from_micros(2), Bytes(64));
        assert_eq!((at, port.bytes), (Instant::from_nanos(12_512), 1564));
    }
}
