//! What the tests of this folder share: from a scenario's text to its run.
#![allow(dead_code, reason = "each test file uses its part of this")]

use sim::{Outcome, World};

/// Options that name the profile of which the tests' expected values are: that whose every key has its own default.
pub fn classic() -> scenario::Options {
    scenario::Options { set: vec!["profile=classic".into()], ..scenario::Options::default() }
}

/// The world of a scenario, at its beginning.
pub fn world(text: &str) -> World {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &classic());
    World::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario)
}

/// What comes of it.
pub fn run(text: &str) -> Outcome {
    let mut world = world(text);
    while world.advance(1 << 20) {}
    world.finish()
}
