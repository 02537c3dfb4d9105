//! The JSON Schema: the examples fit it, mistakes that it can see do not.
//!
//! A validator of the few keywords that the schema uses is below, so that no dependency is needed.

use super::common;

use common::{examples, small};
use scenario::{Options, catalog, schema};
use serde_json::{Value as Json, json};

const BASE: &str = include_str!("bad/base.toml");

fn errors(text: &str) -> Result<(), String> {
    let schema = schema();
    check(&schema, &instance(text), &schema)
}

#[test]
fn every_example_fits() {
    for (name, text) in examples() {
        errors(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    errors(BASE).unwrap();
    errors(&small()).unwrap();
}

#[test]
fn what_is_resolved_fits() {
    for (name, text) in examples() {
        let schema = schema();
        check(&schema, &common::read(&text).resolved, &schema).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn mistakes_do_not_fit() {
    let changes = [
        ("hosts = 5", "hsots = 5"),
        ("hosts = 5", ""),
        ("hosts = 5", "hosts = 1"),
        ("hosts = 5", "hosts = \"many\""),
        ("hosts = 5", "hosts = 5\nuplink = \"40 Gbps\""),
        ("\"star\"", "\"ring\""),
        ("\"1 s\"", "1"),
        ("\"dctcp\"", "\"dctpc\""),
        ("name = \"dctcp\"", "name = \"dctcp\"\ng = 2"),
        ("name = \"dctcp\"", "name = \"tcp\"\ng = 0.1"),
        ("pattern = \"long\"", "pattern = \"logn\""),
        ("pattern = \"long\"", "pattern = \"long\"\nsize = \"1 KB\""),
        ("pattern = \"long\"", ""),
        ("name = \"long\"\n", ""),
        ("to = 4", ""),
        ("[[traffic]]", "[traffic]"),
        ("[run]", "[runs]"),
        ("\"65 packets\"", "65"),
    ];
    for (good, bad) in changes {
        let text = small().replacen(good, bad, 1);
        assert!(errors(&text).is_err(), "{bad} fits");
        assert!(common::attempt(&text, &Options::default()).is_err(), "{bad} is read");
    }
}

#[test]
fn the_catalogue_says_what_everything_is() {
    let catalog = catalog();
    let keys = ["transports", "topologies", "patterns"].iter().flat_map(|list| catalog[list].as_array().unwrap());
    for family in keys {
        for key in family["keys"].as_array().unwrap() {
            assert!(key["help"].as_str().is_some_and(|help| !help.is_empty()), "{key}");
            assert!(key["required"] == true || key["default"].is_string() || key["default"].is_null(), "{key}");
        }
    }
}

/// Returns a TOML text as JSON.
fn instance(text: &str) -> Json {
    fn convert(value: &toml::de::DeValue<'_>) -> Json {
        use toml::de::DeValue::*;
        match value {
            String(text) => json!(text),
            Integer(x) => json!(x.as_str().parse::<i64>().unwrap()),
            Float(x) => json!(x.as_str().parse::<f64>().unwrap()),
            Boolean(x) => json!(x),
            Datetime(x) => json!(x.to_string()),
            Array(items) => items.iter().map(|item| convert(item.get_ref())).collect(),
            Table(table) => Json::Object(
                table.iter().map(|(key, value)| (key.get_ref().to_string(), convert(value.get_ref()))).collect(),
            ),
        }
    }
    convert(&toml::de::DeValue::Table(toml::de::DeTable::parse(text).unwrap().into_inner()))
}

/// The keywords that the schema uses; another one is our own mistake.
fn check(schema: &Json, value: &Json, root: &Json) -> Result<(), String> {
    let schema = match schema {
        Json::Bool(true) => return Ok(()),
        Json::Bool(false) => return Err(format!("{value} is not allowed")),
        Json::Object(schema) => schema,
        other => panic!("{other} is no schema"),
    };
    let fail = |why: String| Err(format!("{value}: {why}"));
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "examples" | "then" => {}
            "$ref" => check(root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap(), value, root)?,
            "type" => {
                let is = |name: &str| match name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "number" => value.is_number(),
                    "integer" => value.as_f64().is_some_and(|x| x.fract() == 0.0),
                    other => panic!("type {other}"),
                };
                let fits = match rule {
                    Json::String(name) => is(name),
                    names => names.as_array().unwrap().iter().any(|name| is(name.as_str().unwrap())),
                };
                if !fits {
                    return fail(format!("not of type {rule}"));
                }
            }
            "const" if value != rule => return fail(format!("not {rule}")),
            "const" => {}
            "enum" if !rule.as_array().unwrap().contains(value) => return fail(format!("not one of {rule}")),
            "enum" => {}
            "required" => {
                let names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                if let (Some(object), Some(missing)) =
                    (value.as_object(), names.clone().find(|name| value.get(name).is_none()))
                {
                    let _ = object;
                    return fail(format!("lacks {missing}"));
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(inner) = value.get(name) {
                        check(rule, inner, root).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Json::as_object);
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(name)) {
                        check(rule, inner, root).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
            }
            "propertyNames" => {
                for name in value.as_object().into_iter().flat_map(|object| object.keys()) {
                    check(rule, &json!(name), root)?;
                }
            }
            "items" => {
                for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, inner, root).map_err(|why| format!("[{i}] {why}"))?;
                }
            }
            "anyOf" | "oneOf" => {
                let results: Vec<_> =
                    rule.as_array().unwrap().iter().map(|branch| check(branch, value, root)).collect();
                let fits = results.iter().filter(|result| result.is_ok()).count();
                if fits == 0 || (keyword == "oneOf" && fits > 1) {
                    return fail(format!("fits {fits} of {keyword}: {results:?}"));
                }
            }
            "not" if check(rule, value, root).is_ok() => return fail("fits what it must not".into()),
            "not" => {}
            "if" => {
                if check(rule, value, root).is_ok() {
                    check(&schema["then"], value, root)?;
                }
            }
            "minItems" if value.as_array().is_some_and(|items| (items.len() as u64) < rule.as_u64().unwrap()) => {
                return fail("too short".into());
            }
            "minItems" | "uniqueItems" => {}
            "minLength" | "maxLength" => {
                let length = value.as_str().map_or(1, |text| text.chars().count() as u64);
                let limit = rule.as_u64().unwrap();
                if (keyword == "minLength" && length < limit) || (keyword == "maxLength" && length > limit) {
                    return fail("length".into());
                }
            }
            "minimum" | "maximum" | "exclusiveMinimum" => {
                let (x, limit) = (value.as_f64().unwrap_or_default(), rule.as_f64().unwrap());
                let fits = match keyword.as_str() {
                    "minimum" => x >= limit,
                    "maximum" => x <= limit,
                    _ => x > limit,
                };
                if value.is_number() && !fits {
                    return fail(format!("{keyword} {limit}"));
                }
            }
            "pattern" => {
                let Some(text) = value.as_str() else { continue };
                let word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                let fits = match rule.as_str().unwrap() {
                    "[0-9$]" => text.contains(|c: char| c.is_ascii_digit() || c == '$'),
                    "^[A-Za-z_][A-Za-z0-9_]*$" => word(text),
                    "^[A-Za-z][A-Za-z0-9_-]*$" => word(&text.replace('-', "_")),
                    "^\\s*\\$[A-Za-z_][A-Za-z0-9_]*\\s*$" => text.trim().strip_prefix('$').is_some_and(word),
                    "\\.(wasm|wat)$" => text.ends_with(".wasm") || text.ends_with(".wat"),
                    other => panic!("pattern {other}"),
                };
                if !fits {
                    return fail(format!("does not match {rule}"));
                }
            }
            other => panic!("keyword {other}"),
        }
    }
    Ok(())
}

/// Writes the schema and the catalogue for other tools to check: `SCHEMA_OUT=folder cargo test`.
#[test]
fn they_are_written_when_asked_for() {
    let Some(folder) = std::env::var_os("SCHEMA_OUT") else { return };
    let folder = std::path::Path::new(&folder);
    std::fs::write(folder.join("schema.json"), serde_json::to_string_pretty(&schema()).unwrap()).unwrap();
    std::fs::write(folder.join("catalog.json"), serde_json::to_string_pretty(&catalog()).unwrap()).unwrap();
}
