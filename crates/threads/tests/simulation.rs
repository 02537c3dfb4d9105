//! The choice of threads for a run, which changes no result.

use sim::Outcome;
use threads::{Simulation, Terms};

/// Bursts, pages and an endless flow on a network of four racks: 33 ms and some 100 000 events.
const SCENARIO: &str = "
profile = 'classic'
[run]
duration = '33 ms'
warm_up = '10 ms'
seed = 9
[network]
topology = 'leaf-spine'
leaves = 4
hosts_per_leaf = 4
spines = 2
uplink = '2 Gbps'
rate = '1 Gbps'
delay = '20 us'
buffer = '40 KB'
sharing = 'per-port'
mark = '12 packets'
[transport]
name = 'd2tcp'
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
[[traffic]]
name = 'copy'
pattern = 'long'
from = [3, 13]
to = [9, 1]
";

fn scenario_of(text: &str) -> sim::Scenario {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &scenario::Options::default());
    read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

/// Runs a simulation in slices, as if it showed its progress.
fn finished(mut simulation: Simulation) -> Outcome {
    while simulation.advance(30_000) {}
    simulation.finish()
}

fn alone() -> Outcome {
    finished(Simulation::new(scenario_of(SCENARIO), 1).0)
}

/// Checks that the results of two runs are the same.
fn same(one: &Outcome, other: &Outcome, which: &str) {
    assert!(one.counters.events > 50_000, "{:?}", one.counters);
    assert_eq!(one.counters, other.counters, "{which}");
    assert_eq!((one.ended, one.decided_until), (other.ended, other.decided_until), "{which}");
    assert_eq!((&one.links, &one.classes), (&other.links, &other.classes), "{which}");
}

#[test]
fn governed_runs_have_the_results_of_one_thread() {
    let alone = alone();
    for threads in [2, 3, 4] {
        let (simulation, note) = Simulation::new(scenario_of(SCENARIO), threads);
        assert!(matches!(&simulation, Simulation::Together(run) if run.run().threads() == threads as usize));
        assert_eq!(note, None);
        let outcome = finished(simulation);
        same(&outcome, &alone, &format!("{threads} threads"));
        assert_eq!(outcome.messages, alone.messages, "{threads} threads");
    }
}

/// The calibration ends after 5000 of some 100 000 events. Rows are not compared, because `take` has removed some.
#[test]
fn calibration_chooses_threads_and_keeps_results() {
    let alone = alone();
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
        let mut simulation = Simulation::calibrated(scenario_of(SCENARIO), most, terms);
        simulation.blocks_of(16);
        while simulation.advance(700) {
            assert!(simulation.take().blocks.is_empty() || matches!(simulation, Simulation::Alone(_)));
        }
        assert_eq!(matches!(simulation, Simulation::Together(_)), together, "{which}");
        let outcome = simulation.finish();
        same(&outcome, &alone, which);
        if together {
            assert_eq!((&outcome.messages, &outcome.queries), (&alone.messages, &alone.queries), "{which}");
        }
    }
}

#[test]
fn notes_say_why_a_run_has_fewer_threads() {
    let star = SCENARIO
        .replace("'leaf-spine'\nleaves = 4\nhosts_per_leaf = 4\nspines = 2\nuplink = '2 Gbps'", "'star'\nhosts = 16");
    let (simulation, note) = Simulation::new(scenario_of(&star), 2);
    assert!(matches!(simulation, Simulation::Alone(_)));
    assert_eq!(note.as_deref(), Some("this runs on one thread: all hosts are at one switch"));
    assert_eq!(Simulation::new(scenario_of(&star), 1).1, None);

    let (simulation, note) = Simulation::new(scenario_of(SCENARIO), 8);
    assert!(matches!(simulation, Simulation::Together(run) if run.run().threads() == 4));
    assert_eq!(note.as_deref(), Some("this runs on 4 threads, one for each switch with hosts, not on 8"));
    assert_eq!(Simulation::new(scenario_of(SCENARIO), 1).1, None);
}

#[test]
fn clock_of_the_machine_moves_forward() {
    let first = threads::wall_clock();
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!((2_000_000..10_000_000_000).contains(&(threads::wall_clock() - first)));
}
