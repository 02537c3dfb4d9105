//! The parameters that every window transport has.

use units::{Alias, Amount, Bytes, Default, Key, Kind, Problem, Range, Rate, Span, Value, Values};

use crate::descriptor::Surroundings;
use crate::pacing::Pacing;

/// Parameters of segments, windows, acknowledgements, timers and loss recovery. The defaults are from the profile
/// "classic"; the other profiles (`sim::profile`) change some of them.
pub const KEYS: &[Key] = &[
    Key {
        name: "mss",
        kind: Kind::Size,
        default: Default::Is("1460 B"),
        range: Range::between(1.0, 60_000.0),
        help: "payload bytes of a full segment",
        source: "1500 B Ethernet payload less 40 B of IP and TCP headers",
    },
    Key {
        name: "header",
        kind: Kind::Size,
        default: Default::Is("40 B"),
        range: Range::between(0.0, 4000.0),
        help: "header bytes of every packet on the wire; an ACK is nothing else",
        source: "IPv4 and TCP without options",
    },
    Key {
        name: "initial_window",
        kind: Kind::Number,
        default: Default::Is("10"),
        range: Range::between(1.0, 1e6),
        help: "cwnd of a new connection, in segments",
        source: "RFC 6928; the 2012 papers used 1 to 3",
    },
    Key {
        name: "cwnd_floor",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(0.01, 1e6),
        help: "cwnd never falls below this, in segments; when, says floor_holds; a window below 1 is a segment in \
               every 1/cwnd round trips",
        source: "Linux; RFC 5681 eq. 4 for ssthresh; below 1: Swift (SIGCOMM 2020) 3.2, down to 0.01 for large incasts",
    },
    Key {
        name: "floor_holds",
        kind: Kind::Choice(&["at-cuts", "always"]),
        default: Default::Is("at-cuts"),
        range: Range::ANY,
        help: "whether cwnd_floor limits cuts only, or the first window and the one after a timeout too",
        source: "RFC 5681 3.1 and Linux: 1 segment after a timeout (at-cuts); open in the papers, and it decides what large fan-ins miss",
    },
    Key {
        name: "slow_start_growth",
        kind: Kind::Choice(&["acked", "two-segments", "segment"]),
        default: Default::Is("acked"),
        range: Range::ANY,
        help: "how much one ACK adds to cwnd in slow start: all that it acknowledges, or that up to one or two segments; \
               it decides what an ACK adds that covers more, as behind lost or delayed ACKs",
        source: "Linux since 3.13, tcp_slow_start() (acked); RFC 3465 2.3, L = 2 (two-segments); RFC 5681 3.1, eq. 2, and \
                 the Reno of ns-2 and ns-3 (segment); after a timeout one segment in any case (RFC 3465 2.3)",
    },
    Key {
        name: "pacing",
        kind: Kind::Choice(&["off", "window"]),
        default: Default::Is("off"),
        range: Range::ANY,
        help: "send as soon as the window opens, or space packets, so that they leave at a gain times the window per \
               round trip, once there is an RTT sample; a window below 1 is always spaced, with a gain of 1",
        source: "RFC 5681: off; Linux with fq: window",
    },
    Key {
        name: "pacing_gain",
        kind: Kind::Number,
        default: Default::Is("1.2"),
        range: Range::between(0.1, 100.0),
        help: "the gain of pacing in congestion avoidance, that is from half of ssthresh on",
        source: "Linux: net.ipv4.tcp_pacing_ca_ratio, tcp_update_pacing_rate()",
    },
    Key {
        name: "pacing_gain_slow_start",
        kind: Kind::Number,
        default: Default::Is("2"),
        range: Range::between(0.1, 100.0),
        help: "the gain of pacing in slow start, that is below half of ssthresh; below 2 it slows slow start down",
        source: "Linux: net.ipv4.tcp_pacing_ss_ratio, tcp_update_pacing_rate()",
    },
    Key {
        name: "window_limit",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "upper limit of the window, in packets or payload bytes (the receiver's buffer)",
        source: "no limit unless a study states one",
    },
    Key {
        name: "nic_limit",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "how much of a connection's data may be at its own host's port at once, in packets or payload bytes; the \
               rest waits behind it without taking the place of others; left out: as much as the window allows",
        source: "Linux: TCP small queues, about 1 ms at the connection's rate and at most tcp_limit_output_bytes; ns-3 has \
                 a send buffer of 128 KiB instead, which is a window_limit; open in the papers",
    },
    Key {
        name: "cwnd_validation",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "grow cwnd only while it limits the sender; in slow start also while it is below twice the most that was in flight \
               of the last window",
        source: "Linux: tcp_is_cwnd_limited(); RFC 7661; off in RFC 5681 and ns-2",
    },
    Key {
        name: "nagle",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "a segment that is not full waits while anything is unacknowledged",
        source: "RFC 9293 3.7.4 and ns-2's FullTcp (nodelay_ false): on; off where applications set TCP_NODELAY, and in \
                 the papers' one-way agents",
    },
    Key {
        name: "cut",
        kind: Kind::Choice(&["at-once", "spread"]),
        default: Default::Is("at-once"),
        range: Range::ANY,
        help: "how a cut that a mark asks for is made: nothing is sent until the window has room, or sending slows down \
               over the round trip and reaches the new window at its end",
        source: "RFC 3168 6.1.2, RFC 8257 3.3 (at-once); RFC 6937's rule as Linux and ns-3 use it in CWR (spread)",
    },
    Key {
        name: "idle_restart",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "after an idle time longer than the RTO start again from initial_window",
        source: "RFC 5681 4.1; off in the datacenter studies",
    },
    Key {
        name: "handshake",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "a fresh connection exchanges SYN, SYN-ACK and an ACK before its first data",
        source: "RFC 9293 3.5; off: the papers' flows start with data",
    },
    Key {
        name: "recovery",
        kind: Kind::Choice(RECOVERIES),
        default: Default::Is("sack"),
        range: Range::ANY,
        help: "how losses are repaired: after duplicate ACKs, segment by segment (sack) or one per round trip (newreno); or, \
               where senders decide by themselves, go-back-n: the receiver drops what arrives beyond a gap and says so once \
               per gap, and the sender sends everything from there on again",
        source: "RFC 6675 (sack), RFC 6582 (newreno); the D2TCP paper's ns-3 had NewReno; InfiniBand's and RoCE's NICs \
                 (go-back-n)",
    },
    Key {
        name: "dup_ack_threshold",
        kind: Kind::Count,
        default: Default::Is("3"),
        range: Range::between(1.0, 1000.0),
        help: "duplicate ACKs that count as a loss",
        source: "RFC 5681 3.2",
    },
    Key {
        name: "loss_detection",
        kind: Kind::Choice(&["dupacks", "rack"]),
        default: Default::Is("dupacks"),
        range: Range::ANY,
        help: "how window transports with SACK find losses: by the duplicate ACKs that follow, or by the time since a \
               segment was sent once a later one has arrived; then what was sent again and small flights are covered \
               too; where it is left out and recovery is not \"sack\", \"dupacks\"",
        source: "RFC 6675 (dupacks); RFC 8985 6 and Linux since 4.18 (rack)",
    },
    Key {
        name: "reordering",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "with loss_detection = \"rack\", how much longer than the latest that arrived a segment may take before it counts \
               as lost; when left out, a quarter of the smallest RTT, and nothing once three later ones have arrived and none \
               was overtaken before; where the network's balance lets packets overtake each other, four times the longest \
               RTT without queues, or 24 times where switches trim packets, and then loss_detection is \"rack\", limited_transmit is true and dup_ack_threshold is what \
               a host's link carries in that time, where they are left out",
        source: "RFC 8985 6.2, step 4; four RTTs: paths differ by their queues, which ECN keeps below a few RTTs",
    },
    Key {
        name: "lost_retransmissions",
        kind: Kind::Choice(&["found", "timeout"]),
        default: Default::Is("found"),
        range: Range::ANY,
        help: "with SACK, what becomes of a segment that was sent again and lost again: it is found once \
               dup_ack_threshold segments that were sent after it have arrived, and is sent once more, or it waits for \
               the timeout; with loss_detection = \"rack\" it is always found",
        source: "Linux (found, before RACK too); RFC 6675, which sends nothing twice, and ns-3 (timeout)",
    },
    Key {
        name: "rescue",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "with SACK, when a recovery has nothing else to send, its last segment that was not SACKed is sent again, once: \
               losses at the end of a message need no timeout; with loss_detection = \"rack\" that is tlp's part",
        source: "RFC 6675 4, NextSeg, rule 4 (true); ns-3 has no such rule, nor had this simulator before it had profiles",
    },
    Key {
        name: "tlp",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "tail loss probe: two round trips after the last that was sent or heard, a segment asks what has arrived; \
               needs loss_detection = \"rack\", and is off where it is left out and that does not hold",
        source: "RFC 8985 7; Linux: on. Off here: into a full buffer of a datacenter a probe is one more loss",
    },
    Key {
        name: "limited_transmit",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "send a new segment on each of the first two duplicate ACKs",
        source: "RFC 3042 and Linux: on; off in ns-3 of the D2TCP paper's day, and it decides what small windows lose",
    },
    Key {
        name: "rto_min",
        kind: Kind::Time,
        default: Default::Is("20 ms"),
        range: Range::POSITIVE,
        help: "lower limit of the retransmission timeout as a whole",
        source: "D2TCP 4.1.1 (RFC 6298: 1 s; xDCTCP's study: 200 ms)",
    },
    Key {
        name: "rto_granularity",
        kind: Kind::Time,
        default: Default::Is("1 ms"),
        range: Range::POSITIVE,
        help: "G, the least that the RTT's variation counts for: RTO = SRTT + max(G, 4 RTTVAR), and at least rto_min; set \
               to rto_min it makes that the floor of the variation, as in Linux, and the RTO SRTT + rto_min at least",
        source: "RFC 6298 2.3: the granularity of the clock, here a tick at 1000 Hz, the finest of Linux's; Linux: rto_min",
    },
    Key {
        name: "rto_restart",
        kind: Kind::Choice(&["retransmission", "ack"]),
        default: Default::Is("retransmission"),
        range: Range::ANY,
        help: "what restarts the retransmission timer: ACKs of new data, and what fast recovery sends again too, or ACKs \
               alone; with NewReno only the first ACK and the first retransmission of a recovery",
        source: "RFC 6675 6 and Linux (retransmission); RFC 6298 5.3 (ack); NewReno: RFC 6582 3.2, step 3",
    },
    Key {
        name: "rto_initial",
        kind: Kind::Time,
        default: Default::Is("20 ms"),
        range: Range::POSITIVE,
        help: "retransmission timeout before the first RTT sample",
        source: "open in the papers; 1 s (RFC 6298) would make every early loss a miss",
    },
    Key {
        name: "rto_max",
        kind: Kind::Time,
        default: Default::Is("60 s"),
        range: Range::POSITIVE,
        help: "upper limit of the backed-off retransmission timeout",
        source: "RFC 6298 2.5",
    },
    Key {
        name: "backoff_reset",
        kind: Kind::Choice(&["sample", "ack"]),
        default: Default::Is("sample"),
        range: Range::ANY,
        help: "what ends the doubling of the RTO: a new RTT sample, or any ACK of new data",
        source: "Karn's rule, RFC 6298 5.7 (sample); Linux (ack)",
    },
    Key {
        name: "ack_every",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, 64.0),
        help: "data packets per ACK; 2 or more delays ACKs by up to ack_delay",
        source: "RFC 5681 4.2 allows 2; the papers' simulations used 1",
    },
    Key {
        name: "ack_delay",
        kind: Kind::Time,
        default: Default::Is("1 ms"),
        range: Range::POSITIVE,
        help: "the longest that an ACK is held back when ack_every is 2 or more",
        source: "open; RFC 5681 4.2 allows 500 ms, far above a datacenter's RTT",
    },
];

