//! RFC 8257: DCTCP. When marks cut beside losses is in `marks.rs`.

use super::common;

use common::{answers, timeline};

#[test]
fn s3_2_the_receiver_echoes_every_mark_and_answers_what_is_held_back_when_it_changes() {
    answers(
        "dctcp",
        "ack_every = 2\nack_delay = '100 us'",
        "0us   | data 0    |
         1us   | data 1    | ack 2
         2us   | data 2    |
         3us   | data 3 ce | ack 3
         4us   | data 4 ce | ack 5 ece
         5us   | data 5 ce |
         6us   | data 6    | ack 6 ece
         7us   | data 7    | ack 8
         8us   | data 8 ce |
         108us | wait      | ack 9 ece",
    );
}

#[test]
fn s3_3_alpha_moves_once_per_window_by_the_share_of_marked_bytes() {
    // The first ACK ends the first window. The second has 4 segments, sent by then, and ends with the ACK of the fifth:
    // one of its four ACKs carries an echo: 1/16 of 1/4. The third has none in the segments up to 10.
    timeline(
        "dctcp",
        "initial_alpha = 0\ninitial_window = 4",
        "0us   | message 90 | 0-3
         100us | ack 1      | 4-5  alpha=0 cwnd=5
         101us | ack 2      | 6-7  cwnd=6
         102us | ack 3 ece  | 8+cwr alpha=0 cwnd=6 ssthresh=6
         103us | ack 4      | 9    alpha=0
         104us | ack 5      | 10   alpha=0.015625
         200us | ack 9      | 11-14
         201us | ack 10     | 15-16 alpha=0.015625
         202us | ack 11     | 17    alpha=0.014648",
    );
}

#[test]
fn s3_3_the_first_echo_cuts_by_half_of_alpha_and_the_rest_of_its_window_does_not() {
    timeline(
        "dctcp",
        "initial_alpha = 1\ninitial_window = 10",
        "0us   | message 90 | 0-9
         100us | ack 1 ece  | cwnd=5 ssthresh=5 alpha=1
         101us | ack 2 ece  | cwnd=5
         102us | ack 10 ece | 10+cwr 11-14 cwnd=5
         200us | ack 11 ece | cwnd=2.5 alpha=1",
    );
}

#[test]
fn s3_5_a_loss_halves_and_leaves_alpha() {
    timeline(
        "dctcp",
        "initial_alpha = 0.25",
        "0us   | message 90     | 0-9
         100us | ack 0 sack 1-3 | 0r cwnd=5 ssthresh=5 alpha=0.25",
    );
}

#[test]
fn marks_beyond_a_gap_count_for_alpha() {
    // Linux's delivered and delivered_ce: 0 is lost, the seven behind it are marked, its retransmission is not.
    // 7/8 of 1/16.
    for (recovery, sack) in [("sack", ["sack 1-1", "sack 1-2", "sack 1-3", "sack 1-7"]), ("newreno", [""; 4])] {
        let more = if recovery == "sack" { 1 } else { 4 };
        let last = format!("104us | ack 0 ece {} |\n", sack[3]).repeat(more);
        for name in ["dctcp", "d2tcp", "xdctcp"] {
            timeline(
                name,
                &format!("recovery = '{recovery}'\ninitial_alpha = 0\ninitial_window = 8"),
                &format!(
                    "0us   | message 8         | 0-7
                 101us | ack 0 ece {} | cwnd=8
                 102us | ack 0 ece {} |
                 103us | ack 0 ece {} | 0r cwnd=4
                 {last}
                 200us | ack 8             | cwnd=4 alpha=0.0546875",
                    sack[0], sack[1], sack[2]
                ),
            );
        }
    }
}

#[test]
fn rfc3168_6_1_5_packets_that_are_sent_again_can_be_marked() {
    // Unlike classic ECN's: RFC 8257 leaves no packet of a DCTCP connection to a queue that drops packets that cannot
    // be marked.
    for (name, keys, ect) in [("dctcp", "", true), ("tcp", "ecn = true", false)] {
        let mut bench = common::Bench::new(name, keys);
        bench.message(10_000, None);
        bench.timer();
        let (packet, _) = bench.notes.sent.last().unwrap();
        assert!(packet.flags.has(transport::Flags::AGAIN));
        assert_eq!(packet.flags.has(transport::Flags::ECT), ect, "{name}");
    }
}

