//! A lower bound on the late jobs of an overloaded busy period, by forgetting some of the release times.
//!
//! Let all jobs that are released from a time a on begin at a. Moore and Hodgson's rule (Moore 1968; it needs equal
//! release times) then finds the fewest late among the jobs due by b. In order of the deadlines, whenever a job would
//! be late, it leaves out the longest so far. Without release times the jobs are only easier, so at least so many jobs
//! between a and b are late. Intervals that do not overlap have no job in common, so their numbers add up: the bound is
//! the largest sum. With time running backwards, deadlines are forgotten instead of releases; the larger of the two
//! counts.

use std::collections::BinaryHeap;

use super::Job;

/// Returns the jobs that Moore and Hodgson's rule leaves out if all may begin with the first, and (backwards) if all
/// may end with the last. At least so many are late; if the others can be in time after all, no more are.
pub(super) fn left_out(jobs: &[Job]) -> [Vec<bool>; 2] {
    [jobs.to_vec(), backwards(jobs)].map(|jobs| {
        let mut by_due: Vec<usize> = (0..jobs.len()).collect();
        by_due.sort_by_key(|&i| jobs[i].due);
        let mut out = vec![false; jobs.len()];
        let mut kept = BinaryHeap::new();
        let mut free_at = jobs.iter().map(|job| u128::from(job.release)).min().unwrap_or(0);
        for i in by_due {
            kept.push((jobs[i].work, i));
            free_at += u128::from(jobs[i].work);
            if free_at > u128::from(jobs[i].due) {
                let (work, longest) = kept.pop().expect("the job that was pushed above");
                free_at -= u128::from(work);
                out[longest] = true;
            }
        }
        out
    })
}

fn end(jobs: &[Job]) -> u64 {
    jobs.iter().map(|job| job.due).max().unwrap_or(0)
}

/// Returns the jobs with time running backwards.
fn backwards(jobs: &[Job]) -> Vec<Job> {
    let end = end(jobs);
    jobs.iter().map(|job| Job { release: end - job.due, due: end - job.release, work: job.work }).collect()
}

/// Returns a lower bound on the late jobs. Examines intervals that begin (or, backwards, end) at `max_starts` different
/// times, at least one: that many times O(n log n).
pub(super) fn fewest(jobs: &[Job], max_starts: u64) -> u64 {
    intervals(jobs, max_starts).0
}

/// Returns the same as [`fewest`], with disjoint intervals whose jobs alone have as many late ones.
pub(super) fn intervals(jobs: &[Job], max_starts: u64) -> (u64, Vec<(u64, u64)>) {
    let [forwards, (late, mirrored)] = [jobs.to_vec(), backwards(jobs)].map(|jobs| {
        let starts = starts(&jobs, max_starts.max(1));
        of_disjoint_intervals(jobs, &starts)
    });
    if forwards.0 >= late {
        return forwards;
    }
    let end = end(jobs);
    (late, mirrored.into_iter().map(|(from, until)| (end - until, end - from)).collect())
}

/// Returns the same as [`fewest`] of all intervals, with time running forwards only.
pub(super) fn quickly(jobs: Vec<Job>) -> u64 {
    let starts = starts(&jobs, u64::MAX);
    of_disjoint_intervals(jobs, &starts).0
}

/// Returns the distinct release times in order; of more than `most`, the first and others evenly among them.
fn starts(jobs: &[Job], most: u64) -> Vec<u64> {
    let mut starts: Vec<u64> = jobs.iter().map(|job| job.release).collect();
    starts.sort_unstable();
    starts.dedup();
    let n = starts.len() as u64;
    if n <= most { starts } else { (0..most).map(|i| starts[(i * n / most) as usize]).collect() }
}

/// Returns the largest sum over disjoint intervals that begin at one of `starts`, with these intervals.
fn of_disjoint_intervals(mut jobs: Vec<Job>, starts: &[u64]) -> (u64, Vec<(u64, u64)>) {
    jobs.sort_by_key(|job| job.due);
    // For each start: the largest sum over intervals that begin at it or later, the end of the interval that begins at
    // it (if one does), and the index of the start of the next interval.
    let mut from = vec![0; starts.len() + 1];
    let mut first = vec![(None, starts.len()); starts.len()];
    let mut kept: BinaryHeap<u64> = BinaryHeap::new();
    for (i, &start) in starts.iter().enumerate().rev() {
        let (mut next, mut late, mut best) = (i + 1, 0, from[i + 1]);
        first[i] = (None, i + 1);
        let mut free_at = u128::from(start);
        kept.clear();
        for job in jobs.iter().filter(|job| job.release >= start) {
            kept.push(job.work);
            free_at += u128::from(job.work);
            if free_at > u128::from(job.due) {
                free_at -= u128::from(kept.pop().expect("the job that was pushed above"));
                late += 1;
                while starts.get(next).is_some_and(|&start| start < job.due) {
                    next += 1;
                }
                if late + from[next] > best {
                    best = late + from[next];
                    first[i] = (Some(job.due), next);
                }
            }
        }
        from[i] = best;
    }
    let (mut chosen, mut at) = (Vec::new(), 0);
    while let Some(&(end, next)) = first.get(at) {
        chosen.extend(end.map(|end| (starts[at], end)));
        at = next;
    }
    (from[0], chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(release: u64, due: u64, work: u64) -> Job {
        Job { release, due, work }
    }

    #[test]
    fn of_equal_release_times_it_is_exact() {
        // Moore's own kind of example: the longest are left out.
        let jobs = vec![job(0, 6, 4), job(0, 7, 3), job(0, 8, 2), job(0, 9, 5), job(0, 11, 6)];
        assert_eq!(quickly(jobs), 2);
    }

    #[test]
    fn a_burst_is_solved_at_once() {
        let jobs = [job(0, 6, 4), job(1, 7, 3), job(1, 8, 2), job(2, 9, 5), job(2, 11, 6)];
        let late = |out: &Vec<bool>| out.iter().filter(|out| **out).count();
        let [forwards, backwards] = left_out(&jobs);
        assert_eq!((forwards, late(&backwards)), (vec![true, false, false, true, false], 2));
    }

    #[test]
    fn intervals_that_do_not_overlap_add_up() {
        let jobs = vec![job(0, 10, 6), job(0, 10, 6), job(10, 20, 6), job(10, 20, 6), job(0, 40, 19)];
        assert_eq!(quickly(jobs.clone()), 2);
        // With one start there is one interval.
        assert_eq!(fewest(&jobs, 1), 1);
    }

    #[test]
    fn equal_deadlines_are_seen_backwards() {
        // Forwards each start sees enough room; backwards all must be done within the last 10.
        let jobs = [job(0, 10, 1), job(8, 10, 2), job(9, 10, 1), job(8, 10, 1)];
        assert_eq!(fewest(&jobs, u64::MAX), 1);
    }
}
