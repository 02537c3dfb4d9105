//! `xdctcp-paper`: the ns-2 stack of xDCTCP's study.

use super::Preset::Is;
use super::{Profile, Setting, transport};

pub(super) const PROFILE: Profile = Profile {
    name: "xdctcp-paper",
    help: "xDCTCP's study in ns-2: FullTcp with SACK and Nagle, an ACK for every packet, RTO 200 ms, 1256 packets at most",
    source: "the study's published ns-2 script; the regime \"xdctcp\" of the reproduction",
    groups: &[SETTINGS],
};

const SETTINGS: &[Setting] = &[
    transport("nagle", Is("true"), "ns-2's FullTcp: nodelay_ is false unless a script sets it"),
    transport("recovery", Is("sack"), "scenarios/xdctcp.toml, from the script"),
    transport("ack_every", Is("1"), "scenarios/xdctcp.toml, from the script"),
    transport("initial_alpha", Is("0"), "scenarios/xdctcp.toml, from the script"),
    transport("window_limit", Is("1256 packets"), "scenarios/xdctcp.toml, from the script"),
    transport("rto_min", Is("200 ms"), "scenarios/xdctcp.toml, from the script"),
    transport("rto_initial", Is("20 ms"), "open in the script"),
];
