//! Tables by their declared keys: nothing unknown, nothing missing, defaults filled in.

use serde_json::{Map, Value as Json};
use units::{Default, Key, Kind, Value, Values};

use crate::document::{Data, Entry, Node, Table};
use crate::error::{At, Checked, Fault};
use crate::suggest;

/// Checked values, and their text as it is written.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) values: Values,
    pub(crate) written: Map<String, Json>,
}

/// Reads a table, each value with `value`. `title` is the table's name in messages ("[network]"); the entries of
/// `apart` are read elsewhere. `preset` gives the value of a key that is left out, if it is not the key's own default,
/// from the values of the keys before it. `unknown` makes the message for a key that is not declared.
pub(crate) fn read(
    table: &Table,
    title: &str,
    keys: &[&'static Key],
    apart: &[&str],
    value: impl Fn(&Key, &Node) -> Checked<(Value, Json)>,
    preset: impl Fn(&Key, &Values) -> Option<Node>,
    unknown: impl Fn(&Entry) -> Fault,
) -> Checked<Read> {
    let entries = || table.entries.iter().filter(|entry| !apart.contains(&entry.key.as_str()));
    if let Some(entry) = entries().find(|entry| keys.iter().all(|key| key.name != entry.key)) {
        return Err(unknown(entry));
    }
    // In the order of the file, so that the first mistake is the reported one.
    let mut found = Vec::new();
    for entry in entries() {
        let key = keys.iter().find(|key| key.name == entry.key).expect("unknown keys were refused");
        found.push((key.name, value(key, &entry.node)?));
    }
    let mut read = Read::default();
    for key in keys {
        let given = found.iter().any(|(name, _)| *name == key.name);
        let (value, written) = match found.iter().position(|(name, _)| *name == key.name) {
            Some(i) => found.swap_remove(i).1,
            None => match (preset(key, &read.values), key.default) {
                (Some(node), _) => value(key, &node)?,
                (None, Default::Absent) => continue,
                (None, Default::Is(text)) => value(key, &default(key, text, table.at))?,
                (None, Default::Required) => return Err(missing(key, table, title)),
            },
        };
        match given {
            true => read.values.set(key.name, value),
            false => read.values.set_default(key.name, value),
        }
        read.written.insert(key.name.to_owned(), written);
    }
    Ok(read)
}

/// Returns a key's default, which is written as in a file.
pub(crate) fn default(key: &Key, text: &str, at: At) -> Node {
    let data = match text.parse::<bool>() {
        Ok(truth) if key.kind == Kind::Bool => Data::Bool(truth),
        _ => Data::Text(text.to_owned()),
    };
    Node::new(data, at)
}

fn missing(key: &Key, table: &Table, title: &str) -> Fault {
    let has_deadline = table.find("deadline").is_some() && matches!(key.kind, Kind::SizeDistribution);
    let message = match has_deadline {
        true => format!("{title} has a deadline without a size: `{}` is missing", key.name),
        false => format!("{title} lacks `{}`: {}", key.name, key.help),
    };
    Fault::new(table.at, message).hint(format!("write for example {} = {}", key.name, key.kind.example()))
}

/// Rejects keys that are not among `words`.
pub(crate) fn only(table: &Table, title: &str, words: &[&str]) -> Checked<()> {
    match table.entries.iter().find(|entry| !words.contains(&entry.key.as_str())) {
        None => Ok(()),
        Some(entry) => {
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in {title}", entry.key));
            let near = suggest::nearest(&entry.key, words.iter().copied());
            Err(fault.did_you_mean(near, || format!("its keys are {}", suggest::list(words.iter().copied()))))
        }
    }
}
