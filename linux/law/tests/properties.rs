//! What the integer law must hold for any input, and how close it is to the same law in floating point.

use linux_law::*;

/// A small generator: the same inputs on every machine.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
    /// Any magnitude up to `bits` bits is as likely as any other.
    fn magnitude(&mut self, bits: u64) -> u64 {
        let bits = 1 + self.below(bits);
        self.next() >> (64 - bits)
    }
}

#[test]
fn the_tables_are_what_they_say() {
    for step in 0..=STEPS {
        let x = f64::from(step) / f64::from(STEPS);
        assert_eq!(log2_table(step), ((1.0 + x).log2() * f64::from(ONE)).round() as u32);
        assert_eq!(exp2_table(step), ((-x).exp2() * 2.0 * f64::from(ONE)).round() as u32);
    }
}

#[test]
fn scaling_is_right_to_29_bits_or_says_that_it_does_not_fit() {
    let mut draw = Draw(1);
    for _ in 0..500_000 {
        let (a, b, c) = (draw.magnitude(64), draw.magnitude(64), draw.magnitude(64).max(1));
        let shift = draw.below(21) as u32;
        let exact = (u128::from(a) * u128::from(b)) as f64 / c as f64 * f64::from(1u32 << shift);
        let got = scale(a, b, c, shift);
        if exact > u64::MAX as f64 * 1.000_001 {
            assert_eq!(got, u64::MAX, "{a} {b} {c} {shift}");
        } else if got != u64::MAX {
            assert!(
                (got as f64 - exact).abs() <= exact / f64::from(1 << 29) + 1.0,
                "{a} {b} {c} {shift}: {got}, {exact}"
            );
        } else {
            assert!(exact > u64::MAX as f64 * 0.999_999, "{a} {b} {c} {shift}");
        }
    }
    assert_eq!(scale(5, 7, 0, 0), u64::MAX);
    assert_eq!(scale(0, 7, 0, 0), 0);
}

#[test]
fn the_root_is_the_largest_whose_square_fits() {
    let mut draw = Draw(2);
    for x in (0..1000).chain((0..100_000).map(|_| draw.magnitude(64))) {
        let r = u128::from(root(x));
        assert!(r * r <= u128::from(x) && (r + 1) * (r + 1) > u128::from(x), "{x}: {r}");
    }
}

#[test]
fn the_penalty_is_within_2e_6_of_the_power_at_the_papers_cap_and_8e_6_at_any() {
    for (cap, limit) in [(2, 2e-6), (16, 8e-6)] {
        let mut worst = 0.0f64;
        let mut draw = Draw(3);
        for _ in 0..3_000_000 {
            let (alpha, d) =
                (draw.below(u64::from(ONE) + 1) as u32, UNIT / cap + draw.below((cap * cap - 1) * UNIT / cap));
            let exact = (f64::from(alpha) / f64::from(ONE)).powf(d as f64 / UNIT as f64);
            worst = worst.max((f64::from(penalty(alpha, d as u32)) / f64::from(ONE) - exact).abs());
        }
        println!("worst error of p with d up to {cap}: {worst:e}");
        assert!(worst < limit, "{cap}: {worst:e}");
    }
}

#[test]
fn the_penalty_falls_with_d_rises_with_alpha_and_stays_a_fraction() {
    let mut draw = Draw(4);
    for _ in 0..200_000 {
        let (a, b) = (draw.magnitude(30) as u32, draw.magnitude(30) as u32);
        let (c, d) = (1 + draw.magnitude(24) as u32, 1 + draw.magnitude(24) as u32);
        let (a, b, c, d) = (a.min(b), a.max(b), c.min(d), c.max(d));
        // Rounding may turn neighbours around by a few units in 2^30.
        assert!(penalty(a, c) <= penalty(b, c).saturating_add(256), "{a} {b} {c}");
        if c != UNIT as u32 && d != UNIT as u32 {
            assert!(penalty(b, d) <= penalty(b, c).saturating_add(256), "{b} {c} {d}");
        }
        assert!(penalty(b, d) <= ONE);
    }
    for d in [1, UNIT as u32 / 2, UNIT as u32, 2 * UNIT as u32, u32::MAX] {
        assert_eq!((penalty(0, d), penalty(ONE, d)), (0, ONE));
    }
    for alpha in (0..=ONE).step_by(99_991) {
        assert_eq!(penalty(alpha, UNIT as u32), alpha);
    }
}

