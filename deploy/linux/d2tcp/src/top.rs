//! `d2tcp top`: the connections, live.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{IsTerminal, Read, Write as _};
use std::time::Duration;

use caps::Capability;
use clap::ValueEnum;

use serde::Serialize;
use units::counted;

use crate::attach;
use crate::enact;
use crate::escape::{self, Name};
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{self, Flow, MAX_WINDOW, ONE, Plain, UNIT};
use crate::maps::FLOWS;
use crate::owners::{Owners, Process};
use crate::place::{self, Pins};
use crate::privileges;
use crate::screen::{self, Screen};
use crate::status;

/// The order of the connections, from the top.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Sort {
    /// The nearest deadline first.
    Deadline,
    /// The largest window first.
    Cwnd,
    /// The most marked first.
    Alpha,
    /// The most urgent first.
    D,
    /// The most missed deadlines first.
    Missed,
    /// By the local end.
    Local,
    /// By the other end.
    Remote,
    /// By the process's name.
    Process,
    /// By the cgroup's path.
    Cgroup,
}

/// The view of the table: its order and its filter.
#[derive(Clone, Debug)]
pub struct View {
    /// The order of the rows.
    pub sort: Sort,
    /// Reverses this order if true.
    pub reverse: bool,
    /// Shows only rows with this text in an address, a process, a cgroup or a rule.
    pub filter: String,
}

/// The names of numbers in a row: owners and rules.
struct Names {
    owners: Owners,
    rules: BTreeMap<u32, Name>,
}

/// A connection, as `top --json` prints it.
#[derive(Debug, Serialize)]
struct Row {
    id: u64,
    netns: u64,
    local: String,
    remote: String,
    cwnd: f64,
    ssthresh: Option<f64>,
    alpha: f64,
    d: f64,
    p: f64,
    srtt_us: u32,
    ecn: bool,
    slow_start: bool,
    recovery: bool,
    expired: bool,
    limited: bool,
    bytes_acked: u64,
    bytes_left: Option<u64>,
    time_left_us: Option<f64>,
    messages: u64,
    met: u64,
    missed: u64,
    queued: u32,
    cuts: u64,
    losses: u64,
    rule: Option<Name>,
    process: Option<Process>,
    cgroup: Option<Name>,
}

impl Row {
    fn new(flow: &Flow, names: &Names) -> Row {
        let [local, remote] = flow.address.ends().map(|end| end.to_string());
        let waits = flow.flags & kernel::FLAG_DEADLINE != 0;
        let has = |flag| flow.flags & flag != 0;
        Row {
            id: flow.id,
            netns: flow.address.netns,
            local,
            remote,
            cwnd: flow.cwnd as f64 / UNIT as f64,
            ssthresh: (flow.ssthresh < MAX_WINDOW).then_some(flow.ssthresh as f64 / UNIT as f64),
            alpha: f64::from(flow.alpha) / f64::from(ONE),
            d: f64::from(flow.d) / UNIT as f64,
            p: f64::from(flow.p) / f64::from(ONE),
            srtt_us: flow.srtt_us,
            ecn: has(kernel::FLAG_ECN),
            slow_start: has(kernel::FLAG_SLOW_START),
            recovery: has(kernel::FLAG_RECOVERY),
            expired: has(kernel::FLAG_EXPIRED),
            limited: has(kernel::FLAG_LIMITED),
            bytes_acked: flow.bytes_acked,
            bytes_left: waits.then_some(flow.bytes_left),
            time_left_us: waits.then_some(flow.time_left_ns as f64 / 1000.0),
            messages: flow.messages,
            met: flow.met,
            missed: flow.missed,
            queued: flow.queued,
            cuts: flow.cuts,
            losses: flow.losses,
            rule: names.rules.get(&flow.rule).cloned(),
            process: names.owners.process(flow.inode).cloned(),
            cgroup: names.owners.cgroup(flow.cgroup).cloned(),
        }
    }
}

