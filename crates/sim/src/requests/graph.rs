//! One request as a graph: its messages and works, and what each waits for.

use std::collections::BTreeSet;
use std::ops::Range;

use units::{HostId, Instant, Span};

use super::plan::{Action, Plan, Stage};

/// A message or a work of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    /// The index of its stage.
    pub stage: u32,
    /// The host that sends or works.
    pub from: HostId,
    /// The host that receives or works.
    pub to: HostId,
    /// The bytes of a message, or the picoseconds of a work.
    pub amount: u64,
}

/// The messages and works of one request, and what each waits for.
///
/// A piece starts at host `h` when everything of the stages it follows that ends at `h` has ended. Where nothing of
/// such a stage ends at `h`, the stages that it follows count in its place.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// All pieces, stage by stage, and in each by the host that starts them.
    pub pieces: Vec<Piece>,
    /// The pieces of a stage that start at one host, stage by stage, and in each by host.
    gates: Vec<Gate>,
    gates_of: Vec<Range<usize>>,
    /// The ends of stages at one host each, stage by stage, and in each by host.
    ends: Vec<End>,
    ends_of: Vec<Range<usize>>,
}

/// Pieces of one stage that start at one host together.
#[derive(Clone, Debug)]
struct Gate {
    host: HostId,
    pieces: Range<u32>,
    /// Number of [`End`]s that it waits for, and of stages for a barrier.
    waits_for: u32,
}

/// The pieces of a stage that end at one host.
#[derive(Clone, Debug)]
struct End {
    host: HostId,
    /// Number of pieces with which the stage has ended here.
    quorum: u32,
    /// It can end without some of its pieces.
    spares: bool,
    /// The gates that wait for it.
    gates: Vec<u32>,
}

/// The counts of the pieces that a request still waits for.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// For each gate, what it still waits for.
    gates: Vec<u32>,
    /// For each end, the pieces that are missing.
    ends: Vec<u32>,
    /// For each stage, the hosts where it has not ended.
    stages: Vec<u32>,
}

impl Graph {
    /// Returns the graph of a request whose roles have these members. `amount` draws the amount of each piece of a
    /// stage.
    pub(crate) fn new(plan: &Plan, members: &[Vec<HostId>], mut amount: impl FnMut(&Stage) -> u64) -> Graph {
        let mut graph = Graph {
            pieces: Vec::new(),
            gates: Vec::new(),
            gates_of: Vec::new(),
            ends: Vec::new(),
            ends_of: Vec::new(),
        };
        for (number, stage) in plan.stages.iter().enumerate() {
            let first = graph.pieces.len();
            let mut add = |from: HostId, to: HostId| {
                let piece = Piece { stage: number as u32, from, to, amount: amount(stage) };
                graph.pieces.push(piece);
            };
            match &stage.action {
                Action::Send { from, to, pairs, .. } => {
                    let (from, to) = (&members[*from], &members[*to]);
                    pairs.for_each(from.len() as u32, to.len() as u32, |i, j| add(from[i as usize], to[j as usize]));
                }
                Action::Work { at, .. } => members[*at].iter().for_each(|&host| add(host, host)),
            }
            graph.close_stage(first, stage);
        }
        let mut known = Vec::with_capacity(graph.gates.len());
        (0..plan.stages.len()).for_each(|number| graph.connect(plan, number, &mut known));
        graph
    }