#[test]
fn without_sack_each_byte_beyond_a_gap_counts_once() {
    // With g = 1 alpha is the share of the last observation window. 0 and 5 of ten are lost.
    let two_lost = |then: &str| {
        let begin = "0us   | message 40 | 0-9
                     100us | ack 0      |
                     101us | ack 0      |
                     102us | ack 0      | 0r
                     103us | ack 0      |
                     104us | ack 0      |
                     105us | ack 0      | 10
                     106us | ack 0      | 11
                     107us | ack 0      | 12
                     200us | ack 5      | 5r 13 alpha=0";
        timeline("dctcp", "recovery = 'newreno'\ninitial_alpha = 0\ng = 1", &format!("{begin}\n{then}"));
    };
    // The data of the eight duplicates is not counted again by the partial ACK (5) nor by the full one (13). Of five
    // segments that are news in the second window, the three of 10 to 12 were marked.
    two_lost(
        "201us | ack 5 ece  | 14
         202us | ack 5 ece  | 15
         203us | ack 5 ece  | 16
         300us | ack 13     | 17 alpha=0
         301us | ack 14     | 18 alpha=0.6",
    );
    // The full ACK follows the partial one at once: of the eight that it covers four (6 to 9) were counted, so four of
    // five were marked.
    two_lost(
        "300us | ack 13 ece | 14+cwr 15-17 alpha=0
         301us | ack 14     | 18 alpha=0.8",
    );
    // There can be more duplicates than segments beyond the gap: three of four.
    timeline(
        "dctcp",
        "recovery = 'newreno'\ninitial_alpha = 0\ng = 1",
        "0us   | message 5 | 0-4
         100us | ack 1     | alpha=0
         101us | ack 1 ece |
         102us | ack 1 ece |
         103us | ack 1 ece | 1r
         104us | ack 1 ece |
         105us | ack 1 ece |
         200us | ack 5     | alpha=0
         201us | message 1 | 5
         300us | ack 6     | alpha=0.6",
    );
}

#[test]
fn s3_5_a_loss_answers_the_marks_of_its_window_also_where_the_cut_waits_for_the_windows_end() {
    // The mark of 1 asks for a cut at 20, the end of the window; the loss of 2 halves the window first: 21/2.
    timeline(
        "dctcp",
        "initial_window = 20\ncut_at = 'window-end'",
        "0us   | message 90     | 0-19
         100us | ack 1          | 20-21 cwnd=21
         101us | ack 2 ece      | 22    cwnd=21
         102us | ack 2 sack 3-5 | 2r    cwnd=10.5
         200us | ack 23         | 23-32 cwnd=10.5",
    );
    // Without the loss it is cut: one of 22 segments was marked, alpha is (15/16)^2 + 1/16 x 1/22 = 0.8817.
    timeline(
        "dctcp",
        "initial_window = 20\ncut_at = 'window-end'",
        "0us   | message 90     | 0-19
         100us | ack 1          | 20-21 cwnd=21
         101us | ack 2 ece      | 22    cwnd=21
         200us | ack 23         | 23+cwr 24-33 cwnd=11.74",
    );
}

#[test]
fn growth_per_window_begins_where_slow_start_ends() {
    timeline(
        "dctcp",
        "initial_window = 8\ngrowth_steps = 'per-window'",
        "0ms  | message 50 | 0-7
         20ms | timer      | 0r    cwnd=1 ssthresh=4
         21ms | ack 8      | 8-9   cwnd=2
         22ms | ack 9      | 10-11 cwnd=3
         23ms | ack 10     | 12-13 cwnd=4
         24ms | ack 11     | 14    cwnd=4
         25ms | ack 12     | 15    cwnd=4
         26ms | ack 13     | 16    cwnd=4
         27ms | ack 14     | 17-18 cwnd=5",
    );
}
