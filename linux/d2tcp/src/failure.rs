//! What can go wrong, in one line each, and the exit codes.

use std::fmt;

/// Why a command failed. The numbers are the tool's exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something failed on the way.
    Failed = 1,
    /// Options that make no sense together; clap uses the same code for those that it finds.
    Usage = 2,
    /// Attached already.
    Attached = 3,
    /// Not attached.
    NotAttached = 4,
    /// The kernel, or what is mounted, lacks something.
    Unsupported = 5,
    /// A capability is missing.
    NotPermitted = 6,
    /// Attached, but a part of it is dead.
    Dead = 7,
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub kind: Kind,
    /// One line for the operator.
    pub message: String,
}

impl Failure {
    /// With this code and this line.
    pub fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What most functions give.
pub type Result<T> = std::result::Result<T, Failure>;

/// Says what was being done when something failed.
pub trait Context<T> {
    /// `doing` continues "could not".
    fn context(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::new(Kind::Failed, format!("could not {doing}: {error:#}")))
    }
}
