//! Counters and histograms in the text format of Prometheus.

use std::fmt::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};

use tiny_http::{Header, Method, Response, Server};

use crate::attach;
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{Counters, D_BOUNDS, ONE, UNIT};
use crate::place::Pins;
use crate::privileges;
use crate::status;

/// `d2tcp metrics`.
pub fn run(pins: &Pins, listen: Option<&str>) -> Result<()> {
    let Some(address) = listen else {
        attach::require(pins)?;
        print!("{}", text(Some(&status::counters(pins)?)));
        return Ok(());
    };
    let address: SocketAddr = address
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next())
        .ok_or_else(|| Failure::new(Kind::Usage, format!("--listen {address}: expected ADDRESS:PORT")))?;
    let server = Server::http(address).context(format!("listen on {address}"))?;
    privileges::keep(&[])?;
    let port = server.server_addr();
    println!("http://{port}/metrics");
    for request in server.incoming_requests() {
        let path = request.url().split('?').next().unwrap_or("").to_owned();
        let answered = match (request.method(), path.as_str()) {
            (Method::Get, "/metrics") => {
                // Detached is an answer, too: the server outlives an upgrade.
                let counters = attach::require(pins).ok().and_then(|_| status::counters(pins).ok());
                let kind = Header::from_bytes("Content-Type", "text/plain; version=0.0.4").expect("a valid header");
                request.respond(Response::from_string(text(counters.as_ref())).with_header(kind))
            }
            (Method::Get, _) => request.respond(Response::from_string("see /metrics\n").with_status_code(404)),
            _ => request.respond(Response::from_string("only GET\n").with_status_code(405)),
        };
        // A client that went away is none of ours.
        let _ = answered;
    }
    Ok(())
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
