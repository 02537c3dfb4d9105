//! `hpcc`: a window by the utilisation of the path's most loaded link.

use units::{Default, Key, Kind, Range, Value, Values};

use super::{HOSTS, KEYS, Law, News, RECORDS, Telemetry};
use crate::connection::{CWND, RATE, SRTT, SSTHRESH};
use crate::{Descriptor, Needs, Signal, Surroundings};

/// The descriptor of HPCC.
pub(super) const DESCRIPTOR: Descriptor<Telemetry> = Descriptor {
    name: "hpcc",
    help: "HPCC: ports write queues and bytes sent into packets, and each ACK sets the window by which the busiest link is used \
           to 95 %",
    source: "Li et al., SIGCOMM 2019, algorithm 1; its ns-3 simulator, where it differs (docs: transports)",
    aliases: &[("w_ai", "additive_increase"), ("wai", "additive_increase"), ("maxStage", "max_stage")],
    groups: &[KEYS, OWN],
    needs: Needs::of(RECORDS, HOSTS).records().settling(settle),
    signals: &[CWND, SSTHRESH, SRTT, RATE, UTILISATION],
    build: |values, connection| {
        let law = Hpcc {
            eta: values.number("eta"),
            max_stage: values.count("max_stage"),
            share: values.number("additive_increase"),
            reference: 0.0,
            utilisation: 1.0,
            stage: 0,
            updated: 0,
        };
        Ok(Telemetry::new(values, connection, Law::Hpcc(law)))
    },
};

/// The utilisation of the most loaded link.
pub(super) const UTILISATION: Signal = Signal {
    name: "utilisation",
    help: "U, the bytes in flight at the path's most loaded link, as a share of what it carries in base_rtt (hpcc)",
    unit: "",
};

/// The flows of a link that the default of W_AI allows for.
const FLOWS: f64 = 100.0;

const OWN: &[Key] = &[
    Key {
        name: "eta",
        kind: Kind::Share,
        default: Default::Is("95%"),
        range: Range::above(0.0, 1.0),
        help: "the utilisation of the most loaded link that it aims at",
        source: "HPCC 3.2, 5.1: 95 %",
    },
    Key {
        name: "max_stage",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(0.0, 1e6),
        help: "round trips of additive increase in a row below eta before one that scales the window by eta / U",
        source: "HPCC 3.2, 5.1: 5; its simulator's run.py: 0",
    },
    Key {
        name: "additive_increase",
        kind: Kind::Share,
        default: Default::Absent,
        range: Range::above(0.0, 1.0),
        help: "W_AI, what each update adds, as a share of what the host's link carries in base_rtt; when left out, (1 - eta) / 100",
        source: "HPCC 3.3: W_init (1 - eta) / N for N flows; 5.1: 80 B of 150 KB; its simulator: 10 Mbps of 25 Gbps",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    super::settle(values, surroundings);
    values.follow("additive_increase", |values| Value::Number((1.0 - values.number("eta")) / FLOWS));
}

/// Algorithm 1 of the paper. Windows are in full packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hpcc {
    eta: f64,
    max_stage: u64,
    /// W_AI as a share of the largest window.
    share: f64,
    /// W^c, the window to which each acknowledgement of a round trip applies; 0 before the first update.
    reference: f64,
    /// U, the average over T of the utilisation of the busiest link.
    utilisation: f64,
    /// Additive increases in a row.
    stage: u64,
    /// The next position to send at the last update of W^c.
    updated: u64,
}

impl Hpcc {
    /// Returns the window after an acknowledgement.
    pub(super) fn window(&mut self, news: &News) -> Option<f64> {
        if self.reference == 0.0 {
            // The first records only begin.
            (self.reference, self.updated) = (news.window, news.next);
            return None;
        }
        let found = news.largest(|pair| pair.sent + pair.shorter_queue)?;
        self.utilisation = news.averaged(self.utilisation, found);
        let added = self.share * news.most;
        let scales = self.utilisation >= self.eta || self.stage >= self.max_stage;
        let scaled = if scales { self.reference * self.eta / self.utilisation } else { self.reference };
        let window = news.within(scaled + added);
        if news.records.end > self.updated {
            self.stage = if scales { 0 } else { self.stage + 1 };
            (self.reference, self.updated) = (window, news.next);
        }
        Some(window)
    }

