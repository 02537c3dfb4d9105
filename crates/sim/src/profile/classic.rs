//! `classic`: the stack of the simulations of 2010 to 2015, which is every key's own default.

use super::Profile;

pub(super) const PROFILE: Profile = Profile {
    name: "classic",
    help: "the stack of the papers' simulators: an RTO of 20 ms at first and at least, an ACK for every packet, SACK by \
           duplicate ACKs, no ECN for plain TCP. Every key has its own default",
    source: "the defaults of this simulator before it had profiles; D2TCP 4.1.1 for the RTO",
    groups: &[],
};
