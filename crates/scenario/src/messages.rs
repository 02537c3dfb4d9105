//! Readers of data files: distributions and lists of messages.

use sim::traffic::ENTRY_KEYS;
use units::measure::{Measure, Term};
use units::{Deadline, Distribution, FlowSpec, HostId, Instant, counted};

use crate::context::Context;
use crate::document::Node;
use crate::error::{At, Checked, Fault};
use crate::evaluate;
use crate::lines::{COLUMNS, FORMER, Line, cell, shorten};
use crate::of_request;
use crate::suggest;

/// Maximum number of messages in a file.
const MAX_FLOWS: usize = 5_000_000;

/// Reads messages from a file: CSV with a header, or the flow file of the HPCC simulator.
pub(crate) fn flows(file: &str, text: &str, context: &Context) -> Checked<Vec<FlowSpec>> {
    let mut lines = Line::all(file, text).filter(|line| !line.content().is_empty());
    let Some(first) = lines.next() else {
        return Err(Line::first(file, text).fault("", "the file holds no messages").hint(HEADER));
    };
    let flows = match first.content().parse::<u64>() {
        Ok(count) => hpcc(first, count, lines, context)?,
        Err(_) => csv(first, lines, context)?,
    };
    match flows.is_empty() {
        true => Err(first.fault(first.content(), "the file holds no messages")),
        false => Ok(flows),
    }
}

const HEADER: &str = "a CSV file starts with the header start,src,dst,bytes,deadline";

fn csv<'a>(header: Line<'a>, lines: impl Iterator<Item = Line<'a>>, context: &Context) -> Checked<Vec<FlowSpec>> {
    let mut columns = [None; 5];
    let names: Vec<&str> = header.content().split(',').map(cell).collect();
    for (i, name) in names.iter().enumerate() {
        let former = FORMER.iter().find(|(former, _)| former.eq_ignore_ascii_case(name));
        let known = match former {
            Some((_, known)) => known,
            None if name.eq_ignore_ascii_case("size") => "bytes",
            None => name,
        };
        if former.is_some() {
            context.files.note(format!("{}: the columns `from` and `to` are called `src` and `dst`", header.file));
        }
        match COLUMNS.iter().position(|column| column.eq_ignore_ascii_case(known)) {
            Some(column) if columns[column].is_some() => {
                return Err(header.fault(name, format!("the column `{}` appears twice", COLUMNS[column])));
            }
            Some(column) => columns[column] = Some(i),
            None => {
                let fault = header.fault(name, format!("unknown column `{}`", shorten(name)));
                return Err(fault.did_you_mean(suggest::nearest(name, COLUMNS), || HEADER.into()));
            }
        }
    }
    let [Some(start), Some(from), Some(to), Some(bytes), deadline] = columns else {
        let missing = COLUMNS.iter().zip(columns).find(|(_, at)| at.is_none()).map_or("", |(name, _)| name);
        return Err(header.fault(header.content(), format!("the column `{missing}` is missing")).hint(HEADER));
    };
    let mut flows = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.content().split(',').map(cell).collect();
        if cells.len() != names.len() && !(cells.len() + 1 == names.len() && deadline == Some(cells.len())) {
            let message = format!("the header has {} columns, this line has {}", names.len(), cells.len());
            return Err(line.fault(line.content(), message));
        }
        let deadline = deadline.and_then(|at| cells.get(at)).filter(|text| !text.is_empty());
        if cells[bytes].is_empty() {
            let message =
                if deadline.is_some() { "a deadline without a size: `bytes` is empty" } else { "`bytes` is empty" };
            return Err(line.fault(line.content(), message));
        }
        let size = measured(line, cells[bytes], Measure::Size, context)?.round();
        if size < 1.0 {
            return Err(line.fault(cells[bytes], "a message has at least 1 byte"));
        }
        let start = Instant::from_ps_f64(measured(line, cells[start], Measure::Time, context)?);
        let deadline = match deadline {
            None => None,
            Some(text) => Some(deadline_of(line, text, context)?.scaled(context.deadline_factor)),
        };
        let (from, to) = hosts(line, cells[from], cells[to], context)?;
        push(&mut flows, line, FlowSpec { from, to, size: Distribution::Constant(size), start, deadline })?;
    }
    Ok(flows)
}

/// Reads a time, or a multiple of the time in an empty network.
fn deadline_of(line: Line, text: &str, context: &Context) -> Checked<Deadline> {
    let node = Node::bare(text, At::new(0, 0..text.len()));
    let key = ENTRY_KEYS.iter().find(|key| key.name == COLUMNS[4]).expect("entries of `flows` have a deadline");
    let times = match text.parse::<f64>() {
        Ok(_) => None,
        Err(_) => of_request::times_alone(key, &node, context).map_err(|fault| in_line(fault, line, text))?,
    };
    if let Some((times, _)) = times {
        return Ok(Deadline::TimesAlone(times));
    }
    let allowed = measured(line, text, Measure::Time, context)?;
    if allowed <= 0.0 {
        return Err(line.fault(text, "a deadline must be above 0"));
    }
    Ok(Deadline::Time { base: Distribution::Constant(allowed), vary: None })
}

/// Reads a plain number of bytes or seconds, or a text with a unit.
fn measured(line: Line, text: &str, measure: Measure, context: &Context) -> Checked<f64> {
    let scale = if measure == Measure::Time { 1e12 } else { 1.0 };
    let node = Node::bare(text, At::new(0, 0..text.len()));
    let value = match text.parse::<f64>() {
        Ok(plain) => Ok(Term::of(plain * scale, measure)),
        Err(_) => evaluate::evaluate_node(&node, context.parameters, context.names()),
    };
    let value = value.and_then(|term| evaluate::value_of(&term, measure, node.at));
    value.map_err(|fault| in_line(fault, line, text))
}

