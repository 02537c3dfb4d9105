use super::*;
use crate::Message;
use crate::controllers::Current;
use crate::controllers::dctcp::tests::marking;
use crate::controllers::deferral::tests::{OFF, a_timeout_halves_the_threshold, ack, standing};
use crate::controllers::tests::{acked, cwnd};

/// Round trips of 100 us, as in `acked`, and a message of 100 segments of which the ones after `una` are left.
fn law() -> D2tcpPlus {
    law_of(7)
}

fn law_of(identity: u64) -> D2tcpPlus {
    let constants = Constants {
        start: 2.0,
        growth_most: 4.0,
        ask_rate: 6.0,
        ask_lengths: 64.0,
        peers: 5.0,
        ask_rounds: 6.0,
        first_rounds: 20.0,
        company: 60.0,
        hold_power: 4.0,
        hopeless_hold: 2.0,
        question: Bytes(1),
        base_rtt: 80e-6,
        answer_delay: 0.0,
    };
    let mut law = D2tcpPlus::new(marking(0.0), constants);
    law.identify(identity);
    law
}

fn blocked_for(law: &D2tcpPlus, now: Instant) -> f64 {
    law.blocked_until.saturating_sub(now).as_secs_f64()
}

/// A law that has seen its message with this time left.
fn aware(identity: u64, allowed: Span) -> D2tcpPlus {
    let mut law = law_of(identity);
    law.see(&standing(allowed));
    law
}

fn site(gbps: u64) -> Site {
    Site { rate: units::Rate::from_gbps(gbps), frame_overhead: Bytes::ZERO, hops: 4, host: units::HostId(0), own: 0 }
}

#[test]
fn the_first_sample_lifts_the_window_to_twice_the_need_once_for_each_message() {
    let (mut law, mut window) = (law(), cwnd(2.0));
    let still = |ack| Acked { may_grow: false, ..ack };
    law.on_ack(&mut window, &Acked { srtt: None, ..still(ack(1, false, Span::from_millis(3))) });
    assert_eq!(window.cwnd, 2.0);
    // 99 segments in 3 ms are 3.3 per round trip.
    law.on_ack(&mut window, &still(ack(1, false, Span::from_millis(3))));
    assert!((window.cwnd - 6.6).abs() < 1e-9, "{}", window.cwnd);
    law.on_ack(&mut window, &still(ack(1, false, Span::from_millis(1))));
    assert!((window.cwnd - 6.6).abs() < 1e-9, "not again for the same message");
    let next = |left: Span| {
        let message = Message { deadline: Some(Instant::from_micros(10) + left), ..Message::of(Bytes(100_000)) };
        Acked { message: Current { end: 101_000, message }, ..still(acked(1, false)) }
    };
    law.on_ack(&mut window, &next(Span::ZERO));
    assert!((window.cwnd - 6.6).abs() < 1e-9, "not for a late one");
    law.on_ack(&mut window, &next(Span::from_millis(1)));
    assert!((window.cwnd - 20.0).abs() < 1e-9, "100 segments in 1 ms, twice: {}", window.cwnd);
    let mut limited = Cwnd { limit: 8.0, ..cwnd(2.0) };
    self::law().on_ack(&mut limited, &ack(1, false, Span::from_millis(1)));
    assert_eq!(limited.cwnd, 8.0, "the receiver's buffer");
}

#[test]
fn urgency_is_the_allowed_time_over_the_time_left_and_has_a_maximum() {
    let law = aware(7, Span::from_millis(8));
    for (left_us, urgency) in [(8000, 1.0), (5000, 1.6), (2000, 4.0), (1000, 4.0)] {
        assert!((law.urgency(&standing(Span::from_micros(left_us))) - urgency).abs() < 1e-9, "{left_us}");
    }
}

