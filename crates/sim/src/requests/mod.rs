//! Requests of several stages: a piece starts at its host when everything of the stages it follows has ended there.
//!
//! A request is drawn as a whole when it arrives ([`Graph`]), with the ids of all its messages. So every partition of a
//! run knows it, and starts the pieces of its own hosts. A host depends on another one only by messages. Barriers and the
//! choice of the least loaded hosts are exceptions, which one partition simulates.

mod alone;
mod draw;
#[cfg(test)]
pub(crate) mod fixtures;
mod graph;
pub mod plan;
mod row;
mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use units::{Bytes, ClassId, HostId, Instant, MessageId, Rate, Span, Table};

pub(crate) use alone::{Occupied, Wire};
use alone::{due_of, dues, latest_ends, windows};
use draw::Drawn;
pub(crate) use draw::Draws;
use graph::{Graph, Piece, Progress};
use plan::{Action, Pick, Plan};
pub use row::{GoalRow, Leg, PieceRow, RequestRow, StageRow, Window};
use servers::{Queued, ServerPools};

use crate::topology::Partition;

/// The requests of one class.
pub(crate) struct Requests {
    class: ClassId,
    name: String,
    seed: u64,
    plan: Arc<Plan>,
    /// The values of the columns of each request of a trace; none without one.
    trace: Option<Arc<units::RequestTrace>>,
    /// The rate of the link of each host.
    rates: Arc<Table<HostId, Rate>>,
    /// The hosts of this partition, if there are several.
    partition: Option<(Arc<Partition>, u32)>,
    open: BTreeMap<u64, Open>,
    /// The first message of each open request, and the number of the request.
    by_message: BTreeMap<MessageId, u64>,
    servers: ServerPools,
    /// The open requests of the hosts of each role, where the least loaded ones are picked.
    loads: Vec<Table<HostId, u32>>,
    arrived: u64,
    /// Rows of requests that are over, in order of arrival but for gaps.
    rows: BTreeMap<u64, RequestRow>,
    unsent: Vec<MessageId>,
    /// The number of the next row to be taken.
    next_row: u64,
    /// Requests of which something has begun or ended here since they were last taken, if they are reported.
    changed: Option<BTreeMap<u64, i64>>,
}

/// A request that is not over.
struct Open {
    arrival: Instant,
    graph: Arc<Graph>,
    progress: Progress,
    members: Vec<Vec<HostId>>,
    times: Vec<Times>,
    /// The id of its first message, and the piece of each message.
    first_message: MessageId,
    messages: Vec<u32>,
    /// The latest time at which each piece must end for some goal to be reached.
    latest: Vec<Instant>,
    /// The deadline of each piece, as its transport is told.
    told: Vec<Instant>,
    /// The first time at which a goal is due.
    due: Instant,
    goals: Vec<Due>,
    alone: Span,
    /// Pieces that have started or wait for a server, and have not ended.
    outstanding: i64,
    /// Some did not start: they could not be in time.
    abandoned: bool,
    /// Messages that were aborted and have not arrived.
    lost: BTreeSet<u32>,
    /// The windows of the messages without which some goal is missed.
    windows: Vec<Window>,
    /// The latest end of each piece with which every goal can be reached, where the pieces are kept.
    latest_ends: Vec<Option<Instant>>,
}

/// A goal of one request.
#[derive(Clone, Copy)]
struct Due {
    within: Span,
    alone: Span,
    /// No schedule reaches it in less.
    least: Span,
}

/// The parts of a request that are known when it arrives.
struct Foreseen {
    drawn: Drawn,
    /// The time that each piece takes in an empty network, and the least that it takes under any schedule.
    durations: Vec<Span>,
    least: Vec<Span>,
    /// The time that the request takes alone.
    alone: Span,
    goals: Vec<Due>,
}

