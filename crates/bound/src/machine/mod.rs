//! Links as machines: the fewest jobs that are late in any preemptive schedule (1 | pmtn, r_j | sum U_j).
//!
//! Earliest deadline first meets every deadline of a set of jobs if any schedule does (Horn 1974). So the question is
//! how few jobs must be left out for it to succeed with the others. A machine's jobs form busy periods that do not
//! depend on one another; in most of them no job must be left out. In the others a lower bound ([`relax`]) and a
//! schedule ([`greedy`]) mostly agree. Where they do not, [`search`] tries sets of jobs to leave out. The problem is
//! polynomial (Lawler 1990; Baptiste 1999, O(n^4)). Those algorithms always take O(n^4), and these steps nearly always
//! take O(n^2 log n).

mod edf;
mod greedy;
pub mod groups;
mod relax;
mod search;

use std::io;

use edf::overload;

/// Work that must be done between two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The earliest time at which it can begin, in ps.
    pub release: u64,
    /// The time by which it must be done, in ps.
    pub due: u64,
    /// The time for which it occupies the machine, in ps.
    pub work: u64,
}

/// A lower bound on the late jobs of a busy period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fewest {
    /// The number of jobs that are late in every schedule.
    pub late: u64,
    /// Whether some schedule of this machine has no more late jobs.
    pub exact: bool,
}

/// A busy period of a machine in which some job must be late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overloaded<M> {
    /// The machine of the period.
    pub machine: M,
    /// The releases of its first and its last job. No other job of the machine is released between them.
    pub released: (u64, u64),
    /// The number of its jobs.
    pub jobs: usize,
    /// The bound on its late jobs.
    pub fewest: Fewest,
}

/// The steps, each about a heap operation (10 ns), that may still be spent on exact answers.
#[derive(Clone, Copy, Debug)]
pub struct Budget(pub u64);

impl Budget {
    /// Takes `steps` and returns whether there were so many; otherwise takes nothing.
    pub fn take(&mut self, steps: u64) -> bool {
        let enough = self.0 >= steps;
        if enough {
            self.0 -= steps;
        }
        enough
    }

    /// Takes out one part in `parts` of the share of each of `left` users.
    pub fn share(&mut self, left: usize, parts: u64) -> Budget {
        let share = self.0 / left as u64 / parts;
        self.0 -= share;
        Budget(share)
    }

    /// Takes out steps for the starts of [`relax::fewest`] in both directions, and returns the number of starts: at
    /// most one for each of `jobs`.
    fn starts(&mut self, jobs: usize) -> u64 {
        let starts = (self.0 / 2 / jobs.max(1) as u64).min(jobs as u64);
        self.0 -= 2 * starts * jobs as u64;
        starts
    }
}

/// Returns the busy periods in which some job must be late. `jobs` yields the jobs of each machine together, in order
/// of release, deadline and work. Only one busy period and the hard ones are in memory at a time. The budget limits the
/// work on hard periods; when it is spent, the result is a lower bound of the fewest.
///
/// After `max_jobs` jobs in such periods, adjacent solved periods of machines that are `alike` are merged into one.
///
/// # Errors
/// Returns the errors of `jobs`.
pub fn overloads<M: Copy + PartialEq>(
    jobs: impl Iterator<Item = io::Result<(M, Job)>>,
    (max_jobs, alike): (usize, impl Fn(M, M) -> bool),
    budget: &mut Budget,
) -> io::Result<Vec<Overloaded<M>>> {
    let mut overloads = Overloads { found: Vec::new(), hard: Vec::new(), jobs: 0, max_jobs, alike };
    let mut periods = edf::BusyPeriods::default();
    let mut current = None;
    for next in jobs {
        let (machine, job) = next?;
        if let Some(before) = current.replace(machine).filter(|before| *before != machine) {
            periods.end().into_iter().for_each(|period| overloads.look_at(before, period));
        }
        periods.add(&job, job).into_iter().for_each(|period| overloads.look_at(machine, period));
    }
    if let Some(last) = current {
        periods.end().into_iter().for_each(|period| overloads.look_at(last, period));
    }
    overloads.resolve(budget);
    Ok(overloads.found)
}

