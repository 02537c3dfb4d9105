//! Lossless networks: pauses, the room that they need, the flows held up, and deadlocks.

use super::common::run;

use sim::Outcome;
use sim::outcome::{Deadlock, Link, LinkPauses};
use units::{Instant, Span};

/// Returns the link between two nodes.
fn link<'a>(outcome: &'a Outcome, from: &str, to: &str) -> &'a Link {
    outcome.links.iter().find(|link| (&link.from[..], &link.to[..]) == (from, to)).expect("a link with these ends")
}

fn pauses(outcome: &Outcome, from: &str, to: &str) -> LinkPauses {
    link(outcome, from, to).pauses.expect("the network is lossless")
}

/// Returns the names of the links of the cycle.
fn names(outcome: &Outcome, deadlock: &Deadlock) -> Vec<(String, String)> {
    let ends =
        |link: &units::LinkId| (outcome.links[link.index()].from.clone(), outcome.links[link.index()].to.clone());
    deadlock.cycle.iter().map(ends).collect()
}

/// Two hosts send 200 packets at once to a third, whose link takes 12 ms for each: nothing leaves the switch in the
/// first 12 ms, but the first packet. A fourth host sends to the two, so that full packets are sent against their links.
///
/// At 10 Gbps a packet of 1500 B takes 1.2 us and a pause frame 51.2 ns. If a packet has just begun on the way back, a
/// pause is heeded 1.2 + 0.0512 + 10 + 2 us after the packet that caused it. 10 us of packets were on their way then.
/// These are 23.2512 us, or 29 064 B, and with the packet that has just begun 30 564 B.
fn two_to_one(headroom: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '11 ms'\n[network]\ntopology = 'custom'\nhosts = 4\nswitches = ['switch']\n\
         links = [{{ from = ['0..2', 3], to = 'switch' }}, {{ from = 2, to = 'switch', rate = '1 Mbps' }}]\n\
         rate = '10 Gbps'\ndelay = '10 us'\nhost_jitter = '0 s'\nsharing = 'per-port'\nbuffer = '1 MB'\n\
         lossless = true\npause_threshold = '10 packets'\n{headroom}\n\
         [transport]\nname = 'tcp'\ninitial_window = 1000\nrto_min = '1 s'\nrto_initial = '1 s'\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\nflows = [\n\
         {{ from = 0, to = 2, size = '292 KB', start = '1 ns' }}, {{ from = 1, to = 2, size = '292 KB', start = '1 ns' }},\n\
         {{ from = 3, to = 0, size = '146 KB' }}]"
    ))
}

/// The tenth packet of host 0 that is queued (the first of either host is sent at once) is the last below the threshold.
/// 23.2512 us are 19.4 packets: 20 arrive afterwards, 30 000 B. The packet of host 3 for host 0 has begun 1 ns before.
#[test]
fn headroom_holds_all_that_arrives_and_less_does_not() {
    let computed = two_to_one("");
    assert_eq!(computed.counters.drops, 0);
    assert!(pauses(&computed, "host 0", "switch").frames == 1, "paused once, and for the rest of the run");
    let exact = two_to_one("pause_headroom = '30564 B'");
    assert_eq!(exact.links, computed.links, "as computed");
    let less = two_to_one("pause_headroom = '29064 B'");
    assert_eq!(less.counters.drops, 1, "the twentieth");
    // Of host 1, to which nothing is sent, the frame waits for no packet: one packet less arrives.
    assert_eq!(two_to_one("pause_headroom = '0 B'").counters.drops, 20 + 19);
    // A port that holds two packets is never idle before it is paused.
    for (headroom, drops) in [("", 0), ("pause_headroom = '29064 B'", 1), ("pause_headroom = '0 B'", 20 + 19)] {
        let by_turns = two_to_one(&format!("host_queue = 'fair'\n{headroom}"));
        assert_eq!(by_turns.counters.drops, drops, "{headroom}");
        let [of_host, unlimited] = [&by_turns, &computed].map(|outcome| link(outcome, "host 1", "switch").queue.max);
        assert_eq!((of_host, unlimited), (2, 199), "paused at once, with two packets, or with all that were not sent");
    }
}

