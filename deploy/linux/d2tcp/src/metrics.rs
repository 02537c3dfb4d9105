//! Counters and histograms in the text format of Prometheus.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::attach;
use crate::escape::Name;
use crate::failure::{Context, Result};
use crate::kernel::{self, Counters, D_BOUNDS, ONE, UNIT};
use crate::place::Pins;
use crate::privileges;
use crate::status;

/// The maximum number of clients at a time; further ones are turned away.
const CLIENTS: usize = 32;
/// The time for a client to send its request, and again to receive the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The maximum size of a request, in bytes; the rest is ignored.
const REQUEST: usize = 8192;

/// Runs `d2tcp metrics`: prints the page, or serves it.
pub fn run(pins: &Pins, listen: Option<&str>) -> Result<()> {
    let Some(address) = listen else {
        attach::require(pins)?;
        print!("{}", page(pins, Format::Prometheus));
        return Ok(());
    };
    let listener = TcpListener::bind(address).context(format!("listen on {address} (ADDRESS:PORT)"))?;
    privileges::keep(&[])?;
    println!("http://{}/metrics", listener.local_addr().context("listen")?);
    serve(&listener, pins, PATIENCE)
}

/// Returns the page with the kernel's present counters. A detached state is a valid page, as the server outlives an
/// upgrade.
fn page(pins: &Pins, format: Format) -> String {
    let read = || -> Result<Known> {
        let about = attach::require(pins)?;
        Ok(Known {
            version: kernel::name(&about.version),
            all: status::counters(pins)?,
            rules: status::counters_by_rule(pins)?,
            dead: status::parts(pins, &about)?.1.len(),
        })
    };
    text(read().ok().as_ref(), format)
}

/// Serves the page to any client. General HTTP servers keep a thread for every slow client, or trust the length that a
/// client states. Here a client costs a thread for a few seconds, and there are at most [`CLIENTS`].
fn serve(listener: &TcpListener, pins: &Pins, patience: Duration) -> Result<()> {
    let here = Arc::new(pins.clone());
    loop {
        let Ok((client, _)) = listener.accept() else {
            // A temporary failure, such as too many open files.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let pins = here.clone();
        if Arc::strong_count(&pins) <= CLIENTS + 1 {
            // The client gets no answer if no thread can be started or if it disconnects.
            let _ = std::thread::Builder::new().spawn(move || answer(client, &pins, patience));
        }
    }
}

fn answer(mut client: TcpStream, pins: &Pins, patience: Duration) -> std::io::Result<()> {
    let end = Instant::now() + patience;
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST {
        if receive(&mut client, &mut request, end)? == 0 {
            break;
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().and_then(|line| std::str::from_utf8(line).ok());
    let words: Vec<&str> = line.unwrap_or("").split(' ').collect();
    let mut format = Format::Prometheus;
    let (status, page) = match words[..] {
        ["GET", target, version] if version.starts_with("HTTP/1.") => match target.split('?').next() {
            Some("/metrics") => {
                let asked = String::from_utf8_lossy(&request).to_ascii_lowercase();
                let accepts = asked.lines().find_map(|line| line.strip_prefix("accept:")).unwrap_or("");
                format = if accepts.contains("application/openmetrics-text") { Format::Open } else { format };
                ("200 OK", page(pins, format))
            }
            _ => ("404 Not Found", "see /metrics\n".to_owned()),
        },
        [_, _, version] if version.starts_with("HTTP/") => ("405 Method Not Allowed", "only GET\n".to_owned()),
        _ => ("400 Bad Request", "not a request\n".to_owned()),
    };
    client.set_write_timeout(Some(patience))?;
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        format.name(),
        page.len()
    )?;
    client.shutdown(Shutdown::Write)?;
    // Read the rest of the request, up to a limit; otherwise the kernel would reset the connection and discard the
    // answer.
    let mut rest = Vec::new();
    while rest.len() < 8 * REQUEST && receive(&mut client, &mut rest, end)? > 0 {}
    Ok(())
}

/// Reads the next bytes. Returns 0 at the end, and an error when the time is over.
fn receive(client: &mut TcpStream, to: &mut Vec<u8>, end: Instant) -> std::io::Result<usize> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(std::io::ErrorKind::TimedOut.into());
    }
    client.set_read_timeout(Some(left))?;
    let mut room = [0; 1024];
    let got = client.read(&mut room)?;
    to.extend(&room[..got]);
    Ok(got)
}

