//! `poisson`: open-loop arrivals between random pairs of hosts.

use units::{Deadline, Default, Distribution, HostId, Instant, Key, Kind, Problem, Range, Span, Stream, Values};

use super::{Batch, Built, COUNT, Context, DEADLINE, Descriptor, Generator, Request, SIZE};

/// Open-loop arrivals between random pairs.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "poisson",
    help: "open-loop Poisson arrivals between random pairs of hosts at a given load",
    aliases: &[],
    keys: KEYS,
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "load",
        kind: Kind::Share,
        default: Default::Required,
        range: Range::above(0.0, 10.0),
        help: "payload that the senders are given, as a share of their links' rate",
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
    // Bytes per second of all senders together, by the rate of each one's own link.
    let rates = context.graph.host_rates();
    let capacity: f64 = from.iter().map(|&host| rates[host].as_bps_f64() / 8.0).sum();
    let mean_gap = size.mean() / (values.number("load") * capacity) * 1e12;
    Ok(Box::new(Poisson {
        now: values.time("start").after_start(),
        gap: Distribution::Exponential(mean_gap),
        from,
        to,
        size,
        deadline: values.deadline_if_set("deadline"),
        left: values.count_if_set("count").unwrap_or(u64::MAX),
        stream: Stream::new(context.seed, &values.text("name"), 0),
    }))
}

#[derive(Clone)]
struct Poisson {
    now: Instant,
    gap: Distribution,
    from: Vec<HostId>,
    to: Vec<HostId>,
    size: Distribution,
    deadline: Option<Deadline>,
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
        let request = Request {
            start: self.now,
            from,
            to,
            bytes: Some(super::draw_bytes(&self.size, &mut self.stream)),
            deadline: super::draw_deadline(&self.deadline, &mut self.stream),
            query: None,
            place: None,
        };
        Some(Batch { at: self.now, messages: vec![request], query: None })
    }

    fn expected(&self, until: Instant) -> (f64, &'static str) {
        let messages = until.saturating_sub(self.now).0 as f64 / self.gap.mean();
        (messages.min(self.left as f64), "load")
    }

    fn deadlines(&self) -> Option<(Span, Span)> {
        super::deadlines(&self.deadline)
    }

    fn again(&self) -> Box<dyn Generator> {
        Box::new(self.clone())
    }
}
