//! `d2tcp testbed`: the testbed is part of the Python package, together with scenarios, simulator and figures.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::failure::{Failure, Kind, Result};

/// Replaces this process by `duetime testbed` with these arguments.
pub fn run(arguments: &[String]) -> Result<()> {
    let error = Command::new("duetime").arg("testbed").args(arguments).exec();
    let message = format!("`duetime testbed` cannot be run ({error}); it comes with the Python package duetime");
    Err(Failure::new(Kind::Failed, message))
}
