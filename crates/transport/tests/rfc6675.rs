//! RFC 6675: loss recovery with selective acknowledgements.

use super::common;

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
    // One ACK may report all three; and three ranges.
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

/// 4 and 19 of 20 are lost. Half of the 16 in flight may be, and at 110 us two are: 19, and 4 again.
const HOLE_AND_END: &str = "0us   | message 20          | 0-19
     90us  | ack 4               |
     100us | ack 4 sack 5-7      | 4r cwnd=8
     110us | ack 4 sack 5-18     |
";

#[test]
fn s4_next_seg_4_the_end_of_the_window_is_sent_again_once_when_nothing_else_may_be() {
    // Not before more than the first retransmission is acknowledged (5, step 4.3), and once: then the timer, as it was
    // restarted by the rescue.
    timeline(
        "tcp",
        "initial_window = 20\nrescue = true",
        &format!(
            "{HOLE_AND_END}
             200us   | ack 19      | 19r cwnd=8
             20200us | timer       | 19r"
        ),
    );
    timeline(
        "tcp",
        "initial_window = 20",
        &format!(
            "{HOLE_AND_END}
             200us   | ack 19      |
             20200us | timer       | 19r"
        ),
    );
    // Unsent data is sent first (rule 2), and then the highest that is not SACKed. Its SACK shows 19 (rule 3).
    timeline(
        "tcp",
        "initial_window = 20\nrescue = true",
        &format!(
            "{HOLE_AND_END}
             120us | message 1     | 20
             200us | ack 19        | 20r
             201us | ack 19 sack 20-20 | 19r"
        ),
    );
}

#[test]
fn s4_next_seg_4_what_a_rescue_brings_shows_the_rest_of_the_end() {
    // 18 is missing too. The rescue is SACKed, 18 is below it (rule 3), and no second rescue follows.
    timeline(
        "tcp",
        "initial_window = 20\nrescue = true",
        "0us   | message 20          | 0-19
         90us  | ack 4               |
         100us | ack 4 sack 5-7      | 4r
         110us | ack 4 sack 5-17     |
         200us | ack 18              | 19r
         300us | ack 18 sack 19-19   | 18r
         301us | ack 18 sack 19-19   |
         400us | ack 20              |",
    );
}

#[test]
fn s4_next_seg_4_each_recovery_has_its_rescue() {
    timeline(
        "tcp",
        "initial_window = 20\nrescue = true",
        &format!(
            "{HOLE_AND_END}
             200us | ack 19            | 19r
             300us | ack 20            |
             400us | message 10        | 20-27
             490us | ack 21            | 28
             500us | ack 21 sack 22-24 | 21r cwnd=4
             501us | ack 21 sack 22-26 | 29
             600us | ack 27            | 29r"
        ),
    );
}

#[test]
fn s4_next_seg_4_the_rescue_ends_where_nothing_but_sacked_data_follows() {
    // 9 was sent again already, and is all that is missing: the rule asks for no more than that it is not SACKed.
    timeline(
        "tcp",
        "initial_window = 20\nrescue = true",
        "0us   | message 20            | 0-19
         90us  | ack 4                 |
         100us | ack 4 sack 10-19 5-8  | 4r 9r
         200us | ack 9 sack 10-19      | 9r
         201us | ack 20                |",
    );
    // With 19 lost too, its rescue is the last segment, above all SACKed data.
    timeline(
        "tcp",
        "initial_window = 20\nrescue = true",
        "0us   | message 20            | 0-19
         90us  | ack 4                 |
         100us | ack 4 sack 10-18 5-8  | 4r 9r
         200us | ack 9 sack 10-18      | 19r
         201us | ack 20                |",
    );
    // RFC 8985's probe has that part.
    timeline(
        "tcp",
        "initial_window = 20\nloss_detection = 'rack'\nrescue = true",
        "0us   | message 20            | 0-19
         90us  | ack 4 of 0us          |
         100us | ack 4 sack 10-19 5-8  | 4r 9r
         200us | ack 9 sack 10-19      |",
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

#[test]
fn s5_1_what_was_sent_again_before_a_timeout_is_not_found_lost_again_after_it() {
    // 0 and 10 are lost, are sent again, and are lost again: a timeout. 20 to 22, which are sent after it, have arrived
    // before 10 has, and say nothing that the timeout has not said.
    timeline(
        "tcp",
        "initial_window = 20",
        "0ms  | message 20             | 0-19
         1ms  | ack 0 sack 11-13 1-9   | 0r 10r cwnd=10 ssthresh=10
         21ms | timer                  | 0r cwnd=1 ssthresh=5
         22ms | message 40             |
         23ms | ack 10 sack 11-13      | 10r 14r cwnd=2
         24ms | ack 10 sack 11-14      | 15r
         25ms | ack 10 sack 11-19      | 20
         26ms | ack 10 sack 11-20      | 21
         27ms | ack 10 sack 11-21      | 22
         28ms | ack 10 sack 11-22      | 23 cwnd=2 ssthresh=5",
    );
}

#[test]
fn s5_what_was_sent_again_and_lost_again_is_found_or_waits_for_the_timeout() {
    // 0 is lost, is sent again as 9 is the last that was sent, and is lost again. The third SACK above that, of 12,
    // shows it: a second loss (RFC 5681 4.3), cwnd 2.5. Then 3 are in the network, and 0 is sent once no more than one
    // is.
    let until = "0us   | message 60     | 0-9
         100us | ack 0 sack 1-3  | 0r cwnd=5 ssthresh=5
         110us | ack 0 sack 1-9  | 10-13
         200us | ack 0 sack 1-10 | 14
         201us | ack 0 sack 1-11 | 15";
    let found = "202us | ack 0 sack 1-12 | cwnd=2.5
         203us | ack 0 sack 1-13 |
         204us | ack 0 sack 1-14 | 0r";
    timeline("tcp", "", &format!("{until}\n{found}"));
    // Otherwise new data follows, and 0 when the timer runs out that it restarted when it was sent again.
    let waits = "202us | ack 0 sack 1-12 | 16 cwnd=5
         203us | ack 0 sack 1-13 | 17
         204us | ack 0 sack 1-14 | 18
         20100us | timer         | 0r cwnd=1";
    timeline("tcp", "lost_retransmissions = 'timeout'", &format!("{until}\n{waits}"));
}

#[test]
fn s2_without_something_new_in_its_blocks_an_ack_is_no_duplicate() {
    timeline(
        "tcp",
        "",
        "0us   | message 30     | 0-9
         100us | ack 0 sack 5-5 |
         101us | ack 0 sack 5-5 |
         102us | ack 0 sack 5-5 |
         103us | ack 0          |
         104us | ack 0          | cwnd=10",
    );
}

#[test]
fn s5_step_c_new_data_goes_as_far_as_the_receivers_buffer() {
    // cwnd is 5 and one segment in flight; 13 would not fit beside the hole at 0.
    timeline(
        "tcp",
        "window_limit = '13 packets'",
        "0us   | message 60      | 0-9
         100us | ack 0 sack 1-3  | 0r cwnd=5
         110us | ack 0 sack 1-9  | 10-12
         200us | ack 10          | 13-14",
    );
}

#[test]
fn s5_step_c_several_that_are_lost_go_at_once_as_far_as_the_window_allows() {
    // One in flight with the retransmission of 0; with 1 to 3 again and six new ones ten.
    timeline(
        "tcp",
        "initial_window = 20",
        "0us   | message 60      | 0-19
         100us | ack 0 sack 4-19 | 0-3r 20-25 cwnd=10",
    );
}
