//! The sending end of transports that ask for rates, fed by hand.

use super::common;

use transport::agent::{Agent, PortState};
use transport::d3::{self, Ask, Router};
use transport::host::{AtHost, HostOutput};
use transport::registry::{Config, Control};
use transport::{
    Blocks, Expired, Extension, Flags, Header, Message, Observation, Output, Packet, Receiver, Sender, Site,
};
use units::{Bytes, HostId, Instant, Rate, Span};

const RTT: Span = Span::from_micros(100);
const MBPS: u64 = 1_000_000;

/// The configuration of a scenario with these keys in `[transport]`. Segments have 1000 B and headers none, so that a
/// segment takes 8 us at 1 Gbit/s.
fn config(name: &str, keys: &str) -> Config {
    let header = if keys.contains("header") { "" } else { "header = '0 B'" };
    common::config(name, &format!("mss = '1000 B'\n{header}\nbase_rtt = '100 us'\n{keys}"))
}

#[derive(Default)]
struct Notes {
    data: Vec<(Instant, u64)>,
    asked: Vec<d3::Header>,
    last: Option<d3::Header>,
    timer: Option<Instant>,
    given_up: Vec<(u64, u64)>,
    timeouts: u64,
    /// The host's queue has no room.
    full: bool,
    now: Instant,
}

impl Output for Notes {
    fn send(&mut self, packet: Packet) {
        assert!(packet.payload > 0 && self.data.len() < 10_000, "it sends without end");
        self.data.push((self.now, packet.seq / 1000));
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        if packet.payload > 0 {
            self.data.push((self.now, packet.seq / 1000));
        }
        let Some(Header::D3(rates)) = extension.header else { panic!("{extension:?}") };
        assert_eq!(packet.payload == 0 && rates.ask != Ask::Close, packet.flags.has(Flags::SYN));
        if rates.ask != Ask::Close {
            self.last = Some((*rates).clone());
        }
        self.asked.push(*rates);
    }
    fn arm(&mut self, at: Instant) {
        self.timer = Some(self.timer.map_or(at, |timer| timer.min(at)));
    }
    fn has_room(&mut self) -> bool {
        !self.full
    }
    fn timed_out(&mut self, _: Expired) {
        self.timeouts += 1;
    }
    fn abandon(&mut self, end: u64, unsent: Bytes) {
        self.given_up.push((end, unsent.0));
    }
    fn site(&self) -> Site {
        Site { rate: Rate(1000 * MBPS), frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 }
    }
}

impl HostOutput for Notes {}
impl AtHost for Notes {}

struct Bench {
    config: Config,
    sender: Sender,
    notes: Notes,
}

impl Bench {
    fn new(name: &str, keys: &str) -> Bench {
        let config = config(name, keys);
        Bench { sender: Sender::new(&config), config, notes: Notes::default() }
    }
    fn message(&mut self, bytes: u64, deadline: Option<Instant>) {
        let message = Message { deadline, ..Message::of(Bytes(bytes)) };
        self.sender.enqueue_message(&self.config, self.notes.now, message, &mut self.notes);
    }
    /// An ACK of everything before `segment`, sent when the data of `stamp` arrived.
    fn ack(&mut self, segment: u64, stamp: Instant) {
        let packet = Packet::ack(segment * 1000, 0, stamp, Flags::NONE);
        self.sender.on_packet(&self.config, self.notes.now, &packet, None, &mut self.notes);
    }
    /// Everything before `segment` has arrived, and the last request, to which the hops grant these Mbit/s.
    fn grant(&mut self, segment: u64, mbps: &[u64]) {
        let mut rates = self.notes.last.clone().expect("it has asked");
        rates.grants = mbps.iter().map(|grant| grant * MBPS).collect();
        rates.uplink = 1000 * MBPS;
        let packet = Packet::ack(segment * 1000, 0, Instant::MAX, Flags::SYN);
        let mut extension = Some(Extension::of_header(Header::D3(Box::new(rates))));
        self.sender.on_packet(&self.config, self.notes.now, &packet, extension.as_mut(), &mut self.notes);
    }
    /// The same at a given time, for whatever was asked last: an answer to one request of several.
    fn grant_at(&mut self, us: u64, segment: u64, mbps: u64) {
        let now = Instant::from_micros(us);
        self.wait(now - self.notes.now);
        self.grant(segment, &[mbps]);
    }
    /// Lets time pass, with its timers.
    fn wait(&mut self, time: Span) {
        let (until, mut timers) = (self.notes.now + time, 0);
        while let Some(at) = self.notes.timer.filter(|&at| at <= until) {
            timers += 1;
            assert!(timers < 10_000, "it is woken without end");
            self.notes.timer = None;
            self.notes.now = at;
            self.sender.on_timer(&self.config, at, &mut self.notes);
        }
        self.notes.now = until;
    }
    /// Returns the segments sent since the last call: the number of each, and its time in us.
    fn sent(&mut self) -> Vec<(u64, u64)> {
        self.notes.data.drain(..).map(|(at, segment)| (segment, at.0 / 1_000_000)).collect()
    }
    /// Returns the requests since the last call: the kind of each, and its rate in Mbit/s.
    fn asked(&mut self) -> Vec<(Ask, u64)> {
        self.notes.asked.drain(..).map(|rates| (rates.ask, rates.request / MBPS)).collect()
    }
}

