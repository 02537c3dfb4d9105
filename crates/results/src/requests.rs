//! Requests of several stages: the goals that they reach, their times, and the stages and hosts that took the time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use aside::Aside;
use serde::Serialize;
use sim::Outcome;
use sim::outcome::{Plan, RequestRow, StageRow};
use units::{HostId, Instant, Span};

use crate::by_name::by_name;
use crate::limit::Limit;
use crate::statistics::{Both, RequestUs, Slowdown};
use crate::values::Values;
use crate::verdict::{Verdict, goal_verdict};

/// Maximum number of hosts in [`RequestSummary::stragglers`].
const STRAGGLERS: usize = 3;

/// Requests of `stages` classes that arrived in the measured time.
///
/// Times and shares of stages are of requests that ended. The time of a request is the sum of the pieces on the way
/// to its end. These are the last piece, the piece after which that started, and so on to the arrival.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestSummary {
    /// Number of counted requests.
    pub number: u64,
    /// Requests of which all stages ended.
    pub finished: u64,
    /// Requests of which a part did not start, as it could not be in time (`late = "abandon"`).
    pub abandoned: u64,
    /// Requests in progress when the run ended: their times are not known.
    pub censored: u64,
    /// Requests that have a goal.
    pub with_goals: u64,
    /// Requests that did not reach a goal of theirs in time.
    pub missed: u64,
    /// Requests in progress that may still have reached all their goals in time.
    pub undecided: u64,
    /// Each goal by its name.
    #[serde(serialize_with = "by_name")]
    pub goals: Vec<(String, GoalSummary)>,
    /// 100 x (with_goals - undecided - missed) / (with_goals - undecided): the requests that reached every goal of
    /// theirs in time.
    pub all_goals_percent: Option<f64>,
    /// Finished requests per second of measured time.
    pub finished_per_s: Option<f64>,
    /// Requests that reached every goal of theirs in time, per second of measured time; none without goals.
    pub goodput_per_s: Option<f64>,
    /// From the arrival of a request to the end of its last stage.
    pub time_us: RequestUs,
    /// This time over the time that the request takes alone in an empty network.
    pub slowdown: Slowdown,
    /// Each stage by its name.
    #[serde(serialize_with = "by_name")]
    pub stages: Vec<(String, StageShare)>,
    /// The hosts with the longest piece of the most requests, up to three.
    pub stragglers: Vec<Straggler>,
    /// The minimum of requests that miss a goal under any schedule of the same requests; none without goals, and of
    /// sets.
    pub bound: Option<Limit>,
}

/// A goal, over the requests that have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GoalSummary {
    /// Requests of which it is known whether they reached it in time.
    pub judged: u64,
    /// Of these, the requests that did not.
    pub missed: u64,
    /// Requests in progress whose time for it had not passed when the run ended.
    pub undecided: u64,
    /// 100 x (judged - missed) / judged.
    pub attainment_percent: Option<f64>,
}

/// The part of the requests' time that one stage took, in percent of the time of all stages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageShare {
    /// The sum of the three.
    pub share_percent: Option<f64>,
    /// Part in which messages were sent.
    pub network_percent: Option<f64>,
    /// Part in which hosts worked.
    pub work_percent: Option<f64>,
    /// Works that waited for a server.
    pub waiting_percent: Option<f64>,
}

/// A host, and how often it was the one that took longest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Straggler {
    /// The number of the host, which worked or sent. Of a message to a host with a slower link it is that host.
    pub host: u32,
    /// Share of the finished requests of which it had the longest piece.
    pub percent: f64,
}

/// The requests of one class that count.
#[derive(Default)]
pub(crate) struct Served {
    number: u64,
    finished: u64,
    abandoned: u64,
    /// Each goal, in the order of the class's.
    goals: Vec<Judged>,
    /// All goals of a request together.
    all: Judged,
    /// Times and slowdowns of finished requests.
    pub(crate) time_us: Values,
    pub(crate) slowdown: Values,
    /// The same of requests in progress when the run ended, as if they had ended then.
    pub(crate) censored_us: Values,
    pub(crate) censored_slowdown: Values,
    censored: u64,
    /// The parts of the time of finished requests, in the order of the class's stages.
    stages: Vec<Parts>,
    longest: BTreeMap<HostId, u64>,
}

/// The verdicts on a goal, or on all goals together.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    met: u64,
    missed: u64,
    undecided: u64,
}

