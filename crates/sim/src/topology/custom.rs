//! `custom`: switches and links as they are listed.

use std::collections::BTreeSet;

use units::{Default, Key, Kind, MAX_HOSTS, Nodes, Problem, Range, Values};

use super::{Descriptor, Graph, LinkSpec};

/// Switches and links as they are listed.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "custom",
    help: "switches and links as they are listed, of hosts with one link or several; flows take shortest paths, spread by ECMP",
    aliases: &[("nodes", "hosts"), ("servers", "hosts")],
    keys: KEYS,
    example: "switches = [\"left\", \"right\"]\nhosts = 16\n\
              links = [{ from = \"0..8\", to = \"left\" }, { from = \"8..16\", to = \"right\" }, \
              { from = \"left\", to = \"right\", rate = \"4 Gbps\" }]",
    single_switch: false,
    growth: None,
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "hosts",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(2.0, MAX_HOSTS as f64),
        help: "number of hosts; each has one link or several, to switches or other hosts",
        source: "",
    },
    Key {
        name: "switches",
        kind: Kind::Names,
        default: Default::Required,
        range: Range::ANY,
        help: "the switches' names; none (`[]`) where all links join hosts",
        source: "",
    },
    Key {
        name: "links",
        kind: Kind::Links,
        default: Default::Required,
        range: Range::ANY,
        help: "a list of { from, to, rate, delay, buffer, mark }, each a link in both directions",
        source: "",
    },
];

/// Keys of one entry of `links`.
pub const LINK_KEYS: &[Key] = &[
    Key {
        name: "from",
        kind: Kind::Nodes,
        default: Default::Required,
        range: Range::ANY,
        help: "one end: a switch, or hosts, each of which gets such a link with the other end",
        source: "",
    },
    Key {
        name: "to",
        kind: Kind::Nodes,
        default: Default::Required,
        range: Range::ANY,
        help: "the other end",
        source: "",
    },
    Key {
        name: "rate",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::at_least(1e4).more_is_easier(),
        help: "in each direction; the network's `rate` when left out",
        source: "",
    },
    Key {
        name: "delay",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE.less_is_easier(),
        help: "one way; the network's `delay` when left out",
        source: "",
    },
    Key {
        name: "buffer",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE.more_is_easier(),
        help: "what the switches' ports to this link may hold, each by itself, outside of what their switch shares",
        source: "",
    },
    Key {
        name: "mark",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "marking threshold of the switches' ports to this link; the network's when left out",
        source: "",
    },
];

fn build(values: &Values) -> Result<Graph, Problem> {
    const MAX_LINKS: usize = 1 << 20;
    let names = values.names("switches");
    let mut graph = Graph::new(values.count("hosts") as u32);
    names.iter().for_each(|name| {
        graph.switch(name, false);
    });
    let mut known = BTreeSet::new();
    // The first switch of a host gives its rack; a host without one is a rack of its own.
    let mut rack_of = vec![None; graph.hosts as usize];
    for (entry, link) in values.links("links").iter().enumerate() {
        let from = ends(&graph, &names, link, entry, "from")?;
        let to = ends(&graph, &names, link, entry, "to")?;
        let problem = |part, message: String| Problem::new("links", message).at(entry, part);
        if from.len() > 1 && to.len() > 1 {
            let both = "several hosts on both sides: which of them are joined is not known";
            return Err(problem("to", both.into()));
        }
        let spec = |from, to| LinkSpec {
            from,
            to,
            rate: link.rate_if_set("rate").unwrap_or(values.rate("rate")),
            delay: link.time_if_set("delay").unwrap_or(values.time("delay")),
            buffer: link.amount_if_set("buffer"),
            mark: link.amount_if_set("mark"),
        };
        for (&a, &b) in from.iter().flat_map(|a| to.iter().map(move |b| (a, b))) {
            let (name, other) = (graph.name(a), graph.name(b));
            if a == b {
                return Err(problem("to", format!("{name} would be joined with itself")));
            }
            if !known.insert((a.min(b), a.max(b))) {
                return Err(problem("to", format!("{name} and {other} are joined twice")));
            }
            if let (Some(rack), Some(switch)) = (rack_of.get_mut(a.min(b) as usize), a.max(b).checked_sub(graph.hosts))
            {
                rack.get_or_insert(switch);
            }
            graph.links.extend([spec(a, b), spec(b, a)]);
        }
        if graph.links.len() > 2 * MAX_LINKS {
            return Err(problem("from", format!("these are too many links: at most {MAX_LINKS}")));
        }
    }
    connected(&graph)?;
    let racks = names.len() as u32..;
    graph.rack_of = racks.zip(rack_of).map(|(own, rack)| rack.unwrap_or(own)).collect();
    Ok(graph)
}

/// Returns the nodes at one end of an entry.
fn ends(graph: &Graph, names: &[String], link: &Values, entry: usize, part: &'static str) -> Result<Vec<u32>, Problem> {
    let problem = |message: String| Problem::new("links", message).at(entry, part);
    match link.nodes(part) {
        Nodes::Hosts(hosts) => match hosts.iter().find(|host| host.0 >= graph.hosts) {
            None => Ok(hosts.into_iter().map(|host| host.0).collect()),
            Some(host) => {
                let last = graph.hosts - 1;
                Err(problem(format!("host {host} does not exist; the network has hosts 0 to {last}")))
            }
        },
        Nodes::Switch(name) => match names.iter().position(|known| *known == name) {
            Some(switch) => Ok(vec![graph.hosts + switch as u32]),
            None => Err(problem(format!("there is no switch `{name}`")).meant(&name, names)),
        },
    }
}

/// Checks that every node can be reached from host 0.
fn connected(graph: &Graph) -> Result<(), Problem> {
    let mut neighbours = vec![Vec::new(); graph.nodes() as usize];
    for link in &graph.links {
        neighbours[link.from as usize].push(link.to);
    }
    let mut reached = vec![false; graph.nodes() as usize];
    reached[0] = true;
    let mut edge = vec![0];
    while let Some(node) = edge.pop() {
        for &next in &neighbours[node as usize] {
            if !std::mem::replace(&mut reached[next as usize], true) {
                edge.push(next);
            }
        }
    }
    match reached.iter().position(|reached| !reached) {
        None => Ok(()),
        Some(node) => {
            let name = graph.name(node as u32);
            let why = if neighbours[node].is_empty() { "has no link" } else { "cannot be reached from host 0" };
            Err(Problem::new("links", format!("{name} {why}")))
        }
    }
}
