//! What threads leave for each other.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as Clock};

use units::{Instant, Span};

use super::cores;
use crate::net::part::{Mail, Outgoing};
use crate::net::ring::{Ring, Words};

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

/// The way from one part to another: a ring for nearly all that goes, and a box for what does not go by it.
struct Way {
    ring: Arc<Ring>,
    /// There is something in the box.
    any: AtomicBool,
    mail: Mutex<Mail>,
}

impl Way {
    /// From a part that has come so far.
    fn at(reached: Instant) -> Way {
        Way { ring: Arc::new(Ring::at(reached)), any: AtomicBool::new(false), mail: Mutex::default() }
    }

    /// Leaves what there is, and says how far the sender is.
    #[inline(always)]
    fn leave(&self, outgoing: &mut Outgoing, reached: Instant) {
        match outgoing.is_apart() {
            true => self.leave_apart(outgoing),
            false => outgoing.send(),
        }
        self.ring.reaches(reached);
    }

    #[inline(never)]
    fn leave_apart(&self, outgoing: &mut Outgoing) {
        // Who finds in the ring what is sent below finds the box full, too: paths must not come later than packets that take
        // them. And who opens it finds in the ring what was sent before.
        let mut there = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let mail = outgoing.mail(!self.any.load(Ordering::Acquire));
        if !mail.is_empty() {
            there.append(mail);
            self.any.store(true, Ordering::Release);
        }
        outgoing.send();
    }

    /// Takes what there is.
    #[inline(always)]
    fn take<R: Receiver>(&self, receiver: &mut R) {
        self.ring.take(|words| receiver.words(words));
        if self.any.load(Ordering::Acquire) {
            self.take_apart(receiver);
        }
    }

    #[inline(never)]
    fn take_apart<R: Receiver>(&self, receiver: &mut R) {
        let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        // What is in the box was sent after all that was in the ring then.
        self.ring.take(|words| receiver.words(words));
        receiver.mail(&mut mail);
        self.any.store(false, Ordering::Release);
    }
}

