//! Parameters of `d2tcp_plus`, each with the source of its default.

use units::{Bytes, Default, Key, Kind, Range, Values};

use crate::connection::Config;

/// The parameters of `d2tcp_plus`, beside DCTCP's.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "start",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::at_least(0.0),
        help: "the first RTT sample lifts the window to this many times what the deadline needs",
        source: "twice the need leaves half of the time for others; measured, docs/promise.md",
    },
    Key {
        name: "growth",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::above(0.0, 1.0),
        help: "segments by which each segment that is acknowledged without a mark lifts the window, until a message's first \
               mark or loss",
        source: "RFC 5681 3.1: slow start",
    },
    Key {
        name: "growth_later",
        kind: Kind::Number,
        default: Default::Is("0.25"),
        range: Range::above(0.0, 1.0),
        help: "the same from then on; multiplicative, so that windows keep the proportions of their needs",
        source: "measured, docs/promise.md",
    },
    Key {
        name: "growth_most",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(1.0),
        help: "asking: where a message needs more than a segment per round trip, growth_later goes with floor_horizon over \
               the time left, so many times more or less at most; 1: always the same",
        source: "then near its deadline a message grows as in slow start; who is nearer takes what the floors leave; \
                 measured, docs/promise.md",
    },
    Key {
        name: "floor_horizon",
        kind: Kind::Time,
        default: Default::Is("10 ms"),
        range: Range::POSITIVE,
        help: "a cut takes half of what is above the need times this over the time left: the nearer the deadline, the less",
        source: "some tens of round trips, in which windows come apart; measured, docs/promise.md",
    },
    Key {
        name: "floor_most",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(0.0),
        help: "that factor at most; 0: no floor",
        source: "a bound on what flows whose needs exceed the link insist on; measured, docs/promise.md",
    },
    Key {
        name: "waits",
        kind: Kind::Choice(&["asking", "blindly"]),
        default: Default::Is("asking"),
        range: Range::ANY,
        help: "how what is held back comes in again: it asks until an answer comes back without a mark, and is then \
               not held back any more; or it sends a segment after some time, whatever the network is like",
        source: "carrier sense: who finishes what it has begun leaves the link sooner; blindly is what Linux does; measured, \
                 docs/promise.md",
    },
    Key {
        name: "ask_scale",
        kind: Kind::Time,
        default: Default::Is("150 ms"),
        range: Range::POSITIVE,
        help: "asking: the time until it asks is drawn so that its mean is the square of its laxity over this, where that is \
               less than the laxity",
        source: "with the square of the inverse a random order is nearly that of the deadlines; the scale leaves an eighth of \
                 the link to questions of some hundred messages; measured, docs/promise.md",
    },
    Key {
        name: "ask_lengths",
        kind: Kind::Number,
        default: Default::Is("64"),
        range: Range::at_least(0.0),
        help: "asking: to that scale is added this many times what the rest takes on the host's link by itself",
        source: "a link that is idle until somebody asks must be so for a small part of what a message takes; measured, \
                 docs/promise.md",
    },
    Key {
        name: "rate_power",
        kind: Kind::Number,
        default: Default::Is("0.75"),
        range: Range::between(0.0, 1.0),
        help: "asking: ask_scale, floor_horizon and hopeless_hold are times at 1 Gbps, and at another rate of the host's link they \
               are multiplied by 1 Gbps over it to this power; 0: the same at all rates",
        source: "what a question takes shrinks with the rate, round trips at the usual marking thresholds with its root, and \
                 deadlines by anything from nothing to the whole; measured, docs/promise.md",
    },
    Key {
        name: "peers",
        kind: Kind::Number,
        default: Default::Is("5"),
        range: Range::at_least(0.0),
        help: "asking: a message is held back only where its laxity is more than this many times what its rest takes on the \
               host's link by itself, so that as many like it may go first; and what has been admitted, the less likely the \
               nearer it is to that",
        source: "fewer, and an urgent message stands back for relaxed ones; more, and relaxed ones do not for it; measured, \
                 docs/promise.md",
    },
    Key {
        name: "peer_rounds",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::at_least(0.0),
        help: "asking: what has been admitted and whose rest takes no more than this many round trips by itself is not held back \
               again; what takes no more as a whole is short, and has rules of its own (company_rounds)",
        source: "to stand back and to ask takes a round trip each; measured, docs/promise.md",
    },
    Key {
        name: "ask_rounds",
        kind: Kind::Number,
        default: Default::Is("6"),
        range: Range::at_least(0.0),
        help: "asking: a message is held back only where its laxity is more than this many round trips too",
        source: "to stand back, to ask and to begin anew takes some; 3 to 6 help where deadlines are a few round trips; measured, \
                 docs/promise.md",
    },
    Key {
        name: "wide_rounds",
        kind: Kind::Number,
        default: Default::Is("20"),
        range: Range::at_least(0.0),
        help: "asking: a message that begins with more than admitted_window segments is held back only where its laxity is more \
               than this many round trips too; and where receivers delay ACKs, none asks first with a laxity of no more than this \
               many such delays. 0: as the others",
        source: "what it sent unasked fills the queue that its questions would have to find empty, and a question is a single \
                 packet; 15 to 30 do alike; measured, docs/promise.md",
    },
    Key {
        name: "first",
        kind: Kind::Choice(&["question", "window"]),
        default: Default::Is("question"),
        range: Range::ANY,
        help: "asking: what a message sends first on an idle connection if it has time for its peers: a question, after which it \
               begins with no more than admitted_window segments, or its first window",
        source: "of answers that begin at once, those that find room go first, and the others have lost nothing; measured, \
                 docs/promise.md",
    },
    Key {
        name: "ask_time",
        kind: Kind::Time,
        default: Default::Is("7 ms"),
        range: Range::at_least(0.0),
        help: "asking: a message asks first only with a laxity of more than this at 1 Gbps; follows the rate as ask_scale does",
        source: "some tens of round trips under load: beside long messages an answer takes several to ask and to begin with a narrow \
                 window, and a sender does not know yet how long they are; measured, docs/promise.md",
    },
    Key {
        name: "admitted_window",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::at_least(1.0),
        help: "asking: segments with which a message begins whose question came back without a mark",
        source: "slow start's second window: the question was its first",
    },
    Key {
        name: "admitted_short",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::at_least(1.0),
        help: "asking: the same for what is short (peer_rounds)",
        source: "half as many segments meet where several are admitted at once; measured, docs/promise.md",
    },
    Key {
        name: "company_rounds",
        kind: Kind::Number,
        default: Default::Is("1.5"),
        range: Range::at_least(0.0),
        help: "asking: round trips that each segment of what is short is expected to take in the company of others, at 1 Gbps; \
               follows the rate as ask_scale does. With less time than that it has no hope (company_refusals); with more than \
               twice that, what was admitted may be held back by chance",
        source: "some tens share the link while much waits, so that a segment waits for one of each; measured, docs/promise.md",
    },
    Key {
        name: "company_refusals",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::at_least(1.0),
        help: "asking: what is short reckons with company when it decides on its hope once it was kept out so many times",
        source: "beside a single long message it is kept out too, though it would be in time in its company; 2 to 13 do alike \
                 where answers meet answers; measured, docs/promise.md",
    },
    Key {
        name: "question",
        kind: Kind::Size,
        default: Default::Is("1 B"),
        range: Range::at_least(1.0),
        help: "asking: bytes of the message that a question carries, a segment at most",
        source: "what asks should take as little of the link as it can; with a segment, the least that Linux sends, asking \
                 is worth little (deploy/linux/README.md)",
    },
    Key {
        name: "hold_share",
        kind: Kind::Number,
        default: Default::Is("0.7"),
        range: Range::between(0.0, 1.0),
        help: "0: never held back; blindly: the share of its laxity for which a message may be held back at one sign of \
               congestion",
        source: "below 1, so that time remains for another sign; measured, docs/promise.md",
    },
    Key {
        name: "hold_most",
        kind: Kind::Time,
        default: Default::Is("20 ms"),
        range: Range::POSITIVE,
        help: "blindly: the longest that a message with hope is held back at once",
        source: "about the time in which a burst of some hundred answers passes; measured, docs/promise.md",
    },
    Key {
        name: "hold_power",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(0.0),
        help: "how long it is held back, and blindly the chance of it, goes with the share of the message that is left to \
               this power: what has begun goes on",
        source: "finishing what has begun frees the link for good; measured, docs/promise.md",
    },
    Key {
        name: "guard",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::at_least(0.0),
        help: "blindly: laxity is the time left less a round trip and this many times what the rest needs at the window as cut",
        source: "half: a window that is not cut again doubles what it sends in that time; measured, docs/promise.md",
    },
    Key {
        name: "guard_most",
        kind: Kind::Time,
        default: Default::Is("10 ms"),
        range: Range::POSITIVE,
        help: "that at most: a window grows again",
        source: "measured, docs/promise.md",
    },
    Key {
        name: "guard_share",
        kind: Kind::Number,
        default: Default::Is("0.25"),
        range: Range::between(0.0, 1.0),
        help: "and no more than this share of the time that the message had at first",
        source: "without it short deadlines are given up at once; measured, docs/promise.md",
    },
    Key {
        name: "hopeless",
        kind: Kind::Choice(&["hold", "abort"]),
        default: Default::Is("hold"),
        range: Range::ANY,
        help: "at a sign of congestion with no laxity left: let others pass for some time, then ask (blindly: send a \
               segment), or give the message up",
        source: "what cannot be met only delays what can; abort where the application has no use for late answers",
    },
    Key {
        name: "hopeless_hold",
        kind: Kind::Time,
        default: Default::Is("100 ms"),
        range: Range::POSITIVE,
        help: "how long, drawn from half of it to one and a half times",
        source: "a few deadlines of the others; measured, docs/promise.md",
    },
];

