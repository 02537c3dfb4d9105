//! The schedule of a receiver's windows: which of its connections may send now, and how much.
//!
//! A receiver that is the bottleneck of its senders can order them by the windows that it advertises. Messages with
//! deadlines are open in the order of their deadlines (EDF). Messages that cannot be in time are set back by the rule
//! of Moore and Hodgson, so that the fewest are late. Traffic without a deadline gets the rest, and a floor.
//!
//! [`plan`] is pure: it is told the time and the connections, and returns a [`Grant`] for each. All numbers are
//! integers, so that a simulator and a daemon that call it take the same decisions. Positions count the bytes of a
//! connection's stream.

#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The position of a grant without an end.
pub const UNLIMITED: u64 = u64::MAX;

/// The steps of a connection without a deadline after which others of its kind have their turn.
const TURN_STEPS: u64 = 8;

/// The parameters of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The payload that the receiver's link can deliver, in bytes per second; 0 if unknown, and then nothing is shed.
    pub rate: u64,
    /// The bytes that may be granted and not yet received, over all connections.
    pub credit: u64,
    /// The bytes that one connection may hold of the credit while others need it.
    pub window: u64,
    /// The least growth of a window, in bytes: two segments, which a receiver acknowledges at once.
    pub step: u64,
    /// The window of a connection about which nothing is known, in bytes. The first bytes show that its sender is ready.
    pub first: u64,
    /// The share of the credit for traffic without a deadline, in thousandths.
    pub floor_permille: u64,
    /// The time without a byte after which a connection's grant no longer counts against the credit, in ns.
    pub patience_ns: u64,
    /// The time without a byte after which a held connection may send a step, in ns. The senders' probes of a closed
    /// window thus stay frequent.
    pub nudge_ns: u64,
}

/// The content that a connection is sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A message that ends at a position, with a deadline.
    Message {
        /// The position of its end.
        end: u64,
        /// The time of its deadline, in ns.
        deadline_ns: u64,
    },
    /// Bytes without a deadline, and without a known end.
    Bulk {
        /// Its share beside others of its kind; at least 1.
        weight: u64,
        /// The bytes received in this state, by which connections of its kind take turns.
        served: u64,
    },
}

/// A connection whose sender is ready to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The number that identifies it, and decides ties.
    pub id: u64,
    /// The position up to which bytes were received.
    pub received: u64,
    /// The right edge of the window that was advertised: it never moves back.
    pub granted: u64,
    /// The time since a byte was received or the right edge moved, whichever is later, in ns.
    pub idle_ns: u64,
    /// The content that it is sending.
    pub claim: Claim,
}

/// The decision on one connection: its right edge is `received + window`, but at most `limit`, and never moves back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The number of the connection.
    pub id: u64,
    /// The position beyond which the right edge may not move; [`UNLIMITED`] without an end.
    pub limit: u64,
    /// The window that follows the received bytes; 0 holds the connection at `limit`.
    pub window: u64,
    /// The position at whose receipt the schedule is due again; [`UNLIMITED`] if no position is.
    pub wake: u64,
    /// True if the message cannot be in time, and waits behind the others.
    pub late: bool,
}

impl Parameters {
    /// Returns the bytes of a full segment.
    fn segment(&self) -> u64 {
        self.step / 2
    }
}

impl Flow {
    /// Returns the bytes that remain of its message; [`UNLIMITED`] without an end.
    fn rest(&self) -> u64 {
        match self.claim {
            Claim::Message { end, .. } => end.saturating_sub(self.received),
            Claim::Bulk { .. } => UNLIMITED,
        }
    }

    /// Returns the bytes that it may still send by its grant.
    fn outstanding(&self) -> u64 {
        self.granted.saturating_sub(self.received).min(self.rest())
    }

    /// Returns the bytes of its grant that it can send: a sender keeps less than a segment back, unless it is the end.
    fn sendable(&self, parameters: &Parameters) -> u64 {
        let outstanding = self.outstanding();
        if outstanding >= parameters.segment().min(self.rest()) { outstanding } else { 0 }
    }

    /// Returns true if it could send, but does not.
    fn is_stalled(&self, parameters: &Parameters) -> bool {
        self.idle_ns >= parameters.patience_ns && self.sendable(parameters) > 0
    }
}

/// A connection's share of the credit, while it is decided.
#[derive(Clone, Copy, Default)]
struct Share {
    /// The window that its rank gives it.
    target: u64,
    /// The window that it gets now: grants that are still out leave no room for more.
    now: u64,
}

