//! Tables inside a table: those of a list (`[[traffic.stage]]`), and those below names (`[traffic.roles]`).

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};
use units::{Key, Kind, Nested, Value};

use crate::context::Context;
use crate::document::{Data, Entry, Node, Table};
use crate::error::{Checked, Fault, clip};
use crate::language;
use crate::suggest;
use crate::table::Read;
use crate::values::read_table;

/// Maximum number of tables of one key.
const MAX_TABLES: usize = 4096;

/// Reads a list of tables, whose names differ.
pub(crate) fn list(key: &Key, nested: &'static Nested, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let what = nested.what;
    let example = || format!("write {} and the keys of one {what} below", header(key));
    let items = match &node.data {
        Data::Array(items) if items.is_empty() => {
            return Err(node.fault(format!("`{}` is an empty list", key.name)).hint(example()));
        }
        Data::Array(items) => items,
        Data::Table(_) => {
            let fault = node.fault(format!("each {what} is a table of a list"));
            return Err(fault.hint(format!("write {} with two brackets", header(key))));
        }
        _ => {
            let fault = node.fault(format!("`{}` must be a list of tables, not {}", key.name, node.what()));
            return Err(fault.hint(example()));
        }
    };
    if let Some(item) = items.get(MAX_TABLES) {
        return Err(item.fault(format!("`{}` has at most {MAX_TABLES} entries", key.name)));
    }
    let (mut tables, mut written, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for item in items {
        let Data::Table(table) = &item.data else {
            return Err(item.fault(format!("a {what} is a table, not {}", item.what())).hint(example()));
        };
        let title = match name_of(table) {
            Some(name) => format!("{what} `{}`", clip(name)),
            None => format!("this {what}"),
        };
        let read = one(key, nested, table, &title, context)?;
        if let Some(name) = read.values.text_if_set("name").filter(|name| !names.insert(name.clone())) {
            let at = table.find("name").map_or(item.at, |entry| entry.node.at);
            return Err(Fault::new(at, format!("another {what} is called `{}` too", clip(&name))));
        }
        tables.push(read.values);
        written.push(Json::Object(read.written));
    }
    Ok((Value::Tables(tables), Json::Array(written)))
}

/// Reads tables below names, which become their `name`.
pub(crate) fn named(key: &Key, nested: &'static Nested, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let what = nested.what;
    let Data::Table(outer) = &node.data else {
        let fault = node.fault(format!("`{}` must be a table of {what}s, not {}", key.name, node.what()));
        return Err(fault.hint(format!(
            "write {} with one bracket, and below it NAME = {}",
            header(key),
            nested.example
        )));
    };
    if outer.entries.is_empty() {
        let fault = Fault::new(outer.at, format!("`{}` has no {what}", key.name));
        return Err(fault.hint(format!("write for example {} = {}", key.name, key.kind.example())));
    }
    if let Some(entry) = outer.entries.get(MAX_TABLES) {
        return Err(Fault::new(entry.key_at, format!("`{}` has at most {MAX_TABLES} entries", key.name)));
    }
    let (mut tables, mut written) = (Vec::new(), Map::new());
    for entry in &outer.entries {
        check_name(what, entry)?;
        let table = full(nested, entry);
        let title = format!("{what} `{}`", entry.key);
        let mut read = one(key, nested, &table, &title, context)?;
        read.values.set("name", Value::Text(entry.key.clone()));
        tables.push(read.values);
        written.insert(entry.key.clone(), short(nested, read.written));
    }
    Ok((Value::Tables(tables), Json::Object(written)))
}

/// Rejects names that other keys could not refer to.
fn check_name(what: &str, entry: &Entry) -> Checked<()> {
    let is_name = |text: &str| {
        text.starts_with(char::is_alphabetic) && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    };
    match is_name(&entry.key) {
        true => Ok(()),
        false => {
            let fault = Fault::new(entry.key_at, format!("`{}` cannot be the name of a {what}", clip(&entry.key)));
            Err(fault.hint("a name begins with a letter and has letters, digits, dashes and underscores"))
        }
    }
}

fn one(key: &Key, nested: &'static Nested, table: &Table, title: &str, context: &Context) -> Checked<Read> {
    let keys: Vec<&'static Key> = nested.keys.iter().collect();
    read_table(table, title, &keys, &[], context, |entry| unknown(key, nested, title, entry))
}

fn unknown(key: &Key, nested: &'static Nested, title: &str, entry: &Entry) -> Fault {
    let names = || nested.keys.iter().map(|key| key.name);
    let fault = Fault::new(entry.key_at, format!("unknown key `{}` in {title}", clip(&entry.key)));
    // TOML counts a key below a header to it, also if it was meant for the class.
    if is_key_around(key, &entry.key) {
        return fault.hint(format!("`{}` is a key of the class: write it above {}", entry.key, header(key)));
    }
    fault.did_you_mean(suggest::nearest(&entry.key, names()), || format!("its keys are {}", suggest::list(names())))
}

/// Returns true if the pattern that has these tables has a key of that name too.
fn is_key_around(key: &Key, name: &str) -> bool {
    language::patterns().variants.iter().any(|variant| {
        let has = |wanted: &str| variant.keys.iter().any(|key| key.name == wanted);
        variant.own.iter().any(|own| own.name == key.name && own.kind == key.kind) && has(name)
    })
}

/// Returns the table of an entry, which may be written as the value of one key alone.
fn full(nested: &Nested, entry: &Entry) -> Table {
    match (&entry.node.data, nested.shorthand) {
        (Data::Table(table), _) => table.clone(),
        (_, Some(shorthand)) => {
            let mut table = Table::empty(entry.node.at);
            table.set(Entry { key: shorthand.to_owned(), key_at: entry.key_at, node: entry.node.clone() });
            table
        }
        (_, None) => Table::empty(entry.node.at),
    }
}

/// Returns a table as the value of its only key, if it can have no other.
fn short(nested: &Nested, written: Map<String, Json>) -> Json {
    match nested.shorthand.and_then(|shorthand| written.get(shorthand)).filter(|_| nested.keys.len() == 1) {
        Some(value) => value.clone(),
        None => Json::Object(written),
    }
}

/// Returns the header above such tables: only classes have them.
pub(crate) fn header(key: &Key) -> String {
    match key.kind {
        Kind::Tables(_) => format!("[[traffic.{}]]", key.name),
        _ => format!("[traffic.{}]", key.name),
    }
}

/// Returns the key of a pattern whose tables have that key.
pub(crate) fn owner<'a>(keys: &[&'a Key], name: &str) -> Option<(&'a Key, &'static Nested)> {
    keys.iter().find_map(|key| {
        let nested = of(key)?;
        nested.keys.iter().any(|inner| inner.name == name).then_some((*key, nested))
    })
}

/// Returns the tables that a key has.
pub(crate) fn of(key: &Key) -> Option<&'static Nested> {
    match key.kind {
        Kind::Tables(nested) | Kind::Named(nested) => Some(nested),
        _ => None,
    }
}

/// Returns the name that a table has.
pub(crate) fn name_of(table: &Table) -> Option<&str> {
    table.find("name")?.node.text()
}

/// Writes the tables below an entry's names in full, so that a key of each can be set.
pub(crate) fn write_in_full(entry: &mut Entry) {
    let Some(nested) =
        language::patterns().key(&entry.key).filter(|key| matches!(key.kind, Kind::Named(_))).and_then(of)
    else {
        return;
    };
    if let Data::Table(table) = &mut entry.node.data {
        for inner in &mut table.entries {
            let table = full(nested, inner);
            inner.node.data = Data::Table(table);
        }
    }
}
