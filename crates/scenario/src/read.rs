//! From text to a scenario: the sections in turn.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use sim::network::Network;
use sim::run::{self, Run};
use sim::{Class, Problem, Scenario, Transport, topology, traffic};
use units::Key;

use crate::document::{self, Data, Entry, Node, Table};
use crate::error::{At, Checked, Error, Fault, Sources};
use crate::language::{self, Family, ROOT_KEYS, SECTIONS, Variant};
use crate::overrides;
use crate::quantity::Parameters;
use crate::suggest;
use crate::values::{self, Context, clip};

/// The text of a scenario, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// How messages call it: the file's path as it was given.
    pub name: &'a str,
    /// TOML.
    pub text: &'a str,
    /// Where relative paths in the scenario start; none: the working folder.
    pub folder: Option<&'a Path>,
}

/// What a caller changes about a scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `path=value`, applied in turn: `fan_in=20` is a parameter, `run.duration=2 s` a key,
    /// `traffic.web.load=40%` a key of one class.
    pub set: Vec<String>,
    /// Replaces `run.seed`.
    pub seed: Option<u64>,
    /// Replaces the name of `[transport]`. Keys that only other transports know are dropped with a note.
    pub transport: Option<String>,
}

/// A scenario that has been read.
pub struct Read {
    /// Ready to run.
    pub scenario: Scenario,
    /// All of it with every default filled in, written as in a scenario file.
    pub resolved: Json,
    /// What a person should know, one sentence each.
    pub notes: Vec<String>,
}

/// Reads and checks a scenario.
///
/// # Errors
/// The first mistake, with its place and the nearest valid word: in the text, in an option (the file
/// is then called `--set`, `--seed` or `--transport`) or in a file that the scenario names.
pub fn read(source: &Source, options: &Options) -> Result<Read, Error> {
    let mut sources = Sources::new(source.name, source.text);
    scenario(source, options, &mut sources).map_err(|fault| sources.error(fault))
}

fn scenario(source: &Source, options: &Options, sources: &mut Sources) -> Checked<Read> {
    let mut root = document::parse(source.text)?;
    for option in &options.set {
        overrides::set(&mut root, option, sources)?;
    }
    if let Some(seed) = options.seed {
        overrides::seed(&mut root, seed, sources)?;
    }
    root.entries.iter_mut().for_each(overrides::named_transport);
    check_sections(&root)?;
    let parameters = parameters(&root)?;
    let mut context = Context { parameters: &parameters, folder: source.folder, hosts: None };
    let mut notes = Vec::new();
    let mut resolved = Map::new();

    let title = title(&root, &context)?;
    resolved.insert("title".into(), json!(title));
    if let Some(written) = written_parameters(&root) {
        resolved.insert("parameters".into(), written);
    }
    let (run, written) = run_section(&root, &context)?;
    resolved.insert("run".into(), written);
    let (network, written) = network(&root, &context)?;
    resolved.insert("network".into(), written);
    context.hosts = Some(network.graph.hosts);
    let mut transports = Transports::default();
    let replacement = options
        .transport
        .as_deref()
        .map(|name| Replacement { name, at: At::new(sources.add("--transport", name), 0..name.len()) });
    let common = common_transport(&root, replacement.as_ref(), &context, &mut transports, &mut notes)?;
    if let Some((_, written)) = &common {
        resolved.insert("transport".into(), written.clone());
    }
    let reader = Classes { context: &context, network: &network, run: &run, common: common.map(|(index, _)| index) };
    let (classes, written) = reader.read(&root, &mut transports)?;
    resolved.insert("traffic".into(), written);

    for name in parameters.unused() {
        notes.push(format!("parameter `{name}` is not used by any value"));
    }
    let transport = match reader.common {
        Some(index) => transports.list[index].name.to_owned(),
        None => transports.names(),
    };
    let scenario = Scenario { title, run, network, transport, transports: transports.list, classes };
    Ok(Read { scenario, resolved: Json::Object(resolved), notes })
}