/// Hosts send as fast as they may to one at the same rate, for 20 ms after a warm-up of 5 ms.
fn incast(hosts: u32, network: &str, transport: &str) -> Outcome {
    let flow = |from: u32| format!("{{ from = {from}, to = {hosts}, size = '100 MB' }}");
    let flows: Vec<String> = (0..hosts).map(flow).collect();
    run(&format!(
        "[run]\nduration = '25 ms'\nwarm_up = '5 ms'\ncool_down = '0 s'\n[network]\ntopology = 'star'\nhosts = {}\n\
         rate = '10 Gbps'\ndelay = '1 us'\nlossless = true\n{network}\n[transport]\n{transport}\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\nflows = [{}]",
        hosts + 1,
        flows.join(", ")
    ))
}

const GREEDY: &str = "name = 'tcp'\ninitial_window = 100000\nrto_min = '1 s'\nrto_initial = '1 s'";

/// Each host sends 1/n of the time in the long run, and is paused for the rest of it.
#[test]
fn each_of_n_hosts_is_paused_for_all_but_one_nth_of_the_time() {
    for (hosts, sharing) in [
        (2, "sharing = 'per-port'\nbuffer = '100 KB'"),
        (4, ""),
        (5, "sharing = 'static'"),
        (2, "sharing = 'per-port'\nbuffer = '100 KB'\nhost_queue = 'fair'"),
        (4, "host_queue = 'fair'"),
    ] {
        let outcome = incast(hosts, sharing, GREEDY);
        assert_eq!(outcome.counters.drops, 0, "{sharing}");
        let to = format!("host {hosts}");
        assert!(link(&outcome, "switch", &to).utilisation > 0.999, "{sharing}");
        assert_eq!(pauses(&outcome, "switch", &to), LinkPauses::default(), "a host pauses nothing");
        let expected = 1.0 - 1.0 / f64::from(hosts);
        for host in 0..hosts {
            let of_host = pauses(&outcome, &format!("host {host}"), "switch");
            let share = of_host.paused.as_secs_f64() / 0.020;
            assert!((share - expected).abs() < 0.02, "host {host} of {hosts}: {share}, {of_host:?}");
        }
    }
}

/// DCTCP keeps about K packets queued, far below the threshold of each host. TCP fills all there is.
#[test]
fn marks_are_set_before_pauses_are_needed() {
    let network = "sharing = 'per-port'\nbuffer = '1 MB'\nmark = '65 packets'\nhost_jitter = '0 s'";
    let frames = |outcome: &Outcome| outcome.links.iter().filter_map(|link| Some(link.pauses?.frames)).sum::<u64>();
    let dctcp = incast(3, network, "name = 'dctcp'\ninitial_window = 10");
    let since_warm_up = |now: u64, before: u64| now - before;
    assert!(since_warm_up(dctcp.counters.marks, dctcp.before_warm_up.marks) > 0);
    assert_eq!((dctcp.counters.drops, frames(&dctcp)), (0, 0));
    let tcp = incast(3, network, GREEDY);
    assert_eq!(tcp.counters.drops, 0);
    assert!(frames(&tcp) > 0);
}

