//! Options that change a scenario before it is read: `--set`, `--seed`.

use crate::document::{self, Data, Entry, Node, Table};
use crate::error::{At, Checked, Fault, Sources, clip};
use crate::language::{self, ROOT_KEYS, SECTIONS};
use crate::nested;
use crate::plugins;
use crate::suggest;

/// Applies one `--set path=value`.
pub(crate) fn set(root: &mut Table, option: &str, sources: &mut Sources) -> Checked<()> {
    let source = sources.add("--set", option);
    let at = |range: std::ops::Range<usize>| At::new(source, range);
    let Some(equals) = option.find('=') else {
        let fault = Fault::new(at(0..option.len()), "`--set` needs path=value");
        return Err(fault.hint("for example run.seed=7, network.buffer=\"50 KB\" or a parameter, fan_in=20"));
    };
    let value = value(option, equals + 1, source)?;
    let path = option[..equals].trim_end();
    if path.trim().is_empty() {
        return Err(Fault::new(at(0..equals + 1), "the path before `=` is missing"));
    }
    let segments = segments(path, source);
    let whole = at(segments[0].at.start()..path.len());
    apply(root, path, &segments, value, whole)
}

/// Applies a change that was written elsewhere, each word of its path at its place.
pub(crate) fn change(root: &mut Table, path: &str, places: &[At], value: Node) -> Checked<()> {
    let words = path.split('.').zip(places);
    let segments: Vec<Segment> = words.map(|(name, &at)| Segment { name: name.trim(), at }).collect();
    apply(root, path, &segments, value, *places.last().expect("a path has a word"))
}

fn apply(root: &mut Table, path: &str, segments: &[Segment], value: Node, whole: At) -> Checked<()> {
    if let Some(empty) = segments.iter().find(|segment| segment.name.is_empty()) {
        return Err(Fault::new(empty.at, "a word is missing in this path"));
    }
    match segments {
        [] => Err(Fault::new(whole, "the path before `=` is missing")),
        [one] => name(root, one, value),
        [section, rest @ ..] if section.name == "traffic" => class(root, rest, path, value, whole),
        [section, rest @ ..] if SECTIONS.contains(&section.name) => descend(root, section, rest, value),
        [section, ..] => {
            let fault = Fault::new(section.at, format!("there is no section `{}`", clip(section.name)));
            Err(fault.did_you_mean(suggest::nearest(section.name, SECTIONS.iter().copied()), || {
                format!("the sections are {}", suggest::list(SECTIONS.iter().copied()))
            }))
        }
    }
}

/// Applies a seed from `--seed`.
pub(crate) fn seed(root: &mut Table, seed: u64, sources: &mut Sources) -> Checked<()> {
    let text = seed.to_string();
    let at = At::new(sources.add("--seed", &text), 0..text.len());
    let section = Segment { name: "run", at };
    let node = Node::new(Data::Integer(i128::from(seed)), at);
    descend(root, &section, &[Segment { name: "seed", at }], node)
}

/// One word of a path.
#[derive(Clone, Copy)]
struct Segment<'a> {
    name: &'a str,
    at: At,
}

fn segments(path: &str, source: u32) -> Vec<Segment<'_>> {
    let mut start = 0;
    let split = path.split('.').map(|part| {
        let name = part.trim();
        let lead = part.len() - part.trim_start().len();
        let at = At::new(source, start + lead..start + lead + name.len().max(1));
        start += part.len() + 1;
        Segment { name, at }
    });
    split.collect()
}

/// Reads a TOML value, or a text without its quotes.
pub(crate) fn value(option: &str, start: usize, source: u32) -> Checked<Node> {
    let text = &option[start..];
    let trimmed = text.trim();
    let start = start + (text.len() - text.trim_start().len());
    if trimmed.is_empty() {
        return Err(Fault::new(At::new(source, option.len()..option.len()), "the value behind `=` is missing"));
    }
    match document::parse_value(trimmed, source, start) {
        Ok(node) if !matches!(node.data, Data::Date) => Ok(node),
        Err(fault) if trimmed.starts_with(['"', '\'', '[', '{']) => Err(fault),
        _ => Ok(Node::bare(trimmed, At::new(source, start..start + trimmed.len()))),
    }
}

