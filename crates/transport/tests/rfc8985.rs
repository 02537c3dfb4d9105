//! RFC 8985: losses found by time, and tail loss probes.

use super::common;

use common::{Bench, MSS, config, timeline};
use transport::{Flags, registry};
use units::Instant;

const RACK: &str = "loss_detection = 'rack'";

fn rack(keys: &str, table: &str) {
    timeline("tcp", &format!("{RACK}\n{keys}"), table);
}

fn rack_tlp(keys: &str, table: &str) {
    timeline("tcp", &format!("{RACK}\ntlp = true\n{keys}"), table);
}

#[test]
fn s4_needs_sack_and_a_probe_needs_time() {
    for (keys, culprit) in [
        (&[("loss_detection", "rack"), ("recovery", "newreno")][..], "loss_detection"),
        (&[("tlp", "true")][..], "tlp"),
    ] {
        assert_eq!(registry::find("tcp").unwrap().with(keys).unwrap_err().key, culprit);
    }
    let rack = config("tcp", RACK).connection;
    assert!(rack.rack && !rack.tlp && !config("tcp", "").connection.rack);
}

#[test]
fn s6_2_step_5_what_was_overtaken_is_lost_when_its_time_is_up() {
    // 3 has arrived after 110 us. 1 and 2, sent before it, have 110 us too, and a quarter of the smallest round trip. In
    // flight are then 9 less 1 SACKed less 2 lost, with the first sent again 7: the second waits for room.
    rack(
        "",
        "0us       | message 10         | 0-9
         100us     | ack 1 of 0us       | cwnd=11
         110us     | ack 1 sack 3-3     | cwnd=11
         134.999us | wait               | cwnd=11
         135us     | wait               | 1r cwnd=4.5 ssthresh=4.5
         140us     | ack 1 sack 3-8     | 2r
         230us     | ack 10             | cwnd=4.5",
    );
}

#[test]
fn s6_2_the_blocks_of_an_overtaken_ack_count() {
    // The ACK of 0 with 3 to 9 arrives after the ACK of 1. So 2 alone is missing, and lost after 113 us and a quarter of
    // the smallest round trip; half of the 8 segments in flight stay.
    rack(
        "",
        "0us       | message 10         | 0-9
         100us     | ack 1 of 0us       | cwnd=11
         110us     | ack 1 sack 9-9     | cwnd=11
         112us     | ack 2              | cwnd=12
         113us     | ack 1 sack 3-9     | cwnd=12
         138us     | wait               | 2r cwnd=4 ssthresh=4
         240us     | ack 10             | cwnd=4",
    );
}

#[test]
fn s6_2_step_5_a_segment_sent_later_is_not_overtaken() {
    // 10 and 11 leave when 0 is acknowledged. 9, sent before them, shows nothing about them.
    rack(
        "",
        "0us   | message 12     | 0-9
         100us | ack 1 of 0us   | 10-11
         110us | ack 1 sack 9-9 |
         135us | wait           | 1-3r
         150us | ack 10         | cwnd=5.5
         400us | wait           |",
    );
}

#[test]
fn s6_2_step_4_three_segments_sacked_are_enough_while_no_reordering_was_seen() {
    rack(
        "",
        "0us   | message 10         | 0-9
         100us | ack 1 of 0us       | cwnd=11
         110us | ack 1 sack 3-5     | 1r cwnd=4.5
         111us | ack 1 sack 3-6     |
         112us | ack 1 sack 3-7     | 2r",
    );
    // The threshold is that of duplicate ACKs.
    rack(
        "dup_ack_threshold = 5",
        "0us   | message 10         | 0-9
         100us | ack 1 of 0us       |
         110us | ack 1 sack 3-5     |
         111us | ack 1 sack 3-6     |
         112us | ack 1 sack 3-7     | 1-2r",
    );
}

