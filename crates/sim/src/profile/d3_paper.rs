//! `d3-paper`: the plain TCP beside D3.

use super::Preset::Is;
use super::{Profile, Setting, transport};

pub(super) const PROFILE: Profile = Profile {
    name: "d3-paper",
    help: "the stack beside D3: an RTO of 200 ms, and D3's own base rate of a header in 100 s",
    source: "Wilson et al., SIGCOMM 2011, 6.1; the regime \"d3\" of the reproduction",
    groups: &[SETTINGS],
};

const SETTINGS: &[Setting] = &[
    transport("rto_min", Is("200 ms"), "not stated where the paper was at hand; plain TCP of the day"),
    transport("rto_initial", Is("200 ms"), "open in the paper; RTOmin"),
    transport("base_every", Is("100 s"), "D3 3.2: a header without data; D2TCP took one segment per RTT"),
];
