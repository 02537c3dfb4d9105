//! Every result is the same, whatever the number of threads that simulate a run.

use super::common;

use common::run;
use sim::{Outcome, Simulation, Terms};

/// Bursts into ports that hold a part of them, beside other messages: losses, marks, timeouts, misses, and a cool-down.
const BASE: &str = "
[run]
duration = '33 ms'
warm_up = '10 ms'
seed = 9
[network]
rate = '1 Gbps'
delay = '20 us'
buffer = '40 KB'
mark = '12 packets'
TOPOLOGY
[transport]
name = 'TRANSPORT'
rto_min = '5 ms'
[[traffic]]
name = 'answers'
pattern = 'fan-in'
leaves = 10
parents = 2
every = '8 ms'
size = 'uniform(4 KB, 30 KB)'
jitter = 'uniform(0 us, 50 us)'
deadline = { base = '4 ms', vary = 'uniform(0, 50%)' }
[[traffic]]
name = 'pages'
pattern = 'poisson'
load = '10%'
size = 'cdf(websearch)'
CONNECTIONS
[[traffic]]
name = 'records'
pattern = 'periodic'
from = [1, 6, 11]
to = [14, 2, 7]
size = '20 KB'
every = '1 ms'
deadline = '1 ms'
[[traffic]]
name = 'copy'
pattern = 'long'
from = [3, 13]
to = [9, 1]
";

const LEAF_SPINE: &str = "topology = 'leaf-spine'\nleaves = 4\nhosts_per_leaf = 4\nspines = 2\nuplink = '2 Gbps'";
const FAT_TREE: &str = "topology = 'fat-tree'\nk = 4\nuplink = '500 Mbps'";

const TOPOLOGIES: [(&str, &str); 5] = [
    ("racks", "topology = 'racks'\nracks = 4\nhosts_per_rack = 4\nuplink = '2 Gbps'"),
    ("leaf-spine", LEAF_SPINE),
    ("fat-tree", "topology = 'fat-tree'\nk = 4"),
    ("fat-tree, narrow above", FAT_TREE),
    (
        "custom",
        "topology = 'custom'\nswitches = ['left', 'right']\nhosts = 16\nlinks = [{ from = '0..6', to = 'left' }, \
         { from = '6..16', to = 'right' }, { from = 'left', to = 'right', rate = '4 Gbps' }]",
    ),
];

fn text(topology: &str, transport: &str, more: &str) -> String {
    BASE.replace("TOPOLOGY", topology).replace("TRANSPORT", transport).replace("CONNECTIONS", more)
}

/// Returns the run by a number of threads, if possible, and a note.
fn simulation(text: &str, threads: u32) -> (Simulation, Option<String>) {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &common::classic());
    Simulation::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario, threads)
}

/// Runs a scenario by a number of threads, which run together whatever the number of events.
pub fn by(text: &str, threads: u32, together_from: u64) -> Outcome {
    let (simulation, note) = simulation(text, threads);
    let Simulation::Together(run) = simulation else { panic!("{note:?}\n{text}") };
    let mut run = run.together_from(together_from);
    // In slices, as in a run that shows its progress.
    while run.advance(30_000) {}
    run.finish()
}

/// Runs a scenario by the threads that these terms choose; returns whether there were several.
fn chosen(text: &str, most: fn() -> u32, terms: Terms) -> (Outcome, bool) {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &common::classic());
    let mut simulation = Simulation::calibrated(read.expect("it can be read").scenario, most, terms);
    simulation.blocks_of(16);
    while simulation.advance(700) {
        assert!(simulation.take().blocks.is_empty() || matches!(simulation, Simulation::Alone(_)));
    }
    let together = matches!(simulation, Simulation::Together(_));
    (simulation.finish(), together)
}

/// Checks that all results of two runs are the same.
pub fn same(one: &Outcome, other: &Outcome, which: &str) {
    assert_eq!(one.counters, other.counters, "{which}");
    assert_eq!(
        (one.simulated, one.ended, one.decided_until),
        (other.simulated, other.ended, other.decided_until),
        "{which}"
    );
    assert_eq!(one.messages.len(), other.messages.len(), "{which}");
    for (row, (own, theirs)) in one.messages.iter().zip(&other.messages).enumerate() {
        assert_eq!(own, theirs, "{which}, message {row}");
        assert_eq!(one.path(row), other.path(row), "{which}, message {row}");
    }
    for (own, theirs) in one.links.iter().zip(&other.links) {
        assert_eq!(own, theirs, "{which}");
    }
    assert_eq!((&one.classes, &one.queries), (&other.classes, &other.queries), "{which}");
    assert_eq!((&one.stage_requests, &one.plans), (&other.stage_requests, &other.plans), "{which}");
    let before = |outcome: &Outcome| sim::outcome::Counters { events: 0, ..outcome.before_warm_up };
    assert_eq!(before(one), before(other), "{which}");
    assert_eq!((one.links.len(), &one.graph), (other.links.len(), &other.graph), "{which}");
}

