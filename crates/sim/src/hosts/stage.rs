//! Checks that each event changes one host only.

use units::HostId;

#[cfg(debug_assertions)]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Restricts a run to one host at a time: an event at a host changes only ends of that host. So a rack can be a domain
/// of its own. Checked with debug assertions; a no-op otherwise.
#[derive(Clone, Default)]
pub(crate) struct Stage {
    /// The host that acts, plus [`Stage::FIRST`]; or no host yet, or all are examined from outside.
    #[cfg(debug_assertions)]
    acts: Arc<AtomicU64>,
}

#[cfg(debug_assertions)]
impl Stage {
    const WATCHED: u64 = 0;
    const NOBODY: u64 = 1;
    const FIRST: u64 = 2;

    /// Begins an event, in which no host acts yet.
    pub(crate) fn begins(&self) {
        self.acts.store(Stage::NOBODY, Ordering::Relaxed);
    }

    /// Permits access to all hosts from outside until the next event.
    pub(crate) fn watched(&self) {
        self.acts.store(Stage::WATCHED, Ordering::Relaxed);
    }

    /// Records a change of an end at this host, or of its state.
    #[track_caller]
    pub(crate) fn acts(&self, host: HostId) {
        let own = Stage::FIRST + u64::from(host.0);
        match self.acts.load(Ordering::Relaxed) {
            Stage::WATCHED => {}
            Stage::NOBODY => self.acts.store(own, Ordering::Relaxed),
            acting => assert!(acting == own, "host {} acts, and host {host} is touched", acting - Stage::FIRST),
        }
    }
}

#[cfg(not(debug_assertions))]
impl Stage {
    /// Begins an event, in which no host acts yet.
    #[inline(always)]
    pub(crate) fn begins(&self) {}
    /// Permits access to all hosts from outside until the next event.
    pub(crate) fn watched(&self) {}
    /// Records a change of an end at this host, or of its state.
    #[inline(always)]
    pub(crate) fn acts(&self, _: HostId) {}
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn one_host_acts_in_an_event_and_all_may_be_watched() {
        let stage = Stage::default();
        stage.begins();
        stage.acts(HostId(3));
        stage.clone().acts(HostId(3));
        stage.begins();
        stage.acts(HostId(4));
        stage.watched();
        (0..5).map(HostId).for_each(|host| stage.acts(host));
    }

    #[test]
    #[should_panic(expected = "host 3 acts, and host 4 is touched")]
    fn a_second_host_is_one_too_many() {
        let stage = Stage::default();
        stage.begins();
        [3, 4].map(HostId).into_iter().for_each(|host| stage.clone().acts(host));
    }
}