impl Foreseen {
    fn new(plan: &Plan, number: u64, mut drawn: Drawn, wire: &mut impl Wire) -> Foreseen {
        let Drawn { graph, row, stream, .. } = &mut drawn;
        let (mut durations, mut least, mut occupied) = (Vec::new(), Vec::new(), Vec::new());
        for (index, piece) in (0..).zip(&graph.pieces) {
            let &Piece { from, to, amount, .. } = piece;
            let ((alone, links), at_least) = match plan.is_work(piece) {
                true => ((Span(amount), Occupied::default()), Span(amount)),
                false if from == to => Default::default(),
                false => {
                    let alone = wire.alone(ordinal(number, index), from, to, Bytes(amount));
                    (alone, wire.least(from, to, Bytes(amount)))
                }
            };
            durations.push(alone);
            occupied.push(links);
            least.push(at_least);
        }
        let alone = graph.alone(plan, &durations, &occupied);
        let times = [&alone, &graph.at_least(plan, &least)];
        let goals = plan.goals.iter().map(|goal| due_of(goal, times, row, stream)).collect();
        Foreseen { durations, least, alone: alone.whole, goals, drawn }
    }
}

/// The times of a piece, [`Instant::MAX`] before they are known.
#[derive(Clone, Copy)]
struct Times {
    /// All that it waits for had ended.
    ready: Instant,
    /// It began: for a work, it had a server.
    began: Instant,
    ended: Instant,
    /// The piece after which it was ready.
    after: u32,
}

const NO_PIECE: u32 = u32::MAX;

impl Times {
    const UNKNOWN: Times = Times { ready: Instant::MAX, began: Instant::MAX, ended: Instant::MAX, after: NO_PIECE };
}

/// A request that is not over, as far as one partition knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenRequest {
    /// Time of its arrival.
    pub arrival: Instant,
    /// The time at which the last goal is due; [`Instant::MAX`] without one.
    pub due: Instant,
    /// The pieces that have started or wait for a server here, less the pieces that have ended here.
    pub outstanding: i64,
}

/// Something that a request starts or ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A message is sent.
    Send {
        /// Number of the request.
        request: u64,
        /// The message, a piece of the request.
        piece: u32,
    },
    /// A work ends at a time.
    Work {
        /// Number of the request.
        request: u64,
        /// The work, a piece of the request.
        piece: u32,
        /// The end of the work.
        until: Instant,
    },
    /// A request is over.
    Over {
        /// Number of the request.
        request: u64,
        /// The arrival of the request.
        arrival: Instant,
        /// The time at which the last goal was due; [`Instant::MAX`] without one.
        due: Instant,
    },
}

/// A message of a request, ready to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    /// The id that was reserved for it.
    pub id: MessageId,
    /// The host that sends it.
    pub from: HostId,
    /// The host that receives it.
    pub to: HostId,
    /// The size of its payload.
    pub bytes: Bytes,
    /// The time at which it is due, as its transport is told.
    pub due: Option<Instant>,
}

impl Requests {
    /// Returns the requests of a class, of which none has arrived.
    pub(crate) fn new(
        class: ClassId,
        name: &str,
        seed: u64,
        plan: Arc<Plan>,
        trace: Option<Arc<units::RequestTrace>>,
        rates: Arc<Table<HostId, Rate>>,
    ) -> Requests {
        let picks = |pick| plan.roles.iter().any(|role| role.pick == pick);
        let loads = if picks(Pick::LeastLoaded) { plan.roles.len() } else { 0 };
        Requests {
            class,
            name: name.into(),
            seed,
            trace,
            rates,
            partition: None,
            open: BTreeMap::new(),
            by_message: BTreeMap::new(),
            servers: ServerPools::default(),
            loads: vec![Table::default(); loads],
            arrived: 0,
            rows: BTreeMap::new(),
            unsent: Vec::new(),
            next_row: 0,
            changed: None,
            plan,
        }
    }

    /// Makes these the requests of one partition of several.
    pub(crate) fn set_up_partition(&mut self, partition: Arc<Partition>, number: u32) {
        self.partition = Some((partition, number));
    }

    /// Reports from now on by how much the pieces under way of each request change here.
    pub(crate) fn report_changes(&mut self) {
        self.changed = Some(BTreeMap::new());
    }

