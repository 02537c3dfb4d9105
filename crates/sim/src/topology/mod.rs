//! Topologies: each file declares its keys and builds a graph.

mod custom;
mod fat_tree;
pub mod latency;
mod leaf_spine;
mod partition;
mod racks;
mod rails;
pub mod routing;
mod star;

pub use custom::LINK_KEYS;
pub use partition::{Clock, Partition};

use std::collections::VecDeque;

use units::{Alias, Amount, Bytes, Default, HostId, Key, Kind, MAX_HOSTS, Problem, Range, Rate, Span, Table, Values};

/// A topology's description: its name, and its keys beside the general ones of networks.
pub struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// Other words for its name or for one of its keys.
    pub aliases: &'static [Alias],
    /// Its keys beside [`network::KEYS`](crate::network::KEYS).
    pub keys: &'static [Key],
    /// An example of its keys, with 16 hosts, as in a scenario file.
    pub example: &'static str,
    /// True if it has one switch and nothing else.
    pub single_switch: bool,
    /// The key by which its networks grow with equal rates and loads of all links; none where no key does that.
    pub growth: Option<Growth>,
    /// Builds the nodes and links; see [`Descriptor::graph`].
    build: fn(&Values) -> Result<Graph, Problem>,
}

impl Descriptor {
    /// Builds a graph from the checked values of `[network]`.
    ///
    /// # Errors
    /// If values contradict each other.
    pub fn graph(&self, values: &Values) -> Result<Graph, Problem> {
        Ok(Graph { single_switch: self.single_switch, ..(self.build)(values)? })
    }
}

/// The growth of a topology's networks with one of its keys.
pub struct Growth {
    /// The name of the key, a count.
    pub key: &'static str,
    /// The smallest value that leaves the shape as it is.
    pub min: u32,
    /// The values are multiples of this.
    pub step: u32,
    /// The power of it that the number of hosts grows with.
    pub power: u32,
}

/// All topologies, in the order of the reference.
pub const TOPOLOGIES: &[Descriptor] = &[
    star::DESCRIPTOR,
    racks::DESCRIPTOR,
    leaf_spine::DESCRIPTOR,
    fat_tree::DESCRIPTOR,
    rails::DESCRIPTOR,
    custom::DESCRIPTOR,
];

/// Returns the topology of that name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    TOPOLOGIES.iter().find(|topology| topology.name == name)
}

/// Returns the name of a switch without its number.
fn stem(switch: &SwitchNode) -> &str {
    switch.name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end()
}

/// The name of all switches that are not named.
const OTHERS: &str = "others";

/// `oversubscription`, for topologies whose switches have uplinks.
const OVERSUBSCRIPTION: Key = Key {
    name: "oversubscription",
    kind: Kind::Number,
    default: Default::Absent,
    range: Range::above(0.0, 1e9).less_is_easier(),
    help: "instead of `uplink`: what a switch's hosts can send together over what its uplinks carry",
    source: "",
};

/// `uplink`, for the same topologies.
const fn uplink_key(help: &'static str, source: &'static str) -> Key {
    let range = Range::at_least(1e4).more_is_easier();
    Key { name: "uplink", kind: Kind::Rate, default: Default::Absent, range, help, source }
}

/// Returns the rate of each uplink of a switch, as given or from its oversubscription. `below` is the sum of its hosts'
/// rates, `uplinks` the number of its uplinks. Returns `None` if neither is given.
fn uplink(values: &Values, below: u64, uplinks: u32) -> Result<Option<Rate>, Problem> {
    const LEAST: f64 = 1e4;
    let given = values.rate_if_set("uplink");
    let Some(factor) = values.number_if_set(OVERSUBSCRIPTION.name) else { return Ok(given) };
    if given.is_some() {
        return Err(Problem::new(OVERSUBSCRIPTION.name, "the rate of `uplink` is given too: one of the two is enough"));
    }
    let rate = below as f64 / factor / f64::from(uplinks);
    match (LEAST..1e15).contains(&rate) {
        true => Ok(Some(Rate(rate.round() as u64))),
        false => {
            let message =
                format!("the uplinks would have {rate:.0} bit/s, at least 10 Kbps and less than 10^15 are possible");
            Err(Problem::new(OVERSUBSCRIPTION.name, message))
        }
    }
}

/// As [`uplink`], where one of both must be given.
fn needed_uplink(values: &Values, below: u64, uplinks: u32) -> Result<Rate, Problem> {
    uplink(values, below, uplinks)?.ok_or_else(|| {
        Problem::new("uplink", "give the rate of the uplinks, or `oversubscription`, from which it follows")
    })
}

