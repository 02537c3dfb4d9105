//! The integer law against the simulator's: it repeats each step of the vectors that the simulator's tests wrote.

use std::collections::BTreeMap;

use linux_law::*;

const TEXT: &str = include_str!("../vectors.csv");
const PLUS: &str = include_str!("../plus.csv");

/// Maximum relative error of alpha, d, p and cwnd over all vectors. The measured maximum is 6.1e-6, of p at d = 4,
/// because p multiplies the error of log2(alpha) by d.
const WORST: f64 = 1e-5;

struct Case {
    how: Parameters,
    state: State,
}

/// Parses a case: `# name: key = value; ...`.
fn case(line: &str) -> Option<(&str, Case)> {
    let (name, keys) = line.strip_prefix("# ")?.split_once(": ")?;
    let keys: BTreeMap<&str, &str> = keys.split("; ").filter_map(|key| key.split_once(" = ")).collect();
    let number = |key: &str| keys.get(key).map(|value| value.parse::<f64>().unwrap());
    let word = |key: &str| keys.get(key).map_or("", |value| value.trim_matches('\''));
    let how = Parameters {
        g: fraction(number("g").unwrap_or(0.0625)),
        initial_alpha: fraction(number("initial_alpha").unwrap_or(1.0)),
        cap: (number("d_cap").unwrap_or(2.0) * UNIT as f64) as u32,
        expired: match word("expired") {
            "cap" => Expired::Cap,
            "yield" => Expired::Yield,
            _ => Expired::Neutral,
        } as u32,
        precise: u32::from(word("t_c") == "precise"),
        minimum_rtt: 0,
        mode: 0,
        initial_window: 0,
        time_scale: UNIT as u32,
        reserved: 0,
        rto_min_ns: 0,
        margin_ns: match word("margin") {
            "1 ms" => 1_000_000,
            _ => 0,
        },
    };
    let windows = |key| (number(key).unwrap() * UNIT as f64) as u64;
    Some((name, Case { how, state: State::start(&how, windows("window"), windows("ssthresh")) }))
}

fn fraction(value: f64) -> u32 {
    (value * f64::from(ONE)).round() as u32
}

fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split(',').collect()).collect()
}

/// Returns the inputs of a row: the acknowledgement and the queue.
fn told(row: &[&str]) -> (Ack, Queue) {
    let whole = |column: usize| row[column].parse::<u64>().unwrap();
    let ack = Ack {
        now_ns: whole(2),
        acked: whole(3) * 1000,
        marked: whole(3) * 1000 * whole(4),
        segments: whole(3) as u32,
        may_grow: whole(5) as u32,
        // As control.h derives it from the kernel's state.
        may_cut: u32::from(row[6] == "open"),
        mss: 1000,
        una: whole(7),
        next: whole(8),
        rtt_ns: whole(9),
        ..Ack::default()
    };
    // The message being sent, and the messages after it.
    let mut queue = Queue::default();
    for one in row[10].split(' ').filter(|one| !one.is_empty()) {
        let (end, deadline) = one.split_once(':').unwrap();
        queue.push(Message { end: end.parse().unwrap(), deadline_ns: deadline.parse().unwrap() });
    }
    // As control.h does before it applies the law.
    queue.complete(ack.una, ack.now_ns);
    (ack, queue)
}

