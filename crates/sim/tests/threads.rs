//! However many threads simulate a run, every result is the same.

mod common;

use common::run;
use sim::{Outcome, Simulation};

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
sharing = 'per-port'
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

const TOPOLOGIES: [(&str, &str); 5] = [
    ("racks", "topology = 'racks'\nracks = 4\nhosts_per_rack = 4\nuplink = '2 Gbps'"),
    ("leaf-spine", "topology = 'leaf-spine'\nleaves = 4\nhosts_per_leaf = 4\nspines = 2\nuplink = '2 Gbps'"),
    ("fat-tree", "topology = 'fat-tree'\nk = 4"),
    ("fat-tree, deep", "topology = 'fat-tree'\nk = 4\nuplink = '500 Mbps'"),
    (
        "custom",
        "topology = 'custom'\nswitches = ['left', 'right']\nhosts = 16\nlinks = [{ from = '0..6', to = 'left' }, \
         { from = '6..16', to = 'right' }, { from = 'left', to = 'right', rate = '4 Gbps' }]",
    ),
];

fn text(topology: &str, transport: &str, more: &str) -> String {
    BASE.replace("TOPOLOGY", topology).replace("TRANSPORT", transport).replace("CONNECTIONS", more)
}

/// By so many threads, which work together however few the events.
fn by(text: &str, threads: u32, together_from: u64) -> Outcome {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &scenario::Options::default());
    let scenario = read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario;
    let (simulation, note) = Simulation::new(scenario, threads);
    let Simulation::Together(team) = simulation else { panic!("{note:?}\n{text}") };
    let mut team = team.together_from(together_from);
    // In slices, as a run is made that shows how far it is.
    while team.advance(30_000) {}
    team.finish()
}

/// The same in everything that is told of a run.
fn same(one: &Outcome, other: &Outcome, which: &str) {
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
    let before = |outcome: &Outcome| sim::outcome::Counters { events: 0, ..outcome.before_warm_up };
    assert_eq!(before(one), before(other), "{which}");
    assert_eq!((one.links.len(), &one.graph), (other.links.len(), &other.graph), "{which}");
}

#[test]
fn on_every_topology() {
    for (name, topology) in TOPOLOGIES {
        let text = text(topology, "d2tcp", "");
        let alone = run(&text);
        let (counters, cools) = (alone.counters, alone.ended > alone.simulated);
        assert!(counters.drops > 0 && counters.marks > 0 && cools, "{name}: {counters:?}, {} {}", alone.ended, cools);
        for (threads, together_from) in [(2, u64::MAX), (2, 0), (4, 0), (4, 30)] {
            let which = format!("{name}, {threads} threads from {together_from} events");
            same(&by(&text, threads, together_from), &alone, &which);
        }
    }
}