/// Runs `d2tcp top` until the operator ends it.
pub fn run(pins: &Pins, mut view: View, once: bool, json: bool) -> Result<()> {
    if attach::require(pins)?.unlisted != 0 {
        return Err(Failure::new(
            Kind::Unsupported,
            "this kernel refuses the list of connections: d2tcp check says why; status and metrics have the counts",
        ));
    }
    // These capabilities are only used to name the processes of other users.
    privileges::keep(&[Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH])?;
    let mut names = Names { owners: Owners::below(place::cgroup_root().ok()), rules: BTreeMap::new() };
    if json {
        for row in rows(pins, &mut names, &view)? {
            println!("{}", escape::json(&row).context("write JSON")?);
        }
        return Ok(());
    }
    if once || !std::io::stdout().is_terminal() {
        print!("{}", table(&rows(pins, &mut names, &view)?, usize::MAX, usize::MAX));
        return Ok(());
    }
    let screen = Screen::open();
    let ended = crate::trace::signals()?;
    let mut typing = None;
    while !ended.load(std::sync::atomic::Ordering::Relaxed) {
        let counters = status::counters(pins)?;
        let open = counters.opened.saturating_sub(counters.closed);
        let (height, width) = screen::size();
        let head = match &typing {
            Some(text) => format!("show only: {text}_  (Enter)"),
            None => view.head(open, counters.met, counters.missed),
        };
        // Move the cursor home, print the table, and clear the rows below it.
        let table = table(&rows(pins, &mut names, &view)?, height.saturating_sub(3), width);
        let text = format!("{}\n{table}", cut(&head, width)).replace('\n', "\x1b[K\n");
        print!("\x1b[H{text}\x1b[J");
        std::io::stdout().flush().context("write")?;
        if let Some(key) = screen.key(Duration::from_secs(1)) {
            if typing.is_none() && key == b'q' {
                break;
            }
            view.key(key, &mut typing);
        }
        attach::require(pins)?;
    }
    Ok(())
}

impl View {
    /// Returns the line above the table: the number of connections, the results of their messages, and the keys.
    fn head(&self, open: u64, met: u64, missed: u64) -> String {
        let sort = self.sort.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
        let filter = if self.filter.is_empty() { String::new() } else { format!(" ({})", Name::new(&self.filter)) };
        let (open, met) = (counted(open, "connection"), counted(met, "message"));
        format!("{open}, {met} met, {missed} missed   q quit, s sort ({sort}), r reverse, / filter{filter}")
    }
    /// Handles a key; `typing` is the text of a filter while the user types it.
    fn key(&mut self, key: u8, typing: &mut Option<String>) {
        match (typing.as_mut(), key) {
            (Some(text), b'\r' | b'\n') => {
                self.filter = std::mem::take(text);
                *typing = None;
            }
            (Some(_), 0x1b) => *typing = None,
            (Some(text), 0x7f | 0x08) => _ = text.pop(),
            (Some(text), b' '..=b'~') => text.push(key.into()),
            (None, b'/') => *typing = Some(String::new()),
            (None, b'r') => self.reverse = !self.reverse,
            (None, b's') => {
                let all = Sort::value_variants();
                let at = all.iter().position(|sort| *sort == self.sort).unwrap_or(0);
                self.sort = all[(at + 1) % all.len()];
            }
            _ => {}
        }
    }
    fn shows(&self, row: &Row) -> bool {
        let names = [row.rule.as_ref(), row.cgroup.as_ref()];
        self.filter.is_empty()
            || [&row.local, &row.remote].iter().any(|text| text.contains(&self.filter))
            || names.into_iter().flatten().any(|name| name.contains(&self.filter))
            || row
                .process
                .as_ref()
                .is_some_and(|process| process.name.contains(&self.filter) || process.pid.to_string() == self.filter)
    }
    fn order(&self, a: &Row, b: &Row) -> Ordering {
        let rising = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(Ordering::Equal);
        let left = |row: &Row| row.time_left_us.unwrap_or(f64::INFINITY);
        let name = |row: &Row| row.process.as_ref().map(|process| (process.name.clone(), process.pid));
        let order = match self.sort {
            Sort::Deadline => rising(left(a), left(b)),
            Sort::Cwnd => rising(b.cwnd, a.cwnd),
            Sort::Alpha => rising(b.alpha, a.alpha),
            Sort::D => rising(b.d, a.d),
            Sort::Missed => b.missed.cmp(&a.missed),
            Sort::Local => a.local.cmp(&b.local),
            Sort::Remote => a.remote.cmp(&b.remote),
            Sort::Process => name(a).cmp(&name(b)),
            Sort::Cgroup => a.cgroup.cmp(&b.cgroup),
        };
        let order = order.then(a.id.cmp(&b.id));
        if self.reverse { order.reverse() } else { order }
    }
}

