use super::*;
use crate::controllers::Current;
use crate::controllers::dctcp::tests::marking;
use crate::controllers::tests::{acked, cwnd};

/// Round trips of 100 us, as in `acked`, and a message of 100 segments of which the ones after `una` are left.
fn law() -> D2tcpPlus {
    let constants = Constants {
        start: 2.0,
        growth: 1.0,
        growth_later: 0.25,
        growth_most: 4.0,
        floor_horizon: 10e-3,
        floor_most: 4.0,
        asks: false,
        ask_scale: 0.15,
        ask_lengths: 64.0,
        peers: 5.0,
        rate_power: 0.75,
        peer_rounds: 2.0,
        ask_rounds: 6.0,
        wide_rounds: 20.0,
        asks_first: true,
        ask_time: 7e-3,
        admitted_window: 2.0,
        admitted_short: 1.0,
        company_rounds: 1.5,
        company_refusals: 1,
        question: Bytes(1),
        answer_delay: 0.0,
        hold_share: 0.7,
        hold_most: 20e-3,
        hold_power: 4.0,
        guard: 0.5,
        guard_most: 10e-3,
        guard_share: 0.25,
        aborts: false,
        hopeless_hold: 0.1,
    };
    D2tcpPlus::new(marking(0.0), constants, 7)
}

/// The same law, with probing.
fn asking(identity: u64) -> D2tcpPlus {
    let mut law = D2tcpPlus { identity, ..law() };
    law.constants.asks = true;
    law
}

fn ack(una: u64, marked: bool, left: Span) -> Acked<'static> {
    let ack = acked(una, marked);
    let message = Message { deadline: Some(ack.now + left), ..Message::of(Bytes(100_000)) };
    Acked { message: Current { end: 100_000, message }, ..ack }
}

fn blocked_for(law: &D2tcpPlus, ack: &Acked) -> f64 {
    law.blocked_until.saturating_sub(ack.now).as_secs_f64()
}

#[test]
fn the_first_sample_lifts_the_window_to_twice_the_need_and_marks_end_slow_start() {
    let (mut law, mut window) = (law(), cwnd(2.0));
    // 99 segments in 3 ms are 3.3 per round trip. One more is acknowledged.
    law.on_ack(&mut window, &ack(1, false, Span::from_millis(3)));
    assert!((window.cwnd - 7.6).abs() < 1e-9, "{}", window.cwnd);
    law.on_ack(&mut window, &ack(2, false, Span::from_millis(3)));
    assert!((window.cwnd - 8.6).abs() < 1e-9);
    law.calm = false;
    law.on_ack(&mut window, &ack(3, false, Span::from_millis(3)));
    assert!((window.cwnd - 8.85).abs() < 1e-9);
}

#[test]
fn a_message_that_needs_more_than_a_segment_keeps_its_floor_and_goes_on() {
    let (mut law, mut window) = (law(), cwnd(20.0));
    (law.message, law.allowed, law.boosted) = (100_000, 20e-3, true);
    // 80 segments in 5 ms: 1.6 per round trip, the floor is twice that, half of the rest is cut.
    let ack = ack(20, true, Span::from_millis(5));
    assert!(law.on_ack(&mut window, &ack));
    assert!((window.cwnd - (3.2 + 16.8 / 2.0)).abs() < 1e-9, "{}", window.cwnd);
    assert_eq!((law.blocked_until, law.pacing_rate(&OFF, &window)), (Instant::ZERO, Some(1.2 * window.cwnd)));
}

const OFF: Pacing = Pacing { on: false, gain: 1.2, gain_slow_start: 2.0 };

#[test]
fn one_that_can_wait_stands_back_by_its_laxity_if_it_has_not_begun() {
    // 100 segments of 100 us in 50 ms: 0.2 per round trip. Laxity is 50 ms less 0.1 ms less the guard: 0.5 x 100 x 0.1
    // ms / 10 = 0.5 ms. With all of it left it always defers, for 0.7 of that and for 20 ms at most.
    let waits: Vec<f64> = (1..200)
        .map(|identity| {
            let (mut law, mut window) = (D2tcpPlus { identity, ..law() }, cwnd(20.0));
            let ack = Acked { una: 0, ..ack(1, true, Span::from_millis(50)) };
            assert!(law.marking.alpha == 0.0 && law.on_ack(&mut window, &ack) == (ack.una > 0));
            let wait = Lost { now: ack.now, state: ack.clone(), flight: 20.0, timeout: false };
            law.on_loss(&mut window, &wait);
            assert_eq!(window.ssthresh, 1.0);
            blocked_for(&law, &ack)
        })
        .collect();
    assert!(waits.iter().all(|&wait| (0.0..=20e-3).contains(&wait)));
    // Evenly up to 34.6 ms, and at the limit from 20 ms on: 14.2 ms on average, of 199 to +- 10 %.
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((mean - 14.2e-3).abs() < 1.4e-3, "{mean}");
    // Half of it has arrived: one in 16.
    let held = (1..=1600)
        .filter(|&identity| {
            let (mut law, mut window) = (D2tcpPlus { identity, ..law() }, cwnd(20.0));
            law.on_ack(&mut window, &ack(50, true, Span::from_millis(50)));
            law.blocked_until > Instant::ZERO
        })
        .count();
    assert!((70..=130).contains(&held), "{held}");
}