/// The values of the key `recovery`.
pub(crate) const RECOVERIES: &[&str] = &["sack", "newreno", "go-back-n"];

/// Words that people write for these parameters.
pub const ALIASES: &[Alias] = &[
    ("init_cwnd", "initial_window"),
    ("initcwnd", "initial_window"),
    ("min_rto", "rto_min"),
    ("mtu", "mss"),
    ("packet_size", "mss"),
];

/// Parameters of segments, windows, acknowledgements, timers and loss recovery.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Header bytes of every packet.
    pub header: u32,
    /// cwnd of a new connection, in segments.
    pub initial_window: f64,
    /// Lower limit of cuts, in segments.
    pub cwnd_floor: f64,
    /// cwnd after a timeout, in segments.
    pub loss_window: f64,
    /// Maximum increase of cwnd per ACK in slow start, in segments.
    pub slow_start_step: f64,
    /// Spacing of the packets.
    pub pacing: Pacing,
    /// Upper limit of the window, in payload.
    pub window_limit: Bytes,
    /// Upper limit of a connection's data at its host's own port.
    pub nic_limit: NicLimit,
    /// Grow only while cwnd limits the sender.
    pub cwnd_validation: bool,
    /// Delays a segment that is not full while anything is unacknowledged.
    pub nagle: bool,
    /// Spreads the cut for a mark over a round trip.
    pub spread_cuts: bool,
    /// Starts again from the initial window after an idle RTO.
    pub idle_restart: bool,
    /// Opens a connection with SYN and SYN-ACK.
    pub handshake: bool,
    /// ACKs that acknowledge nothing new mean nothing by themselves: with selective acknowledgements (RFC 6675) and
    /// go-back-N. Else NewReno (RFC 6582).
    pub sack: bool,
    /// The receiver drops data beyond a gap, and the sender sends everything from the gap on again.
    pub goes_back: bool,
    /// Duplicate ACKs that count as a loss.
    pub dup_ack_threshold: u32,
    /// Detects losses by time (RFC 8985), not by duplicate ACKs.
    pub rack: bool,
    /// With `rack`, the time by which a segment may arrive after a later one; none: as RFC 8985 adapts it.
    pub reordering: Option<Span>,
    /// Detects that a retransmission was lost, by the arrival of later packets.
    pub finds_lost_again: bool,
    /// A recovery sends the last segment again when nothing else may be sent (RFC 6675 4, NextSeg, rule 4).
    pub rescue: bool,
    /// Tail loss probes (RFC 8985 7).
    pub tlp: bool,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Lower limit of the RTO.
    pub rto_min: Span,
    /// G of RFC 6298: the least that the variation counts for.
    pub rto_granularity: Span,
    /// Restarts the retransmission timer at each retransmission of fast recovery.
    pub restart_on_retransmission: bool,
    /// The RTO before the first sample.
    pub rto_initial: Span,
    /// Upper limit of the RTO.
    pub rto_max: Span,
    /// An ACK of new data ends the back-off even if it gives no RTT sample.
    pub backoff_reset_on_ack: bool,
    /// Data packets per ACK.
    pub ack_every: u32,
    /// The longest that an ACK is held back.
    pub ack_delay: Span,
}

