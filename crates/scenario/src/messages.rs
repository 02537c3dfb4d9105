//! Files of messages: CSV, JSON objects, and the flow files of the HPCC simulator.

use serde_json::{Map, Value as Json};
use sim::traffic::ENTRY_KEYS;
use units::measure::{Measure, Term};
use units::{Deadline, Default, Distribution, FlowSpec, HostId, Instant, Key, Kind, Nested, Range, Values, counted};

use crate::context::Context;
use crate::document::Node;
use crate::error::{At, Checked, Fault, clip};
use crate::evaluate;
use crate::lines::{COLUMNS, FORMER, IN_FILE, Line, cell, is_written, shorten, written};
use crate::of_request;
use crate::suggest;

/// Maximum number of messages in a file.
const MAX_FLOWS: usize = 5_000_000;

/// The keys of a table that names a file of messages.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "path",
        kind: Kind::Text,
        default: Default::Required,
        range: Range::ANY,
        help: "its path, relative to the scenario's folder",
        source: "",
    },
    Key {
        name: "columns",
        kind: Kind::Named(&THEIRS),
        default: Default::Absent,
        range: Range::ANY,
        help: "the file's names of its columns: { start = \"time\", src = \"sender\" }",
        source: "",
    },
    Key {
        name: "unit",
        kind: Kind::Time,
        default: Default::Is("1 s"),
        range: Range::POSITIVE,
        help: "a time of 1 in the file, where neither a unit nor the name of the column (`start_ns`) says it",
        source: "",
    },
    Key {
        name: "first_host",
        kind: Kind::Count,
        default: Default::Is("0"),
        range: Range::ANY,
        help: "the number that the file gives to host 0",
        source: "",
    },
];

const THEIRS: Nested = Nested { what: "column", keys: &[IN_FILE], shorthand: Some("in_file"), example: "\"time\"" };

/// The meaning of a file's names and numbers.
pub(crate) struct Shape {
    /// Our names of columns, each with the file's.
    columns: Vec<(String, String)>,
    /// Picoseconds of a plain time of 1.
    unit: f64,
    /// The file's number of host 0.
    first_host: u64,
}

impl Shape {
    /// Returns the shape of the checked values of a table that names a file.
    ///
    /// # Errors
    /// The name that is no column of ours.
    pub(crate) fn of(values: &Values) -> Result<Shape, String> {
        let columns: Vec<(String, String)> =
            values.tables("columns").iter().map(|column| (column.text("name"), column.text("in_file"))).collect();
        match columns.iter().find(|(ours, _)| !COLUMNS.contains(&ours.as_str())) {
            Some((ours, _)) => Err(ours.clone()),
            None => Ok(Shape { columns, unit: values.time("unit").0 as f64, first_host: values.count("first_host") }),
        }
    }
}

impl core::default::Default for Shape {
    fn default() -> Shape {
        Shape { columns: Vec::new(), unit: 1e12, first_host: 0 }
    }
}

/// Reads messages from the text of a file: CSV with a header, JSON objects, or the flow file of the HPCC simulator.
pub(crate) fn flows(file: &str, text: &str, shape: &Shape, context: &Context) -> Checked<Vec<FlowSpec>> {
    let mut lines = Line::all(file, text).filter(|line| !line.content().is_empty());
    let Some(first) = lines.next() else {
        return Err(Line::first(file, text).fault("", "the file holds no messages").hint(HEADER));
    };
    let flows = match first.content().parse::<u64>() {
        Ok(count) => hpcc(first, count, lines, shape, context)?,
        Err(_) if first.content().starts_with(['{', '[']) => objects(file, text, shape, context)?,
        Err(_) => csv(first, lines, shape, context)?,
    };
    match flows.is_empty() {
        true => Err(first.fault(first.content(), "the file holds no messages")),
        false => Ok(flows),
    }
}

const HEADER: &str = "a CSV file starts with the header start,src,dst,bytes,deadline";

/// The columns of a file by position.
struct Columns {
    start: usize,
    src: usize,
    dst: usize,
    bytes: usize,
    deadline: Option<usize>,
    /// Picoseconds of a plain 1 in the columns of times.
    units: [f64; 2],
}

