//! `fan-in`: parents ask, leaves answer at nearly the same time.

use units::{
    Deadline, Default, Distribution, HostId, Instant, Key, Kind, MAX_HOSTS, Problem, Range, Span, Stream, Values,
    counted,
};

use super::deadline::{Allowed, Deadlines};
use super::tree::{Inner, Shape, Trees};
use super::{
    Above, Arrival, Asked, Batch, Built, COUNT, Context, DEADLINE, Demand, Departure, Descriptor, Generator, Nature,
    Request, SIZE, START,
};
use crate::topology::Graph;

/// Parents ask, leaves answer.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "fan-in",
    help: "each parent asks its leaves every so often, and all of them answer (partition-aggregate)",
    aliases: &[
        ("burst", "fan-in"),
        ("fan_in", "leaves"),
        ("fanin", "fan-in"),
        ("fanin", "leaves"),
        ("incast", "fan-in"),
        ("workers", "leaves"),
    ],
    keys: KEYS,
    nature: Nature { queries: true, draws_hosts: true, ..Nature::GIVEN },
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "parents",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, MAX_HOSTS as f64).less_is_easier(),
        help: "number of trees, each with a parent of its own",
        source: "D2TCP 4.2.1: five for each application",
    },
    Key {
        name: "leaves",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 65_535.0).less_is_easier(),
        help: "number of leaves of each parent (the fan-in); with 2 levels or more of each of the lowest parents",
        source: "D2TCP 4.2.1: 5 to 40",
    },
    Key {
        name: "placement",
        kind: Kind::Choice(&["auto", "random", "per-query", "divided", "spread", "in-order"]),
        default: Default::Is("auto"),
        range: Range::ANY,
        help: "random: each tree on hosts of its own draw, for the whole run; per-query: parent and leaves drawn anew for \
               each query, as incasts to random receivers; divided: the hosts are dealt at random into equal `parts`, \
               and no two trees share a host while the class's part suffices; spread: parent r is host 0 of rack r, \
               its leaf j host j of rack (r + 1 + j mod (racks - 1)) mod racks; in-order: the parents are the last \
               hosts, the leaves hosts 0, 1, ...; auto: in-order on a star, random elsewhere",
        source: "D2TCP 4.2.1 places at random",
    },
    Key {
        name: "leaves_per_host",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, 65_535.0),
        help: "where a tree has more leaves than there are hosts for them, a host may be so many of its leaves, and sends \
               as many answers: leaf j is on the tree's host j mod the number of hosts; trees of one level only",
        source: "incasts of thousands from a few hundred hosts, as in Homa's evaluation",
    },
    Key {
        name: "parts",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(1.0, MAX_HOSTS as f64),
        help: "with `placement = \"divided\"`: number of equal parts that the hosts are dealt into, alike for all \
               classes; hosts that are left over stay idle",
        source: "D2TCP 4.2.1: hosts are divided equally among five applications",
    },
    Key {
        name: "part",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(1.0, MAX_HOSTS as f64),
        help: "with `placement = \"divided\"`: the class's own part, from 1 to `parts`; parents serve nothing else, \
               and where a part has too few hosts some are leaves of two trees",
        source: "D2TCP 4.2.1",
    },
    Key {
        name: "parents_of",
        kind: Kind::Text,
        default: Default::Absent,
        range: Range::ANY,
        help: "the parents are the hosts that are the parents of this fan-in class, written above and with as many; \
               the leaves are drawn anew, or with `divided` taken from the other end of the part",
        source: "D2TCP 4.2.3: background flows to the same parents",
    },
    Key {
        name: "every",
        kind: Kind::TimeDistribution,
        default: Default::Required,
        range: Range::POSITIVE.more_is_easier(),
        help: "time from one query of a parent to its next; the first comes one draw after `start`",
        source: "",
    },
    START,
    SIZE,
    DEADLINE,
    Key {
        name: "jitter",
        kind: Kind::TimeDistribution,
        default: Default::Is("0 s"),
        range: Range::at_least(0.0),
        help: "delay of each answer after its query",
        source: "D2TCP 2.2",
    },
    COUNT,
    Key {
        name: "levels",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, 8.0),
        help: "levels of answers: 1: leaves answer the parent; 2: they answer parents that answer the parent; ...",
        source: "D2TCP 2.1; the trees of its evaluation have one",
    },
    Key {
        name: "branches",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(1.0, 65_535.0),
        help: "with 2 levels or more: children of each parent whose children are not leaves",
        source: "",
    },
    Key {
        name: "split",
        kind: Kind::Shares,
        default: Default::Absent,
        range: Range::above(0.0, 1.0),
        help: "with 2 levels or more: share of the query's deadline for each level, from the leaves up; equal when \
               left out",
        source: "open; equal parts favour no level",
    },
    Key {
        name: "answer",
        kind: Kind::SizeDistribution,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "with 2 levels or more: bytes of the answer of a parent to its own parent; as `size` when left out",
        source: "",
    },
    Key {
        name: "aggregation",
        kind: Kind::TimeDistribution,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "with 2 levels or more: time from the last answer that a parent waits for to its own; 0 when left out",
        source: "",
    },
];