#[test]
fn a_timeout_always_holds_what_can_wait_and_never_what_is_pressed() {
    let lost = |left| {
        let (mut law, mut window) = (law(), cwnd(20.0));
        let state = Acked { una: 0, ..ack(1, false, left) };
        law.on_timeout(&mut window, 1.0, &Lost { now: state.now, state: state.clone(), flight: 20.0, timeout: true });
        assert_eq!(window.cwnd, 1.0);
        blocked_for(&law, &state)
    };
    let wait = lost(Span::from_millis(50));
    assert!(wait > 0.0 && wait <= 20e-3, "{wait}");
    // 100 segments of 100 us: more than one per round trip. The guard is a quarter of the 9 ms.
    assert_eq!(lost(Span::from_millis(9)), 0.0);
}

#[test]
fn without_hope_it_lets_others_pass_or_gives_up() {
    for aborts in [false, true] {
        let (mut law, mut window) = (law(), cwnd(2.0));
        law.constants.aborts = aborts;
        (law.message, law.allowed, law.boosted) = (100_000, 20e-3, true);
        // 90 segments at two per round trip need 4.5 ms, of which half counts: more than 2 ms.
        let late = ack(10, true, Span::from_millis(2));
        assert!(law.on_ack(&mut window, &late) && window.cwnd == 1.0);
        let wait = blocked_for(&law, &late);
        assert_eq!(law.aborts(&late.message.message, late.now), aborts);
        assert!(if aborts { wait == 0.0 } else { (0.05..=0.15).contains(&wait) }, "{wait}");
    }
}

#[test]
fn what_has_no_hope_asks_before_it_takes_of_the_link_again() {
    for asks in [true, false] {
        let (mut law, mut window) = (asking(7), cwnd(20.0));
        (law.constants.asks, law.segment_time, law.admitted, law.boosted) = (asks, 100e-6, true, true);
        (law.message, law.allowed) = (100_000, 4e-3);
        // 90 segments of 0.1 ms are 9 ms; blindly half of 90 at twenty per round trip of 0.1 ms are 0.225.
        let late = ack(10, true, Span::from_micros(300));
        assert!(law.on_ack(&mut window, &late) && window.cwnd == 1.0);
        let wait = blocked_for(&law, &late);
        assert!((0.05..=0.15).contains(&wait), "{wait}");
        assert_eq!((law.asks().is_some(), law.admitted), (asks, false));
        // Refused, it is deferred for as long again; answered without a mark it continues, with two segments.
        let answer = |now, una, marked| Acked { now, may_cut: false, may_grow: false, ..ack(una, marked, Span::ZERO) };
        let until = law.blocked_until;
        law.on_ack(&mut window, &answer(until, 11, true));
        let again = law.blocked_until.saturating_sub(until).as_secs_f64();
        assert!(if asks { (0.05..=0.15).contains(&again) } else { again == 0.0 }, "{again}");
        law.on_ack(&mut window, &answer(law.blocked_until, 12, false));
        assert_eq!((law.asks(), window.cwnd), (None, if asks { 2.0 } else { 1.0 }));
    }
}

#[test]
fn after_its_first_mark_a_message_grows_the_faster_the_nearer_its_deadline() {
    let growth = |asks: bool, most: f64, calm: bool, standing: Standing| {
        let mut law = D2tcpPlus { calm: true, ..asking(7) };
        (law.constants.asks, law.constants.growth_most) = (asks, most);
        law.see(&standing, 2.0);
        law.calm = calm;
        law.growth(&standing)
    };
    // A quarter times 10 ms over the time left, four times at most: 80 segments need 1.0 to 4 per round trip.
    for (left_us, expected) in [(8000, 0.3125), (5000, 0.5), (2500, 1.0), (2000, 1.0)] {
        assert!((growth(true, 4.0, false, standing(Span::from_micros(left_us))) - expected).abs() < 1e-9);
    }
    // 800 segments in 20 and in 50 ms: half of a quarter, and a quarter of it at least.
    let long = |left: f64| Standing { rest: 800.0, left, need: 0.08 / left, ..standing(Span::from_millis(5)) };
    assert!((growth(true, 4.0, false, long(20e-3)) - 0.125).abs() < 1e-9);
    assert!((growth(true, 4.0, false, long(50e-3)) - 0.0625).abs() < 1e-9);
    // Not where less than a segment is needed, nor without probing, nor if turned off, nor in slow start.
    assert_eq!(growth(true, 4.0, false, standing(Span::from_millis(16))), 0.25);
    assert_eq!(growth(false, 4.0, false, standing(Span::from_millis(5))), 0.25);
    assert_eq!(growth(true, 1.0, false, standing(Span::from_millis(5))), 0.25);
    assert_eq!(growth(true, 4.0, true, standing(Span::from_millis(5))), 1.0);
}

/// 80 segments left of the message that ends at 100 000, of which the law knows that it had 20 ms at first.
fn standing(left: Span) -> Standing {
    Standing::of(&ack(20, false, left).message, &ack(20, false, left)).unwrap()
}

