//! Distributions in text: "20 ms", "uniform(2 KB, 50 KB)", "cdf(websearch)".

use std::sync::Arc;

use units::measure::{Dimension, Measure, Term};
use units::{Cdf, Distribution};

use crate::cdf::{self, Shape};
use crate::context::Context;
use crate::document::{Data, Node};
use crate::error::{At, Checked, Fault};
use crate::evaluate;
use crate::expression::{self, Expr, Kind};
use crate::functions::{NAMES, usage};
use crate::suggest;

/// A built-in distribution of the language.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Points: bytes, and the share of values at or below in per mille.
    points: &'static [(u32, u32)],
}

/// The measured flow sizes that simulations of datacenters commonly use.
pub(crate) const BUILT_IN: &[BuiltIn] = &[
    // DCTCP (SIGCOMM 2010) figure 4, as the points that the HPCC simulator's WebSearch_distribution.txt
    // and the HKUST TrafficGenerator's DCTCP_CDF.txt agree on.
    BuiltIn {
        name: "websearch",
        help: "flow sizes of a web-search cluster (DCTCP, SIGCOMM 2010); mean 1.7 MB",
        points: &[
            (0, 0),
            (10_000, 150),
            (20_000, 200),
            (30_000, 300),
            (50_000, 400),
            (80_000, 530),
            (200_000, 600),
            (1_000_000, 700),
            (2_000_000, 800),
            (5_000_000, 900),
            (10_000_000, 970),
            (30_000_000, 1000),
        ],
    },
    // VL2 (SIGCOMM 2009) figure 2, as in pFabric's CDF_data-mining: 1, 2, 3, 7, 267, 2107, 66667 and
    // 666667 segments of 1460 B; mean 5117 segments.
    BuiltIn {
        name: "datamining",
        help: "flow sizes of a data-mining cluster (VL2, SIGCOMM 2009); mean 7.5 MB",
        points: &[
            (1_460, 500),
            (2_920, 600),
            (4_380, 700),
            (10_220, 800),
            (389_820, 900),
            (3_076_220, 950),
            (97_333_820, 990),
            (973_333_820, 1000),
        ],
    },
];

/// A distribution, with its measure and its text.
pub(crate) struct Found {
    pub(crate) distribution: Distribution,
    pub(crate) measure: Measure,
    pub(crate) text: String,
}

/// Reads a distribution of one of the measures. `bare` allows `exponential` without its mean, which then is the base
/// that it varies.
pub(crate) fn read(node: &Node, measures: &[Measure], bare: bool, context: &Context) -> Checked<Found> {
    let Data::Text(_) = &node.data else { return constant(node, None, measures, context) };
    let expr = expression::parse(node)?;
    match &expr.kind {
        Kind::Word(name) if bare && name == "exponential" => {
            let distribution = Distribution::Exponential(1.0);
            Ok(Found { distribution, measure: Measure::Share, text: "exponential".into() })
        }
        _ => of_expression(&expr, node, measures, context),
    }
}

/// As [`read`], for an expression of a node's text.
pub(crate) fn of_expression(expr: &Expr, node: &Node, measures: &[Measure], context: &Context) -> Checked<Found> {
    let place = |range: &std::ops::Range<usize>| node.part(range.clone());
    match &expr.kind {
        Kind::Call { name, name_range, arguments } if NAMES.contains(&name.as_str()) => {
            let wanted = if name == "exponential" { 1 } else { 2 };
            if arguments.len() != wanted {
                let (s, found) = (if wanted == 1 { "" } else { "s" }, arguments.len());
                let fault = Fault::new(place(name_range), format!("`{name}` takes {wanted} value{s}, not {found}"));
                return Err(fault.hint(usage(name)));
            }
            call(name, arguments, expr, node, measures, context)
        }
        Kind::Cdf(range) => cdf(range, expr, node, measures, context),
        _ => constant(node, Some(expr), measures, context),
    }
}

