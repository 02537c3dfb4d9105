//! `sessions`: messages whose deadlines follow from their sizes and a share of the link.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Bytes, Default, Distribution, HostId, Instant, Key, Kind, Problem, Range, Rate, Span, Stream, Values};

use super::deadline::Allowed;
use super::{Batch, Built, Context, Demand, Descriptor, Generator, MAX_TIME, Nature, Request, SIZE};

/// The pattern of sessions with a share of the link each.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "sessions",
    help: "each host has sessions, to other hosts, with a share of its link each: a message's deadline is what this share \
           takes to send it",
    aliases: &[],
    keys: KEYS,
    nature: Nature { waits: true, ..Nature::GIVEN },
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "load",
        kind: Kind::Share,
        default: Default::Required,
        range: Range::above(0.0, 1.0).less_is_easier(),
        help: "share of the time in which a session has a message that is not due yet; with Poisson arrivals the payload \
               as a share of its part of the link",
        source: "MCP 5 speaks of a share of the maximum load, and does not say what that is",
    },
    Key {
        name: "share",
        kind: Kind::Share,
        default: Default::Required,
        range: Range::above(0.0, 1.0),
        help: "a session's part of its host's link: a message of so many bytes is due when this part could have sent them",
        source: "MCP 5: deadlines follow from the type and its share of the bandwidth; the formula is not stated",
    },
    Key {
        name: "sessions",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, 10_000.0),
        help: "sessions of each host",
        source: "",
    },
    Key {
        name: "first",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::at_least(1.0),
        help: "host i's first session goes to host i + first, the next to the one after it, and so on, beginning again \
               behind the last host: each host receives as many as it sends",
        source: "",
    },
    Key {
        name: "arrivals",
        kind: Kind::Choice(&["turns", "poisson"]),
        default: Default::Is("turns"),
        range: Range::ANY,
        help: "a session's next message starts when the last one is due, and after an exponential pause if the load is \
               below 1, always to the same host; or messages start at any time, each to a host drawn anew",
        source: "MCP 3.1: a session transmits exactly one flow at a time (turns); 5: a rate of arrivals at the nodes (poisson)",
    },
    SIZE,
    Key {
        name: "least_size",
        kind: Kind::Size,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "a size below this is drawn anew",
        source: "MCP 5: sizes of three types and one distribution",
    },
    Key {
        name: "most_size",
        kind: Kind::Size,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "a size above this is drawn anew",
        source: "MCP 5: sizes of three types and one distribution",
    },
];

/// Draws after which a size counts as impossible.
const MAX_DRAWS: usize = 100_000;

fn build(values: &Values, context: &Context) -> Built {
    let hosts = context.graph.host_rates();
    let (sessions, first) = (values.count("sessions"), values.count("first"));
    let turns = values.choice("arrivals") == "turns";
    if hosts.len() < 2 {
        return Err(Problem::new("pattern", "a host alone has nobody to send to"));
    }
    let others = hosts.len() as u64 - 1;
    if turns && first + sessions - 1 > others {
        let last = first + sessions - 1;
        return Err(Problem::new(
            "sessions",
            format!("host i has no host i + {last} to send to: there are {} hosts", hosts.len()),
        ));
    }
    let sizes = Sizes {
        size: values.distribution("size"),
        least: values.find("least_size").map_or(Bytes::ZERO, |_| values.size("least_size")),
        most: values.find("most_size").map_or(Bytes::MAX, |_| values.size("most_size")),
    };
    let name = values.text("name");
    let mut trial = Stream::new(context.seed, &format!("{name}, mean size"), 0);
    let mean_bytes = sizes.mean(&mut trial).ok_or_else(|| {
        Problem::new("size", format!("none of {MAX_DRAWS} draws lies between `least_size` and `most_size`"))
    })?;
    let (share, load) = (values.number("share"), values.number("load"));
    let mut all = Vec::new();
    let mut next = BinaryHeap::new();
    for (host, &rate) in hosts.iter().enumerate() {
        for number in 0..sessions {
            let mut stream = Stream::new(context.seed, &name, host as u64 * sessions + number);
            // The start is at a random point of a cycle.
            let cycle = due(mean_bytes, share, rate).0 as f64 / load;
            let at = Instant::from_ps_f64(cycle * stream.unit());
            let to = (host as u64 + first + number) % hosts.len() as u64;
            next.push(Reverse((at, all.len())));
            all.push(Session { from: host as u32, to: to as u32, rate, stream });
        }
    }
    Ok(Box::new(Sessions { turns, all, next, sizes, mean_bytes, share, load }))
}