#[test]
fn round_trips_are_those_of_the_paper() {
    let mut draw = Draw(5);
    for _ in 0..300_000 {
        let mss = 500 + draw.below(9000) as u32;
        let left = 1 + draw.magnitude(40);
        let cwnd = FLOOR + draw.magnitude(40).min(MAX_WINDOW - FLOOR);
        let (b, w) = (left as f64 / f64::from(mss), cwnd as f64 / UNIT as f64);
        let approximate = b / (0.75 * w);
        let over_periods = b / (0.75 * w - 0.5);
        let half = (w - 1.0) / 2.0;
        let precise =
            if over_periods > w / 2.0 { over_periods } else { 2.0 * b / ((half * half + 2.0 * b).sqrt() + half) };
        for (exact, got) in [(approximate, rounds(left, mss, cwnd, false)), (precise, rounds(left, mss, cwnd, true))] {
            let error = (got as f64 / UNIT as f64 - exact).abs();
            assert!(error <= 2e-5 * exact + 4.0 / UNIT as f64, "{left} {mss} {cwnd}: {exact} {error}");
        }
    }
}

#[test]
fn d_stays_within_its_cap_whatever_the_input() {
    let mut draw = Draw(6);
    for _ in 0..300_000 {
        let how = Parameters {
            cap: draw.next() as u32,
            expired: draw.below(5) as u32,
            precise: draw.below(2) as u32,
            margin_ns: draw.magnitude(64),
            ..Parameters::default()
        };
        let message = Message { end: draw.magnitude(64), deadline_ns: draw.magnitude(64) };
        let ack = Ack {
            now_ns: draw.magnitude(64),
            una: draw.magnitude(64),
            mss: draw.magnitude(17) as u32,
            rtt_ns: draw.magnitude(64),
            ..Ack::default()
        };
        let cap = u64::from(how.cap).max(UNIT);
        let d = u64::from(imminence(&how, &message, draw.magnitude(40), &ack));
        assert!(d <= cap && d >= UNIT * UNIT / cap, "{how:?} {message:?} {ack:?}: {d}");
    }
}

#[test]
fn any_sequence_keeps_the_window_within_its_limits() {
    let mut draw = Draw(7);
    for _ in 0..300 {
        let how = Parameters {
            g: draw.below(u64::from(ONE) + 1) as u32,
            initial_alpha: draw.below(u64::from(ONE) + 1) as u32,
            cap: (UNIT + draw.magnitude(24)) as u32,
            ..Parameters::default()
        };
        let mut state = State::start(&how, 10 * UNIT, u64::MAX);
        let (mut una, mut next) = (0, 0);
        for _ in 0..1000 {
            let acked = 1 + draw.magnitude(20);
            una += acked;
            next = u64::max(next, una + draw.magnitude(24));
            let ack = Ack {
                now_ns: draw.magnitude(50),
                acked,
                marked: if draw.below(3) == 0 { draw.below(acked + 1) } else { 0 },
                segments: draw.magnitude(32) as u32,
                may_grow: draw.below(2) as u32,
                may_cut: draw.below(2) as u32,
                mss: 1448,
                una,
                next,
                rtt_ns: draw.magnitude(34),
            };
            let message = Message { end: una + draw.magnitude(30), deadline_ns: draw.magnitude(50) };
            let (before, what) = (state, state.on_ack(&how, &Queue::of(message), &ack));
            assert!(state.cwnd <= MAX_WINDOW && state.alpha <= ONE && state.p <= ONE);
            if what & CUT != 0 {
                assert!(state.cwnd >= FLOOR && state.cwnd <= before.cwnd.max(FLOOR) && state.cwnd == state.ssthresh);
                assert!(ack.marked > 0 && state.cwnd >= before.cwnd / 2);
            } else {
                assert!(state.cwnd >= before.cwnd);
            }
            if draw.below(20) == 0 && state.on_loss(una, next) {
                assert!(!state.on_loss(una, next), "one reduction per window of data");
                let (lost, had) = (state.cwnd, state.prior_cwnd);
                assert!(lost <= had.max(FLOOR));
                if draw.below(2) == 0 {
                    state.undo();
                    assert_eq!(state.cwnd, had.max(lost));
                }
            }
        }
    }
}

#[test]
fn small_penalties_are_not_lost_at_small_windows() {
    // Ten cuts by p/2 = 1 % of a window of ten segments: together a segment, each less than one.
    let how = Parameters { initial_alpha: ONE / 50, g: 0, ..Parameters::default() };
    let mut state = State::start(&how, 10 * UNIT, UNIT);
    for step in 1..=10 {
        let una = step * 1_000_000;
        let ack = Ack { acked: 1, marked: 1, may_cut: 1, mss: 1448, una, next: una + 10, ..Ack::default() };
        assert_ne!(state.on_ack(&how, &Queue::default(), &ack) & CUT, 0);
    }
    let exact = 10.0 * 0.99f64.powi(10);
    assert!((state.cwnd as f64 / UNIT as f64 - exact).abs() < 1e-4);
}

