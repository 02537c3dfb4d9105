//! Properties of every decision, and of a link whose windows follow them.

use proptest::prelude::*;
use receive::{Claim, Flow, Grant, Parameters, plan};

const STEP: u64 = 2_920;
/// The bytes of a segment on the simulated link.
const SEGMENT: u64 = 1_460;

fn parameters() -> impl Strategy<Value = Parameters> {
    (prop_oneof![Just(0), 1_000_000..1_000_000_000u64], 2 * STEP..200_000, STEP..100_000u64, 0..500u64).prop_map(
        |(rate, credit, window, floor_permille)| Parameters {
            rate,
            credit,
            window,
            step: STEP,
            first: STEP,
            floor_permille,
            patience_ns: 10_000_000,
            nudge_ns: 400_000_000,
        },
    )
}

fn claim() -> impl Strategy<Value = Claim> {
    prop_oneof![
        3 => (1..1_000_000u64, 0..100_000_000u64)
            .prop_map(|(end, deadline_ns)| Claim::Message { end: 1_000_000 + end, deadline_ns }),
        1 => (1..10u64, 0..1_000_000u64).prop_map(|(weight, served)| Claim::Bulk { weight, served }),
    ]
}

fn flows(idle: impl Strategy<Value = u64> + Clone) -> impl Strategy<Value = Vec<Flow>> {
    let flow = (0..1_000_000u64, 0..50_000u64, idle, claim());
    proptest::collection::vec(flow, 1..12).prop_map(|drawn| {
        let flow = |(id, (received, out, idle_ns, claim)): (usize, (u64, u64, u64, Claim))| Flow {
            id: id as u64,
            received,
            granted: match claim {
                Claim::Message { end, .. } => (received + out).min(end + STEP),
                Claim::Bulk { .. } => received + out,
            },
            idle_ns,
            claim,
        };
        drawn.into_iter().enumerate().map(flow).collect()
    })
}

fn rest(flow: &Flow) -> u64 {
    match flow.claim {
        Claim::Message { end, .. } => end - flow.received,
        Claim::Bulk { .. } => u64::MAX,
    }
}

fn out(flow: &Flow) -> u64 {
    (flow.granted - flow.received).min(rest(flow))
}

/// Returns the right edge that a grant gives.
fn edge(flow: &Flow, grant: &Grant) -> u64 {
    let window = if grant.window == 0 { grant.limit } else { (flow.received + grant.window).min(grant.limit) };
    flow.granted.max(window)
}

