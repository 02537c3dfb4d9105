//! Invariants of every run, whatever the scenario.

use super::common;

use sim::{Outcome, World};
use transport::registry::TRANSPORTS;
use units::{Bytes, ClassId, HostId, Instant, Span};

fn world(text: &str, folder: Option<&std::path::Path>) -> World {
    let source = scenario::Source { name: "test", text, folder };
    let read = scenario::read(&source, &common::classic());
    World::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario)
}

fn run(text: &str) -> Outcome {
    let mut world = world(text, None);
    while world.advance(1 << 20) {}
    world.finish()
}

/// Checks that every packet is accounted for, and that no message is faster than the wire.
fn check(outcome: &Outcome, text: &str) {
    let counters = &outcome.counters;
    let accounted = counters.packets_received + counters.drops + counters.packets_in_flight;
    assert_eq!(counters.packets_sent, accounted, "{text}");
    assert!(counters.packets_delivered <= counters.packets_received);
    let of_links = |what: fn(&sim::outcome::Link) -> u64| outcome.links.iter().map(what).sum::<u64>();
    assert_eq!((of_links(|link| link.drops), of_links(|link| link.marks)), (counters.drops, counters.marks), "{text}");
    for message in &outcome.messages {
        if let (Some(end), Some(ideal)) = (message.end, message.ideal) {
            assert!(end - message.start >= ideal, "{message:?} is faster than the wire\n{text}");
            assert!(end <= outcome.ended && !message.aborted, "{message:?}\n{text}");
        }
    }
    if outcome.warm_up == Instant::ZERO {
        for (class, sums) in outcome.classes.iter().enumerate() {
            let of_class = outcome.messages.iter().filter(|message| message.class.index() == class);
            let messages = || of_class.clone().filter(|message| message.start <= outcome.simulated);
            let by_then = |end: Option<Instant>| end.is_some_and(|end| end <= outcome.simulated);
            let whole: Bytes = messages().filter(|m| by_then(m.end)).filter_map(|m| m.bytes).sum();
            let most = messages().map(|m| m.bytes.unwrap_or(Bytes(1 << 50))).fold(Bytes::ZERO, Bytes::saturating_add);
            assert!((whole..=most).contains(&sums.delivered_bytes), "{}: {}\n{text}", sums.name, sums.delivered_bytes);
        }
    }
    check_goodput(outcome, text);
    for link in &outcome.links {
        let queue = &link.queue;
        assert!(queue.p5 <= queue.p50 && queue.p50 <= queue.p99 && queue.p99 <= queue.max, "{link:?}\n{text}");
        assert!((0.0..=1.000_001).contains(&link.utilisation) && queue.mean <= queue.max as f64 + 1e-9, "{link:?}");
    }
}

/// Each byte of payload that reached a receiver within the measured time is counted once, in order or not.
fn check_goodput(outcome: &Outcome, text: &str) {
    let window = outcome.warm_up..=outcome.simulated;
    let mut into_host = vec![Bytes::ZERO; outcome.graph.hosts as usize];
    let mut of_class = vec![Bytes::ZERO; outcome.classes.len()];
    for message in &outcome.messages {
        let within = |time: Option<Instant>| time.is_some_and(|time| window.contains(&time));
        match message.bytes {
            Some(bytes) if within(Some(message.start)) && within(message.end) => {
                assert_eq!(message.delivered, bytes, "{message:?}\n{text}");
            }
            Some(bytes) => assert!(message.delivered <= bytes, "{message:?}\n{text}"),
            None => {}
        }
        if message.start > outcome.simulated || message.end.is_some_and(|end| end < outcome.warm_up) {
            assert_eq!(message.delivered, Bytes::ZERO, "{message:?}\n{text}");
        }
        into_host[message.to.index()] += message.delivered;
        of_class[message.class.index()] += message.delivered;
    }
    let sums: Vec<Bytes> = outcome.classes.iter().map(|class| class.delivered_bytes).collect();
    assert_eq!(of_class, sums, "a class has the payload of its messages\n{text}");
    let seconds = outcome.simulated.saturating_sub(outcome.warm_up).as_secs_f64();
    // Beyond the hosts are switches.
    let mut rates = vec![0; outcome.graph.hosts as usize];
    for link in &outcome.graph.links {
        rates.get_mut(link.to as usize).into_iter().for_each(|rate| *rate += link.rate.0);
    }
    for (host, (bytes, rate)) in into_host.into_iter().zip(rates).enumerate() {
        // A packet that was on the wire when the measurement began counts as a whole.
        let most = rate as f64 * seconds / 8.0 + 9000.0;
        assert!(bytes.as_f64() <= most, "{bytes} of {most} B reached host {host}\n{text}");
    }
}

#[test]
fn the_examples_keep_every_packet_and_repeat_themselves() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut examples = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        examples += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let outcome = || {
            let mut world = world(&text, Some(&folder));
            world.advance(300_000);
            world.finish()
        };
        let first = outcome();
        assert!(first.counters.packets_delivered > 0);
        check(&first, &text);
        assert!(first == outcome(), "{} differs from itself", path.display());
    }
    assert!(examples >= 9);
}

