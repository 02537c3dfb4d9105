//! Senders that pace at the rate that a deadline asks for, fed by hand: `jit`, `mcp`, `mcp-opt`. A segment has 1000 B and
//! no header, 8000 bit; C is 1 Gbit/s, and a round trip 1 ms, so that C tau is 125 segments.

use super::common;

use common::Bench;
use transport::{Blocks, Extension, Flags, Header, Packet, mcp};
use units::Instant;

/// Bytes left over time left, without corrections.
const PLAIN: &str = "aim = 1\nlead = 0\nmargin_rtts = 0";

fn bench(name: &str, keys: &str) -> Bench {
    Bench::new(name, &format!("header = '0 B'\nbase_rtt = '1 ms'\nrto_min = '50 ms'\nrto_initial = '50 ms'\n{keys}"))
}

/// Enqueues a message of `bytes` with a deadline in ms.
fn message(bench: &mut Bench, bytes: u64, deadline_ms: u64) {
    bench.message(bytes, Some(Instant::from_millis(deadline_ms)));
}

fn until(bench: &mut Bench, us: u64) {
    while bench.notes.timer <= Instant::from_micros(us) {
        bench.timer();
    }
    bench.now = Instant::from_micros(us);
}

/// An ACK at a time, without a sample.
fn ack(bench: &mut Bench, us: u64, segment: u64, marked: bool) {
    until(bench, us);
    bench.ack(segment, None, Flags::NONE.with_if(marked, Flags::ECE), &[]);
}

/// The same with the sum of the hops.
fn hear(bench: &mut Bench, us: u64, segment: u64, network: f64, largest: u64) {
    until(bench, us);
    let header = Header::Mcp(Box::new(mcp::Header { network, largest }));
    let mut extension = Extension { header: Some(header), ..Extension::of_blocks(Blocks::default()) };
    let packet = Packet::ack(segment * 1000, 0, Instant::MAX, Flags::NONE);
    bench.sender.on_packet(&bench.config, bench.now, &packet, Some(&mut extension), &mut bench.notes);
}

/// A signal, to a part in a million.
fn near(bench: &Bench, signal: &str, expected: f64) {
    let got = bench.observe().get(signal).unwrap_or_else(|| panic!("{signal} is not shown"));
    assert!((got - expected).abs() <= expected.abs() * 1e-6 + 1e-9, "{signal}: {got}, not {expected}");
}

fn at_rate(bench: &Bench) -> bool {
    bench.observe().get("rate").is_some()
}

#[test]
fn the_first_rate_is_what_is_left_over_the_time_that_is_left() {
    // 800 kbit in 10 ms; 5 % more; of 8 ms; and with a C that is less.
    for (keys, mbps) in [
        ("aim = 1\nmargin_rtts = 0", 80.0),
        ("aim = 1.05\nmargin_rtts = 0", 84.0),
        ("aim = 1\nmargin_rtts = 2", 100.0),
        ("aim = 10\nmargin_rtts = 5", 1000.0),
        ("aim = 10\nmargin_rtts = 5\ncapacity = '500 Mbps'", 500.0),
        ("aim = 1\nmargin_rtts = 10", 1000.0),
        ("aim = 0.1\nmargin_rtts = 0\nleast_rate = '2%'", 20.0),
    ] {
        let mut bench = bench("jit", keys);
        message(&mut bench, 100_000, 10);
        near(&bench, "rate", mbps);
        // A window of twice the data of a round trip, and ten segments.
        near(&bench, "cwnd", 2.0 * mbps / 8.0 + 10.0);
    }
    let mut limited = bench("jit", &format!("{PLAIN}\nwindow_limit = '12 KB'"));
    message(&mut limited, 100_000, 10);
    near(&limited, "cwnd", 12.0);
}

#[test]
fn headers_are_counted() {
    // 100 segments of 1040 B in 10 ms.
    let mut bench = Bench::new("jit", &format!("header = '40 B'\nbase_rtt = '1 ms'\n{PLAIN}"));
    message(&mut bench, 100_000, 10);
    near(&bench, "rate", 83.2);
    near(&bench, "cwnd", 30.0);
}

#[test]
fn it_is_paced_and_followed_once_per_round_trip() {
    for (keys, mbps) in [
        // At 1 ms eleven segments were sent, and 89 are left, or 90 with the one ahead; of 9 ms, less two in one case.
        (PLAIN, 712.0 / 9.0),
        ("aim = 1\nlead = 1\nmargin_rtts = 0", 80.0),
        ("aim = 1\nlead = 0\nmargin_rtts = 2", 712.0 / 7.0),
    ] {
        let mut bench = bench("jit", keys);
        message(&mut bench, 100_000, 10);
        let gap = if keys.ends_with('2') { 80 } else { 100 };
        until(&mut bench, 3 * gap);
        assert_eq!(bench.sent(), [0, 1, 2, 3], "{keys}");
        // Not before a round trip is over.
        ack(&mut bench, 999, 1, false);
        near(&bench, "gamma", 8000.0 / gap as f64);
        if gap == 100 {
            ack(&mut bench, 1000, 2, false);
            near(&bench, "gamma", mbps);
            near(&bench, "rate", mbps);
        }
    }
}

