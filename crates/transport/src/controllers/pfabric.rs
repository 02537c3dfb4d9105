//! `pfabric`: packets carry a priority, ports send and drop by it, and senders hardly control their rate.

use units::{Amount, Default, Instant, Key, Kind, Range, Value, Values};

use super::{Acked, Current, Cwnd, Ecn, Lost, Window};
use crate::{Advice, Conditions, Descriptor, Message, Needs, Packet, Regime, Surroundings, connection};

/// The descriptor of pFabric.
pub(super) const DESCRIPTOR: Descriptor<Pfabric> = Descriptor {
    name: "pfabric",
    help: "pFabric: starts at line rate, tells losses by its timer alone; ports send the most urgent flow first and \
           drop the least urgent packet",
    source: "Alizadeh et al., SIGCOMM 2013; its sections are cited from memory",
    aliases: &[],
    groups: &[KEYS],
    needs: Needs::of(
        "small buffers per port, sent and dropped by 32-bit priority: a search for the most urgent flow's earliest packet",
        "sizes or deadlines from the application, a priority on each packet, timers of a few round trips",
    )
    .discipline("pfabric")
    .made_for(&[SMALL_BUFFERS])
    .settling(settle),
    signals: &[],
    build: |values, _| Ok(build(values)),
};

/// The buffer of a port, in bandwidth-delay products.
const BUFFER_PRODUCTS: f64 = 2.0;

/// Twice the paper's buffer is judged to be another regime: it has curves for less, down to half of it.
const SMALL_BUFFERS: Regime = Regime {
    key: "buffer",
    source: "pFabric 4.1, 5.1: 36 KB per port, two bandwidth-delay products",
    outside: |conditions| {
        let product = conditions.bandwidth_delay();
        let held = conditions.port_limit.map_or(f64::INFINITY, |limit| limit / product);
        (held > 2.0 * BUFFER_PRODUCTS).then(|| advise_small_buffers(held, conditions))
    },
};

fn advise_small_buffers(held: f64, conditions: &Conditions) -> Advice {
    let holds =
        if held.is_finite() { format!("{held:.0} bandwidth-delay products") } else { "any number of bytes".into() };
    Advice {
        reason: format!(
            "a port holds {holds}, its paper's {BUFFER_PRODUCTS}: what waits longer than its RTO of three round trips is \
             sent again although it is not lost"
        ),
        write: format!(
            "buffer = \"{:.0} B\" and sharing = \"per-port\"",
            (BUFFER_PRODUCTS * conditions.bandwidth_delay()).max(3000.0)
        ),
    }
}

/// The authors' RTO, in round trips.
const RTO_ROUND_TRIPS: u64 = 3;

/// Maximum of the window as a multiple of the first one.
const LIMIT: f64 = 15.0 / 12.0;

