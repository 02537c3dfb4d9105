//! Fan-in as the user of the service sees it: a query is as good as its answers together.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::Outcome;
use sim::outcome::Message;

use crate::statistics::{mean, percentile};
use crate::verdict::{Verdict, counted, verdict};

/// Queries of `fan-in` classes.
///
/// A query enters when all of its answers have started, are counted and are decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FanIn {
    /// How many entered.
    pub queries: u64,
    /// Share of them whose answers all arrived, in time where they have a deadline.
    pub complete_queries_percent: Option<f64>,
    /// Per query, the share of its answers that did.
    pub answers_in_time_percent: AnswersInTime,
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
        let mut shares: Vec<f64> =
            Query::all(outcome, picked).iter().filter(|query| query.enters).map(Query::percent_in_time).collect();
        shares.sort_by(f64::total_cmp);
        let complete = shares.iter().filter(|share| **share == 100.0).count();
        Some(FanIn {
            queries: shares.len() as u64,
            complete_queries_percent: (!shares.is_empty()).then(|| 100.0 * complete as f64 / shares.len() as f64),
            answers_in_time_percent: AnswersInTime { mean: mean(&shares), p1: percentile(&shares, 1.0) },
        })
    }
}

struct Query {
    answers: u64,
    in_time: u64,
    enters: bool,
}

impl Query {
    fn all(outcome: &Outcome, class: impl Fn(usize) -> bool) -> Vec<Query> {
        let mut queries: BTreeMap<(u32, u64), Query> = BTreeMap::new();
        for message in outcome.messages.iter().filter(|message| class(message.class as usize)) {
            if let Some(number) = message.query {
                let query = queries.entry((message.class, number)).or_insert(Query::new());
                query.add(message, outcome);
            }
        }
        // Every query of a class has as many answers; one with fewer was still asking when the run ended.
        let mut leaves: BTreeMap<u32, u64> = BTreeMap::new();
        for ((class, _), query) in &queries {
            let most = leaves.entry(*class).or_default();
            *most = query.answers.max(*most);
        }
        for ((class, _), query) in &mut queries {
            query.enters &= query.answers == leaves[class];
        }
        queries.into_values().collect()
    }

    fn new() -> Query {
        Query { answers: 0, in_time: 0, enters: true }
    }

    fn add(&mut self, message: &Message, outcome: &Outcome) {
        let verdict = verdict(message, outcome.simulated);
        let arrived = message.end.is_some();
        self.answers += 1;
        self.in_time += u64::from(verdict == Verdict::Met || verdict == Verdict::NoDeadline && arrived);
        self.enters &= counted(message, outcome) && verdict != Verdict::Undecided;
    }

    fn percent_in_time(&self) -> f64 {
        100.0 * self.in_time as f64 / self.answers as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{message, ms, outcome};

    /// A run of 100 ms with a warm-up of 10 ms and one fan-in class.
    fn of(messages: Vec<Message>) -> FanIn {
        FanIn::of(&outcome(&["fan-in"], messages), |_| true).unwrap()
    }

    #[test]
    fn a_query_is_complete_when_every_answer_is_in_time() {
        let answer = |query, end| message().query(query).start(ms(20)).deadline(ms(10)).end(ms(end)).build();
        let fan_in = of(vec![answer(1, 25), answer(1, 30), answer(2, 25), answer(2, 31)]);
        assert_eq!(fan_in.queries, 2);
        assert_eq!(fan_in.complete_queries_percent, Some(50.0));
        assert_eq!(fan_in.answers_in_time_percent.mean, Some(75.0));
        // Between 50 and 100 at rank 0.01.
        assert_eq!(fan_in.answers_in_time_percent.p1, Some(50.5));
    }

    #[test]
    fn without_deadlines_arriving_is_enough() {
        let (arrived, lost) = (message().query(1).start(ms(20)).end(ms(99)), message().query(2).start(ms(20)));
        let fan_in = of(vec![arrived.build(), lost.build()]);
        assert_eq!((fan_in.queries, fan_in.complete_queries_percent), (2, Some(50.0)));
    }

    #[test]
    fn queries_in_the_warm_up_undecided_or_cut_off_are_left_out() {
        let answer = |query, start| message().query(query).start(ms(start)).deadline(ms(10));
        let fan_in = of(vec![
            answer(1, 9).end(ms(12)).build(), // this one started in the warm-up, so query 1 is out
            answer(1, 11).end(ms(12)).build(),
            answer(2, 95).end(ms(97)).build(),
            answer(2, 95).build(),             // undecided: query 2 is out
            answer(3, 96).end(ms(97)).build(), // its other answer had not started by the end
        ]);
        assert_eq!(fan_in.queries, 0);
        assert_eq!(fan_in.complete_queries_percent, None);
        assert_eq!(fan_in.answers_in_time_percent, AnswersInTime { mean: None, p1: None });
    }

    #[test]
    fn other_patterns_have_no_queries() {
        let both = outcome(&["poisson", "fan-in"], vec![]);
        assert_eq!(FanIn::of(&both, |class| class == 0), None);
        assert_eq!(FanIn::of(&both, |_| true).unwrap().queries, 0);
    }
}