#[test]
fn a_rate_is_asked_for_before_the_first_byte() {
    // 50 000 B in 5 ms, less two round trips: 400 kbit in 4.8 ms.
    let mut bench = Bench::new("d3", "");
    bench.message(50_000, Some(Instant::from_millis(5)));
    assert_eq!(bench.notes.asked[0].request, 83_333_334, "rounded up");
    assert_eq!((bench.asked(), bench.sent().len()), (vec![(Ask::Open, 83)], 0));
    bench.wait(Span::from_millis(1));
    assert_eq!(bench.sent(), [], "nothing is sent that was not granted");
}

#[test]
fn headers_are_asked_for_too() {
    let mut bench = Bench::new("d3", "header = '40 B'");
    bench.message(50_000, Some(Instant::from_millis(5)));
    assert_eq!(bench.notes.asked[0].request, 86_666_667, "50 x 1040 B");
}

#[test]
fn data_is_paced_at_the_smallest_grant_and_carries_the_next_request() {
    let mut bench = Bench::new("d3", "");
    bench.message(50_000, Some(Instant::from_millis(5)));
    bench.wait(RTT);
    bench.grant(0, &[1000, 80, 400]);
    bench.wait(RTT * 3);
    // 1000 B at 80 Mbit/s: one every 100 us.
    assert_eq!(bench.sent(), [(0, 100), (1, 200), (2, 300), (3, 400)]);
    // The request is sent with the first of them. It is about the data left a round trip later: 49 000 B of 50 000 in
    // 4.9 ms less two round trips.
    let requests: Vec<_> =
        bench.notes.asked.iter().map(|rates| (rates.ask, rates.request, rates.previous_request)).collect();
    assert_eq!(requests[1..], [(Ask::Renew, 83_404_256, 83_333_334)]);
    assert_eq!(bench.notes.asked[1].previous, [1000 * MBPS, 80 * MBPS, 400 * MBPS]);
}

#[test]
fn a_new_rate_holds_at_once() {
    let mut bench = Bench::new("rcpdc", "");
    bench.message(50_000, None);
    bench.wait(RTT);
    bench.grant(0, &[8]);
    bench.wait(RTT);
    // The second segment would leave 1 ms after the first; at 80 Mbit/s 100 us after it, which is now.
    bench.grant(1, &[80]);
    assert_eq!(bench.sent(), [(0, 100), (1, 200)]);
}

#[test]
fn with_next_to_nothing_granted_a_header_asks_once_per_round_trip() {
    let mut bench = Bench::new("d3", "");
    bench.message(50_000, Some(Instant::from_millis(50)));
    for _ in 0..5 {
        assert_eq!(bench.asked().len(), 1);
        bench.wait(RTT);
        bench.grant(0, &[0]);
    }
    assert_eq!(bench.sent(), []);
}

#[test]
fn without_a_deadline_or_too_late_nothing_is_asked_for() {
    for (name, deadline) in
        [("d3", None), ("d3", Some(Instant::ZERO)), ("rcpdc", None), ("rcpdc", Some(Instant::from_millis(5)))]
    {
        let mut bench = Bench::new(name, "");
        bench.message(50_000, deadline);
        assert_eq!(bench.asked(), [(Ask::Open, 0)], "{name} {deadline:?}");
    }
}

