//! Windows from the receiver: a host orders the window transports that end at it by the windows that it advertises.
//!
//! A connection is as ever ([`connection`](crate::connection)): the sender's congestion controller decides, but it also
//! keeps to the right edge that the receiver advertises ([`Header::Window`]). A data packet names the end and the
//! deadline of its message ([`Header::Message`]), as a program does that announces them, or the head of an answer. The
//! receiving host ([`Host`]) takes its decisions by the schedule of the crate `receive`, which the tool for Linux has
//! too (`d2tcp receive`).
//!
//! The right edge never moves back, and windows open by two segments or more: RFC 9293 3.8.6.2.2, the receiver's part
//! in the avoidance of silly windows. A sender waits for a full segment, or all that is left (3.8.6.2.1), and probes a
//! closed window after its timeout (3.8.6.1).

mod header;
mod host;
mod receiver;
mod sender;

pub use header::{Header, Known};
pub use host::Host;
pub use receiver::Receiver;
pub use sender::Sender;

pub use crate::agent::NoAgents as Agents;

use units::{Amount, Default, Key, Kind, Range, Span, Value, Values};

use crate::controllers::Controller;
use crate::{Descriptor, Surroundings, connection};

/// None: every window transport can be scheduled by its receiver.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[];

/// See [`Entry::reads`](crate::registry::Entry::reads): all that window transports read.
pub(crate) const READS: Option<&[&str]> = None;

/// The least credit, in segments. The tool for Linux has the same.
const MIN_CREDIT: u64 = 22;
/// The default credit, in bandwidth-delay products.
const CREDIT_PRODUCTS: u64 = 2;
/// The default patience, in round trips.
const PATIENCE_ROUND_TRIPS: u64 = 10;
/// The time after which a held sender may send two segments. The tool for Linux has the same: its probes stay frequent.
const NUDGE: Span = Span::from_millis(400);
/// The largest scale of a window field (RFC 7323 2.3).
const MAX_SCALE: u32 = 14;

/// The parameters of the schedule, which every window transport has.
pub const KEYS: &[Key] = &[
    Key {
        name: "receiver",
        kind: Kind::Choice(&["stock", "edf"]),
        default: Default::Is("stock"),
        range: Range::ANY,
        help: "who decides which senders of a host may send: each for itself, or the receiving host too, by the windows that \
               it advertises: earliest deadline first, without those that cannot be in time",
        source: "RFC 9293 (stock); `d2tcp receive`, whose schedule this is (edf)",
    },
    Key {
        name: "receiver_credit",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "with receiver = \"edf\", the payload that may be granted and not yet received, over all connections of a \
               host; left out: two bandwidth-delay products of its link and the longest round trip, and 22 segments at least",
        source: "own; one product fills the path, the second covers senders that react late. The tool takes 1 ms of the rate",
    },
    Key {
        name: "receiver_floor",
        kind: Kind::Number,
        default: Default::Is("0.0625"),
        range: Range::between(0.0, 1.0),
        help: "with receiver = \"edf\", the share of the credit for traffic without a deadline beside messages",
        source: "own: 1/16, as in the tool; the loss of a link's capacity for messages is at most that",
    },
    Key {
        name: "receiver_patience",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "with receiver = \"edf\", the time without a byte after which a grant no longer counts against the credit; left \
               out: ten of the longest round trips",
        source: "own: more than the queue of two credits takes; the tool has 10 ms",
    },
];

/// Sets the parameters that follow from the network, where receivers schedule.
pub(crate) fn settle(values: &mut Values, surroundings: &Surroundings) {
    if values.choice("receiver") == "stock" {
        return;
    }
    let round_trip = surroundings.round_trip_of(connection::packet(values));
    if values.amount_if_set("receiver_credit").is_none() {
        let mss = values.size("mss").0;
        let product = surroundings.carried_in(round_trip, units::Bytes(1)).round() as u64;
        let credit = (CREDIT_PRODUCTS * product).max(MIN_CREDIT * mss);
        values.set_default("receiver_credit", Value::Amount(Amount::Bytes(credit)));
    }
    values.follow("receiver_patience", |_| Value::Time(round_trip * PATIENCE_ROUND_TRIPS));
}

/// A window transport whose receivers schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The sender's congestion controller.
    pub law: Controller,
    /// The receiving hosts' schedule.
    pub schedule: Schedule,
}

/// The parameters of a host's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The payload that may be granted and not yet received.
    credit: u64,
    /// The share of traffic without a deadline, in thousandths.
    floor_permille: u64,
    /// The time without a byte after which a grant no longer counts.
    patience: Span,
}

impl Config {
    /// Returns none: nothing is kept at ports.
    pub fn agents(&self) -> Option<Agents> {
        None
    }
}

impl Schedule {
    /// Returns the schedule, if the values say that receivers have one.
    pub(crate) fn from_values(values: &Values, connection: &connection::Config) -> Option<Schedule> {
        if values.choice("receiver") == "stock" {
            return None;
        }
        let mss = u64::from(connection.mss);
        let credit = match values.amount_if_set("receiver_credit") {
            Some(Amount::Bytes(bytes)) => bytes,
            Some(Amount::Packets(packets)) => packets.saturating_mul(mss),
            None => MIN_CREDIT * mss,
        };
        Some(Schedule {
            // Two steps of two segments: one for the connection that sends, one for the next.
            credit: credit.max(4 * mss),
            floor_permille: (values.number("receiver_floor") * 1000.0).round() as u64,
            patience: values.time("receiver_patience"),
        })
    }

    /// Returns the scale of the window field: the least by which it holds all of the credit (RFC 7323 2.3).
    fn scale(&self, mss: u32) -> u32 {
        let most = self.credit + u64::from(mss);
        (0..MAX_SCALE).find(|scale| most >> scale <= u64::from(u16::MAX)).unwrap_or(MAX_SCALE)
    }
}
