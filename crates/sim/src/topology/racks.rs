//! `racks`: racks of hosts, each ToR with one uplink to one fabric switch.

use units::{Default, Key, Kind, Problem, Range, Values};

use super::{Descriptor, Graph, Growth, OVERSUBSCRIPTION, uplink_key};

/// Racks behind one fabric switch.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "racks",
    help: "racks of hosts, each ToR with one uplink to one fabric switch with unlimited buffers (D2TCP fig. 8)",
    aliases: &[("tor", "racks")],
    keys: KEYS,
    example: "racks = 4\nhosts_per_rack = 4\nuplink = \"2 Gbps\"",
    single_switch: false,
    growth: Some(Growth { key: "racks", min: 2, step: 1, power: 1 }),
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "racks",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 4096.0),
        help: "number of racks",
        source: "D2TCP 4.2.1: 25",
    },
    Key {
        name: "hosts_per_rack",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 4096.0),
        help: "number of hosts in each rack",
        source: "D2TCP 4.2.1: 40",
    },
    uplink_key(
        "rate of the link between a ToR and the fabric switch; this or `oversubscription`",
        "D2TCP 4.2.1: hosts in the rack x 1 Gbps",
    ),
    OVERSUBSCRIPTION,
];

fn build(values: &Values) -> Result<Graph, Problem> {
    let (racks, per_rack) = (values.count("racks") as u32, values.count("hosts_per_rack") as u32);
    super::check_size("hosts_per_rack", racks, per_rack)?;
    let delay = values.time("delay");
    let uplink = super::needed_uplink(values, u64::from(per_rack) * values.rate("rate").0, 1)?;
    let mut graph = Graph::new(racks * per_rack);
    let fabric = graph.hosts + racks;
    for rack in 0..racks {
        let tor = graph.switch(format!("tor {rack}"), false);
        graph.rack(tor, rack, rack * per_rack..(rack + 1) * per_rack, values.rate("rate"), delay);
        graph.join(tor, fabric, uplink, delay);
    }
    graph.switch("fabric", true);
    Ok(graph)
}
