//! Effects of one host on another take the propagation delay.

use super::common;

use common::run;
use sim::Outcome;

/// Sends messages of one packet over a route of 20 ms, 40 ms there and back, with this retransmission timeout.
fn far_away(rto: &str, messages: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '400 ms'\n[network]\ntopology = 'star'\nhosts = 2\nrate = '1 Gbps'\ndelay = '10 ms'\nhost_jitter = '0 s'\n\
         [transport]\nname = 'tcp'\nhandshake = false\nack_every = 1\nrto_min = '{rto}'\nrto_initial = '{rto}'\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{messages}]\n"
    ))
}

#[test]
fn a_receiver_answers_what_was_sent_twice_until_it_learns_that_the_sender_has_closed() {
    let one = "{ from = 0, to = 1, size = '1 KB' }";
    // The message is acknowledged at 40 ms. The retransmission of 30 ms arrives at 50 ms. The receiver learns at 60 ms
    // that the sender has closed.
    let outcome = far_away("30 ms", one);
    let counters = &outcome.counters;
    assert_eq!((counters.timeouts, counters.retransmits), (1, 1));
    assert_eq!((counters.packets_sent, counters.packets_received, counters.packets_delivered), (4, 4, 2));
    // With a longer timeout there is one packet and one acknowledgement.
    let counters = far_away("50 ms", one).counters;
    assert_eq!((counters.packets_sent, counters.packets_received, counters.retransmits), (2, 2, 0));
}

#[test]
fn a_message_after_another_is_none_of_its_business() {
    // The first sender has closed at 40 ms, and its receiver knows at 60 ms. Between them a second message starts, with
    // an id of its own; a later one may reuse the id of the first.
    let starts = ["0 ms", "41 ms", "59 ms", "61 ms", "130 ms"];
    let list = starts.map(|start| format!("{{ from = 0, to = 1, size = '1 KB', start = '{start}' }}")).join(", ");
    let outcome = far_away("30 ms", &list);
    let alone = far_away("30 ms", "{ from = 0, to = 1, size = '1 KB' }");
    let fct = |outcome: &Outcome, row: usize| outcome.messages[row].end.map(|end| end - outcome.messages[row].start);
    for row in 0..starts.len() {
        let message = &outcome.messages[row];
        assert_eq!(fct(&outcome, row), fct(&alone, 0), "{row}");
        assert_eq!((message.retransmits, message.timeouts), (1, 1), "{row}");
    }
    assert_eq!(outcome.counters.packets_sent, 5 * alone.counters.packets_sent);
}
