//! `edf-grants`: the receiving host grants its link to the earliest deadline, and sheds messages that cannot be in
//! time.

use units::{Amount, Default, Key, Kind, Range, Span, Value, Values};

use super::keys::{self, follows, payload, policy, rule, settle};
use super::limits::Cut;
use super::policy::{Follows, Order, Policy};
use super::{Config, SIGNALS};
use crate::{Descriptor, Needs, Surroundings};

/// The descriptor of deadline-ordered grants.
pub(super) const DESCRIPTOR: Descriptor<Config> = Descriptor {
    name: "edf-grants",
    help: "receiving hosts grant packet by packet, earliest deadline first, and let as few messages be late as possible. Of \
           the shared parameters only mss, header and dup_ack_threshold mean anything to it",
    source: "duetime's own; shedding as Moore and Hodgson 1968, limits for shared links as SIRD (NSDI 2025)",
    aliases: &[("grants", "edf-grants"), ("credit", "outstanding")],
    groups: &[keys::KEYS, KEYS],
    needs: Needs::of(
        "nothing; ECN marks above a threshold where links within the network are shared",
        "sizes and deadlines from the application before the first byte, and state per host at both ends",
    )
    .settling(|values, surroundings| {
        settle(values, surroundings, &[]);
        settle_amounts(values, keys::product(values, surroundings));
        settle_asking(values, surroundings);
    }),
    signals: SIGNALS,
    build: |values, connection| {
        let order = Order::Deadline { sheds: values.choice("shedding") == "fewest-late" };
        let budget = payload(values, "outstanding", connection);
        let unasked = payload(values, "unasked", connection);
        let (outstanding, backlog) = (!values.is_given("outstanding"), !values.is_given("backlog"));
        Ok(Policy {
            follows: Follows { budget: outstanding, limit: outstanding, backlog, ..Follows::default() },
            budget,
            unscheduled: unasked,
            unscheduled_up_to: unasked,
            together: unasked,
            within: values.time("unasked_within"),
            at_once: payload(values, "at_once", connection),
            limits: Some(rule(budget, connection, Cut::Each, values.number("limit_cut"))),
            own_link_apart: values.choice("marks") == "shared-links",
            first_come: values.choice("sender_queue") == "first-come",
            backlog: payload(values, "backlog", connection),
            background_every: values.count("background_every"),
            cumulative: values.choice("grant_covers") == "all-before",
            ..policy(values, connection, order)
        })
    },
};

/// The default part of a limit that a sign of congestion removes at most,
const LIMIT_CUT: f64 = 0.1;
/// which is the part where a bandwidth-delay product is this number of packets: in the D2TCP paper's network.
const PACKETS: f64 = 16.0;

/// Sets the limits of outstanding and unsent data and the cut of a limit, for a bandwidth-delay product in packets. The
/// first two are no less than a receiver grants at once. All packets of a window may carry a sign, and a limit grows by
/// a segment per window. With a longer window each sign has to remove less.
fn settle_amounts(values: &mut Values, product: f64) {
    let at_once = packets_at_once(values);
    for (name, products) in [("outstanding", 1.5), ("backlog", 0.5)] {
        let packets = (product * products).ceil() as u64;
        follows(values, name, |_| Value::Amount(Amount::Packets(packets.max(at_once))));
    }
    follows(values, "limit_cut", |_| Value::Number(LIMIT_CUT.min(LIMIT_CUT * PACKETS / product)));
}

/// Returns the number of packets that a receiver grants at once.
fn packets_at_once(values: &Values) -> u64 {
    match values.amount_if_set("at_once") {
        Some(Amount::Bytes(bytes)) => bytes.div_ceil(values.size("mss").0),
        Some(Amount::Packets(packets)) => packets,
        None => 0,
    }
}

/// Sets the time that a request may take. A request, a grant and the data each cross the network, behind as much as a
/// receiver grants at once.
fn settle_asking(values: &mut Values, surroundings: &Surroundings) {
    let queue = packets_at_once(values) as f64 / keys::product(values, surroundings);
    let asking = Span::from_secs_f64(3.0 * (0.5 + queue) * surroundings.base_rtt.as_secs_f64());
    follows(values, "unasked_within", |_| Value::Time(asking));
}

