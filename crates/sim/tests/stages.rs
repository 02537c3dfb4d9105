//! Requests of several stages against closed forms, and against the same with threads and in blocks.

use super::common;
use super::threads::{ALONE, IN_TURNS, TOGETHER, by, same};

use common::{run, world};
use sim::Outcome;
use sim::outcome::{Message, RequestRow};
use units::{Instant, Span};

/// A star of hosts without marks, on which nothing is dropped.
fn star(hosts: u32, rate: &str, transport: &str) -> String {
    format!(
        "[run]\nduration = '100 ms'\n[network]\ntopology = 'star'\nhosts = {hosts}\nrate = '{rate}'\ndelay = '1 us'\n\
         host_jitter = '0 s'\nbuffer = '100 MB'\n[transport]\n{transport}\n"
    )
}

/// A request of three hosts in a row, each of which works before it sends.
const CHAIN: &str = "
[[traffic]]
name = 'chain'
pattern = 'stages'
every = '1 ms'
count = 3
KEYS
[traffic.roles]
a = 0
b = 1
c = 2
[[traffic.stage]]
name = 'ask'
from = 'a'
to = 'b'
size = '2 KB'
[[traffic.stage]]
name = 'think'
at = 'b'
time = '30 us'
[[traffic.stage]]
name = 'pass on'
from = 'b'
to = 'c'
size = '900 B'
[[traffic.stage]]
name = 'work'
at = 'c'
time = '70 us'
[[traffic.stage]]
name = 'answer'
from = 'c'
to = 'a'
size = '5 KB'
";

fn chain(keys: &str) -> Outcome {
    run(&(star(3, "10 Gbps", "name = 'dctcp'") + &CHAIN.replace("KEYS", keys)))
}

fn messages_of(outcome: &Outcome, request: u64) -> Vec<Message> {
    outcome.messages.iter().filter(|message| message.query == Some(request)).copied().collect()
}

#[test]
fn a_chain_takes_the_sum_of_its_stages() {
    let outcome = chain("");
    assert_eq!((outcome.stage_requests.len(), outcome.messages.len()), (3, 9));
    for row in &outcome.stage_requests {
        let messages = messages_of(&outcome, row.number);
        let [ask, pass, answer] = messages[..] else { panic!("three messages") };
        // Two packets over two hops: the second waits at each for the first. So do four, and one does not.
        for (message, bytes) in [(ask, 2 * 1500 + 580), (pass, 2 * 940), (answer, 4 * 1500 + 660)] {
            let takes = Span::from_nanos(bytes * 8 / 10) + Span::from_micros(2);
            assert_eq!(message.end.unwrap() - message.start, takes, "{bytes}");
        }
        let ends = |index: usize| row.stages[index].end.unwrap();
        assert_eq!(ask.start, row.arrival);
        assert_eq!((ends(0), ends(1)), (ask.end.unwrap(), ask.end.unwrap() + Span::from_micros(30)));
        assert_eq!((pass.start, ends(2)), (ends(1), pass.end.unwrap()));
        assert_eq!((answer.start, row.end), (ends(2) + Span::from_micros(70), answer.end));
        assert_eq!(row.end.unwrap() - row.arrival, row.alone, "nothing is in its way");
        let sum = |of: fn(&sim::outcome::StageRow) -> Span| row.stages.iter().map(of).fold(Span::ZERO, |a, b| a + b);
        assert_eq!((sum(|stage| stage.work), sum(|stage| stage.waiting)), (Span::from_micros(100), Span::ZERO));
        assert_eq!(sum(|stage| stage.network), row.alone - Span::from_micros(100));
        assert_eq!(row.longest.map(|leg| (leg.stage, leg.host.0)), Some((3, 2)));
    }
}

#[test]
fn a_request_may_be_works_alone() {
    let outcome = run(&(star(2, "10 Gbps", "name = 'dctcp'")
        + "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\ncount = 3\n[traffic.roles]\na = 0\n\
           [[traffic.stage]]\nname = 'first'\nat = 'a'\ntime = '20 us'\n\
           [[traffic.stage]]\nname = 'second'\nat = 'a'\ntime = '30 us'\n"));
    let times = outcome.stage_requests.iter().map(|row| row.end.map(|end| end - row.arrival));
    assert_eq!(times.collect::<Vec<_>>(), [Some(Span::from_micros(50)); 3]);
}