impl Columns {
    /// Finds the columns among the names in a file; `fault` makes the fault for one of them, or for all.
    fn find(
        file: &str,
        names: &[&str],
        shape: &Shape,
        context: &Context,
        fault: impl Fn(Option<&str>, String) -> Fault,
    ) -> Checked<Columns> {
        let (mut places, mut units) = ([None; 5], [shape.unit; 2]);
        let mut ignored = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let (column, unit) = match column_of(name, shape, file, context) {
                Some(found) => found,
                None => {
                    let is_taken = |near: &&str| shape.columns.iter().any(|(ours, _)| ours == near);
                    let near = suggest::nearest(name, COLUMNS).filter(|near| !is_taken(near));
                    if near.is_some() {
                        let unknown = fault(Some(name), format!("unknown column `{}`", shorten(name)));
                        return Err(unknown.did_you_mean(near, || HEADER.into()));
                    }
                    ignored.push(shorten(name));
                    continue;
                }
            };
            if places[column].replace(place).is_some() {
                return Err(fault(Some(name), format!("the column `{}` appears twice", COLUMNS[column])));
            }
            if let Some(unit) = unit {
                units[usize::from(column == DEADLINE)] = unit;
            }
        }
        let [Some(start), Some(src), Some(dst), Some(bytes), deadline] = places else {
            let missing = places.iter().position(Option::is_none).unwrap_or_default();
            let theirs = shape.columns.iter().find(|(ours, _)| ours == COLUMNS[missing]);
            let called = theirs.map_or_else(String::new, |(_, theirs)| format!(", called `{}`,", clip(theirs)));
            let missing = fault(None, format!("the column `{}`{called} is missing", COLUMNS[missing]));
            return Err(missing.hint(HEADER));
        };
        if !ignored.is_empty() {
            let names = suggest::list(ignored.iter().map(String::as_str));
            let (s, is) = if ignored.len() == 1 { ("", "is") } else { ("s", "are") };
            context.files.note(format!("{file}: the column{s} {names} {is} not read"));
        }
        Ok(Columns { start, src, dst, bytes, deadline, units })
    }
}

impl Columns {
    /// Returns true if a column is none of ours.
    fn is_other(&self, place: usize) -> bool {
        ![Some(self.start), Some(self.src), Some(self.dst), Some(self.bytes), self.deadline].contains(&Some(place))
    }
}

/// The position of `deadline` among the columns.
const DEADLINE: usize = 4;
/// Endings of the names of columns of times, with their picoseconds.
const UNITS: [(&str, f64); 5] = [("_ps", 1.0), ("_ns", 1e3), ("_us", 1e6), ("_ms", 1e9), ("_s", 1e12)];

/// Returns the column of a name in a file, and the unit that the name says.
fn column_of(name: &str, shape: &Shape, file: &str, context: &Context) -> Option<(usize, Option<f64>)> {
    let position = |wanted: &str| COLUMNS.iter().position(|column| column.eq_ignore_ascii_case(wanted));
    if let Some((ours, _)) = shape.columns.iter().find(|(_, theirs)| theirs == name) {
        return Some((position(ours)?, None));
    }
    let is_free = |column: &usize| shape.columns.iter().all(|(ours, _)| ours != COLUMNS[*column]);
    if let Some((_, known)) = FORMER.iter().find(|(former, _)| former.eq_ignore_ascii_case(name)) {
        context.files.note(format!("{file}: the columns `from` and `to` are called `src` and `dst`"));
        return Some((position(known).filter(is_free)?, None));
    }
    let known = if name.eq_ignore_ascii_case("size") { "bytes" } else { name };
    if let Some(column) = position(known).filter(is_free) {
        return Some((column, None));
    }
    let lower = name.to_ascii_lowercase();
    let (stem, unit) = UNITS.iter().find_map(|(ending, unit)| Some((lower.strip_suffix(ending)?, *unit)))?;
    let column = position(stem).filter(|column| [0, DEADLINE].contains(column)).filter(is_free)?;
    Some((column, Some(unit)))
}

