//! Flows on links of equal rate fall into lock-step; the hosts' jitter breaks it.

use super::common;

use common::run;

/// Returns the Mbit/s of two endless flows, the second 200 ms later, into one port of their own rate.
fn goodputs(transport: &str, network: &str) -> [f64; 2] {
    let text = format!(
        "[run]\nduration = '3 s'\nwarm_up = '1 s'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\n\
         delay = '50 us'\nbuffer = '100 packets'\nsharing = 'per-port'\n{network}\n\
         [transport]\nname = '{transport}'\nwindow_limit = '200 packets'\n\
         [[traffic]]\nname = 'first'\npattern = 'long'\nfrom = 0\nto = 2\n\
         [[traffic]]\nname = 'second'\npattern = 'long'\nfrom = 1\nto = 2\nstart = '200 ms'\n"
    );
    let outcome = run(&text);
    [0, 1].map(|class| outcome.classes[class].delivered_bytes.as_f64() * 8e-6 / 2.0)
}

#[test]
fn with_perfect_clocks_one_of_two_equal_flows_starves() {
    // Any room in the full port is taken at once by the first flow, whose link is never idle; the second one's packets
    // arrive in between.
    for transport in ["tcp", "cubic"] {
        let [first, second] = goodputs(transport, "host_jitter = '0 s'");
        assert!(first > 900.0 && second < 50.0, "{transport}: {first} and {second}");
    }
}

#[test]
fn as_hosts_are_two_equal_flows_share_and_lose_nothing_of_the_link() {
    for (transport, network) in
        [("tcp", ""), ("cubic", ""), ("dctcp", "mark = '20 packets'"), ("tcp", "host_jitter = '1 us'")]
    {
        let [first, second] = goodputs(transport, network);
        // 1460 of 1500 B, except for packets queued behind a gap at the end of the warm-up or of the run. These are at
        // most a window of each, 2 x 200 packets of 1460 B in 2 s, or 2.3 Mbit/s. The sawtooth windows between 50 and
        // 100 packets last for some 5000 round trips of a ms.
        assert!((first + second - 973.3).abs() < 2.3, "{transport}: {first} and {second}");
        assert!((first / (first + second) - 0.5).abs() < 0.1, "{transport}: {first} and {second}");
    }
}
