//! Windows from the receiver by hand: the edges, and the packets that senders send up to them.

use transport::host::{AtHost, End, HostOutput};
use transport::receive::{Header, Known};
use transport::registry::Config;
use transport::{Expired, Extension, Flags, Message, Output, Packet, Receiver, Sender, Shared, Site, Surroundings};
use units::{Amount, Bytes, ConnectionId, HostId, Instant, Rate, Span, Values};

use super::common;

/// Bytes of a segment here, without headers: 8 us on a link of 1 Gbit/s.
const MSS: u64 = 1000;

/// A transport whose receivers schedule, with a credit of eight segments, four for a connection.
fn config(keys: &str) -> Config {
    let shared = "receiver = 'edf'\nreceiver_credit = '8 packets'\nreceiver_patience = '1 ms'\nrto_initial = '20 ms'";
    common::config("tcp", &format!("mss = '{MSS} B'\nheader = '0 B'\n{shared}\n{keys}"))
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Span::from_micros(us)
}

/// A host, with its sent packets and the timers that it wants.
#[derive(Default)]
struct Desk {
    shared: Shared,
    /// The connection of the calling end.
    acting: u32,
    sent: Vec<(u32, Packet, Option<Extension>)>,
    timers: Vec<Instant>,
    host_timers: Vec<Instant>,
    probes: u32,
    timeouts: u32,
    /// Bytes of a frame beside its packet.
    frame_overhead: u64,
    /// The port of the calling end.
    port: u32,
    /// The host's queue is full.
    full: bool,
    /// Ends of messages that were given up, and their unsent bytes.
    abandoned: Vec<(u64, u64)>,
}

impl Output for Desk {
    fn send(&mut self, packet: Packet) {
        self.sent.push((self.acting, packet, None));
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        self.sent.push((self.acting, packet, Some(extension)));
    }
    fn arm(&mut self, at: Instant) {
        self.timers.push(at);
    }
    fn timed_out(&mut self, _: Expired) {
        self.timeouts += 1;
    }
    fn probed(&mut self) {
        self.probes += 1;
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        self.abandoned.push((end, unsent.0));
    }
    fn has_room(&mut self) -> bool {
        !self.full
    }
    fn site(&self) -> Site {
        let own = self.acting.into();
        let frame_overhead = Bytes(self.frame_overhead);
        Site { rate: Rate::from_gbps(1), frame_overhead, hops: 4, host: HostId(9), own }
    }
}

impl HostOutput for Desk {
    fn send_from(&mut self, end: End, packet: Packet, extension: Option<Extension>) {
        self.sent.push((end.connection.0, packet, extension));
    }
    fn arm_host(&mut self, at: Instant) {
        self.host_timers.push(at);
    }
}

impl AtHost for Desk {
    fn end(&self) -> End {
        End { connection: ConnectionId(self.acting), generation: 0, route: 0, own: 0 }
    }
    fn port(&self) -> u32 {
        self.port
    }
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

fn window(extension: &Option<Extension>) -> Option<u64> {
    match extension.as_ref()?.header.as_ref()? {
        transport::Header::Receive(header) => match **header {
            Header::Window(field) => Some(field.into()),
            Header::Message(_) => None,
        },
        other => panic!("{other:?}"),
    }
}

/// A host that receives from several connections.
struct Receiving {
    config: Config,
    desk: Desk,
    ends: Vec<Receiver>,
    next: Vec<u64>,
}

impl Receiving {
    fn new(connections: usize, keys: &str) -> Receiving {
        let config = config(keys);
        let ends = (0..connections).map(|_| Receiver::new(&config)).collect();
        Receiving { config, desk: Desk::default(), ends, next: vec![0; connections] }
    }

    /// Delivers the next segments of a connection's message.
    fn segments(&mut self, now: Instant, connection: usize, count: u64, message: Known) {
        for _ in 0..count {
            let seq = self.next[connection];
            let len = MSS.min(message.end - seq);
            self.next[connection] += len;
            let packet = Packet::data(seq, len as u32, 0, now, Flags::NONE);
            let header = transport::Header::Receive(Box::new(Header::Message(message)));
            self.desk.acting = connection as u32;
            let mut extension = Extension::of_header(header);
            self.ends[connection].on_packet(&self.config, now, &packet, Some(&mut extension), &mut self.desk);
        }
    }

