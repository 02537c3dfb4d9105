//! `datacenter`: the kernel of `linux` with the timers and the ECN that operators set.

use super::Preset::{FromGbps, Is, Times};
use super::{Profile, Setting, linux, transport};

pub(super) const PROFILE: Profile = Profile {
    name: "datacenter",
    help: "Linux as operators of datacenters set it. It is \"linux\" with an RTO of 10 ms at first and SRTT + 5 ms at \
           least, ACKs held back for 1 ms, and ECN for plain TCP too",
    source: "Linux's route attributes rto_min and ecn; Vasudevan et al., SIGCOMM 2009",
    groups: &[linux::SETTINGS, SETTINGS],
};

const SETTINGS: &[Setting] = &[
    transport(
        "mss",
        FromGbps(100, "8960 B", "1460 B"),
        "frames of 9000 B where hosts have 100 Gbit/s or more, as clouds set them (AWS 9001 B, Google 8896 B): with 1500 B a \
         link of 100 Gbit/s carries 8.3 million packets a second",
    ),
    transport("rto_min", Is("5 ms"), "ip route ... rto_min 5ms: above delayed ACKs and a full buffer's queueing"),
    transport(
        "rto_initial",
        Times("rto_min", 2.0),
        "twice rto_min, 10 ms by default: BPF_SOCK_OPS_TIMEOUT_INIT, as operators set it beside rto_min",
    ),
    transport(
        "ack_delay",
        Times("rto_min", 0.2),
        "a fifth of rto_min, as Linux's HZ/25 is of its HZ/5: Vasudevan et al. 5 want it below the RTO",
    ),
    transport("rto_max", Is("60 s"), "RFC 6298 2.5"),
    transport("ecn", Is("true"), "ip route ... features ecn, or net.ipv4.tcp_ecn = 1"),
];
