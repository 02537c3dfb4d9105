//! Faults in the network: by hand, and under every transport.

use super::common;

use sim::Outcome;
use sim::outcome::FaultCounts;
use transport::registry::TRANSPORTS;
use units::{Bytes, Instant, Span};

fn run(text: &str) -> Outcome {
    check(&common::run(text), text)
}

/// Checks that every packet is accounted for: arrived, dropped, lost to a fault or in flight; and that links have the
/// counts of the run.
fn check(outcome: &Outcome, text: &str) -> Outcome {
    let counters = &outcome.counters;
    let faults = outcome.faults.unwrap_or_default();
    let gone = counters.packets_received + counters.drops + counters.packets_in_flight + faults.drops;
    assert_eq!(counters.packets_sent + faults.duplicates, gone, "{text}");
    let of_links: u64 = outcome.links.iter().filter_map(|link| link.fault_drops).sum();
    assert_eq!(of_links, faults.drops, "{text}");
    assert!(outcome.links.iter().all(|link| (0.0..=1.000_001).contains(&link.utilisation)), "{text}");
    outcome.clone()
}

/// Two hosts at a switch: 1 Gbps, where a full packet takes 12 us, and 20 us per link. Host 0 sends one segment at time
/// zero: it is at the switch at 32 us, on the wire to host 1 until 44 us, there at 64 us. A lost one is sent again
/// after 20 ms.
fn one_segment(faults: &str) -> Outcome {
    one_segment_with("dynamic", faults)
}

/// As [`one_segment`], with this sharing of the switch's buffer.
fn one_segment_with(sharing: &str, faults: &str) -> Outcome {
    run(&format!(
        "run = {{ duration = '100 ms' }}\nfault = [{faults}]\ntransport = 'tcp'\n\
         network = {{ topology = 'star', hosts = 2, rate = '1 Gbps', delay = '20 us', host_jitter = '0 s', \
         sharing = '{sharing}' }}\n[[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{{ from = 0, to = 1, size = '1460 B' }}]"
    ))
}

fn end(outcome: &Outcome) -> Instant {
    outcome.messages[0].end.expect("it has arrived")
}

#[test]
fn a_packet_is_lost_while_its_link_is_down_and_at_no_other_time() {
    let in_time = Instant::from_micros(64);
    let again = Instant::from_micros(20_064);
    for (link, at, until, expected) in [
        // Before any arrival, and until the packet arrives.
        ("host 1 - switch", "1 us", "32 us", in_time),
        ("switch -> host 1", "1 us", "32 us", in_time),
        // Down when it arrives, when it is on the wire, when it would arrive at the host.
        ("host 1 - switch", "1 us", "32.001 us", again),
        ("switch -> host 1", "32 us", "33 us", again),
        ("host 1 - switch", "40 us", "41 us", again),
        ("host 1 - switch", "64 us", "65 us", again),
        ("host 1 - switch", "64.001 us", "65 us", in_time),
        // At its host: in transmission, and in flight.
        ("host 0 - switch", "5 us", "6 us", again),
        ("host 0", "31.999 us", "32 us", again),
        ("host 0", "33 us", "60 us", in_time),
        // The other direction carries its ACK, which is at the switch at 64 + 0.32 + 20 us: no message waits for it.
        ("host 1 -> switch", "64 us", "80 us", in_time),
        // Down for several timeouts, at 20, 60 and 140 ms.
        ("host 0", "0 s", "59 ms", Instant::from_micros(60_064)),
    ] {
        let fault = format!("{{ kind = 'down', link = '{link}', at = '{at}', until = '{until}' }}");
        for sharing in ["dynamic", "per-port"] {
            let outcome = one_segment_with(sharing, &fault);
            assert_eq!(end(&outcome), expected, "{sharing}: {fault}");
            let lost = outcome.faults.expect("there is one").drops;
            assert_eq!(lost, u64::from(outcome.messages[0].timeouts), "{sharing}: {fault}");
        }
    }
}

