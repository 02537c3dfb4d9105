//! Runs a scenario with the engine alone, without Python: `make instructions` and `make scale` count its work.
//!
//!     engine FILE [KEY=VALUE ...]
//!
//! prints one line of JSON: `packet_hops`, `packets_delivered`, `events`, and two times in seconds. `set_up_s` is the
//! time of reading the scenario and preparing the run, `run_s` the time of its events.

use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use scenario::{Options, Source, read};
use threads::{Simulation, Terms};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: engine FILE [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    match run(&file, arguments.collect()) {
        Ok(line) => println!("{line}"),
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn cores() -> u32 {
    available_parallelism().map_or(1, |cores| cores.get() as u32)
}

fn run(file: &str, set: Vec<String>) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let source = Source { name: file, text: &text, folder: Path::new(file).parent() };
    let begin = Instant::now();
    let read = read(&source, &Options { set, ..Options::default() }).map_err(|error| error.to_string())?;
    let (mut simulation, note) = match read.scenario.run.threads {
        Some(threads) => Simulation::new(read.scenario, threads),
        None => (Simulation::calibrated(read.scenario, cores, Terms::default()), None),
    };
    note.into_iter().for_each(|note| eprintln!("{note}"));
    let set_up = begin.elapsed();
    let begin = Instant::now();
    while simulation.advance(1 << 20) {}
    let run = begin.elapsed();
    let counters = simulation.finish().counters;
    Ok(format!(
        r#"{{"packet_hops": {}, "packets_delivered": {}, "events": {}, "set_up_s": {:.3}, "run_s": {:.3}}}"#,
        counters.packet_hops,
        counters.packets_delivered,
        counters.events,
        set_up.as_secs_f64(),
        run.as_secs_f64()
    ))
}
