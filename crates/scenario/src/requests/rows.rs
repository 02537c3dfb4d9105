//! Files with a row for each request: CSV with a header, or one JSON object per line.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};
use units::RequestTrace;

use super::{Requests, Shape};
use crate::error::{Checked, Fault, clip};
use crate::lines::{Line, cell, is_written, written};
use crate::suggest;

pub(super) fn read(file: &str, text: &str, shape: &Shape) -> Checked<RequestTrace> {
    let mut lines = Line::shown(file, text).filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'));
    let Some(first) = lines.next() else {
        return Err(Line::hidden(file, 1).fault("", "the file holds no requests"));
    };
    if first.text.trim_start().starts_with('{') {
        return json_lines(first, lines, shape);
    }
    if shape.with_cached {
        let message = "prefixes are in `hash_ids` of JSON lines, this file has none";
        return Err(Line::hidden(file, first.number).fault("", message));
    }
    csv(first, lines, shape)
}

/// Returns the file's names of the wanted columns.
fn wanted(shape: &Shape) -> impl Iterator<Item = &str> + Clone {
    shape.columns.iter().map(|(_, theirs)| theirs.as_str())
}

/// Returns the fault for a column that is missing among `found`.
///
/// A scenario from elsewhere may name any file of this machine: nothing is shown of one that has no wanted column.
fn missing<'a>(line: Line, shape: &Shape, column: &str, found: impl Iterator<Item = &'a str> + Clone) -> Fault {
    let near = suggest::nearest(column, found.clone());
    if near.is_none() && found.clone().all(|name| wanted(shape).all(|wanted| wanted != name)) {
        let message = format!("this line has none of the columns {}", suggest::list(wanted(shape)));
        return Line::hidden(line.file, line.number).fault("", message).hint("so none of the file is shown");
    }
    let fault = line.fault("", format!("the column `{}` is missing", clip(column)));
    fault.did_you_mean(near, || format!("the columns are {}", suggest::list(found.take(20))))
}

fn csv<'a>(header: Line<'a>, lines: impl Iterator<Item = Line<'a>>, shape: &Shape) -> Checked<RequestTrace> {
    let mut names = Vec::new();
    let mut has_column = |separator: &char| {
        split(header.text, *separator, &mut names);
        names.iter().any(|name| wanted(shape).any(|wanted| wanted == *name))
    };
    let separator = [',', ';', '\t'].into_iter().find(|separator| has_column(separator)).unwrap_or(',');
    split(header.text, separator, &mut names);
    let mut places = Vec::new();
    for column in wanted(shape) {
        let mut at = (0..names.len()).filter(|&i| names[i] == column);
        match (at.next(), at.next()) {
            (Some(place), None) => places.push(place),
            (Some(_), Some(twice)) => {
                return Err(header.fault(names[twice], format!("the column `{}` appears twice", clip(column))));
            }
            (None, _) => return Err(missing(header, shape, column, names.iter().copied())),
        }
    }
    let (mut requests, mut last, mut cells) = (Requests::new(shape), header, Vec::new());
    for line in lines {
        if requests.is_full() {
            break;
        }
        split(line.text, separator, &mut cells);
        if cells.len() != names.len() {
            let message = format!("the header has {} columns, this line has {}", names.len(), cells.len());
            return Err(line.fault("", message));
        }
        requests.arrive(line, (cells[places[0]], cells[places[0]]))?;
        for (column, place) in wanted(shape).zip(&places).skip(1) {
            requests.value(line, (cells[*place], cells[*place]), column)?;
        }
        last = line;
    }
    requests.done(last)
}

/// Splits a line of CSV; a cell in quotes may hold the separator.
fn split<'a>(line: &'a str, separator: char, cells: &mut Vec<&'a str>) {
    cells.clear();
    let mut in_quotes = false;
    let parts = line.split(|c: char| {
        in_quotes ^= c == '"';
        c == separator && !in_quotes
    });
    cells.extend(parts.map(cell));
}

fn json_lines<'a>(first: Line<'a>, lines: impl Iterator<Item = Line<'a>>, shape: &Shape) -> Checked<RequestTrace> {
    let (mut requests, mut last, mut seen) = (Requests::new(shape), first, BTreeSet::new());
    for line in std::iter::once(first).chain(lines) {
        if requests.is_full() {
            break;
        }
        let row = match serde_json::from_str::<Map<String, Json>>(line.text) {
            Ok(row) => row,
            // The content of a file that does not begin as wanted is not shown.
            Err(_) if requests.trace.arrivals.is_empty() => {
                return Err(Line::hidden(line.file, line.number).fault("", "this line is no JSON object"));
            }
            Err(_) => return Err(line.fault("", "this line is no JSON object")),
        };
        for (index, column) in wanted(shape).enumerate() {
            let Some(value) = row.get(column) else {
                return Err(missing(line, shape, column, row.keys().map(String::as_str)));
            };
            let part = written(line.text, column);
            let text = match value {
                _ if is_written(value, part) => part.to_owned(),
                Json::String(content) => content.clone(),
                other => other.to_string(),
            };
            match index {
                0 => requests.arrive(line, (part, &text))?,
                _ => requests.value(line, (part, &text), column)?,
            }
        }
        if shape.with_cached {
            let tokens = cached(line, &row, &mut seen)?;
            let input = requests.trace.values.iter().rev().nth(shape.columns.len() - 1 - INPUT);
            let input = input.copied().unwrap_or_default();
            requests.trace.values.push(tokens.min(input));
        }
        last = line;
    }
    requests.done(last)
}

/// The column of Mooncake's requests that says how many tokens each has.
const INPUT: usize = 1;
/// Tokens of one block of Mooncake's prefixes.
const BLOCK: f64 = 512.0;

/// Returns the tokens in the blocks at the beginning of a request that are in `seen`, and adds all its blocks.
fn cached(line: Line, row: &Map<String, Json>, seen: &mut BTreeSet<u64>) -> Checked<f64> {
    let blocks = row.get("hash_ids").and_then(Json::as_array);
    let blocks = blocks.and_then(|blocks| blocks.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>());
    let blocks = blocks.ok_or_else(|| line.fault("", "`hash_ids` must be a list of whole numbers"))?;
    let known = blocks.iter().take_while(|block| seen.contains(block)).count();
    seen.extend(blocks);
    Ok(known as f64 * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_quotes_hold_separators() {
        let mut cells = Vec::new();
        split("1, \"a, b\" ,\"3\"", ',', &mut cells);
        assert_eq!(cells, ["1", "a, b", "3"]);
    }

    #[test]
    fn values_of_json_are_found_as_they_are_written() {
        let line = r#"{"a": 1700000000.1234567, "b":"2023-11-16 18:15:00", "c": [1, 2], "d":3}"#;
        assert_eq!(
            ["a", "b", "d", "e"].map(|key| written(line, key)),
            ["1700000000.1234567", "2023-11-16 18:15:00", "3", ""]
        );
    }
}