/// Returns the fewest late messages of all subsets that are on time in the order of their deadlines.
fn min_late(rate: u64, now_ns: u64, messages: &[(u64, u64)]) -> usize {
    let mut sorted = messages.to_vec();
    sorted.sort_unstable();
    (0u32..1 << sorted.len())
        .filter(|subset| {
            let mut bytes = 0u64;
            sorted.iter().enumerate().filter(|(i, _)| subset & (1 << i) != 0).all(|(_, &(deadline, rest))| {
                bytes += rest;
                u128::from(bytes) * 1_000_000_000 <= u128::from(rate) * u128::from(deadline.saturating_sub(now_ns))
            })
        })
        .map(|subset| sorted.len() - subset.count_ones() as usize)
        .min()
        .expect("the empty subset fits")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edges_never_move_back_and_end_with_messages(parameters in parameters(), flows in flows(0..500_000_000u64)) {
        let grants = plan(&parameters, 0, &flows);
        prop_assert_eq!(grants.len(), flows.len());
        for (flow, grant) in flows.iter().zip(&grants) {
            prop_assert_eq!(grant.id, flow.id);
            prop_assert!(grant.limit >= flow.granted && grant.wake > flow.received);
            if let Claim::Message { end, .. } = flow.claim {
                prop_assert!(grant.limit <= (end + STEP).max(flow.granted) && grant.wake <= end);
            }
        }
    }

    #[test]
    fn growth_stays_within_the_credit(parameters in parameters(), flows in flows(Just(0))) {
        let held: u64 = flows.iter().map(out).sum();
        let grants = plan(&parameters, 0, &flows);
        let after: u64 =
            flows.iter().zip(&grants).map(|(flow, grant)| (edge(flow, grant) - flow.received).min(rest(flow))).sum();
        // Less than a segment of a grant cannot be sent, and does not count.
        let most = parameters.credit.max(held) + SEGMENT * flows.len() as u64;
        prop_assert!(after <= most, "{} of {}, {}", after, parameters.credit, held);
    }

    #[test]
    fn some_sender_may_always_send(parameters in parameters(), flows in flows(0..300_000_000u64)) {
        let grants = plan(&parameters, 0, &flows);
        let active = |(flow, grant): (&Flow, &Grant)| edge(flow, grant) - flow.received >= SEGMENT.min(rest(flow));
        prop_assert!(flows.iter().zip(&grants).any(active), "{:?}", grants);
    }

    #[test]
    fn no_message_without_credit_has_an_earlier_deadline(parameters in parameters(), flows in flows(Just(0))) {
        let fresh: Vec<Flow> = flows.iter().map(|flow| Flow { granted: flow.received, ..*flow }).collect();
        let grants = plan(&parameters, 0, &fresh);
        let rank = |index: usize| match fresh[index].claim {
            Claim::Message { deadline_ns, .. } if !grants[index].late => Some((deadline_ns, fresh[index].id)),
            _ => None,
        };
        for (open, grant) in grants.iter().enumerate().filter(|(_, grant)| grant.window > 0) {
            for (held, other) in grants.iter().enumerate().filter(|(_, other)| other.window == 0) {
                let whole = grant.window > rest(&fresh[open]);
                if let (Some(earlier), Some(later)) = (rank(held), rank(open)) {
                    prop_assert!(whole || later < earlier, "{:?} before {:?}", grant, other);
                }
            }
        }
    }

    #[test]
    fn the_fewest_messages_are_set_back(parameters in parameters(), flows in flows(Just(0)), now in 0..100_000_000u64) {
        let messages: Vec<(u64, u64)> = flows.iter().filter_map(|flow| match flow.claim {
            Claim::Message { deadline_ns, .. } => Some((deadline_ns, rest(flow))),
            Claim::Bulk { .. } => None,
        }).collect();
        let late = plan(&parameters, now, &flows).iter().filter(|grant| grant.late).count();
        let beside_bulk = messages.len() < flows.len();
        let taken = if beside_bulk { parameters.rate * parameters.floor_permille / 1000 } else { 0 };
        let fewest = match parameters.rate {
            0 => 0,
            rate => min_late(rate - taken, now, &messages),
        };
        prop_assert_eq!(late, fewest);
    }

    #[test]
    fn bulk_is_never_without_a_window(parameters in parameters(), flows in flows(Just(0))) {
        let fresh: Vec<Flow> = flows.iter().map(|flow| Flow { granted: flow.received, ..*flow }).collect();
        let grants = plan(&parameters, 0, &fresh);
        let is_bulk = |flow: &Flow| matches!(flow.claim, Claim::Bulk { .. });
        let open = fresh.iter().zip(&grants).filter(|(flow, grant)| is_bulk(flow) && grant.window >= STEP).count();
        prop_assert!(open > 0 || !fresh.iter().any(is_bulk));
    }

    /// The schedule is asked again only where a grant says so, as by a daemon. A wake-up that is missing is a deadlock.
    #[test]
    fn every_message_is_received(parameters in parameters(), flows in flows(Just(0))) {
        let mut flows: Vec<Flow> =
            flows.into_iter().filter(|flow| matches!(flow.claim, Claim::Message { .. })).collect();
        let total: u64 = flows.iter().map(rest).sum();
        let mut sent = 0;
        while !flows.is_empty() {
            let grants = plan(&parameters, 0, &flows);
            let mut due = false;
            while !due {
                let mut moved = false;
                for (flow, grant) in flows.iter_mut().zip(&grants) {
                    flow.granted = edge(flow, grant);
                    let bytes = SEGMENT.min(out(flow));
                    // A full segment, or the last one.
                    if bytes == 0 || bytes < SEGMENT && bytes < rest(flow) {
                        continue;
                    }
                    (flow.received, moved) = (flow.received + bytes, true);
                    sent += bytes;
                    due |= flow.received >= grant.wake;
                }
                prop_assert!(moved, "{} of {} bytes: {:?} {:?}", sent, total, flows, grants);
            }
            flows.retain(|flow| rest(flow) > 0);
        }
        prop_assert_eq!(sent, total);
    }
}
