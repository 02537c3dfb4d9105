//! Groups of a machine's jobs: a group is late if any of its jobs is, and counts once.
//!
//! Two arguments give lower bounds on the late groups of a busy period:
//!
//! - **One job for each group.** All jobs of a group may be done at any time from its first release to its last due
//!   time. So they are one job, and the bounds for jobs hold. This loses little where a group's jobs overlap in time.
//! - **Intervals.** The jobs within an interval that holds more work than time are too many. A group that gives way
//!   takes all its jobs along. So at least as many groups are late as are needed to cover the excess, the ones with the
//!   most work first.
//!
//! Bounds of sets without a common group add up, whatever their intervals.

use std::collections::BTreeMap;
use std::io;

use super::edf::{BusyPeriods, in_turn, overload};
use super::{Budget, Job, at_once, critical, lower_bounds};

/// A job with the number of its group.
pub type Member = (Job, u32);

/// Groups, in order of their numbers, of which some are late in every schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LateGroups {
    /// A lower bound on the late ones.
    pub late: u64,
    /// The groups of the set.
    pub groups: Vec<u32>,
}

/// Calls `each` with the machine and the jobs of every busy period in which some job must be late. `jobs` yields the
/// jobs of each machine together, in order of release, deadline and work. One busy period is in memory at a time.
///
/// # Errors
/// Returns the errors of `jobs`, and the first of `each`.
pub fn overloads<M: Copy + PartialEq>(
    jobs: impl Iterator<Item = io::Result<(M, Member)>>,
    mut each: impl FnMut(M, Vec<Member>) -> io::Result<()>,
) -> io::Result<()> {
    let mut periods = BusyPeriods::default();
    let mut current = None;
    let mut look_at = |machine: M, period: Option<Vec<Member>>| match period {
        Some(period) if is_overloaded(&period) => each(machine, period),
        _ => Ok(()),
    };
    for next in jobs {
        let (machine, member) = next?;
        if let Some(before) = current.replace(machine).filter(|before| *before != machine) {
            look_at(before, periods.end())?;
        }
        look_at(machine, periods.add(&member.0, member))?;
    }
    current.map_or(Ok(()), |last| look_at(last, periods.end()))
}

/// Returns whether some of a machine's jobs, in order of their release, must be late.
pub fn is_overloaded(jobs: &[Member]) -> bool {
    let jobs = bare(jobs);
    !in_turn(&jobs) && overload(&jobs, |_| true).is_some()
}

fn bare(jobs: &[Member]) -> Vec<Job> {
    jobs.iter().map(|(job, _)| *job).collect()
}

/// Returns a lower bound on the late groups of an overloaded busy period. O(n log n).
pub fn quickly(jobs: &[Member]) -> u64 {
    at_once(&bare(&as_one(jobs))).0
}

/// Returns disjoint sets of the groups of a busy period, or of the rest of one, in order of release.
pub fn fewest(jobs: &[Member], budget: &mut Budget) -> Vec<LateGroups> {
    let found = of_merged(jobs, budget);
    if as_one(jobs).len() == jobs.len() {
        return found;
    }
    let rest = without(jobs, &found);
    let merged_first: Vec<LateGroups> = found.into_iter().chain(of_intervals(rest, budget)).collect();
    let found = of_intervals(jobs.to_vec(), budget);
    let rest = without(jobs, &found);
    let intervals_first: Vec<LateGroups> = found.into_iter().chain(of_merged(&rest, budget)).collect();
    let sum = |sets: &[LateGroups]| -> u64 { sets.iter().map(|set| set.late).sum() };
    if sum(&intervals_first) > sum(&merged_first) { intervals_first } else { merged_first }
}

/// Returns the jobs of groups that are in none of some sets.
fn without(jobs: &[Member], sets: &[LateGroups]) -> Vec<Member> {
    let taken = |group: &u32| sets.iter().any(|set| set.groups.binary_search(group).is_ok());
    jobs.iter().filter(|(_, group)| !taken(group)).copied().collect()
}

/// Returns one job for each group, in order of release: from its first release to its last due time, with its work.
pub fn as_one(jobs: &[Member]) -> Vec<Member> {
    let mut of_group: BTreeMap<u32, Job> = BTreeMap::new();
    for &(job, group) in jobs {
        let add = |one: &mut Job| {
            one.release = one.release.min(job.release);
            one.due = one.due.max(job.due);
            one.work = one.work.saturating_add(job.work);
        };
        of_group.entry(group).and_modify(add).or_insert(job);
    }
    let mut merged: Vec<Member> = of_group.into_iter().map(|(group, job)| (job, group)).collect();
    merged.sort_by_key(|(job, group)| (job.release, job.due, job.work, *group));
    merged
}

