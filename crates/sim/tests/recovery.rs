//! Loss recovery over a path whose round trip is longer than the minimum RTO.

use super::common;

use common::run;
use sim::Outcome;

/// Runs one endless flow for 60 s over 50 Mbit/s with a round trip of 100 ms and a buffer of 100 packets.
fn long_path(transport: &str) -> Outcome {
    let text = format!(
        "[run]\nduration = '60 s'\n[network]\ntopology = 'star'\nhosts = 2\nrate = '1 Gbps'\n\
         bottleneck = '50 Mbps'\ndelay = '25 ms'\nbuffer = '100 packets'\nsharing = 'per-port'\n\
         [transport]\n{transport}\n[[traffic]]\nname = 'x'\npattern = 'long'\nfrom = 0\nto = 1\n"
    );
    run(&text)
}

#[test]
fn recovery_is_repaired_without_a_timeout_though_a_round_trip_takes_longer_than_the_least_rto() {
    // Of 50 Mbit/s 1460/1500 are payload: 48.67. CUBIC's window falls from 417 + 100 segments, which is the path and
    // its buffer, to 0.7 of that, 87 % of the path. It is back at 100 % within half of the time to the next loss, since
    // it grows in a concave curve. More than 95 % of the path is used.
    let (least, most) = (0.95 * 48.67, 48.67);
    let runs = ["", "rto_restart = 'ack'", "rto_granularity = '1 us'", "rto_granularity = '20 ms'", "rto_min = '1 s'"]
        .map(|keys| long_path(&format!("name = 'cubic'\nrto_initial = '1 s'\n{keys}")));
    for outcome in &runs {
        let goodput = outcome.classes[0].delivered_bytes.as_f64() * 8.0 / 60e6;
        let counters = &outcome.counters;
        assert!((least..most).contains(&goodput), "{goodput}");
        assert_eq!((counters.timeouts, counters.retransmits), (0, counters.drops), "nothing is sent again in vain");
    }
    assert!(runs[0].classes[0].delivered_bytes == runs[4].classes[0].delivered_bytes, "no floor is needed");
    // With neither, the RTO is the RTT from before the full queue, and recovery takes longer than that.
    let neither = long_path("name = 'cubic'\nrto_initial = '1 s'\nrto_restart = 'ack'\nrto_granularity = '1 us'");
    assert!(neither.counters.timeouts > 0);
}
