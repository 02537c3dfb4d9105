//! The queue of one connection's messages: announcing, ending, cancelling and completing them, by hand and against
//! random sequences of calls.

use linux_law::*;

fn announcement(bytes: u64, deadline_ns: u64, written: u64) -> Announcement {
    Announcement { bytes, deadline_ns, written, tag: deadline_ns, ..Announcement::default() }
}

/// Returns begin and end of the queued messages.
fn spans(queue: &Queue) -> Vec<(u64, u64)> {
    queue.waiting().iter().map(|one| (one.begin, one.message.end)).collect()
}

#[test]
fn messages_follow_each_other_or_what_has_been_written() {
    let mut queue = Queue::default();
    for (bytes, written) in [(100, 0), (50, 0), (70, 300)] {
        assert_eq!(queue.announce(&announcement(bytes, 9, written)), Announced::Announced);
    }
    assert_eq!(spans(&queue), [(0, 100), (100, 150), (300, 370)]);
    queue.complete(149, 9);
    assert_eq!((queue.count, queue.met), (2, 1), "the last byte of the second is missing");
    queue.complete(370, 10);
    assert_eq!((queue.count, queue.met, queue.missed), (0, 1, 2), "one ns late is late");
}

#[test]
fn nothing_stands_for_all_that_has_been_written() {
    let mut queue = Queue::default();
    assert_eq!(queue.announce(&announcement(0, 5, 0)), Announced::Nothing);
    assert_eq!(queue.announce(&announcement(0, 5, 400)), Announced::Announced);
    assert_eq!(queue.announce(&announcement(0, 6, 700)), Announced::Announced);
    assert_eq!(spans(&queue), [(0, 400), (400, 700)]);
    // Nothing was written since: the last message gets another deadline.
    assert_eq!(queue.announce(&announcement(0, 8, 700)), Announced::Corrected);
    assert_eq!((queue.count, queue.waiting()[1].message.deadline_ns, queue.waiting()[1].tag), (2, 8, 8));
    // Everything is already acknowledged.
    queue.complete(700, 4);
    assert_eq!((queue.announce(&announcement(0, 9, 700)), queue.met), (Announced::Nothing, 2));
}

#[test]
fn a_reply_that_is_broken_off_ends_where_it_was() {
    let mut queue = Queue::default();
    queue.announce(&announcement(1000, 1, 0));
    queue.announce(&announcement(1000, 2, 0));
    // 300 bytes of the first were written when another message begins.
    let next = Announcement { flags: ENDS_PREVIOUS, now_ns: 1, ..announcement(50, 3, 300) };
    assert_eq!(queue.announce(&next), Announced::Announced);
    assert_eq!((spans(&queue), queue.cancelled), (vec![(0, 300), (300, 350)], 1));
    assert_eq!(queue.outcomes(), [Outcome { tag: 2, left_ns: 1, result: CANCELLED, number: 1 }]);
    // The same by announcing the bytes written so far.
    queue.announce(&announcement(1000, 4, 350));
    queue.announce(&announcement(0, 5, 400));
    assert_eq!(spans(&queue), [(0, 300), (300, 350), (350, 400)]);
    assert_eq!(queue.waiting()[2].tag, 5, "nothing of it but the deadline is new");
}

#[test]
fn what_is_cancelled_and_was_not_written_will_not_come() {
    let mut queue = Queue::default();
    (1..=4).for_each(|tag| _ = queue.announce(&announcement(100, tag, 0)));
    // 150 bytes are written, half of the second message. It and then the third are cancelled.
    queue.cancel(150, 2, 0);
    assert_eq!(spans(&queue), [(0, 100), (150, 250), (250, 350)]);
    queue.cancel(150, 3, 0);
    assert_eq!((spans(&queue), queue.last_end), (vec![(0, 100), (150, 250)], 250));
    queue.announce(&announcement(10, 9, 150));
    assert_eq!(spans(&queue)[2], (250, 260));
    // Already written: later messages keep their positions.
    queue.cancel(260, 1, 0);
    assert_eq!(spans(&queue), [(150, 250), (250, 260)]);
    queue.cancel(255, 0, 0);
    assert_eq!((queue.count, queue.cancelled, queue.last_end), (0, 5, 255));
    queue.cancel(255, 7, 0);
    assert_eq!(queue.cancelled, 5);
}

