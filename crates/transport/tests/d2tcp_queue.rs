//! Messages in turn on one D2TCP connection: the nearest deadline of all queued messages decides d. It does so in its
//! sender as on Linux (`deploy/linux/bpf/queue.h`; the law itself is held to shared vectors in `kernel_vectors.rs`).

use super::common;

use common::Bench;
use transport::Flags;
use units::{Instant, Span};

/// A sender with one message in progress: 20 of 200 segments acknowledged, one RTT sample of 100 us.
fn under_way(first: Option<u64>) -> Bench {
    let mut bench = Bench::new("d2tcp", "initial_alpha = 0.5\nd_cap = 16");
    bench.message(200_000, first.map(Instant::from_millis));
    bench.now = Instant::from_micros(100);
    (1..=20).for_each(|segment| bench.ack(segment, Some(Instant::ZERO), Flags::default(), &[]));
    bench
}

#[test]
fn a_near_deadline_behind_a_far_one_raises_d() {
    let d = |bench: &Bench| bench.observe().get("d").unwrap();
    for first in [Some(1000), None] {
        let mut bench = under_way(first);
        let alone = d(&bench);
        assert_eq!(alone, if first.is_some() { 1.0 / 16.0 } else { 1.0 });
        bench.message(50_000, Some(bench.now + Span::from_millis(1)));
        // 230 segments are left up to its end, at 3/4 of the window each 100 us, of 1 ms.
        let exact = 230.0 / (0.75 * bench.cwnd()) * 100.0 / 1000.0;
        assert!((d(&bench) - exact).abs() < 1e-9 && exact > alone.min(0.9), "{} {exact}", d(&bench));
    }
}

#[test]
fn a_cut_takes_the_largest_d_of_the_queue() {
    let cut = |behind: Option<Instant>| {
        let mut bench = under_way(Some(1000));
        bench.message(50_000, behind);
        let before = bench.cwnd();
        bench.ack(21, None, Flags::ECE, &[]);
        1.0 - bench.cwnd() / before
    };
    // alpha is about 1/2: p/2 = alpha^(1/16)/2 with a far deadline, alpha^d/2 with d of about 0.8 if one is near.
    let (far, near) = (cut(None), cut(Some(Instant::from_micros(1100))));
    assert!(far > 0.45 && near < 0.8 * far, "{far} {near}");
}
