//! The minimum of deadlines that any schedule of a run's messages misses, and of requests that miss a goal, beside the
//! run's own misses.

use std::io;

use bound::Bound;
use serde::Serialize;
use sim::{Outcome, Scenario};

use crate::book::RunStatistics;
use crate::by_name::by_name;
use crate::report::Report;
use crate::summary::Summary;

/// The limits of a run and of its classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// The limit of all classes together.
    #[serde(flatten)]
    pub all: Limit,
    /// The limit of each class as if there were no other, in the scenario's order; they need not add up.
    #[serde(serialize_with = "by_name")]
    pub classes: Vec<(String, Option<Limit>)>,
}

/// A lower bound on the deadlines that a schedule misses, or on the requests that miss a goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The number of messages, or of requests.
    pub missed: u64,
    /// 100 x missed / with_deadline, or / with_goals: a share of all that count, since another schedule may decide
    /// what a run left undecided.
    pub missed_percent: f64,
    /// The links that it is derived from: "receivers", "senders", "both" of these, "network" (links between switches),
    /// or "several" (these and others); none where nothing must be missed.
    pub side: Option<&'static str>,
    /// "exact": a schedule of the whole network was found that misses no more; "lower bound": none was found.
    pub method: &'static str,
    /// The reason why none was found; none where one was.
    pub reason: Option<&'static str>,
}

/// The output of `duetime bound --json`: the bounds of a run that is not simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foresight {
    /// The title of the scenario.
    pub title: String,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The bound of messages, as in the run's report, but without messages of requests.
    pub bound: Option<Limits>,
    /// The bound of requests, with that of each class as if there were no other; none without goals.
    pub requests: Option<Limits>,
    /// The classes whose requests have goals and depend on the run, each with the reason: none of `requests` counts
    /// them.
    #[serde(serialize_with = "by_name")]
    pub depends_on_run: Vec<(String, &'static str)>,
}

impl Limits {
    /// Returns the limits of the messages of a run; none without deadlines.
    pub(crate) fn of(outcome: &Outcome, book: &mut RunStatistics) -> io::Result<Option<Limits>> {
        let bounds = book.bounded.bounds(outcome, book.aside.as_mut())?;
        Ok(Limits::from_bounds(&bounds, outcome.classes.iter().map(|class| class.name.clone())))
    }

    /// Returns the limits from the bounds of classes with these names.
    fn from_bounds(bounds: &bound::Bounds, names: impl Iterator<Item = String>) -> Option<Limits> {
        let classes = names.zip(&bounds.classes).map(|(name, bound)| (name, bound.as_ref().map(Limit::new)));
        Some(Limits { all: Limit::new(bounds.all.as_ref()?), classes: classes.collect() })
    }

    /// Panics if the run missed fewer; `classes` are in the scenario's order.
    pub(crate) fn check<'a>(&self, all: &Summary, classes: impl Iterator<Item = &'a Summary>, transport: &str) {
        assert!(
            self.all.missed <= all.missed,
            "{transport} missed {} deadlines, and no schedule can miss fewer than {}",
            all.missed,
            self.all.missed
        );
        for ((name, limit), class) in self.classes.iter().zip(classes) {
            let (least, missed) = (limit.as_ref().map_or(0, |limit| limit.missed), class.missed);
            assert!(
                least <= missed,
                "{transport} missed {missed} deadlines of class {name}, and no schedule can miss fewer than {least}"
            );
        }
    }
}

/// Puts the limits of a run's requests into the summaries of all and of each class.
///
/// # Panics
/// If the run missed fewer.
pub(crate) fn of_requests(outcome: &Outcome, book: &mut RunStatistics, report: &mut Report) -> io::Result<()> {
    let bounds = book.bounded_requests.bounds(outcome, book.aside.as_mut())?;
    let put = |summary: &mut Summary, bound: &Option<Bound>, of: &str| {
        let Some((requests, bound)) = summary.requests.as_mut().zip(bound.as_ref()) else { return };
        let (transport, missed, least) = (&outcome.transport, requests.missed, bound.missed);
        assert!(
            least <= missed,
            "{transport} missed a goal of {missed} requests{of}, and no schedule can miss one of fewer than {least}"
        );
        requests.bound = Some(Limit::new(bound));
    };
    put(&mut report.summary, &bounds.all, "");
    for ((name, class), bound) in report.classes.iter_mut().zip(&bounds.classes) {
        put(&mut class.summary, bound, &format!(" of class {name}"));
    }
    Ok(())
}

