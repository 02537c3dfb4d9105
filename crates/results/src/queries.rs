//! Fan-in as the user of the service sees it: the quality of a query depends on all its answers.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use serde::Serialize;
use sim::outcome::{Message, Query as Announced};
use sim::{Outcome, traffic};
use units::{ClassId, Instant, Span};

use crate::book::RunStatistics;
use crate::statistics::{Both, FctUs};
use crate::values::{Values, digest};
use crate::verdict::Verdict;

/// Queries of `fan-in` classes.
///
/// A query enters when it was asked in the measured time, and all of its answers to the parent that asks are decided. An
/// answer that has not started is, when the query's deadline has passed: a parent in a tree never sends what it lacks.
/// In trees of several levels the answers of the leaves count: an answer to the root that arrives in time contains the
/// answers of its leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FanIn {
    /// The number of queries that entered.
    pub queries: u64,
    /// Share of them whose answers all arrived, in time where they have a deadline.
    pub complete_queries_percent: Option<f64>,
    /// Per query, the share of its answers that arrived, in time where they have a deadline.
    pub answers_in_time_percent: AnswersInTime,
    /// From the query to its last answer, in time or not. A query with an aborted answer is left out. One that still
    /// lacked an answer when the run ended had taken the time until then.
    pub query_us: FctUs,
}

/// Over the queries, the percentage of answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AnswersInTime {
    /// Arithmetic mean over the queries.
    pub mean: Option<f64>,
    /// 1st percentile: 99 % of queries do at least as well.
    pub p1: Option<f64>,
}

impl FanIn {
    /// Returns the queries of the classes that `class` picks; none where no picked class asks any.
    pub(crate) fn of(
        outcome: &Outcome,
        book: &RunStatistics,
        class: impl Fn(usize) -> bool,
    ) -> io::Result<Option<FanIn>> {
        let picked = |i: &usize| {
            class(*i) && traffic::find(outcome.classes[*i].pattern).is_some_and(|pattern| pattern.nature.queries)
        };
        let accounts: Vec<&Asked> = (0..outcome.classes.len()).filter(picked).map(|i| &book.classes[i].asked).collect();
        if accounts.is_empty() {
            return Ok(None);
        }
        let queries = accounts.iter().map(|asked| asked.queries).sum();
        let complete: u64 = accounts.iter().map(|asked| asked.complete).sum();
        let values = |which: fn(&Asked) -> &Values| accounts.iter().map(|asked| which(asked)).collect::<Vec<_>>();
        let aside = book.aside.as_ref();
        let shares = digest(&values(|asked| &asked.shares), &[], aside, [1.0])?;
        let took = Both { arrived: &values(|asked| &asked.took_us), censored: &values(|asked| &asked.censored_us) };
        Ok(Some(FanIn {
            queries,
            complete_queries_percent: (queries > 0).then(|| 100.0 * complete as f64 / queries as f64),
            answers_in_time_percent: AnswersInTime {
                mean: shares.and_then(|shares| shares.mean.exact()),
                p1: shares.and_then(|shares| shares.at[0].exact()),
            },
            query_us: FctUs::of(took, aside)?,
        }))
    }
}

/// The queries of one class that count.
#[derive(Default)]
pub(crate) struct Asked {
    /// Queries that enter the shares.
    queries: u64,
    /// Queries whose answers all arrived in time.
    complete: u64,
    /// The percentage of answers in time.
    pub(crate) shares: Values,
    /// Of queries to which every answer arrived: the time to the last.
    pub(crate) took_us: Values,
    /// Of queries that still lacked an answer when the run ended: the time until then.
    pub(crate) censored_us: Values,
}

impl Asked {
    /// Adds a query that counts, of a run that ended at `ended`, if it is over. Returns the number of values that were
    /// kept of it.
    pub(crate) fn add(&mut self, query: &Query, ended: Instant) -> usize {
        let enters = !query.undecided && query.is_over();
        if enters {
            self.queries += 1;
            self.complete += u64::from(query.is_met());
            self.shares.add(query.percent_in_time());
        }
        let kept = usize::from(enters);
        match query.took() {
            Some(took) => self.took_us.add(took.as_micros_f64()),
            None if query.aborted => return kept,
            None => self.censored_us.add(ended.saturating_sub(query.row.start).as_micros_f64()),
        }
        kept + 1
    }
}

