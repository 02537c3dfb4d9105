//! The sending end of PDQ, fed by hand: its headers for the ports, and the times of its sending, probes, repairs and
//! aborts. Segments have 1000 B and no header, so that one takes 8 us at 1 Gbit/s. A round trip is 200 us before the
//! first sample, and 100 us after it.

use super::common;

use common::{Notes, config};
use transport::registry::Config;
use transport::{Blocks, Extension, Flags, Header, Message, Packet, Sender, pdq};
use units::{Bytes, Instant, Span};

const MBPS: u64 = 1_000_000;
const UPLINK: u64 = 1000 * MBPS;

/// A sent packet: a segment, or a packet without data that probes or terminates.
#[derive(Clone, Debug, PartialEq)]
enum Sent {
    Data(u64),
    Again(u64),
    Probe,
    Term,
}
use Sent::{Again, Data, Probe, Term};

struct Bench {
    config: Config,
    sender: Sender,
    notes: Notes,
    now: Instant,
    /// Sent packets that were not checked yet: the time in us, the packet, and its header for the ports.
    sent: Vec<(u64, Sent, pdq::Header)>,
    /// The last of these.
    last: Option<pdq::Header>,
}

impl Bench {
    fn new(keys: &str) -> Bench {
        let config =
            config("pdq", &format!("mss = '1000 B'\nheader = '0 B'\nbase_rtt = '200 us'\nrto_min = '5 ms'\n{keys}"));
        let sender = Sender::new(&config);
        Bench { config, sender, notes: Notes::default(), now: Instant::ZERO, sent: Vec::new(), last: None }
    }
    /// Returns a sender that has probed, and was accepted after 100 us at a rate in Mbit/s.
    fn accepted(keys: &str, bytes: u64, deadline_us: Option<u64>, mbps: u64) -> Bench {
        let mut bench = Bench::new(keys);
        bench.message(bytes, deadline_us);
        bench.until(100);
        bench.accept(mbps);
        bench.sent.remove(0);
        bench
    }
    fn message(&mut self, bytes: u64, deadline_us: Option<u64>) {
        let message = Message { deadline: deadline_us.map(Instant::from_micros), ..Message::of(Bytes(bytes)) };
        self.sender.enqueue_message(&self.config, self.now, message, &mut self.notes);
        self.collect();
    }
    fn collect(&mut self) {
        for (packet, extension) in self.notes.sent.drain(..) {
            let Some(Header::Pdq(header)) = extension.and_then(|extension| extension.header) else {
                panic!("each packet tells the ports: {packet:?}")
            };
            assert_eq!(header.sent, self.now);
            let again = packet.flags.has(Flags::AGAIN);
            let what = match (packet.payload, again) {
                (0, _) if packet.flags.has(Flags::SYN) => Probe,
                (0, _) => Term,
                (_, false) => Data(packet.seq / 1000),
                (_, true) => Again(packet.seq / 1000),
            };
            assert_eq!(header.over, what == Term);
            self.last = Some((*header).clone());
            self.sent.push((self.now.0 / 1_000_000, what, *header));
        }
    }
    /// Lets its timers expire up to this time, in us.
    fn until(&mut self, us: u64) {
        let until = Instant::from_micros(us);
        let mut timers = 0;
        while self.notes.timer <= until {
            timers += 1;
            assert!(timers < 10_000, "it is woken without end");
            self.now = std::mem::replace(&mut self.notes.timer, Instant::MAX);
            self.sender.on_timer(&self.config, self.now, &mut self.notes);
            self.collect();
        }
        self.now = until;
    }
    /// Answers the last header, changed by `ports`, with everything before `segment` acknowledged and ranges beyond it.
    fn answer(&mut self, segment: u64, sacked: &[(u64, u64)], ports: impl FnOnce(&mut pdq::Header)) {
        let mut header = self.last.clone().expect("it has asked");
        header.uplink = UPLINK;
        ports(&mut header);
        let flags = Flags::NONE.with_if(segment == 0 && sacked.is_empty(), Flags::SYN);
        self.ack(segment, sacked, flags, Some(header));
    }
    fn ack(&mut self, segment: u64, sacked: &[(u64, u64)], flags: Flags, header: Option<pdq::Header>) {
        let mut blocks = Blocks::default();
        sacked.iter().for_each(|(start, end)| blocks.push((start * 1000, end * 1000)));
        let header = header.map(|header| Header::Pdq(Box::new(header)));
        let mut extension = Extension { header, ..Extension::of_blocks(blocks) };
        let packet = Packet::ack(segment * 1000, 0, Instant::MAX, flags);
        self.sender.on_packet(&self.config, self.now, &packet, Some(&mut extension), &mut self.notes);
        self.collect();
    }
    fn accept(&mut self, mbps: u64) {
        self.answer(0, &[], |header| (header.paused_by, header.rate) = (None, mbps * MBPS));
    }
    fn pause(&mut self) {
        self.answer(0, &[], |header| (header.paused_by, header.rate) = (Some(1), 0));
    }
    /// Returns the packets sent since the last call, and their times.
    fn sent(&mut self) -> Vec<(u64, Sent)> {
        self.sent.drain(..).map(|(at, what, _)| (at, what)).collect()
    }
}

