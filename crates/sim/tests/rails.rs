//! Hosts with several links, links between hosts, and rails: completion times by hand.

use super::common::run;

use sim::Outcome;
use transport::registry::TRANSPORTS;
use units::Span;

/// A packet of 1500 B at 10 Gbps.
const PACKET: u64 = 1_200_000;
/// The delay of each link.
const LIGHT: u64 = 1_000_000;

/// Runs flows on links at 10 Gbps that are 1 us long, without jitter; all packets of a message are sent at once.
fn custom(hosts: u32, switches: &[&str], links: &[(&str, &str)], more: &str, flows: &[(u32, u32, u32)]) -> Outcome {
    run(&text(hosts, switches, links, more, "dctcp", flows))
}

fn text(
    hosts: u32,
    switches: &[&str],
    links: &[(&str, &str)],
    more: &str,
    transport: &str,
    flows: &[(u32, u32, u32)],
) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let links = links.iter().map(|(a, b)| format!("{{ from = {a}, to = {b} }}")).collect();
    let flows = flows
        .iter()
        .map(|(from, to, packets)| format!("{{ from = {from}, to = {to}, size = '{} B' }}", 1460 * packets))
        .collect();
    format!(
        "[run]\nduration = '5 ms'\n[network]\ntopology = 'custom'\nhosts = {hosts}\nswitches = {switches:?}\n\
         links = [{}]\nrate = '10 Gbps'\ndelay = '1 us'\nbuffer = '4 MB'\nhost_jitter = '0 s'\n{more}\n\
         [transport]\nname = '{transport}'\ninitial_window = 1000\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\nflows = [{}]\n",
        list(links),
        list(flows)
    )
}

/// Returns the completion times of all messages, in the order of their senders.
fn times(outcome: &Outcome) -> Vec<Span> {
    let mut messages: Vec<_> = outcome.messages.iter().collect();
    messages.sort_by_key(|message| (message.from, message.to));
    messages.iter().map(|message| message.end.expect("it is complete") - message.start).collect()
}

/// Returns the times of the messages alone, in the same order.
fn ideals(outcome: &Outcome) -> Vec<Span> {
    let mut messages: Vec<_> = outcome.messages.iter().collect();
    messages.sort_by_key(|message| (message.from, message.to));
    messages.iter().map(|message| message.ideal.expect("it has a size")).collect()
}

/// Returns the packets of a link.
fn packets(outcome: &Outcome, from: &str, to: &str) -> u64 {
    let link = outcome.links.iter().find(|link| link.from == from && link.to == to);
    link.unwrap_or_else(|| panic!("no link from {from} to {to}")).packets
}

/// Returns the time of a message, by its number of packets and of links on its route.
fn takes(packets: u64, links: u64) -> Span {
    Span((packets + links - 1) * PACKET + links * LIGHT)
}

/// Four hosts in a ring, without a switch: 0 -> 3 passes through host 1 or host 2.
const RING: [(&str, &str); 4] = [("0", "1"), ("0", "2"), ("1", "3"), ("2", "3")];

#[test]
fn a_host_passes_packets_on() {
    let outcome = custom(4, &[], &RING, "", &[(0, 3, 10)]);
    assert_eq!(times(&outcome), [takes(10, 2)]);
    let by = [packets(&outcome, "host 0", "host 1"), packets(&outcome, "host 0", "host 2")];
    assert!(by == [10, 0] || by == [0, 10], "a flow keeps its route: {by:?}");
    assert_eq!(packets(&outcome, "host 1", "host 3") + packets(&outcome, "host 2", "host 3"), 10);
    // Data and acknowledgements reach their hosts, and are not counted on the way.
    assert_eq!((outcome.counters.packets_delivered, outcome.counters.drops), (10, 0));
    assert_eq!(times(&custom(4, &[], &RING, "", &[(0, 1, 10)])), [takes(10, 1)], "neighbours need nobody");
}

/// Host 1 sends packets of host 0 and of its own to host 2.
#[test]
fn passing_packets_queue_behind_those_of_the_host() {
    let line = [("0", "1"), ("1", "2")];
    let outcome = custom(3, &[], &line, "", &[(0, 2, 10), (1, 2, 20)]);
    // All 30 packets by one link that is never idle: the last to arrive is the other's.
    assert_eq!(times(&outcome), [takes(30, 1), takes(20, 1)]);
}

