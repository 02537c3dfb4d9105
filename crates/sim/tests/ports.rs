//! Ports with a queueing discipline or a marker from the lists, in a network.

use super::common;

use common::run;
use sim::Outcome;
use units::{Bytes, Instant};

fn star(network: &str, transport: &str, flows: &str) -> Outcome {
    run(&format!(
        "run = {{ duration = '400 ms' }}\n[transport]\n{transport}\n[network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\n\
         delay = '20 us'\nsharing = 'per-port'\n{network}\n[[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{flows}]"
    ))
}

/// Returns the arrival time of each message, and the drops of each link.
fn physics(outcome: &Outcome) -> (Vec<Option<Instant>>, Vec<u64>) {
    let ends = outcome.messages.iter().map(|message| message.end).collect();
    (ends, outcome.links.iter().map(|link| link.drops).collect())
}

#[test]
fn an_idle_port_sends_what_its_buffer_would_not_take() {
    for discipline in ["fifo", "priority", "pfabric"] {
        let network = format!("host_jitter = '0 s'\nbuffer = '1000 B'\ndiscipline = '{discipline}'");
        let outcome = star(&network, "name = 'tcp'", "{ from = 0, to = 3, size = '1460 B' }");
        assert_eq!(physics(&outcome), (vec![Some(Instant::from_micros(64))], vec![0; 8]), "{discipline}");
    }
}

/// Both in the cold state and built in: bursts that overflow a buffer of bytes, again after it has been empty.
#[test]
fn one_class_of_priorities_loses_and_delivers_what_fifo_does() {
    let burst = |start: u32| {
        let flow = |from: u32| format!("{{ from = {from}, to = 3, size = '14600 B', start = '{start} ms' }}");
        (0..3).map(flow).collect::<Vec<_>>().join(", ")
    };
    let of = |discipline: &str| {
        let network = format!("buffer = '20 KB'\ndiscipline = '{discipline}'");
        physics(&star(&network, "name = 'tcp'\ninitial_window = 10", &[burst(0), burst(200)].join(", ")))
    };
    let (ends, drops) = of("fifo");
    assert!(ends.iter().all(Option::is_some) && drops.iter().sum::<u64>() > 2);
    assert_eq!(of("priority"), (ends, drops));
}

/// Only data is late at its host: packets released by an ACK are sent at the same time as without a queue in the cold
/// state. If nothing is queued behind the packet sent first, the order is that of fifo.
#[test]
fn acknowledgements_are_not_late_at_ports_of_their_own_queue() {
    let ends = |discipline: &str| {
        let network = format!("discipline = '{discipline}'");
        physics(&star(&network, "name = 'tcp'\ninitial_window = 1", "{ from = 0, to = 3, size = '29200 B' }"))
    };
    assert_eq!(ends("pfabric"), ends("fifo"));
}

/// Two long messages fill a port of two packets from 56 us on. Two packets of a short one arrive at 132 and 144 us.
/// Each replaces one that is less urgent, waits for the end of at most one packet, and is sent.
#[test]
fn the_urgent_push_out_what_is_not() {
    let long = |from: u32| format!("{{ from = {from}, to = 3, size = '43800 B' }}");
    let flows = [long(0), long(1), "{ from = 2, to = 3, size = '2920 B', start = '100 us' }".to_string()].join(", ");
    let outcome = star("host_jitter = '0 s'\nbuffer = '2 packets'", "name = 'pfabric'\ninitial_window = 30", &flows);
    let short = outcome.messages[2];
    assert_eq!((short.bytes, short.retransmits), (Some(Bytes(2920)), 0));
    assert!(short.end.is_some_and(|end| end <= Instant::from_micros(188)), "{:?}", short.end);
    assert!(outcome.messages[0].retransmits + outcome.messages[1].retransmits > 2);
}
