//! The memory of runs, as it was measured, against the estimate that `duetime check` prints.

use scenario::{Options, Source, cost};

/// Peaks of whole processes in MB without `--out` and with it, on 26 November 2026: Linux on x86-64, Python 3.11.
/// Files are in `bench/scale`. A dash is a run that was not made.
const MEASURED: &[(&str, &[&str], &str, &str)] = &[
    ("flows", &["receivers=1"], "32.2", "60.9"),
    ("flows", &["receivers=10"], "54.7", "83.2"),
    ("flows", &["receivers=100"], "282.0", "310.6"),
    ("flows", &["receivers=10", "transport.initial_window=20"], "74.9", "-"),
    ("flows", &["receivers=10", "transport.name=homa"], "75.5", "-"),
    ("flows", &["receivers=10", "transport.name=edf-grants"], "71.9", "-"),
    ("flows", &["receivers=10", "transport.name=d3"], "96.9", "-"),
    ("flows", &["receivers=10", "transport.name=pdq"], "66.3", "-"),
    ("flows", &["receivers=10", "transport.name=pfabric"], "78.6", "-"),
    ("flows", &["receivers=10", "transport.name=tcp"], "56.1", "-"),
    ("fan-in", &["leaves=40"], "32.9", "66.5"),
    ("fan-in", &["leaves=4000"], "50.7", "79.5"),
    ("fan-in", &["leaves=40000"], "204.5", "237.8"),
    ("fat-tree", &["k=8", "run.duration=10 ms"], "30.1", "59.7"),
    ("fat-tree", &["k=32", "run.duration=300 us"], "84.5", "118.0"),
    ("fat-tree", &["k=50", "run.duration=50 us"], "210.4", "-"),
    ("leaf-spine", &["leaves=205", "spines=16", "run.duration=400 us"], "64.5", "94.5"),
    // 221 000 pairs of hosts, and three times the capacity of links.
    ("leaf-spine", &["leaves=25", "traffic.messages.size=1 KB", "run.duration=2 ms"], "97.4", "129.4"),
    ("leaf-spine", &["leaves=25", "load=3", "run.duration=2 ms"], "1491.9", "-"),
    ("messages", &["messages=100_000"], "39.9", "76.0"),
    ("messages", &["messages=1_000_000"], "73.0", "104.7"),
    ("messages", &["messages=300_000", "traffic.messages.deadline=10 us"], "79.6", "106.3"),
    ("messages", &["messages=300_000", "traffic.messages.connections=persistent"], "58.4", "92.5"),
    ("rates", &["gbps=100"], "25.5", "-"),
    ("samples", &[], "27.8", "71.5"),
];

#[test]
fn memory_is_within_a_factor_of_two_of_every_measurement() {
    for (name, set, alone, with_out) in MEASURED {
        let path = format!("{}/../../bench/scale/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("a file of `make scale`");
        let set = set.iter().map(|&change| change.to_owned()).collect();
        let found = cost(&Source { name, text: &text, folder: None }, &Options { set, ..Options::default() });
        let found = found.expect("a valid scenario");
        for (key, measured) in [("memory_bytes", alone), ("memory_with_out_bytes", with_out)] {
            let Ok(measured) = measured.parse::<f64>() else { continue };
            let ratio = found[key].as_f64().expect("a number") / 1e6 / measured;
            println!("{name} {key} {measured} MB: {ratio:.2}");
            assert!((0.5..=2.0).contains(&ratio), "{name} {key} {measured} MB: {ratio:.2}, {found}");
        }
    }
}
