//! Channels and mailboxes between threads.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as Clock};

use units::{Instant, Span};

use super::cores;
use crate::fabric::channel::{Mailbox, Outgoing};
use crate::schedule::ring::{Ring, Words};

/// The progress of each partition, and its items for each other.
///
/// There is no common barrier within a slice. Each partition advances as long as nothing that the slowest may still do
/// can reach it, receives its items, and publishes its progress. So a partition with more work at one time may be ahead
/// of the others at another.
pub(super) struct Mailboxes {
    /// By receiving partition, then by sending partition.
    channels: Vec<Vec<Channel>>,
    /// Number of threads that have begun, and the core of each.
    begun: AtomicUsize,
    cores: Vec<AtomicUsize>,
    /// All threads are to return, because one waits in vain.
    stopped: AtomicBool,
}

/// The channel from one partition to another: a ring for nearly all items, and a mailbox for the others.
struct Channel {
    ring: Arc<Ring>,
    /// The mailbox is not empty.
    any: AtomicBool,
    mail: Mutex<Mailbox>,
}

impl Channel {
    /// Returns an empty channel from a partition that has advanced to `reached`.
    fn at(reached: Instant) -> Channel {
        Channel { ring: Arc::new(Ring::at(reached)), any: AtomicBool::new(false), mail: Mutex::default() }
    }

    /// Publishes the outgoing items and the sender's progress.
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
        // A receiver that finds the items sent below in the ring finds the mailbox full, too: a route must not arrive
        // later than packets that take it. And a receiver that opens the mailbox finds all items sent before in the
        // ring.
        let mut there = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let mail = outgoing.mail(!self.any.load(Ordering::Acquire));
        if !mail.is_empty() {
            there.append(mail);
            self.any.store(true, Ordering::Release);
        }
        outgoing.send();
    }

    /// Receives all published items.
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
        // Mail was sent after all items that were in the ring then.
        self.ring.take(|words| receiver.words(words));
        receiver.mail(&mut mail);
        self.any.store(false, Ordering::Release);
    }
}

/// The receiving end of channels.
pub(super) trait Receiver {
    /// Receives an item from a ring.
    fn words(&mut self, words: Words);
    /// Receives a mailbox, which it must empty.
    fn mail(&mut self, mail: &mut Mailbox);
}

impl Mailboxes {
    /// Number of checks before a thread yields: some microseconds, about the time that others take to advance, if each
    /// has a core. A thread without one may be waiting for this one.
    const LOOKS: u32 = 256;
    /// Maximum wait before all threads return: longer than an epoch takes, if each has a core.
    const PATIENCE: Duration = Duration::from_millis(3);

