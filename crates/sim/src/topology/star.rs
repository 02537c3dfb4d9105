//! `star`: all hosts at one switch.

use units::{Default, Key, Kind, MAX_HOSTS, Problem, Range, Values};

use super::{Descriptor, Graph, LinkSpec};

/// All hosts at one switch.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "star",
    help: "all hosts at one switch",
    aliases: &[("dumbbell", "star"), ("nodes", "hosts"), ("servers", "hosts")],
    keys: KEYS,
    example: "hosts = 16\nbottleneck = \"500 Mbps\"",
    single_switch: true,
    growth: None,
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "hosts",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(2.0, MAX_HOSTS as f64),
        help: "number of hosts",
        source: "",
    },
    Key {
        name: "bottleneck",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::at_least(1e4).more_is_easier(),
        help: "rate of the link to the last host, when it differs from the others'",
        source: "the set-ups of D2TCP figure 6 and of xDCTCP's study",
    },
];

fn build(values: &Values) -> Result<Graph, Problem> {
    let hosts = values.count("hosts") as u32;
    let (rate, delay) = (values.rate("rate"), values.time("delay"));
    let mut graph = Graph::new(hosts);
    let switch = graph.switch("switch", false);
    for host in 0..hosts {
        let to_host = if host == hosts - 1 { values.rate_if_set("bottleneck").unwrap_or(rate) } else { rate };
        graph.links.push(LinkSpec::new(host, switch, rate, delay));
        graph.links.push(LinkSpec::new(switch, host, to_host, delay));
    }
    Ok(graph)
}
