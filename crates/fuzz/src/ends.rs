//! Both ends of a connection over a network that may do anything a network can: hold, lose, reorder, duplicate, mark,
//! and garble the echo of marks.

use std::collections::VecDeque;

use transport::agent::{Agent, PortState};
use transport::host::{AtHost, End, HostOutput};
use transport::registry::{Config, TRANSPORTS};
use transport::{Expired, Extension, Flags, Message, Observation, Output, Packet, Receiver, Sender, Shared, Site};
use units::{Bytes as Size, ConnectionId, HostId, Instant, Rate, Span};

use crate::bytes::Bytes;

/// Any transport, with any of its common options, over such a network. Whatever happened, once the network delivers
/// again every message must arrive, unless it was given up.
pub fn transports(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let Some(config) = configuration(&mut bytes) else { return };
    let mut pair = Pair::new(&config);
    pair.enqueue_message(&mut bytes);
    // Each step is tried at once, so more of them only take longer.
    const MAX_STEPS: usize = 2000;
    for _ in 0..MAX_STEPS {
        let Some(what) = bytes.next() else { break };
        pair.step(what, &mut bytes);
    }
    pair.deliver_everything();
}

/// A transport with some of its parameters; none where they exclude each other.
fn configuration(bytes: &mut Bytes) -> Option<Config> {
    let transport = bytes.pick(TRANSPORTS);
    let choices: &[(&str, &[&str])] = &[
        ("recovery", &["sack", "newreno", "go-back-n"]),
        ("ack_every", &["1", "2"]),
        ("handshake", &["false", "true"]),
        ("limited_transmit", &["true", "false"]),
        ("rto_min", &["20 ms", "1 ms", "200 ms"]),
        ("rto_max", &["1 s", "60 s"]),
        ("initial_window", &["3", "1", "10", "100"]),
        ("cwnd_floor", &["2", "1", "0.1", "5"]),
        ("pacing", &["off", "window"]),
        ("nagle", &["false", "true"]),
        ("cut", &["at-once", "spread"]),
        ("window_limit", &["100 MB", "4 packets", "1 packet"]),
        ("idle_restart", &["true", "false"]),
        ("initial_alpha", &["0", "1"]),
        ("expired", &["neutral", "cap", "yield", "abort"]),
        ("control", &["protected", "plain"]),
        ("rate_rounding", &["exact", "up", "nearest"]),
        ("router_state", &["soft", "counters"]),
        ("adaptation", &["false", "true"]),
        ("loss_detection", &["dupacks", "rack"]),
        ("tlp", &["false", "true"]),
        ("lost_retransmissions", &["found", "timeout"]),
        ("rto_restart", &["retransmission", "ack"]),
        ("backoff_reset", &["sample", "ack"]),
        ("cwnd_validation", &["false", "true"]),
        ("floor_holds", &["at-cuts", "always"]),
        ("cut_at", &["first-echo", "window-end"]),
        ("grow_on_echo", &["never", "bursts"]),
        ("growth_steps", &["per-ack", "per-window"]),
        ("rescue", &["false", "true"]),
        ("slow_start_growth", &["acked", "two-segments", "segment"]),
        ("reno_alpha", &["rises", "constant"]),
        ("arithmetic", &["exact", "whole-segments"]),
        ("nic_limit", &["100 MB", "4 packets", "1 packet"]),
        ("cutoffs", &["geometric", "by-traffic"]),
        ("reaction", &["notified", "periodic"]),
        ("stages", &["timer-and-bytes", "timer"]),
    ];
    let known = |name: &str| transport.keys().find(|key| key.name == name);
    let mut given = Vec::new();
    for (name, values) in choices {
        let value = bytes.pick(values);
        if let Some(key) = known(name)
            && !matches!(key.kind, units::Kind::Choice(words) if !words.contains(&value))
        {
            given.push((*name, value));
        }
    }
    transport.with(&given).ok()
}

/// The rate of the link between the ends.
const LINK: Rate = Rate(1_000_000_000);

/// A packet on its way.
type Sent = (Packet, Option<Extension>);

/// The requests of one end to its host: packets, timers, abandoned bytes.
struct Asked {
    /// In the order of sending: delivered from the front, for the most part.
    sent: VecDeque<Sent>,
    timer: Instant,
    /// The number of packets sent in this call.
    packets: usize,
    /// Bytes that will never be sent.
    abandoned: u64,
    /// The state that its host keeps for all connections.
    shared: Shared,
    host_timer: Instant,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            sent: VecDeque::new(),
            timer: Instant::MAX,
            packets: 0,
            abandoned: 0,
            shared: Shared::default(),
            host_timer: Instant::MAX,
        }
    }
}

