//! What threads leave for each other.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as Clock};

use units::{Instant, Span};

use super::cores;
use crate::net::part::{Mail, Words};

/// How far each part has come, and what each has for each other.
///
/// No part waits for all others to meet: each goes on for as long as nothing can reach it of what the slowest may still do,
/// takes what has come, and says how far it is. So one that has more to do at a time is ahead of the others at another.
pub struct Post {
    /// By part that receives, then by part that sends.
    ways: Vec<Vec<Way>>,
    /// How many have begun, and by part on which core.
    begun: AtomicUsize,
    cores: Vec<AtomicUsize>,
    /// All are to come back: one waits in vain.
    stopped: AtomicBool,
}

/// The way from one part to another.
///
/// Nearly all that goes are packets with nothing beside. They go by a ring: whoever sends writes there and never waits for a
/// cache line that the other has, nor does it read one. The rest, and what the ring has no room for, goes by a box.
#[derive(Default)]
struct Way {
    front: Front,
    back: Back,
    ring: Vec<Line>,
    mail: Mutex<Mail>,
}

/// What the sender says. On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Front {
    /// It has processed all that comes before this.
    reached: AtomicU64,
    /// So many packets have been put into the ring.
    sent: AtomicU64,
    /// There is something in the box; and packets may be there, which those behind them must not overtake.
    any: AtomicBool,
    packets_apart: AtomicBool,
    /// What it knows of how many were taken from the ring.
    known: AtomicU64,
}

/// What the receiver says. On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Back {
    /// So many packets were taken from the ring.
    taken: AtomicU64,
}

/// A packet in a ring: a cache line.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; Line::WORDS]);

impl Line {
    const WORDS: usize = 7;

    #[inline(always)]
    fn put(&self, packet: Words) {
        self.0.iter().zip(packet).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    }
    #[inline(always)]
    fn get(&self) -> Words {
        std::array::from_fn(|word| self.0[word].load(Ordering::Relaxed))
    }
}

impl Way {
    /// A window has seldom more packets.
    const ROOM: usize = 256;

    /// From a part that has come so far.
    fn at(reached: Instant) -> Way {
        let front = Front { reached: AtomicU64::new(reached.0), ..Front::default() };
        Way { front, ring: (0..Way::ROOM).map(|_| Line::default()).collect(), ..Way::default() }
    }

    fn reached(&self) -> Instant {
        Instant(self.front.reached.load(Ordering::Acquire))
    }

    /// Whether so many more packets may go by the ring.
    fn has_room(&self, packets: usize) -> bool {
        let Front { sent, any, packets_apart, known, .. } = &self.front;
        if packets_apart.load(Ordering::Relaxed) {
            if any.load(Ordering::Acquire) {
                return false;
            }
            packets_apart.store(false, Ordering::Relaxed);
        }
        let sent = sent.load(Ordering::Relaxed) as usize + packets;
        let fits = |taken: u64| sent - taken as usize <= Way::ROOM;
        fits(known.load(Ordering::Relaxed)) || {
            // Who has taken a packet has read it before that.
            let taken = self.back.taken.load(Ordering::Acquire);
            known.store(taken, Ordering::Relaxed);
            fits(taken)
        }
    }

    /// Leaves what there is, and says how far the sender is.
    fn leave(&self, mail: &mut Mail, reached: Instant) {
        let packets = mail.packets();
        let mut sent = self.front.sent.load(Ordering::Relaxed);
        if packets > 0 && self.has_room(packets) {
            for packet in mail.plain().into_iter().flatten() {
                self.ring[sent as usize % Way::ROOM].put(packet);
                sent += 1;
            }
        }
        if !mail.is_empty() {
            self.leave_apart(mail);
        }
        self.front.sent.store(sent, Ordering::Release);
        self.front.reached.store(reached.0, Ordering::Release);
    }

    #[inline(never)]
    fn leave_apart(&self, mail: &mut Mail) {
        let mut there = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        if mail.packets() > 0 {
            self.front.packets_apart.store(true, Ordering::Relaxed);
        }
        there.append(mail);
        self.front.any.store(true, Ordering::Release);
    }

    /// Takes what there is.
    #[inline(always)]
    fn take<R: Receiver>(&self, receiver: &mut R) {
        self.take_from_ring(receiver);
        if self.front.any.load(Ordering::Acquire) {
            self.take_apart(receiver);
        }
    }

    #[inline(always)]
    fn take_from_ring<R: Receiver>(&self, receiver: &mut R) {
        let sent = self.front.sent.load(Ordering::Acquire);
        let taken = self.back.taken.load(Ordering::Relaxed);
        for place in taken..sent {
            receiver.packet(self.ring[place as usize % Way::ROOM].get());
        }
        if sent > taken {
            self.back.taken.store(sent, Ordering::Release);
        }
    }

