//! The settings of a scenario's profile, as explanations of its keys' values.

use serde_json::{Map, Value as Json, json};
use sim::profile::{Profile, Setting};

use crate::document::Table;

/// The settings of a profile that took effect, table by table.
#[derive(Default)]
pub(crate) struct Presets(Vec<Json>);

impl Presets {
    /// Adds the keys of `written` that the profile sets and `table` does not.
    pub(crate) fn add(
        &mut self,
        title: &str,
        table: &Table,
        written: &Map<String, Json>,
        setting: impl Fn(&str) -> Option<&'static Setting>,
    ) {
        for (key, value) in written {
            let Some(setting) = setting(key).filter(|_| table.find(key).is_none()) else { continue };
            self.0.push(json!({ "table": title, "key": key, "value": value, "source": setting.source }));
        }
    }

    /// Returns the profile's name, help and source, and `set`: each `{table, key, value, source}`.
    pub(crate) fn describe(self, profile: &Profile) -> Json {
        json!({ "name": profile.name, "help": profile.help, "source": profile.source, "set": self.0 })
    }
}