/// A query with its answers so far.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// The query as it was announced.
    pub(crate) row: Announced,
    /// Answers that have started to the parent that asks, and how many of them have arrived.
    started: u32,
    arrived: u32,
    /// Answers of leaves that the parent that asks has received in time.
    pub(crate) in_time: u32,
    /// An answer was neither received nor late when the run was over.
    undecided: bool,
    /// An answer was aborted.
    aborted: bool,
    /// Its deadline had passed when the run ended, and some answers had not started.
    passed: bool,
    /// The time of the last answer's arrival.
    end: Instant,
}

impl Query {
    fn new(row: Announced) -> Query {
        Query {
            row,
            started: 0,
            arrived: 0,
            in_time: 0,
            undecided: false,
            aborted: false,
            passed: false,
            end: Instant::ZERO,
        }
    }

    fn add(&mut self, message: &Message, verdict: Verdict) {
        self.started += 1;
        self.undecided |= verdict == Verdict::Undecided;
        self.aborted |= message.aborted;
        if let Some(end) = message.end {
            self.arrived += 1;
            self.end = self.end.max(end);
        }
        if verdict == Verdict::Met || verdict == Verdict::NoDeadline && message.end.is_some() {
            self.in_time += message.place.map_or(1, |place| place.answers);
        }
    }

    /// Returns true if all answers to the parent that asks have started and are known, or the rest is too late. Any
    /// other query was still asking when the run ended.
    fn is_over(&self) -> bool {
        self.has_started() || self.passed
    }

    /// Returns true if all answers to the parent that asks have started.
    fn has_started(&self) -> bool {
        self.started == self.row.children
    }

    /// Returns true if it counts in a run where starts within `counted` count.
    pub(crate) fn counts(&self, counted: &Range<Instant>) -> bool {
        counted.contains(&self.row.start)
    }

    /// Returns true if it enters the shares of such a run.
    pub(crate) fn enters(&self, counted: &Range<Instant>) -> bool {
        self.counts(counted) && !self.undecided && self.is_over()
    }

    fn percent_in_time(&self) -> f64 {
        100.0 * f64::from(self.in_time) / f64::from(self.row.answers)
    }

    /// Returns true if every answer arrived in time.
    pub(crate) fn is_met(&self) -> bool {
        self.in_time == self.row.answers
    }

    /// Returns the time to the last answer, if all arrived.
    pub(crate) fn took(&self) -> Option<Span> {
        (self.arrived == self.started && self.has_started() && self.started > 0).then(|| self.end - self.row.start)
    }
}

/// The queries of a run, in order of their start, in blocks that are taken when all of their queries are over.
pub(crate) struct Queries {
    /// Number of queries in a block.
    each: usize,
    blocks: Vec<Block>,
    /// The places of queries that are not over.
    open: BTreeMap<(ClassId, u64), usize>,
}

/// Successive queries; empty when they were taken.
#[derive(Default)]
struct Block {
    queries: Vec<Query>,
    /// Number of queries that are not over.
    open: usize,
}

impl Queries {
    /// Returns a record without queries, with `each` in a block.
    pub(crate) fn new(each: usize) -> Queries {
        Queries { each, blocks: Vec::new(), open: BTreeMap::new() }
    }

    /// Adds a query that was asked.
    pub(crate) fn ask(&mut self, row: Announced) {
        if self.blocks.last().is_none_or(|last| last.queries.len() == self.each) {
            self.blocks.push(Block::default());
        }
        let number = self.blocks.len() - 1;
        let last = &mut self.blocks[number];
        self.open.insert((row.class, row.number), number * self.each + last.queries.len());
        last.queries.push(Query::new(row));
        last.open += 1;
    }

    /// Adds a message, which may be an answer. Returns the query if it was the last one.
    pub(crate) fn add(&mut self, message: &Message, verdict: Verdict) -> Option<Query> {
        let number = message.query.filter(|_| message.place.is_none_or(|place| place.level == 0))?;
        let place = *self.open.get(&(message.class, number))?;
        let block = &mut self.blocks[place / self.each];
        let query = &mut block.queries[place % self.each];
        query.add(message, verdict);
        query.is_over().then(|| {
            block.open -= 1;
            self.open.remove(&(message.class, number));
            *query
        })
    }

    /// Returns the queries that lack answers when the run ends at `ended`: none gets another.
    pub(crate) fn close(&mut self, ended: Instant) -> Vec<Query> {
        let open = std::mem::take(&mut self.open);
        let closed = |place: usize| {
            let query = &mut self.blocks[place / self.each].queries[place % self.each];
            query.passed = query.row.deadline.is_some_and(|allowed| query.row.start.saturating_add(allowed) <= ended);
            *query
        };
        open.into_values().map(closed).collect()
    }

