//! Delayed sending by a sender that may send: Nagle's algorithm, and cuts that are spread over a round trip.

use super::common;

use common::{Bench, MSS, timeline};
use transport::{Flags, Packet};
use units::{Instant, Span};

#[test]
fn nagle_holds_a_short_segment_back_until_all_is_acknowledged_or_it_is_full() {
    let sent = |keys: &str| {
        let mut bench = Bench::new("tcp", keys);
        let mut steps = Vec::new();
        bench.message(2 * MSS + 500, None);
        steps.push(bench.sent());
        bench.ack(1, None, Flags::NONE, &[]);
        steps.push(bench.sent());
        // With 600 B more the third segment is full and 100 B are left over.
        bench.message(600, None);
        steps.push(bench.sent());
        bench.ack(2, None, Flags::NONE, &[]);
        steps.push(bench.sent());
        bench.ack(3, None, Flags::NONE, &[]);
        steps.push(bench.sent());
        steps
    };
    assert_eq!(sent("nagle = true"), [vec![0, 1], vec![], vec![2], vec![], vec![3]]);
    // Without it the 500 B leave at once, and the 600 B behind them.
    assert_eq!(sent(""), [vec![0, 1, 2], vec![], vec![2], vec![], vec![]]);
}

#[test]
fn nagle_lets_a_message_shorter_than_a_segment_go_and_its_retransmission_too() {
    let mut bench = Bench::new("tcp", "nagle = true");
    bench.message(300, None);
    assert_eq!(bench.sent(), [0]);
    bench.timer();
    assert_eq!((bench.sent(), bench.notes.timeouts), (vec![0], 1));
}

/// RFC 6937 3.1: from 10 to 5, every second ACK releases a segment (ceil(5 d/10) after d have arrived), until five are
/// left. With a cut at once, none is sent before five are left. Linux holds CWR until something above the data sent
/// before is acknowledged (tcp_fastretrans_alert): the eleventh is the first to let the window grow.
#[test]
fn a_cut_is_made_at_once_or_spread_over_the_acks_of_a_round_trip() {
    timeline(
        "tcp",
        "initial_window = 10\necn = true\ncut = 'spread'",
        "0us   | message 100 | 0-9
         100us | ack 1 ece   | 10+cwr cwnd=10 ssthresh=5
         101us | ack 2       | cwnd=9
         102us | ack 3       | 11 cwnd=9
         103us | ack 4       | cwnd=8
         104us | ack 5       | 12 cwnd=8
         105us | ack 6       | cwnd=7
         106us | ack 7       | 13 cwnd=7
         107us | ack 8       | cwnd=6
         108us | ack 9       | cwnd=5
         109us | ack 10      | 14 cwnd=5
         110us | ack 11      | 15 cwnd=5.2",
    );
    timeline(
        "tcp",
        "initial_window = 10\necn = true",
        "0us   | message 100 | 0-9
         100us | ack 1 ece   | cwnd=5 ssthresh=5
         101us | ack 2       | cwnd=5.2
         102us | ack 3       |
         103us | ack 4       |
         104us | ack 5       |
         105us | ack 6       | 10+cwr",
    );
}

#[test]
fn where_less_is_in_flight_than_the_new_window_a_spread_cut_fills_it_no_faster_than_slow_start() {
    // One ACK of eight of ten: two are left, the window becomes 5. RFC 6937 3.1, SSRB: min(5 - 2, 8 + 1) may be sent.
    timeline(
        "tcp",
        "initial_window = 10\necn = true\ncut = 'spread'",
        "0us   | message 100 | 0-9
         100us | ack 8 ece   | 10+cwr 11-12 cwnd=5
         101us | ack 9       | 13 cwnd=5
         102us | ack 10      | 14 cwnd=5
         103us | ack 11      | 15 cwnd=5.2",
    );
}