/// Packets on their way through a host take room at its port, which holds two packets. So the host's own sender waits for
/// it. Without a limit all of the host's own packets are first.
#[test]
fn passing_packets_take_room_at_a_bounded_port() {
    let of = |queue: &str| {
        let more = format!("host_queue = '{queue}'");
        let outcome = custom(3, &[], &[("0", "1"), ("1", "2")], &more, &[(0, 2, 100), (1, 2, 100)]);
        let [through, own] = times(&outcome)[..] else { panic!("two messages") };
        (through, own)
    };
    // 200 packets by one link, which is idle at no time.
    assert_eq!(of("unlimited"), (takes(200, 1), takes(100, 1)));
    let (through, own) = of("fair");
    assert_eq!(own, takes(200, 1));
    assert!(through <= takes(103, 1), "two of the host's own are queued when the first arrives: {through}");
}

/// Host 0 has a link to each of two switches. Flows over both take as long as each alone.
#[test]
fn two_links_carry_twice() {
    let links = [("0", "'a'"), ("0", "'b'"), ("1", "'a'"), ("2", "'b'")];
    for queue in ["unlimited", "fair", "fifo"] {
        let of = |flows: &[(u32, u32, u32)]| {
            times(&custom(3, &["a", "b"], &links, &format!("host_queue = '{queue}'"), flows))
        };
        assert_eq!(of(&[(0, 1, 100), (0, 2, 100)]), [takes(100, 2), takes(100, 2)], "{queue}");
        assert_eq!(of(&[(1, 0, 100), (2, 0, 100)]), [takes(100, 2), takes(100, 2)], "{queue}");
        // Over one link, two take twice as long.
        assert_eq!(of(&[(0, 1, 100), (0, 1, 100)]).into_iter().max(), Some(takes(200, 2)), "{queue}");
    }
}

/// Two hosts with a link to each of two ToRs.
const DUAL: [(&str, &str); 4] = [("0", "'a'"), ("0", "'b'"), ("1", "'a'"), ("1", "'b'")];

#[test]
fn sprayed_packets_use_both_links_of_a_host() {
    for queue in ["unlimited", "fair", "fifo"] {
        let of = |balance: &str| {
            custom(2, &["a", "b"], &DUAL, &format!("host_queue = '{queue}'\nbalance = '{balance}'"), &[(0, 1, 1000)])
        };
        let one = of("ecmp");
        assert_eq!(times(&one), [takes(1000, 2)], "{queue}");
        assert_eq!(ideals(&one), times(&one), "{queue}");
        let sprayed = of("spray");
        assert_eq!(ideals(&sprayed), [takes(500, 2)], "{queue}");
        assert_eq!((packets(&sprayed, "host 0", "a"), packets(&sprayed, "host 0", "b")), (500, 500), "{queue}");
        assert_eq!(times(&sprayed), [takes(500, 2)], "{queue}");
    }
}

/// Two sprayed connections of one host take turns at both of its ports.
#[test]
fn sprayed_connections_take_turns_at_each_port() {
    let dual = [("'0..3'", "'a'"), ("'0..3'", "'b'")];
    let outcome = custom(3, &["a", "b"], &dual, "host_queue = 'fair'\nbalance = 'spray'", &[(0, 1, 300), (0, 2, 300)]);
    let [one, other] = times(&outcome)[..] else { panic!("two messages") };
    assert_eq!(one.max(other), takes(300, 2), "600 packets over two links that are never idle");
    assert!(one.min(other) > takes(290, 2), "{one} {other}");
}

/// A link to a ToR fails for good. Flows on it are rerouted over the other.
#[test]
fn a_host_survives_the_loss_of_a_link() {
    let mut rerouted = 0;
    for lost in ["a", "b"] {
        let fault = format!("[[fault]]\nkind = 'down'\nlink = 'host 0 - {lost}'\nat = '100 us'\nreroute = '50 us'\n");
        let scenario = text(2, &["a", "b"], &DUAL, "", "dctcp", &[(0, 1, 800), (0, 1, 801)]) + &fault;
        let outcome = run(&scenario);
        assert_eq!(outcome.messages.iter().filter(|message| message.end.is_some()).count(), 2, "{lost}");
        let counts = outcome.faults.expect("there is a fault");
        assert_eq!(counts.rerouted > 0, counts.drops > 0, "{lost}");
        rerouted += u64::from(counts.rerouted > 0);
    }
    assert!(rerouted > 0, "each flow is on one of the two");
}

