//! One end of a connection at a time, fed by hand: its answers to each packet and timer.

use super::common;

use common::{Bench, Notes, config, timeline};
use transport::registry::Config;
use transport::{Flags, Message, Packet, Receiver};
use units::{Bytes, Instant, Span};

const RTT: Span = Span::from_micros(100);

#[test]
fn the_timer_follows_an_rto_that_has_become_shorter() {
    // Before the first sample the RTO is 1 s; the first ACK brings it down to 10 ms.
    let mut bench = Bench::new("tcp", "rto_initial = '1 s'\nrto_min = '10 ms'\ninitial_window = 2");
    bench.message(10_000, None);
    bench.wait(RTT);
    bench.ack(1, Some(Instant::ZERO), Flags::NONE, &[]);
    bench.timer();
    assert_eq!(bench.now, RTT.after_start() + Span::from_millis(10));
    assert_eq!(bench.cwnd(), 1.0, "it has timed out");
}

#[test]
fn with_everything_lost_timeouts_double_up_to_the_limit() {
    let mut bench = Bench::new("dctcp", "rto_initial = '20 ms'\nrto_max = '100 ms'");
    bench.message(10_000, None);
    assert_eq!(bench.sent().len(), 10);
    let mut times = vec![0];
    for _ in 0..5 {
        bench.timer();
        times.push(bench.now.0 / 1_000_000_000);
        assert_eq!(bench.sent(), [0], "one segment per timeout");
    }
    assert_eq!(times, [0, 20, 60, 140, 240, 340]);
}

#[test]
fn the_ack_that_fills_a_gap_after_a_timeout_opens_the_window_by_one() {
    // RFC 5681 eq. 2 and RFC 3465 2.3: the data that it covers had left the network long before.
    for recovery in ["sack", "newreno"] {
        let mut bench = Bench::new("tcp", &format!("recovery = '{recovery}'\ninitial_window = 40"));
        bench.message(200_000, None);
        bench.timer();
        assert_eq!((bench.cwnd(), bench.ssthresh()), (1.0, 20.0));
        bench.wait(RTT);
        bench.ack(40, None, Flags::NONE, &[]);
        assert_eq!(bench.cwnd(), 2.0, "{recovery}");
    }
}

#[test]
fn slow_start_ends_at_its_threshold() {
    let mut bench = Bench::new("tcp", "initial_window = 10\nack_every = 8");
    bench.message(500_000, None);
    bench.timer();
    assert_eq!(bench.ssthresh(), 5.0);
    bench.wait(RTT);
    (10..13).for_each(|segment| bench.ack(segment, None, Flags::NONE, &[]));
    assert_eq!(bench.cwnd(), 4.0);
    bench.ack(16, None, Flags::NONE, &[]);
    // One of the four brings it to the threshold, the other three count for congestion avoidance.
    assert!((bench.cwnd() - 5.6).abs() < 1e-9, "{}", bench.cwnd());
}

#[test]
fn duplicates_that_a_timeout_caused_are_no_new_loss() {
    // RFC 6582 3.2, step 2: the ACK must cover more than `recover`.
    let mut bench = Bench::new("tcp", "recovery = 'newreno'\ninitial_window = 8\nlimited_transmit = true");
    bench.message(100_000, None);
    bench.timer();
    bench.sent();
    (1..=8).for_each(|segment| bench.ack(segment, None, Flags::NONE, &[]));
    let (before, last) = (bench.ssthresh(), *bench.sent().last().unwrap());
    (0..5).for_each(|_| bench.ack(8, None, Flags::NONE, &[]));
    assert_eq!(bench.ssthresh(), before);
    // RFC 3042: two of them let a new segment out.
    assert_eq!(bench.sent(), [last + 1, last + 2]);
    bench.ack(9, None, Flags::NONE, &[]);
    bench.sent();
    (0..3).for_each(|_| bench.ack(9, None, Flags::NONE, &[]));
    assert!(bench.sent().contains(&9), "a loss of what was sent later is repaired");
}

