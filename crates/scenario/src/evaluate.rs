//! The evaluation of expressions, with checked units.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use units::Formula;
use units::measure::{Dimension, Measure, PER_SECOND, Term, UNITS, find_unit};

use crate::document::{Data, Node};
use crate::error::{At, Checked, Fault};
use crate::expression::{self, Expr, Kind, Operator};
use crate::{functions, suggest};

/// The names that an expression may use beside parameters.
#[derive(Clone, Copy)]
pub(crate) enum Names<'a> {
    None,
    /// The position in a list, `index`, and the number of a `parent`.
    Places,
    /// The columns of a class's requests, as `$name`.
    Columns(&'a [String]),
    /// The columns of a class's requests exist, but the value is the same for all requests.
    Unusable(&'a [String]),
}

impl<'a> Names<'a> {
    fn columns(self) -> &'a [String] {
        match self {
            Names::Columns(columns) | Names::Unusable(columns) => columns,
            Names::None | Names::Places => &[],
        }
    }
    /// Returns the index of a column.
    fn column(self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column == name)
    }
    fn has_places(self) -> bool {
        matches!(self, Names::Places)
    }
}

/// The values of `[parameters]`.
pub(crate) struct Parameters {
    nodes: BTreeMap<String, Node>,
    /// The evaluated ones; none for one that is being evaluated.
    known: RefCell<BTreeMap<String, Option<Term>>>,
    used: RefCell<BTreeSet<String>>,
}