    /// Takes these changes since the last call, by the requests' numbers.
    pub(crate) fn take_changes(&mut self) -> BTreeMap<u64, i64> {
        self.changed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Counts a piece that is under way now, or no longer.
    fn count(&mut self, request: u64, change: i64) -> &mut Open {
        if let Some(changed) = &mut self.changed {
            *changed.entry(request).or_default() += change;
        }
        let open = self.open.get_mut(&request).expect("a request of which a piece is under way is open");
        open.outstanding += change;
        open
    }

    /// Handles the arrival of a request. Its messages get the ids that `reserve` returns, which must be successive;
    /// its argument says whether the sending host is in this partition.
    pub(crate) fn arrive(
        &mut self,
        now: Instant,
        wire: &mut impl Wire,
        mut reserve: impl FnMut(bool) -> MessageId,
        steps: &mut Vec<Step>,
    ) {
        let number = self.arrived;
        self.arrived += 1;
        let plan = self.plan.clone();
        let draws = Draws { plan: &plan, trace: self.trace.clone(), name: self.name.clone(), seed: self.seed };
        let drawn = draws.draw(number, |role| self.pick_idlest(role));
        let Foreseen { drawn: Drawn { members, graph, .. }, durations, least, alone, goals } =
            Foreseen::new(&plan, number, drawn, wire);
        let mut messages = Vec::new();
        let mut ids = Vec::new();
        for (index, piece) in (0..).zip(&graph.pieces) {
            if !plan.is_work(piece) && piece.from != piece.to {
                ids.push(reserve(is_here(&self.partition, piece.from)));
                messages.push(index);
            }
        }
        let (latest, told) = dues(&plan, &graph, now, &goals, &durations);
        let latest_ends = match plan.keeps_pieces {
            true => latest_ends(&plan, &graph, now, &goals, &durations, false),
            false => Vec::new(),
        };
        let first_message = ids.first().copied().unwrap_or(MessageId(u32::MAX));
        if !messages.is_empty() {
            self.by_message.insert(first_message, number);
        }
        let graph = Arc::new(graph);
        let open = Open {
            arrival: now,
            progress: graph.begin(),
            times: vec![Times::UNKNOWN; graph.pieces.len()],
            windows: windows(&plan, &graph, now, &goals, &least),
            graph: graph.clone(),
            members,
            first_message,
            messages,
            latest,
            told,
            due: goals.iter().map(|goal| now.saturating_add(goal.within)).min().unwrap_or(Instant::MAX),
            goals,
            alone,
            outstanding: 0,
            abandoned: false,
            lost: BTreeSet::new(),
            latest_ends,
        };
        self.open.insert(number, open);
        let mut ended = Vec::new();
        graph.starts(|pieces| self.start(number, pieces, NO_PIECE, now, &mut ended, steps));
        self.follow(number, ended, now, steps);
    }

    /// Returns the row of a request that would arrive at `at`, with its goals and windows, and nothing of its run. Roles
    /// of the least loaded hosts take theirs in turns, as if no request were open.
    pub(crate) fn ahead(&self, number: u64, at: Instant, wire: &mut impl Wire) -> RequestRow {
        let plan = &self.plan;
        let draws = Draws { plan, trace: self.trace.clone(), name: self.name.clone(), seed: self.seed };
        let drawn = draws.draw(number, |role| plan.roles[role].in_turn(number));
        let Foreseen { drawn: Drawn { graph, .. }, least, alone, goals, .. } = Foreseen::new(plan, number, drawn, wire);
        let windows = windows(plan, &graph, at, &goals, &least);
        let goal = |&Due { within, alone, least }: &Due| GoalRow { within, alone, least, reached: None };
        RequestRow {
            class: self.class,
            number,
            arrival: at,
            alone,
            end: None,
            over: false,
            abandoned: false,
            stages: vec![StageRow::default(); plan.names.len()],
            goals: goals.iter().map(goal).collect(),
            longest: None,
            windows,
            pieces: Vec::new(),
        }
    }

    /// Returns the hosts of a role with the fewest open requests, and counts this one there.
    fn pick_idlest(&mut self, role: usize) -> Vec<HostId> {
        let plan::Role { hosts, count, .. } = &self.plan.roles[role];
        let loads = &mut self.loads[role];
        hosts.iter().for_each(|&host| _ = loads.reach(host));
        let mut order = hosts.clone();
        order.sort_by_key(|&host| loads[host]);
        order.truncate(*count as usize);
        order.iter().for_each(|&host| loads[host] += 1);
        order
    }

    /// Starts pieces of one host together, if that host is here. Pieces that end at once are added to `ended`.
    fn start(
        &mut self,
        number: u64,
        pieces: Range<u32>,
        after: u32,
        now: Instant,
        ended: &mut Vec<u32>,
        steps: &mut Vec<Step>,
    ) {
        let plan = self.plan.clone();
        for index in pieces {
            let Piece { stage, from, to, .. } = self.open[&number].graph.pieces[index as usize];
            if !is_here(&self.partition, from) {
                return;
            }
            let open = self.count(number, 1);
            open.times[index as usize] = Times { ready: now, after, ..Times::UNKNOWN };
            match &plan.stages[stage as usize].action {
                Action::Send { .. } if from == to => {
                    open.times[index as usize].began = now;
                    ended.push(index);
                }
                Action::Work { servers: Some(servers), .. } => {
                    let by = if servers.by_deadline { open.due } else { now };
                    let work = Queued { by, request: number, piece: index };
                    if self.servers.begins(stage as usize, from, servers.count, work)
                        && !self.begin(number, index, now, steps)
                    {
                        self.serve_next(stage as usize, from, now, steps);
                    }
                }
                _ => _ = self.begin(number, index, now, steps),
            }
        }
    }

    /// Begins a piece, unless it can no longer be in time and is abandoned: then it returns false.
    fn begin(&mut self, request: u64, piece: u32, now: Instant, steps: &mut Vec<Step>) -> bool {
        let open = self.open.get_mut(&request).expect("a piece that waits keeps its request open");
        let Piece { stage, amount, .. } = open.graph.pieces[piece as usize];
        let in_time = open.latest[piece as usize] >= now;
        if self.plan.abandons && !in_time {
            open.abandoned = true;
            self.count(request, -1);
            return false;
        }
        open.times[piece as usize].began = now;
        steps.push(match self.plan.stages[stage as usize].action {
            Action::Send { .. } => Step::Send { request, piece },
            Action::Work { .. } => Step::Work { request, piece, until: now.saturating_add(Span(amount)) },
        });
        true
    }

    /// Passes a server that is free to the works that wait for it.
    fn serve_next(&mut self, stage: usize, host: HostId, now: Instant, steps: &mut Vec<Step>) {
        while let Some(Queued { request, piece, .. }) = self.servers.ends(stage, host) {
            if self.begin(request, piece, now, steps) {
                return;
            }
            self.close_if_over(request, steps);
        }
    }

    /// Handles the end of a message or a work at its host.
    pub(crate) fn ended(&mut self, request: u64, piece: u32, now: Instant, steps: &mut Vec<Step>) {
        let open = self.open.get(&request).expect("a request with a piece under way is open");
        let Piece { stage, from, .. } = open.graph.pieces[piece as usize];
        if let Action::Work { servers: Some(_), .. } = self.plan.stages[stage as usize].action {
            self.serve_next(stage as usize, from, now, steps);
        }
        self.follow(request, vec![piece], now, steps);
    }

    /// Handles a message that its sender has aborted: it ends nowhere, unless it arrives all the same.
    pub(crate) fn lost(&mut self, request: u64, piece: u32, steps: &mut Vec<Step>) {
        let open = self.open.get_mut(&request).expect("a request with a piece under way is open");
        if open.times[piece as usize].ended == Instant::MAX && open.lost.insert(piece) {
            self.count(request, -1);
            self.close_if_over(request, steps);
        }
    }

    /// Records that pieces have ended, and starts the pieces that follow.
    fn follow(&mut self, request: u64, mut ended: Vec<u32>, now: Instant, steps: &mut Vec<Step>) {
        let plan = self.plan.clone();
        let mut ready = Vec::new();
        while let Some(piece) = ended.pop() {
            let was_lost = self.open.get_mut(&request).is_some_and(|open| open.lost.remove(&piece));
            let open = self.count(request, -i64::from(!was_lost));
            open.times[piece as usize].ended = now;
            open.graph.ends(&plan, &mut open.progress, piece, |pieces| ready.push(pieces));
            ready.drain(..).for_each(|pieces| self.start(request, pieces, piece, now, &mut ended, steps));
        }
        self.close_if_over(request, steps);
    }

    /// Closes a request of which nothing is under way.
    fn close_if_over(&mut self, request: u64, steps: &mut Vec<Step>) {
        let over = |open: &Open| open.outstanding == 0;
        if self.partition.is_none() && self.open.get(&request).is_some_and(over) {
            let open = self.open.remove(&request).expect("it was found just now");
            steps.push(Step::Over { request, arrival: open.arrival, due: open.last_due() });
            self.close(request, open);
        }
    }

    /// Records the row of a request that is over.
    fn close(&mut self, number: u64, open: Open) {
        if !open.messages.is_empty() {
            self.by_message.remove(&open.first_message);
        }
        self.unsent.extend(open.unsent());
        for (members, loads) in open.members.iter().zip(&mut self.loads) {
            members.iter().for_each(|&host| _ = loads.find_mut(host).map(|load| *load = load.saturating_sub(1)));
        }
        let row = open.row(self.class, number, &self.plan, &self.rates, true);
        self.rows.insert(number, row);
    }

    /// Takes the messages of requests that are over which were not sent, and will not be.
    pub(crate) fn take_unsent(&mut self) -> Vec<MessageId> {
        std::mem::take(&mut self.unsent)
    }

    /// Takes the rows of requests that are over, up to the first that is not.
    pub(crate) fn take_rows(&mut self) -> Vec<RequestRow> {
        let mut taken = Vec::new();
        while let Some(row) = self.rows.remove(&self.next_row) {
            taken.push(row);
            self.next_row += 1;
        }
        taken
    }

    /// Ends the run; returns the rows that were not taken, of all partitions together.
    pub(crate) fn finish(mut all: Vec<Requests>) -> Vec<RequestRow> {
        let mut first = all.swap_remove(0);
        for other in all {
            for (own, theirs) in first.open.values_mut().zip(other.open.into_values()) {
                own.join(&theirs);
            }
        }
        let Requests { class, plan, rates, open, mut rows, .. } = first;
        rows.extend(open.into_iter().map(|(number, open)| {
            let over = open.outstanding == 0;
            (number, open.row(class, number, &plan, &rates, over))
        }));
        rows.into_values().collect()
    }

    /// Returns the requests that are open here, by their numbers.
    pub(crate) fn open(&self) -> impl Iterator<Item = (u64, OpenRequest)> {
        let open = |(&number, open): (&u64, &Open)| {
            let &Open { arrival, outstanding, .. } = open;
            (number, OpenRequest { arrival, due: open.last_due(), outstanding })
        };
        self.open.iter().map(open)
    }

    /// Returns the request of a message, and its piece of that.
    pub(crate) fn of_message(&self, id: MessageId) -> Option<(u64, u32)> {
        let (first, &number) = self.by_message.range(..=id).next_back()?;
        let piece = self.open[&number].messages.get((id.0 - first.0) as usize)?;
        Some((number, *piece))
    }

    /// Returns a message that is ready to be sent.
    pub(crate) fn sending(&self, request: u64, piece: u32) -> Sending {
        let open = &self.open[&request];
        let Piece { from, to, amount, .. } = open.graph.pieces[piece as usize];
        let offset = open.messages.binary_search(&piece).expect("it is a message to another host");
        let id = MessageId(open.first_message.0 + offset as u32);
        let told = open.told[piece as usize];
        Sending { id, from, to, bytes: Bytes(amount), due: Some(told).filter(|told| *told < Instant::MAX) }
    }
}

impl Open {
    /// Returns the messages that were not sent.
    fn unsent(&self) -> impl Iterator<Item = MessageId> {
        let unsent = |(piece, _): &(&u32, u32)| self.times[**piece as usize].began == Instant::MAX;
        // In this order: a request of works alone has no first message.
        self.messages.iter().zip(self.first_message.0..).filter(unsent).map(|(_, id)| MessageId(id))
    }