/// The values of [`KEYS`]; times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constants {
    pub(super) start: f64,
    pub(super) growth: f64,
    pub(super) growth_later: f64,
    pub(super) growth_most: f64,
    pub(super) floor_horizon: f64,
    pub(super) floor_most: f64,
    pub(super) asks: bool,
    pub(super) ask_scale: f64,
    pub(super) ask_lengths: f64,
    pub(super) peers: f64,
    pub(super) rate_power: f64,
    pub(super) peer_rounds: f64,
    pub(super) ask_rounds: f64,
    pub(super) wide_rounds: f64,
    pub(super) asks_first: bool,
    pub(super) ask_time: f64,
    pub(super) admitted_window: f64,
    pub(super) admitted_short: f64,
    pub(super) company_rounds: f64,
    pub(super) company_refusals: u32,
    pub(super) question: Bytes,
    /// The time by which a receiver may delay the ACK of a single packet.
    pub(super) answer_delay: f64,
    pub(super) hold_share: f64,
    pub(super) hold_most: f64,
    pub(super) hold_power: f64,
    pub(super) guard: f64,
    pub(super) guard_most: f64,
    pub(super) guard_share: f64,
    pub(super) aborts: bool,
    pub(super) hopeless_hold: f64,
}

impl Constants {
    /// Reads the values of a scenario.
    pub(super) fn of(values: &Values, connection: &Config) -> Constants {
        Constants {
            start: values.number("start"),
            growth: values.number("growth"),
            growth_later: values.number("growth_later"),
            growth_most: values.number("growth_most"),
            floor_horizon: values.time("floor_horizon").as_secs_f64(),
            floor_most: values.number("floor_most"),
            asks: values.choice("waits") == "asking",
            ask_scale: values.time("ask_scale").as_secs_f64(),
            ask_lengths: values.number("ask_lengths"),
            peers: values.number("peers"),
            rate_power: values.number("rate_power"),
            peer_rounds: values.number("peer_rounds"),
            ask_rounds: values.number("ask_rounds"),
            wide_rounds: values.number("wide_rounds"),
            asks_first: values.choice("first") == "question",
            ask_time: values.time("ask_time").as_secs_f64(),
            admitted_window: values.number("admitted_window"),
            admitted_short: values.number("admitted_short"),
            company_rounds: values.number("company_rounds"),
            company_refusals: values.count("company_refusals") as u32,
            question: values.size("question"),
            answer_delay: if connection.ack_every > 1 { connection.ack_delay.as_secs_f64() } else { 0.0 },
            hold_share: values.number("hold_share"),
            hold_most: values.time("hold_most").as_secs_f64(),
            hold_power: values.number("hold_power"),
            guard: values.number("guard"),
            guard_most: values.time("guard_most").as_secs_f64(),
            guard_share: values.number("guard_share"),
            aborts: values.choice("hopeless") == "abort",
            hopeless_hold: values.time("hopeless_hold").as_secs_f64(),
        }
    }
}