#[test]
fn what_a_cut_leaves_depends_on_how_near_the_deadline_is() {
    // Needs of 4, 1.6, 1.0 and 0.5 segments per round trip of 0.1 ms. The floor is 10 ms over the time left times that,
    // four times at most; below a segment there is none. Half of the part above it is cut.
    for (left_us, cut) in [(2000, 16.0 + 2.0), (5000, 3.2 + 8.4), (8000, 1.25 + 9.375), (16_000, 10.0)] {
        let mut law = law();
        let standing = standing(Span::from_micros(left_us));
        law.see(&standing, 2.0);
        assert!((law.cut(&standing, 20.0) - cut).abs() < 1e-9, "{left_us}: {}", law.cut(&standing, 20.0));
    }
    let mut law = law();
    let near = standing(Span::from_millis(2));
    law.see(&near, 2.0);
    // Below its floor nothing is taken off, and nothing is added.
    assert_eq!(law.cut(&near, 10.0), 10.0);
    let far = standing(Span::from_millis(50));
    law.see(&far, 2.0);
    assert_eq!(law.cut(&far, 1.5), 1.0, "a segment at least");
    // When there is no time left there is no need to insist on.
    let late = standing(Span::ZERO);
    law.see(&late, 2.0);
    assert_eq!((late.need, law.pressed, law.cut(&late, 20.0)), (f64::INFINITY, false, 10.0));
}

#[test]
fn laxity_is_the_time_left_less_a_round_trip_and_less_a_guard_with_two_bounds() {
    let law = D2tcpPlus { allowed: 20e-3, ..law() };
    let laxity = |law: &D2tcpPlus, cwnd: f64| law.laxity(&standing(Span::from_millis(15)), cwnd) * 1e3;
    // At 10 segments the rest takes 0.8 ms, of which half counts. At 0.5 it takes 16 ms: 5 of the 8 that are a quarter
    // of the time at first. With more time at first it is the 6 of another bound.
    assert!((laxity(&law, 10.0) - 14.5).abs() < 1e-9, "{}", laxity(&law, 10.0));
    assert!((laxity(&law, 0.5) - 9.9).abs() < 1e-9);
    let mut bounded = D2tcpPlus { allowed: 80e-3, ..law };
    bounded.constants.guard_most = 6e-3;
    assert!((laxity(&bounded, 0.5) - 8.9).abs() < 1e-9);
    assert!((laxity(&bounded, 10.0) - 14.5).abs() < 1e-9);
}

#[test]
fn hope_ends_below_no_laxity_and_not_at_it() {
    // With no guard the laxity is the time left after a round trip of 0.1 ms.
    for (left_us, hopeless) in [(100, false), (99, true)] {
        let mut law = law();
        law.constants.guard = 0.0;
        let standing = standing(Span::from_micros(left_us));
        law.see(&standing, 2.0);
        law.stand_back(Instant::ZERO, &standing, 20.0, false);
        assert_eq!(law.hopeless.is_some(), hopeless, "{left_us}");
    }
}

#[test]
fn of_all_that_wait_the_one_that_needs_most_counts_and_the_first_of_equals() {
    let deadline = |left_ms| Some(Instant::from_micros(200) + Span::from_millis(left_ms));
    let later = |end: u64, left_ms| {
        let message = Message { deadline: deadline(left_ms), ..Message::of(Bytes(100_000)) };
        Current { end, message }
    };
    let chosen = |own_ms, others: &[Current]| {
        let later = others.iter().copied().collect();
        let ack = Acked { later: &later, ..ack(20, false, Span::from_millis(own_ms)) };
        law().next_due(&ack).map(|standing| standing.end)
    };
    // 80 segments in 10 ms, and 180 in 40, 20 and 22.5 ms: 0.8, 0.45, 0.9 and 0.8 per round trip.
    assert_eq!(chosen(10, &[later(200_000, 40)]), Some(100_000));
    assert_eq!(chosen(10, &[later(200_000, 20)]), Some(200_000));
    assert_eq!(chosen(10, &[later(200_000, 20), later(300_000, 10)]), Some(300_000));
    assert_eq!(chosen(10, &[later(180_000, 20)]), Some(100_000), "160 in 20 ms need as much as 80 in 10");
    // Before the first sample only late messages need anything.
    let unmeasured = |own_ms: u64| {
        let later = [later(200_000, 20)].into_iter().collect();
        let ack = Acked { srtt: None, later: &later, ..ack(20, false, Span::from_millis(own_ms)) };
        law().next_due(&ack).map(|standing| standing.end)
    };
    assert_eq!(unmeasured(0), Some(100_000));
    // With probing, a late message needs most only among late ones.
    let law = asking(7);
    let chosen = |others: [u64; 2]| {
        let later = [later(200_000, others[0]), later(300_000, others[1])].into_iter().collect();
        let ack = Acked { later: &later, ..ack(20, false, Span::ZERO) };
        law.next_due(&ack).map(|standing| standing.end)
    };
    assert_eq!((chosen([50, 0]), chosen([50, 10]), chosen([0, 0])), (Some(200_000), Some(300_000), Some(100_000)));
}