    /// Returns the time at which the last goal is due; [`Instant::MAX`] without one.
    fn last_due(&self) -> Instant {
        self.goals.iter().map(|goal| self.arrival.saturating_add(goal.within)).max().unwrap_or(Instant::MAX)
    }

    /// Adds what another partition knows of the same request.
    fn join(&mut self, other: &Open) {
        self.outstanding += other.outstanding;
        self.abandoned |= other.abandoned;
        for (own, theirs) in self.times.iter_mut().zip(&other.times) {
            own.ready = own.ready.min(theirs.ready);
            own.began = own.began.min(theirs.began);
            own.ended = own.ended.min(theirs.ended);
            own.after = own.after.min(theirs.after);
        }
    }
}

/// Returns whether a host is in this partition.
fn is_here(partition: &Option<(Arc<Partition>, u32)>, host: HostId) -> bool {
    partition.as_ref().is_none_or(|(partition, number)| partition.of_host[host] == *number)
}

/// Returns the number that identifies a piece of a request in its class.
pub(crate) fn ordinal(request: u64, piece: u32) -> u64 {
    request << 32 | u64::from(piece)
}

#[cfg(test)]
mod tests {
    use super::fixtures::{chain, drawn, role, send, work};
    use super::plan::Goal;
    use super::*;
    use crate::topology;
    use units::Allowed;

