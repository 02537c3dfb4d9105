//! What threads leave for each other at a barrier.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use units::Instant;

use crate::net::part::Mail;

/// Boxes from each part to each other, and what each part says of itself. There are two sets, used in turns: nobody writes
/// into one before all have met a second time, and then everybody has read it.
pub struct Post {
    sets: [Set; 2],
}

struct Set {
    /// By part that sends, then by part that receives.
    boxes: Vec<Vec<Mutex<Vec<Mail>>>>,
    said: Vec<Said>,
}

/// What a part says: on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Said {
    /// When its next event comes, or what it has sent arrives.
    next: AtomicU64,
    /// How many events it has processed.
    events: AtomicU64,
    /// How often it has waited long for the others.
    long_waits: AtomicU64,
}

/// What parts say of themselves, or all together.
#[derive(Clone, Copy)]
pub struct Report {
    /// When the next event comes, or what was sent arrives.
    pub next: Instant,
    /// How many events there were.
    pub events: u64,
    /// How often one has waited long for others, since they began.
    pub long_waits: u64,
}

impl Post {
    /// For so many parts.
    pub fn new(parts: usize) -> Post {
        let boxes = || (0..parts).map(|_| (0..parts).map(|_| Mutex::default()).collect()).collect();
        let set = || Set { boxes: boxes(), said: (0..parts).map(|_| Said::default()).collect() };
        Post { sets: [set(), set()] }
    }

    /// In a round, a part reports, and leaves what it has for the others.
    pub fn leave(&self, round: u64, part: usize, report: Report, outgoing: &mut [Vec<Mail>]) {
        let set = self.set(round);
        set.said[part].next.store(report.next.0, Ordering::Relaxed);
        set.said[part].events.store(report.events, Ordering::Relaxed);
        set.said[part].long_waits.store(report.long_waits, Ordering::Relaxed);
        for (there, mail) in set.boxes[part].iter().zip(outgoing) {
            if !mail.is_empty() {
                let mut there = there.lock().unwrap_or_else(PoisonError::into_inner);
                debug_assert!(there.is_empty(), "what was left two rounds ago has been taken");
                std::mem::swap(&mut *there, mail);
            }
        }
    }

    /// What all have said in a round, after they have met.
    pub fn said(&self, round: u64) -> Report {
        let said = || self.set(round).said.iter();
        let next = said().map(|said| said.next.load(Ordering::Relaxed)).min();
        Report {
            next: next.map_or(Instant::MAX, Instant),
            events: said().map(|said| said.events.load(Ordering::Relaxed)).sum(),
            long_waits: said().map(|said| said.long_waits.load(Ordering::Relaxed)).sum(),
        }
    }

    /// Takes what was left for a part in a round.
    pub fn take(&self, round: u64, part: usize, mut receive: impl FnMut(Mail)) {
        for from in &self.set(round).boxes {
            let mut mail = from[part].lock().unwrap_or_else(PoisonError::into_inner);
            mail.drain(..).for_each(&mut receive);
        }
    }

    fn set(&self, round: u64) -> &Set {
        &self.sets[(round % 2) as usize]
    }
}
