//! Balancers: which paths the packets of a connection take, and what their receivers make of it.

use super::common::run;

use sim::Outcome;
use units::Span;

/// Two leaves of four hosts with four spines, all links at 10 Gbps and 1 us long. A packet of 1500 B takes 1.2 us.
fn leaf_spine(balance: &str, transport: &str, traffic: &str, more: &str) -> Outcome {
    leaf_spine_at("10 Gbps", balance, transport, traffic, more)
}

/// As [`leaf_spine`], with uplinks of another rate.
fn leaf_spine_at(uplink: &str, balance: &str, transport: &str, traffic: &str, more: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '3 ms'\n[network]\ntopology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 4\n\
         rate = '10 Gbps'\nuplink = '{uplink}'\ndelay = '1 us'\nmark = '65 packets'\nsharing = 'per-port'\n\
         buffer = '250 packets'\nhost_jitter = '0 s'\nhost_queue = 'fair'\nbalance = '{balance}'\n[transport]\nname = '{transport}'\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\n{traffic}\n{more}"
    ))
}

/// Returns the packets from the first leaf to each spine.
fn to_spines(outcome: &Outcome) -> Vec<u64> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for link in &outcome.links {
        if link.from == "leaf 0" && link.to.starts_with("spine") {
            found.push((link.to.clone(), link.packets));
        }
    }
    found.sort();
    found.into_iter().map(|(_, packets)| packets).collect()
}

const ONE: &str = "flows = [{ from = 0, to = 4, size = '1460 KB' }]";

/// 1000 packets over four equal paths: 250 each, and nothing is ever queued. The receiver has the last one after the
/// same time as by one path: no loss is suspected though three of four packets may overtake another.
#[test]
fn sprayed_packets_take_each_path_as_often() {
    let by_one = leaf_spine("ecmp", "dctcp", ONE, "");
    assert_eq!(to_spines(&by_one).iter().filter(|packets| **packets == 0).count(), 3);
    for transport in ["dctcp", "d2tcp", "tcp", "edf-grants", "homa", "sird", "pfabric"] {
        let sprayed = leaf_spine("spray", transport, ONE, "");
        let counts = to_spines(&sprayed);
        assert!(counts.iter().all(|packets| packets.abs_diff(counts[0]) <= 3 && *packets >= 250), "{counts:?}");
        let counters = &sprayed.counters;
        assert_eq!((counters.drops, counters.retransmits, counters.timeouts), (0, 0, 0), "{transport}");
        let alone = leaf_spine("ecmp", transport, ONE, "");
        let end = |outcome: &Outcome| outcome.messages[0].end.expect("it is complete");
        assert!(end(&sprayed) <= end(&alone) + Span::from_micros(2), "{transport}");
    }
    // Its flows have state at switches, along one path.
    let kept = leaf_spine("spray", "pdq", ONE, "");
    assert_eq!(to_spines(&kept).iter().filter(|packets| **packets == 0).count(), 3);
}

/// Four uplinks of 5 Gbps carry what a host of 10 Gbps sends. A message alone takes its time alone, within two packets of
/// 2.4 us: packets at DRILL's choice are queued for one now and then.
#[test]
fn a_sprayed_message_alone_takes_its_time_alone() {
    for balance in ["spray", "reps", "drill"] {
        let outcome = leaf_spine_at("5 Gbps", balance, "dctcp", ONE, "");
        let message = &outcome.messages[0];
        let (took, ideal) =
            (message.end.expect("it is complete") - message.start, message.ideal.expect("it has a size"));
        assert!(took.0.abs_diff(ideal.0) <= Span::from_nanos(4800).0, "{balance}: {took:?}, alone {ideal:?}");
        assert!(took < Span::from_micros(1230), "{balance}: {took:?}");
    }
}

