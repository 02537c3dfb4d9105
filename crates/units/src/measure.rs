//! Quantities in text: units and their dimensions, and exact values in writing.

use crate::{Amount, Formula, Key, Range};

/// An error in a quantity, for any key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// One sentence about the error.
    pub message: String,
    /// A correction to write instead, where one is known.
    pub hint: Option<String>,
}

impl Mistake {
    /// Returns a mistake without a hint.
    pub fn new(message: impl Into<String>) -> Mistake {
        Mistake { message: message.into(), hint: None }
    }
    /// Adds a hint with the correction.
    pub fn hint(self, hint: impl Into<String>) -> Mistake {
        Mistake { hint: Some(hint.into()), ..self }
    }
}

/// Powers of time (in ps), data (in bytes) and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimension {
    /// Power of the time.
    pub time: i32,
    /// Power of the data.
    pub data: i32,
    /// Power of the packets.
    pub packets: i32,
}

impl Dimension {
    /// The dimension of a plain number.
    pub const NONE: Dimension = Dimension { time: 0, data: 0, packets: 0 };
    /// The dimension of a time.
    pub const TIME: Dimension = Dimension { time: 1, data: 0, packets: 0 };
    /// The dimension of a size.
    pub const SIZE: Dimension = Dimension { time: 0, data: 1, packets: 0 };
    /// The dimension of a rate.
    pub const RATE: Dimension = Dimension { time: -1, data: 1, packets: 0 };
    /// The dimension of a number of packets.
    pub const PACKETS: Dimension = Dimension { time: 0, data: 0, packets: 1 };