/// Sums of a stage's times in ps.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    network: u128,
    work: u128,
    waiting: u128,
}

impl RequestSummary {
    /// Returns the summary of these classes, each with its plan; none where no class has requests.
    pub(crate) fn of(
        outcome: &Outcome,
        classes: &[(&Plan, &Served)],
        aside: Option<&Aside>,
    ) -> io::Result<Option<RequestSummary>> {
        if classes.is_empty() {
            return Ok(None);
        }
        let sum = |count: fn(&Served) -> u64| classes.iter().map(|(_, served)| count(served)).sum::<u64>();
        let values =
            |which: fn(&Served) -> &Values| classes.iter().map(|(_, served)| which(served)).collect::<Vec<_>>();
        let (number, finished) = (sum(|served| served.number), sum(|served| served.finished));
        let seconds = outcome.simulated.saturating_sub(outcome.warm_up).as_secs_f64();
        let per_s = |requests: u64| (seconds > 0.0).then(|| requests as f64 / seconds);
        let all = classes.iter().fold(Judged::default(), |sum, (_, served)| sum.plus(served.all));
        let has_goals = classes.iter().any(|(plan, _)| !plan.goals.is_empty());
        Ok(Some(RequestSummary {
            number,
            finished,
            abandoned: sum(|served| served.abandoned),
            censored: sum(|served| served.censored),
            with_goals: all.met + all.missed + all.undecided,
            missed: all.missed,
            undecided: all.undecided,
            goals: goals(classes),
            all_goals_percent: all.met_percent(),
            finished_per_s: per_s(finished),
            goodput_per_s: per_s(all.met).filter(|_| has_goals),
            time_us: RequestUs::of(
                Both { arrived: &values(|served| &served.time_us), censored: &values(|served| &served.censored_us) },
                aside,
            )?,
            slowdown: Slowdown::of(
                Both {
                    arrived: &values(|served| &served.slowdown),
                    censored: &values(|served| &served.censored_slowdown),
                },
                aside,
            )?,
            stages: stages(classes),
            stragglers: stragglers(classes, finished),
            bound: None,
        }))
    }
}

/// Returns the goals of all these classes; goals of the same name are one.
fn goals(classes: &[(&Plan, &Served)]) -> Vec<(String, GoalSummary)> {
    let all = classes.iter().flat_map(|(plan, served)| {
        let names = plan.goals.iter().map(|goal| &goal.name);
        names.enumerate().map(|(index, name)| (name, served.goals.get(index).copied().unwrap_or_default()))
    });
    let summary = |judged: Judged| GoalSummary {
        judged: judged.met + judged.missed,
        missed: judged.missed,
        undecided: judged.undecided,
        attainment_percent: judged.met_percent(),
    };
    joined(all, Judged::plus).into_iter().map(|(name, judged)| (name, summary(judged))).collect()
}

/// Returns the stages of all these classes; stages of the same name are one.
fn stages(classes: &[(&Plan, &Served)]) -> Vec<(String, StageShare)> {
    let all = classes.iter().flat_map(|(plan, served)| {
        plan.names.iter().enumerate().map(|(index, name)| (name, served.stages.get(index).copied().unwrap_or_default()))
    });
    let parts = joined(all, Parts::plus);
    let whole: u128 = parts.iter().map(|(_, parts)| parts.sum()).sum();
    let percent = |part: u128| (whole > 0).then(|| 100.0 * part as f64 / whole as f64);
    let share = |parts: Parts| StageShare {
        share_percent: percent(parts.sum()),
        network_percent: percent(parts.network),
        work_percent: percent(parts.work),
        waiting_percent: percent(parts.waiting),
    };
    parts.into_iter().map(|(name, parts)| (name, share(parts))).collect()
}

/// Joins the entries of the same name, in the order of their first.
fn joined<'a, T: Copy>(entries: impl Iterator<Item = (&'a String, T)>, plus: fn(T, T) -> T) -> Vec<(String, T)> {
    let mut joined: Vec<(String, T)> = Vec::new();
    for (name, entry) in entries {
        match joined.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum = plus(*sum, entry),
            None => joined.push((name.clone(), entry)),
        }
    }
    joined
}

