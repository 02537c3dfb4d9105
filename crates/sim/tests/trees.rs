//! Trees of several levels: what their parents send, and the same trees as requests of stages.

use std::fmt::Write;

use super::common;

use common::run;
use sim::Outcome;
use sim::outcome::Message;
use units::{Bytes, HostId, Instant, Span, Stream};

/// A star of hosts on which nothing is dropped.
fn star(hosts: u32) -> String {
    format!(
        "[run]\nduration = '100 ms'\n[network]\ntopology = 'star'\nhosts = {hosts}\nrate = '1 Gbps'\ndelay = '20 us'\n\
         host_jitter = '0 s'\nbuffer = '100 MB'\n[transport]\nname = 'dctcp'\n"
    )
}

/// Asks once, at 1 ms.
fn tree(hosts: u32, keys: &str) -> Outcome {
    let class = "[[traffic]]\nname = 'tree'\npattern = 'fan-in'\nevery = '1 ms'\ncount = 1\n";
    run(&format!("{}{class}{keys}\n", star(hosts)))
}

fn level(outcome: &Outcome, level: u8) -> Vec<&Message> {
    outcome.messages.iter().filter(|message| message.place.unwrap().level == level).collect()
}

#[test]
fn a_chain_sends_nothing_before_it_has_received_it() {
    // An answer takes 0.86 ms and each level has 0.5 ms: all are late.
    let keys = "levels = 8\nbranches = 1\nleaves = 1\nsize = '100 KB'\naggregation = '10 us'\n";
    for deadline in ["", "deadline = '4 ms'"] {
        let outcome = tree(10, &format!("{keys}{deadline}"));
        assert_eq!(outcome.messages.len(), 8);
        assert_eq!(level(&outcome, 7)[0].start, Instant::from_millis(1));
        for above in 0..7 {
            let (answer, before) = (level(&outcome, above)[0], level(&outcome, above + 1)[0]);
            assert_eq!((answer.from, answer.bytes), (before.to, Some(Bytes(100_000))));
            assert_eq!(answer.start, before.end.unwrap() + Span::from_micros(10), "level {above}");
            let due = answer.deadline.map(|allowed| answer.start + allowed);
            let of_level = Instant::from_millis(1) + Span::from_micros(500 * (8 - u64::from(above)));
            assert_eq!(due, (!deadline.is_empty()).then(|| of_level.max(answer.start + Span(1))));
        }
    }
}

#[test]
fn answers_without_all_are_no_larger_than_what_was_received() {
    let mut seen = [false; 4];
    for latest in 1..9 {
        // The leaves have 2 ms of the deadline, their parents the rest.
        let keys = format!(
            "levels = 2\nbranches = 4\nleaves = 3\nsize = '2 KB'\nanswer = '9 KB'\nsplit = ['20%', '80%']\n\
             deadline = '10 ms'\njitter = 'uniform(0 ms, {latest} ms)'\n"
        );
        let outcome = tree(20, &keys);
        assert_eq!(level(&outcome, 0).len(), 4);
        for answer in level(&outcome, 0) {
            let below = outcome.messages.iter().filter(|message| message.to == answer.from);
            let mut ends: Vec<Instant> = below.map(|message| message.end.unwrap()).collect();
            ends.sort_unstable();
            let closes = Instant::from_millis(3);
            let in_time = ends.iter().filter(|end| **end <= closes).count();
            seen[in_time] = true;
            let (start, answers, bytes) = match in_time {
                // With nothing at its children's deadline it answers with the first.
                0 => (ends[0], 1, 2_000),
                3 => (ends[2], 3, 9_000),
                some => (closes, some as u32, 2_000 * some as u64),
            };
            assert_eq!((answer.start, answer.bytes), (start, Some(Bytes(bytes))), "{ends:?}");
            assert_eq!(answer.place.unwrap().answers, answers);
        }
    }
    assert_eq!(seen, [true; 4]);
}

/// The children of each node, by number: the root is 0, its children follow, then theirs; leaves are last.
fn children(levels: u32, branches: u32, leaves: u32) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    let (mut parents, mut next) = (0..1, 1);
    for distance in 0..levels {
        let each = if distance + 1 == levels { leaves } else { branches };
        let first = next;
        for _ in parents {
            all.push((next..next + each).collect());
            next += each;
        }
        parents = first..next;
    }
    all
}