#[test]
fn transports_are_told_what_the_class_says() {
    // The answer takes 7.328 us, the message before it 3.504 us, the first 4.864 us.
    let told = |keys: &str| {
        let outcome = chain(keys);
        let row = &outcome.stage_requests[0];
        let due = |message: &Message| message.deadline.map(|deadline| message.start + deadline - row.arrival);
        messages_of(&outcome, 0).iter().map(due).collect::<Vec<_>>()
    };
    let us = |all: [f64; 3]| all.map(|us| Some(Span::from_ps_f64(us * 1e6))).to_vec();
    assert_eq!(told("deadline = '1 ms'"), us([1000.0; 3]));
    let after_pass = 70.0 + 7.328;
    let after_ask = 30.0 + 3.504 + after_pass;
    assert_eq!(
        told("deadline = '1 ms'\ndeadlines = 'remaining'"),
        us([1000.0 - after_ask, 1000.0 - after_pass, 1000.0])
    );
    // Five stages have 200 us each.
    assert_eq!(told("deadline = '1 ms'\ndeadlines = 'split'"), us([200.0, 600.0, 1000.0]));
    assert_eq!(told("deadline = '1 ms'\ndeadlines = 'none'"), [None; 3]);
    assert_eq!(told(""), [None; 3]);
    // 120 us are due long before 'work' ends; a message that starts late is due at once.
    let late = told("deadline = '100 us'");
    assert_eq!(late[..2], us([100.0, 100.0, 0.0])[..2]);
    assert_eq!(late[2], Some(Span::from_ps_f64(108.368e6) + Span(1)));
}

#[test]
fn goals_are_reached_or_not_and_a_multiple_of_the_time_alone_is_one() {
    let goal = "\n[[traffic.goal]]\nname = 'asked'\nstage = 'think'\nwithin = '1.5 * alone'\n\
                [[traffic.goal]]\nname = 'early'\nstage = 'work'\nwithin = '100 us'\n";
    let outcome = run(&(star(3, "10 Gbps", "name = 'dctcp'") + &CHAIN.replace("KEYS", "deadline = '200 us'") + goal));
    let row = &outcome.stage_requests[1];
    let within: Vec<Span> = row.goals.iter().map(|goal| goal.within).collect();
    assert_eq!(within, [Span::from_micros(200), Span::from_ps_f64(34.864e6 * 1.5), Span::from_micros(100)]);
    let took: Vec<Span> = row.goals.iter().map(|goal| goal.reached.unwrap() - row.arrival).collect();
    assert_eq!(took[1..], [34.864e6, 108.368e6].map(Span::from_ps_f64));
    assert_eq!(
        outcome.plans[0].as_ref().unwrap().goals.iter().map(|goal| &goal.name[..]).collect::<Vec<_>>(),
        ["deadline", "asked", "early"]
    );
}

#[test]
fn what_is_late_is_abandoned_where_the_class_says_so() {
    // The answer would end at 115.696 us.
    let outcome = chain("deadline = '115.6 us'\nlate = 'abandon'");
    for row in &outcome.stage_requests {
        assert_eq!((row.abandoned, row.over, row.end), (true, true, None));
        assert!(messages_of(&outcome, row.number).is_empty(), "it was late from the start");
    }
    let outcome = chain("deadline = '115.7 us'\nlate = 'abandon'");
    assert!(outcome.stage_requests.iter().all(|row| !row.abandoned && row.end.is_some()));
    // A work that is late from the start takes no server from the next.
    let late = run(&(star(2, "10 Gbps", "name = 'dctcp'")
        + "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\ncount = 3\ndeadline = '200 us'\n\
           late = 'abandon'\n[traffic.roles]\na = 0\n\
           [[traffic.stage]]\nname = 'work'\nat = 'a'\ntime = '300 us'\nservers = 1\n"));
    let rows = late.stage_requests.iter().map(|row| (row.abandoned, row.over, row.end));
    assert_eq!(rows.collect::<Vec<_>>(), [(true, true, None); 3]);
    // Two requests at once wait for one server: the second cannot be in time, and sends no answer.
    let busy =
        CHAIN.replace("KEYS", "deadline = '150 us'\nlate = 'abandon'").replace("every = '1 ms'", "every = '1 ns'");
    let busy = busy.replace("time = '70 us'", "time = '70 us'\nservers = 1").replace("count = 3", "count = 2");
    let outcome = run(&(star(3, "10 Gbps", "name = 'dctcp'") + &busy));
    let [first, second] = &outcome.stage_requests[..] else { panic!("two requests") };
    assert_eq!((first.abandoned, first.end.is_some(), second.abandoned, second.end), (false, true, true, None));
    assert_eq!((messages_of(&outcome, 0).len(), messages_of(&outcome, 1).len()), (3, 2));
    assert!(outcome.ended < Instant::from_millis(101), "the run does not wait for what will not be sent");
}