/// Sets a parameter by `name=value` or `$name=value`.
fn name(root: &mut Table, segment: &Segment, value: Node) -> Checked<()> {
    let segment = &Segment { name: segment.name.strip_prefix('$').unwrap_or(segment.name), ..*segment };
    let parameters = match root.find_mut("parameters").map(|entry| &mut entry.node.data) {
        Some(Data::Table(table)) => Some(table),
        _ => None,
    };
    let mut names = Vec::new();
    if let Some(parameters) = parameters {
        if let Some(entry) = parameters.find_mut(segment.name) {
            entry.node = value;
            return Ok(());
        }
        names = parameters.entries.iter().map(|entry| entry.key.clone()).collect();
    }
    if let Some(key) = ROOT_KEYS.iter().find(|key| key.name == segment.name) {
        root.set(Entry { key: key.name.into(), key_at: segment.at, node: value });
        return Ok(());
    }
    let fault = Fault::new(segment.at, format!("there is no parameter `{}` in [parameters]", clip(segment.name)));
    // A transport, a class or a pattern is chosen by a name of its own, not by the key of one class.
    let chosen = ["transport", "name", "pattern"].contains(&segment.name);
    let here = if chosen { None } else { path_in(root, segment.name) };
    if let Some(path) = here.or_else(|| language::path_of(segment.name)) {
        return Err(fault.hint(format!("did you mean `{path}`?")));
    }
    if SECTIONS.contains(&segment.name) {
        let name = segment.name;
        return Err(fault.hint(format!("`{name}` is a section, one of its keys is set as {name}.key=value")));
    }
    Err(fault.did_you_mean(suggest::nearest(segment.name, names.iter().map(String::as_str)), || {
        match names.is_empty() {
            true => "this scenario has no parameters; a key is set as section.key=value".into(),
            false => format!("the parameters are {}", suggest::list(names.iter().map(String::as_str))),
        }
    }))
}

/// Returns the path of a key that the scenario has in a class, or else in a section.
fn path_in(root: &Table, name: &str) -> Option<String> {
    let has = |node: &Node| matches!(&node.data, Data::Table(table) if table.find(name).is_some());
    let of_class = |class: &Node| class_name(class).map(|of| format!("traffic.{of}.{name}"));
    let of_classes = match root.find("traffic").map(|entry| &entry.node.data) {
        Some(Data::Array(classes)) => classes.iter().filter(|class| has(class)).find_map(of_class),
        _ => None,
    };
    let of_section = |section: &&str| root.find(section).is_some_and(|entry| has(&entry.node));
    of_classes.or_else(|| {
        let section = ["network", "transport", "run"].into_iter().find(of_section)?;
        Some(format!("{section}.{name}"))
    })
}

/// Sets a key of one class by `traffic.NAME.key=value`.
fn class(root: &mut Table, rest: &[Segment], path: &str, value: Node, whole: At) -> Checked<()> {
    let classes = match root.find_mut("traffic").map(|entry| &mut entry.node.data) {
        Some(Data::Array(items)) => items.as_mut_slice(),
        _ => &mut [],
    };
    let names: Vec<String> = classes.iter().map(|item| class_name(item).unwrap_or_default().to_owned()).collect();
    // A class's name may hold dots, so the longest that fits is taken.
    let after = path.split_once('.').map_or("", |(_, after)| after).trim_start();
    let fits = |name: &&String| {
        !name.is_empty() && after.strip_prefix(name.as_str()).is_some_and(|more| more.starts_with('.'))
    };
    let Some(name) = names.iter().filter(fits).max_by_key(|name| name.len()) else {
        let asked = rest[0];
        if rest.len() == 1 && names.iter().any(|name| name == asked.name) {
            let fault = Fault::new(asked.at, format!("a key of class `{}` is missing", asked.name));
            return Err(fault.hint(format!("for example traffic.{}.size=\"14 KB\"", asked.name)));
        }
        let fault = Fault::new(asked.at, format!("there is no traffic class `{}`", clip(asked.name)));
        return Err(fault.did_you_mean(suggest::nearest(asked.name, names.iter().map(String::as_str)), || {
            format!("the classes are {}", suggest::list(names.iter().map(String::as_str)))
        }));
    };
    let dots = name.matches('.').count() + 1;
    let Some(item) = classes.iter_mut().find(|item| class_name(item) == Some(name)) else { return Ok(()) };
    let Data::Table(table) = &mut item.data else { return Ok(()) };
    let whole = Segment { name: "traffic", at: whole };
    within(table, &whole, &rest[dots..], value)
}

fn class_name(node: &Node) -> Option<&str> {
    let Data::Table(table) = &node.data else { return None };
    table.find("name")?.node.text()
}