/// Five of ten are left, as many as the window is to be: RFC 6937 3.1 would send nothing with the first ACK. Linux sends a
/// segment (tcp_cwnd_reduction: prr_out is 0), which carries the CWR, and makes up for it with the next.
#[test]
fn a_spread_cut_sends_a_segment_at_once() {
    timeline(
        "tcp",
        "initial_window = 10\necn = true\ncut = 'spread'",
        "0us   | message 100 | 0-9
         100us | ack 5 ece   | 10+cwr cwnd=6 ssthresh=5
         101us | ack 6       | cwnd=5
         102us | ack 7       | 11 cwnd=5",
    );
}

/// RFC 6937 3.1, SSRB: from 20 to 10 with 6 in flight. The segments that have arrived and were not made up for may be
/// sent, and one more: 5 - 1 + 1 beside two, without data to send.
#[test]
fn a_spread_cut_makes_up_for_what_has_arrived_while_there_was_nothing_to_send() {
    timeline(
        "tcp",
        "initial_window = 20\necn = true\ncut = 'spread'",
        "0us   | message 6  | 0-5
         100us | ack 1 ece  | cwnd=7 ssthresh=10
         101us | message 1  | 6+cwr
         102us | ack 2      | cwnd=7
         103us | ack 3      | cwnd=7
         104us | ack 5      | cwnd=7
         105us | message 50 | 7-11 cwnd=7",
    );
}

/// RFC 3168 6.1.2: the mark and the loss are of one window of data, which is answered once. Linux enters Recovery, or
/// Loss, from CWR without another cut; it notifies the receiver once more only after a timeout.
#[test]
fn with_classic_ecn_a_loss_ends_a_spread_cut_at_its_target() {
    for (name, target, then) in [("tcp", 5, "11-15"), ("cubic", 7, "11-17")] {
        timeline(
            name,
            "initial_window = 10\necn = true\ncut = 'spread'",
            &format!(
                "0us   | message 100     | 0-9
                 100us | ack 1 ece       | 10+cwr cwnd=10 ssthresh={target}
                 101us | ack 1 sack 2-4  | 1r cwnd={target} ssthresh={target}
                 200us | ack 11          | {then} cwnd={target}"
            ),
        );
        // The timer starts slow start, up to the window after the mark.
        timeline(
            name,
            "initial_window = 10\necn = true\ncut = 'spread'",
            &format!(
                "0ms   | message 100 | 0-9
                 1ms   | ack 1 ece   | 10+cwr ssthresh={target}
                 21ms  | timer       | 1r cwnd=1 ssthresh={target}
                 22ms  | ack 2       | 2-3r cwnd=2"
            ),
        );
    }
    // The second duplicate releases the second segment: ceil(5 x 3/10).
    timeline(
        "tcp",
        "initial_window = 10\necn = true\ncut = 'spread'\nrecovery = 'newreno'",
        "0us   | message 100 | 0-9
         100us | ack 1 ece   | 10+cwr ssthresh=5
         101us | ack 1       |
         102us | ack 1       | 11
         103us | ack 1       | 1r cwnd=5 ssthresh=5
         200us | ack 12      | 12-16 cwnd=5",
    );
}

/// RFC 8257 3.5: a loss halves beside the cut for the marks; as in Linux, from the window as reduced so far. With alpha
/// 1 it is to fall from 10 to 5; when 4 have arrived it is 8 (7 in flight, ceil(5 x 4/10) - 1 may be sent). With 15/16
/// x 1/2 + 1/16 it is to fall to 7.34, and is not reduced yet when the timer expires.
#[test]
fn where_marks_are_counted_a_loss_halves_what_a_spread_cut_has_come_down_to() {
    timeline(
        "dctcp",
        "initial_window = 10\ninitial_alpha = 1\ncut = 'spread'",
        "0us   | message 100     | 0-9
         100us | ack 1 ece       | 10+cwr cwnd=10 ssthresh=5
         101us | ack 1 sack 2-4  | 1r cwnd=4 ssthresh=4
         102us | ack 11          | 11-14 cwnd=4",
    );
    timeline(
        "dctcp",
        "initial_window = 10\ninitial_alpha = 0.5\ncut = 'spread'",
        "0ms   | message 100 | 0-9
         1ms   | ack 1 ece   | 10+cwr ssthresh=7.34
         21ms  | timer       | 1r cwnd=1 ssthresh=5",
    );
}