    #[inline(never)]
    fn take_apart<R: Receiver>(&self, receiver: &mut R) {
        let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        // What is in the box was sent after all that was in the ring then.
        self.take_from_ring(receiver);
        receiver.mail(&mut mail);
        self.front.any.store(false, Ordering::Release);
    }
}

/// Who takes what has come.
pub trait Receiver {
    /// A packet with nothing beside.
    fn packet(&mut self, packet: Words);
    /// All else; it is to be emptied.
    fn mail(&mut self, mail: &mut Mail);
}

impl Post {
    /// So often a thread looks before it lets others run: some microseconds, which is about what it takes the others to go
    /// on, if each has a core. If one has none, it may be waiting for this one.
    const LOOKS: u32 = 256;
    /// So long a thread waits before all come back: longer than a window takes, if each has a core.
    const PATIENCE: Duration = Duration::from_millis(3);

    /// For parts that have come so far.
    pub fn new(reached: impl Iterator<Item = Instant>) -> Post {
        let reached: Vec<Instant> = reached.collect();
        let ways = || reached.iter().map(|reached| Way::at(*reached)).collect();
        Post {
            ways: reached.iter().map(|_| ways()).collect(),
            begun: AtomicUsize::new(0),
            cores: reached.iter().map(|_| AtomicUsize::default()).collect(),
            stopped: AtomicBool::new(false),
        }
    }

    /// A part has begun, and waits for the others to have. Each goes on from a core of its own, if there are enough.
    pub fn gather(&self, part: usize) {
        self.cores[part].store(cores::here(), Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::AcqRel);
        while self.begun.load(Ordering::Acquire) < self.ways.len() {
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
        self.ways[part][part].reached()
    }

    /// How far a part can go: nothing reaches it before that.
    fn horizon(&self, part: usize, lookahead: Span) -> Instant {
        let others = self.ways[part].iter().zip(0..).filter(|(_, other)| *other != part);
        let slowest = others.map(|(way, _)| way.reached()).min();
        slowest.unwrap_or(Instant::MAX).saturating_add(lookahead)
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
        for (to, mail) in self.ways.iter().zip(outgoing) {
            to[part].leave(mail, reached);
        }
    }

    /// Takes what was left for a part: all that others have sent before they had come as far as [`wait`](Post::wait) saw.
    pub fn take(&self, part: usize, receiver: &mut impl Receiver) {
        self.ways[part].iter().for_each(|way| way.take(receiver));
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
                        post.leave(part, reached, &mut [Mail::default(), Mail::default(), Mail::default()]);
                    }
                });
            }
        });
    }

    impl Receiver for Vec<u64> {
        fn packet(&mut self, [at, ..]: Words) {
            self.push(at);
        }
        fn mail(&mut self, mail: &mut Mail) {
            self.extend(mail.plain().into_iter().flatten().map(|[at, ..]| at));
        }
    }

    /// As many as the ring has room for, or more: those that go apart are not overtaken.
    #[test]
    fn packets_come_in_the_order_in_which_they_went() {
        const STEPS: u64 = 4_000;
        let post = Post::new([Instant::ZERO; 2].into_iter());
        let mut stream = units::Stream::new(1, "packets", 0);
        let batches: Vec<u64> = (0..STEPS).map(|_| [0, 2, 30, 150, 300][stream.below(5) as usize]).collect();
        let goes = |part: usize, mut step: Box<dyn FnMut(u64) -> Mail + '_>, came: &mut Vec<u64>| {
            for number in 0..STEPS {
                let reached = Instant(5 * (number + 1));
                while post.horizon(part, Span(20)) < reached {
                    thread::yield_now();
                }
                post.take(part, came);
                let mut mail = [Mail::default(), Mail::default()];
                mail[1 - part] = step(number);
                post.leave(part, reached, &mut mail);
                assert!(mail.iter().all(Mail::is_empty));
            }
        };
        let (mut nothing, mut came, mut sent) = (Vec::new(), Vec::new(), 0);
        let sends = |number: u64| {
            let first = sent;
            sent += batches[number as usize];
            Mail::coming_at(first..sent)
        };
        thread::scope(|scope| {
            scope.spawn(|| goes(0, Box::new(sends), &mut nothing));
            goes(1, Box::new(|_| Mail::default()), &mut came);
        });
        post.take(1, &mut came);
        assert!(nothing.is_empty());
        assert_eq!(came, (0..batches.iter().sum()).collect::<Vec<u64>>());
    }

    /// The box was filled after the receiver had looked at the ring.
    #[test]
    fn what_is_in_the_box_does_not_overtake_the_ring() {
        let (way, mut came) = (Way::at(Instant::ZERO), Vec::new());
        way.leave(&mut Mail::coming_at(0..2), Instant(1));
        way.leave(&mut Mail::coming_at(2..302), Instant(2));
        way.take_apart(&mut came);
        assert_eq!(came, (0..302).collect::<Vec<u64>>());
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
