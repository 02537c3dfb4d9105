//! Trees of several levels, in which parents answer a parent of their own.
//!
//! A query's deadline is split over the levels. Leaves answer the parents above them. A parent between leaves and root
//! answers when it has the answers of all its children. Or it answers with those received so far, when their level's
//! part of the deadline has passed. Later answers are useless.
//!
//! A parent never sends what it has not received. If it has no answer when that part has passed, it answers when the
//! first arrives. An answer that lacks some children has at most as many bytes as the others have sent.

use std::collections::BTreeMap;

use units::{Bytes, HostId, Instant, Span};

use super::{Arrival, Departure, Place, Request};

/// The nodes of a tree and their parents. Node 0 is the root, its children follow, then their children, and the leaves
/// are last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    levels: u32,
    branches: u32,
    leaves: u32,
}

impl Shape {
    /// Returns the shape with `levels` of answers. Each of the lowest parents has `leaves` children, each other one
    /// `branches`.
    pub(super) fn new(levels: u32, branches: u32, leaves: u32) -> Shape {
        Shape { levels, branches, leaves }
    }
    /// Returns the number of levels of answers.
    pub(super) fn levels(&self) -> u32 {
        self.levels
    }
    /// Returns the number of children of the root.
    pub(super) fn branches(&self) -> u32 {
        self.children(0)
    }
    /// Returns the number of nodes at a distance from the root; `None` if there are too many to count.
    fn width(&self, distance: u32) -> Option<u32> {
        let parents = self.branches.checked_pow(distance.min(self.levels - 1))?;
        if distance < self.levels { Some(parents) } else { parents.checked_mul(self.leaves) }
    }
    /// Returns the number of all nodes but the root; `None` if there are too many to count.
    pub(super) fn nodes(&self) -> Option<u32> {
        (1..=self.levels).try_fold(0u32, |sum, distance| sum.checked_add(self.width(distance)?))
    }
    /// Returns the number of nodes between root and leaves.
    pub(super) fn inner(&self) -> u32 {
        (1..self.levels).map(|distance| self.counted(distance)).sum()
    }
    /// Returns the number of all leaves.
    pub(super) fn all_leaves(&self) -> u32 {
        self.counted(self.levels)
    }
    fn counted(&self, distance: u32) -> u32 {
        self.width(distance).expect("the tree was counted when it was read")
    }
    /// Returns the distance of a node from the root, and the first node at that distance.
    fn layer(&self, node: u32) -> (u32, u32) {
        let (mut distance, mut first) = (0, 0);
        while node >= first + self.counted(distance) {
            first += self.counted(distance);
            distance += 1;
        }
        (distance, first)
    }
    /// Returns the parent of a node.
    pub(super) fn parent(&self, node: u32) -> u32 {
        let (distance, first) = self.layer(node);
        let above = self.layer(first - 1).1;
        above + (node - first) / if distance == self.levels { self.leaves } else { self.branches }
    }
    fn children(&self, distance: u32) -> u32 {
        if distance + 1 == self.levels { self.leaves } else { self.branches }
    }
}

/// The trees of one class, and their open queries.
#[derive(Clone)]
pub(super) struct Trees {
    shape: Shape,
    /// For each level, counted from the root, the share of the deadline before its answers are due.
    due: Vec<f64>,
    /// The hosts of each tree, by node.
    hosts: Vec<Vec<HostId>>,
    open: BTreeMap<u64, Query>,
}

/// A query that some parents have not answered.
#[derive(Clone)]
struct Query {
    tree: u32,
    asked: Instant,
    deadline: Option<Span>,
    /// The nodes between root and leaves, from node 1 on.
    inner: Vec<Inner>,
    /// Number of these that have not answered.
    unanswered: usize,
}

/// The state of a parent between root and leaves.
#[derive(Clone, Copy)]
pub(super) struct Inner {
    /// Time from its children's last answer, or from their deadline, to its own answer.
    pub aggregation: Span,
    /// The size of its answer.
    pub bytes: Bytes,
    missing: u32,
    answers: u32,
    /// Bytes of the answers that it aggregates.
    received: Bytes,
    /// The time from which it can answer with what it has; [`Instant::MAX`] while it has nothing.
    ready: Instant,
    /// Its children's deadline passed while it had nothing.
    overdue: bool,
    left: bool,
}