    /// Returns the edges that were advertised since, by connection, in segments.
    fn edges(&mut self) -> Vec<(u32, f64)> {
        let edge = |(connection, packet, extension): (u32, Packet, Option<Extension>)| {
            let field = window(&extension).expect("every acknowledgement has a window");
            (connection, (packet.seq + field) as f64 / MSS as f64)
        };
        std::mem::take(&mut self.desk.sent).into_iter().map(edge).collect()
    }
}

fn due(end: u64, us: u64) -> Known {
    Known { end: end * MSS, deadline: Some(at(us)) }
}

#[test]
fn the_most_urgent_have_the_credit_and_the_others_their_first_segment() {
    let mut host = Receiving::new(4, "");
    host.segments(at(0), 0, 1, due(20, 9_000));
    // Alone it has all eight, beyond its segment.
    assert_eq!(host.edges(), [(0, 9.0)]);
    host.segments(at(1), 1, 1, due(20, 5_000));
    // Eight are out already. An edge never moves back.
    assert_eq!(host.edges(), [(1, 1.0)]);
    host.segments(at(2), 0, 2, due(20, 9_000));
    // Two segments of its grant are the second's, which waits for them: a packet of its own says so.
    assert_eq!(host.edges(), [(0, 9.0), (0, 9.0), (1, 3.0)]);
    host.segments(at(3), 0, 2, due(20, 9_000));
    assert_eq!(host.edges(), [(0, 9.0), (0, 9.0)], "it can send two: their acknowledgement will say more");
    host.segments(at(3), 1, 2, due(20, 5_000));
    assert_eq!(host.edges(), [(1, 6.0), (1, 7.0)], "four beyond what has arrived; and no more than the last");
    host.segments(at(4), 2, 1, due(20, 1_000));
    assert_eq!(host.edges(), [(2, 1.0)], "eight are out");
    host.segments(at(5), 0, 4, due(20, 9_000));
    // The third is first now, and the second keeps its four: the first has none.
    assert_eq!(host.edges(), [(0, 9.0), (0, 9.0), (2, 3.0), (0, 9.0), (0, 9.0)]);
}

/// The credit and a segment more are 201 000 B: in units of 4 B they have room in the 16 bits of the window field.
#[test]
fn windows_beyond_64_kb_are_scaled_at_both_ends() {
    let keys =
        "mss = '1000 B'\nheader = '0 B'\nreceiver = 'edf'\nreceiver_credit = '200 packets'\ninitial_window = 300";
    let config = || common::config("tcp", keys);
    let mut host =
        Receiving { ends: vec![Receiver::new(&config())], config: config(), desk: Desk::default(), next: vec![0] };
    host.segments(at(0), 0, 1, due(300, 90_000));
    let (_, ack, mut extension) = host.desk.sent.remove(0);
    assert_eq!((ack.seq, window(&extension)), (MSS, Some(200 * MSS / 4)));
    let mut sender = Sending { end: Sender::new(&config()), config: config(), desk: Desk::default() };
    sender.end.enqueue_message(&sender.config, at(0), Message::of(Bytes(300 * MSS)), &mut sender.desk);
    sender.sent();
    sender.end.on_packet(&sender.config, at(50), &ack, extension.as_mut(), &mut sender.desk);
    assert_eq!(sender.sent().len(), 200);
}

#[test]
fn the_credit_is_two_windows_of_two_segments_at_least() {
    let keys = "mss = '1000 B'\nheader = '0 B'\nreceiver = 'edf'\nreceiver_credit = '1 packets'";
    let config = common::config("tcp", keys);
    let mut host = Receiving { ends: vec![Receiver::new(&config)], config, desk: Desk::default(), next: vec![0] };
    host.segments(at(0), 0, 1, due(20, 90_000));
    assert_eq!(host.edges(), [(0, 5.0)]);
}

#[test]
fn a_message_that_cannot_be_in_time_waits_behind_the_others() {
    let mut host = Receiving::new(3, "");
    // 100 segments take 800 us: not in 500. The others are due later, and can be in time.
    host.segments(at(0), 0, 1, due(100, 500));
    assert_eq!(host.edges(), [(0, 9.0)]);
    host.segments(at(0), 1, 1, due(50, 5_000));
    host.segments(at(0), 2, 1, due(50, 5_000));
    host.edges();
    host.segments(at(64), 0, 8, due(100, 500));
    let edges = host.edges();
    let last = |connection| edges.iter().rev().find(|(other, _)| *other == connection).map(|(_, edge)| *edge);
    assert_eq!([0, 1, 2].map(last), [Some(9.0), Some(3.0), Some(3.0)]);
}

#[test]
fn the_edge_ends_with_the_message_and_the_first_segment_of_the_next() {
    let mut host = Receiving::new(1, "");
    host.segments(at(0), 0, 1, due(5, 9_000));
    assert_eq!(host.edges(), [(0, 6.0)]);
    host.segments(at(1), 0, 4, due(5, 9_000));
    assert_eq!(host.edges(), [(0, 6.0); 4]);
}

#[test]
fn messages_of_a_connection_follow_each_other_by_their_ends() {
    let mut host = Receiving::new(1, "");
    host.segments(at(0), 0, 4, due(5, 9_000));
    assert_eq!(host.edges(), [(0, 6.0); 4]);
    // The next message begins before the fifth segment has arrived: the first decides still.
    host.next[0] = 5 * MSS;
    host.segments(at(1), 0, 1, due(12, 9_500));
    assert_eq!(host.edges(), [(0, 6.0)]);
    host.next[0] = 4 * MSS;
    host.segments(at(2), 0, 1, due(5, 9_000));
    // Six have arrived, and all of the second message has room.
    assert_eq!(host.edges(), [(0, 13.0)]);
    assert_eq!(host.desk.host_timers, [at(1_000)], "while messages arrive");
}

#[test]
fn a_host_without_messages_has_no_timer() {
    let mut host = Receiving::new(1, "");
    host.segments(at(0), 0, 1, due(1, 9_000));
    assert_eq!((host.edges(), host.desk.host_timers), (vec![(0, 2.0)], vec![]));
}

/// Of three connections a credit of four segments lets two send. Each has its turn as the others are served.
#[test]
fn traffic_without_a_deadline_takes_turns() {
    let keys = "mss = '1000 B'\nheader = '0 B'\nreceiver = 'edf'\nreceiver_credit = '4 packets'";
    let config = || common::config("tcp", keys);
    let ends = (0..3).map(|_| Receiver::new(&config())).collect();
    let mut host = Receiving { ends, config: config(), desk: Desk::default(), next: vec![0; 3] };
    let mut edges = [1.0; 3];
    for us in 0..500 {
        let connection = us as usize % 3;
        if (host.next[connection] + MSS) as f64 <= edges[connection] * MSS as f64 {
            host.segments(at(us), connection, 1, Known { end: 1 << 40, deadline: None });
        }
        host.edges().into_iter().for_each(|(connection, edge)| edges[connection as usize] = edge);
    }
    let (least, most) = (host.next.iter().min().unwrap(), host.next.iter().max().unwrap());
    assert!(2 * least > *most, "{:?}", host.next);
}

#[test]
fn traffic_without_a_deadline_has_the_floor_beside_messages() {
    let mut host = Receiving::new(3, "receiver_floor = 0.5");
    let bulk = Known { end: 1 << 40, deadline: None };
    host.segments(at(0), 0, 1, due(100, 90_000));
    host.segments(at(0), 1, 1, due(100, 95_000));
    host.segments(at(0), 2, 1, bulk);
    assert_eq!(host.edges(), [(0, 9.0), (1, 1.0), (2, 1.0)]);
    host.segments(at(1), 0, 8, due(100, 90_000));
    // Of eight segments four are bulk's, and the most urgent has the others.
    let edges = host.edges();
    let last = |connection| edges.iter().rev().find(|(other, _)| *other == connection).map(|(_, edge)| *edge);
    assert_eq!([0, 1, 2].map(last), [Some(13.0), None, Some(3.0)]);
}

/// A sender whose receiver's windows are given by hand.
struct Sending {
    config: Config,
    desk: Desk,
    end: Sender,
}

impl Sending {
    fn new(segments: f64) -> Sending {
        Sending::with(segments, "")
    }