fn csv<'a>(
    header: Line<'a>,
    lines: impl Iterator<Item = Line<'a>>,
    shape: &Shape,
    context: &Context,
) -> Checked<Vec<FlowSpec>> {
    let names: Vec<&str> = header.content().split(',').map(cell).collect();
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    if header.content().split_whitespace().count() >= 5 && header.content().split_whitespace().all(is_number) {
        let message = "the number of messages is expected before them";
        return Err(header.fault(header.content(), message).hint("the HPCC simulator's flow files begin with it"));
    }
    if names.iter().all(|name| is_number(name)) {
        return Err(header
            .fault(header.content(), "the names of the columns are expected before the data")
            .hint(HEADER));
    }
    let columns = Columns::find(header.file, &names, shape, context, |name, message| {
        header.fault(name.unwrap_or(header.content()), message)
    })?;
    let mut flows = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.content().split(',').map(cell).collect();
        if cells.len() != names.len() && !(cells.len() + 1 == names.len() && columns.deadline == Some(cells.len())) {
            let message = format!("the header has {} columns, this line has {}", names.len(), cells.len());
            return Err(line.fault(line.content(), message));
        }
        push(&mut flows, line, message(line, &cells, &columns, shape, context)?)?;
    }
    Ok(flows)
}

/// Reads JSON objects: one after the other, or in a list.
fn objects(file: &str, text: &str, shape: &Shape, context: &Context) -> Checked<Vec<FlowSpec>> {
    let skipped = |at: usize| at + (text[at..].len() - text[at..].trim_start().len());
    let start = skipped(text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len());
    let is_list = text[start..].starts_with('[');
    let mut at = skipped(start + usize::from(is_list));
    let (mut flows, mut counted, mut number) = (Vec::new(), 0, 1);
    while at < text.len() && !(is_list && text[at..].starts_with(']')) {
        number += text[counted..at].matches('\n').count();
        counted = at;
        // A scenario from elsewhere may name any file of this machine: nothing is shown of one that holds no messages.
        let hidden = |message: &str| Line::hidden(file, number).fault("", message);
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Map<String, Json>>();
        let Some(Ok(object)) = values.next() else {
            return Err(hidden("a JSON object with the columns of one message is expected here"));
        };
        let end = at + values.byte_offset();
        let line = Line::object(file, number, &text[text[..at].rfind('\n').map_or(0, |at| at + 1)..end]);
        let names: Vec<&str> = object.keys().map(String::as_str).collect();
        if flows.is_empty() && names.iter().all(|name| column_of(name, shape, file, context).is_none()) {
            return Err(hidden("this object has none of the columns start, src, dst, bytes"));
        }
        let place = |name: &str| {
            text[at..end].find(&format!("\"{name}\"")).map_or("", |found| &text[at + found..][..name.len() + 2])
        };
        let columns =
            Columns::find(file, &names, shape, context, |name, message| line.fault(name.map_or("", place), message))?;
        let mut cells = Vec::new();
        for (name, value) in &object {
            let part = written(&text[at..end], name);
            match value {
                Json::Null => cells.push(""),
                value if is_written(value, part) => cells.push(part),
                // Of other columns.
                _ if columns.is_other(cells.len()) => cells.push(""),
                _ => return Err(line.fault(place(name), format!("`{}` must be a number or a text", shorten(name)))),
            }
        }
        push(&mut flows, line, message(line, &cells, &columns, shape, context)?)?;
        at = skipped(end);
        let is_next = text[at..].starts_with(',');
        if is_list && !is_next && !text[at..].starts_with(']') {
            return Err(line.fault("", "`,` or `]` is expected after this object"));
        }
        at = if is_list && is_next { skipped(at + 1) } else { at };
    }
    match is_list && at < text.len() && skipped(at + 1) < text.len() {
        true => Err(Line::hidden(file, number).fault("", "nothing is expected after the list that ends here")),
        false => Ok(flows),
    }
}