/// Random draws for scenarios.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Returns a small valid scenario.
fn any_scenario(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let topology = dice.one(&[
        "topology = 'star'\nhosts = 8",
        "topology = 'star'\nhosts = 8\nbottleneck = '300 Mbps'",
        "topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '2 Gbps'",
        "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 3\nuplink = '700 Mbps'",
        "topology = 'fat-tree'\nk = 4",
    ]);
    let network = [
        dice.one(&["rate = '1 Gbps'", "rate = '10 Gbps'", "rate = '11 Gbps'"]),
        dice.one(&["delay = '20 us'", "delay = '1 ns'", "delay = '500 us'"]),
        dice.one(&["buffer = '4 MB'", "buffer = '50 KB'", "buffer = '1 packets'", "buffer = '30 packets'"]),
        dice.one(&["sharing = 'dynamic'", "sharing = 'dynamic'\ndynamic_alpha = 8", "sharing = 'static'"]),
        dice.one(&["", "mark = '5 packets'", "mark = '30 KB'", "mark = '0 packets'"]),
        dice.one(&["", "non_ect = 'drop'"]),
        dice.one(&["", "frame_overhead = '38 B'", "host_jitter = '1 us'", "host_jitter = '0 s'"]),
    ];
    // Not drawn by the dice, so that all other choices of a seed stay as they are.
    let at_departure = seed % 4 == 2 && !network.contains(&"non_ect = 'drop'");
    let mark_at = if at_departure { "mark_at = 'departure'" } else { "" };
    let transport = |dice: &mut Dice| {
        let name = dice.one(&["tcp", "cubic", "dctcp", "d2tcp", "xdctcp"]);
        let own = match name {
            "tcp" | "cubic" => dice.one(&["", "ecn = true"]),
            "d2tcp" => dice.one(&["", "expired = 'abort'", "expired = 'cap'\nt_c = 'precise'", "margin = '1 s'"]),
            _ => dice.one(&["", "cut_at = 'window-end'"]),
        };
        let shared = [
            dice.one(&["", "mss = '1 B'", "mss = '9000 B'", "mss = '536 B'\nheader = '0 B'"]),
            dice.one(&["", "initial_window = 1", "initial_window = 1000\ncwnd_floor = 1"]),
            dice.one(&["", "recovery = 'newreno'", "recovery = 'newreno'\nlimited_transmit = false"]),
            dice.one(&["", "ack_every = 2", "ack_every = 64"]),
            dice.one(&["", "handshake = true", "idle_restart = true", "cwnd_validation = true"]),
            dice.one(&["", "window_limit = '7 packets'", "window_limit = '700 B'"]),
            dice.one(&["", "rto_min = '1 us'\nrto_initial = '1 s'", "backoff_reset = 'ack'", "dup_ack_threshold = 1"]),
        ];
        format!("name = '{name}'\n{own}\n{}", shared.join("\n"))
    };
    let traffic = |dice: &mut Dice| {
        let pattern = dice.one(&[
            "pattern = 'fan-in'\nleaves = 5\nparents = 2\nevery = 'exponential(1 ms)'\nsize = 'uniform(1 B, 20 KB)'",
            "pattern = 'poisson'\nload = '30%'\nsize = 'pareto(1 KB, 1.2)'",
            "pattern = 'periodic'\nfrom = '0..3'\nto = 7\nevery = '300 us'\nsize = 'exponential(15 KB)'",
            "pattern = 'flows'\nflows = [ { from = '0..7', to = 7, size = '1 B' }, { from = 1, to = 7, size = '100 KB' } ]",
        ]);
        let deadline = match pattern.contains("flows") {
            true => "",
            false => dice.one(&[
                "",
                "deadline = { base = '2 ms', vary = 'exponential' }",
                "deadline = { base = '0.001 ns' }",
            ]),
        };
        format!("{pattern}\n{deadline}\n{}", dice.one(&["", "connections = 'persistent'"]))
    };
    // If a port has room for one packet only, messages do not all arrive: to wait for them costs ten times as much.
    let run = dice.one(&[
        "wait_for = 'deadlines'",
        "warm_up = '4 ms'\ncool_down = '1 ms'",
        "warm_up = '7.999 ms'\ncool_down = '0 s'\ntrace = { every = '1 ms', what = ['throughput', 'cwnd', 'd', 'queue'] }",
    ]);
    format!(
        "[run]\nduration = '8 ms'\nseed = {seed}\n{run}\n[network]\n{topology}\n{}\n{mark_at}\n[transport]\n{}\n\
         [[traffic]]\nname = 'a'\n{}\n[[traffic]]\nname = 'b'\n{}\n\
         [[traffic]]\nname = 'long'\npattern = 'long'\nfrom = [0, 2]\nto = [7, 5]\n",
        network.join("\n"),
        transport(&mut dice),
        traffic(&mut dice),
        traffic(&mut dice)
    )
}

#[test]
fn any_scenario_keeps_every_packet_and_repeats_itself() {
    // In the last one two consecutive messages are aborted while none of their packets is in flight.
    for seed in (0..150).chain([419]) {
        let text = any_scenario(seed);
        let outcome = run(&text);
        check(&outcome, &text);
        if seed % 3 == 0 {
            assert!(outcome == run(&text), "differs from itself:\n{text}");
        }
    }
}

/// Returns the same with a transport drawn from all with a window, without settings that it does not take. Segments have at
/// least 100 B. Without a window, a round trip's data meet a port of one packet, and are resent for minutes.
fn under_any_transport(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let senders: Vec<_> = TRANSPORTS.iter().filter(|entry| entry.by_senders()).collect();
    let entry = senders[dice.below(senders.len())];
    let before = any_scenario(seed);
    let (head, tail) = before.split_once("[transport]\n").expect("it has a transport");
    let (own, traffic) = tail.split_once("[[traffic]]\n").expect("it has classes");
    let takes = |line: &&str| {
        line.split_once(" = ").is_none_or(|(key, value)| {
            key != "name" && units::Values::read(entry.keys(), &[(key, value.trim_matches('\''))]).is_ok()
        })
    };
    let own: Vec<&str> = own.lines().filter(takes).collect();
    let own = own.join("\n").replace("mss = '1 B'", "mss = '100 B'");
    format!("{head}[transport]\nname = '{}'\n{own}\n[[traffic]]\n{traffic}", entry.name)
}

#[test]
fn any_transport_keeps_every_packet_and_repeats_itself() {
    for seed in 0..60 {
        let text = under_any_transport(seed);
        let outcome = run(&text);
        check(&outcome, &text);
        if seed % 3 == 0 {
            assert!(outcome == run(&text), "differs from itself:\n{text}");
        }
    }
}

/// Returns the same with rates that the network grants.
fn with_granted_rates(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let other = ["ecn", "expired", "margin", "cut_at", "t_c", "name = 'tcp'", "name = 'cubic'"];
    let transport = [
        dice.one(&["name = 'd3'", "name = 'd3'\nquench = true", "name = 'd3'\nlag = 0", "name = 'rcpdc'"]),
        dice.one(&["", "base_rtt = '1 us'", "base_every = '1 s'", "base_rtt = '5 ms'"]),
        dice.one(&["", "base_counts = false"]),
        dice.one(&["", "rate_rounding = 'up'", "rate_rounding = 'nearest'"]),
        dice.one(&["", "router_state = 'counters'", "expiry = '1 us'", "expiry = '10 s'"]),
        dice.one(&["", "control = 'plain'"]),
        dice.one(&["", "adaptation = true", "adaptation = true\nadaptation_floor = 0"]),
    ]
    .join("\n");
    let (before, after) = (any_scenario(seed), |line: &&str| !other.iter().any(|key| line.starts_with(key)));
    let (head, tail) = before.split_once("[transport]\n").expect("it has a transport");
    let tail: Vec<&str> = tail
        .lines()
        .filter(|line| !line.starts_with("name = 'd") && !line.contains("'xdctcp'"))
        .filter(after)
        .collect();
    let beside = dice.one(&["", "transport = 'dctcp'"]);
    // Requests without a byte are repeated each 4 ns, and data of 1 B are a million packets.
    let tail = tail.join("\n").replace("mss = '1 B'", "mss = '100 B'");
    let tail = if head.contains("delay = '1 ns'") { tail.replace("header = '0 B'", "header = '40 B'") } else { tail };
    format!("{head}[transport]\n{transport}\n{tail}\n{beside}\n")
}

#[test]
fn any_scenario_with_granted_rates_keeps_every_packet_and_repeats_itself() {
    for seed in 0..100 {
        let text = with_granted_rates(seed);
        let outcome = run(&text);
        check(&outcome, &text);
        for rates in outcome.links.iter().filter_map(|link| link.rates) {
            let seen = rates.requests;
            assert!(seen.overtaken <= seen.inverted && seen.inverted <= seen.denied && seen.denied <= seen.requests);
            assert!(seen.displaceable <= seen.denied && seen.denied <= seen.refused, "{text}");
            assert!(seen.passed_over <= seen.refused, "{text}");
        }
        if seed % 4 == 0 {
            assert!(outcome == run(&text), "differs from itself:\n{text}");
        }
    }
}

