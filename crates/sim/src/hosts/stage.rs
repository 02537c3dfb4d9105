//! Who may be touched in one event.

use units::HostId;

#[cfg(debug_assertions)]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Holds a run to one host at a time: what happens in one event at a host touches ends of that host alone, so that a
/// rack can be a domain of its own. Checked where debug assertions are on; elsewhere it is nothing.
#[derive(Clone, Default)]
pub struct Stage {
    /// The host that acts, plus [`Stage::NOBODY`]; or everybody is looked at from outside.
    #[cfg(debug_assertions)]
    acts: Arc<AtomicU64>,
}

#[cfg(debug_assertions)]
impl Stage {
    const WATCHED: u64 = 0;
    const NOBODY: u64 = 1;
    const FIRST: u64 = 2;

    /// An event begins; nobody acts yet.
    pub fn begins(&self) {
        self.acts.store(Stage::NOBODY, Ordering::Relaxed);
    }

    /// Hosts are looked at from outside, all at once, until the next event.
    pub fn watched(&self) {
        self.acts.store(Stage::WATCHED, Ordering::Relaxed);
    }

    /// An end at this host, or its state, is touched.
    #[track_caller]
    pub fn acts(&self, host: HostId) {
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
    /// An event begins; nobody acts yet.
    #[inline(always)]
    pub fn begins(&self) {}
    /// Hosts are looked at from outside, all at once, until the next event.
    pub fn watched(&self) {}
    /// An end at this host, or its state, is touched.
    #[inline(always)]
    pub fn acts(&self, _: HostId) {}
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