fn constant(node: &Node, expr: Option<&Expr>, measures: &[Measure], context: &Context) -> Checked<Found> {
    let term = match expr {
        Some(expr) => evaluate::evaluate(expr, node, context.parameters, context.names())?,
        None => evaluate::evaluate_node(node, context.parameters, context.names())?,
    };
    let measure = measure_of(&term, measures, node.at)?;
    let value = evaluate::value_of(&term, measure, node.at)?;
    Ok(Found { distribution: Distribution::Constant(value), measure, text: measure.write(value) })
}

/// Returns the quantity that a value measures; where it may be a time or a percentage, it needs a unit.
fn measure_of(term: &Term, measures: &[Measure], at: At) -> Checked<Measure> {
    let plain = term.dimension == Dimension::NONE && !term.percent && term.constant() != Some(0.0);
    if plain && measures.contains(&Measure::Share) {
        let fault = Fault::new(at, "a time or a percentage needs a unit");
        return Err(fault.hint("write \"5 ms\", or \"50%\" for a part of the base"));
    }
    Ok(Measure::of(term, measures))
}

fn call(
    name: &str,
    arguments: &[Expr],
    whole: &Expr,
    node: &Node,
    measures: &[Measure],
    context: &Context,
) -> Checked<Found> {
    let at = |expr: &Expr| node.part(expr.range.clone());
    let terms =
        arguments.iter().map(|argument| evaluate::evaluate(argument, node, context.parameters, context.names()));
    let terms = terms.collect::<Checked<Vec<_>>>()?;
    // One of uniform's two ends may be a bare 0; the other decides the measure.
    let telling = usize::from(name == "uniform" && terms[0].constant() == Some(0.0));
    let measure = measure_of(&terms[telling], measures, at(&arguments[telling]))?;
    let first = evaluate::value_of(&terms[0], measure, at(&arguments[0]))?;
    let shape = |what: &str| match terms[1].constant() {
        Some(x) if terms[1].dimension == Dimension::NONE && x > 0.0 && x <= 100.0 => Ok(x),
        _ => Err(Fault::new(at(&arguments[1]), format!("{what} must be a plain number above 0, at most 100"))),
    };
    let positive = |what: &str| match first > 0.0 {
        true => Ok(first),
        false => Err(Fault::new(at(&arguments[0]), format!("{what} must be above 0"))),
    };
    let written = measure.write(first);
    let (distribution, text) = match name {
        "uniform" => {
            let last = evaluate::value_of(&terms[1], measure, at(&arguments[1]))?;
            if first >= last {
                let message = format!("the range from {written} to {} is empty", measure.write(last));
                return Err(Fault::new(node.part(whole.range.clone()), message).hint("the smaller value comes first"));
            }
            (Distribution::Uniform(first, last), format!("uniform({written}, {})", measure.write(last)))
        }
        "exponential" => (Distribution::Exponential(positive("the mean")?), format!("exponential({written})")),
        "lognormal" => {
            let (median, sigma) = (positive("the median")?, shape("sigma")?);
            (Distribution::Lognormal { median, sigma }, format!("lognormal({written}, {sigma})"))
        }
        _ => {
            let (min, shape) = (positive("the least value")?, shape("the shape")?);
            (Distribution::Pareto { min, shape }, format!("pareto({written}, {shape})"))
        }
    };
    Ok(Found { distribution, measure, text })
}

fn cdf(
    range: &std::ops::Range<usize>,
    whole: &Expr,
    node: &Node,
    measures: &[Measure],
    context: &Context,
) -> Checked<Found> {
    let inner = node.text().unwrap_or_default()[range.clone()].trim();
    let at = node.part(range.clone());
    let name = inner.trim_matches(['"', '\'']).trim();
    if name.is_empty() {
        return Err(Fault::new(node.part(whole.range.clone()), "`cdf` needs a name or a path").hint(usage("cdf")));
    }
    named(name, at, Shape::default(), measures[0], context)
}

