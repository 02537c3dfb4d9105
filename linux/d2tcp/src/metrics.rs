//! Counters and histograms in the text format of Prometheus.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::attach;
use crate::failure::{Context, Result};
use crate::kernel::{Counters, D_BOUNDS, ONE, UNIT};
use crate::place::Pins;
use crate::privileges;
use crate::status;

/// Clients that are served at a time; more are turned away.
const CLIENTS: usize = 32;
/// A client has so long to ask, and as long again to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request that are looked at.
const REQUEST: usize = 8192;

/// `d2tcp metrics`.
pub fn run(pins: &Pins, listen: Option<&str>) -> Result<()> {
    let Some(address) = listen else {
        attach::require(pins)?;
        print!("{}", text(Some(&status::counters(pins)?)));
        return Ok(());
    };
    let listener = TcpListener::bind(address).context(format!("listen on {address} (ADDRESS:PORT)"))?;
    privileges::keep(&[])?;
    println!("http://{}/metrics", listener.local_addr().context("listen")?);
    serve(&listener, pins, PATIENCE)
}

/// One page, to anybody who asks. The general servers keep a thread for every client that is slow, or believe what
/// a client says of its length; here a client costs a thread for a few seconds, and there are [`CLIENTS`] of them.
fn serve(listener: &TcpListener, pins: &Pins, patience: Duration) -> Result<()> {
    let here = Arc::new(pins.clone());
    loop {
        let Ok((client, _)) = listener.accept() else {
            // Out of files, say: that passes.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let pins = here.clone();
        if Arc::strong_count(&pins) <= CLIENTS + 1 {
            // Without a thread, or when it went away, the client gets nothing.
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
    let (status, page) = match words[..] {
        ["GET", target, version] if version.starts_with("HTTP/1.") => match target.split('?').next() {
            Some("/metrics") => {
                // Detached is an answer, too: the server outlives an upgrade.
                let counters = attach::require(pins).ok().and_then(|_| status::counters(pins).ok());
                ("200 OK", text(counters.as_ref()))
            }
            _ => ("404 Not Found", "see /metrics\n".to_owned()),
        },
        [_, _, version] if version.starts_with("HTTP/") => ("405 Method Not Allowed", "only GET\n".to_owned()),
        _ => ("400 Bad Request", "not a request\n".to_owned()),
    };
    client.set_write_timeout(Some(patience))?;
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    )?;
    client.shutdown(Shutdown::Write)?;
    // What it still sends is taken, to a limit, or the kernel would take the answer back.
    let mut rest = Vec::new();
    while rest.len() < 8 * REQUEST && receive(&mut client, &mut rest, end)? > 0 {}
    Ok(())
}

/// Adds what comes next; nothing at the end, a failure when the time is over.
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

fn text(counters: Option<&Counters>) -> String {
    let mut text = String::new();
    one(&mut text, "d2tcp_attached", "gauge", "Whether D2TCP is attached.", u64::from(counters.is_some()));
    let Some(c) = counters else { return text };
    one(&mut text, "d2tcp_connections", "gauge", "Connections under D2TCP.", c.opened.saturating_sub(c.closed));
    for (name, help, value) in [
        ("connections_total", "Connections that came under D2TCP.", c.opened),
        ("connections_without_ecn_total", "Connections whose peer refused ECN: Reno.", c.without_ecn),
        ("windows_total", "Windows over which alpha was updated.", c.windows),
        ("cuts_total", "Windows cut because of marks.", c.cuts),
        ("losses_total", "Windows halved because of loss.", c.losses),
        ("timeouts_total", "Retransmission timeouts.", c.timeouts),
        ("undone_total", "Halvings undone because nothing was lost.", c.undone),
        ("segments_total", "Segments delivered.", c.delivered),
        ("segments_marked_total", "Segments delivered with an echo.", c.delivered_ce),
        ("messages_total", "Messages with a deadline that were accepted.", c.messages),
        ("refused_total", "Calls with impossible values.", c.refused),
        ("queue_full_total", "Calls with too many messages waiting.", c.queue_full),
        ("out_of_memory_total", "Calls without room for a connection's state.", c.no_memory),
        ("events_lost_total", "Events that a tracer was too slow for.", c.events_lost),
        ("calls_total", "Calls for acknowledgements.", c.calls),
        ("receiver_calls_total", "Calls for arriving data.", c.receiver_calls),
    ] {
        one(&mut text, &format!("d2tcp_{name}"), "counter", help, value);
    }
    head(&mut text, "d2tcp_deadlines_total", "counter", "Messages by outcome.");
    for (outcome, value) in [("met", c.met), ("missed", c.missed), ("unfinished", c.unfinished)] {
        line(&mut text, format_args!("d2tcp_deadlines_total{{outcome=\"{outcome}\"}} {value}"));
    }
    head(&mut text, "d2tcp_call_seconds", "summary", "Time of a call for an acknowledgement, sampled.");
    line(&mut text, format_args!("d2tcp_call_seconds_sum {}", c.sampled_ns as f64 / 1e9));
    line(&mut text, format_args!("d2tcp_call_seconds_count {}", c.sampled));
    let bounds: Vec<f64> = (1..16).map(|bucket| f64::from(bucket) / 16.0).collect();
    let sum = c.alpha_sum as f64 / f64::from(ONE);
    histogram(&mut text, "d2tcp_alpha", "Extent of marking, per window.", &bounds, &c.alpha, sum);
    let sum = c.d_sum as f64 / UNIT as f64;
    histogram(&mut text, "d2tcp_d", "Imminence of the deadline, per window with one.", &D_BOUNDS, &c.d, sum);
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, format_args!("# HELP {name} {help}"));
    line(text, format_args!("# TYPE {name} {kind}"));
}

fn one(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(text, name, kind, help);
    line(text, format_args!("{name} {value}"));
}

/// `counts` has one more than `bounds`: what lies above the last.
fn histogram(text: &mut String, name: &str, help: &str, bounds: &[f64], counts: &[u64], sum: f64) {
    head(text, name, "histogram", help);
    let mut below = 0;
    for (bound, count) in bounds.iter().zip(counts) {
        below += count;
        line(text, format_args!("{name}_bucket{{le=\"{bound}\"}} {below}"));
    }
    let all: u64 = counts.iter().sum();
    line(text, format_args!("{name}_bucket{{le=\"+Inf\"}} {all}"));
    line(text, format_args!("{name}_sum {sum}"));
    line(text, format_args!("{name}_count {all}"));
}

fn line(text: &mut String, what: std::fmt::Arguments) {
    writeln!(text, "{what}").expect("writing to a string");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_are_cumulative_and_end_with_all() {
        let mut counters = Counters { d_sum: 3 * UNIT, windows_deadline: 3, met: 2, ..Counters::default() };
        (counters.d[1], counters.d[6], counters.d[13]) = (1, 1, 1);
        let text = text(Some(&counters));
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        assert_eq!(value("d2tcp_d_bucket{le=\"0.25\"}"), "0");
        assert_eq!(value("d2tcp_d_bucket{le=\"0.5\"}"), "1");
        assert_eq!(value("d2tcp_d_bucket{le=\"4\"}"), "2");
        assert_eq!(value("d2tcp_d_bucket{le=\"+Inf\"}"), "3");
        assert_eq!((value("d2tcp_d_sum"), value("d2tcp_d_count")), ("3", "3"));
        assert_eq!(value("d2tcp_deadlines_total{outcome=\"met\"}"), "2");
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
            // A client that is turned away may find the connection closed already.
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
        // Many who say nothing cost a few threads for a while; then everybody is served again.
        let silent: Vec<_> = (0..2 * CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let begun = Instant::now();
        while !ask(b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("d2tcp_attached 0\n") {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(silent);
    }

    #[test]
    fn every_metric_is_explained_and_typed_once() {
        let text = text(Some(&Counters::default()));
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
}
