//! Requirements on every transport of the list, with every kind of loss recovery: a pair of ends over a model of a
//! network that marks, loses and delays.

use super::common;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use common::{config, config_in};
use transport::agent::{Agent, PortState};
use transport::controllers::Window;
use transport::host::{AtHost, End, HostOutput};
use transport::registry::{Config, Control, TRANSPORTS, find};
use transport::{
    Expired, Extension, Flags, Message, Observation, Output, Packet, Receiver, Sender, Shared, Site, Surroundings,
};
use units::{Bytes, HostId, Instant, Rate, Span};

/// The losses, marks and random numbers of the model network.
#[derive(Clone, Copy)]
struct Weather {
    /// One of this number of data packets is lost; 0: none.
    loses: u64,
    /// One of this number of ACKs is lost; 0: none.
    loses_acks: u64,
    /// The data packet of this number is lost, counted from 0.
    loses_number: Option<u64>,
    /// Data packets at the bottleneck above which they are marked.
    marks_above: u64,
    seed: u64,
}

/// The rate of the bottleneck.
const LINK: Rate = Rate(1_000_000_000);

/// 12 us per data packet at a bottleneck, 40 us each way.
struct Model {
    now: Instant,
    weather: Weather,
    events: BinaryHeap<Reverse<(Instant, u64)>>,
    happenings: Vec<Happening>,
    busy_until: Instant,
    random: u64,
    data_packets: u64,
    retransmits: u64,
    timeouts: u64,
    abandoned: bool,
    longest_queue: u64,
    /// The earliest pending timer of the sender, of the receiver, and of their hosts.
    timers: [Instant; 4],
    /// The shared state at the host of the sender, and at the host of the receiver.
    shared: [Shared; 2],
    /// The agent at the bottleneck, for families that use one.
    agent: Option<Box<dyn Agent>>,
}

#[derive(Clone)]
enum Happening {
    Data(Packet, Option<Extension>),
    Ack(Packet, Option<Extension>),
    SenderTimer,
    ReceiverTimer,
    /// Of the sender's, or of the receiver's.
    HostTimer(usize),
}

impl Model {
    fn new(config: &Config, weather: Weather) -> Model {
        Model {
            now: Instant::ZERO,
            weather,
            events: BinaryHeap::new(),
            happenings: Vec::new(),
            busy_until: Instant::ZERO,
            random: weather.seed,
            data_packets: 0,
            retransmits: 0,
            timeouts: 0,
            abandoned: false,
            longest_queue: 0,
            timers: [Instant::MAX; 4],
            shared: Default::default(),
            agent: config.control.agents().map(|agents| agents.at(LINK, Bytes::ZERO)),
        }
    }
    fn push(&mut self, at: Instant, happening: Happening) {
        self.events.push(Reverse((at, self.happenings.len() as u64)));
        self.happenings.push(happening);
    }
    fn arm(&mut self, of: usize, at: Instant, timer: Happening) {
        if at < self.timers[of] {
            self.timers[of] = at;
            self.push(at, timer);
        }
    }
    /// Returns true if a timer is the one that was armed last, not one that an earlier one has overtaken.
    fn fires(&mut self, of: usize) -> bool {
        let fires = self.timers[of] == self.now;
        if fires {
            self.timers[of] = Instant::MAX;
        }
        fires
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        n > 0 && (self.random >> 33).is_multiple_of(n)
    }
}

struct FromSender<'a>(&'a mut Model);
struct FromReceiver<'a>(&'a mut Model);

impl Output for FromSender<'_> {
    fn send(&mut self, packet: Packet) {
        assert!(packet.flags.has(Flags::SYN) || packet.payload > 0, "an empty data packet");
        self.put(packet, None);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.put(packet, Some(extension));
    }
    fn arm(&mut self, at: Instant) {
        self.0.arm(0, at, Happening::SenderTimer);
    }
    fn timed_out(&mut self, _: Expired) {
        self.0.timeouts += 1;
    }
    fn abandon(&mut self, _: u64, _: Bytes) {
        self.0.abandoned = true;
    }
    fn site(&self) -> Site {
        Site { rate: LINK, frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 }
    }
}