impl Foresight {
    /// Returns the bounds of a scenario.
    pub fn of(scenario: Scenario) -> Foresight {
        let (title, seed) = (scenario.title.clone(), scenario.run.seed);
        let names: Vec<String> = scenario.classes.iter().map(|class| class.name.clone()).collect();
        let bound = Limits::from_bounds(&bound::of_scenario(&scenario), names.iter().cloned());
        let bound::requests::Foreseen { bounds, unknown } = bound::requests::of_scenario(scenario);
        let depends_on_run = unknown.into_iter().map(|(class, why)| (names[class.index()].clone(), why)).collect();
        Foresight { title, seed, bound, requests: Limits::from_bounds(&bounds, names.into_iter()), depends_on_run }
    }

    /// Returns one JSON object on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain numbers and text always become JSON")
    }
}

impl Limit {
    fn new(bound: &Bound) -> Limit {
        Limit {
            missed: bound.missed,
            missed_percent: 100.0 * bound.missed as f64 / bound.with_deadline as f64,
            side: (bound.missed > 0).then(|| bound.side.name()),
            method: if bound.gap.is_none() { "exact" } else { "lower bound" },
            reason: bound.gap.map(bound::Gap::words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;
    use crate::samples::{at_ms, message, outcome, plan, request, served};
    use units::{Instant, Span};

    /// Three messages of 1000 B (83 ns each at 100 Gbps) that are due after `deadline`.
    fn burst(deadline: Span, end: Option<Instant>) -> Outcome {
        let one = message().deadline(deadline);
        outcome(&["poisson", "long"], vec![end.map_or(one, |end| one.end(end)).build(); 3])
    }

    #[test]
    fn the_bound_stands_beside_what_was_missed() {
        let report = Report::new(&burst(Span::from_nanos(260), None), 0.0);
        assert_eq!(report.summary.missed, 3);
        let limits = report.bound.unwrap();
        let one =
            Limit { missed: 1, missed_percent: 100.0 / 3.0, side: Some("receivers"), method: "exact", reason: None };
        assert_eq!(
            limits,
            Limits { all: one.clone(), classes: vec![("class 0".into(), Some(one)), ("class 1".into(), None)] }
        );
        let text = r#"{"missed":1,"missed_percent":33.333333333333336,"side":"receivers","method":"exact","reason":null,"classes":{"class 0":{"#;
        let json = serde_json::to_string(&limits).unwrap();
        assert!(json.starts_with(text), "{json}");
    }

    #[test]
    fn without_deadlines_there_is_none() {
        assert_eq!(Report::new(&outcome(&["poisson"], vec![message().build()]), 0.0).bound, None);
    }

    /// Three requests of a message each, as in [`burst`], of which all but `late` end in time.
    fn asked(late: u64) -> Outcome {
        let row = |number| {
            let (arrival, within) = (at_ms(20), Span::from_nanos(260));
            let end = arrival + if number < late { Span::from_millis(1) } else { within };
            request(number, arrival).goal(within, Some(end)).end(end).window(arrival + within)
        };
        let mut rows: Vec<_> = (0..3).map(|number| row(number).build()).collect();
        rows.iter_mut().for_each(|row| row.goals[0].least = Span::from_nanos(170));
        served(&[Some(plan(&[("deadline", None)])), Some(plan(&[]))], rows)
    }

    #[test]
    fn the_bound_of_requests_stands_beside_the_requests_that_missed() {
        let report = Report::new(&asked(2), 0.0);
        let requests = report.summary.requests.as_ref().unwrap();
        assert_eq!((requests.missed, requests.with_goals), (2, 3));
        let limit =
            Limit { missed: 1, missed_percent: 100.0 / 3.0, side: Some("receivers"), method: "exact", reason: None };
        assert_eq!(requests.bound.as_ref(), Some(&limit));
        let of_class = |class: usize| report.classes[class].1.summary.requests.as_ref().unwrap().bound.clone();
        assert_eq!((of_class(0), of_class(1)), (Some(limit), None));
        assert_eq!(report.bound, None, "it is no bound of messages");
    }

    #[test]
    #[should_panic(expected = "dctcp missed a goal of 0 requests, and no schedule can miss one of fewer than 1")]
    fn a_run_with_more_requests_in_time_than_possible_is_a_bug() {
        Report::new(&asked(0), 0.0);
    }

    #[test]
    #[should_panic(expected = "dctcp missed 0 deadlines, and no schedule can miss fewer than 1")]
    fn a_run_that_is_better_than_possible_is_a_bug() {
        Report::new(&burst(Span::from_nanos(260), Some(at_ms(10))), 0.0);
    }
}