    /// Returns empty channels between partitions that have advanced to these times.
    pub(super) fn new(reached: impl Iterator<Item = Instant>) -> Mailboxes {
        let reached: Vec<Instant> = reached.collect();
        let channels = || reached.iter().map(|reached| Channel::at(*reached)).collect();
        Mailboxes {
            channels: reached.iter().map(|_| channels()).collect(),
            begun: AtomicUsize::new(0),
            cores: reached.iter().map(|_| AtomicUsize::default()).collect(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Starts a thread, and waits until the others have started. Each continues on a core of its own, if there are
    /// enough.
    pub(super) fn wait_for_all(&self, part: usize) {
        self.cores[part].store(cores::here(), Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::AcqRel);
        while self.begun.load(Ordering::Acquire) < self.channels.len() {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            thread::yield_now();
        }
        let cores: Vec<usize> = self.cores.iter().map(|core| core.load(Ordering::Relaxed)).collect();
        cores::part(&cores, part);
    }

    /// Returns the time before which a partition has processed all events.
    pub(super) fn reached(&self, part: usize) -> Instant {
        self.channels[part][part].ring.reached()
    }

    /// Returns the time before which nothing can reach a partition.
    fn horizon(&self, part: usize, lookahead: Span) -> Instant {
        let others = self.channels[part].iter().zip(0..).filter(|(_, other)| *other != part);
        let slowest = others.map(|(way, _)| way.ring.reached()).min();
        slowest.unwrap_or(Instant::MAX).saturating_add(lookahead)
    }

    /// Waits until a partition can advance to `next`; returns its horizon then, or `None` if all threads are to return.
    pub(super) fn wait(&self, part: usize, lookahead: Span, next: Instant) -> Option<Instant> {
        let mut looks = 0;
        let mut since = None;
        loop {
            let horizon = self.horizon(part, lookahead);
            if horizon >= next {
                return Some(horizon);
            }
            if looks < Mailboxes::LOOKS {
                looks += 1;
                spin_loop();
                continue;
            }
            if since.get_or_insert_with(Clock::now).elapsed() > Mailboxes::PATIENCE {
                self.stop();
            }
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            thread::yield_now();
        }
    }

    /// Makes all threads return when they next wait.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Sends the outgoing items of a partition by rings from now on.
    pub(super) fn opens(&self, part: usize, outgoing: &mut [Outgoing]) {
        let channels = self.channels.iter().zip(outgoing).zip(0..).filter(|(_, to)| *to != part);
        channels.for_each(|((to, outgoing), _)| outgoing.goes_by(Some(to[part].ring.clone())));
    }

    /// Publishes the outgoing items of a partition, and its progress.
    pub(super) fn leave(&self, part: usize, reached: Instant, outgoing: &mut [Outgoing]) {
        for (to, outgoing) in self.channels.iter().zip(outgoing) {
            to[part].leave(outgoing, reached);
        }
    }

    /// Receives all items sent to a partition before the progress that [`wait`](Mailboxes::wait) saw.
    pub(super) fn take(&self, part: usize, receiver: &mut impl Receiver) {
        self.channels[part].iter().for_each(|way| way.take(receiver));
    }
}

/// Makes the other threads return when the thread that holds it panics.
pub(super) struct Presence<'a>(pub &'a Mailboxes);

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
    use crate::control_message::ControlMessage;
    use crate::fabric::channel::Opened;
    use units::{ConnectionId, LinkId};

    /// Three partitions, none of which may be ahead of another by more than the lookahead.
    #[test]
    fn nobody_is_further_ahead_than_the_lookahead() {
        const LOOKAHEAD: u64 = 10;
        let mailboxes = Mailboxes::new([Instant::ZERO; 3].into_iter());
        thread::scope(|scope| {
            for part in 0..3 {
                let mailboxes = &mailboxes;
                scope.spawn(move || {
                    let mut reached = Instant::ZERO;
                    while reached < Instant(20_000) {
                        let next = reached.saturating_add(Span(5));
                        if mailboxes.wait(part, Span(LOOKAHEAD), next).is_none() {
                            return;
                        }
                        reached = next;
                        // The others can only have advanced since.
                        assert!(reached <= mailboxes.horizon(part, Span(LOOKAHEAD)));
                        mailboxes.leave(
                            part,
                            reached,
                            &mut [Outgoing::default(), Outgoing::default(), Outgoing::default()],
                        );
                    }
                });
            }
        });
    }

    impl Receiver for Vec<u64> {
        fn words(&mut self, [at, ..]: Words) {
            self.push(at);
        }
        fn mail(&mut self, mail: &mut Mailbox) {
            self.extend(mail.open().words.map(|[at, ..]| at));
        }
    }

    /// Returns the sending end of a channel with a ring.
    fn by(way: &Channel) -> Outgoing {
        let mut outgoing = Outgoing::default();
        outgoing.goes_by(Some(way.ring.clone()));
        outgoing
    }

    /// Sends control messages for these times.
    fn put(outgoing: &mut Outgoing, times: std::ops::Range<u64>) {
        times.for_each(|at| outgoing.put(&ControlMessage::Closes.to_words(Instant(at), ConnectionId(0))));
    }

    /// As many as the ring has room for, or more: mail is not overtaken.
    #[test]
    fn what_goes_comes_in_order() {
        const STEPS: u64 = 4_000;
        let mailboxes = Mailboxes::new([Instant::ZERO; 2].into_iter());
        let mut stream = units::Stream::new(1, "packets", 0);
        let batches: Vec<u64> = (0..STEPS).map(|_| [0, 2, 30, 150, 300][stream.below(5) as usize]).collect();
        let goes = |part: usize, step: &mut dyn FnMut(u64, &mut Outgoing), came: &mut Vec<u64>| {
            let mut outgoing = [Outgoing::default(), Outgoing::default()];
            mailboxes.opens(part, &mut outgoing);
            for number in 0..STEPS {
                let reached = Instant(5 * (number + 1));
                while mailboxes.horizon(part, Span(20)) < reached {
                    thread::yield_now();
                }
                mailboxes.take(part, came);
                step(number, &mut outgoing[1 - part]);
                mailboxes.leave(part, reached, &mut outgoing);
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
        mailboxes.take(1, &mut came);
        assert!(nothing.is_empty());
        assert_eq!(came, (0..batches.iter().sum()).collect::<Vec<u64>>());
    }

    /// The mailbox was filled after the receiver had read the ring.
    #[test]
    fn what_is_in_the_box_does_not_overtake_the_ring() {
        let (way, mut came) = (Channel::at(Instant::ZERO), Vec::new());
        let mut outgoing = by(&way);
        put(&mut outgoing, 0..2);
        way.leave(&mut outgoing, Instant(1));
        put(&mut outgoing, 2..302);
        way.leave(&mut outgoing, Instant(2));
        assert!(way.any.load(Ordering::Acquire), "there is no room for all");
        way.take_apart(&mut came);
        assert_eq!(came, (0..302).collect::<Vec<u64>>());
    }

    /// The ring has room again, but the mail was sent before.
    #[test]
    fn what_is_in_the_box_is_not_overtaken() {
        let (way, mut came) = (Channel::at(Instant::ZERO), Vec::new());
        let mut outgoing = by(&way);
        put(&mut outgoing, 0..300);
        way.leave(&mut outgoing, Instant(1));
        way.ring.take(|words| came.words(words));
        put(&mut outgoing, 300..302);
        way.leave(&mut outgoing, Instant(2));
        way.take(&mut came);
        assert_eq!(came, (0..302).collect::<Vec<u64>>());
        // The ring is used again when it is known that the mailbox was emptied.
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

    /// The number of received packets, and the routes known.
    #[derive(Default)]
    struct Traveller {
        came: u64,
        known: u32,
    }

    impl Receiver for Traveller {
        fn words(&mut self, [at, ..]: Words) {
            self.came = at;
        }
        fn mail(&mut self, mail: &mut Mailbox) {
            let Opened { paths, words, .. } = mail.open();
            self.known = paths.map(|(position, _)| position).max().unwrap_or(self.known);
            self.came = words.map(|[at, ..]| at).next_back().unwrap_or(self.came);
        }
    }

    /// A receiver knows the route of a packet as soon as it takes the packet, even one sent just now: arrivals are
    /// prefetched.
    #[test]
    fn no_packet_comes_before_its_path() {
        const STEPS: u64 = 100_000;
        let way = Channel::at(Instant::ZERO);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut outgoing = by(&way);
                for number in 1..=STEPS {
                    outgoing.publish_route(number as u32, &[LinkId(0)]);
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
        let mailboxes = Mailboxes::new([Instant::ZERO; 4].into_iter());
        let arrived = AtomicUsize::new(0);
        thread::scope(|scope| {
            for part in 0..4 {
                let (mailboxes, arrived) = (&mailboxes, &arrived);
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(5 * part));
                    arrived.fetch_add(1, Ordering::SeqCst);
                    mailboxes.wait_for_all(part as usize);
                    assert_eq!(arrived.load(Ordering::SeqCst), 4);
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_one_that_has_panicked() {
        let mailboxes = Mailboxes::new([Instant::ZERO; 2].into_iter());
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _presence = Presence(&mailboxes);
                panic!("on purpose");
            });
            assert!(panics.join().is_err());
            assert_eq!(mailboxes.wait(0, Span(10), Instant(11)), None);
            // Nor for a thread that never begins.
            mailboxes.wait_for_all(0);
        });
    }
}