/// Refuses sections that do not exist or are written in the wrong way.
fn check_sections(root: &Table) -> Checked<()> {
    let names = || ROOT_KEYS.iter().map(|key| key.name).chain(SECTIONS.iter().copied());
    for Entry { key, key_at, node } in &root.entries {
        let fault = |message: String| Fault::new(*key_at, message);
        if !names().any(|name| name == key) {
            let section = matches!(node.data, Data::Table(_) | Data::Array(_));
            let unknown = fault(format!("unknown {} `{}`", if section { "section" } else { "key" }, clip(key)));
            let home = (!section).then(|| home_of(key)).flatten();
            return Err(match home {
                Some(home) => unknown.hint(format!("`{key}` belongs into {home}")),
                None => unknown.did_you_mean(suggest::nearest(key, names()), || {
                    format!("the sections are {}", suggest::list(SECTIONS.iter().copied()))
                }),
            });
        }
        let is_list =
            matches!(&node.data, Data::Array(items) if items.iter().all(|item| matches!(item.data, Data::Table(_))));
        match key.as_str() {
            "title" => {}
            "traffic" if is_list => {}
            "traffic" => {
                return Err(
                    fault("each traffic class is a table of a list".into()).hint("write [[traffic]] with two brackets")
                );
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

/// The section that a key belongs into.
fn home_of(key: &str) -> Option<&'static str> {
    match language::path_of(key)?.split('.').next()? {
        "run" => Some("[run]"),
        "network" => Some("[network]"),
        "transport" => Some("[transport]"),
        _ => Some("[[traffic]]"),
    }
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

fn title(root: &Table, context: &Context) -> Checked<String> {
    let only = root.entries.iter().filter(|entry| entry.key == "title").cloned().collect();
    let table = Table { entries: only, at: root.at };
    let keys: Vec<&'static Key> = ROOT_KEYS.iter().collect();
    let read = values::read_table(&table, "the scenario", &keys, &[], context, |entry| {
        Fault::new(entry.key_at, "unknown key")
    })?;
    Ok(read.values.text("title"))
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
    const MOST_SAMPLES: u64 = 10_000_000;
    let table = section(root, "run", "duration = \"1 s\"")?;
    let unknown = |keys: &'static [Key], title: &'static str, more: &'static [&'static str]| {
        move |entry: &Entry| {
            let names = || keys.iter().map(|key| key.name).chain(more.iter().copied());
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in {title}", clip(&entry.key)));
            match home_of(&entry.key).filter(|home| *home != "[run]") {
                Some(home) => fault.hint(format!("`{}` belongs into {home}", entry.key)),
                None => fault.did_you_mean(suggest::nearest(&entry.key, names()), || {
                    format!("its keys are {}", suggest::list(names()))
                }),
            }
        }
    };
    let keys: Vec<&'static Key> = run::KEYS.iter().collect();
    let read = values::read_table(table, "[run]", &keys, &["trace"], context, unknown(run::KEYS, "[run]", &["trace"]))?;
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
            let read =
                values::read_table(table, "`trace`", &keys, &[], context, unknown(run::TRACE_KEYS, "`trace`", &[]))?;
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
        if samples > MOST_SAMPLES {
            let at = table.find("every").map_or(table.at, |entry| entry.node.at);
            let message = format!("{samples} samples would be taken, at most {MOST_SAMPLES} are possible");
            return Err(Fault::new(at, message).hint("take a longer time between two samples"));
        }
    }
    Ok((run, Json::Object(written)))
}

fn network(root: &Table, context: &Context) -> Checked<(Network, Json)> {
    let needed = "topology = \"star\", hosts = 5, rate = \"10 Gbps\" and delay = \"20 us\"";
    let table = section(root, "network", needed)?;
    let family = language::topologies();
    let variant = select(&family, table, "[network]", context)?;
    let unknown = |entry: &Entry| unknown_key(&family, variant, "[network]", entry);
    let read = values::read_table(table, "[network]", &variant.keys, &[family.selector], context, unknown)?;
    let descriptor = topology::find(variant.name).expect("the family is made of the list");
    let graph = (descriptor.build)(&read.values).map_err(|problem| place(table, problem))?;
    Ok((Network::from_values(&read.values, graph), with_selector(&family, variant, read.written)))
}

/// The place of a problem among the keys of a table.
fn place(table: &Table, problem: Problem) -> Fault {
    let at = table.find(problem.key).map_or(table.at, |entry| entry.node.at);
    Fault::new(at, format!("`{}`: {}", problem.key, problem.message))
}

fn with_selector(family: &Family, variant: &Variant, written: Map<String, Json>) -> Json {
    let selector = (family.selector.to_owned(), json!(variant.name));
    Json::Object(std::iter::once(selector).chain(written).collect())
}

/// The variant that a table names.
fn select<'a>(family: &'a Family, table: &Table, title: &str, context: &Context) -> Checked<&'a Variant> {
    let names = || suggest::list(family.names()).replace(" and ", " or ");
    let Some(entry) = table.find(family.selector) else {
        // A typing mistake in the selector itself is the likelier reason.
        let words = || family.key_names().into_iter().chain([family.selector, "transport"]);
        if let Some(entry) = table.entries.iter().find(|entry| words().all(|word| word != entry.key)) {
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in {title}", clip(&entry.key)));
            return Err(fault
                .did_you_mean(suggest::nearest(&entry.key, [family.selector].into_iter().chain(words())), || {
                    format!("{title} also lacks `{}`", family.selector)
                }));
        }
        let fault = Fault::new(table.at, format!("{title} lacks `{}`: {}", family.selector, family.help));
        return Err(fault.hint(format!("expected one of {}", names())));
    };
    let node = context.parameters.resolve(&entry.node)?;
    let Some(name) = node.text() else {
        return Err(node
            .fault(format!("`{}` is a name, not {}", family.selector, node.what()))
            .hint(format!("expected {}", names())));
    };
    family.find(name).ok_or_else(|| {
        let fault = node.fault(format!("there is no {} `{}`", family.what, clip(name)));
        match suggest::nearest(name, family.names()) {
            Some(near) => fault.hint(format!("did you mean `{near}`? (expected {})", names())),
            None => fault.hint(format!("expected {}", names())),
        }
    })
}

