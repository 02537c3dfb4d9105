//! `timely`: a rate that follows the gradient of the round-trip time, between two thresholds.

use units::{Default, Instant, Key, Kind, Problem, Range, Rate, Span, Value, Values};

use super::delay::{self, DELAY};
use super::in_flight::Bound;
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::connection::{self, RATE};
use crate::{Advice, Descriptor, Needs, Observation, Regime, Signal, Site, Surroundings};

/// The descriptor of TIMELY.
pub(super) const DESCRIPTOR: Descriptor<Timely> = Descriptor {
    name: "timely",
    help: "TIMELY: paces at a rate that rises while the round-trip time falls and is cut by its gradient; below T_low it \
           always rises, above T_high it is always cut",
    source: "Mittal et al., SIGCOMM 2015; HPCC's ns-3 simulator",
    aliases: &[("T_low", "t_low"), ("T_high", "t_high"), ("delta", "add_step"), ("alpha", "gradient_weight")],
    groups: &[KEYS, delay::KEYS],
    needs: Needs::of(
        "queues that hold T_high without a loss: the paper's network is lossless",
        "a timestamp on each packet, and pacing",
    )
    .made_for(&[DEEP_BUFFERS])
    .settling(settle),
    signals: &[RATE, DELAY, GRADIENT],
    build: |values, connection| build(values, connection),
};

/// The normalised gradient of the round-trip time.
const GRADIENT: Signal = Signal {
    name: "gradient",
    help: "the smoothed difference of successive round-trip times over min_rtt (timely)",
    unit: "",
};

/// T_low, T_high and the step of the paper for 10 Gbps and a minimum of 20 us, as multiples.
const LOW_ROUND_TRIPS: f64 = 50.0 / 20.0;
const HIGH_ROUND_TRIPS: f64 = 500.0 / 20.0;
const STEPS_PER_LINK: u64 = 1000;

/// Below T_low it only rises, so a port that holds less than T_low drops whatever it does.
const DEEP_BUFFERS: Regime = Regime {
    key: "buffer",
    source: "TIMELY 4.3 with T_low = 50 us, 5.1: RDMA over a lossless network",
    outside: |conditions| {
        let least = (LOW_ROUND_TRIPS - 1.0) * conditions.bandwidth_delay();
        conditions.port_limit.filter(|limit| *limit < least).map(|limit| Advice {
            reason: format!(
                "a port holds {limit:.0} B, less than the {least:.0} B of a round trip at T_low, below which every rate \
                 rises: losses come first, of which its paper has none"
            ),
            write: format!("buffer = \"{:.0} B\" or more", least.ceil()),
        })
    },
};

