//! From text to a scenario, section by section.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use sim::cutoffs;
use sim::network::Network;
use sim::priorities::Priorities;
use sim::profile::{self, Profile};
use sim::run::{self, Run};
use sim::traffic::Above;
use sim::traffic::Listing;
use sim::{Class, Scenario, Transport, topology};
use units::measure::Measure;
use units::{Instant, Key};

use crate::classes::Classes;
use crate::context::Context;
use crate::document::{self, Data, Entry, Node, Table};
use crate::error::{At, Checked, Error, Fault, Sources, clip};
use crate::evaluate::Parameters;
use crate::explain::{describe, messages_to_draw};
use crate::faults;
use crate::files::Files;
use crate::language::{self, LISTS, ROOT_KEYS, SECTIONS};
use crate::lints;
use crate::overrides;
use crate::presets::Presets;
use crate::suggest;
use crate::survey::Survey;
use crate::transports::{Replacement, Transports, common_transport};
use crate::values::{read_table, read_with_profile};
use crate::variants::{home_of, place, select, unknown_key, with_selector};

/// The text of a scenario, and its origin.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name in messages: the file's path as it was given.
    pub name: &'a str,
    /// The text, in TOML.
    pub text: &'a str,
    /// The folder of relative paths in the scenario; none: the working folder.
    pub folder: Option<&'a Path>,
}

/// A caller's changes to a scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Settings `path=value`, applied in order: `fan_in=20` is a parameter, `run.duration=2 s` a key,
    /// `traffic.web.load=40%` a key of one class.
    pub set: Vec<String>,
    /// A value that replaces `run.seed`.
    pub seed: Option<u64>,
    /// A name that replaces the name of `[transport]`, or the path of a module, with settings of its keys:
    /// `d2tcp:d_cap=4`. Keys that only other transports know are dropped with a note.
    pub transport: Option<String>,
    /// Contents instead of files, by the paths that the scenario names; others are read from the disk.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A scenario that has been read.
pub struct Read {
    /// The scenario, ready to run.
    pub scenario: Scenario,
    /// The whole scenario with every default filled in, written as in a scenario file.
    pub resolved: Json,
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
    /// The further files that it is made from, each once: their paths as the scenario names them.
    pub files: Vec<String>,
}

/// Reads and checks a scenario.
///
/// # Errors
/// The first mistake, with its place and the nearest valid word. It may be in the text, in an option (the file
/// is then called `--set`, `--seed` or `--transports`) or in a file that the scenario names.
pub fn read(source: &Source, options: &Options) -> Result<Read, Error> {
    read_as(source, options, Parts::with_notes)
}

/// Reads a scenario, and returns what `turn` makes of it.
fn read_as<T>(source: &Source, options: &Options, turn: impl FnOnce(Parts, &Sources) -> T) -> Result<T, Error> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let mut sources = Sources::new(source.name, text);
    match scenario(&Source { text, ..*source }, options, &mut sources) {
        Ok(parts) => Ok(turn(parts, &sources)),
        Err(fault) => Err(sources.error(fault)),
    }
}

/// Describes a scenario before it is run: its senders and receivers, the load of each port, and its random parts.
///
/// # Errors
/// As [`read`].
pub fn explain(source: &Source, options: &Options) -> Result<Json, Error> {
    read_as(source, options, |Parts { read, drawn_from, profile, .. }, _| {
        let most = messages_to_draw(&read.scenario.network.graph);
        let mut found = describe(&Survey::new(&read.scenario, &drawn_from, most), profile);
        found["cost"] = crate::cost::of(&read.scenario);
        found
    })
}

/// Returns the expected cost of a run: messages, packets, packet-hops, rows and memory.
///
/// # Errors
/// As [`read`].
pub fn cost(source: &Source, options: &Options) -> Result<Json, Error> {
    read_as(source, options, |parts, _| crate::cost::of(&parts.read.scenario))
}

fn scenario(source: &Source, options: &Options, sources: &mut Sources) -> Checked<Parts> {
    let mut root = document::parse(source.text, 0)?;
    for option in &options.set {
        overrides::set(&mut root, option, sources)?;
    }
    parts(root, source.folder, options, sources)
}

/// A scenario with the input of its notes.
struct Parts {
    read: Read,
    root: Table,
    drawn_from: Vec<Above>,
    profile: Json,
}

impl Parts {
    /// The number of drawn messages: enough to judge a class, and cheap enough for each point of a sweep.
    const MESSAGES: usize = 4000;

    fn with_notes(self, sources: &Sources) -> Read {
        let Parts { mut read, root, drawn_from, .. } = self;
        let survey = Survey::new(&read.scenario, &drawn_from, Parts::MESSAGES);
        let found = lints::notes(&survey, |section, class, key| Some(sources.place(find(&root, section, class, key)?)));
        read.notes.extend(found);
        read
    }
}