/// Sets the defaults that follow from the network, and resolves conflicts between a profile and the written keys: RACK
/// without SACK, and probes without RACK.
pub(crate) fn settle(values: &mut Values, surroundings: &Surroundings) {
    if surroundings.reorders {
        tolerate(values, surroundings);
    } else if surroundings.trims && !values.is_given("loss_detection") {
        values.set_default("loss_detection", Value::Choice("rack"));
    }
    if values.choice("recovery") != "sack" && !values.is_given("loss_detection") {
        values.set_default("loss_detection", Value::Choice("dupacks"));
    }
    if values.choice("loss_detection") != "rack" && !values.is_given("tlp") {
        values.set_default("tlp", Value::Bool(false));
    }
}

/// The time by which a packet may be behind others that overtook it, in longest round trips without queues, where
/// packets of a connection take several paths.
pub(crate) const TOLERATED: u64 = 4;
/// The same where switches trim packets: receivers report losses, and time need not tell. Queues are that long
/// where switches hash paths, oversubscribed 8:1 at 100 Gbps.
const TOLERATED_IF_TRIMMED: u64 = 24;

/// Returns a full packet's size on the wire.
pub(crate) fn packet(values: &Values) -> Bytes {
    values.size("mss") + values.size("header")
}

/// Sets the defaults for a network in which packets overtake each other though none is lost.
fn tolerate(values: &mut Values, surroundings: &Surroundings) {
    let packet = packet(values);
    let longest = surroundings.round_trip_of(packet);
    let reordering = longest * if surroundings.trims { TOLERATED_IF_TRIMMED } else { TOLERATED };
    let overtaking = (surroundings.bandwidth_delay(packet) * TOLERATED as f64).ceil().clamp(3.0, 1000.0) as u64;
    for (key, value) in [
        ("reordering", Value::Time(reordering)),
        ("loss_detection", Value::Choice("rack")),
        ("limited_transmit", Value::Bool(true)),
        ("dup_ack_threshold", Value::Count(overtaking)),
    ] {
        if !values.is_given(key) {
            values.set_default(key, value);
        }
    }
}

