//! The names of a module's exports, and the failures of its functions.

use transport::plugin::{Answer, Event};

/// Returns the function of an event that a module may export.
pub fn export(event: Event) -> &'static str {
    match event {
        Event::Open => "open",
        Event::Ack => "on_ack",
        Event::Beyond => "on_beyond",
        Event::Loss => "on_loss",
        Event::Timeout => "on_timeout",
        Event::Message => "on_message",
    }
}

/// The functions that return an address or a size, each with what it is.
pub const PLACES: [(&str, &str); 4] = [
    ("event", "the address of the block of numbers that each call has"),
    ("state", "the address of a connection's state"),
    ("state_size", "the bytes of a connection's state"),
    ("keys", "the address of the values of its keys"),
];

/// The instructions that one call may take.
pub const FUEL: u64 = 10_000_000;

/// The reason for which a call failed.
pub enum Failure {
    /// It took too many instructions.
    Endless,
    /// The module trapped, for this reason.
    Trap(String),
    /// The window, the threshold or the rate is no possible one.
    Answer(&'static str, f64),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Endless => write!(f, "did not return within {} million instructions", FUEL / 1_000_000),
            Failure::Trap(why) => write!(f, "failed: {why}"),
            Failure::Answer("rate", value) => write!(f, "set `rate` to {value}, which must be 0 or more and finite"),
            Failure::Answer(what, value) => write!(f, "set `{what}` to {value}, which must be above 0"),
        }
    }
}

/// Judges the answer to a call.
///
/// # Errors
/// The number that is no possible one. The functions that return no window are not judged.
#[inline]
pub fn judge(event: Event, answer: &Answer) -> Result<(), Failure> {
    let answers = event != Event::Beyond && event != Event::Open;
    match answer.impossible().filter(|_| answers) {
        None => Ok(()),
        Some((what, value)) => Err(Failure::Answer(what, value)),
    }
}

/// Returns a failure as a message for the user. The time is in picoseconds.
pub fn failed(name: &str, event: Event, now: f64, failure: &Failure) -> String {
    format!("the plug-in `{name}`: `{}` {failure}, {} us into the run", export(event), now / 1e6)
}
