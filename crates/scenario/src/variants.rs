//! Tables whose keys depend on a name in them: topologies, transports, patterns.

use serde_json::{Map, Value as Json, json};
use units::Problem;

use crate::context::Context;
use crate::document::{Data, Entry, Table};
use crate::error::{At, Checked, Fault, clip};
use crate::language::{self, Family, Variant};
use crate::nested;
use crate::plugins::{self, PLUGIN};
use crate::suggest;

/// Returns the place of a problem among the keys of a table.
pub(crate) fn place(table: &Table, problem: Problem) -> Fault {
    let entry = table.find(&problem.key);
    let mut at = entry.map_or(table.at, |entry| entry.node.at);
    if let (Some(entry), Some((index, part))) = (entry, problem.entry) {
        at = place_in(entry, index, part).unwrap_or(at);
    }
    let fault = Fault::new(at, format!("`{}`: {}", problem.key, problem.message));
    let otherwise = |fault: Fault| match &problem.hint {
        Some(hint) => fault.hint(hint),
        None => fault,
    };
    let Some((word, words)) = problem.unknown.as_deref() else { return otherwise(fault) };
    let words = || words.iter().map(String::as_str);
    match suggest::nearest(word, words()) {
        None if problem.hint.is_some() => otherwise(fault),
        near => fault.did_you_mean(near, || format!("expected one of {}", suggest::list(words().take(20)))),
    }
}

/// Returns the place of a key of one of the tables of a list, or of those below names, in the order of writing.
fn place_in(entry: &Entry, index: usize, part: &str) -> Option<At> {
    let (item, at) = match &entry.node.data {
        Data::Array(items) => items.get(index).map(|item| (item, item.at))?,
        Data::Table(table) => table.entries.get(index).map(|entry| (&entry.node, entry.key_at))?,
        _ => return None,
    };
    Some(match &item.data {
        Data::Table(table) => table.find(part).map_or(at, |entry| entry.node.at),
        _ => item.at,
    })
}

pub(crate) fn with_selector(family: &Family, variant: &Variant, written: Map<String, Json>) -> Json {
    let selector = (family.selector.to_owned(), json!(variant.name));
    Json::Object(std::iter::once(selector).chain(written).collect())
}

/// Returns the variant that a table names.
pub(crate) fn select<'a>(family: &'a Family, table: &Table, title: &str, context: &Context) -> Checked<&'a Variant> {
    let names = || suggest::list(family.names()).replace(" and ", " or ");
    let Some(entry) = table.find(family.selector) else {
        // A typing mistake in the selector itself is the likelier reason.
        let module = (family.what == "transport").then_some(PLUGIN);
        let words = || family.key_names().into_iter().chain([family.selector, "transport"]).chain(module);
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
            None if family.what == "transport" && plugins::is_path(name) => {
                fault.hint(format!("a module is named by `plugin`: write plugin = \"{}\"", clip(name)))
            }
            None => fault.hint(format!("expected {}", names())),
        }
    })
}

/// Returns the fault for a key that the variant does not know.
pub(crate) fn unknown_key(family: &Family, variant: &Variant, title: &str, entry: &Entry) -> Fault {
    let key = &entry.key;
    let fault = |message: String| Fault::new(entry.key_at, message);
    if let Some((owner, nested)) = nested::owner(&variant.own, key) {
        return fault(format!("`{key}` is a key of a {}, not of the class", nested.what))
            .hint(format!("write it below {}", nested::header(owner)));
    }
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
        (Some(home), _) => unknown.hint(format!("`{key}` belongs in {home}")),
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

/// Returns the section that a key belongs in.
pub(crate) fn home_of(key: &str) -> Option<&'static str> {
    match language::path_of(key)?.split('.').next()? {
        "run" => Some("[run]"),
        "network" => Some("[network]"),
        "transport" => Some("[transport]"),
        _ => Some("[[traffic]]"),
    }
}
