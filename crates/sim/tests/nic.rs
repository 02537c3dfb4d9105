//! Limits on a connection's data at its own host's port.

use super::common;

use common::run;
use units::Bytes;

/// Returns the payload of two long flows from host 0 to hosts 1 and 2, between 10 and 30 ms; the second begins at
/// `later`. Propagation takes 5 us per link at 1 Gbps.
fn delivered(transport: &str, later: &str) -> [u64; 2] {
    let long = |name: &str, to: u32, start: &str| {
        format!("[[traffic]]\nname = '{name}'\npattern = 'long'\nfrom = 0\nto = {to}\nstart = '{start}'\n")
    };
    let text = format!(
        "[run]\nduration = '30 ms'\nwarm_up = '10 ms'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\n\
         delay = '5 us'\nhost_jitter = '0 s'\n[transport]\n{transport}\n{}{}",
        long("first", 1, "0 s"),
        long("second", 2, later)
    );
    let outcome = run(&text);
    [0, 1].map(|class| outcome.classes[class].delivered_bytes.0)
}

/// In 20 ms 1666.7 full packets are sent, 1460 B each.
const WIRE: u64 = 1460 * 1667;

#[test]
fn a_head_start_takes_the_port_from_others_unless_what_waits_there_is_limited() {
    for name in ["tcp", "cubic", "dctcp"] {
        // Nothing is ever lost: in the 5 ms before, the first has put more than 400 packets into the port, and each ACK
        // adds one for either. The second has its first ten among them.
        let [first, second] = delivered(&format!("name = '{name}'"), "5 ms");
        assert!(second * 10 < first, "{name}: {second} of {first}");
        // Two packets of each are queued in turn, from the beginning on.
        for limit in ["2 packets", "2920 B", "4379 B"] {
            let [first, second] = delivered(&format!("name = '{name}'\nnic_limit = '{limit}'"), "5 ms");
            assert!(first.abs_diff(second) <= 2 * 1460, "{name} with {limit}: {second} of {first}");
            assert!((first + second).abs_diff(WIRE) <= 2 * 1460, "{name} with {limit}: {}", first + second);
        }
    }
}

/// The next packet is queued when the last bit of the previous one has been sent, so that the wire is never idle.
#[test]
fn a_limit_costs_a_connection_that_is_alone_nothing() {
    for limit in ["1 packets", "1 B", "40 packets"] {
        let [alone, none] = delivered(&format!("name = 'tcp'\nnic_limit = '{limit}'"), "40 ms");
        assert!(alone.abs_diff(WIRE) <= 1460 && none == 0, "{alone} with {limit}");
    }
    let unit = Bytes(1460);
    assert_eq!(delivered("name = 'tcp'", "40 ms")[0] / unit.0, WIRE / unit.0);
}