    /// Takes full blocks of queries that are over, each with the place of its first.
    pub(crate) fn take_over(&mut self) -> Vec<(u64, Vec<Query>)> {
        let each = self.each;
        let over = |block: &Block| block.open == 0 && block.queries.len() == each;
        self.take(over)
    }

    /// Takes all queries that were not taken.
    pub(crate) fn take_all(&mut self) -> Vec<(u64, Vec<Query>)> {
        self.take(|block| !block.queries.is_empty())
    }

    fn take(&mut self, picked: impl Fn(&Block) -> bool) -> Vec<(u64, Vec<Query>)> {
        let blocks = self.blocks.iter_mut().zip((0..).step_by(self.each)).filter(|(block, _)| picked(block));
        blocks.map(|(block, first)| (first, std::mem::take(&mut block.queries))).collect()
    }

    /// Returns all queries that were not taken.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Query> {
        self.blocks.iter().flat_map(|block| &block.queries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at_ms, message, ms, outcome};

    /// Returns the figures of a run of 100 ms with a warm-up of 10 ms and one fan-in class.
    fn of(messages: Vec<Message>) -> FanIn {
        let run = outcome(&["fan-in"], messages);
        FanIn::of(&run, &RunStatistics::of(&run), |_| true).unwrap().unwrap()
    }

    #[test]
    fn a_query_is_complete_when_every_answer_is_in_time() {
        let answer = |query, end| message().query(query).start(at_ms(20)).deadline(ms(10)).end(at_ms(end)).build();
        let fan_in = of(vec![answer(1, 25), answer(1, 30), answer(2, 25), answer(2, 31)]);
        assert_eq!(fan_in.queries, 2);
        assert_eq!(fan_in.complete_queries_percent, Some(50.0));
        assert_eq!(fan_in.answers_in_time_percent.mean, Some(75.0));
        // Between 50 and 100 at rank 0.01.
        assert_eq!(fan_in.answers_in_time_percent.p1, Some(50.5));
    }

    #[test]
    fn without_deadlines_arriving_is_enough() {
        let (arrived, lost) = (message().query(1).start(at_ms(20)).end(at_ms(99)), message().query(2).start(at_ms(20)));
        let fan_in = of(vec![arrived.build(), lost.build()]);
        assert_eq!((fan_in.queries, fan_in.complete_queries_percent), (2, Some(50.0)));
    }

    #[test]
    fn queries_in_the_warm_up_undecided_or_cut_off_are_left_out() {
        let answer = |query, start| message().query(query).start(at_ms(start)).deadline(ms(10));
        let fan_in = of(vec![
            answer(1, 9).end(at_ms(12)).build(), // this one started in the warm-up, so query 1 is out
            answer(1, 11).end(at_ms(12)).build(),
            answer(2, 95).end(at_ms(97)).build(),
            answer(2, 95).build(),                // undecided: query 2 is out
            answer(3, 96).end(at_ms(97)).build(), // its other answer had not started by the end
        ]);
        assert_eq!(fan_in.queries, 0);
        assert_eq!(fan_in.complete_queries_percent, None);
        assert_eq!(fan_in.answers_in_time_percent, AnswersInTime { mean: None, p1: None });
    }

    #[test]
    fn a_query_that_lacks_an_answer_at_the_end_has_a_bound() {
        let answer = |query, start| message().query(query).start(at_ms(start));
        let whole = |query, start, end| [answer(query, start).end(at_ms(end)).build(); 2];
        let mut messages = [whole(1, 20, 25), whole(2, 30, 37), whole(3, 40, 49)].concat();
        let took = |messages: &[Message]| of(messages.to_vec()).query_us;
        assert_eq!((took(&messages).p50, took(&messages).max), (Some(7000.0), Some(9000.0)));
        // An aborted answer never arrives; one whose other answer has not started, or is in flight, will.
        messages.extend([answer(4, 50).end(at_ms(51)).build(), answer(4, 50).aborted().build()]);
        assert_eq!(took(&messages).max, Some(9000.0));
        messages.extend([answer(5, 60).end(at_ms(61)).build(), answer(5, 60).build()]);
        assert_eq!((took(&messages).p50, took(&messages).max), (Some(8000.0), None));
        assert_eq!(took(&messages).at_least.unwrap().max, Some(40_000.0));
        messages.push(answer(6, 70).end(at_ms(71)).build());
        // 5, 7, 9, at least 30 and at least 40 ms.
        let bounds = took(&messages).at_least.unwrap();
        assert_eq!((took(&messages).p50, bounds.mean, bounds.max), (Some(9000.0), Some(18_200.0), Some(40_000.0)));
    }

