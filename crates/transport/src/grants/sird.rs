//! `sird`: the receiver schedules the link that it owns, and reacts to the links that it shares.

use units::{Default, Key, Kind, Range, Values};

use super::keys::{self, payload, policy, rule, settle};
use super::limits::{Cut, Rule};
use super::policy::{Cutoffs, Follows, Levels, Order, Policy, Undated};
use super::{Config, SIGNALS};
use crate::{Descriptor, Needs};

/// The descriptor of SIRD.
pub(super) const DESCRIPTOR: Descriptor<Config> = Descriptor {
    name: "sird",
    help: "SIRD: the receiver gives credit for its link, the shortest message first. Credit for one host follows the state of \
           that host's link and ECN marks, as DCTCP's window. Of the shared parameters only mss, header \
           and dup_ack_threshold mean anything to it",
    source: "Prasopoulos, Kosta, Bugnion, Kogias, NSDI 2025",
    aliases: &[
        ("b", "outstanding"),
        ("credit", "outstanding"),
        ("sthr", "backlog"),
        ("uns_t", "unscheduled_up_to"),
        ("unscht", "unscheduled_up_to"),
        ("gain", "limit_gain"),
    ],
    groups: &[keys::KEYS, KEYS],
    needs: Needs::of(
        "ECN marks above a threshold, where links within the network are shared",
        "sizes from the application before the first byte, and state per host at both ends",
    )
    // The shortest message has the credit, and of equal ones always the same.
    .flows_that_end()
    .settling(|values, surroundings| {
        let products = [
            ("outstanding", 1.5),
            ("sender_limit", 1.0),
            ("backlog", 0.5),
            ("unscheduled", 1.0),
            ("unscheduled_up_to", 1.0),
            ("sender_floor", 0.1),
            ("network_floor", 0.03),
        ];
        settle(values, surroundings, false, &products);
    }),
    signals: SIGNALS,
    build: |values, connection| {
        let most = payload(values, "sender_limit", connection);
        let follows = |name| !values.is_given(name);
        let least = ["sender_floor", "network_floor"].map(|name| payload(values, name, connection));
        let limits = Rule { least, ..rule(most, connection, Cut::Window, values.number("limit_gain")) };
        Ok(Policy {
            follows: Follows {
                budget: follows("outstanding"),
                limit: follows("sender_limit"),
                backlog: follows("backlog"),
                ..Follows::default()
            },
            budget: payload(values, "outstanding", connection),
            unscheduled: payload(values, "unscheduled", connection),
            unscheduled_up_to: payload(values, "unscheduled_up_to", connection),
            at_once: if values.bool("paced") { connection.mss.into() } else { u64::MAX },
            limits: Some(limits),
            backlog: payload(values, "backlog", connection),
            levels: values.bool("unscheduled_first").then_some(UNSCHEDULED_FIRST),
            ..policy(values, connection, order(values))
        })
    },
};

/// Unscheduled data and control packets are before all other data.
const UNSCHEDULED_FIRST: Levels = Levels { count: 2, unscheduled: 1, first: 0, ratio: 2, cutoffs: Cutoffs::Geometric };

fn order(values: &Values) -> Order {
    match values.choice("order") {
        "remaining" => Order::Remaining,
        "deadline" => Order::Due,
        _ => Order::Deadline { sheds: true, undated: Undated::default() },
    }
}

const KEYS: &[Key] = &[
    Key {
        kind: Kind::Choice(&["remaining", "deadline", "fewest-late"]),
        help: "which message has the next credit, and is sent first by its host: the one with the fewest missing bytes, or the one \
               with the earliest deadline, before those without one; fewest-late: by deadline, and as few as possible are late, \
               as edf-grants decides it",
        ..keys::ORDER
    },
    Key {
        name: "paced",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "credit is given no faster than the host's link carries its data; false: as soon as outstanding and the limits allow",
        source: "SIRD: receivers pace credit at the rate of their links (cited from memory)",
    },
    Key {
        name: "unscheduled_first",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "control packets and data without credit have a switch priority above all other data, where ports have priorities",
        source: "SIRD needs no priorities and can use two; the authors' examples leave them off (r2p2_data_prio_l = 0)",
    },
    Key {
        name: "sender_floor",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the least to which what a host says of its link can reduce its limit; when left out, a tenth of a bandwidth-delay \
               product, in whole packets",
        source: "the authors' simulator: 0.1 BDP",
    },
    Key {
        name: "network_floor",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the least to which marks of switches can reduce it; when left out, 0.03 bandwidth-delay products, in whole packets",
        source: "the authors' simulator: 0.03 BDP",
    },
    Key {
        name: "outstanding",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "B: how much may be on its way to a receiving host, in packets or payload bytes; when left out, one and a half \
               bandwidth-delay products",
        source: "SIRD: B = 1.5 BDP, 108 KB for a BDP of 72 KB in the authors' simulator",
    },
    Key {
        name: "sender_limit",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the most of it that may come from one host, before marks; when left out, one bandwidth-delay product",
        source: "the authors' simulator: 72 KB, one BDP",
    },
    Key {
        name: "backlog",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "SThr: a host says so in its data when more than this has been granted to it and waits for its link; when left \
               out, half a bandwidth-delay product",
        source: "SIRD: SThr = 0.5 BDP",
    },
    Key {
        name: "unscheduled",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "what of a message is sent without credit, in packets or payload bytes; when left out, one bandwidth-delay product",
        source: "SIRD: a BDP at most",
    },
    Key {
        name: "unscheduled_up_to",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "UnschT: longer messages send nothing without credit; when left out, one bandwidth-delay product",
        source: "SIRD: UnschT = BDP, 72 KB in the authors' simulator",
    },
    Key {
        name: "limit_gain",
        kind: Kind::Share,
        default: Default::Is("6.25%"),
        range: Range::above(0.0, 1.0),
        help: "g: the weight of a window's share of marks, for what a host says and for switches alike",
        source: "DCTCP 3.3: 1/16, whose estimator SIRD takes",
    },
    keys::OVERTAKEN,
];
