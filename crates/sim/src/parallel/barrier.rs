//! Where threads wait for each other.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// A barrier for windows of some microseconds, too short to sleep in: whoever waits looks again and again. Where that goes
/// on for longer than a window takes, some thread has no core: the one that waits lets others run, and says so.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// How often all have met.
    met: AtomicUsize,
    /// A thread has panicked, and will not come.
    broken: AtomicBool,
}

impl Barrier {
    /// So often a thread looks before it lets others run: some ten microseconds, which is more than it takes the others to
    /// finish a window, if each has a core.
    const LOOKS: u32 = 4096;

    /// For so many threads.
    pub fn new(threads: usize) -> Barrier {
        Barrier { threads, arrived: AtomicUsize::new(0), met: AtomicUsize::new(0), broken: AtomicBool::new(false) }
    }

    /// Waits for all others. What any thread wrote before, all can read after.
    pub fn wait(&self) -> Waited {
        let met = self.met.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.met.store(met.wrapping_add(1), Ordering::Release);
            return Waited::Shortly;
        }
        let mut looks = 0;
        while self.met.load(Ordering::Acquire) == met {
            if self.broken.load(Ordering::Relaxed) {
                return Waited::InVain;
            }
            if looks < Barrier::LOOKS {
                looks += 1;
                spin_loop();
            } else {
                thread::yield_now();
            }
        }
        if looks < Barrier::LOOKS { Waited::Shortly } else { Waited::Long }
    }
}

/// How a thread has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// As it should be.
    Shortly,
    /// For one that may have no core.
    Long,
    /// One has panicked.
    InVain,
}

/// Tells the others when the thread that holds it panics.
pub struct Presence<'a>(pub &'a Barrier);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_all_have_come() {
        let (barrier, total) = (Barrier::new(3), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=1000 {
                        total.fetch_add(1, Ordering::Relaxed);
                        assert_ne!(barrier.wait(), Waited::InVain);
                        assert_eq!(total.load(Ordering::Relaxed), 3 * round);
                        assert_ne!(barrier.wait(), Waited::InVain);
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_has_panicked() {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _presence = Presence(&barrier);
                panic!("on purpose");
            });
            assert_eq!(barrier.wait(), Waited::InVain);
            assert!(panics.join().is_err());
        });
    }
}