#[test]
fn the_rate_is_given_back_with_the_last_byte_and_each_message_asks_anew() {
    let mut bench = Bench::new("d3", "");
    bench.message(2000, None);
    bench.message(1000, Some(Instant::from_millis(10)));
    bench.wait(RTT);
    bench.grant(0, &[1000, 800]);
    bench.wait(Span::from_micros(50));
    // The FIN contains the grants, so that routers without memory of them can subtract them.
    assert_eq!(bench.notes.asked[2].previous, [1000 * MBPS, 800 * MBPS]);
    assert_eq!(bench.asked(), [(Ask::Open, 0), (Ask::Renew, 0), (Ask::Close, 0), (Ask::Open, 0)]);
    assert_eq!(bench.sent(), [(0, 100), (1, 110)]);
}

#[test]
fn where_only_headers_tell_the_fin_waits_for_the_last_answer() {
    let mut bench = Bench::new("d3", "router_state = 'counters'");
    bench.message(1000, None);
    bench.wait(RTT);
    bench.grant(0, &[500]);
    assert_eq!(bench.asked().last(), Some(&(Ask::Renew, 0)));
    bench.wait(RTT);
    bench.grant(1, &[700]);
    assert_eq!(
        bench.notes.asked.last().map(|fin| (fin.ask, fin.previous.clone())),
        Some((Ask::Close, vec![700 * MBPS]))
    );
    assert!(bench.sender.is_idle());
}

#[test]
fn while_the_fin_of_one_message_waits_what_is_shown_is_about_the_next() {
    let mut bench = Bench::new("d3", "router_state = 'counters'");
    bench.message(1000, None);
    bench.message(50_000, Some(Instant::from_millis(5)));
    bench.grant_at(100, 0, 500);
    // 400 kbit in 4.9 ms, less two round trips.
    assert_eq!(
        bench.notes.asked.iter().map(|asked| (asked.message, asked.request)).collect::<Vec<_>>()[1..],
        [(0, 0), (1, 85_106_383)]
    );
    let mut seen = Observation::default();
    bench.sender.observe(&bench.config, bench.notes.now, &mut seen);
    assert_eq!((seen.get("rate"), seen.get("request")), (Some(0.0), Some(85.106_383)));
}

#[test]
fn a_lost_request_is_noticed_when_what_was_sent_after_it_is_acknowledged() {
    let mut bench = Bench::new("rcpdc", "recovery = 'newreno'");
    bench.message(50_000, None);
    bench.wait(RTT);
    bench.grant(0, &[80]);
    bench.wait(RTT * 2);
    assert_eq!(bench.asked().len(), 2, "with the first segment, whose answer is lost");
    let before = bench.notes.now;
    bench.ack(1, before - RTT);
    bench.wait(RTT);
    assert_eq!(bench.asked().len(), 1);
}