    #[test]
    fn in_several_levels_what_counts_is_what_reaches_the_root_in_time() {
        let answer = |node, level, answers, end| {
            let answer = message().query(1).place(node, level, answers).start(at_ms(20)).deadline(ms(10));
            answer.end(at_ms(end)).build()
        };
        let leaves = || (3..7).map(|node| answer(node, 1, 1, 24));
        let of = |first: Message, second| of(leaves().chain([first, second]).collect());
        let all = of(answer(1, 0, 2, 28), answer(2, 0, 2, 29));
        assert_eq!((all.queries, all.complete_queries_percent), (1, Some(100.0)));
        assert_eq!((all.query_us.max, all.answers_in_time_percent.mean), (Some(9000.0), Some(100.0)));
        // One parent did not get both of its leaves' answers, and the other's answer is late.
        let some = of(answer(1, 0, 1, 28), answer(2, 0, 2, 31));
        assert_eq!((some.complete_queries_percent, some.answers_in_time_percent.mean), (Some(0.0), Some(25.0)));
        assert_eq!(some.query_us.max, Some(11_000.0));
    }

    #[test]
    fn an_answer_that_never_starts_is_late_when_the_deadline_has_passed() {
        let answer =
            |node| message().query(1).place(node, 0, 2).start(at_ms(20)).deadline(ms(10)).end(at_ms(25)).build();
        let leaves = (3..7).map(|node| message().query(1).place(node, 1, 1).start(at_ms(20)).end(at_ms(24)).build());
        let mut run = outcome(&["fan-in"], leaves.chain([answer(1), answer(2)]).collect());
        run.messages.pop();
        let of = |run: &sim::Outcome| FanIn::of(run, &RunStatistics::of(run), |_| true).unwrap().unwrap();
        run.queries[0].deadline = Some(ms(90));
        assert_eq!(of(&run).queries, 0, "it is still asking when the run ends at 100 ms");
        run.queries[0].deadline = Some(ms(80));
        let both = of(&run);
        assert_eq!((both.queries, both.complete_queries_percent), (1, Some(0.0)));
        assert_eq!(both.answers_in_time_percent.mean, Some(50.0));
        assert_eq!((both.query_us.max, both.query_us.at_least.unwrap().max), (None, Some(80_000.0)));
    }

    #[test]
    fn blocks_of_queries_leave_when_all_of_theirs_is_known() {
        let answer = |query: u64| message().query(query).start(at_ms(20)).end(at_ms(25)).build();
        let run = outcome(&["fan-in"], (0..6).flat_map(|query| [answer(query), answer(query)]).collect());
        let mut queries = Queries::new(2);
        run.queries.iter().for_each(|row| queries.ask(*row));
        let mut add = |query: u64| queries.add(&answer(query), Verdict::NoDeadline).is_some();
        assert_eq!([2, 3, 2, 3, 0, 0, 1].map(&mut add), [false, false, true, true, false, true, false]);
        let places = |taken: Vec<(u64, Vec<Query>)>| {
            let numbers = |rows: Vec<Query>| rows.iter().map(|query| query.row.number).collect::<Vec<_>>();
            taken.into_iter().map(|(first, rows)| (first, numbers(rows))).collect::<Vec<_>>()
        };
        assert_eq!(places(queries.take_over()), [(2, vec![2, 3])], "query 1 lacks an answer");
        assert_eq!(places(queries.take_over()), []);
        assert!(queries.add(&answer(1), Verdict::NoDeadline).is_some());
        assert_eq!(places(queries.take_all()), [(0, vec![0, 1]), (4, vec![4, 5])]);
        assert_eq!(queries.iter().count(), 0);
    }

    #[test]
    fn other_patterns_have_no_queries() {
        let both = outcome(&["poisson", "fan-in"], vec![]);
        assert_eq!(FanIn::of(&both, &RunStatistics::of(&both), |class| class == 0).unwrap(), None);
        assert_eq!(FanIn::of(&both, &RunStatistics::of(&both), |_| true).unwrap().unwrap().queries, 0);
    }
}
