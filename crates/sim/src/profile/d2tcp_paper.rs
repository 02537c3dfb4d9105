//! `d2tcp-paper`: the ns-3 stack of D2TCP's simulations.

use super::Preset::Is;
use super::{Profile, Setting, transport};

pub(super) const PROFILE: Profile = Profile {
    name: "d2tcp-paper",
    help: "D2TCP at scale, as ns-3 had it: NewReno, one segment at first, a floor of two segments that holds always, RTO \
           20 ms",
    source: "Vamanan et al., SIGCOMM 2012, 4.2; the regime \"paper\" of the reproduction",
    groups: &[SETTINGS],
};

const SETTINGS: &[Setting] = &[
    transport("initial_window", Is("1"), "ns-3 of 2011: TcpNewReno's InitialCwnd"),
    transport("cwnd_floor", Is("2"), "RFC 5681 eq. 4"),
    transport(
        "floor_holds",
        Is("always"),
        "open in the paper; TCP's and DCTCP's misses at fan-in 15 to 40 are then as it has them",
    ),
    transport("initial_alpha", Is("0"), "open in the paper; RFC 8257 came later"),
    transport("recovery", Is("newreno"), "ns-3 of 2011 had no SACK"),
    transport("ack_every", Is("1"), "the papers' simulations"),
    transport("rto_min", Is("20 ms"), "D2TCP 4.1.1"),
    transport("rto_initial", Is("20 ms"), "open in the paper"),
];