#[test]
fn the_most_demanding_of_all_that_wait_decides_with_all_that_is_before_it() {
    let mut bench = bench("jit", PLAIN);
    message(&mut bench, 100_000, 100);
    near(&bench, "rate", 8.0);
    // 199 segments in 10 ms: one was sent.
    message(&mut bench, 100_000, 10);
    near(&bench, "gamma", 159.2);
    near(&bench, "rate", 159.2);
    bench.message(100_000, None);
    message(&mut bench, 100_000, 1000);
    near(&bench, "gamma", 159.2);
    near(&bench, "rate", 159.2);
}

#[test]
fn a_message_behind_others_lowers_no_rate_and_one_after_silence_starts_anew() {
    let mut bench = bench("jit", PLAIN);
    message(&mut bench, 10_000, 1);
    near(&bench, "rate", 80.0);
    // Six of ten segments were sent: the rest is asked for at 32 kbit in 0.45 ms.
    until(&mut bench, 550);
    message(&mut bench, 1000, 100);
    near(&bench, "gamma", 320.0 / 4.5);
    near(&bench, "rate", 80.0);
    until(&mut bench, 2000);
    bench.ack(11, None, Flags::NONE, &[]);
    assert!(bench.sender.is_idle());
    message(&mut bench, 10_000, 12);
    near(&bench, "rate", 8.0);
}

#[test]
fn a_message_without_a_deadline_is_sent_as_by_dctcp() {
    let mut bench = bench("mcp", PLAIN);
    bench.message(100_000, None);
    assert!(!at_rate(&bench));
    near(&bench, "cwnd", 10.0);
    ack(&mut bench, 500, 4, false);
    near(&bench, "cwnd", 14.0);
    // Whatever DCTCP does with marks and after a timeout, which its own tests say by hand.
    let steps = |name: &str| {
        let keys = if name == "dctcp" { "" } else { "base_rtt = '1 ms'\n" };
        let keys = format!("header = '0 B'\nrto_min = '50 ms'\nrto_initial = '50 ms'\ninitial_alpha = 0.5\n{keys}");
        let mut bench = Bench::new(name, &keys);
        bench.message(100_000, None);
        let mut seen = Vec::new();
        let mut see = |bench: &Bench| seen.push((bench.cwnd(), bench.ssthresh(), bench.observe().get("alpha")));
        ack(&mut bench, 500, 4, false);
        see(&bench);
        ack(&mut bench, 600, 10, true);
        see(&bench);
        // A quarter of 14 and of its growth since is cut.
        assert!((0.7..0.8).contains(&(bench.cwnd() / 14.0)), "{name}: {}", bench.cwnd());
        until(&mut bench, 60_000);
        see(&bench);
        assert_eq!((bench.notes.timeouts, bench.cwnd()), (1, 1.0), "{name}");
        seen
    };
    for name in ["jit", "mcp", "mcp-opt"] {
        assert_eq!(steps(name), steps("dctcp"), "{name}");
    }
}

#[test]
fn one_without_a_deadline_goes_on_from_the_window_that_the_rate_made() {
    let mut bench = bench("jit", PLAIN);
    message(&mut bench, 40_000, 2);
    near(&bench, "rate", 160.0);
    for us in 1..40 {
        ack(&mut bench, 50 * us, us, false);
    }
    ack(&mut bench, 2000, 40, false);
    bench.message(100_000, None);
    assert!(!at_rate(&bench));
    // 320 kbit in 2 ms, followed once at 1 ms: 19 segments in 1 ms are 152 Mbit/s, and 19 segments per round trip.
    near(&bench, "cwnd", 19.0);
    near(&bench, "ssthresh", 19.0);
}

#[test]
fn past_its_deadline_a_message_goes_on_without_one_or_at_full_rate_or_not_at_all() {
    for (expired, rate, given_up) in [("neutral", None, 0), ("urgent", Some(1000.0), 0), ("abort", None, 1)] {
        let mut bench = bench("jit", &format!("{PLAIN}\nexpired = '{expired}'"));
        message(&mut bench, 1_000_000, 1);
        // 8 Gbit/s would be needed.
        near(&bench, "rate", 1000.0);
        ack(&mut bench, 1000, 1, false);
        assert_eq!(bench.notes.given_up.len(), 0, "{expired}: it is due now");
        ack(&mut bench, 2001, 2, false);
        assert_eq!(bench.notes.given_up.len(), given_up, "{expired}");
        if expired != "abort" {
            assert_eq!(bench.observe().get("rate"), rate, "{expired}");
        }
    }
}