fn check_size(key: &'static str, groups: u32, hosts_each: u32) -> Result<(), Problem> {
    match groups.checked_mul(hosts_each) {
        Some(2..=MAX_HOSTS) => Ok(()),
        _ => Err(Problem::new(
            key,
            format!(
                "a network has 2 to {MAX_HOSTS} hosts, this one would have {}",
                u64::from(groups) * u64::from(hosts_each)
            ),
        )),
    }
}

/// Hosts first (host `i` is node `i`), then switches; links in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// The number of hosts.
    pub hosts: u32,
    /// All hosts are at one switch, as the topology's [`Descriptor::single_switch`] says.
    pub single_switch: bool,
    /// For each host, its rack (hosts behind the same switch share one).
    pub rack_of: Vec<u32>,
    /// The switches, nodes `hosts..`.
    pub switches: Vec<SwitchNode>,
    /// One entry per direction.
    pub links: Vec<LinkSpec>,
}

/// A switch of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchNode {
    /// For reports: "switch", "tor 3".
    pub name: String,
    /// Unlimited buffers and no marking (the fabric switch of `racks`).
    pub unlimited: bool,
    /// Its own buffer, if it is not that of the network's switches.
    pub buffer: Option<Amount>,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Node at its start.
    pub from: u32,
    /// Node at its end.
    pub to: u32,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Span,
    /// The port's own buffer, if it takes no part in the buffer of its switch.
    pub buffer: Option<Amount>,
    /// The port's own marking threshold, if it is not that of the network.
    pub mark: Option<Amount>,
}

impl LinkSpec {
    /// Returns a link with the buffer and the threshold of its switch.
    pub fn new(from: u32, to: u32, rate: Rate, delay: Span) -> LinkSpec {
        LinkSpec { from, to, rate, delay, buffer: None, mark: None }
    }
}

/// The route with the longest round trip from a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Longest {
    /// The time there and back.
    pub round_trip: Span,
    /// The number of links one way.
    pub links: u32,
    /// The rate of the first link.
    pub first: Rate,
    /// The time for which 1000 bytes more are sent there, summed over the links.
    pub per_kilobyte: Span,
}

impl Longest {
    const NONE: Longest = Longest { round_trip: Span::ZERO, links: 0, first: Rate(0), per_kilobyte: Span::ZERO };
}

