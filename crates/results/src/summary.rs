//! The figures of one class, or of all of them together.

use std::io;

use serde::Serialize;
use sim::Outcome;
use units::{Bytes, Span};

use crate::book::{ClassStatistics, RunStatistics};
use crate::queries::FanIn;
use crate::requests::RequestSummary;
use crate::statistics::{Both, DeadlineRatio, FctUs, Slowdown};
use crate::values::Values;

/// Counted are the messages that started in the measured time, after the warm-up. Their deadlines and completion times
/// are observed up to the end of the run, which may be extended for that. Goodput is of the measured time, for all
/// messages. A flow without end is an unfinished message.
///
/// Completion times, and their ratios to others, are of all messages but flows without end and aborted messages. A
/// message in progress when the run ended (`censored`) has taken at least the time until then. A percentile or mean
/// that depends on it is none, and `at_least` has its lower bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Counted messages: completed + unfinished.
    pub messages: u64,
    /// Messages whose last byte reached the receiver.
    pub completed: u64,
    /// Messages whose last byte did not.
    pub unfinished: u64,
    /// Unfinished ones of a size that had not been aborted when the run ended: their completion times are not known.
    pub censored: u64,
    /// Messages that have a deadline.
    pub with_deadline: u64,
    /// Completed too late, aborted, or unfinished when the deadline passed.
    pub missed: u64,
    /// Unfinished, with a deadline beyond the end of the run.
    pub undecided: u64,
    /// 100 x missed / (with_deadline - undecided).
    pub missed_percent: Option<f64>,
    /// Payload that reached receivers within the measured time, in order or not, each byte once; over that time.
    pub goodput_mbps: Option<f64>,
    /// The part of it that belongs to messages that met their deadline; none without deadlines.
    pub goodput_in_time_mbps: Option<f64>,
    /// From the start of a message to the arrival of its last byte.
    pub fct_us: FctUs,
    /// Completion time over the time on an empty network.
    pub slowdown: Slowdown,
    /// Completion time over allowed time, of messages with a deadline.
    pub deadline_ratio: DeadlineRatio,
    /// Figures of fan-in classes only.
    #[serde(flatten)]
    pub fan_in: Option<FanIn>,
    /// Requests of `stages` classes; left out without such classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSummary>,
}

impl Summary {
    /// Returns the summary over all classes.
    pub fn of_all(outcome: &Outcome, book: &RunStatistics) -> io::Result<Summary> {
        Summary::of(outcome, book, |_| true)
    }

    /// Returns the summary over one class, an index into [`Outcome::classes`].
    pub fn of_class(outcome: &Outcome, book: &RunStatistics, class: usize) -> io::Result<Summary> {
        Summary::of(outcome, book, |other| other == class)
    }

    /// Returns the summary over the classes of one set.
    pub fn of_set(outcome: &Outcome, book: &RunStatistics, set: &str) -> io::Result<Summary> {
        Summary::of(outcome, book, |class| outcome.classes[class].set.as_deref() == Some(set))
    }