#[test]
fn works_wait_for_servers_in_their_order() {
    let text = |order: &str| {
        let busy =
            CHAIN.replace("KEYS", "deadline = 'uniform(1 ms, 9 ms)'").replace("every = '1 ms'", "every = '100 ns'");
        let busy = busy.replace("time = '70 us'", &format!("time = '700 us'\nservers = 2\norder = '{order}'"));
        star(3, "10 Gbps", "name = 'dctcp'") + &busy.replace("count = 3", "count = 9")
    };
    let ends = |rows: &[RequestRow]| rows.iter().map(|row| row.stages[3].end.unwrap()).collect::<Vec<_>>();
    let fifo = run(&text("fifo"));
    let all = ends(&fifo.stage_requests);
    assert!(all.is_sorted());
    // Two at a time: the third begins when the first has ended.
    assert_eq!(all[2] - all[0], Span::from_micros(700));
    assert_eq!(all[8] - all[0], Span::from_micros(2800));
    let waited: Vec<Span> = fifo.stage_requests.iter().map(|row| row.stages[3].waiting).collect();
    assert_eq!(waited[..2], [Span::ZERO; 2]);
    assert!(waited[8] > Span::from_micros(2770) && waited[8] < Span::from_micros(2800), "{}", waited[8]);
    let edf = run(&text("earliest-deadline"));
    let mut due: Vec<(Span, Instant)> =
        edf.stage_requests[2..].iter().map(|row| (row.goals[0].within, row.stages[3].end.unwrap())).collect();
    due.sort_unstable();
    assert!(due.is_sorted_by_key(|(_, end)| *end), "{due:?}");
}

/// A ring, as `next` with `repeat` or as a collective, on a star of 100 Gbps.
fn ring(hosts: u32, bytes: u64, stage: &str) -> Outcome {
    let star = star(hosts, "100 Gbps", "name = 'dctcp'\nmss = '4096 B'\ninitial_window = 1000");
    run(&format!(
        "{star}[[traffic]]\nname = 'gradients'\npattern = 'stages'\ncount = 1\nevery = '1 ms'\n\
         [traffic.roles]\nrank = {{ hosts = '0..{hosts}', pick = 'all' }}\n[[traffic.stage]]\nname = 'step'\n{stage}\n\
         size = '{bytes} B'\n"
    ))
}

#[test]
fn a_ring_takes_as_long_as_its_bytes_and_hops() {
    for (hosts, part) in [(4_u64, 4_000_000_u64), (8, 4_000_000), (64, 400_000)] {
        let all = part * hosts;
        let rounds = 2 * (hosts - 1);
        // Each round sends a part in packets of 4096 B with 40 B of headers, over two hops of 1 us. The last packet, which
        // is shorter, is sent by the switch after it has arrived there.
        let wire = part + part.div_ceil(4096) * 40 + part % 4096 + 40;
        let expected = rounds as f64 * (wire as f64 * 8.0 / 100e9 + 2e-6);
        let count = hosts as u32;
        let stages = format!("from = 'rank'\nto = 'next(rank)'\nrepeat = {rounds}");
        for outcome in [ring(count, part, &stages), ring(count, all, "at = 'rank'\ncollective = 'all-reduce'")] {
            let row = &outcome.stage_requests[0];
            let took = (row.end.expect("it ends") - row.arrival).as_secs_f64();
            assert!((took / expected - 1.0).abs() < 0.005, "{hosts} hosts: {took} s, expected {expected} s");
            assert_eq!(outcome.messages.len() as u64, rounds * hosts);
        }
    }
}

#[test]
fn a_host_at_half_the_rate_doubles_a_ring_and_is_its_straggler() {
    // Its links take twice as long in both directions, in each of 14 rounds.
    let text = "[run]\nduration = '100 ms'\n[network]\ntopology = 'custom'\nhosts = 8\nswitches = ['s']\nlinks = [\n\
                { from = '0..3', to = 's' },\n{ from = 3, to = 's', rate = '50 Gbps' },\n{ from = '4..8', to = 's' },\n]\n\
                rate = '100 Gbps'\ndelay = '1 us'\nhost_jitter = '0 s'\nbuffer = '100 MB'\n[transport]\nname = 'dctcp'\n\
                mss = '4096 B'\ninitial_window = 1000\n[[traffic]]\nname = 'gradients'\npattern = 'stages'\ncount = 1\n\
                every = '1 ms'\n[traffic.roles]\nrank = { hosts = '0..8', pick = 'all' }\n[[traffic.stage]]\nname = 'step'\n\
                at = 'rank'\ncollective = 'all-reduce'\nsize = '16 MB'\n";
    let outcome = run(text);
    let row = &outcome.stage_requests[0];
    let took = (row.end.expect("it ends") - row.arrival).as_secs_f64();
    let expected = 14.0 * (2e6 * (4136.0 / 4096.0) * 8.0 / 50e9 + 2e-6);
    assert!((took / expected - 1.0).abs() < 0.01, "{took} s, expected {expected} s");
    assert_eq!(row.longest.map(|leg| leg.host.0), Some(3));
}

