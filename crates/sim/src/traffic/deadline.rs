//! The deadlines of a class: times, or multiples of the time that the same message takes in an empty network.

use units::{Deadline, Distribution, Span, Stream, Values, Vary};

use super::{DEADLINE, MAX_TIME};
use crate::topology::Graph;

/// The deadline of one message, as it was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Allowed {
    /// A time, from the message's start.
    Time(Span),
    /// A multiple of the time that the message takes in an empty network.
    TimesAlone(f64),
}

impl Allowed {
    /// Returns the time, if it is one.
    pub(super) fn time(self) -> Option<Span> {
        if let Allowed::Time(time) = self { Some(time) } else { None }
    }

    /// Returns the multiple, if it is one.
    pub(super) fn times_alone(self) -> Option<f64> {
        if let Allowed::TimesAlone(times) = self { Some(times) } else { None }
    }
}

/// The deadlines of a class, with their range.
#[derive(Clone)]
pub(super) struct Deadlines {
    deadline: Deadline,
    /// The shortest and the longest time that a message takes in an empty network. Only the hosts' links are counted.
    alone: (f64, f64),
}

impl Deadlines {
    /// Reads the key `deadline` of a class whose messages have these sizes, if it is set.
    pub(super) fn of(values: &Values, size: &Distribution, graph: &Graph) -> Option<Deadlines> {
        let deadline = values.deadline_if_set(DEADLINE.name)?;
        let alone = match deadline {
            Deadline::Time { .. } => (0.0, 0.0),
            Deadline::TimesAlone(_) => times_of(size, graph),
        };
        Some(Deadlines { deadline, alone })
    }

    /// Draws the deadline of a message from the stream of its class.
    pub(super) fn draw(&self, stream: &mut Stream) -> Allowed {
        draw(&self.deadline, stream)
    }

    /// Returns the range of deadlines, as [`Generator::deadlines`](super::Generator::deadlines).
    pub(super) fn range(&self) -> (Span, Span) {
        let (low, high) = match &self.deadline {
            Deadline::Time { base, vary } => {
                let base = base.span();
                match vary {
                    None => base,
                    Some(Vary::Absolute(added)) => (base.0 + added.span().0, base.1 + added.span().1),
                    Some(Vary::Relative(share)) => (base.0 * (1.0 + share.span().0), base.1 * (1.0 + share.span().1)),
                }
            }
            Deadline::TimesAlone(times) => {
                let times = times.span();
                (times.0 * self.alone.0, times.1 * self.alone.1)
            }
        };
        let time = |ps| Span::from_ps_f64(ps).clamp(Span(1), MAX_TIME);
        (time(low), time(high))
    }
}

/// Draws the deadline of a message from its distribution.
pub(super) fn draw(deadline: &Deadline, stream: &mut Stream) -> Allowed {
    match deadline {
        Deadline::Time { base, vary } => {
            let base = stream.sample(base);
            let added = match vary {
                None => 0.0,
                Some(Vary::Absolute(distribution)) => stream.sample(distribution),
                Some(Vary::Relative(distribution)) => base * stream.sample(distribution),
            };
            Allowed::Time(Span::from_ps_f64(base + added).clamp(Span(1), MAX_TIME))
        }
        Deadline::TimesAlone(times) => Allowed::TimesAlone(stream.sample(times)),
    }
}

/// Returns a deadline that is a multiple of the time alone.
pub(super) fn multiple(times: f64, alone: Span) -> Span {
    Span::from_ps_f64(alone.0 as f64 * times).clamp(Span(1), MAX_TIME)
}

/// Returns the shortest and the longest time in which two hosts' links carry messages of these sizes, in ps.
fn times_of(size: &Distribution, graph: &Graph) -> (f64, f64) {
    let own = || graph.links.iter().filter(|link| link.from < graph.hosts);
    let rates = || own().map(|link| link.rate.as_bps_f64());
    let delays = || own().map(|link| 2.0 * link.delay.0 as f64);
    let (low, high) = size.span();
    let least = low * 8e12 / rates().fold(1.0, f64::max) + delays().fold(f64::INFINITY, f64::min);
    let most = high * 8e12 / rates().fold(f64::INFINITY, f64::min) + delays().fold(0.0, f64::max);
    (least, most)
}