/// Parameters of its own, and shared ones with other defaults.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "priority",
        kind: Kind::Choice(&["deadline", "size"]),
        default: Default::Is("deadline"),
        range: Range::ANY,
        help: "what makes a packet urgent: its message's deadline, those without one coming last, by the bytes that are \
               left from the packet on, or these bytes for all messages",
        source: "pFabric 4.1: remaining size, or the deadline where messages have one (5.4.3)",
    },
    Key {
        name: "expired",
        kind: Kind::Choice(&["keep", "abort"]),
        default: Default::Is("keep"),
        range: Range::ANY,
        help: "once the deadline has passed: go on with the same priority, or give the message up",
        source: "open in the paper",
    },
    Key {
        name: "probe_after",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(1.0, 1e6),
        help: "timeouts in a row after which one byte is sent per RTO until it is acknowledged",
        source: "pFabric 4.2 (probe mode), 5.1: 5",
    },
    Key {
        name: "initial_window",
        kind: Kind::Number,
        default: Default::Absent,
        range: Range::between(1.0, 1e6),
        help: "cwnd of a new connection, in segments; when left out, what a host's link carries in the network's longest \
               round trip",
        source: "pFabric 4.2: flows start at line rate; 5.1: 12 packets, the bandwidth-delay product",
    },
    Key {
        name: "window_limit",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "upper limit of the window, in packets or payload bytes; when left out, 1.25 times initial_window, or what it \
               would be by default, whichever is more",
        source: "the authors' ns-2 scripts: 15 for a bandwidth-delay product of 12",
    },
    Key {
        name: "limited_transmit",
        kind: Kind::Bool,
        default: Default::Is("true"),
        range: Range::ANY,
        help: "what SACKs say has arrived makes room for new segments",
        source: "pFabric 4.2: SACKs tell the sender what has left the network",
    },
    Key {
        name: "ack_every",
        kind: Kind::Count,
        default: Default::Is("1"),
        range: Range::between(1.0, 64.0),
        help: "data packets per ACK; an ACK that is held back is later than the RTO",
        source: "pFabric 4.2: an ACK for every packet; its RTO is three round trips",
    },
    Key {
        name: "tlp",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "tail loss probe, which its own timer is shorter than",
        source: "pFabric 4.2: losses are told by the timer alone",
    },
    Key {
        name: "rto_min",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "lower limit of the retransmission timeout; when left out, three of the network's longest round trips",
        source: "pFabric 4.2, 5.1: fixed and small, about 3 RTT: 45 us for 14.6 us",
    },
    Key {
        name: "rto_granularity",
        kind: Kind::Time,
        default: Default::Is("1 us"),
        range: Range::POSITIVE,
        help: "G, the least that the RTT's variation counts for in the RTO",
        source: "RFC 6298 2.3, with the timer that the paper asks of hosts",
    },
    Key {
        name: "rto_initial",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "retransmission timeout before the first RTT sample; when left out, rto_min",
        source: "pFabric 4.2: the RTO is fixed",
    },
    Key {
        name: "rto_max",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "upper limit of the retransmission timeout, backed off or not; when left out, rto_min or rto_initial, \
               whichever is more: it is fixed",
        source: "pFabric 4.2: the RTO is fixed",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    let line_rate = |values: &Values| surroundings.bandwidth_delay(connection::packet(values)).round();
    values.follow("initial_window", |values| Value::Number(line_rate(values)));
    values.follow("window_limit", |values| {
        let packets = values.number("initial_window").max(line_rate(values)) * LIMIT;
        Value::Amount(Amount::Packets(packets.ceil() as u64))
    });
    values.follow("rto_min", |values| {
        Value::Time(surroundings.round_trip_of(connection::packet(values)) * RTO_ROUND_TRIPS)
    });
    values.follow("rto_initial", |values| Value::Time(values.time("rto_min")));
    values.follow("rto_max", |values| Value::Time(values.time("rto_min").max(values.time("rto_initial"))));
}

fn build(values: &Values) -> Pfabric {
    Pfabric {
        by_deadline: values.choice("priority") == "deadline",
        aborts: values.choice("expired") == "abort",
        probe_after: values.count("probe_after"),
        timeouts: 0,
    }
}

/// Line rate at first, TCP's growth, and timeouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Pfabric {
    by_deadline: bool,
    aborts: bool,
    probe_after: u64,
    /// Timeouts since the last acknowledgement.
    timeouts: u64,
}

impl Pfabric {
    /// The first rank of messages without a deadline: all messages with one are before them.
    const LATER: u32 = 1 << 31;

    fn by_size(left: u64, from: u32) -> u32 {
        let most = Packet::UNTAGGED - 1 - from;
        from + u32::try_from(left).unwrap_or(most).min(most)
    }
}

