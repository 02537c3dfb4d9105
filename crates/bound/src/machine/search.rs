//! The fewest late jobs by going through what can be left out.
//!
//! Of an overloaded interval at least one job must be left out. A job is harder than another if it is no
//! shorter, released no earlier and due no later; wherever the harder one can be kept, the easier one can
//! instead. So some best choice leaves out, with each job, all harder ones, and only the hardest of an interval
//! need to be tried. What was tried and kept must be kept in the branches after it, with all that is easier.

use super::edf::overload;
use super::{Budget, Fewest, Job, relax};

/// Of jobs in order of their release, of which at least `least` are late and `most` can be the late ones.
/// When the budget is spent before the answer is found, what is known by then is a lower bound.
pub fn fewest(jobs: &[Job], least: u64, most: u64, budget: &mut Budget) -> Fewest {
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

/// Jobs, not more than `late`, without which all others can be in time; none if there are none, or the budget is spent.
pub fn left_out(jobs: &[Job], late: u64, budget: &mut Budget) -> Option<Vec<bool>> {
    let mut search = Search::of(jobs, budget);
    (search.possible(late) == Some(true)).then_some(search.found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not decided.
    Open,
    /// Kept in this branch.
    Kept,
    /// Left out in this branch.
    Out,
}

struct Search<'a> {
    jobs: &'a [Job],
    states: Vec<State>,
    /// What is left out where the search has ended with success.
    found: Vec<bool>,
    budget: &'a mut Budget,
}

impl<'a> Search<'a> {
    fn of(jobs: &'a [Job], budget: &'a mut Budget) -> Search<'a> {
        Search { jobs, states: vec![State::Open; jobs.len()], found: Vec::new(), budget }
    }

    /// Whether leaving out `more` jobs that are not decided, or fewer, lets all others be in time; none when the
    /// budget is spent.
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

    /// Whether it is open and no open one is harder.
    fn is_hardest(&self, i: usize) -> bool {
        let open = |i: usize| self.states[i] == State::Open;
        open(i) && !(0..self.jobs.len()).any(|other| open(other) && self.harder(other, i))
    }

    /// Whether `a` is harder than `b`; of equal ones the first.
    fn harder(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.jobs[a], &self.jobs[b]);
        let no_easier = first.work >= second.work && first.release >= second.release && first.due <= second.due;
        no_easier && (first != second || a < b)
    }

    /// Keeps a job and all open ones that are easier.
    fn keep(&mut self, i: usize) {
        self.states[i] = State::Kept;
        for other in 0..self.jobs.len() {
            if self.states[other] == State::Open && self.harder(i, other) {
                self.states[other] = State::Kept;
            }
        }
    }
}
