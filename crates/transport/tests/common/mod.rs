//! What several tests need.

use transport::registry::{self, Config};

/// The configuration of a transport with these settings, a line each as in `[transport]`: `rto_min = '20 ms'`.
pub fn config(name: &str, keys: &str) -> Config {
    let pairs = keys.lines().filter_map(|line| line.split_once('='));
    let plain = |text: &'static str| move |c: char| c.is_whitespace() || text.contains(c);
    let given: Vec<(&str, &str)> = pairs.map(|(key, value)| (key.trim(), value.trim_matches(plain("'\"[]")))).collect();
    let transport = registry::find(name).unwrap_or_else(|| panic!("there is no transport `{name}`"));
    transport.with(&given).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}
