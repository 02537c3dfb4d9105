//! State that connections of one host share, in the smallest family with such state. A host lets one of its connections
//! send at a time, in the order of deadlines. After a first request it waits 100 us for requests of others.

use super::common;

use sim::World;
use sim::outcome::Outcome;
use transport::registry::Control;
use transport::testing;
use units::{Instant, Span};

/// Runs messages of ten segments on a star at 1 Gbps with 5 us per link, each `(from, to, start in us, deadline in
/// us)`.
fn run(messages: &[(u32, u32, u32, u32)]) -> Outcome {
    let flows: Vec<String> = messages
        .iter()
        .map(|(from, to, start, deadline)| {
            let times = format!("start = '{start} us', deadline = '{deadline} us'");
            format!("{{ from = {from}, to = {to}, size = '14600 B', {times} }}")
        })
        .collect();
    let text = format!(
        "[run]\nduration = '10 ms'\n[network]\ntopology = 'star'\nhosts = 6\nrate = '1 Gbps'\ndelay = '5 us'\n\
         host_jitter = '0 s'\n[transport]\nname = 'tcp'\n[[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{}]\n",
        flows.join(",\n")
    );
    let source = scenario::Source { name: "test", text: &text, folder: None };
    let read = scenario::read(&source, &common::classic()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut scenario = read.scenario;
    scenario.transports[0].config.control = Control::Trial(testing::Config { gather: Span::from_micros(100) });
    let mut world = World::new(scenario);
    while world.advance(1 << 20) {}
    world.finish()
}

/// Returns the arrival time of each message, in the order of their senders.
fn ends(outcome: &Outcome) -> Vec<Option<Instant>> {
    let mut messages: Vec<_> = outcome.messages.iter().collect();
    messages.sort_by_key(|message| message.from);
    messages.into_iter().map(|message| message.end).collect()
}

fn at(nanos: u64) -> Option<Instant> {
    Some(Instant::from_nanos(nanos))
}

/// A packet without data takes 0.32 us per hop, a full one 12, and propagation 10 us to the other host. A first request
/// arrives after 10.64 us and its grant 110.64 us later, at 121.28; the last of ten packets arrives 142 us after that.
/// The next grant is sent behind the ACK of that packet, after 0.64 us, and its data arrive 152.96 us later.
#[test]
fn a_receiving_host_lets_its_connections_send_in_the_order_of_deadlines() {
    let outcome = run(&[(0, 3, 0, 3000), (1, 3, 0, 2000), (2, 3, 0, 1000)]);
    assert_eq!(ends(&outcome), [at(569_200), at(416_240), at(263_280)]);
}

#[test]
fn hosts_do_not_wait_for_each_other() {
    let outcome = run(&[(0, 3, 0, 3000), (1, 4, 0, 2000), (2, 5, 0, 1000)]);
    assert_eq!(ends(&outcome), [at(263_280); 3]);
}

/// Requests that arrive while another connection has the grant: the earlier deadline is first, although it was
/// requested last. Each of the two takes 0.32 us at the port where data are queued. A host that had nothing to grant
/// waits again.
#[test]
fn the_order_is_that_of_deadlines_not_of_requests() {
    let outcome = run(&[(0, 3, 0, 1000), (1, 3, 150, 3000), (2, 3, 200, 2000), (4, 3, 2000, 1000)]);
    assert_eq!(ends(&outcome), [at(263_920), at(569_840), at(416_880), at(2_263_280)]);
}