/// The connections by rank: messages that can be in time, messages that cannot, and the rest.
struct Ranks {
    in_time: Vec<usize>,
    late: Vec<usize>,
    bulk: Vec<usize>,
}

/// Returns a grant for each of `flows`, in their order.
pub fn plan(parameters: &Parameters, now_ns: u64, flows: &[Flow]) -> Vec<Grant> {
    let ranks = ranks(parameters, now_ns, flows);
    let mut shares = vec![Share::default(); flows.len()];
    set_targets(parameters, flows, &ranks, &mut shares);
    grow(parameters, flows, &ranks, &mut shares);
    let is_short = |flow: &Flow, share: &Share| share.now < flow.rest().min(parameters.window);
    let hungry = flows.iter().zip(&shares).any(|(flow, share)| !flow.is_stalled(parameters) && is_short(flow, share));
    let mut grants: Vec<Grant> =
        flows.iter().zip(&shares).map(|(flow, share)| grant(parameters, flow, *share, hungry)).collect();
    for index in ranks.late {
        grants[index].late = true;
    }
    grants
}

/// Orders messages by deadline. Wherever one would be late, the largest up to it is set back (Moore and Hodgson 1968).
fn ranks(parameters: &Parameters, now_ns: u64, flows: &[Flow]) -> Ranks {
    let (mut messages, mut bulk) = (Vec::new(), Vec::new());
    for (index, flow) in flows.iter().enumerate() {
        match flow.claim {
            Claim::Message { deadline_ns, .. } => messages.push((deadline_ns, flow.id, index)),
            Claim::Bulk { weight, served } => bulk.push((served / weight.max(1), flow.id, index)),
        }
    }
    messages.sort_unstable();
    bulk.sort_unstable();
    let rate = if bulk.is_empty() {
        parameters.rate
    } else {
        parameters.rate - parameters.rate * parameters.floor_permille.min(1000) / 1000
    };
    let mut kept: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
    let mut bytes: u64 = 0;
    for &(deadline_ns, _, index) in &messages {
        let rest = flows[index].rest();
        kept.push((rest, Reverse(index)));
        bytes += rest;
        while parameters.rate > 0 && !fits(bytes, rate, deadline_ns.saturating_sub(now_ns)) {
            let Some((largest, _)) = kept.pop() else { break };
            bytes -= largest;
        }
    }
    let mut in_time = vec![false; flows.len()];
    for (_, Reverse(index)) in kept {
        in_time[index] = true;
    }
    let order = messages.iter().map(|&(_, _, index)| index);
    let mut late: Vec<usize> = order.clone().filter(|&index| !in_time[index]).collect();
    // The most are finished soon if the shortest are first.
    late.sort_by_key(|&index| (flows[index].rest(), flows[index].id));
    Ranks {
        in_time: order.filter(|&index| in_time[index]).collect(),
        late,
        bulk: bulk.into_iter().map(|(_, _, index)| index).collect(),
    }
}

/// Returns true if `bytes` can be received at `rate` within `time_ns`.
fn fits(bytes: u64, rate: u64, time_ns: u64) -> bool {
    u128::from(bytes) * 1_000_000_000 <= u128::from(rate) * u128::from(time_ns)
}

/// Gives the credit to the connections by rank.
fn set_targets(parameters: &Parameters, flows: &[Flow], ranks: &Ranks, shares: &mut [Share]) {
    let floor = match ranks.bulk.len() {
        0 => 0,
        _ => (parameters.credit * parameters.floor_permille.min(1000) / 1000).max(parameters.step),
    };
    let mut left = parameters.credit.saturating_sub(floor);
    for &index in ranks.in_time.iter().chain(&ranks.late) {
        let flow = &flows[index];
        if flow.is_stalled(parameters) {
            // It keeps its grant, but neither uses nor blocks the credit.
            shares[index].target = flow.outstanding();
            continue;
        }
        let target = worthwhile(parameters, flow, flow.rest().min(parameters.window).min(left));
        shares[index].target = target;
        left -= target;
    }
    left += floor.min(parameters.credit);
    let mut weights: u64 = ranks.bulk.iter().map(|&index| weight(&flows[index])).sum();
    for &index in &ranks.bulk {
        let weight = weight(&flows[index]);
        let fair = (left * weight / weights.max(1)).max(parameters.step);
        weights -= weight;
        if flows[index].is_stalled(parameters) {
            continue;
        }
        let target = worthwhile(parameters, &flows[index], fair.min(parameters.window).min(left));
        shares[index].target = target;
        left -= target;
    }
    // Credit that no other connection needs fills long paths.
    for &index in ranks.in_time.iter().chain(&ranks.late).chain(&ranks.bulk) {
        let flow = &flows[index];
        if shares[index].target == 0 || flow.is_stalled(parameters) {
            continue;
        }
        let more = (flow.rest() - shares[index].target).min(left);
        shares[index].target += more;
        left -= more;
    }
}