/// Who takes what has come.
pub trait Receiver {
    /// By a ring.
    fn words(&mut self, words: Words);
    /// By mail; it is to be emptied.
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
        self.ways[part][part].ring.reached()
    }

    /// How far a part can go: nothing reaches it before that.
    fn horizon(&self, part: usize, lookahead: Span) -> Instant {
        let others = self.ways[part].iter().zip(0..).filter(|(_, other)| *other != part);
        let slowest = others.map(|(way, _)| way.ring.reached()).min();
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

    /// What a part has for the others goes by rings from now on.
    pub fn opens(&self, part: usize, outgoing: &mut [Outgoing]) {
        let ways = self.ways.iter().zip(outgoing).zip(0..).filter(|(_, to)| *to != part);
        ways.for_each(|((to, outgoing), _)| outgoing.goes_by(Some(to[part].ring.clone())));
    }

    /// A part leaves what it has for the others, and has come so far.
    pub fn leave(&self, part: usize, reached: Instant, outgoing: &mut [Outgoing]) {
        for (to, outgoing) in self.ways.iter().zip(outgoing) {
            to[part].leave(outgoing, reached);
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
    use crate::net::part::Opened;
    use crate::notice::Notice;
    use units::{ConnectionId, LinkId};

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
                        post.leave(part, reached, &mut [Outgoing::default(), Outgoing::default(), Outgoing::default()]);
                    }
                });
            }
        });
    }

    impl Receiver for Vec<u64> {
        fn words(&mut self, [at, ..]: Words) {
            self.push(at);
        }
        fn mail(&mut self, mail: &mut Mail) {
            self.extend(mail.open().words.map(|[at, ..]| at));
        }
    }

    /// What goes by the ring of a way.
    fn by(way: &Way) -> Outgoing {
        let mut outgoing = Outgoing::default();
        outgoing.goes_by(Some(way.ring.clone()));
        outgoing
    }

    /// Notices that come at these times.
    fn put(outgoing: &mut Outgoing, times: std::ops::Range<u64>) {
        times.for_each(|at| outgoing.put(&Notice::Closes.to_words(Instant(at), ConnectionId(0))));
    }

    /// As many as the ring has room for, or more: those that go apart are not overtaken.
    #[test]
    fn what_goes_comes_in_order() {
        const STEPS: u64 = 4_000;
        let post = Post::new([Instant::ZERO; 2].into_iter());
        let mut stream = units::Stream::new(1, "packets", 0);
        let batches: Vec<u64> = (0..STEPS).map(|_| [0, 2, 30, 150, 300][stream.below(5) as usize]).collect();
        let goes = |part: usize, step: &mut dyn FnMut(u64, &mut Outgoing), came: &mut Vec<u64>| {
            let mut outgoing = [Outgoing::default(), Outgoing::default()];
            post.opens(part, &mut outgoing);
            for number in 0..STEPS {
                let reached = Instant(5 * (number + 1));
                while post.horizon(part, Span(20)) < reached {
                    thread::yield_now();
                }
                post.take(part, came);
                step(number, &mut outgoing[1 - part]);
                post.leave(part, reached, &mut outgoing);
            }
        };
        let (mut nothing, mut came, mut sent) = (Vec::new(), Vec::new(), 0);
        let mut sends = |number: u64, outgoing: &mut Outgoing| {
            let first = sent;
            sent += batches[number as usize];
            put(outgoing, first..sent);
        };
        thread::scope(|scope| {
            scope.spawn(|| goes(0, &mut sends, &mut nothing));
            goes(1, &mut |_, _| (), &mut came);
        });
        post.take(1, &mut came);
        assert!(nothing.is_empty());
        assert_eq!(came, (0..batches.iter().sum()).collect::<Vec<u64>>());
    }

    /// The box was filled after the receiver had looked at the ring.
    #[test]
    fn what_is_in_the_box_does_not_overtake_the_ring() {
        let (way, mut came) = (Way::at(Instant::ZERO), Vec::new());
        let mut outgoing = by(&way);
        put(&mut outgoing, 0..2);
        way.leave(&mut outgoing, Instant(1));
        put(&mut outgoing, 2..302);
        way.leave(&mut outgoing, Instant(2));
        assert!(way.any.load(Ordering::Acquire), "there is no room for all");
        way.take_apart(&mut came);
        assert_eq!(came, (0..302).collect::<Vec<u64>>());
    }

    /// The ring has room again, but what is in the box was sent before.
    #[test]
    fn what_is_in_the_box_is_not_overtaken() {
        let (way, mut came) = (Way::at(Instant::ZERO), Vec::new());
        let mut outgoing = by(&way);
        put(&mut outgoing, 0..300);
        way.leave(&mut outgoing, Instant(1));
        way.ring.take(|words| came.words(words));
        put(&mut outgoing, 300..302);
        way.leave(&mut outgoing, Instant(2));
        way.take(&mut came);
        assert_eq!(came, (0..302).collect::<Vec<u64>>());
        // It goes by the ring again when it is known that the box was emptied.
        put(&mut outgoing, 302..303);
        way.leave(&mut outgoing, Instant(3));
        way.take(&mut came);
        way.leave(&mut outgoing, Instant(4));
        put(&mut outgoing, 303..304);
        way.leave(&mut outgoing, Instant(5));
        assert!(!way.any.load(Ordering::Acquire));
        way.take(&mut came);
        assert_eq!(came, (0..304).collect::<Vec<u64>>());
    }

    /// What has come, and which paths are known.
    #[derive(Default)]
    struct Traveller {
        came: u64,
        known: u32,
    }

    impl Receiver for Traveller {
        fn words(&mut self, [at, ..]: Words) {
            self.came = at;
        }
        fn mail(&mut self, mail: &mut Mail) {
            let Opened { paths, words, .. } = mail.open();
            self.known = paths.map(|(position, _)| position).max().unwrap_or(self.known);
            self.came = words.map(|[at, ..]| at).next_back().unwrap_or(self.came);
        }
    }

    /// Whoever takes a packet knows its path then, though it may have been sent just now: arrivals are looked up ahead.
    #[test]
    fn no_packet_comes_before_its_path() {
        const STEPS: u64 = 100_000;
        let way = Way::at(Instant::ZERO);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut outgoing = by(&way);
                for number in 1..=STEPS {
                    outgoing.tell(number as u32, &[LinkId(0)]);
                    put(&mut outgoing, number..number + 1);
                    way.leave(&mut outgoing, Instant(number));
                }
            });
            let mut traveller = Traveller::default();
            while traveller.came < STEPS {
                way.take(&mut traveller);
                assert!(u64::from(traveller.known) >= traveller.came, "{} came before its path", traveller.came);
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