/// The two text formats.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Prometheus,
    Open,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::Open => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The contents of a page.
struct Known {
    version: Name,
    all: Counters,
    rules: Vec<(kernel::Rule, Counters)>,
    dead: usize,
}

/// A counter: its name without `_total`, its description, and its field.
type Counter = (&'static str, &'static str, fn(&Counters) -> u64);

/// Counters for the whole attachment.
const FOR_ALL: [Counter; 6] = [
    ("d2tcp_refused", "Calls with impossible values.", |c| c.refused),
    ("d2tcp_out_of_memory", "Calls without room for a connection's state: DCTCP without deadlines.", |c| c.no_memory),
    ("d2tcp_events_lost", "Events that a tracer was too slow for.", |c| c.events_lost),
    ("d2tcp_calls", "Calls for acknowledgements.", |c| c.calls),
    ("d2tcp_receiver_calls", "Calls for arriving data.", |c| c.receiver_calls),
    ("d2tcp_connections_ungoverned", "Connections under D2TCP that no rule governs.", |c| c.opened),
];
/// Counters for each rule; there are at most 64 rules.
const BY_RULE: [Counter; 18] = [
    ("d2tcp_connections", "Connections that came under D2TCP.", |c| c.opened),
    ("d2tcp_connections_without_ecn", "Connections whose peer refused ECN: Reno.", |c| c.without_ecn),
    ("d2tcp_windows", "Windows over which alpha was updated.", |c| c.windows),
    ("d2tcp_windows_with_deadline", "Windows with a deadline.", |c| c.windows_deadline),
    ("d2tcp_cuts", "Windows cut because of marks.", |c| c.cuts),
    ("d2tcp_losses", "Windows halved because of loss.", |c| c.losses),
    ("d2tcp_timeouts", "Retransmission timeouts.", |c| c.timeouts),
    ("d2tcp_undone", "Halvings undone because nothing was lost.", |c| c.undone),
    ("d2tcp_held", "Times that a message stood back (mode plus).", |c| c.held),
    ("d2tcp_segments", "Segments delivered.", |c| c.delivered),
    ("d2tcp_segments_marked", "Segments delivered with an echo.", |c| c.delivered_ce),
    ("d2tcp_messages", "Messages with a deadline.", |c| c.messages),
    ("d2tcp_messages_implied", "Messages whose deadline is the policy's.", |c| c.implied),
    ("d2tcp_deadlines_lengthened", "Deadlines that the policy lengthened.", |c| c.lengthened),
    ("d2tcp_announcements_denied", "Announcements that the policy refused.", |c| c.denied),
    ("d2tcp_outcomes_uncounted", "Outcomes of users with more messages than count.", |c| c.uncounted),
    ("d2tcp_cuts_limited", "Cuts as without a deadline, by users whose budget of urgency is spent.", |c| c.limited),
    ("d2tcp_queue_full", "Announcements with too many messages waiting.", |c| c.queue_full),
];

fn text(known: Option<&Known>, format: Format) -> String {
    let mut page = Page { text: String::new(), format };
    page.head("d2tcp_attached", "gauge", "Whether D2TCP is attached.");
    page.line(format_args!("d2tcp_attached {}", u8::from(known.is_some())));
    page.head("d2tcp_tool_info", "gauge", "This tool.");
    page.line(format_args!("d2tcp_tool_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")));
    if let Some(known) = known {
        page.known(known);
    }
    if format == Format::Open {
        page.line(format_args!("# EOF"));
    }
    page.text
}

struct Page {
    text: String,
    format: Format,
}

