//! TOML as a tree with the place of every element.

use toml::de::{DeTable, DeValue};

use crate::error::{At, Checked, Fault};

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) at: At,
    /// The start of a text's content, if the text is written in the source without escapes.
    content: Option<usize>,
}

/// The data of a value.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Array(Vec<Node>),
    Table(Table),
    Date,
}

/// A table with its entries in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
    /// Its header, or all of it if it is written in braces.
    pub(crate) at: At,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: At,
    pub(crate) node: Node,
}

impl Node {
    /// Returns a value without the place of a text's content.
    pub(crate) fn new(data: Data, at: At) -> Node {
        Node { data, at, content: None }
    }
    /// Returns a text that is written at `at` as it is, without quotes.
    pub(crate) fn bare(text: &str, at: At) -> Node {
        Node { data: Data::Text(text.to_owned()), at, content: Some(at.start()) }
    }
    /// Returns the place of a part of a text, by bytes of its content.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> At {
        match self.content {
            Some(start) => self.at.with(start + range.start..start + range.end),
            None => self.at,
        }
    }
    /// Returns a part of a text as a text of its own.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Node {
        let text = self.text().and_then(|text| text.get(range.clone())).unwrap_or_default();
        Node {
            data: Data::Text(text.to_owned()),
            at: self.part(range.clone()),
            content: self.content.map(|start| start + range.start),
        }
    }
    /// Returns a mistake at the value.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.at, message)
    }
    /// Returns the type of the value in words, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self.data {
            Data::Bool(_) => "true or false",
            Data::Integer(_) => "a bare number",
            Data::Float(_) => "a bare number",
            Data::Text(_) => "a text",
            Data::Array(_) => "a list",
            Data::Table(_) => "a table",
            Data::Date => "a date",
        }
    }
    /// Returns the text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Data::Text(text) = &self.data { Some(text) } else { None }
    }
}

impl Table {
    /// Returns a table without entries.
    pub(crate) fn empty(at: At) -> Table {
        Table { entries: Vec::new(), at }
    }
    /// Returns the entry of that key.
    pub(crate) fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
    /// Returns the entry of that key, to change it.
    pub(crate) fn find_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
    /// Sets a key, replacing an earlier value.
    pub(crate) fn set(&mut self, entry: Entry) {
        match self.find_mut(&entry.key) {
            Some(slot) => *slot = entry,
            None => self.entries.push(entry),
        }
    }
}

/// Maximum length of a scenario's text, in bytes: longer lists of messages belong in a file of their own.
const LONGEST: usize = 4 << 20;

/// Reads the text of the source with that number.
pub(crate) fn parse(text: &str, source: u32) -> Checked<Table> {
    if text.len() > LONGEST {
        let message = format!("a scenario has at most {} MiB, this one has {} bytes", LONGEST >> 20, text.len());
        return Err(
            Fault::new(At::new(source, 0..0), message).hint("put long lists of messages into a file: pattern `trace`")
        );
    }
    match DeTable::parse(text) {
        Ok(table) => Ok(read_table(table.get_ref(), At::new(source, 0..0), Place { source, offset: 0, text })),
        Err(error) => Err(syntax(text, source, &error)),
    }
}

/// Reads one value that starts at byte `offset` of a source.
pub(crate) fn parse_value(text: &str, source: u32, offset: usize) -> Result<Node, Fault> {
    match DeValue::parse(text) {
        Ok(value) => {
            let range = value.span();
            Ok(read(value.get_ref(), range, Place { source, offset, text }))
        }
        Err(error) => {
            let range = error.span().unwrap_or(0..text.len());
            let at = At::new(source, offset + range.start..offset + range.end);
            Err(Fault::new(at, format!("this is no valid value: {}", error.message())))
        }
    }
}

#[derive(Clone, Copy)]
struct Place<'a> {
    source: u32,
    offset: usize,
    text: &'a str,
}

impl Place<'_> {
    fn at(self, range: std::ops::Range<usize>) -> At {
        At::new(self.source, self.offset + range.start..self.offset + range.end)
    }
}

fn read_table(table: &DeTable<'_>, at: At, place: Place) -> Table {
    let entries = table.iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        key_at: place.at(key.span()),
        node: read(value.get_ref(), value.span(), place),
    });
    let mut entries: Vec<Entry> = entries.collect();
    entries.sort_by_key(|entry| entry.key_at.start());
    Table { entries, at }
}

