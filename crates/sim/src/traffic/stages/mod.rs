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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::fixtures::{chain, drawn, role, send, work};
    use crate::requests::plan::Goal;
    use crate::topology::Graph;
    use units::{Bytes, Formula, Rate};

    const RATE: Rate = Rate::from_gbps(10);

    /// Stages one after the other, of roles of these hosts, with the number of them that each request takes.
    fn plan_of(roles: &[(&[u32], u32)], actions: Vec<Action>) -> Plan {
        chain(roles.iter().map(|&(hosts, count)| role(hosts, count, Pick::Random)).collect(), actions)
    }

    /// Host 0 sends 1000 B to each of two of hosts 1 to 3. These work for 5 us, and each answers with half of 8000 B.
    fn asking() -> Plan {
        let stages = vec![send(0, 1, drawn(1000.0), 1.0), work(1, drawn(5e6)), send(1, 0, drawn(8000.0), 0.5)];
        plan_of(&[(&[0], 1), (&[1, 2, 3], 2)], stages)
    }

    /// All hosts send 1000 B to each other.
    fn exchange(hosts: u32) -> Plan {
        let all: Vec<u32> = (0..hosts).collect();
        plan_of(&[(&all, hosts)], vec![send(0, 0, drawn(1000.0), 1.0)])
    }

    fn context(graph: &Graph) -> Context<'_> {
        Context { graph, sprayed: false, seed: 1, duration: Span::from_micros(10), above: &[] }
    }

    /// Four hosts at one switch, the last one at four times the rate.
    fn star() -> Graph {
        let mut graph = Graph::new(4);
        let switch = graph.switch("switch", false);
        (0..4).for_each(|host| graph.join(host, switch, Rate(RATE.0 * if host == 3 { 4 } else { 1 }), Span(1)));
        graph
    }

    /// Hosts with a link to each other, one of them at four times the rate.
    fn mesh(hosts: u32, fast: (u32, u32)) -> Graph {
        let mut graph = Graph::new(hosts);
        for (from, to) in (0..hosts).flat_map(|from| (from + 1..hosts).map(move |to| (from, to))) {
            graph.join(from, to, Rate(RATE.0 * if (from, to) == fast { 4 } else { 1 }), Span(1));
        }
        crate::fabric::in_order(&mut graph);
        graph
    }

    /// At 40 Gbps 1000 B take 200 ns and 4000 B 800 ns. Amounts by columns are left out.
    #[test]
    fn time_alone_is_the_sum_of_works_and_of_messages_at_the_highest_rate() {
        let graph = star();
        assert_eq!(alone(&asking(), &context(&graph)), 6e6);
        let column = || OfRequest::Formula(Formula::Column(0));
        assert_eq!(alone(&plan_of(&[(&[0], 1)], vec![work(0, column())]), &context(&graph)), 0.0);
        let two = plan_of(&[(&[0], 1)], vec![work(0, column()), work(0, drawn(5.0))]);
        assert_eq!(alone(&two, &context(&graph)), 5.0);
    }

    /// 1000 B take 800 ns at 10 Gbps and 200 ns at 40 Gbps. Of many hosts only the paths to the next ones
    /// in order are looked up.
    #[test]
    fn hosts_with_several_links_are_as_fast_as_the_paths_between_them() {
        let ps = |hosts, fast, plan: &Plan| alone(plan, &context(&mesh(hosts, fast)));
        assert_eq!(ps(3, (1, 2), &exchange(3)), 200e3);
        assert_eq!(ps(4, (0, 2), &exchange(4)), 200e3);
        assert_eq!(ps(5, (1, 3), &exchange(5)), 200e3);
        assert_eq!(ps(8, (0, 4), &exchange(8)), 800e3);
        let to = |to: &[u32]| plan_of(&[(&[0], 1), (to, 1)], vec![send(0, 1, drawn(1000.0), 1.0)]);
        assert_eq!(ps(3, (1, 2), &to(&[1])), 800e3);
        assert_eq!(ps(3, (0, 2), &to(&[1, 2])), 200e3);
        assert_eq!(ps(3, (0, 1), &to(&[1])), 200e3);
    }

    /// Host 0 receives 8000 B for each request, more than any other host sends or receives: 6.4 us at 10 Gbps.
    #[test]
    fn busiest_link_of_a_host_is_occupied_for_its_bytes() {
        assert_eq!(occupied(&asking(), &context(&star())), 6.4e6);
        assert_eq!(occupied(&plan_of(&[(&[0], 1)], vec![work(0, drawn(5e6))]), &context(&star())), 0.0);
    }

    /// Hosts 0 and 1 have several links. 1000 B take one of them, for 800 ns; a link between switches is not of a host.
    #[test]
    fn link_of_a_host_with_several_is_occupied_by_the_routes_over_it() {
        let to = plan_of(&[(&[0], 1), (&[1], 1)], vec![send(0, 1, drawn(1000.0), 1.0)]);
        assert_eq!(occupied(&to, &context(&mesh(3, (1, 2)))), 800e3);
        let mut graph = Graph::new(4);
        let [near, far] = ["near", "far"].map(|name| graph.switch(name, false));
        for (from, to, rate) in [(0, near, 10), (1, far, 10), (near, far, 1), (0, 2, 10), (1, 3, 10)] {
            graph.join(from, to, Rate::from_gbps(rate), Span(1));
        }
        crate::fabric::in_order(&mut graph);
        assert_eq!(occupied(&to, &context(&graph)), 800e3);
    }

    fn stages(arrivals: Arrivals) -> Stages {
        Stages {
            plan: Arc::new(asking()),
            trace: None,
            arrivals,
            name: "requests".into(),
            seed: 1,
            arrived: 0,
            count: u64::MAX,
            alone: 6e6,
            occupied: 1e6,
        }
    }

    fn open(every: f64) -> Stages {
        let every = Distribution::Constant(every);
        stages(Arrivals::Open { every, next: Instant::ZERO, stream: Stream::new(1, "requests", 0) })
    }

    /// Clients that think for a time in ps.
    fn closed(clients: u64, think: f64) -> Stages {
        let first = (0..clients).map(|client| Reverse(Instant(client))).collect();
        let think = Distribution::Constant(think);
        stages(Arrivals::Closed { first, think, stream: Stream::new(1, "requests", 0) })
    }

    /// Requests of a file after 1, 2 and 3 us, which starts after 1 us, with a column.
    fn listed() -> Stages {
        let arrivals = [1, 2, 3].map(Instant::from_micros).into();
        let trace = RequestTrace { columns: vec!["size".into()], arrivals, values: vec![100.0, 200.0, 600.0] };
        let mut stages = stages(Arrivals::Listed { start: Instant::from_micros(1) });
        stages.trace = Some(Arc::new(trace));
        stages
    }

    /// A request has four messages. Three clients ask every 10 us each, or as often as a link of a host allows.
    #[test]
    fn expected_messages_are_those_of_all_requests() {
        let us = Instant::from_micros;
        let close = |(messages, key): (f64, &'static str), expected: f64, of: &str| {
            assert!((messages - expected).abs() < 1e-9 && key == of, "{messages} {key}");
        };
        close(open(1e6).expected(us(10)), 40.0, "every");
        close(Stages { count: 7, ..open(1e6) }.expected(us(10)), 28.0, "every");
        close(closed(3, 4e6).expected(us(10)), 12.0, "clients");
        close(Stages { occupied: 5e6, ..closed(3, 4e6) }.expected(us(10)), 8.0, "clients");
        // Without a time of its own a request takes a picosecond.
        close(Stages { alone: 0.0, occupied: 0.0, ..closed(1, 0.0) }.expected(Instant(10)), 40.0, "clients");
        close(listed().expected(us(3)), 4.0, "requests");
        close(Stages { trace: None, ..listed() }.expected(us(3)), 0.0, "requests");
    }

    /// 3 us, and twice the time alone of 6 us. A deadline is a picosecond at least.
    #[test]
    fn deadlines_are_from_the_least_goal_to_the_greatest() {
        let with = |goals: Vec<Allowed>| {
            let goal = |within| Goal { name: String::new(), stage: None, within };
            let plan = Plan { goals: goals.into_iter().map(goal).collect(), ..asking() };
            Stages { plan: Arc::new(plan), ..open(1e6) }.deadlines()
        };
        let (short, twice) = (Allowed::Time(drawn(3e6)), Allowed::TimesAlone(Distribution::Constant(2.0)));
        let (low, high) = (Span::from_micros(3), Span::from_micros(12));
        assert_eq!(with(vec![short.clone(), twice.clone()]), Some((low, high)));
        assert_eq!(with(vec![twice, short]), Some((low, high)));
        assert_eq!(with(vec![Allowed::Time(drawn(0.0))]), Some((Span(1), Span(1))));
        assert_eq!(with(Vec::new()), None);
    }

    /// Ten requests in 10 us. Clients ask for no more than the network carries.
    #[test]
    fn offer_is_the_bytes_of_all_messages_but_of_clients() {
        let offered = |stages: &Stages| {
            let mut all = Vec::new();
            stages.offer(Instant::from_micros(10), &mut |demand| all.push((demand.messages, demand.bytes)));
            all
        };
        assert_eq!(offered(&open(1e6)), [(20.0, 20e3), (20.0, 80e3)]);
        assert_eq!(offered(&closed(3, 4e6)), []);
        // The mean of 100, 200 and 600 B.
        let size = OfRequest::Formula(Formula::Column(0));
        let plan = plan_of(&[(&[0], 1), (&[1], 1)], vec![send(0, 1, size, 2.0)]);
        assert_eq!(offered(&Stages { plan: Arc::new(plan), ..listed() }), [(3.0, 1800.0)]);
    }

    #[test]
    fn listed_requests_after_the_end_are_too_late() {
        let Listing { messages, too_late } = listed().listed(Instant::from_micros(3));
        assert_eq!((messages, too_late), (12, 8));
        let Listing { messages, too_late } = open(1e6).listed(Instant::from_micros(3));
        assert_eq!((messages, too_late), (0, 0));
    }

    #[test]
    fn clients_and_loads_depend_on_the_run() {
        let of = |stages: &Stages| {
            let clients = stages.clients().map(|clients| clients.count);
            (clients, stages.indivisible().is_some(), stages.depends_on_run().is_some(), stages.waits())
        };
        assert_eq!(of(&open(1e6)), (None, false, false, true));
        assert_eq!(of(&listed()), (None, false, false, true));
        assert_eq!(of(&closed(3, 4e6)), (Some(3), true, true, true));
        let mut by_load = asking();
        by_load.roles[1].pick = Pick::LeastLoaded;
        assert_eq!(of(&Stages { plan: Arc::new(by_load), ..open(1e6) }), (None, true, true, true));
    }

    #[test]
    fn requests_follow_each_other_up_to_their_count() {
        let at = |stages: &mut Stages| stages.next().map(|batch| batch.at);
        let mut dense = Stages { count: 2, ..open(0.0) };
        assert_eq!([(); 3].map(|()| at(&mut dense)), [Some(Instant(1)), Some(Instant(2)), None]);
        let mut clients = Stages { count: 4, ..closed(2, 5.0) };
        assert_eq!([(); 3].map(|()| at(&mut clients)), [Some(Instant(0)), Some(Instant(1)), None]);
        let again = [10, 20, 30].map(|now| clients.asks_again(Instant(now)));
        assert_eq!(again, [Some(Instant(15)), Some(Instant(25)), None]);
        assert_eq!(open(1e6).asks_again(Instant(10)), None);
        let mut listed = listed();
        let us = |micros| Some(Instant::from_micros(micros));
        assert_eq!([(); 4].map(|()| at(&mut listed)), [us(2), us(3), us(4), None]);
    }

    /// Before its first message is sent: the works before a message are known, but no times of the network.
    #[test]
    fn sketch_has_the_messages_of_a_request_as_its_works_let_them_start() {
        let actions = asking().stages.into_iter().map(|stage| stage.action).collect();
        let mut stages = Stages { plan: Arc::new(plan_of(&[(&[0], 1), (&[1], 1)], actions)), ..open(1e6) };
        let batch = stages.next().expect("the first request");
        let sketch = stages.sketch(batch.at);
        let sent = sketch.iter().map(|sent| (sent.from.0, sent.to.0, sent.bytes, sent.start, sent.query));
        let after = |micros: u64| Instant::from_micros(1 + micros);
        assert_eq!(
            sent.collect::<Vec<_>>(),
            [(0, 1, Some(Bytes(1000)), after(0), Some(0)), (1, 0, Some(Bytes(4000)), after(5), Some(0))]
        );
    }
}
