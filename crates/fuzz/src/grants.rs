//! Several senders to one host, whose connections share the receiver's order of grants, over a network that may do
//! anything a network can. Connections are closed and opened anew meanwhile.

use std::collections::VecDeque;

use transport::host::{AtHost, End, HostOutput};
use transport::registry::{self, Config};
use transport::{Expired, Extension, Flags, Message, Observation, Output, Packet, Receiver, Sender, Shared, Site};
use units::{Bytes as Size, ConnectionId, HostId, Instant, Rate, Span};

use crate::bytes::Bytes;

/// Any transport whose receivers grant, with several connections to one host. Whatever happened, once the network
/// delivers again every message must arrive, shed or not.
pub fn grants(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let Some(config) = configuration(&mut bytes) else { return };
    let mut network = Network::new(&config, &mut bytes);
    const MAX_STEPS: usize = 2000;
    for _ in 0..MAX_STEPS {
        let Some(what) = bytes.next() else { break };
        network.step(what, &mut bytes);
    }
    network.deliver_everything();
}

/// A transport with some of its parameters; none where they exclude each other.
fn configuration(bytes: &mut Bytes) -> Option<Config> {
    let transport = registry::find(bytes.pick(&["edf-grants", "homa", "sird"]))?;
    // Times are above the delay of a queue on this network: sooner repetitions would fill it for ever.
    let choices: &[(&str, &[&str])] = &[
        ("outstanding", &["", "2 packets", "1 packet", "30 KB"]),
        ("unasked", &["", "0 packets", "1 packet", "100 packets"]),
        ("sender_limit", &["", "1 packet", "100 packets"]),
        ("classes", &["", "0", "1", "30"]),
        ("undated_times", &["", "1", "1000"]),
        ("shedding", &["fewest-late", "none"]),
        ("background_every", &["", "0", "1", "2"]),
        ("backlog", &["", "1 packet", "1 MB"]),
        ("overtaken", &["", "waits", "is-lost"]),
        ("resend_after", &["", "5 ms", "20 ms"]),
        ("ask_again", &["", "1 ms", "5 ms"]),
        ("ask_limit", &["", "20 ms"]),
        ("review", &["", "10 us", "10 ms"]),
        ("rtt_bytes", &["", "1 packet", "3 packets", "200 KB"]),
        ("overcommitment", &["", "1", "2", "7"]),
        ("incoming", &["", "1 packet", "20 KB"]),
        ("incast_after", &["", "0", "1", "3"]),
        ("incast_unscheduled", &["", "0 packets", "1 packet"]),
        ("sender_limit", &["", "1 packet", "10 packets"]),
        ("unscheduled", &["", "0 packets", "1 packet", "20 packets"]),
        ("unscheduled_up_to", &["", "0 packets", "1 MB"]),
        ("limit_gain", &["", "100%", "1%"]),
        ("dup_ack_threshold", &["", "1"]),
        ("control", &["", "1 B", "1000 B"]),
        ("header", &["", "0 B"]),
    ];
    let mut given = Vec::new();
    for (name, values) in choices {
        let value = bytes.pick(values);
        if !value.is_empty() && transport.keys().any(|key| key.name == *name) {
            given.push((*name, value));
        }
    }
    transport.with(&given).ok()
}

/// The rate of every host's link.
const LINK: Rate = Rate(1_000_000_000);
/// Bytes that each packet takes on a link beside its own.
const OVERHEAD: u64 = 38;
/// The host of the receivers; the hosts of senders follow.
const RECEIVING: HostId = HostId(0);

/// A packet on its way, with the connection that it is of.
type Sent = (usize, Packet, Option<Extension>);

/// A host with its link, and the requests of its ends.
struct Host {
    id: HostId,
    shared: Shared,
    timer: Instant,
    /// The timer of each connection's end.
    timers: Vec<Instant>,
    /// The end that is called.
    acting: End,
    /// The time at which the link is free.
    free: Instant,
    now: Instant,
    sent: Vec<Sent>,
    /// The number of packets sent in this call.
    packets: usize,
    /// Bytes of each connection that will never be sent.
    abandoned: Vec<u64>,
}