/// Returns sets by the first argument.
fn of_merged(jobs: &[Member], budget: &mut Budget) -> Vec<LateGroups> {
    let merged = as_one(jobs);
    let jobs = bare(&merged);
    let parts = lower_bounds(&jobs, budget);
    let set = |(part, late): (std::ops::Range<usize>, u64)| {
        let needed = critical(&jobs[part.clone()], late, budget);
        let members = merged[part].iter().zip(needed).filter(|(_, needed)| *needed);
        let mut groups: Vec<u32> = members.map(|((_, group), _)| *group).collect();
        groups.sort_unstable();
        LateGroups { late, groups }
    };
    parts.into_iter().map(set).collect()
}

/// Returns sets by the second argument: of the interval with the most late groups, then of the others without these
/// groups, and so on.
fn of_intervals(mut jobs: Vec<Member>, budget: &mut Budget) -> Vec<LateGroups> {
    let mut found = Vec::new();
    while budget.take(super::LOOK * jobs.len() as u64)
        && let Some(worst) = worst_interval(&jobs, budget)
    {
        jobs.retain(|(_, group)| worst.groups.binary_search(group).is_err());
        found.push(worst);
    }
    found
}

/// Returns the groups of the interval with the most late ones; none if all jobs can be in time. When the budget is
/// spent, it is some overloaded interval.
fn worst_interval(jobs: &[Member], budget: &mut Budget) -> Option<LateGroups> {
    let some = overload(&bare(jobs), |_| true)?;
    let inside = jobs.iter().filter(|(job, _)| some.holds(job));
    let mut worst = needed(works(inside), some.until - some.from);
    let n = jobs.len() as u64;
    if !budget.take(n.saturating_mul(n)) {
        return Some(worst);
    }
    let mut groups: Vec<u32> = jobs.iter().map(|(_, group)| *group).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut by_due: Vec<(Job, usize)> = Vec::with_capacity(jobs.len());
    for (job, group) in jobs {
        by_due.push((*job, groups.binary_search(group).expect("it is one of them")));
    }
    by_due.sort_by_key(|(job, _)| job.due);
    let mut starts: Vec<u64> = jobs.iter().map(|(job, _)| job.release).collect();
    starts.dedup();
    for start in starts {
        let (mut work, mut sum, mut inside) = (vec![0_u64; groups.len()], 0_u128, 0);
        for (job, group) in by_due.iter().filter(|(job, _)| job.release >= start) {
            inside += u64::from(work[*group] == 0);
            work[*group] = work[*group].saturating_add(job.work);
            sum += u128::from(job.work);
            // No more groups are late than are inside.
            let room = job.due - start;
            if sum <= u128::from(room) || inside <= worst.late || !budget.take(inside) {
                continue;
            }
            let works = work.iter().zip(&groups).filter(|(work, _)| **work > 0).map(|(work, group)| (*work, *group));
            let late = needed(works.collect(), room);
            if late.late > worst.late {
                worst = late;
            }
        }
    }
    Some(worst)
}

/// Returns the work of each group.
fn works<'a>(jobs: impl Iterator<Item = &'a Member>) -> Vec<(u64, u32)> {
    let mut of_group: BTreeMap<u32, u64> = BTreeMap::new();
    for (job, group) in jobs {
        let work = of_group.entry(*group).or_default();
        *work = work.saturating_add(job.work);
    }
    of_group.into_iter().map(|(group, work)| (work, group)).collect()
}

