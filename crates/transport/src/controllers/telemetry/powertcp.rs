//! `powertcp`: a window by the power of the path's most loaded link.

use std::collections::VecDeque;

use units::{Default, Key, Kind, Range};

use super::{HOSTS, KEYS, Law, News, RECORDS, Telemetry, settle};
use crate::connection::{CWND, RATE, SRTT, SSTHRESH};
use crate::{Descriptor, Needs, Signal};

/// The descriptor of PowerTCP.
pub(super) const DESCRIPTOR: Descriptor<Telemetry> = Descriptor {
    name: "powertcp",
    help: "PowerTCP: ports write queues and bytes sent into packets, and each ACK divides the window by the power of the \
           busiest link: its arrivals times its queue and wire",
    source: "Addanki, Michel, Schmid, NSDI 2022, algorithm 1; its ns-3 simulator, where it differs (docs: transports)",
    aliases: &[("beta", "additive_increase"), ("tau", "base_rtt")],
    groups: &[KEYS, OWN],
    needs: Needs::of(RECORDS, HOSTS).records().settling(settle),
    signals: &[CWND, SSTHRESH, SRTT, RATE, POWER],
    build: |values, connection| {
        let law = Powertcp {
            gamma: values.number("gamma"),
            share: values.number("additive_increase"),
            current_floor: values.number("current_floor"),
            power: 1.0,
            windows: VecDeque::new(),
        };
        Ok(Telemetry::new(values, connection, Law::Powertcp(law)))
    },
};

/// The power of the most loaded link.
pub(super) const POWER: Signal = Signal {
    name: "power",
    help: "the normalised power of the path's most loaded link, averaged over base_rtt: 1 if it is full without a queue \
           (powertcp)",
    unit: "",
};

const OWN: &[Key] = &[
    Key {
        name: "gamma",
        kind: Kind::Number,
        default: Default::Is("0.9"),
        range: Range::above(0.0, 1.0),
        help: "the weight of what an ACK asks for in the new window",
        source: "PowerTCP 3.3: 0.9",
    },
    Key {
        name: "additive_increase",
        kind: Kind::Share,
        default: Default::Is("0.6%"),
        range: Range::above(0.0, 1.0),
        help: "beta, what each update adds, as a share of what the host's link carries in base_rtt: in the steady state the \
               queue is the sum of it over all flows",
        source: "PowerTCP 3.3: 1/N for N flows of a host, and no number; its simulator: 150 Mbps of 25 Gbps",
    },
    Key {
        name: "current_floor",
        kind: Kind::Share,
        default: Default::Is("50%"),
        range: Range::above(0.0, 1.0),
        help: "the least rate of arrivals that counts, as a share of the link: while a queue drains without arrivals power would \
               be 0, and the window without limit",
        source: "none in the paper; its simulator: 50 %",
    },
];

/// Algorithm 1 of the paper. Windows are in full packets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Powertcp {
    gamma: f64,
    /// beta as a share of the largest window.
    share: f64,
    current_floor: f64,
    /// The smoothed normalised power.
    power: f64,
    /// The windows in force since the oldest data in flight was sent, each with the position from which on it applied;
    /// the first from 0 on.
    windows: VecDeque<(u64, f64)>,
}

impl Powertcp {
    /// Returns the window after an acknowledgement.
    pub(super) fn window(&mut self, news: &News) -> Option<f64> {
        if self.windows.is_empty() {
            self.restart(news.window);
        }
        let before = self.window_of(news.records.end, news.window);
        let found = news.largest(|pair| (pair.growth + pair.sent).max(self.current_floor) * (1.0 + pair.queued))?;
        self.power = news.averaged(self.power, found);
        let asked = before / self.power + self.share * news.most;
        let window = news.within(self.gamma * asked + (1.0 - self.gamma) * news.window);
        self.remember(news.next, window);
        Some(window)
    }

    /// Returns the window in force when the data that ends at a position was sent, and forgets older ones.
    fn window_of(&mut self, end: u64, present: f64) -> f64 {
        while self.windows.get(1).is_some_and(|(from, _)| *from < end) {
            self.windows.pop_front();
        }
        self.windows.front().map_or(present, |(_, window)| *window)
    }

    /// Records a window for the data from a position on. After a timeout positions are sent again.
    fn remember(&mut self, next: u64, window: f64) {
        while self.windows.back().is_some_and(|(from, _)| *from >= next) {
            self.windows.pop_back();
        }
        self.windows.push_back((next, window));
    }

    /// Begins again with a window.
    pub(super) fn restart(&mut self, window: f64) {
        self.windows.clear();
        self.windows.push_back((0, window));
    }

    pub(super) fn power(&self) -> f64 {
        self.power
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, FULL, at, near, timeout};
    use super::Powertcp;
    use crate::controllers::telemetry::{Law, Telemetry};
    use crate::controllers::tests::reported;

    /// beta is 0.6 % of ten packets.
    const BETA: f64 = 0.06;

