//! `equal-recovery`: one way to repair losses, as fast as there is, for all window transports.

use super::Preset::Is;
use super::{Profile, Setting, transport};

pub(super) const PROFILE: Profile = Profile {
    name: "equal-recovery",
    help: "one fast recovery for all window transports, so that deadlines are what is compared: losses found by time, RTO \
           1 ms, and any ACK ends its doubling",
    source: "ours; the regime \"equal-recovery\" of the reproduction",
    groups: &[SETTINGS],
};

const SETTINGS: &[Setting] = &[
    transport("recovery", Is("sack"), "RFC 6675"),
    transport("loss_detection", Is("rack"), "RFC 8985"),
    transport("rto_min", Is("1 ms"), "Vasudevan et al., SIGCOMM 2009"),
    transport("rto_initial", Is("1 ms"), "as rto_min"),
    transport("backoff_reset", Is("ack"), "Linux"),
];
