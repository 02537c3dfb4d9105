//! The file of coflow-benchmark: a first line with the numbers of racks and coflows, then a line for each coflow.
//!
//! `id arrival-in-ms mappers rack .. reducers rack:megabytes ..`

use units::{RequestTrace, counted};

use super::{Requests, Shape};
use crate::error::{Checked, clip};
use crate::lines::Line;

/// Bytes of the file's megabyte, as the benchmark's own simulator reads it.
const MEGABYTE: f64 = 1048576.0;

pub(super) fn read(file: &str, text: &str, shape: &Shape) -> Checked<RequestTrace> {
    let mut lines = Line::shown(file, text).filter(|line| !line.text.trim().is_empty());
    let head = lines.next().filter(|line| heading(line.text).is_some());
    let Some((head, announced)) = head.and_then(|line| Some((line, heading(line.text)?))) else {
        let fault = Line::hidden(file, 1).fault("", "the file does not begin with the numbers of racks and coflows");
        return Err(fault.hint("its first line is for example 150 526"));
    };
    let (mut requests, mut last) = (Requests::new(shape), head);
    while !requests.is_full()
        && let Some(line) = lines.next()
    {
        coflow(&mut requests, line)?;
        last = line;
    }
    let found = requests.trace.arrivals.len() as u64;
    if found != announced && !requests.is_full() {
        let message = format!("the first line announces {}, the file has {found}", counted(announced, "coflow"));
        return Err(head.fault(head.text, message));
    }
    requests.done(last)
}

/// Returns the number of coflows that a first line announces.
fn heading(line: &str) -> Option<u64> {
    let numbers = line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
    if let [_, coflows] = numbers[..] { Some(coflows) } else { None }
}

fn coflow(requests: &mut Requests, line: Line) -> Checked<()> {
    let mut words = line.text.split_whitespace();
    let mut next = |what: &str| words.next().ok_or_else(|| line.fault("", format!("{what} is missing in this line")));
    let whole = |word: &str, what: &str| {
        let number = word.parse::<u32>();
        number.map_err(|_| line.fault(word, format!("{what} must be a whole number, not `{}`", clip(word))))
    };
    next("the coflow's number")?;
    let arrival = next("the time of arrival")?;
    requests.arrive(line, (arrival, arrival))?;
    let mappers = whole(next("the number of mappers")?, "the number of mappers")?;
    for _ in 0..mappers {
        whole(next("a mapper's rack")?, "a mapper's rack")?;
    }
    let reducers = whole(next("the number of reducers")?, "the number of reducers")?;
    let mut bytes = 0.0;
    for _ in 0..reducers {
        let word = next("a reducer")?;
        let megabytes = word.split_once(':').and_then(|(_, megabytes)| megabytes.parse::<f64>().ok());
        bytes += megabytes.filter(|megabytes| *megabytes >= 0.0 && megabytes.is_finite()).ok_or_else(|| {
            line.fault(word, format!("a reducer is its rack and its megabytes, like 7:12, not `{}`", clip(word)))
        })?;
    }
    if let Some(word) = words.next() {
        return Err(line.fault(word, format!("`{}` is more than the reducers of this line", clip(word))));
    }
    requests.trace.values.extend([f64::from(mappers), f64::from(reducers), bytes * MEGABYTE]);
    Ok(())
}
