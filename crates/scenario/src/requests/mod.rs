//! Files of requests: CSV, JSON lines, or coflows.
//!
//! A row is a request: the time of its arrival, and numbers that formulas use as `$name`.

mod coflows;
mod rows;
mod time;

use serde_json::{Value as Json, json};
use units::{Default, Instant, Key, Kind, Nested, Range, RequestTrace, Values};

use crate::context::Context;
use crate::document::{Data, Entry, Node, Table};
use crate::error::{Checked, Fault, clip};
use crate::lines::{IN_FILE, Line};
use crate::ranges::wrong;
use crate::suggest;
use crate::values::read_table;

/// A known format of such files.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) source: &'static str,
    /// Our names of its columns with the file's, the arrival first.
    columns: &'static [(&'static str, &'static str)],
    /// Picoseconds of one unit of its plain times.
    unit: u64,
    is_coflows: bool,
}

const SECOND: u64 = 1_000_000_000_000;
const MILLISECOND: u64 = SECOND / 1000;

/// The formats by name.
pub(crate) const FORMATS: &[Format] = &[
    Format {
        name: "azure-llm",
        help: "the inference traces of Azure, 2023 and 2024: columns `input` and `output`, in tokens",
        source: "AzurePublicDataset, AzureLLMInferenceTrace",
        columns: &[(ARRIVAL, "TIMESTAMP"), ("input", "ContextTokens"), ("output", "GeneratedTokens")],
        unit: SECOND,
        is_coflows: false,
    },
    Format {
        name: "burstgpt",
        help: "two months of a service with GPT-3.5 and GPT-4: columns `input` and `output`, in tokens; failed requests \
               have an output of 0; models and types are not told apart",
        source: "BurstGPT, arXiv:2401.17644",
        columns: &[(ARRIVAL, "Timestamp"), ("input", "Request tokens"), ("output", "Response tokens")],
        unit: SECOND,
        is_coflows: false,
    },
    Format {
        name: "mooncake",
        help: "JSON lines with times in milliseconds: columns `input` and `output`, in tokens, and `cached` with \
               `prefix = true`",
        source: "Mooncake, FAST 2025",
        columns: &[(ARRIVAL, "timestamp"), ("input", "input_length"), ("output", "output_length")],
        unit: MILLISECOND,
        is_coflows: false,
    },
    Format {
        name: "coflow",
        help: "the coflows of a cluster: columns `mappers`, `reducers` and `bytes` of all of them (a megabyte is \
               1048576 bytes, as in CoflowSim); the racks, and the share of each reducer, are not represented",
        source: "coflow-benchmark, FB2010-1Hr-150-0.txt",
        columns: &[(ARRIVAL, ""), ("mappers", ""), ("reducers", ""), ("bytes", "")],
        unit: MILLISECOND,
        is_coflows: true,
    },
];

const NAMES: &[&str] = &["azure-llm", "burstgpt", "mooncake", "coflow"];

/// Our name of the column of times.
const ARRIVAL: &str = "arrival";
/// The column of tokens that are the same as in earlier requests.
const CACHED: &str = "cached";

/// The keys of the table that names a file.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "file",
        kind: Kind::Text,
        default: Default::Required,
        range: Range::ANY,
        help: "its path, relative to the scenario's folder: CSV with a header, or one JSON object per line",
        source: "",
    },
    Key {
        name: "format",
        kind: Kind::Choice(NAMES),
        default: Default::Absent,
        range: Range::ANY,
        help: "a known format, which gives the columns",
        source: "",
    },
    Key {
        name: "columns",
        kind: Kind::Named(&COLUMNS),
        default: Default::Absent,
        range: Range::ANY,
        help: "names for formulas, each with its name in the file; `arrival` is the time, in seconds or as a date with a \
               time of day",
        source: "",
    },
    Key {
        name: "speed",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::POSITIVE.less_is_easier(),
        help: "the times between arrivals are divided by it",
        source: "",
    },
    Key {
        name: "limit",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::at_least(1.0).less_is_easier(),
        help: "only so many requests, from the first",
        source: "",
    },
    Key {
        name: "prefix",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "format mooncake: adds the column `cached`, tokens at the beginning of the input that the trace had \
               before, by blocks of 512; as if a cache kept all of them",
        source: "Mooncake, FAST 2025",
    },
];

