//! Sweeps: a file that names a scenario and the changes to it, point by point.
//!
//! ```toml
//! scenario = "oldi.toml"
//! transports = ["dctcp", "d2tcp"]
//! seeds = 3
//! [grid]                              # every combination
//! fan_in = [20, 40]
//! network.mark = ["20 packets", "65 packets"]
//! [list]                              # side by side
//! network.rate = ["1 Gbps", "10 Gbps"]
//! network.buffer = ["50 KB", "500 KB"]
//! [sample]                            # drawn at random
//! count = 10
//! transport.g = "log-uniform(0.01, 0.5)"
//! ```

use std::path::Path;

use serde_json::{Map, Value as Json, json};
use units::{Stream, counted};

use crate::document::{self, Data, Entry, Node, Table};
use crate::error::{At, Checked, Error, Fault, Sources, clip};
use crate::files::Files;
use crate::read::{self, Options, Source};
use crate::table::only;
use crate::{language, overrides, plugins, suggest, toml_text};

/// A sweep that has been read, of which at least one point is a valid scenario.
#[derive(Debug)]
pub struct Sweep {
    /// Its own title, or else the scenario's.
    pub title: String,
    /// The scenario's path as the file names it.
    pub scenario: String,
    /// The names that replace the name in `[transport]`, one after the other; none: the scenario's own.
    pub transports: Option<Vec<String>>,
    /// The seeds: each point runs with each.
    pub seeds: Vec<u64>,
    /// Changes common to all points, as `--set` takes them.
    pub set: Vec<String>,
    /// The keys that differ from point to point.
    pub axes: Vec<String>,
    /// For each point the values of the axes.
    pub points: Vec<Vec<Json>>,
}

impl Sweep {
    /// Returns all of it as JSON; `changes` are the values of each point as `--set` takes them.
    pub fn to_json(&self) -> Json {
        let changes = |values: &Vec<Json>| -> Vec<String> {
            self.axes.iter().zip(values).map(|(path, value)| option(path, value)).collect()
        };
        json!({
            "title": self.title, "scenario": self.scenario, "transports": self.transports, "seeds": self.seeds,
            "set": self.set, "axes": self.axes, "points": self.points,
            "changes": self.points.iter().map(changes).collect::<Vec<_>>(),
        })
    }
}

fn option(path: &str, value: &Json) -> String {
    format!("{path}={}", toml_text::inline(value))
}

/// Maximum number of points, transports and seeds of a sweep, multiplied.
const MAX_RUNS: usize = 1_000_000;
const KEYS: [&str; 8] = ["title", "scenario", "transports", "seeds", "set", "grid", "list", "sample"];

/// Reads a sweep, and checks its points until one is a valid scenario.
///
/// # Errors
/// The first mistake, with its place and the nearest valid word; when no point is valid, the mistake of the first.
pub fn read_sweep(source: &Source) -> Result<Sweep, Error> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let mut sources = Sources::new(source.name, text);
    sweep(text, source.folder, &mut sources).map_err(|fault| sources.error(fault))
}

fn sweep(text: &str, folder: Option<&Path>, sources: &mut Sources) -> Checked<Sweep> {
    let root = document::parse(text, 0)?;
    only(&root, "a sweep", &KEYS)?;
    finite(&root)?;
    let base = Base::read(&root, folder, sources)?;
    let transports = transports(&root)?;
    let design = Design::read(&root)?;
    let points = design.points()?;
    let seeds = Seeds::read(&root)?;

    let axes = design.axes();
    let valid = base.first_valid(&design.set, &axes, &points, transports.as_deref(), sources)?;
    let seeds = seeds.from(valid["run"]["seed"].as_u64().unwrap_or(1));
    let runs = points.len().saturating_mul(seeds.len()).saturating_mul(transports.as_ref().map_or(1, Vec::len));
    if runs > MAX_RUNS {
        return Err(Fault::new(root.at, format!("this sweep has {runs} runs, at most {MAX_RUNS} are possible")));
    }
    let title = match root.find("title") {
        None => valid["title"].as_str().unwrap_or_default().to_owned(),
        Some(entry) => entry.node.text().ok_or_else(|| entry.node.fault("`title` is a text"))?.to_owned(),
    };
    Ok(Sweep {
        title,
        scenario: base.path,
        transports,
        seeds,
        set: design.set.iter().map(|(axis, value)| option(&axis.path, &json(value))).collect(),
        axes: axes.iter().map(|axis| axis.path.clone()).collect(),
        points: points.iter().map(|point| point.iter().map(json).collect()).collect(),
    })
}

