//! No run of the simulator misses fewer deadlines than the bound says, whatever its transport.

use bound::{Bound, Bounds, Gap, Messages, Side};
use sim::outcome::{Message, Outcome};
use sim::{Scenario, World};
use units::Span;

fn read(text: &str, transport: &str) -> Scenario {
    let source = scenario::Source { name: "test", text, folder: None };
    let options = scenario::Options {
        set: vec!["profile=classic".into()],
        transport: Some(transport.into()),
        ..scenario::Options::default()
    };
    scenario::read(&source, &options).unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

fn run(text: &str, transport: &str) -> Outcome {
    let mut world = World::new(read(text, transport));
    while world.advance(1 << 20) {}
    world.finish()
}

/// Returns whether a message missed its deadline by the definition of the results: too late, aborted, or unfinished at
/// its deadline.
fn missed(outcome: &Outcome, message: &Message) -> bool {
    let Some(deadline) = message.deadline else { return false };
    let due = message.start + deadline;
    outcome.counts(message.start)
        && match message.end {
            Some(end) => end > due,
            None => message.aborted || due <= outcome.ended,
        }
}

fn misses(outcome: &Outcome, class: Option<usize>) -> u64 {
    let of_class = outcome.messages.iter().filter(|message| class.is_none_or(|class| message.class.index() == class));
    of_class.filter(|message| missed(outcome, message)).count() as u64
}

/// Runs a scenario under every transport, and returns the bound and the fewest misses of any transport.
fn under_every_transport(text: &str) -> (Bounds, u64) {
    under(text, transport::registry::TRANSPORTS.iter().map(|transport| transport.name))
}

/// As [`under_every_transport`], for some.
fn under(text: &str, transports: impl Iterator<Item = &'static str>) -> (Bounds, u64) {
    let mut fewest = u64::MAX;
    let mut bounds: Option<Bounds> = None;
    for transport in transports {
        let outcome = run(text, transport);
        let found = bound::of_outcome(&outcome);
        assert_eq!(found, bound::of_scenario(&read(text, transport)), "before and after the run\n{text}");
        if let Some(all) = found.all {
            let of_run = misses(&outcome, None);
            assert!(all.missed <= of_run, "{transport} missed {of_run}, and the bound is {all:?}\n{text}");
            fewest = fewest.min(of_run);
        }
        for (class, of_class) in found.classes.iter().enumerate() {
            let of_run = misses(&outcome, Some(class));
            assert!(of_class.is_none_or(|class| class.missed <= of_run), "{transport}\n{text}");
        }
        let before = bounds.get_or_insert(found.clone());
        assert_eq!(*before, found, "the same traffic\n{text}");
    }
    (bounds.expect("there are transports"), fewest)
}

/// Returns the bounds with at most `each` messages in memory at a time, added in reverse order; neither may change the
/// result.
fn in_a_file(outcome: &Outcome, each: usize) -> Bounds {
    let mut aside = aside::Aside::new(tempfile::tempfile().unwrap());
    let mut messages = Messages::new(outcome.classes.len());
    for (number, message) in outcome.messages.iter().rev().filter(|message| outcome.counts(message.start)).enumerate() {
        messages.add(message);
        if number % each == each - 1 {
            messages.put(&mut aside).unwrap();
            assert_eq!(messages.held(), 0);
        }
    }
    messages.bounds(outcome, Some(&mut aside)).unwrap()
}

/// A linear congruential generator that draws parts of scenarios.
struct Dice(u64);

impl Dice {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        of[(self.0 >> 33) as usize % of.len()]
    }

    fn below(&mut self, n: usize) -> usize {
        self.one(&[""]);
        (self.0 >> 33) as usize % n
    }
}

/// Returns a small scenario in which deadlines are hard to meet.
fn any_scenario(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let topology = dice.one(TOPOLOGIES);
    on_topology(seed, dice, topology)
}

