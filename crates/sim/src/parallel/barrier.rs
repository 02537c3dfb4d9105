//! Where threads wait for each other.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// A barrier for windows of some microseconds, too short to sleep in: whoever waits looks again and again, and lets
/// others run when that has gone on for longer than a window takes.
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

    /// Waits for all others; false when one of them will not come. What any thread wrote before, all can read after.
    pub fn wait(&self) -> bool {
        let met = self.met.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.met.store(met.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut looks = 0;
        while self.met.load(Ordering::Acquire) == met {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            looks += 1;
            if looks % Barrier::LOOKS == 0 { thread::yield_now() } else { spin_loop() }
        }
        true
    }
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
                        assert!(barrier.wait());
                        assert_eq!(total.load(Ordering::Relaxed), 3 * round);
                        assert!(barrier.wait());
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
            assert!(!barrier.wait());
            assert!(panics.join().is_err());
        });
    }
}