#[test]
fn the_first_segment_of_all_can_be_repaired_without_a_timeout() {
    for recovery in ["sack", "newreno"] {
        let mut bench = Bench::new("tcp", &format!("recovery = '{recovery}'"));
        bench.message(10_000, None);
        bench.sent();
        (2..5).for_each(|end| bench.ack(0, None, Flags::NONE, &[(1, end)]));
        assert_eq!(bench.sent(), [0], "{recovery}");
    }
}

#[test]
fn while_sack_repairs_each_partial_ack_restarts_the_timer() {
    // RFC 6675 6 and RFC 6298 5.3; only NewReno restarts it just once (RFC 6582 3.2, step 3).
    for (recovery, expected) in [("sack", 15 + 20), ("newreno", 5 + 20)] {
        let mut bench = Bench::new("tcp", &format!("recovery = '{recovery}'\ninitial_window = 20"));
        bench.message(20_000, None);
        (5..8).for_each(|end| bench.ack(0, None, Flags::NONE, &[(4, end)]));
        for partial in 1..=3 {
            bench.wait(Span::from_millis(5));
            bench.ack(partial, None, Flags::NONE, &[]);
        }
        while bench.cwnd() > 1.0 {
            bench.timer();
        }
        assert_eq!(bench.now, Instant::from_millis(expected), "{recovery}");
    }
}

#[test]
fn sack_never_sends_beyond_the_receivers_buffer() {
    let mut bench = Bench::new("tcp", "initial_window = 20\nwindow_limit = '10 packets'");
    bench.message(100_000, None);
    (2..=10).for_each(|end| bench.ack(0, None, Flags::NONE, &[(1, end)]));
    let highest = bench.sent().into_iter().max();
    assert_eq!(highest, Some(9), "everything is held for segment 0");
    bench.ack(10, None, Flags::NONE, &[]);
    assert_eq!(bench.sent().first(), Some(&10));
}

#[test]
fn a_mark_cuts_also_when_the_window_is_not_what_limits_the_sender() {
    for name in ["tcp", "cubic", "dctcp"] {
        let ecn = if name == "dctcp" { "" } else { "ecn = true\n" };
        let mut bench = Bench::new(name, &format!("{ecn}cwnd_validation = true\ninitial_window = 40"));
        bench.message(3000, None);
        bench.wait(RTT);
        bench.ack(1, Some(Instant::ZERO), Flags::ECE, &[]);
        assert!(bench.cwnd() < 40.0, "{name}");
    }
}

#[test]
fn a_loss_answers_the_echoes_of_its_window() {
    // RFC 3168 6.1.2: not more than one reduction per window, and CWR on the first new data after any.
    for name in ["tcp", "cubic"] {
        let mut bench = Bench::new(name, "ecn = true\ninitial_window = 20\nlimited_transmit = true");
        bench.message(100_000, None);
        bench.sent();
        (2..5).for_each(|end| bench.ack(0, None, Flags::ECE, &[(1, end)]));
        (5..20).for_each(|end| bench.ack(0, None, Flags::ECE, &[(1, end)]));
        let told = |packet: &&Packet| packet.flags.has(Flags::CWR);
        let told: Vec<u64> =
            bench.notes.sent.iter().map(|sent| &sent.0).filter(told).map(|packet| packet.seq / 1000).collect();
        // 20 and 21 were sent on the first two duplicates, before the loss was known.
        assert_eq!(told, [22], "{name}: on new data, not on what is sent again");
        let cut = bench.ssthresh();
        bench.ack(22, None, Flags::ECE, &[]);
        assert_eq!(bench.ssthresh(), cut, "{name}");
        bench.ack(23, None, Flags::ECE, &[]);
        assert!(bench.ssthresh() < cut, "{name}: a mark after that is news");
        let mut bench = Bench::new(name, "ecn = true\ninitial_window = 4");
        bench.message(100_000, None);
        bench.timer();
        let after_timeout = bench.ssthresh();
        (1..=4).for_each(|segment| bench.ack(segment, None, Flags::ECE, &[]));
        assert_eq!(bench.ssthresh(), after_timeout, "{name}");
    }
}