fn build(values: &Values, context: &Context) -> Built {
    check_parents(values, context.above)?;
    let (parents, leaves) = (values.count("parents") as u32, values.count("leaves") as u32);
    let shape = shape(values)?;
    let name = values.text("name");
    let start = values.formula("start");
    let every = values.distribution("every");
    let placed_with = |name: &str| Stream::new(context.seed, name, u64::MAX);
    let mut streams = Streams {
        parents: placed_with(&values.text_if_set("parents_of").unwrap_or_else(|| name.clone())),
        leaves: values.text_if_set("parents_of").map(|_| placed_with(&name)),
        part: part(values, context)?,
    };
    let wanted = Wanted { parents, leaves, per_host: values.count("leaves_per_host") as u32 };
    let placement = values.choice("placement");
    let trees = match &shape {
        None => place(placement, wanted, context.graph, &mut streams)?,
        Some(_) if wanted.per_host > 1 => {
            return Err(Problem::new("leaves_per_host", "in trees of several levels each node has a host of its own"));
        }
        Some(shape) => place_trees(placement, parents, shape, context.graph, &mut streams)?,
    };
    let hosts = (placement == PER_QUERY).then(|| context.graph.all_hosts().collect::<Vec<HostId>>());
    let parents = trees.into_iter().enumerate().map(|(i, (host, leaves))| {
        let mut stream = Stream::new(context.seed, &name, i as u64);
        let start = super::start_at(&start, i as u64, i as u64)?;
        let next = start + super::draw_time(&every, &mut stream);
        let placing = hosts.as_ref().map(|_| Stream::new(context.seed, &format!("{name}, hosts"), i as u64));
        Ok(Parent { host, leaves, start, next: Some(next), asked: 0, stream, placing })
    });
    let parents = parents.collect::<Result<Vec<Parent>, Problem>>()?;
    let size = values.distribution("size");
    let levels = shape.map(|shape| {
        let equal = || vec![1.0 / f64::from(shape.levels()); shape.levels() as usize];
        let split = values.shares_if_set("split").unwrap_or_else(equal);
        let hosts = |parent: &Parent| std::iter::once(parent.host).chain(parent.leaves.iter().copied()).collect();
        Levels {
            answer: values.distribution_if_set("answer").unwrap_or_else(|| size.clone()),
            aggregation: values.distribution_if_set("aggregation").unwrap_or(Distribution::Constant(0.0)),
            trees: Trees::new(shape, &split, parents.iter().map(hosts).collect()),
            split,
        }
    });
    let deadline = Deadlines::of(values, &size, context.graph);
    Ok(Box::new(FanIn {
        parents,
        every,
        deadline,
        size,
        jitter: values.distribution("jitter"),
        count: values.count_if_set("count").unwrap_or(u64::MAX),
        queries: 0,
        hosts: hosts.unwrap_or_default(),
        levels,
    }))
}

/// Checks that `parents_of` names a fan-in class above, with as many parents on the same hosts.
fn check_parents(values: &Values, above: &[Above]) -> Result<(), Problem> {
    let Some(wanted) = values.text_if_set("parents_of") else { return Ok(()) };
    let trees: Vec<&Values> =
        above.iter().filter(|class| class.pattern == DESCRIPTOR.name).map(|class| &class.values).collect();
    let names: Vec<String> = trees.iter().map(|values| values.text("name")).collect();
    let Some(place) = names.iter().position(|name| *name == wanted) else {
        let problem = Problem::new("parents_of", format!("no fan-in class above is called `{wanted}`"));
        return Err(problem.meant(&wanted, &names).hint("name one that comes before this class"));
    };
    let (has, asks) = (trees[place].count("parents"), values.count("parents"));
    if has != asks {
        let message = format!("`{wanted}` has {} and this class {asks}", counted(has, "parent"));
        return Err(Problem::new("parents_of", message));
    }
    if [trees[place], values].into_iter().any(|class| class.choice("placement") == PER_QUERY) {
        let message = format!("`{wanted}` and this class cannot share parents that each query draws anew");
        return Err(Problem::new("parents_of", message));
    }
    if ["parts", "part"].into_iter().any(|key| trees[place].count_if_set(key) != values.count_if_set(key)) {
        let message = format!("`{wanted}` is on other hosts: `parts` and `part` must be alike");
        return Err(Problem::new("parents_of", message));
    }
    Ok(())
}

