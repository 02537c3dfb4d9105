//! The results of one request.

use units::{Bytes, ClassId, HostId, Instant, Rate, Span, Table};

use super::graph::Piece;
use super::plan::{Action, Plan};
use super::{NO_PIECE, Open, Times};

/// One request, with the times of its stages.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRow {
    /// Class of the request.
    pub class: ClassId,
    /// Its number in its class, in order of arrival.
    pub number: u64,
    /// Time of its arrival.
    pub arrival: Instant,
    /// The time that it takes alone in an empty network.
    pub alone: Span,
    /// Time at which all its stages had ended.
    pub end: Option<Instant>,
    /// Nothing of it was under way when the run ended.
    pub over: bool,
    /// Part of it did not start, as it could not be in time.
    pub abandoned: bool,
    /// Its stages, as they are written.
    pub stages: Vec<StageRow>,
    /// Its goals, in the order of the class's.
    pub goals: Vec<GoalRow>,
    /// The longest piece on the way to its end.
    pub longest: Option<Leg>,
    /// The windows of the messages without which some goal is missed.
    pub windows: Vec<Window>,
    /// Its messages and works, where the class keeps them (`pieces = true`).
    pub pieces: Vec<PieceRow>,
}

/// One message or work of a request. Times are none where it did not get so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieceRow {
    /// Index of its stage in [`RequestRow::stages`].
    pub stage: usize,
    /// The host that sends or works.
    pub from: HostId,
    /// The host that receives or works.
    pub to: HostId,
    /// All that it waits for had ended.
    pub ready: Option<Instant>,
    /// It was sent; for a work, it had a server.
    pub began: Option<Instant>,
    /// Time of its end.
    pub ended: Option<Instant>,
    /// The latest end with which every goal that depends on it can be reached.
    pub due: Option<Instant>,
    /// It is on the critical path to the end of the request.
    pub is_critical: bool,
}

/// The time in which any schedule must send a message for its request to reach its goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The host that sends it.
    pub from: HostId,
    /// The host that receives it.
    pub to: HostId,
    /// The size of the message.
    pub bytes: Bytes,
    /// No schedule can start it before.
    pub start: Instant,
    /// It must have arrived by then.
    pub due: Instant,
}

/// One stage of a request. The three spans are its parts of the way to the request's end: the last piece, the piece after
/// which that started, and so on to the arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageRow {
    /// Time at which it had ended at all hosts.
    pub end: Option<Instant>,
    /// Time in which messages were on the way.
    pub network: Span,
    /// Time in which hosts worked.
    pub work: Span,
    /// Time in which works waited for a server.
    pub waiting: Span,
}

/// A goal of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalRow {
    /// The allowed time from the arrival.
    pub within: Span,
    /// The time that it takes alone in an empty network.
    pub alone: Span,
    /// No schedule reaches it in less time.
    pub least: Span,
    /// Time at which it was reached, in time or not.
    pub reached: Option<Instant>,
}

/// A message or work, with the time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Index of its stage in [`RequestRow::stages`].
    pub stage: usize,
    /// The host that worked or sent; of a message to a host with a slower link that host, since it may have waited there.
    pub host: HostId,
    /// From when it could start to its end.
    pub took: Span,
}

impl Open {
    /// Returns the row of a request.
    pub(super) fn row(
        mut self,
        class: ClassId,
        number: u64,
        plan: &Plan,
        rates: &Table<HostId, Rate>,
        over: bool,
    ) -> RequestRow {
        let ended = |piece: usize| Some(self.times[piece].ended).filter(|at| *at < Instant::MAX);
        let ends = self.graph.stage_ends(ended);
        let mut stages = vec![StageRow::default(); plan.names.len()];
        let mut incomplete = vec![false; plan.names.len()];
        for (stage, end) in plan.stages.iter().zip(&ends) {
            let row = &mut stages[stage.written];
            row.end = row.end.max(end.map(|(at, _)| at));
            incomplete[stage.written] |= end.is_none();
        }
        stages.iter_mut().zip(&incomplete).filter(|(_, lacks)| **lacks).for_each(|(row, _)| row.end = None);
        let whole = || stages.iter().try_fold(self.arrival, |last, stage| Some(last.max(stage.end?)));
        let end = whole();
        let goals = plan.goals.iter().zip(&self.goals).map(|(goal, due)| GoalRow {
            within: due.within,
            alone: due.alone,
            least: due.least,
            reached: goal.stage.map_or(end, |stage| stages[stage].end),
        });
        let goals = goals.collect();
        let last = ends.iter().flatten().max().map_or(NO_PIECE, |&(_, piece)| piece);
        let longest = if end.is_some() { self.divide(plan, rates, last, &mut stages) } else { None };
        let (arrival, alone, abandoned) = (self.arrival, self.alone, self.abandoned);
        let pieces = self.piece_rows(plan, if end.is_some() { last } else { NO_PIECE });
        let windows = std::mem::take(&mut self.windows);
        RequestRow { class, number, arrival, alone, end, over, abandoned, stages, goals, longest, windows, pieces }
    }

    /// Returns the rows of the pieces, if the class keeps them. `last` is the piece that ended the request.
    fn piece_rows(&self, plan: &Plan, last: u32) -> Vec<PieceRow> {
        if !plan.keeps_pieces {
            return Vec::new();
        }
        let known = |at: Instant| Some(at).filter(|at| *at < Instant::MAX);
        let row = |((piece, times), due): ((&Piece, &Times), &Option<Instant>)| PieceRow {
            stage: plan.stages[piece.stage as usize].written,
            from: piece.from,
            to: piece.to,
            ready: known(times.ready),
            began: known(times.began),
            ended: known(times.ended),
            due: *due,
            is_critical: false,
        };
        let mut rows: Vec<PieceRow> =
            self.graph.pieces.iter().zip(&self.times).zip(&self.latest_ends).map(row).collect();
        let mut piece = last;
        while piece != NO_PIECE {
            rows[piece as usize].is_critical = true;
            piece = self.times[piece as usize].after;
        }
        rows
    }

    /// Divides the time until a piece's end among the stages on the way to it; returns the longest piece there.
    fn divide(&self, plan: &Plan, rates: &Table<HostId, Rate>, last: u32, stages: &mut [StageRow]) -> Option<Leg> {
        let mut longest: Option<Leg> = None;
        let mut piece = last;
        while piece != NO_PIECE {
            let Times { ready, began, ended, after } = self.times[piece as usize];
            let of = &self.graph.pieces[piece as usize];
            let stage = &plan.stages[of.stage as usize];
            let row = &mut stages[stage.written];
            match stage.action {
                Action::Send { .. } => row.network += ended - began,
                Action::Work { .. } => row.work += ended - began,
            }
            row.waiting += began - ready;
            let host = if rates[of.to] < rates[of.from] { of.to } else { of.from };
            let leg = Leg { stage: stage.written, host, took: ended - ready };
            if longest.is_none_or(|longest| longest.took < leg.took) {
                longest = Some(leg);
            }
            piece = after;
        }
        longest
    }
}
