//! Congestion controllers as WebAssembly modules.
//!
//! [`load`] reads a module, checks it and makes a transport of it. The module has no imports: it computes, and nothing
//! else. Its functions are called with a [`View`](transport::plugin::View) of a connection and the connection's state,
//! both in blocks of its memory. `docs/plugin.md` is the contract for authors.
//!
//! A module gives the same answers on every machine. NaNs are canonical, and vector instructions are the exact ones.
//! There are no threads and no clock. An endless loop ends after a fixed number of instructions.

#![forbid(unsafe_code)]

pub mod interface;
pub mod manifest;

#[cfg(feature = "run")]
mod instance;
#[cfg(feature = "run")]
mod law;
#[cfg(feature = "run")]
mod loading;
#[cfg(feature = "run")]
mod module;

use transport::plugin::{Described, Module};
use transport::registry::Entry;

#[cfg(feature = "run")]
pub use loading::{install, load};

use crate::manifest::Manifest;

/// Returns the transport of a module, under a name. Both are kept as long as the program runs.
pub fn transport(name: &str, manifest: Manifest, module: impl Module + 'static) -> &'static Entry {
    let described = Described {
        name: name.to_owned().leak(),
        help: manifest.help,
        source: manifest.source,
        keys: vec![&*manifest.keys.leak()].leak(),
        ecn: manifest.ecn,
        module: Box::leak(Box::new(module)),
    };
    Box::leak(Box::new(Entry::of_plugin(Box::leak(Box::new(described)))))
}
