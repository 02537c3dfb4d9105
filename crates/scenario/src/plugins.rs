//! Transports that are modules: `plugin = "mine.wasm"`.

use std::path::Path;

use transport::plugin;
use transport::registry::{self as transports, Entry};

use crate::context::Context;
use crate::document::{Entry as Written, Node, Table};
use crate::error::{At, Checked, clip};
use crate::language::{Family, Variant};
use crate::variants::select;

/// The key that names a module.
pub(crate) const PLUGIN: &str = "plugin";

/// The endings of modules, in the binary format and in the text format.
const ENDINGS: [&str; 2] = ["wasm", "wat"];

/// The transport of a table: a known one by its name, or that of a module.
pub(crate) struct Chosen {
    pub(crate) variant: Variant,
    pub(crate) entry: &'static Entry,
    /// The path of its module.
    pub(crate) plugin: Option<String>,
}

/// Returns true if a text is the path of a module, not the name of a transport.
pub(crate) fn is_path(text: &str) -> bool {
    let ending = Path::new(text).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending)) || text.starts_with(plugin::REGISTERED)
}

/// Returns the key that a text alone is the value of.
pub(crate) fn key_of(text: &str) -> &'static str {
    if is_path(text) { PLUGIN } else { "name" }
}

/// Returns the transport that a table names.
pub(crate) fn choose(family: &Family, table: &Table, title: &str, context: &Context) -> Checked<Chosen> {
    let Some(written) = table.find(PLUGIN) else {
        let variant = select(family, table, title, context)?.clone();
        let entry = transports::find(variant.name).expect("the family is made of the registry");
        return Ok(Chosen { variant, entry, plugin: None });
    };
    let node = context.parameters.resolve(&written.node)?;
    let Some(path) = node.text() else {
        let fault = node.fault(format!("`{PLUGIN}` is the path of a module, not {}", node.what()));
        return Err(fault.hint("write plugin = \"mine.wasm\""));
    };
    let name = name(family, table.find(family.selector), path, context)?;
    let entry = match path.starts_with(plugin::REGISTERED) {
        true => plugin::registered(path),
        false => plugin::load(&name, &context.files.bytes(path, node.at, None)?),
    };
    let entry = entry.map_err(|why| node.fault(why))?;
    let keys: Vec<_> = entry.keys().collect();
    let variant = Variant {
        name: entry.name,
        help: entry.help,
        source: entry.source,
        needs: Some(entry.needs),
        own: keys.clone(),
        keys,
    };
    Ok(Chosen { variant, entry, plugin: Some(path.to_owned()) })
}

/// Returns the name of a module in tables: the written one, or that of its file.
fn name(family: &Family, written: Option<&Written>, path: &str, context: &Context) -> Checked<String> {
    let part = |part: Option<&std::ffi::OsStr>| part.map_or(path.into(), |part| part.to_string_lossy().into_owned());
    let Some(written) = written else {
        let stem = part(Path::new(path).file_stem());
        // A built-in transport keeps its name.
        return Ok(if family.find(&stem).is_some() { part(Path::new(path).file_name()) } else { stem });
    };
    let node = context.parameters.resolve(&written.node)?;
    let Some(name) = node.text() else { return Err(node.fault(format!("`name` is a text, not {}", node.what()))) };
    let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 60 || !name.chars().all(plain) || name.starts_with('.') {
        let fault = node.fault(format!("`{}` cannot be the name of a plug-in", clip(name)));
        return Err(fault.hint("a name has letters, digits, hyphens, dots and underscores"));
    }
    if family.find(name).is_some() {
        let fault = node.fault(format!("`{name}` is a transport of its own, and there is a `{PLUGIN}`"));
        return Err(fault.hint("leave out `name`, or `plugin`"));
    }
    Ok(name.to_owned())
}

/// Returns a text as the only key of a transport's table.
pub(crate) fn named(node: Node, key_at: At) -> Table {
    let mut table = Table::empty(node.at);
    let key = node.text().map_or("name", key_of);
    table.set(Written { key: key.into(), key_at, node });
    table
}

/// Returns true if a key says which transport is meant, rather than what it is like.
pub(crate) fn selects(family: &Family, key: &str) -> bool {
    key == family.selector || key == PLUGIN
}
