//! Earliest deadline first: a test of whether all jobs can be in time, with an overloaded interval as the proof if not.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::Job;

/// An interval that is shorter than the jobs that must be done within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overload {
    /// The earliest release of its jobs, in ps.
    pub from: u64,
    /// The latest deadline of its jobs, in ps.
    pub until: u64,
}

impl Overload {
    /// Returns whether a job must be done within the interval.
    pub(super) fn holds(&self, job: &Job) -> bool {
        job.release >= self.from && job.due <= self.until
    }
}

/// Divides the jobs of a machine, in order of their release, into busy periods. A period ends when a work-conserving
/// machine has done all released jobs. The times at which a machine is idle do not depend on the order of its jobs, and
/// leaving jobs out only adds idle time. So the periods are independent.
#[derive(Default)]
pub(super) struct BusyPeriods {
    period: Vec<Job>,
    free_at: u64,
}

impl BusyPeriods {
    /// Adds the next job, and returns the busy period that ended before it, if one did.
    pub(super) fn add(&mut self, job: Job) -> Option<Vec<Job>> {
        let over = if job.release >= self.free_at { self.end() } else { None };
        self.free_at = self.free_at.max(job.release).saturating_add(job.work);
        self.period.push(job);
        over
    }

    /// Ends the jobs of a machine, and returns its last busy period, if any. The next job is of another machine.
    pub(super) fn end(&mut self) -> Option<Vec<Job>> {
        self.free_at = 0;
        (!self.period.is_empty()).then(|| std::mem::take(&mut self.period))
    }
}

/// Returns whether all jobs of a busy period are in time when they are done in order of their release. O(n), and mostly
/// they are.
pub(super) fn in_turn(period: &[Job]) -> bool {
    let mut free_at = period.first().map_or(0, |job| job.release);
    period.iter().all(|job| {
        free_at = free_at.saturating_add(job.work);
        free_at <= job.due && free_at < u64::MAX
    })
}

/// Returns an interval in which the `kept` jobs cannot be done; none if all of them can be in time. The jobs are in
/// order of their release. O(n log n).
pub(super) fn overload(jobs: &[Job], kept: impl Fn(usize) -> bool) -> Option<Overload> {
    // The released jobs, the earliest due first: the deadline and the remaining work of each.
    let mut ready: BinaryHeap<(std::cmp::Reverse<u64>, u64)> = BinaryHeap::new();
    let mut coming = jobs.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, job)| job).peekable();
    let mut now = 0;
    loop {
        if ready.is_empty() {
            now = coming.peek()?.release.max(now);
        }
        while let Some(job) = coming.next_if(|job| job.release <= now) {
            ready.push((std::cmp::Reverse(job.due), job.work));
        }
        let Some(mut urgent) = ready.peek_mut() else { continue };
        let (std::cmp::Reverse(due), left) = *urgent;
        let Some(done) = now.checked_add(left).filter(|done| *done <= due) else {
            return Some(Overload { from: start_of(jobs, kept, due), until: due });
        };
        match coming.peek() {
            Some(next) if next.release < done => {
                urgent.1 = done - next.release;
                now = next.release;
            }
            _ => {
                now = done;
                PeekMut::pop(urgent);
            }
        }
    }
}

/// Returns the release of the first job in the busy period that ends after `until`, among the jobs that are due by
/// then.
fn start_of(jobs: &[Job], kept: impl Fn(usize) -> bool, until: u64) -> u64 {
    let (mut start, mut free_at) = (0, 0u128);
    let urgent = jobs.iter().enumerate().filter(|(i, job)| kept(*i) && job.due <= until);
    for (_, job) in urgent {
        let release = u128::from(job.release);
        if release >= free_at {
            start = job.release;
            free_at = release;
        }
        free_at += u128::from(job.work);
        if free_at > u128::from(until) {
            break;
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(release: u64, due: u64, work: u64) -> Job {
        Job { release, due, work }
    }

    #[test]
    fn a_later_but_more_urgent_job_goes_first() {
        let jobs = [job(0, 20, 10), job(2, 6, 4)];
        assert_eq!(overload(&jobs, |_| true), None);
        assert_eq!(overload(&[job(0, 13, 10), jobs[1]], |_| true), Some(Overload { from: 0, until: 13 }));
    }

    #[test]
    fn in_turn_is_enough_but_not_needed() {
        assert!(in_turn(&[job(3, 9, 2), job(4, 7, 2)]));
        assert!(!in_turn(&[job(0, 20, 10), job(2, 6, 4)]));
        assert!(in_turn(&[]));
    }

    #[test]
    fn the_interval_holds_more_work_than_time() {
        let jobs = [job(0, 100, 50), job(10, 16, 4), job(12, 16, 3), job(13, 300, 2)];
        let found = overload(&jobs, |_| true).unwrap();
        assert_eq!(found, Overload { from: 10, until: 16 });
        assert_eq!(overload(&jobs, |i| i != 2), None);
    }

    #[test]
    fn a_machine_is_idle_at_the_same_times_in_any_order() {
        let jobs = [job(0, 9, 2), job(1, 9, 2), job(4, 9, 1), job(6, 9, 1)];
        let mut periods = BusyPeriods::default();
        let mut over: Vec<usize> = jobs.iter().filter_map(|job| periods.add(*job)).map(|period| period.len()).collect();
        over.extend(periods.end().map(|period| period.len()));
        assert_eq!(over, [2, 1, 1]);
        assert_eq!(periods.end(), None);
        // The next machine has busy periods of its own.
        assert_eq!(periods.add(jobs[0]), None);
        assert_eq!(periods.add(jobs[2]), Some(vec![jobs[0]]));
    }
}
