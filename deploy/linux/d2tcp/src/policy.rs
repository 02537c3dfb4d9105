//! Policies: files of rules in TOML. Errors show their location.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::net::IpAddr;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use toml::de::{DeTable, DeValue};
use units::measure::UNITS;
use units::nearest;

use crate::escape::Shown;
use crate::excerpt::Mistake;
use crate::failure::{Failure, Kind as Fault, Result};
use crate::kernel::Control;
use crate::parameters::{self, Expired, Mode, Parameters, Rtt, TimeToComplete};
use crate::place;
use crate::rules::{Peers, Rule};

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Name,
    Cgroup,
    Ports,
    Peers,
    Words(&'static [&'static str]),
    Flag,
    Time,
    Size,
    Rate,
    Share,
    Count,
    Cap,
    Segments,
    Scale,
}

struct Key {
    name: &'static str,
    kind: Kind,
    help: &'static str,
}

const fn key(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, kind, help }
}

/// The keys of `[parameters]`, which rules have as well.
const PARAMETERS: &[Key] = &[
    key("g", Kind::Share, "weight of the last window's share of marks in alpha"),
    key("cap", Kind::Cap, "n: d is clamped to [1/n, n]"),
    key("expired", Kind::Words(&["neutral", "cap", "yield"]), "once the deadline has passed: d = 1, n, or 1/n"),
    key("margin", Kind::Time, "taken off the time left"),
    key("t_c", Kind::Words(&["approximate", "precise"]), "how the time that the rest needs is computed"),
    key("rtt", Kind::Words(&["smoothed", "minimum"]), "which RTT turns it into a time"),
    key("initial_alpha", Kind::Share, "alpha of a new connection"),
    key("mode", Kind::Words(&["d2tcp", "plus"]), "which law messages with a deadline follow"),
    key("rto_min", Kind::Time, "in mode plus: the least retransmission timeout"),
    key("initial_window", Kind::Segments, "in mode plus: the first window; 0: the kernel's"),
    key("time_scale", Kind::Scale, "in mode plus: what its times are multiplied by"),
    key(
        "confirm",
        Kind::Words(&["ignore marks", "starve others"]),
        "says in words that dangerous parameters are meant",
    ),
];
/// The other keys of `[[rule]]`.
const RULE: &[Key] = &[
    key("name", Kind::Name, "its name, also in metrics; reloads know a rule by it"),
    key("cgroup", Kind::Cgroup, "sockets made in it or below, by its path; all if not given"),
    key("ports", Kind::Ports, "local or remote port, as in 443 or 8000-8999"),
    key("peers", Kind::Peers, "any, private, or a prefix as in 10.1.0.0/16"),
    key("control", Kind::Words(&["use", "ask", "leave"]), "D2TCP for all; for those that ask; for none"),
    key("share", Kind::Share, "of its connections that get D2TCP, the others keep their control: a canary"),
    key(
        "most_loss",
        Kind::Share,
        "of a canary's segments sent again: beyond it and above the other arm `d2tcp compare --guard` rolls it back",
    ),
    key("most_timeouts", Kind::Share, "of a canary's timeouts per segment: the same"),
    key("most_missed", Kind::Share, "of a canary's missed messages: the same"),
    key("tolerance", Kind::Share, "part of the other arm's share by which a canary may be above it; 10 % if not given"),
    key("deadline", Kind::Time, "of a message whose program says nothing, from the first byte after the peer spoke"),
    key("size", Kind::Size, "how long such a message is taken to be at least"),
    key("announce", Kind::Flag, "whether programs may tell deadlines"),
    key("least_deadline", Kind::Time, "shorter deadlines of programs are lengthened to it"),
    key("most_bytes", Kind::Size, "longer messages are refused"),
    key("most_rate", Kind::Rate, "deadlines that ask for more are lengthened"),
    key("budget", Kind::Rate, "what all programs of the rule may announce in all; more is refused"),
    key("user_messages", Kind::Count, "outcomes of one user's messages that count per second; 1000 if not given"),
    key(
        "user_urgency",
        Kind::Share,
        "mean of d - 1 that one user may have, over the windows that are cut; 25 % if not given, 100 %: no limit",
    ),
    key("user_burst", Kind::Size, "and bytes of windows, times d - 1, at once; 4 MB if not given"),
    key("burst", Kind::Size, "and how much of it at once; one second's worth if not given"),
];