#[test]
fn all_to_all_is_limited_by_the_link_of_each_host() {
    let outcome = ring(8, 1_000_000, "at = 'rank'\ncollective = 'all-to-all'");
    let row = &outcome.stage_requests[0];
    let took = (row.end.expect("it ends") - row.arrival).as_secs_f64();
    let expected = 7.0 * 1e6 * (4136.0 / 4096.0) * 8.0 / 100e9 + 2e-6;
    assert!((took / expected - 1.0).abs() < 0.01, "{took} s, expected {expected} s");
    assert_eq!(row.alone.as_secs_f64(), row.alone.as_secs_f64().clamp(expected * 0.99, expected * 1.01));
}

#[test]
fn clients_ask_as_often_as_littles_law_says() {
    let text = star(5, "10 Gbps", "name = 'dctcp'").replace("100 ms", "50 ms")
        + "[[traffic]]\nname = 'reads'\npattern = 'stages'\nclients = 6\nthink = '100 us'\n\
           [traffic.roles]\nclient = { hosts = '0..4', pick = 'round-robin' }\nstore = 4\n\
           [[traffic.stage]]\nname = 'ask'\nfrom = 'client'\nto = 'store'\nsize = '200 B'\n\
           [[traffic.stage]]\nname = 'work'\nat = 'store'\ntime = '50 us'\n\
           [[traffic.stage]]\nname = 'block'\nfrom = 'store'\nto = 'client'\nsize = '1 KB'\n";
    let outcome = run(&text);
    // 240 B there and 1040 B back over two hops, 4 us of delay, 50 us of work and 100 us between requests.
    let cycle = 2.0 * (240.0 + 1040.0) * 8.0 / 10e9 + 4e-6 + 50e-6 + 100e-6;
    let counted = outcome.stage_requests.iter().filter(|row| outcome.counts(row.arrival)).count();
    let expected = 6.0 * 50e-3 / cycle;
    assert!((counted as f64 / expected - 1.0).abs() < 0.01, "{counted}, expected {expected}");
    // Each client has one request at a time: the requests open at any time are six at most.
    let open = |at: Instant| {
        outcome.stage_requests.iter().filter(move |row| row.arrival <= at && row.end.is_none_or(|end| at < end))
    };
    assert!((1..50).all(|ms| open(Instant::from_millis(ms)).count() <= 6));
    let hosts: Vec<u32> =
        outcome.messages.iter().filter(|message| message.from.0 < 4).map(|message| message.from.0).collect();
    assert!((0..4).all(|host| hosts.iter().filter(|from| **from == host).count() > hosts.len() / 5), "in turns");
}

/// Open requests of two levels on a leaf-spine network, with losses.
const PAGES: &str = "
[run]
duration = '6 ms'
warm_up = '1 ms'
seed = 4
[network]
topology = 'leaf-spine'
leaves = 4
hosts_per_leaf = 4
spines = 2
oversubscription = 1
rate = '10 Gbps'
delay = '2 us'
buffer = '60 KB'
mark = '20 packets'
[transport]
name = 'TRANSPORT'
rto_min = '1 ms'
[[traffic]]
name = 'page'
pattern = 'stages'
every = 'exponential(60 us)'
deadline = '900 us'
deadlines = 'remaining'
LATE
[traffic.roles]
front = '0..3'
shard = { hosts = '3..16', count = 6 }
[[traffic.stage]]
name = 'question'
from = 'front'
to = 'shard'
size = '500 B'
[[traffic.stage]]
name = 'search'
at = 'shard'
time = 'lognormal(50 us, 0.5)'
servers = 1
order = 'earliest-deadline'
[[traffic.stage]]
name = 'answer'
from = 'shard'
to = 'front'
size = 'uniform(10 KB, 40 KB)'
quorum = '80%'
[[traffic.stage]]
name = 'log'
from = 'front'
to = 'shard'
size = '100 B'
[[traffic]]
name = 'beside'
pattern = 'poisson'
load = '20%'
size = '30 KB'
";

fn pages(transport: &str, late: &str) -> String {
    PAGES.replace("TRANSPORT", transport).replace("LATE", late)
}

#[test]
fn threads_give_the_same_requests() {
    let mut seen = (0, 0, 0);
    for (transport, late) in [("d2tcp", ""), ("tcp", "late = 'abandon'"), ("dctcp", "late = 'abandon'")] {
        let text = pages(transport, late);
        let alone = run(&text);
        seen.0 += alone.stage_requests.iter().filter(|row| row.end.is_some()).count();
        seen.1 += alone.stage_requests.iter().filter(|row| row.abandoned).count();
        seen.2 += alone.counters.drops;
        for (threads, ways) in [(2, TOGETHER), (3, ALONE), (4, IN_TURNS)] {
            let which = format!("{transport}, {threads} threads {ways:?}");
            same(&by(&text, threads, ways), &alone, &which);
        }
    }
    assert!(seen.0 > 200 && seen.1 > 20 && seen.2 > 100, "{seen:?}");
}