const KEYS: &[Key] = &[
    Key {
        name: "outstanding",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "how much may be granted to a receiving host's senders and not have arrived, all of its connections together, in \
               packets or payload bytes; when left out, one and a half bandwidth-delay products, or at_once if that is more",
        source: "SIRD: B = 1.5 BDP; below one BDP the link idles. As at_once: where a product is a few packets, two hosts that are \
                 busy with what others have granted would hold all of it",
    },
    Key {
        name: "unasked",
        kind: Kind::Amount,
        default: Default::Is("8 packets"),
        range: Range::at_least(0.0),
        help: "messages that are due within unasked_within are sent without asking if all that were asked for with them are no more \
               than this together, in packets or payload bytes; 0 packets: all ask",
        source: "as at_once: so much a receiver grants at once; SIRD sends messages up to a BDP so, Homa the beginnings of all",
    },
    Key {
        name: "unasked_within",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "see unasked; when left out, what asking may take: a request, a grant and the data each take half of the network's longest \
               round trip, behind at_once packets",
        source: "who has more time asks, as relaxed messages that come unasked make urgent ones late (docs/promise.md)",
    },
    Key {
        name: "at_once",
        kind: Kind::Amount,
        default: Default::Is("8 packets"),
        range: Range::POSITIVE,
        help: "so much is granted at once, in packets or payload bytes; beyond that, grants are as far apart as their packets on the \
               host's link",
        source: "as backlog: what is granted at once waits at its host, and more than that would be told as if it were others'",
    },
    Key {
        name: "shedding",
        kind: Kind::Choice(&["fewest-late", "none"]),
        default: Default::Is("fewest-late"),
        range: Range::ANY,
        help: "when not all deadlines can be met on the host's link: the longest messages make room until the others can, and \
               come last, the shortest first; or the earliest deadline is granted whatever comes of it",
        source: "Moore and Hodgson 1968: no choice leaves fewer late on one link; it is looked at again with each message",
    },
    Key {
        name: "background_every",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(0.0, 1e6),
        help: "every so manyth grant goes to messages without a deadline where some wait, and every so manyth packet at their \
               host; 0: they have what is left",
        source: "chosen: beside services that load a host's link by 20 or 50 %, a fifth leaves a message of 1 MB at least what it has \
                 where all is TCP; with a tenth it is at the limit",
    },
    Key {
        name: "sender_queue",
        kind: Kind::Choice(&["earliest-deadline", "first-come"]),
        default: Default::Is("earliest-deadline"),
        range: Range::ANY,
        help: "what several receivers have granted to one host waits there for its link: the earliest deadline goes first, or what \
               was granted first",
        source: "no receiver knows what others have granted; first-come is what a host without such a queue does, to see what it \
                 brings",
    },
    Key {
        name: "backlog",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "a host says so in its data when more than this was granted by all of its receivers and waits for its link; when \
               left out, half a bandwidth-delay product, or at_once if that is more",
        source: "SIRD: SThr = 0.5 BDP; as at_once: what one receiver grants at once is not to be told",
    },
    Key {
        name: "limit_cut",
        kind: Kind::Share,
        default: Default::Absent,
        range: Range::above(0.0, 1.0),
        help: "each packet that says so, or that a switch has marked, lowers by this what may be on its way from its host; \
               others raise it, by a segment per window; what is late halves it; when left out, 10 %, or what makes 160 % in the \
               packets of a bandwidth-delay product if these are more than 16",
        source: "chosen: ten signs leave 35 % of a limit in the D2TCP paper's network; a product of them takes as much in others",
    },
    Key {
        name: "marks",
        kind: Kind::Choice(&["shared-links", "all"]),
        default: Default::Is("shared-links"),
        range: Range::ANY,
        help: "which marks of switches count: those that come while the receiving host's own link is not full, or all; the queue \
               in front of a full one is of its own making, and bounded by outstanding",
        source: "SIRD schedules the link that it owns and reacts on shared ones, and has switches mark above 1.25 BDP so that the \
                 former does not count; D2TCP's K at a host's port is less",
    },
    Key {
        name: "grant_covers",
        kind: Kind::Choice(&["itself", "all-before"]),
        default: Default::Is("all-before"),
        range: Range::ANY,
        help: "a grant stands for its segment, or for all those before it too that its sender was not granted, so that it makes up \
               for grants that are lost; the last one of a message is made up for by time alone",
        source: "Homa 3.3: a grant says up to where a message may be sent; itself is to see what that brings where grants are lost",
    },
    keys::BY_ORDER,
];