/// The maximum size of a policy in bytes: far above that of 64 rules with comments.
const MAX_SIZE: u64 = 1 << 20;

/// A policy as parsed from its file.
#[derive(Debug)]
pub struct Policy {
    /// The parameters of all rules that do not set them.
    pub parameters: Parameters,
    /// The rules in order: the first that matches governs.
    pub rules: Vec<Rule>,
}

/// Reads a policy. Its errors show their location in the file.
pub fn read(file: &Path) -> Result<Policy> {
    let text = content(file).map_err(|why| Failure::new(Fault::Usage, format!("{}: {why}", file.shown())))?;
    parse(&text).map_err(|mistake| Failure::new(Fault::Usage, mistake.show(&file.shown().to_string(), &text)))
}

/// Returns the text of a regular file. A pipe would block the tool, a device may have effects or no end, and neither can
/// be read again to see which policy is in force.
fn content(file: &Path) -> std::result::Result<String, String> {
    // Without O_NONBLOCK, opening a FIFO waits for a writer.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file);
    let opened = opened.map_err(|error| error.to_string())?;
    let about = opened.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("a policy is a regular file, not a folder, pipe or device".to_owned());
    }
    let mut text = String::new();
    opened.take(MAX_SIZE + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_SIZE {
        return Err(format!("a policy has at most {MAX_SIZE} bytes"));
    }
    Ok(text)
}

/// Reads any bytes as a policy, for `fuzz/` and the test of its corpus.
///
/// # Panics
/// If a policy that is read becomes an impossible rule, or a mistake has no location in the text.
#[cfg(any(fuzzing, test))]
pub fn read_any(bytes: &[u8]) {
    use crate::kernel::{ONE, RULES};
    const MAX_TIME_NS: u64 = 86_400_000_000_000;
    let text = String::from_utf8_lossy(bytes);
    let policy = match parse(&text) {
        Ok(policy) => policy,
        Err(mistake) => {
            assert!(mistake.at.start <= text.len() && !mistake.message.is_empty(), "{mistake:?}");
            let shown = mistake.show("policy.toml", &text);
            assert!(shown.contains(" --> policy.toml:"), "{shown}");
            let failure = Failure::new(Fault::Usage, shown).to_string();
            assert!(!failure.chars().any(|c| c.is_control() && c != '\n'), "{failure:?}");
            return;
        }
    };
    let Ok(law) = policy.parameters.harmless_over(parameters::DEFAULTS) else { return };
    assert!((1..=RULES).contains(&policy.rules.len()));
    for rule in &policy.rules {
        let compiled = rule.compiled(law).expect("names and paths have been measured");
        assert!((0.0..=1.0).contains(&rule.share) && compiled.share <= ONE, "{rule:?}");
        assert!(0 < compiled.port_low && compiled.port_low <= compiled.port_high || rule.ports.is_none(), "{rule:?}");
        assert!(compiled.prefix <= 128 && compiled.deadline_ns <= MAX_TIME_NS, "{rule:?}");
        assert!(compiled.law.g <= ONE && compiled.law.initial_alpha <= ONE, "{rule:?}");
        assert!(crate::rules::in_words(&compiled).chars().all(|c| !c.is_control()), "{rule:?}");
    }
}

type Found<T> = std::result::Result<T, Mistake>;