#[test]
fn marks_of_a_round_trip_make_a_queue_and_a_price_that_the_rate_follows() {
    // Two segments arrive in a round trip, one of them marked: the queue is K and half of the 10 segments sent. It has
    // grown by 69 of 125, so that the load is at its cap: V (1 - 0.9)^-2 = 0.1.
    let mut bench = bench("mcp", PLAIN);
    message(&mut bench, 100_000, 10);
    ack(&mut bench, 400, 1, false);
    ack(&mut bench, 1000, 2, true);
    near(&bench, "queue_estimate", 69.0);
    let network = 69.0 / 125.0 + 0.1;
    near(&bench, "network_term", network);
    // It was ahead of its present need: Z stays 0, and the rate falls by a tenth of itself times the network's term.
    near(&bench, "backlog", 0.0);
    let rate = 80.0 * (1.0 - 0.1 * network);
    near(&bench, "rate", rate);
    // Two round trips later nothing was marked: the queue is empty, and has shrunk by 69 of 250. 11 segments were sent
    // up to 1 ms and 1 + 22 more, of which the last are sent at the new rate.
    ack(&mut bench, 3000, 4, false);
    near(&bench, "queue_estimate", 0.0);
    let load: f64 = 1.0 - 69.0 / 250.0;
    near(&bench, "network_term", 0.001 / (1.0 - load).powi(2));
    // Nothing heard by then: it holds.
    let before = bench.observe().get("network_term").unwrap();
    until(&mut bench, 4500);
    near(&bench, "network_term", before);
}

#[test]
fn what_arrives_beyond_a_gap_counts_with_its_marks() {
    let mut bench = bench("mcp", PLAIN);
    message(&mut bench, 100_000, 10);
    until(&mut bench, 800);
    // Three segments beyond a gap, marked, and one that fills it.
    bench.ack(0, None, Flags::ECE, &[(1, 4)]);
    ack(&mut bench, 1000, 1, false);
    near(&bench, "queue_estimate", 64.0 + 0.75 * 10.0);
}

#[test]
fn a_loss_and_a_timeout_leave_the_rate_as_it_is() {
    let mut bench = bench("jit", PLAIN);
    message(&mut bench, 1_000_000, 100);
    until(&mut bench, 900);
    let cwnd = bench.cwnd();
    (3..6).for_each(|end| bench.ack(0, None, Flags::NONE, &[(1, end)]));
    near(&bench, "rate", 80.0);
    near(&bench, "ssthresh", cwnd);
    near(&bench, "cwnd", cwnd);
    until(&mut bench, 60_000);
    assert_eq!(bench.notes.timeouts, 1);
    near(&bench, "rate", 80.0);
    near(&bench, "cwnd", cwnd);
}

#[test]
fn each_data_packet_asks_the_hops_and_what_they_add_is_averaged_over_a_round_trip() {
    let mut bench = bench("mcp-opt", PLAIN);
    message(&mut bench, 100_000, 10);
    until(&mut bench, 100);
    assert!(matches!(bench.config.control.agents(), Some(transport::Agents::Mcp(_))));
    let asked: Vec<_> = bench.notes.sent.drain(..).map(|(_, extension)| extension.and_then(|all| all.header)).collect();
    assert_eq!(asked, vec![Some(Header::Mcp(Box::default())); 2]);
    hear(&mut bench, 400, 1, 0.2, 1_000_000_000);
    hear(&mut bench, 1000, 2, 0.4, 1_000_000_000);
    near(&bench, "network_term", 0.3);
    near(&bench, "rate", 80.0 * (1.0 - 0.1 * 0.3));
    // A round trip without a header: the last value.
    ack(&mut bench, 2000, 3, false);
    near(&bench, "network_term", 0.3);
    hear(&mut bench, 3000, 4, 0.7, 1_000_000_000);
    near(&bench, "network_term", 0.7);
}

#[test]
fn who_asks_the_hops_knows_its_own_port_and_counts_its_timeouts() {
    for name in ["mcp", "mcp-opt"] {
        // Two segments may be at the port, and leave it at 1 ms; the window has room for ten.
        let mut bench = bench(name, "nic_limit = '2 packets'");
        bench.notes.leaves = Instant::from_millis(1);
        bench.message(100_000, None);
        assert_eq!(bench.sent(), [0, 1], "{name}");
        until(&mut bench, 999);
        assert_eq!(bench.sent(), [], "{name}");
        bench.timer();
        assert_eq!((bench.now, bench.sent()), (Instant::from_millis(1), (2..10).collect()), "{name}: known to be free");
        // 50 ms after the first.
        until(&mut bench, 49_999);
        assert_eq!(bench.notes.timeouts, 0, "{name}");
        until(&mut bench, 50_000);
        assert_eq!(bench.notes.timeouts, 1, "{name}");
    }
}

