//! Vectors for laws in other programs: the answers of this crate's d2tcp and d2tcp_wait to sequences of ACKs and
//! losses. The tests of the kernel side read these files (`deploy/linux/law/vectors.csv`, `plus.csv`). Here the files
//! are compared with the present laws.
//!
//! `BLESS=1 cargo test -p duetime-transport kernel_vectors` writes them anew.

use super::common;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::PathBuf;

use transport::controllers::{Acked, Controller, Current, Cwnd, Lost, NO_MORE, Window};
use transport::registry::Control;
use transport::{Message, Observation};
use units::{Bytes, Instant, Span};

const MSS: u64 = 1000;

/// A connection's circumstances. Parameters as in scenario files.
struct Case {
    name: &'static str,
    keys: &'static str,
    /// The initial window, in segments.
    window: f64,
    ssthresh: f64,
    rtt_us: u64,
    /// Share of ACKs with an echo in a window that meets marks, and share of such windows.
    marks: (u64, u64),
    /// The messages in order: the position where each ends, and its deadline in us.
    messages: &'static [(u64, u64)],
}

/// Bytes and microseconds of deadlines are chosen so that d is between its limits for a part of the time.
const CASES: &[Case] = &[
    Case { name: "dctcp", keys: "", window: 20.0, ssthresh: 1.0, rtt_us: 100, marks: (40, 60), messages: &[] },
    Case {
        name: "slow-start",
        keys: "initial_alpha = 0",
        window: 2.0,
        ssthresh: 64.0,
        rtt_us: 50,
        marks: (0, 0),
        messages: &[],
    },
    Case {
        name: "near",
        keys: "",
        window: 12.0,
        ssthresh: 1.0,
        rtt_us: 200,
        marks: (50, 50),
        messages: &[(700_000, 11_000)],
    },
    Case {
        name: "far",
        keys: "",
        window: 30.0,
        ssthresh: 1.0,
        rtt_us: 300,
        marks: (30, 40),
        messages: &[(600_000, 10_000)],
    },
    Case {
        name: "precise",
        keys: "t_c = 'precise'",
        window: 40.0,
        ssthresh: 1.0,
        rtt_us: 250,
        marks: (20, 50),
        messages: &[(400_000, 6_000)],
    },
    Case {
        name: "wide-cap",
        keys: "d_cap = 8",
        window: 15.0,
        ssthresh: 1.0,
        rtt_us: 150,
        marks: (60, 50),
        messages: &[(500_000, 9_000)],
    },
    Case {
        name: "expired-cap",
        keys: "expired = 'cap'",
        window: 30.0,
        ssthresh: 1.0,
        rtt_us: 100,
        marks: (20, 50),
        messages: &[(230_000, 1_500)],
    },
    Case {
        name: "expired-yield",
        keys: "expired = 'yield'\nmargin = '1 ms'",
        window: 30.0,
        ssthresh: 1.0,
        rtt_us: 100,
        marks: (20, 50),
        messages: &[(230_000, 2_500)],
    },
    Case {
        name: "large-g",
        keys: "g = 0.5\ninitial_alpha = 0",
        window: 25.0,
        ssthresh: 1.0,
        rtt_us: 80,
        marks: (70, 30),
        messages: &[(300_000, 2_500)],
    },
    Case {
        name: "near-behind-far",
        keys: "",
        window: 20.0,
        ssthresh: 1.0,
        rtt_us: 200,
        marks: (50, 50),
        messages: &[(250_000, 90_000), (300_000, 6_000), (800_000, 40_000)],
    },
    Case {
        name: "queue-precise",
        keys: "t_c = 'precise'\nd_cap = 4",
        window: 20.0,
        ssthresh: 1.0,
        rtt_us: 200,
        marks: (40, 50),
        messages: &[(60_000, 2_000), (120_000, 9_000), (125_000, 2_500), (200_000, 20_000), (600_000, 11_000)],
    },
    Case {
        name: "small-windows",
        keys: "",
        window: 3.0,
        ssthresh: 1.0,
        rtt_us: 60,
        marks: (10, 90),
        messages: &[(100_000, 3_000)],
    },
];

