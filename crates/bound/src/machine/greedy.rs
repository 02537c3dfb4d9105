//! A schedule with few late jobs: their number is an upper bound on the fewest.

use super::edf::overload;
use super::{Budget, Job};

/// Steps of the budget for each job of an overload test.
const LOOK: u64 = 4;

/// Returns the number of jobs that [`left_out`] leaves out.
pub(super) fn late(jobs: &[Job], budget: &mut Budget) -> Option<u64> {
    left_out(jobs, budget).map(|out| out.iter().filter(|out| **out).count() as u64)
}

/// Leaves out the longest job of an overloaded interval until there is none, then takes back the jobs that still fit,
/// short ones first. None when the budget is spent during the first part.
pub(super) fn left_out(jobs: &[Job], budget: &mut Budget) -> Option<Vec<bool>> {
    let mut kept = vec![true; jobs.len()];
    let mut left_out = Vec::new();
    loop {
        if !budget.take(LOOK * jobs.len() as u64) {
            return None;
        }
        let Some(overload) = overload(jobs, |i| kept[i]) else { break };
        let inside = (0..jobs.len()).filter(|&i| kept[i] && overload.holds(&jobs[i]));
        let longest = inside.max_by_key(|&i| jobs[i].work).expect("an overloaded interval holds jobs");
        kept[longest] = false;
        left_out.push(longest);
    }
    left_out.sort_by_key(|&i| jobs[i].work);
    for i in left_out {
        if !budget.take(LOOK * jobs.len() as u64) {
            break;
        }
        kept[i] = true;
        kept[i] = overload(jobs, |i| kept[i]).is_none();
    }
    Some(kept.into_iter().map(|kept| !kept).collect())
}