    /// Begins again with a window.
    pub(super) fn restart(&mut self, window: f64) {
        (self.reference, self.stage) = (window, 0);
    }

    pub(super) fn utilisation(&self) -> f64 {
        self.utilisation
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, FULL, at, near, timeout};
    use crate::controllers::tests::reported;

    /// W_AI is 0.05 % of ten packets.
    const ADDED: f64 = 0.005;

    fn bench() -> Bench {
        Bench::begun("hpcc")
    }

    #[test]
    fn full_link_with_a_queue_scales_the_reference_by_eta_over_u() {
        let mut bench = bench();
        // After 12 us U is just that of the records: 1, and a standing queue of 7500 B is 0.5.
        bench.hear((2920, 16_060), &[at(1, 112, FULL, 7500)]);
        near(bench.hear((4380, 17_520), &[at(1, 124, 2 * FULL, 7500)]), 10.0 * 0.95 / 1.5 + ADDED);
    }

    #[test]
    fn queue_counts_with_the_shorter_of_two_lengths() {
        let mut bench = bench();
        near(bench.hear((2920, 16_060), &[at(1, 112, FULL, 7500)]), 10.0 * 0.95 + ADDED);
        near(bench.hear((4380, 17_520), &[at(1, 124, 2 * FULL, 3000)]), 10.0 * 0.95 / 1.2 + ADDED);
    }

    #[test]
    fn utilisation_is_averaged_over_the_base_round_trip() {
        let mut bench = bench();
        // 3 us at half of the rate: 0.75 x 1 + 0.25 x 0.5. A time beyond T counts as T.
        near(bench.hear((2920, 16_060), &[at(1, 103, FULL / 8, 0)]), 10.0_f64.min(10.0 * 0.95 / 0.875 + ADDED));
        bench.hear((4380, 17_520), &[at(1, 223, FULL / 8 + 12 * FULL, 0)]);
        near(bench.law.0.window, 10.0 * 0.95 / 1.2 + ADDED);
    }

    #[test]
    fn busiest_link_decides() {
        let mut bench = Bench::new("hpcc", &[]);
        bench.hear((1460, 14_600), &[at(1, 100, 0, 0), at(2, 101, 0, 0), at(3, 102, 0, 0)]);
        let records = [at(1, 112, FULL / 2, 0), at(2, 113, FULL, 0), at(3, 114, FULL / 4, 0)];
        near(bench.hear((2920, 16_060), &records), 10.0 * 0.95 + ADDED);
    }

    #[test]
    fn acknowledgements_of_a_round_trip_apply_to_one_reference() {
        let mut bench = bench();
        // Data up to 14 600 was sent with the first window: two acknowledgements of it are no two cuts.
        let cut = 10.0 * 0.95 + ADDED;
        near(bench.hear((2920, 16_060), &[at(1, 112, FULL, 0)]), cut);
        near(bench.hear((4380, 17_520), &[at(1, 124, 2 * FULL, 0)]), cut);
        near(bench.hear((14_600, 27_740), &[at(1, 130, 2 * FULL + FULL / 2, 0)]), cut);
        // The one beyond that updates the reference; the next applies to it.
        near(bench.hear((16_060, 29_200), &[at(1, 136, 3 * FULL, 0)]), cut);
        near(bench.hear((17_520, 30_660), &[at(1, 148, 4 * FULL, 0)]), cut * 0.95 + ADDED);
    }

