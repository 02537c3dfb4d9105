//! `d2tcp status`: the attachment, in words or as JSON.

use std::collections::BTreeSet;
use std::path::Path;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::Serialize;
use units::counted;

use crate::accounts::{self, Limited};
use crate::attach;
use crate::enact;
use crate::escape::{self, Name, Shown};
use crate::failure::{Context, Failure, Kind, Result};
use crate::hooks::{self, Place};
use crate::kernel::{self, About, Control, Counters, Law, ONE, Plain, RULES, UNIT};
use crate::maps;
use crate::place::{self, Pins};
use crate::rules;

/// The output of `status --json`.
#[derive(Serialize)]
struct Status {
    attached: bool,
    version: Name,
    seconds: f64,
    held_by: Option<String>,
    hooks: Vec<Name>,
    dead: Vec<String>,
    rules: Vec<RuleStatus>,
    namespace: Option<Name>,
    pins: Name,
    parameters: Parameters,
    connections: Connections,
    windows: u64,
    cuts: u64,
    losses: u64,
    timeouts: u64,
    held: u64,
    segments: u64,
    segments_marked: u64,
    messages: Messages,
    limited: Vec<Limited>,
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
    mode: &'static str,
    rto_min_us: f64,
    initial_window: u32,
    time_scale: f64,
}

#[derive(Serialize)]
struct RuleStatus {
    name: Name,
    governs: String,
    urgency: String,
    connections: Connections,
    messages: Messages,
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
    cancelled: u64,
    unfinished: u64,
    implied: u64,
    lengthened: u64,
    denied: u64,
    uncounted: u64,
    limited_cuts: u64,
    refused: u64,
    queue_full: u64,
}

/// Runs `d2tcp status`, which fails if a part is dead.
pub fn run(pins: &Pins, json: bool) -> Result<()> {
    let about = attach::require(pins)?;
    let status = status(pins, &about)?;
    if json {
        println!("{}", escape::json_lines(&status).context("write JSON")?);
    } else {
        print!("{}", escape::lines(&text(&status, &attach::law(pins)?)));
    }
    if status.dead.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        Kind::Dead,
        format!("attached, but a part of it is dead; d2tcp attach --replace mends it: {}", status.dead.join("; ")),
    ))
}

fn status(pins: &Pins, about: &About) -> Result<Status> {
    let (all, by_rule) = (counters(pins)?, counters_by_rule(pins)?);
    let law = attach::law(pins)?;
    let namespace = kernel::name(&about.namespace);
    let (places, dead) = parts(pins, about)?;
    Ok(Status {
        attached: true,
        version: kernel::name(&about.version),
        seconds: attach::clock(libc::CLOCK_BOOTTIME).saturating_sub(about.since_ns) as f64 / 1e9,
        held_by: (about.pid != 0).then(|| attach::holder(about)),
        hooks: places.iter().map(|place| place.path.shown()).collect(),
        dead,
        rules: by_rule
            .iter()
            .map(|(rule, counters)| RuleStatus {
                name: kernel::name(&rule.name),
                governs: rules::in_words(rule),
                urgency: accounts::budget(rule),
                connections: connections(counters),
                messages: messages(counters),
            })
            .collect(),
        namespace: (about.namespace[0] != 0).then_some(namespace),
        pins: pins.folder.shown(),
        parameters: parameters(&law),
        connections: connections(&all),
        windows: all.windows,
        cuts: all.cuts,
        losses: all.losses,
        timeouts: all.timeouts,
        held: all.held,
        segments: all.delivered,
        segments_marked: all.delivered_ce,
        messages: messages(&all),
        limited: accounts::limited(pins)?,
        ns_per_call: all.ns_per_call(),
        ns_per_receiver_call: all.ns_per_receiver_call(),
        calls: all.calls,
        receiver_calls: all.receiver_calls,
        out_of_memory: all.no_memory,
        events_lost: all.events_lost,
    })
}

/// Returns the places of the hooks, and the names of dead parts.
pub fn parts(pins: &Pins, about: &About) -> Result<(Vec<Place>, Vec<String>)> {
    let rules: Vec<kernel::Rule> = enact::in_force(pins)?.into_iter().map(|(_, rule)| rule).collect();
    let places = hooks::places(&place::cgroup_root()?, &rules)?;
    let dead = hooks::dead(pins, about, &places);
    Ok((places, dead))
}

fn connections(counters: &Counters) -> Connections {
    Connections {
        open: counters.opened.saturating_sub(counters.closed),
        total: counters.opened,
        without_ecn: counters.without_ecn,
    }
}