impl Page {
    fn known(&mut self, known: &Known) {
        self.head("d2tcp_build_info", "gauge", "What is attached.");
        let (version, layout) = (known.version.label(), kernel::LAYOUT);
        self.line(format_args!("d2tcp_build_info{{version=\"{version}\",layout=\"{layout}\"}} 1"));
        self.head("d2tcp_dead_parts", "gauge", "Hooks and controls that should be in force and are not.");
        self.line(format_args!("d2tcp_dead_parts {}", known.dead));
        let rules: Vec<(String, &Counters)> =
            known.rules.iter().map(|(rule, counters)| (kernel::name(&rule.name).label(), counters)).collect();
        self.head("d2tcp_connections_open", "gauge", "Connections under D2TCP.");
        for (rule, c) in &rules {
            let open = c.opened.saturating_sub(c.closed);
            self.line(format_args!("d2tcp_connections_open{{rule=\"{rule}\"}} {open}"));
        }
        for (name, help, value) in FOR_ALL {
            let of = known.rules.iter().map(|(_, c)| value(c)).sum::<u64>();
            let value = if name.ends_with("ungoverned") { value(&known.all) - of } else { value(&known.all) };
            self.total(name, help);
            self.line(format_args!("{name}_total {value}"));
        }
        for (name, help, value) in BY_RULE {
            self.total(name, help);
            for (rule, c) in &rules {
                self.line(format_args!("{name}_total{{rule=\"{rule}\"}} {}", value(c)));
            }
        }
        self.total("d2tcp_deadlines", "Messages by outcome.");
        for (rule, c) in &rules {
            for (outcome, value) in
                [("met", c.met), ("missed", c.missed), ("cancelled", c.cancelled), ("unfinished", c.unfinished)]
            {
                let labels = format_args!("rule=\"{rule}\",outcome=\"{outcome}\"");
                self.line(format_args!("d2tcp_deadlines_total{{{labels}}} {value}"));
            }
        }
        self.histograms(&known.all);
    }
    fn histograms(&mut self, c: &Counters) {
        let bounds: Vec<f64> = (0..11).map(|bucket| f64::from(32 << bucket) / 1e9).collect();
        let help = "Time of a call for an acknowledgement, of one in 64.";
        self.histogram("d2tcp_call_seconds", help, &bounds, &c.cost, c.sampled_ns as f64 / 1e9);
        let bounds: Vec<f64> = (1..16).map(|bucket| f64::from(bucket) / 16.0).collect();
        let sum = c.alpha_sum as f64 / f64::from(ONE);
        self.histogram("d2tcp_alpha", "Extent of marking, per window.", &bounds, &c.alpha, sum);
        let sum = c.d_sum as f64 / UNIT as f64;
        self.histogram("d2tcp_imminence", "Imminence of the deadline, per window with one.", &D_BOUNDS, &c.d, sum);
    }
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }
    /// Writes the header of a counter. OpenMetrics names the family, Prometheus the sample.
    fn total(&mut self, name: &str, help: &str) {
        let end = if self.format == Format::Open { "" } else { "_total" };
        self.head(&format!("{name}{end}"), "counter", help);
    }
    fn line(&mut self, what: std::fmt::Arguments) {
        writeln!(self.text, "{what}").expect("writing to a string");
    }
    /// Writes a histogram. `counts` has one more entry than `bounds`, for values above the last bound.
    fn histogram(&mut self, name: &str, help: &str, bounds: &[f64], counts: &[u64], sum: f64) {
        self.head(name, "histogram", help);
        let mut below = 0;
        for (bound, count) in bounds.iter().zip(counts) {
            below += count;
            self.line(format_args!("{name}_bucket{{le=\"{bound:?}\"}} {below}"));
        }
        let all: u64 = counts.iter().sum();
        self.line(format_args!("{name}_bucket{{le=\"+Inf\"}} {all}"));
        self.line(format_args!("{name}_sum {sum}"));
        self.line(format_args!("{name}_count {all}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Control;
    use crate::parameters::DEFAULTS;
    use crate::rules::Rule;

    fn known(counters: Counters) -> Known {
        let rule = Rule::of("a \"b\"", std::path::Path::new("x"), Control::Use).compiled(DEFAULTS).unwrap();
        Known { version: Name::new("1.2"), all: counters, rules: vec![(rule, counters)], dead: 0 }
    }

    #[test]
    fn histograms_are_cumulative_and_end_with_all() {
        let mut counters =
            Counters { d_sum: 3 * UNIT, windows_deadline: 3, met: 2, sampled_ns: 500, ..Counters::default() };
        (counters.d[1], counters.d[6], counters.d[13]) = (1, 1, 1);
        (counters.cost[0], counters.cost[2], counters.cost[11]) = (1, 2, 3);
        let text = text(Some(&known(counters)), Format::Prometheus);
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        assert_eq!(value("d2tcp_imminence_bucket{le=\"0.25\"}"), "0");
        assert_eq!(value("d2tcp_imminence_bucket{le=\"0.5\"}"), "1");
        assert_eq!(value("d2tcp_imminence_bucket{le=\"4.0\"}"), "2");
        assert_eq!(value("d2tcp_imminence_bucket{le=\"+Inf\"}"), "3");
        assert_eq!((value("d2tcp_imminence_sum"), value("d2tcp_imminence_count")), ("3", "3"));
        assert_eq!(value("d2tcp_deadlines_total{rule=\"a \\\"b\\\"\",outcome=\"met\"}"), "2");
        // Bounds of 32, 64, 128 ns, ... 32.8 us.
        assert_eq!(value("d2tcp_call_seconds_bucket{le=\"3.2e-8\"}"), "1");
        assert_eq!(value("d2tcp_call_seconds_bucket{le=\"1.28e-7\"}"), "3");
        assert_eq!(value("d2tcp_call_seconds_bucket{le=\"3.2768e-5\"}"), "3");
        assert_eq!(value("d2tcp_call_seconds_count"), "6");
    }

    #[test]
    fn hostile_clients_are_answered_or_dropped_and_others_served() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let patience = Duration::from_millis(500);
        std::thread::spawn(move || serve(&listener, &Pins { folder: "/nowhere/d2tcp".into() }, patience));
        let ask = |request: &[u8]| {
            let mut client = TcpStream::connect(address).unwrap();
            let mut answer = String::new();
            // A rejected client may find the connection already closed.
            let _ = client.write_all(request).and_then(|()| client.read_to_string(&mut answer));
            answer
        };
        let long = [b"GET /".as_slice(), &[b'a'; 20_000], b" HTTP/1.1\r\n\r\n"].concat();
        for (request, status) in [
            (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(), "200"),
            (b"GET /metrics?a=b HTTP/1.0\r\n\r\n", "200"),
            (b"GET / HTTP/1.1\r\n\r\n", "404"),
            (b"POST /metrics HTTP/1.1\r\nContent-Length: 100000000000\r\n\r\n", "405"),
            (b"GET /metrics HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n", "200"),
            (b"\xff\xfe\0 \r\n\r\n", "400"),
            (b"\r\n\r\n", "400"),
            (&long, "400"),
        ] {
            let answer = ask(request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
        let open = ask(b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n");
        assert!(open.contains("Content-Type: application/openmetrics-text") && open.ends_with("# EOF\n"), "{open}");
        // Many silent clients cost a few threads for a short time; then all clients are served again.
        let silent: Vec<_> = (0..2 * CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let begun = Instant::now();
        while !ask(b"GET /metrics HTTP/1.1\r\n\r\n").contains("d2tcp_attached 0\n") {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(silent);
    }

    #[test]
    fn alerts_and_the_dashboard_ask_for_metrics_that_there_are() {
        let page = text(Some(&known(Counters::default())), Format::Prometheus);
        for file in [include_str!("../../monitoring/alerts.yml"), include_str!("../../monitoring/dashboard.json")] {
            let names = file
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .filter(|name| name.starts_with("d2tcp_") && name.len() > 6);
            let mut seen = 0;
            for name in names {
                assert!(page.lines().any(|line| line.starts_with(name)), "{name}");
                seen += 1;
            }
            assert!(seen > 10);
        }
    }

    #[test]
    fn every_metric_is_explained_and_typed_once() {
        let text = text(Some(&known(Counters::default())), Format::Prometheus);
        let mut names = std::collections::BTreeSet::new();
        for line in text.lines().filter(|line| line.starts_with("# TYPE")) {
            let name = line.split(' ').nth(2).unwrap();
            assert!(names.insert(name.to_owned()), "{name} twice");
            assert!(text.contains(&format!("# HELP {name} ")));
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(names.contains(base) || names.contains(name), "{name}");
        }
    }

    #[test]
    fn hostile_names_stay_within_their_labels() {
        use crate::escape::{HOSTILE, is_safe};
        let mut known = known(Counters::default());
        known.version = Name::new(HOSTILE);
        known.rules[0].0.name = kernel::field(HOSTILE).unwrap();
        let plain = text(Some(&self::tests::known(Counters::default())), Format::Prometheus);
        let text = text(Some(&known), Format::Prometheus);
        assert!(is_safe(&text) && text.lines().count() == plain.lines().count());
        let label = "a\\\\x1b[2J\\n\\\"\\\\\\\\u{9b}\\\\u{202e}\\\\xff";
        assert!(text.contains(&format!("d2tcp_connections_total{{rule=\"{label}\"}} 0\n")), "{text}");
        assert!(text.contains(&format!("d2tcp_build_info{{version=\"{label}\",layout=")), "{text}");
    }
}
