//! The parameters of transports that pace at a rate for the sake of a deadline.

use units::{Default, Key, Kind, Range};

/// The rate that a deadline needs, and its pacing: the only keys of `jit`.
pub(crate) const DEMAND: &[Key] = &[
    Key {
        name: "aim",
        kind: Kind::Number,
        default: Default::Is("1.05"),
        range: Range::between(0.1, 10.0),
        help: "gamma is so many times bytes left (with headers) over time left",
        source: "MCP 3.1: 1; 5 % more, since all finish hairline late otherwise, or fail at the first lost packet",
    },
    Key {
        name: "lead",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::between(0.0, 1000.0),
        help: "segments that count as left though they are sent, once a message has begun",
        source: "open: a paced packet leaves when its turn begins, so that a message is one ahead of its rate; with 0 that is \
                 given back, and the last packet of a small message leaves when it should arrive",
    },
    Key {
        name: "margin_rtts",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(0.0, 1000.0),
        help: "round trips that are taken off the time left: the last bytes need half of one to arrive, and a change of \
               the rate is felt one later",
        source: "open in the paper, which counts all of the time left; as the lag of d3",
    },
    Key {
        name: "expired",
        kind: Kind::Choice(&["neutral", "urgent", "abort"]),
        default: Default::Is("neutral"),
        range: Range::ANY,
        help: "once the deadline has passed: go on as a message without one, at the rate of the link, or give it up",
        source: "MCP 5 aborts in its evaluation; neutral as d2tcp: a late message is still delivered, and has nothing \
                 left to gain",
    },
    Key {
        name: "capacity",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "C, by which rates are normalised, and the most that is sent; the rate of the sender's own link when absent",
        source: "open: as printed, the law adds rates, amounts and prices of different units",
    },
    Key {
        name: "base_rtt",
        kind: Kind::Time,
        default: Default::Is("100 us"),
        range: Range::POSITIVE,
        help: "tau, by which amounts are normalised (by C tau): what a sender assumes before its first sample, then its \
               smallest sample; for mcp-opt also the interval over which ports measure",
        source: "MCP 4.1 takes it from the handshake; not stated",
    },
    Key {
        name: "least_rate",
        kind: Kind::Share,
        default: Default::Is("0.1%"),
        range: Range::above(0.0, 1.0),
        help: "the least rate, as a share of C",
        source: "open: below one segment per round trip, or many slow flows overload a link (docs: MCP)",
    },
    Key {
        name: "in_flight",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(1.0, 1000.0),
        help: "the window, as so many times rate times RTT, and initial_window: it bounds what a path that has gone \
               silent takes; the rate decides otherwise",
        source: "open: MCP speaks of windows only; 2 as BBR's cwnd_gain",
    },
];

/// Parameters of the law.
pub(crate) const LAW: &[Key] = &[
    Key {
        name: "gain",
        kind: Kind::Number,
        default: Default::Is("0.1"),
        range: Range::above(0.0, 10.0),
        help: "k, by which each step of the rate is multiplied",
        source: "open: 1 as printed, which does not settle; 0.1 is within the condition of stability (docs: MCP)",
    },
    Key {
        name: "gain_scale",
        kind: Kind::Choice(&["rate", "constant"]),
        default: Default::Is("rate"),
        range: Range::ANY,
        help: "whether a step is gain times the rate, or gain",
        source: "MCP (10): constant, with which the loop's gain rises as 1/gamma, so that slow flows swing",
    },
    Key {
        name: "price_weight",
        kind: Kind::Number,
        default: Default::Is("0.001"),
        range: Range::at_least(0.0),
        help: "V, the weight of the price of links against their queues: the larger, the sooner a rate above gamma falls",
        source: "MCP 3.3 sets 1, with which Z rests above its limit for half a link; 0.001 keeps the condition of \
                 stability below 1 for loads up to load_cap (docs: MCP)",
    },
    Key {
        name: "load_cap",
        kind: Kind::Share,
        default: Default::Is("90%"),
        range: Range::between(0.0, 0.999),
        help: "the load y of a link counts for no more than this in its price (1 - y)^-2",
        source: "open: the printed price has no limit, and above C it falls again",
    },
    Key {
        name: "source_term",
        kind: Kind::Choice(&["paper", "drift"]),
        default: Default::Is("paper"),
        range: Range::ANY,
        help: "what drives the rate up: Z gamma / x^2, or Z",
        source: "MCP (9); drift: what drift-plus-penalty gives without the paper's surrogate",
    },
    Key {
        name: "backlog_cap",
        kind: Kind::Number,
        default: Default::Is("10"),
        range: Range::POSITIVE,
        help: "the most that Z is, in C tau: how long a shortage is remembered",
        source: "open: the printed Z grows without limit during a long shortage",
    },
    Key {
        name: "abort_backlog",
        kind: Kind::Number,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "a message is given up when its Z exceeds so many times the rate of the largest link on its path (mcp: of C); \
               never when absent",
        source: "MCP 4.2: 1; absent, so that every message is delivered, as with the other transports",
    },
    Key {
        name: "abort_measure",
        kind: Kind::Choice(&["paper", "relative"]),
        default: Default::Is("paper"),
        range: Range::ANY,
        help: "what abort_backlog limits: Z, or Z / gamma",
        source: "MCP 4.2: Z, which at rest is gamma times the price, so that the largest gamma dies first",
    },
    Key {
        name: "hold_off",
        kind: Kind::Number,
        default: Default::Is("0"),
        range: Range::between(0.0, 1e6),
        help: "for how many round trips Z must have been above its limit",
        source: "MCP 4.2: none; flows that are too many then all give up in the same round trip",
    },
    Key {
        name: "hold_off_spread",
        kind: Kind::Number,
        default: Default::Is("0"),
        range: Range::between(0.0, 1e6),
        help: "round trips of which each connection adds a share of its own, drawn once, to hold_off",
        source: "open: breaks the tie between equal flows",
    },
];

/// The estimate of the network's state from ECN.
pub(crate) const ECN: &[Key] = &[
    Key {
        name: "threshold",
        kind: Kind::Number,
        default: Default::Is("64"),
        range: Range::at_least(0.0),
        help: "K as the sender knows it, in full segments: what its estimate of the queue starts from",
        source: "MCP 5: 64 packets for the others' marking; its own is not stated",
    },
    Key {
        name: "queue_estimate",
        kind: Kind::Choice(&["zero-when-unmarked", "paper"]),
        default: Default::Is("zero-when-unmarked"),
        range: Range::ANY,
        help: "the queue when nothing was marked in the last round trip: empty, or K",
        source: "MCP (11): Q = K + F W whatever F is, so that an idle network holds its flows back",
    },
    Key {
        name: "load_estimate",
        kind: Kind::Choice(&["growth", "paper"]),
        default: Default::Is("growth"),
        range: Range::ANY,
        help: "the load of the link: 1 and the growth of the estimated queue, so that it is at load_cap unless the \
               queue shrinks, or its growth alone",
        source: "MCP 4.1: its growth, which is no arrival rate: that is C more",
    },
];