impl HostOutput for FromSender<'_> {
    fn send_from(&mut self, _: End, packet: Packet, extension: Option<Extension>) {
        self.put(packet, extension);
    }
    fn arm_host(&mut self, at: Instant) {
        self.0.arm(2, at, Happening::HostTimer(0));
    }
}
impl AtHost for FromSender<'_> {
    fn end(&self) -> End {
        common::ONLY
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.0.shared[0]
    }
}
impl HostOutput for FromReceiver<'_> {
    fn send_from(&mut self, _: End, packet: Packet, extension: Option<Extension>) {
        self.put(packet, extension);
    }
    fn arm_host(&mut self, at: Instant) {
        self.0.arm(3, at, Happening::HostTimer(1));
    }
}
impl AtHost for FromReceiver<'_> {
    fn end(&self) -> End {
        common::ONLY
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.0.shared[1]
    }
}

impl FromSender<'_> {
    fn put(&mut self, mut packet: Packet, mut extension: Option<Extension>) {
        let model = &mut *self.0;
        model.retransmits += u64::from(packet.flags.has(Flags::AGAIN));
        let number = model.data_packets;
        model.data_packets += u64::from(packet.payload > 0);
        if model.one_in(model.weather.loses) || packet.payload > 0 && model.weather.loses_number == Some(number) {
            return;
        }
        let start = model.busy_until.max(model.now);
        let queue = (start - model.now).0 / 12_000_000;
        model.longest_queue = model.longest_queue.max(queue);
        if queue > model.weather.marks_above && packet.flags.has(Flags::ECT) {
            packet.flags = packet.flags.with(Flags::CE);
        }
        if let (Some(Extension { header: Some(header), .. }), Some(agent)) = (&mut extension, &mut model.agent) {
            let port = PortState {
                now: model.now,
                sent_for: model.busy_until.since_start(),
                waiting_bytes: Bytes(queue * 1500),
            };
            agent.on_packet(&port, &packet, header);
        }
        model.busy_until = start + if packet.payload > 0 { Span::from_micros(12) } else { Span::from_nanos(320) };
        model.push(model.busy_until + Span::from_micros(40), Happening::Data(packet, extension));
    }
}

impl FromReceiver<'_> {
    fn put(&mut self, packet: Packet, extension: Option<Extension>) {
        if !self.0.one_in(self.0.weather.loses_acks) {
            self.0.push(self.0.now + Span::from_micros(40), Happening::Ack(packet, extension));
        }
    }
}

impl Output for FromReceiver<'_> {
    fn send(&mut self, packet: Packet) {
        self.put(packet, None);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.put(packet, Some(extension));
    }
    fn arm(&mut self, at: Instant) {
        self.0.arm(1, at, Happening::ReceiverTimer);
    }
    fn timed_out(&mut self, _: Expired) {}
    fn abandon(&mut self, _: u64, _: Bytes) {}
    fn site(&self) -> Site {
        Site { rate: LINK, frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 }
    }
}