/// Returns groups with more work than there is room, and the number of them that are late at least. The groups with the
/// most work give way. Only groups that are needed for this are returned.
fn needed(mut works: Vec<(u64, u32)>, room: u64) -> LateGroups {
    works.sort_unstable_by(|one, other| other.cmp(one));
    let sum: u128 = works.iter().map(|(work, _)| u128::from(*work)).sum();
    let (mut left, mut late) = (sum, 0);
    while left > u128::from(room) {
        left -= u128::from(works[late].0);
        late += 1;
    }
    // Without all but one of these, the next ones still have more work than there is room.
    let (mut held, mut count) = (0, late.saturating_sub(1));
    while count < works.len() && held <= u128::from(room) {
        held += u128::from(works[count].0);
        count += 1;
    }
    let mut groups: Vec<u32> = works[..count].iter().map(|(_, group)| *group).collect();
    groups.sort_unstable();
    LateGroups { late: late as u64, groups }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLENTY: u64 = 1 << 40;

    fn job(release: u64, due: u64, work: u64) -> Job {
        Job { release, due, work }
    }

    fn sum(sets: &[LateGroups]) -> u64 {
        sets.iter().map(|set| set.late).sum()
    }

    fn sorted(mut jobs: Vec<Member>) -> Vec<Member> {
        jobs.sort_by_key(|(job, group)| (job.release, job.due, job.work, *group));
        jobs
    }

    /// Returns the fewest late groups by trying every set of them.
    fn truth(jobs: &[Member], groups: u32) -> u64 {
        let fits = |set: &u32| {
            let kept: Vec<Job> = jobs.iter().filter(|(_, group)| set >> group & 1 == 1).map(|(job, _)| *job).collect();
            overload(&kept, |_| true).is_none()
        };
        let most = (0..1_u32 << groups).filter(fits).map(u32::count_ones).max().unwrap_or(0);
        u64::from(groups - most)
    }

    fn drawn() -> impl Strategy<Value = Vec<Member>> {
        let one = (0..24_u64, 1..=5_u64, 0..6_u64, 0..6_u32);
        let member = |(release, work, slack, group)| (job(release, release + work + slack, work), group);
        prop::collection::vec(one.prop_map(member), 1..14).prop_map(sorted)
    }

    proptest! {
        #[test]
        fn it_is_never_above_the_truth(jobs in drawn(), budget in 0..300_u64) {
            let truth = truth(&jobs, 6);
            prop_assert!(sum(&fewest(&jobs, &mut Budget(PLENTY))) <= truth);
            prop_assert!(sum(&fewest(&jobs, &mut Budget(budget))) <= truth);
            if is_overloaded(&jobs) {
                prop_assert!(quickly(&jobs) <= truth);
            } else {
                prop_assert_eq!(truth, 0);
            }
        }

        /// Each set alone has as many late groups as it says, and no group is in two.
        #[test]
        fn sets_hold_for_themselves(jobs in drawn()) {
            let sets = fewest(&jobs, &mut Budget(PLENTY));
            let mut groups: Vec<u32> = sets.iter().flat_map(|set| set.groups.clone()).collect();
            groups.sort_unstable();
            prop_assert!(groups.is_sorted_by(|one, other| one < other));
            for set in sets {
                let own: Vec<Member> = jobs.iter().filter(|(_, group)| set.groups.contains(group)).copied().collect();
                prop_assert!(set.late <= truth(&own, 6), "{:?}", set);
                prop_assert!(set.late > 0);
            }
        }
    }

    #[test]
    fn it_is_mostly_the_truth() {
        let mut state = 7_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut found, mut true_ones, mut as_jobs) = (0, 0, 0);
        for _ in 0..400 {
            let mut one = |_| {
                let (release, work, slack) = (below(24), 1 + below(5), below(6));
                (job(release, release + work + slack, work), below(6) as u32)
            };
            let jobs = sorted((0..12).map(&mut one).collect());
            found += sum(&fewest(&jobs, &mut Budget(PLENTY)));
            true_ones += truth(&jobs, 6);
            as_jobs += sum(&of_merged(&jobs, &mut Budget(PLENTY)));
        }
        assert!(found <= true_ones && found * 100 > true_ones * 85, "{found} of {true_ones}");
        assert!(as_jobs < found, "intervals add to {as_jobs}");
    }

    #[test]
    fn a_group_counts_once_in_two_intervals() {
        // Groups 0 and 1 collide twice; so do 2 and 3.
        let twice = |one: u32, other: u32| {
            [0, 100].into_iter().flat_map(move |at| [one, other].map(|group| (job(at, at + 5, 3), group)))
        };
        let two = sorted(twice(0, 1).collect());
        assert_eq!(fewest(&two, &mut Budget(PLENTY)), [LateGroups { late: 1, groups: vec![0, 1] }]);
        // The second time with others.
        let mut others = two;
        others.extend(twice(2, 3).skip(2));
        others.retain(|(job, group)| job.release == 0 || *group != 1);
        assert_eq!(sum(&fewest(&sorted(others), &mut Budget(PLENTY))), 2);
    }

    #[test]
    fn jobs_far_apart_are_seen_by_intervals() {
        // As one job each, all fit: 6 of work until 105.
        let jobs = sorted(vec![(job(0, 5, 3), 0), (job(100, 105, 3), 0), (job(0, 5, 3), 1), (job(100, 105, 3), 1)]);
        assert_eq!(of_merged(&jobs, &mut Budget(PLENTY)), []);
        assert_eq!(sum(&of_intervals(jobs, &mut Budget(PLENTY))), 1);
    }

    #[test]
    fn the_groups_with_the_most_work_give_way_first() {
        // 15 of work in 6: without 5 and 4 it fits.
        let works = || vec![(1, 10), (2, 11), (3, 12), (4, 13), (5, 14)];
        assert_eq!(needed(works(), 6), LateGroups { late: 2, groups: vec![12, 13, 14] });
        assert_eq!(needed(works(), 14).late, 1);
        assert_eq!(needed(works(), 0).late, 5);
    }

    #[test]
    fn busy_periods_of_each_machine_are_examined() {
        let at = |machine: u32, release: u64, group: u32| Ok((machine, (job(release, release + 5, 3), group)));
        let jobs = [at(0, 0, 0), at(0, 1, 1), at(0, 50, 2), at(1, 0, 3), at(1, 0, 4), at(1, 0, 5)];
        let mut seen = Vec::new();
        overloads(jobs.into_iter(), |machine, period| {
            seen.push((machine, period.len()));
            Ok(())
        })
        .unwrap();
        // 3 and 3 from 0 until 6 do not overload the first.
        assert_eq!(seen, [(1, 3)]);
    }
}