/// Host 1 and 2 could pass on what host 0 sends to host 3; but three switches lead there.
#[test]
fn hosts_pass_packets_on_only_where_no_switches_do() {
    let links =
        [("0", "1"), ("1", "3"), ("0", "'a'"), ("'a'", "'b'"), ("'b'", "'c'"), ("'c'", "3"), ("2", "'b'"), ("2", "0")];
    let outcome = custom(4, &["a", "b", "c"], &links, "", &[(0, 3, 10)]);
    assert_eq!(times(&outcome), [takes(10, 4)]);
    // Without these, host 1 does.
    let without_c: Vec<_> = links.into_iter().filter(|ends| *ends != ("'b'", "'c'")).collect();
    let outcome = custom(4, &["a", "b", "c"], &without_c, "", &[(0, 3, 10)]);
    assert_eq!(times(&outcome), [takes(10, 2)]);
}

fn rails(more: &str, flows: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '5 ms'\n[network]\ntopology = 'rails'\nservers = 2\ngpus = 2\nrate = '100 Gbps'\ndelay = '1 us'\n\
         nvlink_rate = '800 Gbps'\nnvlink_delay = '100 ns'\nhost_jitter = '0 s'\n{more}\n\
         [transport]\nname = 'dctcp'\ninitial_window = 1000\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\nflows = [{flows}]\n"
    ))
}

/// Ten packets of 1500 B: 15 ns each over NVLink, 120 ns over a rail.
#[test]
fn rails_by_hand() {
    let (nv, rail) = (15_000, 120_000);
    let flow = |to: u32| format!("{{ from = 0, to = {to}, size = '14600 B' }}");
    // Within the server: over the NVSwitch.
    let near = rails("", &flow(1));
    assert_eq!(times(&near), [Span(11 * nv + 200_000)]);
    assert_eq!(packets(&near, "nvswitch 0", "host 1"), 10);
    // The same GPU of the other server: over its rail.
    let same = rails("", &flow(2));
    assert_eq!(times(&same), [Span(11 * rail + 2_000_000)]);
    assert_eq!(packets(&same, "rail 0", "host 2"), 10);
    // Another GPU of the other server: over NVLink on one side, and over either rail.
    let across = rails("", &flow(3));
    assert_eq!(times(&across), [Span(2 * nv + 11 * rail + 2_200_000)]);
    assert_eq!(packets(&across, "rail 0", "host 2") + packets(&across, "rail 1", "host 3"), 10);
    assert_eq!(packets(&across, "nvswitch 0", "host 1") + packets(&across, "nvswitch 1", "host 3"), 10);
    // With a spine, over that.
    let spine = rails("spines = 1\nuplink = '100 Gbps'", &flow(3));
    assert_eq!(times(&spine), [Span(13 * rail + 4_000_000)]);
    assert_eq!(packets(&spine, "spine 0", "rail 1"), 10);
    // Its uplinks follow from their oversubscription: two hosts, two spines, 50 Gbps each.
    let two = rails("spines = 2\noversubscription = 2", &flow(3));
    assert_eq!(times(&two), [Span(2 * rail + 2 * rail + 2 * rail + 9 * 2 * rail + 4_000_000)]);
}

/// The time alone is that over the path of a message: NVLink makes no message to another server faster.
#[test]
fn time_alone_is_that_of_one_path_over_rails() {
    let flow = |to: u32| format!("{{ from = 0, to = {to}, size = '14600 B' }}");
    for balance in ["ecmp", "flowlet", "spray"] {
        for to in 1..4 {
            let outcome = rails(&format!("balance = '{balance}'"), &flow(to));
            if balance != "spray" || to != 3 {
                assert_eq!(ideals(&outcome), times(&outcome), "{balance} to {to}");
            }
        }
    }
    // To another GPU of the other server, half of the packets take each rail, over NVLink before it or behind it. The
    // fifth of them leaves a rail after 5 x 120 ns, and an NVLink, a rail and an NVLink are the hops of the last.
    let sprayed = rails("balance = 'spray'", &flow(3));
    assert_eq!(ideals(&sprayed), [Span(2 * 15_000 + 6 * 120_000 + 2_200_000)]);
    assert!(times(&sprayed)[0] >= ideals(&sprayed)[0]);
}

