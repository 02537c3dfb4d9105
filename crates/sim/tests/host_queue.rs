//! The queue of a host: its length at the port, and the order of the senders.

use super::common;

use common::run;
use sim::Outcome;

const WINDOW_TRANSPORTS: [&str; 6] = ["tcp", "cubic", "dctcp", "d2tcp", "xdctcp", "d2tcp_plus"];

/// A star at 1 Gbps with 5 us of propagation on each link.
fn star(hosts: u32, network: &str, transport: &str, rest: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '30 ms'\nwarm_up = '10 ms'\n[network]\ntopology = 'star'\nhosts = {hosts}\nrate = '1 Gbps'\n\
         delay = '5 us'\nhost_jitter = '0 s'\n{network}\n[transport]\n{transport}\n{rest}"
    ))
}

fn long(name: &str, to: u32, start: &str) -> String {
    format!("[[traffic]]\nname = '{name}'\npattern = 'long'\nfrom = 0\nto = {to}\nstart = '{start}'\n")
}

/// Mean and maximum of the queue at the port of host 0, in packets.
fn queue_of_host(outcome: &Outcome) -> (f64, u64) {
    let queue = &outcome.links.iter().find(|link| link.from == "host 0").expect("host 0 has a link").queue;
    (queue.mean, queue.max)
}

/// 1666.7 full packets of 1460 B are sent in 20 ms.
const WIRE: u64 = 1460 * 1667;

#[test]
fn fair_queue_shares_the_port_whatever_the_head_start() {
    for name in WINDOW_TRANSPORTS {
        let flows = long("first", 1, "0 s") + &long("second", 2, "5 ms");
        let outcome = star(3, "host_queue = 'fair'", &format!("name = '{name}'"), &flows);
        let [first, second] = [0, 1].map(|class| outcome.classes[class].delivered_bytes.0);
        // One packet each in turn; the wire is never idle.
        assert!(first.abs_diff(second) <= 2 * 1460, "{name}: {second} of {first}");
        assert!((first + second).abs_diff(WIRE) <= 2 * 1460, "{name}: {}", first + second);
        // One packet is in transmission, one is queued, and there are no others.
        let (mean, max) = queue_of_host(&outcome);
        assert!(max == 1 && mean > 0.99, "{name}: {mean}, {max}");
    }
}

/// 10 KB are seven packets. Two packets of the long flow are at the port; then each flow sends one in turn, 14 packets
/// of 12 us in all. The last one takes 12 us at the switch too, and 10 us of propagation.
#[test]
fn fair_queue_lets_a_short_message_pass_a_long_one() {
    let flows = "[[traffic]]\nname = 'long'\npattern = 'flows'\nflows = [{ from = 0, to = 1, size = '20 MB' }]\n\
                 [[traffic]]\nname = 'short'\npattern = 'flows'\n\
                 flows = [{ from = 0, to = 2, size = '10 KB', start = '15 ms' }]\n";
    let fct = |network: &str| {
        let outcome = star(3, network, "name = 'dctcp'", flows);
        let short = outcome.messages.iter().find(|message| message.bytes.is_some_and(|bytes| bytes.0 == 10_000));
        let short = short.expect("it was sent");
        short.end.map_or(f64::INFINITY, |end| (end - short.start).as_micros_f64())
    };
    let fair = fct("host_queue = 'fair'");
    assert!(fair <= 16.0 * 12.0 + 12.0 + 10.0 && fair > 14.0 * 12.0, "{fair} us");
    // 1 ms of the long flow's data precedes it in the first in, first out queue that Linux had.
    let fifo = fct("host_queue = 'fifo'");
    assert!((900.0..1200.0).contains(&fifo), "{fifo} us");
    // Without a limit, all data of the long flow's window precede it.
    let unlimited = fct("host_queue = 'unlimited'");
    assert!(unlimited > 4000.0, "{unlimited} us");
}

#[test]
fn host_buffer_is_the_most_that_waits_at_the_port() {
    for (queue, buffer, most) in [
        ("fair", "1 packets", 0),
        ("fair", "1 B", 0),
        ("fair", "5 packets", 4),
        ("fair", "7500 B", 4),
        ("fifo", "40 packets", 39),
    ] {
        let network = format!("host_queue = '{queue}'\nhost_buffer = '{buffer}'");
        let outcome = star(2, &network, "name = 'dctcp'", &long("alone", 1, "0 s"));
        assert!(outcome.classes[0].delivered_bytes.0.abs_diff(WIRE) <= 1460, "{queue} with {buffer}");
        assert_eq!(queue_of_host(&outcome).1, most, "{queue} with {buffer}");
    }
}

/// 1 ms takes 125 KB at 1 Gbps and 1.25 MB at 10 Gbps: 85 and 856 segments of 1460 B, one of which is in transmission.
#[test]
fn fifo_queue_holds_a_millisecond_of_the_own_port_of_each_host() {
    let outcome = run(&format!(
        "[run]\nduration = '30 ms'\n[network]\ntopology = 'custom'\nhosts = 3\nswitches = ['s']\nrate = '40 Gbps'\ndelay = '5 us'\n\
         host_jitter = '0 s'\nhost_queue = 'fifo'\nlinks = [{{ from = 0, to = 's', rate = '1 Gbps' }}, \
         {{ from = 1, to = 's', rate = '10 Gbps' }}, {{ from = 2, to = 's' }}]\n\
         [transport]\nname = 'dctcp'\n{}",
        "[[traffic]]\nname = 'long'\npattern = 'long'\nfrom = [0, 1]\nto = 2\n"
    ));
    let longest = |host: &str| outcome.links.iter().find(|link| link.from == host).expect("it has a link").queue.max;
    assert_eq!([longest("host 0"), longest("host 1")], [84, 855]);
}

/// Each of eight senders begins when the others have long been sending; in its turn it sends one packet of eight.
#[test]
fn fair_queue_serves_many_senders_in_turn() {
    let flows: String =
        (0..8).map(|index| long(&format!("flow {index}"), 1 + index, &format!("{} us", 1000 * index))).collect();
    let outcome = star(9, "host_queue = 'fair'", "name = 'dctcp'", &flows);
    for class in &outcome.classes {
        assert!(class.delivered_bytes.0.abs_diff(WIRE / 8) <= 2 * 1460, "{}", class.delivered_bytes.0);
    }
}

/// Granted data are sent when the link is idle, in their turn: they get no less than a window transport beside them.
#[test]
fn grants_and_windows_share_a_fair_port() {
    for name in ["homa", "sird", "edf-grants"] {
        let flows = "[[traffic]]\nname = 'windows'\npattern = 'long'\nfrom = 0\nto = 1\ntransport = 'dctcp'\n\
                     [[traffic]]\nname = 'grants'\npattern = 'flows'\nflows = [{ from = 0, to = 2, size = '4 MB' }]\n";
        let outcome = star(3, "host_queue = 'fair'", &format!("name = '{name}'"), flows);
        let [windows, grants] = [0, 1].map(|class| outcome.classes[class].delivered_bytes.0);
        assert!((windows + grants).abs_diff(WIRE) <= 4 * 1460, "{name}: {}", windows + grants);
        assert!(grants * 10 > (windows + grants) * 4, "{name}: {grants} beside {windows}");
    }
}