    /// A network in which each message takes a microsecond and occupies no link.
    struct Microsecond;

    impl Wire for Microsecond {
        fn alone(&mut self, _: u64, _: HostId, _: HostId, _: Bytes) -> (Span, Occupied) {
            (Span::from_micros(1), Occupied::default())
        }
        fn least(&mut self, _: HostId, _: HostId, _: Bytes) -> Span {
            Span::from_micros(1)
        }
    }

    /// Hosts 1 to 3 send to host 0 (pieces 0 to 2), which works for 10 us (3) and sends to host 4 (4). That works for 5 us
    /// (5).
    fn requests(goal: Option<Span>) -> Requests {
        let roles = vec![role(&[1, 2, 3], 3, Pick::Random), role(&[0], 1, Pick::Random), role(&[4], 1, Pick::Random)];
        let message = |from, to| send(from, to, drawn(1000.0), 1.0);
        of(chain(roles, [message(0, 1), work(1, drawn(10e6)), message(1, 2), work(2, drawn(5e6))]), goal)
    }

    /// With a goal nothing begins that cannot be in time for it.
    fn of(plan: Plan, goal: Option<Span>) -> Requests {
        let within = |goal: Span| Allowed::Time(drawn(goal.0 as f64));
        let goal = goal.map(|goal| Goal { name: String::new(), stage: None, within: within(goal) });
        let plan = Plan { abandons: goal.is_some(), goals: goal.into_iter().collect(), ..plan };
        let rates = (0..5).map(|_| Rate::from_gbps(1)).collect();
        Requests::new(ClassId(0), "requests", 1, Arc::new(plan), None, Arc::new(rates))
    }

