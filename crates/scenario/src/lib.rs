//! The scenario language: TOML to a [`sim::Scenario`] that can only be valid.
//!
//! [`read`] takes a text and [`Options`] and returns the scenario, or one [`Error`] with its place and a hint. Every
//! key is declared elsewhere, as a [`units::Key`] of a section, topology, transport or pattern; reading, [`schema`] and
//! [`catalog`] follow from those tables.

#![forbid(unsafe_code)]

mod catalog;
mod cdf;
mod classes;
mod context;
mod cost;
mod distribution;
mod document;
mod error;
mod evaluate;
mod explain;
mod expression;
mod faults;
mod files;
mod functions;
mod hosts;
mod language;
mod lines;
mod lints;
mod matrix;
mod messages;
mod nested;
mod of_request;
mod overrides;
mod plugins;
mod presets;
mod ranges;
mod read;
mod requests;
mod schema;
mod suggest;
mod survey;
mod sweep;
mod table;
mod toml_text;
mod transports;
mod values;
mod variants;

pub use catalog::catalog;
pub use error::Error;
pub use read::{Options, Read, Source, cost, explain, read};
pub use schema::schema;
pub use survey::ports;
pub use sweep::{Sweep, read_sweep};
pub use toml_text::to_toml;