/// Rejects `nan` and `inf`: points are kept as JSON, which has neither.
fn finite(table: &Table) -> Checked<()> {
    fn look(node: &Node) -> Checked<()> {
        match &node.data {
            Data::Float(x) if !x.is_finite() => Err(node.fault("this number is not finite")),
            Data::Array(items) => items.iter().try_for_each(look),
            Data::Table(inside) => finite(inside),
            _ => Ok(()),
        }
    }
    table.entries.iter().try_for_each(|entry| look(&entry.node))
}

/// The scenario that the points change.
struct Base {
    path: String,
    root: Table,
    folder: std::path::PathBuf,
}

impl Base {
    fn read(root: &Table, folder: Option<&Path>, sources: &mut Sources) -> Checked<Base> {
        let Some(entry) = root.find("scenario") else {
            let fault = Fault::new(root.at, "a sweep lacks `scenario`: the file that it starts from");
            return Err(fault.hint("write for example scenario = \"oldi.toml\""));
        };
        let Some(path) = entry.node.text() else {
            return Err(entry.node.fault(format!("`scenario` is the path of a file, not {}", entry.node.what())));
        };
        let text = Files::new(folder, &Default::default()).read(path, entry.node.at, None)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let full = folder.unwrap_or(Path::new("")).join(path);
        let source = sources.add(&full.to_string_lossy(), text);
        let inside = full.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Base { path: path.to_owned(), root: document::parse(text, source)?, folder: inside })
    }

    /// Returns the first valid point with every default filled in, or the first fault.
    fn first_valid(
        &self,
        set: &[(Axis, Node)],
        axes: &[&Axis],
        points: &[Vec<Node>],
        transports: Option<&[String]>,
        sources: &mut Sources,
    ) -> Checked<Json> {
        // Every mistake of a file shows in few points; checking all of a large sweep would take long.
        const ENOUGH: usize = 1000;
        let names: Vec<Option<String>> =
            transports.map_or(vec![None], |names| names.iter().cloned().map(Some).collect());
        let mut first = None;
        for point in points.iter().take(ENOUGH) {
            for transport in &names {
                let changes = set.iter().map(|(axis, value)| (axis, value)).chain(axes.iter().copied().zip(point));
                match self.with(changes, transport.clone(), sources) {
                    Ok(resolved) => return Ok(resolved),
                    Err(fault) => first = first.or(Some(fault)),
                }
            }
        }
        Err(first.expect("a sweep has at least one point"))
    }

    fn with<'a>(
        &self,
        changes: impl Iterator<Item = (&'a Axis, &'a Node)>,
        transport: Option<String>,
        sources: &mut Sources,
    ) -> Checked<Json> {
        let mut root = self.root.clone();
        for (axis, value) in changes {
            overrides::change(&mut root, &axis.path, &axis.places, value.clone())?;
        }
        let options = Options { transport, ..Options::default() };
        Ok(read::of_document(root, Some(&self.folder), &options, sources)?.resolved)
    }
}

fn transports(root: &Table) -> Checked<Option<Vec<String>>> {
    let Some(entry) = root.find("transports") else { return Ok(None) };
    let family = language::transport_family();
    let mut names: Vec<String> = Vec::new();
    for node in items(entry, "names of transports")? {
        let Some(name) = node.text() else {
            return Err(node.fault(format!("a transport is a name, not {}", node.what())));
        };
        let alone = name.split(':').next().unwrap_or_default();
        if !plugins::is_path(alone) && family.find(alone).is_none() {
            let fault = node.fault(format!("there is no transport `{}`", clip(name)));
            return Err(fault.did_you_mean(suggest::nearest(name, family.names()), || {
                format!("the transports are {}", suggest::list(family.names()))
            }));
        }
        if names.iter().any(|known| known == name) {
            return Err(node.fault(format!("`{name}` is named twice")));
        }
        names.push(name.to_owned());
    }
    Ok(Some(names))
}

