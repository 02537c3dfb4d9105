use super::*;
use crate::Message;
use crate::controllers::Current;
use crate::controllers::dctcp::tests::marking;
use crate::controllers::deferral::tests::{OFF, a_timeout_halves_the_threshold, ack, standing};
use crate::controllers::tests::{acked, cwnd};
use units::Bytes;

/// Round trips of 100 us, as in `acked`, and a message of 100 segments of which the ones after `una` are left.
fn law() -> D2tcpWait {
    law_of(7)
}

fn law_of(identity: u64) -> D2tcpWait {
    let constants = Constants {
        start: 2.0,
        growth: 1.0,
        growth_later: 0.25,
        floor_horizon: 10e-3,
        floor_most: 4.0,
        hold_share: 0.7,
        hold_most: 20e-3,
        hold_power: 4.0,
        guard: 0.5,
        guard_most: 10e-3,
        guard_share: 0.25,
        hopeless_hold: 0.1,
    };
    let mut law = D2tcpWait::new(marking(0.0), constants);
    law.identify(identity);
    law
}

fn blocked_for(law: &D2tcpWait, ack: &Acked) -> f64 {
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

#[test]
fn one_that_can_wait_stands_back_by_its_laxity_if_it_has_not_begun() {
    // 100 segments of 100 us in 50 ms: 0.2 per round trip. Laxity is 50 ms less 0.1 ms less the guard: 0.5 x 100 x 0.1
    // ms / 10 = 0.5 ms. With all of it left it always defers, for 0.7 of that and for 20 ms at most.
    let waits: Vec<f64> = (1..200)
        .map(|identity| {
            let (mut law, mut window) = (law_of(identity), cwnd(20.0));
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
            let (mut law, mut window) = (law_of(identity), cwnd(20.0));
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
fn without_hope_it_lets_others_pass() {
    let (mut law, mut window) = (law(), cwnd(2.0));
    (law.message, law.allowed, law.boosted) = (100_000, 20e-3, true);
    // 90 segments at two per round trip need 4.5 ms, of which half counts: more than 2 ms.
    let late = ack(10, true, Span::from_millis(2));
    assert!(law.on_ack(&mut window, &late) && window.cwnd == 1.0);
    let wait = blocked_for(&law, &late);
    assert!((0.05..=0.15).contains(&wait), "{wait}");
    assert_eq!(law.asks(), None);
}

#[test]
fn what_a_cut_leaves_depends_on_how_near_the_deadline_is() {
    // Needs of 4, 1.6, 1.0 and 0.5 segments per round trip of 0.1 ms. The floor is 10 ms over the time left times that,
    // four times at most; below a segment there is none. Half of the part above it is cut.
    for (left_us, cut) in [(2000, 16.0 + 2.0), (5000, 3.2 + 8.4), (8000, 1.25 + 9.375), (16_000, 10.0)] {
        let mut law = law();
        let standing = standing(Span::from_micros(left_us));
        law.see(&standing);
        assert!((law.cut(&standing, 20.0) - cut).abs() < 1e-9, "{left_us}: {}", law.cut(&standing, 20.0));
    }
    let mut law = law();
    let near = standing(Span::from_millis(2));
    law.see(&near);
    // Below its floor nothing is taken off, and nothing is added.
    assert_eq!(law.cut(&near, 10.0), 10.0);
    let far = standing(Span::from_millis(50));
    law.see(&far);
    assert_eq!(law.cut(&far, 1.5), 1.0, "a segment at least");
    // When there is no time left there is no need to insist on.
    let late = standing(Span::ZERO);
    law.see(&late);
    assert_eq!((late.need, law.pressed, law.cut(&late, 20.0)), (f64::INFINITY, false, 10.0));
}

#[test]
fn laxity_is_the_time_left_less_a_round_trip_and_less_a_guard_with_two_bounds() {
    let law = D2tcpWait { allowed: 20e-3, ..law() };
    let laxity = |law: &D2tcpWait, cwnd: f64| law.laxity(&standing(Span::from_millis(15)), cwnd) * 1e3;
    // At 10 segments the rest takes 0.8 ms, of which half counts. At 0.5 it takes 16 ms: 5 of the 8 that are a quarter
    // of the time at first. With more time at first it is the 6 of another bound.
    assert!((laxity(&law, 10.0) - 14.5).abs() < 1e-9, "{}", laxity(&law, 10.0));
    assert!((laxity(&law, 0.5) - 9.9).abs() < 1e-9);
    let mut bounded = D2tcpWait { allowed: 80e-3, ..law };
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
        law.see(&standing);
        law.stand_back(Instant::ZERO, &standing, 20.0, false);
        assert_eq!(law.blocked_until >= Instant::from_millis(50), hopeless, "{left_us}");
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
        D2tcpWait::next_due(&ack).map(|standing| standing.end)
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
        D2tcpWait::next_due(&ack).map(|standing| standing.end)
    };
    assert_eq!(unmeasured(0), Some(100_000));
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
        let (mut law, mut window) = (D2tcpWait { boosted: true, message: 100_000, ..law() }, cwnd(10.0));
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
    a_timeout_halves_the_threshold(|| {
        let mut law = law();
        law.constants.hold_share = 0.0;
        law
    });
}

#[test]
fn a_pressed_message_is_spaced_and_the_rest_where_pacing_is_on() {
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
            let mut law = law_of(identity);
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
        let mut law = law_of(identity);
        law.constants.guard = 0.0;
        let standing = standing(Span::from_millis(30));
        law.see(&standing);
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
    assert_ne!(other.draws.draw(Instant::ZERO), self::law().draws.draw(Instant::ZERO));
}