#[test]
fn a_timeout_sends_one_segment_and_the_next_request_with_it() {
    let mut bench = Bench::new("d3", "rto_min = '5 ms'\nrto_initial = '5 ms'");
    bench.message(5_000, Some(Instant::from_millis(50)));
    bench.wait(RTT);
    bench.grant(0, &[1000]);
    bench.wait(RTT);
    assert_eq!(bench.sent().len(), 5);
    // All of it, the request and the FIN are lost.
    assert_eq!(bench.asked().len(), 3);
    bench.wait(Span::from_millis(6));
    assert_eq!(bench.sent(), [(0, 5100)]);
    assert_eq!(bench.asked().iter().map(|(ask, _)| *ask).collect::<Vec<_>>(), [Ask::Open]);
    bench.grant(1, &[1000]);
    bench.wait(RTT);
    assert_eq!(bench.sent().iter().map(|sent| sent.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn lost_segments_are_sent_again_at_the_granted_rate() {
    for recovery in ["sack", "newreno"] {
        let mut bench = Bench::new("rcpdc", &format!("recovery = '{recovery}'"));
        bench.message(50_000, None);
        bench.wait(RTT);
        bench.grant(0, &[80]);
        bench.wait(RTT * 5);
        assert_eq!(bench.sent().len(), 6);
        // The second segment is lost.
        bench.ack(1, Instant::MAX);
        for end in [3, 4, 5] {
            let packet = Packet::ack(1000, 0, Instant::MAX, Flags::NONE);
            let mut blocks = Blocks::default();
            blocks.push((2000, end * 1000));
            let mut extension = (recovery == "sack").then_some(Extension::of_blocks(blocks));
            bench.sender.on_packet(&bench.config, bench.notes.now, &packet, extension.as_mut(), &mut bench.notes);
        }
        bench.wait(RTT * 2);
        assert_eq!(bench.sent(), [(1, 700), (6, 800)], "{recovery}");
    }
}

#[test]
fn what_cannot_be_in_time_is_given_up_if_asked() {
    // 1 MB in 5 ms is 1.6 Gbit/s and more: above the link's rate.
    let mut bench = Bench::new("d3", "quench = true");
    bench.message(1_000_000, Some(Instant::from_millis(5)));
    bench.wait(RTT);
    bench.grant(0, &[1000]);
    assert_eq!(bench.notes.given_up, [(1_000_000, 1_000_000)]);
    assert_eq!((bench.asked().last(), bench.sender.is_idle()), (Some(&(Ask::Close, 0)), true));
    // It is feasible to the end at the link's rate, but is granted 80 Mbit/s: nine segments from 0.1 to 0.9 ms. The
    // rest at its deadline is dropped.
    let mut bench = Bench::new("d3", "quench = true");
    bench.message(10_000, Some(Instant::from_millis(1)));
    bench.grant_at(100, 0, 80);
    bench.wait(Span::from_micros(899));
    assert_eq!((bench.sent().len(), bench.notes.given_up.len()), (9, 0));
    bench.wait(Span::from_micros(1));
    assert_eq!((bench.sent(), &bench.notes.given_up[..]), (vec![], &[(10_000, 1000)][..]));
}

#[test]
fn what_is_sent_again_of_one_message_leaves_the_next_ones_reservation_alone() {
    for recovery in ["sack", "newreno"] {
        let mut bench = Bench::new("d3", &format!("recovery = '{recovery}'"));
        let Control::D3(own) = bench.config.control else { unreachable!() };
        let mut router = Router::new(own.router, 1000 * MBPS);
        // Lets the router answer the requests since the last call, in order; returns the answers.
        let mut answers = |bench: &mut Bench| {
            let mut answers = Vec::new();
            for mut rates in bench.notes.asked.drain(..) {
                let open = rates.ask != Ask::Close;
                router.answer(bench.notes.now, (0, rates.message), &mut rates);
                answers.extend(open.then_some(rates));
            }
            (answers, router.allocation().expect("it gives rates away"))
        };
        let arrive = |bench: &mut Bench, segment: u64, sacked: Option<(u64, u64)>, answer: Option<d3::Header>| {
            let packet = Packet::ack(segment * 1000, 0, Instant::MAX, Flags::NONE);
            let mut blocks = Blocks::default();
            sacked.iter().for_each(|(start, end)| blocks.push((start * 1000, end * 1000)));
            let mut extension = match answer {
                Some(header) => Some(Extension { sack: blocks, ..Extension::of_header(Header::D3(Box::new(header))) }),
                None => (recovery == "sack" && sacked.is_some()).then_some(Extension::of_blocks(blocks)),
            };
            bench.sender.on_packet(&bench.config, bench.notes.now, &packet, extension.as_mut(), &mut bench.notes);
        };
        // Six segments without a deadline, and behind them 100 that are needed within 2 ms: 444 Mbit/s and more.
        bench.message(6000, None);
        bench.message(100_000, Some(Instant::from_millis(2)));
        bench.wait(RTT);
        let granted = answers(&mut bench).0.pop();
        arrive(&mut bench, 0, None, granted);
        bench.wait(RTT);
        assert_eq!(bench.sent().len(), 6);
        // The FIN of the first message and the request of the second are in flight.
        let (mut granted, counters) = answers(&mut bench);
        let urgent = counters.requested;
        assert!(urgent > 440 * MBPS, "{urgent}");
        arrive(&mut bench, 1, None, granted.pop());
        bench.wait(RTT);
        // The second segment of all is lost, and is asked for under its own message, which has been closed.
        for end in 3..=6 {
            arrive(&mut bench, 1, Some((2, end)), None);
        }
        bench.wait(RTT / 2);
        let (mut granted, counters) = answers(&mut bench);
        assert!(counters.requested > 400 * MBPS, "{recovery}: {} of {urgent} are left", counters.requested);
        assert_eq!(counters.flows, 2, "{recovery}");
        assert!(bench.sent().iter().all(|sent| sent.0 >= 6), "{recovery}: not before it is granted");
        granted.retain(|rates| rates.request == 0);
        arrive(&mut bench, 1, None, granted.pop());
        bench.wait(RTT / 2);
        assert!(bench.sent().iter().any(|sent| sent.0 == 1), "{recovery}: repaired");
        let counters = answers(&mut bench).1;
        assert!(counters.requested > 400 * MBPS && counters.flows == 1, "{recovery}: {counters:?}");
    }
}

#[test]
fn what_is_lost_is_asked_for_again() {
    let mut bench = Bench::new("d3", "");
    bench.message(20_000, Some(Instant::from_millis(10)));
    bench.wait(RTT);
    bench.grant(0, &[1000]);
    bench.wait(RTT * 2);
    assert_eq!((bench.sent().len(), bench.asked().len()), (20, 3));
    // Of all that was sent the first five segments are lost: 40 kbit in 9.7 ms, less two round trips.
    let packet = Packet::ack(0, 0, Instant::MAX, Flags::NONE);
    let mut blocks = Blocks::default();
    blocks.push((5000, 20_000));
    let mut extension = Some(Extension::of_blocks(blocks));
    bench.sender.on_packet(&bench.config, bench.notes.now, &packet, extension.as_mut(), &mut bench.notes);
    assert_eq!(bench.notes.asked[0].request, 4_210_527);
    assert_eq!((bench.asked(), bench.sent()), (vec![(Ask::Open, 4)], vec![]));
}

#[test]
fn without_sack_the_one_segment_that_is_to_be_sent_again_is_asked_for() {
    let mut bench = Bench::new("d3", "recovery = 'newreno'");
    bench.message(20_000, Some(Instant::from_millis(10)));
    bench.wait(RTT);
    bench.grant(0, &[1000]);
    bench.wait(RTT * 2);
    assert_eq!((bench.sent().len(), bench.asked().len()), (20, 3));
    bench.ack(1, Instant::MAX);
    (0..3).for_each(|_| bench.ack(1, Instant::MAX));
    // 8 kbit in 9.7 ms, less two round trips.
    assert_eq!(bench.notes.asked.iter().map(|asked| asked.request).collect::<Vec<_>>(), [842_106]);
}

#[test]
fn what_is_lost_of_one_message_is_not_asked_for_with_another() {
    let mut bench = Bench::new("d3", "recovery = 'newreno'");
    bench.message(2000, None);
    bench.message(50_000, Some(Instant::from_millis(10)));
    // A segment per 100 us, the first of the second message at 290 us, each with a request that is answered 95 us later.
    for us in [95, 290, 385, 485, 585] {
        bench.grant_at(us, 0, 80);
    }
    bench.wait(Span::from_micros(5));
    let second = bench.notes.last.clone().unwrap();
    assert_eq!((second.message, second.sent), (1, Instant::from_micros(590)));
    bench.asked();
    // The second segment of the first message is lost, and is asked for by itself: it has no deadline.
    bench.ack(1, Instant::MAX);
    (0..3).for_each(|_| bench.ack(1, Instant::MAX));
    assert_eq!(bench.notes.asked.iter().map(|asked| (asked.message, asked.request)).collect::<Vec<_>>(), [(0, 0)]);
    // The signals are about the later message.
    let shown = |bench: &Bench| {
        let mut seen = Observation::default();
        bench.sender.observe(&bench.config, bench.notes.now, &mut seen);
        seen.get("rate").unwrap()
    };
    assert_eq!(shown(&bench), 80.0);
    bench.notes.last = Some(second);
    bench.grant_at(685, 1, 80);
    bench.wait(Span::from_micros(5));
    // Six of 52 segments were sent, and 950 B follow at the present rate: 45 050 B in 9.31 ms, less two round trips.
    assert_eq!(
        bench.notes.asked.iter().map(|asked| (asked.message, asked.request)).collect::<Vec<_>>()[1..],
        [(1, 39_517_544)]
    );
    assert_eq!(shown(&bench), 80.0);
}

#[test]
fn after_a_timeout_what_has_arrived_is_not_asked_for() {
    let mut bench = Bench::new("d3", "rto_min = '5 ms'\nrto_initial = '5 ms'");
    bench.message(10_000, Some(Instant::from_millis(50)));
    bench.grant_at(95, 0, 1000);
    bench.wait(RTT);
    // Segments 5 to 7 have arrived; the request for those before them is lost, and after 5 ms the timer expires.
    let packet = Packet::ack(0, 0, Instant::MAX, Flags::NONE);
    let mut blocks = Blocks::default();
    blocks.push((5000, 8000));
    let mut extension = Some(Extension::of_blocks(blocks));
    bench.sender.on_packet(&bench.config, bench.notes.now, &packet, extension.as_mut(), &mut bench.notes);
    bench.asked();
    bench.sent();
    bench.wait(Span::from_micros(4900));
    assert_eq!(bench.sent(), [(0, 5095)]);
    // 7000 B in 44.905 ms, less two round trips.
    assert_eq!(bench.notes.asked.iter().map(|asked| asked.request).collect::<Vec<_>>(), [1_252_377]);
    for (us, segment) in [(5190, 1), (5290, 2), (5390, 3), (5490, 4), (5590, 4)] {
        bench.grant_at(us, segment, 80);
    }
    bench.wait(Span::from_micros(5));
    assert_eq!(bench.sent(), [(1, 5195), (2, 5295), (3, 5395), (4, 5495), (8, 5595)]);
    // Two segments are left, of which 950 B follow at the present rate: 1050 B in 44.405 ms, less two round trips.
    assert_eq!(bench.notes.asked.last().map(|asked| asked.request), Some(189_981));
}

#[test]
fn when_all_is_answered_no_timer_runs() {
    let mut bench = Bench::new("d3", "");
    bench.message(2000, None);
    bench.grant_at(100, 0, 1000);
    bench.wait(RTT);
    bench.ack(1, Instant::MAX);
    assert_eq!((bench.sender.acknowledged(), bench.sender.is_idle()), (1000, false));
    bench.grant(2, &[1000]);
    assert_eq!((bench.sender.acknowledged(), bench.sender.is_idle()), (2000, true));
    bench.wait(Span::from_millis(500));
    assert_eq!(bench.notes.timeouts, 0);
}

#[test]
fn a_request_is_not_lost_because_what_was_sent_with_it_is_acknowledged_first() {
    let mut bench = Bench::new("rcpdc", "");
    bench.message(3000, None);
    bench.message(1000, None);
    bench.grant_at(100, 0, 1000);
    bench.wait(RTT);
    assert_eq!(bench.sent(), [(0, 100), (1, 108), (2, 116)]);
    assert_eq!(bench.notes.asked.iter().map(|asked| asked.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(bench.asked().last(), Some(&(Ask::Open, 0)), "with the last byte of the first message");
    bench.wait(Span::from_micros(16));
    bench.ack(3, Instant::from_micros(116));
    assert_eq!(bench.asked(), []);
    // Data that was sent later shows it.
    bench.ack(3, Instant::from_micros(117));
    assert_eq!(bench.asked(), [(Ask::Open, 0)]);
}

#[test]
fn a_loss_that_was_none_is_not_repaired_when_its_message_is_granted_a_rate() {
    let mut bench = Bench::new("rcpdc", "recovery = 'newreno'");
    bench.message(6000, None);
    bench.message(50_000, None);
    bench.grant_at(100, 0, 1000);
    bench.grant_at(250, 0, 80);
    bench.sent();
    bench.ack(1, Instant::MAX);
    (0..3).for_each(|_| bench.ack(1, Instant::MAX));
    let asked = bench.notes.last.clone().unwrap();
    assert_eq!((asked.message, asked.ask), (0, Ask::Open));
    bench.wait(RTT);
    // It was only late: all that had been sent when the loss was found has arrived.
    bench.ack(7, Instant::MAX);
    bench.notes.last = Some(asked);
    bench.grant(7, &[1000]);
    bench.wait(RTT);
    assert_eq!(bench.sent(), [(7, 350), (8, 450)]);
}

#[test]
fn what_was_answered_in_time_is_not_given_up_later() {
    let mut bench = Bench::new("d3", "quench = true");
    bench.message(2000, Some(Instant::from_millis(1)));
    bench.grant_at(100, 0, 1000);
    bench.wait(RTT);
    bench.ack(2, Instant::MAX);
    bench.wait(Span::from_millis(1));
    bench.message(2000, None);
    bench.grant(2, &[1000]);
    assert_eq!(bench.notes.given_up, []);
}

#[test]
fn a_port_forgets_whom_it_has_not_heard_of_and_passes_what_it_does_not_know() {
    let Control::D3(own) = config("d3", "").control else { unreachable!() };
    assert!(matches!(config("d3", "").control.agents(), Some(transport::Agents::D3(agents)) if agents == own.router));
    let mut router = own.router.at(Rate(1000 * MBPS), Bytes::ZERO);
    let mut bench = Bench::new("d3", "");
    bench.message(50_000, None);
    let mut header = Header::D3(Box::new(bench.notes.asked.remove(0)));
    let port = PortState { now: Instant::ZERO, sent_for: Span::ZERO, waiting_bytes: Bytes::ZERO };
    assert!(router.on_packet(&port, &Packet::data(0, 0, 40, Instant::ZERO, Flags::SYN), &mut header).is_some());
    // 20 ms is the time after which a silent flow counts no more.
    router.settle(Instant(20_000_000_000 - 1));
    assert_eq!(router.allocation().map(|all| all.flows), Some(1));
    router.settle(Instant::from_millis(20));
    assert_eq!(router.allocation().map(|all| all.flows), Some(0));
}

#[test]
fn a_receiver_returns_requests_at_once_and_holds_other_acks_back() {
    let config = config("d3", "ack_every = 4");
    let (mut receiver, mut notes) = (Receiver::new(&config), common::Notes::default());
    let mut arrives = |segment: u64, bytes: u32, ask: Option<Ask>| {
        let packet = Packet::data(segment * 1000, bytes, 0, Instant::ZERO, Flags::NONE);
        let header = |ask| d3::Header {
            own: 0,
            deadline: None,
            ask,
            message: 0,
            number: 7,
            sent: Instant::ZERO,
            request: 80 * MBPS,
            previous_request: 0,
            previous: Vec::new(),
            grants: vec![60 * MBPS],
            uplink: 0,
        };
        let mut extension = ask.map(|ask| Extension::of_header(Header::D3(Box::new(header(ask)))));
        receiver.on_packet(&config, Instant::ZERO, &packet, extension.as_mut(), &mut notes);
        let acks = notes.sent.drain(..);
        let granted = |header| match header {
            Header::D3(header) => (header.number, header.grants),
            _ => unreachable!("nobody sent one"),
        };
        acks.map(|(ack, extension)| {
            let header = extension.and_then(|extension| extension.header);
            (ack.seq / 1000, ack.flags.has(Flags::SYN), header.map(granted))
        })
        .collect::<Vec<_>>()
    };
    let granted = Some((7, vec![60 * MBPS]));
    assert_eq!(arrives(0, 0, Some(Ask::Open)), [(0, true, granted.clone())], "by itself, as to a SYN");
    assert_eq!(arrives(0, 1000, None), []);
    assert_eq!(arrives(1, 1000, Some(Ask::Renew)), [(2, false, granted.clone())], "with what was held back");
    assert_eq!(arrives(2, 1000, None), []);
    assert_eq!(arrives(4, 1000, Some(Ask::Renew)), [(3, false, granted)], "beyond a gap: one answer");
    assert_eq!(arrives(5, 0, Some(Ask::Close)), [], "nobody waits for the answer to a FIN");
}

#[test]
fn a_router_gives_away_what_frames_leave_and_the_base_to_everybody() {
    // Of 1038 B on the wire 1000 are a segment's; a segment per 100 us is 80 Mbit/s. With headers of 40 B: 1040 of 1078,
    // and 83.2 Mbit/s.
    for (keys, rate, base) in [("", 963_391_136, 80_000_000), ("header = '40 B'", 964_749_536, 83_200_000)] {
        let Control::D3(own) = config("d3", keys).control else { unreachable!() };
        let mut router = own.router.at(Rate(1000 * MBPS), Bytes(38));
        let grants = [0, 1].map(|own| {
            let mut sender = Bench::new("d3", keys);
            sender.message(50_000, None);
            let asked = d3::Header { own, ..sender.notes.asked.remove(0) };
            let packet = Packet::data(0, 0, 40, Instant::ZERO, Flags::SYN);
            let mut header = Header::D3(Box::new(asked));
            let port = PortState { now: Instant::ZERO, sent_for: Span::ZERO, waiting_bytes: Bytes::ZERO };
            assert!(router.on_packet(&port, &packet, &mut header).is_some());
            let Header::D3(answer) = header else { unreachable!() };
            assert_eq!(answer.uplink, rate);
            answer.grants
        });
        assert_eq!(grants, [[rate], [base]]);
    }
}

#[test]
fn requests_fit_into_their_field_and_control_packets_pass_as_told() {
    for (rounding, request) in [("exact", 83_333_334), ("up", 88_000_000), ("nearest", 80_000_000)] {
        let mut bench = Bench::new("d3", &format!("rate_rounding = '{rounding}'"));
        bench.message(50_000, Some(Instant::from_millis(5)));
        assert_eq!(bench.notes.asked[0].request, request, "{rounding}");
    }
    for (control, passes) in [("protected", true), ("plain", false)] {
        let mut bench = Bench::new("d3", &format!("control = '{control}'"));
        bench.message(50_000, None);
        let Control::D3(own) = bench.config.control else { unreachable!() };
        let (router, header) =
            (own.router.at(Rate(1000 * MBPS), Bytes::ZERO), Header::D3(Box::new(bench.notes.asked.remove(0))));
        let packet = |bytes| Packet::data(0, bytes, 40, Instant::ZERO, Flags::NONE);
        assert_eq!(router.passes_full_buffers(&packet(0), &header), passes, "{control}");
        assert!(!router.passes_full_buffers(&packet(1000), &header), "{control}");
    }
}

#[test]
fn of_what_is_lost_only_what_is_not_on_its_way_again_is_asked_for() {
    // Of two messages the first five segments of the second are lost, and are sent
    // again at 80 Mbit/s, one per round trip.
    let mut bench = Bench::new("d3", "");
    bench.message(1000, None);
    bench.message(20_000, Some(Instant::from_millis(10)));
    bench.wait(RTT);
    bench.grant(0, &[1000]);
    bench.wait(RTT);
    bench.grant(1, &[1000]);
    bench.wait(RTT * 2);
    assert_eq!(bench.sent().len(), 21);
    bench.asked();
    let sack = |bench: &mut Bench, end: u64| {
        let packet = Packet::ack(1000, 0, Instant::MAX, Flags::NONE);
        let mut blocks = Blocks::default();
        blocks.push((6000, end * 1000));
        let mut extension = Some(Extension::of_blocks(blocks));
        bench.sender.on_packet(&bench.config, bench.notes.now, &packet, extension.as_mut(), &mut bench.notes);
    };
    sack(&mut bench, 21);
    for _ in 0..2 {
        bench.wait(RTT);
        bench.grant(1, &[80]);
    }
    bench.wait(RTT);
    assert_eq!(bench.sent(), [(1, 500), (2, 600), (3, 700)]);
    // Of the time left two round trips do not count. From the second on, the data that the present rate carries in one
    // does not either: 40 kbit in 9.4 ms, 32 in 9.3 and 16 in 9.1.
    let requests: Vec<_> = bench.notes.asked.iter().map(|asked| asked.request).collect();
    assert_eq!(requests, [4_255_320, 3_440_861, 1_758_242]);
}

#[test]
fn full_host_queue_stops_a_granted_sender_until_it_has_room() {
    // A segment takes 8 us at the granted rate.
    let mut bench = Bench::new("d3", "");
    bench.message(50_000, Some(Instant::from_millis(5)));
    bench.grant_at(100, 0, 1000);
    bench.wait(Span::from_micros(9));
    assert_eq!(bench.sent(), [(0, 100), (1, 108)]);
    bench.notes.full = true;
    bench.wait(Span::from_micros(91));
    assert_eq!(bench.sent(), []);
    bench.notes.full = false;
    bench.sender.on_room(&bench.config, bench.notes.now, &mut bench.notes);
    bench.wait(Span::from_micros(9));
    assert_eq!(bench.sent(), [(2, 200), (3, 208)]);
}