#[test]
fn a_connection_request_asks_no_hop() {
    let mut bench = bench("mcp-opt", "handshake = true");
    message(&mut bench, 1000, 10);
    assert!(bench.notes.sent[0].0.flags.has(Flags::SYN) && bench.notes.sent[0].1.is_none());
    assert!(!bench.sender.is_idle());
    bench.ack(0, Some(Instant::ZERO), Flags::SYN, &[]);
    bench.ack(1, None, Flags::NONE, &[]);
    assert!(bench.sender.is_idle() && bench.sender.acknowledged() == 1000);
}

#[test]
fn what_is_too_far_behind_for_too_long_is_given_up() {
    // The network's term is so large that the rate halves in each round trip, from 0.08 C. The deadline needs that rate
    // all the time, less the data sent: Z is 0.04 after two round trips, 0.1 after three.
    for (keys, largest, rounds) in [
        ("abort_backlog = 0.03", 1, 2),
        ("abort_backlog = 0.05", 1, 3),
        // The largest link of the path has twice the rate of the sender's.
        ("abort_backlog = 0.03", 2, 3),
        ("abort_backlog = 0.4\nabort_measure = 'relative'", 1, 2),
        ("abort_backlog = 0.6\nabort_measure = 'relative'", 1, 3),
        ("abort_backlog = 0.03\nhold_off = 2", 1, 4),
        ("abort_backlog = 0.03\nhold_off = 1", 1, 3),
        ("", 1, u64::MAX),
    ] {
        let mut bench = bench("mcp-opt", &format!("{PLAIN}\n{keys}"));
        message(&mut bench, 10_000_000, 1000);
        let given_up = (1..=8).find(|round| {
            hear(&mut bench, 1000 * round, *round, 100.0, largest * 1_000_000_000);
            !bench.notes.given_up.is_empty()
        });
        assert_eq!(given_up.unwrap_or(u64::MAX), rounds, "{keys} {largest}");
    }
}

#[test]
fn equal_flows_that_are_too_many_do_not_give_up_together() {
    // As above, and up to four round trips later: a quarter of 400 flows in each, with a standard deviation of 8.7.
    let mut rounds = [0_u32; 9];
    for own in 0..400 {
        let mut bench = bench("mcp-opt", &format!("{PLAIN}\nabort_backlog = 0.03\nhold_off_spread = 4"));
        bench.notes.own = own;
        message(&mut bench, 10_000_000, 1000);
        let given_up = (1..=8).find(|round| {
            hear(&mut bench, 1000 * round, *round, 100.0, 1_000_000_000);
            !bench.notes.given_up.is_empty()
        });
        rounds[given_up.expect("it gives up") as usize] += 1;
    }
    // One draws 0 to the last bit, and does not wait.
    assert_eq!((rounds[..2].iter().sum::<u32>(), rounds[2] <= 1, rounds[7..].iter().sum::<u32>()), (0, true, 0));
    assert!(rounds[3..7].iter().all(|&flows| flows.abs_diff(100) <= 35), "{rounds:?}");
}

#[test]
fn full_host_queue_stops_a_paced_sender_until_it_has_room() {
    for name in ["mcp", "mcp-opt"] {
        let mut bench = bench(name, "");
        bench.notes.room = 2;
        bench.message(100_000, None);
        assert_eq!(bench.sent(), [0, 1], "{name}");
        bench.room(3);
        assert_eq!(bench.sent(), [2, 3, 4], "{name}");
        bench.room(20);
        assert_eq!(bench.sent(), [5, 6, 7, 8, 9], "{name}");
    }
}

#[test]
fn probe_of_a_sender_that_asks_the_hops_is_counted() {
    // RFC 8985 7.2: two round trips of 100 us after the last acknowledgement.
    for name in ["mcp", "mcp-opt"] {
        let mut bench = bench(name, "loss_detection = 'rack'\ntlp = true");
        bench.message(4000, None);
        assert_eq!(bench.sent(), [0, 1, 2, 3], "{name}");
        bench.now = Instant::from_micros(100);
        bench.ack(2, Some(Instant::ZERO), Flags::NONE, &[]);
        until(&mut bench, 299);
        assert_eq!((bench.sent(), bench.notes.probes), (vec![], 0), "{name}");
        until(&mut bench, 300);
        assert_eq!((bench.sent(), bench.notes.probes, bench.notes.timeouts), (vec![3], 1, 0), "{name}");
    }
}