fn parse(text: &str) -> Found<Policy> {
    let document = DeTable::parse(text).map_err(|error| {
        Mistake::new(error.span().unwrap_or(0..0), format!("this is not TOML: {}", error.message()))
    })?;
    let mut policy = Policy { parameters: Parameters::default(), rules: Vec::new() };
    for (name, value) in document.get_ref() {
        match name.get_ref().as_ref() {
            "parameters" => {
                let table = table(value.get_ref(), value.span())?;
                for (name, value) in table {
                    let key = find(name.get_ref(), name.span(), PARAMETERS.iter())?;
                    parameter(&mut policy.parameters, key, value.get_ref(), value.span())?;
                }
            }
            "rule" => {
                let DeValue::Array(tables) = value.get_ref() else {
                    return Err(Mistake::new(name.span(), "rules are tables").hint("write [[rule]]"));
                };
                for one in tables {
                    let rule = rule(table(one.get_ref(), one.span())?, one.span())?;
                    if policy.rules.iter().any(|known| known.name == rule.name) {
                        let message = format!("there is a rule named \"{}\" already", rule.name);
                        return Err(Mistake::new(one.span(), message).hint("names are how reloads know rules"));
                    }
                    policy.rules.push(rule);
                }
            }
            other => return Err(unknown(other, name.span(), ["parameters", "rule"])),
        }
    }
    if policy.rules.is_empty() {
        return Err(Mistake::new(text.len()..text.len(), "there is no rule").hint("write [[rule]] and its keys"));
    }
    if policy.rules.len() > crate::kernel::RULES {
        let message = format!("{} rules: there may be {}", policy.rules.len(), crate::kernel::RULES);
        return Err(Mistake::new(text.len()..text.len(), message));
    }
    Ok(policy)
}

fn table<'t, 'i>(value: &'t DeValue<'i>, at: Range<usize>) -> Found<&'t DeTable<'i>> {
    match value {
        DeValue::Table(table) => Ok(table),
        _ => Err(Mistake::new(at, "a table is needed here")),
    }
}

fn unknown<'a>(word: &str, at: Range<usize>, valid: impl IntoIterator<Item = &'a str> + Clone) -> Mistake {
    let all: Vec<&str> = valid.clone().into_iter().collect();
    let hint = match nearest(word, valid) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", all.join(", ")),
    };
    Mistake::new(at, format!("there is no `{word}` here")).hint(hint)
}

