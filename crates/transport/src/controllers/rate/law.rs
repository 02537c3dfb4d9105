//! The recursion, in numbers without units: rates are shares of C, amounts of C tau, time is in round trips.

use units::Values;

/// The parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    gain: f64,
    gain_follows_rate: bool,
    drift: bool,
    backlog_cap: f64,
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State {
    /// x: the rate, as a share of C.
    pub rate: f64,
    /// Z: the backlog of the flow, in C tau.
    pub backlog: f64,
}

impl Law {
    /// Reads the checked values of [`LAW`](super::keys::LAW).
    pub(super) fn from_values(values: &Values) -> Law {
        Law {
            gain: values.number("gain"),
            gain_follows_rate: values.choice("gain_scale") == "rate",
            drift: values.choice("source_term") == "drift",
            backlog_cap: values.number("backlog_cap"),
        }
    }

    /// Returns the state after `rounds` round trips (10). Z grows by the difference of gamma and the rate, the rate by
    /// the difference of the source term and the network term. Limits of the rate are `least` and 1, and per step down
    /// to half and up to half as much again and 0.01.
    pub(super) fn step(
        &self,
        State { rate, backlog }: State,
        gamma: f64,
        network: f64,
        rounds: f64,
        least: f64,
    ) -> State {
        let backlog = (backlog + (gamma - rate) * rounds).clamp(0.0, self.backlog_cap);
        let source = if self.drift { backlog } else { backlog * gamma / (rate * rate) };
        let gain = if self.gain_follows_rate { self.gain * rate } else { self.gain };
        let step = (gain * (source - network) * rounds).clamp(-rate / 2.0, rate / 2.0 + 0.01);
        State { rate: (rate + step).clamp(least, 1.0), backlog }
    }
}

/// Returns V (1 - y)^-2, for a load of up to `cap`.
pub(crate) fn price(weight: f64, load: f64, cap: f64) -> f64 {
    let idle = 1.0 - load.clamp(0.0, cap);
    weight / (idle * idle)
}