#[test]
fn it_asks_before_the_first_byte_and_says_what_the_ports_must_know() {
    let mut bench = Bench::new("header = '40 B'");
    bench.message(50_000, Some(5000));
    let [(0, Probe, asked)] = &bench.sent[..] else { panic!("{:?}", bench.sent) };
    let expected = pdq::Header {
        own: 0,
        message: 0,
        number: 1,
        sent: Instant::ZERO,
        over: false,
        deadline: Some(Instant::from_micros(5000)),
        left: Bytes(50 * 1040),
        rtt: Span::from_micros(200),
        // Not known yet: the first port says.
        rate: u64::MAX,
        paused_by: None,
        probe_every: 0.0,
        uplink: u64::MAX,
        hop: 0,
    };
    assert_eq!(asked, &expected);
}

#[test]
fn it_paces_at_the_rate_that_was_accepted_and_every_packet_tells_what_is_left() {
    // 100 Mbit/s: a segment per 80 us.
    let mut bench = Bench::accepted("", 3500, None, 100);
    bench.until(1000);
    let told: Vec<_> = bench.sent.iter().map(|(_, _, told)| (told.number, told.left.0, told.rate / MBPS)).collect();
    // The rate that it can send at is that of its link, which it knows now.
    assert_eq!(told, [(2, 2500, 1000), (3, 1500, 1000), (4, 500, 1000), (5, 0, 1000), (6, 0, 1000)]);
    assert_eq!(bench.sent(), [(100, Data(0)), (180, Data(1)), (260, Data(2)), (340, Data(3)), (340, Term)]);
    assert_eq!(bench.sender.acknowledged(), 0);
    bench.ack(3, &[], Flags::NONE, None);
    assert_eq!((bench.sender.acknowledged(), bench.sender.is_idle()), (3000, false));
}

