//! The JSON Schema of the language, for editors.

use serde_json::{Map, Value as Json, json};
use sim::topology::LINK_KEYS;
use sim::traffic::ENTRY_KEYS;
use sim::{profile, run};
use transport::connection;
use units::{Default, Key, Kind, Range};

use crate::catalog::kind_name;
use crate::cdf::SIZE_KEYS;
use crate::classes::INHERIT;
use crate::distribution::BUILT_IN;
use crate::language::{self, Family, ROOT_KEYS, Variant};
use crate::messages;
use crate::plugins::PLUGIN;
use crate::requests;

/// Returns the JSON Schema (draft 2020-12) of a scenario file.
///
/// It has names, kinds, choices, plain numbers' ranges and the combinations of keys. Only [`read`](crate::read) checks
/// the meaning of an expression.
pub fn schema() -> Json {
    let topologies = language::topologies();
    let transports = language::transport_family();
    let patterns = language::patterns();
    let faults = language::faults();
    let mut properties = table(ROOT_KEYS.iter());
    let parameter = json!({ "type": ["number", "string", "boolean"], "description": "a named value, used as $name" });
    properties.insert(
        "parameters".into(),
        json!({
            "type": "object",
            "description": "named values: change one with --set name=value",
            "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            "additionalProperties": parameter,
        }),
    );
    properties.insert("run".into(), json!({ "$ref": "#/$defs/run" }));
    properties.insert("network".into(), variants(&topologies, "what hosts are connected by"));
    let fault = variants(&faults, "a fault");
    properties.insert(
        "fault".into(),
        json!({ "type": "array", "description": "what goes wrong in the network", "items": fault }),
    );
    properties.insert("transport".into(), json!({ "$ref": "#/$defs/transport" }));
    properties.insert(
        "defaults".into(),
        json!({
            "type": "object",
            "description": "what classes share",
            "properties": { "traffic": { "$ref": "#/$defs/shared" } },
            "additionalProperties": false,
        }),
    );
    let classes = |of: &str| json!({ "type": "array", "minItems": 1, "description": "the traffic classes", "items": { "$ref": of } });
    properties.insert("traffic".into(), classes("#/$defs/class_with_defaults"));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "duetime scenario",
        "type": "object",
        "properties": properties,
        "required": ["run", "network", "traffic"],
        "additionalProperties": false,
        // Without [defaults.traffic] each class must be complete by itself.
        "if": { "not": { "required": ["defaults"] } },
        "then": { "properties": { "traffic": classes("#/$defs/class") } },
        "$defs": {
            "run": run_section(),
            "transport": {
                "description": transports.help,
                "anyOf": [selector(&transports), variants(&transports, transports.help), module(), plugin(&[])],
            },
            "own_transport": own_transport(&transports),
            "class": class(&patterns, true),
            "class_with_defaults": class(&patterns, false),
            "shared": shared(&patterns),
            "flow": object(ENTRY_KEYS.iter(), true),
            "link": object(LINK_KEYS.iter(), true),
            "parameter": { "type": "string", "pattern": "^\\s*\\$[A-Za-z_][A-Za-z0-9_]*\\s*$" },
        },
    })
}

fn run_section() -> Json {
    let mut section = object(run::KEYS.iter(), true);
    let mut trace = object(run::TRACE_KEYS.iter(), true);
    trace["description"] = json!("what to sample over time");
    section["properties"]["trace"] = trace;
    section
}

/// Returns the schema of a class's transport, which may take over parameters of `[transport]`.
fn own_transport(transports: &Family) -> Json {
    let mut own = variants(transports, transports.help);
    for branch in own["oneOf"].as_array_mut().into_iter().flatten() {
        branch["properties"][INHERIT] = json!({
            "type": "boolean",
            "default": false,
            "description": "true or false: take over the parameters of [transport] that this one knows too",
        });
    }
    json!({ "anyOf": [selector(transports), own, module(), plugin(&[INHERIT]), { "$ref": "#/$defs/parameter" }] })
}

/// Returns the schema of the path of a module.
fn module() -> Json {
    json!({
        "type": "string",
        "description": "a plug-in: the path of a WebAssembly module, from the scenario's folder",
        "pattern": "\\.(wasm|wat)$",
    })
}

/// Returns the schema of a transport that is a module: with the shared keys, the `more` ones, and any keys of its own.
fn plugin(more: &[&str]) -> Json {
    let mut shared = object(connection::KEYS.iter(), false);
    shared["title"] = json!("transport from a module");
    shared["properties"][PLUGIN] = module();
    shared["properties"]["name"] =
        json!({ "type": "string", "description": "its name in tables (default: of its file)" });
    shared["required"] = json!([PLUGIN]);
    shared["additionalProperties"] = json!(true);
    for key in more {
        shared["properties"][key] = json!({ "type": "boolean", "default": false });
    }
    shared
}