fn stragglers(classes: &[(&Plan, &Served)], finished: u64) -> Vec<Straggler> {
    let mut counts: BTreeMap<HostId, u64> = BTreeMap::new();
    for (&host, &count) in classes.iter().flat_map(|(_, served)| &served.longest) {
        *counts.entry(host).or_default() += count;
    }
    let mut most: Vec<(HostId, u64)> = counts.into_iter().collect();
    most.sort_by_key(|&(host, count)| (Reverse(count), host));
    let straggler =
        |(host, count): (HostId, u64)| Straggler { host: host.0, percent: 100.0 * count as f64 / finished as f64 };
    most.into_iter().take(STRAGGLERS).map(straggler).collect()
}

impl Served {
    /// Adds a request that counts, of a run that ended at `ended`, if it is not over. Returns the number of values that
    /// were kept of it.
    pub(crate) fn add(&mut self, request: &RequestRow, ended: Instant) -> usize {
        self.number += 1;
        self.abandoned += u64::from(request.abandoned);
        self.judge(request, ended);
        let (took, times, slowdowns) = match request.end {
            Some(end) => {
                self.finished += 1;
                self.divide(request);
                (end - request.arrival, &mut self.time_us, &mut self.slowdown)
            }
            None if request.over => return 0,
            None => {
                self.censored += 1;
                let so_far = ended.saturating_sub(request.arrival);
                (so_far, &mut self.censored_us, &mut self.censored_slowdown)
            }
        };
        times.add(took.as_micros_f64());
        let slowdown = times_alone(took, request.alone);
        slowdown.into_iter().for_each(|slowdown| slowdowns.add(slowdown));
        1 + usize::from(slowdown.is_some())
    }

    fn judge(&mut self, request: &RequestRow, ended: Instant) {
        self.goals.resize_with(self.goals.len().max(request.goals.len()), Judged::default);
        let verdicts: Vec<Verdict> = request.goals.iter().map(|goal| goal_verdict(request, goal, ended)).collect();
        self.goals.iter_mut().zip(&verdicts).for_each(|(goal, verdict)| goal.count(*verdict));
        self.all.count(of_all(&verdicts));
    }

    /// Adds the parts of the time of a finished request.
    fn divide(&mut self, request: &RequestRow) {
        self.stages.resize_with(self.stages.len().max(request.stages.len()), Parts::default);
        for (sum, &StageRow { network, work, waiting, .. }) in self.stages.iter_mut().zip(&request.stages) {
            *sum = sum.plus(Parts { network: network.0.into(), work: work.0.into(), waiting: waiting.0.into() });
        }
        if let Some(longest) = request.longest {
            *self.longest.entry(longest.host).or_default() += 1;
        }
    }

    /// Returns all values that are kept of requests.
    pub(crate) fn values(&mut self) -> [&mut Values; 4] {
        [&mut self.time_us, &mut self.slowdown, &mut self.censored_us, &mut self.censored_slowdown]
    }
}

/// Returns the verdict on a request with these verdicts on its goals.
fn of_all(goals: &[Verdict]) -> Verdict {
    let any = |verdict| goals.contains(&verdict);
    match () {
        () if any(Verdict::Missed) => Verdict::Missed,
        () if any(Verdict::Undecided) => Verdict::Undecided,
        () if any(Verdict::Met) => Verdict::Met,
        () => Verdict::NoDeadline,
    }
}

/// Returns a time over the time alone; none where that is zero.
pub(crate) fn times_alone(took: Span, alone: Span) -> Option<f64> {
    Some(took.0 as f64 / alone.0 as f64).filter(|slowdown| slowdown.is_finite())
}

impl Judged {
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::NoDeadline => {}
            Verdict::Met => self.met += 1,
            Verdict::Missed => self.missed += 1,
            Verdict::Undecided => self.undecided += 1,
        }
    }

    fn plus(self, other: Judged) -> Judged {
        Judged {
            met: self.met + other.met,
            missed: self.missed + other.missed,
            undecided: self.undecided + other.undecided,
        }
    }

    fn met_percent(self) -> Option<f64> {
        let judged = self.met + self.missed;
        (judged > 0).then(|| 100.0 * self.met as f64 / judged as f64)
    }
}

impl Parts {
    fn plus(self, other: Parts) -> Parts {
        Parts {
            network: self.network + other.network,
            work: self.work + other.work,
            waiting: self.waiting + other.waiting,
        }
    }