/// Returns eight hosts, most of which have several links, to three switches and to each other.
fn any_hosts_with_several_links(dice: &mut Dice) -> String {
    let nodes = ["0", "1", "2", "3", "4", "5", "6", "7", "'a'", "'b'", "'c'"];
    // Each node is joined with one before, then some with others.
    let mut pairs: Vec<(usize, usize)> = (1..nodes.len()).map(|node| (dice.below(node), node)).collect();
    for _ in 0..dice.below(10) {
        let (a, b) = (dice.below(nodes.len()), dice.below(nodes.len()));
        if a != b && !pairs.iter().any(|pair| *pair == (a, b) || *pair == (b, a)) {
            pairs.push((a, b));
        }
    }
    let mut link = |(a, b): (usize, usize)| {
        let rate = dice.one(&["", "", ", rate = '300 Mbps'", ", rate = '3 Gbps'", ", delay = '3 us'"]);
        format!("{{ from = {}, to = {}{rate} }}", nodes[a], nodes[b])
    };
    let links: Vec<String> = pairs.into_iter().map(&mut link).collect();
    format!("topology = 'custom'\nhosts = 8\nswitches = ['a', 'b', 'c']\nlinks = [{}]", links.join(", "))
}

const TOPOLOGIES: &[&str] = &[
    "topology = 'star'\nhosts = 8",
    "topology = 'star'\nhosts = 8\nbottleneck = '300 Mbps'",
    "topology = 'star'\nhosts = 8\nbottleneck = '11 Gbps'",
    "topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '700 Mbps'",
    "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 3\nuplink = '2 Gbps'",
    "topology = 'fat-tree'\nk = 4",
];

/// Returns such a scenario on a topology with at least eight hosts.
fn on_topology(seed: u64, mut dice: Dice, topology: &str) -> String {
    let network = [
        dice.one(&["rate = '1 Gbps'", "rate = '1 Gbps'", "rate = '333 Mbps'"]),
        dice.one(&["delay = '20 us'", "delay = '1 ns'", "delay = '200 us'"]),
        dice.one(&["buffer = '4 MB'", "buffer = '30 packets'\nsharing = 'per-port'", "mark = '5 packets'"]),
        dice.one(&["", "frame_overhead = '38 B'", "host_jitter = '1 us'"]),
    ];
    let transport = [
        dice.one(&[
            "header = '40 B'",
            "mss = '9000 B'\nheader = '40 B'",
            "mss = '536 B'\nheader = '0 B'",
            "mss = '100 B'\nheader = '40 B'",
        ]),
        dice.one(&["", "initial_window = 1", "initial_window = 1000"]),
        dice.one(&["", "handshake = true", "recovery = 'newreno'", "expired = 'abort'"]),
    ];
    let traffic = |dice: &mut Dice| {
        let pattern = dice.one(&[
            "pattern = 'fan-in'\nleaves = 5\nparents = 2\nevery = 'exponential(1 ms)'\nsize = 'uniform(1 B, 20 KB)'",
            "pattern = 'fan-in'\nleaves = 6\nevery = '4 ms'\nsize = '30 KB'\njitter = 'uniform(0 s, 300 us)'",
            "pattern = 'poisson'\nload = '60%'\nsize = 'pareto(1 KB, 1.2)'",
            "pattern = 'periodic'\nfrom = 6\nto = '0..6'\nevery = '300 us'\nsize = 'exponential(8 KB)'",
            "pattern = 'periodic'\nfrom = '0..3'\nto = 7\nevery = '300 us'\nsize = '1 KB'",
        ]);
        let deadline = dice.one(&[
            "",
            "deadline = { base = '500 us', vary = 'exponential' }",
            "deadline = { base = '1 ms', vary = 'uniform(0, 50%)' }",
            "deadline = { base = '5 ms', vary = 'uniform(0, 200%)' }",
            "deadline = '150 us'",
        ]);
        format!("{pattern}\n{deadline}\n{}", dice.one(&["", "connections = 'persistent'"]))
    };
    let (first, second) = (traffic(&mut dice), traffic(&mut dice));
    // Segments of 100 B are ten times as many. Behind a slow link queues need the time to grow.
    let is_short = transport[0].contains("'100 B'") && !topology.contains("Mbps");
    let duration = if is_short { "5 ms" } else { "20 ms" };
    format!(
        // A run needs to wait for deadlines only, however long overloaded queues take to empty.
        "[run]\nduration = '{duration}'\nwait_for = 'deadlines'\nseed = {seed}\n{}\n[network]\n{topology}\n{}\n[transport]\nname = 'd2tcp'\n{}\n\
         [[traffic]]\nname = 'a'\n{first}\n[[traffic]]\nname = 'b'\n{second}\n",
        dice.one(&["", "warm_up = '4 ms'", "cool_down = '0 s'", "warm_up = '4 ms'\ncool_down = '600 us'"]),
        network.join("\n"),
        transport.join("\n"),
    )
}

