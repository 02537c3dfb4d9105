//! The times at which the echo of a mark cuts the window: every window transport by the table of the kernel's law
//! (`deploy/linux/law/marks.csv`).

use super::common;

use common::Bench;
use transport::Flags;
use transport::controllers::{Ecn, Window};
use transport::registry::{Control, TRANSPORTS};

const TABLE: &str = include_str!("../../../deploy/linux/law/marks.csv");

#[test]
fn a_mark_cuts_when_the_table_says_so() {
    let mut controllers = 0;
    // NSCC is cut by marked packets that were delayed too, and only then; marks cut DCQCN's rate, and not its window.
    for transport in TRANSPORTS.iter().filter(|transport| !["nscc", "dcqcn"].contains(&transport.name)) {
        let with_ecn = if transport.keys().any(|key| key.name == "ecn") { "ecn = true\n" } else { "" };
        for recovery in ["sack", "newreno"] {
            let keys = format!("{with_ecn}recovery = '{recovery}'\ninitial_window = 20\ndup_ack_threshold = 3\n");
            let Control::Window(law) = common::config(transport.name, &keys).control else { continue };
            if law.ecn() == Ecn::Off {
                let mut bench = Bench::new(transport.name, &keys);
                bench.message(1_000_000, None);
                let sent = &bench.notes.sent;
                assert!(!sent.is_empty() && sent.iter().all(|(packet, _)| !packet.flags.has(Flags::ECT)));
                continue;
            }
            controllers += 1;
            play(transport.name, &keys);
        }
    }
    assert!(controllers >= 12);
}

fn play(name: &str, keys: &str) {
    let mut bench = Bench::new(name, keys);
    let mut case = "";
    for line in TABLE.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[0] != case {
            case = fields[0];
            bench = Bench::new(name, keys);
            bench.message(1_000_000, None);
            assert_eq!(bench.sent().len(), 20);
        }
        let until: u64 = fields[2].parse().unwrap();
        let before = bench.ssthresh();
        match fields[1] {
            "ack" => {
                let flags = Flags::NONE.with_if(fields[3] == "1", Flags::ECE);
                bench.ack(until, None, flags, &[]);
                // A cut sets the threshold, also where the window was below it.
                assert_eq!(bench.ssthresh() < before, fields[4] == "1", "{name} with {keys}{line}");
            }
            "loss" => {
                (1..=3).for_each(|end| bench.ack(until, None, Flags::NONE, &[(until + 1, until + 1 + end)]));
                assert!(bench.ssthresh() < before && bench.sent().contains(&until), "{line}: it is repaired");
            }
            "timeout" => {
                let timeouts = bench.notes.timeouts;
                while bench.notes.timeouts == timeouts {
                    bench.timer();
                }
                assert_eq!(bench.cwnd(), 1.0);
            }
            _ => panic!("{line}"),
        }
    }
}