    fn of(outcome: &Outcome, book: &RunStatistics, class: impl Fn(usize) -> bool) -> io::Result<Summary> {
        let picked: Vec<usize> = (0..outcome.classes.len()).filter(|i| class(*i)).collect();
        let accounts = || picked.iter().map(|i| &book.classes[*i]);
        let sum = |count: fn(&ClassStatistics) -> u64| accounts().map(count).sum::<u64>();
        let values = |which: fn(&ClassStatistics) -> &Values| accounts().map(which).collect::<Vec<_>>();
        let (messages, completed) = (sum(|account| account.messages), sum(|account| account.completed));
        let (with_deadline, missed) = (sum(|account| account.with_deadline), sum(|account| account.missed));
        let undecided = sum(|account| account.undecided);
        let decided = with_deadline - undecided;
        let aside = book.aside.as_ref();

        let plan_of = |i: &usize| Some((outcome.plans.get(*i)?.as_deref()?, &book.classes[*i].served));
        let served: Vec<_> = picked.iter().filter_map(plan_of).collect();
        let delivered = picked.iter().map(|i| outcome.classes[*i].delivered_bytes).sum();
        let in_time = accounts().map(|account| account.in_time).sum();
        Ok(Summary {
            messages,
            completed,
            unfinished: messages - completed,
            censored: sum(|account| account.censored.messages),
            with_deadline,
            missed,
            undecided,
            missed_percent: (decided > 0).then(|| 100.0 * missed as f64 / decided as f64),
            goodput_mbps: mbps_after_warm_up(delivered, outcome),
            goodput_in_time_mbps: mbps_after_warm_up(in_time, outcome).filter(|_| with_deadline > 0),
            fct_us: FctUs::of(
                Both {
                    arrived: &values(|account| &account.fct_us),
                    censored: &values(|account| &account.censored.fct_us),
                },
                aside,
            )?,
            slowdown: Slowdown::of(
                Both {
                    arrived: &values(|account| &account.slowdown),
                    censored: &values(|account| &account.censored.slowdown),
                },
                aside,
            )?,
            deadline_ratio: DeadlineRatio::of(
                Both {
                    arrived: &values(|account| &account.deadline_ratio),
                    censored: &values(|account| &account.censored.deadline_ratio),
                },
                aside,
            )?,
            fan_in: FanIn::of(outcome, book, class)?,
            requests: RequestSummary::of(outcome, &served, aside)?,
        })
    }
}

fn mbps_after_warm_up(bytes: Bytes, outcome: &Outcome) -> Option<f64> {
    mbps(bytes, outcome.simulated.saturating_sub(outcome.warm_up))
}