fn find(word: &str, at: Range<usize>, keys: impl Iterator<Item = &'static Key> + Clone) -> Found<&'static Key> {
    keys.clone()
        .find(|key| key.name == word)
        .ok_or_else(|| unknown(word, at, keys.map(|key| key.name).collect::<Vec<_>>()))
}

fn rule(table: &DeTable, whole: Range<usize>) -> Found<Rule> {
    let mut rule = Rule::of("", Path::new(""), Control::Use);
    let (mut deadline, mut canary) = (None, None);
    for (name, value) in table {
        let at = value.span();
        let key = find(name.get_ref(), name.span(), RULE.iter().chain(PARAMETERS))?;
        if PARAMETERS.iter().any(|known| known.name == key.name) {
            parameter(&mut rule.parameters, key, value.get_ref(), at)?;
            continue;
        }
        let value = Value { key, value: value.get_ref(), at: at.clone() };
        match key.name {
            "name" => rule.name = value.name()?,
            "cgroup" => rule.cgroup = value.cgroup()?,
            "ports" => rule.ports = Some(value.ports()?),
            "peers" => rule.peers = value.peers()?,
            "control" => {
                rule.control = match value.word()? {
                    "ask" => Control::Ask,
                    "leave" => Control::Leave,
                    _ => Control::Use,
                }
            }
            "share" => {
                rule.share = value.share()?;
                canary = Some(at);
            }
            "most_loss" => rule.guard.loss = value.share()?,
            "most_timeouts" => rule.guard.timeouts = value.share()?,
            "most_missed" => rule.guard.missed = value.share()?,
            "tolerance" => rule.guard.tolerance = value.share()?,
            "deadline" => {
                rule.deadline_ns = value.time()?;
                deadline = Some(at);
            }
            "size" => rule.bytes = value.amount("size")?,
            "announce" => rule.silent = !value.flag()?,
            "least_deadline" => rule.limits.min_deadline_ns = value.time()?,
            "most_bytes" => rule.limits.max_bytes = value.amount("size")?,
            "most_rate" => rule.limits.max_rate = value.amount("rate")?,
            "user_messages" => rule.user_messages = value.number(parameters::count)? as u32,
            "user_urgency" => rule.budget.share = value.share()?,
            "user_burst" => rule.budget.burst = value.amount("size")?,
            "budget" => rule.limits.budget_rate = value.amount("rate")?,
            _ => rule.limits.budget_bytes = value.amount("size")?,
        }
    }
    if rule.name.is_empty() {
        return Err(Mistake::new(whole, "this rule has no name").hint("write name = \"web\""));
    }
    if rule.bytes > 0 && deadline.is_none() {
        return Err(Mistake::new(whole, "`size` is of messages with `deadline`, which is missing"));
    }
    if let Some(at) = canary.filter(|_| rule.control != Control::Use) {
        return Err(Mistake::new(at, "a share is of connections that get D2TCP: control = \"use\""));
    }
    if rule.limits.budget_rate > 0 && rule.limits.budget_bytes == 0 {
        rule.limits.budget_bytes = rule.limits.budget_rate;
    }
    Ok(rule)
}

fn parameter(to: &mut Parameters, key: &'static Key, value: &DeValue, at: Range<usize>) -> Found<()> {
    let value = Value { key, value, at };
    match key.name {
        "g" => to.g = Some(value.share()?),
        "initial_alpha" => to.initial_alpha = Some(value.share()?),
        "cap" => to.cap = Some(value.number(parameters::cap)?),
        "margin" => to.margin = Some(value.time()? as f64 / 1e9),
        "expired" => {
            to.expired = Some(match value.word()? {
                "cap" => Expired::Cap,
                "yield" => Expired::Yield,
                _ => Expired::Neutral,
            })
        }
        "t_c" => {
            let precise = value.word()? == "precise";
            to.t_c = Some(if precise { TimeToComplete::Precise } else { TimeToComplete::Approximate });
        }
        "mode" => to.mode = Some(if value.word()? == "plus" { Mode::Plus } else { Mode::D2tcp }),
        "rto_min" => to.rto_min = Some(value.time()? as f64 / 1e9),
        "initial_window" => to.initial_window = Some(value.number(parameters::segments)?),
        "time_scale" => to.time_scale = Some(value.number(parameters::time_scale)?),
        "rtt" => to.rtt = Some(if value.word()? == "minimum" { Rtt::Minimum } else { Rtt::Smoothed }),
        _ => to.confirm = Some(value.word()?.to_owned()),
    }
    Ok(())
}

/// The value of a key.
struct Value<'v, 'i> {
    key: &'static Key,
    value: &'v DeValue<'i>,
    at: Range<usize>,
}

impl Value<'_, '_> {
    fn wrong(&self, expected: impl Into<String>) -> Mistake {
        Mistake::new(self.at.clone(), format!("`{}`: {}", self.key.name, expected.into())).hint(self.key.help)
    }
    fn text(&self) -> Found<&str> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("expected a text in quotes")),
        }
    }
    fn flag(&self) -> Found<bool> {
        match self.value {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.wrong("expected true or false")),
        }
    }
    /// Parses a number, bare or in quotes.
    fn number(&self, read: impl Fn(&str) -> std::result::Result<f64, String>) -> Found<f64> {
        let text = match self.value {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => "",
        };
        read(text).map_err(|expected| self.wrong(expected))
    }
    /// Parses a share, such as 0.05, 1/16 or 5 %.
    fn share(&self) -> Found<f64> {
        self.number(parameters::percent)
    }
    fn name(&self) -> Found<String> {
        let text = self.text()?;
        let fits = !text.is_empty() && text.len() <= 31 && !text.chars().any(char::is_control);
        if fits { Ok(text.to_owned()) } else { Err(self.wrong("expected 1 to 31 bytes")) }
    }
    fn cgroup(&self) -> Found<PathBuf> {
        let root = place::cgroup_root().unwrap_or_else(|_| PathBuf::from("/sys/fs/cgroup"));
        let path = place::cgroup_path(&root, Path::new(self.text()?)).map_err(|failure| {
            let message = failure.message.split_once(": ").map_or("", |(_, message)| message).to_owned();
            self.wrong(message)
        })?;
        if path.as_os_str().len() <= 255 { Ok(path) } else { Err(self.wrong("expected at most 255 bytes")) }
    }
    fn ports(&self) -> Found<(u16, u16)> {
        let bare = match self.value {
            DeValue::Integer(number) => number.as_str(),
            _ => self.text()?,
        };
        parameters::ports(bare).map_err(|expected| self.wrong(expected))
    }
    fn peers(&self) -> Found<Peers> {
        let expected = || self.wrong("expected any, private, or a prefix as in 10.1.0.0/16");
        match self.text()? {
            "any" => Ok(Peers::Any),
            "private" => Ok(Peers::Private),
            text => {
                let (address, bits) = text.split_once('/').unwrap_or((text, ""));
                let address: IpAddr = address.parse().map_err(|_| expected())?;
                let most = if address.is_ipv4() { 32 } else { 128 };
                let bits = if bits.is_empty() { most } else { bits.parse().map_err(|_| expected())? };
                if bits > most {
                    return Err(self.wrong(format!("a prefix has at most {most} bits")));
                }
                Ok(Peers::Prefix(address, bits))
            }
        }
    }
    fn word(&self) -> Found<&'static str> {
        let Kind::Words(words) = self.key.kind else { unreachable!("a key of words") };
        let text = self.text()?;
        words
            .iter()
            .find(|word| **word == text)
            .copied()
            .ok_or_else(|| unknown(text, self.at.clone(), words.iter().copied()))
    }
    /// Parses a time of at most a day; returns ns.
    fn time(&self) -> Found<u64> {
        let seconds = parameters::seconds(self.text()?).map_err(|expected| self.wrong(expected))?;
        Ok((seconds * 1e9).round() as u64)
    }
    /// Parses an amount; returns bytes, or bytes per second.
    fn amount(&self, what: &str) -> Found<u64> {
        let text = self.text()?;
        let example = if what == "rate" { "200 Mbps" } else { "64 KB" };
        let expected = || self.wrong(format!("expected a {what} with its unit, as in {example}"));
        let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(expected)?);
        let unit = UNITS.iter().find(|known| known.name == unit.trim()).ok_or_else(expected)?;
        let number: f64 = number.trim().parse().map_err(|_| expected())?;
        let (dimension, scale) = if what == "rate" { ((-1, 1), 1e12) } else { ((0, 1), 1.0) };
        let value = number * unit.value * scale;
        if (unit.dimension.time, unit.dimension.data) != dimension || !(1.0..=1e15).contains(&value) {
            return Err(expected());
        }
        Ok(value.round() as u64)
    }
}

