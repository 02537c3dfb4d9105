//! A run continues after its measured time until every counted message is decided, and no longer.

use super::common;

use sim::{Outcome, World};
use units::{ClassId, Instant};

const NETWORK: &str = "[network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '20 us'\n\
                       [transport]\nname = 'dctcp'\n";

fn run(section: &str, traffic: &str) -> Outcome {
    let text = format!("[run]\n{section}\n{NETWORK}{traffic}");
    let source = scenario::Source { name: "test", text: &text, folder: None };
    let read = scenario::read(&source, &common::classic());
    let mut world = World::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario);
    while world.advance(1000) {}
    world.finish()
}

/// Returns 1 MB at 5 ms: with its headers 8.22 ms on the link and a slow start before.
fn one(deadline: &str) -> String {
    format!(
        "[[traffic]]\nname = 'a'\npattern = 'flows'\n\
         flows = [ {{ from = 0, to = 3, size = '1 MB', start = '5 ms', {deadline} }} ]\n"
    )
}

/// A message of 1 KB every 100 us, without deadlines.
const BESIDE: &str =
    "[[traffic]]\nname = 'b'\npattern = 'periodic'\nfrom = 1\nto = 2\nevery = '100 us'\nsize = '1 KB'\n";

#[test]
fn it_ends_with_the_last_decision() {
    let met = run("duration = '6 ms'", &one("deadline = '20 ms'"));
    let end = met.messages[0].end.expect("it arrives");
    assert_eq!((met.simulated, met.ended), (Instant::from_millis(6), end));
    assert!(end > Instant::from_millis(13) && end < Instant::from_millis(15), "{end}");
    // Late messages are waited for too, unless the run waits for deadlines only.
    let late = run("duration = '6 ms'", &one("deadline = '8 ms'"));
    assert_eq!((late.ended, late.messages[0].end), (end, Some(end)));
    let missed = run("duration = '6 ms'\nwait_for = 'deadlines'", &one("deadline = '8 ms'"));
    assert_eq!((missed.ended, missed.messages[0].end), (Instant::from_millis(13), None));
}

#[test]
fn it_is_bounded() {
    let cut = run("duration = '6 ms'\ncool_down = '2 ms'", &one("deadline = '20 ms'"));
    assert_eq!((cut.ended, cut.messages[0].end), (Instant::from_millis(8), None));
    let off = run("duration = '6 ms'\ncool_down = '0 s'", &one("deadline = '20 ms'"));
    assert_eq!((off.ended, off.messages[0].end), (Instant::from_millis(6), None));
    // By default 1 s, if the duration is shorter: another message occupies the link for hours.
    let flows = "flows = [ { from = 0, to = 3, size = '1 TB', deadline = '1000 s' } ]\n";
    let slow = run("duration = '1 ms'", &format!("[[traffic]]\nname = 'a'\npattern = 'flows'\n{flows}"));
    assert_eq!(slow.ended, Instant::from_millis(1001));
}

#[test]
fn arrivals_are_waited_for_as_long_as_the_duration_says() {
    let endless = |section: &str, deadline: &str| {
        let flow = format!("flows = [ {{ from = 0, to = 3, size = '1 TB', {deadline} }} ]\n");
        run(section, &format!("[[traffic]]\nname = 'a'\npattern = 'flows'\n{flow}")).ended
    };
    // Ten times the duration, 1 s at most, and the duration if that is more.
    assert_eq!(endless("duration = '2 ms'", ""), Instant::from_millis(22));
    assert_eq!(endless("duration = '200 ms'", ""), Instant::from_millis(1200));
    assert_eq!(endless("duration = '1200 ms'", ""), Instant::from_millis(2400));
    assert_eq!(endless("duration = '2 ms'\ncool_down = '3 ms'", ""), Instant::from_millis(5));
    // For a deadline beyond that, until it has passed.
    assert_eq!(endless("duration = '2 ms'", "deadline = '5 ms'"), Instant::from_millis(22));
    assert_eq!(endless("duration = '2 ms'", "deadline = '50 ms'"), Instant::from_millis(50));
}

#[test]
fn messages_without_deadlines_are_waited_for() {
    for section in ["", "cool_down = '1 s'", "cool_down = '1 s'\nwait_for = 'deadlines'"] {
        let waited = run(&format!("duration = '6 ms'\n{section}"), &one(""));
        let end = waited.messages[0].end.expect("it arrives");
        assert!(waited.ended == end && end > Instant::from_millis(13), "{section}");
    }
    let plain = run("duration = '6 ms'\nwait_for = 'deadlines'", &one(""));
    assert_eq!((plain.ended, plain.messages[0].end), (Instant::from_millis(6), None));
    // A flow without end is not waited for.
    let long = "[[traffic]]\nname = 'a'\npattern = 'long'\nfrom = 0\nto = 3\n";
    assert_eq!(run("duration = '6 ms'\ncool_down = '1 s'", long).ended, Instant::from_millis(6));
}

#[test]
fn traffic_goes_on_and_is_not_counted() {
    let text = one("deadline = '20 ms'") + BESIDE;
    let outcome = run("duration = '6 ms'\nwarm_up = '1 ms'", &text);
    let started = |from: u64, to: u64| {
        let within = |start: Instant| (Instant::from_micros(from)..Instant::from_micros(to)).contains(&start);
        outcome.messages.iter().filter(|message| message.class == ClassId(1) && within(message.start)).count()
    };
    let all = outcome.messages.iter().filter(|message| message.class == ClassId(1));
    assert_eq!(all.clone().filter(|message| outcome.counts(message.start)).count(), started(1000, 6000));
    assert_eq!(started(1000, 6000), 50);
    assert!(started(6000, 13_000) == 70, "traffic goes on");
}

#[test]
fn what_is_measured_is_that_of_the_duration() {
    let text = one("deadline = '20 ms'") + BESIDE;
    let (with, without) = (run("duration = '6 ms'", &text), run("duration = '6 ms'\ncool_down = '0 s'", &text));
    assert!(with.ended > without.ended);
    assert_eq!((with.links, with.counters), (without.links, without.counters));
    assert_eq!(with.classes, without.classes);
}

#[test]
fn answers_of_a_query_that_counts_are_waited_for() {
    // Asked at 5.9 ms; parents stop waiting at 60 % of the deadline and answer then, after the end.
    let tree = "[[traffic]]\nname = 'q'\npattern = 'fan-in'\nlevels = 2\nbranches = 1\nleaves = 1\ncount = 1\n\
                start = '4.9 ms'\nevery = '1 ms'\nsize = '1 MB'\ndeadline = { base = '10 ms' }\n";
    let outcome = run("duration = '6 ms'", tree);
    assert!(outcome.queries.iter().all(|query| outcome.counts(query.start)));
    let root = outcome.messages.iter().find(|message| message.place.is_some_and(|place| place.level == 0));
    let root = root.expect("the parent's answer starts, though after the end");
    assert!(root.start > Instant::from_millis(6));
    assert_eq!(root.end, Some(outcome.ended));
}

#[test]
fn messages_of_a_list_that_start_too_late_are_counted_apart() {
    let flows = "[[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\n\
                 { from = 0, to = 3, size = '1 KB' },\n\
                 { from = 0, to = 3, size = '1 KB', start = '6 ms' },\n\
                 { from = 0, to = 3, size = '1 KB', start = '9 ms' } ]\n";
    assert_eq!(run("duration = '6 ms'", flows).classes[0].too_late, 2);
    assert_eq!(run("duration = '10 ms'", flows).classes[0].too_late, 0);
}