#[test]
fn a_full_queue_frees_itself_of_what_is_overdue() {
    let mut queue = Queue::default();
    (1..=32).for_each(|deadline| _ = queue.announce(&announcement(10, deadline, 0)));
    assert_eq!(queue.announce(&announcement(10, 99, 0)), Announced::Full);
    // At time 6, the deadlines of five have passed; two of them were written in time.
    let late = Announcement { now_ns: 6, ..announcement(10, 99, 20) };
    assert_eq!(queue.announce(&late), Announced::Announced);
    assert_eq!((queue.count, queue.missed), (30, 3));
    assert_eq!(spans(&queue)[..3], [(0, 10), (10, 20), (20, 30)]);
    assert_eq!(queue.last_end, 300);
}

#[test]
fn d_is_the_largest_of_all_that_wait() {
    let how = Parameters { cap: 16 * UNIT as u32, ..Parameters::default() };
    let ack = Ack { una: 0, mss: 1000, rtt_ns: 1_000_000, now_ns: 0, ..Ack::default() };
    let mut queue = Queue::default();
    // 30 segments at a window of 20: two round trips, 2 ms, of 8 ms; with the next 15 three, of 2 ms.
    queue.announce(&announcement(30_000, 8_000_000, 0));
    let d = |queue: &Queue| f64::from(queue.imminence(&how, 20 * UNIT, &ack)) / UNIT as f64;
    assert!((d(&queue) - 0.25).abs() < 1e-5, "a far deadline is below 1");
    queue.announce(&announcement(15_000, 2_000_000, 0));
    assert!((d(&queue) - 1.5).abs() < 1e-5, "{}", d(&queue));
    // A late deadline changes nothing.
    queue.announce(&announcement(1000, 1_000_000_000, 0));
    assert!((d(&queue) - 1.5).abs() < 1e-5);
    queue.cancel(0, 2_000_000, 0);
    assert!((d(&queue) - 0.25).abs() < 1e-5);
    assert_eq!(d(&Queue::default()), 1.0);
}

/// A small generator, with the same sequence on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn no_sequence_of_calls_leaves_a_queue_that_never_ends() {
    let mut draw = Draw(1);
    for _ in 0..2000 {
        let (mut queue, mut una, mut written, mut now, mut accepted) = (Queue::default(), 0u64, 0u64, 0u64, 0u64);
        for _ in 0..200 {
            now += draw.below(50);
            match draw.below(6) {
                0 => written += draw.below(200),
                1 => {
                    una += draw.below(written - una + 1);
                    queue.complete(una, now);
                }
                2 => queue.cancel(written, draw.below(5), now),
                _ => {
                    let wanted = Announcement {
                        bytes: draw.below(3) * draw.below(100),
                        deadline_ns: now + draw.below(300),
                        tag: draw.below(5),
                        written,
                        now_ns: now,
                        flags: draw.below(2) as u32,
                        reserved: 0,
                    };
                    accepted += u64::from(queue.announce(&wanted) == Announced::Announced);
                }
            }
            // Each message is counted once, the spans are in order, and none ends after `last_end`.
            assert_eq!(accepted, queue.met + queue.missed + queue.cancelled + u64::from(queue.count));
            let spans = spans(&queue);
            assert!(spans.iter().all(|(begin, end)| begin < end), "{spans:?}");
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
            assert!(spans.last().is_none_or(|(_, end)| *end <= queue.last_end));
        }
        // The program ends its last message.
        queue.announce(&Announcement {
            bytes: 0,
            deadline_ns: now + 1,
            written: written + 1,
            ..Announcement::default()
        });
        queue.complete(written + 1, now);
        assert_eq!(queue.count, 0);
    }
}
