//! Statements of the papers of pFabric, HULL and PDQ, at the scale of a test.

use super::common;

use common::run;
use sim::Outcome;
use units::Span;

/// Returns FCT over the time on an empty network of the messages in a range of sizes, in order.
fn slowdowns(outcome: &Outcome, sizes: std::ops::Range<u64>) -> Vec<f64> {
    let of = outcome.messages.iter().filter(|message| message.bytes.is_some_and(|bytes| sizes.contains(&bytes.0)));
    let mut all: Vec<f64> = of
        .filter_map(|message| Some((message.end? - message.start).as_secs_f64() / message.ideal?.as_secs_f64()))
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Runs web search's sizes between random hosts of a leaf-spine network of 10 Gbit/s at 60 % load.
fn web_search(transport: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '100 ms'\nwarm_up = '5 ms'\ncool_down = '0 s'\n[network]\ntopology = 'leaf-spine'\nleaves = 2\n\
         hosts_per_leaf = 8\nspines = 2\nuplink = '40 Gbps'\nrate = '10 Gbps'\ndelay = '1 us'\n{transport}\n\
         [[traffic]]\nname = 'search'\npattern = 'poisson'\nload = '60%'\nsize = 'cdf(websearch)'\n"
    ))
}

#[test]
fn pfabric_serves_short_messages_as_if_they_were_alone() {
    // pFabric, abstract and 5.4.2: near-optimal completion times even at the 99th percentile for short flows, at small
    // buffers: 36 KB. DCTCP with its K of 65 queues them behind long ones.
    let pfabric = web_search("buffer = '36 KB'\nsharing = 'per-port'\n[transport]\nname = 'pfabric'");
    let dctcp = web_search("buffer = '4 MB'\nmark = '65 packets'\n[transport]\nname = 'dctcp'");
    let (urgent, waiting) = (slowdowns(&pfabric, 0..100_000), slowdowns(&dctcp, 0..100_000));
    let p99 = |sorted: &[f64]| sorted[sorted.len() * 99 / 100];
    assert!(urgent.len() > 300, "{}", urgent.len());
    assert!(p99(&urgent) < 2.0 && mean(&urgent) < 1.3, "{} {}", p99(&urgent), mean(&urgent));
    assert!(p99(&waiting) > 2.0 * p99(&urgent), "{} {}", p99(&waiting), p99(&urgent));
    assert!(pfabric.counters.drops > 0, "its buffers are small");
}

#[test]
fn without_priorities_at_the_ports_pfabric_is_nothing() {
    let network = "buffer = '36 KB'\nsharing = 'per-port'\n";
    let with = web_search(&format!("{network}[transport]\nname = 'pfabric'"));
    let without = web_search(&format!("{network}discipline = 'fifo'\n[transport]\nname = 'pfabric'"));
    let mean = |outcome| mean(&slowdowns(outcome, 0..100_000));
    assert!(mean(&without) > 2.0 * mean(&with), "{} {}", mean(&without), mean(&with));
}

#[test]
fn pfabric_probes_while_more_urgent_flows_hold_the_link() {
    // Both start at line rate; the short one is sent first, and the long one times out over and over. After five
    // timeouts in a row it sends a byte per RTO: of its 2 MB hardly anything is sent twice, although it waits for 80
    // ms.
    let outcome =
        run("[run]\nduration = '200 ms'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\ndelay = '10 us'\n\
         buffer = '36 KB'\nsharing = 'per-port'\n[transport]\nname = 'pfabric'\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [ { from = 0, to = 2, size = '10 MB' }, \
         { from = 1, to = 2, size = '12 MB', start = '1 us' } ]\n");
    let [short, long] = &outcome.messages[..] else { panic!("two messages") };
    let alone = Span::from_secs_f64(10e6 / 1460.0 * 12e-6);
    let (first, second) = (short.end.unwrap() - short.start, long.end.unwrap() - long.start);
    assert!(first.as_secs_f64() < alone.as_secs_f64() * 1.01, "{first} for {alone}");
    assert!(second.as_secs_f64() < 22e6 / 1460.0 * 12e-6 * 1.02, "{second}");
    // A timeout per RTO, and so a byte: 41 B in some 200 us of 80 ms.
    assert!(long.timeouts > 100 && long.retransmits < long.timeouts + 100, "{long:?}");
}

/// Runs four long flows into one port of 1 Gbit/s.
fn long_flows(network: &str, transport: &str) -> (f64, f64, u64) {
    let outcome = run(&format!(
        "[run]\nduration = '300 ms'\nwarm_up = '100 ms'\n[network]\ntopology = 'star'\nhosts = 5\nrate = '1 Gbps'\n\
         delay = '60 us'\n{network}\n[transport]\nname = '{transport}'\n\
         [[traffic]]\nname = 'a'\npattern = 'long'\nfrom = '0..4'\nto = 4\n"
    ));
    let queue = &outcome.links.iter().find(|link| link.to == "host 4").unwrap().queue;
    let goodput = outcome.classes[0].delivered_bytes.as_f64() * 8.0 / 0.2 / 1e6;
    (goodput, queue.mean, queue.p99)
}

