//! Congestion controllers as WebAssembly modules.
//!
//! [`load`] reads a module, checks it and makes a transport of it. The module has no imports: it computes, and nothing
//! else. Its functions are called with a [`View`](transport::plugin::View) of a connection and the connection's state,
//! both in blocks of its memory. `docs/reference/plugin.md` is the contract for authors.
//!
//! A module gives the same answers on every machine. NaNs are canonical, and vector instructions are the exact ones.
//! There are no threads and no clock. An endless loop ends after a fixed number of instructions.

#![forbid(unsafe_code)]

mod instance;
mod interface;
mod law;
mod manifest;
mod module;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use transport::plugin::Described;
use transport::registry::Entry;

use crate::law::Laws;
use crate::module::Compiled;

/// Modules that were loaded, by their names and bytes. They are never removed: a program loads few.
static LOADED: Mutex<Option<HashMap<(String, Vec<u8>), &'static Entry>>> = Mutex::new(None);

/// Loads modules from now on, in this whole process.
pub fn install() {
    transport::plugin::install(load);
}

/// Returns the transport of a module in the binary or in the text format, under a name.
///
/// # Errors
/// A message for the user: the fault of the module.
pub fn load(name: &str, bytes: &[u8]) -> Result<&'static Entry, String> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = loaded.get_or_insert_with(HashMap::new);
    let key = (name.to_owned(), bytes.to_vec());
    if let Some(entry) = loaded.get(&key) {
        return Ok(entry);
    }
    let (compiled, manifest) = Compiled::new(name, bytes)?;
    let described = Described {
        name: name.to_owned().leak(),
        help: manifest.help,
        source: manifest.source,
        keys: vec![&*manifest.keys.leak()].leak(),
        ecn: manifest.ecn,
        module: Box::leak(Box::new(Laws(Arc::new(compiled)))),
    };
    let entry = &*Box::leak(Box::new(Entry::of_plugin(Box::leak(Box::new(described)))));
    loaded.insert(key, entry);
    Ok(entry)
}