    fn us(micros: u64) -> Instant {
        Instant::from_micros(micros)
    }

    /// Lets a request arrive at the beginning, whose messages have four successive numbers. Returns the steps it starts, and
    /// for each message whether its sender is in this partition.
    fn arrive(requests: &mut Requests) -> (Vec<Step>, Vec<bool>) {
        let (mut steps, mut here) = (Vec::new(), Vec::new());
        let first = requests.arrived as u32 * 4;
        let reserve = |is_here| {
            here.push(is_here);
            MessageId(first + here.len() as u32 - 1)
        };
        requests.arrive(us(0), &mut Microsecond, reserve, &mut steps);
        (steps, here)
    }

    fn under_way(requests: &Requests) -> Vec<(u64, i64)> {
        requests.open().map(|(number, open)| (number, open.outstanding)).collect()
    }

    fn sends(pieces: &[u32]) -> Vec<Step> {
        pieces.iter().map(|&piece| Step::Send { request: 0, piece }).collect()
    }

    /// The first message arrives before its sender gives it up, and the second one afterwards.
    #[test]
    fn aborted_messages_end_a_request_once_they_are_all_that_is_left() {
        let mut requests = requests(None);
        assert_eq!(arrive(&mut requests).0, sends(&[0, 1, 2]));
        let mut steps = Vec::new();
        requests.ended(0, 0, us(1), &mut steps);
        requests.lost(0, 0, &mut steps);
        assert_eq!(under_way(&requests), [(0, 2)]);
        (0..2).for_each(|_| requests.lost(0, 1, &mut steps));
        assert_eq!(under_way(&requests), [(0, 1)]);
        requests.ended(0, 1, us(2), &mut steps);
        assert_eq!((under_way(&requests), steps.len()), (vec![(0, 1)], 0));
        requests.lost(0, 2, &mut steps);
        assert_eq!(steps, [Step::Over { request: 0, arrival: us(0), due: Instant::MAX }]);
        assert!(under_way(&requests).is_empty());
        assert_eq!(requests.take_unsent(), [MessageId(3)]);
        assert_eq!(requests.of_message(MessageId(1)), None, "no request is open that it could be of");
        let rows = requests.take_rows();
        assert_eq!(rows.iter().map(|row| (row.over, row.end)).collect::<Vec<_>>(), [(true, None)]);
    }