/// The random streams of hosts. Leaves are drawn from the parents' stream unless they have one of their own.
struct Streams {
    parents: Stream,
    leaves: Option<Stream>,
    /// The hosts of the class's part, in the order in which they were dealt; `None` if hosts are not divided.
    part: Option<Vec<HostId>>,
}

/// Returns the hosts that are dealt to a class with `placement = "divided"`.
fn part(values: &Values, context: &Context) -> Result<Option<Vec<HostId>>, Problem> {
    let given = ["parts", "part"].map(|key| (key, values.count_if_set(key)));
    let [(_, Some(parts)), (_, Some(part))] = given else {
        return match given.into_iter().find(|(_, value)| value.is_some() != (values.choice("placement") == "divided")) {
            None => Ok(None),
            Some((key, None)) => Err(Problem::new(key, "hosts that are divided need `parts` and `part`")),
            Some((key, Some(_))) => Err(Problem::new(key, "only `placement = \"divided\"` has parts")),
        };
    };
    if values.choice("placement") != "divided" {
        return Err(Problem::new("part", "only `placement = \"divided\"` has parts"));
    }
    if part > parts {
        return Err(Problem::new("part", format!("there is no part {part}: they are numbered from 1 to {parts}")));
    }
    let hosts = context.graph.hosts;
    let size = hosts as usize / parts as usize;
    // The same deal for every class, whatever its name.
    let dealt = Stream::new(context.seed, "divided", u64::MAX).distinct(hosts, hosts);
    Ok(Some(dealt.into_iter().map(HostId).skip((part as usize - 1) * size).take(size).collect()))
}

/// Returns the shape of trees of several levels; `None` for one level.
fn shape(values: &Values) -> Result<Option<Shape>, Problem> {
    let levels = values.count("levels") as u32;
    if levels == 1 {
        let needless =
            ["branches", "split", "answer", "aggregation"].into_iter().find(|key| values.find(key).is_some());
        return match needless {
            None => Ok(None),
            Some(key) => Err(Problem::new(key, "trees of one level have none: write `levels = 2`")),
        };
    }
    let Some(branches) = values.count_if_set("branches") else {
        return Err(Problem::new(
            "levels",
            format!("trees of {levels} levels need `branches`, the children of the root"),
        ));
    };
    if let Some(split) = values.shares_if_set("split")
        && split.len() != levels as usize
    {
        return Err(Problem::new("split", format!("has {} for {levels} levels", counted(split.len() as u64, "share"))));
    }
    if values.find("split").is_some() && values.find("deadline").is_none() {
        return Err(Problem::new("split", "there is no deadline to split"));
    }
    if let Some(Deadline::TimesAlone(_)) = values.deadline_if_set("deadline") {
        let problem = Problem::new("deadline", "the deadline of a query that is split over levels is a time");
        return Err(problem.hint("a multiple of `alone` is of one message: trees of one level have such deadlines"));
    }
    Ok(Some(Shape::new(levels, branches as u32, values.count("leaves") as u32)))
}

/// The host of a parent with the hosts of its leaves.
type Placed = (HostId, Vec<HostId>);

/// The placement that draws hosts for each query.
const PER_QUERY: &str = "per-query";

/// Number and size of the trees to place.
#[derive(Clone, Copy)]
struct Wanted {
    parents: u32,
    leaves: u32,
    /// Maximum number of a tree's leaves on one host.
    per_host: u32,
}

impl Wanted {
    /// Returns the number of hosts for a tree's leaves; `None` if `available` hosts are too few.
    fn leaf_hosts(self, available: u32) -> Option<u32> {
        let fits = u64::from(self.leaves) <= u64::from(available) * u64::from(self.per_host);
        fits.then_some(self.leaves.min(available))
    }