/// Returns bursts into small ports, with and without deadlines, beside other messages; all start in the first 20 ms.
fn small_ports(topology: &str, transport: &str, connections: &str) -> String {
    format!(
        "[run]\nduration = '3 s'\n[network]\n{topology}\nrate = '1 Gbps'\ndelay = '5 us'\n\
         buffer = '30 KB'\nsharing = 'per-port'\nmark = '8 packets'\n[transport]\nname = '{transport}'\n\
         [defaults.traffic]\nconnections = '{connections}'\n\
         [[traffic]]\nname = 'answers'\npattern = 'fan-in'\nleaves = 6\nevery = '3 ms'\ncount = 5\n\
         size = 'uniform(1 KB, 30 KB)'\ndeadline = {{ base = '2 ms', vary = 'uniform(0, 50%)' }}\n\
         [[traffic]]\nname = 'pages'\npattern = 'poisson'\nload = '20%'\ncount = 60\nsize = 'pareto(2 KB, 1.3)'\ndeadline = '1 s'\n\
         [[traffic]]\nname = 'copies'\npattern = 'flows'\nflows = [ {{ from = [0, 1, 2], to = 5, size = '400 KB' }} ]\n"
    )
}

#[test]
fn every_transport_ends_every_message_on_every_topology() {
    let topologies = [
        "topology = 'star'\nhosts = 8",
        "topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '1 Gbps'",
        "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nuplink = '700 Mbps'",
        "topology = 'fat-tree'\nk = 4",
        "topology = 'custom'\nhosts = 8\nswitches = ['left', 'right']\nlinks = [ { from = '0..4', to = 'left' }, \
         { from = '4..8', to = 'right' }, { from = 'left', to = 'right', rate = '1.5 Gbps' } ]",
    ];
    for transport in TRANSPORTS {
        for (number, topology) in topologies.into_iter().enumerate() {
            for connections in ["fresh", "persistent"] {
                let text = small_ports(topology, transport.name, connections);
                let outcome = run(&text);
                check(&outcome, &text);
                let left: Vec<_> = outcome.messages.iter().filter(|message| message.end.is_none()).collect();
                assert!(left.iter().all(|message| message.aborted), "{left:?} of {}\n{text}", outcome.messages.len());
                assert!(outcome.messages.len() > 60, "{}", outcome.messages.len());
                if number == 0 {
                    assert!(outcome == run(&text), "differs from itself:\n{text}");
                }
            }
        }
    }
}

/// The samples of the throughput add up to the goodput of each class, to the byte. This holds for all transports, also
/// if payload is lost, arrives out of order or twice, and if messages share connections.
#[test]
fn samples_of_the_throughput_add_up_to_the_goodput() {
    for transport in TRANSPORTS {
        for connections in ["fresh", "persistent"] {
            let text = small_ports("topology = 'star'\nhosts = 8", transport.name, connections)
                .replace("[network]", "trace = { every = '10 ms', what = ['throughput'] }\n[network]");
            let outcome = run(&text);
            let mut of_class = vec![0.0; outcome.classes.len()];
            for sample in outcome.trace.iter().filter(|sample| sample.at <= outcome.simulated) {
                let sim::outcome::Subject::Message { class, .. } = sample.subject else { continue };
                of_class[class.index()] += sample.value * 1e6 * 10e-3 / 8.0;
            }
            for (class, bytes) in outcome.classes.iter().zip(of_class) {
                let (of_samples, goodput) = (bytes.round() as u64, class.delivered_bytes.0);
                // Nothing arrives any more when the last sample is taken.
                assert_eq!(of_samples, goodput, "{}\n{text}", class.name);
                assert!(goodput > 0);
            }
        }
    }
}

/// A burst that Homa's receiver grants a message at a time: all payload that has arrived counts, in order or not.
#[test]
fn payload_counts_when_it_arrives_and_not_when_it_is_in_order() {
    let text = "profile = 'classic'\n[run]\nduration = '1 ms'\ntrace = { every = '1 ms', what = ['throughput'] }\n\
                [network]\ntopology = 'star'\nhosts = 5\nrate = '10 Gbps'\ndelay = '500 ns'\nbuffer = '8 MB'\n\
                sharing = 'per-port'\n[transport]\nname = 'homa'\nrtt_bytes = '87.5 KB'\n\
                [[traffic]]\nname = 'burst'\npattern = 'periodic'\nfrom = '0..4'\nto = 4\nevery = '1 s'\nsize = '2 MB'\n";
    let outcome = run(text);
    let link = outcome.links.iter().find(|link| link.to == "host 4").unwrap();
    // The link is never idle after the first round trip, and all bytes sent before the last microsecond have arrived.
    let payload = link.bytes.as_f64() * 1460.0 / 1500.0;
    let delivered = outcome.classes[0].delivered_bytes.as_f64();
    assert!((delivered / payload - 1.0).abs() < 0.005 && link.utilisation > 0.98, "{delivered} of {payload}");
}

/// Eight senders, one link of 1 Gbit/s. Endless flows all have at least an eighth of their share, and a transport that
/// needs flows that end has one that has less. Of eight messages that need 26 ms together none blocks another for long.
#[test]
fn under_every_transport_nobody_starves_on_one_link() {
    for (transport, flows_end) in TRANSPORTS.iter().map(|transport| (transport.name, transport.needs.flows_end)) {
        let head = format!(
            "[run]\nduration = '500 ms'\n[network]\ntopology = 'star'\nhosts = 9\nrate = '1 Gbps'\ndelay = '10 us'\n\
             buffer = '150 KB'\nsharing = 'per-port'\nmark = '20 packets'\n[transport]\nname = '{transport}'\n\
             rto_min = '5 ms'\n"
        );
        let from_each = |pattern: &str, rest: &str| -> String {
            let class = |i: usize| {
                format!("[[traffic]]\nname = 'c{i}'\npattern = '{pattern}'\n{}\n", rest.replace('#', &i.to_string()))
            };
            (0..8).map(class).collect()
        };
        let endless = run(&(head.clone() + &from_each("long", "from = #\nto = 8")));
        let had: Vec<u64> = endless.classes.iter().map(|class| class.delivered_bytes.0).collect();
        let all: u64 = had.iter().sum();
        // HPCC leaves 5 % of the link, its records take 3 %, and windows below one packet are short of the rest.
        let enough = if transport == "hpcc" { 45_000_000 } else { 50_000_000 };
        assert!(all > enough, "{transport}: {all} of 62.5 MB");
        let least = had.iter().min().unwrap_or(&0);
        assert_eq!(*least <= all / 64, flows_end, "{transport}: {had:?}");
        let ends =
            run(&(head + &from_each("flows", "flows = [{ from = #, to = 8, size = '400 KB', start = '# us' }]")));
        for message in &ends.messages {
            let end = message.end.unwrap_or_else(|| panic!("{transport}: {message:?}"));
            assert!(end < Instant::from_millis(100), "{transport}: {message:?}");
        }
    }
}

#[test]
fn without_a_threshold_nothing_is_marked_and_d2tcp_without_deadlines_is_dctcp() {
    for seed in 0..60 {
        let text = any_scenario(seed);
        let unmarked: String = text.lines().filter(|line| !line.starts_with("mark")).collect::<Vec<_>>().join("\n");
        if seed < 15 {
            let outcome = run(&unmarked);
            assert!(outcome.counters.marks == 0 && outcome.messages.iter().all(|message| message.marks == 0));
        }
        if text.contains("name = 'dctcp'") {
            let no_deadlines: Vec<&str> = text.lines().filter(|line| !line.starts_with("deadline")).collect();
            let text = no_deadlines.join("\n");
            let mut d2tcp = run(&text.replace("name = 'dctcp'", "name = 'd2tcp'"));
            let dctcp = run(&text);
            // Its observations have more columns; everything else is the same.
            d2tcp.trace.clone_from(&dctcp.trace);
            d2tcp.transport.clone_from(&dctcp.transport);
            d2tcp.classes.iter_mut().zip(&dctcp.classes).for_each(|(one, other)| one.transport = other.transport);
            assert!(d2tcp == dctcp, "{text}");
        }
    }
}

