//! `rails`: servers of GPUs, each with a link to its server's NVSwitch and one to the switch of its rail.

use units::{Default, Key, Kind, Problem, Range, Values};

use super::{Descriptor, Graph, OVERSUBSCRIPTION, uplink_key};

/// Servers whose GPUs have one rail each.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "rails",
    help: "servers of GPUs: each GPU has a link to its server's NVSwitch and one to its rail's switch; without spines, \
           packets to other rails pass through a GPU, over NVLink",
    aliases: &[("rail", "rails"), ("rail-optimized", "rails"), ("gpus_per_server", "gpus"), ("nodes", "servers")],
    keys: KEYS,
    example: "servers = 4\ngpus = 4\nnvlink_rate = \"10 Gbps\"",
    single_switch: false,
    growth: None,
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "servers",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 4096.0),
        help: "number of servers; host `server x gpus + gpu` is a GPU with its network card",
        source: "NVIDIA DGX SuperPOD: 32 servers in a scalable unit, each rail of which has one leaf switch",
    },
    Key {
        name: "gpus",
        kind: Kind::Count,
        default: Default::Is("8"),
        range: Range::between(2.0, 1024.0),
        help: "number of GPUs in each server, and so of rails",
        source: "NVIDIA DGX H100: 8 GPUs, each with a ConnectX-7 of its own",
    },
    Key {
        name: "nvlink_rate",
        kind: Kind::Rate,
        default: Default::Is("3600 Gbps"),
        range: Range::at_least(1e4).more_is_easier(),
        help: "rate of each GPU's link to its NVSwitch, in each direction; `rate` is that of its link to the rail",
        source: "NVIDIA H100: 18 NVLinks of 25 GB/s in each direction",
    },
    Key {
        name: "nvlink_delay",
        kind: Kind::Time,
        default: Default::Is("25 ns"),
        range: Range::POSITIVE.less_is_easier(),
        help: "propagation delay of each of these links, one way; `delay` is that of all others",
        source: "25 ns: the topologies of SimAI (NSDI 2025)",
    },
    Key {
        name: "spines",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(1.0, 1024.0).more_is_easier(),
        help: "number of spine switches, each joined with the switch of every rail; when left out, rails are not joined",
        source: "",
    },
    uplink_key("rate of each link between a rail's switch and a spine; this or `oversubscription`, with `spines`", ""),
    OVERSUBSCRIPTION,
];

fn build(values: &Values) -> Result<Graph, Problem> {
    let (servers, gpus) = (values.count("servers") as u32, values.count("gpus") as u32);
    super::check_size("gpus", servers, gpus)?;
    let (rate, delay) = (values.rate("rate"), values.time("delay"));
    let spines = values.count_if_set("spines").map(|spines| spines as u32);
    let uplink = match spines {
        Some(spines) => Some(super::needed_uplink(values, u64::from(servers) * rate.0, spines)?),
        None => match ["uplink", OVERSUBSCRIPTION.name].into_iter().find(|key| values.is_given(key)) {
            Some(key) => {
                return Err(Problem::new(key, "rails have no links up where `spines` is left out"));
            }
            None => None,
        },
    };
    let mut graph = Graph::new(servers * gpus);
    for server in 0..servers {
        let switch = graph.switch(format!("nvswitch {server}"), false);
        let hosts = server * gpus..(server + 1) * gpus;
        graph.rack(switch, server, hosts, values.rate("nvlink_rate"), values.time("nvlink_delay"));
    }
    for rail in 0..gpus {
        let switch = graph.switch(format!("rail {rail}"), false);
        (0..servers).for_each(|server| graph.join(server * gpus + rail, switch, rate, delay));
    }
    let first_rail = graph.hosts + servers;
    for (spine, uplink) in (0..spines.unwrap_or(0)).zip(uplink.into_iter().cycle()) {
        let switch = graph.switch(format!("spine {spine}"), false);
        (0..gpus).for_each(|rail| graph.join(first_rail + rail, switch, uplink, delay));
    }
    Ok(graph)
}