/// Sends messages one after the other. Returns the model, the time of the last acknowledgement, and the packets on the
/// wire as (time, position, flags).
fn transfer(config: &Config, weather: Weather, messages: &[Message]) -> (Model, Instant, Vec<(Instant, u64, Flags)>) {
    let mut model = Model::new(config, weather);
    let mut sender = Sender::new(config);
    let mut receiver = Receiver::new(config);
    let mut wire = Vec::new();
    for &message in messages {
        sender.enqueue_message(config, model.now, message, &mut FromSender(&mut model));
    }
    let all: u64 = messages.iter().filter_map(|message| message.bytes).map(|bytes| bytes.0).sum();
    let mut done = Instant::MAX;
    while let Some(Reverse((at, number))) = model.events.pop() {
        assert!(at >= model.now, "time runs back");
        model.now = at;
        assert!(model.now < Instant::from_secs_f64(500.0), "the transfer hangs at {} of {all}", receiver.next());
        match model.happenings[number as usize].clone() {
            Happening::Data(packet, mut extension) => {
                wire.push((at, packet.seq, packet.flags));
                receiver.on_packet(config, at, &packet, extension.as_mut(), &mut FromReceiver(&mut model));
            }
            Happening::Ack(packet, mut extension) => {
                sender.on_packet(config, at, &packet, extension.as_mut(), &mut FromSender(&mut model));
                let mut seen = Observation::default();
                sender.observe(config, at, &mut seen);
                let within = |name, least: f64, most: f64| seen.get(name).is_none_or(|v| (least..=most).contains(&v));
                let least = config.connection.loss_window.min(config.connection.cwnd_floor);
                assert!(within("cwnd", least, f64::MAX) && within("rate", 0.0, 1000.0), "{seen:?}");
                assert!(within("alpha", 0.0, 1.0) && within("d", 0.5, 2.0), "{seen:?}");
            }
            Happening::SenderTimer if model.fires(0) => sender.on_timer(config, at, &mut FromSender(&mut model)),
            Happening::ReceiverTimer if model.fires(1) => receiver.on_timer(config, at, &mut FromReceiver(&mut model)),
            Happening::HostTimer(of) if model.fires(2 + of) => {
                let mut shared = std::mem::take(&mut model.shared[of]);
                match of {
                    0 => shared.on_timer(at, &mut FromSender(&mut model)),
                    _ => shared.on_timer(at, &mut FromReceiver(&mut model)),
                }
                model.shared[of] = shared;
            }
            Happening::SenderTimer | Happening::ReceiverTimer | Happening::HostTimer(_) => {}
        }
        if sender.is_idle() && done == Instant::MAX {
            done = model.now;
        }
    }
    assert!(sender.is_idle(), "the sender waits for nothing");
    if !model.abandoned {
        assert_eq!(receiver.next(), all, "every byte arrives once");
    }
    (model, done, wire)
}

fn message(bytes: u64) -> Message {
    Message::of(Bytes(bytes))
}

const FAIR: Weather = Weather { loses: 0, loses_acks: 0, loses_number: None, marks_above: 20, seed: 1 };

/// The time that the bottleneck takes for a segment, and a round trip without a queue.
const SEGMENT: Span = Span::from_micros(12);
const RTT: Span = Span::from_micros(12 + 2 * 40);
const NETWORK: Surroundings = Surroundings::uniform(LINK, RTT, 2);

/// The first window of a transport: of three segments, but for NSCC and transports by telemetry, of which there is none here.
/// They start with their largest, and add a small share of the bandwidth-delay product per round trip.
fn first_window(name: &str) -> &'static str {
    match find(name) {
        Some(found) if found.needs.records => "header = '40 B'",
        _ if name == "nscc" => "",
        _ => "initial_window = 3",
    }
}

/// Every transport with every combination of the shared options.
fn every_config(more: &str) -> Vec<(String, Config)> {
    let mut all = Vec::new();
    for transport in TRANSPORTS {
        for recovery in ["sack", "newreno", "go-back-n"] {
            if recovery == "go-back-n" && !transport.by_senders() {
                continue;
            }
            for (ack_every, handshake, limited) in [(1, false, true), (2, true, true), (2, false, false)] {
                let keys = format!(
                    "recovery = '{recovery}'\nack_every = {ack_every}\nhandshake = {handshake}\n\
                     limited_transmit = {limited}\nrto_min = '5 ms'\nrto_initial = '5 ms'\nrto_max = '100 ms'\n{}\n{more}\n",
                    first_window(transport.name)
                );
                all.push((format!("{} with {keys}", transport.name), config_in(transport.name, &keys, &NETWORK)));
            }
        }
    }
    all
}