/// Returns the rate in Mbit/s, none over no time.
pub(crate) fn mbps(bytes: Bytes, time: Span) -> Option<f64> {
    (time > Span::ZERO).then(|| bytes.as_f64() * 8e6 / time.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at_ms, message, ms, outcome};

    fn all(outcome: &Outcome) -> Summary {
        Summary::of_all(outcome, &RunStatistics::of(outcome)).unwrap()
    }

    fn of_class(outcome: &Outcome, class: usize) -> Summary {
        Summary::of_class(outcome, &RunStatistics::of(outcome), class).unwrap()
    }

    #[test]
    fn every_message_is_counted_once() {
        let all = all(&outcome(
            &["poisson"],
            vec![
                message().start(at_ms(9)).end(at_ms(20)).deadline(ms(1)).build(), // in the warm-up: not counted
                message().bytes(None).build(),                                    // endless: unfinished
                message().end(at_ms(12)).deadline(ms(4)).build(),                 // met
                message().end(at_ms(20)).deadline(ms(4)).build(),                 // late
                message().deadline(ms(4)).build(),                                // unfinished, deadline passed
                message().deadline(ms(400)).build(),                              // undecided
                message().deadline(ms(400)).aborted().build(),                    // aborted
                message().end(at_ms(11)).build(),                                 // no deadline
            ],
        ));
        assert_eq!((all.messages, all.completed, all.unfinished), (7, 3, 4));
        assert_eq!((all.with_deadline, all.missed, all.undecided), (5, 3, 1));
        assert_eq!(all.missed_percent, Some(75.0));
    }

    #[test]
    fn nothing_to_report_is_null_and_not_zero() {
        let empty = all(&outcome(&["poisson"], vec![]));
        assert_eq!((empty.messages, empty.missed_percent, empty.goodput_in_time_mbps), (0, None, None));
        assert_eq!((empty.fct_us, empty.slowdown.p50, empty.deadline_ratio.p99), (FctUs::default(), None, None));
        assert_eq!(empty.goodput_mbps, Some(0.0));
        assert_eq!(empty.fan_in, None);
    }

    #[test]
    fn where_all_are_undecided_no_share_is_missed() {
        let all = all(&outcome(&["poisson"], vec![message().deadline(ms(400)).build()]));
        assert_eq!((all.with_deadline, all.undecided, all.missed_percent), (1, 1, None));
        assert_eq!(all.goodput_in_time_mbps, Some(0.0));
    }

    #[test]
    fn goodput_is_over_the_time_after_the_warm_up() {
        let mut run = outcome(&["poisson", "long"], vec![]);
        run.classes[0].delivered_bytes = Bytes(90_000); // 720 000 bit in 90 ms
        run.classes[1].delivered_bytes = Bytes(180_000);
        run.messages = vec![
            message().bytes(Some(9_000)).delivered(9_000).deadline(ms(5)).end(at_ms(12)).build(),
            message().bytes(Some(90_000)).delivered(90_000).deadline(ms(5)).end(at_ms(16)).build(), // too late
            message().bytes(Some(90_000)).delivered(90_000).end(at_ms(16)).build(),                 // no deadline
        ];
        assert_eq!(of_class(&run, 0).goodput_mbps, Some(8.0));
        assert_eq!(of_class(&run, 1).goodput_mbps, Some(16.0));
        assert_eq!(all(&run).goodput_mbps, Some(24.0));
        assert_eq!(of_class(&run, 0).goodput_in_time_mbps, Some(0.8));
        assert_eq!(of_class(&run, 1).goodput_in_time_mbps, None);
        run.warm_up = run.simulated;
        assert_eq!(all(&run).goodput_mbps, None);
    }

    #[test]
    fn in_time_counts_what_arrived_within_the_measured_time() {
        let mut run = outcome(&["poisson"], vec![]);
        run.classes[0].delivered_bytes = Bytes(7_000 + 2_000);
        run.ended = at_ms(120);
        run.messages = vec![
            // It started in the warm-up: it is not counted, and its bytes are.
            message().start(at_ms(9)).bytes(Some(9_000)).delivered(7_000).deadline(ms(5)).end(at_ms(12)).build(),
            // It met its deadline after the window had closed.
            message().start(at_ms(99)).bytes(Some(9_000)).delivered(2_000).deadline(ms(5)).end(at_ms(102)).build(),
        ];
        let all = all(&run);
        assert_eq!((all.messages, all.goodput_in_time_mbps), (1, Some(0.8)));
        assert_eq!(all.goodput_in_time_mbps, all.goodput_mbps);
    }

    #[test]
    fn times_and_ratios_know_what_was_under_way_at_the_end() {
        let run = outcome(
            &["poisson"],
            vec![
                message().end(at_ms(12)).deadline(ms(4)).build(), // 2 ms: twice the ideal, half of the allowed
                message().end(at_ms(14)).build(),                 // 4 ms, no deadline
                message().deadline(ms(4)).build(),                // in progress for 90 ms
                message().aborted().build(),                      // never arrives
                message().bytes(None).build(),                    // endless
            ],
        );
        let all = all(&run);
        assert_eq!((all.completed, all.unfinished, all.censored), (2, 3, 1));
        // 2, 4 and at least 90 ms.
        assert_eq!((all.fct_us.p50, all.fct_us.mean, all.fct_us.max), (Some(4000.0), None, None));
        let bounds = all.fct_us.at_least.unwrap();
        assert_eq!((bounds.p50, bounds.mean, bounds.max), (None, Some(32_000.0), Some(90_000.0)));
        assert_eq!((all.slowdown.p50, all.slowdown.p99), (Some(4.0), None));
        // Half of the allowed time, and at least 22.5 times of it.
        assert_eq!((all.deadline_ratio.p50, all.deadline_ratio.at_least.unwrap().p50), (None, Some(11.5)));
    }

    #[test]
    fn classes_are_told_apart() {
        let run = outcome(&["poisson", "poisson"], vec![message().class(1).end(at_ms(11)).build()]);
        assert_eq!(of_class(&run, 0).messages, 0);
        assert_eq!(of_class(&run, 1).completed, 1);
    }
}