#[test]
fn s6_2_steps_3_and_4_after_reordering_time_alone_counts() {
    // 1 arrives after 2 and was sent once. From then on three segments do not hasten anything: 3 and 4 have 110 us and
    // 25.
    rack(
        "",
        "0us       | message 20         | 0-9
         100us     | ack 1 of 0us       | 10-11
         101us     | ack 1 sack 2-2     |
         105us     | ack 3 of 0us       | 12-15 cwnd=13
         110us     | ack 3 sack 5-7     |
         134.999us | wait               | cwnd=13
         135us     | wait               | 3r cwnd=6.5",
    );
    // Also in a recovery: 16, sent 5 us after 3 was sent again, arrives before it, which has until 135 us + 100 us + 25
    // us.
    rack(
        "",
        "0us       | message 20         | 0-9
         100us     | ack 1 of 0us       | 10-11
         101us     | ack 1 sack 2-2     |
         105us     | ack 3 of 0us       | 12-15 cwnd=13
         110us     | ack 3 sack 4-9     |
         135us     | wait               | 3r cwnd=6.5
         140us     | ack 3 sack 4-11    | 16
         145us     | ack 3 sack 4-15    | 17-19
         240us     | ack 3 sack 4-16    |
         250us     | ack 17             | cwnd=6.5",
    );
    // If it does not arrive by then it is lost again, and is sent at once: only 19 is in flight, and no ACK may follow.
    rack(
        "",
        "0us       | message 20         | 0-9
         100us     | ack 1 of 0us       | 10-11
         101us     | ack 1 sack 2-2     |
         105us     | ack 3 of 0us       | 12-15 cwnd=13
         110us     | ack 3 sack 4-9     |
         135us     | wait               | 3r cwnd=6.5
         140us     | ack 3 sack 4-11    | 16
         145us     | ack 3 sack 4-15    | 17-19
         240us     | ack 3 sack 4-16    |
         245us     | ack 3 sack 4-18    |
         259.999us | wait               | cwnd=6.5
         260us     | wait               | 3r cwnd=3.25 ssthresh=3.25",
    );
}

#[test]
fn s6_2_step_2_an_answer_sooner_than_any_round_trip_is_to_the_first_transmission() {
    // 1 was late, not lost: its ACK arrives 10 us after it was sent again. Taken for an answer to that, everything sent
    // before 110 us would be lost.
    rack(
        "",
        "0us   | message 20         | 0-9
         100us | ack 1 of 0us       | 10-11
         110us | ack 1 sack 2-4     | 1r cwnd=5.5
         120us | ack 5              | cwnd=5.5
         121us | ack 7              |
         122us | ack 8              | 12",
    );
}

#[test]
fn s6_2_what_was_sent_again_and_lost_again_is_found_and_cuts_again() {
    // 10 and 11 were sent before 1 was sent again, 12 after it. The window is halved again, from 5.5, and 1 is sent
    // when one segment is in flight.
    rack(
        "",
        "0us   | message 30         | 0-9
         100us | ack 1 of 0us       | 10-11
         110us | ack 1 sack 2-4     | 1r cwnd=5.5
         115us | ack 1 sack 2-9     | 12-13
         200us | ack 1 sack 2-11    | 14-15 cwnd=5.5
         215us | ack 1 sack 2-12    | cwnd=2.75 ssthresh=2.75
         216us | ack 1 sack 2-13    |
         300us | ack 1 sack 2-14    | 1r
         400us | ack 16             | 16-17 cwnd=2.75",
    );
    // Duplicate ACKs would find the same, but only with three of the segments sent later.
    timeline(
        "tcp",
        "",
        "0us   | message 30         | 0-9
         100us | ack 1 of 0us       | 10-11
         110us | ack 1 sack 2-4     | 1r cwnd=5.5
         115us | ack 1 sack 2-9     | 12-13
         200us | ack 1 sack 2-11    | 14-15 cwnd=5.5
         215us | ack 1 sack 2-12    | 16 cwnd=5.5",
    );
}

#[test]
fn s6_3_a_timeout_marks_the_first_segment_and_what_is_old_enough() {
    // 1 to 3 are 21 ms old. 4 and 5 have their round trip of 1 ms and a quarter still, and arrive.
    rack(
        "",
        "0ms    | message 4          | 0-3
         1ms    | ack 1 of 0ms       |
         20.5ms | message 2          | 4-5
         21ms   | timer              | 1r cwnd=1
         21.6ms | ack 1 sack 4-5     |
         22ms   | ack 2 sack 4-5     | 2-3r cwnd=2
         23ms   | ack 6              |",
    );
    // With everything lost and no sample, all of it is.
    rack("", "0ms | message 4 | 0-3\n 20ms | timer | 0r cwnd=1\n 60ms | timer | 0r\n 61ms | ack 1 | 1-2r cwnd=2");
}

#[test]
fn s6_3_in_the_repair_after_a_timeout_time_counts_too() {
    // 2 is sent again at 22 ms and lost again; 3, which was sent after it, has arrived.
    rack(
        "initial_window = 6",
        "0ms    | message 8          | 0-5
         1ms    | ack 1 of 0ms       | 6-7 cwnd=7
         21ms   | timer              | 1r cwnd=1
         22ms   | ack 2              | 2-3r cwnd=2
         23ms   | ack 2 sack 3-3     | 2r 4r
         24ms   | ack 4              | 5-6r cwnd=3",
    );
}