/// Four flows at once: sprayed, each has its host's whole rate, 1000 packets in 1.2 ms. By one path each, two of them
/// share one unless all draws differ (chance 4!/4^4, 9 %).
#[test]
fn sprayed_flows_do_not_meet() {
    let flow = |from: u32| format!("{{ from = {from}, to = {}, size = '1460 KB' }}", from + 4);
    let four = format!("flows = [{}]", (0..4).map(flow).collect::<Vec<_>>().join(", "));
    let last = |balance| {
        let outcome = leaf_spine(balance, "dctcp", &four, "");
        assert_eq!(outcome.counters.retransmits, 0, "{balance}");
        outcome.messages.iter().map(|message| message.end.expect("it is complete") - message.start).max()
    };
    let [ecmp, spray, reps] = ["ecmp", "spray", "reps"].map(last);
    // 8 us of propagation and transmission there, and at most 10 packets queued at a spine.
    assert!(spray < Some(Span::from_micros(1230)), "{spray:?}");
    assert!(reps < Some(Span::from_micros(1400)), "{reps:?}");
    assert!(ecmp > Some(Span::from_micros(2300)), "{ecmp:?}");
}

/// Switches choose too: 1000 packets at DRILL's choice are spread evenly, as no queue is longer than another; a flowlet
/// without pauses stays on one path. State of PDQ's flows keeps them on one.
#[test]
fn switches_choose_links() {
    let drill = leaf_spine("drill", "dctcp", ONE, "");
    assert!(to_spines(&drill).iter().all(|packets| (150..400).contains(packets)), "{:?}", to_spines(&drill));
    let counters = &drill.counters;
    assert_eq!((counters.drops, counters.retransmits, counters.timeouts), (0, 0, 0));
    for (balance, transport) in [("letflow", "dctcp"), ("drill", "pdq")] {
        let outcome = leaf_spine(balance, transport, ONE, "");
        assert_eq!(to_spines(&outcome).iter().filter(|packets| **packets == 0).count(), 3, "{balance}");
    }
}

/// Of two spines one has only 4 Gbps to the other leaf, which the first leaf cannot see. Flows of 146 KB, 11 Gbps in all:
/// with even shares 5.5 Gbps would be bound for the slow link, and its queue would never end. CONGA is told of it by the
/// acknowledgements, and sends less there.
#[test]
fn congestion_beyond_the_next_switch_is_avoided_by_conga_alone() {
    let slow = |balance: &str| {
        let hosts = "links = [{ from = '0..16', to = 'leaf 0', rate = '2 Gbps' }, { from = '16..32', to = 'leaf 1', rate = '2 Gbps' }, \
                     { from = 'leaf 0', to = 'spine 0' }, { from = 'leaf 0', to = 'spine 1' }, \
                     { from = 'spine 0', to = 'leaf 1' }, { from = 'spine 1', to = 'leaf 1', rate = '4 Gbps' }]";
        let flow = |i: u32| {
            format!("{{ from = {}, to = {}, size = '146 KB', start = '{} us' }}", i % 16, 16 + (i * 3) % 16, 106 * i)
        };
        let flows = (0..200).map(flow).collect::<Vec<_>>().join(", ");
        let outcome = run(&format!(
            "[run]\nduration = '40 ms'\n[network]\ntopology = 'custom'\nhosts = 32\n\
             switches = ['leaf 0', 'leaf 1', 'spine 0', 'spine 1']\n{hosts}\nrate = '10 Gbps'\ndelay = '1 us'\n\
             mark = '65 packets'\nsharing = 'per-port'\nbuffer = '250 packets'\nbalance = '{balance}'\n\
             flowlet_gap = '500 us'\n[transport]\nname = 'dctcp'\n[[traffic]]\nname = 'own'\npattern = 'flows'\n\
             flows = [{flows}]"
        ));
        let packets = to_spines(&outcome);
        let times: Vec<f64> =
            outcome.messages.iter().map(|row| (row.end.expect("it is complete") - row.start).as_micros_f64()).collect();
        let share = packets[1] as f64 / (packets[0] + packets[1]) as f64;
        (share, times.iter().sum::<f64>() / times.len() as f64)
    };
    let [(even, ecmp), (drawn, letflow), (told, conga)] = ["ecmp", "letflow", "conga"].map(slow);
    assert!((0.4..0.6).contains(&even) && (0.4..0.6).contains(&drawn), "{even}, {drawn}");
    assert!((0.2..0.36).contains(&told), "{told}, beside 4/14");
    assert!(conga < 0.8 * ecmp.min(letflow), "{conga} us, {ecmp} us, {letflow} us");
}

