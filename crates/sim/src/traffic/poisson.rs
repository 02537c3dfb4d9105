//! `poisson`: open-loop arrivals between random pairs of hosts.

use std::sync::Arc;

use units::{
    Default, Distribution, HostId, Instant, Key, Kind, LinkId, Load, Problem, Range, Span, Stream, Values, counted,
};

use super::deadline::Deadlines;
use super::offered::{Offered, PerLink};
use super::{Batch, Built, COUNT, Context, DEADLINE, Demand, Descriptor, Generator, Nature, Request, SIZE};
use crate::topology::routing::Routing;
use crate::topology::{Graph, LinkSpec};

/// The pattern of open-loop arrivals between random pairs.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "poisson",
    help: "open-loop Poisson arrivals between random pairs of hosts at a given load",
    aliases: &[],
    keys: KEYS,
    nature: Nature { draws_hosts: true, ..Nature::GIVEN },
    build,
};

/// The links that a load may be a share of; the first is the default.
const LINKS: &[&str] = &["hosts", "uplinks", "bottleneck"];

const KEYS: &[Key] = &[
    Key {
        name: "load",
        kind: Kind::Load(LINKS),
        default: Default::Required,
        range: Range::above(0.0, 10.0).less_is_easier(),
        help: "expected payload, as a share of the rate of the senders' links together; { of, share } names other links: \
               `bottleneck` is the most loaded link of all, `uplinks` the most loaded one between switches, `hosts` the \
               senders' links as the plain share",
        source: "",
    },
    SIZE,
    Key {
        name: "from",
        kind: Kind::Hosts,
        default: Default::Absent,
        range: Range::ANY,
        help: "hosts that send; all when left out",
        source: "",
    },
    Key {
        name: "to",
        kind: Kind::Hosts,
        default: Default::Absent,
        range: Range::ANY,
        help: "hosts that receive; all when left out",
        source: "",
    },
    Key {
        name: "matrix",
        kind: Kind::MatrixFile,
        default: Default::Absent,
        range: Range::ANY,
        help: "path of a file with the traffic from each rack (a line) to each rack (a column), in any unit; hosts are drawn \
               within the racks; without it all pairs of hosts are alike",
        source: "",
    },
    Key {
        name: "start",
        kind: Kind::Time,
        default: Default::Is("0 s"),
        range: Range::at_least(0.0),
        help: "when it begins",
        source: "",
    },
    DEADLINE,
    COUNT,
];

fn build(values: &Values, context: &Context) -> Built {
    let hosts_of = |key: &'static str| {
        let hosts = values.hosts_if_set(key).unwrap_or_else(|| context.graph.all_hosts().collect());
        super::check_hosts(key, &hosts, context.graph).map(|()| hosts)
    };
    let (from, to) = (hosts_of("from")?, hosts_of("to")?);
    let matrix = values.matrix_if_set("matrix");
    if matrix.is_none() && from.iter().any(|sender| to.iter().all(|receiver| receiver == sender)) {
        return Err(Problem::new("to", "a sender would have nobody but itself to send to"));
    }
    let size = values.distribution("size");
    if !size.mean().is_finite() {
        return Err(Problem::new(
            "size",
            "its mean is infinite, so no arrival rate gives the load (a Pareto shape above 1 has a mean)",
        ));
    }
    let pairs = match matrix {
        Some(matrix) => Pairs::of_racks(&matrix, &from, &to, context.graph)?,
        None => Pairs::alike(from, to),
    };
    let Load { of, share } = values.load("load");
    let capacity = match of {
        "hosts" => {
            let rates = context.graph.host_rates();
            pairs.senders().into_iter().map(|host| rates[host].as_bps_f64() / 8.0).sum()
        }
        _ => capacity(of == "uplinks", &pairs, context.graph)?,
    };
    let mean_gap = size.mean() / (share * capacity) * 1e12;
    Ok(Box::new(Poisson {
        now: values.time("start").after_start(),
        gap: Distribution::Exponential(mean_gap),
        pairs,
        deadline: Deadlines::of(values, &size, context.graph),
        size,
        left: values.count_if_set("count").unwrap_or(u64::MAX),
        stream: Stream::new(context.seed, &values.text("name"), 0),
    }))
}

/// Returns the bytes per second of all senders together that fill the most loaded link, of all links or of links
/// between switches.
fn capacity(between_switches: bool, pairs: &Pairs, graph: &Graph) -> Result<f64, Problem> {
    let mut offered = Offered::new(graph);
    pairs.demands(0.0, 1.0, &mut |demand| offered.add(&demand));
    let PerLink { bytes, is_complete } = offered.per_link(&mut Routing::new(graph));
    if !is_complete {
        return Err(Problem::new("load", "this network has too many paths to know the load of each link")
            .hint("write it as a share of the senders' links, such as load = \"40%\""));
    }
    let counts = |link: &LinkSpec| !between_switches || link.from.min(link.to) >= graph.hosts;
    let links = graph.links.iter().enumerate().filter(|(_, link)| counts(link));
    let part = |(index, link): (usize, &LinkSpec)| bytes[LinkId::from_index(index)] / (link.rate.as_bps_f64() / 8.0);
    match links.map(part).fold(0.0, f64::max) {
        0.0 => Err(Problem::new("load", "no message of this class takes a link between switches")
            .hint("write of = \"bottleneck\" for the most loaded link of all")),
        most => Ok(1.0 / most),
    }
}