const COLUMNS: Nested =
    Nested { what: "column", keys: &[IN_FILE], shorthand: Some("in_file"), example: "\"TIMESTAMP\"" };

/// Reads the file that a table names, and returns its requests and the table as it is written.
pub(crate) fn read(key: &Key, node: &Node, context: &Context) -> Checked<(RequestTrace, Json)> {
    let Data::Table(table) = &node.data else {
        return Err(wrong(key, node, "a table with the path of a file"));
    };
    let title = format!("`{}`", key.name);
    let names = || KEYS.iter().map(|key| key.name);
    let unknown = |entry: &Entry| {
        let fault = Fault::new(entry.key_at, format!("unknown key `{}` in {title}", clip(&entry.key)));
        fault.did_you_mean(suggest::nearest(&entry.key, names()), || format!("its keys are {}", suggest::list(names())))
    };
    let keys: Vec<&'static Key> = KEYS.iter().collect();
    let read = read_table(table, &title, &keys, &[], context, unknown)?;
    let shape = Shape::new(table, &read.values, context)?;
    let path = read.values.text("file");
    let at = table.find("file").map_or(table.at, |entry| entry.node.at);
    let text = context.files.read(&path, at, None)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let requests = match shape.is_coflows {
        true => coflows::read(&path, text, &shape)?,
        false => rows::read(&path, text, &shape)?,
    };
    Ok((requests, json!(read.written)))
}

/// The content that is wanted of a file.
struct Shape {
    /// Our names of the columns with the file's, the arrival first.
    columns: Vec<(String, String)>,
    unit: u64,
    is_coflows: bool,
    speed: f64,
    limit: usize,
    with_cached: bool,
}

impl Shape {
    fn new(table: &Table, values: &Values, context: &Context) -> Checked<Shape> {
        let at = |key: &str| table.find(key).map_or(table.at, |entry| entry.node.at);
        let format = values.choice_if_set("format").and_then(|name| FORMATS.iter().find(|known| known.name == name));
        let given = values.tables("columns");
        if format.is_none() && given.is_empty() {
            let fault = Fault::new(table.at, "a file of requests needs its `format` or its `columns`");
            let example = "columns = { arrival = \"time\", input = \"tokens\" }";
            return Err(fault.hint(format!("write format = \"azure-llm\", or for example {example}")));
        }
        if let (Some(format), false) = (format.filter(|format| format.is_coflows), given.is_empty()) {
            return Err(Fault::new(at("columns"), format!("the columns of format `{}` are fixed", format.name)));
        }
        let known = format.map_or(&[][..], |format| format.columns);
        let mut columns: Vec<(String, String)> =
            known.iter().map(|&(ours, theirs)| (ours.to_owned(), theirs.to_owned())).collect();
        for column in given {
            let (ours, theirs) = (column.text("name"), column.text("in_file"));
            match columns.iter_mut().find(|known| known.0 == ours) {
                Some(known) => known.1 = theirs,
                None => columns.push((ours, theirs)),
            }
        }
        let Some(arrival) = columns.iter().position(|(ours, _)| ours == ARRIVAL) else {
            let fault = Fault::new(at("columns"), format!("the column `{ARRIVAL}` is missing: when requests arrive"));
            return Err(fault.hint("write for example columns = { arrival = \"TIMESTAMP\" }"));
        };
        let first = columns.remove(arrival);
        columns.insert(0, first);
        let with_cached = values.bool("prefix");
        if with_cached && format.is_none_or(|format| format.name != "mooncake") {
            return Err(Fault::new(at("prefix"), "only requests of format `mooncake` have prefixes"));
        }
        let shape = Shape {
            columns,
            unit: format.map_or(SECOND, |format| format.unit),
            is_coflows: format.is_some_and(|format| format.is_coflows),
            speed: values.number("speed"),
            limit: values.count_if_set("limit").map_or(usize::MAX, |limit| limit as usize),
            with_cached,
        };
        shape.check_names(table, context)?;
        Ok(shape)
    }