/// Each port has the buffer of 40 KB for itself.
const PER_PORT: &str = "sharing = 'per-port'";

/// Hosts with several flows, whose data wait for their turn.
#[test]
fn with_bounded_host_queues() {
    for (name, topology) in TOPOLOGIES {
        for queue in ["fair", "fifo"] {
            for sharing in [PER_PORT, ""] {
                let network = format!("{topology}\nhost_queue = '{queue}'\n{sharing}");
                let text = text(&network, "dctcp", "connections = 'persistent'");
                let alone = run(&text);
                for (threads, together_from) in [(2, u64::MAX), (3, 0)] {
                    same(&by(&text, threads, together_from), &alone, &format!("{name}, {queue}, {sharing}, {threads}"));
                }
            }
        }
    }
}

#[test]
fn on_every_topology() {
    for (name, topology) in TOPOLOGIES {
        let text = text(&format!("{topology}\n{PER_PORT}"), "d2tcp", "");
        let alone = run(&text);
        let counters = alone.counters;
        assert!(counters.drops > 0 && counters.marks > 0 && alone.ended > alone.simulated, "{name}: {counters:?}");
        for (threads, together_from) in [(2, u64::MAX), (2, 0), (3, u64::MAX), (4, 0), (4, 30)] {
            let which = format!("{name}, {threads} threads from {together_from} events");
            same(&by(&text, threads, together_from), &alone, &which);
        }
    }
}

#[test]
fn with_queries_that_draw_their_hosts_and_hosts_that_answer_twice() {
    let drawn = text(&format!("{LEAF_SPINE}\n{PER_PORT}"), "d2tcp", "")
        .replace("leaves = 10\nparents = 2", "leaves = 20\nleaves_per_host = 2\nparents = 2\nplacement = 'per-query'");
    let alone = run(&drawn);
    let parents: std::collections::BTreeSet<_> = alone.queries.iter().map(|query| query.parent).collect();
    assert!(parents.len() > 3 && alone.counters.drops > 0, "{parents:?}");
    assert!(alone.queries.iter().all(|query| query.answers == 20));
    for (threads, together_from) in [(2, 0), (4, 30)] {
        same(&by(&drawn, threads, together_from), &alone, &format!("{threads} threads"));
    }
}

/// Checks which transports' runs can be partitioned: not the families that break ties by the ids of connections.
#[test]
fn with_every_transport() {
    for entry in transport::registry::TRANSPORTS {
        let (name, by_numbers) = (entry.name, entry.with(&[]).expect("defaults").control.goes_by_numbers());
        for (topology, more) in [(LEAF_SPINE, "connections = 'persistent'"), (FAT_TREE, PER_PORT)] {
            let (network, class) = if more == PER_PORT { (more, "") } else { ("", more) };
            let text = text(&format!("{topology}\n{network}"), name, class);
            assert_eq!(matches!(simulation(&text, 2).0, Simulation::Together(_)), !by_numbers, "{name}");
            if !by_numbers {
                same(&by(&text, 2, u64::MAX), &run(&text), &format!("{name} with {more}"));
            }
        }
    }
}

#[test]
fn with_every_way_of_sharing_and_choosing() {
    for network in [
        "sharing = 'dynamic'\nbuffer = '100 KB'",
        "sharing = 'static'\nbuffer = '200 KB'",
        "sharing = 'per-port'\nnon_ect = 'drop'\nframe_overhead = '38 B'\nhost_jitter = '0 s'",
        "sharing = 'per-port'\nframe_overhead = '38 B'\nhost_jitter = '0 s'",
        "sharing = 'per-port'\nbuffer = '9 KB'\nmark = '2 packets'\nhost_jitter = '1 us'",
        "sharing = 'per-port'\ndiscipline = 'priority'\nwhen_full = 'push-out'",
        "sharing = 'dynamic'\nbuffer = '100 KB'\ndiscipline = 'priority'",
    ] {
        let base = text(&format!("{LEAF_SPINE}\n{network}"), "dctcp", "priority = 1");
        let (buffer, mark) = ("buffer = '40 KB'\n", "mark = '12 packets'\n");
        let text = base.replacen(buffer, if network.contains("buffer") { "" } else { buffer }, 1);
        let text = text.replacen(mark, if network.contains("mark") { "" } else { mark }, 1);
        let alone = run(&text);
        assert!(alone.counters.drops > 0, "{network}");
        for threads in [2, 3] {
            same(&by(&text, threads, u64::MAX), &alone, &format!("{network}, {threads} threads"));
        }
    }
}

