//! `red`: between two lengths of the queue, the probability of a mark rises (Floyd and Jacobson 1993; DCQCN 3.1).

use transport::Packet;
use units::{Amount, Bytes, Default, Instant, Key, Kind, Marks, Problem, Range, Rate, Stream, Values};

use super::{Descriptor, KEY, Marker, Site};
use crate::fabric::level::{Length, Level};
use crate::topology::Graph;

/// Marking with a probability that rises with the queue.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "red",
    help: "a packet is marked with a probability that rises from 0 where the queue (see `mark_at`) is `mark` (Kmin) long to \
           `red_pmax` at `red_kmax`, and always above",
    keys: KEYS,
    check,
    marker: |values, site| Box::new(Red::from_values(values, site)),
    built_in: false,
};

const KEYS: &[Key] = &[
    Key {
        name: "red_kmax",
        kind: Kind::Marks,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "with marking red: Kmax, above which every packet is marked; `mark` is Kmin, below which none is",
        source: "DCQCN 5.2: Kmin 5 KB, Kmax 200 KB; HPCC 5.1: 100 KB and 400 KB at 25 Gbps",
    },
    Key {
        name: "red_pmax",
        kind: Kind::Share,
        default: Default::Is("10%"),
        range: Range::UNIT,
        help: "with marking red: Pmax, the probability of a mark where the queue is Kmax long",
        source: "ns-2 and Linux mark 10 % and 2 % at most; DCQCN 5.2: 1 %; HPCC 5.1: 20 %",
    },
    Key {
        name: "red_weight",
        kind: Kind::Number,
        default: Default::Is("1"),
        range: Range::above(0.0, 1.0),
        help: "with marking red: weight of each packet's queue in the average that counts; 1: the queue itself",
        source: "1: DCTCP 3.1 and DCQCN use the queue itself; Floyd and Jacobson 1993, 4: 0.002",
    },
];

/// Checks that Kmin and Kmax fit each other wherever both are.
fn check(values: &Values, graph: &Graph) -> Result<(), Problem> {
    let named = values.choice_if_set(KEY.name);
    let problem = |key: &'static str, message: &str, hint: &str| Err(Problem::new(key, message).hint(hint));
    if named.is_none() && values.is_given("red_kmax") {
        return problem("red_kmax", "says nothing without `marking`", "write marking = \"red\" beside it");
    }
    if named != Some(DESCRIPTOR.name) {
        return Ok(());
    }
    let least = values.marks_if_set("mark").unwrap_or(Marks { host: None, uplink: None });
    let of_links = || graph.links.iter().filter_map(|link| Some((link.to < graph.hosts, link.mark?)));
    let of_all = [(true, least.host), (false, least.uplink)].into_iter().filter_map(|(host, mark)| Some((host, mark?)));
    let all: Vec<(bool, Amount)> = of_all.chain(of_links()).collect();
    if all.is_empty() {
        return problem(KEY.name, "`red` needs Kmin, which is the key `mark`", "write mark = \"100 KB\"");
    }
    let Some(most) = values.marks_if_set("red_kmax") else {
        return problem(KEY.name, "`red` needs Kmax", "write red_kmax = \"400 KB\"");
    };
    for (to_host, least) in all {
        match (least, if to_host { most.host } else { most.uplink }) {
            (_, None) => {
                let kind = if to_host { "host" } else { "uplink" };
                let message = format!("`mark` is {least} at ports of kind `{kind}`, where `red_kmax` has no value");
                return problem("red_kmax", &message, &format!("write {kind} = \"{least}\" or more"));
            }
            (Amount::Packets(least), Some(Amount::Packets(most)))
            | (Amount::Bytes(least), Some(Amount::Bytes(most)))
                if least <= most => {}
            (Amount::Packets(_), Some(Amount::Packets(most))) | (Amount::Bytes(_), Some(Amount::Bytes(most))) => {
                let message = format!("Kmax is below Kmin: {least} in `mark`");
                let unit = if matches!(least, Amount::Packets(_)) { " packets" } else { " B" };
                let hint = format!("write at least {least}, or a `mark` of at most {most}{unit}");
                return problem("red_kmax", &message, &hint);
            }
            (_, Some(most)) => {
                let message = format!("Kmax is {most} and `mark`, which is Kmin, {least}");
                return problem("red_kmax", &message, "count both in packets, or both in bytes");
            }
        }
    }
    Ok(())
}