#[test]
fn the_cut_is_that_of_the_message_that_is_still_being_sent() {
    // The ACK that ends the first message carries the echo: the second one's deadline decides.
    let after = |second: Option<Instant>| {
        let mut bench = Bench::new("d2tcp", "initial_alpha = 0.5\ninitial_window = 20");
        bench.message(1000, Some(Instant::from_millis(500)));
        bench.message(100_000, second);
        bench.wait(RTT);
        bench.ack(1, Some(Instant::ZERO), Flags::ECE, &[]);
        bench.cwnd()
    };
    assert!(after(Some(Instant::from_micros(300))) > after(None));
    assert!(after(Some(Instant::from_secs_f64(9.0))) < after(None));
}

#[test]
fn what_is_given_up_is_named() {
    let mut bench = Bench::new("d2tcp", "expired = 'abort'\ninitial_window = 4");
    bench.message(2000, Some(Instant::from_millis(1)));
    bench.message(10_000, None);
    // Both segments of the first message were sent: none of it is unsent when it is aborted.
    bench.timer();
    assert_eq!(bench.notes.given_up, [(2000, 0)]);
}

#[test]
fn the_answer_to_a_repeated_syn_is_no_duplicate_ack() {
    let mut bench = Bench::new("tcp", "recovery = 'newreno'\nhandshake = true");
    bench.message(20_000, None);
    bench.sent();
    (0..5).for_each(|_| bench.ack(0, None, Flags::SYN, &[]));
    // The packet that completes the handshake has no payload, and is sent once.
    assert!(bench.notes.sent[0].0.flags.has(Flags::OPENED));
    assert_eq!(bench.sent()[1..], (0..10).collect::<Vec<_>>());
}

#[test]
fn what_completes_a_handshake_is_a_packet_that_nobody_answers() {
    for (name, ect) in [("tcp", false), ("dctcp", true)] {
        let mut bench = Bench::new(name, "handshake = true");
        bench.message(1000, None);
        bench.sent();
        bench.ack(0, None, Flags::SYN, &[]);
        let (completing, _) = bench.notes.sent.remove(0);
        assert_eq!((completing.payload, completing.size, completing.flags.has(Flags::ECT)), (0, 40, ect));
        assert_eq!(bench.sent(), [0]);
        let mut receiver = Receiver::new(&bench.config);
        receiver.on_packet(&bench.config, bench.now, &completing, None, &mut bench.notes);
        assert!(bench.notes.sent.is_empty());
    }
}

#[test]
fn cubic_starts_flat_after_a_timeout() {
    // RFC 9438 4.8: K is 0 and W_max the window at which congestion avoidance begins.
    let mut bench = Bench::new("cubic", "initial_window = 100\nreno_friendly = false");
    bench.message(10_000_000, None);
    bench.timer();
    assert_eq!(bench.ssthresh(), 70.0);
    let mut next = 100;
    while bench.cwnd() < 70.0 {
        assert!(next < 1000, "slow start does not end");
        bench.ack(next, None, Flags::NONE, &[]);
        next += 1;
    }
    for _ in 0..200 {
        bench.wait(Span::from_micros(500));
        bench.ack(next, None, Flags::NONE, &[]);
        next += 1;
    }
    // 0.1 s later the cubic has grown by 0.4 x 0.1^3; towards the old maximum it would be many segments.
    assert!(bench.cwnd() < 71.1, "{}", bench.cwnd());
}

#[test]
fn cubic_does_not_grow_for_the_time_that_it_had_nothing_to_send() {
    // RFC 9438 4.2 and 5.8.
    let mut bench = Bench::new("cubic", "initial_window = 20\nreno_friendly = false\nrecovery = 'newreno'");
    bench.message(20_000, None);
    (0..3).for_each(|_| bench.ack(0, None, Flags::NONE, &[]));
    bench.wait(RTT);
    bench.ack(20, None, Flags::NONE, &[]);
    bench.message(1000, None);
    bench.wait(RTT);
    bench.ack(21, None, Flags::NONE, &[]);
    let before = bench.cwnd();
    bench.wait(Span::from_secs_f64(20.0));
    bench.message(1000, None);
    bench.wait(RTT);
    bench.ack(22, None, Flags::NONE, &[]);
    assert!(bench.cwnd() < before + 0.1, "{} after {before}", bench.cwnd());
}

