//! Amounts that each request draws or computes: "exponential(1 ms)", "10 ms + 35 us * $input", "1.6 * alone".

use serde_json::{Value as Json, json};
use units::measure::{Dimension, Measure, Scale, Term};
use units::{Allowed, Distribution, Formula, Key, OfRequest, RequestTrace};

use crate::context::Context;
use crate::distribution;
use crate::document::Node;
use crate::error::{Checked, Fault};
use crate::evaluate::{self, ALONE, Names};
use crate::expression::{self, Expr, Kind, Operator};
use crate::ranges::{check_range, distribution_of};

/// Reads a time or a size: a constant or a distribution, or a formula of the columns of the class's requests.
pub(crate) fn amount(key: &Key, node: &Node, measure: Measure, context: &Context) -> Checked<(OfRequest, Json)> {
    if node.text().is_some() {
        let expr = expression::parse(node)?;
        if !matches!(expr.kind, Kind::Call { .. } | Kind::Cdf(_)) {
            let names = Names::Columns(context.columns());
            let term = evaluate::evaluate(&expr, node, context.parameters, names)?;
            if let (None, Some(requests)) = (term.constant(), context.requests) {
                let formula = formula(key, node, term, measure, requests)?;
                let written = evaluate::write_expression(node, context.parameters, names)?;
                return Ok((OfRequest::Formula(formula), json!(written)));
            }
        }
    }
    let found = distribution_of(key, node, &[measure], context)?;
    Ok((OfRequest::Drawn(found.distribution), json!(found.text)))
}

/// Returns the formula of a term that measures the right quantity, in range for every request.
fn formula(key: &Key, node: &Node, term: Term, measure: Measure, requests: &RequestTrace) -> Checked<Formula> {
    if term.dimension == Dimension::NONE {
        let column = requests.columns.first().map_or("column", String::as_str);
        let unit = if measure == Measure::Time { "35 us" } else { "320 KB" };
        let fault = node.fault(format!("{} needs a unit", measure.what()));
        return Err(fault.hint(format!("columns are plain numbers: write for example \"{unit} * ${column}\"")));
    }
    let scale = if measure == Measure::Time { 1e12 } else { 1.0 };
    if term.dimension != Term::of(0.0, measure).dimension {
        return Err(node.fault(format!("{} is needed here, this is {}", measure.what(), term.what())));
    }
    for request in 0..requests.arrivals.len() {
        let value = term.formula.of_row(requests.row(request));
        let checked = measure.value(&Term::of(value, measure));
        if let Err(mistake) = checked.and_then(|value| key.check(value / scale, Scale::Of(measure))) {
            return Err(Fault::mistaken(node.at, mistake).of(&format!("request {} of the file", request + 1)));
        }
        if measure == Measure::Size && value < 0.5 {
            let message = format!("request {} of the file: a message has at least 1 byte", request + 1);
            return Err(node.fault(message));
        }
    }
    Ok(term.formula)
}

/// The largest multiple of the time in an empty network: sums of such times never overflow.
const MAX_FACTOR: f64 = 1e6;

/// Reads the time in which a goal must be reached, and multiplies it by the run's factor on deadlines.
pub(crate) fn allowed(key: &Key, node: &Node, context: &Context) -> Checked<(Allowed, Json)> {
    if let Some((times, written)) = times_alone(key, node, context)? {
        return Ok((Allowed::TimesAlone(times.scaled(context.deadline_factor)), json!(written)));
    }
    let (time, written) = amount(key, node, Measure::Time, context)?;
    Ok((Allowed::Time(scaled(time, context.deadline_factor)), written))
}

fn scaled(time: OfRequest, factor: f64) -> OfRequest {
    match time {
        time if factor == 1.0 => time,
        OfRequest::Drawn(distribution) => OfRequest::Drawn(distribution.scaled(factor)),
        OfRequest::Formula(formula) => {
            OfRequest::Formula(Formula::Multiply(Box::new((Formula::Constant(factor), formula))))
        }
    }
}

/// Reads a multiple of the time in an empty network, and its text: "1.6 * alone", "uniform(1.5, 10) * alone". Returns
/// none for anything else.
pub(crate) fn times_alone(key: &Key, node: &Node, context: &Context) -> Checked<Option<(Distribution, String)>> {
    if node.text().is_none() {
        return Ok(None);
    }
    let expr = expression::parse(node)?;
    if let Some(drawn) = drawn_factor(&expr) {
        let found = distribution::of_expression(drawn, node, &[Measure::Number], context)?;
        return Ok(Some((found.distribution, format!("{} * {ALONE}", found.text))));
    }
    let Some(factor) = constant_factor(&expr, node, context)? else { return Ok(None) };
    check_range(key, factor, Scale::None, node.at)?;
    if factor > MAX_FACTOR {
        return Err(node.fault(format!("`{}` is at most {MAX_FACTOR} * {ALONE}", key.name)));
    }
    Ok(Some((Distribution::Constant(factor), format!("{factor} * {ALONE}"))))
}

/// Returns the distribution that `alone` is multiplied by, if it is by one.
fn drawn_factor(expr: &Expr) -> Option<&Expr> {
    let Kind::Binary(Operator::Multiply, pair) = &expr.kind else { return None };
    let is_alone = |expr: &Expr| matches!(&expr.kind, Kind::Word(word) if word == ALONE);
    let is_drawn = |expr: &Expr| matches!(expr.kind, Kind::Call { .. } | Kind::Cdf(_));
    match &**pair {
        (drawn, alone) | (alone, drawn) if is_alone(alone) && is_drawn(drawn) => Some(drawn),
        _ => None,
    }
}

/// Returns the number that `alone` is multiplied by; none for anything else.
fn constant_factor(expr: &Expr, node: &Node, context: &Context) -> Checked<Option<f64>> {
    let number = |expr: &Expr| {
        let at = node.part(expr.range.clone());
        if let Kind::Call { .. } | Kind::Cdf(_) = expr.kind {
            let fault = Fault::new(at, format!("`{ALONE}` is multiplied by one number or one distribution"));
            return Err(fault.hint(format!("calculate inside its parentheses: \"uniform(1.5, 10) * {ALONE}\"")));
        }
        let term = evaluate::evaluate(expr, node, context.parameters, context.names())?;
        term.constant().filter(|_| term.dimension == Dimension::NONE).ok_or_else(|| {
            let fault = Fault::new(at, format!("`{ALONE}` is multiplied by a plain number"));
            fault.hint(format!("write for example \"1.6 * {ALONE}\""))
        })
    };
    let (operator, pair) = match &expr.kind {
        Kind::Word(word) if word == ALONE => return Ok(Some(1.0)),
        Kind::Binary(operator, pair) => (*operator, pair),
        _ => return Ok(None),
    };
    let left = constant_factor(&pair.0, node, context)?;
    Ok(match (operator, left) {
        (Operator::Multiply, Some(factor)) => Some(factor * number(&pair.1)?),
        (Operator::Divide, Some(factor)) => Some(factor / number(&pair.1)?),
        (Operator::Multiply, None) => match constant_factor(&pair.1, node, context)? {
            Some(factor) => Some(factor * number(&pair.0)?),
            None => None,
        },
        _ => None,
    })
}