impl Host {
    fn new(id: HostId, connections: usize) -> Host {
        Host {
            id,
            shared: Shared::default(),
            timer: Instant::MAX,
            timers: vec![Instant::MAX; connections],
            acting: end(0, 0),
            free: Instant::ZERO,
            now: Instant::ZERO,
            sent: Vec::new(),
            packets: 0,
            abandoned: vec![0; connections],
        }
    }

    /// Begins a call of an end.
    fn call(&mut self, now: Instant, acting: End) {
        (self.now, self.acting, self.packets) = (now, acting, 0);
    }

    fn put(&mut self, end: End, packet: Packet, extension: Option<Extension>) {
        self.packets += 1;
        assert!(self.packets <= 10_000, "it sends without end");
        self.free = self.free.max(self.now) + LINK.transmission().of(Size(u64::from(packet.size) + OVERHEAD));
        self.sent.push((end.connection.index(), packet, extension));
    }

    /// Returns the time of its next timer.
    fn wake_at(&self) -> Instant {
        self.timers.iter().copied().min().unwrap_or(Instant::MAX).min(self.timer)
    }

    /// Fires the host's timer, if it is due.
    fn ring(&mut self, now: Instant) {
        if self.timer <= now {
            self.timer = Instant::MAX;
            (self.now, self.packets) = (now, 0);
            let mut shared = std::mem::take(&mut self.shared);
            shared.on_timer(now, self);
            self.shared = shared;
            assert!(self.timer > now || self.packets > 0, "a timer that comes at once and for ever");
        }
    }
}

impl Output for Host {
    fn send(&mut self, packet: Packet) {
        self.put(self.acting, packet, None);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.put(self.acting, packet, Some(extension));
    }
    fn arm(&mut self, at: Instant) {
        let timer = &mut self.timers[self.acting.connection.index()];
        *timer = at.min(*timer);
    }
    fn leaves(&self) -> Instant {
        self.free
    }
    fn timed_out(&mut self, _: Expired) {}
    fn abandon(&mut self, _: u64, unsent: Size) {
        self.abandoned[self.acting.connection.index()] += unsent.0;
    }
    fn site(&self) -> Site {
        Site {
            rate: LINK,
            frame_overhead: Size(OVERHEAD),
            hops: 4,
            host: self.id,
            own: u64::from(self.acting.connection.0),
        }
    }
}

impl HostOutput for Host {
    fn send_from(&mut self, end: End, packet: Packet, extension: Option<Extension>) {
        self.put(end, packet, extension);
    }
    fn leaves_from(&self, _: End) -> Instant {
        self.free
    }
    fn arm_host(&mut self, at: Instant) {
        self.timer = self.timer.min(at);
    }
}