/// Returns the place of a key, if it is written: of a class, or in the defaults of all.
fn find(root: &Table, section: &str, class: Option<&str>, key: &str) -> Option<At> {
    let table = |node: &'_ Data, key: &str| match node {
        Data::Table(table) => table.find(key).map(|entry| entry.key_at),
        _ => None,
    };
    let found = &root.find(section)?.node.data;
    let Some(class) = class else { return table(found, key) };
    let Data::Array(items) = found else { return None };
    let named = |item: &&Node| match &item.data {
        Data::Table(table) => table.find("name").and_then(|entry| entry.node.text()) == Some(class),
        _ => false,
    };
    let own = items.iter().find(named).and_then(|item| table(&item.data, key));
    own.or_else(|| match &root.find("defaults")?.node.data {
        Data::Table(defaults) => table(&defaults.find("traffic")?.node.data, key),
        _ => None,
    })
}

/// Reads a scenario whose text was parsed and changed; the option `set` is ignored.
pub(crate) fn of_document(
    root: Table,
    folder: Option<&Path>,
    options: &Options,
    sources: &mut Sources,
) -> Checked<Read> {
    Ok(parts(root, folder, options, sources)?.read)
}

fn parts(mut root: Table, folder: Option<&Path>, options: &Options, sources: &mut Sources) -> Checked<Parts> {
    if let Some(seed) = options.seed {
        overrides::seed(&mut root, seed, sources)?;
    }
    root.entries.iter_mut().for_each(overrides::named_transport);
    check_sections(&root)?;
    let parameters = parameters(&root)?;
    let files = Files::new(folder, &options.files);
    let mut context = Context {
        parameters: &parameters,
        files: &files,
        hosts: None,
        profile: profile::DEFAULT,
        deadline_factor: 1.0,
        requests: None,
    };
    let mut resolved = Map::new();

    let (title, profile) = root_keys(&root, &context)?;
    context.profile = profile;
    resolved.insert("title".into(), json!(title));
    resolved.insert("profile".into(), json!(profile.name));
    if let Some(written) = written_parameters(&root) {
        resolved.insert("parameters".into(), written);
    }
    let (run, written) = run_section(&root, &context)?;
    resolved.insert("run".into(), written);
    context.deadline_factor = run.deadline_factor;
    let mut preset = Presets::default();
    let (network, written) = network(&root, &context, &mut preset)?;
    resolved.insert("network".into(), written);
    context.hosts = Some(network.graph.hosts);
    let (faults, written) = faults::read(&root, &network, &run, &context)?;
    resolved.extend(written.map(|written| ("fault".to_owned(), written)));
    let mut transports = Transports::on(&network, preset);
    let replacement = options
        .transport
        .as_deref()
        .map(|text| Replacement::read(text, sources.add("--transports", text)))
        .transpose()?;
    let common = common_transport(&root, replacement.as_ref(), &context, &mut transports)?;
    if let Some((_, written)) = &common {
        resolved.insert("transport".into(), written.clone());
    }
    let shared = match root.find("transport").map(|entry| &entry.node.data) {
        Some(Data::Table(table)) => Some(table),
        _ => None,
    };
    let common = common.map(|(index, _)| index);
    let reader = Classes { context: &context, network: &network, run: &run, common, shared };
    let (classes, drawn_from, written) = reader.read(&root, &mut transports)?;
    resolved.insert("traffic".into(), written);

    let profile = std::mem::take(&mut transports.preset).describe(context.profile);
    let mut notes = std::mem::take(&mut transports.notes);
    let cutoffs = cutoffs::settle(&mut transports.list, &classes, run.duration.after_start());
    notes.extend(cutoff_notes(&transports.list, cutoffs));
    notes.extend(priority_notes(&transports.list, &classes));
    notes.extend(classes.iter().filter_map(|class| too_late_note(class, run.duration.after_start())));
    notes.extend(files.take_notes());
    parameters.check_unused()?;
    for name in parameters.unused() {
        notes.push(format!("parameter `{name}` is not used by any value"));
    }
    let transport = match reader.common {
        Some(index) => transports.list[index].name.to_owned(),
        None => transports.names(),
    };
    let scenario = Scenario { title, run, network, faults, transport, transports: transports.list, classes };
    if let (Err(problem), Some(Data::Table(table))) =
        (scenario.check(), root.find("network").map(|entry| &entry.node.data))
    {
        return Err(place(table, problem));
    }
    let read = Read { scenario, resolved: Json::Object(resolved), notes, files: files.paths() };
    Ok(Parts { read, root, drawn_from, profile })
}

