//! `d2tcp`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    d2tcp_tool::main()
}
