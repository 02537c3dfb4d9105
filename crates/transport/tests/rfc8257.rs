//! RFC 8257: DCTCP. When marks cut beside losses is in `marks.rs`.

mod common;

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
        timeline(
            "dctcp",
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

#[test]
fn rfc3168_6_1_5_packets_that_are_sent_again_can_be_marked() {
    // Unlike classic ECN's: RFC 8257 leaves no packet of a DCTCP connection to a queue that drops what cannot be marked.
    for (name, keys, ect) in [("dctcp", "", true), ("tcp", "ecn = true", false)] {
        let mut bench = common::Bench::new(name, keys);
        bench.message(10_000, None);
        bench.timer();
        let (packet, _) = bench.notes.sent.last().unwrap();
        assert!(packet.flags.has(transport::Flags::AGAIN));
        assert_eq!(packet.flags.has(transport::Flags::ECT), ect, "{name}");
    }
}