impl AtHost for Host {
    fn end(&self) -> End {
        self.acting
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

fn end(connection: usize, generation: u16) -> End {
    End { connection: ConnectionId(connection as u32), generation, route: connection as u32, own: connection as u64 }
}

/// A connection to the receiving host.
struct Connection {
    /// The index of its sending host.
    from: usize,
    generation: u16,
    sender: Sender,
    receiver: Receiver,
    /// Bytes that were handed over.
    handed: u64,
}

struct Network<'a> {
    config: &'a Config,
    now: Instant,
    receiving: Host,
    sending: Vec<Host>,
    connections: Vec<Connection>,
    /// Packets to the receiving host, and from it, in the order of sending.
    data: VecDeque<Sent>,
    answers: VecDeque<Sent>,
}

impl<'a> Network<'a> {
    fn new(config: &'a Config, bytes: &mut Bytes) -> Network<'a> {
        let hosts = bytes.pick(&[3, 1, 2, 5]);
        let count = bytes.pick(&[3, 2, 5, 8]);
        let connection = |number: usize| Connection {
            from: number % hosts,
            generation: 0,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            handed: 0,
        };
        Network {
            config,
            now: Instant::ZERO,
            receiving: Host::new(RECEIVING, count),
            sending: (1..=hosts).map(|id| Host::new(HostId(id as u32), count)).collect(),
            connections: (0..count).map(connection).collect(),
            data: VecDeque::new(),
            answers: VecDeque::new(),
        }
    }

    fn end(&self, number: usize) -> End {
        end(number, self.connections[number].generation)
    }

    /// Puts the packets that hosts have sent onto the network, and checks that the state of senders is possible.
    fn collect(&mut self) {
        self.sending.iter_mut().for_each(|host| self.data.extend(host.sent.drain(..)));
        self.answers.append(&mut self.receiving.sent.drain(..).collect());
        assert!(self.data.len() + self.answers.len() < 1_000_000, "more and more packets are in flight");
        for connection in &self.connections {
            let mut seen = Observation::default();
            connection.sender.observe(self.config, self.now, &mut seen);
            assert!(seen.iter().all(|(_, value)| value.is_finite()), "{seen:?}");
        }
    }

    /// Hands over a message to one of the senders.
    fn enqueue_message(&mut self, bytes: &mut Bytes) {
        const MAX_BYTES: u64 = 300_000;
        let number = usize::from(bytes.next().unwrap_or(0)) % self.connections.len();
        let size = bytes.pick(&[1, 1460, 1461, 20_000, 100_000, 7, 14_600, 5000]);
        let spans = [None, Some(1), Some(100), Some(300), Some(1000), Some(5000), Some(500_000)];
        let allowed = bytes.pick(&spans).map(Span::from_micros);
        let acting = self.end(number);
        let connection = &mut self.connections[number];
        if connection.handed + size > MAX_BYTES {
            return;
        }
        connection.handed += size;
        let message = Message { deadline: allowed.map(|allowed| self.now + allowed), ..Message::of(Size(size)) };
        let host = &mut self.sending[connection.from];
        host.call(self.now, acting);
        connection.sender.enqueue_message(self.config, self.now, message, host);
        self.collect();
    }

    /// Closes an idle connection without packets in flight, and opens another one in its place.
    fn reopen(&mut self, bytes: &mut Bytes) {
        let number = usize::from(bytes.next().unwrap_or(0)) % self.connections.len();
        let acting = self.end(number);
        let connection = &mut self.connections[number];
        let is_in_flight = self.data.iter().chain(&self.answers).any(|(of, ..)| *of == number);
        if is_in_flight || !connection.sender.is_idle() {
            return;
        }
        let host = &mut self.sending[connection.from];
        host.call(self.now, acting);
        connection.sender.on_close(self.config, self.now, host);
        (host.timers[number], host.abandoned[number]) = (Instant::MAX, 0);
        self.receiving.call(self.now, acting);
        connection.receiver.on_close(self.config, self.now, &mut self.receiving);
        self.receiving.timers[number] = Instant::MAX;
        *connection = Connection {
            from: connection.from,
            generation: connection.generation + 1,
            sender: Sender::new(self.config),
            receiver: Receiver::new(self.config),
            handed: 0,
        };
        self.collect();
        let of_closed = |sent: &VecDeque<Sent>| sent.iter().any(|(of, ..)| *of == number);
        assert!(!of_closed(&self.data) && !of_closed(&self.answers), "a closed connection sends");
    }

    fn step(&mut self, what: u8, bytes: &mut Bytes) {
        let which =
            |sent: &VecDeque<Sent>, bytes: &mut Bytes| usize::from(bytes.next().unwrap_or(0)) % sent.len().max(1);
        match what % 14 {
            0 | 1 => self.deliver_data(0, false),
            2 => self.deliver_data(0, true),
            3 | 4 => self.deliver_answer(0),
            5 => {
                // Out of order.
                let index = which(&self.data, bytes);
                self.deliver_data(index, false);
            }
            6 => {
                let index = which(&self.answers, bytes);
                self.deliver_answer(index);
            }
            7 => {
                // Lost.
                let index = which(&self.data, bytes);
                drop(self.data.remove(index));
            }
            8 => {
                let index = which(&self.answers, bytes);
                drop(self.answers.remove(index));
            }
            9 => {
                // Twice.
                let side = if bytes.pick(&[true, false]) { &mut self.data } else { &mut self.answers };
                if let Some(copy) = side.front().cloned().filter(|_| side.len() < 1000) {
                    side.push_back(copy);
                }
            }
            10 | 11 => self.enqueue_message(bytes),
            12 => self.reopen(bytes),
            _ => {
                let span = bytes.pick(&[1, 12, 100, 1000, 5000, 20_000, 1_000_000]);
                self.pass(Span::from_micros(span));
            }
        }
    }

    /// Returns the time of the next timer.
    fn wake_at(&self) -> Instant {
        self.sending.iter().chain([&self.receiving]).map(Host::wake_at).min().unwrap_or(Instant::MAX)
    }

    /// Lets time pass; timers that are due fire at their times.
    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        for _ in 0..10_000 {
            let next = self.wake_at();
            if next > end {
                break;
            }
            self.ring(next);
        }
        self.now = self.now.max(end);
    }