/// Reads one message from the cells of a row.
fn message(line: Line, cells: &[&str], columns: &Columns, shape: &Shape, context: &Context) -> Checked<FlowSpec> {
    let deadline = columns.deadline.and_then(|at| cells.get(at)).filter(|text| !text.is_empty());
    let bytes = cells[columns.bytes];
    if bytes.is_empty() {
        let message =
            if deadline.is_some() { "a deadline without a size: `bytes` is empty" } else { "`bytes` is empty" };
        return Err(line.fault(line.content(), message));
    }
    let [start_unit, deadline_unit] = columns.units;
    let start = time(line, cells[columns.start], start_unit, context)?;
    let deadline = match deadline {
        None => None,
        Some(text) => Some(deadline_of(line, text, deadline_unit, context)?.scaled(context.deadline_factor)),
    };
    let (from, to) = hosts(line, cells[columns.src], cells[columns.dst], shape, context)?;
    Ok(FlowSpec { from, to, size: Distribution::Constant(size(line, bytes, context)?), start, deadline })
}

/// Reads a time, or a multiple of the time in an empty network.
fn deadline_of(line: Line, text: &str, unit: f64, context: &Context) -> Checked<Deadline> {
    let node = Node::bare(text, At::new(0, 0..text.len()));
    let key = ENTRY_KEYS.iter().find(|key| key.name == COLUMNS[DEADLINE]).expect("entries of `flows` have a deadline");
    let times = match text.parse::<f64>() {
        Ok(_) => None,
        Err(_) => of_request::times_alone(key, &node, context).map_err(|fault| in_line(fault, line, text))?,
    };
    if let Some((times, _)) = times {
        return Ok(Deadline::TimesAlone(times));
    }
    let allowed = measured(line, text, (Measure::Time, unit), context)?;
    if allowed <= 0.0 {
        return Err(line.fault(text, "a deadline must be above 0"));
    }
    Ok(Deadline::Time { base: Distribution::Constant(allowed), vary: None })
}

fn size(line: Line, text: &str, context: &Context) -> Checked<f64> {
    let size = measured(line, text, (Measure::Size, 1.0), context)?.round();
    if size < 1.0 {
        return Err(line.fault(text, "a message has at least 1 byte"));
    }
    Ok(size)
}

fn time(line: Line, text: &str, unit: f64, context: &Context) -> Checked<Instant> {
    Ok(Instant::from_ps_f64(measured(line, text, (Measure::Time, unit), context)?))
}

/// Reads a plain number of a unit, or a text with a unit.
fn measured(line: Line, text: &str, (measure, unit): (Measure, f64), context: &Context) -> Checked<f64> {
    let node = Node::bare(text, At::new(0, 0..text.len()));
    let value = match text.parse::<f64>() {
        Ok(plain) => Ok(Term::of(plain * unit, measure)),
        Err(_) => evaluate::evaluate_node(&node, context.parameters, context.names()),
    };
    let value = value.and_then(|term| evaluate::value_of(&term, measure, node.at));
    value.map_err(|fault| in_line(fault, line, text))
}

/// Returns the fault of a text of a line, with its place in the file.
fn in_line(fault: Fault, line: Line, text: &str) -> Fault {
    fault.within(|range, message| line.fault(text.get(range).unwrap_or(text), message))
}

/// The columns of the HPCC simulator's flow files; that of ConWeave has no port.
const HPCC: &str = "source, destination, priority group, port (ConWeave: none), bytes, start in seconds";

