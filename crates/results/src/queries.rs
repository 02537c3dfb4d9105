//! Fan-in as the user of the service sees it: a query is as good as its answers together.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::Outcome;
use sim::outcome::Message;
use units::{ClassId, Instant, Span};

use crate::statistics::FctUs;
use crate::values::{Values, digest};
use crate::verdict::Verdict;

/// Queries of `fan-in` classes.
///
/// A query enters when it was asked in the measured time, and all of its answers to the parent that asks have
/// started and are decided.
/// In trees of several levels the answers of the leaves are what counts: those that the answers stand for
/// that reach the root in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FanIn {
    /// How many entered.
    pub queries: u64,
    /// Share of them whose answers all arrived, in time where they have a deadline.
    pub complete_queries_percent: Option<f64>,
    /// Per query, the share of its answers that did.
    pub answers_in_time_percent: AnswersInTime,
    /// Of those of them to which every answer came, in time or not: from the query to its last answer.
    pub query_us: FctUs,
}

/// Over the queries, the percentage of answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AnswersInTime {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// 1st percentile: 99 % of queries do at least as well.
    pub p1: Option<f64>,
}

impl FanIn {
    /// The queries of the classes that `class` picks; none where no picked class is fan-in.
    pub(crate) fn of(outcome: &Outcome, tallies: &Tallies, class: impl Fn(usize) -> bool) -> Option<FanIn> {
        let picked = |i: usize| class(i) && outcome.classes[i].pattern == "fan-in";
        if !(0..outcome.classes.len()).any(picked) {
            return None;
        }
        let all = outcome.queries.iter().filter(|query| picked(query.class.index()));
        let (mut queries, mut complete) = (0, 0);
        let (mut shares, mut took) = (Values::default(), Values::default());
        for query in all.map(|row| Query::new(row, tallies, outcome)).filter(|query| query.enters) {
            queries += 1;
            complete += u64::from(query.is_met());
            shares.add(query.percent_in_time());
            query.took().into_iter().for_each(|span| took.add(span.as_micros_f64()));
        }
        const IN_MEMORY: &str = "everything is in memory";
        let shares = digest(&[&shares], None, [1.0]).expect(IN_MEMORY);
        Some(FanIn {
            queries,
            complete_queries_percent: (queries > 0).then(|| 100.0 * complete as f64 / queries as f64),
            answers_in_time_percent: AnswersInTime {
                mean: shares.map(|shares| shares.mean),
                p1: shares.map(|shares| shares.at[0]),
            },
            query_us: FctUs::of(&[&took], None).expect(IN_MEMORY),
        })
    }
}

/// What came to the parents that ask, by query.
#[derive(Default)]
pub struct Tallies(BTreeMap<(ClassId, u64), Tally>);

/// The answers to one query.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// Answers that have started to the parent that asks, and how many of them have arrived.
    started: u32,
    arrived: u32,
    /// Answers of leaves that have come to the parent that asks, in time.
    in_time: u32,
    /// An answer was neither here nor late when the run was over.
    undecided: bool,
    /// The last answer's arrival.
    end: Instant,
}

impl Tallies {
    /// A message may be an answer.
    pub(crate) fn add(&mut self, message: &Message, verdict: Verdict) {
        let Some(query) = message.query.filter(|_| message.place.is_none_or(|place| place.level == 0)) else { return };
        let tally = self.0.entry((message.class, query)).or_default();
        tally.started += 1;
        tally.undecided |= verdict == Verdict::Undecided;
        if let Some(end) = message.end {
            tally.arrived += 1;
            tally.end = tally.end.max(end);
        }
        if verdict == Verdict::Met || verdict == Verdict::NoDeadline && message.end.is_some() {
            tally.in_time += message.place.map_or(1, |place| place.answers);
        }
    }
}

/// A query with what came of it.
pub(crate) struct Query<'a> {
    /// Its announcement.
    pub(crate) row: &'a sim::outcome::Query,
    tally: Tally,
    pub(crate) enters: bool,
}

impl Query<'_> {
    /// Of this row.
    pub(crate) fn new<'a>(row: &'a sim::outcome::Query, tallies: &Tallies, outcome: &Outcome) -> Query<'a> {
        let tally = tallies.0.get(&(row.class, row.number)).copied().unwrap_or_default();
        // One with fewer answers was still asking when the run ended.
        let enters = outcome.counts(row.start) && !tally.undecided && tally.started == row.children;
        Query { row, tally, enters }
    }

    /// Answers of leaves that have come to the parent that asks, in time.
    pub(crate) fn in_time(&self) -> u32 {
        self.tally.in_time
    }

    fn percent_in_time(&self) -> f64 {
        100.0 * f64::from(self.tally.in_time) / f64::from(self.row.answers)
    }

    /// Whether every answer came in time.
    pub(crate) fn is_met(&self) -> bool {
        self.tally.in_time == self.row.answers
    }

    /// The time to the last answer, where all came.
    pub(crate) fn took(&self) -> Option<Span> {
        let Tally { started, arrived, end, .. } = self.tally;
        (self.enters && arrived == started && started > 0).then(|| end - self.row.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Book;
    use crate::samples::{at_ms, message, ms, outcome};

    /// A run of 100 ms with a warm-up of 10 ms and one fan-in class.
    fn of(messages: Vec<Message>) -> FanIn {
        let run = outcome(&["fan-in"], messages);
        FanIn::of(&run, &Book::of(&run).tallies, |_| true).unwrap()
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
        // One parent did not wait for both of its leaves, and the other's answer is late.
        let some = of(answer(1, 0, 1, 28), answer(2, 0, 2, 31));
        assert_eq!((some.complete_queries_percent, some.answers_in_time_percent.mean), (Some(0.0), Some(25.0)));
        assert_eq!(some.query_us.max, Some(11_000.0));
    }

    #[test]
    fn other_patterns_have_no_queries() {
        let both = outcome(&["poisson", "fan-in"], vec![]);
        assert_eq!(FanIn::of(&both, &Tallies::default(), |class| class == 0), None);
        assert_eq!(FanIn::of(&both, &Tallies::default(), |_| true).unwrap().queries, 0);
    }
}