/// A fault precedes all arrivals of its instant, at ports that defer enqueueing too.
#[test]
fn a_loss_that_begins_at_an_arrival_meets_it() {
    for sharing in ["dynamic", "per-port"] {
        for (at, expected) in [("32 us", 20_064), ("32.001 us", 64)] {
            let link = "link = 'host 0 -> switch'";
            let fault = format!("{{ kind = 'loss', probability = 1.0, {link}, at = '{at}', until = '40 us' }}");
            let outcome = one_segment_with(sharing, &fault);
            assert_eq!(end(&outcome), Instant::from_micros(expected), "{sharing}: {fault}");
        }
    }
}

/// The packets queued at a port are lost, the switch's buffer is free again, and the port sends at once when it is up.
#[test]
fn a_queue_is_lost_with_its_link_whatever_keeps_it() {
    for network in ["sharing = 'dynamic'", "sharing = 'per-port'", "discipline = 'priority'"] {
        let text = |fault: &str| {
            format!(
                "run = {{ duration = '200 ms' }}\n{fault}\ntransport = {{ name = 'tcp', initial_window = 10 }}\n[network]\n\
                 topology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '20 us'\nhost_jitter = '0 s'\n\
                 buffer = '100 KB'\n{network}\n[[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\
                 {{ from = 0, to = 3, size = '14600 B' }}, {{ from = 1, to = 3, size = '14600 B' }},\
                 {{ from = 2, to = 3, size = '1460 B', start = '160 us' }}]"
            )
        };
        // 20 packets reach the switch from 32 to 140 us; one leaves every 12 us. At 150 us the tenth is on the wire.
        let fault = "fault = [{ kind = 'down', link = 'switch -> host 3', at = '150 us', until = '151 us' }]";
        let outcome = run(&text(fault));
        let FaultCounts { drops, .. } = outcome.faults.expect("there is one");
        // Arrived by then: (150 - 64) / 12 and one.
        assert_eq!(drops, 20 - 8, "{network}");
        // The third host's packet is at the switch at 192 us and finds the queue empty.
        assert_eq!(outcome.messages[2].end, Some(Instant::from_micros(160 + 64)), "{network}");
        assert!(outcome.messages.iter().all(|message| message.end.is_some()), "{network}");
        let to_host = outcome.links.iter().find(|link| link.to == "host 3").expect("a link between these nodes");
        assert_eq!(to_host.fault_drops, Some(12), "{network}");
    }
}

/// Two leaves with a host each, two spines; a segment takes 4 x 32 us. It is lost on its way over either spine. The
/// retransmission after 20 ms takes the other spine if routing knows by then; else the second one does, after 60 ms.
#[test]
fn flows_go_round_a_link_when_routing_knows() {
    let ends = |reroute: &str, until: &str| {
        let fct = |spine: u32| {
            let outcome = run(&format!(
                "run = {{ duration = '200 ms' }}\ntransport = 'tcp'\n\
                 fault = [{{ kind = 'down', link = 'leaf 0 - spine {spine}', reroute = '{reroute}'{until} }}]\n\
                 network = {{ topology = 'leaf-spine', leaves = 2, hosts_per_leaf = 1, spines = 2, rate = '1 Gbps', \
                 uplink = '1 Gbps', delay = '20 us', host_jitter = '0 s' }}\n\
                 [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{{ from = 0, to = 1, size = '1460 B' }}]"
            ));
            (end(&outcome), outcome.faults.expect("there is one").rerouted)
        };
        let (mut a, mut b) = (fct(0), fct(1));
        if a > b {
            std::mem::swap(&mut a, &mut b);
        }
        // The other spine may be on the route of its ACK.
        assert_eq!(a.0, Instant::from_micros(128));
        b
    };
    let struck = |micros: u64| Instant::from_micros(micros + 128);
    // Both ends are rerouted; the connection is open at 19 ms, and again when the link is back.
    assert_eq!(ends("19 ms", "").0, struck(20_000));
    assert_eq!(ends("0 s", "").0, struck(0));
    assert_eq!(ends("21 ms", "").0, struck(60_000));
    assert_eq!(ends("300 ms", ", until = '59 ms'").0, struck(60_000));
    assert_eq!(ends("10 ms", ", until = '19 ms'").0, struck(20_000));
}