#[test]
fn times_are_those_of_1_gbps_and_shrink_with_the_rate_to_a_power() {
    // At 16 Gbps to the power 3/4: an eighth of 150, 10 and 100 ms.
    let told = |gbps: u64, power: f64, asks: bool| {
        let mut law = asking(7);
        (law.constants.rate_power, law.constants.asks) = (power, asks);
        let site =
            Site { rate: units::Rate::from_gbps(gbps), frame_overhead: Bytes::ZERO, host: units::HostId(0), own: 0 };
        law.on_message(&mut cwnd(2.0), &ack(1, false, Span::from_millis(15)), true, site);
        law.segment_time = 0.0;
        law
    };
    assert_eq!(told(1, 0.75, true).times, 1.0, "exactly, so that nothing is other than without it");
    for (power, asks, times) in [(0.75, true, 0.125), (0.5, true, 0.25), (0.0, true, 1.0), (0.75, false, 1.0)] {
        let law = told(16, power, asks);
        assert!((law.times - times).abs() < 1e-12 && (law.floor_horizon() / 10e-3 - times).abs() < 1e-12);
        let held = |law: &D2tcpPlus, left_us: u64| {
            let mut law = law.clone();
            let standing = Standing { share: 1.0, ..standing(Span::from_micros(left_us)) };
            law.stand_back(Instant::ZERO, &standing, 20.0, false);
            law.blocked_until.saturating_sub(Instant::ZERO).as_secs_f64()
        };
        let plain = told(1, 0.75, asks);
        let ratio = held(&law, 50) / held(&plain, 50);
        assert!((ratio - times).abs() < 1e-6, "without hope: {ratio}");
        if asks {
            // Of a laxity x a wait of w leaves 1/(x - w) = 1/x + e/scale.
            let drawn = |law: &D2tcpPlus| 1.0 / (30e-3 - held(law, 30_100)) - 1.0 / 30e-3;
            let ratio = drawn(&plain) / drawn(&law);
            assert!((ratio - times).abs() < 1e-5, "{ratio}");
        }
    }
}

#[test]
fn a_message_stands_back_only_with_time_for_six_round_trips_and_for_twenty_if_it_began_with_a_wide_window() {
    // Round trips of 0.1 ms, and one of them is no laxity.
    let cases = [(2.5, 2_110, true), (2.5, 2_090, false), (2.0, 2_090, true), (2.0, 710, true), (2.0, 690, false)];
    for (cwnd, left_us, asks) in cases {
        let (mut law, mut window) = (asking(7), super::super::tests::cwnd(cwnd));
        law.on_ack(&mut window, &ack(1, true, Span::from_micros(left_us)));
        assert_eq!(law.asks().is_some(), asks, "{cwnd} {left_us}");
    }
}

/// 80 of 100 segments are left; with 1 us each all of them take 0.1 ms alone, and two round trips of 0.1 ms are twice that. In
/// company a segment takes one and a half of these, and the rest 12 ms.
#[test]
fn what_is_short_and_not_admitted_has_no_hope_with_less_time_than_it_takes_in_company() {
    let hopeless = |left_us: u64, change: fn(&mut D2tcpPlus, &mut Standing)| {
        let mut law = asking(7);
        let mut standing = standing(Span::from_micros(left_us));
        law.segment_time = 1e-6;
        law.see(&standing, 2.0);
        change(&mut law, &mut standing);
        law.stand_back(Instant::ZERO, &standing, 2.0, false);
        law.hopeless.is_some()
    };
    assert!(hopeless(11_990, |_, _| ()) && !hopeless(12_010, |_, _| ()));
    // At 16 Gbps an eighth of that.
    assert!(hopeless(1_490, |law, _| law.times = 0.125) && !hopeless(1_510, |law, _| law.times = 0.125));
    // A message that takes two round trips alone is short, a longer one is not.
    assert!(hopeless(11_990, |law, _| law.segment_time = 1.99e-6));
    assert!(!hopeless(11_990, |law, _| law.segment_time = 2.01e-6));
    // No such message is one with others queued behind it, an admitted one, one with a wide window, or one without
    // probing.
    assert!(!hopeless(11_990, |_, standing| standing.opens = false));
    assert!(!hopeless(11_990, |law, _| law.admitted = true));
    assert!(!hopeless(11_990, |law, _| law.wide = true));
    assert!(!hopeless(11_990, |law, _| law.constants.asks = false));
    // Nor is it before the configured number of refusals; this is one more.
    for (before, too_late) in [(3, false), (4, true)] {
        let mut law = D2tcpPlus { segment_time: 1e-6, ..asking(7) };
        law.constants.company_refusals = 5;
        let standing = standing(Span::from_micros(11_990));
        law.see(&standing, 2.0);
        for _ in 0..before {
            law.stand_back(Instant::ZERO, &standing, 2.0, false);
            assert!(law.hopeless.is_none() && !law.admitted, "{before}");
        }
        law.stand_back(Instant::ZERO, &standing, 2.0, false);
        assert_eq!(law.hopeless.is_some(), too_late, "{before}");
    }
}