    #[test]
    fn changes_are_reported_on_demand_and_once() {
        let mut requests = requests(None);
        arrive(&mut requests);
        assert_eq!(requests.take_changes(), BTreeMap::new());
        requests.report_changes();
        arrive(&mut requests);
        requests.ended(0, 1, us(1), &mut Vec::new());
        assert_eq!(requests.take_changes(), BTreeMap::from([(0, -1), (1, 3)]));
        assert_eq!(requests.take_changes(), BTreeMap::new());
    }

    #[test]
    fn rows_are_taken_in_the_order_of_arrival() {
        let mut requests = requests(None);
        let end =
            |requests: &mut Requests, number| (0..3).for_each(|piece| requests.lost(number, piece, &mut Vec::new()));
        let taken = |requests: &mut Requests| requests.take_rows().iter().map(|row| row.number).collect::<Vec<_>>();
        (0..3).for_each(|_| _ = arrive(&mut requests));
        end(&mut requests, 1);
        assert_eq!(taken(&mut requests), Vec::<u64>::new());
        end(&mut requests, 0);
        assert_eq!(taken(&mut requests), [0, 1]);
        end(&mut requests, 2);
        assert_eq!(taken(&mut requests), [2]);
    }

    /// Hosts 0 to 2 are at one switch, and 3 and 4 at another one.
    fn partitions(goal: Option<Span>) -> [Requests; 2] {
        let mut graph = topology::Graph::new(5);
        let switches = [(); 2].map(|()| graph.switch("switch", false));
        let (rate, delay) = (Rate::from_gbps(1), Span::from_micros(1));
        (0..5).for_each(|host| graph.join(host, switches[usize::from(host > 2)], rate, delay));
        graph.join(switches[0], switches[1], rate, delay);
        let partition = Arc::new(Partition::new(&graph, 2, |_| false).expect("there are two switches"));
        let number = |host| partition.of_host[HostId(host)];
        assert_ne!(number(0), number(4));
        [0, 4].map(|host| {
            let mut requests = requests(goal);
            requests.set_up_partition(partition.clone(), number(host));
            requests
        })
    }

    /// Returns both partitions when only the message of host 3 has arrived, and when host 0 sends its own, after 14 us.
    fn half_way(goal: Option<Span>) -> ([Requests; 2], [Requests; 2]) {
        let [early, late] = [(); 2].map(|()| {
            let [mut first, mut second] = partitions(goal);
            assert_eq!(arrive(&mut first), (sends(&[0, 1]), vec![true, true, false, true]));
            assert_eq!(arrive(&mut second), (sends(&[2]), vec![false, false, true, false]));
            first.ended(0, 2, us(3), &mut Vec::new());
            [first, second]
        });
        let [mut first, second] = late;
        let mut steps = Vec::new();
        [(0, 1), (1, 4), (3, 14)].into_iter().for_each(|(piece, at)| first.ended(0, piece, us(at), &mut steps));
        assert_eq!(steps, [Step::Work { request: 0, piece: 3, until: us(14) }, Step::Send { request: 0, piece: 4 }]);
        (early, [first, second])
    }