#[test]
fn a_cut_leaves_the_need_times_the_urgency_and_half_of_the_rest() {
    // Needs of 4, 1.6 and 1 segment per round trip of 0.1 ms, of 8 ms at first; below a segment there is no floor.
    for (left_us, cut) in [(2000, 16.0 + 2.0), (5000, 2.56 + 8.72), (8000, 1.0 + 9.5), (16_000, 10.0)] {
        let mut law = aware(7, Span::from_millis(8));
        let standing = standing(Span::from_micros(left_us));
        law.see(&standing);
        assert!((law.cut(&standing, 20.0) - cut).abs() < 1e-9, "{left_us}: {}", law.cut(&standing, 20.0));
    }
    let mut law = aware(7, Span::from_millis(8));
    let near = standing(Span::from_millis(2));
    law.see(&near);
    assert_eq!(law.cut(&near, 10.0), 10.0, "below its floor nothing is cut, and nothing is added");
    let far = standing(Span::from_millis(50));
    law.see(&far);
    assert_eq!(law.cut(&far, 1.5), 1.0, "a segment at least");
    let late = standing(Span::ZERO);
    law.see(&late);
    assert_eq!((late.need, law.pressed, law.cut(&late, 20.0)), (f64::INFINITY, false, 10.0));
}

#[test]
fn after_the_first_mark_growth_is_a_quarter_times_the_urgency_of_what_is_pressed() {
    let growth = |calm: bool, left_us: u64| {
        let mut law = aware(7, Span::from_millis(8));
        let standing = standing(Span::from_micros(left_us));
        law.see(&standing);
        law.calm = calm;
        law.growth(&standing)
    };
    assert_eq!((growth(true, 5000), growth(false, 8000), growth(false, 16_000)), (1.0, 0.25, 0.25));
    assert!((growth(false, 5000) - 0.4).abs() < 1e-9 && growth(false, 1000) == 1.0);
    let grown = |ack: Acked| {
        let mut law = D2tcpPlus { boosted: true, ..aware(7, Span::from_millis(50)) };
        let mut window = cwnd(10.0);
        law.on_ack(&mut window, &ack);
        window.cwnd
    };
    let plain = || Acked { segments: 2.0, may_cut: false, ..ack(20, false, Span::from_millis(50)) };
    assert_eq!((grown(plain()), grown(Acked { may_grow: false, ..plain() })), (12.0, 10.0));
    assert_eq!((grown(Acked { marked: true, ..plain() }), grown(Acked { una: 100_000, ..plain() })), (10.0, 10.0));
}

#[test]
fn a_connection_that_has_met_congestion_knows_of_it_at_the_next_message() {
    let mut law = D2tcpPlus { calm: false, message: 1, ..law() };
    law.see(&standing(Span::from_millis(30)));
    assert!(!law.calm && aware(7, Span::from_millis(30)).calm);
}

#[test]
fn laxity_is_the_time_left_less_the_rest_on_a_link_of_its_own_and_a_round_trip() {
    let law = D2tcpPlus { segment_time: 12e-6, ..law() };
    // 80 segments of 12 us and a round trip of 0.1 ms.
    assert!((law.laxity(&standing(Span::from_millis(15))) - 13.94e-3).abs() < 1e-9);
    // The rate of the host's link is known with a message: segments of 1000 B at 1 Gbit/s take 8 us.
    let mut law = self::law();
    law.on_message(&mut cwnd(2.0), &ack(1, false, Span::from_millis(15)), true, site(1));
    assert!((law.segment_time - 8e-6).abs() < 1e-15);
}

#[test]
fn a_message_waits_only_with_time_for_its_peers_and_for_round_trips() {
    // 80 segments of 10 us take 0.8 ms alone: five of that, itself and a round trip of 0.1 ms are 4.9 ms.
    let waits = |law: &D2tcpPlus, left_us: u64| law.can_wait(&standing(Span::from_micros(left_us)), 6.0);
    let long = D2tcpPlus { segment_time: 10e-6, ..law() };
    assert!(waits(&long, 4910) && !waits(&long, 4890));
    // Short: six round trips of 0.1 ms and one.
    assert!(waits(&law(), 710) && !waits(&law(), 690));
    // A base RTT above the sample counts, and so does the delay of a single packet's ACK.
    let mut slow = law();
    slow.constants.base_rtt = 1e-3;
    assert!(waits(&slow, 6110) && !waits(&slow, 6090));
    let mut delayed = law();
    delayed.constants.answer_delay = 0.9e-3;
    assert!(waits(&delayed, 6110) && !waits(&delayed, 6090));
    let mut never = law();
    never.constants.ask_rate = 0.0;
    assert!(!waits(&never, 50_000));
}

