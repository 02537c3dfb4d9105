//! A request alone in an empty network, and the times at which its pieces are due.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use units::{Allowed, Bytes, HostId, Instant, LinkId, Span, Stream};

use super::Due;
use super::graph::{Graph, Piece};
use super::plan::{Action, Goal, Plan, Told, time_of};
use super::row::Window;

/// The times of messages in an empty network.
pub(crate) trait Wire {
    /// Returns the time that a message takes alone, and the links of its hosts that it occupies. `ordinal` identifies it
    /// in its class.
    fn alone(&mut self, ordinal: u64, from: HostId, to: HostId, bytes: Bytes) -> (Span, Occupied);
    /// Returns the least time that it takes with any transport and on any paths.
    fn least(&mut self, from: HostId, to: HostId, bytes: Bytes) -> Span;
}

/// The links of its two hosts that a message occupies when it is alone, with the time of each.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Occupied {
    /// The links by which its host sends it.
    pub sending: Box<[(LinkId, Span)]>,
    /// The links by which it reaches its receiver.
    pub receiving: Box<[(LinkId, Span)]>,
}

/// The times of a request in an empty network, from its arrival.
pub(crate) struct Alone {
    /// Until all stages have ended.
    pub whole: Span,
    /// Until each written stage has ended.
    pub stages: Vec<Span>,
}

impl Graph {
    /// Returns the times of a request alone, given how long each piece takes alone, and the links that it occupies.
    ///
    /// Messages that share the link of a host are sent there in turn, in the order in which they are ready. They are
    /// received in the order in which they begin.
    pub(crate) fn alone(&self, plan: &Plan, durations: &[Span], occupied: &[Occupied]) -> Alone {
        let mut progress = self.begin();
        let mut ended = vec![Span::ZERO; self.pieces.len()];
        let mut links = Links::default();
        let mut events = BinaryHeap::new();
        let mut ready: Vec<Range<u32>> = Vec::new();
        self.starts(|pieces| ready.push(pieces));
        let mut now = Span::ZERO;
        loop {
            for index in ready.drain(..).flatten() {
                let piece = &self.pieces[index as usize];
                events.push(Reverse(match piece.from == piece.to {
                    true => (now.saturating_add(durations[index as usize]), index, true),
                    false => (links.begin(&occupied[index as usize], now), index, false),
                }));
            }
            let Some(Reverse((at, index, ends))) = events.pop() else { break };
            now = at;
            if ends {
                ended[index as usize] = at;
                self.ends(plan, &mut progress, index, |pieces| ready.push(pieces));
            } else {
                let end = links.receive(&occupied[index as usize], at, durations[index as usize]);
                events.push(Reverse((end, index, true)));
            }
        }
        self.times(plan, &ended)
    }

    /// Returns the times of a request before which no schedule ends it, given how long each piece takes at least.
    pub(crate) fn at_least(&self, plan: &Plan, least: &[Span]) -> Alone {
        let starts = self.earliest(plan, least).into_iter().zip(least);
        self.times(plan, &starts.map(|(start, takes)| start.saturating_add(*takes)).collect::<Vec<_>>())
    }

    /// Returns the times of a request, given when each piece ends.
    fn times(&self, plan: &Plan, ended: &[Span]) -> Alone {
        let mut stages = vec![Span::ZERO; plan.names.len()];
        let ends = self.stage_ends(|piece| Some(Instant(ended[piece].0)));
        for (stage, end) in plan.stages.iter().zip(ends) {
            let end = end.map_or(Span::ZERO, |(at, _)| at.since_start());
            stages[stage.written] = stages[stage.written].max(end);
        }
        Alone { whole: stages.iter().copied().max().unwrap_or_default(), stages }
    }
}

/// The times until which the links of hosts are occupied.
#[derive(Default)]
struct Links {
    up: BTreeMap<LinkId, Span>,
    down: BTreeMap<LinkId, Span>,
}

impl Links {
    /// Returns the time at which a message begins that is ready at `at`: when its links have sent those before.
    fn begin(&mut self, message: &Occupied, at: Span) -> Span {
        let sent = message.sending.iter().filter_map(|(link, _)| self.up.get(link).copied());
        let begins = sent.fold(at, Span::max);
        for &(link, takes) in &message.sending {
            self.up.insert(link, begins.saturating_add(takes));
        }
        begins
    }

    /// Returns the time at which a message has arrived that begins at `begins`: after the messages that began before.
    fn receive(&mut self, message: &Occupied, begins: Span, takes: Span) -> Span {
        let after = |&(link, occupied): &(LinkId, Span)| Some(self.down.get(&link)?.saturating_add(occupied));
        let arrived = message.receiving.iter().filter_map(after).fold(begins.saturating_add(takes), Span::max);
        message.receiving.iter().for_each(|&(link, _)| _ = self.down.insert(link, arrived));
        arrived
    }
}

/// Returns the allowed time of a goal for a request with these columns, given its times alone and at least.
pub(super) fn due_of(goal: &Goal, [alone, least]: [&Alone; 2], row: &[f64], stream: &mut Stream) -> Due {
    let [alone, least] = [alone, least].map(|times| goal.stage.map_or(times.whole, |stage| times.stages[stage]));
    let within = match &goal.within {
        Allowed::Time(time) => time_of(time, row, stream),
        Allowed::TimesAlone(times) => Span::from_ps_f64(alone.0 as f64 * stream.sample(times)),
    };
    Due { within: within.max(Span(1)), alone, least }
}

