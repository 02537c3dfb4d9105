//! Files of sweeps: what they mean, and every kind of mistake with its message.
//!
//! `bad/sweeps.txt` holds all messages for people to review. `BLESS=1 cargo test` writes it anew.

use super::common;

use std::fmt::Write;

use scenario::{Source, Sweep, read_sweep};
use serde_json::{Value as Json, json};

const MESSAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad/sweeps.txt");
const GOOD: &str = r#"scenario = "large-messages.toml"
transports = ["dctcp", "d2tcp"]
seeds = 2
set.run.duration = "1 s"
[grid]
traffic.answers.leaves = [10, 20]
[list]
network.rate = ["1 Gbps", "2 Gbps"]
network.buffer = ["1 MB", "2 MB"]
[sample]
count = 3
transport.g = "log-uniform(0.01, 0.5)"
"#;

const CASES: &[(&str, &str, &str)] = &[
    ("an unknown key", "seeds = 2", "sedes = 2"),
    ("no scenario", "scenario = \"large-messages.toml\"\n", ""),
    ("a scenario that is not there", "large-messages", "large-mesages"),
    ("a scenario that is no text", "\"large-messages.toml\"", "5"),
    ("an unknown transport", "\"dctcp\"", "\"dctpc\""),
    ("a transport twice", "\"dctcp\"", "\"d2tcp\""),
    ("no seeds", "seeds = 2", "seeds = 0"),
    ("a seed twice", "seeds = 2", "seeds = [1, 1]"),
    ("more runs than possible", "seeds = 2", "seeds = 1000000"),
    ("the seed as an axis", "traffic.answers.leaves", "run.seed"),
    ("a mistyped section of a key", "network.rate", "netwrok.rate"),
    ("a mistyped key", "network.buffer", "network.bufer"),
    ("a mistyped class", "traffic.answers", "traffic.answer"),
    ("an unknown parameter", "traffic.answers.leaves", "fan_in"),
    ("a mistyped key in quotes", "network.buffer", "\"network.bufer\""),
    ("a mistake in what all share", "set.run.duration", "set.run.duraton"),
    ("a unit that does not fit", "\"1 Gbps\", \"2 Gbps\"", "\"1 GB\", \"2 GB\""),
    ("an axis without a list", "[10, 20]", "10"),
    ("an axis without values", "[10, 20]", "[]"),
    ("lists of different lengths", "[\"1 MB\", \"2 MB\"]", "[\"1 MB\"]"),
    ("a key twice", "transport.g", "network.rate"),
    ("no count", "count = 3\n", ""),
    ("nothing to draw", "transport.g = \"log-uniform(0.01, 0.5)\"\n", ""),
    ("an unknown distribution", "log-uniform", "log-unifrom"),
    ("no distribution", "\"log-uniform(0.01, 0.5)\"", "\"0.01 to 0.5\""),
    ("ends in disorder", "0.01, 0.5", "0.5, 0.01"),
    ("the logarithm of 0", "0.01, 0.5", "0, 0.5"),
    ("different units", "0.01, 0.5", "1 ms, 5 us"),
    ("no finite number", "seeds = 2", "set.transport.g = nan"),
    ("no TOML", "seeds = 2", "seeds = two seeds"),
];

fn read(text: &str) -> Result<Sweep, scenario::Error> {
    read_sweep(&Source { name: "sweep.toml", text, folder: Some(&common::folder()) })
}

#[test]
fn every_mistake_has_a_place_and_a_way_out() {
    let mut messages = String::new();
    for (what, from, to) in CASES {
        assert!(GOOD.contains(from), "{what}");
        let error = read(&GOOD.replacen(from, to, 1)).expect_err(what);
        let text = error.to_string().replace(&format!("{}/", common::folder().display()), "");
        writeln!(messages, "## {what}\n{text}\n").unwrap();
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(MESSAGES, &messages).unwrap();
    }
    assert_eq!(messages, std::fs::read_to_string(MESSAGES).unwrap_or_default());
}