#[test]
fn a_message_alone_takes_its_ideal_time() {
    let topologies = [
        ("topology = 'star'\nhosts = 8\nbottleneck = '1 Gbps'", 7),
        ("topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '700 Mbps'", 7),
        ("topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 3\nuplink = '40 Gbps'", 5),
        ("topology = 'fat-tree'\nk = 4\nuplink = '3 Gbps'", 15),
    ];
    for (topology, to) in topologies {
        for bytes in [1, 1459, 1460, 1461, 2920, 14_601, 1_000_003] {
            let outcome = run(&format!(
                "[run]\nduration = '1 s'\n[network]\n{topology}\nrate = '10 Gbps'\ndelay = '3 us'\nframe_overhead = '38 B'\n\
                 host_jitter = '0 s'\n[transport]\nname = 'tcp'\ninitial_window = 1000\n\
                 [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [ {{ from = 0, to = {to}, size = '{bytes} B' }} ]\n"
            ));
            let message = &outcome.messages[0];
            assert_eq!(message.end.map(Instant::since_start), message.ideal, "{bytes} B over {topology}");
        }
    }
}

/// Ports of a shared buffer defer enqueueing until enough packets are in flight to fill it. With a log of packets they
/// never do. The results are the same for buffers that are never filled, soon filled, or filled by the first packets.
#[test]
fn a_shared_buffer_decides_alike_whenever_it_may_first_be_filled() {
    let topologies = [
        "topology = 'star'\nhosts = 8",
        "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nuplink = '700 Mbps'",
    ];
    let buffers = ["2 packets", "9 packets", "30 KB", "100 packets", "200 KB", "1 MB"];
    let mut dropped = [0; 6];
    // Without headers ACKs have no bytes, and may arrive together with the packet sent before.
    let transports = [
        ("tcp", "fresh", ""),
        ("d2tcp", "persistent", ""),
        ("dctcp", "fresh", "header = '0 B'\nmss = '536 B'"),
        ("pdq", "fresh", ""),
        ("homa", "fresh", ""),
    ];
    for (transport, connections, keys) in transports {
        for topology in topologies {
            for ((number, buffer), alpha) in buffers.into_iter().enumerate().zip([1.0, 0.5, 8.0, 1.0, 0.25, 2.0]) {
                let text = small_ports(topology, transport, connections).replace(
                    "buffer = '30 KB'\nsharing = 'per-port'",
                    &format!("buffer = '{buffer}'\nsharing = 'dynamic'\ndynamic_alpha = {alpha}"),
                );
                let text = text.replace("[defaults.traffic]", &format!("{keys}\n[defaults.traffic]"));
                let deferred = run(&text);
                let mut world = world(&text, None);
                world.log_packets(sim::PacketLog::new(Instant::ZERO, Instant::ZERO, 0));
                while world.advance(1 << 20) {}
                assert!(deferred == world.finish(), "{text}");
                dropped[number] += deferred.counters.drops;
            }
        }
    }
    assert!(dropped[..4].iter().all(|drops| *drops > 0) && dropped[5] == 0, "{dropped:?}");
}

#[test]
fn a_shared_buffer_never_holds_more_than_it_has() {
    for (buffer, alpha) in [("40 packets", 0.5), ("40 packets", 8.0), ("40 packets", 1000.0)] {
        let text = format!(
            "[run]\nduration = '20 ms'\ntrace = {{ every = '7 us', what = ['queue'] }}\n[network]\ntopology = 'star'\n\
             hosts = 12\nrate = '1 Gbps'\ndelay = '5 us'\nbuffer = '{buffer}'\ndynamic_alpha = {alpha}\n\
             [transport]\nname = 'tcp'\n[[traffic]]\nname = 'a'\npattern = 'long'\nfrom = '0..9'\n\
             to = [9, 9, 9, 10, 10, 10, 11, 11, 11]\n"
        );
        let outcome = run(&text);
        let mut most = 0.0;
        for samples in outcome.trace.chunk_by(|one, other| one.at == other.at) {
            let held: f64 = samples.iter().map(|sample| sample.value).sum();
            assert!(held <= 40.0, "{held} packets at {}", samples[0].at);
            most = held.max(most);
        }
        assert!(outcome.counters.drops > 0 && most > 15.0, "{most} of {buffer}");
        if alpha < 1.0 {
            // One queue alone holds no more than alpha / (1 + alpha) of it.
            let mut of_switch = outcome.links.iter().filter(|link| link.from.starts_with("switch"));
            assert!(of_switch.all(|link| link.queue.max <= 14), "alpha {alpha}");
        }
    }
}

#[test]
fn forty_windows_on_the_floor_fill_the_queue_that_the_link_does_not() {
    // W1: 40 x 2 segments, less the ones in flight: RTT 80 us + two transmissions and the ACK's.
    let outcome = run(
        "[run]\nduration = '1 s'\nwarm_up = '200 ms'\n[network]\ntopology = 'star'\nhosts = 41\nrate = '1 Gbps'\n\
         delay = '20 us'\nbuffer = '1000 packets'\nsharing = 'per-port'\nmark = '20 packets'\n[transport]\nname = 'dctcp'\n\
         [[traffic]]\nname = 'long'\npattern = 'long'\nfrom = '0..40'\nto = 40\nstart = 'index * 10 us'\n",
    );
    assert_eq!(outcome.counters.drops, 0);
    let goodput = outcome.classes[0].delivered_bytes.as_f64() * 8.0 / 0.8 / 1e9;
    assert!((goodput / (1460.0 / 1500.0) - 1.0).abs() < 0.02, "{goodput} Gbps");
    let port = outcome.links.iter().find(|link| link.to == "host 40").unwrap();
    let bdp = (80.0 + 24.0 + 0.64) / 12.0;
    assert!((port.queue.mean - (80.0 - bdp)).abs() < 3.0, "{} packets", port.queue.mean);
}

#[test]
fn eight_flows_swing_around_the_threshold() {
    // W2 and the DCTCP paper's section 3.3.
    let outcome = run(
        "[run]\nduration = '300 ms'\nwarm_up = '100 ms'\n[network]\ntopology = 'star'\nhosts = 9\nrate = '10 Gbps'\n\
         delay = '25 us'\nbuffer = '250 packets'\nsharing = 'per-port'\nmark = '65 packets'\n[transport]\nname = 'dctcp'\n\
         [[traffic]]\nname = 'long'\npattern = 'long'\nfrom = '0..8'\nto = 8\nstart = 'index * 10 us'\n",
    );
    let queue = outcome.links.iter().find(|link| link.to == "host 8").unwrap().queue;
    assert_eq!(outcome.counters.drops, 0);
    assert!(queue.p99 <= 65 + 8 + 1 && queue.p5 >= 45 && (55.0..=65.0).contains(&queue.mean), "{queue:?}");
}

