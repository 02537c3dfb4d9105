//! Collective operations as stages, each with the pairs of hosts that send to each other.

use units::Problem;

/// One step of a collective: senders with their receivers, and the share of the data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Round {
    /// Senders and receivers, in order of the sender.
    pub pairs: Vec<(u32, u32)>,
    /// Share of the size that each message has.
    pub share: f64,
}

/// Returns the rounds of a collective operation of `hosts` hosts.
///
/// A ring sends to the next host, as NCCL and MPI do for large data. Halving and doubling exchanges with hosts at the
/// distances 1, 2, 4, .. (Thakur, Rabenseifner and Gropp 2005). A tree is binomial, with host 0 as its root.
pub(super) fn rounds(operation: &str, algorithm: &str, hosts: u32) -> Result<Vec<Round>, Problem> {
    if hosts < 2 {
        return Err(Problem::new("at", "a collective operation needs two hosts or more"));
    }
    if algorithm == "halving-doubling" && !hosts.is_power_of_two() {
        let message = format!("halving-doubling needs 2, 4, 8, .. hosts, and the role has {hosts}");
        return Err(Problem::new("algorithm", message).hint("a ring has no such limit"));
    }
    let share = 1.0 / f64::from(hosts);
    Ok(match (operation, algorithm) {
        ("all-to-all", "ring") => vec![Round { pairs: others(hosts), share: 1.0 }],
        ("reduce-scatter" | "all-gather", "ring") => vec![Round { pairs: next(hosts), share }; hosts as usize - 1],
        ("all-reduce", "ring") => vec![Round { pairs: next(hosts), share }; 2 * (hosts as usize - 1)],
        ("broadcast", "ring") => (0..hosts - 1).map(|i| Round { pairs: vec![(i, i + 1)], share: 1.0 }).collect(),
        ("reduce-scatter", "halving-doubling") => halving(hosts),
        ("all-gather", "halving-doubling") => doubling(hosts),
        ("all-reduce", "halving-doubling") => halving(hosts).into_iter().chain(doubling(hosts)).collect(),
        ("broadcast", "tree") => down(hosts),
        ("all-reduce", "tree") => up(hosts).into_iter().chain(down(hosts)).collect(),
        _ => {
            let known = match operation {
                "all-to-all" => "ring",
                "broadcast" => "ring or tree",
                "all-reduce" => "ring, halving-doubling or tree",
                _ => "ring or halving-doubling",
            };
            let message = format!("`{algorithm}` is no algorithm for {operation}");
            return Err(Problem::new("algorithm", message).hint(format!("it has {known}")));
        }
    })
}

/// Returns the pairs of each host with the next one, the first again after the last.
pub(super) fn next(hosts: u32) -> Vec<(u32, u32)> {
    (0..hosts).map(|i| (i, (i + 1) % hosts)).collect()
}

/// Returns the pairs of each host with each other one.
pub(super) fn others(hosts: u32) -> Vec<(u32, u32)> {
    (0..hosts).flat_map(|i| (1..hosts).map(move |step| (i, (i + step) % hosts))).collect()
}

/// Each host keeps the half of its data that is nearer to its own part, and sends the other half.
fn halving(hosts: u32) -> Vec<Round> {
    let distances = (0..hosts.trailing_zeros()).rev();
    distances.map(|bit| exchange(hosts, 1 << bit, f64::from(1_u32 << bit) / f64::from(hosts))).collect()
}

/// Each host sends what it has, which doubles with each round.
fn doubling(hosts: u32) -> Vec<Round> {
    let distances = 0..hosts.trailing_zeros();
    distances.map(|bit| exchange(hosts, 1 << bit, f64::from(1_u32 << bit) / f64::from(hosts))).collect()
}

fn exchange(hosts: u32, distance: u32, share: f64) -> Round {
    Round { pairs: (0..hosts).map(|i| (i, i ^ distance)).collect(), share }
}

/// The hosts that have the data send it on, each to one that lacks it.
fn down(hosts: u32) -> Vec<Round> {
    let distances = std::iter::successors(Some(1_u32), |distance| distance.checked_mul(2));
    let distances = distances.take_while(|distance| *distance < hosts);
    let pairs = |distance: u32| (0..distance).map(move |i| (i, i + distance)).filter(|(_, to)| *to < hosts).collect();
    distances.map(|distance| Round { pairs: pairs(distance), share: 1.0 }).collect()
}

