//! The minimum of deadlines that any schedule of a run's messages misses, beside the run's own misses.

use std::io;

use bound::Bound;
use serde::Serialize;
use sim::{Outcome, Scenario};

use crate::book::RunStatistics;
use crate::by_name::by_name;
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

/// A lower bound on the deadlines that a schedule misses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The number of messages.
    pub missed: u64,
    /// 100 x missed / with_deadline: a share of all counted messages, since another schedule may decide messages that a
    /// run left undecided.
    pub missed_percent: f64,
    /// The links that it is derived from: "receivers", "senders", "both" of these, "network" (links between switches),
    /// or "several" (these and others); none where nothing must be missed.
    pub side: Option<&'static str>,
    /// "exact": a schedule of the whole network was found that misses no more; "lower bound": none was found.
    pub method: &'static str,
    /// The reason why none was found; none where one was.
    pub reason: Option<&'static str>,
}

/// The output of `duetime bound --json`: the bound of a run that is not simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foresight {
    /// The title of the scenario.
    pub title: String,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The bound, as in the run's report.
    pub bound: Option<Limits>,
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

impl Foresight {
    /// Returns the bound of a scenario.
    pub fn of(scenario: Scenario) -> Foresight {
        let (title, seed) = (scenario.title.clone(), scenario.run.seed);
        let names: Vec<String> = scenario.classes.iter().map(|class| class.name.clone()).collect();
        let bounds = bound::of_scenario(scenario);
        Foresight { title, seed, bound: Limits::from_bounds(&bounds, names.into_iter()) }
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
    use crate::samples::{at_ms, message, outcome};
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

    #[test]
    #[should_panic(expected = "dctcp missed 0 deadlines, and no schedule can miss fewer than 1")]
    fn a_run_that_is_better_than_possible_is_a_bug() {
        Report::new(&burst(Span::from_nanos(260), Some(at_ms(10))), 0.0);
    }
}