/// Returns the data sent since the last call: positions and lengths.
fn pieces(bench: &mut Bench) -> Vec<(u64, u16)> {
    bench.notes.sent.drain(..).map(|(packet, _)| (packet.seq, packet.payload)).collect()
}

/// Everything before this byte has arrived.
fn arrived(bench: &mut Bench, byte: u64, flags: Flags) {
    bench.wait(Span::from_micros(200));
    let packet = Packet::ack(byte, 40, Instant::MAX, flags);
    bench.sender.on_packet(&bench.config, bench.now, &packet, None, &mut bench.notes);
}

/// Goes through pending timers until something is sent, or it waits for nothing more.
fn woken(bench: &mut Bench) -> Vec<(u64, u16)> {
    while bench.notes.sent.is_empty() && bench.notes.timer < Instant::MAX {
        bench.timer();
    }
    pieces(bench)
}

#[test]
fn what_d2tcp_plus_holds_back_asks_with_one_byte_until_that_comes_back_without_a_mark() {
    let recoveries = ["loss_detection = 'rack'\n", "", "recovery = 'newreno'\n", "nagle = true\n"];
    // A message that has begun is deferred again with the probability of its rest's share to the power 40.
    let keys = "initial_window = 1\nrto_initial = '1 ms'\nrto_min = '1 ms'\nfirst_rounds = 1000000\nhold_power = 40\n";
    for keys in recoveries.map(|recovery| format!("{keys}{recovery}")) {
        let due = Some(Instant::from_millis(60));
        let mut bench = Bench::new("d2tcp_plus", &keys);
        bench.message(10_000, due);
        assert_eq!(pieces(&mut bench), [(0, 1000)], "{keys}");
        arrived(&mut bench, 1000, Flags::ECE);
        assert_eq!(pieces(&mut bench), [], "{keys}");
        assert_eq!(woken(&mut bench), [(1000, 1)], "{keys}");
        // A mark is a no, and silence too: the same byte again, later.
        arrived(&mut bench, 1001, Flags::ECE);
        assert_eq!((pieces(&mut bench), woken(&mut bench)), (vec![], vec![(1001, 1)]), "{keys}");
        assert_eq!((woken(&mut bench), bench.notes.timeouts), (vec![(1001, 1)], 1), "{keys}");
        // A yes: a segment, and from then on marks only cut.
        arrived(&mut bench, 1002, Flags::NONE);
        assert_eq!(pieces(&mut bench), [(1002, 1000)], "{keys}");
        arrived(&mut bench, 2002, Flags::ECE);
        assert_eq!(pieces(&mut bench), [(2002, 1000)], "{keys}");

        // Its first segment is lost: it probes with the data to retransmit.
        let mut bench = Bench::new("d2tcp_plus", &keys);
        bench.message(10_000, due);
        pieces(&mut bench);
        assert_eq!((woken(&mut bench), bench.notes.timeouts), (vec![(0, 1)], 1), "{keys}");
        arrived(&mut bench, 1, Flags::NONE);
        let next = pieces(&mut bench);
        assert!(next.len() == 1 && next[0].0 == 1, "{keys} {next:?}");
        // Without a deadline nothing probes, and d2tcp_wait never does.
        let wait = keys.lines().filter(|key| !key.starts_with("first_rounds")).collect::<Vec<_>>().join("\n");
        for (law, keys, due) in [("d2tcp_plus", &keys, None), ("d2tcp_wait", &wait, due)] {
            let mut bench = Bench::new(law, keys);
            bench.message(10_000, due);
            pieces(&mut bench);
            assert_eq!(woken(&mut bench), [(0, 1000)], "{law} {keys}");
        }
    }
}

