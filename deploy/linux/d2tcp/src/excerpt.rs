//! A mistake in a file with its location: file, line, column, the line itself and a caret, as for scenarios.

use std::ops::Range;

/// The maximum length of a line that is shown, in characters. Formatting fails for a caret beyond 65,535.
const MAX_LINE: usize = 400;

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
        let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (start, end) = (boundary(self.at.start), boundary(self.at.end));
        let begin = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[begin..].lines().next().unwrap_or("");
        let number = text[..begin].matches('\n').count() + 1;
        let column = text[begin..start].chars().count();
        let width = text[start..end.clamp(start, (begin + line.len()).max(start))].chars().count().max(1);
        let gutter = number.to_string().len();
        // A tab would misplace the caret, and other control characters could do worse.
        let line: String = line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect();
        let mut shown = format!("{}\n{:gutter$}--> {file}:{number}:{}", self.message, "", column + 1);
        if line.chars().count() <= MAX_LINE {
            let (below, carets) = (" ".repeat(column), "^".repeat(width));
            shown += &format!("\n{:gutter$} |\n{number} | {line}\n{:gutter$} | {below}{carets}", "", "");
        }
        if let Some(hint) = &self.hint {
            shown += &format!("\n{:gutter$} = {hint}", "");
        }
        shown
    }
}

/// Returns the valid word most similar to `word`; none if no word is similar.
pub fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = valid.into_iter().map(|valid| (strsim::jaro_winkler(word, valid), valid));
    near.filter(|(alike, _)| *alike > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, valid)| valid)
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
        let long = format!("{}x", "#".repeat(100_000));
        assert_eq!(Mistake::new(100_000..100_001, "wrong").show("p", &long), "wrong\n --> p:1:100001");
        assert_eq!(nearest("dedline", ["deadline", "cap"]), Some("deadline"));
        assert_eq!(nearest("zzz", ["deadline", "cap"]), None);
    }
}
