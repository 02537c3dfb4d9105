//! Numbers with units: what expressions come to, and how exact values are written again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use units::Formula;

use crate::document::{Data, Node};
use crate::error::{At, Checked, Fault};
use crate::expression::{self, Expr, Kind, Operator};
use crate::suggest;

/// Powers of time (in ps), data (in bytes) and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dimension {
    time: i32,
    data: i32,
    packets: i32,
}

impl Dimension {
    pub(crate) const NONE: Dimension = Dimension { time: 0, data: 0, packets: 0 };
    pub(crate) const TIME: Dimension = Dimension { time: 1, data: 0, packets: 0 };
    pub(crate) const SIZE: Dimension = Dimension { time: 0, data: 1, packets: 0 };
    pub(crate) const RATE: Dimension = Dimension { time: -1, data: 1, packets: 0 };
    pub(crate) const PACKETS: Dimension = Dimension { time: 0, data: 0, packets: 1 };

    fn plus(self, other: Dimension, sign: i32) -> Dimension {
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

fn find_unit(name: &str) -> Option<&'static Unit> {
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
    fn what(&self) -> &'static str {
        if self.percent { "a percentage" } else { self.dimension.what() }
    }
}

/// The values of `[parameters]`.
pub(crate) struct Parameters {
    nodes: BTreeMap<String, Node>,
    /// None while it is being evaluated.
    known: RefCell<BTreeMap<String, Option<Term>>>,
    used: RefCell<BTreeSet<String>>,
}

impl Parameters {
    pub(crate) fn new(nodes: BTreeMap<String, Node>) -> Parameters {
        Parameters { nodes, known: RefCell::default(), used: RefCell::default() }
    }
    /// Those that no value has asked for.
    pub(crate) fn unused(&self) -> Vec<&str> {
        let used = self.used.borrow();
        self.nodes.keys().filter(|name| !used.contains(*name)).map(String::as_str).collect()
    }
    fn find(&self, name: &str, node: &Node, range: std::ops::Range<usize>) -> Checked<&Node> {
        self.used.borrow_mut().insert(name.to_owned());
        self.nodes.get(name).ok_or_else(|| {
            let fault = Fault::new(node.part(range), format!("there is no parameter `{name}`"));
            fault.did_you_mean(suggest::nearest(name, self.nodes.keys().map(String::as_str)), || {
                match self.nodes.is_empty() {
                    true => format!("declare it: [parameters] with {name} = .."),
                    false => format!("the parameters are {}", suggest::list(self.nodes.keys().map(String::as_str))),
                }
            })
        })
    }
    /// The node itself, or the parameter that it names as a whole ("$fan_in").
    pub(crate) fn resolve<'a>(&'a self, node: &'a Node) -> Checked<&'a Node> {
        let mut found = node;
        for _ in 0..self.nodes.len() + 1 {
            let Some(name) = found.text().and_then(|text| text.trim().strip_prefix('$')) else { return Ok(found) };
            if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                return Ok(found);
            }
            let length = found.text().map_or(0, str::len);
            found = self.find(name, found, 0..length)?;
        }
        Err(node.fault("this parameter is defined by itself"))
    }
    /// The value of a parameter inside an expression.
    fn term(&self, name: &str, node: &Node, range: std::ops::Range<usize>) -> Checked<Term> {
        if let Some(known) = self.known.borrow().get(name) {
            let circle = || Fault::new(node.part(range), format!("parameter `{name}` is defined by itself"));
            return known.clone().ok_or_else(circle);
        }
        let found = self.find(name, node, range.clone())?;
        if self.known.borrow().values().filter(|term| term.is_none()).count() > 32 {
            return Err(Fault::new(node.part(range), "too many parameters are defined by one another"));
        }
        self.known.borrow_mut().insert(name.to_owned(), None);
        let term = evaluate_node(found, self, false)?;
        self.known.borrow_mut().insert(name.to_owned(), Some(term.clone()));
        Ok(term)
    }
}

/// What a number or an expression comes to. `places` allows `index` and `parent`.
pub(crate) fn evaluate_node(node: &Node, parameters: &Parameters, places: bool) -> Checked<Term> {
    match &node.data {
        Data::Integer(x) => Ok(Term::number(*x as f64)),
        Data::Float(x) if x.is_finite() => Ok(Term::number(*x)),
        Data::Float(_) => Err(node.fault("this number is not finite")),
        Data::Text(_) => evaluate(&expression::parse(node)?, node, parameters, places),
        _ => Err(node.fault(format!("a number or an expression is expected here, not {}", node.what()))),
    }
}