/// All ten are in flight when a mark defers the message. With SACK its second one is lost without being sent again; NewReno
/// repairs at once, as only that tells it of further losses.
#[test]
fn loss_while_d2tcp_plus_defers_is_repaired_at_once_by_newreno_alone() {
    let repaired = |recovery: &str| {
        let keys = format!("initial_window = 10\nfirst_rounds = 1000000\nrecovery = '{recovery}'");
        let mut bench = Bench::new("d2tcp_plus", &keys);
        bench.message(10_000, Some(Instant::from_millis(60)));
        assert_eq!(pieces(&mut bench).len(), 10);
        arrived(&mut bench, 1_000, Flags::ECE);
        let beyond: &[(u64, u64)] = if recovery == "sack" { &[(2, 5)] } else { &[] };
        (0..3).for_each(|_| bench.ack(1, None, Flags::NONE, beyond));
        assert!(bench.ssthresh() < 10.0);
        pieces(&mut bench)
    };
    assert_eq!(repaired("sack"), []);
    assert_eq!(repaired("newreno"), [(1_000, 1_000)]);
}

/// Segments of 1000 bytes take 8 us at 1 Gbps, so that 50 take 0.4 ms. The base RTT is 14.6 us.
#[test]
fn what_begins_under_d2tcp_plus_asks_first_and_begins_with_one_segment() {
    let due = Some(Instant::from_millis(60));
    for window in [1, 10] {
        let keys = format!("initial_window = {window}");
        let mut bench = Bench::new("d2tcp_plus", &keys);
        bench.message(50_000, due);
        assert_eq!(pieces(&mut bench), [(0, 1)], "{window}");
        bench.wait(Span::from_micros(200));
        let answer = Packet::ack(1, 40, Instant::ZERO, Flags::NONE);
        bench.sender.on_packet(&bench.config, bench.now, &answer, None, &mut bench.notes);
        assert_eq!(pieces(&mut bench), [(1, 1000)], "{window}");
        // A mark refuses it: it asks again later.
        let mut bench = Bench::new("d2tcp_plus", &keys);
        bench.message(50_000, due);
        pieces(&mut bench);
        arrived(&mut bench, 1, Flags::ECE);
        assert_eq!((pieces(&mut bench), woken(&mut bench)), (vec![], vec![(1, 1)]), "{window}");
    }
    // Not without a deadline, if turned off, or where nothing is deferred.
    let begins = |keys: &str, due| {
        let mut bench = Bench::new("d2tcp_plus", keys);
        bench.message(50_000, due);
        pieces(&mut bench).len()
    };
    for keys in ["first_rounds = 1000000", "ask_rate = 0"] {
        assert_eq!(begins(keys, due), 10, "{keys}");
    }
    assert_eq!((begins("", None), begins("", due)), (10, 1));
    // Five like it must have time too, and a short one twenty round trips, which are longer where ACKs are delayed.
    let left = |keys: &str, us| begins(keys, Some(Instant::from_micros(us)));
    assert_eq!([2_390, 2_410].map(|us| left("", us)), [10, 1]);
    assert_eq!([20_390, 20_410].map(|us| left("base_rtt = '1 ms'", us)), [10, 1]);
    let delayed = "base_rtt = '1 us'\nack_every = 2\nack_delay = '1 ms'";
    assert_eq!([20_410, 20_430].map(|us| left(delayed, us)), [10, 1]);
}