#[test]
fn rows_taken_on_the_way_are_those_at_the_end() {
    for late in ["", "late = 'abandon'"] {
        let text = pages("tcp", late).replace("exponential(60 us)", "exponential(150 us)").replace("6 ms", "30 ms");
        let whole = run(&text);
        let mut world = world(&text);
        world.blocks_of(64);
        let (mut messages, mut requests, mut most) = (Vec::new(), Vec::new(), 0);
        while world.advance(500) {
            let taken = world.take();
            messages.extend(taken.blocks.into_iter().flat_map(|block| block.messages));
            requests.extend(taken.requests);
            most = most.max(world.rows_held());
        }
        let before_end = messages.len();
        let (_, rest) = world.finish_taken();
        for taken in rest {
            messages.extend(taken.blocks.into_iter().flat_map(|block| block.messages));
            requests.extend(taken.requests);
        }
        messages.sort_by_key(|message| message.number);
        assert!(messages == whole.messages && requests == whole.stage_requests);
        assert!(
            before_end > messages.len() / 2 && most < messages.len() / 2,
            "{before_end} of {}, {most}",
            messages.len()
        );
        assert!(messages.iter().all(|message| message.start < Instant::MAX));
    }
}

#[test]
fn the_least_loaded_host_is_picked() {
    // Works of 1 ms at one of three hosts, every 300 us: the one that is free longest, or has fewest.
    let text = star(4, "10 Gbps", "name = 'dctcp'")
        + "[[traffic]]\nname = 'jobs'\npattern = 'stages'\nevery = '300 us'\ncount = 30\n\
           [traffic.roles]\nworker = { hosts = '0..3', pick = 'least-loaded' }\nsink = 3\n\
           [[traffic.stage]]\nname = 'job'\nat = 'worker'\ntime = '700 us'\nservers = 1\n\
           [[traffic.stage]]\nname = 'done'\nfrom = 'worker'\nto = 'sink'\nsize = '100 B'\n";
    let outcome = run(&text);
    let waited: Vec<Span> = outcome.stage_requests.iter().map(|row| row.stages[0].waiting).collect();
    assert!(
        waited.iter().all(|waited| *waited == Span::ZERO),
        "three hosts do 4.3 works per ms, 3.3 arrive: {waited:?}"
    );
    let from: Vec<u32> = outcome.messages.iter().map(|message| message.from.0).collect();
    assert_eq!(from[..6], [0, 1, 2, 0, 1, 2]);
    let random = run(&text.replace("least-loaded", "random"));
    assert!(random.stage_requests.iter().any(|row| row.stages[0].waiting > Span::ZERO));
}

/// Classes of requests that arrive every millisecond or two, beside two whose requests depend on the run and one of
/// messages. The requests before the end of the run, at 3 ms, are known before it.
#[test]
fn requests_are_foreseen_that_do_not_depend_on_the_run() {
    let class = |name: &str, keys: &str, role: &str| {
        format!(
            "[[traffic]]\nname = '{name}'\npattern = 'stages'\n{keys}\n[traffic.roles]\na = {role}\nb = 3\n\
             [[traffic.stage]]\nname = 'ask'\nfrom = 'a'\nto = 'b'\nsize = '1 KB'\n"
        )
    };
    let text = star(4, "10 Gbps", "name = 'dctcp'").replace("100 ms", "3 ms")
        + &class("first", "every = '2 ms'\nstart = 'index * 1 ms + parent * 1 ms'", "0")
        + &class("clients", "clients = 1", "0")
        + &class("open", "every = '1 ms'\ndeadline = '500 us'", "1")
        + &class("idle", "every = '1 ms'", "{ hosts = '0..3', pick = 'least-loaded' }")
        + "[[traffic]]\nname = 'beside'\npattern = 'flows'\nflows = [{ from = 0, to = 1, size = '1 KB' }]\n"
        + &class("more", "every = '2 ms'", "2");
    let mut seen = Vec::new();
    world(&text).foresee_requests(|row| seen.push((row.class.index(), row.number, row.arrival, row.windows.len())));
    let ms = Instant::from_millis;
    assert_eq!(seen, [(0, 0, ms(2), 0), (2, 0, ms(1), 1), (2, 1, ms(2), 1), (5, 0, ms(2), 0)]);
}

