//! A mistake in a file with its location, shown as for scenarios: file, line, column, the line itself and carets.

use std::ops::Range;

/// A mistake in a file.
#[derive(Debug)]
pub struct Mistake {
    /// The range of bytes in the file.
    pub at: Range<usize>,
    /// The description of the mistake, in one sentence.
    pub message: String,
    /// A suggested correction, if one is known.
    pub hint: Option<String>,
}

impl Mistake {
    /// Returns a mistake without a suggestion.
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Mistake {
        Mistake { at, message: message.into(), hint: None }
    }
    /// Adds a suggestion to the mistake.
    pub fn hint(self, hint: impl Into<String>) -> Mistake {
        Mistake { hint: Some(hint.into()), ..self }
    }
    /// Returns the mistake with its excerpt, over several lines.
    pub fn show(&self, file: &str, text: &str) -> String {
        units::Excerpt::of(file, text, self.at.clone()).report(&self.message, self.hint.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_below_the_place() {
        let text = "a = 1\n\tdedline = '2 ms'\n";
        let at = text.find("dedline").unwrap();
        let shown =
            Mistake::new(at..at + 7, "there is no key dedline").hint("did you mean deadline?").show("p.toml", text);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], " --> p.toml:2:2");
        assert_eq!(lines[3], "2 |  dedline = '2 ms'");
        assert_eq!(lines[4], "  |  ^^^^^^^");
        assert_eq!(lines[5], "  = did you mean deadline?");
        assert!(Mistake::new(500..900, "x").show("p", text).contains("p:3:1"), "beyond the end");
    }
}
