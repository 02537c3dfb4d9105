//! Profiles: the stack that applies where a scenario sets no values. Each is data, in a file of its own.

mod classic;
mod d2tcp_paper;
mod d3_paper;
mod datacenter;
mod equal_recovery;
mod linux;
mod xdctcp_paper;

use transport::registry::Entry;
use transport::{connection, registry};
use units::measure::Measure;
use units::{Default, Key, Value};

/// The list of profiles, the default first.
pub const PROFILES: &[Profile] = &[
    datacenter::PROFILE,
    linux::PROFILE,
    classic::PROFILE,
    d2tcp_paper::PROFILE,
    d3_paper::PROFILE,
    xdctcp_paper::PROFILE,
    equal_recovery::PROFILE,
];

/// The profile of a scenario without one.
pub const DEFAULT: &Profile = &PROFILES[0];

/// The names of all profiles.
pub const NAMES: &[&str] = &crate::listed::names!(PROFILES);

/// Defaults of `[transport]` and `[network]` that belong together. A key without a setting keeps its own default, and
/// so does one that a transport redeclares, such as pFabric's timers.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence: the stack that it describes.
    pub help: &'static str,
    /// Source of that stack's description.
    pub source: &'static str,
    /// Its settings, in groups; a later one replaces an earlier one of the same key.
    pub groups: &'static [&'static [Setting]],
}

/// One default that a profile sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Section of the key: `transport` or `network`.
    pub section: &'static str,
    /// Name of the key.
    pub key: &'static str,
    /// Default of the key.
    pub value: Preset,
    /// A paper's section, an RFC, the kernel's constant, or the reason for our choice.
    pub source: &'static str,
}

/// The value of a [`Setting`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// This value, written as in a scenario file without quotes.
    Is(&'static str),
    /// A multiple of another key of the same section, a time, whether or not that is set.
    Times(&'static str, f64),
    /// The first value if hosts' links have this rate or more, in Gbit/s, else the second.
    FromGbps(u64, &'static str, &'static str),
}

/// Returns a default of `[transport]`.
const fn transport(key: &'static str, value: Preset, source: &'static str) -> Setting {
    Setting { section: "transport", key, value, source }
}

/// Returns a default of `[network]`.
const fn network(key: &'static str, value: Preset, source: &'static str) -> Setting {
    Setting { section: "network", key, value, source }
}

/// Returns the profile of that name.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

impl Profile {
    /// Returns the settings in force, each key once.
    pub fn settings(&self) -> impl Iterator<Item = &'static Setting> {
        let all = self.groups.iter().copied().flatten();
        let groups = self.groups;
        all.enumerate().filter_map(move |(index, setting)| {
            let mut later = groups.iter().copied().flatten().skip(index + 1);
            let replaced = later.any(|other| (other.section, other.key) == (setting.section, setting.key));
            (!replaced).then_some(setting)
        })
    }
    /// Returns the setting of a key.
    pub fn find(&self, section: &str, key: &str) -> Option<&'static Setting> {
        self.settings().find(|setting| setting.section == section && setting.key == key)
    }
    /// Returns the setting of a transport's key, unless the transport redeclares a shared key.
    pub fn of_transport(&self, transport: &Entry, key: &str) -> Option<&'static Setting> {
        self.find("transport", key).filter(|_| !transport.redeclares(key))
    }
    /// Returns the default of a key under this profile.
    pub fn default_of(&self, section: &str, key: &Key) -> Option<String> {
        match self.find(section, key.name).map(|setting| setting.value) {
            None => match key.default {
                Default::Is(text) => Some(text.to_owned()),
                _ => None,
            },
            Some(Preset::Is(text) | Preset::FromGbps(_, _, text)) => Some(text.to_owned()),
            Some(Preset::Times(other, factor)) => {
                let other = shared_key(section, other)?;
                let text = self.default_of(section, other)?;
                let Ok(Value::Time(time)) = other.read(&text) else { return None };
                Some(Measure::Time.write((time.0 as f64 * factor).round()))
            }
        }
    }
}

