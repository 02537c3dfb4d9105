//! Go-back-N as InfiniBand's and RoCE's NICs do it: the receiver keeps nothing beyond a gap and tells of each gap once.

use super::common;

use common::{Bench, MSS, Notes, config};
use transport::{Flags, Packet, Receiver};
use units::{Instant, Span};

const KEYS: &str = "recovery = 'go-back-n'\ninitial_window = 8\nrto_min = '5 ms'\nrto_initial = '5 ms'";
const RTT: Span = Span::from_micros(100);

/// The answers to these segments: the next expected one, and whether a gap there is told.
fn answers(keys: &str, segments: &[u64]) -> Vec<(u64, bool)> {
    let config = config("dctcp", &format!("mss = '{MSS} B'\n{keys}"));
    let (mut receiver, mut notes) = (Receiver::new(&config), Notes::default());
    for (us, segment) in segments.iter().enumerate() {
        let packet = Packet::data(segment * MSS, MSS as u32, 40, Instant::from_micros(us as u64), Flags::ECT);
        receiver.on_packet(&config, Instant::from_micros(us as u64), &packet, None, &mut notes);
        assert_eq!(receiver.arrived_below(u64::MAX), receiver.next(), "nothing is kept beyond a gap");
    }
    notes.sent.iter().map(|(ack, extension)| (ack.seq / MSS, extension.is_some())).collect()
}

#[test]
fn receiver_drops_what_is_beyond_a_gap_and_tells_of_it_once() {
    let found = answers(KEYS, &[0, 2, 3, 4, 1, 2, 3]);
    assert_eq!(found, [(1, false), (1, true), (2, false), (3, false), (4, false)]);
    // Another gap is told too, and data that arrives again is acknowledged again.
    let found = answers(KEYS, &[0, 2, 1, 3, 4, 0, 2]);
    assert_eq!(found, [(1, false), (1, true), (2, false), (2, true), (2, false), (3, false)]);
}

#[test]
fn news_of_a_gap_acknowledges_what_is_held_back() {
    // Of two, the second would be answered; the dropped ones leave the next answer as it was.
    let every = format!("{KEYS}\nack_every = 2\nack_delay = '1 s'");
    assert_eq!(answers(&every, &[0, 2]), [(1, true)]);
    assert_eq!(answers(&every, &[0, 2, 3, 1, 2]), [(1, true), (3, false)]);
}

#[test]
fn news_of_a_gap_has_the_echo_of_its_packet() {
    let config = config("dctcp", &format!("mss = '{MSS} B'\n{KEYS}"));
    let (mut receiver, mut notes) = (Receiver::new(&config), Notes::default());
    let packet = Packet::data(MSS, MSS as u32, 40, Instant::ZERO, Flags::ECT.with(Flags::CE));
    receiver.on_packet(&config, Instant::ZERO, &packet, None, &mut notes);
    let (ack, extension) = &notes.sent[0];
    assert!(ack.flags.has(Flags::ECE) && extension.is_some() && ack.seq == 0);
}

#[test]
fn trimmed_packet_is_a_gap() {
    let config = config("dctcp", &format!("mss = '{MSS} B'\n{KEYS}"));
    let (mut receiver, mut notes) = (Receiver::new(&config), Notes::default());
    let packet = Packet::data(0, MSS as u32, 40, Instant::ZERO, Flags::ECT);
    receiver.on_trimmed(&config, Instant::ZERO, &packet, None, &mut notes);
    receiver.on_trimmed(&config, Instant::ZERO, &packet, None, &mut notes);
    assert_eq!(notes.sent.len(), 1);
    receiver.on_packet(&config, Instant::ZERO, &packet, None, &mut notes);
    receiver.on_trimmed(&config, Instant::ZERO, &packet, None, &mut notes);
    let told: Vec<_> = notes.sent.iter().map(|(ack, extension)| (ack.seq, extension.is_some())).collect();
    assert_eq!(told, [(0, true), (MSS, false)]);
}

