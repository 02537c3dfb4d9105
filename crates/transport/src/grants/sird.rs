//! `sird`: the receiver schedules the link that it owns, and reacts to the links that it shares.

use units::{Default, Key, Kind, Range};

use super::keys::{self, payload, policy, rule, settle};
use super::limits::Cut;
use super::policy::{Follows, Order, Policy};
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
        ];
        settle(values, surroundings, &products);
    }),
    signals: SIGNALS,
    build: |values, connection| {
        let most = payload(values, "sender_limit", connection);
        let follows = |name| !values.is_given(name);
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
            limits: Some(rule(most, connection, Cut::Window, values.number("limit_gain"))),
            backlog: payload(values, "backlog", connection),
            ..policy(values, connection, Order::Remaining)
        })
    },
};

const KEYS: &[Key] = &[
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
    keys::BY_TIME,
];
