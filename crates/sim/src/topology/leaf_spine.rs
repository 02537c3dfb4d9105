//! `leaf-spine`: every leaf switch has a link to every spine switch.

use units::{Default, Key, Kind, Problem, Range, Values};

use super::{Descriptor, Graph, Growth, OVERSUBSCRIPTION, uplink_key};

/// Two tiers of switches, fully meshed.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "leaf-spine",
    help: "every leaf switch has a link to every spine switch; flows are spread by ECMP",
    aliases: &[("clos", "leaf-spine"), ("spine-leaf", "leaf-spine")],
    keys: KEYS,
    example: "leaves = 4\nhosts_per_leaf = 4\nspines = 2\nuplink = \"2 Gbps\"",
    single_switch: false,
    growth: Some(Growth { key: "leaves", min: 2, step: 1, power: 1 }),
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "leaves",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 4096.0),
        help: "number of leaf switches",
        source: "",
    },
    Key {
        name: "hosts_per_leaf",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 4096.0),
        help: "number of hosts at each leaf switch",
        source: "",
    },
    Key {
        name: "spines",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 1024.0).more_is_easier(),
        help: "number of spine switches",
        source: "",
    },
    uplink_key("rate of each link between a leaf and a spine; this or `oversubscription`", ""),
    OVERSUBSCRIPTION,
];

fn build(values: &Values) -> Result<Graph, Problem> {
    let (leaves, per_leaf) = (values.count("leaves") as u32, values.count("hosts_per_leaf") as u32);
    super::check_size("hosts_per_leaf", leaves, per_leaf)?;
    let (spines, delay) = (values.count("spines") as u32, values.time("delay"));
    const MAX_LINKS: u32 = 1 << 19;
    if leaves * spines > MAX_LINKS {
        let message = format!("{} links between leaves and spines are too many: at most {MAX_LINKS}", leaves * spines);
        return Err(Problem::new("spines", message));
    }
    let uplink = super::needed_uplink(values, u64::from(per_leaf) * values.rate("rate").0, spines)?;
    let mut graph = Graph::new(leaves * per_leaf);
    let first_spine = graph.hosts + leaves;
    for leaf in 0..leaves {
        let switch = graph.switch(format!("leaf {leaf}"), false);
        graph.rack(switch, leaf, leaf * per_leaf..(leaf + 1) * per_leaf, values.rate("rate"), delay);
        for spine in 0..spines {
            graph.join(switch, first_spine + spine, uplink, delay);
        }
    }
    for spine in 0..spines {
        graph.switch(format!("spine {spine}"), false);
    }
    Ok(graph)
}
