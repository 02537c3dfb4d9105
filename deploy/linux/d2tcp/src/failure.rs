//! Failures, with one line for each, and the exit codes.

use std::fmt;

use crate::escape;

/// The kind of a failure. The numbers are the tool's exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An operation of the command failed.
    Failed = 1,
    /// Options that contradict each other; clap uses the same code for its own errors.
    Usage = 2,
    /// D2TCP is already attached.
    Attached = 3,
    /// D2TCP is not attached.
    NotAttached = 4,
    /// The kernel or a mount lacks a feature.
    Unsupported = 5,
    /// A capability is missing.
    NotPermitted = 6,
    /// D2TCP is attached, but a part of it is dead.
    Dead = 7,
}

/// The failure of a command.
#[derive(Debug)]
pub struct Failure {
    /// The kind, which gives the exit code.
    pub kind: Kind,
    /// The message, one line for the operator. It may contain names of others: it is displayed safe to print.
    pub message: String,
}

impl Failure {
    /// Returns a failure of this kind with this message.
    pub fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape::lines(&self.message))
    }
}

/// The result of most functions.
pub type Result<T> = std::result::Result<T, Failure>;

/// Adds the failed operation to an error.
pub trait Context<T> {
    /// Converts an error into a failure with the message "could not `doing`".
    fn context(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::new(Kind::Failed, format!("could not {doing}: {error:#}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_words_in_a_message_are_harmless() {
        let failed = Err::<(), _>("no \x1b[2J\u{202e}").context("open \u{9b}").unwrap_err();
        assert_eq!(failed.to_string(), "could not open \\u{9b}: no \\x1b[2J\\u{202e}");
    }
}