#[test]
fn on_an_idle_connection_a_message_with_time_sends_a_question_first() {
    let begins = |left_us: u64, idle: bool| {
        let (mut law, mut window) = (law(), cwnd(10.0));
        let state = Acked { srtt: None, una: 0, ..ack(0, false, Span::from_micros(left_us)) };
        law.on_message(&mut window, &state, idle, site(100));
        (law.asks(), window.cwnd)
    };
    // 100 segments of 80 ns are 8 us; twenty times the base RTT of 80 us are 1.6 ms.
    assert_eq!(begins(1610, true), (Some(Bytes(1)), 1.0));
    assert_eq!(begins(1606, true), (None, 10.0));
    assert_eq!(begins(1610, false), (None, 10.0));
}

#[test]
fn questions_come_at_a_rate_by_the_inverse_square_of_the_laxity_scaled_by_the_allowed_time() {
    // Of a laxity x a wait of w leaves 1/(x - w) = 1/x + e/scale, where e is drawn with mean 1: whatever x is.
    let wait = |law: &mut D2tcpPlus, left_us: u64, share: f64| {
        let standing = Standing { share, ..standing(Span::from_micros(left_us)) };
        law.stand_back(Instant::ZERO, &standing, 20.0, false);
        blocked_for(law, Instant::ZERO)
    };
    for (left_us, allowed_us) in [(5_100, 10_000), (30_100, 30_100), (100_100, 400_000)] {
        let drawn = (1..=2000).map(|identity| {
            let mut law = aware(identity, Span::from_micros(allowed_us));
            let laxity = (left_us - 100) as f64 * 1e-6;
            let wait = wait(&mut law, left_us, 1.0);
            assert!((0.0..laxity).contains(&wait));
            6.0 * allowed_us as f64 * 1e-6 * (1.0 / (laxity - wait) - 1.0 / laxity)
        });
        let mean = drawn.sum::<f64>() / 2000.0;
        assert!((mean - 1.0).abs() < 0.08, "{left_us}: {mean}");
    }
    let drawn = |segment_time: f64, left_us: u64, share: f64| {
        let mut law = D2tcpPlus { segment_time, ..aware(7, Span::from_millis(50)) };
        1.0 / (30e-3 - wait(&mut law, left_us, share)) - 1.0 / 30e-3
    };
    // 80 segments of 25 us are 2 ms, of which 64 are added to the 300 ms: 428, the same draw.
    let ratio = drawn(0.0, 30_100, 1.0) / drawn(25e-6, 32_100, 1.0);
    assert!((ratio - 428.0 / 300.0).abs() < 1e-6, "{ratio}");
    // Four fifths of it left: by the fourth power of that shorter waits.
    let ratio = drawn(0.0, 30_100, 0.8) / drawn(0.0, 30_100, 1.0);
    assert!((ratio / 0.4096 - 1.0).abs() < 1e-6, "{ratio}");
}

