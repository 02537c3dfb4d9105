//! RFC 9438: CUBIC. The timer stays out of these: its first value is an hour.

use super::common;

use common::timeline;

fn cubic(keys: &str, table: &str) {
    timeline("cubic", &format!("rto_initial = '3600 s'\nrto_max = '3600 s'\n{keys}"), table);
}

/// Ten are in flight and the first is lost: W_max is 10, the window 7.
const LOSS: &str = "0us   | message 9000   | 0-9
                    100us | ack 0 sack 1-3 | 0r cwnd=7 ssthresh=7
                    110us | ack 0 sack 1-9 | 10-15\n";

#[test]
fn s4_6_the_window_falls_to_beta() {
    cubic("", LOSS);
    cubic("beta = 0.5", "0us | message 90 | 0-9\n 100us | ack 0 sack 1-3 | 0r cwnd=5 ssthresh=5");
}

#[test]
fn s4_2_growth_is_concave_towards_w_max_and_convex_beyond_it() {
    // K = cbrt(3 / 0.4) = 1.957 s from the first ACK after the recovery. One second later the curve is at
    // 10 + 0.4 x (1 - 1.957)^3 = 9.649: the ACK adds (9.649 - 7)/7. At 1.957 s it is at 10, at 3.957 s at 13.2.
    cubic(
        "reno_friendly = false",
        &format!(
            "{LOSS}
             200us  | ack 10 | 16    cwnd=7
             300us  | ack 11 | 17    cwnd=7.00
             1.0003s | ack 12 | 18   cwnd=7.38
             1.9573s | ack 13 | 19   cwnd=7.73
             3.9573s | ack 14 | 20-21 cwnd=8.23"
        ),
    );
}

#[test]
fn s4_2_the_target_is_where_the_curve_will_be_a_round_trip_later() {
    // The round trip takes a second. At the first ACK the target is 10 + 0.4 x (1 - 1.957)^3 = 9.649 already. In whole
    // segments it is 10, which is 3 above 7, so that every second segment adds one.
    let table = |after: &str| {
        format!(
            "0us      | message 9000   | 0-9
             1s       | ack 0 sack 1-3 | 0r cwnd=7
             1.00001s | ack 0 sack 1-9 | 10-15
             2s       | ack 10         | 16 cwnd=7
             {after}"
        )
    };
    let keys = "reno_friendly = false";
    cubic(keys, &table("2.00001s | ack 11 of 1.00001s | 17 cwnd=7.378 srtt=1s"));
    let whole = "2.00001s | ack 11 of 1.00001s | 17 cwnd=7 srtt=1s
         2.00002s | ack 12 | 18-19 cwnd=8";
    cubic(&format!("{keys}\narithmetic = 'whole-segments'"), &table(whole));
}

#[test]
fn s4_2_the_target_is_at_most_one_and_a_half_windows() {
    // A thousand seconds later the curve is far away; an ACK adds half a segment: (1.5 x 7 - 7)/7.
    cubic(
        "reno_friendly = false",
        &format!(
            "{LOSS}
             200us | ack 10 | 16 cwnd=7
             300us | ack 11 | 17 cwnd=7.00
             1000s | ack 12 | 18 cwnd=7.50
             1000s | ack 13 | 19-20 cwnd=8.00"
        ),
    );
}

#[test]
fn s4_3_in_the_reno_friendly_region_growth_is_renos() {
    // alpha = 3 x 0.3/1.7 = 0.5294 per window: W_est = 7 + 0.5294/7 = 7.0756, then 0.5294/7.0756 more, where the
    // cubic has not moved within microseconds.
    cubic(
        "",
        &format!(
            "{LOSS}
             200us | ack 10 | 16 cwnd=7
             201us | ack 11 | 17 cwnd=7.0756
             202us | ack 12 | 18 cwnd=7.1505
             203us | ack 13 | 19 cwnd=7.2245"
        ),
    );
    // An ACK of two segments counts for both.
    cubic("", &format!("{LOSS} 200us | ack 10 | 16 cwnd=7\n 201us | ack 12 | 17-18 cwnd=7.1513"));
    cubic(
        "reno_friendly = false",
        &format!(
            "{LOSS}
             200us | ack 10 | 16 cwnd=7
             201us | ack 11 | 17 cwnd=7.0000
             202us | ack 12 | 18 cwnd=7.0000"
        ),
    );
}

#[test]
fn s4_3_alpha_is_one_from_where_the_loss_happened_and_not_from_the_lowered_maximum() {
    // The second loss at 7 < 10: fast convergence lowers W_max to 5.95, cwnd_prior is 7. W_est grows from 4.9 by 0.5294
    // per window until it is at 7, then by a whole segment. Or it still grows by 0.5294 (RFC 8312, Linux), that is
    // 0.5294 x 7/7.028 = 0.527.
    for (alpha, sent, cwnd) in [("rises", "47-54", "8.024"), ("constant", "47-53", "7.556")] {
        cubic(
            &format!("reno_alpha = '{alpha}'"),
            &format!(
                "{LOSS}
                 200us | ack 10            | 16
                 210us | ack 10 sack 11-13 | 10r   cwnd=4.9
                 220us | ack 17            | 17-20
                 230us | ack 18            | 21-22 cwnd=5.008
                 240us | ack 23            | 23-27 cwnd=5.537
                 250us | ack 28            | 28-33 cwnd=6.015
                 260us | ack 34            | 34-39 cwnd=6.543
                 270us | ack 40            | 40-46 cwnd=7.028
                 280us | ack 47            | {sent} cwnd={cwnd}"
            ),
        );
    }
}

