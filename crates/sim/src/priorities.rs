//! Ranks of messages at switches with priorities: by class, or by deadline if the transport requires that.

use transport::Packet;
use units::Span;

use crate::class::{Class, Transport};

/// The priorities of a run's messages.
pub struct Priorities {
    /// The weight of each priority; the last is for messages without one.
    weights: Vec<f64>,
    /// For each transport, the longest deadline of each of its priorities but the last.
    limits: Vec<Option<Vec<Span>>>,
    /// The discipline that classes and transports ask for.
    discipline: Option<&'static str>,
}

impl Priorities {
    /// Returns the priorities that the transports and the traffic classes of a run require.
    pub fn of(transports: &[Transport], classes: &[Class]) -> Priorities {
        let limits: Vec<Option<Vec<Span>>> =
            (0..transports.len()).map(|transport| limits(transport, transports, classes)).collect();
        let parted = limits.iter().flatten().map(|limits| limits.len() as u8 + 1);
        let named = classes.iter().filter_map(|class| class.priority).map(|priority| priority + 1);
        let ranked = transports.iter().filter_map(|transport| transport.config.levels());
        let most = parted.chain(named).chain(ranked).max();
        // One more, the lowest, for messages with neither deadline nor priority.
        let mut weights = vec![1.0; usize::from(most.unwrap_or(0)) + 1];
        let last = weights.len() - 1;
        let weighed = || classes.iter().filter_map(|class| Some((class.priority, class.weight?)));
        for (priority, weight) in weighed() {
            weights[priority.map_or(last, usize::from)] = weight;
        }
        let by_weight = weighed().next().map(|_| "dwrr");
        Priorities { weights, limits, discipline: by_weight.or(most.map(|_| "priority")) }
    }

    /// Returns the discipline that the classes ask for, or the priorities of any transport.
    pub fn discipline(&self) -> Option<&'static str> {
        self.discipline
    }

    /// Returns the weight of each priority; the last is for messages without one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the longest deadline of each priority but the last, for a transport that divides its messages.
    pub fn limits(&self, transport: usize) -> Option<&[Span]> {
        self.limits[transport].as_deref()
    }

    /// Returns the rank of a message's packets: its priority, 0 first, or [`Packet::UNTAGGED`].
    pub fn of_message(&self, class: &Class, deadline: Option<Span>) -> u32 {
        match (class.priority, &self.limits[class.transport], deadline) {
            (Some(priority), ..) => u32::from(priority),
            (None, Some(limits), Some(deadline)) => limits.partition_point(|limit| *limit < deadline) as u32,
            (None, Some(_), None) => self.weights.len() as u32 - 1,
            (None, None, _) => Packet::UNTAGGED,
        }
    }
}

fn limits(transport: usize, transports: &[Transport], classes: &[Class]) -> Option<Vec<Span>> {
    let priorities = transports[transport].config.priorities()?;
    if let Some(limits) = &priorities.limits {
        return Some(limits.to_vec());
    }
    let ranges = || {
        let own = classes.iter().filter(|class| class.transport == transport && class.priority.is_none());
        own.filter_map(|class| class.generator.deadlines())
    };
    let shortest = ranges().map(|range| range.0).min().unwrap_or_default();
    let longest = ranges().map(|range| range.1).max().unwrap_or_default();
    if shortest == longest {
        // Nothing to divide: one deadline for all, or none.
        return Some(Vec::new());
    }
    let parts = u128::from(priorities.classes);
    let share = |part: u128| Span(shortest.0 + (u128::from((longest - shortest).0) * part / parts) as u64);
    Some((1..parts).map(share).collect())
}
