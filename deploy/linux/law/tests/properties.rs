//! Invariants of the integer law for any input, and its distance from the same law in floating point.

use linux_law::*;

/// A small generator, with the same sequence on every machine.
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
    /// Returns a number of 1 to `bits` bits, each number of bits with equal probability.
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
        // Rounding may swap neighbours by a few units in 2^30.
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
                ..Ack::default()
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
    // Ten cuts by p/2 = 1 % of a window of ten segments: a segment in total, but each cut is less than one.
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
    // 10 segments of 1448 B per ms are 14.48 MB/s: times 2 in slow start, times 1.2 afterwards.
    assert_eq!(pacing_rate(10 * UNIT, MAX_WINDOW, 3, 1448, 1_000_000, usual) / 1000, 28_960);
    assert_eq!(pacing_rate(10 * UNIT, 10 * UNIT, 3, 1448, 1_000_000, usual) / 1000, 17_376);
    assert_eq!(pacing_rate(10 * UNIT, 10 * UNIT, 20, 1448, 1_000_000, usual) / 1000, 34_752);
    assert_eq!(pacing_rate(10 * UNIT, 10 * UNIT, 20, 1448, 0, usual), 0);
    // The ratios of net.ipv4.tcp_pacing_ss_ratio and tcp_pacing_ca_ratio.
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
    // RFC 6937 3: 20 segments in flight, down to 15. Each ACK delivers one: three segments are sent for four.
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
    // Below the target: as many as were delivered, no more.
    let low = Reduction { prior: 20, target: 15, flight: 5, delivered: 2, delivered_all: 12, out: 12, first: 0 };
    assert_eq!(low.window(), 7);
    assert_eq!(Reduction { flight: 14, ..low }.window(), 15);
    // A repair sends at least one segment at first.
    let first = Reduction { prior: 20, target: 10, flight: 19, delivered: 0, delivered_all: 0, out: 0, first: 1 };
    assert_eq!((first.window(), Reduction { first: 0, ..first }.window()), (20, 19));
}

/// Returns a message of 100 segments of 1000 B with `rest` segments left, and an ACK with round trips of 100 us.
fn waiting(rest: u64, left_ns: u64) -> (Queue, Ack) {
    let ack = Ack {
        now_ns: 1_000_000_000,
        acked: 1,
        marked: 1,
        segments: 1,
        may_grow: 1,
        may_cut: 1,
        mss: 1000,
        una: 100_000 - rest * 1000,
        next: 100_000 - rest * 1000 + 10_000,
        rtt_ns: 100_000,
        ..Ack::default()
    };
    (Queue::of(Message { end: 100_000, deadline_ns: ack.now_ns + left_ns }), ack)
}

#[test]
fn of_chance_and_laxity_follows_who_stands_back_and_for_how_long() {
    let how = Parameters { mode: 1, ..Parameters::default() };
    let mut draw = Draw(7);
    // Half is left, so the probability is 1/16, and so is the share of 0.7 of the laxity. The laxity is 50 ms less a
    // round trip and the guard, half of 50 segments of 100 us at a window of 10: 49.65 ms. The hold is at most 2.17 ms.
    let (queue, ack) = waiting(50, 50_000_000);
    let (mut held, mut sum) = (0u64, 0u64);
    for _ in 0..100_000 {
        let (mut state, mut plus) = (State::start(&how, 20 * UNIT, 10 * UNIT), Plus::default());
        let draws = Draws { whether: draw.next() as u32, length: draw.next() as u32 };
        let what = plus.on_ack(&mut state, &how, &queue, &ack, draws);
        assert_eq!(what & (CUT | ANSWERED), CUT | ANSWERED);
        if what & HELD != 0 {
            let wait = plus.held_until_ns - ack.now_ns;
            assert!(wait <= 2_173_000 && state.cwnd == UNIT, "{wait}");
            (held, sum) = (held + 1, sum + wait);
        } else {
            assert_eq!((state.cwnd, plus.held_until_ns), (10 * UNIT, 0));
        }
    }
    // 6250 holds are expected with a standard deviation of 77, and a mean of 1.086 ms with one of 8 us.
    assert!((5_900..6_600).contains(&held), "{held}");
    assert!((1_050_000..1_120_000).contains(&(sum / held)), "{}", sum / held);
}

