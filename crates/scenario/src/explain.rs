//! A scenario as data before it is run: the senders and receivers, the load of each port, and the random parts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use sim::PortGroup;
use sim::faults::Effect;
use sim::topology::Graph;
use sim::traffic::{Clients, Request};
use units::{HostId, LinkId, Span, Table};

use crate::lints::uses_marks;
use crate::survey::{Routes, Survey, in_bytes};

/// The number of messages that are drawn to describe a scenario, at most.
const MAX_MESSAGES: usize = 200_000;

/// The number of links that all routes of the drawn messages have together, at most.
const MAX_STEPS: usize = 4_000_000;

/// Returns the number of messages to draw: fewer in networks with many equal routes between two hosts.
pub(crate) fn messages_to_draw(graph: &Graph) -> usize {
    /// So few links cost little.
    const FEW: usize = 100;
    let routes = Routes::new(graph);
    let links = routes.shares(HostId(0), HostId(graph.hosts.saturating_sub(1))).len();
    if links <= FEW { MAX_MESSAGES } else { MAX_MESSAGES.min(MAX_STEPS / links) }
}

/// The number of links that are described: the ones with the highest loads.
const MAX_LINKS: usize = 12;

/// Returns an object with `title`, `seed`, `duration_s`, `profile` with its settings, and the lists `classes` and
/// `faults`. It also has `links`, the ones with the highest loads first, and `links_in_use`, their number. Where the
/// expected loads of links between switches are not known, `expected_is_complete` is false. `ports` has the number of
/// ports with each mode, and why. `random` has the parts that depend on the seed.
pub(crate) fn describe(survey: &Survey, profile: Json) -> Json {
    let scenario = survey.scenario;
    let links = asked_links(survey);
    let expected = survey.offered(None);
    json!({
        "title": scenario.title,
        "seed": scenario.run.seed,
        "duration_s": scenario.run.duration.as_secs_f64(),
        "profile": profile,
        "classes": classes(survey),
        "links_in_use": links.len(),
        "expected_is_complete": expected.is_complete,
        "links": links.iter().take(MAX_LINKS).map(|(link, asked)| of_link(survey, *link, asked, &expected.of_link)).collect::<Vec<_>>(),
        "ports": scenario.port_groups().iter().map(of_ports).collect::<Vec<_>>(),
        "faults": faults(survey),
        "random": random(survey),
    })
}

fn of_ports(group: &PortGroup) -> Json {
    json!({ "of": group.role.name(), "ports": group.ports, "mode": group.mode, "why": group.reason.text() })
}

fn classes(survey: &Survey) -> Vec<Json> {
    let of_class = survey.classes().map(|(class, transport, drawn)| {
        let count = |what: fn(&Request) -> HostId| drawn.messages.iter().map(what).collect::<BTreeSet<HostId>>().len();
        let sizes: Vec<f64> = drawn.messages.iter().filter_map(|message| Some(message.bytes?.as_f64())).collect();
        let deadlines: Vec<f64> =
            drawn.messages.iter().filter_map(|message| Some(message.deadline?.as_micros_f64())).collect();
        let mut together: BTreeMap<(HostId, u64), u64> = BTreeMap::new();
        for message in &drawn.messages {
            if let Some(query) = message.query {
                *together.entry((message.to, query)).or_default() += 1;
            }
        }
        let duration = survey.scenario.run.duration;
        let (mut messages, mut bytes) = (0.0, 0.0);
        class.generator.offer(duration.after_start(), &mut |demand| {
            messages += demand.messages;
            bytes += demand.bytes;
        });
        let mbps = |bytes: f64, time: f64| (!sizes.is_empty() || bytes > 0.0).then_some(8e-6 * bytes / time);
        let (expected, _) = class.generator.expected(duration.after_start());
        let clients = class.generator.clients().map(|Clients { count, think }| {
            json!({ "count": count, "think_us": Span::from_ps_f64(think.mean()).as_micros_f64(), "messages": expected })
        });
        json!({
            "name": class.name,
            "pattern": class.pattern,
            "clients": clients,
            "size_mean_bytes": class.generator.sizes().map(|sizes| sizes.mean()),
            "expected_messages": messages,
            "expected_mbps": mbps(bytes, duration.as_secs_f64()),
            "drawn_mbps": mbps(sizes.iter().sum(), drawn.until.as_secs_f64()),
            "transport": transport.name,
            "connections": if class.persistent { "persistent" } else { "fresh" },
            "senders": count(|message| message.from),
            "receivers": count(|message| message.to),
            "messages": drawn.messages.len(),
            "drawn_until_s": drawn.until.as_secs_f64(),
            "drawn_partly": !drawn.all,
            "without_end": drawn.messages.len() - sizes.len(),
            "at_once": together.values().max(),
            "bytes": spread(&sizes),
            "deadline_us": spread(&deadlines),
            "deadline_times_alone": spread(&drawn.times_alone),
            "random": drawn.random,
        })
    });
    of_class.collect()
}

/// Returns the smallest, the mean and the largest value.
fn spread(values: &[f64]) -> Json {
    if values.is_empty() {
        return Json::Null;
    }
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    json!({ "min": least, "mean": values.iter().sum::<f64>() / values.len() as f64, "max": most })
}

/// The load that is offered to a link.
#[derive(Default)]
struct Asked {
    bits_per_s: f64,
    without_end: f64,
    classes: BTreeSet<usize>,
}