/// Returns the elements of a list that must not be empty.
fn items<'a>(entry: &'a Entry, what: &str) -> Checked<&'a [Node]> {
    match &entry.node.data {
        Data::Array(items) if !items.is_empty() => Ok(items),
        Data::Array(_) => Err(entry.node.fault(format!("`{}` is an empty list", clip(&entry.key)))),
        _ => Err(entry.node.fault(format!("`{}` is a list of {what}, not {}", clip(&entry.key), entry.node.what()))),
    }
}

/// The seeds of every point.
enum Seeds {
    /// A number of seeds, counted up from the scenario's.
    Count(u64),
    These(Vec<u64>),
}

impl Seeds {
    fn read(root: &Table) -> Checked<Seeds> {
        let Some(entry) = root.find("seeds") else { return Ok(Seeds::Count(1)) };
        if !matches!(entry.node.data, Data::Array(_)) {
            return whole(&entry.node, "`seeds`", 1).map(Seeds::Count);
        }
        let mut seeds = Vec::new();
        for node in items(entry, "numbers")? {
            let seed = whole(node, "a seed", 0)?;
            if seeds.contains(&seed) {
                return Err(node.fault(format!("the seed {seed} appears twice")));
            }
            seeds.push(seed);
        }
        Ok(Seeds::These(seeds))
    }

    fn from(self, first: u64) -> Vec<u64> {
        match self {
            Seeds::These(seeds) => seeds,
            Seeds::Count(count) => (first..=u64::MAX).take(count as usize).collect(),
        }
    }
}

fn whole(node: &Node, what: &str, least: u64) -> Checked<u64> {
    match node.data {
        // A million seeds are more than anyone has; it keeps a slip from filling the memory.
        Data::Integer(x) if x >= i128::from(least) && (least == 0 || x <= MAX_RUNS as i128) => {
            u64::try_from(x).map_err(|_| node.fault(format!("{what} is too large")))
        }
        _ if least == 0 => Err(node.fault(format!("{what} must be a whole number of 0 or more"))),
        _ => Err(node.fault(format!("{what} must be a whole number from {least} to {MAX_RUNS}"))),
    }
}

/// A key that is changed, and where it is written.
#[derive(Clone, Debug)]
struct Axis {
    path: String,
    /// The place of each word of the path; words in one pair of quotes share theirs.
    places: Vec<At>,
}

impl Axis {
    fn at(&self) -> At {
        *self.places.last().expect("a path has a word")
    }
}

/// The changes that the file makes.
struct Design {
    set: Vec<(Axis, Node)>,
    grid: Vec<(Axis, Vec<Node>)>,
    list: Vec<(Axis, Vec<Node>)>,
    sample: Vec<(Axis, Vec<Node>)>,
}

impl Design {
    fn read(root: &Table) -> Checked<Design> {
        let set = leaves(root, "set")?.into_iter().map(|(axis, entry)| (axis, entry.node.clone())).collect();
        let values = |(axis, entry): (Axis, &Entry)| Ok((axis, items(entry, "values")?.to_vec()));
        let grid = leaves(root, "grid")?.into_iter().map(values).collect::<Checked<Vec<_>>>()?;
        let list = leaves(root, "list")?.into_iter().map(values).collect::<Checked<Vec<_>>>()?;
        if let Some((first, others)) = list.split_first()
            && let Some((axis, values)) = others.iter().find(|(_, values)| values.len() != first.1.len())
        {
            let (axis, n, m) = (axis, values.len(), first.1.len());
            let n = counted(n as u64, "value");
            let message = format!("`{}` has {n} and `{}` has {m}", axis.path, first.0.path);
            return Err(
                Fault::new(axis.at(), message).hint("the lists of [list] go side by side: give as many of each")
            );
        }
        let design = Design { set, grid, list, sample: sample(root)? };
        design.check_keys()?;
        Ok(design)
    }

    fn axes(&self) -> Vec<&Axis> {
        [&self.grid, &self.list, &self.sample].into_iter().flatten().map(|(axis, _)| axis).collect()
    }

