//! `stages`: requests of several stages, which wait for each other.

mod build;
mod collective;
mod keys;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use units::{Allowed, Distribution, HostId, Instant, OfRequest, Problem, RequestTrace, Span, Stream, Values};

use super::offered::{Offered, PerLink};
use super::{
    Batch, Built, Clients, Context, Demand, Descriptor, Generator, Listing, MAX_TIME, Nature, Planned, Request,
};
use crate::requests::plan::{Action, Pick, Plan, mean_of};
use crate::requests::{Draws, Window};
use crate::topology::LinkSpec;
use crate::topology::routing::Routing;

/// Requests of several stages.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "stages",
    help: "requests of stages of messages and work, each of which starts at its host when everything of the stages that \
           it follows has ended there",
    aliases: &[],
    keys: keys::KEYS,
    nature: Nature { waits: true, ..Nature::GIVEN },
    build,
};

fn build(values: &Values, context: &Context) -> Built {
    let plan = Arc::new(build::plan(values, context.graph)?);
    let (every, clients) = (values.distribution_if_set("every"), values.count_if_set("clients"));
    let trace = values.requests_if_set("requests").map(Arc::new);
    let name = values.text("name");
    let start = super::start_at(&values.formula("start"), 0, 0)?;
    let think = values.distribution_if_set("think");
    if think.is_some() && clients.is_none() {
        return Err(Problem::new("think", "only `clients` think"));
    }
    let arrivals = match (every, clients, &trace) {
        (Some(every), None, None) => {
            Arrivals::Open { every, next: start, stream: Stream::new(context.seed, &format!("{name}, arrivals"), 0) }
        }
        (None, Some(clients), None) => {
            let think = think.unwrap_or(Distribution::Constant(0.0));
            let mut stream = Stream::new(context.seed, &format!("{name}, clients"), 0);
            let mut first: Vec<Instant> =
                (0..clients).map(|_| start.saturating_add(super::draw_time(&think, &mut stream))).collect();
            first.sort_unstable();
            Arrivals::Closed { first: first.into_iter().map(Reverse).collect(), think, stream }
        }
        (None, None, Some(_)) => Arrivals::Listed { start },
        _ => {
            let problem = Problem::new("every", "requests arrive by one of `every`, `clients` and `requests`");
            return Err(problem.hint("write for example every = \"exponential(2 ms)\""));
        }
    };
    Ok(Box::new(Stages {
        alone: alone(&plan, context),
        occupied: if matches!(arrivals, Arrivals::Closed { .. }) { occupied(&plan, context) } else { 0.0 },
        plan,
        trace,
        arrivals,
        name,
        seed: context.seed,
        arrived: 0,
        count: values.count_if_set("count").unwrap_or(u64::MAX),
    }))
}

/// The number of pairs of hosts of a stage between which the rate of a path is looked up.
const SAMPLED: usize = 16;

/// Returns the shortest time of a request, from its works and the rates of the hosts that take part; where hosts have
/// several links, the rates of paths between them.
fn alone(plan: &Plan, context: &Context) -> f64 {
    let rates = context.graph.host_rates();
    let fastest =
        plan.roles.iter().flat_map(|role| &role.hosts).map(|&host| rates[host].as_bps_f64()).fold(1.0, f64::max);
    let mut routing = context.graph.hosts_route().then(|| Routing::new(context.graph));
    let mut of_paths = |(from, to): (usize, usize)| {
        let (from, to) = (&plan.roles[from].hosts, &plan.roles[to].hosts);
        let routing = routing.as_mut()?;
        let several = SAMPLED.min(from.len() * to.len());
        // The neighbours in the order of the roles, then others.
        let pairs =
            (0..several).map(|number| (from[number % from.len()], to[(number + 1 + number / from.len()) % to.len()]));
        let rate = |ends| routing.rate(context.graph, ends, context.sprayed).as_bps_f64();
        pairs.filter(|(from, to)| from != to).map(rate).reduce(f64::max)
    };
    let mut by_roles = BTreeMap::new();
    let mut of_stage = |stage: &crate::requests::plan::Stage| match &stage.action {
        Action::Work { time: OfRequest::Drawn(time), .. } => time.mean(),
        Action::Send { from, to, size: OfRequest::Drawn(size), share, .. } => {
            let rate = by_roles.entry((*from, *to)).or_insert_with_key(|roles| of_paths(*roles).unwrap_or(fastest));
            size.mean() * share * 8e12 / *rate
        }
        _ => 0.0,
    };
    // The longest chain of stages.
    let mut ends: Vec<f64> = Vec::new();
    for stage in &plan.stages {
        let begins = stage.after.iter().map(|&before| ends[before]).fold(0.0, f64::max);
        ends.push(begins + of_stage(stage));
    }
    ends.into_iter().fold(0.0, f64::max)
}