/// The busy periods in which some job must be late.
struct Overloads<M, A> {
    found: Vec<Overloaded<M>>,
    /// The number of jobs in the periods found.
    jobs: usize,
    max_jobs: usize,
    alike: A,
    /// The jobs of the unsolved periods, each with its index among those found.
    hard: Vec<(Vec<Job>, usize)>,
}

impl<M: Copy, A: Fn(M, M) -> bool> Overloads<M, A> {
    /// Adds a period if it is overloaded. Most periods are not, or are solved at once.
    fn look_at(&mut self, machine: M, period: Vec<Job>) {
        if edf::in_turn(&period) || overload(&period, |_| true).is_none() {
            return;
        }
        let (late, exact) = at_once(&period);
        self.jobs += period.len();
        if self.jobs > self.max_jobs
            && exact
            && let Some(last) = self.found.last_mut()
            && last.fewest.exact
            && (self.alike)(last.machine, machine)
        {
            last.jobs += period.len();
            last.fewest.late += late;
            return;
        }
        let release = |job: Option<&Job>| job.map_or(0, |job| job.release);
        self.found.push(Overloaded {
            machine,
            released: (release(period.first()), release(period.last())),
            jobs: period.len(),
            fewest: Fewest { late, exact },
        });
        if !exact {
            self.hard.push((period, self.found.len() - 1));
        }
    }

    /// Solves the hard periods. Cheap methods are tried first, and short periods before long ones: most are solved
    /// before the search.
    fn resolve(&mut self, budget: &mut Budget) {
        self.hard.sort_by_key(|(jobs, _)| jobs.len());
        let mut open = Vec::new();
        for (done, &(ref jobs, at)) in self.hard.iter().enumerate() {
            let mut share = budget.share(self.hard.len() - done, 2);
            let most = greedy::late(jobs, &mut share);
            let mut least = self.found[at].fewest.late;
            if most != Some(least) {
                least = least.max(relax::fewest(jobs, share.starts(jobs.len())));
            }
            budget.0 += share.0;
            self.found[at].fewest = Fewest { late: least, exact: most == Some(least) };
            if most != Some(least) {
                open.push((jobs, at, most));
            }
        }
        for (done, &(jobs, at, most)) in open.iter().enumerate() {
            let mut share = budget.share(open.len() - done, 1);
            let least = self.found[at].fewest.late;
            self.found[at].fewest = search::fewest(jobs, least, most.unwrap_or(jobs.len() as u64), &mut share);
            budget.0 += share.0;
        }
    }
}

/// Divides the jobs of a machine, in order of their release, into busy periods. Returns the index range of each period
/// in which some job must be late, and a lower bound of its late jobs. Returns no further periods when the budget is
/// spent.
pub fn lower_bounds(jobs: &[Job], budget: &mut Budget) -> Vec<(std::ops::Range<usize>, u64)> {
    let (mut periods, mut ends) = (edf::BusyPeriods::default(), Vec::new());
    for (place, job) in jobs.iter().enumerate() {
        if periods.add(job, ()).is_some() {
            ends.push(place);
        }
    }
    ends.push(jobs.len());
    let mut first = 0;
    let mut found = Vec::new();
    for end in ends {
        let period = first..end;
        first = end;
        let inside = &jobs[period.clone()];
        if edf::in_turn(inside) || !budget.take(LOOK * inside.len() as u64) || overload(inside, |_| true).is_none() {
            continue;
        }
        let (mut late, solved) = at_once(inside);
        if !solved {
            late = late.max(relax::fewest(inside, budget.starts(inside.len())));
        }
        found.push((period, late));
    }
    found
}

/// Steps of the budget for each job of a period.
const LOOK: u64 = 8;

/// Returns the jobs of an overloaded busy period that suffice for `late` of them to be late: the jobs within a few
/// intervals, or all.
pub fn critical(jobs: &[Job], late: u64, budget: &mut Budget) -> Vec<bool> {
    match relax::intervals(jobs, budget.starts(jobs.len())) {
        (found, intervals) if found >= late => {
            let within = |job: &Job| intervals.iter().any(|&(from, until)| job.release >= from && job.due <= until);
            jobs.iter().map(within).collect()
        }
        _ => vec![true; jobs.len()],
    }
}

