//! Priorities of unscheduled data that follow from the traffic (Homa 3.4).

use transport::grants::{Cutoffs, Expected, Policy};
use transport::registry::Control;
use units::Instant;

use crate::class::{Class, Transport};
use crate::traffic::Demand;

/// Number of sizes that represent a distribution: its quantiles at the midpoints of as many equal parts.
const QUANTILES: u32 = 1000;

/// Sets the priorities' cut-offs of each transport that derives them from the traffic. All classes whose transports
/// have such priorities share the switches. So each counts, by the messages that it is expected to send until `until`.
///
/// Returns the cut-offs by the transport's index.
pub fn settle(transports: &mut [Transport], classes: &[Class], until: Instant) -> Vec<(usize, Vec<u64>)> {
    let policy = |transport: &Transport| match &transport.config.control {
        Control::Grants(policy) => Some(*policy),
        _ => None,
    };
    let asks = |policy: &Policy| policy.levels.is_some_and(|levels| levels.cutoffs == Cutoffs::ByTraffic);
    if !transports.iter().filter_map(policy).any(|policy| asks(&policy)) {
        return Vec::new();
    }
    let mut messages = Vec::new();
    for class in classes {
        if policy(&transports[class.transport]).is_some_and(|policy| policy.levels.is_some()) {
            sizes(class, until, &mut messages);
        }
    }
    let mut settled = Vec::new();
    for (index, transport) in transports.iter_mut().enumerate() {
        let Control::Grants(policy) = &mut transport.config.control else { continue };
        if let Some(ends) = Some(policy).filter(|policy| asks(policy)).and_then(|policy| policy.learn(messages.clone()))
        {
            settled.push((index, ends));
        }
    }
    settled
}

/// Adds a class's sizes with their expected numbers. If it does not draw from a single distribution, each pair of hosts
/// counts by its mean.
fn sizes(class: &Class, until: Instant, messages: &mut Vec<Expected>) {
    let drawn = class.generator.sizes().filter(|_| !class.generator.waits());
    let answers = class.generator.answers();
    let mut expected = 0.0;
    class.generator.offer(until, &mut |demand: Demand| {
        if demand.messages > 0.0 {
            expected += demand.messages;
            if drawn.is_none() {
                let size = (demand.bytes / demand.messages).round() as u64;
                messages.push(Expected { size, count: demand.messages, answers });
            }
        }
    });
    if let Some(drawn) = drawn.filter(|_| expected > 0.0) {
        let share = |part: u32| (f64::from(part) + 0.5) / f64::from(QUANTILES);
        let size = |part| (drawn.quantile(share(part)).round() as u64).max(1);
        let count = expected / f64::from(QUANTILES);
        messages.extend((0..QUANTILES).map(|part| Expected { size: size(part), count, answers }));
    }
}