    fn sum(self) -> u128 {
        self.network + self.work + self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunStatistics;
    use crate::samples::{at_ms, ms, outcome, plan, request, served};
    use crate::summary::Summary;

    /// Requests of 20 ms whose work must end within 5 ms, each with another fate. The run counts arrivals from 10 to
    /// 100 ms, when it ends.
    fn fates() -> Vec<RequestRow> {
        let goals = |request: crate::samples::RequestBuilder, worked: Option<Instant>, end: Option<Instant>| {
            let request = request.goal(ms(20), end).goal(ms(5), worked);
            end.map_or(request.clone(), |end| request.end(end))
        };
        let in_time = goals(request(1, at_ms(10)), Some(at_ms(14)), Some(at_ms(20)))
            .stage(0, [2, 0, 0], at_ms(12))
            .stage(1, [0, 1, 1], at_ms(14))
            .stage(2, [6, 0, 0], at_ms(20))
            .longest(2, 5, ms(6));
        let late = goals(request(2, at_ms(20)), Some(at_ms(24)), Some(at_ms(45)))
            .stage(0, [5, 0, 0], at_ms(25))
            .stage(1, [0, 10, 0], at_ms(35))
            .stage(2, [10, 0, 0], at_ms(45))
            .longest(1, 6, ms(10));
        vec![
            goals(request(0, at_ms(9)), Some(at_ms(10)), Some(at_ms(11))).longest(2, 9, ms(9)).build(),
            in_time.build(),
            late.build(),
            goals(request(3, at_ms(30)), Some(at_ms(33)), None).abandoned().build(),
            // Its work is late, all of it may be in time.
            goals(request(4, at_ms(90)), None, None).build(),
            goals(request(5, at_ms(95)), Some(at_ms(97)), None).build(),
        ]
    }

    fn goals() -> Plan {
        plan(&[("deadline", None), ("first", Some(1))])
    }

    fn summary(outcome: &Outcome) -> RequestSummary {
        Summary::of_all(outcome, &RunStatistics::of(outcome)).unwrap().requests.unwrap()
    }

    #[test]
    fn each_goal_and_all_goals_together_are_judged_by_request() {
        let all = summary(&served(&[Some(goals())], fates()));
        assert_eq!((all.number, all.finished, all.abandoned, all.censored), (5, 2, 1, 2));
        let goal = |judged, missed, undecided, attainment| GoalSummary {
            judged,
            missed,
            undecided,
            attainment_percent: Some(attainment),
        };
        assert_eq!(all.goals[0], ("deadline".into(), goal(3, 2, 2, 100.0 / 3.0)));
        assert_eq!(all.goals[1], ("first".into(), goal(5, 1, 0, 80.0)));
        // One met both, three missed one, and of the last nothing is known.
        assert_eq!((all.with_goals, all.missed, all.undecided), (5, 3, 1));
        assert_eq!(all.all_goals_percent, Some(25.0));
        let rounded = |rate: Option<f64>| rate.map(|rate| (rate * 1000.0).round());
        assert_eq!((rounded(all.finished_per_s), rounded(all.goodput_per_s)), (Some(22_222.0), Some(11_111.0)));
    }

    #[test]
    fn times_of_requests_in_progress_are_lower_bounds() {
        let all = summary(&served(&[Some(goals())], fates()));
        // 10 and 25 ms, at least 10 and at least 5 ms; the abandoned one has none.
        assert_eq!((all.time_us.mean, all.time_us.p50), (None, None));
        let bounds = all.time_us.at_least.unwrap();
        assert_eq!((bounds.mean, bounds.p50), (Some(12_500.0), Some(10_000.0)));
        assert!((bounds.p95.unwrap() - 22_750.0).abs() < 1e-6);
        assert_eq!(all.slowdown.at_least.unwrap().p50, Some(2.5));
        let over: Vec<RequestRow> = fates().into_iter().filter(|request| request.over).collect();
        let all = summary(&served(&[Some(goals())], over));
        assert_eq!((all.time_us.mean, all.time_us.p95.map(f64::round)), (Some(17_500.0), Some(24_250.0)));
        assert_eq!((all.slowdown.p50, all.time_us.at_least), (Some(4.375), None));
    }

    #[test]
    fn stages_share_the_time_of_requests_that_ended() {
        let all = summary(&served(&[Some(goals())], fates()));
        let shares: Vec<[f64; 4]> = all
            .stages
            .iter()
            .map(|(_, stage)| {
                [stage.share_percent, stage.network_percent, stage.work_percent, stage.waiting_percent]
                    .map(|part| (part.unwrap() * 35.0).round() / 100.0)
            })
            .collect();
        // Of 35 ms.
        assert_eq!(shares, [[7.0, 7.0, 0.0, 0.0], [12.0, 0.0, 11.0, 1.0], [16.0, 16.0, 0.0, 0.0]]);
        let names: Vec<&str> = all.stages.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names, ["ask", "work", "answer"]);
    }

