//! Adds up the overloads of several machines.
//!
//! At least a known number of the jobs of an overloaded busy period, or of a subset of them, is late. Sets of jobs
//! without a common message add up, whatever their machines. So the bound is a sum over disjoint sets. To choose the
//! best sets is weighted packing, which is hard; but every choice is a bound.
//!
//! Periods that share messages, directly or through other periods, form a component; components add up. Within one, the
//! periods are taken one by one, each without the messages that belong to a set already. Each adds a set of the jobs
//! that are critical for its remaining late ones, so that the rest is left to periods of other machines. Several orders
//! are tried, among them each family of machines first, so that the sum is never less than the sum of one family alone.

use crate::machine::groups::{self, LateGroups};
use crate::machine::{Budget, Job, critical, lower_bounds};

/// An overloaded busy period.
#[derive(Clone, Debug, Default)]
pub struct Period {
    /// The family of its machine.
    pub family: u32,
    /// A lower bound on the number of its late jobs.
    pub late: u64,
    /// Its jobs in order of their release, each with the number of its message.
    pub jobs: Vec<(Job, u32)>,
}

/// Jobs of one machine with a lower bound on the late ones. No two sets have a message in common.
#[derive(Clone, Debug)]
pub struct Set {
    /// The family of its machine.
    pub family: u32,
    /// A lower bound on the number of its late jobs.
    pub late: u64,
    /// The jobs, each with the number of its message.
    pub jobs: Vec<(Job, u32)>,
}

/// Returns disjoint sets of the jobs of `periods`, with as large a sum as is found. The numbers of messages are below
/// `messages`. A message has at most one job in all periods of a family.
pub fn disjoint_sets(periods: &[Period], messages: u32, budget: &mut Budget) -> Vec<Set> {
    disjoint(periods, messages, sets_of_messages, budget)
}

/// Returns disjoint sets of the jobs of `periods`, where the numbers are of groups of jobs: a group is late if any of
/// its jobs is, and counts once. A group may have any jobs in any period.
pub fn disjoint_groups(periods: &[Period], groups: u32, budget: &mut Budget) -> Vec<Set> {
    disjoint(periods, groups, sets_of_groups, budget)
}

/// Returns sets of the jobs of a period that are left, no two with a common number.
type Sets = fn(&Period, Vec<(Job, u32)>, &mut Budget) -> Vec<Set>;

fn disjoint(periods: &[Period], messages: u32, sets: Sets, budget: &mut Budget) -> Vec<Set> {
    let mut taken = vec![false; messages as usize];
    let components = components(periods, messages);
    let mut found = Vec::new();
    for (done, component) in components.iter().enumerate() {
        let mut share = budget.share(components.len() - done, 1);
        let mut best: Vec<Set> = Vec::new();
        for order in orders(periods, component) {
            let sets = pack(periods, &order, sets, &mut taken, &mut share);
            if sum(&sets) > sum(&best) {
                best = sets;
            }
        }
        budget.0 += share.0;
        found.append(&mut best);
    }
    found
}

/// Returns the number of late jobs of all sets together.
pub fn sum(sets: &[Set]) -> u64 {
    sets.iter().map(|set| set.late).sum()
}

/// Returns the orders in which to take the periods of a component.
fn orders(periods: &[Period], component: &[usize]) -> Vec<Vec<usize>> {
    let mut families: Vec<u32> = component.iter().map(|period| periods[*period].family).collect();
    families.sort_unstable();
    families.dedup();
    if component.len() == 1 {
        return vec![component.to_vec()];
    }
    // One family first, then by late jobs per message.
    let density = |period: &Period| u128::from(period.late) * (1 << 32) / period.jobs.len().max(1) as u128;
    let mut dense = component.to_vec();
    dense.sort_by_key(|period| std::cmp::Reverse(density(&periods[*period])));
    let first = |family: u32| {
        let (mut order, others): (Vec<usize>, Vec<usize>) = dense.iter().partition(|i| periods[**i].family == family);
        order.extend(others);
        order
    };
    families.into_iter().map(first).chain([dense.clone()]).collect()
}

/// Takes the periods in the given order, and returns the sets. All of `taken` is false before and after.
fn pack(periods: &[Period], order: &[usize], of: Sets, taken: &mut [bool], budget: &mut Budget) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    for &period in order {
        let jobs = &periods[period].jobs;
        let left = jobs.iter().filter(|(_, message)| !taken[*message as usize]).copied().collect();
        for set in of(&periods[period], left, budget) {
            set.jobs.iter().for_each(|(_, message)| taken[*message as usize] = true);
            sets.push(set);
        }
    }
    let messages = sets.iter().flat_map(|set| &set.jobs);
    messages.for_each(|(_, message)| taken[*message as usize] = false);
    sets
}

