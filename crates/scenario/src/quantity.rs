//! Units and what they measure; how exact values are written again.

use units::Formula;

use crate::error::{At, Checked, Fault};

/// Powers of time (in ps), data (in bytes) and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) time: i32,
    pub(crate) data: i32,
    pub(crate) packets: i32,
}

impl Dimension {
    pub(crate) const NONE: Dimension = Dimension { time: 0, data: 0, packets: 0 };
    pub(crate) const TIME: Dimension = Dimension { time: 1, data: 0, packets: 0 };
    pub(crate) const SIZE: Dimension = Dimension { time: 0, data: 1, packets: 0 };
    pub(crate) const RATE: Dimension = Dimension { time: -1, data: 1, packets: 0 };
    pub(crate) const PACKETS: Dimension = Dimension { time: 0, data: 0, packets: 1 };

    pub(crate) fn plus(self, other: Dimension, sign: i32) -> Dimension {
        Dimension {
            time: self.time + sign * other.time,
            data: self.data + sign * other.data,
            packets: self.packets + sign * other.packets,
        }
    }
    /// In words, with an article.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Dimension::NONE => "a plain number",
            Dimension::TIME => "a time",
            Dimension::SIZE => "a size",
            Dimension::RATE => "a rate",
            Dimension::PACKETS => "a number of packets",
            _ => "a mixture of units",
        }
    }
}

/// A unit: its name, its value in base units, its dimension.
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) dimension: Dimension,
}

const fn unit(name: &'static str, value: f64, dimension: Dimension) -> Unit {
    Unit { name, value, dimension }
}

/// One bit per second in bytes per picosecond.
const BPS: f64 = 0.125e-12;

/// Every unit; times in ps, sizes in bytes, rates in bytes/ps.
pub(crate) const UNITS: &[Unit] = &[
    unit("s", 1e12, Dimension::TIME),
    unit("ms", 1e9, Dimension::TIME),
    unit("us", 1e6, Dimension::TIME),
    unit("µs", 1e6, Dimension::TIME),
    unit("μs", 1e6, Dimension::TIME), // the Greek letter; the one above is the micro sign
    unit("ns", 1e3, Dimension::TIME),
    unit("ps", 1.0, Dimension::TIME),
    unit("B", 1.0, Dimension::SIZE),
    unit("KB", 1e3, Dimension::SIZE),
    unit("MB", 1e6, Dimension::SIZE),
    unit("GB", 1e9, Dimension::SIZE),
    unit("TB", 1e12, Dimension::SIZE),
    unit("KiB", 1024.0, Dimension::SIZE),
    unit("MiB", 1048576.0, Dimension::SIZE),
    unit("GiB", 1073741824.0, Dimension::SIZE),
    unit("bit", 0.125, Dimension::SIZE),
    unit("bits", 0.125, Dimension::SIZE),
    unit("Kb", 125.0, Dimension::SIZE),
    unit("Mb", 125e3, Dimension::SIZE),
    unit("Gb", 125e6, Dimension::SIZE),
    unit("byte", 1.0, Dimension::SIZE),
    unit("bytes", 1.0, Dimension::SIZE),
    unit("bps", BPS, Dimension::RATE),
    unit("Kbps", 1e3 * BPS, Dimension::RATE),
    unit("Mbps", 1e6 * BPS, Dimension::RATE),
    unit("Gbps", 1e9 * BPS, Dimension::RATE),
    unit("Tbps", 1e12 * BPS, Dimension::RATE),
    unit("packets", 1.0, Dimension::PACKETS),
    unit("packet", 1.0, Dimension::PACKETS),
    unit("%", 0.01, Dimension::NONE),
];

pub(crate) fn find_unit(name: &str) -> Option<&'static Unit> {
    UNITS.iter().find(|unit| unit.name == name)
}

/// What an expression comes to.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) formula: Formula,
    pub(crate) dimension: Dimension,
    /// It was written with `%`.
    pub(crate) percent: bool,
}

impl Term {
    /// A plain number.
    pub(crate) fn number(x: f64) -> Term {
        Term { formula: Formula::Constant(x), dimension: Dimension::NONE, percent: false }
    }
    /// A value in the base unit of a time, size or share.
    pub(crate) fn of(value: f64, measure: Measure) -> Term {
        let percent = measure == Measure::Share;
        Term { formula: Formula::Constant(value), dimension: measure.dimension(), percent }
    }
    /// The value, if it does not depend on `index` or `parent`.
    pub(crate) fn constant(&self) -> Option<f64> {
        if let Formula::Constant(x) = self.formula { Some(x) } else { None }
    }
    /// Zero fits every dimension.
    pub(crate) fn fits(&self, dimension: Dimension) -> bool {
        self.dimension == dimension || (self.dimension == Dimension::NONE && self.constant() == Some(0.0))
    }
    pub(crate) fn what(&self) -> &'static str {
        if self.percent { "a percentage" } else { self.dimension.what() }
    }
}