impl Inner {
    /// Returns the state before any answer has arrived.
    pub(super) fn new(aggregation: Span, bytes: Bytes) -> Inner {
        Inner {
            aggregation,
            bytes,
            missing: 0,
            answers: 0,
            received: Bytes::ZERO,
            ready: Instant::MAX,
            overdue: false,
            left: false,
        }
    }
}

impl Query {
    /// Returns the time at which the answers of a level, counted from the root, are due.
    fn due(&self, due: &[f64], level: u32) -> Option<Instant> {
        let share = |deadline: Span| Span::from_ps_f64(deadline.0 as f64 * due[level as usize]);
        self.deadline.map(|deadline| self.asked.saturating_add(share(deadline)))
    }
}

impl Trees {
    /// Returns trees without queries. `split` has each level's share of the deadline, from the leaves up.
    pub(super) fn new(shape: Shape, split: &[f64], hosts: Vec<Vec<HostId>>) -> Trees {
        let levels = shape.levels as usize;
        let due = (0..levels).map(|level| if level == 0 { 1.0 } else { split[..levels - level].iter().sum() });
        Trees { due: due.collect(), shape, hosts, open: BTreeMap::new() }
    }

    /// Returns the shape of the trees.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the ends of each answer in a tree, and whether a leaf sends it.
    pub(super) fn ends(&self, tree: u32) -> impl Iterator<Item = (HostId, HostId, bool)> {
        let (hosts, shape) = (&self.hosts[tree as usize], &self.shape);
        let host = |node: u32| hosts[node as usize];
        (1..hosts.len() as u32).map(move |node| (host(node), host(shape.parent(node)), node > shape.inner()))
    }

    /// Starts a query. Returns the answers of the leaves, for which `leaf` draws delay and bytes. Also returns the
    /// answers of the parents at their deadlines, for the case that some of their children are late.
    pub(super) fn ask(
        &mut self,
        number: u64,
        tree: u32,
        asked: Instant,
        deadline: Option<Span>,
        inner: impl Iterator<Item = Inner>,
        mut leaf: impl FnMut() -> (Span, Bytes),
    ) -> Vec<Request> {
        let shape = &self.shape;
        let children =
            |(i, parent): (usize, Inner)| Inner { missing: shape.children(shape.layer(i as u32 + 1).0), ..parent };
        let inner: Vec<Inner> = inner.enumerate().map(children).collect();
        let query = Query { tree, asked, deadline, unanswered: inner.len(), inner };
        let first_leaf = query.inner.len() as u32 + 1;
        let mut requests = Vec::new();
        for node in first_leaf..first_leaf + shape.all_leaves() {
            let (delay, bytes) = leaf();
            requests.push(self.request(number, &query, node, asked.saturating_add(delay), bytes, 1));
        }
        for (node, parent) in (1..).zip(&query.inner) {
            if let Some(closes) = query.due(&self.due, shape.layer(node).0) {
                let start = closes.saturating_add(parent.aggregation);
                requests.push(self.request(number, &query, node, start, parent.bytes, 0));
            }
        }
        self.open.insert(number, query);
        requests
    }

    fn request(&self, number: u64, query: &Query, node: u32, start: Instant, bytes: Bytes, answers: u32) -> Request {
        let hosts = &self.hosts[query.tree as usize];
        let level = self.shape.layer(node).0 - 1;
        let due = query.due(&self.due, level);
        Request {
            start,
            from: hosts[node as usize],
            to: hosts[self.shape.parent(node) as usize],
            bytes: Some(bytes),
            // An answer that is late from the start is due at once.
            deadline: due.map(|due| due.saturating_sub(start).max(Span(1))),
            query: Some(number),
            place: Some(Place { node, level: level as u8, answers }),
            piece: None,
        }
    }

    /// Handles an answer that has arrived. Returns the answer of its parent if that was the last missing one, or the
    /// first after their deadline.
    pub(super) fn arrived(&mut self, Arrival { query: number, place, at, bytes }: Arrival) -> Option<Request> {
        let parent = self.shape.parent(place.node);
        let query = self.open.get_mut(&number).filter(|_| parent > 0)?;
        let in_time = query.due(&self.due, u32::from(place.level)).is_none_or(|due| at <= due);
        let inner = &mut query.inner[parent as usize - 1];
        let (is_first, waits) = (inner.ready == Instant::MAX, in_time && !inner.overdue);
        if inner.left || !waits && !is_first {
            return None;
        }
        inner.missing -= 1;
        inner.answers += place.answers;
        inner.received += bytes;
        let ready = at.saturating_add(inner.aggregation);
        inner.ready = inner.ready.min(ready);
        let &mut Inner { missing, bytes, .. } = inner;
        let query = &self.open[&number];
        (missing == 0 || !waits).then(|| self.request(number, query, parent, ready, bytes, 0))
    }

