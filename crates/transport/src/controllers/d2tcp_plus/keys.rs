//! Parameters of `d2tcp_plus`, each with the source of its default. All but `base_rtt` and `question` are ratios, so that
//! the law is the same at every rate and for every deadline.

use units::{Bytes, Default, Key, Kind, Range, Value, Values};

use crate::Surroundings;
use crate::connection::{self, Config};

/// The parameters of `d2tcp_plus`, beside DCTCP's.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "start",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::at_least(0.0),
        help: "the first RTT sample lifts the window to this many times what the deadline needs",
        source: "twice the need leaves half of the time for others; without it a message that asked begins with one segment, and slow start \
                 takes too long where round trips are; measured, docs/decisions/d2tcp-plus.md",
    },
    Key {
        name: "growth_most",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(1.0),
        help: "the most by which the nearness of the deadline, the allowed time over the time left, multiplies the floor of a cut, \
               which is the need; and growth, which is one over this after the first mark or loss",
        source: "then near its deadline a message grows as in slow start, and takes what the floors leave; measured, docs/promise.md",
    },
    Key {
        name: "ask_rate",
        kind: Kind::Number,
        default: Default::Is("6"),
        range: Range::at_least(0.0),
        help: "the time until a message asks is drawn so that its mean is the square of its laxity over this many times its allowed \
               time, where that is less than the laxity; 0: never held back",
        source: "with the square of the inverse a random order is nearly that of the deadlines; 3, 6 and 12 do alike; measured, \
                 docs/decisions/d2tcp-plus.md",
    },
    Key {
        name: "ask_lengths",
        kind: Kind::Number,
        default: Default::Is("64"),
        range: Range::at_least(0.0),
        help: "to the time in that quotient is added this many times what the rest takes on the host's link by itself",
        source: "a link that is idle until a message asks must be so for a small part of what a message takes; measured, docs/promise.md",
    },
    Key {
        name: "peers",
        kind: Kind::Number,
        default: Default::Is("5"),
        range: Range::at_least(0.0),
        help: "a message is held back only where its laxity is more than this many times what its rest takes on the host's link by \
               itself, so that as many like it may go first; once refused as often, a short one reckons with company",
        source: "fewer, and an urgent message stands back for relaxed ones; more, and relaxed ones do not for it; measured, docs/promise.md",
    },
    Key {
        name: "ask_rounds",
        kind: Kind::Number,
        default: Default::Is("6"),
        range: Range::at_least(0.0),
        help: "a message is held back only where its laxity is more than this many round trips too",
        source: "to stand back, to ask and to begin anew takes some; measured, docs/promise.md",
    },
    Key {
        name: "first_rounds",
        kind: Kind::Number,
        default: Default::Is("20"),
        range: Range::at_least(0.0),
        help: "a message on an idle connection asks before its first data only where its laxity is more than this many round trips \
               (base_rtt, and where receivers delay ACKs ack_delay) and its length leaves time for its peers",
        source: "under load a round trip is several of an empty network; a very large number: none asks first; measured, \
                 docs/decisions/d2tcp-plus.md",
    },
    Key {
        name: "base_rtt",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the round trip that a sender expects of a new connection; the longest of the empty network when absent",
        source: "a host knows it from earlier connections to the same place",
    },
    Key {
        name: "company",
        kind: Kind::Number,
        default: Default::Is("60"),
        range: Range::at_least(0.0),
        help: "so many times what its rest takes by itself a short message, of two round trips by itself, is expected to take in the \
               company of others. With less time than that one that was refused has no hope; with more than twice that an \
               admitted one may be held back by chance",
        source: "some tens of messages share the link while much waits; measured, docs/decisions/d2tcp-plus.md",
    },
    Key {
        name: "question",
        kind: Kind::Size,
        default: Default::Is("1 B"),
        range: Range::at_least(1.0),
        help: "bytes of the message that a question carries, a segment at most",
        source: "what asks should take as little of the link as it can; with a segment, the least that Linux sends, asking is worth \
                 little (deploy/linux/README.md)",
    },
    Key {
        name: "hold_power",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::at_least(0.0),
        help: "the chance that an admitted message is held back, and the time until it asks, go with the share of it that is left to \
               this power: what has begun goes on",
        source: "finishing what has begun frees the link for good; measured, docs/promise.md",
    },
    Key {
        name: "hopeless_hold",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::at_least(0.0),
        help: "at a sign of congestion with no laxity left it lets others pass, and then asks: for this many times its allowed time, \
               drawn from half of that to one and a half times",
        source: "what cannot be met only delays what can; 2 and 5 do alike; measured, docs/decisions/d2tcp-plus.md",
    },
];

/// Sets the base RTT that is not written to the longest round trip of the network.
pub(super) fn settle(values: &mut Values, surroundings: &Surroundings) {
    values.follow("base_rtt", |values| Value::Time(surroundings.round_trip_of(connection::packet(values))));
}

/// The values of [`KEYS`]; times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constants {
    pub(super) start: f64,
    pub(super) growth_most: f64,
    pub(super) ask_rate: f64,
    pub(super) ask_lengths: f64,
    pub(super) peers: f64,
    pub(super) ask_rounds: f64,
    pub(super) first_rounds: f64,
    pub(super) company: f64,
    pub(super) hold_power: f64,
    pub(super) hopeless_hold: f64,
    pub(super) question: Bytes,
    pub(super) base_rtt: f64,
    /// The time by which a receiver may delay the ACK of a single packet.
    pub(super) answer_delay: f64,
}

impl Constants {
    /// Reads the values of a scenario.
    pub(super) fn of(values: &Values, connection: &Config) -> Constants {
        Constants {
            start: values.number("start"),
            growth_most: values.number("growth_most"),
            ask_rate: values.number("ask_rate"),
            ask_lengths: values.number("ask_lengths"),
            peers: values.number("peers"),
            ask_rounds: values.number("ask_rounds"),
            first_rounds: values.number("first_rounds"),
            company: values.number("company"),
            hold_power: values.number("hold_power"),
            hopeless_hold: values.number("hopeless_hold"),
            question: values.size("question"),
            base_rtt: values.time("base_rtt").as_secs_f64(),
            answer_delay: if connection.ack_every > 1 { connection.ack_delay.as_secs_f64() } else { 0.0 },
        }
    }
}