#[test]
fn sender_goes_back_to_the_gap_and_sends_everything_again() {
    let mut bench = Bench::new("tcp", KEYS);
    bench.message(40_000, None);
    assert_eq!(bench.sent(), [0, 1, 2, 3, 4, 5, 6, 7]);
    bench.wait(RTT);
    bench.ack(1, Some(Instant::ZERO), Flags::NONE, &[]);
    assert_eq!(bench.sent(), [8, 9]);
    // 1 is lost. TCP halves its window of nine for it, and has four segments in flight from 1 on.
    bench.gap(1, Flags::NONE);
    assert_eq!(bench.sent(), [1, 2, 3, 4]);
    assert_eq!((bench.cwnd(), bench.ssthresh()), (4.5, 4.5));
    bench.wait(RTT);
    bench.ack(4, None, Flags::NONE, &[]);
    let again = bench.sent();
    assert_eq!(again[..3], [5, 6, 7]);
    // A second gap before all of that is acknowledged is the same loss to the controller.
    let threshold = bench.ssthresh();
    bench.gap(5, Flags::NONE);
    assert_eq!(bench.sent()[..3], [5, 6, 7]);
    assert_eq!(bench.ssthresh(), threshold);
    // 10 and later were not sent before; a gap there is a new loss.
    bench.ack(10, None, Flags::NONE, &[]);
    assert_eq!(bench.sent()[0], 10);
    let before = bench.cwnd();
    bench.gap(11, Flags::NONE);
    assert!(bench.cwnd() < before && bench.ssthresh() < before);
    assert_eq!(bench.notes.timeouts, 0);
}

/// The packet that shows the gap is dropped: none of its bytes has arrived, marked or not. Where one mark counts for all
/// (g = 1), a single marked byte of the window would show.
#[test]
fn news_of_a_gap_counts_no_bytes() {
    let mut bench = Bench::new("dctcp", &format!("{KEYS}\ng = 1\ninitial_alpha = 0"));
    bench.message(40_000, None);
    bench.wait(RTT);
    bench.gap(0, Flags::ECE);
    for segment in 1..=20 {
        bench.ack(segment, None, Flags::NONE, &[]);
        assert_eq!(bench.observe().get("alpha"), Some(0.0), "{segment}");
    }
}

/// Data that the news acknowledges counts: of the eight segments of the second window two are marked.
#[test]
fn marks_of_acknowledged_data_count_with_the_news_of_a_gap() {
    let mut bench = Bench::new("dctcp", &format!("{KEYS}\ng = 1\ninitial_alpha = 0"));
    bench.message(40_000, None);
    bench.wait(RTT);
    bench.ack(1, None, Flags::NONE, &[]);
    bench.gap(3, Flags::ECE);
    assert_eq!(bench.observe().get("alpha"), Some(0.0));
    while bench.observe().get("alpha") == Some(0.0) {
        let next = bench.sender.acknowledged() / MSS + 1;
        bench.ack(next, None, Flags::NONE, &[]);
    }
    assert_eq!((bench.sender.acknowledged() / MSS, bench.observe().get("alpha")), (9, Some(0.25)));
}

#[test]
fn gap_behind_the_acknowledged_data_and_duplicates_say_nothing() {
    let mut bench = Bench::new("tcp", KEYS);
    bench.message(40_000, None);
    bench.wait(RTT);
    bench.ack(4, None, Flags::NONE, &[]);
    bench.sent();
    let before = bench.cwnd();
    bench.gap(3, Flags::NONE);
    (0..5).for_each(|_| bench.ack(4, None, Flags::NONE, &[]));
    assert_eq!((bench.sent(), bench.cwnd()), (vec![], before));
}

#[test]
fn a_gap_lost_again_is_found_by_the_timer() {
    let mut bench = Bench::new("tcp", KEYS);
    bench.message(40_000, None);
    bench.wait(RTT);
    bench.gap(0, Flags::NONE);
    bench.sent();
    let told = bench.now;
    while bench.notes.timeouts == 0 {
        bench.timer();
    }
    assert_eq!(bench.now, told + Span::from_millis(5), "counted from the news");
    assert_eq!(bench.sent(), [0]);
}

#[test]
fn dcqcn_hears_the_mark_with_the_news_and_its_rate_knows_no_loss() {
    let rate = |segment, flags| {
        let mut bench = Bench::new("dcqcn", "rto_min = '5 ms'");
        bench.message(4_000_000, None);
        (0..5).for_each(|_| bench.timer());
        bench.gap(segment, flags);
        bench.observe().get("rate").unwrap()
    };
    for segment in [0, 1] {
        assert_eq!((rate(segment, Flags::NONE), rate(segment, Flags::ECE)), (1000.0, 500.0));
    }
}