/// Sets a key by `section.key=value`.
fn descend(root: &mut Table, section: &Segment, rest: &[Segment], value: Node) -> Checked<()> {
    if root.find(section.name).is_none() {
        let node = Node::new(Data::Table(Table::empty(section.at)), section.at);
        root.set(Entry { key: section.name.to_owned(), key_at: section.at, node });
    }
    let entry = root.find_mut(section.name).expect("a missing section was added above");
    named_transport(entry);
    match &mut entry.node.data {
        Data::Table(table) => within(table, section, rest, value),
        Data::Array(_) => {
            let fault = Fault::new(section.at, format!("`{}` is a list, whose keys have no path", section.name));
            Err(fault.hint("let the key be a parameter, key = \"$name\", and set name=value"))
        }
        _ => Err(Fault::new(section.at, format!("`{}` has no keys that could be set", section.name))),
    }
}

/// Sets a key of a table, or of the tables inside.
fn within(table: &mut Table, parent: &Segment, rest: &[Segment], value: Node) -> Checked<()> {
    match rest {
        [] => Err(Fault::new(parent.at, format!("a key of `{}` is missing behind it", parent.name))),
        [last] => {
            table.set(Entry { key: last.name.to_owned(), key_at: last.at, node: value });
            Ok(())
        }
        [next, rest @ ..] => {
            if table.find(next.name).is_none() {
                let node = Node::new(Data::Table(Table::empty(next.at)), next.at);
                table.set(Entry { key: next.name.to_owned(), key_at: next.at, node });
            }
            let entry = table.find_mut(next.name).expect("a missing table was added above");
            named_transport(entry);
            nested::write_in_full(entry);
            let of_entries = language::patterns().key(&entry.key).and_then(nested::of);
            match (&mut entry.node.data, of_entries) {
                (Data::Table(inner), Some(nested)) => {
                    let names = || inner.entries.iter().map(|entry| entry.key.as_str());
                    if names().all(|name| name != rest[0].name) {
                        return Err(no_entry(nested.what, &rest[0], names()));
                    }
                    within(inner, next, rest, value)
                }
                (Data::Array(items), Some(nested)) => in_list(items, nested.what, next, rest, value),
                (Data::Table(inner), None) => within(inner, next, rest, value),
                _ => {
                    let name = clip(next.name);
                    let key = rest.iter().map(|segment| segment.name).collect::<Vec<_>>().join(".");
                    let fault = Fault::new(next.at, format!("`{name}` is a single value here, it has no keys"));
                    Err(fault.hint(format!("set `{name}` itself, without `.{}`", clip(&key))))
                }
            }
        }
    }
}

/// Sets a key of one table of a list, by the table's name.
fn in_list(items: &mut [Node], what: &str, parent: &Segment, rest: &[Segment], value: Node) -> Checked<()> {
    let name = |item: &Node| match &item.data {
        Data::Table(table) => nested::name_of(table).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let names: Vec<String> = items.iter().map(name).collect();
    // A name may hold dots, so the longest that fits is taken.
    let joined = |words: usize| rest[..words].iter().map(|word| word.name).collect::<Vec<_>>().join(".");
    let found = (1..=rest.len()).rev().find_map(|words| {
        let wanted = joined(words);
        Some((words, names.iter().position(|name| *name == wanted)?))
    });
    let Some((words, index)) = found else {
        return Err(no_entry(what, &rest[0], names.iter().map(String::as_str)));
    };
    if words == rest.len() {
        let fault = Fault::new(rest[0].at, format!("a key of {what} `{}` is missing behind it", names[index]));
        return Err(fault.hint(format!("for example {}.{}.KEY=value", parent.name, names[index])));
    }
    match &mut items[index].data {
        Data::Table(table) => within(table, &rest[words - 1], &rest[words..], value),
        _ => Ok(()),
    }
}

fn no_entry<'a>(what: &str, asked: &Segment, names: impl Iterator<Item = &'a str> + Clone) -> Fault {
    let fault = Fault::new(asked.at, format!("there is no {what} `{}`", clip(asked.name)));
    fault.did_you_mean(suggest::nearest(asked.name, names.clone()), || {
        format!("the {what}s are {}", suggest::list(names))
    })
}

/// Expands `transport = "dctcp"` to the table that it is short for.
pub(crate) fn named_transport(entry: &mut Entry) {
    if entry.key == "transport" && entry.node.text().is_some() {
        let at = entry.node.at;
        let node = std::mem::replace(&mut entry.node, Node::new(Data::Table(Table::empty(at)), at));
        entry.node.data = Data::Table(plugins::named(node, entry.key_at));
    }
}