/// 10 MB take 8 ms. Their transport gives them up at the first acknowledgement after 100 us; a millisecond later their
/// client asks again.
#[test]
fn request_whose_message_is_aborted_is_over() {
    let text = star(2, "10 Gbps", "name = 'd2tcp'\nexpired = 'abort'").replace("100 ms", "10 ms")
        + "[[traffic]]\nname = 'own'\npattern = 'stages'\nclients = 1\nthink = '1 ms'\ndeadline = '100 us'\n\
           [traffic.roles]\na = 0\nb = 1\n\
           [[traffic.stage]]\nname = 'ask'\nfrom = 'a'\nto = 'b'\nsize = '10 MB'\n";
    let outcome = run(&text);
    let rows = &outcome.stage_requests;
    assert!(rows.iter().all(|row| row.over && row.end.is_none()) && outcome.messages.iter().all(|sent| sent.aborted));
    assert_eq!((rows.len(), rows[0].arrival), (9, Instant::from_millis(1)));
    for (before, after) in rows.iter().zip(&rows[1..]) {
        let gap = after.arrival - before.arrival;
        assert!(gap > Span::from_micros(1100) && gap < Span::from_micros(1125), "{gap}");
    }
}

/// A request arrives 100 us before the end of the measurement, and works for 300 us.
#[test]
fn run_ends_when_its_last_request_is_over() {
    for keys in ["", "deadline = '1 ms'"] {
        let text = star(2, "10 Gbps", "name = 'dctcp'").replace("100 ms", "1 ms")
            + &format!(
                "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '900 us'\ncount = 1\n{keys}\n\
                 [traffic.roles]\na = 0\n[[traffic.stage]]\nname = 'work'\nat = 'a'\ntime = '300 us'\n"
            );
        assert_eq!(run(&text).ended, Instant::from_micros(1200), "{keys}");
    }
}

/// Two ways of four links have delays of 4 us and 102 us. 1000 B have 60 B of headers and frame: they take 848 ns on each.
/// The connection of each request is on either way, and a persistent one always on the same.
#[test]
fn time_alone_is_that_of_the_connections_way() {
    let alone = |connection: &str, earliest_ns: f64| {
        let outcome = run(&format!(
            "[run]\nduration = '20 ms'\n[network]\ntopology = 'custom'\nhosts = 2\n\
             switches = ['left', 'right', 'near', 'far']\nlinks = [{{ from = 0, to = 'left' }}, {{ from = 1, to = 'right' }},\n\
             {{ from = 'near', to = 'left' }}, {{ from = 'near', to = 'right' }},\n\
             {{ from = 'far', to = 'left', delay = '50 us' }}, {{ from = 'far', to = 'right', delay = '50 us' }}]\n\
             rate = '10 Gbps'\ndelay = '1 us'\nhost_jitter = '0 s'\nbuffer = '1 MB'\nframe_overhead = '20 B'\n\
             [transport]\nname = 'dctcp'\n[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\ncount = 16\n\
             deadline = '1 ms'\nconnections = '{connection}'\n[traffic.roles]\na = 0\nb = 1\n\
             [[traffic.stage]]\nname = 'ask'\nfrom = 'a'\nto = 'b'\nsize = '1000 B'\n"
        ));
        let rows = outcome.stage_requests;
        assert!(rows.iter().all(|row| row.end.is_some_and(|end| end - row.arrival == row.alone)));
        let of_way = |light: u64| Span::from_micros(light) + Span::from_nanos(848) * 4;
        let within = |least: Span| (least.as_secs_f64() * 1e9 - earliest_ns).abs() < 0.01;
        assert!(rows.iter().all(|row| within(row.goals[0].least)), "{:?}", rows[0].goals);
        assert!(rows.iter().all(|row| row.longest.map(|leg| leg.host.0) == Some(0)), "its sender's, at equal rates");
        let far = rows.iter().filter(|row| row.alone == of_way(102)).count();
        assert_eq!(far + rows.iter().filter(|row| row.alone == of_way(4)).count(), 16);
        far
    };
    assert!((1..16).contains(&alone("fresh", 4000.0 + 4.0 * 848.0)));
    // A packet may have a byte of a message and others of the one before: at three hops, and its share of headers at one.
    let shared = 3.0 * 61.0 * 0.8 + 1000.0 * 0.8 * 1520.0 / 1460.0;
    assert!([0, 16].contains(&alone("persistent", 4000.0 + shared)));
}