#[test]
fn what_is_short_and_admitted_yields_by_chance_with_twice_the_time_that_it_takes_in_company() {
    let held = |left_us: u64, timeout: bool| {
        let held = |&identity: &u64| {
            let mut law = D2tcpPlus { segment_time: 1e-6, ..asking(identity) };
            let standing = standing(Span::from_micros(left_us));
            law.see(&standing, 2.0);
            law.admitted = true;
            law.stand_back(Instant::ZERO, &standing, 2.0, timeout);
            law.asks().is_some()
        };
        (1..=2000).filter(held).count()
    };
    // (4/5)^4 of 2000 are 819, and three standard deviations 66.
    assert!((753..=885).contains(&held(24_010, false)), "{}", held(24_010, false));
    assert_eq!((held(23_990, false), held(24_010, true)), (0, 0));
}

/// Powers of two, so that sums and products are exact: 64 segments in all, a round trip of 1/1024 s, of which a segment
/// takes 1/128 of the link.
#[test]
fn times_of_a_message_are_compared_exactly() {
    let standing = |left: f64| Standing {
        end: 64_000,
        deadline: Instant::MAX,
        rest: 64.0,
        opens: true,
        whole: 64.0,
        share: 0.5,
        left,
        rtt: 1.0 / 1024.0,
        need: 1.0,
    };
    let mut law = D2tcpPlus { segment_time: 1.0 / 131_072.0, refusals: 1, ..asking(7) };
    law.constants.company_rounds = 2.0;
    // In company it takes 2 x 64 round trips: an eighth of a second. Less is too late; twice as long is no time to yield.
    assert!(law.comes_too_late(&standing(0.124)) && !law.comes_too_late(&standing(0.125)));
    assert_eq!((law.yields(&standing(0.25), 1.0), law.yields(&standing(0.251), 1.0)), (0.0, 0.0625));
    // Alone, it takes 1/2048 s. It asks first with more left than that, a round trip, and the time for an answer: 1/64 s,
    // a quarter of it at a higher rate.
    law.constants.ask_time = 1.0 / 64.0;
    let used = 1.0 / 2048.0 + 1.0 / 1024.0;
    for (times, time) in [(1.0, 1.0 / 64.0), (0.25, 1.0 / 256.0)] {
        law.times = times;
        assert!(!law.asks_first(&standing(used + time)) && law.asks_first(&standing(used + time + 1e-6)), "{times}");
    }
}

#[test]
fn a_message_opens_its_connection_if_nothing_was_handed_over_before_it() {
    let (first, whole) = (standing(Span::from_millis(20)), |standing: &Standing| (standing.opens, standing.whole));
    assert_eq!(whole(&first), (true, 100.0));
    let message = Message { deadline: Some(Instant::from_millis(20)), ..Message::of(Bytes(50_000)) };
    let ack = ack(20, false, Span::from_millis(20));
    let later = |end| Standing::of(&Current { end, message }, &ack).unwrap();
    // Behind 30 segments of another, and behind none that is still to be sent.
    assert_eq!((whole(&later(100_000)), whole(&later(70_000))), ((false, 80.0), (false, 50.0)));
}

#[test]
fn what_a_connection_has_met_is_known_to_its_next_message_where_it_asks() {
    for (asks, calm) in [(true, false), (false, true)] {
        let mut law = D2tcpPlus { calm: false, message: 1, ..law() };
        law.constants.asks = asks;
        law.see(&standing(Span::from_millis(30)), 2.0);
        assert_eq!(law.calm, calm);
    }
    let mut law = asking(7);
    law.see(&standing(Span::from_millis(30)), 2.0);
    assert!(law.calm, "a new connection");
}

#[test]
fn no_two_draws_are_the_same() {
    let mut drawn = std::collections::BTreeSet::new();
    for identity in 0..100 {
        for time in 0..10 {
            let mut law = D2tcpPlus { identity, ..law() };
            for _ in 0..3 {
                let value = law.draw(Instant(time));
                assert!((0.0..1.0).contains(&value));
                drawn.insert(value.to_bits());
            }
        }
    }
    assert_eq!(drawn.len(), 3000);
}

#[test]
fn the_window_is_lifted_once_a_round_trip_is_known_and_again_for_the_next_message() {
    let (mut law, mut window) = (law(), cwnd(2.0));
    let unmeasured = Acked { srtt: None, may_grow: false, ..ack(1, false, Span::from_millis(3)) };
    law.on_ack(&mut window, &unmeasured);
    assert_eq!(window.cwnd, 2.0);
    let measured = Acked { may_grow: false, ..ack(1, false, Span::from_millis(3)) };
    law.on_ack(&mut window, &measured);
    assert!((window.cwnd - 6.6).abs() < 1e-9, "{}", window.cwnd);
    // Not again for the same one, though it needs more by now, and not for one that is late.
    law.on_ack(&mut window, &Acked { may_grow: false, ..ack(1, false, Span::from_millis(1)) });
    assert!((window.cwnd - 6.6).abs() < 1e-9);
    let next = |left: Span| {
        let message = Message { deadline: Some(Instant::from_micros(10) + left), ..Message::of(Bytes(100_000)) };
        Acked { message: Current { end: 101_000, message }, may_grow: false, ..acked(1, false) }
    };
    law.calm = false;
    law.on_ack(&mut window, &next(Span::ZERO));
    assert!((window.cwnd - 6.6).abs() < 1e-9 && law.calm && !law.boosted);
    law.on_ack(&mut window, &next(Span::from_millis(1)));
    assert!((window.cwnd - 20.0).abs() < 1e-9, "100 segments in 1 ms, twice: {}", window.cwnd);
}

