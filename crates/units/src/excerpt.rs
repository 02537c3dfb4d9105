//! Excerpts of texts: the place of a mistake, its line, and carets below.

use std::ops::Range;

/// A place in a text, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The name of the text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Number of characters that the carets mark.
    width: usize,
    text: String,
}

impl Excerpt {
    /// Returns the place of a range of bytes in a text.
    pub fn of(file: &str, text: &str, range: Range<usize>) -> Excerpt {
        let start = floor_boundary(text, range.start);
        let end = floor_boundary(text, range.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let line = text[line_start..line_end].trim_end_matches('\r');
        // A place behind the last character of the line is shown right after it.
        let start = start.min(line_start + line.len());
        let end = end.clamp(start, line_start + line.len());
        Excerpt {
            file: file.to_owned(),
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end].chars().count(),
            text: line.to_owned(),
        }
    }

    /// Returns a message with the excerpt, and the hint if there is one, over several lines.
    pub fn report(&self, message: &str, hint: Option<&str>) -> String {
        let (text, column) = self.window();
        let width = self.width.clamp(1, text.chars().count().saturating_sub(column).max(1));
        let Excerpt { file, line, .. } = self;
        let gutter = " ".repeat(line.to_string().len());
        let (below, carets) = (" ".repeat(column), "^".repeat(width));
        let hint = hint.map_or_else(String::new, |hint| format!("\n{gutter} = {hint}"));
        format!(
            "{message}\n{gutter}--> {file}:{line}:{}\n{gutter} |\n{line} | {text}\n{gutter} | {below}{carets}{hint}",
            self.column
        )
    }

    /// Returns the part of the line to show, and the caret's position in it (from 0).
    fn window(&self) -> (String, usize) {
        const MAX_LENGTH: usize = 120;
        const BEFORE: usize = 60;
        // Tabs, control and invisible characters would put the caret in the wrong place.
        let plain = |c: char| if c == '\t' { ' ' } else { c };
        let shown = |c: char| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c };
        let column = self.column - 1;
        let skip = if column > MAX_LENGTH - BEFORE / 2 { column - BEFORE } else { 0 };
        let text = self.text.chars().skip(skip).take(MAX_LENGTH).map(plain).map(shown).collect::<String>();
        (text.trim_end().to_owned(), column - skip)
    }
}

/// Returns true for zero-width and direction-changing characters.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str, range: Range<usize>) -> String {
        Excerpt::of("a.toml", text, range).report("error: no", Some("write yes"))
    }

    #[test]
    fn carets_are_below_the_range() {
        let text = "x = 1\nname = \"wrong\"\n";
        let expected = "error: no\n --> a.toml:2:8\n  |\n2 | name = \"wrong\"\n  |        ^^^^^^^\n  = write yes";
        assert_eq!(report(text, 13..20), expected);
        assert_eq!(report(text, 13..900), expected, "beyond the end");
        let without = Excerpt::of("a.toml", text, 13..20).report("error: no", None);
        assert_eq!(format!("{without}\n  = write yes"), expected);
    }

    #[test]
    fn any_range_has_a_place() {
        for text in ["", "\n", "a\r\nb", "µµ\n\u{1F600}x", "\t\u{7}"] {
            for start in 0..=text.len() + 1 {
                for end in start..=text.len() + 2 {
                    let excerpt = Excerpt::of("a.toml", text, start..end);
                    assert!(excerpt.line >= 1 && excerpt.column >= 1);
                    assert_eq!(excerpt.report("no", None).lines().count(), 5);
                }
            }
        }
    }

    #[test]
    fn long_line_is_cut_around_the_caret() {
        let text = format!("{}!{}", "a".repeat(5000), "b".repeat(5000));
        let printed = report(&text, 5000..5001);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines[1], " --> a.toml:1:5001");
        assert!(lines[3].len() < 140);
        assert_eq!(lines[3].chars().nth(lines[4].find('^').unwrap()), Some('!'));
        // A position beyond the text is on its last line.
        assert!(report(&text, 70_000..70_001).contains("a.toml:1:10002"));
    }

    #[test]
    fn control_characters_take_one_column_each() {
        let printed = report("\ta\u{7}\u{200b}x", 6..7);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!((lines[3], lines[4]), ("1 |  a\u{fffd}\u{fffd}x", "  |     ^"));
    }
}