#[derive(Clone)]
struct Sessions {
    turns: bool,
    all: Vec<Session>,
    /// Time of the next message of each session.
    next: BinaryHeap<Reverse<(Instant, usize)>>,
    sizes: Sizes,
    mean_bytes: f64,
    share: f64,
    load: f64,
}

#[derive(Clone)]
struct Session {
    from: u32,
    to: u32,
    rate: Rate,
    stream: Stream,
}

#[derive(Clone)]
struct Sizes {
    size: Distribution,
    least: Bytes,
    most: Bytes,
}

impl Sizes {
    fn draw(&self, stream: &mut Stream) -> Option<Bytes> {
        let mut draws = (0..MAX_DRAWS).map(|_| super::draw_bytes(&self.size, stream));
        draws.find(|bytes| (self.least..=self.most).contains(bytes))
    }

    /// Returns the mean of a thousand draws.
    fn mean(&self, stream: &mut Stream) -> Option<f64> {
        let drawn: Option<Vec<Bytes>> = (0..1000).map(|_| self.draw(stream)).collect();
        drawn.map(|drawn| drawn.iter().map(|bytes| bytes.as_f64()).sum::<f64>() / drawn.len() as f64)
    }
}

/// Returns the time in which a share of a link transmits `bytes`.
fn due(bytes: f64, share: f64, rate: Rate) -> Span {
    Span::from_ps_f64(bytes * 8e12 / (share * rate.as_bps_f64())).clamp(Span(1), MAX_TIME)
}

impl Generator for Sessions {
    fn next(&mut self) -> Option<Batch> {
        let Reverse((at, number)) = self.next.pop()?;
        let hosts = self.all.last().map_or(0, |last| u64::from(last.from) + 1);
        let Session { from, to, rate, stream } = &mut self.all[number];
        let bytes = self.sizes.draw(stream)?;
        let deadline = due(bytes.as_f64(), self.share, *rate);
        let (pause, busy) = if self.turns {
            (deadline.0 as f64 * (1.0 / self.load - 1.0), deadline)
        } else {
            *to = ((u64::from(*from) + 1 + stream.below(hosts - 1)) % hosts) as u32;
            (due(self.mean_bytes, self.share, *rate).0 as f64 / self.load, Span::ZERO)
        };
        let pause = if pause > 0.0 { super::draw_time(&Distribution::Exponential(pause), stream) } else { Span::ZERO };
        let after = at.saturating_add(busy).saturating_add(pause).max(at + Span(1));
        self.next.push(Reverse((after, number)));
        let request = Request {
            start: at,
            from: HostId(*from),
            to: HostId(*to),
            bytes: Some(bytes),
            deadline: None,
            query: None,
            place: None,
            piece: None,
        };
        Some(Batch::of_one(request, Some(Allowed::Time(deadline))))
    }

    fn expected(&self, until: Instant) -> (f64, &'static str) {
        let cycles =
            |session: &Session| until.0 as f64 * self.load / due(self.mean_bytes, self.share, session.rate).0 as f64;
        (self.all.iter().map(cycles).sum(), "load")
    }

    fn offer(&self, until: Instant, offer: &mut dyn FnMut(Demand)) {
        let hosts: Vec<HostId> = (0..self.all.last().map_or(0, |last| last.from + 1)).map(HostId).collect();
        for Session { from, to, rate, .. } in &self.all {
            let messages = until.0 as f64 * self.load / due(self.mean_bytes, self.share, *rate).0 as f64;
            let to = if self.turns { &[HostId(*to)][..] } else { &hosts[..] };
            offer(Demand { from: &[HostId(*from)], to, messages, bytes: messages * self.mean_bytes });
        }
    }