    /// Returns the error for too few hosts.
    fn too_many(self, message: String, available: u32) -> Problem {
        let problem = Problem::new("leaves", message);
        match self.leaves.div_ceil(available.max(1)) {
            enough if available > 0 && enough > self.per_host => {
                problem.hint(format!("with leaves_per_host = {enough} a host may be several of a tree's leaves"))
            }
            _ => problem,
        }
    }

    /// Returns the hosts of a tree's leaves, in turn.
    fn in_turn(self, hosts: Vec<HostId>) -> Vec<HostId> {
        hosts.iter().copied().cycle().take(self.leaves as usize).collect()
    }
}

/// Returns the host of each parent with the hosts of its leaves.
fn place(placement: &str, wanted: Wanted, graph: &Graph, streams: &mut Streams) -> Result<Vec<Placed>, Problem> {
    const MAX_LEAVES: u64 = 1 << 24;
    let Wanted { parents, leaves, .. } = wanted;
    let hosts = graph.hosts;
    if u64::from(parents) * u64::from(leaves) > MAX_LEAVES {
        let message = format!("{parents} trees of {leaves} leaves are too many: at most {MAX_LEAVES} leaves in all");
        return Err(Problem::new("parents", message));
    }
    let in_order = placement == "in-order" || (placement == "auto" && graph.single_switch);
    if let Some(part) = &streams.part {
        return divided(wanted, part, streams.leaves.is_some());
    }
    if placement == "spread" && wanted.per_host > 1 {
        return Err(Problem::new("leaves_per_host", "`spread` puts each leaf on a host of its own"));
    }
    if placement == "spread" {
        return spread(parents, leaves, graph);
    }
    let (needed, why) =
        if in_order { (parents + leaves, "parents and leaves") } else { (1 + leaves, "a parent and its leaves") };
    let available = hosts.saturating_sub(needed - leaves);
    let Some(leaf_hosts) = wanted.leaf_hosts(available) else {
        let message = format!("{why} need {needed} hosts, but the network has {hosts}");
        return Err(wanted.too_many(message, available));
    };
    if in_order {
        let leaves = wanted.in_turn((0..leaf_hosts).map(HostId).collect());
        return Ok((0..parents).map(|parent| (HostId(hosts - 1 - parent), leaves.clone())).collect());
    }
    if placement == PER_QUERY {
        // Each query draws its own hosts; these are placeholders.
        return Ok((0..parents).map(|_| (HostId(0), wanted.in_turn(vec![HostId(0)]))).collect());
    }
    if parents > hosts {
        return Err(Problem::new(
            "parents",
            format!("{parents} parents need as many hosts, but the network has {hosts}"),
        ));
    }
    let Streams { parents: stream, leaves: own, .. } = streams;
    let roots = stream.distinct(parents, hosts);
    let stream = own.as_mut().unwrap_or(stream);
    let trees =
        roots.into_iter().map(|root| (HostId(root), wanted.in_turn(leaves_beside(root, leaf_hosts, hosts, stream))));
    Ok(trees.collect())
}

/// Draws the hosts of leaves among all hosts but the root.
fn leaves_beside(root: u32, leaves: u32, hosts: u32, stream: &mut Stream) -> Vec<HostId> {
    // Skips the root: numbers from it on are one higher.
    let drawn = stream.distinct(leaves, hosts - 1);
    drawn.into_iter().map(|leaf| HostId(leaf + u32::from(leaf >= root))).collect()
}

/// Returns the host of each parent with the hosts of all nodes below it, for trees of several levels.
fn place_trees(
    placement: &str,
    parents: u32,
    shape: &Shape,
    graph: &Graph,
    streams: &mut Streams,
) -> Result<Vec<Placed>, Problem> {
    if placement == "spread" {
        return Err(Problem::new("placement", "`spread` places trees of one level"));
    }
    let Some(nodes) = shape.nodes() else {
        return Err(Problem::new("levels", "these trees have more nodes than any network has hosts"));
    };
    if placement == PER_QUERY {
        return Err(Problem::new("placement", "`per-query` places trees of one level"));
    }
    let wanted = Wanted { parents, leaves: nodes, per_host: 1 };
    // Here each node has a host of its own.
    let mut trees = place(placement, wanted, graph, streams).map_err(|problem| Problem { hint: None, ..problem })?;
    if placement == "in-order" || graph.single_switch && placement == "auto" {
        // Leaves have the first hosts, as in trees of one level; the parents above them follow.
        trees.iter_mut().for_each(|(_, hosts)| hosts.rotate_right(shape.inner() as usize));
    }
    Ok(trees)
}