    /// Returns the dimension of a product (`sign` 1) or of a quotient (-1).
    pub fn plus(self, other: Dimension, sign: i32) -> Dimension {
        Dimension {
            time: self.time + sign * other.time,
            data: self.data + sign * other.data,
            packets: self.packets + sign * other.packets,
        }
    }
    /// Returns the dimension in words, with an article.
    pub fn what(self) -> &'static str {
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
#[derive(Clone, Copy)]
pub struct Unit {
    /// The name in scenario files.
    pub name: &'static str,
    /// The value in base units: ps, bytes, packets.
    pub value: f64,
    /// The dimension of the unit.
    pub dimension: Dimension,
}

const fn unit(name: &'static str, value: f64, dimension: Dimension) -> Unit {
    Unit { name, value, dimension }
}

/// One bit per second in bytes per picosecond.
const BPS: f64 = 0.125e-12;

/// Every unit; times in ps, sizes in bytes, rates in bytes/ps.
pub const UNITS: &[Unit] = &[
    unit("h", 3600e12, Dimension::TIME),
    unit("min", 60e12, Dimension::TIME),
    unit("s", 1e12, Dimension::TIME),
    unit("ms", 1e9, Dimension::TIME),
    unit("us", 1e6, Dimension::TIME),
    unit("µs", 1e6, Dimension::TIME),
    unit("μs", 1e6, Dimension::TIME), // the Greek letter; the one above is the micro sign
    unit("ns", 1e3, Dimension::TIME),
    unit("ps", 1.0, Dimension::TIME),
    unit("B", 1.0, Dimension::SIZE),
    unit("KB", 1e3, Dimension::SIZE),
    unit("kB", 1e3, Dimension::SIZE),
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
    unit("Tb", 125e9, Dimension::SIZE),
    unit("kbit", 125.0, Dimension::SIZE),
    unit("Kbit", 125.0, Dimension::SIZE),
    unit("Mbit", 125e3, Dimension::SIZE),
    unit("Gbit", 125e6, Dimension::SIZE),
    unit("Tbit", 125e9, Dimension::SIZE),
    unit("byte", 1.0, Dimension::SIZE),
    unit("bytes", 1.0, Dimension::SIZE),
    unit("bps", BPS, Dimension::RATE),
    unit("Kbps", 1e3 * BPS, Dimension::RATE),
    unit("kbps", 1e3 * BPS, Dimension::RATE),
    unit("Mbps", 1e6 * BPS, Dimension::RATE),
    unit("Gbps", 1e9 * BPS, Dimension::RATE),
    unit("Tbps", 1e12 * BPS, Dimension::RATE),
    unit("packets", 1.0, Dimension::PACKETS),
    unit("packet", 1.0, Dimension::PACKETS),
    unit("%", 0.01, Dimension::NONE),
];

/// The suffix that makes a rate of a size: "Gbit/s".
pub const PER_SECOND: &str = "/s";

/// Returns the unit of that name; a size with [`PER_SECOND`] behind it is a rate.
pub fn find_unit(name: &str) -> Option<Unit> {
    let named = |name: &str| UNITS.iter().find(|unit| unit.name == name).copied();
    let Some(size) = name.strip_suffix(PER_SECOND) else { return named(name) };
    let size = named(size).filter(|unit| unit.dimension == Dimension::SIZE)?;
    // From the bits in a second, so that "10 Gbit/s" is "10 Gbps" to the last binary place.
    Some(Unit { value: 8.0 * size.value * BPS, dimension: Dimension::RATE, ..size })
}

/// The result of an expression.
#[derive(Clone, Debug)]
pub struct Term {
    /// Its value in base units.
    pub formula: Formula,
    /// The dimension of the value.
    pub dimension: Dimension,
    /// It was written with `%`.
    pub percent: bool,
}

impl Term {
    /// Returns the term of a plain number.
    pub fn number(x: f64) -> Term {
        Term { formula: Formula::Constant(x), dimension: Dimension::NONE, percent: false }
    }
    /// Returns the term of a value in the base unit of a time, size or share.
    pub fn of(value: f64, measure: Measure) -> Term {
        let percent = measure == Measure::Share;
        Term { formula: Formula::Constant(value), dimension: measure.dimension(), percent }
    }
    /// Returns the value, if it does not depend on `index` or `parent`.
    pub fn constant(&self) -> Option<f64> {
        if let Formula::Constant(x) = self.formula { Some(x) } else { None }
    }
    /// Returns the term of a number with its unit: of 30 and "%", three tenths. None if there is no such unit.
    pub fn with_unit(number: f64, name: &str) -> Option<Term> {
        let unit = find_unit(name)?;
        let percent = name == "%";
        let value = if percent { number / 100.0 } else { number * unit.value };
        Some(Term { formula: Formula::Constant(value), dimension: unit.dimension, percent })
    }
    /// Returns true if it has this dimension; zero fits every dimension.
    pub fn fits(&self, dimension: Dimension) -> bool {
        self.dimension == dimension || (self.dimension == Dimension::NONE && self.constant() == Some(0.0))
    }
    /// Returns the dimension in words, with an article.
    pub fn what(&self) -> &'static str {
        if self.percent { "a percentage" } else { self.dimension.what() }
    }
}

/// The quantity that a value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A time, in ps.
    Time,
    /// A size, in bytes.
    Size,
    /// A rate, in bit/s.
    Rate,
    /// A part of something else: written in percent.
    Share,
    /// A number without a unit, such as a factor.
    Number,
}

