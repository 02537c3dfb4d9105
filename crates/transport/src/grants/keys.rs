//! Parameters of all transports of the family.

use units::{Amount, Default, Key, Kind, Range, Rate, Span, Value, Values};

use super::limits::{Cut, Rule};
use super::policy::{Follows, Order, Policy};
use crate::connection::TOLERATED;
use crate::{Surroundings, connection};

/// The time after which data is late.
pub(super) const RESEND_AFTER: Key = Key {
    name: "resend_after",
    kind: Kind::Time,
    default: Default::Absent,
    range: Range::POSITIVE,
    help: "what has not arrived so long after its grant is granted again; each time in a row it takes twice as long; when \
           left out, 1 ms where hosts' links have 10 Gbit/s or less, on faster ones in proportion less, but then as long as \
           a switch's whole buffer takes on its slowest link, up to 1 ms; and three of the network's longest round trips at \
           least",
    source: "1 ms: the RTO floor of the other transports' recovery in experiments/promise; Homa 3.7: a few milliseconds",
};

/// Requests, grants, and the handling of lost ones.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "control",
        kind: Kind::Size,
        default: Default::Is("64 B"),
        range: Range::between(1.0, 4000.0),
        help: "a request or a grant on the wire",
        source: "the shortest Ethernet frame",
    },
    RESEND_AFTER,
    Key {
        name: "ask_again",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "a request is repeated after this time, then after twice as long, until it is answered; when left out, \
               resend_after",
        source: "as resend_after",
    },
    Key {
        name: "ask_limit",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the longest time between two requests; it is eight times as long as soon as the receiver knows of the message and \
               lets it wait; when left out, 8 ms where hosts' links have 10 Gbit/s or less, on faster ones in proportion less",
        source: "a request in 8 ms from each of 400 senders is 2.6 % of a link of 1 Gbps",
    },
    Key {
        name: "review",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the order of grants is settled anew when a message comes or is complete, and after this time at the latest; when \
               left out, 100 us where hosts' links have 10 Gbit/s or less, on faster ones in proportion less",
        source: "half a round trip of the D2TCP paper's network",
    },
];

/// The order of grants for a transport whose source orders by size.
pub(super) const ORDER: Key = Key {
    name: "order",
    kind: Kind::Choice(&["remaining", "deadline"]),
    default: Default::Is("remaining"),
    range: Range::ANY,
    help: "which message has the next grant, and is sent first by its host: the one with the fewest missing bytes, or the one with \
           the earliest deadline, before those without one",
    source: "Homa 3.2 and SIRD 4.4: the fewest remaining bytes; SIRD leaves the policy to the receiver",
};

/// The detection of losses.
pub(super) const OVERTAKEN: Key = Key {
    name: "overtaken",
    kind: Kind::Choice(&["waits", "is-lost"]),
    default: Default::Is("waits"),
    range: Range::ANY,
    help: "a segment that dup_ack_threshold of the same connection have overtaken, which were granted later, waits for its \
           time, or is granted again at once",
    source: "Homa 3.7 and SIRD find losses by time alone, since packets may take different paths",
};

