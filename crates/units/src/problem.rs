//! Errors in values that passed their own checks.

use std::borrow::Cow;

/// An error in a value that passed its own checks but does not fit the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The key at fault.
    pub key: Cow<'static, str>,
    /// One sentence about the error.
    pub message: String,
    /// The index of an entry of the key's list, and the key of that entry, if the key holds a list.
    pub entry: Option<(usize, &'static str)>,
    /// An unknown word, with the known ones.
    pub unknown: Option<Box<(String, Vec<String>)>>,
    /// A correction to write instead, where one is known.
    pub hint: Option<String>,
}

/// Returns a count and its noun, as text: "1 host", "2 hosts".
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Problem {
    /// Returns a problem with `key`.
    pub fn new(key: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Problem {
        Problem { key: key.into(), message: message.into(), entry: None, unknown: None, hint: None }
    }
    /// Locates the problem in the entry of that index, at its key `part`.
    pub fn at(self, index: usize, part: &'static str) -> Problem {
        Problem { entry: Some((index, part)), ..self }
    }
    /// Adds an unknown word and the words of which one may have been meant.
    pub fn meant(self, word: &str, words: &[String]) -> Problem {
        Problem { unknown: Some(Box::new((word.to_owned(), words.to_vec()))), ..self }
    }
    /// Adds a hint with the correction.
    pub fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }
}

/// Prints one line: "`leaves`: ...".
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Problem { key, message, hint, .. } = self;
        write!(f, "`{key}`: {message}")?;
        hint.iter().try_for_each(|hint| write!(f, " ({hint})"))
    }
}