fn hpcc<'a>(
    first: Line<'a>,
    count: u64,
    mut lines: impl Iterator<Item = Line<'a>>,
    shape: &Shape,
    context: &Context,
) -> Checked<Vec<FlowSpec>> {
    let mut flows: Vec<FlowSpec> = Vec::new();
    for line in lines.by_ref().take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let columns: Vec<&str> = line.content().split_whitespace().collect();
        let (from, to, group, port, bytes, text) = match columns[..] {
            [from, to, group, port, bytes, start] => (from, to, group, port, bytes, start),
            [from, to, group, bytes, start] => (from, to, group, group, bytes, start),
            _ => {
                let message = format!("six columns are expected, not {}", columns.len());
                return Err(line.fault(line.content(), message).hint(HPCC));
            }
        };
        line.number(group, "the priority group")?;
        line.number(port, "the port")?;
        let size = Distribution::Constant(size(line, bytes, context)?);
        let start = time(line, text, shape.unit, context)?;
        if let Some(before) = flows.last().filter(|before| before.start > start) {
            let message =
                format!("this flow starts before the one above it, at {start} and not from {} on", before.start);
            return Err(line.fault(text, message).hint("the HPCC simulator's flows are in the order of their starts"));
        }
        let (from, to) = hosts(line, from, to, shape, context)?;
        push(&mut flows, line, FlowSpec { from, to, size, start, deadline: None })?;
    }
    if (flows.len() as u64) < count {
        let message = format!("the first line announces {}, the file has {}", counted(count, "message"), flows.len());
        return Err(first.fault(first.content(), message));
    }
    // Texts behind the counted flows are remarks, as in the simulator's own examples.
    let is_flow = |line: &Line| {
        let columns = || line.content().split_whitespace();
        [5, 6].contains(&columns().count()) && columns().all(|column| column.parse::<f64>().is_ok())
    };
    let more = lines.filter(is_flow).count() as u64;
    if more > 0 {
        let (file, said, are) = (first.file, counted(count, "message"), if more == 1 { "is" } else { "are" });
        context.files.note(format!("{file}: the first line announces {said}, the other {more} {are} not read"));
    }
    Ok(flows)
}

fn push(flows: &mut Vec<FlowSpec>, line: Line, flow: FlowSpec) -> Checked<()> {
    if flows.len() == MAX_FLOWS {
        return Err(line.fault("", format!("a file has at most {MAX_FLOWS} messages")));
    }
    flows.push(flow);
    Ok(())
}