#[test]
fn the_kernels_law_follows_the_simulators() {
    let mut cases: BTreeMap<&str, Case> = TEXT.lines().filter_map(case).collect();
    let rows = rows(TEXT);
    assert_eq!((cases.len(), rows.len()), (12, 1800));
    let mut worst = [("alpha", 0.0f64), ("d", 0.0), ("p", 0.0), ("cwnd", 0.0)];
    for (number, row) in rows.iter().enumerate() {
        let Case { how, state } = cases.get_mut(row[0]).unwrap();
        let (ack, queue) = told(row);
        if row[1] == "ack" {
            let what = state.on_ack(how, &queue, &ack);
            assert_eq!(what & CUT != 0, row[11] == "1", "row {number}: cut");
        } else {
            assert!(state.on_loss(ack.una, ack.next), "row {number}: a loss");
            if row[1] == "timeout" {
                // As control.h does: after a timeout the kernel begins with one segment.
                state.cwnd = UNIT;
            }
        }
        let d = queue.imminence(how, state.cwnd, &ack);
        let p = penalty(state.alpha, d);
        let got = [
            f64::from(state.alpha) / f64::from(ONE),
            f64::from(d) / UNIT as f64,
            f64::from(p) / f64::from(ONE),
            state.cwnd as f64 / UNIT as f64,
        ];
        for (column, got) in got.into_iter().enumerate() {
            let exact: f64 = row[12 + column].parse().unwrap();
            let error = if exact == 0.0 { got } else { (got - exact).abs() / exact };
            worst[column].1 = worst[column].1.max(error);
            assert!(error <= WORST, "row {number}: {} is {got}, the simulator has {exact}", worst[column].0);
        }
    }
    println!("worst relative errors: {worst:?}");
}

/// The draws exceed every probability, so that only messages without laxity are held.
const NEVER: Draws = Draws { whether: u32::MAX, length: 0 };

#[test]
fn the_kernels_needed_rates_follow_the_simulators() {
    let mut cases: BTreeMap<&str, Case> = PLUS.lines().filter_map(case).collect();
    let mut kept: BTreeMap<&str, Plus> = cases.keys().map(|name| (*name, Plus::default())).collect();
    let rows = rows(PLUS);
    assert_eq!((cases.len(), rows.len()), (5, 750));
    for (number, row) in rows.iter().enumerate() {
        let Case { how, state } = cases.get_mut(row[0]).unwrap();
        let plus = kept.get_mut(row[0]).unwrap();
        let (ack, queue) = told(row);
        match row[1] {
            "ack" => {
                let answered = plus.on_ack(state, how, &queue, &ack, NEVER);
                assert_eq!(answered != 0, queue.count > 0);
                let what = if answered == 0 { state.on_ack(how, &queue, &ack) } else { answered };
                assert_eq!(what & CUT != 0, row[11] == "1", "row {number}: cut");
            }
            "loss" => {
                let what = plus.on_loss(state, how, &queue, &ack, NEVER);
                assert!(
                    what & CUT != 0 || queue.count == 0 && state.on_loss(ack.una, ack.next),
                    "row {number}: a loss"
                );
            }
            // As control.h does: after a timeout the kernel begins with one segment.
            _ => {
                state.on_loss(ack.una, ack.next);
                plus.stirred = 1;
                state.cwnd = UNIT;
            }
        }
        let near = |got: f64, exact: f64, least: f64| (got - exact).abs() <= WORST * exact.abs() + least;
        let exact = |column: usize| row[column].parse::<f64>();
        let alpha = f64::from(state.alpha) / f64::from(ONE);
        assert!(near(alpha, exact(12).unwrap(), 0.0), "row {number}: alpha is {alpha}: {row:?}");
        let cwnd = state.cwnd as f64 / UNIT as f64;
        assert!(near(cwnd, exact(15).unwrap(), 0.0), "row {number}: cwnd is {cwnd}: {row:?}");
        // The vectors have no need and laxity for late messages.
        if let (Ok(need), Ok(laxity)) = (exact(13), exact(14)) {
            let standing = plus.standing(how, &queue, &ack, state.cwnd).unwrap();
            let got = (standing.0 as f64 / UNIT as f64, standing.1 as f64 / 1000.0);
            // Needs have 20 fractional bits; the vectors have the laxity in us, the law in ns.
            assert!(near(got.0, need, 1e-6) && near(got.1, laxity, 0.02), "row {number}: {got:?}: {row:?}");
        }
    }
}