/// What a value is a measure of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// In ps.
    Time,
    /// In bytes.
    Size,
    /// In bit/s.
    Rate,
    /// A part of something else: written in percent.
    Share,
}

impl Measure {
    /// The one of several measures that a value is of; the first when it fits none.
    pub(crate) fn of(term: &Term, measures: &[Measure]) -> Measure {
        let fits = |measure: &&Measure| match measure {
            Measure::Share => term.percent,
            _ => term.dimension == measure.dimension(),
        };
        *measures.iter().find(fits).unwrap_or(&measures[0])
    }
    /// The checked value in its base unit.
    pub(crate) fn value(self, term: &Term, at: At) -> Checked<f64> {
        let plain = term.dimension == Dimension::NONE && !term.percent;
        if !term.fits(self.dimension()) || (self == Measure::Share && plain && !term.fits(Dimension::TIME)) {
            let message = match plain {
                true => format!("{} needs a unit", self.what()),
                false => format!("{} is needed here, this is {}", self.what(), term.what()),
            };
            return Err(Fault::new(at, message).hint(format!("write it like {}", self.example())));
        }
        let Some(value) = term.constant() else {
            return Err(Fault::new(at, "this must not depend on `index` or `parent`"));
        };
        if !value.is_finite() {
            return Err(Fault::new(at, "this number is not finite"));
        }
        let value = if self == Measure::Rate { (value / BPS).round() } else { value };
        if value < 0.0 {
            return Err(Fault::new(at, format!("{} cannot be negative, this is {}", self.what(), self.write(value))));
        }
        let (most, in_words) = self.limit();
        if value > most {
            return Err(Fault::new(at, format!("this is too large: {} is at most {in_words}", self.what())));
        }
        Ok(value)
    }
    /// The largest value, so that sums of a few never overflow 64 bits.
    fn limit(self) -> (f64, &'static str) {
        match self {
            Measure::Time => (30.0 * 86_400e12, "30 days"),
            Measure::Size => (1e15, "1000 TB"),
            Measure::Rate => (1e14, "100 Tbps"),
            Measure::Share => (1e3, "100000 %"),
        }
    }
    fn dimension(self) -> Dimension {
        match self {
            Measure::Time => Dimension::TIME,
            Measure::Size => Dimension::SIZE,
            Measure::Rate => Dimension::RATE,
            Measure::Share => Dimension::NONE,
        }
    }
    /// In words, with an article.
    pub(crate) fn what(self) -> &'static str {
        if self == Measure::Share { "a percentage" } else { self.dimension().what() }
    }
    fn example(self) -> &'static str {
        match self {
            Measure::Time => "\"20 ms\" (s, ms, us, ns)",
            Measure::Size => "\"14 KB\" (B, KB, MB, GB, KiB, MiB)",
            Measure::Rate => "\"10 Gbps\" (bps, Kbps, Mbps, Gbps)",
            Measure::Share => "\"50%\"",
        }
    }
    /// As text that reads back as exactly this value.
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Measure::Time if value == 0.0 => "0 s".into(),
            Measure::Time => write(value, &["s", "ms", "us", "ns", "ps"]),
            Measure::Size => write(value, &["GB", "MB", "KB", "B"]),
            Measure::Rate => write_rate(value),
            Measure::Share => write_share(value),
        }
    }
}

/// Writes a value so that it reads back as exactly the same number: the largest unit that can.
fn write(value: f64, units: &[&str]) -> String {
    for (i, name) in units.iter().enumerate() {
        let unit = find_unit(name).expect("our own unit");
        let last = i + 1 == units.len();
        let number = value / unit.value;
        if last || (number.abs() >= 1.0 && number * unit.value == value) {
            let number = if last && unit.value == 1.0 { value } else { number };
            return format!("{number} {name}");
        }
    }
    value.to_string()
}

/// A rate in bit/s.
fn write_rate(bps: f64) -> String {
    let scales = [("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3), ("bps", 1.0)];
    let exact = |(_, factor): &&(&str, f64)| bps >= *factor && (bps / factor * factor) == bps;
    let (name, factor) = scales.iter().find(exact).unwrap_or(&scales[3]);
    format!("{} {name}", bps / factor)
}

/// A share in percent.
fn write_share(share: f64) -> String {
    let percent = share * 100.0;
    if percent / 100.0 == share { format!("{percent}%") } else { format!("{share} * 100%") }
}