#[test]
fn the_pacing_rate_is_the_kernels_own() {
    let usual = (200, 120);
    // 10 segments of 1448 B per ms: 14.48 MB/s, times 2 in slow start, times 1.2 afterwards.
    assert_eq!(pacing_rate(10 * UNIT, MAX_WINDOW, 3, 1448, 1_000_000, usual) / 1000, 28_960);
    assert_eq!(pacing_rate(10 * UNIT, 10 * UNIT, 3, 1448, 1_000_000, usual) / 1000, 17_376);
    assert_eq!(pacing_rate(10 * UNIT, 10 * UNIT, 20, 1448, 1_000_000, usual) / 1000, 34_752);
    assert_eq!(pacing_rate(10 * UNIT, 10 * UNIT, 20, 1448, 0, usual), 0);
    // As net.ipv4.tcp_pacing_ss_ratio and tcp_pacing_ca_ratio have it.
    assert_eq!(pacing_rate(10 * UNIT, MAX_WINDOW, 3, 1448, 1_000_000, (300, 100)) / 1000, 43_440);
    assert_eq!(pacing_rate(10 * UNIT, 10 * UNIT, 3, 1448, 1_000_000, (300, 100)) / 1000, 14_480);
}

#[test]
fn an_idle_window_halves_per_timeout_down_to_the_initial_one() {
    let after = |cwnd: u64, ssthresh: u64, timeouts| {
        let mut state = State::start(&Parameters::default(), cwnd * UNIT, ssthresh * UNIT);
        state.idle(timeouts, 10);
        (state.cwnd / UNIT, state.ssthresh / UNIT)
    };
    assert_eq!(after(59, 20, 0), (59, 20), "no timeout has passed");
    assert_eq!(after(80, 20, 1), (40, 60), "three quarters are remembered");
    assert_eq!(after(80, 70, 2), (20, 70));
    assert_eq!(after(80, 20, 3), (10, 60));
    assert_eq!(after(80, 20, 10_000), (10, 60));
    assert_eq!(after(4, 20, 3), (4, 20), "a window below the initial one stays");
    assert_eq!(after(80, 1 << 30, 1), (40, MAX_WINDOW / UNIT), "no threshold, none to remember");
}

#[test]
fn larger_segments_leave_the_window_in_bytes_and_smaller_ones_in_segments() {
    let mut state = State::start(&Parameters::default(), 60 * UNIT, 30 * UNIT);
    state.resize(1000, 3000);
    assert_eq!((state.cwnd, state.ssthresh), (20 * UNIT, 10 * UNIT));
    state.resize(3000, 1000);
    state.resize(0, 9000);
    assert_eq!((state.cwnd, state.ssthresh), (20 * UNIT, 10 * UNIT));
    state.resize(1, 1 << 20);
    assert_eq!((state.cwnd, state.ssthresh), (UNIT, FLOOR), "never to nothing");
}

#[test]
fn a_reduction_sends_in_proportion_and_ends_at_its_target() {
    // RFC 6937 3: 20 segments in flight, down to 15. Each ACK delivers one: three segments leave for four.
    let (mut flight, mut out, mut sent) = (20, 0, Vec::new());
    for delivered in 1..=20 {
        flight -= 1;
        let now = Reduction { prior: 20, target: 15, flight, delivered: 1, delivered_all: delivered, out, first: 0 };
        let leaves = now.window() - flight;
        (flight, out) = (flight + leaves, out + leaves);
        sent.push(leaves);
    }
    assert_eq!((flight, out), (15, 15));
    assert!(sent.chunks(4).all(|four| four.iter().sum::<u32>() == 3), "{sent:?}");
    // Below the target: what was delivered, no more.
    let low = Reduction { prior: 20, target: 15, flight: 5, delivered: 2, delivered_all: 12, out: 12, first: 0 };
    assert_eq!(low.window(), 7);
    assert_eq!(Reduction { flight: 14, ..low }.window(), 15);
    // A repair sends at least one at first.
    let first = Reduction { prior: 20, target: 10, flight: 19, delivered: 0, delivered_all: 0, out: 0, first: 1 };
    assert_eq!((first.window(), Reduction { first: 0, ..first }.window()), (20, 19));
}
