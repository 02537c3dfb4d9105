//! Helpers of the tests of this folder: from a scenario's text to its run.
#![allow(dead_code, reason = "each test file uses its part of this")]

use sim::{Outcome, World};

/// Returns options with the profile of the tests' expected values: in it every key has its own default.
pub(crate) fn classic() -> scenario::Options {
    scenario::Options { set: vec!["profile=classic".into()], ..scenario::Options::default() }
}

/// Returns the world of a scenario, at its beginning.
pub(crate) fn world(text: &str) -> World {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &classic());
    World::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario)
}

/// Runs a scenario; returns its outcome.
pub(crate) fn run(text: &str) -> Outcome {
    let mut world = world(text);
    while world.advance(1 << 20) {}
    world.finish()
}