#[test]
fn no_transport_misses_fewer_where_queries_draw_their_hosts() {
    let text = "[run]\nduration = '10 ms'\nseed = 3\n[network]\ntopology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\n\
                spines = 2\nrate = '1 Gbps'\nuplink = '2 Gbps'\ndelay = '20 us'\nmark = '20 packets'\n\
                [transport]\nname = 'd2tcp'\nheader = '40 B'\n[[traffic]]\nname = 'a'\npattern = 'fan-in'\nplacement = 'per-query'\n\
                leaves = 12\nleaves_per_host = 2\nparents = 3\nevery = '1 ms'\nsize = '8 KB'\n\
                deadline = { base = '600 us', vary = 'uniform(0, 50%)' }\n";
    let (bounds, fewest) = under_every_transport(text);
    let all = bounds.all.expect("there are deadlines");
    assert!(all.missed > 0 && all.missed <= fewest, "{all:?} {fewest}");
}

#[test]
fn no_transport_misses_fewer_in_any_scenario() {
    let (mut above_zero, mut reached, mut sides) = (0, 0, Vec::new());
    // Four threads, as these are more than a thousand runs.
    let part = |first: u64| (first..60).step_by(4).map(|seed| under_every_transport(&any_scenario(seed))).collect();
    let found: Vec<(Bounds, u64)> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..4).map(|first| scope.spawn(move || -> Vec<_> { part(first) })).collect();
        parts.into_iter().flat_map(|part| part.join().expect("its assertions hold")).collect()
    });
    for (bounds, fewest) in found {
        let Some(all) = bounds.all else { continue };
        assert!(all.missed <= all.with_deadline);
        above_zero += u32::from(all.missed > 0);
        reached += u32::from(all.missed > 0 && all.missed == fewest);
        if all.missed > 0 {
            sides.push(all.side);
        }
    }
    // The bound is not trivial: it is often above zero, on each side, and some runs reach it.
    assert!(above_zero > 20 && reached > 1, "{above_zero}, {reached}");
    assert!([Side::Receivers, Side::Senders, Side::Network].iter().all(|side| sides.contains(side)), "{sides:?}");
}

#[test]
fn no_transport_misses_fewer_where_hosts_have_several_links() {
    let scenario = |seed: u64| {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let topology = match dice.below(4) {
            0 => "topology = 'rails'\nservers = 4\ngpus = 2\nnvlink_rate = '2 Gbps'".to_owned(),
            1 => "topology = 'rails'\nservers = 2\ngpus = 4\nnvlink_rate = '3 Gbps'\nspines = 1\nuplink = '700 Mbps'"
                .to_owned(),
            _ => any_hosts_with_several_links(&mut dice),
        };
        let balance = dice.one(&["", "", "\nbalance = 'spray'", "\nbalance = 'drill'"]);
        on_topology(seed, dice, &format!("{topology}{balance}")).replace("duration = '20 ms'", "duration = '5 ms'")
    };
    let some = ["tcp", "d2tcp", "d3", "edf-grants", "pfabric"];
    let bounds = (0..12).map(|seed| under(&scenario(seed), some.into_iter()).0.all);
    let missed: u64 = bounds.flatten().map(|all| all.missed).sum();
    assert!(missed > 0, "the bound is not trivial");
}

#[test]
fn from_a_file_they_are_the_same() {
    let mut above_zero = 0;
    for text in (0..40).map(any_scenario) {
        let outcome = run(&text, "d2tcp");
        let found = bound::of_outcome(&outcome);
        for each in [1, 9, 200] {
            assert_eq!(in_a_file(&outcome, each), found, "{each} messages at a time\n{text}");
        }
        above_zero += u32::from(found.all.is_some_and(|all| all.missed > 0));
    }
    assert!(above_zero > 10, "{above_zero}");
}

#[test]
fn the_words_of_results_name_the_side_and_the_gap() {
    let sides = [Side::Receivers, Side::Senders, Side::Network, Side::Both, Side::Several].map(Side::name);
    assert_eq!(sides, ["receivers", "senders", "network", "both", "several"]);
    let gaps = [Gap::Overload, Gap::Schedule, Gap::Size, Gap::Tree].map(Gap::words);
    let parts = ["overload", "no schedule", "too many packets", "tree"];
    assert!(gaps.iter().zip(parts).all(|(words, part)| words.contains(part)), "{gaps:?}");
}

