//! The properties of a network that transports may use.

use transport::Surroundings;
use units::{Bytes, Span};

use crate::common::classic;

const MESSAGE: &str = "[[traffic]]\nname = 'one'\npattern = 'fan-in'\nleaves = 4\nevery = '1 ms'\nsize = '1 KB'\n";

fn surroundings(network: &str) -> Surroundings {
    let text = format!("[run]\nduration = '1 ms'\n[network]\n{network}\n[transport]\nname = 'dctcp'\n{MESSAGE}");
    let source = scenario::Source { name: "test", text: &text, folder: None };
    let read = scenario::read(&source, &classic());
    read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario.network.surroundings()
}

const FABRIC: &str = "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 8\nspines = 4\nrate = '400 Gbps'\n\
                      oversubscription = 4\ndelay = '1 us'\nbuffer = '8 MB'\nsharing = 'per-port'";

/// Hosts' links have 400 Gbps, 20 ps per byte; the uplinks 8 x 400 / 4 / 4 = 200 Gbps.
#[test]
fn a_larger_packet_takes_longer_on_each_link_at_its_own_rate() {
    let found = surroundings(FABRIC);
    assert_eq!((found.hops, found.per_kilobyte), (4, Span(2 * 20_000 + 2 * 40_000)));
    // 1540 bytes there and back, and eight delays of a microsecond.
    assert_eq!(found.base_rtt, Span(8_000_000 + 1540 * 120));
    assert_eq!(found.round_trip_of(Bytes(61_500)), found.base_rtt + Span(60_000 * 120));
    // 400 Gbps carry 50 bytes in a nanosecond.
    let packets = (8_184.8 + 7_200.0) * 50.0 / 61_500.0;
    assert!((found.bandwidth_delay(Bytes(61_500)) - packets).abs() < 1e-9);
}

/// The slowest link of a switch is an uplink.
#[test]
fn a_switch_may_queue_what_its_buffer_holds() {
    assert_eq!(surroundings(FABRIC).longest_queue, Span::from_micros(320));
    let spine = FABRIC.replace("buffer = '8 MB'", "buffer = { spine = '16 MB', others = '8 MB' }");
    assert_eq!(surroundings(&spine).longest_queue, Span::from_micros(640));
    let packets = FABRIC.replace("buffer = '8 MB'", "buffer = '1000 packets'");
    assert_eq!(surroundings(&packets).longest_queue, Span::from_micros(60));
}