/// A message of 1000 B from host 0 to host 1, and one that it has for itself; then works of 10 us at both. 1040 B take
/// 832 ns at each of two hops of 1 us. The work on host 1 ends later by that, and is critical.
#[test]
fn pieces_have_their_times_and_a_message_to_its_own_host_takes_none() {
    let outcome = run(&(star(2, "10 Gbps", "name = 'dctcp'")
        + "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\ncount = 1\npieces = true\ndeadline = '20 us'\n\
           [traffic.roles]\na = 0\nb = { hosts = '0..2', pick = 'all' }\n\
           [[traffic.stage]]\nname = 'ask'\nfrom = 'a'\nto = 'b'\nsize = '1000 B'\n\
           [[traffic.stage]]\nname = 'work'\nat = 'b'\ntime = '10 us'\n"));
    let row = &outcome.stage_requests[0];
    let on_way = Span::from_nanos(2 * 832 + 2000);
    let work = Span::from_micros(10);
    let after = |span: Span| Some(row.arrival + span);
    let times = row.pieces.iter().map(|piece| (piece.from.0, piece.to.0, piece.ready, piece.began, piece.ended));
    let (now, there) = (after(Span::ZERO), after(on_way));
    assert_eq!(
        times.collect::<Vec<_>>(),
        [
            (0, 0, now, now, now),
            (0, 1, now, now, there),
            (0, 0, now, now, after(work)),
            (1, 1, there, there, after(on_way + work)),
        ]
    );
    assert_eq!(outcome.messages[0].number.0, 0, "a message to its own host has no number");
    let windows = row.windows.iter().map(|window| (window.from.0, window.to.0));
    assert_eq!(windows.collect::<Vec<_>>(), [(0, 1)]);
    let [asked, worked] = [10, 20].map(|micros| after(Span::from_micros(micros)));
    let due = row.pieces.iter().map(|piece| (piece.stage, piece.due, piece.is_critical));
    assert_eq!(due.collect::<Vec<_>>(), [(0, asked, false), (0, asked, true), (1, worked, false), (1, worked, true)]);
    // The work at host 1 would begin after 3.664 us, beyond the end of the run.
    let cut = run(&(star(2, "10 Gbps", "name = 'dctcp'").replace("'100 ms'", "'1002 us'\ncool_down = '0 s'")
        + "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\ncount = 1\npieces = true\n\
           [traffic.roles]\na = 0\nb = 1\n[[traffic.stage]]\nname = 'ask'\nfrom = 'a'\nto = 'b'\nsize = '1000 B'\n\
           [[traffic.stage]]\nname = 'work'\nat = 'b'\ntime = '10 us'\n"));
    let row = &cut.stage_requests[0];
    let times = row.pieces.iter().map(|piece| (piece.ready, piece.began, piece.ended, piece.is_critical));
    let now = Some(row.arrival);
    assert_eq!(times.collect::<Vec<_>>(), [(now, now, None, false), (None, None, None, false)]);
}