#[test]
fn s7_2_and_7_3_two_round_trips_after_the_last_news_the_last_segment_is_sent_again() {
    rack_tlp(
        "",
        "0us       | message 4          | 0-3
         100us     | ack 2 of 0us       | cwnd=12
         299.999us | wait               |
         300us     | wait               | 3r cwnd=12
         400us     | ack 2 sack 3-3     | 2r cwnd=2
         500us     | ack 4              | cwnd=2",
    );
}

#[test]
fn s7_2_the_answer_to_a_syn_is_news() {
    rack_tlp(
        "handshake = true",
        "0us       | message 4          | syn
         100us     | ack 0 of 0us syn   | opened 0-3
         299.999us | wait               |
         300us     | wait               | 3r",
    );
}

#[test]
fn s7_3_something_new_is_the_better_probe_and_the_rto_starts_anew() {
    // The window of 3 is full: the probe exceeds it. No second one follows. Without an answer: RTO, 20 ms after it.
    rack_tlp(
        "initial_window = 2",
        "0us     | message 10         | 0-1
         100us   | ack 1 of 0us       | 2-3 cwnd=3
         300us   | wait               | 4
         20300us | timer              | 1r cwnd=1",
    );
    // And not beyond the receiver's buffer.
    rack_tlp(
        "initial_window = 2\nwindow_limit = '3 packets'",
        "0us     | message 10         | 0-1
         100us   | ack 1 of 0us       | 2-3 cwnd=3
         300us   | wait               | 3r",
    );
}

#[test]
fn s7_2_a_probe_waits_for_an_ack_that_may_be_held_back_and_not_beyond_the_rto() {
    rack_tlp(
        "ack_every = 2\nack_delay = '1 ms'",
        "0us    | message 3          | 0-2
         100us  | ack 2 of 0us       |
         1299us | wait               |
         1300us | wait               | 2r",
    );
    // RTO = 100 us + 4 x 50 us. The probe is sent in its place.
    rack_tlp(
        "ack_every = 2\nack_delay = '1 ms'\nrto_min = '1 us'\nrto_granularity = '1 us'",
        "0us    | message 3          | 0-2
         100us  | ack 2 of 0us       | cwnd=12
         399us  | wait               |
         400us  | wait               | 2r cwnd=12
         700us  | timer              | 2r cwnd=1",
    );
}

#[test]
fn s7_2_none_while_something_is_sacked_or_repaired() {
    rack_tlp(
        "",
        "0us     | message 10         | 0-9
         100us   | ack 1 of 0us       |
         110us   | ack 1 sack 3-5     | 1r
         20110us | timer              | 1r",
    );
}

/// The last ACK has set the probe to 100 us + 2 round trips + 1 ms. A segment beyond a gap then shows that time will tell:
/// 1 and 2 are lost 1 ms after the 400 us that 3 has taken.
#[test]
fn s7_2_duplicate_with_blocks_leaves_the_decision_to_time_and_one_without_does_not() {
    rack_tlp(
        "reordering = '1 ms'",
        "0us    | message 10         | 0-9
         100us  | ack 1 of 0us       | cwnd=11
         400us  | ack 1 sack 3-3     |
         1399us | wait               |
         1400us | wait               | 1r cwnd=4.5",
    );
    rack_tlp(
        "",
        "0us       | message 4          | 0-3
         100us     | ack 2 of 0us       |
         150us     | ack 2              |
         299.999us | wait               |
         300us     | wait               | 3r",
    );
}

/// The repair of a trimmed segment elicits an acknowledgement: only the RTO is left, 20 ms after the retransmission.
#[test]
fn s7_2_none_once_a_repair_has_begun() {
    rack_tlp(
        "",
        "0us     | message 4          | 0-3
         100us   | ack 2 of 0us       |
         150us   | trimmed 3          | 3r
         20149us | wait               |
         20150us | timer              | 2r",
    );
}

/// A window of three is full. An application's data that cannot be sent yet sets no other probe, which would delay the
/// RTO: that is 20 ms after the probe.
#[test]
fn s7_2_data_that_waits_sets_no_probe() {
    rack_tlp(
        "initial_window = 2",
        "0us     | message 10         | 0-1
         100us   | ack 1 of 0us       | 2-3 cwnd=3
         300us   | wait               | 4
         400us   | message 1          |
         20300us | timer              | 1r cwnd=1",
    );
}

