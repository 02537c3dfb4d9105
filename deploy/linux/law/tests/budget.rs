//! The budget of urgency of a user: accounts by hand, and their bound under random cuts.

use linux_law::*;

const SECOND: u64 = 1_000_000_000;
const QUARTER: u32 = ONE / 4;

/// Returns the granted d: 1 once nothing is left. Accounts for the cut.
fn cut(account: &mut Account, burst: u64, share: u32, bytes: u64, wanted: u32) -> u32 {
    let d = if account.left <= 0 { wanted.min(UNIT as u32) } else { wanted };
    account.spend(burst, share, bytes, d);
    d
}

#[test]
fn cuts_cost_what_d_exceeds_one_and_earn_a_share() {
    let mut account = Account { left: 1000, at_ns: 0 };
    let after = |account: &mut Account, bytes, d: f64| {
        account.spend(1000, QUARTER, bytes, (d * UNIT as f64) as u32);
        account.left
    };
    // 400 bytes with d = 2 cost 400 and earn 100; with d = 1.5 they cost 200.
    assert_eq!(after(&mut account, 400, 2.0), 700);
    assert_eq!(after(&mut account, 400, 1.5), 600);
    // With d of 1 or less they cost nothing. The burst is the most that is kept.
    assert_eq!(after(&mut account, 400, 1.0), 700);
    assert_eq!(after(&mut account, 400, 0.5), 800);
    assert_eq!(after(&mut account, 4000, 0.5), 1000);
    // A large window overdraws the account.
    assert_eq!(after(&mut account, 4000, 2.0), -2000);
    assert_eq!(after(&mut account, 4000, 1.0), -1000);
}

#[test]
fn a_burst_is_refilled_in_a_minute() {
    let mut account = Account { left: -6000, at_ns: 5 * SECOND };
    let mut at = |now_ns| {
        account.refill(6000, now_ns);
        account.left
    };
    assert_eq!(at(5 * SECOND + SECOND / 1000 - 1), -6000, "less than a step");
    assert_eq!(at(35 * SECOND), -3000);
    assert_eq!(at(35 * SECOND), -3000);
    assert_eq!(at(34 * SECOND), -3000, "another CPU's clock may be behind");
    assert_eq!(at(36 * SECOND), -2900);
    assert_eq!(at(96 * SECOND), 3100);
    assert_eq!(at(100_000 * SECOND), 6000, "a day brings no more than a burst");
    assert_eq!(at(u64::MAX), 6000);
}

#[test]
fn steady_greed_gets_its_share_of_the_cuts() {
    for (share, expected) in [(0, 0.0), (ONE / 10, 0.1), (QUARTER, 0.25), (ONE / 2, 0.5)] {
        let mut account = Account { left: 100_000, at_ns: 0 };
        for _ in 0..1000 {
            cut(&mut account, 100_000, share, 1000, 2 * UNIT as u32);
        }
        let urgent = (0..10_000).filter(|_| cut(&mut account, 100_000, share, 1000, 2 * UNIT as u32) > UNIT as u32);
        let got = urgent.count() as f64 / 10_000.0;
        assert!((got - expected).abs() < 2e-3, "{got} for {expected}");
    }
    // With a cap of 4 a grant costs three times as much, so it is granted a third as often.
    let mut account = Account::default();
    let urgent = (0..12_000).filter(|_| cut(&mut account, 1000, QUARTER, 1000, 4 * UNIT as u32) > UNIT as u32).count();
    assert!((990..=1010).contains(&urgent), "{urgent} of 12000");
}

#[test]
fn no_sequence_of_cuts_exceeds_the_budget() {
    let mut state = 7u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 20) % limit
    };
    for _ in 0..200 {
        let (burst, share) = (1 + below(10_000_000), below(u64::from(ONE)) as u32);
        let (mut account, mut now) = (Account { left: burst as i64, at_ns: 1 }, 1);
        let (mut excess, mut earned, mut largest) = (0.0, 0.0, 0.0f64);
        for _ in 0..2000 {
            now += below(SECOND / 10);
            account.refill(burst, now);
            let size = below(20);
            let (bytes, wanted) = (1 + below(1 << size), UNIT as u32 / 2 + below(4 * UNIT) as u32);
            let d = f64::from(cut(&mut account, burst, share, bytes, wanted)) / UNIT as f64;
            excess += (d - 1.0).max(0.0) * bytes as f64;
            earned += f64::from(share) / f64::from(ONE) * bytes as f64;
            largest = largest.max((d - 1.0) * bytes as f64);
            let refilled = burst as f64 * now as f64 / (60 * SECOND) as f64;
            // The last cut may overdraw it. Each cut rounds by less than two bytes.
            let most = burst as f64 + refilled + earned + largest + 4000.0;
            assert!(excess <= most, "{excess} of {most}");
            assert!(account.left <= burst as i64);
        }
    }
}

#[test]
fn a_limit_of_d_applies_to_near_deadlines_only() {
    let how = Parameters { initial_alpha: ONE / 4, ..Parameters::default() };
    let queue = |deadline_ns| {
        let mut queue = Queue::default();
        queue.push(Message { end: 1_000_000, deadline_ns });
        queue
    };
    let ack = Ack {
        now_ns: SECOND,
        acked: 1000,
        marked: 1000,
        may_cut: 1,
        mss: 1000,
        una: 1000,
        next: 11_000,
        rtt_ns: SECOND / 1000,
        ..Ack::default()
    };
    let cut = |deadline_ns, max_d| {
        let mut state = State::start(&how, 10 * UNIT, u64::MAX);
        let what = state.on_ack(&how, &queue(deadline_ns), &Ack { max_d, ..ack });
        assert_ne!(what & CUT, 0);
        (what & LIMITED != 0, state.d)
    };
    // The rest needs 999 / 7.5 = 133 ms.
    let unit = UNIT as u32;
    assert_eq!((cut(SECOND + SECOND / 100, 0), cut(SECOND + SECOND / 100, unit)), ((false, 2 * unit), (true, unit)));
    assert_eq!(cut(9 * SECOND, unit), (false, unit / 2));
    assert_eq!(cut(SECOND + SECOND / 8, unit), (true, unit));
}