/// A key that the variant does not know.
fn unknown_key(family: &Family, variant: &Variant, title: &str, entry: &Entry) -> Fault {
    let key = &entry.key;
    let fault = |message: String| Fault::new(entry.key_at, message);
    let owners: Vec<&str> = family.owners(key).map(|owner| owner.name).collect();
    let own = || variant.keys.iter().map(|key| key.name);
    if !owners.is_empty() {
        let what = match owners.len() {
            1 => family.what.to_owned(),
            _ => format!("{}s", family.what).replace("ys", "ies"),
        };
        let owners = suggest::list(owners.iter().copied());
        let wrong = fault(format!("`{key}` belongs to {what} {owners}, this one is `{}`", variant.name));
        return match suggest::synonym(key, own().collect::<Vec<_>>()) {
            Some(near) => wrong.hint(format!("did you mean `{near}`?")),
            None => wrong.hint(format!("the keys of {} `{}` are {}", family.what, variant.name, suggest::list(own()))),
        };
    }
    let unknown = fault(format!("unknown key `{}` in {title}", clip(key)));
    let names = || [family.selector].into_iter().chain(own());
    let home = home_of(key).filter(|home| !title.contains(home.trim_matches(['[', ']'])));
    match (home, suggest::nearest(key, names())) {
        (Some(home), _) => unknown.hint(format!("`{key}` belongs into {home}")),
        (None, Some(near)) => unknown.hint(format!("did you mean `{near}`?")),
        (None, None) => match suggest::nearest(key, family.key_names()) {
            Some(near) => {
                let owners = family.owners(near).map(|owner| owner.name);
                unknown.hint(format!("did you mean `{near}`, of {} {}?", family.what, suggest::list(owners)))
            }
            None => {
                unknown.hint(format!("the keys of {} `{}` are {}", family.what, variant.name, suggest::list(names())))
            }
        },
    }
}

/// The transports in use, each once.
#[derive(Default)]
struct Transports {
    list: Vec<Transport>,
}

impl Transports {
    fn add(&mut self, transport: Transport) -> usize {
        let same = |known: &Transport| known.name == transport.name && known.config == transport.config;
        self.list.iter().position(same).unwrap_or_else(|| {
            self.list.push(transport);
            self.list.len() - 1
        })
    }
    /// For reports, when there is no common one.
    fn names(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for transport in &self.list {
            if !names.contains(&transport.name) {
                names.push(transport.name);
            }
        }
        names.join("+")
    }
}

/// `compare`'s substitute for the name of `[transport]`.
struct Replacement<'a> {
    name: &'a str,
    at: At,
}

fn common_transport(
    root: &Table,
    replacement: Option<&Replacement>,
    context: &Context,
    transports: &mut Transports,
    notes: &mut Vec<String>,
) -> Checked<Option<(usize, Json)>> {
    let written = match root.find("transport").map(|entry| &entry.node.data) {
        Some(Data::Table(table)) => Some(table),
        _ => None,
    };
    let table = match replacement {
        None => match written {
            None => return Ok(None),
            Some(table) => table.clone(),
        },
        Some(replacement) => replaced(written, replacement, context, notes)?,
    };
    read_transport(&table, "[transport]", context, transports).map(Some)
}