/// Returns a receiver's answers to one segment after the other: (next expected segment, echo).
fn answers(config: &Config, marks: &[bool]) -> Vec<(u64, bool)> {
    let mut receiver = Receiver::new(config);
    let mut notes = Notes::default();
    for (segment, &marked) in marks.iter().enumerate() {
        let flags = Flags::ECT.with_if(marked, Flags::CE);
        let packet = Packet::data(segment as u64 * 1000, 1000, 40, Instant::ZERO, flags);
        receiver.on_packet(config, Instant::from_micros(segment as u64), &packet, None, &mut notes);
    }
    if notes.timer < Instant::MAX {
        receiver.on_timer(config, Instant::from_secs_f64(1.0), &mut notes);
    }
    notes.sent.iter().map(|(ack, _)| (ack.seq / 1000, ack.flags.has(Flags::ECE))).collect()
}

#[test]
fn the_receiver_of_dctcp_tells_every_mark_with_delayed_acks() {
    // RFC 8257 3.2: the packets pending when the mark changes are answered first, with the old echo.
    let marks = [false, false, false, true, true, true, false, true];
    let expected = [(2, false), (3, false), (5, true), (6, true), (7, false), (8, true)];
    assert_eq!(answers(&config("dctcp", "ack_every = 2"), &marks), expected);
    // Marked bytes as the sender counts them are the bytes that arrived marked.
    for every in [1, 2, 3, 64] {
        let config = config("dctcp", &format!("ack_every = {every}"));
        for bits in 0..256u32 {
            let marks: Vec<bool> = (0..8).map(|bit| bits >> bit & 1 == 1).collect();
            let (mut before, mut marked) = (0, 0);
            for (next, echo) in answers(&config, &marks) {
                marked += if echo { next - before } else { 0 };
                before = next;
            }
            assert_eq!((before, marked), (8, u64::from(bits.count_ones())), "{marks:?} every {every}");
        }
    }
}

#[test]
fn the_floor_holds_where_it_is_told_to() {
    for (holds, first, after_timeout) in [("at-cuts", 1, 1), ("always", 3, 3)] {
        let keys = format!("initial_window = 1\ncwnd_floor = 3\nfloor_holds = '{holds}'");
        let mut bench = Bench::new("dctcp", &keys);
        bench.message(10_000, None);
        assert_eq!(bench.sent().len(), first, "{holds}");
        bench.timer();
        assert_eq!(bench.sent().len(), after_timeout, "{holds}");
    }
}

#[test]
fn a_sender_is_idle_while_everything_is_acknowledged() {
    for name in ["tcp", "dctcp", "rcpdc"] {
        let mut bench = Bench::new(name, "");
        assert!(bench.sender.is_idle(), "{name}: nothing to send");
        bench.message(1000, None);
        assert!(!bench.sender.is_idle(), "{name}");
        bench.ack(1, None, Flags::NONE, &[]);
        assert!(bench.sender.is_idle() || name == "rcpdc", "{name}");
    }
}

#[test]
fn a_message_that_is_late_is_sent_all_the_same_unless_told() {
    for name in ["tcp", "tcppr", "cubic", "dctcp", "d2tcp", "xdctcp"] {
        let mut bench = Bench::new(name, "initial_window = 2");
        bench.message(4000, Some(Instant::from_millis(1)));
        bench.timer();
        bench.ack(2, None, Flags::NONE, &[]);
        assert_eq!(bench.notes.given_up, [], "{name}");
        assert_eq!(bench.sent(), [0, 1, 0, 2, 3], "{name}");
    }
}

#[test]
fn with_validation_a_window_that_is_not_filled_does_not_grow() {
    // RFC 7661, as Linux has it. In slow start ten segments grow once more than five are in flight.
    timeline(
        "tcp",
        "cwnd_validation = true",
        "0us   | message 4 | 0-3
         100us | ack 1     | cwnd=10
         101us | message 2 | 4-5
         102us | ack 2     | cwnd=10
         103us | message 2 | 6-7
         104us | ack 3     | cwnd=11
         105us | ack 4     | cwnd=12
         106us | ack 5     | cwnd=12",
    );
    // All of ten segments are in flight, so that the window grows until all of them have arrived.
    timeline(
        "tcp",
        "cwnd_validation = true",
        "0us   | message 10 | 0-9
         100us | ack 8      | cwnd=18
         101us | message 1  | 10
         102us | ack 9      | cwnd=19
         103us | message 1  | 11
         104us | ack 11     | cwnd=21
         105us | message 1  | 12
         106us | ack 12     | cwnd=21",
    );
}