    /// Rejects names of columns that no formula could use.
    fn check_names(&self, table: &Table, context: &Context) -> Checked<()> {
        let written = |name: &str| match table.find("columns").map(|entry| &entry.node.data) {
            Some(Data::Table(columns)) => columns.find(name).map(|entry| entry.key_at),
            _ => None,
        };
        for name in self.names() {
            let at = written(&name).or(table.find("format").map(|entry| entry.node.at)).unwrap_or(table.at);
            if context.parameters.has(&name) {
                let fault = Fault::new(at, format!("`{name}` is a column here and a parameter of [parameters]"));
                return Err(fault.hint(format!("give one of them another name: `${name}` could be either")));
            }
            if self.with_cached && name == CACHED && written(CACHED).is_some() {
                return Err(Fault::new(at, format!("`prefix` has a column `{CACHED}` of its own")));
            }
            if name.contains('-') {
                let fault = Fault::new(at, format!("`{name}` cannot be the name of a column"));
                return Err(fault.hint("a name has letters, digits and underscores, so that formulas can use `$name`"));
            }
        }
        Ok(())
    }

    /// Returns our names of the columns that formulas may use.
    fn names(&self) -> Vec<String> {
        let cached = self.with_cached.then(|| CACHED.to_owned());
        self.columns.iter().skip(1).map(|(ours, _)| ours.clone()).chain(cached).collect()
    }
}

/// The requests that have been read so far.
struct Requests<'a> {
    shape: &'a Shape,
    trace: RequestTrace,
    /// The first and the last arrival of the file, in picoseconds.
    span: Option<(i128, i128)>,
}

impl<'a> Requests<'a> {
    /// Maximum number of requests in a file.
    const MOST: usize = 5_000_000;
    /// The longest time from the first arrival that is a time of a run, in picoseconds.
    const LONGEST: u64 = 200 * 86_400 * SECOND;

    fn new(shape: &'a Shape) -> Requests<'a> {
        let trace = RequestTrace { columns: shape.names(), ..RequestTrace::default() };
        Requests { shape, trace, span: None }
    }

    /// Returns true if no more are wanted.
    fn is_full(&self) -> bool {
        self.trace.arrivals.len() >= self.shape.limit
    }

    /// Adds the arrival of a request, whose values are added after it: a text, and the part of the line that it is of.
    fn arrive(&mut self, line: Line, (part, text): (&str, &str)) -> Checked<()> {
        let Some(at) = time::parse(text, self.shape.unit) else {
            let message = format!("`{}` is no time", clip(text));
            return Err(line.fault(part, message).hint("a plain number, or a date like 2023-11-16 18:15:00.0559021"));
        };
        let (first, last) = self.span.unwrap_or((at, at));
        if at < last {
            let fault = line.fault(part, "this request arrives before the one above it");
            return Err(fault.hint("sort the file by the times of arrival"));
        }
        let after = time::divided(at - first, self.shape.speed);
        if after > u128::from(Requests::LONGEST) {
            let fault = line.fault(part, "this request arrives more than 200 days after the first");
            return Err(fault.hint("`limit` reads only the first requests, `speed` divides the times between them"));
        }
        if self.trace.arrivals.len() == Requests::MOST {
            let message = format!("a file has at most {} requests", Requests::MOST);
            return Err(line.fault("", message).hint("`limit` reads only the first of them"));
        }
        self.span = Some((first, at));
        self.trace.arrivals.push(Instant(after as u64));
        Ok(())
    }

    /// Adds a value of the request that has arrived: a text, and the part of the line that it is of.
    fn value(&mut self, line: Line, (part, text): (&str, &str), column: &str) -> Checked<()> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.trace.values.push(value);
                Ok(())
            }
            _ if text.is_empty() => Err(line.fault(part, format!("`{column}` is empty"))),
            _ => Err(line.fault(part, format!("`{column}` must be a number, not `{}`", clip(text)))),
        }
    }

    /// Returns all of them.
    fn done(self, last: Line) -> Checked<RequestTrace> {
        match self.trace.arrivals.is_empty() {
            true => Err(last.fault("", "the file holds no requests")),
            false => Ok(self.trace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_can_be_chosen() {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(names, NAMES);
        assert!(FORMATS.iter().all(|format| format.columns[0].0 == ARRIVAL));
    }
}