    fn bench() -> Bench {
        Bench::begun("powertcp")
    }

    fn law(bench: &mut Bench) -> &mut Powertcp {
        let Telemetry(state) = &mut bench.law;
        let Law::Powertcp(law) = &mut state.law else { panic!("another law") };
        law
    }

    #[test]
    fn power_is_arrivals_times_queue_and_wire() {
        let mut bench = bench();
        // 1.2 of the link arrives, of which 0.2 stays: 3000 B, a fifth of the wire. 1.2 x 1.2.
        let window = bench.hear((2920, 16_060), &[at(1, 112, FULL, 3000)]);
        near(law(&mut bench).power, 1.44);
        assert_eq!(reported(&bench.law, &bench.window, ["power"]), [Some(law(&mut bench).power)]);
        near(window, 0.9 * (10.0 / 1.44 + BETA) + 0.1 * 10.0);
        // It drains by 0.25 of what the link sends: 0.75 x 1.
        let drained = at(1, 118, FULL + FULL / 2, 3000 - 1875);
        bench.hear((4380, 17_520), &[drained]);
        // Half of a base round trip counts half.
        near(law(&mut bench).power, (1.44 + 0.75 * 1.075) / 2.0);
    }

    #[test]
    fn link_with_the_largest_power_decides() {
        let mut bench = Bench::new("powertcp", &[]);
        bench.hear((1460, 14_600), &[at(1, 100, 0, 0), at(2, 101, 0, 7500)]);
        bench.hear((2920, 16_060), &[at(1, 112, FULL, 0), at(2, 113, FULL, 7500)]);
        near(law(&mut bench).power, 1.5);
    }

    #[test]
    fn current_has_a_floor_while_a_queue_drains() {
        let mut bench = bench();
        bench.hear((2920, 16_060), &[at(1, 112, FULL, 30_000)]);
        // Nothing arrives: half of the link times (1 + 1).
        bench.hear((4380, 17_520), &[at(1, 124, 2 * FULL, 15_000)]);
        near(law(&mut bench).power, 1.0);
    }

    #[test]
    fn window_of_the_time_of_sending_is_divided() {
        let mut bench = bench();
        let first = 0.9 * (10.0 / 1.5 + BETA) + 0.1 * 10.0;
        // A standing queue of half of the wire; data up to 16 060 was sent with ten packets.
        let mut us = 112;
        let mut step = |bench: &mut Bench, ends: (u64, u64)| {
            us += 12;
            bench.hear(ends, &[at(1, us, FULL * (us - 100) / 12, 7500)])
        };
        step(&mut bench, (1461, 14_600));
        bench.law.0.window = 10.0;
        law(&mut bench).restart(10.0);
        near(step(&mut bench, (2920, 16_060)), first);
        let second = 0.9 * (10.0 / 1.5 + BETA) + 0.1 * first;
        near(step(&mut bench, (4380, 17_520)), second);
        // The first byte from 16 060 on was sent with the first window, that from 17 520 on with the second.
        let third = 0.9 * (first / 1.5 + BETA) + 0.1 * second;
        near(step(&mut bench, (16_061, 29_200)), third);
        near(step(&mut bench, (17_521, 30_660)), 0.9 * (second / 1.5 + BETA) + 0.1 * third);
    }

    #[test]
    fn data_that_ends_where_a_window_begins_has_the_one_before() {
        let mut bench = bench();
        let first = bench.hear((2920, 16_060), &[at(1, 112, FULL, 7500)]);
        let second = bench.hear((16_060, 29_200), &[at(1, 124, 2 * FULL, 7500)]);
        near(second, 0.9 * (10.0 / 1.5 + BETA) + 0.1 * first);
        // After a timeout there is only the window of one packet.
        timeout(&mut bench);
        near(bench.hear((17_520, 30_660), &[at(1, 136, 3 * FULL, 7500)]), 0.9 * (1.0 / 1.5 + BETA) + 0.1);
    }

    #[test]
    fn positions_that_are_sent_again_have_the_new_window() {
        let mut bench = bench();
        bench.hear((2920, 16_060), &[at(1, 112, FULL, 7500)]);
        bench.hear((4380, 17_520), &[at(1, 124, 2 * FULL, 7500)]);
        bench.hear((4380, 16_060), &[at(1, 136, 3 * FULL, 7500)]);
        let windows = &law(&mut bench).windows;
        assert_eq!((windows.len(), windows[0].0, windows[1].0), (2, 0, 16_060));
    }

    #[test]
    fn gamma_weighs_the_new_window() {
        let mut bench = Bench::new("powertcp", &[("gamma", "0.5"), ("additive_increase", "10%")]);
        bench.hear((1460, 14_600), &[at(1, 100, 0, 0)]);
        let window = bench.hear((2920, 16_060), &[at(1, 112, FULL, 15_000)]);
        // Twice the link arrives, into a queue as long as the wire: 2 x 2.
        near(window, 0.5 * (10.0 / 4.0 + 1.0) + 0.5 * 10.0);
    }
}