/// What an expression of a node's text comes to.
pub(crate) fn evaluate(expr: &Expr, node: &Node, parameters: &Parameters, places: bool) -> Checked<Term> {
    let fault = |message: String| Fault::new(node.part(expr.range.clone()), message);
    let inner = |expr: &Expr| evaluate(expr, node, parameters, places);
    match &expr.kind {
        Kind::Number(x, None) => Ok(Term::number(*x)),
        Kind::Number(x, Some((name, range))) => {
            let Some(unit) = find_unit(name) else {
                return Err(unknown_unit(name, Fault::new(node.part(range.clone()), format!("unknown unit `{name}`"))));
            };
            let value = if name == "%" { x / 100.0 } else { x * unit.value };
            let formula = Formula::Constant(value);
            finite(Term { formula, dimension: unit.dimension, percent: name == "%" })
                .ok_or_else(|| fault(TOO_LARGE.into()))
        }
        Kind::Parameter(name) => parameters.term(name, node, expr.range.clone()),
        Kind::Word(name) if places && (name == "index" || name == "parent") => {
            let formula = if name == "index" { Formula::Index } else { Formula::Parent };
            Ok(Term { formula, dimension: Dimension::NONE, percent: false })
        }
        Kind::Word(name) if parameters.nodes.contains_key(name) => {
            Err(fault(format!("`{name}` means nothing here")).hint(format!("did you mean `${name}`?")))
        }
        Kind::Word(name) => Err(unknown_word(name, places, fault)),
        Kind::Call { name, name_range, .. } => {
            let fault = |message: String| Fault::new(node.part(name_range.clone()), message);
            if crate::distribution::NAMES.contains(&name.as_str()) {
                let hint = "where a distribution may stand it stands alone; calculate inside its parentheses";
                return Err(fault(format!("`{name}` cannot be calculated with")).hint(hint));
            }
            let names = crate::distribution::NAMES.iter().copied();
            let unknown = fault(format!("there is no function `{name}`"));
            Err(unknown.did_you_mean(suggest::nearest(name, names.clone()), || {
                format!("the functions are {}", suggest::list(names))
            }))
        }
        Kind::Cdf(_) => Err(fault("`cdf` cannot be calculated with".into())),
        Kind::Negate(operand) => {
            let term = inner(operand)?;
            let zero = Term { formula: Formula::Constant(0.0), ..term.clone() };
            combine(Operator::Subtract, zero, term).map_err(fault)
        }
        Kind::Binary(operator, pair) => combine(*operator, inner(&pair.0)?, inner(&pair.1)?).map_err(fault),
    }
}

const TOO_LARGE: &str = "the result is too large";

fn unknown_unit(name: &str, fault: Fault) -> Fault {
    let near = match name {
        "kb" | "kB" | "k" | "K" => Some("KB"),
        "min" | "m" | "h" | "sec" | "secs" | "second" | "seconds" => Some("s"),
        "usec" | "u" => Some("us"),
        "msec" => Some("ms"),
        "nsec" => Some("ns"),
        "mb" | "M" => Some("MB"),
        "gb" | "G" => Some("GB"),
        "b" => Some("B"),
        "percent" => Some("%"),
        "pkt" | "pkts" | "p" | "segments" => Some("packets"),
        "Gbit" | "gbit" | "Gbits" => Some("Gbps"),
        "Mbit" | "mbit" | "Mbits" => Some("Mbps"),
        _ => suggest::nearest(name, UNITS.iter().map(|unit| unit.name)),
    };
    fault.did_you_mean(near, || {
        "the units are s, ms, us, ns; B, KB, MB, GB, KiB, MiB, GiB, Kb, Mb, Gb; Kbps, Mbps, Gbps; packets; %".into()
    })
}