#[test]
fn with_other_patterns_and_ends() {
    let more = "
[[traffic]]
name = 'sessions'
pattern = 'sessions'
load = '50%'
share = '20%'
size = '50 KB'
transport = 'tcp'
[[traffic]]
name = 'listed'
pattern = 'flows'
flows = [{ from = 0, to = 15, size = '1 MB' }, { from = 15, to = 0, size = '1 B', start = '32.9 ms' }]
";
    for run_keys in ["", "cool_down = '0 s'", "cool_down = '3 ms'", "cool_down = '30 ms'"] {
        let text = text(LEAF_SPINE, "karuna", "connections = 'persistent'")
            .replace("[network]", &format!("{run_keys}\n[network]"));
        let text = format!("{text}{more}");
        same(&by(&text, 4, u64::MAX), &run(&text), run_keys);
    }
}

/// The calibration ends after 5000 of some 100 000 events. Rows are not compared, because `take` has removed some.
#[test]
fn whoever_goes_on_after_the_trial() {
    let text = text(&format!("{LEAF_SPINE}\n{PER_PORT}"), "d2tcp", "");
    let alone = run(&text);
    let easy = Terms { events: 5000, share: 0.0, gain: f64::INFINITY, messages: f64::INFINITY };
    let three: fn() -> u32 = || 3;
    for (which, most, terms, together) in [
        ("several are faster", three, easy, true),
        ("none is a million times as fast as one", three, Terms { gain: 1e-6, ..easy }, false),
        ("too short to try", three, Terms { share: f64::INFINITY, ..easy }, false),
        ("too many messages", three, Terms { messages: 1.0, ..easy }, false),
        ("no other core", || 1, easy, false),
        ("over before the end of the trial", three, Terms { events: u64::MAX, ..easy }, false),
    ] {
        let (outcome, several) = chosen(&text, most, terms);
        assert_eq!(several, together, "{which}");
        assert_eq!(outcome.counters, alone.counters, "{which}");
        assert_eq!((&outcome.links, &outcome.classes), (&alone.links, &alone.classes), "{which}");
        if several {
            same(&outcome, &alone, which);
        }
    }
}

/// A warm-up, and a run, that end before a leaf could be as far ahead of its hosts as it is elsewhere.
#[test]
fn with_ends_before_a_packet_has_come_to_a_switch() {
    for (duration, warm_up) in [("15 us", "0 s"), ("300 us", "10 us"), ("300 us", "299 us"), ("21 us", "20 us")] {
        let text = text(&format!("{LEAF_SPINE}\n{PER_PORT}"), "dctcp", "")
            .replace("33 ms", duration)
            .replace("10 ms", warm_up);
        for together_from in [0, u64::MAX] {
            same(&by(&text, 2, together_from), &run(&text), &format!("{duration}, {warm_up}"));
        }
    }
}

#[test]
fn what_cannot_be_parted_runs_on_one_thread_and_says_why() {
    let leaf_spine = |more: &str| format!("{}{more}", text(LEAF_SPINE, "dctcp", ""));
    let traced = leaf_spine("").replace("[network]", "trace = { every = '1 ms', what = ['queue'] }\n[network]");
    let tree = "[[traffic]]\nname = 'tree'\npattern = 'fan-in'\nlevels = 2\nbranches = 2\nleaves = 3\nevery = '8 ms'\n\
                size = '2 KB'\n";
    for (text, why) in [
        (text("topology = 'star'\nhosts = 16", "dctcp", ""), "all hosts are at one switch"),
        (traced, "run.trace"),
        (leaf_spine("[[fault]]\nkind = 'loss'\nprobability = '1%'\n"), "faults"),
        (leaf_spine(tree), "levels"),
        (text(LEAF_SPINE, "pdq", ""), "order in which connections were opened"),
        (text(&format!("{LEAF_SPINE}\ndiscipline = 'priority'"), "mcp-opt", ""), "headers"),
    ] {
        let (simulation, note) = simulation(&text, 2);
        assert!(matches!(simulation, Simulation::Alone(_)), "{why}");
        assert!(note.is_some_and(|note| note.contains(why)), "{why}");
    }
    let (simulation, note) = simulation(&leaf_spine(""), 8);
    assert!(matches!(simulation, Simulation::Together(run) if run.threads() == 4));
    assert_eq!(note.as_deref(), Some("this runs on 4 threads, one for each switch with hosts, not on 8"));
    assert_eq!(self::simulation(&leaf_spine(""), 1).1, None);
}