    fn with(segments: f64, keys: &str) -> Sending {
        let config = config(&format!("initial_window = 10\n{keys}"));
        let mut sending = Sending { end: Sender::new(&config), config, desk: Desk::default() };
        let message = Message { deadline: Some(at(700)), ..Message::of(Bytes((segments * MSS as f64) as u64)) };
        sending.end.enqueue_message(&sending.config, at(0), message, &mut sending.desk);
        sending
    }

    /// Delivers an acknowledgement with a right edge, both in segments.
    fn ack(&mut self, now: Instant, next: u64, edge: f64) {
        let packet = Packet::ack(next * MSS, 0, Instant::MAX, Flags::NONE);
        let field = (edge * MSS as f64) as u64 - packet.seq;
        let header = transport::Header::Receive(Box::new(Header::Window(field as u16)));
        self.end.on_packet(&self.config, now, &packet, Some(&mut Extension::of_header(header)), &mut self.desk);
    }

    /// Returns the starts and lengths of the packets sent since, in segments.
    fn sent(&mut self) -> Vec<(f64, f64)> {
        let place = |packet: Packet| (packet.seq as f64 / MSS as f64, f64::from(packet.payload) / MSS as f64);
        std::mem::take(&mut self.desk.sent).into_iter().map(|(_, packet, _)| place(packet)).collect()
    }
}

#[test]
fn a_sender_keeps_to_the_edge_and_waits_for_a_full_segment() {
    let mut sender = Sending::new(4.5);
    let (_, first, extension) = sender.desk.sent[0].clone();
    let header = extension.and_then(|extension| extension.header);
    let message = Known { end: 4_500, deadline: Some(at(700)) };
    assert_eq!(header, Some(transport::Header::Receive(Box::new(Header::Message(message)))));
    assert_eq!((first.seq, sender.sent()), (0, vec![(0.0, 1.0)]), "though its own window is ten");
    sender.ack(at(100), 1, 3.9);
    assert_eq!(sender.sent(), [(1.0, 1.0), (2.0, 1.0)], "0.9 of a segment is no segment");
    sender.ack(at(200), 1, 4.4);
    assert_eq!(sender.sent(), [(3.0, 1.0)], "the window alone has moved: no duplicate");
    sender.ack(at(300), 4, 4.4);
    assert_eq!(sender.sent(), []);
    sender.ack(at(400), 4, 4.5);
    let last = sender.desk.sent[0].2.clone().and_then(|extension| extension.header);
    assert_eq!(last, Some(transport::Header::Receive(Box::new(Header::Message(message)))), "the last one says it too");
    assert_eq!(sender.sent(), [(4.0, 0.5)], "all that is left");
    sender.ack(at(500), 4, 4.1);
    assert_eq!(sender.sent(), [], "an older edge changes nothing");
}

#[test]
fn a_shut_window_is_probed_after_the_timeout_and_then_half_as_often() {
    let mut sender = Sending::new(4.0);
    sender.ack(at(100), 1, 1.0);
    assert!(sender.desk.timers.contains(&at(20_100)));
    sender.sent();
    let mut probes = Vec::new();
    for ms in 1..200 {
        sender.end.on_timer(&sender.config, at(1000 * ms), &mut sender.desk);
        assert!(sender.desk.sent.iter().all(|(.., extension)| extension.is_none()), "a probe is of no message");
        probes.extend(sender.sent().into_iter().map(|probe| (ms, probe)));
    }
    // The RTO is 20 ms: after 20, 40 and 80 ms, in whole milliseconds from 0.1 ms on.
    assert_eq!(probes, [(21, (1.0, 0.0)), (61, (1.0, 0.0)), (141, (1.0, 0.0))]);
    assert_eq!((sender.desk.probes, sender.desk.timeouts), (3, 0));
    assert!([61, 141].iter().all(|ms| sender.desk.timers.contains(&at(1000 * ms))));
    sender.ack(at(200_000), 1, 3.0);
    assert_eq!(sender.sent(), [(1.0, 1.0), (2.0, 1.0)]);
}

#[test]
fn a_single_byte_behind_a_shut_window_is_probed_and_nothing_is_not() {
    for (segments, probes) in [(1.0015, 1), (1.0, 0)] {
        let mut sender = Sending::new(segments);
        sender.ack(at(100), 1, 1.0);
        sender.end.on_timer(&sender.config, at(21_000), &mut sender.desk);
        assert_eq!(sender.desk.probes, probes);
    }
}

#[test]
fn an_acknowledgement_without_news_and_the_same_window_is_a_duplicate() {
    let mut sender = Sending::with(20.0, "recovery = 'newreno'");
    sender.ack(at(100), 1, 5.0);
    assert_eq!(sender.sent().len(), 5, "the first, and four up to the edge");
    // Two of these move the edge, and are no duplicates.
    [5.0, 5.0, 6.0, 7.0].into_iter().for_each(|edge| sender.ack(at(110), 1, edge));
    assert!(sender.sent().iter().all(|(start, _)| *start >= 5.0), "no third duplicate");
    sender.ack(at(111), 1, 7.0);
    assert_eq!(sender.sent().first(), Some(&(1.0, 1.0)));
}

#[test]
fn a_trimmed_segment_is_sent_again_within_the_window() {
    // One is in flight; the least window is two.
    common::timeline(
        "tcp",
        "receiver = 'edf'\nloss_detection = 'rack'\ninitial_window = 10",
        "0us   | message 4 | 0 cwnd=10
         50us  | trimmed 0 | 0r cwnd=2",
    );
}

#[test]
fn the_credit_of_a_closed_connection_goes_to_the_others() {
    let mut host = Receiving::new(2, "");
    host.segments(at(0), 0, 1, due(20, 5_000));
    host.segments(at(0), 1, 1, due(20, 9_000));
    assert_eq!(host.edges(), [(0, 9.0), (1, 1.0)]);
    host.desk.acting = 0;
    host.ends[0].on_close(&host.config, at(10), &mut host.desk);
    assert_eq!(host.edges(), [(1, 9.0)]);
}

#[test]
fn a_window_of_its_own_has_the_rank_of_its_data_and_a_delayed_acknowledgement_the_window() {
    let mut host = Receiving::new(2, "ack_every = 2");
    host.segments(at(0), 0, 1, due(20, 9_000));
    host.desk.sent.clear();
    host.desk.acting = 1;
    let packet = Packet { rank: 3, ..Packet::data(0, MSS as u32, 0, at(1), Flags::NONE) };
    let header = transport::Header::Receive(Box::new(Header::Message(due(20, 5_000))));
    host.ends[1].on_packet(&host.config, at(1), &packet, Some(&mut Extension::of_header(header)), &mut host.desk);
    host.edges();
    host.segments(at(2), 0, 2, due(20, 9_000));
    let own = host.desk.sent.iter().find(|(connection, ..)| *connection == 1).expect("two segments are free");
    assert_eq!(own.1.rank, 3);
    host.edges();
    // The third segment is the first of two: its acknowledgement waits for the timer.
    host.desk.acting = 0;
    let latest = *host.desk.timers.last().expect("it is delayed");
    host.ends[0].on_timer(&host.config, latest, &mut host.desk);
    assert_eq!(host.edges(), [(0, 9.0)]);
}

#[test]
fn a_probe_is_answered_with_the_window() {
    let mut host = Receiving::new(1, "ack_every = 2");
    host.segments(at(0), 0, 1, due(20, 9_000));
    assert_eq!(host.edges(), [(0, 9.0)], "the ACK is delayed, but not the window");
    let probe = Packet::data(MSS, 0, 0, Instant::MAX, Flags::NONE);
    host.ends[0].on_packet(&host.config, at(5), &probe, None, &mut host.desk);
    assert_eq!(host.edges(), [(0, 9.0), (0, 9.0)], "the delayed ACK, and the answer");
}

#[test]
fn a_grant_that_is_not_used_is_given_to_others() {
    let mut host = Receiving::new(2, "");
    host.segments(at(0), 0, 1, due(20, 5_000));
    host.segments(at(0), 1, 1, due(20, 9_000));
    assert_eq!(host.edges(), [(0, 9.0), (1, 1.0)]);
    // The patience is 1 ms.
    let mut shared = std::mem::take(&mut host.desk.shared);
    for now in std::mem::take(&mut host.desk.host_timers) {
        shared.on_timer(now, &mut host.desk);
    }
    host.desk.shared = shared;
    assert_eq!(host.edges(), [(1, 9.0)]);
}

/// Of each frame of 1250 B 1000 B are payload: a segment takes 10 us. The segments arrive at this rate, so that 990 us are
/// just enough from the first one on.
#[test]
fn a_message_is_in_time_if_the_link_can_deliver_its_payload_until_its_deadline() {
    // The time is far from zero, so that a wrong unit of it is seen.
    let (begin, segment) = (Instant::from_millis(1000), Span::from_micros(10));
    for (short_of, edge) in [(Span::ZERO, 13.0), (Span::from_nanos(1), 9.0)] {
        let mut host = Receiving::new(3, "header = '100 B'");
        host.desk.frame_overhead = 150;
        let urgent = Known { end: 100 * MSS, deadline: Some(begin + segment * 99 - short_of) };
        let later = Known { end: 50 * MSS, deadline: Some(begin + segment * 1000) };
        host.segments(begin, 0, 1, urgent);
        host.segments(begin, 1, 1, later);
        host.segments(begin, 2, 1, later);
        (1..9).for_each(|index| host.segments(begin + segment * index, 0, 1, urgent));
        let edges = host.edges();
        let last = edges.iter().rev().find(|(connection, _)| *connection == 0);
        assert_eq!(last, Some(&(0, edge)), "{short_of} short of it");
    }
}

#[test]
fn connections_with_other_parameters_or_at_other_ports_have_a_credit_of_their_own() {
    for (keys, port, edge) in [("", 0, 1.0), ("receiver_floor = 0.5", 0, 9.0), ("", 1, 9.0)] {
        let mut host = Receiving::new(2, "");
        host.segments(at(0), 0, 1, due(20, 9_000));
        assert_eq!(host.edges(), [(0, 9.0)]);
        host.config = config(keys);
        host.ends[1] = Receiver::new(&host.config);
        host.desk.port = port;
        host.segments(at(1), 1, 1, due(20, 5_000));
        assert_eq!(host.edges(), [(1, edge)], "{keys}, port {port}");
    }
}

/// The credit of four segments is two windows of two.
#[test]
fn a_window_is_half_of_the_credit() {
    let mut host = Receiving::new(2, "");
    host.config =
        common::config("tcp", "mss = '1000 B'\nheader = '0 B'\nreceiver = 'edf'\nreceiver_credit = '4 packets'");
    host.ends = (0..2).map(|_| Receiver::new(&host.config)).collect();
    host.segments(at(0), 0, 1, due(20, 5_000));
    host.segments(at(0), 1, 1, due(20, 9_000));
    assert_eq!(host.edges(), [(0, 5.0), (1, 1.0)]);
    host.segments(at(1), 0, 2, due(20, 5_000));
    assert_eq!(host.desk.sent.last().map(|sent| sent.1.seq), Some(MSS), "the second's has its last acknowledgement");
    assert_eq!(host.edges(), [(0, 5.0), (0, 5.0), (1, 3.0)]);
}

/// The third connection's first segment is the occasion of a decision at a time to the nanosecond.
fn edges_at(mut host: Receiving, now: Instant) -> Vec<(u32, f64)> {
    host.edges();
    host.segments(now, 2, 1, due(20, 90_000));
    host.edges()
}

#[test]
fn a_held_connection_may_send_a_step_every_400_ms() {
    for (early, edges) in [(Span::ZERO, &[(2, 1.0), (1, 3.0)][..]), (Span::from_nanos(1), &[(2, 1.0)])] {
        let mut host = Receiving::new(4, "");
        host.config = common::config(
            "tcp",
            "mss = '1000 B'\nheader = '0 B'\nreceiver = 'edf'\nreceiver_credit = '8 packets'\nreceiver_patience = '1 s'",
        );
        host.ends = (0..4).map(|_| Receiver::new(&host.config)).collect();
        host.segments(at(0), 0, 1, due(20, 5_000));
        host.segments(at(0), 1, 1, due(20, 9_000));
        // A decision that leaves it held is no movement of its edge.
        host.segments(at(200_000), 3, 1, due(20, 95_000));
        assert_eq!(edges_at(host, at(400_000) - early), edges, "{early} before");
    }
}

#[test]
fn a_grant_counts_until_the_patience_is_over_and_no_longer() {
    let unused = || {
        let mut host = Receiving::new(3, "");
        host.segments(at(0), 0, 1, due(20, 5_000));
        host.segments(at(0), 1, 1, due(20, 9_000));
        host
    };
    assert_eq!(edges_at(unused(), at(1_000) - Span::from_nanos(1)), [(2, 1.0)]);
    // Four are for each of the others.
    let freed = [(2, 5.0), (1, 5.0)];
    assert_eq!(edges_at(unused(), at(1_000)), freed);
    // Data beyond a gap, or repeated data, brings no byte of the gap.
    let mut host = unused();
    host.next[0] = 0;
    host.segments(at(900), 0, 1, due(20, 5_000));
    host.next[0] = 3 * MSS;
    host.segments(at(900), 0, 1, due(20, 5_000));
    assert_eq!(edges_at(host, at(1_000)), freed);
    // The next segment does: seven of eight are out.
    let mut host = unused();
    host.segments(at(500), 0, 1, due(20, 5_000));
    assert_eq!(edges_at(host, at(1_000)), [(2, 1.0)]);
    // So does a single byte, as it probes a window that is shut.
    let mut host = unused();
    let packet = Packet::data(MSS, 1, 0, at(500), Flags::NONE);
    let mut extension = Extension::of_header(transport::Header::Receive(Box::new(Header::Message(due(20, 5_000)))));
    host.desk.acting = 0;
    host.ends[0].on_packet(&host.config, at(500), &packet, Some(&mut extension), &mut host.desk);
    assert_eq!(edges_at(host, at(1_000)), [(2, 1.0)]);
}

#[test]
fn a_grant_counts_from_the_time_at_which_it_was_given() {
    let mut host = Receiving::new(3, "");
    host.segments(at(0), 0, 1, due(20, 5_000));
    host.segments(at(0), 1, 1, due(20, 9_000));
    host.edges();
    host.segments(at(900), 0, 2, due(20, 5_000));
    assert_eq!(host.edges(), [(0, 9.0), (0, 9.0), (1, 3.0)]);
    assert_eq!(edges_at(host, at(1_000)), [(2, 1.0)], "six and two are out");
}

#[test]
fn the_schedule_is_due_after_a_step() {
    let mut host = Receiving::new(2, "");
    host.segments(at(0), 0, 1, due(20, 5_000));
    host.segments(at(0), 1, 1, due(2, 9_000));
    assert_eq!(host.edges(), [(0, 9.0), (1, 1.0)]);
    host.segments(at(1), 0, 1, due(20, 5_000));
    assert_eq!(host.edges(), [(0, 9.0)], "though a segment is free, which is all that the second needs");
    host.segments(at(2), 0, 1, due(20, 5_000));
    // Of two segments the second needs one, and may send the first one of its next message.
    assert_eq!(host.edges(), [(0, 10.0), (1, 3.0)]);
}

#[test]
fn a_connection_whose_first_segment_is_late_has_its_window_from_the_start() {
    let mut host = Receiving::new(2, "");
    host.next[0] = MSS;
    host.segments(at(0), 0, 1, due(20, 9_000));
    assert_eq!(host.desk.sent[0].1.seq, 0);
    assert_eq!(host.edges(), [(0, 8.0)]);
    host.next[1] = MSS;
    host.segments(at(1), 1, 1, due(20, 5_000));
    host.next[0] = 0;
    host.segments(at(2), 0, 1, due(20, 9_000));
    host.next[0] = 2 * MSS;
    host.segments(at(2), 0, 2, due(20, 9_000));
    let own = host.desk.sent.last().expect("segments are free");
    assert_eq!((own.0, own.1.seq), (1, 0));
}

#[test]
fn a_message_that_is_known_late_precedes_the_ones_behind_it() {
    let mut host = Receiving::new(1, "");
    host.next[0] = 9 * MSS;
    host.segments(at(0), 0, 1, due(20, 9_000));
    assert_eq!(host.edges(), [(0, 8.0)]);
    host.next[0] = 0;
    host.segments(at(1), 0, 1, due(9, 8_000));
    // All of the first message, and a segment of the next; of the second it would be eight more.
    assert_eq!(host.edges(), [(0, 10.0)]);
}

#[test]
fn a_host_whose_messages_have_arrived_stops_its_timer() {
    let mut host = Receiving::new(1, "");
    host.segments(at(0), 0, 5, due(5, 9_000));
    assert_eq!(std::mem::take(&mut host.desk.host_timers), [at(1_000)]);
    let mut shared = std::mem::take(&mut host.desk.shared);
    shared.on_timer(at(1_000), &mut host.desk);
    assert_eq!(host.desk.host_timers, []);
}

/// Of three connections a credit of four segments lets two send.
#[test]
fn the_bytes_of_messages_take_no_turn_of_traffic_without_a_deadline() {
    let keys = "mss = '1000 B'\nheader = '0 B'\nreceiver = 'edf'\nreceiver_credit = '4 packets'";
    let config = || common::config("tcp", keys);
    let ends = (0..3).map(|_| Receiver::new(&config())).collect();
    let mut host = Receiving { ends, config: config(), desk: Desk::default(), next: vec![0; 3] };
    let bulk = Known { end: 1 << 40, deadline: None };
    host.segments(at(0), 2, 10, due(10, 9_000));
    host.edges();
    let mut edges = [1.0, 1.0, 11.0];
    for us in 0..14 {
        // The others have received four segments each at the most, which is more than nothing and less than ten.
        if us == 8 {
            host.segments(at(us), 2, 1, bulk);
        }
        let connection = us as usize % 2;
        if (host.next[connection] + MSS) as f64 <= edges[connection] * MSS as f64 {
            host.segments(at(us), connection, 1, bulk);
        }
        host.edges().into_iter().for_each(|(connection, edge)| edges[connection as usize] = edge);
    }
    assert_eq!(edges[2], 13.0, "{edges:?}");
}

/// The advertised edge after the first segment of a connection, in bytes, and the time of the host's timer.
fn first_edge(keys: &str, surroundings: &Surroundings) -> (u64, Vec<Instant>) {
    let keys = format!("mss = '{MSS} B'\nheader = '0 B'\nreceiver = 'edf'\n{keys}");
    let config = common::config_in("tcp", &keys, surroundings);
    let mut host = Receiving { ends: vec![Receiver::new(&config)], config, desk: Desk::default(), next: vec![0] };
    host.segments(at(0), 0, 1, due(500, 90_000));
    let (_, ack, extension) = host.desk.sent.remove(0);
    (ack.seq + window(&extension).expect("it has a window"), host.desk.host_timers)
}

#[test]
fn the_schedule_follows_from_the_network() {
    // 10 Gbit/s and 14.6 us, of 1000 B 1.6 us less: two products of 16 250 B, and ten round trips.
    let timers = vec![Instant::ZERO + Span::from_micros(130)];
    assert_eq!(first_edge("", &Surroundings::default()), (MSS + 32_500, timers));
    let short = Surroundings { base_rtt: Span::from_micros(1), ..Surroundings::default() };
    assert_eq!(first_edge("", &short).0, MSS + 22 * MSS, "22 segments at least");
    assert_eq!(first_edge("receiver_credit = '9000 B'", &short).0, MSS + 9_000);
    assert_eq!(first_edge("receiver_credit = '9 packets'", &short).0, MSS + 9_000);
}

#[test]
fn a_transport_without_the_schedule_has_no_parameters_of_it() {
    let tcp = transport::registry::find("tcp").expect("it is there");
    // Packets of 1040 B: 368 ns less than 1500 B on each of four links.
    for (receiver, credit) in [("stock", None), ("edf", Some(Amount::Bytes(32_820)))] {
        let mut values = Values::read(tcp.keys(), &[("receiver", receiver), ("mss", "1000 B")]).expect("it is valid");
        tcp.build(&mut values, &Surroundings::default()).expect("it is valid");
        assert_eq!(values.amount_if_set("receiver_credit"), credit, "{receiver}");
    }
}

/// RFC 7323 2.3: the field of 16 bits holds the credit and a segment more.
#[test]
fn a_window_field_is_scaled_from_64_kb_on() {
    let field = |credit: u64| {
        let edge = first_edge(&format!("receiver_credit = '{credit} B'"), &Surroundings::default()).0;
        edge - MSS
    };
    assert_eq!(field(64_535), 64_535);
    assert_eq!(field(64_536), 64_536 / 2);
    assert_eq!(field(130_071), 65_036, "rounded up");
    assert_eq!(field(130_072), 130_072 / 4);
}

/// The share of traffic without a deadline is 6000 B of 8000 B: two segments are left, which is the least step.
#[test]
fn messages_have_all_but_the_floor() {
    let mut host = Receiving::new(2, "receiver_floor = 0.75");
    let bulk = Known { end: 1 << 40, deadline: None };
    host.segments(at(0), 1, 1, bulk);
    host.segments(at(0), 0, 1, due(20, 90_000));
    assert_eq!(host.edges(), [(1, 9.0), (0, 1.0)]);
    host.segments(at(1), 1, 2, bulk);
    assert_eq!(host.edges(), [(1, 9.0), (1, 9.0), (0, 3.0)]);
}

#[test]
fn the_ends_know_the_acknowledged_and_the_received_data() {
    let mut sender = Sending::new(2.0);
    assert!(!sender.end.is_idle());
    sender.ack(at(100), 1, 3.0);
    assert_eq!((sender.end.acknowledged(), sender.end.is_idle()), (MSS, false));
    sender.ack(at(200), 2, 3.0);
    assert_eq!((sender.end.acknowledged(), sender.end.is_idle()), (2 * MSS, true));
    let mut host = Receiving::new(1, "");
    host.segments(at(0), 0, 2, due(20, 9_000));
    host.next[0] = 4 * MSS;
    host.segments(at(0), 0, 1, due(20, 9_000));
    assert_eq!(host.ends[0].next(), 2 * MSS);
    assert_eq!([1, 3, 5].map(|segment| host.ends[0].arrived_below(segment * MSS)), [MSS, 2 * MSS, 3 * MSS]);
}

#[test]
fn a_handshake_is_of_no_message_and_has_no_window() {
    let mut sender = Sending::with(4.0, "handshake = true");
    let syn = sender.desk.sent.remove(0);
    assert!(syn.1.flags.has(Flags::SYN) && syn.2.is_none());
    let mut host = Receiving::new(1, "handshake = true");
    host.ends[0].on_packet(&host.config, at(50), &syn.1, None, &mut host.desk);
    let [(_, answer, None)] = &host.desk.sent[..] else { panic!("{:?}", host.desk.sent) };
    assert!(answer.flags.has(Flags::SYN));
    sender.end.on_packet(&sender.config, at(100), answer, None, &mut sender.desk);
    assert!(sender.desk.sent[0].1.flags.has(Flags::OPENED) && sender.desk.sent[0].2.is_none());
    assert_eq!(sender.sent(), [(0.0, 0.0), (0.0, 1.0)]);
}

#[test]
fn a_message_behind_a_shut_window_is_probed_as_well() {
    let mut sender = Sending::new(1.0);
    sender.ack(at(100), 1, 1.0);
    sender.sent();
    sender.desk.timers.clear();
    sender.end.enqueue_message(&sender.config, at(500), Message::of(Bytes(2 * MSS)), &mut sender.desk);
    assert_eq!((sender.sent(), &sender.desk.timers[..]), (vec![], &[at(20_500)][..]));
}

#[test]
fn a_timer_that_fires_early_is_armed_again_for_the_probe() {
    let mut sender = Sending::new(4.0);
    sender.ack(at(100), 1, 1.0);
    sender.sent();
    sender.desk.timers.clear();
    sender.end.on_timer(&sender.config, at(5_000), &mut sender.desk);
    assert_eq!((sender.sent(), &sender.desk.timers[..]), (vec![], &[at(20_100)][..]));
    // With an open window it is the timer of the segments in flight.
    sender.ack(at(6_000), 1, 3.0);
    sender.sent();
    sender.desk.timers.clear();
    sender.end.on_timer(&sender.config, at(20_100), &mut sender.desk);
    assert_eq!((sender.sent(), &sender.desk.timers[..]), (vec![], &[at(26_000)][..]));
}

#[test]
fn a_window_that_has_opened_ends_the_probes() {
    let mut sender = Sending::new(8.0);
    sender.ack(at(100), 1, 1.0);
    sender.end.on_timer(&sender.config, at(20_100), &mut sender.desk);
    assert_eq!(sender.desk.probes, 1);
    sender.ack(at(30_000), 1, 3.0);
    sender.desk.timers.clear();
    sender.ack(at(30_100), 3, 3.0);
    // It begins anew, with the timeout and not with twice that.
    assert_eq!(sender.desk.timers, [at(50_100)]);
    sender.end.on_timer(&sender.config, at(50_099), &mut sender.desk);
    assert_eq!(sender.desk.probes, 1);
    sender.end.on_timer(&sender.config, at(50_100), &mut sender.desk);
    assert_eq!(sender.desk.probes, 2);
}

#[test]
fn a_segment_that_is_not_acknowledged_is_sent_again_after_the_timeout() {
    let mut sender = Sending::new(4.0);
    assert_eq!(sender.sent(), [(0.0, 1.0)]);
    sender.end.on_timer(&sender.config, at(20_000), &mut sender.desk);
    assert_eq!((sender.sent(), sender.desk.timeouts), (vec![(0.0, 1.0)], 1));
}

#[test]
fn a_full_queue_of_the_host_holds_the_sender_until_it_has_room() {
    let mut sender = Sending::new(4.0);
    sender.sent();
    sender.desk.full = true;
    sender.ack(at(100), 1, 3.0);
    assert_eq!(sender.sent(), []);
    sender.desk.full = false;
    sender.end.on_room(&sender.config, at(200), &mut sender.desk);
    assert_eq!(sender.sent(), [(1.0, 1.0), (2.0, 1.0)]);
}

/// Of the first message two of six segments are sent when it is given up; the second one moves up by four.
#[test]
fn the_end_of_a_message_moves_up_with_one_that_is_given_up() {
    let keys = "mss = '1000 B'\nheader = '0 B'\nreceiver = 'edf'\nreceiver_credit = '8 packets'\nexpired = 'abort'";
    let config = common::config("d2tcp", &format!("{keys}\ninitial_window = 2\nrto_initial = '20 ms'"));
    let mut sender = Sending { end: Sender::new(&config), config, desk: Desk::default() };
    for (segments, deadline) in [(1, None), (6, Some(at(700))), (3, None)] {
        let message = Message { deadline, ..Message::of(Bytes(segments * MSS)) };
        sender.end.enqueue_message(&sender.config, at(0), message, &mut sender.desk);
    }
    sender.ack(at(100), 1, 3.0);
    assert_eq!(sender.sent(), [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]);
    sender.ack(at(1_000), 2, 5.0);
    assert_eq!(sender.desk.abandoned, [(7 * MSS, 4 * MSS)]);
    let ends: Vec<u64> = sender.desk.sent.iter().map(|(_, _, extension)| known(extension).end / MSS).collect();
    assert_eq!((ends, sender.sent()), (vec![6, 6], vec![(3.0, 1.0), (4.0, 1.0)]));
    // A retransmission is still of the message that ends earlier.
    sender.end.on_timer(&sender.config, at(21_000), &mut sender.desk);
    assert_eq!(known(&sender.desk.sent[0].2).end, 3 * MSS);
}

/// Returns the message that a data packet names.
fn known(extension: &Option<Extension>) -> Known {
    match extension.as_ref().and_then(|extension| extension.header.as_ref()) {
        Some(transport::Header::Receive(header)) => match **header {
            Header::Message(message) => message,
            Header::Window(_) => panic!("it is an acknowledgement"),
        },
        other => panic!("{other:?}"),
    }
}

/// The wait of `d2tcp_plus` before a hopeless message is drawn: flows that are alike do not wait alike.
#[test]
fn senders_with_other_numbers_draw_other_waits() {
    for receiver in ["stock", "edf"] {
        let keys = format!("mss = '1000 B'\nheader = '0 B'\nreceiver = '{receiver}'");
        let config = common::config("d2tcp_plus", &keys);
        let wait = |identity| {
            let (mut end, mut desk) = (Sender::new(&config), Desk::default());
            end.identify(identity);
            let message = Message { deadline: Some(at(700)), ..Message::of(Bytes(1000 * MSS)) };
            end.enqueue_message(&config, at(0), message, &mut desk);
            desk.timers.clear();
            // All that was sent has arrived, and the window of the receiver is open.
            let packet = Packet::ack(desk.sent.len() as u64 * MSS, 0, at(0), Flags::ECE);
            let header = transport::Header::Receive(Box::new(Header::Window(8 * MSS as u16)));
            let mut extension = (receiver == "edf").then(|| Extension::of_header(header));
            end.on_packet(&config, at(100), &packet, extension.as_mut(), &mut desk);
            desk.timers
        };
        assert!(!wait(1).is_empty() && wait(1) == wait(1), "{receiver}");
        assert_ne!(wait(1), wait(2), "{receiver}");
    }
}