fn messages(counters: &Counters) -> Messages {
    Messages {
        accepted: counters.messages,
        met: counters.met,
        missed: counters.missed,
        cancelled: counters.cancelled,
        unfinished: counters.unfinished,
        implied: counters.implied,
        lengthened: counters.lengthened,
        denied: counters.denied,
        uncounted: counters.uncounted,
        limited_cuts: counters.limited,
        refused: counters.refused,
        queue_full: counters.queue_full,
    }
}

/// Returns the status in words.
fn text(status: &Status, law: &Law) -> String {
    let mut text = String::new();
    let mut line = |line: String| text += &(line + "\n");
    let ns = |value: Option<f64>| value.map_or("not measured yet".to_owned(), |value| format!("{value:.0} ns"));
    line(format!("attached     version {}, for {:.0} s", status.version, status.seconds));
    if let Some(holder) = &status.held_by {
        line(format!("held by      {holder}"));
    }
    for rule in &status.rules {
        line(format!("rule         {}: {}; {} open", rule.name, rule.governs, rule.connections.open));
    }
    let hooks: Vec<String> = status.hooks.iter().map(Name::to_string).collect();
    line(format!("hooks in     {}", hooks.join(", ")));
    for dead in &status.dead {
        line(format!("DEAD         {dead}"));
    }
    if let Some(namespace) = &status.namespace {
        line(format!("default of   {namespace}"));
    }
    line(format!("parameters   {}", parameters_in_words(law)));
    let Connections { open, total, without_ecn } = status.connections;
    line(format!("connections  {open} open, {total} so far, {without_ecn} without ECN (as Reno)"));
    line(format!(
        "windows      {}, {} cut, {} lost, {}, {} stood back",
        status.windows,
        status.cuts,
        status.losses,
        counted(status.timeouts, "timeout"),
        status.held
    ));
    line(format!("segments     {}, {} with an echo", status.segments, status.segments_marked));
    let Messages { accepted, met, missed, cancelled, unfinished, implied, .. } = status.messages;
    line(format!(
        "messages     {accepted}, {implied} of them by policy: {met} met, {missed} missed, {cancelled} cancelled, \
         {unfinished} unfinished"
    ));
    if status.messages.uncounted > 0 {
        let uncounted = counted(status.messages.uncounted, "outcome");
        line(format!("not counted  {uncounted} of users with more messages than count (user_messages)"));
    }
    line(format!("announcing   {}", announcing(&status.messages)));
    let budgets: BTreeSet<&str> = status.rules.iter().map(|rule| rule.urgency.as_str()).collect();
    let one = budgets.len() == 1;
    for rule in status.rules.iter().take(if one { 1 } else { RULES }) {
        let of = if one { String::new() } else { format!(" of {}", rule.name) };
        line(format!("urgency      d - 1 of each user{of}: {}", rule.urgency));
    }
    for user in accounts::in_words(&status.limited) {
        line(format!("limited      {user}"));
    }
    line(format!(
        "cost         {} per acknowledgement, {} per arrival",
        ns(status.ns_per_call),
        ns(status.ns_per_receiver_call)
    ));
    if status.out_of_memory + status.events_lost > 0 {
        line(format!(
            "trouble      {} without memory (DCTCP without deadlines), {} lost",
            counted(status.out_of_memory, "call"),
            counted(status.events_lost, "event")
        ));
    }
    text
}

/// Describes the announcements that were not accepted as given.
fn announcing(&Messages { lengthened, denied, refused, queue_full, .. }: &Messages) -> String {
    let lengthened = counted(lengthened, "deadline");
    format!(
        "{lengthened} lengthened and {denied} refused by policy, {refused} impossible, {queue_full} too many at once"
    )
}

/// Returns the message of a successful `attach`.
pub fn in_brief(pins: &Pins, about: &About) -> Result<String> {
    let rules = enact::in_force(pins)?;
    let governed: Vec<String> = rules.iter().map(|(_, rule)| rules::in_words(rule)).collect();
    let mut text = if about.namespace[0] == 0 {
        format!("attached: {}", governed.join("; "))
    } else {
        format!("attached: all connections of {}; {}", kernel::name(&about.namespace), governed.join("; "))
    };
    let root = place::cgroup_root()?;
    // `attach --ports` makes two rules for one cgroup.
    let cgroups: BTreeSet<&Path> = rules.iter().map(|(_, rule)| kernel::path(&rule.cgroup)).collect();
    for path in cgroups.into_iter().filter(|path| !root.join(path).is_dir()) {
        let path = path.shown();
        text += &format!("\nnote: there is no cgroup {path} yet; its connections get the control when it is created");
    }
    if rules.iter().any(|(_, rule)| rule.control == Control::Use as u32) {
        text += "\nnote: beside CUBIC or Reno in one switch queue D2TCP gets next to nothing: give it a queue of its own, \
                 with ECN, or use it for all of the traffic";
    }
    if about.unlisted != 0 {
        text +=
            "\nnote: this kernel refuses the list of connections, so that `d2tcp top` has none: d2tcp check says why";
    }
    Ok(text)
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
        mode: if law.mode == 1 { "plus" } else { "d2tcp" },
        rto_min_us: law.rto_min_ns as f64 / 1000.0,
        initial_window: law.initial_window,
        time_scale: f64::from(law.time_scale) / UNIT as f64,
    }
}

