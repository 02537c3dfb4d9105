//! RFC 3168: classic ECN.

use super::common;

use common::{answers, timeline};

#[test]
fn s6_1_3_the_receiver_echoes_until_the_sender_says_that_it_has_reacted() {
    answers(
        "tcp",
        "ecn = true",
        "0us | data 0        | ack 1
         1us | data 1 ce     | ack 2 ece
         2us | data 2        | ack 3 ece
         3us | data 3 cwr    | ack 4
         4us | data 4        | ack 5
         5us | data 5 ce     | ack 6 ece
         6us | data 6 cwr ce | ack 7 ece
         7us | data 7        | ack 8 ece
         8us | data 8 cwr    | ack 9",
    );
}

#[test]
fn s6_1_2_the_sender_halves_once_per_window_and_says_so_with_its_next_new_data() {
    for (name, cwnd) in [("tcp", "5"), ("cubic", "7")] {
        timeline(
            name,
            "ecn = true",
            &format!(
                "0us   | message 90 | 0-9
                 100us | ack 1 ece  | cwnd={cwnd} ssthresh={cwnd}
                 101us | ack 2 ece  | cwnd={cwnd}
                 102us | ack 9 ece  | 10+cwr 11-{} cwnd={cwnd}
                 200us | ack 10 ece | cwnd={cwnd} {}",
                if name == "tcp" { "13" } else { "15" },
                if name == "tcp" { "14" } else { "16" },
            ),
        );
    }
}

#[test]
fn the_answer_to_data_has_its_rank() {
    answers(
        "tcppr",
        "ack_every = 2",
        "0us | data 0 rank 1 |
         1us | data 1 rank 0 | ack 2 rank 0
         2us | data 3 rank 2 | ack 2 rank 2 sack 3-3",
    );
}
