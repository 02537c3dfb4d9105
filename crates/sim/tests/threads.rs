//! Every result is the same, whatever the number of threads that simulate a run.

use super::common;

use common::run;
use std::sync::atomic::{AtomicU64, Ordering};

use sim::{Outcome, ParallelRun, Scenario, Way, partition};

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

fn scenario_of(text: &str) -> Scenario {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &common::classic());
    read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

/// The ways of the slices of a run, in turns.
pub(crate) const ALONE: &[Way] = &[Way::Alone];
pub(crate) const TOGETHER: &[Way] = &[Way::Together];
pub(crate) const IN_TURNS: &[Way] = &[Way::Together, Way::Alone];

/// Runs a scenario by a number of threads.
pub(crate) fn by(text: &str, threads: u32, ways: &[Way]) -> Outcome {
    let scenario = scenario_of(text);
    let partition = partition(&scenario, threads).unwrap_or_else(|why| panic!("{why}\n{text}"));
    finished(ParallelRun::new(scenario, partition, jumping_clock), ways)
}

/// Finishes a run in slices, as one that shows its progress.
fn finished(mut run: ParallelRun, ways: &[Way]) -> Outcome {
    let mut ways = ways.iter().cycle();
    while ways.next().is_some_and(|way| run.advance(30_000, *way).goes_on) {}
    run.finish()
}

/// A clock that advances by a tenth of a millisecond at each look: threads that wait in vain give up after 30 looks.
fn jumping_clock() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(0);
    NOW.fetch_add(100_000, Ordering::Relaxed)
}