/// Returns at most `late` jobs of a busy period without which all others can be in time; none if no such set is found.
pub fn leave_out(jobs: &[Job], late: u64, budget: &mut Budget) -> Option<Vec<bool>> {
    let few = |out: &Vec<bool>| out.iter().filter(|out| **out).count() as u64 <= late;
    let enough = |out: &Vec<bool>| few(out) && overload(jobs, |i| !out[i]).is_none();
    let at_once = relax::left_out(jobs).into_iter().find(enough);
    let greedy = |budget: &mut Budget| greedy::left_out(jobs, budget).filter(few);
    at_once.or_else(|| greedy(budget)).or_else(|| search::left_out(jobs, late, budget))
}

/// Returns a lower bound on the late jobs, and whether it is exact, as it mostly is for a burst. O(n log n).
fn at_once(jobs: &[Job]) -> (u64, bool) {
    let late = |out: &[bool]| out.iter().filter(|out| **out).count() as u64;
    let relaxed = relax::left_out(jobs);
    let least = relaxed.iter().map(|out| late(out)).max().unwrap_or(0);
    let solved = |out: &Vec<bool>| late(out) == least && overload(jobs, |i| !out[i]).is_none();
    (least.max(1), relaxed.iter().any(solved))
}

impl Job {
    /// Returns whether it could be in time if it had the machine for itself.
    pub fn possible(&self) -> bool {
        self.due.checked_sub(self.release).is_some_and(|window| self.work <= window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLENTY: u64 = 1 << 40;

    fn job(release: u64, due: u64, work: u64) -> Job {
        Job { release, due, work }
    }

    fn fewest(jobs: &[Job]) -> Fewest {
        with_budget(jobs, PLENTY)
    }

    fn with_budget(jobs: &[Job], budget: u64) -> Fewest {
        let mut sorted = jobs.to_vec();
        sorted.sort_by_key(|job| (job.release, job.due, job.work));
        together(found(sorted.into_iter().map(|job| Ok(((), job))), budget).unwrap())
    }

    fn found<M: Copy + PartialEq>(
        jobs: impl Iterator<Item = io::Result<(M, Job)>>,
        budget: u64,
    ) -> io::Result<Vec<Overloaded<M>>> {
        overloads(jobs, (usize::MAX, |_, _| false), &mut Budget(budget))
    }

    fn together<M>(found: Vec<Overloaded<M>>) -> Fewest {
        let late = found.iter().map(|period| period.fewest.late).sum();
        Fewest { late, exact: found.iter().all(|period| period.fewest.exact) }
    }

    /// Returns the fewest late jobs by trying every set of jobs and every schedule, a unit of time at a time.
    fn by_brute_force(jobs: &[Job]) -> u64 {
        let sets = 0..1u32 << jobs.len();
        let possible = sets.filter(|set| {
            let kept: Vec<Job> = (0..jobs.len()).filter(|i| set & 1 << i != 0).map(|i| jobs[i]).collect();
            let mut left: Vec<u64> = kept.iter().map(|job| job.work).collect();
            some_schedule(&kept, &mut left, 0)
        });
        jobs.len() as u64 - possible.map(|set| u64::from(set.count_ones())).max().unwrap_or(0)
    }

    /// Returns whether some assignment of each unit of time from `now` on does all remaining work in time.
    fn some_schedule(jobs: &[Job], left: &mut [u64], now: u64) -> bool {
        if left.iter().all(|left| *left == 0) {
            return true;
        }
        if jobs.iter().zip(left.iter()).any(|(job, left)| *left > 0 && now.max(job.release) + *left > job.due) {
            return false;
        }
        let ready: Vec<usize> = (0..jobs.len()).filter(|&i| left[i] > 0 && jobs[i].release <= now).collect();
        if ready.is_empty() {
            return some_schedule(jobs, left, now + 1);
        }
        ready.into_iter().any(|i| {
            left[i] -= 1;
            let found = some_schedule(jobs, left, now + 1);
            left[i] += 1;
            found
        })
    }

    /// Returns the fewest late jobs by trying every set with Horn's condition: no interval holds more work than time.
    fn by_subsets(jobs: &[Job]) -> u64 {
        let fits = |set: u32| {
            let kept = || (0..jobs.len()).filter(move |i| set & 1 << i != 0).map(|i| jobs[i]);
            kept().all(|first| {
                kept().all(|last| {
                    let inside = kept().filter(|job| job.release >= first.release && job.due <= last.due);
                    let work: u64 = inside.map(|job| job.work).sum();
                    work == 0 || first.release + work <= last.due
                })
            })
        };
        let most = (0..1u32 << jobs.len()).filter(|set| fits(*set)).map(u32::count_ones).max();
        jobs.len() as u64 - u64::from(most.unwrap_or(0))
    }

    fn jobs(n: usize, latest: u64, longest: u64) -> impl Strategy<Value = Vec<Job>> {
        let one = (0..latest, 1..=longest, 0..latest);
        let job = one.prop_map(|(release, work, slack)| job(release, release + work + slack / 2, work));
        prop::collection::vec(job, 0..=n)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

        #[test]
        fn no_schedule_at_all_is_better_and_one_is_as_good(jobs in jobs(5, 8, 4)) {
            prop_assert_eq!(fewest(&jobs), Fewest { late: by_brute_force(&jobs), exact: true });
        }

        #[test]
        fn no_set_of_jobs_is_better_and_one_is_as_good(jobs in jobs(11, 40, 12)) {
            prop_assert_eq!(fewest(&jobs), Fewest { late: by_subsets(&jobs), exact: true });
        }

        #[test]
        fn the_search_alone_finds_the_same(jobs in jobs(10, 30, 10)) {
            let mut sorted = jobs.clone();
            sorted.sort_by_key(|job| job.release);
            let found = search::fewest(&sorted, 0, jobs.len() as u64, &mut Budget(PLENTY));
            prop_assert_eq!(found, Fewest { late: by_subsets(&jobs), exact: true });
        }

        #[test]
        fn so_many_can_be_left_out_and_so_many_are_critical(jobs in jobs(10, 30, 10)) {
            let mut jobs = jobs;
            jobs.sort_by_key(|job| job.release);
            let late = by_subsets(&jobs);
            let out = leave_out(&jobs, late, &mut Budget(PLENTY)).unwrap();
            let kept: Vec<Job> = (0..jobs.len()).filter(|i| !out[*i]).map(|i| jobs[i]).collect();
            prop_assert_eq!((by_subsets(&kept), kept.len() as u64 + late), (0, jobs.len() as u64));
            prop_assert_eq!(leave_out(&jobs, late.saturating_sub(1), &mut Budget(PLENTY)).is_some(), late == 0);
            let searched = search::left_out(&jobs, late, &mut Budget(PLENTY)).unwrap();
            prop_assert!(overload(&jobs, |i| !searched[i]).is_none());
            let critical = critical(&jobs, late, &mut Budget(PLENTY));
            let critical: Vec<Job> = (0..jobs.len()).filter(|i| critical[*i]).map(|i| jobs[i]).collect();
            prop_assert_eq!(by_subsets(&critical), late);
            let parts = lower_bounds(&jobs, &mut Budget(PLENTY));
            prop_assert!(parts.iter().map(|(_, late)| late).sum::<u64>() <= late);
            prop_assert!(parts.iter().all(|(period, least)| *least > 0 && by_subsets(&jobs[period.clone()]) >= *least));
        }

        #[test]
        fn a_relaxation_is_never_above_the_truth_nor_a_schedule_below_it(jobs in jobs(60, 300, 40), steps in 0..40_000u64) {
            let exact = fewest(&jobs);
            let limited = with_budget(&jobs, steps);
            prop_assert!(limited.late <= exact.late);
            prop_assert!(!limited.exact || !exact.exact || limited.late == exact.late);
            let mut possible = jobs.clone();
            possible.sort_by_key(|job| job.release);
            let scheduled = greedy::late(&possible, &mut Budget(PLENTY)).unwrap();
            prop_assert!(scheduled >= exact.late);
        }
    }

    #[test]
    fn a_budget_is_spent_by_what_is_taken() {
        let mut budget = Budget(10);
        assert_eq!(
            [4, 7, 6, 1].map(|steps| (budget.take(steps), budget.0)),
            [(true, 6), (false, 6), (true, 0), (false, 0)]
        );
        // One of two parts of a third.
        let mut budget = Budget(61);
        assert_eq!((budget.share(3, 2).0, budget.0), (10, 51));
        // A start takes a step for each job in both directions, and there is one for each job at most.
        let starts = |steps, jobs| {
            let mut budget = Budget(steps);
            (budget.starts(jobs), budget.0)
        };
        assert_eq!([starts(47, 5), starts(1000, 5), starts(9, 5), starts(9, 0)], [(4, 7), (5, 950), (0, 9), (0, 9)]);
    }

    #[test]
    fn a_burst_of_equal_jobs_is_late_by_what_does_not_fit() {
        // Twenty jobs of 3 are due at 45: fifteen fit.
        assert_eq!(fewest(&[job(0, 45, 3); 20]), Fewest { late: 5, exact: true });
    }

    #[test]
    fn each_machine_has_its_own_jobs() {
        // Two jobs of 3 by 5 are one too many for a machine; a third one is on another machine.
        let jobs = [(1, job(0, 5, 3)), (1, job(1, 5, 3)), (2, job(0, 5, 3)), (2, job(9, 12, 3))];
        let both = found(jobs.map(Ok).into_iter(), PLENTY).unwrap();
        let first = Overloaded { machine: 1, released: (0, 1), jobs: 2, fewest: Fewest { late: 1, exact: true } };
        assert_eq!(both, [first]);
        let failed = found([Ok((1, jobs[0].1)), Err(io::Error::other("gone"))].into_iter(), PLENTY);
        assert_eq!(failed.unwrap_err().to_string(), "gone");
    }

    #[test]
    fn beyond_a_number_of_jobs_periods_of_like_machines_are_one() {
        let burst = |i: u64| [job(i * 1000, i * 1000 + 10, 6); 3];
        let jobs: Vec<(u64, Job)> = (0..8).flat_map(|i| burst(i).map(|job| (i / 2, job))).collect();
        let of = |max_jobs| {
            let jobs = jobs.iter().map(|job| Ok(*job));
            let found = overloads(jobs, (max_jobs, |a: u64, b: u64| a / 2 == b / 2), &mut Budget(PLENTY)).unwrap();
            found.into_iter().map(|period| (period.machine, period.jobs, period.fewest.late)).collect::<Vec<_>>()
        };
        assert_eq!(of(24).len(), 8);
        assert_eq!(of(6), [(0, 3, 2), (0, 9, 6), (2, 12, 8)]);
    }

    #[test]
    fn bursts_far_apart_do_not_matter_to_one_another() {
        let jobs: Vec<Job> = (0..1000).flat_map(|i| [job(i * 1000, i * 1000 + 10, 6); 3]).collect();
        assert_eq!(fewest(&jobs), Fewest { late: 2000, exact: true });
    }

    #[test]
    fn the_largest_times_do_not_overflow() {
        let jobs = [job(0, u64::MAX, u64::MAX), job(1, u64::MAX, u64::MAX - 1), job(u64::MAX, u64::MAX, 0)];
        assert_eq!(fewest(&jobs), Fewest { late: 1, exact: true });
    }

    #[test]
    fn an_endless_overload_is_relaxed_and_says_so() {
        // Twice the capacity for a long time, sizes and deadlines of many kinds.
        let mut dice = 7u64;
        let mut below = |n: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % n
        };
        let jobs: Vec<Job> = (0..20_000u64)
            .map(|i| {
                let (release, work) = (i * 50 + below(50), 1 + below(199));
                job(release, release + work + below(2000), work)
            })
            .collect();
        let found = with_budget(&jobs, 3_000_000);
        let scheduled = greedy::late(&jobs[..2000], &mut Budget(PLENTY)).unwrap();
        assert!(!found.exact && found.late > 4000 && found.late < 10_000, "{found:?}, {scheduled} of 2000");
    }
}