/// 4 hosts to each of 4 others on another leaf: all paths, and none drops, however small the buffers.
#[test]
fn nothing_is_dropped_with_any_transport_balancer_or_order() {
    for (transport, network) in [
        ("name = 'dctcp'", "balance = 'spray'"),
        ("name = 'tcp'\ninitial_window = 1000", "balance = 'spray'"),
        ("name = 'tcp'\ninitial_window = 1000", "balance = 'flowlet'"),
        ("name = 'd2tcp'\ninitial_window = 1000", "discipline = 'priority'"),
        ("name = 'homa'", ""),
        ("name = 'pdq'", ""),
        ("name = 'pfabric'", ""),
        ("name = 'tcp'\ninitial_window = 1000", "sharing = 'dynamic'\ndynamic_alpha = 4"),
        ("name = 'tcp'\ninitial_window = 1000", "host_queue = 'fair'"),
        ("name = 'tcp'\ninitial_window = 1000", "host_queue = 'fair'\nbalance = 'spray'"),
        ("name = 'd2tcp'\ninitial_window = 1000", "host_queue = 'fair'\ndiscipline = 'priority'"),
        ("name = 'dcqcn'", "host_queue = 'fair'\nmarking = 'red'\nred_kmax = '40 packets'\nred_pmax = '10%'"),
        ("name = 'dcqcn'", "host_queue = 'fair'\nmark_at = 'departure'"),
        ("name = 'dctcp'", "sharing = 'dynamic'\nmark_at = 'departure'\nmarking = 'red'\nred_kmax = '40 packets'"),
        ("name = 'hpcc'", "host_queue = 'fair'"),
        ("name = 'homa'", "host_queue = 'fair'"),
        ("name = 'pdq'", "host_queue = 'fair'"),
        ("name = 'pfabric'", "host_queue = 'fair'"),
    ] {
        let flow = |from: u32| {
            let to = |to: u32| format!("{{ from = {from}, to = {to}, size = '146 KB' }}");
            (4..8).map(to).collect::<Vec<_>>().join(", ")
        };
        let flows: Vec<String> = (0..4).map(flow).collect();
        let outcome = run(&format!(
            "[run]\nduration = '20 ms'\n[network]\ntopology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\n\
             rate = '10 Gbps'\nuplink = '10 Gbps'\ndelay = '1 us'\nmark = '20 packets'\nbuffer = '150 KB'\n\
             lossless = true\n{network}\n[transport]\n{transport}\n[[traffic]]\nname = 'own'\npattern = 'flows'\n\
             flows = [{}]",
            flows.join(", ")
        ));
        assert_eq!(outcome.counters.drops, 0, "{transport} {network}");
        assert!(outcome.messages.iter().all(|message| message.end.is_some()), "{transport} {network}");
        assert_eq!(outcome.deadlock, None, "{transport} {network}");
    }
}

/// Host 0 sends to host 2, whose link has a tenth of the rate. Host 1 sends to host 3, which is idle. Both use the link
/// between the switches, which the right one pauses. Packets of both have turns there, so that both get a tenth.
/// Without pauses the second flow has the rate that the first one cannot use.
#[test]
fn a_paused_link_holds_up_a_flow_to_an_idle_host() {
    let rate_of_victim = |network: &str| {
        let outcome = run(&format!(
            "[run]\nduration = '20 ms'\ncool_down = '0 s'\n[network]\ntopology = 'custom'\nhosts = 4\nswitches = ['left', 'right']\n\
             links = [{{ from = '0..2', to = 'left' }}, {{ from = 'left', to = 'right' }}, {{ from = 3, to = 'right' }},\n\
             {{ from = 2, to = 'right', rate = '1 Gbps' }}]\nrate = '10 Gbps'\ndelay = '1 us'\nsharing = 'per-port'\n\
             buffer = '100 KB'\n{network}\n[transport]\n{GREEDY}\n\
             [[traffic]]\nname = 'culprit'\npattern = 'flows'\nflows = [{{ from = 0, to = 2, size = '100 MB' }}]\n\
             [[traffic]]\nname = 'victim'\npattern = 'flows'\nflows = [{{ from = 1, to = 3, size = '100 MB' }}]"
        ));
        // Payload, of packets that are 1460 of 1500 B.
        outcome.classes[1].delivered_bytes.0 as f64 * 8.0 * 1500.0 / 1460.0 / 0.020 / 1e9
    };
    let held_up = rate_of_victim("lossless = true");
    assert!((held_up - 1.0).abs() < 0.1, "{held_up} Gbps");
    // Alone it has the whole link; here half or more, depending on drops.
    let free = rate_of_victim("");
    assert!(free > 4.0, "{free} Gbps");
}