#[test]
fn what_is_pressed_keeps_its_floor_and_what_has_no_hope_lets_others_pass() {
    let how = Parameters { mode: 1, ..Parameters::default() };
    let always = Draws { whether: 0, length: u32::MAX };
    // 80 segments in 5 ms need 1.6 per round trip. The floor is twice that, and half of the rest is removed.
    let (queue, ack) = waiting(80, 5_000_000);
    let (mut state, mut plus) = (State::start(&how, 20 * UNIT, 10 * UNIT), Plus::default());
    assert_eq!(plus.on_ack(&mut state, &how, &queue, &ack, always) & !WINDOW, CUT | ANSWERED);
    let near = |got: u64, exact: f64| (got as f64 / UNIT as f64 - exact).abs() < 1e-5;
    assert!(near(state.cwnd, 3.2 + 16.8 / 2.0), "{}", state.cwnd);
    // 2 ms for 90 segments at one per round trip.
    let (queue, ack) = waiting(90, 2_000_000);
    let mut state = State::start(&how, 2 * UNIT, UNIT);
    let mut plus = Plus { allowed_ns: 20_000_000, end: 100_000, lifted: 1, ..Plus::default() };
    assert_eq!(plus.on_loss(&mut state, &how, &queue, &ack, always), CUT | ANSWERED | HELD);
    let wait = plus.held_until_ns - ack.now_ns;
    assert!(state.cwnd == UNIT && plus.hopeless == 1 && (149_000_000..=150_000_000).contains(&wait), "{wait}");
    // One segment at this rate takes the rest of the hold.
    let rate = plus.hold_rate(1000, ack.now_ns);
    assert!((6660..=6715).contains(&rate), "{rate}");
    assert_eq!(plus.hold_rate(1000, plus.held_until_ns), 0);
    // The time scale multiplies all times.
    let (mut other, mut longer) = (
        State::start(&how, 2 * UNIT, UNIT),
        Plus { allowed_ns: 20_000_000, end: 100_000, lifted: 1, ..Plus::default() },
    );
    longer.on_loss(&mut other, &Parameters { time_scale: 10 * UNIT as u32, ..how }, &queue, &ack, always);
    assert_eq!(longer.held_until_ns - ack.now_ns, 10 * wait);
    // A second loss in the same window is ignored.
    let before = state;
    assert_eq!((plus.on_loss(&mut state, &how, &queue, &ack, always), state), (ANSWERED, before));
    // The first sample raises the window to twice the need. Without a deadline the law returns 0.
    let (queue, ack) = waiting(100, 2_500_000);
    let (mut state, mut plus) = (State::start(&how, 2 * UNIT, MAX_WINDOW), Plus::default());
    plus.on_ack(&mut state, &how, &queue, &Ack { marked: 0, ..ack }, always);
    assert!(near(state.cwnd, 8.0 + 1.0), "{}", state.cwnd);
    assert_eq!(plus.on_ack(&mut state, &how, &Queue::default(), &ack, always), 0);
    assert_eq!(plus.on_loss(&mut state, &how, &Queue::default(), &ack, always), 0);
}

#[test]
fn no_input_leads_a_paced_window_out_of_its_bounds() {
    let mut draw = Draw(11);
    for _ in 0..200_000 {
        let how = Parameters { mode: 1, g: draw.below(u64::from(ONE) + 1) as u32, ..Parameters::default() };
        let mut state = State::start(&how, draw.magnitude(41), draw.magnitude(41));
        state.cwnd = state.cwnd.max(UNIT);
        let mut plus = Plus { allowed_ns: draw.magnitude(50), end: draw.below(2), ..Plus::default() };
        let mut queue = Queue::default();
        for _ in 0..draw.below(4) {
            let end = queue.last_end + 1 + draw.magnitude(40);
            queue.push(Message { end, deadline_ns: draw.magnitude(60) });
        }
        let ack = Ack {
            now_ns: draw.magnitude(60),
            acked: draw.magnitude(20),
            marked: draw.below(2),
            segments: draw.magnitude(20) as u32,
            may_grow: draw.below(2) as u32,
            may_cut: draw.below(2) as u32,
            mss: 1 + draw.below(65_535) as u32,
            una: draw.magnitude(40),
            next: draw.magnitude(41),
            rtt_ns: draw.below(2) * draw.magnitude(40),
            ..Ack::default()
        };
        let draws = Draws { whether: draw.next() as u32, length: draw.next() as u32 };
        let what = match draw.below(2) {
            0 => plus.on_ack(&mut state, &how, &queue, &ack, draws),
            _ => plus.on_loss(&mut state, &how, &queue, &ack, draws),
        };
        assert_eq!(what != 0, queue.count > 0);
        assert!((UNIT..=MAX_WINDOW).contains(&state.cwnd), "{state:?}");
        // One and a half times the mean hold of a message without laxity.
        assert!(plus.held_until_ns.saturating_sub(ack.now_ns) <= 150_000_000, "{plus:?}");
    }
}