/// Reads a built-in distribution, or that of a file.
pub(crate) fn named(name: &str, at: At, shape: Shape, measure: Measure, context: &Context) -> Checked<Found> {
    let text = format!("cdf({name})");
    let found =
        |cdf: Cdf| Ok(Found { distribution: Distribution::Empirical(Arc::new(cdf)), measure, text: text.clone() });
    if let Some(built_in) = BUILT_IN.iter().find(|known| known.name == name) {
        if measure != Measure::Size {
            return Err(Fault::new(
                at,
                format!("`{name}` is a distribution of sizes, {} is needed here", measure.what()),
            ));
        }
        if !shape.is_plain() {
            return Err(Fault::new(
                at,
                format!("`{name}` is in bytes, with lines between its points: it has no shape"),
            ));
        }
        let points =
            built_in.points.iter().map(|&(bytes, per_mille)| (f64::from(bytes), f64::from(per_mille) / 1000.0));
        return found(Cdf::new(points.collect()).expect("our own points are in order"));
    }
    let near = suggest::nearest(name, BUILT_IN.iter().map(|known| known.name));
    let file = context.files.read(name, at, near)?;
    let (cdf, note) = cdf::read(name, &file, measure, shape)?;
    note.into_iter().for_each(|note| context.files.note(note));
    found(cdf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Sources;
    use crate::evaluate::Parameters;
    use crate::files::Files;

    fn distribution(text: &str, measures: &[Measure]) -> Result<Found, String> {
        let parameters = Parameters::new(Default::default());
        let context = Context {
            parameters: &parameters,
            files: &Files::default(),
            hosts: None,
            profile: sim::profile::DEFAULT,
            deadline_factor: 1.0,
            requests: None,
        };
        let node = Node::bare(text, At::new(0, 0..text.len()));
        read(&node, measures, measures.contains(&Measure::Share), &context)
            .map_err(|fault| Sources::new("t", text).error(fault).message().to_owned())
    }

    #[test]
    fn every_form_is_read() {
        let times = &[Measure::Time];
        let found = |text| distribution(text, times).unwrap();
        assert_eq!(found("5 ms").distribution, Distribution::Constant(5e9));
        assert_eq!(found("uniform(0, 40 us)").distribution, Distribution::Uniform(0.0, 4e7));
        assert_eq!(found("exponential(2 * 8 ms)").distribution, Distribution::Exponential(1.6e10));
        assert_eq!(found("lognormal(1 ms, 0.5)").distribution, Distribution::Lognormal { median: 1e9, sigma: 0.5 });
        assert_eq!(found("pareto(1 ms, 1.5)").distribution, Distribution::Pareto { min: 1e9, shape: 1.5 });
        assert_eq!(found("uniform(0, 40 us)").text, "uniform(0 s, 40 us)");
    }

    #[test]
    fn a_percentage_is_a_share_of_what_it_varies() {
        let both = &[Measure::Time, Measure::Share];
        let found = distribution("uniform(0, 50%)", both).unwrap();
        assert!(found.measure == Measure::Share && found.distribution == Distribution::Uniform(0.0, 0.5));
        assert_eq!(found.text, "uniform(0%, 50%)");
        assert_eq!(distribution("exponential", both).unwrap().distribution, Distribution::Exponential(1.0));
        assert!(distribution("exponential(5 ms)", both).unwrap().measure == Measure::Time);
        assert!(distribution("uniform(0, 0.5)", both).is_err());
        assert!(distribution("exponential", &[Measure::Time]).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "uniform(5 ms, 2 ms)",
            "uniform(5 ms, 5 ms)",
            "uniform(1 ms)",
            "exponential(0 s)",
            "exponential(0)",
            "lognormal(1 ms, 0)",
            "pareto(1 ms, -1)",
            "pareto(0 s, 2)",
            "pareto(1 ms, 2 ms)",
            "exponential(5 KB)",
            "uniform(1, 2)",
            "exponential(-1 ms)",
            "uniform(1 ms, 2 KB)",
            "cdf(websearch)",
            "cdf()",
            "normal(1 ms, 2)",
        ] {
            assert!(distribution(text, &[Measure::Time]).is_err(), "{text}");
        }
    }

    #[test]
    fn the_measured_sizes_have_their_published_means() {
        let mean = |name| distribution(name, &[Measure::Size]).unwrap().distribution.mean();
        // pFabric's scripts: 5117 segments.
        assert_eq!((mean("cdf(datamining)") / 1460.0).round(), 5117.0);
        assert!((1.6e6..1.75e6).contains(&mean("cdf(websearch)")), "{}", mean("cdf(websearch)"));
    }
}
