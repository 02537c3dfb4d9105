//! RFC 6582: recovery by NewReno.

use super::common;

use common::{Bench, timeline};
use transport::Flags;

#[test]
fn s3_2_partial_acks_repair_one_segment_each_and_the_full_one_deflates() {
    // 0 and 2 of 10 are lost: eight duplicates, and the window is 5 + 3 + 5 after them. The partial ACK of two segments
    // takes 2 - 1 off, so that it is 12 with 11 in flight. Four more duplicates let one out each, until everything up
    // to 13 is acknowledged, beyond `recover`, and the window is 5 again.
    timeline(
        "tcp",
        "recovery = 'newreno'",
        "0us   | message 60 | 0-9
         100us | ack 0      |
         101us | ack 0      |
         102us | ack 0      | 0r ssthresh=5
         103us | ack 0      |
         104us | ack 0      |
         105us | ack 0      | 10
         106us | ack 0      | 11
         107us | ack 0      | 12
         200us | ack 2      | 2r 13
         205us | ack 2      | 14
         206us | ack 2      | 15
         207us | ack 2      | 16
         300us | ack 13     | 17 cwnd=5 ssthresh=5",
    );
}

#[test]
fn s3_2_the_timer_is_restarted_by_the_fast_retransmit_and_by_the_first_partial_ack() {
    for (restart, expected) in [("retransmission", "25ms"), ("ack", "25ms")] {
        timeline(
            "tcp",
            &format!("recovery = 'newreno'\ninitial_window = 20\nrto_restart = '{restart}'"),
            &format!(
                "0ms  | message 20 | 0-19
                 1ms  | ack 0      |
                 1ms  | ack 0      |
                 1ms  | ack 0      | 0r
                 5ms  | ack 1      | 1r
                 10ms | ack 2      | 2r
                 15ms | ack 3      | 3r
                 {expected} | timer | 3r"
            ),
        );
    }
    // RFC 6298 5.3 alone: 20 ms after it was started; restarted with the retransmission: 20 ms after that.
    for (restart, expected) in [("retransmission", "35ms"), ("ack", "20ms")] {
        timeline(
            "tcp",
            &format!("recovery = 'newreno'\nrto_restart = '{restart}'"),
            &format!(
                "0ms  | message 10 | 0-9
                 15ms | ack 0      |
                 15ms | ack 0      |
                 15ms | ack 0      | 0r
                 {expected} | timer | 0r"
            ),
        );
    }
}

#[test]
fn s3_2_step_2_duplicates_below_recover_begin_no_second_recovery() {
    // After the timeout all eight are sent again; the duplicates that this causes are no sign of a loss. The duplicates
    // of later segments do: four are in flight, so that the window is 2 and 3 for the duplicates.
    timeline(
        "tcp",
        "recovery = 'newreno'\ninitial_window = 8",
        "0ms  | message 90 | 0-7
         20ms | timer      | 0r ssthresh=4
         21ms | ack 1      | 1-2r
         21ms | ack 8      | 8-10 cwnd=3
         22ms | ack 8      |
         22ms | ack 8      |
         22ms | ack 8      | ssthresh=4
         23ms | ack 9      | 11-12 cwnd=4
         24ms | ack 10     | 13
         25ms | ack 10     |
         25ms | ack 10     |
         25ms | ack 10     | 10r 14 ssthresh=2",
    );
}

#[test]
fn rfc3042_the_first_two_duplicates_let_new_data_out_if_asked() {
    timeline(
        "tcp",
        "recovery = 'newreno'\nlimited_transmit = true",
        "0us   | message 30 | 0-9
         100us | ack 0      | 10
         101us | ack 0      | 11
         102us | ack 0      | 0r ssthresh=5",
    );
}

#[test]
fn s3_2_step_2_an_ack_of_just_recover_is_not_more_than_it() {
    timeline(
        "tcp",
        "recovery = 'newreno'",
        "0us   | message 60 | 0-9
         100us | ack 0      |
         101us | ack 0      |
         102us | ack 0      | 0r ssthresh=5
         200us | ack 10     | 10-14 cwnd=5
         201us | ack 10     |
         202us | ack 10     |
         203us | ack 10     | ssthresh=5
         300us | ack 11     | 15 cwnd=5.2
         301us | ack 11     |
         302us | ack 11     |
         303us | ack 11     | 11r ssthresh=2.5",
    );
}

#[test]
fn s3_2_step_2_it_holds_for_what_was_new_when_the_repair_of_a_timeout_ended() {
    // 10 is beyond the data sent before the timeout (8). The duplicates may be caused by retransmissions.
    timeline(
        "tcp",
        "recovery = 'newreno'\ninitial_window = 8",
        "0ms  | message 90 | 0-7
         20ms | timer      | 0r cwnd=1 ssthresh=4
         21ms | ack 1      | 1-2r
         22ms | ack 3      | 3-5r
         23ms | ack 6      | 6-7r 8-9 cwnd=4
         24ms | ack 10     | 10-13 cwnd=4.25
         25ms | ack 10     |
         25ms | ack 10     |
         25ms | ack 10     | cwnd=4.25 ssthresh=4
         26ms | ack 11     | 14 cwnd=4.49
         27ms | ack 11     |
         27ms | ack 11     |
         27ms | ack 11     | 11r 15 ssthresh=2",
    );
    // With SACK nothing of the kind: the blocks show a loss.
    timeline(
        "tcp",
        "initial_window = 8",
        "0ms  | message 90      | 0-7
         20ms | timer           | 0r cwnd=1 ssthresh=4
         21ms | ack 1           | 1-2r
         22ms | ack 3           | 3-5r
         23ms | ack 6           | 6-7r 8-9 cwnd=4
         24ms | ack 10          | 10-13 cwnd=4.25
         25ms | ack 10 sack 11-13 | 10r 14 ssthresh=2",
    );
}

#[test]
fn s3_2_step_2_of_one_segment_sent_again_there_can_be_no_duplicates() {
    // Half a segment is lost; the retransmission contains half a segment of new data. So the ACK covers more than
    // `recover`, and a duplicate after it is a loss.
    let mut bench = Bench::new("tcp", "recovery = 'newreno'\ninitial_window = 1\ndup_ack_threshold = 1");
    bench.message(500, None);
    bench.message(50_000, None);
    bench.timer();
    assert_eq!(bench.sent(), [0, 0]);
    bench.ack(1, None, Flags::NONE, &[]);
    assert_eq!(bench.sent(), [1, 2]);
    bench.ack(1, None, Flags::NONE, &[]);
    assert_eq!(bench.sent().first(), Some(&1));
}

#[test]
fn s3_2_the_full_ack_restarts_the_timer() {
    timeline(
        "tcp",
        "recovery = 'newreno'",
        "0ms  | message 60 | 0-9
         1ms  | ack 0      |
         1ms  | ack 0      |
         1ms  | ack 0      | 0r
         1ms  | ack 0      |
         1ms  | ack 0      |
         1ms  | ack 0      | 10
         1ms  | ack 0      | 11
         1ms  | ack 0      | 12
         5ms  | ack 10     | 13-14
         25ms | timer      | 10r",
    );
}
