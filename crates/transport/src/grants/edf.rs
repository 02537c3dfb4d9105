//! `edf-grants`: the receiving host grants its link to the earliest deadline, and sheds messages that cannot be in
//! time. Packets have switch priorities by the laxity of their messages.

use units::{Amount, Bytes, Default, Key, Kind, Range, Span, Value, Values};

use super::keys::{self, payload, policy, rule, settle};
use super::limits::Cut;
use super::policy::{Classes, Follows, Order, Policy, Undated};
use super::{Config, SIGNALS};
use crate::{Descriptor, Needs, Surroundings, connection};

/// The descriptor of deadline-ordered grants.
pub(super) const DESCRIPTOR: Descriptor<Config> = Descriptor {
    name: "edf-grants",
    help: "receiving hosts grant packet by packet, earliest deadline first, and let as few messages be late as possible. \
           Packets have switch priorities by laxity. Of the shared parameters only mss, header and dup_ack_threshold mean \
           anything to it",
    source: "duetime's own; shedding as Moore and Hodgson 1968, limits for shared links as SIRD (NSDI 2025), more credit \
             than a link takes as Homa (SIGCOMM 2018)",
    aliases: &[("grants", "edf-grants"), ("credit", "outstanding")],
    groups: &[KEYS],
    needs: Needs::of(
        "strict priorities; ECN marks above a threshold where links within the network are shared",
        "sizes and deadlines from the application before the first byte, and state per host at both ends",
    )
    .discipline("priority")
    .settling(|values, surroundings| {
        settle_fixed(values, surroundings);
        settle(values, surroundings, true, &[]);
        settle_amounts(values, keys::product(values, surroundings));
        settle_times(values, surroundings);
    }),
    signals: SIGNALS,
    build: |values, connection| {
        let undated = Undated { times: values.count("undated_times"), one_way: values.time(ONE_WAY) };
        let order = Order::Deadline { sheds: values.choice("shedding") == "fewest-late", undated };
        let (budget, most) = (payload(values, "outstanding", connection), payload(values, "sender_limit", connection));
        let follows = |name| !values.is_given(name);
        let count = values.count("classes") as u32;
        Ok(Policy {
            follows: Follows { budget: follows("outstanding"), limit: follows("sender_limit"), ..Follows::default() },
            budget,
            busy: Some((payload(values, BUSY, connection).min(budget), values.time(ONE_WAY) * 2)),
            unscheduled: payload(values, "unasked", connection),
            unscheduled_up_to: u64::MAX,
            together: budget,
            within: values.time(ASKING),
            at_once: AT_ONCE * u64::from(connection.mss),
            limits: Some(rule(most, connection, Cut::Each, values.number(LIMIT_CUT))),
            own_link_apart: true,
            classes: (count > 0).then(|| Classes { count, first: values.time(ASKING) / 2 }),
            background_every: values.count("background_every"),
            cumulative: true,
            probes: true,
            by_silence: true,
            ..policy(values, connection, order)
        })
    },
};

/// Number of packets that a receiver grants at once; beyond that, grants are as far apart as their packets on its link.
/// Eight are half a bandwidth-delay product of the D2TCP paper's network.
const AT_ONCE: u64 = 8;
/// The name of the part of a limit that a mark removes.
const LIMIT_CUT: &str = "limit_cut";
/// Its maximum: 16 marks remove 80 % of a limit,
const MAX_CUT: f64 = 0.1;
/// which is a bandwidth-delay product of the D2TCP paper's network, in packets.
const PACKETS: f64 = 16.0;
/// The name of the limit of data in flight while the link is busy: 1.5 bandwidth-delay products, as SIRD's B. More would
/// only be queued in front of the link, granted too early.
const BUSY: &str = "busy";
/// Names of times that follow from the network: what asking may take, and half of the longest round trip.
const ASKING: &str = "asking";
const ONE_WAY: &str = "one_way";

/// Sets what other transports of the family have as keys.
fn settle_fixed(values: &mut Values, surroundings: &Surroundings) {
    // The shortest Ethernet frame.
    values.set_default("control", Value::Size(Bytes(64)));
    values.set_default("overtaken", Value::Choice(if surroundings.reorders { "waits" } else { "is-lost" }));
}