/// Parameters of its own.
const KEYS: &[Key] = &[
    Key {
        name: "t_low",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the round-trip time below which the rate rises whatever the gradient; when left out, 2.5 times min_rtt",
        source: "TIMELY 4.3, 5.1: 50 us, at a minimum of 20 us",
    },
    Key {
        name: "t_high",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the round-trip time above which the rate is cut whatever the gradient, by beta (1 - t_high / RTT); when \
               left out, 25 times min_rtt",
        source: "TIMELY 4.3, 5.1: 500 us, at a minimum of 20 us",
    },
    Key {
        name: "min_rtt",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the time by which the gradient is normalised; when left out, the network's longest round trip without queues",
        source: "TIMELY 4.2, 4.3 (D_minRTT): 20 us, a constant",
    },
    Key {
        name: "add_step",
        kind: Kind::Rate,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "delta, what one increase adds to the rate; when left out, a thousandth of a host's link",
        source: "TIMELY 5.1 and HPCC's simulator: 10 Mbps per 10 Gbps",
    },
    Key {
        name: "beta",
        kind: Kind::Number,
        default: Default::Is("0.8"),
        range: Range::above(0.0, 1.0),
        help: "the factor of a cut: of the gradient, or of what the round-trip time is above t_high",
        source: "TIMELY 4.3, 5.1: 0.8",
    },
    Key {
        name: "gradient_weight",
        kind: Kind::Number,
        default: Default::Is("0.875"),
        range: Range::above(0.0, 1.0),
        help: "weight of the last difference of round-trip times in the smoothed one",
        source: "TIMELY 4.2 (alpha); Zhu et al., CoNEXT 2016, table 1, and HPCC's simulator: 0.875",
    },
    Key {
        name: "hai_after",
        kind: Kind::Count,
        default: Default::Is("5"),
        range: Range::between(1.0, 1e6),
        help: "increases in a row by the gradient from which on each adds hai_steps of delta",
        source: "TIMELY 4.3 (hyperactive increase): 5 completion events",
    },
    Key {
        name: "hai_steps",
        kind: Kind::Number,
        default: Default::Is("5"),
        range: Range::between(1.0, 1e6),
        help: "N, by which delta is multiplied in hyperactive increase",
        source: "TIMELY 4.3: 5",
    },
    Key {
        name: "hai_below_t_low",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "whether increases below t_low count for hyperactive increase and are multiplied too",
        source: "TIMELY, algorithm 1: no; HPCC's simulator: yes",
    },
    Key {
        name: "segment",
        kind: Kind::Size,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "the acknowledged payload from one change of the rate to the next; when left out, what is in flight, so that \
               there is one change per round trip",
        source: "TIMELY 3.1: one completion for 16 to 64 KB, about a round trip at 10 Gbps; HPCC's simulator: per round trip",
    },
    Key {
        name: "initial_rate",
        kind: Kind::Share,
        default: Default::Is("100%"),
        range: Range::above(0.0, 1.0),
        help: "the first rate, as a share of the sender's link",
        source: "HPCC's simulator; TIMELY 4.3: C/(N+1) with N flows at the host, which a flow does not know here",
    },
    Key {
        name: "least_rate",
        kind: Kind::Share,
        default: Default::Is("1%"),
        range: Range::above(0.0, 1.0),
        help: "the least rate, as a share of the sender's link",
        source: "open in the paper; HPCC's simulator: 1 Gbps at 100 Gbps. A gradient above 1.25, as of a burst into an empty \
                 queue, cuts to it",
    },
    Key {
        name: "window",
        kind: Kind::Choice(&["fixed", "scaled", "none"]),
        default: Default::Is("fixed"),
        range: Range::ANY,
        help: "what bounds the data in flight beside the rate: the bandwidth-delay product, the same as the rate's share \
               of the link, or nothing",
        source: "TIMELY 4.1: none, in a lossless network; HPCC's simulator: none, or scaled (timely_vwin)",
    },
    Key {
        name: "loss_cut",
        kind: Kind::Number,
        default: Default::Is("0.5"),
        range: Range::between(0.0, 0.99),
        help: "the share of the rate that a loss takes, once per recovery and at each timeout",
        source: "our choice: the paper has no losses, and a rate that no loss cuts never lets a full port drain",
    },
];

fn settle(values: &mut Values, surroundings: &Surroundings) {
    let base = surroundings.round_trip_of(connection::packet(values));
    values.follow("min_rtt", |_| Value::Time(base));
    values.follow("t_low", |values| Value::Time(delay::times(values.time("min_rtt"), LOW_ROUND_TRIPS)));
    values.follow("t_high", |values| Value::Time(delay::times(values.time("min_rtt"), HIGH_ROUND_TRIPS)));
    values.follow("add_step", |_| Value::Rate(Rate((surroundings.line_rate.0 / STEPS_PER_LINK).max(1))));
}

fn build(values: &Values, connection: &connection::Config) -> Result<Timely, Problem> {
    let (low, high) = (values.time("t_low"), values.time("t_high"));
    if low > high {
        let key = if values.is_given("t_high") { "t_high" } else { "t_low" };
        return Err(Problem::new(key, format!("`t_low` ({low}) is above `t_high` ({high})")));
    }
    let time = |key| values.time(key).0 as f64;
    Ok(Timely(Box::new(State {
        rules: Rules {
            t_low: time("t_low"),
            t_high: time("t_high"),
            min_rtt: time("min_rtt"),
            step: values.rate("add_step").as_bps_f64(),
            beta: values.number("beta"),
            weight: values.number("gradient_weight"),
            hai_after: values.count("hai_after"),
            hai_steps: values.number("hai_steps"),
            hai_below: values.bool("hai_below_t_low"),
            segment: values.find("segment").map(|_| values.size("segment").0),
            initial: values.number("initial_rate"),
            least: values.number("least_rate"),
            bound: Bound::from_values(values, connection, values.time("min_rtt")),
            loss_cut: values.number("loss_cut"),
        },
        line: 0.0,
        rate: 0.0,
        last: None,
        difference: 0.0,
        increases: 0,
        arrived: 0,
        due: 0,
    })))
}

