//! `phantom`: a counter that drains more slowly than the link marks before a queue builds (HULL).

use transport::Packet;
use units::{Bytes, Default, Instant, Key, Kind, Problem, Range, Rate, Values};

use super::{AT, Descriptor, KEY, Marker, Site, at_departure};
use crate::fabric::level::Length;
use crate::topology::Graph;

/// Marking by a phantom queue.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "phantom",
    help: "a packet is marked as it leaves when a counter of what has left, which drains at a share of the link's rate, \
           exceeds `phantom_mark`",
    keys: KEYS,
    check,
    marker: |values, site| Box::new(Phantom::from_values(values, site)),
    built_in: false,
};

const KEYS: &[Key] = &[
    Key {
        name: "phantom_drain",
        kind: Kind::Share,
        default: Default::Is("95%"),
        range: Range::above(0.0, 1.0),
        help: "with marking phantom: gamma, the share of the link's rate at which the counter drains",
        source: "HULL: 0.95, which gives 5 % of the bandwidth away for latency",
    },
    Key {
        name: "phantom_mark",
        kind: Kind::Size,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "with marking phantom: a packet that finds the counter above this is marked; when left out, 1 KB at ports of \
               up to 1 Gbps, 3 KB at faster ones, and beyond 10 Gbps in proportion more",
        source: "HULL: 1 KB at 1 Gbps in its testbed, 3 KB at 10 Gbps in its simulations",
    },
];

/// Checks that no other time of its decisions is asked for.
fn check(values: &Values, _: &Graph) -> Result<(), Problem> {
    let named = values.choice_if_set(KEY.name) == Some(DESCRIPTOR.name);
    if named && values.is_given(AT.name) && !at_departure(values) {
        let message = "`phantom` counts what has left a port, and decides at departure";
        return Err(Problem::new(AT.name, message).hint("leave mark_at out"));
    }
    Ok(())
}

/// The phantom queue of one port.
struct Phantom {
    /// Drain rate, in bits per second.
    drains: u128,
    /// Marking threshold, in units of a bit times a picosecond's part of a second.
    above: u128,
    /// Level of the counter, in the same unit.
    level: u128,
    /// Time of the last update of `level`.
    at: Instant,
}

impl Phantom {
    /// Units in a byte: at a rate of r bit/s, r units drain in a picosecond.
    const BYTE: u128 = 8_000_000_000_000;

    fn from_values(values: &Values, site: &Site) -> Phantom {
        let above = match values.find("phantom_mark") {
            Some(_) => values.size("phantom_mark"),
            None if site.rate > Rate::from_gbps(1) => {
                let measured = Rate::from_gbps(10);
                Bytes(3000 * site.rate.max(measured).0 / measured.0)
            }
            None => Bytes(1000),
        };
        let drains = (site.rate.0 as f64 * values.number("phantom_drain")).round().max(1.0) as u128;
        Phantom { drains, above: u128::from(above.0) * Phantom::BYTE, level: 0, at: Instant::ZERO }
    }
}

impl Marker for Phantom {
    fn departs(&mut self, packet: &Packet, _behind: Length, now: Instant) -> bool {
        let drained = u128::from(now.saturating_sub(self.at).0) * self.drains;
        self.level = self.level.saturating_sub(drained);
        self.at = now;
        let marks = self.level > self.above;
        self.level += u128::from(packet.size) * Phantom::BYTE;
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::level::Level;
    use transport::Flags;
    use units::{Span, Value};

    fn phantom(gbps: u64, more: &[(&'static str, Value)]) -> Phantom {
        let mut values = Values::default();
        values.set_default("phantom_drain", Value::Number(0.95));
        more.iter().for_each(|(name, value)| values.set(name, value.clone()));
        Phantom::from_values(&values, &Site::new(Rate::from_gbps(gbps), Level::INFINITE))
    }

    /// Returns the first marked one of `packets` full packets at a distance of `gap`, counted from 0.
    fn first_marked(mut phantom: Phantom, gap: Span, packets: u64) -> Option<u64> {
        let packet = Packet::data(0, 1460, 40, Instant::ZERO, Flags::ECT);
        (0..packets).find(|&number| phantom.departs(&packet, Length::default(), Instant(1) + gap * number))
    }

    #[test]
    fn a_link_in_full_use_is_marked_and_one_below_its_share_is_not() {
        // At 1 Gbit/s a packet takes 12 us, in which 0.95 of it drain: it leaves 75 B. After 14 packets these are 1050
        // B.
        assert_eq!(first_marked(phantom(1, &[]), Span::from_micros(12), 100), Some(14));
        // At 10 Gbit/s the threshold is 3 KB: 41 of 75 B.
        assert_eq!(first_marked(phantom(10, &[]), Span::from_nanos(1200), 100), Some(41));
        // 12 us / 0.95 are 12.6316 us.
        assert_eq!(first_marked(phantom(1, &[]), Span(12_631_579), 100_000), None);
        assert!(first_marked(phantom(1, &[]), Span(12_600_000), 100_000).is_some());
    }

    #[test]
    fn its_keys_say_how_fast_it_drains_and_above_what_it_marks() {
        let drain = ("phantom_drain", Value::Number(0.5));
        assert_eq!(first_marked(phantom(1, &[drain]), Span::from_micros(12), 100), Some(2), "750 B, then 1500");
        let mark = ("phantom_mark", Value::Size(Bytes(150)));
        assert_eq!(first_marked(phantom(1, &[mark]), Span::from_micros(12), 100), Some(3), "150 B are not above 150");
        // A packet alone is not counted before its own decision.
        let none = ("phantom_mark", Value::Size(Bytes(0)));
        assert_eq!(first_marked(phantom(1, &[none]), Span::from_millis(1), 100), None);
    }

    #[test]
    fn threshold_and_drain_are_those_of_the_rate() {
        let of = |rate| {
            let mut values = Values::default();
            values.set_default("phantom_drain", Value::Number(0.95));
            let Phantom { above, drains, .. } = Phantom::from_values(&values, &Site::new(rate, Level::INFINITE));
            (above / Phantom::BYTE, drains)
        };
        assert_eq!(of(Rate::from_gbps(1)), (1000, 950_000_000));
        assert_eq!(of(Rate::from_gbps(2)), (3000, 1_900_000_000));
        assert_eq!([10, 25, 400].map(|gbps| of(Rate::from_gbps(gbps)).0), [3000, 7500, 120_000]);
        // A bit drains in a second at the least.
        assert_eq!(of(Rate(0)), (1000, 1));
    }

    /// It always decides at departure: only another time that is written is a problem.
    #[test]
    fn time_of_marks_may_not_be_arrival() {
        let problem = |marking, mark_at, is_given| {
            let mut values = Values::default();
            values.set(KEY.name, Value::Choice(marking));
            match is_given {
                true => values.set(AT.name, Value::Choice(mark_at)),
                false => values.set_default(AT.name, Value::Choice(mark_at)),
            }
            check(&values, &Graph::new(1)).err().map(|problem| problem.key.into_owned())
        };
        assert_eq!(problem("phantom", "arrival", true).as_deref(), Some("mark_at"));
        assert_eq!(problem("phantom", "arrival", false), None);
        assert_eq!(problem("phantom", "departure", true), None);
        assert_eq!(problem("threshold", "arrival", true), None);
    }
}