#[test]
fn a_message_with_a_deadline_is_held_in_six_words() {
    let text = "[run]\nduration = '1 ms'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\ndelay = '1 us'\n\
                [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\n\
                { from = 0, to = 1, size = '1 KB', start = '0 s', deadline = '1 ms' },\n\
                { from = 1, to = 2, size = '1 KB', start = '0 s', deadline = '1 ms' },\n\
                { from = 2, to = 0, size = '1 KB', start = '0 s' } ]\n";
    let outcome = run(text, "tcp");
    let mut messages = Messages::new(outcome.classes.len());
    let held: Vec<usize> = outcome
        .messages
        .iter()
        .map(|message| {
            messages.add(message);
            messages.held()
        })
        .collect();
    assert_eq!(held, [6, 12, 12]);
}

#[test]
fn a_message_alone_is_missed_from_just_below_its_ideal_time_on() {
    for (topology, to) in [
        ("topology = 'star'\nhosts = 8\nbottleneck = '10 Gbps'", 7),
        ("topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '700 Mbps'", 7),
        ("topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 3\nuplink = '40 Gbps'", 5),
        ("topology = 'fat-tree'\nk = 4\nuplink = '3 Gbps'", 15),
    ] {
        let with_deadline = |ps: u64| {
            let text = format!(
                "[run]\nduration = '1 s'\n[network]\n{topology}\nrate = '1 Gbps'\ndelay = '20 us'\n\
                 [[traffic]]\nname = 'a'\npattern = 'flows'\n\
                 flows = [ {{ from = 0, to = {to}, size = '1 KB', start = '1 ms', deadline = '{} ns' }} ]\n",
                ps as f64 / 1e3
            );
            let outcome = run(&text, "tcp");
            (outcome.messages[0].ideal.unwrap(), bound::of_outcome(&outcome).all.unwrap())
        };
        let (Span(ideal), never) = with_deadline(1);
        let bound = |missed| Bound { with_deadline: 1, missed, side: Side::Receivers, gap: None };
        assert_eq!(never, bound(1));
        assert_eq!(with_deadline(ideal).1, bound(0), "{topology}");
        assert_eq!(with_deadline(ideal - 10).1, bound(1), "but for rounding, {topology}");
    }
}

#[test]
fn a_burst_misses_what_does_not_fit_through_the_receivers_link() {
    // Ten answers of 146 000 B take 1.2 ms each: five end within 6.1 ms. The bound is 5 and tcp misses 10.
    let text = |leaves: u32, deadline: &str| {
        format!(
            "[run]\nduration = '40 ms'\n[network]\ntopology = 'star'\nhosts = {}\nrate = '1 Gbps'\ndelay = '20 us'\n\
             [[traffic]]\nname = 'a'\npattern = 'fan-in'\nleaves = {leaves}\nevery = '1 ms'\ncount = 1\n\
             size = '146000 B'\ndeadline = '{deadline}'\n",
            leaves + 1
        )
    };
    let bound = |missed, side| Bound { with_deadline: 10, missed, side, gap: None };
    let outcome = run(&text(10, "6.1 ms"), "tcp");
    assert_eq!(bound::of_outcome(&outcome).all, Some(bound(5, Side::Receivers)));
    assert_eq!(misses(&outcome, None), 10);
    assert_eq!(bound::of_outcome(&run(&text(10, "13 ms"), "tcp")).all, Some(bound(0, Side::Receivers)));
    // The same in the other direction: one host sends to ten.
    let spread = "[run]\nduration = '40 ms'\n[network]\ntopology = 'star'\nhosts = 11\nrate = '1 Gbps'\n\
                  delay = '20 us'\n[[traffic]]\nname = 'a'\npattern = 'periodic'\nfrom = 10\nto = '0..10'\n\
                  every = '1 s'\nsize = '146000 B'\ndeadline = '6.1 ms'\n";
    assert_eq!(bound::of_outcome(&run(spread, "tcp")).all, Some(bound(5, Side::Senders)));
}