/// Sets the values that follow from the network, for keys that were left out: each a multiple of the bandwidth-delay
/// product. A receiver that `asks` whether late data is lost need not wait for full buffers.
pub(super) fn settle(values: &mut Values, surroundings: &Surroundings, asks: bool, products: &[(&'static str, f64)]) {
    let product = product(values, surroundings);
    let round_trip = surroundings.round_trip_of(connection::packet(values));
    // Not a key: the line rate for which these amounts are computed.
    values.set_default(LINE_RATE, Value::Rate(surroundings.line_rate));
    let at_rate = |time| surroundings.at_rate(time, MEASURED_UP_TO);
    let (trips, reordering) = match surroundings.reorders {
        true => (REORDERED_TRIPS, round_trip * TOLERATED),
        false => (3, Span::ZERO),
    };
    values.set_default(REORDERING, Value::Time(reordering));
    let patience = at_rate(PATIENCE);
    let queued = if asks { Span::ZERO } else { surroundings.longest_queue.min(PATIENCE) };
    values.follow("resend_after", |_| Value::Time(patience.max(queued).max(round_trip * trips)));
    values.follow("ask_again", |values| Value::Time(values.time("resend_after")));
    values.follow("ask_limit", |_| Value::Time(at_rate(Span::from_millis(8))));
    values.follow("review", |_| Value::Time(at_rate(Span::from_micros(100))));
    for &(name, factor) in products {
        values.follow(name, |_| Value::Amount(Amount::Packets((product * factor).ceil() as u64)));
    }
}

/// The fastest link of a host for which times were measured (experiments/promise); queues of a size are shorter on
/// faster ones.
const MEASURED_UP_TO: Rate = Rate::from_gbps(10);

/// The time after which data is late on such links. On faster ones it is no less than a full buffer takes. With 25 us `homa`
/// and `sird` each granted 560 000 packets of 60 KB again, of 6.6 million, over 400 Gbps oversubscribed 4:1.
const PATIENCE: Span = Span::from_millis(1);

/// Minimum of `resend_after` in longest round trips without queues, where packets of a message take several paths. A
/// packet can be nearly as far behind others of its message: measured with `homa` at 400 Gbps, oversubscribed 2:1.
const REORDERED_TRIPS: u64 = 24;

/// Name of the time, among the values, by which an answer may be ahead of data that was sent before.
const REORDERING: &str = "reordering";

/// Name of the line rate among the values, for which amounts are computed.
const LINE_RATE: &str = "line_rate";

/// Returns the network's bandwidth-delay product, in full packets.
pub(super) fn product(values: &Values, surroundings: &Surroundings) -> f64 {
    surroundings.bandwidth_delay(connection::packet(values))
}

/// Returns the payload of an amount.
pub(super) fn payload(values: &Values, name: &str, connection: &connection::Config) -> u64 {
    match values.amount_if_set(name) {
        None => u64::MAX,
        Some(Amount::Packets(packets)) => packets.saturating_mul(connection.mss.into()),
        Some(Amount::Bytes(bytes)) => bytes,
    }
}

/// Returns the policy of a receiver that grants everything at once, from the values of [`KEYS`] and of the loss
/// detection.
pub(super) fn policy(values: &Values, connection: &connection::Config, order: Order) -> Policy {
    Policy {
        order,
        rate: values.rate(LINE_RATE),
        follows: Follows::default(),
        budget: u64::MAX,
        busy: None,
        at_once: u64::MAX,
        window: u64::MAX,
        active: usize::MAX,
        unscheduled: 0,
        unscheduled_up_to: 0,
        together: u64::MAX,
        within: Span::MAX,
        incast: None,
        limits: None,
        own_link_apart: false,
        by_rest: false,
        one_per_sender: false,
        backlog: u64::MAX,
        levels: None,
        classes: None,
        background_every: 0,
        cumulative: false,
        probes: false,
        overtaken: (values.choice("overtaken") == "is-lost").then_some(connection.dup_ack_threshold),
        resend_after: values.time("resend_after"),
        reordering: values.time(REORDERING),
        by_silence: false,
        ask_again: values.time("ask_again"),
        ask_limit: values.time("ask_limit"),
        review: values.time("review"),
        control: values.size("control").0 as u32,
        mss: connection.mss,
        header: connection.header,
    }
}

/// Returns a rule for the data in flight from one host.
pub(super) fn rule(most: u64, connection: &connection::Config, cut: fn(u64) -> Cut, share: f64) -> Rule {
    const ONE: f64 = 65536.0;
    let step = u64::from(connection.mss);
    Rule { most: most.max(step), step, least: [step; 2], cut: cut((share * ONE).round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::super::policy::Classes;
    use super::*;
    use crate::registry::{self, Control};
    use units::Bytes;

    fn policy_of(name: &str, surroundings: &Surroundings) -> Policy {
        let transport = registry::find(name).unwrap();
        let mut values = Values::read(transport.keys(), &[]).unwrap();
        let Control::Grants(policy) = transport.build(&mut values, surroundings).unwrap().control else { panic!() };
        policy
    }

    #[test]
    fn what_may_be_on_its_way_follows_from_the_network() {
        // 14.6 us at 10 Gbit/s are 18 250 B, 12.17 packets of 1500 B: 49 make four of that, 19 one and a half, 13 one and 7
        // half.
        let fast = Surroundings::uniform(Rate::from_gbps(10), Span::from_nanos(14_600), 4);
        let packets = |packets: u64| packets * 1460;
        let edf = policy_of("edf-grants", &fast);
        assert_eq!((edf.budget, edf.unscheduled, edf.at_once), (packets(49), packets(13), packets(8)));
        assert_eq!(edf.busy, Some((packets(19), Span::from_nanos(14_600))));
        // A request, a grant and the data each take half of that and the 9.6 us of eight packets; twice 50.7 us.
        assert_eq!(edf.within, Span::from_nanos(101_400));
        assert_eq!(edf.classes, Some(Classes { count: 5, first: Span::from_nanos(50_700) }));
        // A tenth of 65 536, and a sixteenth.
        let rule =
            |most, least: [u64; 2], cut| Some(Rule { most: packets(most), step: 1460, least: least.map(packets), cut });
        assert_eq!(edf.limits, rule(13, [1, 1], Cut::Each(6554)));
        let sird = policy_of("sird", &fast);
        assert_eq!((sird.budget, sird.backlog, sird.unscheduled), (packets(19), packets(7), packets(13)));
        // A tenth of 12.17 packets, and three hundredths.
        assert_eq!(sird.limits, rule(13, [2, 1], Cut::Window(4096)));
        assert_eq!((sird.at_once, sird.levels), (packets(1), None));
        let homa = policy_of("homa", &fast);
        assert_eq!((homa.budget, homa.window, homa.unscheduled, homa.active), (u64::MAX, packets(13), packets(13), 4));
        assert_eq!(homa.resend_after, Span::from_millis(1));
        // A tenth of the time at ten times the rate, and three round trips where these are longer.
        let times =
            |policy: Policy| [policy.resend_after, policy.ask_limit, policy.review].map(|time| time.0 / 1_000_000);
        assert_eq!(times(policy_of("sird", &fast)), [1000, 8000, 100]);
        let tenfold = Surroundings::uniform(Rate::from_gbps(100), Span::from_micros(5), 4);
        assert_eq!(times(policy_of("sird", &tenfold)), [100, 800, 10]);
        assert_eq!(times(policy_of("homa", &Surroundings { base_rtt: Span::from_micros(50), ..tenfold }))[0], 150);
        // Where packets may be queued for 160 us, receivers that do not ask wait as long, but never longer than on slow links.
        let queues = |micros| Surroundings { longest_queue: Span::from_micros(micros), ..tenfold };
        let patience = |micros| {
            ["homa", "sird", "edf-grants"].map(|name| policy_of(name, &queues(micros)).resend_after.0 / 1_000_000)
        };
        assert_eq!([99, 160, 1001].map(patience), [[100, 100, 100], [160, 160, 100], [1000, 1000, 100]]);
        let slow = Surroundings::uniform(Rate::from_gbps(1), Span::from_millis(1), 4);
        let slow = policy_of("homa", &slow);
        assert_eq!((slow.resend_after, slow.ask_again), (Span::from_millis(3), Span::from_millis(3)));
        assert_eq!(slow.window, Bytes(84 * 1460).0, "83.3 packets");
    }

    #[test]
    fn what_follows_from_the_network_follows_from_the_link_of_the_host() {
        // As above: 49, 19, 13 and 7 packets at 10 Gbit/s.
        let fast = Surroundings::uniform(Rate::from_gbps(10), Span::from_nanos(14_600), 4);
        let packets = |packets: u64| packets * 1460;
        let at = |name, rate| policy_of(name, &fast).at(rate);
        let (tenth, tenfold) = (Rate::from_gbps(1), Rate::from_gbps(100));
        assert_eq!(at("edf-grants", fast.line_rate), policy_of("edf-grants", &fast));
        let edf = at("edf-grants", tenfold);
        assert_eq!(edf.rate, tenfold);
        assert_eq!((edf.budget, edf.limits.unwrap().most), (packets(490), packets(130)));
        assert_eq!(edf.busy, Some((packets(190), Span::from_nanos(14_600))));
        // A tenth is five packets, two and two; but all data that is granted at once is in flight at once.
        let edf = at("edf-grants", tenth);
        assert_eq!([edf.budget, edf.limits.unwrap().most, edf.busy.unwrap().0], [packets(8); 3]);
        let sird = at("sird", tenth);
        assert_eq!((sird.budget, sird.limits.unwrap().most, sird.backlog), (packets(2), packets(2), packets(1)));
        let homa = at("homa", tenfold);
        assert_eq!((homa.window, homa.unscheduled, homa.budget), (packets(130), packets(13), u64::MAX));
        // A written value stays.
        let written = registry::find("edf-grants").unwrap().with(&[("outstanding", "25 packets")]).unwrap();
        let Control::Grants(written) = written.control else { panic!() };
        assert_eq!(written.at(tenth).budget, packets(25));
    }

    #[test]
    fn what_may_be_on_its_way_is_no_less_than_what_is_granted_at_once() {
        // 1.5 packets of 1500 B: four products are six.
        let short = Surroundings::uniform(Rate::from_gbps(10), Span::from_nanos(1800), 4);
        let edf = policy_of("edf-grants", &short);
        assert_eq!([edf.budget, edf.limits.unwrap().most, edf.busy.unwrap().0, edf.unscheduled], [8 * 1460; 4]);
    }

    #[test]
    fn a_product_of_signs_takes_as_much_of_a_limit_however_many_packets_it_is() {
        let edf = |microseconds| {
            policy_of("edf-grants", &Surroundings::uniform(Rate::from_gbps(10), Span::from_micros(microseconds), 4))
        };
        // 60 us at 10 Gbit/s are 75 000 B, 50 packets of 1500 B: each sign cuts 1.6 / 50, in 65 536ths.
        assert_eq!(edf(60).limits.unwrap().cut, Cut::Each(2097));
        // The rest of a limit after a product of signs: e to the -1.6 at most, and 0.9 to the 16th at least.
        for (microseconds, packets) in [(24, 20), (60, 50), (240, 200)] {
            let Cut::Each(share) = edf(microseconds).limits.unwrap().cut else { panic!() };
            let left = (1.0 - share as f64 / 65536.0).powi(packets);
            assert!((0.185..=0.202).contains(&left), "{packets}: {left}");
        }
    }
}
