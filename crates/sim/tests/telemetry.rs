//! Transports by telemetry in the network: the busiest link of a path decides, wherever it is.

use super::common::run;

use sim::outcome::Link;

/// Four flows of 10 Gbps each from one leaf to another, with the busiest link at one of three places.
fn links(transport: &str, network: &str, traffic: &str) -> Vec<Link> {
    let outcome = run(&format!(
        "[run]\nduration = '12 ms'\nwarm_up = '4 ms'\n[network]\ntopology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\n\
         spines = 1\nrate = '10 Gbps'\ndelay = '2 us'\nsharing = 'per-port'\nbuffer = '500 packets'\n{network}\n\
         [transport]\nname = '{transport}'\nadditive_increase = '0.2%'\n[[traffic]]\nname = 'long'\npattern = 'long'\n{traffic}"
    ));
    assert_eq!(outcome.counters.drops, 0, "{transport}");
    outcome.links
}

#[test]
fn busiest_link_is_used_with_a_short_queue_wherever_it_is() {
    let apart = "from = [0, 1, 2, 3]\nto = [4, 5, 6, 7]";
    let together = "from = [0, 1, 2, 3]\nto = 4";
    for (place, network, traffic, (from, to)) in [
        ("first switch", "uplink = '20 Gbps'", apart, ("leaf 0", "spine 0")),
        ("last switch", "uplink = '40 Gbps'", together, ("leaf 1", "host 4")),
    ] {
        // HPCC: eta and four times the increase, less a packet of the sixteen in a round trip. PowerTCP's steady queue is a
        // fraction of a packet here, so that the link is idle now and then.
        for (transport, least, most) in [("hpcc", 0.93, 0.96), ("powertcp", 0.92, 1.0)] {
            let links = links(transport, network, traffic);
            let link = links.iter().find(|link| link.from == from && link.to == to).expect("a link of that name");
            let which = format!("{transport}, {place}: {link:?}");
            assert!(link.utilisation >= least && link.utilisation <= most, "{which}");
            assert!(link.queue.p99 <= 4, "{which}");
        }
    }
}