/// The marker of one port.
struct Red {
    /// Kmin and Kmax, in packets or in bytes.
    min: Level,
    max: u64,
    pmax: f64,
    weight: f64,
    /// The average length of the queue, and the end of the transmission behind which it was empty, if it was.
    average: f64,
    idle_from: Option<Instant>,
    rate: Rate,
    draws: Stream,
}

impl Red {
    fn from_values(values: &Values, site: &Site) -> Red {
        let most = values.marks_if_set("red_kmax").unwrap_or(Marks { host: None, uplink: None });
        Red {
            min: site.mark,
            max: Level::from(if site.to_host { most.host } else { most.uplink }).value,
            pmax: values.number("red_pmax"),
            weight: values.number("red_weight"),
            average: 0.0,
            idle_from: None,
            rate: site.rate,
            draws: Stream::new(site.seed, "red", site.link.index() as u64),
        }
    }

    /// Returns the average with a packet's queue. For the time in which the port was idle, as many empty
    /// queues count as packets of its size could have been sent (Floyd and Jacobson 1993, 4).
    fn averaged(&mut self, packet: &Packet, length: u64, now: Instant) -> f64 {
        if let Some(from) = self.idle_from.take_if(|from| *from <= now) {
            let each = self.rate.transmission().of(Bytes(packet.size.into())).0.max(1);
            self.average *= libm::pow(1.0 - self.weight, (now - from).0 as f64 / each as f64);
        }
        self.average += self.weight * (length as f64 - self.average);
        self.average
    }
}

impl Marker for Red {
    fn decides(&mut self, packet: &Packet, queue: Length, now: Instant) -> bool {
        let length = if self.min.in_bytes { queue.bytes } else { queue.packets };
        let length = if self.weight < 1.0 { self.averaged(packet, length, now) } else { length as f64 };
        let (min, max) = (self.min.value as f64, self.max as f64);
        length > max || length > min && self.draws.unit() < self.pmax * (length - min) / (max - min)
    }

