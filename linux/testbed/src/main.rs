//! The two kinds of process that duetime's testbed consists of: hosts that send messages, and the switch.
//!
//! Each makes a network namespace of its own that nothing else holds. So whatever ends the processes also
//! removes namespaces, links, queues and marking programs; there is nothing that could be left behind.
//! They talk to the Python side in lines of JSON: read [`host`] and [`switch`] for what is in them.

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