/// Returns trees on the hosts of a part. The first hosts are parents; each tree takes the next of the others, from the
/// other end if a class above has taken its own.
fn divided(wanted: Wanted, part: &[HostId], from_end: bool) -> Result<Vec<Placed>, Problem> {
    let (parents, leaves) = (wanted.parents as usize, wanted.leaves as usize);
    let available = part.len().saturating_sub(parents) as u32;
    if wanted.leaf_hosts(available).is_none() {
        let message = format!(
            "{} and the leaves of one tree need {} hosts, but a part has {}",
            counted(parents as u64, "parent"),
            parents + leaves,
            part.len()
        );
        return Err(wanted.too_many(message, available));
    }
    let (roots, others) = part.split_at(parents);
    let host = |at: usize| others[if from_end { others.len() - 1 - at } else { at }];
    let leaf = |tree: usize, j: usize| host((tree * leaves + j) % others.len());
    Ok(roots.iter().enumerate().map(|(tree, root)| (*root, (0..leaves).map(|j| leaf(tree, j)).collect())).collect())
}

fn spread(parents: u32, leaves: u32, graph: &Graph) -> Result<Vec<Placed>, Problem> {
    let racks = graph.rack_of.iter().max().map_or(0, |last| last + 1);
    let per_rack = graph.rack_of.iter().filter(|rack| **rack == 0).count() as u32;
    if racks < 2 {
        return Err(Problem::new("placement", "`spread` needs a network of two racks or more"));
    }
    let regular = |(host, rack): (usize, &u32)| (host as u32).checked_div(per_rack) == Some(*rack);
    if !graph.rack_of.iter().enumerate().all(regular) {
        return Err(Problem::new("placement", "`spread` needs racks of equal size, with hosts numbered rack by rack"));
    }
    if parents > racks {
        return Err(Problem::new("parents", format!("`spread` puts one parent in each rack: at most {racks} here")));
    }
    if leaves > per_rack {
        return Err(Problem::new(
            "leaves",
            format!("`spread` puts leaf j on host j of a rack, and a rack has {per_rack} hosts"),
        ));
    }
    let leaf = |parent: u32, j: u32| HostId((parent + 1 + j % (racks - 1)) % racks * per_rack + j);
    Ok((0..parents).map(|parent| (HostId(parent * per_rack), (0..leaves).map(|j| leaf(parent, j)).collect())).collect())
}

#[derive(Clone)]
struct FanIn {
    parents: Vec<Parent>,
    every: Distribution,
    size: Distribution,
    deadline: Option<Deadlines>,
    jitter: Distribution,
    count: u64,
    queries: u64,
    /// The hosts from which each query draws its parent and leaves; empty if trees have hosts of their own.
    hosts: Vec<HostId>,
    /// Trees of several levels.
    levels: Option<Levels>,
}

#[derive(Clone)]
struct Parent {
    host: HostId,
    leaves: Vec<HostId>,
    start: Instant,
    next: Option<Instant>,
    asked: u64,
    stream: Stream,
    /// The stream from which each query draws its hosts, if it does.
    placing: Option<Stream>,
}

impl Parent {
    /// Draws the hosts of the next query, where each has its own.
    fn place(&mut self, hosts: u32) {
        let Some(stream) = &mut self.placing else { return };
        let root = stream.below(hosts.into()) as u32;
        let leaves = self.leaves.len() as u32;
        let drawn = leaves_beside(root, leaves.min(hosts - 1), hosts, stream);
        self.host = HostId(root);
        self.leaves = Wanted { parents: 1, leaves, per_host: 1 }.in_turn(drawn);
    }
}

/// The additional state of trees of several levels.
#[derive(Clone)]
struct Levels {
    answer: Distribution,
    aggregation: Distribution,
    split: Vec<f64>,
    trees: Trees,
}