    fn sizes(&self) -> Option<&Distribution> {
        // With bounds, the distribution is another one.
        Some(&self.sizes.size).filter(|_| (self.sizes.least, self.sizes.most) == (Bytes::ZERO, Bytes::MAX))
    }

    fn deadlines(&self) -> Option<(Span, Span)> {
        let (low, high) = self.sizes.size.span();
        let rates = || self.all.iter().map(|session| session.rate);
        let bound = |bytes: f64| bytes.clamp(self.sizes.least.as_f64(), self.sizes.most.as_f64());
        let (slow, fast) = (rates().min_by_key(|rate| rate.0)?, rates().max_by_key(|rate| rate.0)?);
        Some((due(bound(low), self.share, fast), due(bound(high), self.share, slow)))
    }

    fn again(&self) -> Box<dyn Generator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Graph;
    use units::Value;

    /// Two sessions with a tenth of the link for each of four hosts; the first 400 messages.
    fn messages(load: &str, arrivals: &str) -> Vec<Request> {
        let mut graph = Graph::new(4);
        let switch = graph.switch("switch", false);
        graph.rack(switch, 0, 0..4, Rate(1_000_000_000), Span::from_micros(1));
        let settings = [
            ("name", "a"),
            ("load", load),
            ("share", "10%"),
            ("sessions", "2"),
            ("first", "2"),
            ("arrivals", arrivals),
            ("least_size", "100 KB"),
            ("most_size", "1 MB"),
        ];
        let keys = super::super::KEYS.iter().chain(KEYS).filter(|key| key.name != SIZE.name);
        let mut values = Values::read(keys, &settings).unwrap();
        values.set(SIZE.name, Value::Distribution(Distribution::Exponential(1e6)));
        let context = Context { graph: &graph, sprayed: false, seed: 1, duration: Span::from_millis(100), above: &[] };
        let mut generator = build(&values, &context).unwrap();
        (0..400).map(|_| generator.next().unwrap().messages[0]).collect()
    }

    #[test]
    fn a_message_is_due_when_the_share_could_have_sent_it() {
        for request in messages("50%", "turns").into_iter().chain(messages("50%", "poisson")) {
            let bytes = request.bytes.unwrap();
            assert!((100_000..=1_000_000).contains(&bytes.0) && request.from != request.to);
            // A tenth of 1 Gbit/s: 80 ns for each byte.
            assert_eq!(request.deadline, Some(Span(bytes.0 * 80_000)));
        }
    }

    #[test]
    fn sessions_take_turns_between_fixed_hosts() {
        for (load, pauses) in [("100%", false), ("50%", true)] {
            let messages = messages(load, "turns");
            assert!(messages.is_sorted_by_key(|request| request.start));
            for (from, to) in (0..4).flat_map(|from| [(from, (from + 2) % 4), (from, (from + 3) % 4)]) {
                let own: Vec<&Request> =
                    messages.iter().filter(|each| (each.from.0, each.to.0) == (from, to)).collect();
                let gap = |pair: &[&Request]| pair[1].start.saturating_sub(pair[0].start + pair[0].deadline.unwrap());
                let paused = own.windows(2).filter(|pair| gap(pair) > Span::ZERO).count();
                assert!(own.windows(2).all(|pair| pair[1].start >= pair[0].start + pair[0].deadline.unwrap()));
                assert_eq!(paused, if pauses { own.len() - 1 } else { 0 });
            }
        }
    }

    #[test]
    fn the_load_is_what_was_asked_for() {
        for arrivals in ["turns", "poisson"] {
            let messages = messages("50%", arrivals);
            let offered: u64 = messages.iter().filter_map(|request| request.bytes).map(|bytes| bytes.0).sum();
            // Eight sessions at half of 100 Mbit/s, over some fifty messages each.
            let time = messages.last().unwrap().start.saturating_sub(messages[0].start);
            let rate = offered as f64 * 8.0 / time.as_secs_f64();
            assert!((rate / 400e6 - 1.0).abs() < 0.15, "{arrivals}: {rate}");
        }
    }
}