#[test]
fn no_window_is_larger_than_the_receivers_buffer() {
    // 99 segments in 1 ms, twice, would be 19.8, and one more for the acknowledged segment.
    let (mut law, mut window) = (law(), Cwnd { limit: 8.0, ..cwnd(2.0) });
    law.on_ack(&mut window, &ack(1, false, Span::from_millis(1)));
    assert_eq!(window.cwnd, 8.0);
}

#[test]
fn a_window_grows_with_what_is_acknowledged_without_a_mark_where_it_may() {
    let grown = |ack: Acked| {
        let (mut law, mut window) = (D2tcpPlus { boosted: true, message: 100_000, ..law() }, cwnd(10.0));
        law.on_ack(&mut window, &ack);
        window.cwnd
    };
    let plain = || Acked { segments: 2.0, may_cut: false, ..ack(20, false, Span::from_millis(50)) };
    assert_eq!(grown(plain()), 12.0);
    assert_eq!(grown(Acked { may_grow: false, ..plain() }), 10.0);
    assert_eq!(grown(Acked { marked: true, ..plain() }), 10.0);
    assert_eq!(grown(Acked { una: 100_000, ..plain() }), 10.0, "all of it has arrived");
}

#[test]
fn a_timeout_halves_the_threshold_and_leaves_no_more_than_the_loss_window() {
    let lost = |timeout: bool, left: Option<Span>| {
        let (mut law, mut window) = (law(), Cwnd { ssthresh: f64::INFINITY, ..cwnd(20.0) });
        law.constants.hold_share = 0.0;
        let state = left.map_or(acked(20, false), |left| ack(20, false, left));
        let lost = Lost { now: state.now, state, flight: 12.0, timeout };
        law.on_loss(&mut window, &lost);
        if timeout {
            law.on_timeout(&mut window, 1.0, &lost);
        }
        (window.cwnd, window.ssthresh, law.blocked_until)
    };
    // As cut by half: 0.16 segments per round trip are needed, and nothing is deferred here.
    assert_eq!(lost(true, Some(Span::from_millis(50))), (1.0, 10.0, Instant::ZERO));
    assert_eq!(lost(false, Some(Span::from_millis(50))), (20.0, 10.0, Instant::ZERO));
    // Without a deadline: half of the segments in flight (RFC 5681 eq. 4).
    assert_eq!(lost(true, None), (1.0, 6.0, Instant::ZERO));
}

#[test]
fn a_message_is_given_up_past_its_deadline_or_without_hope_and_only_if_asked() {
    let build = |word: &str| {
        let config = crate::registry::find("d2tcp_plus").unwrap().with(&[("hopeless", word)]).unwrap();
        let crate::registry::Control::Window(crate::controllers::Controller::D2tcpPlus(law)) = config.control else {
            panic!("another law")
        };
        law
    };
    let due = Instant::from_millis(5);
    let message = Message { deadline: Some(due), ..Message::of(Bytes(1)) };
    let aborts = |law: &D2tcpPlus, now: Instant| law.aborts(&message, now);
    for (word, expected) in [("hold", false), ("abort", true)] {
        let mut law = build(word);
        assert!(!aborts(&law, due) && aborts(&law, due + Span(1)) == expected, "{word}");
        law.hopeless = Some(due + Span(1));
        assert!(!aborts(&law, Instant::ZERO), "another message's");
        law.hopeless = Some(due);
        assert_eq!(aborts(&law, Instant::ZERO), expected, "{word}");
    }
}

#[test]
fn what_is_pressed_is_spaced_and_the_rest_where_pacing_is_on() {
    let (mut law, window) = (law(), Cwnd { ssthresh: 100.0, ..cwnd(10.0) });
    assert_eq!(law.pacing_rate(&OFF, &window), None);
    assert_eq!(law.pacing_rate(&Pacing { on: true, ..OFF }, &window), Some(20.0), "slow start");
    law.pressed = true;
    assert_eq!(law.pacing_rate(&OFF, &window), Some(12.0));
}