#[test]
fn hull_gives_away_a_twentieth_of_the_link_and_hardly_queues() {
    // HULL, abstract: a slight reduction in throughput for latency near that of an idle fabric; the phantom queue
    // bounds the use of the link by gamma. 1460 of 1500 B are payload: 973 Mbit/s at most, and 925 at 95 %.
    let (hull, mean, p99) = long_flows("", "hull");
    assert!((0.80 * 925.0..=925.0 * 1.002).contains(&hull), "{hull} Mbit/s");
    let (dctcp, mean_dctcp, p99_dctcp) = long_flows("mark = '20 packets'", "dctcp");
    assert!(dctcp > 0.98 * 973.0, "{dctcp} Mbit/s");
    assert!(5.0 * mean < mean_dctcp && p99 < p99_dctcp / 2, "{mean} of {mean_dctcp} packets, {p99} of {p99_dctcp}");
    // Four minimum windows of two segments are 362 Mbit/s here, in 265 us.
    let (half, ..) = long_flows("phantom_drain = '50%'", "hull");
    assert!(half < 487.0 * 1.002 && half > 0.8 * 487.0, "{half} Mbit/s");
}

/// Returns the ends of three messages of 1, 2 and 3 MB into one port, in units of the time that 1 MB takes on the wire.
fn figure_1(transport: &str, start_us: [u64; 3]) -> Vec<f64> {
    let flows: Vec<String> = (0..3)
        .map(|flow| {
            let (size, deadline) = (flow + 1, [1, 4, 6][flow]);
            let start = start_us[flow];
            // A unit is 8.22 ms. A request takes round trips of 0.11 ms. A packet that is queued when a port sets its
            // rate reduces that by 1500 B in two round trips, 57 Mbit/s: the deadlines are longer by that.
            let deadline = format!("{:.3} ms", (f64::from(deadline) * 1.06 + 0.1) * 8.22);
            format!("{{ from = {flow}, to = 3, size = '{size} MB', start = '{start} us', deadline = '{deadline}' }}")
        })
        .collect();
    let outcome = run(&format!(
        "[run]\nduration = '200 ms'\n[network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '20 us'\n\
         buffer = '1 MB'\nsharing = 'per-port'\nhost_jitter = '0 s'\n[transport]\n{transport}\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [ {} ]\n",
        flows.join(", ")
    ));
    let mut messages: Vec<_> = outcome.messages.iter().collect();
    messages.sort_by_key(|message| message.bytes);
    let ends = messages.iter().map(|message| message.end.map_or(f64::NAN, |end| end.since_start().as_secs_f64()));
    ends.map(|end| end / (1e6 / 1460.0 * 12e-6)).collect()
}

/// Checks that the ends are not before these, and after them only by the ports' rate control and a number of round
/// trips.
fn near(found: &[f64], expected: [f64; 3], round_trips: f64) {
    let late = |(found, expected): (&f64, f64)| found - expected * 1.057;
    let early = found.iter().zip(expected).any(|(found, expected)| *found < expected - 0.001);
    let late = found.iter().zip(expected).map(late).fold(0.0, f64::max);
    assert!(!early && late <= round_trips * 0.0134, "{found:?}, not {expected:?}");
}

#[test]
fn pdq_ends_the_flows_of_its_papers_figure_1_one_after_the_other() {
    // PDQ, figure 1: flows of size 1, 2 and 3 with deadlines 1, 4 and 6. Fair sharing ends them at 3, 5 and 6, so that
    // two are late. One after the other they end at 1, 3 and 6, and the mean falls from 4.67 to 3.33, by 29 %.
    let in_turn = [0, 20, 40];
    near(&figure_1("name = 'pdq'", in_turn), [1.0, 3.0, 6.0], 2.0);
    // Without early start each flow waits for the end of the one before, and for its own next probe.
    near(&figure_1("name = 'pdq'\nearly_start = 0", in_turn), [1.0, 3.0, 6.0], 5.0);
    // Requests may be in any order: a more urgent flow takes the place of another. It does so after a probe if a flow
    // was resumed just before (dampening), and once the queue of both is empty.
    for start in [[0, 0, 0], [200, 100, 0]] {
        near(&figure_1("name = 'pdq'", start), [1.0, 3.0, 6.0], 8.0);
    }
    let fair = figure_1("name = 'rcpdc'\nbase_rtt = '105 us'", [0, 0, 0]);
    near(&fair, [3.0, 5.0, 6.0], 8.0);
    let saved = 1.0 - mean(&figure_1("name = 'pdq'", in_turn)) / mean(&fair);
    assert!((saved - 0.286).abs() < 0.02, "{saved}");
}

#[test]
fn pdq_gives_up_what_cannot_be_in_time_and_nothing_else() {
    // In the order of deadlines the second message ends after 5 units, and its deadline is 2.9: it is aborted as soon
    // as that is known. Without early termination it delays the third beyond its deadline.
    let text = |more: &str| {
        run(&format!(
            "[run]\nduration = '200 ms'\n[network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '20 us'\n\
             buffer = '1 MB'\nsharing = 'per-port'\n[transport]\nname = 'pdq'\n{more}\n\
             [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [ {{ from = 0, to = 3, size = '2 MB', deadline = '20 ms' }}, \
             {{ from = 1, to = 3, size = '3 MB', deadline = '24 ms' }}, {{ from = 2, to = 3, size = '1 MB', deadline = '30 ms' }} ]\n"
        ))
    };
    let late = |outcome: &Outcome| -> Vec<bool> {
        outcome.messages.iter().map(|m| m.end.is_none_or(|end| end - m.start > m.deadline.unwrap())).collect()
    };
    let early = text("");
    assert_eq!(late(&early), [false, true, false]);
    assert_eq!(early.messages.iter().map(|message| message.aborted).collect::<Vec<_>>(), [false, true, false]);
    let keeps = text("early_termination = false");
    assert_eq!(late(&keeps), [false, true, true], "the second holds the link until 41 ms");
    assert!(keeps.messages.iter().all(|message| message.end.is_some()));
}
