//! Distributions in files: values with their cumulative probability, and the other shapes of such files.
//!
//! Homa's files begin with their mean, and ns-2's have a column between the two. Both may count packets or bytes
//! and do not say it, so that a scenario has to.

use units::measure::{Measure, Term};
use units::{Cdf, Default, Key, Kind, Range, Values};

use crate::error::Checked;
use crate::lines::Line;

const CDF: Key = Key {
    name: "cdf",
    kind: Kind::Text,
    default: Default::Required,
    range: Range::ANY,
    help: "the path of the file, relative to the scenario's folder, or the name of a built-in distribution",
    source: "",
};
const STEPS: Key = Key {
    name: "steps",
    kind: Kind::Bool,
    default: Default::Absent,
    range: Range::ANY,
    help: "only the values of the file are drawn, and none between them; without it a mean in the first line decides",
    source: "",
};
const SCALE: Key = Key {
    name: "scale",
    kind: Kind::Size,
    default: Default::Absent,
    range: Range::POSITIVE,
    help: "a value of 1 in the file: \"1460 B\" if it counts packets of so many bytes",
    source: "",
};

/// The keys of a table that names a file of sizes.
pub(crate) const SIZE_KEYS: &[Key] = &[CDF, SCALE, STEPS];
/// The keys of a table that names a file of times.
const TIME_KEYS: &[Key] = &[CDF, Key { kind: Kind::Time, help: "a value of 1 in the file: \"1 us\"", ..SCALE }, STEPS];

/// The meaning of a file's numbers, as far as the scenario says it.
#[derive(Clone, Copy, Debug, core::default::Default)]
pub(crate) struct Shape {
    /// The value of 1, in base units.
    scale: Option<f64>,
    /// Only the values of the file are drawn.
    steps: Option<bool>,
}

/// Returns the keys of a table that names a file of such values.
pub(crate) fn keys(measure: Measure) -> &'static [Key] {
    if measure == Measure::Size { SIZE_KEYS } else { TIME_KEYS }
}

impl Shape {
    /// Returns the shape of the checked values of such a table.
    pub(crate) fn of(values: &Values, measure: Measure) -> Shape {
        let scale = values.find("scale").map(|_| match measure {
            Measure::Size => values.size("scale").as_f64(),
            _ => values.time("scale").0 as f64,
        });
        Shape { scale, steps: values.find("steps").map(|_| values.bool("steps")) }
    }
    /// Returns whether nothing is said.
    pub(crate) fn is_plain(self) -> bool {
        self.scale.is_none() && self.steps.is_none()
    }
}

/// Reads a distribution from lines with a value and the probability, from 0 to 1 or from 0 to 100, of staying at or
/// below it. Three columns, or the mean alone in the first line, need a `scale`. Returns a note too, where the stated
/// mean decided how the file is read.
pub(crate) fn read(file: &str, text: &str, measure: Measure, shape: Shape) -> Checked<(Cdf, Option<String>)> {
    let mut lines = Line::all(file, text).filter(|line| !line.content().is_empty()).peekable();
    let mean = match lines.peek().map(|line| (*line, columns(line.content()))) {
        Some((line, found)) if found.len() == 1 => {
            lines.next();
            Some((line, line.number(found[0], "the mean in the first line")?))
        }
        _ => None,
    };
    let (rows, width, last) = rows(file, text, lines)?;
    let what = match (mean, width) {
        (Some(_), _) => "a file that begins with its mean (Homa's)",
        (None, 3) => "a file of three columns (ns-2's)",
        _ => "",
    };
    let plain = if measure == Measure::Time { 1e12 } else { 1.0 };
    let scale = match shape.scale {
        Some(scale) => scale,
        None if what.is_empty() => plain,
        None => {
            let one = if measure == Measure::Time { "1 s" } else { "1 B" };
            let other = if measure == Measure::Time { "1 us" } else { "1460 B" };
            let line = mean.map_or(rows[0].line, |(line, _)| line);
            let fault =
                line.fault(line.content(), format!("{what} does not say its unit, so that the scenario has to"));
            return Err(fault.hint(format!(
                "write {{ cdf = \"{file}\", scale = \"{one}\" }}, or for example scale = \"{other}\" if it counts others"
            )));
        }
    };
    for row in &rows {
        let fits = measure.value(&Term::of(row.value * scale, measure));
        fits.map_err(|_| row.line.fault(row.text, "this value is too large"))?;
    }
    let end = end(&rows, last)?;
    let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.value, row.probability / end)).collect();
    let (steps, note) = match mean {
        None => (shape.steps.unwrap_or(false), None),
        Some((line, stated)) => steps_by_mean(line, stated, &points, shape.steps)?,
    };
    let points = if steps { as_steps(&points) } else { points };
    let scaled = points.into_iter().map(|(value, probability)| (value * scale, probability)).collect();
    Ok((Cdf::new(scaled).map_err(|message| last.fault("", message))?, note))
}