/// Paces by the gradient of the round-trip time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timely(Box<State>);

#[derive(Clone, Debug, PartialEq)]
struct State {
    rules: Rules,
    /// The rate of the sender's link, in bit/s.
    line: f64,
    /// The rate in force, in bit/s with headers; 0 before the first message.
    rate: f64,
    /// The round-trip time at the last update.
    last: Option<Span>,
    /// The smoothed difference of successive round-trip times, in picoseconds.
    difference: f64,
    /// Increases in a row that count for hyperactive increase.
    increases: u64,
    /// Payload that has arrived since the last update, and how much makes the next one due.
    arrived: u64,
    due: u64,
}

/// Times are in picoseconds, rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rules {
    t_low: f64,
    t_high: f64,
    min_rtt: f64,
    step: f64,
    beta: f64,
    weight: f64,
    hai_after: u64,
    hai_steps: f64,
    hai_below: bool,
    segment: Option<u64>,
    initial: f64,
    least: f64,
    bound: Bound,
    loss_cut: f64,
}

impl State {
    /// Handles an acknowledgement: updates the rate once a segment or a round trip has been acknowledged.
    #[inline(never)]
    fn hear(&mut self, window: &mut Cwnd, ack: &Acked) {
        self.arrived += ack.bytes;
        let Some(sample) = ack.sample.filter(|_| self.arrived >= self.due) else { return };
        self.arrived = 0;
        self.due = self.rules.segment.unwrap_or(ack.next - ack.una);
        if let Some(last) = self.last.replace(sample) {
            self.update(sample.0 as f64, sample.0 as f64 - last.0 as f64);
            self.bound(window);
        }
    }

    /// Updates the rate (algorithm 1) by a round-trip time and its difference to the last one.
    fn update(&mut self, rtt: f64, difference: f64) {
        let rules = self.rules;
        self.difference = (1.0 - rules.weight) * self.difference + rules.weight * difference;
        let gradient = self.difference / rules.min_rtt;
        let rate = if rtt < rules.t_low {
            self.increases = if rules.hai_below { self.increases + 1 } else { 0 };
            self.increased()
        } else if rtt > rules.t_high {
            self.increases = 0;
            self.rate * (1.0 - rules.beta * (1.0 - rules.t_high / rtt))
        } else if gradient <= 0.0 {
            self.increases += 1;
            self.increased()
        } else {
            self.increases = 0;
            self.rate * (1.0 - rules.beta * gradient)
        };
        self.set(rate);
    }

    /// Returns the rate after an increase.
    fn increased(&self) -> f64 {
        let steps = if self.increases >= self.rules.hai_after { self.rules.hai_steps } else { 1.0 };
        self.rate + steps * self.rules.step
    }

    fn set(&mut self, rate: f64) {
        self.rate = rate.clamp(self.rules.least * self.line, self.line);
    }

    /// Sets the window, which only bounds the data in flight.
    fn bound(&self, window: &mut Cwnd) {
        self.rules.bound.set(window, self.rate, self.line);
    }

    /// Cuts the rate after a loss.
    fn lose(&mut self, window: &mut Cwnd) {
        self.increases = 0;
        self.set(self.rate * (1.0 - self.rules.loss_cut));
        self.bound(window);
    }
}