    /// Rejects keys that appear twice, or that have a key of their own.
    fn check_keys(&self) -> Checked<()> {
        let mut seen: Vec<&str> = Vec::new();
        for axis in self.set.iter().map(|(axis, _)| axis).chain(self.axes()) {
            if axis.path == "run.seed" {
                let fault = Fault::new(axis.at(), "seeds have a key of their own in a sweep");
                return Err(fault.hint("write seeds = 5 or seeds = [1, 2, 3] at the top"));
            }
            if seen.contains(&axis.path.as_str()) {
                return Err(Fault::new(axis.at(), format!("`{}` appears twice", clip(&axis.path))));
            }
            seen.push(&axis.path);
        }
        Ok(())
    }

    /// Returns every combination of the grid, with every row of the list, with every draw.
    fn points(&self) -> Checked<Vec<Vec<Node>>> {
        let rows = |columns: &[(Axis, Vec<Node>)]| match columns.first() {
            None => vec![Vec::new()],
            Some((_, first)) => {
                (0..first.len()).map(|i| columns.iter().map(|(_, values)| values[i].clone()).collect()).collect()
            }
        };
        let one = |(_, values): &(Axis, Vec<Node>)| values.iter().map(|value| vec![value.clone()]).collect();
        let factors: Vec<Vec<Vec<Node>>> =
            self.grid.iter().map(one).chain([rows(&self.list), rows(&self.sample)]).collect();
        let count = factors.iter().try_fold(1usize, |count, factor| count.checked_mul(factor.len()));
        if count.is_none_or(|count| count > MAX_RUNS) {
            let at = self.axes().first().map_or(At::new(0, 0..0), |axis| axis.at());
            let message = format!("a sweep has at most {MAX_RUNS} runs");
            return Err(Fault::new(at, message));
        }
        let start = vec![Vec::new()];
        Ok(factors.iter().fold(start, |points, factor| {
            points.iter().flat_map(|point| factor.iter().map(|more| [&point[..], more].concat())).collect()
        }))
    }
}

/// Returns the keys of a section with their paths, in the order of the file: tables inside are words of the path.
fn leaves<'a>(root: &'a Table, section: &str) -> Checked<Vec<(Axis, &'a Entry)>> {
    let Some(entry) = root.find(section) else { return Ok(Vec::new()) };
    let Data::Table(table) = &entry.node.data else {
        return Err(entry.node.fault(format!("`{section}` is a section, not {}", entry.node.what())));
    };
    let mut found = Vec::new();
    walk(table, None, &mut found);
    found.sort_by_key(|(axis, _)| axis.at().start());
    Ok(found)
}

fn walk<'a>(table: &'a Table, before: Option<&Axis>, found: &mut Vec<(Axis, &'a Entry)>) {
    for entry in &table.entries {
        let places = entry.key.split('.').map(|_| entry.key_at);
        let axis = match before {
            None => Axis { path: entry.key.trim_start_matches('$').to_owned(), places: places.collect() },
            Some(before) => Axis {
                path: format!("{}.{}", before.path, entry.key),
                places: before.places.iter().copied().chain(places).collect(),
            },
        };
        match &entry.node.data {
            Data::Table(inside) => walk(inside, Some(&axis), found),
            _ => found.push((axis, entry)),
        }
    }
}

/// Reads `[sample]`: for each key its drawn values.
fn sample(root: &Table) -> Checked<Vec<(Axis, Vec<Node>)>> {
    let Some(entry) = root.find("sample") else { return Ok(Vec::new()) };
    let leaves = leaves(root, "sample")?;
    // Parameters of these names are written with their $.
    let own = |name: &str| leaves.iter().find(|(_, entry)| entry.key == name).map(|(_, entry)| *entry);
    let Some(count) = own("count") else {
        return Err(
            Fault::new(entry.key_at, "[sample] lacks `count`: how many points to draw").hint("write count = 50")
        );
    };
    let count = whole(&count.node, "`count`", 1)?;
    let seed = own("seed").map_or(Ok(1), |entry| whole(&entry.node, "`seed`", 0))?;
    let drawn = leaves.iter().filter(|(_, entry)| !["count", "seed"].contains(&entry.key.as_str()));
    let columns = drawn.map(|(axis, entry)| {
        // A stream for each key: adding one does not change the draws of the others.
        let mut stream = Stream::new(seed, &axis.path, 0);
        let draw = Draw::read(&entry.node)?;
        Ok((axis.clone(), (0..count).map(|_| draw.one(&entry.node, &mut stream)).collect()))
    });
    let columns = columns.collect::<Checked<Vec<_>>>()?;
    match columns.is_empty() {
        true => Err(Fault::new(entry.key_at, "[sample] names no key to draw")
            .hint("write for example transport.g = \"uniform(0.01, 0.5)\"")),
        false => Ok(columns),
    }
}