/// Returns the scenario of a transport on one of the networks: bulk and short messages with deadlines, and bulk
/// without, across the middle. No message delays another for long.
fn crowd(transport: &str, topology: &str, fault: &str) -> String {
    let (network, hosts) = match topology {
        "star" => ("topology = 'star'\nhosts = 8", 8),
        "leaf-spine" => ("topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nuplink = '2 Gbps'", 8),
        "racks" => ("topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '2 Gbps'", 8),
        "custom" => (
            "topology = 'custom'\nhosts = 8\nswitches = ['left', 'right']\nlinks = [{ from = '0..4', to = 'left' }, \
             { from = '4..8', to = 'right' }, { from = 'left', to = 'right', rate = '2 Gbps' }]",
            8,
        ),
        _ => ("topology = 'fat-tree'\nk = 4", 16),
    };
    let half = hosts / 2;
    format!(
        "[run]\nduration = '4 s'\nseed = 3\n[network]\n{network}\nrate = '1 Gbps'\ndelay = '10 us'\n\
         mark = '20 packets'\nbuffer = '300 KB'\n[[fault]]\n{fault}\n[transport]\nname = '{transport}'\n\
         [[traffic]]\nname = 'short'\npattern = 'fan-in'\nparents = 1\nleaves = 5\nevery = '10 ms'\ncount = 6\nsize = '20 KB'\n\
         deadline = '20 ms'\n[[traffic]]\nname = 'bulk'\npattern = 'flows'\nconnections = 'persistent'\nflows = [\
         {{ from = '0..{half}', to = '{half}..{hosts}', size = '400 KB', start = '5 ms', deadline = '1 s' }}]\n\
         [[traffic]]\nname = 'rest'\npattern = 'flows'\nflows = [\
         {{ from = '0..{half}', to = '{half}..{hosts}', size = '400 KB', start = '5 ms' }}]"
    )
}

/// Topologies with several routes between switches, or a single switch.
const TOPOLOGIES: [&str; 3] = ["star", "leaf-spine", "fat-tree"];

/// Topologies in which a link that is down leaves no route.
const WITHOUT_A_WAY_ROUND: [&str; 2] = ["racks", "custom"];

/// A fault of each kind; a fault of one link is on the route of many messages.
const FAULTS: [&str; 7] = [
    "kind = 'down'\nlink = 'host 7'\nat = '7 ms'\nuntil = '40 ms'",
    "kind = 'down'\nshare = '30%'\nat = '8 ms'\nuntil = '30 ms'\nreroute = '5 ms'",
    "kind = 'loss'\nprobability = '1%'",
    "kind = 'corruption'\nbit_error_rate = 1e-6",
    "kind = 'reordering'\nprobability = '5%'\nby = '300 us'",
    "kind = 'duplication'\nprobability = '5%'",
    "kind = 'no-marks'\nat = '8 ms'",
];

#[test]
fn every_transport_ends_every_message_under_each_fault() {
    for transport in TRANSPORTS.iter().map(|transport| transport.name) {
        let everywhere = TOPOLOGIES.into_iter().flat_map(|topology| FAULTS.map(|fault| (topology, fault)));
        let down = WITHOUT_A_WAY_ROUND
            .into_iter()
            .flat_map(|topology| FAULTS[..2].iter().map(move |fault| (topology, *fault)));
        for (topology, fault) in everywhere.chain(down) {
            let text = crowd(transport, topology, fault);
            let outcome = run(&text);
            for message in &outcome.messages {
                assert!(message.end.is_some() || message.aborted, "{transport}, {topology}: {message:?}\n{text}");
            }
            let FaultCounts { drops, duplicates, held_back, .. } = outcome.faults.expect("there is one");
            let happened = match fault {
                fault if fault.contains("duplication") => duplicates,
                fault if fault.contains("reordering") => held_back,
                fault if fault.contains("no-marks") => continue,
                _ => drops,
            };
            assert!(happened > 0, "{transport}, {topology}: nothing happened\n{text}");
        }
    }
}

