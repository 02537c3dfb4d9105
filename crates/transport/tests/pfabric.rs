//! pFabric's sending end, fed by hand: the priorities of its packets, its detection of losses, and its aborts. Segments
//! have 1000 B.

use super::common;

use common::{Bench, MSS};
use transport::{Flags, Packet};
use units::Instant;

fn bench(keys: &str) -> Bench {
    Bench::new("pfabric", &format!("rto_min = '1 ms'\n{keys}"))
}

fn ranks(bench: &mut Bench) -> Vec<u32> {
    bench.notes.sent.drain(..).map(|(packet, _)| packet.rank).collect()
}

#[test]
fn packets_carry_the_deadline_or_what_is_left_from_them_on() {
    const LATER: u32 = 1 << 31;
    let deadline = Some(Instant::from_micros(5500));
    for (keys, deadline, expected) in [
        ("", deadline, [5500, 5500, 5500]),
        ("", None, [LATER + 3000, LATER + 2000, LATER + 1000]),
        ("priority = 'size'", deadline, [3000, 2000, 1000]),
        // In more than 2^31 us.
        ("", Some(Instant::from_secs_f64(3000.0)), [LATER - 1; 3]),
    ] {
        let mut bench = bench(keys);
        bench.message(3 * MSS, deadline);
        assert_eq!(ranks(&mut bench), expected, "{keys} {deadline:?}");
    }
    const { assert!(LATER < Packet::UNTAGGED) };
}

#[test]
fn losses_are_told_by_the_timer_alone() {
    let mut bench = bench("initial_window = 4");
    bench.message(20 * MSS, None);
    assert_eq!(bench.sent(), [0, 1, 2, 3]);
    // Three beyond a gap make room for three, and the gap waits for the timer.
    bench.now = Instant::from_micros(100);
    (2..=4).for_each(|end| bench.ack(0, None, Flags::NONE, &[(1, end)]));
    assert_eq!(bench.sent(), [4, 5, 6]);
    bench.timer();
    assert_eq!((bench.now, bench.sent(), bench.notes.timeouts), (Instant::from_millis(1), vec![0], 1));
}

#[test]
fn past_its_deadline_a_message_is_kept_or_given_up() {
    for (expired, at, given_up) in
        [("keep", 101, vec![]), ("abort", 100, vec![]), ("abort", 101, vec![(20 * MSS, 15 * MSS)])]
    {
        let mut bench = bench(&format!("initial_window = 4\nexpired = '{expired}'"));
        bench.message(20 * MSS, Some(Instant::from_micros(100)));
        bench.now = Instant::from_micros(50);
        // One in 4 1/4 more; five of twenty are sent.
        bench.ack(1, None, Flags::NONE, &[]);
        assert_eq!(bench.sent(), [0, 1, 2, 3, 4], "{expired}");
        bench.now = Instant::from_micros(at);
        bench.ack(2, None, Flags::NONE, &[]);
        assert_eq!(bench.notes.given_up, given_up, "{expired} at {at}");
    }
}