#[test]
fn waits_are_of_the_length_that_is_drawn() {
    // Without hope: half to one and a half times 0.1 s, which is 0.1 s on average, of 2000 to +- 2 %.
    let waits = |hold: f64| -> Vec<f64> {
        let waits = (1..=2000).map(|identity| {
            let mut law = D2tcpPlus { identity, ..law() };
            law.constants.hopeless_hold = hold;
            let standing = standing(Span::ZERO);
            law.stand_back(Instant::from_millis(3), &standing, 20.0, false);
            law.blocked_until.saturating_sub(Instant::from_millis(3)).as_secs_f64()
        });
        waits.collect()
    };
    // A tenth of them is in each tenth of the range: 200 +- 40, three standard deviations.
    let spreads = |waits: &[f64], from: f64, to: f64| {
        for tenth in 0..10 {
            let within = |wait: &&f64| ((*wait - from) / (to - from) * 10.0).floor() == f64::from(tenth);
            let count = waits.iter().filter(within).count();
            assert!(count.abs_diff(200) <= 40, "{count} in tenth {tenth} from {from} to {to}");
        }
    };
    for hold in [0.1, 0.02] {
        let waits = waits(hold);
        let mean = waits.iter().sum::<f64>() / 2000.0;
        assert!((mean / hold - 1.0).abs() < 0.02, "{mean}");
        spreads(&waits, 0.5 * hold, 1.5 * hold);
    }
    // With it: evenly up to laxity x 0.7 x (80 / 100)^4, after a timeout. A laxity of 30 ms less 0.1 ms, and no guard.
    let waits = (1..=2000).map(|identity| {
        let mut law = D2tcpPlus { identity, ..law() };
        law.constants.guard = 0.0;
        let standing = standing(Span::from_millis(30));
        law.see(&standing, 2.0);
        law.stand_back(Instant::ZERO, &standing, 20.0, true);
        law.blocked_until.saturating_sub(Instant::ZERO).as_secs_f64()
    });
    let expected = 29.9e-3 * 0.7 * 0.8_f64.powi(4) / 2.0;
    let waits: Vec<f64> = waits.collect();
    let mean = waits.iter().sum::<f64>() / 2000.0;
    assert!((mean / expected - 1.0).abs() < 0.04, "{mean}, not {expected}");
    spreads(&waits, 0.0, 2.0 * expected);
}

#[test]
fn what_is_held_back_asks_and_only_an_answer_without_a_mark_admits_it() {
    let (mut law, mut window) = (asking(7), cwnd(20.0));
    let left = Span::from_millis(50);
    assert!(law.on_ack(&mut window, &ack(1, true, left)));
    assert!(law.asks().is_some() && law.blocked_until > Instant::ZERO && window.cwnd == 1.0);
    // An answer to an earlier packet is no admission: it stays deferred, and grows by nothing.
    let until = law.blocked_until;
    law.on_ack(&mut window, &Acked { may_cut: false, ..ack(2, false, left) });
    assert!(law.asks().is_some() && law.blocked_until == until && window.cwnd == 1.0);
    // Marked again, though no new window has begun: it is held back again.
    let answer = |now: Instant, una, marked| Acked { now, may_grow: false, ..ack(una, marked, left) };
    law.on_ack(&mut window, &Acked { may_cut: false, ..answer(until, 3, true) });
    assert!(law.asks().is_some() && law.blocked_until > until);
    law.on_ack(&mut window, &answer(law.blocked_until, 4, false));
    assert!(law.asks().is_none() && window.cwnd == 2.0, "{}", window.cwnd);
    // It has begun: from now on marks and timeouts cut its window, and do not hold it back.
    let until = law.blocked_until;
    window.cwnd = 8.0;
    law.on_ack(&mut window, &ack(40, true, left));
    assert!(window.cwnd == 4.0 && law.asks().is_none() && law.blocked_until == until, "{}", window.cwnd);
    let state = ack(41, false, left);
    law.on_timeout(&mut window, 1.0, &Lost { now: state.now, state: state.clone(), flight: 4.0, timeout: true });
    assert!(window.cwnd == 1.0 && law.asks().is_none() && law.blocked_until == until);
    // The next message on the connection has to be admitted for itself.
    let message = Message { deadline: Some(state.now + left), ..Message::of(Bytes(100_000)) };
    let next = Acked { message: Current { end: 200_000, message }, ..acked(110, true) };
    law.on_ack(&mut window, &next);
    assert!(law.asks().is_some() && law.blocked_until != until);
}

#[test]
fn what_has_no_time_for_peers_does_not_ask_nor_what_is_never_held_back() {
    // 99 segments of 10 us take 0.99 ms alone: five of that, itself and a round trip of 0.1 ms are 6.04 ms.
    for (left_us, share, asks) in [(6042, 0.7, true), (6038, 0.7, false), (50_000, 0.0, false)] {
        let (mut law, mut window) = (asking(7), cwnd(20.0));
        law.segment_time = 10e-6;
        law.constants.hold_share = share;
        law.on_ack(&mut window, &ack(1, true, Span::from_micros(left_us)));
        assert_eq!((law.asks().is_some(), law.blocked_until > Instant::ZERO), (asks, asks), "{left_us}");
        assert_eq!(window.cwnd > 1.0, !asks);
    }
}

#[test]
fn what_was_admitted_yields_while_it_is_long_has_time_and_has_hardly_begun() {
    // 80 of 100 segments of 20 us: 1.6 ms alone, two round trips of 0.1 ms are an eighth of that, and (4/5)^4 is
    // 0.4096. Of a laxity of 16 ms five of these are half: 0.4096 x 7/8 x 1/2.
    let yields = |segment_time: f64, left_us: u64| {
        let law = D2tcpPlus { segment_time, ..asking(7) };
        let standing = standing(Span::from_micros(left_us));
        law.yields(&standing, law.laxity(&standing, 1.0))
    };
    assert!((yields(20e-6, 17_700) - 0.4096 * 0.875 * 0.5).abs() < 1e-9, "{}", yields(20e-6, 17_700));
    assert!((yields(20e-6, 33_700) - 0.4096 * 0.875 * 0.75).abs() < 1e-9);
    // 0.2 ms alone: two round trips.
    assert_eq!((yields(2.5e-6, 17_700), yields(0.0, 17_700)), (0.0, 0.0));
    // So often is it held back at a mark, and never at a timeout; then it has to ask.
    let held = |timeout: bool| {
        (1..=1000).filter(move |&identity| {
            let mut law = D2tcpPlus { segment_time: 20e-6, admitted: true, ..asking(identity) };
            law.stand_back(Instant::ZERO, &standing(Span::from_micros(17_700)), 20.0, timeout);
            assert_eq!((law.asks().is_some(), law.blocked_until > Instant::ZERO), (!law.admitted, !law.admitted));
            law.asks().is_some()
        })
    };
    // 179 of 1000, to three times the square root of 1000 x 0.18 x 0.82.
    let marked = held(false).count();
    assert!((143..=216).contains(&marked), "{marked}");
    assert_eq!(held(true).count(), 0);
}

