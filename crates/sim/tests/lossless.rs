//! Lossless networks: pauses, the room that they need, what they hold up, and deadlocks.

use super::common::run;

use sim::Outcome;
use sim::outcome::{Deadlock, Link, LinkPauses};
use units::{Instant, Span};

/// Returns the link between two nodes.
fn link<'a>(outcome: &'a Outcome, from: &str, to: &str) -> &'a Link {
    outcome.links.iter().find(|link| (&link.from[..], &link.to[..]) == (from, to)).expect("a link with these ends")
}

fn pauses(outcome: &Outcome, from: &str, to: &str) -> LinkPauses {
    link(outcome, from, to).pauses.expect("the network is lossless")
}

/// Returns the names of the links of the cycle.
fn names(outcome: &Outcome, deadlock: &Deadlock) -> Vec<(String, String)> {
    let ends =
        |link: &units::LinkId| (outcome.links[link.index()].from.clone(), outcome.links[link.index()].to.clone());
    deadlock.cycle.iter().map(ends).collect()
}

/// Two hosts send 200 packets at once to a third, whose link takes 12 ms for each: nothing leaves the switch in the
/// first 12 ms, but the first packet. A fourth host sends to the two, so that full packets are sent against their links.
///
/// At 10 Gbps a packet of 1500 B takes 1.2 us and a pause frame 51.2 ns. With 10 us of propagation and 2 us of response,
/// a pause is heeded 1.2 + 0.0512 + 10 + 2 us after the packet before which it is sent, if a packet has just begun on the
/// way back, and 10 us of packets are on the way: 23.2512 us, or 29 064 B, and one packet more: 30 564 B.
fn two_to_one(headroom: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '11 ms'\n[network]\ntopology = 'custom'\nhosts = 4\nswitches = ['switch']\n\
         links = [{{ from = ['0..2', 3], to = 'switch' }}, {{ from = 2, to = 'switch', rate = '1 Mbps' }}]\n\
         rate = '10 Gbps'\ndelay = '10 us'\nhost_jitter = '0 s'\nsharing = 'per-port'\nbuffer = '1 MB'\n\
         lossless = true\npause_threshold = '10 packets'\n{headroom}\n\
         [transport]\nname = 'tcp'\ninitial_window = 1000\nrto_min = '1 s'\nrto_initial = '1 s'\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\nflows = [\n\
         {{ from = 0, to = 2, size = '292 KB', start = '1 ns' }}, {{ from = 1, to = 2, size = '292 KB', start = '1 ns' }},\n\
         {{ from = 3, to = 0, size = '146 KB' }}]"
    ))
}

/// The tenth packet of host 0 that is queued (the first of either host is sent at once) is the last below the threshold.
/// 23.2512 us are 19.4 packets: 20 arrive afterwards, 30 000 B. The packet of host 3 for host 0 has begun 1 ns before.
#[test]
fn headroom_holds_all_that_arrives_and_less_does_not() {
    let computed = two_to_one("");
    assert_eq!(computed.counters.drops, 0);
    assert!(pauses(&computed, "host 0", "switch").frames == 1, "paused once, and for the rest of the run");
    let exact = two_to_one("pause_headroom = '30564 B'");
    assert_eq!(exact.links, computed.links, "as computed");
    let less = two_to_one("pause_headroom = '29064 B'");
    assert_eq!(less.counters.drops, 1, "the twentieth");
    assert_eq!(two_to_one("pause_headroom = '0 B'").counters.drops, 20 + 19 + 1);
}