/// Those with SACK that find losses by time, with probes and without.
fn timed_configs(more: &str) -> Vec<(String, Config)> {
    let mut all = Vec::new();
    for transport in TRANSPORTS {
        for (tlp, ack_every, pacing) in [(true, 1, "off"), (true, 2, "window"), (false, 1, "window")] {
            let keys = format!(
                "recovery = 'sack'\nloss_detection = 'rack'\ntlp = {tlp}\nack_every = {ack_every}\npacing = '{pacing}'\nrto_min = '5 ms'\n\
                 rto_initial = '5 ms'\nrto_max = '100 ms'\n{}\n{more}\n",
                first_window(transport.name)
            );
            all.push((format!("{} with {keys}", transport.name), config_in(transport.name, &keys, &NETWORK)));
        }
    }
    all
}

#[test]
fn without_loss_nothing_is_sent_again_and_the_link_is_used() {
    for (name, config) in every_config("").into_iter().chain(timed_configs("")) {
        let bytes = 3_000_000;
        let (model, done, _) = transfer(&config, FAIR, &[message(bytes)]);
        assert_eq!((model.retransmits, model.timeouts), (0, 0), "{name}");
        // The segments one behind the other, and the propagation of the last one and its ACK. The link idles for parts
        // of two round trips, while 3 and 6 segments do not fill the 7.7 of the path. It idles for one where a SYN or a
        // request is sent first, and for the delay of an ACK at the start and at the end. No cut empties the queue:
        // half of 20 + 7.7 is more than 7.7.
        let alone = (Span(bytes.div_ceil(1460) * SEGMENT.0) + RTT - SEGMENT).after_start();
        let held_back = if config.connection.ack_every > 1 { config.connection.ack_delay * 2 } else { Span::ZERO };
        assert!(done + SEGMENT >= alone && done <= alone + RTT * 3 + held_back, "{name}: {done} for {alone}");
    }
}

#[test]
fn every_byte_arrives_whatever_is_lost() {
    let paced = every_config("pacing = 'window'\ncwnd_floor = 0.05");
    for (name, config) in every_config("").into_iter().chain(paced).chain(timed_configs("")) {
        for (loses, loses_acks) in [(100, 0), (20, 0), (5, 0), (0, 5), (7, 7), (3, 3)] {
            for seed in 1..=4 {
                println!("{name}, one in {loses} and {loses_acks}, seed {seed}");
                let weather = Weather { loses, loses_acks, seed, ..FAIR };
                transfer(&config, weather, &[message(200_000), message(1), message(1460), message(14_601)]);
            }
        }
    }
}

/// Returns true if it detects losses by time only.
fn by_timer_alone(config: &Config) -> bool {
    match &config.control {
        Control::Window(law) => law.repairs_by_timer_alone(),
        Control::Grants(policy) => policy.overtaken.is_none(),
        _ => false,
    }
}

#[test]
fn one_loss_in_a_long_window_is_repaired_without_a_timeout_by_one_segment() {
    let limit = "window_limit = '64 packets'";
    for (name, config) in every_config(limit).into_iter().chain(timed_configs(limit)) {
        // Behind each of these at least four of the 1370 segments are in flight: three for the duplicates, and one for
        // the ACK that is held back. Go-back-N sends all of them again. The limit keeps the round trip, of 64 segments, below the RTO.
        for number in [10, 11, 30, 100, 500, 999, 1365] {
            let weather = Weather { loses_number: Some(number), ..FAIR };
            let (model, ..) = transfer(&config, weather, &[message(2_000_000)]);
            if config.connection.goes_back {
                assert_eq!(model.timeouts, 0, "{name}: of {number}");
                assert!((4..=64).contains(&model.retransmits), "{name}: of {number}, {} again", model.retransmits);
                continue;
            }
            if by_timer_alone(&config) {
                assert_eq!(model.timeouts, 1, "{name}: of {number}");
                assert!(model.retransmits == 1 || !config.connection.sack, "{name}: of {number}");
                continue;
            }
            assert_eq!((model.timeouts, model.retransmits), (0, 1), "{name}: of {number}");
        }
    }
}