#[test]
fn where_it_asks_laxity_is_what_is_left_beyond_the_rest_on_a_link_of_its_own() {
    let law = D2tcpPlus { allowed: 20e-3, segment_time: 12e-6, ..asking(7) };
    // 80 segments of 12 us and a round trip of 0.1 ms, whatever the window is.
    for cwnd in [0.5, 10.0] {
        let laxity = law.laxity(&standing(Span::from_millis(15)), cwnd);
        assert!((laxity - 13.94e-3).abs() < 1e-9, "{laxity}");
    }
    // The rate of the host's link is known with a message: segments of 1000 B at 1 Gbit/s take 8 us.
    let (mut law, mut window) = (asking(7), cwnd(2.0));
    let site =
        Site { rate: units::Rate(1_000_000_000), frame_overhead: units::Bytes::ZERO, host: units::HostId(0), own: 0 };
    law.on_message(&mut window, &ack(1, false, Span::from_millis(15)), true, site);
    assert!((law.segment_time - 8e-6).abs() < 1e-15);
}

#[test]
fn questions_come_at_a_rate_that_goes_with_the_inverse_square_of_the_laxity() {
    // Of a laxity x a wait of w leaves 1/(x - w) = 1/x + e/scale, where e is drawn with mean 1: whatever x is.
    for left_us in [5_100, 30_100, 100_100] {
        let drawn = (1..=2000).map(|identity| {
            let mut law = asking(identity);
            let standing = Standing { share: 1.0, ..standing(Span::from_micros(left_us)) };
            law.stand_back(Instant::ZERO, &standing, 20.0, false);
            let laxity = (left_us - 100) as f64 * 1e-6;
            let wait = law.blocked_until.saturating_sub(Instant::ZERO).as_secs_f64();
            assert!((0.0..laxity).contains(&wait));
            0.15 * (1.0 / (laxity - wait) - 1.0 / laxity)
        });
        let mean = drawn.sum::<f64>() / 2000.0;
        assert!((mean - 1.0).abs() < 0.08, "{left_us}: {mean}");
    }
    // 80 segments of 25 us are 2 ms, of which 64 are added to the scale: 278 ms instead of 150, the same draw.
    let drawn = |segment_time: f64, left_us: u64| {
        let mut law = D2tcpPlus { segment_time, ..asking(7) };
        let standing = Standing { share: 1.0, ..standing(Span::from_micros(left_us)) };
        law.stand_back(Instant::ZERO, &standing, 20.0, false);
        let wait = law.blocked_until.saturating_sub(Instant::ZERO).as_secs_f64();
        1.0 / (30e-3 - wait) - 1.0 / 30e-3
    };
    let ratio = drawn(0.0, 30_100) / drawn(25e-6, 32_100);
    assert!((ratio - 278.0 / 150.0).abs() < 1e-6, "{ratio}");
    // Four fifths of it left: by the fourth power of that rarer waits, the same draw.
    let drawn = |share: f64| {
        let mut law = asking(7);
        law.stand_back(Instant::ZERO, &Standing { share, ..standing(Span::from_micros(5100)) }, 20.0, false);
        let wait = law.blocked_until.saturating_sub(Instant::ZERO).as_secs_f64();
        1.0 / (5e-3 - wait) - 1.0 / 5e-3
    };
    assert!((drawn(0.8) / drawn(1.0) / 0.4096 - 1.0).abs() < 1e-6, "{}", drawn(0.8) / drawn(1.0));
}

#[test]
fn marks_are_counted_and_answered_as_by_dctcp() {
    // A gain of 1 would make alpha the share of the last window: marks beyond a gap are in it.
    let (mut law, mut window) = (law(), cwnd(20.0));
    law.on_beyond(3000, true);
    law.on_ack(&mut window, &ack(1, false, Span::from_millis(50)));
    let plain = {
        let mut law = self::law();
        law.on_ack(&mut cwnd(20.0), &ack(1, false, Span::from_millis(50)));
        law.marking.alpha
    };
    assert!(law.marking.alpha > plain, "{} and {plain}", law.marking.alpha);
    // Its sender spaces packets and gives it an identity, so that flows that are alike do not draw alike.
    assert!(law.paces());
    let mut other = self::law();
    other.identify(8);
    assert_ne!(other.draw(Instant::ZERO), self::law().draw(Instant::ZERO));
}