/// Returns the same tree as a request of stages, on these hosts by node.
fn as_stages(children: &[Vec<u32>], hosts: &[u32], [size, answer, aggregation, jitter]: [u64; 4]) -> String {
    let mut text =
        String::from("[[traffic]]\nname = 'tree'\npattern = 'stages'\nevery = '1 ms'\ncount = 1\n[traffic.roles]\n");
    let inner = children.len() as u32;
    let leaves: Vec<u32> = (inner..hosts.len() as u32).collect();
    let list =
        |nodes: &[u32]| nodes.iter().map(|node| hosts[*node as usize].to_string()).collect::<Vec<_>>().join(", ");
    let mut role = |name: String, nodes: &[u32]| {
        writeln!(text, "{name} = {{ hosts = [{}], pick = 'all' }}", list(nodes)).unwrap();
    };
    role("leaves".into(), &leaves);
    for (parent, nodes) in children.iter().enumerate() {
        role(format!("node{parent}"), &[parent as u32]);
        role(format!("below{parent}"), nodes);
    }
    writeln!(text, "[[traffic.stage]]\nname = 'delay'\nat = 'leaves'\ntime = '{jitter} ns'\nafter = []").unwrap();
    for (parent, nodes) in children.iter().enumerate().rev() {
        // A node waits for the work of its own.
        let after: Vec<String> = nodes
            .iter()
            .map(|&node| if node < inner { format!("'work{node}'") } else { "'delay'".into() })
            .take(if nodes[0] < inner { nodes.len() } else { 1 })
            .collect();
        let bytes = if nodes[0] < inner { answer } else { size };
        let after = after.join(", ");
        writeln!(
            text,
            "[[traffic.stage]]\nname = 'to{parent}'\nfrom = 'below{parent}'\nto = 'node{parent}'\nsize = '{bytes} B'\n\
             after = [{after}]"
        )
        .unwrap();
        if parent > 0 {
            writeln!(
                text,
                "[[traffic.stage]]\nname = 'work{parent}'\nat = 'node{parent}'\ntime = '{aggregation} ns'\n\
                 after = ['to{parent}']"
            )
            .unwrap();
        }
    }
    text
}

/// Sender, receiver, size, start and end of a message.
type Sent = (HostId, HostId, Option<Bytes>, Instant, Option<Instant>);

fn messages(outcome: &Outcome) -> Vec<Sent> {
    let mut all: Vec<Sent> = outcome.messages.iter().map(|m| (m.from, m.to, m.bytes, m.start, m.end)).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_tree_sends_the_same_as_the_stages_that_say_it() {
    for case in 0..60 {
        let mut stream = Stream::new(case, "trees", 0);
        let mut draw = |low: u64, high: u64| low + stream.below(high - low + 1);
        let (levels, branches, leaves) = (draw(2, 4) as u32, draw(1, 3) as u32, draw(1, 4) as u32);
        let amounts = [draw(1, 30_000), draw(1, 30_000), draw(0, 200_000), draw(0, 50_000)];
        // A deadline that no answer misses changes nothing.
        let deadline = if draw(0, 1) == 0 { "" } else { "deadline = '80 ms'" };
        let children = children(levels, branches, leaves);
        let nodes = children.iter().map(Vec::len).sum::<usize>() as u32 + 1;
        let all = nodes + draw(0, 2) as u32;
        // On a star the root is the last host, the leaves are the first, and the parents above them follow.
        let inner = children.len() as u32;
        let own_leaves = nodes - inner;
        let hosts: Vec<u32> =
            std::iter::once(all - 1).chain(own_leaves..own_leaves + inner - 1).chain(0..own_leaves).collect();
        let [size, answer, aggregation, jitter] = amounts;
        let fan_in = tree(
            all,
            &format!(
                "levels = {levels}\nbranches = {branches}\nleaves = {leaves}\nsize = '{size} B'\nanswer = '{answer} B'\n\
                 aggregation = '{aggregation} ns'\njitter = '{jitter} ns'\n{deadline}"
            ),
        );
        let stages = as_stages(&children, &hosts, amounts);
        let stages = run(&(star(all) + &stages));
        assert_eq!(fan_in.messages.len(), nodes as usize - 1);
        assert_eq!(
            messages(&fan_in),
            messages(&stages),
            "{case}: {levels} levels, {branches} branches, {leaves} leaves"
        );
        assert!(fan_in.messages.iter().all(|message| message.end.is_some()));
    }
}