impl Window for Pfabric {
    fn ecn(&self) -> Ecn {
        Ecn::Off
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.timeouts = 0;
        // It starts at line rate: there is no slow start before a loss.
        if window.ssthresh.is_infinite() {
            window.ssthresh = window.cwnd;
        }
        if ack.may_grow {
            window.grow(ack.segments);
        }
        false
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        window.halve(loss);
    }
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, _: &Lost) {
        self.timeouts += 1;
        window.cwnd = window.cwnd.min(loss_window);
    }
    fn repairs_by_timer_alone(&self) -> bool {
        true
    }
    fn probes(&self) -> bool {
        self.timeouts >= self.probe_after
    }
    fn aborts(&self, message: &Message, now: Instant) -> bool {
        self.aborts && message.deadline.is_some_and(|deadline| deadline < now)
    }
    /// Returns the deadline in microseconds, or the bytes that are left.
    fn ranks(&self) -> bool {
        true
    }
    fn rank(&self, current: &Current, seq: u64) -> u32 {
        const MICROSECOND: u64 = 1_000_000;
        let left = current.end.saturating_sub(seq);
        match current.message.deadline.filter(|_| self.by_deadline) {
            Some(deadline) => (deadline.0 / MICROSECOND).min(u64::from(Pfabric::LATER) - 1) as u32,
            None if self.by_deadline => Pfabric::by_size(left, Pfabric::LATER),
            None => Pfabric::by_size(left, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tests::acked;
    use units::{Bytes, Rate, Span};

    fn law(priority: &'static str) -> Pfabric {
        Pfabric { by_deadline: priority == "deadline", aborts: false, probe_after: 5, timeouts: 0 }
    }

    fn current(end: u64, deadline: Option<Instant>) -> Current {
        Current { end, message: Message { deadline, ..Message::of(Bytes(end)) } }
    }

    #[test]
    fn a_short_rest_is_more_urgent_and_a_deadline_more_than_any_size() {
        let (size, deadline) = (law("size"), law("deadline"));
        assert_eq!(size.rank(&current(10_000, None), 4000), 6000);
        assert_eq!(size.rank(&current(1 << 62, None), 0), Packet::UNTAGGED - 1);
        let (early, late) = (Some(Instant::from_millis(3)), Some(Instant::from_secs_f64(1e6)));
        assert_eq!(deadline.rank(&current(1 << 40, early), 0), 3000);
        assert_eq!(size.rank(&current(10_000, early), 0), 10_000);
        let ranks = [deadline.rank(&current(1000, late), 0), deadline.rank(&current(1, None), 0)];
        assert!(3000 < ranks[0] && ranks[0] < ranks[1], "{ranks:?}");
        assert!(deadline.rank(&current(1 << 62, None), 0) < Packet::UNTAGGED);
    }

    #[test]
    fn five_timeouts_in_a_row_lead_to_probes_and_an_ack_out_of_them() {
        let (mut law, mut window) =
            (law("size"), Cwnd { ssthresh: f64::INFINITY, ..crate::controllers::tests::cwnd(12.0) });
        for _ in 0..4 {
            law.on_timeout(&mut window, 1.0, &lost());
            assert!(!law.probes());
        }
        law.on_timeout(&mut window, 1.0, &lost());
        assert!(law.probes());
        law.on_ack(&mut window, &acked(1, false));
        assert!(!law.probes());
        (0..4).for_each(|_| law.on_timeout(&mut window, 1.0, &lost()));
        assert!(!law.probes(), "they count from the last acknowledgement on");
    }

    #[test]
    fn it_starts_at_line_rate_and_grows_by_a_segment_per_window() {
        let (mut law, mut window) =
            (law("size"), Cwnd { ssthresh: f64::INFINITY, ..crate::controllers::tests::cwnd(12.0) });
        (1..=12).for_each(|una| _ = law.on_ack(&mut window, &acked(una, false)));
        assert!((window.cwnd - 13.0).abs() < 0.05, "{}", window.cwnd);
        law.on_loss(&mut window, &lost());
        law.on_timeout(&mut window, 1.0, &lost());
        (13..=15).for_each(|una| _ = law.on_ack(&mut window, &acked(una, false)));
        assert_eq!((window.cwnd, window.ssthresh), (4.0, 6.0), "slow start after a timeout");
    }

    #[test]
    fn windows_and_timers_follow_from_the_network() {
        let transport = crate::registry::find("pfabric").unwrap();
        // 14.6 us at 10 Gbit/s are 12.2 packets: the paper's 12, and 15 at most; an RTO of 43.8 us, "about 45".
        let config = transport.with(&[]).unwrap().connection;
        assert_eq!((config.initial_window, config.window_limit), (12.0, Bytes(15 * 1460)));
        assert_eq!(
            (config.rto_min, config.rto_initial, config.rto_max),
            (Span::from_nanos(43_800), Span::from_nanos(43_800), Span::from_nanos(43_800))
        );
        let slow = Surroundings::uniform(Rate::from_gbps(1), Span::from_micros(240), 4);
        let mut values = Values::read(transport.keys(), &[("rto_max", "5 ms")]).unwrap();
        let config = transport.build(&mut values, &slow).unwrap().connection;
        assert_eq!((config.initial_window, config.rto_min), (20.0, Span::from_micros(720)));
        assert_eq!((config.rto_max, values.is_given("rto_min")), (Span::from_millis(5), false));
    }

    fn lost() -> Lost<'static> {
        Lost { now: Instant::ZERO, state: acked(0, false), flight: 12.0, timeout: true }
    }

    #[test]
    fn regime_has_buffers_of_four_bandwidth_delay_products_at_most() {
        let values = [0.0, 1000.0, 42_000.0, 56_000.0, 56_001.0, f64::INFINITY];
        let within = [true, true, true, true, false, false];
        assert_eq!(crate::descriptor::tests::is_within(&SMALL_BUFFERS, values), within);
    }
}