#[test]
fn extremes_are_simulated_too() {
    let base = |run: &str, network: &str, transport: &str, traffic: &str| {
        let text = format!(
            "[run]\nwait_for = 'deadlines'\n{run}\n[network]\ntopology = 'star'\n{network}\n[transport]\n{transport}\n{traffic}\n"
        );
        let outcome = run_bounded(&text);
        check(&outcome, &text);
        outcome
    };
    let flow = |size: &str, more: &str| {
        format!("[[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [ {{ from = 0, to = 1, size = '{size}'{more} }} ]")
    };
    let slow = "hosts = 2\nrate = '10 Kbps'\ndelay = '1 s'";
    // A window that takes years to send.
    base("duration = '1 s'", slow, "name = 'tcp'\ninitial_window = 1e6\nmss = '60000 B'", &flow("1000000 GB", ""));
    base(
        "duration = '2592000 s'",
        slow,
        "name = 'tcp'",
        "[[traffic]]\nname = 'a'\npattern = 'poisson'\nload = '1%'\nsize = '1 B'\nstart = '2583360 s'",
    );
    let outcome = base(
        "duration = '60 s'\nwarm_up = '59.999 s'",
        slow,
        "name = 'd2tcp'\nmargin = '10 s'",
        &flow("100 B", ", deadline = '0.001 ns'"),
    );
    assert!(outcome.messages[0].end.is_some());
    let outcome = base(
        "duration = '10 s'",
        "hosts = 131072\nrate = '100 Gbps'\ndelay = '1 us'",
        "name = 'cubic'\nmss = '1 B'",
        &flow("1 B", ""),
    );
    assert!(outcome.messages[0].end.is_some());
    base(
        "duration = '2592000 s'",
        "hosts = 2\nrate = '400 Gbps'\ndelay = '1 us'",
        "name = 'tcp'\nrto_min = '2592000 s'\nrto_initial = '2592000 s'\nrto_max = '2592000 s'\nack_delay = '2592000 s'\nack_every = 64",
        &flow("10 KB", ""),
    );
}

#[test]
fn the_queues_of_switches_without_limits_are_reported_too() {
    let outcome = run("[run]\nduration = '10 ms'\n[network]\ntopology = 'racks'\nracks = 3\nhosts_per_rack = 4\n\
         rate = '1 Gbps'\nuplink = '1 Gbps'\ndelay = '20 us'\n[transport]\nname = 'tcp'\nwindow_limit = '30 packets'\n\
         [[traffic]]\nname = 'a'\npattern = 'long'\nfrom = [0, 4]\nto = [8, 9]\n");
    let link = outcome.links.iter().find(|link| link.from == "fabric" && link.to == "tor 2").unwrap();
    assert!(link.queue.p50 > 10, "{:?}", link.queue);
}

/// As [`run`], for runs whose traffic outlasts a test.
fn run_bounded(text: &str) -> Outcome {
    let mut world = world(text, None);
    world.advance(50_000);
    world.finish()
}

#[test]
fn every_message_arrives_in_the_end() {
    for seed in 0..80 {
        let mut dice = Dice(seed);
        let name = TRANSPORTS[dice.below(TRANSPORTS.len())].name;
        let recovery = dice.one(&["", "recovery = 'newreno'", "recovery = 'newreno'\nlimited_transmit = false"]);
        let keys = [
            // With go-back-n and a first window at the link's rate, senders repeat themselves for ever in so small buffers.
            Some(recovery).filter(|_| name != "dcqcn").unwrap_or("recovery = 'sack'"),
            // A held-back ACK is a queue to Swift, whose window then falls to a packet in a thousand round trips.
            Some(dice.one(&["", "ack_every = 2", "ack_every = 64"])).filter(|_| name != "swift").unwrap_or_default(),
            dice.one(&["", "handshake = true", "window_limit = '700 B'", "window_limit = '5 packets'"]),
            dice.one(&["initial_window = 1", "", "initial_window = 100\ncwnd_floor = 1"]),
            dice.one(&["", "dup_ack_threshold = 1", "rto_min = '1 us'", "mss = '100 B'"]),
        ];
        let (buffer, mark) = (dice.one(&["2 packets", "10 packets"]), dice.one(&["1 packets", "100 packets"]));
        let connections = dice.one(&["fresh", "persistent"]);
        let text = format!(
            "[run]\nduration = '200 s'\nseed = {seed}\n[network]\ntopology = 'star'\nhosts = 9\nrate = '1 Gbps'\n\
             delay = '20 us'\nsharing = 'per-port'\nbuffer = '{buffer}'\nmark = '{mark}'\n[transport]\nname = '{name}'\n{}\n\
             [[traffic]]\nname = 'a'\npattern = 'fan-in'\nleaves = 8\nevery = '100 us'\ncount = 4\nsize = 'uniform(1 B, 60 KB)'\n\
             connections = '{connections}'\ndeadline = '5 ms'\n",
            keys.join("\n")
        );
        let outcome = run(&text);
        check(&outcome, &text);
        assert_eq!(outcome.counters.packets_in_flight, 0, "{text}");
        let ended = |message: &sim::outcome::Message| message.end.is_some() || message.aborted;
        assert!(outcome.messages.len() == 32 && outcome.messages.iter().all(ended), "{text}");
    }
}

#[test]
fn what_is_given_up_on_a_connection_that_stays_open_is_that_message_alone() {
    // The first of each pair of messages cannot be in time, and the port drops packets; the second can.
    let outcome =
        run("[run]\nduration = '3 s'\n[network]\ntopology = 'star'\nhosts = 9\nrate = '1 Gbps'\ndelay = '20 us'\n\
         sharing = 'per-port'\nbuffer = '20 packets'\n[transport]\nname = 'd2tcp'\nexpired = 'abort'\n\
         [[traffic]]\nname = 'late'\npattern = 'periodic'\nfrom = '0..8'\nto = 8\nevery = '100 ms'\nsize = '100 KB'\n\
         deadline = '1 ms'\nconnections = 'persistent'\ncount = 10\n\
         [[traffic]]\nname = 'lazy'\npattern = 'periodic'\nfrom = '0..8'\nto = 8\nevery = '100 ms'\nsize = '50 KB'\n\
         connections = 'persistent'\ncount = 10\n");
    let of = |class| outcome.messages.iter().filter(move |message| message.class == ClassId(class));
    assert!(of(0).all(|message| message.aborted != message.end.is_some()));
    assert!(of(0).filter(|message| message.aborted).count() > 40);
    assert!(of(1).all(|message| message.end.is_some() && !message.aborted));
    // Messages queued behind one another until it is too late are aborted one after the other.
    let outcome =
        run("[run]\nduration = '1 s'\n[network]\ntopology = 'star'\nhosts = 2\nrate = '1 Gbps'\ndelay = '20 us'\n\
         [transport]\nname = 'd2tcp'\nexpired = 'abort'\nwindow_limit = '20 packets'\n\
         [[traffic]]\nname = 'a'\npattern = 'periodic'\nfrom = 0\nto = 1\nevery = '300 us'\nsize = '100 KB'\n\
         deadline = '1 ms'\nconnections = 'persistent'\ncount = 100\n\
         [[traffic]]\nname = 'last'\npattern = 'flows'\nconnections = 'persistent'\n\
         flows = [ { from = 0, to = 1, size = '10 KB', start = '100 ms', deadline = '1 ms' } ]\n");
    assert!(outcome.messages.iter().all(|message| message.aborted != message.end.is_some()));
    assert!(outcome.messages.iter().any(|message| message.aborted));
    assert!(outcome.messages.last().is_some_and(|message| message.end.is_some()), "the stream is where it should be");
}