impl Graph {
    /// Returns hosts without any links.
    pub fn new(hosts: u32) -> Graph {
        Graph { hosts, single_switch: false, rack_of: vec![0; hosts as usize], switches: Vec::new(), links: Vec::new() }
    }
    /// Adds a switch and returns its node number.
    pub fn switch(&mut self, name: impl Into<String>, unlimited: bool) -> u32 {
        self.switches.push(SwitchNode { name: name.into(), unlimited, buffer: None });
        self.hosts + self.switches.len() as u32 - 1
    }
    /// Joins two nodes with a link in each direction.
    pub fn join(&mut self, a: u32, b: u32, rate: Rate, delay: Span) {
        self.links.push(LinkSpec::new(a, b, rate, delay));
        self.links.push(LinkSpec::new(b, a, rate, delay));
    }
    /// Joins a switch with the hosts of one rack.
    pub fn rack(&mut self, switch: u32, rack: u32, hosts: std::ops::Range<u32>, rate: Rate, delay: Span) {
        for host in hosts {
            self.rack_of[host as usize] = rack;
            self.join(host, switch, rate, delay);
        }
    }
    /// Returns all hosts; each is the node of the same number.
    pub fn all_hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.hosts).map(HostId)
    }
    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.hosts + self.switches.len() as u32
    }
    /// Returns the rates at which all hosts can send by all of their links together, in one pass.
    pub fn host_rates(&self) -> Table<HostId, Rate> {
        let mut rates = Table::from(vec![Rate(0); self.hosts as usize]);
        for link in &self.links {
            if let Some(rate) = rates.find_mut(HostId(link.from)) {
                rate.0 = rate.0.saturating_add(link.rate.0);
            }
        }
        rates
    }
    /// Returns whether hosts take part in routing: some host has several links, or one to another host. Else a route to
    /// a host is a route to its switch.
    pub fn hosts_route(&self) -> bool {
        let mut has_link = vec![false; self.hosts as usize];
        let mut at_hosts = self.links.iter().filter(|link| link.from < self.hosts);
        at_hosts.any(|link| link.to < self.hosts || std::mem::replace(&mut has_link[link.from as usize], true))
    }
    /// Returns whether some link between switches is slower than some link of a host.
    pub fn has_slower_core(&self) -> bool {
        let (of_hosts, between): (Vec<&LinkSpec>, Vec<&LinkSpec>) =
            self.links.iter().partition(|link| link.from.min(link.to) < self.hosts);
        let fastest = of_hosts.iter().map(|link| link.rate).max();
        between.iter().any(|link| Some(link.rate) < fastest)
    }
    /// Returns the route from host 0 with the longest round trip without queues, with the given numbers of bytes there
    /// and back. Routes pass through the fewest hosts, then over the fewest links.
    pub fn longest_round_trip(&self, there: Bytes, back: Bytes) -> Longest {
        let mut leaving = vec![Vec::new(); self.nodes() as usize];
        for link in &self.links {
            leaving[link.from as usize].push(link);
        }
        let mut reached: Vec<Option<Longest>> = vec![None; self.nodes() as usize];
        reached[0] = Some(Longest::NONE);
        // Hosts forward only when nothing else is left.
        let (mut next, mut hosts) = (VecDeque::from([0]), VecDeque::new());
        while let Some(node) = next.pop_front().or_else(|| hosts.pop_front()) {
            let before = reached[node as usize].unwrap_or(Longest::NONE);
            for link in &leaving[node as usize] {
                if reached[link.to as usize].is_none() {
                    let sent = link.rate.transmission();
                    let hop = sent.of(there) + sent.of(back) + link.delay * 2;
                    reached[link.to as usize] = Some(Longest {
                        round_trip: before.round_trip.saturating_add(hop),
                        links: before.links + 1,
                        first: if before.links == 0 { link.rate } else { before.first },
                        per_kilobyte: before.per_kilobyte.saturating_add(sent.of(Bytes(1000))),
                    });
                    if link.to < self.hosts { &mut hosts } else { &mut next }.push_back(link.to);
                }
            }
        }
        reached.iter().take(self.hosts as usize).flatten().copied().max().unwrap_or(Longest::NONE)
    }
    /// Gives switches buffers of their own, by their names; `others` is for the rest. A name without a
    /// number is for all that have one behind it: `leaf` for `leaf 0`, `leaf 1`. Returns the buffer of switches without
    /// one of their own.
    pub(crate) fn set_buffers(&mut self, buffers: &[(Option<String>, Amount)]) -> Result<Amount, String> {
        if let [(None, amount)] = buffers {
            return Ok(*amount);
        }
        let (limited, unlimited): (Vec<&SwitchNode>, Vec<_>) = self.switches.iter().partition(|node| !node.unlimited);
        let names = || buffers.iter().filter_map(|(name, _)| name.as_deref());
        let is_for =
            |name: &str, nodes: &[&SwitchNode]| nodes.iter().any(|node| name == node.name || name == stem(node));
        if let Some(name) = names().find(|name| *name != OTHERS && !is_for(name, &limited)) {
            let is_unlimited = is_for(name, &unlimited);
            let stems = limited.iter().map(|node| stem(node));
            let near = units::nearest(name, limited.iter().map(|node| node.name.as_str()).chain(stems));
            return Err(match near {
                _ if is_unlimited => format!("the buffer of switch `{name}` is unlimited"),
                Some(near) => format!("there is no switch `{name}`; did you mean `{near}`?"),
                None => format!("there is no switch `{name}`"),
            });
        }
        let mut used = vec![false; buffers.len()];
        for switch in self.switches.iter_mut().filter(|switch| !switch.unlimited) {
            let find = |wanted: &str| buffers.iter().position(|(name, _)| name.as_deref() == Some(wanted));
            let Some(found) = find(&switch.name).or_else(|| find(stem(switch))).or_else(|| find(OTHERS)) else {
                return Err(format!("switch `{}` has no buffer: name it, or `{OTHERS}`", switch.name));
            };
            used[found] = true;
            switch.buffer = Some(buffers[found].1);
        }
        match names().zip(used).find(|(_, used)| !used) {
            Some((name, _)) => Err(format!("`{name}` is for no switch: each has a nearer name")),
            None => Ok(buffers[0].1),
        }
    }
    /// Returns a node's name for reports.
    pub fn name(&self, node: u32) -> String {
        match node.checked_sub(self.hosts) {
            None => format!("host {node}"),
            Some(switch) => self.switches[switch as usize].name.clone(),
        }
    }
}