/// Ports defer enqueueing until the first fault begins. With a log of packets they never do: then every hop is an event.
/// The results are the same for all times and kinds of faults, with packets in flight.
#[test]
fn a_fault_that_begins_late_finds_each_packet_where_it_is() {
    let begins = [0, 7_000, 10_033, 12_345, 30_001];
    let effects = ["kind = 'down'\nshare = '30%'\nuntil = '40 ms'", "kind = 'loss'\nprobability = '2%'"];
    let mut dropped = 0;
    // Without headers ACKs have no bytes, and may arrive together with the packet sent before.
    for (transport, sharing, header) in [
        ("tcp", "per-port", "40 B"),
        ("d2tcp", "per-port", "40 B"),
        ("d2tcp", "dynamic", "40 B"),
        ("d2tcp", "per-port", "0 B"),
    ] {
        for topology in TOPOLOGIES {
            for (effect, at) in effects.iter().flat_map(|effect| begins.map(|at| (effect, at))) {
                let fault = format!("{effect}\nat = '{at} us'");
                let text = crowd(transport, topology, &fault);
                let text = text.replace("[transport]", &format!("[transport]\nheader = '{header}'"));
                let text = text.replace("buffer = '300 KB'", &format!("buffer = '60 KB'\nsharing = '{sharing}'"));
                let deferred = run(&text);
                let mut world = common::world(&text);
                world.log_packets(sim::PacketLog::new(Instant::ZERO, Instant::ZERO, 0));
                while world.advance(1 << 20) {}
                let plain = check(&world.finish(), &text);
                assert_eq!(format!("{:?}", deferred.messages), format!("{:?}", plain.messages), "{text}");
                assert_eq!(format!("{:?}", deferred.links), format!("{:?}", plain.links), "{text}");
                assert_eq!(format!("{:?}", deferred.counters), format!("{:?}", plain.counters), "{text}");
                assert_eq!(deferred.faults, plain.faults, "{text}");
                dropped += plain.counters.drops;
            }
        }
    }
    assert!(dropped > 1_000, "{dropped} packets were dropped: queues were hardly full");
}

#[test]
fn without_marks_there_are_none_while_it_lasts() {
    for network in ["", "discipline = 'priority'\n"] {
        let marks = |fault: &str| {
            let text = crowd("dctcp", "star", fault).replace("[[fault]]", &format!("{network}[[fault]]"));
            run(&text).counters.marks
        };
        let all = marks("kind = 'no-marks'\nat = '59 ms'");
        assert!(all > 100, "{all}");
        assert_eq!(marks("kind = 'no-marks'\nlink = 'switch'"), 0);
        let later = marks("kind = 'no-marks'\nat = '5 ms'\nuntil = '8 ms'");
        assert!(later > 0 && later != all, "{later} of {all}, {network}");
    }
}

/// Routers grant by lease: a flow's grant on a route that it has left is free again when it has expired.
#[test]
fn d3_routers_forget_what_was_granted_on_a_link_that_went_down() {
    for transport in ["d3", "rcpdc"] {
        let outcome = run(&format!(
            "run = {{ duration = '100 ms', cool_down = '0 s' }}\ntransport = '{transport}'\n\
             fault = [{{ kind = 'down', link = 'leaf 0 - spine 0', at = '20 ms', reroute = '5 ms' }}]\n\
             network = {{ topology = 'leaf-spine', leaves = 2, hosts_per_leaf = 8, spines = 2, rate = '1 Gbps', \
             uplink = '8 Gbps', delay = '20 us' }}\n\
             [[traffic]]\nname = 'a'\npattern = 'long'\nfrom = '0..8'\nto = '8..16'"
        ));
        let flows = |from: &str, to: &str| {
            let link = outcome
                .links
                .iter()
                .find(|link| (&*link.from, &*link.to) == (from, to))
                .expect("a link between these nodes");
            link.rates.expect("it grants").counters
        };
        // All eight flows send requests over spine 1 now, each within the rate of its host's link.
        assert_eq!(flows("leaf 0", "spine 0").flows, 0, "{transport}");
        assert_eq!(flows("leaf 0", "spine 0").allocated, 0, "{transport}");
        let there = flows("leaf 0", "spine 1");
        assert_eq!(there.flows, 8, "{transport}");
        assert!(there.allocated <= 8_000_000_000, "{transport}: {there:?}");
        let rerouted = outcome.faults.expect("there is one").rerouted;
        assert!(rerouted > 0 && rerouted <= 16, "{transport}: {rerouted}");
        // 8 Gbit/s for 100 ms; flows on spine 0, about half, were interrupted for 5 ms and then in a timeout.
        let delivered: Bytes = outcome.classes.iter().map(|class| class.delivered_bytes).sum();
        assert!(delivered > Bytes(60_000_000), "{transport}: {delivered}");
    }
}