/// The table with the substitute's name, without the keys that only other transports know.
fn replaced(
    written: Option<&Table>,
    replacement: &Replacement,
    context: &Context,
    notes: &mut Vec<String>,
) -> Checked<Table> {
    let family = language::transport_family();
    let name = Entry {
        key: family.selector.into(),
        key_at: replacement.at,
        node: Node::bare(replacement.name, replacement.at),
    };
    let mut table = Table::empty(written.map_or(replacement.at, |table| table.at));
    table.set(name);
    let variant = select(&family, &table, "[transport]", context)?;
    for entry in written.iter().flat_map(|table| &table.entries).filter(|entry| entry.key != family.selector) {
        let known = variant.keys.iter().any(|key| key.name == entry.key);
        match family.key(&entry.key) {
            Some(key) if !known => {
                // Dropped, but a mistake in it would show with the transport that it is meant for.
                values::value(key, &entry.node, context)?;
                notes.push(format!("`transport.{}` is dropped: `{}` has no such parameter", entry.key, variant.name));
            }
            _ => table.set(entry.clone()),
        }
    }
    Ok(table)
}

fn read_transport(
    table: &Table,
    title: &str,
    context: &Context,
    transports: &mut Transports,
) -> Checked<(usize, Json)> {
    let family = language::transport_family();
    let variant = select(&family, table, title, context)?;
    let unknown = |entry: &Entry| unknown_key(&family, variant, title, entry);
    let read = values::read_table(table, title, &variant.keys, &[family.selector], context, unknown)?;
    let descriptor = language::find_transport(variant.name).expect("the family is made of the list");
    let config = (descriptor.build)(&read.values);
    let index = transports.add(Transport { name: descriptor.name, config });
    Ok((index, with_selector(&family, variant, read.written)))
}

/// Reads the traffic classes.
struct Classes<'a> {
    context: &'a Context<'a>,
    network: &'a Network,
    run: &'a Run,
    /// The index of `[transport]`, if there is one.
    common: Option<usize>,
}

