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

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Value};

    const US: f64 = 1e6;

    fn constant(us: f64) -> Distribution {
        Distribution::Constant(us * US)
    }

    fn uniform(low: f64, high: f64) -> Distribution {
        Distribution::Uniform(low * US, high * US)
    }

    fn time(base: Distribution, vary: Option<Vary>) -> Deadline {
        Deadline::Time { base, vary }
    }

    fn us(us: u64) -> Span {
        Span::from_micros(us)
    }

    /// Hosts with links of 1 and 4 Gbps, which delay by 5 and 7 us, behind two switches with a fast link.
    fn graph() -> Graph {
        let mut graph = Graph::new(2);
        let [left, right] = ["left", "right"].map(|name| graph.switch(name, false));
        graph.join(0, left, Rate::from_gbps(1), us(5));
        graph.join(1, right, Rate::from_gbps(4), us(7));
        graph.join(left, right, Rate::from_gbps(100), us(1));
        graph
    }

    fn deadlines(deadline: Deadline) -> Deadlines {
        let mut values = Values::default();
        values.set(DEADLINE.name, Value::Deadline(deadline));
        Deadlines::of(&values, &Distribution::Uniform(1000.0, 3000.0), &graph()).expect("it is set")
    }

    #[test]
    fn a_deadline_is_its_base_and_what_is_drawn_beside() {
        let draw = |deadline: &Deadline| deadlines(deadline.clone()).draw(&mut Stream::new(1, "deadlines", 0));
        let relative = |share| Some(Vary::Relative(Distribution::Constant(share)));
        for (vary, drawn) in [(None, 100), (Some(Vary::Absolute(constant(30.0))), 130), (relative(0.5), 150)] {
            let allowed = draw(&time(constant(100.0), vary));
            assert_eq!((allowed.time(), allowed.times_alone()), (Some(us(drawn)), None));
        }
        // The share is of the base that was drawn.
        let varied = time(uniform(100.0, 200.0), relative(3.0));
        let base = draw(&time(uniform(100.0, 200.0), None)).time().expect("it is a time").0;
        let all = draw(&varied).time().expect("it is a time").0;
        assert!((100_000_000..200_000_000).contains(&base) && all.abs_diff(4 * base) <= 4, "{base} {all}");
        let times = draw(&Deadline::TimesAlone(Distribution::Constant(2.5)));
        assert_eq!((times.time(), times.times_alone()), (None, Some(2.5)));
        assert_eq!(draw(&time(constant(0.0), None)), Allowed::Time(Span(1)), "no message is due at its start");
        assert_eq!(draw(&time(constant(1e30), None)), Allowed::Time(MAX_TIME));
    }

    #[test]
    fn the_range_has_the_least_and_the_most_that_is_drawn() {
        let range = |deadline: Deadline| deadlines(deadline).range();
        let base = || uniform(100.0, 200.0);
        assert_eq!(range(time(base(), None)), (us(100), us(200)));
        assert_eq!(range(time(base(), Some(Vary::Absolute(uniform(10.0, 30.0))))), (us(110), us(230)));
        let shares = Vary::Relative(Distribution::Uniform(0.5, 1.0));
        assert_eq!(range(time(base(), Some(shares))), (us(150), us(400)));
        assert_eq!(range(time(Distribution::Uniform(0.0, 1e30), None)), (Span(1), MAX_TIME));
        // 1000 B take 2 us at 4 Gbps, and 3000 B 24 us at 1 Gbps; there and back the links of hosts delay by 10 and
        // 14 us.
        let times = Deadline::TimesAlone(Distribution::Uniform(2.0, 3.0));
        assert_eq!(range(times), (us(2 * 12), us(3 * 38)));
    }

    #[test]
    fn a_class_without_the_key_has_no_deadlines() {
        assert!(Deadlines::of(&Values::default(), &Distribution::Constant(1.0), &graph()).is_none());
    }

    #[test]
    fn a_multiple_is_of_the_time_alone() {
        assert_eq!(multiple(2.5, us(10)), us(25));
        assert_eq!(multiple(0.0, us(10)), Span(1));
        assert_eq!(multiple(1e30, us(10)), MAX_TIME);
    }
}
