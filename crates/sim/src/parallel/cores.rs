//! Initial placement of threads on cores.
//!
//! A system may start a new thread on the core of the thread that created it. If the two wait for each other in turns,
//! it may leave them there for some ten milliseconds although another core is idle. Then both take twice the time, or
//! longer. So a thread that finds another on its core moves once, and may be moved on from there.

/// Returns the core of this thread. If it is not known, returns no core's number, and [`part`] moves no thread.
pub(super) fn here() -> usize {
    #[cfg(target_os = "linux")]
    return rustix::thread::sched_getcpu();
    #[cfg(not(target_os = "linux"))]
    usize::MAX
}

/// Returns the core to which thread `number` should move. Threads on the core of an earlier thread get other cores of
/// `all`, as long as there are any.
#[cfg(any(test, target_os = "linux"))]
fn other(of: &[usize], number: usize, all: impl Iterator<Item = usize>) -> Option<usize> {
    let shares = |number: usize| of[..number].contains(&of[number]);
    let before = (0..number).filter(|number| shares(*number)).count();
    all.filter(|core| !of.contains(core)).nth(before).filter(|_| shares(number))
}

/// Moves thread `number` away from the cores of earlier threads.
pub(super) fn part(of: &[usize], number: usize) {
    #[cfg(target_os = "linux")]
    if let Ok(allowed) = rustix::thread::sched_getaffinity(None) {
        let all = (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        if let Some(core) = other(of, number, all) {
            let mut only = rustix::thread::CpuSet::new();
            only.set(core);
            // If it is not permitted, the thread stays.
            let _ = rustix::thread::sched_setaffinity(None, &only);
            let _ = rustix::thread::sched_setaffinity(None, &allowed);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (of, number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_core_gets_one_of_those_that_are_free() {
        let other = |of: &[usize]| (0..of.len()).map(|number| other(of, number, 2..6)).collect::<Vec<_>>();
        assert_eq!(other(&[2, 3, 4]), [None, None, None]);
        assert_eq!(other(&[3, 3]), [None, Some(2)]);
        assert_eq!(other(&[3, 5, 3, 5]), [None, None, Some(2), Some(4)]);
        assert_eq!(other(&[2, 2, 2, 2, 2]), [None, Some(3), Some(4), Some(5), None]);
    }

    /// For machines with two cores or more.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_moves_and_may_be_moved_again() {
        let allowed =
            rustix::thread::sched_getaffinity(None).expect("Linux returns the affinity of the calling thread");
        let moves = || {
            let before = here();
            part(&[before, before], 1);
            here() != before
        };
        // On a busy machine it may be moved back at once.
        assert_eq!((0..50).any(|_| moves()), allowed.count() > 1);
        assert_eq!(
            rustix::thread::sched_getaffinity(None).expect("Linux returns the affinity of the calling thread").count(),
            allowed.count()
        );
    }
}