impl Measure {
    /// Returns the one of several measures that a value is of; the first when it fits none.
    pub fn of(term: &Term, measures: &[Measure]) -> Measure {
        let fits = |measure: &&Measure| match measure {
            Measure::Share => term.percent,
            _ => term.dimension == measure.dimension(),
        };
        *measures.iter().find(fits).unwrap_or(&measures[0])
    }
    /// Returns the checked value in its base unit.
    ///
    /// # Errors
    /// The term measures something else, depends on its place in a list, or is too large.
    pub fn value(self, term: &Term) -> Result<f64, Mistake> {
        let plain = term.dimension == Dimension::NONE && !term.percent;
        if !term.fits(self.dimension()) || (self == Measure::Share && plain && !term.fits(Dimension::TIME)) {
            let message = match plain {
                true => format!("{} needs a unit", self.what()),
                false => format!("{} is needed here, this is {}", self.what(), term.what()),
            };
            return Err(Mistake::new(message).hint(format!("write it like {}", self.example())));
        }
        let Some(value) = term.constant() else {
            return Err(Mistake::new("this must not depend on `index` or `parent`"));
        };
        if !value.is_finite() {
            return Err(Mistake::new("this number is not finite"));
        }
        let value = if self == Measure::Rate { (value / BPS).round() } else { value };
        if value < 0.0 {
            return Err(Mistake::new(format!("{} cannot be negative, this is {}", self.what(), self.write(value))));
        }
        let (most, in_words) = self.limit();
        if value > most {
            return Err(Mistake::new(format!("this is too large: {} is at most {in_words}", self.what())));
        }
        Ok(value)
    }
    /// Returns the largest value, so that sums of a few never overflow 64 bits.
    fn limit(self) -> (f64, &'static str) {
        match self {
            Measure::Time => (30.0 * 86_400e12, "30 days"),
            Measure::Size => (1e15, "1000 TB"),
            Measure::Rate => (1e14, "100 Tbps"),
            Measure::Share => (1e3, "100000 %"),
            Measure::Number => (1e6, "1000000"),
        }
    }
    fn dimension(self) -> Dimension {
        match self {
            Measure::Time => Dimension::TIME,
            Measure::Size => Dimension::SIZE,
            Measure::Rate => Dimension::RATE,
            Measure::Share | Measure::Number => Dimension::NONE,
        }
    }
    /// Returns the quantity in words, with an article.
    pub fn what(self) -> &'static str {
        if self == Measure::Share { "a percentage" } else { self.dimension().what() }
    }
    fn example(self) -> &'static str {
        match self {
            Measure::Time => "\"20 ms\" (s, ms, us, ns)",
            Measure::Size => "\"14 KB\" (B, KB, MB, GB, KiB, MiB)",
            Measure::Rate => "\"10 Gbps\" (bps, Kbps, Mbps, Gbps)",
            Measure::Share => "\"50%\"",
            Measure::Number => "\"1.5\"",
        }
    }
    /// Returns text that reads back as exactly this value.
    pub fn write(self, value: f64) -> String {
        match self {
            Measure::Time if value == 0.0 => "0 s".into(),
            Measure::Time => write(value, &["s", "ms", "us", "ns", "ps"]),
            Measure::Size => write(value, &["GB", "MB", "KB", "B"]),
            Measure::Rate => write_rate(value),
            Measure::Share => write_share(value),
            Measure::Number => value.to_string(),
        }
    }
}

/// Writes a value so that it reads back as exactly the same number: the largest unit that can.
fn write(value: f64, units: &[&str]) -> String {
    for (i, name) in units.iter().enumerate() {
        let unit = find_unit(name).expect("a unit that is named in code is in the list");
        let last = i + 1 == units.len();
        let number = value / unit.value;
        if last || (number.abs() >= 1.0 && number * unit.value == value) {
            let number = if last && unit.value == 1.0 { value } else { number };
            return format!("{number} {name}");
        }
    }
    value.to_string()
}