/// ACKs arrive as fast as the host's link sends, so that each lets a segment follow, though the window has room for more.
#[test]
fn with_validation_a_window_doubles_though_the_port_is_the_limit() {
    let mut bench = Bench::new("tcp", "cwnd_validation = true");
    bench.message(100_000, None);
    assert_eq!(bench.sent().len(), 10);
    for arrived in 1..=10 {
        bench.notes.room = 1;
        bench.ack(arrived, None, Flags::NONE, &[]);
    }
    assert_eq!((bench.cwnd(), bench.sent().len()), (20.0, 10));
    // Ten are in flight, and more than twice as many are never assumed.
    bench.notes.room = 1;
    bench.ack(11, None, Flags::NONE, &[]);
    assert_eq!(bench.cwnd(), 20.0);
}

#[test]
fn a_receiver_knows_up_to_where_everything_has_arrived() {
    let config = config("tcp", "");
    let (mut receiver, mut notes) = (Receiver::new(&config), Notes::default());
    for (segment, next) in [(0, 1000), (2, 1000), (3, 1000), (1, 4000), (1, 4000)] {
        let packet = Packet::data(segment * 1000, 1000, 40, Instant::ZERO, Flags::NONE);
        receiver.on_packet(&config, Instant::ZERO, &packet, None, &mut notes);
        assert_eq!(receiver.next(), next, "after {segment}");
    }
}

#[test]
fn each_arrived_byte_below_a_position_counts_once() {
    // Segments 0, 2 and 4 arrive, 0 and 2 twice; each window transport and family has a receiver of its own.
    for name in ["tcp", "d3", "pdq", "homa"] {
        let config = config(name, "");
        let (mut receiver, mut notes) = (Receiver::new(&config), Notes::default());
        for segment in [0, 2, 0, 4, 2] {
            let packet = Packet::data(segment * 1000, 1000, 40, Instant::ZERO, Flags::NONE);
            receiver.on_packet(&config, Instant::ZERO, &packet, None, &mut notes);
        }
        for (below, arrived) in [(0, 0), (500, 500), (1000, 1000), (2000, 1000), (2500, 1500), (u64::MAX, 3000)] {
            assert_eq!(receiver.arrived_below(below), arrived, "{name}: below {below}");
        }
    }
}

#[test]
fn the_last_segment_is_as_long_as_what_is_left() {
    for name in ["tcp", "dctcp"] {
        let mut bench = Bench::new(name, "");
        bench.message(2500, None);
        let lengths =
            |bench: &mut Bench| -> Vec<u16> { bench.notes.sent.drain(..).map(|(packet, _)| packet.payload).collect() };
        assert_eq!(lengths(&mut bench), [1000, 1000, 500], "{name}");
        bench.timer();
        bench.ack(2, None, Flags::NONE, &[]);
        assert_eq!(lengths(&mut bench), [1000, 500], "{name}: sent again");
    }
}

#[test]
fn with_nothing_in_flight_a_segment_leaves_whatever_the_window() {
    // A window or a buffer below one segment would stop the sender for ever.
    timeline(
        "tcp",
        "window_limit = '500 B'",
        "0us   | message 3 | 0
         100us | ack 1     | 1
         200us | ack 2     | 2",
    );
}

#[test]
fn the_receivers_buffer_is_filled_and_not_overrun() {
    timeline("tcp", "window_limit = '4 packets'", "0us | message 20 | 0-3");
    // After a timeout SACKed data is not in flight, and takes room all the same.
    timeline(
        "tcp",
        "window_limit = '10 packets'\ninitial_window = 20\ncwnd_floor = 8\nfloor_holds = 'always'",
        "0ms  | message 60     | 0-9
         1ms  | ack 0 sack 1-2 |
         20ms | timer          | 0r 3-9r cwnd=8
         21ms | ack 0 sack 1-9 |
         22ms | ack 10         | 10-17",
    );
}

