//! Deadlines that are multiples of the time that a message takes in an empty network.

use super::common;
use super::threads::{TOGETHER, by, same};

use std::collections::BTreeSet;

use common::run;
use sim::outcome::Message;
use units::{Instant, Span};

/// A star of six hosts: a full packet takes 12 us on each of two links, and each link delays it by 20 us.
fn star(run_keys: &str, classes: &str) -> String {
    format!(
        "[run]\nduration = '20 ms'\n{run_keys}\n[network]\ntopology = 'star'\nhosts = 6\nrate = '1 Gbps'\n\
         delay = '20 us'\nhost_jitter = '0 s'\n[transport]\nname = 'tcp'\n[[traffic]]\nname = 'a'\n{classes}\n"
    )
}

fn factor(message: &Message) -> f64 {
    message.deadline.unwrap().0 as f64 / message.ideal.unwrap().0 as f64
}

#[test]
fn a_listed_message_is_due_at_a_multiple_of_its_ideal_time() {
    let flows = "pattern = 'flows'\nflows = [\n\
         { from = 0, to = 5, size = '2920 B', start = '3 ms', deadline = '4 ms' },\n\
         { from = 0, to = 5, size = '14600 B', start = '1 ms', deadline = '2.5 * alone' },\n\
         { from = 1, to = 5, size = '1460 B', start = '2 ms', deadline = 'alone' },\n\
         { from = 2, to = 5, size = '1460 B', start = '4 ms' },\n]";
    for (keys, scale) in [("", 1), ("deadline_factor = 2", 2)] {
        let outcome = run(&star(keys, flows));
        let deadlines: Vec<_> = outcome.messages.iter().map(|message| message.deadline).collect();
        // Ten packets: 11 * 12 us + 2 * 20 us. One packet: 2 * 12 us + 2 * 20 us.
        let micros = [430, 64, 4000].map(|due| Some(Span::from_micros(due * scale)));
        assert_eq!(deadlines, [&micros[..], &[None]].concat(), "in the order of their starts");
        assert!(outcome.messages.iter().all(|message| message.end.unwrap() - message.start >= message.ideal.unwrap()));
    }
}

#[test]
fn a_query_is_due_when_its_last_answer_is() {
    let class = "pattern = 'fan-in'\nleaves = 5\ncount = 4\nevery = '4 ms'\nsize = 'uniform(1 KB, 90 KB)'\n\
         jitter = 'uniform(0 us, 300 us)'\ndeadline = 'uniform(2, 3) * alone'";
    let outcome = run(&star("", class));
    assert_eq!((outcome.queries.len(), outcome.messages.len()), (4, 20));
    for query in &outcome.queries {
        let answers = outcome.messages.iter().filter(|message| message.query == Some(query.number));
        let due = answers.map(|answer| answer.start + answer.deadline.unwrap() - query.start).max();
        assert_eq!(query.deadline, due);
    }
    assert!(outcome.messages.iter().all(|message| (2.0..3.0).contains(&factor(message))));
}

/// Two routes with one number of hops, through a fast and a slow switch.
const TWO_ROUTES: &str = "topology = 'custom'\nhosts = 8\nrate = '10 Gbps'\nswitches = ['left', 'fast', 'slow', 'right']\n\
    links = [{ from = '0..4', to = 'left' }, { from = '4..8', to = 'right' }, { from = 'left', to = 'fast' }, \
    { from = 'fast', to = 'right' }, { from = 'left', to = 'slow', rate = '1 Gbps' }, { from = 'slow', to = 'right' }]";

/// Messages of one size at random times between random hosts, three times alone.
fn random(network: &str, connections: &str) -> String {
    format!(
        "[run]\nduration = '6 ms'\nwait_for = 'deadlines'\n[network]\n{network}\ndelay = '20 us'\n[transport]\nname = 'dctcp'\n\
         [[traffic]]\nname = 'a'\npattern = 'poisson'\nload = '20%'\nsize = '30 KB'\ndeadline = '3 * alone'\n\
         connections = '{connections}'\n"
    )
}

#[test]
fn the_time_alone_is_that_of_the_message_s_own_route() {
    for connections in ["fresh", "persistent"] {
        let outcome = run(&random(TWO_ROUTES, connections));
        let times: BTreeSet<Option<Span>> = outcome.messages.iter().map(|message| message.ideal).collect();
        assert_eq!(times.len(), 4, "below one switch, through the fast one, through the slow one both ways: {times:?}");
        for message in &outcome.messages {
            assert_eq!(message.deadline, message.ideal.map(|alone| Span(3 * alone.0)), "{connections}: {message:?}");
        }
    }
}

#[test]
fn threads_set_the_same_deadlines() {
    let network =
        "topology = 'leaf-spine'\nleaves = 4\nhosts_per_leaf = 4\nspines = 2\nrate = '1 Gbps'\nuplink = '2 Gbps'";
    let drawn = |connections| random(network, connections).replace("3 * alone", "uniform(1.5, 10) * alone");
    let fan_in = "[[traffic]]\nname = 'b'\npattern = 'fan-in'\nleaves = 6\nparents = 2\nevery = '1 ms'\nsize = '9 KB'\n\
         deadline = 'exponential(4) * alone'\n";
    for connections in ["fresh", "persistent"] {
        let text = drawn(connections) + fan_in;
        let alone = run(&text);
        assert!(alone.messages.iter().any(|message| {
            message.end.is_none_or(|end| message.deadline.is_some_and(|allowed| end > message.start + allowed))
        }));
        same(&alone, &by(&text, 2, TOGETHER), connections);
    }
}

#[test]
fn a_drawn_multiple_decides_a_request_s_deadline() {
    let stages = "pattern = 'stages'\nevery = '2 ms'\ndeadline = 'uniform(2, 3) * alone'\n\
         [traffic.roles]\nfront = 0\nback = '1..6'\n[[traffic.stage]]\nname = 'ask'\nfrom = 'front'\nto = 'back'\nsize = '1460 B'\n";
    let outcome = run(&star("", stages));
    let factors: BTreeSet<u64> = outcome
        .stage_requests
        .iter()
        .map(|request| (1e6 * request.goals[0].within.0 as f64 / request.goals[0].alone.0 as f64).round() as u64)
        .collect();
    assert_eq!((factors.len(), outcome.stage_requests.len()), (10, 10));
    assert!(factors.iter().all(|factor| (2_000_000..3_000_000).contains(factor)), "{factors:?}");
    assert!(outcome.messages.iter().all(|message| message.start >= Instant::ZERO));
}