/// The messages of a request alone have each link in turn, and different links at once.
#[test]
fn requests_alone_share_links_and_not_hosts() {
    let alone = |balance: &str, receivers: [u32; 2]| {
        let stages: String = receivers
            .iter()
            .enumerate()
            .map(|(index, _)| {
                format!("[[traffic.stage]]\nname = 's{index}'\nfrom = 'a'\nto = 'b{index}'\nsize = '14600 B'\n")
            })
            .collect();
        let outcome = run(&format!(
            "[run]\nduration = '5 ms'\n[network]\ntopology = 'rails'\nservers = 3\ngpus = 2\nrate = '100 Gbps'\n\
             delay = '1 us'\nnvlink_rate = '800 Gbps'\nnvlink_delay = '100 ns'\nhost_jitter = '0 s'\n\
             balance = '{balance}'\n[transport]\nname = 'dctcp'\ninitial_window = 1000\n[[traffic]]\nname = 'own'\n\
             pattern = 'stages'\nevery = '1 ms'\ncount = 1\ndeadline = '2 * alone'\n\
             [traffic.roles]\na = 0\nb0 = {}\nb1 = {}\n{stages}",
            receivers[0], receivers[1]
        ));
        let goal = outcome.stage_requests[0].goals[0];
        assert_eq!(goal.within, Span(2 * goal.alone.0));
        let longest = outcome.messages.iter().map(|message| message.end.expect("it arrives") - message.start).max();
        assert_eq!(longest, Some(goal.alone), "{balance} to {receivers:?}");
        goal.alone
    };
    let rail = 120_000;
    for balance in ["ecmp", "spray"] {
        // Over NVLink and a rail at once.
        assert_eq!(alone(balance, [1, 2]), Span(11 * rail + 2_000_000));
        // Over one rail, to two servers.
        assert_eq!(alone(balance, [2, 4]), Span(21 * rail + 2_000_000));
    }
}

/// Each GPU sends to its neighbour and to the next server at once, over different links.
#[test]
fn rails_and_nvlink_do_not_share() {
    let flow = |from: u32, to: u32| format!("{{ from = {from}, to = {to}, size = '14600 B' }}");
    let both = rails("", &[flow(0, 1), flow(0, 2), flow(1, 0), flow(1, 3)].join(", "));
    let (near, far) = (Span(11 * 15_000 + 200_000), Span(11 * 120_000 + 2_000_000));
    assert_eq!(times(&both), [near, far, near, far]);
}

/// Eight GPUs with a link to an NVSwitch and one to a rail each, a pod switch above the rails: neighbours use the
/// NVSwitch.
#[test]
fn each_gpu_sends_to_the_next_over_the_nvswitch() {
    let names: Vec<String> = (0..8).map(|rail| format!("rail {rail}")).collect();
    let mut switches = vec!["nvswitch"];
    switches.extend(names.iter().map(String::as_str));
    switches.push("pod");
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let numbers: Vec<String> = (0..8).map(|gpu| gpu.to_string()).collect();
    let mut links = vec![("'0..8'", "'nvswitch'")];
    for (gpu, rail) in numbers.iter().zip(&quoted) {
        links.extend([(gpu.as_str(), rail.as_str()), (rail.as_str(), "'pod'")]);
    }
    let shift: Vec<(u32, u32, u32)> = (0..8).map(|gpu| (gpu, (gpu + 1) % 8, 685)).collect();
    let outcome = custom(8, &switches, &links, "", &shift);
    assert_eq!(times(&outcome), [takes(685, 2); 8]);
    assert!(outcome.links.iter().filter(|link| link.to == "pod").all(|link| link.packets == 0));
}

/// A lossless network drops nothing, also where packets pass through hosts.
#[test]
fn a_lossless_network_passes_packets_through_hosts() {
    // Two switches, each with hosts; host 2 joins them, and host 3 hangs at host 2.
    let links = [("0", "'a'"), ("1", "'a'"), ("2", "'a'"), ("2", "'b'"), ("3", "2"), ("4", "'b'"), ("5", "'b'")];
    let flows = [(0, 4, 500), (1, 4, 500), (5, 4, 500), (3, 0, 200), (4, 3, 200), (0, 3, 100)];
    for queue in ["unlimited", "fair"] {
        for balance in ["ecmp", "spray"] {
            let more = format!(
                "lossless = true\nbuffer = '200 KB'\nsharing = 'per-port'\nhost_queue = '{queue}'\nbalance = '{balance}'"
            );
            let scenario = text(6, &["a", "b"], &links, &more, "dctcp", &flows).replace("buffer = '4 MB'\n", "");
            let outcome = run(&scenario);
            assert_eq!((outcome.counters.drops, outcome.counters.retransmits), (0, 0), "{queue} {balance}");
            assert_eq!(times(&outcome).len(), flows.len(), "{queue} {balance}");
            let paused = outcome.links.iter().any(|link| link.pauses.is_some_and(|pauses| pauses.frames > 0));
            assert!(paused, "{queue} {balance}");
        }
    }
}