/// Returns the schema of a table of fixed keys.
fn object<'a>(keys: impl Iterator<Item = &'a Key> + Clone, complete: bool) -> Json {
    let required: Vec<&str> = match complete {
        true => keys.clone().filter(|key| key.default == Default::Required).map(|key| key.name).collect(),
        false => Vec::new(),
    };
    json!({ "type": "object", "properties": table(keys), "required": required, "additionalProperties": false })
}

fn table<'a>(keys: impl Iterator<Item = &'a Key>) -> Map<String, Json> {
    keys.map(|key| (key.name.to_owned(), property(key))).collect()
}

/// Returns the schema of the key that names a variant.
fn selector(family: &Family) -> Json {
    let described: Vec<Json> =
        family.variants.iter().map(|variant| json!({ "const": variant.name, "description": variant.help })).collect();
    json!({ "description": family.help, "oneOf": described })
}

/// Returns the schema of one of the tables of a family, distinguished by the selector.
fn variants(family: &Family, description: &str) -> Json {
    let names: Vec<&str> = family.names().collect();
    let branches: Vec<Json> = family
        .variants
        .iter()
        .map(|variant| {
            let mut branch = with_selector(family, variant, object(variant.keys.iter().copied(), true));
            for key in
                variant.keys.iter().filter(|key| language::setting(family, variant, key, profile::DEFAULT).is_some())
            {
                let text = profile::DEFAULT.default_of(family.section(), key);
                branch["properties"][key.name]["default"] = text.map_or(Json::Null, |text| typed(key, &text));
            }
            branch["title"] = json!(format!("{} {}", family.what, variant.name));
            branch
        })
        .collect();
    json!({
        "type": "object",
        "description": description,
        "properties": { family.selector: { "enum": names } },
        "required": [family.selector],
        "oneOf": branches,
    })
}

fn with_selector(family: &Family, variant: &Variant, mut object: Json) -> Json {
    object["properties"][family.selector] = json!({ "const": variant.name, "description": variant.help });
    if let Some(required) = object["required"].as_array_mut() {
        required.push(json!(family.selector));
    }
    object
}

/// Returns the schema of a traffic class: complete, or with the rest in `[defaults.traffic]`.
fn class(family: &Family, complete: bool) -> Json {
    let own_transport = json!({
        "$ref": "#/$defs/own_transport",
        "description": "instead of [transport]: a name stands for that transport with its defaults, a table for its own keys",
    });
    let mut branches: Vec<Json> = Vec::new();
    for variant in &family.variants {
        let mut branch = with_selector(family, variant, object(variant.keys.iter().copied(), complete));
        branch["properties"]["transport"] = own_transport.clone();
        branch["title"] = json!(format!("pattern {}", variant.name));
        branches.push(branch);
    }
    if !complete {
        let mut branch = shared(family);
        branch["properties"]["name"] = property(family.key("name").expect("every class has a name"));
        branch["properties"]["pattern"] = json!(false);
        branches.push(branch);
    }
    json!({ "type": "object", "required": ["name"], "oneOf": branches })
}