/// A fault has random streams of its own: one without effect changes nothing, and the seed decides which packets it
/// affects.
#[test]
fn a_fault_that_strikes_nothing_changes_nothing() {
    let text = |fault: &str| crowd("d2tcp", "fat-tree", fault);
    let messages = |fault: &str| run(&text(fault)).messages;
    let none = run(&text("kind = 'down'\nat = '59 ms'").replace("[[fault]]\nkind = 'down'\nat = '59 ms'\n", ""));
    assert_eq!(none.faults, None);
    for fault in [
        "kind = 'loss'\nprobability = 1e-300",
        "kind = 'reordering'\nprobability = 1e-300\nby = '1 ms'",
        "kind = 'corruption'\nbit_error_rate = 1e-300",
        "kind = 'down'\nat = '1000 s'",
    ] {
        assert_eq!(messages(fault), none.messages, "{fault}");
    }
    let loss = "kind = 'loss'\nprobability = '1%'";
    assert_eq!(messages(loss), messages(loss));
    let other = run(&text(loss).replace("seed = 3", "seed = 4"));
    assert!(other.messages != messages(loss));
}

/// The segment is delayed at the end of the last link by at most 10 us, or arrives there twice.
#[test]
fn packets_are_late_or_come_twice_as_was_said() {
    let at = "link = 'switch -> host 1', probability = '100%'";
    let late = one_segment(&format!("{{ kind = 'reordering', by = '10 us', {at} }}"));
    let end = end(&late).as_secs_f64() * 1e6;
    assert!(end > 64.0 && end <= 74.0, "{end}");
    let expected = FaultCounts { held_back: 1, ..FaultCounts::default() };
    assert_eq!((late.faults, late.messages[0].timeouts), (Some(expected), 0));
    let twice = one_segment(&format!("{{ kind = 'duplication', {at} }}"));
    assert_eq!(self::end(&twice), Instant::from_micros(64));
    let expected = FaultCounts { duplicates: 1, ..FaultCounts::default() };
    assert_eq!((twice.faults, twice.counters.packets_delivered), (Some(expected), 2));
    // Two links there and two back, as without faults.
    for fault in ["", "{ kind = 'loss', probability = 1e-300 }"] {
        assert_eq!(one_segment(fault).counters.packet_hops, 4, "{fault}");
    }
}

/// The first message loses its segment, and the second is sent after the end of the fault.
#[test]
fn a_fault_that_has_ended_strikes_nobody() {
    let run = |warm_up: &str| {
        common::run(&format!(
            "run = {{ duration = '100 ms', warm_up = '{warm_up}' }}\ntransport = 'tcp'\n\
             fault = [{{ kind = 'loss', probability = '100%', until = '5 ms' }}]\n\
             network = {{ topology = 'star', hosts = 2, rate = '1 Gbps', delay = '20 us', host_jitter = '0 s' }}\n\
             [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{{ from = 0, to = 1, size = '1460 B' }},\
             {{ from = 0, to = 1, size = '1460 B', start = '30 ms' }}]"
        ))
    };
    let outcome = run("0 s");
    let ends: Vec<_> = outcome.messages.iter().map(|message| message.end).collect();
    assert_eq!(ends, [20_064, 30_064].map(|us| Some(Instant::from_micros(us))));
    assert_eq!(outcome.faults.map(|faults| faults.drops), Some(1));
    assert_eq!(run("10 ms").faults.map(|faults| faults.drops), Some(0), "it is not counted before the warm-up ends");
}

