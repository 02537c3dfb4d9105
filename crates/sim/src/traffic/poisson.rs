//! `poisson`: open-loop arrivals between random pairs of hosts.

use units::{Default, Distribution, HostId, Instant, Key, Kind, LinkId, Load, Problem, Range, Span, Stream, Values};

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
    if from.iter().any(|sender| to.iter().all(|receiver| receiver == sender)) {
        return Err(Problem::new("to", "a sender would have nobody but itself to send to"));
    }
    let size = values.distribution("size");
    if !size.mean().is_finite() {
        return Err(Problem::new(
            "size",
            "its mean is infinite, so no arrival rate gives the load (a Pareto shape above 1 has a mean)",
        ));
    }
    let Load { of, share } = values.load("load");
    let capacity = match of {
        "hosts" => {
            let rates = context.graph.host_rates();
            from.iter().map(|&host| rates[host].as_bps_f64() / 8.0).sum()
        }
        _ => capacity(of == "uplinks", &from, &to, context.graph)?,
    };
    let mean_gap = size.mean() / (share * capacity) * 1e12;
    Ok(Box::new(Poisson {
        now: values.time("start").after_start(),
        gap: Distribution::Exponential(mean_gap),
        from,
        to,
        deadline: Deadlines::of(values, &size, context.graph),
        size,
        left: values.count_if_set("count").unwrap_or(u64::MAX),
        stream: Stream::new(context.seed, &values.text("name"), 0),
    }))
}

/// Returns the bytes per second of all senders together that fill the most loaded link, of all links or of links
/// between switches.
fn capacity(between_switches: bool, from: &[HostId], to: &[HostId], graph: &Graph) -> Result<f64, Problem> {
    let mut offered = Offered::new(graph);
    offered.add(&Demand { from, to, messages: 0.0, bytes: 1.0 });
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

#[derive(Clone)]
struct Poisson {
    now: Instant,
    gap: Distribution,
    from: Vec<HostId>,
    to: Vec<HostId>,
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
        let from = self.from[self.stream.below(self.from.len() as u64) as usize];
        let to = loop {
            let to = self.to[self.stream.below(self.to.len() as u64) as usize];
            if to != from {
                break to;
            }
        };
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
        offer(Demand { from: &self.from, to: &self.to, messages, bytes: messages * self.size.mean() });
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