#[test]
fn the_deadline_factor_scales_every_deadline_and_nothing_else() {
    let outcome = |factor: f64| {
        run(&format!(
            "[run]\nduration = '50 ms'\ndeadline_factor = {factor}\n[network]\ntopology = 'star'\nhosts = 8\nrate = '1 Gbps'\n\
             delay = '5 us'\nmark = '20 packets'\n[transport]\nname = 'dctcp'\n\
             [[traffic]]\nname = 'a'\npattern = 'fan-in'\nleaves = 5\nevery = 'exponential(2 ms)'\nsize = '10 KB'\n\
             deadline = {{ base = '1 ms', vary = 'uniform(0, 50%)' }}\n\
             [[traffic]]\nname = 'b'\npattern = 'poisson'\nload = '5%'\nsize = '5 KB'\n\
             deadline = {{ base = 'lognormal(2 ms, 0.5)', vary = 'exponential(1 ms)' }}\n\
             [[traffic]]\nname = 'c'\npattern = 'flows'\n\
             flows = [{{ from = 0, to = 1, size = '1 MB', deadline = '9 ms' }}]\n",
        ))
    };
    let (written, tighter) = (outcome(1.0), outcome(0.7));
    assert!(written.messages.len() > 150 && written.messages.len() == tighter.messages.len());
    for (a, b) in written.messages.iter().zip(&tighter.messages) {
        let (long, short) = (a.deadline.unwrap().0 as f64, b.deadline.unwrap().0 as f64);
        assert!((short - 0.7 * long).abs() <= 2.0, "{short} of {long}");
        // DCTCP does not look at deadlines.
        assert_eq!((a.class, a.start, a.bytes, a.end), (b.class, b.start, b.bytes, b.end));
    }
}

/// Returns the results of a run, without counts that only depend on the engine.
fn physics(mut outcome: Outcome) -> Outcome {
    outcome.counters.events = 0;
    outcome.before_warm_up.events = 0;
    for link in &mut outcome.links {
        // FIFO ports count queued packets as sent already, and subtract them by their transmission times, which are
        // known to a ps for each.
        (link.packets, link.bytes) = (0, Bytes::ZERO);
        link.utilisation = (link.utilisation * 1e3).round();
    }
    outcome
}

#[test]
fn with_one_class_strict_priorities_are_first_in_first_out() {
    for seed in 0..100 {
        let text = any_scenario(seed);
        let priority = text.replace("[network]\n", "[network]\ndiscipline = 'priority'\n");
        assert_ne!(text, priority);
        let (fifo, priority) = (physics(run(&text)), physics(run(&priority)));
        assert!(fifo == priority, "{text}");
    }
}

#[test]
fn any_scenario_with_priorities_keeps_every_packet_and_repeats_itself() {
    let mut pushed = 0;
    for seed in 0..60 {
        let text = any_scenario(seed)
            .replace("name = 'tcp'", "name = 'tcppr'\nclasses = 3")
            .replace("name = 'a'\n", "name = 'a'\npriority = 1\n")
            .replace("[network]\n", if seed % 2 == 0 { "[network]\n" } else { "[network]\nuntagged = 'highest'\n" });
        let outcome = run(&text);
        check(&outcome, &text);
        let pushing = text.replace("[network]\n", "[network]\nwhen_full = 'push-out'\n");
        let other = run(&pushing);
        check(&other, &pushing);
        pushed += u64::from(outcome != other);
        if seed % 4 == 0 {
            assert!(outcome == run(&text) && other == run(&pushing), "differs from itself:\n{text}");
        }
    }
    assert!(pushed > 10, "pushing out made a difference in {pushed} runs");
}

/// 40 messages of 20 KB into one port of 1 Gbps at the same time, with these keys of the network.
fn burst(network: &str, transport: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '200 ms'\n[network]\ntopology = 'star'\nhosts = 41\nrate = '1 Gbps'\ndelay = '20 us'\n\
         sharing = 'per-port'\nhost_jitter = '0 s'\n{network}\n[transport]\n{transport}\n\
         [[traffic]]\nname = 'tight'\npattern = 'flows'\nflows = [{{ from = '0..20', to = 40, size = '20 KB', deadline = '5 ms' }}]\n\
         [[traffic]]\nname = 'lax'\npattern = 'flows'\nflows = [{{ from = '20..40', to = 40, size = '20 KB', deadline = '50 ms' }}]\n"
    ))
}

fn missed(outcome: &Outcome, class: u32) -> usize {
    let late = |message: &&sim::outcome::Message| {
        message.class == ClassId(class) && message.end.is_none_or(|end| end - message.start > message.deadline.unwrap())
    };
    outcome.messages.iter().filter(late).count()
}

#[test]
fn tight_messages_pass_lax_ones_when_switches_have_priorities() {
    // 20 messages of 20 KB take 3.3 ms at 1 Gbps, 40 take 6.6 ms: messages with 5 ms make it if they are sent first.
    let fifo = burst("buffer = '1000 packets'", "name = 'tcp'");
    let priority = burst("buffer = '1000 packets'", "name = 'tcppr'");
    assert!(missed(&fifo, 0) > 10, "{}", missed(&fifo, 0));
    assert_eq!((missed(&priority, 0), missed(&priority, 1)), (0, 0));
    // The total time is unchanged: the last byte arrives when it did before.
    let last = |outcome: &Outcome| outcome.messages.iter().filter_map(|message| message.end).max().unwrap();
    assert_eq!(last(&fifo), last(&priority));
    let explicit = burst("buffer = '1000 packets'\ndiscipline = 'fifo'", "name = 'tcppr'");
    assert_eq!(missed(&explicit, 0), missed(&fifo, 0), "switches without priorities do not know them");
}

#[test]
fn the_classes_are_equal_shares_of_the_deadlines_or_those_of_the_limits() {
    let (equal, given) = ("name = 'tcppr'", "name = 'tcppr'\nlimits = ['27.5 ms']");
    assert_eq!(burst("", equal).messages, burst("", given).messages);
    // 50 ms and 5 ms in one priority: as without priorities.
    let one = burst("buffer = '1000 packets'", "name = 'tcppr'\nlimits = ['50 ms']");
    assert_eq!(missed(&one, 0), missed(&burst("buffer = '1000 packets'", "name = 'tcp'"), 0));
}

#[test]
fn a_full_port_keeps_the_tight_ones_where_others_are_pushed_out() {
    // 60 packets of room for 40 windows of 10.
    let dropping = burst("buffer = '60 packets'", "name = 'tcppr'");
    let pushing = burst("buffer = '60 packets'\nwhen_full = 'push-out'", "name = 'tcppr'");
    let lost = |outcome: &Outcome, class: u32| -> u32 {
        outcome
            .messages
            .iter()
            .filter(|message| message.class == ClassId(class))
            .map(|message| message.retransmits)
            .sum()
    };
    assert!(lost(&pushing, 0) < lost(&dropping, 0), "{} < {}", lost(&pushing, 0), lost(&dropping, 0));
    assert!(lost(&pushing, 1) > lost(&dropping, 1));
    assert!(missed(&pushing, 0) < missed(&dropping, 0));
}