#[test]
fn what_is_not_decided_or_not_counted_is_not_missed() {
    let text = |run: &str| {
        format!(
            "[run]\n{run}\n[network]\ntopology = 'star'\nhosts = 2\nrate = '1 Gbps'\ndelay = '20 us'\n\
             [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\n\
             {{ from = 0, to = 1, size = '1 MB', start = '0 s', deadline = '1 ms' }},\n\
             {{ from = 1, to = 0, size = '1 MB', start = '5 ms', deadline = '1 ms' }} ]\n\
             [[traffic]]\nname = 'b'\npattern = 'long'\nfrom = 0\nto = 1\n"
        )
    };
    let of = |run: &str| {
        let all = bound::of_scenario(&read(&text(run), "tcp")).all;
        all.map(|all| (all.with_deadline, all.missed))
    };
    assert_eq!(of("duration = '10 ms'"), Some((2, 2)));
    assert_eq!(of("duration = '10 ms'\nwarm_up = '5 ms'"), Some((1, 1)));
    assert_eq!(of("duration = '5.5 ms'"), Some((2, 2)));
    assert_eq!(of("duration = '5.5 ms'\ncool_down = '0.4 ms'"), Some((2, 1)));
    assert_eq!(of("duration = '5.5 ms'\ncool_down = '0 s'"), Some((2, 1)));
    assert_eq!(of("duration = '5 ms'"), Some((1, 1)));
    assert_eq!(of("duration = '4 ms'"), Some((1, 1)));
    assert_eq!(of("duration = '10 ms'\nwarm_up = '6 ms'"), None);
}

#[test]
fn each_class_has_a_bound_of_its_own_and_all_have_at_least_their_sum() {
    // One class is held up at its receiver, the other at its sender.
    let text = "[run]\nduration = '40 ms'\n[network]\ntopology = 'star'\nhosts = 20\nrate = '1 Gbps'\n\
                delay = '20 us'\n[defaults.traffic]\npattern = 'periodic'\nevery = '1 s'\nsize = '146000 B'\n\
                deadline = '3 ms'\n\
                [[traffic]]\nname = 'in'\nfrom = '0..5'\nto = 5\n\
                [[traffic]]\nname = 'out'\nfrom = 10\nto = '11..16'\n\
                [[traffic]]\nname = 'free'\nfrom = 18\nto = 19\ndeadline = '30 ms'\n";
    let (bounds, _) = under_every_transport(text);
    let bound = |with_deadline, missed, side| Some(Bound { with_deadline, missed, side, gap: None });
    assert_eq!(
        bounds.classes,
        [bound(5, 3, Side::Receivers), bound(5, 3, Side::Senders), bound(1, 0, Side::Receivers)]
    );
    assert_eq!(bounds.all, bound(11, 6, Side::Both));
}

/// Returns the bound of messages (start in ms, from, to), each of 100 KB and due after 1.2 ms; `second` is a second
/// class.
fn of_messages(network: &str, messages: &[(u64, u32, u32)], second: &[(u64, u32, u32)]) -> Bound {
    let class = |name: &str, messages: &[(u64, u32, u32)]| {
        let flow = |(start, from, to): &(u64, u32, u32)| {
            format!("{{ from = {from}, to = {to}, size = '100 KB', start = '{start} ms', deadline = '1.2 ms' }}")
        };
        let flows: Vec<String> = messages.iter().map(flow).collect();
        format!("[[traffic]]\nname = '{name}'\npattern = 'flows'\nflows = [{}]\n", flows.join(", "))
    };
    let second = if second.is_empty() { String::new() } else { class("b", second) };
    let text = format!(
        "[run]\nduration = '50 ms'\n[network]\n{network}\nrate = '1 Gbps'\ndelay = '5 us'\n{}{second}",
        class("a", messages)
    );
    bound::of_scenario(&read(&text, "tcp")).all.unwrap()
}

const STAR: &str = "topology = 'star'\nhosts = 8";

#[test]
fn conflicts_at_different_hosts_add_up() {
    // Two from host 0, and two others to host 7; each alone takes 0.83 of 1.2 ms.
    let (senders, receivers) = ([(0, 0, 4), (0, 0, 5)], [(0, 1, 7), (0, 2, 7)]);
    let both = |missed, with_deadline| Bound { with_deadline, missed, side: Side::Both, gap: None };
    assert_eq!(of_messages(STAR, &[senders, receivers].concat(), &[]), both(2, 4));
    assert_eq!(of_messages(STAR, &senders, &receivers), both(2, 4));
    let ten =
        (0..10).flat_map(|i| [senders, receivers].concat().into_iter().map(move |(_, from, to)| (2 * i, from, to)));
    assert_eq!(of_messages(STAR, &ten.collect::<Vec<_>>(), &[]), both(20, 40));
}

#[test]
fn conflicts_over_one_message_are_resolved_by_leaving_it_out() {
    // The message from 0 to 7 is contested at both of its hosts.
    let found = of_messages(STAR, &[(0, 0, 4), (0, 0, 7), (0, 1, 7)], &[]);
    assert_eq!(found.missed, 1);
    // Two contested at the sender and two at each receiver: one is late at the sender, and one at the other receiver.
    let found = of_messages(STAR, &[(0, 0, 4), (0, 0, 7), (0, 1, 7), (0, 1, 4), (0, 2, 4)], &[]);
    assert_eq!((found.missed, found.side), (3, Side::Receivers));
}