    /// The last of three messages arrives after 4 us, and the next one takes a microsecond.
    #[test]
    fn partitions_know_a_request_together() {
        let (early, late) = half_way(None);
        let row = |all: [Requests; 2]| Requests::finish(all.into()).pop().expect("there is a request");
        assert_eq!(early.each_ref().map(under_way), [[(0, 1)], [(0, 1)]]);
        assert!(!row(early).over);
        assert_eq!(late.each_ref().map(under_way), [[(0, 0)], [(0, 1)]]);
        assert!(!row(late).over);
        let [first, mut second] = half_way(None).1;
        let mut steps = Vec::new();
        [(4, 15), (5, 20)].into_iter().for_each(|(piece, at)| second.ended(0, piece, us(at), &mut steps));
        assert_eq!(steps, [Step::Work { request: 0, piece: 5, until: us(20) }]);
        let row = row([first, second]);
        assert_eq!((row.over, row.abandoned, row.end), (true, false, Some(us(20))));
        let stage = |(end, network, work)| {
            let [network, work] = [network, work].map(Span::from_micros);
            StageRow { end: Some(us(end)), network, work, waiting: Span::ZERO }
        };
        assert_eq!(row.stages, [(4, 4, 0), (14, 0, 10), (15, 1, 0), (20, 0, 5)].map(stage));
        assert_eq!(row.longest, Some(Leg { stage: 1, host: HostId(0), took: Span::from_micros(10) }));
    }

    /// The last work must begin after 15 us, and its message arrives after 16 us.
    #[test]
    fn request_is_abandoned_if_any_partition_abandons_it() {
        let [first, mut second] = half_way(Some(Span::from_micros(20))).1;
        second.ended(0, 4, us(16), &mut Vec::new());
        assert_eq!(under_way(&second), [(0, 0)]);
        let rows = Requests::finish(vec![first, second]);
        assert_eq!(rows.iter().map(|row| (row.over, row.abandoned)).collect::<Vec<_>>(), [(true, true)]);
    }

    /// A request that arrives after 100 us and has 20 us. Its message to host 4 needs 11 us before it and 5 us after it; the
    /// first three need 16 us after them.
    #[test]
    fn windows_are_from_the_earliest_start_to_the_latest_end() {
        let row = requests(Some(Span::from_micros(20))).ahead(0, us(100), &mut Microsecond);
        let windows = row.windows.iter().map(|window| (window.from.0, window.to.0, window.start, window.due));
        let first = |from| (from, 0, us(100), us(104));
        assert_eq!(windows.collect::<Vec<_>>(), [first(1), first(2), first(3), (0, 4, us(111), us(115))]);
        assert!(requests(None).ahead(0, us(100), &mut Microsecond).windows.is_empty());
    }

    /// Of four stages the first one has half of the time until the end of the second, and a third of that until the third.
    #[test]
    fn stages_before_a_goal_have_equal_shares_of_its_time() {
        let plan = requests(None).plan;
        assert_eq!(plan.shares(Some(1)), [0.5, 1.0, 1.0, 1.0]);
        assert_eq!(plan.shares(Some(2)), [1.0 / 3.0, 2.0 / 3.0, 1.0, 1.0]);
        assert_eq!(plan.shares(None), [0.25, 0.5, 0.75, 1.0]);
    }

    /// Works of 10 us at one of two hosts.
    fn works(pick: Pick, servers: Option<plan::Servers>, goal: Option<Span>) -> Requests {
        of(chain(vec![role(&[0, 1], 1, pick)], [Action::Work { at: 0, time: drawn(10e6), servers }]), goal)
    }

    /// Of four requests two are at each host. When the first has ended, at host 0, that takes two more before host 1 does.
    #[test]
    fn host_with_the_fewest_open_requests_is_picked() {
        let mut requests = works(Pick::LeastLoaded, None, None);
        let arrive = |requests: &mut Requests| {
            arrive(requests);
            requests.open[&(requests.arrived - 1)].members[0][0].0
        };
        assert_eq!([(); 4].map(|()| arrive(&mut requests)), [0, 1, 0, 1]);
        requests.ended(0, 0, us(10), &mut Vec::new());
        assert_eq!([(); 3].map(|()| arrive(&mut requests)), [0, 0, 1]);
    }

    /// The second work could begin after 10 us, and had to after 5 us.
    #[test]
    fn request_whose_queued_work_is_too_late_is_over_when_its_server_is_free() {
        let servers = plan::Servers { count: 1, by_deadline: false };
        let mut requests = works(Pick::RoundRobin, Some(servers), Some(Span::from_micros(15)));
        // Every other request is at host 0.
        (0..3).for_each(|_| _ = arrive(&mut requests));
        let mut steps = Vec::new();
        requests.ended(0, 0, us(10), &mut steps);
        let over = |request| Step::Over { request, arrival: us(0), due: us(15) };
        assert_eq!(steps, [over(2), over(0)]);
    }
}
