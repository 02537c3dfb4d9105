//! `fat-tree`: the three-tier fat-tree of k-port switches.

use units::{Default, Key, Kind, Problem, Range, Values};

use super::{Descriptor, Graph, Growth, OVERSUBSCRIPTION, uplink_key};

/// The three-tier fat-tree of k-port switches.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "fat-tree",
    help: "three tiers of k-port switches, k^3/4 hosts; flows are spread by ECMP",
    aliases: &[("clos", "fat-tree")],
    keys: KEYS,
    example: "k = 4",
    single_switch: false,
    growth: Some(Growth { key: "k", min: 4, step: 2, power: 3 }),
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "k",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(2.0, 80.0),
        help: "ports of each switch, an even number",
        source: "Al-Fares et al., SIGCOMM 2008",
    },
    uplink_key("rate of the links between switches; the hosts' rate when left out", ""),
    Key {
        name: "core",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::at_least(1e4),
        help: "rate of the links between aggregation and core switches; that of the other links between switches when \
               left out",
        source: "MCP 5: 10G below, 40G above",
    },
    OVERSUBSCRIPTION,
];

fn build(values: &Values) -> Result<Graph, Problem> {
    let k = values.count("k") as u32;
    if !k.is_multiple_of(2) {
        return Err(Problem::new("k", format!("must be even, not {k}")));
    }
    let half = k / 2;
    let (rate, delay) = (values.rate("rate"), values.time("delay"));
    let uplink = super::uplink(values, u64::from(half) * rate.0, half)?.unwrap_or(rate);
    let core = values.rate_if_set("core").unwrap_or(uplink);
    let mut graph = Graph::new(k * half * half);
    // Nodes after the hosts: edge switches, aggregation switches, core switches.
    let first_aggregation = graph.hosts + k * half;
    let first_core = first_aggregation + k * half;
    for edge in 0..k * half {
        let (pod, hosts) = (edge / half, edge * half..(edge + 1) * half);
        let switch = graph.switch(format!("edge {edge}"), false);
        graph.rack(switch, edge, hosts, rate, delay);
        for i in 0..half {
            graph.join(switch, first_aggregation + pod * half + i, uplink, delay);
        }
    }
    for aggregation in 0..k * half {
        let switch = graph.switch(format!("aggregation {aggregation}"), false);
        for i in 0..half {
            graph.join(switch, first_core + (aggregation % half) * half + i, core, delay);
        }
    }
    for core in 0..half * half {
        graph.switch(format!("core {core}"), false);
    }
    Ok(graph)
}