/// For d2tcp_wait, without deferral: its random numbers are not compared.
const PLUS: &[Case] = &[
    Case {
        name: "without-deadline",
        keys: "hold_share = 0",
        window: 20.0,
        ssthresh: 1.0,
        rtt_us: 100,
        marks: (40, 60),
        messages: &[],
    },
    Case {
        name: "pressed",
        keys: "hold_share = 0",
        window: 10.0,
        ssthresh: 1.0,
        rtt_us: 200,
        marks: (50, 50),
        messages: &[(400_000, 12_000)],
    },
    Case {
        name: "can-wait",
        keys: "hold_share = 0",
        window: 16.0,
        ssthresh: 1.0,
        rtt_us: 300,
        marks: (20, 30),
        messages: &[(300_000, 400_000)],
    },
    Case {
        name: "becomes-hopeless",
        keys: "hold_share = 0",
        window: 8.0,
        ssthresh: 1.0,
        rtt_us: 250,
        marks: (60, 80),
        messages: &[(900_000, 4_000)],
    },
    Case {
        name: "one-after-another",
        keys: "hold_share = 0",
        window: 12.0,
        ssthresh: 1.0,
        rtt_us: 200,
        marks: (30, 50),
        messages: &[(60_000, 2_000), (120_000, 9_000), (125_000, 2_500), (170_000, 30_000), (800_000, 11_000)],
    },
];

/// The constants of `deploy/linux/bpf/plus.h`: the kernel's values stay when a default here changes.
const OF_PLUS_H: &str = "start = 2
growth = 1
growth_later = 0.25
floor_horizon = '10 ms'
floor_most = 4
guard = 0.5
guard_most = '10 ms'
guard_share = 0.25
hopeless_hold = '100 ms'";

/// A law with keys that all its cases share, its cases, the signals beside alpha that its vectors have, and their file.
struct Vectors {
    law: &'static str,
    keys: &'static str,
    cases: &'static [Case],
    signals: [&'static str; 2],
    file: &'static str,
}

const VECTORS: &[Vectors] = &[
    Vectors { law: "d2tcp", keys: "", cases: CASES, signals: ["d", "p"], file: "vectors.csv" },
    Vectors { law: "d2tcp_wait", keys: OF_PLUS_H, cases: PLUS, signals: ["need", "laxity"], file: "plus.csv" },
];

const ACKS: u64 = 150;

/// The law in its first state with these keys in `[transport]`.
fn law(name: &str, keys: &str) -> Controller {
    match common::config(name, &format!("mss = '{MSS} B'\n{keys}")).control {
        Control::Window(law) => law,
        _ => unreachable!("{name} is a window law"),
    }
}

/// The recovery phase of a connection, and its end: they decide whether a mark may cut, in the simulator's sender and
/// in the kernel's.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Open,
    Recovery,
    Loss,
}

fn ns(time: Instant) -> u64 {
    time.0 / 1000
}

/// Writes one row per ACK or loss: the input of the law, and its state after it.
fn play(vectors: &Vectors, case: &Case, rows: &mut String) {
    let mut law = law(vectors.law, &format!("{}\n{}", vectors.keys, case.keys));
    let mut window = Cwnd { cwnd: case.window, ssthresh: case.ssthresh, floor: 2.0, limit: f64::INFINITY };
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut percent = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % 100
    };
    let none = Current { end: 0, message: Message::of(Bytes::ZERO) };
    let mut waiting: VecDeque<Current> = case
        .messages
        .iter()
        .map(|(end, deadline)| Current {
            end: *end,
            message: Message { deadline: Some(Instant::from_micros(*deadline)), ..Message::of(Bytes(*end)) },
        })
        .collect();
    let (mut una, mut next, mut window_end, mut congested) = (0, case.window as u64 * MSS, 0, false);
    let (mut phase, mut recover) = (Phase::Open, 0);
    for row in 0..ACKS {
        let now = Instant::from_micros(row * case.rtt_us / 8);
        let mut ack = Acked {
            now,
            bytes: 0,
            segments: 0.0,
            marked: false,
            may_grow: false,
            may_cut: false,
            una,
            next,
            mss: MSS as f64,
            srtt: Some(Span::from_micros(case.rtt_us + percent() % 10)),
            min_rtt: Some(Span::from_micros(case.rtt_us)),
            sample: None,
            message: waiting.front().copied().unwrap_or(none),
            later: &NO_MORE,
        };
        let mut cut = false;
        let lost = percent();
        let event = if phase == Phase::Open && window.cwnd >= 4.0 && lost < 4 && una > recover {
            let timeout = lost < 1;
            let behind = waiting.iter().skip(1).copied().collect();
            let state = Acked { later: &behind, ..ack.clone() };
            let lost = Lost { now, state, flight: window.cwnd, timeout };
            law.on_loss(&mut window, &lost);
            recover = next;
            if timeout {
                law.on_timeout(&mut window, 1.0, &lost);
                phase = Phase::Loss;
            } else {
                (phase, window.cwnd) = (Phase::Recovery, window.ssthresh);
            }
            if timeout { "timeout" } else { "loss" }
        } else {
            let segments = 1 + percent() / 50;
            una += segments * MSS;
            next = u64::max(next, una + window.cwnd as u64 * MSS);
            if una > window_end {
                (window_end, congested) = (una + window.cwnd as u64 * MSS, percent() < case.marks.1);
            }
            ack.may_grow = phase != Phase::Recovery && percent() < 90;
            if una >= recover {
                phase = Phase::Open;
            }
            (ack.una, ack.next, ack.bytes, ack.segments) = (una, next, segments * MSS, segments as f64);
            ack.marked = congested && percent() < case.marks.0;
            ack.may_cut = phase == Phase::Open && una > recover;
            while waiting.front().is_some_and(|first| first.end <= una) {
                waiting.pop_front();
            }
            "ack"
        };
        let all: Vec<String> =
            waiting.iter().map(|one| format!("{}:{}", one.end, ns(one.message.deadline.unwrap()))).collect();
        let mut later = waiting.clone();
        let ack = Acked { message: later.pop_front().unwrap_or(none), later: &later, ..ack };
        if event == "ack" {
            cut = law.on_ack(&mut window, &ack);
        }
        let mut seen = Observation::default();
        law.observe(&window, &ack, &mut seen);
        let shown = vectors.signals.map(|signal| seen.get(signal).map_or(String::new(), |value| format!("{value:?}")));
        writeln!(
            rows,
            "{},{event},{},{},{},{},{},{},{},{},{},{},{:?},{},{},{:?}",
            case.name,
            ns(now),
            ack.segments as u64,
            u8::from(ack.marked),
            u8::from(ack.may_grow),
            match phase {
                Phase::Open => "open",
                Phase::Recovery => "recovery",
                Phase::Loss => "loss",
            },
            una,
            ack.next,
            ns(ack.srtt.unwrap().after_start()),
            all.join(" "),
            u8::from(cut),
            seen.get("alpha").unwrap(),
            shown[0],
            shown[1],
            window.cwnd,
        )
        .unwrap();
    }
}