/// Sets the limits of data in flight, and the cut of a limit, for a bandwidth-delay product in packets. All packets of a
/// window may be marked, and a limit grows by a segment per window. With a longer window each mark has to remove less.
fn settle_amounts(values: &mut Values, product: f64) {
    for (name, products) in [("outstanding", 4.0), (BUSY, 1.5), ("sender_limit", 1.0), ("unasked", 1.0)] {
        let packets = (product * products).ceil() as u64;
        values.follow(name, |_| Value::Amount(Amount::Packets(packets.max(AT_ONCE))));
    }
    values.set_default(LIMIT_CUT, Value::Number(MAX_CUT.min(MAX_CUT * PACKETS / product)));
}

/// Sets the times that follow from the network. A request, a grant and the data each cross the network, behind the data
/// that a receiver grants at once. Asking may take twice that time, since other messages may be granted first.
fn settle_times(values: &mut Values, surroundings: &Surroundings) {
    let queue = AT_ONCE as f64 / keys::product(values, surroundings);
    let longest = surroundings.round_trip_of(connection::packet(values));
    let round_trip = longest.as_secs_f64();
    values.set_default(ASKING, Value::Time(Span::from_secs_f64(2.0 * 3.0 * (0.5 + queue) * round_trip)));
    values.set_default(ONE_WAY, Value::Time(longest / 2));
}

const KEYS: &[Key] = &[
    Key {
        name: "outstanding",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "how much may be granted to a receiving host's senders and not have arrived, all of its connections together, in \
               packets or payload bytes; when left out, four bandwidth-delay products, and eight packets at least",
        source: "chosen: with 1.5, as SIRD's B, links idle while senders are busy with the grants of others; 2 to 8 are \
                 alike (docs/promise/receivers.md). Homa's overcommitment is of seven",
    },
    Key {
        name: "sender_limit",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the most of it that may be on its way from one host, before marks; when left out, one bandwidth-delay product, and \
               eight packets at least",
        source: "a link that one host alone feeds needs one; with two, queues at busy senders are twice as long; SIRD: 1 BDP",
    },
    Key {
        name: "unasked",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "how much of a message that cannot wait for a grant is sent without asking, if those that were asked for with it \
               do not exceed outstanding together, in packets or payload bytes; 0 packets: all ask; when left out, one \
               bandwidth-delay product, and eight packets at least",
        source: "Homa 3.2 and SIRD: a round trip's worth. Who has time asks, as relaxed messages that are sent unasked make \
                 urgent ones late",
    },
    Key {
        name: "classes",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(0.0, 30.0),
        help: "switch priorities for messages that can be in time, by laxity: the first up to half of what asking may take, each \
               next one up to four times as much. Requests and grants are sent before them, and late data behind them; 0: all \
               packets are alike",
        source: "eight priorities, as commodity switches have; ratios of 2 to 8 between classes are alike (docs/promise/receivers.md)",
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
        name: "undated_times",
        kind: Kind::Count,
        default: Default::Is("10"),
        range: Range::between(0.0, 1e6),
        help: "a message without a deadline is due after its own time on an idle network, this many times over, and is shed before \
               any with a deadline; 0: it has the rest of the link",
        source: "chosen: ten, as the most lenient deadlines of promise/open-loop, keep its slowdown within DCTCP's",
    },
    Key {
        name: "background_every",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(0.0, 1e6),
        help: "every so manyth grant goes to messages without a deadline that were shed, if there are any, and every so manyth \
               packet at a host to late data; 0: they have the rest of the link",
        source: "chosen: beside services that load a host's link by 20 or 50 %, a fifth leaves a message of 1 MB at least what it has \
                 where all is TCP; with a tenth it is at the limit",
    },
    Key {
        help: "a message of which nothing has arrived for so long after a grant has its sender asked whether it is lost; each time \
               in a row it takes twice as long; when left out, 1 ms where hosts' links have 10 Gbit/s or less, on faster ones in \
               proportion less, and three of the network's longest round trips at least",
        ..keys::RESEND_AFTER
    },
];
