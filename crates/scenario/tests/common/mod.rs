//! The common code of these tests.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::PathBuf;

use scenario::{Error, Options, Read, Source};

/// The folder of the example files.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"))
}

/// Returns the text of one example file.
pub(crate) fn example(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// Returns the example files, by name.
pub(crate) fn examples() -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .map(|name| (name.clone(), example(&name)))
        .collect()
}

/// A small scenario to change.
pub(crate) fn small() -> String {
    "\
[run]
duration = \"1 s\"

[network]
topology = \"star\"
hosts = 5
rate = \"10 Gbps\"
delay = \"20 us\"
mark = \"65 packets\"

[transport]
name = \"dctcp\"

[[traffic]]
name = \"long\"
pattern = \"long\"
from = \"0..4\"
to = 4
"
    .to_owned()
}

/// Reads a text with options.
pub(crate) fn attempt(text: &str, options: &Options) -> Result<Read, Error> {
    scenario::read(&Source { name: "a.toml", text, folder: Some(&folder()) }, options)
}

/// Reads a text that must be right.
pub(crate) fn read(text: &str) -> Read {
    attempt(text, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a text that must be right, with `--set`.
pub(crate) fn read_with(text: &str, set: &[&str]) -> Read {
    let options = Options { set: set.iter().map(|option| (*option).to_owned()).collect(), ..Options::default() };
    attempt(text, &options).unwrap_or_else(|error| panic!("{error}"))
}