/// The pairs of hosts that messages are drawn from.
#[derive(Clone)]
struct Pairs {
    /// Senders and receivers; within a group all pairs are alike.
    groups: Vec<Group>,
}

/// Senders and receivers that are alike.
#[derive(Clone)]
struct Group {
    /// The share of all messages that is in this group or one before it.
    up_to: f64,
    share: f64,
    from: Arc<[HostId]>,
    to: Arc<[HostId]>,
}

impl Pairs {
    /// Returns all pairs of senders and receivers.
    fn alike(from: Vec<HostId>, to: Vec<HostId>) -> Pairs {
        Pairs { groups: vec![Group { up_to: 1.0, share: 1.0, from: from.into(), to: to.into() }] }
    }

    /// Returns the pairs of hosts in racks, weighted by the entry of their racks.
    fn of_racks(matrix: &[Vec<f64>], from: &[HostId], to: &[HostId], graph: &Graph) -> Result<Pairs, Problem> {
        let mut racks: Vec<u32> = graph.rack_of.clone();
        racks.sort_unstable();
        racks.dedup();
        if racks.len() != matrix.len() {
            let (racks, rows) = (counted(racks.len() as u64, "rack"), counted(matrix.len() as u64, "line"));
            return Err(Problem::new("matrix", format!("the network has {racks}, the file has {rows}")));
        }
        let within = |hosts: &[HostId]| -> Vec<Arc<[HostId]>> {
            let of = |rack: &u32| hosts.iter().copied().filter(|host| graph.rack_of[host.index()] == *rack).collect();
            racks.iter().map(of).collect()
        };
        let (from, to) = (within(from), within(to));
        let total: f64 = matrix.iter().flatten().sum();
        let (mut groups, mut up_to) = (Vec::new(), 0.0);
        for (row, entries) in matrix.iter().enumerate() {
            for (column, entry) in entries.iter().enumerate().filter(|(_, entry)| **entry > 0.0) {
                let (from, to) = (&from[row], &to[column]);
                if to.is_empty()
                    || from.iter().any(|sender| to.iter().all(|receiver| receiver == sender))
                    || from.is_empty()
                {
                    let problem = format!("line {}, column {}: {entry} is to be sent", row + 1, column + 1);
                    return Err(Problem::new("matrix", format!("{problem}, and there is no pair of hosts that could"))
                        .hint("write 0 there, or name more hosts in `from` and `to`"));
                }
                up_to += entry / total;
                groups.push(Group { up_to, share: entry / total, from: Arc::clone(from), to: Arc::clone(to) });
            }
        }
        Ok(Pairs { groups })
    }

    /// Returns the hosts that send, each once.
    fn senders(&self) -> Vec<HostId> {
        let mut senders: Vec<HostId> = Vec::new();
        let mut last: Option<&Arc<[HostId]>> = None;
        for group in &self.groups {
            // Groups of one rack's senders follow each other.
            if last.is_none_or(|last| !Arc::ptr_eq(last, &group.from)) {
                senders.extend(group.from.iter());
            }
            last = Some(&group.from);
        }
        senders
    }

    fn draw(&self, stream: &mut Stream) -> (HostId, HostId) {
        let group = match self.groups.as_slice() {
            [only] => only,
            groups => {
                let drawn = stream.unit();
                &groups[groups.partition_point(|group| group.up_to <= drawn).min(groups.len() - 1)]
            }
        };
        let from = group.from[stream.below(group.from.len() as u64) as usize];
        loop {
            let to = group.to[stream.below(group.to.len() as u64) as usize];
            if to != from {
                return (from, to);
            }
        }
    }

    /// Calls `offer` with each group's part of some messages.
    fn demands(&self, messages: f64, bytes: f64, offer: &mut dyn FnMut(Demand)) {
        for Group { share, from, to, .. } in &self.groups {
            offer(Demand { from, to, messages: messages * share, bytes: bytes * share });
        }
    }
}

#[derive(Clone)]
struct Poisson {
    now: Instant,
    gap: Distribution,
    pairs: Pairs,
    size: Distribution,
    deadline: Option<Deadlines>,
    left: u64,
    stream: Stream,
}

impl Generator for Poisson {
    fn next(&mut self) -> Option<Batch> {
        self.left = self.left.checked_sub(1)?;
        let gap = super::draw_time(&self.gap, &mut self.stream).max(Span(1));
        self.now = self.now.saturating_add(gap);
        let (from, to) = self.pairs.draw(&mut self.stream);
        let bytes = super::draw_bytes(&self.size, &mut self.stream);
        let allowed = self.deadline.as_ref().map(|deadline| deadline.draw(&mut self.stream));
        let request = Request {
            start: self.now,
            from,
            to,
            bytes: Some(bytes),
            deadline: None,
            query: None,
            place: None,
            piece: None,
        };
        Some(Batch::of_one(request, allowed))
    }

    fn expected(&self, until: Instant) -> (f64, &'static str) {
        let messages = until.saturating_sub(self.now).0 as f64 / self.gap.mean();
        (messages.min(self.left as f64), "load")
    }

    fn offer(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        let (messages, _) = self.expected(until);
        self.pairs.demands(messages, messages * self.size.mean(), offer);
    }

    fn sizes(&self) -> Option<&Distribution> {
        Some(&self.size)
    }

    fn deadlines(&self) -> Option<(Span, Span)> {
        self.deadline.as_ref().map(Deadlines::range)
    }

    fn again(&self) -> Box<dyn Generator> {
        Box::new(self.clone())
    }
}