/// On an open connection too, where the window is still narrow; but not behind data that is still being sent. The
/// acknowledged byte of a probe is a thousandth of a segment, and the window has grown by as much.
#[test]
fn a_later_message_under_d2tcp_plus_asks_first_where_nothing_is_sent_before_it() {
    let due = Some(Instant::from_millis(60));
    for (waits_behind, next) in [(false, (1, 1)), (true, (1, 1000))] {
        let mut bench = Bench::new("d2tcp_plus", "initial_window = 1");
        bench.message(1, due);
        assert_eq!(pieces(&mut bench), [(0, 1)]);
        if waits_behind {
            bench.message(50_000, due);
        }
        arrived(&mut bench, 1, Flags::NONE);
        if !waits_behind {
            bench.message(50_000, due);
        }
        assert_eq!(pieces(&mut bench)[0], next, "{waits_behind}");
    }
}

/// On a connection that stays open. All of the first message is in flight when a mark defers it, for tens of
/// milliseconds.
#[test]
fn what_held_one_message_back_under_d2tcp_plus_does_not_hold_the_next() {
    let late = Some(Instant::from_millis(60));
    for due in [None, late] {
        for waits_behind in [false, true] {
            let mut bench = Bench::new("d2tcp_plus", "initial_window = 4\nfirst_rounds = 1000000");
            bench.message(4_000, late);
            assert_eq!(pieces(&mut bench).len(), 4);
            arrived(&mut bench, 1_000, Flags::ECE);
            if waits_behind {
                bench.message(10_000, due);
            }
            assert_eq!(pieces(&mut bench), [], "{due:?} {waits_behind}");
            arrived(&mut bench, 4_000, Flags::NONE);
            if !waits_behind {
                bench.message(10_000, due);
            }
            // A segment, at once: no question, and no wait.
            assert_eq!(pieces(&mut bench)[0], (4_000, 1_000), "{due:?} {waits_behind}");
        }
    }
    // A message with 10 s is deferred for nearly as long. The one enqueued behind it has 20 ms.
    let mut bench = Bench::new("d2tcp_plus", "initial_window = 1\nfirst_rounds = 1000000");
    bench.message(2_000, Some(Instant::from_millis(10_000)));
    bench.wait(Span::from_micros(200));
    bench.ack(1, Some(Instant::ZERO), Flags::ECE, &[]);
    assert_eq!(pieces(&mut bench), [(0, 1_000)]);
    bench.message(1_000, Some(bench.now + Span::from_millis(20)));
    assert_eq!(pieces(&mut bench), [(1_000, 1_000)]);
}

#[test]
fn a_question_carries_as_much_as_is_said_and_a_segment_at_most() {
    for (question, bytes) in [("400 B", 400), ("1 KB", 1000), ("1500 B", 1000)] {
        let keys = "initial_window = 1\nrto_initial = '1 ms'\nrto_min = '1 ms'\nfirst_rounds = 1000000\n";
        let keys = format!("{keys}question = '{question}'\n");
        let mut bench = Bench::new("d2tcp_plus", &keys);
        bench.message(100_000, Some(Instant::from_millis(60)));
        assert_eq!(pieces(&mut bench), [(0, 1000)]);
        // One, though the window would have room for more of its size.
        arrived(&mut bench, 1000, Flags::ECE);
        assert_eq!(woken(&mut bench), [(1000, bytes)], "{question}");
        arrived(&mut bench, 1000 + u64::from(bytes), Flags::NONE);
        assert_eq!(pieces(&mut bench).len(), 1, "{question}");
        // A retransmission probes too.
        let mut bench = Bench::new("d2tcp_plus", &keys);
        bench.message(100_000, Some(Instant::from_millis(60)));
        pieces(&mut bench);
        assert_eq!(woken(&mut bench), [(0, bytes)], "{question}");
    }
}

