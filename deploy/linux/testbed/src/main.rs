//! The two kinds of processes in duetime's testbed: hosts that send messages, and the switch.
//!
//! Each creates its own network namespace, which no other process holds. The end of the processes therefore removes
//! namespaces, links, queues and marking programs, whatever its cause, and no residual state stays. The processes
//! communicate with the Python side in lines of JSON: see [`host`] and [`switch`] for the contents.

mod clock;
mod host;
mod line;
mod namespace;
mod netlink;
mod receiver;
mod sender;
mod socket;
mod switch;

use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let role = std::env::args().nth(1).unwrap_or_default();
    let done = match role.as_str() {
        "host" => host::main(),
        "switch" => switch::main(),
        _ => {
            eprintln!("duetime-testbed: run by `duetime testbed`; the roles are host and switch");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duetime-testbed {role}: {error}");
            ExitCode::FAILURE
        }
    }
}
