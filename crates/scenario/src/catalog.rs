//! All elements of the language, with defaults, ranges and sources, as data.

use serde_json::{Value as Json, json};
use sim::profile::{self, PROFILES, Profile};
use sim::traffic::Nature;
use sim::{faults, network, run, topology, traffic};
use transport::{Needs, Signal};
use units::{Default, Easier, Key, Kind};

use crate::distribution::BUILT_IN;
use crate::language::{self, Family, ROOT_KEYS};
use crate::lints::LINTS;
use crate::{messages, nested, requests};

/// Returns transports, topologies, patterns, kinds of faults and the keys of all sections, from their declarations.
///
/// The result is an object with:
/// - `transports`, `topologies`, `patterns` and `faults`, each a list of `{name, help, source, keys}`; transports also
///   have `needs` of `{switches, hosts, discipline, marking, regimes}` and the names of keys that are `unread`;
/// - `root`, `run`, `trace`, `network`, `links`, `traffic`, `flows` and `fault`, each a list of keys that do not depend
///   on those;
/// - `formats`, the known files of requests, each `{name, help, source}`;
/// - `profiles`, each `{name, help, source, settings}` with settings of `{section, key, value, default, source}`;
/// - `notes`, the lints for valid scenarios;
/// - `signals`, the values of `run.trace.what`, each `{name, help, unit}`;
/// - `distributions`, the built-in ones of the language;
/// - `aliases`, pairs of another word for a name or key, and that name or key.
///
/// Transports also have `by_senders` (no switch or receiver allots rates). Topologies have an `example` of their keys,
/// `single_switch` and `growth`, `{key, min, step, power}`; patterns `queries`, `draws_hosts`, `waits` and `endless`;
/// faults an `example`.
///
/// A key is `{name, kind, unit, default, profiles, required, range, choices, easier, help, source}`; null where there is
/// no value. A key whose values are tables has `table`, how they are written, and their `keys`. `easier` is `more` or `less`, where that makes deadlines easier to meet. Where profiles set a key,
/// `profiles` is its default under each, and `default` is for a scenario without a profile.
pub fn catalog() -> Json {
    json!({
        "transports": family(&language::transport_family(), transport),
        "topologies": family(&language::topologies(), shape),
        "patterns": family(&language::patterns(), pattern),
        "faults": family(&language::faults(), fault),
        "profiles": PROFILES.iter().map(described_profile).collect::<Vec<_>>(),
        "root": keys(ROOT_KEYS.iter()),
        "run": keys(run::KEYS.iter()),
        "trace": keys(run::TRACE_KEYS.iter()),
        "network": keys_with(network::keys(), |key| set_by(|profile| profile.find("network", key.name).is_some(), "network", key)),
        "traffic": keys(traffic::KEYS.iter()),
        "links": keys(topology::LINK_KEYS.iter()),
        "flows": keys(traffic::ENTRY_KEYS.iter()),
        "formats": requests::FORMATS.iter().map(|known| json!({ "name": known.name, "help": known.help, "source": known.source })).collect::<Vec<_>>(),
        "fault": keys(faults::KEYS.iter()),
        "notes": LINTS.iter().map(|lint| json!({ "name": lint.name, "help": lint.reason })).collect::<Vec<_>>(),
        "signals": run::SIGNALS.signals().iter().map(|known| signal(known)).collect::<Vec<_>>(),
        "aliases": language::aliases().collect::<Vec<_>>(),
        "distributions": BUILT_IN.iter().map(|known| json!({ "name": known.name, "help": known.help })).collect::<Vec<_>>(),
    })
}

/// Returns the variants of a family, each with `more` of it: an object.
fn family(family: &Family, more: impl Fn(&str) -> Json) -> Vec<Json> {
    let variants = family.variants.iter().map(|variant| {
        let needs = |needs: &Needs| {
            let Needs { switches, hosts, discipline, marking, regimes, .. } = needs;
            let regimes: Vec<Json> =
                regimes.iter().map(|regime| json!({ "key": regime.key, "source": regime.source })).collect();
            json!({
                "switches": switches,
                "hosts": hosts,
                "discipline": discipline,
                "marking": marking,
                "regimes": regimes,
            })
        };
        let mut described = json!({
            "name": variant.name,
            "help": variant.help,
            "source": said(variant.source),
            "keys": keys_with(variant.own.iter().copied(), |key| {
                set_by(|profile| language::setting(family, variant, key, profile).is_some(), family.section(), key)
            }),
        });
        if let Some(found) = variant.needs.as_ref() {
            described["needs"] = needs(found);
        }
        let Json::Object(more) = more(variant.name) else { panic!("more of {} is an object", variant.name) };
        described.as_object_mut().expect("an object").extend(more);
        described
    });
    variants.collect()
}