/// Returns notes on the limits between the classes of switch priorities, for transports whose limits follow from the
/// traffic.
fn priority_notes(transports: &[Transport], classes: &[Class]) -> Vec<String> {
    let priorities = Priorities::of(transports, classes);
    let notes = transports.iter().enumerate().filter_map(|(index, transport)| {
        let left_open = transport.config.priorities()?.limits.is_none();
        let limits = priorities.limits(index).filter(|limits| left_open && !limits.is_empty())?;
        let limits: Vec<String> = limits.iter().map(ToString::to_string).collect();
        Some(format!("{}: the classes of deadlines part at {}", transport.name, limits.join(", ")))
    });
    notes.collect()
}

/// Returns a note for each transport whose levels of unscheduled data follow from the traffic.
fn cutoff_notes(transports: &[Transport], cutoffs: Vec<(usize, Vec<u64>)>) -> impl Iterator<Item = String> {
    cutoffs.into_iter().filter(|(_, ends)| !ends.is_empty()).map(|(index, ends)| {
        let ends: Vec<String> = ends.iter().map(|end| Measure::Size.write(*end as f64)).collect();
        format!("{}: levels for what is sent without a grant end at {}", transports[index].name, ends.join(", "))
    })
}

/// Returns a note on messages of a list that start after the counted time.
fn too_late_note(class: &Class, end: Instant) -> Option<String> {
    let Listing { messages, too_late } = class.generator.listed(end);
    let name = &class.name;
    let (start, are) = if too_late == 1 { ("starts", "is") } else { ("start", "are") };
    (too_late > 0)
        .then(|| format!("{name}: {too_late} of {messages} messages {start} at {end} or later and {are} not counted"))
}

/// Rejects sections that do not exist or are written in the wrong way.
fn check_sections(root: &Table) -> Checked<()> {
    let names = || ROOT_KEYS.iter().map(|key| key.name).chain(SECTIONS.iter().copied());
    for Entry { key, key_at, node } in &root.entries {
        let fault = |message: String| Fault::new(*key_at, message);
        if !names().any(|name| name == key) {
            let section = matches!(node.data, Data::Table(_) | Data::Array(_));
            let unknown = fault(format!("unknown {} `{}`", if section { "section" } else { "key" }, clip(key)));
            let home = (!section).then(|| home_of(key)).flatten();
            return Err(match home {
                Some(home) => unknown.hint(format!("`{key}` belongs in {home}")),
                None => unknown.did_you_mean(suggest::nearest(key, names()), || {
                    format!("the sections are {}", suggest::list(SECTIONS.iter().copied()))
                }),
            });
        }
        let is_list =
            matches!(&node.data, Data::Array(items) if items.iter().all(|item| matches!(item.data, Data::Table(_))));
        match key.as_str() {
            known if ROOT_KEYS.iter().any(|key| key.name == known) => {}
            section if LISTS.contains(&section) && is_list => {}
            section if LISTS.contains(&section) => {
                let what = if section == "traffic" { "traffic class" } else { section };
                return Err(fault(format!("each {what} is a table of a list"))
                    .hint(format!("write [[{section}]] with two brackets")));
            }
            _ if matches!(node.data, Data::Table(_)) => {}
            _ if is_list => {
                return Err(
                    fault(format!("there is one section `{key}`")).hint(format!("write [{key}] with one bracket"))
                );
            }
            _ => {
                return Err(fault(format!("`{key}` is a section, not {}", node.what()))
                    .hint(format!("write [{key}] and its keys below")));
            }
        }
    }
    Ok(())
}

fn section<'a>(root: &'a Table, name: &str, needed: &str) -> Checked<&'a Table> {
    match root.find(name).map(|entry| &entry.node.data) {
        Some(Data::Table(table)) => Ok(table),
        _ => {
            Err(Fault::new(root.at, format!("the section [{name}] is missing"))
                .hint(format!("it needs at least {needed}")))
        }
    }
}

/// Reads the title and the profile.
fn root_keys(root: &Table, context: &Context) -> Checked<(String, &'static Profile)> {
    let is_root = |entry: &&Entry| ROOT_KEYS.iter().any(|key| key.name == entry.key);
    let only = root.entries.iter().filter(is_root).cloned().collect();
    let table = Table { entries: only, at: root.at };
    let keys: Vec<&'static Key> = ROOT_KEYS.iter().collect();
    let read =
        read_table(&table, "the scenario", &keys, &[], context, |entry| Fault::new(entry.key_at, "unknown key"))?;
    let profile = profile::find(read.values.choice("profile")).expect("the key `profile` takes only names of profiles");
    Ok((read.values.text("title"), profile))
}