/// Returns the mean time for which a request occupies the link of a host that it occupies longest, in either direction.
/// Sizes of columns are left out.
fn occupied(plan: &Plan, context: &Context) -> f64 {
    let mut offered = Offered::new(context.graph);
    let rates = context.graph.host_rates();
    let mut at_host: BTreeMap<(HostId, bool), f64> = BTreeMap::new();
    for stage in &plan.stages {
        let Action::Send { from, to, size: OfRequest::Drawn(size), share, .. } = &stage.action else { continue };
        let bytes = size.mean() * share * plan.pieces_of(stage) as f64;
        if context.graph.hosts_route() {
            let (from, to) = (&plan.roles[*from].hosts, &plan.roles[*to].hosts);
            offered.add(&Demand { from, to, messages: 1.0, bytes });
        }
        for (role, sends) in [(*from, true), (*to, false)] {
            let hosts = &plan.roles[role].hosts;
            let time = |host: HostId| bytes / hosts.len() as f64 * 8e12 / rates[host].as_bps_f64();
            hosts.iter().for_each(|&host| *at_host.entry((host, sends)).or_default() += time(host));
        }
    }
    let by_hosts = at_host.into_values().fold(0.0, f64::max);
    if !context.graph.hosts_route() {
        return by_hosts;
    }
    // Each link of a host carries the part of its messages whose routes begin or end there.
    let PerLink { bytes, is_complete } = offered.per_link(&mut Routing::new(context.graph));
    let ends = |link: &LinkSpec| link.from.min(link.to) < context.graph.hosts;
    let links = context.graph.links.iter().zip(bytes.iter()).filter(|(link, _)| is_complete && ends(link));
    links.map(|(link, bytes)| bytes * 8e12 / link.rate.as_bps_f64()).fold(by_hosts, f64::max)
}

#[derive(Clone)]
struct Stages {
    plan: Arc<Plan>,
    trace: Option<Arc<RequestTrace>>,
    arrivals: Arrivals,
    /// Name of the class.
    name: String,
    seed: u64,
    arrived: u64,
    /// Maximum number of requests.
    count: u64,
    /// Approximate time of a request in an empty network, in ps.
    alone: f64,
    /// The mean time for which a request occupies the link of a host that it occupies longest, in ps.
    occupied: f64,
}

/// The arrival of requests.
#[derive(Clone)]
enum Arrivals {
    /// At any time, whatever became of those before.
    Open { every: Distribution, next: Instant, stream: Stream },
    /// Each client's next when its last has ended.
    Closed { first: BinaryHeap<Reverse<Instant>>, think: Distribution, stream: Stream },
    /// As in a file, from `start` on.
    Listed { start: Instant },
}

impl Generator for Stages {
    fn next(&mut self) -> Option<Batch> {
        if self.arrived == self.count {
            return None;
        }
        let at = match &mut self.arrivals {
            Arrivals::Open { every, next, stream } => {
                *next = next.saturating_add(super::draw_time(every, stream).max(Span(1)));
                *next
            }
            Arrivals::Closed { first, .. } => first.pop()?.0,
            Arrivals::Listed { start } => {
                let at = self.trace.as_ref()?.arrivals.get(self.arrived as usize)?;
                start.saturating_add(at.since_start())
            }
        };
        self.arrived += 1;
        Some(Batch { at, messages: Vec::new(), times_alone: Vec::new(), query: None })
    }

    fn expected(&self, until: Instant) -> (f64, &'static str) {
        let (requests, key) = self.requests_until(until);
        (requests * self.plan.messages() as f64, key)
    }

    fn deadlines(&self) -> Option<(Span, Span)> {
        let spans = self.plan.goals.iter().map(|goal| match &goal.within {
            Allowed::Time(OfRequest::Drawn(time)) => time.span(),
            Allowed::Time(OfRequest::Formula(_)) => (self.alone, self.alone),
            Allowed::TimesAlone(times) => (times.span().0 * self.alone, times.span().1 * self.alone),
        });
        let (low, high) = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        let time = |ps| Span::from_ps_f64(ps).clamp(Span(1), MAX_TIME);
        Some((time(low), time(high)))
    }