/// A later message decides where it is the more pressing: 230 segments are to arrive up to its end, 100 us a round
/// trip, in the rest of 20 ms. So its need is above one segment. A cut leaves half of need x 20 ms / time left and half
/// of the window. For the first message alone, which has a second, half of the window would be left.
#[test]
fn a_loss_under_d2tcp_plus_heeds_the_most_pressing_of_the_messages_that_wait() {
    let ssthresh = |behind: bool| {
        let mut bench = Bench::new(
            "d2tcp_plus",
            "rto_min = '1 ms'\nrto_initial = '1 ms'\ninitial_window = 40\nfirst_rounds = 1000000",
        );
        bench.message(200_000, Some(Instant::from_millis(1000)));
        bench.now = Instant::from_micros(100);
        (1..=20).for_each(|segment| bench.ack(segment, Some(Instant::ZERO), Flags::NONE, &[]));
        if behind {
            bench.message(50_000, Some(bench.now + Span::from_millis(20)));
        }
        let due = bench.now + Span::from_millis(20);
        while bench.notes.timeouts == 0 {
            bench.timer();
        }
        (bench.ssthresh(), due - bench.now)
    };
    let (alone, _) = ssthresh(false);
    let (both, left) = ssthresh(true);
    let left = left.as_secs_f64();
    let floor = 230.0 * 100e-6 / left * (20e-3 / left);
    // 40, and one for each of twenty.
    assert_eq!(alone, 30.0);
    assert!((both - (floor + (60.0 - floor) / 2.0)).abs() < 1e-9 && floor > 0.5, "{both} {floor}");
}

#[test]
fn full_host_queue_stops_a_window_until_it_has_room() {
    let mut bench = Bench::new("tcp", "");
    bench.notes.room = 2;
    bench.message(20_000, None);
    assert_eq!(bench.sent(), [0, 1]);
    bench.room(3);
    assert_eq!(bench.sent(), [2, 3, 4]);
    // The window of ten.
    bench.room(20);
    assert_eq!(bench.sent(), [5, 6, 7, 8, 9]);
}

/// Of 3001 bytes the first segment is missing: the byte at the end is the third duplicate.
#[test]
fn single_byte_beyond_a_gap_shows_a_loss() {
    let mut bench = Bench::new("tcp", "");
    bench.message(3 * MSS + 1, None);
    assert_eq!(pieces(&mut bench), [(0, 1000), (1000, 1000), (2000, 1000), (3000, 1)]);
    bench.wait(Span::from_micros(100));
    for end in [2 * MSS, 3 * MSS, 3 * MSS + 1] {
        assert_eq!(pieces(&mut bench), []);
        let mut blocks = transport::Blocks::default();
        blocks.push((MSS, end));
        let (ack, mut news) = (Packet::ack(0, 40, Instant::MAX, Flags::NONE), transport::Extension::of_blocks(blocks));
        bench.sender.on_packet(&bench.config, bench.now, &ack, Some(&mut news), &mut bench.notes);
    }
    assert_eq!(pieces(&mut bench), [(0, 1000)]);
}

/// The ACK of the first segment, with the byte behind the third, arrives after the ACK of the second. Only the third is
/// missing. It is lost 113 us after it was sent, and a quarter of the round trip of 100 us.
#[test]
fn single_byte_in_an_overtaken_ack_shows_a_loss() {
    let mut bench = Bench::new("tcp", "loss_detection = 'rack'");
    bench.message(3 * MSS + 1, None);
    assert_eq!(pieces(&mut bench).len(), 4);
    bench.wait(Span::from_micros(100));
    bench.ack(1, Some(Instant::ZERO), Flags::NONE, &[]);
    bench.wait(Span::from_micros(12));
    bench.ack(2, None, Flags::NONE, &[]);
    bench.wait(Span::from_micros(1));
    let mut blocks = transport::Blocks::default();
    blocks.push((3 * MSS, 3 * MSS + 1));
    let (ack, mut news) = (Packet::ack(MSS, 40, Instant::MAX, Flags::NONE), transport::Extension::of_blocks(blocks));
    bench.sender.on_packet(&bench.config, bench.now, &ack, Some(&mut news), &mut bench.notes);
    assert_eq!(pieces(&mut bench), []);
    bench.timer();
    assert_eq!((bench.now, pieces(&mut bench)), (Instant::from_micros(138), vec![(2 * MSS, MSS as u16)]));
}

