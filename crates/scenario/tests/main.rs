//! All tests of the reader of scenarios as one program, which is compiled and linked once.

mod any_text;
mod bad;
mod common;
mod costs;
mod examples;
mod files;
mod lints;
mod options;
mod schema;
mod stages;
mod sweep;