    fn departs(&mut self, packet: &Packet, behind: Length, now: Instant) -> bool {
        let empty = self.weight < 1.0 && behind.packets == 0;
        self.idle_from = empty.then(|| now + self.rate.transmission().of(Bytes(packet.size.into())));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::Flags;
    use units::{LinkId, Span, Value};

    fn red(seed: u64, link: u32, weight: f64) -> Red {
        let mut values = Values::default();
        let most = |packets| Some(Amount::Packets(packets));
        values.set("red_kmax", Value::Marks(Marks { host: most(40), uplink: most(80) }));
        values.set("red_pmax", Value::Number(0.2));
        values.set("red_weight", Value::Number(weight));
        let mark = Level::share(Amount::Packets(10), 1);
        let (rate, to_host) = (Rate::from_gbps(1), true);
        Red::from_values(&values, &Site { rate, mark, to_host, link: LinkId(link), seed })
    }

    fn packet() -> Packet {
        Packet::data(0, 1460, 40, Instant::ZERO, Flags::ECT)
    }

    /// Returns the share of marks among 100 000 packets that find the queue that long.
    fn share(red: &mut Red, packets: u64) -> f64 {
        let with_it = Length { packets, bytes: 1500 * packets };
        (0..100_000).filter(|_| red.decides(&packet(), with_it, Instant::ZERO)).count() as f64 / 1e5
    }

    /// Four standard deviations of a share of 100 000 are at most 4 x 0.5 / sqrt(1e5) = 0.0063.
    #[test]
    fn the_probability_rises_from_kmin_to_pmax_at_kmax_and_is_one_above() {
        let mut red = red(1, 0, 1.0);
        for (packets, expected) in [(9, 0.0), (10, 0.0), (41, 1.0), (1000, 1.0)] {
            assert_eq!(share(&mut red, packets), expected, "{packets}");
        }
        for (packets, expected) in [(11, 0.2 / 30.0), (25, 0.1), (40, 0.2)] {
            let (found, deviation) = (share(&mut red, packets), f64::sqrt(expected * (1.0 - expected) / 1e5));
            assert!((found - expected).abs() < 4.0 * deviation, "{packets}: {found}");
        }
    }

    #[test]
    fn between_switches_kmax_is_that_of_uplinks() {
        let mut values = Values::default();
        values.set("red_kmax", Value::Marks(Marks { host: None, uplink: Some(Amount::Bytes(3000)) }));
        values.set("red_pmax", Value::Number(0.0));
        values.set("red_weight", Value::Number(1.0));
        let mark = Level::share(Amount::Bytes(1000), 1);
        let (rate, to_host) = (Rate::from_gbps(1), false);
        let mut red = Red::from_values(&values, &Site { rate, mark, to_host, link: LinkId(0), seed: 1 });
        let marks = |bytes| red.decides(&packet(), Length { packets: 1, bytes }, Instant::ZERO);
        assert_eq!([1000, 3000, 3001].map(marks), [false, false, true], "bytes count");
    }

    #[test]
    fn ports_and_seeds_draw_of_their_own_and_the_same_again() {
        let with_it = Length { packets: 40, bytes: 60_000 };
        let drawn = |seed, link| {
            let mut red = red(seed, link, 1.0);
            (0..200).map(|_| red.decides(&packet(), with_it, Instant::ZERO)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 0), drawn(1, 0));
        assert!(drawn(1, 0) != drawn(1, 1) && drawn(1, 0) != drawn(2, 0));
    }

    /// With a weight of 1/2, queues of 8, 8 and 8 average 4, 6 and 7. A packet of 1500 B takes 12 us: after 24 us
    /// without any the average is a quarter.
    #[test]
    fn an_average_follows_the_queue_and_falls_while_there_is_none() {
        let mut red = red(1, 0, 0.5);
        let averages = [0, 0, 0].map(|_| red.averaged(&packet(), 8, Instant::ZERO));
        assert_eq!(averages, [4.0, 6.0, 7.0]);
        let one = Length { packets: 1, bytes: 1500 };
        red.departs(&packet(), one, Instant::ZERO);
        assert_eq!(red.averaged(&packet(), 7, Instant::from_millis(1)), 7.0, "one was queued");
        red.departs(&packet(), Length::default(), Instant::from_millis(2));
        // The transmission ends after 12 us.
        let at = Instant::from_millis(2) + Span::from_micros(36);
        assert_eq!(red.averaged(&packet(), 1, at), (7.0 / 4.0 + 1.0) / 2.0);
        // Until then the port is not idle.
        red.departs(&packet(), Length::default(), at);
        assert_eq!(red.averaged(&packet(), 1, at + Span::from_micros(11)), (1.375 + 1.0) / 2.0);
        // At its very end it has been idle for no time, and is not any more.
        assert_eq!(red.averaged(&packet(), 1, at + Span::from_micros(12)), (1.1875 + 1.0) / 2.0);
        assert_eq!(red.averaged(&packet(), 1, at + Span::from_micros(36)), (1.09375 + 1.0) / 2.0);
    }

    /// A packet without bytes counts as if it took a picosecond: three of these leave an eighth.
    #[test]
    fn packets_without_bytes_take_a_picosecond_of_an_idle_time() {
        let (mut red, none) = (red(1, 0, 0.5), Packet { size: 0, ..packet() });
        assert_eq!(red.averaged(&none, 8, Instant::ZERO), 4.0);
        red.departs(&none, Length::default(), Instant::ZERO);
        assert_eq!(red.averaged(&none, 0, Instant(3)), 4.0 / 8.0 / 2.0);
    }

    /// A queue of 41 is above Kmax, but its average is 20.5: marked with 7 %.
    #[test]
    fn an_average_decides_in_place_of_the_queue() {
        let with_it = Length { packets: 41, bytes: 61_500 };
        let marked = (0..100).filter(|seed| red(*seed, 0, 0.5).decides(&packet(), with_it, Instant::ZERO)).count();
        assert!((1..25).contains(&marked), "{marked}");
    }

    /// At departure: queues of 8, 8 and 0 packets behind average 4, 6 and 3 with a weight of 1/2. The last leaves the port
    /// idle after 12 us, and 24 us later a quarter is left, of which the next packet, with nothing behind it, takes half.
    #[test]
    fn an_average_of_departures_takes_the_queue_before_the_port_is_idle() {
        let mut red = red(1, 0, 0.5);
        let mut leaves = |packets, at| {
            let behind = Length { packets, bytes: 1500 * packets };
            red.decides(&packet(), behind, at);
            red.departs(&packet(), behind, at);
            red.average
        };
        let micros = Instant::from_micros;
        assert_eq!([(8, 0), (8, 12), (0, 24)].map(|(packets, at)| leaves(packets, micros(at))), [4.0, 6.0, 3.0]);
        assert_eq!(leaves(0, micros(24 + 12 + 24)), 3.0 / 4.0 / 2.0);
    }

    /// Returns the key of the problem with Kmin and Kmax, for ports to hosts and between switches. The second switch has
    /// a link to the first, whose own threshold may be set.
    fn problem(mark: Option<Marks>, most: Option<Marks>, of_link: Option<(usize, Amount)>) -> Option<Problem> {
        let mut values = Values::default();
        values.set(KEY.name, Value::Choice("red"));
        mark.into_iter().for_each(|mark| values.set("mark", Value::Marks(mark)));
        most.into_iter().for_each(|most| values.set("red_kmax", Value::Marks(most)));
        let mut graph = Graph::new(1);
        let [first, second] = ["first", "second"].map(|name| graph.switch(name, false));
        graph.join(0, first, Rate::from_gbps(1), Span::ZERO);
        graph.join(first, second, Rate::from_gbps(1), Span::ZERO);
        of_link.into_iter().for_each(|(link, mark)| graph.links[link].mark = Some(mark));
        check(&values, &graph).err()
    }

    fn key_of(problem: Option<Problem>) -> Option<String> {
        problem.map(|problem| problem.key.into_owned())
    }

    #[test]
    fn kmax_is_not_below_kmin_and_in_its_unit_at_every_port() {
        let (packets, bytes) = (|count| Some(Amount::Packets(count)), |count| Some(Amount::Bytes(count)));
        let at = |host, uplink| Some(Marks { host, uplink });
        let kmax = || Some("red_kmax".to_string());
        let of_all = |mark, most| key_of(problem(mark, most, None));
        assert_eq!(of_all(at(packets(10), packets(20)), at(packets(10), packets(20))), None, "they may be equal");
        assert_eq!(of_all(at(bytes(10), bytes(20)), at(bytes(10), bytes(20))), None);
        assert_eq!(of_all(at(packets(10), packets(20)), at(packets(9), packets(20))), kmax());
        assert_eq!(of_all(at(packets(10), packets(20)), at(packets(10), packets(19))), kmax());
        assert_eq!(of_all(at(bytes(10), bytes(20)), at(bytes(10), bytes(19))), kmax());
        assert_eq!(of_all(at(packets(10), None), at(bytes(90_000), None)), kmax(), "other units");
        assert_eq!(of_all(at(packets(10), packets(10)), at(None, packets(10))), kmax(), "none at hosts");
        assert_eq!(of_all(at(packets(10), packets(10)), at(packets(10), None)), kmax(), "none between switches");
        assert_eq!(of_all(at(packets(10), None), at(packets(10), None)), None, "between switches none is marked");
        assert_eq!(of_all(at(packets(10), None), None), Some(KEY.name.to_string()), "there is none");
    }

    #[test]
    fn problems_with_kmax_name_ports_and_units() {
        let (packets, bytes) = (|count| Some(Amount::Packets(count)), |count| Some(Amount::Bytes(count)));
        let at = |host, uplink| Some(Marks { host, uplink });
        let of = |mark, most| problem(mark, most, None).map(|found| (found.message, found.hint.unwrap_or_default()));
        let shows = |found: Option<(String, String)>, message: &str, hint: &str| {
            let found = found.expect("a problem");
            assert!(found.0.contains(message) && found.1.contains(hint), "{found:?}");
        };
        shows(of(at(packets(10), None), at(None, packets(10))), "of kind `host`", "write host = ");
        shows(of(at(None, packets(10)), at(packets(10), None)), "of kind `uplink`", "write uplink = ");
        shows(of(at(packets(10), None), at(packets(9), None)), "below Kmin", "at most 9 packets");
        shows(of(at(bytes(10), None), at(bytes(9), None)), "below Kmin", "at most 9 B");
        assert_eq!(key_of(problem(None, at(packets(10), packets(10)), None)), Some(KEY.name.to_string()), "no Kmin");
    }

    #[test]
    fn links_with_a_threshold_of_their_own_have_the_kmax_of_their_kind() {
        let most = Some(Marks { host: Some(Amount::Packets(10)), uplink: Some(Amount::Packets(20)) });
        // Links 0 and 1 are of the host, from it and to it, and 2 and 3 between the switches.
        for (link, limit) in [(0, 20), (1, 10), (2, 20), (3, 20)] {
            let with = |mark| key_of(problem(None, most, Some((link, Amount::Packets(mark)))));
            assert_eq!((with(limit), with(limit + 1)), (None, Some("red_kmax".to_string())), "link {link}");
        }
    }

    #[test]
    fn kmax_without_red_is_a_problem() {
        let mut values = Values::default();
        assert!(check(&values, &Graph::new(1)).is_ok());
        values.set("red_kmax", Value::Marks(Marks { host: Some(Amount::Packets(10)), uplink: None }));
        assert_eq!(key_of(check(&values, &Graph::new(1)).err()), Some("red_kmax".to_string()));
        values.set(KEY.name, Value::Choice("threshold"));
        assert!(check(&values, &Graph::new(1)).is_ok(), "of another kind it is not read");
    }
}
