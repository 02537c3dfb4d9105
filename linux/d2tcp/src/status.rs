//! What is attached, in words or as JSON.

use libbpf_rs::{MapCore, MapFlags};
use serde::Serialize;

use crate::attach;
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{self, About, Counters, Law, ONE, UNIT};
use crate::place::Pins;

/// What `status --json` prints.
#[derive(Serialize)]
struct Status {
    attached: bool,
    version: String,
    seconds: f64,
    held_by: Option<u32>,
    cgroups: Vec<String>,
    select: String,
    namespace: Option<String>,
    pins: String,
    parameters: Parameters,
    connections: Connections,
    windows: u64,
    cuts: u64,
    losses: u64,
    timeouts: u64,
    segments: u64,
    segments_marked: u64,
    messages: Messages,
    ns_per_call: Option<f64>,
    ns_per_receiver_call: Option<f64>,
    calls: u64,
    receiver_calls: u64,
    out_of_memory: u64,
    events_lost: u64,
}

#[derive(Serialize)]
struct Parameters {
    g: f64,
    cap: f64,
    expired: &'static str,
    margin_us: f64,
    t_c: &'static str,
    rtt: &'static str,
    initial_alpha: f64,
}

#[derive(Serialize)]
struct Connections {
    open: u64,
    total: u64,
    without_ecn: u64,
}

#[derive(Serialize)]
struct Messages {
    accepted: u64,
    met: u64,
    missed: u64,
    unfinished: u64,
    refused: u64,
    queue_full: u64,
}

/// `d2tcp status`.
pub fn run(pins: &Pins, json: bool) -> Result<()> {
    let about = attach::require(pins)?;
    let status = status(pins, &about)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&status).context("write JSON")?);
    } else {
        print(&status, &attach::law(pins)?);
    }
    Ok(())
}

fn status(pins: &Pins, about: &About) -> Result<Status> {
    let counters = counters(pins)?;
    let law = attach::law(pins)?;
    let namespace = kernel::text(&about.namespace);
    Ok(Status {
        attached: true,
        version: kernel::text(&about.version).to_owned(),
        seconds: attach::clock(libc::CLOCK_BOOTTIME).saturating_sub(about.since_ns) as f64 / 1e9,
        held_by: (about.pid != 0).then_some(about.pid),
        cgroups: kernel::text(&about.cgroups).lines().map(str::to_owned).collect(),
        select: select_in_words(about),
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        pins: pins.folder.display().to_string(),
        parameters: parameters(&law),
        connections: Connections {
            open: counters.opened.saturating_sub(counters.closed),
            total: counters.opened,
            without_ecn: counters.without_ecn,
        },
        windows: counters.windows,
        cuts: counters.cuts,
        losses: counters.losses,
        timeouts: counters.timeouts,
        segments: counters.delivered,
        segments_marked: counters.delivered_ce,
        messages: Messages {
            accepted: counters.messages,
            met: counters.met,
            missed: counters.missed,
            unfinished: counters.unfinished,
            refused: counters.refused,
            queue_full: counters.queue_full,
        },
        ns_per_call: counters.ns_per_call(),
        ns_per_receiver_call: counters.ns_per_receiver_call(),
        calls: counters.calls,
        receiver_calls: counters.receiver_calls,
        out_of_memory: counters.no_memory,
        events_lost: counters.events_lost,
    })
}

fn print(status: &Status, law: &Law) {
    let ns = |value: Option<f64>| value.map_or("not measured yet".to_owned(), |value| format!("{value:.0} ns"));
    println!("attached     version {}, for {:.0} s", status.version, status.seconds);
    if let Some(pid) = status.held_by {
        println!("held by      process {pid}");
    }
    println!("selects      {}", status.select);
    for cgroup in &status.cgroups {
        println!("hooks in     {cgroup}");
    }
    if let Some(namespace) = &status.namespace {
        println!("default of   {namespace}");
    }
    println!("parameters   {}", parameters_in_words(law));
    let Connections { open, total, without_ecn } = status.connections;
    println!("connections  {open} open, {total} so far, {without_ecn} without ECN (as Reno)");
    println!(
        "windows      {}, {} cut, {} lost, {} timeouts",
        status.windows, status.cuts, status.losses, status.timeouts
    );
    println!("segments     {}, {} with an echo", status.segments, status.segments_marked);
    let Messages { accepted, met, missed, unfinished, refused, queue_full } = status.messages;
    println!(
        "messages     {accepted}: {met} met, {missed} missed, {unfinished} unfinished; {refused} refused, \
         {queue_full} too many at once"
    );
    println!(
        "cost         {} per acknowledgement, {} per arrival",
        ns(status.ns_per_call),
        ns(status.ns_per_receiver_call)
    );
    if status.out_of_memory + status.events_lost > 0 {
        println!("trouble      {} calls without memory, {} events lost", status.out_of_memory, status.events_lost);
    }
}

fn select_in_words(about: &About) -> String {
    match about.select {
        1 => "all connections of its cgroups".to_owned(),
        2 => format!("ports {}-{}", about.port_low, about.port_high),
        _ if kernel::text(&about.namespace).is_empty() => "those that ask by TCP_CONGESTION".to_owned(),
        _ => "all connections of the namespace".to_owned(),
    }
}

/// One line for `attach`.
pub fn in_one_line(about: &About) -> String {
    format!("attached: {}, hooks in {}", select_in_words(about), kernel::text(&about.cgroups).replace('\n', ", "))
}

fn parameters(law: &Law) -> Parameters {
    Parameters {
        g: f64::from(law.g) / f64::from(ONE),
        cap: f64::from(law.cap) / UNIT as f64,
        expired: ["neutral", "cap", "yield"].get(law.expired as usize).copied().unwrap_or("neutral"),
        margin_us: law.margin_ns as f64 / 1000.0,
        t_c: if law.precise != 0 { "precise" } else { "approximate" },
        rtt: if law.minimum_rtt != 0 { "minimum" } else { "smoothed" },
        initial_alpha: f64::from(law.initial_alpha) / f64::from(ONE),
    }
}

/// The parameters in a line.
pub fn parameters_in_words(law: &Law) -> String {
    let Parameters { g, cap, expired, margin_us, t_c, rtt, initial_alpha } = parameters(law);
    format!(
        "g {g}, cap {cap}, expired {expired}, margin {margin_us} us, t_c {t_c}, rtt {rtt}, initial alpha {initial_alpha}"
    )
}

/// The counters, summed over the CPUs.
pub fn counters(pins: &Pins) -> Result<Counters> {
    let map = attach::map(pins, "counts")?;
    let found = map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY).context("read the counters")?;
    found.map(|per_cpu| Counters::sum(&per_cpu)).ok_or_else(|| Failure::new(Kind::Failed, "no counters"))
}
