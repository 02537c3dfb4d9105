//! `fan-in`: parents ask, leaves answer at nearly the same time.

use units::{Deadline, Default, Distribution, Key, Kind, Range, Time, Values};

use super::{Batch, Built, COUNT, Context, DEADLINE, Descriptor, Generator, Request, SIZE, START};
use crate::Problem;
use crate::rng::Stream;
use crate::topology::Graph;

/// Parents ask, leaves answer.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "fan-in",
    help: "each parent asks its leaves every so often, and all of them answer (partition-aggregate)",
    keys: KEYS,
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "parents",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, 65_536.0),
        help: "number of trees, each with a parent of its own",
        source: "D2TCP 4.2.1: five for each application",
    },
    Key {
        name: "leaves",
        kind: Kind::Count,
        default: Default::Required,
        range: Range::between(1.0, 65_535.0),
        help: "number of leaves of each parent (the fan-in)",
        source: "D2TCP 4.2.1: 5 to 40",
    },
    Key {
        name: "placement",
        kind: Kind::Choice(&["auto", "random", "spread", "in-order"]),
        default: Default::Is("auto"),
        range: Range::ANY,
        help: "random: each tree on hosts of its own draw; spread: parent r is host 0 of rack r, its leaf j host j \
               of rack (r + 1 + j mod (racks - 1)) mod racks; in-order: the parents are the last hosts, the leaves \
               hosts 0, 1, ...; auto: in-order on a star, random elsewhere",
        source: "D2TCP 4.2.1 places at random",
    },
    Key {
        name: "parents_of",
        kind: Kind::Text,
        default: Default::Absent,
        range: Range::ANY,
        help: "the parents are the hosts that are the parents of this fan-in class, written above and with as many; \
               the leaves are drawn anew",
        source: "D2TCP 4.2.3: background flows to the same parents",
    },
    Key {
        name: "every",
        kind: Kind::TimeDistribution,
        default: Default::Required,
        range: Range::POSITIVE,
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
];

fn build(values: &Values, context: &Context) -> Built {
    let (parents, leaves) = (values.count("parents") as u32, values.count("leaves") as u32);
    let name = values.text("name");
    let start = values.formula("start");
    let every = values.distribution("every");
    let placed_with = |name: &str| Stream::new(context.seed, name, u64::MAX);
    let mut streams = Streams {
        parents: placed_with(&values.text_if_set("parents_of").unwrap_or_else(|| name.clone())),
        leaves: values.text_if_set("parents_of").map(|_| placed_with(&name)),
    };
    let trees = place(values.choice("placement"), parents, leaves, context.graph, &mut streams)?;
    let parents = trees.into_iter().enumerate().map(|(i, (host, leaves))| {
        let mut stream = Stream::new(context.seed, &name, i as u64);
        let start = super::start_at(&start, i as u64, i as u64)?;
        let next = start + super::draw_time(&every, &mut stream);
        Ok(Parent { host, leaves, next: Some(next), asked: 0, stream })
    });
    Ok(Box::new(FanIn {
        parents: parents.collect::<Result<_, Problem>>()?,
        every,
        size: values.distribution("size"),
        deadline: values.deadline_if_set("deadline"),
        jitter: values.distribution("jitter"),
        count: values.count_if_set("count").unwrap_or(u64::MAX),
        queries: 0,
    }))
}

/// What hosts are drawn from: the leaves from the same stream unless they have one of their own.
struct Streams {
    parents: Stream,
    leaves: Option<Stream>,
}

/// The host of each parent with the hosts of its leaves.
fn place(
    placement: &str,
    parents: u32,
    leaves: u32,
    graph: &Graph,
    streams: &mut Streams,
) -> Result<Vec<(u32, Vec<u32>)>, Problem> {
    const MOST_LEAVES: u64 = 1 << 24;
    let hosts = graph.hosts;
    if u64::from(parents) * u64::from(leaves) > MOST_LEAVES {
        let message = format!("{parents} trees of {leaves} leaves are too many: at most {MOST_LEAVES} leaves in all");
        return Err(Problem::new("parents", message));
    }
    let in_order = placement == "in-order" || (placement == "auto" && graph.topology == "star");
    if placement == "spread" {
        return spread(parents, leaves, graph);
    }
    let (needed, why) =
        if in_order { (parents + leaves, "parents and leaves") } else { (1 + leaves, "a parent and its leaves") };
    if needed > hosts {
        let message = format!("{why} need {needed} hosts and the network has {hosts}");
        return Err(Problem::new("leaves", message));
    }
    if in_order {
        return Ok((0..parents).map(|parent| (hosts - 1 - parent, (0..leaves).collect())).collect());
    }
    if parents > hosts {
        return Err(Problem::new(
            "parents",
            format!("{parents} parents need as many hosts and the network has {hosts}"),
        ));
    }
    let Streams { parents: stream, leaves: own } = streams;
    let roots = stream.distinct(parents, hosts);
    let stream = own.as_mut().unwrap_or(stream);
    let trees = roots.into_iter().map(|root| {
        // Leaves are drawn among the other hosts: numbers from the root on are one higher.
        let leaves = stream.distinct(leaves, hosts - 1);
        (root, leaves.into_iter().map(|leaf| leaf + u32::from(leaf >= root)).collect())
    });
    Ok(trees.collect())
}