    fn offer(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        // Clients that wait for their answers never ask for more than the network carries.
        if let Arrivals::Closed { .. } = self.arrivals {
            return;
        }
        self.demand(until, offer);
    }

    fn demand(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        let (requests, _) = self.requests_until(until);
        for stage in &self.plan.stages {
            let Action::Send { from, to, size, share, .. } = &stage.action else { continue };
            let (from, to) = (&self.plan.roles[*from].hosts, &self.plan.roles[*to].hosts);
            let messages = requests * self.plan.pieces_of(stage) as f64;
            let bytes = messages * mean_of(size, self.rows()) * share;
            offer(Demand { from, to, messages, bytes });
        }
    }

    fn listed(&self, end: Instant) -> Listing {
        match (&self.arrivals, &self.trace) {
            (Arrivals::Listed { start }, Some(trace)) => {
                let late = |at: &&Instant| start.saturating_add(at.since_start()) >= end;
                let each = self.plan.messages();
                let too_late = trace.arrivals.iter().rev().take_while(late).count() as u64;
                Listing { messages: trace.arrivals.len() as u64 * each, too_late: too_late * each }
            }
            _ => Listing::default(),
        }
    }

    fn waits(&self) -> bool {
        true
    }

    fn indivisible(&self) -> Option<&'static str> {
        match self.arrivals {
            Arrivals::Closed { .. } => Some("a class's clients wait for their answers"),
            _ => self.plan.indivisible(),
        }
    }

    fn clients(&self) -> Option<Clients<'_>> {
        match &self.arrivals {
            Arrivals::Closed { first, think, .. } => Some(Clients { count: first.len() as u64, think }),
            _ => None,
        }
    }

    fn depends_on_run(&self) -> Option<&'static str> {
        match self.arrivals {
            Arrivals::Closed { .. } => Some("its clients ask again when a request has ended"),
            _ if self.plan.roles.iter().any(|role| role.pick == Pick::LeastLoaded) => {
                Some("it picks the least loaded hosts")
            }
            _ => None,
        }
    }

    fn plan(&self) -> Option<Planned> {
        Some(Planned { plan: self.plan.clone(), trace: self.trace.clone() })
    }

    fn sketch(&self, at: Instant) -> Vec<Request> {
        let Stages { plan, trace, name, seed, arrived, .. } = self;
        let draws = Draws { plan, trace: trace.clone(), name: name.clone(), seed: *seed };
        let number = arrived - 1;
        let message = |Window { from, to, bytes, start, .. }: Window| Request {
            start,
            from,
            to,
            bytes: Some(bytes),
            deadline: None,
            query: Some(number),
            place: None,
            piece: None,
        };
        draws.messages(number, at).into_iter().map(message).collect()
    }

    fn asks_again(&mut self, now: Instant) -> Option<Instant> {
        let Arrivals::Closed { think, stream, .. } = &mut self.arrivals else { return None };
        if self.arrived == self.count {
            return None;
        }
        self.arrived += 1;
        Some(now.saturating_add(super::draw_time(think, stream)))
    }

    fn again(&self) -> Box<dyn Generator> {
        Box::new(self.clone())
    }
}

impl Stages {
    /// Returns the expected number of requests until then, and the key that decides it.
    fn requests_until(&self, until: Instant) -> (f64, &'static str) {
        let (requests, key) = match &self.arrivals {
            Arrivals::Open { every, next, .. } => (super::expected_draws(every, *next, until), "every"),
            Arrivals::Closed { first, think, .. } => {
                let cycle = (think.mean() + self.alone).max(1.0) / first.len() as f64;
                (until.0 as f64 / cycle.max(self.occupied), "clients")
            }
            Arrivals::Listed { start } => {
                let in_time = |at: &Instant| start.saturating_add(at.since_start()) < until;
                (self.trace.as_ref().map_or(0, |trace| trace.arrivals.partition_point(in_time)) as f64, "requests")
            }
        };
        (requests.min(self.count as f64), key)
    }

    /// Returns the columns of all requests of a trace.
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        let trace = self.trace.as_deref();
        (0..trace.map_or(0, |trace| trace.arrivals.len())).filter_map(move |request| Some(trace?.row(request)))
    }
}