/// One of two links to the other leaf marks each packet. Each acknowledgement without a mark lets REPS use its path once
/// more; after one with a mark it draws. So half of the share of marked packets is left a round trip later.
#[test]
fn marked_paths_are_not_used_again_by_reps() {
    let share_of_marked = |balance: &str| {
        let outcome = run(&format!(
            "[run]\nduration = '10 ms'\n[network]\ntopology = 'custom'\nhosts = 2\n\
             switches = ['leaf 0', 'leaf 1', 'spine 0', 'spine 1']\n\
             links = [{{ from = 0, to = 'leaf 0' }}, {{ from = 1, to = 'leaf 1' }}, \
             {{ from = 'leaf 0', to = 'spine 0' }}, {{ from = 'leaf 0', to = 'spine 1' }}, \
             {{ from = 'spine 0', to = 'leaf 1' }}, {{ from = 'spine 1', to = 'leaf 1', mark = '0 packets' }}]\n\
             rate = '10 Gbps'\ndelay = '1 us'\nmark = '65 packets'\nsharing = 'per-port'\nbuffer = '250 packets'\n\
             balance = '{balance}'\n[transport]\nname = 'dctcp'\n[[traffic]]\nname = 'own'\npattern = 'flows'\n\
             flows = [{{ from = 0, to = 1, size = '1460 KB' }}]"
        ));
        let packets = to_spines(&outcome);
        packets[1] as f64 / (packets[0] + packets[1]) as f64
    };
    let [spray, reps] = ["spray", "reps"].map(share_of_marked);
    assert!((0.49..0.51).contains(&spray), "{spray}");
    assert!(reps < 0.1, "{reps}");
}

/// Without a pause a flow stays; its messages, 100 us apart, take other paths.
#[test]
fn flowlets_change_paths_after_pauses() {
    let twenty = |gap: &str| {
        let flow = |number: u32| format!("{{ from = 0, to = 4, size = '14600 B', start = '{} us' }}", 100 * number);
        let flows = (0..20).map(flow).collect::<Vec<_>>().join(", ");
        let traffic = format!("flows = [{flows}]\nconnections = 'persistent'");
        to_spines(&leaf_spine(&format!("flowlet'\nflowlet_gap = '{gap}"), "dctcp", &traffic, ""))
    };
    assert_eq!(twenty("50 us").iter().filter(|packets| **packets > 0).count(), 4);
    assert_eq!(twenty("200 us").iter().filter(|packets| **packets > 0).count(), 1);
}

/// Of four paths one is cut at 0.2 ms. Routing knows after 0.1 ms, and then nothing more is sent there.
#[test]
fn a_path_that_is_down_is_left_out() {
    let fault = "[[fault]]\nkind = 'down'\nlink = 'leaf 0 - spine 2'\nat = '200 us'\nreroute = '100 us'";
    let outcome = leaf_spine("spray", "dctcp", ONE, fault);
    let message = &outcome.messages[0];
    assert!(message.end.is_some(), "it is complete");
    let lost = outcome.faults.expect("there is a fault").drops;
    // 100 us carry 83 packets and as many acknowledgements, a quarter of them there.
    assert!((1..=42).contains(&lost), "{lost}");
    let counts = to_spines(&outcome);
    assert!(
        counts[2] < 60 && counts.iter().enumerate().all(|(spine, packets)| spine == 2 || *packets > 250),
        "{counts:?}"
    );
    let again = u64::from(message.retransmits);
    assert!(
        (1..lost).contains(&again),
        "nothing but lost data is sent again, and no acknowledgement: {again} of {lost}"
    );
}
