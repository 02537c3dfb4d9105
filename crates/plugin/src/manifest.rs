//! The manifest of a module: TOML in its custom section `duetime`.

use serde::Deserialize;
use transport::connection;
use transport::plugin::Ecn;
use units::{Default, Key, Kind, Range, Values};
use wasmparser::{Parser, Payload};

/// The name of the custom section.
const SECTION: &str = "duetime";

/// The version of the interface between duetime and modules.
const ABI: u32 = 1;

/// Maximum number of keys of a module.
const MAX_KEYS: usize = 64;

/// The keys of `[transport]` that say which transport is meant.
const RESERVED: [&str; 3] = ["name", "plugin", "inherit"];

/// A manifest that was read. Its texts are kept as long as the program runs, as the texts of other transports are.
pub struct Manifest {
    /// One sentence about the law.
    pub help: &'static str,
    /// The paper or page that describes it.
    pub source: &'static str,
    /// Its use of ECN.
    pub ecn: Ecn,
    /// True if it sets a rate.
    pub paces: bool,
    /// Its keys, in the order of their values in the module.
    pub keys: Vec<Key>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    abi: u32,
    help: Option<String>,
    source: Option<String>,
    #[serde(default)]
    ecn: WrittenEcn,
    #[serde(default)]
    pacing: bool,
    #[serde(default)]
    keys: Vec<WrittenKey>,
}

#[derive(Clone, Copy, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum WrittenEcn {
    #[default]
    Off,
    Classic,
    Exact,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenKey {
    name: String,
    #[serde(default)]
    kind: WrittenKind,
    default: toml::Value,
    min: Option<f64>,
    max: Option<f64>,
    #[serde(default)]
    words: Vec<String>,
    help: Option<String>,
    source: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum WrittenKind {
    #[default]
    Number,
    Count,
    Bool,
    Choice,
    Time,
    Size,
    Rate,
}

impl Manifest {
    /// Reads the manifest of a module in the binary format.
    ///
    /// # Errors
    /// A message for the user: the fault of the module or of its manifest.
    pub fn of(binary: &[u8]) -> Result<Manifest, String> {
        for payload in Parser::new(0).parse_all(binary) {
            match payload.map_err(|error| format!("it is not a valid module: {}", error.message()))? {
                Payload::CustomSection(section) if section.name() == SECTION => return Manifest::read(section.data()),
                _ => {}
            }
        }
        Err(format!(
            "it has no custom section `{SECTION}` with its manifest; `duetime init --plugin` writes a module that has"
        ))
    }

    /// Reads the content of the section.
    fn read(content: &[u8]) -> Result<Manifest, String> {
        let wrong = |why: String| format!("its manifest (the custom section `{SECTION}`) {why}");
        let text = std::str::from_utf8(content).map_err(|_| wrong("is not UTF-8".into()))?;
        let written: Written = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            wrong(format!("is not valid in line {line}: {}", error.message()))
        })?;
        if written.abi != ABI {
            return Err(wrong(format!("says abi = {}; this version of duetime has abi = {ABI}", written.abi)));
        }
        if written.keys.len() > MAX_KEYS {
            return Err(wrong(format!("has {} keys, at most {MAX_KEYS} are possible", written.keys.len())));
        }
        let mut keys: Vec<Key> = Vec::new();
        for own in written.keys {
            let key = own.key().map_err(wrong)?;
            if keys.iter().any(|other| other.name == key.name) {
                return Err(wrong(format!("has two keys `{}`", key.name)));
            }
            keys.push(key);
        }
        Ok(Manifest {
            help: written.help.unwrap_or_else(|| "a plug-in".into()).leak(),
            source: written.source.unwrap_or_else(|| "a plug-in".into()).leak(),
            ecn: match written.ecn {
                WrittenEcn::Off => Ecn::Off,
                WrittenEcn::Classic => Ecn::Classic,
                WrittenEcn::Exact => Ecn::Exact,
            },
            paces: written.pacing,
            keys,
        })
    }
}