    /// Fires the timers of this time.
    fn ring(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let now = self.now;
        for (number, connection) in self.connections.iter_mut().enumerate() {
            let acting = end(number, connection.generation);
            let host = &mut self.sending[connection.from];
            if host.timers[number] <= now {
                host.timers[number] = Instant::MAX;
                host.call(now, acting);
                connection.sender.on_timer(self.config, now, host);
                assert!(host.timers[number] > now || host.packets > 0, "a timer that comes at once and for ever");
            }
            if self.receiving.timers[number] <= now {
                self.receiving.timers[number] = Instant::MAX;
                self.receiving.call(now, acting);
                connection.receiver.on_timer(self.config, now, &mut self.receiving);
            }
        }
        self.sending.iter_mut().for_each(|host| host.ring(now));
        self.receiving.ring(now);
        self.collect();
    }

    fn deliver_data(&mut self, index: usize, mark: bool) {
        let Some((number, mut packet, mut extension)) = self.data.remove(index) else { return };
        self.now += Span::from_micros(12);
        packet.flags = packet.flags.with_if(mark && packet.flags.has(Flags::ECT), Flags::CE);
        let acting = self.end(number);
        let connection = &mut self.connections[number];
        assert!(packet.end() <= connection.handed, "it sends what nobody gave it");
        let before = connection.receiver.next();
        self.receiving.call(self.now, acting);
        connection.receiver.on_packet(self.config, self.now, &packet, extension.as_mut(), &mut self.receiving);
        assert!((before..=connection.handed).contains(&connection.receiver.next()));
        self.due();
    }

    fn deliver_answer(&mut self, index: usize) {
        let Some((number, packet, mut extension)) = self.answers.remove(index) else { return };
        self.now += Span::from_micros(1);
        let acting = self.end(number);
        let connection = &mut self.connections[number];
        let before = connection.sender.acknowledged();
        let host = &mut self.sending[connection.from];
        host.call(self.now, acting);
        connection.sender.on_packet(self.config, self.now, &packet, extension.as_mut(), host);
        assert!((before..=connection.receiver.next()).contains(&connection.sender.acknowledged()));
        self.due();
    }

    /// Fires timers that have become due.
    fn due(&mut self) {
        self.collect();
        self.pass(Span::ZERO);
    }

    /// From now on the network delivers: everything arrives.
    fn deliver_everything(&mut self) {
        let limit = self.now.saturating_add(Span::from_secs_f64(1e5));
        for _ in 0..1_000_000 {
            if self.connections.iter().all(|connection| connection.sender.is_idle()) {
                break;
            }
            if !self.answers.is_empty() {
                self.deliver_answer(0);
            } else if !self.data.is_empty() {
                self.deliver_data(0, false);
            } else {
                let next = self.wake_at();
                assert!(next < limit, "it waits for nothing: {:?}", self.progress());
                self.ring(next);
            }
        }
        for (number, connection) in self.connections.iter().enumerate() {
            assert!(connection.sender.is_idle(), "connection {number} is stuck: {:?}", self.progress());
            let abandoned = self.sending[connection.from].abandoned[number];
            assert_eq!(connection.receiver.next() + abandoned, connection.handed, "every byte arrives or is given up");
        }
    }

    /// Returns the bytes that have arrived and those handed over, for each connection.
    fn progress(&self) -> Vec<(u64, u64)> {
        self.connections.iter().map(|connection| (connection.receiver.next(), connection.handed)).collect()
    }
}