/// Switches in a ring with a host each, which sends to the host two switches on.
fn ring(switches: u32, per_host: u32, network: &str) -> Outcome {
    let names: Vec<String> = (0..switches).map(|switch| format!("'s{switch}'")).collect();
    let link = |at: u32| {
        let next = (at + 1) % switches;
        format!("{{ from = {at}, to = 's{at}' }}, {{ from = 's{at}', to = 's{next}' }}")
    };
    let links: Vec<String> = (0..switches).map(link).collect();
    let flow = |host: u32| format!("{{ from = {}, to = {}, size = '10 MB' }}", host % switches, (host + 2) % switches);
    let flows: Vec<String> = (0..switches * per_host).map(flow).collect();
    run(&format!(
        "[run]\nduration = '20 ms'\ncool_down = '0 s'\n[network]\ntopology = 'custom'\nhosts = {switches}\n\
         switches = [{}]\nlinks = [{}]\nrate = '10 Gbps'\ndelay = '1 us'\nsharing = 'per-port'\nbuffer = '50 KB'\n\
         {network}\n[transport]\n{GREEDY}\n[[traffic]]\nname = 'own'\npattern = 'flows'\nflows = [{}]",
        names.join(", "),
        links.join(", "),
        flows.join(", ")
    ))
}

/// In a ring of five all flows take the same direction: each link waits for the next. In a ring of four both ways are as
/// long, and several flows of each host take both.
#[test]
fn rings_of_pauses_are_deadlocks_and_named() {
    for (switches, per_host, queue) in [(5_u32, 1, ""), (4, 6, ""), (5, 1, "host_queue = 'fair'")] {
        let outcome = ring(switches, per_host, &format!("lossless = true\n{queue}"));
        let deadlock = outcome.deadlock.clone().expect("the links pause each other");
        assert_eq!(outcome.counters.drops, 0);
        let cycle = names(&outcome, &deadlock);
        assert_eq!(cycle.len() as u32, switches, "{cycle:?}");
        assert!(cycle.iter().all(|(from, to)| from.starts_with('s') && to.starts_with('s')), "{cycle:?}");
        for (index, (_, to)) in cycle.iter().enumerate() {
            assert_eq!(*to, cycle[(index + 1) % cycle.len()].0, "each begins where the last one ends: {cycle:?}");
        }
        assert!(deadlock.stuck >= u64::from(switches) && deadlock.since < Instant::from_millis(20));
        // Nothing has moved since.
        for (from, to) in &cycle {
            let paused = pauses(&outcome, from, to).paused;
            assert!(paused >= outcome.ended - deadlock.since, "{from} {to}: {paused}");
        }
        assert!(deadlock.since + Span::from_millis(5) < outcome.ended, "{deadlock:?}");
        assert_eq!(ring(switches, per_host, "").deadlock, None, "a network that drops packets has none");
    }
}

/// Three switches in a line cannot wait for each other, however much they pause.
#[test]
fn pauses_without_a_ring_are_no_deadlock() {
    let outcome = incast(4, "", GREEDY);
    assert!(pauses(&outcome, "host 0", "switch").frames > 0);
    assert_eq!(outcome.deadlock, None);
}

/// Host 0 sends 1 MB to host 1 and 1 KB to host 2, later. A packet of 1500 B takes 1.2 us, and the small message alone twice
/// 0.832 us and 2 us of light.
fn large_and_small(queue: &str, to_large: &str) -> (Outcome, Span) {
    let outcome = run(&format!(
        "[run]\nduration = '20 ms'\n[network]\ntopology = 'custom'\nhosts = 3\nswitches = ['switch']\n\
         links = [{{ from = [0, 2], to = 'switch' }}, {{ from = 1, to = 'switch', rate = '{to_large}' }}]\n\
         rate = '10 Gbps'\ndelay = '1 us'\nhost_jitter = '0 s'\nsharing = 'per-port'\nbuffer = '1 MB'\n\
         lossless = true\npause_threshold = '10 packets'\nhost_queue = '{queue}'\n[transport]\n{GREEDY}\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\nflows = [\n\
         {{ from = 0, to = 1, size = '1 MB' }}, {{ from = 0, to = 2, size = '1 KB', start = '400 us' }}]"
    ));
    let small = outcome.messages.iter().find(|message| message.to.0 == 2).expect("it is sent");
    let takes = small.end.expect("it arrives") - small.start;
    (outcome, takes)
}

const SMALL: Span = Span::from_nanos(2 * 832 + 2000);
const PACKET: Span = Span::from_nanos(1200);