/// Writes a rate in bit/s with its unit.
fn write_rate(bps: f64) -> String {
    let scales = [("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3), ("bps", 1.0)];
    let exact = |(_, factor): &&(&str, f64)| bps >= *factor && (bps / factor * factor) == bps;
    let (name, factor) = scales.iter().find(exact).unwrap_or(&scales[3]);
    format!("{} {name}", bps / factor)
}

/// Writes a share in percent.
fn write_share(share: f64) -> String {
    let percent = share * 100.0;
    if percent / 100.0 == share { format!("{percent}%") } else { format!("{share} * 100%") }
}

impl Key {
    /// Checks that a value is in the range, in s, B, bit/s or 1.
    ///
    /// # Errors
    /// If it is not; the message has the allowed range.
    pub fn check(&self, value: f64, scale: Scale) -> Result<(), Mistake> {
        if self.range.contains(value) {
            return Ok(());
        }
        let Range { min, max, above_min, .. } = self.range;
        let (least, most) = (scale.write(min), scale.write(max));
        let possible = match (min.is_finite(), max.is_finite()) {
            (true, true) if above_min => format!("above {least}, at most {most}"),
            (true, true) => format!("{least} to {most}"),
            (true, false) if above_min => format!("above {least}"),
            (true, false) => format!("{least} or more"),
            _ => format!("at most {most}"),
        };
        Err(Mistake::new(format!("`{}` must be {possible}, this is {}", self.name, scale.write(value))))
    }

    /// Returns packets or bytes within the range.
    ///
    /// # Errors
    /// The term measures something else, is no whole number of packets, or out of range.
    pub fn amount(&self, term: &Term) -> Result<Amount, Mistake> {
        if term.dimension != Dimension::PACKETS {
            if term.dimension != Dimension::SIZE {
                let found = match term.dimension {
                    Dimension::NONE => "has no unit".into(),
                    other => format!("is {}", other.what()),
                };
                let mistake = Mistake::new(format!("`{}` is counted in packets or bytes, this {found}", self.name));
                return Err(mistake.hint("write it like \"65 packets\" or \"94900 B\""));
            }
            let bytes = Measure::Size.value(term)?.round();
            self.check(bytes, Scale::Of(Measure::Size))?;
            return Ok(Amount::Bytes(bytes as u64));
        }
        let plain = Term { dimension: Dimension::NONE, ..term.clone() };
        if let Some(x) = plain.constant().filter(|x| *x < 0.0) {
            return Err(Mistake::new(format!("packets cannot be negative, this is {x} packets")));
        }
        let packets = whole(&plain).map_err(|why| Mistake::new(format!("packets are whole: {why}")))?;
        if packets > 1_000_000_000_000 {
            return Err(Mistake::new("this is too large: at most 10^12 packets"));
        }
        self.check(packets as f64, Scale::Packets)?;
        Ok(Amount::Packets(packets))
    }
}

/// The scale in which a value of a key's range is written.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// As a plain number.
    None,
    /// As a number of packets.
    Packets,
    /// As a quantity with a unit.
    Of(Measure),
}

impl Scale {
    fn write(self, value: f64) -> String {
        match self {
            Scale::None => value.to_string(),
            Scale::Packets => format!("{value} packets"),
            Scale::Of(Measure::Time) => Measure::Time.write(value * 1e12),
            Scale::Of(measure) => measure.write(value),
        }
    }
}

/// Returns a whole number from a term.
///
/// # Errors
/// The reason why it is none.
pub fn whole(term: &Term) -> Result<u64, String> {
    let limit = 2f64.powi(53);
    match term.constant() {
        None => Err("this depends on `index` or `parent`".into()),
        Some(_) if term.dimension != Dimension::NONE => Err(format!("this is {}", term.dimension.what())),
        Some(_) if term.percent => Err("this is a percentage".into()),
        Some(x) if x.fract() != 0.0 => Err(format!("this is {x}")),
        Some(x) if (0.0..=limit).contains(&x) => Ok(x as u64),
        Some(x) => Err(format!("{x} is {}", if x < 0.0 { "negative" } else { "too large" })),
    }
}

/// Returns the length in bytes of the number at the start of a text: digits, perhaps with `_` between them, a fraction
/// and an exponent.
pub fn number_width(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(text.len());
    let mut width = digits(text);
    if text[width..].starts_with('.') {
        width += 1;
        width += digits(&text[width..]);
    }
    if text[width..].starts_with(['e', 'E']) {
        let sign = usize::from(text[width + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[width + 1 + sign..]);
        if exponent > 0 {
            width += 1 + sign + exponent;
        }
    }
    width
}

/// Returns the number that [`number_width`] found; none when it is too large for a float, or no number.
pub fn number(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())
}