    #[test]
    fn five_additive_increases_precede_a_multiplicative_one() {
        let mut bench = Bench::new("hpcc", &[("initial_window", "2")]);
        let mut sent = 0;
        let mut found = Vec::new();
        for round in 0..8 {
            // Each acknowledgement is of data sent after the last update; a fifth of the link is used.
            sent += FULL / 5;
            let next = (round + 1) * 10_000;
            found.push(bench.hear((next - 1, next), &[at(1, 100 + 12 * round, sent, 0)]));
        }
        let mut expected = vec![2.0];
        (1..=5).for_each(|stage| expected.push(2.0 + f64::from(stage) * ADDED));
        expected.push((2.0 + 5.0 * ADDED) * 0.95 / 0.2 + ADDED);
        expected.push(expected[6] + ADDED);
        found.iter().zip(expected).for_each(|(found, expected)| near(*found, expected));
    }

    #[test]
    fn multiplicative_step_begins_a_new_row_of_additive_ones() {
        let mut bench = Bench::new("hpcc", &[("initial_window", "2"), ("max_stage", "1")]);
        let mut sent = 0;
        let mut round = |bench: &mut Bench, number: u64, bytes| {
            sent += bytes;
            let next = number * 10_000;
            bench.hear((next - 1, next), &[at(1, 100 + 12 * number, sent, 0)])
        };
        round(&mut bench, 1, 0);
        // 95 % of the link are eta, of which there is nothing to change.
        near(round(&mut bench, 2, 14_250), 2.0 + ADDED);
        near(round(&mut bench, 3, FULL / 5), 2.0 + 2.0 * ADDED);
        let scaled = (2.0 + 2.0 * ADDED) * 0.95 / 0.2 + ADDED;
        near(round(&mut bench, 4, FULL / 5), scaled);
        near(round(&mut bench, 5, FULL / 5), scaled + ADDED);
        // A timeout begins a new one too, from a window of one packet.
        timeout(&mut bench);
        near(round(&mut bench, 6, FULL / 5), 1.0 + ADDED);
    }

    #[test]
    fn rate_and_utilisation_are_reported() {
        let mut bench = bench();
        bench.hear((2920, 16_060), &[at(1, 106, FULL / 4, 0)]);
        // It begins with 1, of which half is left after half of T; the other half is at half of the link.
        let [rate, utilisation] = reported(&bench.law, &bench.window, ["rate", "utilisation"]).map(Option::unwrap);
        near(rate, 10_000.0);
        near(utilisation, 0.75);
    }

    #[test]
    fn of_ports_with_the_same_utilisation_the_first_decides() {
        let mut bench = Bench::new("hpcc", &[]);
        bench.hear((1460, 14_600), &[at(1, 100, 0, 0), at(2, 106, 0, 0)]);
        // Both are at half of their links, the first for the whole of T.
        bench.hear((2920, 16_060), &[at(1, 112, FULL / 2, 0), at(2, 112, FULL / 4, 0)]);
        assert_eq!(reported(&bench.law, &bench.window, ["utilisation"]), [Some(0.5)]);
    }

    #[test]
    fn window_stays_within_its_limits() {
        let mut bench = Bench::new("hpcc", &[("cwnd_floor", "0.5"), ("max_stage", "0")]);
        bench.hear((1460, 14_600), &[at(1, 100, 0, 0)]);
        near(bench.hear((2920, 16_060), &[at(1, 112, 1, 0)]), 10.0);
        bench.hear((4380, 17_520), &[at(1, 124, FULL, 3_000_000)]);
        near(bench.hear((5840, 18_980), &[at(1, 136, 2 * FULL, 3_000_000)]), 0.5);
    }

    #[test]
    fn increase_follows_from_eta() {
        let mut bench = Bench::new("hpcc", &[("eta", "90%")]);
        bench.hear((1460, 14_600), &[at(1, 100, 0, 0)]);
        near(bench.hear((2920, 16_060), &[at(1, 112, FULL, 0)]), 10.0 * 0.9 + 0.01);
    }
}