/// The upper limit of a connection's data at its host's own port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicLimit {
    /// As much as the window allows.
    None,
    /// A limit in bytes of payload.
    Payload(Bytes),
    /// 1 ms at the rate of the port, or two segments, whichever is more.
    Millisecond,
}

impl NicLimit {
    /// Returns the limit at a port of this rate for segments of `mss`, in bytes of payload.
    pub fn at(self, rate: Rate, mss: u32) -> u64 {
        match self {
            NicLimit::None => u64::MAX,
            NicLimit::Payload(payload) => payload.0,
            NicLimit::Millisecond => (rate.0 / 8000).max(2 * u64::from(mss)),
        }
    }
}

impl Config {
    /// Limits a connection's data at its host's port to 1 ms of that port's rate or two segments, whichever is more, where
    /// nothing else is said. Source: Linux, tcp_small_queue_check() with sk_pacing_shift 10.
    pub fn limit_small_queue(&mut self) {
        if self.nic_limit == NicLimit::None {
            self.nic_limit = NicLimit::Millisecond;
        }
    }

    /// Reads the parameters from checked values.
    ///
    /// # Errors
    /// If the RTO's limits exclude each other, or the loss detection lacks something that it needs.
    pub fn from_values(values: &Values) -> Result<Config, Problem> {
        let (min_rto, max_rto) = (values.time("rto_min"), values.time("rto_max"));
        if min_rto > max_rto {
            return Err(match values.is_given("rto_max") {
                true => Problem::new("rto_max", format!("{max_rto} is below `rto_min` ({min_rto})")),
                false => Problem::new("rto_min", format!("{min_rto} is above `rto_max` ({max_rto})")),
            });
        }
        let (rack, tlp) = (values.choice("loss_detection") == "rack", values.bool("tlp"));
        if rack && values.choice("recovery") != "sack" {
            let problem = Problem::new("loss_detection", "\"rack\" needs `recovery = \"sack\"`");
            return Err(problem.hint("RFC 8985 4: only SACK tells which segments have arrived"));
        }
        if tlp && !rack {
            return Err(Problem::new("tlp", "a tail loss probe needs `loss_detection = \"rack\"`"));
        }
        let mss = values.size("mss").0 as u32;
        let payload = |key| match values.amount_if_set(key) {
            None => Bytes::MAX,
            Some(Amount::Packets(n)) => Bytes(n.saturating_mul(u64::from(mss))),
            Some(Amount::Bytes(n)) => Bytes(n),
        };
        let cwnd_floor = values.number("cwnd_floor");
        let least = if values.choice("floor_holds") == "always" { cwnd_floor } else { 1.0 };
        Ok(Config {
            mss,
            header: values.size("header").0 as u32,
            initial_window: values.number("initial_window").max(least),
            cwnd_floor,
            loss_window: least,
            slow_start_step: match values.choice("slow_start_growth") {
                "segment" => 1.0,
                "two-segments" => 2.0,
                _ => f64::INFINITY,
            },
            pacing: Pacing {
                on: values.choice("pacing") == "window",
                gain: values.number("pacing_gain"),
                gain_slow_start: values.number("pacing_gain_slow_start"),
            },
            window_limit: payload("window_limit"),
            nic_limit: match payload("nic_limit") {
                Bytes::MAX => NicLimit::None,
                payload => NicLimit::Payload(payload),
            },
            cwnd_validation: values.bool("cwnd_validation"),
            nagle: values.bool("nagle"),
            spread_cuts: values.choice("cut") == "spread",
            idle_restart: values.bool("idle_restart"),
            handshake: values.bool("handshake"),
            sack: values.choice("recovery") != "newreno",
            goes_back: values.choice("recovery") == "go-back-n",
            dup_ack_threshold: values.count("dup_ack_threshold") as u32,
            rack,
            reordering: values.time_if_set("reordering"),
            finds_lost_again: values.choice("lost_retransmissions") == "found",
            rescue: values.bool("rescue"),
            tlp,
            limited_transmit: values.bool("limited_transmit"),
            rto_min: min_rto,
            rto_granularity: values.time("rto_granularity"),
            restart_on_retransmission: values.choice("rto_restart") == "retransmission",
            rto_initial: values.time("rto_initial"),
            rto_max: max_rto,
            backoff_reset_on_ack: values.choice("backoff_reset") == "ack",
            ack_every: values.count("ack_every") as u32,
            ack_delay: values.time("ack_delay"),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The defaults, as the scenario reader would give them.
    pub(crate) fn config() -> Config {
        Config {
            mss: 1460,
            header: 40,
            initial_window: 10.0,
            cwnd_floor: 2.0,
            loss_window: 1.0,
            slow_start_step: f64::INFINITY,
            pacing: Pacing { on: false, gain: 1.2, gain_slow_start: 2.0 },
            window_limit: Bytes::MAX,
            nic_limit: NicLimit::None,
            cwnd_validation: false,
            nagle: false,
            spread_cuts: false,
            idle_restart: false,
            handshake: false,
            sack: true,
            goes_back: false,
            dup_ack_threshold: 3,
            rack: false,
            reordering: None,
            finds_lost_again: true,
            rescue: false,
            tlp: false,
            limited_transmit: true,
            rto_min: Span::from_millis(20),
            rto_granularity: Span::from_millis(1),
            restart_on_retransmission: true,
            rto_initial: Span::from_millis(20),
            rto_max: Span::from_secs_f64(60.0),
            backoff_reset_on_ack: false,
            ack_every: 1,
            ack_delay: Span::from_millis(1),
        }
    }

    /// Reads TCP's values with RACK and probes as a profile's defaults.
    fn under_rack(given: &[(&str, &str)]) -> Result<Config, Problem> {
        let transport = crate::registry::find("tcp").unwrap();
        let mut values = units::Values::read(transport.keys(), given).unwrap();
        for (key, value) in [("loss_detection", Value::Choice("rack")), ("tlp", Value::Bool(true))] {
            if !values.is_given(key) {
                values.set_default(key, value);
            }
        }
        settle(&mut values, &Surroundings::default());
        Config::from_values(&values)
    }

    #[test]
    fn profile_with_rack_yields_to_written_keys() {
        let rack = |given: &[(&str, &str)]| under_rack(given).map(|config| (config.rack, config.tlp));
        assert_eq!(rack(&[]).unwrap(), (true, true));
        assert_eq!(rack(&[("recovery", "newreno")]).unwrap(), (false, false));
        assert_eq!(rack(&[("loss_detection", "dupacks")]).unwrap(), (false, false));
        assert_eq!(rack(&[("loss_detection", "rack"), ("tlp", "true")]).unwrap(), (true, true));
        // Both written: a conflict is a problem of the written key.
        assert_eq!(rack(&[("recovery", "newreno"), ("loss_detection", "rack")]).unwrap_err().key, "loss_detection");
        assert_eq!(rack(&[("loss_detection", "dupacks"), ("tlp", "true")]).unwrap_err().key, "tlp");
    }

    /// Reads TCP's values as they are settled for a network.
    fn in_network(network: &Surroundings, given: &[(&str, &str)]) -> Config {
        let transport = crate::registry::find("tcp").unwrap();
        let mut values = units::Values::read(transport.keys(), given).unwrap();
        settle(&mut values, network);
        Config::from_values(&values).unwrap()
    }

    #[test]
    fn where_packets_overtake_each_other_they_are_waited_for() {
        let settled = |given: &[(&str, &str)]| {
            let config = in_network(&Surroundings { reorders: true, ..Surroundings::default() }, given);
            (config.rack, config.limited_transmit, config.dup_ack_threshold, config.reordering)
        };
        // 4 x 14.6 us, in which 10 Gbps carry 73 000 B, or 48.7 packets of 1500 B.
        let waits = Some(Span::from_nanos(58_400));
        assert_eq!(settled(&[]), (true, true, 49, waits));
        assert_eq!(settled(&[("recovery", "newreno")]), (false, true, 49, waits));
        let given = [("loss_detection", "dupacks"), ("dup_ack_threshold", "3"), ("reordering", "0 s")];
        assert_eq!(settled(&given), (false, true, 3, Some(Span::ZERO)));
    }

    #[test]
    fn duplicates_that_count_as_a_loss_are_three_to_a_thousand() {
        let threshold = |gbps, base_rtt| {
            let line_rate = Rate::from_gbps(gbps);
            let network = Surroundings { reorders: true, line_rate, base_rtt, ..Surroundings::default() };
            in_network(&network, &[]).dup_ack_threshold
        };
        // 4 x 1500 B take 3 us at 16 Gbps: 1 us is four thirds of a packet, and counts as 5.33 packets.
        assert_eq!([threshold(16, Span::from_micros(1)), threshold(400, Span::from_millis(1))], [6, 1000]);
        // A product counts as a packet at least: four overtake. Beyond 250 of them it is the most.
        assert_eq!([threshold(1, Span::from_nanos(10)), threshold(12, Span::from_micros(250))], [4, 1000]);
    }

    #[test]
    fn losses_are_found_by_time_where_switches_trim() {
        let trims = Surroundings { trims: true, ..Surroundings::default() };
        let settled = |network: &Surroundings, given: &[(&str, &str)]| {
            let config = in_network(network, given);
            (config.rack, config.dup_ack_threshold, config.reordering)
        };
        assert_eq!(settled(&Surroundings::default(), &[]), (false, 3, None));
        assert_eq!(settled(&trims, &[]), (true, 3, None));
        assert_eq!(settled(&trims, &[("loss_detection", "dupacks")]), (false, 3, None));
        // 24 x 14.6 us; as many duplicates as without trimming.
        let both = Surroundings { reorders: true, ..trims };
        assert_eq!(settled(&both, &[]), (true, 49, Some(Span::from_nanos(350_400))));
    }

    #[test]
    fn limits_of_the_rto_may_be_equal_and_not_exclude_each_other() {
        assert!(under_rack(&[("rto_min", "5 ms"), ("rto_max", "5 ms")]).is_ok());
        assert_eq!(under_rack(&[("rto_min", "6 ms"), ("rto_max", "5 ms")]).unwrap_err().key, "rto_max");
        assert_eq!(under_rack(&[("rto_min", "1000 s")]).unwrap_err().key, "rto_min");
    }

    #[test]
    fn small_queue_holds_a_millisecond_or_two_segments() {
        let at = |bits| NicLimit::Millisecond.at(Rate(bits), 1460);
        assert_eq!([at(1_000_000_000), at(100_000_000), at(10_000_000)], [125_000, 12_500, 2920]);
        assert_eq!(NicLimit::None.at(Rate(1_000_000_000), 1460), u64::MAX);
        assert_eq!(NicLimit::Payload(Bytes(5000)).at(Rate(1_000_000_000), 1460), 5000);
        let mut config = config();
        config.limit_small_queue();
        assert_eq!(config.nic_limit, NicLimit::Millisecond);
        config.nic_limit = NicLimit::Payload(Bytes(5000));
        config.limit_small_queue();
        assert_eq!(config.nic_limit, NicLimit::Payload(Bytes(5000)));
    }
}
