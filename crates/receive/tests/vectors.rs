//! The table of decisions, `vectors.txt`: of every scheduler of receive windows.

use receive::{Claim, Flow, Grant, Parameters, UNLIMITED, plan};

const VECTORS: &str = include_str!("../vectors.txt");

#[derive(Default)]
struct Case {
    name: String,
    parameters: Option<Parameters>,
    now_ns: u64,
    flows: Vec<Flow>,
    grants: Vec<Grant>,
}

fn number(word: &str) -> u64 {
    if word == "-" { UNLIMITED } else { word.parse().unwrap_or_else(|_| panic!("{word:?} is not a number")) }
}

fn numbers<const N: usize>(words: &[&str]) -> [u64; N] {
    let read: Vec<u64> = words.iter().map(|word| number(word)).collect();
    read.try_into().unwrap_or_else(|read| panic!("expected {N} numbers, not {read:?}"))
}

fn parameters(words: &[&str]) -> Parameters {
    let [rate, credit, window, step, first, floor_permille, patience_ns, nudge_ns] = numbers(words);
    Parameters { rate, credit, window, step, first, floor_permille, patience_ns, nudge_ns }
}

fn flow(words: &[&str]) -> Flow {
    let [id, received, granted, idle_ns] = numbers(&words[..4]);
    let [a, b] = numbers(&words[5..]);
    let claim = match words[4] {
        "message" => Claim::Message { end: a, deadline_ns: b },
        "bulk" => Claim::Bulk { weight: a, served: b },
        other => panic!("{other:?} is neither message nor bulk"),
    };
    Flow { id, received, granted, idle_ns, claim }
}

fn grant(words: &[&str]) -> Grant {
    let [id, limit, window, wake] = numbers(&words[..4]);
    assert!(words.len() == 4 || words[4..] == ["late"], "{words:?}");
    Grant { id, limit, window, wake, late: words.len() > 4 }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in VECTORS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "case" {
            cases.push(Case { name: words[1..].join(" "), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case begins first");
        match words[0] {
            "parameters" => case.parameters = Some(parameters(&words[1..])),
            "now" => case.now_ns = number(words[1]),
            "flow" => case.flows.push(flow(&words[1..])),
            "grant" => case.grants.push(grant(&words[1..])),
            other => panic!("{other:?} is unknown"),
        }
    }
    cases
}

#[test]
fn decisions_are_those_of_the_table() {
    let cases = cases();
    assert!(cases.len() >= 16, "{} cases", cases.len());
    for case in cases {
        let granted = plan(&case.parameters.expect("a case has parameters"), case.now_ns, &case.flows);
        assert_eq!(granted, case.grants, "{}", case.name);
    }
}