#[test]
fn marks_keep_the_queue_short_where_they_are_heeded() {
    for name in ["dctcp", "d2tcp", "xdctcp"] {
        // The first mark is made with 21 at the bottleneck and 7.7 on the path. When its echo is received, slow start
        // has doubled that: 57.3, of which 7.7 are on the path.
        let (model, ..) = transfer(&config(name, "initial_alpha = 1.0"), FAIR, &[message(20_000_000)]);
        assert!((21..=49).contains(&model.longest_queue), "{name}: {} packets", model.longest_queue);
    }
}

#[test]
fn without_deadlines_d2tcp_and_d2tcp_plus_are_packet_for_packet_dctcp() {
    for keys in ["", "ack_every = 2\n", "initial_alpha = 0.0\nrecovery = 'newreno'\n", "cut_at = 'window-end'\n"] {
        for seed in 1..=5 {
            let weather = Weather { loses: 200, loses_acks: 200, seed, ..FAIR };
            let messages = [message(1_000_000), message(50_000)];
            let wire = |name| transfer(&config(name, keys), weather, &messages).2;
            assert_eq!(wire("d2tcp"), wire("dctcp"), "{keys}");
            assert_eq!(wire("d2tcp_plus"), wire("dctcp"), "{keys}");
        }
    }
}

#[test]
fn messages_without_a_deadline_are_dctcps_packet_for_packet_where_rates_are_for_deadlines() {
    for seed in 0..5 {
        let weather = Weather { loses: 200, loses_acks: 200, seed, ..FAIR };
        let messages = [message(1_000_000), message(50_000)];
        let wire = |name| transfer(&config(name, ""), weather, &messages).2;
        for name in ["mcp", "mcp-opt", "jit"] {
            assert_eq!(wire(name), wire("dctcp"), "{name}");
        }
    }
}

#[test]
fn xdctcp_with_both_factors_at_one_half_and_the_same_growth_is_dctcp() {
    let weather = Weather { loses: 300, ..FAIR };
    let wire = |name| {
        transfer(&config(name, "grow_on_echo = 'never'\ngrowth_steps = 'per-ack'\n"), weather, &[message(1_000_000)]).2
    };
    assert_eq!(wire("xdctcp"), wire("dctcp"));
}

#[test]
fn an_expired_message_is_given_up_when_asked() {
    let late = Message { deadline: Some(Instant::from_millis(1)), ..Message::of(Bytes(10_000_000)) };
    let (model, done, _) = transfer(&config("d2tcp", "expired = 'abort'\n"), FAIR, &[late]);
    assert!(model.abandoned && done < Instant::from_millis(3), "{done}");
    let (model, ..) = transfer(&config("d2tcp", "expired = 'cap'\n"), FAIR, &[late]);
    assert!(!model.abandoned);
}

#[test]
fn the_first_window_is_the_one_asked_for() {
    for transport in TRANSPORTS {
        let Control::Window(mut law) = config(transport.name, "").control else { continue };
        if law.rate(Instant::ZERO, 0).is_some() {
            // It sends at a rate from the start.
            continue;
        }
        for window in [1, 3, 10] {
            let config = config(transport.name, &format!("initial_window = {window}\n"));
            let (.., wire) = transfer(&config, FAIR, &[message(100_000)]);
            let first_rtt = wire.iter().filter(|(at, ..)| *at <= Instant::from_micros(12 * window + 41)).count();
            assert_eq!(first_rtt as u64, window, "{}", transport.name);
        }
    }
}
