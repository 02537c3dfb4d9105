//! The kept inputs, and variations of them: a short look at what `make fuzz` looks for.

use std::path::{Path, PathBuf};

use fuzz::TARGETS;
use units::Stream;

/// So many variations of each kept input, and networks: some ten seconds in all.
const VARIATIONS: u64 = 400;
const NETWORKS: u64 = 20_000;
/// Targets whose inputs take milliseconds each have fewer variations.
const SLOW: [&str; 3] = ["sweep", "threads", "requests"];
const FEW: u64 = 20;

fn kept(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("every target has a corpus").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Some bytes replaced, left out, doubled or exchanged for a part of another input.
fn varied(input: &[u8], other: &[u8], stream: &mut Stream) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=stream.below(6) {
        let at = stream.below(bytes.len() as u64 + 1) as usize;
        let end = (at + stream.below(12) as usize).min(bytes.len());
        match stream.below(4) {
            0 => bytes[at..end].iter_mut().for_each(|byte| *byte = stream.below(256) as u8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let from = stream.below(other.len() as u64 + 1) as usize;
                let part = other[from..(from + 40).min(other.len())].to_vec();
                bytes.splice(at..end, part);
            }
        }
    }
    bytes
}

#[test]
fn nothing_is_found_near_the_kept_inputs() {
    for (name, target) in TARGETS {
        let inputs = kept(name);
        assert!(!inputs.is_empty(), "{name} keeps no input");
        for (number, (path, input)) in inputs.iter().enumerate() {
            println!("{}", path.display());
            target(input);
            let mut stream = Stream::new(1, name, number as u64);
            for _ in 0..if SLOW.contains(name) { FEW } else { VARIATIONS } {
                let other = &inputs[stream.below(inputs.len() as u64) as usize].1;
                let bytes = varied(input, other, &mut stream);
                println!("{}", bytes.escape_ascii());
                target(&bytes);
            }
        }
    }
}

/// Any bytes are a network for some transport.
#[test]
fn no_network_stops_a_transport_for_good() {
    try_any("networks", (20, 320), NETWORKS, fuzz::transports);
}

/// Any bytes are several senders of some transport whose receivers grant.
#[test]
fn no_network_stops_several_senders_for_good() {
    try_any("senders", (40, 440), NETWORKS / 10, fuzz::grants);
}

/// Any bytes are requests of some stages.
#[test]
fn no_stage_starts_before_what_it_waits_for() {
    try_any("requests", (20, 60), NETWORKS / 100, fuzz::requests);
}

/// Gives a target random bytes, `from` or more and fewer than `to`, a number of times.
fn try_any(name: &str, (from, to): (u64, u64), times: u64, target: fn(&[u8])) {
    let mut stream = Stream::new(1, name, 0);
    for _ in 0..times {
        let length = from + stream.below(to - from);
        let bytes: Vec<u8> = (0..length).map(|_| stream.below(256) as u8).collect();
        println!("{bytes:?}");
        target(&bytes);
    }
}