fn weight(flow: &Flow) -> u64 {
    match flow.claim {
        Claim::Bulk { weight, .. } => weight.max(1),
        Claim::Message { .. } => 1,
    }
}

/// Returns `window`, or 0 if it is neither a step nor all that remains.
fn worthwhile(parameters: &Parameters, flow: &Flow, window: u64) -> u64 {
    if window >= parameters.step.min(flow.rest()) { window } else { 0 }
}

/// Opens windows up to their targets, as far as grants that are still out leave credit for it.
fn grow(parameters: &Parameters, flows: &[Flow], ranks: &Ranks, shares: &mut [Share]) {
    let counted = |flow: &&Flow| !flow.is_stalled(parameters);
    let out: u64 = flows.iter().filter(counted).map(|flow| flow.sendable(parameters)).sum();
    let mut room = parameters.credit.saturating_sub(out);
    for &index in ranks.in_time.iter().chain(&ranks.late).chain(&ranks.bulk) {
        let (flow, share) = (&flows[index], &mut shares[index]);
        let held = flow.outstanding();
        if share.target <= held || flow.is_stalled(parameters) {
            share.now = share.target;
            continue;
        }
        let growth = (share.target - held).min(room);
        let worthwhile = growth >= parameters.step.min(share.target - held);
        share.now = held + if worthwhile { growth } else { 0 };
        room -= share.now - held;
    }
}

fn grant(parameters: &Parameters, flow: &Flow, share: Share, hungry: bool) -> Grant {
    let nudge = flow.idle_ns >= parameters.nudge_ns && flow.outstanding() < parameters.step;
    let (limit, window) = match (flow.claim, share.now) {
        // A nudge is beyond the grant: two segments, which are sent at once.
        (Claim::Message { end, .. }, 0) if nudge => ((flow.granted + parameters.step).min(end + parameters.first), 0),
        (Claim::Bulk { .. }, 0) if nudge => (flow.granted + parameters.step, 0),
        (_, 0) => (flow.granted, 0),
        // The right edge ends with the message, and the first window of the next.
        (Claim::Message { end, .. }, now) if now >= flow.rest() => (end + parameters.first, now + parameters.first),
        (Claim::Message { end, .. }, now) => (end + parameters.first, now),
        (Claim::Bulk { .. }, now) => (UNLIMITED, now),
    };
    let limit = limit.max(flow.granted);
    Grant { id: flow.id, limit, window, wake: wake(parameters, flow, share, hungry), late: false }
}

/// Returns the position at which the connection frees credit for another, or ends.
fn wake(parameters: &Parameters, flow: &Flow, share: Share, hungry: bool) -> u64 {
    let next = flow.received + parameters.step;
    let frees = flow.sendable(parameters) > share.target;
    // The last byte of the grant at which a segment more no longer fits.
    let spent = next.min((flow.granted + 1).saturating_sub(parameters.segment())).max(flow.received + 1);
    match flow.claim {
        // It counts again as soon as it sends.
        Claim::Message { end, .. } if flow.is_stalled(parameters) => next.min(end),
        Claim::Bulk { .. } if flow.is_stalled(parameters) => next,
        Claim::Message { end, .. } if !hungry => end,
        Claim::Message { end, .. } if share.now == 0 => {
            if frees {
                spent.min(end)
            } else {
                end
            }
        }
        // Its share shrinks as soon as less than a window remains.
        Claim::Message { end, .. } if frees => spent.min(end),
        Claim::Message { end, .. } => next.max((end + parameters.step).saturating_sub(parameters.window)).min(end),
        Claim::Bulk { .. } if !hungry => UNLIMITED,
        Claim::Bulk { .. } if frees => spent,
        Claim::Bulk { .. } if share.now == 0 => UNLIMITED,
        Claim::Bulk { .. } => flow.received + TURN_STEPS * parameters.step,
    }
}