fn unknown_word(name: &str, places: bool, fault: impl Fn(String) -> Fault) -> Fault {
    if find_unit(name).is_some() {
        return fault(format!("the unit `{name}` needs a number before it")).hint("rates are written \"10 Gbps\"");
    }
    if name == "index" || name == "parent" {
        return fault(format!("`{name}` cannot be used here")).hint("`index` and `parent` may stand in `start`");
    }
    if crate::distribution::NAMES.contains(&name) {
        return fault(format!("`{name}` needs its parentheses")).hint(crate::distribution::usage(name));
    }
    let words =
        crate::distribution::NAMES.iter().copied().chain(places.then_some(["index", "parent"]).into_iter().flatten());
    fault(format!("`{name}` means nothing here")).did_you_mean(suggest::nearest(name, words), || {
        "a number, perhaps with a unit, is expected; a parameter is written `$name`".into()
    })
}

fn finite(term: Term) -> Option<Term> {
    term.constant().is_none_or(f64::is_finite).then_some(term)
}

fn combine(operator: Operator, a: Term, b: Term) -> Result<Term, String> {
    let (dimension, percent) = match operator {
        Operator::Add | Operator::Subtract => {
            if !(b.fits(a.dimension) || a.fits(b.dimension)) {
                let (a, b) = (a.what(), b.what());
                return Err(match operator {
                    Operator::Add => format!("{a} and {b} cannot be added"),
                    _ => format!("{b} cannot be subtracted from {a}"),
                });
            }
            (if a.dimension == Dimension::NONE { b.dimension } else { a.dimension }, a.percent || b.percent)
        }
        Operator::Multiply => (a.dimension.plus(b.dimension, 1), a.percent || b.percent),
        Operator::Divide => (a.dimension.plus(b.dimension, -1), a.percent || b.percent),
    };
    if operator == Operator::Divide && b.constant() == Some(0.0) {
        return Err("this divides by zero".into());
    }
    let known = a.constant().is_some() && b.constant().is_some();
    let pair = Box::new((a.formula, b.formula));
    let formula = match operator {
        Operator::Add => Formula::Add(pair),
        Operator::Subtract => Formula::Subtract(pair),
        Operator::Multiply => Formula::Multiply(pair),
        Operator::Divide => Formula::Divide(pair),
    };
    let formula = if known { Formula::Constant(formula.at(0, 0)) } else { formula };
    finite(Term { formula, dimension, percent: percent && dimension == Dimension::NONE })
        .ok_or_else(|| TOO_LARGE.into())
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
pub(crate) fn write(value: f64, units: &[&str]) -> String {
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

/// An expression as text, with the parameters' values in their place.
pub(crate) fn write_expression(node: &Node, parameters: &Parameters) -> Checked<String> {
    match node.text() {
        None => Ok(evaluate_node(node, parameters, true)?.constant().unwrap_or_default().to_string()),
        Some(_) => write_part(&expression::parse(node)?, node, parameters, 0),
    }
}

/// `strength` is how tightly the operator around it binds.
fn write_part(expr: &Expr, node: &Node, parameters: &Parameters, strength: u8) -> Checked<String> {
    let part = |expr, strength| write_part(expr, node, parameters, strength);
    Ok(match &expr.kind {
        Kind::Number(x, None) => x.to_string(),
        Kind::Number(x, Some((unit, _))) => format!("{x} {unit}"),
        Kind::Word(name) => name.clone(),
        Kind::Negate(inner) => format!("-{}", part(inner, 3)?),
        Kind::Parameter(name) => {
            let term = parameters.term(name, node, expr.range.clone())?;
            let value = term.constant().unwrap_or_default();
            let text = match term.dimension {
                Dimension::NONE => value.to_string(),
                Dimension::TIME if value >= 0.0 => Measure::Time.write(value),
                Dimension::SIZE if value >= 0.0 => Measure::Size.write(value),
                Dimension { time, data, packets } => {
                    let powers = [(time, "ps"), (data, "B"), (packets, "packets")];
                    let factors = powers.iter().flat_map(|(power, unit)| {
                        let sign = if *power > 0 { '*' } else { '/' };
                        (0..power.unsigned_abs()).map(move |_| format!(" {sign} 1 {unit}"))
                    });
                    format!("({value}{})", factors.collect::<String>())
                }
            };
            if text.starts_with('-') { format!("({text})") } else { text }
        }
        Kind::Binary(operator, pair) => {
            let (symbol, own) = match operator {
                Operator::Add => ('+', 1),
                Operator::Subtract => ('-', 1),
                Operator::Multiply => ('*', 2),
                Operator::Divide => ('/', 2),
            };
            let text = format!("{} {symbol} {}", part(&pair.0, own)?, part(&pair.1, own + 1)?);
            if own < strength { format!("({text})") } else { text }
        }
        Kind::Call { .. } | Kind::Cdf(_) => return Err(node.fault("a distribution cannot be calculated with")),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::At;

    fn term(text: &str) -> Result<Term, String> {
        let node = Node::bare(text, At::new(0, 0..text.len()));
        let parameters = Parameters::new(BTreeMap::new());
        evaluate_node(&node, &parameters, true)
            .map_err(|fault| crate::error::Sources::new("t", text).error(fault).message().to_owned())
    }

    #[test]
    fn units_mean_what_the_language_says() {
        let table = [
            ("1 s", 1e12, Dimension::TIME),
            ("20 ms", 2e10, Dimension::TIME),
            ("20 us", 2e7, Dimension::TIME),
            ("20 µs", 2e7, Dimension::TIME),
            ("20 μs", 2e7, Dimension::TIME),
            ("7 ns", 7e3, Dimension::TIME),
            ("14 KB", 14_000.0, Dimension::SIZE),
            ("14 KiB", 14_336.0, Dimension::SIZE),
            ("1 MB", 1e6, Dimension::SIZE),
            ("1 MiB", 1_048_576.0, Dimension::SIZE),
            ("1 GB", 1e9, Dimension::SIZE),
            ("1 GiB", 1_073_741_824.0, Dimension::SIZE),
            ("8 Kb", 1000.0, Dimension::SIZE),
            ("8 Mb", 1e6, Dimension::SIZE),
            ("10 Gbps", 1.25e-3, Dimension::RATE),
            ("65 packets", 65.0, Dimension::PACKETS),
            ("30%", 0.3, Dimension::NONE),
            ("1_000 B", 1000.0, Dimension::SIZE),
            ("1.5e3 B", 1500.0, Dimension::SIZE),
            ("10 Gbps * 8 us", 10_000.0, Dimension::SIZE),
            ("10 KB / 8 us", 1.25e-3, Dimension::RATE),
            ("10 KB / 10 Gbps", 8e6, Dimension::TIME),
            ("0 + 5 ms", 5e9, Dimension::TIME),
            ("20 ms / 10 ms", 2.0, Dimension::NONE),
            ("2 * (3 - 1) ", 4.0, Dimension::NONE),
        ];
        for (text, value, dimension) in table {
            let found = term(text).unwrap();
            let close = (found.constant().unwrap() - value).abs() <= 1e-12 * value;
            assert!(close && found.dimension == dimension, "{text}: {found:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "5 ms + 3 KB",
            "1 / 0",
            "1 / (2 - 2)",
            "5 GHz",
            "ms",
            "foo",
            "1e308 * 1e10",
            "1e309",
            "uniform(1,2) * 2",
            "5 ms - 3",
        ] {
            assert!(term(text).is_err(), "{text}");
        }
        assert_eq!(term("5 ms + 3 KB").unwrap_err(), "a time and a size cannot be added");
    }

    #[test]
    fn formulas_keep_their_variables() {
        let start = term("50 ms + (index + 2) * 5 ms").unwrap();
        assert_eq!((start.formula.at(3, 0), start.dimension), (75e9, Dimension::TIME));
    }

    #[test]
    fn what_is_written_reads_back_exactly() {
        for value in [1.0, 1090909.0, 2e10, 2.2000000000000004e10, 0.1, 2.59e18, 123456789.125, 1e-7] {
            for measure in [Measure::Time, Measure::Size, Measure::Share] {
                let text = measure.write(value);
                assert_eq!(term(&text).unwrap().constant(), Some(value), "{text}");
            }
            let rate = (value * 1e6).round().min(1e14);
            let text = Measure::Rate.write(rate);
            assert_eq!(Measure::Rate.value(&term(&text).unwrap(), At::new(0, 0..0)).unwrap(), rate, "{text}");
        }
        assert_eq!(Measure::Time.write(2e10), "20 ms");
        assert_eq!(Measure::Size.write(1500.0), "1.5 KB");
        assert_eq!(Measure::Rate.write(4.2e9), "4.2 Gbps");
        assert_eq!(Measure::Share.write(0.07), "7.000000000000001%");
    }
}