#[test]
fn each_packet_has_the_priority_of_its_message() {
    for handshake in [false, true] {
        let mut bench = Bench::new("tcp", &format!("handshake = {handshake}"));
        for priority in [2, 5, 3] {
            bench.enqueue_message(Message { rank: priority, ..Message::of(Bytes(2000)) });
        }
        let priorities =
            |bench: &mut Bench| -> Vec<u32> { bench.notes.sent.drain(..).map(|(packet, _)| packet.rank).collect() };
        if handshake {
            assert_eq!(priorities(&mut bench), [2], "the SYN");
            bench.ack(0, None, Flags::SYN, &[]);
            assert_eq!(bench.notes.sent.remove(0).0.rank, 2, "what completes the handshake");
        }
        assert_eq!(priorities(&mut bench), [2, 2, 5, 5, 3, 3]);
        bench.ack(3, None, Flags::NONE, &[]);
        bench.timer();
        assert_eq!(priorities(&mut bench), [5], "sent again");
    }
}

#[test]
fn the_first_syn_gives_a_sample_and_a_repeated_one_does_not() {
    timeline("tcp", "handshake = true", "50us | message 20 | syn\n 150us | ack 0 of 50us syn | opened 0-9 srtt=100us");
    // RFC 3168 6.1.1: no ECT on a SYN; RFC 8257 3.5 leaves no packet of a DCTCP connection to be dropped for it.
    for (name, keys, ect) in [("tcp", "", false), ("tcp", "ecn = true", false), ("dctcp", "", true)] {
        let mut bench = Bench::new(name, &format!("handshake = true\n{keys}"));
        bench.wait(RTT);
        bench.message(1000, None);
        bench.timer();
        let syns: Vec<_> =
            bench.notes.sent.drain(..).map(|(syn, _)| (syn.flags.has(Flags::AGAIN), syn.stamp)).collect();
        assert_eq!(syns, [(false, RTT.after_start()), (true, Instant::MAX)], "{name}");
        bench.timer();
        assert_eq!(bench.notes.sent[0].0.flags.has(Flags::ECT), ect, "{name} {keys}");
    }
}

#[test]
fn what_follows_a_message_that_is_given_up_moves_up() {
    // Of ten segments four were sent; the second and third message move to the place of the other six.
    let mut bench = Bench::new("d2tcp", "expired = 'abort'\ninitial_window = 4");
    let late = Message { deadline: Some(Instant::from_millis(1)), rank: 2, ..Message::of(Bytes(10_000)) };
    bench.enqueue_message(late);
    bench.enqueue_message(Message { rank: 5, ..Message::of(Bytes(2000)) });
    bench.enqueue_message(Message { rank: 3, ..Message::of(Bytes(2000)) });
    bench.sent();
    bench.timer();
    assert_eq!((bench.notes.given_up.clone(), bench.sent()), (vec![(10_000, 6000)], vec![0]));
    for acknowledged in [4, 6] {
        bench.ack(acknowledged, None, Flags::NONE, &[]);
    }
    let sent: Vec<_> = bench.notes.sent.drain(..).map(|(packet, _)| (packet.seq / 1000, packet.rank)).collect();
    assert_eq!(sent, [(4, 5), (5, 5), (6, 3), (7, 3)]);
    bench.ack(8, None, Flags::NONE, &[]);
    assert!(bench.sender.is_idle() && bench.sent().is_empty());
}

#[test]
fn xdctcp_cuts_short_flows_by_ns_and_long_ones_by_nl_of_alpha() {
    // The marked ACK closes the first window: alpha is 15/16 x 0.5 + 1/16 = 0.53125.
    for (segments, cwnd) in [(90, 20.0 * (1.0 - 0.4 * 0.53125)), (91, 20.0 * (1.0 - 0.53125))] {
        let keys = "initial_window = 20\ninitial_alpha = 0.5\nns = 0.4\nnl = 1\nshort_limit = '90000 B'";
        let mut bench = Bench::new("xdctcp", keys);
        bench.message(segments * 1000, None);
        bench.ack(1, None, Flags::ECE, &[]);
        assert!((bench.cwnd() - cwnd).abs() < 1e-9, "{segments}: {}", bench.cwnd());
    }
}