/// Returns for each piece of a request the latest start with which some goal can be reached, and the time at which it
/// is due as its transport is told. [`Instant::MAX`] where there is none.
pub(super) fn dues(
    plan: &Plan,
    graph: &Graph,
    arrival: Instant,
    goals: &[Due],
    durations: &[Span],
) -> (Vec<Instant>, Vec<Instant>) {
    let pieces = graph.pieces.len();
    let (mut latest, mut told) = (vec![None; pieces], vec![Instant::MAX; pieces]);
    if plan.tells() || plan.abandons {
        for (goal, due) in plan.goals.iter().zip(goals) {
            let shares = plan.shares(goal.stage);
            let at = arrival.saturating_add(due.within);
            for (index, rest) in graph.rest(plan, goal.stage, durations, false).into_iter().enumerate() {
                let Some(rest) = rest else { continue };
                let end = at.earlier_by(rest);
                latest[index] = latest[index].max(Some(end.earlier_by(durations[index])));
                let share = shares[graph.pieces[index].stage as usize];
                told[index] = told[index].min(match plan.told {
                    Told::Request => at,
                    Told::Remaining => end,
                    Told::Split => arrival.saturating_add(Span::from_ps_f64(due.within.0 as f64 * share)),
                    Told::Nothing => Instant::MAX,
                });
            }
        }
    }
    (latest.into_iter().map(|latest| latest.unwrap_or(Instant::MAX)).collect(), told)
}

/// Returns for each piece the latest end with which every goal can be reached; `None` where no goal depends on it.
/// `needed` is as in [`Graph::rest`].
pub(super) fn latest_ends(
    plan: &Plan,
    graph: &Graph,
    arrival: Instant,
    goals: &[Due],
    durations: &[Span],
    needed: bool,
) -> Vec<Option<Instant>> {
    let mut due = vec![None; graph.pieces.len()];
    for (goal, allowed) in plan.goals.iter().zip(goals) {
        let at = arrival.saturating_add(allowed.within);
        for (due, rest) in due.iter_mut().zip(graph.rest(plan, goal.stage, durations, needed)) {
            let end = rest.map(|rest| at.earlier_by(rest));
            *due = [*due, end].into_iter().flatten().min();
        }
    }
    due
}

/// Returns the windows of a request's messages: from the earliest time at which each can start, to the latest at which
/// it can end, for all goals to be reached. No goal needs the others. `least` says how long each piece takes at least,
/// under any schedule.
pub(super) fn windows(plan: &Plan, graph: &Graph, arrival: Instant, goals: &[Due], least: &[Span]) -> Vec<Window> {
    if goals.is_empty() {
        return Vec::new();
    }
    let due = latest_ends(plan, graph, arrival, goals, least, true);
    let earliest = graph.earliest(plan, least);
    let pieces = graph.pieces.iter().zip(earliest).zip(due);
    let window = |((piece, start), due): ((&Piece, Span), Option<Instant>)| {
        let is_message = matches!(plan.stages[piece.stage as usize].action, Action::Send { .. });
        let start = arrival.saturating_add(start);
        let &Piece { from, to, amount, .. } = piece;
        due.filter(|_| is_message && from != to).map(|due| Window { from, to, bytes: Bytes(amount), start, due })
    };
    pieces.filter_map(window).collect()
}

impl Plan {
    /// Returns for each stage the share of the time for a goal that has passed at its end, where the stages of the
    /// longest chain through it have equal shares.
    pub(super) fn shares(&self, goal: Option<usize>) -> Vec<f64> {
        let mut depths = vec![0_u32; self.stages.len()];
        for (index, stage) in self.stages.iter().enumerate() {
            depths[index] = 1 + stage.after.iter().map(|&before| depths[before]).max().unwrap_or(0);
        }
        let mut heights: Vec<Option<u32>> = vec![None; self.stages.len()];
        for (index, stage) in self.stages.iter().enumerate().rev() {
            if goal.is_none_or(|goal| goal == stage.written) {
                heights[index] = heights[index].max(Some(0));
            }
            if let Some(height) = heights[index] {
                stage.after.iter().for_each(|&before| heights[before] = heights[before].max(Some(height + 1)));
            }
        }
        let share = |(depth, height): (u32, Option<u32>)| f64::from(depth) / f64::from(depth + height.unwrap_or(0));
        depths.into_iter().zip(heights).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Distribution, OfRequest};

    /// Two messages that begin together occupy the link of their receiver for 10 us each, and arrive after 12 us alone.
    #[test]
    fn receiver_takes_one_message_after_the_other() {
        let (mut links, span) = (Links::default(), Span::from_micros);
        let message = Occupied { sending: Box::default(), receiving: Box::new([(LinkId(0), span(10))]) };
        assert_eq!([(); 2].map(|()| links.receive(&message, Span::ZERO, span(12))), [span(12), span(22)]);
    }

    #[test]
    fn goal_is_due_after_a_picosecond_at_the_earliest() {
        let times = Alone { whole: Span(5), stages: Vec::new() };
        let goal = |within| Goal { name: String::new(), stage: None, within };
        for (ps, least) in [(0.0, 1), (1.0, 1), (2.0, 2)] {
            let goal = goal(Allowed::Time(OfRequest::Drawn(Distribution::Constant(ps))));
            let due = due_of(&goal, [&times, &times], &[], &mut Stream::new(1, "goal", 0));
            assert_eq!((due.within, due.alone, due.least), (Span(least), Span(5), Span(5)));
        }
    }
}
