//! Controllers that use the records of switch ports ([`Records`]): the common part. What they make of two successive records is
//! in a file of their own each.
//!
//! A window is a number of full packets and need not be whole. The sender paces at the window per base round trip, so that
//! the window, rounded up, only bounds the data in flight where there is a queue.

pub(crate) mod hpcc;
pub(crate) mod powertcp;

use units::{Bytes, Default, Instant, Key, Kind, Range, Value, Values};

use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::connection::{self, RATE};
use crate::records::Records;
use crate::{Descriptor, Observation, Site, Surroundings};
use hpcc::Hpcc;
use powertcp::Powertcp;

/// THE list of transports that use records, in the order of `duetime transports`.
pub(crate) const DESCRIPTORS: &[Descriptor<Telemetry>] = &[hpcc::DESCRIPTOR, powertcp::DESCRIPTOR];

/// The needs from switches.
const RECORDS: &str = "each port writes its queue, its bytes sent, the time and its rate into each data packet (INT)";
/// The needs from hosts.
const HOSTS: &str = "receivers return the records; pacing, also for windows below one packet";

/// Common parameters, and shared ones with other defaults.
const KEYS: &[Key] = &[
    Key {
        name: "base_rtt",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "T, the round-trip time without queues: windows are paced over it, and it turns queues into shares of a link; \
               when left out, the network's longest",
        source: "HPCC 3.2 (T) and PowerTCP 3.3 (tau): one constant for all, at least the longest",
    },
    Key {
        name: "header",
        kind: Kind::Size,
        default: Default::Is("82 B"),
        range: Range::between(0.0, 4000.0),
        help: "header bytes of every packet on the wire, with its records; an ACK is nothing else",
        source: "IPv4 and TCP without options; HPCC 4.1: 42 B of records for up to 5 hops, always as many as in its simulator",
    },
    Key {
        name: "initial_window",
        kind: Kind::Number,
        default: Default::Absent,
        range: Range::between(1.0, 1e6),
        help: "the window of a new connection, in packets; when left out, what a host's link carries in base_rtt, which no \
               window exceeds",
        source: "HPCC 3.2: flows start at line rate, W_init = B_NIC T; PowerTCP: the same",
    },
    Key {
        name: "cwnd_floor",
        kind: Kind::Number,
        default: Default::Is("0.01"),
        range: Range::between(0.0001, 1e6),
        help: "the least window, in packets; one below 1 is a packet in every 1/cwnd base round trips",
        source: "open in the papers; their simulators: 100 Mbps, which is 0.1 packets at 10 us",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    let header = values.size("header");
    // The records are in the acknowledgement too.
    let longest =
        surroundings.round_trip_of(Bytes((values.size("mss") + header + header).0.saturating_sub(Surroundings::ACK.0)));
    values.follow("base_rtt", |_| Value::Time(longest));
    values.follow("initial_window", |values| {
        Value::Number(surroundings.carried_in(values.time("base_rtt"), connection::packet(values)))
    });
}

/// A window that follows the records of ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry(Box<State>);

/// The window and the records. Times are in picoseconds, windows in full packets.
#[derive(Clone, Debug, PartialEq)]
struct State {
    law: Law,
    base: f64,
    packet_bits: f64,
    /// Packets in flight beside the window: ones whose ACK the receiver holds back.
    held_back: f64,
    /// The present window, its limits, and the first one. The largest is 0 before the first message.
    window: f64,
    least: f64,
    most: f64,
    /// The rate of the sender's link, in bit/s; infinite before the first message.
    line_rate: f64,
    /// The records of the last acknowledgement, and whether the law has not used them yet.
    heard: Records,
    is_new: bool,
    /// The last ones that the law has used; none before the first.
    last: Records,
}

/// The laws, matched in the order of the list.
#[derive(Clone, Debug, PartialEq)]
enum Law {
    Hpcc(Hpcc),
    Powertcp(Powertcp),
}

/// The content of an acknowledgement with records.
struct News<'a> {
    records: &'a Records,
    last: &'a Records,
    /// The base round trip T, in picoseconds.
    base: f64,
    /// The present window, and its limits.
    window: f64,
    least: f64,
    most: f64,
    /// The next position to send.
    next: u64,
}

