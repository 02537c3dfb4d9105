//! The law's parameters as an operator gives them, on the command line and in policies, and the reading of values.

use clap::{Args, ValueEnum};

use crate::failure::{Failure, Kind, Result};
use crate::kernel::{Law, ONE, UNIT};

/// Parameters of the law, as in the simulator.
#[derive(Args, Clone, Debug, Default)]
pub struct Parameters {
    /// Weight of the last window's share of marks in alpha [default: 1/16]
    #[arg(long, value_parser = share)]
    pub g: Option<f64>,
    /// n: d is clamped to [1/n, n], 1 to 16 [default: 2]
    #[arg(long, value_parser = cap)]
    pub cap: Option<f64>,
    /// Once the deadline has passed: d = 1, n, or 1/n [default: neutral]
    #[arg(long)]
    pub expired: Option<Expired>,
    /// Taken off the time left, as in 500us [default: 0us]
    #[arg(long, value_parser = seconds)]
    pub margin: Option<f64>,
    /// How the time that the rest needs is computed: B/(3W/4), or from the sawtooth's sum [default: approximate]
    #[arg(long)]
    pub t_c: Option<TimeToComplete>,
    /// The RTT that turns it into a time [default: smoothed]
    #[arg(long)]
    pub rtt: Option<Rtt>,
    /// alpha of a new connection [default: 1]
    #[arg(long, value_parser = share)]
    pub initial_alpha: Option<f64>,
    /// The law for messages with a deadline: D2TCP's, or the simulator's d2tcp_plus as far as this kernel carries it.
    /// The latter is the rate that a deadline needs, and standing back while there is time [default: d2tcp]
    #[arg(long)]
    pub mode: Option<Mode>,
    /// In mode plus: the least retransmission timeout of its connections. The kernel takes no less than two ticks of
    /// its clock, and a limit of the route is above this one; 0us leaves it alone [default: 1ms]
    #[arg(long, value_parser = seconds)]
    pub rto_min: Option<f64>,
    /// In mode plus: the first window of a connection, in segments; 0 leaves it to the kernel [default: 0]
    #[arg(long, value_name = "SEGMENTS", value_parser = segments)]
    pub initial_window: Option<f64>,
    /// In mode plus: a factor for its times, 0.1 to 1000. They are for round trips of some tenths of a millisecond
    /// [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = time_scale)]
    pub time_scale: Option<f64>,
    /// Says in words that parameters are meant which make connections take no notice of marks; the error that asks
    /// for it says which words.
    #[arg(long, value_name = "WORDS")]
    pub confirm: Option<String>,
}

/// The law for messages with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Mode {
    /// D2TCP's: how much a mark cuts depends on the deadline
    D2tcp,
    /// Needed rates, and standing back by laxity
    Plus,
}

/// The treatment of a deadline that has passed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Expired {
    /// d = 1
    Neutral,
    /// d = n
    Cap,
    /// d = 1/n
    Yield,
}

/// How the time that the rest needs is computed.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum TimeToComplete {
    /// B/(3W/4)
    Approximate,
    /// From the sawtooth's sum
    Precise,
}

/// The round-trip time that counts.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Rtt {
    /// The kernel's smoothed one
    Smoothed,
    /// The smallest of the last minutes
    Minimum,
}

/// The parameters of a new attachment.
pub const DEFAULTS: Law = Law {
    g: ONE / 16,
    initial_alpha: ONE,
    cap: 2 * UNIT as u32,
    expired: 0,
    precise: 0,
    minimum_rtt: 0,
    mode: 0,
    initial_window: 0,
    time_scale: UNIT as u32,
    reserved: 0,
    rto_min_ns: 1_000_000,
    margin_ns: 0,
};