/// Returns the parameters in one line.
pub fn parameters_in_words(law: &Law) -> String {
    let Parameters {
        g,
        cap,
        expired,
        margin_us,
        t_c,
        rtt,
        initial_alpha,
        mode,
        rto_min_us,
        initial_window,
        time_scale,
    } = parameters(law);
    let law = format!(
        "mode {mode}, g {g}, cap {cap}, expired {expired}, margin {margin_us} us, t_c {t_c}, rtt {rtt}, initial alpha \
         {initial_alpha}"
    );
    if mode == "d2tcp" {
        return law;
    }
    format!("{law}, least RTO {rto_min_us} us, initial window {initial_window}, times x {time_scale}")
}

/// Returns the counters of the attachment, summed over CPUs and rules.
pub fn counters(pins: &Pins) -> Result<Counters> {
    let map = maps::map(pins, "counts")?;
    let all = (0..=RULES as u32).map(|number| one(&map, number)).collect::<Result<Vec<_>>>()?;
    Ok(Counters::sum(all.iter().map(Plain::bytes)))
}

/// Returns the rules in force and their counters.
pub fn counters_by_rule(pins: &Pins) -> Result<Vec<(kernel::Rule, Counters)>> {
    let map = maps::map(pins, "counts")?;
    enact::in_force(pins)?.into_iter().map(|(slot, rule)| Ok((rule, one(&map, slot as u32 + 1)?))).collect()
}

fn one(map: &MapHandle, number: u32) -> Result<Counters> {
    let found = map.lookup_percpu(&number.to_ne_bytes(), MapFlags::ANY).context("read the counters")?;
    found.map(Counters::sum).ok_or_else(|| Failure::new(Kind::Failed, "no counters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let said = |number| announcing(&messages(&Counters { lengthened: number, denied: 1, ..Counters::default() }));
        assert_eq!(said(1), "1 deadline lengthened and 1 refused by policy, 0 impossible, 0 too many at once");
        assert!(said(0).starts_with("0 deadlines ") && said(2).starts_with("2 deadlines "));
    }

    #[test]
    fn hostile_names_are_harmless() {
        use crate::escape::{HOSTILE, is_safe};
        let counters = Counters::default();
        let status = Status {
            attached: true,
            version: Name::new(HOSTILE),
            seconds: 0.0,
            held_by: None,
            hooks: vec![Name::new(HOSTILE)],
            dead: vec![format!("x: its pin is missing ({})", Name::new(HOSTILE))],
            rules: vec![RuleStatus {
                name: Name::new(HOSTILE),
                governs: format!("all connections of {}", Name::new(HOSTILE)),
                urgency: "no limit".to_owned(),
                connections: connections(&counters),
                messages: messages(&counters),
            }],
            namespace: Some(Name::new(HOSTILE)),
            pins: Name::new(HOSTILE),
            parameters: parameters(&crate::parameters::DEFAULTS),
            connections: connections(&counters),
            windows: 0,
            cuts: 0,
            losses: 0,
            timeouts: 0,
            held: 0,
            segments: 0,
            segments_marked: 0,
            messages: messages(&counters),
            limited: Vec::new(),
            ns_per_call: None,
            ns_per_receiver_call: None,
            calls: 0,
            receiver_calls: 0,
            out_of_memory: 0,
            events_lost: 0,
        };
        let text = text(&status, &crate::parameters::DEFAULTS);
        assert!(is_safe(&text) && text.lines().count() == 13, "{text}");
        let shown = "a\\x1b[2J\\n\"\\\\\\u{9b}\\u{202e}\\xff";
        assert_eq!(text.matches(shown).count(), 6, "{text}");
        let json = escape::json_lines(&status).unwrap();
        assert!(is_safe(&json) && serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    }
}