/// The link is down from 0 to 15 ms, and no longer.
#[test]
fn a_link_is_up_when_the_last_of_its_faults_is_over() {
    let down =
        |at: u32, until: u32| format!("{{ kind = 'down', link = 'host 0', at = '{at} ms', until = '{until} ms' }}");
    for faults in [[down(0, 10), down(5, 15)], [down(5, 15), down(0, 10)], [down(0, 15), down(5, 10)]] {
        // Of the timeouts at 20 and 60 ms the first is after it; with a link down until 21 ms it is the second.
        assert_eq!(end(&one_segment(&faults.join(", "))), Instant::from_micros(20_064));
    }
    let faults = [down(0, 10), down(5, 21)].join(", ");
    assert_eq!(end(&one_segment(&faults)), Instant::from_micros(60_064));
}

/// Two faults of one kind on one link, one after the other: each draws independently which of 50 packets are lost.
#[test]
fn faults_of_one_kind_on_one_link_are_independent() {
    let loss = |at: u32| {
        let (link, until) = ("switch -> host 1", at + 5);
        format!("{{ kind = 'loss', probability = '30%', link = '{link}', at = '{at} ms', until = '{until} ms' }}")
    };
    let outcome = run(&format!(
        "run = {{ duration = '10 ms', cool_down = '0 s' }}\ntransport = 'tcp'\nfault = [{}, {}]\n\
         network = {{ topology = 'star', hosts = 2, rate = '1 Gbps', delay = '20 us' }}\n\
         [[traffic]]\nname = 'a'\npattern = 'periodic'\nfrom = 0\nto = 1\nevery = '100 us'\nsize = '1460 B'",
        loss(0),
        loss(5)
    ));
    let struck: Vec<bool> = outcome.messages.iter().map(|message| message.end.is_none()).collect();
    let (first, second) = struck.split_at(50);
    // 15 of each, with a standard deviation of 3.2; 29 of 50 agree, with one of 3.5.
    for half in [first, second] {
        assert!(half.iter().filter(|struck| **struck).count().abs_diff(15) <= 13, "{struck:?}");
    }
    assert!(first.iter().zip(second).filter(|(a, b)| a == b).count() < 40, "{struck:?}");
}

/// Runs a network with `count` spines, where the link from the first leaf to one of them is down until 1 ms.
fn spines(count: u32, down: u32, traffic: &str) -> Outcome {
    run(&format!(
        "run = {{ duration = '20 ms' }}\ntransport = 'tcp'\n\
         fault = [{{ kind = 'down', link = 'leaf 0 -> spine {down}', at = '500 us', until = '1 ms', reroute = '0 s' }}]\n\
         network = {{ topology = 'leaf-spine', leaves = 2, hosts_per_leaf = 16, spines = {count}, rate = '1 Gbps', \
         uplink = '1 Gbps', delay = '20 us' }}\n[[traffic]]\nname = 'a'\n{traffic}"
    ))
}

/// The data of a long flow takes one of two routes: it leaves the one that is down, and returns. The route of its ACKs
/// is unchanged.
#[test]
fn who_is_not_on_a_link_that_goes_down_stays_where_it_is() {
    let rerouted = |down| {
        let outcome = spines(2, down, "pattern = 'long'\nfrom = 0\nto = 16");
        outcome.faults.expect("there is one").rerouted
    };
    assert_eq!((0..2).map(rerouted).sum::<u64>(), 2);
}

/// Sixteen messages start after the end of the fault: each route is used again by some, as without a fault. The
/// probability that none of sixteen uses one of the three is 3 x (2/3)^16 = 0.5 %.
#[test]
fn a_link_that_is_back_is_used_again() {
    let flows: Vec<String> = (0..16)
        .map(|host| format!("{{ from = {host}, to = {}, size = '1460 B', start = '5 ms' }}", 16 + host))
        .collect();
    let outcome = spines(3, 0, &format!("pattern = 'flows'\nflows = [{}]", flows.join(", ")));
    for spine in ["spine 0", "spine 1", "spine 2"] {
        let link = outcome
            .links
            .iter()
            .find(|link| (&*link.from, &*link.to) == ("leaf 0", spine))
            .expect("a link between these nodes");
        assert!(link.packets > 0, "{spine}");
    }
}

