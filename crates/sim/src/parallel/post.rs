//! What threads leave for each other.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as Clock};

use units::{Instant, Span};

use super::cores;
use crate::net::part::Mail;

/// How far each part has come, and boxes from each to each other.
///
/// No part waits for all others to meet: each goes on for as long as nothing can reach it of what the slowest may still do,
/// takes what has come, and says how far it is. So one that has more to do at a time is ahead of the others at another.
pub struct Post {
    /// By part.
    reached: Vec<Reached>,
    /// By part that receives, then by part that sends.
    boxes: Vec<Vec<Letters>>,
    /// How many have begun, and by part on which core.
    begun: AtomicUsize,
    cores: Vec<AtomicUsize>,
    /// All are to come back: one waits in vain.
    stopped: AtomicBool,
}

/// A part has processed all that comes before this. On cache lines of its own.
#[repr(align(128))]
struct Reached(AtomicU64);

/// What one part has for another. On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Letters {
    any: AtomicBool,
    mail: Mutex<Mail>,
}

impl Post {
    /// So often a thread looks before it lets others run: some microseconds, which is about what it takes the others to go
    /// on, if each has a core. If one has none, it may be waiting for this one.
    const LOOKS: u32 = 256;
    /// So long a thread waits before all come back: longer than a window takes, if each has a core.
    const PATIENCE: Duration = Duration::from_millis(3);

    /// For parts that have come so far.
    pub fn new(reached: impl Iterator<Item = Instant>) -> Post {
        let reached: Vec<Reached> = reached.map(|reached| Reached(AtomicU64::new(reached.0))).collect();
        let boxes = || (0..reached.len()).map(|_| Letters::default()).collect();
        Post {
            boxes: (0..reached.len()).map(|_| boxes()).collect(),
            begun: AtomicUsize::new(0),
            cores: reached.iter().map(|_| AtomicUsize::default()).collect(),
            reached,
            stopped: AtomicBool::new(false),
        }
    }

    /// A part has begun, and waits for the others to have. Each goes on from a core of its own, if there are enough.
    pub fn gather(&self, part: usize) {
        self.cores[part].store(cores::here(), Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::AcqRel);
        while self.begun.load(Ordering::Acquire) < self.reached.len() {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            thread::yield_now();
        }
        let cores: Vec<usize> = self.cores.iter().map(|core| core.load(Ordering::Relaxed)).collect();
        cores::part(&cores, part);
    }

    /// A part has processed all that comes before this.
    pub fn reached(&self, part: usize) -> Instant {
        Instant(self.reached[part].0.load(Ordering::Relaxed))
    }

    /// How far a part can go: nothing reaches it before that.
    fn horizon(&self, part: usize, lookahead: Span) -> Instant {
        let others = self.reached.iter().zip(0..).filter(|(_, other)| *other != part);
        let slowest = others.map(|(reached, _)| reached.0.load(Ordering::Acquire)).min();
        Instant(slowest.unwrap_or(u64::MAX)).saturating_add(lookahead)
    }

    /// Waits until a part can go on to `next`, and gives how far it can go then; none when all come back instead.
    pub fn wait(&self, part: usize, lookahead: Span, next: Instant) -> Option<Instant> {
        let mut looks = 0;
        let mut since = None;
        loop {
            let horizon = self.horizon(part, lookahead);
            if horizon >= next {
                return Some(horizon);
            }
            if looks < Post::LOOKS {
                looks += 1;
                spin_loop();
                continue;
            }
            if since.get_or_insert_with(Clock::now).elapsed() > Post::PATIENCE {
                self.stop();
            }
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            thread::yield_now();
        }
    }

    /// All come back when they next wait.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// A part leaves what it has for the others, and has come so far.
    pub fn leave(&self, part: usize, reached: Instant, outgoing: &mut [Mail]) {
        for (to, mail) in self.boxes.iter().zip(outgoing) {
            if !mail.is_empty() {
                let letters = &to[part];
                let mut there = letters.mail.lock().unwrap_or_else(PoisonError::into_inner);
                if there.is_empty() {
                    std::mem::swap(&mut *there, mail)
                } else {
                    there.append(mail)
                }
                letters.any.store(true, Ordering::Relaxed);
            }
        }
        self.reached[part].0.store(reached.0, Ordering::Release);
    }

    /// Takes what was left for a part: all that others have sent before they had come as far as [`wait`](Post::wait) saw.
    pub fn take(&self, part: usize, mut receive: impl FnMut(&mut Mail)) {
        for letters in self.boxes[part].iter().filter(|letters| letters.any.load(Ordering::Relaxed)) {
            let mut mail = letters.mail.lock().unwrap_or_else(PoisonError::into_inner);
            letters.any.store(false, Ordering::Relaxed);
            receive(&mut mail);
        }
    }
}

/// Brings the others back when the thread that holds it panics.
pub struct Presence<'a>(pub &'a Post);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three parts, of which none may be further ahead of another than the lookahead.
    #[test]
    fn nobody_is_further_ahead_than_the_lookahead() {
        const LOOKAHEAD: u64 = 10;
        let post = Post::new([Instant::ZERO; 3].into_iter());
        thread::scope(|scope| {
            for part in 0..3 {
                let post = &post;
                scope.spawn(move || {
                    let mut reached = Instant::ZERO;
                    while reached < Instant(20_000) {
                        let next = reached.saturating_add(Span(5));
                        if post.wait(part, Span(LOOKAHEAD), next).is_none() {
                            return;
                        }
                        reached = next;
                        // The others can only have gone on since.
                        assert!(reached <= post.horizon(part, Span(LOOKAHEAD)));
                        post.leave(part, reached, &mut []);
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_goes_on_before_all_have_begun() {
        let post = Post::new([Instant::ZERO; 4].into_iter());
        let arrived = AtomicUsize::new(0);
        thread::scope(|scope| {
            for part in 0..4 {
                let (post, arrived) = (&post, &arrived);
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(5 * part));
                    arrived.fetch_add(1, Ordering::SeqCst);
                    post.gather(part as usize);
                    assert_eq!(arrived.load(Ordering::SeqCst), 4);
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_has_panicked() {
        let post = Post::new([Instant::ZERO; 2].into_iter());
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _presence = Presence(&post);
                panic!("on purpose");
            });
            assert!(panics.join().is_err());
            assert_eq!(post.wait(0, Span(10), Instant(11)), None);
            // Nor for one that never begins.
            post.gather(0);
        });
    }
}