fn written(vectors: &Vectors) -> String {
    let mut text = format!(
        "# What the simulator's {} answers to sequences of ACKs and losses; segments of 1000 B. The phase, after the\n\
         # event, is open, or recovery or loss while what duplicate ACKs or a timeout have told of is repaired.\n",
        vectors.law
    );
    for case in vectors.cases {
        write!(text, "# {}: window = {:?}; ssthresh = {:?}", case.name, case.window, case.ssthresh).unwrap();
        case.keys.lines().for_each(|key| write!(text, "; {key}").unwrap());
        text.push('\n');
    }
    let [first, second] = vectors.signals;
    let columns = "case,event,now_ns,segments,marked,may_grow,phase,una,next,srtt_ns,messages,cut,alpha";
    writeln!(text, "{columns},{first},{second},cwnd").unwrap();
    vectors.cases.iter().for_each(|case| play(vectors, case, &mut text));
    text
}

#[test]
fn the_vectors_are_those_of_the_laws_that_are() {
    for vectors in VECTORS {
        let text = written(vectors);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/linux/law").join(vectors.file);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, text).unwrap();
            continue;
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        for (number, (kept, now)) in kept.lines().zip(text.lines()).enumerate() {
            assert_eq!(kept, now, "{}, line {}", vectors.file, number + 1);
        }
        assert_eq!(kept.len(), text.len());
    }
}

#[test]
fn the_vectors_meet_what_matters() {
    for vectors in VECTORS {
        let text = written(vectors);
        let column = |line: &str, index: usize| line.split(',').nth(index).unwrap().to_string();
        for case in vectors.cases {
            let rows: Vec<&str> = text.lines().filter(|line| column(line, 0) == case.name).collect();
            let cuts = rows.iter().filter(|line| column(line, 11) == "1").count();
            assert!(cuts >= 2 || case.marks.0 == 0, "{}: {cuts} cuts", case.name);
            let muted = rows.iter().filter(|line| column(line, 4) == "1" && column(line, 6) != "open").count();
            assert!(muted > 0 || case.marks.0 == 0, "{}: no mark while a loss is repaired", case.name);
            let signals: Vec<String> = rows.iter().map(|line| column(line, 13)).collect();
            let varies = signals.iter().any(|one| *one != signals[0]);
            assert_eq!(varies, !case.messages.is_empty(), "{}: its first signal does not vary", case.name);
        }
    }
    // Of d2tcp_wait: raised windows, floors, infeasible and late messages.
    let text = written(&VECTORS[1]);
    let needs = |case: &str| -> Vec<f64> {
        let rows = text.lines().filter(|line| line.starts_with(&format!("{case},")));
        rows.filter_map(|line| line.split(',').nth(13).unwrap().parse().ok()).collect()
    };
    assert!(needs("pressed").iter().any(|need| *need > 5.0) && needs("can-wait").iter().all(|need| *need < 1.0));
    assert!(text.lines().any(|line| line.starts_with("becomes-hopeless,") && line.contains(",-")));
    assert!(text.lines().any(|line| line.starts_with("becomes-hopeless,") && line.contains(",,")));
}