#[test]
fn links_between_switches_count() {
    let across: Vec<(u64, u32, u32)> = (0..4).map(|host| (0, host, 4 + host)).collect();
    let missed = |network: &str| {
        let Bound { missed, side, gap, .. } = of_messages(network, &across, &[]);
        (missed, if missed > 0 { Some(side) } else { None }, gap)
    };
    let network = |missed| (missed, Some(Side::Network), None);
    assert_eq!(missed("topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '1 Gbps'"), network(3));
    assert_eq!(missed("topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '4 Gbps'"), (0, None, None));
    // Two parallel uplinks carry two messages in time.
    let spines = |spines: u32, uplink: &str| {
        missed(&format!(
            "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = {spines}\nuplink = '{uplink}'"
        ))
    };
    assert_eq!(spines(2, "1 Gbps"), network(2));
    assert_eq!(spines(4, "1 Gbps"), (0, None, None));
    // Three links have time for four messages if these are spread over them, but none of the links has time for two.
    assert_eq!(spines(3, "1 Gbps"), (0, None, Some(Gap::Schedule)));
}

#[test]
fn a_dumbbell_of_switches_has_its_link_as_a_limit() {
    let network = "topology = 'custom'\nhosts = 8\nswitches = ['left', 'right']\n\
                   links = [ { from = '0..4', to = 'left' }, { from = '4..8', to = 'right' },\n\
                             { from = 'left', to = 'right', rate = '2 Gbps' } ]";
    let across: Vec<(u64, u32, u32)> = (0..4).map(|host| (0, host, 4 + host)).collect();
    assert_eq!(of_messages(network, &across, &[]).missed, 2);
    // The uplink does not count within one side, and its two directions are independent.
    let apart = of_messages(network, &[(0, 0, 1), (0, 3, 2), (0, 4, 0), (0, 5, 3), (0, 1, 4), (0, 2, 5)], &[]);
    assert_eq!((apart.missed, apart.gap), (0, None));
}

#[test]
fn a_bound_without_a_schedule_says_why() {
    // Each host's link could carry all in time, but the second hop of the first message begins when the second is due.
    let text = "[run]\nduration = '20 ms'\n[network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '1 us'\n\
                [[traffic]]\nname = 'a'\npattern = 'poisson'\nload = '70%'\nsize = '1 KB'\ndeadline = '100 ms'\n";
    let of = |text: &str| bound::of_scenario(&read(text, "tcp")).all.unwrap();
    assert_eq!((of(text).missed, of(text).gap), (0, None));
    let long = text.replace("20 ms", "2 s");
    assert_eq!(of(&long).gap, Some(Gap::Size));
}

/// Deadlines that are multiples of the times of messages alone follow from their routes, which a run finds.
#[test]
fn multiples_of_the_time_alone_are_foreseen() {
    let network = "topology = 'custom'\nhosts = 8\nrate = '1 Gbps'\nswitches = ['left', 'fast', 'slow', 'right']\n\
         links = [{ from = '0..4', to = 'left' }, { from = '4..8', to = 'right' }, { from = 'left', to = 'fast' }, \
         { from = 'fast', to = 'right' }, { from = 'left', to = 'slow', rate = '300 Mbps' }, { from = 'slow', to = 'right' }]";
    for connections in ["fresh", "persistent"] {
        let class = format!("deadline = 'uniform(1, 3) * alone'\nconnections = '{connections}'\n");
        let text = format!(
            "[run]\nduration = '20 ms'\nwait_for = 'deadlines'\n[network]\n{network}\ndelay = '20 us'\n[transport]\nname = 'd2tcp'\nheader = '40 B'\n\
             [[traffic]]\nname = 'a'\npattern = 'poisson'\nload = '60%'\nsize = 'exponential(9 KB)'\n{class}\
             [[traffic]]\nname = 'b'\npattern = 'fan-in'\nleaves = 5\nparents = 2\nevery = 'exponential(1 ms)'\nsize = '8 KB'\n{class}"
        );
        let (bounds, missed) = under_every_transport(&text);
        let least: u64 = bounds.classes.iter().flatten().map(|bound| bound.missed).sum();
        assert!(0 < least && least <= missed, "{least} of {missed}: {text}");
    }
}