#[test]
fn the_grid_the_list_and_the_draws_are_combined() {
    let sweep = read(GOOD).unwrap();
    assert_eq!(sweep.title, "Large answers, fan-in 20");
    assert_eq!(sweep.seeds, [1, 2]);
    assert_eq!(sweep.set, ["run.duration=\"1 s\""]);
    assert_eq!(sweep.axes, ["traffic.answers.leaves", "network.rate", "network.buffer", "transport.g"]);
    assert_eq!(sweep.points.len(), 2 * 2 * 3);
    let firsts: Vec<_> = sweep.points.iter().map(|point| json!([point[0], point[1], point[2]]).to_string()).collect();
    for (i, first) in firsts.iter().enumerate() {
        let leaves = if i < 6 { 10 } else { 20 };
        let row = if i / 3 % 2 == 0 { "\"1 Gbps\",\"1 MB\"" } else { "\"2 Gbps\",\"2 MB\"" };
        assert_eq!(*first, format!("[{leaves},{row}]"));
    }
    let drawn: Vec<f64> = sweep.points.iter().map(|point| point[3].as_f64().unwrap()).collect();
    assert_eq!(drawn[..3], drawn[3..6]);
    assert!(drawn.iter().all(|x| (0.01..=0.5).contains(x)) && drawn[0] != drawn[1]);
    let changes = sweep.to_json()["changes"][0].clone();
    assert_eq!(changes[1], json!("network.rate=\"1 Gbps\""));
}

#[test]
fn without_axes_a_sweep_is_one_point() {
    let sweep = read("scenario = \"large-messages.toml\"\ntitle = \"Once\"\nseeds = [7, 3]").unwrap();
    assert_eq!((sweep.title.as_str(), sweep.points.len()), ("Once", 1));
    assert_eq!(sweep.seeds, [7, 3]);
    assert_eq!(sweep.transports, None);
}

#[test]
fn draws_follow_the_seed_and_stay_within_their_ends() {
    let drawn = |keys: &str, seed: u64| -> Vec<Vec<Json>> {
        let text = format!("scenario = \"large-messages.toml\"\n[sample]\ncount = 200\nseed = {seed}\n{keys}");
        let sweep = read(&text).unwrap();
        (0..sweep.axes.len()).map(|axis| sweep.points.iter().map(|point| point[axis].clone()).collect()).collect()
    };
    let leaves = "traffic.answers.leaves = \"uniform(5, 8)\"\n";
    let alone = drawn(leaves, 1);
    for n in 5..=8 {
        let share = alone[0].iter().filter(|x| **x == json!(n)).count();
        assert!((25..=75).contains(&share), "{n} was drawn {share} times of 200");
    }
    assert_ne!(alone, drawn(leaves, 2));
    let both =
        drawn(&format!("network.delay = \"uniform(1.5 us, 2.5 us)\"\n{leaves}network.mark = [\"9 packets\"]"), 1);
    assert_eq!(both[1], alone[0], "another key draws from a stream of its own");
    for delay in &both[0] {
        let number: f64 = delay.as_str().unwrap().strip_suffix(" us").unwrap().parse().unwrap();
        assert!((1.5..=2.5).contains(&number));
    }
}

#[test]
fn a_point_that_cannot_be_does_not_stop_the_others() {
    // 40 leaves do not fit into a star of 21 hosts, and neither point alone decides over the file.
    let sweep =
        |values: &str| read(&format!("scenario = \"large-messages.toml\"\n[grid]\ntraffic.answers.leaves = {values}"));
    assert_eq!(sweep("[40, 20]").unwrap().points.len(), 2);
    let error = sweep("[40, 50]").unwrap_err();
    assert_eq!((error.file(), error.line(), error.column()), ("sweep.toml", 3, 27));
}