/// Returns the fault of a text of a line, with its place in the file.
fn in_line(fault: Fault, line: Line, text: &str) -> Fault {
    fault.within(|range, message| line.fault(text.get(range).unwrap_or(text), message))
}

fn hpcc<'a>(
    first: Line<'a>,
    count: u64,
    lines: impl Iterator<Item = Line<'a>>,
    context: &Context,
) -> Checked<Vec<FlowSpec>> {
    let mut flows = Vec::new();
    // Lines after the counted flows are remarks, as in the simulator's own examples.
    for line in lines.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let columns: Vec<&str> = line.content().split_whitespace().collect();
        let [from, to, group, port, bytes, start] = columns[..] else {
            let message = format!("six columns are expected, not {}", columns.len());
            return Err(line
                .fault(line.content(), message)
                .hint("source, destination, priority group, port, bytes, start in seconds"));
        };
        line.number(group, "the priority group")?;
        line.number(port, "the port")?;
        let size = measured(line, bytes, Measure::Size, context)?.round();
        if size < 1.0 {
            return Err(line.fault(bytes, "a message has at least 1 byte"));
        }
        let start = Instant::from_ps_f64(measured(line, start, Measure::Time, context)?);
        let (from, to) = hosts(line, from, to, context)?;
        push(&mut flows, line, FlowSpec { from, to, size: Distribution::Constant(size), start, deadline: None })?;
    }
    if (flows.len() as u64) < count {
        let message = format!("the first line announces {}, the file has {}", counted(count, "message"), flows.len());
        return Err(first.fault(first.content(), message));
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

fn hosts(line: Line, from: &str, to: &str, context: &Context) -> Checked<(HostId, HostId)> {
    let host = |text: &str| {
        let host =
            text.parse::<u32>().map_err(|_| line.fault(text, format!("`{}` is not a host's number", shorten(text))))?;
        context.check_host(u64::from(host)).map_err(|message| line.fault(text, message))
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
    use crate::lines::cdf;

    fn shown(fault: Fault) -> String {
        let error = Sources::new("t", "").error(fault);
        format!("{}:{}:{} {}", error.file(), error.line(), error.column(), error.message())
    }

    fn read_flows(text: &str) -> Result<Vec<FlowSpec>, String> {
        let parameters = Parameters::new(Default::default());
        let context = Context {
            parameters: &parameters,
            files: &Files::default(),
            hosts: Some(4),
            profile: sim::profile::DEFAULT,
            deadline_factor: 1.0,
            requests: None,
        };
        flows("f.csv", text, &context).map_err(shown)
    }

    #[test]
    fn distributions_in_shares_or_percent_are_the_same() {
        let a = cdf("a", "# bytes share\n100 0.5\n200, 1\n", Measure::Size).unwrap();
        let b = cdf("b", "100\t50\n\n200 100 # end\n", Measure::Size).unwrap();
        assert_eq!(a, b);
        assert_eq!(cdf("c", "0.001 0\n0.002 1\n", Measure::Time).unwrap().mean(), 1.5e9);
    }

    #[test]
    fn mistakes_in_a_distribution_name_its_line() {
        let wrong = |text| shown(cdf("sizes.txt", text, Measure::Size).unwrap_err());
        assert_eq!(wrong("1 0\n2 x\n"), "sizes.txt:2:3 the probability must be a number of 0 or more, not `x`");
        assert_eq!(wrong("5 0\n2 1\n"), "sizes.txt:2:1 the values must not fall from line to line");
        assert_eq!(wrong("1 0.5\n2 0.4\n"), "sizes.txt:2:3 the probabilities must not fall from line to line");
        assert_eq!(wrong("1 0\n2 0.7\n"), "sizes.txt:2:1 the last probability must be 1 (or 100 in percent), not 0.7");
        assert_eq!(
            wrong("1 2 3\n"),
            "sizes.txt:1:1 two columns are expected, a value and its cumulative probability, not 3"
        );
        assert!(wrong("").starts_with("sizes.txt:1:1 "));
    }

    #[test]
    fn file_that_does_not_begin_as_data_is_not_shown() {
        let hidden = "f:1:1 the file does not begin with numbers or column names, so that none of it is shown";
        let secret = "root:$6$salt$hash:19000:0:99999:7:::\ndaemon:*:1 2\n";
        let fault = cdf("f", secret, Measure::Size).unwrap_err();
        let error = Sources::new("t", "").error(fault.clone());
        assert_eq!(shown(fault), hidden);
        assert!(!error.to_string().contains("root"), "{error}");
        assert!(read_flows("key = hidden\n").unwrap_err().contains("none of it is shown"));
        assert!(read_flows("start,key\n").unwrap_err().contains("unknown column `key`"));
    }

    #[test]
    fn distribution_without_extent_is_refused() {
        let wrong = |text| shown(cdf("sizes.txt", text, Measure::Size).unwrap_err());
        assert!(wrong("0 1\n").contains("all values are 0"));
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
        assert_eq!(wrong("1\n0 1 3 100 10\n"), "f.csv:2:1 six columns are expected, not 5");
        assert!(wrong("").contains("no messages") && wrong("0\n").contains("no messages"));
    }
}