/// A line of a distribution.
struct Row<'a> {
    line: Line<'a>,
    /// The text of its value.
    text: &'a str,
    value: f64,
    probability: f64,
}

fn columns(content: &str) -> Vec<&str> {
    content.split([' ', '\t', ',', ';']).filter(|part| !part.is_empty()).collect()
}

/// Returns the rows, the number of their columns, and the last line.
fn rows<'a>(
    file: &'a str,
    text: &'a str,
    lines: impl Iterator<Item = Line<'a>>,
) -> Checked<(Vec<Row<'a>>, usize, Line<'a>)> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut width, mut last) = (0, Line::first(file, text));
    for line in lines {
        let content = line.content();
        let found = columns(content);
        let expected = if width == 3 { "three columns are" } else { "two columns are" };
        let (value, probability) = match found[..] {
            [value, probability] if width != 3 => (value, probability),
            [value, middle, probability] if width != 2 => {
                line.number(middle, "the second of three columns")?;
                (value, probability)
            }
            _ => {
                let what = "a value and its cumulative probability";
                let message = format!("{expected} expected, {what}, not {}", found.len());
                return Err(line.fault(content, message));
            }
        };
        width = found.len();
        let row = Row {
            line,
            text: value,
            value: line.number(value, "the value")?,
            probability: line.number(probability, "the probability")?,
        };
        if row.probability > 100.0 {
            return Err(line.fault(probability, "a probability is at most 1, or 100 in percent"));
        }
        if let Some(before) = rows.last() {
            if row.value < before.value {
                return Err(line.fault(value, "the values must not fall from line to line"));
            }
            if row.probability < before.probability {
                return Err(line.fault(probability, "the probabilities must not fall from line to line"));
            }
        }
        rows.push(row);
        last = line;
    }
    match rows.last() {
        None => Err(last
            .fault("", "the file holds no distribution")
            .hint("each line needs a value and its cumulative probability")),
        Some(row) if row.value == 0.0 => Err(last.fault(last.content(), "all values are 0")),
        Some(_) => Ok((rows, width, last)),
    }
}

/// Returns the last probability: 1, or 100 in percent.
fn end(rows: &[Row], last: Line) -> Checked<f64> {
    let end = rows.last().map_or(0.0, |row| row.probability);
    if end != 1.0 && end != 100.0 {
        let message = format!("the last probability must be 1 (or 100 in percent), not {end}");
        return Err(last.fault(last.content(), message));
    }
    let inner = rows.iter().filter(|row| row.probability > 0.0 && row.probability < end);
    let (few, shares) = inner.fold((0, true), |(few, shares), row| (few + 1, shares && row.probability <= 1.0));
    if end == 100.0 && few > 1 && shares {
        let fault = last.fault(last.content(), "this is 100, and all probabilities before it are at most 1");
        return Err(fault.hint("write all of them from 0 to 1, or all of them in percent"));
    }
    Ok(end)
}

/// Returns the points of the distribution that has only their values.
fn as_steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut before = 0.0;
    let step = |&(value, probability): &(f64, f64)| {
        let both = [(value, before), (value, probability)];
        before = probability;
        both
    };
    points.iter().flat_map(step).collect()
}