/// All transports complete, also over hosts that pass packets on and with bounded queues, where hosts or switches choose paths.
#[test]
fn every_transport_runs_over_hosts() {
    let links = [("'0..3'", "'a'"), ("'2..5'", "'b'"), ("5", "4"), ("5", "0")];
    let flows = [(0, 4, 40), (1, 3, 40), (5, 2, 40), (5, 3, 30), (1, 5, 30), (3, 0, 20), (4, 0, 1)];
    let sent: u64 = flows.iter().map(|flow| u64::from(flow.2)).sum();
    for own in TRANSPORTS {
        for more in [
            "",
            "host_queue = 'fair'",
            "host_queue = 'fair'\nbalance = 'spray'",
            "balance = 'drill'",
            "host_queue = 'fifo'\nbalance = 'reps'",
        ] {
            let what = format!("{} {more}", own.name);
            let outcome =
                run(&text(6, &["a", "b"], &links, more, own.name, &flows).replace("initial_window = 1000\n", ""));
            assert_eq!(times(&outcome).len(), flows.len(), "{what}");
            assert!(
                (sent..=sent + outcome.counters.retransmits).contains(&outcome.counters.packets_delivered),
                "{what}"
            );
        }
    }
}

/// A receiver grants for each of its links apart.
#[test]
fn grants_use_both_links_of_a_receiver() {
    let links = [("0", "'a'"), ("0", "'b'"), ("1", "'a'"), ("2", "'b'")];
    for transport in ["homa", "edf-grants"] {
        for queue in ["unlimited", "fair"] {
            let of = |flows: &[(u32, u32, u32)]| {
                let more = format!("host_queue = '{queue}'");
                times(&run(
                    &text(3, &["a", "b"], &links, &more, transport, flows).replace("initial_window = 1000\n", "")
                ))
            };
            let (one, other) = (of(&[(1, 0, 1000)]), of(&[(2, 0, 1000)]));
            assert_eq!(of(&[(1, 0, 1000), (2, 0, 1000)]), [one[0], other[0]], "{transport} {queue}");
            let (one, other) = (of(&[(0, 1, 1000)]), of(&[(0, 2, 1000)]));
            assert_eq!(of(&[(0, 1, 1000), (0, 2, 1000)]), [one[0], other[0]], "{transport} {queue}");
        }
    }
}

/// Drops at a port to a host that passes packets on are not counted for their receiver.
#[test]
fn drops_before_a_host_on_the_way_are_not_at_the_receiver() {
    // Two hosts send to host 3 through host 2, whose port at the switch holds ten packets.
    let links = [("0", "'a'"), ("1", "'a'"), ("2", "'a'"), ("2", "3")];
    let flows = [(0, 3, 100), (1, 3, 100)];
    let scenario = text(4, &["a"], &links, "buffer = '10 packets'\nsharing = 'per-port'", "dctcp", &flows)
        .replace("buffer = '4 MB'\n", "");
    let outcome = run(&scenario);
    assert!(outcome.counters.drops > 0 && times(&outcome).len() == 2);
    let delivered = outcome.counters.packets_delivered;
    assert_eq!(outcome.classes[0].bottleneck_bytes.0, 1500 * delivered);
    assert!(packets(&outcome, "host 2", "host 3") >= delivered);
}

/// A load is a share of all links of a host: 12.5 MB in 10 ms are half of twice 10 Gbps.
#[test]
fn a_load_is_of_all_links_of_a_host() {
    let flows = text(2, &["a", "b"], &DUAL, "balance = 'spray'", "dctcp", &[]);
    let (network, _) = flows.split_once("[[traffic]]").expect("it has traffic");
    let traffic = "[[traffic]]\nname = 'own'\npattern = 'poisson'\nfrom = 0\nto = 1\nload = '50%'\nsize = '100 KB'\n";
    let outcome = run(&format!("{network}{traffic}").replace("duration = '5 ms'", "duration = '10 ms'"));
    // 125 messages, with a standard deviation of 11.
    assert!(outcome.messages.len().abs_diff(125) < 45, "{}", outcome.messages.len());
    let [a, b] = ["a", "b"].map(|tor| outcome.links.iter().find(|link| link.from == tor && link.to == "host 1"));
    let used = a.zip(b).map(|(a, b)| (a.utilisation - b.utilisation).abs());
    assert!(used.is_some_and(|difference| difference < 0.02), "{used:?}");
}