impl WrittenKey {
    fn key(self) -> Result<Key, String> {
        let WrittenKey { name, kind, default, min, max, words, help, source } = self;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("has a key `{name}`: a name has lower-case letters, digits and underscores"));
        }
        if RESERVED.contains(&name.as_str()) || connection::KEYS.iter().any(|shared| shared.name == name) {
            return Err(format!("has a key `{name}`, which every transport has: choose another name"));
        }
        if (kind == WrittenKind::Choice) == words.is_empty() {
            return Err(format!("gives `words` for the key `{name}` if and only if its kind is \"choice\""));
        }
        let kind = match kind {
            WrittenKind::Number => Kind::Number,
            WrittenKind::Count => Kind::Count,
            WrittenKind::Bool => Kind::Bool,
            WrittenKind::Time => Kind::Time,
            WrittenKind::Size => Kind::Size,
            WrittenKind::Rate => Kind::Rate,
            WrittenKind::Choice => {
                let words: Vec<&'static str> = words.into_iter().map(|word| &*word.leak()).collect();
                Kind::Choice(words.leak())
            }
        };
        let text = match default {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(truth) => truth.to_string(),
            _ => return Err(format!("has no plain value as the default of `{name}`")),
        };
        let range = Range {
            min: min.unwrap_or(f64::NEG_INFINITY),
            max: max.unwrap_or(f64::INFINITY),
            above_min: false,
            easier: None,
        };
        let key = Key {
            name: name.leak(),
            kind,
            default: Default::Is(text.leak()),
            range,
            help: help.unwrap_or_default().leak(),
            source: source.unwrap_or_default().leak(),
        };
        match key.default {
            Default::Is(text) => key.read(text).map_err(|mistake| {
                format!("has a default of `{}` that is no value of it: {}", key.name, mistake.message)
            })?,
            _ => unreachable!("it was just set"),
        };
        Ok(key)
    }
}

/// Returns a value as a number: a time in picoseconds, a size in bytes, a rate in bit/s, a word by its place from 0.
fn number(key: &Key, values: &Values) -> f64 {
    match key.kind {
        Kind::Count => values.count(key.name) as f64,
        Kind::Bool => f64::from(u8::from(values.bool(key.name))),
        Kind::Time => values.time(key.name).0 as f64,
        Kind::Size => values.size(key.name).as_f64(),
        Kind::Rate => values.rate(key.name).as_bps_f64(),
        Kind::Choice(words) => {
            let word = values.choice(key.name);
            words.iter().position(|other| *other == word).unwrap_or_default() as f64
        }
        _ => values.number(key.name),
    }
}

/// Returns the values of keys as the numbers that a module is given.
pub fn numbers(keys: &[Key], values: &Values) -> Vec<f64> {
    keys.iter().map(|key| number(key, values)).collect()
}

#[cfg(test)]
mod tests {
    use units::Value;

    use super::*;

    fn read(text: &str) -> Result<Manifest, String> {
        Manifest::read(text.as_bytes())
    }

    #[test]
    fn manifest_of_a_version_alone_has_no_keys_and_no_ecn() {
        let manifest = read("abi = 1").unwrap();
        assert_eq!((manifest.ecn, manifest.paces, manifest.keys.len()), (Ecn::Off, false, 0));
    }

    #[test]
    fn kinds_of_keys_are_those_of_scenarios() {
        let key = |rest: &str| read(&format!("abi = 1\n[[keys]]\nname = 'a'\n{rest}")).map(|found| found.keys[0]);
        let default = |rest: &str| {
            let key = key(rest).unwrap();
            let Default::Is(text) = key.default else { panic!("it has a default") };
            key.read(text).unwrap()
        };
        assert_eq!(default("default = 2.5"), Value::Number(2.5));
        assert_eq!(default("default = 2\nkind = 'count'"), Value::Count(2));
        assert_eq!(default("default = true\nkind = 'bool'"), Value::Bool(true));
        assert_eq!(default("default = '2 us'\nkind = 'time'"), Value::Time(units::Span::from_micros(2)));
        assert_eq!(default("default = '2 KB'\nkind = 'size'"), Value::Size(units::Bytes(2000)));
        assert_eq!(default("default = '2 Gbps'\nkind = 'rate'"), Value::Rate(units::Rate::from_gbps(2)));
        assert_eq!(default("default = 'y'\nkind = 'choice'\nwords = ['x', 'y']"), Value::Choice("y"));
        assert!(key("default = 1\nmin = 2").is_err(), "out of its range");
        assert!(key("default = 1\nwords = ['x']").is_err(), "words of no choice");
        assert!(key("default = 'x'\nkind = 'choice'").is_err(), "a choice without words");
        assert!(key("default = [1]").is_err() && key("").is_err(), "no plain default");
    }

    #[test]
    fn names_of_keys_are_plain_and_no_other_transport_has_them() {
        let named = |name: &str| read(&format!("abi = 1\n[[keys]]\nname = '{name}'\ndefault = 1")).is_ok();
        assert!(named("a") && named("k_2"));
        assert!(!named("") && !named("2k") && !named("A") && !named("a b"));
        assert!(!named("mss") && !named("plugin") && !named("inherit"));
    }

    #[test]
    fn other_versions_and_unknown_fields_are_refused() {
        assert!(read("abi = 2").is_err_and(|why| why.contains("abi = 2")));
        assert!(read("abi = 1\nhlep = 'x'").is_err_and(|why| why.contains("line 2")));
        assert!(Manifest::read(&[0xff]).is_err_and(|why| why.contains("UTF-8")));
    }
}
