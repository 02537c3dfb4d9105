//! Packets that wait for their turn though the window is open, with gaps computed by hand. Segments have 1040 B on the
//! wire.

use super::common;

use common::{Bench, timeline};
use transport::Flags;
use units::{Instant, Span};

#[test]
fn a_gap_is_a_segment_with_its_header_at_the_rate_of_the_window() {
    // Slow start: 2 x 8 segments in a round trip of 1 ms, 133.12 Mbit/s, are 8320 bit every 62.5 us. After the cut 1.2 x 4,
    // 39.936 Mbit/s: 208 1/3 us, rounded up to the picosecond.
    timeline(
        "tcp",
        "initial_window = 4\npacing = 'window'\necn = true",
        "0us            | message 50         | 0-3
         1000us         | ack 4 of 0us       | 4 cwnd=8
         1062.499999us  | wait               |
         1062.5us       | wait               | 5
         1124.999999us  | wait               |
         1125us         | wait               | 6
         1187.5us       | wait               | 7
         1437.5us       | wait               | 8-11
         1500us         | wait               |
         2000us         | ack 12 of 1000us ece | 12+cwr cwnd=4 ssthresh=4
         2208.333333us  | wait               |
         2208.333334us  | wait               | 13
         2416.666667us  | wait               |
         2416.666668us  | wait               | 14",
    );
}

#[test]
fn hull_paces_by_itself() {
    // As above: in slow start 16 segments in a round trip.
    timeline(
        "hull",
        "initial_window = 4\npace = 'always'",
        "0us            | message 50         | 0-3
         1000us         | ack 4 of 0us       | 4 cwnd=8
         1062.499999us  | wait               |
         1062.5us       | wait               | 5",
    );
}

#[test]
fn the_gains_are_parameters_and_slow_start_ends_at_half_of_ssthresh() {
    // Round trips of 1 ms. In slow start 4 x 9 segments in one: a gap of 27.8 us. After a timeout ssthresh is 4.5, so that
    // the window of 2 still has the gain 4, 125 us, and that of 3 has 0.5: 666.7 us.
    timeline(
        "tcp",
        "initial_window = 8\npacing = 'window'\npacing_gain = 0.5\npacing_gain_slow_start = 4",
        "0us       | message 50     | 0-7
         1000us    | ack 1 of 0us   | 8
         1001us    | wait           |
         1027.777us | wait          |
         1027.778us | wait          | 9
         21000us   | timer          | 1r cwnd=1 ssthresh=4.5
         22000us   | ack 2          | 2r cwnd=2
         22124us   | wait           |
         22125us   | wait           | 3r
         23000us   | ack 4          | 4r cwnd=3
         23666.6us | wait           |
         23666.7us | wait           | 5r",
    );
}

#[test]
fn half_a_window_sends_a_segment_in_two_round_trips_also_where_windows_are_not_spaced() {
    timeline(
        "tcp",
        "initial_window = 1\necn = true\ncwnd_floor = 0.5",
        "0us   | message 20           | 0
         100us | ack 1 of 0us ece     | cwnd=0.5 ssthresh=0.5
         199us | wait                 |
         200us | wait                 | 1+cwr
         300us | ack 2 of 200us ece   | cwnd=0.5
         399us | wait                 |
         400us | wait                 | 2+cwr
         450us | wait                 |
         700us | ack 3 of 600us       | 3 cwnd=1.5
         800us | ack 4 of 700us       | 4-5 cwnd=2.1667",
    );
}

#[test]
fn a_timeout_leaves_a_smaller_window_and_its_gap_as_they_are() {
    // RTO: 20 ms from 200 us.
    timeline(
        "tcp",
        "initial_window = 1\necn = true\ncwnd_floor = 0.5",
        "0us      | message 20           | 0
         100us    | ack 1 of 0us ece     | cwnd=0.5
         200us    | wait                 | 1+cwr
         20200us  | timer                | 1r cwnd=0.5 ssthresh=0.5
         20300us  | ack 2                | 2+cwr cwnd=1.5",
    );
}

#[test]
fn a_window_after_a_timeout_is_spaced_too() {
    timeline(
        "tcp",
        "initial_window = 8\npacing = 'window'",
        "0us       | message 50     | 0-7
         1000us    | ack 8 of 0us   | 8
         1500us    | wait           | 9-23
         21000us   | timer          | 8r cwnd=1 ssthresh=8
         22000us   | ack 9          | 9r cwnd=2
         22249us   | wait           |
         22250us   | wait           | 10r
         23000us   | ack 11         | 11r cwnd=3",
    );
}

#[test]
fn what_a_loss_makes_to_be_sent_at_once_does_not_wait_but_what_follows_waits_for_it() {
    // Ten in flight, of which 1 is lost: ssthresh 5. New data follows when the pipe allows it, and 1000 us / (1.2 x 5)
    // after the retransmission.
    for recovery in ["sack", "newreno"] {
        let keys = format!("initial_window = 10\npacing = 'window'\nrecovery = '{recovery}'");
        let mut bench = Bench::new("tcp", &keys);
        bench.message(50_000, None);
        bench.now = Instant::from_micros(1000);
        bench.ack(1, Some(Instant::ZERO), Flags::NONE, &[]);
        bench.now = Instant::from_micros(1010);
        bench.sent();
        (0..2).for_each(|more| bench.ack(1, None, Flags::NONE, &[(2, 3 + more)]));
        assert_eq!(bench.sent(), [], "{recovery}");
        bench.ack(1, None, Flags::NONE, &[(2, 5)]);
        assert_eq!((bench.sent(), bench.ssthresh()), (vec![1], 5.0), "{recovery}");
        (0..4).for_each(|more| bench.ack(1, None, Flags::NONE, &[(2, 6 + more)]));
        assert_eq!(bench.sent(), [], "{recovery}");
        while bench.sent().is_empty() {
            bench.timer();
        }
        assert_eq!(bench.now.as_micros_f64().round(), 1177.0, "{recovery}");
    }
}

#[test]
fn a_gap_longer_than_the_rto_is_no_timeout() {
    // One segment in 100 round trips of 1 ms; the RTO is 20 ms, and nothing is in flight meanwhile.
    let mut bench = Bench::new("dctcp", "initial_window = 1\ncwnd_floor = 0.01");
    bench.message(100_000, None);
    let mut gap = Span::ZERO;
    for segment in 1..20 {
        let sent = bench.now;
        assert_eq!(bench.sent().len(), 1);
        bench.wait(Span::from_millis(1));
        bench.ack(segment, Some(sent), Flags::ECE, &[]);
        while bench.notes.sent.is_empty() {
            bench.timer();
        }
        gap = bench.now.saturating_sub(sent);
    }
    assert_eq!((bench.cwnd(), bench.notes.timeouts), (0.01, 0));
    assert_eq!(gap, Span::from_millis(100));
}