/// Returns the JSON Schema of policies.
pub fn schema() -> Json {
    let of = |keys: &[&[Key]]| -> Map<String, Json> {
        keys.iter().flat_map(|keys| keys.iter()).map(|key| (key.name.to_owned(), property(key))).collect()
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy of d2tcp",
        "type": "object",
        "additionalProperties": false,
        "required": ["rule"],
        "properties": {
            "parameters": {"type": "object", "additionalProperties": false, "properties": of(&[PARAMETERS])},
            "rule": {
                "type": "array",
                "minItems": 1,
                "maxItems": crate::kernel::RULES,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["name"],
                    "properties": of(&[RULE, PARAMETERS]),
                },
            },
        },
    })
}

fn property(key: &Key) -> Json {
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern, "description": key.help});
    match key.kind {
        Kind::Flag => json!({"type": "boolean", "description": key.help}),
        Kind::Words(words) => json!({"enum": words, "description": key.help}),
        Kind::Name => json!({"type": "string", "minLength": 1, "maxLength": 31, "description": key.help}),
        Kind::Cgroup => json!({"type": "string", "maxLength": 255, "description": key.help}),
        Kind::Peers => json!({"type": "string", "description": key.help}),
        Kind::Ports => json!({"type": ["string", "integer"], "description": key.help}),
        Kind::Cap => json!({"type": ["number", "string"], "minimum": 1, "maximum": 16, "description": key.help}),
        Kind::Scale => json!({"type": ["number", "string"], "minimum": 0.1, "maximum": 1000, "description": key.help}),
        Kind::Count => {
            json!({"type": ["integer", "string"], "minimum": 1, "maximum": parameters::MAX_COUNT, "description": key.help})
        }
        Kind::Segments => {
            json!({"type": ["integer", "string"], "minimum": 0, "maximum": 1000, "description": key.help})
        }
        Kind::Share => json!({"type": ["number", "string"], "minimum": 0, "maximum": 1, "description": key.help}),
        Kind::Time => text(r"^[0-9.]+ ?(ns|us|ms|s|min)$"),
        Kind::Size => text(r"^[0-9.]+ ?(B|KB|MB|GB|TB|KiB|MiB|GiB|bit|bits|Kb|Mb|Gb|byte|bytes)$"),
        Kind::Rate => text(r"^[0-9.]+ ?(bps|Kbps|Mbps|Gbps|Tbps)$"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
[parameters]
cap = 3
margin = "500 us"

[[rule]]
name = "canary"
cgroup = "system.slice/web.service"
ports = "443"
peers = "10.0.0.0/8"
share = "5 %"
tolerance = "20 %"

[[rule]]
name = "replies"
ports = "8000-8999"
peers = "private"
deadline = "20 ms"
size = "64 KB"
expired = "yield"
g = 0.125
mode = "plus"
rto_min = "8 ms"
least_deadline = "1 ms"
most_bytes = "64 MB"
most_rate = "200 Mbps"
budget = "80 Mbps"
user_messages = 50
user_urgency = "10 %"
user_burst = "1 MB"

[[rule]]
name = "others"
control = "leave"
announce = false
"#;

    #[test]
    fn only_a_regular_file_of_limited_size_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("policy.toml"), WHOLE).unwrap();
        std::os::unix::fs::symlink(place("policy.toml"), place("link")).unwrap();
        assert_eq!(read(&place("link")).unwrap().rules.len(), 3);

        let fifo = std::ffi::CString::new(place("fifo").as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        let _socket = std::os::unix::net::UnixListener::bind(place("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", place("device")).unwrap();
        for (name, told) in [("fifo", "regular"), ("device", "regular"), (".", "regular"), ("socket", "socket: ")] {
            let failure = read(&place(name)).unwrap_err();
            assert!(failure.kind == Fault::Usage && failure.message.contains(told), "{name}: {}", failure.message);
        }

        let filled = |size: u64| format!("{WHOLE}#{}", " ".repeat(size as usize - WHOLE.len() - 1));
        std::fs::write(place("large"), filled(MAX_SIZE)).unwrap();
        assert_eq!(read(&place("large")).unwrap().rules.len(), 3);
        std::fs::write(place("large"), filled(MAX_SIZE + 1)).unwrap();
        assert!(read(&place("large")).unwrap_err().message.contains("1048576 bytes"));
    }

    #[test]
    fn a_whole_policy_is_read() {
        let policy = parse(WHOLE).unwrap();
        assert_eq!((policy.parameters.cap, policy.parameters.margin), (Some(3.0), Some(0.0005)));
        let [canary, replies, others] = &policy.rules[..] else { panic!("three rules") };
        assert_eq!(
            (canary.share, canary.ports, &*canary.cgroup),
            (0.05, Some((443, 443)), Path::new("system.slice/web.service"))
        );
        assert_eq!(canary.peers, Peers::Prefix("10.0.0.0".parse().unwrap(), 8));
        assert_eq!((replies.deadline_ns, replies.bytes, replies.peers), (20_000_000, 64_000, Peers::Private));
        assert_eq!((canary.user_messages, replies.user_messages), (1000, 50));
        let budgets = [canary, replies].map(|rule| (rule.budget.share, rule.budget.burst));
        assert_eq!(budgets, [(0.25, 4_000_000), (0.1, 1_000_000)]);
        assert_eq!(replies.compiled(parameters::DEFAULTS).unwrap().user_urgency, (1 << 30) / 10);
        assert_eq!((canary.guard.tolerance, replies.guard.tolerance), (0.2, 0.1));
        let limits = replies.limits;
        assert_eq!((limits.min_deadline_ns, limits.max_bytes, limits.max_rate), (1_000_000, 64_000_000, 25_000_000));
        assert_eq!((limits.budget_rate, limits.budget_bytes), (10_000_000, 10_000_000), "a second's worth");
        assert_eq!(replies.parameters.given(), 0b1_1000_1001, "g, expired, mode and rto_min");
        assert_eq!((others.control, others.silent), (Control::Leave, true));
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let rule = |line: &str| format!("[[rule]]\nname = \"a\"\n{line}\n");
        for (text, place, told) in [
            ("", ":1:1", "no rule"),
            ("rules = 1", ":1:1", "did you mean `rule`?"),
            ("[[rule]]\nports = 1", ":1:1", "no name"),
            (&rule("dedline = '1 ms'"), ":3:1", "did you mean `deadline`?"),
            (&rule("deadline = '1'"), ":3:12", "ns, us, ms, s or min"),
            (&rule("deadline = 5"), ":3:12", "a text in quotes"),
            (&rule("ports = '9-8'"), ":3:9", "A-B"),
            (&rule("ports = 0"), ":3:9", "A-B"),
            (&rule("peers = '10.0.0.0/33'"), ":3:9", "at most 32 bits"),
            (&rule("peers = 'everybody'"), ":3:9", "10.1.0.0/16"),
            (&rule("control = 'used'"), ":3:11", "did you mean `use`?"),
            (&rule("share = 7"), ":3:9", "0 to 1"),
            (&rule("share = '5 %'\ncontrol = 'ask'"), ":3:9", "control = \"use\""),
            (&rule("size = '9 KB'"), ":1:1", "`deadline`, which is missing"),
            (&rule("most_rate = '5 MB'"), ":3:13", "200 Mbps"),
            (&rule("budget = '-1 Mbps'"), ":3:10", "200 Mbps"),
            (&rule("user_messages = 0"), ":3:17", "1 to 1000000"),
            (&rule("user_urgency = '101 %'"), ":3:16", "0 to 1"),
            (&rule("user_burst = '4'"), ":3:14", "64 KB"),
            (&rule("user_urgncy = 1"), ":3:1", "did you mean `user_urgency`?"),
            (&rule("announce = 'no'"), ":3:12", "true or false"),
            (&rule("cgroup = '../x'"), ":3:10", "without . and .."),
            (&rule("cap = 0.5"), ":3:7", "1 to 16"),
            (&rule("mode = 'pluss'"), ":3:8", "did you mean `plus`?"),
            (&rule("initial_window = 1.5"), ":3:18", "whole number"),
            (&rule("[[rule]]\nname = 'a'"), ":3:1", "already"),
            ("[parameters]\nshare = 1", ":2:1", "there is no `share` here"),
            ("[[rule]\n", ":1:", "not TOML"),
            ("rule = 3", ":1:1", "[[rule]]"),
        ] {
            let shown = parse(text).unwrap_err().show("p.toml", text);
            assert!(shown.contains(&format!("p.toml{place}")) && shown.contains(told), "{text}: {shown}");
        }
        let many: String = (0..65).map(|n| format!("[[rule]]\nname = 'r{n}'\n")).collect();
        assert!(parse(&many).unwrap_err().message.contains("may be 64"));
    }

    #[test]
    fn kept_policies_of_the_fuzzer_are_read_or_refused() {
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fuzz/corpus/policy");
        let paths: Vec<_> = std::fs::read_dir(kept).expect("the corpus").map(|entry| entry.unwrap().path()).collect();
        assert!(!paths.is_empty());
        for path in paths {
            read_any(&std::fs::read(path).unwrap());
        }
    }

    #[test]
    fn the_schema_knows_every_key() {
        let schema = schema();
        let properties = &schema["properties"]["rule"]["items"]["properties"];
        assert!(RULE.iter().chain(PARAMETERS).all(|key| properties[key.name]["description"] == key.help));
        assert_eq!(properties.as_object().unwrap().len(), RULE.len() + PARAMETERS.len());
    }
}