impl Parameters {
    pub(crate) fn new(nodes: BTreeMap<String, Node>) -> Parameters {
        Parameters { nodes, known: RefCell::default(), used: RefCell::default() }
    }
    /// Returns the parameters that no value uses.
    pub(crate) fn unused(&self) -> Vec<&str> {
        let used = self.used.borrow();
        self.nodes.keys().filter(|name| !used.contains(*name)).map(String::as_str).collect()
    }
    /// Follows the references among unused parameters, so that a circle among them is found too.
    pub(crate) fn check_unused(&self) -> Checked<()> {
        let mut done = BTreeSet::new();
        self.unused().into_iter().try_for_each(|name| self.check_circle(name, &mut Vec::new(), &mut done))
    }
    fn check_circle<'a>(
        &'a self,
        name: &'a str,
        above: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Checked<()> {
        let node = &self.nodes[name];
        if above.contains(&name) {
            return Err(node.fault(format!("parameter `{name}` is defined by itself")));
        }
        if above.len() > 32 {
            return Err(node.fault("too many parameters are defined by one another"));
        }
        if done.insert(name) {
            above.push(name);
            let mentioned = self.nodes.keys().filter(|other| mentions(node, other));
            for other in mentioned {
                self.check_circle(other, above, done)?;
            }
            above.pop();
        }
        Ok(())
    }
    /// Returns true if there is a parameter of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.nodes.contains_key(name)
    }
    fn find(&self, name: &str, node: &Node, range: std::ops::Range<usize>, columns: &[String]) -> Checked<&Node> {
        self.used.borrow_mut().insert(name.to_owned());
        self.nodes.get(name).ok_or_else(|| {
            let parameters = || self.nodes.keys().map(String::as_str);
            let columns = || columns.iter().map(String::as_str);
            let or_column = if columns().next().is_some() { " or column" } else { "" };
            let fault = Fault::new(node.part(range), format!("there is no parameter{or_column} `{name}`"));
            fault.did_you_mean(suggest::nearest(name, parameters().chain(columns())), || {
                match (self.nodes.is_empty(), or_column.is_empty()) {
                    (true, true) => format!("declare it: [parameters] with {name} = .."),
                    (false, true) => format!("the parameters are {}", suggest::list(parameters())),
                    (true, false) => format!("the columns are {}", suggest::list(columns())),
                    (false, false) => {
                        let (parameters, columns) = (suggest::list(parameters()), suggest::list(columns()));
                        format!("the parameters are {parameters}, the columns {columns}")
                    }
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
            found = self.find(name, found, 0..length, &[])?;
        }
        Err(node.fault("this parameter is defined by itself"))
    }
    /// Returns the value of a parameter inside an expression.
    fn term(&self, name: &str, node: &Node, range: std::ops::Range<usize>, columns: &[String]) -> Checked<Term> {
        if let Some(known) = self.known.borrow().get(name) {
            let circle = || Fault::new(node.part(range), format!("parameter `{name}` is defined by itself"));
            return known.clone().ok_or_else(circle);
        }
        let found = self.find(name, node, range.clone(), columns)?;
        if self.known.borrow().values().filter(|term| term.is_none()).count() > 32 {
            return Err(Fault::new(node.part(range), "too many parameters are defined by one another"));
        }
        self.known.borrow_mut().insert(name.to_owned(), None);
        let term = evaluate_node(found, self, Names::None)?;
        self.known.borrow_mut().insert(name.to_owned(), Some(term.clone()));
        Ok(term)
    }
}

/// Returns true if a node's text contains `$name`.
fn mentions(node: &Node, name: &str) -> bool {
    let text = node.text().unwrap_or_default();
    text.split('$').skip(1).any(|rest| {
        rest.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Evaluates a number or an expression.
pub(crate) fn evaluate_node(node: &Node, parameters: &Parameters, names: Names) -> Checked<Term> {
    match &node.data {
        Data::Integer(x) => Ok(Term::number(*x as f64)),
        Data::Float(x) if x.is_finite() => Ok(Term::number(*x)),
        Data::Float(_) => Err(node.fault("this number is not finite")),
        Data::Text(_) => evaluate(&expression::parse(node)?, node, parameters, names),
        _ => Err(node.fault(format!("a number or an expression is expected here, not {}", node.what()))),
    }
}

/// Returns a term in the base unit of the required measure.
pub(crate) fn value_of(term: &Term, measure: Measure, at: At) -> Checked<f64> {
    measure.value(term).map_err(|mistake| Fault::mistaken(at, mistake))
}

/// Evaluates an expression of a node's text.
pub(crate) fn evaluate(expr: &Expr, node: &Node, parameters: &Parameters, names: Names) -> Checked<Term> {
    let fault = |message: String| Fault::new(node.part(expr.range.clone()), message);
    let inner = |expr: &Expr| evaluate(expr, node, parameters, names);
    match &expr.kind {
        Kind::Number(x, None) => Ok(Term::number(*x)),
        Kind::Number(x, Some((name, range))) => {
            let Some(term) = Term::with_unit(*x, name) else {
                return Err(unknown_unit(name, Fault::new(node.part(range.clone()), format!("unknown unit `{name}`"))));
            };
            finite(term).ok_or_else(|| fault(TOO_LARGE.into()))
        }
        Kind::Parameter(name) => match (names.column(name), names) {
            (Some(column), Names::Columns(_)) => {
                Ok(Term { formula: Formula::Column(column), dimension: Dimension::NONE, percent: false })
            }
            (Some(_), _) => Err(column_here(name, fault)),
            (None, _) => parameters.term(name, node, expr.range.clone(), names.columns()),
        },
        Kind::Word(name) if names.has_places() && (name == "index" || name == "parent") => {
            let formula = if name == "index" { Formula::Index } else { Formula::Parent };
            Ok(Term { formula, dimension: Dimension::NONE, percent: false })
        }
        Kind::Word(name) if parameters.has(name) || names.column(name).is_some() => {
            Err(fault(format!("`{name}` means nothing here")).hint(format!("did you mean `${name}`?")))
        }
        Kind::Word(name) => Err(unknown_word(name, names, fault)),
        Kind::Call { name, name_range, .. } => {
            let fault = |message: String| Fault::new(node.part(name_range.clone()), message);
            if functions::NAMES.contains(&name.as_str()) {
                let hint = "a distribution stands alone; calculate inside its parentheses";
                return Err(fault(format!("`{name}` cannot be part of a calculation")).hint(hint));
            }
            let names = functions::NAMES.iter().copied();
            let unknown = fault(format!("there is no function `{name}`"));
            Err(unknown.did_you_mean(suggest::nearest(name, names.clone()), || {
                format!("the functions are {}", suggest::list(names))
            }))
        }
        Kind::Cdf(_) => Err(fault("`cdf` cannot be part of a calculation".into())),
        Kind::Negate(operand) => {
            let term = inner(operand)?;
            let zero = Term { formula: Formula::Constant(0.0), ..term.clone() };
            combine(Operator::Subtract, zero, term).map_err(fault)
        }
        Kind::Binary(operator, pair) => combine(*operator, inner(&pair.0)?, inner(&pair.1)?).map_err(fault),
    }
}

/// The word for the time that a request takes in an empty network.
pub(crate) const ALONE: &str = "alone";

const TOO_LARGE: &str = "the result is too large";

fn unknown_unit(name: &str, fault: Fault) -> Fault {
    let near = match name.trim_end_matches(PER_SECOND) {
        // A word that could be two units is named as both: a guess would be wrong by 8 or by 60.
        "m" | "M" | "mn" => return fault.hint("`min` is a minute, `ms` a millisecond, `MB` a size, `Mbps` a rate"),
        "k" | "K" => return fault.hint("`KB` is a size, `Kbps` a rate"),
        "g" | "G" => return fault.hint("`GB` is a size, `Gbps` a rate"),
        "kb" | "mb" | "gb" => return fault.hint(BITS_AND_BYTES),
        "KBps" | "kBps" | "MBps" | "GBps" | "TBps" | "Bps" => return fault.hint(BYTES_PER_SECOND),
        "mins" | "minute" | "minutes" => Some("min"),
        "hr" | "hrs" | "hour" | "hours" => Some("h"),
        "sec" | "secs" | "second" | "seconds" => Some("s"),
        "usec" | "u" => Some("us"),
        "msec" => Some("ms"),
        "nsec" => Some("ns"),
        "b" => Some("B"),
        "percent" => Some("%"),
        "pkt" | "pkts" | "p" | "segments" => Some("packets"),
        _ if ["kbit", "mbit", "gbit"].iter().any(|bits| name.to_lowercase().starts_with(bits)) => {
            return fault.hint(BITS_AND_RATES);
        }
        _ => suggest::nearest(name, UNITS.iter().map(|unit| unit.name)),
    };
    fault.did_you_mean(near, || {
        "the units are h, min, s, ms, us, ns; B, KB, MB, GB, KiB, MiB, GiB, Kb, Mb, Gb; Kbps, Mbps, Gbps; packets; %"
            .into()
    })
}

const BITS_AND_BYTES: &str = "`b` is a bit and `B` a byte: Kb, Mb, Gb or KB, MB, GB";
const BITS_AND_RATES: &str = "`Kbit`, `Mbit`, `Gbit` are sizes, `Kbps`, `Mbps`, `Gbps` rates";
const BYTES_PER_SECOND: &str = "bytes per second are written `GB/s`; a byte is 8 bits, so 10 GB/s are 80 Gbps";

/// Returns the fault for a column where all requests have the same value.
pub(crate) fn column_here(name: &str, fault: impl Fn(String) -> Fault) -> Fault {
    fault(format!("`${name}` is a column of the requests and cannot be used here"))
        .hint("a column may be used in formulas of `size`, `time`, `within` and `deadline`, not in distributions")
}

fn unknown_word(name: &str, allowed: Names, fault: impl Fn(String) -> Fault) -> Fault {
    if find_unit(name).is_some() {
        return fault(format!("the unit `{name}` needs a number before it")).hint("rates are written \"10 Gbps\"");
    }
    if name == "index" || name == "parent" {
        return fault(format!("`{name}` cannot be used here")).hint("`index` and `parent` may be used in `start`");
    }
    if name == ALONE {
        return fault(format!("`{name}` cannot be used here"))
            .hint("a deadline may be a multiple of it: \"1.6 * alone\", \"uniform(1.5, 10) * alone\"");
    }
    if functions::NAMES.contains(&name) {
        return fault(format!("`{name}` needs its parentheses")).hint(functions::usage(name));
    }
    let places = allowed.has_places().then_some(["index", "parent"]).into_iter().flatten();
    let words = functions::NAMES.iter().copied().chain(places);
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

/// Returns an expression as text, with the parameters' values in their place.
pub(crate) fn write_expression(node: &Node, parameters: &Parameters, names: Names) -> Checked<String> {
    match node.text() {
        None => Ok(evaluate_node(node, parameters, names)?.constant().unwrap_or_default().to_string()),
        Some(_) => write_part(&expression::parse(node)?, node, (parameters, names), 0),
    }
}

/// Writes a part of it; `strength` is how tightly the operator around it binds.
fn write_part(expr: &Expr, node: &Node, (parameters, names): (&Parameters, Names), strength: u8) -> Checked<String> {
    let part = |expr, strength| write_part(expr, node, (parameters, names), strength);
    Ok(match &expr.kind {
        Kind::Number(x, None) => x.to_string(),
        Kind::Number(x, Some((unit, _))) => format!("{x} {unit}"),
        Kind::Word(name) => name.clone(),
        Kind::Negate(inner) => format!("-{}", part(inner, 3)?),
        Kind::Parameter(name) if names.column(name).is_some() => format!("${name}"),
        Kind::Parameter(name) => {
            let term = parameters.term(name, node, expr.range.clone(), &[])?;
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
        Kind::Call { .. } | Kind::Cdf(_) => return Err(node.fault("a distribution cannot be part of a calculation")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Sources;

    fn term(text: &str) -> Result<Term, String> {
        let node = Node::bare(text, At::new(0, 0..text.len()));
        let parameters = Parameters::new(BTreeMap::new());
        evaluate_node(&node, &parameters, Names::Places)
            .map_err(|fault| Sources::new("t", text).error(fault).message().to_owned())
    }

    #[test]
    fn units_mean_what_the_language_says() {
        let table = [
            ("2 h", 7.2e15, Dimension::TIME),
            ("5 min", 3e14, Dimension::TIME),
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
            ("8 kbit", 1000.0, Dimension::SIZE),
            ("14 kB", 14_000.0, Dimension::SIZE),
            ("10 Gbps", 1.25e-3, Dimension::RATE),
            ("10 Gbit/s", 1.25e-3, Dimension::RATE),
            ("10 Gb/s", 1.25e-3, Dimension::RATE),
            ("10 GB/s", 1e-2, Dimension::RATE),
            ("8 bit/s", 1e-12, Dimension::RATE),
            ("10 GB/s / 2", 5e-3, Dimension::RATE),
            ("1 KB / 1 KB/s", 1e12, Dimension::TIME),
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
    fn a_bit_per_second_is_the_same_in_all_its_spellings() {
        for name in ["Kb", "Mb", "Gb", "Tb"] {
            let value = |unit: &str| find_unit(unit).unwrap().value;
            assert_eq!(value(&format!("{name}/s")), value(&format!("{name}ps")), "{name}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "5 ms + 3 KB",
            "1 / 0",
            "1 / (2 - 2)",
            "5 GHz",
            "5 ms/s",
            "5 Gbps/s",
            "5 GB/sec",
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
            assert_eq!(Measure::Rate.value(&term(&text).unwrap()).unwrap(), rate, "{text}");
        }
        assert_eq!(Measure::Time.write(2e10), "20 ms");
        assert_eq!(Measure::Size.write(1500.0), "1.5 KB");
        assert_eq!(Measure::Rate.write(4.2e9), "4.2 Gbps");
        assert_eq!(Measure::Share.write(0.07), "7.000000000000001%");
    }
}