fn spread(parents: u32, leaves: u32, graph: &Graph) -> Result<Vec<(u32, Vec<u32>)>, Problem> {
    let racks = graph.rack_of.iter().max().map_or(0, |last| last + 1);
    let per_rack = graph.rack_of.iter().filter(|rack| **rack == 0).count() as u32;
    if racks < 2 {
        return Err(Problem::new("placement", "`spread` needs a network of two racks or more"));
    }
    if parents > racks {
        return Err(Problem::new(
            "parents",
            format!("`spread` puts one parent in each rack, and there are {racks} racks"),
        ));
    }
    if leaves > per_rack {
        return Err(Problem::new(
            "leaves",
            format!("`spread` puts leaf j on host j of a rack, and a rack has {per_rack} hosts"),
        ));
    }
    let leaf = |parent: u32, j: u32| (parent + 1 + j % (racks - 1)) % racks * per_rack + j;
    Ok((0..parents).map(|parent| (parent * per_rack, (0..leaves).map(|j| leaf(parent, j)).collect())).collect())
}

struct FanIn {
    parents: Vec<Parent>,
    every: Distribution,
    size: Distribution,
    deadline: Option<Deadline>,
    jitter: Distribution,
    count: u64,
    queries: u64,
}

struct Parent {
    host: u32,
    leaves: Vec<u32>,
    next: Option<Time>,
    asked: u64,
    stream: Stream,
}

impl Generator for FanIn {
    fn next(&mut self) -> Option<Batch> {
        let parent = self.parents.iter_mut().filter(|parent| parent.next.is_some()).min_by_key(|parent| parent.next)?;
        let at = parent.next?;
        let query = self.queries;
        self.queries += 1;
        let stream = &mut parent.stream;
        let answers = parent.leaves.iter().map(|&leaf| Request {
            start: at.saturating_add(super::draw_time(&self.jitter, stream)),
            from: leaf,
            to: parent.host,
            bytes: Some(super::draw_bytes(&self.size, stream)),
            deadline: super::draw_deadline(&self.deadline, stream),
            query: Some(query),
        });
        let messages = answers.collect();
        parent.asked += 1;
        let gap = super::draw_time(&self.every, stream).max(Time(1));
        parent.next = (parent.asked < self.count).then(|| at.saturating_add(gap));
        Some(Batch { at, messages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_follows_its_formula() {
        let mut graph = Graph::new("racks", 1000);
        for (host, rack) in graph.rack_of.iter_mut().enumerate() {
            *rack = host as u32 / 40;
        }
        let trees = spread(25, 40, &graph).unwrap();
        assert_eq!(trees[0].0, 0);
        assert_eq!(trees[0].1[..2], [40, 81]);
        // leaf 24 of parent 24: rack (24 + 1 + 24 mod 24) mod 25 = 0
        assert_eq!((trees[24].0, trees[24].1[24]), (960, 24));
        assert!(trees.iter().all(|(parent, leaves)| leaves.iter().all(|leaf| leaf / 40 != parent / 40)));
    }

    fn drawn_from(seed: u64) -> Streams {
        Streams { parents: Stream::new(seed, "t", 0), leaves: None }
    }

    #[test]
    fn trees_may_share_parents_and_not_leaves() {
        let graph = Graph::new("racks", 1000);
        let trees = place("random", 5, 40, &graph, &mut drawn_from(1)).unwrap();
        let mut beside = Streams { leaves: Some(Stream::new(1, "other", 0)), ..drawn_from(1) };
        let others = place("random", 5, 1, &graph, &mut beside).unwrap();
        let parents = |trees: &[(u32, Vec<u32>)]| trees.iter().map(|tree| tree.0).collect::<Vec<_>>();
        assert_eq!(parents(&trees), parents(&others));
        assert!(trees.iter().zip(&others).any(|(tree, other)| tree.1[0] != other.1[0]));
        assert!(others.iter().all(|(parent, leaves)| !leaves.contains(parent)));
    }

    #[test]
    fn a_random_tree_never_holds_its_parent_twice() {
        let graph = Graph::new("racks", 41);
        let trees = place("random", 41, 40, &graph, &mut drawn_from(1)).unwrap();
        for (parent, mut leaves) in trees {
            leaves.push(parent);
            leaves.sort_unstable();
            assert_eq!(leaves, (0..41).collect::<Vec<_>>());
        }
    }

    #[test]
    fn too_few_hosts_are_a_problem() {
        let graph = Graph::new("star", 40);
        assert_eq!(place("auto", 1, 40, &graph, &mut drawn_from(1)).unwrap_err().key, "leaves");
    }
}