/// The way in which a value is drawn.
enum Draw<'a> {
    Choice(&'a [Node]),
    Range { from: f64, to: f64, unit: &'a str, log: bool, whole: bool },
}

const DRAWS: [&str; 2] = ["uniform", "log-uniform"];
const DRAW_HINT: &str = "write \"uniform(1 ms, 5 ms)\", \"log-uniform(0.01, 1)\" or a list to choose from";

impl Draw<'_> {
    fn read(node: &Node) -> Checked<Draw<'_>> {
        if let Data::Array(items) = &node.data
            && !items.is_empty()
        {
            return Ok(Draw::Choice(items));
        }
        let wrong = || node.fault("this is no distribution to draw from").hint(DRAW_HINT);
        let text = node.text().ok_or_else(wrong)?;
        let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
        let name = name.trim();
        if !DRAWS.contains(&name) {
            let fault = node.fault(format!("there is no distribution `{}` in a sweep", clip(name)));
            return Err(fault.did_you_mean(suggest::nearest(name, DRAWS), || DRAW_HINT.into()));
        }
        let (ends, after) = rest.rsplit_once(')').ok_or_else(wrong)?;
        let (from, to) = ends.split_once(',').filter(|_| after.trim().is_empty()).ok_or_else(wrong)?;
        let ((from, unit, a), (to, other, b)) = (quantity(from).ok_or_else(wrong)?, quantity(to).ok_or_else(wrong)?);
        if unit != other {
            return Err(node.fault("both ends must have the same unit").hint(DRAW_HINT));
        }
        let log = name == "log-uniform";
        if from > to || log && from <= 0.0 {
            let above = if log { ", both above 0" } else { "" };
            return Err(node.fault(format!("the first end must not be above the second{above}")));
        }
        // Counts are whole: 10 to 20, or 10 packets to 20 packets, but not 1 ms to 5 ms.
        let whole = a && b && ["", "packets", "packet"].contains(&unit);
        Ok(Draw::Range { from, to, unit, log, whole })
    }

    fn one(&self, node: &Node, stream: &mut Stream) -> Node {
        let data = match self {
            Draw::Choice(items) => return items[stream.below(items.len() as u64) as usize].clone(),
            &Draw::Range { from, to, unit, log, whole } => {
                let x = match (whole, log) {
                    (true, false) => from + stream.below((to - from) as u64 + 1) as f64,
                    (_, false) => from + (to - from) * stream.unit(),
                    (_, true) => from * libm::pow(to / from, stream.unit()),
                };
                let x = if whole { x.round() } else { six_digits(x).clamp(from, to) };
                match (unit, whole) {
                    ("", true) => Data::Integer(x as i128),
                    ("", false) => Data::Float(x),
                    _ => Data::Text(format!("{x} {unit}")),
                }
            }
        };
        Node::new(data, node.at)
    }
}

/// Reads a number, its unit, and whether it is written as a whole number.
fn quantity(text: &str) -> Option<(f64, &str, bool)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".+-".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let value: f64 = number.parse().ok().filter(|x: &f64| x.is_finite() && x.abs() < 1e15)?;
    Some((value, unit.trim(), number.parse::<i64>().is_ok()))
}

/// Rounds to six digits: enough for any purpose, and short in tables.
fn six_digits(x: f64) -> f64 {
    format!("{x:.5e}").parse().expect("what `format!` writes of a number is a number")
}

fn json(node: &Node) -> Json {
    match &node.data {
        Data::Bool(x) => json!(x),
        Data::Integer(x) => i64::try_from(*x).map_or(json!(*x as f64), |x| json!(x)),
        Data::Float(x) => json!(x),
        Data::Text(x) => json!(x),
        Data::Array(items) => Json::Array(items.iter().map(json).collect()),
        Data::Table(table) => Json::Object(
            table.entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect::<Map<_, _>>(),
        ),
        Data::Date => Json::Null,
    }
}