impl Parameters {
    /// Returns a bit for each given parameter, in the order of [`Law`].
    pub fn given(&self) -> u32 {
        [
            self.g.is_some(),
            self.initial_alpha.is_some(),
            self.cap.is_some(),
            self.expired.is_some(),
            self.t_c.is_some(),
            self.rtt.is_some(),
            self.margin.is_some(),
            self.mode.is_some(),
            self.rto_min.is_some(),
            self.initial_window.is_some(),
            self.time_scale.is_some(),
        ]
        .into_iter()
        .enumerate()
        .fold(0, |bits, (bit, given)| bits | u32::from(given) << bit)
    }
    /// Merges two sets of parameters: `own` for each bit that is set in `given`, `others` for the rest.
    pub fn merged(own: &Law, given: u32, others: &Law) -> Law {
        let is = |bit: u32| given >> bit & 1 != 0;
        Law {
            g: if is(0) { own.g } else { others.g },
            initial_alpha: if is(1) { own.initial_alpha } else { others.initial_alpha },
            cap: if is(2) { own.cap } else { others.cap },
            expired: if is(3) { own.expired } else { others.expired },
            precise: if is(4) { own.precise } else { others.precise },
            minimum_rtt: if is(5) { own.minimum_rtt } else { others.minimum_rtt },
            margin_ns: if is(6) { own.margin_ns } else { others.margin_ns },
            mode: if is(7) { own.mode } else { others.mode },
            rto_min_ns: if is(8) { own.rto_min_ns } else { others.rto_min_ns },
            initial_window: if is(9) { own.initial_window } else { others.initial_window },
            time_scale: if is(10) { own.time_scale } else { others.time_scale },
            reserved: 0,
        }
    }
    /// Applies the given parameters to `law`; fails if none is given.
    pub fn some_over(&self, law: Law) -> Result<Law> {
        if self.given() == 0 {
            return Err(Failure::new(Kind::Usage, "set: which parameter? d2tcp set --help lists them"));
        }
        self.harmless_over(law)
    }
    /// Applies the given parameters to `law`. Fails if connections would starve the rest of the network, and the
    /// operator does not confirm it in words.
    pub fn harmless_over(&self, law: Law) -> Result<Law> {
        let law = self.over(law);
        match danger(&law) {
            Some((what, words)) if self.confirm.as_deref() != Some(words) => {
                Err(Failure::new(Kind::Usage, format!("{what}; if that is meant, add --confirm \"{words}\"")))
            }
            _ => Ok(law),
        }
    }
    /// Applies the given parameters to `law`.
    pub fn over(&self, mut law: Law) -> Law {
        let fraction = |value: f64| (value * f64::from(ONE)).round() as u32;
        if let Some(g) = self.g {
            law.g = fraction(g);
        }
        if let Some(alpha) = self.initial_alpha {
            law.initial_alpha = fraction(alpha);
        }
        if let Some(cap) = self.cap {
            law.cap = (cap * UNIT as f64).round() as u32;
        }
        if let Some(expired) = self.expired {
            law.expired = expired as u32;
        }
        if let Some(t_c) = self.t_c {
            law.precise = u32::from(t_c == TimeToComplete::Precise);
        }
        if let Some(rtt) = self.rtt {
            law.minimum_rtt = u32::from(rtt == Rtt::Minimum);
        }
        if let Some(margin) = self.margin {
            law.margin_ns = (margin * 1e9).round() as u64;
        }
        if let Some(mode) = self.mode {
            law.mode = mode as u32;
        }
        if let Some(rto) = self.rto_min {
            law.rto_min_ns = (rto * 1e9).round() as u64;
        }
        if let Some(window) = self.initial_window {
            law.initial_window = window as u32;
        }
        if let Some(scale) = self.time_scale {
            law.time_scale = (scale * UNIT as f64).round() as u32;
        }
        law
    }
}

/// Returns the harm that these parameters would do to other connections, and the words that confirm it.
fn danger(law: &Law) -> Option<(String, &'static str)> {
    let cap = f64::from(law.cap) / UNIT as f64;
    if law.g == 0 && law.initial_alpha < ONE / 2 {
        let alpha = f64::from(law.initial_alpha) / f64::from(ONE);
        return Some((
            format!("--g 0 --initial-alpha {alpha}: alpha stays {alpha}, whatever the marks say"),
            "ignore marks",
        ));
    }
    (cap > MAX_CAP).then(|| {
        (
            format!(
                "--cap {cap}: near a deadline a connection hardly heeds marks and starves the others (alpha^{cap})"
            ),
            "starve others",
        )
    })
}

