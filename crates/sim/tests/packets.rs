//! Compares the log of packets with the counts of a run, and with a burst computed by hand.

use super::common;

use common::world;
use sim::{Logged, PacketLog};
use units::Instant;

/// Four answers of two packets each to a port that holds three and marks above one; no jitter anywhere.
const BURST: &str = r#"
run = { duration = "3.5 ms", cool_down = "0 s" }
network = { topology = "star", hosts = 5, rate = "1 Gbps", delay = "20 us", buffer = "4500 B", sharing = "per-port", mark = "1 packets", host_jitter = "0 s" }
transport = { name = "dctcp", initial_window = 2, handshake = false, rto_min = "10 ms" }
traffic = [{ name = "answers", pattern = "fan-in", parents = 1, leaves = 4, every = "2 ms", size = "2920 B" }]
"#;

fn logged(text: &str, (from, until): (Instant, Instant), most: usize) -> (Vec<Logged>, Instant, sim::Outcome) {
    let mut world = world(text);
    world.log_packets(PacketLog::new(from, until, most));
    while world.advance_logging(7) {}
    let log = world.take_packet_log().expect("it was asked for");
    (log.rows().to_vec(), log.complete_until(), world.finish())
}

#[test]
fn a_burst_is_told_hop_by_hop() {
    let (rows, complete_until, outcome) = logged(BURST, (Instant::ZERO, Instant::from_micros(3000)), 1000);
    assert_eq!(complete_until, Instant::from_micros(3000));
    let to_parent = rows.iter().filter(|row| !row.lost && !row.ack && row.next.is_none());
    let lost: Vec<&Logged> = rows.iter().filter(|row| row.lost).collect();
    // The first query is sent after 2 ms. Eight packets, each 12 us on the wire, reach the switch after 32 us, four at
    // once, and again four at 44 us. Of the first four one is sent and three are queued; when the others arrive one of
    // these has just begun, and there is room for one.
    assert_eq!(lost.len(), 3);
    assert!(lost.iter().all(|row| row.at == Instant::from_micros(2044) && !row.ack && row.next.is_none()));
    let arrived: Vec<(Instant, bool)> = to_parent.map(|row| (row.at, row.marked)).collect();
    let micros = [64, 76, 88, 100, 112].map(|after| Instant::from_micros(2000 + after));
    assert_eq!(arrived.iter().map(|(at, _)| *at).collect::<Vec<_>>(), micros);
    // The second to be queued finds one queued; it and all behind it see more than K = 1.
    assert_eq!(arrived.iter().map(|(_, marked)| *marked).collect::<Vec<_>>(), [false, false, true, true, true]);
    assert_eq!(rows.iter().filter(|row| !row.lost).count() as u64, outcome.counters.packet_hops);
    assert_eq!(lost.len() as u64, outcome.counters.drops);
}

#[test]
fn a_log_changes_nothing_and_ends_where_it_should() {
    // Timeouts are before the end, so that packets are sent again.
    let text = BURST.replace("10 ms", "100 us").replace("3.5 ms", "3.9 ms");
    let mut plain = world(&text);
    while plain.advance(1000) {}
    let (from, until) = (Instant::from_micros(2040), Instant::from_micros(2200));
    let (all, _, outcome) = logged(&text, (Instant::ZERO, Instant::from_micros(10_000)), 100_000);
    assert_eq!(plain.finish(), outcome);
    assert!(all.iter().any(|row| row.again), "what was lost is sent again");
    // Slices are of a few events; none of them writes a row of another time.
    let (some, complete_until, _) = logged(&text, (from, until), 100_000);
    assert_eq!(some, all.iter().copied().filter(|row| (from..=until).contains(&row.at)).collect::<Vec<_>>());
    assert!(some.len() < all.len() && complete_until == until);
    let (first, complete_until, _) = logged(&text, (Instant::ZERO, until), 10);
    assert_eq!((first.as_slice(), complete_until), (&all[..10], all[9].at));
}

#[test]
fn each_hop_begins_where_the_last_one_ended() {
    let (rows, ..) = logged(BURST, (Instant::ZERO, Instant::from_micros(3000)), 1000);
    let mut waits: Vec<&Logged> = Vec::new();
    for row in &rows {
        let same = |other: &&Logged| {
            (other.connection, other.seq, other.ack, other.next) == (row.connection, row.seq, row.ack, Some(row.link))
        };
        let before = waits.iter().position(same).map(|found| waits.remove(found));
        // Only a host's own link is the first hop.
        assert_eq!(before.is_none(), row.next.is_some() && !row.lost, "{row:?}");
        if row.next.is_some() {
            waits.push(row);
        }
    }
}
