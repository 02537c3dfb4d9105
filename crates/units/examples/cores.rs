//! The latency of communication between two threads, which `bench/threads.py` writes beside the gain from threads.
//!
//!     cores
//!
//! prints nanoseconds from when a thread writes a word until it reads the other's answer: the median of some runs.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// A word on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Word(AtomicU64);

impl Word {
    fn wait_for(&self, value: u64) {
        while self.0.load(Ordering::Acquire) < value {
            spin_loop();
        }
    }
}

const RUNS: usize = 21;
const WORDS: u64 = 20_000;

fn main() {
    let (ask, answer) = (Word::default(), Word::default());
    let mut times = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for word in 1..=WORDS * RUNS as u64 {
                ask.wait_for(word);
                answer.0.store(word, Ordering::Release);
            }
        });
        for run in 0..RUNS as u64 {
            let begin = Instant::now();
            for word in run * WORDS + 1..=(run + 1) * WORDS {
                ask.0.store(word, Ordering::Release);
                answer.wait_for(word);
            }
            times.push(begin.elapsed().as_nanos() as f64 / WORDS as f64);
        }
    });
    times.sort_by(f64::total_cmp);
    println!("{:.0}", times[RUNS / 2]);
}