// The parser rejects nesting of more than 80 levels, so this recursion ends.
fn read(value: &DeValue<'_>, range: std::ops::Range<usize>, place: Place) -> Node {
    let at = place.at(range.clone());
    let data = match value {
        DeValue::Boolean(x) => Data::Bool(*x),
        DeValue::Integer(x) => match i128::from_str_radix(x.as_str(), x.radix()) {
            Ok(x) => Data::Integer(x),
            Err(_) => Data::Float(f64::INFINITY), // too large for anything: refused with a bare infinity
        },
        DeValue::Float(x) => Data::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(_) => Data::Date,
        DeValue::Array(items) => {
            Data::Array(items.iter().map(|item| read(item.get_ref(), item.span(), place)).collect())
        }
        DeValue::Table(table) => Data::Table(read_table(table, at, place)),
        DeValue::String(text) => {
            let quoted = place.text.get(range.start + 1..range.end.saturating_sub(1));
            let content = (quoted == Some(text.as_ref())).then_some(place.offset + range.start + 1);
            return Node { data: Data::Text(text.to_string()), at, content };
        }
    };
    Node::new(data, at)
}

/// Returns a syntax error in our own words.
fn syntax(text: &str, source: u32, error: &toml::de::Error) -> Fault {
    let range = error.span().unwrap_or(text.len()..text.len());
    let said = error.message();
    let fault = |message: String| Fault::new(At::new(source, range.clone()), message);
    if said.starts_with("duplicate key") {
        let key = text.get(range.clone()).unwrap_or_default();
        let header = text[..range.end].rsplit('\n').next().unwrap_or_default().trim_start();
        if let Some(path) = header.strip_prefix('[').filter(|path| path.contains('.') && !path.contains(['=', '{'])) {
            let path = path.trim_matches('[');
            return fault(format!("`{key}` appears twice"))
                .hint(format!("`[[{path}]]` with two brackets, each time, is one more of a list"));
        }
        return fault(format!("`{key}` appears twice"))
            .hint("a key may appear only once in a section; `[[traffic]]` with two brackets starts one more class");
    }
    if said.starts_with("recursion limit") || said.contains("recursion limit") {
        return fault("lists and tables are nested too deeply".into());
    }
    if let Some((range, hint)) = unquoted(text, range.start) {
        return Fault::new(At::new(source, range), "a text or a quantity with a unit needs quotes").hint(hint);
    }
    let line = text.get(..range.start).map_or("", |before| before.rsplit('\n').next().unwrap_or_default());
    if line.trim_end().ends_with('=') && text[range.start..].lines().next().is_none_or(|rest| rest.trim().is_empty()) {
        return fault(format!("the value of `{}` is missing", line.trim_end().trim_end_matches('=').trim()));
    }
    if said.starts_with("key with no value") {
        return fault("a key needs `=` and a value".into()).hint("comments start with #");
    }
    fault(format!("this is not valid TOML: {said}"))
}

/// Returns the value's place and text if the line is `key = words without quotes`, the most common slip.
fn unquoted(text: &str, at: usize) -> Option<(std::ops::Range<usize>, String)> {
    let before = text.get(..at)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next()?;
    let (key, value) = line.split_once('=')?;
    let value_start = start + key.len() + 1 + (value.len() - value.trim_start().len());
    let value = value.split('#').next()?.trim();
    let plain = |c: char| c.is_alphanumeric() || " .%/*+-_()$,".contains(c);
    let is_key = key.trim().chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) && !key.trim().is_empty();
    if !is_key || value.is_empty() || !value.chars().all(plain) || DeValue::parse(value).is_ok() {
        return None;
    }
    Some((value_start..value_start + value.len(), format!("write {} = \"{value}\"", key.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_the_order_of_the_file() {
        let table = parse("b = 1\na = 2\n[z]\n[c]\n", 0).unwrap();
        let keys: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["b", "a", "z", "c"]);
    }

    #[test]
    fn deep_nesting_is_an_error() {
        assert!(parse(&format!("a = {}", "[".repeat(100_000)), 0).is_err());
        assert!(parse(&format!("a = {}{}", "[".repeat(5000), "]".repeat(5000)), 0).is_err());
        assert!(parse(&format!("[{}]", ["a"; 3000].join(".")), 0).is_err());
    }

    #[test]
    fn a_part_of_a_text_has_its_own_place() {
        let table = parse("size = \"14 KX\"", 0).unwrap();
        assert_eq!(table.entries[0].node.part(3..5), At::new(0, 11..13));
        let table = parse("size = \"14\\u0020KX\"", 0).unwrap();
        assert_eq!(table.entries[0].node.part(3..5), At::new(0, 7..19));
    }
}