#[test]
fn s4_7_a_falling_maximum_is_lowered_further() {
    // The second loss at 7 < 10: W_max = 7 x 1.7/2 = 5.95; the window falls to 4.9 and K = cbrt(1.05/0.4) = 1.380 s. At
    // 1 s the curve is at 5.95 + 0.4 x (1 - 1.380)^3 = 5.928; without fast convergence it is at 7 - 0.4 x 0.738^3 = 6.839.
    for (fast_convergence, cwnd) in [("true", "5.11"), ("false", "5.30")] {
        cubic(
            &format!("reno_friendly = false\nfast_convergence = {fast_convergence}"),
            &format!(
                "{LOSS}
                 200us   | ack 10            | 16
                 210us   | ack 10 sack 11-13 | 10r cwnd=4.9
                 220us   | ack 17            | 17-20
                 230us   | ack 18            | 21  cwnd=4.90
                 1.0002s | ack 19            | 22-23 cwnd={cwnd}"
            ),
        );
    }
}

#[test]
fn s4_8_after_a_timeout_the_next_plateau_is_where_slow_start_ended() {
    timeline(
        "cubic",
        "initial_window = 10\nreno_friendly = false",
        "0ms  | message 900 | 0-9
         20ms | timer       | 0r cwnd=1 ssthresh=7
         21ms | ack 10      | 10-11 cwnd=2
         22ms | ack 11      | 12-13
         22ms | ack 12      | 14-15
         23ms | ack 13      | 16-17
         23ms | ack 14      | 18-19
         23ms | ack 15      | 20-21 cwnd=7
         24ms | ack 16      | 22    cwnd=7.00
         34ms | ack 17      | 23    cwnd=7.00
         44ms | ack 18      | 24    cwnd=7.00",
    );
}

#[test]
fn s4_7_a_maximum_that_does_not_fall_is_kept() {
    // The receiver's buffer keeps the window at ten, where both losses find it. A third of a second after the second one,
    // K = cbrt(3 / 100) = 0.31072 s, the target is ten again: 7 + 3 / 7.
    cubic(
        "reno_friendly = false\nc = 100\nwindow_limit = '10 packets'",
        "0s       | message 99     | 0-9
         0.1s     | ack 0 sack 1-3 | 0r cwnd=7
         0.2s     | ack 10         | 10-16 cwnd=7
         2s       | ack 17         | 17-23 cwnd=7
         3s       | ack 24         | 24-33 cwnd=10
         3.1s     | ack 24 sack 25-27 | 24r cwnd=7
         4s       | ack 34         | 34-40 cwnd=7
         4.1s     | ack 35         | 41    cwnd=7
         4.41072s | ack 36         | 42    cwnd=7.43",
    );
}

/// Linux: 0.7 x 11 is 7.7, and 7 whole segments. K is cbrt(4 / 0.4) = 2.154 s, and the curve 4 - 0.4 x 2.154^3 below 11
/// at first. Without the fraction of a segment it is 3 below, so that the target is 8, one more than there are: 7
/// segments add it. Then Reno's window counts. It is 8 after more than 13 segments (7 x 15/8) or 15 (8 x 15/8), and 9
/// after 15 more, which add one at once.
#[test]
fn linux_adds_whole_segments_and_rounds_down_at_a_loss() {
    let table = |after: &str| {
        format!(
            "0us   | message 9000    | 0-10
             100us | ack 0 sack 1-3  | 0r {after}"
        )
    };
    let exact = "cwnd=7.7
         110us | ack 0 sack 1-10 | 11-16
         200us | ack 11          | 17 cwnd=7.7
         201us | ack 12          | 18 cwnd=7.77
         202us | ack 13          | 19 cwnd=7.84";
    let whole = "cwnd=7
         110us | ack 0 sack 1-10 | 11-16
         200us | ack 11          | 17 cwnd=7
         201us | ack 14          | 18-20 cwnd=7
         202us | ack 17          | 21-23 cwnd=7
         203us | ack 18          | 24-25 cwnd=8
         204us | ack 24          | 26-31 cwnd=8
         205us | ack 25          | 32 cwnd=8
         206us | ack 31          | 33-38 cwnd=8
         207us | ack 33          | 39-40 cwnd=8
         208us | ack 41          | 41-48 cwnd=8";
    let grown = "209us | ack 42          | 49-50 cwnd=9";
    // A loss at 8: 5.6 is 5, and W_max 6.8 is 6. The count before is reset: 5 segments add the sixth.
    let cut = "209us | ack 41 sack 42-44 | 41r cwnd=5
         210us | ack 41 sack 42-48 | 49-52
         300us | ack 49          | 53 cwnd=5
         301us | ack 50          | 54 cwnd=5
         302us | ack 51          | 55 cwnd=5
         303us | ack 53          | 56-57 cwnd=5
         304us | ack 54          | 58-59 cwnd=6";
    cubic("initial_window = 11\nreno_alpha = 'constant'", &table(exact));
    for then in [grown, cut] {
        let keys = "initial_window = 11\nreno_alpha = 'constant'\narithmetic = 'whole-segments'";
        cubic(keys, &table(&format!("{whole}\n{then}")));
    }
}
