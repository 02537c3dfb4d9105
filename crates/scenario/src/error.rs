//! Errors with their place: file, line, column, the line itself, a caret, and a hint.

use std::fmt;

use units::Excerpt;
use units::measure::Mistake;

/// One mistake in a scenario, with its place.
///
/// [`Display`](fmt::Display) prints all of it, over several lines.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    excerpt: Excerpt,
    message: String,
    hint: Option<String>,
}

impl Error {
    /// Returns the file's name as it was given, `--set` and the like for options.
    pub fn file(&self) -> &str {
        &self.0.excerpt.file
    }
    /// Returns the line, from 1.
    pub fn line(&self) -> usize {
        self.0.excerpt.line
    }
    /// Returns the column in characters, from 1.
    pub fn column(&self) -> usize {
        self.0.excerpt.column
    }
    /// Returns the mistake, in one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// Returns a correction to write instead, if one is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { excerpt, message, hint } = &*self.0;
        f.write_str(&excerpt.report(&format!("error: {message}"), hint.as_deref()))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// A range of bytes in one of the [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    source: u32,
    start: u32,
    end: u32,
}

impl At {
    /// Returns a range of bytes of the source with that number.
    pub(crate) fn new(source: u32, range: std::ops::Range<usize>) -> At {
        At { source, start: range.start as u32, end: range.end as u32 }
    }
    /// Returns its start in the source.
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }
    /// Returns another range of the same source.
    pub(crate) fn with(self, range: std::ops::Range<usize>) -> At {
        At::new(self.source, range)
    }
}

/// A mistake, before its place has been looked up.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    place: Place,
    message: String,
    hint: Option<String>,
}

#[derive(Clone, Debug)]
enum Place {
    At(At),
    Excerpt(Box<Excerpt>),
}

/// Shortens a text that may be long, for a message.
pub(crate) fn clip(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
    if text.chars().count() > 60 { format!("{plain}…") } else { plain }
}

/// The result of reading a part.
pub(crate) type Checked<T> = Result<T, Fault>;

impl Fault {
    /// Returns a mistake at a place of one of the sources.
    pub(crate) fn new(at: At, message: impl Into<String>) -> Fault {
        Fault { place: Place::At(at), message: message.into(), hint: None }
    }
    /// Returns a mistake in a quantity at a place.
    pub(crate) fn mistaken(at: At, mistake: Mistake) -> Fault {
        Fault { hint: mistake.hint, ..Fault::new(at, mistake.message) }
    }
    /// Returns a mistake in another file.
    pub(crate) fn elsewhere(excerpt: Excerpt, message: impl Into<String>) -> Fault {
        Fault { place: Place::Excerpt(Box::new(excerpt)), message: message.into(), hint: None }
    }
    /// Returns the same mistake in a text that is shown another way; `show` is given its range of bytes.
    pub(crate) fn within(self, show: impl FnOnce(std::ops::Range<usize>, String) -> Fault) -> Fault {
        match self.place {
            Place::Excerpt(_) => self,
            Place::At(at) => Fault { hint: self.hint, ..show(at.start as usize..at.end as usize, self.message) },
        }
    }
    /// Adds a hint with the correction.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }
    /// Adds the nearest word as a hint if there is one, else another hint.
    pub(crate) fn did_you_mean(self, nearest: Option<&str>, otherwise: impl FnOnce() -> String) -> Fault {
        match nearest {
            Some(word) => self.hint(format!("did you mean `{word}`?")),
            None => self.hint(otherwise()),
        }
    }
}

/// All texts of values: the file, and one for each option or further file.
pub(crate) struct Sources(Vec<(String, String)>);

impl Sources {
    /// Returns the sources with the scenario's file only.
    pub(crate) fn new(name: &str, text: &str) -> Sources {
        Sources(vec![(name.to_owned(), text.to_owned())])
    }
    /// Adds a text and returns its number.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> u32 {
        self.0.push((name.to_owned(), text.to_owned()));
        self.0.len() as u32 - 1
    }
    /// Returns a place for a note: "a.toml:3:8".
    pub(crate) fn place(&self, at: At) -> String {
        let (name, text) = &self.0[at.source as usize];
        let Excerpt { file, line, column, .. } = Excerpt::of(name, text, at.start as usize..at.end as usize);
        format!("{file}:{line}:{column}")
    }
    /// Returns the error for callers.
    pub(crate) fn error(&self, fault: Fault) -> Error {
        let Fault { place, message, hint } = fault;
        let excerpt = match place {
            Place::Excerpt(excerpt) => *excerpt,
            Place::At(at) => {
                let (name, text) = &self.0[at.source as usize];
                Excerpt::of(name, text, at.start as usize..at.end as usize)
            }
        };
        Error(Box::new(Inner { excerpt, message, hint }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, range: std::ops::Range<usize>) -> Error {
        Sources::new("a.toml", text).error(Fault::new(At::new(0, range), "no").hint("write yes"))
    }

    #[test]
    fn the_caret_stands_under_the_mistake() {
        let error = shown("x = 1\nname = \"wrong\"\n", 13..20);
        assert_eq!((error.line(), error.column()), (2, 8));
        let expected = "error: no\n --> a.toml:2:8\n  |\n2 | name = \"wrong\"\n  |        ^^^^^^^\n  = write yes";
        assert_eq!(error.to_string(), expected);
    }
}