impl Output for Asked {
    fn send(&mut self, packet: Packet) {
        self.put(packet, None);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.put(packet, Some(extension));
    }
    fn arm(&mut self, at: Instant) {
        self.timer = self.timer.min(at);
    }
    fn timed_out(&mut self, _: Expired) {}
    fn abandon(&mut self, _: u64, unsent: Size) {
        self.abandoned += unsent.0;
    }
    fn site(&self) -> Site {
        Site { rate: LINK, frame_overhead: Size::ZERO, hops: 4, host: HostId(0), own: 0 }
    }
}

impl HostOutput for Asked {
    fn send_from(&mut self, _: End, packet: Packet, extension: Option<Extension>) {
        self.put(packet, extension);
    }
    fn arm_host(&mut self, at: Instant) {
        self.host_timer = self.host_timer.min(at);
    }
}

impl AtHost for Asked {
    fn end(&self) -> End {
        End { connection: ConnectionId(0), generation: 0, route: 0, own: 0 }
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

impl Asked {
    fn put(&mut self, packet: Packet, extension: Option<Extension>) {
        self.packets += 1;
        assert!(self.packets <= 10_000, "it sends without end");
        self.sent.push_back((packet, extension));
    }

    /// Returns the time of its next timer.
    fn wake_at(&self) -> Instant {
        self.timer.min(self.host_timer)
    }

    /// Fires its host's timer, if it is due.
    fn ring_host(&mut self, now: Instant) {
        if self.host_timer <= now {
            self.host_timer = Instant::MAX;
            self.packets = 0;
            let mut shared = std::mem::take(&mut self.shared);
            shared.on_timer(now, self);
            self.shared = shared;
        }
    }
}

struct Pair<'a> {
    config: &'a Config,
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    data: Asked,
    acks: Asked,
    /// At the one port between them, for families that talk to it.
    agent: Option<Box<dyn Agent>>,
    /// Bytes that were handed over.
    handed: u64,
}

impl<'a> Pair<'a> {
    fn new(config: &'a Config) -> Pair<'a> {
        Pair {
            config,
            now: Instant::ZERO,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            data: Asked::default(),
            acks: Asked::default(),
            agent: config.control.agents().map(|agents| agents.at(LINK, Size::ZERO)),
            handed: 0,
        }
    }

    /// Hands over a message.
    fn enqueue_message(&mut self, bytes: &mut Bytes) {
        const MOST: u64 = 1_000_000;
        let size = bytes.pick(&[1, 1459, 1460, 1461, 20_000, 100_000, 7, 14_600]);
        let allowed =
            bytes.pick(&[None, Some(Span::from_micros(1)), Some(Span::from_millis(5)), Some(Span::from_millis(500))]);
        let short = bytes.pick(&[None, Some(true), Some(false)]);
        if self.handed + size > MOST {
            return;
        }
        self.handed += size;
        let message = Message { deadline: allowed.map(|allowed| self.now + allowed), short, ..Message::of(Size(size)) };
        self.data.packets = 0;
        self.sender.enqueue_message(self.config, self.now, message, &mut self.data);
        self.look();
    }

    fn step(&mut self, what: u8, bytes: &mut Bytes) {
        let which =
            |sent: &VecDeque<Sent>, bytes: &mut Bytes| usize::from(bytes.next().unwrap_or(0)) % sent.len().max(1);
        match what % 12 {
            0 | 1 => self.deliver_data(0, false),
            2 => self.deliver_data(0, true),
            3 | 4 => self.deliver_ack(0, None),
            5 => {
                let echo = bytes.pick(&[Some(true), Some(false), None]);
                self.deliver_ack(0, echo);
            }
            6 => {
                // Out of order.
                let index = which(&self.data.sent, bytes);
                self.deliver_data(index, false);
            }
            7 => {
                let index = which(&self.acks.sent, bytes);
                self.deliver_ack(index, None);
            }
            8 => {
                // Lost.
                let index = which(&self.data.sent, bytes);
                drop(self.data.sent.remove(index));
            }
            9 => {
                let index = which(&self.acks.sent, bytes);
                drop(self.acks.sent.remove(index));
            }
            10 => {
                // Twice.
                let side = if bytes.pick(&[true, false]) { &mut self.data.sent } else { &mut self.acks.sent };
                if let Some(copy) = side.front().cloned().filter(|_| side.len() < 1000) {
                    side.push_back(copy);
                }
            }
            _ => {
                let spans = [0, 1, 12, 100, 1000, 5000, 20_000, 1_000_000, 100_000_000];
                let span = bytes.pick(&spans);
                if span == 0 {
                    self.enqueue_message(bytes);
                } else {
                    self.pass(Span::from_micros(span));
                }
            }
        }
    }

    /// Lets time pass; timers that are due fire at their times.
    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        for _ in 0..10_000 {
            let next = self.data.wake_at().min(self.acks.wake_at());
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
        if self.data.timer <= at {
            self.data.timer = Instant::MAX;
            self.data.packets = 0;
            self.sender.on_timer(self.config, self.now, &mut self.data);
            assert!(self.data.timer > self.now || self.data.packets > 0, "a timer that comes at once and for ever");
        }
        if self.acks.timer <= at {
            self.acks.timer = Instant::MAX;
            self.acks.packets = 0;
            self.receiver.on_timer(self.config, self.now, &mut self.acks);
        }
        self.data.ring_host(self.now);
        self.acks.ring_host(self.now);
        self.look();
    }

    fn deliver_data(&mut self, index: usize, mark: bool) {
        let Some((mut packet, mut extension)) = self.data.sent.remove(index) else { return };
        self.now += Span::from_micros(12);
        let now = self.now;
        packet.flags = packet.flags.with_if(mark && packet.flags.has(Flags::ECT), Flags::CE);
        if let (Some(Extension { header: Some(header), .. }), Some(agent)) = (&mut extension, &mut self.agent) {
            agent.on_packet(
                &PortState { now, sent_for: now.since_start(), waiting_bytes: Size::ZERO },
                &packet,
                header,
            );
        }
        assert!(packet.end() <= self.handed, "it sends what nobody gave it");
        let before = self.receiver.next();
        self.acks.packets = 0;
        self.receiver.on_packet(self.config, now, &packet, extension.as_mut(), &mut self.acks);
        assert!((before..=self.handed).contains(&self.receiver.next()));
        self.due();
    }

    /// `echo`: the network sets or clears the echo of a mark.
    fn deliver_ack(&mut self, index: usize, echo: Option<bool>) {
        let Some((mut packet, mut extension)) = self.acks.sent.remove(index) else { return };
        self.now += Span::from_micros(1);
        if let Some(echo) = echo {
            let others = [Flags::ACK, Flags::ECT, Flags::CE, Flags::CWR, Flags::SYN, Flags::AGAIN, Flags::EXTENDED];
            let kept = others.into_iter().filter(|flag| packet.flags.has(*flag)).fold(Flags::NONE, Flags::with);
            packet.flags = kept.with_if(echo, Flags::ECE);
        }
        let before = self.sender.acknowledged();
        self.data.packets = 0;
        self.sender.on_packet(self.config, self.now, &packet, extension.as_mut(), &mut self.data);
        assert!((before..=self.receiver.next()).contains(&self.sender.acknowledged()));
        self.due();
    }

    /// Fires timers that have become due.
    fn due(&mut self) {
        self.pass(Span::ZERO);
        self.look();
    }

    /// Checks that the observed state of the sender is possible.
    fn look(&self) {
        let mut seen = Observation::default();
        self.sender.observe(self.config, self.now, &mut seen);
        assert!(seen.iter().all(|(_, value)| value.is_finite()), "{seen:?}");
        let within = |name, least: f64, most: f64| seen.get(name).is_none_or(|value| (least..=most).contains(&value));
        let connection = &self.config.connection;
        // One segment may be the window whatever the floor: as its limit, and where d2tcp_plus backs off.
        let least = connection.cwnd_floor.min(1.0);
        assert!(within("cwnd", least, 1e6), "{seen:?}");
        assert!(within("ssthresh", 0.0, f64::MAX) && within("srtt", 0.0, f64::MAX), "{seen:?}");
        assert!(within("alpha", 0.0, 1.0) && within("p", 0.0, 1.0) && within("d", 0.5, 2.0), "{seen:?}");
        assert!(within("rate", 0.0, 1000.0) && within("request", 0.0, f64::MAX), "{seen:?}");
    }

    /// From now on the network delivers: everything arrives.
    fn deliver_everything(&mut self) {
        let end = self.now.saturating_add(Span::from_secs_f64(1e5));
        for _ in 0..1_000_000 {
            if self.sender.is_idle() {
                break;
            }
            if !self.acks.sent.is_empty() {
                self.deliver_ack(0, None);
            } else if !self.data.sent.is_empty() {
                self.deliver_data(0, false);
            } else {
                let next = self.data.wake_at().min(self.acks.wake_at());
                assert!(next < end, "it waits for nothing, with {} of {}", self.receiver.next(), self.handed);
                self.ring(next);
            }
        }
        assert!(self.sender.is_idle(), "it is stuck at {} of {}", self.receiver.next(), self.handed);
        assert_eq!(self.receiver.next() + self.data.abandoned, self.handed, "every byte arrives or is given up");
    }
}
