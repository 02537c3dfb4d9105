//! What is wrong with values that passed their own checks.

use std::borrow::Cow;

/// What is wrong with a value that passed its own checks but does not fit the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The key at fault.
    pub key: Cow<'static, str>,
    /// One sentence.
    pub message: String,
    /// Where the key holds a list: which of its entries, and which key of that.
    pub entry: Option<(usize, &'static str)>,
    /// A word that is not known, with those that are.
    pub unknown: Option<Box<(String, Vec<String>)>>,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

/// A count and what is counted, for people: "1 host", "2 hosts".
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Problem {
    /// A problem with `key`.
    pub fn new(key: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Problem {
        Problem { key: key.into(), message: message.into(), entry: None, unknown: None, hint: None }
    }
    /// In the entry of that index, at its key `part`.
    pub fn at(self, index: usize, part: &'static str) -> Problem {
        Problem { entry: Some((index, part)), ..self }
    }
    /// With the words of which one may have been meant.
    pub fn meant(self, word: &str, words: &[String]) -> Problem {
        Problem { unknown: Some(Box::new((word.to_owned(), words.to_vec()))), ..self }
    }
    /// With the way out.
    pub fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }
}

/// In one line: "`leaves`: ...".
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Problem { key, message, hint, .. } = self;
        write!(f, "`{key}`: {message}")?;
        hint.iter().try_for_each(|hint| write!(f, " ({hint})"))
    }
}