impl Generator for FanIn {
    fn next(&mut self) -> Option<Batch> {
        let waiting = self.parents.iter_mut().enumerate().filter(|(_, parent)| parent.next.is_some());
        let (tree, parent) = waiting.min_by_key(|(_, parent)| parent.next)?;
        let at = parent.next?;
        let number = self.queries;
        self.queries += 1;
        parent.place(self.hosts.len() as u32);
        let stream = &mut parent.stream;
        let batch = match &mut self.levels {
            None => {
                let mut times_alone = Vec::new();
                let answers = parent.leaves.iter().map(|&leaf| {
                    let start = at.saturating_add(super::draw_time(&self.jitter, stream));
                    let bytes = Some(super::draw_bytes(&self.size, stream));
                    let allowed = self.deadline.as_ref().map(|deadline| deadline.draw(stream));
                    times_alone.extend(allowed.and_then(Allowed::times_alone));
                    let deadline = allowed.and_then(Allowed::time);
                    let (from, to, query) = (leaf, parent.host, Some(number));
                    Request { start, from, to, bytes, deadline, query, place: None, piece: None }
                });
                let messages: Vec<Request> = answers.collect();
                let deadline = super::last_due(at, &messages);
                let answers = parent.leaves.len() as u32;
                let query = Asked { number, parent: parent.host, answers, children: answers, deadline };
                Batch { at, messages, times_alone, query: Some(query) }
            }
            Some(Levels { answer, aggregation, trees, .. }) => {
                let deadline = self.deadline.as_ref().and_then(|deadline| deadline.draw(stream).time());
                let inner: Vec<Inner> = (0..trees.shape().inner())
                    .map(|_| Inner::new(super::draw_time(aggregation, stream), super::draw_bytes(answer, stream)))
                    .collect();
                let leaf = || (super::draw_time(&self.jitter, stream), super::draw_bytes(&self.size, stream));
                let messages = trees.ask(number, tree as u32, at, deadline, inner.into_iter(), leaf);
                let (answers, children) = (trees.shape().all_leaves(), trees.shape().branches());
                let query = Asked { number, parent: parent.host, answers, children, deadline };
                Batch { at, messages, times_alone: Vec::new(), query: Some(query) }
            }
        };
        parent.asked += 1;
        let gap = super::draw_time(&self.every, stream).max(Span(1));
        parent.next = (parent.asked < self.count).then(|| at.saturating_add(gap));
        Some(batch)
    }

    fn expected(&self, until: Instant) -> (f64, &'static str) {
        let of_each = (until.0 as f64 / self.every.mean().max(1.0)).min(self.count as f64);
        let answers = |parent: &Parent| match &self.levels {
            Some(levels) => f64::from(levels.trees.shape().all_leaves()),
            None => parent.leaves.len() as f64,
        };
        (of_each * self.parents.iter().map(answers).sum::<f64>(), "every")
    }

    fn answers(&self) -> u64 {
        // In trees of several levels the answers of a node are not requested together.
        let of = |parent: &Parent| parent.leaves.len() as u64;
        if self.levels.is_none() { self.parents.first().map_or(0, of) } else { 0 }
    }

    fn offer(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        for (tree, parent) in self.parents.iter().enumerate() {
            let queries = match super::expected_draws(&self.every, parent.start, until) {
                // The first query is one draw after the start, and none is at the end.
                draws if self.every.is_constant() => draws.ceil() - 1.0,
                draws => draws,
            };
            let queries = queries.clamp(0.0, self.count as f64);
            let answer = |from: HostId, to: HostId, size: &Distribution, offer: &mut dyn FnMut(Demand)| {
                offer(Demand { from: &[from], to: &[to], messages: queries, bytes: queries * size.mean() });
            };
            match &self.levels {
                // Every pair of hosts is as likely.
                None if parent.placing.is_some() => {
                    let messages = queries * parent.leaves.len() as f64;
                    let bytes = messages * self.size.mean();
                    offer(Demand { from: &self.hosts, to: &self.hosts, messages, bytes });
                }
                None => parent.leaves.iter().for_each(|&leaf| answer(leaf, parent.host, &self.size, offer)),
                Some(Levels { trees, answer: of_parents, .. }) => {
                    trees.ends(tree as u32).for_each(|(from, to, leaf)| {
                        answer(from, to, if leaf { &self.size } else { of_parents }, offer);
                    })
                }
            }
        }
    }

    fn sizes(&self) -> Option<&Distribution> {
        Some(&self.size)
    }

    fn deadlines(&self) -> Option<(Span, Span)> {
        let (low, high) = self.deadline.as_ref()?.range();
        let Some(levels) = &self.levels else { return Some((low, high)) };
        let share = |time: Span, share: f64| Span::from_ps_f64(time.0 as f64 * share);
        let (least, most) = levels.split.iter().fold((1.0f64, 0.0f64), |(a, b), share| (a.min(*share), b.max(*share)));
        Some((share(low, least), share(high, most)))
    }