/// Returns the left side of the condition of stability for `flows` equal flows of `gamma` on one link, with a gain that
/// follows the rate. It is 2 k (2 p + n gamma p') + k, with p = V (1 - y)^-2.
///
/// Without delay of the feedback the recursion settles if it is below 4. With d round trips of delay it settles below
/// about 4 sin(pi / (4 d + 2)): below 2 for one, 1.24 for two. Packets have a delay between one and two, so it should
/// be below 1.
#[cfg(test)]
fn stability(gain: f64, weight: f64, flows: f64, gamma: f64) -> f64 {
    let idle = 1.0 - flows * gamma;
    let (price, slope) = (weight / (idle * idle), 2.0 * weight / (idle * idle * idle));
    2.0 * gain * (2.0 * price + flows * gamma * slope) + gain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(gain: f64) -> Law {
        Law { gain, gain_follows_rate: true, drift: false, backlog_cap: 10.0 }
    }

    /// Simulates equal flows on one link whose queue and load they see `delay` round trips late. Returns the minimum
    /// and maximum of the sum of their rates in the last hundred of `rounds` round trips.
    fn settle(
        gain: f64,
        (weight, cap): (f64, f64),
        (flows, gamma): (f64, f64),
        start: f64,
        (delay, rounds): (usize, usize),
    ) -> [f64; 2] {
        let mut state = State { rate: start, backlog: 0.0 };
        let (mut queue, mut heard, mut range) = (0.0, vec![0.0; delay], [f64::INFINITY, 0.0]);
        for round in 0..rounds {
            let sum: f64 = flows * state.rate;
            queue = f64::max(0.0, queue + sum - 1.0);
            heard.push(queue + price(weight, sum, cap));
            state = law(gain).step(state, gamma, heard[round], 1.0, 1e-4);
            if round + 100 >= rounds {
                range = [range[0].min(sum), range[1].max(sum)];
            }
        }
        range
    }

    #[test]
    fn one_step_by_hand() {
        // Z = 0.1 + 0.5 - 0.4 = 0.2; source 0.2 * 0.5 / 0.16 = 0.625; step 0.1 * 0.4 * (0.625 - 0.125) = 0.02.
        let before = State { rate: 0.4, backlog: 0.1 };
        let next = law(0.1).step(before, 0.5, 0.125, 1.0, 1e-3);
        assert!((next.backlog - 0.2).abs() < 1e-12 && (next.rate - 0.42).abs() < 1e-12, "{next:?}");
        // As printed, with a gain that does not follow the rate: 0.1 * 0.5 more.
        let constant = Law { gain_follows_rate: false, ..law(0.1) };
        assert!((constant.step(before, 0.5, 0.125, 1.0, 1e-3).rate - 0.45).abs() < 1e-12);
        // Drift: 0.1 * 0.4 * (0.2 - 0.125).
        let drift = Law { drift: true, ..law(0.1) };
        assert!((drift.step(before, 0.5, 0.125, 1.0, 1e-3).rate - 0.403).abs() < 1e-12);
        // Two round trips: Z = 0.3, twice the step of 0.1 * 0.4 * (0.9375 - 0.125).
        assert!((law(0.1).step(before, 0.5, 0.125, 2.0, 1e-3).rate - 0.465).abs() < 1e-12);
    }

    #[test]
    fn its_keys_say_which_law_it_is() {
        let of = |keys| Law::from_values(&Values::read(crate::registry::find("mcp").unwrap().keys(), keys).unwrap());
        assert_eq!(of(&[]), law(0.1));
        assert_eq!(of(&[("source_term", "drift")]), Law { drift: true, ..law(0.1) });
        assert_eq!(of(&[("gain_scale", "constant")]), Law { gain_follows_rate: false, ..law(0.1) });
        assert_eq!(of(&[("gain", "1"), ("backlog_cap", "2")]), Law { backlog_cap: 2.0, ..law(1.0) });
    }

    #[test]
    fn the_condition_by_hand() {
        // Half of the link is idle: p = 0.01 / 0.25, p' = 0.02 / 0.125; 2 x 0.1 x (2 x 0.04 + 0.5 x 0.16) + 0.1.
        assert!((stability(0.1, 0.01, 2.0, 0.25) - 0.132).abs() < 1e-12);
    }

    #[test]
    fn a_step_has_its_limits() {
        let step = |rate, backlog, gamma, network| {
            let next = law(10.0).step(State { rate, backlog }, gamma, network, 1.0, 1e-3);
            (next.rate, next.backlog)
        };
        assert!((step(0.2, 9.0, 1.0, 0.0).0 - 0.31).abs() < 1e-12, "half as much again and 0.01");
        assert_eq!(step(0.2, 0.0, 0.0, 9.0), (0.1, 0.0), "half");
        assert_eq!(step(1e-3, 0.0, 0.0, 9.0).0, 1e-3);
        assert_eq!(step(0.9, 9.5, 1.0, 0.0).0, 1.0);
        assert_eq!(step(0.1, 9.5, 1.0, 0.0).1, 10.0);
    }

    #[test]
    fn what_the_condition_allows_settles_at_gamma_from_any_start() {
        for (flows, gamma) in [(1.0, 0.5), (1.0, 0.9), (4.0, 0.2), (8.0, 0.1), (45.0, 0.02), (80.0, 0.01)] {
            assert!(stability(0.1, 1e-3, flows, gamma) < 1.0, "{flows} of {gamma}");
            for start in [gamma / 20.0, gamma, f64::min(1.0, 3.0 * gamma)] {
                // From above it falls by k p of itself in a round trip while Z is 0: here by 4e-4, at the least.
                for sum in settle(0.1, (1e-3, 0.9), (flows, gamma), start, (2, 20_000)) {
                    assert!((sum / (flows * gamma) - 1.0).abs() < 0.01, "{flows} of {gamma} from {start}: {sum}");
                }
            }
        }
    }

    #[test]
    fn the_condition_says_what_swings() {
        // One flow; V raises the condition's left side to the requested value, nearly all of it from the slope.
        let swing = |side: f64, delay| {
            let (gain, gamma) = (0.01, 0.9);
            let weight = (side - gain) / (stability(gain, 1.0, 1.0, gamma) - gain);
            let [least, most] = settle(gain, (weight, 0.99), (1.0, gamma), 1.01 * gamma, (delay, 20_000));
            most - least
        };
        for (delay, limit) in [(0, 4.0), (1, 2.0), (2, 1.24)] {
            assert!(swing(0.8 * limit, delay) < 1e-3, "{delay}: {}", swing(0.8 * limit, delay));
            assert!(swing(1.25 * limit, delay) > 1e-2, "{delay}: {}", swing(1.25 * limit, delay));
        }
        // As printed: V = 1 and a gain of 1.
        assert!(stability(1.0, 1.0, 1.0, 0.5) > 30.0);
    }
}
