//! `linux`: today's kernel with its own settings.

use super::Preset::{Is, Times};
use super::{Profile, Setting, network, transport};

pub(super) const PROFILE: Profile = Profile {
    name: "linux",
    help: "Linux as it is installed: initial window 10, SACK with RACK and tail loss probes, limited transmit, window \
           validation. It restarts after idle and delays ACKs, and has an RTO of 1 s at first and SRTT + 200 ms at least",
    source: "Linux 6.12, net/ipv4 and Documentation/networking/ip-sysctl.rst",
    groups: &[SETTINGS],
};

pub(super) const SETTINGS: &[Setting] = &[
    transport("initial_window", Is("10"), "TCP_INIT_CWND; RFC 6928"),
    transport("recovery", Is("sack"), "net.ipv4.tcp_sack = 1"),
    transport("loss_detection", Is("rack"), "net.ipv4.tcp_recovery = 1 (RFC 8985)"),
    transport("tlp", Is("true"), "net.ipv4.tcp_early_retrans = 3 (RFC 8985 7)"),
    transport("rescue", Is("true"), "where loss_detection is \"dupacks\": RFC 6675 4, rule 4; RACK has tlp instead"),
    transport("slow_start_growth", Is("acked"), "tcp_slow_start()"),
    transport("reno_alpha", Is("constant"), "tcp_cubic.c, bictcp_update(): beta_scale (RFC 8312)"),
    transport("arithmetic", Is("whole-segments"), "tcp_cubic.c, bictcp_update(); tcp_cong_avoid_ai()"),
    transport("limited_transmit", Is("true"), "RFC 3042, which cannot be turned off"),
    transport("cwnd_validation", Is("true"), "tcp_is_cwnd_limited(); RFC 7661"),
    transport("idle_restart", Is("true"), "net.ipv4.tcp_slow_start_after_idle = 1"),
    transport("cut", Is("spread"), "tcp_cwnd_reduction() in CWR: RFC 6937's rule"),
    transport("ack_every", Is("2"), "__tcp_ack_snd_check(): more than one full segment is acknowledged at once"),
    transport("ack_delay", Is("40 ms"), "TCP_DELACK_MIN, HZ/25"),
    transport("rto_min", Is("200 ms"), "TCP_RTO_MIN, HZ/5"),
    transport("rto_granularity", Times("rto_min", 1.0), "tcp_rtt_estimator(): the variation is at least rto_min"),
    transport("rto_initial", Is("1 s"), "TCP_TIMEOUT_INIT: whatever rto_min is"),
    transport("rto_max", Is("120 s"), "TCP_RTO_MAX"),
    network("host_queue", Is("fair"), "fq or fq_codel (net.core.default_qdisc), TCP small queues and BQL"),
    transport("backoff_reset", Is("ack"), "tcp_ack() sets icsk_backoff = 0 when the sequence advances"),
];