/// Twelve packets of a first burst are lost with the link. The second burst can use their part of the switch's buffer.
#[test]
fn what_is_lost_with_a_link_is_no_longer_in_the_shared_buffer() {
    for discipline in ["fifo", "priority"] {
        let drops = |fault: &str| {
            let outcome = common::run(&format!(
                "run = {{ duration = '1 s', warm_up = '400 ms' }}\n{fault}\ntransport = {{ name = 'tcp', initial_window = 20 }}\n\
                 [network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '20 us'\nhost_jitter = '0 s'\n\
                 buffer = '40 KB'\nsharing = 'dynamic'\ndiscipline = '{discipline}'\n\
                 [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\
                 {{ from = 0, to = 3, size = '14600 B' }}, {{ from = 1, to = 3, size = '14600 B' }},\
                 {{ from = 0, to = 3, size = '29200 B', start = '500 ms' }},\
                 {{ from = 1, to = 3, size = '29200 B', start = '500 ms' }},\
                 {{ from = 2, to = 3, size = '29200 B', start = '500 ms' }}]"
            ));
            outcome.counters.drops
        };
        let fault = "fault = [{ kind = 'down', link = 'switch -> host 3', at = '150 us', until = '151 us' }]";
        let without = drops("");
        assert!(without > 0, "{discipline}");
        assert_eq!(drops(fault), without, "{discipline}");
    }
}

/// A flow starts on the route of 10 ms, as the short one is down until 10 us later. Its retransmissions after 1 ms take
/// the short route, and arrive before any packet on the long one. The control message to the receiving host arrives
/// before that.
#[test]
fn who_changes_to_a_shorter_way_is_not_ahead_of_what_was_said_of_it() {
    let outcome = run(
        "run = { duration = '200 ms' }\ntransport = { name = 'tcp', rto_min = '1 ms', rto_initial = '1 ms' }\n\
         fault = [{ kind = 'down', link = 'a - b', until = '1 ms', reroute = '0 s' }]\n\
         [network]\ntopology = 'custom'\nhosts = 2\nrate = '1 Gbps'\ndelay = '10 us'\nhost_jitter = '0 s'\n\
         switches = ['a', 'b', 'c']\nlinks = [{ from = 0, to = 'a' }, { from = 1, to = 'b' }, { from = 'a', to = 'b' },\
         { from = 'a', to = 'c', delay = '5 ms' }, { from = 'c', to = 'b', delay = '5 ms' }]\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{ from = 0, to = 1, size = '29200 B', start = '990 us' }]",
    );
    assert!(outcome.messages[0].end.is_some_and(|end| end < Instant::from_millis(5)), "{:?}", outcome.messages[0]);
    assert!(outcome.counters.timeouts > 0);
}

/// Of 1000 segments over four links with 1 % each, without ACKs: 39.4 lost, give or take 6.2.
#[test]
fn as_many_are_lost_as_the_probability_says() {
    let outcome = run("run = { duration = '10 s' }\ntransport = { name = 'tcp', window_limit = '1 packet' }\n\
         fault = [{ kind = 'loss', probability = '1%' }]\n\
         network = { topology = 'leaf-spine', leaves = 2, hosts_per_leaf = 1, spines = 1, rate = '1 Gbps', \
         uplink = '1 Gbps', delay = '20 us' }\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{ from = 0, to = 1, size = '1460000 B' }]");
    let message = outcome.messages[0];
    assert!(message.end.is_some());
    // Each loss of a segment or of its ACK is a retransmission. They are 1 - 0.99^8 = 7.7 % of all segments sent, 83.7
    // of 1000, with a standard deviation of 9.6.
    assert!(message.retransmits.abs_diff(84) <= 38, "{}", message.retransmits);
    assert_eq!(u64::from(message.retransmits), u64::from(message.timeouts));
    assert_eq!(outcome.faults.expect("there is one").drops, u64::from(message.retransmits));
    assert!(outcome.ended.saturating_sub(Instant::ZERO) > Span::from_millis(20 * 40));
}