fn hosts(line: Line, from: &str, to: &str, shape: &Shape, context: &Context) -> Checked<(HostId, HostId)> {
    let first = shape.first_host;
    let host = |text: &str| {
        let number =
            text.parse::<u32>().map_err(|_| line.fault(text, format!("`{}` is not a host's number", shorten(text))))?;
        let Some(host) = u64::from(number).checked_sub(first) else {
            return Err(line.fault(text, format!("host {number} is before the file's first, {first}")));
        };
        context.check_host(host).map_err(|message| match (first, context.hosts) {
            (0, Some(hosts)) if host == u64::from(hosts) => {
                let hint = "if the file counts its hosts from 1, write file = { path = \"..\", first_host = 1 }";
                line.fault(text, message).hint(hint)
            }
            (0, _) => line.fault(text, message),
            _ => line.fault(text, format!("host {number} of the file: {message}")),
        })
    };
    let pair = (host(from)?, host(to)?);
    match pair.0 == pair.1 {
        true => Err(line.fault(to, format!("host {} would send to itself", pair.0))),
        false => Ok(pair),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Sources;
    use crate::evaluate::Parameters;
    use crate::files::Files;

    fn shown(fault: Fault) -> String {
        let error = Sources::new("t", "").error(fault);
        format!("{}:{}:{} {}", error.file(), error.line(), error.column(), error.message())
    }

    fn read_flows(text: &str) -> Result<Vec<FlowSpec>, String> {
        read_noted(text, Shape::default()).0
    }

    /// Returns the messages of a file for four hosts, and the notes on it.
    fn read_noted(text: &str, shape: Shape) -> (Result<Vec<FlowSpec>, String>, Vec<String>) {
        let (parameters, files) = (Parameters::new(std::collections::BTreeMap::default()), Files::default());
        let context = Context {
            parameters: &parameters,
            files: &files,
            hosts: Some(4),
            profile: sim::profile::DEFAULT,
            deadline_factor: 1.0,
            requests: None,
        };
        let flows = flows("f.csv", text, &shape, &context).map_err(shown);
        (flows, files.take_notes())
    }

    #[test]
    fn file_that_does_not_begin_as_data_is_not_shown() {
        let hidden = "f.csv:1:1 the file does not begin with numbers or column names, so that none of it is shown";
        assert_eq!(read_flows("root:$6$salt$hash:19000:0:99999:7:::\n").unwrap_err(), hidden);
        assert_eq!(read_flows("key = hidden\n").unwrap_err(), hidden);
        assert_eq!(read_flows("start,key\n").unwrap_err(), "f.csv:1:1 the column `src` is missing");
        let json = read_flows("{\"password\": \"hidden\"}").unwrap_err();
        assert_eq!(json, "f.csv:1:1 this object has none of the columns start, src, dst, bytes");
    }

    #[test]
    fn other_columns_are_named_in_a_note_and_a_mistyped_one_is_refused() {
        let (flows, notes) = read_noted("id,src,dst,size,start,tag\n0,0,1,1000,0.001,a\n", Shape::default());
        assert_eq!(flows.unwrap()[0].start, Instant::from_millis(1));
        assert_eq!(notes, ["f.csv: the columns `id`, `tag` are not read".replace("`, `", "` and `")]);
        assert_eq!(
            read_flows("start,src,dst,bytes,deadlin\n0,0,1,9,\n").unwrap_err(),
            "f.csv:1:21 unknown column `deadlin`"
        );
    }

    #[test]
    fn the_name_of_a_column_may_say_its_unit() {
        let flows = read_flows("start_ns,src,dst,bytes,deadline_us\n1000,0,1,1000,20\n2 ms,1,2,9,\n").unwrap();
        assert_eq!(
            flows.iter().map(|flow| flow.start).collect::<Vec<_>>(),
            [Instant(1_000_000), Instant::from_millis(2)]
        );
        assert_eq!(flows[0].deadline, Some(Deadline::Time { base: Distribution::Constant(2e7), vary: None }));
    }

    #[test]
    fn a_table_says_names_units_and_the_first_host() {
        let columns = [("start", "t"), ("src", "a")].map(|(ours, theirs)| (ours.to_owned(), theirs.to_owned()));
        let shape = || Shape { columns: columns.to_vec(), unit: 1e3, first_host: 10 };
        let (flows, notes) = read_noted("t,a,dst,bytes,src\n5,10,13,9,x\n", shape());
        let flow = &flows.unwrap()[0];
        assert_eq!((flow.start, flow.from, flow.to), (Instant(5000), HostId(0), HostId(3)));
        assert_eq!(notes, ["f.csv: the column `src` is not read"]);
        let wrong = |text: &str| read_noted(text, shape()).0.unwrap_err();
        assert_eq!(wrong("t,a,dst,bytes\n5,9,13,9\n"), "f.csv:2:3 host 9 is before the file's first, 10");
        assert_eq!(
            wrong("t,a,dst,bytes\n5,10,14,9\n"),
            "f.csv:2:6 host 14 of the file: host 4 does not exist; the network has hosts 0 to 3"
        );
        assert_eq!(wrong("start,a,dst,bytes\n5,10,14,9\n"), "f.csv:1:1 the column `start`, called `t`, is missing");
        let (flows, _) = read_noted("1\n10 12 3 100 9 7\n", shape());
        assert_eq!((flows.as_ref().unwrap()[0].start, flows.unwrap()[0].to), (Instant(7000), HostId(2)));
    }

    #[test]
    fn objects_are_read_one_by_one_and_in_a_list() {
        let one = "{\"start\": 0.001, \"src\": 0, \"dst\": 1, \"bytes\": 1000, \"deadline\": \"5 ms\"}";
        let two = "{\"id\": [1], \"start\": \"2 ms\",\n \"src\": 1,\n \"dst\": 2, \"size\": 9, \"deadline\": null}";
        let lines = read_flows(&format!("{one}\n{two}\n")).unwrap();
        assert_eq!(lines.iter().map(|flow| flow.start).collect::<Vec<_>>(), [1, 2].map(Instant::from_millis));
        assert_eq!(lines[1].size, Distribution::Constant(9.0));
        assert_eq!(read_flows(&format!("[{one},\n{two}]\n")).unwrap(), lines);
        let wrong = |text: String| read_flows(&text).unwrap_err();
        assert_eq!(
            wrong(format!("[{one},\n{}]", two.replace("\"dst\": 2", "\"dst\": 7"))),
            "f.csv:4:9 host 7 does not exist; the network has hosts 0 to 3"
        );
        assert_eq!(
            wrong(format!("[{one},\n{}]", two.replace("\"dst\": 2", "\"dst\": [2]"))),
            "f.csv:4:2 `dst` must be a number or a text"
        );
        assert_eq!(wrong(format!("[{one}\n{two}]")), "f.csv:1:1 `,` or `]` is expected after this object");
        assert_eq!(
            wrong(format!("{one}\nhidden")),
            "f.csv:2:1 a JSON object with the columns of one message is expected here"
        );
    }

    #[test]
    fn flows_of_hpcc_are_in_order_and_those_not_announced_are_named() {
        let (flows, notes) =
            read_noted("1\n0 1 3 100 9 2\n1 2 3 100 9 2\nsrc dst 3 port size start\n", Shape::default());
        assert_eq!((flows.unwrap().len(), notes.len()), (1, 1));
        assert_eq!(notes[0], "f.csv: the first line announces 1 message, the other 1 is not read");
        let weave = read_flows("2\n0 1 3 9000 2\n1 2 3 9 2.5\n").unwrap();
        assert_eq!(weave[0].size, Distribution::Constant(9000.0));
        assert_eq!(
            read_flows("2\n0 1 3 100 9 2\n1 2 3 100 9 1.5\n").unwrap_err(),
            "f.csv:3:13 this flow starts before the one above it, at 1.5 s and not from 2 s on"
        );
        assert_eq!(
            read_flows("0 1 3 100 1000 0.1\n").unwrap_err(),
            "f.csv:1:1 the number of messages is expected before them"
        );
        assert_eq!(
            read_flows("0,0,1,1000\n").unwrap_err(),
            "f.csv:1:1 the names of the columns are expected before the data"
        );
    }

    #[test]
    fn both_kinds_of_flow_files_are_read() {
        let csv = "start,src,dst,bytes,deadline\n0,0,1,1000,\n5 ms,1,2,14 KB,20 ms\n0.5,2,3,10\n";
        let flows = read_flows(csv).unwrap();
        assert_eq!(flows.len(), 3);
        assert_eq!((flows[1].start, flows[1].size.clone()), (Instant::from_millis(5), Distribution::Constant(14e3)));
        assert_eq!(flows[1].deadline, Some(Deadline::Time { base: Distribution::Constant(2e10), vary: None }));
        assert_eq!((flows[2].start, flows[2].deadline.clone()), (Instant::from_millis(500), None));
        let hpcc = "2\n0 1 3 100 200000000 2\n2 1 3 100 1000 2.000000001\n\nFirst line: # of flows\n";
        let flows = read_flows(hpcc).unwrap();
        assert_eq!((flows.len(), flows[1].start), (2, Instant(2_000_000_001_000)));
    }

    #[test]
    fn mistakes_in_a_flow_file_name_its_line() {
        let wrong = |text: &str| read_flows(text).unwrap_err();
        let header = "start,src,dst,bytes,deadline\n";
        let line = |line: &str| wrong(&format!("{header}{line}\n"));
        assert_eq!(line("0,0,9,10,"), "f.csv:2:5 host 9 does not exist; the network has hosts 0 to 3");
        assert_eq!(line("0,1,1,10,"), "f.csv:2:5 host 1 would send to itself");
        assert_eq!(line("0,0,1,,5 ms"), "f.csv:2:1 a deadline without a size: `bytes` is empty");
        assert_eq!(line("0,0,1,14 KX,"), "f.csv:2:10 unknown unit `KX`");
        assert_eq!(line("-1,0,1,14,"), "f.csv:2:1 a time cannot be negative, this is -1 s");
        assert_eq!(line("0,0,1"), "f.csv:2:1 the header has 5 columns, this line has 3");
        assert_eq!(wrong("start,scr,dst,bytes\n"), "f.csv:1:7 unknown column `scr`");
        assert_eq!(wrong("start,src,dst\n"), "f.csv:1:1 the column `bytes` is missing");
        assert_eq!(wrong("start,src,from,bytes\n"), "f.csv:1:11 the column `src` appears twice");
        assert_eq!(wrong("3\n0 1 3 100 10 1\n"), "f.csv:1:1 the first line announces 3 messages, the file has 1");
        assert_eq!(wrong("1\n0 1 3 100\n"), "f.csv:2:1 six columns are expected, not 4");
        assert!(wrong("").contains("no messages") && wrong("0\n").contains("no messages"));
    }
}
