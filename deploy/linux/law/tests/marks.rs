//! The echoes that cut the window: the kernel's law against the table that the simulator's laws are tested with as
//! well.

use linux_law::*;

const TABLE: &str = include_str!("../marks.csv");
const MSS: u64 = 1000;

#[test]
fn a_mark_cuts_when_the_table_says_so() {
    let how = Parameters::default();
    let mut state = State::default();
    // The end of the kernel's state Recovery or Loss.
    let (mut case, mut high, mut next) = ("", 0, 0);
    for line in TABLE.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[0] != case {
            case = fields[0];
            state = State::start(&how, 20 * UNIT, u64::MAX);
            (high, next) = (0, 20 * MSS);
        }
        let una = fields[2].parse::<u64>().unwrap() * MSS;
        match fields[1] {
            "ack" => {
                let (marked, may_cut) = (fields[3] == "1", una >= high);
                let ack = Ack {
                    acked: MSS,
                    marked: u64::from(marked) * MSS,
                    segments: 1,
                    may_grow: 1,
                    may_cut: may_cut.into(),
                    mss: MSS as u32,
                    una,
                    next,
                    ..Ack::default()
                };
                let what = state.on_ack(&how, &Queue::default(), &ack);
                assert_eq!(what & CUT != 0, fields[4] == "1", "{line}");
            }
            "loss" | "timeout" => {
                let first = una > high || high == 0;
                assert_eq!(state.on_loss(una, next), first, "{line}");
                high = next;
                if fields[1] == "timeout" {
                    state.cwnd = UNIT;
                }
            }
            _ => panic!("{line}"),
        }
        next = next.max(una + state.cwnd / UNIT * MSS);
    }
}

#[test]
fn what_was_no_loss_takes_no_right_to_cut() {
    let how = Parameters::default();
    let mut state = State::start(&how, 20 * UNIT, u64::MAX);
    assert!(state.on_loss(MSS, 20 * MSS));
    let ack =
        Ack { acked: MSS, marked: MSS, may_cut: 1, mss: MSS as u32, una: 2 * MSS, next: 20 * MSS, ..Ack::default() };
    assert_eq!(state.on_ack(&how, &Queue::default(), &ack) & CUT, 0);
    state.undo();
    assert_ne!(state.on_ack(&how, &Queue::default(), &ack) & CUT, 0);
}
