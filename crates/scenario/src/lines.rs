//! Lines of data files with their places.

use serde_json::Value as Json;
use units::{Default, Excerpt, Key, Kind, Range};

use crate::error::{Checked, Fault};

/// The columns of a file of messages.
pub(crate) const COLUMNS: [&str; 5] = ["start", "src", "dst", "bytes", "deadline"];
/// Former names of columns, which are read with a note, and their names.
pub(crate) const FORMER: [(&str, &str); 2] = [("from", "src"), ("to", "dst")];

/// The key of a column that has another name in a file.
pub(crate) const IN_FILE: Key = Key {
    name: "in_file",
    kind: Kind::Text,
    default: Default::Required,
    range: Range::ANY,
    help: "its name in the file",
    source: "",
};

/// A line of a file with its number, or the lines of an object.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) file: &'a str,
    pub(crate) number: usize,
    pub(crate) text: &'a str,
    /// The file begins as data: its lines may be shown.
    is_data: bool,
}

impl<'a> Line<'a> {
    pub(crate) fn all(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_data = begins_as_data(text);
        text.lines().enumerate().map(move |(i, text)| Line { file, number: i + 1, text, is_data })
    }
    /// Returns the lines of a file that may be shown.
    pub(crate) fn shown(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
        text.lines().enumerate().map(move |(i, text)| Line { file, number: i + 1, text, is_data: true })
    }
    /// Returns the lines of an object in a file from that number on, of which any part may be shown.
    pub(crate) fn object(file: &'a str, number: usize, text: &'a str) -> Line<'a> {
        Line { file, number, text, is_data: true }
    }
    /// Returns a line without its text, for mistakes in files of which nothing may be shown.
    pub(crate) fn hidden(file: &'a str, number: usize) -> Line<'a> {
        Line { file, number, text: "", is_data: true }
    }
    /// Returns the first line, also of an empty file.
    pub(crate) fn first(file: &'a str, text: &'a str) -> Line<'a> {
        Line { file, number: 1, text: text.lines().next().unwrap_or_default(), is_data: begins_as_data(text) }
    }
    /// Returns the line without its comment.
    pub(crate) fn content(self) -> &'a str {
        self.text.split('#').next().unwrap_or_default().trim()
    }
    /// Returns a mistake at a part of the line (a slice of its text), or at all of it.
    pub(crate) fn fault(self, part: &str, message: impl Into<String>) -> Fault {
        if !self.is_data {
            // A scenario from elsewhere may name any file of this machine.
            let message = "the file does not begin with numbers or column names, so that none of it is shown";
            return Fault::elsewhere(self.excerpt("", 0..0), message);
        }
        let start = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let range = match self.text.get(start..start.saturating_add(part.len())) {
            Some(_) if !part.is_empty() => start..start + part.len(),
            _ => 0..self.text.len(),
        };
        Fault::elsewhere(self.excerpt(self.text, range), message)
    }
    /// Returns an excerpt with the number of this line.
    fn excerpt(self, text: &str, range: std::ops::Range<usize>) -> Excerpt {
        let mut excerpt = Excerpt::of(self.file, text, range);
        excerpt.line += self.number - 1;
        excerpt
    }
    pub(crate) fn number(self, part: &str, what: &str) -> Checked<f64> {
        match part.parse::<f64>() {
            Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
            _ => Err(self.fault(part, format!("{what} must be a number of 0 or more, not `{}`", shorten(part)))),
        }
    }
}

/// Returns whether the first content of a file is what data files begin with: a number, or a name of a column.
fn begins_as_data(text: &str) -> bool {
    let contents = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let Some(first) = contents.map(parts).find(|parts| !parts.is_empty()) else { return true };
    // A name that only a file of messages has, such as `start_ns`, may be first.
    let columns = || COLUMNS.into_iter().chain(FORMER.map(|(former, _)| former)).chain(["size"]);
    let is_column = |part: &&&str| columns().any(|name| name.eq_ignore_ascii_case(part));
    first[0].parse::<f64>().is_ok() || is_column(&&first[0]) || first.iter().filter(is_column).count() > 1
}

pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() > 40 { text.chars().take(40).chain(['…']).collect() } else { text.to_owned() }
}

/// Returns the text of a cell, without quotes.
pub(crate) fn cell(text: &str) -> &str {
    text.trim().trim_matches('"').trim()
}

/// Returns the text of a column's value in a JSON object: every digit of a number, the content of a text.
pub(crate) fn written<'a>(line: &'a str, column: &str) -> &'a str {
    let behind = line.find(&format!("\"{column}\"")).map_or("", |at| &line[at + column.len() + 2..]);
    let value = behind.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
    match value.strip_prefix('"') {
        Some(text) => text.split('"').next().unwrap_or_default(),
        None => value.split([',', '}', ']']).next().unwrap_or_default().trim_end(),
    }
}

/// Returns true if a text is that value; a number of more digits than a float has is rounded in the value.
pub(crate) fn is_written(value: &Json, text: &str) -> bool {
    match value {
        Json::String(content) => content == text,
        _ => match (value.as_f64(), text.parse::<f64>()) {
            (Some(value), Ok(written)) => (value - written).abs() <= 1e-12 * value.abs(),
            _ => false,
        },
    }
}

/// Returns the parts of a line that are not empty.
fn parts(content: &str) -> Vec<&str> {
    content.split([' ', '\t', ',', ';']).map(cell).filter(|part| !part.is_empty()).collect()
}
