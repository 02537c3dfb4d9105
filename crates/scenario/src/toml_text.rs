//! Scenarios of programs: from JSON to TOML.

use serde_json::{Map, Value as Json};

/// Writes a scenario as TOML, so that [`read`](crate::read) takes it: a dictionary of a program, or the content of
/// [`Read::resolved`](crate::Read::resolved). Keys that are null are left out.
pub fn to_toml(scenario: &Map<String, Json>) -> String {
    let mut text = String::new();
    let present = || scenario.iter().filter(|(_, value)| !value.is_null());
    // TOML requires keys without a section first.
    for (key, value) in present().filter(|(_, value)| !is_section(value)) {
        text.push_str(&format!("{} = {}\n", word(key), inline(value)));
    }
    for (key, value) in present().filter(|(_, value)| is_section(value)) {
        match value {
            Json::Object(table) => section(&mut text, &format!("[{}]", word(key)), table),
            Json::Array(items) => {
                for table in items.iter().filter_map(Json::as_object) {
                    section(&mut text, &format!("[[{}]]", word(key)), table);
                }
            }
            _ => {}
        }
    }
    text
}

fn is_section(value: &Json) -> bool {
    match value {
        Json::Object(_) => true,
        Json::Array(items) => !items.is_empty() && items.iter().all(Json::is_object),
        _ => false,
    }
}

fn section(text: &mut String, header: &str, table: &Map<String, Json>) {
    let separator = if text.is_empty() { "" } else { "\n" };
    text.push_str(&format!("{separator}{header}\n"));
    for (key, value) in table.iter().filter(|(_, value)| !value.is_null()) {
        text.push_str(&format!("{} = {}\n", word(key), inline(value)));
    }
}

pub(crate) fn inline(value: &Json) -> String {
    match value {
        Json::Null => "\"\"".into(),
        Json::Bool(x) => x.to_string(),
        Json::Number(x) => x.to_string(),
        Json::String(x) => quoted(x),
        Json::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Object(table) => {
            let entries = table.iter().filter(|(_, value)| !value.is_null());
            let entries = entries.map(|(key, value)| format!("{} = {}", word(key), inline(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn word(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sections_come_after_plain_keys() {
        let scenario = json!({ "run": { "seed": 1, "trace": { "every": "1 ms" } }, "title": "a \"b\"", "traffic": [{ "name": "x" }] });
        let text = to_toml(scenario.as_object().unwrap());
        let expected =
            "title = \"a \\\"b\\\"\"\n\n[run]\nseed = 1\ntrace = { every = \"1 ms\" }\n\n[[traffic]]\nname = \"x\"\n";
        assert_eq!(text, expected);
    }
}