/// Returns whether points are steps, by the mean that the file states, and a note if that decided it.
fn steps_by_mean(
    line: Line,
    stated: f64,
    points: &[(f64, f64)],
    told: Option<bool>,
) -> Checked<(bool, Option<String>)> {
    // Means are written with six digits and more, probabilities with six.
    const TOLERANCE: f64 = 2e-3;
    let mean = |points: Vec<(f64, f64)>| Cdf::new(points).map(|cdf| cdf.mean()).map_err(|why| line.fault("", why));
    let (lines, steps) = (mean(points.to_vec())?, mean(as_steps(points))?);
    let is_near = |mean: f64| (mean - stated).abs() <= TOLERANCE * stated;
    let rounded = |mean: f64| Measure::Number.write((mean * 100.0).round() / 100.0);
    let means = format!("the mean is {} with steps and {} without", rounded(steps), rounded(lines));
    let fault = |message: String| line.fault(line.content(), message);
    match told {
        Some(told) if is_near(if told { steps } else { lines }) => Ok((told, None)),
        Some(told) => Err(fault(format!("{means}: with `steps = {told}` it is not the {stated} that the file states"))),
        None if is_near(steps) => {
            let note = format!("{}: read as steps, which have the stated mean {stated}; {means}", line.file);
            Ok((true, Some(note).filter(|_| !is_near(lines))))
        }
        None if is_near(lines) => Ok((false, None)),
        None => Err(fault(format!("{means}: neither is the {stated} that the file states"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Fault, Sources};

    fn shown(fault: Fault) -> String {
        let error = Sources::new("t", "").error(fault);
        format!("{}:{}:{} {}", error.file(), error.line(), error.column(), error.message())
    }

    fn sizes(text: &str, scale: Option<f64>, steps: Option<bool>) -> Result<(Cdf, Option<String>), String> {
        read("sizes.txt", text, Measure::Size, Shape { scale, steps }).map_err(shown)
    }

    fn plain(text: &str) -> Result<Cdf, String> {
        sizes(text, None, None).map(|(cdf, _)| cdf)
    }

    #[test]
    fn distributions_in_shares_or_percent_are_the_same() {
        let a = plain("# bytes share\n100 0.5\n200, 1\n").unwrap();
        assert_eq!(a, plain("100\t50\n\n200 100 # end\n").unwrap());
        let times = read("c", "0.001 0\n0.002 1\n", Measure::Time, Shape::default()).unwrap().0;
        assert_eq!(times.mean(), 1.5e9);
    }

    #[test]
    fn mistakes_in_a_distribution_name_its_line() {
        let wrong = |text| plain(text).unwrap_err();
        assert_eq!(wrong("1 0\n2 x\n"), "sizes.txt:2:3 the probability must be a number of 0 or more, not `x`");
        assert_eq!(wrong("5 0\n2 1\n"), "sizes.txt:2:1 the values must not fall from line to line");
        assert_eq!(wrong("1 0.5\n2 0.4\n"), "sizes.txt:2:3 the probabilities must not fall from line to line");
        assert_eq!(wrong("1 0\n2 0.7\n"), "sizes.txt:2:1 the last probability must be 1 (or 100 in percent), not 0.7");
        assert_eq!(
            wrong("1 0.5\n2 1 1\n"),
            "sizes.txt:2:1 two columns are expected, a value and its cumulative probability, not 3"
        );
        assert_eq!(
            wrong("1 1 0.5\n2 1\n"),
            "sizes.txt:2:1 three columns are expected, a value and its cumulative probability, not 2"
        );
        assert!(wrong("").starts_with("sizes.txt:1:1 "));
        assert_eq!(wrong("0 1\n"), "sizes.txt:1:1 all values are 0");
        assert_eq!(
            wrong("1 0\n2 0.2\n3 0.5\n4 100\n"),
            "sizes.txt:4:1 this is 100, and all probabilities before it are at most 1"
        );
        assert!(plain("1 0\n2 0.5\n3 20\n4 100\n").is_ok(), "percent");
    }

    #[test]
    fn file_that_does_not_begin_as_data_is_not_shown() {
        let secret = "root:$6$salt$hash:19000:0:99999:7:::\ndaemon:*:1 2\n";
        let fault = read("f", secret, Measure::Size, Shape::default()).unwrap_err();
        let error = Sources::new("t", "").error(fault);
        assert!(!error.to_string().contains("root"), "{error}");
    }

    /// Half of the messages have 1 packet and half 3. The mean of steps is 2, of lines 1 / 2 + (1 + 3) / 2 / 2 = 1.5.
    #[test]
    fn files_that_do_not_say_their_unit_need_a_scale() {
        let (ns2, homa) = ("1 1 0.5\n3 1 1\n", "2\n1 0.5\n3 1\n");
        assert_eq!(
            sizes(ns2, None, None).unwrap_err(),
            "sizes.txt:1:1 a file of three columns (ns-2's) does not say its unit, so that the scenario has to"
        );
        assert!(sizes(homa, None, None).unwrap_err().contains("a file that begins with its mean (Homa's)"));
        let mean = |text, steps| sizes(text, Some(1000.0), steps).unwrap().0.mean();
        assert_eq!([None, Some(false), Some(true)].map(|steps| mean(ns2, steps)), [1500.0, 1500.0, 2000.0]);
        assert_eq!(mean(homa, Some(true)), 2000.0);
    }

    #[test]
    fn the_stated_mean_decides_or_refuses() {
        let (cdf, note) = sizes("2\n1 0.5\n3 1\n", Some(1.0), None).unwrap();
        assert_eq!([0.1, 0.49, 0.51, 0.9].map(|u| cdf.quantile(u)), [1.0, 1.0, 3.0, 3.0]);
        let said = "sizes.txt: read as steps, which have the stated mean 2; the mean is 2 with steps and 1.5 without";
        assert_eq!(note.as_deref(), Some(said));
        let (cdf, note) = sizes("1.5\n1 0.5\n3 1\n", Some(1.0), None).unwrap();
        assert_eq!((cdf.quantile(0.75), note), (2.0, None));
        assert_eq!(
            sizes("1.7\n1 0.5\n3 1\n", Some(1.0), None).unwrap_err(),
            "sizes.txt:1:1 the mean is 2 with steps and 1.5 without: neither is the 1.7 that the file states"
        );
        assert_eq!(
            sizes("2\n1 0.5\n3 1\n", Some(1.0), Some(false)).unwrap_err(),
            "sizes.txt:1:1 the mean is 2 with steps and 1.5 without: with `steps = false` it is not the 2 that the file \
             states"
        );
    }
}