    /// Adds the gates and ends of the stage whose pieces begin with `first`.
    fn close_stage(&mut self, first: usize, stage: &Stage) {
        let (first_gate, first_end) = (self.gates.len(), self.ends.len());
        let mut start = first;
        for chunk in self.pieces[first..].chunk_by(|one, other| one.from == other.from) {
            let pieces = start as u32..(start + chunk.len()) as u32;
            start += chunk.len();
            self.gates.push(Gate { host: chunk[0].from, pieces, waits_for: 0 });
        }
        self.gates[first_gate..].sort_by_key(|gate| gate.host);
        let mut hosts: Vec<HostId> = self.pieces[first..].iter().map(|piece| piece.to).collect();
        hosts.sort_unstable();
        for chunk in hosts.chunk_by(|one, other| one == other) {
            let quorum = (stage.quorum * chunk.len() as f64).ceil().max(1.0) as u32;
            let spares = (quorum as usize) < chunk.len();
            self.ends.push(End { host: chunk[0], quorum, spares, gates: Vec::new() });
        }
        self.gates_of.push(first_gate..self.gates.len());
        self.ends_of.push(first_end..self.ends.len());
    }

    /// Connects each gate of a stage with what it waits for. `known` has that of each gate of earlier stages.
    fn connect(&mut self, plan: &Plan, stage: usize, known: &mut Vec<Vec<usize>>) {
        if plan.stages[stage].barrier {
            let waits_for = plan.stages[stage].after.len() as u32;
            self.gates[self.gates_of[stage].clone()].iter_mut().for_each(|gate| gate.waits_for = waits_for);
            known.extend(self.gates_of[stage].clone().map(|_| Vec::new()));
            return;
        }
        for gate in self.gates_of[stage].clone() {
            let found = self.ends_before(plan, stage, self.gates[gate].host, known);
            self.gates[gate].waits_for = found.len() as u32;
            found.iter().for_each(|&end| self.ends[end].gates.push(gate as u32));
            known.push(found);
        }
    }