impl Classes<'_> {
    fn read(&self, root: &Table, transports: &mut Transports) -> Checked<(Vec<Class>, Json)> {
        const MOST_CLASSES: usize = 4096;
        let family = language::patterns();
        let defaults = class_defaults(root, &family)?;
        let items = match root.find("traffic").map(|entry| &entry.node.data) {
            Some(Data::Array(items)) if !items.is_empty() => items,
            _ => {
                let fault =
                    Fault::new(root.find("traffic").map_or(root.at, |entry| entry.key_at), "there is no traffic");
                return Err(fault.hint("write at least one [[traffic]] with a name and a pattern"));
            }
        };
        if let Some(item) = items.get(MOST_CLASSES) {
            return Err(item.fault(format!("a scenario has at most {MOST_CLASSES} traffic classes")));
        }
        let (mut classes, mut written) = (Vec::<Class>::new(), Vec::new());
        for item in items {
            let Data::Table(table) = &item.data else { continue };
            let (class, text) = self.class(table, defaults, &family, transports)?;
            if classes.iter().any(|other| other.name == class.name) {
                let at = table.find("name").map_or(table.at, |entry| entry.node.at);
                return Err(Fault::new(at, format!("another class is called `{}` too", class.name)));
            }
            classes.push(class);
            written.push(text);
        }
        Ok((classes, Json::Array(written)))
    }

    fn class(
        &self,
        table: &Table,
        defaults: Option<&Table>,
        family: &Family,
        transports: &mut Transports,
    ) -> Checked<(Class, Json)> {
        let title = match table.find("name").and_then(|entry| entry.node.text()) {
            Some(name) => format!("[[traffic]] `{}`", clip(name)),
            None => "[[traffic]]".into(),
        };
        let mut table = table.clone();
        let defaults = defaults.map_or(&[][..], |defaults| &defaults.entries);
        let missing = |table: &Table, entry: &Entry| table.find(&entry.key).is_none();
        let selecting = |entry: &&Entry| entry.key == family.selector || entry.key == "transport";
        for entry in defaults.iter().filter(selecting) {
            if missing(&table, entry) {
                table.set(entry.clone());
            }
        }
        let variant = select(family, &table, &title, self.context)?;
        for entry in defaults.iter().filter(|entry| variant.keys.iter().any(|key| key.name == entry.key)) {
            if missing(&table, entry) {
                table.set(entry.clone());
            }
        }
        let unknown = |entry: &Entry| match entry.key.as_str() {
            "deadline" => deadline_without_size(variant, entry),
            _ => unknown_key(family, variant, &title, entry),
        };
        let apart = [family.selector, "transport"];
        let read = values::read_table(&table, &title, &variant.keys, &apart, self.context, unknown)?;
        let mut written = with_selector(family, variant, read.written);
        let transport = match table.find("transport") {
            Some(entry) => {
                let (index, text) = self.own_transport(entry, &title, transports)?;
                written["transport"] = text;
                index
            }
            None => self.common.ok_or_else(|| {
                let fault = Fault::new(table.at, format!("{title} has no transport"));
                fault.hint("write [transport] with its name, or `transport` in each class")
            })?,
        };
        let descriptor = traffic::find(variant.name).expect("the family is made of the list");
        let around = traffic::Context { graph: &self.network.graph, seed: self.run.seed, duration: self.run.duration };
        let generator = (descriptor.build)(&read.values, &around).map_err(|problem| place(&table, problem))?;
        let class = Class {
            name: read.values.text("name"),
            pattern: descriptor.name,
            transport,
            persistent: read.values.choice("connections") == "persistent",
            short: read.values.choice_if_set("flow_class").map(|class| class == "short"),
            generator,
        };
        Ok((class, written))
    }

    /// A class's own transport: a name stands for that transport with its defaults.
    fn own_transport(&self, entry: &Entry, title: &str, transports: &mut Transports) -> Checked<(usize, Json)> {
        let mut entry = entry.clone();
        entry.node = self.context.parameters.resolve(&entry.node)?.clone();
        overrides::named_transport(&mut entry);
        match &entry.node.data {
            Data::Table(table) => read_transport(table, &format!("`transport` of {title}"), self.context, transports),
            _ => {
                let fault = entry.node.fault(format!("`transport` is a name or a table, not {}", entry.node.what()));
                Err(fault.hint("write transport = \"dctcp\" or transport = { name = \"dctcp\", g = 0.1 }"))
            }
        }
    }
}

/// `[defaults.traffic]`, with keys that at least one pattern knows.
fn class_defaults<'a>(root: &'a Table, family: &Family) -> Checked<Option<&'a Table>> {
    let Some(Data::Table(defaults)) = root.find("defaults").map(|entry| &entry.node.data) else { return Ok(None) };
    values::only(defaults, "[defaults]", &["traffic"])?;
    let Some(entry) = defaults.find("traffic") else { return Ok(None) };
    let Data::Table(table) = &entry.node.data else {
        return Err(Fault::new(entry.key_at, "the defaults of all classes are one table")
            .hint("write [defaults.traffic] with one bracket"));
    };
    let words = || family.key_names().into_iter().chain([family.selector, "transport"]).filter(|name| *name != "name");
    for entry in &table.entries {
        if entry.key == "name" {
            return Err(Fault::new(entry.key_at, "`name` belongs into each class: no two share it"));
        }
        if words().all(|word| word != entry.key) {
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in [defaults.traffic]", clip(&entry.key)));
            return Err(fault.did_you_mean(suggest::nearest(&entry.key, words()), || {
                format!("no pattern has it; the keys are {}", suggest::list(words()))
            }));
        }
    }
    Ok(Some(table))
}

/// `deadline` where the pattern does not have it.
fn deadline_without_size(variant: &Variant, entry: &Entry) -> Fault {
    let holds = |wanted: units::Kind| variant.own.iter().any(|key| key.kind == wanted);
    let fault = |message: String| Fault::new(entry.key_at, message);
    let name = variant.name;
    if holds(units::Kind::Flows) {
        return fault("each entry of `flows` has its own `deadline`".into()).hint("write it beside the entry's `size`");
    }
    if holds(units::Kind::FlowFile) {
        return fault("the deadlines of pattern `trace` stand in its file".into()).hint("the CSV column `deadline`");
    }
    fault(format!("a deadline without a size: the flows of pattern `{name}` have no end"))
        .hint("pattern `periodic`, `poisson` and `fan-in` send messages with a size")
}
