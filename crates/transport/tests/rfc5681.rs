//! RFC 5681: slow start, congestion avoidance, fast retransmit and recovery, and when receivers acknowledge.

use super::common;

use common::{answers, timeline};

#[test]
fn s3_1_slow_start_adds_a_segment_per_ack_up_to_the_threshold() {
    timeline(
        "tcp",
        "initial_window = 2",
        "0us   | message 50       | 0-1
         100us | ack 1 of 0us     | 2-3   cwnd=3
         101us | ack 2 of 0us     | 4-5   cwnd=4
         200us | ack 3 of 100us   | 6-7   cwnd=5",
    );
}

#[test]
fn s3_1_eq_2_an_ack_of_several_segments_adds_as_many_as_chosen() {
    // The ACKs of 0 to 3 were lost.
    for (growth, sent, cwnd) in [("acked", "10-19", 15), ("two-segments", "10-16", 12), ("segment", "10-15", 11)] {
        timeline(
            "tcp",
            &format!("slow_start_growth = '{growth}'"),
            &format!(
                "0us   | message 90 | 0-9
                 100us | ack 5      | {sent} cwnd={cwnd}"
            ),
        );
    }
    // In congestion avoidance an ACK counts for all that it covers, whatever slow start does (RFC 3465 2.1).
    for growth in ["acked", "two-segments", "segment"] {
        timeline(
            "tcp",
            &format!("slow_start_growth = '{growth}'"),
            "0us   | message 90      | 0-9
             100us | ack 0 sack 1-3  | 0r cwnd=5
             110us | ack 0 sack 1-9  | 10-13
             200us | ack 10          | 14 cwnd=5
             210us | ack 14          | 15-18 cwnd=5.8",
        );
    }
}

#[test]
fn s3_1_congestion_avoidance_adds_a_segment_per_window() {
    // A timeout with 8 segments in flight: the threshold is 4 (eq. 4), the window 1; from 4 on each ACK adds 1/cwnd.
    timeline(
        "tcp",
        "initial_window = 8",
        "0ms  | message 50 | 0-7
         20ms | timer      | 0r    cwnd=1 ssthresh=4
         21ms | ack 8      | 8-9   cwnd=2
         22ms | ack 9      | 10-11 cwnd=3
         23ms | ack 10     | 12-13 cwnd=4
         24ms | ack 11     | 14    cwnd=4.25
         25ms | ack 12     | 15    cwnd=4.4853
         26ms | ack 13     | 16    cwnd=4.7082
         27ms | ack 14     | 17    cwnd=4.9206
         28ms | ack 15     | 18-19 cwnd=5.1239",
    );
}

#[test]
fn s3_1_the_threshold_is_set_at_the_first_timeout_of_a_segment_and_not_at_its_repetition() {
    timeline(
        "tcp",
        "initial_window = 40",
        "0ms   | message 90 | 0-39
         20ms  | timer      | 0r cwnd=1 ssthresh=20
         60ms  | timer      | 0r cwnd=1 ssthresh=20
         61ms  | ack 40     | 40-41 cwnd=2
         141ms | timer      | 40r cwnd=1 ssthresh=2",
    );
}

#[test]
fn s3_1_after_a_lost_syn_the_first_window_is_one_segment() {
    timeline(
        "tcp",
        "handshake = true",
        "0us   | message 20       | syn
         100us | ack 0 of 0us syn | opened 0-9 cwnd=10",
    );
    for name in ["tcp", "cubic", "dctcp", "d2tcp"] {
        timeline(
            name,
            "handshake = true",
            "0ms    | message 20 | syn
             20ms   | timer      | syn
             20.1ms | ack 0 syn  | opened 0 cwnd=1
             20.2ms | ack 1 of 20.1ms | 1-2 cwnd=2",
        );
    }
    // The RTO stays doubled: no sample has ended it.
    timeline(
        "tcp",
        "handshake = true",
        "0ms  | message 20 | syn
         20ms | timer      | syn
         21ms | ack 0 syn  | opened 0
         61ms | timer      | 0r",
    );
}