fn sets_of_messages(period: &Period, left: Vec<(Job, u32)>, budget: &mut Budget) -> Vec<Set> {
    let &Period { family, late, ref jobs } = period;
    let bare: Vec<Job> = left.iter().map(|(job, _)| *job).collect();
    let parts = if left.len() == jobs.len() { vec![(0..left.len(), late)] } else { lower_bounds(&bare, budget) };
    let set = |(part, late): (std::ops::Range<usize>, u64)| {
        let needed = critical(&bare[part.clone()], late, budget);
        let jobs = left[part].iter().zip(needed).filter(|(_, needed)| *needed).map(|(job, _)| *job);
        Set { family, late, jobs: jobs.collect() }
    };
    parts.into_iter().map(set).collect()
}

fn sets_of_groups(period: &Period, left: Vec<(Job, u32)>, budget: &mut Budget) -> Vec<Set> {
    let &Period { family, late, ref jobs } = period;
    let all = left.len() == jobs.len();
    let set = |LateGroups { late, groups }: LateGroups| {
        let jobs = left.iter().filter(|(_, group)| groups.binary_search(group).is_ok()).copied();
        Set { family, late, jobs: jobs.collect() }
    };
    let found: Vec<Set> = groups::fewest(&left, budget).into_iter().map(set).collect();
    if all && sum(&found) < late { vec![Set { family, late, jobs: left }] } else { found }
}

/// Groups the periods into components that share no message.
fn components(periods: &[Period], messages: u32) -> Vec<Vec<usize>> {
    // Union-find: the parent of each period; a root is its own parent.
    let mut joined: Vec<usize> = (0..periods.len()).collect();
    fn root(joined: &mut [usize], mut period: usize) -> usize {
        while joined[period] != period {
            joined[period] = joined[joined[period]];
            period = joined[period];
        }
        period
    }
    let mut of_message = vec![None; messages as usize];
    for (number, period) in periods.iter().enumerate() {
        for (_, message) in &period.jobs {
            let other = *of_message[*message as usize].get_or_insert(number);
            let (a, b) = (root(&mut joined, number), root(&mut joined, other));
            joined[a.max(b)] = a.min(b);
        }
    }
    let mut members = vec![Vec::new(); periods.len()];
    for period in 0..periods.len() {
        members[root(&mut joined, period)].push(period);
    }
    members.retain(|members| !members.is_empty());
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: u64 = 1 << 40;

    /// Returns jobs of 3 until 5 with these messages: all but one are late.
    fn one_fits(family: u32, messages: &[u32]) -> Period {
        let jobs = messages.iter().map(|message| (Job { release: 0, due: 5, work: 3 }, *message));
        Period { family, late: messages.len() as u64 - 1, jobs: jobs.collect() }
    }

    fn late(periods: &[Period]) -> u64 {
        let sets = disjoint_sets(periods, 100, &mut Budget(PLENTY));
        let mut messages: Vec<u32> = sets.iter().flat_map(|set| set.jobs.iter().map(|(_, message)| *message)).collect();
        let all = messages.len();
        messages.sort_unstable();
        messages.dedup();
        assert_eq!(messages.len(), all, "no message is in two sets");
        sum(&sets)
    }

    #[test]
    fn periods_without_a_common_message_add_up() {
        assert_eq!(late(&[one_fits(0, &[1, 2]), one_fits(1, &[3, 4])]), 2);
        assert_eq!(late(&[one_fits(0, &[1, 2]), one_fits(1, &[2, 1])]), 1);
        assert_eq!(late(&[]), 0);
    }

    #[test]
    fn components_take_the_better_of_their_families() {
        // The receivers' sets have the larger sum on the left, the senders' on the right.
        let left = [one_fits(0, &[1, 2, 3, 4]), one_fits(1, &[1, 2])];
        let right = [one_fits(0, &[11, 12]), one_fits(1, &[11, 12, 13, 14])];
        assert_eq!(late(&[left, right].concat()), 6);
    }

    #[test]
    fn what_a_set_does_not_need_is_left_for_others() {
        // The third job of the first period is due long after; it is one of two at its sender.
        let mut first = one_fits(0, &[1, 2]);
        first.jobs.push((Job { release: 1, due: 100, work: 3 }, 3));
        assert_eq!(late(&[first, one_fits(1, &[3, 4])]), 2);
    }

    #[test]
    fn what_is_left_of_a_period_counts() {
        // Five at one receiver; the fifth is one of three at its sender, of which two are left.
        assert_eq!(late(&[one_fits(0, &[1, 2, 3, 4, 5]), one_fits(1, &[5, 6, 7])]), 5);
        // Only one message is left on either side, so nothing is added.
        assert_eq!(late(&[one_fits(0, &[1, 2, 3]), one_fits(1, &[3, 4])]), 2);
    }

    #[test]
    fn without_a_budget_one_family_counts() {
        let periods = [one_fits(0, &[1, 2, 3, 4, 5]), one_fits(1, &[5, 6, 7])];
        assert_eq!(sum(&disjoint_sets(&periods, 10, &mut Budget(0))), 4);
    }
}