/// The rest of a packet is sent, then the one at the port, then that of the large message whose turn was before.
#[test]
fn small_message_waits_for_three_packets_of_a_large_one() {
    let (outcome, takes) = large_and_small("fair", "10 Gbps");
    assert!(takes > SMALL + PACKET * 2 && takes <= SMALL + PACKET * 3, "{takes}");
    assert_eq!(
        link(&outcome, "host 0", "switch").queue.max,
        2,
        "one is sent, one waits, and one behind the small packet"
    );
    // Without turns, for all of the large one: 685 packets, of which 333 have left in 400 us.
    let (_, takes) = large_and_small("unlimited", "10 Gbps");
    assert!(takes > PACKET * (684 - 334) && takes < SMALL + PACKET * (686 - 333), "{takes}");
}

/// The receiver of the large message has a tenth of the rate, so that its packets take 12 us each. A pause is asked for
/// when ten packets are held. It is heeded 4.1 us later, when the port may have begun another: five more arrive at most.
/// Eight of these fifteen leave before the port is resumed, at seven: 96 us, and 3.1 us for the frame. Then three packets
/// are before the small message, as without pauses; five are sent at least before the next pause.
#[test]
fn small_message_waits_for_one_pause_and_three_packets() {
    let (outcome, takes) = large_and_small("fair", "1 Gbps");
    let paused = pauses(&outcome, "host 0", "switch");
    assert!(paused.frames > 50 && outcome.counters.drops == 0, "{paused:?}");
    assert!(paused.paused / paused.frames <= Span::from_micros(99), "{paused:?}");
    assert!(takes <= Span::from_micros(99) + SMALL + PACKET * 3, "{takes}");
    assert!(link(&outcome, "host 0", "switch").queue.max <= 2, "a paused port holds two packets");
    // The receiver's link is never idle: 685 packets, one hop of the first, and the light.
    let large = outcome.messages.iter().find(|message| message.to.0 == 1).and_then(|message| message.end);
    let all = Span::from_micros(12) * 684 + Span::from_micros(2) + PACKET;
    assert!(
        large.is_some_and(|end| end.since_start() >= all && end.since_start() <= all + Span::from_micros(12)),
        "{large:?}"
    );
    let (_, takes) = large_and_small("unlimited", "1 Gbps");
    assert!(takes > Span::from_millis(7), "{takes}");
}

/// Two flows of one host to one slow receiver have the same share, and so have four with a longer queue at the port.
#[test]
fn flows_of_a_paused_host_share_its_port() {
    for (flows, queue) in [(2_u64, ""), (4, "host_buffer = '8 packets'")] {
        let listed: Vec<String> =
            (0..flows).map(|flow| format!("{{ from = 0, to = 1, size = '10 MB', start = '{flow} ms' }}")).collect();
        let outcome = run(&format!(
            "[run]\nduration = '25 ms'\nwarm_up = '5 ms'\ncool_down = '0 s'\n[network]\ntopology = 'custom'\nhosts = 2\n\
             switches = ['switch']\nlinks = [{{ from = 0, to = 'switch' }}, {{ from = 1, to = 'switch', rate = '1 Gbps' }}]\n\
             rate = '10 Gbps'\ndelay = '1 us'\nsharing = 'per-port'\nbuffer = '100 KB'\nlossless = true\nhost_queue = 'fair'\n{queue}\n[transport]\n{GREEDY}\n{}",
            listed
                .iter()
                .enumerate()
                .map(|(index, flow)| format!(
                    "[[traffic]]\nname = 'flow {index}'\npattern = 'flows'\nflows = [{flow}]\n"
                ))
                .collect::<String>()
        ));
        // 1666.7 packets leave in 20 ms; the switch holds packets of the first flows at the end of the warm-up.
        for class in &outcome.classes {
            let packets = class.delivered_bytes.0 / 1460;
            assert!(packets.abs_diff(1667 / flows) <= 1667 / flows / 10, "{packets} of {flows} {queue}");
        }
        assert!(link(&outcome, "switch", "host 1").utilisation > 0.999);
    }
}
