//! The maps that the programs in the kernel share with the tool, by their pins in our folder of bpffs.

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::escape::Shown;
use crate::failure::{Context, Failure, Kind, Result};
use crate::place::Pins;

/// The maps, by their names in the programs and in our folder.
pub const MAPS: [(&str, &str); 13] = [
    ("d2tcp_sockets", "sockets"),
    ("d2tcp_law", "law"),
    ("d2tcp_about", "about"),
    ("d2tcp_counts", "counts"),
    ("d2tcp_words", "words"),
    ("d2tcp_events", "events"),
    ("d2tcp_rules", "rules"),
    ("d2tcp_paths", "paths"),
    ("d2tcp_budgets", "budgets"),
    ("d2tcp_cgroups", "cgroups"),
    ("d2tcp_measured", "measured"),
    ("d2tcp_arms", "arms"),
    ("d2tcp_users", "users"),
];
/// The pin of the iterator over connections.
pub const FLOWS: &str = "flows";
/// Opens a map in our folder.
pub fn map(pins: &Pins, name: &str) -> Result<MapHandle> {
    MapHandle::from_pinned_path(pins.of(name)).map_err(|error| {
        let kind = match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => Kind::NotPermitted,
            _ => Kind::Failed,
        };
        Failure::new(kind, format!("could not open {}: {error:#}", pins.of(name).shown()))
    })
}

/// Returns a value of an array map.
pub fn value(map: &MapHandle, index: u32) -> Result<Vec<u8>> {
    let found = map.lookup(&index.to_ne_bytes(), MapFlags::ANY).context("read a map")?;
    found.ok_or_else(|| Failure::new(Kind::Failed, "a map is empty"))
}
