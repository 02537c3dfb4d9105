//! RFC 6298: the retransmission timer.

use super::common;

use common::{answers, timeline};

/// A clock without granularity and a minimum that is never in force, unless a test sets them.
const BARE: &str = "rto_initial = '1 s'\nrto_min = '1 us'\nrto_granularity = '1 us'\n";

#[test]
fn s2_1_and_2_2_before_and_after_the_first_sample() {
    timeline("tcp", BARE, "0s | message 1 | 0\n 1s | timer | 0r");
    // SRTT = 100 us, RTTVAR = 50 us, RTO = 100 + 4 x 50.
    timeline(
        "tcp",
        BARE,
        "0us   | message 2    | 0-1
         100us | ack 1 of 0us | srtt=100us
         400us | timer        | 1r",
    );
}

#[test]
fn s2_3_later_samples() {
    // RTTVAR = 3/4 x 50 + 1/4 x 80 = 57.5; SRTT = 7/8 x 100 + 1/8 x 180 = 110; RTO = 340.
    timeline(
        "tcp",
        BARE,
        "0us   | message 3    | 0-2
         100us | ack 1 of 0us | srtt=100us
         180us | ack 2 of 0us | srtt=110us
         520us | timer        | 2r",
    );
}

#[test]
fn s2_3_the_granularity_and_s2_4_the_minimum() {
    // RTTs of 10, 14, 13.5 ms: SRTT = 10.5, then 10.875; RTTVAR = 5, 4.75, 4.3125; 4 of it are 17.25 ms.
    let table = |rto_ms: f64| {
        let at = 13.5 + rto_ms;
        format!(
            "0ms    | message 4    | 0-3
             10ms   | ack 1 of 0ms | srtt=10ms
             13.5ms | ack 2 of 0ms | srtt=10.4375ms
             {at}ms | timer        | 2r"
        )
    };
    // RTTVAR = 3/4 x 5 + 1/4 x 3.5 = 4.625, of which 4 are 18.5 ms.
    let reading = |minimum, granularity, rto_ms| {
        let keys = format!("rto_initial = '1 s'\nrto_min = '{minimum}'\nrto_granularity = '{granularity}'");
        timeline("tcp", &keys, &table(rto_ms));
    };
    reading("20 ms", "1 ms", 10.4375 + 18.5);
    reading("20 ms", "18 ms", 10.4375 + 18.5);
    reading("20 ms", "19 ms", 10.4375 + 19.0);
    reading("50 ms", "1 ms", 50.0);
    // Linux: the minimum is the floor of the variation, and is added to the RTT.
    reading("20 ms", "20 ms", 10.4375 + 20.0);
    reading("50 ms", "50 ms", 10.4375 + 50.0);
}

#[test]
fn s3_karn_what_was_sent_again_gives_no_sample_and_does_not_end_the_back_off() {
    // The retransmission of 0 is acknowledged at 3.1 ms: no sample, so that 1 waits for 4 ms.
    for (reset, timer) in [("sample", "7.1ms"), ("ack", "4.1ms")] {
        timeline(
            "tcp",
            &format!("rto_initial = '1 ms'\nrto_min = '1 ms'\nbackoff_reset = '{reset}'"),
            &format!(
                "0ms   | message 1 | 0
                 1ms   | timer     | 0r
                 3ms   | timer     | 0r
                 3.1ms | ack 1     |
                 3.1ms | message 1 | 1
                 {timer} | timer   | 1r"
            ),
        );
    }
    // A sample of new data ends it: RTO = 1 ms + 4 x 0.5 ms.
    timeline(
        "tcp",
        "rto_initial = '1 ms'\nrto_min = '1 ms'",
        "0ms   | message 1      | 0
         1ms   | timer          | 0r
         1.5ms | ack 1          |
         1.5ms | message 2      | 1-2 cwnd=2
         2.5ms | ack 2 of 1.5ms | srtt=1ms
         5.5ms | timer          | 2r",
    );
}

#[test]
fn s3_and_rfc7323_4_3_an_ack_of_several_returns_the_first_stamp() {
    // Or the time that the first was held back would be missing in the RTT.
    answers(
        "tcp",
        "ack_every = 3",
        "0us  | data 0 |
         10us | data 1 |
         20us | data 2 | ack 3 of 0us
         30us | data 3 |
         40us | data 4 |
         50us | data 5 | ack 6 of 30us",
    );
}

#[test]
fn s5_1_sending_starts_a_timer_that_does_not_run_and_leaves_one_that_does() {
    timeline(
        "tcp",
        "rto_initial = '20 ms'",
        "0ms  | message 1 | 0
         10ms | message 1 | 1
         20ms | timer     | 0r",
    );
}

#[test]
fn s5_2_with_everything_acknowledged_no_timer_runs() {
    timeline(
        "tcp",
        BARE,
        "0us   | message 2    | 0-1
         100us | ack 2 of 0us |
         100s  | wait         |",
    );
}

#[test]
fn s5_3_new_data_restarts_the_timer_and_duplicates_do_not() {
    timeline(
        "tcp",
        "rto_initial = '20 ms'\nrecovery = 'newreno'",
        "0ms  | message 10 | 0-9
         5ms  | ack 1      |
         10ms | ack 1      |
         11ms | ack 1      |
         25ms | timer      | 1r",
    );
}

#[test]
fn s5_4_to_5_6_the_earliest_segment_is_sent_again_and_the_rto_doubles() {
    timeline(
        "tcp",
        "rto_initial = '20 ms'\nrto_max = '100 ms'",
        "0ms   | message 10 | 0-9
         20ms  | timer      | 0r
         60ms  | timer      | 0r
         140ms | timer      | 0r
         240ms | timer      | 0r
         340ms | timer      | 0r",
    );
}