/// Hosts send the data in the opposite direction of [`down`], in the opposite order.
fn up(hosts: u32) -> Vec<Round> {
    let turned = |Round { pairs, share }: Round| {
        let mut pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(from, to)| (to, from)).collect();
        pairs.sort_unstable();
        Round { pairs, share }
    };
    down(hosts).into_iter().rev().map(turned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts of the data that each host has after the rounds, given what it had before, where each message
    /// carries everything that its sender has.
    fn spread(rounds: &[Round], mut has: Vec<u64>) -> Vec<u64> {
        for round in rounds {
            let before = has.clone();
            round.pairs.iter().for_each(|&(from, to)| has[to as usize] |= before[from as usize]);
        }
        has
    }

    #[test]
    fn every_host_gets_a_part_from_every_other() {
        for (operation, algorithm) in [
            ("all-to-all", "ring"),
            ("all-gather", "ring"),
            ("reduce-scatter", "ring"),
            ("all-gather", "halving-doubling"),
            ("reduce-scatter", "halving-doubling"),
            ("all-reduce", "ring"),
            ("all-reduce", "halving-doubling"),
            ("all-reduce", "tree"),
        ] {
            for hosts in [2, 4, 8, 16] {
                let rounds = rounds(operation, algorithm, hosts).unwrap();
                let has = spread(&rounds, (0..hosts).map(|i| 1 << i).collect());
                assert!(has.iter().all(|has| *has == (1 << hosts) - 1), "{operation} {algorithm} {hosts}: {has:?}");
            }
        }
        for (algorithm, hosts) in [("ring", 5), ("tree", 5), ("tree", 9), ("tree", 8)] {
            let mut has = vec![0; hosts as usize];
            has[0] = 1;
            let rounds = rounds("broadcast", algorithm, hosts).unwrap();
            assert_eq!(spread(&rounds, has), vec![1; hosts as usize], "{algorithm} {hosts}");
        }
    }

    #[test]
    fn algorithms_send_what_theory_says() {
        let sent = |operation, algorithm, hosts: u32| -> f64 {
            let rounds = rounds(operation, algorithm, hosts).unwrap();
            rounds
                .iter()
                .map(|round| round.share * round.pairs.iter().filter(|(from, _)| *from == 0).count() as f64)
                .sum()
        };
        // Each host sends 2 (N - 1) / N of the data, whichever of the two algorithms it uses.
        for hosts in [2, 4, 8, 64] {
            let all = 2.0 * (f64::from(hosts) - 1.0) / f64::from(hosts);
            assert!((sent("all-reduce", "ring", hosts) - all).abs() < 1e-9);
            assert!((sent("all-reduce", "halving-doubling", hosts) - all).abs() < 1e-9);
        }
        assert_eq!(rounds("all-reduce", "ring", 8).unwrap().len(), 14);
        assert_eq!(rounds("all-reduce", "halving-doubling", 8).unwrap().len(), 6);
        assert_eq!(rounds("broadcast", "tree", 9).unwrap().len(), 4);
        assert!(rounds("all-reduce", "halving-doubling", 6).is_err());
        assert!(rounds("all-gather", "tree", 8).is_err());
        assert!(rounds("broadcast", "ring", 1).is_err());
    }

    #[test]
    fn hosts_send_to_the_next_or_to_each_other_one() {
        assert_eq!(next(3), [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(others(3), [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]);
    }

    /// Of a tree of eight hosts the root sends in each of three rounds, and host 4 in none.
    #[test]
    fn each_message_of_a_broadcast_or_all_to_all_has_all_of_its_data() {
        for (operation, algorithm, pairs) in [
            ("broadcast", "tree", vec![1, 2, 4]),
            ("broadcast", "ring", vec![1; 7]),
            ("all-to-all", "ring", vec![7 * 8]),
            ("all-reduce", "tree", vec![4, 2, 1, 1, 2, 4]),
        ] {
            let rounds = rounds(operation, algorithm, 8).unwrap();
            assert!(rounds.iter().all(|round| round.share == 1.0), "{operation} {algorithm}");
            assert_eq!(rounds.iter().map(|round| round.pairs.len()).collect::<Vec<_>>(), pairs);
        }
    }
}