/// Ten in flight less one are nine: with a window of five only the first is sent again at once. A segment that is not in
/// flight any more, was not sent, or has another copy in flight, is no news. A copy that is trimmed too cuts again.
#[test]
fn a_trimmed_segment_is_lost_and_cuts_once() {
    timeline(
        "tcp",
        "initial_window = 10\nloss_detection = 'rack'",
        "0us   | message 20           | 0-9 cwnd=10
         50us  | trimmed 3            | 3r cwnd=5 ssthresh=5
         51us  | trimmed 3            | cwnd=5
         52us  | trimmed 4            | cwnd=5
         53us  | trimmed 12           | cwnd=5
         54us  | trimmed 5 again      | cwnd=5
         60us  | trimmed 3 again      | cwnd=2.5 ssthresh=2.5",
    );
}

/// NSCC takes a packet of the window for each. The repair is the same: with eight the second one waits for room.
#[test]
fn a_controller_may_answer_each_trimmed_segment() {
    timeline(
        "nscc",
        "initial_window = 10\nloss_detection = 'rack'\nbase_rtt = '1 ms'",
        "0us   | message 20           | 0-9 cwnd=10
         50us  | trimmed 3            | 3r cwnd=9
         51us  | trimmed 4            | cwnd=8
         52us  | trimmed 4            | cwnd=8",
    );
}

#[test]
fn trimmed_segments_are_sent_again_one_by_one_while_the_window_has_room() {
    timeline(
        "nscc",
        "initial_window = 10\nloss_detection = 'rack'\nbase_rtt = '1 ms'",
        "0us   | message 4            | 0-3
         50us  | trimmed 3            | 3r cwnd=9
         51us  | trimmed 2            | 2r cwnd=8",
    );
}

#[test]
fn a_receiver_answers_a_trimmed_packet_with_its_position_stamp_and_rank() {
    for (name, keys) in [("tcp", ""), ("tcp", "receiver = 'edf'")] {
        let config = common::config(name, keys);
        let (mut receiver, mut notes) = (transport::Receiver::new(&config), common::Notes::default());
        let at = Instant::from_micros(7);
        let packet = Packet { rank: 5, ..Packet::data(3 * MSS, MSS as u32, 40, at, Flags::NONE) };
        receiver.on_trimmed(&config, Instant::from_micros(9), &packet, None, &mut notes);
        let [(nack, _)] = &notes.sent[..] else { panic!("{:?}", notes.sent) };
        assert_eq!((nack.seq, nack.stamp, nack.rank, nack.payload), (3 * MSS, at, 5, 0), "{name} {keys}");
        assert!(nack.flags.has(Flags::NACK));
    }
}

/// Swift adds to its window with each acknowledgement below its target, but not while a loss is repaired.
#[test]
fn acknowledgements_beyond_a_gap_let_the_window_grow_until_a_loss_is_found() {
    let mut bench = Bench::new("swift", "initial_window = 10\nbase_target = '1 ms'");
    bench.message(40 * MSS, None);
    bench.wait(Span::from_micros(100));
    bench.ack(1, Some(Instant::ZERO), Flags::NONE, &[]);
    let mut grows = |sacked| {
        let before = bench.cwnd();
        bench.ack(1, Some(Instant::ZERO), Flags::NONE, &[sacked]);
        bench.cwnd() > before
    };
    assert!(grows((2, 3)) && grows((2, 4)));
    // The third segment beyond the gap shows a loss, which cuts.
    assert!(!grows((2, 5)));
    assert!(!grows((2, 6)) && !grows((2, 7)));
}