impl Profile {
    /// Returns the value of one of its settings by default, as in a scenario file.
    pub fn shown(&self, setting: &Setting) -> Option<String> {
        self.default_of(setting.section, shared_key(setting.section, setting.key)?)
    }
}

/// Writes it as in a scenario file, or as "2 x rto_min".
impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Preset::Is(text) => write!(f, "{text}"),
            Preset::FromGbps(gbps, fast, slow) => write!(f, "{slow}; {fast} from {gbps} Gbit/s on"),
            Preset::Times(other, 1.0) => write!(f, "{other}"),
            Preset::Times(other, factor) => write!(f, "{factor} x {other}"),
        }
    }
}

/// Returns a key that a profile may set, by its section and name.
fn shared_key(section: &str, name: &str) -> Option<&'static Key> {
    if section == "network" {
        return crate::fabric::network::keys().find(|key| key.name == name);
    }
    let own = || registry::TRANSPORTS.iter().flat_map(Entry::keys);
    connection::KEYS.iter().find(|key| key.name == name).or_else(|| own().find(|key| key.name == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_a_valid_value_of_a_key_with_a_source() {
        for profile in PROFILES {
            for setting in profile.settings() {
                let Setting { section, key, source, .. } = setting;
                let found = shared_key(section, key).unwrap_or_else(|| panic!("{}: {section}.{key}", profile.name));
                let text = profile.default_of(section, found).unwrap();
                found.read(&text).unwrap_or_else(|mistake| panic!("{}: {key} = {text}: {mistake:?}", profile.name));
                assert!(!source.is_empty(), "{}: {key}", profile.name);
            }
            assert!(!profile.help.is_empty() && !profile.source.is_empty(), "{}", profile.name);
        }
    }

    #[test]
    fn a_transport_builds_under_every_profile() {
        for profile in PROFILES {
            for entry in registry::TRANSPORTS {
                let goes_back = entry.keys().any(|key| key.default == units::Default::Is("go-back-n"));
                let read: Vec<(&str, String)> = entry
                    .keys()
                    .filter(|key| profile.of_transport(entry, key.name).is_some())
                    // Where they are left out, as under a profile, they follow `recovery`.
                    .filter(|key| !goes_back || !["loss_detection", "tlp"].contains(&key.name))
                    .map(|key| (key.name, profile.default_of("transport", key).unwrap()))
                    .collect();
                let settings: Vec<(&str, &str)> = read.iter().map(|(key, text)| (*key, text.as_str())).collect();
                entry.with(&settings).unwrap_or_else(|problem| panic!("{}, {}: {problem}", profile.name, entry.name));
            }
        }
    }

    #[test]
    fn a_later_group_replaces_an_earlier_one() {
        let key = |name| shared_key("transport", name).unwrap();
        let of = |profile: &str, name| find(profile).unwrap().default_of("transport", key(name)).unwrap();
        assert_eq!([of("linux", "rto_min"), of("linux", "rto_initial")], ["200 ms", "1 s"]);
        assert_eq!([of("datacenter", "rto_min"), of("datacenter", "rto_initial")], ["5 ms", "10 ms"]);
        assert_eq!([of("classic", "rto_min"), of("classic", "rto_initial")], ["20 ms", "20 ms"]);
        assert_eq!(of("datacenter", "tlp"), "true");
        let settings: Vec<&str> = find("datacenter").unwrap().settings().map(|setting| setting.key).collect();
        assert_eq!(settings.iter().filter(|key| **key == "rto_min").count(), 1);
    }

    #[test]
    fn a_transport_keeps_what_it_declares_anew() {
        let setting = |transport, key| DEFAULT.of_transport(registry::find(transport).unwrap(), key).is_some();
        assert!(setting("dctcp", "rto_min") && setting("d3", "rto_min") && setting("tcp", "ecn"));
        assert!(!setting("pfabric", "rto_min") && !setting("pfabric", "limited_transmit"));
        assert!(setting("pfabric", "loss_detection"));
    }
}