#[test]
fn a_custom_network_is_the_built_in_one_when_it_lists_the_same() {
    let custom = "topology = 'custom'\nhosts = 8\nswitches = ['leaf 0', 'leaf 1', 'spine 0', 'spine 1', 'spine 2']\n\
         links = [ { from = '0..4', to = 'leaf 0' }, { from = 'leaf 1', to = '4..8' },\n\
         { from = 'leaf 0', to = 'spine 0', rate = '700 Mbps' }, { from = 'leaf 0', to = 'spine 1', rate = '700 Mbps' },\n\
         { from = 'leaf 0', to = 'spine 2', rate = '700 Mbps' }, { from = 'leaf 1', to = 'spine 0', rate = '700 Mbps' },\n\
         { from = 'leaf 1', to = 'spine 1', rate = '700 Mbps' }, { from = 'leaf 1', to = 'spine 2', rate = '700 Mbps' } ]";
    let built_in = "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 3\nuplink = '700 Mbps'";
    let texts: Vec<String> = (0..150).map(any_scenario).filter(|text| text.contains(built_in)).collect();
    assert!(texts.len() > 10);
    for text in texts {
        let (built_in, mut custom) = (run(&text), run(&text.replace(built_in, custom)));
        custom.graph.rack_of.clone_from(&built_in.graph.rack_of);
        assert!(built_in == custom, "{text}");
    }
}

#[test]
fn links_of_a_custom_network_have_their_own_buffers_and_thresholds() {
    let outcome = |link: &str| {
        run(&format!(
            "[run]\nduration = '50 ms'\n[network]\ntopology = 'custom'\nhosts = 9\nrate = '1 Gbps'\ndelay = '5 us'\n\
             buffer = '4 MB'\nmark = '30 packets'\nswitches = ['s']\n\
             links = [ {{ from = '0..8', to = 's' }}, {{ from = 's', to = 8{link} }} ]\n[transport]\nname = 'dctcp'\n\
             [[traffic]]\nname = 'a'\npattern = 'long'\nfrom = '0..8'\nto = 8\n"
        ))
    };
    let queue = |outcome: &Outcome| outcome.links.iter().find(|link| link.to == "host 8").unwrap().queue;
    let (plain, small) = (outcome(""), outcome(", buffer = '40 packets', mark = '5 packets'"));
    // Eight windows of ten in the first round trip; later eight floors of two above the threshold at most.
    assert_eq!(plain.counters.drops, 0);
    assert!(queue(&plain).max > 50 && queue(&plain).p50 >= 25, "{:?}", queue(&plain));
    assert!(small.counters.drops > 0 && queue(&small).max == 40 && queue(&small).p50 <= 21, "{:?}", queue(&small));
    let slow = outcome(", rate = '100 Mbps', delay = '1 ms'");
    assert!(slow.messages.len() == 8 && slow.classes[0].delivered_bytes * 8 < Bytes(5_000_000));
}

#[test]
fn oversubscription_is_the_hosts_rate_over_that_of_the_uplinks() {
    let uplink = |topology: &str, from: &str| {
        let outcome = run(&format!(
            "[run]\nduration = '1 us'\n[network]\n{topology}\nrate = '10 Gbps'\ndelay = '1 us'\n[transport]\nname = 'tcp'\n\
             [[traffic]]\nname = 'a'\npattern = 'long'\nfrom = 0\nto = 1\n"
        ));
        outcome.links.iter().find(|link| link.from == from && !link.to.starts_with("host")).unwrap().rate_bps
            / 1_000_000
    };
    assert_eq!(uplink("topology = 'racks'\nracks = 2\nhosts_per_rack = 40\noversubscription = 4", "tor 0"), 100_000);
    let leaf_spine = "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 12\nspines = 3\noversubscription = 2.5";
    assert_eq!(uplink(leaf_spine, "leaf 1"), 16_000);
    assert_eq!(uplink("topology = 'fat-tree'\nk = 4\noversubscription = 4", "edge 0"), 2_500);
    assert_eq!(uplink("topology = 'fat-tree'\nk = 4", "aggregation 0"), 10_000);
    let core = "topology = 'fat-tree'\nk = 4\nuplink = '20 Gbps'\ncore = '40 Gbps'";
    assert_eq!(
        [uplink(core, "edge 0"), uplink(core, "aggregation 0"), uplink(core, "core 0")],
        // The first link of an aggregation switch is down, to an edge switch.
        [20_000, 20_000, 40_000]
    );
}

#[test]
fn every_signal_that_a_transport_declares_appears_in_its_trace() {
    for transport in TRANSPORTS {
        let mut wanted: Vec<&str> = transport.signals().map(|signal| signal.name).collect();
        wanted.extend(["throughput", "queue"]);
        // Three to one, with a queue too short for their first windows: losses set values that are absent before.
        // Answers with deadlines beside them set the values that only deadlines cause.
        let text = format!(
            "title = 'Signals'\n[run]\nduration = '60 ms'\ntrace = {{ every = '1 ms', what = {wanted:?} }}\n\
             [network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '10 us'\nbuffer = '15 packets'\n\
             sharing = 'per-port'\n[transport]\nname = '{}'\n[[traffic]]\nname = 'copies'\npattern = 'long'\nfrom = '0..3'\nto = 3\n\
             [[traffic]]\nname = 'answers'\npattern = 'fan-in'\nleaves = 3\nevery = '20 ms'\nsize = '200 KB'\n\
             deadline = '15 ms'\n",
            transport.name
        );
        let outcome = run(&text);
        for name in wanted {
            let mut samples = outcome.trace.iter().filter(|sample| sample.what == name).peekable();
            assert!(samples.peek().is_some(), "{}: no {name}", transport.name);
            assert!(samples.all(|sample| sample.value.is_finite()), "{}: {name}", transport.name);
        }
    }
}

#[test]
fn what_is_counted_before_the_warm_up_ends_is_what_a_run_of_that_length_counts() {
    let text = |run: &str| {
        format!(
            "title = 'Warm-up'\n[run]\n{run}\n[network]\ntopology = 'star'\nhosts = 9\nrate = '1 Gbps'\n\
             delay = '10 us'\nbuffer = '20 packets'\nsharing = 'per-port'\nmark = '5 packets'\n\
             [transport]\nname = 'dctcp'\n[[traffic]]\nname = 'answers'\npattern = 'fan-in'\nleaves = 8\n\
             every = '4 ms'\nsize = '30 KB'\n"
        )
    };
    let whole = self::run(&text("duration = '60 ms'\nwarm_up = '30.1 ms'"));
    let part = self::run(&text("duration = '30.1 ms'"));
    let counted =
        |counters: &sim::outcome::Counters| (counters.drops, counters.marks, counters.timeouts, counters.retransmits);
    assert_eq!(counted(&whole.before_warm_up), counted(&part.counters));
    let (before, after) = (counted(&whole.before_warm_up), counted(&whole.counters));
    assert!(0 < before.0 && before.0 < after.0 && 0 < before.2 && before.2 < after.2, "{before:?} {after:?}");
    assert_eq!(counted(&part.before_warm_up), (0, 0, 0, 0));
}

