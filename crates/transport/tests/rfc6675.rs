//! RFC 6675: loss recovery with selective acknowledgements.

mod common;

use common::timeline;

#[test]
fn s4_is_lost_three_segments_or_three_ranges_above_it() {
    timeline(
        "tcp",
        "",
        "0us   | message 30           | 0-9
         100us | ack 0 sack 1-1       |
         101us | ack 0 sack 1-2       |
         102us | ack 0 sack 1-3       | 0r cwnd=5 ssthresh=5",
    );
    // One ACK may tell of all three; and of three ranges.
    timeline("tcp", "", "0us | message 30 | 0-9\n 100us | ack 0 sack 1-3 | 0r cwnd=5");
    timeline("tcp", "", "0us | message 30 | 0-9\n 100us | ack 0 sack 5-5 3-3 1-1 | 0r cwnd=5");
    timeline("tcp", "", "0us | message 30 | 0-9\n 100us | ack 0 sack 3-3 1-1 | cwnd=10");
}

#[test]
fn s5_step_c_what_is_lost_goes_first_and_the_pipe_bounds_it() {
    // 0, 1, 4 and 5 of 20 are lost. With 2, 3, 6-8 SACKed: 20 sent - 5 SACKed - 4 lost = 11 in the network, and 12 with
    // the retransmission of 0, which leaves unconditionally. Each further ACK takes one off, until it is below 10. At
    // 200 us it is 21 from 1 to 21, less 16 SACKed, 3 lost, and 3 sent again: 5.
    timeline(
        "tcp",
        "initial_window = 20",
        "0us   | message 60               | 0-19
         100us | ack 0 sack 6-8 2-3       | 0r cwnd=10
         101us | ack 0 sack 6-9 2-3       |
         102us | ack 0 sack 6-10 2-3      |
         103us | ack 0 sack 6-11 2-3      | 1r
         104us | ack 0 sack 6-12 2-3      | 4r
         105us | ack 0 sack 6-13 2-3      | 5r
         106us | ack 0 sack 6-14 2-3      | 20
         107us | ack 0 sack 6-15 2-3      | 21
         200us | ack 1 sack 6-19 2-3      | 22-26
         201us | ack 20                   | 27-29 cwnd=10",
    );
}

#[test]
fn s4_next_seg_3_what_may_be_lost_is_sent_when_there_is_nothing_new() {
    // 0 is lost, and 2 has one SACKed segment above it only: it is no loss yet, but there is nothing else to send.
    timeline(
        "tcp",
        "initial_window = 5\ncwnd_floor = 4",
        "0us   | message 5             | 0-4
         100us | ack 0 sack 3-4 1-1    | 0r 2r cwnd=4",
    );
}

#[test]
fn s5_step_a_recovery_ends_when_what_was_sent_before_it_is_acknowledged() {
    timeline(
        "tcp",
        "",
        "0us   | message 60      | 0-9
         100us | ack 0 sack 1-3  | 0r cwnd=5
         110us | ack 0 sack 1-9  | 10-13
         200us | ack 10          | 14 cwnd=5
         210us | ack 11          | 15 cwnd=5.2",
    );
}

#[test]
fn s6_each_retransmission_restarts_the_timer_if_asked() {
    for (restart, expected) in [("retransmission", "35ms"), ("ack", "20ms")] {
        timeline(
            "tcp",
            &format!("rto_restart = '{restart}'"),
            &format!(
                "0ms  | message 10     | 0-9
                 15ms | ack 0 sack 1-3 | 0r
                 {expected} | timer    | 0r"
            ),
        );
    }
    // And each ACK of new data does in any case (RFC 6298 5.3).
    timeline(
        "tcp",
        "initial_window = 20",
        "0ms  | message 20     | 0-19
         1ms  | ack 0 sack 4-10 | 0r
         2ms  | ack 1 sack 4-10 | 1r
         7ms  | ack 2 sack 4-10 | 2r
         12ms | ack 3 sack 4-10 | 3r
         32ms | timer          | 3r",
    );
}

#[test]
fn s5_1_after_a_timeout_what_was_sacked_is_not_sent_again() {
    timeline(
        "tcp",
        "initial_window = 6",
        "0ms  | message 60        | 0-5
         1ms  | ack 0 sack 2-3    |
         20ms | timer             | 0r cwnd=1 ssthresh=3
         21ms | ack 1 sack 2-3    | 1r 4r cwnd=2
         22ms | ack 4             | 5r 6 cwnd=3",
    );
}