fn rows(pins: &Pins, names: &mut Names, view: &View) -> Result<Vec<Row>> {
    let mut bytes = Vec::new();
    let read = File::open(pins.of(FLOWS)).and_then(|mut file| file.read_to_end(&mut bytes));
    read.context("read the connections")?;
    let flows: Vec<Flow> = bytes.chunks_exact(size_of::<Flow>()).filter_map(Flow::read).collect();
    names.owners.find(flows.iter().map(|flow| flow.inode), flows.iter().map(|flow| flow.cgroup));
    names.rules =
        enact::in_force(pins)?.iter().map(|(slot, rule)| (*slot as u32 + 1, kernel::name(&rule.name))).collect();
    let mut rows: Vec<Row> = flows.iter().map(|flow| Row::new(flow, names)).filter(|row| view.shows(row)).collect();
    rows.sort_by(|a, b| view.order(a, b));
    Ok(rows)
}

fn table(rows: &[Row], most: usize, width: usize) -> String {
    let head = format!(
        "{:<24} {:<24} {:>8} {:>6} {:>5} {:>9} {:>9} {:>6} {:>6} {:>7} {:<14} {:<18} {}",
        "local",
        "remote",
        "cwnd",
        "alpha",
        "d",
        "left ms",
        "left KB",
        "met",
        "missed",
        "srtt us",
        "",
        "process",
        "cgroup"
    );
    let mut text = cut(&head, width) + "\n";
    for row in rows.iter().take(most) {
        let left = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        let notes = match row {
            Row { ecn: false, .. } => "no ECN: Reno",
            Row { recovery: true, .. } => "repairs a loss",
            Row { expired: true, .. } => "late",
            Row { limited: true, .. } => "budget spent",
            Row { slow_start: true, .. } => "slow start",
            _ => "",
        };
        let process =
            row.process.as_ref().map_or("-".to_owned(), |process| format!("{} {}", process.pid, process.name));
        let line = format!(
            "{:<24} {:<24} {:>8.1} {:>6.3} {:>5.2} {:>9} {:>9} {:>6} {:>6} {:>7} {notes:<14} {process:<18} {}",
            row.local,
            row.remote,
            row.cwnd,
            row.alpha,
            row.d,
            left(row.time_left_us.map(|us| us / 1000.0)),
            left(row.bytes_left.map(|bytes| bytes as f64 / 1000.0)),
            row.met,
            row.missed,
            row.srtt_us,
            row.cgroup.as_ref().map_or("-".to_owned(), Name::to_string),
        );
        writeln!(text, "{}", cut(line.trim_end(), width)).expect("writing to a string");
    }
    if rows.len() > most {
        writeln!(text, "and {} more", rows.len() - most).expect("writing to a string");
    }
    text
}