#[test]
fn trees_of_several_levels_answer_from_the_leaves_up() {
    let text = |more: &str| {
        format!(
            "[run]\nduration = '1 s'\nseed = 5\n[network]\ntopology = 'star'\nhosts = 30\nrate = '1 Gbps'\ndelay = '20 us'\n\
             [transport]\nname = 'dctcp'\n[[traffic]]\nname = 'a'\npattern = 'fan-in'\nlevels = 3\nbranches = 2\nleaves = 4\n\
             every = '20 ms'\ncount = 20\nsize = '10 KB'\naggregation = '100 us'\n{more}\n"
        )
    };
    let outcome = run(&text("answer = '30 KB'"));
    check(&outcome, "three levels");
    assert!(outcome.queries.len() == 20 && outcome.messages.len() == 20 * (16 + 4 + 2));
    for query in &outcome.queries {
        assert_eq!((query.parent, query.answers, query.children), (HostId(29), 16, 2));
        let own: Vec<_> = outcome.messages.iter().filter(|message| message.query == Some(query.number)).collect();
        let level = |level| own.iter().filter(move |message| message.place.unwrap().level == level);
        let ends = |of: u8, to: HostId| level(of).filter(move |message| message.to == to).map(|m| m.end.unwrap()).max();
        for parent in level(0).chain(level(1)) {
            let place = parent.place.unwrap();
            // It answers 100 us after the last of its children, for all leaves below it.
            assert_eq!(Some(parent.start), ends(place.level + 1, parent.from).map(|end| end + Span::from_micros(100)));
            assert_eq!((place.answers, parent.bytes), (if place.level == 0 { 8 } else { 4 }, Some(Bytes(30_000))));
        }
        assert!(
            level(0).all(|message| message.to == HostId(29))
                && level(2).all(|message| message.bytes == Some(Bytes(10_000)))
        );
    }
    // 10 KB from each of four leaves takes 0.33 ms: with 0.2 ms for their level, parents answer before all have
    // arrived.
    let hurried = run(&text("deadline = '10 ms'\nsplit = ['2%', '49%', '49%']"));
    check(&hurried, "a tight lowest level");
    for message in &hurried.messages {
        let (place, asked) = (message.place.unwrap(), hurried.queries[message.query.unwrap() as usize].start);
        let after = message.start - asked;
        match place.level {
            2 => assert_eq!((after, message.deadline), (Span::ZERO, Some(Span::from_micros(200)))),
            1 => {
                let of_leaf = |leaf: &&sim::outcome::Message| leaf.query == message.query && leaf.to == message.from;
                let mut ends: Vec<Instant> = hurried.messages.iter().filter(of_leaf).map(|m| m.end.unwrap()).collect();
                ends.sort_unstable();
                let in_time = ends.iter().filter(|end| **end <= asked + Span::from_micros(200)).count() as u32;
                // Without any it waits for the first.
                let closes = ends[0].max(asked + Span::from_micros(200));
                assert_eq!(message.start, closes + Span::from_micros(100));
                assert_eq!(message.start + message.deadline.unwrap(), asked + Span::from_micros(5100));
                let received = in_time.max(1);
                assert_eq!(
                    (place.answers, message.bytes),
                    (received, Some(Bytes(10_000 * u64::from(received.min(3)))))
                );
                assert!(in_time < 4);
            }
            _ => assert_eq!(after + message.deadline.unwrap(), Span::from_millis(10)),
        }
    }
}

/// Late times and large sizes: an hour at 400 Gbps, and a terabyte. A picosecond is still a picosecond there, as time
/// is an integer; sums of bytes and times stay within 64 bits.
#[test]
fn an_hour_at_400_gbps_is_as_exact_as_its_first_microsecond() {
    let outcome = run("run = { duration = '3601 s' }\ntransport = { name = 'tcp', initial_window = 3 }\n\
         network = { topology = 'star', hosts = 2, rate = '400 Gbps', delay = '1 us', host_jitter = '0 s' }\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\
         { from = 0, to = 1, size = '1460 B' }, { from = 0, to = 1, size = '1460 B', start = '3600 s' },\
         { from = 1, to = 0, size = '4380 B', start = '3600.5 s' }]");
    check(&outcome, "an hour");
    // 1500 B take 30 ns on each of two links, and propagation takes a microsecond.
    let fct: Vec<Span> = outcome.messages.iter().map(|m| m.end.expect("it has arrived") - m.start).collect();
    assert_eq!(fct, [2_060, 2_060, 2_120].map(Span::from_nanos));
    let busy: f64 = outcome.links.iter().map(|link| link.utilisation).sum();
    // 5 data packets and their ACKs (40 B, 0.8 ns), each over two links, in 3601 s.
    let sent = outcome.links.iter().map(|link| link.bytes.0).sum::<u64>() as f64 * 8.0 / 400e9 / 3601.0;
    assert!((busy / sent - 1.0).abs() < 1e-9, "{busy} for {sent}");
}

/// A message of 10^12 bytes at 400 Gbps: 684 931 507 segments, of which a few are sent in this run.
#[test]
fn a_terabyte_has_its_ideal_time_and_no_more_is_sent_than_the_window_allows() {
    for (bytes, size) in [(1_000_000_000_000_u64, "1e12 B"), (1_000_000_000_000_000, "1e15 B")] {
        let outcome = run(&format!(
            "run = {{ duration = '1 ms', cool_down = '0 s' }}\n\
             transport = {{ name = 'tcp', window_limit = '2 packets' }}\n\
             network = {{ topology = 'star', hosts = 2, rate = '400 Gbps', delay = '10 us', host_jitter = '0 s' }}\n\
             [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{{ from = 0, to = 1, size = '{size}', deadline = '20 s' }}]"
        ));
        check(&outcome, size);
        let message = outcome.messages[0];
        assert_eq!((message.bytes, message.end), (Some(Bytes(bytes)), None));
        // Every segment at the rate of a link (30 ns, the last one's size by the byte at 20 ps), once more over the
        // second link, and the propagation.
        let (segments, last) = (bytes.div_ceil(1460), (bytes - 1) % 1460 + 1 + 40);
        let paced = segments * 30_000 + last * 20 + 20_000_000;
        assert_eq!(message.ideal, Some(Span(paced)), "{size}");
        // A window of two each 40.1 us.
        let delivered = outcome.classes[0].delivered_bytes;
        assert!((48 * 1460..=52 * 1460).contains(&delivered.0), "{delivered}");
    }
}

/// A caller writes rows, and sees an interrupt, between slices of events. Messages that start together count as an event
/// each, so that a slice may have more events than it was asked for.
#[test]
fn a_run_is_cut_into_slices_of_events() {
    for sharing in ["per-port", "dynamic"] {
        let mut world = common::world(&format!(
            "run = {{ duration = '20 ms' }}\ntransport = 'dctcp'\nnetwork = {{ topology = 'star', hosts = 41, \
             rate = '1 Gbps', delay = '20 us', buffer = '100 KB', sharing = '{sharing}' }}\n[[traffic]]\nname = 'a'\n\
             pattern = 'fan-in'\nparents = 1\nleaves = 40\nevery = '2 ms'\nsize = '3 KB'"
        ));
        let mut slices = 1;
        while world.advance(50) {
            slices += 1;
        }
        let events = world.finish().counters.events;
        assert!(events > 2_000 && slices > events / 200, "{sharing}: {slices} slices of {events} events");
    }
}