/// Checks that all results of two runs are the same.
pub(crate) fn same(one: &Outcome, other: &Outcome, which: &str) {
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
                for (threads, ways) in [(2, ALONE), (3, TOGETHER)] {
                    same(&by(&text, threads, ways), &alone, &format!("{name}, {queue}, {sharing}, {threads}"));
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
        for (threads, ways) in [(2, ALONE), (2, TOGETHER), (3, ALONE), (4, TOGETHER), (4, IN_TURNS)] {
            let which = format!("{name}, {threads} threads, {ways:?}");
            same(&by(&text, threads, ways), &alone, &which);
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
    for (threads, ways) in [(2, TOGETHER), (4, IN_TURNS)] {
        same(&by(&drawn, threads, ways), &alone, &format!("{threads} threads"));
    }
}

#[test]
fn with_every_transport() {
    for entry in transport::registry::TRANSPORTS {
        let name = entry.name;
        for (topology, more) in [(LEAF_SPINE, "connections = 'persistent'"), (FAT_TREE, PER_PORT)] {
            let (network, class) = if more == PER_PORT { (more, "") } else { ("", more) };
            let text = text(&format!("{topology}\n{network}"), name, class);
            let alone = run(&text);
            for (threads, ways) in [(2, ALONE), (3, TOGETHER)] {
                same(&by(&text, threads, ways), &alone, &format!("{name} with {more}, {threads} threads"));
            }
        }
    }
}

#[test]
fn with_every_way_of_sharing_and_choosing() {
    for network in [
        "sharing = 'dynamic'\nbuffer = '100 KB'",
        "sharing = 'static'\nbuffer = '200 KB'",
        "sharing = 'per-port'\nbalance = 'spray'",
        "sharing = 'per-port'\nbalance = 'reps'\npaths = 3",
        "sharing = 'per-port'\nbalance = 'flowlet'\nflowlet_gap = '30 us'",
        "sharing = 'per-port'\nbalance = 'spray'\ntrim = true",
        "sharing = 'per-port'\nnon_ect = 'drop'\nframe_overhead = '38 B'\nhost_jitter = '0 s'",
        "sharing = 'per-port'\nframe_overhead = '38 B'\nhost_jitter = '0 s'",
        "sharing = 'per-port'\nbuffer = '9 KB'\nmark = '2 packets'\nhost_jitter = '1 us'",
        "sharing = 'per-port'\ndiscipline = 'priority'\nwhen_full = 'push-out'",
        "sharing = 'dynamic'\nbuffer = '100 KB'\ndiscipline = 'priority'",
        "sharing = 'dynamic'\nbuffer = '100 KB'\ndiscipline = 'dwrr'",
        "sharing = 'abm'\nbuffer = '100 KB'\ndiscipline = 'dwrr'",
        "sharing = 'per-port'\nmarking = 'red'\nred_kmax = '20 packets'",
        "sharing = 'dynamic'\nbuffer = '100 KB'\nmarking = 'red'\nred_kmax = '20 packets'\nred_weight = 0.3",
        "sharing = 'per-port'\nmark_at = 'departure'",
        "sharing = 'dynamic'\nbuffer = '100 KB'\ndiscipline = 'dwrr'\nmark_at = 'departure'",
        "sharing = 'dynamic'\nbuffer = '100 KB'\nmark_at = 'departure'\nmarking = 'red'\nred_kmax = '20 packets'",
    ] {
        let base = text(&format!("{LEAF_SPINE}\n{network}"), "dctcp", "priority = 1");
        let (buffer, mark) = ("buffer = '40 KB'\n", "mark = '12 packets'\n");
        let text = base.replacen(buffer, if network.contains("buffer") { "" } else { buffer }, 1);
        let text = text.replacen(mark, if network.contains("mark =") { "" } else { mark }, 1);
        let alone = run(&text);
        assert!(alone.counters.drops > 0, "{network}");
        for threads in [2, 3] {
            same(&by(&text, threads, ALONE), &alone, &format!("{network}, {threads} threads"));
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
        same(&by(&text, 4, ALONE), &run(&text), run_keys);
    }
}

/// A clock that never advances: nothing of a run follows from it.
#[test]
fn without_a_clock() {
    let text = text(&format!("{LEAF_SPINE}\n{PER_PORT}"), "d2tcp", "");
    let scenario = scenario_of(&text);
    let partition = partition(&scenario, 2).expect("two leaves");
    same(&finished(ParallelRun::new(scenario, partition, || 0), IN_TURNS), &run(&text), "no clock");
}

#[test]
fn slices_count_events_and_time() {
    let scenario = scenario_of(&text(&format!("{LEAF_SPINE}\n{PER_PORT}"), "d2tcp", ""));
    let partition = partition(&scenario, 2).expect("two leaves");
    let mut run = ParallelRun::new(scenario, partition, jumping_clock);
    let (mut events, mut untimed) = (0, 0);
    loop {
        let slice = run.advance(10_000, Way::Alone);
        events += slice.events;
        assert_eq!(events, run.events());
        // Two looks at the clock.
        untimed += u32::from(slice.took.is_none());
        assert!(slice.took.is_none_or(|took| took >= 100_000));
        if !slice.goes_on {
            break;
        }
        assert!(slice.events > 0);
    }
    assert!(events > 50_000 && untimed > 0 && run.events_per_epoch() > 0, "{events} {untimed}");
}

/// A warm-up, and a run, that end before a leaf could be as far ahead of its hosts as it is elsewhere.
#[test]
fn with_ends_before_a_packet_has_come_to_a_switch() {
    for (duration, warm_up) in [("15 us", "0 s"), ("300 us", "10 us"), ("300 us", "299 us"), ("21 us", "20 us")] {
        let text = text(&format!("{LEAF_SPINE}\n{PER_PORT}"), "dctcp", "")
            .replace("33 ms", duration)
            .replace("10 ms", warm_up);
        for ways in [TOGETHER, ALONE] {
            same(&by(&text, 2, ways), &run(&text), &format!("{duration}, {warm_up}"));
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
        (text("topology = 'rails'\nservers = 4\ngpus = 4", "dctcp", ""), "a host has several links"),
        (traced, "run.trace"),
        (leaf_spine("[[fault]]\nkind = 'loss'\nprobability = '1%'\n"), "faults"),
        (leaf_spine(tree), "levels"),
        (text(&format!("{LEAF_SPINE}\ndiscipline = 'priority'"), "pdq", ""), "headers"),
        (text(&format!("{LEAF_SPINE}\ndiscipline = 'priority'"), "mcp-opt", ""), "headers"),
    ] {
        assert!(partition(&scenario_of(&text), 2).is_err_and(|reason| reason.contains(why)), "{why}");
    }
    assert_eq!(partition(&scenario_of(&leaf_spine("")), 8).map(|partition| partition.parts), Ok(4));
}
