//! Errors with their place: file, line, column, the line itself, a caret, and a hint.

use std::fmt;

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
        let (text, column) = excerpt.window();
        let gutter = excerpt.line.to_string().len();
        let width = excerpt.width.clamp(1, text.chars().count().saturating_sub(column).max(1));
        writeln!(f, "error: {message}")?;
        writeln!(f, "{:gutter$}--> {}:{}:{}", "", excerpt.file, excerpt.line, excerpt.column)?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{} | {text}", excerpt.line)?;
        write!(f, "{:gutter$} | {:column$}{}", "", "", "^".repeat(width))?;
        match hint {
            Some(hint) => write!(f, "\n{:gutter$} = {hint}", ""),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// A place in a text, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    file: String,
    line: usize,
    column: usize,
    /// Characters that the carets mark.
    width: usize,
    text: String,
}

impl Excerpt {
    /// Returns the place of a range of bytes in a text.
    pub(crate) fn of(file: &str, text: &str, range: std::ops::Range<usize>) -> Excerpt {
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
    /// Returns a whole line of a file that is read line by line.
    pub(crate) fn line_of(file: &str, line: usize, text: &str, range: std::ops::Range<usize>) -> Excerpt {
        Excerpt { line, ..Excerpt::of(file, text, range) }
    }

    /// Returns the part of the line to show, and the caret's position in it (from 0).
    fn window(&self) -> (String, usize) {
        const MOST: usize = 120;
        const BEFORE: usize = 60;
        // Tabs, control and invisible characters would put the caret in the wrong place.
        let plain = |c: char| if c == '\t' { ' ' } else { c };
        let shown = |c: char| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c };
        let column = self.column - 1;
        let skip = if column > MOST - BEFORE / 2 { column - BEFORE } else { 0 };
        let text = self.text.chars().skip(skip).take(MOST).map(plain).map(shown).collect::<String>();
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
    /// Says what it is about before the message.
    pub(crate) fn of(mut self, what: &str) -> Fault {
        self.message = format!("{what}: {}", self.message);
        self
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

    #[test]
    fn any_range_has_a_place() {
        for text in ["", "\n", "a\r\nb", "µµ\n\u{1F600}x", "\t\u{7}"] {
            for start in 0..=text.len() + 1 {
                for end in start..=text.len() + 2 {
                    let error = shown(text, start..end);
                    assert!(error.line() >= 1 && error.column() >= 1);
                    assert!(error.to_string().lines().count() >= 5);
                }
            }
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let text = format!("{}!{}", "a".repeat(5000), "b".repeat(5000));
        let printed = shown(&text, 5000..5001).to_string();
        let lines: Vec<&str> = printed.lines().collect();
        assert!(lines[3].len() < 140);
        assert_eq!(lines[3].chars().nth(lines[4].find('^').unwrap()), Some('!'));
    }
}