#[test]
fn what_is_held_back_asks_and_only_an_answer_without_a_mark_admits_it() {
    let (mut law, mut window) = (law(), cwnd(20.0));
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
    assert!(law.asks().is_none() && law.admitted && window.cwnd == 1.0, "{}", window.cwnd);
    // It has begun: marks and timeouts cut its window, and do not hold it back.
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
fn without_hope_it_lets_others_pass_for_some_allowed_times_and_then_asks() {
    // Half to one and a half times twice 20 ms, which is 40 ms on average, of 2000 to +- 2 %.
    let late = standing(Span::from_micros(99));
    let waits = (1..=2000).map(|identity| {
        let mut law = D2tcpPlus { admitted: true, ..aware(identity, Span::from_millis(20)) };
        assert_eq!(law.stand_back(Instant::from_millis(3), &late, 20.0, false), 1.0);
        assert!(law.asks().is_some() && !law.admitted);
        let wait = blocked_for(&law, Instant::from_millis(3));
        assert!((0.02..=0.06).contains(&wait), "{wait}");
        wait
    });
    let mean = waits.sum::<f64>() / 2000.0;
    assert!((mean / 0.04 - 1.0).abs() < 0.02, "{mean}");
    // A laxity of nothing is still hope.
    let mut law = aware(7, Span::from_millis(20));
    law.stand_back(Instant::ZERO, &standing(Span::from_micros(100)), 20.0, false);
    assert_eq!((law.asks(), law.blocked_until), (None, Instant::ZERO));
}

/// 80 of 100 segments of 1 us: all take two round trips of 0.1 ms at most, and in company the rest takes 4.8 ms.
#[test]
fn what_is_short_and_was_refused_often_has_no_hope_with_less_time_than_it_takes_in_company() {
    let hopeless = |left_us: u64, refusals: u32, change: fn(&mut D2tcpPlus, &mut Standing)| {
        let mut law = D2tcpPlus { segment_time: 1e-6, ..aware(7, Span::from_micros(left_us)) };
        let mut standing = standing(Span::from_micros(left_us));
        law.refusals = refusals;
        change(&mut law, &mut standing);
        law.stand_back(Instant::ZERO, &standing, 2.0, false);
        blocked_for(&law, Instant::ZERO) > left_us as f64 * 1e-6
    };
    assert!(hopeless(4790, 4, |_, _| ()) && !hopeless(4810, 4, |_, _| ()));
    assert!(!hopeless(4790, 3, |_, _| ()), "this is its fourth refusal");
    assert!(hopeless(4790, 4, |law, _| law.segment_time = 1.99e-6));
    assert!(!hopeless(4790, 4, |law, _| law.segment_time = 2.01e-6));
    assert!(!hopeless(4790, 4, |_, standing| standing.opens = false));
    assert!(!hopeless(4790, 9, |law, _| law.admitted = true));
}

#[test]
fn what_was_admitted_yields_by_chance() {
    // 80 of 100 segments of 20 us: 1.6 ms alone, two round trips of 0.1 ms are an eighth of that, and (4/5)^4 is
    // 0.4096. Of a laxity of 16 ms five of these are half: 0.4096 x 7/8 x 1/2.
    let yields = |segment_time: f64, left_us: u64| {
        let law = D2tcpPlus { segment_time, ..law() };
        let standing = standing(Span::from_micros(left_us));
        law.yields(&standing, law.laxity(&standing))
    };
    assert!((yields(20e-6, 17_700) - 0.4096 * 0.875 * 0.5).abs() < 1e-9, "{}", yields(20e-6, 17_700));
    assert!((yields(20e-6, 33_700) - 0.4096 * 0.875 * 0.75).abs() < 1e-9);
    // Short ones with more than twice the 4.8 ms that the rest takes in company, and none before the rate is known.
    assert!((yields(1e-6, 9610) - 0.4096).abs() < 1e-9);
    assert_eq!((yields(1e-6, 9590), yields(0.0, 17_700)), (0.0, 0.0));
    // 100 segments of 2.4 us are 0.24 ms and no short message, of which the rest takes 0.192: less than two round trips.
    assert_eq!(yields(2.4e-6, 17_700), 0.0);
    let held = |timeout: bool| {
        (1..=1000).filter(move |&identity| {
            let law = aware(identity, Span::from_millis(20));
            let mut law = D2tcpPlus { segment_time: 20e-6, admitted: true, ..law };
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
fn of_all_that_wait_the_one_that_needs_most_counts_and_late_ones_last() {
    let deadline = |left_ms| Some(Instant::from_micros(200) + Span::from_millis(left_ms));
    let later = |end: u64, left_ms| {
        let message = Message { deadline: deadline(left_ms), ..Message::of(Bytes(100_000)) };
        Current { end, message }
    };
    let chosen = |own_ms, others: &[Current]| {
        let later = others.iter().copied().collect();
        let ack = Acked { later: &later, ..ack(20, false, Span::from_millis(own_ms)) };
        D2tcpPlus::next_due(&ack).map(|standing| standing.end)
    };
    // 80 segments in 10 ms, and 180 in 40, 20 and 22.5 ms: 0.8, 0.45, 0.9 and 0.8 per round trip.
    assert_eq!(chosen(10, &[later(200_000, 40)]), Some(100_000));
    assert_eq!(chosen(10, &[later(200_000, 20)]), Some(200_000));
    assert_eq!(chosen(10, &[later(200_000, 20), later(300_000, 10)]), Some(300_000));
    assert_eq!(chosen(10, &[later(180_000, 20)]), Some(100_000), "160 in 20 ms need as much as 80 in 10");
    let of = |others: [u64; 2]| chosen(0, &[later(200_000, others[0]), later(300_000, others[1])]);
    assert_eq!((of([50, 0]), of([50, 10]), of([0, 0])), (Some(200_000), Some(300_000), Some(100_000)));
}

#[test]
fn a_timeout_halves_the_threshold_and_leaves_no_more_than_the_loss_window() {
    a_timeout_halves_the_threshold(|| {
        let mut law = law();
        law.constants.ask_rate = 0.0;
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
    assert!(law.paces());
}

#[test]
fn another_message_and_an_idle_connection_end_the_deferral() {
    let held = || D2tcpPlus { asking: true, blocked_until: Instant::MAX, pressed: true, ..law() };
    let free = |law: &D2tcpPlus| !law.asking && !law.pressed && law.blocked_until == Instant::ZERO;
    let (mut idle, mut next, mut message) = (held(), held(), held());
    idle.on_idle(Span::ZERO);
    next.on_next();
    message.on_message(&mut cwnd(2.0), &ack(1, false, Span::from_millis(15)), false, site(1));
    assert!(free(&idle) && free(&next) && free(&message));
    let mut same = D2tcpPlus { message: 100_000, ..held() };
    same.on_message(&mut cwnd(2.0), &ack(1, false, Span::from_millis(15)), false, site(1));
    assert!(!free(&same));
}

#[test]
fn no_two_draws_are_the_same() {
    let mut drawn = std::collections::BTreeSet::new();
    for identity in 0..100 {
        for time in 0..10 {
            let mut law = law();
            law.identify(identity);
            for _ in 0..3 {
                let value = law.draws.draw(Instant(time));
                assert!((0.0..1.0).contains(&value));
                drawn.insert(value.to_bits());
            }
        }
    }
    assert_eq!(drawn.len(), 3000);
}

#[test]
fn marks_beyond_a_gap_are_counted_as_by_dctcp() {
    let alpha = |beyond: bool| {
        let mut law = law();
        if beyond {
            law.on_beyond(3000, true);
        }
        law.on_ack(&mut cwnd(20.0), &ack(1, false, Span::from_millis(50)));
        law.marking.alpha
    };
    assert!(alpha(true) > alpha(false));
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
fn base_rtt_follows_the_network_where_it_is_not_written() {
    let built = |settings: &[(&str, &str)]| {
        let config = crate::registry::find("d2tcp_plus").unwrap().with(settings).unwrap();
        let crate::registry::Control::Window(crate::controllers::Controller::D2tcpPlus(law)) = config.control else {
            panic!("another law")
        };
        (law.constants.base_rtt, law.constants.answer_delay)
    };
    let near = |value: (f64, f64), base: f64, delay: f64| {
        assert!((value.0 - base).abs() < 1e-12 && (value.1 - delay).abs() < 1e-12, "{value:?}");
    };
    near(built(&[]), 14.6e-6, 0.0);
    near(built(&[("base_rtt", "50 us"), ("ack_every", "2"), ("ack_delay", "3 ms")]), 50e-6, 3e-3);
}
