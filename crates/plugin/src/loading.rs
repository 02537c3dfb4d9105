//! Modules that are compiled to machine code, each once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use transport::registry::Entry;

use crate::law::Laws;
use crate::module::Compiled;

/// Transports by the names and bytes of their modules.
type Loaded = BTreeMap<(String, Vec<u8>), &'static Entry>;

/// Modules that were loaded. They are never removed: a program loads few.
static LOADED: Mutex<Loaded> = Mutex::new(BTreeMap::new());

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
    let key = (name.to_owned(), bytes.to_vec());
    if let Some(entry) = loaded.get(&key) {
        return Ok(entry);
    }
    let (compiled, manifest) = Compiled::new(name, bytes)?;
    let entry = crate::transport(name, manifest, Laws(Arc::new(compiled)));
    loaded.insert(key, entry);
    Ok(entry)
}