impl News<'_> {
    /// Returns the largest value of a function of two successive records of a port; none without such records. Beside it is
    /// the time between them in picoseconds, at most T.
    fn largest(&self, value: impl Fn(&Pair) -> f64) -> Option<(f64, f64)> {
        let mut found: Option<(f64, f64)> = None;
        for (new, old) in self.records.since(self.last) {
            let apart = (new.at - old.at).0 as f64;
            // Bytes as the share of what the link carries in a time.
            let per_byte = 8e12 / new.rate.as_bps_f64().max(1.0);
            let pair = Pair {
                queued: f64::from(new.queued) * per_byte / self.base,
                shorter_queue: f64::from(new.queued.min(old.queued)) * per_byte / self.base,
                growth: (f64::from(new.queued) - f64::from(old.queued)) * per_byte / apart,
                sent: new.sent.saturating_sub(old.sent) as f64 * per_byte / apart,
            };
            let value = value(&pair);
            if found.is_none_or(|(most, _)| value > most) {
                found = Some((value, apart.min(self.base)));
            }
        }
        found
    }

    /// Returns the average over T after a value that holds for a time.
    fn averaged(&self, average: f64, (value, time): (f64, f64)) -> f64 {
        average + (value - average) * time / self.base
    }

    /// Returns a window within the limits.
    fn within(&self, window: f64) -> f64 {
        window.min(self.most).max(self.least)
    }
}

/// Two successive records of a port, as shares of its link.
struct Pair {
    /// The later queue, by what the link carries in T.
    queued: f64,
    /// The shorter of both queues, by the same.
    shorter_queue: f64,
    /// The growth of the queue, by what the link carries meanwhile.
    growth: f64,
    /// The bytes sent, by what the link carries meanwhile.
    sent: f64,
}

impl Telemetry {
    fn new(values: &Values, connection: &connection::Config, law: Law) -> Telemetry {
        Telemetry(Box::new(State {
            law,
            base: values.time("base_rtt").0.max(1) as f64,
            packet_bits: f64::from(connection.mss + connection.header) * 8.0,
            held_back: f64::from(connection.ack_every.saturating_sub(1)),
            window: connection.initial_window,
            least: connection.cwnd_floor,
            most: 0.0,
            line_rate: f64::INFINITY,
            heard: Records::of_packet(0),
            is_new: false,
            last: Records::of_packet(0),
        }))
    }

    /// Takes the records of an acknowledgement that is about to be handled.
    pub(crate) fn hear(&mut self, records: &Records) {
        self.0.heard = *records;
        self.0.is_new = true;
    }
}

impl State {
    /// Begins with the limits that follow from the sender's link.
    fn begin(&mut self, window: &mut Cwnd, site: Site) {
        let packet = self.packet_bits + site.frame_overhead.as_f64() * 8.0;
        let product = site.rate.as_bps_f64() * self.base / 1e12 / packet;
        self.line_rate = site.rate.as_bps_f64();
        self.most = product.min(window.limit).max(self.least);
        self.set(self.window.min(self.most), window);
    }

    /// Sets the window. It has no slow start, and a repair that ends leaves it as it is.
    fn set(&mut self, to: f64, window: &mut Cwnd) {
        self.window = to;
        window.cwnd = to.ceil().max(1.0) + self.held_back;
        window.ssthresh = window.cwnd;
    }

    /// Uses the records of an acknowledgement, once. (Its caller is a part of every transport's path of acknowledgements:
    /// one number takes fewer instructions there than all of [`Acked`].)
    #[inline(never)]
    fn use_records(&mut self, window: &mut Cwnd, next: u64) {
        if !std::mem::take(&mut self.is_new) || self.heard.is_older_than(&self.last) {
            return;
        }
        let State { base, least, most, .. } = *self;
        let news = News { records: &self.heard, last: &self.last, base, window: self.window, least, most, next };
        let to = match &mut self.law {
            Law::Hpcc(law) => law.window(&news),
            Law::Powertcp(law) => law.window(&news),
        };
        self.last = self.heard;
        if let Some(to) = to {
            self.set(to, window);
        }
    }

    fn rate(&self) -> f64 {
        // A floor of several packets may be more than the link carries.
        (self.window * self.packet_bits * 1e12 / self.base).min(self.line_rate)
    }
}

