//! Routes of flows: drawn from the seed, the same for every transport, and independent of other flows.

use super::common;

use std::collections::{BTreeMap, BTreeSet};

use sim::World;
use sim::outcome::{Message, Outcome};
use units::{Bytes, HostId, LinkId};

const MIXED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/mixed.toml");

fn run(text: &str, change: impl Fn(&mut scenario::Options)) -> Outcome {
    let source = scenario::Source { name: "test", text, folder: None };
    let mut options = common::classic();
    change(&mut options);
    let read = scenario::read(&source, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut world = World::new(read.scenario);
    while world.advance(1 << 20) {}
    world.finish()
}

/// Runs sixteen long flows from one leaf to another over four spines, and a class of short messages beside them.
fn leaf_spine(seed: u64, more: &str) -> Outcome {
    run(
        &format!(
            "[run]\nduration = '2 ms'\nseed = {seed}\n[network]\ntopology = 'leaf-spine'\nleaves = 3\n\
             hosts_per_leaf = 16\nspines = 4\nrate = '1 Gbps'\nuplink = '4 Gbps'\ndelay = '5 us'\nmark = '20 packets'\n\
             [transport]\nname = 'dctcp'\n\
             [[traffic]]\nname = 'long'\npattern = 'long'\nfrom = '0..16'\nto = '16..32'\n{more}"
        ),
        |_| {},
    )
}

/// Runs `scenarios/mixed.toml`, shorter, with more classes: one of persistent connections, and one of trees.
fn mixed(change: impl Fn(String) -> String, transport: Option<&str>) -> Outcome {
    let text = std::fs::read_to_string(MIXED).expect("the scenario can be read");
    let more = "[[traffic]]\nname = 'open'\npattern = 'periodic'\nfrom = '2..20'\nto = '40..58'\nevery = '1 ms'\n\
                size = '20 KB'\nconnections = 'persistent'\n\
                [[traffic]]\nname = 'tree'\npattern = 'fan-in'\nlevels = 2\nbranches = 3\nleaves = 5\nparents = 4\n\
                every = 'exponential(3 ms)'\nsize = '10 KB'\nanswer = '20 KB'\n";
    // The end of a run after its duration depends on its transport and on other classes.
    let short = "duration = \"40 ms\"\ncool_down = \"0 s\"";
    let text = change(text.replace("duration = \"500 ms\"", short).replace("warm_up = \"50 ms\"", "") + more);
    run(&text, |options| options.transport = transport.map(Into::into))
}

/// The identity of a message in its run: its position in its query's tree, or its start time and hosts.
type Name = (String, Option<(u64, u32)>, (u64, HostId, HostId, Option<Bytes>));

/// Returns the routes of each message of some classes.
fn decided(outcome: &Outcome, classes: &[&str]) -> BTreeMap<Name, Vec<Vec<String>>> {
    let mut all: BTreeMap<Name, Vec<Vec<String>>> = BTreeMap::new();
    for (row, message) in outcome.messages.iter().enumerate() {
        let class = &outcome.classes[message.class.index()].name;
        if classes.contains(&class.as_str()) {
            let link = |link: &LinkId| {
                let link = &outcome.links[link.index()];
                format!("{} to {}", link.from, link.to)
            };
            let path = outcome.path(row).iter().map(link).collect();
            all.entry(name(class, message)).or_default().push(path);
        }
    }
    all
}

fn name(class: &str, &Message { query, place, start, from, to, bytes, .. }: &Message) -> Name {
    // The start of an answer that waits for others depends on the transport; its position in the tree does not.
    let place = query.zip(place.map(|place| place.node));
    (class.into(), place, (if place.is_some() { 0 } else { start.0 }, from, to, bytes))
}

#[test]
fn each_seed_gives_long_flows_other_ways() {
    let loads: BTreeSet<Vec<u64>> =
        (0..10).map(|seed| leaf_spine(seed, "").links.iter().map(|link| link.packets).collect()).collect();
    assert_eq!(loads.len(), 10);
}

#[test]
fn each_seed_gives_the_mix_another_load_of_its_links() {
    let text = std::fs::read_to_string(MIXED).expect("the scenario can be read");
    let loads = (0..10).map(|seed| {
        let short = text.replace("duration = \"500 ms\"", "duration = \"2 ms\"\ncool_down = \"0 s\"");
        let outcome = run(&short.replace("warm_up = \"50 ms\"", ""), |options| options.seed = Some(seed));
        outcome.links.iter().map(|link| link.packets).collect::<Vec<_>>()
    });
    assert_eq!(loads.collect::<BTreeSet<_>>().len(), 10);
}

#[test]
fn two_transports_send_every_message_the_same_way() {
    const ALL: [&str; 5] = ["search", "web", "backup", "open", "tree"];
    let (one, other) = (mixed(|text| text, Some("tcp")), mixed(|text| text, Some("d2tcp")));
    let (one, other) = (decided(&one, &ALL), decided(&other, &ALL));
    // An answer that was not sent within one of the runs cannot be compared.
    let both: Vec<&Name> = one.keys().filter(|name| other.contains_key(name)).collect();
    assert!(both.len() > 1500 && both.len() + 20 > one.len().max(other.len()), "{} of {}", both.len(), one.len());
    let differing = both.iter().filter(|name| one[**name] != other[**name]).count();
    assert_eq!(differing, 0, "of {}", both.len());
}

#[test]
fn a_class_beside_them_leaves_the_ways_and_draws_of_the_others_alone() {
    const OTHERS: [&str; 4] = ["search", "web", "backup", "open"];
    let added = "[[traffic]]\nname = 'added'\npattern = 'poisson'\nload = '1%'\nsize = '10 KB'\ntransport = 'cubic'\n";
    let without = decided(&mixed(|text| text, None), &OTHERS);
    assert!(without.len() > 1500);
    let last = decided(&mixed(|text| text + added, None), &OTHERS);
    assert!(without == last);
    let first = |text: String| text.replacen("[[traffic]]", &format!("{added}[[traffic]]"), 1);
    assert!(without == decided(&mixed(first, None), &OTHERS));
}

#[test]
fn flows_spread_over_all_spines_within_what_chance_allows() {
    // 160 flows over 4 spines: 40 each, with a standard deviation of sqrt(160 x 1/4 x 3/4) = 5.5; four are 22.
    let mut used = BTreeMap::<String, u32>::new();
    for seed in 0..10 {
        let outcome = leaf_spine(seed, "");
        for row in 0..outcome.messages.len() {
            let spine = outcome.links[outcome.path(row)[1].index()].to.clone();
            *used.entry(spine).or_default() += 1;
        }
    }
    assert_eq!(used.values().sum::<u32>(), 160);
    assert!(used.len() == 4 && used.values().all(|&flows| flows.abs_diff(40) <= 22), "{used:?}");
}

/// Flows of one host may have timers at the same instant. Their order does not depend on the ids that their connections
/// have got, after others have closed.
#[test]
fn timers_of_the_same_instant_do_not_know_what_was_opened_before() {
    // Twelve first windows, three at each of four hosts, meet at a port that can hold two packets. Windows lost as a
    // whole time out together.
    let ends = |more: &str| {
        let outcome = run(
            &format!(
                "[run]\nduration = '2 s'\n[network]\ntopology = 'custom'\nhosts = 12\nrate = '1 Gbps'\n\
                 delay = '5 us'\nswitches = ['a', 'b']\nhost_jitter = '0 s'\nsharing = 'per-port'\n\
                 links = [ {{ from = '0..8', to = 'a' }}, {{ from = 'a', to = 8, buffer = '2 packets' }},\n\
                 {{ from = '9..12', to = 'b' }}, {{ from = 'a', to = 'b' }} ]\n\
                 [transport]\nname = 'tcp'\nrto_initial = '10 ms'\n{more}\
                 [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\n\
                 {{ from = '0..4', to = 8, size = '10 KB', start = '1 ms' }},\n\
                 {{ from = '0..4', to = 8, size = '10 KB', start = '1 ms' }},\n\
                 {{ from = '0..4', to = 8, size = '10 KB', start = '1 ms' }} ]\n"
            ),
            |_| {},
        );
        let class = outcome.classes.iter().position(|class| class.name == "a").expect("a class of that name");
        let own = outcome.messages.iter().filter(|message| message.class.index() == class);
        own.map(|message| message.end).collect::<Vec<_>>()
    };
    // They close in the reverse order of opening, all before the others start.
    let added = "[[traffic]]\nname = 'added'\npattern = 'flows'\nflows = [\n\
                 { from = 9, to = 10, size = '60 KB' }, { from = 10, to = 11, size = '40 KB' },\n\
                 { from = 11, to = 9, size = '20 KB' }, { from = 10, to = 9, size = '3 KB' },\n\
                 { from = 9, to = 11, size = '1 KB' } ]\n";
    let alone = ends("");
    assert!(alone.len() == 12 && alone.iter().all(Option::is_some));
    assert_eq!(alone, ends(added));
}