/// Returns every link that carries data, the highest loads first.
fn asked_links(survey: &Survey) -> Vec<(usize, Asked)> {
    let mut asked: BTreeMap<usize, Asked> = BTreeMap::new();
    for (index, (_, transport, drawn)) in survey.classes().enumerate() {
        let mut pairs: BTreeMap<(HostId, HostId), (f64, u64)> = BTreeMap::new();
        for message in &drawn.messages {
            let entry = pairs.entry((message.from, message.to)).or_default();
            match message.bytes {
                Some(bytes) => entry.0 += survey.on_wire(bytes, transport),
                None => entry.1 += 1,
            }
        }
        let seconds = drawn.until.as_secs_f64();
        for ((from, to), (bytes, without_end)) in pairs {
            for (link, _, share) in survey.routes.shares(from, to) {
                let entry = asked.entry(link).or_default();
                entry.bits_per_s += share * bytes * 8.0 / seconds;
                entry.without_end += share * without_end as f64;
                entry.classes.insert(index);
            }
        }
    }
    let rate = |link: usize| survey.routes.graph.links[link].rate.as_bps_f64();
    let mut order: Vec<(usize, Asked)> = asked.into_iter().collect();
    order.sort_by(|(a, one), (b, other)| {
        let by_load = (other.bits_per_s / rate(*b)).total_cmp(&(one.bits_per_s / rate(*a)));
        // Flows without end fill the links that they share.
        (other.without_end > one.without_end).cmp(&(one.without_end > other.without_end)).then(by_load)
    });
    order
}

fn of_link(survey: &Survey, link: usize, asked: &Asked, expected: &Table<LinkId, f64>) -> Json {
    let spec = &survey.routes.graph.links[link];
    let all: Vec<_> = survey.classes().collect();
    let here: Vec<_> = asked.classes.iter().map(|&index| &all[index]).collect();
    let frame = here.first().map_or(1500.0, |(_, transport, _)| survey.frame(transport));
    let port = survey.port(link);
    let bursts = here.iter().flat_map(|(class, transport, drawn)| survey.first_windows(class, transport, drawn));
    let burst = bursts.filter(|burst| burst.link == link).map(|burst| burst.bytes).reduce(f64::max);
    let floors = here.iter().flat_map(|(_, transport, drawn)| survey.at_floor(transport, drawn));
    let floor = floors.filter(|floor| floor.link == link).map(|floor| floor.bytes).reduce(f64::max);
    let path = here.iter().find_map(|(_, transport, drawn)| {
        let message = drawn.messages.iter().find(|message| message.to.0 == spec.to)?;
        Some(survey.bandwidth_delay(message.from, message.to, transport))
    });
    let marks = here.iter().any(|(_, transport, _)| uses_marks(transport));
    let mark = port.filter(|_| marks).and_then(|port| port.mark);
    json!({
        "link": survey.link_name(link),
        "rate_mbps": spec.rate.as_bps_f64() / 1e6,
        "expected_percent": 100.0 * expected[LinkId::from_index(link)],
        "load_percent": 100.0 * asked.bits_per_s / spec.rate.as_bps_f64(),
        "flows_without_end": asked.without_end,
        "classes": here.iter().map(|(class, ..)| &class.name).collect::<Vec<_>>(),
        "limit_bytes": port.and_then(|port| Some(in_bytes(port.limit?, frame))),
        "mark_bytes": mark.map(|mark| in_bytes(mark, frame)),
        "mark_at": mark.map(|_| survey.scenario.network.settings.choice("mark_at")),
        "bandwidth_delay_bytes": path,
        "burst_bytes": burst,
        "floor_bytes": floor,
    })
}

fn faults(survey: &Survey) -> Vec<Json> {
    let graph = survey.routes.graph;
    let described = survey.scenario.faults.iter().map(|fault| {
        let name = |&(from, to): &(u32, u32)| format!("{} to {}", graph.name(from), graph.name(to));
        json!({
            "kind": fault.kind,
            "at_s": fault.at.as_secs_f64(),
            "until_s": fault.until.map(|until| until.as_secs_f64()),
            "directions": fault.links.len(),
            "links": fault.links.iter().take(MAX_LINKS).map(name).collect::<Vec<_>>(),
            "carry_traffic": survey.carry_traffic(&fault.links),
        })
    });
    described.collect()
}

/// Returns a description of each thing that a seed decides.
fn random(survey: &Survey) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (class, _, drawn) in survey.classes().filter(|(_, _, drawn)| !drawn.random.is_empty()) {
        found.push(format!("{} of class `{}`", drawn.random.join(", "), class.name));
    }
    match survey.scenario.network.host_jitter {
        None => found.push("how late each data packet leaves its host: up to its own transmission time".into()),
        Some(Span::ZERO) => {}
        Some(most) => {
            found.push(format!("how late each data packet leaves its host: up to {} us", most.as_micros_f64()))
        }
    }
    let pairs: BTreeSet<(HostId, HostId)> = survey
        .drawn
        .iter()
        .flat_map(|drawn| drawn.messages.iter().take(1000).map(|message| (message.from, message.to)))
        .collect();
    let faults = &survey.scenario.faults;
    if faults.iter().any(|fault| fault.drawn) {
        found.push("which links faults are on".into());
    }
    if faults.iter().any(|fault| matches!(fault.effect, Effect::OnPackets(_))) {
        found.push("which packets faults strike".into());
    }
    if pairs.into_iter().any(|(from, to)| survey.routes.choose(from, to)) {
        found.push("which of several shortest paths a flow takes".into());
    }
    found
}