    #[test]
    fn stragglers_are_the_three_hosts_that_were_longest_most_often() {
        let longest = |number, host| request(number, at_ms(20)).end(at_ms(30)).longest(0, host, ms(5)).build();
        let hosts = [7, 3, 7, 4, 3, 7, 8];
        let all = summary(&served(&[Some(plan(&[]))], (0..).zip(hosts).map(|(i, host)| longest(i, host)).collect()));
        let found: Vec<(u32, f64)> =
            all.stragglers.iter().map(|each| (each.host, (each.percent * 0.07).round())).collect();
        assert_eq!(found, [(7, 3.0), (3, 2.0), (4, 1.0)]);
    }

    #[test]
    fn classes_are_summed_up_by_the_names_of_goals_and_stages() {
        let request = |class, within, end| request(0, at_ms(20)).class(class).end(end).goal(within, Some(end));
        let rows = vec![
            request(0, ms(10), at_ms(25)).stage(0, [5, 0, 0], at_ms(25)).build(),
            request(1, ms(10), at_ms(35)).stage(1, [0, 15, 0], at_ms(35)).build(),
            crate::samples::request(0, at_ms(20)).class(2).end(at_ms(40)).stage(0, [20, 0, 0], at_ms(40)).build(),
        ];
        let plans = [Some(plan(&[("deadline", None)])), Some(plan(&[("deadline", None)])), Some(plan(&[])), None];
        let run = served(&plans, rows);
        let all = summary(&run);
        assert_eq!((all.number, all.goals.len(), all.stages.len()), (3, 1, 3));
        assert_eq!((all.goals[0].1.judged, all.all_goals_percent), (2, Some(50.0)));
        assert_eq!(all.stages[0].1.share_percent, Some(62.5));
        let of_class = |class| Summary::of_class(&run, &RunStatistics::of(&run), class).unwrap().requests;
        assert_eq!(of_class(0).unwrap().all_goals_percent, Some(100.0));
        let without_goals = of_class(2).unwrap();
        assert_eq!((without_goals.all_goals_percent, without_goals.goodput_per_s), (None, None));
        assert!(without_goals.finished_per_s.is_some() && without_goals.goals.is_empty());
        assert_eq!(of_class(3), None);
    }

    #[test]
    fn without_requests_the_shares_are_null() {
        let empty = summary(&served(&[Some(goals())], Vec::new()));
        assert_eq!((empty.number, empty.goals.len(), empty.goals[1].1.attainment_percent), (0, 2, None));
        assert_eq!((empty.stages[2].1.share_percent, empty.stragglers.len()), (None, 0));
        assert_eq!((empty.goodput_per_s, empty.time_us), (Some(0.0), RequestUs::default()));
        let json = serde_json::to_value(&empty).unwrap();
        assert_eq!(json["goals"]["first"]["judged"], 0);
        let other = outcome(&["poisson"], Vec::new());
        let summary = Summary::of_all(&other, &RunStatistics::of(&other)).unwrap();
        assert!(serde_json::to_value(summary).unwrap().get("requests").is_none());
    }

    #[test]
    fn requests_in_a_file_give_the_same_figures() {
        let rows: Vec<RequestRow> =
            (0..40).map(|i| request(i, at_ms(10)).end(at_ms(11 + i * 7 % 40)).goal(ms(9), None).build()).collect();
        let run = served(&[Some(plan(&[("deadline", None)]))], rows);
        let mut book = RunStatistics::new(run.warm_up..run.simulated, 1, 1).with_file(tempfile::tempfile().unwrap(), 8);
        run.stage_requests.chunks(3).for_each(|rows| book.serve(rows, run.ended).unwrap());
        book.close(run.ended);
        let found = Summary::of_all(&run, &book).unwrap().requests.unwrap();
        assert_eq!(found, summary(&run));
        assert_eq!((found.time_us.p50, found.finished), (Some(20_500.0), 40));
        assert!(book.classes[0].served.time_us.held() < 40, "values were put into the file");
    }
}
