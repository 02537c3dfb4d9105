//! The fewest late jobs, by a search over the jobs to leave out.
//!
//! At least one job of an overloaded interval must be left out. A job is harder than another if it is no shorter,
//! released no earlier and due no later. Wherever the harder one can be kept, the easier one can take its place. So
//! some best choice leaves out, with each job, all harder ones, and only the hardest of an interval are tried. A job
//! that was tried and kept must be kept in the later branches, with all easier jobs.

use super::edf::overload;
use super::{Budget, Fewest, Job, relax};

/// Returns the fewest late jobs; at least `least` and at most `most` are late. The jobs are in order of their release.
/// When the budget is spent before the answer is found, the result is a lower bound.
pub(super) fn fewest(jobs: &[Job], least: u64, most: u64, budget: &mut Budget) -> Fewest {
    let mut search = Search::of(jobs, budget);
    for late in least..most {
        match search.possible(late) {
            Some(true) => return Fewest { late, exact: true },
            Some(false) => {}
            None => return Fewest { late, exact: false },
        }
    }
    Fewest { late: most, exact: true }
}

/// Returns at most `late` jobs without which all others can be in time; none if there is no such set, or the budget is
/// spent.
pub(super) fn left_out(jobs: &[Job], late: u64, budget: &mut Budget) -> Option<Vec<bool>> {
    let mut search = Search::of(jobs, budget);
    (search.possible(late) == Some(true)).then_some(search.found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not decided in this branch.
    Open,
    /// Kept in this branch.
    Kept,
    /// Left out in this branch.
    Out,
}

struct Search<'a> {
    jobs: &'a [Job],
    states: Vec<State>,
    /// The jobs that a successful search leaves out.
    found: Vec<bool>,
    budget: &'a mut Budget,
}

impl<'a> Search<'a> {
    fn of(jobs: &'a [Job], budget: &'a mut Budget) -> Search<'a> {
        Search { jobs, states: vec![State::Open; jobs.len()], found: Vec::new(), budget }
    }

    /// Returns whether leaving out at most `more` undecided jobs lets all others be in time; none when the budget is
    /// spent.
    fn possible(&mut self, more: u64) -> Option<bool> {
        let n = self.jobs.len() as u64;
        if !self.budget.take(n * n) {
            return None;
        }
        let Some(overload) = overload(self.jobs, |i| self.states[i] != State::Out) else {
            self.found = self.states.iter().map(|state| *state == State::Out).collect();
            return Some(true);
        };
        let left = self.jobs.iter().zip(&self.states).filter(|(_, state)| **state != State::Out);
        if more == 0 || relax::quickly(left.map(|(job, _)| *job).collect()) > more {
            return Some(false);
        }
        let mut hardest: Vec<usize> =
            (0..self.jobs.len()).filter(|&i| overload.holds(&self.jobs[i]) && self.is_hardest(i)).collect();
        hardest.sort_by_key(|&i| std::cmp::Reverse(self.jobs[i].work));
        let before = self.states.clone();
        let mut found = Some(false);
        for i in hardest {
            self.states[i] = State::Out;
            found = self.possible(more - 1);
            if found != Some(false) {
                break;
            }
            self.keep(i);
            if crate::machine::overload(self.jobs, |i| self.states[i] == State::Kept).is_some() {
                break;
            }
        }
        self.states = before;
        found
    }

    /// Returns whether a job is open and no open job is harder.
    fn is_hardest(&self, i: usize) -> bool {
        let open = |i: usize| self.states[i] == State::Open;
        open(i) && !(0..self.jobs.len()).any(|other| open(other) && self.harder(other, i))
    }

    /// Returns whether `a` is harder than `b`; of equal jobs the first is the harder.
    fn harder(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.jobs[a], &self.jobs[b]);
        let no_easier = first.work >= second.work && first.release >= second.release && first.due <= second.due;
        no_easier && (first != second || a < b)
    }

    /// Keeps a job and all easier open jobs.
    fn keep(&mut self, i: usize) {
        self.states[i] = State::Kept;
        for other in 0..self.jobs.len() {
            if self.states[other] == State::Open && self.harder(i, other) {
                self.states[other] = State::Kept;
            }
        }
    }
}