/// The maximum cap n without a confirmation: twice the paper's. At this n a connection that is marked half of the time
/// still cuts its window by 3 %.
const MAX_CAP: f64 = 4.0;

/// Parses ports such as 8000-8999, both inclusive.
pub fn ports(text: &str) -> std::result::Result<(u16, u16), String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    match (port(low), port(high)) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        _ => Err("expected A-B with 1 <= A <= B <= 65535".to_owned()),
    }
}

/// Parses a number from 0 to 1, or a fraction such as 1/16.
pub fn share(text: &str) -> std::result::Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let value = match text.split_once('/') {
        Some((above, below)) => number(above).zip(number(below)).map(|(above, below)| above / below),
        None => number(text),
    };
    value.filter(|value| (0.0..=1.0).contains(value)).ok_or_else(|| "expected 0 to 1, as in 0.0625 or 1/16".to_owned())
}

/// Parses a share as [`share`] does, or in percent, such as 5 %.
pub fn percent(text: &str) -> std::result::Result<f64, String> {
    let value = match text.trim().strip_suffix('%') {
        Some(percent) => share(&format!("{}/100", percent.trim())),
        None => share(text),
    };
    value.map_err(|expected| expected + " or 5 %")
}

/// Parses the cap n, 1 to 16.
pub fn cap(text: &str) -> std::result::Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (1.0..=16.0).contains(value));
    value.ok_or_else(|| "expected 1 to 16".to_owned())
}

/// Parses a time scale, 0.1 to 1000.
pub fn time_scale(text: &str) -> std::result::Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.1..=1000.0).contains(value));
    value.ok_or_else(|| "expected 0.1 to 1000".to_owned())
}

/// Parses a window in whole segments; 0 leaves it to the kernel.
pub fn segments(text: &str) -> std::result::Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.fract() == 0.0 && (0.0..=1000.0).contains(value));
    value.ok_or_else(|| "expected a whole number from 0 to 1000".to_owned())
}

/// The largest number of messages per second that a policy may give.
pub const MAX_COUNT: u32 = 1_000_000;

/// Parses a whole number of messages per second.
pub fn count(text: &str) -> std::result::Result<f64, String> {
    let fits = |value: &f64| value.fract() == 0.0 && (1.0..=f64::from(MAX_COUNT)).contains(value);
    text.parse::<f64>().ok().filter(fits).ok_or_else(|| format!("expected a whole number from 1 to {MAX_COUNT}"))
}

/// Parses a time of at most a day, such as 500us, 10 ms or 1.5s.
pub fn seconds(text: &str) -> std::result::Result<f64, String> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let scale = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        _ => return Err("expected a time with its unit: ns, us, ms, s or min, as in 500us".to_owned()),
    };
    let value = number.trim().parse::<f64>().ok().map(|number| number * scale);
    value.filter(|value| (0.0..=86400.0).contains(value)).ok_or_else(|| "expected 0 s to one day".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_units() {
        assert_eq!(ports("8000-8010"), Ok((8000, 8010)));
        assert_eq!(ports("80"), Ok((80, 80)));
        assert!(ports("8010-8000").is_err() && ports("0-1").is_err() && ports("1-70000").is_err());
        assert_eq!(share("1/16"), Ok(0.0625));
        assert!(share("2").is_err() && share("1/0").is_err() && share("nan").is_err());
        assert_eq!(seconds("1.5 ms"), Ok(0.0015));
        assert!(seconds("5").is_err() && seconds("-1s").is_err() && seconds("inf s").is_err());
        assert!(cap("0.5").is_err() && cap("17").is_err());
        assert_eq!(segments("10"), Ok(10.0));
        assert!(time_scale("0").is_err() && time_scale("25") == Ok(25.0));
        assert!(segments("1.5").is_err() && segments("-1").is_err() && segments("1001").is_err());
    }
}