    /// Returns the ends at a host that what a stage starts there waits for.
    fn ends_before(&self, plan: &Plan, stage: usize, host: HostId, known: &[Vec<usize>]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = plan.stages[stage].after.clone();
        while let Some(before) = next.pop() {
            match (self.end_at(before, host), self.gate_at(before, host)) {
                (Some(end), _) => found.push(end),
                (None, Some(gate)) if !plan.stages[before].barrier => found.extend(&known[gate]),
                _ => next.extend(plan.stages[before].after.iter().filter(|before| seen.insert(**before))),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn gate_at(&self, stage: usize, host: HostId) -> Option<usize> {
        let gates = self.gates_of[stage].clone();
        self.gates[gates.clone()].binary_search_by_key(&host, |gate| gate.host).ok().map(|index| gates.start + index)
    }

    fn end_at(&self, stage: usize, host: HostId) -> Option<usize> {
        let ends = self.ends_of[stage].clone();
        self.ends[ends.clone()].binary_search_by_key(&host, |end| end.host).ok().map(|index| ends.start + index)
    }

    /// Returns the progress of a request that has just arrived.
    pub(crate) fn begin(&self) -> Progress {
        Progress {
            gates: self.gates.iter().map(|gate| gate.waits_for).collect(),
            ends: self.ends.iter().map(|end| end.quorum).collect(),
            stages: self.ends_of.iter().map(|ends| ends.len() as u32).collect(),
        }
    }

    /// Calls `start` with the pieces that start with the request, the pieces of one host at a time.
    pub(crate) fn starts(&self, mut start: impl FnMut(Range<u32>)) {
        self.gates.iter().filter(|gate| gate.waits_for == 0).for_each(|gate| start(gate.pieces.clone()));
    }

    /// Records that a piece has ended; calls `start` with the pieces that start with that, the pieces of one host at a time.
    pub(crate) fn ends(&self, plan: &Plan, progress: &mut Progress, piece: u32, mut start: impl FnMut(Range<u32>)) {
        let &Piece { stage, to, .. } = &self.pieces[piece as usize];
        let stage = stage as usize;
        let end = self.end_at(stage, to).expect("each piece ends at a host of its stage");
        // A piece above a quorum changes nothing.
        let Some(missing) = progress.ends[end].checked_sub(1) else { return };
        progress.ends[end] = missing;
        if missing > 0 {
            return;
        }
        let mut open = |gate: usize, progress: &mut Progress| {
            progress.gates[gate] -= 1;
            if progress.gates[gate] == 0 {
                start(self.gates[gate].pieces.clone());
            }
        };
        self.ends[end].gates.iter().for_each(|&gate| open(gate as usize, progress));
        progress.stages[stage] -= 1;
        if progress.stages[stage] == 0 {
            for barrier in plan.barriers_after(stage) {
                self.gates_of[barrier].clone().for_each(|gate| open(gate, progress));
            }
        }
    }

    /// Returns for each piece the earliest time at which it can start, given how long each takes at least. Times are
    /// from the arrival of the request.
    pub(crate) fn earliest(&self, plan: &Plan, durations: &[Span]) -> Vec<Span> {
        let mut ready = vec![Span::ZERO; self.gates.len()];
        let mut starts = vec![Span::ZERO; self.pieces.len()];
        for stage in 0..self.gates_of.len() {
            let mut ended: Vec<(HostId, Span)> = Vec::new();
            for gate in self.gates_of[stage].clone() {
                for piece in self.gates[gate].pieces.clone().map(|piece| piece as usize) {
                    starts[piece] = ready[gate];
                    ended.push((self.pieces[piece].to, ready[gate].saturating_add(durations[piece])));
                }
            }
            ended.sort_unstable();
            let mut last = Span::ZERO;
            for (end, at) in self.ends_of[stage].clone().zip(ended.chunk_by(|one, other| one.0 == other.0)) {
                let End { quorum, gates, .. } = &self.ends[end];
                let at = at[*quorum as usize - 1].1;
                last = last.max(at);
                gates.iter().for_each(|&gate| ready[gate as usize] = ready[gate as usize].max(at));
            }
            for barrier in plan.barriers_after(stage) {
                self.gates_of[barrier].clone().for_each(|gate| ready[gate] = ready[gate].max(last));
            }
        }
        starts
    }

    /// Returns for each piece the shortest time from its end until a goal is reached, given how long each takes at
    /// least. `None` for pieces that do not matter for it; with `sure`, also for the ones that a quorum can spare.
    pub(crate) fn rest(&self, plan: &Plan, goal: Option<usize>, durations: &[Span], sure: bool) -> Vec<Option<Span>> {
        let mut rest = vec![None; self.pieces.len()];
        // The longest way from the opening of each gate.
        let mut from_gate: Vec<Option<Span>> = vec![None; self.gates.len()];
        for (number, stage) in plan.stages.iter().enumerate().rev() {
            let is_goal = goal.is_none_or(|goal| goal == stage.written);
            let barriers = plan.barriers_after(number).flat_map(|barrier| self.gates_of[barrier].clone());
            let from_all = barriers.filter_map(|gate| from_gate[gate]).max().max(is_goal.then_some(Span::ZERO));
            for gate in self.gates_of[number].clone() {
                for piece in self.gates[gate].pieces.clone().map(|piece| piece as usize) {
                    let end = self.end_at(number, self.pieces[piece].to).expect("each piece ends at a host");
                    let next = self.ends[end].gates.iter().filter_map(|&gate| from_gate[gate as usize]).max();
                    rest[piece] = if sure && self.ends[end].spares { None } else { from_all.max(next) };
                    let whole = rest[piece].map(|rest| rest.saturating_add(durations[piece]));
                    from_gate[gate] = from_gate[gate].max(whole);
                }
            }
        }
        rest
    }

    /// Returns for each stage the time at which it had ended at all hosts, with the piece that ended it, given when
    /// each piece ended.
    pub(crate) fn stage_ends(&self, ended: impl Fn(usize) -> Option<Instant>) -> Vec<Option<(Instant, u32)>> {
        let of_stage = |stage: usize| {
            let gates = &self.gates[self.gates_of[stage].clone()];
            let pieces = gates.iter().flat_map(|gate| gate.pieces.clone());
            let mut all: Vec<(HostId, Instant, u32)> = pieces
                .filter_map(|piece| Some((self.pieces[piece as usize].to, ended(piece as usize)?, piece)))
                .collect();
            all.sort_unstable();
            let mut chunks = all.chunk_by(|one, other| one.0 == other.0).peekable();
            let mut last: Option<(Instant, u32)> = None;
            for End { host, quorum, .. } in &self.ends[self.ends_of[stage].clone()] {
                let here = chunks.next_if(|chunk| chunk[0].0 == *host)?;
                let &(_, at, piece) = here.get(*quorum as usize - 1)?;
                last = last.max(Some((at, piece)));
            }
            last
        };
        (0..self.ends_of.len()).map(of_stage).collect()
    }
}

impl Plan {
    /// Returns whether a piece is a work, and not a message.
    pub(super) fn is_work(&self, piece: &Piece) -> bool {
        matches!(self.stages[piece.stage as usize].action, Action::Work { .. })
    }

    /// Returns the stages that wait until a stage has ended at all hosts.
    fn barriers_after(&self, stage: usize) -> impl Iterator<Item = usize> {
        let waits = move |(_, other): &(usize, &Stage)| other.barrier && other.after.contains(&stage);
        self.stages.iter().enumerate().filter(waits).map(|(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{self, drawn, role, send, work};
    use super::super::plan::Pick;
    use super::*;

    /// Roles with these members, and stages (sender, receiver, stages before, barrier, quorum) by role.
    fn plan(members: &[&[u32]], stages: &[(usize, usize, &[usize])]) -> (Plan, Vec<Vec<HostId>>) {
        let hosts = |members: &&[u32]| members.iter().copied().map(HostId).collect();
        let roles = members.iter().map(|hosts| role(hosts, hosts.len() as u32, Pick::Random)).collect();
        let stage = |&(from, to, after): &(usize, usize, &[usize])| match from == to {
            true => (work(from, drawn(1.0)), after.to_vec()),
            false => (send(from, to, drawn(1.0), 1.0), after.to_vec()),
        };
        let plan = fixtures::plan(roles, stages.iter().map(stage));
        (plan, members.iter().map(hosts).collect())
    }

    /// A request that plays by hand: pieces are ended in any order.
    struct Played {
        plan: Plan,
        graph: Graph,
        progress: Progress,
        under_way: BTreeSet<u32>,
    }

    impl Played {
        fn new((plan, members): (Plan, Vec<Vec<HostId>>)) -> Played {
            let graph = Graph::new(&plan, &members, |_| 1);
            let mut under_way = BTreeSet::new();
            graph.starts(|pieces| under_way.extend(pieces));
            Played { progress: graph.begin(), plan, graph, under_way }
        }

        /// Returns the pieces under way: stage, sender, receiver.
        fn under_way(&self) -> Vec<(u32, u32, u32)> {
            let piece = |index: &u32| self.graph.pieces[*index as usize];
            self.under_way.iter().map(piece).map(|Piece { stage, from, to, .. }| (stage, from.0, to.0)).collect()
        }

        fn end(&mut self, stage: u32, from: u32, to: u32) {
            let is_it = |index: &u32| {
                let piece = self.graph.pieces[*index as usize];
                (piece.stage, piece.from.0, piece.to.0) == (stage, from, to)
            };
            let index = self.under_way.iter().copied().find(is_it).expect("it is under way");
            self.under_way.remove(&index);
            let Played { plan, graph, progress, under_way } = self;
            graph.ends(plan, progress, index, |pieces| under_way.extend(pieces));
        }
    }

    #[test]
    fn a_host_goes_on_when_all_that_it_waits_for_is_there() {
        // Front 0 asks shards 1 and 2; each works when its question is there, and answers when its work is done.
        let chain: &[(usize, usize, &[usize])] = &[(0, 1, &[]), (1, 1, &[0]), (1, 0, &[1]), (0, 2, &[2])];
        let mut request = Played::new(plan(&[&[0], &[1, 2], &[9]], chain));
        assert_eq!(request.under_way(), [(0, 0, 1), (0, 0, 2)]);
        request.end(0, 0, 2);
        assert_eq!(request.under_way(), [(0, 0, 1), (1, 2, 2)], "the other shard does not wait for the first");
        request.end(1, 2, 2);
        request.end(2, 2, 0);
        assert_eq!(request.under_way(), [(0, 0, 1)], "the front waits for both answers");
        request.end(0, 0, 1);
        request.end(1, 1, 1);
        request.end(2, 1, 0);
        assert_eq!(request.under_way(), [(3, 0, 9)]);
    }

    #[test]
    fn a_quorum_is_enough_to_go_on_and_the_rest_starts_nothing_again() {
        let (mut with_quorum, members) = plan(&[&[0], &[1, 2, 3, 4], &[9]], &[(1, 0, &[]), (0, 2, &[0])]);
        with_quorum.stages[0].quorum = 0.6;
        let mut request = Played::new((with_quorum, members));
        // 60 % of four are three.
        request.end(0, 1, 0);
        request.end(0, 4, 0);
        assert_eq!(request.under_way(), [(0, 2, 0), (0, 3, 0)]);
        request.end(0, 2, 0);
        assert_eq!(request.under_way(), [(0, 3, 0), (1, 0, 9)]);
        request.end(0, 3, 0);
        assert_eq!(request.under_way(), [(1, 0, 9)]);
    }

    #[test]
    fn where_nothing_of_a_stage_ends_what_that_follows_counts() {
        // Stage 2 starts at host 0, where nothing of stage 1 ends but stage 0 does.
        let mut request = Played::new(plan(&[&[0], &[1], &[2]], &[(1, 0, &[]), (1, 2, &[0]), (0, 2, &[1])]));
        assert_eq!(request.under_way(), [(0, 1, 0), (1, 1, 2)], "host 1 has nothing to wait for");
        request.end(1, 1, 2);
        assert_eq!(request.under_way(), [(0, 1, 0)]);
        request.end(0, 1, 0);
        assert_eq!(request.under_way(), [(2, 0, 2)]);
    }

    #[test]
    fn a_host_in_two_roles_waits_for_what_ends_there_in_either() {
        // Role 1 is hosts 1 and 2, role 2 is host 2.
        let mut request = Played::new(plan(&[&[0], &[1, 2], &[2], &[9]], &[(0, 1, &[]), (0, 2, &[]), (2, 3, &[0, 1])]));
        request.end(1, 0, 2);
        assert_eq!(request.under_way(), [(0, 0, 1), (0, 0, 2)]);
        request.end(0, 0, 2);
        assert_eq!(request.under_way(), [(0, 0, 1), (2, 2, 9)]);
    }

    #[test]
    fn a_barrier_waits_for_all_hosts() {
        let (mut with_barrier, members) = plan(&[&[0, 1], &[2, 3]], &[(0, 0, &[]), (0, 1, &[0])]);
        let mut free = Played::new((with_barrier.clone(), members.clone()));
        free.end(0, 1, 1);
        assert_eq!(free.under_way(), [(0, 0, 0), (1, 1, 2), (1, 1, 3)]);
        with_barrier.stages[1].barrier = true;
        let mut request = Played::new((with_barrier, members));
        request.end(0, 1, 1);
        assert_eq!(request.under_way(), [(0, 0, 0)]);
        request.end(0, 0, 0);
        assert_eq!(request.under_way().len(), 4);
        // Works of 3 and 7: the messages of both start after 7, or each host's after its own.
        let durations = [3, 7, 1, 1, 1, 1].map(Span);
        assert_eq!(request.graph.earliest(&request.plan, &durations), [0, 0, 7, 7, 7, 7].map(Span));
        assert_eq!(free.graph.earliest(&free.plan, &durations), [0, 0, 3, 3, 7, 7].map(Span));
    }

    /// Host 0 asks hosts 1 and 2. When both have been asked (a barrier), each sends to host 9, and then to host 8 and to
    /// host 0. As nothing of that ends at hosts 1 and 2, these follow what host 0 has asked there, and not the barrier.
    #[test]
    fn stage_behind_a_barrier_at_other_hosts_follows_what_that_follows() {
        let stages: &[(usize, usize, &[usize])] = &[(0, 1, &[]), (1, 2, &[0]), (1, 3, &[1]), (1, 0, &[2])];
        let (mut plan, members) = plan(&[&[0], &[1, 2], &[9], &[8]], stages);
        plan.stages[1].barrier = true;
        let mut request = Played::new((plan, members));
        assert_eq!(request.under_way(), [(0, 0, 1), (0, 0, 2)]);
        request.end(0, 0, 1);
        assert_eq!(request.under_way(), [(0, 0, 2), (2, 1, 8), (3, 1, 0)]);
        request.end(0, 0, 2);
        assert_eq!(request.under_way(), [(1, 1, 9), (1, 2, 9), (2, 1, 8), (2, 2, 8), (3, 1, 0), (3, 2, 0)]);
    }

    #[test]
    fn the_shortest_ways_before_and_after_each_piece_are_sums() {
        // 0 asks 1 and 2 (3 each), they work (5 each but 9 at host 2), and answer (2 each).
        let (plan, members) = plan(&[&[0], &[1, 2]], &[(0, 1, &[]), (1, 1, &[0]), (1, 0, &[1])]);
        let graph = Graph::new(&plan, &members, |_| 1);
        let durations = [3, 3, 5, 9, 2, 2].map(Span);
        assert_eq!(graph.earliest(&plan, &durations), [0, 0, 3, 3, 8, 12].map(Span));
        let rest = graph.rest(&plan, None, &durations, true);
        assert_eq!(rest, [7, 11, 2, 2, 0, 0].map(|span| Some(Span(span))));
        // The works are a goal of their own; the answers do not matter for it.
        let rest = graph.rest(&plan, Some(1), &durations, true);
        assert_eq!(rest, [Some(Span(5)), Some(Span(9)), Some(Span(0)), Some(Span(0)), None, None]);
    }

    #[test]
    fn what_a_quorum_can_spare_is_not_sure_to_matter() {
        let (mut plan, members) = plan(&[&[0], &[1, 2], &[9]], &[(1, 0, &[]), (0, 2, &[0])]);
        plan.stages[0].quorum = 0.5;
        let graph = Graph::new(&plan, &members, |_| 1);
        let durations = [4, 6, 1].map(Span);
        // The faster of the two is enough.
        assert_eq!(graph.earliest(&plan, &durations), [0, 0, 4].map(Span));
        assert_eq!(graph.rest(&plan, None, &durations, true), [None, None, Some(Span(0))]);
        assert_eq!(graph.rest(&plan, None, &durations, false), [1, 1, 0].map(|span| Some(Span(span))));
    }

    #[test]
    fn a_long_chain_elsewhere_costs_no_depth() {
        // Host 0 sends, then 100 000 stages between others, then host 0 again.
        let mut stages: Vec<(usize, usize, Vec<usize>)> = vec![(0, 1, vec![])];
        (0..100_000).for_each(|i| stages.push((1 + i % 2, 2 - i % 2, vec![i])));
        stages.push((0, 1, vec![100_000]));
        let borrowed: Vec<(usize, usize, &[usize])> =
            stages.iter().map(|(from, to, after)| (*from, *to, &after[..])).collect();
        let request = Played::new(plan(&[&[0], &[1], &[2]], &borrowed));
        assert_eq!(request.under_way(), [(0, 0, 1), (100_001, 0, 1)]);
    }
}
