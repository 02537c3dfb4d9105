//! Receivers that order window transports by the windows that they advertise.

use super::common;

use common::run;
use sim::Outcome;
use sim::outcome::Message;
use transport::controllers::Window;
use transport::registry::TRANSPORTS;

use super::threads::{ALONE, IN_TURNS, TOGETHER, by, same};

/// Twenty answers of 300 KB into a port of 100 packets at 1 Gbps; due within 30 ms and 60 ms.
fn burst(transport: &str, more: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '200 ms'\n[network]\ntopology = 'star'\nhosts = 22\nrate = '1 Gbps'\ndelay = '5 us'\n\
         buffer = '100 packets'\nsharing = 'per-port'\nmark = '20 packets'\n[transport]\n{transport}\n\
         [[traffic]]\nname = 'soon'\npattern = 'periodic'\nfrom = '0..10'\nto = 21\nsize = '300 KB'\ndeadline = '30 ms'\nevery = '1 s'\n\
         [[traffic]]\nname = 'later'\npattern = 'periodic'\nfrom = '10..20'\nto = 21\nsize = '300 KB'\ndeadline = '60 ms'\nevery = '1 s'\n{more}"
    ))
}

fn missed(outcome: &Outcome) -> usize {
    let is_late = |message: &&Message| {
        message.deadline.is_some_and(|allowed| message.end.is_none_or(|end| end > message.start + allowed))
    };
    outcome.messages.iter().filter(is_late).count()
}

/// On the wire 300 KB are 206 packets, 2.47 ms: ten end after 24.7 ms, and twenty after 49.4 ms. A law that keeps a
/// twentieth of the link free takes 26 ms. Without an order the first ten end near the end of the burst.
#[test]
fn every_window_transport_is_in_time_by_the_order_of_deadlines() {
    for entry in TRANSPORTS.iter().filter(|entry| entry.by_senders()) {
        let stock = burst(&format!("name = '{}'", entry.name), "");
        let ordered = burst(&format!("name = '{}'\nreceiver = 'edf'", entry.name), "");
        // pFabric's timeout of three round trips is shorter than the wait for a turn.
        let drops = if entry.needs.discipline.is_none() { 0 } else { stock.counters.drops };
        assert!(ordered.counters.drops <= drops, "{}: {} of {drops}", entry.name, ordered.counters.drops);
        assert!(ordered.messages.iter().all(|message| message.end.is_some()), "{}", entry.name);
        // A law that paces by deadlines itself has an order of its own, and both together are none.
        let law = entry.with(&[]).expect("defaults").control;
        if !law.law().is_some_and(Window::paces) {
            assert_eq!(missed(&ordered), 0, "{}: {} without an order", entry.name, missed(&stock));
        }
    }
    assert!(missed(&burst("name = 'cubic'", "")) >= 9, "the order decides");
}

/// A flow without a deadline has two segments of the credit of 22 at least, and all of it when there are no messages.
/// Twenty messages take 49.4 ms of 60 then, or a tenth longer.
#[test]
fn a_flow_without_a_deadline_goes_on() {
    let long = "[[traffic]]\nname = 'copy'\npattern = 'long'\nfrom = 20\nto = 21\n";
    let outcome = burst("name = 'cubic'\nreceiver = 'edf'\nreceiver_floor = 0", long);
    let all = outcome.classes.iter().map(|class| class.delivered_bytes.0).sum::<u64>();
    // 200 ms at 1 Gbps with headers: 1460 of 1500 bytes are payload.
    assert!(all as f64 > 0.99 * 25e6 * 1460.0 / 1500.0, "{all}");
    assert!(missed(&outcome) == 0, "{}", missed(&outcome));
}

#[test]
fn threads_give_equal_bytes() {
    let text = "[run]\nduration = '20 ms'\n[network]\ntopology = 'leaf-spine'\nleaves = 4\nhosts_per_leaf = 4\nspines = 2\n\
        uplink = '2 Gbps'\nrate = '1 Gbps'\ndelay = '20 us'\nbuffer = '40 KB'\nmark = '12 packets'\n[transport]\nname = 'dctcp'\n\
        receiver = 'edf'\nrto_min = '5 ms'\n[[traffic]]\nname = 'answers'\npattern = 'fan-in'\nleaves = 10\nparents = 2\n\
        every = '4 ms'\nsize = 'uniform(4 KB, 30 KB)'\ndeadline = { base = '4 ms', vary = 'uniform(0, 50%)' }\n\
        [[traffic]]\nname = 'pages'\npattern = 'poisson'\nload = '30%'\nsize = 'cdf(websearch)'\nconnections = 'persistent'\n";
    let alone = run(text);
    assert!(alone.messages.len() > 100);
    for (threads, ways) in [(2, ALONE), (3, TOGETHER), (4, IN_TURNS)] {
        same(&by(text, threads, ways), &alone, &format!("{threads} threads"));
    }
}
