//! RFC 2018: the ranges in a receiver's selective acknowledgements.

use super::common;

use common::answers;

#[test]
fn s4_the_latest_range_comes_first_and_as_many_others_as_fit() {
    // Three fit. Data that joins two ranges reports the joined one. Repeated data has no new range: the three stay.
    answers(
        "tcp",
        "",
        "0us | data 0 | ack 1
         1us | data 2 | ack 1 sack 2-2
         2us | data 4 | ack 1 sack 4-4 2-2
         3us | data 6 | ack 1 sack 6-6 4-4 2-2
         4us | data 0 | ack 1 sack 6-6 4-4 2-2
         4us | data 8 | ack 1 sack 8-8 6-6 4-4
         5us | data 3 | ack 1 sack 2-4 8-8 6-6
         6us | data 5 | ack 1 sack 2-6 8-8
         7us | data 1 | ack 7 sack 8-8
         8us | data 7 | ack 9",
    );
}

#[test]
fn s4_without_sack_there_are_no_ranges() {
    answers("tcp", "recovery = 'newreno'", "0us | data 0 | ack 1\n 1us | data 2 | ack 1\n 2us | data 1 | ack 3");
}
