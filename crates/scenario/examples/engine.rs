//! Runs a scenario with the engine alone, without Python: what `make instructions` and `make scale` count.
//!
//!     engine FILE [KEY=VALUE ...]
//!
//! prints one line of JSON: `packet_hops`, `packets_delivered`, `events`, and the seconds that reading the
//! scenario and preparing the run took (`set_up_s`) and that its events did (`run_s`).

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use scenario::{Options, Source, read};
use sim::Simulation;

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

fn run(file: &str, set: Vec<String>) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let source = Source { name: file, text: &text, folder: Path::new(file).parent() };
    let begin = Instant::now();
    let read = read(&source, &Options { set, ..Options::default() }).map_err(|error| error.to_string())?;
    let threads = read.scenario.run.threads;
    let (mut simulation, note) = Simulation::new(read.scenario, threads);
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
