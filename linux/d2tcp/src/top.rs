//! The connections, live.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{IsTerminal, Read, Write as _};
use std::time::Duration;

use serde::Serialize;

use crate::attach::{self, FLOWS};
use crate::failure::{Context, Result};
use crate::kernel::{self, Flow, MAX_WINDOW, ONE, Plain, UNIT};
use crate::place::Pins;
use crate::privileges;
use crate::status;

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
    bytes_acked: u64,
    bytes_left: Option<u64>,
    time_left_us: Option<f64>,
    messages: u64,
    met: u64,
    missed: u64,
    queued: u32,
    cuts: u64,
    losses: u64,
}

impl Row {
    fn new(flow: &Flow) -> Row {
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
            bytes_acked: flow.bytes_acked,
            bytes_left: waits.then_some(flow.bytes_left),
            time_left_us: waits.then_some(flow.time_left_ns as f64 / 1000.0),
            messages: flow.messages,
            met: flow.met,
            missed: flow.missed,
            queued: flow.queued,
            cuts: flow.cuts,
            losses: flow.losses,
        }
    }
}

/// `d2tcp top`.
pub fn run(pins: &Pins, once: bool, json: bool) -> Result<()> {
    attach::require(pins)?;
    privileges::keep(&[])?;
    if json {
        for row in rows(pins)? {
            println!("{}", serde_json::to_string(&row).context("write JSON")?);
        }
        return Ok(());
    }
    if once || !std::io::stdout().is_terminal() {
        print!("{}", table(&rows(pins)?, usize::MAX));
        return Ok(());
    }
    loop {
        let counters = status::counters(pins)?;
        let open = counters.opened.saturating_sub(counters.closed);
        let head = format!("{open} connections, {} messages met, {} missed", counters.met, counters.missed);
        // Home, the table, and whatever was below it cleared.
        let table = table(&rows(pins)?, height().saturating_sub(2)).replace('\n', "\x1b[K\n");
        print!("\x1b[H{head}  (Ctrl-C ends)\x1b[K\n{table}\x1b[J");
        std::io::stdout().flush().context("write")?;
        std::thread::sleep(Duration::from_secs(1));
        attach::require(pins)?;
    }
}

fn height() -> usize {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: room for the answer.
    let failed = unsafe { libc::ioctl(1, libc::TIOCGWINSZ, &mut size) };
    if failed == 0 && size.ws_row > 3 { size.ws_row.into() } else { 24 }
}

/// Those whose deadline is nearest first.
fn rows(pins: &Pins) -> Result<Vec<Row>> {
    let mut bytes = Vec::new();
    let read = File::open(pins.of(FLOWS)).and_then(|mut file| file.read_to_end(&mut bytes));
    read.context("read the connections")?;
    let mut rows: Vec<Row> =
        bytes.chunks_exact(size_of::<Flow>()).filter_map(Flow::read).map(|flow| Row::new(&flow)).collect();
    let key = |row: &Row| (row.time_left_us.unwrap_or(f64::INFINITY), row.id);
    rows.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
    Ok(rows)
}

fn table(rows: &[Row], most: usize) -> String {
    let mut text = format!(
        "{:<24} {:<24} {:>8} {:>6} {:>5} {:>9} {:>9} {:>6} {:>6} {:>7} {}\n",
        "local", "remote", "cwnd", "alpha", "d", "left ms", "left KB", "met", "missed", "srtt us", ""
    );
    for row in rows.iter().take(most) {
        let left = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        let notes = match row {
            Row { ecn: false, .. } => "no ECN: Reno",
            Row { recovery: true, .. } => "repairs a loss",
            Row { expired: true, .. } => "late",
            Row { slow_start: true, .. } => "slow start",
            _ => "",
        };
        writeln!(
            text,
            "{:<24} {:<24} {:>8.1} {:>6.3} {:>5.2} {:>9} {:>9} {:>6} {:>6} {:>7} {notes}",
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
        )
        .expect("writing to a string");
    }
    if rows.len() > most {
        writeln!(text, "and {} more", rows.len() - most).expect("writing to a string");
    }
    text
}
