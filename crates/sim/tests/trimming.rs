//! Trimming: switches drop payloads in place of packets, and senders learn of it at once.

use super::common::run;

use sim::Outcome;
use units::Span;

/// Two hosts send ten packets each to a third at 1 Gbps, 10 us away, whose port holds two. The retransmission timer
/// takes 20 ms.
fn two_to_one(transport: &str, network: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '100 ms'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\ndelay = '10 us'\n\
         sharing = 'per-port'\nbuffer = '2 packets'\nhost_jitter = '0 s'\n{network}\n[transport]\nname = '{transport}'\n\
         [[traffic]]\nname = 'own'\npattern = 'flows'\n\
         flows = [{{ from = 0, to = 2, size = '14600 B' }}, {{ from = 1, to = 2, size = '14600 B' }}]"
    ))
}

/// 20 packets of 12 us each need 240 us, headers of 64 B 0.5 us each. Some senders wait for a round trip of 65 us, with
/// the queue, before they send trimmed data again, and perhaps once more.
#[test]
fn what_is_trimmed_is_sent_again_within_a_round_trip() {
    for transport in ["dctcp", "tcp", "d2tcp", "homa"] {
        let outcome = two_to_one(transport, "trim = true");
        let counters = &outcome.counters;
        // Twice as much arrives as leaves: beyond two queued packets one of each two has no room.
        assert!((8..40).contains(&counters.trims), "{transport}: {counters:?}");
        assert_eq!((counters.drops, counters.timeouts), (0, 0), "{transport}");
        assert_eq!(counters.retransmits, counters.trims, "{transport}");
        assert_eq!(counters.packets_delivered, 20, "{transport}: data once, headers are none");
        for message in &outcome.messages {
            let took = message.end.expect("it is complete") - message.start;
            assert!(took < Span::from_micros(240 + 20 + 3 * 65), "{transport}: {took}");
        }
    }
    // Without trimming, the tail waits for the timer.
    let dropped = two_to_one("dctcp", "");
    assert!(dropped.counters.drops > 0 && dropped.counters.trims == 0);
    assert!(
        dropped
            .messages
            .iter()
            .any(|message| message.end.is_some_and(|end| end - message.start > Span::from_millis(20)))
    );
}

/// Two headers have room, more are dropped; then the timer is needed after all.
#[test]
fn headers_have_a_limit_too() {
    let outcome = two_to_one("dctcp", "trim = true\ntrim_buffer = '1 packets'\ntrim_size = '1000 B'");
    assert!(outcome.counters.trims > 0 && outcome.counters.drops > 0, "{:?}", outcome.counters);
}

/// A header takes 0.5 us, and every second packet of 12 us is trimmed: six have room for all of them, one after the other.
#[test]
fn headers_that_are_sent_make_room_for_others() {
    let counters = two_to_one("dctcp", "trim = true\ntrim_buffer = '6 packets'").counters;
    assert!(counters.trims > 6 && counters.drops == 0, "{counters:?}");
}

/// Nothing else changes: with room for everything, all bytes are the same as without trimming.
#[test]
fn with_room_nothing_is_trimmed() {
    let text = |trim: &str| format!("{trim}\nmark = '3 packets'");
    let with = run_roomy(&text("trim = true"));
    assert_eq!(with.counters.trims, 0);
    let ends = |outcome: &Outcome| outcome.messages.iter().map(|message| message.end).collect::<Vec<_>>();
    assert_eq!(ends(&with), ends(&run_roomy(&text(""))));
}

fn run_roomy(network: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '100 ms'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\ndelay = '10 us'\n\
         sharing = 'per-port'\nbuffer = '200 packets'\nhost_jitter = '0 s'\n{network}\n[transport]\nname = 'dctcp'\n\
         loss_detection = 'rack'\n[[traffic]]\nname = 'own'\npattern = 'flows'\n\
         flows = [{{ from = 0, to = 2, size = '146 KB' }}, {{ from = 1, to = 2, size = '146 KB' }}]"
    ))
}
