//! `periodic`: each pair of hosts gets a message every so often.

use units::{Default, Distribution, HostId, Instant, Key, Kind, Problem, Range, Span, Stream, Values};

use super::deadline::Deadlines;
use super::{
    Batch, Built, COUNT, Context, DEADLINE, Demand, Descriptor, FROM, Generator, Nature, Request, SIZE, START, TO,
};

/// The pattern of a message per pair every so often.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "periodic",
    help: "each sender gets a message at `start` and then one every `every`",
    aliases: &[],
    keys: KEYS,
    nature: Nature::GIVEN,
    build,
};

const KEYS: &[Key] = &[
    FROM,
    TO,
    SIZE,
    Key {
        name: "every",
        kind: Kind::TimeDistribution,
        default: Default::Required,
        range: Range::POSITIVE.more_is_easier(),
        help: "time from one message of a pair to its next; the first comes at `start`",
        source: "",
    },
    START,
    DEADLINE,
    COUNT,
];

fn build(values: &Values, context: &Context) -> Built {
    let start = values.formula("start");
    let name = values.text("name");
    let pairs = super::pairs(values, context.graph)?.into_iter().enumerate().map(|(i, (from, to))| {
        let next = Some(super::start_at(&start, i as u64, 0)?);
        Ok(Pair { from, to, next, sent: 0, stream: Stream::new(context.seed, &name, i as u64) })
    });
    let size = values.distribution("size");
    Ok(Box::new(Periodic {
        pairs: pairs.collect::<Result<_, Problem>>()?,
        every: values.distribution("every"),
        deadline: Deadlines::of(values, &size, context.graph),
        size,
        count: values.count_if_set("count").unwrap_or(u64::MAX),
    }))
}

#[derive(Clone)]
struct Periodic {
    pairs: Vec<Pair>,
    every: Distribution,
    size: Distribution,
    deadline: Option<Deadlines>,
    count: u64,
}

#[derive(Clone)]
struct Pair {
    from: HostId,
    to: HostId,
    next: Option<Instant>,
    sent: u64,
    stream: Stream,
}

impl Generator for Periodic {
    fn next(&mut self) -> Option<Batch> {
        let pair = self.pairs.iter_mut().filter(|pair| pair.next.is_some()).min_by_key(|pair| pair.next)?;
        let at = pair.next?;
        let bytes = super::draw_bytes(&self.size, &mut pair.stream);
        let allowed = self.deadline.as_ref().map(|deadline| deadline.draw(&mut pair.stream));
        let request = Request {
            start: at,
            from: pair.from,
            to: pair.to,
            bytes: Some(bytes),
            deadline: None,
            query: None,
            place: None,
            piece: None,
        };
        pair.sent += 1;
        let gap = super::draw_time(&self.every, &mut pair.stream).max(Span(1));
        pair.next = (pair.sent < self.count).then(|| at.saturating_add(gap));
        Some(Batch::of_one(request, allowed))
    }

    fn expected(&self, until: Instant) -> (f64, &'static str) {
        let of_each = (until.0 as f64 / self.every.mean().max(1.0)).min(self.count as f64);
        (of_each * self.pairs.len() as f64, "every")
    }

    fn offer(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        for Pair { from, to, next, .. } in &self.pairs {
            let messages = next.map_or(0.0, |start| super::expected_draws(&self.every, start, until).ceil());
            let messages = messages.min(self.count as f64);
            offer(Demand { from: &[*from], to: &[*to], messages, bytes: messages * self.size.mean() });
        }
    }

    fn sizes(&self) -> Option<&Distribution> {
        Some(&self.size)
    }

    fn deadlines(&self) -> Option<(Span, Span)> {
        self.deadline.as_ref().map(Deadlines::range)
    }

    fn again(&self) -> Box<dyn Generator> {
        Box::new(self.clone())
    }
}
