//! How a transport describes itself: one constant in its own file.

use units::{Alias, Key, Problem, Values};

use crate::connection;

/// A transport's name, what it is, its parameters, and how they become what runs it, a `T`.
#[derive(Clone, Copy)]
pub struct Descriptor<T> {
    /// As written in scenario files and on the command line.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Words that people write for its name or for one of its parameters.
    pub aliases: &'static [Alias],
    /// Its parameters, in groups, beside those of every connection.
    pub groups: &'static [&'static [Key]],
    /// From checked values, and what they say of every connection. A value may be settled that follows from
    /// others. Panics when a declared key is missing: our bug.
    pub build: Build<T>,
}

/// What a [`Descriptor`] builds with; fails where the values do not fit one another.
pub type Build<T> = fn(&mut Values, &connection::Config) -> Result<T, Problem>;
