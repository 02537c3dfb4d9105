//! Markers: RED between Kmin and Kmax.

use super::common::run;

use sim::Outcome;

/// Packets in a round trip without a queue, at 100 Gbps: 4 x 2 us of light, and two transmissions of 1500 B in 120 ns.
const PATH: f64 = (8.0 + 0.24) / 0.12;
const FLOWS: f64 = 8.0;

/// Runs eight long flows into one port, which marks by `network`.
fn eight_flows(network: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '15 ms'\nwarm_up = '5 ms'\n[network]\ntopology = 'star'\nhosts = 9\nrate = '100 Gbps'\n\
         delay = '2 us'\nbuffer = '32 MB'\nmark = '100 KB'\n{network}\n[transport]\nname = 'dctcp'\n\
         nic_limit = '128 KiB'\n[[traffic]]\nname = 'long'\npattern = 'long'\nfrom = '0..8'\nto = 8\n"
    ))
}

/// Returns the mean queue in packets, and the share of packets that were marked.
fn queue_and_marks(outcome: &Outcome) -> (f64, f64) {
    let link = outcome.links.iter().find(|link| link.to == "host 8").expect("a link to host 8");
    (link.queue.mean, link.marks as f64 / link.packets as f64)
}

/// In a round trip a window of W packets grows by one. It is cut by half of the share p of marks if any of its packets
/// was marked. So 1 = (1 - (1 - p)^W) W p / 2. All windows together are the path and the queue q, and
/// p = Pmax (q - Kmin) / (Kmax - Kmin).
fn equilibrium(kmax: f64, pmax: f64) -> (f64, f64) {
    let kmin = 100_000.0 / 1500.0;
    let share = |queue: f64| pmax * (queue - kmin) / (kmax / 1500.0 - kmin);
    let grows = |queue: f64| {
        let (window, share) = ((PATH + queue) / FLOWS, share(queue));
        (1.0 - f64::powf(1.0 - share, window)) * window * share / 2.0 < 1.0
    };
    let queue = (0..10_000).map(|step| kmin + f64::from(step) / 10.0).find(|queue| !grows(*queue)).expect("a queue");
    (queue, share(queue))
}

/// Tolerance: a tenth, of which the swing of the windows, half a packet of each of eight flows, is the larger part.
#[test]
fn dctcp_queues_where_the_curve_says_so() {
    for (kmax, pmax) in [(400_000.0, 0.2), (400_000.0, 0.5), (1_600_000.0, 1.0)] {
        let (queue, marks) =
            queue_and_marks(&eight_flows(&format!("marking = 'red'\nred_kmax = '{kmax} B'\nred_pmax = {pmax}")));
        let (expected, share) = equilibrium(kmax, pmax);
        assert!((queue / expected - 1.0).abs() < 0.1, "{kmax} B, {pmax}: {queue} packets, not {expected}");
        assert!((marks / share - 1.0).abs() < 0.2, "{kmax} B, {pmax}: {marks} marked, not {share}");
    }
}

#[test]
fn a_curve_without_width_is_the_step() {
    let step = eight_flows("");
    let red = eight_flows("marking = 'red'\nred_kmax = '100 KB'");
    assert!(step.counters.marks > 100);
    let told = |outcome: &Outcome| (queue_and_marks(outcome).0, outcome.counters.marks, outcome.counters.packets_sent);
    assert_eq!(told(&red), told(&step));
}

/// With a weight of 1/500, a queue of some thousands of packets counts before it has been there for long.
#[test]
fn an_average_marks_later_than_the_queue_itself() {
    let by = |weight: &str| {
        let outcome = eight_flows(&format!("marking = 'red'\nred_kmax = '400 KB'\nred_weight = {weight}"));
        outcome.links.iter().find(|link| link.to == "host 8").expect("a link to host 8").queue.max
    };
    let (own, averaged) = (by("1"), by("0.002"));
    assert!(averaged > own, "{averaged} after {own} packets");
}