impl Window for Timely {
    fn ecn(&self) -> Ecn {
        Ecn::Off
    }
    fn paces(&self) -> bool {
        true
    }
    fn rate(&mut self, _: Instant, _: u64) -> Option<f64> {
        Some(self.0.rate)
    }
    fn on_message(&mut self, window: &mut Cwnd, _: &Acked, _: bool, site: Site) {
        if self.0.rate == 0.0 {
            self.0.line = site.rate.as_bps_f64();
            self.0.set(self.0.rules.initial * self.0.line);
            self.0.bound(window);
        }
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.0.hear(window, ack);
        false
    }
    fn on_gap(&mut self, window: &mut Cwnd, ack: &Acked) {
        self.0.hear(window, ack);
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        if !loss.timeout {
            self.0.lose(window);
        }
    }
    fn on_timeout(&mut self, window: &mut Cwnd, _: f64, _: &Lost) {
        self.0.lose(window);
    }
    fn observe(&self, _: &Cwnd, _: &Acked, seen: &mut Observation) {
        seen.add(&RATE, self.0.rate / 1e6);
        seen.add_if(&DELAY, self.0.last.map(Span::as_micros_f64));
        seen.add(&GRADIENT, self.0.difference / self.0.rules.min_rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::in_flight;
    use crate::controllers::tests::{acked, cwnd, reported};
    use units::{Bytes, HostId, Instant};

    const GBPS: f64 = 1e9;

    fn values(keys: &[(&str, &str)], surroundings: &Surroundings) -> Values {
        let mut values = Values::read(crate::registry::find("timely").unwrap().keys(), keys).unwrap();
        settle(&mut values, surroundings);
        values
    }

    /// A sender at 10 Gbps with the paper's times, at half the rate of its link.
    fn law(keys: &[(&str, &str)]) -> (Timely, Cwnd) {
        let paper = [("min_rtt", "20 us"), ("initial_rate", "50%"), ("mss", "1460 B")];
        let values = values(&[&paper, keys].concat(), &Surroundings::default());
        let config = connection::Config::from_values(&values).unwrap();
        let (mut law, mut window) = (build(&values, &config).unwrap(), cwnd(10.0));
        let site = Site { rate: Rate::from_gbps(10), frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 };
        law.on_message(&mut window, &acked(0, false), true, site);
        (law, window)
    }

    /// Acknowledges all that is in flight, after this round trip; returns the rate in Gbit/s.
    fn hear(law: &mut Timely, window: &mut Cwnd, rtt_us: u64) -> f64 {
        let ack = Acked { bytes: 10_000, sample: Some(Span::from_micros(rtt_us)), ..acked(1, false) };
        assert!(!law.on_ack(window, &ack), "no mark did it");
        law.0.rate / GBPS
    }

    fn lost(timeout: bool) -> Lost<'static> {
        Lost { now: Instant::ZERO, state: acked(1, false), flight: 10.0, timeout }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn below_t_low_it_adds_one_step_whatever_the_gradient() {
        let (mut law, mut window) = law(&[]);
        near(hear(&mut law, &mut window, 30), 5.0);
        for (rtt, rate) in [(40, 5.01), (49, 5.02), (30, 5.03), (30, 5.04), (30, 5.05), (30, 5.06), (30, 5.07)] {
            near(hear(&mut law, &mut window, rtt), rate);
        }
        let (mut eager, mut window) = self::law(&[("hai_below_t_low", "true")]);
        let rates = [0; 7].map(|_| hear(&mut eager, &mut window, 30));
        near(rates[4], 5.04);
        near(rates[5], 5.09);
        near(rates[6], 5.14);
    }

    #[test]
    fn above_t_high_it_cuts_by_the_excess() {
        let (mut law, mut window) = law(&[]);
        hear(&mut law, &mut window, 800);
        // The gradient is 0, and 0.8 x (1 - 500 / 800) = 0.3.
        near(hear(&mut law, &mut window, 800), 3.5);
        // It falls, which does not matter: 0.8 x (1 - 500 / 625) = 0.16.
        near(hear(&mut law, &mut window, 625), 2.94);
    }

    #[test]
    fn between_the_thresholds_the_smoothed_gradient_decides() {
        let (mut law, mut window) = law(&[]);
        hear(&mut law, &mut window, 100);
        // 0.875 x 4 us / 20 us = 0.175, x 0.8 = 0.14.
        near(hear(&mut law, &mut window, 104), 4.3);
        // 0.125 x 3.5 us = 0.4375 us of the last one are left: 0.021875, x 0.8 = 0.0175.
        near(hear(&mut law, &mut window, 104), 4.22475);
        // 0.125 x 0.4375 - 0.875 x 1 us is below 0.
        near(hear(&mut law, &mut window, 103), 4.23475);
        // A gradient of 0.875 x 40 / 20 = 1.75 would make the rate negative: the least is a hundredth of the link.
        near(hear(&mut law, &mut window, 143), 0.1);
    }

    #[test]
    fn fifth_increase_in_a_row_is_hyperactive_until_a_cut() {
        let (mut law, mut window) = law(&[]);
        let rates = [0; 8].map(|_| hear(&mut law, &mut window, 100));
        for (rate, expected) in rates.into_iter().zip([5.0, 5.01, 5.02, 5.03, 5.04, 5.09, 5.14, 5.19]) {
            near(rate, expected);
        }
        let cut = hear(&mut law, &mut window, 104);
        near(cut, 5.19 * 0.86);
        near(hear(&mut law, &mut window, 90), cut + 0.01);
    }

    #[test]
    fn whatever_is_no_increase_between_the_thresholds_begins_a_new_row() {
        let others: [fn(&mut Timely, &mut Cwnd); 4] = [
            |law, window| _ = hear(law, window, 600),
            |law, window| _ = hear(law, window, 110),
            |law, window| _ = hear(law, window, 49),
            |law, window| law.on_timeout(window, 1.0, &lost(true)),
        ];
        for other in others {
            let (mut law, mut window) = law(&[]);
            // Four increases, and no fifth.
            (0..5).for_each(|_| _ = hear(&mut law, &mut window, 100));
            other(&mut law, &mut window);
            // From here on the smoothed gradient is negative.
            let mut before = law.0.rate / GBPS;
            for step in [0.01, 0.01, 0.01, 0.01, 0.05] {
                let rate = hear(&mut law, &mut window, 50);
                near(rate - before, step);
                before = rate;
            }
        }
    }

    #[test]
    fn at_a_threshold_the_gradient_decides() {
        // 0.8 x 0.875 x 10 us / 20 us = 0.35, and 0.14 for 4 us.
        for (before, at, left) in [(40, 50, 0.65), (496, 500, 0.86)] {
            let (mut law, mut window) = law(&[]);
            hear(&mut law, &mut window, before);
            near(hear(&mut law, &mut window, at), 5.0 * left);
        }
    }

    #[test]
    fn next_message_keeps_the_rate_and_signals_show_it() {
        let (mut law, mut window) = law(&[]);
        let names = ["rate", "delay", "gradient"];
        assert_eq!(reported(&law, &window, names), [Some(5000.0), None, Some(0.0)]);
        [100, 104].iter().for_each(|rtt| _ = hear(&mut law, &mut window, *rtt));
        let site = Site { rate: Rate::from_gbps(10), frame_overhead: Bytes::ZERO, hops: 4, host: HostId(0), own: 0 };
        law.on_message(&mut window, &acked(0, false), true, site);
        let [rate, delay, gradient] = reported(&law, &window, names).map(Option::unwrap);
        near(rate, 4300.0);
        assert_eq!(delay, 104.0);
        near(gradient, 0.875 * 4.0 / 20.0);
    }

    #[test]
    fn updates_are_a_round_trip_or_a_segment_apart() {
        let (mut law, mut window) = law(&[]);
        let ack = |bytes| Acked { bytes, sample: Some(Span::from_micros(30)), ..acked(1, false) };
        // The first sample only begins; ten packets are in flight behind it.
        let rates = [1000; 12].map(|bytes| {
            law.on_ack(&mut window, &ack(bytes));
            law.0.rate / GBPS
        });
        assert_eq!(rates.map(|rate| rate > 5.0).iter().filter(|risen| **risen).count(), 2, "{rates:?}");
        let (mut law, mut window) = self::law(&[("segment", "3000 B")]);
        [1000; 10].iter().for_each(|bytes| law.on_gap(&mut window, &ack(*bytes)));
        near(law.0.rate / GBPS, 5.03);
        let before = law.clone();
        law.on_ack(&mut window, &Acked { sample: None, ..ack(9000) });
        near(law.0.rate, before.0.rate);
        let (mut law, mut window) = self::law(&[("segment", "3000 B")]);
        let rates = [1000, 2999, 1].map(|bytes| {
            law.on_ack(&mut window, &ack(bytes));
            law.0.rate / GBPS
        });
        assert_eq!(rates, [5.0, 5.0, 5.01], "the last byte makes it due");
    }

    #[test]
    fn loss_halves_the_rate_down_to_the_least() {
        let (mut law, mut window) = law(&[]);
        law.on_loss(&mut window, &lost(false));
        near(law.0.rate / GBPS, 2.5);
        law.on_loss(&mut window, &lost(true));
        near(law.0.rate / GBPS, 2.5);
        law.on_timeout(&mut window, 1.0, &lost(true));
        near(law.0.rate / GBPS, 1.25);
        (0..20).for_each(|_| law.on_timeout(&mut window, 1.0, &lost(true)));
        assert_eq!(law.rate(Instant::ZERO, 0), Some(1e8));
    }

    #[test]
    fn window_bounds_the_data_in_flight() {
        // 10 Gbps for 20 us are 16.67 packets of 1500 B; windows are whole packets, and one is being acknowledged.
        let bound = |keys| law(keys).1.cwnd;
        near(bound(&[]), 25_000.0 / 1500.0 + 2.0);
        near(bound(&[("window", "scaled")]), (25_000.0 / 1500.0 + 2.0) / 2.0);
        near(bound(&[("window", "none")]), in_flight::MOST);
        let (_, window) = law(&[]);
        assert_eq!(window.cwnd, window.ssthresh);
        // A scaled one follows the rate, and is a packet at least.
        let (mut law, mut window) = law(&[("window", "scaled")]);
        [800, 800].iter().for_each(|rtt| _ = hear(&mut law, &mut window, *rtt));
        near(window.cwnd, (25_000.0 / 1500.0 + 2.0) * 0.35);
        law.on_timeout(&mut window, 1.0, &lost(true));
        near(window.cwnd, (25_000.0 / 1500.0 + 2.0) * 0.175);
        (0..20).for_each(|_| law.on_timeout(&mut window, 1.0, &lost(true)));
        assert_eq!(window.cwnd, 1.0);
    }

    #[test]
    fn defaults_are_the_papers_for_its_network_and_scale_with_others() {
        let times = |values: &Values| ["t_low", "t_high", "min_rtt"].map(|key| values.time(key));
        let paper = Surroundings::uniform(Rate::from_gbps(10), Span::from_micros(20), 4);
        let found = values(&[], &paper);
        assert_eq!(times(&found), [50, 500, 20].map(Span::from_micros));
        assert_eq!(found.rate("add_step"), Rate(10_000_000));
        let fast = Surroundings::uniform(Rate::from_gbps(400), Span::from_micros(8), 4);
        let found = values(&[], &fast);
        assert_eq!(times(&found), [20, 200, 8].map(Span::from_micros));
        assert_eq!(found.rate("add_step"), Rate(400_000_000));
        // A step is never none.
        assert_eq!(values(&[], &Surroundings { line_rate: Rate(999), ..fast }).rate("add_step"), Rate(1));
    }

    #[test]
    fn thresholds_have_an_order() {
        let problem = |keys| {
            let values = values(keys, &Surroundings::default());
            build(&values, &connection::Config::from_values(&values).unwrap()).unwrap_err().key
        };
        assert_eq!(problem(&[("t_low", "2 ms")]), "t_low");
        assert_eq!(problem(&[("t_high", "1 us")]), "t_high");
        law(&[("t_low", "90 us"), ("t_high", "90 us")]);
    }

    #[test]
    fn regime_has_buffers_beyond_t_low() {
        // 1.5 products of 14 000 B.
        let values = [0.0, 20_999.0, 21_000.0, f64::INFINITY];
        assert_eq!(crate::descriptor::tests::is_within(&DEEP_BUFFERS, values), [false, false, true, true]);
    }
}