fn transport(name: &str) -> Json {
    let found = language::find_transport(name).expect("a transport of the family");
    let unread: Vec<_> = found.keys().map(|key| key.name).filter(|name| !found.reads(name)).collect();
    json!({ "unread": unread, "by_senders": found.by_senders() })
}

fn shape(name: &str) -> Json {
    let found = topology::find(name).expect("a topology of the family");
    let growth = found.growth.as_ref();
    json!({
        "example": found.example,
        "single_switch": found.single_switch,
        "growth": growth.map(|by| json!({ "key": by.key, "min": by.min, "step": by.step, "power": by.power })),
    })
}

fn pattern(name: &str) -> Json {
    let Nature { queries, draws_hosts, waits, endless } = traffic::find(name).expect("a pattern of the family").nature;
    json!({ "queries": queries, "draws_hosts": draws_hosts, "waits": waits, "endless": endless })
}

fn fault(name: &str) -> Json {
    json!({ "example": faults::find(name).expect("a fault of the family").example })
}

fn signal(signal: &Signal) -> Json {
    json!({ "name": signal.name, "help": signal.help, "unit": said(signal.unit) })
}

fn keys<'a>(keys: impl Iterator<Item = &'a Key>) -> Vec<Json> {
    keys.map(key).collect()
}

/// Returns the keys, with their defaults under each profile.
fn keys_with(keys: impl Iterator<Item = &'static Key>, set_by: impl Fn(&'static Key) -> Option<Json>) -> Vec<Json> {
    let with_profiles = keys.map(|known| {
        let mut described = key(known);
        if let Some(values) = set_by(known) {
            described["default"] = values[profile::DEFAULT.name].clone();
            described["profiles"] = values;
        }
        described
    });
    with_profiles.collect()
}

/// Returns a key's default under each profile, if one sets it.
fn set_by(sets: impl Fn(&Profile) -> bool, section: &str, key: &Key) -> Option<Json> {
    if !PROFILES.iter().any(&sets) {
        return None;
    }
    let values = PROFILES.iter().map(|profile| (profile.name.to_owned(), json!(profile.default_of(section, key))));
    Some(Json::Object(values.collect()))
}

fn described_profile(profile: &Profile) -> Json {
    let settings = profile.settings().map(|setting| {
        json!({
            "section": setting.section,
            "key": setting.key,
            "value": setting.value.to_string(),
            "default": profile.shown(setting),
            "source": setting.source,
        })
    });
    json!({
        "name": profile.name, "help": profile.help, "source": profile.source, "settings": settings.collect::<Vec<_>>(),
    })
}

fn key(key: &Key) -> Json {
    let default = match key.default {
        Default::Is(text) => json!(text),
        _ => Json::Null,
    };
    let choices = match key.kind {
        Kind::Choice(words) | Kind::Choices(words) => json!(words),
        _ => Json::Null,
    };
    let mut described = json!({
        "name": key.name,
        "kind": kind_name(&key.kind),
        "unit": unit(&key.kind),
        "default": default,
        "profiles": Json::Null,
        "required": key.default == Default::Required,
        "range": if key.range.is_any() { Json::Null } else { json!(key.range.to_string()) },
        "choices": choices,
        "easier": key.range.easier.map(|easier| match easier {
            Easier::More => "more",
            Easier::Less => "less",
        }),
        "help": key.help,
        "source": said(key.source),
    });
    if let Some((table, nested)) = tables_of(key) {
        described["table"] = json!(table);
        described["keys"] = json!(keys(nested.iter()));
    }
    described
}