fn parameters(root: &Table) -> Checked<Parameters> {
    let mut nodes = BTreeMap::new();
    if let Some(Data::Table(table)) = root.find("parameters").map(|entry| &entry.node.data) {
        for Entry { key, key_at, node } in &table.entries {
            if !key.chars().all(|c| c.is_alphanumeric() || c == '_') || key.starts_with(|c: char| c.is_numeric()) {
                let fault = Fault::new(*key_at, format!("`{}` cannot be the name of a parameter", clip(key)));
                return Err(
                    fault.hint("a name has letters, digits and underscores, so that `$name` can stand in expressions")
                );
            }
            if !matches!(node.data, Data::Bool(_) | Data::Integer(_) | Data::Float(_) | Data::Text(_)) {
                return Err(node.fault(format!("a parameter is a number or a text, not {}", node.what())));
            }
            nodes.insert(key.clone(), node.clone());
        }
    }
    Ok(Parameters::new(nodes))
}

fn written_parameters(root: &Table) -> Option<Json> {
    let Data::Table(table) = &root.find("parameters")?.node.data else { return None };
    let value = |node: &Node| match &node.data {
        Data::Bool(x) => json!(x),
        Data::Integer(x) => i64::try_from(*x).map_or(json!(*x as f64), |x| json!(x)),
        Data::Float(x) => json!(x),
        Data::Text(x) => json!(x),
        _ => Json::Null,
    };
    let entries = table.entries.iter().map(|entry| (entry.key.clone(), value(&entry.node)));
    Some(Json::Object(entries.collect()))
}

fn run_section(root: &Table, context: &Context) -> Checked<(Run, Json)> {
    const MAX_SAMPLES: u64 = 10_000_000;
    let table = section(root, "run", "duration = \"1 s\"")?;
    let unknown = |keys: &'static [Key], title: &'static str, more: &'static [&'static str]| {
        move |entry: &Entry| {
            let names = || keys.iter().map(|key| key.name).chain(more.iter().copied());
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in {title}", clip(&entry.key)));
            match home_of(&entry.key).filter(|home| *home != "[run]") {
                Some(home) => fault.hint(format!("`{}` belongs in {home}", entry.key)),
                None => fault.did_you_mean(suggest::nearest(&entry.key, names()), || {
                    format!("its keys are {}", suggest::list(names()))
                }),
            }
        }
    };
    let keys: Vec<&'static Key> = run::KEYS.iter().collect();
    let read = read_table(table, "[run]", &keys, &["trace"], context, unknown(run::KEYS, "[run]", &["trace"]))?;
    let mut written = read.written;
    let at = |key: &str| table.find(key).map_or(table.at, |entry| entry.node.at);
    let trace = match table.find("trace") {
        None => None,
        Some(Entry { node, .. }) => {
            let Data::Table(table) = &node.data else {
                let fault = node.fault(format!("`trace` is a table, not {}", node.what()));
                return Err(fault.hint("write trace = { every = \"1 ms\", what = [\"queue\"] }"));
            };
            let keys: Vec<&'static Key> = run::TRACE_KEYS.iter().collect();
            let read = read_table(table, "`trace`", &keys, &[], context, unknown(run::TRACE_KEYS, "`trace`", &[]))?;
            written.insert("trace".into(), Json::Object(read.written));
            Some((read.values, table))
        }
    };
    let run = Run::from_values(&read.values, trace.as_ref().map(|(values, _)| values));
    if run.warm_up >= run.duration {
        let message = format!("the warm-up ({}) must be shorter than the duration ({})", run.warm_up, run.duration);
        return Err(Fault::new(at("warm_up"), message));
    }
    if let (Some(settings), Some((_, table))) = (&run.trace, &trace) {
        let samples = run.duration.0 / settings.every.0.max(1);
        if samples > MAX_SAMPLES {
            let at = table.find("every").map_or(table.at, |entry| entry.node.at);
            let message = format!("{samples} samples would be taken, at most {MAX_SAMPLES} are possible");
            return Err(Fault::new(at, message).hint("take a longer time between two samples"));
        }
    }
    Ok((run, Json::Object(written)))
}

fn network(root: &Table, context: &Context, preset: &mut Presets) -> Checked<(Network, Json)> {
    let needed = "topology = \"star\", hosts = 5, rate = \"10 Gbps\" and delay = \"20 us\"";
    let table = section(root, "network", needed)?;
    let family = language::topologies();
    let variant = select(&family, table, "[network]", context)?;
    let unknown = |entry: &Entry| unknown_key(&family, variant, "[network]", entry);
    let setting = |name: &str| context.profile.find("network", name);
    let keys = (&*variant.keys, family.selector);
    let read = read_with_profile(table, "[network]", keys, context, None, |key| setting(key.name), unknown)?;
    preset.add("[network]", table, &read.written, setting);
    let descriptor = topology::find(variant.name).expect("the family is made of the list");
    let graph = descriptor.graph(&read.values).map_err(|problem| place(table, problem))?;
    let network = Network::from_values(&read.values, graph).map_err(|problem| place(table, problem))?;
    Ok((network, with_selector(&family, variant, read.written)))
}