    fn arrived(&mut self, arrival: Arrival) -> Option<Request> {
        self.levels.as_mut()?.trees.arrived(arrival)
    }

    fn departs(&mut self, request: &mut Request) -> Departure {
        self.levels.as_mut().map_or(Departure::Now, |levels| levels.trees.departs(request))
    }

    fn waits(&self) -> bool {
        self.levels.is_some()
    }

    fn indivisible(&self) -> Option<&'static str> {
        self.waits().then_some("a class sends answers that wait for others (levels)")
    }

    fn again(&self) -> Box<dyn Generator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_follows_its_formula() {
        let mut graph = Graph::new(1000);
        for (host, rack) in graph.rack_of.iter_mut().enumerate() {
            *rack = host as u32 / 40;
        }
        let trees = spread(25, 40, &graph).unwrap();
        assert_eq!(trees[0].0, HostId(0));
        assert_eq!(trees[0].1[..2], [HostId(40), HostId(81)]);
        // leaf 24 of parent 24: rack (24 + 1 + 24 mod 24) mod 25 = 0
        assert_eq!((trees[24].0, trees[24].1[24]), (HostId(960), HostId(24)));
        assert!(trees.iter().all(|(parent, leaves)| leaves.iter().all(|leaf| leaf.0 / 40 != parent.0 / 40)));
    }

    fn wanted(parents: u32, leaves: u32) -> Wanted {
        Wanted { parents, leaves, per_host: 1 }
    }

    fn drawn_from(seed: u64) -> Streams {
        Streams { parents: Stream::new(seed, "t", 0), leaves: None, part: None }
    }

    /// Returns the number of trees that each host serves, as parent or as leaf.
    fn served(trees: &[Placed]) -> std::collections::BTreeMap<HostId, u32> {
        let mut found = std::collections::BTreeMap::new();
        for host in trees.iter().flat_map(|(parent, leaves)| std::iter::once(parent).chain(leaves)) {
            *found.entry(*host).or_insert(0) += 1;
        }
        found
    }

    #[test]
    fn a_part_serves_one_tree_with_each_host_while_it_suffices() {
        let part: Vec<HostId> = (300..500).rev().map(HostId).collect();
        let trees = divided(wanted(5, 20), &part, false).unwrap();
        assert_eq!(served(&trees).len(), 105);
        assert!(served(&trees).values().all(|trees| *trees == 1));
        // Background classes start from the other end: a host of its own for each parent.
        let others = divided(wanted(5, 1), &part, true).unwrap();
        assert!(trees.iter().zip(&others).all(|(tree, other)| tree.0 == other.0));
        assert!(others.iter().all(|(_, leaves)| !served(&trees).contains_key(&leaves[0])));
    }

    #[test]
    fn five_trees_of_forty_leaves_share_five_of_two_hundred_hosts() {
        let part: Vec<HostId> = (0..200).map(HostId).collect();
        let trees = divided(wanted(5, 40), &part, false).unwrap();
        let served = served(&trees);
        assert_eq!(served.len(), 200);
        assert_eq!(served.values().filter(|trees| **trees == 2).count(), 5);
        assert!(trees.iter().all(|(parent, _)| served[parent] == 1));
        for (_, mut leaves) in trees {
            leaves.sort_unstable();
            leaves.dedup();
            assert_eq!(leaves.len(), 40);
        }
        assert_eq!(divided(wanted(5, 196), &part, false).unwrap_err().key, "leaves");
    }

    #[test]
    fn trees_may_share_parents_and_not_leaves() {
        let graph = Graph::new(1000);
        let trees = place("random", wanted(5, 40), &graph, &mut drawn_from(1)).unwrap();
        let mut beside = Streams { leaves: Some(Stream::new(1, "other", 0)), ..drawn_from(1) };
        let others = place("random", wanted(5, 1), &graph, &mut beside).unwrap();
        let parents = |trees: &[Placed]| trees.iter().map(|tree| tree.0).collect::<Vec<_>>();
        assert_eq!(parents(&trees), parents(&others));
        assert!(trees.iter().zip(&others).any(|(tree, other)| tree.1[0] != other.1[0]));
        assert!(others.iter().all(|(parent, leaves)| !leaves.contains(parent)));
    }

    #[test]
    fn a_random_tree_never_holds_its_parent_twice() {
        let graph = Graph::new(41);
        let trees = place("random", wanted(41, 40), &graph, &mut drawn_from(1)).unwrap();
        for (parent, mut leaves) in trees {
            leaves.push(parent);
            leaves.sort_unstable();
            assert_eq!(leaves, (0..41).map(HostId).collect::<Vec<_>>());
        }
    }

    /// Returns the queries of a class on 16 hosts, and its demands until 100 ms.
    fn drawn_anew(settings: &[(&str, &str)]) -> (Vec<Batch>, Vec<(usize, f64)>) {
        let mut graph = Graph::new(16);
        let switch = graph.switch("switch", false);
        graph.rack(switch, 0, 0..16, units::Rate(1_000_000_000), Span::from_micros(1));
        let given = [("name", "a"), ("leaves", "15"), ("placement", "per-query")];
        let given: Vec<_> = given.into_iter().chain(settings.iter().copied()).collect();
        let special = ["every", "size", "start", "deadline", "jitter"];
        let keys = super::super::KEYS.iter().chain(KEYS).filter(|key| !special.contains(&key.name));
        let mut values = Values::read(keys, &given).unwrap();
        values.set("every", units::Value::Distribution(Distribution::Constant(1e9)));
        values.set("size", units::Value::Distribution(Distribution::Constant(1000.0)));
        values.set("jitter", units::Value::Distribution(Distribution::Constant(0.0)));
        values.set("start", units::Value::Formula(units::Formula::Constant(0.0)));
        let context = Context { graph: &graph, sprayed: false, seed: 1, duration: Span::from_millis(100), above: &[] };
        let mut generator = build(&values, &context).unwrap();
        let mut demands = Vec::new();
        generator.offer(Instant::from_millis(100), &mut |demand| demands.push((demand.from.len(), demand.bytes)));
        ((0..320).map(|_| generator.next().unwrap()).collect(), demands)
    }

    #[test]
    fn per_query_draws_parent_and_leaves_anew() {
        let (batches, demands) = drawn_anew(&[]);
        let mut asked = [0; 16];
        for batch in &batches {
            let parent = batch.query.unwrap().parent;
            asked[parent.index()] += 1;
            let mut leaves: Vec<HostId> = batch.messages.iter().map(|answer| answer.from).collect();
            assert!(batch.messages.iter().all(|answer| answer.to == parent));
            leaves.sort_unstable();
            leaves.dedup();
            assert!(leaves.len() == 15 && !leaves.contains(&parent));
        }
        // 20 of 320 for each, give or take four standard deviations.
        assert!(asked.iter().all(|&count| (3..=37).contains(&count)), "{asked:?}");
        // 99 queries of 15 answers with 1000 B, from any host to any other.
        assert_eq!(demands, [(16, 1_485_000.0)]);
        let (twice, _) = drawn_anew(&[("leaves", "20"), ("leaves_per_host", "2")]);
        assert!(twice.iter().all(|batch| batch.messages.len() == 20 && batch.query.unwrap().answers == 20));
    }

    #[test]
    fn too_few_hosts_are_a_problem() {
        let mut graph = Graph::new(40);
        graph.single_switch = true;
        let problem = place("auto", wanted(1, 40), &graph, &mut drawn_from(1)).unwrap_err();
        assert_eq!((&*problem.key, problem.hint.unwrap().contains("leaves_per_host = 2")), ("leaves", true));
    }

    #[test]
    fn hosts_take_turns_where_leaves_outnumber_them() {
        let graph = Graph::new(144);
        let thousand = Wanted { parents: 1, leaves: 1000, per_host: 7 };
        for placement in ["in-order", "random"] {
            let trees = place(placement, thousand, &graph, &mut drawn_from(1)).unwrap();
            let (parent, leaves) = &trees[0];
            assert!(leaves.len() == 1000 && !leaves.contains(parent));
            // 1000 = 6 * 143 + 142.
            let served = served(&trees);
            assert_eq!(served.len(), 144);
            assert_eq!(served.values().filter(|leaves| **leaves == 7).count(), 142);
        }
        let six = Wanted { per_host: 6, ..thousand };
        assert!(place("random", six, &graph, &mut drawn_from(1)).unwrap_err().hint.unwrap().contains("= 7"));
        let part: Vec<HostId> = (0..101).map(HostId).collect();
        assert_eq!(served(&divided(Wanted { per_host: 10, ..thousand }, &part, false).unwrap()).len(), 101);
    }
}