    /// Returns whether an answer is sent now; a parent sends only one, with all answers received so far.
    pub(super) fn departs(&mut self, request: &mut Request) -> Departure {
        let (Some(number), Some(mut place)) = (request.query, request.place) else { return Departure::Now };
        let is_leaf = place.level + 1 == self.shape.levels as u8;
        if is_leaf {
            return Departure::Now;
        }
        let Some(query) = self.open.get_mut(&number) else { return Departure::Never };
        let due = query.due(&self.due, place.level.into());
        let inner = &mut query.inner[place.node as usize - 1];
        if inner.left {
            return Departure::Never;
        }
        if request.start < inner.ready {
            inner.overdue |= inner.ready == Instant::MAX;
            let Some(due) = due.filter(|due| inner.overdue && request.start < *due) else { return Departure::Never };
            *request = Request { start: due, deadline: Some(Span(1)), ..*request };
            return Departure::Later;
        }
        inner.left = true;
        place.answers = inner.answers;
        request.place = Some(place);
        if inner.missing > 0 {
            request.bytes = request.bytes.map(|bytes| bytes.min(inner.received));
        }
        query.unanswered -= 1;
        if query.unanswered == 0 {
            self.open.remove(&number);
        }
        Departure::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_know_their_parents() {
        // Root 0; 1 and 2; 3 to 6; leaves 7 to 18, three for each of the four.
        let shape = Shape::new(3, 2, 3);
        assert_eq!((shape.nodes(), shape.inner(), shape.all_leaves()), (Some(18), 6, 12));
        let parents: Vec<u32> = (1..=18).map(|node| shape.parent(node)).collect();
        assert_eq!(parents, [0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6]);
        assert_eq!(Shape::new(1, 1, 4).nodes(), Some(4));
        assert_eq!(Shape::new(8, 65_535, 65_535).nodes(), None);
    }

    /// Two parents with two leaves each, 10 ms split 3:7, one query at 1 ms with 100 us of aggregation.
    fn asked(deadline: Option<Span>) -> (Trees, Vec<Request>) {
        let mut trees = Trees::new(Shape::new(2, 2, 2), &[0.3, 0.7], vec![(10..17).map(HostId).collect()]);
        let inner = (0..2).map(|_| Inner::new(Span::from_micros(100), Bytes(500)));
        let requests = trees.ask(4, 0, Instant::from_millis(1), deadline, inner, || (Span::ZERO, Bytes(200)));
        (trees, requests)
    }

    fn answer(trees: &mut Trees, node: u32, at: Instant) -> Option<Request> {
        trees.arrived(Arrival { query: 4, place: Place { node, level: 1, answers: 1 }, at, bytes: Bytes(200) })
    }

    #[test]
    fn a_parent_answers_when_all_is_in() {
        let (mut trees, requests) = asked(Some(Span::from_millis(10)));
        let ends: Vec<(u32, u32)> = requests.iter().map(|request| (request.from.0, request.to.0)).collect();
        assert_eq!(ends, [(13, 11), (14, 11), (15, 12), (16, 12), (11, 10), (12, 10)]);
        assert_eq!(requests[0].deadline, Some(Span::from_millis(3)));
        assert_eq!(answer(&mut trees, 3, Instant::from_millis(2)), None);
        let mut early = answer(&mut trees, 4, Instant::from_millis(3)).unwrap();
        assert_eq!((early.from, early.to, early.bytes), (HostId(11), HostId(10), Some(Bytes(500))));
        assert_eq!(early.start, Instant::from_micros(3100));
        // The query ends at 11 ms.
        assert_eq!(early.deadline, Some(Span::from_micros(7900)));
        assert_eq!(trees.departs(&mut early), Departure::Now);
        assert_eq!((early.place.unwrap().answers, early.bytes), (2, Some(Bytes(500))));
        let mut late = requests[4];
        assert_eq!(trees.departs(&mut late), Departure::Never, "it has answered");
    }

    #[test]
    fn a_parent_answers_with_what_it_has_when_its_children_are_late() {
        let (mut trees, requests) = asked(Some(Span::from_millis(10)));
        answer(&mut trees, 5, Instant::from_millis(4));
        assert_eq!(answer(&mut trees, 6, Instant::from_micros(4001)), None, "the level's deadline is at 4 ms");
        let mut answers = requests[5];
        assert_eq!((answers.start, answers.deadline), (Instant::from_micros(4100), Some(Span::from_micros(6900))));
        assert_eq!(trees.departs(&mut answers), Departure::Now);
        assert_eq!(answers.place.unwrap().answers, 1);
        assert_eq!(answers.bytes, Some(Bytes(200)), "it has received no more");
        assert_eq!(answer(&mut trees, 6, Instant::from_millis(5)), None, "it has answered");
    }

    #[test]
    fn a_parent_that_has_nothing_at_its_childrens_deadline_answers_with_the_first_answer() {
        let (mut trees, requests) = asked(Some(Span::from_millis(10)));
        let mut forced = requests[4];
        assert_eq!(trees.departs(&mut forced), Departure::Later);
        assert_eq!((forced.start, forced.deadline), (Instant::from_millis(11), Some(Span(1))), "the query's deadline");
        let mut late = answer(&mut trees, 3, Instant::from_millis(5)).unwrap();
        assert_eq!((late.start, late.deadline), (Instant::from_micros(5100), Some(Span::from_micros(5900))));
        assert_eq!(answer(&mut trees, 4, Instant::from_micros(5050)), None, "it does not wait for the second");
        assert_eq!(trees.departs(&mut late), Departure::Now);
        assert_eq!((late.place.unwrap().answers, late.bytes), (1, Some(Bytes(200))));
        assert_eq!(trees.departs(&mut forced), Departure::Never);
    }

    #[test]
    fn an_answer_that_arrives_during_the_aggregation_is_aggregated_first() {
        let (mut trees, requests) = asked(Some(Span::from_millis(10)));
        // Its children's deadline is at 4 ms, and its answer at 4.1 ms.
        let mut late = answer(&mut trees, 3, Instant::from_micros(4050)).unwrap();
        assert_eq!(late.start, Instant::from_micros(4150));
        let mut forced = requests[4];
        assert_eq!(trees.departs(&mut forced), Departure::Never, "it has aggregated nothing");
        assert_eq!(trees.departs(&mut late), Departure::Now);
    }

    #[test]
    fn an_answer_at_the_deadline_after_a_parent_had_nothing_is_its_answer() {
        let (mut trees, mut requests) = asked(Some(Span::from_millis(10)));
        trees.open.get_mut(&4).unwrap().inner.iter_mut().for_each(|inner| inner.aggregation = Span::ZERO);
        requests[4].start = Instant::from_millis(4);
        assert_eq!(trees.departs(&mut requests[4]), Departure::Later);
        let mut first = answer(&mut trees, 3, Instant::from_millis(4)).unwrap();
        assert_eq!(first.start, Instant::from_millis(4));
        assert_eq!(trees.departs(&mut first), Departure::Now);
    }

    #[test]
    fn a_parent_that_never_has_anything_never_answers() {
        let (mut trees, requests) = asked(Some(Span::from_millis(10)));
        let mut forced = requests[5];
        assert_eq!(trees.departs(&mut forced), Departure::Later);
        assert_eq!(trees.departs(&mut forced), Departure::Never);
        assert!(!trees.open.is_empty(), "an answer may arrive");
        let mut first = answer(&mut trees, 5, Instant::from_millis(20)).unwrap();
        assert_eq!((first.start, first.deadline), (Instant::from_micros(20_100), Some(Span(1))));
        assert_eq!(trees.departs(&mut first), Departure::Now);
        let mut other = answer(&mut trees, 3, Instant::from_millis(21)).unwrap();
        assert_eq!(trees.departs(&mut other), Departure::Now);
        assert!(trees.open.is_empty());
    }

    #[test]
    fn without_a_deadline_parents_wait_for_all() {
        let (mut trees, requests) = asked(None);
        assert_eq!(requests.len(), 4);
        answer(&mut trees, 3, Instant::from_millis(2));
        assert_eq!(answer(&mut trees, 4, Instant::from_millis(900)).unwrap().deadline, None);
    }
}