#[test]
fn s3_2_the_third_duplicate_ack_retransmits_and_the_others_let_new_data_out() {
    // Step 3: cwnd is half the flight, 5, and 3 for the segments that have left the network; step 4: 1 for each further
    // duplicate. 10 are in flight, so that the sixth duplicate lets the first new segment out. Step 6: back to 5.
    timeline(
        "tcp",
        "recovery = 'newreno'",
        "0us   | message 30 | 0-9
         100us | ack 0      |
         101us | ack 0      |
         102us | ack 0      | 0r ssthresh=5
         103us | ack 0      |
         104us | ack 0      |
         105us | ack 0      | 10
         106us | ack 0      | 11
         107us | ack 0      | 12
         108us | ack 0      | 13
         200us | ack 10     | 14 cwnd=5",
    );
}

#[test]
fn s3_2_two_duplicates_retransmit_nothing() {
    // The ACK after them counts for both segments that it covers (RFC 3465 2.1, Linux).
    timeline(
        "tcp",
        "recovery = 'newreno'",
        "0us   | message 30 | 0-9
         100us | ack 0      |
         101us | ack 0      |
         102us | ack 2      | 10-13 cwnd=12",
    );
}

#[test]
fn s4_1_after_an_idle_rto_the_window_is_the_initial_one_again() {
    for (restart, sent, cwnd) in [(true, "7-8", 2), (false, "7-15", 9)] {
        timeline(
            "tcp",
            &format!("initial_window = 2\nidle_restart = {restart}"),
            &format!(
                "0us   | message 7      | 0-1
                 100us | ack 2 of 0us   | 2-5  cwnd=4
                 200us | ack 6 of 100us | 6    cwnd=8
                 300us | ack 7 of 200us |      cwnd=9
                 50ms  | message 20     | {sent} cwnd={cwnd}"
            ),
        );
    }
}

#[test]
fn s4_2_every_second_segment_is_acknowledged_at_once_and_one_alone_after_the_delay() {
    answers(
        "tcp",
        "ack_every = 2\nack_delay = '500 us'",
        "0us   | data 0 |
         10us  | data 1 | ack 2 of 0us
         20us  | data 2 |
         520us | wait   | ack 3 of 20us
         600us | data 3 |
         610us | data 4 | ack 5 of 600us",
    );
}

#[test]
fn s4_2_what_lies_beyond_a_gap_and_what_fills_it_is_acknowledged_at_once() {
    for (recovery, sack, longer) in [("newreno", "", ""), ("sack", "sack 2-2", "sack 2-3")] {
        answers(
            "tcp",
            &format!("recovery = '{recovery}'\nack_every = 8"),
            &format!(
                "0us  | data 0 |
                 10us | data 2 | ack 1 {sack}
                 20us | data 3 | ack 1 {longer}
                 30us | data 1 | ack 4
                 40us | data 1 | ack 4
                 45us | data 3 | ack 4
                 50us | data 4 |"
            ),
        );
    }
}

#[test]
fn s4_3_the_loss_of_a_retransmission_is_a_second_sign_of_congestion() {
    // 0 is lost, and lost again: 20, 21 and 22 were sent after its retransmission and have arrived. The window is halved
    // once more, to 5; with 29 sent and 22 of them SACKed, 6 are in the network until two more have arrived.
    timeline(
        "tcp",
        "initial_window = 20",
        "0us   | message 60         | 0-19
         100us | ack 0 sack 1-3     | 0r    cwnd=10 ssthresh=10
         110us | ack 0 sack 1-19    | 20-28
         200us | ack 0 sack 1-22    |       cwnd=5 ssthresh=5
         201us | ack 0 sack 1-24    | 0r
         300us | ack 29             | 29-33 cwnd=5",
    );
}

#[test]
fn s2_with_nothing_outstanding_an_ack_is_no_duplicate() {
    timeline(
        "tcp",
        "recovery = 'newreno'",
        "0us   | message 2 | 0-1
         100us | ack 2     | cwnd=12
         101us | ack 2     |
         102us | ack 2     |
         103us | ack 2     | cwnd=12",
    );
}

#[test]
fn s4_1_an_idle_time_of_just_the_rto_restarts_nothing() {
    // The last segment left at 200 us; the RTO is rto_min, 20 ms.
    for (at, sent, cwnd) in [("20.2ms", "7-15", 9), ("20.201ms", "7-8", 2)] {
        timeline(
            "tcp",
            "initial_window = 2\nidle_restart = true",
            &format!(
                "0us   | message 7      | 0-1
                 100us | ack 2 of 0us   | 2-5  cwnd=4
                 200us | ack 6 of 100us | 6    cwnd=8
                 300us | ack 7 of 200us |      cwnd=9
                 {at}  | message 20     | {sent} cwnd={cwnd}"
            ),
        );
    }
}