/// Returns the schema of `[defaults.traffic]`: every key of every pattern.
fn shared(family: &Family) -> Json {
    let mut properties = Map::new();
    for name in family.key_names().into_iter().filter(|name| *name != "name") {
        let mut forms: Vec<Json> = Vec::new();
        for key in family.variants.iter().flat_map(|variant| &variant.keys).filter(|key| key.name == name) {
            let form = property(key);
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        let form = if forms.len() == 1 { forms.remove(0) } else { json!({ "anyOf": forms }) };
        properties.insert(name.to_owned(), form);
    }
    properties.insert(family.selector.into(), selector(family));
    properties.insert("transport".into(), json!({ "$ref": "#/$defs/own_transport" }));
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Returns the schema of a key's values.
fn property(key: &Key) -> Json {
    let mut schema = form(key);
    let source = if key.source.is_empty() { String::new() } else { format!(" [{}]", key.source) };
    schema["description"] = json!(format!("{}: {}{source}", kind_name(&key.kind), key.help));
    if let Default::Is(text) = key.default {
        schema["default"] = typed(key, text);
    }
    let plain = matches!(key.kind, Kind::Bool | Kind::Choice(_) | Kind::Choices(_) | Kind::Count | Kind::Number);
    match serde_json::from_str::<Json>(&key.kind.example()) {
        Ok(example) if !plain => schema["examples"] = json!([example]),
        _ => {}
    }
    schema
}

/// Returns a default as an editor fills it in.
fn typed(key: &Key, text: &str) -> Json {
    match key.kind {
        Kind::Bool => json!(text == "true"),
        Kind::Count | Kind::Number => {
            text.parse::<f64>().map_or(json!(text), |x| if x.fract() == 0.0 { json!(x as i64) } else { json!(x) })
        }
        _ => json!(text),
    }
}

fn form(key: &Key) -> Json {
    let parameter = json!({ "$ref": "#/$defs/parameter" });
    // A quantity has a number or a parameter in it; a distribution may also be a file's name.
    let quantity = json!({ "type": "string", "pattern": "[0-9$]" });
    let quantity_or_zero = json!({ "anyOf": [quantity.clone(), { "const": 0 }] });
    let amount = json!({ "type": "string", "pattern": "[0-9$]" });
    match key.kind {
        Kind::Bool => json!({ "anyOf": [{ "type": "boolean" }, parameter] }),
        Kind::Count => json!({ "anyOf": [number("integer", key.range), quantity] }),
        Kind::CountOr(word) => json!({ "anyOf": [number("integer", key.range), { "const": word }, quantity] }),
        Kind::Number => json!({ "anyOf": [number("number", key.range), quantity] }),
        Kind::Share => json!({ "anyOf": [number("number", key.range), quantity] }),
        Kind::Time | Kind::Size | Kind::Rate | Kind::TimeFormula => quantity_or_zero,
        Kind::Load(words) => {
            let share = json!({ "anyOf": [number("number", key.range), quantity] });
            json!({ "anyOf": [number("number", key.range), quantity, {
                "type": "object",
                "properties": { "of": { "enum": words }, "share": share },
                "required": ["of", "share"],
                "additionalProperties": false,
            }] })
        }
        Kind::Shares => {
            let share = json!({ "anyOf": [number("number", key.range), quantity] });
            json!({ "type": "array", "minItems": 1, "items": share })
        }
        Kind::Times => {
            json!({ "anyOf": [quantity.clone(), { "type": "array", "items": quantity, "minItems": 1 }] })
        }
        Kind::Amount => amount,
        Kind::Marks => json!({ "anyOf": [amount.clone(), {
            "type": "object",
            "properties": { "host": amount.clone(), "uplink": amount },
            "additionalProperties": false,
        }] }),
        Kind::AmountBySwitch => {
            json!({ "anyOf": [amount.clone(), { "type": "object", "minProperties": 1, "additionalProperties": amount }] })
        }
        Kind::Choice(words) => json!({ "anyOf": [{ "enum": words }, parameter] }),
        Kind::Choices(words) => {
            json!({ "anyOf": [{ "type": "array", "items": { "enum": words }, "minItems": 1, "uniqueItems": true }, { "enum": words }] })
        }
        Kind::Text => json!({ "type": "string", "minLength": 1, "maxLength": 500 }),
        Kind::MatrixFile => json!({ "type": "string", "minLength": 1 }),
        Kind::FlowFile => {
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, object(messages::KEYS.iter(), true)] })
        }
        Kind::TimeDistribution => {
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "const": 0 }, object(SIZE_KEYS.iter(), true)] })
        }
        Kind::SizeDistribution => {
            let built_in: Vec<String> = BUILT_IN.iter().map(|known| format!("cdf({})", known.name)).collect();
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "enum": built_in }, object(SIZE_KEYS.iter(), true)] })
        }
        Kind::Deadline => json!({ "anyOf": [{ "type": "string", "minLength": 1 }, {
            "type": "object",
            "properties": { "base": { "type": "string", "minLength": 1 }, "vary": { "type": "string", "minLength": 1 } },
            "required": ["base"],
            "additionalProperties": false,
        }] }),
        Kind::Hosts => {
            let one =
                json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": "[0-9$]" }] });
            json!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::Names => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
        }
        Kind::Nodes => {
            let one = json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "minLength": 1 }] });
            json!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::NamesOf(_) => {
            let name = json!({ "type": "string", "minLength": 1 });
            json!({ "anyOf": [{ "type": "array", "items": name }, name] })
        }
        Kind::Tables(nested) => {
            json!({ "type": "array", "minItems": 1, "items": object(nested.keys.iter(), true) })
        }
        Kind::Named(nested) => {
            let short = nested.keys.iter().filter(|key| nested.shorthand == Some(key.name)).map(form);
            let forms: Vec<Json> = std::iter::once(object(nested.keys.iter(), true)).chain(short).collect();
            json!({
                "type": "object",
                "propertyNames": { "pattern": NAME },
                "additionalProperties": { "anyOf": forms },
            })
        }
        Kind::Allowed => json!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "const": 0 }] }),
        Kind::RequestTime => {
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "const": 0 }, object(SIZE_KEYS.iter(), true)] })
        }
        Kind::RequestSize => {
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, object(SIZE_KEYS.iter(), true)] })
        }
        Kind::RequestFile => object(requests::KEYS.iter(), true),
        Kind::Links => json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/link" } }),
        Kind::Flows => json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/flow" } }),
    }
}

/// The pattern of names of tables, which other keys refer to.
const NAME: &str = "^[A-Za-z][A-Za-z0-9_-]*$";

fn number(of: &str, range: Range) -> Json {
    let mut schema = json!({ "type": of });
    if range.min > f64::NEG_INFINITY {
        let bound = if range.above_min { "exclusiveMinimum" } else { "minimum" };
        schema[bound] = json!(range.min);
    } else if of == "integer" {
        schema["minimum"] = json!(0);
    }
    if range.max < f64::INFINITY {
        schema["maximum"] = json!(range.max);
    }
    schema
}
