//! The choice of messages to be late, so that as few as possible are (Moore and Hodgson 1968).

use std::collections::BinaryHeap;

use units::{Instant, Span};

/// The rest of a message, as time on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// The time at which it should be complete.
    pub deadline: Instant,
    /// The time that it takes on the link.
    pub takes: Span,
}

/// Returns which of `jobs`, in the order of their deadlines, are to be late, if the link begins with them now. Of the
/// jobs up to the first late one, the longest is chosen, again and again. No choice leaves fewer late.
pub(super) fn shed(now: Instant, jobs: &[Job]) -> Vec<bool> {
    shed_some(now, jobs, |_| true)
}

/// Returns the same where only some of the jobs may be chosen: of those as few as possible are late.
pub(super) fn shed_some(now: Instant, jobs: &[Job], may_be: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut late = vec![false; jobs.len()];
    let mut kept: BinaryHeap<(Span, usize)> = BinaryHeap::new();
    let mut over = now;
    for (number, job) in jobs.iter().enumerate() {
        over = over.saturating_add(job.takes);
        if may_be(number) {
            kept.push((job.takes, number));
        }
        while over > job.deadline {
            let Some((takes, longest)) = kept.pop() else { break };
            late[longest] = true;
            over = Instant(over.0.saturating_sub(takes.0));
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    fn jobs(list: &[(u64, u64)]) -> Vec<Job> {
        list.iter().map(|&(deadline, takes)| Job { deadline: Instant(deadline), takes: Span(takes) }).collect()
    }

    /// The fewest late ones of any subset that is served in the order of deadlines.
    fn fewest(now: u64, jobs: &[Job]) -> u32 {
        let fits = |kept: u32| {
            let mut over = now;
            jobs.iter().enumerate().filter(|(number, _)| kept >> number & 1 == 1).all(|(_, job)| {
                over += job.takes.0;
                over <= job.deadline.0
            })
        };
        let all = jobs.len() as u32;
        (0..1u32 << all).filter(|&kept| fits(kept)).map(|kept| all - kept.count_ones()).min().unwrap_or(all)
    }

    #[test]
    fn the_longest_makes_room() {
        // At 7 two of three are over: 3 + 5 is more, so the 5 is shed, and 3 + 2 + 2 are in time.
        assert_eq!(shed(Instant(0), &jobs(&[(4, 3), (7, 5), (7, 2), (7, 2)])), [false, true, false, false]);
        assert_eq!(shed(Instant(10), &jobs(&[(9, 1), (20, 10), (30, 10)])), [true, false, false]);
    }

    #[test]
    fn no_choice_leaves_fewer_late() {
        let mut stream = Stream::new(1, "jobs", 0);
        let mut draw = |most: u64| (stream.unit() * most as f64) as u64;
        for _ in 0..500 {
            let count = 1 + draw(9);
            let now = draw(20);
            let mut list: Vec<(u64, u64)> = (0..count).map(|_| (draw(60), 1 + draw(20))).collect();
            list.sort_unstable();
            let jobs = jobs(&list);
            let late = shed(Instant(now), &jobs);
            assert_eq!(late.iter().filter(|late| **late).count() as u32, fewest(now, &jobs), "{now}: {list:?}");
        }
    }
}