#[test]
fn each_message_is_a_flow_of_its_own() {
    let mut bench = Bench::accepted("", 1000, None, 1000);
    bench.message(2000, Some(9000));
    bench.until(190);
    assert_eq!(bench.sent.iter().map(|(_, _, told)| told.message).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!((bench.sent[2].2.deadline, bench.sent[2].2.left), (Some(Instant::from_micros(9000)), Bytes(2000)));
    assert_eq!(bench.sent(), [(100, Data(0)), (100, Term), (100, Probe)]);
    // The acceptance was for the first; its answer, which arrives later, is none for the second.
    let first = pdq::Header { message: 0, number: 9, rate: UPLINK, ..bench.last.clone().unwrap() };
    bench.ack(1, &[], Flags::NONE, Some(first));
    assert_eq!(bench.sent(), []);
    bench.accept(500);
    bench.until(290);
    assert_eq!(bench.sent(), [(190, Data(1)), (206, Data(2)), (206, Term)]);
}

#[test]
fn an_answer_that_was_overtaken_says_nothing() {
    let mut bench = Bench::accepted("", 50_000, None, 8);
    bench.until(1100);
    assert_eq!(bench.sent(), [(100, Data(0)), (1100, Data(1))]);
    // The answer to the second packet (number 3), then that to the first, and once more that to the second.
    let told = bench.last.clone().unwrap();
    bench.ack(2, &[], Flags::NONE, Some(pdq::Header { rate: 4 * MBPS, ..told.clone() }));
    for number in [2, 3] {
        bench.ack(2, &[], Flags::NONE, Some(pdq::Header { number, rate: UPLINK, ..told.clone() }));
    }
    bench.until(3100);
    assert_eq!(bench.sent(), [(3100, Data(2))], "at 4 Mbit/s, 2 ms after the second");
}

#[test]
fn while_paused_it_asks_once_per_round_trip_or_as_seldom_as_the_ports_say() {
    for (keys, asked_for, every) in [("", 0.0, 100), ("", 2.5, 250), ("probe_every = 3", 2.5, 300)] {
        let mut bench = Bench::new(keys);
        bench.message(50_000, None);
        bench.until(100);
        bench.sent();
        bench.answer(0, &[], |header| (header.paused_by, header.rate, header.probe_every) = (Some(2), 0, asked_for));
        // Counted from the last header for the ports, at 0.
        bench.until(650);
        let times: Vec<_> = bench.sent.iter().map(|(at, _, _)| *at).collect();
        let expected: Vec<_> = (1..=650 / every).map(|i| i * every).collect();
        assert_eq!(times, expected, "{keys} {asked_for}");
        assert!(bench.sent.iter().all(|(_, what, told)| *what == Probe && told.paused_by == Some(2)), "who pauses it");
        bench.accept(1000);
        assert_eq!(bench.sent().last(), Some(&(650, Data(0))));
        assert_eq!(bench.last.as_ref().map(|told| told.paused_by), Some(None));
    }
}

#[test]
fn a_pause_stops_what_was_accepted_whatever_the_rate_beside_it_says() {
    let mut bench = Bench::accepted("", 50_000, None, 100);
    assert_eq!(bench.sent(), [(100, Data(0))]);
    bench.until(120);
    bench.answer(0, &[], |header| (header.paused_by, header.rate) = (Some(0), 100 * MBPS));
    bench.until(219);
    // The round trips measured are 100 and 20 us: 7/8 x 100 + 1/8 x 20 = 90 us after the last packet.
    assert_eq!(bench.sent(), [(190, Probe)]);
    assert_eq!(bench.last.as_ref().map(|told| told.rtt), Some(Span::from_micros(90)));
}

#[test]
fn a_lost_probe_is_sent_again() {
    let mut bench = Bench::new("");
    bench.message(50_000, None);
    bench.until(450);
    assert_eq!(bench.sent(), [(0, Probe), (200, Probe), (400, Probe)]);
    assert_eq!(bench.notes.timeouts, 0);
}

#[test]
fn what_is_lost_is_sent_again_before_what_follows() {
    for recovery in ["sack", "newreno"] {
        let mut bench = Bench::accepted(&format!("recovery = '{recovery}'"), 50_000, None, 100);
        bench.until(500);
        assert_eq!(bench.sent().len(), 6);
        bench.ack(1, &[], Flags::NONE, None);
        for end in 3..6 {
            let sacked = [(2, end)];
            bench.ack(1, if recovery == "sack" { &sacked } else { &[] }, Flags::NONE, None);
        }
        bench.until(660);
        assert_eq!(bench.sent(), [(580, Again(1)), (660, Data(6))], "{recovery}");
    }
}

#[test]
fn a_duplicate_is_no_sign_of_loss_if_it_answers_a_probe_or_says_nothing_new() {
    let lost = |recovery: &str, sacked: &[(u64, u64)], flags: Flags| {
        let mut bench = Bench::accepted(&format!("recovery = '{recovery}'"), 50_000, None, 100);
        bench.until(500);
        bench.sent();
        bench.ack(1, &[], Flags::NONE, None);
        (0..5).for_each(|_| bench.ack(1, sacked, flags, None));
        bench.until(580);
        bench.sent() == [(580, Again(1))]
    };
    assert!(lost("newreno", &[], Flags::NONE));
    assert!(!lost("newreno", &[], Flags::SYN));
    // The blocks of one segment, five times.
    assert!(!lost("sack", &[(2, 3)], Flags::NONE));
    assert!(!lost("sack", &[(2, 6)], Flags::SYN));
    assert!(lost("sack", &[(2, 6)], Flags::NONE), "four segments beyond the gap");
}

#[test]
fn without_sack_each_partial_acknowledgement_repairs_the_next_gap() {
    // Of segments 0 to 9, one per 80 us, 1 and 4 are lost.
    let mut bench = Bench::accepted("recovery = 'newreno'", 50_000, None, 100);
    bench.until(820);
    assert_eq!(bench.sent().len(), 10);
    bench.ack(1, &[], Flags::NONE, None);
    (0..3).for_each(|_| bench.ack(1, &[], Flags::NONE, None));
    bench.until(900);
    assert_eq!(bench.sent(), [(900, Again(1))]);
    bench.ack(4, &[], Flags::NONE, None);
    bench.until(980);
    assert_eq!(bench.sent(), [(980, Again(4))]);
    // Everything that was sent before the loss was found: the recovery is over, and nothing is repaired after it.
    bench.ack(10, &[], Flags::NONE, None);
    bench.until(1060);
    assert_eq!(bench.sent(), [(1060, Data(10))]);
}

#[test]
fn without_sack_a_repair_that_waits_for_its_turn_is_off_when_all_is_acknowledged() {
    // As above; after the repair of 1 a segment beyond the ten is sent, and then 4 waits for its turn.
    let mut bench = Bench::accepted("recovery = 'newreno'", 50_000, None, 100);
    bench.until(820);
    bench.ack(1, &[], Flags::NONE, None);
    (0..3).for_each(|_| bench.ack(1, &[], Flags::NONE, None));
    bench.until(980);
    assert_eq!(bench.sent().split_off(10), [(900, Again(1)), (980, Data(10))]);
    bench.ack(4, &[], Flags::NONE, None);
    bench.ack(10, &[], Flags::NONE, None);
    bench.until(1060);
    assert_eq!(bench.sent(), [(1060, Data(11))]);
}

#[test]
fn what_must_be_repaired_of_a_message_that_is_over_is_asked_for_anew() {
    let mut bench = Bench::accepted("", 6000, None, 1000);
    bench.until(300);
    assert_eq!(bench.sent().len(), 7, "six segments and the TERM");
    bench.ack(1, &[], Flags::NONE, None);
    bench.ack(1, &[(2, 6)], Flags::NONE, None);
    let told = bench.last.clone().unwrap();
    assert_eq!((bench.sent(), told.message, told.left), (vec![(300, Probe)], 0, Bytes(1000)));
    bench.until(350);
    bench.answer(1, &[], |header| header.rate = UPLINK);
    assert_eq!(bench.sent(), [(350, Again(1)), (350, Term)]);
}

#[test]
fn of_a_repair_no_more_is_said_to_be_left_than_is_not_on_its_way() {
    let mut bench = Bench::accepted("", 10_000, None, 100);
    bench.until(740);
    bench.sent();
    // Of ten segments, of which the last leaves at 820, 1, 2 and 4 are lost.
    bench.ack(1, &[], Flags::NONE, None);
    bench.ack(1, &[(3, 4), (5, 9)], Flags::NONE, None);
    bench.until(1060);
    let told: Vec<_> = bench.sent.iter().map(|(_, what, told)| (what.clone(), told.left.0)).collect();
    assert_eq!(told, [(Again(1), 3000), (Again(2), 2000), (Again(4), 1000), (Data(9), 0), (Term, 0)]);
}

#[test]
fn a_timeout_sends_everything_again_at_the_accepted_rate() {
    let mut bench = Bench::accepted("", 3000, None, 1000);
    bench.until(200);
    assert_eq!(bench.sent(), [(100, Data(0)), (108, Data(1)), (116, Data(2)), (116, Term)]);
    // 5 ms after the first.
    bench.until(5099);
    assert_eq!((bench.sent(), bench.notes.timeouts), (vec![], 0));
    bench.until(5199);
    assert_eq!((bench.sent(), bench.notes.timeouts), (vec![(5100, Probe)], 1));
    bench.accept(1000);
    bench.until(5300);
    assert_eq!(bench.sent(), [(5199, Again(0)), (5207, Again(1)), (5215, Again(2)), (5215, Term)]);
    // The answer to the probe is a sample, which ends the back-off: 5 ms from the first packet on.
    bench.until(10_198);
    assert_eq!(bench.notes.timeouts, 1);
    bench.until(10_199);
    assert_eq!(bench.notes.timeouts, 2);
}

#[test]
fn after_a_timeout_what_was_sacked_is_not_left() {
    let mut bench = Bench::accepted("", 5000, None, 1000);
    bench.until(200);
    assert_eq!(bench.sent().len(), 6, "five segments and the TERM");
    // Two of them have arrived beyond gaps, which is too little to find a loss by.
    bench.ack(0, &[(1, 2), (3, 4)], Flags::NONE, None);
    bench.until(5100);
    let told = bench.last.clone().unwrap();
    assert_eq!((bench.sent(), bench.notes.timeouts, told.left), (vec![(5100, Probe)], 1, Bytes(3000)));
    bench.accept(1000);
    bench.until(5200);
    let told: Vec<_> = bench.sent.iter().map(|(_, what, told)| (what.clone(), told.left.0)).collect();
    assert_eq!(told, [(Again(0), 2000), (Again(2), 1000), (Again(4), 0), (Term, 0)]);
}

#[test]
fn without_sack_the_segment_that_is_repaired_is_left_until_it_is_sent() {
    // Of ten segments, of which the last leaves at 820, 1 is lost, which shows at 740.
    let mut bench = Bench::accepted("recovery = 'newreno'", 10_000, None, 100);
    bench.until(740);
    bench.sent();
    bench.ack(1, &[], Flags::NONE, None);
    (0..3).for_each(|_| bench.ack(1, &[], Flags::NONE, None));
    bench.pause();
    bench.until(900);
    assert_eq!(bench.sent.first().map(|(_, what, told)| (what.clone(), told.left.0)), Some((Probe, 2000)));
    bench.sent();
    bench.accept(100);
    bench.until(1000);
    let told: Vec<_> = bench.sent.iter().map(|(_, what, told)| (what.clone(), told.left.0)).collect();
    assert_eq!(told, [(Again(1), 1000), (Data(9), 0), (Term, 0)]);
}

#[test]
fn an_acknowledgement_restarts_the_timer_and_the_last_one_stops_it() {
    let mut bench = Bench::accepted("", 3000, None, 1000);
    bench.until(300);
    bench.ack(1, &[], Flags::NONE, None);
    bench.until(5299);
    assert_eq!(bench.notes.timeouts, 0);
    bench.ack(3, &[], Flags::NONE, None);
    assert!(bench.sender.is_idle());
    bench.until(100_000);
    assert_eq!(bench.notes.timeouts, 0);
}

#[test]
fn a_retransmission_restarts_the_timer_unless_told() {
    for (keys, timeout) in [("", 5580), ("rto_restart = 'ack'", 5500)] {
        let mut bench = Bench::accepted(keys, 50_000, None, 100);
        bench.until(500);
        bench.ack(1, &[], Flags::NONE, None);
        bench.ack(1, &[(2, 6)], Flags::NONE, None);
        bench.until(580);
        bench.answer(1, &[], |header| (header.paused_by, header.rate) = (Some(1), 0));
        bench.until(timeout - 1);
        assert_eq!(bench.notes.timeouts, 0, "{keys}");
        bench.until(timeout);
        assert_eq!(bench.notes.timeouts, 1, "{keys}");
    }
}

#[test]
fn the_receivers_buffer_is_not_overrun() {
    let mut bench = Bench::accepted("window_limit = '3000 B'", 50_000, None, 1000);
    bench.until(500);
    assert_eq!(bench.sent(), [(100, Data(0)), (108, Data(1)), (116, Data(2))]);
    bench.ack(1, &[], Flags::NONE, None);
    bench.until(600);
    assert_eq!(bench.sent(), [(500, Data(3))]);
}

#[test]
fn what_is_too_late_or_needs_more_than_is_left_is_given_up() {
    // 100 segments need 800 us at 1 Gbit/s: in time by the first, just, and not by the second.
    for (deadline, given_up) in [(900, vec![]), (899, vec![(100_000, 100_000)])] {
        let mut bench = Bench::new("");
        bench.message(100_000, Some(deadline));
        bench.until(100);
        bench.sent();
        bench.accept(1000);
        assert_eq!(bench.notes.given_up, given_up, "{deadline}");
        let sent: Vec<_> = bench.sent().into_iter().map(|sent| sent.1).collect();
        assert_eq!(sent, if given_up.is_empty() { [Data(0)] } else { [Term] });
        assert_eq!(bench.sender.is_idle(), !given_up.is_empty());
        bench.until(100_000);
    }
    // At 500 Mbit/s each segment takes 8 us more than at full rate: after seven the 50 us to spare are used up. The
    // unsent data is dropped.
    let mut bench = Bench::accepted("", 100_000, Some(950), 500);
    bench.until(211);
    assert_eq!((bench.sent().len(), bench.notes.given_up.len()), (7, 0));
    bench.until(212);
    assert_eq!((bench.sent(), &bench.notes.given_up[..]), (vec![(212, Term)], &[(100_000, 93_000)][..]));
    bench.ack(7, &[], Flags::NONE, None);
    assert!(bench.sender.is_idle());
}

#[test]
fn told_to_finish_it_finishes() {
    let mut bench = Bench::accepted("early_termination = false", 3000, Some(50), 1000);
    bench.until(200);
    assert_eq!(bench.sent(), [(100, Data(0)), (108, Data(1)), (116, Data(2)), (116, Term)]);
    assert!(bench.notes.given_up.is_empty());
}

#[test]
fn who_is_paused_with_less_than_a_round_trip_left_gives_up() {
    // A segment needs 8 us. At 100 us there are 100 and 99 us left, and a round trip takes 100.
    for (deadline, aborts) in [(200, false), (199, true)] {
        let mut bench = Bench::new("");
        bench.message(1000, Some(deadline));
        bench.until(100);
        bench.sent();
        bench.pause();
        assert_eq!(!bench.notes.given_up.is_empty(), aborts, "{deadline}");
        // Accepted with as much time it would be sent.
        let mut bench = Bench::accepted("", 1000, Some(deadline), 1000);
        bench.until(101);
        assert_eq!(bench.sent()[0], (100, Data(0)));
    }
}

#[test]
fn what_follows_a_message_that_is_given_up_moves_up_and_is_a_flow_of_its_own() {
    let mut bench = Bench::accepted("", 50_000, Some(1000), 100);
    bench.message(2000, None);
    bench.until(180);
    bench.sent();
    // Too late for the rest: two segments were sent, and 48 were not.
    bench.pause();
    bench.until(901);
    assert_eq!(bench.notes.given_up, [(50_000, 48_000)]);
    assert_eq!(bench.sent.last().map(|(_, what, told)| (what.clone(), told.message)), Some((Probe, 1)));
    bench.accept(1000);
    bench.sent();
    bench.until(1000);
    bench.ack(4, &[], Flags::NONE, None);
    assert!(bench.sender.is_idle(), "two segments of the first and two of the second");
}

#[test]
fn what_has_arrived_in_time_is_not_given_up_later() {
    let mut bench = Bench::accepted("", 2000, Some(1000), 1000);
    bench.until(300);
    bench.ack(2, &[], Flags::NONE, None);
    bench.until(1500);
    bench.message(2000, None);
    bench.until(1600);
    bench.accept(1000);
    assert_eq!(bench.notes.given_up, []);
}

#[test]
fn duplicates_count_only_while_something_is_under_way_and_if_they_are_the_latest() {
    // All of the first message has arrived, and is acknowledged four times. Then the first segment of the next is lost.
    let mut bench = Bench::accepted("recovery = 'newreno'", 1000, None, 1000);
    bench.until(200);
    (0..4).for_each(|_| bench.ack(1, &[], Flags::NONE, None));
    bench.message(9000, None);
    bench.until(300);
    bench.answer(1, &[], |header| header.rate = UPLINK);
    bench.until(500);
    bench.sent();
    (0..3).for_each(|_| bench.ack(1, &[], Flags::NONE, None));
    bench.until(600);
    bench.answer(1, &[], |header| header.rate = UPLINK);
    assert_eq!(bench.sent().iter().filter(|sent| sent.1 == Again(1)).count(), 1);
    // Acknowledgements that were overtaken say nothing.
    let mut bench = Bench::accepted("recovery = 'newreno'", 50_000, None, 100);
    bench.until(500);
    bench.ack(4, &[], Flags::NONE, None);
    (0..3).for_each(|_| bench.ack(2, &[], Flags::NONE, None));
    bench.sent();
    bench.until(580);
    assert_eq!(bench.sent(), [(580, Data(6))]);
}

#[test]
fn what_was_lost_after_the_one_that_is_repaired_is_another_loss() {
    // Segment 1 is lost and found so when six were sent; then 6, while 1 is in flight again. An acknowledgement of
    // those six ends the repair (RFC 6675 5): the next segment is new, and 6 is found lost by the next duplicate.
    let mut bench = Bench::accepted("", 50_000, None, 100);
    bench.until(500);
    bench.ack(1, &[], Flags::NONE, None);
    bench.ack(1, &[(2, 6)], Flags::NONE, None);
    bench.until(990);
    bench.sent();
    bench.ack(1, &[(7, 11), (2, 6)], Flags::NONE, None);
    bench.ack(6, &[(7, 11)], Flags::NONE, None);
    bench.until(1070);
    assert_eq!(bench.sent(), [(1060, Data(11))]);
    bench.ack(6, &[(7, 12)], Flags::NONE, None);
    bench.until(1140);
    assert_eq!(bench.sent(), [(1140, Again(6))]);
}

#[test]
fn its_ports_keep_lists_of_flows() {
    assert!(matches!(Bench::new("").config.control.agents(), Some(transport::Agents::Pdq(_))));
}

#[test]
fn what_is_sent_and_not_acknowledged_is_given_up_when_its_deadline_has_passed_and_not_at_it() {
    let mut bench = Bench::accepted("", 1000, Some(300), 1000);
    bench.until(300);
    bench.ack(0, &[], Flags::SYN, None);
    assert_eq!(bench.notes.given_up, []);
    bench.until(301);
    bench.ack(0, &[], Flags::SYN, None);
    assert_eq!(bench.notes.given_up, [(1000, 0)], "and nothing of it was unsent");
}

#[test]
fn full_host_queue_stops_an_accepted_sender_until_it_has_room() {
    let mut bench = Bench::new("");
    bench.message(50_000, None);
    bench.until(100);
    bench.notes.room = 2;
    bench.accept(1000);
    bench.until(200);
    assert_eq!(bench.sent(), [(0, Probe), (100, Data(0)), (108, Data(1))]);
    bench.notes.room = 1;
    bench.sender.on_room(&bench.config, bench.now, &mut bench.notes);
    bench.collect();
    assert_eq!(bench.sent(), [(200, Data(2))]);
}