impl Window for Telemetry {
    fn ecn(&self) -> Ecn {
        Ecn::Off
    }
    fn paces(&self) -> bool {
        true
    }
    fn rate(&mut self, _: Instant, _: u64) -> Option<f64> {
        Some(self.0.rate())
    }
    fn on_message(&mut self, window: &mut Cwnd, _: &Acked, _: bool, site: Site) {
        if self.0.most == 0.0 {
            self.0.begin(window, site);
        }
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.0.use_records(window, ack.next);
        false
    }
    fn on_gap(&mut self, window: &mut Cwnd, ack: &Acked) {
        self.0.use_records(window, ack.next);
    }
    fn on_loss(&mut self, window: &mut Cwnd, _: &Lost) {
        // The records say what the path carries; a loss says no more.
        window.ssthresh = window.cwnd;
    }
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, _: &Lost) {
        let to = self.0.window.min(loss_window).max(self.0.least);
        self.0.set(to, window);
        match &mut self.0.law {
            Law::Hpcc(law) => law.restart(to),
            Law::Powertcp(law) => law.restart(to),
        }
    }
    fn observe(&self, _: &Cwnd, _: &Acked, seen: &mut Observation) {
        seen.add(&RATE, self.0.rate() / 1e6);
        match &self.0.law {
            Law::Hpcc(law) => seen.add(&hpcc::UTILISATION, law.utilisation()),
            Law::Powertcp(law) => seen.add(&powertcp::POWER, law.power()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::controllers::tests::{acked, cwnd};
    use crate::records::Record;
    use units::{HostId, Rate, Span};

    /// A sender at 10 Gbps whose base round trip is 12 us: 15 000 B, or ten packets of 1500 B.
    pub(super) struct Bench {
        pub law: Telemetry,
        pub window: Cwnd,
    }

    /// Bytes that a link of 10 Gbps carries in 12 us.
    pub(super) const FULL: u64 = 15_000;

    /// A port of 10 Gbps after `us`, which had sent `sent` bytes and queues `queued`.
    pub(super) fn at(port: u32, us: u64, sent: u64, queued: u32) -> Record {
        Record { port, queued, sent, at: Instant::from_micros(us), rate: Rate::from_gbps(10) }
    }

    impl Bench {
        pub(super) fn new(name: &str, keys: &[(&str, &str)]) -> Bench {
            let mut values = Values::read(
                crate::registry::find(name).unwrap().keys(),
                &[&[("base_rtt", "12 us"), ("header", "40 B")][..], keys].concat(),
            )
            .unwrap();
            let own = DESCRIPTORS.iter().find(|own| own.name == name).unwrap();
            (own.needs.settle)(&mut values, &Surroundings::default());
            let config = connection::Config::from_values(&values).unwrap();
            let mut bench = Bench { law: (own.build)(&mut values, &config).unwrap(), window: cwnd(10.0) };
            let site =
                Site { rate: Rate::from_gbps(10), frame_overhead: Bytes::ZERO, hops: 3, host: HostId(0), own: 0 };
            bench.law.on_message(&mut bench.window, &acked(0, false), true, site);
            bench
        }

        /// Returns the sender after the first records, of a port without a queue at 100 us.
        pub(super) fn begun(name: &str) -> Bench {
            let mut bench = Bench::new(name, &[]);
            bench.hear((1460, 14_600), &[at(1, 100, 0, 0)]);
            bench
        }

        /// Acknowledges the packet that ends at `end`, with `next` as the next position, and returns the window.
        pub(super) fn hear(&mut self, (end, next): (u64, u64), list: &[Record]) -> f64 {
            let mut records = Records::of_packet(end);
            list.iter().for_each(|record| records.push(*record));
            self.law.hear(&records);
            let cut = self.law.on_ack(&mut self.window, &Acked { una: end, next, ..acked(1, false) });
            assert!(!cut, "no mark did it");
            self.law.0.window
        }
    }

    /// The retransmission timer expires.
    pub(super) fn timeout(bench: &mut Bench) {
        let lost = Lost { now: Instant::ZERO, state: acked(1, false), flight: 10.0, timeout: true };
        bench.law.on_timeout(&mut bench.window, 1.0, &lost);
    }

    pub(super) fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn first_window_fills_the_link_for_the_base_round_trip() {
        for name in ["hpcc", "powertcp"] {
            let mut bench = Bench::new(name, &[]);
            near(bench.law.0.window, 10.0);
            near(bench.law.rate(Instant::ZERO, 0).unwrap(), 1e10);
            assert!(bench.law.paces());
            assert_eq!((bench.window.cwnd, bench.window.ssthresh), (10.0, 10.0));
            near(Bench::new(name, &[("initial_window", "3")]).law.rate(Instant::ZERO, 0).unwrap(), 3e9);
            near(Bench::new(name, &[("initial_window", "30")]).law.rate(Instant::ZERO, 0).unwrap(), 1e10);
            near(
                Bench::new(name, &[("cwnd_floor", "30"), ("initial_window", "30")]).law.rate(Instant::ZERO, 0).unwrap(),
                1e10,
            );
            // The first records only begin, and so do ones of other ports or without a port.
            near(bench.hear((1460, 14_600), &[at(1, 100, 0, 90_000)]), 10.0);
            near(bench.hear((2920, 16_060), &[at(2, 101, 1250, 90_000)]), 10.0);
            near(bench.hear((2920, 16_060), &[]), 10.0);
        }
    }

    #[test]
    fn overtaken_records_and_repeated_acknowledgements_change_nothing() {
        for name in ["hpcc", "powertcp"] {
            let mut bench = Bench::new(name, &[]);
            bench.hear((1460, 14_600), &[at(1, 100, 0, 0)]);
            bench.hear((2920, 16_060), &[at(1, 106, 7500, 15_000)]);
            let before = bench.law.clone();
            bench.hear((2920, 16_060), &[at(1, 103, 3750, 90_000)]);
            assert_eq!(bench.law.0.last, before.0.last);
            near(bench.law.0.window, before.0.window);
            bench.law.on_gap(&mut bench.window, &acked(3, false));
            near(bench.law.0.window, before.0.window);
        }
    }

    #[test]
    fn window_of_the_sender_is_whole_and_paced_below_one() {
        let mut bench = Bench::new("hpcc", &[]);
        bench.law.0.set(3.2, &mut bench.window);
        assert_eq!((bench.window.cwnd, bench.window.ssthresh), (4.0, 4.0));
        near(bench.law.rate(Instant::ZERO, 0).unwrap(), 3.2e9);
        bench.law.0.set(0.05, &mut bench.window);
        assert_eq!(bench.window.cwnd, 1.0);
        near(bench.law.rate(Instant::ZERO, 0).unwrap(), 5e7);
    }

    #[test]
    fn timeout_restarts_at_one_packet_and_loss_changes_nothing() {
        for name in ["hpcc", "powertcp"] {
            let mut bench = Bench::new(name, &[]);
            let lost = Lost { now: Instant::ZERO, state: acked(1, false), flight: 10.0, timeout: false };
            bench.window.ssthresh = 5.0;
            bench.law.on_loss(&mut bench.window, &lost);
            near(bench.law.0.window, 10.0);
            assert_eq!(bench.window.ssthresh, 10.0, "a repair that ends leaves the window as it is");
            timeout(&mut bench);
            near(bench.law.0.window, 1.0);
            assert_eq!(bench.window.cwnd, 1.0);
        }
    }

    #[test]
    fn link_and_its_framing_are_those_of_the_first_message() {
        let mut bench = Bench::new("hpcc", &[]);
        let site = |overhead| Site {
            rate: Rate::from_gbps(10),
            frame_overhead: Bytes(overhead),
            hops: 3,
            host: HostId(0),
            own: 0,
        };
        bench.law.on_message(&mut bench.window, &acked(0, false), true, site(500));
        near(bench.law.0.most, 10.0);
        // As if it were the first: 15 000 B are 7.5 packets of 1500 B and 500 B around them.
        bench.law.0.most = 0.0;
        bench.law.on_message(&mut bench.window, &acked(0, false), true, site(500));
        near(bench.law.0.window, 7.5);
        assert_eq!(bench.window.cwnd, 8.0);
    }

    #[test]
    fn records_count_beyond_a_gap_too() {
        let mut bench = Bench::begun("hpcc");
        let mut records = Records::of_packet(2920);
        records.push(at(1, 112, FULL, 0));
        bench.law.hear(&records);
        bench.law.on_gap(&mut bench.window, &acked(3, false));
        near(bench.law.0.window, 9.505);
    }

    #[test]
    fn base_round_trip_counts_the_records_both_ways() {
        // 14.6 us at 10 Gbps over four links: 42 B more each way are 4 x 33.6 ns, twice.
        for name in ["hpcc", "powertcp"] {
            let mut values = Values::read(crate::registry::find(name).unwrap().keys(), &[]).unwrap();
            settle(&mut values, &Surroundings::default());
            assert_eq!(values.time("base_rtt"), Span(14_600_000 + 2 * 4 * 33_600));
            near(values.number("initial_window"), 14_868.8 * 10.0 / 8.0 / 1542.0);
        }
    }
}
