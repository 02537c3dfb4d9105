//! Checks that no input makes the code panic, hang, or break an invariant of every run.
//!
//! Each function takes bytes and panics on a finding. `fuzz/` gives them the inputs of a coverage-guided fuzzer (`make
//! fuzz`); the tests here give them the kept inputs and variations of them (`make test`).

#![forbid(unsafe_code)]

mod bytes;
mod ends;
mod grants;
mod requests;
mod threads;

use std::collections::BTreeMap;
use std::path::Path;

use scenario::{Options, Source, explain, read, read_sweep};
use sim::{World, profile};

pub use ends::transports;
pub use grants::grants;
pub use requests::requests;
pub use threads::threads;

/// One thing to fuzz: the name of its folder in `fuzz/corpus`, and the function that takes the bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Everything that is fuzzed.
pub const TARGETS: &[Target] = &[
    ("scenario", scenario_text),
    ("files", data_file),
    ("sweep", sweep_text),
    ("transports", transports),
    ("grants", grants),
    ("threads", threads),
    ("requests", requests),
];

/// The longest text that is tried: longer ones only take longer.
const LONGEST: usize = 8192;

/// Any text as a scenario: an error with a place, or a scenario that can be described and run.
pub fn scenario_text(bytes: &[u8]) {
    if bytes.len() <= LONGEST {
        try_scenario(&String::from_utf8_lossy(bytes), &Options::default());
    }
}

/// Any text as a data file: of a trace, of a CDF of sizes or of one of times, or of requests. The first byte chooses among
/// these, the profiles and the queues of hosts.
pub fn data_file(bytes: &[u8]) {
    let Some((first, text)) = bytes.split_first().filter(|_| bytes.len() <= LONGEST) else { return };
    let requests = |file: &str| {
        format!(
            "pattern = \"stages\"\nrequests = {{ file = \"data\", {file}, limit = 100 }}\nroles = {{ a = 0, b = 3 }}\n\
             stage = [{{ name = \"x\", from = \"a\", to = \"b\", size = \"1 KB\" }}]"
        )
    };
    let traffic: &str = match (first >> 6, first % 3) {
        (3, _) => &requests(
            [
                "columns = { arrival = \"t\", x = \"n\" }",
                "format = \"azure-llm\", speed = 2.5",
                "format = \"mooncake\", prefix = true",
                "format = \"coflow\"",
            ][usize::from(first % 4)],
        ),
        (_, 0) => "pattern = \"trace\"\nfile = \"data\"",
        (_, 1) => "pattern = \"fan-in\"\nleaves = 3\nevery = \"1 ms\"\nsize = \"cdf(data)\"",
        _ => "pattern = \"fan-in\"\nleaves = 3\nevery = \"cdf(data)\"\nsize = \"2 KB\"",
    };
    let files = BTreeMap::from([("data".to_owned(), text.to_vec())]);
    let queue = [
        "",
        "host_queue = \"fair\"",
        "host_queue = \"fifo\"\nhost_buffer = \"2 packets\"",
        "host_queue = \"unlimited\"\nlossless = true",
        "host_queue = \"fair\"\nlossless = true",
    ];
    let (queue, profile) =
        (queue[usize::from(first / 3) % queue.len()], profile::NAMES[usize::from(first / 12) % profile::NAMES.len()]);
    let text = format!(
        "profile = \"{profile}\"\n[run]\nduration = \"20 ms\"\n[network]\ntopology = \"star\"\nhosts = 4\nrate = \"1 Gbps\"\ndelay = \"20 us\"\n\
         {queue}\n[transport]\nname = \"tcp\"\n[[traffic]]\nname = \"a\"\n{traffic}\n"
    );
    try_scenario(&text, &Options { files, ..Options::default() });
}

/// Any text as a sweep of one of the kept scenarios: an error with a place, or points that can be written.
pub fn sweep_text(bytes: &[u8]) {
    // Longer ones have more points, which only take longer.
    const MAX_BYTES: usize = 1024;
    if bytes.len() > MAX_BYTES {
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/scenario"));
    match read_sweep(&Source { name: "fuzzed", text: &text, folder: Some(folder) }) {
        Ok(sweep) => {
            assert!(!sweep.points.is_empty() && !sweep.seeds.is_empty(), "{sweep:?}");
            assert!(sweep.points.iter().all(|point| point.len() == sweep.axes.len()), "{sweep:?}");
            sweep.to_json();
        }
        Err(error) => {
            assert!(error.line() >= 1 && error.column() >= 1 && !error.message().is_empty(), "{error:?}");
            assert!(error.to_string().starts_with("error: "), "{error}");
        }
    }
}

fn try_scenario(text: &str, options: &Options) {
    // A larger network is one whose runs take longer.
    const MAX_LINKS: usize = 200;
    const EVENTS: u64 = 20_000;
    let source = Source { name: "fuzzed", text, folder: None };
    let found = match read(&source, options) {
        Ok(found) => found,
        Err(error) => {
            assert!(error.line() >= 1 && error.column() >= 1 && !error.message().is_empty(), "{error:?}");
            assert!(error.to_string().starts_with("error: "), "{error}");
            return;
        }
    };
    if found.scenario.network.graph.links.len() > MAX_LINKS {
        return;
    }
    explain(&source, options).expect("what was read can be described");
    let mut world = World::new(found.scenario);
    let mut left = EVENTS;
    while left > 0 && world.advance(left.min(1000)) {
        left -= left.min(1000);
    }
    let outcome = world.finish();
    let (counters, faults) = (&outcome.counters, outcome.faults.unwrap_or_default());
    if outcome.warm_up.since_start().0 == 0 {
        let somewhere = counters.packets_received + counters.packets_in_flight + counters.drops + faults.drops;
        assert_eq!(counters.packets_sent + faults.duplicates, somewhere, "a packet came from nowhere, or went there");
    }
    let json = results::Report::measured(&outcome, 0.0).to_json();
    assert!(!json.contains("NaN") && !json.contains("inf"), "{json}");
}
