//! Parameters of `d2tcp_wait`, each with the source of its default. The kernel's constants have the same names.

use units::{Default, Key, Kind, Range, Values};

/// The parameters of `d2tcp_wait`, beside DCTCP's.
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
        name: "hold_share",
        kind: Kind::Number,
        default: Default::Is("0.7"),
        range: Range::between(0.0, 1.0),
        help: "the share of its laxity for which a message may be held back at one sign of congestion; 0: \
               never held back",
        source: "below 1, so that time remains for another sign; measured, docs/promise.md",
    },
    Key {
        name: "hold_most",
        kind: Kind::Time,
        default: Default::Is("20 ms"),
        range: Range::POSITIVE,
        help: "the longest that a message with hope is held back at once",
        source: "about the time in which a burst of some hundred answers passes; measured, docs/promise.md",
    },
    Key {
        name: "hold_power",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(0.0),
        help: "how long it is held back, and the chance of it, go with the share of the message that is left to \
               this power: what has begun goes on",
        source: "finishing what has begun frees the link for good; measured, docs/promise.md",
    },
    Key {
        name: "guard",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::at_least(0.0),
        help: "laxity is the time left less a round trip and this many times what the rest needs at the window as cut",
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
        name: "hopeless_hold",
        kind: Kind::Time,
        default: Default::Is("100 ms"),
        range: Range::POSITIVE,
        help: "how long a message without laxity is held back at a sign of congestion, drawn from half of it to one and a half \
               times; then it sends a segment",
        source: "a few deadlines of the others; measured, docs/promise.md",
    },
];

/// The values of [`KEYS`]; times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constants {
    pub(super) start: f64,
    pub(super) growth: f64,
    pub(super) growth_later: f64,
    pub(super) floor_horizon: f64,
    pub(super) floor_most: f64,
    pub(super) hold_share: f64,
    pub(super) hold_most: f64,
    pub(super) hold_power: f64,
    pub(super) guard: f64,
    pub(super) guard_most: f64,
    pub(super) guard_share: f64,
    pub(super) hopeless_hold: f64,
}

impl Constants {
    /// Reads the values of a scenario.
    pub(super) fn of(values: &Values) -> Constants {
        Constants {
            start: values.number("start"),
            growth: values.number("growth"),
            growth_later: values.number("growth_later"),
            floor_horizon: values.time("floor_horizon").as_secs_f64(),
            floor_most: values.number("floor_most"),
            hold_share: values.number("hold_share"),
            hold_most: values.time("hold_most").as_secs_f64(),
            hold_power: values.number("hold_power"),
            guard: values.number("guard"),
            guard_most: values.time("guard_most").as_secs_f64(),
            guard_share: values.number("guard_share"),
            hopeless_hold: values.time("hopeless_hold").as_secs_f64(),
        }
    }
}