/// The ACK at 310 us is of data before the probe, with which 5 is sent: no second probe 252.5 us later.
#[test]
fn s7_4_an_ack_below_a_probe_of_new_data_is_no_answer_to_it() {
    rack_tlp(
        "initial_window = 2",
        "0us   | message 10    | 0-1
         100us | ack 1 of 0us  | 2-3 cwnd=3
         300us | wait          | 4
         310us | ack 2 of 0us  | 5
         600us | wait          |",
    );
}

/// Of four segments of buffer three are in flight, so that one fits exactly.
#[test]
fn s7_3_a_probe_of_new_data_may_fill_the_buffer_and_be_a_single_byte() {
    rack_tlp(
        "initial_window = 2\nwindow_limit = '4 packets'",
        "0us     | message 10         | 0-1
         100us   | ack 1 of 0us       | 2-3 cwnd=3
         300us   | wait               | 4",
    );
    let mut bench = Bench::new("tcp", &format!("{RACK}\ntlp = true\ninitial_window = 2"));
    bench.message(4 * MSS + 1, None);
    bench.now = Instant::from_micros(100);
    bench.ack(1, Some(Instant::ZERO), Flags::NONE, &[]);
    assert_eq!(bench.sent(), [0, 1, 2, 3]);
    while bench.notes.probes == 0 {
        bench.timer();
    }
    let probe: Vec<_> = bench.notes.sent.iter().map(|(packet, _)| (packet.seq, packet.payload)).collect();
    assert_eq!((bench.now, probe), (Instant::from_micros(300), vec![(4 * MSS, 1)]));
}

#[test]
fn s7_3_none_without_a_sample_since_the_last() {
    // The round trip is unknown: the RTO expires as without probes.
    rack_tlp("", "0us | message 4 | 0-3\n 20ms | timer | 0r");
    // The probe is answered, but a retransmission gives no sample; the next message has no probe before its RTO.
    rack_tlp(
        "",
        "0us     | message 4          | 0-3
         100us   | ack 3 of 0us       |
         300us   | wait               | 3r
         400us   | ack 4              |
         401us   | ack 4              |
         500us   | message 1          | 4
         20700us | timer              | 4r",
    );
}

#[test]
fn s7_4_a_loss_that_the_probe_has_repaired_cuts_the_window() {
    // 3 was lost and the probe has repaired it. The first ACK beyond it shows this, as the receiver would have reported
    // a second copy. 8 were in flight.
    rack_tlp(
        "",
        "0us     | message 4          | 0-3
         100us   | ack 3 of 0us       | cwnd=13
         300us   | wait               | 3r
         400us   | ack 4              | cwnd=14
         500us   | message 8          | 4-11
         600us   | ack 12 of 500us    | ssthresh=4",
    );
    // A duplicate ACK without blocks shows that both copies have arrived.
    rack_tlp(
        "",
        "0us     | message 4          | 0-3
         100us   | ack 3 of 0us       | cwnd=13
         300us   | wait               | 3r
         400us   | ack 4              | cwnd=14
         401us   | ack 4              | cwnd=14
         500us   | message 8          | 4-11
         600us   | ack 12 of 500us    | cwnd=22",
    );
    // A probe of new data repairs nothing.
    rack_tlp(
        "initial_window = 2",
        "0us     | message 10         | 0-1
         100us   | ack 1 of 0us       | 2-3 cwnd=3
         300us   | wait               | 4
         400us   | ack 5              | 5-9 cwnd=7
         500us   | ack 10             | cwnd=12",
    );
}

#[test]
fn s7_3_while_one_probe_is_on_its_way_there_is_no_other() {
    // The data acknowledged at 310 us was sent before the probe: a sample, which raises srtt to 126.25 us, and no
    // answer.
    rack_tlp(
        "initial_window = 2",
        "0us   | message 4     | 0-1
         100us | ack 1 of 0us  | 2-3
         300us | wait          | 3r
         310us | ack 2 of 0us  |
         600us | wait          |",
    );
}

#[test]
fn s7_4_once_a_probe_with_new_data_is_acknowledged_the_next_tail_has_its_own() {
    rack_tlp(
        "initial_window = 2",
        "0us   | message 20      | 0-1
         100us | ack 1 of 0us    | 2-3
         300us | wait            | 4
         400us | ack 5 of 300us  | 5-11
         600us | wait            | 12",
    );
}
