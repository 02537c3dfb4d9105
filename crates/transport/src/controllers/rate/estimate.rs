//! The estimate of the bottleneck's state from marks (MCP 4.1).

use units::Values;

use super::law::price;

/// The rules by which marks become a queue and a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Marks {
    /// K, in full segments.
    threshold: f64,
    empty_when_unmarked: bool,
    growth_of_full_link: bool,
    price_weight: f64,
    load_cap: f64,
}

/// A round trip as observed by its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// F: the marked share of the bytes that arrived.
    pub marked: f64,
    /// W: data sent, in full segments.
    pub window: f64,
    /// C tau, in full segments.
    pub product: f64,
    /// Duration of the round trip, in tau.
    pub rounds: f64,
}

impl Marks {
    /// Reads the checked values of [`ECN`](super::keys::ECN) and [`LAW`](super::keys::LAW).
    pub(super) fn from_values(values: &Values) -> Marks {
        Marks {
            threshold: values.number("threshold"),
            empty_when_unmarked: values.choice("queue_estimate") == "zero-when-unmarked",
            growth_of_full_link: values.choice("load_estimate") == "growth",
            price_weight: values.number("price_weight"),
            load_cap: values.number("load_cap"),
        }
    }

    /// Returns the queue, in full segments: K + F W.
    pub(super) fn queue(&self, round: &Round) -> f64 {
        if round.marked == 0.0 && self.empty_when_unmarked {
            return 0.0;
        }
        self.threshold + round.marked * round.window
    }

    /// Returns the network term, Q + lambda, from the queue estimated now and the one of the round before.
    pub(super) fn network(&self, round: &Round, queue: f64, before: f64) -> f64 {
        let growth = (queue - before) / (round.product * round.rounds);
        let load = if self.growth_of_full_link { 1.0 + growth } else { growth };
        queue / round.product + price(self.price_weight, load, self.load_cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Marks = Marks {
        threshold: 64.0,
        empty_when_unmarked: false,
        growth_of_full_link: false,
        price_weight: 0.01,
        load_cap: 0.9,
    };

    #[test]
    fn the_printed_estimate_by_hand() {
        let round = Round { marked: 0.25, window: 40.0, product: 100.0, rounds: 1.0 };
        assert_eq!(PAPER.queue(&round), 74.0);
        // It grew by 10 of 100: y = 0.1, price 0.01 / 0.81.
        assert!((PAPER.network(&round, 74.0, 64.0) - 0.74 - 0.01 / 0.81).abs() < 1e-12);
        // Nothing marked: K all the same.
        let idle = Round { marked: 0.0, ..round };
        assert_eq!(PAPER.queue(&idle), 64.0);
        assert!((PAPER.network(&idle, 64.0, 64.0) - 0.65).abs() < 1e-12);
    }

    #[test]
    fn an_unmarked_queue_is_empty_and_its_link_is_as_full_as_it_can_be() {
        let marks = Marks { empty_when_unmarked: true, growth_of_full_link: true, ..PAPER };
        let round = Round { marked: 0.0, window: 40.0, product: 100.0, rounds: 1.0 };
        assert_eq!(marks.queue(&round), 0.0);
        assert!((marks.network(&round, 0.0, 0.0) - 0.01 / 0.01).abs() < 1e-9, "a load of 1 is above the cap");
        assert!((marks.network(&round, 0.0, 40.0) - 0.01 / 0.16).abs() < 1e-9, "it was 40 and has gone: 0.6");
        let marked = Round { marked: 0.25, ..round };
        // Shrinking from 90 to 74 in two round trips: y = 1 - 0.08; growing: the cap, 0.9.
        let network = marks.network(&Round { rounds: 2.0, ..marked }, 74.0, 90.0);
        assert!((network - 0.74 - 0.01 / 0.01).abs() < 1e-9, "0.92 is above the cap: {network}");
        let network = marks.network(&marked, 74.0, 94.0);
        assert!((network - 0.74 - 0.01 / 0.04).abs() < 1e-9, "{network}");
    }
}