/// Each of three hosts sends to the next one, or to both others.
#[test]
fn hosts_send_to_the_next_or_to_all_others() {
    let pairs = |to: &str| {
        let outcome = ring(3, 1000, &format!("from = 'rank'\nto = '{to}'"));
        let mut pairs: Vec<(u32, u32)> = outcome.messages.iter().map(|sent| (sent.from.0, sent.to.0)).collect();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(pairs("next(rank)"), [(0, 1), (1, 2), (2, 0)]);
    assert_eq!(pairs("others(rank)"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
    let two = ring(2, 1000, "from = 'rank'\nto = 'next(rank)'");
    assert_eq!(two.messages.len(), 2);
}

/// Returns the error message for a mistaken class of requests, with its excerpt of the text.
fn mistake(keys: &str, stages: &str) -> String {
    let text = star(1001, "10 Gbps", "name = 'dctcp'")
        + &format!(
            "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\n{keys}\n[traffic.roles]\na = 0\nb = 1\nc = 2\n\
             three = {{ hosts = '0..3', pick = 'all' }}\nall = {{ hosts = '0..1000', pick = 'all' }}\nmore = {{ hosts = '0..1001', pick = 'all' }}\n{stages}"
        );
    let source = scenario::Source { name: "test", text: &text, folder: None };
    scenario::read(&source, &common::classic()).err().map(|error| error.to_string()).unwrap_or_default()
}

/// A million messages and works are possible. An all-reduce in a ring of three hosts is four stages.
#[test]
fn requests_of_too_many_pieces_are_refused() {
    let stage = |keys: &str| format!("[[traffic.stage]]\nname = 'one'\n{keys}\n");
    let sends = stage("from = 'more'\nto = 'all'\nsize = '1 KB'");
    assert!(mistake("", &sends).contains("1001000 messages and works, at most 1000000"));
    let rings = stage("at = 'three'\ncollective = 'all-reduce'\nsize = '1 KB'\nrepeat = 250001");
    assert!(mistake("", &rings).contains("1000004 stages are too many"));
}

#[test]
fn stages_that_begin_nowhere_are_refused_and_so_is_lateness_without_goals() {
    let first = "[[traffic.stage]]\nname = 'one'\nfrom = 'a'\nto = 'b'\nsize = '1 KB'\n";
    let then = |keys: &str| mistake("", &format!("{first}[[traffic.stage]]\nname = 'two'\n{keys}\n"));
    for (keys, shown) in
        [("from = 'c'\nto = 'a'\nsize = '1 KB'", "from = 'c'"), ("at = 'c'\ntime = '1 us'", "at = 'c'")]
    {
        let message = then(keys);
        let nowhere = "it follows `one`, and nothing of that ends at a host of role `c`";
        assert!(message.contains(nowhere) && message.contains(shown), "{message}");
    }
    // The sender of the first stage knows of the request; so does its receiver, and a host of both roles.
    for role in ["a", "b", "three"] {
        assert_eq!(then(&format!("at = '{role}'\ntime = '1 us'")), "", "{role}");
    }
    assert!(mistake("late = 'abandon'", first).contains("is never late"));
}

/// Two hosts work for different times. With a barrier both begin the next work when the later one has ended the first.
#[test]
fn barrier_lets_all_hosts_begin_together() {
    for barrier in [false, true] {
        let outcome = run(&(star(2, "10 Gbps", "name = 'dctcp'")
            + &format!(
                "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\ncount = 1\npieces = true\n\
                 [traffic.roles]\na = {{ hosts = '0..2', pick = 'all' }}\n\
                 [[traffic.stage]]\nname = 'first'\nat = 'a'\ntime = 'uniform(10 us, 90 us)'\nbarrier = true\n\
                 [[traffic.stage]]\nname = 'second'\nat = 'a'\ntime = '10 us'\nbarrier = {barrier}\n"
            )));
        let pieces = &outcome.stage_requests[0].pieces;
        let (ended, began) = ([pieces[0].ended, pieces[1].ended], [pieces[2].began, pieces[3].began]);
        assert_ne!(ended[0], ended[1]);
        assert_eq!(began, if barrier { [ended[0].max(ended[1]); 2] } else { ended });
    }
}

/// The last of equal pieces is the longest. A stage of which one of two repetitions has ended has not.
#[test]
fn repeated_stage_ends_with_its_last_repetition() {
    let works = |duration: &str| {
        let text =
            star(2, "10 Gbps", "name = 'dctcp'").replace("'100 ms'", &format!("'{duration}'\ncool_down = '0 s'"));
        let outcome = run(&(text
            + "[[traffic]]\nname = 'own'\npattern = 'stages'\nevery = '1 ms'\ncount = 1\npieces = true\n\
               [traffic.roles]\na = 0\n[[traffic.stage]]\nname = 'first'\nat = 'a'\ntime = '10 us'\n\
               [[traffic.stage]]\nname = 'second'\nat = 'a'\ntime = '10 us'\nrepeat = 2\n"));
        outcome.stage_requests[0].clone()
    };
    let ends = |row: &RequestRow| row.stages.iter().map(|stage| stage.end).collect::<Vec<_>>();
    let us = |micros| Some(Instant::from_micros(micros));
    let whole = works("2 ms");
    assert_eq!((ends(&whole), whole.end), (vec![us(1010), us(1030)], us(1030)));
    assert_eq!(whole.longest.map(|leg| leg.stage), Some(1));
    assert!(whole.pieces.iter().all(|piece| piece.is_critical));
    let cut = works("1025 us");
    assert_eq!((ends(&cut), cut.end, cut.longest), (vec![us(1010), None], None, None));
    assert!(cut.pieces.iter().all(|piece| !piece.is_critical));
}

#[test]
fn client_that_does_not_think_asks_again_at_once() {
    let outcome = run(&(star(2, "10 Gbps", "name = 'dctcp'")
        + "[[traffic]]\nname = 'own'\npattern = 'stages'\nclients = 1\ncount = 3\n[traffic.roles]\na = 0\n\
           [[traffic.stage]]\nname = 'work'\nat = 'a'\ntime = '10 us'\n"));
    let times = outcome.stage_requests.iter().map(|row| (row.arrival, row.end));
    let us = Instant::from_micros;
    assert_eq!(times.collect::<Vec<_>>(), [0, 10, 20].map(|micros| (us(micros), Some(us(micros + 10)))));
}

/// Homa limits the beginnings of answers that are asked for together, here of any. Messages of requests are no answers:
/// they begin as any message does.
#[test]
fn message_of_a_request_is_asked_for_with_no_other() {
    let took = |traffic: &str| {
        let outcome =
            run(&(star(2, "10 Gbps", "name = 'homa'\nincast_after = 0") + "[[traffic]]\nname = 'own'\n" + traffic));
        let message = outcome.messages[0];
        message.end.expect("it arrives") - message.start
    };
    let of_request = took(
        "pattern = 'stages'\nevery = '1 ms'\ncount = 1\n[traffic.roles]\na = 0\nb = 1\n\
         [[traffic.stage]]\nname = 'ask'\nfrom = 'a'\nto = 'b'\nsize = '100 KB'\n",
    );
    let alone = took("pattern = 'flows'\nflows = [{ from = 0, to = 1, size = '100 KB', start = '1 ms' }]\n");
    assert_eq!(of_request, alone);
    let answer = took("pattern = 'fan-in'\nleaves = 1\nevery = '1 ms'\ncount = 1\nsize = '100 KB'\n");
    assert!(answer > alone + Span::from_micros(1), "{answer} {alone}");
}
