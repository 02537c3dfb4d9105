//! Lines of data files with their places, and distributions in such files.

use units::measure::{Measure, Term};
use units::{Cdf, Excerpt};

use crate::error::{Checked, Fault};

/// The columns of a file of messages.
pub(crate) const COLUMNS: [&str; 5] = ["start", "src", "dst", "bytes", "deadline"];
/// Former names of columns, which are read with a note, and their names.
pub(crate) const FORMER: [(&str, &str); 2] = [("from", "src"), ("to", "dst")];

/// A line of a file with its number.
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
        excerpt.line = self.number;
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
    let first = contents
        .filter(|content| !content.is_empty())
        .find_map(|content| content.split([' ', '\t', ',', ';']).map(cell).find(|part| !part.is_empty()));
    first.is_none_or(|part| {
        let is_column = |name: &str| name.eq_ignore_ascii_case(part);
        part.parse::<f64>().is_ok()
            || COLUMNS.into_iter().chain(FORMER.map(|(former, _)| former)).chain(["size"]).any(is_column)
    })
}

pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() > 40 { text.chars().take(40).chain(['…']).collect() } else { text.to_owned() }
}

/// Reads a distribution from two columns: values (bytes, seconds or shares) and the probability, from 0 to 1 or from 0
/// to 100, of staying at or below each.
pub(crate) fn cdf(file: &str, text: &str, measure: Measure) -> Checked<Cdf> {
    let scale = if measure == Measure::Time { 1e12 } else { 1.0 };
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut last = Line::first(file, text);
    for line in Line::all(file, text).filter(|line| !line.content().is_empty()) {
        let content = line.content();
        let columns: Vec<&str> = content.split([' ', '\t', ',', ';']).filter(|part| !part.is_empty()).collect();
        let [value, probability] = columns[..] else {
            let message =
                format!("two columns are expected, a value and its cumulative probability, not {}", columns.len());
            return Err(line.fault(content, message));
        };
        let point = (line.number(value, "the value")? * scale, line.number(probability, "the probability")?);
        measure.value(&Term::of(point.0, measure)).map_err(|_| line.fault(value, "this value is too large"))?;
        if point.1 > 100.0 {
            return Err(line.fault(probability, "a probability is at most 1, or 100 in percent"));
        }
        if let Some(before) = points.last() {
            if point.0 < before.0 {
                return Err(line.fault(value, "the values must not fall from line to line"));
            }
            if point.1 < before.1 {
                return Err(line.fault(probability, "the probabilities must not fall from line to line"));
            }
        }
        points.push(point);
        last = line;
    }
    let Some(&(largest, end)) = points.last() else {
        return Err(last
            .fault("", "the file holds no distribution")
            .hint("each line needs a value and its cumulative probability"));
    };
    if end != 1.0 && end != 100.0 {
        return Err(
            last.fault(last.content(), format!("the last probability must be 1 (or 100 in percent), not {end}"))
        );
    }
    if largest == 0.0 {
        return Err(last.fault(last.content(), "all values are 0"));
    }
    let points = points.into_iter().map(|(value, probability)| (value, probability / end)).collect();
    Cdf::new(points).map_err(|message| last.fault("", message))
}

/// Returns the text of a cell, without quotes.
pub(crate) fn cell(text: &str) -> &str {
    text.trim().trim_matches('"').trim()
}
