//! Fan-in as the user of the service sees it: a query is as good as its answers together.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::Outcome;
use sim::outcome::Message;
use units::{ClassId, Instant, Span};

use crate::statistics::{FctUs, mean, percentile};
use crate::verdict::{Verdict, verdict};

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
    pub(crate) fn of(outcome: &Outcome, class: impl Fn(usize) -> bool) -> Option<FanIn> {
        let picked = |i: usize| class(i) && outcome.classes[i].pattern == "fan-in";
        if !(0..outcome.classes.len()).any(picked) {
            return None;
        }
        let queries: Vec<Query> = Query::all(outcome, picked).into_iter().filter(|query| query.enters).collect();
        let mut shares: Vec<f64> = queries.iter().map(Query::percent_in_time).collect();
        shares.sort_by(f64::total_cmp);
        let complete = queries.iter().filter(|query| query.is_met()).count();
        let us = |query: &Query| query.took(outcome).map(Span::as_micros_f64);
        Some(FanIn {
            queries: shares.len() as u64,
            complete_queries_percent: (!shares.is_empty()).then(|| 100.0 * complete as f64 / shares.len() as f64),
            answers_in_time_percent: AnswersInTime { mean: mean(&shares), p1: percentile(&shares, 1.0) },
            query_us: FctUs::of(queries.iter().filter_map(us).collect()),
        })
    }
}

/// A query with what came of it.
pub(crate) struct Query {
    /// Index into [`Outcome::queries`].
    row: usize,
    /// Answers that have started to the parent that asks, and how many of them have arrived.
    started: u32,
    arrived: u32,
    /// Answers of leaves that have come to the parent that asks, in time.
    pub(crate) in_time: u32,
    /// All of them that are to come, in one level or several.
    answers: u32,
    /// The last answer's arrival.
    end: Instant,
    pub(crate) enters: bool,
}

impl Query {
    /// The queries of some classes, in the order of their start.
    pub(crate) fn all(outcome: &Outcome, class: impl Fn(usize) -> bool) -> Vec<Query> {
        let rows = outcome.queries.iter().enumerate().filter(|(_, query)| class(query.class.index()));
        let mut queries: Vec<Query> =
            rows.map(|(row, query)| Query::new(row, query.answers, outcome.counts(query.start))).collect();
        let of = |query: &Query| (outcome.queries[query.row].class, outcome.queries[query.row].number);
        let places: BTreeMap<(ClassId, u64), usize> = queries.iter().map(of).zip(0..).collect();
        for message in outcome.messages.iter().filter(|message| class(message.class.index())) {
            if let Some(&place) = message.query.and_then(|number| places.get(&(message.class, number))) {
                queries[place].add(message, outcome);
            }
        }
        // One with fewer was still asking when the run ended.
        for query in &mut queries {
            query.enters &= query.started == query.of(outcome).children;
        }
        queries
    }

    fn new(row: usize, answers: u32, enters: bool) -> Query {
        Query { row, started: 0, arrived: 0, in_time: 0, answers, end: Instant::ZERO, enters }
    }

    fn add(&mut self, message: &Message, outcome: &Outcome) {
        if message.place.is_some_and(|place| place.level > 0) {
            return;
        }
        let verdict = verdict(message, outcome.ended);
        self.started += 1;
        self.enters &= verdict != Verdict::Undecided;
        if let Some(end) = message.end {
            self.arrived += 1;
            self.end = self.end.max(end);
        }
        if verdict == Verdict::Met || verdict == Verdict::NoDeadline && message.end.is_some() {
            self.in_time += message.place.map_or(1, |place| place.answers);
        }
    }

    fn percent_in_time(&self) -> f64 {
        100.0 * f64::from(self.in_time) / f64::from(self.answers)
    }

    /// Whether every answer came in time.
    pub(crate) fn is_met(&self) -> bool {
        self.in_time == self.answers
    }

    /// The row of its announcement.
    pub(crate) fn of<'a>(&self, outcome: &'a Outcome) -> &'a sim::outcome::Query {
        &outcome.queries[self.row]
    }

    /// The time to the last answer, where all came.
    pub(crate) fn took(&self, outcome: &Outcome) -> Option<Span> {
        let all = self.enters && self.arrived == self.started && self.started > 0;
        all.then(|| self.end - self.of(outcome).start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at_ms, message, ms, outcome};

    /// A run of 100 ms with a warm-up of 10 ms and one fan-in class.
    fn of(messages: Vec<Message>) -> FanIn {
        FanIn::of(&outcome(&["fan-in"], messages), |_| true).unwrap()
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
        assert_eq!(FanIn::of(&both, |class| class == 0), None);
        assert_eq!(FanIn::of(&both, |_| true).unwrap().queries, 0);
    }
}