/// Truncates a line to the width.
fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u64, local: &str, time_left_us: Option<f64>, cwnd: f64, name: &str) -> Row {
        Row {
            id,
            netns: 1,
            local: local.to_owned(),
            remote: "10.0.0.9:80".to_owned(),
            cwnd,
            ssthresh: None,
            alpha: 0.0,
            d: 1.0,
            p: 0.0,
            srtt_us: 1,
            ecn: true,
            slow_start: false,
            recovery: false,
            expired: false,
            limited: false,
            bytes_acked: 0,
            bytes_left: None,
            time_left_us,
            messages: 0,
            met: 0,
            missed: 0,
            queued: 0,
            cuts: 0,
            losses: 0,
            rule: None,
            process: Some(Process { pid: 10 + id as u32, name: Name::new(name) }),
            cgroup: Some(Name::new("/svc")),
        }
    }

    #[test]
    fn keys_sort_turn_around_and_filter() {
        let rows = [
            row(1, "a:1", None, 5.0, "nginx"),
            row(2, "b:1", Some(9.0), 7.0, "redis"),
            row(3, "c:1", Some(-1.0), 6.0, "x"),
        ];
        let shown = |view: &View| {
            let mut shown: Vec<&Row> = rows.iter().filter(|row| view.shows(row)).collect();
            shown.sort_by(|a, b| view.order(a, b));
            shown.iter().map(|row| row.id).collect::<Vec<_>>()
        };
        let mut view = View { sort: Sort::Deadline, reverse: false, filter: String::new() };
        let mut typing = None;
        assert_eq!(shown(&view), [3, 2, 1], "without a deadline comes last");
        view.key(b's', &mut typing);
        assert_eq!(shown(&view), [2, 3, 1], "by window");
        view.key(b'r', &mut typing);
        assert_eq!(shown(&view), [1, 3, 2]);
        b"/redx\x7fis\r".iter().for_each(|key| view.key(*key, &mut typing));
        assert_eq!((shown(&view), &*view.filter, &typing), (vec![2], "redis", &None));
        b"/13\n".iter().for_each(|key| view.key(*key, &mut typing));
        assert_eq!(shown(&view), [3], "by pid");
        b"/zzz\x1bq".iter().for_each(|key| view.key(*key, &mut typing));
        assert_eq!(view.filter, "13", "Escape leaves it");
        view.filter = "/svc".to_owned();
        assert_eq!(shown(&view).len(), 3);
    }

    #[test]
    fn the_line_above_counts_and_names_the_keys() {
        let mut view = View { sort: Sort::Cwnd, reverse: false, filter: String::new() };
        assert_eq!(
            view.head(1, 1, 0),
            "1 connection, 1 message met, 0 missed   q quit, s sort (cwnd), r reverse, / filter"
        );
        view.filter = "redis".to_owned();
        let head = view.head(2, 0, 1);
        assert!(head.starts_with("2 connections, 0 messages met, 1 missed ") && head.ends_with("/ filter (redis)"));
    }

    #[test]
    fn a_table_fits_the_screen() {
        let rows = [row(1, "a:1", None, 5.0, "n"), row(2, "b:1", None, 7.0, "n"), row(3, "c:1", None, 6.0, "n")];
        let text = table(&rows, 2, 40);
        assert_eq!(text.lines().count(), 4);
        assert!(text.lines().all(|line| line.chars().count() <= 40) && text.ends_with("and 1 more\n"));
        assert!(table(&rows, 9, usize::MAX).contains("11 n"));
    }

    #[test]
    fn hostile_names_in_the_table_and_as_json_are_harmless() {
        use crate::escape::{HOSTILE, is_safe};
        let mut hostile = row(1, "a:1", None, 5.0, "n");
        hostile.process = Some(Process { pid: 7, name: Name::new(HOSTILE) });
        (hostile.cgroup, hostile.rule) = (Some(Name::new([b"/", HOSTILE].concat())), Some(Name::new(HOSTILE)));
        let rows = [hostile];
        let text = table(&rows, 9, usize::MAX);
        assert!(is_safe(&text) && text.lines().count() == 2, "{text}");
        let shown = "a\\x1b[2J\\n\"\\\\\\u{9b}\\u{202e}\\xff";
        assert!(text.contains(&format!(" 7 {shown} /{shown}\n")), "{text}");
        let text = escape::json(&rows[0]).unwrap();
        assert!(is_safe(&text) && !text.contains('\n'), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["process"]["name"], "a\x1b[2J\n\"\\\u{9b}\u{202e}\u{fffd}");
        let mut view = View { sort: Sort::Cwnd, reverse: false, filter: "\x1b[2J\n".to_owned() };
        assert!(view.shows(&rows[0]) && is_safe(&view.head(1, 1, 1)) && !view.head(1, 1, 1).contains('\n'));
        view.filter = "x1b".to_owned();
        assert!(!view.shows(&rows[0]), "the filter is on names, not on their escapes");
    }
}