/// Returns how the tables of a key are written, and their keys; none where there is only one, which has a short form.
fn tables_of(key: &Key) -> Option<(String, &'static [Key])> {
    match key.kind {
        Kind::RequestFile => Some((format!("{} = {{ .. }}", key.name), requests::KEYS)),
        Kind::FlowFile => Some((format!("{} = {{ .. }}", key.name), messages::KEYS)),
        _ => nested::of(key).filter(|nested| nested.keys.len() > 1).map(|nested| (nested::header(key), nested.keys)),
    }
}

fn said(text: &str) -> Json {
    if text.is_empty() { Json::Null } else { json!(text) }
}

/// Returns one or a few words for a kind.
pub(crate) fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Bool => "true or false",
        Kind::Count => "whole number",
        Kind::CountOr(_) => "whole number, or word",
        Kind::Number => "number",
        Kind::Share => "share",
        Kind::Shares => "list of shares",
        Kind::Load(_) => "share, or { of, share }",
        Kind::Time => "time",
        Kind::Times => "list of times",
        Kind::Size => "size",
        Kind::Rate => "rate",
        Kind::Amount => "packets or size",
        Kind::Marks => "packets or size, or { host, uplink }",
        Kind::AmountBySwitch => "packets or size, or { SWITCH, others }",
        Kind::Choice(_) => "word",
        Kind::Choices(_) => "list of words",
        Kind::Text => "text",
        Kind::TimeFormula => "time formula",
        Kind::TimeDistribution => "time distribution",
        Kind::SizeDistribution => "size distribution",
        Kind::Deadline => "time distribution, multiple of `alone`, or { base, vary }",
        Kind::Hosts => "hosts",
        Kind::Flows => "list of flows",
        Kind::Names | Kind::NamesOf(_) => "list of names, perhaps empty",
        Kind::Nodes => "hosts, or a switch",
        Kind::Links => "list of links",
        Kind::MatrixFile => "file",
        Kind::FlowFile => "file, or a table that names one",
        Kind::Tables(_) => "list of tables",
        Kind::Named(_) => "tables by name",
        Kind::RequestTime => "time distribution, or formula of columns",
        Kind::RequestSize => "size distribution, or formula of columns",
        Kind::Allowed => "time distribution, formula of columns, or multiple of `alone`",
        Kind::RequestFile => "file of requests, as a table",
    }
}

/// Returns the unit of a key's range.
fn unit(kind: &Kind) -> Json {
    match kind {
        Kind::Time | Kind::Times | Kind::TimeFormula | Kind::TimeDistribution | Kind::Deadline => json!("s"),
        Kind::RequestTime | Kind::Allowed => json!("s"),
        Kind::Size | Kind::SizeDistribution | Kind::RequestSize => json!("B"),
        Kind::Rate => json!("bit/s"),
        Kind::Amount | Kind::AmountBySwitch | Kind::Marks => json!("packets or B"),
        _ => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_there_with_its_keys() {
        let catalog = catalog();
        for (list, name, key) in
            [("transports", "d2tcp", "d_cap"), ("topologies", "racks", "uplink"), ("patterns", "fan-in", "leaves")]
        {
            let found = catalog[list].as_array().unwrap().iter().find(|item| item["name"] == name).unwrap();
            let key = found["keys"].as_array().unwrap().iter().find(|item| item["name"] == key).unwrap();
            assert!(key["help"].is_string() && key["kind"].is_string(), "{key}");
        }
        let keys = |of: &Json| of["keys"].as_array().unwrap().clone();
        let named = |list: &[Json], name: &str| list.iter().find(|item| item["name"] == name).unwrap().clone();
        let stages = keys(&named(catalog["patterns"].as_array().unwrap(), "stages"));
        let (stage, file) = (named(&stages, "stage"), named(&stages, "requests"));
        assert_eq!((&stage["table"], &file["table"]), (&json!("[[traffic.stage]]"), &json!("requests = { .. }")));
        assert_eq!(named(&keys(&stage), "quorum")["range"], "above 0, at most 1");
        assert!(named(&keys(&file), "columns")["keys"].is_null());
        assert_eq!(catalog["run"][0]["name"], "duration");
        assert_eq!(catalog["network"][0]["unit"], "bit/s");
    }
}
